"""Pairs of very frequent words: estimated from a sample, looked up near the units to score."""
from __future__ import annotations

import numpy as np
import pytest

from ragnb.retrieval import signals
from ragnb.retrieval.bm25 import Bm25
from ragnb.retrieval.signals import PHRASE, WordWindows
from ragnb.retrieval.term_counts import TermCounts
from ragnb.retrieval.unit_corpus import SCALES, UnitCorpus


def frequent(n: int = 4_000) -> tuple[UnitCorpus, Bm25]:
    """One document, every unit with both words, side by side in a third of them."""
    rng = np.random.default_rng(0)
    words = Bm25(0.9, 0.4, idf="lucene", ordered=True)
    tokens = [["of", "the", f"w{i}"] if side else ["the", f"w{i}", "of"] for i, side in enumerate(rng.random(n) < 1 / 3)]
    words.add([f"d#u{i}" for i in range(n)], tokens)
    at = np.arange(n)
    corpus = UnitCorpus(("d",), np.array([n]), np.array([0]), 9 * at, 9 * at + 8, np.full(n, -1), np.zeros(n, bool), np.full(n, -1), np.zeros((0, 2), np.int64), np.zeros(0, bool))
    return corpus, words


def test_a_frequent_pair_is_estimated_and_found_where_it_matters(monkeypatch):
    corpus, words = frequent()
    by_word, rows = WordWindows(corpus, words, SCALES), np.arange(100, 120)
    exact = [a for a in by_word.asked(["of", "the"], rows) if a.weight == PHRASE][0]
    assert exact.n_holding == len(exact.rows) and 1_200 < len(exact.rows) < 1_460
    plain = by_word.scores(by_word.asked(["of", "the"], rows), rows)
    monkeypatch.setattr(signals, "_COUNTED", 500)
    monkeypatch.setattr(signals, "_ESTIMATED", 1_000)
    looked_at = []
    adjacent = TermCounts.adjacent
    monkeypatch.setattr(TermCounts, "adjacent", lambda self, a, b, among=None: looked_at.append(len(among)) or adjacent(self, a, b, among))
    few = [a for a in by_word.asked(["of", "the"], rows) if a.weight == PHRASE][0]
    assert looked_at == [1_000, 50]                                    # the sample, and the windows around 20 units
    assert few.rows.tolist() == [r for r in exact.rows.tolist() if 85 <= r < 135]
    assert few.n_holding == pytest.approx(exact.n_holding, rel=0.1)
    assert by_word.scores(by_word.asked(["of", "the"], rows), rows) == pytest.approx(plain, abs=0.1)


def test_adjacent_among_some_is_adjacent_of_all_among_them():
    counts = TermCounts(ordered=True)
    counts.add(["a", "b", "c"], [["x", "y"], ["y", "x"], ["x", "z", "x", "y"]])
    x, y = counts.vocabulary["x"], counts.vocabulary["y"]
    assert counts.adjacent(x, y).tolist() == [0, 2]
    assert counts.adjacent(x, y, np.array([1, 2])).tolist() == [2]
    assert counts.adjacent(x, y, np.zeros(0, np.int64)).tolist() == []
