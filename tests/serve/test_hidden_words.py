"""Two indexes that differ in hidden documents only are one to a reader behind a filter: by status, number of passages and note."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from llama_index.core import Document

from ragnb import Agent, HierarchicalRetriever, Index, NgramEmbedding, Pipeline, VectorRetriever, index_documents
from ragnb.retrieval.multiscale import MultiScaleRetriever
from ragnb.agent.library import Library
from ragnb.retrieval.hierarchical import build_tree
from ragnb.serve.access import narrowed

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
