"""The names of the design documents: windows by words, rows of one parent, and numbers that are none."""
from __future__ import annotations

import warnings

import pytest
from every_chunk import Every, filled, TEXT
from hypothesis import given, strategies as st
from llama_index.core.schema import Document, NodeWithScore
from strategies import examples

from ragnb import (
    adaptive, Address, by_doc_type, Conversation, Expander, InputError, Outline, Passage, RankedContextBuilder, siblings, Span)
from ragnb.context.budgets import budget_for
from ragnb.context.builders import cut_passage, cut_to_sentences, PassageRanking, resolve_builder
from ragnb.context.compress import compress_passages
from ragnb.context.page_images import page_image
from ragnb.context.display import display_docs
from ragnb.documents.kinds import Catalogue
from ragnb.expansion.fetch import fetch_chunks
from ragnb.expansion.policies import auto_merge, llm_window, sentence_window, whole_document, with_citations
from ragnb.expansion.policy import resolve_policy, Seen, Situation
from ragnb.expansion.segments import best_segments
from ragnb.machinery.registry import parts_of
from ragnb.indexing.collections import MINISTRIES, route_record

@pytest.mark.parametrize("words, window", [(1, 8), (49, 8), (50, 5), (149, 5), (150, 2), (400, 2)])
def test_adaptive_counts_words_also_without_a_text(words, window):
    text = "나무 " * 40 * max(words, 1)
    spans = [Span(i, i + 3 * words) for i in range(0, len(text) - 3 * words + 1, 3 * words)][:40]
    outline, hit = Outline("d", len(text), {"c": spans}), Address("d", "c", 20)
    told = adaptive("words").prepare(Situation((Seen(hit, text="나무 " * words),), {"d": outline}))(outline, hit)
    assert told == spans[20 - window].hull(spans[20 + window])
    without = Outline("d", 160 * words + 4 * words, {"c": [Span(i * 4 * words, (i + 1) * 4 * words) for i in range(41)]})
    assert len(adaptive("words")(without, hit)) == (2 * window + 1) * 4 * words     # four characters a word


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
    catalogue = Catalogue.from_documents(ROWS)
    store, _ = filled(Every(), *ROWS, Document(text=TEXT, id_="alone"))
    expander = Expander(store, resolve_policy("siblings", catalogue=catalogue))
    hits = [NodeWithScore(node=store.get_chunks([i]).found[i], score=0.5) for i in ("CASE_1_summary#c1", "alone#c3")]
    before = store.reads
    out = expander.expand(hits)
    assert [(p.doc_id, p.rank) for p in out.passages] == [("CASE_1_summary", 1), ("CASE_1_detail", 1), ("alone", 2)]
    assert store.reads - before == out.stats.reads == 2 and out.stats.beside == 1
    assert out.passages[1].text == ROWS[1].text.rstrip() or out.passages[1].text == ROWS[1].text
    assert str(out.passages[1].why["CASE_1_detail#c0"]) == "siblings:1: of the same parent (rank 1)"


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


STORE, _ = filled(Every(), "7")
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
