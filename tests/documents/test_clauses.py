"""항, 호 and 목: counting, nesting, and any text."""

from __future__ import annotations

from hypothesis import given, settings
from statute_texts import TEXTS

from ragnb.documents.statutes import parse_clauses, parse_statute
from ragnb.documents.span import Span

CIRCLED = [*map(chr, range(0x2460, 0x2474)), *map(chr, range(0x3251, 0x3260)), *map(chr, range(0x32B1, 0x32C0))]


def test_fifty_paragraphs() -> None:
    text = "제1조(가) " + "\n".join(f"{c} {i}번째 항이다." for i, c in enumerate(CIRCLED, 1))
    article = parse_statute(text).articles[0]
    assert [p.label for p in article.paragraphs] == [str(i) for i in range(1, 51)]


def test_clauses_count_and_nest() -> None:
    text = (
        "제1조(가) ① 다음과 같다. <개정 2012. 1. 17.,\n1. 29., 2020. 2. 4.>\n1. 하나\n1의2. 하나의 둘\n가. 첫째\n나."
        " 둘째에 해당한\n다. 다만, 아니다.\n다. 셋째\n1) 가늘게\n가) 더 가늘게\n2) 둘\n2. 둘\n② 삭제 <2020. 1. 1.> ③"
        " 이어진다.\n④ 제3항의 1. 은 아니다.\n[본조신설 2020. 1. 1.]"
    )
    statute = parse_statute(text)
    first = statute.articles[0].paragraphs[0]
    assert [p.label for p in statute.articles[0].paragraphs] == ["1", "2", "3", "4"]
    assert [c.label for c in first.children] == ["1", "1-2", "2"]
    assert [c.label for c in first.children[1].children] == ["가", "나", "다"]
    assert [c.label for c in first.children[1].children[2].children] == ["1", "2"]
    assert statute.find(1, 1, "1의2", "나").of(text) == "나. 둘째에 해당한\n다. 다만, 아니다."
    assert statute.find(1, 4).of(text) == "④ 제3항의 1. 은 아니다."
    assert statute.find(1, 7) is None and statute.find(1, 1, 9) is None


def test_items_without_paragraphs() -> None:
    clauses = parse_clauses("다음 각 호와 같다.\n1. 하나\n가. 첫째\n2. 둘")
    assert [(c.kind, c.label, len(c.children)) for c in clauses] == [("호", "1", 1), ("호", "2", 0)]


@settings(max_examples=100, deadline=None)
@given(TEXTS)
def test_clauses_lie_inside_and_in_order(text: str) -> None:
    def walk(clauses: tuple, outer: Span) -> None:
        for a, b in zip(clauses, clauses[1:]):
            assert a.span.end <= b.span.start
        for c in clauses:
            assert outer.contains(c.span)
            walk(c.children, c.span)

    for a in parse_statute(text).articles:
        walk(a.clauses, a.span)
