"""The stand-in of the tests answers as the real Ollama servers did; `benchmarks/ollama_protocol.py` asked them."""
from __future__ import annotations

import json
from typing import Any

import pytest
from ollama_protocol import differences, REQUESTS, stand_in_rows, STORED
from ollama_server import OllamaServer

from ragnb import resolve_embedding, resolve_llm
from ragnb.models.limits import ModelCall
from ragnb.models.ollama import pull_model

REAL = json.loads(STORED.read_text(encoding="utf-8"))


def drift(version: str, kind: type[OllamaServer] = OllamaServer) -> dict[str, list[str]]:
    """Request -> what a stand-in answers otherwise than the server did."""
    rows = zip(REAL[version], stand_in_rows(version.split()[1], kind), strict=True)
    found = {real["request"]: (differences(real, row), real["left_out"]) for real, row in rows}
    return {name: told["wrong"] + [f"without {told['left_out']}"] * (told["left_out"] != left_out)
            for name, (told, left_out) in found.items() if told != {"wrong": [], "left_out": left_out}}


@pytest.mark.parametrize("version", REAL)
def test_the_stand_in_answers_as_the_server_does(version: str) -> None:
    assert drift(version) == {}
    assert [row["request"] for row in REAL[version]] == [request.name for request in REQUESTS], "run the benchmark again"


class Drifted(OllamaServer):
    """Its streams end with the last words, it leaves out the window of a loaded model, and a vector of one text has text in it."""

    def chat(self, body: dict[str, Any]) -> Any:
        reply = super().chat(body)
        if isinstance(reply, dict):
            return reply
        *pieces, last = reply
        return iter([*pieces[:-1], pieces[-1] | {k: v for k, v in last.items() if k != "message"}])

    def ps(self, body: dict[str, Any]) -> Any:
        return {"models": [{k: v for k, v in m.items() if k != "context_length"} for m in super().ps(body)["models"]]}

    def embed(self, body: dict[str, Any]) -> Any:
        return {"embeddings": [["0.5"]]} if isinstance(body["input"], str) else super().embed(body)


def test_a_stand_in_that_drifts_is_noticed() -> None:
    told = drift("Ollama 0.32", Drifted)
    assert {*told} == {"chat, stream", "the models that are loaded", "embed, one text"}
    assert told["the models that are loaded"] == ["without ['models[].context_length']"]
    assert told["embed, one text"][0] == "embeddings[][]: text for number"


def keys(body: Any) -> set[str]:
    """The keys of a request, with those of its options."""
    return {*body} | {f"options.{key}" for key in body.get("options") or {}} if isinstance(body, dict) else set()


def test_every_request_that_ragnb_sends_is_compared() -> None:
    with OllamaServer(models=("chat", "embedder")) as server:
        server.library = ("tiny",)
        llm = resolve_llm("ollama:chat", server.url, temperature=0, think=False, keep_alive="5m")
        llm.complete("연차는?")
        list(llm.stream_complete("연차는?"))
        with ModelCall(64, schema={"type": "object"}):
            llm.complete("연차는?")
        embedding = resolve_embedding("ollama:embedder", server.url, dims=16, num_ctx=256)
        embedding.get_text_embedding_batch(["연차", "병가"])
        embedding.describe()
        pull_model("tiny", server.url)
    compared = {request.path: set[str]().union(*(keys(r.body) for r in REQUESTS if r.path == request.path)) for request in REQUESTS}
    sent = {path for path, _ in server.requests}
    assert sent == {"/api/show", "/api/ps", "/api/chat", "/api/embed", "/api/tags", "/api/pull"} <= {*compared}
    assert [(path, keys(body) - compared[path]) for path, body in server.requests if keys(body) - compared[path]] == []
