"""Postings take four bytes a row, however they came to be, and older files with eight are read."""
from __future__ import annotations

from pathlib import Path

import numpy as np

from ragnb.retrieval.term_counts import read_counts, TermCounts, write_counts

WORDS = [f"w{i}" for i in range(40)]


def drawn(seed: int, n: int) -> list[list[str]]:
    """Token lists, some of them empty."""
    rng = np.random.default_rng(seed)
    return [[WORDS[i] for i in rng.integers(0, 40, rng.integers(0, 9))] for _ in range(n)]


def narrow(counts: TermCounts) -> bool:
    """True when no row or place takes eight bytes."""
    return all(part.dtype == np.int32 for s in counts.segments for part in (s.indices, s.indptr))


def postings(counts: TermCounts) -> list[list[tuple[int, int]]]:
    """Rows and counts of every word."""
    held = [counts.posting(counts.vocabulary[w]) if w in counts.vocabulary else ([], []) for w in WORDS]
    return [[(int(r), int(n)) for r, n in zip(*pair)] for pair in held]


def test_rows_take_four_bytes_through_every_change(tmp_path: Path) -> None:
    counts = TermCounts(ordered=True)
    for batch in range(6):
        counts.add([f"d{batch}-{i}" for i in range(50)], drawn(batch, 50))
        assert narrow(counts)
    counts.remove([f"d{b}-{i}" for b in (0, 3) for i in range(0, 50, 7)])
    assert narrow(counts) and any(len(rows) for rows in postings(counts))
    counts.compact()
    assert narrow(counts)
    write_counts(counts, tmp_path)
    sizes = {f.stem: (np.load(f).dtype, len(np.load(f))) for f in tmp_path.glob("*.npy")}
    assert sizes["indices"] == (np.int32, len(np.load(tmp_path / "counts.npy"))) and sizes["indptr"][0] == np.int32
    assert postings(read_counts(tmp_path)) == postings(counts) and narrow(read_counts(tmp_path))


def test_files_of_eight_bytes_are_read_and_go_on(tmp_path: Path) -> None:
    counts = TermCounts()
    counts.add([f"d{i}" for i in range(50)], drawn(1, 50))
    write_counts(counts, tmp_path)
    for name in ("indices", "indptr"):
        np.save(tmp_path / f"{name}.npy", np.load(tmp_path / f"{name}.npy").astype(np.int64))
    old = read_counts(tmp_path)
    assert postings(old) == postings(counts)
    for each in (old, counts):
        each.add([f"e{i}" for i in range(30)], drawn(2, 30))
        each.remove(["d3", "e4"])
    assert postings(old) == postings(counts)
    write_counts(old, tmp_path)
    assert np.load(tmp_path / "indices.npy").dtype == np.int32 and postings(read_counts(tmp_path)) == postings(counts)
