"""nDCG@10 of BM25 beside rank_bm25 and bm25s with the same tokens: where the formula is the same, so is the result.

    python benchmarks/bm25_quality.py
    python benchmarks/bm25_quality.py --data vaswani_npl --k1 0.9 --b 0.4
    python benchmarks/bm25_quality.py --variants      # our variants beside each other, paired differences to the default
"""
from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import bm25s
import numpy as np
import rank_bm25
from tqdm import tqdm

from ragnb.evaluation.measures import measure_ids
from ragnb.retrieval.bm25 import VARIANTS, Bm25

ROOT = Path(__file__).resolve().parent.parent
Tokens = Sequence[Sequence[str]]
Scorer = Callable[[Sequence[str]], np.ndarray]


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def ours(documents: Tokens, k1: float, b: float, **settings: Any) -> Scorer:
    index = Bm25(k1=k1, b=b, **settings)
    index.add([str(i) for i in range(len(documents))], documents)
    return index.scores


def theirs(documents: Tokens, k1: float, b: float, **settings: Any) -> Scorer:
    """bm25s in double precision; unknown words are left out, because an empty query is an error there."""
    index = bm25s.BM25(k1=k1, b=b, dtype="float64", **settings)
    index.index([list(d) for d in documents], show_progress=False)
    return lambda query: index.get_scores([t for t in query if t in index.vocab_dict])


# our settings, the other library's name and scorer, what its scores are multiplied with (a function of k1)
PAIRS: list[tuple[dict[str, Any], str, Callable[..., Scorer], Callable[[float], float]]] = [
    ({}, "bm25s lucene", lambda d, k1, b: theirs(d, k1, b, method="lucene"), lambda k1: k1 + 1),
    ({}, "bm25s atire, idf lucene", lambda d, k1, b: theirs(d, k1, b, method="atire", idf_method="lucene"), lambda k1: 1),
    ({"idf": "okapi"}, "rank_bm25 BM25Okapi", lambda d, k1, b: rank_bm25.BM25Okapi(d, k1=k1, b=b).get_scores, lambda k1: 1),
    ({"idf": "okapi", "epsilon": 0}, "bm25s robertson", lambda d, k1, b: theirs(d, k1, b, method="robertson"), lambda k1: k1 + 1),
    ({"idf": "atire"}, "bm25s atire", lambda d, k1, b: theirs(d, k1, b, method="atire"), lambda k1: 1),
    ({"variant": "plus"}, "rank_bm25 BM25Plus", lambda d, k1, b: rank_bm25.BM25Plus(d, k1=k1, b=b).get_scores, lambda k1: 1),
    ({"variant": "plus"}, "bm25s bm25+", lambda d, k1, b: theirs(d, k1, b, method="bm25+", delta=1.0), lambda k1: 1),
    ({"variant": "l"}, "rank_bm25 BM25L", lambda d, k1, b: rank_bm25.BM25L(d, k1=k1, b=b).get_scores, lambda k1: 1),
    ({"variant": "l_paper"}, "bm25s bm25l", lambda d, k1, b: theirs(d, k1, b, method="bm25l", delta=0.5), lambda k1: 1),
]


VARIANT_SETTINGS = ([{"variant": "okapi", "idf": i} for i in (None, "okapi", "atire")]
                    + [{"variant": v, "idf": None} for v in VARIANTS if v != "okapi"])


def read(name: str) -> tuple[list[str], Tokens, dict[str, list[str]], dict[str, dict[str, int]]]:
    """Document ids and tokens, query tokens, relevance judgements."""
    folder = Path(os.environ.get("RAGNB_DATA", ROOT.parent / "shared" / "data")) / name
    if not folder.is_dir():
        sys.exit(f"evaluation set {name!r} is not there; set RAGNB_DATA to the folder that holds it")
    documents, queries = ([json.loads(x) for x in (folder / f"{f}.jsonl").open(encoding="utf-8")] for f in ("corpus", "queries"))
    qrels: dict[str, dict[str, int]] = defaultdict(dict)
    for line in (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        query, document, gain = line.split()
        qrels[query][document] = max(0, int(gain))
    wanted = {q["query_id"]: words(q["query"]) for q in queries if any(qrels[q["query_id"]].values())}
    return [d["doc_id"] for d in documents], [words(f"{d['title']} {d['text']}") for d in documents], wanted, {q: qrels[q] for q in wanted}


def rank(ids: Sequence[str], scores: np.ndarray) -> list[str]:
    """The best ten; scores that agree to nine digits are ties and stand in the order of the corpus."""
    return [ids[i] for i in np.argsort(-scores.round(9), kind="stable")[:10]]


def compare_variants(name: str, k1: float, b: float) -> None:
    """Print nDCG@10 of every variant, with the paired difference to the default."""
    ids, documents, queries, qrels = read(name)
    print(f"\n{name}: {len(ids):,} documents, {len(queries)} queries\n")
    print("| variant | idf | nDCG@10 | difference to the default, 95% |\n|---|---|--:|--:|")
    base, rng = None, np.random.default_rng(0)
    for settings in tqdm(VARIANT_SETTINGS, leave=False):
        score = ours(documents, k1, b, **settings)
        run = {query_id: rank(ids, score(query)) for query_id, query in queries.items()}
        found = measure_ids(run, qrels, ["nDCG@10"])["nDCG@10"]
        values = np.array([found[q] for q in queries])
        base = values if base is None else base
        means = (values - base)[rng.integers(len(values), size=(10_000, len(values)))].mean(1)
        low, high = np.quantile(means, [0.025, 0.975])
        p = Bm25(k1=k1, b=b, **settings).parameters
        print(f"| {p.variant} | {p.idf} | {values.mean():.3f} | {(values - base).mean():+.3f} [{low:+.3f}, {high:+.3f}] |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=["cranfield", "vaswani_npl"])
    parser.add_argument("--k1", type=float, default=1.5)
    parser.add_argument("--b", type=float, default=0.75)
    parser.add_argument("--variants", action="store_true", help="compare our variants instead")
    args = parser.parse_args()
    for name in args.data:
        if args.variants:
            compare_variants(name, args.k1, args.b)
            continue
        ids, documents, queries, qrels = read(name)
        print(f"\n{name}: {len(ids):,} documents, {len(queries)} queries\n\n| ours | the other | nDCG@10, ours | the other | largest difference of a score |\n|---|---|--:|--:|--:|")
        for settings, other, make, factor in tqdm(PAIRS, desc=name, leave=False):
            scorers = ours(documents, args.k1, args.b, **settings), make(documents, args.k1, args.b)
            runs: tuple[dict[str, list[str]], ...] = ({}, {})
            largest = 0.0
            for query_id, query in queries.items():
                scores = scorers[0](query), scorers[1](query) * factor(args.k1)
                largest = max(largest, float(np.abs(scores[0] - scores[1]).max()))
                for run, values in zip(runs, scores):
                    run[query_id] = rank(ids, values)
            means = [np.mean(list(measure_ids(run, qrels, ["nDCG@10"])["nDCG@10"].values())) for run in runs]
            shown = ", ".join(f"{k}={v!r}" for k, v in settings.items())
            print(f"| `Bm25({shown})` | {other} | {means[0]:.6f} | {means[1]:.6f} | {largest:.1e} |", flush=True)


if __name__ == "__main__":
    main()
