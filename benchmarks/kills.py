"""Kill index runs at random moments, let the next run finish, and compare what it leaves with a run that nobody killed.

Run: python benchmarks/kills.py [--kills 200] [--seed 1] [--stores memory folder server] [--splitters units records ...]

Every splitter meets every store and every kind of run (a new index, an update, `force`). The process forks for each run, so that
libraries are imported once. A killed run dies by SIGKILL at a moment drawn from the time of a whole run; every fourth one is killed
again while it is being finished. Then ids, texts, metadata, vectors, row counts, manifest, answers and the names of what is on disk
are compared with those of a clean run. Between kill and finish a reader opens the index: it must see the old state or the new one.
"""
from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tqdm import tqdm

# the lock of progress bars is shared with forked children: one that is killed while it holds it would stop all others
tqdm.monitor_interval = 0
tqdm.set_lock(threading.RLock())

SPLITTERS = ("units", "parent-child", "chunks:60/10", "whole", "sentence", "records", "structure", "titled:units", "contexts:sentence")
STORES = ("memory", "folder", "server")
KINDS = ("new", "update", "force")
QUESTION = "연차는 며칠인가"


def import_once() -> None:
    """Import what every run needs, and put rules in the place of the analyser, whose loading would be most of a run."""
    import chromadb  # noqa: F401
    import chromadb.api.rust  # noqa: F401
    import scipy.linalg  # noqa: F401
    import scipy.sparse  # noqa: F401

    from ragnb.documents import text as texts
    from ragnb.documents.memo import TextMemo
    from ragnb.evaluation import comparison  # noqa: F401  (what it imports is most of the package)
    from ragnb.indexing import update
    from ragnb.retrieval import multiscale  # noqa: F401
    texts.analysed = TextMemo(lambda given: (texts.Analysis([0], tuple(text.split())) for text in given))
    batches, in_turn = update._batches, update.IndexUpdate._in_turn
    update._batches = lambda parsed: batches(parsed, 8)          # many batches and check-ins, also for a tiny corpus
    update.IndexUpdate._in_turn = lambda *args: in_turn(*args, every=16)
    with tempfile.TemporaryDirectory() as work:     # what is loaded at the first use; nothing here starts a thread
        write_corpus(Path(work, "rules"), changed=False)
        state(Place(Path(work, "index"), "memory").update(Path(work, "rules"), "units"))


def toy_embedding() -> Any:
    """A vector of hashed pairs of characters: the same everywhere, fitted on nothing."""
    import zlib

    from llama_index.core.embeddings import MockEmbedding

    class Pairs(MockEmbedding):
        def _get_query_embedding(self, query: str) -> list[float]:
            vector = [0.01] * self.embed_dim
            for a, b in zip(" " + query, query):
                vector[zlib.crc32((a + b).encode()) % self.embed_dim] += 1.0
            return vector

        def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
            return [self._get_query_embedding(t) for t in texts]

        def get_text_embedding_batch(self, texts: list[str], **_: Any) -> list[list[float]]:
            return self._get_text_embeddings(texts)

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return self._get_query_embedding(query)

    return Pairs(embed_dim=16)


def splitter(name: str) -> Any:
    """A splitter with small sizes, and sentences by rule."""
    from ragnb.chunking.parsers import resolve_parser, with_contexts
    from ragnb.models.scripted import ScriptedLLM
    if name.startswith("contexts:"):
        return with_contexts(splitter(name.partition(":")[2]), ScriptedLLM(lambda prompt: f"맥락 {len(prompt)}."))
    if name.startswith("titled:"):
        made = resolve_parser(name)
        return made.model_copy(update={"parser": made.parser.model_copy(update={"sentences": "rule"})})
    return resolve_parser(name).model_copy(update={"sentences": "rule"})


def text_of(seed: int) -> str:
    """A small rule, always the same for a seed."""
    rng = random.Random(seed)
    says = ["연차는 15일이다.", "병가는 60일까지 쓴다.", "진단서를 낸다.", "회의는 매주 월요일이다.", "반차는 4시간이다."]
    return f"규정 {seed}\n\n" + "\n".join(f"제{i}조(제목 {i}) " + " ".join(rng.choices(says, k=rng.randint(1, 4))) for i in range(1, 6))


def write_corpus(folder: Path, changed: bool) -> None:
    """The folder before or after a change: one changed, one gone, one new, three as they were."""
    folder.mkdir(parents=True, exist_ok=True)
    for i, seed in enumerate((1, 12, 3, 4, None, 6) if changed else (1, 2, 3, 4, 5, None)):
        if seed is None:
            (folder / f"{i}.md").unlink(missing_ok=True)
        else:
            (folder / f"{i}.md").write_text(text_of(seed), encoding="utf-8")


@contextmanager
def chroma_server(folder: Path) -> Iterator[str]:
    """A Chroma server on a free port of this machine; its URL."""
    from urllib.request import urlopen
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    program = Path(sys.executable).with_name("chroma")
    command = [str(program), "run", "--path", str(folder), "--host", "127.0.0.1", "--port", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(300):
            try:
                urlopen(f"{url}/api/v2/heartbeat", timeout=1).close()
                break
            except OSError:
                time.sleep(0.1)
        else:
            raise RuntimeError("the Chroma server does not answer")
        yield url
    finally:
        server.terminate()
        server.wait(20)


class Place:
    """One index: its folder, and the store it uses."""

    def __init__(self, folder: Path, store: str, url: str = "") -> None:
        self.folder, self.kind, self.url = folder, store, url

    def store(self) -> Any:
        """The store to pass to `update_index`; None for the Chroma in the folder."""
        from ragnb.storage.chroma import ChromaStore
        from ragnb.storage.store import MemoryStore
        if self.kind == "memory":
            return MemoryStore()
        return ChromaStore(url=self.url, prefix=f"{self.folder.name}-") if self.kind == "server" else None

    def update(self, source: Path, name: str, force: bool = False) -> Any:
        """One run."""
        from ragnb.indexing.update import update_index
        return update_index(source, self.folder, embed=toy_embedding(), parser=splitter(name), force=force, store=self.store(),
                            show_progress=False)[0]


def state(index: Any, disk: bool = True) -> dict[str, Any]:
    """What an index holds and answers, without the numbers in names of files."""
    from ragnb.indexing.folder_index import part_names
    from ragnb.retrieval.bm25 import Bm25Retriever
    from ragnb.retrieval.hybrid import HybridRetriever, VectorRetriever
    from ragnb.retrieval.multiscale import MultiScaleRetriever
    from ragnb.storage.chroma import ChromaStore, row_counts
    store = index.store
    outlines = store.get_outlines(store.doc_ids()).all()
    chunks = store.get_chunks(a for o in outlines.values() for a in o.addresses()).all()
    members = {"bm25": Bm25Retriever(index.bm25, store), "vector": VectorRetriever(store, index.embed_model)}
    ranked = index.multiscale and MultiScaleRetriever(index.multiscale, store, index.embed_model).rank(QUESTION).at(200)
    held = {
        "documents": {i: [e["hash"], e["file"], e["characters"]] for i, e in index.manifest.documents.items()},
        "parser": index.manifest.parser,
        "outlines": {i: [o.n_characters, o.metadata, {k: [[s.start, s.end] for s in v] for k, v in o.levels.items()}] for i, o in outlines.items()},
        "chunks": {i: [n.text, n.metadata, n.start_char_idx] for i, n in chunks.items()},
        "vectors": {i: [round(float(x), 4) for x in v] for i, v in store.get_vectors(list(chunks)).items()},
        "rows": row_counts(store) if isinstance(store, ChromaStore) else [],
        "bm25": sorted(index.bm25.ids),
        "hits": [[h.node_id, round(h.score, 6)] for h in HybridRetriever(members).retrieve(QUESTION)],
        "passages": [[p.id, p.text] for p in ranked or ()],
        "cited": sorted(index.catalogue.holdings),
    }
    if disk:
        ours = {n for n in part_names(index.manifest)} | {"manifest.json", "contexts.jsonl", "contexts.lock", "writer.lock"}
        held["not of the index"] = sorted(re.sub(r"\d+", "N", p.name) for p in index.folder.iterdir() if p.name not in ours)
    return json.loads(json.dumps(held, sort_keys=True, default=list))


def forked(work: Callable[[], Any], out: Path | None = None, kill_after: float | None = None) -> tuple[int, float]:
    """Do some work in a child, its result as JSON in `out`; exit code (negative for a signal) and seconds."""
    start = time.monotonic()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            result = work()
            if out is not None:
                out.write_text(json.dumps(result), encoding="utf-8")
            code = 0
        except BaseException:
            traceback.print_exc()
        sys.stderr.flush()
        os._exit(code)
    if kill_after is not None:
        time.sleep(max(0.0, kill_after))
        os.kill(pid, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), time.monotonic() - start


class Trials:
    """Runs to kill: what a clean one leaves is made once for each splitter, store and kind."""

    def __init__(self, work: Path, url: str, rng: random.Random) -> None:
        self.work, self.url, self.rng, self.source = work, url, rng, work / "rules"
        self.clean: dict[tuple[str, str, str], tuple[dict[str, Any], float]] = {}
        self.n = 0

    def _place(self, store: str) -> Place:
        self.n += 1
        return Place(self.work / f"i{self.n}", store, self.url)

    def _result(self, work: Callable[[], Any]) -> tuple[Any, float]:
        out = self.work / "result.json"
        code, seconds = forked(work, out)
        if code:
            raise RuntimeError(f"a run that nobody killed ended with {code}")
        return json.loads(out.read_text(encoding="utf-8")), seconds

    def prepared(self, name: str, store: str, kind: str) -> Place:
        """An index to begin with: none, or the state before the change."""
        place = self._place(store)
        if kind != "new":
            start = self.work / f"start-{name.replace(':', '-').replace('/', '-')}-{store}"
            if store == "server" or not start.exists():
                target = place if store == "server" else Place(start, store)
                write_corpus(self.source, changed=False)
                self._result(lambda: state(target.update(self.source, name)))
            if store != "server":
                shutil.copytree(start, place.folder)
        write_corpus(self.source, changed=True)
        return place

    def wanted(self, name: str, store: str, kind: str) -> tuple[dict[str, Any], float]:
        """State after a clean run, and its seconds."""
        key = name, store, kind
        if key not in self.clean:
            place = self.prepared(*key)
            self.clean[key] = self._result(lambda: state(place.update(self.source, name, kind == "force")))
        return self.clean[key]

    def look(self, place: Place, name: str, allowed: Sequence[Any]) -> int:
        """What a reader sees after a kill: 0 when it is the old state or the new one, or that there is none yet."""
        def read() -> None:
            from ragnb.documents.span import InputError
            from ragnb.indexing.folder_index import Index
            try:
                index = Index.open(place.folder, toy_embedding(), parser=splitter(name), store=place.store())
            except InputError as error:
                assert None in allowed and "ragnb index" in str(error), error
                return
            if place.kind == "folder":
                assert state(index, disk=False) in allowed, "a reader saw something between"
        return forked(read)[0]

    def trial(self, name: str, store: str, kind: str) -> tuple[int, list[str]]:
        """Kill a run once or twice and finish it; how many were killed, and what then differed."""
        want, seconds = self.wanted(name, store, kind)
        place, killed = self.prepared(name, store, kind), 0
        old = None
        if kind != "new" and store == "folder":
            old = self._result(lambda: state(_opened(place, name), disk=False))[0]
        for _ in range(1 + (self.rng.random() < 0.25)):
            run = lambda: place.update(self.source, name, kind == "force" and not killed)  # noqa: E731
            ended = forked(lambda: run() and None, kill_after=self.rng.uniform(0, 1.1 * seconds))[0]
            if ended not in (0, -signal.SIGKILL):
                return killed, ["a run failed after a kill"]
            killed += ended == -signal.SIGKILL
            allowed = [old, {k: v for k, v in want.items() if k != "not of the index"}]
            if self.look(place, name, allowed):
                return killed, ["a reader saw neither state"]
        try:
            got, _ = self._result(lambda: state(place.update(self.source, name)))
        except RuntimeError as error:
            return killed, [str(error)]
        differs = [part for part in want if got[part] != want[part]]
        if "not of the index" in differs:
            differs += [f"{got['not of the index']} instead of {want['not of the index']}"]
        if not differs and place.folder.exists():
            shutil.rmtree(place.folder)
        return killed, differs


def _opened(place: Place, name: str) -> Any:
    """The index of a place."""
    from ragnb.indexing.folder_index import Index
    return Index.open(place.folder, toy_embedding(), parser=splitter(name), store=place.store())


def kill_runs(trials: Trials, kills: int, cells: Sequence[tuple[str, str, str]]) -> tuple[Counter[tuple[str, str]], list[str]]:
    """Go round splitters, stores and kinds until so many runs were killed; kills by (store, kind), and the differences."""
    counts: Counter[tuple[str, str]] = Counter()
    wrong: list[str] = []
    for name, store, kind in itertools.cycle(cells):
        if counts.total() >= kills:
            return counts, wrong
        killed, differs = trials.trial(name, store, kind)
        counts[store, kind] += killed
        if differs:
            wrong.append(f"{name} x {store} x {kind}: {', '.join(differs)}")
            print("DIFFERS", wrong[-1], flush=True)


def main() -> int:
    """Print how many runs were killed, and how many of them did not come out like a clean one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--stores", nargs="*", default=STORES, choices=STORES)
    parser.add_argument("--splitters", nargs="*", default=SPLITTERS)
    args = parser.parse_args()
    import_once()
    cells = list(itertools.product(args.splitters, args.stores, KINDS))
    rng = random.Random(args.seed)
    rng.shuffle(cells)
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as work:
        with chroma_server(Path(work, "server")) if "server" in args.stores else _nothing() as url:
            counts, wrong = kill_runs(Trials(Path(work), url, rng), args.kills, cells)
    for (store, kind), n in sorted(counts.items()):
        print(f"{store:<7} {kind:<7} {n:>4} killed")
    print(f"{counts.total()} kills over {len(args.splitters)} splitters, {len(args.stores)} stores and {len(KINDS)} kinds of run: "
          f"{len(wrong)} differing ({time.monotonic() - start:.0f} s)")
    return len(wrong) > 0


@contextmanager
def _nothing() -> Iterator[str]:
    """No server."""
    yield ""


if __name__ == "__main__":
    sys.exit(main())
