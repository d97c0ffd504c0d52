"""Whole statutes: parts, versions, headers, the published texts; 항, 호 and 목."""
from __future__ import annotations

import json

from conftest import shared_data
from hypothesis import given, settings
from statute_texts import check, clause, numbers, TEXTS

from ragnb.documents.records import statute_records
from ragnb.documents.span import Span
from ragnb.documents.statutes import parse_clauses, parse_statute
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
        "LAW_1_S3",
    ]
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


def test_carriage_returns_and_indents() -> None:
    lines = [
        "가온법", "", "제1장 총칙", "", "  제1조(목적) 목적이다.", "", "  제2조(정의) ① 뜻이다.", "    1. 정비", "    2. 점검", "  ② 같다.", "",
        "제2장 벌칙", "", "제3조(벌칙) 벌한다.",
    ]
    plain, dos = "\n".join(lines), "\r\n".join(lines)
    for text in (plain, dos):
        statute = parse_statute(text)
        assert [(a.number, a.path) for a in statute.articles] == [
            ("1", ("제1장 총칙",)), ("2", ("제1장 총칙",)), ("3", ("제2장 벌칙",)),
        ]
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
