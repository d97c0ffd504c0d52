"""A question over very many units, on disk: CPU, memory, time to open, and what differs from comparing every vector.

    python benchmarks/million.py [--units 10000,100000,1000000] [--questions 40]

Units are 25 words drawn by Zipf's law with a vector of 384 numbers around one of 200 topics, in documents of 40, written straight into the arrays of
an index: no text is kept, so that only the index is measured. A question is eight words of a unit and a vector near that unit's. Times are CPU seconds
of the process; the first question, which makes what is kept for the others, is told apart. Each size is opened in a process of its own.
"""
from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from ragnb.retrieval import unit_vectors
from ragnb.retrieval.multiscale_index import MultiScaleIndex
from ragnb.retrieval.unit_corpus import UnitCorpus
from ragnb.retrieval.unit_vectors import UnitVectors, to_codes

DIMS, WORDS, PER_DOCUMENT, BATCH = 384, 25, 40, 10_000


def write(n: int, folder: Path, n_questions: int) -> None:
    """Make an index of n units and its questions."""
    rng, index = np.random.default_rng(0), MultiScaleIndex()
    topics, codes, words, questions = rng.standard_normal((200, DIMS)), np.zeros((n, DIMS), np.int8), np.zeros((n, WORDS), np.int32), []
    for at in range(0, n, BATCH):
        words[at:at + BATCH] = np.minimum(rng.zipf(1.2, (BATCH, WORDS)), 200_000)
        vectors = topics[rng.integers(0, 200, BATCH)] + rng.standard_normal((BATCH, DIMS))
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        codes[at:at + BATCH] = to_codes(vectors)
        for k in rng.integers(0, BATCH, -(-n_questions * BATCH // n)).tolist():
            questions.append(([f"w{w}" for w in words[at + k, :8]], (vectors[k] + 0.02 * rng.standard_normal(DIMS)).tolist()))
    n_docs = n // PER_DOCUMENT
    starts, none = np.tile(200 * np.arange(PER_DOCUMENT), n_docs), np.zeros(0, np.int64)
    ids = tuple(f"d{i}" for i in range(n_docs))
    index.corpus = UnitCorpus(ids, np.full(n_docs, PER_DOCUMENT), np.zeros(n_docs, np.int64), starts, starts + 200, np.full(n, -1), np.zeros(n, bool), np.full(n, -1), none.reshape(0, 2), none.astype(bool))
    index.unit_vectors = UnitVectors.of(codes, index.corpus.n_units, index.scales)
    names = [f"w{w}" for w in range(200_001)]
    index.words.add([f"d{i // PER_DOCUMENT}#u{i % PER_DOCUMENT}" for i in range(n)], ([names[w] for w in row] for row in words.tolist()))
    index.titles.add(list(ids), [[] for _ in ids])
    index.save(folder / "index")
    (folder / "questions.json").write_text(json.dumps(questions))


def ask(folder: Path) -> dict[str, Any]:
    """Open the index, ask, and ask again comparing every vector."""
    questions = json.loads((folder / "questions.json").read_text())
    start = time.process_time()
    index = MultiScaleIndex.load(folder / "index")
    opened, times = time.process_time() - start, []

    def best(terms: list[str], vector: list[float]) -> list[int]:
        started = time.process_time()
        scores = index.score(terms, vector)
        times.append(1_000 * (time.process_time() - started))
        return scores.rows[np.lexsort((scores.rows, -scores.total))[:20]].tolist()
    found = [best(*q) for q in questions]
    peak, first, own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, times[0], times[1:]
    unit_vectors._FEW, times[:] = 1 << 60, []
    exact = [best(*q) for q in questions]
    differ = sum(len(set(a) - set(b)) for a, b in zip(exact, found))
    return {"open": opened, "first": first, "p50": float(np.percentile(own, 50)), "p95": float(np.percentile(own, 95)), "peak": peak, "every": float(np.median(times)), "differ": f"{differ} of {20 * len(found)}"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--units", default="10000,100000,1000000", help=f"multiples of {BATCH:,}")
    parser.add_argument("--questions", type=int, default=40)
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        return print(json.dumps(ask(args.one)))
    print("| units | MB on disk | open s | first ms | p50 ms | p95 ms | peak MiB | every vector compared, ms | best 20 that differ |\n|--:|--:|--:|--:|--:|--:|--:|--:|--:|", flush=True)
    for n in map(int, args.units.split(",")):
        with tempfile.TemporaryDirectory() as place:
            write(n, Path(place), args.questions)
            size = sum(f.stat().st_size for f in Path(place, "index").rglob("*") if f.is_file()) / 1e6
            row = json.loads(subprocess.run([sys.executable, __file__, "--one", place], check=True, stdout=subprocess.PIPE).stdout)
        print("| {n:,} | {size:.0f} | {open:.2f} | {first:.0f} | {p50:.0f} | {p95:.0f} | {peak:,.0f} | {every:.0f} | {differ} |".format(n=n, size=size, **row), flush=True)


if __name__ == "__main__":
    main()
