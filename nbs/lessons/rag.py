"""A RAG of 100 lines. Every function is the one that a lesson built; lesson 12 runs it."""
import math
import re
import zlib
from collections import Counter
from typing import NamedTuple

import numpy as np
from kiwipiepy import Kiwi

SENTENCE = r"(?<=[.?!])\s+|\n+"
PARAGRAPH = r"\n\s*\n"
KIWI = Kiwi()


class Span(NamedTuple):
    doc: str
    start: int
    end: int


def read(texts, span):
    return texts[span.doc][span.start:span.end]


def pack(texts, span, cut, size):
    marks = re.finditer(cut, read(texts, span))
    ends = [*(span.start + mark.end() for mark in marks), span.end]
    packed = [Span(span.doc, span.start, span.start)]
    for end in ends:
        if end - packed[-1].start <= size or packed[-1].start == packed[-1].end:
            packed[-1] = packed[-1]._replace(end=end)
        else:
            packed.append(Span(span.doc, packed[-1].end, end))
    return [piece for piece in packed if read(texts, piece).strip()]


def words(text):
    return [m.form.lower() for m in KIWI.tokenize(text) if m.tag.startswith(("N", "VV", "VA", "XR", "SL", "SN"))]


def bm25(asked, bags, k1=0.9, b=0.4):
    lengths = np.array([bag.total() for bag in bags])
    scores = np.zeros(len(bags))
    for word in asked:
        counts = np.array([bag[word] for bag in bags])
        n_with = np.count_nonzero(counts)
        idf = math.log(1 + (len(bags) - n_with + 0.5) / (n_with + 0.5))
        scores += idf * counts / (counts + k1 * (1 - b + b * lengths / lengths.mean()))
    return scores


def embed(texts, rarity=1.0, dims=4096):
    counts = np.zeros((len(texts), dims))
    for row, text in enumerate(texts):
        for pair in re.findall(r"(?=(\w\w))", text.lower()):
            counts[row, zlib.crc32(pair.encode()) % dims] += 1
    vectors = np.log1p(counts) * rarity
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)


def fuse(rankings, k=60):
    votes = Counter()
    for ranking in rankings:
        votes.update({unit: 1 / (k + rank) for rank, unit in enumerate(ranking, 1)})
    return [unit for unit, _ in votes.most_common()]


def windows(units, width):
    near = [range(max(0, i - width), min(len(units), i + width + 1)) for i in range(len(units))]
    return [[j for j in window if units[j].doc == units[i].doc] for i, window in enumerate(near)]


def z_scores(values):
    return np.maximum(values - values.mean(), 0) / (values.std() + 1e-9)


def rerank(question, hits, texts, llm):
    numbered = "\n".join(f"{n}. {text}" for n, text in enumerate(texts, 1))
    reply = llm(f"Question: {question}\n{numbered}\nGrade each passage, such as: 1 HIGH, 2 MEDIUM, 3 LOW")
    grades = dict(re.findall(r"(\d+)\W+(HIGH|MEDIUM|LOW)", reply))
    order = [("HIGH", "MEDIUM", "LOW").index(grades.get(str(n), "MEDIUM")) for n in range(1, len(hits) + 1)]
    return [hit for _, hit in sorted(zip(order, hits), key=lambda pair: pair[0])]


def widen(units, parents, hit, n=1):
    near = range(max(0, hit - n), min(len(units), hit + n + 1))
    return [units[i] for i in near if parents[i] == parents[hit]]


def stitch(spans):
    passages = []
    for span in sorted(spans):
        if passages and passages[-1].doc == span.doc and span.start <= passages[-1].end:
            span = Span(span.doc, passages[-1].start, max(passages.pop().end, span.end))
        passages.append(span)
    return sorted(passages, key=lambda p: [p.doc == s.doc and p.start <= s.start < p.end for s in spans], reverse=True)


def lay_out(texts, spans):
    passages = enumerate(stitch(spans), 1)
    return "\n\n".join(f"[{n}] ({p.doc})\n{read(texts, p).strip()}" for n, p in passages)


def fill(texts, wishes, budget):
    chosen = []
    for wish in wishes:
        if len(lay_out(texts, chosen + wish)) <= budget:
            chosen = chosen + wish
    return lay_out(texts, chosen)


def delivered(quotes, context):
    letters = "".join(context.split())
    return ["".join(quote.split()) in letters for quote in quotes]


class Rag:
    def __init__(self, texts):
        self.texts, self.units, self.parents = texts, [], []
        for doc, text in texts.items():
            for parent in pack(texts, Span(doc, 0, len(text)), PARAGRAPH, 600):
                children = pack(texts, parent, SENTENCE, 120)
                self.units += children
                self.parents += [parent] * len(children)
        unit_texts = [read(texts, unit) for unit in self.units]
        unit_words = [words(text) for text in unit_texts]
        self.scales = [windows(self.units, width) for width in (0, 1, 3)]
        self.bags = [[Counter(w for i in window for w in unit_words[i]) for window in scale] for scale in self.scales]
        self.rarity = np.log(len(unit_texts) / (1 + (embed(unit_texts) > 0).sum(axis=0)))
        self.vectors = embed(unit_texts, self.rarity)

    def search(self, question, top_k=60):
        cosines = self.vectors @ embed([question], self.rarity)[0]
        by_words = sum(z_scores(bm25(words(question), bags)) for bags in self.bags)
        by_vectors = sum(z_scores(np.array([cosines[window].mean() for window in scale])) for scale in self.scales)
        return fuse([np.argsort(-scores, kind="stable")[:top_k].tolist() for scores in (by_words, by_vectors)])

    def context(self, question, budget=1_000, n=1, llm=None):
        hits = self.search(question)
        if llm:
            hits = rerank(question, hits[:10], [read(self.texts, self.units[i]) for i in hits[:10]], llm) + hits[10:]
        wishes = [wish for hit in hits for wish in (widen(self.units, self.parents, hit, n), [self.units[hit]])]
        return fill(self.texts, wishes, budget)
