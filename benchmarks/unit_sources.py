"""Units in one SQLite file: CPU of a question, memory, size of the file, and what replacing one document costs.

    python benchmarks/unit_sources.py                      # 3,000, 30,000 and 100,000 units
    python benchmarks/unit_sources.py --sizes 1000000

Units of about 45 words drawn from a Zipf distribution of 200,000, vectors of 384 numbers, documents of 100 units with headings; every size in a process
of its own. A question has eight words: two frequent ones, four of the middle and two rare ones. Times are CPU, one thread.
"""
from __future__ import annotations

import gc
import os
import resource
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from common import alone, arguments
from llama_index.core.schema import TextNode

from ragnb.documents.span import Outline, Span
from ragnb.retrieval.scoring import score_units
from ragnb.retrieval.sqlite_units import SqliteUnits, UnitWriter

DIMS, DOCUMENT, BATCH, WORDS = 384, 100, 1_000, 200_000
_SHARE = 1 / np.arange(20, WORDS + 20)
_RISING = np.cumsum(_SHARE / _SHARE.sum())


def split(texts: Any) -> list[list[str]]:
    "White space tokens: words are made here."
    return [t.split() for t in texts]


def document(n: int, rng: np.random.Generator) -> tuple[list[TextNode], Outline]:
    "A document of made-up units."
    words = np.searchsorted(_RISING, rng.random((DOCUMENT, 45)))
    vectors = rng.standard_normal((DOCUMENT, DIMS), dtype=np.float32)
    nodes, spans, at = [], [], 0
    for i, row in enumerate(words.tolist()):
        text = " ".join(f"w{w}" for w in row)
        nodes.append(TextNode(id_=f"doc{n}#u{i}", text=text, start_char_idx=at, end_char_idx=at + len(text), embedding=vectors[i].tolist()))
        spans.append(Span(at, at + len(text)))
        at += len(text) + 1
    sections = [(f"w{n % 50} w{i}", Span(spans[i].start, spans[i + 9].end)) for i in range(0, DOCUMENT, 10)]
    return nodes, Outline(f"doc{n}", at - 1, {"u": spans}, {s.end: " " for s in spans[:-1]}, sections=sections,
                          metadata={"title": f"w{n % 1000} w{n % 77}"})


def batches(n_units: int) -> Iterator[tuple[list[TextNode], list[Outline]]]:
    "All documents, a batch at a time."
    rng = np.random.default_rng(0)
    for at in range(0, n_units // DOCUMENT, BATCH // DOCUMENT):
        made = [document(n, rng) for n in range(at, min(at + BATCH // DOCUMENT, n_units // DOCUMENT))]
        yield [node for nodes, _ in made for node in nodes], [outline for _, outline in made]


def questions(n: int = 60) -> list[tuple[list[str], np.ndarray]]:
    "Words and vectors of questions."
    rng = np.random.default_rng(1)
    ranges = [(0, 30)] * 2 + [(30, 5_000)] * 4 + [(5_000, 100_000)] * 2
    out = []
    for _ in range(n):
        vector = rng.standard_normal(DIMS).astype(np.float32)
        out.append(([f"w{rng.integers(a, b)}" for a, b in ranges], vector / np.linalg.norm(vector)))
    return out


def spent(call: Any) -> float:
    "Milliseconds of CPU that a call takes."
    start = time.process_time()
    call()
    return 1_000 * (time.process_time() - start)


def measured(n_units: int, folder: Path) -> dict[str, Any]:
    "Build an index, ask, and replace one document."
    writer, build = UnitWriter(SqliteUnits(folder / "units.db", tokenizer=split)), 0.0
    for nodes, outlines in batches(n_units):
        build += spent(lambda: writer.add(nodes, outlines))
    gc.freeze()
    asked = questions()
    units = SqliteUnits(folder / "units.db", tokenizer=split)
    opened = spent(lambda: units.held.keys)
    def ask(terms: list[str], vector: np.ndarray) -> Any: return score_units(units, terms, vector)
    first = spent(lambda: ask(*asked[0]))
    times = [spent(lambda: ask(*q)) for q in asked]
    size = sum(f.stat().st_size for f in folder.rglob("*") if f.is_file())
    rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1_024
    written = Path("/proc/self/io")
    def bytes_written() -> int:
        return int(written.read_text().split("write_bytes: ")[1].split()[0]) if written.exists() else 0
    before, (nodes, outline) = bytes_written(), document(0, np.random.default_rng(9))
    change = spent(lambda: writer.add(nodes, [outline]))
    return {"units": n_units, "build_s": build / 1_000, "open_ms": opened, "first_ms": first,
            "p50_ms": float(np.median(times)), "p95_ms": float(np.quantile(times, 0.95)), "rss_mb": rss, "size_mb": size / 1e6,
            "change_ms": change, "change_mb": (bytes_written() - before) / 1e6}


def main() -> None:
    "Measure, each index in a process of its own."
    args = arguments(__doc__, sizes="3000,30000,100000")
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    names = ("build_s", "open_ms", "first_ms", "p50_ms", "p95_ms", "rss_mb", "size_mb", "change_ms", "change_mb")
    print("| units | " + " | ".join(names) + " |\n|" + "---|" * (len(names) + 1))
    for n in map(int, args.sizes.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            row = alone(measured, n, Path(folder))
        print(f"| {n:,} | " + " | ".join(f"{row[k]:,.1f}" for k in names) + " |", flush=True)


if __name__ == "__main__":
    main()
