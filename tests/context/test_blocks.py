"""Texts as a page shows them: places of the text, in order, and nothing lost but the signs of Markdown."""
from __future__ import annotations

import re

from hypothesis import given, strategies as st
from strategies import examples

from ragnb.context.blocks import ShownBlock, text_blocks


def shown(text: str, blocks: list[ShownBlock]) -> list[list[list[str]]]:
    return [[["".join(text[p.start:p.end] for p in cell)] for row in b.rows for cell in row] for b in blocks]


@examples(200)
@given(st.lists(st.sampled_from(["|", "-", "**", "*", "#", " ", "\n", "\r\n", "가", "a", ":", "\\", "\t", "\u2028"]), max_size=40).map("".join))
def test_pieces_are_in_order_and_only_signs_are_left_out(text: str) -> None:
    pieces = [p for b in text_blocks(text) for row in b.rows for cell in row for p in cell]
    at, left = 0, ""
    for p in pieces:
        assert at <= p.start < p.end <= len(text)
        left, at = left + text[at:p.start], p.end
    assert not re.search(r"[^|\-*#:\s]", left + text[at:])


def test_a_table_in_a_text_and_a_part_of_a_table() -> None:
    text = "값은 다음과 같다.\n\n| 물건 | 값 |\n|:--|--:|\n| 못 **10개** | 300원 |\n\n끝."
    kinds = [b.is_table for b in text_blocks(text)]
    assert kinds == [False, True, False]
    assert shown(text, text_blocks(text))[1] == [["물건"], ["값"], ["못 10개"], ["300원"]]
    cut = "| 못 | 300원 |\n| 망치 | 9,000원 |"
    assert [len(row) for row in text_blocks(cut)[0].rows] == [2, 2]


def test_a_row_is_bold_only_above_the_line_of_a_header() -> None:
    bold = [[p.is_bold for cell in row for p in cell] for row in text_blocks("| 못 | 300원 |\n| 망치 | 9,000원 |\n끝\n| 물건 | 값 |\n|---|---|\n| 못 | 1원 |")[0].rows]
    assert bold == [[False, False], [False, False]]
    table = text_blocks("| 물건 | 값 |\n|---|---|\n| 못 | 1원 |")[0]
    assert [[p.is_bold for cell in row for p in cell] for row in table.rows] == [[True, True], [False, False]]


def test_a_mark_of_another_kind_stays() -> None:
    for text in ("2 ** 3 ** 4", "a || b", "#해시태그", "**열린 강조", "---", "| 하나만"):
        assert "".join(sum((c for b in shown(text, text_blocks(text)) for c in b), [])) == text
