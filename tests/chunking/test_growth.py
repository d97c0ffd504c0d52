"""Splitting takes as many steps as a document has characters: counted, not timed."""
from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import Any

import pytest
from llama_index.core.schema import Document

from ragnb import (ContextualNodeParser, HeadingNodeParser, ParentChildNodeParser, QANodeParser, RecordNodeParser,
                   RoutedNodeParser, SentenceWindowNodeParser, TableNodeParser, TextNodeParser, UnitNodeParser)
from ragnb.chunking.rules import DEFAULT_RULES, parse_rules

SMALL = re.sub(r"(size|threshold) = (\d+)00\b", r"\1 = \2", DEFAULT_RULES.replace("overlap = 200", "overlap = 5"))
SMALL = SMALL.replace("[rest]", "[rest]\nsize = 200\noverlap = 5")
PARSERS = {
    "parent-child": ParentChildNodeParser(sentences="rule"), "sentence": SentenceWindowNodeParser(sentences="rule"),
    "text": TextNodeParser(sentences="rule", size=200, overlap=20, parent_size=800), "table": TableNodeParser(sentences="rule", size=200),
    "qa": QANodeParser(sentences="rule", size=200, overlap=0), "units": UnitNodeParser(sentences="rule"),
    "headings": ContextualNodeParser(parser=HeadingNodeParser(sentences="rule", size=200, overlap=0)),
    "records": RecordNodeParser(sentences="rule", size=200, parent_size=800),
    "routed": RoutedNodeParser(sentences="rule", rules=parse_rules(SMALL))}


def articles(n: int, same: bool = False) -> str:
    """A statute of n short articles in one chapter."""
    return "가온법\n\n제1장 총칙\n" + "\n".join(f"제{1 if same else i}조(제목) 이 규정에 따른다." for i in range(1, n + 1))


DOCUMENTS: dict[str, Callable[[int], str]] = {
    "articles": articles, "one article again and again": lambda n: articles(n, same=True),
    "items of one article": lambda n: "가온법\n\n제1조(목적) 다음과 같다.\n" + "\n".join(f"{i}. 호의 내용은 이렇다." for i in range(8 * n)),
    "an appendix of rows": lambda n: ("가온법\n\n제1조(목적) 이 법은 이렇다.\n\n[별표 1] 표\n| 가 | 나 |\n|---|---|\n"
                                      + "\n".join(f"| {i} | 값 |" for i in range(4 * n))),
    "rows without a name": lambda n: "| 가 | 나 |\n|---|---|\n" + "\n".join(f"| | {i}번째 값 |" for i in range(4 * n)),
    "headings and tables": lambda n: "\n\n".join(f"## {i}\n\n| 가 | 나 |\n|---|---|\n| {i} | {'값 ' * 9}|" for i in range(n)),
    "questions": lambda n: "\n\n".join(f"질의 : {i}일은?\n\n회시 : 뺄 수 없음." for i in range(n)),
    "one line": lambda n: "연차는 열다섯 날이다 " * 3 * n, "blank lines": lambda n: "글이다." + "\n" * 20 * n + "끝이다."}


def steps(work: Callable[[], Any]) -> int:
    """Lines of this package that some work runs through."""
    count = 0

    def trace(frame: Any, event: str, _: Any) -> Any:
        nonlocal count
        if "ragnb" not in frame.f_code.co_filename:
            return None
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


def check_linear(made: Callable[[int], Callable[[], Any]], n: int) -> None:
    """Twice the document, about twice the steps."""
    made(4)()                                               # what is loaded or compiled once
    one, two, four = (steps(made(k * n)) for k in (1, 2, 4))
    assert two < 2.4 * one + 500 and four < 2.4 * two + 500, (one, two, four)


@pytest.mark.heavy
@pytest.mark.parametrize("kind", DOCUMENTS)
@pytest.mark.parametrize("name", PARSERS)
def test_steps_of_a_splitter_grow_with_the_document(name: str, kind: str) -> None:
    parser, make = PARSERS[name], DOCUMENTS[kind]

    def made(n: int) -> Callable[[], Any]:
        pages = {"page_starts": [*range(0, len(make(n)), 40)]}
        document = Document(text=make(n), id_="d", metadata=pages)
        return lambda: parser.parse(document)
    check_linear(made, 128 if kind == "an appendix of rows" else 32)    # long enough to be cut by its rows at every size
