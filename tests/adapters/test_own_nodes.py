"""Hits of an index that ragnb has not made: any splitter's nodes, looked around in, character by character as the document."""
from __future__ import annotations

import random

import chromadb
import pytest
from conftest import SAMPLE
from hypothesis import given, strategies as st
from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.node_parser import (
    MarkdownNodeParser, SentenceSplitter, SentenceWindowNodeParser, TokenTextSplitter)
from llama_index.core.schema import Document, MetadataMode, NodeWithScore, TextNode
from llama_index.core.vector_stores import SimpleVectorStore
from llama_index.vector_stores.chroma import ChromaVectorStore

from ragnb import expand_dicts, Expander, ExpandPostprocessor, InputError, neighbors, NgramEmbedding, read_documents
from ragnb.documents.files import record_to_document
from ragnb.adapters.own_nodes import NodeStore
from ragnb.adapters.raw_hits import raw_hit
from ragnb.storage.filtered import filtered_store

SPLITTERS = {"sentence": SentenceSplitter(chunk_size=96, chunk_overlap=0), "overlap": SentenceSplitter(chunk_size=96, chunk_overlap=32),
             "token": TokenTextSplitter(chunk_size=64, chunk_overlap=8), "markdown": MarkdownNodeParser(),
             "window": SentenceWindowNodeParser()}


@pytest.fixture(scope="module")
def documents() -> list[Document]:
    files = sorted((SAMPLE / "corpus/hr_labor").glob("*.md"))[:4]
    return [Document(text=f.read_text(encoding="utf-8"), id_=f.name, metadata={"file_name": f.name, "n": i}) for i, f in enumerate(files)]


@pytest.mark.parametrize("with_documents", [True, False])
@pytest.mark.parametrize("name", SPLITTERS)
def test_every_hit_is_held_and_its_surroundings_are_those_of_the_document(name, with_documents, documents):
    nodes = SPLITTERS[name].get_nodes_from_documents(documents)
    texts, rng = {d.node_id: d.text for d in documents}, random.Random(name)
    store = NodeStore(nodes, documents if with_documents else ())
    for _ in range(10):
        chosen = rng.sample([n for n in nodes if n.get_content().strip()], 5)
        out = Expander(store, neighbors(2)).expand([NodeWithScore(node=n, score=1.0) for n in chosen])
        assert out.stats.known == 5 and out.stats.reads <= 2 and not out.stats.mismatched
        shown = {store.address_of(n): n for n in chosen}
        for p in out.passages:
            assert p.doc_id in texts and p.hits
            for hit in set(p.hits) & set(shown):
                assert shown.pop(hit).text in p.text
            outline = out.outlines[p.doc_id]
            if with_documents and outline.n_characters == len(texts[p.doc_id]):
                assert p.text == p.span.of(texts[p.doc_id])
            else:                                   # nothing that the document does not hold, white space apart
                rest = "".join(p.text.split())
                assert rest in "".join(texts[p.doc_id].split()) or name in ("overlap", "token", "markdown")
        assert not shown


def test_hits_of_another_process_are_known_by_document_and_offsets(documents):
    """The ids of a rebuilt index are other ones; offsets stay."""
    store = NodeStore(SPLITTERS["sentence"].get_nodes_from_documents(documents))
    again = SPLITTERS["sentence"].get_nodes_from_documents(documents)[5]
    assert store.address_of(again) and Expander(store, neighbors(1)).expand([NodeWithScore(node=again)]).stats.known == 1


def test_a_filter_and_strangers(documents):
    nodes = SPLITTERS["sentence"].get_nodes_from_documents(documents)
    store = filtered_store(NodeStore(nodes, documents), {"n": 0})
    hits = [NodeWithScore(node=n, score=1.0) for n in (nodes[0], nodes[-1], TextNode(text="stranger", metadata={"n": 0}))]
    out = Expander(store, neighbors(1)).expand(hits)
    assert out.stats.outside == 1 and out.stats.known == 1
    assert {p.doc_id for p in out.passages} == {nodes[0].ref_doc_id, hits[2].node.node_id}


@given(st.lists(st.tuples(st.text("가나 .\n", max_size=12), st.integers(-2, 30), st.integers(-2, 30)), min_size=1, max_size=8))
def test_nodes_with_any_offsets_are_held_once_and_whole(rows):
    nodes = [TextNode(text=t, start_char_idx=a if a >= 0 else None, end_char_idx=b if b >= 0 else None) for t, a, b in rows]
    for n in nodes:
        n.relationships = {}
    kept = [n for n in nodes if n.text.strip()]
    if not kept:
        return
    store = NodeStore(nodes)
    out = Expander(store, neighbors(3)).expand([NodeWithScore(node=n) for n in kept])
    assert out.stats.known == len(kept) and sorted(p.text for p in out.passages) == sorted(n.text for n in kept)


@pytest.fixture(scope="module")
def paged() -> list[Document]:
    """Documents as the public reader gives them, most with pages."""
    documents = list(read_documents(SAMPLE / "corpus/maintenance", []))
    assert sum("page_starts" in d.metadata for d in documents) > 5
    return documents


def in_chroma(nodes: list[TextNode], documents: list[Document], name: str) -> tuple[ChromaVectorStore, VectorStoreIndex]:
    """A real Chroma, filled by LlamaIndex."""
    collection = chromadb.EphemeralClient().create_collection(f"own-nodes-{name}")
    store = ChromaVectorStore(chroma_collection=collection)
    embed = NgramEmbedding().fit([d.text for d in documents])
    VectorStoreIndex(nodes, storage_context=StorageContext.from_defaults(vector_store=store), embed_model=embed)
    return store, VectorStoreIndex.from_vector_store(store, embed_model=embed)


@pytest.mark.heavy
@pytest.mark.parametrize("name", SPLITTERS)
def test_hits_of_a_real_chroma_are_widened_by_the_vector_store_itself(name, paged):
    nodes = SPLITTERS[name].get_nodes_from_documents(paged)
    for node in nodes:
        node.metadata.pop("page_starts", None)
    chroma, index = in_chroma(nodes, paged, name)
    hits = index.as_retriever(similarity_top_k=5).retrieve("배기 시간 초과 E-117의 조치")
    found = ExpandPostprocessor(store=NodeStore(chroma, paged), policy="neighbors:1").postprocess_nodes(hits, query_str="E-117")
    assert all(any(h.node.text in p.node.text for p in found) for h in hits)
    assert sum(len(p.node.text) for p in found) > sum(len(h.node.text) for h in hits)
    if name in ("sentence", "overlap"):
        texts = {d.node_id: d.text for d in paged}
        assert all(p.node.text == texts[p.node.ref_doc_id][p.node.start_char_idx:p.node.end_char_idx] for p in found)
        with_pages = {d.node_id for d in paged if "page_starts" in d.metadata}
        assert [p.node.metadata["pages"] for p in found if p.node.ref_doc_id in with_pages and not p.node.metadata["pages"]] == []
        assert with_pages & {p.node.ref_doc_id for p in found}


@pytest.mark.parametrize("name", SPLITTERS)
def test_nodes_in_any_order_are_laid_as_their_document_has_them(name, paged, documents):
    """`get_nodes` gives any order; nodes whose text is not the document's any more are known by their links."""
    source = [*documents, *paged[:5]]
    nodes = [n for n in SPLITTERS[name].get_nodes_from_documents(source) if n.get_content().strip()]
    for rewritten, given in ((False, source), (False, ()), (True, source), (True, ())):
        for n in nodes if rewritten else ():
            n.text = " ".join(n.text.split()).upper() + "."
        shuffled = random.Random(name).sample(nodes, len(nodes))
        stores = [NodeStore(some, given) for some in (nodes, shuffled)]
        first, second = (dict(store.texts("c")) for store in stores)
        assert first == second and len(first) == len(nodes), (rewritten, len(given))
        assert all(stores[0].address_of(n) == stores[1].address_of(n) for n in nodes), (rewritten, len(given))


def test_a_vector_store_that_keeps_no_texts_says_so():
    with pytest.raises(InputError, match="docstore"):
        NodeStore(SimpleVectorStore())


def test_pages_are_no_text_for_the_splitters_and_embeddings_of_others(paged):
    """A list of a hundred page offsets is longer than a small chunk: stock splitters count what they embed."""
    record = {"pages": [f"{n}쪽의 글이다. 이 쪽은 짧다." for n in range(300)]}
    long = record_to_document(record, "long", "long.pdf")
    nodes = SPLITTERS["sentence"].get_nodes_from_documents([long, *paged])
    assert not any("page_starts" in n.get_content(mode) for n in nodes for mode in (MetadataMode.EMBED, MetadataMode.LLM))


def test_dicts_are_known_by_node_and_by_number_and_another_text_replaces_none():
    """A hit of the same number with another text keeps its text, as over any store."""
    nodes = [TextNode(id_=f"n{i}", text=f"{i}번째 조각이다.", metadata={"doc_id": "a", "chunk_index": i}) for i in range(1, 6)]
    expander = Expander(NodeStore(nodes), neighbors(1))
    by_id, by_number = ({"_id": "n3", "text": nodes[2].text}, {"doc_id": "a", "chunk_index": "3", "text": nodes[2].text})
    for hit in (by_id, by_number):
        out = expand_dicts(expander, [hit])
        assert [raw_hit(c).text for c in out] == [n.text for n in nodes[1:4]] and [c["is_neighbor"] for c in out] == [True, False, True]
    other = by_number | {"text": "다른 판의 셋째 조각이다."}
    with pytest.warns(UserWarning, match="0 of 1 hits are known"):
        assert expand_dicts(expander, [other]) == [other | {"is_neighbor": False}]
    stranger = TextNode(id_="x", text=other["text"], metadata={"doc_id": "a", "chunk_index": 3})
    assert Expander(NodeStore(nodes), neighbors(1)).expand([NodeWithScore(node=stranger)]).passages[0].text == other["text"]
