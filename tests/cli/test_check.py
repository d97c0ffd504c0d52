"""`ragnb check`: what it measures of the stand-ins, what it advises, and how it fails."""
from __future__ import annotations

import json
import re
from typing import Any

import pytest
from conftest import one_line
from ollama_server import OllamaServer
from openai_server import OpenAIServer

JSON = '{"queries": ["a", "b"]}'


class Good(OllamaServer):
    """Writes JSON where it is asked for, and names the second source."""

    def said(self, messages: list[dict[str, Any]]) -> str:
        return JSON if "JSON" in messages[-1]["content"] else "17 [2]."


class Small(Good):
    """Repeats the question, and knows the value."""

    def said(self, messages: list[dict[str, Any]]) -> str:
        return "질문: 연차는?" if "JSON" in messages[-1]["content"] else "17"


def facts(run: Any, server: OllamaServer, *words: str) -> dict[str, Any]:
    code, out, err = run("check", "--base-url", server.url, "--json", *words)
    assert code == 0, err
    return json.loads(out)


def test_what_a_good_model_can_do(run):
    with Good(models=("chat", "bge")) as server:
        found = facts(run, server, "--llm", "ollama:chat", "--embed", "ollama:bge")
        text = run("check", "--base-url", server.url, "--llm", "ollama:chat", "--embed", "ollama:bge")[1]
    llm, embed = found["llm"], found["embed"]
    assert (llm["window"], llm["capabilities"], llm["json_kept"], llm["right"], llm["cited"]) == (131_072, ["completion"], 2, 2, 2)
    assert llm["tokens"] == {"ko": 1.0, "en": 1.0} and llm["rules"] == [] == llm["remarks"]      # a token is a character there
    assert (embed["dims"], embed["model"]) == (64, "ollama:bge") and embed["right"] in (0, 1, 2)
    assert "131,072" in text and "1.00" in text and "→" not in text


def test_what_a_small_model_leaves_to_rules(run):
    with Small(models=("chat",)) as server:
        llm = facts(run, server, "--llm", "ollama:chat")["llm"]
        code, out, _ = run("check", "--base-url", server.url, "--llm", "ollama:chat")
        schemas = [body.get("format") for body in server.asked("/api/chat")]
    assert (llm["json_kept"], llm["right"], llm["cited"], llm["rules"]) == (0, 2, 0, ["route", "plan", "judge"])
    assert code == 0 and "--step route=none --step plan=none --step judge=none" in out and out.count("→") == 2
    assert sum(schema is not None for schema in schemas) == 4        # the schema goes where the server takes one, twice in each run


def test_a_server_that_counts_no_tokens(run):
    with OpenAIServer() as server:
        code, out, err = run("check", "--llm", "openai-like:chat", "--base-url", f"{server.url}/v1", "--json")
    llm = json.loads(out)["llm"]
    assert code == 0 and llm["tokens"] == {"ko": None, "en": None} and llm["window"] is None and llm["right"] == 0
    assert any("--llm" in remark for remark in llm["remarks"])


@pytest.mark.parametrize("words", [("--llm", "ollama:none"), ("--embed", "ollama:none-embed")])
def test_a_model_that_is_not_there_is_named_with_the_way_out(run, words):
    with Good(models=("chat",)) as server:
        code, out, err = run("check", "--base-url", server.url, *words)
    assert "ollama pull none" in one_line((code, out, err), 3)


def test_pull_fetches_what_is_missing(run):
    with Good(models=()) as server:
        server.library = ("chat",)
        for _ in range(2):      # what is there is not fetched again, which fails on a server without a network
            code, out, err = run("check", "--base-url", server.url, "--llm", "ollama:chat", "--pull")
            assert code == 0 and "ollama:chat" in out and len(server.asked("/api/pull")) == 1
        code, out, err = run("check", "--base-url", server.url, "--llm", "ollama:other", "--pull")
        line = one_line((code, out, err), 3)
        assert "file does not exist" in line and server.url in line and "status code" not in line


@pytest.mark.parametrize(("kind", "model", "path", "told"), [
    ("--embed", "chat", "", "'chat' makes no embeddings .use an embedding model, such as bge-m3."),
    ("--llm", "bge", "", "does not support chat .use a chat model, such as qwen3:8b."),
    ("--llm", "chat", "/v1", "does not speak Ollama's protocol.* without /v1")])
def test_a_refusal_says_what_to_use(run, kind, model, path, told):
    with Good(models=("chat", "bge")) as server:
        line = one_line(run("check", "--base-url", server.url + path, kind, f"ollama:{model}"), 3)
    assert re.search(told, line) and server.url in line and "ollama pull" not in line and "--embeddings" not in line


@pytest.mark.parametrize(("words", "told"), [
    ((), "--embed"), (("--embed", "ngram"), "ngram"), (("--llm", "openai-like:x", "--base-url", "http://127.0.0.1:9/v1", "--pull"), "--pull"),
    (("--llm", "ollama:x", "--base-url", "http://127.0.0.1:9"), "127.0.0.1:9"),
    (("--llm", "ollama:x", "--base-url", "http://127.0.0.1:9", "--pull"), "127.0.0.1:9")])
def test_mistakes_are_one_line(run, words, told):
    """2 for what was typed, 3 for a server that does not answer."""
    assert told in one_line(run("check", *words), 3 if "127" in told else 2)
