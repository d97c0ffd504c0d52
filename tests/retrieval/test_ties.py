"""Equal scores are in the order of addresses, in whatever order the documents came into the index."""
from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from llama_index.core.schema import Document

from ragnb.agent.library import Library
from ragnb.documents.span import id_key
from ragnb.indexing.folder_index import Index
from ragnb.indexing.update import index_documents
from ragnb.pipeline.pipeline import Pipeline

SAME = "# 휴가\n\n연차는 15일이다. 신청은 팀장에게 한다.\n"
QUESTION = "연차는 며칠인가요? 신청"
SPECS = (("multi-scale", None), ("multi-scale", "doc_type"), ("bm25", None), ("vector", None), ("hybrid", None), ("hybrid:zscore:2/1", None),
         ("hybrid:weighted", None), ("hierarchical", None))


def corpus() -> list[Document]:
    """Documents of one text under many ids, among others."""
    words = random.Random(1)

    def other() -> str:
        three, two = (" ".join("".join(words.choices("가나다라마바사아자차카타파하", k=k)) for _ in range(n)) for k, n in ((3, 6), (2, 9)))
        return f"{three} 연차를 쓴다. {two}."
    same = [Document(text=SAME, id_=f"s/{n}.md", metadata={"title": "휴가"}) for n in range(37)]
    return same + [Document(text=f"# 글 {n}\n\n{other()}\n", id_=f"o/{n}.md", metadata={"title": "글"}) for n in range(90)]


def copies(documents: Sequence[Document]) -> list[Document]:
    return [Document(text=d.text, id_=d.id_, metadata=dict(d.metadata)) for d in documents]


@pytest.fixture(scope="module")
def indexes(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The same documents in two orders: at once, and in two batches."""
    documents, out = corpus(), []
    for n, first in enumerate((documents, documents[20:])):
        folder = tmp_path_factory.mktemp("ties") / str(n)
        index_documents(copies(first), folder, embed="ngram", show_progress=False)
        index_documents(copies(documents), folder, embed="ngram", show_progress=False)
        out.append(folder)
    return out


@pytest.mark.heavy
def test_every_way_to_find_breaks_ties_by_address(indexes: list[Path]) -> None:
    wrong = []
    for spec, policy in SPECS:
        seen = []
        for folder in indexes:
            pipeline = Pipeline.from_index(Index.open(folder), retriever=spec, policy=policy, budget=600)
            hits = [h for h in pipeline.find(QUESTION).hits if not h.node_id.startswith("o/")]
            seen.append([h.node_id for h in hits] + [p.id for p in pipeline.ask(QUESTION).passages])
            by_unit: dict[str, list[str]] = {}
            for h in hits:
                by_unit.setdefault(h.node_id.partition("#")[2], []).append(h.node_id)
            if any(ids != sorted(ids, key=id_key) for ids in by_unit.values()) or len(hits) < 10:
                wrong.append((spec, policy, folder.name, by_unit))
        if seen[0] != seen[1]:
            wrong.append((spec, policy, seen))
    assert wrong == []


def test_ties_across_collections_are_broken_by_address(indexes: list[Path], tmp_path: Path) -> None:
    """Two collections that hold the same are found in the order of their names, however they are given."""
    pipelines = {name: Pipeline.from_index(Index.open(folder), policy="doc_type", top_k=20) for name, folder in zip(("b_db", "a_db"), indexes)}
    orders = [pipelines, dict(reversed(pipelines.items()))]
    found = [asyncio.run(Library(given).search([QUESTION], 20)).hits for given in orders]
    assert [h.node_id for h in found[0]] == [h.node_id for h in found[1]]
    by_score: dict[float, list[str]] = {}
    for h in found[0]:
        by_score.setdefault(round(h.score, 9), []).append(h.node_id)
    assert all(ids == sorted(ids, key=id_key) for ids in by_score.values())
