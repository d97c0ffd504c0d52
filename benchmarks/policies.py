"""What every expansion policy finds at an equal budget: evidence recall on the sample data (or a folder of yours), hits of the default hybrid retriever.

    python benchmarks/policies.py [--data data] [--budgets 500,1000,2000,4000,8000] [--top-k 20]
"""
from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tqdm import tqdm

from ragnb.context.builders import PassageRanking
from ragnb.evaluation.datasets import load_questions
from ragnb.expansion.expander import Expander
from ragnb.expansion.policies import resolve_policy
from ragnb.documents.files import read_documents
from ragnb.indexing.update import update_index
from ragnb.pipeline.pipeline import Pipeline
from ragnb.expansion.policies import adaptive
from ragnb.expansion.segments import best_segments, bm25_relevance
from ragnb.documents.catalogue import Catalogue
from ragnb.documents.span import Passage, n_characters, shared

SPECS = ["none", "neighbors:1", "neighbors:2", "neighbors:5", "adaptive", "adaptive, prose of seed 000", "pages:1", "pages:2", "document:50", "doc_type", "parent",
         "auto-merge:0.5", "section", "segments", "segments, BM25 of all chunks", "citations", "neighbors:1+citations"]


def recall(question: Any, passages: Sequence[Passage]) -> float:
    """Share of the evidence's characters in the passages; of the best evidence when any will do."""
    found = [n_characters(shared([e.span], [p.span for p in passages if p.doc_id == e.doc_id])) / len(e.span) for e in question.evidence]
    return max(found) if question.mode == "any" else sum(found) / len(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--budgets", default="500,1000,2000,4000,8000")
    parser.add_argument("--top-k", type=int, default=20)
    args = parser.parse_args()
    budgets = [int(b) for b in args.budgets.split(",")]
    documents = list(read_documents(args.data / "corpus", []))
    questions = load_questions(args.data / "questions", {d.id_: d.text for d in documents})
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        index, _ = update_index(args.data / "corpus", f"{folder}/index", parser="parent-child")
        retriever, catalogue = Pipeline.from_index(index, top_k=args.top_k).retriever, Catalogue.from_documents(documents)
        hits = {q.query: retriever.retrieve(q.query) for q in tqdm(questions, desc="retrieve", unit="question")}
        own = {"adaptive, prose of seed 000": adaptive(steps=((500, 10),)), "segments, BM25 of all chunks": best_segments(relevance=bm25_relevance(index.bm25))}
        print(f"\n{len(questions)} questions, {args.top_k} hits, the first 5 expanded; evidence recall at {', '.join(f'{b:,}' for b in budgets)} characters\n")
        print("| policy | characters brought | reads, at most | " + " | ".join(f"{b:,}" for b in budgets) + " |\n|---|---|---|" + "---|" * len(budgets))
        for spec in SPECS:
            expander = Expander(index.store, own.get(spec) or resolve_policy(spec, catalogue=catalogue))
            done = {q.query: expander.expand(hits[q.query], q.query) for q in questions}
            characters, reads = sum(e.stats.characters for e in done.values()) / len(done), max(e.stats.reads for e in done.values())
            recalls = [sum(recall(q, PassageRanking(done[q.query].passages).at(b)) for q in questions) / len(questions) for b in budgets]
            print(f"| {spec} | {characters:,.0f} | {reads} | " + " | ".join(f"{r:.3f}" for r in recalls) + " |", flush=True)


if __name__ == "__main__":
    main()
