"""Ask the questions of this folder as a user would, and count what arrives.

    python benchmarks/typed/run.py                               # the open half: peers and ragnb as it is here
    python benchmarks/typed/run.py --before ba5707d1             # also ragnb as it was at that commit
    python benchmarks/typed/run.py --systems ragnb-ngram --groups signs negation --show
    python benchmarks/typed/run.py --half held --before ba5707d1 # once, when a change is finished: read no question of it

Each system gets the same texts. ragnb is asked by its command line (`ask --json`, `--history`, `--where`), in a process
of its own with the package of the commit. The peers know neither history nor conditions: they get the question alone, and
of a question with conditions only the documents that meet them.
"""
from __future__ import annotations

import contextlib
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from common import arguments, lines, ROOT, store  # noqa: E402

CORPUS = HERE / "corpus"
BUDGETS = (500, 1_000)
PIECE = 500        # Characters of a piece under rank_bm25
GROUPS = ("values", "signs", "negation", "followups", "duplicates", "fields", "everyday", "rows", "codes", "sections", "plain")
TUNED = "llamaindex-fusion:chunk_size=128,chunk_overlap=20,words"
PEERS = ("rank_bm25", "llamaindex-fusion", TUNED)   # The second as documented: chunks of 1,024 tokens
OURS = ("ragnb-ngram", "ragnb-e5")
MARKS = re.compile(r"[\s|,*#\"`\\]+|<[^>]*>")       # How a table or a heading is written does not count
DENIES = re.compile(r"no document|probably not|nothing was found")
LISTED = re.compile(r"no document contains (?:any word of the question \(|these words of the question: )(.+?)(?:\)|;|$)")


class Delivery(NamedTuple):
    """What a system gives for a question at a budget."""
    parts: list[tuple[str, str]]   # File and text, in order; the texts and their labels fit the budget
    first: tuple[str, str]         # Its best passage
    note: str = ""


def plain(text: str) -> str:
    """A text without white space and marks of tables."""
    return MARKS.sub("", text)


def has(parts: Iterable[tuple[str, str]], gold: Mapping[str, Any]) -> bool:
    """Whether a gold quote stands in a text of one of its files."""
    quote = plain(gold["quote"])
    return any(file in gold["files"] and quote in plain(text) for file, text in parts)


@cache
def all_words() -> str:
    """All texts of the corpus in small letters."""
    return "\n".join(path.read_text(encoding="utf-8").lower() for path in sorted(CORPUS.rglob("*.*")))


def is_false(note: str, group: str) -> bool:
    """Whether a note on an answerable question denies the answer, a word that begins one of a document, or its value."""
    listed = LISTED.search(note)
    words = listed[1].lower().split(", ") if listed else []
    values = [word for word in words if group == "values" and any(c.isdigit() for c in word)]
    return "probably not" in note or bool(values) or any(re.search(rf"(?<!\w){re.escape(word)}", all_words()) for word in words)


def measure(question: Mapping[str, Any], delivered: Mapping[int, Delivery]) -> dict[str, Any]:
    """The numbers of one question."""
    note, row = delivered[BUDGETS[0]].note, {"id": question["id"], "group": question["group"]}
    if question.get("unanswerable"):
        return row | {"right note": float(bool(DENIES.search(note)))}
    golds = question["gold"]
    row["first"] = float(any(has([delivered[BUDGETS[0]].first], gold) for gold in golds))
    for budget in BUDGETS:
        row[str(budget)] = sum(has(delivered[budget].parts, gold) for gold in golds) / len(golds)
    return row | {"false note": float(is_false(note, question["group"]))}


# ragnb by its command line, at any commit

def command(*words: str) -> tuple[int, str, str]:
    """Run `ragnb` in this process: exit code and both outputs."""
    from ragnb.cli import main
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(list(words))
    return code, out.getvalue(), err.getvalue()


def delivery(index: Path, question: Mapping[str, Any], budget: int) -> Delivery:
    """Ask a question after those of its history; the texts are cut out of the context by their numbers."""
    with tempfile.TemporaryDirectory() as folder:
        history = ["--history", f"{folder}/talk.json"] if "history" in question else []
        where = [word for condition in question.get("where", ()) for word in ("--where", condition)]
        for earlier in question.get("history", ()):
            command("ask", earlier, "--index", str(index), "--budget", str(budget), *history)
        code, out, err = command("ask", question["question"], "--index", str(index), "--budget", str(budget), "--json", *history, *where)
    if code or not out:
        return Delivery([], ("", ""), err or "nothing was found")
    answer = json.loads(out)
    files = {source["number"]: source["doc_id"] for source in answer["sources"]}
    cuts = re.split(r"^\[(\d+)\] ", answer["context"], flags=re.MULTILINE)
    parts = [(files.get(int(number), ""), text) for number, text in zip(cuts[1::2], cuts[2::2])]
    best = answer["passages"][0] if answer["passages"] else {"id": "@", "text": ""}
    return Delivery(parts, (best["id"].rpartition("@")[0], best["text"]), answer["note"])


def answer_all(embed: str, half: str, groups: Sequence[str]) -> None:
    """Index the corpus with the package that is imported, and print a line for each question."""
    os.environ |= {"RAGNB_LANG": "en", "TQDM_DISABLE": "1"}
    with tempfile.TemporaryDirectory() as folder:
        index, started = Path(folder) / "index", time.process_time()
        code, _, err = command("index", str(CORPUS), "--index", str(index), *([] if embed == "ngram" else ["--embed", embed]))
        if code:
            sys.exit(err)
        print(json.dumps({"index CPU s": time.process_time() - started}), flush=True)
        for question in lines(HERE / f"{half}.jsonl"):
            if question["group"] in groups:
                found = {budget: delivery(index, question, budget) for budget in BUDGETS}
                print(json.dumps(measure(question, found), ensure_ascii=False), flush=True)


def ragnb_rows(checkout: Path, embed: str, half: str, groups: Sequence[str]) -> list[dict[str, Any]]:
    """What the package of a folder answers."""
    words = [sys.executable, str(HERE / "run.py"), "--answer", embed, "--half", half, "--groups", *groups]
    run = subprocess.run(words, env=os.environ | {"PYTHONPATH": str(checkout)}, cwd=checkout, stdout=subprocess.PIPE, text=True, check=True)
    return [json.loads(line) for line in run.stdout.splitlines()]


def unpack(commit: str, folder: Path) -> Path:
    """The package at a commit."""
    folder.mkdir()
    archive = subprocess.run(["git", "-C", str(ROOT), "archive", commit, "ragnb"], stdout=subprocess.PIPE, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        files.extractall(folder, filter="data")
    return folder


# Peers

def pieces(text: str) -> list[str]:
    """A text in pieces of at most 500 characters, cut at white space."""
    out = [""]
    for word in re.findall(r"\S+\s*", text):
        if len(out[-1]) + len(word) > PIECE and out[-1]:
            out.append("")
        out[-1] += word
    return out


def rank_bm25(documents: Sequence[Any]) -> Callable[[str], list[tuple[str, str]]]:
    """Okapi BM25 over pieces; Korean by the stems of kiwipiepy, all else by words."""
    from kiwipiepy import Kiwi
    from rank_bm25 import BM25Okapi
    kiwi, rows = Kiwi(), [(d.id_, piece) for d in documents for piece in pieces(d.text)]

    def tokens(text: str) -> list[str]:
        return [token.form.lower() for token in kiwi.tokenize(text) if token.tag[0] in "NVM" or token.tag in ("XR", "SL", "SN", "SH")]
    scorer = BM25Okapi([tokens(text) for _, text in rows])

    def ask(question: str) -> list[tuple[str, str]]:
        scores = scorer.get_scores(tokens(question))
        return [rows[i] for i in sorted(range(len(rows)), key=lambda i: -scores[i])[:20]]
    return ask


def fusion(spec: str, documents: Sequence[Any]) -> Callable[[str], list[tuple[str, str]]]:
    """LlamaIndex's QueryFusionRetriever of BM25 and vectors of E5."""
    from ragnb import resolve_embedding
    from ragnb.evaluation.peers import build_peer
    system = build_peer(spec, documents, resolve_embedding("e5"), fill=4_000)
    return lambda question: [(p.doc_id, p.text) for p in system.rank(question).passages]


def cut(found: Sequence[tuple[str, str]], budget: int) -> Delivery:
    """The results within a budget, each under a label as ragnb's."""
    parts, left = [], budget
    for number, (file, text) in enumerate(found, 1):
        left -= len(f"[{number}] ({file})\n\n")
        if left <= 0:
            break
        parts.append((file, text[:left]))
        left -= len(text)
    return Delivery(parts, parts[0] if parts else ("", ""))


def meets(metadata: Mapping[str, Any], conditions: Iterable[str]) -> bool:
    """Whether a document meets KEY=VALUE, of which a list may have one."""
    pairs = [condition.split("=", 1) for condition in conditions]
    return all(value in (held if isinstance(held := metadata.get(key), list) else [str(held)]) for key, value in pairs)


def peer_rows(system: str, half: str, groups: Sequence[str]) -> list[dict[str, Any]]:
    """What a peer answers."""
    from ragnb import read_documents
    documents = list(read_documents(CORPUS, []))
    metadata = {d.id_: d.metadata for d in documents}
    ask = rank_bm25(documents) if system == "rank_bm25" else fusion(system, documents)
    out = []
    for question in lines(HERE / f"{half}.jsonl"):
        if question["group"] in groups:
            found = [(file, text) for file, text in ask(question["question"]) if meets(metadata[file], question.get("where", ()))]
            out.append(measure(question, {budget: cut(found, budget) for budget in BUDGETS}))
    return out


# The table

def mean(rows: Sequence[Mapping[str, Any]], kind: str) -> float | None:
    """The mean of a number over the questions that have it."""
    values = [row[kind] for row in rows if kind in row]
    return sum(values) / len(values) if values else None


def summary(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """First, 500 and 1,000 of each group and of all, and the notes of all."""
    asked = [row for row in rows if "group" in row]
    parts = {name: [row for row in asked if row["group"] == name] for name in GROUPS} | {"all": asked}
    out: dict[str, Any] = {name: [mean(part, kind) for kind in ("first", *map(str, BUDGETS))] for name, part in parts.items() if part}
    for kind in ("right note", "false note"):
        out[kind] = [int(sum(row.get(kind, 0) for row in asked)), sum(kind in row for row in asked)]
    return out | {key: value for row in rows[:1] for key, value in row.items() if key == "index CPU s"}


def table(results: Mapping[str, Mapping[str, Any]]) -> str:
    """Markdown: first / 500 / 1,000 in percent."""
    names, heads = list(results), ["|".join(["| group ", *map(" {} ".format, results), ""]), "|---" * (len(results) + 1) + "|"]
    kinds = [kind for kind in (*GROUPS, "all", "right note", "false note", "index CPU s") if any(kind in results[n] for n in names)]

    def cell(kind: str, value: Any) -> str:
        if value is None:
            return "–"
        if kind == "index CPU s":
            return f"{value:.0f}"
        if kind.endswith("note"):
            return f"{value[0]} of {value[1]}"
        return " / ".join("–" if x is None else f"{100 * x:.0f}" for x in value)
    return "\n".join(heads + ["| " + " | ".join([kind, *(cell(kind, results[n].get(kind)) for n in names)]) + " |" for kind in kinds])


def show_misses(name: str, rows: Sequence[Mapping[str, Any]], half: str) -> None:
    """Print the questions whose answer is not in the first passage or not within 1,000 characters, and wrong notes."""
    questions = {question["id"]: question["question"] for question in lines(HERE / f"{half}.jsonl")}
    for row in rows:
        if "id" in row and (min(row.get("first", 1), row.get(str(BUDGETS[-1]), 1), row.get("right note", 1)) < 1 or row.get("false note")):
            numbers = {key: value for key, value in row.items() if key not in ("id", "group")}
            print(f"{name} {row['id']} {questions[row['id']]!r} {numbers}")


def main() -> None:
    args = arguments(__doc__, half=("open", "open or held"), before=("", "a commit to compare with"), now=("", "a commit in place of the files that are here"), systems=([*PEERS, *OURS], "those to ask"),
                     groups=([*GROUPS], "those to ask"), show=(False, "print what went wrong: the open half only"), answer=("", "used by this script"), out=(Path, "JSON with the numbers; those of other systems and commits stay in it"))
    groups, systems = args.groups or GROUPS, args.systems or [*PEERS, *OURS]
    if args.answer:
        answer_all(args.answer, args.half, groups)
        return
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        checkouts = {commit: unpack(commit, Path(folder, commit)) for commit in dict.fromkeys((args.before, args.now)) if commit}
        if not args.now:
            checkouts["now"] = ROOT
        for system in systems:
            versions = {f"{system} {name}": checkout for name, checkout in checkouts.items()} if system in OURS else {system: None}
            for name, checkout in versions.items():
                rows = peer_rows(system, args.half, groups) if checkout is None else ragnb_rows(checkout, system.removeprefix("ragnb-"), args.half, groups)
                results[name] = summary(rows)
                if args.out:     # at once: a run that is cut short has what is finished
                    stored = json.loads(args.out.read_text(encoding="utf-8"))["results"] if args.out.exists() else {}
                    results = stored | results
                    store(args.out, {"half": args.half, "results": results})
                if args.show and args.half == "open":
                    show_misses(name, rows, args.half)
                print(f"{name}: {results[name]['all']}", flush=True)
    print(table(results))


if __name__ == "__main__":
    main()
