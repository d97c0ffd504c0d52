"""The names of the design documents: chunk expanders, builders of dicts, rows of one parent, and numbers that are none."""
from __future__ import annotations

import warnings

import pytest
from hypothesis import given, strategies as st
from llama_index.core.schema import Document, NodeWithScore
from strategies import examples
from test_raw_hits import Every, TEXT

from ragnb import (
    adaptive, AdaptiveChunkExpander, Address, by_doc_type, Conversation, expand_dicts, Expander, InputError,
    MemoryStore, NeighborChunkExpander, NoopChunkExpander, Outline, Passage, RankedContextBuilder, siblings, Span)
from ragnb.context.budgets import budget_for
from ragnb.context.builders import cut_passage, cut_to_sentences, PassageRanking, resolve_builder
from ragnb.context.compress import compress_passages
from ragnb.context.page_images import page_image
from ragnb.context.display import display_docs
from ragnb.documents.kinds import Catalogue
from ragnb.expansion.chunk_expanders import ChunkExpander
from ragnb.expansion.fetch import fetch_chunks
from ragnb.expansion.policies import auto_merge, llm_window, sentence_window, whole_document, with_citations
from ragnb.expansion.policy import resolve_policy, Seen, Situation
from ragnb.expansion.segments import best_segments
from ragnb.machinery.registry import parts_of
from ragnb.indexing.collections import MINISTRIES, route_record

BUILDERS = [part.name for part in parts_of("builder")]

def filled(*documents: Document) -> MemoryStore:
    store = MemoryStore()
    for document in documents:
        nodes, outline = Every().parse(document)
        for node in nodes:
            node.embedding = [1.0]
        store.put(nodes, [outline])
    return store


def results(store: MemoryStore, *indices: int) -> list[dict]:
    nodes = store.get_chunks([f"7#c{i}" for i in indices]).found
    return [{"_id": f"c{i}", "_source": {"document_id": 7, "chunk_index": i, "text": nodes[f"7#c{i}"].text}, "_score": 1.0} for i in indices]


@examples(30)
@given(st.lists(st.integers(0, 17), min_size=1, max_size=6, unique=True), st.integers(0, 3), st.integers(1, 12))
def test_chunk_expanders_keep_what_was_found(indices, window, most):
    store = filled(Document(text=TEXT, id_="7"))
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


@pytest.mark.parametrize("words, window", [(1, 8), (49, 8), (50, 5), (149, 5), (150, 2), (400, 2)])
def test_adaptive_counts_words_also_without_a_text(words, window):
    text = "나무 " * 40 * max(words, 1)
    spans = [Span(i, i + 3 * words) for i in range(0, len(text) - 3 * words + 1, 3 * words)][:40]
    outline, hit = Outline("d", len(text), {"c": spans}), Address("d", "c", 20)
    told = adaptive("words").prepare(Situation((Seen(hit, text="나무 " * words),), {"d": outline}))(outline, hit)
    assert told == spans[20 - window].hull(spans[20 + window])
    without = Outline("d", 160 * words + 4 * words, {"c": [Span(i * 4 * words, (i + 1) * 4 * words) for i in range(41)]})
    assert len(adaptive("words")(without, hit)) == (2 * window + 1) * 4 * words     # four characters a word


@pytest.mark.parametrize("kind", BUILDERS)
def test_builders_take_dicts(kind):
    store = filled(Document(text=TEXT, id_="7"))
    expanded = NeighborChunkExpander(store, window=1).expand(results(store, 5, 12))
    context = resolve_builder(kind).build(expanded, "연차는?")
    assert {s.number for s in context.sources} == {1, 2} and [p.hits for p in context.passages] == [("c5",), ("c12",)]
    assert context.passages[0].neighbors == ("7#c4", "7#c6")
    for chunk in expanded:
        assert "".join(chunk["_source"]["text"].split()) in "".join(p.text for p in context.passages).replace(" ", "").replace("\n", "")
    assert str(context) == context.text
    plain = resolve_builder(kind).build(results(store, 5, 6))
    assert len(plain.sources) == 2            # not expanded: as many sources as results


def test_a_budget_that_holds_nothing_says_so():
    with pytest.warns(UserWarning, match="holds none of 1 passages"):
        context = RankedContextBuilder(budget=3).build([Passage("a", Span(0, 9), "연차는 15일이다")])
    assert context.text == "" and "holds none of 1 passages" in context.note
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert RankedContextBuilder(budget=3).build([]).note == ""


ROWS = [Document(text=f"{name} 행이다. " * 8, id_=f"CASE_{n}_{name}", metadata={"parent_id": f"CASE_{n}"})
        for n in (1, 2) for name in ("summary", "detail")]


def test_siblings_across_rows_come_in_two_reads():
    store, catalogue = filled(*ROWS, Document(text=TEXT, id_="alone")), Catalogue.from_documents(ROWS)
    expander = Expander(store, resolve_policy("siblings", catalogue=catalogue))
    hits = [NodeWithScore(node=store.get_chunks([i]).found[i], score=0.5) for i in ("CASE_1_summary#c1", "alone#c3")]
    before = store.reads
    out = expander.expand(hits)
    assert [(p.doc_id, p.rank) for p in out.passages] == [("CASE_1_summary", 1), ("CASE_1_detail", 1), ("alone", 2)]
    assert store.reads - before == out.stats.reads == 2 and out.stats.beside == 1
    assert out.passages[1].text == ROWS[1].text.rstrip() or out.passages[1].text == ROWS[1].text
    assert str(out.passages[1].why["CASE_1_detail#c0"]) == "siblings:1: of the same parent (rank 1)"
    raw = [{"_id": "CASE_1_summary#c1"}]
    assert {c["_source"]["document_id"] for c in expand_dicts(expander, raw) if c["is_neighbor"]} == {"CASE_1_summary", "CASE_1_detail"}


def test_the_order_of_rows_does_not_depend_on_the_last_one_entered():
    catalogue = Catalogue.from_documents(ROWS)
    catalogue = catalogue.updated(ROWS[:1], {}, {})
    for c in (catalogue, Catalogue.from_documents(ROWS[::-1])):
        assert c.family("CASE_1_summary") == ["CASE_1", "CASE_1_detail", "CASE_1_summary"] and c.family("alone") == []
    articles = [Document(text="글", id_=f"LAW_A{n}", metadata={"parent_id": "LAW"}) for n in (10, 9, 2)]
    assert Catalogue.from_documents(articles).family("LAW_A9") == ["LAW", "LAW_A2", "LAW_A9", "LAW_A10"]
    policy = siblings(1, Catalogue.from_documents(articles).family)
    assert policy.documents([Seen(Address("LAW_A9", "c", 0))]) == ["LAW_A2", "LAW_A10"]


@pytest.mark.parametrize("kind", ["gcb", "manual"])
@pytest.mark.parametrize("at", [0, 100, 199])
def test_the_policy_by_type_reads_at_most_fifty_chunks(kind, at):
    spans = [Span(10 * i, 10 * i + 10) for i in range(200)]
    outline = Outline("d", 2_000, {"c": spans}, pages=[(1, Span(0, 2_000))], metadata={"doc_type": kind})
    hit = Address("d", "c", at)
    for policy, most in ((resolve_policy("doc_type"), 50), (by_doc_type(max_chunks=7), 7), (resolve_policy("doc_type:7"), 7)):
        span = policy(outline, hit)
        assert len(span) == 10 * most and span.contains(spans[at])


@pytest.mark.parametrize("ministry", MINISTRIES)
def test_every_ministry_of_the_table_is_found_however_it_is_written(ministry):
    for text in (ministry, f" {ministry} (정책과)", f"{ministry}, 해양수산부", " ".join(ministry)):
        assert route_record(text)[1:3] == (MINISTRIES[ministry], "ministry") and ministry in route_record(text).reason


STORE = filled(Document(text=TEXT, id_="7"))
PASSAGE = Passage("7", Span(0, 9), TEXT[:9])
NUMBERS = {   # Those of the front door are in `test_constructors.py`
    "document": (whole_document, "max_chunks"), "window": (sentence_window, "window"), "auto-merge": (auto_merge, "ratio"),
    "llm default": (lambda **k: llm_window(None, **k), "default"), "citations depth": (lambda **k: with_citations(lambda d, s: [], **k), "depth"),
    "citations most": (lambda **k: with_citations(lambda d, s: [], **k), "most"), "segments penalty": (best_segments, "penalty"),
    "segments longest": (best_segments, "longest"), "fetch": (lambda **k: fetch_chunks(STORE, {"7": None}, **k), "max_chunks"),
    "ranking": (PassageRanking([PASSAGE]).at, "budget"), "cut": (lambda **k: cut_passage(PASSAGE, **k), "size"),
    "sentences": (lambda **k: cut_to_sentences(PASSAGE, **k), "size"), "compress": (lambda **k: compress_passages([PASSAGE], "?", **k), "size"),
    "last": (lambda **k: Conversation().passages(STORE, **k), "last"), "talk budget": (lambda **k: Conversation().passages(STORE, **k), "budget"),
    "page window": (lambda **k: display_docs([], STORE, **k), "page_window"), "most pages": (lambda **k: display_docs([], STORE, **k), "most"),
    "shown": (lambda **k: display_docs([], STORE, **k), "n_shown"), "share": (lambda **k: budget_for(window=100, **k), "share"),
    "model window": (budget_for, "window"), "width": (lambda **k: page_image("x.pdf", 1, **k), "width"), "page": (lambda **k: page_image("x.pdf", **k), "page"),
}


def test_what_is_no_number_is_refused():
    taken = []
    for name, (call, argument) in NUMBERS.items():
        for value in (True, False, "3", float("nan"), -1):
            try:
                call(**{argument: value})
                taken.append((name, value))
            except ValueError as error:
                taken += [] if isinstance(error, InputError) else [(name, value, error)]
    assert not taken
