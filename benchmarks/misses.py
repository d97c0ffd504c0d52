"""Why evidence is missing from a context: not found, outranked, cut, or a few places of several.

    python benchmarks/misses.py                       # chroma_chunking and covidqa, 100 questions each, at 500, 1,000 and 4,000 characters
    python benchmarks/misses.py --show 30             # also the places of 30 questions that are missed at 1,000 characters

The default strategy with n-grams. Each quote of a question's evidence that the context lacks has one cause:

| cause | the quote |
|---|---|
| cut | is partly in the context: more than a tenth of it is missing |
| near | is in a document of the context, at most 500 characters from a passage of it |
| same document | is in a document of the context, farther away |
| other document | is in no document of the context |

`room` is the budget at which the ranking has the whole quote: the context is large enough at that size. A quote with a room above --most is counted as never found.
"""
from __future__ import annotations

import json
from collections import Counter
from typing import Any

import numpy as np

from common import ROOT, arguments
from ragnb.evaluation.datasets import Evidence, load_dataset, Question
from ragnb.evaluation.delivered import delivered_spans
from ragnb.evaluation.strategy import build_system, IndexCache, System

BUDGETS = (500, 1_000, 4_000)
CAUSES = ("cut", "near", "same document", "other document")
ROOMS = (1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000)


def room_for(ranking: Any, evidence: Evidence, most: int) -> int:
    """The budget at which a ranking has a quote, from doubled steps; 0 for never."""
    def has(budget: int) -> bool:
        return any(p.doc_id == evidence.doc_id and p.span.contains(evidence.span) for p in ranking.at(budget))
    return next((budget for step in range(20) if (budget := 125 << step) <= most and has(budget)), 0)


def cause(evidence: Evidence, spans: list[Any]) -> str:
    """Why a quote is missing; '' when it is there."""
    own = sorted((s.span for s in spans if s.doc_id == evidence.doc_id), key=lambda s: s.start)
    inside = sum(s.overlap(evidence.span) for s in own)
    if inside >= .9 * len(evidence.span):   # the context writes [63] of a document as ‹63›
        return ""
    if inside:
        return "cut"
    gap = min((max(evidence.span.start - s.end, s.start - evidence.span.end) for s in own), default=None)
    return "other document" if gap is None else "near" if gap <= 500 else "same document"


def causes(system: System, question: Question, texts: dict[str, str], most: int) -> list[dict[str, Any]]:
    """One record a quote: its cause at each budget, its room, and how many places its question has."""
    shared: dict[Any, Any] = {}
    contexts = {b: delivered_spans(system.deliver(question.query, b, shared)[0], texts) for b in reversed(BUDGETS)}
    ranking = system.rank_shared(question.query, shared)[0]
    return [{"id": question.query_id, "query": question.query, "mode": question.mode, "places": len(question.evidence), "size": len(e.span),
             "room": room_for(ranking, e, most), **{str(b): cause(e, contexts[b]) for b in BUDGETS}} for e in question.evidence]


def tables(name: str, rows: list[dict[str, Any]], n: int) -> None:
    """Print what is missing of a set."""
    print(f"\n{name}: {n} questions, {len(rows)} quotes of {np.median([r['size'] for r in rows]):.0f} characters (median)\n")
    print("| characters | missing | " + " | ".join(CAUSES) + " | questions with several places: none found, some, all |\n|--:|--:|" + "--:|" * len(CAUSES) + "---|")
    for b in map(str, BUDGETS):
        counts = Counter(r[b] for r in rows if r[b])
        several: dict[str, list[bool]] = {}
        for r in rows:
            if r["places"] > 1:
                several.setdefault(r["id"], []).append(not r[b])
        states = Counter("all" if all(v) else "some" if any(v) else "none" for v in several.values())
        print(f"| {int(b):,} | {sum(counts.values())} | " + " | ".join(str(counts[c]) for c in CAUSES) + f" | {states['none']}, {states['some']}, {states['all']} |")
    print("\n| quotes missing at | " + " | ".join(f"room {r:,}" for r in ROOMS) + " | never |\n|--:|" + "--:|" * 8)
    for b in map(str, BUDGETS):
        rooms = Counter(max(r["room"], 1_000) if r["room"] else 0 for r in rows if r[b])
        print(f"| {int(b):,} | " + " | ".join(str(rooms[r]) for r in ROOMS) + f" | {rooms[0]} |")


def main() -> None:
    args = arguments(__doc__, sets=("chroma_chunking,covidqa", "separated by commas"), limit=(100, "questions of a set"),
                     most=(64_000, "characters of the largest room that is tried"),
                     show=(0, "questions shown, of those missed at 1,000 characters"), embed="ngram",
                     cache=str(ROOT / "out" / "misses"))
    for name in args.sets.split(","):
        dataset = load_dataset(name).limit(args.limit)
        system = build_system("default", dataset, IndexCache(args.cache), embed=args.embed)
        rows = [r for q in dataset.questions for r in causes(system, q, dataset.texts, args.most)]
        tables(name, rows, len(dataset.questions))
        for r in [r for r in rows if r["1000"]][:args.show]:
            print(json.dumps(r, ensure_ascii=False))


if __name__ == "__main__":
    main()
