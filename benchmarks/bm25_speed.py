"""Speed and memory of BM25: ragnb beside bm25s and rank_bm25, in one run.

Each library has a process of its own, so that its memory can be read; they build one after the other and answer
every query in turn, so that a busy machine slows all of them alike. Tokens are given; tokenising is not measured.

    python benchmarks/bm25_speed.py                                       # invented Zipfian tokens: 10,000, 68,143 and 1,000,000 documents
    python benchmarks/bm25_speed.py --data vaswani_npl --sizes 68143      # abstracts, grown by redrawing every fifth token
    python benchmarks/bm25_speed.py --data korquad --sizes 68143          # Korean, split at spaces into pieces
"""
from __future__ import annotations

import argparse
import gc
import json
import multiprocessing
import os
import re
import sys
import tempfile
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

ROOT = Path(__file__).resolve().parent.parent
Tokens = list[list[str]]
K1, B, TOP = 1.5, 0.75, 10
FORMS = {"ragnb": ("top 10", "scores"), "bm25s": ("top 10", "scores"), "rank_bm25": ("top 10", "scores")}


def invent(n: int, rng: np.random.Generator) -> Tokens:
    """Documents of 30 to 60 tokens; the r-th of 200,000 terms has a share proportional to 1 / (r + 2.7) ** 1.07 (Zipf-Mandelbrot)."""
    shares = (np.arange(200_000) + 2.7) ** -1.07
    shares = np.cumsum(shares / shares.sum())
    lengths = rng.integers(30, 61, size=n)
    terms = np.array([f"t{i}" for i in range(len(shares))], dtype=object)
    ends = np.cumsum(lengths).tolist()
    out: Tokens = []
    for first in range(0, n, 50_000):  # not all numbers at once: they would count as the peak
        part = terms[np.searchsorted(shares[:-1], rng.random(sum(lengths[first:first + 50_000].tolist())))].tolist()
        start = ends[first - 1] if first else 0
        out += [part[a - start:b - start] for a, b in zip([start, *ends[first:first + 49_999]], ends[first:first + 50_000])]
    return out


def read(name: str, piece: int) -> tuple[Tokens, Tokens]:
    """Tokens of an evaluation set's documents (cut into pieces of so many tokens) and queries."""
    folder = Path(os.environ.get("RAGNB_DATA", ROOT.parent / "shared" / "data")) / name
    if not folder.is_dir():
        sys.exit(f"evaluation set {name!r} is not there; set RAGNB_DATA, or leave --data out")
    rows = {f: [json.loads(x) for x in (folder / f"{f}.jsonl").open(encoding="utf-8")] for f in ("corpus", "queries")}
    texts = [re.findall(r"\w+", row["text"].lower()) for row in rows["corpus"]]
    pieces = [t[i:i + piece] for t in texts for i in range(0, len(t), piece)]
    return pieces, [re.findall(r"\w+", row["query"].lower()) for row in rows["queries"]]


def grow(documents: Tokens, n: int, rng: np.random.Generator) -> Tokens:
    """Draw documents until there are n, replacing every fifth token by one drawn from all tokens: the term frequencies stay."""
    pool = [t for d in documents for t in d]
    out = documents[:n]
    for source in rng.integers(len(documents), size=max(0, n - len(out))):
        document = list(documents[source])
        for at in np.flatnonzero(rng.random(len(document)) < 0.2):
            document[at] = pool[rng.integers(len(pool))]
        out.append(document)
    return out


def corpus(args: argparse.Namespace, n: int) -> tuple[Tokens, Tokens]:
    """The same n documents and queries in every process; an invented query takes 3 to 8 tokens from documents."""
    rng = np.random.default_rng(args.seed)
    if args.data:
        documents, queries = read(args.data, args.piece)
        queries = [queries[i] for i in rng.permutation(len(queries))[:args.queries]]
        return grow(documents, n, rng), queries
    documents = invent(n, rng)
    return documents, [[documents[rng.integers(n)][i] for i in rng.integers(0, 30, size=rng.integers(3, 9))] for _ in range(args.queries)]


def memory(field: str) -> float:
    """MB of this process, now (`VmRSS`) or at most since `forget_peak` (`VmHWM`); Linux only."""
    return int(re.search(rf"{field}:\s*(\d+)", Path("/proc/self/status").read_text())[1]) / 1e3


def forget_peak() -> None:
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")


def make(name: str, documents: Tokens) -> tuple[Any, dict[str, Callable[[list[str]], Any]]]:
    """Build an index; (the index, what it answers a query with)."""
    n = len(documents)
    if name == "ragnb":
        from ragnb.retrieval.bm25 import Bm25
        ours = Bm25(K1, B)
        ours.add([f"d#c{i}" for i in range(n)], documents)
        return ours, {"top 10": lambda q: [s for _, s in ours.top_k(q, TOP)], "scores": ours.scores}
    if name == "bm25s":
        import bm25s
        index = bm25s.BM25(method="atire", idf_method="lucene", k1=K1, b=B)
        index.index(documents, show_progress=False)
        return index, {"top 10": lambda q: index.retrieve([q], k=TOP, show_progress=False).scores[0].tolist(), "scores": index.get_scores}
    from rank_bm25 import BM25Okapi
    okapi, rows = BM25Okapi(documents, k1=K1, b=B), range(n)
    return okapi, {"top 10": lambda q: okapi.get_top_n(q, rows, TOP), "scores": okapi.get_scores}


def changes(index: Any, query: list[str]) -> dict[str, float]:
    """Milliseconds to add one document, to remove one, and to load from disk."""
    from ragnb.retrieval.bm25 import Bm25
    with tempfile.TemporaryDirectory() as folder:
        index.save(folder)
        steps = {"load": lambda: Bm25.load(folder), "add one": lambda: index.add(["new#c0"], [query]), "remove one": lambda: index.remove(["d#c7"])}
        out = {}
        for name, step in steps.items():
            start = time.perf_counter()
            step()
            out[name] = (time.perf_counter() - start) * 1e3
    return out


def serve(name: str, args: argparse.Namespace, n: int, pipe: Connection) -> None:
    """One library: build when told, then answer queries and say how long each took."""
    documents, queries = corpus(args, n)
    queries = [[t for t in q if t in known] for known in [{t for d in documents for t in d}] for q in queries]
    tokens = sum(map(len, documents))
    make(name, documents[:100])[1]["top 10"](documents[0])  # imports are not part of the build
    pipe.send(tokens)
    pipe.recv()
    forget_peak()
    before, start = memory("VmRSS"), time.perf_counter()
    index, forms = make(name, documents)
    seconds = time.perf_counter() - start
    peak = memory("VmHWM") - before
    gc.collect()
    pipe.send((seconds, memory("VmRSS") - before, peak))
    while (task := pipe.recv()) is not None:
        if task == "changes":
            pipe.send(changes(index, queries[0]))
            continue
        row, form = task
        best, answer = float("inf"), None
        for _ in range(1 if name == "rank_bm25" else 3):
            start = time.perf_counter()
            answer = forms[form](queries[row])
            best = min(best, time.perf_counter() - start)
        pipe.send((best * 1e3, answer if form == "top 10" else None))


def measure(args: argparse.Namespace, n: int) -> dict[tuple[str, str], np.ndarray]:
    """Print one table; (library, form) -> milliseconds of each query."""
    context = multiprocessing.get_context("spawn")
    names = [x for x in FORMS if x != "rank_bm25" or n <= args.rank_bm25_up_to]
    pipes, processes = {}, []
    for name in names:
        pipes[name], end = context.Pipe()
        processes.append(context.Process(target=serve, args=(name, args, n, end), daemon=True))
        processes[-1].start()
        end.close()  # so that a library that dies ends the run
        n_tokens = pipes[name].recv()
    built = {}
    for name in tqdm(names, desc="build", leave=False):
        pipes[name].send("build")
        built[name] = pipes[name].recv()
    times: dict[tuple[str, str], list[float]] = {(name, form): [] for name in names for form in FORMS[name]}
    apart = 0.0
    for row in tqdm(range(args.queries), desc="queries", leave=False):
        answers = {}
        for name, form in times:
            pipes[name].send((row, form))
            ms, answers[name, form] = pipes[name].recv()
            times[name, form].append(ms)
        ours, other = answers["ragnb", "top 10"], answers["bm25s", "top 10"][:len(answers["ragnb", "top 10"])]
        apart = max(apart, float(np.abs(np.array(ours) / np.array(other) - 1).max(initial=0)))
    pipes["ragnb"].send("changes")
    changed = pipes["ragnb"].recv()
    for name, process in zip(names, processes):
        pipes[name].send(None)
        process.join()
    out = {key: np.array(ms) for key, ms in times.items()}
    print(f"\n{n:,} documents, {n_tokens:,} tokens, {args.queries} queries; best ten scores differ from bm25s (single precision) by at most {apart:.0e} of the score\n")
    print("| | build | index, MB | peak of the build, MB | top 10: p50 | p95 | all scores: p50 | p95 |\n|---|--:|--:|--:|--:|--:|--:|--:|")
    base = {form: np.quantile(out["ragnb", form], [0.5, 0.95]) for form in FORMS["ragnb"]}
    for name in names:
        seconds, held, peak = built[name]
        cells = [f"{q:.2f} ms ({q / own:.1f}×)" for form in FORMS[name] for q, own in zip(np.quantile(out[name, form], [0.5, 0.95]), base[form])]
        print(f"| {name} | {seconds:.1f} s ({seconds / built['ragnb'][0]:.1f}×) | {held:,.0f} | {peak:,.0f} | {' | '.join(cells)} |")
    print("\n" + ", ".join(f"{name} {ms:.0f} ms" for name, ms in changed.items()), flush=True)
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="evaluation set; without it the tokens are invented")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 68_143, 1_000_000], help="documents")
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--rank-bm25-up-to", type=int, default=68_143, help="documents; it is too slow beyond")
    parser.add_argument("--piece", type=int, default=60, help="tokens a document of an evaluation set is cut into")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    times = {n: measure(args, n) for n in args.sizes}
    if len(times) > 1:
        first, last = min(times), max(times)
        print(f"\nFrom {first:,} to {last:,} documents ({last / first:.0f}×) the query grows by\n\n| | top 10: p50 | p95 | all scores: p50 | p95 |\n|---|--:|--:|--:|--:|")
        for name in ("ragnb", "bm25s"):
            cells = [f"{b / a:.1f}×" for form in FORMS[name] for a, b in zip(*(np.quantile(times[n][name, form], [0.5, 0.95]) for n in (first, last)))]
            print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
