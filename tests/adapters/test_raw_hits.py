"""Hits of other systems: which of them the store knows, what they are called, and what comes back for them."""
from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import pytest
from every_chunk import Every, filled, TEXT
from hypothesis import given, strategies as st
from llama_index.core.schema import Document
from strategies import examples

from ragnb import expand_dicts, Expander, InputError, MemoryStore, neighbors
from ragnb.adapters.raw_hits import dict_passages, FIELDS, raw_hit


def test_a_wrong_store_is_said_and_counted():
    store, _ = filled(Every(), "a")
    _, strangers = filled(Every(size=30), "b")
    raw = [{"_id": node.node_id, "_source": {"text": node.text}} for node in list(strangers.values())[:5]]
    with pytest.warns(UserWarning, match="0 of 5 hits are known to this store"):
        out = expand_dicts(Expander(store), raw)
    assert out.stats.events == ["0 of 5 hits are known to this store"]
    assert (out.stats.known, out.stats.passed_through, len(out)) == (0, 5, 5)


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


def expanded(
    hits: list[dict], window: int = 2, documents: Sequence[Any] = (1, 2), **more: Any
) -> tuple[list[dict], MemoryStore]:
    """What comes back for raw hits over documents of many chunks, and the store that was read."""
    store, before = filled(Every(size=10), *map(str, documents))[0], copy.deepcopy(hits)
    out = expand_dicts(Expander(store, neighbors(window), expand_top_k=len(hits), **more), hits)
    assert hits == before and all("is_neighbor" in c for c in out)
    return out, store


def raw(doc_id: Any, index: Any, name: str | None = "c", score: float | None = 0.5) -> dict:
    return {**({} if name is None else {"_id": name}),
            "_source": {"document_id": doc_id, "chunk_index": index, "text": "…"}, "_score": score}


def places(chunks: list[dict]) -> list[tuple]:
    return [(c["_source"].get("document_id"), c["_source"].get("chunk_index")) for c in chunks]


@pytest.mark.parametrize("odd", [
    {"_id": "a"}, {"_id": "a", "_source": None}, raw(1, -1, "a"), raw(1, 4.5, "a"), raw(1, None, "a"),
    raw(None, 3, "a"), raw("", 3, "a"), raw(1, 99, "a"), raw("unknown", 3, "a"), raw(1, "x", "a"), {}])
def test_odd_hits_are_kept_as_they_are(odd):
    ours, _ = expanded([odd, raw(1, 5, "c1")], 1)
    assert ours[0] == {**odd, "is_neighbor": False} and places(ours[1:]) == [(1, 4), (1, 5), (1, 6)]
