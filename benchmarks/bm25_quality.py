"""nDCG@10 of BM25 whose words all have a weight above 0, of `rank_bm25` with its own weights, and of bm25s, with the same tokens.

    python benchmarks/bm25_quality.py
    python benchmarks/bm25_quality.py --data vaswani_npl --k1 0.9 --b 0.4

In brackets the paired difference to the first row, with its 95 % bootstrap interval over queries.
"""
from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Sequence

import bm25s
import numpy as np
import rank_bm25
from tqdm import tqdm

from common import arguments, DATA, lines
from ragnb.evaluation.measures import measure_ids
from ragnb.retrieval.bm25 import PositiveOkapi

Tokens = Sequence[Sequence[str]]
Scorer = Callable[[Sequence[str]], np.ndarray]


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def lucene(documents: Tokens, k1: float, b: float) -> Scorer:
    """bm25s in double precision; unknown words are left out, because an empty query is an error there."""
    index = bm25s.BM25(k1=k1, b=b, dtype="float64", method="lucene")
    index.index([list(d) for d in documents], show_progress=False)
    return lambda query: index.get_scores([t for t in query if t in index.vocab_dict])


WAYS: dict[str, Callable[[Tokens, float, float], Scorer]] = {
    "`PositiveOkapi`": lambda documents, k1, b: PositiveOkapi(documents, k1, b).get_scores,
    "rank_bm25 `BM25Okapi`": lambda documents, k1, b: rank_bm25.BM25Okapi(documents, k1=k1, b=b).get_scores,
    "bm25s `lucene`": lucene,
}


def read(name: str) -> tuple[list[str], Tokens, dict[str, list[str]], dict[str, dict[str, int]]]:
    """Document ids and tokens, query tokens, relevance judgements."""
    documents, queries = (lines(DATA / name / f"{f}.jsonl") for f in ("corpus", "queries"))
    qrels: dict[str, dict[str, int]] = defaultdict(dict)
    for line in (DATA / name / "qrels.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        query, document, gain = line.split()
        qrels[query][document] = max(0, int(gain))
    wanted = {q["query_id"]: words(q["query"]) for q in queries if any(qrels[q["query_id"]].values())}
    return [d["doc_id"] for d in documents], [words(f"{d['title']} {d['text']}") for d in documents], wanted, {q: qrels[q] for q in wanted}


def rank(ids: Sequence[str], scores: np.ndarray) -> list[str]:
    """The best ten; scores that agree to nine digits are ties and stand in the order of the corpus."""
    return [ids[i] for i in np.argsort(-scores.round(9), kind="stable")[:10]]


def compare(name: str, k1: float, b: float) -> None:
    """Print nDCG@10 of every way, with the paired difference to the first."""
    ids, documents, queries, qrels = read(name)
    print(f"\n{name}: {len(ids):,} documents, {len(queries)} queries\n\n| | nDCG@10 | difference, 95 % |\n|---|--:|--:|")
    base, rng = None, np.random.default_rng(0)
    for label, make in tqdm(WAYS.items(), desc=name, leave=False):
        score = make(documents, k1, b)
        run = {query_id: rank(ids, score(query)) for query_id, query in queries.items()}
        found = measure_ids(run, qrels, ["nDCG@10"])["nDCG@10"]
        values = np.array([found[q] for q in queries])
        base = values if base is None else base
        means = (values - base)[rng.integers(len(values), size=(10_000, len(values)))].mean(1)
        low, high = np.quantile(means, [0.025, 0.975])
        print(f"| {label} | {values.mean():.3f} | {(values - base).mean():+.3f} [{low:+.3f}, {high:+.3f}] |", flush=True)


def main() -> None:
    args = arguments(__doc__, data=["cranfield", "vaswani_npl"], k1=1.5, b=0.75)
    for name in args.data:
        compare(name, args.k1, args.b)


if __name__ == "__main__":
    main()
