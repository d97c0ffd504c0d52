"""Small random corpora, given unit by unit, and a source of units that is a few lists: what every other source must agree with."""
from __future__ import annotations

import random
from collections import Counter
from functools import lru_cache

import numpy as np
import pytest
from hypothesis import strategies as st
from llama_index.core.schema import TextNode

from ragnb.documents.span import Outline, Span
from ragnb.retrieval.scoring import score_units
from ragnb.retrieval.unit_source import FieldCounts, QuestionCounts, RECORD, REPEATS, SHIFT, UNIT, Units, UnitSource

WORDS = ["sun", "moon", "star", "rain", "wind", "leaf", "stone", "river"]


def tokens(texts):
    """White space tokens, so that a test can count by hand."""
    return [t.lower().split() for t in texts]


@lru_cache(maxsize=10_000)
def vector(text: str, dims: int = 5) -> np.ndarray:
    """A vector that depends on the words alone."""
    out = np.zeros(dims)
    for word in tokens([text])[0]:
        out += np.random.default_rng(sum(map(ord, word))).standard_normal(dims)
    return out / np.linalg.norm(out) if np.any(out) else np.eye(1, dims)[0]


unit = st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join)
long_unit = st.lists(st.sampled_from(WORDS), min_size=9, max_size=12).map(" ".join)    # long enough to be said again
part = st.tuples(st.sampled_from(["", *WORDS, "sun moon"]), st.lists(unit | long_unit, min_size=1, max_size=9))
document = st.tuples(st.sampled_from(["", "sun", "moon star", "river river"]), st.lists(part, max_size=6), st.booleans())
world = st.dictionaries(st.sampled_from(["a.md", "b/c.md", "d", "e", "규정.md"]), document, min_size=1)
question = st.lists(st.sampled_from([*WORDS, "unknown"]), min_size=1, max_size=5)


def written(documents, dense: bool = True) -> tuple[list[TextNode], list[Outline]]:
    """Nodes and outlines of documents: id -> (title, parts with a heading and units, whether the parts are records)."""
    nodes, outlines = [], []
    for doc_id, (title, parts, records) in documents.items():
        at, spans, sections = 0, [], []
        for heading, texts in parts:
            begin = at
            for text in texts:
                nodes.append(TextNode(id_=f"{doc_id}#u{len(spans)}", text=text, start_char_idx=at, end_char_idx=at + len(text),
                                      embedding=vector(text).tolist() if dense else None))
                spans.append(Span(at, at + len(text)))
                at += len(text) + 1
            if heading:
                sections.append((heading, Span(begin, at - 1)))
        blanks, n = {s.end: " " for s in spans[:-1]}, max(0, at - 1)
        groups = [(doc_id, Span(0, n))] if records and n else []
        outlines.append(Outline(doc_id, n, {"u": spans}, blanks, sections=sections, groups=groups, metadata={"title": title}))
    return nodes, outlines


@lru_cache(maxsize=10_000)
def codes_of(text: str, dense: bool) -> np.ndarray:
    """A vector in one byte a number."""
    own = vector(text) if dense else np.zeros(0)
    return np.rint(own / np.abs(own).max(initial=1e-9) * 127).astype(np.int8)


class BruteUnits(UnitSource):
    """Every call by looking at every unit."""

    def __init__(self, documents, dense: bool = True) -> None:
        self.documents = {n: (i, *d) for n, (i, d) in enumerate(sorted(documents.items()), 1)}
        self.dense, self.dims = dense, 5 if dense else 0
        self.units = {}                          # Key -> (text, row)
        for n, (_, _, parts, records) in self.documents.items():
            at, place, seen, named = 0, 0, set(), 0
            for heading, texts in parts:
                width = sum(len(t) + 1 for t in texts) - 1
                mine = (named, at, at + width, place, place + len(texts), RECORD * records) if heading else (-1, 0, 0, 0, 0, 0)
                named += bool(heading)
                for text in texts:
                    again = len(text) >= 40 and text in seen
                    seen.add(text)
                    row = (at, at + len(text), *mine[:5], -1, len(text.split()), mine[5] + REPEATS * again)
                    self.units[(n << 20) + place] = text, row
                    at, place = at + len(text) + 1, place + 1

    @property
    def sizes(self):
        return {n: sum(len(texts) for _, texts in parts) for n, (_, _, parts, _) in self.documents.items()}

    @property
    def ids(self):
        return {n: d[0] for n, d in self.documents.items()}

    def place(self, places):
        found = [[k for k, (_, row) in self.units.items() if self.ids[k >> 20] == doc_id and row[0] < span.end and row[1] > span.start]
                 for doc_id, span in places]
        return np.array([[min(keys), max(keys) + 1] for keys in found if keys], np.int64).reshape(-1, 2)

    def _headings(self):
        return {(n << 20) + i: h for n, (_, _, parts, _) in self.documents.items() for i, h in enumerate(h for h, _ in parts if h)}

    def _fields(self):
        return {"title": {n: d[1] for n, d in self.documents.items()}, "name": self._headings()}

    def counts(self, terms):
        bags = [text.split() for text, _ in self.units.values()]
        pairs = [set(zip(b, b[1:])) for b in bags]
        held = {t: n for t in dict.fromkeys(terms) if (n := sum(t in b for b in bags))}
        held |= {p: n for p in dict.fromkeys(zip(terms, terms[1:])) if (n := sum(p in b for b in pairs))}
        fields = {}
        for name, texts in self._fields().items():
            words = [t.split() for t in texts.values()]
            fields[name] = FieldCounts(len(words), sum(map(len, words)) / max(1, len(words)),
                                       {t: n for t in terms if (n := sum(t in w for w in words))})
        return QuestionCounts(len(bags), sum(map(len, bags)) / max(1, len(bags)), {t: i for i, t in enumerate(WORDS, 1)}, held, fields)

    def _best(self, scores, k, digits):
        ids = {n: d[0] for n, d in self.documents.items()}
        ranked = sorted(scores, key=lambda key: (-round(scores[key], digits), ids[key >> 20], key))
        return np.array(sorted(ranked[:k]), np.int64)

    def best_by_words(self, terms, k, known, allowed=None):
        scores = {}
        for key, (text, _) in self.units.items():
            bag = Counter(text.split())
            norm = 0.6 + 0.4 * len(text.split()) / known.mean_length
            score = sum(np.log1p((known.n_units - known.units_with[t] + 0.5) / (known.units_with[t] + 0.5)) * bag[t] * 1.9
                        / (bag[t] + 0.9 * norm) for t in terms if bag[t])
            if score and (allowed is None or key in allowed):
                scores[key] = float(score)
        return self._best(scores, k, 9)

    def nearest(self, vector, k, allowed=None):
        def cosine(text):
            own = codes_of(text, True).astype(np.float32)
            return float(own @ vector / np.linalg.norm(own))
        return self._best({key: cosine(t) for key, (t, _) in self.units.items() if allowed is None or key in allowed}, k, 6)

    def read(self, ranges, whole=True, scored=None):
        keys = sorted({key for a, b in ranges.tolist() for key in range(a, b) if key in self.units})
        table = np.array([self.units[k][1] for k in keys], UNIT)
        words = [WORDS.index(w) + 1 for k in keys for w in self.units[k][0].split()]
        codes = np.array([codes_of(self.units[k][0], self.dense) for k in keys], np.int8).reshape(len(keys), self.dims)
        return Units(np.array(keys, np.int64), table, np.array(words, np.uint32), codes, self._norms(keys),
                           {n: d[0] for n, d in self.documents.items()}, self.sizes)

    def _norms(self, keys):
        out = np.zeros((len(keys), len(self.scales)), np.float32)
        for i, key in enumerate(keys if self.dense else ()):
            for s, width in enumerate(self.scales):
                inside = [k for k in range(key - width // 2, key + width // 2 + 1) if k >> 20 == key >> 20 and k in self.units]
                own = [codes_of(self.units[k][0], True).astype(float) for k in inside]
                out[i, s] = np.linalg.norm(sum(c / np.linalg.norm(c) for c in own))
        return out

    def vocabulary(self, allowed=None):
        held = [set(text.split()) for key, (text, _) in self.units.items() if allowed is None or key in allowed]
        return {w: n for w in WORDS if (n := sum(w in words for words in held))}

    def holding(self, words):
        return np.array([k for k, (text, _) in self.units.items() if f" {' '.join(words)} " in f" {text} "], np.int64)

    def texts(self, field, keys):
        held = self._fields()[field]
        return {k: np.array([WORDS.index(w) + 1 for w in held[k].split()], np.uint32) for k in keys}


def by_address(source, keys) -> list[tuple[str, int]]:
    """Where the units with these keys are."""
    ids = source.ids
    return sorted((ids[k >> SHIFT], k & ((1 << SHIFT) - 1)) for k in np.asarray(keys).tolist())


def answers(source, terms, dense, candidates, allowed=None, **options) -> dict:
    """Every scored unit with its score and its signals."""
    s = score_units(source, terms, vector(" ".join(terms)).astype(np.float32) if dense else None, candidates, allowed=allowed, **options)
    return {place: [*map(float, (s.total[i], s.raw[i], s.title[i], s.name[i], *s.words[:, i], *s.vectors[:, i]))]
            for i, place in enumerate((s.units.ids[k >> SHIFT], k & ((1 << SHIFT) - 1)) for k in s.keys.tolist())}


def same(found: dict, wanted: dict) -> None:
    assert found.keys() == wanted.keys()
    for place in wanted:
        assert found[place] == pytest.approx(wanted[place], abs=1e-4), place


def agree(source, brute, terms, dense, candidates) -> None:
    """All calls, and the score."""
    a, b = source.counts(terms), brute.counts(terms)
    assert (a.n_units, dict(a.units_with), dict(a.fields)) == (b.n_units, b.units_with, b.fields)
    assert a.mean_length == pytest.approx(b.mean_length)
    for k in (1, 3, 50):
        found, wanted = (by_address(s, s.best_by_words(terms, k, s.counts(terms))) for s in (source, brute))
        assert found == wanted
        if dense:
            q = vector(" ".join(terms)).astype(np.float32)
            assert by_address(source, source.nearest(q, k)) == by_address(brute, brute.nearest(q, k))
    for doc_id in [*brute.ids.values(), "nowhere"]:
        for span in (Span(0, 1), Span(7, 30), Span(0, 10_000), Span(9_000, 9_001)):
            places = [np.concatenate([np.zeros(0, int), *(np.arange(*r) for r in s.place([(doc_id, span)]).tolist())]) for s in (source, brute)]
            assert by_address(source, places[0]) == by_address(brute, places[1])
    same(answers(source, terms, dense, candidates), answers(brute, terms, dense, candidates))


def many(n: int = 12, units: int = 70) -> dict:
    """Documents of more than two blocks."""
    draw, words = random.Random(5), ["sun", "moon", "star", "rain", "wind", "leaf", "stone", "river"]
    def text(): return " ".join(draw.choices(words, weights=range(1, 9), k=draw.randint(2, 6)))
    return {f"d{i:02}": (words[i % 8], [(words[j % 8], [text() for _ in range(units // 7)]) for j in range(7)], bool(i % 2)) for i in range(n)}
