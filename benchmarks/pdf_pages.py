"""PDF pages: words lost and words moved by the reader of today, compared with plain lines of pypdfium2, page by page.

    python benchmarks/pdf_pages.py FOLDER                 # all PDF files below a folder: totals, and the pages with most
    python benchmarks/pdf_pages.py FOLDER --pages 40      # how many of the worst pages are listed
    python benchmarks/pdf_pages.py FILE --show 3          # both texts of the third sheet

*Lost* are words of the plain lines that are not in the text of the reader, neither whole nor joined over a line end.
*Moved* are words that have to be taken out so that both texts have the rest in one order. A page in columns that is drawn line by line has to move words;
where a file is tagged, the order of its tags decides (`tags`): how many words each of both has out of that order.
Public fixtures: the source distributions of pypdf and tabula-py on PyPI, and the repositories of pdfplumber, camelot, pdfminer.six, docling and OpenDataLoader.
"""
from __future__ import annotations

import argparse
import re
import resource
import sys
import time
import unicodedata
from bisect import bisect_left
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pypdfium2
import pypdfium2.raw as raw


def words(text: str) -> list[str]:
    "Words of letters and digits, in their plain form."
    return re.findall(r"\w+", unicodedata.normalize("NFKC", text).lower())


def plain_page(page: Any) -> str:
    "A page as pypdfium2 writes it."
    textpage = page.get_textpage()
    text = textpage.get_text_bounded().replace("\r\n", "\n").replace("\r", "\n")
    textpage.close()
    return text.replace("\ufffe\n", "").replace("\ufffe", "").replace("\x02\n", "").replace("\x00", "")


def lost(before: list[str], text: str) -> list[str]:
    "Words that are not in a text, neither as words nor as letters of joined ones."
    missing = Counter(before) - Counter(words(text))
    letters = "".join(words(text))
    return [word for word in missing.elements() if word not in letters]


def moved(truth: list[str], now: list[str]) -> int:
    "Words of `now` that are outside the longest common order; words that occur once in both."
    once = {w for w, n in Counter(truth).items() if n == 1} & {w for w, n in Counter(now).items() if n == 1}
    place = {w: at for at, w in enumerate(w for w in truth if w in once)}
    tails: list[int] = []
    for at in (place[w] for w in now if w in once):
        k = bisect_left(tails, at)
        tails[k:k + 1] = [at]
    return len(once) - len(tails)


def marked_texts(page: Any) -> dict[int, str]:
    "The text of each marked content of a page, by its number."
    textpage = page.get_textpage()
    pieces: dict[int, list[str]] = defaultdict(list)
    for index in range(textpage.count_chars()):
        item = raw.FPDFText_GetTextObject(textpage, index)
        code = raw.FPDFText_GetUnicode(textpage, index)
        if item and 0 < code < 0xFFFE:
            pieces[raw.FPDFPageObj_GetMarkedContentID(item)].append(chr(code))
    textpage.close()
    return {mark: "".join(letters) for mark, letters in pieces.items()}


def tag_order(page: Any) -> str:
    "The text of a page in the order of its tags; '' without tags."
    tree = raw.FPDF_StructTree_GetForPage(page)
    if not tree:
        return ""
    pieces = marked_texts(page)
    order: list[int] = []

    def walk(element: Any) -> None:
        if not element:
            return
        for n in range(raw.FPDF_StructElement_CountChildren(element)):
            mark = raw.FPDF_StructElement_GetChildMarkedContentID(element, n)
            if mark >= 0:
                order.append(mark)
            else:
                walk(raw.FPDF_StructElement_GetChildAtIndex(element, n))
    for n in range(raw.FPDF_StructTree_CountChildren(tree)):
        walk(raw.FPDF_StructTree_GetChildAtIndex(tree, n))
    raw.FPDF_StructTree_Close(tree)
    text = " ".join(pieces[mark] for mark in dict.fromkeys(order) if mark in pieces)
    return text if 2 * len(text) > sum(map(len, pieces.values())) else ""


def cpu() -> float:
    "Seconds of CPU of this process."
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime


def main() -> int:
    "Print totals and the pages that differ most."
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", type=Path)
    parser.add_argument("--pages", type=int, default=25)
    parser.add_argument("--show", type=int)
    options = parser.parse_args()
    from ragnb.documents.span import InputError
    from ragnb.documents.text import load_kiwi
    from ragnb.files.pdf import read_pdf
    load_kiwi().analyze("먼저 부른다.")
    files = sorted(options.path.rglob("*.pdf")) if options.path.is_dir() else [options.path]
    rows, seconds, total = [], Counter(), Counter()
    slowest: list[tuple[float, str]] = []
    for file in files:
        begin = cpu()
        try:
            pdf = pypdfium2.PdfDocument(file)
            before = [plain_page(pdf[n]) for n in range(len(pdf))]
        except pypdfium2.PdfiumError:
            total["not opened"] += 1
            continue
        middle = cpu()
        try:
            now = read_pdf(file)["pages"]
        except InputError as error:
            if any(words(text) for text in before):
                print(f"{file.name}: {error}", file=sys.stderr)
            total["no text"] += 1
            continue
        except Exception as error:
            print(f"{file.name}: {type(error).__name__}: {error}", file=sys.stderr)
            total["failed"] += 1
            continue
        end = cpu()
        seconds.update(plain=middle - begin, ragnb=end - middle)
        slowest.append((end - middle, f"{file.name} ({len(pdf)} sheets, plain {middle - begin:.2f} s)"))
        whole = "\n".join(now)
        for number, (old, new) in enumerate(zip(before, now), 1):
            if options.show == number:
                print(old, "\n" + "=" * 100 + "\n" + new)
            gone = lost(words(old), whole)
            tags = words(tag_order(pdf[number - 1]))
            n_tags = (moved(tags, words(old)), moved(tags, words(new))) if tags else (0, 0)
            n_moved = moved(words(old), words(new))
            total.update(pages=1, words=len(words(old)), lost=len(gone), moved=n_moved, tagged=bool(tags), tags_plain=n_tags[0],
                         tags_ragnb=n_tags[1])
            rows.append((len(gone), n_moved, n_tags, f"{file.name} {number}", gone))
    print(dict(total), {name: round(value, 1) for name, value in seconds.items()})
    for title, key in (("lost", lambda r: -r[0]), ("moved", lambda r: -r[1]), ("tags", lambda r: r[2][0] - r[2][1])):
        print(f"\n{title}:")
        for n_lost, n_moved, n_tags, name, gone in sorted(rows, key=key)[:options.pages]:
            if key((n_lost, n_moved, n_tags)) < 0:
                print(f"  {name}: lost {n_lost}, moved {n_moved}, tags {n_tags[0]} -> {n_tags[1]}", gone[:8] if title == "lost" else "")
    print("\nslowest:", *(f"  {value:.2f} s {name}" for value, name in sorted(slowest, reverse=True)[:8]), sep="\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
