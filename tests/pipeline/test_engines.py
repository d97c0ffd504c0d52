"""Stock engines of LlamaIndex send the model what `ask` sends, whatever the pipeline is made of."""
from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest
from llama_index.core.chat_engine import ContextChatEngine
from llama_index.core.schema import NodeWithScore, QueryBundle
from ollama_server import OllamaServer

from ragnb import Index, InputError, ModelError, Passage, Pipeline, RankedContextBuilder, resolve_llm
from ragnb.context.builders import ContextBuilder
from ragnb.context.question_kinds import QuestionContextBuilder
from ragnb.models.scripted import ScriptedLLM
from ragnb.pipeline.engines import ContextNode
from ragnb.retrieval.rerank import Reranked, Reranker, RerankReport

QUESTION = "입사 1년차 직원의 연차는 며칠인가요?"
COMPARES = "연차와 반차를 비교해 주세요"


class Backwards(Reranker):
    """The last first, without scores: the order is all there is."""
    calls: int = 0

    def rerank(self, nodes: Any, question: str) -> Reranked:
        self.calls += 1
        assert question
        return Reranked([NodeWithScore(node=n.node, score=None) for n in nodes][::-1], RerankReport(len(nodes)))


@dataclass(frozen=True)
class ByDocument(RankedContextBuilder):
    """An order of one's own."""

    def order(self, passages: Any) -> list[Passage]:
        return sorted(passages, key=lambda p: p.id, reverse=True)


PIPELINES: dict[str, dict[str, Any]] = {
    "default": {}, "best first": {"reorder": False}, "a small budget": {"budget": 700},
    "tokens": {"budget": 300, "tokenizer": "cl100k_base"}, "reranker": {"reranker": "backwards", "budget": 1_500},
    "compressor": {"compressor": 400},
    "excerpts": {"policy": "document:20", "top_k": 4, "compressor": 500, "passage_size": None},
    "table": {"builder": "table", "compressor": 500, "policy": "document:20", "top_k": 4},
    "debug": {"builder": "debug", "budget": 1_200}, "simple": {"builder": "simple"},
    "detailed": {"builder": "detailed"}, "by the question": {"builder": "question"},
    "layouts of one's own": {"builder": QuestionContextBuilder(budget=900, layouts={"comparison": "simple"})},
    "an order of one's own": {"builder": ByDocument(budget=1_500)},
    "hybrid": {"retriever": "hybrid", "policy": "neighbors:2", "top_k": 4},
    "everything": {"retriever": "bm25", "reranker": "backwards", "policy": "neighbors:1", "builder": "detailed",
                   "compressor": 900, "budget": 1_200, "reorder": False, "top_k": 9, "expand_top_k": 3}}


def make(hr_units: Index, name: str) -> tuple[Pipeline, ScriptedLLM]:
    """A pipeline with a model that keeps its prompts."""
    llm, settings = ScriptedLLM("15일입니다 [1]. 그 밖에는 모릅니다."), dict(PIPELINES[name])
    if settings.get("reranker") == "backwards":
        settings["reranker"] = Backwards()
    return Pipeline.from_index(hr_units, llm=llm, **settings), llm


async def streamed(pipeline: Pipeline, question: str) -> tuple[str, list[NodeWithScore]]:
    """The text of a stream that is waited for, and its nodes."""
    response = await pipeline.query_engine(streaming=True).aquery(question)
    return "".join([token async for token in response.async_response_gen()]), response.source_nodes


@pytest.mark.parametrize(("name", "question"), [*((name, QUESTION) for name in PIPELINES), ("by the question", COMPARES), ("everything", COMPARES)])
def test_an_engine_sends_the_prompt_of_ask(hr_units, name, question):
    pipeline, llm = make(hr_units, name)
    answer = pipeline.ask(question)
    responses = [pipeline.query_engine().query(question), asyncio.run(pipeline.query_engine().aquery(question)),
                 pipeline.query_engine(streaming=True).query(question)]
    assert str(responses[2]) == answer.text, "a stream is read to its end"
    text, nodes = asyncio.run(streamed(pipeline, question))
    assert text == answer.text and len(llm.prompts) == 5
    shown = answer.context.text.replace("<자료", "‹자료")
    stripped = llm.prompts[0].replace(shown, shown.strip())  # a synthesizer strips what it is given
    assert shown in llm.prompts[0] and llm.prompts[1:] == [stripped] * 4
    for found in (nodes, *(r.source_nodes for r in responses)):
        assert [(n.node_id, n.text, n.score) for n in found] == [(p.id, p.text, p.score) for p in answer.context.passages]
        assert [n.node.metadata["source_number"] for n in found] == [s.number for s in answer.context.sources]
        assert all(n.node.metadata.items() >= p.metadata.items() for n, p in zip(found, answer.context.passages))
    if isinstance(pipeline.reranker, Backwards):
        assert pipeline.reranker.calls == 5, "once a question"


@pytest.mark.parametrize("name", ["default", "table", "excerpts", "everything"])
def test_a_chat_engine_sends_the_same_context(hr_units, name):
    pipeline, llm = make(hr_units, name)
    contexts = {q: pipeline.ask(q).context for q in (QUESTION, COMPARES)}
    chat = pipeline.chat_engine(system_prompt="짧게 답한다.")
    assert isinstance(chat, ContextChatEngine)
    llm.prompts.clear()
    first = chat.chat(QUESTION)
    "".join(chat.stream_chat(COMPARES).response_gen)
    asyncio.run(chat.achat(QUESTION))
    for prompt, question in zip(llm.prompts, (QUESTION, COMPARES, QUESTION), strict=True):
        assert contexts[question].text.strip() in prompt.replace("‹", "<") and "짧게 답한다." in prompt
    assert first.response in llm.prompts[1], "the conversation goes along"
    assert [n.node_id for n in first.source_nodes] == [p.id for p in contexts[QUESTION].passages]


@pytest.mark.parametrize("name", ["default", "reranker", "excerpts", "an order of one's own"])
def test_a_retriever_gives_the_passages_of_the_context_best_first(hr_units, name):
    pipeline, _ = make(hr_units, name)
    answer, retriever = pipeline.ask(QUESTION), pipeline.as_retriever()
    nodes = retriever.retrieve(QUESTION)
    assert nodes == asyncio.run(retriever.aretrieve(QUESTION)) and all(isinstance(n.node, ContextNode) for n in nodes)
    assert sorted(n.node_id for n in nodes) == sorted(p.id for p in answer.context.passages)
    assert [n.node.metadata["source_number"] for n in nodes] == sorted(s.number for s in answer.context.sources)
    assert nodes[0].node.metadata["source_number"] == 1 and nodes[0].node.ref_doc_id == answer.passages[0].doc_id
    again = ContextNode.from_dict(nodes[0].node.to_dict())
    assert again == nodes[0].node and again.shown.startswith("[1] (")


def test_a_question_may_bring_its_vector(hr_units):
    """A bundle is handed on as it is, and an empty question refused as everywhere."""
    pipeline, _ = make(hr_units, "default")
    other = hr_units.embed_model.get_query_embedding("출장 여비 정산")
    plain, led = (pipeline.as_retriever().retrieve(QueryBundle(QUESTION, embedding=e)) for e in (None, other))
    assert [n.node_id for n in plain] == [n.node_id for n in pipeline.as_retriever().retrieve(QUESTION)] != [n.node_id for n in led]
    with pytest.raises(InputError, match="question must not be empty"):
        pipeline.as_retriever().retrieve(" ")


@pytest.mark.parametrize("setting", [
    {"node_postprocessors": []}, {"response_synthesizer": None}, {"text_qa_template": None}, {"retriever": None},
    {"response_mode": "refine"}, {"response_mode": "accumulate"}, {"response_mode": "simple_summarize"}, {"multimodal": True},
])
def test_what_would_leave_a_part_out_is_refused(hr_units, setting):
    pipeline, llm = make(hr_units, "default")
    with pytest.raises(InputError, match=next(iter(setting))):
        pipeline.query_engine(**setting)
    with pytest.raises(InputError, match=next(iter(setting))):
        pipeline.chat_engine(**setting)
    assert not llm.prompts


@pytest.mark.parametrize("mode", ["compact", "tree_summarize"])
def test_modes_that_send_the_context_whole(hr_units, mode):
    pipeline, llm = make(hr_units, "table")
    answer = pipeline.ask(QUESTION)
    pipeline.query_engine(response_mode=mode).query(QUESTION)
    assert answer.context.text.strip() in llm.prompts[-1] and len(llm.prompts) == 2


def test_a_builder_of_ones_own_layout_is_sent_as_it_lays_out(hr_units):
    class Bulleted(ContextBuilder):
        def header(self, number: int, passage: Passage) -> str:
            return f"* {passage.doc_id} {{{number}}}"

    llm = ScriptedLLM("답.")
    pipeline = Pipeline.from_index(hr_units, llm=llm, builder=Bulleted(budget=800))
    pipeline.ask(QUESTION)
    pipeline.query_engine().query(QUESTION)
    assert all("* leave.md {1}" in prompt for prompt in llm.prompts)
    assert "".join(llm.prompts[0].split()) == "".join(llm.prompts[1].split())


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


async def test_a_filter_that_no_document_passes_is_explained_by_the_retriever(hr_units: Index) -> None:
    """An empty list alone looks like a question without an answer: the warning lists the fields that there are."""
    nowhere = Pipeline.from_index(hr_units, where="nosuch=1")
    with pytest.warns(UserWarning, match="no document has 'nosuch'; known keys: .*title"):
        assert nowhere.as_retriever().retrieve(QUESTION) == []
    with pytest.warns(UserWarning, match="no document has 'nosuch'"):
        assert await nowhere.as_retriever().aretrieve(QUESTION) == []
    with pytest.warns(UserWarning, match="no document has 'nosuch'"):
        nowhere.query_engine(ScriptedLLM({"": "?"})).query(QUESTION)
