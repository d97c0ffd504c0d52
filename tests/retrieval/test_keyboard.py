"""A question typed with the keyboard in English is read in Hangul, if the documents have its words."""
import unicodedata

from hypothesis import given, strategies as st
from llama_index.core.schema import Document
import pytest

from ragnb.agent.flow import Agent
from ragnb.agent.library import Library
from ragnb.agent.tools import ReadingTools
from ragnb.indexing.update import index_documents
from ragnb.pipeline import pipeline as pipelines
from ragnb.pipeline.pipeline import Pipeline
from ragnb.retrieval.missing_words import in_hangul, words_as_written

KEYS = (dict(zip("ㄱㄲㄴㄷㄸㄹㅁㅂㅃㅅㅆㅇㅈㅉㅊㅋㅌㅍㅎ", "r R s e E f a q Q t T d w W c z x v g".split()))
        | dict(zip("ㅏㅐㅑㅒㅓㅔㅕㅖㅗㅘㅙㅚㅛㅜㅝㅞㅟㅠㅡㅢㅣ", "k o i O j p u P h hk ho hl y n nj np nl b m ml l".split()))
        | dict(zip("ㄳㄵㄶㄺㄻㄼㄽㄾㄿㅀㅄ", "rt sw sg fr fa fq ft fx fv fg qt".split())))
NAMES = {unicodedata.name(letter).split()[-1]: keys for letter, keys in KEYS.items()}


def typed(word: str) -> str:
    """The keys of a word, by the names of its letters in Unicode."""
    return "".join(NAMES[unicodedata.name(letter).split()[-1]] for letter in unicodedata.normalize("NFD", word))


@given(st.text(st.characters(min_codepoint=0xAC00, max_codepoint=0xD7A3), min_size=2, max_size=12))
def test_every_word_of_syllables_comes_back(word):
    assert in_hangul(typed(word), words_as_written([word])) == word


@pytest.mark.parametrize("word", ["휴가", "연차", "육아휴직", "출장비", "비밀번호", "괜찮다", "값을", "닭갈비", "의료비", "꽃집", "쌀밥", "왕복", "없는", "읽기"])
def test_words_as_people_type_them(word):
    assert in_hangul(f"{typed(word)}?", words_as_written([word])) == f"{word}?"
    assert in_hangul(f"{typed(word)}?", words_as_written(["다른 낱말"])) == f"{typed(word)}?", "no document has it"
    assert in_hangul(typed(word), words_as_written([word, typed(word).lower()])) == typed(word), "a document has it as typed"


@pytest.mark.parametrize("text", ["gate", "HB-310", "rosy", "and", "user_gbrk", "gbrk-2", "gb", "r" * 10_000, "gk" * 5_000])
def test_other_words_stay(text):
    assert in_hangul(text, words_as_written(["휴가 하하하"])) == text


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    texts = {"leave.md": "휴가 신청은 사흘 전까지 팀장에게 한다.", "trip.md": "출장비는 하루 3만 원이다.", "en.md": "A lost badge costs 12 euros."}
    documents = [Document(text=text, id_=name) for name, text in texts.items()]
    return index_documents(documents, tmp_path_factory.mktemp("keys") / "index", show_progress=False)[0]


def test_the_pipeline_searches_the_korean_question_and_says_so(index):
    answer, plain = (Pipeline.from_index(index).ask(question) for question in (typed("휴가") + " 언제", "휴가 언제"))
    assert answer.text == plain.text and answer.question == "휴가 언제"
    assert [note.text for note in answer.context.notes if note.kind == "keys"] == ["read as typed on a Korean keyboard: 휴가 언제"]
    assert not any(note.kind in ("missing", "keys") for note in plain.context.notes)


def test_the_agent_and_the_tools_read_it_too(index):
    library = Library.open(index.folder, budget=500)
    state = Agent(library, None, {"grade": None}, ask_user=False).ask(typed("휴가") + " 언제")
    assert state.question == state.query == "휴가 언제" and "no document" not in state.note
    assert [event.detail for event in state.events if event.kind == "keys"] == ["read as typed on a Korean keyboard: 휴가 언제"]
    assert ReadingTools(library).search(typed("휴가")).startswith("Searched: 휴가\n") and not ReadingTools(library).search("lost badge").startswith("Searched")


def test_hidden_documents_are_not_asked(index):
    answer = Pipeline.from_index(index, where={"doc_id": "trip.md"}).ask(typed("휴가"))
    assert answer.question == typed("휴가") and "휴가" not in answer.note


def test_other_questions_only_pass_a_pattern(index, monkeypatch):
    monkeypatch.setattr(pipelines, "in_hangul", None)
    assert [Pipeline.from_index(index).ask(question).question for question in ("휴가 언제", "lost badge")] == ["휴가 언제", "lost badge"]
    with pytest.raises(TypeError):
        Pipeline.from_index(index).ask(typed("휴가"))
