"""Spans, addresses, outlines and stitching against brute force."""
from __future__ import annotations

import re
from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import doc_ids, examples, span_levels, span_lists

from ragnb.documents.span import (
    LEVELS, ROLES, Address, DuplicateIdError, IndexMismatchError, InputError, MissingChunkError, Outline, Passage, RagnbError,
    Span, Spans, Why, covering, id_key, n_characters, needed, parse_address, shared, stitch, try_address, union)

TEXT = "".join(chr(0xAC00 + 7 * i) if i % 6 else " " for i in range(60))  # no two visible characters are equal
addresses = st.builds(Address, doc_ids, st.sampled_from(list(LEVELS)), st.integers(0, 10**9))


def spans(pairs: list[tuple[int, int]]) -> list[Span]:
    return [Span(*p) for p in pairs]


def characters(pairs: list[tuple[int, int]]) -> set[int]:
    return {i for a, b in pairs for i in range(a, b)}


def runs(at: set[int]) -> list[Span]:
    """Maximal runs of a set of offsets."""
    starts = [i for i in sorted(at) if i - 1 not in at]
    ends = [i + 1 for i in sorted(at) if i + 1 not in at]
    return [Span(a, b) for a, b in zip(starts, ends)]


@examples(200)
@given(span_lists(), span_lists())
def test_union_shared_and_count_are_set_operations(left: list, right: list) -> None:
    a, b = characters(left), characters(right)
    assert union(spans(left)) == runs(a)
    assert n_characters(spans(left)) == len(a)
    assert characters([(s.start, s.end) for s in shared(spans(left), spans(right))]) == a & b
    assert n_characters(shared(spans(left), spans(right))) == len(a & b)
    assert shared(spans(left), spans(right)) == shared(spans(right), spans(left))
    found = shared(spans(left), spans(right))
    assert all(s and s.end <= t.start for s, t in zip(found, found[1:])) and all(found)
    assert union(spans(left)[::-1]) == union(iter(spans(left))) == union(runs(a)) == runs(a)


@examples(200)
@given(st.tuples(st.integers(0, 20), st.integers(0, 20)), st.tuples(st.integers(0, 20), st.integers(0, 20)))
def test_two_spans_against_sets(p: tuple[int, int], q: tuple[int, int]) -> None:
    p, q = (min(p), max(p)), (min(q), max(q))
    a, b, x, y = Span(*p), Span(*q), characters([p]), characters([q])
    assert a.overlap(b) == b.overlap(a) == len(x & y)
    assert len(a) == len(x) and bool(a) == bool(x)
    assert a.touches(b) == b.touches(a) == (max(p[0], q[0]) <= min(p[1], q[1]))
    assert a.contains(b) == (p[0] <= q[0] and q[1] <= p[1])
    assert a.hull(b) == b.hull(a) and a.hull(b).contains(a) and a.hull(b).contains(b)
    assert len(a.hull(b)) == max(p[1], q[1]) - min(p[0], q[0])
    assert a.of(TEXT) == TEXT[p[0]:p[1]]


@examples(200)
@given(span_levels(), st.integers(0, 50), st.integers(0, 50))
def test_covering_is_the_overlapping_run(level: list, a: int, b: int) -> None:
    span, level = Span(min(a, b), max(a, b)), spans(level)
    assert list(covering(level, span)) == [i for i, s in enumerate(level) if s.overlap(span)]


@examples(200)
@given(span_levels(), st.integers(0, 50), st.integers(0, 50))
def test_needed_is_the_shortest_run_that_holds_as_much(level: list, a: int, b: int) -> None:
    span, level = Span(min(a, b), max(a, b)), spans(level)
    run, least = covering(level, span), needed(level, span)
    assert set(least) <= set(run) and bool(least) == bool(run)

    def held(indices: range) -> list[Span]:
        return shared([level[i] for i in indices], [span])

    assert held(least) == held(run)
    if least:
        assert held(range(least[0] + 1, least[-1] + 1)) != held(run) and held(range(least[0], least[-1])) != held(run)


@examples(200)
@given(st.lists(st.integers(0, 40), max_size=6), st.integers(0, 39), st.integers(1, 10))
def test_pages_of_lists_every_page_with_a_shared_character(starts: list[int], a: int, length: int) -> None:
    edges = [*sorted(set(starts)), 60]
    pages = [(n, Span(s, e)) for n, (s, e) in enumerate(zip(edges, edges[1:]), 1)]
    span = Span(a, a + length)
    assert Outline("d", 60, pages=pages).pages_of(span) == tuple(n for n, s in pages if s.overlap(span))


@examples(200)
@given(addresses, addresses)
def test_address_round_trip(address: Address, other: Address) -> None:
    text = str(address)
    assert parse_address(text) == address and (address == other) == (text == str(other))
    assert text.startswith(address.doc_id) and len(text) > len(address.doc_id) + 2
    assert [a.index for a in sorted(Address(other.doc_id, "c", i) for i in (10, 9, 100, 2))] == [2, 9, 10, 100]


@examples(200)
@given(st.integers(0, 30), st.integers(0, 40), st.integers(0, 40), doc_ids)
def test_around_is_clipped_to_the_document(index: int, window: int, n_chunks: int, doc_id: str) -> None:
    found = Address(doc_id, "c", index).around(window, n_chunks)
    assert [a.index for a in found] == [i for i in range(n_chunks) if abs(i - index) <= window]
    assert {(a.doc_id, a.level) for a in found} <= {(doc_id, "c")}


@examples(200)
@given(st.text(max_size=30))
def test_parse_address_answers_or_raises_its_own_error(text: str) -> None:
    try:
        assert str(parse_address(text)) == text
    except InputError as error:
        assert repr(text) in str(error)


@pytest.mark.parametrize("text", [
    "", "c12", "d#", "#c1", "d#c", "d#x1", "d#c-1", "d#c01", "d#c1 ", "d#c1\n", "d#C1", "d#c1.5", "d#c١", "chunk_1",
    "d#c" + "1" * 5000])
def test_what_is_not_an_address(text: str) -> None:
    with pytest.raises(InputError, match="not a chunk address"):
        parse_address(text)
    assert try_address(text) is None and id_key(text) == (1, text)


@pytest.mark.parametrize(("make", "message"), [
    (lambda: Span(5, 3), "start=5, end=3"), (lambda: Span(-1, 3), "start=-1"),
    (lambda: Address("", "c", 0), "document id"), (lambda: Address("d", "x", 0), "level must be one of .* got 'x'"),
    (lambda: Address("d", "", 0), "level"), (lambda: Address("d", "cp", 0), "level"),
    (lambda: Address("d", "c", -1), "index must be >= 0, got -1"),
    (lambda: Address("d", "c", 0).around(-1, 3), "window must be >= 0, got -1"),
    (lambda: Passage("d", Span(0, 3), "ab"), "2 characters, its span 3"),
    (lambda: Why("nearby"), "role must be one of hit, .*, got 'nearby'")])
def test_bad_arguments_are_named(make, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()


def test_span_of_reports_what_is_missing() -> None:
    outline = Outline("d", 10, {"c": [Span(0, 4), Span(3, 10)]})
    assert outline.span_of(Address("d", "c", 1)) == Span(3, 10)
    for address in (Address("d", "c", 2), Address("d", "p", 0), Address("e", "c", 0)):
        with pytest.raises(MissingChunkError, match=re.escape(str(address))):
            outline.span_of(address)


def test_errors_are_one_family_and_keep_their_builtin_class() -> None:
    assert all(issubclass(e, RagnbError) for e in (InputError, DuplicateIdError, MissingChunkError, IndexMismatchError))
    assert issubclass(InputError, ValueError) and issubclass(DuplicateIdError, InputError)
    assert issubclass(MissingChunkError, KeyError)
    assert str(MissingChunkError("no chunk d#c1")) == "no chunk d#c1"  # without the quotes of a KeyError


@examples(200)
@given(span_levels(length=60), st.data())
def test_stitch_rebuilds_or_raises_never_glues(level: list, data: st.DataObject) -> None:
    """Chunks and blanks in any order: either the exact text, or an error exactly when a character is missing."""
    a, b = sorted((data.draw(st.integers(0, 60)), data.draw(st.integers(0, 60))))
    level = [(s, min(e, 60)) for s, e in level if s < min(e, 60)]
    pieces = data.draw(st.permutations([(Span(s, e), TEXT[s:e]) for s, e in level]))
    blanks = {i: c for i, c in enumerate(TEXT) if c == " "}
    held = characters(level) | set(blanks)
    missing = sorted(set(range(a, b)) - held)
    if missing:
        with pytest.raises(MissingChunkError, match=f"no chunk holds characters {missing[0]} to"):
            stitch(Span(a, b), pieces, blanks)
    else:
        assert stitch(Span(a, b), pieces, blanks) == TEXT[a:b]


def test_stitch_does_not_compare_texts() -> None:
    pieces = [(Span(0, 2), "삭제"), (Span(3, 5), "삭제")]
    assert stitch(Span(0, 5), pieces, {2: "\n"}) == "삭제\n삭제"
    with pytest.raises(MissingChunkError, match="2 to 3"):
        stitch(Span(0, 5), pieces)
    with pytest.raises(MissingChunkError, match="0 to 1"):
        stitch(Span(0, 1), [])
    assert stitch(Span(4, 4), []) == ""


@pytest.mark.parametrize(("why", "sentence"), [
    (Why("hit", rank=2), "hit, rank 2"), (Why("hit"), "hit"),
    (Why("hit", "multi-scale", 1, detail="words 14.2, vector 9.1"), "words 14.2, vector 9.1"),
    (Why("neighbor", "neighbors:1", 2, "hr/C#교육.md#c3", "1 after"), "neighbors:1: 1 after #c3 (rank 2)"),
    (Why("cited", "citations", 1, "law.txt#r4", "제17조의2"), "citations: 제17조의2 (rank 1)"),
    (Why("cited", "brings", 1, "a#c1", "is cited"), "brings: is cited (rank 1)"),
    (Why("beside", "brings", 3, "a#c1", "beside #c3"), "brings: beside #c3 (rank 3)"),
    (Why("beside", detail="brought along"), "brought along"), (Why("history"), "history"),
    (Why("passed", rank=1, detail="not in the index"), "hit, rank 1; passed through (not in the index)")])
def test_sentence_of_a_reason(why: Why, sentence: str) -> None:
    assert str(why) == sentence and why.role in ROLES
    assert Why(**asdict(why)) == why


def test_spans_without_objects_are_a_list():
    flat, rows = Spans([0, 3, 3, 5]), Spans([("leave", 0, 3), ("travel", 3, 5)], named=True)
    assert (len(flat), list(flat), flat[-1]) == (2, [Span(0, 3), Span(3, 5)], Span(3, 5))
    assert (len(rows), list(rows), rows[0]) == (2, [("leave", Span(0, 3)), ("travel", Span(3, 5))], ("leave", Span(0, 3)))
