"""Pass@k on anthropic_codebases: the set's own chunks, plain, with headers, and scored on several scales.

    python benchmarks/codebases.py [--embed ngram,onnx:../shared/models/minilm]

Pass@k as its authors measure it: the share of a question's gold chunks among the first k, averaged over the questions. Every chunk of every file competes.
"""
from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from tqdm import tqdm

from common import arguments, DATA, lines, MINILM
from ragnb.retrieval.bm25 import PositiveOkapi
from ragnb.models.embedding import resolve_embedding
from ragnb.retrieval.hybrid import rrf
from ragnb.documents.span import Span
from ragnb.documents.text import word_tokens_batch

CUTOFFS = (5, 10, 20)
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def code_tokens(text: str) -> list[str]:
    "Stems of the words, then of the parts of every joined identifier: `runTarget` is also `run` and `target`."
    joined = [m[0] for m in re.finditer(r"[^\W_]+", text) if len(_PART.findall(m[0])) > 1]
    return next(word_tokens_batch([text + "\n" + " ".join(p for word in joined for p in _PART.findall(word))]))


def load(folder: Path) -> tuple[list[dict], list[tuple[int, Span]], list[tuple[str, set[int]]]]:
    "Files, chunks as (file number, span), and questions with the numbers of their gold chunks."
    files = lines(folder / "corpus.jsonl")
    chunks = [(f, Span(*c)) for f, d in enumerate(files) for c in d["chunks"]]
    place = {(files[f]["doc_id"], s.start, s.end): n for n, (f, s) in enumerate(chunks)}
    return files, chunks, [(q["query"], {place[q["doc_id"], e["start"], e["end"]] for e in q["evidence"]}) for q in lines(folder / "queries.jsonl")]


def enclosing_lines(text: str, span: Span, most: int = 3, width: int = 100) -> list[str]:
    "The nearest lines before a chunk that are indented less than all lines after them, the outermost first."
    def depth(line: str) -> int:
        return len(line) - len(line.lstrip())

    begin = text.rfind("\n", 0, span.start) + 1
    least = next((depth(line) for line in text[begin:span.end].expandtabs(4).splitlines() if line.strip()), 0)
    out: list[str] = []
    for line in reversed(text[:begin].expandtabs(4).splitlines()):
        if least and len(out) < most and depth(line) < least and re.search(r"\w\w", line):  # not a closing bracket
            out.insert(0, " ".join(line.split())[:width])
            least = depth(line)
    return out


def headers(files: Sequence[dict], chunks: Sequence[tuple[int, Span]], kind: str) -> list[str]:
    "A header for each chunk: nothing, the file's path, or also the lines that enclose the chunk."
    out = []
    for f, span in chunks:
        around = enclosing_lines(files[f]["text"], span) if kind == "path, enclosing lines" else []
        out.append("" if kind == "none" else "\n".join([files[f]["title"], *around]) + "\n")
    return out


def windows(chunks: Sequence[tuple[int, Span]], size: int) -> list[tuple[int, int]]:
    "For each chunk, the half-open run of `size` chunks of its file around it."
    first, last = {}, {}
    for n, (f, _) in enumerate(chunks):
        first.setdefault(f, n)
        last[f] = n + 1
    return [(max(first[f], n - size // 2), min(last[f], n + size // 2 + 1)) for n, (f, _) in enumerate(chunks)]


def standard(scores: np.ndarray) -> np.ndarray:
    "Z-scores over the corpus, clipped below at 0."
    return np.maximum(0, (scores - scores.mean()) / max(float(scores.std()), 1e-9))


def pass_at(rankings: Sequence[Sequence[int]], gold: Sequence[set[int]]) -> list[float]:
    "Pass@k for every cutoff."
    return [float(np.mean([len(g & set(r[:k])) / len(g) for r, g in zip(rankings, gold)])) for k in CUTOFFS]


def order(scores: np.ndarray) -> list[int]:
    "Chunk numbers, best first, ties in order of place."
    return np.argsort(-scores, kind="stable").tolist()


def lexical(tokens: Sequence[list[str]], around: Sequence[tuple[int, int]], questions: Sequence[list[str]], k1: float = 1.5, b: float = .75) -> np.ndarray:
    "BM25 of every question and window; shape (questions, chunks)."
    okapi = PositiveOkapi(([t for part in tokens[i:j] for t in part] for i, j in around), k1, b)
    return np.array([okapi.get_scores(q) for q in questions])


def dense(vectors: np.ndarray, around: Sequence[tuple[int, int]], questions: np.ndarray) -> np.ndarray:
    "Cosine of every question with the mean vector of every window; shape (questions, chunks)."
    pooled = np.array([vectors[i:j].mean(axis=0) for i, j in around])
    return questions @ (pooled / np.linalg.norm(pooled, axis=1, keepdims=True)).T


def main() -> None:
    args, sizes = arguments(__doc__, embed=f"ngram,{MINILM}"), (1, 3, 7)
    files, chunks, asked = load(DATA / "anthropic_codebases")
    gold = [g for _, g in asked]
    around = {s: windows(chunks, s) for s in sizes}
    print(f"{len(files)} files, {len(chunks)} chunks, {len(asked)} questions, {np.mean([len(g) for g in gold]):.2f} gold chunks a question\n")
    print("| embedding | header | tokens | ranking | " + " | ".join(f"Pass@{k}" for k in CUTOFFS) + " |\n|" + "---|" * (4 + len(CUTOFFS)))
    def show(*cells: str, rankings: Sequence[Sequence[int]]) -> None:
        print(f"| {' | '.join(cells)} | " + " | ".join(f"{100 * p:.1f}" for p in pass_at(rankings, gold)) + " |", flush=True)
    for kind in tqdm(("none", "path", "path, enclosing lines"), desc="headers", disable=None):
        texts = [h + s.of(files[f]["text"]) for h, (f, s) in zip(headers(files, chunks, kind), chunks)]
        words = {}
        for name, tokens in (("words", lambda t: next(word_tokens_batch([t]))), ("identifier parts", code_tokens)):
            asked_tokens, chunk_tokens = [tokens(q) for q, _ in asked], [tokens(t) for t in texts]
            words[name] = {s: lexical(chunk_tokens, around[s], asked_tokens) for s in sizes}
            show("", kind, name, "BM25", rankings=[order(s) for s in words[name][sizes[0]]])
        for spec in args.embed.split(","):
            model = resolve_embedding(spec)
            if spec == "ngram":
                model.fit(texts)
            vectors, queries = model.embed(texts), model.embed([q for q, _ in asked])
            cosine, shown = {s: dense(vectors, around[s], queries) for s in sizes}, spec.rpartition("/")[2]
            show(shown, kind, "", "embedding", rankings=[order(s) for s in cosine[sizes[0]]])
            for name, lex in words.items():
                pairs = [(order(a), order(b)) for a, b in zip(lex[sizes[0]], cosine[sizes[0]])]
                show(shown, kind, name, "RRF of both", rankings=[[int(i) for i, _ in rrf([[str(n) for n in r] for r in pair])] for pair in pairs])
                for used in (sizes[:1], sizes):
                    total = [sum(standard(x[s][q]) for s in used for x in (lex, cosine)) for q in range(len(asked))]
                    show(shown, kind, name, f"z-scores, windows {','.join(map(str, used))}", rankings=[order(s) for s in total])


if __name__ == "__main__":
    main()
