"""Many small documents on a cluster beside a folder: filters, a large change with readers beside it, bytes, requests and p50.

    python tools/opensearch.py fetch
    python benchmarks/cluster_scale.py [--documents 100000] [--nodes 3] [--shards 10] [--changed 40000] [--kill] [--out FILE]

Documents are made up: three paragraphs each, English words by Zipf's law, one code of their own; vectors of 32 numbers that are counts of hashed words. So this
measures size, not quality. Each question names a code; it fails when its document is not found or an error reaches the caller. Filters let 10, 1,000
and so on documents pass. `--kill` ends one of the nodes while documents change. Bytes are those of bodies, compressed as they are sent. The nodes are of this run.
"""
from __future__ import annotations

import gzip
import json
import os
import random
import signal
import statistics
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from zlib import crc32

from cluster_kill import cluster, tool
from common import arguments
from llama_index.core.base.embeddings.base import BaseEmbedding
from opensearchpy import Urllib3HttpConnection

from ragnb.indexing.folder_index import Index
from ragnb.indexing.update import update_index
from ragnb.pipeline.pipeline import Pipeline

SIZES = (10, 100, 1_000, 10_000, 50_000)     # Documents that a filter lets pass
_made = random.Random(7)
WORDS = ["".join(_made.choice("bdfgklmnprstvz") + _made.choice("aeiou") for _ in range(_made.randint(2, 4))) for _ in range(8_000)]
WEIGHTS = [1 / (n + 3) for n in range(len(WORDS))]


class Hashed(BaseEmbedding):
    """Counts of hashed words: quick, and the same everywhere."""

    def _get_text_embedding(self, text: str) -> list[float]:
        out = [0.01] * 32
        for word in text.lower().split():
            out[crc32(word.encode()) % 32] += 1
        return out

    _get_query_embedding = _get_text_embedding

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)


def records(n: int, editions: dict[int, int]) -> Iterator[dict[str, Any]]:
    """Documents; the text of one follows from its number and edition."""
    for i in range(n):
        draw = random.Random(f"{i} {editions.get(i, 1)}")
        lines = [" ".join(draw.choices(WORDS, WEIGHTS, k=24)) for _ in range(3)]
        text = f"Code{i:06d} has edition {editions.get(i, 1)}, {lines[0]}.\n\n{lines[1]}.\n\n{lines[2]}."
        yield {"doc_id": f"d{i:06d}", "title": f"Item {i}", "text": text, **{f"of{size}": i // size for size in SIZES}}


def write(file: Path, n: int, editions: dict[int, int]) -> None:
    """Write all documents."""
    with file.open("w") as out:
        out.writelines(f"{json.dumps(record)}\n" for record in records(n, editions))


@contextmanager
def counted() -> Iterator[Counter[str]]:
    """Count requests and bytes of all clients of this process."""
    real, n = Urllib3HttpConnection.perform_request, Counter[str]()

    def size(content: Any) -> int:
        content = content.encode() if isinstance(content, str) else content or b""
        return len(content if content[:2] == b"\x1f\x8b" or len(content) < 500 else gzip.compress(content, 1))

    def perform(self: Any, method: str, url: str, params: Any = None, body: Any = None, **options: Any) -> Any:
        n["requests"] += 1
        n["sent"] += size(body)
        answer = real(self, method, url, params=params, body=body, **options)
        n["received"] += size(answer[2])
        return answer
    Urllib3HttpConnection.perform_request = perform
    try:
        yield n
    finally:
        Urllib3HttpConnection.perform_request = real


def asked(pipeline: Pipeline, numbers: list[int]) -> tuple[list[float], int, list[str]]:
    """Ask for codes: milliseconds, how many were not found, and the best passages."""
    took, failed, best = [], 0, []
    for i in numbers:
        start = time.perf_counter()
        passages = pipeline.ask(f"Which edition has Code{i:06d}?").passages
        took.append(1_000 * (time.perf_counter() - start))
        failed += not any(f"Code{i:06d} has edition" in p.text for p in passages)
        best.append(passages[0].text if passages else "")
    return took, failed, best


def filters(folder: Index, there: Index, n: int, questions: int) -> Iterator[dict[str, Any]]:
    """The same questions to the folder and to the cluster, with filters of each size."""
    draw = random.Random(5)
    for size in (0, *(size for size in SIZES if size < n)):
        numbers = [draw.randrange(size or n) for _ in range(questions)]
        settings = {"where": {f"of{size}": 0}} if size else {}
        near, far = (Pipeline.from_index(index, **settings) for index in (folder, there))
        asked(near, numbers[:2]), asked(far, numbers[:2])
        local, lost, best = asked(near, numbers)
        with counted() as seen:
            remote, lost_there, best_there = asked(far, numbers)
        yield {"part": "filter", "matching": size or n, "questions": questions, "p50_ms folder": round(statistics.median(local), 1),
               "p50_ms cluster": round(statistics.median(remote), 1), "requests": round(seen["requests"] / questions, 1),
               "kB": round((seen["sent"] + seen["received"]) / questions / 1_000, 1), "not found": [lost, lost_there],
               "same best passage": sum(a == b for a, b in zip(best, best_there))}


def change(args: Any, file: Path, place: str, model: Hashed, nodes: list[Path], again: Any) -> dict[str, Any]:
    """Change many documents in one run; readers ask about those that stay, and about those that change."""
    editions = dict.fromkeys(range(args.changed), 2)
    write(file, args.documents, editions)
    stop, n, wrong, longest = threading.Event(), Counter[str](), [], [0.0]

    def ask() -> None:
        pipeline, draw = Pipeline.from_index(Index.open(place, model)), random.Random(threading.get_ident())
        while not stop.is_set():
            i, start = draw.randrange(args.documents), time.perf_counter()
            n["questions"] += 1
            try:
                n["not found"] += asked(pipeline, [i])[1]
            except Exception as error:
                wrong.append(f"{type(error).__name__}: {error}"[:200])
            longest[0] = max(longest[0], time.perf_counter() - start)
    readers = [threading.Thread(target=ask, daemon=True) for _ in range(2)]
    for reader in readers:
        reader.start()
    killer = threading.Timer(5, lambda: os.kill(tool.alive(nodes[-1]), signal.SIGKILL))
    if args.kill:
        killer.start()
    start = time.perf_counter()
    with counted() as seen:
        _, report = update_index(file.parent, place, embed=model, show_progress=False)
    took = time.perf_counter() - start
    if args.kill:
        again(nodes[-1])
    stop.set()
    for reader in readers:
        reader.join()
    _, lost, best = asked(Pipeline.from_index(Index.open(place, model)), list(range(0, args.changed, max(1, args.changed // 50))))
    return {"part": "change", "changed": report.changed, "s": round(took), "one node killed": args.kill, "MB with readers": round(sum((seen["sent"], seen["received"])) / 1e6),
            **n, "errors": len(wrong), "longest_s": round(longest[0], 1), "not found afterwards": lost,
            "old editions afterwards": sum("has edition 1" in text for text in best), "examples": wrong[:2]}


def main() -> None:
    """The command."""
    args = arguments(__doc__, documents=100_000, nodes=3, shards=10, changed=40_000, questions=40, heap=("512m", "of each node"), kill=False, out=Path)
    model, rows = Hashed(model_name="hashed"), []

    def tell(row: dict[str, Any]) -> None:
        rows.append(row)
        print(json.dumps(row), flush=True)
    with cluster(args.heap, args.nodes) as (hosts, nodes, again), tempfile.TemporaryDirectory() as place:
        folder, address = Path(place), f"opensearch://{hosts}/scale?shards={args.shards}&replicas={min(1, args.nodes - 1)}"
        (folder / "docs").mkdir()
        file = folder / "docs" / "all.jsonl"
        write(file, args.documents, {})
        start = time.process_time()
        local, _ = update_index(file.parent, folder / "index", embed=model, show_progress=False)
        cpu, start = time.process_time() - start, time.process_time()
        with counted() as seen:
            there, _ = update_index(file.parent, address, embed=model, show_progress=False)
        tell({"part": "index", "documents": args.documents, "units": len(there.multiscale), "nodes": args.nodes, "shards": args.shards, "CPU_s folder": round(cpu),
              "CPU_s cluster": round(time.process_time() - start), "MB sent": round(seen["sent"] / 1e6), "requests": seen["requests"],
              "MB": [round((folder / "index/index.db").stat().st_size / 1e6), round(there.store.n_bytes() / 1e6)]})
        for row in filters(local, there, args.documents, args.questions):
            tell(row)
        tell(change(args, file, address, model, nodes, again))
    if args.out:
        args.out.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")


if __name__ == "__main__":
    main()
