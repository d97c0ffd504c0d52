"""Models on the command line: what is said when they think, hang, are elsewhere or are not what they were."""
from __future__ import annotations

import contextlib
import json
import sqlite3
import zlib
import sys
from pathlib import Path

import pytest
from conftest import one_line, write
from ollama_server import OllamaServer

from ragnb.cli import main

LEAVE = "# 휴가\n\n연차는 15일이다. 입사한 날부터 쓴다.\n\n## 반차\n\n반차는 4시간이다.\n\n## 병가\n\n병가는 60일까지 쓴다. 진단서를 낸다.\n"
MORE = "".join(f"\n## 휴가의 종류 {n}\n\n{n}번 휴가는 {n}일이다. 병가와 다르며 신청은 사흘 전에 한다.\n" for n in range(1, 30))
QUESTION = "병가는 며칠인가요?"


def embedding_of(folder: Path) -> bytes:
    """What an index says of its embedding."""
    with contextlib.closing(sqlite3.connect(folder / "index.db")) as db:
        return zlib.decompress(db.execute("SELECT data FROM model WHERE name = 'embedding.json'").fetchone()[0])


@pytest.fixture
def server():
    with OllamaServer(models=("chat", "embedder")) as server:
        yield server


@pytest.fixture(scope="module")
def index(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    write(folder / "docs", {"a.md": LEAVE + MORE})
    assert main(["index", str(folder / "docs"), "--index", str(folder / "i"), "--quiet"]) == 0
    return folder / "i"


def test_a_thinking_model_keeps_the_passages(run, index, server, tmp_path):
    server.thinks = server.forever = True
    talk = tmp_path / "talk.jsonl"
    plain = run("ask", QUESTION, "--index", index)[1]
    argv = ("ask", QUESTION, "--index", index, "--llm", "ollama:chat", "--base-url", server.url)
    code, out, err = run(*argv, "--history", talk)
    assert (code, out) == (3, plain) and "only thought" in err and "--no-think" in err and not talk.exists()
    assert "nothing was found" not in out
    server.forever = False
    code, out, err = run(*argv, "--no-think", "--history", talk)
    assert code == 0 and out.startswith("echo ") and talk.exists() and server.asked("/api/chat")[-1]["think"] is False
    assert run(*argv, "--think")[0] == 0 and server.asked("/api/chat")[-1]["think"] is True


@pytest.mark.parametrize("said,shown", [("<think>60일? </think>\n60일입니다 [1].", "60일입니다 [1]."), ("<think>60일?", None), ("", None)])
def test_a_thought_is_no_part_of_an_answer(run, index, server, said, shown):
    server.said = lambda messages: said
    code, out, err = run("ask", QUESTION, "--index", index, "--llm", "ollama:chat", "--base-url", server.url)
    assert "think>" not in out and "nothing was found" not in out
    assert (code == 0 and out.startswith(shown + "\n")) if shown else (code == 3 and "60일까지" in out and "did not answer" in err)


def test_the_context_is_made_to_fit_and_it_is_said(run, index, server):
    argv = ("ask", QUESTION, "--index", index, "--llm", "ollama:chat", "--base-url", server.url)
    code, out, err = run(*argv, "--num-ctx", 700, "--json")
    facts = json.loads(out)
    assert code == 0 and "the window of the model 'chat' leaves about" in facts["note"] and len(facts["context"]) < 350
    body = server.asked("/api/chat")[-1]
    assert body["options"]["num_ctx"] == 700 and sum(len(m["content"]) for m in body["messages"]) < 700
    code, out, err = run(*argv, "--num-ctx", 700)
    assert code == 0 and "the window of the model 'chat'" in err and facts["context"] in body["messages"][-1]["content"]
    assert "window" not in json.loads(run(*argv, "--json")[1])["note"]


def test_each_server_has_its_address(run, index, server, nobody, tmp_path, monkeypatch):
    docs = index.parent / "docs"
    monkeypatch.setenv("OLLAMA_HOST", server.url.removeprefix("http://"))
    assert run("index", docs, "--index", tmp_path / "i", "--embed", "ollama:embedder", "--quiet")[0] == 0
    with OllamaServer(models=("chat",)) as other:
        monkeypatch.setenv("OLLAMA_HOST", other.url)
        for spec in ((), ("--embed", "ollama:embedder"), ("--embed", "ollama:embedder:latest")):   # where it was
            assert run("ask", QUESTION, "--index", tmp_path / "i", "--llm", "ollama:chat", *spec)[0] == 0
        assert len(other.asked("/api/chat")) == 3 and not other.asked("/api/embed")
        code, out, err = run("ask", QUESTION, "--index", tmp_path / "i", "--llm", "ollama:chat", "--base-url", other.url,
                             "--embed-base-url", server.url)
        assert code == 0 and len(other.asked("/api/chat")) == 4
    for argv in (("--embed-base-url", nobody), ("--llm", "ollama:chat", "--base-url", nobody, "--embed-base-url", server.url)):
        code, out, err = run("ask", QUESTION, "--index", tmp_path / "i", *argv)
        assert code == 3 and nobody in err


def test_a_server_that_hangs_is_not_waited_for(run, index, server, tmp_path):
    made = ("index", index.parent / "docs", "--index", tmp_path / "i", "--embed", "ollama:embedder", "--base-url", server.url, "--quiet")
    assert run(*made)[0] == 0
    server.faults = ["hang"]
    code, out, err = run("ask", QUESTION, "--index", tmp_path / "i", "--timeout", "0.3")
    assert (code, out) == (3, "") and "did not answer within 0.3 seconds" in err and server.url in err
    server.faults = ["hang"]
    code, out, err = run("ask", QUESTION, "--index", index, "--llm", "ollama:chat", "--base-url", server.url, "--timeout", "0.3")
    assert code == 3 and "60일" in out and "within 0.3 seconds" in err
    assert run("index", index.parent / "docs", "--index", index, "--timeout", "9", "--quiet")[0] == 0   # no server: no matter


def test_a_replaced_model_is_refused(run, index, server, tmp_path):
    docs = write(tmp_path / "docs", {"a.md": LEAVE})
    made = ("index", docs, "--index", tmp_path / "i", "--embed", "ollama:embedder", "--base-url", server.url, "--quiet")
    assert run(*made)[0] == 0
    facts = json.loads(run("info", "--index", tmp_path / "i", "--json")[1])["embedding"]
    assert facts["digest"] and facts["dims"] == 64
    server.digests["embedder"] = "e" * 64
    (docs / "b.md").write_text("# 여비\n\n숙박비는 7만 원이다.\n", encoding="utf-8")
    for argv in (("ask", QUESTION, "--index", tmp_path / "i"), made):
        line = one_line(run(*argv))
        assert "other weights" in line and "--force" in line
    assert run("ask", QUESTION, "--index", tmp_path / "i", "--retrieve", "bm25")[0] == 0   # needs no model
    assert run(*made, "--force")[0] == 0 and run("ask", QUESTION, "--index", tmp_path / "i")[0] == 0


def test_prefixes_are_kept_in_the_index(run, index, server, tmp_path):
    where = ("--index", tmp_path / "i", "--embed", "ollama:embedder")
    made = ("index", index.parent / "docs", *where, "--base-url", server.url, "--quiet")
    assert run(*made, "--query-prefix", "query: ", "--document-prefix", "passage: ", "--embed-option", "embed_batch_size=2")[0] == 0
    texts = [text for body in server.asked("/api/embed") for text in body["input"]]
    probes = [text for text in texts if text.startswith("query: ")]       # beginnings of texts, which measure what a cosine means
    assert len(probes) <= 64 and all(t.startswith("passage: ") for t in texts if t not in probes) and len(texts) > len(probes)
    assert run("ask", QUESTION, *where)[0] == 0 and server.asked("/api/embed")[-1]["input"] == [f"query: {QUESTION}"]
    n = len(server.asked("/api/embed"))
    code, out, err = run(*made, "--query-prefix", "Query: ")
    assert (code, out) == (2, "") and "query_prefix 'query: ', not 'Query: '" in err and n == len(server.asked("/api/embed"))
    assert run(*made)[0] == 0, "what is not said is as it was"
    where_ = json.loads(embedding_of(tmp_path / "i"))["where"]
    assert where_["embed_batch_size"] == 2


def test_an_answer_is_shown_while_it_is_written(run, index, server, monkeypatch):
    argv = ("ask", QUESTION, "--index", index, "--llm", "ollama:chat", "--base-url", server.url)
    plain = run(*argv)[1]
    assert server.asked("/api/chat")[-1]["stream"] is False
    monkeypatch.setattr(type(sys.stdout), "isatty", lambda self: True, raising=False)
    assert run(*argv)[:2] == (0, plain) and server.asked("/api/chat")[-1]["stream"] is True
    assert run(*argv, "--json")[0] == 0 and server.asked("/api/chat")[-1]["stream"] is False
    server.thinks = server.forever = True
    code, out, err = run(*argv)
    assert code == 3 and "60일까지" in out and "only thought" in err


def test_the_budget_share_is_of_the_servers_window(run, index, server):
    server.window = 1000
    argv = ("ask", QUESTION, "--index", index, "--llm", "ollama:chat", "--base-url", server.url, "--json", "--budget-share", "0.1", "--tokenizer", "words")
    sizes = [len(json.loads(run(*argv, *more)[1])["context"].split()) for more in ((), ("--num-ctx", 500))]
    assert 50 < sizes[0] <= 100 and sizes[1] <= 50


def test_contexts_of_a_missing_model_are_refused_at_once(run, index, server, tmp_path):
    argv = ("index", index.parent / "docs", "--index", tmp_path / "i", "--base-url", server.url, "--quiet", "--contexts")
    code, out, err = run(*argv, "ollama:missing")
    assert (code, out) == (3, "") and "ollama pull missing" in err and server.url in err and not (tmp_path / "i").exists()
    server.thinks = server.forever = server.deaf = True     # contexts are asked for without thoughts
    code, out, err = run(*argv, "ollama:chat")
    assert code == 0 and "the model 'chat' only thought" in err and "again with --contexts" in out
    assert run(*argv, "ollama:chat:latest", "--no-think")[0] == 0 and server.asked("/api/chat")[-1]["think"] is False


@pytest.mark.parametrize("option,said", [
    (("--llm-option", "seed"), "KEY=VALUE"), (("--llm-option", "sed=1"), "'sed'"), (("--embed-option", "dimz=1"), "'dimz'"),
    (("--num-ctx", "3"), "num_ctx"), (("--llm-option", "temperature=hot"), "temperature")])
def test_options_that_nobody_knows(run, index, server, option, said):
    assert said in one_line(run("ask", QUESTION, "--index", index, "--llm", "ollama:chat", "--base-url", server.url, *option))


@pytest.mark.parametrize("reply", ["<html>", "", "[]"])
def test_a_server_of_another_kind_is_one_line(run, index, server, reply):
    server.raw = {"/api/chat": reply, "/api/show": reply}
    code, out, err = run("ask", QUESTION, "--index", index, "--llm", "ollama:chat", "--base-url", server.url.replace("//", "//ann:geheim@"))
    assert code == 3 and server.url in err and "geheim" not in out + err and sum(not line.startswith("note: ") for line in err.splitlines()) == 1 and "60일까지" in out
