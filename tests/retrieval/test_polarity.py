"""Of two passages with the words of a question, the one with its polarity comes first; nothing else moves."""
import pytest
from hypothesis import given, strategies as st
from llama_index.core.schema import Document

from ragnb.indexing.update import index_documents
from ragnb.pipeline.pipeline import Pipeline
from ragnb.retrieval.polarity import agreeing_first, asked_polarity, bounds_in, sentences_in

PAIRS = {
    "lockers": ("사물함을 빌릴 수 있는 사람은 정직원과 계약직이다.", "사물함을 빌릴 수 없는 사람은 방문객과 협력사 직원이다."),
    "visits": ("예약이 필요한 방문은 공장 견학이다.", "예약이 필요하지 않은 방문은 매장 구경이다."),
    "boxes": ("무게가 20kg 미만인 상자는 혼자 든다.", "무게가 20kg 이상인 상자는 둘이 든다."),
    "bikes": ("Bikes that may be parked inside are folded ones.", "Bikes that may not be parked inside are electric ones."),
    "parcels": ("Parcels with a signature go to the front desk.", "Parcels without a signature go back to the sender."),
}
ASKED = [("사물함을 못 빌리는 사람은?", "lockers-1"), ("사물함을 빌릴 수 있는 사람", "lockers-0"), ("예약 없이 되는 방문", "visits-1"),
         ("예약이 필요한 방문은 뭐야", "visits-0"), ("20kg 이상 상자는 어떻게 들어?", "boxes-1"), ("20kg 미만 상자", "boxes-0"),
         ("which bikes can't be parked inside", "bikes-1"), ("Which bikes may be parked inside?", "bikes-0"),
         ("parcels without signature", "parcels-1"), ("where do parcels with a signature go", "parcels-0")]


@pytest.fixture(scope="module")
def house(tmp_path_factory) -> Pipeline:
    """Both sentences of each pair, each in a document of its own."""
    texts = {f"{name}-{n}": text for name, pair in PAIRS.items() for n, text in enumerate(pair)}
    documents = [Document(text=text, id_=i) for i, text in texts.items()]
    return Pipeline.from_index(index_documents(documents, tmp_path_factory.mktemp("house") / "index", show_progress=False)[0])


@pytest.mark.parametrize("question, first", ASKED)
def test_the_passage_with_the_polarity_of_the_question_comes_first(house, question, first):
    assert house.passages(question)[0].doc_id == first


@pytest.mark.parametrize("question", [
    "사물함을 빌릴 수 없나요?", "사물함 못 빌려요?", "예약이 안 되나요?", "Can't I park my bike inside?", "Are bikes not allowed?", "연차는 며칠인가요?", "상자 안에 뭐가 있나",
    "이상이 생기면 어디에 알리나", "", "?", "안", "not"])
def test_a_question_that_is_answered_with_yes_or_no_has_no_side(question):
    assert asked_polarity(question) is None or not asked_polarity(question).sign


@pytest.mark.parametrize("question, sign", [
    ("신청하지 않으면 안 되는 사람은?", 1), ("왜 환불이 안 되나요?", -1), ("미성년자 없이", -1), ("비회원 요금", -1), ("주차 금지 구역", -1), ("who isn't insured", -1),
    ("not more than 3 boxes, which ones", -1), ("no more than 3 boxes", 0), ("no. 3 with a lid", 1)])
def test_negations_are_counted(question, sign):
    assert asked_polarity(question).sign == sign


@pytest.mark.parametrize("text, bounds", [
    ("19세 미만", {("19", -1)}), ("1,000원 이하", {("1000", -1)}), ("3회 이상 5회 이내", {("3", 1), ("5", -1)}), ("up to 10 people", {("10", -1)}),
    ("10 or more", {("10", 1)}), ("no less than 4", {("4", 1)}), ("이상 기후", set()), ("under the table", set())])
def test_bounds(text, bounds):
    assert bounds_in(text) == bounds


@given(st.lists(st.text(max_size=60), min_size=1, max_size=5), st.text(max_size=40))
def test_any_text_is_read_and_only_a_given_key_is_named(texts, question):
    assert len(sentences_in(texts)) == len(texts)
    found = agreeing_first(question, [(n, 9.0 - n) for n in range(len(texts))], lambda keys: [texts[key] for key in keys])
    assert found is None or found in range(1, len(texts))


def test_a_question_without_polarity_reads_nothing():
    assert agreeing_first("연차는 며칠인가요?", [(0, 9.0), (1, 8.0)], lambda keys: pytest.fail("read")) is None
