"""Vectors of texts in one file that every system of a benchmark reads, whatever environment it runs in: standard library and NumPy only.

    python benchmarks/kept_vectors.py out/evidence/vectors.db      # how many vectors it has, and the CPU seconds they took
"""
from __future__ import annotations

import hashlib
import sqlite3
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

PASSAGE, QUERY = "passage", "query"


class KeptVectors:
    """Vectors by model, kind and text; each keeps the CPU seconds it took."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.file = sqlite3.connect(self.path, timeout=600)
        self.file.execute("PRAGMA journal_mode=WAL")
        self.file.execute("CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, model TEXT, cpu REAL, vector BLOB) WITHOUT ROWID")
        self.start()

    def start(self) -> None:
        """Begin to count for another system."""
        self.seconds = 0.0        # CPU that the vectors handed out took when they were computed, each text once
        self.spent = 0.0          # CPU of the vectors that were computed now
        self.seen: set[bytes] = set()

    @staticmethod
    def key(model: str, kind: str, text: str) -> bytes:
        """The row of a text."""
        return hashlib.blake2b(f"{model}\n{kind}\n{text}".encode("utf-8", "surrogatepass"), digest_size=16).digest()

    def get(self, model: str, kind: str, texts: Sequence[str]) -> dict[str, np.ndarray]:
        """The vectors that are kept."""
        out = {}
        for text in dict.fromkeys(texts):
            key = self.key(model, kind, text)
            row = self.file.execute("SELECT vector, cpu FROM vectors WHERE key = ?", (key,)).fetchone()
            if row:
                out[text] = np.frombuffer(row[0], np.float32)
                self.seconds += row[1] if key not in self.seen else 0.0
                self.seen.add(key)
        return out

    def put(self, model: str, kind: str, vectors: dict[str, np.ndarray], cpu: float) -> None:
        """Keep vectors that took some CPU seconds together."""
        rows = [(self.key(model, kind, text), model, cpu / len(vectors), np.asarray(vector, np.float32).tobytes()) for text, vector in vectors.items()]
        with self.file:
            self.file.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?, ?)", rows)

    def through(self, model: str, kind: str, texts: Sequence[str], embed: Callable[[list[str]], Any], batch: int = 128) -> np.ndarray:
        """The vectors of texts; those that are missing are computed in batches, each of which is kept at once."""
        found = self.get(model, kind, texts)
        missing = [text for text in dict.fromkeys(texts) if text not in found]
        missing.sort(key=len)     # texts of one length together, so that a batch has little padding
        for at in range(0, len(missing), batch):
            part, started = missing[at:at + batch], time.process_time()
            vectors = embed(part)
            taken = time.process_time() - started
            self.spent += taken
            self.put(model, kind, dict(zip(part, vectors)), taken)
            found |= self.get(model, kind, part)
        return np.array([found[text] for text in texts], np.float32)


def share_vectors(path: Path | str) -> KeptVectors:
    """Make the embeddings `e5` and `onnx:` of this process read and fill a file."""
    from ragnb import OnnxEmbedding
    from ragnb.models.local import E5Embedding
    kept = KeptVectors(path)
    if hasattr(E5Embedding, "_plain"):
        raise RuntimeError("the vectors of this process are shared already")
    for cls in (E5Embedding, OnnxEmbedding):
        cls._plain = (cls.embed, cls._get_query_embedding)

    def embed(self: Any, texts: Sequence[str]) -> np.ndarray:
        plain = type(self)._plain[0]
        return kept.through(self.model_name, PASSAGE, list(texts), lambda part: plain(self, part)) if len(texts) else plain(self, texts)

    def embed_query(self: Any, query: str) -> list[float]:
        return kept.through(self.model_name, QUERY, [query], lambda part: [self._plain[1](self, text) for text in part])[0].tolist()

    for cls in (E5Embedding, OnnxEmbedding):
        cls.embed, cls._get_query_embedding = embed, embed_query
    return kept


if __name__ == "__main__":
    kept = KeptVectors(sys.argv[1])
    for name, n, cpu in kept.file.execute("SELECT model, COUNT(*), SUM(cpu) FROM vectors GROUP BY model"):
        print(f"{name}: {n:,} vectors, {cpu:,.0f} CPU seconds")
