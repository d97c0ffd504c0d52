"""Servers with OpenAI's interface (vLLM, llama.cpp, LM Studio), over real HTTP."""
from __future__ import annotations

import asyncio
import time

import numpy as np
import pytest
from conftest import write
from ollama_server import MODES, toy_vector
from openai_server import OpenAIServer

from ragnb import IndexMismatchError, Pipeline, resolve_embedding, resolve_llm, update_index
from ragnb.cli import main
from ragnb.models.embedding import describe_embedding, load_embedding, save_embedding
from ragnb.models.limits import ModelCall, PromptCutError
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


def said_by(llm, prompt: str, way: str) -> str:
    """One prompt, in four ways."""
    async def streamed() -> str:
        return "".join([r.delta or "" async for r in await llm.astream_complete(prompt)])
    ways = {"sync": lambda: str(llm.complete(prompt)), "async": lambda: str(asyncio.run(llm.acomplete(prompt))),
            "stream": lambda: "".join(r.delta or "" for r in llm.stream_complete(prompt)), "astream": lambda: asyncio.run(streamed())}
    return ways[way]()


WAYS = ["sync", "async", "stream", "astream"]


@pytest.mark.parametrize("way", WAYS)
def test_every_call_has_a_limit_and_says_where_it_ended(server, way):
    for tokens, options, sent in ((None, {}, (4096, 0.1)), (None, {"answer_tokens": 6, "temperature": 0.7}, (6, 0.7)), (64, {"temperature": 0.7}, (256, 0)),
                                  (64, {"think": True}, (64, 0)), (None, {"think": False}, (1024, 0.1)), (None, {"max_tokens": 5}, (5, 0.1))):
        with ModelCall(tokens) as call:
            said = said_by(resolve_llm("openai-like:chat", server.url, **options), "병가는?", way)
        body = server.requests[-1][1]
        assert (body["max_tokens"], body["temperature"]) == sent
        assert said == server.said[:sent[0]] and call.by_length == (sent[0] < len(server.said))
        think = {"enable_thinking": bool(options["think"]) and tokens is None} if "think" in options else None
        assert body.get("chat_template_kwargs") == think, "a step is told not to think where the server can be told at all"


@pytest.mark.parametrize("kind", ["llama.cpp", "vllm"])
@pytest.mark.parametrize("way", WAYS)
def test_a_prompt_that_does_not_fit_says_by_how_much(server, kind, way):
    server.kind, server.window = kind, 300
    llm = resolve_llm("openai-like:chat", server.url)
    with pytest.raises(PromptCutError, match="the prompt of 900 tokens does not fit the window of 300 of the model 'chat' at http"):
        said_by(llm, "병가는 " * 225, way)
    assert llm.window == 300 and llm.prompt_room == 150, "as the refusal said"
    assert said_by(llm, "병가는 " * 70, way) == server.said, "with less for the answer"
    assert server.requests[-1][1]["max_tokens"] == (19 if kind == "vllm" else 4096)


def test_the_context_fits_the_window_that_the_server_names(server, tmp_path):
    server.says_window, server.window = True, 1200
    write(tmp_path / "docs", {f"{n}.md": f"# 배편 {n}\n\n" + f"바깥섬 배편 {n}은 아침에 떠난다. " * 40 for n in range(6)})
    index, _ = update_index(tmp_path / "docs", tmp_path / "i", show_progress=False)
    for kind in ("llama.cpp", "vllm"):
        server.kind = kind
        answer = Pipeline.from_index(index, llm=resolve_llm("openai-like:chat", server.url)).ask("바깥섬 배편은 언제 떠나나?")
        assert answer.text == server.said and [n.kind for n in answer.context.notes if n.kind == "window"] == ["window"]
    server.says_window = False
    with pytest.raises(ConnectionError, match="does not fit the window of 1,200"):
        Pipeline.from_index(index, llm=resolve_llm("openai-like:chat", server.url), other_words=False).ask("바깥섬 배편은 언제 떠나나?")


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
