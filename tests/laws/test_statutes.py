"""Whole statutes: parts, versions, headers, the published texts; 항, 호 and 목."""
from __future__ import annotations

import itertools
import json
import re

import pytest
from conftest import SAMPLE, shared_data
from hypothesis import given, settings, strategies as st
from llama_index.core import Document
from statute_texts import check, clause, entered, numbers, TEXTS

from ragnb.laws.catalogue import StatuteCatalogue
from ragnb.laws.headings import article_headings, find_contents
from ragnb.documents.kinds import detect_kind, records_of
from ragnb.laws.kinds import text_of
from ragnb.laws.provisions import look_up_question, look_up_title
from ragnb.laws.records import statute_records
from ragnb.documents.span import InputError, Span
from ragnb.laws.statutes import parse_clauses, parse_statute, parse_statutes
from ragnb.documents.text import trim_span

def test_lost_newlines() -> None:
    text = ("가온법\n[시행 2031. 3. 1.] [법률 제7호, 2030. 8. 20., 일부개정]\n생활기술부 (정비과) 02-2110-3164제1편"
            " 총칙\n제1장 통칙\n\n제1조(목적) 목적이다.제2조(정의) 뜻이다.\n제3조(등록) 등록한다.부칙 <제7호,2030. 8." " 20.>\n이 법은 공포한 날부터 시행한다.")
    statute = parse_statute(text)
    assert [a.number for a in statute.articles] == ["1", "2", "3"]
    assert statute.articles[0].path == ("제1편 총칙", "제1장 통칙")
    assert statute.blocks[-1].kind == "supplement" and (statute.name, statute.ministry) == ("가온법", "생활기술부")
    check(text, statute_records(text, "1"))


def test_supplements_do_not_collide() -> None:
    text = ("가온법\n제1조(목적) 목적이다.\n제2조(정의) 뜻이다.\n부 칙 <법률 제7호, 2029. 3. 5.>\n제1조(시행일)"
            " 시행한다.\n제2조(적용례) 적용한다.\n부칙 <법률 제9호, 2030. 8. 20.>(물결법)\n제1조(시행일)"
            " 시행한다.\n제2조부터 제48조까지 생략\n제49조(다른 법률의 개정) 개정한다.\n부칙\n이 법은 공포한 날부터" " 시행한다.")
    records = statute_records(text, "1", min_size=0)
    assert [r.id for r in records] == [
        "LAW_1_H", "LAW_1_A1", "LAW_1_A2", "LAW_1_S7_A1", "LAW_1_S7_A2", "LAW_1_S9_A1", "LAW_1_S9_A2", "LAW_1_S9_A49",
        "LAW_1_S3"]
    statute = parse_statute(text)
    assert clause(statute, "1").of(text).startswith("제1조(목적)") and clause(statute, "49", key="9").of(text).startswith("제49조")
    assert numbers("제1조(목적) 목적이다.\n제2조(적용) 종전의\n부칙 제4조에 따라 적용한다.\n제3조(벌칙) 벌한다.") == ["1", "2", "3"]


def test_appendices() -> None:
    text = ("가온법\n제1조(목적) 목적이다.\n제2조(기준) 기준은\n[별표 1]과 같다.\n제3조(서식) 서식은 별지 제1호서식에"
            " 따른다.\n부칙\n시행한다.\n[별표 1] 기준(제2조 관련) <개정 2030. 8. 20.>\n구분 | 기준\n가 | 나\n■ 가온법 [별표"
            " 2의2]\n과태료\n[별지 제1호서식] 계약서\n제1조(목적) 이 계약은 대여를 정한다.\n제2조(기간) 1년이다.")
    records = statute_records(text, "1", min_size=0)
    assert [r.id for r in records if r.type == "law_appendix"] == ["LAW_1_T1", "LAW_1_T2-2", "LAW_1_F1"]
    assert numbers(text) == ["1", "2", "3"]
    check(text, records)


def test_later_versions_get_their_own_ids() -> None:
    text = "제1조(가) 가\n\n제2조(나) 지금\n\n제2조(나) 나중\n[시행일: 2031. 1. 31.] 제2조\n\n제3조(다) 다"
    records = statute_records(text, "1", min_size=0)
    assert [r.id for r in records] == ["LAW_1_A1", "LAW_1_A2", "LAW_1_A2v2", "LAW_1_A3"]
    assert records[2].metadata["effective"] == "2031-01-31"
    assert clause(parse_statute(text), "2").of(text).endswith("지금")


def test_markdown_with_front_matter() -> None:
    text = ("---\n제목: 가온법\n법령ID: '000007'\n소관부처:\n- 생활기술부\n공포일자: 2030-08-20\n시행일자:"
            " 2031-03-01\n---\n\n# 가온법\n\n## 제1장 총칙\n\n##### 제1조 (목적)\n\n목적이다.\n\n##### 제2조"
            " (정의)\n\n**①** 뜻은 다음과 같다.\n\n  1\\. 정비\n\n    가\\. 경정비\n\n    나\\. 중정비\n\n  2\\."
            " 점검\n\n**②** 같다.\n\n## 부칙\n\n시행한다.\n")
    statute = parse_statute(text)
    assert (statute.name, statute.effective, statute.ministry) == ("가온법", "2031-03-01", "생활기술부")
    assert clause(statute, "2", "1", "1", "나").of(text) == "나\\. 중정비"
    assert statute.articles[0].path == ("제1장 총칙",)


@pytest.mark.parametrize("nested", [
    "첨부파일:\n- 별표구분: 서식\n  제목: 등록 신청서\n- 별표구분: 별표\n  제목: 수수료\n", "연혁:\n  제목: 가온단속법\n  소관부처: 단속부\n  법령ID: '1'\n",
    "연혁: {제목: 가온단속법, 법령ID: '1'}\n", "개요: |\n  제목: 가온단속법\n  법령ID: 1\n"])
@pytest.mark.parametrize("first", [True, False])
def test_nested_fields_of_front_matter_are_not_those_of_the_law(nested: str, first: bool) -> None:
    own = "제목: 가온법\n법령ID: '000007'\n소관부처:\n- 생활기술부\n- 정비청\n"
    text = f"---\n{nested + own if first else own + nested}---\n\n# 가온법\n\n제1조(목적) 정비를 정한다.\n"
    statute, record = parse_statute(text), records_of(Document(text=text, id_="가온법.md"))[-1]
    assert (statute.name, statute.ministry) == ("가온법", "생활기술부, 정비청")
    assert record.id == "LAW_000007_A1" and record.prefix == "[가온법]\n소관부처: 생활기술부, 정비청"


def test_front_matter_that_is_no_yaml_is_read_line_by_line() -> None:
    text = "---\n제목: 가온법: 정비 편\n법령ID: '000007'\n첨부파일:\n- 제목: 신청서\n  제목: 수수료\n---\n제1조(목적) 정한다.\n"
    assert parse_statute(text).name == "가온법: 정비 편"
    assert records_of(Document(text=text, id_="a.md"))[-1].id == "LAW_000007_A1"


@pytest.mark.parametrize("blank", [" ", ""])
@pytest.mark.parametrize("name", ["care_robot_act.txt", "shared_workshop_act.txt"])
def test_a_statute_without_line_breaks_has_the_same_articles(name: str, blank: str) -> None:
    text = (SAMPLE / "corpus" / "law_common" / name).read_text(encoding="utf-8")
    flat = re.sub(r"\s*\n\s*", blank, text)
    main = [[a.number for a in parse_statute(t).articles if a.part == "본칙"] for t in (text, flat)]
    assert main[0] == main[1] and detect_kind(flat) == "statute"
    check(flat, statute_records(flat, "1"))


@given(st.permutations(range(1, 9)), st.sampled_from(["에 따라 ", "(등록)을 ", "(등록) 및 ", " 제1항의 "]))
def test_citations_in_a_line_are_no_statute(order: list[int], goes_on: str) -> None:
    text = "이 안내는 " + "".join(f"가온법 제{n}조{goes_on}" for n in order) + "정한 바를 설명한다."
    assert detect_kind(text) is None


def test_carriage_returns_and_indents() -> None:
    lines = [
        "가온법", "", "제1장 총칙", "", "  제1조(목적) 목적이다.", "", "  제2조(정의) ① 뜻이다.", "    1. 정비", "    2. 점검", "  ② 같다.", "",
        "제2장 벌칙", "", "제3조(벌칙) 벌한다."]
    plain, dos = "\n".join(lines), "\r\n".join(lines)
    for text in (plain, dos):
        statute = parse_statute(text)
        assert [(a.number, a.path) for a in statute.articles] == [
            ("1", ("제1장 총칙",)), ("2", ("제1장 총칙",)), ("3", ("제2장 벌칙",))]
        assert clause(statute, "2", "1", "2").of(text) == "2. 점검"
        check(text, statute_records(text, "1"))


def test_published_statutes() -> None:
    folder = shared_data("ko_statutes")
    for row in map(json.loads, (folder / "corpus.jsonl").read_text(encoding="utf-8").splitlines()):
        found = [a.span for a in parse_statute(row["text"]).articles if a.part == "본칙"]
        gold = [trim_span(row["text"], a["start"], a["end"]) for a in row["articles"]]
        found_edges, gold_edges = ({("s", s.start) for s in x} | {("e", s.end) for s in x} for x in (found, gold))
        both = len(found_edges & gold_edges)
        assert both / len(found_edges) >= 0.99 and both / len(gold_edges) >= 0.99, row["title"]
        records = statute_records(row["text"], row["doc_id"])
        check(row["text"], records)
        assert max(len(r.span) for r in records) <= 3000


def test_transcribed_statute_is_covered() -> None:
    folder = shared_data("ko_tax_tables")
    text = json.loads((folder / "corpus.jsonl").read_text(encoding="utf-8").splitlines()[0])["text"]
    check(text, statute_records(text, "tax"))


CIRCLED = [*map(chr, range(0x2460, 0x2474)), *map(chr, range(0x3251, 0x3260)), *map(chr, range(0x32B1, 0x32C0))]


def test_fifty_paragraphs() -> None:
    text = "제1조(가) " + "\n".join(f"{c} {i}번째 항이다." for i, c in enumerate(CIRCLED, 1))
    article = parse_statute(text).articles[0]
    assert [p.label for p in article.paragraphs] == [str(i) for i in range(1, 51)]


def test_clauses_count_and_nest() -> None:
    text = ("제1조(가) ① 다음과 같다. <개정 2012. 1. 17.,\n1. 29., 2020. 2. 4.>\n1. 하나\n1의2. 하나의 둘\n가. 첫째\n나."
            " 둘째에 해당한\n다. 다만, 아니다.\n다. 셋째\n1) 가늘게\n가) 더 가늘게\n2) 둘\n2. 둘\n② 삭제 <2020. 1. 1.> ③"
            " 이어진다.\n④ 제3항의 1. 은 아니다.\n[본조신설 2020. 1. 1.]")
    statute = parse_statute(text)
    first = statute.articles[0].paragraphs[0]
    assert [p.label for p in statute.articles[0].paragraphs] == ["1", "2", "3", "4"]
    assert [c.label for c in first.children] == ["1", "1-2", "2"]
    assert [c.label for c in first.children[1].children] == ["가", "나", "다"]
    assert [c.label for c in first.children[1].children[2].children] == ["1", "2"]
    assert clause(statute, "1", "1", "1-2", "나").of(text) == "나. 둘째에 해당한\n다. 다만, 아니다."
    assert clause(statute, "1", "4").of(text) == "④ 제3항의 1. 은 아니다."


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
    catalogue = StatuteCatalogue.from_documents([Document(text=text, id_="a")])
    ((_, span),) = look_up_question("「시험법」 제3조는 무엇인가?", catalogue)
    assert span == main[2].span and not catalogue.holdings["a"].citations[:1]


@pytest.mark.parametrize("text", [
    "시험법\n" + "\n".join(lines("제{}조({})", text=" {}호를 정한다.")),                                   # no contents
    "시험법\n" + "\n".join(f"제{n}조 삭제 <2020. 1. 1.>" for n in range(1, 9)) + "\n제9조(목적) 정한다.",    # deleted articles
    "시험법\n제1조(목적)\n정한다.\n제2조(정의)\n정한다.\n제3조(기준)\n정한다.\n부칙\n제1조(시행일) 오늘.", ""])
def test_no_table_of_contents(text: str) -> None:
    assert find_contents(text) is None


@pytest.mark.parametrize("form", ["제{}조【{}】 정한다.", "제{}조. {}\n정한다.", "第{}條({}) 정한다.", "第{}條 【{}】\n정한다.", "제{}조 : {}\n정한다."])
def test_forms_of_headings(form: str) -> None:
    text = "시험규정\n\n" + "\n".join(form.format(n, title) for n, title in enumerate(TITLES, 1))
    found = article_headings(text)
    if ":" not in form:
        assert [(h.key[0], h.title) for h in found] == list(enumerate(TITLES, 1))
        assert detect_kind(text) == "statute"
        assert look_up_question("제3조", StatuteCatalogue.from_documents([Document(text=text, id_="a")]))
    check(text, statute_records(text, "1"))


def test_a_number_with_a_point_that_begins_a_sentence() -> None:
    text = "규정\n\n제1조. 이 규정은 여비를 정한다.\n제2조. 정의\n다음과 같다.\n위 사항은 같은 법\n제3조. 그리고 다르다."
    assert [(h.key[0], h.title) for h in article_headings(text)] == [(1, ""), (2, "정의")]


@pytest.mark.parametrize("line, key", [
    ("별표 제2호", "T2"), ("별지 제4호서식", "F4"), ("별표 제2호 여비 지급 기준표", "T2"), ("별지 제4호서식 휴가신청서", "F4"), ("별표 2의2 출장 구분", "T2-2"),
    ("[별표 3] 기준", "T3"), ("별지 제1호 서식", "F1")])
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
        {"number": "3", "title": "신청", "content": "신청서를 낸다."}]}])
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


LAW = "시험법\n{header}\n제1조(목적) 기준을 정한다.\n제2조(기준시간) {hours}시간으로 한다.\n제3조(적용) 모두에게 적용한다.\n"
RULE = "여비규정\n제1조(목적) 여비를 정한다.\n제2조(일비) {hours}만원으로 한다.\n제3조(숙박비용) 실비.\n부칙\n이 규정은 {header}부터 시행한다.\n"
STATED = {
    "header": lambda date: Document(text=LAW.format(header=f"[시행 {date.replace('-', '. ')}.] [법률 제7호]", hours=date[:4]), id_=date),
    "metadata": lambda date: Document(text=LAW.format(header="", hours=date[:4]), id_=date, metadata={"enforcement_date": date}),
    "supplement": lambda date: Document(text=RULE.format(header="{}년 {}월 {}일".format(*date.split("-")), hours=date[:4]), id_=date),
}
DATES = ("2018-07-01", "2021-01-01", "2024-03-01")


@pytest.mark.parametrize("stated", STATED)
@pytest.mark.parametrize("order", list(itertools.permutations(range(3)))[::2])
def test_a_name_means_the_edition_in_force(stated: str, order: tuple[int, ...]) -> None:
    catalogue = StatuteCatalogue.from_documents(STATED[stated](DATES[i]) for i in order)
    name = catalogue.holdings[DATES[0]].names[0]
    for as_of, expected in ((None, 2), ("2017-01-01", 0), ("2018-07-01", 0), ("2020. 12. 31.", 0), ("2021-01-01", 1), ("2024-02-29", 1), ("2030-01-01", 2)):
        seen = catalogue if as_of is None else catalogue.at(as_of)
        for question in (f"「{name}」 제2조는?", f"{name} 제2조", "제2조는 무엇인가?"):
            found = {doc_id for doc_id, _ in look_up_question(question, seen)}
            assert found == ({DATES[expected]} if name in question or as_of != "2017-01-01" else set(DATES)), (as_of, question)
        if as_of != "2017-01-01":
            assert [bool(seen.edition(date)) for date in DATES] == [i != expected for i in range(3)]
    assert {d for d, _ in look_up_title("기준시간은 몇 조인가?" if stated != "supplement" else "숙박비용은 몇 조인가?", catalogue)} == {DATES[2]}
    assert catalogue.edition(DATES[0]) == f"개정 전 ({DATES[0]} 시행, 현행 {DATES[2]})"
    assert catalogue.at("2020-01-01").edition(DATES[2]) == f"{DATES[2]} 시행 예정"


@pytest.mark.parametrize("header, metadata, mark", [
    ("[시행 2022. 1. 1.] [법률 제9호, 2021. 12. 30., 폐지]", {}, "폐지 2022-01-01"),
    ("[시행 2022. 1. 1.] [법률 제9호, 2021. 12. 30., 타법폐지]", {}, "폐지 2022-01-01"), ("(폐지)", {}, "폐지"),
    ("폐지일: 2022. 1. 1.", {}, "폐지 2022-01-01"), ("[시행 2018. 7. 1.]", {"repealed": "2022-01-01"}, "폐지 2022-01-01"),
    ("", {"repealed": True}, "폐지"), ("[시행 2018. 7. 1.] [법률 제9호, 폐지제정]", {}, "")])
def test_a_repealed_statute_comes_last_and_says_so(header: str, metadata: dict, mark: str) -> None:
    catalogue = StatuteCatalogue.from_documents([Document(text=LAW.format(header=header, hours=8), id_="gone", metadata=metadata)])
    assert catalogue.edition("gone") == mark
    assert look_up_question("시험법 제2조", catalogue)      # still found where nothing else is
    if mark:
        catalogue = entered(catalogue, Document(text=LAW.format(header="[시행 2015. 1. 1.]", hours=9), id_="valid"))
        assert {d for d, _ in look_up_question("시험법 제2조", catalogue)} == {"valid"}
        if metadata.get("repealed") == "2022-01-01":
            assert {d for d, _ in look_up_question("시험법 제2조", catalogue.at("2019-01-01"))} == {"gone"}


def test_a_date_that_is_none() -> None:
    for date in ("곧", "", "2024"):
        with pytest.raises(InputError, match="as_of"):
            StatuteCatalogue().at(date)
    assert StatuteCatalogue().at("today").index.as_of > "2020"


def test_articles_as_rows_are_not_older_than_each_other() -> None:
    rows = [Document(text=f"제{n}조(제목{n}) 정한다.", id_=f"A{n}", metadata={"law_name": "시험법", "effective": date})
            for n, date in ((1, "2020-01-01"), (2, "2024-01-01"))]
    catalogue = StatuteCatalogue.from_documents(rows)
    assert [catalogue.edition(row.id_) for row in rows] == ["", ""]


BOOK = ("발간등록번호 11-1\n\n## 「가온법」\n제1편 총칙\n제1조(법원) 정한다.\n제2조(정의) 뜻이다.\n\n부칙 <제7호,2030. 8. 20.>\n제1조(시행일) 시행한다."
        "\n제2조(다른 법률의 개정) 「물결법」 일부를 다음과 같이 개정한다.\n\n## 「가온법 시행령」\n\n[시행 2031. 3. 1.] [대통령령 제9호]\n\n제1조(목적) 목적이다.\n"
        "제2조(방법) 방법이다.\n부칙 <제9호>\n이 영은 공포한 날부터 시행한다.\n\n물결 관리규정\n제1장 총칙\n제1조(목적) 목적이다.\n제2조(휴가) 쉰다.\n")


def test_statutes_of_one_file() -> None:
    acts = parse_statutes(BOOK)
    assert [act.name for act in acts] == ["가온법", "가온법 시행령", "물결 관리규정"]
    assert [act.effective for act in acts] == ["", "2031-03-01", ""]
    assert [[(a.part, a.number) for a in act.articles] for act in acts] == [
        [("본칙", "1"), ("본칙", "2"), ("부칙", "1"), ("부칙", "2")], [("본칙", "1"), ("본칙", "2")], [("본칙", "1"), ("본칙", "2")]]
    assert "".join("".join(b.span.of(BOOK).split()) for act in acts for b in act.blocks) == "".join(BOOK.split())
    records = statute_records(BOOK, "1", min_size=0)
    rest = next(r for r in records if r.title == "물결 관리규정 제2조 (휴가)")
    assert (rest.metadata["law_name"], rest.metadata["part"], "가온법" in rest.prefix) == ("물결 관리규정", "본칙", False)
    assert len({r.id for r in records}) == len(records)


@pytest.mark.parametrize("above", ["이 규칙은 공포한 날부터 시행한다.\n", "제3조 생략\n", "다음 각 호와 같다\n", "물결법\n이 영은 공포한 날부터 시행한다.\n"])
def test_an_article_without_a_name_above_stays_in_its_part(above: str) -> None:
    text = f"가온법\n제1조(목적) 목적이다.\n제2조(정의) 뜻이다.\n부칙 <제7호>\n시행한다.\n{above}제1조(목적) 목적이다.\n제2조(방법) 방법이다.\n"
    assert len(parse_statutes(text)) == 1
    unnamed = text.replace("제1조(목적) 목적이다.\n제2조(방법)", "물결법\n제1조(시행일) 시행한다.\n제2조(방법)")
    assert len(parse_statutes(unnamed)) == 1      # only 제1조(목적), or a name that is a heading, begins a statute
