"""Disturb indexes: kill runs, ask while another process writes, flip bytes, fill the disk. Count wrong answers.

Run: python benchmarks/kills.py kills [--kills 200]       a new index, an update, `force` and a removal, killed by SIGKILL
     python benchmarks/kills.py readers [--minutes 25]    readers that stay open and readers that open anew, beside a writer
     python benchmarks/kills.py flips [--flips 500]       flipped bytes, zeroed pages, cut and lost files
     python benchmarks/kills.py writers [--pairs 20]      two runs at once, over one folder each or both over the same
     python benchmarks/kills.py full                      limits of the size of files, full disks, a folder of somebody else
     python benchmarks/kills.py cache                     several processes put answers into one cache

An answer is the passages of a few questions. After a kill it must be the one before or the one after, and the next run must end with
the one after. A damaged index must give the same answer, or one line that says what to do. The process forks for each run, so that
libraries are imported once.
"""
from __future__ import annotations

import contextlib
import io
import json
import multiprocessing
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from common import arguments
from llama_index.core.embeddings import MockEmbedding

from ragnb.cli import main as command
from ragnb.documents import text as texts
from ragnb.documents.text import TextMemo
from ragnb.documents.span import RagnbError
from ragnb.indexing.folder_index import Index
from ragnb.indexing.writing import remove_documents
from ragnb.indexing.update import update_index
from ragnb.models.calls import CallCache
from ragnb.pipeline.pipeline import Pipeline

WORDS = "연차 병가 반차 휴가 출장 숙박 회의 진단서 한도 규정 신청 승인".split()
QUESTIONS = ("연차 휴가 신청", "출장 숙박 한도", "병가 진단서")
KINDS = ("new", "update", "force", "remove")


class Toy(MockEmbedding):
    """Counts pairs of characters; fitted on nothing."""

    def _get_text_embedding(self, text: str) -> list[float]:
        out = [0.01] * self.embed_dim
        for a, b in zip(text, text[1:]):
            out[(31 * ord(a) + ord(b)) % self.embed_dim] += 1.0
        return out

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)


toy = partial(Toy, embed_dim=32)


def write(folder: Path, seed: int, documents: int = 12) -> None:
    """Documents of a seed; half of them are the same for every seed."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for i in range(documents):
        some = random.Random(i if i % 2 else 1_000 * seed + i)
        text = " ".join(f"{some.choice(WORDS)} {some.choice(WORDS)}은 {some.randrange(90)}일이다." for _ in range(30 + 5 * i))
        (folder / f"{i}.md").write_text(f"# 문서 {i}\n\n{text}\n", encoding="utf-8")


def answers(index: Index) -> str:
    """The passages of the questions, and how many documents there are."""
    pipeline, out = Pipeline.from_index(index, budget=400), []
    for question in QUESTIONS:
        with index.store.snapshot():    # the list and the passages are of one state; the next question may see another
            out.append([index.store.doc_ids(), [(p.doc_id, p.text) for p in pipeline.ask(question).passages]])
    return json.dumps(out, ensure_ascii=False)


def seen(folder: Path) -> str:
    """What a reader sees: the answers, or that there is no index yet."""
    try:
        return answers(Index.open(folder, toy()))
    except RagnbError as error:
        return "no index" if "no index" in str(error) or "has not finished" in str(error) else str(error)


def run(kind: str, source: Path, folder: Path) -> None:
    """What is killed."""
    if kind == "remove":
        remove_documents([i for i in ("1.md", "3.md") if i in Index.open(folder, toy()).doc_ids], folder, embed=toy())
    else:
        update_index(source, folder, embed=toy(), force=kind == "force", show_progress=False)


def forked(*functions: Callable[[], Any], kill_after: float | None = None) -> list[int]:
    """Run functions at once, each in a child, killed after some seconds; their exit codes, negative for a signal."""
    children = [multiprocessing.get_context("fork").Process(target=function) for function in functions]
    for child in children:
        child.start()
    if kill_after is not None:
        time.sleep(kill_after)
    for child in children:
        if kill_after is not None:
            child.kill()
        child.join()
    return [child.exitcode for child in children]


def told(function: Callable[[], str]) -> str:
    """What a function returns in a child: this process never opens an index, which makes forks safe."""
    with tempfile.NamedTemporaryFile() as file:
        code, = forked(lambda: Path(file.name).write_text(function(), encoding="utf-8"))
        return f"failed with {code}" if code else Path(file.name).read_text(encoding="utf-8")


def kills(work: Path, n: int, seed: int) -> Counter:
    """Kill runs; count what readers saw and how the next run ended."""
    some, count, want, took = random.Random(seed), Counter(), {}, {}
    write(work / "docs", 1)
    forked(lambda: run("new", work / "docs", work / "seed"))
    write(work / "docs", 2)
    for kind in KINDS:
        place = work / f"whole-{kind}"
        if kind != "new":
            shutil.copytree(work / "seed", place)
        before, start = told(lambda: seen(place)), time.monotonic()
        assert forked(lambda: run(kind, work / "docs", place)) == [0]
        took[kind], want[kind] = time.monotonic() - start, (before, told(lambda: seen(place)))
    for number in range(n):
        kind, place = KINDS[number % 4], work / "killed"
        shutil.rmtree(place, ignore_errors=True)
        if kind != "new":
            shutil.copytree(work / "seed", place)
        count[f"{kind} killed"] += forked(lambda: run(kind, work / "docs", place), kill_after=some.uniform(0, took[kind])) < [0]
        found = told(lambda: seen(place))
        count[f"{kind}: {'as before' if found == want[kind][0] else 'as after' if found == want[kind][1] else 'WRONG'}"] += 1
        code, = forked(lambda: run(kind, work / "docs", place))
        count["finished right" if code == 0 and told(lambda: seen(place)) == want[kind][1] else "finished WRONG"] += 1
    return count


def readers(work: Path, seconds: float) -> Counter:
    """Ask in two processes while a third goes on changing the index between two states."""
    allowed = []
    for name, of in (("old", 1), ("new", 2)):
        write(work / name, of)
        forked(lambda: run("new", work / name, work / f"index-{name}"))
        allowed.append(told(lambda: seen(work / f"index-{name}")))
    folder, end = work / "index", time.monotonic() + seconds
    shutil.copytree(work / "old", work / "source")
    forked(lambda: run("new", work / "source", folder))

    def change() -> None:
        n = 0
        while time.monotonic() < end:
            n += 1
            for file in (work / ("new" if n % 2 else "old")).iterdir():
                shutil.copy(file, work / "source" / file.name)
            update_index(work / "source", folder, embed=toy(), force=n % 5 == 0, show_progress=False)
        (work / "updates").write_text(str(n))

    def ask(stays: bool, name: str) -> None:
        count, index = Counter(), Index.open(folder, toy())
        while time.monotonic() < end:
            for found, *known in zip(json.loads(answers(index) if stays else seen(folder)), *map(json.loads, allowed)):
                count["right" if found in known else "WRONG"] += 1
                count["of the second state"] += found == known[1]
        (work / name).write_text(json.dumps(count))

    codes = forked(change, lambda: ask(True, "stays"), lambda: ask(False, "anew"))
    count = Counter({"WRONG exits": sum(map(bool, codes)), "updates": int((work / "updates").read_text())})
    for name in ("stays", "anew"):
        count.update({f"{name}: {k}": n for k, n in json.loads((work / name).read_text()).items()})
    return count


def said(folder: Path) -> tuple[int, str, str]:
    """Code, output and error of a question."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = command(["ask", QUESTIONS[0], "--index", str(folder)])
    return code, out.getvalue(), err.getvalue()


def flips(work: Path, n: int, seed: int) -> Counter:
    """Damage copies of an index in many ways, and ask each."""
    some, count, place = random.Random(seed), Counter(), work / "damaged"
    write(work / "old", 1)
    update_index(work / "old", work / "index", show_progress=False)
    want = said(work / "index")[1]
    whole = (work / "index" / "index.db").read_bytes()
    for number in range(n):
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        data, how = bytearray(whole), ("lost", "cut", "zeroed", "flipped")[0 if number % 50 == 0 else number % 10 if number % 10 in (1, 2) else 3]
        if how == "cut":
            del data[some.randrange(len(data)):]
        for _ in range(some.randint(1, 3) if how == "flipped" else 0):
            data[some.randrange(len(data))] ^= 1 << some.randrange(8)
        if how == "zeroed":     # a page
            first = some.randrange(len(data) // 4_096) * 4_096
            data[first:first + 4_096] = bytes(4_096)
        if how != "lost":
            (place / "index.db").write_bytes(data)
        try:
            code, out, err = said(place)
            line = code == 2 and len(err.splitlines()) == 1
            count[f"{how}: {'the same answer' if (code, out) == (0, want) else 'one line' if line else 'WRONG'}"] += 1
        except Exception as error:
            count[f"{how}: WRONG {type(error).__name__}"] += 1
    return count


def writers(work: Path, n: int) -> Counter:
    """Two runs at once: the second waits, and both are in the index."""
    count, folder = Counter(), work / "index"
    for name, of in (("a", 1), ("b", 2)):
        write(work / name, of)
        for file in (work / name).iterdir():
            file.rename(file.with_name(f"{name}{file.name}"))
        forked(lambda: run("new", work / name, work / "whole"))
    for number in range(n):
        shutil.rmtree(folder, ignore_errors=True)
        codes = forked(*(partial(update_index, work / name, folder, embed=toy(), show_progress=False, wait=60)
                         for name in ("ab" if number % 2 else "aa")))
        held = told(lambda: " ".join(Index.open(folder, toy()).store.doc_ids())).split()
        right = codes == [0, 0] and len(held) == (24 if number % 2 else 12)
        count["both are there" if right else f"WRONG {codes} {len(held)}"] += 1
    return count


def update_told(source: Path, folder: Path, limit: int | None = None) -> str:
    """Update, with files limited in size: "done", or the line that is told."""
    if limit is not None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
    try:
        run("update", source, folder)
        line = "done"
    except RagnbError as error:
        line = str(error)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.getrlimit(resource.RLIMIT_FSIZE)[1],) * 2)
    return line


def mounted(folder: Path, free: int | None) -> None:
    """Give a folder a file system of its own, or change how much is free on it; nothing without a size."""
    if free is None:
        return
    folder.mkdir(exist_ok=True)
    used = sum(f.stat().st_blocks * 512 for f in folder.rglob("*"))
    options = f"size={-(-(used + free) // 4_096) * 4_096}" + (",remount" if os.path.ismount(folder) else "")
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], check=True)


def full(work: Path) -> Counter:
    """Update where there is no room, or no right; look at what is left, and update again."""
    count, place = Counter(), work / "disk"
    write(work / "docs", 1)
    forked(lambda: run("new", work / "docs", work / "seed"))
    write(work / "docs", 2, 16)
    before = told(lambda: seen(work / "seed"))
    forked(lambda: run("new", work / "docs", work / "whole"))
    after, root = told(lambda: seen(work / "whole")), os.getuid() == 0
    for name, limit, free in [*((f"files of {n}", n, None) for n in (0, 20_000, 100_000)),
                              *((f"{n} free", None, n) for n in (0, 20_000, 100_000, 400_000) if root)]:
        shutil.rmtree(place, ignore_errors=True)
        enough = None if free is None else 1 << 28
        mounted(place, enough)
        shutil.copytree(work / "seed", place / "i")
        mounted(place, free)
        line = told(lambda: update_told(work / "docs", place / "i", limit))
        mounted(place, enough)
        kept, again = told(lambda: seen(place / "i")), told(lambda: update_told(work / "docs", place / "i"))
        right = line == "done" or "cannot be written" in line and "\n" not in line and kept == before
        right = right and again == "done" and told(lambda: seen(place / "i")) == after
        count[f"{name}: {line.partition('cannot')[1] and 'told'}{'' if right else f' WRONG {line}'}"] += 1
        if free is not None:
            subprocess.run(["umount", str(place)], check=True)
    if root:
        for folder in (work, work / "seed"):     # a new index is its owner's; this one is shared on purpose
            folder.chmod(0o755)
        for file in (work / "seed").iterdir():
            file.chmod(0o755 if file.is_dir() else 0o644)
        (out := work / "nobody").mkdir(mode=0o777)
        out.chmod(0o777)

        def nobody() -> None:
            os.setgid(65534)
            os.setuid(65534)
            (out / "said").write_text(f"{seen(work / 'seed') == before} {update_told(work / 'docs', work / 'seed')}")
        code, = forked(nobody)
        line = (out / "said").read_text() if code == 0 else f"failed with {code}"
        count[f"a folder of somebody else: {'read, and told' if line.startswith('True') and 'cannot' in line else f'WRONG {line}'}"] += 1
    return count


def cache(work: Path, processes: int = 4, each: int = 100) -> Counter:
    """Put answers into one cache from several processes; how many are missing or torn."""
    def put(p: int) -> None:
        mine = CallCache(work / "answers.jsonl")
        for i in range(each):
            mine.put(f"{p}-{i}", f"답 {p} {i} " + "가" * (i * 37 % 500), name=f"{p}-{i}")
            assert mine.get(f"{p}-{i}") is not None

    codes, whole = forked(*(partial(put, p) for p in range(processes))), CallCache(work / "answers.jsonl")
    lost = sum(whole.get(f"{p}-{i}") is None for p in range(processes) for i in range(each))
    return Counter({"answers": processes * each, "WRONG: lost": lost, "WRONG: torn": whole.damaged, "WRONG: exits": sum(map(bool, codes))})


if __name__ == "__main__":
    if "full" in sys.argv and os.getuid() == 0 and "RAGNB_MOUNTS" not in os.environ:    # again, where mounts are seen by nobody else
        os.execvpe("unshare", ["unshare", "-m", sys.executable, *sys.argv], os.environ | {"RAGNB_MOUNTS": "own"})
    args = arguments(__doc__, what=("kills", "readers", "flips", "writers", "full", "cache"), kills=200, minutes=25.0, flips=500, pairs=20, seed=1)
    # loading the analyser would be most of a run
    texts.analysed = TextMemo(lambda given: (texts.Analysis([0], tuple(text.split())) for text in given))
    texts.load_kiwi().tokenize(QUESTIONS[0])    # it still reads the questions: loaded here, not in every child
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as tmp:
        made = {"kills": lambda: kills(Path(tmp), args.kills, args.seed), "flips": lambda: flips(Path(tmp), args.flips, args.seed),
                "writers": lambda: writers(Path(tmp), args.pairs), "full": lambda: full(Path(tmp)), "cache": lambda: cache(Path(tmp)),
                "readers": lambda: readers(Path(tmp), 60 * args.minutes)}[args.what]()
    print(json.dumps(dict(sorted(made.items())), indent=1))
    sys.exit(any("WRONG" in name and n for name, n in made.items()))
