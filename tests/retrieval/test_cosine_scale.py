"""An index measures what the cosines of its embedding mean; n-grams need no scale."""
import sys
from pathlib import Path

from llama_index.core.schema import Document

from ragnb.indexing.folder_index import Index
from ragnb.indexing.update import index_documents
from ragnb.pipeline.pipeline import Pipeline
from ragnb.retrieval.cosine_scale import CosineScale, FAR, LOWEST, UNKNOWN

sys.path.insert(0, str(Path(__file__).parents[1] / "wrong_values"))
from typed_turns import Letters  # noqa: E402


class Counting(Letters):
    """Counts the questions that it is asked."""
    asked: list[str] = []

    def _get_query_embedding(self, query: str) -> list[float]:
        self.asked.append(query)
        return self._vector(query)


def stalls(n: int) -> list[Document]:
    """Markets with stalls."""
    goods = ("사과", "감자", "양파", "수박", "마늘", "포도", "대파", "호박")
    return [Document(text="\n\n".join(f"{name} 가게는 {market}째 시장 {row}번 줄에 있고, 아침 {row}시에 문을 연다." for row, name in enumerate(goods, 1)),
                     id_=f"{market}.md", metadata={"title": f"시장 {market}"}) for market in range(n)]


def test_the_scale_is_stored_and_measured_again_when_the_index_doubles(tmp_path):
    model = Counting()
    index = index_documents(stalls(4), tmp_path / "index", embed=model, show_progress=False)[0]
    scale, n = index.manifest.cosine_scale, len(model.asked)
    assert scale.n_units == len(index.multiscale) and 16 <= n <= 64 and scale.far <= scale.near
    assert Index.open(tmp_path / "index", model).manifest.cosine_scale == scale
    again = index_documents(stalls(5), tmp_path / "index", embed=model, show_progress=False)[0]
    assert again.manifest.cosine_scale == scale and len(model.asked) == n, "not for a fourth more"
    more = index_documents(stalls(12), tmp_path / "index", embed=model, show_progress=False)[0]
    assert more.manifest.cosine_scale.n_units == len(more.multiscale) and len(model.asked) > n


def test_n_grams_and_small_indexes_have_no_scale(tmp_path):
    assert index_documents(stalls(4), tmp_path / "ngrams", show_progress=False)[0].manifest.cosines is None
    small = index_documents(stalls(1), tmp_path / "small", embed=Letters(), show_progress=False)[0]
    assert small.manifest.cosines is None and Pipeline.from_index(small).ask("사과 가게는 어디인가요?").chance is None


def test_a_filter_hides_the_chance_with_any_embedding(tmp_path):
    index = index_documents(stalls(4), tmp_path / "index", embed=Letters(), show_progress=False)[0]
    assert Pipeline.from_index(index).ask("사과 가게는 어디인가요?").chance is not None
    assert Pipeline.from_index(index, where={"doc_id": "1.md"}).ask("사과 가게는 어디인가요?").chance is None


def test_a_cosine_below_all_that_the_chance_was_fitted_on_counts_as_the_least_of_them():
    scale = CosineScale(.93, .87, .02, 99)
    assert scale.as_ngrams(.9) > FAR > scale.as_ngrams(.86) > scale.as_ngrams(.8) == scale.as_ngrams(-1) == LOWEST


def test_an_embedding_that_tells_nothing_apart_has_no_say():
    assert {CosineScale(.8, .79, .1, 99).as_ngrams(c) for c in (-1, 0, 1)} == {UNKNOWN}
    assert {CosineScale(.8, .8, .0, 99).as_ngrams(c) for c in (0, 1)} == {UNKNOWN}


def test_a_note_on_the_chance_does_not_repeat_what_the_words_say(tmp_path):
    """The answer may be there in other words; where one word of several is missing, both notes are given."""
    for embed in (None, Letters()):
        pipeline = Pipeline.from_index(index_documents(stalls(4), tmp_path / str(embed is None), embed=embed, show_progress=False)[0])
        answer = pipeline.ask("공룡 화석 발굴")
        assert answer.chance < 0.119 and "no document contains any word" in answer.note and "probably not" not in answer.note
        answer = pipeline.ask("시장 공룡 화석 발굴")
        assert answer.chance < 0.119 and "no document contains these words" in answer.note and "probably not" in answer.note


def test_a_noun_that_ends_otherwise_in_the_documents_is_not_called_unanswered(tmp_path):
    leaving = ("그만둘 직원은 퇴직 예정일 30일 전까지 사직원을 팀장에게 낸다. 사직 이유는 묻지 않는다. 남은 휴가는 퇴직금과 함께 돈으로 준다. "
               "노트북과 출입증은 마지막 날에 총무팀에 돌려준다.")
    goods = "사과 감자 양파 수박 마늘 포도 대파 호박 사진 사장".split()
    texts = [leaving, *(f"{n}번 줄의 {name} 담당은 며칠 동안 서 있다." for n, name in enumerate(goods))]
    documents = [Document(text=text, id_=f"{n}.md") for n, text in enumerate(texts)]
    pipeline = Pipeline.from_index(index_documents(documents, tmp_path / "index", show_progress=False)[0])
    for question, told in (("사직서", False), ("사직서 며칠전", False), ("사직서 담당 며칠전", True), ("사직서 양식", True)):
        answer = pipeline.ask(question)
        assert answer.chance < 0.119 and ("probably not" in answer.note) == told, question


def test_a_question_without_a_word_of_content_is_not_called_unanswered(tmp_path):
    pipeline = Pipeline.from_index(index_documents(stalls(4), tmp_path / "index", show_progress=False)[0])
    answer = pipeline.ask("그만두려면 어떡해")
    assert answer.chance < 0.119 and not answer.note


def test_light_words_are_no_sign(tmp_path):
    pipeline = Pipeline.from_index(index_documents(stalls(4), tmp_path / "index", show_progress=False)[0])
    known = {question: pipeline.find(question).signs.known for question in ("감자 가게", "요즘 감자 가게 뭐 하는데", "감자 가게 며칠 전", "공룡 감자 가게")}
    assert known["공룡 감자 가게"] < 1 and set(known.values()) == {1, known["공룡 감자 가게"]}
    assert pipeline.find("요즘").signs.known == 0      # alone, a light word is all that there is
