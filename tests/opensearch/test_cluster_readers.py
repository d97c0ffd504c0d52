"""Readers of an index on a real cluster while it is updated, made anew, left half way by a writer that was killed, or while the server is busy."""
from __future__ import annotations

import itertools
import random
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from conftest import new_address
from http_handler import Handler, serving

from ragnb import Index, Pipeline, update_index

pytestmark = pytest.mark.cluster
_number = itertools.count()
N = 8       # Documents


@pytest.fixture
def place(opensearch_url, opensearch_client) -> Iterator[str]:
    """The address of an index that is not there yet."""
    yield from new_address(opensearch_url, opensearch_client, f"readers-{next(_number)}")


def write(folder: Path, edition: int) -> Path:
    """Documents with one line that never changes and others that do."""
    folder.mkdir(exist_ok=True)
    for n in range(N):
        lines = "".join(f"제{i}조 {edition}판에서 연차는 {i + edition}일이다. 출장은 {i}일이다.\n\n" for i in range(1, 6))
        (folder / f"rule{n}.md").write_text(f"# 규정 {n}\n\n보관 번호{n}는 4{n}7번이다.\n\n{lines}", encoding="utf-8")
    return folder


def lost(pipeline: Pipeline, n: int) -> str:
    """What goes wrong with a question about what never changes; '' for nothing."""
    try:
        passages = pipeline.ask(f"보관 번호{n}는 몇 번인가?").passages
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:200]
    return "" if any(f"4{n}7번" in p.text for p in passages) else f"document {n} is not found"


@contextmanager
def readers(*openers) -> Iterator[tuple[list[str], list[int]]]:
    """Readers that go on asking: what went wrong, and how many questions each has asked."""
    stop, wrong, asked = threading.Event(), [], [0] * len(openers)

    def ask(which: int, opener) -> None:
        for n in itertools.cycle(range(N)):
            if stop.is_set() and asked[which]:
                return
            told = lost(opener(), n)
            wrong.extend([told] if told else [])
            asked[which] += 1

    threads = [threading.Thread(target=ask, args=pair) for pair in enumerate(openers)]
    for thread in threads:
        thread.start()
    try:
        yield wrong, asked
    finally:
        stop.set()
        for thread in threads:
            thread.join()


@pytest.mark.parametrize("parser", ["units", "parent-child"])
def test_readers_lose_nothing_while_all_documents_change(place, tmp_path, parser):
    """One reader was opened before; another opens the index for every question."""
    update_index(write(tmp_path / "docs", 1), place, parser=parser, show_progress=False)
    opened = Pipeline.from_index(Index.open(place))
    with readers(lambda: opened, lambda: Pipeline.from_index(Index.open(place))) as (wrong, asked):
        for edition in (2, 3):
            update_index(write(tmp_path / "docs", edition), place, parser=parser, show_progress=False)
        update_index(write(tmp_path / "docs", 4), place, parser=parser, force=True, show_progress=False)
    assert not wrong and min(asked) > 2, (len(wrong), asked, wrong[:5])
    assert "4판" in Pipeline.from_index(Index.open(place)).ask("연차는 며칠인가?").passages[0].text


@pytest.mark.parametrize("moment, force", [(1, False), (2, False), (2, True)])
def test_a_killed_writer_hides_nothing(place, tmp_path, moment, force, opensearch_client):
    code = ("import sys, os, signal\n"
            "from opensearchpy import OpenSearch\n"
            "from ragnb.indexing.update import update_index\n"
            "real, calls = OpenSearch.bulk, []\n"
            "def bulk(*args, **options):\n"
            "    answer = real(*args, **options)\n"
            "    calls.append(1)\n"
            "    if len(calls) == int(sys.argv[3]): os.kill(os.getpid(), signal.SIGKILL)\n"
            "    return answer\n"
            "OpenSearch.bulk = bulk\n"
            "update_index(sys.argv[1], sys.argv[2], force=bool(sys.argv[4]), show_progress=False)\n")
    update_index(write(tmp_path / "docs", 1), place, show_progress=False)
    before = Pipeline.from_index(Index.open(place))
    killed = subprocess.run([sys.executable, "-c", code, str(write(tmp_path / "docs", 2)), place, str(moment), "1" * force],
                            capture_output=True, text=True, timeout=300)
    assert killed.returncode == -signal.SIGKILL, killed.stderr[-2000:]
    after = Pipeline.from_index(Index.open(place))
    assert [told for pipeline in (before, after) for n in range(N) if (told := lost(pipeline, n))] == []
    index, report = update_index(tmp_path / "docs", place, show_progress=False)
    assert report.changed == N and [told for n in range(N) if (told := lost(before, n))] == []
    assert "2판" in Pipeline.from_index(Index.open(place)).ask("연차는 며칠인가?").passages[0].text
    parts = list(opensearch_client.indices.get_alias(index=f"{index.store.rows.name}-rows-*"))
    state = index.store.rows.read_state()
    index.store.refresh(state.rows)
    assert parts == [state.rows]             # nothing of the killed run
    assert opensearch_client.count(index=state.rows)["count"] == state.totals["rows"] + state.totals["entries"]


class Busy(Handler):
    """Hands requests on to the real server, and refuses every fifth search."""
    real, chance, refused = "", random.Random(7), 0
    kinds, statuses = ("_search", "_msearch", "_mget", "_count"), (429,)
    stalled, waits = "", 0.0        # Of requests like this, the next one waits so many seconds

    def answer(self, body: bytes) -> None:
        searches = any(kind in self.path for kind in self.kinds)
        if self.stalled and self.stalled in self.path:
            type(self).stalled = ""
            time.sleep(self.waits)
        if searches and self.chance.random() < 0.2:
            type(self).refused += 1
            status, kind, content = self.chance.choice(self.statuses), "application/json", b'{"error": {"type": "rejected_execution_exception", "reason": "queue"}}'
        else:
            kept = {name: self.headers[name] for name in ("Content-Type", "Content-Encoding") if self.headers.get(name)}
            request = urllib.request.Request(self.real + self.path, body or None, method=self.command, headers=kept)
            try:
                with urllib.request.urlopen(request, timeout=60) as answer:
                    status, kind, content = answer.status, answer.headers.get("Content-Type"), answer.read()
            except urllib.error.HTTPError as error:
                status, kind, content = error.code, error.headers.get("Content-Type"), error.read()
        self.tell(status, content, kind or "application/json")


@pytest.mark.parametrize("parser, settings", [("units", {"kinds": ("",), "statuses": (429, 503)}), ("parent-child", {})])
def test_a_busy_server_loses_no_question(place, tmp_path, opensearch_url, parser, settings):
    update_index(write(tmp_path / "docs", 1), place, parser=parser, show_progress=False)
    with serving(Busy, real=opensearch_url.split(",")[0], **settings) as (host, handler):
        pipeline = Pipeline.from_index(Index.open(f"opensearch://{host}/{place.rpartition('/')[2]}"))
        assert [told for n in [*range(N)] * 3 if (told := lost(pipeline, n))] == []
        assert handler.refused > 3


def test_a_node_that_stops_holds_a_question_for_seconds_only(place, tmp_path, opensearch_url):
    """A search that gets no answer is sent again, with another point in time."""
    index, _ = update_index(write(tmp_path / "docs", 1), place, show_progress=False)
    with serving(Busy, real=opensearch_url.split(",")[0], waits=8.0) as (host, handler):
        real = opensearch_url.split(",")[0].partition("://")[2]
        pipeline = Pipeline.from_index(Index.open(f"opensearch://{host},{real}/{place.rpartition('/')[2]}"))
        assert lost(pipeline, 0) == ""
        handler.stalled = "_msearch"
        assert [told for n in range(N) if (told := lost(pipeline, n))] == [] and not handler.stalled


def test_a_node_that_is_gone_is_passed_over(place, tmp_path, opensearch_url):
    host, _, name = place.partition("://")[2].partition("/")
    shown = f"opensearch://127.0.0.1:9,{host}/{name}"
    update_index(write(tmp_path / "docs", 1), shown, show_progress=False)
    pipeline = Pipeline.from_index(Index.open(shown))
    assert [told for n in range(N) if (told := lost(pipeline, n))] == []


def test_every_retriever_follows_another_writer(place, tmp_path):
    update_index(write(tmp_path / "docs", 1), place, show_progress=False)
    opened = [Pipeline.from_index(Index.open(place), retriever=r) for r in ("multi-scale", "bm25", "vector", "hybrid")]      # hierarchical reads all when it is made
    for edition, force in ((2, False), (3, True), (4, False)):
        update_index(write(tmp_path / "docs", edition), place, force=force, show_progress=False)
        for pipeline in opened:
            assert lost(pipeline, edition) == ""
            found = pipeline.ask("제1조 판에서 연차는 며칠인가?").passages
            assert found and all(f"{edition}판" in p.text for p in found if "판에서" in p.text)
