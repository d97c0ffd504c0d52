"""Every policy: what it reads at the edges, what the designs' code got wrong, and the promises of the expander."""
from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, strategies as st
from strategies import examples
from test_expand import check, chunks_of, Counting, fill, hit, outline_of, row, situations

from ragnb.documents.span import Address, InputError, MissingChunkError, Outline, parse_address, Span
from ragnb.expansion.expander import Expander, ExpandPostprocessor, merge_by_document
from ragnb.expansion.fetch import fetch_chunks, fetch_doc_chunks, fetch_doc_pages, fetch_pages
from ragnb.expansion.policies import (adaptive, auto_merge, by_doc_type, llm_window, pages, read_windows,
                                      resolve_policy, section, sentence_window, whole_document, with_citations)
from ragnb.expansion.policy import neighbors, Place, policy_name
from ragnb.expansion.segments import best_runs, best_segments, word_relevance
from ragnb.retrieval.sqlite_store import SqliteStore
from ragnb.retrieval.sqlite_units import SqliteUnits
from ragnb.storage.store import MemoryStore
from ragnb.chunking.structure import RecordNodeParser


class Says:
    """A model with one answer; counts its calls."""

    def __init__(self, answer: str | Exception) -> None:
        self.answer, self.prompts = answer, []

    def predict(self, prompt: Any, **kwargs: Any) -> str:
        self.prompts.append(prompt.format(**kwargs))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def hashed(question: str, chunks: Sequence[Address]) -> list[float]:
    """Some value for every chunk, always the same."""
    return [zlib.crc32(f"{question}{a}".encode()) % 100 / 100 for a in chunks]


def even(n: int = 40, size: int = 100, **more: Any) -> Outline:
    """A document of n chunks of one size."""
    return Outline("d", n * size, {"c": [Span(i * size, (i + 1) * size) for i in range(n)]}, **more)


def at(i: int, level: str = "c") -> Address:
    return Address("d", level, i)


def paged(store: MemoryStore, doc_id: str, n: int = 20, per_page: int = 4, **metadata: Any) -> tuple[str, dict]:
    """A document of n sentences, some on a page."""
    starts = [10 * i for i in range(0, 10, per_page)] + [100 + 11 * (i - 10) for i in range(0, n, per_page) if i >= 10]
    return row(store, doc_id, n, page_starts=starts, **metadata)


def spans_of(expansion: Any) -> list[Span]:
    return [p.span for p in expansion.passages]


def cite_next(doc_ids: Sequence[str]) -> Callable[[str, Span], list[Place]]:
    """Everybody cites the head of the next document, something of its own, and a document that is not there."""
    def cite(doc_id: str, span: Span) -> list[Place]:
        if doc_id not in doc_ids:
            return []
        following = doc_ids[(doc_ids.index(doc_id) + 1) % len(doc_ids)]
        return [Place(following, Span(0, 7), "next"), Place(doc_id, Span(span.end // 2, span.end // 2 + 9), "own"),
                Place("nowhere", Span(0, 5)), Place(doc_id, Span(3, 3))]
    return cite


SPECS = ["none", "neighbors:2", "siblings", "adaptive", "adaptive:words", "pages:1", "document:7", "doc_type", "parent",
         "auto-merge:0.3", "window:1", "section", "section:1", "llm:2", "segments", "citations", "citations:2",
         "neighbors:1+citations:2", "doc_type+segments"]


def make(spec: str, doc_ids: Sequence[str], answer: str | Exception = "[1, 2, 3]") -> Any:
    relevance = hashed if "+" in spec else None
    return resolve_policy(spec, llm=Says(answer), catalogue=cite_next(doc_ids), relevance=relevance)


@examples(60)
@given(
    situations("cs"), st.integers(0, 8), st.integers(1, 40), st.sampled_from(["[1, 2, 3]", "[0]", "no", ValueError("down")])
)
def test_every_policy_keeps_the_promises(situation, top_k, max_chunks, answer):
    store, texts, hits = situation
    before = [h.model_dump_json() for h in hits]
    for spec in SPECS:
        store.asked = []
        expansion = Expander(store, make(spec, list(texts), answer), top_k, max_chunks).expand(hits, "연차?")
        check(expansion, texts, hits)
        assert len(store.asked) == expansion.stats.reads <= 2 and expansion.stats.llm_calls <= 1
        assert [h.model_dump_json() for h in hits] == before
        assert len({a for p in expansion.passages for a in (*p.hits, *p.neighbors)}) <= max(max_chunks, len(hits))
        again = Expander(store, make(spec, list(texts), answer), top_k, max_chunks).expand(hits, "연차?")
        assert (again.passages, again.stats, again.dropped) == (expansion.passages, expansion.stats, expansion.dropped)
        for h in hits:
            assert any(p.span.contains(Span(h.node.start_char_idx, h.node.end_char_idx)) for p in expansion.passages
                       if p.doc_id == h.node.ref_doc_id)


@examples(40)
@given(situations("cs"), st.data())
def test_holes_are_never_glued_over_whatever_the_policy(situation, data):
    store, texts, hits = situation
    store.lost = set(data.draw(st.lists(st.sampled_from(sorted(chunks_of(store))), unique=True)))
    kept = {h.node_id for h in hits} - store.lost
    for spec in SPECS:
        expansion = Expander(store, make(spec, list(texts)), len(hits), 10_000).expand(hits)
        check(expansion, texts, hits)
        for p in expansion.passages:
            assert not set(p.neighbors) & store.lost
            told = [expansion.outlines[p.doc_id].span_of(parse_address(a)) for a in (*p.hits, *p.neighbors)]
            assert all(texts[p.doc_id][i].isspace() or any(s.start <= i < s.end for s in told) for i in range(p.span.start, p.span.end))
        dropped = Expander(store, make(spec, list(texts)), len(hits), 10_000, "drop").expand(hits)
        assert {a for p in dropped.passages for a in p.hits} == kept
        assert dropped.stats.reads <= 2 and all(
            p.text == texts[p.doc_id][p.span.start : p.span.end] for p in dropped.passages)


@pytest.mark.parametrize("bad, message", [
    ("pages:-1", "window must be >= 0, got -1"), ("document:0", "max_chunks must be >= 1, got 0"),
    ("auto-merge:1.5", r"ratio must be in \[0, 1\], got 1.5"), ("auto-merge:nan", "ratio"),
    ("window:-2", "got -2"), ("section:0", "level must be >= 1"), ("segments:0", "penalty > 0"),
    ("adaptive:klingon", "unknown tokenizer"), ("pages:x", "unknown policy"), ("", "unknown policy"),
    ("neighbors:1.5", "unknown policy"), ("none:1", "unknown policy"),
    ("neighbors:-1", "window must be >= 0, got -1"), ("doc_type:x", "unknown policy"),
    ("doc_type:0", "max_chunks must be >= 1"), ("document:", "unknown policy"), ("llm", "needs a model"),
    ("citations", "needs a catalogue")])
def test_bad_arguments_are_named(bad, message):
    with pytest.raises(InputError, match=message):
        resolve_policy(bad)


def test_the_prose_of_the_design_can_be_had():
    prose = adaptive(steps=((500, 10),))
    assert prose(even(40, 100), at(20)) == Span(1_000, 3_100) and prose(even(40, 500), at(20)) == Span(9_000, 11_500)
    for bad in ({"steps": ((5, 1), (1, 5))}, {"steps": ((5, -1),)}, {"longest": -1}):
        with pytest.raises(InputError, match="must rise|must be >= 0"):
            adaptive(**bad)

PAGES = even(40, 10, pages=[(n + 1, Span(40 * n, 40 * n + 40)) for n in range(10)])
LARGE = Outline("d", 100, {"c": [Span(0, 35), Span(35, 90), Span(90, 100)]}, pages=[(n + 1, Span(10 * n, 10 * n + 10)) for n in range(10)])
ODD = even(3, 10, pages=[(1, Span(0, 10)), (2, Span(10, 10)), (3, Span(10, 20)), (7, Span(20, 30))])


@pytest.mark.parametrize("outline, n, i, expected", [
    (PAGES, 2, 0, Span(0, 120)), (PAGES, 2, 39, Span(280, 400)), (PAGES, 0, 5, Span(40, 80)),    # no page that cannot be
    (LARGE, 1, 1, Span(20, 100)), (LARGE, 0, 1, Span(30, 90)),                                 # a chunk on pages 4 to 9
    (ODD, 1, 1, Span(10, 20)), (ODD, 2, 1, Span(0, 20)), (ODD, 4, 2, Span(10, 30))])   # page 2 holds nothing, there is no page 4
def test_pages_at_the_edges(outline, n, i, expected):
    assert pages(n)(outline, at(i)) == expected and LARGE.pages_of(Span(35, 90)) == (4, 5, 6, 7, 8, 9)
    assert pages(2)(even(), at(20)) == neighbors()(even(), at(20)) and pages(2, "none")(even(), at(20)) == Span(2_000, 2_100)


def test_each_document_is_asked_its_own_type():
    """Three hits, the last of a service record: the design merges the two of the manual as well."""
    store = Counting()
    gcb, manual = paged(store, "g", doc_type="GCB")[1], paged(store, "m", doc_type="manual")[1]
    hits = [hit(manual["m#c1"], 0.9), hit(manual["m#c17"], 0.8), hit(gcb["g#c3"], 0.7), hit(gcb["g#c15"], 0.6)]
    expansion = Expander(store, by_doc_type({"gcb": "document"}, "pages:0")).expand(hits)
    shown = merge_by_document(expansion.passages, ["gcb", "myservice"])
    assert [d.doc_id for d in shown] == ["m", "m", "g"] and len(store.asked) == 2
    assert expansion.stats.merged == 1    # the two of the record are one text, told once


def test_types_are_compared_without_case_and_the_rest_goes_by_pages():
    for kind, policy in (
        ("GCB", whole_document()), (" MyService ", whole_document()), ("manual", pages(2)), (None, pages(2)),
        (7, pages(2)),
    ):
        outline = Outline("d", 400, PAGES.levels, pages=PAGES.pages, metadata={"doc_type": kind})
        assert by_doc_type()(outline, at(20)) == policy(outline, at(20))
    assert by_doc_type({"7": "parent"}, "none", key="kind")(even(metadata={"kind": "x"}), at(3)) == Span(300, 400)
    with pytest.raises(InputError, match="differ only in case"):
        by_doc_type({"a": "none", "A": "none"})


def merged(hits: Sequence[int], ratio: float = 0.5) -> list[Span]:
    """Spans of the passages: ten chunks, parents of four, four, one, and one chunk outside."""
    store = MemoryStore()
    text = "가나다라마바사아자" * 10
    nodes = fill(store, "d", text,
                 {"c": [Span(9 * i, 9 * i + 9) for i in range(10)], "p": [Span(0, 36), Span(36, 72), Span(72, 81)]})
    return spans_of(Expander(store, auto_merge(ratio)).expand([hit(nodes[f"d#c{i}"], None) for i in hits]))


def test_auto_merge_takes_more_than_its_share():
    assert merged([0, 2]) == [Span(0, 9), Span(18, 27)]                          # two of four is not more than half
    assert merged([0, 2, 3]) == [Span(0, 36)]                                    # three is, scores or not
    assert merged([0, 2, 0, 2, 0]) == [Span(0, 9), Span(18, 27)]                 # a hit given twice counts once
    assert merged([8]) == [Span(72, 81)] and merged([9]) == [Span(81, 90)]       # an only child, an orphan
    assert merged([5, 0, 1, 2]) == [Span(45, 54), Span(0, 36)]
    assert merged([0], 0.25) == [Span(0, 9)] and merged([0], 0) == [Span(0, 36)]
    assert merged([0, 1, 2, 3], 1) == [Span(0, 36)] and merged([0, 2, 3], 1) == [Span(0, 9), Span(18, 36)]


def test_hits_that_are_not_expanded_count_too():
    store = MemoryStore()
    nodes = fill(
        store, "d", "가나다라" * 8, {"c": [Span(4 * i, 4 * i + 4) for i in range(8)], "p": [Span(0, 16), Span(16, 32)]})
    expansion = Expander(store, auto_merge(), expand_top_k=1).expand([hit(nodes[f"d#c{i}"]) for i in (0, 2, 3, 5)])
    assert spans_of(expansion) == [Span(0, 16), Span(20, 24)] and expansion.stats.merged == 2


def test_children_of_two_overlapping_parents_belong_to_the_last():
    outline = Outline("d", 70, {"c": [Span(10 * i, 10 * i + 10) for i in range(7)], "p": [Span(0, 40), Span(30, 70)]})
    policy = auto_merge(0.2)
    assert policy(outline, at(3)) == Span(30, 70) and policy(outline, at(2)) == Span(0, 40)
    with pytest.raises(InputError, match="needs level 'p'"):
        policy(even(), at(3))


SENTENCES = Outline("d", 100, {"c": [Span(0, 25), Span(25, 45), Span(45, 75), Span(75, 100)], "s": [Span(10 * n, 10 * n + 10) for n in range(1, 9)]})


@pytest.mark.parametrize("window, i, expected", [
    (0, 0, Span(0, 30)), (1, 0, Span(0, 40)), (0, 1, Span(20, 50)), (1, 1, Span(10, 60)), (2, 2, Span(20, 90)), (9, 1, Span(10, 90)),
    (1, 3, Span(60, 100))])    # beyond the first and the last sentence, the hit alone
def test_sentences_around_a_hit(window, i, expected):
    assert sentence_window(window)(SENTENCES, at(i)) == expected


def test_a_hit_without_a_sentence_stands_alone():
    assert sentence_window(3)(Outline("d", 100, {"c": [Span(0, 5)], "s": [Span(10, 20)]}), at(0)) == Span(0, 5)
    with pytest.raises(InputError, match="needs level 's'"):
        sentence_window()(even(), at(3))


BOOK = even(10, 10, sections=[
    ("A", Span(10, 20)), ("A > B", Span(20, 40)), ("A > B > C", Span(40, 60)), ("A > D", Span(60, 70)),
    ("E", Span(70, 80)), ("E", Span(80, 100))])


@pytest.mark.parametrize("i, smallest, outermost", [
    (0, Span(0, 10), Span(0, 10)), (1, Span(10, 20), Span(10, 70)), (2, Span(20, 40), Span(10, 70)),
    (5, Span(40, 60), Span(10, 70)), (6, Span(60, 70), Span(10, 70)), (7, Span(70, 80), Span(70, 80)),
    (9, Span(80, 100), Span(80, 100))])
def test_sections(i, smallest, outermost):
    assert section()(BOOK, at(i)) == smallest and section(1)(BOOK, at(i)) == outermost


def test_sections_of_a_level_and_their_cap():
    assert [section(k)(BOOK, at(5)) for k in (1, 2, 3, 4)] == [Span(10, 70), Span(20, 60), Span(40, 60), Span(40, 60)]
    assert section(1, longest=40)(BOOK, at(5)) == Span(20, 60) and section(1, longest=10)(BOOK, at(5)) == Span(50, 60)
    assert section(longest=15)(BOOK, at(3)) == Span(30, 40)    # cut to whole chunks around the hit
    assert section()(even(), at(3)) == neighbors()(even(), at(3)) and section(otherwise="none")(even(), at(3)) == Span(
        300, 400)
    implied = even(10, 10, sections=[("A > B > C", Span(10, 20)), ("A > B > D", Span(20, 40)), ("A > E", Span(40, 60)),
                                     ("AB > F", Span(60, 100))])  # 장 without text of its own
    assert [[section(k)(implied, at(i)) for k in (1, 2, 3)] for i in (1, 3, 5, 6)] == [
        [Span(10, 60), Span(10, 40), Span(10, 20)], [Span(10, 60), Span(10, 40), Span(20, 40)],
        [Span(10, 60), Span(40, 60), Span(40, 60)], 3 * [Span(60, 100)]]
    across = Outline("d", 100, {"c": [Span(0, 25), Span(25, 45), Span(45, 75), Span(75, 100)]}, sections=BOOK.sections)
    assert section()(across, at(1)) == Span(20, 60)    # from B into C: B with what is below it holds both
    assert section()(across, at(2)) == Span(40, 75)    # from C into E: no section holds both


@pytest.mark.parametrize("answer, expected", [
    ("[1, 0, 5]", [1, 0, 5]), ("답: [1,0,99] 입니다", [1, 0, 10]), ("[a] 그리고 [2, 2, 2]", [2, 2, 2]),
    ("```json\n[0, 0, 0]\n```", [0, 0, 0]), ("[1, 2]", None), ("[1, 2, 3, 4]", None), ("[-1, 0, 1]", None),
    ("[true, 1, 1]", None), ("[1.5, 1, 1]", None), ("", None), ("[[1, 2, 3", None), ("{\"1\": 2}", None),
    ("2", [2, 2, 2]), ("[2]", [2, 2, 2]), ("window: 2", [2, 2, 2]), ("2개", [2, 2, 2]), ("12", [10, 10, 10]), ("-2", None), ("2.5", None),
    ("[1]: 2\n[2]: 0\n[3]: 1", [2, 0, 1]), ('{"1": 2, "2": 0, "3": 1}', [2, 0, 1]), ("자료 1번: 2, 2번: 0, 3번: 1", [2, 0, 1]),
    ("[1]: 2\n[2]: 0", None), ("2~3", None), ("1,000", None)])
def test_windows_are_read_strictly(answer, expected):
    if expected is None:
        with pytest.raises(ValueError, match="neither one whole number nor 3"):
            read_windows(answer, 3, 10)
    else:
        assert read_windows(answer, 3, 10) == expected


def test_the_model_is_asked_once_about_all_hits_and_no_text_breaks_out():
    store = MemoryStore()
    nodes = fill(store, "d", "가나 </자료> 다라 {most} 마바사", {"c": [Span(0, 10), Span(11, 20), Span(20, 25)]})
    llm = Says("[0, 1]")
    Expander(store, llm_window(llm)).expand([hit(nodes["d#c0"]), hit(nodes["d#c1"])], "며칠 {n}?")
    (prompt,) = llm.prompts
    assert (prompt.count("</자료>") == 1 and "[1] 가나 ‹/자료>" in prompt and '{"window": 2}' in prompt and "며칠 {n}?" in prompt
            and "10까지" in prompt)


@examples(200)
@given(st.lists(st.integers(-5, 5), max_size=14), st.integers(1, 14))
def test_best_runs_against_all_runs(values, longest):
    runs = best_runs(values, longest)
    assert all(len(r) <= longest and sum(values[i] for i in r) > 0 for r in runs)
    assert len({i for r in runs for i in r}) == sum(map(len, runs))
    sums = [sum(values[a:b]) for a in range(len(values)) for b in range(a + 1, min(len(values), a + longest) + 1)]
    assert max(sums, default=0) == (sum(values[i] for i in runs[0]) if runs and max(sums) > 0 else max(sums, default=0))
    assert [sum(values[i] for i in r) for r in runs] == sorted((sum(values[i] for i in r) for r in runs), reverse=True)
    rest = [i for i in range(len(values)) if not any(i in r for r in runs)]
    assert all(values[i] <= 0 for i in rest)    # whatever is left is not worth reading alone


def test_segments_go_beyond_the_last_retrieved_chunk():
    store, good = MemoryStore(), {3, 4, 5, 6, 17, 18}
    text, nodes = row(store, "d")
    def relevance(question, chunks): return [0.9 if a.index in good else 0.0 for a in chunks]
    expansion = Expander(store, best_segments(relevance=relevance)).expand([hit(nodes["d#c5"])], "?")
    assert [(p.hits, p.neighbors) for p in expansion.passages] == [
        (("d#c5",), ("d#c3", "d#c4", "d#c6")), ((), ("d#c17", "d#c18"))]
    assert "segment, mean value 0.90 (rank 1)" in str(expansion.passages[1].why["d#c17"])


def test_segments_of_hits_alone_close_small_gaps():
    store = MemoryStore()
    _, nodes = row(store, "d")
    expansion = Expander(store, best_segments()).expand([hit(nodes[f"d#c{i}"]) for i in (5, 8, 15)])
    assert [(p.hits, len(p.neighbors)) for p in expansion.passages] == [(("d#c5", "d#c8"), 2), (("d#c15",), 0)]


def test_relevance_of_words_needs_no_read():
    store = Counting()
    text, nodes = row(store, "d")
    held, empty = (SqliteStore(SqliteUnits(tokenizer=lambda texts: map(str.split, texts))) for _ in range(2))
    row(held, "d")
    values = word_relevance(held)("7번째", [at(i) for i in range(20)] + [Address("x", "c", 0)])
    assert values[7] == 1.0 and sum(values) == 1.0
    assert word_relevance(empty)("7번째", [at(0)]) == [0.0]
    expansion = Expander(store, best_segments(relevance=word_relevance(held))).expand([hit(nodes["d#c5"])], "7번째")
    assert expansion.passages[0].neighbors == ("d#c6", "d#c7") and len(store.asked) == 2
    for bad in (lambda q, c: [0.0], lambda q, c: [math.nan] * len(c)):
        with pytest.raises(InputError, match="relevance must give 20 finite numbers"):
            Expander(store, best_segments(relevance=bad)).expand([hit(nodes["d#c5"])])


def test_references_follow_citations_to_a_depth_and_each_once():
    store = Counting()
    texts = {d: row(store, d)[0] for d in "abc"}
    def chunk(d: str, i: int) -> Span: return outline_of(store, d).levels["c"][i]
    arrows = {("a", 5): [("b", 3), ("a", 12)], ("b", 3): [("c", 0), ("a", 5), ("b", 3)], ("a", 12): [("b", 3)],
              ("c", 0): [("c", 9)]}
    def cite(doc_id: str, span: Span) -> list[Place]:
        return [Place(d, chunk(d, i), f"→{d}{i}") for (s, j), to in arrows.items()
                if s == doc_id and chunk(s, j).overlap(span) for d, i in to]
    found = {}
    for depth in (1, 2, 3):
        store.asked = []
        expansion = Expander(store, with_citations(cite, depth)).expand([hit(chunks_of(store)["a#c5"], 0.9)])
        found[depth] = [(p.doc_id, p.hits or p.neighbors) for p in expansion.passages]
        assert len(store.asked) == 2 and all(
            p.text == texts[p.doc_id][p.span.start : p.span.end] for p in expansion.passages)
    assert found[1] == [("a", ("a#c5",)), ("b", ("b#c3",)), ("a", ("a#c12",))]
    assert found[2] == [*found[1], ("c", ("c#c0",))] and found[3] == [*found[2], ("c", ("c#c9",))]
    limited = Expander(store, with_citations(cite, 3, most=2)).expand([hit(chunks_of(store)["a#c5"])])
    assert limited.stats.beside == 2
    for bad in ({"depth": 0}, {"most": 0}):
        with pytest.raises(InputError, match="(depth|most) must be >= 1"):
            with_citations(cite, **bad)


def test_a_node_that_does_not_say_where_it_stands_brings_what_is_at_hand():
    """Without an offset the other documents are not known before their outlines are read; its own is."""
    store = Counting()
    row(store, "a"), row(store, "b")
    spans = outline_of(store, "a").levels["c"]
    node = chunks_of(store)["a#c5"].model_copy(update={"start_char_idx": None, "end_char_idx": None})
    policy = with_citations(lambda d, s: [Place("b", spans[2]), Place("a", spans[12])])
    expansion = Expander(store, policy).expand([hit(node)])
    assert [p.doc_id for p in expansion.passages] == ["a", "a"] and list(expansion.dropped.values()) == [
        "its document is not in the index"]
    assert len(store.asked) == 2


@pytest.mark.shed
def test_a_catalogue_of_statutes_cites():
    from ragnb.documents.kinds import Catalogue
    from llama_index.core.schema import Document

    text = "휴가법\n[시행 2020. 1. 1.]\n\n" + "\n\n".join(f"제{i}조({t}) {b}" for i, (t, b) in enumerate(
        [("목적", "이 법은 휴가를 정한다."), ("정의", "휴가란 쉬는 날을 말한다."), ("기간", "휴가는 15일로 한다."), ("예외", "제2조에 따른 휴가가 아닌 날은 제외한다.")],
        1))
    document = Document(text=text, id_="휴가법", metadata={"title": "휴가법"})
    nodes, outline = RecordNodeParser(kind="statute", min_size=1).parse(document)
    for n in nodes:
        n.embedding = [1.0]
    store = Counting()
    store.put(nodes, [outline])
    catalogue = Catalogue.from_documents([document])
    asked = next(n for n in nodes if "제4조" in n.text)
    expansion = Expander(store, resolve_policy("citations", catalogue=catalogue)).expand([hit(asked)])
    assert len(expansion.passages) == 2 and expansion.passages[1].text.startswith("제2조") and len(store.asked) == 2


def test_pages_are_fetched_in_two_reads_for_any_number_of_documents():
    store = Counting()
    for d in range(40):
        paged(store, f"d{d}")
    found = fetch_pages(store, {f"d{d}": [None, -1, 0, 2, 99] for d in range(41)})
    assert (
        [k for k, _ in store.asked] == ["outlines", "chunks"] and found.missing == ("d40",) and len(found.found) == 40)
    assert [n.metadata["index"] for n in found.found["d7"]] == [4, 5, 6, 7]
    assert fetch_pages(store, {}) == ({}, ()) and len(store.asked) == 2


def test_documents_are_fetched_whole_or_around_a_chunk():
    store = Counting()
    row(store, "d", 120)
    def numbers(**more: Any) -> list[int]: return [n.metadata["index"] for n in fetch_doc_chunks(store, "d", **more)]
    assert numbers() == list(range(50)) and numbers(max_chunks=500) == list(range(120))
    assert (numbers(around="d#c100") == list(range(70, 120)) and numbers(around=60, max_chunks=3) == [59, 60, 61]
            and numbers(around=at(119), max_chunks=2) == [118, 119])
    assert [n.metadata["index"] for n in fetch_doc_pages(store, "d", [1])] == []    # no pages
    store.lost = {"d#c1"}
    assert numbers(max_chunks=3) == [0, 2] and fetch_chunks(store, {"d": None}, 3).missing == ("d#c1",)
    for call in (lambda: fetch_doc_pages(store, "x", [1]), lambda: fetch_doc_chunks(store, "x")):
        with pytest.raises(MissingChunkError, match="no document 'x'"):
            call()
    with pytest.raises(InputError, match="max_chunks"):
        fetch_doc_chunks(store, "d", 0)
    store.lost, store.asked = set(), []
    for d in range(10):
        row(store, f"e{d}")
    assert {len(v) for v in fetch_chunks(store, {f"e{d}": 10 for d in range(10)}, 5).found.values()} == {5} and len(
        store.asked) == 2


def levels_of_one() -> MemoryStore:
    """A document of twenty sentences with a parent above them."""
    store = MemoryStore()
    row(store, "1")
    spans = outline_of(store, "1").levels["c"]
    outline_of(store, "1").levels.update({"s": spans, "p": [Span(0, spans[-1].end)]})
    return store


def test_a_postprocessor_works_with_every_policy():
    for spec in [*SPECS, "window", "adaptive:cl100k_base"]:
        store = levels_of_one()
        post = ExpandPostprocessor(store=store, policy=(policy := make(spec, ["1"])))
        nodes = post.postprocess_nodes([hit(chunks_of(store)["1#c5"])], query_str="며칠?")
        assert policy_name(policy) and "1#c5" in nodes[0].metadata["hits"]


@pytest.mark.shed
def test_dicts_work_with_every_policy():
    from ragnb import expand_dicts
    for spec in [*SPECS, "window", "adaptive:cl100k_base"]:
        found = [{**name, "_source": {"document_id": 1, "chunk_index": index, "text": "…"}}
                 for name, index in (({"_id": "c1"}, 5), ({"_id": "twin"}, 5), ({}, 9))]
        ours = expand_dicts(Expander(levels_of_one(), make(spec, ["1"])), found)
        assert [c.get("_id") for c in ours if not c["is_neighbor"]] == ["c1", "twin", None]    # one chunk, two entries
        assert len(ours) - 1 == len({(c["_source"]["document_id"], c["_source"]["chunk_index"]) for c in ours})
