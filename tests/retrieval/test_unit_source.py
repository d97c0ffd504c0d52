"""Sources of units: each gives what looking at every unit gives, however it came to hold what it holds."""
from __future__ import annotations

import asyncio
import itertools
import random
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from llama_index.core.schema import Document
from strategies import examples
from unit_worlds import agree, answers, BruteUnits, by_address, document, many, question, same, tokens, vector, WORDS, world, written

from ragnb import Index, index_documents, Pipeline
from ragnb.agent.library import Library
from ragnb.documents.span import id_key
from ragnb.retrieval import sqlite_units
from ragnb.retrieval.scoring import question_vector, score_units
from ragnb.retrieval.sqlite_units import Database, SqliteUnits, UnitWriter
from ragnb.retrieval.unit_source import SCALES, SHIFT
from ragnb.retrieval.unit_vectors import different_signs, from_codes, signs_of, to_codes, window_norms


def filled(documents, path=":memory:", dense=True) -> SqliteUnits:
    """A SQLite source with these documents, written in two batches."""
    units, ids = SqliteUnits(path, tokenizer=tokens), list(documents)
    for own in (ids[:2], ids[2:]):
        UnitWriter(units).add(*written({i: documents[i] for i in own}, dense))
    return units


@given(world, question, st.booleans(), st.sampled_from([1, 2, 5, None]))
@examples(100)
def test_sqlite_gives_what_looking_at_every_unit_gives(documents, terms, dense, candidates):
    agree(filled(documents, dense=dense), BruteUnits(documents, dense), terms, dense, candidates)


def test_signs_choose_the_vectors_that_are_compared(monkeypatch):
    """A unit near the question is among the 32 of 1,000 that signs choose, and only those are read."""
    units = [f"{a} {b} {i}" for i, (a, b) in enumerate(itertools.islice(itertools.cycle(itertools.permutations(WORDS, 2)), 1_000))]
    source = filled({"d": ("", [("", units)], False)})
    for name, value in (("FEW", 10), ("KEPT", 10)):
        monkeypatch.setattr(sqlite_units, name, value)
    monkeypatch.setattr(sqlite_units, "_COMPARED", 32)
    source, read = SqliteUnits(source.database, tokenizer=tokens), []
    real = source.codes_of
    monkeypatch.setattr(source, "codes_of", lambda keys: read.append(len(keys)) or real(keys))
    for i in range(0, 1_000, 100):
        (found,) = source.nearest(vector(units[i]).astype(np.float32), 1).tolist()
        assert vector(units[i]) @ vector(units[found & ((1 << SHIFT) - 1)]) > 0.999      # Itself, or one with the same vector
    assert read == [32] * 10


@given(world, question, st.integers(0, 40), st.integers(0, 12))
@examples(60)
def test_a_search_that_stops_early_or_keeps_postings_finds_the_same(documents, terms, least, kept):
    source, brute = filled(documents), BruteUnits(documents)
    with pytest.MonkeyPatch.context() as small:
        small.setattr(sqlite_units, "_WORTH", least)
        small.setattr(sqlite_units, "_LOOKED", 0)
        small.setattr(sqlite_units, "_FREQUENT", 1)
        small.setattr(sqlite_units, "_HELD", kept)
        for _ in range(2):      # The second time some words are in memory
            agree(source, brute, terms, True, 3)
        assert sum(len(rows) for rows, _ in source.held.postings.values()) <= kept


def test_postings_of_frequent_words_are_read_once_for_each_state(monkeypatch):
    source = filled({"a.md": ("", [("", ["sun rain", "sun", "sun moon"])], False), "d": ("", [("", ["sun"])], False)})
    monkeypatch.setattr(sqlite_units, "_FREQUENT", 3)
    read, real = [], source.database.numbers
    monkeypatch.setattr(source.database, "numbers", lambda sql, value: read.append(value) or real(sql, value))
    for _ in range(3):
        source.best_by_words(["sun", "rain"], 2, source.counts(["sun", "rain"]))
    assert len(read) == 1 + 3       # rain is too rare to be kept
    UnitWriter(source).remove(["d"])
    source.best_by_words(["sun"], 2, source.counts(["sun"]))
    assert len(read) == 5


@given(world, st.lists(st.tuples(st.sampled_from(["a.md", "b/c.md", "d", "e", "규정.md"]), document | st.none()), max_size=6), question)
@examples(60)
def test_what_came_and_went_leaves_no_trace(documents, changes, terms):
    source, now = filled(documents), dict(documents)
    agree(source, BruteUnits(now), terms, True, 2)
    for doc_id, new in changes:
        if new is None:
            if now.pop(doc_id, None) is not None:
                UnitWriter(source).remove([doc_id])
        else:
            now[doc_id] = new
            UnitWriter(source).add(*written({doc_id: new}))
    agree(source, BruteUnits(now), terms, True, 2)
    agree(SqliteUnits(source.database, tokenizer=tokens), BruteUnits(now), terms, True, 2)     # opened now


@given(world, question, st.data())
@examples(60)
def test_what_may_not_be_found_is_not_found(documents, terms, data):
    source, brute = filled(documents), BruteUnits(documents)
    places = by_address(brute, list(brute.units))
    allowed = set(data.draw(st.lists(st.sampled_from(places), unique=True))) if places else set()
    def keys(s):
        every = [np.arange(n << SHIFT, (n << SHIFT) + size) for n, size in s.sizes.items()]
        return np.array([k for k in np.sort(np.concatenate([np.zeros(0, np.int64), *every])).tolist() if by_address(s, [k])[0] in allowed], np.int64)
    found, wanted = (answers(s, terms, True, 3, keys(s)) for s in (source, brute))
    assert found.keys() <= allowed
    same(found, wanted)


@pytest.mark.parametrize("kept", [None, 10, 10**9])
def test_documents_of_many_blocks(monkeypatch, kept):
    """Also where signs are compared, as there are many vectors, which may be kept."""
    documents = many()
    brute = BruteUnits(documents)
    if kept:
        monkeypatch.setattr(sqlite_units, "FEW", 10)
        monkeypatch.setattr(sqlite_units, "KEPT", kept)
    source = filled(documents)
    assert not kept or source.held.keeps == (kept > 10, True) and source.held.signs.shape == (len(source), 8)
    for terms in (["sun", "moon"], ["river", "river", "stone"], ["rain"], ["unknown"]):
        agree(source, brute, terms, True, 5)


def test_an_empty_index_finds_nothing():
    source = SqliteUnits(tokenizer=tokens)
    assert len(source) == 0 and answers(source, ["sun"], False, 5) == {} == answers(source, ["sun"], False, None)


def test_words_of_a_refused_batch_get_their_numbers_again():
    writer = UnitWriter(SqliteUnits(tokenizer=tokens))
    nodes, outlines = written({"a.md": ("", [("", ["sun moon"])], False)})
    with pytest.raises(sqlite3.ProgrammingError):        # a second statement of one call fails after words were numbered
        with pytest.MonkeyPatch.context() as broken:
            broken.setattr(sqlite_units, "stored_units", lambda *_: (_ for _ in ()).throw(sqlite3.ProgrammingError("disk")))
            writer.add(nodes, outlines)
    documents = {"b/c.md": ("", [("", ["river leaf", "moon sun"])], False)}
    writer.add(*written(documents))
    agree(writer.units, BruteUnits(documents), ["sun", "river"], True, 2)


def test_readers_see_one_state_while_it_changes(tmp_path):
    old, new = many(4), {i: (t, [(h, [x + " sun" for x in texts]) for h, texts in parts], r) for i, (t, parts, r) in many(4).items()}
    filled(old, tmp_path / "units.db")
    wanted = [answers(filled(d), ["sun", "river"], True, 5) for d in (old, new)]
    source, wrong, asked, stop = SqliteUnits(tmp_path / "units.db", tokenizer=tokens), [], [], threading.Event()

    def ask() -> None:
        try:
            while not stop.is_set():
                found = answers(source, ["sun", "river"], True, 5)
                asked.append(1)
                if not any(found.keys() == w.keys() and all(found[p] == pytest.approx(w[p], abs=1e-4) for p in w) for w in wanted):
                    wrong.append(found)
        except Exception as error:
            wrong.append(error)

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    writer = UnitWriter(SqliteUnits(tmp_path / "units.db", tokenizer=tokens))
    n = 0
    while n < 6 or len(asked) <= 5 and not wrong:
        writer.add(*written((old, new)[n % 2]))
        n += 1
    stop.set()
    for thread in threads:
        thread.join()
    assert len(asked) > 5 and not wrong, wrong[:1]


KILLED = """
import os, random, signal, sys
sys.path[:0] = sys.argv[4:]
from unit_worlds import many, tokens, written
from ragnb.retrieval.sqlite_units import SqliteUnits, UnitWriter
draw, documents, units = random.Random(int(sys.argv[2])), many(4), SqliteUnits(sys.argv[1], tokenizer=tokens)
left = int(sys.argv[3])


def statement(text):
    global left
    left -= 1
    if left < 0:
        os.kill(os.getpid(), signal.SIGKILL)


units.database.connection.set_trace_callback(statement)
while True:
    if draw.random() < .3 and units.sizes:
        UnitWriter(units).remove([i for i in units.held.ids.values()][:2])
    UnitWriter(units).add(*written(documents))
"""


@pytest.mark.heavy
def test_a_writer_that_is_killed_leaves_a_state_of_whole_documents(tmp_path):
    documents, draw, seen, path = many(4), random.Random(11), set(), tmp_path / "units.db"
    for n in range(8):
        told = [sys.executable, "-c", KILLED, str(path), str(n), str(draw.randrange(16_000)), *sys.path]
        assert subprocess.run(told).returncode == -signal.SIGKILL
        source = SqliteUnits(path, tokenizer=tokens)
        held = {i: documents[i] for i in source.held.ids.values()}
        seen.add(len(held))
        if held:
            agree(source, BruteUnits(held), ["sun", "moon"], True, 5)
        assert source.database.connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert len(seen) > 1


def test_a_second_writer_waits(tmp_path):
    source = filled(many(2), tmp_path / "units.db")
    other = SqliteUnits(Database(tmp_path / "units.db", wait=0.1), tokenizer=tokens)
    with source.database.transaction(write=True):
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            UnitWriter(other).remove(["d00"])
    UnitWriter(other).remove(["d00"])
    assert len(source.sizes) == 1


def test_a_question_reads_few_rows(tmp_path):
    source = filled(many(30), tmp_path / "units.db")
    queries = []
    score_units(source, ["sun", "moon"], vector("sun moon").astype(np.float32), 5)
    source.database.connection.set_trace_callback(lambda sql: queries.append(sql))
    score_units(source, ["sun", "moon"], vector("sun moon").astype(np.float32), 5)
    assert len(queries) < 40
    assert question_vector([1.0] * 5, source.dims) is not None


shapes = st.tuples(st.integers(0, 40), st.integers(1, 70), st.integers(0, 2**32 - 1))


def drawn(n: int, dims: int, seed: int) -> np.ndarray:
    """Unit vectors around a few topics."""
    rng = np.random.default_rng(seed)
    topics = rng.standard_normal((8, dims))
    out = topics[rng.integers(0, 8, n)] + 0.7 * rng.standard_normal((n, dims))
    return (out / np.maximum(np.linalg.norm(out, axis=1, keepdims=True), 1e-12)).astype(np.float32)


@settings(max_examples=50, deadline=None)
@given(shapes)
def test_rounding_keeps_directions_and_is_stable(shape):
    vectors = drawn(*shape)
    codes = to_codes(vectors)
    again = from_codes(codes)
    assert codes.dtype == np.int8 and codes.nbytes * 4 == vectors.nbytes
    assert np.array_equal(to_codes(again), codes)
    assert np.allclose(np.linalg.norm(again, axis=1), 1, atol=1e-5)
    assert np.all(np.einsum("ij,ij->i", vectors, again) > 1 - 1e-3)


@settings(max_examples=50, deadline=None)
@given(shapes)
def test_signs_are_counted_bit_by_bit(shape):
    signs = signs_of(drawn(*shape))
    if not len(signs):
        return
    own = signs[0]
    plain = [sum(bin(int(a) ^ int(b)).count("1") for a, b in zip(row, own)) for row in signs]
    assert different_signs(signs, own).tolist() == plain


@settings(max_examples=50, deadline=None)
@given(shapes)
def test_a_window_is_as_long_as_the_sum_of_its_vectors_and_stays_in_its_document(shape):
    codes = to_codes(drawn(*shape))
    norms, vectors = window_norms(codes, SCALES), from_codes(codes)
    assert norms.shape == (len(codes), len(SCALES))
    for k, width in enumerate(SCALES):
        for i in range(len(codes)):
            inside = vectors[max(0, i - width // 2):i + width // 2 + 1]
            assert np.isclose(norms[i, k], np.linalg.norm(inside.sum(axis=0)), atol=1e-4)


SAME = "# 휴가\n\n연차는 15일이다. 신청은 팀장에게 한다.\n"
QUESTION = "연차는 며칠인가요? 신청"
SPECS = (("multi-scale", None), ("multi-scale", "doc_type"), ("bm25", None), ("vector", None), ("hybrid", None), ("hybrid:zscore:2/1", None),
         ("hybrid:weighted", None), ("hierarchical", None))


def corpus() -> list[Document]:
    """Documents of one text under many ids, among others."""
    words = random.Random(1)

    def other() -> str:
        three, two = (" ".join("".join(words.choices("가나다라마바사아자차카타파하", k=k)) for _ in range(n)) for k, n in ((3, 6), (2, 9)))
        return f"{three} 연차를 쓴다. {two}."
    same = [Document(text=SAME, id_=f"s/{n}.md", metadata={"title": "휴가"}) for n in range(37)]
    return same + [Document(text=f"# 글 {n}\n\n{other()}\n", id_=f"o/{n}.md", metadata={"title": "글"}) for n in range(90)]


def copies(documents: Sequence[Document]) -> list[Document]:
    return [Document(text=d.text, id_=d.id_, metadata=dict(d.metadata)) for d in documents]


@pytest.fixture(scope="module")
def indexes(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The same documents in two orders: at once, and in two batches."""
    documents, out = corpus(), []
    for n, first in enumerate((documents, documents[20:])):
        folder = tmp_path_factory.mktemp("ties") / str(n)
        index_documents(copies(first), folder, embed="ngram", show_progress=False)
        index_documents(copies(documents), folder, embed="ngram", show_progress=False)
        out.append(folder)
    return out


@pytest.mark.heavy
def test_every_way_to_find_breaks_ties_by_address(indexes: list[Path]) -> None:
    wrong = []
    for spec, policy in SPECS:
        seen = []
        for folder in indexes:
            pipeline = Pipeline.from_index(Index.open(folder), retriever=spec, policy=policy, budget=600)
            hits = [h for h in pipeline.find(QUESTION).hits if not h.node_id.startswith("o/")]
            passages = pipeline.ask(QUESTION).passages       # a text of several documents is read once, so others fill the rest
            seen.append([h.node_id for h in hits] + [p.id for p in passages if not p.doc_id.startswith("o/")])
            by_unit: dict[str, list[str]] = {}
            for h in hits:
                by_unit.setdefault(h.node_id.partition("#")[2], []).append(h.node_id)
            if any(ids != sorted(ids, key=id_key) for ids in by_unit.values()) or len(hits) < 10:
                wrong.append((spec, policy, folder.name, by_unit))
        if seen[0] != seen[1]:
            wrong.append((spec, policy, seen))
    assert wrong == []


def test_ties_across_collections_are_broken_by_address(indexes: list[Path], tmp_path: Path) -> None:
    """Two collections that hold the same are found in the order of their names, however they are given."""
    pipelines = {name: Pipeline.from_index(Index.open(folder), policy="doc_type", top_k=20) for name, folder in zip(("b_db", "a_db"), indexes)}
    orders = [pipelines, dict(reversed(pipelines.items()))]
    found = [asyncio.run(Library(given).search([QUESTION], 20)).hits for given in orders]
    assert [h.node_id for h in found[0]] == [h.node_id for h in found[1]]
    by_score: dict[float, list[str]] = {}
    for h in found[0]:
        by_score.setdefault(round(h.score, 9), []).append(h.node_id)
    assert all(ids == sorted(ids, key=id_key) for ids in by_score.values())
