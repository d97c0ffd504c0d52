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
