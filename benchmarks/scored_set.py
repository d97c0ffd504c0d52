"""An evaluation set split, embedded and indexed for the benchmarks of the score, and the score as it was before.

Vectors of units and questions are kept in a folder, under a name that their texts and their model decide, so that a second run embeds nothing.
"""
from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
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
from ragnb.retrieval.multiscale import MultiScaleRanking, MultiScaleRetriever, pieces_by_score, query_terms
from ragnb.retrieval.multiscale_index import adjusted_totals, MultiScaleIndex, question_vector
from ragnb.retrieval.signals import clipped_z_scores
from ragnb.retrieval.unit_vectors import UnitVectors
from ragnb.storage.store import MemoryStore

KOREAN = ("korquad", "tydiqa_ko", "ko_statutes")
NONE = "none"   # No vectors: words only
FIVE = (1, 3, 7, 15, 31)   # Scales of the score before


def on_scales(index: MultiScaleIndex, scales: Sequence[int]) -> MultiScaleIndex:
    """The same units, scored on other scales."""
    other = MultiScaleIndex(scales, tokenizer=index.tokenizer)
    shared = {name: getattr(index, name) for name in ("corpus", "words", "titles", "names")}
    vars(other).update(shared)
    other.unit_vectors = UnitVectors.of(index.unit_vectors.codes, index.corpus.n_units, other.scales)
    return other


def bm25_of_windows(index: MultiScaleIndex, terms: Sequence[str], rows: np.ndarray) -> np.ndarray:
    """z-scores of BM25 of the windows around units, a window taking the place of the document, by the statistics of all windows."""
    corpus, words = index.corpus, index.words
    lengths, out = np.concatenate([[0], np.cumsum(words.lengths)]), []
    for width in index.scales:
        low, high = corpus.windows(np.arange(len(corpus)), width)
        size, total, mean, variance = lengths[high] - lengths[low], np.zeros(len(corpus)), 0.0, 0.0
        for term in terms:
            column = words.vocabulary.get(term)
            if column is None or not words.frequencies[column]:
                continue
            held, times = words.counts.posting(column)
            running = np.concatenate([[0], np.cumsum(np.bincount(held, times, len(corpus)))])
            counts = running[high] - running[low]
            n = int((counts > 0).sum())
            share = np.log1p((len(corpus) - n + 0.5) / (n + 0.5)) * counts * 1.9 / (counts + 0.9 * (0.6 + 0.4 * size / size.mean()))
            total, mean, variance = total + share, mean + share.mean(), variance + share.var()
        out.append(clipped_z_scores(total[rows], mean, variance))
    return np.array(out)


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
    index: MultiScaleIndex
    store: MemoryStore
    vectors: dict[str, list[float]]    # Question -> vector; empty without an embedding

    @cached_property
    def five(self) -> MultiScaleIndex:
        """The index with the scales of the score before."""
        return on_scales(self.index, FIVE)

    def bundle(self, question: str) -> QueryBundle:
        """A question that brings its vector."""
        return QueryBundle(question, embedding=self.vectors.get(question))

    def retriever(self, citations: bool = False) -> MultiScaleRetriever:
        """The default retriever; articles that a question names, and what they cite, ahead of the search where asked."""
        hooks: dict[str, Any] = {}
        if citations:
            catalogue = Catalogue.from_documents(self.dataset.documents.values())
            hooks = {"leads": lambda q: look_up_question(q, catalogue), "follow": lambda d, s: cited_spans(d, s, catalogue)}
        return MultiScaleRetriever(self.index, self.store, None, **hooks)

    def before(self, retriever: MultiScaleRetriever, ranking: MultiScaleRanking, question: str) -> MultiScaleRanking:
        """The same candidates by the score before: BM25 of windows, no pairs of words, one scale more."""
        corpus, terms = self.index.corpus, query_terms(question, self.index.tokenizer)
        vector = question_vector(self.vectors.get(question), self.index.unit_vectors.dims)
        s = self.five.scorer.score_rows(terms, vector, ranking.scores.rows, retriever.whole)
        words = bm25_of_windows(self.five, terms, s.rows)
        total = adjusted_totals(corpus, s.rows, words.sum(axis=0) + s.vectors.sum(axis=0) + s.title + s.name, retriever.whole)
        return replace(ranking, pieces=retriever.led(question, pieces_by_score(corpus, replace(s, words=words, total=total))))


def build(dataset: Dataset, spec: str, keep: Path, base_url: str | None = None, parser: UnitNodeParser | None = None) -> ScoredSet:
    """Split, embed and index a set; `spec` as `resolve_embedding` takes it, or `none`."""
    parsed = [(parser or UnitNodeParser()).parse(d) for d in dataset.documents.values()]
    nodes, outlines = [n for found, _ in parsed for n in found], [o for _, o in parsed]
    questions: dict[str, list[float]] = {}
    if spec != NONE:
        units, asked = kept_vectors(dataset, nodes, spec, keep, base_url)
        questions = {q.query: vector.tolist() for q, vector in zip(dataset.questions, asked, strict=True)}
        for node, vector in zip(nodes, units, strict=True):
            node.embedding = vector.tolist()
    index, store = MultiScaleIndex(), MemoryStore()
    index.add(nodes, outlines)
    for node in nodes if spec == NONE else ():
        node.embedding = [1.0]  # the store wants one; nobody searches it
    store.put(nodes, outlines)
    return ScoredSet(dataset, index, store, questions)
