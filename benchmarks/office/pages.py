"""Pages of PDF files beside the Markdown that others publish as the right answer, with the measures of opendataloader-bench.

    python benchmarks/office/pages.py FOLDER                            # PDF files with a NAME.md beside them, or below it
    python benchmarks/office/pages.py FOLDER --half odd --files         # every second file, one line each
    python benchmarks/office/pages.py FOLDER --read OTHER               # the Markdown of another reader: OTHER/NAME.md
    python benchmarks/office/pages.py FOLDER --commit ba5707d1          # the package of an earlier commit

NID is the share of letters in one order (twice the longest common part by the sum of both lengths), NID-S the same without tables. TEDS compares
the trees of tables, MHS those of headings and what is below them; both ask for the packages apted and rapidfuzz. Each is a mean of files.
Folders that work: a checkout of opendataloader-bench with its PDF files (Git LFS), docling's `tests/data/pdf`. The files are not kept here.
"""
from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections.abc import Sequence
from html import escape
from pathlib import Path
from statistics import fmean
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from run import package_at, read_folder  # noqa: E402

Rows = list[list[str]]


def row_of(line: str) -> list[str] | None:
    "The cells of a line of a pipe table."
    line = line.strip()
    return [cell.strip() for cell in line.removeprefix("|").removesuffix("|").split("|")] if "|" in line else None


def is_rule(cells: list[str] | None) -> bool:
    "True for the line below the header."
    return bool(cells) and all(re.fullmatch(r"[-: ]*[-:][-: ]*", cell) for cell in cells or ())


def parts(text: str) -> list[str | Rows]:
    "The lines of a text, and its tables: pipe tables, and those of HTML."
    out: list[str | Rows] = []
    for piece in re.split(r"(<table.*?</table>)", text, flags=re.S | re.I):
        if piece[:6].lower() == "<table":
            rows = re.findall(r"<tr.*?</tr>", piece, re.S | re.I)
            out.append([[re.sub(r"<[^>]*>", "", cell) for cell in re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row, re.S | re.I)] for row in rows])
            continue
        lines = piece.splitlines()
        at = 0
        while at < len(lines):
            header = row_of(lines[at])
            if not header or at + 1 == len(lines) or not is_rule(row_of(lines[at + 1])):
                out.append(lines[at])
                at += 1
                continue
            width = max(len(header), len(row_of(lines[at + 1]) or ()))
            rows = [header]
            at += 2
            while at < len(lines) and (cells := row_of(lines[at])):
                rows.append(cells)
                at += 1
            out.append([(cells + [""] * width)[:width] for cells in (rows[1:] if len(rows) > 1 and not any(header) else rows)])
    return out


def written(rows: Rows) -> str:
    "A table as HTML."
    cells = [["".join(f"<t{'d' if n else 'h'}>{escape(cell)}</t{'d' if n else 'h'}>" for cell in row) for row in rows] for n in range(2)]
    return "<table>" + "".join(f"<tr>{cells[n > 0][n]}</tr>" for n in range(len(rows))) + "</table>"


def alike(one: str, other: str) -> float:
    "Twice the longest common part of two texts by the sum of their lengths."
    one, other = " ".join(one.split()), " ".join(other.split())
    places: dict[str, int] = {}
    for n, letter in enumerate(one):
        places[letter] = places.get(letter, 0) | 1 << n
    whole = (1 << len(one)) - 1
    free = whole
    for letter in other:        # Hyyrö (2004): a bit for each letter of `one`
        both = free & places.get(letter, 0)
        free = (free + both | free - both) & whole
    return 2 * (len(one) - free.bit_count()) / max(1, len(one) + len(other))


def distance(one: Any, other: Any) -> float:
    "Edits from one tree of (name, text, children) to another."
    from apted import APTED, Config
    from rapidfuzz.distance import Levenshtein

    class Names(Config):
        def rename(self, a: Any, b: Any) -> float:
            return 1.0 if a[0] != b[0] else Levenshtein.normalized_distance(a[1], b[1])

        def children(self, node: Any) -> Any:
            return node[2]
    return float(APTED(one, other, Names()).compute_edit_distance())


def size(node: Any) -> int:
    "How many nodes a tree has."
    return 1 + sum(map(size, node[2]))


def table_tree(rows: Rows) -> Any:
    "A table, its rows, their cells."
    return "table", "", [("tr", "", [("td", " ".join(cell.split()), []) for cell in row]) for row in rows]


def heading_tree(blocks: Sequence[str | Rows]) -> Any:
    "The headings of a text, each with what is below it."
    root: Any = ("document", "", [])
    inside = root
    waiting: list[str] = []
    for block in [*blocks, "# "]:
        heading = re.fullmatch(r"#{1,6}\s+(.*)", block) if isinstance(block, str) else None
        if block == "# " or heading:
            text = " ".join(" ".join(waiting).split())
            inside[2].extend([("content", text, [])] if text else [])
            waiting = []
        if heading and block != "# ":
            inside = ("heading", " ".join(heading[1].split()), [])
            root[2].append(inside)
        elif not heading:
            waiting.append(block if isinstance(block, str) else written(block))
    return root


def measures(truth: str, text: str) -> dict[str, float]:
    "The measures of a file; those of tables and headings where the right answer has some."
    right, read = parts(truth), parts(text)
    whole = [[block if isinstance(block, str) else written(block) for block in blocks] for blocks in (right, read)]
    prose = [[block for block in blocks if isinstance(block, str)] for blocks in (right, read)]
    out = {"NID": alike(*map("\n".join, whole)), "NID-S": alike(*map("\n".join, prose))}
    try:
        import apted  # noqa: F401
        import rapidfuzz  # noqa: F401
    except ImportError:
        return out
    tables = [[block for block in blocks if not isinstance(block, str)] for blocks in (right, read)]
    if tables[0]:
        trees = [table_tree(found[0]) if found else ("none", "", []) for found in tables]
        out["TEDS"] = 1 - distance(*trees) / (max(map(size, trees)) - 1) if tables[1] else 0.0
    heads = [heading_tree(blocks) for blocks in (right, read)]
    if any(child[0] == "heading" for child in heads[0][2]):
        has_some = any(child[0] == "heading" for child in heads[1][2])
        out["MHS"] = max(0.0, 1 - distance(*heads) / max(map(size, heads))) if has_some else 0.0
    return out


def main() -> None:
    "Print the means."
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--read", type=Path)
    parser.add_argument("--half", default="all", choices=["all", "odd", "even"])
    parser.add_argument("--commit")
    parser.add_argument("--files", action="store_true")
    given = parser.parse_args()
    folder = given.folder.resolve()
    truths = {path.stem: path for path in sorted(folder.rglob("*.md"))}
    files = {path.stem: path for path in (given.read or folder).resolve().rglob("*.md" if given.read else "*.pdf")}
    names = [name for n, name in enumerate(sorted(truths.keys() & files.keys()), 1) if given.half == "all" or n % 2 == (given.half == "odd")]
    if given.read:
        texts = {name: files[name].read_text(encoding="utf-8") for name in names}
        seconds = 0.0
    else:
        with tempfile.TemporaryDirectory() as place:
            wanted = Path(place) / "files"
            wanted.mkdir()
            for name in names:
                (wanted / f"{name}.pdf").symlink_to(files[name])
            package = package_at(given.commit, Path(place) / "package") if given.commit else None
            report = read_folder("ragnb", sys.executable, wanted, package)
        texts = {name: report["files"][f"{name}.pdf"].get("text", "") for name in names}
        seconds = report["cpu_seconds"]
    found = {name: measures(truths[name].read_text(encoding="utf-8"), texts[name]) for name in names}
    for name in names if given.files else ():
        print(f"{name}: {', '.join(f'{key} {value:.3f}' for key, value in found[name].items())}")
    keys = dict.fromkeys(key for one in found.values() for key in one)
    means = {key: [one[key] for one in found.values() if key in one] for key in keys}
    print(f"{len(names)} files: {', '.join(f'{key} {fmean(values):.4f} ({len(values)})' for key, values in means.items())}; {seconds} s of CPU")


if __name__ == "__main__":
    main()
