"""Delivered recall today beside the recall of spans at commit 44e0156, which counted no labels: does a label cost more than .01?

    python benchmarks/delivered.py                                             # eight sets, 100 questions each
    python benchmarks/delivered.py --before FOLDER                             # FOLDER: `git worktree add FOLDER 44e0156`
    python benchmarks/delivered.py --out nbs/studies/results/delivered.json

It also counts what the characters of each context are: text of the documents, the lines with a number, title and file, what else the layout adds (headings, headers of
tables, separators, `…`), and what is left unused because a cut ends where a reader can follow.

The default strategy with n-grams on every development set, at 500, 1,000 and 4,000 characters. `before` is what `ragnb eval` of that commit gave for the same
questions, by `--before` in a process of its own, else as --out has it. Finished runs are kept in --work; after a change of retrieval or of the context, name
another. Sets are looked for below RAGNB_DATA (default ../shared/data).
"""
from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np

from common import DATA, ROOT, arguments, store
from ragnb.evaluation.comparison import RunPlan, run_strategies
from ragnb.evaluation.datasets import load_dataset
from ragnb.evaluation.measures import Evaluation
from ragnb.evaluation.strategy import resolve_strategies

RESULTS = ROOT / "nbs/studies/results/delivered.json"
SETS = ("tydiqa_ko", "korquad", "ko_statutes", "squad2", "covidqa", "tatqa", "chroma_chunking", "anthropic_codebases")
BUDGETS = (500, 1_000, 4_000)


def before(name: str, limit: int, package: Path, work: Path) -> list[float]:
    """Recall of spans of a set, by `ragnb eval` of another checkout."""
    out = work / "before" / name
    if not (out / "results.json").exists():
        call = [sys.executable, "-c", "import sys; from ragnb.cli import main; sys.exit(main())", "eval", str(DATA / name)]
        asked = ["--limit", str(limit), "--budgets", ",".join(map(str, BUDGETS)), "--out", str(out)]
        subprocess.run([*call, *asked], check=True, cwd=package, env=os.environ | {"PYTHONPATH": str(package)}, stdout=subprocess.DEVNULL)
    strategies = json.loads((out / "results.json").read_text(encoding="utf-8"))["strategies"]
    return [next(iter(strategies.values()))["budgets"][str(b)]["evidence_recall"] for b in BUDGETS]


def room(found: Evaluation) -> dict[str, list[float]]:
    """Mean characters of a context, at each budget: what they are used for."""
    means = []
    for budget in BUDGETS:
        used = []
        for context in (row.contexts[budget] for row in found.rows):
            texts = sum(len(d.span) for d in context.spans)
            labels = sum(map(len, re.findall(r"^\[\d+\](?: \(.*\))?\n", context.text, re.M)))
            used.append((texts, labels, len(context.text) - texts - labels, budget - len(context.text)))
        means.append(np.mean(used, axis=0).round(1).tolist())
    return dict(zip(("documents", "labels", "other", "unused"), map(list, zip(*means))))


def main() -> None:
    args = arguments(__doc__, sets=(",".join(SETS), "separated by commas"), limit=(100, "questions a set"),
                     before=(Path, "a checkout of 44e0156"), work=ROOT / "out" / "delivered", out=RESULTS)
    known = {s["dataset"]: s["before"] for s in json.loads(args.out.read_text(encoding="utf-8"))["sets"]} if args.out.exists() else {}
    sets, n_within, shown = [], 0, " | ".join(f"{b:,}: before, delivered (spans)" for b in BUDGETS)
    print(f"| set | n | {shown} |\n|---|---|" + "---|" * len(BUDGETS))
    for name in args.sets.split(","):
        dataset = load_dataset(name).limit(args.limit)
        plan = RunPlan(dataset, BUDGETS, cache=args.work / "cache", keep=args.work / "runs" / f"{name}-ngram")
        found = run_strategies(plan, resolve_strategies(["default"]), show_progress=False)[0].evaluation
        delivered, spans = ([found.mean(measure, b) for b in BUDGETS] for measure in ("delivered_recall", "evidence_recall"))
        was = before(name, args.limit, args.before, args.work) if args.before else known[name]
        far = [now < old - .01 - 1e-9 for now, old in zip(delivered, was)]
        n_within += far.count(False)
        cells = [f"{old:.3f} {now:.3f} ({s:.3f}){' *' * is_far}" for old, now, s, is_far in zip(was, delivered, spans, far)]
        print(f"| {name} | {len(dataset.questions)} | {' | '.join(cells)} |", flush=True)
        sets.append({"dataset": name, "version": dataset.version, "n": len(dataset.questions), "before": was, "delivered": delivered, "spans": spans, "room": room(found)})
    print(f"\n{n_within} of {len(sets) * len(BUDGETS)} within .01 of the recall of spans at 44e0156; * the others")
    store(args.out, {"embed": "ngram", "budgets": BUDGETS, "sets": sets})


if __name__ == "__main__":
    main()
