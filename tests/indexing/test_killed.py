"""Updates that are killed, and the next one that resumes them."""
from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from helpers_ingest import (
    ToyEmbedding,
    all_vectors_are_the_embeddings,
    many,
    plain_words,
    read,
    state,
    text_of,
    update,
    write,
)
import pytest
from strategies import SLOW

from ragnb.documents.span import InputError
from ragnb.indexing.folder_index import Index

HERE = Path(__file__).resolve().parent
SLOW_RUN = """
import sys, time
sys.path.insert(0, sys.argv[3])
from helpers_ingest import ToyEmbedding, plain_words
from ragnb.indexing.update import update_index


class Slow(ToyEmbedding):
    def _get_text_embeddings(self, texts):
        print(self.batches, flush=True)
        time.sleep(0.5)
        return super()._get_text_embeddings(texts)


update_index(sys.argv[1], sys.argv[2], embed=Slow(embed_dim=32), parser=plain_words(), show_progress=False)
"""


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="kills forked processes")


def kill_at(tmp_path: Path, moments: list[int], start: Path | None, source: Path, embed: str) -> list[list[int]]:
    """Run kill_moments.py; its rows: moment, how the killed run ended, how the next one ended."""
    job = {
        "work": str(tmp_path),
        "start": start and str(start),
        "source": str(source),
        "embed": embed,
        "moments": moments,
    }
    (tmp_path / "job.json").write_text(json.dumps(job))
    done = subprocess.run(
        [sys.executable, str(HERE / "kill_moments.py"), str(tmp_path / "job.json")],
        capture_output=True,
        text=True,
        timeout=60 + 30 * len(moments),
    )
    assert done.returncode == 0, done.stderr[-3000:]
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row[0] for row in rows] == moments and all(row[2] == 0 for row in rows), (rows, done.stderr[-3000:])
    return rows


@pytest.mark.heavy
@needs_fork
@pytest.mark.parametrize(
    "what, embed, quick",
    [
        ("new", "toy", [1, 2, 4, 6, 9, 15, 22, 33]),
        ("update", "toy", [1, 2, 4, 6, 9, 13, 18, 22, 26]),
        ("refit", "ngram", [2, 5, 7, 10, 16, 23, 31]),
    ],
)
def test_killed_at_any_moment_it_resumes(tmp_path, monkeypatch, what, embed, quick):
    parser = plain_words(monkeypatch.setattr)
    source = write(tmp_path / "s", {f"{i}.md": text_of(i, 10 + i) for i in range(6)})
    start = None
    if what != "new":
        start = tmp_path / "start"
        update(source, start, embed, parser=parser)
        grown = {f"n{i}.md": text_of(20 + i, 40) for i in range(4)} if what == "refit" else {"new.md": text_of(9)}
        write(source, {"0.md": text_of(0, 2), "1.md": text_of(1, 30), "2.md": None, **grown})
    rows = kill_at(tmp_path, list(range(1, 90)) if SLOW else quick, start, source, embed)
    assert all(killed == -signal.SIGKILL for moment, killed, *_ in rows if moment <= max(quick))
    want = state(update(source, tmp_path / "fresh", parser=parser)[0]) if embed == "toy" else None
    for moment, *_ in rows:
        got = json.loads((tmp_path / f"at{moment}.json").read_text(encoding="utf-8"))
        if want is not None:
            assert got == want, moment
        else:
            index = Index.open(tmp_path / f"at{moment}")
            assert got["stale"] == [] and all_vectors_are_the_embeddings(index), moment
            assert set(got["documents"]) == set(read(source)[0]) and got["bm25"] == sorted(got["vectors"]), moment


@pytest.mark.heavy
@needs_fork
def test_killed_in_the_middle_of_embedding(tmp_path, monkeypatch):
    source = many(tmp_path / "s", 25)
    parser = plain_words(monkeypatch.setattr)
    run = subprocess.Popen(
        [sys.executable, "-c", SLOW_RUN, str(source), str(tmp_path / "i"), str(HERE.parent)],
        stdout=subprocess.PIPE,
        text=True,
    )
    for _ in range(2):
        assert run.stdout.readline()
    time.sleep(0.1)
    run.send_signal(signal.SIGKILL)
    assert run.wait(30) == -signal.SIGKILL
    with pytest.raises(InputError, match="has not finished"):
        Index.open(tmp_path / "i", ToyEmbedding(embed_dim=32))
    index, counts, _ = update(source, tmp_path / "i", parser=parser)
    assert counts == (25, 0, 0, 0) and state(index) == state(update(source, tmp_path / "j", parser=parser)[0])
