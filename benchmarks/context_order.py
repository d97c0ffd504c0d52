"""Where in the context the evidence stands, for each order of the same passages: no model is asked.

    python benchmarks/context_order.py [--questions 500] [--budgets 2000,4000,8000]     korquad
    python benchmarks/context_order.py --sample        the package's own corpus and all its questions
"""
from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tqdm import tqdm

from common import arguments, sample_or_set
from ragnb.context.builders import RankedContextBuilder
from ragnb.documents.span import Passage
from ragnb.indexing.update import index_documents
from ragnb.evaluation.datasets import Question
from ragnb.evaluation.judging import ORDERS, evidence_positions, freeze_contexts, lay_out, position_summary
from ragnb.pipeline.pipeline import Pipeline


def insert_at_middle(passages: Sequence[Passage]) -> list[Passage]:
    "Insert every second passage at the middle: 1, 3, 5, 7, 2, 4, 6, 8 for eight. Meant to put the best at both ends, and does not."
    ordered: list[Passage] = []
    for i, passage in enumerate(passages):
        ordered.insert(len(ordered) // 2 if i % 2 == 0 else len(ordered), passage)
    return ordered


def shuffled(passages: Sequence[Passage]) -> list[Passage]:
    "An order by chance, the same for the same passages: the baseline of every other."
    mixed = list(passages)
    random.Random("0 " + " ".join(p.id for p in passages)).shuffle(mixed)
    return mixed


def order_rows(
    found: Mapping[str, Sequence[Passage]],  # Question -> passages, best first
    questions: Sequence[Question],
    budgets: Sequence[int] = (2_000, 4_000, 8_000),
) -> Iterator[dict[str, Any]]:
    "Where the evidence stands when the same passages are laid out in different orders."
    for budget in budgets:
        builder = RankedContextBuilder(budget)
        frozen = freeze_contexts(found.__getitem__, questions, builder)
        size = round(sum(len(f.passages) for f in frozen) / len(frozen), 1)
        for name, order in (ORDERS | {"seed 001, literally": insert_at_middle, "shuffled": shuffled}).items():
            places = evidence_positions([lay_out(f.passages, order, builder) for f in frozen], questions)
            yield {"budget": budget, "order": name, "passages": size, **position_summary(places)}


def main() -> None:
    args = arguments(__doc__, sample=(False, "measure on data/ of this repository"), questions=(500, "drawn with a fixed seed"),
                     budgets="2000,4000,8000", policy="neighbors:1")
    dataset = sample_or_set("sample" if args.sample else "korquad")
    questions = dataset.questions
    if len(questions) > args.questions:
        questions = random.Random(0).sample(questions, args.questions)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        index, _ = index_documents(list(dataset.documents.values()), folder, parser="parent-child")
        pipeline = Pipeline.from_index(index, policy=args.policy, budget=None)
        found = {q.query: pipeline.passages(q.query) for q in tqdm(questions, desc="ask")}
    print(f"{len(questions)} questions, policy {args.policy}\n")
    print("| characters | passages | evidence absent | in the best passage | order | first third | middle | last third | characters from the nearer end |\n" + "|---" * 9 + "|")
    for r in order_rows(found, questions, [*map(int, args.budgets.split(","))]):
        print(f"| {r['budget']:,} | {r['passages']:.1f} | {r['absent']} | {r['best_passage']:.3f} | {r['order']} | {r['first']:.3f} "
              f"| {r['middle']:.3f} | {r['last']:.3f} | {r['from_end']:,} |", flush=True)


if __name__ == "__main__":
    main()
