"""Ask the mixed folder its questions: answered in the first passage, within 500 and within 1,000 characters delivered.

    python benchmarks/mixed.py FOLDER [--questions questions/mixed.jsonl] [--include '*.log'] [--json FILE]

FOLDER is written by `mixed_folder.py`. A question is answered where the text that answers it is verbatim in what is delivered, labels included, best passage first; white space and the form of Korean
(NFC, NFD) are not compared, and lengths are those of the text as it is delivered. A question with a history is asked after its history, in one conversation. A question that the folder does not answer counts
as answered where the note denies a word or nothing is delivered.
"""
from __future__ import annotations

import argparse
import json
import tempfile
import unicodedata
from pathlib import Path
from typing import Any

QUESTIONS = Path(__file__).parent / "questions" / "mixed.jsonl"
SIZES = 500, 1_000


def plain(text: str) -> str:
    """A text without white space, composed."""
    return "".join(unicodedata.normalize("NFC", text).split())


def is_answered(question: dict[str, Any], text: str) -> bool:
    """True where the texts that answer a question are all (or one of them is) in a text."""
    found = [plain(e["text"]) in plain(text) for e in question["evidence"]]
    return all(found) if question["evidence_mode"] == "all" else any(found)


def ask(index: Any, question: dict[str, Any], budget: int) -> Any:
    """The answer to a question after its history."""
    from ragnb.context.conversation import Conversation
    from ragnb.pipeline.pipeline import Pipeline
    pipeline, history = Pipeline.from_index(index, budget=budget, reorder=False), Conversation()
    for before in question["history"]:
        said = pipeline.ask(before, history)
        history.add(before, said.text, said.passages)
    return pipeline.ask(question["query"], history if question["history"] else None)


def measured(index: Any, question: dict[str, Any]) -> dict[str, Any]:
    """What is answered of one question."""
    said = ask(index, question, 4_000)
    row = {"query_id": question["query_id"], "kind": question["kind"]}
    if not question["evidence"]:
        quiet = bool(said.note) or not said.passages
        return row | {"first": quiet} | {str(size): quiet for size in SIZES}
    row["first"] = bool(said.passages) and is_answered(question, said.passages[0].text)
    for size in SIZES:
        row[str(size)] = is_answered(question, ask(index, question, size).context.text[:size])
    return row


def main() -> None:
    """Index the folder, ask everything, print a line for each measure."""
    import warnings

    from ragnb import update_index
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--questions", type=Path, default=QUESTIONS)
    parser.add_argument("--include", action="append", help="read files of this kind too, such as '*.log'")
    parser.add_argument("--json", type=Path, help="write a row for each question")
    args = parser.parse_args()
    questions = [json.loads(line) for line in args.questions.read_text(encoding="utf-8").splitlines()]
    more = {"include": args.include} if args.include else {}
    with tempfile.TemporaryDirectory() as folder:
        index, report = update_index(args.folder, folder, show_progress=False, **more)
        rows = [measured(index, q) for q in questions]
        print(f"{len(index.doc_ids)} documents, {sum(p.n for p in report.problems)} files skipped, {len(rows)} questions")
    for name in ("first", *map(str, SIZES)):
        print(f"{'first passage' if name == 'first' else f'within {int(name):,}'}: {sum(row[name] for row in rows)} of {len(rows)}; not {', '.join(row['query_id'] for row in rows if not row[name]) or 'one'}")
    if args.json:
        args.json.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


if __name__ == "__main__":
    main()
