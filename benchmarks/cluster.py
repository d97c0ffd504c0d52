"""Expansion and retrieval on a real OpenSearch at 10,000 chunks and more: our index, one of another program, one query a hit, in one run.

    python tools/opensearch.py start --heap 3g --set node.store.allow_mmap=true       (or RAGNB_OPENSEARCH: a server of your own)
    python benchmarks/cluster.py build --sizes 10000 100000            our index, by ClusterStore.put, and the foreign one
    python benchmarks/cluster.py build --sizes 1000000 --indexes ours --graph 8 32      a graph with fewer edges, for its time
    python benchmarks/cluster.py expand --sizes 10000 100000 1000000
    python benchmarks/cluster.py expand --sizes 10000 --indexes theirs --questions 300         only over the foreign index
    python benchmarks/cluster.py search --sizes 10000 100000 1000000   the server's answers, and how many of the nearest it finds
    python benchmarks/cluster.py local --sizes 10000 100000            the same chunks and questions in memory
    python benchmarks/cluster.py bulk --sizes 10000                    our writing, against parallel_bulk of the client library alone on the same rows
    python benchmarks/cluster.py change                                 the bytes that one changed line of a document of 1,199 units sends
    python benchmarks/cluster.py drop

Chunks are made by cluster_data.py. `--save` notes what was measured in nbs/studies/results/one_machine.json.
"""
from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import resource
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from cluster_data import document, foreign_body, foreign_lines, kind, Known, PER_DOCUMENT, texts, vectors
from common import alone, arguments, cpu_of, ROOT, server, store as write_json
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from urllib3.connectionpool import HTTPConnectionPool

from ragnb.adapters.chunk_expanders import NeighborChunkExpander
from ragnb.expansion.expander import Expander
from ragnb.expansion.policies import by_doc_type
from ragnb.expansion.policy import neighbors
from ragnb.retrieval.bm25 import Bm25Retriever
from ragnb.indexing.update import update_index
from ragnb.opensearch.cluster_store import ClusterStore, rows_body
from ragnb.retrieval.hybrid import HybridRetriever, VectorRetriever
from ragnb.opensearch.client import vector_field
from ragnb.storage.store import MemoryStore

RESULTS = ROOT / "nbs/studies/results/one_machine.json"
SUBJECTS = "연차 출장 병가 숙박 교통 회의 보고 결재 물품 계약 감사 교육 평가 승진 급여 수당 복지 안전 보안 자료".split()
VERBS = "신청한다 승인한다 보고한다 제출한다 기록한다 확인한다 통지한다 지급한다".split()
LOADING = {"index": {"refresh_interval": "-1", "translog.flush_threshold_size": "6gb"}}


def split(batch: Any) -> Iterator[list[str]]:
    """White space tokens."""
    return (text.split() for text in batch)


def store_of(args: argparse.Namespace, size: int) -> ClusterStore:
    """Our index of a size."""
    graph = {}
    if args.graph:
        graph = {"method": vector_field(args.dims)["method"] | {"parameters": dict(zip(("m", "ef_construction"), args.graph))}}
    settings = {"number_of_replicas": 0, "index.translog.flush_threshold_size": "6gb"}
    return ClusterStore(f"opensearch://{args.url}/bench{size}", settings=settings, vector=graph, tokenizer=split)


def theirs(size: int) -> str:
    """The foreign index of a size."""
    return f"foreign{size}"


def save(args: argparse.Namespace, part: str, rows: list[dict[str, Any]]) -> None:
    """Rows of one measurement in place of those of the same sizes; printed, too."""
    for row in rows:
        print(json.dumps(row, ensure_ascii=False), flush=True)
    if not args.save:
        return
    held = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    new = {(r["chunks"], r.get("index")) for r in rows}
    held[part] = sorted([*(r for r in held.get(part, []) if (r["chunks"], r.get("index")) not in new), *rows], key=lambda r: r["chunks"])
    write_json(RESULTS, held)


# --- build ----------------------------------------------------------------------------------------------------------


def send(client: Any, lines: Iterator[Any], **options: Any) -> None:
    """Lines of a bulk, a thousand at a time."""
    while part := list(itertools.islice(lines, 1_010)):
        body = (b"" if isinstance(part[0], bytes) else "").join(part)
        done = client.bulk(body=body, filter_path="errors,items.*.error", request_timeout=600, **options)
        if done.get("errors"):
            raise SystemExit(str(done)[:500])


def build_ours(args: argparse.Namespace, size: int) -> None:
    """Write our index; it counts at the end."""
    store, documents = store_of(args, size), size // PER_DOCUMENT
    store.drop()
    store.deferred = True
    for at in range(0, documents, 20):
        batch = [document(n, args.dims) for n in range(at, min(at + 20, documents))]
        store.put([n for nodes, _ in batch for n in nodes], [o for _, o in batch])
    store.commit()


def build_theirs(args: argparse.Namespace, size: int) -> None:
    """Write the foreign index."""
    client = store_of(args, size).rows.client
    client.indices.delete(index=theirs(size), ignore_unavailable=True)
    client.indices.create(index=theirs(size), body=foreign_body(args.dims, {"number_of_shards": 1, "number_of_replicas": 0}))
    client.indices.put_settings(index=theirs(size), body=LOADING)
    send(client, foreign_lines(size // PER_DOCUMENT, args.dims), index=theirs(size))
    client.indices.refresh(index=theirs(size))


def facts_of_index(args: argparse.Namespace, size: int, index: str) -> dict[str, Any]:
    """What a server says of an index."""
    client = store_of(args, size).rows.client
    client.indices.flush(index=index, request_timeout=600)
    stats = client.indices.stats(index=index)["_all"]["primaries"]
    node = next(iter(client.nodes.stats(metric="jvm")["nodes"].values()))
    rows = client.count(index=index)["count"]
    return {"rows": rows, "bytes_a_chunk": round(stats["store"]["size_in_bytes"] / size), "segments": stats["segments"]["count"],
            "server_index_s": round(stats["indexing"]["index_time_in_millis"] / 1_000),
            "heap_mb": node["jvm"]["mem"]["heap_max_in_bytes"] >> 20}


def built(args: argparse.Namespace, size: int, which: str) -> dict[str, int]:
    """What one index costs the client."""
    start, cpu = time.perf_counter(), time.process_time()
    (build_ours if which == "ours" else build_theirs)(args, size)
    seconds, used = time.perf_counter() - start, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1_024
    return {"seconds": round(seconds), "client_cpu_s": round(used), "client_peak_mb": round(peak)}


def build(args: argparse.Namespace) -> None:
    """Each index in a process of its own, for its peak memory."""
    for size, which in itertools.product(args.sizes, args.indexes):
        row = alone(built, args, size, which)
        name = store_of(args, size).rows.read_state().rows if which == "ours" else theirs(size)
        row |= {"chunks_a_s": round(size / max(1, row["seconds"])), **facts_of_index(args, size, name)}
        how = {"how": "ClusterStore.put" if which == "ours" else "bulk"}
        graph = dict(zip(("m", "ef_construction"), args.graph or (16, 128))) if which == "ours" else {}
        save(args, "build", [{"chunks": size, "index": which, **how, **graph, **row}])


def parallel(args: argparse.Namespace, store: ClusterStore, rows: list[dict[str, Any]]) -> None:
    """The rows into an index of the same settings, by the client library alone."""
    from opensearchpy.helpers import parallel_bulk
    client, name = store.rows.client, "bulkalone"
    client.indices.delete(index=name, ignore_unavailable=True)
    client.indices.create(index=name, body=rows_body(store.settings, args.dims, store.vector))
    actions = ({"_index": name, "_id": f"{r['kind']}{r['pos']}", "_source": r} for r in rows)
    if not all(done for done, _ in parallel_bulk(client, actions, thread_count=4, chunk_size=500, max_chunk_bytes=5_000_000)):
        raise SystemExit("a row was refused")
    client.indices.refresh(index=name)


def bulk(args: argparse.Namespace) -> None:
    """Rows a second: documents with ready vectors put by us, and the rows that this makes sent by the client library; one after the other."""
    for size in args.sizes:
        batches = [[document(n, args.dims) for n in range(at, min(at + 20, size // PER_DOCUMENT))] for at in range(0, size // PER_DOCUMENT, 20)]
        seconds: dict[str, list[float]] = {"ours": [], "parallel_bulk": []}
        for _ in range(args.rounds):
            store, rows = store_of(args, size), []
            store.drop()
            write, store.deferred = store.write_rows, True
            store.write_rows = lambda made, held=None, write=write, rows=rows: write((rows.append(r) or r for r in made), held)
            start = time.perf_counter()
            for batch in batches:
                store.put([n for nodes, _ in batch for n in nodes], [o for _, o in batch])
            store.commit()
            seconds["ours"].append(time.perf_counter() - start)
            start = time.perf_counter()
            parallel(args, store, rows)
            seconds["parallel_bulk"].append(time.perf_counter() - start)
        rate = {name: len(rows) / statistics.median(all_of) for name, all_of in seconds.items()}
        save(args, "bulk", [{"chunks": size, "rows": len(rows), "rounds": args.rounds, "load": round(os.getloadavg()[0], 1),
                             **{f"{name}_rows_a_s": round(n) for name, n in rate.items()}, "share": round(rate["ours"] / rate["parallel_bulk"], 2)}])
        store.drop()
        store.rows.client.indices.delete(index="bulkalone")


# --- expansion ------------------------------------------------------------------------------------------------------


BARE = {"_source": {"excludes": ["vector", "embedding"]}}


def around(hit: dict, window: int) -> dict:
    """The query of one hit."""
    document, at = (hit["_source"][field] for field in ("document_id", "chunk_index"))
    return {"bool": {"filter": [{"term": {"document_id": document}}, {"range": {"chunk_index": {"gte": max(0, at - window), "lte": at + window}}}]}}


def one_query_a_hit(client: Any, index: str, hits: list[dict], window: int) -> list[dict]:
    """What the design replaced."""
    bodies = ({"size": 2 * window + 1, "query": around(hit, window)} | BARE for hit in hits)
    return [found for body in bodies for found in client.search(index=index, body=body)["hits"]["hits"]]


def one_query(client: Any, index: str, hits: list[dict], window: int) -> list[dict]:
    """The design's own: one clause a hit, sorted by document."""
    query = {"bool": {"should": [around(hit, window) for hit in hits], "minimum_should_match": 1}}
    body = {"size": 80, "query": query, "sort": [{"document_id": "asc"}, {"chunk_index": "asc"}]} | BARE
    return client.search(index=index, body=body)["hits"]["hits"]


Hits = tuple[list[NodeWithScore], list[dict]]


def hits_of(size: int, n_hits: int, n: int, seed: int = 7) -> Iterator[Hits]:
    """Random hits: of our index as nodes, of the foreign one as raw hits; nothing is asked for them."""
    rng, n_documents = random.Random(seed), size // PER_DOCUMENT
    for _ in range(n):
        chosen = [(rng.randrange(n_documents), rng.randrange(PER_DOCUMENT)) for _ in range(n_hits)]
        nodes, foreign = [], []
        for d, i in chosen:
            text, doc_id = texts(d)[i], f"d{d:07d}"
            node = TextNode(id_=f"{doc_id}#c{i}", text=text, metadata={"level": "c", "index": i, "doc_type": kind(d), "page": i // 10 + 1})
            nodes.append(NodeWithScore(node=node, score=1.0))
            source = {"chunk_index": i, "text": text, "page": i // 10 + 1, "doc_type": kind(d)}
            foreign.append({"_id": f"{(d * PER_DOCUMENT + i) * 2_654_435_761 % 2**64:016x}", "_score": 1.0, "_source": source | {"document_id": d}})
        yield nodes, foreign


def requests_of(store: ClusterStore, name: str, way: Callable[[Hits], Any], args: argparse.Namespace) -> int:
    """Requests of one question: counted for our index, known for the foreign one."""
    if name.startswith("foreign"):
        return args.hits if name.endswith("a hit") else 1
    first, second = hits_of(args.hits * PER_DOCUMENT, args.hits, 2)
    way(first)
    before = store.rows.requests
    way(second)
    return store.rows.requests - before


def ways_to_expand(store: ClusterStore, foreign: str, args: argparse.Namespace) -> dict[str, tuple[int, Callable[[Hits], Any]]]:
    """Name -> requests, and what is timed."""
    keyed, typed = (Expander(store, p, args.hits, 500) for p in (neighbors(args.window), by_doc_type()))
    client = store.rows.client
    others = NeighborChunkExpander(client, foreign, args.window, exclude=("embedding",), on_error="raise")
    rules = NeighborChunkExpander(client, foreign, "doc_type", 500, exclude=("embedding",), on_error="raise")
    ways = {
        "ours: keyed reads": lambda hits: keyed.expand(hits[0]),
        "ours: keyed reads, pages and whole documents": lambda hits: typed.expand(hits[0]),
        "foreign: one query of ranges": lambda hits: others.expand(hits[1]),
        "foreign: one request, pages and whole documents": lambda hits: rules.expand(hits[1]),
        "foreign: the design's own query": lambda hits: one_query(client, foreign, hits[1], args.window),
        "foreign: one query a hit": lambda hits: one_query_a_hit(client, foreign, hits[1], args.window),
    }
    return {name: (requests_of(store, name, way, args), way) for name, way in ways.items()}


def timed(ways: dict[str, Callable[[Any], Any]], questions: Iterable[Any]) -> tuple[dict[str, list[float]], dict[str, list[Any]]]:
    """Milliseconds and results of each way; the ways take turns, so that a busy moment is shared."""
    times, found = ({name: [] for name in ways} for _ in range(2))
    for question in questions:
        for name, way in ways.items():
            start = time.perf_counter()
            found[name].append(way(question))
            times[name].append(1_000 * (time.perf_counter() - start))
    return times, found


def percentiles(times: list[float]) -> dict[str, float]:
    """Milliseconds; the first tenth warms the server up."""
    kept = sorted(times[len(times) // 10:])
    return {"p50": round(statistics.median(kept), 1), "p95": round(kept[int(.95 * len(kept))], 1)}


def expand(args: argparse.Namespace) -> None:
    """Every way gets every question."""
    for size in args.sizes:
        store = store_of(args, size)
        ways = ways_to_expand(store, theirs(size), args)
        ways = {name: way for name, way in ways.items() if ("ours" if name.startswith("ours") else "theirs") in args.indexes}
        times, found = timed({name: way for name, (_, way) in ways.items()}, hits_of(size, args.hits, args.questions))
        wrong = sum(any(f"d{int(p.doc_id[1:]):07d}" != p.doc_id or p.text not in "".join(texts(int(p.doc_id[1:]))) for p in expanded.passages)
                    for expanded in found.get("ours: keyed reads", ()))
        cpu = {name: cpu_of(store.rows.client, way, list(hits_of(size, args.hits, args.questions // 5, 8))) for name, (_, way) in ways.items()}
        save(args, "expand", [{"chunks": size, "index": name.partition(":")[0], "way": name, "requests": ways[name][0], **percentiles(took),
                               "cpu": round(sum(cpu[name]), 1), "client_cpu": round(cpu[name][1], 1), "questions": len(took), "wrong": wrong} for name, took in times.items()])


# --- retrieval ------------------------------------------------------------------------------------------------------


def asked(args: argparse.Namespace, size: int, seed: int = 11) -> Known:
    """Questions: six words of a chunk, and a vector near its own."""
    rng, model = np.random.default_rng(seed), Known()
    while len(model.vectors) < args.questions:
        d, i = int(rng.integers(size // PER_DOCUMENT)), int(rng.integers(PER_DOCUMENT))
        question = " ".join(rng.choice(texts(d)[i].split()[:-1], 6, replace=False))
        near = vectors(d, args.dims)[i]
        model.vectors[question] = (near + .4 * rng.standard_normal(args.dims)).tolist()
    return model


def nearest(args: argparse.Namespace, size: int, model: Known, k: int = 10) -> list[set[str]]:
    """The chunks that are nearest to each question, all compared."""
    wanted = np.array(list(model.vectors.values()), np.float32)
    best: list[list[tuple[float, str]]] = [[] for _ in wanted]
    for at in range(0, size // PER_DOCUMENT, 100):
        docs = range(at, min(at + 100, size // PER_DOCUMENT))
        near = np.concatenate([vectors(n, args.dims) for n in docs])
        scores = wanted @ (near / np.linalg.norm(near, axis=1, keepdims=True)).T
        for q, rows in enumerate(np.argpartition(-scores, k, axis=1)[:, :k]):
            best[q] += [(-scores[q, r], f"d{at + r // PER_DOCUMENT:07d}#c{r % PER_DOCUMENT}") for r in rows.tolist()]
            best[q] = sorted(best[q])[:k]
    return [{name for _, name in found} for found in best]


def retrieved(args: argparse.Namespace, size: int, index: str, ways: dict[str, Callable[[str], Any]], model: Known, client: Any | None) -> None:
    """Time the ways; of the vectors, how many of the ten nearest are found."""
    questions = list(model.vectors)
    times, found = timed(ways, questions)
    cpu = {name: round(sum(cpu_of(client, way, questions[:20])), 1) for name, way in ways.items()}
    true = nearest(args, size, model)
    recall = statistics.mean(len(t & {h.node_id for h in f[:10]}) / 10 for t, f in zip(true, found["vectors"]))
    save(args, "search", [{"chunks": size, "index": index, "way": name, **percentiles(took), "cpu": cpu[name], "questions": len(took),
                           **({"of_ten_nearest": round(recall, 3)} if name == "vectors" else {})} for name, took in times.items()])


class ServerWords(BaseRetriever):
    """The server's BM25."""

    def __init__(self, store: ClusterStore) -> None:
        super().__init__()
        self.store = store

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return self.store.search_words(query_bundle.query_str.split(), 100)


def search(args: argparse.Namespace) -> None:
    """The server's BM25, its k-NN, and both fused here."""
    for size in args.sizes:
        store, model = store_of(args, size), asked(args, size)
        hybrid = HybridRetriever({"bm25": ServerWords(store), "vector": VectorRetriever(store, model, 100)}, 10)
        ways = {"words": lambda q: store.search_words(q.split(), 10), "vectors": lambda q: store.search(model.vectors[q], 10), "hybrid": hybrid.retrieve}
        retrieved(args, size, "cluster", ways, model, store.rows.client)


def local(args: argparse.Namespace) -> None:
    """The same in memory."""
    for size in args.sizes:
        store, words, model = MemoryStore(), [], asked(args, size)
        for n in range(size // PER_DOCUMENT):
            nodes, outline = document(n, args.dims)
            store.put(nodes, [outline])
            words += nodes
        bm25 = Bm25Retriever(words, str.split, top_k=10)
        both = {"bm25": Bm25Retriever(words, str.split, top_k=100), "vector": VectorRetriever(store, model, 100)}
        ways = {"words": bm25.retrieve, "vectors": lambda q: store.search(model.vectors[q], 10), "hybrid": HybridRetriever(both, 10).retrieve}
        retrieved(args, size, "local", ways, model, None)


def drop(args: argparse.Namespace) -> None:
    """Remove the indexes of the benchmark."""
    for size in args.sizes:
        store = store_of(args, size)
        store.rows.client.indices.delete(index=theirs(size), ignore_unavailable=True)
        store.drop()


def change(args: argparse.Namespace) -> None:
    """Change one line of a long document, and count what is sent."""
    sent, real, rng = [], HTTPConnectionPool.urlopen, random.Random(1)

    def urlopen(pool: Any, method: str, url: str, body: Any = None, *others: Any, **options: Any) -> Any:
        sent.append(len(body or b""))
        return real(pool, method, url, body, *others, **options)

    def sentence() -> str:
        return f"{rng.choice(SUBJECTS)} {rng.choice(SUBJECTS)} {rng.randrange(1, 400)}일 이내에 {rng.choice(SUBJECTS)}을 {rng.choice(VERBS)}."
    HTTPConnectionPool.urlopen = urlopen
    lines = [f"제{n}조 {' '.join(sentence() for _ in range(6))}" for n in range(1, 600)]
    address = f"opensearch://{args.url}/bench-change?replicas=0"
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "long.md")
        for last in ("", " 하나 더 적는다."):
            lines[300] += last
            file.write_text("# 규정\n\n" + "\n\n".join(lines), encoding="utf-8")
            sent.clear()
            cpu = time.process_time()
            index, _ = update_index(folder, address, show_progress=False)
            row = {"units": len(index.multiscale), "changed": bool(last), "requests": len(sent), "bytes_sent": sum(sent)}
            print(json.dumps(row | {"client_cpu_s": round(time.process_time() - cpu, 2), "disk": index.store.n_bytes()}), flush=True)
    index.store.drop()


def main() -> None:
    """The command."""
    whats = {"build": build, "bulk": bulk, "expand": expand, "search": search, "local": local, "change": change, "drop": drop}
    args = arguments(
        __doc__, what=list(whats),
        sizes=([10_000, 100_000], "chunks; multiples of 2,000"), indexes=["ours", "theirs"], rounds=(3, "bulk: how often both are measured"), dims=384,
        hits=5, window=5, questions=100, graph=([int], "build: edges and candidates of the graph of vectors"),
        save=(False, f"note what was measured in {RESULTS.relative_to(ROOT)}"))
    args.url = server() if args.what != "local" else ""
    whats[args.what](args)


if __name__ == "__main__":
    main()
