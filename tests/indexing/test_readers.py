"""Writers and readers of one index at the same time: one writer, and every answer of the old or the new state."""
from __future__ import annotations

import gc
import json
import os
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from helpers_ingest import plain_words, state, text_of, ToyEmbedding, update, write

from ragnb import HybridRetriever, Index, IndexMismatchError, InputError, VectorRetriever
from ragnb.machinery.atomic import LockedError, WriteLock
from ragnb.indexing.commits import LOCK
from ragnb.retrieval.hybrid import WordRetriever

HERE = Path(__file__).resolve().parent
WRITER = """
import sys
sys.path.insert(0, sys.argv[1])
from helpers_ingest import make_embedding, plain_words
from ragnb.indexing.update import update_index
parser = plain_words()
for line in sys.stdin:
    source, folder = line.split()
    update_index(source, folder, embed=make_embedding("toy"), parser=parser, show_progress=False, wait=200)
    print("done", flush=True)
"""


def writer() -> subprocess.Popen:
    """A process that updates the index it is told to."""
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(HERE.parent)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def tell(process: subprocess.Popen, source: Path, folder: Path) -> None:
    process.stdin.write(f"{source} {folder}\n")
    process.stdin.flush()


@pytest.fixture(scope="module")
def writers():
    made = [writer(), writer()]
    yield made
    for process in made:
        process.stdin.close()
        assert process.wait(60) == 0
        process.stdout.close()


def toy(folder: Path) -> Index:
    return Index.open(folder, ToyEmbedding(embed_dim=32))


@pytest.mark.heavy
def test_two_writers_at_once_lose_nothing(tmp_path, monkeypatch, writers):
    parser = plain_words(monkeypatch.setattr)
    sources = [write(tmp_path / name, {f"{name}{i}.md": text_of(10 * k + i) for i in range(3)}) for k, name in enumerate("ab")]
    for turn in range(3):  # a new index, then updates
        for k, source in enumerate(sources):
            if turn:
                write(source, {f"{'ab'[k]}{turn}.md": text_of(50 * turn + k, 30)})
        for process, source in zip(writers, sources):
            tell(process, source, tmp_path / "i")
        assert [process.stdout.readline() for process in writers] == ["done\n"] * 2
        for source in sources:
            update(source, tmp_path / f"clean{turn}", parser=parser)
        index, clean = toy(tmp_path / "i"), toy(tmp_path / f"clean{turn}")
        got, want = state(index), state(clean)
        assert got == want and len(index.doc_ids) == 6


def test_a_second_writer_is_told_who_writes(tmp_path):
    source = write(tmp_path / "s", {"a.md": text_of(1)})
    update(source, tmp_path / "i")
    before = {p.name for p in (tmp_path / "i").iterdir()}
    with WriteLock(tmp_path / "i" / LOCK, "the index"):
        for force in (False, True):
            with pytest.raises(LockedError, match=rf"is being written by process {os.getpid()} on .*, since 20.*try again"):
                update(source, tmp_path / "i", wait=0.05, force=force)
        assert toy(tmp_path / "i").doc_ids == ["a.md"]  # reading needs no lock
    assert {p.name for p in (tmp_path / "i").iterdir()} == before
    assert update(source, tmp_path / "i", wait=0)[1] == (0, 0, 0, 1)


def test_an_open_index_follows_its_file(tmp_path, monkeypatch):
    parser = plain_words(monkeypatch.setattr)
    source = write(tmp_path / "s", {f"{i}.md": text_of(i) for i in range(3)})
    update(source, tmp_path / "i", parser=parser)
    reader = toy(tmp_path / "i")
    state(reader)
    for turn in range(2):
        update(write(source, {"0.md": text_of(20 + turn), "1.md": None if turn == 0 else text_of(9)}), tmp_path / "i")
        assert state(reader) == state(toy(tmp_path / "i")), turn
        assert ("1.md" in reader.doc_ids) == bool(turn)


def test_an_open_index_asks_with_the_embedding_that_was_fitted_anew(tmp_path, monkeypatch):
    parser = plain_words(monkeypatch.setattr)
    source = write(tmp_path / "s", {f"{i}.md": text_of(i) for i in range(3)})
    update(source, tmp_path / "i", "ngram", parser=parser)
    reader = Index.open(tmp_path / "i")
    retriever = VectorRetriever(reader.store, reader.embed_model)
    _, _, report = update(write(source, {f"n{i}.md": text_of(40 + i, 90) for i in range(4)}), tmp_path / "i", "ngram")
    assert report.refitted
    again = Index.open(tmp_path / "i")
    want = VectorRetriever(again.store, again.embed_model).retrieve("연차는 며칠인가")
    with reader.store.snapshot():
        found = retriever.retrieve("연차는 며칠인가")
    assert [(h.node_id, h.score) for h in found] == [(h.node_id, h.score) for h in want]


def test_an_index_that_was_made_anew_otherwise_says_so(tmp_path, monkeypatch):
    parser = plain_words(monkeypatch.setattr)
    source = write(tmp_path / "s", {"a.md": text_of(1)})
    update(source, tmp_path / "i", parser=parser)
    reader = toy(tmp_path / "i")
    update(source, tmp_path / "i", parser="sentence", force=True)
    with pytest.raises(IndexMismatchError, match="made anew.*open it again"):
        with reader.store.snapshot():
            pass


@pytest.mark.heavy
def test_every_answer_is_of_the_old_or_the_new_state(tmp_path, monkeypatch, writers):
    parser = plain_words(monkeypatch.setattr)
    source = write(tmp_path / "s", {f"{i}.md": text_of(i) for i in range(4)})
    update(source, tmp_path / "i", parser=parser)

    def answer(index: Index) -> str:
        with index.store.snapshot():
            members = {"bm25": WordRetriever(index.store), "vector": VectorRetriever(index.store, index.embed_model)}
            hits = HybridRetriever(members).retrieve("연차는 며칠인가")
        return json.dumps([[h.node_id, h.text, round(h.score, 6)] for h in hits], ensure_ascii=False)

    allowed, asked = {answer(toy(tmp_path / "i"))}, 0
    for turn in range(5):
        write(source, {f"{turn % 4}.md": text_of(30 + turn, 12 + turn)})
        update(source, tmp_path / f"clean{turn}", parser=parser)
        new = answer(toy(tmp_path / f"clean{turn}"))
        tell(writers[0], source, tmp_path / "i")
        done = threading.Thread(target=writers[0].stdout.readline)
        done.start()
        seen = []
        while done.is_alive():
            seen.append(answer(toy(tmp_path / "i")))
        done.join()
        assert set(seen) <= allowed | {new}, turn
        assert answer(toy(tmp_path / "i")) == new
        asked, allowed = asked + len(seen), {new}
    assert asked > 5


def test_a_run_killed_before_its_first_file_has_a_name_does_not_block_the_folder(tmp_path):
    source = write(tmp_path / "s", {"a.md": text_of(1)})
    write(tmp_path / "i", {"index.db-wal": "", "writer.lock": "", "writer.json": "{}", "index.tmp": "{"})
    with pytest.raises(InputError, match="no index"):
        toy(tmp_path / "i")
    assert update(source, tmp_path / "i")[1] == (1, 0, 0, 0)
    assert toy(tmp_path / "i").doc_ids == ["a.md"]


def test_a_folder_that_cannot_be_written_can_be_asked(tmp_path):
    """As on a medium that is read only: SQLite cannot make the files that its readers share."""
    update(write(tmp_path / "s", {"a.md": text_of(1)}), tmp_path / "i", "ngram")
    gc.collect()
    place = tmp_path / "alone"
    place.mkdir()
    (place / "index.db").write_bytes((tmp_path / "i" / "index.db").read_bytes())
    want = state(Index.open(tmp_path / "i"))
    real = sqlite3.connect

    def refused(path, *args, **options):
        if "mode=rw" in str(path):
            raise sqlite3.OperationalError("unable to open database file")
        return real(path, *args, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlite3, "connect", refused)
        assert state(Index.open(place)) == want
    assert [p.name for p in place.iterdir()] == ["index.db"]
