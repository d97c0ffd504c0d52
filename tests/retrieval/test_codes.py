"""What is told of codes, half words, articles and clauses that no document contains: nothing untrue, and nothing in silence."""
from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from conftest import write
from hypothesis import given, strategies as st
from llama_index.core import Document

from ragnb import Agent, Index, index_documents, Pipeline, trace, update_index
from ragnb.agent.library import Library
from ragnb.cli import main
from ragnb.context.labels import passage_article
from ragnb.documents.text import word_tokens_batch
from ragnb.retrieval.missing_words import IndexWords, missing_words, SMALL

LAW = "배달기법\n\n제1조(목적) 이 법은 배달기의 운행을 정한다.\n\n제2조(등록) ① 배달기는 등록한다.\n② 등록은 5년마다 새로 한다.\n\n제3조(보험) 보험은 별표 1을 따른다.\n\n[별표 1] 보험\n1. 대인: 1억원\n"
LOG = "# 정비 기록\n\nKX-118 장비에서 경보 E-117이 울렸다. 원인은 모터 과열이었다.\n\n냉각수는 C-12 밸브로 뺀다. 부품 번호는 45번이다.\n\n퓨즈는 25 A를 쓴다."
TABLE = "# 주간 일정\n\n| 요일 | 수업 |\n|---|---|\n| 수 | 요가 |\n| 월 | 수영 |\n\n요일마다 한 번 있다."
TEXTS = {"law.txt": LAW, "log.md": LOG, "week.md": TABLE}


@pytest.fixture(scope="module", params=["units", "parent-child"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("codes") / request.param
    documents = [Document(id_=i, text=text, metadata={"file_name": i}) for i, text in TEXTS.items()]
    index_documents(documents, place, parser=request.param, show_progress=False)
    return place


@pytest.mark.parametrize("code", ["E-118", "E118", "KX-117", "C-45", "KX-45", "C-117"])
def test_a_code_that_no_document_holds(folder: Path, code: str) -> None:
    """Its letters and its number are there, each in another code."""
    index = Index.open(folder)
    for budget in (150, 4_000):
        note = Pipeline.from_index(index, budget=budget).ask(f"{code}의 원인은?").note
        assert "in the documents" not in note
        if folder.name == "units":      # the order of words is kept there
            assert re.search(rf"no document contains [^;]*{code}", note), note
    if folder.name == "units":
        assert code in Agent(Library.open(folder)).ask(f"{code}의 원인은?").note


@pytest.mark.parametrize("code", ["E-117", "e117", "KX-118", "C-12", "25A"])
def test_a_code_that_is_there_is_not_told_of(folder: Path, code: str) -> None:
    assert Pipeline.from_index(Index.open(folder)).ask(f"{code}는 무엇인가요?").note == ""


def test_halves_of_a_word_are_no_word(folder: Path) -> None:
    """수요일 is not in the documents because 수 and 요일 are; nor is it said to be nowhere."""
    note = Pipeline.from_index(Index.open(folder), budget=4_000).ask("수요일 요가").note
    assert "수요일" not in note or "in the documents" not in note


@pytest.mark.shed
@pytest.mark.parametrize(("question", "told"), [
    ("법 제2조는?", ""), ("이 법 제2조", ""), ("보험은 어느 별표를 따르나?", ""), ("별표를 보여 주세요", ""), ("배달기법 제2조제2항은?", ""),
    ("배달기법 제2조제9항은?", "a 제9항 in 배달기법 제2조"), ("제2조제7항은?", "a 제7항 in 제2조"), ("배달기법 제9조는?", "배달기법 제9조"),
    ("고시 제2조제2항은 무엇인가?", ""), ("이 지침의 제2조는?", ""), ("배달 고시 제77조는?", "제77조"), ("배달지침 제77조는?", "배달지침 제77조")])
def test_articles_and_clauses(folder: Path, question: str, told: str) -> None:
    note = Pipeline.from_index(Index.open(folder)).ask(question).note
    assert (f"no document contains {told}" in note) if told else ("조" not in note and "별표" not in note), note


@pytest.mark.shed
def test_an_article_named_by_the_tier_alone_comes_first(folder: Path) -> None:
    assert Pipeline.from_index(Index.open(folder)).ask("법 제3조는?").passages[0].text.startswith("제3조(보험)")


LETTERS, NUMBERS = st.sampled_from(["a", "e", "kx", "gn"]), st.sampled_from(["1", "12", "117", "300"])


@given(st.lists(st.tuples(LETTERS, NUMBERS), min_size=1, max_size=6), LETTERS, NUMBERS, st.data())
def test_a_code_occurs_in_a_text_with_its_parts_in_a_row(there: list[tuple[str, str]], letters: str, number: str, data: st.DataObject) -> None:
    """Also of the documents that a filter lets through only, each code a text of its own."""
    allowed, texts = [data.draw(st.booleans()) for _ in there], list(word_tokens_batch([f"경보 {a.upper()}-{b} 확인" for a, b in there]))
    code = f"{letters.upper()}-{number}"
    seen = [pair for pair, is_allowed in zip(there, allowed) if is_allowed]
    readable = IndexWords.of_texts(text for text, is_allowed in zip(texts, allowed) if is_allowed)
    assert readable.occurs(code) is ((letters, number) in seen)
    found = missing_words(f"{code} 경보", IndexWords.of_texts(texts), ["다른 글이다."])
    assert (code in found.missing) is ((letters, number) not in there) and not (code in found.missing and code in found.unread)


SHORT = {"leave.md": "# 휴가 안내\n\n## 연차\n\n입사 2년차부터 연차는 16일입니다.\n\n## 병가\n\n병가는 30일까지 쓸 수 있고, 진단서를 냅니다.",
         "parking.md": "# 주차 안내\n\n지하 2층에 방문객 주차장이 있습니다. 30분에 1,000원입니다.",
         "meal.txt": "구내식당은 11시 30분부터 13시까지 엽니다. 점심은 6,000원입니다.",
         "security.md": "# 보안 수칙\n\n비밀번호는 90일마다 바꿉니다. 외부 USB는 쓸 수 없습니다.",
         "travel.md": "# 출장비\n\n국내 출장의 숙박비는 하루 8만원까지 줍니다."}
ASKED = {"병가는 며칠까지 쓸 수 있나요?": "leave.md", "방문객 주차장은 어디인가요?": "parking.md", "점심은 얼마인가요?": "meal.txt",
         "비밀번호는 언제 바꾸나요?": "security.md", "숙박비는 얼마까지 주나요?": "travel.md"}
NOTHING = ["화성 탐사선은 언제 발사되나요?", "연봉 인상률은 얼마인가요?", "공룡은 왜 멸종했나요?"]


@pytest.fixture(scope="module")
def few(tmp_path_factory):
    docs = tmp_path_factory.mktemp("small")
    write(docs, SHORT)
    index, _ = update_index(docs, docs.parent / "small-index", show_progress=False)
    return index


@pytest.mark.parametrize("question", ASKED)
def test_what_shares_no_word_is_unlike_and_cut(few, question):
    answer = Pipeline.from_index(few).ask(question)
    first, *others = answer.passages
    assert first.doc_id == ASKED[question] and not first.is_unlike
    assert all(p.is_unlike and "share none of «" in str(p.why[p.hits[0]]) for p in others if p.doc_id != first.doc_id)
    cut = Pipeline.from_index(few, cut=0.01).ask(question)
    assert {p.doc_id for p in cut.passages} == {ASKED[question]}


@pytest.mark.parametrize("question", NOTHING)
def test_a_question_that_the_folder_says_nothing_about(few, question):
    """Nothing is called a strong match; vectors of spelling alone are no reason to read on where a cut was asked for."""
    answer, cut = (Pipeline.from_index(few, cut=share).ask(question) for share in (None, 0.3))
    assert answer.passages and all(p.is_unlike for p in answer.passages) and not cut.passages
    assert all("no document contains any word of the question" in one.note for one in (answer, cut))
    told = trace(Pipeline.from_index(few), question)
    assert {row["role"] for row in told.rows()} == {"filler"} and 'class="hit' not in told.page().partition("</style>")[2]


def test_part_of_a_question_is_said_to_be_shared(few):
    (why,) = {str(p.why[p.hits[0]]) for p in Pipeline.from_index(few).ask("신입 연차 규정 사본").passages if p.doc_id == "leave.md"}
    assert "little in common with the question: it and the units beside it share only «연차»" in why


def test_a_compound_shares_its_part(tmp_path):
    """연차 is in 연차휴가, and 주차 is not."""
    write(tmp_path, {"a.md": "연차휴가는 열엿새입니다.", "b.md": "주차장은 지하에 있습니다."})
    index, _ = update_index(tmp_path, tmp_path.parent / f"{tmp_path.name}-i", show_progress=False)
    unlike = {p.doc_id: p.is_unlike for p in Pipeline.from_index(index).ask("연차는 며칠?").passages}
    assert unlike["a.md"] is False and unlike.get("b.md", True)


@pytest.mark.heavy
def test_a_larger_corpus_is_judged_by_its_scores(hr_units):
    ranking = Pipeline.from_index(hr_units).rank("입사 1년차 직원의 연차는 며칠인가요?")
    assert len(ranking.reader.units.keys) > SMALL and not ranking.common and not any(p.is_unlike for p in ranking.at(4_000))


def test_the_command_line_says_when_no_word_of_a_question_is_there(few, capsys):
    at = str(few.folder)
    assert main(["ask", "숙박비는 얼마까지 주나요?", "--index", at]) == 0
    assert "probably not" not in capsys.readouterr().err
    assert main(["ask", "숙박비는 얼마까지 주나요?", "--index", at, "--cut", "0.05", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert {p["id"].partition("@")[0] for p in told["passages"]} == {"travel.md"}
    assert told["chance"]["value"] > 0.5 > told["chance"]["absent_below"] and told["chance"]["n_calibration"] > 100
    assert main(["ask", NOTHING[0], "--index", at]) == 0
    told = capsys.readouterr()
    assert "no document contains any word" in told.err and "probably not" not in told.err


@pytest.mark.parametrize(("question", "word"), [("특실은 누가 탈 수 있나요?", "특실"), ("충전기는 얼마인가요?", "충전기"), ("충전기 CH-48", "충전기"),
                                                ("부칙은 언제부터 시행하나요?", "부칙"), ("무진동은 무엇인가요?", "무진동")])
def test_a_word_that_is_counted_in_another_form_is_there(tmp_path, question, word):
    """An analyser may cut a word otherwise in a question than in a text: 충전기 is counted as 충전, 특실 as 특."""
    texts = {"travel.md": "# 출장 규정\n\n일비는 3만 원이다. 부장 이상은 특실을 탈 수 있다. 기차는 미리 예약한다.",
             "prices.md": "# 단가표\n\n| 품번 | 품명 | 값 |\n|---|---|---|\n| P-1024 | 충전기 CH-48 | 9만 원 |\n| P-1025 | 무진동 받침 | 3만 원 |\n",
             "law.txt": "배달기법\n\n제1조(목적) 이 법은 배달을 정한다.\n\n부칙 <법률 제20777호, 2030. 1. 1.>\n\n이 법은 공포한 날부터 시행한다."}
    write(tmp_path, texts)
    index = update_index(tmp_path, tmp_path / "index", show_progress=False)[0]
    for cut in (None, 0.2):
        answer = Pipeline.from_index(index, cut=cut).ask(question)
        assert answer.passages and word in answer.passages[0].text and not answer.passages[0].is_unlike
        assert "no document contains" not in answer.note and word not in answer.note


@pytest.mark.shed
def test_a_small_budget_reads_what_was_asked_for_in_an_article_not_its_beginning(tmp_path):
    """All units of a short article have one score: the best of them by its own signals is read first, and names the source."""
    law = ("배달기법\n\n제2장 등록\n\n제5조(운영자의 등록) ① 배달기를 운영하려는 자는 국토청장에게 등록하여야 한다.\n② 등록하려는 자는 다음 각 호의 요건을 갖추어야 한다.\n"
           "1. 자본금 2억원 이상\n2. 조종책임자 3명 이상\n③ 등록의 유효기간은 4년으로 한다.\n\n제6조(변경) 주소가 바뀌면 알린다.\n\n제7조(폐업) 폐업하면 알린다.\n")
    index, _ = index_documents([Document(id_="law.txt", text=law)], tmp_path / "i", show_progress=False)
    for budget in (120, 200):
        passage = Pipeline.from_index(index, budget=budget).ask("등록의 유효기간은 몇 년인가요?").context.passages[0]
        assert "유효기간은 4년" in passage.text and passage_article(passage).startswith("제5조")
    assert Pipeline.from_index(index, budget=1_000).ask("등록의 유효기간은 몇 년인가요?").passages[0].text.count("제5조(") == 1


WARRANTY = "{head}\n\n## 설치\n\n{more}\n\n## 보증\n\n보증 기간은 구입한 날부터 {months}개월이다. 보증 기간에는 무상으로 수리한다.\n"
MORE = "센서를 모터에서 30 cm 떨어진 곳에 달고 나사를 조인다. 전원을 끄고 60초 기다린다. 케이블은 짧은 것을 쓴다.\n\n" * 6
FIELD = "---\nmodel: {code}\n---\n# 온도 센서 설명서"


def _manuals(named: str, codes: tuple[str, str]) -> dict[str, str]:
    """Two manuals that differ in a code: in the title, the file name, a field, or a heading of one file. The first one is longer."""
    heads = {"title": "# {code} 온도 센서 설명서", "file": "# 온도 센서 설명서", "field": FIELD, "heading": "# {code}"}
    parts = [WARRANTY.format(head=heads[named].format(code=code), more=more, months=months)
             for code, months, more in zip(codes, (24, 36), (MORE, "벽에 단다."))]
    if named == "heading":
        return {"all.md": "\n".join(parts)}
    files = (f"{c.lower().replace('-', '')}_manual.md" for c in codes) if named == "file" else ("a.md", "b.md")
    return dict(zip(files, parts))


@pytest.mark.parametrize("named", ["title", "file", "field", "heading"])
@pytest.mark.parametrize("codes", [("HB-300", "HB-500"), ("E-03", "E-117"), ("X300A", "X300B")])
def test_two_manuals_that_differ_in_a_code(named: str, codes: tuple[str, str], tmp_path: Path) -> None:
    write(tmp_path / "in", _manuals(named, codes))
    index, _ = update_index(tmp_path / "in", tmp_path / "index", show_progress=False)
    pipeline = Pipeline.from_index(index, budget=60 if named == "heading" else 400)    # neighbors are one passage
    for code, months in zip(codes, ("24", "36")):
        for question in (f"{code} 보증 기간은?", f"{code.lower().replace('-', '')} 보증은 몇 개월인가요?"):
            found = [h.node.text for h in pipeline.find(question).hits], [p.text for p in pipeline.ask(question).passages]
            assert [re.findall(r"(\d+)개월", " ".join(texts))[0] for texts in found] == [months, months], question
    both = Pipeline.from_index(index, budget=2_000).ask(f"{codes[0]}과 {codes[1]}의 보증 기간 비교").context.text
    assert "24개월" in both and "36개월" in both      # neither is behind the other


def test_the_section_of_a_code_is_read_before_one_that_mentions_it(tmp_path: Path) -> None:
    text = ("# 알람\n\n## 5.8 E-231 정합기 위치 한계\n\nE-205 조치 방법과 같다. E-205로 이어지면 조치를 먼저 한다.\n\n## 5.9 E-240 냉각수 부족\n\n"
            "물을 채운다.\n\n## 5.6 E-205 반사파 초과\n\n반사파가 8 %를 넘으면 난다. 90초를 기다린 다음에 알람을 지운다.\n")
    write(tmp_path / "in", {"alarms.md": text})
    index, _ = update_index(tmp_path / "in", tmp_path / "index", show_progress=False)
    for budget in (60, 80, 110):
        for question in ("E-205 조치 방법", "E-205 알람의 조치는?"):
            first = Pipeline.from_index(index, budget=budget).ask(question).passages[0].text
            assert first.startswith("## 5.6 E-205 반사파 초과\n\n반사파가"), (budget, first)


RECORDS = {"CLAIM-2025-011": "소매의 실이 나왔다. 원인을 찾아 소매를 바꾸었다.", "CLAIM-2025-019": "포장기의 온도 편차가 벌어졌다. 히터 봉을 바꾸었다.",
           "GCB_0006": "노즐 끝에서 방울이 떨어졌다. 밸브를 바꾸었다.", "2019다12345": "대금의 지급을 명한다. 상고를 기각한다."}


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Index:
    folder = tmp_path_factory.mktemp("records")
    rows = [{"doc_id": i, "title": text.split(".")[0], "text": text} for i, text in RECORDS.items()]
    rows += [{"doc_id": f"Q-77-{n}", "parent_id": "Q-77", "title": "회신", "text": f"회신의 {n}번째 부분이다."} for n in (1, 2)]
    write(folder / "in", {"records.jsonl": "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows),
                          "rules.md": "# 규칙\n\n원인은 기록한다. 조치 내용과 판결의 요지도 기록한다."})
    return update_index(folder / "in", folder / "index", show_progress=False)[0]


@pytest.mark.parametrize(("question", "doc_ids"), [
    ("CLAIM-2025-019의 원인은?", ["CLAIM-2025-019"]), ("claim-2025-011 조치 내용", ["CLAIM-2025-011"]), ("GCB_0006", ["GCB_0006"]),
    ("2019다12345 판결의 요지", ["2019다12345"]), ("Q-77의 내용은?", ["Q-77-1", "Q-77-2"]), ("Q-77-2", ["Q-77-2"]), ("GCB_0006과 CLAIM-2025-019", ["GCB_0006", "CLAIM-2025-019"])])
def test_a_record_is_found_by_its_id(records: Index, question: str, doc_ids: list[str]) -> None:
    answer = Pipeline.from_index(records, reorder=False).ask(question)
    assert [p.doc_id for p in answer.passages][:len(doc_ids)] == doc_ids and answer.note == ""
    assert "in the document whose id the question gives" in str(answer.passages[0].why)
    hidden = Pipeline.from_index(records, where={"doc_id": "rules.md"}).ask(question)
    assert {p.doc_id for p in hidden.passages} <= {"rules.md"}
    searched = Pipeline.from_index(records, lookup=False).ask(question)
    assert "whose id" not in str([p.why for p in searched.passages])


def test_an_id_that_is_not_there_is_reported(records: Index) -> None:
    assert "CLAIM-2025-999" in Pipeline.from_index(records).ask("CLAIM-2025-999 원인").note


ROWS = ((11, "물통이 비었다"), (131, "문이 열렸다. 문을 닫고 E131을 지운다"), (13, "급수가 막혔다"), (132, "문 스위치를 바꾼다"), (1311, "문틀이 휘었다"))
ALARMS = ((118, "모터 과열이다"), (11, "냉각수 부족이다"), (1180, "모터 과열을 지나친 것이다"))
CODES = {"table.md": "# 조치\n\n| 코드 | 조치 |\n|---|---|\n" + "".join(f"| E{n} | {what} |\n" for n, what in ROWS),
         "prose.md": "# 경보\n\n" + "\n\n".join(f"경보 KX-{n}은 {what}." for n, what in ALARMS)}


@pytest.fixture(scope="module")
def coded(tmp_path_factory: pytest.TempPathFactory) -> Index:
    documents = [Document(id_=i, text=text) for i, text in CODES.items()]
    return index_documents(documents, tmp_path_factory.mktemp("coded"), show_progress=False)[0]


@pytest.mark.parametrize("retriever", ["multi-scale", "vector", "bm25", "hybrid", "hybrid:zscore", "hierarchical"])
def test_the_row_of_a_code_comes_first_in_every_retriever(coded: Index, retriever: str) -> None:
    """Also where words beside the code stand in the row of another code."""
    found = Pipeline.from_index(coded, retriever=retriever)
    for question, row in (("E13 문", "| E13 |"), ("E-13은 문이 열린 것인가요?", "| E13 |"), ("KX-11 모터 과열", "KX-11은"), ("KX118 냉각수", "KX-118은")):
        assert row in found.find(question).hits[0].node.text, question
    without = [hit.node_id for hit in found.find("E999 문").hits]
    assert without == [hit.node_id for hit in found.find("E998 문").hits]       # codes of no document change nothing
    hidden = Pipeline.from_index(coded, retriever=retriever, where="doc_id=prose.md")
    assert all(hit.node.ref_doc_id == "prose.md" for hit in hidden.find("E13 문").hits)
