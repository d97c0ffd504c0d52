"""An evaluation set split, embedded and indexed for the benchmarks of the score.

Vectors of units and questions are kept in a folder, under a name that their texts and their model decide, so that a second run embeds nothing.
"""
from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from llama_index.core.schema import QueryBundle, TextNode

from ragnb.chunking.units import UnitNodeParser
from ragnb.documents.catalogue import Catalogue
from ragnb.documents.provisions import cited_spans, look_up_question
from ragnb.evaluation.datasets import Dataset
from ragnb.indexing.update import fit_pieces
from ragnb.models.embedding import describe_embedding, resolve_embedding
from ragnb.retrieval.multiscale import MultiScaleRetriever
from ragnb.retrieval.scoring import question_vector, score_units, UnitScores
from ragnb.retrieval.sqlite_store import SqliteStore
from ragnb.retrieval.sqlite_units import SqliteUnits
from ragnb.retrieval.unit_source import SCALES

KOREAN = ("korquad", "tydiqa_ko", "ko_statutes")
NONE = "none"   # No vectors: words only
FIVE = (1, 3, 7, 15, 31)   # One scale more than the default


def kept_vectors(dataset: Dataset, nodes: Sequence[TextNode], spec: str, keep: Path, base_url: str | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Vectors of units and of questions, read where they are kept, else made and kept; the n-gram embedding is fitted on the documents."""
    texts, questions = [n.get_content(metadata_mode="embed") for n in nodes], [q.query for q in dataset.questions]
    documents, model = list(dataset.documents.values()), resolve_embedding(spec, base_url)
    if spec == "ngram":
        model.fit(fit_pieces(documents))         # what it learned is a part of what it is called
    facts = [describe_embedding(model), texts, questions]
    path = keep / f"{dataset.name}-{hashlib.sha256(json.dumps(facts, default=str).encode()).hexdigest()[:16]}.npz"
    if not path.exists():
        found = {"units": model.get_text_embedding_batch(texts), "questions": [model.get_query_embedding(q) for q in questions]}
        keep.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(".part.npz")
        np.savez(partial, **{name: np.array(vectors, np.float32) for name, vectors in found.items()})
        partial.replace(path)
    kept = np.load(path)
    return kept["units"], kept["questions"]


@dataclass
class ScoredSet:
    """A set in an index, with the vectors of its questions."""
    dataset: Dataset
    store: SqliteStore
    vectors: dict[str, list[float]]    # Question -> vector; empty without an embedding

    @property
    def source(self) -> SqliteUnits:
        """Where the units are."""
        return self.store.units

    def scored(self, terms: Sequence[str], vector: Sequence[float] | None, **options: Any) -> UnitScores:
        """The units around the candidates of a question."""
        return score_units(self.source, terms, question_vector(vector, self.source.dims), **options)

    def bundle(self, question: str) -> QueryBundle:
        """A question that brings its vector."""
        return QueryBundle(question, embedding=self.vectors.get(question))

    def retriever(self, citations: bool = False) -> MultiScaleRetriever:
        """The default retriever; articles that a question names, and what they cite, ahead of the search where asked."""
        hooks: dict[str, Any] = {}
        if citations:
            catalogue = Catalogue.from_documents(self.dataset.documents.values())
            hooks = {"leads": lambda q: look_up_question(q, catalogue), "follow": lambda d, s: cited_spans(d, s, catalogue)}
        return MultiScaleRetriever(self.source, self.store, None, **hooks)


def build(dataset: Dataset, spec: str, keep: Path, base_url: str | None = None, parser: UnitNodeParser | None = None,
          scales: Sequence[int] = SCALES) -> ScoredSet:
    """Split, embed and index a set; `spec` as `resolve_embedding` takes it, or `none`."""
    parsed = [(parser or UnitNodeParser()).parse(d) for d in dataset.documents.values()]
    nodes, outlines = [n for found, _ in parsed for n in found], [o for _, o in parsed]
    questions: dict[str, list[float]] = {}
    if spec != NONE:
        units, asked = kept_vectors(dataset, nodes, spec, keep, base_url)
        questions = {q.query: vector.tolist() for q, vector in zip(dataset.questions, asked, strict=True)}
        for node, vector in zip(nodes, units, strict=True):
            node.embedding = vector.tolist()
    store = SqliteStore(SqliteUnits(scales=scales))
    for node in nodes if spec == NONE else ():
        node.embedding = [1.0]  # the store wants one; nobody searches it
    store.put(nodes, outlines)
    return ScoredSet(dataset, store, questions)
