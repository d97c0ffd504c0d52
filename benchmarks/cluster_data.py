"""Chunks of any number, made by a seeded generator: what benchmarks/cluster.py writes to a search server.

A document is 100 chunks of 200 characters, ten to a page, every fifth read whole. Words are drawn from 30,000 by
Zipf's law, vectors lie near a plane of 32 dimensions in 384, as those of embedding models lie near few.
A document depends on its number alone, so that two processes write halves of one corpus.
"""
from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode

from ragnb.documents.span import Outline, Span

PER_DOCUMENT, SIZE, INNER, N_WORDS = 100, 200, 32, 30_000


@functools.cache
def words() -> tuple[np.ndarray, np.ndarray]:
    """The vocabulary, and how likely the words up to each are."""
    rng = np.random.default_rng(0)
    made = dict.fromkeys("".join(map(chr, 0xAC00 + rng.integers(0, 11_172, rng.integers(2, 4)))) for _ in range(2 * N_WORDS))
    likely = 1 / (np.arange(N_WORDS) + 2.7)
    return np.array(list(made)[:N_WORDS]), np.cumsum(likely / likely.sum())


@functools.cache
def plane(dims: int) -> np.ndarray:
    """Where the vectors lie."""
    return np.random.default_rng(2).standard_normal((INNER, dims)).astype(np.float32) / INNER**.5


def vectors(n: int, dims: int, per_document: int = PER_DOCUMENT) -> np.ndarray:
    """The vectors of a document."""
    rng = np.random.default_rng([3, n])
    near = rng.standard_normal((per_document, INNER)).astype(np.float32) @ plane(dims)
    return near + .2 * rng.standard_normal((per_document, dims)).astype(np.float32)


def texts(n: int, per_document: int = PER_DOCUMENT) -> list[str]:
    """The texts of a document."""
    known, likely = words()
    drawn = known[np.searchsorted(likely, np.random.default_rng([4, n]).random((per_document, 60)))]
    return [" ".join(row)[:SIZE].ljust(SIZE, ".") for row in drawn]


def kind(n: int) -> str:
    """Type of a document."""
    return "gcb" if n % 5 == 0 else "manual"


def document(n: int, dims: int, per_document: int = PER_DOCUMENT) -> tuple[list[TextNode], Outline]:
    """A document as our store takes it."""
    doc_id = f"d{n:07d}"
    spans = [Span(i * SIZE, (i + 1) * SIZE) for i in range(per_document)]
    pages = [(p + 1, Span(p * 10 * SIZE, min(per_document, (p + 1) * 10) * SIZE)) for p in range(-(-per_document // 10))]
    of = {NodeRelationship.SOURCE: RelatedNodeInfo(node_id=doc_id)}
    nodes = []
    for i, (span, text, vector) in enumerate(zip(spans, texts(n, per_document), vectors(n, dims, per_document).tolist())):
        metadata = {"level": "c", "index": i, "doc_type": kind(n), "page": i // 10 + 1}
        nodes.append(TextNode(id_=f"{doc_id}#c{i}", text=text, start_char_idx=span.start, end_char_idx=span.end,
                              metadata=metadata, embedding=vector, relationships=of))
    return nodes, Outline(doc_id, per_document * SIZE, {"c": spans}, pages=pages, metadata={"doc_type": kind(n)})


# --- the same, as another program writes it (fields of seed 000) -----------------------------------------------------

FOREIGN = {"document_id": {"type": "long"}, "chunk_index": {"type": "integer"}, "page": {"type": "integer"},
           "doc_type": {"type": "keyword"}, "text": {"type": "text"}}


def foreign_body(dims: int, settings: dict[str, Any]) -> dict[str, Any]:
    """Settings and mapping of the foreign index; its vectors are kept, and not searched here."""
    return {"settings": settings, "mappings": {"properties": FOREIGN | {"embedding": {"type": "knn_vector", "dimension": dims}}}}


@functools.cache
def _written(dims: int) -> list[str]:
    """Vectors as JSON; a thousand, taken in turn: writing them is the time of a client."""
    return [json.dumps([round(x, 8) for x in row]) for row in vectors(0, dims, 1_000).tolist()]


def foreign_lines(first: int, last: int, dims: int) -> Iterator[str]:
    """Lines of a bulk for the documents from first to last - 1; ids that say nothing."""
    pool = _written(dims)
    for n in range(first, last):
        for i, text in enumerate(texts(n)):
            row = {"document_id": n, "chunk_index": i, "page": i // 10 + 1, "doc_type": kind(n), "text": text}
            told = json.dumps(row, ensure_ascii=False)[:-1]
            yield f'{{"index":{{"_id":"{(n * PER_DOCUMENT + i) * 2_654_435_761 % 2**64:016x}"}}}}\n'
            yield f'{told},"embedding":{pool[(n * 7 + i) % len(pool)]}}}\n'


# --- our own rows, without the objects -------------------------------------------------------------------------------


def own_lines(first: int, last: int, dims: int, index: str) -> Iterator[bytes]:
    """What `OpenSearchStore.put` sends for documents that are not there yet: the same rows, made several times quicker."""
    import orjson
    from ragnb.storage.opensearch import _chunk_row
    from ragnb.storage.store import outline_to_json
    nodes, outline = document(first, dims)
    model = _chunk_row(nodes[0], [])
    for n in range(first, last):
        doc_id, near = f"d{n:07d}", vectors(n, dims)
        near /= np.linalg.norm(near, axis=1, keepdims=True)
        told = outline_to_json(outline).replace(outline.doc_id, doc_id).replace(kind(first), kind(n))
        yield orjson.dumps({"index": {"_index": f"{index}-documents", "_id": doc_id, "routing": doc_id}}) + b"\n"
        yield orjson.dumps({"document_id": doc_id, "outline": told}) + b"\n"
        for i, (text, vector) in enumerate(zip(texts(n), near)):
            row = {"address": f"{doc_id}#c{i}", "document_id": doc_id, "level": "c", "chunk_index": i, "text": text}
            changed = {outline.doc_id: doc_id, "#c0": f"#c{i}", '"index":0': f'"index":{i}', kind(first): kind(n),
                       '"page":1': f'"page":{i // 10 + 1}', f'"end_char_idx":{SIZE}': f'"end_char_idx":{(i + 1) * SIZE}',
                       '"start_char_idx":0': f'"start_char_idx":{i * SIZE}'}
            row["node"] = functools.reduce(lambda held, pair: held.replace(*pair), changed.items(), model["node"])
            facts = _facts(kind(n), i, doc_id)
            row |= {"page": i // 10 + 1, "facts": facts, "vector": vector, "tokens": " ".join(text.split())}
            yield orjson.dumps({"index": {"_index": f"{index}-chunks", "_id": row["address"], "routing": doc_id}}) + b"\n"
            yield orjson.dumps(row, option=orjson.OPT_SERIALIZE_NUMPY) + b"\n"


@functools.lru_cache(1_000)
def _facts(kind: str, i: int, doc_id: str) -> list[str]:
    """The facts of a chunk."""
    from ragnb.storage.facts import facts_of
    return list(facts_of({"level": "c", "index": i, "doc_type": kind, "page": i // 10 + 1} | dict.fromkeys(("doc_id", "document_id", "ref_doc_id"), doc_id)))
