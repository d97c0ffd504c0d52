"""How much of the tables and headings that authors tagged in their PDF files is read: a right answer that the files bring along.

    python benchmarks/office/tagged.py FOLDER                        # all tagged PDF files below a folder
    python benchmarks/office/tagged.py FOLDER --half odd --files     # every second file, one line each
    python benchmarks/office/tagged.py FOLDER --commit ba5707d1      # the package of an earlier commit

Of each pair of neighbouring cells of a tagged table: do both stand in one row (one column) of a table that was read (the measure of `icdar.py`)?
Of the tagged headings: how many are headings in the text, and how many headings of the text are tagged? *Rows elsewhere* are rows of tables in
files that tag headings or paragraphs, but no table. Public files: the repositories of pdf.js, PdfPig, pdfplumber, camelot, OpenDataLoader, docling
and olmOCR. Equal files count once. The files are not kept here.
"""
from __future__ import annotations

import argparse
import ctypes
import hashlib
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pypdfium2
import pypdfium2.raw as raw

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from icdar import bare, Place, score  # noqa: E402
from pdf_pages import marked_texts  # noqa: E402
from run import package_at, read_folder  # noqa: E402
from spec import pipe_tables  # noqa: E402

MOST_PAGES = 60   # Of a file


class Truth(NamedTuple):
    "What the tags of a file say."
    tables: list[list[Place]]
    headings: list[str]
    n_tables: int        # Also tables of one row or one column


class Node(NamedTuple):
    "An element of the tags, and the elements and numbers of texts in it."
    kind: str
    spans: tuple[int, int]     # Rows and columns of a cell
    inside: list[Node | int]


def _kind(element: Any) -> str:
    size = raw.FPDF_StructElement_GetType(element, None, 0)
    buffer = ctypes.create_string_buffer(max(2, size))
    raw.FPDF_StructElement_GetType(element, buffer, size)
    return buffer.raw[:size - 2].decode("utf-16-le", "replace")


def _span(element: Any, name: bytes) -> int:
    for n in range(raw.FPDF_StructElement_GetAttributeCount(element)):
        value = raw.FPDF_StructElement_Attr_GetValue(raw.FPDF_StructElement_GetAttributeAtIndex(element, n), name)
        number = ctypes.c_float()
        if value and raw.FPDF_StructElement_Attr_GetNumberValue(value, number):
            return max(1, int(number.value))
    return 1


def _node(element: Any, depth: int = 0) -> Node:
    inside: list[Node | int] = []
    for n in range(raw.FPDF_StructElement_CountChildren(element)):
        mark = raw.FPDF_StructElement_GetChildMarkedContentID(element, n)
        child = raw.FPDF_StructElement_GetChildAtIndex(element, n) if mark < 0 else None
        if mark >= 0:
            inside.append(mark)
        elif child and depth < 60:
            inside.append(_node(child, depth + 1))
    return Node(_kind(element), (_span(element, b"RowSpan"), _span(element, b"ColSpan")), inside)


def page_nodes(page: Any) -> list[Node]:
    "The tags of a page."
    tree = raw.FPDF_StructTree_GetForPage(page)
    if not tree:
        return []
    elements = [raw.FPDF_StructTree_GetChildAtIndex(tree, n) for n in range(raw.FPDF_StructTree_CountChildren(tree))]
    nodes = [_node(element) for element in elements if element]
    raw.FPDF_StructTree_Close(tree)
    return nodes


def all_of(nodes: list[Node], kinds: str) -> Iterator[Node]:
    "The elements of some kinds that are in no other of them."
    for node in nodes:
        if re.fullmatch(kinds, node.kind):
            yield node
        else:
            yield from all_of([child for child in node.inside if isinstance(child, Node)], kinds)


def text_of(node: Node, texts: dict[int, str]) -> str:
    "The text of an element."
    return " ".join(texts.get(part, "") if isinstance(part, int) else text_of(part, texts) for part in node.inside)


def places(table: Node, texts: dict[int, str]) -> list[Place]:
    "The cells of a table."
    taken: set[tuple[int, int]] = set()
    cells: list[Place] = []
    for row, line in enumerate(all_of([*filter(lambda n: isinstance(n, Node), table.inside)], "TR")):
        column = 0
        for cell in all_of([child for child in line.inside if isinstance(child, Node)], "TD|TH"):
            while (row, column) in taken:
                column += 1
            down, right = cell.spans
            taken |= {(row + r, column + c) for r in range(down) for c in range(right)}
            if text := bare(text_of(cell, texts)):
                cells.append(Place(row, column, row + down - 1, column + right - 1, text))
    width = 1 + max((column for _, column in taken), default=0)
    return [c._replace(last_column=c.column) if c.last_column - c.column == width - 1 else c for c in cells]   # the name of a section


def truth(path: Path) -> Truth:
    "The tables and headings that a file tags; nothing where it is not tagged."
    found = Truth([], [], 0)
    n_tables = 0
    with pypdfium2.PdfDocument(path) as pdf:
        for number in range(min(len(pdf), MOST_PAGES)):
            page = pdf[number]
            nodes = page_nodes(page)
            texts = marked_texts(page) if nodes else {}
            for table in all_of(nodes, "Table"):
                n_tables += 1
                cells = places(table, texts)
                if len({c.row for c in cells}) > 1 and len({c.column for c in cells}) > 1:
                    found.tables.append(cells)
            found.headings.extend(text for node in all_of(nodes, "H[1-6]?") if len(text := bare(text_of(node, texts))) > 1)
    return found._replace(n_tables=n_tables)


def chosen(folder: Path, half: str) -> dict[Path, Truth]:
    "The tagged files of a folder, or every second of them, and what their tags say."
    seen: set[str] = set()
    tagged: dict[Path, Truth] = {}
    for path in sorted(folder.rglob("*.pdf"), key=lambda path: path.name):
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        try:
            found = truth(path) if digest not in seen else Truth([], [], 0)
        except pypdfium2.PdfiumError:
            continue
        seen.add(digest)
        if found.tables or found.headings:
            tagged[path] = found
    return {path: found for n, (path, found) in enumerate(tagged.items(), 1) if half == "all" or n % 2 == (half == "odd")}


def main() -> None:
    "Print the shares."
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--half", default="all", choices=["all", "odd", "even"])
    parser.add_argument("--commit")
    parser.add_argument("--files", action="store_true")
    given = parser.parse_args()
    files = chosen(given.folder.resolve(), given.half)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "files"
        folder.mkdir()
        names = {path: f"{n:03}.pdf" for n, path in enumerate(files)}
        for path, name in names.items():
            (folder / name).symlink_to(path)
        package = package_at(given.commit, Path(place) / "package") if given.commit else None
        report = read_folder("ragnb", sys.executable, folder, package)
    total = Counter[str]()
    shares = []
    for path, (tables, headings, n_tables) in files.items():
        text = report["files"][names[path]].get("text", "")
        found = [[[*map(bare, row)] for row in (table.header, *table.rows)] for table in pipe_tables(text)]
        own = [bare(line) for line in re.findall(r"(?m)^#{1,6} (.*)", text)]
        pairs = [sum(column) for column in zip([0] * 4, *(score(cells, found) for cells in tables))]
        right = (Counter(headings) & Counter(own)).total()
        counts = dict(zip(("row", "row right", "column", "column right"), pairs))
        if headings:
            counts |= {"headings": len(headings), "headings right": right, "own headings": len(own)}
        if not n_tables:
            counts["rows elsewhere"] = sum(map(len, found))
        total.update(counts)
        if pairs[0] + pairs[2]:
            shares.append((pairs[1] + pairs[3]) / (pairs[0] + pairs[2]))
        if given.files:
            print(f"{path.name}: {counts}")
    print(f"{len(files)} files, {sum(len(found.tables) for found in files.values())} tables: {total['row']} pairs in a row, "
          f"{total['row right'] / max(1, total['row']):.3f} right; {total['column']} in a column, "
          f"{total['column right'] / max(1, total['column']):.3f} right, mean of files {sum(shares) / max(1, len(shares)):.3f}; "
          f"{total['rows elsewhere']} rows elsewhere")
    print(f"{total['headings']} headings, {total['headings right']} found; {total['own headings']} headings in the text; "
          f"{report['cpu_seconds']} s of CPU")


if __name__ == "__main__":
    main()
