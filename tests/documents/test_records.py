"""Records of statutes: merging, cutting, and nothing lost."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis import given, settings
from llama_index.core.schema import Document
from statute_texts import TEXTS, check

from ragnb.chunking.structure import RecordNodeParser
from ragnb.documents.forms import plain_text
from ragnb.documents.rulings import interpretation_records, qa_pairs, qa_records, ruling_records
from ragnb.documents.records import merge_short, statute_records
from ragnb.documents.span import Span


def test_merging_stays_in_its_section() -> None:
    text = ("가온법\n제1장 가\n제1조(가) 짧다.\n제2조(나) 짧다.\n제2장 나\n제3조(다) 짧다.\n제4조 삭제 <2020. 1. 1.>\n제3장"
            " 다\n제5조(라) 혼자다.\n부칙\n제1조(시행일) 짧다.")
    ranges = [r.metadata.get("article_range") for r in statute_records(text, "1")]
    assert ranges == [None, "1~2", "3~4", "5", "1"]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(1, 400), max_size=30), st.integers(0, 300))
def test_merge_short(lengths: list[int], least: int) -> None:
    edges = [sum(lengths[:i]) for i in range(len(lengths) + 1)]
    spans = [Span(a, b) for a, b in zip(edges, edges[1:])]
    runs = merge_short(spans, least, 600)
    assert [i for r in runs for i in r] == list(range(len(spans)))
    sizes = [spans[r[-1]].end - spans[r[0]].start for r in runs]
    assert all(n <= 600 for n in sizes)
    assert all(
        n < max(400, 2 * least) + 2 * least for r, n in zip(runs, sizes) if len(r) > 1
    )  # one short run from each side, no more
    assert all(n >= least or all(n + m > 600 for m in sizes[max(0, i - 1) : i] + sizes[i + 1 : i + 2])
               for i, n in enumerate(sizes))


def test_long_articles_are_cut_at_clauses() -> None:
    items = "\n".join(f"{i}. “부품{i}”이란 {'물결 ' * 60}것을 말한다." for i in range(1, 12))
    text = (f"가온법\n\n제1조(정의) ① 이 법에서 쓰는 말의 뜻은 다음과 같다.\n{items}\n② {'세정 ' * 200}한다.\n③"
            " 짧다.\n[전문개정 2020. 1. 1.]\n\n제2조(벌칙) 벌한다.")
    records = statute_records(text, "1", max_size=1000)
    check(text, records)
    pieces = [r for r in records if r.metadata.get("article_id") == "LAW_1_A1"]
    assert len(pieces) > 3 and all(len(r.span) <= 1000 for r in records)
    assert all(r.prefix.endswith("다음과 같다.") for r in pieces[1:] if r.span.of(text)[0] in "0123456789")
    assert all(r.span.of(text)[0] in "제②③" or r.span.of(text).split(".")[0].isdigit() for r in pieces)


def test_table_pieces_repeat_the_header_row() -> None:
    rows = "\n".join(f"위반 {i} | {i * 10} | {i * 20}" for i in range(60))
    text = f"가온법\n제1조(목적) 목적이다.\n[별표 1] 과태료(제1조 관련)\n\n위반행위 | 1차 | 2차\n{rows}"
    records = statute_records(text, "1", max_size=400)
    tables = [r for r in records if r.type == "law_appendix"]
    assert len(tables) > 2 and all(r.prefix.endswith("위반행위 | 1차 | 2차") for r in tables[1:])
    check(text, records)


@settings(max_examples=200, deadline=None)
@given(TEXTS, st.sampled_from([(200, 3000), (0, 50), (30, 120)]))
def test_nothing_is_lost_or_doubled(text: str, sizes: tuple[int, int]) -> None:
    records = statute_records(text, "1", min_size=sizes[0], max_size=sizes[1])
    check(text, records)
    assert all(len(plain_text(r.span.of(text)).strip()) <= sizes[1] for r in records)   # as readers see it
    check(text, interpretation_records(text, "1"))
    check(text, ruling_records(text, "1"))
    if qa_pairs(text):
        check(text, qa_records(text, "1", max_size=80, threshold=200))
    nodes = RecordNodeParser(sentences="rule").get_nodes_from_documents([Document(text=text, id_="d")])
    assert all(n.text == text[n.start_char_idx : n.end_char_idx] for n in nodes)
    assert "".join("".join(n.text.split()) for n in nodes) == "".join(text.split())
