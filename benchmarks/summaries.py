"""What summaries are worth: how well one finds its section, and documents -> sections -> units against flat retrieval.

    python benchmarks/summaries.py [--sets squad2,korquad] [--questions 400] [--embed ngram] [--budget 1000]
"""
from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial

import numpy as np
from llama_index.core.schema import Document, NodeWithScore, QueryBundle
from tqdm import tqdm

from common import arguments
from ragnb.retrieval import hierarchical
from ragnb.retrieval.bm25 import PositiveOkapi
from ragnb.evaluation.datasets import Question, load_dataset
from ragnb.models.embedding import resolve_embedding
from ragnb.evaluation.measures import score_passages
from ragnb.retrieval.hybrid import rrf
from ragnb.documents.span import Passage, Span
from ragnb.chunking.summaries import Section, summarise_sections, word_weights
from ragnb.retrieval.hierarchical import HierarchicalRetriever, Layer, SectionTree, build_tree
from ragnb.documents.text import sentence_spans, word_tokens, word_tokens_batch

CUTOFFS = (1, 5, 20)


class Remembered(Layer):
    "A layer that scores a question only once, for many ways of using the scores."

    def scores(self, tokens: Sequence[str], vector: np.ndarray) -> np.ndarray:
        known, key = self.__dict__.setdefault("known", {}), tuple(tokens)
        if key not in known:
            known[key] = super().scores(tokens, vector)
        return known[key]


def remembering(tree: SectionTree) -> SectionTree:
    "The same tree with layers that remember."
    return replace(tree, layers=tuple(Remembered(layer.okapi, layer.vectors) for layer in tree.layers))


def load(name: str, n: int) -> tuple[list[Document], list[Question]]:
    "All documents of a set and a sample of its questions."
    dataset = load_dataset(name)
    documents = [Document(text=d.text, id_=i, metadata={"title": d.metadata.get("title") or ""}) for i, d in dataset.documents.items()]
    random.Random(0).shuffle(questions := [*dataset.questions])
    return documents, questions[:n]


def z(scores: np.ndarray) -> np.ndarray:
    "Z-scores of each question over the sections, clipped below at 0."
    return np.maximum(0, (scores - scores.mean(axis=1, keepdims=True)) / np.maximum(scores.std(axis=1, keepdims=True), 1e-9))


def found(texts: Sequence[str], sections: Sequence[Section], questions: Sequence[Question], model: object) -> list[float]:
    "Share of the questions with a gold section among the first k, when sections are searched by the given texts."
    okapi = PositiveOkapi(word_tokens(t) for t in texts)
    words = np.array([okapi.get_scores(word_tokens(q.query)) for q in questions])
    cosine = model.embed([q.query for q in questions]) @ model.embed(list(texts)).T
    order = np.argsort(-(z(words) + z(cosine)), axis=1, kind="stable")
    gold = [{i for i, s in enumerate(sections) if any(e.doc_id == s.doc_id and e.span.overlap(s.span) for e in q.evidence)} for q in questions]
    return [float(np.mean([bool(g & set(row[:k].tolist())) for g, row in zip(gold, order)])) for k in CUTOFFS]


def ranked(sentences: Sequence[Sequence[str]], weights: Mapping[str, float]) -> np.ndarray:
    "TextRank of sentences by the cosine of their tf-idf vectors (Mihalcea and Tarau, 2004; Erkan and Radev, 2004)."
    column = {word: i for i, word in enumerate(dict.fromkeys(w for words in sentences for w in words))}
    table = np.zeros((len(sentences), len(column)))
    for row, words in enumerate(sentences):
        for word, n in Counter(words).items():
            table[row, column[word]] = n * weights.get(word, 1.0)
    table /= np.maximum(np.linalg.norm(table, axis=1, keepdims=True), 1e-12)
    like = table @ table.T
    np.fill_diagonal(like, 0)
    like /= np.maximum(like.sum(axis=1, keepdims=True), 1e-12)
    rank = np.full(len(like), 1 / len(like))
    for _ in range(50):
        rank = 0.15 / len(like) + 0.85 * like.T @ rank
    return rank


def others(sections: Sequence[Section], method: str, size: int) -> list[str]:
    "Summaries of the sentences that are most like the others (`textrank`), or of the first (`lead`)."
    parts = []
    for section in sections:
        spans = sentence_spans(section.text)
        parts.append([s.of(section.text) for s in [s for s in spans if not section.text.startswith("#", s.start)] or spans])
    tokens = [list(word_tokens_batch(own)) for own in parts]
    weights, out = word_weights([w for words in own for w in words] for own in tokens), []
    for own, words in zip(parts, tokens):
        order = list(range(len(own)))
        if method == "textrank":
            rank = ranked(words, weights)
            order.sort(key=lambda i: (-round(float(rank[i]), 9), i))
        chosen, used = order[:1], sum(len(own[i]) for i in order[:1])
        for i in order[1:]:
            if used + len(own[i]) <= size:
                chosen.append(i)
                used += len(own[i])
        out.append(" ".join(" ".join(own[i].split()) for i in sorted(chosen)))
    return out


class Beam(HierarchicalRetriever):
    "Layers weighed apart, and the best units anywhere beside those of the best sections."

    def __init__(self, tree: object, model: object, weights: Sequence[float] = (1, 1, 1), n_free: int = 100, **options: object) -> None:
        super().__init__(tree, model, **options)
        self.weights, self.n_free = weights, n_free

    def scores(self, question: str, embedding: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
        tree, tokens, w = self.tree, hierarchical.word_tokens(question), self.weights
        vector = np.asarray(embedding, np.float32) / max(float(np.linalg.norm(embedding)), 1e-12)
        unit, section, document = (layer.scores(tokens, vector) for layer in tree.layers)
        above = w[1] * section + w[2] * document[tree.document_of]
        inside = best(document, self.n_documents, np.ones(len(document), bool))[tree.document_of]
        part = best(above, self.n_sections, inside)[tree.section_of]
        return w[0] * unit + above[tree.section_of], part | best(unit, self.n_free, np.ones(len(unit), bool))


def best(scores: np.ndarray, n: int | None, among: np.ndarray) -> np.ndarray:
    "True for the n best of some."
    keep = np.zeros(len(scores), bool)
    keep[np.argsort(np.where(among, -np.round(scores, 6), np.inf), kind="stable")[:n]] = True
    return keep & among


def passages(hits: Sequence[NodeWithScore], budget: int) -> list[Passage]:
    "Hits until the budget is full, the last one cut."
    out, left = [], budget
    for hit in hits:
        text = hit.node.text[:left]
        if text:
            out.append(Passage(hit.node.ref_doc_id, Span(hit.node.start_char_idx, hit.node.start_char_idx + len(text)), text))
        left -= len(text)
    return out


def main() -> None:
    args = arguments(__doc__, sets="squad2,korquad", questions=400, embed="ngram", budget=1_000)
    hierarchical.word_tokens = lru_cache(maxsize=None)(word_tokens)  # a question is analysed once
    for name in args.sets.split(","):
        documents, questions = load(name, args.questions)
        model = resolve_embedding(args.embed)
        if args.embed == "ngram":
            model.fit([d.text[i:i + 200] for d in documents for i in range(0, len(d.text), 200)])
        plain, _ = summarise_sections(documents)
        print(f"\n{name}: {len(documents)} documents, {len(plain)} sections, {len(questions)} questions\n")
        print("| a section is searched by | characters | " + " | ".join(f"success@{k}" for k in CUTOFFS) + " |\n|---|---|" + "---|" * len(CUTOFFS))
        variants = {"its text": [s.text for s in plain], "25 heaviest words": [" ".join(s.terms) for s in plain], "its entry": [s.entry for s in plain]}
        for size in (200, 400):
            variants[f"coverage, {size} characters"] = [s.summary for s in summarise_sections(documents, size=size)[0]]
            for method in ("textrank", "lead"):
                variants[f"{method}, {size} characters"] = others(plain, method, size)
        for label, texts in variants.items():
            shares = found(texts, plain, questions, model)
            print(f"| {label} | {np.mean([len(t) for t in texts]):.0f} | " + " | ".join(f"{s:.3f}" for s in shares) + " |", flush=True)
        print(f"\n| retrieval, {args.budget:,} characters | searched by text | by entry | by 400 characters |\n|---|---|---|---|")
        bare = [replace(s, terms=()) for s in plain]
        trees = [remembering(build_tree(documents, model, s, search=by)) for s, by in ((plain, "text"), (plain, "entry"), (bare, "entry"))]
        asked = [QueryBundle(q.query, embedding=model.get_query_embedding(q.query)) for q in questions]
        every = {"n_documents": None, "n_sections": None}
        flat = {"weights": (1, 0, 0)} | every
        rows = {"flat, RRF": (flat_rrf, {}), "flat, z-scores": (Beam.retrieve, flat), "sum of the layers, no beam": (Beam.retrieve, every),
                "unit + section, no beam": (Beam.retrieve, {"weights": (1, 1, 0)} | every)}
        for d, s in ((3, 5), (5, 20), (10, 50)):
            beam = {"n_documents": d, "n_sections": s}
            rows[f"beam {d}/{s}, unit scores only"] = beam_only, beam | {"n_free": 0}
            rows[f"beam {d}/{s}, sum"] = Beam.retrieve, beam | {"n_free": 0}
            rows[f"beam {d}/{s}, sum, 20 free units"] = Beam.retrieve, beam | {"n_free": 20}
        for label, (way, options) in tqdm(rows.items(), desc="retrieval", disable=None):
            cells = []
            for tree in trees:
                ask = partial(way, Beam(tree, model, top_k=60, **options))
                recalls = [score_passages(passages(ask(bundle), args.budget), q).evidence_recall for bundle, q in zip(asked, questions)]
                cells.append(f"{np.mean(recalls):.3f}")
            print(f"| {label} | {' | '.join(cells)} |", flush=True)


def flat_rrf(retriever: Beam, question: QueryBundle, n: int = 100) -> list[NodeWithScore]:
    "Units by reciprocal rank of words and vector."
    tree, layer = retriever.tree, retriever.tree.layers[0]
    both = (layer.okapi.get_scores(hierarchical.word_tokens(question.query_str)), layer.vectors @ np.array(question.embedding))
    ranked = [[tree.units[i].node_id for i in np.argsort(-s, kind="stable")[:n] if s[i] > 0] for s in both]
    by_id = {u.node_id: u for u in tree.units}
    return [NodeWithScore(node=by_id[i], score=s) for i, s in rrf(ranked)]


def beam_only(retriever: Beam, question: QueryBundle) -> list[NodeWithScore]:
    "The textbook way: sections choose, then only the units' own scores rank."
    _, part = retriever.scores(question.query_str, question.embedding)
    own = retriever.tree.layers[0].scores(hierarchical.word_tokens(question.query_str), np.array(question.embedding, dtype=np.float32))
    order = [i for i in np.argsort(-own, kind="stable") if part[i]][:retriever.top_k]
    return [NodeWithScore(node=retriever.tree.units[i], score=float(own[i])) for i in order]


if __name__ == "__main__":
    main()
