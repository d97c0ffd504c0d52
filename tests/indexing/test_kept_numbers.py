"""The Chroma of an index of units keeps a part of each vector and says everything once; nothing that is asked changes."""
from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import chromadb
import numpy as np
import pytest
from llama_index.core import Document, VectorStoreIndex
from llama_index.core.schema import MetadataMode
from llama_index.core.vector_stores import ExactMatchFilter, MetadataFilters

from ragnb import Index, Pipeline, index_documents
from ragnb.documents.span import InputError
from ragnb.indexing.commits import KEPT
from ragnb.models.embedding import NgramEmbedding
from ragnb.retrieval.hybrid import VectorRetriever
from ragnb.storage.chroma import ChromaStore

TOPICS = "연차 휴가 출장 여비 교육 보안 급여 퇴직 건강 검진 차량 주차 회의 문서 계약 구매 재고 배송 환불 상담".split()
QUESTIONS = ("출장 여비는 얼마인가?", "주차 차량 7번은?", "재고 배송 12번 규칙")


def documents(n: int = 6) -> list[Document]:
    """Documents of 30 sentences about two topics each."""
    texts = ["".join(f"{TOPICS[d * 3 % 20]} {TOPICS[(d * 7 + i) % 20]} 규칙 {i}번은 {i + d}일 안에 {TOPICS[i % 20]} 부서가 정한다. " for i in range(30)) for d in range(n)]
    return [Document(text=t, id_=f"rule{d}.md", metadata={"kind": "even" if d % 2 == 0 else "odd", "year": 2000 + d}) for d, t in enumerate(texts)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    place = tmp_path_factory.mktemp("kept") / "i"
    index_documents(documents(), place, show_progress=False)
    return place


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Index:
    """The same index over a store that keeps all numbers."""
    place = tmp_path_factory.mktemp("whole")
    return index_documents(documents(), place / "i", store=ChromaStore(place / "c"), show_progress=False)[0]


@pytest.fixture(scope="module")
def uncut(tmp_path_factory) -> Index:
    """The same index as it was made before anything was cut."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ragnb.indexing.commits.kept_numbers", lambda *_: None)
        return index_documents(documents(), tmp_path_factory.mktemp("uncut") / "i", show_progress=False)[0]


def held(folder: Path) -> np.ndarray:
    """The vectors that the Chroma of an index holds."""
    index = Index.open(folder)
    client = chromadb.PersistentClient(str(folder / index.manifest.chroma_folder), chromadb.Settings(anonymized_telemetry=False))
    return client.get_collection("children").get(include=["embeddings"])["embeddings"]


def rows(folder: Path) -> dict[str, int]:
    """Metadata rows of each key."""
    (file,) = folder.glob("chroma-*/chroma.sqlite3")
    with closing(sqlite3.connect(file)) as database:
        return dict(database.execute("SELECT key, count(*) FROM embedding_metadata GROUP BY key").fetchall())


def test_a_quarter_of_the_numbers_is_in_the_graph(folder, whole):
    n = len(whole.bm25.ids)
    assert held(folder).shape == (n, KEPT) and Index.open(folder).multiscale.unit_vectors.codes.shape == (n, 1024)
    graph = max(f.stat().st_size for f in folder.glob("chroma-*/*/data_level0.bin"))
    assert graph < max(n, 100) * (KEPT * 4 + 200) and len(whole.store._children.collection.peek(1)["embeddings"][0]) == 1024


def test_every_key_is_written_once(folder, whole):
    n, found = len(whole.bm25.ids), rows(folder)
    assert not found.keys() & {"doc_id", "ref_doc_id", "_node_type"} and found["document_id"] == found["_node_content"] == n
    assert sum(found.values()) - found["outline"] == n * 8, found    # text, node, id, level, index, prefix or title, kind, year
    node = next(iter(Index.open(folder).store.get_chunks(whole.bm25.ids[:1]).all().values()))
    assert set(node.excluded_llm_metadata_keys) <= set(node.metadata)


@pytest.mark.parametrize("retriever", ["multi-scale", "hybrid", "vector", "hybrid:zscore:2/1"])
@pytest.mark.parametrize("where", [None, {"kind": "odd"}, {"doc_id": ["rule2.md", "rule3.md"]}, "year>=2003"])
def test_answers_are_those_of_whole_vectors(folder, uncut, retriever, where):
    short = Pipeline.from_index(Index.open(folder), retriever=retriever, where=where)
    full = Pipeline.from_index(uncut, retriever=retriever, where=where)
    for question in QUESTIONS:
        mine, theirs = ([(h.node_id, round(h.score, 6)) for h in p.find(question).hits] for p in (short, full))
        assert mine == theirs and mine


def test_vectors_in_one_byte_rank_as_whole_ones(folder, whole):
    """The best by the store's own search are among the best by units."""
    exact = VectorRetriever(whole.store, whole.embed_model, 60)
    index = Index.open(folder)
    ours = Pipeline.from_index(index, retriever="vector", top_k=5)
    for question in QUESTIONS:
        scores = {h.node_id: h.score for h in exact.retrieve(question)}
        found = [scores[h.node_id] for h in ours.find(question).hits]
        by_hand = index.store.search(index.embed_model.get_query_embedding(question), 5)
        assert [h.node_id for h in by_hand] == [h.node_id for h in ours.find(question).hits]
        assert len(found) == 5 and sorted(scores.values())[-5] - min(found) < 0.01 and found == sorted(found, reverse=True)


@pytest.mark.parametrize("filters", [None, MetadataFilters(filters=[ExactMatchFilter(key="kind", value="odd")])])
def test_a_retriever_of_llama_index_goes_on_working(folder, whole, filters):
    index = Index.open(folder)
    stock = VectorStoreIndex.from_vector_store(index.store.vector_store(), embed_model=index.embed_model)
    hits = stock.as_retriever(similarity_top_k=4, filters=filters).retrieve(QUESTIONS[0])
    same = whole.store.get_chunks([h.node_id for h in hits]).all()
    for hit in hits:
        assert [hit.node.get_content(m) for m in MetadataMode] == [same[hit.node_id].get_content(m) for m in MetadataMode]
        assert hit.node.relationships == same[hit.node_id].relationships and (not filters or hit.node.metadata["kind"] == "odd")
    assert len(hits) == 4


def test_the_store_itself_cuts_questions_and_gives_no_part_back(folder):
    index = Index.open(folder)
    question = index.embed_model.get_query_embedding(QUESTIONS[0])
    index.store.searched = None      # what a `ChromaStore` over this folder does by itself
    assert [h.node_id for h in index.store.search(question, 3)] == [h.node_id for h in index.store.search(question[:KEPT], 3)]
    assert index.store.get_vectors(index.bm25.ids[:3]) == {}
    with pytest.raises(InputError, match=f"at least the {KEPT} numbers"):
        index.store.search(question[:KEPT - 1], 3)


def test_an_update_goes_on_with_what_the_collection_keeps(tmp_path):
    index_documents(documents(3), tmp_path / "i", show_progress=False)
    changed = documents(4)
    changed[0] = Document(text="새 규칙: 우주 여행 경비는 전액 지급한다. " + changed[0].text, id_=changed[0].id_, metadata=changed[0].metadata)
    _, report = index_documents(changed, tmp_path / "i", show_progress=False)
    again = Index.open(tmp_path / "i")
    assert (report.added, report.changed, report.vectors_kept) == (1, 1, 0) and held(tmp_path / "i").shape == (len(again.bm25.ids), KEPT)
    for retriever in ("hybrid", "vector"):
        text = again.store.get_chunks(["rule0.md#u0"]).all()["rule0.md#u0"].text
        assert "우주" in text and Pipeline.from_index(again, retriever=retriever).find(text).hits[0].text == text
    index_documents(documents(12), tmp_path / "i", show_progress=False)     # outgrown: embedded anew
    assert held(tmp_path / "i").shape == (len(Index.open(tmp_path / "i").bm25.ids), KEPT)


@pytest.mark.parametrize("options", [{"parser": "parent-child"}, {"embed": NgramEmbedding(dims=128)}])
def test_nothing_is_cut_where_chroma_alone_has_the_vectors(tmp_path, options):
    index, _ = index_documents(documents(2), tmp_path / "i", show_progress=False, **options)
    assert held(tmp_path / "i").shape[1] == index.manifest.embedding["dims"]
    assert Pipeline.from_index(index, retriever="vector").find(QUESTIONS[0]).hits


def test_an_index_with_all_numbers_stays_as_it_is(tmp_path, monkeypatch):
    """One that was made before anything was cut: opened, asked and updated."""
    monkeypatch.setattr("ragnb.indexing.commits.kept_numbers", lambda *_: None)
    index_documents(documents(2), tmp_path / "i", show_progress=False)
    monkeypatch.undo()
    _, report = index_documents(documents(3), tmp_path / "i", show_progress=False)
    assert report.added == 1 and held(tmp_path / "i").shape[1] == 1024
    assert Pipeline.from_index(Index.open(tmp_path / "i"), retriever="hybrid").find(QUESTIONS[0]).hits
    assert "ragnb:kept" not in json.dumps(Index.open(tmp_path / "i").store._children.collection.metadata)
