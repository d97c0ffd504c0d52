"""Where in the context the evidence stands, for each order of the same passages: no model is asked.

    python benchmarks/context_order.py [--data FOLDER] [--questions 500] [--budgets 2000,4000,8000]     (FOLDER holds corpus.jsonl and queries.jsonl)
    python benchmarks/context_order.py --sample        the package's own corpus and all its questions
"""
from __future__ import annotations

import argparse
import os
import random
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tqdm import tqdm

from ragnb.context.builders import RankedContextBuilder
from ragnb.evaluation.datasets import load_questions
from ragnb.documents.files import read_documents
from ragnb.documents.span import Passage
from ragnb.indexing.update import update_index
from ragnb.evaluation.judging import ORDERS, evidence_positions, freeze_contexts, lay_out, position_summary, shuffled
from ragnb.pipeline.pipeline import Pipeline

ROOT = Path(__file__).resolve().parent.parent


def insert_at_middle(passages: Sequence[Passage]) -> list[Passage]:
    "Insert every second passage at the middle: 1, 3, 5, 7, 2, 4, 6, 8 for eight. Meant to put the best at both ends, and does not."
    ordered: list[Passage] = []
    for i, passage in enumerate(passages):
        ordered.insert(len(ordered) // 2 if i % 2 == 0 else len(ordered), passage)
    return ordered


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("RAGNB_DATA", ROOT.parent / "shared" / "data")) / "korquad")
    parser.add_argument("--sample", action="store_true", help="measure on data/ of this repository")
    parser.add_argument("--questions", type=int, default=500, help="drawn with a fixed seed")
    parser.add_argument("--budgets", default="2000,4000,8000")
    parser.add_argument("--policy", default="neighbors:1")
    args = parser.parse_args()
    corpus, asked = (ROOT / "data" / "corpus", ROOT / "data" / "questions") if args.sample else (args.data / "corpus.jsonl", args.data / "queries.jsonl")
    questions = load_questions(asked, {d.id_: d.text for d in read_documents(corpus, [])})
    if len(questions) > args.questions:
        questions = random.Random(0).sample(questions, args.questions)
    orders = ORDERS | {"seed 001, literally": insert_at_middle, "shuffled": shuffled(0)}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        index, _ = update_index(corpus, folder, parser="parent-child")
        pipeline = Pipeline.from_index(index, policy=args.policy, budget=None)
        found = {q.query: pipeline.passages(q.query) for q in tqdm(questions, desc="ask")}
    print(f"{len(questions)} questions, policy {args.policy}\n")
    print("| characters | passages | evidence absent | in the best passage | order | first third | middle | last third | characters from the nearer end |\n" + "|---" * 9 + "|")
    for budget in map(int, args.budgets.split(",")):
        builder = RankedContextBuilder(budget)
        frozen = freeze_contexts(found.__getitem__, questions, builder)
        size = sum(len(f.passages) for f in frozen) / len(frozen)
        for name, order in orders.items():
            s = position_summary(evidence_positions([lay_out(f.passages, order, builder) for f in frozen], questions))
            print(f"| {budget:,} | {size:.1f} | {s['absent']} | {s['best_passage']:.3f} | {name} | {s['first']:.3f} | {s['middle']:.3f} | {s['last']:.3f} | {s['from_end']:,} |", flush=True)


if __name__ == "__main__":
    main()
