"""What compression loses: characters of the evidence that are still there when passages are brought to a share of their size. No model is asked.

    python benchmarks/compress.py [--shares 0.2,0.4,0.6] [--policy neighbors:2] [--questions 200]
    python benchmarks/compress.py --data FOLDER --documents 15        FOLDER holds corpus.jsonl and queries.jsonl
"""
from __future__ import annotations

import random
import tempfile

from tqdm import tqdm

from common import arguments, sample_or_set
from ragnb.context.compress import compress_passages
from ragnb.context.builders import PassageRanking, cut_passage
from ragnb.indexing.update import index_documents
from ragnb.pipeline.pipeline import Pipeline
from ragnb.documents.span import Span, n_characters, shared

COLUMNS = ("compressed", "compressed, hits first", "best passages, whole", "each cut around its hit", "each cut from its head (seed 002)")


def recall(places, evidence):
    """Share of the evidence's characters in (document, span) pairs; the best piece of evidence counts."""
    return max(n_characters(shared([s for d, s in places if d == e.doc_id], [e.span])) / len(e.span) for e in evidence)


def main() -> None:
    args = arguments(__doc__, data=("sample", "a set"), questions=(200, "drawn with a fixed seed"), shares="0.2,0.4,0.6", policy="neighbors:2",
                     documents=(int, "the first so many documents, and the questions about them"))
    dataset = sample_or_set(args.data)
    documents = dict([*dataset.documents.items()][:args.documents])
    questions = [q for q in dataset.questions if {e.doc_id for e in q.evidence} <= documents.keys()]
    if len(questions) > args.questions:
        questions = random.Random(0).sample(questions, args.questions)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        index, _ = index_documents(list(documents.values()), folder, parser="parent-child")
        pipeline = Pipeline.from_index(index, retriever="bm25", policy=args.policy, budget=None, passage_size=None, top_k=5)
        found = {q.query_id: pipeline.passages(q.query) for q in tqdm(questions, desc="ask")}
    questions = [q for q in questions if q.evidence and recall([(p.doc_id, p.span) for p in found[q.query_id]], q.evidence) == 1]
    print(f"{len(questions)} questions whose evidence is found whole; five hits, policy {args.policy}\n\n| share | {' | '.join(COLUMNS)} |\n" + "|---" * (len(COLUMNS) + 1) + "|")
    for share in map(float, args.shares.split(",")):
        sums = [0.0] * len(COLUMNS)
        for q in tqdm(questions, desc=f"{share}", leave=False):
            passages = found[q.query_id]
            size = max(1, int(share * sum(len(p.span) for p in passages)))
            kept = [compress_passages(passages, q.query, size), compress_passages(passages, q.query, size, hits_first=True), PassageRanking(passages).at(size), [cut_passage(p, max(1, int(share * len(p.span)))) for p in passages]]
            places = [[(p.doc_id, p.span) for p in k] for k in kept] + [[(p.doc_id, Span(p.span.start, p.span.start + int(share * len(p.span)))) for p in passages]]
            sums = [s + recall(at, q.evidence) for s, at in zip(sums, places)]
        print(f"| {share:.0%} | " + " | ".join(f"{s / len(questions):.3f}" for s in sums) + " |", flush=True)


if __name__ == "__main__":
    main()
