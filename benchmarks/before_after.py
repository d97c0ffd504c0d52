"""The multi-scale score beside the one before it: evidence recall of seven sets at five budgets, with paired intervals.

    python benchmarks/before_after.py                          # all questions; nbs/studies/results/before_after.json
    python benchmarks/before_after.py embeddings --limit 300   # the gain with n-grams, with MiniLM and without vectors; before_after_embeddings.json
    python benchmarks/before_after.py --sets tatqa --merge     # one set again, the others as they are stored
    python benchmarks/before_after.py --sets korquad,tydiqa_ko,ko_statutes --embed ollama:bona/bge-m3-korean    # the Korean table with another model

Before: the sum of BM25 over windows, a window taking the place of the document, no pairs of words. Units, vectors, candidates, titles, names and
everything after the sum are the same. Questions are asked over the whole corpus of a set. Statutes twice: with the citations of a question resolved
ahead of the search, as `ragnb ask` does it, and without. Korean with the offline n-gram embedding, English with MiniLM, unless `--embed` says
otherwise; a table made with `--embed`, `--sets` or `--limit` is printed and, with `--store FILE`, written there. With `--merge` the rows of `--sets`
take the place of those in before_after.json, and the mean is made anew: for a change that touches only these sets. Vectors are kept in --keep.
"""
from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from ragnb.evaluation.comparison import paired_test
from ragnb.evaluation.datasets import load_dataset
from ragnb.evaluation.measures import evaluate
from ragnb.retrieval.multiscale import MultiScaleRanking
from scored_set import build, KOREAN, NONE, ScoredSet

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "nbs" / "studies" / "results"
SETS = ("korquad", "tydiqa_ko", "ko_statutes", "squad2", "covidqa", "chroma_chunking", "tatqa")
ENGLISH = SETS[3:]
BUDGETS = (250, 500, 1_000, 2_000, 4_000)
CITED = ", citations resolved"


def compared(asked: ScoredSet, label: str, limit: int | None, citations: bool = False) -> dict[str, Any]:
    """Both scores on the questions of a set: means, and their paired difference, at every budget."""
    retriever, rankings = asked.retriever(citations), {}
    def now(question: str) -> MultiScaleRanking:
        rankings[question] = retriever.rank(asked.bundle(question))
        return rankings[question]
    def before(question: str) -> MultiScaleRanking: return asked.before(retriever, rankings[question], question)
    questions, started = [q for q in asked.dataset.limit(limit).questions if q.evidence], time.perf_counter()
    new, old = evaluate(now, questions, BUDGETS), evaluate(before, questions, BUDGETS)
    cells = []
    for budget in BUDGETS:
        a, b = old.values("evidence_recall", budget), new.values("evidence_recall", budget)
        t = paired_test(a, b)
        cells.append({"budget": budget, "before": float(a.mean()), "now": float(b.mean()), "difference": t.difference, "ci": t.ci,
                      "error": float(np.std(b - a) / len(a) ** 0.5), "better": t.better, "worse": t.worse})
    print(f"{label}: {len(questions):,} questions in {time.perf_counter() - started:.0f} s", file=sys.stderr, flush=True)
    return {"set": label, "questions": len(questions), "units": len(asked.index), "cells": cells}


def mean_of(found: list[dict[str, Any]]) -> dict[str, Any]:
    """The mean over sets of the paired differences, with its 95 % interval (normal, from the variance within each set)."""
    cells = []
    for budget, column in zip(BUDGETS, zip(*(f["cells"] for f in found))):
        mean = {k: float(np.mean([c[k] for c in column])) for k in ("before", "now", "difference")}
        error = 1.96 * float(np.sqrt(sum(c["error"] ** 2 for c in column))) / len(column)
        cells.append({"budget": budget, **mean, "ci": (mean["difference"] - error, mean["difference"] + error)})
    return {"set": f"mean of {len(found)}", "questions": sum(f["questions"] for f in found), "cells": cells}


def table(rows: list[dict[str, Any]]) -> str:
    """Rows as a Markdown table: before → now, and the change in points with its interval."""
    out = [f"| set | questions | {' | '.join(f'{b:,}' for b in BUDGETS)} |", "|---|---|" + "---|" * len(BUDGETS)]
    for r in rows:
        cells = [f"{c['before']:.3f} → {c['now']:.3f} ({100 * c['difference']:+.1f} [{100 * c['ci'][0]:+.1f}, {100 * c['ci'][1]:+.1f}])" for c in r["cells"]]
        out.append(f"| {r['set']} | {r['questions']:,} | {' | '.join(cells)} |")
    return "\n".join(out)


def run(sets: list[str], specs: list[str], args: argparse.Namespace) -> list[dict[str, Any]]:
    """Every set with every embedding; `auto` is n-grams for Korean and MiniLM for English."""
    found = []
    for name in sets:
        dataset = load_dataset(name)
        for spec in specs:
            used = spec if spec != "auto" else "ngram" if name in KOREAN else args.minilm
            asked = build(dataset, used, args.keep, args.base_url)
            embedding = "minilm" if used == args.minilm else used
            found.append(compared(asked, name, args.limit) | {"embedding": embedding})
            if name == "ko_statutes":
                found.append(compared(asked, name + CITED, args.limit, citations=True) | {"embedding": embedding})
    return found


def merged(path: Path, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of a file with some of them replaced, and their mean."""
    new = {r["set"]: r for r in rows if not r["set"].startswith("mean")}
    each = [new.get(r["set"], r) for r in json.loads(path.read_text(encoding="utf-8"))["rows"] if not r["set"].startswith("mean")]
    return [*each, mean_of([r for r in each if not r["set"].endswith(CITED)]) | {"embedding": None}]


def stored(path: Path, facts: dict[str, Any]) -> None:
    """Write what was found, a set on one line."""
    short = json.loads(json.dumps(facts), parse_float=lambda x: round(float(x), 5))
    rows = ",\n".join(json.dumps(r) for r in short.pop("rows"))
    path.write_text(json.dumps(short)[:-1] + ', "rows": [\n' + rows + "\n]}\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", nargs="?", choices=["scores", "embeddings"], default="scores")
    parser.add_argument("--sets", help=f"separated by commas; {','.join(SETS)} when left out, for `embeddings` the English ones")
    parser.add_argument("--embed", default="auto", help="ngram, onnx:FOLDER, ollama:MODEL or none, for all sets")
    parser.add_argument("--base-url", help="of the server of --embed")
    parser.add_argument("--minilm", default="onnx:" + str(Path(os.environ.get("RAGNB_MODELS", ROOT.parent / "shared" / "models")) / "minilm"))
    parser.add_argument("--limit", type=int, help="questions a set, the same at every run; all when left out")
    parser.add_argument("--keep", type=Path, default=ROOT / "out" / "vectors", help="folder of vectors made before")
    parser.add_argument("--store", type=Path, help="JSON file to write")
    parser.add_argument("--merge", action="store_true", help="put the rows of --sets into before_after.json")
    args = parser.parse_args()
    by_embedding = args.table == "embeddings"
    sets = args.sets.split(",") if args.sets else list(ENGLISH if by_embedding else SETS)
    found = run(sets, ["ngram", args.minilm, NONE] if by_embedding else [args.embed], args)
    rows, groups = [], dict.fromkeys(f["embedding"] for f in found) if by_embedding else [None]
    for group in groups:
        own = [f for f in found if group in (None, f["embedding"])]
        plain = [f for f in own if not f["set"].endswith(CITED)]
        total = [mean_of(plain) | {"embedding": group}] if len(plain) > 1 else []
        rows += own + total
        print(f"\n{group or args.embed}\n\n{table(own + total)}")
    whole = args.embed == "auto" and not args.sets and (by_embedding or not args.limit)
    if args.merge and args.sets and args.embed == "auto" and not by_embedding and not args.limit:
        rows, whole = merged(RESULTS / "before_after.json", rows), True
        print(f"\n{table(rows)}")
    target = args.store or (RESULTS / ("before_after_embeddings.json" if by_embedding else "before_after.json") if whole else None)
    if target:
        stored(target, {"command": " ".join(["python benchmarks/before_after.py", *(["embeddings"] if by_embedding else []), *([f"--limit {args.limit}"] if args.limit else [])]),
                        "budgets": BUDGETS, "limit": args.limit, "rows": rows})


if __name__ == "__main__":
    main()
