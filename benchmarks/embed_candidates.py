"""Compare embeddings that need no download: how often is the evidence found, how fast, how large.

    python benchmarks/embed_candidates.py              # the table of nbs/10_models/02_ngrams.ipynb
    python benchmarks/embed_candidates.py --growth     # what happens to text added after fitting
    python benchmarks/embed_candidates.py --scale 20000  # seconds to fit and embed that many chunks
    python benchmarks/embed_candidates.py --onnx ../shared/models/minilm --sets squad2
"""
from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import normalize
from tqdm import tqdm

from common import arguments
from ragnb.evaluation.datasets import load_dataset
from ragnb import NgramEmbedding, OnnxEmbedding
from ragnb.models.ngrams import count_ngrams, inverse_frequency, mix_bits

SETS = {"korquad": ("korquad", ()), "crowded": ("korquad", ("tydiqa_ko", "ko_statutes")), "tydiqa_ko": ("tydiqa_ko", ("korquad",)), "squad2": ("squad2", ())}
N_QUERIES = 2000  # About, evenly spaced
Embed = Callable[[list[str]], "np.ndarray | sp.csr_matrix"]


def cut(text: str, size: int = 200) -> list[tuple[int, int]]:
    """Spans of about `size` characters, cut at spaces."""
    spans, start = [], 0
    while start < len(text):
        end = min(len(text), start + size)
        if end < len(text) and (space := text.rfind(" ", start + size // 2, end)) > 0:
            end = space + 1
        if text[start:end].strip():
            spans.append((start, end))
        start = end
    return spans


def load(name: str) -> tuple[list[str], list[str], list[set[int]], np.ndarray]:
    """Chunks, questions, chunk numbers that overlap the evidence, and the document number of each chunk."""
    main, others = SETS[name]
    texts, where, document = [], {}, []
    sets = [load_dataset(part) for part in (main, *others)]
    for n, part in enumerate(sets):
        for doc_id, text in part.texts.items():
            spans = cut(text)
            where[n, doc_id] = (len(texts), spans)
            texts += [text[a:b] for a, b in spans]
            document += [len(where)] * len(spans)
    questions = sets[0].questions[::max(1, round(len(sets[0].questions) / N_QUERIES))]
    gold = []
    for q in questions:
        first, spans = where[0, q.evidence[0].doc_id]
        gold.append({first + i for i, (a, b) in enumerate(spans) for e in q.evidence if a < e.span.end and e.span.start < b})
    return texts, [q.query for q in questions], gold, np.array(document)


def success(queries, vectors, gold: list[set[int]], ks: tuple[int, ...] = (5, 20)) -> list[float]:
    """Share of questions with a gold chunk among the first k."""
    found = np.zeros(len(ks))
    for at in range(0, len(gold), 500):
        scores = queries[at:at + 500] @ vectors.T
        scores = scores.toarray() if sp.issparse(scores) else scores
        for row, want in zip(np.argsort(-scores, axis=1, kind="stable")[:, :max(ks)], gold[at:at + 500]):
            rank = next((n for n, i in enumerate(row) if i in want), max(ks))
            found += [rank < k for k in ks]
    return (found / len(gold)).tolist()


def sparse_sklearn(texts: list[str], least: int = 1) -> TfidfVectorizer:
    """Plain TF-IDF of scikit-learn."""
    return TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4), sublinear_tf=True, min_df=least, dtype=np.float32).fit(texts)


def svd_sklearn(dims: int):
    """TF-IDF and truncated SVD of scikit-learn."""
    def fit(texts: list[str]) -> Embed:
        tfidf = sparse_sklearn(texts, 2)
        svd = TruncatedSVD(dims, n_iter=1, random_state=0).fit(tfidf.transform(texts))
        return lambda t: normalize(svd.transform(tfidf.transform(t))).astype(np.float32)
    return fit


def sparse_mixed(texts: list[str]) -> Embed:
    """TF-IDF of the n-grams of `ragnb.models.ngrams`, not reduced."""
    counts = count_ngrams(texts, (1, 3), (3, 5))
    idf = inverse_frequency(np.bincount(counts.indices, minlength=counts.shape[1]), len(texts), 1)

    def embed(t: list[str]) -> sp.csr_matrix:
        c = count_ngrams(t, (1, 3), (3, 5))
        c.data = (1 + np.log(c.data)) * idf[c.indices]
        return normalize(c)
    return embed


def projected(dims: int, n_signs: int = 4):
    """The same, through a sparse random projection whose signs come from a hash."""
    def fit(texts: list[str]) -> Embed:
        sparse, n = sparse_mixed(texts), 1 << 18
        h = mix_bits(np.arange(n * n_signs, dtype=np.uint64) + np.uint64(7))
        signs = np.where(h >> np.uint64(63), 1, -1).astype(np.float32)
        projection = sp.csr_matrix((signs, (h % np.uint64(dims)).astype(np.int64), np.arange(0, n * n_signs + 1, n_signs)), shape=(n, dims))
        return lambda t: normalize((sparse(t) @ projection).toarray())
    return fit


def ngram(**options):
    """`NgramEmbedding` of ragnb."""
    def fit(texts: list[str]) -> Embed:
        return NgramEmbedding(**options).fit(texts).embed
    return fit


CANDIDATES = {
    "sparse, char_wb 2-4": (lambda texts: sparse_sklearn(texts).transform, 0),
    "sparse, by script": (sparse_mixed, 0),
    "hashed projection 512": (projected(512), 512),
    "hashed projection 1024": (projected(1024), 1024),
    "hashed projection 2048": (projected(2048), 2048),
    "char_wb 2-4, SVD 256": (svd_sklearn(256), 256),
    "char_wb 2-4, SVD 512": (svd_sklearn(512), 512),
    "char_wb 2-4, SVD 1024": (svd_sklearn(1024), 1024),
    "ngram 1024, p=1": (ngram(power=1), 1024),
    "ngram 1024, p=0": (ngram(power=0), 1024),
    "ngram 1024, idf¹": (ngram(idf_power=1), 1024),
    "**ngram 1024** (kept)": (ngram(), 1024),
}


def compare(names: list[str], sets: list[str], onnx: str | None) -> None:
    """Print the table of candidates."""
    candidates = {k: v for k, v in CANDIDATES.items() if not names or k in names}
    if onnx:
        candidates[f"onnx {Path(onnx).name}"] = (lambda texts: OnnxEmbedding(folder=onnx).embed, 384)
    cells: dict[str, list[str]] = {name: [] for name in candidates}
    speed: dict[str, list[str]] = {}
    for which in sets:
        texts, queries, gold, _ = load(which)
        for name, (fit, dims) in tqdm(candidates.items(), desc=which):
            start = time.perf_counter()
            embed = fit(texts)
            middle = time.perf_counter()
            vectors = embed(texts)
            seconds = time.perf_counter() - middle
            cells[name].append(" / ".join(f"{s:.3f}" for s in success(embed(queries), vectors, gold)))
            size = f"{dims * 4:,}" if dims else "varies"
            speed.setdefault(name, [size, f"{middle - start:.1f}", f"{sum(map(len, texts)) / seconds / 1e6:.2f}"])
    print(f"\nsuccess@5 / success@20; time and speed on {sets[0]}\n")
    print("| candidate | " + " | ".join(sets) + " | bytes a vector | fit, s | embed, M characters/s |")
    print("|---|" + "---|" * len(sets) + "--:|--:|--:|")
    for name in candidates:
        print(f"| {name} | " + " | ".join([*cells[name], *speed[name]]) + " |")


def growth() -> None:
    """Print how text that came after fitting is found."""
    texts, queries, gold, document = load("korquad")
    print("success@5 / success@20 over the whole corpus\n\n| fitted on | all questions | questions about the other documents |\n|---|---|---|")
    for share in tqdm((1.0, 0.75, 0.5, 0.25, 0.05)):
        n = max(1, round(share * len(set(document))))
        part = [t for t, d in zip(texts, document) if d <= n]
        emb = NgramEmbedding().fit(part)
        later = [i for i, g in enumerate(gold) if document[min(g)] > n] or list(range(len(gold)))
        q, v = emb.embed(queries), emb.embed(texts)
        whole, new = success(q, v, gold), success(q[later], v, [gold[i] for i in later])
        print(f"| {n} of {len(set(document))} documents | {whole[0]:.3f} / {whole[1]:.3f} | {new[0]:.3f} / {new[1]:.3f} |")


def scale(n: int) -> None:
    """Print the seconds for many chunks."""
    sets = ("korquad", "tydiqa_ko", "ko_statutes", "squad2", "covidqa")
    texts = [text[a:b] for name in sets for text in load_dataset(name).texts.values() for a, b in cut(text)]
    texts = (texts * (n // len(texts) + 1))[:n]
    start = time.perf_counter()
    emb = NgramEmbedding().fit(texts)
    middle = time.perf_counter()
    emb.embed(texts)
    print(f"{n:,} chunks, {sum(map(len, texts)):,} characters: fit {middle - start:.1f} s, embed {time.perf_counter() - middle:.1f} s")


if __name__ == "__main__":
    args = arguments(__doc__, sets=(["korquad", "crowded", "squad2"], f"of {', '.join(SETS)}"), only=([], "names as in the table"),
                     onnx=(str, "folder of an ONNX sentence embedder to measure, too"), growth=(False, "text added after fitting"), scale=(int, "time so many chunks"))
    if args.growth:
        growth()
    elif args.scale:
        scale(args.scale)
    else:
        compare(args.only, args.sets, args.onnx)
