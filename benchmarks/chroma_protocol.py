"""Chroma's chunking evaluation (Smith & Troynikov, "Evaluating Chunking Strategies for Retrieval", 2024), done again from its description.

    python benchmarks/chroma_protocol.py             # nbs/studies/results/chroma_protocol.json
    python benchmarks/chroma_protocol.py --omega     # only what needs no embedding, for every tokenizer; nothing is stored

Needs the set `chroma_chunking` below RAGNB_DATA (default ../shared/data) and all-MiniLM-L6-v2 as ONNX in RAGNB_MODELS/minilm
(default ../shared/models). cl100k_base is read from the tiktoken cache that llama-index-core brings along: no network.
Vectors are kept in --cache, so that a run that was interrupted goes on.
"""
from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from tqdm import tqdm

from common import MODELS, ROOT, arguments, store
from ragnb.evaluation.comparison import paired_test
from ragnb.context.builders import PassageRanking
from ragnb.evaluation.datasets import Dataset, Question, load_dataset
from ragnb.evaluation.measures import Evaluation, evaluate
from ragnb.documents.span import InputError, Passage, Span, n_characters, shared, union
from ragnb.documents.text import trim_span

MODEL = MODELS / "minilm"
SEPARATORS = ("\n\n", "\n", ".", "?", "!", " ", "")  # Of the report; each stays at the head of what follows it
SETTINGS = ((250, 125), (250, 0), (200, 0), (800, 400), (400, 200), (400, 0))  # (size, overlap); the report has the first three for MiniLM
BUDGETS = (1_000, 2_000, 4_000, 8_000, 16_000)
DEPTH = 200  # Chunks ranked for the budgets: the smallest ones fill 16,000 characters


# --- tokens


@dataclass(frozen=True)
class Tokens:
    """A tokenizer, as far as chunkers need it."""
    count: Callable[[str], int]
    starts: Callable[[str], list[int]]  # Character at which every token begins; a character cut into tokens is that of all of them


def cl100k() -> Tokens:
    """The tokenizer of the report."""
    import llama_index.core
    os.environ.setdefault("TIKTOKEN_CACHE_DIR", str(Path(llama_index.core.__file__).parent / "_static" / "tiktoken_cache"))
    import tiktoken
    encoding = tiktoken.get_encoding("cl100k_base")
    def starts(text: str) -> list[int]: return encoding.decode_with_offsets(encoding.encode(text, disallowed_special=()))[1]
    return Tokens(lru_cache(1 << 18)(lambda text: len(encoding.encode(text, disallowed_special=()))), starts)


def wordpiece(special: bool = False) -> Tokens:
    """MiniLM's own tokenizer; `special` counts the two marks around a text, as its `encode` does."""
    from tokenizers import Tokenizer
    tokenizer = Tokenizer.from_file(str(MODEL / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    def starts(text: str) -> list[int]: return [a for a, _ in tokenizer.encode(text, add_special_tokens=False).offsets]
    return Tokens(lru_cache(1 << 18)(lambda text: len(tokenizer.encode(text, add_special_tokens=special).ids)), starts)


# --- chunkers


def fixed_chunks(
    text: str,
    size: int,       # Tokens, > overlap
    overlap: int,    # Tokens, >= 0
    tokens: Tokens,
) -> list[Span]:     # The last one ends with the text and may be short
    """Windows of so many tokens."""
    starts = [*tokens.starts(text), len(text)]
    n = len(starts) - 1
    firsts = range(0, max(n - overlap, 1), size - overlap) if n else ()
    return [Span(starts[i], starts[min(i + size, n)]) for i in firsts]


def recursive_chunks(
    text: str,
    size: int,       # Tokens, >= overlap
    overlap: int,    # Tokens, >= 0
    tokens: Tokens,
    separators: Sequence[str] = SEPARATORS,  # Coarse to fine; "" stands for single characters
) -> list[Span]:     # White space at their ends taken off
    """Split at the coarsest separator, what is still too long at the next one, and merge neighbors while they fit."""
    def split(piece: Span, finer: Sequence[str]) -> list[Span]:
        at = next((i for i, s in enumerate(finer) if not s or s in piece.of(text)), len(finer) - 1)
        out, waiting = [], []
        for part in _parts(text, piece, finer[at]):
            n = tokens.count(part.of(text))
            if n < size:
                waiting.append((part, n))
                continue
            out, waiting = out + _merge(waiting, size, overlap), []
            out += split(part, finer[at + 1:]) if finer[at + 1:] else [part]
        return out + _merge(waiting, size, overlap)
    return [s for s in (trim_span(text, c.start, c.end) for c in split(Span(0, len(text)), separators)) if s] if text else []


def _parts(text: str, piece: Span, separator: str) -> list[Span]:
    """Cut before every separator; "" is everywhere."""
    found = re.compile(re.escape(separator)).finditer(text, piece.start, piece.end)
    cuts = [piece.start, *(m.start() for m in found), piece.end]
    return [Span(a, b) for a, b in zip(cuts, cuts[1:]) if a < b]


def _merge(parts: Sequence[tuple[Span, int]], size: int, overlap: int) -> list[Span]:
    """Join neighbors up to `size` tokens; the next chunk starts with the last ones of the former, up to `overlap` tokens."""
    out: list[Span] = []
    first = total = 0
    for i, (_, n) in enumerate(parts):
        if total + n > size and first < i:
            out.append(parts[first][0].hull(parts[i - 1][0]))
            while total > overlap or total + n > size and total > 0:
                total -= parts[first][1]
                first += 1
        total += n
    return [*out, parts[first][0].hull(parts[-1][0])] if parts else out


CHUNKERS: dict[str, Callable[..., list[Span]]] = {"Recursive": recursive_chunks, "TokenText": fixed_chunks}


# --- the protocol's measures


class Chunk(NamedTuple):
    """A chunk of a document."""
    doc_id: str
    span: Span


def found_at(
    text: str,
    span: Span,
) -> Span:  # Starts at `span` but where the same text stands earlier
    """Where the protocol takes a chunk to be: the first place of its text, without a full stop at its end."""
    held = span.of(text).removesuffix(".")
    start = text.find(held)
    return Span(start, start + len(held))


def touching(chunks: Sequence[Chunk], question: Question) -> list[Chunk]:
    """The chunks that overlap or touch an excerpt."""
    return [c for c in chunks if any(c.doc_id == e.doc_id and c.span.touches(e.span) for e in question.evidence)]


def precision_omega(
    chunks: Sequence[Chunk],  # All of them
    question: Question,       # With excerpts of one document
) -> float:                   # In [0, 1]
    """Precision if every chunk with a part of an excerpt were found: how well the cuts fit, whatever is retrieved."""
    gold = [e.span for e in question.evidence]
    near = union(c.span for c in touching(chunks, question))
    held = n_characters(shared(near, gold))
    return held / n_characters([*near, *gold]) if held else 0.0


class Scores(NamedTuple):
    """Of one question, each in [0, 1]."""
    recall: float
    precision: float
    iou: float


def protocol_scores(
    retrieved: Sequence[Chunk],  # Of any document
    question: Question,          # With excerpts of one document
) -> Scores:
    """Characters of excerpts count once where they are found; every retrieved character counts, repeated ones and those of other documents too."""
    gold = [e.span for e in question.evidence]
    own = union(c.span for c in retrieved if c.doc_id == question.evidence[0].doc_id)
    held, wanted, read = n_characters(shared(own, gold)), sum(map(len, gold)), sum(len(c.span) for c in retrieved)
    missing = sum(len(g) - n_characters(shared(own, [g])) for g in gold)
    return Scores(held / wanted if wanted else 0.0, held / read if read else 0.0, held / (read + missing) if held else 0.0)


# --- the run


class Chunking(NamedTuple):
    """A chunker at a setting, over all documents."""
    chunker: str
    size: int
    overlap: int
    chunks: list[Chunk]   # Where they are
    places: list[Chunk]   # Where the protocol finds their text

    @property
    def name(self) -> str:
        """For tables."""
        return f"{self.chunker} {self.size}/{self.overlap}"


def make_chunking(chunker: str, size: int, overlap: int, texts: dict[str, str], tokens: Tokens) -> Chunking:
    """Chunk the documents."""
    chunks = [Chunk(i, s) for i, t in texts.items() for s in CHUNKERS[chunker](t, size, overlap, tokens)]
    return Chunking(chunker, size, overlap, chunks, [Chunk(i, found_at(texts[i], s)) for i, s in chunks])


def mean_std(values: Sequence[float]) -> list[float]:  # Percent
    """Mean and standard deviation (of the population, as theirs)."""
    return [100 * float(f(values)) for f in (np.mean, np.std)]


def embed(texts: list[str], model: Any, cache: Path, about: str) -> np.ndarray:
    """Vectors of texts, kept on disk."""
    key = hashlib.sha256("\0".join([json.dumps(model.describe(), sort_keys=True), *texts]).encode()).hexdigest()[:20]
    path = cache / f"{key}.npy"
    if not path.is_file():
        parts = [model.embed(texts[i:i + 32]) for i in tqdm(range(0, len(texts), 32), desc=about, unit="32 texts")]
        cache.mkdir(parents=True, exist_ok=True)
        np.save(cache / f"{key}.part.npy", np.concatenate(parts))
        (cache / f"{key}.part.npy").replace(path)
    return np.load(path)


def score_question(
    ranked: Sequence[Chunk],  # All chunks, best first
    question: Question,
    n: int,                   # Chunks taken
) -> dict[str, float]:        # Of the protocol, and: recall where only the question's document is searched, share of chunks of other documents, characters
    """What one question gets."""
    doc_id, taken = question.evidence[0].doc_id, ranked[:n]
    alone = [c for c in ranked if c.doc_id == doc_id][:n]
    return {**protocol_scores(taken, question)._asdict(), "recall_alone": protocol_scores(alone, question).recall,
            "foreign": sum(c.doc_id != doc_id for c in taken) / max(n, 1), "characters": float(sum(len(c.span) for c in taken))}


def score_chunking(made: Chunking, dataset: Dataset, order: np.ndarray) -> list[dict[str, Any]]:
    """The protocol's numbers for each document and retrieval depth."""
    questions, rows = dataset.questions, []
    ranked = [[made.places[j] for j in row] for row in order]
    counts = [len(touching(made.places, q)) for q in questions]
    most = min(20, max(counts))
    for retrieve in ("Min", 5, 10):
        got = [{**score_question(r, q, min(n, most) if retrieve == "Min" else retrieve), "omega": precision_omega(made.places, q)}
               for r, q, n in zip(ranked, questions, counts)]
        for doc_id in ("all", *dataset.texts):
            of = [g for g, q in zip(got, questions) if doc_id in ("all", q.evidence[0].doc_id)]
            rows.append({"corpus": doc_id, "retrieve": retrieve, "questions": len(of), "characters": round(float(np.mean([g["characters"] for g in of])), 1),
                         **{k: mean_std([g[k] for g in of]) for k in of[0] if k != "characters"}})
    return rows


def score_budgets(chunks: Sequence[Chunk], dataset: Dataset, order: np.ndarray) -> Evaluation:
    """Our own measures at equal numbers of characters; the last chunk is cut, its head is kept."""
    passages = [Passage(c.doc_id, c.span, c.span.of(dataset.texts[c.doc_id])) for c in chunks]
    asked = {q.query: [passages[j] for j in row[:DEPTH]] for q, row in zip(dataset.questions, order)}
    return evaluate(lambda query: PassageRanking(asked[query]), dataset.questions, BUDGETS)


def same_with_hnsw(vectors: np.ndarray, queries: np.ndarray, order: np.ndarray) -> float:
    """Share of the exact top 5 that Chroma's approximate index finds too, set up as in the protocol; the only number that varies a little from run to run."""
    import chromadb
    client = chromadb.EphemeralClient(chromadb.Settings(anonymized_telemetry=False))
    collection = client.create_collection("chunks", metadata={"hnsw:search_ef": 50})
    for at in range(0, len(vectors), 1_000):
        collection.add(ids=[str(i) for i in range(at, min(at + 1_000, len(vectors)))], embeddings=vectors[at:at + 1_000])
    found = collection.query(query_embeddings=queries, n_results=5, include=[])["ids"]
    client.delete_collection("chunks")
    return round(float(np.mean([len({*map(int, ids)} & {*row[:5].tolist()}) / 5 for ids, row in zip(found, order)])), 2)


def describe(made: Chunking, texts: dict[str, str], tokens: Tokens, pieces: Tokens) -> dict[str, Any]:
    """Size and place of the chunks."""
    held = [c.span.of(texts[c.doc_id]) for c in made.chunks]
    return {"name": made.name, "chunker": made.chunker, "size": made.size, "overlap": made.overlap, "chunks": len(held),
            "tokens": round(float(np.mean([tokens.count(t) for t in held])), 1), "characters": round(float(np.mean([len(t) for t in held])), 1),
            "cut_by_model": round(float(np.mean([pieces.count(t) > 256 for t in held])), 4),
            "found_elsewhere": sum(c.span.start != p.span.start for c, p in zip(made.chunks, made.places))}


def show_omega(dataset: Dataset) -> None:
    """Precision omega of each document for every way to count tokens."""
    print(f"{dataset!r}\n\n| tokens | chunker | tokens a chunk | " + " | ".join(dataset.texts) + " |\n|---|---|---|" + "---|" * len(dataset.texts))
    for kind, tokens in {"cl100k": cl100k(), "wordpiece": wordpiece(), "wordpiece and its marks": wordpiece(True)}.items():
        for chunker in CHUNKERS:
            for size, overlap in SETTINGS:
                made = make_chunking(chunker, size, overlap, dataset.texts, tokens)
                omega = {i: mean_std([precision_omega(made.places, q) for q in dataset.questions if q.evidence[0].doc_id == i]) for i in dataset.texts}
                mean = np.mean([tokens.count(c.span.of(dataset.texts[c.doc_id])) for c in made.chunks])
                print(f"| {kind} | {made.name} | {mean:.0f} | " + " | ".join(f"{m:.1f} ± {s:.1f}" for m, s in omega.values()) + " |", flush=True)


def run(dataset: Dataset, cache: Path) -> dict[str, Any]:
    """All chunkers at all settings."""
    from ragnb import OnnxEmbedding
    model, tokens, pieces = OnnxEmbedding(folder=str(MODEL), threads=1), cl100k(), wordpiece(True)
    texts, asked, out, ours = dataset.texts, [q.query for q in dataset.questions], [], {}
    if len(set(asked)) < len(asked):
        raise InputError("two questions are asked in the same words")
    queries = embed(asked, model, cache, "questions")
    for chunker, (size, overlap) in tqdm([(c, s) for s in SETTINGS for c in CHUNKERS], desc="chunkings"):
        made = make_chunking(chunker, size, overlap, texts, tokens)
        vectors = embed([c.span.of(texts[c.doc_id]) for c in made.chunks], model, cache, made.name)
        order = np.argsort(-queries @ vectors.T, axis=1, kind="stable")
        ours[made.name] = score_budgets(made.places, dataset, order)
        budgets = {"at_budgets": ours[made.name], "at_budgets_exact": score_budgets(made.chunks, dataset, order)}
        out.append({**describe(made, texts, tokens, pieces), "same_with_hnsw": same_with_hnsw(vectors, queries, order), "scores": score_chunking(made, dataset, order),
                    **{k: e.to_dict()["budgets"] for k, e in budgets.items()}})
    about = {"name": dataset.name, "version": dataset.version, "documents": len(texts), "questions": len(asked)}
    return {"dataset": about, "embedding": model.describe(), "chunkings": out, "tests": _tests(ours)}


def _tests(ours: dict[str, Evaluation]) -> list[dict[str, Any]]:
    """Pairs that a reader will ask about, at equal budgets."""
    pairs = [("Recursive 800/400", "Recursive 200/0"), ("TokenText 800/400", "TokenText 200/0"), ("TokenText 250/0", "TokenText 250/125"),
             ("TokenText 250/125", "Recursive 200/0"), ("TokenText 400/200", "Recursive 200/0"), ("TokenText 200/0", "Recursive 200/0")]
    tests = [(a, b, n, paired_test(ours[a].values(budget=n), ours[b].values(budget=n))) for a, b in pairs for n in BUDGETS]
    return [{"a": a, "b": b, "budget": n, **{k: getattr(t, k) for k in ("difference", "ci", "p_value", "is_real")}} for a, b, n, t in tests]


def main() -> None:
    """Run, print the table, store the result."""
    args = arguments(__doc__, omega=(False, "only precision omega, for every tokenizer"),
                     out=ROOT / "nbs" / "studies" / "results" / "chroma_protocol.json",
                     cache=(Path(tempfile.gettempdir()) / "ragnb-chroma", "folder of the vectors"))
    dataset = load_dataset("chroma_chunking")
    if args.omega:
        return show_omega(dataset)
    names = ("ragnb", "llama-index-core", "tiktoken", "tokenizers", "onnxruntime", "chromadb", "numpy")
    result = {"command": "python benchmarks/chroma_protocol.py", "python": platform.python_version(), "versions": {n: version(n) for n in names}, **run(dataset, args.cache)}
    store(args.out, result)
    print("\n| chunking | chunks | recall | precision | omega | IoU | " + " | ".join(f"recall at {b:,}" for b in BUDGETS) + " |\n|---|---|---|---|---|---|" + "---|" * len(BUDGETS))
    for c in result["chunkings"]:
        row = next(r for r in c["scores"] if r["corpus"] == "all" and r["retrieve"] == 5)
        print(f"| {c['name']} | {c['chunks']:,} | " + " | ".join("{:.1f} ± {:.1f}".format(*row[k]) for k in ("recall", "precision", "omega", "iou"))
              + " | " + " | ".join(f"{100 * b['evidence_recall']:.1f}" for b in c["at_budgets"].values()) + " |", flush=True)


if __name__ == "__main__":
    main()
