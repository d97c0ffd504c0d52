"""nDCG@10 of the BM25 variants on the classic IR sets, with the paired difference to the default.

    python benchmarks/bm25_variants.py
    python benchmarks/bm25_variants.py --data vaswani_npl
"""
from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
from tqdm import tqdm

from ragnb.retrieval.bm25 import VARIANTS, Bm25

ROOT = Path(__file__).resolve().parent.parent
SETTINGS = [{"variant": "okapi", "idf": i} for i in (None, "okapi", "atire")] + [{"variant": v, "idf": None} for v in VARIANTS if v != "okapi"]


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def ndcg_at_k(found: list[str], gains: dict[str, int], k: int = 10) -> float:
    """nDCG with linear gain; 0 when nothing relevant was found."""
    discount = 1 / np.log2(np.arange(2, k + 2))
    got = np.array([max(0, gains.get(i, 0)) for i in found[:k]])
    ideal = np.array(sorted((max(0, g) for g in gains.values()), reverse=True)[:k])
    return float(got @ discount[:len(got)] / (ideal @ discount[:len(ideal)]))


def measure(name: str, b: float, k1: float) -> None:
    """Print one table."""
    folder = Path(os.environ.get("RAGNB_DATA", ROOT.parent / "shared" / "data")) / name
    if not folder.is_dir():
        sys.exit(f"evaluation set {name!r} is not there; set RAGNB_DATA to the folder that holds it")
    documents, queries = ([json.loads(x) for x in (folder / f"{f}.jsonl").open(encoding="utf-8")] for f in ("corpus", "queries"))
    gains: dict[str, dict[str, int]] = defaultdict(dict)
    for line in (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        query, document, gain = line.split()
        gains[query][document] = int(gain)
    queries = [q for q in queries if any(g > 0 for g in gains[q["query_id"]].values())]
    ids, tokens = [d["doc_id"] for d in documents], [words(f"{d['title']} {d['text']}") for d in documents]
    print(f"\n{name}: {len(ids):,} documents, {len(queries)} queries\n\n| variant | idf | nDCG@10 | difference to the default, 95% |\n|---|---|--:|--:|")
    base, rng = None, np.random.default_rng(0)
    for setting in tqdm(SETTINGS, leave=False):
        index = Bm25(k1=k1, b=b, **setting)
        index.add(ids, tokens)
        values = np.array([ndcg_at_k([i for i, _ in index.top_k(words(q["query"]))], gains[q["query_id"]]) for q in queries])
        base = values if base is None else base
        means = (values - base)[rng.integers(len(values), size=(10_000, len(values)))].mean(1)
        low, high = np.quantile(means, [0.025, 0.975])
        p = index.parameters
        print(f"| {p.variant} | {p.idf} | {values.mean():.3f} | {(values - base).mean():+.3f} [{low:+.3f}, {high:+.3f}] |")


def main() -> None:
    parser = argparse.ArgumentParser(description="nDCG@10 of the BM25 variants")
    parser.add_argument("--data", nargs="+", default=["vaswani_npl", "cranfield"])
    parser.add_argument("--k1", type=float, default=1.5)
    parser.add_argument("--b", type=float, default=0.75)
    args = parser.parse_args()
    for name in args.data:
        measure(name, args.b, args.k1)


if __name__ == "__main__":
    main()
