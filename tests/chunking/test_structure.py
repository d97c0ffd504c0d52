"""Structure-aware splitters: the promises of all splitters, nasty tables, questions, records, rules."""
from __future__ import annotations

import json
import pickle
from collections.abc import Collection
from itertools import pairwise

import pytest
from conftest import SAMPLE, shared_data
from hypothesis import given, strategies as st
from llama_index.core.schema import Document, MetadataMode
from strategies import (BLANKS, cluster_length, doc_ids, documents, examples, huge, joins_previous, KOREAN, MARKDOWN,
                        PIECES, scalar_metadata, STATUTE)
from test_split import check_level, check_pages, check_stitch, pages

from ragnb.chunking.rules import load_rules, parse_rules, RoutedNodeParser, Rule, RULE_SPLITTERS
from ragnb.chunking.structure import (
    HeadingNodeParser, QANodeParser, RecordNodeParser, StructureNodeParser, TableNodeParser, TextNodeParser)
from ragnb.documents.fields import SCALARS
from ragnb.documents.markdown import find_headings, find_tables
from ragnb.documents.span import InputError, Outline, parse_address, Span

TABLE_LINES = [
    "| 구분 | 일수 |", "|---|---|", "| - | :-: |", "| 연차 | 15 |", "|  | 16 |", "구분 | 일수", "--- | ---", "연차 | 15",
    "> | 가 | 나 |", "> |---|---|", "- | 가 | 나 |", "  |---|---|", "    | 가 | 나 |", "\t| 다 | 라 |",
    "| 가 | 첫 줄<br>둘째 줄 |", "| 열린 칸 | 첫 줄", "둘째 줄 |", "- 하나 |", "||", "|", "\\|", "| a \\|", "| " + "긴 칸 " * 40 + "|",
    "```", "# 제목", "## 둘째", "#### 넷째", "제목\n===", "소제목\n---", "---", "> # 인용", "<div>", "1. 항목"]
QA_LINES = ["질의 : 되나요?", "회시 : 됩니다.", "[질의]", "【회시】", "회답：", "재질의", "질의1：", "종전 질의회시 : 455", "Q. ", "A. ", "문 1. 무엇?",
            "답 1. 그것.", "질의요지", "2. 회답", "이유", "【판시사항】", "【판결요지】", "【판례내용】", "주문", "부칙", "[별표 1]"]


@st.composite
def structured(draw: st.DrawFn) -> str:
    """Lines of tables, headings, articles, questions and answers, well formed or not."""
    pool = draw(st.sampled_from([TABLE_LINES, TABLE_LINES + KOREAN, QA_LINES + KOREAN,
                                 STATUTE + KOREAN + ["제1장 총칙", "제2조(정의) ① 뜻은 다음과 같다."],
                                 TABLE_LINES + MARKDOWN + QA_LINES + PIECES]))
    glue = draw(st.sampled_from([["\n"], ["\n", "\n\n"], ["\r\n"], ["\n", "\n", "\n\n", "\r", " ", "\n  "], BLANKS]))
    parts = draw(st.lists(st.tuples(st.sampled_from(pool), st.sampled_from(glue)), max_size=40))
    return "".join(a + b for a, b in parts)


texts = st.one_of(structured(), structured(), structured(), documents)


@st.composite
def settings_of(draw: st.DrawFn, largest: int = 300) -> dict:
    """Any size, overlap and parent size."""
    size = draw(st.one_of(st.integers(1, 12), st.integers(1, largest), st.just(1500)))
    return {"size": size, "overlap": draw(st.integers(0, size - 1)),
            "sentences": draw(st.sampled_from(["auto", "kiwi", "rule"])),
            "parent_size": draw(st.sampled_from([0, 0, 1, 40, 300, 3500]))}


@st.composite
def splitters(draw: st.DrawFn, largest: int = 300) -> StructureNodeParser:
    """Any splitter with any settings."""
    kind = draw(st.sampled_from([*RULE_SPLITTERS.values()]))
    more = {}
    if kind is HeadingNodeParser:
        more = {"depth": draw(st.integers(1, 6)), "min_size": draw(st.sampled_from([0, 20, 200]))}
    if kind is RecordNodeParser:
        more = {"kind": draw(st.sampled_from([None, None, "statute", "qa", "ruling", "interpretation"]))}
    return kind(**draw(settings_of(largest)), **more)


def rows_of(text: str) -> list[Span]:
    """Rows and headers of all tables."""
    return [r for t in find_tables(text) for r in (t.header, *t.rows) if r]


def check_sizes(text: str, chunks: list[Span], size: int, tables: bool, whole: Collection[Span] = ()) -> None:
    """A chunk is longer than its size only where it is one row of a table, a header with it, or a core."""
    long = [s for s in chunks if len(s) > size and s not in whole]
    headed = [t.header.hull(t.rows[0]) for t in find_tables(text) if t.header and t.rows]
    assert not long or tables and set(long) <= {*rows_of(text), *headed}
    long += [s for s in chunks if len(s) > size and s in whole]
    torn = {i for s in chunks for i in (s.start, s.end) if joins_previous(text, i)}
    assert all(cluster_length(text, i) > size for i in torn)
    if not long:
        check_level(text, chunks, size)
    elif not torn:
        check_level(text, chunks, max(map(len, long)))


def check_rows(text: str, chunks: list[Span]) -> None:
    """Every row lies whole in a chunk, and no chunk begins or ends inside one."""
    rows, edges = rows_of(text), {i for s in chunks for i in (s.start, s.end)}
    assert all(any(s.contains(r) for s in chunks) for r in rows)
    assert not any(r.start < at < r.end for r in rows for at in edges)


def check_all(text: str, doc_id: str, parser: StructureNodeParser | RoutedNodeParser, metadata: dict,
              starts: list[int] | None) -> Outline:
    """Split one document, and hold the splitter to everything it promises."""
    document = Document(text=text, id_=doc_id,
                        metadata=metadata if starts is None else {**metadata, "page_starts": starts})
    before = document.model_dump_json()
    nodes, outline = parser.parse(document)
    assert outline == parser.outline(document)
    assert [n.id_ for n in nodes] == [f"{doc_id}#{level}{i}" for level, spans in outline.levels.items()
                                      for i in range(len(spans))]
    parents = outline.levels.get("p", [])
    for node in nodes:
        span, level = Span(node.start_char_idx, node.end_char_idx), parse_address(node.id_).level
        prefix = node.metadata["prefix"]
        assert node.text == node.get_content(MetadataMode.NONE) == text[span.start:span.end]
        assert outline.span_of(parse_address(node.id_)) == span and node.ref_doc_id == doc_id
        told = f"{prefix}\n\n{node.text}" if prefix else node.text
        assert node.get_content(MetadataMode.EMBED) == node.get_content(MetadataMode.LLM) == told
        assert all(type(v) in (*SCALARS, list) for v in node.metadata.values())
        if level != "p" and parents:
            assert parents[node.metadata["parent"]].contains(span)
    check_pages(nodes, starts, len(text))
    assert [n.to_dict() for n in parser.get_nodes_from_documents([document])] == [n.to_dict() for n in nodes]
    assert document.model_dump_json() == before
    return outline


@pytest.mark.shed
@examples(250, slow=20_000)
@given(texts, doc_ids, splitters(), scalar_metadata(), st.data())
def test_splitters_keep_every_promise(text: str, doc_id: str, parser: StructureNodeParser, metadata: dict,
                                      data: st.DataObject) -> None:
    outline = check_all(text, doc_id, parser, metadata, data.draw(pages(len(text))))
    chunks, tables = outline.levels[parser.level], type(parser) in (TableNodeParser, HeadingNodeParser)
    cores = [b.span for b in parser.blocks(Document(text=text, id_=doc_id, metadata=metadata)) if b.whole]
    check_sizes(text, chunks, parser.size, tables or type(parser) in (RecordNodeParser, QANodeParser), cores)
    if tables:
        check_rows(text, chunks)
    for parent in outline.levels.get("p", []):
        assert len(parent) <= parser.parent_size or parent in chunks
    assert set(outline.levels) == {parser.level} | ({"p"} if parser.parent_size else set())
    check_stitch(text, outline, data)


@st.composite
def rules(draw: st.DrawFn) -> Rule:
    """Any rule, matching or not."""
    size = draw(st.integers(1, 300))
    return Rule(name="r", match=draw(st.sampled_from([("*",), ("*.md", "*.jsonl"), ("d*",)])),
                kind=draw(st.sampled_from(["", "statute", "qa", "table"])), size=size,
                overlap=draw(st.integers(0, size - 1)), split=draw(st.sampled_from(["never", "above", "always"])),
                threshold=draw(st.integers(0, 200)), splitter=draw(st.sampled_from([*RULE_SPLITTERS])))


@examples(80, slow=4_000)
@given(texts, doc_ids, st.lists(rules(), max_size=3), st.data())
def test_router_keeps_every_promise(text: str, doc_id: str, chosen: list[Rule], data: st.DataObject) -> None:
    router = RoutedNodeParser(rules=tuple(chosen), sentences="rule", parent_size=data.draw(st.sampled_from([0, 200])))
    outline = check_all(text, doc_id, router, {}, None)
    for spans in outline.levels.values():
        assert all(a.start < b.start and a.end < b.end for a, b in pairwise(spans))
        assert not "".join(c for i, c in enumerate(text) if not any(s.start <= i < s.end for s in spans)).strip()
    rule = router.rule_for(Document(text=text, id_=doc_id))
    if rule.split == "never" and text.strip():
        assert [s.of(text) for s in outline.levels["c"]] == [text.strip()]
    check_stitch(text, outline, data)


@examples(6, slow=200)
@given(huge, splitters(2_000))
def test_one_endless_line(text: str, parser: StructureNodeParser) -> None:
    cores = [b.span for b in parser.blocks(Document(text=text, id_="0")) if b.whole]
    check_sizes(text, parser.split(text)[parser.level], parser.size, True, cores)


@examples(200, slow=4_000)
@given(texts)
def test_tables_and_headings_are_lines(text: str) -> None:
    tables, at = find_tables(text), 0
    for table in tables:
        parts = [p for p in (table.header, *table.rows) if p]
        assert table.span == parts[0].hull(parts[-1]) and table.span.start >= at
        assert all(a.end < b.start for a, b in pairwise(parts))
        assert all(text[b.start:b.end] == text[b.start:b.end].strip() for b in parts)
        at = table.span.end
    assert all(a.start < b.start for a, b in pairwise(find_headings(text)))


# --- tables
CASES = {
    "plain": ("| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |", ["| 1 | 2 |", "| 3 | 4 |"]),
    "no outer pipes": ("a | b\n---|---\n1 | 2\n3 | 4", ["1 | 2", "3 | 4"]),
    "text right behind": ("a | b\n---|---\n1 | 2\n글이 이어진다.", ["1 | 2"]),
    "indented as code": ("글\n\n    | a | b |\n    |---|---|\n    | 1 | 2 |", ["| 1 | 2 |"]),
    "tabs": ("\t| a | b |\n\t|---|---|\n\t| 1 | 2 |", ["| 1 | 2 |"]),
    "in a list": ("- 항목\n\n  | a | b |\n  |---|---|\n  | 1 | 2 |", ["| 1 | 2 |"]),
    "deep in a list": ("1. 가\n   - 나\n\n     | a | b |\n     |---|---|\n     | 1 | 2 |", ["| 1 | 2 |"]),
    "begins a list item": ("- | a | b |\n  |---|---|\n  | 1 | 2 |", ["| 1 | 2 |"]),
    "in a quotation": ("> | a | b |\n> |---|---|\n> | 1 | 2 |", ["> | 1 | 2 |"]),
    "swallowed by a numbered item": ("1. 다음 표와 같다\n| a | b |\n|---|---|\n| 1 | 2 |", ["| 1 | 2 |"]),
    "swallowed by html": ("<div>\n| a | b |\n|---|---|\n| 1 | 2 |\n</div>", ["| 1 | 2 |"]),
    "without delimiter row": ("| 1 | 2 |\n| 3 | 4 |", ["| 1 | 2 |", "| 3 | 4 |"]),
    "one dash, alignment": ("| a | b |\n| - | :-: |\n| 1 | 2 |", ["| 1 | 2 |"]),
    "fewer cells": ("| a | b |\n|---|---|\n| 1 |\n| 2 | 3 | 4 |", ["| 1 |", "| 2 | 3 | 4 |"]),
    "br": ("| a | b |\n|---|---|\n| 1 | 첫 줄<br>둘째 줄 |", ["| 1 | 첫 줄<br>둘째 줄 |"]),
    "cell over lines": ("| a | b |\n|---|---|\n| 1 | 첫 줄\n둘째 줄 |\n| 3 | 4 |", ["| 1 | 첫 줄\n둘째 줄 |", "| 3 | 4 |"]),
    "list in a cell": ("| a | b |\n|---|---|\n| 1 | 각 호\n- 하나\n1. 둘 |\n| 3 | 4 |",
                       ["| 1 | 각 호\n- 하나\n1. 둘 |", "| 3 | 4 |"]),
    "row left open": ("| a | b |\n|---|---|\n| 1 | 2\n| 3 | 4 |", ["| 1 | 2", "| 3 | 4 |"]),
    "escaped pipe": ("| a | b |\n|---|---|\n| 1 | x \\| y |", ["| 1 | x \\| y |"]),
    "windows lines": ("| a | b |\r\n|---|---|\r\n| 1 | 2 |\r\n", ["| 1 | 2 |"]),
    "two tables": ("| a | b |\n|---|---|\n| 1 | 2 |\n\n| c | d |\n|---|---|\n| 3 | 4 |", ["| 1 | 2 |", "| 3 | 4 |"]),
    "setext is no table": ("제목 | 둘\n======", []), "code": ("```\n| a | b |\n|---|---|\n| 1 | 2 |\n```", []),
    "behind a stray fence": ("```\n글\n\n| a | b |\n|---|---|\n| 1 | 2 |", ["| 1 | 2 |"]),
    "a pipe in text": ("A | B 중 하나를 고른다.", [])}


@pytest.mark.parametrize("name", CASES)
def test_rows_are_found(name: str) -> None:
    text, rows = CASES[name]
    for before, after in (("", ""), ("앞의 글이다.\n\n", "\n\n뒤의 글이다.")):
        full = before + text + after
        assert [r.of(full) for t in find_tables(full) for r in t.rows] == rows


def long_table(n: int, indent: str = "") -> str:
    """A table of n rows."""
    rows = [f"| {i} | 내용 {'가' * 30} |" for i in range(n)]
    return "\n".join(indent + line for line in ("| 번호 | 내용 |", "|---|---|", *rows))


@pytest.mark.parametrize("indent", ["", "  ", "        "])
def test_parts_of_a_long_table_have_its_header_beside_them(indent: str) -> None:
    text = f"머리글이다.\n\n{long_table(40, indent)}\n\n꼬리글이다."
    nodes, _ = TableNodeParser(size=300, overlap=60).parse(Document(text=text, id_="d"))
    header = f"| 번호 | 내용 |\n{indent}|---|---|"
    assert len(nodes) > 5 and "머리글" in nodes[0].text and not nodes[0].metadata["prefix"]
    assert all(n.metadata["prefix"] == header and "번호" not in n.text for n in nodes[1:])
    assert all(a.end_char_idx < b.start_char_idx for a, b in pairwise(nodes))  # no row twice
    assert all(len(n.text) <= 300 for n in nodes) and nodes[-1].text.endswith("꼬리글이다.")


def test_a_table_that_fits_shares_a_chunk_with_its_text() -> None:
    """Text, table and text make one chunk of 800 characters."""
    text = f"{'앞의 글이다. ' * 40}\n\n{long_table(4)}\n\n{'뒤의 글이다. ' * 20}"
    assert TableNodeParser().split(text)["c"] == [Span(0, len(text.rstrip()))]
    spans = TableNodeParser(size=500, overlap=0, sentences="rule").split(text)["c"]
    table = find_tables(text)[0].span
    assert any(s.contains(table) and len(s) > len(table) for s in spans)


def test_no_chunk_is_a_bare_header() -> None:
    """Also where the first row alone is longer than a chunk, and where header and row are so together."""
    for cell in ("긴 칸 " * 100, "칸" * 80):
        text = f"글이다.\n\n| 가 | 나 |\n|---|---|\n| 1 | {cell}|\n| 2 | 짧다 |"
        for kind in (TableNodeParser, HeadingNodeParser, QANodeParser):
            texts = [n.text for n in kind(size=90, overlap=0).get_nodes_from_documents([Document(text=text, id_="d")])]
            assert not any(t.endswith("|---|---|") for t in texts) and sum(cell.strip() in t for t in texts) == 1


def test_tables_are_whole_on_request() -> None:
    text = f"{'앞의 글이다. ' * 30}\n\n{long_table(40)}\n\n{'뒤의 글이다. ' * 30}"
    table = find_tables(text)[0].span
    for kind in (TableNodeParser, HeadingNodeParser, RecordNodeParser, QANodeParser):
        spans = kind(size=300, overlap=30, whole_tables=True, sentences="rule").split(text)[kind.level]
        assert sum(s.contains(table) for s in spans) == 1 and sum(s.overlap(table) > 0 for s in spans) == 1
        assert all(len(s) <= 300 for s in spans if not s.contains(table))
    rule = parse_rules("[t]\nsplitter = table_aware\nsize = 300\nwhole_tables = yes")
    routed = RoutedNodeParser(rules=rule).split(text)["c"]
    assert sum(s.contains(table) for s in routed) == 1


def test_a_table_in_an_answer_is_cut_between_rows_with_its_header() -> None:
    text = f"질의 : 며칠인지?\n\n회시 : 다음 표와 같음.\n\n{long_table(30)}\n\n끝."
    nodes, _ = QANodeParser(size=400, overlap=0, sentences="rule").parse(Document(text=text, id_="d"))
    check_rows(text, [Span(n.start_char_idx, n.end_char_idx) for n in nodes])
    inside = [n for n in nodes if n.text.startswith("| ") and "번호" not in n.text]
    assert len(inside) > 2 and all("며칠인지?" in n.metadata["prefix"] and "|---|---|" in n.metadata["prefix"] for n in inside)
    short = f"질의 : 며칠인지?\n\n회시 : {'다음 표와 같음. ' * 20}\n\n{long_table(4)}\n\n{'끝. ' * 20}"
    assert sum(s.contains(find_tables(short)[0].span) for s in QANodeParser(size=300, overlap=0).split(short)["c"]) == 1


def test_a_row_without_a_first_cell_stays_with_the_row_above() -> None:
    text = "| 보유 | 공제 |\n|---|---|\n" + "\n".join(f"| {i}년 | {i} |\n|  | 특례 {i} |" for i in range(30))
    for span in TableNodeParser(size=120, overlap=0).split(text)["c"]:
        assert not span.of(text).startswith("|  |")


@pytest.mark.heavy
def test_published_tables() -> None:
    """Rows of the gold tables of a transcribed statute: none cut, every later part with its header."""
    row = json.loads((shared_data("ko_tax_tables") / "corpus.jsonl").read_text(encoding="utf-8").splitlines()[0])
    text, document = row["text"], Document(text=row["text"], id_=row["doc_id"], metadata={"title": row["title"]})
    gold = [Span(a, b) for a, b in row["tables"]]
    assert {s for s in gold} <= {t.span for t in find_tables(text)}
    for size, overlap in ((1500, 150), (400, 40), (120, 12)):
        for parser in (TableNodeParser(size=size, overlap=overlap, sentences="rule"),
                       HeadingNodeParser(size=size, overlap=overlap, sentences="rule"),
                       RecordNodeParser(size=size, overlap=overlap, sentences="rule"),
                       RoutedNodeParser(sentences="rule")):
            nodes, _ = parser.parse(document)
            edges = sorted({i for n in nodes for i in (n.start_char_idx, n.end_char_idx)})
            for table in gold:
                lines = [table.start + i for i, c in enumerate(table.of(text)) if c == "\n"] + [table.end]
                rows = [Span(a, b) for a, b in zip([table.start, *(i + 1 for i in lines)], lines)]
                header = Span(rows[0].start, rows[1].end).of(text)
                for r in rows:
                    end = r.start + len(r.of(text).rstrip())
                    assert not any(r.start < e < end for e in edges), (type(parser).__name__, size, r.of(text))
                for n in nodes:
                    if rows[1].end <= n.start_char_idx < table.end:
                        needed = rows[0].of(text) if type(parser) is RecordNodeParser else header
                        assert needed in n.metadata["prefix"]


# --- questions and answers
@pytest.mark.parametrize("text", ["이 회시는 종전 질의회시 : 455와 다르다. 재질의: 한 바 없다.", "질의가 없는 글이다.", "회시 : 답만 있다."])
def test_what_is_no_pair_is_split_by_default(text: str) -> None:
    assert QANodeParser(size=20, overlap=0).split(text) == TextNodeParser(size=20, overlap=0).split(text)


@pytest.mark.parametrize(("question", "answer"), [("질의 :", "회시 :"), ("[질의]", "[회시]"), ("【질의】", "【회시】"),
                                                  ("질의요지\n", "회답\n"), ("질의1：", "회시1："), ("질의：", "회답：")])
def test_a_pair_stays_together_and_a_long_answer_keeps_its_question(question: str, answer: str) -> None:
    text = f"연차 정산\n\n{question} 3일을 뺄 수 있는지?\n\n{answer} 뺄 수 없음."
    assert len(QANodeParser().split(text)["c"]) == 1
    text = text + " 종전 질의회시 : 455와 같은 뜻임." * 60
    nodes, _ = QANodeParser(size=300, overlap=30).parse(Document(text=text, id_="d"))
    assert len(nodes) > 3 and answer.strip() in nodes[0].text
    assert all(n.metadata["prefix"].startswith("연차 정산") and "3일을 뺄 수 있는지?" in n.metadata["prefix"] for n in nodes[1:])


def test_a_question_longer_than_a_chunk() -> None:
    text = "제목\n\n질의 : " + "사정이 이러합니다. " * 100 + "\n\n회시 : 그러함."
    nodes, _ = QANodeParser(size=300, overlap=30).parse(Document(text=text, id_="d"))
    assert nodes[-1].text.endswith("회시 : 그러함.") and all(len(n.text) <= 300 for n in nodes)
    assert all(len(n.metadata["prefix"]) < 300 and n.metadata["prefix"].endswith("...") for n in nodes[1:])


# --- headings
# --- records and parents
def interpretation(core: int, reason: int) -> str:
    """A published interpretation with parts of about so many characters."""
    question, answer = "이 기준이 적용되는지 여부가 문제됩니다. " * (core // 44), "적용된다고 보는 것이 타당합니다. " * (core // 38)
    return f"질의요지\n{question}\n\n회답\n{answer}\n\n이유\n{'이유는 다음과 같습니다. ' * (reason // 14)}"


@pytest.mark.shed
@pytest.mark.parametrize("length", [1_200, 2_559, 6_000])
def test_the_core_of_an_interpretation_is_never_cut(length: int) -> None:
    document = Document(text=interpretation(length, 9_000), id_="i")
    for parser in (RoutedNodeParser(sentences="rule"), RecordNodeParser(size=500, sentences="rule")):
        nodes, _ = parser.parse(document)
        cores = [n for n in nodes if n.metadata["chunk_type"] == "core"]
        assert len(cores) == 1 and "질의요지" in cores[0].text and "타당합니다." in cores[0].text
        assert len(nodes) > 2 and all(len(n.text) <= 2_000 for n in nodes if n not in cores)


@pytest.mark.shed
def test_articles_up_to_3000_characters_stay_whole_by_the_default_rules() -> None:
    lengths = (300, 2_100, 2_900, 4_500)
    clauses = [[f"{'①②③④⑤⑥⑦⑧⑨'[i % 9]} 이 조의 규정은 다른 법률에 특별한 규정이 있는 경우에도 적용한다." for i in range(n // 45)] for n in lengths]
    text = "가온법\n\n" + "\n".join(f"제{i}조(제목{i}) " + "\n".join(lines) for i, lines in enumerate(clauses, 1))
    nodes, _ = RoutedNodeParser(sentences="rule").parse(Document(text=text, id_="law"))
    parts = [sum(n.metadata.get("article_number") == str(i) for n in nodes) for i in (1, 2, 3, 4)]
    assert parts[:3] == [1, 1, 1] and parts[3] > 1 and max(len(n.text) for n in nodes) <= 3_000
    small, _ = RecordNodeParser(size=1_000, sentences="rule").parse(Document(text=text, id_="law"))
    assert max(len(n.text) for n in small) <= 1_000


def test_a_row_keeps_the_family_it_names() -> None:
    """Core and reason in two rows of one `parent_id`: nodes and outlines say so, whatever splits them."""
    row = Document(text="[질의회답]\n질의요지: 되나요?\n\n회답: 됩니다.", id_="INTERP_7_core", metadata={"parent_id": "INTERP_7"})
    for parser in (RecordNodeParser(), RecordNodeParser(parent_size=900), TextNodeParser(parent_size=900), RoutedNodeParser()):
        nodes, outline = parser.parse(row)
        assert {n.metadata["parent_id"] for n in nodes} == {"INTERP_7"} == {outline.metadata["parent_id"]}


LAW = """가온법
[시행 2030. 1. 1.]

제1편 총칙
제1장 통칙
제1조(목적) 이 법은 가온의 기준을 정한다.
제2장 사람
제1절 능력
제2조(능력) 사람은 능력이 있다.
제3조(주소) 사람은 주소를 둔다.
제2절 주소
제4조(거소) 거소는 주소로 본다.
제2편 물건
제5조(물건) 물건은 유체물이다.
제6조(주물) 주물에는 종물이 따른다.
부칙 <제1호, 2029. 1. 1.>
제1조(시행일) 이 법은 공포한 날부터 시행한다.
"""


@pytest.mark.shed
def test_the_outline_of_a_statute_knows_its_chapters() -> None:
    document = Document(text=LAW, id_="law")
    parser = RecordNodeParser(min_size=1, kind="statute")
    nodes, outline = parser.parse(document)
    titles = {}
    for name, span in outline.sections:
        inside = [n for n in nodes if span.contains(Span(n.start_char_idx, n.end_char_idx))]
        titles[name] = [n.metadata["article_number"] for n in inside]
    assert titles == {"제1편 총칙 > 제1장 통칙": ["1"], "제1편 총칙 > 제2장 사람 > 제1절 능력": ["2", "3"],
                      "제1편 총칙 > 제2장 사람 > 제2절 주소": ["4"],
                      "제2편 물건": ["5", "6"], "부칙 <제1호, 2029. 1. 1.>": ["1"]}
    assert parser.outline(document) == outline
    assert all(a.end <= b.start for (_, a), (_, b) in zip(outline.sections, outline.sections[1:]))


def test_parents_hold_whole_units() -> None:
    text = (SAMPLE / "corpus" / "hr_labor" / "leave.md").read_text(encoding="utf-8")
    parser = HeadingNodeParser(size=300, overlap=30, parent_size=1200)
    _, outline = parser.parse(Document(text=text, id_="d"))
    units = [u.span for u in parser.blocks(Document(text=text, id_="d"))]
    assert all(sum(p.contains(u) for p in outline.levels["p"]) == 1 for u in units if len(u) <= 1200)


# --- rules
def test_threshold() -> None:
    router = RoutedNodeParser(sentences="rule")
    for length, whole in ((3500, True), (3501, False)):
        document = Document(text="가나다라. " * 583 + "나" * (length - 3498), id_="1",
                            metadata={"file_name": "hr_insurance_edu.jsonl"})
        assert len(document.text) == length and (len(router.parse(document)[0]) == 1) == whole
    document = Document(text="\n 글이다. " * 2000, id_="1", metadata={"file_name": "announcements.jsonl"})
    assert [n.text for n in router.parse(document)[0]] == [document.text.strip()]


def test_a_document_is_routed_by_name_type_and_kind() -> None:
    rules = parse_rules("[a]\nmatch = */laws/*, 법*.txt\n[b]\ndoc_type = faq*\n[c]\nkind = table\n"
                        "[d]\nkind = qa\n[e]\nmatch = *.md")
    router = RoutedNodeParser(rules=rules)

    def name(text: str = "글", id_: str = "1", **metadata: str) -> str:
        return router.rule_for(Document(text=text, id_=id_, metadata=metadata)).name

    assert name(file_name="x/laws/1.jsonl") == name(id_="x/laws/1") == name(file_name="a/b/법령.TXT") == "a"
    assert name(file_path="C:\\d\\laws\\x") == "a"
    assert name(doc_type="faq_hr") == "b" and name("| a | b |\n|---|---|") == "c" and name("질의 : 되나요? 회시 : 됩니다.") == "d"
    assert name(file_name="a.md") == "e" and name() == "default"


@pytest.mark.parametrize(("text", "message"), [
    ("", "no rules"), ("match = a", "line: 1"), ("[a]\nmatch", "parsing errors"),
    ("[a]\nsplit = sometimes", r"rule \[a\]: split: .*'sometimes'"),
    ("[a]\nsplitter = x", r"rule \[a\]: splitter: .*'x'"), ("[a]\nsize = 0", r"rule \[a\]: size: .*'0'"),
    ("[a]\n[b]\nsize = 9\noverlap = 9", r"rule \[b\]: .*overlap=9, size=9"),
    ("[a]\nthreshold = -1", "threshold"), ("[a]\nchunk = 3", r"rule \[a\]: chunk: Extra"),
    ("[a]\nsize = 5\nsize = 6", "size"), ("[a]\n[a]", "already exists"), ("[a]\nkind = poem", "kind"),
    ("[a]\nmatch =", r"rule \[a\]: match: ")])
def test_bad_rules_are_named(tmp_path, text: str, message: str) -> None:
    file = tmp_path / "rules.ini"
    file.write_text(text, encoding="utf-8")
    for place, what in ((file, message), (tmp_path / "no.ini", "no.ini")):
        with pytest.raises(InputError, match=what) as caught:
            load_rules(place)
        assert place.name in str(caught.value)


def test_own_rules_replace_the_defaults(tmp_path) -> None:
    file = tmp_path / "rules.ini"
    file.write_text("\ufeff# 우리 규칙\n[전부]  # 모든 파일\nsplitter = headings   # 제목마다\nsize = 200\noverlap = 0\n",
                    encoding="utf-8")
    rule, = load_rules(file)
    assert (rule.name, rule.match, rule.splitter, rule.size) == ("전부", ("*",), "headings", 200)
    assert load_rules(file) == RoutedNodeParser(rules=load_rules(file)).rules


@pytest.mark.parametrize("parser", [*(kind() for kind in RULE_SPLITTERS.values()), RoutedNodeParser(parent_size=2000),
                                    RoutedNodeParser(rules=parse_rules("[a]\nsize = 99\noverlap = 9"))])
def test_a_parser_survives_json_and_pickle(parser) -> None:
    hidden = {"include_metadata", "include_prev_next_rel", "callback_manager", "id_func"}
    settings = json.loads(json.dumps(parser.model_dump(exclude=hidden)))
    again = type(parser)(**settings)
    text = (SAMPLE / "corpus" / "finance_tax" / "tax_guide.md").read_text(encoding="utf-8")
    assert again.model_dump(exclude=hidden) == parser.model_dump(exclude=hidden)
    assert again.split(text) == pickle.loads(pickle.dumps(parser)).split(text) == parser.split(text)
