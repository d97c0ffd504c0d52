"""Hits of an index that ragnb has not made: any splitter's nodes, looked around in, character by character as the document."""
from __future__ import annotations

import random

import pytest
from hypothesis import given, strategies as st
from llama_index.core.node_parser import MarkdownNodeParser, SentenceSplitter, SentenceWindowNodeParser, TokenTextSplitter
from llama_index.core.schema import Document, NodeWithScore, TextNode

from conftest import SAMPLE
from ragnb.expansion.expander import Expander, ExpandPostprocessor
from ragnb.expansion.own_nodes import NodeStore
from ragnb.expansion.policy import neighbors
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


@pytest.mark.parametrize("policy", ["neighbors", "section", "document", "siblings"])
def test_policies_never_lose_a_hit(policy, documents):
    nodes = SPLITTERS["sentence"].get_nodes_from_documents(documents)
    hits = [NodeWithScore(node=n, score=1 - i / 9) for i, n in enumerate(nodes[3:40:9])]
    found = ExpandPostprocessor(store=NodeStore(nodes, documents), policy=policy).postprocess_nodes(hits, query_str="연차")
    assert all(any(h.node.text in p.node.text for p in found) for h in hits)
    assert sum(len(p.node.text) for p in found) >= sum(len(h.node.text) for h in hits) * (policy != "siblings")


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
