"""Servers with OpenAI's interface (vLLM, llama.cpp, LM Studio), over real HTTP."""
from __future__ import annotations

import asyncio
import time

import numpy as np
import pytest
from conftest import write
from ollama_server import MODES, toy_vector
from openai_server import OpenAIServer

from ragnb import IndexMismatchError, resolve_embedding, resolve_llm
from ragnb.cli import main
from ragnb.models.embedding import describe_embedding, load_embedding, save_embedding
from ragnb.models.replies import ReplyError


@pytest.fixture
def server():
    with OpenAIServer() as server:
        yield server


def test_a_model_answers(server):
    llm = resolve_llm("openai-like:chat", server.url, temperature=0, timeout=20)
    assert str(llm.complete("병가는?")) == server.said
    assert [str(asyncio.run(llm.acomplete("병가는?"))) for _ in range(2)] == [server.said] * 2
    assert "".join(r.delta for r in llm.stream_complete("병가는?")) == server.said
    assert llm.metadata.is_chat_model and {path for path, _ in server.requests} == {"/v1/chat/completions"}
    server.busy = 1
    assert str(llm.complete("병가는?")) == server.said
    for think in (True, False):
        resolve_llm("openai-like:chat", server.url, think=think).complete("병가는?")
        assert server.requests[-1][1]["chat_template_kwargs"] == {"enable_thinking": think}


def test_an_embedding_with_prefixes(server, tmp_path):
    model = resolve_embedding("openai-like:e5", server.url, query_prefix="query: ", text_prefix="passage: ", api_key="none")
    texts = [f"{n}번 조항" for n in range(300)]
    assert np.allclose(model.get_text_embedding_batch(texts)[299], toy_vector("passage: 299번 조항"))
    assert np.allclose(model.get_query_embedding("병가"), toy_vector("query: 병가"))
    assert np.allclose(asyncio.run(model.aget_query_embedding("병가")), asyncio.run(model.aget_query_embedding("병가")))
    assert len(server.requests) == 5, "300 texts in two calls"
    record = save_embedding(model, tmp_path)
    assert record["kind"] == "openai-like" and record["parameters"] == {"query_prefix": "query: ", "text_prefix": "passage: "}
    assert describe_embedding(load_embedding(tmp_path, api_key="none")) == describe_embedding(model)
    with pytest.raises(IndexMismatchError, match="query_prefix"):
        load_embedding(tmp_path, query_prefix="q: ")


def test_the_command_line(server, tmp_path, capsys):
    write(tmp_path / "docs", {"a.md": "# 휴가\n\n연차는 15일이다.\n\n## 병가\n\n병가는 60일까지 쓴다.\n"})
    where = ["--index", str(tmp_path / "i")]
    assert main(["index", str(tmp_path / "docs"), *where, "--embed", "openai-like:e5", "--base-url", f"{server.url}/v1", "--quiet"]) == 0
    capsys.readouterr()
    for spec in ([], ["--embed", "openai-like:e5"]):
        assert main(["ask", "병가는?", *where, "--llm", "openai-like:chat", "--base-url", server.url, *spec]) == 0
        assert capsys.readouterr().out.startswith("60일입니다 [1].\n")
    assert main(["ask", "병가는?", *where, "--llm", "openai-like:missing", "--base-url", server.url]) == 3
    err = capsys.readouterr().err
    assert "the model 'missing' at http://127.0.0.1" in err and "does not exist" in err
    server.said = "<think>60일?"
    assert main(["ask", "병가는?", *where, "--llm", "openai-like:chat", "--base-url", server.url]) == 3
    assert "it only thought" in capsys.readouterr().err


def openai_calls(url: str, **options) -> dict:
    """Every way to ask such a server."""
    llm, embedding = resolve_llm("openai-like:chat", url, **options), resolve_embedding("openai-like:e5", url, api_key="none", **options)

    async def streamed() -> list:
        return [r async for r in await llm.astream_complete("연차는?")]
    return {"complete": lambda: llm.complete("연차는?"), "acomplete": lambda: asyncio.run(llm.acomplete("연차는?")),
            "stream": lambda: list(llm.stream_complete("연차는?")), "astream": lambda: asyncio.run(streamed()),
            "embed": lambda: embedding.get_text_embedding("연차"), "aembed": lambda: asyncio.run(embedding.aget_text_embedding("연차"))}


@pytest.mark.parametrize("mode", MODES)
def test_a_server_that_misbehaves_does_not_hold_the_caller(server, mode):
    wanted = (ReplyError if mode in ("endless", "redirect") else TimeoutError)
    with OpenAIServer() as other:
        server.mode, server.elsewhere = mode, other.url
        calls = openai_calls(server.url, timeout=0.15 if wanted is TimeoutError else 20)
        if mode == "endless":
            calls = {way: call for way, call in calls.items() if way in ("acomplete", "stream")}   # 256 MiB of vectors take seconds
        wrong = {}
        for way, call in calls.items():
            server.requests.clear()
            try:
                wrong[way] = f"returned {str(call())[:80]!r}"
            except Exception as error:
                if not isinstance(error, wanted) or server.url not in str(error):
                    wrong[way] = repr(error)
            late = time.monotonic() + 10
            while not server.requests and time.monotonic() < late:   # on a busy machine the caller may give up first
                time.sleep(0.01)
            if len(server.requests) != 1:
                wrong[f"{way}, requests"] = len(server.requests)
        assert not wrong and not other.requests, (wrong, other.requests)
