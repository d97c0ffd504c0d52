"""Statutes written to be nasty, properties of records, and the published texts."""
from __future__ import annotations

import json
import subprocess
import sys

import pytest
from conftest import ROOT, SAMPLE, shared_data
from hypothesis import given, settings
from hypothesis import strategies as st
from llama_index.core.schema import Document, MetadataMode

from ragnb.chunking.structure import RecordNodeParser
from ragnb.documents.kinds import detect_kind, records_of, text_of
from ragnb.documents.qa import qa_pairs, qa_records
from ragnb.documents.records import merge_short, statute_records, to_jsonl
from ragnb.documents.rulings import interpretation_records, ruling_records
from ragnb.documents.statutes import parse_clauses, parse_statute
from ragnb.documents.span import InputError, Span
from ragnb.documents.text import trim_span


def numbers(text: str, part: str = "본칙") -> list[str]:
    """Numbers of the articles of one part."""
    return [a.number for a in parse_statute(text).articles if a.part == part]


def check(text: str, records: list) -> None:
    """Records are disjoint, in order, trimmed, uniquely named, and hold every character that is not white space."""
    assert len({r.id for r in records}) == len(records)
    assert all(a.span.end <= b.span.start for a, b in zip(records, records[1:]))
    assert all(r.span and r.span == trim_span(text, r.span.start, r.span.end) for r in records)
    assert "".join("".join(r.span.of(text).split()) for r in records) == "".join(text.split())


REFERENCES = [
    "제5조에 따른 등록", "제5조제1항의 등록", "제5조 제1항에 따라", "제5조 및 제6조에 따른 것", "제5조ㆍ제6조", "제5조(등록)에 따른 등록", "제5조(등록)의 규정",
    "제5조(등록), 제6조(취소)를 준용", "제5조(등록) 및 제6조를 준용", "제5조(같은 조 제2호는 제외한다), 제6조", "제5조(제2항은 제외한다)", "제5조부터 제7조까지",
    "제5조의 제목 중 “가”를", "제5조의2제1항", "제5조 또는 제6조", "제5조의3에도 불구하고", "제5조를 위반한", "제5조는 적용하지", "제5조와 같다",
]


@pytest.mark.parametrize("reference", REFERENCES)
def test_wrapped_references_are_not_articles(reference: str) -> None:
    text = f"가온법\n\n제1조(목적) 이 법은 정비를 정한다.\n\n제4조(정의) 뜻은 다음과 같다.\n1. “정비”란 이 법\n{reference} 하는 것을 말한다.\n2. 그 밖의 것\n\n제8조(벌칙) 벌한다."
    assert numbers(text) == ["1", "4", "8"]


@pytest.mark.parametrize("ending", ["제3조,", "제3조 및", "제2조ㆍ제3조ㆍ", "「물결법」", "제3조 또는", "제3조와", "(이하 “정비”라 하며 「"])
def test_unfinished_lines_are_followed_by_references(ending: str) -> None:
    assert numbers(f"제1조(목적) 목적이다.\n제2조(준용) 준용은 {ending}\n제5조(등록) ① 같은 문장이다.\n제6조(벌칙) 벌한다.") == ["1", "2", "6"]


@pytest.mark.parametrize("heading, number, title", [
    ("제5조(등록) 한다.", "5", "등록"), ("제5조（등록） 한다.", "5", "등록"), ("제5조[등록(登錄)의 방법]등록은", "5", "등록(登錄)의 방법"), ("제 5 조 (등록) 한다.", "5", "등록"),
    ("제5조의2(등록) 한다.", "5-2", "등록"), ("제5조의 12(등록)① 한다.", "5-12", "등록"), ("제5조 ① 한다.", "5", ""), ("제5조① 한다.", "5", ""), ("  제5조(등록) 한다.", "5", "등록"),
    ("### 제5조(등록)\n\n한다.", "5", "등록"), ("##### 제5조 (등록)\n**①** 한다.", "5", "등록"), ("**제5조(등록)** 한다.", "5", "등록"), ("##### 제5조\n\n한다.", "5", ""),
    ("제5조(이의신청) 이 법에", "5", "이의신청"), ("제5조(「물결법」의 준용) 준용한다.", "5", "「물결법」의 준용"), ("제５조(등록) 한다.", "5", "등록"),
])
def test_forms_of_headings(heading: str, number: str, title: str) -> None:
    article = parse_statute(f"가온법\n\n제1조(목적) 목적이다.\n\n제4조(정의) 뜻이다.\n\n{heading}\n\n제9조(벌칙) 벌한다.").articles[2]
    assert (article.number, article.title) == (number, title)


@pytest.mark.parametrize("line, number, last", [
    ("제10조 삭제 <2020. 1. 1.>", "10", "10"), ("제10조 삭제<2020. 1. 1.>", "10", "10"), ("제10조(등록) 삭제 <2020. 1. 1.>", "10", "10"), ("제10조 및 제11조 삭제 <2020. 1. 1.>", "10", "11"),
    ("제10조부터 제12조까지 삭제 <2020. 1. 1.>", "10", "12"), ("제10조 내지 제12조 삭제", "10", "12"), ("제10조ㆍ제11조 삭제", "10", "11"), ("제10조의2 및 제10조의3 삭제", "10-2", "10-3"),
    ("제10조(가) 및 제11조(나) 삭제 <2020. 1. 1.>", "10", "11"),
])
def test_deleted(line: str, number: str, last: str) -> None:
    article = parse_statute(f"제1조(목적) 목적이다.\n{line}\n제13조(벌칙) 벌한다.").articles[1]
    assert (article.number, article.last, article.deleted) == (number, last, True)


def test_untitled_articles_are_the_next_number() -> None:
    assert numbers("헌장\n제1조 ①공동체는 자유롭다.\n②권리는 모두에게 있다.\n제2조 회원은 평등하다.\n제3조 회의는 연 1회 연다. 다만,\n제1조 규정에 따른다.\n제4조 끝이다.") == ["1", "2", "3", "4"]


def test_second_and_twelfth_are_not_mixed() -> None:
    statute = parse_statute("제1조(가) 가\n제1조의2(나) 나\n제2조(다) 다\n제12조(라) 라\n제12조의2(마) 마")
    assert [a.number for a in statute.articles] == ["1", "1-2", "2", "12", "12-2"]
    assert statute.find("1의2") != statute.find("12")


def test_lost_newlines() -> None:
    text = "가온법\n[시행 2031. 3. 1.] [법률 제7호, 2030. 8. 20., 일부개정]\n생활기술부 (정비과) 02-2110-3164제1편 총칙\n제1장 통칙\n\n제1조(목적) 목적이다.제2조(정의) 뜻이다.\n제3조(등록) 등록한다.부칙 <제7호,2030. 8. 20.>\n이 법은 공포한 날부터 시행한다."
    statute = parse_statute(text)
    assert [a.number for a in statute.articles] == ["1", "2", "3"]
    assert statute.articles[0].path == ("제1편 총칙", "제1장 통칙")
    assert statute.blocks[-1].kind == "supplement" and (statute.name, statute.ministry) == ("가온법", "생활기술부")
    check(text, statute_records(text, "1"))


def test_quoted_amendments() -> None:
    text = ("제1조(목적) 목적이다.\n\n제2조(정의) 뜻이다.\n\n부칙 <제7호,2030. 8. 20.>\n제1조(시행일) 공포한 날부터 시행한다.\n제2조(다른 법률의 개정) ① 물결법 일부를 다음과 같이 개정한다.\n"
            "제3조의2제2항 중 “가”를 “나”로 한다.\n제3조를 다음과 같이 한다.\n제3조(정의) ① 이 법에서 쓰는 말이다.\n② 바다법 일부를 다음과 같이 개정한다.\n“제3조(위원회) ① 위원회를 둔다.\n"
            "제4조(회의) 회의를 연다.”\n제3조(경과조치) 종전에 따른다.")
    assert numbers(text) == ["1", "2"]
    found = [a for a in parse_statute(text).articles if a.part == "부칙"]
    assert [(a.number, a.title) for a in found] == [("1", "시행일"), ("2", "다른 법률의 개정"), ("3", "경과조치")]


def test_supplements_do_not_collide() -> None:
    text = ("가온법\n제1조(목적) 목적이다.\n제2조(정의) 뜻이다.\n부 칙 <법률 제7호, 2029. 3. 5.>\n제1조(시행일) 시행한다.\n제2조(적용례) 적용한다.\n부칙 <법률 제9호, 2030. 8. 20.>(물결법)\n"
            "제1조(시행일) 시행한다.\n제2조부터 제48조까지 생략\n제49조(다른 법률의 개정) 개정한다.\n부칙\n이 법은 공포한 날부터 시행한다.")
    records = statute_records(text, "1", min_size=0)
    assert [r.id for r in records] == ["LAW_1_H", "LAW_1_A1", "LAW_1_A2", "LAW_1_S7_A1", "LAW_1_S7_A2", "LAW_1_S9_A1", "LAW_1_S9_A2", "LAW_1_S9_A49", "LAW_1_S3"]
    statute = parse_statute(text)
    assert statute.find(1).of(text).startswith("제1조(목적)") and statute.find(49, key="9").of(text).startswith("제49조")
    assert numbers("제1조(목적) 목적이다.\n제2조(적용) 종전의\n부칙 제4조에 따라 적용한다.\n제3조(벌칙) 벌한다.") == ["1", "2", "3"]


def test_appendices() -> None:
    text = ("가온법\n제1조(목적) 목적이다.\n제2조(기준) 기준은\n[별표 1]과 같다.\n제3조(서식) 서식은 별지 제1호서식에 따른다.\n부칙\n시행한다.\n[별표 1] 기준(제2조 관련) <개정 2030. 8. 20.>\n"
            "구분 | 기준\n가 | 나\n■ 가온법 [별표 2의2]\n과태료\n[별지 제1호서식] 계약서\n제1조(목적) 이 계약은 대여를 정한다.\n제2조(기간) 1년이다.")
    records = statute_records(text, "1", min_size=0)
    assert [r.id for r in records if r.type == "law_appendix"] == ["LAW_1_T1", "LAW_1_T2-2", "LAW_1_F1"]
    assert numbers(text) == ["1", "2", "3"]
    check(text, records)


def test_headings_and_paths() -> None:
    text = ("가온법\n\n제1편 총칙\n제1장 통칙 <개정 2009. 12. 31.>\n\n제1조(목적) 목적이다.\n\n제2조(준용) 이 법\n제2장의 규정은 준용한다.\n제3장 및 제4장의 규정도 같다.\n\n제2장 의무 <신설 2010. 1. 1.>\n제1절 삭제 <2011. 1. 1.>\n제2절 점검\n"
            "제3관 방법\n제1항 협의상 점검 <개정 2012. 2. 10.>\n\n제3조(점검) 점검한다.\n[전문개정 2012. 2. 10.]\n\n제2항 재판상 점검\n\n제4조(기록) 기록한다.\n제2편 벌칙\n제5조(벌칙) 벌한다.")
    statute = parse_statute(text)
    assert [a.path for a in statute.articles] == [("제1편 총칙", "제1장 통칙")] * 2 + [
        ("제1편 총칙", "제2장 의무", "제2절 점검", "제3관 방법", "제1항 협의상 점검"), ("제1편 총칙", "제2장 의무", "제2절 점검", "제3관 방법", "제2항 재판상 점검"), ("제2편 벌칙",)]
    assert statute.articles[2].span.of(text).endswith("[전문개정 2012. 2. 10.]")
    check(text, statute_records(text, "1"))


def test_headings_that_wrap_or_lost_a_space() -> None:
    text = "제1장총칙\n\n제1조(가) 가다.\n\n제2장 정비사업 및 점검사업의 지원 등에 관한 특별한 사항과 그 밖의\n사항 <개정 2011. 6. 15.>\n\n제2조(나) 나다.\n\n제3장 벌칙\n제3조(다) 다다."
    assert [a.span.of(text)[-2:] for a in parse_statute(text).articles] == ["다."] * 3
    assert [a.path[0].split()[0][:3] for a in parse_statute(text).articles] == ["제1장", "제2장", "제3장"]


def test_later_versions_get_their_own_ids() -> None:
    text = "제1조(가) 가\n\n제2조(나) 지금\n\n제2조(나) 나중\n[시행일: 2031. 1. 31.] 제2조\n\n제3조(다) 다"
    records = statute_records(text, "1", min_size=0)
    assert [r.id for r in records] == ["LAW_1_A1", "LAW_1_A2", "LAW_1_A2v2", "LAW_1_A3"]
    assert records[2].metadata["effective"] == "2031-01-31"
    assert parse_statute(text).find(2).of(text).endswith("지금")


def test_markdown_with_front_matter() -> None:
    text = ("---\n제목: 가온법\n법령ID: '000007'\n소관부처:\n- 생활기술부\n공포일자: 2030-08-20\n시행일자: 2031-03-01\n---\n\n# 가온법\n\n## 제1장 총칙\n\n##### 제1조 (목적)\n\n목적이다.\n\n##### 제2조 (정의)\n\n"
            "**①** 뜻은 다음과 같다.\n\n  1\\. 정비\n\n    가\\. 경정비\n\n    나\\. 중정비\n\n  2\\. 점검\n\n**②** 같다.\n\n## 부칙\n\n시행한다.\n")
    statute = parse_statute(text)
    assert (statute.name, statute.effective, statute.ministry) == ("가온법", "2031-03-01", "생활기술부")
    assert statute.find(2, 1, 1, "나").of(text) == "나\\. 중정비"
    assert statute.articles[0].path == ("제1장 총칙",)


def test_seed_content_line() -> None:
    text = text_of({"id": "LAW_010719_A56", "content": "[가온기준법]\n소관부처: 생활기술부\n시행일: 2024-02-09\n\n제56조(연장 근로)\n① 더 준다.\n② 휴일도 같다."})
    assert detect_kind(text) == "statute"
    record = statute_records(text, "010719")[-1]
    assert record.id == "LAW_010719_A56" and "시행일: 2024-02-09" in record.prefix and record.title == "가온기준법 제56조 (연장 근로)"


def test_carriage_returns_and_indents() -> None:
    lines = ["가온법", "", "제1장 총칙", "", "  제1조(목적) 목적이다.", "", "  제2조(정의) ① 뜻이다.", "    1. 정비", "    2. 점검", "  ② 같다.", "", "제2장 벌칙", "", "제3조(벌칙) 벌한다."]
    plain, dos = "\n".join(lines), "\r\n".join(lines)
    for text in (plain, dos):
        statute = parse_statute(text)
        assert [(a.number, a.path) for a in statute.articles] == [("1", ("제1장 총칙",)), ("2", ("제1장 총칙",)), ("3", ("제2장 벌칙",))]
        assert statute.find(2, 1, 2).of(text) == "2. 점검"
        check(text, statute_records(text, "1"))


CIRCLED = [*map(chr, range(0x2460, 0x2474)), *map(chr, range(0x3251, 0x3260)), *map(chr, range(0x32B1, 0x32C0))]


def test_fifty_paragraphs() -> None:
    text = "제1조(가) " + "\n".join(f"{c} {i}번째 항이다." for i, c in enumerate(CIRCLED, 1))
    article = parse_statute(text).articles[0]
    assert [p.label for p in article.paragraphs] == [str(i) for i in range(1, 51)]


def test_clauses_count_and_nest() -> None:
    text = ("제1조(가) ① 다음과 같다. <개정 2012. 1. 17.,\n1. 29., 2020. 2. 4.>\n1. 하나\n1의2. 하나의 둘\n가. 첫째\n나. 둘째에 해당한\n다. 다만, 아니다.\n다. 셋째\n1) 가늘게\n가) 더 가늘게\n2) 둘\n"
            "2. 둘\n② 삭제 <2020. 1. 1.> ③ 이어진다.\n④ 제3항의 1. 은 아니다.\n[본조신설 2020. 1. 1.]")
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


def test_merging_stays_in_its_section() -> None:
    text = "가온법\n제1장 가\n제1조(가) 짧다.\n제2조(나) 짧다.\n제2장 나\n제3조(다) 짧다.\n제4조 삭제 <2020. 1. 1.>\n제3장 다\n제5조(라) 혼자다.\n부칙\n제1조(시행일) 짧다."
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
    assert all(n < max(400, 2 * least) + 2 * least for r, n in zip(runs, sizes) if len(r) > 1)  # one short run from each side, no more
    assert all(n >= least or all(n + m > 600 for m in sizes[max(0, i - 1):i] + sizes[i + 1:i + 2]) for i, n in enumerate(sizes))


def test_long_articles_are_cut_at_clauses() -> None:
    items = "\n".join(f"{i}. “부품{i}”이란 {'물결 ' * 60}것을 말한다." for i in range(1, 12))
    text = f"가온법\n\n제1조(정의) ① 이 법에서 쓰는 말의 뜻은 다음과 같다.\n{items}\n② {'세정 ' * 200}한다.\n③ 짧다.\n[전문개정 2020. 1. 1.]\n\n제2조(벌칙) 벌한다."
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


FRAGMENTS = st.sampled_from([
    "제1조(목적) 이 법은 정한다.", "제2조(정의) ① 뜻은 다음과 같다.", "1. 정비", "1의2. 점검", "가. 바퀴", "나. 덮개", "② 같다.", "제3조에 따른 것", "제2조의2(특례) 특례다.", "제5조 삭제 <2020. 1. 1.>",
    "제1장 총칙", "제2절 등록 <개정 2020. 1. 1.>", "부칙 <제7호,2020. 1. 1.>", "부칙", "[별표 1] 기준(제2조 관련)", "가 | 나 | 다", "[시행일: 2027. 1. 1.] 제2조", "“제9조(인용) 인용한다.", "”", "가온법", "긴 문장 " * 60,
    "질의 : 되나요?", "[질의]", "【회시】", "회답：", "재질의", "종전 질의회시 : 455", "질의요지", "2. 회답", "이유", "이유:\n" + "까닭이다. " * 60, "【판시사항】", "【판결요지】", "【판례내용】", "【이유】", "주문", "\ufeff", "\x85", "제 7 조 (가", "<개정", "---", "a",
])
TEXTS = st.lists(st.tuples(FRAGMENTS, st.sampled_from(["\n", "\n\n", " ", "", "\r\n", "\n  ", "\u3000", "\f"])), max_size=25).map(lambda x: "".join(a + b for a, b in x))


@settings(max_examples=200, deadline=None)
@given(TEXTS, st.sampled_from([(200, 3000), (0, 50), (30, 120)]))
def test_nothing_is_lost_or_doubled(text: str, sizes: tuple[int, int]) -> None:
    records = statute_records(text, "1", min_size=sizes[0], max_size=sizes[1])
    check(text, records)
    assert all(len(r.span) <= sizes[1] for r in records)
    check(text, interpretation_records(text, "1"))
    check(text, ruling_records(text, "1"))
    if qa_pairs(text):
        check(text, qa_records(text, "1", max_size=80, threshold=200))
    nodes = RecordNodeParser(sentences="rule").get_nodes_from_documents([Document(text=text, id_="d")])
    assert all(n.text == text[n.start_char_idx:n.end_char_idx] for n in nodes)
    assert "".join("".join(n.text.split()) for n in nodes) == "".join(text.split())


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


@pytest.mark.parametrize("question, answer", [
    ("질의 : 되나요?", "회시 : 됩니다."), ("[질의]\n되나요?", "[회시]\n됩니다."), ("【질의】 되나요?", "【회시】 됩니다."), ("질의1 : 되나요?", "회시1 : 됩니다."), ("질의： 되나요?", "회시： 됩니다."), ("질의\n되나요?", "회시\n됩니다."),
    ("## 질의\n되나요?", "## 회시\n됩니다."), ("1. 질의요지\n되나요?", "2. 회답\n됩니다."), ("<질의 1>\n되나요?", "<회시 1>\n됩니다."), ("**질의**: 되나요?", "**회시**: 됩니다."), ("질의①: 되나요?", "회시①: 됩니다."),
    ("○ 질의내용 : 되나요?", "○ 회시내용 : 됩니다."), ("질의(1) : 되나요?", "회시(1) : 됩니다."), ("문 : 되나요?", "답 : 됩니다."), ("Q1. 되나요?", "A1. 됩니다."), ("재질의 : 되나요?", "재회시 : 됩니다."),
])
def test_forms_of_questions(question: str, answer: str) -> None:
    for gap in ("\n", "\n\n"):
        text = f"연차 정산{gap}{question}{gap}{answer}"
        pair, = qa_pairs(text)
        assert pair.question.of(text) == question and pair.answer.of(text) == answer


@pytest.mark.parametrize("text", ["종전 질의회시 : 455", "이는 종전\n질의회시 : 455와 같다.", "귀 질의에 대한 회시는 다음과 같다.", "질의만 : 있다.", "회시 : 답뿐이다.", "[질의]의 내용과 【회시】의 내용", ""])
def test_not_questions(text: str) -> None:
    assert qa_pairs(text) == []


def test_questions_stay_with_their_answers() -> None:
    text = "질의1 : 가?\n질의2 : 나?\n회시1 : 가.\n회시2 : 나.\n재질의 : 다?\n회시 : 다.\n질의 : 답이 없다?"
    pairs = qa_pairs(text)
    assert [p.answer.of(text) for p in pairs] == ["회시1 : 가.\n회시2 : 나.", "회시 : 다."]
    check(text, qa_records(text, "1"))
    assert qa_records(text, "1")[1].prefix.endswith("질의1 : 가? 질의2 : 나?")


def test_reason_needs_three_hundred_characters() -> None:
    for n, expected in ((299, 1), (300, 2)):
        text = f"# 제목\n\n## 질의요지\n되나요?\n\n## 회답\n됩니다.\n\n## 이유\n{'가' * n}"
        assert len(interpretation_records(text, "7")) == expected
    odd = f"질의요지:\n되나요?\n\n이유:\n{'가' * 400}\n\n회답:\n됩니다."
    assert [r.span for r in interpretation_records(odd, "7")] == [Span(0, len(odd))]


def test_ruling_without_a_summary() -> None:
    text = "【원고】 갑\n【주 문】\n기각한다.\n【이 유】\n1. 사실\n사실이다."
    assert detect_kind(text) == "ruling"
    assert [r.id for r in ruling_records(text, "7")] == ["CASE_7_detail"]
    other = "<판시사항>\n위헌인지\n<결정요지>\n아니다.\n【청구인】 갑\n【이 유】\n이유다."
    assert [r.metadata["chunk_type"] for r in ruling_records(other, "8")] == ["summary", "detail"]


def test_sample_corpus() -> None:
    law = SAMPLE / "corpus" / "law_common"
    for name, n in (("care_robot_act.txt", 51), ("shared_workshop_act.txt", 56)):
        text = (law / name).read_text(encoding="utf-8")
        statute = parse_statute(text)
        assert len([a for a in statute.articles if a.part == "본칙"]) == n
        check(text, statute_records(text, name))
    for path, kind in ((law / "interpretations.jsonl", "interpretation"), (law / "rulings.jsonl", "ruling"), (SAMPLE / "corpus" / "hr_labor" / "labor_qa.jsonl", "qa")):
        for row in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
            document = Document(text=row["text"], id_=row["doc_id"], metadata={"title": row["title"]})
            records = records_of(document)
            assert detect_kind(row["text"]) == kind
            check(row["text"], records)
            assert all(json.loads(line)["content"].endswith(row["text"][json.loads(line)["start"]:json.loads(line)["end"]]) for line in to_jsonl(records, row["text"]).splitlines())


def test_ordinary_documents_are_no_records() -> None:
    for path in (SAMPLE / "corpus").rglob("*.md"):
        if path.name != "work_rules.md":
            assert detect_kind(path.read_text(encoding="utf-8")) is None, path.name


def test_prefix_reaches_embedder_and_llm_only() -> None:
    text = (SAMPLE / "corpus" / "law_common" / "care_robot_act.txt").read_text(encoding="utf-8")
    for node in RecordNodeParser().get_nodes_from_documents([Document(text=text, id_="law", metadata={"title": "돌봄", "file_name": "a.txt"})]):
        shown = f"{node.metadata['prefix']}\n\n{node.text}" if node.metadata["prefix"] else node.text
        assert node.get_content(MetadataMode.EMBED) == node.get_content(MetadataMode.LLM) == shown
        assert node.get_content(MetadataMode.NONE) == node.text
        assert all(isinstance(v, (str, int, float, bool)) for v in node.metadata.values())


def test_errors() -> None:
    with pytest.raises(InputError, match="kind"):
        records_of(Document(text="가"), "novel")
    with pytest.raises(InputError, match="min_size"):
        statute_records("가", "1", min_size=9, max_size=9)
    with pytest.raises(InputError, match="fields"):
        text_of({"title": "가"})
    assert statute_records("", "1") == [] and interpretation_records(" \n", "1") == [] and ruling_records("", "1") == [] and qa_records("", "1") == []


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


def test_published_ruling_and_interpretation() -> None:
    folder = shared_data("ko_rulings_sample")
    rows = {r["kind"]: r["text"] for r in map(json.loads, (folder / "corpus.jsonl").read_text(encoding="utf-8").splitlines())}
    text = rows["판례"]
    summary, detail = ruling_records(text, "219067")
    assert "## 판시사항" in summary.span.of(text) and detail.span.of(text).startswith("## 판례내용")
    assert (summary.metadata["case_number"], summary.metadata["court"], summary.metadata["date"]) == ("2021다227100", "대법원", "2021-10-14")
    check(text, [summary, detail])
    text = rows["법령해석례"]
    core, reason = interpretation_records(text, "25-0105")
    assert "## 질의요지" in core.span.of(text) and "## 회답" in core.span.of(text) and reason.span.of(text).startswith("## 이유")
    assert (reason.id, reason.metadata["parent_id"]) == ("INTERP_25-0105_reason", "INTERP_25-0105")
    check(text, [core, reason])


def test_benchmark_runs() -> None:
    folder = shared_data("ko_statutes")
    done = subprocess.run([sys.executable, ROOT / "benchmarks" / "statute_articles.py", folder / "corpus.jsonl"], capture_output=True, text=True, check=True)
    assert done.stdout.count("\n| ") == 7


def test_a_code_of_procedure_is_a_statute_although_it_names_the_parts_of_a_ruling() -> None:
    articles = "\n\n".join(f"제{n}조(심리) ①법원은 {n}일 안에 심리한다." for n in range(1, 20))
    text = f"가상소송법\n[시행 2031. 1. 1.]\n\n{articles}\n\n제20조(판결서) ①판결서에는 다음 각호의 사항을 적는다.\n1. 당사자\n2. 주문\n3. 청구의 취지\n4. 이유\n\n제21조(송달) 판결서를 송달한다."
    assert detect_kind(text) == "statute"
    quoting = f"【판시사항】\n\n[1] 심리의 기간\n\n【참조조문】\n\n{articles}\n\n【주 문】\n\n상고를 기각한다.\n\n【이 유】\n\n상고이유를 본다."
    assert detect_kind(quoting) == "ruling"


def test_every_real_statute_is_found_to_be_one() -> None:
    rows = [json.loads(line) for line in (shared_data("ko_statutes") / "corpus.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {row["title"]: detect_kind(row["text"]) for row in rows} == {row["title"]: "statute" for row in rows}
