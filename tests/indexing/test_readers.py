"""Writers and readers of one index at the same time: one writer, and every answer of the old or the new state."""
from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading

from pathlib import Path

import pytest
from helpers_ingest import ToyEmbedding, plain_words, state, text_of, update, write

from ragnb.documents.locks import LockedError, WriteLock
from ragnb.documents.span import IndexMismatchError, InputError
from ragnb.indexing import commits, update as ingest
from ragnb.indexing.commits import LOCK
from ragnb.indexing.folder_index import Index, PENDING
from ragnb.retrieval.hybrid import HybridRetriever, VectorRetriever
from ragnb.retrieval.bm25 import Bm25Retriever
from ragnb.storage.chroma import close_unused

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
        [sys.executable, "-c", WRITER, str(HERE.parent)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


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


def test_an_open_index_answers_from_its_state(tmp_path, monkeypatch):
    parser = plain_words(monkeypatch.setattr)
    source = write(tmp_path / "s", {f"{i}.md": text_of(i) for i in range(3)})
    first, _, _ = update(source, tmp_path / "i", parser=parser)
    want = state(first)
    del first
    reader = toy(tmp_path / "i")
    for turn in range(2):
        update(write(source, {"0.md": text_of(20 + turn), "1.md": None if turn == 0 else text_of(9)}), tmp_path / "i")
        assert state(reader) == want and "1.md" in reader.doc_ids
    generations = sorted(p.name for p in (tmp_path / "i").glob("generation-*"))
    assert len(generations) == 2, generations  # that of the reader and the last one
    vectors = reader.store.vector_store()
    del reader
    with commits.WriteLock(tmp_path / "i" / LOCK, "the index"):
        commits.remove_unused(tmp_path / "i")
        assert len(list((tmp_path / "i").glob("chroma-*"))) == 2  # LlamaIndex's own store still reads it
        del vectors
        commits.remove_unused(tmp_path / "i")
    assert len(list((tmp_path / "i").glob("chroma-*"))) == len(list((tmp_path / "i").glob("generation-*"))) == 1
    close_unused()


@pytest.mark.heavy
def test_every_answer_is_of_the_old_or_the_new_state(tmp_path, monkeypatch, writers):
    parser = plain_words(monkeypatch.setattr)
    source = write(tmp_path / "s", {f"{i}.md": text_of(i) for i in range(4)})
    update(source, tmp_path / "i", parser=parser)

    def answer(index: Index) -> str:
        members = {
            "bm25": Bm25Retriever(index.bm25, index.store),
            "vector": VectorRetriever(index.store, index.embed_model),
        }
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


def test_a_generation_that_goes_between_two_reads_is_no_damage(tmp_path, monkeypatch):
    parser = plain_words(monkeypatch.setattr)
    source = write(tmp_path / "s", {"a.md": text_of(1)})
    update(source, tmp_path / "i", parser=parser)
    from ragnb.indexing import folder_index

    read, turns = folder_index.read_manifest, iter(range(3))

    def late(folder, *name):  # an update commits, and cleans, right after the manifest was read
        manifest = read(folder, *name)
        turn = next(turns, None)
        if turn in (0, 2):
            with monkeypatch.context() as undone:
                undone.setattr(folder_index, "read_manifest", read)
                update(write(source, {"a.md": text_of(5 + turn)}), tmp_path / "i", parser=parser)
                commits.remove_unused(tmp_path / "i")
        return manifest

    monkeypatch.setattr(folder_index, "read_manifest", late)
    index = toy(tmp_path / "i")
    assert index.store.get_outlines(["a.md"]).all()["a.md"].n_characters == len(text_of(7))


# --- a store that is not the one of the manifest ----------------------------------------------------------------------


def _half(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def _without_a_document(file: Path) -> None:
    from ragnb.storage.chroma import ChromaStore

    ChromaStore(file.parent).delete(["a.md"])


def _with_another(file: Path) -> None:
    from ragnb.storage.chroma import ChromaStore

    store = ChromaStore(file.parent)
    nodes, outline = plain_nodes("c.md")
    store.put(nodes, [outline])
    store.delete(["b.md"])


def plain_nodes(doc_id: str):
    from llama_index.core import Document

    from ragnb.chunking.units import UnitNodeParser

    nodes, outline = UnitNodeParser().parse(Document(text=text_of(2), id_=doc_id))
    for node in nodes:
        node.embedding = [1.0] * 32
    return nodes, outline


@pytest.mark.parametrize("spoil", [_half, Path.unlink, lambda f: f.write_bytes(b""), _without_a_document, _with_another])
def test_a_damaged_chroma_is_named_each_time(tmp_path, spoil):
    source = write(tmp_path / "s", {"a.md": text_of(1), "b.md": text_of(2)})
    update(source, tmp_path / "i")
    close_unused()
    (database,) = (tmp_path / "i").glob("chroma-*/chroma.sqlite3")
    spoil(database)
    for _ in range(3):
        with pytest.raises(IndexMismatchError, match="damaged.*--force"):
            toy(tmp_path / "i")
    with pytest.raises(IndexMismatchError, match="--force"):
        update(source, tmp_path / "i")
    assert update(source, tmp_path / "i", force=True)[1] == (2, 0, 0, 0)


# --- killed -----------------------------------------------------------------------------------------------------------


def test_a_run_killed_before_its_first_file_has_a_name_does_not_block_the_folder(tmp_path):
    source = write(tmp_path / "s", {"a.md": text_of(1)})
    write(tmp_path / "i", {"pending.tmp": "{", "writer.lock": "", "writer.json": "{}", "manifest.tmp": "{"})
    with pytest.raises(InputError, match="no index"):
        toy(tmp_path / "i")
    assert update(source, tmp_path / "i")[1] == (1, 0, 0, 0)
    assert toy(tmp_path / "i").doc_ids == ["a.md"]


@pytest.mark.heavy
def test_a_pending_state_that_is_damaged_or_forced_is_dropped(tmp_path, monkeypatch):
    parser = plain_words(monkeypatch.setattr)
    source = write(tmp_path / "s", {f"{i}.md": text_of(i) for i in range(6)})
    update(source, tmp_path / "i", parser=parser)
    want = state(toy(tmp_path / "i"))
    in_turn = ingest.IndexUpdate._in_turn
    monkeypatch.setattr(ingest.IndexUpdate, "_in_turn", lambda *args: in_turn(*args, every=1))
    monkeypatch.setattr(ingest, "_batches", lambda parsed: ([pair] for pair in parsed))
    for first, how in ((40, {"force": True}), (60, {})):  # other texts: vectors are kept, and not paid for twice
        write(source, {f"{i}.md": text_of(first + i) for i in range(6)})
        with pytest.raises(ConnectionError):
            update(source, tmp_path / "i", ToyEmbedding(embed_dim=32, fail_at=4, embed_batch_size=1), parser=parser, **how)
        pending = tmp_path / "i" / PENDING
        assert pending.exists() and state(toy(tmp_path / "i")) == want
        if not how:
            for part in (tmp_path / "i").glob(f"bm25-{json.loads(pending.read_text())['generation']}"):
                shutil.rmtree(part)
        write(source, {f"{i}.md": text_of(i) for i in range(6)})
        index, counts, _ = update(source, tmp_path / "i", parser=parser)
        assert counts == (0, 0, 0, 6) and state(index) == want and not pending.exists()
