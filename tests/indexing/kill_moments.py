"""Kill `update_index` at chosen moments, run it again, and print what the index then holds (for test_killed).

    python kill_moments.py JOB.json

The job names an index to start from (or none), the folder to index, an embedding and the moments. The process forks
twice for each moment, so that the libraries are imported only once (nothing that starts threads is made before a
fork); a killed run dies by SIGKILL, at the n-th call (or return) of one of the functions that write.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import threading
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import chromadb  # noqa: F401  (imported once, before the forks; no client is made here)
import chromadb.api.rust  # noqa: F401
import scipy.linalg  # noqa: F401
import scipy.sparse  # noqa: F401
from helpers_ingest import make_embedding, plain_words, state
from tqdm import tqdm

from ragnb.indexing import commits, update
from ragnb.indexing.commits import IndexWriter
from ragnb.indexing.folder_index import Index
from ragnb.indexing.update import IndexUpdate, update_index
from ragnb.retrieval.bm25 import Bm25
from ragnb.storage import chroma

# the lock of progress bars is shared with forked children: one that is killed while it holds it would stop all others
tqdm.monitor_interval = 0
tqdm.set_lock(threading.RLock())

POINTS = [  # Whatever changes the disk
    (commits, "write_atomically"), (update, "save_embedding"), (Bm25, "save"), (commits.shutil, "rmtree"),
    (chroma.ChromaStore, "_replace"), (chroma.ChromaStore, "_remove"), (chroma.ChromaStore, "_write_vectors"),
    (chroma._Rows, "write"), (chroma._Rows, "delete"), (chroma._Rows, "write_vectors"), (IndexWriter, "commit"),
]


def arm(moment: int) -> None:
    """Die at the given moment; print how many there were when it never comes."""
    count = 0

    def tick() -> None:
        nonlocal count
        count += 1
        if count == moment:
            os.kill(os.getpid(), signal.SIGKILL)

    def around(function):
        def wrapper(*args, **kwargs):
            tick()
            result = function(*args, **kwargs)
            tick()
            return result
        return wrapper

    for owner, name in POINTS:
        setattr(owner, name, around(getattr(owner, name)))


def small_batches() -> None:
    """Many batches and commits, also for a few documents."""
    batches, in_turn = update._batches, IndexUpdate._in_turn
    update._batches = lambda parsed: batches(parsed, 6)
    IndexUpdate._in_turn = lambda *args: in_turn(*args, every=12)


def forked(function) -> int:
    """Run a function in a child; its exit code, negative for a signal."""
    pid = os.fork()
    if pid == 0:
        try:
            function()
            code = 0
        except BaseException:
            traceback.print_exc()
            code = 1
        sys.stdout.flush()
        os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def main() -> None:
    job = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    small_batches()
    parser = plain_words()
    for moment in job["moments"]:
        folder = Path(job["work"], f"at{moment}")
        if job["start"]:
            shutil.copytree(job["start"], folder)

        def run(kill: int) -> None:
            arm(kill)
            update_index(job["source"], folder, embed=make_embedding(job["embed"]), parser=parser, show_progress=False)

        def resume() -> None:
            look()
            index, _ = update_index(
                job["source"], folder, embed=make_embedding(job["embed"]), parser=parser, show_progress=False
            )
            Path(job["work"], f"at{moment}.json").write_text(json.dumps(state(index)), encoding="utf-8")

        def look() -> None:  # an index that is half way either opens and can be read, or says that it is not there yet
            try:
                index = Index.open(folder, make_embedding(job["embed"]))
            except ValueError as error:
                assert not job["start"] and "ragnb index" in str(error), error
                return
            assert index.store.get_chunks(index.bm25.ids).missing == ()

        print(json.dumps([moment, forked(lambda: run(moment)), forked(resume)]), flush=True)


if __name__ == "__main__":
    main()
