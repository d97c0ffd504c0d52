"""What does following `ragnb tune` cost, beside the best of its grid chosen afterwards? Regret on questions that it has not seen.

    python benchmarks/tune_regret.py [--sets korquad,squad2] [--documents 60] [--questions 300] [--made 30] [--keep DIR]

Each set is written as a folder of text files. Half of its questions are for tuning, the other half measures. Regret at a budget is the evidence recall of the
strategy that is best there on the measuring half, minus that of the strategy chosen; the best is picked by what it is measured with, so even a perfect choice has
a regret above 0. "without" leaves the default out of the grid. "each" takes the choice for each budget alone, "all" that over all budgets.
"""
from __future__ import annotations

import argparse
import re
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from common import arguments, by_hash
from ragnb.evaluation.comparison import Run, RunPlan, run_strategies
from ragnb.evaluation.datasets import Dataset, Question, load_dataset, load_jsonl, write_questions
from ragnb.evaluation.tune import choose, tune, tuning_grid

SETS = "korquad,tydiqa_ko,squad2,covidqa,ko_statutes"
BUDGETS = (500, 1_000, 2_000, 4_000)


def sample(dataset: Dataset, n_documents: int, n_questions: int) -> Dataset:
    "Some documents that questions are about, and some of their questions."
    asked = sorted({e.doc_id for q in dataset.questions for e in q.evidence}, key=by_hash)[:n_documents]
    documents = {i: d for i, d in dataset.documents.items() if i in asked}
    questions = [q for q in dataset.questions if q.evidence and {e.doc_id for e in q.evidence} <= set(documents)]
    return replace(dataset, documents=documents, questions=questions, qrels=None).limit(n_questions)


def write_folder(
    dataset: Dataset,
    folder: Path,
) -> tuple[Path, Path]:  # Question files: for tuning, for measuring
    "Write documents as text files, and the questions about them in two halves."
    names = {}
    for n, (doc_id, document) in enumerate(sorted(dataset.documents.items()), 1):
        title = re.sub(r"[^\w ]+", " ", str(document.metadata.get("title") or doc_id))[:60].strip()
        names[doc_id] = f"{n:03d} {title}.txt"
        (folder / "files").mkdir(parents=True, exist_ok=True)
        (folder / "files" / names[doc_id]).write_text(document.text, encoding="utf-8", newline="")
    halves: tuple[list[Question], list[Question]] = [], []
    for n, q in enumerate(sorted(dataset.questions, key=lambda q: by_hash(q.query_id))):
        evidence = tuple(replace(e, doc_id=names[e.doc_id]) for e in q.evidence)
        halves[n % 2].append(replace(q, evidence=evidence))
    files = folder / "tuning.jsonl", folder / "measuring.jsonl"
    for file, half in zip(files, halves):
        write_questions(file, half)
    return files


def regrets(
    names: Sequence[str],  # The strategy chosen for each budget
    other: Sequence[Run],  # On the measuring half
) -> list[tuple[float, str]]:  # For each budget: regret, name of the best strategy there
    "What the choice loses at each budget."
    out = []
    for name, budget in zip(names, BUDGETS):
        recalls = {r.strategy.name: r.evaluation.mean(budget=budget) for r in other}
        best = max(recalls, key=recalls.__getitem__)
        out.append((recalls[best] - recalls[name], best))
    return out


def measure(
    name: str,  # Of a data set
    folder: Path,
    args: argparse.Namespace,
) -> None:
    "Tune on a set in both ways, and print the regrets."
    dataset, started = sample(load_dataset(name, problems=[]), args.documents, args.questions), time.perf_counter()
    tuning, measuring = write_folder(dataset, folder)
    files, place = folder / "files", {"cache": folder / "indexes", "keep": folder / "runs", "budgets": BUDGETS}
    tuned = {f"{args.made} made": tune(files, n=args.made, show_progress=False, **place)}
    tuned["half its own"] = tune(files, tuning, show_progress=False, **place)
    rest = load_jsonl(files, measuring, name=name)
    other = run_strategies(RunPlan(rest, **place), tuning_grid(), show_progress=False)
    for way, result in tuned.items():
        for grid, runs, seen in (("whole", result.runs, other), ("without", result.runs[1:], other[1:])):
            choice, n = choose(runs), len(result.dataset.questions)
            for kind, names in (("all", [choice.winner] * len(BUDGETS)), ("each", [choice.by_budget[b] for b in BUDGETS])):
                shown = [f"{r:.3f} {name}" + ("" if r <= 0.01 else f" (best: {best})")
                         for name, (r, best) in zip(names, regrets(names, seen))]
                print(f"| {name} | {way} ({n}) | {grid} | {kind} | {' | '.join(shown)} |", flush=True)
    n_characters = sum(map(len, rest.texts.values()))
    print(f"<!-- {name}: {len(rest.documents)} documents, {n_characters:,} characters, {len(rest.questions)} measuring questions, "
          f"{time.perf_counter() - started:.0f} s -->", flush=True)


def main() -> None:
    args = arguments(__doc__, sets=SETS, documents=(60, "of each set, at most"),
                     questions=(300, "of each set, at most; one half tunes, the other measures"), made=30,
                     keep=(str, "folder for files, indexes and runs, to go on with"))
    head = " | ".join(f"regret at {b:,}" for b in BUDGETS)
    print(f"| set | questions | grid | budgets | {head} |\n|{'---|' * (4 + len(BUDGETS))}")
    with tempfile.TemporaryDirectory() as temporary:
        for name in args.sets.split(","):
            measure(name, Path(args.keep or temporary) / name, args)


if __name__ == "__main__":
    main()
