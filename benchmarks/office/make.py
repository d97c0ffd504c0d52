"""Write the 116 files of the benchmark, the same bytes every time.

    python benchmarks/office/make.py                 # into out/office/open and out/office/held
    python benchmarks/office/make.py --pdf           # make the kept PDF files again (Chromium, LibreOffice, fpdf2, NanumGothic)
"""
from __future__ import annotations

import argparse
import importlib
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE))

from spec import File  # noqa: E402

HALVES = ("open", "held")
OUT = ROOT / "out" / "office"


def files_of(half: str) -> list[File]:
    "The files of a half."
    return [one for part in ("sheets", "papers", "pdf") for one in importlib.import_module(f"{half}_{part}").FILES]


def kept(half: str, name: str) -> Path:
    "Where a PDF is kept."
    return HERE / "pdf" / half / name


def write(out: Path, halves: tuple[str, ...] = HALVES) -> None:
    "Write the files of the halves into a folder each."
    for half in halves:
        folder = out / half
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for one in files_of(half):
            data = kept(half, one.name).read_bytes() if one.name.endswith(".pdf") else one.make()
            (folder / one.name).write_bytes(data)


def make_pdf(only: list[str]) -> None:
    "Make the kept PDF files again."
    for half in HALVES:
        for one in files_of(half):
            if one.name.endswith(".pdf") and (not only or one.name in only):
                place = kept(half, one.name)
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(one.make())
                print(f"{place.relative_to(HERE)}: {place.stat().st_size:,} bytes")


def main() -> None:
    "Write the files."
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--pdf", action="store_true", help="make the kept PDF files again")
    parser.add_argument("--only", nargs="*", default=[], help="with --pdf: some of them")
    options = parser.parse_args()
    if options.pdf:
        make_pdf(options.only)
    else:
        write(options.out)
        print(f"{sum(1 for _ in options.out.glob('*/*'))} files in {options.out}")


if __name__ == "__main__":
    main()
