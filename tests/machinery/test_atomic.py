"""Files that are written: whole, under a name of their own, never in place of something else; and locks next to them."""
from __future__ import annotations

import ast
import errno
import os
import stat
import threading
from pathlib import Path

import pytest
from conftest import syntax
from hypothesis import given
from hypothesis import strategies as st

from ragnb.context.conversation import Conversation
from ragnb.machinery.atomic import check_own, new_file, PAGE, PRIVATE, starts_with_keys, why_not_written, write_atomically, write_page, WriteLock
from ragnb.documents.span import InputError

POSIX = pytest.mark.skipif(os.name != "posix", reason="permissions and devices of POSIX")
# Files in folders that a process made for itself, an embedding that is saved into a folder, and the cache of answers, which is appended to
DIRECT = {("machinery/atomic.py", "write_bytes"), ("indexing/folder_index.py", "write_bytes"), ("opensearch/cluster_index.py", "write_bytes"),
          ("models/embedding.py", "write_text"), ("models/calls.py", "open"), ("evaluation/measures.py", "_open")}


def test_every_file_is_written_through_one_function() -> None:
    """`write_text`, `write_bytes` and `open` for writing leave half a file on a full disk, and replace whatever has the name."""
    found = set()
    for path, nodes in syntax().items():
        for node in nodes:
            if not isinstance(node, ast.Call):
                continue
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            modes = [a.value for a in [*node.args, *(k.value for k in node.keywords)] if isinstance(a, ast.Constant) and isinstance(a.value, str)]
            if name in ("write_text", "write_bytes") or name in ("open", "_open") and any(set(mode) <= set("wxabt+") and mode.strip("bt+") for mode in modes):
                found.add((path, name))
    assert found == DIRECT


@given(st.text("abc.", min_size=1, max_size=12).filter(lambda name: name.strip(".")), st.binary(max_size=50))
def test_no_neighbour_is_touched(tmp_path_factory, name: str, content: bytes) -> None:
    folder = tmp_path_factory.mktemp("f")
    path = folder / name
    others = {folder / f"{stem}{end}" for stem in (name, path.stem) for end in (".tmp", ".json", ".lock", ".bak")} - {path}
    for other in others:
        other.write_text("mine")
    write_atomically(path, content)
    assert path.read_bytes() == content
    assert {p: p.read_text() for p in folder.iterdir() if p != path} == dict.fromkeys(others, "mine")


@pytest.mark.parametrize("before", [None, "old"])
def test_an_error_in_the_middle_leaves_the_old_file_and_nothing_else(tmp_path: Path, before: str | None) -> None:
    path = tmp_path / "a.jsonl"
    if before is not None:
        path.write_text(before)
    with pytest.raises(OSError) as error, new_file(path) as temporary:
        temporary.write_text("half")
        raise OSError(errno.ENOSPC, "No space left on device")
    assert error.value.filename == str(path)
    assert {p.name: p.read_text() for p in tmp_path.iterdir()} == ({} if before is None else {"a.jsonl": "old"})


@POSIX
def test_permissions_are_kept_or_as_they_are_asked(tmp_path: Path) -> None:
    usual, private, shared = tmp_path / "usual", tmp_path / "private", tmp_path / "shared"
    shared.touch()
    shared.chmod(0o664)
    write_atomically(usual, "x")
    write_atomically(private, "x", PRIVATE)
    write_atomically(shared, "x")
    mask = os.umask(0)
    os.umask(mask)
    assert [stat.S_IMODE(p.stat().st_mode) for p in (usual, private, shared)] == [0o666 & ~mask, 0o600, 0o664]


@POSIX
def test_a_device_is_written_to_and_a_folder_is_named(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append((tmp_path / "pipe").read_bytes()))
    reader.start()
    write_atomically(tmp_path / "pipe", "through")
    reader.join()
    assert read == [b"through"] and stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError) as error:
        write_atomically(tmp_path / "folder", "x")
    assert error.value.filename == str(tmp_path / "folder")


@POSIX
def test_no_link_is_followed_to_try_a_folder(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    (tmp_path / f"probe-{os.getpid()}.tmp").symlink_to(tmp_path / "mine")
    assert why_not_written(tmp_path) == "" and (tmp_path / "mine").read_text() == "mine"
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("content", ["# handbook", "<!doctype html><html><body>mine", "\ufeff<!doctype html>", "SQLite format 3\0"])
def test_a_page_replaces_only_a_page(tmp_path: Path, content: str) -> None:
    (tmp_path / "a").write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match="would be replaced"):
        write_page(tmp_path / "a", "page")
    assert (tmp_path / "a").read_text(encoding="utf-8") == content
    (tmp_path / "empty").touch()
    page = PAGE.decode() + "page"
    for _ in range(2):
        assert write_page(tmp_path / "empty", page).read_text(encoding="utf-8") == page


@pytest.mark.parametrize("content", ["", "mine", "7", "[]", '{"a": 1', "[" * 100_000, '"a b"', b"\xff\xfe"])
def test_lines_are_recognized_by_their_keys(tmp_path: Path, content: str | bytes) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    own = starts_with_keys("a", "b")
    if not content:
        return check_own(path, "a file", own)
    with pytest.raises(InputError, match="would be replaced"):
        check_own(path, "a file", own)
    path.write_text('{"a": 1, "b": 2, "c": 3}\nmore')
    check_own(path, "a file", own)


def test_a_lock_has_names_of_its_own(tmp_path: Path) -> None:
    for name in ("talk.json", "talk.tmp"):
        (tmp_path / name).write_text("mine")
    with WriteLock(tmp_path / "talk.lock", "the talk"):
        assert (tmp_path / "talk.lock.json").exists()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["talk.json", "talk.lock", "talk.tmp"]
    assert (tmp_path / "talk.json").read_text() == "mine"


def test_turns_of_many_writers_are_all_there(tmp_path: Path) -> None:
    path, talks = tmp_path / "talk.jsonl", [Conversation() for _ in range(8)]
    for n, talk in enumerate(talks):     # all have loaded the file before the first of them writes
        talk.add(f"질문 {n}", "답")
    threads = [threading.Thread(target=talk.save_turn, args=[path]) for talk in talks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(turn.question for turn in Conversation.load(path).turns) == [f"질문 {n}" for n in range(8)]


@pytest.mark.parametrize("content", ["# 규정\n", '{"id": 1}\n', "SQLite format 3\0"])
def test_a_conversation_replaces_only_a_conversation(tmp_path: Path, content: str) -> None:
    (tmp_path / "a").write_text(content, encoding="utf-8")
    with pytest.raises(InputError):
        Conversation().save(tmp_path / "a")
    assert (tmp_path / "a").read_text(encoding="utf-8") == content
