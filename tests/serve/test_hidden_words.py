"""Two indexes that differ in hidden documents only are one to a reader behind a filter: by status, number of passages and note."""
from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from llama_index.core import Document

from ragnb import Agent, HierarchicalRetriever, Index, index_documents, NgramEmbedding, Pipeline, VectorRetriever
from ragnb.agent.library import Library, library_pipeline
from ragnb.retrieval.hierarchical import build_tree
from ragnb.retrieval.multiscale import MultiScaleRetriever
from ragnb.retrieval.sqlite_units import SqliteUnits
from ragnb.serve.access import Access, narrowed, Visitor
from ragnb.serve.service import Service
from ragnb.storage.filters import resolve_where

OPEN = {"open/leave.md": "# 휴가 안내\n\n연차는 15일입니다. 병가는 30일입니다.", "open/trip.md": "# 출장 안내\n\n일비는 3만 원입니다. Taxi is paid.",
        "open/food.md": "# 식당 안내\n\n점심은 12시입니다. 저녁은 18시입니다."}
HIDDEN = ({"board/plan.md": "# 비밀 계획\n\n인수합병은 오월에 끝난다. Project Zyphrox is sold. 구조조정은 없다.", "board/pay.md": "# 급여표\n\n상여금은 7백만 원이다."},
          {"board/plan.md": "# 다른 문서\n\n운동장은 유월에 고친다. Project gardens are cut. 주차장은 넓다.", "board/pay.md": "# 물품표\n\n복사지는 7백여 장이다."})
QUESTIONS = ["인수합병", "Zyphrox", "zyphrox?", "구조조정", "상여금", "비밀 계획", "인수합병은 언제 끝나나요?", "When is Zyphrox sold?",
             "인수합병과 연차는 며칠인가요?", "상여금과 병가", "연차는 며칠인가요?"]


def documents(hidden: dict[str, str]) -> list[Document]:
    return [Document(id_=i, text=text, metadata={"file_name": i, "title": text.split("\n")[0].strip("# ")}) for i, text in (OPEN | hidden).items()]


@pytest.fixture(scope="module", params=["units", "parent-child"])
def folders(request, tmp_path_factory) -> list[Path]:
    """The index with the words that are asked for, and the one without."""
    made = [tmp_path_factory.mktemp("hidden") / f"{request.param}-{n}" for n in range(2)]
    for folder, hidden in zip(made, HIDDEN):
        index_documents(documents(hidden), folder, parser=request.param, show_progress=False)
    return made


def differences(told: list[Any]) -> dict[str, tuple]:
    """The questions whose answers differ."""
    return {question: pair for question, pair in zip(QUESTIONS, zip(*told)) if pair[0] != pair[1]}


@pytest.mark.parametrize("retriever", ["auto", "bm25", "hybrid", "vector"])
def test_passages_and_notes_do_not_depend_on_hidden_words(folders, retriever):
    def told(folder: Path) -> list[tuple[int, str]]:
        index = Index.open(folder)
        chosen = VectorRetriever(index.store, index.embed_model) if retriever == "vector" else retriever
        pipeline = Pipeline.from_index(index, retriever=chosen, where="folder=open")
        return [(len(answer.passages), answer.note) for answer in map(pipeline.ask, QUESTIONS)]

    first, second = map(told, folders)
    assert not differences([first, second])
    assert first[0][0] == 0 and first[-1][0] > 0                   # nothing for a hidden word, something for an open one


def test_the_status_of_the_agent_does_not_either(folders):
    def told(folder: Path) -> list[tuple[str, bool, str]]:   # scores, and so how many weak hits follow, rest on all documents
        agent = Agent(narrowed(Library.open(folder), "folder=open"))
        return [(s.status, bool(s.hits), s.note) for s in map(agent.ask, QUESTIONS)]

    assert not differences(list(map(told, folders)))


@pytest.mark.parametrize("cut", [None, 0.3])
def test_nor_do_retrievers_by_themselves(folders, cut):
    def told(folder: Path) -> list[int]:
        index = Index.open(folder)
        made = [VectorRetriever(index.store, index.embed_model, where={"folder": "open"}).filtered(None)] if not index.has_units else [
            MultiScaleRetriever(index.multiscale, index.store, index.embed_model, where={"doc_id": [*OPEN]}, cut=cut)]
        return [len(made[0].retrieve(question)) for question in QUESTIONS]

    assert not differences(list(map(told, folders)))


def test_nor_does_a_tree():
    def told(hidden: dict[str, str]) -> list[int]:
        given = documents(hidden)
        model = NgramEmbedding(dims=64).fit([d.text for d in given])
        retriever = HierarchicalRetriever(build_tree(given, model), model, where={"file_name": [*OPEN]})
        return [len(retriever.retrieve(question)) for question in QUESTIONS]

    assert not differences(list(map(told, HIDDEN)))


LAW = "배달기법\n\n제1조(목적) 이 법은 배달기의 운행을 정한다.\n\n제2조(용광로) 용광로 furnace 옆으로는 날지 아니한다.\n"
TEXTS = {"faq/leave.md": "# 휴가 안내\n\n연차는 15일입니다. 병가는 30일입니다.", "faq/trip.md": "# 출장 안내\n\n일비는 3만 원입니다. Taxi is paid.",
         "law/drone.txt": LAW, "law/bus.md": "# 통근버스\n\n통근버스는 낙하산을 싣는다. The zebra crossing."}
ASKED = [("{}의 연차는 며칠인가요?", "낙하산", "휴대폰"), ("Where is the {}?", "furnace", "sextant"), ("Where is the {} leave?", "zebra", "sloth"),
         ("{} 제2조는 무엇인가요?", "배달기법", "잠수함법"), ("{} 제88조는 무엇인가요?", "배달기법", "잠수함법"), ("통근 {} 시간과 병가", "버스", "헬기")]


@pytest.fixture(scope="module", params=["units", "parent-child"])
def folder(request, tmp_path_factory):
    """An index of open and of hidden documents."""
    folder = tmp_path_factory.mktemp("filtered") / request.param
    documents = [Document(id_=i, text=text, metadata={"file_name": i, "title": text.split("\n")[0].strip("# ")}) for i, text in TEXTS.items()]
    index_documents(documents, folder, parser=request.param, show_progress=False)
    return folder


def same(hidden: str, absent: str, note_of_hidden: str, note_of_absent: str) -> bool:
    """Two notes that differ in the word that was asked for only; how a word is cut depends on the word, not on documents."""
    def plain(note: str, word: str) -> str:
        return note.split("; spelled like")[0].replace(word, "WORD").replace(word.removesuffix("법"), "WORD")
    return plain(note_of_hidden, hidden) == plain(note_of_absent, absent)


@pytest.mark.parametrize(("question", "hidden", "absent"), ASKED)
@pytest.mark.parametrize("retriever", ["auto", "bm25", "hybrid"])
def test_a_hidden_word_is_told_of_like_one_that_is_nowhere(folder, retriever, question, hidden, absent):
    index = Index.open(folder)
    pipeline = Pipeline.from_index(index, retriever=retriever, where="folder=faq")
    notes = [pipeline.ask(question.format(word)).note for word in (hidden, absent)]
    assert same(hidden, absent, *notes), notes
    assert hidden not in notes[1] and not any(w in note for note in notes for w in ("zebra", "furnace", "낙하산") if w not in question.format(hidden))
    whole = Pipeline.from_index(index, retriever=retriever)          # who may read all is told the truth
    assert whole.ask(question.format(hidden)).note != whole.ask(question.format(absent)).note.replace(absent, hidden) or "버스" in hidden


@pytest.mark.parametrize(("question", "hidden", "absent"), ASKED)
def test_nor_does_the_service_tell(folder, question, hidden, absent):
    library = Library.open(folder)
    service = Service(library, access=Access({"x": Visitor("lee", resolve_where("folder=faq"))}), ask_user=False)
    lee = service.access.visitors[0]

    async def asked(word: str) -> str:
        events = [e async for e in service.events(service.ask(lee, question.format(word)))]
        return events[-1]["turn"]["note"]
    notes = [asyncio.run(asked(word)) for word in (hidden, absent)]
    assert same(hidden, absent, *notes), notes
    assert narrowed(library, "folder=faq").rows != library.rows


@pytest.mark.heavy
@pytest.mark.parametrize(("question", "hidden", "absent"), [a for a in ASKED if "제" not in a[0]])
def test_nor_do_collections(folder, tmp_path_factory, question, hidden, absent):
    """Of several indexes, each with a filter, through a pipeline and through the agent."""
    other = tmp_path_factory.mktemp("other")
    index_documents([Document(id_="faq/food.md", text="# 식당 안내\n\n점심은 12시입니다.")], other, show_progress=False)
    library = Library({"a": Pipeline.from_index(Index.open(folder)), "b": Pipeline.from_index(Index.open(other))})
    for ask in (lambda l, q: library_pipeline(l).ask(q).note, lambda l, q: Agent(l).ask(q).note):
        notes = [ask(narrowed(library, "folder=faq"), question.format(word)) for word in (hidden, absent)]
        assert same(hidden, absent, *notes) and "may be read" in notes[1], notes
        open_notes = [ask(library, question.format(word)) for word in (hidden, absent)]
        assert "no document contains" in open_notes[1] and open_notes[0] != open_notes[1].replace(absent, hidden) or "버스" in hidden


@pytest.mark.parametrize("retriever", ["auto", "bm25"])
def test_what_may_be_read_is_counted_once(folder, retriever, monkeypatch):
    made, listed = [], SqliteUnits.vocabulary
    monkeypatch.setattr(SqliteUnits, "vocabulary", lambda self, allowed: made.append(1) or listed(self, allowed))
    pipeline = Pipeline.from_index(Index.open(folder), retriever=retriever, where="folder=faq")
    for word in ("낙하산", "휴대폰", "연차"):
        pipeline.ask(f"{word}의 연차는 며칠인가요?")
    assert len(made) == 1
