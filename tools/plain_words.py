"""Count what an editor would mend in the texts of the project: a dialect, long sentences, two Korean endings.

    python -m tools.plain_words                 # how often each, and the ceiling that the last change left
    python -m tools.plain_words --show beside   # where one of them stands
    python -m tools.plain_words --lower         # after a rewrite: today's counts become the ceilings
    python -m tools.plain_words --draw cli      # fifty sentences to read with an editor's eyes (--seed N: others)

`make check` fails if a count is above its ceiling in `tools/plain_words.json`.
"""
from __future__ import annotations

import argparse
import ast
import json
import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CEILINGS = Path(__file__).with_suffix(".json")
LONG = 24   # Words of an English sentence
DRAWN, SEED = 50, 33   # Sentences of one draw, and where the first draw begins
RULES = {
    "who": r"\b(?:[Ww]hoever|[Ss]omebody|Who (?!is|are|was|can)\w+s\b)",
    "beside": r"\b[Bb]eside\b",
    "anew": r"\banew\b",
    "of one's own": r"\bof (?:its|their|your|one's|our|yours) own\b|\bof yours\b",
    "told": r"\b(?:is|are|was) told\b|\btells? of\b|\btold of\b",
    "brings": r"\bbrings?\b|\bbrought\b",
    "stands": r"\bstands?\b",
    "clause without a noun": r"\bwhat (?:no|the|an?|its?) \w+ (?:holds?|has|have|brings?|says?|finds?|keeps?)\b",
    "held": r"\bholds? (?:no|the word|a word)\b|\bno document holds\b",
    "real": r"\b(?:is|are) real\b",
    "말합니다": r"(?:까닭|이름|문서)[을를이가은는]? 말합니다",
    "plain ending": r"[가-힣](?:한다|이다|된다|는다|있다|없다)\.(?:\s|$)",
    "대목": "대목", "열쇠": "열쇠", "척도": "척도",
}


def prose(
    text: str,   # Markdown
) -> str:
    "Leave out code, formulas and links' targets; each cell of a table is its own paragraph."
    text = re.sub(r"(?ms)^\s*```.*?^\s*```", "\n", text)
    text = re.sub(r"\]\([^)]*\)", "]", re.sub(r"`[^`]*`|\$[^$]*\$", "x", text))
    return re.sub(r"(?m)^\s*\|.*$", lambda row: "\n\n".join(["", *re.split(r"(?<!\\)\|", row[0]), ""]), text)


def docstrings(
    path: Path,   # A module
) -> Iterator[str]:
    "Find the docstrings of a module."
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            yield ast.get_docstring(node) or ""


def texts() -> Iterator[tuple[str, str]]:   # Where it is, and the text
    "Find every text: pages, prose of notebooks, docstrings."
    for path in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]:
        yield str(path.relative_to(ROOT)), prose(path.read_text(encoding="utf-8"))
    for path in sorted((ROOT / "nbs").rglob("*.ipynb")):
        if not any(part.startswith(".") for part in path.relative_to(ROOT).parts):
            cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
            told = ["".join(c["source"]) for c in cells if c["cell_type"] == "markdown"]
            yield str(path.relative_to(ROOT)), prose("\n\n".join(told))
    for path in sorted((ROOT / "ragnb").rglob("*.py")):
        if path.name != "_modidx.py":
            yield str(path.relative_to(ROOT)), prose("\n\n".join(docstrings(path)))


def sentences(
    text: str,
    least: int,   # English words
) -> Iterator[str]:
    "Find the English sentences with at least so many words."
    for sentence in re.split(r"(?<=[.!?])\s+|\n\s*\n|\n(?=[#>*-])", text):
        if len(re.findall(r"[A-Za-z][\w'-]*", sentence)) >= least:
            yield " ".join(sentence.split())


def drawn(
    what: str,    # "readme", "cli" (help, notes and errors) or "notebooks"
    seed: int,
) -> list[str]:   # Each with its place
    "Draw sentences at random: the same ones for a seed while the texts are the same."
    if what == "cli":
        table = json.loads((ROOT / "ragnb/machinery/ko.json").read_text(encoding="utf-8"))
        found = [("ko.json", text) for text in table]
    else:
        found = [(where, text) for where, text in texts() if where == "README.md" or where.endswith(".ipynb")]
        found = [(where, text) for where, text in found if (where == "README.md") == (what == "readme")]
    kept = sorted({f"{where}: {s}" for where, text in found for s in sentences(text, 4)})
    return random.Random(seed).sample(kept, min(DRAWN, len(kept)))


def found() -> dict[str, list[str]]:   # Rule -> places
    "Look through all texts."
    out: dict[str, list[str]] = {rule: [] for rule in [*RULES, "long sentence"]}
    for where, text in texts():
        for rule, pattern in RULES.items():
            for match in re.finditer(pattern, text):
                around = " ".join(text[max(0, match.start() - 50):match.end() + 40].split())
                out[rule].append(f"{where}: …{around}…")
        out["long sentence"] += [f"{where}: {s}" for s in sentences(text, LONG + 1)]
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--show", choices=[*RULES, "long sentence"], help="print the places of one rule")
    parser.add_argument("--lower", action="store_true", help="store today's counts as ceilings")
    parser.add_argument("--draw", choices=["readme", "cli", "notebooks"], help=f"print {DRAWN} sentences at random")
    parser.add_argument("--seed", type=int, default=SEED, help="which sentences --draw prints")
    args = parser.parse_args()
    if args.draw:
        return print("\n".join(drawn(args.draw, args.seed)))
    places = found()
    counts = {rule: len(where) for rule, where in places.items()}
    ceilings = json.loads(CEILINGS.read_text()) if CEILINGS.exists() else counts
    if args.show:
        print("\n".join(places[args.show]))
    elif args.lower:
        lowest = {rule: min(n, ceilings.get(rule, n)) for rule, n in counts.items()}
        CEILINGS.write_text(json.dumps(lowest, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    else:
        print("\n".join(f"{n:5}  (at most {ceilings[rule]})  {rule}" for rule, n in counts.items()))
        over = [rule for rule, n in counts.items() if n > ceilings[rule]]
        sys.exit(f"more than before: {', '.join(over)}; see them with --show RULE" if over else 0)


if __name__ == "__main__":
    main()
