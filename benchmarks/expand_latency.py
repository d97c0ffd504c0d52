"""Expand hits by ±5 chunks in six ways, side by side in one run: how the time grows with hits and with the index.

    python benchmarks/expand_latency.py [--chunks 20000,100000] [--hits 5,20,80] [--window 5] [--rounds 3]     # nbs/studies/results/expand_latency.json
    python benchmarks/expand_latency.py --keyed --chunks 1000000 --hits 5 --rounds 30 --store FILE     # ours beside its two reads alone

Ours is the whole expansion (outlines, chunks, stitching, reasons); the others only fetch chunks. LlamaIndex's `PrevNextNodePostprocessor` cannot read a
vector store, so it gets an in-memory docstore, and Haystack's window retriever its in-memory document store; ours is measured over a store in memory as well.
"""
from __future__ import annotations

import logging
import platform
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from llama_index.core.schema import NodeRelationship, NodeWithScore, RelatedNodeInfo, TextNode
from tqdm import tqdm

from common import arguments, ROOT, store as store_json
from ragnb import __version__
from ragnb.expansion.expander import Expander
from ragnb.expansion.policy import neighbors
from ragnb.documents.span import Address, Outline, Span, parse_address
from ragnb.storage.chroma import ChromaStore
from ragnb.storage.store import ChunkStore, MemoryStore

PER_DOCUMENT, SIZE = 500, 60


def batches(n_chunks: int) -> Iterator[tuple[list[TextNode], list[Outline]]]:
    """Synthetic documents of 500 equal chunks, ten documents a batch; chunks know their neighbors."""
    rng = np.random.default_rng(0)
    nodes, outlines, last = [], [], n_chunks // PER_DOCUMENT - 1
    for d in tqdm(range(last + 1), desc=f"index {n_chunks:,}", unit="document"):
        doc_id = f"doc{d}"
        for i in range(PER_DOCUMENT):
            text = f"문서 {d}의 {i}번째 조각으로 시험을 위해 만든 글이다.".ljust(SIZE)[:SIZE]
            near = {NodeRelationship.PREVIOUS: i - 1, NodeRelationship.NEXT: i + 1}
            relations = {k: RelatedNodeInfo(node_id=f"{doc_id}#c{j}") for k, j in near.items() if 0 <= j < PER_DOCUMENT}
            nodes.append(TextNode(
                id_=str(Address(doc_id, "c", i)), text=text, start_char_idx=i * SIZE, end_char_idx=(i + 1) * SIZE, metadata={"level": "c", "index": i},
                embedding=rng.normal(size=8).tolist(), relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=doc_id), **relations}))
        outlines.append(Outline(doc_id, PER_DOCUMENT * SIZE, {"c": [Span(i * SIZE, (i + 1) * SIZE) for i in range(PER_DOCUMENT)]}))
        if len(outlines) == 10 or d == last:
            yield nodes, outlines
            nodes, outlines = [], []


Way = Callable[[list[NodeWithScore]], tuple[set[str], int]]  # Hits -> ids of the chunks read, number of reads or look-ups


def ours(store: ChunkStore, window: int) -> Way:
    """The whole expansion."""
    def expand(hits: list[NodeWithScore]) -> tuple[set[str], int]:
        out = Expander(store, neighbors(window), expand_top_k=len(hits), max_chunks=10_000).expand(hits)
        return {a for p in out.passages for a in (*p.hits, *p.neighbors)}, out.stats.reads
    return expand


def reads_alone(store: ChunkStore, window: int) -> Way:
    """The two keyed reads of ours, outlines and chunks, with nothing done with them."""
    def fetch(hits: list[NodeWithScore]) -> tuple[set[str], int]:
        places = [parse_address(h.node_id) for h in hits]
        outlines = store.get_outlines(at.doc_id for at in places).found
        around = [range(max(0, at.index - window), min(len(outlines[at.doc_id].levels["c"]), at.index + window + 1)) for at in places]
        return set(store.get_chunks(str(Address(at.doc_id, "c", i)) for at, near in zip(places, around) for i in near).found), 2
    return fetch


def clause(node_id: str, window: int) -> dict:
    """The range filter of one hit, as seed 000 phrases it."""
    at = parse_address(node_id)
    return {"$and": [{"document_id": at.doc_id}, {"index": {"$gte": max(0, at.index - window)}}, {"index": {"$lte": at.index + window}}]}


def batch_query(store: ChromaStore, window: int) -> Way:
    """One `$or` of ranges: seed 000's batch query."""
    def fetch(hits: list[NodeWithScore]) -> tuple[set[str], int]:
        clauses = [clause(h.node_id, window) for h in hits]
        return set(store.children.client.get(where={"$or": clauses} if len(clauses) > 1 else clauses[0])["ids"]), 1
    return fetch


def one_by_one(store: ChromaStore, window: int) -> Way:
    """One filtered read a hit (N+1)."""
    def fetch(hits: list[NodeWithScore]) -> tuple[set[str], int]:
        return {i for h in hits for i in store.children.client.get(where=clause(h.node_id, window))["ids"]}, len(hits)
    return fetch


def prev_next(nodes: list[TextNode], window: int) -> Way:
    """LlamaIndex's postprocessor over its in-memory docstore; look-ups counted."""
    from llama_index.core.postprocessor import PrevNextNodePostprocessor
    from llama_index.core.storage.docstore import SimpleDocumentStore

    class Counting(SimpleDocumentStore):
        def get_document(self, *args: Any, **kwargs: Any) -> Any:
            calls.append(1)
            return super().get_document(*args, **kwargs)

    calls: list[int] = []
    docstore = Counting()
    docstore.add_documents(nodes)

    def fetch(hits: list[NodeWithScore]) -> tuple[set[str], int]:
        calls.clear()
        found = PrevNextNodePostprocessor(docstore=docstore, num_nodes=window, mode="both").postprocess_nodes(hits)
        return {n.node_id for n in found}, len(calls)
    return fetch


def haystack_window(nodes: list[TextNode], window: int) -> Way:
    """Haystack's window retriever over its in-memory store."""
    from haystack import Document
    from haystack.components.retrievers import SentenceWindowRetriever
    from haystack.document_stores.in_memory import InMemoryDocumentStore
    logging.getLogger("haystack").setLevel(logging.ERROR)
    store = InMemoryDocumentStore()
    documents = {n.node_id: Document(id=n.node_id, content=n.text, meta={"source_id": n.ref_doc_id, "split_id": n.metadata["index"], "split_idx_start": n.start_char_idx}) for n in nodes}
    store.write_documents(list(documents.values()))
    retriever, plain, calls = SentenceWindowRetriever(store, window_size=window), store.filter_documents, []

    def counted(*args: Any, **kwargs: Any) -> Any:
        calls.append(1)
        return plain(*args, **kwargs)
    store.filter_documents = counted

    def fetch(hits: list[NodeWithScore]) -> tuple[set[str], int]:
        calls.clear()
        found = retriever.run(retrieved_documents=[documents[h.node_id] for h in hits])["context_documents"]
        return {d.id for d in found}, len(calls)
    return fetch


def measure(ways: dict[str, Way], hits: list[list[NodeWithScore]]) -> dict[str, tuple[float, int]]:
    """Milliseconds (the fastest round: other programs only ever add time) and reads of each way, on the same hits in turn; all must find the same chunks.

    Whoever is first in a round brings the pages of the database into memory for the others, so each is first in its turn."""
    times: dict[str, list[float]] = {}
    reads: dict[str, int] = {}
    for turn, some in enumerate(tqdm(hits, desc=f"{len(hits[0])} hits", unit="round", leave=False)):
        answers, names = {}, list(ways)
        for name, way in ((n, ways[n]) for n in (*names[turn % len(names):], *names[:turn % len(names)])):
            start = time.perf_counter()
            answers[name], reads[name] = way(some)
            times.setdefault(name, []).append(time.perf_counter() - start)
        expected = answers["ours, Chroma"]
        assert all(a == expected for a in answers.values()), {n: len(a ^ expected) for n, a in answers.items()}
    return {name: (1_000 * min(seconds), reads[name]) for name, seconds in times.items()}


def ways_of(store: ChromaStore, n_chunks: int, window: int, keyed: bool) -> dict[str, Way]:
    """Fill a store; the ways to expand, with `keyed` only those that need nothing but the store."""
    memory, everything = MemoryStore(), []
    for nodes, outlines in batches(n_chunks):
        store.put(nodes, outlines)
        if not keyed:
            memory.put(nodes, outlines)
            everything += nodes
    ways = {"ours, Chroma": ours(store, window)}
    if not keyed:
        ways |= {"batch query (`$or`), Chroma": batch_query(store, window), "N+1 queries, Chroma": one_by_one(store, window),
                 "ours, memory": ours(memory, window), "LlamaIndex PrevNext, memory": prev_next(everything, window),
                 "Haystack window, memory": haystack_window(everything, window)}
    return ways | {"the two reads of ours alone, Chroma": reads_alone(store, window)}


def drawn(store: ChromaStore, n_chunks: int, n_hits: int, rng: random.Random) -> list[NodeWithScore]:
    """Hits anywhere in the index, as a retriever returns them."""
    ids = [str(Address(f"doc{i // PER_DOCUMENT}", "c", i % PER_DOCUMENT)) for i in rng.sample(range(n_chunks), n_hits)]
    found = store.get_chunks(ids).found
    return [NodeWithScore(node=found[i], score=1.0) for i in ids]


def main() -> None:
    args = arguments(__doc__, chunks="20000,100000", hits="5,20,80", window=5, rounds=3,
                     keyed=(False, "ours and its reads alone; nothing is held in memory"),
                     store=ROOT / "nbs" / "studies" / "results" / "expand_latency.json")
    logging.getLogger("ragnb").setLevel(logging.WARNING)
    rows: dict[tuple[int, int], dict[str, tuple[float, int]]] = {}
    for n_chunks in map(int, args.chunks.split(",")):
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            store = ChromaStore(Path(folder) / str(n_chunks))
            ways, rng = ways_of(store, n_chunks, args.window, args.keyed), random.Random(0)
            for n_hits in map(int, args.hits.split(",")):
                rows[n_chunks, n_hits] = measure(ways, [drawn(store, n_chunks, n_hits, rng) for _ in range(args.rounds)])
    print(f"\nMilliseconds (best of {args.rounds}) and, in brackets, reads or look-ups; window {args.window}\n")
    print("| chunks | hits | " + " | ".join(ways) + " |\n|---|---|" + "---|" * len(ways))
    for (n_chunks, n_hits), found in rows.items():
        print(f"| {n_chunks:,} | {n_hits} | " + " | ".join(f"{ms:,.1f} ({reads:,})" for ms, reads in found.values()) + " |")
    cells = [{"chunks": c, "hits": h, "way": name, "milliseconds": round(ms, 2), "reads": reads} for (c, h), found in rows.items() for name, (ms, reads) in found.items()]
    facts = {"command": " ".join(["python benchmarks/expand_latency.py", *sys.argv[1:]]), "window": args.window, "rounds": args.rounds, "ragnb": __version__, "python": platform.python_version()}
    store_json(args.store, facts | {"cells": cells})


if __name__ == "__main__":
    main()
