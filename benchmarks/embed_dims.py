"""What fewer numbers a vector, and fewer columns of the folded table, cost the default retrieval.

    python benchmarks/embed_dims.py [--sets korquad,squad2] [--limit 200]
    python benchmarks/embed_dims.py --sizes "1,024 / 16,384, axes not rounded;1,024 / 16,384, one byte;1,024 / 16,384"
    python benchmarks/embed_dims.py --kept [--sets korquad,ko_statutes] [--limit 400]     # the first numbers of each vector, vectors alone

Evidence recall of the multi-scale score at four budgets with the offline n-gram embedding, every size on the same questions, as the difference in
points to 1,024 numbers from 16,384 columns. Vectors of the index are rounded to one byte a number, as they are always.
"""
from __future__ import annotations

from unittest.mock import patch

import numpy as np
from scored_set import BUDGETS, drawn, recalls, SETS

from common import arguments
from ragnb.chunking.units import UnitNodeParser
from ragnb.documents.text import word_tokens_batch
from ragnb.evaluation.datasets import load_dataset
from ragnb.indexing.update import fit_pieces
from ragnb.models.embedding import NgramEmbedding
from ragnb.retrieval.missing_words import QUESTION_WORDS
from ragnb.retrieval.scoring import question_vector, score_units
from ragnb.retrieval.sqlite_units import SqliteUnits, UnitWriter

FLOATS, BYTES = ", axes not rounded", ", one byte"
SIZES = {"1,024 / 16,384": (1_024, 1 << 14), "512 / 16,384": (512, 1 << 14), "512 / 8,192": (512, 1 << 13)}
AT = [BUDGETS.index(b) for b in (250, 500, 1_000, 4_000)]


def in_bytes(found: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Axes in one byte a number."""
    steps = np.maximum(np.abs(found).max(axis=0, initial=0), 1e-30).astype(np.float32) / np.float32(127)
    return np.rint(found / steps).astype(np.int8), steps


def fitted(size: str, pieces: list[str]) -> NgramEmbedding:
    """The embedding of a size, fitted; with its axes as they were computed, or in one byte a number, where the size says so."""
    dims, columns = SIZES[size.removesuffix(FLOATS).removesuffix(BYTES)]
    model = NgramEmbedding(dims=dims, n_columns=columns)
    rounding = in_bytes if size.endswith(BYTES) else lambda found: (found, np.ones(found.shape[1], np.float32))
    if not size.endswith((FLOATS, BYTES)):
        return model.fit(pieces)
    with patch("ragnb.models.embedding.in_steps", rounding):
        return model.fit(pieces)


def measure(name: str, limit: int, sizes: list[str]) -> None:
    """Print one set."""
    dataset = load_dataset(name)
    documents = list(dataset.documents.values())
    parsed = [UnitNodeParser().parse(d) for d in documents]
    nodes, outlines = [n for found, _ in parsed for n in found], [o for _, o in parsed]
    texts, asked = [n.get_content(metadata_mode="embed") for n in nodes], drawn(dataset, limit)
    tokens = [[t for t in its if t not in QUESTION_WORDS] or list(its) for its in word_tokens_batch([q.query for q in asked])]
    base = None
    for size in sizes:
        model = fitted(size, fit_pieces(documents))
        for node, vector in zip(nodes, model.embed(texts)):
            node.embedding = vector
        source = SqliteUnits()
        UnitWriter(source).add(nodes, outlines)
        scored = [score_units(source, t, question_vector(v, source.dims)) for t, v in zip(tokens, model.embed([q.query for q in asked]))]
        found = np.array([np.array(recalls(s, q))[AT] for s, q in zip(scored, asked)])
        base = found if base is None else base
        points, error = 100 * (found - base), 196 * (found - base).mean(axis=1).std() / len(found) ** 0.5
        cells = " ".join(f"{x:+.2f}" for x in points.mean(axis=0))
        print(f"| {name} | {len(asked)} | {size} | {' '.join(f'{x:.3f}' for x in found.mean(axis=0))} | {cells} | {points.mean():+.2f} ± {error:.2f} |", flush=True)


def kept(name: str, limit: int) -> None:
    """Print one set: questions with a unit that overlaps the evidence among the first 5 and 20, by the first numbers of each vector."""
    dataset = load_dataset(name)
    documents = list(dataset.documents.values())
    model, nodes = fitted("1,024 / 16,384", fit_pieces(documents)), [n for d in documents for n in UnitNodeParser().parse(d)[0]]
    texts = [n.get_content(metadata_mode="embed") for n in nodes]
    known = [q for q in dataset.questions if q.evidence]
    chosen = [known[i] for i in np.random.default_rng(0).permutation(len(known))[:limit]]
    units, asked = np.array(model.embed(texts)), np.array(model.embed([q.query for q in chosen]))
    for n in (1_024, 512, 256, 128):
        short = units[:, :n] / np.maximum(np.linalg.norm(units[:, :n], axis=1, keepdims=True), 1e-9)
        best = np.argsort(-(asked[:, :n] @ short.T), axis=1)[:, :20]
        found = np.array([[any(nodes[i].ref_doc_id == e.doc_id and nodes[i].start_char_idx < e.span.end and nodes[i].end_char_idx > e.span.start
                               for e in q.evidence) for i in rows] for q, rows in zip(chosen, best)])
        print(f"| {name} | {len(chosen)} | {n:,} | {found[:, :5].any(axis=1).mean():.3f} | {found.any(axis=1).mean():.3f} |", flush=True)


def main() -> None:
    args = arguments(__doc__, sets=",".join(SETS),
                     sizes=(";".join(SIZES), "separated by ';', the first is compared with"),
                     limit=(200, "questions a set"), kept=(False, "vectors alone, by their first numbers"))
    print("| set | questions | " + ("first numbers | success@5 | success@20 |\n|---|--:|--:|--:|--:|" if args.kept else
          "numbers / columns | recall at 250, 500, 1,000, 4,000 | points | mean |\n|---|--:|---|---|---|---|"))
    for name in args.sets.split(","):
        kept(name, args.limit) if args.kept else measure(name, args.limit, args.sizes.split(";"))


if __name__ == "__main__":
    main()
