"""The share of a context that one document may have: how much evidence the agent reads, for several ceilings.

Run: python benchmarks/document_share.py [--budget 4000] [--shares .3 .4 .5 .6 .75]

The sample, once as it is and once with one long record of type gcb: the texts of all repair records in one diary. A record of this type
is read whole. Evidence counts only in a passage of its own document, so the copies in the diary count for nothing. *Two places* are the
questions whose evidence is in two places or more, all of which are needed; *maintenance* are the questions on the machines.
Retrieval and context are those of `Library.open`, with the policy "doc_type"; no model is asked.
"""
from __future__ import annotations

import tempfile
from dataclasses import replace

from llama_index.core.schema import Document

from common import arguments, sample_or_set
from ragnb.agent.library import Library, library_pipeline
from ragnb.documents.span import Passage
from ragnb.evaluation.comparison import compare
from ragnb.evaluation.measures import evaluate
from ragnb.indexing.update import index_documents


def diary(documents: dict[str, Document]) -> Document:
    """One long record of all repair records."""
    records = [d for d in documents.values() if str(d.metadata.get("doc_type", "")).lower() in ("gcb", "myservice")]
    text = "\n\n".join(f"## {d.metadata.get('title', d.id_)}\n\n{d.get_content()}" for d in records)
    return Document(id_="DIARY", text=text, metadata={"title": "정비 일지", "doc_type": "gcb"})


def measure(name: str, documents: list[Document], questions: dict[str, list], budget: int, shares: list[float | None]) -> None:
    """Print the rows of one corpus."""
    with tempfile.TemporaryDirectory() as folder:
        index_documents(documents, folder, show_progress=False)
        pipeline = library_pipeline(Library.open(folder, budget=budget, policy="doc_type", top_k=20))
        found = {q.query: pipeline.find(q.query) for asked in questions.values() for q in asked}

        def reading(share: float | None):
            reader = replace(pipeline, document_share=share)

            def rank(question: str) -> list[Passage]:
                return reader.read(question, found[question]).passages
            return rank
        for kind, asked in questions.items():
            results = {share: evaluate(reading(share), asked, (budget,)) for share in shares}
            for share, result in results.items():
                test = compare(results[None], result).test(budget=budget)
                told = "" if share is None else f"{test.difference:+.3f} [{test.ci[0]:+.3f}, {test.ci[1]:+.3f}]"
                print(f"| {name} | {kind}, {len(asked)} | {share or 'none'} | {result.mean(budget=budget):.3f} | {told} |", flush=True)


def main() -> None:
    """Print one table."""
    args = arguments(__doc__, budget=4_000, shares=[0.3, 0.4, 0.5, 0.6, 0.75])
    sample = sample_or_set("sample")
    two = [q for q in sample.questions if q.mode == "all" and len(q.evidence) > 1]
    machines = [q for q in sample.questions if q.query_id.startswith("mt-")]
    questions, documents = {"two places": two, "maintenance": machines}, list(sample.documents.values())
    print("| corpus | questions | ceiling | evidence recall | to none |\n|---|---|--:|--:|---|")
    for name, held in (("sample", documents), ("with a long gcb", [*documents, diary(sample.documents)])):
        measure(name, held, questions, args.budget, [None, *args.shares])


if __name__ == "__main__":
    main()
