"""How long a question takes and what it weighs: the default and our hybrid beside LlamaIndex's QueryFusionRetriever, on the same made-up chunks.

    python benchmarks/retrieval_speed.py                                             # all at 10,000 and 100,000 chunks
    python benchmarks/retrieval_speed.py --systems multi-scale,hybrid --chunks 1000000

Chunks are 25 words drawn by Zipf's law, in documents of 40, with a random unit vector of 384 numbers around one of 200 topics. A question is eight words of a chunk, and a vector
near that chunk's; embedding it is not timed. Every system gets the same nodes and runs in a process of its own, all in memory; memory is what the process grew by from before the
index was built, nodes included, and its peak. Each question ends with texts in hand: 20 nodes, or the passages for 2,000 characters.
"""
from __future__ import annotations

import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from cluster_data import Known
from common import alone, arguments, resident
from llama_index.core.schema import TextNode
from tqdm import tqdm

from ragnb.documents.span import Outline, Span

PER_DOCUMENT, WORDS, DIMS, BATCH = 40, 25, 384, 10_000
SYSTEMS = ("multi-scale", "multi-scale-saved", "hybrid", "llamaindex-fusion")


def batches(n_chunks: int, questions: dict[str, list[float]]) -> Iterator[tuple[list[TextNode], list[Outline]]]:
    """Made-up chunks and their outlines, batch by batch; questions are added on the way."""
    rng = np.random.default_rng(0)
    topics = rng.standard_normal((200, DIMS))
    for at in tqdm(range(0, n_chunks, BATCH), desc=f"{n_chunks:,} chunks", leave=False):
        words = np.minimum(rng.zipf(1.2, (BATCH, WORDS)), 200_000)
        vectors = topics[rng.integers(0, 200, BATCH)] + rng.standard_normal((BATCH, DIMS))
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        nodes = []
        for i in range(BATCH):
            doc, j = divmod(at + i, PER_DOCUMENT)
            text = " ".join(f"w{w}" for w in words[i]).ljust(200)[:200]
            nodes.append(TextNode(id_=f"d{doc}#u{j}", text=text, start_char_idx=200 * j, end_char_idx=200 * j + 200, embedding=vectors[i].tolist()))
        spans = [Span(200 * j, 200 * j + 200) for j in range(PER_DOCUMENT)]
        yield nodes, [Outline(f"d{d}", 200 * PER_DOCUMENT, {"u": spans}) for d in range(at // PER_DOCUMENT, (at + BATCH) // PER_DOCUMENT)]
        for k in rng.integers(0, BATCH, 40):
            questions[" ".join(nodes[k].text.split()[:8])] = (vectors[k] + rng.standard_normal(DIMS) * 0.02).tolist()


def tokens(texts: Any) -> list[list[str]]:
    """White space tokens."""
    return [t.split() for t in texts]


def ours(n_chunks: int, model: Known, system: str) -> Callable[[str], Any]:
    """The default, in memory or in a file, or our hybrid over a store in memory."""
    from ragnb.retrieval.bm25 import Bm25Retriever
    from ragnb.retrieval.hybrid import HybridRetriever, VectorRetriever
    from ragnb.retrieval.multiscale import MultiScaleRetriever
    from ragnb.retrieval.sqlite_store import SqliteStore
    from ragnb.retrieval.sqlite_units import SqliteUnits
    from ragnb.storage.store import MemoryStore
    place = tempfile.mkdtemp() + "/units.db" if system == "multi-scale-saved" else ":memory:"
    store, words = MemoryStore() if system == "hybrid" else SqliteStore(SqliteUnits(place, tokenizer=tokens)), []
    for nodes, outlines in batches(n_chunks, model.vectors):
        words += nodes if system == "hybrid" else []
        store.put(nodes, outlines)
    if system != "hybrid":
        retriever = MultiScaleRetriever(store.units, store, model)
        return lambda question: retriever.rank(question).at(2_000)
    hybrid = HybridRetriever({"bm25": Bm25Retriever(words, str.split, top_k=40), "vector": VectorRetriever(store, model, 40)}, 20)
    return hybrid.retrieve


def fusion(n_chunks: int, model: Known) -> Callable[[str], Any]:
    """LlamaIndex's BM25Retriever and vector index under its QueryFusionRetriever, as its documentation does it."""
    from llama_index.core import MockEmbedding, VectorStoreIndex
    from llama_index.core.llms import MockLLM
    from llama_index.core.retrievers import QueryFusionRetriever
    from llama_index.retrievers.bm25 import BM25Retriever
    nodes = [n for found, _ in batches(n_chunks, model.vectors) for n in found]
    index = VectorStoreIndex(nodes, embed_model=MockEmbedding(DIMS))
    members = [index.as_retriever(similarity_top_k=20, embed_model=model), BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=20, skip_stemming=True)]
    return QueryFusionRetriever(members, llm=MockLLM(), similarity_top_k=20, num_queries=1, mode="reciprocal_rerank", use_async=False).retrieve


def measure(system: str, n_chunks: int, n_questions: int) -> dict[str, Any]:
    """Build one system and ask it."""
    model, before, started = Known(), resident(), time.perf_counter()
    ask = fusion(n_chunks, model) if system == "llamaindex-fusion" else ours(n_chunks, model, system)
    built = time.perf_counter() - started
    questions = list(model.vectors)[:n_questions]
    ask(questions[0])
    times = []
    for question in questions[1:]:
        started = time.perf_counter()
        found = ask(question)
        times.append(1000 * (time.perf_counter() - started))
        assert found, question
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"system": system, "chunks": n_chunks, "build": built, "p50": float(np.percentile(times, 50)), "p95": float(np.percentile(times, 95)), "memory": resident() - before, "peak": peak}


def main() -> None:
    args = arguments(__doc__, systems=",".join(SYSTEMS), chunks=("10000,100000", f"multiples of {BATCH:,}"), questions=100)
    print("| chunks | system | build s | p50 ms | p95 ms | memory MiB | peak MiB |\n|---|---|---|---|---|---|---|", flush=True)
    for n_chunks in args.chunks.split(","):
        for system in args.systems.split(","):
            row = alone(measure, system, int(n_chunks), args.questions)
            print("| {chunks:,} | {system} | {build:.0f} | {p50:.1f} | {p95:.1f} | {memory:,.0f} | {peak:,.0f} |".format(**row), flush=True)


if __name__ == "__main__":
    main()
