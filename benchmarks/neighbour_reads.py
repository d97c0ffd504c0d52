"""Fetch the neighbours of some hits from one Chroma collection in three ways, side by side in one run.

    python benchmarks/neighbour_reads.py [--chunks 100000] [--hits 5] [--window 5] [--rounds 7]
"""
from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time

import numpy as np
from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode
from tqdm import tqdm

from ragnb.span import Address, Outline, Span, parse_address
from ragnb.store import ChromaStore


def documents(n_chunks: int, per_document: int = 500):
    """Synthetic documents of equal chunks, in batches of ten documents."""
    rng = np.random.default_rng(0)
    nodes, outlines = [], []
    for d in tqdm(range(n_chunks // per_document), desc="index", unit="document"):
        doc_id, size = f"doc{d}", 60
        for i in range(per_document):
            text = f"문서 {d}의 {i}번째 조각으로 시험을 위해 만든 글이다.".ljust(size)[:size]
            nodes.append(TextNode(
                id_=str(Address(doc_id, "c", i)), text=text, start_char_idx=i * size, end_char_idx=(i + 1) * size,
                metadata={"level": "c", "index": i}, embedding=rng.normal(size=32).tolist(),
                relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=doc_id)}))
        outlines.append(Outline(doc_id, per_document * size, {"c": [Span(i * size, (i + 1) * size) for i in range(per_document)]}))
        if len(outlines) == 10:
            yield nodes, outlines
            nodes, outlines = [], []
    if outlines:
        yield nodes, outlines


def by_address(store: ChromaStore, hits: list[Address], window: int) -> set[str]:
    """Two keyed reads: outlines, then computed addresses."""
    outlines = store.get_outlines(h.doc_id for h in hits).all()
    wanted = [str(a) for h in hits for a in h.around(window, len(outlines[h.doc_id].levels["c"]))]
    return set(store.get_chunks(wanted).all())


def clause(hit: Address, window: int) -> dict:
    """The range filter of one hit, as seed 000 phrases it."""
    return {"$and": [{"document_id": hit.doc_id}, {"index": {"$gte": hit.index - window}}, {"index": {"$lte": hit.index + window}}]}


def by_ranges(store: ChromaStore, hits: list[Address], window: int) -> set[str]:
    """One `$or` of ranges."""
    return set(store._children.get(where={"$or": [clause(h, window) for h in hits]})["ids"])


def one_by_one(store: ChromaStore, hits: list[Address], window: int) -> set[str]:
    """One filtered read a hit (N+1)."""
    return {i for h in hits for i in store._children.get(where=clause(h, window))["ids"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--hits", type=int, default=5)
    parser.add_argument("--window", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=7)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        store = ChromaStore(folder)
        for nodes, outlines in documents(args.chunks):
            store.put(nodes, outlines)
        ids, rng = store.doc_ids(), random.Random(0)
        times: dict[str, list[float]] = {}
        reads = 0
        for _ in range(args.rounds):
            hits = [Address(rng.choice(ids), "c", rng.randrange(500)) for _ in range(args.hits)]
            answers = []
            for name, way in (("computed addresses", by_address), ("one `$or` of ranges", by_ranges), ("one filter a hit", one_by_one)):
                store.reads, start = 0, time.perf_counter()
                answers.append(way(store, hits, args.window))
                times.setdefault(name, []).append(time.perf_counter() - start)
                reads = store.reads if way is by_address else reads
            assert answers[0] == answers[1] == answers[2] and all(parse_address(a) for a in answers[0])
    ours = statistics.median(times["computed addresses"])
    print(f"\n{args.chunks:,} chunks, {args.hits} hits, window {args.window}; median of {args.rounds}; keyed reads: {reads} (outlines, chunks)\n")
    print("| way | milliseconds | times ours |\n|---|---|---|")
    for name, seconds in times.items():
        print(f"| {name} | {statistics.median(seconds) * 1000:,.1f} | {statistics.median(seconds) / ours:,.0f} |")


if __name__ == "__main__":
    main()
