"""Chunks of any number, made by a seeded generator: what benchmarks/cluster.py writes to a search server.

A document is 100 chunks of 200 characters, ten to a page, every fifth read whole. Words are drawn from 30,000 by
Zipf's law, vectors lie near a plane of 32 dimensions in 384, as those of embedding models lie near few.
A document depends on its number alone.
"""
from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
from llama_index.core.base.embeddings.base import BaseEmbedding
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


class Known(BaseEmbedding):
    """Gives each text the vector that was drawn for it."""
    vectors: dict[str, list[float]] = {}

    def _get_query_embedding(self, query: str) -> list[float]:
        return self.vectors[query]

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self.vectors[query]

    _get_text_embedding = _get_query_embedding


# --- the same, as another program writes it (fields of seed 000) -----------------------------------------------------

FOREIGN = {"document_id": {"type": "long"}, "chunk_index": {"type": "integer"}, "page": {"type": "integer"},
           "doc_type": {"type": "keyword"}, "text": {"type": "text"}}


def foreign_body(dims: int, settings: dict[str, Any]) -> dict[str, Any]:
    """Settings and mapping of the foreign index; its vectors are kept, and not searched here."""
    return {"settings": settings, "mappings": {"properties": FOREIGN | {"embedding": {"type": "knn_vector", "dimension": dims}}}}


def foreign_lines(n_documents: int, dims: int) -> Iterator[str]:
    """Lines of a bulk for so many documents; ids that say nothing. A thousand vectors are taken in turn: writing them is the time of a client."""
    pool = [json.dumps([round(x, 8) for x in row]) for row in vectors(0, dims, 1_000).tolist()]
    for n in range(n_documents):
        for i, text in enumerate(texts(n)):
            row = {"document_id": n, "chunk_index": i, "page": i // 10 + 1, "doc_type": kind(n), "text": text}
            told = json.dumps(row, ensure_ascii=False)[:-1]
            yield f'{{"index":{{"_id":"{(n * PER_DOCUMENT + i) * 2_654_435_761 % 2**64:016x}"}}}}\n'
            yield f'{told},"embedding":{pool[(n * 7 + i) % len(pool)]}}}\n'
