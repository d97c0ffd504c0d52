"""Which kind a document is, and its records."""
from __future__ import annotations

import json

import pytest
from conftest import SAMPLE, shared_data
from hypothesis import given, settings, strategies as st
from llama_index.core.schema import Document
from statute_texts import check, TEXTS

from ragnb import InputError, QANodeParser, RecordNodeParser, Span
from ragnb.documents.forms import plain_text
from ragnb.documents.kinds import detect_kind, document_kind, reading_notes, records_of
from ragnb.documents.qa import qa_pairs, qa_records
from ragnb.documents.records import merge_short, to_jsonl
from ragnb.laws.kinds import text_of, write_records
from ragnb.laws.records import statute_records
from ragnb.laws.rulings import interpretation_records, ruling_records
from ragnb.laws.statutes import parse_statute


def test_content_line_of_a_record() -> None:
    text = text_of({"id": "LAW_010719_A56",
                    "content": ("[가온기준법]\n소관부처: 생활기술부\n시행일: 2024-02-09\n\n제56조(연장 근로)\n① 더 준다.\n② 휴일도 같다.")})
    assert detect_kind(text) == "statute"
    record = statute_records(text, "010719")[-1]
    assert (
        record.id == "LAW_010719_A56" and "시행일: 2024-02-09" in record.prefix and record.title == "가온기준법 제56조 (연장 근로)")


def test_sample_corpus() -> None:
    law = SAMPLE / "corpus" / "law_common"
    for name, n in (("care_robot_act.txt", 51), ("shared_workshop_act.txt", 56)):
        text = (law / name).read_text(encoding="utf-8")
        statute = parse_statute(text)
        assert len([a for a in statute.articles if a.part == "본칙"]) == n
        check(text, statute_records(text, name))
    for path, kind in ((law / "interpretations.jsonl", "interpretation"), (law / "rulings.jsonl", "ruling"),
                       (SAMPLE / "corpus" / "hr_labor" / "labor_qa.jsonl", "qa")):
        for row in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
            document = Document(text=row["text"], id_=row["doc_id"], metadata={"title": row["title"]})
            records = records_of(document)
            assert detect_kind(row["text"]) == kind
            check(row["text"], records)
            assert all(
                json.loads(line)["content"].endswith(row["text"][json.loads(line)["start"] : json.loads(line)["end"]])
                for line in to_jsonl(records, row["text"]).splitlines())


def test_ordinary_documents_are_no_records() -> None:
    for path in (SAMPLE / "corpus").rglob("*.md"):
        if path.name != "work_rules.md":
            text = path.read_text(encoding="utf-8")
            in_sections = path.name == "handbook.md"    # numbered headings: a kind that people cite, without records
            assert detect_kind(text) == ("sections" if in_sections else None), path.name
            assert records_of(Document(text=text)) == [], path.name


def test_errors() -> None:
    with pytest.raises(InputError, match="kind"):
        records_of(Document(text="가"), "novel")
    with pytest.raises(InputError, match="min_size"):
        statute_records("가", "1", min_size=9, max_size=9)
    with pytest.raises(InputError, match="fields"):
        text_of({"title": "가"})
    assert (
        statute_records("", "1") == [] and interpretation_records(" \n", "1") == [] and ruling_records("", "1") == []
        and qa_records("", "1") == [])


def test_a_code_of_procedure_is_a_statute_although_it_names_the_parts_of_a_ruling() -> None:
    articles = "\n\n".join(f"제{n}조(심리) ①법원은 {n}일 안에 심리한다." for n in range(1, 20))
    text = (f"가상소송법\n[시행 2031. 1. 1.]\n\n{articles}\n\n제20조(판결서) ①판결서에는 다음 각호의 사항을 적는다.\n1."
            " 당사자\n2. 주문\n3. 청구의 취지\n4. 이유\n\n제21조(송달) 판결서를 송달한다.")
    assert detect_kind(text) == "statute"
    quoting = (f"【판시사항】\n\n[1] 심리의 기간\n\n【참조조문】\n\n{articles}\n\n【주 문】\n\n상고를 기각한다.\n\n【이" " 유】\n\n상고이유를 본다.")
    assert detect_kind(quoting) == "ruling"


def test_every_real_statute_is_found_to_be_one() -> None:
    rows = [json.loads(line)
            for line in (shared_data("ko_statutes") / "corpus.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {row["title"]: detect_kind(row["text"]) for row in rows} == {row["title"]: "statute" for row in rows}


def test_merging_stays_in_its_section() -> None:
    text = ("가온법\n제1장 가\n제1조(가) 짧다.\n제2조(나) 짧다.\n제2장 나\n제3조(다) 짧다.\n제4조 삭제 <2020. 1. 1.>\n제3장"
            " 다\n제5조(라) 혼자다.\n부칙\n제1조(시행일) 짧다.")
    ranges = [r.metadata.get("article_range") for r in statute_records(text, "1")]
    assert ranges == [None, "1~2", "3~4", "5", "1"]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(20, 500), min_size=1, max_size=14))
def test_only_short_articles_that_follow_each_other_share_a_record(lengths: list[int]) -> None:
    bodies = [f"제{n}조(조문) " + "가" * max(1, length - len(f"제{n}조(조문) ")) for n, length in enumerate(lengths, 1)]
    text = "가온법\n\n제1장 총칙\n\n" + "\n\n".join(bodies)
    shared = [r.metadata["article_range"].split("~") for r in statute_records(text, "1") if r.metadata.get("article_number")]
    for run in shared:
        members = [len(bodies[n - 1]) for n in range(int(run[0]), int(run[-1]) + 1)]
        assert len(members) == 1 or max(members) < 200
    for before, after in zip(shared, shared[1:]):      # two short neighbors are never both alone
        last, first = (len(bodies[int(n) - 1]) for n in (before[-1], after[0]))
        assert len(before) > 1 or len(after) > 1 or last >= 200 or first >= 200


@pytest.mark.parametrize(("field", "kind", "record_id"), [
    ("법령ID", "statute", "LAW_77_H"), ("자치법규ID", "statute", "LAW_77_H"), ("판례일련번호", "ruling", "CASE_77_detail"),
    ("헌재결정례일련번호", "ruling", "CASE_77_detail"), ("법령해석례일련번호", "interpretation", "INTERP_77"), ("해석례일련번호", "interpretation", "INTERP_77")])
def test_a_number_names_records_and_tells_the_kind_of_a_text_without_marks(field: str, kind: str, record_id: str) -> None:
    text = "# 가온의 날\n\n가온의 날은 3월 1일로 한다.\n"
    for document in (Document(text=text, id_="a.md", metadata={field: "77"}), Document(text=f"---\n{field}: '77'\n---\n{text}", id_="a.md")):
        assert document_kind(document) == kind and records_of(document)[0].id == record_id
    assert document_kind(Document(text=text, id_="a.md", metadata={"law_id": "77"})) is None   # what a row is about


@pytest.mark.parametrize(("name", "sentence", "kind"), [
    ("가온기금법폐지법률", "가온기금법은 이를 폐지한다.", "statute"), ("가온회 설치령 폐지령", "가온회 설치령은 폐지한다.", "statute"),
    ("물결 조례 등 폐지에 관한 조례", "다음 조례를 각각 폐지한다.", "statute"), ("가온기금법폐지법률", "가온기금법을 고친다.", None), ("폐지 안내", "기금을 폐지한다.", None)])
def test_an_act_of_repeal(name: str, sentence: str, kind: str | None) -> None:
    text = f"# {name}\n\n{sentence}\n\n## 부칙\n\n이 법은 공포한 날부터 시행한다.\n"
    assert detect_kind(text) == kind
    if kind:
        check(text, statute_records(text, "1"))


@pytest.mark.parametrize(("text", "names"), [
    ("물결법 제1조 이 법은 물결을 정한다. 제2조 물결이란 파도다. 제3조 등록한다. 제4조 벌한다.", "제1조, 제2조, 제3조, …"),
    ("물결법\n제1조(목적) 정한다.\n제2조(정의) 뜻이다 그리고\t제3조(등록) 등록한다\n제4조(벌칙) 벌한다.", "제3조"),
    ("물결법\n제1조(목적) 정한다.\n제2조(정의) 뜻이다.\n제4조(벌칙) 제3조 위반은 벌한다.", ""),
    ("물결법 제1조 및 제2조, 제3조 제1항에 따라 제4조에서 정한다.", "")])
def test_articles_that_cannot_be_told_are_noted(text: str, names: str) -> None:
    notes = reading_notes(Document(text=text, id_="a.txt"))
    assert [note.what.partition(":")[0] for note in notes] == [names] * bool(names)


def test_two_editions_with_one_number_are_both_written(tmp_path) -> None:
    for year in (2030, 2031):
        text = f"---\n제목: 가온법\n법령ID: '000007'\n시행일자: {year}-01-01\n---\n# 가온법\n\n제1조(목적) {year}년의 기준을 정한다.\n"
        (tmp_path / f"가온법_{year}.md").write_text(text, encoding="utf-8")
    problems = []
    assert write_records([tmp_path], tmp_path / "out", problems) == {"laws_full.jsonl": 4} and not problems
    rows = map(json.loads, (tmp_path / "out" / "laws_full.jsonl").read_text(encoding="utf-8").splitlines())
    assert [row["id"] for row in rows] == ["LAW_000007_H", "LAW_000007_A1", "LAW_가온법_2031_H", "LAW_가온법_2031_A1"]


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


def test_published_ruling_and_interpretation() -> None:
    folder = shared_data("ko_rulings_sample")
    rows = {r["kind"]: r["text"]
            for r in map(json.loads, (folder / "corpus.jsonl").read_text(encoding="utf-8").splitlines())}
    text = rows["판례"]
    summary, detail = ruling_records(text, "219067")
    assert "## 판시사항" in summary.span.of(text) and detail.span.of(text).startswith("## 판례내용")
    assert (summary.metadata["case_number"], summary.metadata["court"], summary.metadata["date"]) == (
        "2021다227100", "대법원", "2021-10-14")
    check(text, [summary, detail])
    text = rows["법령해석례"]
    core, reason = interpretation_records(text, "25-0105")
    assert (
        "## 질의요지" in core.span.of(text) and "## 회답" in core.span.of(text) and reason.span.of(text).startswith("## 이유"))
    assert (reason.id, reason.metadata["parent_id"]) == ("INTERP_25-0105_reason", "INTERP_25-0105")
    check(text, [core, reason])


@pytest.mark.parametrize("question, answer", [
    ("질의 : 되나요?", "회시 : 됩니다."), ("[질의]\n되나요?", "[회시]\n됩니다."), ("【질의】 되나요?", "【회시】 됩니다."),
    ("질의1 : 되나요?", "회시1 : 됩니다."), ("질의： 되나요?", "회시： 됩니다."), ("질의\n되나요?", "회시\n됩니다."),
    ("## 질의\n되나요?", "## 회시\n됩니다."), ("1. 질의요지\n되나요?", "2. 회답\n됩니다."), ("<질의 1>\n되나요?", "<회시 1>\n됩니다."),
    ("**질의**: 되나요?", "**회시**: 됩니다."), ("질의①: 되나요?", "회시①: 됩니다."), ("○ 질의내용 : 되나요?", "○ 회시내용 : 됩니다."),
    ("질의(1) : 되나요?", "회시(1) : 됩니다."), ("문 : 되나요?", "답 : 됩니다."), ("Q1. 되나요?", "A1. 됩니다."),
    ("재질의 : 되나요?", "재회시 : 됩니다.")])
def test_forms_of_questions(question: str, answer: str) -> None:
    for gap in ("\n", "\n\n"):
        text = f"연차 정산{gap}{question}{gap}{answer}"
        (pair,) = qa_pairs(text)
        assert pair.question.of(text) == question and pair.answer.of(text) == answer


@pytest.mark.parametrize("text", [
    "종전 질의회시 : 455", "이는 종전\n질의회시 : 455와 같다.", "귀 질의에 대한 회시는 다음과 같다.", "질의만 : 있다.", "회시 : 답뿐이다.",
    "[질의]의 내용과 【회시】의 내용", ""])
def test_not_questions(text: str) -> None:
    assert qa_pairs(text) == []


def test_questions_stay_with_their_answers() -> None:
    text = "질의1 : 가?\n질의2 : 나?\n회시1 : 가.\n회시2 : 나.\n재질의 : 다?\n회시 : 다.\n질의 : 답이 없다?"
    pairs = qa_pairs(text)
    assert [p.answer.of(text) for p in pairs] == ["회시1 : 가.\n회시2 : 나.", "회시 : 다."]
    check(text, qa_records(text, "1"))
    assert qa_records(text, "1")[1].prefix.endswith("질의1 : 가? 질의2 : 나?")


TOPICS = "{title}## 1. 연차\n\n{q} 이월되나요?\n\n{a} 아니오.\n\n### 예\n\n3월까지 쓴다.\n\n## 2. 병가\n\n{q} 유급인가요?\n\n{a} 네.\n"


@pytest.mark.parametrize("q, a", [("질의 :", "회시 :"), ("질의\n", "회시\n"), ("### 질의\n", "### 회시\n"), ("Q1", "A1"), ("문 1.", "답 1.")])
@pytest.mark.parametrize("title", ["# 휴가 문답\n\n", "휴가 문답\n\n", ""])
def test_headings_are_walls(q: str, a: str, title: str) -> None:
    text = TOPICS.format(title=title, q=q, a=a)
    one, two = qa_pairs(text)
    assert one.head.of(text) == "## 1. 연차" and two.head.of(text) == "## 2. 병가" and (one.topic, two.topic) == (0, 1)
    assert one.answer.of(text).endswith("3월까지 쓴다.") and "병가" not in one.answer.of(text)
    first, second = qa_records(text, "1")
    check(text, [first, second])
    assert second.span.of(text).startswith("## 2. 병가") and "연차" not in second.prefix and "이월" not in second.prefix
    assert second.title == ("휴가 문답" if title.startswith("#") else "2. 병가")
    nodes, _ = QANodeParser().parse(Document(text=text, id_="qa"))
    assert len(nodes) == 2
    assert "## 2. 병가" not in nodes[0].text and "이월" not in nodes[-1].metadata.get("prefix", "")
    assert nodes[-1].text.startswith("## 2. 병가")


def test_a_following_question_under_one_heading_keeps_the_first() -> None:
    text = "## 1. 연차\n질의 : 이월?\n회시 : 예.\n재질의 : 언제까지?\n회시 : 3월.\n## 2. 병가\n질의 : 유급?\n회시 : 예."
    pairs = qa_pairs(text)
    assert [p.topic for p in pairs] == [0, 0, 1]
    assert [("이월" in r.prefix) for r in qa_records(text, "1")] == [False, True, False]


@pytest.mark.parametrize("text", ["Q1 매출은 늘었다.\nA4 용지를 쓴다.", "Q1 실적\nQ2 실적\nA1 등급", "A1 등급을 받았다."])
def test_a_letter_with_a_number_alone_is_no_question(text: str) -> None:
    assert qa_pairs(text) == []
