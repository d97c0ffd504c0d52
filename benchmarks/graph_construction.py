"""What Chroma's graph finds, and what it costs to build, by the number of candidates that it keeps while it is built.

Run: python benchmarks/graph_construction.py [--ef 64 100 200] [--questions 400]

The vectors are those of the units of `ko_statutes` (below RAGNB_DATA); a question is one of them with noise. Recall is that of the 20 nearest,
beside all products.
"""
from __future__ import annotations

import tempfile
import time

import numpy as np

from common import arguments, DATA
from ragnb.chunking.units import UnitNodeParser
from ragnb.documents.files import read_documents
from ragnb.indexing.update import fit_pieces
from ragnb.models.embedding import NgramEmbedding


def unit_vectors() -> np.ndarray:
    """A vector of length 1 for each unit."""
    documents = list(read_documents(DATA / "ko_statutes", []))
    model, parser = NgramEmbedding(), UnitNodeParser()
    model.fit(fit_pieces(documents))
    found = np.asarray(model.embed([node.text for d in documents for node in parser.parse(d)[0]]), np.float32)
    return found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-9)


def main() -> None:
    """The command."""
    import chromadb
    args = arguments(__doc__, ef=[64, 100, 200], questions=400)
    vectors, rng = unit_vectors(), np.random.default_rng(0)
    asked = vectors[rng.integers(0, len(vectors), args.questions)]
    asked = asked + rng.normal(scale=0.03, size=asked.shape).astype(np.float32)
    nearest = [set(map(str, row[:20])) for row in np.argsort(-(asked @ vectors.T), axis=1)]
    print(f"{len(vectors):,} units\n\n| ef_construction | CPU s | recall of 20, ef_search 100 | 1,000 |\n|--:|--:|--:|--:|")
    for ef in args.ef:
        recalls = []
        for reach in (100, 1_000):
            with tempfile.TemporaryDirectory() as folder:
                client = chromadb.PersistentClient(folder, chromadb.Settings(anonymized_telemetry=False))
                graph = {"space": "cosine", "ef_construction": ef, "ef_search": reach}
                held, start = client.create_collection("units", configuration={"hnsw": graph}), time.process_time()
                for at in range(0, len(vectors), 1_000):
                    part = vectors[at:at + 1_000]
                    held.add(ids=[str(at + i) for i in range(len(part))], embeddings=part)
                cpu = time.process_time() - start
                found = held.query(query_embeddings=asked, n_results=20, include=[])["ids"]
            recalls.append(np.mean([len(want.intersection(got)) / 20 for want, got in zip(nearest, found)]))
        print(f"| {ef} | {cpu:.1f} | {recalls[0]:.4f} | {recalls[1]:.4f} |", flush=True)


if __name__ == "__main__":
    main()
