"""Expansion on a real OpenSearch: keyed reads, one query of ranges, and one query a hit, on the same index in one run.

Run: make opensearch; python benchmarks/cluster.py expand --sizes 10000 100000
     python benchmarks/cluster.py kill --seconds 60      (starts three nodes of its own, and kills one)
"""
from __future__ import annotations

import argparse
import random
import resource
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from llama_index.core.schema import NodeRelationship, NodeWithScore, RelatedNodeInfo, TextNode

from ragnb.documents.span import Address, Outline, Span
from ragnb.expansion.chunk_expanders import NeighborChunkExpander
from ragnb.expansion.expander import Expander
from ragnb.expansion.policies import by_doc_type
from ragnb.expansion.policy import neighbors
from ragnb.storage.opensearch import OpenSearchStore

TOOL = Path(__file__).resolve().parent.parent / "tools/opensearch.py"
PER_DOCUMENT, SIZE = 100, 200
WORDS = "연차 병가 출장 휴직 교육 급여 상여 퇴직 보안 자산 계약 평가 승진 징계 복무 안전".split()


def document(n: int, dims: int, rng: np.random.Generator, per_document: int = PER_DOCUMENT) -> tuple[list[TextNode], Outline]:
    """A document of equal chunks, ten to a page, with vectors; every fifth is read whole."""
    doc_id, kind = f"d{n:07d}", "gcb" if n % 5 == 0 else "manual"
    spans = [Span(i * SIZE, (i + 1) * SIZE) for i in range(per_document)]
    pages = [(p + 1, Span(p * 10 * SIZE, min(per_document, (p + 1) * 10) * SIZE)) for p in range(-(-per_document // 10))]
    vectors = rng.standard_normal((per_document, dims)).astype(np.float32)
    nodes = []
    for i, span in enumerate(spans):
        text = " ".join(rng.choice(WORDS, 40))[:SIZE].ljust(SIZE)
        metadata = {"level": "c", "index": i, "doc_type": kind, "page": i // 10 + 1}
        nodes.append(TextNode(id_=f"{doc_id}#c{i}", text=text, start_char_idx=span.start, end_char_idx=span.end, metadata=metadata,
                              embedding=vectors[i].tolist(), relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=doc_id)}))
    return nodes, Outline(doc_id, per_document * SIZE, {"c": spans}, pages=pages, metadata={"doc_type": kind})


def fill(store: OpenSearchStore, size: int, dims: int) -> float:
    """Write chunks until there are so many; seconds."""
    rng, start = np.random.default_rng(1), time.perf_counter()
    held = len(store.doc_ids()) * PER_DOCUMENT
    for at in range(held // PER_DOCUMENT, size // PER_DOCUMENT, 20):
        batch = [document(n, dims, rng) for n in range(at, min(at + 20, size // PER_DOCUMENT))]
        store.put([n for nodes, _ in batch for n in nodes], [o for _, o in batch])
    store.refresh()
    return time.perf_counter() - start


def one_query_a_hit(client, index: str, hits: list[dict], window: int) -> list[dict]:
    """What the design replaced."""
    out = []
    for hit in hits:
        source = hit["_source"]
        at = source["chunk_index"]
        query = {"bool": {"filter": [{"term": {"document_id": source["document_id"]}},
                                     {"range": {"chunk_index": {"gte": max(0, at - window), "lte": at + window}}}]}}
        found = client.search(index=index, body={"size": 2 * window + 1, "query": query, "_source": {"excludes": ["vector"]}})
        out += found["hits"]["hits"]
    return out


def questions(store: OpenSearchStore, size: int, n_hits: int, n: int) -> Iterator[tuple[list[NodeWithScore], list[dict]]]:
    """Random hits, as nodes and as raw hits; made before the clock starts."""
    rng, n_documents = random.Random(7), size // PER_DOCUMENT
    for _ in range(n):
        ids = [f"d{rng.randrange(n_documents):07d}#c{rng.randrange(PER_DOCUMENT)}" for _ in range(n_hits)]
        nodes = store.get_chunks(ids).all()
        raw = [{"_id": i, "_score": 1.0, "_source": {"document_id": i.split("#")[0], "chunk_index": n.metadata["index"], "text": n.text,
                "page": n.metadata["page"], "doc_type": n.metadata["doc_type"]}} for i, n in nodes.items()]
        yield [NodeWithScore(node=n, score=1.0) for n in nodes.values()], raw


def expand(args: argparse.Namespace, url: str) -> None:
    """One table, a line for each size and way."""
    print(f"{args.hits} hits, window {args.window}, {args.dims} dimensions, {args.questions} questions; milliseconds")
    print("| chunks | way | requests | p50 | p95 |\n|---|---|---|---|---|")
    for size in args.sizes:
        store = OpenSearchStore(f"opensearch://{url.partition('://')[2]}/bench{args.dims}", replicas=0, refresh=False,
                                tokenizer=lambda texts: (t.split() for t in texts))
        seconds = fill(store, size, args.dims)
        index = f"{store.name}-chunks"
        stats = store.client.indices.stats(index=index)["_all"]["primaries"]
        ways: dict[str, Callable[[list, list], object]] = {}
        keyed, typed = (Expander(store, p, args.hits, 500) for p in (neighbors(args.window), by_doc_type()))
        ranges = NeighborChunkExpander(store.client, index, args.window, exclude=("vector", "facts", "tokens"), on_error="raise")
        rules = NeighborChunkExpander(store.client, index, "doc_type", 500, exclude=("vector", "facts", "tokens"), on_error="raise")
        ways["keyed reads"] = lambda nodes, raw: keyed.expand(nodes)
        ways["keyed reads, pages and whole documents"] = lambda nodes, raw: typed.expand(nodes)
        ways["one query of ranges"] = lambda nodes, raw: ranges.expand(raw)
        ways["one request, pages and whole documents"] = lambda nodes, raw: rules.expand(raw)
        ways["one query a hit"] = lambda nodes, raw: one_query_a_hit(store.client, index, raw, args.window)
        times: dict[str, list[float]] = {name: [] for name in ways}
        for nodes, raw in questions(store, size, args.hits, args.questions):
            for name, way in ways.items():
                start = time.perf_counter()
                way(nodes, raw)
                times[name].append(1_000 * (time.perf_counter() - start))
        requests = dict(zip(ways, (2, 2, 1, 1, args.hits)))
        for name, took in times.items():
            took = sorted(took[len(took) // 10:])     # the first tenth warms the server up
            print(f"| {size:,} | {name} | {requests[name]} | {statistics.median(took):.0f} | {took[int(.95 * len(took))]:.0f} |", flush=True)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1_024
        print(f"{size:,} chunks: {seconds:.0f} s to write, {stats['store']['size_in_bytes'] / size:,.0f} bytes a chunk, "
              f"client at most {peak:.0f} MB", flush=True)
    if not args.keep:
        store.drop()


def kill(args: argparse.Namespace) -> None:
    """Index, search and expand for some seconds while one of three nodes is killed; every chunk must be there at the end."""
    told = subprocess.run([sys.executable, str(TOOL), "start", "--nodes", "3"], capture_output=True, text=True, check=True)
    hosts = told.stdout.strip()
    place = ",".join(h.partition("://")[2] for h in hosts.split(","))
    made = lambda: OpenSearchStore(f"opensearch://{place}/kill", shards=3, replicas=1, tokenizer=lambda ts: (t.split() for t in ts))  # noqa: E731
    try:
        store = made()
        fill(store, 2_000, 32)
        store.client.cluster.health(index="kill-*", wait_for_status="green", request_timeout=90)
        counts, errors, wrong, stop, written = {"index": 0, "ask": 0, "expand": 0}, [], [], threading.Event(), list(range(20))

        def loop(name: str, work: Callable[[OpenSearchStore, random.Random], None]) -> None:
            own, rng = made(), random.Random(name)
            while not stop.is_set():
                try:
                    work(own, rng)
                    counts[name] += 1
                except Exception as error:      # counted: this is what is measured
                    errors.append(f"{name}: {type(error).__name__}: {error}"[:200])

        def index(own: OpenSearchStore, rng: random.Random) -> None:
            n = 1_000 + counts["index"]
            own.put(*(lambda d: (d[0], [d[1]]))(document(n, 32, np.random.default_rng(n), 20)))
            written.append(n)

        def ask(own: OpenSearchStore, rng: random.Random) -> None:
            hits = own.search_words([rng.choice(WORDS)], 10) and own.search([rng.random() for _ in range(32)], 10)
            if len(hits) != 10:
                wrong.append(f"{len(hits)} hits")

        def grow(own: OpenSearchStore, rng: random.Random) -> None:
            at = Address(f"d{rng.choice(written[:20]):07d}", "c", rng.randrange(20, 60))
            nodes = own.get_chunks([str(at)]).all()
            out = Expander(own, neighbors(5)).expand([NodeWithScore(node=nodes[str(at)], score=1.0)])
            if out.stats.neighbors != 10 or len(out.passages[0].text) != 11 * SIZE:
                wrong.append(f"{at}: {out.stats.neighbors} neighbors")

        threads = [threading.Thread(target=loop, args=a) for a in (("index", index), ("ask", ask), ("expand", grow))]
        for thread in threads:
            thread.start()
        time.sleep(args.seconds / 3)
        folder = next(TOOL.parent.parent.glob(".opensearch/run-*"))
        pid = int((folder / "node-3/pid").read_text())
        import os
        os.kill(pid, signal.SIGKILL)
        time.sleep(2 * args.seconds / 3)
        stop.set()
        for thread in threads:
            thread.join()
        store = made()
        store.refresh()
        outlines = store.get_outlines(f"d{n:07d}" for n in written)
        lost = [*outlines.missing, *store.get_chunks(a for o in outlines.found.values() for a in o.addresses()).missing]
        print(f"{args.seconds} s, one of three nodes killed: {counts}; errors {len(errors)}, wrong {len(wrong)}, lost {len(lost)} "
              f"of {len(written)} documents", *dict.fromkeys(errors[:5] + wrong[:5] + lost[:5]), sep="\n")
    finally:
        subprocess.run([sys.executable, str(TOOL), "stop"], check=False)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["expand", "kill"])
    parser.add_argument("--url", help="of a server; by default the one that make opensearch has started")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--dims", type=int, default=384)
    parser.add_argument("--hits", type=int, default=5)
    parser.add_argument("--window", type=int, default=5)
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--keep", action="store_true", help="leave the index on the server")
    args = parser.parse_args()
    if args.what == "kill":
        return kill(args)
    url = args.url or subprocess.run([sys.executable, str(TOOL), "url"], capture_output=True, text=True).stdout.strip().split(",")[0]
    if not url:
        sys.exit("no server: make opensearch, or --url")
    expand(args, url)


if __name__ == "__main__":
    main()
