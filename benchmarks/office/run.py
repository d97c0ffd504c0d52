"""The share of checks that a reader's text passes, by format and half; of ragnb also the questions answered within 500 characters.

    python benchmarks/office/run.py                                   # this checkout, the open half
    python benchmarks/office/run.py --half open held --store          # also the held-out half: only to measure a finished change
    python benchmarks/office/run.py --commit ba5707d1                 # the package of an earlier commit
    python benchmarks/office/run.py --reader kreuzberg --python PYTHON
    python benchmarks/office/run.py --checks --show xlsx              # the checks that fail, for one format (open half only)

A note of what was left out is asked only of readers that report one. A file that a reader refuses fails all its checks.
"""
from __future__ import annotations

import argparse
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from make import HALVES, HERE, ROOT, files_of, write
from spec import File, answers, holds

RESULTS = HERE / "results.json"
FORMATS = ("xlsx", "docx", "html", "pdf", "hwpx", "pptx", "csv", "md")


def package_at(commit: str, folder: Path) -> Path:
    "The package of an earlier commit, unpacked."
    archive = subprocess.run(["git", "archive", commit, "ragnb"], cwd=ROOT, check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        tar.extractall(folder, filter="data")
    return folder


def read_folder(reader: str, python: str, folder: Path, package: Path | None, questions: dict[str, str] | None = None) -> dict[str, Any]:
    "The report of `read_with.py`, run as a process of its own."
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONUTF8": "1", **({"PYTHONPATH": str(package)} if package else {})}
    with tempfile.TemporaryDirectory() as place:
        out = Path(place) / "report.json"
        asked = []
        if questions is not None:
            Path(place, "questions.json").write_text(json.dumps(questions, ensure_ascii=False))
            asked = [str(Path(place, "questions.json"))]
        subprocess.run([python, str(HERE / "read_with.py"), reader, str(folder), str(out), *asked], check=True, env=environment, cwd=place,
                       stdout=subprocess.DEVNULL)
        report: dict[str, Any] = json.loads(out.read_text())
        return report


def judged(one: File, reading: dict[str, Any]) -> list[tuple[str, bool]]:
    "Each check of a file and whether it holds; a note that is not asked of the reader is left out."
    text, notes = reading.get("text", ""), reading.get("notes", [])
    found = ((str(check), holds(check, text, notes)) for check in one.checks)
    return [(check, right) for check, right in found if right is not None]


def measure(half: str, report: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    "Shares by format, and a line for each check that fails."
    checks: dict[str, list[bool]] = defaultdict(list)
    whole: dict[str, list[bool]] = defaultdict(list)
    asked: dict[str, list[bool]] = defaultdict(list)
    failing = []
    for one in files_of(half):
        kind = one.name.rpartition(".")[2]
        reading = report["files"].get(one.name, {"error": "not read"})
        results = judged(one, reading)
        checks[kind] += [right for _, right in results]
        whole[kind].append(all(right for _, right in results))
        failing += [f"{one.name}: {check}" + (f" [{reading['error']}]" if "error" in reading else "") for check, right in results if not right]
        if "answers" in report:
            asked[kind].append(answers(one.gold, report["answers"].get(one.name, "")))
            if not asked[kind][-1]:
                failing.append(f"{one.name}: question {one.question!r} -> {one.gold}")

    def share(values: dict[str, list[bool]]) -> dict[str, Any]:
        rows = {kind: values[kind] for kind in FORMATS if values[kind]}
        every = [right for row in rows.values() for right in row]
        return {kind: [sum(row), len(row)] for kind, row in rows.items()} | {"all": [sum(every), len(every)]}
    refused = sum("error" in reading for reading in report["files"].values())
    return {"checks": share(checks), "files": share(whole), **({"questions": share(asked)} if asked else {}), "refused": refused}, failing


def printed(title: str, shares: dict[str, list[int]]) -> str:
    "A line of shares."
    return f"{title:<22}" + "".join(f"{100 * right / n:>7.1f}" if n else f"{'':>7}" for right, n in (shares.get(k, [0, 0]) for k in (*FORMATS, "all")))


def main() -> None:
    "Read, check and print."
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", nargs="+", choices=HALVES, default=["open"])
    parser.add_argument("--reader", default="ragnb", choices=("ragnb", "markitdown", "kreuzberg", "docling"))
    parser.add_argument("--python", default=sys.executable, help="the interpreter that has the reader")
    parser.add_argument("--commit", help="ragnb of an earlier commit")
    parser.add_argument("--checks", action="store_true", help="ask no questions, in half the time")
    parser.add_argument("--show", nargs="?", const="", metavar="FORMAT", help="print the checks that fail; of the held-out half none")
    parser.add_argument("--store", action="store_true", help=f"keep the result in {RESULTS.name}")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write(folder, tuple(options.half))
        package = package_at(options.commit, folder / "package") if options.commit else ROOT if options.reader == "ragnb" else None
        head = subprocess.run(["git", "rev-parse", "--short=8", options.commit or "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
        print(f"{'share right, in percent':<22}" + "".join(f"{k:>7}" for k in (*FORMATS, "all")))
        for half in options.half:
            questions = {one.name: one.question for one in files_of(half)} if options.reader == "ragnb" and not options.checks else None
            report = read_folder(options.reader, options.python, folder / half, package, questions)
            result, failing = measure(half, report)
            for what in ("checks", "files", "questions"):
                if what in result:
                    print(printed(f"{half}: {what}", result[what]))
            if options.show is not None and half == "open":
                print(*(line for line in failing if f".{options.show}" in line.split(": ")[0]), sep="\n")
            if options.store:
                keep(options.reader, head if options.reader == "ragnb" else "", half, report, result)


def keep(reader: str, commit: str, half: str, report: dict[str, Any], result: dict[str, Any]) -> None:
    "Store a result beside the others."
    stored = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    name = f"{reader} {commit or report['version']} {half}"
    command = f"python benchmarks/office/run.py --reader {reader} --half {half}" + (f" --commit {commit}" if commit else " --python PYTHON")
    stored[name] = {"reader": reader, "version": report["version"], "commit": commit, "half": half, "command": command, "date": time.strftime("%Y-%m-%d"),
                    "cpu_seconds": report["cpu_seconds"], "peak_megabytes": report["peak_megabytes"], **result}
    RESULTS.write_text(json.dumps(dict(sorted(stored.items())), ensure_ascii=False, indent=1) + "\n")


if __name__ == "__main__":
    main()
