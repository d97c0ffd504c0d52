"""Expansion: every hit kept, no character twice, text that is the document's, at most two keyed reads."""
from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, strategies as st
from llama_index.core.schema import Document, ImageNode, NodeWithScore, TextNode
from strategies import examples

from ragnb.chunking.base import SpanNodeParser
from ragnb.documents.span import Address, InputError, MissingChunkError, n_characters, Outline, parse_address, Span, Why
from ragnb.expansion.expander import Expander, ExpandPostprocessor, Expansion, merge_by_document
from ragnb.expansion.policies import resolve_policy
from ragnb.expansion.policy import (
    neighbors, no_expansion, parent, Place, QuestionPolicy, together)
from ragnb.machinery import registry
from ragnb.machinery.registry import register
from ragnb.storage.store import Found, MemoryStore


class Given(SpanNodeParser):
    """A parser that cuts where it is told."""
    cuts: dict[str, Any]

    def split(self, text: str) -> dict[str, list[Span]]:
        return {level: list(spans) for level, spans in self.cuts.items()}


class Counting(MemoryStore):
    """A store that writes down what it is asked, and may lose chunks."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[str, tuple[str, ...]]] = []
        self.lost: set[str] = set()

    def get_outlines(self, doc_ids: Iterable[str]) -> Found[Outline]:
        doc_ids = tuple(doc_ids)
        self.asked.append(("outlines", doc_ids))
        return super().get_outlines(doc_ids)

    def get_chunks(self, addresses: Iterable[str]) -> Found[TextNode]:
        addresses = tuple(addresses)
        self.asked.append(("chunks", addresses))
        found, missing = super().get_chunks(addresses)
        gone = self.lost & set(found)
        return Found({i: n for i, n in found.items() if i not in gone}, (*missing, *sorted(gone)))


def fill(
    store: MemoryStore, doc_id: str, text: str, cuts: dict[str, list[Span]], **metadata: Any
) -> dict[str, TextNode]:
    """Put one document into a store; returns its nodes by id."""
    nodes, outline = Given(cuts=cuts).parse(Document(text=text, id_=doc_id, metadata=metadata))
    for node in nodes:
        node.embedding = [1.0]
    store.put(nodes, [outline])
    return {n.node_id: n for n in nodes}


def row(store: MemoryStore, doc_id: str = "1", n: int = 20, **metadata: Any) -> tuple[str, dict[str, TextNode]]:
    """A document of n sentences, one a chunk."""
    parts = [f"{i}번째 문장이다." for i in range(n)]
    text, spans, at = " ".join(parts), [], 0
    for part in parts:
        spans.append(Span(at, at + len(part)))
        at += len(part) + 1
    return text, fill(store, doc_id, text, {"c": spans}, **metadata)


def chunks_of(store: MemoryStore) -> dict[str, TextNode]:
    """All chunks of a store by address, without counting a read."""
    return MemoryStore.get_chunks(store, [i for letter in "cpsu" for i, _ in store.texts(letter)]).found


def outline_of(store: MemoryStore, doc_id: str) -> Outline:
    """The outline that a store has of a document, without counting a read."""
    return MemoryStore.get_outlines(store, [doc_id]).found[doc_id]


def hit(node: TextNode, score: float | None = 0.5) -> NodeWithScore:
    return NodeWithScore(node=node, score=score)


@st.composite
def level(draw: st.DrawFn, atoms: list[Span], largest: int) -> list[Span]:
    """Chunks of whole words that cover all of them, with or without overlap; starts and ends strictly rise."""
    spans, first, last = [], 0, 0
    while last < len(atoms):
        first = draw(st.integers(min(first + 1, last), last)) if spans else 0
        last = draw(st.integers(last + 1, min(len(atoms), max(last + 1, first + largest))))
        spans.append(Span(atoms[first].start, atoms[last - 1].end))
    return spans


@st.composite
def a_document(draw: st.DrawFn) -> tuple[str, dict[str, list[Span]], list[int]]:
    """A text of few different words and headings, its levels, and where its pages begin."""
    text, atoms = draw(st.sampled_from(["", " ", "\n"])), []
    for _ in range(draw(st.integers(1, 24))):
        word = draw(st.sampled_from(["삭제", "가", "연차는", "15일", "ab", "👩🏽\u200d💻", "\n# 장\n", "\n## 절\n"]))
        start = len(text) + (word[0] == "\n")
        atoms.append(Span(start, start + len(word.strip("\n"))))
        text += word + draw(st.sampled_from([" ", " ", "\n\n", "", "\u3000"]))
    levels = {"c": draw(level(atoms, 4)), "p": draw(level(atoms, 9)), "s": draw(level(atoms, 2))}
    return text, levels, sorted(draw(st.lists(st.integers(0, len(text)), max_size=5)))


policies = st.one_of(
    st.sampled_from([no_expansion, parent]), st.integers(0, 8).map(neighbors),
    st.just(lambda outline, hit: Span(0, outline.n_characters)),
    st.just(lambda outline, hit: Span(max(0, outline.span_of(hit).start - 3), outline.span_of(hit).end + 5)))


@st.composite
def situations(draw: st.DrawFn, levels: str = "cps") -> tuple[Counting, dict[str, str], list[NodeWithScore]]:
    """A filled store, its texts, and hits in any order."""
    store, texts, nodes = Counting(), {}, []
    for doc_id in draw(st.lists(st.sampled_from(["a", "b#c1", "휴가.md"]), min_size=1, max_size=3, unique=True)):
        texts[doc_id], cuts, starts = draw(a_document())
        more = {"doc_type": draw(st.sampled_from(["GCB", "manual", ""])), "page_starts": starts or None}
        nodes += fill(store, doc_id, texts[doc_id], cuts, file_name=doc_id, **more).values()
    pool = [n for n in nodes if n.metadata["level"] in levels]
    chosen = draw(st.lists(st.sampled_from(pool), max_size=8, unique_by=lambda n: n.node_id))
    scores = draw(st.lists(st.one_of(st.none(), st.floats(-1, 1)), min_size=len(chosen), max_size=len(chosen)))
    return store, texts, [hit(n, s) for n, s in zip(chosen, scores)]


def check(expansion: Expansion, texts: dict[str, str], hits: list[NodeWithScore]) -> None:
    """What every expansion promises."""
    assert Counter(a for p in expansion.passages for a in p.hits) == Counter(
        h.node_id for h in hits), "every hit in exactly one passage"
    ranks = {h.node_id: (n, h.score) for n, h in enumerate(hits, 1)}
    for p in expansion.passages:
        assert p.text == texts[p.doc_id][p.span.start:p.span.end]
        assert set(p.why) == {*p.hits, *p.neighbors} and not set(p.hits) & set(p.neighbors) and (p.hits or p.neighbors)
        if not p.hits:  # what a policy brought from elsewhere
            assert p.rank in {n for n, _ in ranks.values()} and p.score is None and p.focus is None and p.scores == ()
            continue
        assert (p.rank, p.score) == min((ranks[a] for a in p.hits), key=lambda r: r[0])
        assert [ranks[a][0] for a in p.hits] == sorted(ranks[a][0] for a in p.hits)
        assert p.scores == tuple(ranks[a][1] for a in p.hits)
        assert p.focus is None or p.span.contains(p.focus)
        assert all(p.why[a] == Why("hit", rank=ranks[a][0]) for a in p.hits if p.why[a].role != "passed")
    assert [p.rank for p in expansion.passages] == sorted(p.rank for p in expansion.passages)
    for doc_id in texts:
        spans = [p.span for p in expansion.passages if p.doc_id == doc_id]
        assert sum(map(len, spans)) == n_characters(spans), "a character stands in two passages"
    s = expansion.stats
    assert (s.hits, s.passages, s.merged) == (
        len(hits), len(expansion.passages), len(hits) - sum(bool(p.hits) for p in expansion.passages))
    assert s.expanded + s.passed_through == s.hits
    assert s.beside == sum(not p.hits for p in expansion.passages)
    assert s.neighbors == sum(len(p.neighbors) for p in expansion.passages)
    assert s.characters == sum(len(p.span) for p in expansion.passages)
    assert sum(s.dropped.values()) == len(expansion.dropped) and set(s.dropped) == set(expansion.dropped.values())
    assert not set(expansion.dropped) & {a for p in expansion.passages for a in (*p.hits, *p.neighbors)}


@examples(250)
@given(situations(), policies, st.integers(0, 8), st.integers(1, 30))
def test_expansion_keeps_its_promises(situation, policy, top_k, max_chunks):
    store, texts, hits = situation
    before, stored = [h.model_dump_json() for h in hits], {i: n.model_dump_json() for i, n in chunks_of(store).items()}
    expansion = Expander(store, policy, top_k, max_chunks).expand(hits)
    check(expansion, texts, hits)
    assert len(store.asked) == expansion.stats.reads <= (1 if policy is no_expansion else 2) * bool(hits)    # hits need no chunk
    assert all(len(ids) == len(set(ids)) for _, ids in store.asked)
    assert [h.model_dump_json() for h in hits] == before
    assert {i: n.model_dump_json() for i, n in chunks_of(store).items()} == stored
    chunks = {a for p in expansion.passages for a in (*p.hits, *p.neighbors)}
    assert len(chunks) <= max(max_chunks, len(hits))
    assert (expansion.stats.missing, expansion.stats.duplicates) == (0, 0)
    assert (expansion.stats.expanded, expansion.stats.passed_through) == (min(top_k, len(hits)), max(0, len(hits) - top_k))
    free = Expander(store, policy, top_k, 10_000).expand(hits)
    assert free.stats.refused == 0
    assert expansion.stats.refused == len({a for p in free.passages for a in (*p.hits, *p.neighbors)}) - len(chunks)
    for h in hits[
        :top_k
    ]:  # without a limit everything that the policy wants is there, but white space at the document's ends
        address = parse_address(h.node_id)
        text, wanted = texts[address.doc_id], policy(free.outlines[address.doc_id], address)
        missed = set(range(wanted.start, min(wanted.end, len(text)))) - {
            i for p in free.passages if p.doc_id == address.doc_id for i in range(p.span.start, p.span.end)}
        assert all(text[i].isspace() for i in missed)


@examples(100)
@given(situations("c"), st.integers(0, 8), st.integers(1, 12))
def test_neighbors_are_granted_best_hit_first_and_nearest_first(situation, window, max_chunks):
    """The grant against a slow, plain one: one level, one chunk at a time."""
    store, _, hits = situation
    expansion = Expander(store, neighbors(window), len(hits), max_chunks).expand(hits)
    taken = {h.node_id for h in hits}
    for h in hits:
        at = parse_address(h.node_id)
        n = len(expansion.outlines[at.doc_id].levels["c"])
        reach = {at.index}
        for distance in range(1, window + 1):
            for i in (at.index - distance, at.index + distance):
                name = f"{at.doc_id}#c{i}"
                if 0 <= i < n and {i - 1, i + 1} & reach and (name in taken or len(taken) < max_chunks):
                    taken.add(name)
                    reach.add(i)
    assert {a for p in expansion.passages for a in (*p.hits, *p.neighbors)} == taken


def test_reads_are_counted_for_each_call_not_for_the_store():
    """Twenty at once over one store: each says what it read itself."""
    store = MemoryStore()
    _, nodes = row(store)
    expander = Expander(store, neighbors(1))

    async def many():
        return await asyncio.gather(*(asyncio.to_thread(expander.expand, [hit(nodes[f"1#c{i}"])]) for i in range(20)))

    assert {e.stats.reads for e in asyncio.run(many())} == {2}


def test_overlap_does_not_bring_a_refused_chunk_back():
    """c1 lies wholly under c0 and c2, which are hits; it is not needed, and not there."""
    store, text = MemoryStore(), "가나다라마바사아자차"
    nodes = fill(store, "d", text, {"c": [Span(0, 5), Span(3, 7), Span(5, 10)]})
    (p,) = Expander(store, no_expansion).expand([hit(nodes["d#c0"]), hit(nodes["d#c2"])]).passages
    assert (p.text, p.neighbors) == (text, ())


def test_nodes_of_others_pass_through_in_their_place():
    store = Counting()
    _, nodes = row(store, "a")
    other = TextNode(id_="uuid-1", text="남의 글", metadata={"file_name": "x.md"})
    gone = TextNode(id_="gone#c3", text="사라진 문서")
    beyond = TextNode(id_="a#c99", text="없는 번호")
    nowhere = TextNode(id_="a#p0", text="없는 층")
    hits = [hit(other, 0.9), hit(nodes["a#c5"], 0.8), hit(gone, 0.7), hit(beyond, None), hit(nowhere, 0.1)]
    expansion = Expander(store, neighbors(1)).expand(hits)
    assert [p.hits for p in expansion.passages] == [("uuid-1",), ("a#c5",), ("gone#c3",), ("a#c99",), ("a#p0",)]
    assert [p.score for p in expansion.passages] == [0.9, 0.8, 0.7, None, 0.1]
    assert (expansion.stats.passed_through, expansion.stats.expanded) == (4, 1)
    assert expansion.passages[0].text == "남의 글" and expansion.passages[0].metadata == {"file_name": "x.md"}
    assert expansion.passages[0].why["uuid-1"] == Why("passed", rank=1, detail="not in the index")
    store.asked = []
    alone = Expander(store).expand([hit(TextNode(id_="n1", text="가")), hit(ImageNode(id_="img", image="aGk="), 0.3)])
    assert store.asked == [] and alone.stats.reads == 0 and [p.text for p in alone.passages] == ["가", ""]


def test_two_nodes_without_offsets_are_two_passages_with_two_ids():
    """Of one document, of one length: without an offset, nobody knows that they are the same place."""
    from llama_index.core.schema import NodeRelationship, RelatedNodeInfo
    source = {NodeRelationship.SOURCE: RelatedNodeInfo(node_id="doc")}
    hits = [hit(TextNode(id_=i, text=t, relationships=source)) for i, t in (("n1", "가나"), ("n2", "다라"))]
    nodes = ExpandPostprocessor(store=MemoryStore()).postprocess_nodes(hits)
    assert [n.text for n in nodes] == ["가나", "다라"] and len({n.node_id for n in nodes}) == 2
    known = TextNode(id_="n3", text="마바", start_char_idx=40, end_char_idx=42, relationships=source)
    assert Expander(MemoryStore()).expand([hit(known)]).passages[0].id == "doc@40-42"


def test_a_hit_given_twice_is_counted_and_kept_once():
    store = MemoryStore()
    _, nodes = row(store)
    expansion = Expander(store, no_expansion).expand(
        [hit(nodes["1#c5"], 0.9), hit(nodes["1#c8"], 0.8), hit(nodes["1#c5"], 0.7)])
    assert [(p.hits, p.score, p.rank) for p in expansion.passages] == [(("1#c5",), 0.9, 1), (("1#c8",), 0.8, 2)]
    assert (expansion.stats.duplicates, expansion.stats.hits) == (1, 2)


def test_a_text_that_was_changed_on_the_way_is_read_again():
    """A postprocessor before ours put a window in place of the chunk."""
    store = Counting()
    text, nodes = row(store)
    changed = nodes["1#c5"].model_copy(update={"text_resource": None}, deep=True)
    changed.set_content("4번째 문장이다. 5번째 문장이다. 6번째 문장이다.")
    (p,) = Expander(store, neighbors(1)).expand([hit(changed)]).passages
    assert p.text == text[p.span.start:p.span.end] and p.hits == ("1#c5",)
    store.lost = {"1#c5"}
    (p,) = Expander(store, no_expansion).expand([hit(changed)]).passages
    assert p.text == changed.text and "passed through" in str(p.why["1#c5"])


def test_a_lost_chunk_that_others_overlap_leaves_no_hole():
    store, text = Counting(), "가나다라마바사아자차카타"
    nodes = fill(store, "d", text, {"c": [Span(0, 5), Span(3, 7), Span(5, 12)]})
    store.lost = {"d#c1"}
    (p,) = Expander(store, neighbors(2)).expand([hit(nodes["d#c0"])]).passages
    assert (p.text, p.neighbors) == (text, ("d#c2",))


def brings(*places: Any, documents: tuple[str, ...] = ()) -> QuestionPolicy:
    """The hit, and places elsewhere."""
    return QuestionPolicy(
        "brings", lambda situation: lambda outline, at: [outline.span_of(at), *places], lambda hits: documents)


def test_a_place_that_touches_a_hit_joins_it():
    store = MemoryStore()
    text, nodes = row(store, "a")
    after = store.get_outlines(["a"]).found["a"].levels["c"][6]
    (p,) = Expander(store, brings(Place("a", after, "is cited"))).expand([hit(nodes["a#c5"])]).passages
    assert p.hits == ("a#c5",) and p.neighbors == ("a#c6",) and p.text == text[p.span.start:p.span.end]
    assert str(p.why["a#c6"]) == "brings: is cited (rank 1)"


def test_places_are_cut_from_the_end_and_come_after_the_neighbors_of_their_hit():
    store = MemoryStore()
    text, nodes = row(store, "a")
    policy = together(
        neighbors(1),
        brings(Place("a", outline_of(store, "a").levels["c"][12].hull(outline_of(store, "a").levels["c"][15]), "far")))
    expansion = Expander(store, policy, max_chunks=5).expand([hit(nodes["a#c5"])])
    assert [(p.hits, p.neighbors) for p in expansion.passages] == [
        (("a#c5",), ("a#c4", "a#c6")), ((), ("a#c12", "a#c13"))]
    assert expansion.stats.dropped == {"beyond max_chunks": 2} and set(expansion.dropped) == {"a#c14", "a#c15"}
    assert Expander(store, policy, max_chunks=3).expand([hit(nodes["a#c5"])]).stats.beside == 0


def test_a_place_is_read_on_a_level_that_its_document_has():
    store, text = MemoryStore(), "가나 다라 마바 사아 자차"
    _, nodes = row(store, "a")
    fill(store, "law", text, {"r": [Span(0, 5), Span(6, 14)], "p": [Span(0, 14)]})
    expansion = Expander(store, brings(Place("law", Span(7, 10)), documents=("law",))).expand([hit(nodes["a#c5"])])
    assert expansion.passages[1].text == text[7:10] and expansion.passages[1].neighbors == ("law#r1",)


@pytest.mark.parametrize("bad", [[], [Place("a", Span(0, 5))], [Span(0, 1)], [None], ["a"], [("a", 0, 1)], Span(0, 1), (0, 9999), None])
def test_what_a_policy_returns_must_hold_the_hit(bad):
    store = MemoryStore()
    _, nodes = row(store, "a")
    with pytest.raises(InputError, match="which does not hold the hit a#c5"):
        Expander(store, lambda outline, at: bad).expand([hit(nodes["a#c5"])])


def test_a_policy_of_ones_own_gets_a_name(monkeypatch):
    monkeypatch.setattr(registry, "_PARTS", dict(registry._PARTS))   # other tests list what is registered

    @register("policy", "test-first", "[:N]")
    def first(n: int = 1):
        return lambda outline, at: Span(0, max(n, outline.span_of(at).end))
    assert resolve_policy("test-first:3")(Outline("d", 9, {"c": [Span(0, 1)]}), Address("d", "c", 0)) == Span(0, 3)
    with pytest.raises(InputError, match=r"test-first\[:N\]"):
        resolve_policy("test-second")
    for bad in ("", "a:b", "a+b"):
        with pytest.raises(InputError, match="the name of a part must not contain"):
            register("policy", bad)


def test_deleted_hits_are_kept_dropped_or_refused():
    """A chunk that the store lost, a document that was deleted, and somebody else's node."""
    store = Counting()
    text, nodes = row(store, "a")
    store.lost = {"a#c5"}
    hits = [hit(nodes["a#c5"], 0.9), hit(TextNode(id_="gone#c1", text="지운 글")), hit(TextNode(id_="uuid", text="남의 글")),
            hit(nodes["a#c9"])]
    kept = Expander(store, neighbors(1)).expand(hits)
    assert {a for p in kept.passages for a in p.hits} == {h.node_id for h in hits}
    store.asked = []
    dropped = Expander(store, neighbors(1), missing="drop").expand(hits)
    assert [p.hits for p in dropped.passages] == [("uuid",), ("a#c9",)] and dropped.stats.merged == 0
    assert dropped.dropped == {"gone#c1": "hit that is not in the index", "a#c5": "hit that is not in the index"}
    assert dropped.stats.dropped == {"hit that is not in the index": 2} and len(store.asked) == dropped.stats.reads == 2
    assert all("5번째" not in p.text and "지운" not in p.text for p in dropped.passages)
    with pytest.raises(InputError, match="missing"):
        Expander(store, missing="skip")
    with pytest.raises(MissingChunkError, match="1 hits are not in the index, the first is 'gone#c1'"):
        Expander(store, neighbors(1), missing="fail").expand(hits)
    Expander(store, missing="fail").expand([hit(TextNode(id_="uuid", text="남의 글"))])


def test_what_lies_behind_a_hole_is_told():
    store = Counting()
    _, nodes = row(store, "a")
    store.lost = {"a#c7"}
    expansion = Expander(store, neighbors(3)).expand([hit(nodes["a#c5"])])
    assert expansion.dropped == {"a#c7": "not in the store", "a#c8": "cut off by a chunk that is not in the store"}


def test_a_document_is_shown_once():
    store = MemoryStore()
    a, b = row(store, "a", title="가")[1], row(store, "b")[1]
    expansion = Expander(store, neighbors(1)).expand([hit(a["a#c15"], 0.9), hit(b["b#c3"], 0.8), hit(a["a#c2"], 0.7)])
    shown = merge_by_document(expansion.passages)
    assert [(d.doc_id, d.rank, d.score, len(d.passages)) for d in shown] == [("a", 1, 0.9, 2), ("b", 2, 0.8, 1)]
    assert shown[0].passages[0].span < shown[0].passages[1].span and shown[0].metadata == {"title": "가"}
    assert shown[0].text.count("\n…\n") == 1 and merge_by_document([]) == []
