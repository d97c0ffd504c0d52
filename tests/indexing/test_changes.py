"""Documents taken out or moved, a folder that cannot be written, a full disk: nothing is lost."""
from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from helpers_ingest import many, plain_words, state, text_of, ToyEmbedding, update, write

from ragnb import Index, InputError
from ragnb.cli import main
from ragnb.indexing.writing import remove_documents
from ragnb.indexing import commits
from ragnb.machinery.atomic import WriteLock
from ragnb.indexing.commits import LOCK

HERE = Path(__file__).resolve().parent


def toy(folder: Path) -> Index:
    return Index.open(folder, ToyEmbedding(embed_dim=32))


def test_a_removed_document_leaves_every_part(tmp_path, monkeypatch):
    parser = plain_words(monkeypatch.setattr)
    source = write(tmp_path / "s", {f"{i}.md": text_of(i) for i in range(4)})
    index, _, _ = update(source, tmp_path / "i", parser=parser)
    before = state(index)
    for ids in (["1.md", "nowhere"], ["nowhere"]):
        with pytest.raises(InputError, match="no document 'nowhere'.*ragnb ls"):
            index.remove(ids)
    assert state(toy(tmp_path / "i")) == before
    opened = toy(tmp_path / "i")
    index.remove(["1.md", "1.md", "3.md"])
    write(source, {"1.md": None, "3.md": None})
    want = state(update(source, tmp_path / "j", parser=parser)[0])
    assert state(index) == state(toy(tmp_path / "i")) == state(opened) == want
    remove_documents([], tmp_path / "i", embed=ToyEmbedding(embed_dim=32))
    write(source, {"1.md": text_of(1)})  # still in its folder: it comes back
    assert update(source, tmp_path / "i")[1] == (1, 0, 0, 2)
    with pytest.raises(InputError, match="no index"):
        remove_documents(["a"], tmp_path / "nowhere")
    assert not (tmp_path / "nowhere").exists()


def test_a_folder_that_moved_is_not_done_again(tmp_path, monkeypatch):
    parser = plain_words(monkeypatch.setattr)
    source = write(tmp_path / "one", {f"{i}.md": text_of(i) for i in range(4)})
    update(source, tmp_path / "i", parser=parser)
    source.rename(tmp_path / "two")
    write(tmp_path / "two", {"0.md": None, "1.md": text_of(9)})  # deleted and edited on the way
    write(tmp_path / "one", {})  # an empty folder is left, as a mount point is
    emb = ToyEmbedding(embed_dim=32)
    index, counts, report = update(tmp_path / "two", tmp_path / "i", emb)
    assert counts == (0, 1, 1, 2) and report.moved == [str(tmp_path / "one")] and not report.problems
    assert state(index) == state(update(tmp_path / "two", tmp_path / "j", parser=parser)[0])
    assert update(tmp_path / "two", tmp_path / "i")[1] == (0, 0, 0, 3)


def test_a_folder_out_of_reach_is_not_taken_for_one_that_moved(tmp_path, monkeypatch):
    parser = plain_words(monkeypatch.setattr)
    one = write(tmp_path / "one", {"README.md": text_of(1), "a.md": text_of(2), "b.md": text_of(3)})
    two = write(tmp_path / "two", {"README.md": text_of(4), "c.md": text_of(5)})
    update(one, tmp_path / "i", parser=parser)
    one.rename(tmp_path / "away")
    index, counts, report = update(two, tmp_path / "i")
    assert counts == (1, 1, 0, 0) and not report.moved
    assert index.doc_ids == ["README.md", "a.md", "b.md", "c.md"]


def test_only_new_text_is_embedded(tmp_path, monkeypatch):
    parser = plain_words(monkeypatch.setattr)
    source = write(tmp_path / "s", {"a.md": text_of(1, 200), "b.md": text_of(2)})
    update(source, tmp_path / "i", parser=parser)
    write(source, {"a.md": text_of(1, 200) + "\n\n" + text_of(7)})
    index, counts, report = update(source, tmp_path / "i")
    searched = sum(i.startswith("a.md") for i in index.store.matching())
    assert counts == (0, 1, 0, 1) and searched // 2 < report.vectors_kept < searched
    assert state(index) == state(update(source, tmp_path / "j", parser=parser)[0])


LIMITED = """
import resource, signal, sys
sys.path.insert(0, sys.argv[1])
from helpers_ingest import make_embedding, plain_words
from ragnb.indexing.update import update_index
parser = plain_words()
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[4]), resource.RLIM_INFINITY))
try:
    update_index(sys.argv[2], sys.argv[3], embed=make_embedding("toy"), parser=parser, show_progress=False)
except Exception as error:
    print(type(error).__name__, error)
"""


@pytest.mark.heavy
@pytest.mark.skipif(not hasattr(os, "fork"), reason="limits of a process")
def test_a_full_disk_loses_nothing(tmp_path, monkeypatch):
    parser = plain_words(monkeypatch.setattr)
    source = many(tmp_path / "s", 6)
    update(source, tmp_path / "i", parser=parser)
    want = state(toy(tmp_path / "i"))
    write(source, {"000.md": text_of(77, 150), "new.md": text_of(78, 400)})
    for limit in (2_000, 60_000):    # of the shared memory of SQLite, and of its log
        run = subprocess.run(
            [sys.executable, "-c", LIMITED, str(HERE.parent), str(source), str(tmp_path / "i"), str(limit)],
            capture_output=True, text=True, timeout=400)
        assert run.stdout.strip() and run.returncode == 0, (limit, run.stdout, run.stderr[-2000:])
        assert state(toy(tmp_path / "i")) == want, limit
    index, _, _ = update(source, tmp_path / "i")
    assert state(index) == state(update(source, tmp_path / "j", parser=parser)[0])


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="rights of a folder")
def test_a_folder_that_cannot_be_written_says_so(tmp_path, monkeypatch):
    source = write(tmp_path / "s", {"a.md": text_of(1)})
    update(source, tmp_path / "i")
    write(source, {"a.md": text_of(2)})
    before = {p: p.read_bytes() for p in (tmp_path / "i").rglob("*") if p.is_file()}

    def refused(*_):
        raise PermissionError(13, "Permission denied", "writer.lock")

    monkeypatch.setattr(commits, "WriteLock", refused)
    with pytest.raises(InputError, match="index in .* cannot be written: Permission denied"):
        update(source, tmp_path / "i")
    assert {p: p.read_bytes() for p in (tmp_path / "i").rglob("*") if p.is_file()} == before


def test_asking_while_force_makes_it_anew(tmp_path, monkeypatch):
    parser = plain_words(monkeypatch.setattr)
    source = many(tmp_path / "s", 6)
    update(source, tmp_path / "i", parser=parser)
    want, seen = state(toy(tmp_path / "i")), []

    class Asked(ToyEmbedding):
        def _get_text_embeddings(self, texts):
            seen.append(state(toy(tmp_path / "i")) == want)
            return super()._get_text_embeddings(texts)

    Asked.__name__ = "ToyEmbedding"
    write(source, {"000.md": None})
    index, counts, _ = update(source, tmp_path / "i", Asked(embed_dim=32), force=True, parser=parser)
    assert counts == (5, 0, 0, 0) and seen and all(seen) and "000.md" not in toy(tmp_path / "i").doc_ids


def test_list_and_remove(tmp_path, capsys):
    write(tmp_path / "s", {"a.md": "---\ntitle: 휴가규정\n---\n\n연차는 15일이다.\n", "b.md": "병가는 60일이다.\n"})
    where = ["--index", str(tmp_path / "i")]
    assert main(["index", str(tmp_path / "s"), "--quiet", *where]) == 0
    capsys.readouterr()
    assert main(["ls", *where]) == 0
    head, *lines, blank, keys, note = capsys.readouterr().out.splitlines()
    assert note.startswith("(no document has a doc_type")
    assert not blank and keys.startswith("--where takes: ") and {"title", "doc_id", "folder"} <= set(keys.partition(": ")[2].split(", "))
    assert head.split() == ["id", "chunks", "characters", "doc_type", "title"] and [x.split()[0] for x in lines] == ["a.md", "b.md"]
    assert main(["ls", "--json", *where]) == 0
    listed = json.loads(capsys.readouterr().out)
    rows = listed["documents"]
    assert set(listed) == {"index", "documents"}
    assert [set(r) for r in rows] == [{"id", "title", "doc_type", "chunks", "characters", "metadata"}] * 2
    assert main(["remove", "c.md", *where]) == 2 and "no document 'c.md'" in capsys.readouterr().err
    assert main(["remove", "a.md", *where]) == 0 and "1 removed, 1 left" in capsys.readouterr().out
    assert Index.open(tmp_path / "i").doc_ids == ["b.md"]
    assert main(["ls", "--index", str(tmp_path / "nowhere")]) == 2


def test_the_command_line_tells_who_writes(tmp_path, capsys):
    update(write(tmp_path / "s", {"a.md": text_of(1)}), tmp_path / "i", "ngram")
    with WriteLock(tmp_path / "i" / LOCK, "the index"):
        code = main(["index", str(tmp_path / "s"), "--index", str(tmp_path / "i"), "--wait", "0", "--quiet"])
    told = capsys.readouterr().err
    assert code == 2 and f"being written by process {os.getpid()}" in told and told.count("\n") == 1


@pytest.mark.parametrize("force", [False, True])
def test_what_a_killed_run_was_writing_is_removed_by_the_next(tmp_path, force):
    """A process killed between writing a small file and renaming it leaves `index.tmp` or `writer.tmp`."""
    source, place = write(tmp_path / "s", {"a.md": text_of(1)}), tmp_path / "i"
    update(source, place, "toy")
    for name in ("index.tmp", "writer.tmp"):
        (place / name).write_text("{")
    write(tmp_path / "s", {"b.md": text_of(2)})
    update(source, place, "toy", force=force)
    assert not list(place.glob("*.tmp"))
