"""What one checkout of ragnb answers: `golden.py` runs this in a process of its own, with that checkout on PYTHONPATH.

Only names that outlive a rewrite are used: those of `from ragnb import …`, and the command line. A record is what a user meets: spans, labels, notes,
sources, errors and exit codes. Scores, times, sizes and paths are left out, because they differ between machines.
"""
from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import golden_cases as cases
from common import lines

Record = dict[str, Any]        # `id`, and what was found under the names of its kinds
BUDGETS = (1_000, 500, 4_000)  # The first in full, the others only as spans, context and recall
KEPT = 700                     # Characters of an output that are stored; what is longer is its beginning and a hash


def sha(
    value: Any,  # A text, or JSON values
) -> str:        # 8 hexadecimal digits
    "Shorten a value to its hash."
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]


def in_short(
    text: str,  # Any output
) -> str:       # Itself, or its beginning and its hash
    "Keep the beginning of a long text."
    return text if len(text) <= KEPT else f"{text[:KEPT // 2]} … {len(text)} characters, {sha(text)}"


def span_line(
    passages: Sequence[Any],  # Best first
) -> str:                     # `leave.md 0-44 76-90; travel.md 5-9`: a document is named once for passages in a row
    "Write the places of passages in one line."
    line, last = "", None
    for p in passages:
        name = "" if p.doc_id == last else f"{'; ' if line else ''}{p.doc_id}"
        line += f"{name} {p.span.start}-{p.span.end}"
        last = p.doc_id
    return line


def labels_of(
    context: str,             # What a model is shown
    passages: Sequence[Any],  # Best first
) -> list[str]:               # In their order; then what stands behind the last one, if anything does
    "Find what stands above each passage in a context."
    places: list[tuple[int, int, int]] = []
    for i, p in sorted(enumerate(passages), key=lambda pair: -len(pair[1].text)):
        at = context.find(p.text)
        while at >= 0 and any(at < end and at + len(p.text) > start for start, end, _ in places):
            at = context.find(p.text, at + 1)
        if at >= 0:
            places.append((at, at + len(p.text), i))
    labels, behind = ["(not in the context as it is)"] * len(passages), 0
    for start, end, i in sorted(places):
        labels[i], behind = context[behind:start].strip(), end
    rest = context[behind:].strip()
    return [*labels, rest] if rest else labels


def source_lines(
    answer: Any,
) -> list[str]:  # Number, place, pages and article; then a hash of all that it shows, its score aside
    "Write the sources of an answer."
    out = []
    apart = ("score", "label")   # Labels are compared by themselves
    for source in answer.sources():
        pages = f" p.{','.join(map(str, source['pages']))}" if source.get("pages") else ""
        article = f" {source['article']}" if source.get("article") else ""
        out.append(f"{source['number']} {source['id']}{pages}{article} #{sha({k: v for k, v in source.items() if k not in apart})}")
    return out


def without_scores(text: str) -> str:
    "A text with `<x>` for every number of three decimals or more."
    return re.sub(r"\d+\.\d{3,}", "<x>", text)


def full(
    answer: Any,
    texts: dict[str, str],  # Document -> text
    whole: bool = False,    # Keep the context as it is, not as a hash
) -> Record:
    "Write down all of an answer."
    passages, context = answer.passages, answer.context.text
    other = [p.text for p in passages if texts[p.doc_id][p.span.start:p.span.end] != p.text]
    labels = [without_scores(label) for label in labels_of(context, passages)]
    return {"spans": span_line(passages), "text": other, "label": labels, "note": answer.note, "source": source_lines(answer),
            "context": without_scores(context) if whole else sha(without_scores(context)), "answer": sha(answer.text)}


def recall(
    passages: Sequence[Any],
    question: Record,  # With `evidence`, each with doc_id, start and end, and `evidence_mode`
) -> float:            # In [0, 1]
    "The share of the gold characters that passages hold: of all pieces, or of the best one where any is enough."
    parts = []
    for e in question["evidence"]:
        spans = [(p.span.start, p.span.end) for p in passages if p.doc_id == e["doc_id"]]
        inside = sum(any(a <= i < b for a, b in spans) for i in range(e["start"], e["end"]))
        parts.append((inside, e["end"] - e["start"]))
    if question.get("evidence_mode") == "all":
        parts = [tuple(map(sum, zip(*parts)))]
    return round(max(inside / size for inside, size in parts), 4)


def failed(error: BaseException) -> Record:
    "An error as a record."
    return {"error": f"{type(error).__name__}: {in_short(str(error))}"}


def asked(question: Record, pipelines: dict[int, Any], texts: dict[str, str]) -> Record:
    "A gold question at every budget."
    record: Record = {}
    for budget, pipeline in pipelines.items():
        try:
            answer = pipeline.ask(question["query"])
        except Exception as error:
            record[f"error@{budget}"] = failed(error)["error"]
            continue
        found = full(answer, texts) | {"recall": recall(answer.passages, question)}
        record |= found if budget == BUDGETS[0] else {f"{kind}@{budget}": found[kind] for kind in ("spans", "context", "recall")}
    return record


def hidden(record: Record) -> Record:
    "A record of a set that is not ours: ids, offsets and hashes, no text."
    open_ = ("spans", "recall")
    return {k: v if k.partition("@")[0] in open_ or not v or k in ("context", "answer") or k.startswith("context@") else sha(v)
            for k, v in record.items()}


def gold_of_sample(folder: Path, texts: dict[str, str]) -> list[Record]:
    "The questions of the sample, their quotes found in the documents."
    questions = [q for path in sorted(folder.glob("*.jsonl")) for q in lines(path)]
    for e in (e for q in questions for e in q["evidence"]):
        e["start"] = texts[e["doc_id"]].index(e["text"])
        e["end"] = e["start"] + len(e["text"])
    return questions


# --- the parts ------------------------------------------------------------------------------------------------------


def sample(data: Path, quick: bool) -> Iterator[Record]:
    "The gold questions of the sample, then the cases over it; when it must be quick, one budget and every second case."
    from ragnb import Pipeline, read_documents, update_index
    index, _ = update_index(data / "corpus", "index", show_progress=False)
    texts = {d.id_: d.text for d in read_documents(data / "corpus", [])}
    pipelines = {b: Pipeline.from_index(index, budget=b) for b in BUDGETS[:1 if quick else None]}
    for question in gold_of_sample(data / "questions", texts):
        yield {"id": f"sample/{question['query_id']}"} | asked(question, pipelines, texts)
    yield from special("sample", index, texts, cases.OVER_SAMPLE[::2 if quick else 1])


def special(name: str, index: Any, texts: dict[str, str], wanted: Sequence[tuple[str, Record]]) -> Iterator[Record]:
    "Questions with settings of their own; `whole` keeps the context, `then` goes on with the conversation."
    from ragnb import Conversation, Pipeline
    for question, settings in wanted:
        options = {k: v for k, v in settings.items() if k not in ("whole", "then")}
        told = " ".join(f"{k}={v}" for k, v in settings.items() if k != "whole")
        try:
            pipeline = Pipeline.from_index(index, **options)
            answer = pipeline.ask(question)
            if "then" in settings:
                talk = Conversation()
                talk.add(question, answer.text, answer.passages)
                answer = pipeline.ask(settings["then"], talk)
            found = full(answer, texts, settings.get("whole", False))
        except Exception as error:
            found = failed(error)
        yield {"id": f"{name} {in_short(question)!r} {told}".strip()} | found


def commands(data: Path, quick: bool) -> Iterator[Record]:
    "Other splitters over a few documents, editions of a statute, and the command line."
    from ragnb import read_documents, update_index
    cases.write_folders(data)
    texts = {d.id_: d.text for d in read_documents("few", [])} | {d.id_: d.text for d in read_documents("laws", [])}
    for splitter, wanted in cases.OVER_FEW.items():
        index, _ = update_index("few", f"few-{splitter.split(':')[0]}", parser=splitter, show_progress=False)
        yield from special(f"few {splitter}", index, texts, wanted)
    index, _ = update_index("laws", "laws-index", show_progress=False)
    cases.damage("laws-index")
    yield from special("laws", index, texts, cases.OVER_LAWS)
    for argv in cases.COMMANDS:
        yield {"id": f"ragnb {' '.join(map(repr_word, argv))}"} | run(argv)


def repr_word(word: str) -> str:
    "A word of a command as it is typed."
    return word if re.fullmatch(r"[\w./:=,+>@-]+", word) else repr(in_short(word))


FLEETING = (   # What differs between two runs or two machines, and what stands for it
    (re.compile(r"[\d,.]+ MiB"), "<n> MiB"), (re.compile(r"\b[\d.]+ s\b"), "<n> s"),
    (re.compile(r'"(seconds|peak_memory_mib|bytes)": [\d.]+'), r'"\1": <n>'), (re.compile(r"bytes( +)[\d,]+"), r"bytes\1<n>"),
    (re.compile(r'^(ragnb +| "ragnb": ")\d+\.\d+\.\d+(?="?,?$)', re.M), r"\1<n>"),
    (re.compile(r'"fingerprint": "\w+"'), '"fingerprint": <n>'), (re.compile(r"\bprocess \d+"), "process <n>"),
    (re.compile(r"-?\d+\.\d{4,}(e-?\d+)?"), "<x>"), (re.compile(r" \(choose from [^)]*\)"), ""),
    (re.compile(r"\| [\d.]+ \| ([\d.]+) \|$", re.M), r"| <ms> | \1 |"),
)


def steady(text: str) -> str:
    "An output without paths of this machine, times, sizes and scores."
    text = text.replace(os.getcwd(), "<here>").replace(str(Path(sys.executable)), "<python>")
    for pattern, stands in FLEETING:
        text = pattern.sub(stands, text)
    return in_short(text)


def run(argv: Sequence[str]) -> Record:
    "Run a command in this process."
    from ragnb.cli import main
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code: Any = main(list(argv))
        except SystemExit as error:
            code = error.code
        except Exception as error:
            code = f"raised {type(error).__name__}: {steady(str(error))}"
    return {"exit": code, "out": steady(out.getvalue()), "error": steady(err.getvalue())}


def development(name: str) -> Callable[[Path, bool], Iterator[Record]]:
    "The part that asks a development set."
    def part(data: Path, quick: bool) -> Iterator[Record]:
        from ragnb import Pipeline, update_index
        documents, questions = drawn(data / name, *cases.SETS[name])
        Path("corpus.jsonl").write_text("".join(json.dumps(d, ensure_ascii=False) + "\n" for d in documents), encoding="utf-8")
        index, _ = update_index("corpus.jsonl", "index", show_progress=False)
        texts = {d["doc_id"]: d["text"] for d in documents}
        pipelines = {b: Pipeline.from_index(index, budget=b) for b in BUDGETS}
        for question in questions:
            yield {"id": f"{name}/{question['query_id']}"} | hidden(asked(question, pipelines, texts))
    return part


def mixed(name: str) -> str:
    "A place in an order that looks random and is the same everywhere."
    return hashlib.sha256(f"0:{name}".encode()).hexdigest()


def drawn(folder: Path, characters: int, n: int) -> tuple[list[Record], list[Record]]:
    "Some documents of a set, in a mixed order up to a size, and some of the questions about them."
    kept: dict[str, Record] = {}
    for d in sorted(lines(folder / "corpus.jsonl"), key=lambda d: mixed(d["doc_id"])):
        if not kept or sum(len(k["text"]) for k in kept.values()) + len(d["text"]) <= characters:
            kept[d["doc_id"]] = {k: d[k] for k in ("doc_id", "title", "text") if k in d}
    questions = [q for q in lines(folder / "queries.jsonl") if q["evidence"]]
    for q in questions:
        q["evidence"] = [{"doc_id": q["doc_id"]} | e for e in q["evidence"]] if "doc_id" in q else q["evidence"]
    questions = [q for q in questions if all(e["doc_id"] in kept for e in q["evidence"])]
    return list(kept.values()), sorted(questions, key=lambda q: mixed(q["query_id"]))[:n]


def main() -> None:
    "Write the records of one part to a file."
    part, checkout, data, out, quick = sys.argv[1:]
    import ragnb
    if not Path(ragnb.__file__ or "").resolve().is_relative_to(Path(checkout).resolve()):
        raise SystemExit(f"ragnb is that of {ragnb.__file__}, not of {checkout}")
    make = {"sample": sample, "commands": commands}.get(part) or development(part)
    times: Counter[str] = Counter()
    with open(out, "w", encoding="utf-8") as file:
        for record in make(Path(data), quick == "quick"):
            times[record["id"]] += 1
            again = f" ({n})" if (n := times[record["id"]]) > 1 else ""   # a command that is run again
            kept = {k: v for k, v in record.items() if v not in ("", [], None)} | {"id": record["id"] + again}
            file.write(json.dumps(kept, ensure_ascii=False) + "\n")
    print(f"{time.process_time():.0f} s of CPU")


if __name__ == "__main__":
    main()
