"""Kill index runs at random moments; ask while another process writes; flip bytes of an index. Count wrong answers.

Run: python benchmarks/kills.py kills [--kills 200]       a new index, an update, `force` and a removal, killed by SIGKILL
     python benchmarks/kills.py readers [--minutes 25]    readers that stay open and readers that open anew, beside a writer
     python benchmarks/kills.py flips [--flips 500]       flipped bytes, cut and lost files

An answer is the passages of a few questions. After a kill it must be the one before or the one after, and the next run must end with
the one after. A damaged index must give the same answer, or one line that says what to do. The process forks for each run, so that
libraries are imported once.
"""
from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from llama_index.core.embeddings import MockEmbedding

from ragnb.cli import main as command
from ragnb.documents import text as texts
from ragnb.documents.memo import TextMemo
from ragnb.documents.span import RagnbError
from ragnb.indexing.folder_index import Index
from ragnb.indexing.update import remove_documents, update_index
from ragnb.pipeline.pipeline import Pipeline

WORDS = "연차 병가 반차 휴가 출장 숙박 회의 진단서 한도 규정 신청 승인".split()
QUESTIONS = ("연차 휴가 신청", "출장 숙박 한도", "병가 진단서")
KINDS = ("new", "update", "force", "remove")


class Toy(MockEmbedding):
    """Counts pairs of characters; fitted on nothing."""

    def _vector(self, text: str) -> list[float]:
        out = [0.01] * self.embed_dim
        for a, b in zip(text, text[1:]):
            out[(31 * ord(a) + ord(b)) % self.embed_dim] += 1.0
        return out

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._vector(text)

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._vector(query)


def write(folder: Path, seed: int, documents: int = 12) -> None:
    """Documents of a seed; half of them are the same for every seed."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for i in range(documents):
        some = random.Random(i if i % 2 else 1_000 * seed + i)
        text = " ".join(f"{some.choice(WORDS)} {some.choice(WORDS)}은 {some.randrange(90)}일이다." for _ in range(30 + 5 * i))
        (folder / f"{i}.md").write_text(f"# 문서 {i}\n\n{text}\n", encoding="utf-8")


def toy() -> Toy:
    return Toy(embed_dim=32)


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


def forked(function: Callable[[], None], kill_after: float | None = None) -> int:
    """Run a function in a child, killed after some seconds; its exit code, negative for a signal."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            function()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(code)
    if kill_after is not None:
        time.sleep(kill_after)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def told(function: Callable[[], str]) -> str:
    """What a function returns in a child: this process never opens an index, which makes forks safe."""
    with tempfile.NamedTemporaryFile() as file:
        code = forked(lambda: Path(file.name).write_text(function(), encoding="utf-8") and None)
        return Path(file.name).read_text(encoding="utf-8") if code == 0 else f"failed with {code}"


def kills(work: Path, n: int, seed: int) -> Counter:
    """Kill runs; count what readers saw and how the next run ended."""
    some, count, want, took = random.Random(seed), Counter(), {}, {}
    for name, of in (("old", 1), ("new", 2)):
        write(work / name, of)
    forked(lambda: run("new", work / "old", work / "seed"))
    for kind in KINDS:
        place = work / f"whole-{kind}"
        if kind != "new":
            shutil.copytree(work / "seed", place)
        before, start = told(lambda: seen(place)), time.monotonic()
        assert forked(lambda: run(kind, work / "new", place)) == 0
        took[kind], want[kind] = time.monotonic() - start, (before, told(lambda: seen(place)))
    for number in range(n):
        kind, place = KINDS[number % 4], work / "killed"
        shutil.rmtree(place, ignore_errors=True)
        if kind != "new":
            shutil.copytree(work / "seed", place)
        count[f"{kind} killed"] += forked(lambda: run(kind, work / "new", place), some.uniform(0, took[kind])) < 0
        found = told(lambda: seen(place))
        count[f"{kind}: {'as before' if found == want[kind][0] else 'as after' if found == want[kind][1] else 'WRONG'}"] += 1
        code = forked(lambda: run(kind, work / "new", place))
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

    children = []
    for job in (change, lambda: ask(True, "stays"), lambda: ask(False, "anew")):
        if (pid := os.fork()) == 0:
            code = 1
            try:
                job()
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(code)
        children.append(pid)
    codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children]
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
    files = {name: (work / "index" / name).read_bytes() for name in ("index.db", "index.sum")}
    for number in range(n):
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        name = "index.sum" if number % 20 == 19 else "index.db"
        data, how = bytearray(files[name]), ("lost", "cut", "flipped")[0 if number % 50 == 0 else 1 if number % 10 == 0 else 2]
        if how == "cut":
            del data[some.randrange(len(data)):]
        for _ in range(some.randint(1, 3) if how == "flipped" else 0):
            data[some.randrange(len(data))] ^= 1 << some.randrange(8)
        for other in files:
            if other != name or how != "lost":
                (place / other).write_bytes(data if other == name else files[other])
        try:
            code, out, err = said(place)
            line = code == 2 and len(err.splitlines()) == 1
            count[f"{how}: {'the same answer' if (code, out) == (0, want) else 'one line' if line else 'WRONG'}"] += 1
        except Exception as error:
            count[f"{how}: WRONG {type(error).__name__}"] += 1
    return count


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("kills", "readers", "flips"))
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--minutes", type=float, default=25)
    parser.add_argument("--flips", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    # loading the analyser would be most of a run
    texts.analysed = TextMemo(lambda given: (texts.Analysis([0], tuple(text.split())) for text in given))
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as tmp:
        made = {"kills": lambda: kills(Path(tmp), args.kills, args.seed), "flips": lambda: flips(Path(tmp), args.flips, args.seed),
                "readers": lambda: readers(Path(tmp), 60 * args.minutes)}[args.what]()
    print(json.dumps(dict(sorted(made.items())), indent=1))
    sys.exit(any("WRONG" in name and n for name, n in made.items()))
