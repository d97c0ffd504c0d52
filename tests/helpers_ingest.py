"""What the tests of indexing share: small embeddings, and an index as plain data."""
from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from llama_index.core.embeddings import MockEmbedding
from ollama_server import toy_vector

import ragnb.documents.text
import ragnb.retrieval.bm25
from ragnb.indexing import folder_index, update
from ragnb.retrieval.bm25 import Bm25Retriever
from ragnb.models.embedding import NgramEmbedding
from ragnb.retrieval.hybrid import HybridRetriever, VectorRetriever
from ragnb.indexing.folder_index import Index
from ragnb.retrieval.multiscale import MultiScaleRetriever
from ragnb.chunking.base import SpanNodeParser
from ragnb.chunking.parent_child import ParentChildNodeParser

QUESTIONS = ("연차는 며칠인가", "병가와 진단서", "travel expense 한도", "Annual leave")


class ToyEmbedding(MockEmbedding):
    """Counts pairs of characters; the same everywhere, fitted on nothing."""

    fail_at: int = 0   # Raise at this batch, from 1; 0: never
    batches: int = 0

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        self.batches += 1
        if self.batches == self.fail_at:
            raise ConnectionError("the embedding server went away")
        return [toy_vector(t, self.embed_dim) for t in texts]

    def get_text_embedding_batch(self, texts: list[str], **kwargs: Any) -> list[list[float]]:
        return self._get_text_embeddings(texts)

    def _get_query_embedding(self, query: str) -> list[float]:
        return toy_vector(query, self.embed_dim)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)


def make_embedding(name: str) -> Any:
    """`toy`, or a small n-gram embedding that is fitted."""
    return ToyEmbedding(embed_dim=32) if name == "toy" else NgramEmbedding(dims=16, n_columns=256, max_fit=64)


def vectors(index: Index) -> dict[str, list[float]]:
    """Chunk id -> its vector, as Chroma holds it."""
    rows = index.store._children.get(include=["embeddings"])
    return {i: [round(float(x), 4) for x in v] for i, v in zip(rows["ids"], rows["embeddings"])}


def plain_words(patch: Callable[[Any, str, Any], None] = setattr) -> SpanNodeParser:
    """Tokenise at spaces, for tests where loading the analyser again and again is most of the time; the splitter that goes with it."""
    for module in (folder_index, update):
        if hasattr(module, "word_tokens_batch"):
            patch(module, "word_tokens_batch", lambda texts: map(str.split, texts))
    patch(ragnb.documents.text, "word_tokens", str.split)
    return ParentChildNodeParser(sentences="rule")


def state(index: Index) -> dict[str, Any]:
    """What an index holds and answers, without the names of folders."""
    outlines = index.store.get_outlines(index.store.doc_ids()).all()
    chunks = index.store.get_chunks(a for o in outlines.values() for a in o.addresses()).all()
    members = {"bm25": Bm25Retriever(index.bm25, index.store), "vector": VectorRetriever(index.store, index.embed_model)}
    answers = {q: [[h.node_id, round(h.score, 6)] for h in HybridRetriever(members).retrieve(q)] for q in QUESTIONS}
    ranked = MultiScaleRetriever(index.multiscale, index.store, index.embed_model) if index.multiscale is not None else None
    held = {
        "passages": {q: [[p.id, p.text, round(p.score, 3)] for p in ranked.rank(q).at(300)] for q in QUESTIONS} if ranked else {},
        "documents": {i: [e["hash"], e["file"], e["characters"]] for i, e in index.manifest.documents.items()},
        "stale": [i for i, e in index.manifest.documents.items() if e["embedding"] != index.manifest.embedding_folder],
        "outlines": {i: [o.n_characters, o.metadata] for i, o in outlines.items()},
        "chunks": {i: [n.text, n.metadata, n.start_char_idx] for i, n in chunks.items()},
        "rows": [c.count() for c in (index.store._children, index.store._parents, index.store._outlines)],
        "vectors": vectors(index), "bm25": sorted(index.bm25.ids),
        "scores": {q: sorted(index.bm25.top_k(q.split(), 50)) for q in ("연차 병가", "travel leave")}, "answers": answers,
        "folders": sorted(p.name.rpartition("-")[0] for p in index.folder.iterdir() if p.is_dir()),
    }
    return json.loads(json.dumps(held, sort_keys=True))
