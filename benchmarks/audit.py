"""Count a stored run again without this package: the standard library, the stored strings, and the data set.

    ragnb eval FOLDER --out out/eval
    python benchmarks/audit.py out/eval FOLDER                     (FOLDER holds corpus.jsonl and queries.jsonl)
    python benchmarks/audit.py out/eval CORPUS.jsonl QUESTIONS.jsonl

It reads `results.json` and `contexts.jsonl.gz`, and checks of every strategy, question and budget

- that each span that is said to be delivered is text of its document, character by character, at its place in the string, below a label with its number;
- that no string exceeds its budget (characters and words always, tokens where tiktoken can be imported);
- that delivered recall and the recall of spans, counted again, are those of the row, and their means those of `results.json` to the last digit.

It prints a table, and ends with 1 when anything disagrees.
"""
from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections import defaultdict
from pathlib import Path

ENCODINGS = ("cl100k_base", "o200k_base", "gpt2")


def lines(path: Path) -> list[dict]:
    """The objects of a JSONL file, compressed or not."""
    opened = gzip.open(path, "rt", encoding="utf-8", errors="surrogatepass") if path.suffix == ".gz" else path.open(encoding="utf-8", errors="surrogatepass")
    with opened as file:
        return [json.loads(line) for line in file if line.strip()]


def first(record: dict, *names: str) -> str:
    """The first of some fields that a record has."""
    return str(next(record[n] for n in names if record.get(n) is not None))


def gold(question: dict, texts: dict[str, str]) -> list[tuple[str, int, int]]:
    """Document, start and end of every piece of evidence."""
    out = []
    for piece in question["evidence"]:
        doc_id = first({**question, **piece}, "doc_id")
        start = piece["start"] if "start" in piece else texts[doc_id].index(piece["text"])
        end = piece["end"] if "end" in piece else start + len(piece["text"])
        if texts[doc_id][start:end] != piece["text"]:
            raise ValueError(f"evidence of {question['query_id']!r} is not at {start} of {doc_id!r}")
        out.append((doc_id, start, end))
    return out


def merged(places: list[tuple[str, int, int]]) -> dict[str, list[list[int]]]:
    """Spans of each document, without overlaps, in order."""
    out: dict[str, list[list[int]]] = defaultdict(list)
    for doc_id, start, end in sorted(places):
        if out[doc_id] and start <= out[doc_id][-1][1]:
            out[doc_id][-1][1] = max(end, out[doc_id][-1][1])
        else:
            out[doc_id].append([start, end])
    return out


def share(places: list[tuple[str, int, int]], evidence: list[tuple[str, int, int]], mode: str) -> float:
    """The share of the evidence characters that some spans hold: of all pieces together, or of the best one."""
    held, found = merged(places), []
    for needed in ([evidence] if mode == "all" else [[piece] for piece in evidence]):
        wanted = [(d, s, e) for d, spans in merged(needed).items() for s, e in spans]
        inside = sum(max(0, min(e, b) - max(s, a)) for d, s, e in wanted for a, b in held.get(d, ()))
        found.append(inside / sum(e - s for _, s, e in wanted))
    return max(found)


def counter(unit: str):
    """How long a string is in the unit of the budgets; None where that cannot be counted here."""
    known = {"characters": len, "words": lambda text: len(text.split())}
    if unit in ENCODINGS:
        try:
            import tiktoken
            encoding = tiktoken.get_encoding(unit)
            return lambda text: len(encoding.encode(text, disallowed_special=()))
        except Exception as error:  # not installed, or no file of the encoding and no network
            print(f"note: tokens are not counted ({type(error).__name__}: {error})", file=sys.stderr)
    return known.get(unit)


def faults(context: dict, budget: int, texts: dict[str, str], count) -> list[str]:
    """What is wrong with one stored string."""
    out, text = [], context["text"]
    size = count(text) if count else context["size"]
    if size > budget or size != context["size"]:
        out.append(f"has {size}, says {context['size']}, and may have {budget}")
    for doc_id, start, end, at, number in context["delivered"]:
        if not 0 <= start < end or text[at:at + end - start] != texts.get(doc_id, "")[start:end]:
            out.append(f"has no text of {doc_id!r} {start}-{end} at {at}")
        if f"[{number}]" not in text[:at]:
            out.append(f"has no label [{number}] above {at}")
    return out


def audit(rows: list[dict], stored: dict, unit: str, questions: dict[str, dict], texts: dict[str, str]) -> tuple[list[list[str]], list[str]]:
    """The lines of one strategy's table, and what disagrees."""
    count, table, wrong, name = counter(unit), [], [], rows[0]["strategy"]
    for budget, means in stored["budgets"].items():
        sums, longest = {"delivered_recall": [], "evidence_recall": []}, 0
        for row in rows:
            question, context = questions[row["query_id"]], row["contexts"][budget]
            evidence, mode = gold(question, texts), question.get("evidence_mode", "any")
            again = {"delivered_recall": share([(d, s, e) for d, s, e, *_ in context["delivered"]], evidence, mode),
                     "evidence_recall": share([tuple(span) for span in context["spans"]], evidence, mode)}
            where = f"{name}, {row['query_id']} at {budget}"
            wrong += [f"{where}: the string {fault}" for fault in faults(context, int(budget), texts, count)]
            for measure, value in again.items():
                sums[measure].append(value)
                if value != row["budgets"][budget][measure]:
                    wrong.append(f"{where}: {measure} is {value}, the row says {row['budgets'][budget][measure]}")
            longest = max(longest, context["size"])
        cells = [name, f"{int(budget):,}", str(len(rows))]
        for measure, values in sums.items():
            mean, said = sum(values) / len(values), means[measure]
            if abs(mean - said) > 0.51e-6:
                wrong.append(f"{name} at {budget}: mean {measure} is {mean:.6f}, results.json says {said:.6f}")
            cells += [f"{said:.6f}", f"{mean:.6f}"]
        table.append([*cells, f"{longest:,}"])
    return table, wrong


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, help="folder of a run: results.json and contexts.jsonl.gz")
    parser.add_argument("corpus", type=Path, help="corpus.jsonl, or a folder with it and queries.jsonl")
    parser.add_argument("questions", type=Path, nargs="?", help="questions.jsonl")
    parser.add_argument("--most", type=int, default=20, help="disagreements that are printed")
    args = parser.parse_args(argv)
    whole = args.corpus.is_dir() and args.questions is None
    corpus, asked = (args.corpus / "corpus.jsonl", args.corpus / "queries.jsonl") if whole else (args.corpus, args.questions)
    texts = {first(d, "doc_id", "_id", "id"): d["text"] for d in lines(corpus)}
    questions = {first(q, "query_id", "_id", "id"): q for q in lines(asked)}
    results = json.loads((args.out / "results.json").read_text(encoding="utf-8"))
    by_strategy: dict[str, list[dict]] = defaultdict(list)
    for row in lines(args.out / "contexts.jsonl.gz"):
        by_strategy[row["strategy"]].append(row)
    table, wrong = [], []
    for name, stored in results["strategies"].items():
        rows = by_strategy[name]
        if len(rows) != results["n_questions"] or len({row["query_id"] for row in rows}) != len(rows):
            wrong.append(f"{name}: {len(rows)} rows of {results['n_questions']} questions")
        found, faulty = audit(rows, stored, results.get("unit", "characters"), questions, texts) if rows else ([], [])
        table, wrong = table + found, wrong + faulty
    head = ["strategy", "budget", "questions", "delivered", "again", "spans", "again", "longest string"]
    print("\n".join("| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *table]))
    print(f"\n{len(wrong)} disagreements" + "".join(f"\n  {line}" for line in wrong[:args.most]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
