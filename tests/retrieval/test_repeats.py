"""A text in several documents is read once, its other places are named, and a question chooses between editions."""
import pytest
from llama_index.core.schema import Document

from ragnb.context.labels import also_in
from ragnb.indexing.update import index_documents
from ragnb.pipeline.pipeline import Pipeline
from ragnb.retrieval.repeats import bare_spelling

YEARS = range(2018, 2025)
SHARED = "회의실 열쇠는 쓰기 하루 전에 총무과에서 받는다."


@pytest.fixture(scope="module")
def rooms(tmp_path_factory) -> Pipeline:
    """Seven editions of a rule, which differ in a fee, and a guide."""
    texts = {f"회의실규정_{y}.md": f"# 회의실 규정 ({y}년판)\n\n## 열쇠\n\n{SHARED}\n\n## 요금\n\n회의실 요금은 한 시간에 {y - 2000}천 원이다.\n" for y in YEARS}
    texts["안내.md"] = "# 손님 안내\n\n회의실은 3층에 있고, 손님은 정문에서 이름표를 받는다.\n"
    documents = [Document(text=text, id_=i, metadata={"title": text.partition("\n")[0][2:]}) for i, text in texts.items()]
    return Pipeline.from_index(index_documents(documents, tmp_path_factory.mktemp("rooms") / "index", show_progress=False)[0])


def test_a_shared_sentence_is_read_once_and_its_other_places_are_named(rooms):
    answer = rooms.ask("회의실 열쇠는 언제 받나요?")
    assert answer.context.text.count(SHARED) == 1
    holder = next(p for p in answer.passages if SHARED in p.text)
    assert holder.doc_id == "회의실규정_2024.md" and set(also_in(holder)) == {f"회의실규정_{y}.md" for y in YEARS} - {holder.doc_id}
    source = next(s for s in answer.sources() if SHARED in s["text"])
    assert source["also_in"] == also_in(holder) and "also in 회의실규정_" in source["label"] and "(+5)" in answer.context.text


@pytest.mark.parametrize("question, first", [
    ("가장 최근 회의실 요금은?", 2024), ("2019년 회의실 요금은 얼마인가요?", 2019), ("2021년 판의 회의실 요금은?", 2021), ("현행 회의실 요금은?", 2024)])
def test_a_question_chooses_an_edition(rooms, question, first):
    assert rooms.passages(question)[0].doc_id == f"회의실규정_{first}.md"


def test_two_years_bring_both_editions_with_what_they_share(rooms):
    read = {p.doc_id: p.text for p in rooms.ask("2019년과 2022년 회의실 요금과 열쇠는?").passages}
    assert all(f"{y - 2000}천 원" in read[f"회의실규정_{y}.md"] and SHARED in read[f"회의실규정_{y}.md"] for y in (2019, 2022))


def test_a_larger_budget_delivers_no_less_text(rooms):
    sizes = [sum(len(p.text) for p in rooms.rank("회의실 열쇠와 요금").at(budget)) for budget in range(20, 600, 20)]
    assert sizes == sorted(sizes)


def test_spellings_that_mean_something_else_differ():
    assert len({bare_spelling(t) for t in ("빌릴 수 있다.", "빌릴 수 없다.", "3일 빌린다", "4일 빌린다")}) == 4


PLACES = {"metadata": ("열람실 규정", "시행일", ""), "title": ("열람실 규정({y}년 개정)", "", ""), "heading": ("열람실 규정", "", "# 열람실 규정, {y}. 3. 1. 시행\n\n")}


@pytest.mark.parametrize("where", PLACES)
@pytest.mark.parametrize(("question", "right"), [("요즘 열람실 보증금은?", 3), ("2022년 열람실 보증금", 1), ("'23년 열람실 보증금은?", 2), ("현재 열람실 보증금", 3), ("열람실 보증금은 얼마인가요?", 3)])
def test_date_of_an_edition_is_in_its_metadata_title_or_heading(tmp_path, where, question, right):
    title, key, head = PLACES[where]
    documents = []
    for n, name in enumerate(("가", "다", "나"), 1):
        metadata = {"title": title.format(y=2021 + n)} | ({key: f"{2021 + n}-03-01"} if key else {})
        text = f"{head.format(y=2021 + n)}## 보증금\n\n열람실 보증금은 한 사람에 {n}만 원으로 한다.\n"
        documents.append(Document(text=text, id_=f"{name}.md", metadata=metadata))
    pipeline = Pipeline.from_index(index_documents(documents, tmp_path, show_progress=False)[0])
    assert f"{right}만 원" in pipeline.passages(question)[0].text


def test_two_years_bring_the_sentence_of_each_within_a_small_budget(tmp_path):
    documents = []
    for year in range(2019, 2024):
        text = (f"# 공구 대여 규정 ({year}년 개정)\n\n## 목적\n\n이 규정은 공구를 빌리는 방법을 정한다.\n\n## 보증금\n\n공구 보증금은 {year - 2000}천 원으로 한다. 반납하면 {year - 2010}일 안에 돌려준다.\n\n"
                f"## 부칙\n\n이 규정은 {year}년 3월 1일부터 시행한다.\n")
        documents.append(Document(text=text, id_=f"공구대여_{year}.md", metadata={"title": "공구 대여 규정"}))
    pipeline = Pipeline.from_index(index_documents(documents, tmp_path, show_progress=False)[0], budget=300)
    read = pipeline.ask("2020년 2023년 공구 보증금 비교").context.text
    assert "20천 원" in read and "23천 원" in read


@pytest.mark.parametrize(("name", "text", "question", "right"), [
    ("parking_{y}.md", "# Parking\n\n## Fee\n\nA card costs {n} euros.\n\n## Start\n\nThese rules are in force from 1 March {y}. They replace those of {p}.\n", "fee 2022", "costs 22 euros"),
    ("주차_{y}.md", "# 주차 규정\n\n## 요금\n\n주차 카드는 한 장에 {n}천 원이다.\n\n## 부칙\n\n이 규정은 {y}년 3월 1일부터 시행한다. {p}년 규정은 없앤다.\n", "2022 요금", "22천 원"),
])
def test_the_year_of_a_file_name_is_no_better_match_in_its_own_text(tmp_path, name, text, question, right):
    documents = [Document(text=text.format(y=y, n=y - 2000, p=y - 1), id_=name.format(y=y), metadata={"title": text[2:text.index("\n")]}) for y in range(2020, 2024)]
    pipeline = Pipeline.from_index(index_documents(documents, tmp_path, show_progress=False)[0])
    assert right in pipeline.rank(question).at(40)[0].text
