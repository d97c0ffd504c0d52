"""How long a multi-scale question takes, and what the index weighs, as the corpus grows.

    python benchmarks/multiscale_speed.py [--units 10000,100000] [--dims 384]

Made-up documents of 40 units: words drawn by Zipf's law, vectors at random around one of 200 topics. Times are those of scoring and ordering, without the embedding
of the question, first with cold statistics of terms, then again with them known; memory is that of the process after loading with `mmap`.
"""
from __future__ import annotations

import argparse
import resource
import tempfile
import time

import numpy as np
from llama_index.core.schema import TextNode
from tqdm import tqdm

from ragnb.retrieval.multiscale import pieces_by_score
from ragnb.retrieval.multiscale_index import MultiScaleIndex
from ragnb.documents.span import Outline, Span

PER_DOCUMENT, WORDS = 40, 25


def split(texts):
    """White space tokens."""
    return (t.split() for t in texts)


def fill(index: MultiScaleIndex, n_units: int, dims: int, rng: np.random.Generator) -> list[str]:
    """Add made-up documents; returns some of their texts, as questions."""
    topics, questions = rng.standard_normal((200, dims)), []
    for at in tqdm(range(0, n_units, 10_000), desc=f"{n_units:,} units"):
        n = min(10_000, n_units - at)
        words = np.minimum(rng.zipf(1.2, (n, WORDS)), 200_000)
        vectors = (topics[rng.integers(0, 200, n)] + rng.standard_normal((n, dims))).astype(np.float32)
        nodes, outlines = [], []
        for i in range(n):
            doc, j = divmod(at + i, PER_DOCUMENT)
            nodes.append(TextNode(id_=f"d{doc}#u{j}", text=" ".join(f"w{w}" for w in words[i]), start_char_idx=200 * j, end_char_idx=200 * j + 199, embedding=vectors[i].tolist()))
        for doc in range(at // PER_DOCUMENT, (at + n) // PER_DOCUMENT):
            outlines.append(Outline(f"d{doc}", 200 * PER_DOCUMENT, {"u": [Span(200 * j, 200 * j + 199) for j in range(PER_DOCUMENT)]}))
        index.add(nodes, outlines)
        questions += [" ".join(nodes[k].text.split()[:8]) for k in rng.integers(0, n, 30)]
    return questions


def timed(index: MultiScaleIndex, questions: list[str], queries: np.ndarray) -> np.ndarray:
    """Milliseconds of each question."""
    out = []
    for text, query in zip(questions, queries):
        started = time.perf_counter()
        pieces_by_score(index.corpus, index.score(text.split(), query))
        out.append(1000 * (time.perf_counter() - started))
    return np.array(out)


def main() -> None:
    """Build, save, load, ask."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--units", default="10000,100000")
    parser.add_argument("--dims", type=int, default=384)
    args = parser.parse_args()
    print("| units | build s | p50 cold ms | p95 cold ms | p50 ms | p95 ms | peak memory MB |\n|---|---|---|---|---|---|---|")
    for n_units in map(int, args.units.split(",")):
        rng, index = np.random.default_rng(0), MultiScaleIndex(tokenizer=split)
        started = time.perf_counter()
        questions = fill(index, n_units, args.dims, rng)[:100]
        built = time.perf_counter() - started
        with tempfile.TemporaryDirectory() as folder:
            index.save(folder)
            index = MultiScaleIndex.load(folder, tokenizer=split)
            queries = rng.standard_normal((len(questions), args.dims)).astype(np.float32)
            timed(index, questions[:2], queries[:2])
            cold, warm = timed(index, questions, queries), timed(index, questions, queries)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        cells = [f"{x:.1f}" for x in (np.percentile(cold, 50), np.percentile(cold, 95), np.percentile(warm, 50), np.percentile(warm, 95))]
        print(f"| {n_units:,} | {built:.0f} | " + " | ".join(cells) + f" | {peak:,.0f} |", flush=True)


if __name__ == "__main__":
    main()
