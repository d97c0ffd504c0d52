"""Steps of a question as spans of LlamaIndex's instrumentation, for every way to ask."""
from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from llama_index.core.instrumentation import root_dispatcher
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.instrumentation.span import active_span_id
from llama_index.core.instrumentation.span_handlers import SimpleSpanHandler

from ragnb import Pipeline
from ragnb.indexing.update import update_index
from ragnb.models import instrumentation
from ragnb.models.scripted import ScriptedLLM
from ragnb.pipeline.answer import ModelError

QUESTION = "연차는 며칠인가요?"
STEPS = ["Pipeline.ask", "MultiScaleRetriever.retrieve", "Expander.expand", "RankedContextBuilder.build", "Answer.synthesize"]


class Heard(BaseEventHandler):
    "Keep each event."
    events: list[Any] = []

    def handle(self, event: Any, **_: Any) -> None:
        self.events.append(event)


class Watch:
    "What a tracing tool is told."

    def __init__(self) -> None:
        self.spans, self.heard = SimpleSpanHandler(), Heard(events=[])

    @property
    def ended(self) -> dict[str, str]:
        "Name of each ended span of ours -> name of its parent."
        name = {s.id_: s.id_.partition("-")[0] for s in (*self.spans.completed_spans, *self.spans.dropped_spans)}
        return {name[s.id_]: name.get(s.parent_id or "", "") for s in self.spans.completed_spans if name[s.id_] in STEPS}

    def events(self, kind: str) -> list[Any]:
        "Events of a kind."
        return [event for event in self.heard.events if event.class_name() == kind]


@pytest.fixture
def watch() -> Iterator[Watch]:
    told = Watch()
    root_dispatcher.add_span_handler(told.spans)
    root_dispatcher.add_event_handler(told.heard)
    yield told
    root_dispatcher.span_handlers.remove(told.spans)
    root_dispatcher.event_handlers.remove(told.heard)
    assert active_span_id.get() is None and not told.spans.open_spans


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    place = tmp_path_factory.mktemp("traced")
    (place / "docs").mkdir()
    (place / "docs" / "leave.md").write_text("# 휴가\n\n연차는 15일입니다. 매년 1월 1일에 줍니다.\n", encoding="utf-8")
    update_index(place / "docs", place / "index", show_progress=False)
    return str(place / "index")


def pipeline(folder: str, reply: Any = "15일입니다 [1].") -> Pipeline:
    return Pipeline.from_index(folder, llm=ScriptedLLM(reply))


async def read_all(asked: Pipeline) -> str:
    return "".join([piece async for piece in await asked.astream(QUESTION)])


WAYS: dict[str, Callable[[Pipeline], str]] = {
    "ask": lambda asked: asked.ask(QUESTION).text,
    "stream": lambda asked: "".join(asked.stream(QUESTION)),
    "aask": lambda asked: asyncio.run(asked.aask(QUESTION)).text,
    "astream": lambda asked: asyncio.run(read_all(asked))}


@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_ask_is_one_tree(folder: str, watch: Watch, way: str) -> None:
    assert WAYS[way](pipeline(folder)) == "15일입니다 [1]."
    assert watch.ended == dict.fromkeys(STEPS[1:], "Pipeline.ask") | {"Pipeline.ask": ""}
    [begun], [ended] = watch.events("QueryStartEvent"), watch.events("QueryEndEvent")
    assert (begun.query, ended.response.response) == (QUESTION, "15일입니다 [1].")
    assert "15일" in ended.response.source_nodes[0].text
    hits, passages = (event.nodes for event in watch.events("RetrievalEndEvent"))
    assert hits and passages and all("15일" in nodes[0].text for nodes in (hits, passages))
    [written] = watch.events("SynthesizeEndEvent")
    assert written.response.response == "15일입니다 [1]."
    models = [s for s in watch.spans.completed_spans if s.id_.startswith("ScriptedLLM")]
    assert any((s.parent_id or "").startswith("Answer.synthesize") for s in models)


@pytest.mark.parametrize("way", WAYS)
def test_a_failed_model_drops_its_spans(folder: str, watch: Watch, way: str) -> None:
    with pytest.raises(ModelError):
        WAYS[way](pipeline(folder, ConnectionError("refused")))
    dropped = {s.id_.partition("-")[0] for s in watch.spans.dropped_spans}
    assert {"Pipeline.ask", "Answer.synthesize"} <= dropped
    assert watch.ended == dict.fromkeys(STEPS[1:4], "Pipeline.ask")


@pytest.mark.parametrize("pieces", [0, 1])
def test_a_stream_that_is_left_ends_its_spans(folder: str, watch: Watch, pieces: int) -> None:
    stream = pipeline(folder).stream(QUESTION)
    parts = iter(stream)
    for _ in range(pieces):
        next(parts)
    assert "Pipeline.ask" not in watch.ended
    del parts, stream
    assert watch.ended["Pipeline.ask"] == ""


def test_a_reranker_and_a_compressor_have_their_spans(folder: str, watch: Watch) -> None:
    asked = Pipeline.from_index(folder, retriever="hybrid", reranker="llm", policy="neighbors", compressor=500,
                                llm=ScriptedLLM({"판정": "1: HIGH", "": "15일입니다 [1]."}))
    asked.ask(QUESTION)
    names = {s.id_.partition("-")[0]: s.parent_id for s in watch.spans.completed_spans}
    assert names["LLMReranker.rerank"].startswith("Pipeline.ask") and names["Compressor.compress"].startswith("Pipeline.ask")
    [begun], [ended] = watch.events("ReRankStartEvent"), watch.events("ReRankEndEvent")
    assert begun.query == QUESTION and len(begun.nodes) == len(ended.nodes) > 0


def test_half_a_character_is_traced(folder: str, watch: Watch) -> None:
    pipeline(folder).ask("연차\ud800는 며칠인가요?")
    [begun] = watch.events("QueryStartEvent")
    begun.query.encode()


@pytest.mark.parametrize("way", WAYS)
def test_nothing_is_made_without_a_handler(folder: str, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    monkeypatch.setattr(instrumentation.TracedStep, "__init__", lambda self, *given: made.append(given))
    assert WAYS[way](pipeline(folder)) == "15일입니다 [1]."
    assert made == []
