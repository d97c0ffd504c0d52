"""Three nodes with a replica: one is killed with SIGKILL while documents are indexed, questions asked and hits expanded, and comes back.

    python tools/opensearch.py fetch
    python benchmarks/cluster_kill.py [--seconds 60] [--kinds store index] [--save]

`store`: ClusterStore, and an index of another program, by chunks. `index`: `update_index` and `Pipeline.ask` over the address of an index.
Every answer and expansion is compared with the text that was written; every document whose put or update returned must be there at the end.
Errors are those that reach the caller. Three nodes of its own are started, and stopped at the end.
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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from cluster_data import document, texts
from common import arguments, keep_row, ROOT
from llama_index.core.schema import NodeWithScore

from ragnb.documents.span import Address, parse_address
from ragnb.adapters.chunk_expanders import NeighborChunkExpander
from ragnb.expansion.expander import Expander
from ragnb.expansion.policy import neighbors
from ragnb.indexing.folder_index import Index
from ragnb.indexing.update import update_index
from ragnb.pipeline.pipeline import Pipeline
from ragnb.opensearch.cluster_store import ClusterStore
from ragnb.opensearch.client import cluster_place, open_client

sys.path.insert(0, str(ROOT / "tools"))
import opensearch as tool  # noqa: E402

RESULTS = ROOT / "nbs/studies/results/one_machine_kill.json"
DIMS, PER, STATIC = 32, 20, 40       # Numbers of a vector; chunks of a document; documents that stay as they are


@contextmanager
def cluster(heap: str, n: int = 3) -> Iterator[tuple[str, list[Path], Callable[[Path], Any]]]:
    """Hosts of the nodes, their folders, and what starts one again."""
    unpacked = tool.default_folder()
    server, home = tool.unpacked(unpacked)
    with tempfile.TemporaryDirectory(prefix="ragnb-kill-", ignore_cleanup_errors=True) as place:
        folder = Path(place)
        folder.chmod(0o755)
        (folder / server.name).symlink_to(server)
        if home.is_relative_to(unpacked):
            (folder / home.name).symlink_to(home)
        url = tool.start(folder, n, heap)
        try:
            nodes = [tool.run_folder(folder) / f"node-{i + 1}" for i in range(n)]
            yield (",".join(h.partition("://")[2] for h in url.split(",")), nodes, lambda node: tool.start_node(node, server, home, heap))
        finally:
            tool.stop(folder)


class Load:
    """Threads that work until they are told to stop, and what became of their calls."""

    def __init__(self) -> None:
        self.calls, self.longest = Counter[str](), Counter[str]()
        self.errors, self.wrong = list[str](), list[str]()
        self.started, self._stop = 0.0, threading.Event()

    def run(self, works: list[tuple[str, Callable[[random.Random], None]]], seconds: float, kill: Callable, again: Callable) -> None:
        """Work for some seconds; a node is gone for the middle third of them."""
        self.started = time.perf_counter()
        threads = [threading.Thread(target=self._loop, args=(name, work, n)) for n, (name, work) in enumerate(works)]
        for thread in threads:
            thread.start()
        for step in (kill, again, self._stop.set):
            time.sleep(seconds / 3)
            step()
        for thread in threads:
            thread.join()

    def _loop(self, name: str, work: Callable[[random.Random], None], n: int) -> None:
        rng = random.Random(n)
        while not self._stop.is_set():
            start = time.perf_counter()
            try:
                work(rng)
                self.calls[name] += 1
            except Exception as error:      # counted: this is what is measured
                self.errors.append(f"{start - self.started:.1f} s, {name}: {type(error).__name__}: {error}"[:400])
            self.longest[name] = max(self.longest[name], time.perf_counter() - start)

    def expect(self, true: bool, told: str) -> None:
        """Note a wrong answer."""
        if not true:
            self.wrong.append(told[:400])


# --- a store, and an index of another program ---------------------------------------------------------------------------


def store_load(hosts: str, args: argparse.Namespace, kill: Callable, again: Callable) -> tuple[Load, int, list[str]]:
    """Puts, searches and expansions over the store."""
    def made() -> ClusterStore:
        return ClusterStore(f"opensearch://{hosts}/kill?shards=3&replicas=1", tokenizer=lambda batch: (text.split() for text in batch))

    own, load, written = made(), Load(), list[int]()

    def put(n: int) -> None:
        nodes, outline = document(n, DIMS, PER)
        own.put(nodes, [outline])
        written.append(n)

    for n in range(STATIC):
        put(n)
    client = open_client(cluster_place(f"opensearch://{hosts}/theirs"))
    lines = [line for n in range(STATIC) for i, text in enumerate(texts(n, PER))
             for line in ({"index": {"_id": f"{n * PER + i:x}"}}, {"document_id": n, "chunk_index": i, "text": text})]
    client.indices.create(index="theirs", body={"settings": {"number_of_shards": 3, "number_of_replicas": 1}})
    client.bulk(body=lines, index="theirs", refresh=True)
    client.cluster.health(wait_for_status="green", timeout="90s", request_timeout=100)

    def ask(rng: random.Random) -> None:
        d, i = rng.randrange(STATIC), rng.randrange(PER)
        text = texts(d, PER)[i]
        by_words = own.search_words(text.split()[:12], 5)
        load.expect(bool(by_words) and by_words[0].node.text == text, f"words of d{d}#c{i}: {[h.node_id for h in by_words]}")
        near = own.search(document(d, DIMS, PER)[0][i].embedding, 5)
        load.expect(len(near) == 5 and near[0].node.text == text, f"vector of d{d}#c{i}: {[h.node_id for h in near]}")

    def grow(rng: random.Random) -> None:
        d, i = rng.randrange(STATIC), rng.randrange(PER)
        at, first = Address(f"d{d:07d}", "c", i), max(0, i - 5)
        hit = NodeWithScore(node=own.get_chunks([str(at)]).all()[str(at)], score=1.0)
        out = Expander(own, neighbors(5)).expand([hit])
        load.expect([p.text for p in out.passages] == ["".join(texts(d, PER)[first:i + 6])], f"{at}: {out.stats}")

    theirs = NeighborChunkExpander(client, "theirs", 5, on_error="raise")

    def grow_theirs(rng: random.Random) -> None:
        d, i = rng.randrange(STATIC), rng.randrange(PER)
        text = texts(d, PER)
        out = theirs.expand([{"_id": f"{d * PER + i:x}", "_score": 1.0, "_source": {"document_id": d, "chunk_index": i, "text": text[i]}}])
        load.expect([h["_source"]["text"] for h in out] == text[max(0, i - 5):i + 6], f"theirs {d} {i}: {len(out)} rows")

    works = [("index", lambda _: put(1_000 + load.calls["index"])), ("ask", ask), ("ask", ask), ("expand", grow), ("expand theirs", grow_theirs)]
    load.run(works, args.seconds, kill, again)
    last = made()
    outlines = last.get_outlines(f"d{n:07d}" for n in written)
    chunks = last.get_chunks(str(a) for o in outlines.found.values() for a in o.addresses())
    lost = [*outlines.missing, *chunks.missing]
    lost += [f"d{n:07d}: another text" for n in written if f"d{n:07d}" in outlines.found and [
        chunks.found[a].text for i in range(PER) if (a := f"d{n:07d}#c{i}") in chunks.found] != texts(n, PER)]
    lost += sorted({f"d{n:07d}" for n in written} - set(last.doc_ids()))
    return load, len(written), lost


# --- a whole index --------------------------------------------------------------------------------------------------------


def rule(n: int) -> str:
    """A document about a word of its own."""
    return f"# 규정 {n}\n\n" + "".join(f"제{i}조 코드{n:04d}의 한도는 {100 * n + i}원이다. 담당은 {i}과이다.\n\n" for i in range(1, 9))


def index_load(hosts: str, args: argparse.Namespace, kill: Callable, again: Callable) -> tuple[Load, int, list[str]]:
    """Updates of an index, and questions to it."""
    address, load = f"opensearch://{hosts}/whole", Load()
    with tempfile.TemporaryDirectory() as place:
        corpus = Path(place)
        for n in range(STATIC):
            (corpus / f"rule{n}.md").write_text(rule(n))
        update_index(corpus, address, show_progress=False)
        client = open_client(cluster_place(address))
        client.indices.put_settings(index="whole-*", body={"number_of_replicas": 1})
        client.cluster.health(wait_for_status="green", timeout="90s", request_timeout=100)
        committed = list(range(STATIC))
        opened = threading.local()

        def index(rng: random.Random) -> None:
            n = 1_000 + load.calls["index"]
            (corpus / f"rule{n}.md").write_text(rule(n))
            update_index(corpus, address, show_progress=False, wait=0)
            committed.append(n)

        def pipeline() -> Pipeline:
            opened.uses = getattr(opened, "uses", 0) + 1
            if opened.uses % 20 == 1:
                opened.pipeline = Pipeline.from_index(Index.open(address), budget=600)
            return opened.pipeline

        def ask(rng: random.Random) -> None:
            n = rng.randrange(STATIC)
            answer = pipeline().ask(f"코드{n:04d}의 한도는 얼마인가?")
            for p in answer.passages:
                whole = rule(int(p.doc_id.removeprefix("rule").removesuffix(".md")))
                load.expect(p.span.of(whole) == p.text, f"{p.id} is not what was written")
            load.expect(bool(answer.passages) and answer.passages[0].doc_id == f"rule{n}.md", f"rule{n}: {[p.id for p in answer.passages]}")

        def grow(rng: random.Random) -> None:
            store, doc_id = pipeline().expander.store, f"rule{rng.randrange(STATIC)}.md"
            outline = store.get_outlines([doc_id]).all()[doc_id]
            address = rng.choice([a for a in outline.addresses() if parse_address(a).level in ("c", "u")])
            hit = NodeWithScore(node=store.get_chunks([str(address)]).all()[str(address)], score=1.0)
            for p in Expander(store, neighbors(3)).expand([hit]).passages:
                load.expect(p.span.of(rule(int(doc_id[4:-3]))) == p.text, f"{p.id} is not what was written")

        load.run([("index", index), ("ask", ask), ("ask", ask), ("expand", grow)], args.seconds, kill, again)
        index_now = Index.open(address)
        there = index_now.store.get_outlines(f"rule{n}.md" for n in committed)
        chunks = index_now.store.get_chunks(str(a) for o in there.found.values() for a in o.addresses())
        lost = [*there.missing, *chunks.missing, *sorted({f"rule{n}.md" for n in committed} - set(index_now.doc_ids))]
        return load, len(committed), lost


def main() -> None:
    """The command."""
    args = arguments(__doc__, kinds=["store", "index"], seconds=60.0, heap=("512m", "of each node"),
                     save=(False, f"note what was seen in {RESULTS.relative_to(ROOT)}"))
    for kind in args.kinds:
        with cluster(args.heap) as (hosts, nodes, again):
            kill = partial(lambda node: os.kill(tool.alive(node), signal.SIGKILL), nodes[2])
            load, n, lost = (store_load if kind == "store" else index_load)(hosts, args, kill, partial(again, nodes[2]))
            wait = {"wait_for_nodes": "3", "wait_for_status": "green", "timeout": "180s", "request_timeout": 200}
            health = open_client(cluster_place(f"opensearch://{hosts}")).cluster.health(**wait)
        row = {"kind": kind, "seconds": args.seconds, "calls": dict(load.calls), "errors": len(load.errors), "wrong": len(load.wrong),
               "documents": n, "lost": len(lost), "nodes_at_the_end": health["number_of_nodes"], "status": health["status"], "longest_s": {k: round(v, 1) for k, v in load.longest.items()}}
        print(json.dumps(row, ensure_ascii=False), *dict.fromkeys([*load.errors[:8], *load.wrong[:8], *lost[:8]]), sep="\n", flush=True)
        if args.save:
            keep_row(RESULTS, row, ("kind",))


if __name__ == "__main__":
    main()
