"""Tables cut into units: every row knows its header, is found by its words, and is read with it."""
from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, strategies as st
from llama_index.core import Document
from strategies import examples

from ragnb import (Expander, MultiScaleRetriever, neighbors, NgramEmbedding, Pipeline, RankedContextBuilder, Span,
                   trace, UnitNodeParser)
from ragnb.chunking.units import table_headers, unit_spans
from ragnb.documents.markdown import find_tables
from ragnb.retrieval.multiscale import HEADER, Piece, with_headers
from ragnb.retrieval.sqlite_store import SqliteStore
from ragnb.retrieval.sqlite_units import SqliteUnits, UnitWriter
from ragnb.retrieval.unit_source import SHIFT, Units

TAX = ("# 근로소득공제\n\n근로소득이 있는 거주자는 다음 금액을 공제한다. 한도는 2천만원이다.\n\n| 총급여액 | 공제액 |\n|---|---|\n"
       + "".join(f"| {n}천만원 초과 {n + 1}천만원 이하인 거주자와 그 배우자 | 총급여액의 100분의 {70 - n}을 더한 금액 |\n" for n in range(1, 13))
       + "\n공제를 받으려는 사람은 신고서를 낸다.\n")
SALES = ("# Annual report\n\nRevenue grew in every region.\n\n| | 2023 | 2024 |\n| :--- | ---: | ---: |\n| | in thousands | in thousands |\n"
         + "".join(f"| Net sales of the {name} division including its subsidiaries | {n * 137} | {n * 149} |\n"
                   for n, name in enumerate(("northern", "southern", "eastern", "western", "overseas", "digital", "wholesale", "retail"), 1))
         + "\nThe board thanks all employees.\n")


def made(**texts: str) -> tuple[SqliteUnits, SqliteStore, NgramEmbedding]:
    """An index of some texts."""
    documents = [Document(text=text, id_=f"{name}.md") for name, text in texts.items()]
    model, store = NgramEmbedding(dims=16, n_columns=256).fit([text[i:i + 80] for text in texts.values() for i in range(0, len(text), 80)]), SqliteStore()
    store.add_documents(documents, UnitNodeParser(), model)
    return store.units, store, model


def every_unit(source: SqliteUnits) -> Units:
    """All units, in the order of the documents' numbers."""
    return source.read(np.array([[n << SHIFT, (n << SHIFT) + size] for n, size in source.sizes.items()], np.int64).reshape(-1, 2))


CELL = st.sampled_from(["연차", "15일", "1,234", "Net sales", "", "북부 지역의 순매출", "a \\| b", "–", "2024년 말 현재의 잔액"])
LINE_END = st.sampled_from(["\n", "\r\n"])


@st.composite
def documents(draw) -> str:
    """Paragraphs and tables; a table may have rows without a name, and stand in a quotation."""
    out, end = [], draw(LINE_END)
    for n in range(draw(st.integers(1, 5))):
        if draw(st.booleans()):
            out.append(draw(st.sampled_from(["# 제목", "연차는 15일이다. 병가는 60일이다.", "Leave is 15 days. " * 20, "a | b"])))
            continue
        columns, quoted = draw(st.integers(2, 4)), draw(st.sampled_from(["", "> "]))
        rows = [[f"열{n}{c}" for c in range(columns)], ["---"] * columns]
        rows += draw(st.lists(st.lists(CELL, min_size=columns, max_size=columns), max_size=12))
        out.append(end.join(f"{quoted}| {' | '.join(row)} |" for row in rows))
    return (end * 2).join(out)


@given(text=documents(), size=st.integers(20, 200))
@examples(100)
def test_a_unit_has_the_header_of_the_table_that_it_begins_inside_of(text, size):
    spans, tables = unit_spans(text, size=size, sentences="rule"), find_tables(text)
    found = table_headers(text, spans)
    for i, span in enumerate(spans):
        inside = [t for t in tables if t.header and t.header.end <= span.start < t.span.end]
        assert (i in found) == bool(inside)
        if inside:
            header = inside[0].header
            assert spans[found[i].unit].start <= header.start < spans[found[i].unit].end and found[i].unit < i
            first, *_ = re.split(r"\r\n|\n", header.of(text))
            assert found[i].text.split("\n")[0] == " ".join(first.removeprefix("> ").split())
            shown = re.sub(r"\s", "", text[header.start:span.start].replace("> ", ""))
            assert re.sub(r"\s", "", found[i].text) == shown[:len(re.sub(r"\s", "", found[i].text))]   # nothing but what is above


def test_a_long_header_is_shortened_and_one_without_outer_pipes_is_a_table_again():
    wide = "| " + " | ".join(f"항목 번호 {n}" for n in range(100)) + " |\n|" + "---|" * 100 + "\n" + ("| 1 " * 100 + "|\n") * 4
    spans = unit_spans(wide, size=100, sentences="rule")
    assert {len(h.text) for h in table_headers(wide, spans).values()} == {300}
    plain = "연수 | 공제액\n---|---\n" + "".join(f"{n}년 초과 {n + 5}년 이하 | {n}00만원\n" for n in range(1, 9))
    headers = table_headers(plain, unit_spans(plain, size=40, sentences="rule"))
    assert {h.text for h in headers.values()} == {"| 연수 | 공제액 |\n| ---|--- |"}


def header_of(units, key: int) -> int:
    """The key of the header above a unit, or -1."""
    return int(units.header_key[units.rows_of(np.array([key]))[0]])


def test_embedder_and_reader_see_the_header_above_the_row():
    nodes, _ = UnitNodeParser(korean_size=60).parse(Document(text=TAX, id_="tax.md"))
    row = next(n for n in nodes if "6천만원 초과" in n.text)
    assert row.text == TAX[row.start_char_idx:row.end_char_idx] and "총급여액 | 공제액" not in row.text
    for mode in ("embed", "llm"):
        assert row.get_content(metadata_mode=mode) == f"근로소득공제\n| 총급여액 | 공제액 |\n|---|---|\n\n{row.text}"


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from([TAX, SALES, "연차는 15일이다.", ""])), min_size=1, max_size=6), st.sampled_from(["", "a", "b"]))
@examples(50)
def test_headers_stay_right_when_documents_come_and_go(steps, gone):
    index, parser, now = SqliteUnits(), UnitNodeParser(sentences="rule"), {}
    for name, text in steps:
        nodes, outline = parser.parse(Document(text=text, id_=name))
        UnitWriter(index).add(nodes, [outline])
        now = {k: v for k, v in now.items() if k != name} | {name: nodes}
    if gone in now:
        UnitWriter(index).remove([gone])
        del now[gone]
    wanted = [n.metadata.get("header_unit", -1) for nodes in now.values() for n in nodes]
    units = every_unit(index)
    assert units.table["header"].tolist() == wanted
    for row, header in enumerate(units.header_key.tolist()):
        assert header == (-1 if wanted[row] < 0 else units.key_of(f"{units.ids[units.doc[row]]}#u{wanted[row]}"))


ASKED = [("tax", "총급여액 6천만원 초과 7천만원 이하 거주자의 공제액", "6천만원 초과"), ("sales", "net sales of the western division in 2024", "western")]


@pytest.fixture(scope="module")
def both():
    return made(tax=TAX, sales=SALES, leave="# 휴가\n\n" + "\n\n".join(f"{n}년을 일한 사람의 연차는 {n + 14}일이다." for n in range(1, 40)))


@pytest.mark.parametrize(("name", "question", "wanted"), ASKED)
def test_the_row_is_best_and_its_header_is_next(both, name, question, wanted):
    index, store, model = both
    ranking = MultiScaleRetriever(index, store, model).rank(question)
    best, header = ranking.pieces[:2]
    assert wanted in ranking.reader.read_units([best.key])[0].text and header.key == header_of(ranking.reader.units, best.key)
    assert (header.why.role, header.why.detail, header.why.rank, header.why.source) == ("beside", HEADER, 1, ranking.reader.units.address(best.key))
    assert len({p.key for p in ranking.pieces}) == len(ranking.pieces)
    assert [p.score for p in ranking.pieces] == sorted((p.score for p in ranking.pieces), reverse=True)
    assert str(ranking.why(ranking.reader.units.address(header.key))) == f"table: {HEADER} (rank 1)"


@pytest.mark.parametrize(("name", "question", "wanted"), ASKED)
def test_a_reader_sees_the_header_above_its_rows_whatever_the_room(both, name, question, wanted):
    index, store, model = both
    ranking, text = MultiScaleRetriever(index, store, model).rank(question), {"tax": TAX, "sales": SALES}[name]
    line = find_tables(text)[0].header.of(text).split("\n")[0]
    for budget in range(60, 900, 20):
        read = [p for p in ranking.at(budget) if p.doc_id == f"{name}.md"]
        for block in RankedContextBuilder().build(read).text.split("\n\n["):
            assert block.count(line) == ("| " in block), (budget, block)   # rows are never without it, and never have it twice
    assert any(line in p.prefix for budget in (60, 80, 100) for p in ranking.at(budget))    # no room for the header itself
    context = Pipeline(MultiScaleRetriever(index, store, model), Expander(store, neighbors(0)), RankedContextBuilder(budget=700)).ask(question).context
    assert context.text.count(line) == 1


def test_a_filter_a_cut_and_a_place_that_is_asked_for_keep_their_meaning(both):
    index, store, model = both
    question, units = ASKED[0][1], every_unit(index)
    at = header_of(units, units.key_of("tax.md#u5"))
    header, span = units.address(at), units.span(at)

    def ranked(**options):
        ranking = MultiScaleRetriever(index, store, model, **options).rank(question)
        return ranking, [ranking.reader.units.address(p.key) for p in ranking.pieces]
    assert header not in ranked(where=f"index>{at % (1 << SHIFT)}")[1]
    cut, addresses = ranked(cut=0.9)
    assert all(p.score >= 0.9 * cut.pieces[0].score for p in cut.pieces) and addresses[1] == header
    place = Span(*TAX_END)
    led, ahead = ranked(leads=lambda q: [("tax.md", place)])
    corpus = led.reader.units
    assert led.pieces[0].why.policy == "by name" and corpus.span(led.pieces[0].key).overlap(place)
    rows = [n for n, p in enumerate(led.pieces) if header_of(corpus, p.key) == corpus.key_of(header)]
    assert ahead.index(header) == min(rows) + 1
    named, first = ranked(leads=lambda q: [("tax.md", span)])
    assert first[0] == header and named.pieces[0].why.policy == "by name" and first.count(header) == 1


TAX_END = TAX.index("공제를 받으려는"), len(TAX)


@given(order=st.permutations(range(12)), held=st.lists(st.booleans(), min_size=12, max_size=12), n=st.integers(0, 12))
@examples(100)
def test_the_order_of_everything_else_stays(both, order, held, n):
    index, _, _ = both
    corpus = every_unit(index)
    first = corpus.key_of("tax.md#u0")
    may = {key for key in corpus.keys.tolist() if not 0 <= key - first < 12 or held[key - first]}
    pieces = [Piece(first + i, float(n - rank)) for rank, i in enumerate(order[:n]) if first + i in may]
    out = with_headers(corpus, pieces, may)
    brought = {p.key for p in out if p.why}
    assert [p for p in out if p.key not in brought] == [p for p in pieces if p.key not in brought]
    for at, p in enumerate(out):
        if p.why:
            assert header_of(corpus, out[at - 1].key) == p.key and p.score == out[at - 1].score and p.key in may
    seen: set[int] = set()
    for p in out:
        assert p.key not in seen
        seen.add(p.key)
        header = header_of(corpus, p.key)
        assert header < 0 or header in seen or header not in may or header == out[out.index(p) + 1].key


def test_single_hits_of_a_table_are_expanded_below_its_header(both):
    index, store, model = both
    hits = MultiScaleRetriever(index, store, model, top_k=2).retrieve(ASKED[0][1])
    for chosen in (hits[:1], hits):                       # the row alone, and with the header that came with it
        passages = Expander(store, neighbors(0)).expand(chosen).passages
        row = next(p for p in passages if ASKED[0][2] in p.text)
        assert len(passages) == len(chosen) and "총급여액 | 공제액" in row.prefix
        blocks = RankedContextBuilder().build(passages).text.split("\n\n[")
        assert [block.count("| 총급여액 | 공제액 |") for block in blocks] == [1] * len(chosen)   # the unit of the header has a row too


def test_the_trace_says_in_words_why_a_header_is_there(both):
    index, store, model = both
    retriever = MultiScaleRetriever(index, store, model)
    header = retriever.rank(ASKED[0][1]).reader.units.address(retriever.rank(ASKED[0][1]).pieces[1].key)
    for told in (trace(retriever.rank(ASKED[0][1]), store=store), trace(Pipeline(retriever, Expander(store, neighbors(0)), RankedContextBuilder(budget=700)), ASKED[0][1])):
        row = next(r for r in told.rows() if r["chunk"] == header)
        assert (row["role"], row["policy"], row["score"], row["why"]) == ("beside", "table", None, f"table: {HEADER} (rank 1)")
        page = told.page().html if hasattr(told.page(), "html") else str(told.page())
        assert HEADER in told.page() and "the header of a table" in told.page()


def test_no_header_is_read_without_a_row_of_its_table():
    rows = ("| 휴가 | 일수 | 닷새를 주고, 나누어 쓰지 못하며, 쉬는 날이 들면 그날도 휴가에 넣어 센다. 남은 날은 돈으로 주지 않는다. |\n"
            "| 근속 포상금 | 근속 다섯 해 | 근속 다섯 해가 된 날에 이백만 원을 주고, 그 돈은 모두 법인 카드로만 써야 한다. 남은 돈은 복지비 한도에 더한다. |\n")
    text = "# 포상\n\n근속 포상은 근속 기간을 채운 사원이 받는다. 근속 기간은 입사한 날부터 센다.\n\n| 구분 | 선정 | 근속 기간을 채운 사원 |\n|---|---|---|\n" + rows
    source, store, model = made(a=text, b="# 출장\n\n출장 여비는 근속과 상관없이 준다. 근속 포상과 함께 받을 수 있다.\n")
    ranking = MultiScaleRetriever(source, store, model).rank("근속 포상금은 얼마인가요?")
    with_header = 0
    for budget in range(20, 500, 10):
        passages = ranking.at(budget)
        headers = [passage.text for passage in passages if any(why.detail == HEADER for why in passage.why.values())]
        texts = "\n".join(passage.text for passage in passages)
        assert passages and (not headers or "| 휴가 |" in texts or "| 근속 포상금 |" in texts), budget
        with_header += bool(headers)
    assert with_header    # there is room for a header and a row in the end
