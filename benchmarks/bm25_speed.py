"""BM25 over a large corpus: ragnb beside rank_bm25 (and bm25s where it is installed), in one run.

    python benchmarks/bm25_speed.py                          # vaswani_npl, grown to 68,143 documents
    python benchmarks/bm25_speed.py --data korquad           # Korean, split at spaces into pieces
    python benchmarks/bm25_speed.py --data none              # invented Zipfian tokens, needs no evaluation data
"""
from __future__ import annotations

import argparse
import gc
import json
import os
import re
import statistics
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from tqdm import tqdm

from ragnb.bm25 import Bm25

ROOT = Path(__file__).resolve().parent.parent
Tokens = list[list[str]]


def read(name: str, piece: int) -> tuple[Tokens, Tokens]:
    """Tokens of an evaluation set's documents (cut into pieces of so many tokens) and queries."""
    folder = Path(os.environ.get("RAGNB_DATA", ROOT.parent / "shared" / "data")) / name
    if not folder.is_dir():
        sys.exit(f"evaluation set {name!r} is not there; set RAGNB_DATA, or use --data none")
    rows = {f: [json.loads(x) for x in (folder / f"{f}.jsonl").open(encoding="utf-8")] for f in ("corpus", "queries")}
    texts = [re.findall(r"\w+", row["text"].lower()) for row in rows["corpus"]]
    pieces = [t[i:i + piece] for t in texts for i in range(0, len(t), piece)]
    return pieces, [re.findall(r"\w+", row["query"].lower()) for row in rows["queries"]]


def invent(rng: np.random.Generator, n_queries: int) -> tuple[Tokens, Tokens]:
    """Documents and queries of Zipfian terms."""
    def draw(n: int, low: int, high: int) -> Tokens:
        return [[f"t{i}" for i in rng.zipf(1.3, rng.integers(low, high)) % 60_000] for _ in range(n)]
    return draw(5_000, 20, 80), draw(n_queries, 5, 15)


def grow(documents: Tokens, n: int, rng: np.random.Generator) -> Tokens:
    """Draw documents until there are n, replacing every fifth token by one drawn from all tokens: the term frequencies stay."""
    pool = [t for d in documents for t in d]
    out = documents[:n]
    for source in tqdm(rng.integers(len(documents), size=max(0, n - len(out))), desc="grow the corpus", leave=False):
        document = list(documents[source])
        for at in np.flatnonzero(rng.random(len(document)) < 0.2):
            document[at] = pool[rng.integers(len(pool))]
        out.append(document)
    return out


def timed(run: Callable[[Sequence[str]], object], queries: Tokens, name: str, repeat: int) -> list[float]:
    """Milliseconds per query, the best of `repeat` runs of each."""
    out = []
    for query in tqdm(queries, desc=name, leave=False):
        best = float("inf")
        for _ in range(repeat):
            start = time.perf_counter()
            run(query)
            best = min(best, time.perf_counter() - start)
        out.append(best * 1e3)
    return out


def build(make: Callable[[], object]) -> tuple[object, float, float]:
    """(the index, seconds to build it, MB it holds on to); built twice, because counting memory slows it."""
    start = time.perf_counter()
    index = make()
    seconds = time.perf_counter() - start
    del index
    gc.collect()
    tracemalloc.start()
    index = make()
    gc.collect()
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return index, seconds, held / 1e6


def make_ours(documents: Tokens) -> Bm25:
    index = Bm25()
    index.add([f"d#c{i}" for i in range(len(documents))], documents)
    return index


def main() -> None:
    parser = argparse.ArgumentParser(description="BM25: ragnb beside rank_bm25")
    parser.add_argument("--data", default="vaswani_npl", help="evaluation set, or none for invented tokens")
    parser.add_argument("--documents", type=int, default=68_143)
    parser.add_argument("--queries", type=int, default=20)
    parser.add_argument("--piece", type=int, default=60, help="tokens a document is cut into")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    rng = np.random.default_rng(args.seed)
    documents, queries = invent(rng, args.queries) if args.data == "none" else read(args.data, args.piece)
    queries = [queries[i] for i in rng.permutation(len(queries))[:args.queries]]
    documents = grow(documents, args.documents, rng)
    make_ours(documents[:100]).top_k(queries[0])  # imports are not part of the build time

    from rank_bm25 import BM25Okapi
    ours, ours_s, ours_mb = build(lambda: make_ours(documents))
    theirs, theirs_s, theirs_mb = build(lambda: BM25Okapi(documents))
    difference = max(np.abs(ours.scores(q) - theirs.get_scores(q)).max() for q in queries)
    slow = timed(theirs.get_scores, queries, "rank_bm25", 1)
    fast = timed(ours.scores, queries, "ragnb scores", 5)
    best = timed(lambda q: ours.top_k(q, 10), queries, "ragnb top 10", 5)

    rows = [("rank_bm25 get_scores", theirs_s, theirs_mb, slow), ("ragnb scores", ours_s, ours_mb, fast), ("ragnb top_k(10)", ours_s, ours_mb, best)]
    try:
        import bm25s
    except ImportError:
        pass
    else:
        def make_bm25s() -> object:
            index = bm25s.BM25(method="atire", k1=1.5, b=0.75)
            index.index(documents, show_progress=False)
            return index
        other, other_s, other_mb = build(make_bm25s)
        rows.append(("bm25s get_scores", other_s, other_mb, timed(other.get_scores, queries, "bm25s", 5)))
    n_tokens = sum(map(len, documents))
    print(f"\n{args.data}: {len(documents):,} documents, {n_tokens:,} tokens, {len({t for d in documents for t in d}):,} terms; "
          f"{len(queries)} queries of {statistics.mean(map(len, queries)):.1f} tokens; largest score difference {difference:.1e}\n")
    print("| | build (s) | memory (MB) | query, median (ms) | slowest (ms) | times faster (median of ratios; least) |\n|---|--:|--:|--:|--:|--:|")
    for name, seconds, mb, ms in rows:
        ratios = [a / b for a, b in zip(slow, ms)]
        print(f"| {name} | {seconds:.1f} | {mb:.0f} | {statistics.median(ms):.2f} | {max(ms):.2f} | {statistics.median(ratios):.0f}; {min(ratios):.0f} |")
    start = time.perf_counter()
    ours.add(["new#c0"], [queries[0]])
    added = time.perf_counter() - start
    start = time.perf_counter()
    ours.remove(["d#c7"])
    removed = time.perf_counter() - start
    with tempfile.TemporaryDirectory() as folder:
        ours.save(folder)
        start = time.perf_counter()
        Bm25.load(folder)
        loaded = time.perf_counter() - start
    print(f"\nadd one document {added * 1e3:.0f} ms, remove one {removed * 1e3:.0f} ms, load from disk {loaded * 1e3:.0f} ms")


if __name__ == "__main__":
    main()
