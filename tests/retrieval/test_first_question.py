"""What the first question of a process holds in memory at once: counted in bytes."""
from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from ragnb.retrieval.signals import VectorWindows
from ragnb.retrieval.unit_corpus import UnitCorpus
from ragnb.retrieval.unit_vectors import UnitVectors

DIMS, PER_DOCUMENT = 1024, 50


def windows(n: int) -> VectorWindows:
    """The windows of n units with random vectors, in documents of 50."""
    docs, rng = n // PER_DOCUMENT, np.random.default_rng(0)
    starts, none = np.tile(100 * np.arange(PER_DOCUMENT), docs), np.zeros(0, np.int64)
    corpus = UnitCorpus(tuple(f"d{i}" for i in range(docs)), np.full(docs, PER_DOCUMENT), np.zeros(docs, np.int64), starts, starts + 100,
                        np.full(n, -1), np.zeros(n, bool), np.full(n, -1), none.reshape(0, 2), none.astype(bool))
    return VectorWindows(corpus, UnitVectors.of(rng.integers(-127, 128, (n, DIMS), np.int8), corpus.n_units, (1, 3, 7, 15, 31)))


@pytest.mark.parametrize("n", [500, 4_000, 20_000])
def test_sampled_windows_are_met_a_few_at_a_time(n):
    """Mean and deviation of a question's cosines need some windows at once, and as much for a long corpus as for a short one."""
    held, query = windows(n), np.random.default_rng(1).standard_normal(DIMS).astype(np.float32)
    query /= np.linalg.norm(query)
    tracemalloc.start()
    mean, _ = held.statistics(query)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    units = 64 * 31                          # what 64 windows of 31 units cover where none of them overlap
    assert peak < units * DIMS * (8 + 4 + 1) * 1.2, f"{peak / 2**20:.1f} MiB"
    assert (peak < 8 * 2**20) == (n < 20_000), "of a corpus with few windows beside the sampled ones: less"
    assert abs(mean[0] - float((held.units.at(held.sample) @ query).mean())) < 1e-6
