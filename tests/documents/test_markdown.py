"""Headings, against markdown-it-py's own reading."""
from __future__ import annotations

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from llama_index.core import Document
from markdown_it import MarkdownIt
from strategies import examples

from ragnb.chunking.structure import TextNodeParser
from ragnb.documents.markdown import find_headings

LINES = [
    "# 휴가", "## 연차 ##", "###### 끝", "####### 일곱", "#아님", "#\t탭", " # 하나", "   ## 셋", "    # 넷", "\t# 탭 앞", "#", "##   ", "제목", "두 줄",
    "===", "---", "  ---", "=", "* * *", "- 항목", "- # 목록", "  ## 목록 안", "> # 인용", "> 본문", "1. 하나", "```", "```sh", "~~~", "`# 안`", "\\# 아님",
    "<div>", "# <b>굵게</b>", "| 가 | 나 |", "|---|---|", "**굵게**", "", "", "", "본문이다.", "    code", "[a]: /b", "# 가 \\#", "### 표 | 줄", "-", "+ x",
]


def reference(text: str) -> list[tuple[int, int, str]]:
    """Line, depth and title of the headings outside of lists and quotations, as CommonMark says."""
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    lines = text.split("\n")
    for token in tokens:    # code that is never closed is, on purpose, no code for us
        closed = token.type != "fence" or re.fullmatch(r"[\s>]*(?:`{3,}|~{3,})\s*", lines[min(token.map[1], len(lines)) - 1])
        assume(closed and (token.type != "fence" or token.map[1] - token.map[0] > 1))
    found = []
    for token, body in zip(tokens, tokens[1:]):
        title = re.sub(r"\s+", " ", body.content).strip()
        if token.type == "heading_open" and token.level == 0 and title:
            found.append((token.map[0], int(token.tag[1]), title))
    return found


@given(st.lists(st.sampled_from(LINES), min_size=1, max_size=12))
@examples(500)
def test_headings_are_those_of_the_markdown_parser(lines: list[str]) -> None:
    text = "\n".join(lines)
    assume(not text.startswith("---"))
    expected = reference(text)
    starts = [0, *(m.end() for m in re.finditer("\n", text))]
    found = [(next(i for i in range(len(starts) - 1, -1, -1) if starts[i] <= h.start), h.depth, h.path[-1]) for h in find_headings(text)]
    assert found == expected


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_byte_order_mark_hides_no_heading(end: str) -> None:
    text = end.join(["\ufeff# 휴가", "", "## 연차", "", "\ufeff## 병가"])
    assert [h.path for h in find_headings(text)] == [("휴가",), ("휴가", "연차"), ("휴가", "병가")]
    assert TextNodeParser().outline(Document(text=text, id_="a")).sections[0][0] == "휴가"
