"""Questions on the cells of tables: is the value delivered below its header, in a row with its keys, within 300, 500 and 1,000 characters?

    python benchmarks/office/tables.py                              # both halves, n-grams: commit ba5707d1 and this checkout
    python benchmarks/office/tables.py --embed e5                   # E5
    python benchmarks/office/tables.py --half open --commit HEAD~3

Each check `cell(keys, header, value)` of the office files becomes a question: "KEYS HEADER?". All files of a half are one folder. Nothing of the held-out half is printed but its share.
"""
from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from make import HALVES, ROOT, files_of, write
from run import package_at
from spec import Check, holds

BUDGETS = (300, 500, 1_000)


def questions_of(half: str) -> list[tuple[str, Check]]:
    "A question for each cell that a check names."
    found = []
    for one in files_of(half):
        for check in one.checks:
            if check.kind in ("cell", "labelled"):
                keys, header, _ = check.args
                found.append((f"{' '.join(keys)} {' '.join(header)}?", check))
    return found


def ask(folder: str, questions: str, embed: str, out: str) -> None:
    "Write what `ragnb ask` delivers for each question and budget."
    from ragnb import Pipeline, update_index
    asked = json.loads(Path(questions).read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as place:
        settings = {"embed": embed} if embed != "ngrams" else {}
        index = update_index(folder, Path(place) / "index", show_progress=False, **settings)[0]
        answers = []
        for budget in BUDGETS:
            pipeline = Pipeline.from_index(index, budget=budget)
            answers.append([pipeline.ask(question).text for question in asked])
    Path(out).write_text(json.dumps(answers, ensure_ascii=False), encoding="utf-8")


def shares(half: str, folder: Path, package: Path, embed: str) -> str:
    "The share of questions whose cell is delivered, by budget."
    questions = questions_of(half)
    with tempfile.TemporaryDirectory() as place:
        asked, out = Path(place, "questions.json"), Path(place, "answers.json")
        asked.write_text(json.dumps([question for question, _ in questions], ensure_ascii=False), encoding="utf-8")
        environment = {**os.environ, "PYTHONPATH": str(package), "OMP_NUM_THREADS": "1", "PYTHONUTF8": "1", "RAGNB_LANG": "en"}
        command = [sys.executable, __file__, "--ask", str(folder), str(asked), embed, str(out)]
        subprocess.run(command, check=True, cwd=place, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        answers = json.loads(out.read_text(encoding="utf-8"))
    right = [[bool(holds(check, text, [])) for (_, check), text in zip(questions, texts)] for texts in answers]
    return " / ".join(f"{sum(row) / len(row):.3f}" for row in right) + f" of {len(questions)}"


def main() -> None:
    "Print a line for each half and commit."
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", nargs="+", choices=HALVES, default=list(HALVES))
    parser.add_argument("--commit", default="ba5707d1", help="ragnb of an earlier commit")
    parser.add_argument("--embed", default="ngrams")
    parser.add_argument("--ask", nargs=4, metavar=("FOLDER", "QUESTIONS", "EMBED", "OUT"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.ask:
        ask(*options.ask)
        return
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write(folder, tuple(options.half))
        packages = {options.commit: package_at(options.commit, folder / "package"), "now": ROOT}
        print(f"cells delivered within {', '.join(map(str, BUDGETS))} characters, {options.embed}")
        for half in options.half:
            for name, package in packages.items():
                print(f"{half:<6}{name:<10}{shares(half, folder / half, package, options.embed)}", flush=True)


if __name__ == "__main__":
    main()
