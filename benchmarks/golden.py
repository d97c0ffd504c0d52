"""The golden file: what about 1,300 questions and commands gave at commit 44e0156, and what a later commit gives instead.

    python benchmarks/golden.py compare                        # this checkout; exit 1 when something differs that is not accepted
    python benchmarks/golden.py compare --quick --jobs 2       # the sample alone, one budget, every second case: `make check`
    python benchmarks/golden.py accept --reason "…"            # take over what the last comparison found; golden/CHANGES.md has the reason
    python benchmarks/golden.py compare --at COMMIT            # another commit
    python benchmarks/golden.py make                           # the reference again, with the package of 44e0156 and the questions of today

`golden/sample.jsonl` and `commands.jsonl` are of the sample: where each passage is (its text is the document's, or it is stored), its label, notes, sources,
errors, outputs and exit codes. `golden/sets.jsonl` is of the development sets in RAGNB_DATA: ids, offsets and hashes, no text; where they are absent, only
the sample is compared. A line that was accepted keeps what it was at 44e0156 under `was`, and recall is always compared with that. `golden_cases.py` has
the questions, `golden_worker.py` asks them. On another processor, or with another numpy, near ties between passages can fall otherwise: there `--quick`
lets up to 3 % of the lines pass whose errors and exit codes are the same, and says so.
"""
from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from importlib import metadata
from pathlib import Path
from typing import Any

from common import arguments, DATA, lines, ROOT
from golden_cases import SETS

HERE = ROOT / "benchmarks"
GOLDEN = HERE / "golden"
FOUND = ROOT / "out" / "golden"    # What the last comparison found
REFERENCE = "44e0156"
OWN = ("sample", "commands")       # Parts that need no data but the project's
BUDGETS = ("500", "1000", "4000")  # Of recall
KINDS = ("spans", "recall", "text", "label", "note", "source", "context", "answer", "error", "exit", "out", "missing", "new")

CLOSE = ("spans", "recall", "text", "label", "note", "source", "context", "answer", "out")   # What a near tie can turn
MOST = 0.03   # Share of the lines that near ties may turn on another machine

Record = dict[str, Any]


# --- files ----------------------------------------------------------------------------------------------------------


def file_of(part: str) -> Path:
    "The file that a part's lines are in."
    return GOLDEN / f"{part if part in OWN else 'sets'}.jsonl"


def read(path: Path) -> dict[str, Record]:  # Id -> record
    "Read records; none when there is no file."
    return {r["id"]: r for r in lines(path)} if path.exists() else {}


def write(path: Path, records: dict[str, Record]) -> None:
    "Write records, a line each."
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(r, ensure_ascii=False, separators=(",", ":")) + "\n" for r in records.values()), encoding="utf-8")


def original(record: Record) -> Record:
    "A record as it was at the reference."
    now = {k: v for k, v in record.items() if k not in ("was", *record.get("was", {}))}
    return now | {k: v for k, v in record.get("was", {}).items() if v is not None}


def expected(record: Record) -> Record:
    "A record without what it was before."
    return {k: v for k, v in record.items() if k != "was"}


def belongs(part: str, name: str) -> bool:
    "True when a line is of a part; the lines of all sets share a file."
    return part in OWN or name.startswith(f"{part}/")


def machine() -> dict[str, str]:
    "What decides how numbers are rounded, and how words are analysed."
    facts = Path("/proc/cpuinfo")
    wide = " avx512" if facts.exists() and "avx512f" in facts.read_text(encoding="utf-8") else ""
    versions = {name: metadata.version(name) for name in ("numpy", "scipy", "kiwipiepy", "kiwipiepy_model")}
    return {"processor": platform.machine() + wide, **versions}


# --- running --------------------------------------------------------------------------------------------------------


@contextmanager
def checkout_of(commit: str) -> Iterator[Path]:
    "The tree of a commit, in a folder that is removed afterwards."
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--detach", str(tree), commit], check=True, capture_output=True)
        try:
            yield tree
        finally:
            subprocess.run([*git, "remove", "--force", str(tree)], check=True, capture_output=True)


def environment(checkout: Path) -> dict[str, str]:
    "The environment of a worker: one thread, the same kernels on every x86 processor, nothing that a user has set."
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("RAGNB_", "OLLAMA_", "OPENAI_"))}
    plain = {"PYTHONPATH": str(checkout), "PYTHONUTF8": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1",
             "NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "100", "TZ": "UTC", "RAGNB_DATA": "no-data"}
    if platform.machine().lower() in ("x86_64", "amd64"):
        plain["OPENBLAS_CORETYPE"] = "Haswell"   # AVX-512 rounds otherwise, and near ties fall the other way
    return kept | plain


def answers(part: str, checkout: Path, quick: bool = False) -> dict[str, Record]:
    "Ask a part of the package of a checkout, in a process and a folder of its own."
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        out, data = Path(folder) / "found.jsonl", ROOT / "data" if part in OWN else DATA
        (work := Path(folder) / "work").mkdir()
        words = [part, str(checkout), str(data.resolve()), str(out), "quick" if quick else "whole"]
        done = subprocess.run([sys.executable, str(HERE / "golden_worker.py"), *words], cwd=work, env=environment(checkout),
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            raise SystemExit(f"golden: {part} ended with {done.returncode}:\n{done.stdout[-2_000:]}")
        found = read(out)
    cpu = done.stdout.strip().rpartition("\n")[2]
    print(f"{part}: {len(found):,} asked in {time.perf_counter() - started:.0f} s, {cpu}", file=sys.stderr, flush=True)
    return found


def parts_here(wanted: str | None, quick: bool) -> list[str]:
    "The parts to ask: those that are named, else all whose data is here."
    named = wanted.split(",") if wanted else [*OWN, *([] if quick else SETS)]
    here = [p for p in named if p in OWN or (DATA / p / "corpus.jsonl").exists()]
    if absent := [p for p in named if p not in here]:
        print(f"golden: only {', '.join(here)}: RAGNB_DATA ({DATA.name}) has no {', '.join(absent)}", file=sys.stderr)
    return here


def ask_all(parts: Sequence[str], at: str | None, quick: bool, jobs: int) -> dict[str, dict[str, Record]]:
    "The records of every part, of this checkout or of a commit."
    with (checkout_of(at) if at else nullcontext(ROOT)) as checkout, ThreadPoolExecutor(jobs) as pool:
        return dict(zip(parts, pool.map(lambda part: answers(part, checkout, quick), parts)))


# --- comparing ------------------------------------------------------------------------------------------------------


def differences(before: dict[str, Record], after: dict[str, Record], quick: bool = False) -> dict[str, dict[str, tuple[Any, Any]]]:
    "Id -> what differs -> its values before and after; a line that is gone is `missing`, one that nobody knows `new`."
    out: dict[str, dict[str, tuple[Any, Any]]] = {}
    for name in after if quick else {**before, **after}:
        if name not in after or name not in before:
            out[name] = {"missing" if name in before else "new": (before.get(name), after.get(name))}
            continue
        a, b = expected(before[name]), after[name]
        keys = [k for k in {**a, **b} if a.get(k) != b.get(k) and not (quick and "@" in k)]
        if keys:
            out[name] = {k: (a.get(k), b.get(k)) for k in keys}
    return out


def short(value: Any, other: Any) -> str:
    "The part of a value that another one has not, or its beginning."
    if isinstance(value, list) and isinstance(other, list):
        value = [v for v in value if v not in other] or "the same, in another order or number"
    text = "nothing" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text, told = " ".join(text.split()), " ".join(other.split()) if isinstance(other, str) else ""
    same = len(os.path.commonprefix([text, told]))
    start = max(0, same - 30) if same > 60 else 0
    return ("…" if start else "") + text[start:start + 160] + ("…" if len(text) > start + 160 else "")


def recall_table(before: dict[str, Record], after: dict[str, Record]) -> list[str]:
    "Recall of the gold spans, at the reference and now, for each set."
    rows: dict[str, list[tuple[Record, Record]]] = {}
    for name, record in after.items():
        if "recall" in record and name in before:
            rows.setdefault(name.split("/")[0], []).append((original(before[name]), record))
    table = []
    for part, pairs in rows.items():
        cells = []
        for budget in BUDGETS:
            key = "recall" if budget == "1000" else f"recall@{budget}"
            known = [(a.get(key, 0), b[key]) for a, b in pairs if key in b]
            was, now = (sum(column) / len(known) for column in zip(*known)) if known else (None, None)
            cells.append("" if was is None else f"{was:.3f} → {now:.3f} ({now - was:+.3f})")
        table.append(f"| {part} | {len(pairs)} | {' | '.join(cells)} |")
    head = [f"\nRecall of the gold spans, {REFERENCE} → now:\n", f"| set | questions | {' | '.join(BUDGETS)} |", "|---|---|---|---|---|"]
    return [*head, *table] if table else []


def counted(found: Sequence[dict[str, tuple[Any, Any]]]) -> str:
    "How many lines differ in what."
    kinds = Counter(kind for changes in found for kind in {k.partition("@")[0] for k in changes})
    return ", ".join(f"{kind} {kinds[kind]:,}" for kind in sorted(kinds, key=KINDS.index))


def report(part: str, asked: int, found: dict[str, dict[str, tuple[Any, Any]]]) -> list[str]:
    "How many lines of a part differ in what, and some of them, a few for each kind."
    if not found:
        return [f"{part}: all {asked:,} as expected"]
    out, shown = [f"{part}: {len(found):,} of {asked:,} differ: {counted([*found.values()])}"], Counter()
    for name, changes in found.items():
        kind = min((k.partition("@")[0] for k in changes), key=KINDS.index)
        if (shown := shown + Counter([kind]))[kind] > 3:
            continue
        out.append(f"  {name}")
        out += [f"    {key}" + ("" if key in ("missing", "new") else f": {short(a, b)}  →  {short(b, a)}") for key, (a, b) in changes.items()]
    return out


def near_ties(found: Sequence[dict[str, tuple[Any, Any]]], asked: int) -> bool:
    "True when little differs, of what near ties can turn, and the reference was made on another machine."
    made_on = json.loads((GOLDEN / "machine.json").read_text(encoding="utf-8"))
    if made_on == machine() or len(found) > MOST * asked:
        return False
    return all(key.partition("@")[0] in CLOSE for changes in found for key in changes)


# --- commands -------------------------------------------------------------------------------------------------------


def compare(args: argparse.Namespace) -> int:
    "Ask, and say what differs from what is expected."
    found = ask_all(parts_here(args.parts, args.quick), args.at, args.quick, args.jobs)
    to_accept, recall = not (args.quick or args.at), []
    differ: list[dict[str, tuple[Any, Any]]] = []
    for path in FOUND.glob("*.jsonl") if to_accept else ():
        path.unlink()
    for part, after in found.items():
        before = {i: r for i, r in read(file_of(part)).items() if belongs(part, i)}
        changes = differences(before, after, args.quick)
        differ += changes.values()
        recall += recall_table(before, after)[0 if not recall else 3:]
        if to_accept:
            write(FOUND / f"{part}.jsonl", after)
        print("\n".join(report(part, len(after), changes)), flush=True)
    print("\n".join(recall))
    if differ and args.quick and near_ties(differ, sum(map(len, found.values()))):
        print(f"\n{len(differ):,} lines differ. The golden file was made on another machine ({machine()} here), where near ties fall otherwise.")
        return 0
    if differ:
        print(f"\n{len(differ):,} lines differ. If that is intended: `golden.py compare`, then `golden.py accept --reason \"…\"`.")
    return int(bool(differ))


def accepted(record: Record, after: Record) -> Record:
    "A line with what was found now; `was` keeps what the reference gave, where that is something else."
    first = original(record)
    was = {k: first.get(k) for k in {**first, **after} if first.get(k) != after.get(k)}
    return after | ({"was": was} if was else {})


def accept(args: argparse.Namespace) -> int:
    "Take over what the last comparison found, with a reason."
    if not args.reason.strip():
        print("golden: accept needs --reason", file=sys.stderr)
        return 2
    taken: dict[str, dict[str, tuple[Any, Any]]] = {}
    for part in [*OWN, *SETS]:
        after, known = read(FOUND / f"{part}.jsonl"), read(file_of(part))
        if not after:
            continue
        changes = differences({i: r for i, r in known.items() if belongs(part, i)}, after)
        for name, changed in changes.items():
            if not {"new", "missing"} & changed.keys():
                known[name] = accepted(known[name], after[name])
                taken[name] = changed
        write(file_of(part), known)
    if not taken:
        print("golden: nothing to accept: `golden.py compare` without --quick stores what it finds (lines that are new or missing need `golden.py make`)")
        return 1
    told, some = counted([*taken.values()]), "; ".join(f"`{name}`" for name in [*taken][:3])
    with open(GOLDEN / "CHANGES.md", "a", encoding="utf-8") as file:
        file.write(f"- {args.reason} ({len(taken):,} lines: {told}; such as {some})\n")
    print(f"golden: {len(taken):,} lines accepted ({told})")
    return 0


def make(args: argparse.Namespace) -> int:
    "Write the reference; what was accepted since stays accepted where the reference is as before."
    found = ask_all(parts_here(args.parts, False), args.at or REFERENCE, False, args.jobs)
    for part, records in found.items():
        known = read(path := file_of(part))
        for name, record in records.items():
            if "was" in known.get(name, {}) and original(known[name]) == record:
                records[name] = known[name]
        write(path, {i: r for i, r in known.items() if not belongs(part, i)} | records)
    (GOLDEN / "machine.json").write_text(json.dumps(machine()) + "\n", encoding="utf-8")
    return 0


def main() -> None:
    args = arguments(__doc__, what=("make", "compare", "accept"),
                     at=(str, f"the package of this commit (compare: this checkout; make: {REFERENCE})"),
                     parts=(str, f"{','.join([*OWN, *SETS])}; all when left out"), quick=(False, "compare: only what `make check` asks"),
                     jobs=(1, "parts asked at the same time"), reason=("", "accept: why the answers changed"))
    raise SystemExit({"make": make, "compare": compare, "accept": accept}[args.what](args))


if __name__ == "__main__":
    main()
