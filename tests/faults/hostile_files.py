"""What hostile files, damaged indexes, full disks and odd arguments do to a user."""
from __future__ import annotations

import io
import json
import resource
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

COMMAND = "import sys; from ragnb.cli import main; sys.exit(main(sys.argv[1:]))"


def _run(*argv: object) -> str:
    """The exit code of a command, and its last line."""
    done = subprocess.run([sys.executable, "-c", COMMAND, *map(str, argv)], capture_output=True, text=True, timeout=50)
    said = "a traceback: " * ("Traceback" in done.stderr) + ((done.stderr or done.stdout).strip().splitlines() or [""])[-1]
    return f"exit {done.returncode}: {said}"


def _read(name: str, make) -> str:
    """Seconds, memory, characters and problems of reading one file in a folder."""
    from ragnb.documents.files import read_documents
    with tempfile.TemporaryDirectory() as folder:
        make(Path(folder) / name)
        (Path(folder) / "z.md").write_text("연차")
        size, problems, start = (Path(folder) / name).stat().st_size, [], time.process_time()
        found = [len(d.text) for d in read_documents(folder, problems) if d.id_ == name]
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        return f"{size:,} bytes, {time.process_time() - start:.0f} s, {peak} MB, {found} characters, {[p.what for p in problems]}"


def _sheet(path: Path) -> None:
    from openpyxl import Workbook
    book = Workbook()
    book.active["A1"], book.active["A400"] = "가", "나"
    book.save(path)
    with zipfile.ZipFile(path) as old:
        parts = {p.filename: old.read(p) for p in old.infolist()}
    name = "xl/worksheets/sheet1.xml"
    parts[name] = parts[name].replace(b'<dimension ref="A1:A400"', b'<dimension ref="A1:XFD400"')
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for part, data in parts.items():
            new.writestr(part, data)


def stated_size_of_a_sheet() -> str:
    "A sheet of two cells that says it has 400 rows of 16,384 columns"
    return _read("a.xlsx", _sheet)


def one_wide_row() -> str:
    "A CSV of one wide row and many short ones"
    return _read("a.csv", lambda path: path.write_text(",".join("a" * 4_000) + "\n" + "b\n" * 4_000))


def empty_paragraphs() -> str:
    "A Word file of empty paragraphs"
    def make(path: Path) -> None:
        from docx import Document
        held = io.BytesIO()
        Document().save(held)
        with zipfile.ZipFile(held) as old, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
            for part in old.infolist():
                data = old.read(part)
                new.writestr(part.filename, data.replace(b"<w:body>", b"<w:body>" + b"<w:p/>" * 40_000) if "document.xml" in part.filename else data)
    return _read("a.docx", make)


def open_comments() -> str:
    "A page of 50,000 comments that never end"
    return _read("a.html", lambda path: path.write_text("<!--" * 50_000))


def marks_of_a_ruling() -> str:
    "A ruling's mark 16,000 times"
    from ragnb.documents.rulings import ruling_records
    text, start = "판시사항\n" * 16_000, time.process_time()
    return f"{len(ruling_records(text, '1'))} records, {time.process_time() - start:.1f} s"


def damaged_array() -> str:
    "A damaged index: the header of an array (before), or the middle of its file (after)"
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "a.md").write_text("연차는 15일이다.")
        _run("index", Path(folder) / "a.md", "--index", Path(folder) / "i", "--quiet")
        arrays = [*(Path(folder) / "i").rglob("ngram_idf.npy")]
        file = arrays[0] if arrays else Path(folder) / "i" / "index.db"
        held = file.read_bytes()
        half = len(held) // 2
        other = held.replace(b"(", b"( (", 1)[:len(held)] if arrays else held[:half] + bytes([held[half] ^ 1]) + held[half + 1:]
        file.write_bytes(other)
        return _run("ask", "연차", "--index", Path(folder) / "i").replace(folder, "")


def escapes_of_a_file_name() -> str:
    "The name of a skipped file that clears the screen"
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "a.md").write_text("연차")
        (Path(folder) / "b\x1b[2J\x9b2J.docx").write_bytes(b"x")
        said = _run("index", folder, "--index", Path(folder) / "i", "--quiet")
        return f"acts on the terminal: {chr(27) in said or chr(0x9b) in said}; " + json.dumps(said)


def port_below_zero() -> str:
    "`ragnb serve --port -1`"
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "a.md").write_text("연차")
        _run("index", Path(folder) / "a.md", "--index", Path(folder) / "i", "--quiet")
        return _run("serve", "--port", "-1", "--index", Path(folder) / "i")


def dashes_as_a_value() -> str:
    "`ragnb ask 연차 --context=--`"
    return _run("ask", "연차", "--context=--")


def full_disk() -> str:
    "A new index on a disk that is full"
    code = ("import sys, numpy as np; from ragnb.cli import main\n"
            "def full(*args, **options): raise OSError('1064960 requested and 307072 written')\n"
            "np.save = full\nsys.exit(main(sys.argv[1:]))")
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "a.md").write_text("연차는 15일이다.")
        argv = [sys.executable, "-c", code, "index", f"{folder}/a.md", "--index", f"{folder}/i", "--quiet"]
        done = subprocess.run(argv, capture_output=True, text=True)
        return f"exit {done.returncode}: {done.stderr.strip().replace(folder, '')}"
