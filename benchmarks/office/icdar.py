"""How much of the tables of the ICDAR 2013 competition stands in the right row and the right column.

    python benchmarks/office/icdar.py FOLDER                          # PDF files and their *-str.xml, such as the test files of tabula-java have
    python benchmarks/office/icdar.py FOLDER --commit ba5707d1        # the package of an earlier commit
    python benchmarks/office/icdar.py FOLDER --reader pdfplumber      # another reader, if it is installed
    python benchmarks/office/icdar.py FOLDER --files                  # one line a file

For each pair of neighbouring cells of the ground truth: do both stand in one row (one column) of a table that was read? A label over several
columns may be repeated in each of them, and the lines of a header may be joined. The files are not kept here.
"""
from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

from run import package_at, read_folder
from spec import pipe_tables

Table = list[list[str]]
HEADER = 4   # Rows of the ground truth that a header may have joined


class Place(NamedTuple):
    "A cell of the ground truth."
    row: int
    column: int
    last_row: int
    last_column: int
    text: str


def bare(text: str) -> str:
    "A text without blanks and marks, which readers write in different ways."
    return re.sub(r"[\s\-‐–—•·*_\\|]+", "", text).lower()


def truth(path: Path) -> list[list[Place]]:
    "The cells of each table."
    tables = []
    for table in ElementTree.parse(path).getroot().iter("table"):
        cells = []
        for region in table.iter("region"):
            down, right = int(region.get("row-increment") or 0), int(region.get("col-increment") or 0)
            for cell in region.iter("cell"):
                row, column = int(cell.get("start-row", 0)), int(cell.get("start-col", 0))
                last_row, last_column = int(cell.get("end-row", row)), int(cell.get("end-col", column))
                content = cell.find("content")
                text = bare("".join(content.itertext())) if content is not None else ""
                if text:
                    cells.append(Place(row + down, column + right, last_row + down, last_column + right, text))
        tables.append(cells)
    return tables


def neighbors(cells: list[Place]) -> list[set[tuple[int, int]]]:
    "Pairs of cells side by side, and one below the other, over empty cells."
    grid = {(row, column): n for n, cell in enumerate(cells) for row in range(cell.row, cell.last_row + 1)
            for column in range(cell.column, cell.last_column + 1)}
    pairs: list[set[tuple[int, int]]] = [set(), set()]
    for kind, order in enumerate((sorted(grid), sorted(grid, key=lambda place: place[::-1]))):
        for one, other in zip(order, order[1:]):
            if one[kind] == other[kind] and grid[one] != grid[other]:
                pairs[kind].add((grid[one], grid[other]))
    return pairs


def score(cells: list[Place], tables: list[Table]) -> list[int]:
    "Pairs in a row, right ones, pairs in a column, right ones."
    places: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
    for n, cell in enumerate(cells):
        for t, table in enumerate(tables):
            for r, row in enumerate(table):
                for c, text in enumerate(row):
                    if text == cell.text or cell.text in text and len(cell.text) > 1 and (r == 0 and cell.row < HEADER or len(cell.text) > 12):
                        places[n].append((t, r, c))
    across, down = neighbors(cells)
    in_row = sum(any(a[:2] == b[:2] and a[2] < b[2] for a in places[m] for b in places[n]) for m, n in across)
    in_column = sum(any(a[::2] == b[::2] and a[1] <= b[1] for a in places[m] for b in places[n]) for m, n in down)
    return [len(across), in_row, len(down), in_column]


def tables_of(folder: Path, paths: list[Path], reader: str, commit: str | None) -> dict[Path, list[Table]]:
    "The tables that a reader finds in each file."
    if reader == "pdfplumber":
        import pdfplumber
        found = {}
        for path in paths:
            with pdfplumber.open(path) as pdf:
                found[path] = [[[bare(cell or "") for cell in row] for row in table] for page in pdf.pages for table in page.extract_tables()]
        return found
    with tempfile.TemporaryDirectory() as place:
        package = package_at(commit, Path(place)) if commit else None
        report = read_folder("ragnb", sys.executable, folder, package)
    texts = {path: report["files"][path.relative_to(folder).as_posix()].get("text", "") for path in paths}
    return {path: [[[*map(bare, row)] for row in (table.header, *table.rows)] for table in pipe_tables(text)] for path, text in texts.items()}


def main() -> None:
    "Print the shares."
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--reader", default="ragnb", choices=["ragnb", "pdfplumber"])
    parser.add_argument("--commit")
    parser.add_argument("--files", action="store_true")
    given = parser.parse_args()
    folder = given.folder.resolve()
    pairs = [(xml, path) for xml in sorted(folder.rglob("*-str.xml"))
             if (path := xml.with_name(xml.name.replace("-str.xml", ".pdf"))).exists()]
    found = tables_of(folder, [path for _, path in pairs], given.reader, given.commit)
    total = [0, 0, 0, 0]
    shares = []
    for xml, path in pairs:
        sums = [sum(column) for column in zip(*(score(cells, found[path]) for cells in truth(xml)))]
        total = [a + b for a, b in zip(total, sums)]
        shares.append((sums[1] + sums[3]) / max(1, sums[0] + sums[2]))
        if given.files:
            print(f"{path.stem}: {sums[1]} of {sums[0]} in a row, {sums[3]} of {sums[2]} in a column")
    print(f"{len(pairs)} files: in a row {total[1] / total[0]:.3f}, in a column {total[3] / total[2]:.3f}, mean of files {sum(shares) / len(shares):.3f}")


if __name__ == "__main__":
    main()
