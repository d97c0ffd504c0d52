"""Hits of other systems: which of them the store knows, what they are called, and what comes back for them."""
from __future__ import annotations

import copy
import warnings

import pytest
from hypothesis import given, strategies as st
from llama_index.core.schema import Document, NodeWithScore, TextNode
from strategies import examples

from ragnb import (
    expand_dicts, Expander, ExpandPostprocessor, InputError, MemoryStore, MissingChunkError, neighbors, Span)
from ragnb.chunking.base import SpanNodeParser
from ragnb.expansion.policies import resolve_policy
from ragnb.expansion.raw_hits import dict_passages, FIELDS, raw_hit

TEXT = " ".join(f"{i}번째 문장이다." for i in range(40))


class Every(SpanNodeParser):
    """Chunks of a level, so many characters each."""
    size: int = 20
    level: str = "c"

    def split(self, text: str) -> dict[str, list[Span]]:
        ends = [*range(self.size, len(text), self.size), len(text)]
        return {self.level: [Span(a, b) for a, b in zip([0, *ends], ends)]}


def filled(parser, *doc_ids: str, text: str = TEXT, **metadata) -> tuple[MemoryStore, dict[str, TextNode]]:
    store, nodes = MemoryStore(), {}
    for doc_id in doc_ids:
        found, outline = parser.parse(Document(text=text, id_=doc_id, metadata=metadata))
        for node in found:
            node.embedding = [1.0]
        store.put(found, [outline])
        nodes |= {n.node_id: n for n in found}
    return store, nodes


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
    raw = [{"_id": h.node_id, "_source": {"text": h.text}} for h in hits]
    with pytest.warns(UserWarning, match="0 of 5 hits are known to this store"):
        out = expand_dicts(Expander(store), raw)
    assert out.stats.events == ["0 of 5 hits are known to this store"]
    assert (out.stats.known, out.stats.passed_through, len(out)) == (0, 5, 5)


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


NAMES = st.fixed_dictionaries({key: st.sampled_from(names) for key, names in FIELDS.items()})


@examples(60)
@given(NAMES, st.sampled_from(["flat", "source", "metadata"]), st.booleans(), st.integers(0, 30))
def test_any_names_give_the_same_neighbors(names, shape, as_text, index):
    store, nodes = filled(Every(), "7")
    index = min(index, len(nodes) - 1)
    at = nodes[f"7#c{index}"]
    top = {names["id"]: "x1", names["score"]: 0.5}
    inner = {names["doc_id"]: "7" if as_text else 7, names["index"]: str(index) if as_text else index,
             names["file_name"]: "f.md", names["page"]: 1, "extra": ["kept", 1]}
    text = {names["text"]: at.text}
    hit = {"flat": top | inner | text, "source": top | {"_source": inner | text}, "metadata": top | text | {"metadata": inner}}[shape]
    before = copy.deepcopy(hit)
    out = expand_dicts(Expander(store, neighbors(2)), [hit])
    assert hit == before and [c for c in out if not c["is_neighbor"]] == [hit | {"is_neighbor": False}]
    read = [raw_hit(c) for c in out]
    assert [int(r.index) for r in read] == list(range(max(0, index - 2), min(len(nodes), index + 3)))
    assert [r.text for r in read] == [nodes[f"7#c{r.index}"].text for r in read]
    places = [{"flat": c, "source": c.get("_source"), "metadata": c.get("metadata")}[shape] for c in out]
    assert all(type(p[names["index"]]) is (str if as_text else int) for p in places)
    assert all(p[names["doc_id"]] == inner[names["doc_id"]] for p in places)


@pytest.mark.parametrize("hit", [{"id": "7#c5"}, {"chunk_id": "7#c5"}, {"_id": "7#c5"}, {"doc_id": "7", "chunk_index": 5},
                                 {"document_id": 7, "chunk_index": "5"}, {"_source": {"chunk_id": "7#c5"}}])
def test_a_chunk_has_many_names(hit):
    store, _ = filled(Every(), "7")
    assert len(expand_dicts(Expander(store, neighbors(1)), [hit])) == 3


def test_entries_of_one_chunk_are_told_apart_by_their_ids():
    store, nodes = filled(Every(), "7")
    source = {"document_id": "7", "chunk_index": 5, "text": nodes["7#c5"].text}
    hits = [{"_id": "text", "_source": source, "_score": 2}, {"_id": "copy", "_source": source | {"index": "b"}, "_score": 1},
            {"_id": "text", "_source": source}, {"_id": "summary", "_source": source | {"text": "다섯째 조각의 요약이다."}}]
    out = expand_dicts(Expander(store, neighbors(1)), hits)
    assert [c["_id"] for c in out] == ["7#c4", "text", "copy", "7#c6", "summary"]
    assert out[2]["_source"]["index"] == "b" and out.stats.duplicates == 1


@pytest.mark.parametrize("level", ["x", "", "cc"])
def test_a_level_that_is_not_there(level):
    store, _ = filled(Every(), "7")
    with pytest.raises(InputError, match="level must be one of"):
        expand_dicts(Expander(store), [{"id": "7#c5"}], level=level)


def test_a_level_may_be_named():
    store = MemoryStore()
    found, outline = Every(level="u").parse(Document(text=TEXT, id_="7"))
    more, other = Every(size=50).parse(Document(text=TEXT, id_="7"))
    for node in (*found, *more):
        node.embedding = [1.0]
    outline.levels["c"] = other.levels["c"]
    store.put([*found, *more], [outline])
    for level, first in ((None, "7#u4"), ("c", "7#c4"), ("u", "7#u4")):
        out = expand_dicts(Expander(store, neighbors(1)), [{"doc_id": "7", "chunk_index": 5}], level=level)
        assert out[0]["id" if "id" in out[0] else "_id"] == first


@examples(60)
@given(st.lists(st.fixed_dictionaries({}, optional={
    "_id": st.sampled_from(["a", "b", 3, ""]), "is_neighbor": st.booleans(), "_score": st.sampled_from([None, 0.5, True, "x"]),
    "_source": st.fixed_dictionaries({}, optional={
        "document_id": st.sampled_from([1, "1", None]), "chunk_index": st.sampled_from([0, 1, "2", -1, 2.5, None]),
        "text": st.sampled_from(["", "가나다라마바사 아자차카", "마바사 아자차카 타파하", None]), "page": st.sampled_from([1, "2", 0, None])})}),
    max_size=8))
def test_any_dicts_are_passages(hits):
    passages = dict_passages(hits)
    assert [p.rank for p in passages] == list(range(1, len(passages) + 1))
    assert sum(len(p.hits) + len(p.neighbors) for p in passages) <= len(hits)
    told = "\n".join(p.text for p in passages)
    assert all(raw_hit(h).text in told for h in hits)
