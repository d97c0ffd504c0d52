"""Three nodes with a replica, five readers with five retrievers and one writer: nodes are killed and stopped, requests refused.

    python tools/opensearch.py fetch
    python benchmarks/cluster_faults.py [--seconds 20] [--parts follow kill stop refuse two] [--out FILE]

follow: every node is up, and a question that begins after a commit must be answered from it. kill: one node is ended by SIGKILL, and started again.
stop: one node is stopped (SIGSTOP), and goes on afterwards. refuse: a fifth of all requests is answered 429 or 503. two: two nodes are killed; a question
must be answered or end with an error within 15 s, and all is there when they are back. A question fails when the line that never changes is not found.
"""
from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

from cluster_kill import cluster, tool
from common import arguments, ROOT

sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "opensearch")]

from test_cluster_readers import Busy, lost, N, write   # noqa: E402

from ragnb.indexing.folder_index import Index   # noqa: E402
from ragnb.indexing.update import update_index   # noqa: E402
from ragnb.pipeline.pipeline import Pipeline   # noqa: E402

RETRIEVERS = ["multi-scale", "bm25", "vector", "hybrid", "hierarchical"]


class Refusing(Busy):
    """Refuses requests of every kind, half of them with 503."""
    kinds = ("",)
    statuses = (429, 503)


class Readers:
    """Five readers, each with an index opened once, that go on asking."""

    def __init__(self, place: str) -> None:
        self.pipelines = {r: Pipeline.from_index(Index.open(place), retriever=r) for r in RETRIEVERS}
        self.asked, self.wrong, self.longest = Counter(), [], 0.0
        self.committed, self.stale, self._stop = 0, [], threading.Event()
        self.threads = [threading.Thread(target=self._ask, args=pair) for pair in self.pipelines.items()]

    def _ask(self, name: str, pipeline: Pipeline) -> None:
        while not self._stop.is_set():
            start, known = time.perf_counter(), self.committed
            told = lost(pipeline, self.asked[name] % N)
            took = time.perf_counter() - start
            self.longest, self.asked[name] = max(self.longest, took), self.asked[name] + 1
            if told:
                self.wrong.append(f"{name}, {took:.1f} s: {told}")
            elif pipeline.expander.store.rows.last.generation < known:
                self.stale.append(name)

    def __enter__(self) -> Readers:
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._stop.set()
        for thread in self.threads:
            thread.join()

def updates(docs: Path, place: str, readers: Readers, until: float) -> tuple[int, list[str]]:
    """Change all documents again and again; how often, and what failed."""
    done, failed = 0, []
    while time.monotonic() < until:
        edition = 2 + int(time.monotonic())
        try:
            index, _ = update_index(write(docs, edition), place, show_progress=False, wait=60)
            readers.committed, done = index.store.version, done + 1
        except Exception as error:
            failed.append(f"{type(error).__name__}: {error}"[:200])
            time.sleep(1)
    return done, failed


def part(name: str, place: str, docs: Path, nodes: list[Path], again: Any, args: argparse.Namespace) -> dict[str, Any]:
    """Break something for a while, beside readers and a writer."""
    first = f"http://{place.partition('://')[2].split(',')[0]}"
    handler = type("Handler", (Refusing,), {"real": first, "chance": random.Random(7)})
    if name == "refuse":
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
    shown = f"opensearch://127.0.0.1:{server.server_port}/{place.rpartition('/')[2]}" if name == "refuse" else place
    broken = {"kill": nodes[2:], "two": nodes[1:], "stop": nodes[1:2]}.get(name, [])
    with Readers(shown) as readers:
        time.sleep(3)
        for node in broken:
            os.kill(tool.alive(node), signal.SIGSTOP if name == "stop" else signal.SIGKILL)
        done, failed = updates(docs, shown, readers, time.monotonic() + args.seconds) if name != "two" else (time.sleep(args.seconds), [])
        for node in broken:
            os.kill(tool.alive(node), signal.SIGCONT) if name == "stop" else again(node)
        during = {"questions": sum(readers.asked.values()), "failed": len(readers.wrong), "stale": len(readers.stale), "longest_s": round(readers.longest, 1)}
        tool.wait_for(first, 3, nodes, 300)
        time.sleep(5)
        before, start = len(readers.wrong), sum(readers.asked.values())
        time.sleep(5)
        after = {"questions": sum(readers.asked.values()) - start, "failed": len(readers.wrong) - before}
    index, _ = update_index(write(docs, 1), place, show_progress=False, wait=60)
    missing = sum(bool(lost(Pipeline.from_index(index), n)) for n in range(N))
    row = {"part": name, "during": during, "afterwards": after, "longest_s": round(readers.longest, 1), "stale": len(readers.stale),
           "updates": done, "failed updates": len(failed), "documents lost": missing, "refused": handler.refused}
    print(json.dumps(row), *dict.fromkeys([*readers.wrong[:4], *failed[:3]]), sep="\n", flush=True)
    return row


def main() -> None:
    """The command."""
    args = arguments(__doc__, seconds=20, parts=["follow", "kill", "stop", "refuse", "two"], heap=("512m", "of each node"), out=Path)
    with cluster(args.heap) as (hosts, nodes, again), tempfile.TemporaryDirectory() as folder:
        place, docs = f"opensearch://{hosts}/faults", Path(folder) / "docs"
        update_index(write(docs, 1), place, show_progress=False)
        rows = [part(name, place, docs, nodes, again, args) for name in args.parts]
    if args.out:
        args.out.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")


if __name__ == "__main__":
    main()
