"""An evaluation set split, embedded and indexed for the benchmarks of the score.

Vectors of units and questions are kept in a folder, under a name that their texts and their model decide, so that a second run embeds nothing.
"""
from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from llama_index.core.schema import TextNode

from ragnb.chunking.units import UnitNodeParser
from ragnb.documents.span import n_characters, shared, Span
from ragnb.evaluation.datasets import Dataset, Question
from ragnb.indexing.update import fit_pieces
from ragnb.models.embedding import describe_embedding, resolve_embedding
from ragnb.retrieval.multiscale import pieces_by_score, take_units, with_headers
from ragnb.retrieval.scoring import question_vector, score_units, UnitScores
from ragnb.retrieval.sqlite_store import SqliteStore
from ragnb.retrieval.sqlite_units import SqliteUnits
from ragnb.retrieval.unit_source import SCALES, SHIFT

KOREAN = ("korquad", "tydiqa_ko", "ko_statutes")
SETS = ("korquad", "tydiqa_ko", "ko_statutes", "squad2", "covidqa", "chroma_chunking", "tatqa")
BUDGETS = (250, 500, 1_000, 2_000, 4_000)


def drawn(dataset: Dataset, limit: int | None) -> list[Question]:
    """Some questions with evidence, the same at every run; all without a limit."""
    chosen = [i for i, q in enumerate(dataset.questions) if q.evidence]
    if limit and limit < len(chosen):
        chosen = sorted(np.random.default_rng(0).choice(chosen, limit, replace=False).tolist())
    return [dataset.questions[i] for i in chosen]


def recall(question: Question, read: Mapping[str, Sequence[Span]]) -> float:
    """Share of the evidence in spans of documents: of all of it, or of the best piece."""
    needed = [question.evidence] if question.mode == "all" else [[e] for e in question.evidence]
    return max(sum(n_characters(shared(read.get(e.doc_id, ()), [e.span])) for e in one) / sum(len(e.span) for e in one) for one in needed)


def kept_vectors(dataset: Dataset, nodes: Sequence[TextNode], spec: str, keep: Path) -> tuple[np.ndarray, np.ndarray]:
    """Vectors of units and of questions, read where they are kept, else made and kept; the n-gram embedding is fitted on the documents."""
    texts, questions = [n.get_content(metadata_mode="embed") for n in nodes], [q.query for q in dataset.questions]
    documents, model = list(dataset.documents.values()), resolve_embedding(spec)
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
    store: SqliteStore
    vectors: dict[str, list[float]]    # Question -> vector

    @property
    def source(self) -> SqliteUnits:
        """Where the units are."""
        return self.store.units

    def scored(self, terms: Sequence[str], question: str) -> UnitScores:
        """The units around the candidates of a question."""
        return score_units(self.source, terms, question_vector(np.array(self.vectors[question], np.float32), self.source.dims))


def build(dataset: Dataset, spec: str, keep: Path, parser: UnitNodeParser | None = None, scales: Sequence[int] = SCALES) -> ScoredSet:
    """Split, embed and index a set; `spec` as `resolve_embedding` takes it."""
    parsed = [(parser or UnitNodeParser()).parse(d) for d in dataset.documents.values()]
    nodes, outlines = [n for found, _ in parsed for n in found], [o for _, o in parsed]
    units, asked = kept_vectors(dataset, nodes, spec, keep)
    questions = {q.query: vector.tolist() for q, vector in zip(dataset.questions, asked, strict=True)}
    for node, vector in zip(nodes, units, strict=True):
        node.embedding = vector.tolist()
    store = SqliteStore(SqliteUnits(scales=scales))
    store.put(nodes, outlines)
    return ScoredSet(store, questions)


def recalls(scores: UnitScores, question: Question) -> list[float]:
    """Share of the evidence in the best units, at every budget."""
    units, out = scores.units, []
    pieces = with_headers(units, pieces_by_score(scores)[:400])
    for budget in BUDGETS:
        context: dict[str, list] = {}
        for key, span in take_units(units, pieces, budget).items():
            context.setdefault(units.ids[key >> SHIFT], []).append(span)
        out.append(recall(question, context))
    return out
