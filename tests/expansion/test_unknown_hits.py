"""Hits that a store does not know, or knows as another text: none is replaced, and each is counted."""
from __future__ import annotations

import warnings

import pytest
from every_chunk import Every, filled, TEXT
from hypothesis import given, strategies as st
from llama_index.core.schema import NodeWithScore, TextNode
from strategies import examples

from ragnb import Expander, ExpandPostprocessor, MissingChunkError, neighbors, Span
from ragnb.expansion.policies import resolve_policy


@examples(60)
@given(st.integers(5, 60), st.integers(5, 60), st.lists(st.integers(0, 11), min_size=1, max_size=5, unique=True),
       st.sampled_from(["none", "neighbors:2", "document", "segments"]), st.booleans())
def test_no_hit_of_another_chunking_is_replaced(theirs, ours, found, policy, offsets):
    """What a hit says is in the passages, whatever its address means in the store."""
    _, nodes = filled(Every(size=theirs), "a")
    store, _ = filled(Every(size=ours), "a")
    hits = []
    for i in found:
        node = nodes.get(f"a#c{i}")
        if node is not None:
            where = {"start_char_idx": node.start_char_idx, "end_char_idx": node.end_char_idx} if offsets else {}
            hits.append(NodeWithScore(node=TextNode(id_=node.node_id, text=node.text, **where), score=0.5))
    out = Expander(store, resolve_policy(policy)).expand(hits)
    for hit in hits:
        mine = next(p for p in out.passages if hit.node_id in p.hits)
        assert hit.text in mine.text
        if offsets and mine.why[hit.node_id].role != "passed":
            assert mine.span.contains(Span(hit.node.start_char_idx, hit.node.end_char_idx))
    if theirs != ours and offsets:
        same = [h for h in hits if h.node.start_char_idx == 0 == h.node.end_char_idx - len(TEXT)]
        assert out.stats.mismatched + out.stats.passed_through >= len(hits) - len(same)
    assert out.stats.known + len([p for p in out.passages if "passed" in {w.role for w in p.why.values()}]) == len(hits)
    assert out.stats.reads <= 2


def test_other_text_of_the_same_length_is_not_taken_for_the_chunk():
    store, nodes = filled(Every(), "a")
    node = nodes["a#c3"]
    stranger = TextNode(id_="a#c3", text="가" * len(node.text))
    out = Expander(store, neighbors(1)).expand([NodeWithScore(node=stranger, score=0.5)])
    assert [p.text for p in out.passages] == [stranger.text] and out.stats.mismatched == 1
    assert str(out.passages[0].why["a#c3"]) == "hit, rank 1; passed through (its address means another text in the index)"
    assert out.stats.events[0] == "0 of 1 hits are known to this store" and out.stats.reads == 2
    with pytest.raises(MissingChunkError, match="another text"):
        Expander(store, neighbors(1), missing="fail").expand([NodeWithScore(node=stranger)])
    dropped = Expander(store, neighbors(1), missing="drop").expand([NodeWithScore(node=stranger)])
    assert dropped.passages == [] and dropped.dropped == {"a#c3": "hit whose address means another text in the index"}


def test_a_wrong_store_is_said_and_counted():
    store, _ = filled(Every(), "a")
    _, strangers = filled(Every(size=30), "b")
    hits = [NodeWithScore(node=n, score=0.5) for n in list(strangers.values())[:5]]
    with pytest.warns(UserWarning, match="0 of 5 hits are known to this store"):
        nodes = ExpandPostprocessor(store=store).postprocess_nodes(hits)
    assert [n.text for n in nodes] == [h.text for h in hits]


def test_nothing_is_said_when_the_store_knows_some():
    store, nodes = filled(Every(), "a")
    hits = [NodeWithScore(node=nodes["a#c1"]), NodeWithScore(node=TextNode(id_="x", text="글"))]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ExpandPostprocessor(store=store).postprocess_nodes(hits)
        ExpandPostprocessor(store=store).postprocess_nodes([])
    stats = Expander(store).expand(hits).stats
    assert (stats.known, stats.events) == (1, ["1 of 2 hits are known to this store"])


def test_a_warned_hit_takes_no_chunk_of_the_others():
    store, nodes = filled(Every(), "a")
    moved = TextNode(id_="a#c9", text="다른 글", start_char_idx=3, end_char_idx=7)
    both = Expander(store, neighbors(1)).expand([NodeWithScore(node=moved), NodeWithScore(node=nodes["a#c20"])])
    assert [p.hits for p in both.passages] == [("a#c9",), ("a#c20",)] and both.passages[0].neighbors == ()
    assert both.passages[0].text == "다른 글" and both.stats.expanded == 1


def test_an_expansion_shows_what_is_in_it():
    store, nodes = filled(Every(), "a")
    out = Expander(store, neighbors(1)).expand([NodeWithScore(node=nodes["a#c5"]), NodeWithScore(node=nodes["a#c9"])])
    assert repr(out) == f"Expansion(2 passages, 2 hits, 4 neighbors, {sum(len(p.text) for p in out.passages)} characters)"
