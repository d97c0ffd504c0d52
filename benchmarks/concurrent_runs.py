"""Two index runs at once, questions asked during updates and during `force`, and a cache of answers written by several processes.

Run: python benchmarks/concurrent_runs.py [--pairs 20] [--updates 50] [--questions 2000] [--seed 1] [PART ...]

Parts: pairs (two runs of one index at the same time: each is done, or is refused with the name of the process that writes; then the
index equals one made by the runs that were done, one after the other), questions (readers ask during updates, every fifth of them
with `force`: each answer must be that of the state before or of the state after), cache (four processes put answers into one file).
"""
from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kills import QUESTION, forked, import_once, splitter, state, text_of, toy_embedding

PARTS = ("pairs", "questions", "cache")
NAMES = ("units", "parent-child", "records", "sentence")


def start(work: Callable[[], Any], out: Path) -> int:
    """Do some work in a child, its result or its error as JSON in `out`; the id of the process."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            out.write_text(json.dumps(work()), encoding="utf-8")
            code = 0
        except BaseException:
            traceback.print_exc()
        sys.stderr.flush()
        os._exit(code)
    return pid


def ended(pid: int) -> None:
    """Wait for a child; an error when it failed."""
    if code := os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]):
        raise RuntimeError(f"a process ended with {code}")


def index_run(source: Path, folder: Path, name: str, *, force: bool = False, wait: float = 60) -> Any:
    """One run."""
    from ragnb.indexing.update import update_index
    return update_index(source, folder, embed=toy_embedding(), parser=splitter(name), force=force, wait=wait, show_progress=False)[0]


def write_texts(folder: Path, seeds: dict[str, int]) -> Path:
    """A folder of small rules."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, seed in seeds.items():
        (folder / f"{name}.md").write_text(text_of(seed), encoding="utf-8")
    return folder


def final_state(folder: Path, out: Path) -> Any:
    """What an index folder holds, read in a child."""
    def read() -> Any:
        from ragnb.indexing.folder_index import Index
        return state(Index.open(folder, toy_embedding()), disk=False)
    if forked(read, out)[0]:
        raise RuntimeError(f"{folder} cannot be read")
    return json.loads(out.read_text(encoding="utf-8"))


def pair(work: Path, n: int, rng: random.Random) -> tuple[Counter[str], bool]:
    """Two runs over two folders of one index at the same time: what became of them, and whether the end is right."""
    name, folder, clean = NAMES[n % len(NAMES)], work / f"i{n}", work / f"clean{n}"
    sources = [write_texts(work / f"s{n}{k}", {f"{k}{i}": 100 * n + 10 * i + j for i in range(3)}) for j, k in enumerate("ab")]
    if n % 2:                                  # an index that is there, else both want to make it
        forked(lambda: index_run(sources[0], folder, name) and None)
    waits = [rng.choice([0, 60]) for _ in sources]

    def run(k: int) -> str:
        from ragnb.documents.locks import LockedError
        time.sleep(delays[k])
        try:
            index_run(sources[k], folder, name, wait=waits[k])
        except LockedError as error:
            assert "is being written by" in str(error) and "try again" in str(error), error
            return "refused, naming the process" if "process " in str(error) else "refused"
        return "done"

    delays = [rng.uniform(0, 0.1) for _ in sources]
    outs = [work / f"out{k}.json" for k in range(2)]
    for pid in [start(lambda k=k: run(k), outs[k]) for k in range(2)]:
        ended(pid)
    told = [json.loads(out.read_text(encoding="utf-8")) for out in outs]
    done = [k for k, what in enumerate(told) if what == "done" or n % 2 and k == 0]
    for k in done:
        forked(lambda k=k: index_run(sources[k], clean, name) and None)
    return Counter(told), final_state(folder, work / "a.json") == final_state(clean, work / "b.json")


def pairs(work: Path, n: int, rng: random.Random) -> int:
    """Print what became of the pairs; how many ended otherwise than runs one after the other."""
    told: Counter[str] = Counter()
    wrong = 0
    for k in range(n):
        counts, right = pair(work, k, rng)
        told += counts
        wrong += not right
    print(f"{n} pairs of runs at once: {dict(told)}; {wrong} indexes otherwise than by runs one after the other", flush=True)
    return wrong


def answer(index: Any) -> str:
    """What a reader gets: passages with their texts and scores."""
    from ragnb.pipeline.pipeline import Pipeline
    found = Pipeline.from_index(index, budget=300).ask(QUESTION)
    return json.dumps([[p.id, p.text, p.score and round(p.score, 6)] for p in found.passages], ensure_ascii=False)


def reader(folder: Path, until: Path) -> list[tuple[float, str]]:
    """Ask until a file appears: when each question was asked, and its answer."""
    from ragnb.indexing.folder_index import Index
    out: list[tuple[float, str]] = []
    while not until.exists():
        index = Index.open(folder, toy_embedding())
        for _ in range(3):                 # an open index goes on answering from its own state
            asked = time.time()
            out.append((asked, answer(index)))
        del index
    return out


def answer_now(folder: Path, out: Path) -> str:
    """The answer of the state that is in force."""
    def read() -> str:
        from ragnb.indexing.folder_index import Index
        return answer(Index.open(folder, toy_embedding()))
    if forked(read, out)[0]:
        raise RuntimeError(f"{folder} cannot be read")
    return json.loads(out.read_text(encoding="utf-8"))


def questions(work: Path, updates: int, wanted: int, readers: int = 2) -> int:
    """Print how many answers were of the old or the new state; how many were of neither."""
    folder, source, stop = work / "q", work / "qs", work / "stop"
    seeds = {str(i): i for i in range(5)}
    forked(lambda: index_run(write_texts(source, seeds), folder, "units") and None)
    outs = [work / f"r{r}.json" for r in range(readers)]
    old, wrong, during, k = answer_now(folder, work / "now.json"), 0, 0, 0
    told: Counter[str] = Counter()
    while k < updates or during < wanted:
        write_texts(source, seeds := {**seeds, str(k % 5): 50 + k})
        stop.unlink(missing_ok=True)
        asking = [start(lambda: reader(folder, stop), out) for out in outs]
        if forked(lambda k=k: index_run(source, folder, "units", force=k % 5 == 4) and None)[0]:
            raise RuntimeError("an update failed")
        end = time.time()
        stop.touch()
        for pid in asking:
            ended(pid)
        new = answer_now(folder, work / "now.json")
        for asked, said in (row for out in outs for row in json.loads(out.read_text(encoding="utf-8"))):
            during += asked < end
            told["old" if said == old else "new" if said == new else "neither"] += asked < end
            wrong += said not in (old, new)
        old, k = new, k + 1
    print(f"{during} questions asked while {k} updates ran ({k // 5} of them with force), by {readers} readers: "
          f"{told['old']} answers of the old state, {told['new']} of the new one, {wrong} of neither", flush=True)
    return wrong


def cache(work: Path, processes: int = 4, each: int = 100) -> int:
    """Print what a cache file holds after several processes have put answers into it; how many are missing or torn."""
    from ragnb.models.calls import CallCache
    file = work / "answers.jsonl"

    def put(p: int) -> int:
        mine = CallCache(file)
        for i in range(each):
            mine.put(f"{p}-{i}", f"답 {p} {i} " + "가" * (i * 37 % 500), name=f"{p}-{i}")
            assert mine.get(f"{p}-{i}") is not None
        return sum(mine.get(f"{q}-{i}") is not None for q in range(processes) for i in range(each))

    outs = [work / f"c{p}.json" for p in range(processes)]
    for pid in [start(lambda p=p: put(p), outs[p]) for p in range(processes)]:
        ended(pid)
    whole = CallCache(file)
    lost = sum(whole.get(f"{p}-{i}") is None for p in range(processes) for i in range(each))
    print(f"{processes} processes put {processes * each} answers into one cache: {lost} lost, {whole.damaged} damaged lines", flush=True)
    return lost + whole.damaged


def main() -> int:
    """Run the parts, print the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--updates", type=int, default=50)
    parser.add_argument("--questions", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    import_once()
    from ragnb.pipeline import pipeline  # noqa: F401  (imported once, before the forks)
    wrong, wanted = 0, args.parts or PARTS
    with tempfile.TemporaryDirectory() as work:
        if "pairs" in wanted:
            wrong += pairs(Path(work), args.pairs, random.Random(args.seed))
        if "questions" in wanted:
            wrong += questions(Path(work), args.updates, args.questions)
        if "cache" in wanted:
            wrong += cache(Path(work))
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
