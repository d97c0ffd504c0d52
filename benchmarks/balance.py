"""What is found when a corpus grows around the same questions: the balance of the signals must not depend on its size.

    python benchmarks/balance.py                                # eight sets alone, and in one index with all the others
    python benchmarks/balance.py --part 15000 --sizes 1,10,100 --limit 30 --out nbs/studies/results/growth100.json
    python benchmarks/balance.py --out nbs/studies/results/growth.json

Every set of the development data is asked by itself, then with the documents of all other sets around it
(one index for all questions; how many times as long its text is stands in the table). The loss is the delivered recall of the same questions, alone minus
grown. Beside ragnb's default stand its BM25 and hybrid retrieval over chunks, and the two LlamaIndex retrievers that do best in `benchmarks/peers.py`, with titles and
Korean morphemes. The development data have about 5 million characters, so whole sets cannot grow a hundredfold. With `--part` each set is represented by so many characters of
it, in documents of a fixed order, with the questions whose evidence lies in them; a size of 100 is then one common index of all parts and of other documents, the rest of
the sets among them, of 100 times as many characters. A document longer than a part is cut at the end of a line, and its rest is left out everywhere. The n-gram embedding is fitted on each corpus. Sets are looked for below RAGNB_DATA (default ../shared/data); the sample is always there.
"""
from __future__ import annotations

import random
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from common import ROOT, arguments, sample_or_set, store
from ragnb.evaluation.comparison import Run, RunPlan, run_strategies
from ragnb.evaluation.datasets import Dataset
from ragnb.evaluation.strategy import resolve_strategies

SETS = ("sample", "korquad", "tydiqa_ko", "ko_statutes", "squad2", "covidqa", "chroma_chunking", "tatqa")
BUDGETS = (500, 1_000, 4_000)
STRATEGIES = ("default", "split=chunks:400/0 retrieve=bm25 policy=none", "split=chunks:400/0 retrieve=hybrid policy=none",
              "peer:llamaindex-fusion:chunk_size=128,chunk_overlap=20,titles,words,mode=relative_score",
              "peer:llamaindex-sentence-window:window_size=1,retriever=hybrid,titles,words")


def named(name: str, limit: int) -> Dataset:
    """A set whose ids begin with its name, with its first questions that have evidence."""
    found = sample_or_set(name).limit(limit)
    documents = {}
    for doc in found.documents.values():
        copy = doc.model_copy(deep=True)
        copy.id_ = f"{name}/{doc.id_}"
        documents[copy.id_] = copy
    questions = [replace(q, query_id=f"{name}/{q.query_id}", evidence=tuple(replace(e, doc_id=f"{name}/{e.doc_id}") for e in q.evidence))
                 for q in found.questions if q.evidence]
    return Dataset(name, documents, questions)


def size(documents: Iterable) -> int:
    """Characters of some documents."""
    return sum(len(d.text) for d in documents)


def part(own: Dataset, n_characters: int, limit: int) -> Dataset:
    """Documents of a set in a fixed order, as many as fit; one that is longer than all of it is cut. The first questions whose evidence they hold."""
    documents, left = {}, n_characters
    order = list(own.documents.values())
    random.Random(0).shuffle(order)
    for doc in order:
        if len(doc.text) > n_characters and left == n_characters:
            doc.set_content(doc.text[:doc.text.rfind("\n", 0, n_characters) + 1 or n_characters])
        if len(doc.text) <= left:
            documents[doc.id_], left = doc, left - len(doc.text)
    held = [q for q in own.questions if all(e.doc_id in documents and e.span.end <= len(documents[e.doc_id].text) for e in q.evidence)]
    return Dataset(own.name, documents, held[:limit])


def around(parts: Sequence[Dataset], whole: Sequence[Dataset], n_characters: int) -> Dataset:
    """One corpus of all parts and of other documents in a fixed order, of so many characters, with the questions of all parts."""
    documents = {k: d for s in parts for k, d in s.documents.items()}
    others = [d for s in whole for d in s.documents.values() if d.id_ not in documents]
    random.Random(1).shuffle(others)
    left = n_characters - size(documents.values())
    for doc in others:
        if len(doc.text) <= left:
            documents[doc.id_], left = doc, left - len(doc.text)
    return Dataset("parts and others", documents, [q for s in parts for q in s.questions])


def values(run: Run, name: str) -> np.ndarray:
    """Delivered recall of the questions of a set: shape (questions, budgets)."""
    rows = [row for row in run.evaluation.rows if row.query_id.startswith(f"{name}/")]
    return np.array([[row.scores[b].delivered_recall for b in BUDGETS] for row in rows])


def main() -> None:
    args = arguments(__doc__, sets=(",".join(SETS), "separated by commas"),
                     sizes=("1,all", "1: each set alone; all: everything in one index; other numbers: with --part, times its text"),
                     strategies=(";".join(STRATEGIES), "separated by semicolons"),
                     part=(int, "characters of each set that are asked about; whole sets by default"),
                     limit=(100, "questions a set"), work=ROOT / "out" / "balance",
                     out=(Path, "where the JSON goes; balance.json in --work by default"))
    strategies = resolve_strategies(args.strategies.split(";"))
    sets = whole_sets = [named(name, 10**9 if args.part else args.limit) for name in args.sets.split(",")]
    if args.part:
        sets = [part(s, args.part, args.limit) for s in whole_sets]
    whole = Dataset("all sets", {k: d for s in sets for k, d in s.documents.items()}, [q for s in sets for q in s.questions])
    total, found = 0, {}
    for times in args.sizes.split(","):
        jobs = [(s, [s]) for s in sets] if times == "1" else [(whole if times == "all" else around(sets, whole_sets, int(times) * args.part), sets)]
        for dataset, asked in jobs:
            started, total = time.perf_counter(), max(total, size(dataset.documents.values()))
            plan = RunPlan(dataset, BUDGETS, keep=args.work / "runs", contexts=False)
            for run, strategy in zip(run_strategies(plan, strategies, show_progress=False), strategies):
                for s in asked:
                    found[strategy.name, times, s.name] = values(run, s.name).mean(axis=0)
            print(f"{dataset.name}: {len(dataset.questions)} questions, {size(dataset.documents.values()):,} characters, "
                  f"{time.perf_counter() - started:.0f} s", flush=True)
    times = {s.name: total / size(s.documents.values()) for s in sets}
    report(found, [s.name for s in strategies], args.sizes.split(","), times)
    facts = {"embed": "ngram", "budgets": BUDGETS, "n": {s.name: len(s.questions) for s in sets}, "part": args.part, "times": {k: round(v, 1) for k, v in times.items()}}
    rows = [{"strategy": n, "times": t, "set": s, "delivered": [round(float(x), 4) for x in v]} for (n, t, s), v in found.items()]
    store(args.out or args.work / "balance.json", facts | {"rows": rows})


def report(found: dict[tuple[str, str, str], np.ndarray], names: Sequence[str], sizes: Sequence[str], times: dict[str, float]) -> None:
    """The table, set by set and on the mean."""
    print("\nthe largest corpus is " + ", ".join(f"{n:.0f} times {name}" for name, n in times.items()) + "\n")
    shown = " / ".join(f"{b:,}" for b in BUDGETS)
    print(f"| set | strategy | alone: {shown} |" + "".join(f" {s}: loss |" for s in sizes[1:]) + "\n|---|---|---|" + "---|" * (len(sizes) - 1))
    for where in [*times, "mean"]:
        for name in names:
            at = {s: found[name, s, where] if where != "mean" else np.mean([found[name, s, k] for k in times], axis=0) for s in sizes}
            alone = at[sizes[0]]
            cells = [" / ".join(f"{v:.3f}" for v in alone), *(" / ".join(f"{v:+.3f}" for v in alone - at[s]) for s in sizes[1:])]
            print(f"| {where} | {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
