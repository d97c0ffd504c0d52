"""Headings of articles and chapters, written to be nasty."""
from __future__ import annotations

import re

import pytest
from hypothesis import assume, given, strategies as st
from llama_index.core import Document
from markdown_it import MarkdownIt
from statute_texts import check, clause, numbers
from strategies import examples

from ragnb.chunking.structure import TextNodeParser
from ragnb.documents.markdown import find_headings
from ragnb.laws.records import statute_records
from ragnb.laws.statutes import parse_statute

REFERENCES = ["제5조에 따른 등록", "제5조제1항의 등록", "제5조 제1항에 따라", "제5조 및 제6조에 따른 것", "제5조ㆍ제6조", "제5조(등록)에 따른 등록", "제5조(등록)의 규정",
              "제5조(등록), 제6조(취소)를 준용", "제5조(등록) 및 제6조를 준용", "제5조(같은 조 제2호는 제외한다), 제6조", "제5조(제2항은 제외한다)", "제5조부터 제7조까지",
              "제5조의 제목 중 “가”를", "제5조의2제1항", "제5조 또는 제6조", "제5조의3에도 불구하고", "제5조를 위반한", "제5조는 적용하지", "제5조와 같다"]


@pytest.mark.parametrize("reference", REFERENCES)
def test_wrapped_references_are_not_articles(reference: str) -> None:
    text = (f"가온법\n\n제1조(목적) 이 법은 정비를 정한다.\n\n제4조(정의) 뜻은 다음과 같다.\n1. “정비”란 이 법\n{reference}"
            " 하는 것을 말한다.\n2. 그 밖의 것\n\n제8조(벌칙) 벌한다.")
    assert numbers(text) == ["1", "4", "8"]


@pytest.mark.parametrize("ending", ["제3조,", "제3조 및", "제2조ㆍ제3조ㆍ", "「물결법」", "제3조 또는", "제3조와", "(이하 “정비”라 하며 「"])
def test_unfinished_lines_are_followed_by_references(ending: str) -> None:
    assert numbers(f"제1조(목적) 목적이다.\n제2조(준용) 준용은 {ending}\n제5조(등록) ① 같은 문장이다.\n제6조(벌칙) 벌한다.") == ["1", "2", "6"]


@pytest.mark.parametrize("heading, number, title", [
    ("제5조(등록) 한다.", "5", "등록"), ("제5조（등록） 한다.", "5", "등록"), ("제5조[등록(登錄)의 방법]등록은", "5", "등록(登錄)의 방법"),
    ("제 5 조 (등록) 한다.", "5", "등록"), ("제5조의2(등록) 한다.", "5-2", "등록"), ("제5조의 12(등록)① 한다.", "5-12", "등록"),
    ("제5조 ① 한다.", "5", ""), ("제5조① 한다.", "5", ""), ("  제5조(등록) 한다.", "5", "등록"),
    ("### 제5조(등록)\n\n한다.", "5", "등록"), ("##### 제5조 (등록)\n**①** 한다.", "5", "등록"), ("**제5조(등록)** 한다.", "5", "등록"),
    ("##### 제5조\n\n한다.", "5", ""), ("제5조(이의신청) 이 법에", "5", "이의신청"), ("제5조(「물결법」의 준용) 준용한다.", "5", "「물결법」의 준용"),
    ("제５조(등록) 한다.", "5", "등록")])
def test_forms_of_headings(heading: str, number: str, title: str) -> None:
    article = parse_statute(f"가온법\n\n제1조(목적) 목적이다.\n\n제4조(정의) 뜻이다.\n\n{heading}\n\n제9조(벌칙) 벌한다.").articles[2]
    assert (article.number, article.title) == (number, title)


@pytest.mark.parametrize("line, number, last", [
    ("제10조 삭제 <2020. 1. 1.>", "10", "10"), ("제10조 삭제<2020. 1. 1.>", "10", "10"),
    ("제10조(등록) 삭제 <2020. 1. 1.>", "10", "10"), ("제10조 및 제11조 삭제 <2020. 1. 1.>", "10", "11"),
    ("제10조부터 제12조까지 삭제 <2020. 1. 1.>", "10", "12"), ("제10조 내지 제12조 삭제", "10", "12"), ("제10조ㆍ제11조 삭제", "10", "11"),
    ("제10조의2 및 제10조의3 삭제", "10-2", "10-3"), ("제10조(가) 및 제11조(나) 삭제 <2020. 1. 1.>", "10", "11")])
def test_deleted(line: str, number: str, last: str) -> None:
    article = parse_statute(f"제1조(목적) 목적이다.\n{line}\n제13조(벌칙) 벌한다.").articles[1]
    assert (article.number, article.last, article.deleted) == (number, last, True)


def test_untitled_articles_are_the_next_number() -> None:
    assert numbers(
        "헌장\n제1조 ①공동체는 자유롭다.\n②권리는 모두에게 있다.\n제2조 회원은 평등하다.\n제3조 회의는 연 1회 연다." " 다만,\n제1조 규정에 따른다.\n제4조 끝이다."
    ) == ["1", "2", "3", "4"]


def test_second_and_twelfth_are_not_mixed() -> None:
    statute = parse_statute("제1조(가) 가\n제1조의2(나) 나\n제2조(다) 다\n제12조(라) 라\n제12조의2(마) 마")
    assert [a.number for a in statute.articles] == ["1", "1-2", "2", "12", "12-2"]
    assert clause(statute, "1-2") != clause(statute, "12")


def test_quoted_amendments() -> None:
    text = ("제1조(목적) 목적이다.\n\n제2조(정의) 뜻이다.\n\n부칙 <제7호,2030. 8. 20.>\n제1조(시행일) 공포한 날부터"
            " 시행한다.\n제2조(다른 법률의 개정) ① 물결법 일부를 다음과 같이 개정한다.\n제3조의2제2항 중 “가”를 “나”로"
            " 한다.\n제3조를 다음과 같이 한다.\n제3조(정의) ① 이 법에서 쓰는 말이다.\n② 바다법 일부를 다음과 같이"
            " 개정한다.\n“제3조(위원회) ① 위원회를 둔다.\n제4조(회의) 회의를 연다.”\n제3조(경과조치) 종전에 따른다.")
    assert numbers(text) == ["1", "2"]
    found = [a for a in parse_statute(text).articles if a.part == "부칙"]
    assert [(a.number, a.title) for a in found] == [("1", "시행일"), ("2", "다른 법률의 개정"), ("3", "경과조치")]


def test_headings_and_paths() -> None:
    text = ("가온법\n\n제1편 총칙\n제1장 통칙 <개정 2009. 12. 31.>\n\n제1조(목적) 목적이다.\n\n제2조(준용) 이 법\n제2장의"
            " 규정은 준용한다.\n제3장 및 제4장의 규정도 같다.\n\n제2장 의무 <신설 2010. 1. 1.>\n제1절 삭제 <2011. 1."
            " 1.>\n제2절 점검\n제3관 방법\n제1항 협의상 점검 <개정 2012. 2. 10.>\n\n제3조(점검) 점검한다.\n[전문개정 2012."
            " 2. 10.]\n\n제2항 재판상 점검\n\n제4조(기록) 기록한다.\n제2편 벌칙\n제5조(벌칙) 벌한다.")
    statute = parse_statute(text)
    assert [a.path for a in statute.articles] == [("제1편 총칙", "제1장 통칙")] * 2 + [
        ("제1편 총칙", "제2장 의무", "제2절 점검", "제3관 방법", "제1항 협의상 점검"),
        ("제1편 총칙", "제2장 의무", "제2절 점검", "제3관 방법", "제2항 재판상 점검"), ("제2편 벌칙",)]
    assert statute.articles[2].span.of(text).endswith("[전문개정 2012. 2. 10.]")
    check(text, statute_records(text, "1"))


def test_headings_that_wrap_or_lost_a_space() -> None:
    text = ("제1장총칙\n\n제1조(가) 가다.\n\n제2장 정비사업 및 점검사업의 지원 등에 관한 특별한 사항과 그 밖의\n사항 <개정"
            " 2011. 6. 15.>\n\n제2조(나) 나다.\n\n제3장 벌칙\n제3조(다) 다다.")
    assert [a.span.of(text)[-2:] for a in parse_statute(text).articles] == ["다."] * 3
    assert [a.path[0].split()[0][:3] for a in parse_statute(text).articles] == ["제1장", "제2장", "제3장"]


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
        title = re.sub(r"\s+", " ", re.sub(r"</?b>|\*\*|`", "", body.content)).strip()     # a path has no marks
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
