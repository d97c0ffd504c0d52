"""Indexes that ragnb has not made: opened as they are, read around, evaluated, and left as they were."""
from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any, NamedTuple

import chromadb
import pytest
from conftest import SAMPLE
from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import Document, TextNode
from llama_index.core.vector_stores import SimpleVectorStore
from llama_index.core.vector_stores.utils import node_to_metadata_dict
from llama_index.vector_stores.chroma import ChromaVectorStore
from llama_index.vector_stores.qdrant import QdrantVectorStore
from qdrant_client import QdrantClient

from ragnb import attach, evaluate, InputError, load_dataset, NgramEmbedding, Pipeline, trace
from ragnb.adapters.foreign import ForeignIndex
from ragnb.models.scripted import ScriptedLLM
from ragnb.opensearch.client import vector_field

QUESTION = "입사 1년차 직원의 연차는 며칠인가요?"
DIMS = 64


class Corpus(NamedTuple):
    documents: list[Document]
    nodes: list[TextNode]
    embedding: Any

    @property
    def texts(self) -> dict[str, str]:
        return {d.node_id: d.text for d in self.documents}


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    files = [SAMPLE / f"corpus/hr_labor/{name}.md" for name in ("leave", "pay_benefits", "travel")]
    documents = [Document(text=f.read_text(encoding="utf-8"), id_=f"hr_labor/{f.name}", metadata={"file_name": f.name}) for f in files]
    nodes = SentenceSplitter(chunk_size=96, chunk_overlap=16).get_nodes_from_documents(documents)
    return Corpus(documents, nodes, NgramEmbedding(dims=DIMS).fit([n.text for n in nodes]))


def vectors_over(store: Any, corpus: Corpus) -> VectorStoreIndex:
    """An index in a vector store, as LlamaIndex writes it."""
    into = StorageContext.from_defaults(vector_store=store)
    return VectorStoreIndex([n.model_copy(deep=True) for n in corpus.nodes], storage_context=into, embed_model=corpus.embedding)


def other_program(folder: Path, corpus: Corpus) -> None:
    """A Chroma collection as another framework writes it: overlapping texts, a source, pages from 0, no offsets."""
    collection = chromadb.PersistentClient(str(folder), chromadb.Settings(anonymized_telemetry=False)).create_collection("theirs")
    ids, texts, metadatas = [], [], []
    for d in corpus.documents:
        for n, at in enumerate(range(0, len(d.text), 150)):
            ids.append(hashlib.md5(f"{d.node_id}{n}".encode()).hexdigest())
            texts.append(d.text[at:at + 180])
            metadatas.append({"source": d.node_id, "start_index": at, "page": 0 if at < 600 else 1})
    collection.add(ids=ids, documents=texts, metadatas=metadatas, embeddings=[corpus.embedding.get_text_embedding(t) for t in texts])


def llama_index_rows(corpus: Corpus) -> list[dict[str, Any]]:
    """Rows of a search server as LlamaIndex writes them."""
    return [{"_id": n.node_id, "_source": {"content": n.text, "metadata": node_to_metadata_dict(n, remove_text=True)}} for n in corpus.nodes]


class Rows:
    """A client that answers a search for words by counting them, and a search for a document by its id."""

    def __init__(self, rows: list[dict[str, Any]], doc_field: str) -> None:
        self.rows, self.doc_field, self.requests = rows, doc_field, 0

    def _value(self, row: dict[str, Any]) -> Any:
        value: Any = row["_source"]
        for part in self.doc_field.split("."):
            value = value[part]
        return value

    def field_caps(self, index: str, fields: str) -> dict[str, Any]:
        return {"fields": {self.doc_field: {"keyword": {}}}}

    def search(self, index: str, body: dict[str, Any]) -> dict[str, Any]:
        self.requests += 1
        if "multi_match" in body["query"]:
            words = set(re.findall(r"\w+", body["query"]["multi_match"]["query"]))
            scored = [row | {"_score": sum(w[:2] in str(row["_source"]) for w in words)} for row in self.rows]
            found = sorted(scored, key=lambda r: -r["_score"])[:body["size"]]
        else:
            wanted = re.findall(r"'term': \{'[^']+': '([^']+)'", str(body["query"]))
            found = [row for row in self.rows if self._value(row) in wanted]
        return {"hits": {"total": {"value": len(found)}, "hits": found}, "_shards": {"failed": 0}}


MADE = ("in memory", "persisted", "chroma", "chroma folder", "qdrant", "retriever", "server", "nodes")


@pytest.fixture(scope="module", params=MADE)
def made(request, corpus, tmp_path_factory) -> tuple[Any, dict[str, Any]]:
    """What is passed to `attach`, and the settings it needs."""
    kind, embed, folder = request.param, {"embed_model": corpus.embedding}, tmp_path_factory.mktemp("made")
    if kind == "in memory":
        return vectors_over(SimpleVectorStore(), corpus), {}
    if kind == "persisted":
        vectors_over(SimpleVectorStore(), corpus).storage_context.persist(str(folder / "stored"))
        return f"llama_index:{folder / 'stored'}", embed
    if kind == "chroma":
        store = ChromaVectorStore(chroma_collection=chromadb.EphemeralClient().get_or_create_collection(f"c{id(request)}"))
        vectors_over(store, corpus)
        return store, embed
    if kind == "chroma folder":
        client = chromadb.PersistentClient(str(folder / "db"), chromadb.Settings(anonymized_telemetry=False))
        vectors_over(ChromaVectorStore(chroma_collection=client.create_collection("mine")), corpus)
        return f"chroma:{folder / 'db'}#mine", embed
    if kind == "qdrant":
        store = QdrantVectorStore("mine", client=QdrantClient(location=":memory:"))
        vectors_over(store, corpus)
        return store, embed
    if kind == "retriever":
        own = vectors_over(SimpleVectorStore(), corpus).as_retriever(similarity_top_k=5)
        return QueryFusionRetriever([own], llm=ScriptedLLM("."), num_queries=1, similarity_top_k=5), {"nodes": corpus.nodes}
    if kind == "server":
        return ForeignIndex(Rows(llama_index_rows(corpus), "metadata.doc_id"), "theirs"), {}
    return corpus.nodes, {}


@pytest.mark.parametrize("policy", ["none", "neighbors:1", "section", "document", "segments"])
def test_what_is_read_is_the_document(made, corpus, policy):
    given, settings = made
    pipeline = attach(given, policy=policy, budget=1_500, top_k=5, documents=corpus.documents, **settings)
    answer = pipeline.ask(QUESTION)
    assert isinstance(pipeline, Pipeline) and answer.passages and answer.context.size <= 1_500
    assert all(p.shown in corpus.texts[p.doc_id] for p in answer.passages)
    found = pipeline.find(QUESTION).hits
    best = found[0].node.get_content()[:40]
    assert any(best in p.text for p in answer.passages)
    assert "".join(trace(answer).table()).count("hit") >= 1


def test_neighbors_are_wider_than_hits_and_nothing_else_changes(made, corpus):
    given, settings = made
    narrow, wide = (attach(given, policy=p, budget=None, top_k=5, **settings) for p in ("none", "neighbors:1"))
    assert [h.node_id for h in narrow.find(QUESTION).hits] == [h.node_id for h in wide.find(QUESTION).hits]
    sizes = [sum(len(p.text) for p in p_.passages(QUESTION)) for p_ in (narrow, wide)]
    assert sizes[1] > 1.3 * sizes[0]


def test_the_same_questions_are_measured_over_an_attached_index(corpus):
    store = ChromaVectorStore(chroma_collection=chromadb.EphemeralClient().get_or_create_collection("measured"))
    vectors_over(store, corpus)
    asked = [q for q in load_dataset(SAMPLE).questions if all(e.doc_id in corpus.texts for e in q.evidence)]
    result = evaluate(attach(store, embed_model=corpus.embedding, documents=corpus.documents), asked, [1_000, 4_000])
    assert len(asked) > 20 and 0.4 < result.mean(budget=1_000) <= result.mean(budget=4_000)


def test_a_collection_of_another_program_is_put_in_order_and_left_as_it_was(corpus, tmp_path):
    other_program(tmp_path, corpus)
    place, fields = f"chroma:{tmp_path}", {"doc_id": "source"}
    pipeline = attach(place, embed_model=corpus.embedding, fields=fields, budget=2_000, policy="neighbors:2")
    answer = pipeline.ask(QUESTION)
    assert all(p.shown in corpus.texts[p.doc_id] for p in answer.passages)      # what two rows share is shown once
    assert max(len(p.text) for p in answer.passages) > 400 and {n for p in answer.passages for n in p.pages} <= {1, 2}
    words = attach(place, fields=fields)
    assert type(words.retriever).__name__ == "Bm25Retriever"
    assert attach(place, fields=fields, embed_model=corpus.embedding, retriever="hybrid").ask(QUESTION).passages
    rows = chromadb.PersistentClient(str(tmp_path), chromadb.Settings(anonymized_telemetry=False)).get_collection("theirs")
    assert rows.count() == sum(len(range(0, len(d.text), 150)) for d in corpus.documents)
    with pytest.warns(UserWarning, match="no two nodes are of one document.*page, source, start_index"):
        attach(place)


def test_pages_read_as_documents_are_one_document_again(corpus):
    pages = [Document(text=f"{n}쪽의 글이다. " * 20, metadata={"file_name": "a.pdf", "page_label": str(n)}) for n in (3, 1, 2)]
    nodes = SentenceSplitter(chunk_size=48, chunk_overlap=0).get_nodes_from_documents(pages)
    pipeline = attach(nodes, fields={"doc_id": "file_name"}, policy="document", budget=None, top_k=1)
    passage, = pipeline.passages("2쪽")
    numbers = re.findall(r"\d", passage.text)
    assert passage.doc_id == "a.pdf" and numbers == sorted(numbers) and passage.pages == (1, 2, 3)


@pytest.mark.parametrize("given, settings, told", [
    (3, {}, "got int 3"), ("nothing", {}, "an index of another program is chroma:FOLDER#COLLECTION"), ([], {}, "at least one node with text"),
    ("chroma:/nowhere", {}, "no chroma.sqlite3"), ("llama_index:/nowhere", {}, "no folder of a persisted"),
    ("opensearch://localhost:1", {}, "has no index name"), ("nodes", {"top_k": 0}, "top_k"),
    ("nodes", {"retriever": "vector"}, "pass embed_model"), ("nodes", {"retriever": "tree"}, "auto, vector, bm25 or hybrid"),
    ("nodes", {"policy": "nonsense"}, "unknown policy"), ("nodes", {"budget": 0}, "budget"), ("nodes", {"colour": 1}, "colour"),
    ("retriever", {}, "pass nodes")])
def test_bad_input(given, settings, told, corpus):
    if given == "retriever":
        given = vectors_over(SimpleVectorStore(), corpus).as_retriever()
    given = corpus.nodes if given == "nodes" else given
    with pytest.raises((InputError, TypeError), match=told):
        attach(given, **settings)


def test_an_embedding_of_another_length_is_refused_at_once(corpus, tmp_path):
    other_program(tmp_path, corpus)
    with pytest.raises(InputError, match="vectors of 64 numbers and this embedding gives 32"):
        attach(f"chroma:{tmp_path}#theirs", embed_model=NgramEmbedding(dims=32).fit(["연차"]), fields={"doc_id": "source"})


def test_a_store_is_asked_for_all_its_nodes(corpus):
    asked = []

    class Limited(QdrantVectorStore):
        def get_nodes(self, node_ids=None, filters=None, limit=None):
            asked.append(limit)
            return super().get_nodes(node_ids, filters, limit)
    store = Limited("many", client=QdrantClient(location=":memory:"))
    vectors_over(store, corpus)
    attach(store)
    assert asked == [10**8]


@pytest.mark.cluster
def test_an_index_of_another_program_on_a_real_server(corpus, opensearch_client):
    opensearch_client.indices.create(index="theirs", body={"settings": {"index": {"knn": True}}, "mappings": {"properties": {
        "document_id": {"type": "keyword"}, "chunk_index": {"type": "integer"}, "text": {"type": "text"},
        "vector": vector_field(DIMS) | {"data_type": "float"}}}})
    rows, numbers = [], dict.fromkeys(corpus.texts, 0)
    for n in SentenceSplitter(chunk_size=96, chunk_overlap=0).get_nodes_from_documents(corpus.documents):
        rows += [{"index": {"_index": "theirs"}}, {
            "document_id": n.ref_doc_id, "chunk_index": numbers[n.ref_doc_id], "text": n.text,
            "vector": corpus.embedding.get_text_embedding(n.text)}]
        numbers[n.ref_doc_id] += 1
    try:
        opensearch_client.bulk(body=rows, refresh=True)
        index = ForeignIndex(opensearch_client, "theirs", exclude=("vector",))
        for settings in ({}, {"embed_model": corpus.embedding}, {"embed_model": corpus.embedding, "retriever": "hybrid"}):
            answer = attach(index, vector="vector", policy="neighbors:2", budget=2_000, **settings).ask(QUESTION)
            assert answer.passages and max(len(p.text) for p in answer.passages) > 200
            for p in answer.passages:       # rows without offsets: a line break between two of them
                assert "".join(p.text.split()) in "".join(corpus.texts[p.doc_id].split())
    finally:
        opensearch_client.indices.delete(index="theirs")
