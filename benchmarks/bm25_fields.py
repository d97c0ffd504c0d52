"""Is a document's title worth a field of its own in BM25? Plain text, title before the text, and a separate score for it.

    python benchmarks/bm25_fields.py
    python benchmarks/bm25_fields.py --data korquad --questions 0      # all questions

Units are the blocks of the documents (paragraphs, articles, list items), at most 400 characters each; only their own text is
shown and counted. Evidence recall of the best units under a budget of characters, and paired differences to the prefix.
"""
from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

import numpy as np
from tqdm import tqdm

from ragnb.retrieval.bm25 import Bm25
from ragnb.context.builders import PassageRanking
from ragnb.evaluation.datasets import load_dataset
from ragnb.evaluation.measures import score_passages
from ragnb.documents.span import InputError, Passage
from ragnb.documents.text import block_spans, word_tokens_batch

WEIGHTS = (0.5, 1.0, 2.0)
Scorer = Callable[[Sequence[str]], np.ndarray]


def scorer(documents: Sequence[Sequence[str]]) -> Scorer:
    index = Bm25()
    index.add([f"d#u{i}" for i in range(len(documents))], documents)
    return index.scores


def systems(texts: list[list[str]], titles: list[list[str]], document: np.ndarray) -> dict[str, Scorer]:
    """Ways to score units; `document` is the row of the title of each."""
    plain, field = scorer(texts), scorer(titles)
    out = {f"title before the text{', twice' if n == 2 else ''}": scorer([titles[d] * n + t for d, t in zip(document, texts)]) for n in (1, 2)}
    out["text alone"] = plain
    return out | {f"text + {w} × title": lambda q, w=w: plain(q) + w * field(q)[document] for w in WEIGHTS}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=["ko_statutes", "squad2"])
    parser.add_argument("--questions", type=int, default=300, help="a seeded sample of so many; 0: all")
    parser.add_argument("--budgets", type=int, nargs="+", default=[500, 1000, 4000], help="characters")
    args = parser.parse_args()
    for name in args.data:
        try:
            data = load_dataset(name)
        except InputError as error:
            sys.exit(str(error))
        rng = np.random.default_rng(0)
        questions = [data.questions[i] for i in np.sort(rng.permutation(len(data.questions))[:args.questions or None])]
        units = [(n, Passage(d, s, s.of(doc.text))) for n, (d, doc) in enumerate(data.documents.items()) for s in block_spans(doc.text, 400)]
        texts = list(word_tokens_batch(p.text for _, p in units))
        titles = list(word_tokens_batch(d.metadata.get("title", "") for d in data.documents.values()))
        queries = list(word_tokens_batch(q.query for q in questions))
        print(f"\n{name}: {len(data.documents)} documents, {len(units):,} units, {len(questions)} questions\n")
        print(f"| | {' | '.join(f'{b:,} characters' for b in args.budgets)} |\n|---|{'--:|' * len(args.budgets)}")
        base = None
        for label, score in tqdm(systems(texts, titles, np.array([n for n, _ in units])).items(), desc=name, leave=False):
            values = np.zeros((len(questions), len(args.budgets)))
            for row, (question, query) in enumerate(zip(questions, queries)):
                scores = score(query)
                found = PassageRanking([units[i][1] for i in np.argsort(-scores.round(9), kind="stable")[:80] if scores[i] > 0])
                values[row] = [score_passages(found.at(b), question).evidence_recall for b in args.budgets]
            base = values if base is None else base
            drawn = rng.integers(len(values), size=(5_000, len(values)))
            cells = [f"{v.mean():.3f}" + (f" [{np.quantile(d[drawn].mean(1), 0.025):+.3f}, {np.quantile(d[drawn].mean(1), 0.975):+.3f}]" if values is not base else "")
                     for v, d in zip(values.T, (values - base).T)]
            print(f"| {label} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
