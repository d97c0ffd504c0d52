"""What an index knows besides its documents, files next to it that are spoiled, and commands on a full disk."""
from __future__ import annotations

import errno
import gc
import json
import os
import shutil
import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import one_line, write

from ragnb.context.conversation import Conversation
from ragnb.documents.span import InputError
from ragnb.indexing.collections import stale_copies
from ragnb.indexing.folder_index import Index, IndexedFolder, open_checked, open_file, read_folders
from ragnb.indexing.writing import read_patterns
from ragnb.indexing.update import index_documents, update_index
from ragnb.retrieval.sqlite_store import packed

PAPERS = {"보안.md": "# 보안 규정\n\n출입증은 매년 바꾼다.\n", "폐지/보안-2015.md": "# 옛 보안 규정\n\n출입증은 평생 쓴다.\n", "사진.png": b"\x89PNG"}
ODD = ["", "7", "null", '"text"', "[]", "[7]", '{"a": 7}', '{"a": {"exclude": 7}}', '{"a": {"exclude": "old/"}}', '{"a": {"exclude": [7]}}',
       '{"a', "[" * 100_000, '{"a":' * 100_000, b"\xff\xfe\0"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A folder, and its index without a sub-folder, which no connection of this process has open."""
    base = tmp_path_factory.mktemp("made")
    docs = write(base / "docs", PAPERS)
    update_index(docs, base / "index", exclude=["폐지/"], show_progress=False)
    gc.collect()
    return docs, base / "index"


@pytest.fixture
def place(made: tuple[Path, Path], tmp_path: Path) -> tuple[Path, Path]:
    """The folder, and a copy of its index."""
    shutil.copytree(made[1], tmp_path / "index")
    return made[0], tmp_path / "index"


OLD = """
CREATE TABLE about (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE document (doc INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, title BLOB, lengths BLOB, signs BLOB);
CREATE TABLE stored (doc INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, levels TEXT, outline BLOB);
CREATE TABLE entry (id TEXT PRIMARY KEY, told TEXT, holding BLOB) WITHOUT ROWID;
CREATE TABLE model (name TEXT PRIMARY KEY, data BLOB) WITHOUT ROWID;
CREATE TABLE folder (root TEXT PRIMARY KEY, told BLOB) WITHOUT ROWID;
CREATE TABLE copy (place TEXT PRIMARY KEY, generation INTEGER) WITHOUT ROWID;
INSERT INTO about VALUES ('generation', 2), ('finished', 1), ('manifest', '{"format": 6}');
"""   # Of format 6, which had no checksums in its rows


def earlier(place: Path, root: Path, folders: bool = True) -> None:
    """Make an index as an earlier version left it, with or without the table of folders."""
    for file in place.glob("index.db*"):
        file.unlink()
    (place / "index.sum").write_text('{"state": 2, "crc": 7, "patterns": 1}')
    db = sqlite3.connect(place / "index.db")
    db.executescript(OLD)
    db.execute("INSERT INTO folder VALUES (?, ?)", [str(root), packed({"patterns": {"include": [], "exclude": ["폐지/"]}, "skipped": []})])
    if not folders:
        db.execute("DROP TABLE folder")
    db.commit()
    db.close()


@pytest.mark.parametrize("content", [None, *ODD])
def test_no_file_next_to_an_index_changes_what_it_answers(place: tuple[Path, Path], run: Callable, content: str | bytes | None) -> None:
    """Each file that is there or was there once: missing, or with something else in it."""
    docs, index = place
    names = {p.name for p in index.iterdir() if not p.name.startswith("index.db")} | {"index.sum", "patterns.json", "skipped.json", "writer.lock.json", "manifest.json"}
    for name in names:
        (index / name).unlink(missing_ok=True)
        if content is not None:
            (index / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    asked, updated = run("ask", "출입증은 언제 바꾸나?", "--index", index), run("index", docs, "--index", index, "--quiet")
    assert (asked[0], updated[0]) == (0, 0), (asked[2], updated[2])
    assert "매년 바꾼다" in asked[1] and "--exclude: '폐지/' as before" in updated[2] and "skipped as before: 1" in updated[2]
    assert Index.open(index).doc_ids == ["보안.md"]


@pytest.mark.parametrize("folders", [True, False])
def test_an_index_of_an_earlier_version_is_refused_with_the_command_that_makes_it_again(
        place: tuple[Path, Path], run: Callable, folders: bool) -> None:
    docs, index = place
    earlier(index, docs, folders)
    for command in (("ask", "출입증은?"), ("index", docs, "--quiet"), ("remove", "보안.md"), ("info",)):
        line = one_line(run(*command, "--index", index))
        assert "was made by an earlier version" in line and f"`ragnb index PATH --index {index} --force`" in line
    if not folders:
        assert "--include none --exclude none" in one_line(run("index", docs, "--index", index, "--quiet", "--force"))
    more = () if folders else ("--include", "none", "--exclude", "폐지/")
    assert run("index", docs, "--index", index, "--quiet", "--force", *more)[0] == 0
    assert update_index(docs, index, show_progress=False)[0].doc_ids == ["보안.md"]
    assert not (index / "index.sum").exists() and "매년 바꾼다" in run("ask", "출입증은 언제 바꾸나?", "--index", index)[1]


@pytest.mark.parametrize("damage", [lambda data: b"", lambda data: data[:20_000], lambda data: b"\xff" * 100 + data[100:]])
def test_patterns_in_a_damaged_index_must_be_named_again(place: tuple[Path, Path], run: Callable, damage: Callable[[bytes], bytes]) -> None:
    docs, index = place
    (index / "index.db").write_bytes(damage((index / "index.db").read_bytes()))
    assert "--force" in one_line(run("index", docs, "--index", index, "--quiet"))
    assert f"--index {index} --force --include none --exclude none`" in one_line(run("index", docs, "--index", index, "--quiet", "--force"))
    assert run("index", docs, "--index", index, "--quiet", "--force", "--include", "none", "--exclude", "폐지/")[0] == 0
    assert update_index(docs, index, show_progress=False)[0].doc_ids == ["보안.md"]


def test_patterns_stay_when_their_folder_leaves_the_index(place: tuple[Path, Path], tmp_path: Path) -> None:
    docs, index = place
    notes = write(tmp_path / "notes", {"회의.md": "회의는 월요일이다."})
    update_index(notes, index, force=True, show_progress=False)
    assert update_index(docs, index, show_progress=False)[0].doc_ids == ["보안.md", "회의.md"]
    Index.open(index).remove(["보안.md"])
    update_index(notes, index, show_progress=False)
    assert update_index(docs, index, show_progress=False)[0].doc_ids == ["보안.md", "회의.md"]


def test_a_folder_that_moves_keeps_its_patterns_or_stops(made: tuple[Path, Path], place: tuple[Path, Path], tmp_path: Path) -> None:
    docs, index = shutil.copytree(made[0], tmp_path / "first"), tmp_path / "other"
    update_index(docs, index, exclude=["폐지/"], include=["*.log"], show_progress=False)
    moved = docs.rename(tmp_path / "second")
    for given in ({}, {"exclude": ["폐지/"]}, {"include": ["*.log"]}):
        with pytest.raises(InputError, match="has moved to"):
            update_index(moved, index, show_progress=False, **given)
        assert Index.open(index).doc_ids == ["보안.md"]
    _, report = update_index(moved, index, exclude=["폐지/"], include=(), show_progress=False)
    assert report.moved == [str(docs)] and Index.open(index).doc_ids == ["보안.md"]
    assert read_patterns(index, str(moved)) == {"include": [], "exclude": ["폐지/"]}


def test_a_note_does_not_make_a_copy_old(place: tuple[Path, Path]) -> None:
    """The second update stores a note on the patterns; the documents of the copy are those of the index."""
    docs, index = place
    database = open_file(index, read_only=False)
    database.insert("copy", [("http://localhost:1", Index.open(index).store.version)])
    database.close()
    update_index(docs, index, show_progress=False)
    assert stale_copies(index) == []
    Index.open(index).remove(["보안.md"])
    assert stale_copies(index) == ["http://localhost:1"]


def test_a_batch_without_files_leaves_patterns_alone(place: tuple[Path, Path]) -> None:
    from llama_index.core.schema import Document
    docs, index = place
    index_documents([Document(text="회의는 월요일이다.", id_="n")], index, show_progress=False)
    assert update_index(docs, index, show_progress=False)[0].doc_ids == ["n", "보안.md"]


def test_an_update_that_skips_the_same_writes_nothing(place: tuple[Path, Path]) -> None:
    docs, index = place
    update_index(docs, index, show_progress=False)     # its note on the patterns is new
    before = Index.open(index).store.version
    _, report = update_index(docs, index, show_progress=False)
    assert Index.open(index).store.version == before and [p.where for p in report.known if p.n] == ["사진.png"]
    assert isinstance(read_folders(open_checked(index))[str(docs)], IndexedFolder)


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_nobody_else_reads_an_index(tmp_path: Path, run: Callable) -> None:
    docs = write(tmp_path / "corpus", {"hr/a.md": "연차는 15일이다."})
    (tmp_path / "t.json").write_text('{"hr_db": ["hr"]}')
    assert run("index", docs, "--all", "--collections", tmp_path / "t.json", "--index", tmp_path / "new", "--quiet")[0] == 0
    index = tmp_path / "new" / "hr_db"
    assert stat.S_IMODE(index.stat().st_mode) == 0o700
    assert {p.name: stat.S_IMODE(p.stat().st_mode) for p in index.iterdir()} == {p.name: 0o600 for p in index.iterdir()}


COMMANDS = {
    "remove": ("remove", "보안.md"), "history": ("ask", "출입증은?", "--history", "OUT/talk.jsonl"), "html": ("ask", "출입증은?", "--html", "OUT/why.html"),
    "trace": ("trace", "출입증은?", "--html", "OUT/why.html"), "index": ("index", "DOCS", "--exclude", "none", "--quiet"),
    "questions": ("questions", "DOCS", "--n", "2", "--out", "OUT/q.jsonl")}


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.shed] * (name == "questions")) for name in COMMANDS])
def test_a_command_on_a_full_disk_ends_with_one_line_and_leaves_nothing(
        place: tuple[Path, Path], run: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    docs, index = place
    if name == "questions":
        parts = [f"## {kind} 신청\n\n{kind} 신청서는 {n}일 전에 인사팀에 낸다.\n\n" for n, kind in enumerate("출장 연차 병가 교육".split(), 3)]
        docs = write(tmp_path / "more", {"a.md": "# 신청 절차\n\n" + "".join(parts)})
    out = tmp_path / "out"
    out.mkdir()
    words = [word.replace("OUT", str(out)).replace("DOCS", str(docs)) for word in COMMANDS[name]]
    places = [] if name == "questions" else ["--index", index]
    write_bytes, before = Path.write_bytes, Index.open(index).doc_ids
    gc.collect()

    def full(path: Path, data: bytes) -> int:
        if path.parent != out:
            return write_bytes(path, data)
        write_bytes(path, data[:len(data) // 2])
        raise OSError(errno.ENOSPC, "No space left on device")

    def full_database(*args: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")
    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_bytes", full)
        patched.setattr("ragnb.indexing.commits.write_state", full_database)
        code, _, err = run(*words, *places)
    assert code == 2 and err.splitlines()[-1].startswith("ragnb: ") and "Traceback" not in err, err
    assert [p.name for p in out.iterdir() if not p.name.endswith(".lock")] == [] and Index.open(index).doc_ids == before
    assert run(*words, *places)[0] == 0
    if name == "history":
        assert len(Conversation.load(out / "talk.jsonl").turns) == 1
