"""Files next to an index, files that a user names, damaged files, full disks, and copies in Chroma."""
from __future__ import annotations

import contextlib
import errno
import io
import json
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from before_after import item

from ragnb import cli
from ragnb.context.conversation import Conversation
from ragnb.machinery import atomic
from ragnb.machinery.atomic import write_atomically
from ragnb.indexing.folder_index import Index
from ragnb.indexing.update import update_index
from ragnb.models.calls import CallCache

PAPERS = {"규정.md": "# 출장 규정\n\n출장비는 하루 5만원이다.\n", "옛것/2018.md": "# 옛 출장 규정\n\n출장비는 하루 3만원이었다.\n"}


def papers(folder: Path) -> Path:
    "Write a folder with a sub-folder that is to be left out."
    for name, text in PAPERS.items():
        (folder / "docs" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "docs" / name).write_text(text, encoding="utf-8")
    return folder / "docs"


def excluded(folder: Path) -> tuple[Path, Path]:
    "Index a folder without its sub-folder; return both."
    docs, place = papers(folder), folder / "index"
    update_index(docs, place, exclude=["옛것/"], show_progress=False)
    return docs, place


def listed(docs: Path, place: Path, **options: Any) -> list[str]:
    "Update an index without naming patterns, and list its documents."
    return update_index(docs, place, show_progress=False, **options)[0].doc_ids


def run(*words: object) -> tuple[int | str, str]:
    "Run a command; return its code, or the name of an error that nobody caught, and its standard error."
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code: int | str = cli.main([str(word) for word in words])
        except Exception as error:
            code = type(error).__name__
    return code, err.getvalue()


@contextlib.contextmanager
def full_disk(folder: Path) -> Iterator[None]:
    "Let every write of a file in a folder fail, as on a full disk."
    kept = Path.write_bytes, Path.write_text

    def full(path: Path, content: Any, *args: Any, **options: Any) -> int:
        if path.parent != folder:
            return (kept[0] if isinstance(content, bytes) else kept[1])(path, content, *args, **options)
        path.open("wb").close()
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    Path.write_bytes = Path.write_text = full   # type: ignore[assignment, method-assign]
    try:
        yield
    finally:
        Path.write_bytes, Path.write_text = kept   # type: ignore[method-assign]


def spoiled(folder: Path, text: str | None) -> list[str]:
    "List the documents after an update whose file of patterns was spoiled."
    docs, place = excluded(folder)
    if text is None:
        (place / "patterns.json").unlink(missing_ok=True)
    else:
        (place / "patterns.json").write_text(text, encoding="utf-8")
    return listed(docs, place)


@item(right=["규정.md"])
def patterns_missing(folder: Path) -> Any:
    "--exclude, its file is missing"
    return spoiled(folder, None)


@item(right=["규정.md"])
def patterns_empty(folder: Path) -> Any:
    "--exclude, its file is empty"
    return spoiled(folder, "")


@item(right=["규정.md"])
def patterns_cut(folder: Path) -> Any:
    "--exclude, its file is cut"
    return spoiled(folder, '{"/docs": {"exclu')


@item(right=["규정.md"])
def patterns_number(folder: Path) -> Any:
    "--exclude, its file has a number"
    return spoiled(folder, "7")


@item(right=["규정.md"])
def patterns_odd(folder: Path) -> Any:
    "--exclude, its file has a number for the folder"
    return spoiled(folder, json.dumps({str(folder / "docs"): 7}))


@item(right=["규정.md"])
def patterns_deep(folder: Path) -> Any:
    "--exclude, its file is nested deeply"
    return spoiled(folder, "[" * 100_000)


@item(right="WriteError")   # told at once; before, the next update read what was excluded
def patterns_not_written(folder: Path) -> Any:
    "--exclude, its file could not be written"
    from ragnb.indexing import commits, folder_index
    is_row = hasattr(commits, "write_folders")    # patterns are rows of index.db; before, a file
    module, name = (commits, "write_folders") if is_row else (folder_index, "write_atomically")
    kept = getattr(module, name)

    def no_space(path: Any, *rest: Any) -> None:
        if is_row or path.name == "patterns.json":
            raise OSError(errno.ENOSPC, "No space left on device")
        kept(path, *rest)
    setattr(module, name, no_space)
    try:
        docs, place = excluded(folder)
    except Exception as error:
        return type(error).__name__
    finally:
        setattr(module, name, kept)
    return listed(docs, place)


@item(right="InputError")
def patterns_of_a_moved_folder(folder: Path) -> Any:
    "--exclude, the folder was renamed"
    docs, place = excluded(folder)
    docs = docs.rename(folder / "handbook")
    try:
        return listed(docs, place)
    except Exception as error:
        return type(error).__name__


@item(right=["규정.md"])
def patterns_of_a_killed_run(folder: Path) -> Any:
    "--exclude, the first run was killed on its way"
    from ragnb.indexing import update
    docs, place, real = papers(folder), folder / "index", update.IndexUpdate._in_turn

    class Killed(BaseException):
        "Nothing catches it."

    def killed(self: Any, *args: Any, **options: Any) -> Iterator[Any]:
        yield from real(self, *args, **options)
        save = getattr(self.writer, "save", None) or self.writer.check_in
        save()
        self.writer.kept = True
        raise Killed
    update.IndexUpdate._in_turn = killed
    try:
        with contextlib.suppress(Killed):
            update_index(docs, place, exclude=["옛것/"], show_progress=False)
    finally:
        update.IndexUpdate._in_turn = real
    return listed(docs, place)


@item(right=0)
def skipped_odd(folder: Path) -> Any:
    "a question, the file of skipped files is nested deeply"
    docs, place = excluded(folder)
    (place / "skipped.json").write_text("[" * 100_000, encoding="utf-8")
    return run("ask", "출장비는 얼마인가?", "--index", place)[0]


@item(right=0)
def skipped_numbers(folder: Path) -> Any:
    "a question, the file of skipped files has numbers for names"
    docs, place = excluded(folder)
    row = {"where": "a.png", "what": "1 file", "n": 1, "kind": "", "names": [7]}
    (place / "skipped.json").write_text(json.dumps({str(docs): [row]}), encoding="utf-8")
    return run("ask", "출장비는 얼마인가?", "--index", place)[0]


@item(right=0)
def sum_nested(folder: Path) -> Any:
    "a question, the checksum is nested deeply"
    _, place = excluded(folder)
    (place / "index.sum").write_text("[" * 100_000, encoding="utf-8")
    return run("ask", "출장비는 얼마인가?", "--index", place)[0]


@item(right=["첫째", "둘째"])
def two_turns(folder: Path) -> Any:
    "--history, two questions at once"
    _, place = excluded(folder)
    file = folder / "talk.jsonl"
    name = "load_conversation" if hasattr(cli, "load_conversation") else "_conversation"     # before, after
    loaded = getattr(cli, name)
    Conversation().save(file)

    def slow(args: Any) -> Any:
        talk = loaded(args)
        if args.question == "첫째":      # the other question comes and goes meanwhile
            setattr(cli, name, loaded)
            run("ask", "둘째", "--index", place, "--history", file)
        return talk
    setattr(cli, name, slow)
    try:
        run("ask", "첫째", "--index", place, "--history", file)
    finally:
        setattr(cli, name, loaded)
    return sorted((turn.question for turn in Conversation.load(file).turns), key=["첫째", "둘째"].index)


@item(right=["mine", "new"])
def neighbour(folder: Path) -> Any:
    "a neighbour named NAME.tmp"
    (folder / "talk.tmp").write_text("mine", encoding="utf-8")
    write_atomically(folder / "talk.jsonl", "new")
    return [(folder / name).read_text(encoding="utf-8") if (folder / name).exists() else None
            for name in ("talk.tmp", "talk.jsonl")]


@item(right="private")
def planted_link(folder: Path) -> Any:
    "a link planted as NAME.tmp"
    (folder / "private.txt").write_text("private", encoding="utf-8")
    (folder / "report.tmp").symlink_to(folder / "private.txt")
    write_atomically(folder / "report.html", "page")
    return (folder / "private.txt").read_text(encoding="utf-8")


@item(right=["mine", "lock"])
def neighbours_of_a_lock(folder: Path) -> Any:
    "the neighbours NAME.json and NAME.lock of a cache"
    (folder / "answers.json").write_text("mine", encoding="utf-8")
    (folder / "answers.lock").write_text("lock", encoding="utf-8")
    CallCache(folder / "answers.jsonl").put("key", "answer")
    return [(folder / name).read_text(encoding="utf-8") if (folder / name).exists() else None
            for name in ("answers.json", "answers.lock")]


@item(right=[2, "# 출장 규정"])
def html_document(folder: Path) -> Any:
    "--html names a document"
    docs, place = excluded(folder)
    code, _ = run("ask", "출장비는 얼마인가?", "--index", place, "--html", docs / "규정.md")
    return [code, (docs / "규정.md").read_text(encoding="utf-8").splitlines()[0]]


@item(right=[2, ["규정.md"]])
def html_index(folder: Path) -> Any:
    "--html names index.db"
    _, place = excluded(folder)
    code, _ = run("trace", "출장비는 얼마인가?", "--index", place, "--html", place / "index.db")
    return [code, Index.open(place).doc_ids]


@item(right=[2, "mine"])
def questions_out(folder: Path) -> Any:
    "questions --out names another file"
    docs = papers(folder)
    parts = [f"## {name} 신청\n\n{name} 신청서는 {n}일 전에 인사팀에 낸다.\n\n" for n, name in enumerate("출장 연차 병가 교육".split(), 3)]
    (docs / "신청.md").write_text("# 신청 절차\n\n" + "".join(parts), encoding="utf-8")
    (folder / "notes.jsonl").write_text("mine", encoding="utf-8")
    code, _ = run("questions", docs, "--n", "2", "--out", folder / "notes.jsonl")
    return [code, (folder / "notes.jsonl").read_text(encoding="utf-8")]


@item(right="[project]")
def settings_over_a_project(folder: Path) -> Any:
    "settings are written over pyproject.toml"
    from ragnb.pipeline.settings import write_settings
    file = folder / "pyproject.toml"
    file.write_text('[project]\nname = "mine"\n', encoding="utf-8")
    with contextlib.suppress(ValueError):
        write_settings(file, {"budget": 2000})
    return file.read_text(encoding="utf-8").splitlines()[0]


@item(right=[2, 1])
def remove_full(folder: Path) -> Any:
    "remove on a full disk"
    import sqlite3
    from ragnb.indexing import commits
    _, place = excluded(folder)
    kept = commits.write_state

    def full(*args: Any) -> None:
        raise sqlite3.OperationalError("database or disk is full")
    commits.write_state = full
    try:
        code, err = run("remove", "규정.md", "--index", place)
    finally:
        commits.write_state = kept
    return [code, len(err.splitlines())]


@item(right=[2, []])
def html_full(folder: Path) -> Any:
    "ask --html on a full disk"
    _, place = excluded(folder)
    with full_disk(folder):
        code, _ = run("ask", "출장비는 얼마인가?", "--index", place, "--html", folder / "why.html")
    return [code, [file.name for file in folder.iterdir() if file.is_file()]]


def asked_without(folder: Path, table: str, *command: str) -> Any:
    "Spoil the first page of a table, and run a command without the checksum."
    import sqlite3
    _, place = excluded(folder)
    (place / "index.sum").unlink(missing_ok=True)
    db = sqlite3.connect(place / "index.db")
    page = db.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", [table]).fetchone()[0]
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    data = bytearray((place / "index.db").read_bytes())
    data[(page - 1) * 4096:(page - 1) * 4096 + 16] = b"\xff" * 16
    (place / "index.db").write_bytes(data)
    code, err = run(*command, "--index", place)
    return [code, len(err.splitlines())]


@item(right=[2, 1])
def damaged_words(folder: Path) -> Any:
    "a question, the page of words is damaged and the checksum is missing"
    return asked_without(folder, "unit_words_data", "ask", "출장비는 얼마인가?")


@item(right=[2, 1])
def damaged_chunks(folder: Path) -> Any:
    "a question, the page of texts is damaged and the checksum is missing"
    return asked_without(folder, "chunk", "ask", "출장비는 얼마인가?")


@item(right=[2, 1])
def damaged_removal(folder: Path) -> Any:
    "remove, the page of units is damaged and the checksum is missing"
    return asked_without(folder, "block", "remove", "규정.md")


@item(right=[2, 1])
def damaged_list(folder: Path) -> Any:
    "ls, the page of outlines is damaged and the checksum is missing"
    return asked_without(folder, "stored", "ls")


@item(right=[2, 1])
def damaged_text(folder: Path) -> Any:
    "a text of a damaged index without its checksum"
    import sqlite3
    _, place = excluded(folder)
    (place / "index.sum").unlink(missing_ok=True)
    db = sqlite3.connect(place / "index.db")
    tables = {name for name, in db.execute("SELECT name FROM sqlite_master")}
    change = "UPDATE outline SET data = ?" if "outline" in tables else "UPDATE stored SET outline = ?"
    db.execute(change, [b"no zlib"])
    db.commit()
    db.close()
    code, err = run("ask", "출장비는 얼마인가?", "--index", place)
    return [code, len(err.splitlines())]


@item(right=["0o700", ["0o600"]])
def permissions(folder: Path) -> Any:
    "permissions of an index"
    _, place = excluded(folder)
    modes = {oct(stat.S_IMODE(file.stat().st_mode)) for file in place.iterdir()}
    return [oct(stat.S_IMODE(place.stat().st_mode)), sorted(modes)]


@item(right=[True, True])
def copy_in_chroma(folder: Path) -> Any:
    "a copy in Chroma after remove, and after a plain index"
    docs, place = papers(folder), folder / "index"
    run("index", docs, "--index", place, "--chroma", folder / "chroma", "--quiet")
    told = [run("remove", "옛것/2018.md", "--index", place)[1]]
    shutil.rmtree(docs / "옛것")
    told.append(run("index", docs, "--index", place, "--quiet")[1])
    return [str(folder / "chroma") in text for text in told]
