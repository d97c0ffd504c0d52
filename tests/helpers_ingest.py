"""What the tests of indexing share: small embeddings, and an index as plain data."""
from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from conftest import write
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.schema import MetadataMode
from ollama_server import toy_vector

import ragnb.documents.text
from ragnb import (HybridRetriever, Index, MultiScaleRetriever, NgramEmbedding, ParentChildNodeParser, read_documents,
                   update_index, VectorRetriever)
from ragnb.chunking.base import SpanNodeParser
from ragnb.retrieval import sqlite_units
from ragnb.retrieval.hybrid import WordRetriever

WORDS = ["연차는 15일이다.", "병가는 60일까지 쓴다.", "진단서를 낸다.", "Travel expense is 한도 내에서 쓴다.", "Annual leave starts now.",
         "회의는 매주 월요일이다.", "반차는 4시간이다."]
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
    """Chunk id -> its vector, as the store holds it: of length 1, a byte a number."""
    held = index.store.get_vectors(index.store.matching())
    return {i: [round(float(x), 4) for x in v] for i, v in held.items()}


def plain_words(patch: Callable[[Any, str, Any], None] = setattr) -> SpanNodeParser:
    """Tokenise at spaces, where loading the analyser is most of the time; the splitter that goes with it."""
    patch(sqlite_units, "word_tokens_batch", lambda texts: map(str.split, texts))
    patch(ragnb.documents.text, "word_tokens", str.split)
    return ParentChildNodeParser(sentences="rule")


def state(index: Index) -> dict[str, Any]:
    """What an index holds and answers, without the names of folders."""
    outlines = index.store.get_outlines(index.store.doc_ids()).all()
    chunks = index.store.get_chunks(a for o in outlines.values() for a in o.addresses()).all()
    members = {"bm25": WordRetriever(index.store), "vector": VectorRetriever(index.store, index.embed_model)}
    answers = {q: [[h.node_id, round(h.score, 6)] for h in HybridRetriever(members).retrieve(q)] for q in QUESTIONS}
    ranked = (
        MultiScaleRetriever(index.multiscale, index.store, index.embed_model) if index.multiscale is not None else None)
    held = {
        "passages": (
            {q: [[p.id, p.text, round(p.score, 3)] for p in ranked.rank(q).at(300)] for q in QUESTIONS} if ranked
            else {}),
        "documents": {i: [e["hash"], e["file"], e["characters"]] for i, e in index.manifest.documents.items()},
        "stale": [i for i, e in index.manifest.documents.items() if e["embedding"] != index.manifest.embedding_folder],
        "outlines": {i: [o.n_characters, o.metadata] for i, o in outlines.items()},
        "chunks": {i: [n.text, n.metadata, n.start_char_idx] for i, n in chunks.items()}, "vectors": vectors(index),
        "bm25": sorted(index.store.matching()),
        "scores": {q: [[h.node_id, round(h.score, 6)] for h in index.store.search_words(q.split(), 50)] for q in ("연차 병가", "travel leave")},
        "answers": answers}
    return json.loads(json.dumps(held, sort_keys=True))


def text_of(seed: int, n: int = 12) -> str:
    """Some sentences, always the same for a seed."""
    rng = random.Random(seed)
    return f"# 문서 {seed}\n\n" + " ".join(f"{rng.choice(WORDS)} ({rng.randrange(100)})" for _ in range(n)) + "\n"


def jsonl(*records: object) -> str:
    return "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in records)


def read(folder: Path) -> tuple[dict[str, str], list[str]]:
    problems: list = []
    return {d.id_: d.text for d in read_documents(folder, problems)}, [str(p) for p in problems]


def update(source: Path, folder: Path, embed: object = "toy", **options: object):
    """Update an index; (index, (added, changed, removed, unchanged), report)."""
    index, report = update_index(
        source, folder, embed=make_embedding(embed) if isinstance(embed, str) else embed, show_progress=False, **options
    )
    return index, (report.added, report.changed, report.removed, report.unchanged), report


def fresh(source: Path, folder: Path, embed: str = "toy") -> dict:
    """State of a new index of a folder."""
    return state(update(source, folder, embed)[0])


def many(folder: Path, n: int = 45) -> Path:
    """Documents for several batches."""
    return write(folder, {f"{i:03}.md": text_of(i, 150) for i in range(n)})


def all_vectors_are_the_embeddings(index: Index) -> bool:
    """True when every vector in the store is what the index's embedding makes of the text and its prefix."""
    held = vectors(index)
    texts = {i: n.get_content(MetadataMode.EMBED) for i, n in index.store.get_chunks(held).all().items()}
    made = {i: np.array(index.embed_model.embed([text])[0], float) for i, text in texts.items()}
    return all(np.dot(vector, made[i]) >= 0.999 * np.linalg.norm(made[i]) for i, vector in held.items())
