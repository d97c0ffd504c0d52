"""The default retrieval on a cluster beside the one in memory: recall, requests, bytes and time, of the same documents.

Run: make opensearch; python benchmarks/cluster_recall.py recall [--sets squad2 tydiqa_ko] [--questions 300]
     python benchmarks/cluster_recall.py large [--units 20000 50000] [--questions 60]
     python benchmarks/cluster_recall.py graph [--reach 100 256 512]

`graph` makes an index of the sample corpus three times and tells how many of the units that the folder scores are lost
when the graph of vectors keeps so many candidates while it looks. `large` repeats the documents of squad2 with changed words until there are so many units.
"""
from __future__ import annotations

import argparse
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

from llama_index.core import Document

from ragnb.documents.files import read_documents
from ragnb.evaluation.datasets import Dataset, load_dataset, load_questions
from ragnb.evaluation.measures import evaluate
from ragnb.indexing.cluster_state import ClusterState
from ragnb.indexing.folder_index import Index
from ragnb.indexing.update import index_documents
from ragnb.pipeline.specs import resolve_retriever
from ragnb.retrieval import cluster_units
from ragnb.storage.opensearch import nearest_rows

ROOT = Path(__file__).resolve().parent.parent
BUDGETS = (500, 1_000, 4_000)


def server() -> str:
    """Host and port of the server that `make opensearch` has started."""
    url = os.environ.get("RAGNB_OPENSEARCH", "")
    if not url:
        told = subprocess.run([sys.executable, str(ROOT / "tools/opensearch.py"), "url"], capture_output=True, text=True)
        url = told.stdout.strip()
    if not url:
        sys.exit("no server: make opensearch, or RAGNB_OPENSEARCH=http://host:port")
    return url.split(",")[0].partition("://")[2]


class Counter:
    """Requests that a client makes, and the bytes of their answers."""

    def __init__(self, client) -> None:
        self.requests, self.bytes = 0, 0
        reader = client.transport.deserializer
        real = reader.loads

        def loads(text, mimetype=None):
            self.requests += 1
            self.bytes += len(text)
            return real(text, mimetype)
        reader.loads = loads


def both(documents: list[Document], name: str, folder: Path) -> tuple[Index, Index, str]:
    """The same documents in a folder and on the cluster; the latter opened as another machine would."""
    start = time.perf_counter()
    local, _ = index_documents(documents, folder, show_progress=False)
    middle = time.perf_counter()
    place = f"opensearch://{server()}/{name}"
    index_documents(documents, place, force=True, show_progress=False)
    print(f"{name}: {len(documents)} documents, {len(local.multiscale):,} units; indexed in {middle - start:.0f} s in a folder, "
          f"{time.perf_counter() - middle:.0f} s on the cluster", flush=True)
    return local, Index.open(place), place


def opening(place: str) -> str:
    """What an index on the cluster brings here when it is opened, with and without the parts that are searched in memory."""
    light, full = ClusterState(place, light=True), ClusterState(place)
    sizes: dict[str, int] = {}
    for file in filter(Path.is_file, light.folder.rglob("*")):
        part = file.relative_to(light.folder).parts[0].partition("-")[0]
        sizes[part] = sizes.get(part, 0) + file.stat().st_size
    told = ", ".join(f"{part} {size / 1e6:.1f}" for part, size in sorted(sizes.items(), key=lambda x: -x[1])[:3])
    return f"opened: {light.fetched / 1e6:.1f} MB travelled (on disk {told} MB); a full mirror: {full.fetched / 1e6:.1f} MB"


def compare(local: Index, there: Index, dataset: Dataset) -> None:
    """One line of a table for each index."""
    print("| index | " + " | ".join(f"recall at {b:,}" for b in BUDGETS) + " | requests | KB | p50 ms | p95 ms |")
    print("|---|" + "---|" * (len(BUDGETS) + 4))
    for name, index in (("folder", local), ("cluster", there)):
        retriever = resolve_retriever("multi-scale", index)
        counter, times, asked, sizes = Counter(index.store.client) if name == "cluster" else None, [], [], []

        def rank(question: str):
            before = (counter.requests, counter.bytes) if counter else (0, 0)
            start = time.perf_counter()
            ranking = retriever.rank(question)
            times.append(1_000 * (time.perf_counter() - start))
            if counter:
                asked.append(counter.requests - before[0])
                sizes.append((counter.bytes - before[1]) / 1e3)
            return ranking

        for question in dataset.questions[:5]:
            rank(question.query)       # warms up
        for held in (times, asked, sizes):
            held.clear()
        found = evaluate(rank, dataset.questions, BUDGETS)
        recalls = " | ".join(f"{found.mean('evidence_recall', b):.3f}" for b in BUDGETS)
        told = f"{max(asked)} at most | {statistics.median(sizes):.0f}" if counter else "0 | 0"
        times.sort()
        print(f"| {name} | {recalls} | {told} | {statistics.median(times):.0f} | {times[int(.95 * len(times))]:.0f} |", flush=True)


def noisy(documents: list[Document], n: int) -> Iterator[Document]:
    """The documents, and copies of them in which every sixth word is one of another place, without end."""
    yield from documents
    rng, words = random.Random(n), " ".join(d.text for d in documents).split()
    for copy in range(1, 1_000):
        for d in documents:
            text = " ".join(rng.choice(words) if rng.random() < 1 / 6 else w for w in d.text.split(" "))
            yield Document(text=text, id_=f"copy{copy}/{d.id_}", metadata=dict(d.metadata))


def graph(reaches: list[int], times: int = 3) -> None:
    """Units that a question scores in a folder and not on the cluster, for each reach of the graph."""
    name, folder, corpus = "recall-graph", Path(tempfile.mkdtemp()), ROOT / "data/corpus"
    documents = list(read_documents(corpus, []))
    asked = [q.query for q in load_questions(ROOT / "data/questions", {d.id_: d.text for d in documents})]
    print("| made | " + " | ".join(f"lost at {r}, % | ms" for r in reaches) + " |\n|---|" + "---|" * (2 * len(reaches)))
    for made in range(1, times + 1):
        local, there, _ = both(documents, name, folder / str(made))
        mine, theirs = resolve_retriever("multi-scale", local), resolve_retriever("multi-scale", there)
        wanted, row = [scored(mine, q) for q in asked], []
        for reach in reaches:
            with patch.object(cluster_units, "nearest_rows", lambda v, k, among=None, _=0: nearest_rows(v, k, among, reach)):
                theirs.rank(asked[0])
                start = time.perf_counter()
                lost = sum(len(a - scored(theirs, q)) for a, q in zip(wanted, asked))
                row += [f"{100 * lost / sum(map(len, wanted)):.2f}", f"{1_000 * (time.perf_counter() - start) / len(asked):.0f}"]
        print(f"| {made} | " + " | ".join(row) + " |", flush=True)
        there.store.client.indices.delete(index=f"{name}-*", ignore_unavailable=True)
    shutil.rmtree(folder, ignore_errors=True)


def scored(retriever, question: str) -> set[str]:
    """The units that get a score."""
    ranking = retriever.rank(question)
    return {ranking.reader.address(int(row)) for row in ranking.scores.rows}


def sized(dataset: Dataset, units: int) -> list[Document]:
    """As many documents as make about so many units of 200 characters."""
    out, size = [], 0
    for document in noisy(list(dataset.documents.values()), units):
        out.append(document)
        size += len(document.text)
        if size >= 170 * units:
            return out
    return out


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["recall", "large", "graph"])
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("RAGNB_DATA", ROOT.parent / "shared/data")))
    parser.add_argument("--sets", nargs="+", default=["squad2", "tydiqa_ko"])
    parser.add_argument("--units", type=int, nargs="+", default=[20_000])
    parser.add_argument("--questions", type=int, default=300)
    parser.add_argument("--keep", action="store_true", help="leave the indexes on the server")
    parser.add_argument("--reach", type=int, nargs="+", default=[100, 256, 512], help="candidates that the graph keeps")
    args = parser.parse_args()
    if args.what == "graph":
        return graph(args.reach)
    jobs = [(name, name, None) for name in args.sets] if args.what == "recall" else [(f"squad2-{n}", "squad2", n) for n in args.units]
    for name, data, units in jobs:
        dataset = load_dataset(args.data / data).limit(args.questions)
        documents = list(dataset.documents.values()) if units is None else sized(dataset, units)
        folder = Path(tempfile.mkdtemp())
        local, there, place = both(documents, f"recall-{name}", folder)
        print(opening(place))
        compare(local, there, replace(dataset, documents={d.id_: d for d in documents}))
        if not args.keep:
            there.store.client.indices.delete(index=f"recall-{name}-*", ignore_unavailable=True)
        del local, there
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
