"""A model that breaks off in the middle of an answer, over HTTP: said, the passages kept, nothing taken for an answer."""
from __future__ import annotations

import asyncio

import pytest
from ollama_server import OllamaServer

from ragnb.models.llm import resolve_llm
from ragnb.pipeline.answer import ModelError
from ragnb.pipeline.pipeline import Pipeline

QUESTION = "입사 1년차 직원의 연차는 며칠인가요?"


@pytest.fixture
def server():
    with OllamaServer(models=("chat",)) as server:
        server.said = lambda messages: "연차는 15일이다 [1]. 매달 하루씩 쌓이는 것이 아니다 [1]."
        yield server


@pytest.mark.parametrize("fault", ["half", "undone"])
@pytest.mark.parametrize("way", ["for", "async for"])
def test_a_stream_that_breaks_off_keeps_the_passages(hr_units, server, way, fault) -> None:
    server.faults = [fault]
    pipeline, pieces = Pipeline.from_index(hr_units, llm=resolve_llm("ollama:chat", server.url)), []

    async def read() -> None:
        async for piece in await pipeline.astream(QUESTION):
            pieces.append(piece)
    with pytest.raises(ModelError, match="broke off|connection was lost") as error:
        if way == "for":
            pieces.extend(pipeline.stream(QUESTION))
        else:
            asyncio.run(read())
    kept = error.value.answer
    assert [p.span for p in kept.passages] == [p.span for p in Pipeline.from_index(hr_units).ask(QUESTION).passages] != []
    assert kept.text.startswith("[1] (") and kept.source_marks == [], "the numbered passages stand for the text"
    assert "".join(pieces) != server.said([]) and len(server.asked("/api/chat")) == 1


def test_the_next_question_is_answered(hr_units, server) -> None:
    pipeline = Pipeline.from_index(hr_units, budget=3_000, llm=resolve_llm("ollama:chat", server.url))
    server.faults = ["half"]
    with pytest.raises(ModelError):
        list(pipeline.stream(QUESTION))
    stream = pipeline.stream(QUESTION)
    assert "".join(stream) == server.said([]) == stream.answer.text
    assert {m.number for m in stream.answer.source_marks} == {1}
