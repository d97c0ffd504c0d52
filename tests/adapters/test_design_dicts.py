"""The chunk expanders of the design documents, and builders of dicts."""
from __future__ import annotations

import pytest
from every_chunk import Every, filled, TEXT
from hypothesis import given, strategies as st
from llama_index.core.schema import Document
from strategies import examples

from ragnb import AdaptiveChunkExpander, expand_dicts, Expander, MemoryStore, NeighborChunkExpander, NoopChunkExpander
from ragnb.adapters.chunk_expanders import ChunkExpander
from ragnb.context.builders import resolve_builder
from ragnb.documents.kinds import Catalogue
from ragnb.expansion.policy import resolve_policy
from ragnb.machinery.registry import parts_of

BUILDERS = [part.name for part in parts_of("builder")]


def results(store: MemoryStore, *indices: int) -> list[dict]:
    nodes = store.get_chunks([f"7#c{i}" for i in indices]).found
    return [{"_id": f"c{i}", "_source": {"document_id": 7, "chunk_index": i, "text": nodes[f"7#c{i}"].text}, "_score": 1.0} for i in indices]


@examples(30)
@given(st.lists(st.integers(0, 17), min_size=1, max_size=6, unique=True), st.integers(0, 3), st.integers(1, 12))
def test_chunk_expanders_keep_what_was_found(indices, window, most):
    store, _ = filled(Every(), "7")
    indices = [i for i in indices if f"7#c{i}" in store._chunks] or [0]
    found = results(store, *indices)
    for expander in (NoopChunkExpander(), NeighborChunkExpander(store, window=window, max_results=most), AdaptiveChunkExpander(store, max_results=most)):
        assert isinstance(expander, ChunkExpander)
        out = expander.expand(found)
        kept = [r for r in out if not r["is_neighbor"]]
        assert sorted(r["_id"] for r in kept) == sorted(r["_id"] for r in found)
        assert len(out) <= max(most, len(found))
        assert "is_neighbor" not in found[0] and expander.expand([]) == []
    if window and most == 12:
        wanted = {j for i in indices for j in range(max(0, i - window), i + window + 1) if f"7#c{j}" in store._chunks}
        assert {r["_source"]["chunk_index"] for r in NeighborChunkExpander(store, window=window).expand(found)} == wanted


@pytest.mark.parametrize("kind", BUILDERS)
def test_builders_take_dicts(kind):
    store, _ = filled(Every(), "7")
    expanded = NeighborChunkExpander(store, window=1).expand(results(store, 5, 12))
    context = resolve_builder(kind).build(expanded, "연차는?")
    assert {s.number for s in context.sources} == {1, 2} and [p.hits for p in context.passages] == [("c5",), ("c12",)]
    assert context.passages[0].neighbors == ("7#c4", "7#c6")
    for chunk in expanded:
        assert "".join(chunk["_source"]["text"].split()) in "".join(p.text for p in context.passages).replace(" ", "").replace("\n", "")
    assert str(context) == context.text
    plain = resolve_builder(kind).build(results(store, 5, 6))
    assert len(plain.sources) == 2            # not expanded: as many sources as results


def test_siblings_across_rows_come_as_dicts():
    rows = [Document(text=f"{name} 행이다. " * 8, id_=f"CASE_1_{name}", metadata={"parent_id": "CASE_1"}) for name in ("summary", "detail")]
    store, _ = filled(Every(), *rows)
    expander = Expander(store, resolve_policy("siblings", catalogue=Catalogue.from_documents(rows)))
    expanded = expand_dicts(expander, [{"_id": "CASE_1_summary#c1"}])
    assert {c["_source"]["document_id"] for c in expanded if c["is_neighbor"]} == {"CASE_1_summary", "CASE_1_detail"}
    assert expanded.stats.reads == 2
