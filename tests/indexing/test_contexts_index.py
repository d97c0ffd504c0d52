"""Contexts written by a model at indexing, over HTTP: counted, kept, resumed, and used by every retriever."""
from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from conftest import SAMPLE, write
from ollama_server import OllamaServer, Refused

from ragnb import Index, NgramEmbedding, Pipeline

A = "# 휴가\n\n연차는 15일이다. 입사한 날부터 쓴다.\n\n## 반차\n\n반차는 4시간이다.\n\n## 병가\n\n병가는 60일까지 쓴다. 진단서를 낸다.\n"
B = "# 여비\n\n숙박비는 7만 원이다.\n\n## 정산\n\n열흘 안에 정산한다.\n"


class Server(OllamaServer):
    """Writes a context that names a word of its own for each chunk, refuses what it is told to, and counts."""

    def __init__(self) -> None:
        super().__init__(models=("chat", "other", "embedder"))
        self.refuses: str | None = None
        self.at_request: dict[int, object] = {}
        self.seen = 0

    def said(self, messages):
        self.seen += 1
        if self.seen in self.at_request:
            self.at_request[self.seen]()
        chunk = messages[-1]["content"].split("<조각>\n")[1].split("\n</조각>")[0]
        if self.refuses is not None and self.refuses in chunk:
            raise Refused(500, "out of memory")
        return "잠수함 승무원에 관한 내용이다." if "병가는" in chunk else f"규정 {len(chunk)}번째 내용이다."

    def asked(self) -> int:
        """Chunks asked about since the last time."""
        n, self.seen = self.seen, 0
        return n


@pytest.fixture
def server():
    with Server() as server:
        yield server


@pytest.fixture
def run(run, server):
    """Run a command, with the server's address where it is needed."""
    return lambda *argv: run(*argv, *(["--base-url", server.url] if argv[0] == "index" else []))


@pytest.fixture
def docs(tmp_path) -> Path:
    write(tmp_path / "docs", {"a.md": A, "b.md": B})
    return tmp_path / "docs"


def contexts(folder: Path) -> dict[str, str | None]:
    """Searched chunk -> its context."""
    index = Index.open(folder)
    return {i: n.metadata.get("context") for i, n in index.store.get_chunks(index.store.matching()).all().items()}


@pytest.mark.heavy
@pytest.mark.parametrize("split", [(), ("--split", "contexts:parent-child"), ("--split", "parent-child")])
def test_each_chunk_is_asked_about_once(run, docs, server, tmp_path, split):
    command = ("index", docs, "--index", tmp_path / "i", "--contexts", "ollama:chat", "--quiet", *split)
    code, out, err = run(*command)
    held = contexts(tmp_path / "i")
    n = len(held)
    assert (code == 0 and n >= 2 and all(held.values()) and server.asked() == n
            and f"contexts: {n} written, 0 from the cache, 0 missing\n" in out and err == "")
    facts = json.loads(run(*command, "--json")[1])
    assert (facts["unchanged"], facts["contexts_written"], facts["contexts_cached"], facts["contexts_missing"],
            server.asked()) == (2, 0, 0, [], 0)
    (docs / "b.md").write_text(B + "\n## 끝\n\n이 규정은 내년에 시행한다.\n", encoding="utf-8")
    facts = json.loads(run(*command, "--json")[1])
    of_b = sum(i.startswith("b.md#") for i in contexts(tmp_path / "i"))
    assert (facts["changed"], facts["unchanged"], facts["contexts_written"], server.asked()) == (1, 1, of_b, of_b)
    facts = json.loads(run(*command, "--json", "--force")[1])
    assert (facts["added"], facts["contexts_written"], facts["contexts_cached"], server.asked()) == (
        2, 0, len(contexts(tmp_path / "i")), 0)


def test_failures_are_named_and_asked_again(run, docs, server, tmp_path):
    command = ("index", docs, "--index", tmp_path / "i", "--contexts", "ollama:chat", "--quiet")
    server.refuses = "병가는"
    code, out, err = run(*command)
    held = contexts(tmp_path / "i")
    failed = [i for i, c in held.items() if c is None]
    assert (code == 0 and len(failed) == 1 and "1 missing\n" in out and "again with --contexts" in out
            and f"no context for {failed[0]}: ResponseError" in err and "out of memory" in err)
    server.refuses, n = None, server.asked()
    code, out, err = run(
        "index", docs, "--index", tmp_path / "i", "--quiet"
    )  # without the model nothing is done about it
    assert code == 0 and "2 unchanged" in out and n == len(held) and server.asked() == 0
    code, out, err = run(*command)
    assert (code == 0 and "1 changed" in out and server.asked() == 1 and "contexts: 1 written, " in out
            and all(contexts(tmp_path / "i").values()))


def test_a_server_that_is_gone_is_not_asked_about_every_chunk(run, tmp_path, server):
    (tmp_path / "docs").mkdir()
    for i in range(5):
        write(tmp_path, {f"docs/{i}.md": "\n\n".join(f"제{j}조 {i}번 규정의 내용이다." for j in range(12))})
    server.refuses = ""
    command = ("index", tmp_path / "docs", "--index", tmp_path / "i", "--contexts", "ollama:chat", "--quiet", "--json")
    facts = json.loads(run(*command)[1])
    n = len(contexts(tmp_path / "i"))
    assert (facts["documents"] == 5 and 5 <= server.asked() <= 5 + 4 and facts["contexts_written"] == 0
            and len(facts["contexts_missing"]) == n)
    assert any("too many failures" in line for line in facts["contexts_missing"])
    server.refuses = None
    facts = json.loads(run(*command)[1])
    assert facts["contexts_written"] == server.asked() == n and facts["contexts_missing"] == []
    assert facts["changed"] == 5 and all(contexts(tmp_path / "i").values())


@pytest.mark.heavy
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_a_killed_run_pays_only_for_what_is_new(run, docs, server, tmp_path):
    command = ("index", docs, "--index", tmp_path / "i", "--contexts", "ollama:chat", "--quiet")
    code = "import sys; from ragnb.cli import main; sys.exit(main())"
    process = None
    server.at_request[4] = lambda: os.kill(process.pid, signal.SIGKILL)
    process = subprocess.Popen([sys.executable, "-c", code, *map(str, command), "--base-url", server.url],
                               env={**os.environ, "PYTHONPATH": str(SAMPLE.parent)})
    assert process.wait(timeout=120) == -signal.SIGKILL
    before = server.asked()
    kept = (sum(1 for line in (tmp_path / "i/contexts.jsonl").read_bytes().split(b"\n") if line.endswith(b"}"))
            if (tmp_path / "i/contexts.jsonl").exists() else 0)
    server.at_request.clear()
    facts = json.loads(run(*command, "--json")[1])
    held = contexts(tmp_path / "i")
    assert (all(held.values()) and facts["contexts_cached"] == kept
            and server.asked() == facts["contexts_written"] == len(held) - kept)
    assert before - kept <= 4, "only what was under way is asked again"


def test_an_embedding_that_fails_does_not_cost_the_contexts(run, docs, server, tmp_path, monkeypatch):
    command = ("index", docs, "--index", tmp_path / "i", "--contexts", "ollama:chat", "--quiet")
    with monkeypatch.context() as patched:
        def stop(self, *args, **kwargs):
            raise ConnectionError("the embedding server went away")
        patched.setattr(NgramEmbedding, "get_text_embedding_batch", stop)
        assert run(*command)[0] == 3
        assert sorted(p.name for p in (tmp_path / "i").iterdir()) == ["contexts.jsonl", "contexts.jsonl.lock"]
    n = server.asked()
    facts = json.loads(run(*command, "--json")[1])
    assert n > 0 and (facts["contexts_cached"], facts["contexts_written"], server.asked()) == (n, 0, 0)
    shutil.rmtree(tmp_path / "i")


@pytest.mark.parametrize("split", ["units", "parent-child"])
@pytest.mark.parametrize("retrieve", ["auto", "bm25", "vector"])
def test_contexts_are_searched_and_never_read(run, docs, tmp_path, split, retrieve):
    models = ("--contexts", "ollama:chat", "--embed", "ollama:embedder")
    assert run("index", docs, "--index", tmp_path / "i", *models, "--split", split, "--quiet")[0] == 0
    index = Index.open(tmp_path / "i")
    assert (index.multiscale is not None) == (split == "units")
    one = {} if (split, retrieve) == ("units", "auto") else {"top_k": 1}  # multi-scale retrieval reads a budget
    answer = Pipeline.from_index(index, retriever=retrieve, policy="none", **one).ask("잠수함 승무원")
    best = answer.expansion.passages[0].hits[0]
    assert "병가는 60일" in index.store.get_chunks([best]).all()[best].text and "잠수함" not in answer.context.text


def test_mistakes_name_the_option(run, docs, tmp_path, server):
    where = ("--index", tmp_path / "i", "--quiet")
    assert ("--contexts ollama:MODEL" in run("index", docs, "--split", "contexts:units", *where)[2]
            and not (tmp_path / "i").exists())
    assert "unknown model 'gpt'" in run("index", docs, "--contexts", "gpt", *where)[2] and not (tmp_path / "i").exists()
    assert run("index", docs, *where)[0] == 0
    code, out, err = run("index", docs, "--contexts", "ollama:chat", *where)
    assert code == 2 and "--force" in err and server.asked() == 0
    assert run("index", docs, "--contexts", "ollama:chat", "--force", *where)[0] == 0
    code, out, err = run("index", docs, "--contexts", "ollama:other", *where)
    assert code == 2 and "written by Ollama:chat, not Ollama:other" in err
    code, out, err = run("index", docs, "--split", "units", *where)
    assert code == 2 and "--force" in err
    server.asked()
    (docs / "b.md").write_text(B + "\n새 줄이다.\n", encoding="utf-8")
    code, out, err = run("index", docs, *where)
    assert code == 0 and "1 changed" in out and "no model was given" in err and server.asked() == 0
    assert run("index", docs, "--contexts", "ollama:chat", *where)[0] == 0 and all(contexts(tmp_path / "i").values())


@pytest.mark.parametrize(("options", "right"), [((), (2, 3, 4)), (("--workers", "2"), (2,)), (("--workers", "1"), (1,))])
def test_workers_are_the_calls_at_a_time(server, run, docs, tmp_path, options, right):
    """Each call waits a moment for another one to come beside it."""
    running, highest, lock, beside = [0], [0], threading.Lock(), threading.Event()

    def called() -> None:
        with lock:
            running[0] += 1
            highest[0] = max(highest[0], running[0])
            if running[0] > 1:
                beside.set()
        beside.wait(0.3)
        with lock:
            running[0] -= 1
    server.at_request = dict.fromkeys(range(1, 100), called)
    code, _, err = run("index", str(docs), "--index", str(tmp_path / "i"), "--contexts", "ollama:chat", *options)
    assert code == 0, err
    assert highest[0] in right
