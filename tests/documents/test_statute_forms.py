"""Statutes printed in other ways: contents first, other brackets, annexes without brackets, JSON."""
from __future__ import annotations

import pytest
from llama_index.core import Document
from statute_texts import check, clause

from ragnb.documents.catalogue import Catalogue
from ragnb.documents.headings import article_headings, find_contents
from ragnb.documents.kinds import detect_kind, records_of, text_of
from ragnb.documents.provisions import look_up_question
from ragnb.documents.records import statute_records
from ragnb.documents.span import InputError
from ragnb.documents.statutes import parse_statute

TITLES = ["목적", "정의", "기준", "신청", "심사", "발급", "갱신", "취소", "보고", "비용", "위임", "벌칙"]
CHAPTERS = {1: "제1장 총칙", 4: "제2장 절차", 10: "제3장 보칙"}


def lines(line: str, leader: str = "", text: str = "") -> list[str]:
    """The headings of a statute, one a line, with what follows each."""
    out = []
    for number, title in enumerate(TITLES, 1):
        if number in CHAPTERS:
            out.append(CHAPTERS[number] + leader)
        out.append(line.format(number, title) + leader + text.format(number))
    return out


@pytest.mark.parametrize("leader", ["", " ..... 3", " ······ 12", "\t7"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\n\n"])
@pytest.mark.parametrize("between", ["", "부칙\n별표 1\n\n", "시험법\n[시행 2024. 1. 1.]\n"])
def test_a_table_of_contents_is_no_article(leader: str, end: str, between: str) -> None:
    contents = lines("제{}조({})", leader)
    body = lines("제{}조({})", text=" 제{}호의 기준에 따라 정한다. 세부는 따로 둔다.")
    text = end.join(["시험법", "[법률 제7호]", *contents]) + end + between + end.join(body) + end + "부칙" + end + "이 법은 공포한 날부터 시행한다."
    statute = parse_statute(text)
    main = [a for a in statute.articles if not a.key]
    assert [a.number for a in main] == [str(n) for n in range(1, 13)]
    assert all("정한다" in a.span.of(text) for a in main)
    assert main[4].path == ("제2장 절차",) and statute.name == "시험법"
    assert sum(b.kind == "supplement" for b in statute.blocks) == 1
    check(text, statute_records(text, "7"))
    catalogue = Catalogue.from_documents([Document(text=text, id_="a")])
    ((_, span),) = look_up_question("「시험법」 제3조는 무엇인가?", catalogue)
    assert span == main[2].span and not catalogue.holdings["a"].citations[:1]


@pytest.mark.parametrize("text", [
    "시험법\n" + "\n".join(lines("제{}조({})", text=" {}호를 정한다.")),                                   # no contents
    "시험법\n" + "\n".join(f"제{n}조 삭제 <2020. 1. 1.>" for n in range(1, 9)) + "\n제9조(목적) 정한다.",    # deleted articles
    "시험법\n제1조(목적)\n정한다.\n제2조(정의)\n정한다.\n제3조(기준)\n정한다.\n부칙\n제1조(시행일) 오늘.", "",
])
def test_no_table_of_contents(text: str) -> None:
    assert find_contents(text) is None


@pytest.mark.parametrize("form", ["제{}조【{}】 정한다.", "제{}조. {}\n정한다.", "第{}條({}) 정한다.", "第{}條 【{}】\n정한다.", "제{}조 : {}\n정한다."])
def test_forms_of_headings(form: str) -> None:
    text = "시험규정\n\n" + "\n".join(form.format(n, title) for n, title in enumerate(TITLES, 1))
    found = article_headings(text)
    if ":" not in form:
        assert [(h.key[0], h.title) for h in found] == list(enumerate(TITLES, 1))
        assert detect_kind(text) == "statute"
        assert look_up_question("제3조", Catalogue.from_documents([Document(text=text, id_="a")]))
    check(text, statute_records(text, "1"))


def test_a_number_with_a_point_that_begins_a_sentence() -> None:
    text = "규정\n\n제1조. 이 규정은 여비를 정한다.\n제2조. 정의\n다음과 같다.\n위 사항은 같은 법\n제3조. 그리고 다르다."
    assert [(h.key[0], h.title) for h in article_headings(text)] == [(1, ""), (2, "정의")]


@pytest.mark.parametrize("line, key", [
    ("별표 제2호", "T2"), ("별지 제4호서식", "F4"), ("별표 제2호 여비 지급 기준표", "T2"), ("별지 제4호서식 휴가신청서", "F4"), ("별표 2의2 출장 구분", "T2-2"),
    ("[별표 3] 기준", "T3"), ("별지 제1호 서식", "F1"),
])
def test_annexes_without_brackets(line: str, key: str) -> None:
    text = f"여비규정\n제1조(목적) 정한다.\n제2조(일비) 별표로 정한다.\n제3조(기타) 정한다.\n부칙\n오늘부터 시행한다.\n{line}\n| 구분 | 금액 |\n"
    blocks = [b for b in parse_statute(text).blocks if b.kind == "appendix"]
    assert [b.key for b in blocks] == [key]


@pytest.mark.parametrize("line", ["별표 2에 따른다.", "별표 2 및 별표 3에 따른 금액", "별지 제4호서식 신청서를", "별표 2 기준에 따라 지급한다", "별지 제4호서식의 신청서"])
def test_lines_that_cite_an_annex(line: str) -> None:
    text = f"여비규정\n제1조(목적) 정한다.\n제2조(일비) 다음에 따른다.\n{line}\n내어야 한다.\n제3조(기타) 정한다."
    assert [b.kind for b in parse_statute(text).blocks] == ["header", "article", "article", "article"]


def test_ministry_and_date() -> None:
    text = "시험법\n[시행 2024. 1. 1.] [법률 제7호]\n고용노동부\n\n제1조(목적) 정한다.\n제2조(정의) 정한다."
    assert parse_statute(text).ministry == "고용노동부"
    assert parse_statute(text.replace("고용노동부", "고용노동부(임금과)")).ministry == "고용노동부"
    bare = "시험법\n\n제1조(목적) 정한다.\n제2조(정의) 정한다."
    (record,) = statute_records(bare, "7", ministry="환경부", date="2024. 2. 9.")[-1:]
    assert "소관부처: 환경부\n시행일: 2024-02-09" in record.prefix and record.metadata["effective"] == "2024-02-09"
    assert "고용노동부" in statute_records(text, "7", ministry="환경부")[-1].prefix      # the text knows better
    with pytest.raises(InputError, match="date"):
        statute_records(bare, "7", date="곧")


RAW = {
    "law_id": "010719", "법령명": "시험법", "소관부처": "고용노동부", "시행일자": "20240209", "조문": [
        {"조문번호": "1", "조문제목": "목적", "조문내용": "제1조(목적) 이 법은 기준을 정한다."},
        {"조문번호": "2", "조문가지번호": "2", "조문제목": "정의", "항": [
            {"항번호": "①", "항내용": "① 다음과 같다.", "호": [{"호번호": "1.", "호내용": "근로자", "목": [{"목번호": "가.", "목내용": "상용"}]}]},
            {"항번호": "②", "항내용": "따로 정한다."}]},
        {"조문번호": "3", "조문여부": "전문", "조문내용": "제2장 절차"},
        {"조문번호": "3", "조문제목": "신청", "조문내용": "신청서를 낸다."}]}


@pytest.mark.parametrize("row", [
    RAW,
    {"law_id": "010719", "law_name": "시험법", "ministry": "고용노동부", "enforcement_date": "2024-02-09", "articles": [
        {"number": "1", "title": "목적", "content": "이 법은 기준을 정한다."},
        {"number": "2-2", "title": "정의", "clauses": [{"number": "1", "content": "다음과 같다.", "items": [
            {"number": "1", "content": "근로자", "subitems": [{"number": "가", "content": "상용"}]}]}, {"number": "2", "content": "따로 정한다."}]},
        {"number": "3", "title": "신청", "content": "신청서를 낸다."}]},
])
def test_articles_as_json(row: dict) -> None:
    text = text_of(row)
    statute = parse_statute(text)
    assert (statute.name, statute.ministry, statute.effective) == ("시험법", "고용노동부", "2024-02-09")
    assert [(a.number, a.title) for a in statute.articles] == [("1", "목적"), ("2-2", "정의"), ("3", "신청")]
    assert clause(statute, "2-2", "1", "1", "가").of(text) == "가. 상용" and clause(statute, "2-2", "2").of(text) == "② 따로 정한다."
    assert clause(statute, "1").of(text).count("제1조") == 1
    records = records_of(Document(text=text, metadata={"law_id": row["law_id"]}))
    assert all(r.id.startswith("LAW_010719_") for r in records)


@pytest.mark.parametrize("articles", [[], "제1조", [{"title": "번호 없음"}], [{"number": "하나"}], [3]])
def test_articles_that_are_none(articles: object) -> None:
    with pytest.raises(InputError):
        text_of({"law_name": "시험법", "articles": articles})
