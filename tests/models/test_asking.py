"""Every step of a model sends its JSON schema where the server takes one, and goes on without it where not."""
from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import pytest
from hypothesis import given, strategies as st
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import NodeWithScore, TextNode
from ollama_server import OllamaServer, Refused
from openai_server import OpenAIServer
from strategies import examples

from ragnb.agent.routes import DEFAULT_ROUTES
from ragnb.agent.state import AgentState
from ragnb.agent.steps import choose_route, judge_state, rewrite_question
from ragnb.context.builders import SimpleContextBuilder
from ragnb.context.question_kinds import ask_question_type
from ragnb.documents.span import Address, Outline, Passage, Span
from ragnb.expansion.policies import llm_window
from ragnb.expansion.policy import Seen, Situation
from ragnb.models.asking import ModelStep, read_as, StepReply
from ragnb.models.limits import model_calls, step_costs
from ragnb.models.llm import resolve_llm
from ragnb.models.scripted import ScriptedLLM
from ragnb.retrieval.planning import MultiQueryRetriever
from ragnb.retrieval.rerank import LLMReranker


class Route(StepReply):
    route: Literal["setup", "general"]


def a_state(question: str = "보일러는?") -> AgentState:
    state = AgentState.ask(question)
    state.query, state.earlier, state.answer = question, ["난방은?"], "15도 [1]"
    return state


def judged(llm: Any) -> Any:
    state, text = a_state(), "보일러는 15도로 둔다."
    asyncio.run(judge_state(state, llm, SimpleContextBuilder().build([Passage("d", Span(0, len(text)), text)])))
    return state.judge


def rewritten(llm: Any) -> str:
    state = a_state()
    asyncio.run(rewrite_question(state, llm))
    return state.query


def routed(llm: Any) -> str:
    return asyncio.run(choose_route(a_state(), DEFAULT_ROUTES, llm)).name


def graded(llm: Any) -> list[str | None]:
    nodes = [NodeWithScore(node=TextNode(id_=f"d#c{i}", text=f"{i}번째 조항"), score=1.0) for i in range(2)]
    return [node.grade for node in LLMReranker(llm=llm).rerank(nodes, "보일러는?").nodes]


def worded(llm: Any) -> tuple[str, ...]:
    class Nothing(BaseRetriever):
        def _retrieve(self, query_bundle: Any) -> list[NodeWithScore]:
            return []
    return MultiQueryRetriever(Nothing(), llm).plan("보일러는?").texts


def windowed(llm: Any) -> int:
    """How many chunks are read around the middle of twenty."""
    texts = [Span(10 * i, 10 * i + 10) for i in range(20)]
    outline, hit = Outline("d", 200, {"c": texts}), Address("d", "c", 10)
    situation = Situation((Seen(hit, 1, 1.0, "보일러", texts[10]),), {"d": outline}, "보일러는?")
    found = llm_window(llm).prepare(situation)(outline, hit)
    return len(found) // 10


STEPS: dict[str, tuple[Callable[[Any], Any], dict[str, Any], Any]] = {
    "rewrite": (rewritten, {"question": "난방 보일러의 온도는?"}, "난방 보일러의 온도는?"),
    "route": (routed, {"route": "setup"}, "setup"),
    "judge": (judged, {"grounded": True, "answered": False}, {"grounded": True, "answered": False}),
    "rerank": (graded, {"grades": [{"number": 1, "grade": "LOW"}, {"number": 2, "grade": "HIGH"}]}, ["HIGH", "LOW"]),
    "plan": (worded, {"queries": ["보일러 온도", "난방 설정"]}, ("보일러 온도", "난방 설정")),
    "window": (windowed, {"window": 2}, 5),
    "kind": (partial(ask_question_type, "보일러는?"), {"kind": "analysis"}, "analysis")}


def schema_in(body: dict[str, Any]) -> dict[str, Any] | None:
    """The schema of a request, of either protocol."""
    return body.get("format") or body.get("response_format", {}).get("json_schema", {}).get("schema")


class World:
    """A server of one kind, a model on it, and the requests that it got."""

    def __init__(self, server: Any, refuses: int = 0) -> None:
        self.server, self.is_ollama = server, isinstance(server, OllamaServer)
        self.refuses = refuses     # Status with which a schema is refused; 0: it is taken
        self.llm = resolve_llm("ollama:chat" if self.is_ollama else "openai-like:chat", server.url, timeout=20)
        self.asked: list[dict[str, Any]] = []
        self.reply = "{}"
        if self.is_ollama:
            whole = server.chat
            server.said = lambda messages: self.reply
            server.routes["/api/chat"] = lambda body: self.heard(body) or whole(body)
        else:
            whole_answer = server.answer

            def answer(path: str, body: dict) -> Any:
                server.said = self.reply
                return (self.heard(body) if "messages" in body else None) or whole_answer(path, body)
            server.answer = answer

    def heard(self, body: dict[str, Any]) -> Any:
        """Record a request; refuse a schema, where the server does so."""
        self.asked.append(body)
        if not self.refuses or schema_in(body) is None:
            return None
        if self.is_ollama:
            raise Refused(self.refuses, "json: cannot unmarshal object into Go struct field ChatRequest.format of type string")
        return self.refuses, {"error": {"message": "'response_format.type' must be 'text'", "code": self.refuses}}


SERVERS = {"ollama": lambda: OllamaServer(models=("chat",)), "openai-like": OpenAIServer}


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("step", STEPS)
def test_every_step_sends_its_schema_once_and_reads_the_reply(step: str, server: str) -> None:
    run, reply, expected = STEPS[step]
    with SERVERS[server]() as made:
        world = World(made)
        world.reply = json.dumps(reply, ensure_ascii=False)
        with model_calls() as calls:
            assert run(world.llm) == expected
    schema = schema_in(world.asked[0])
    assert len(world.asked) == 1 and schema["required"] == list(reply) and schema["additionalProperties"] is False
    assert [cost.step for cost in step_costs(calls)] == [step] and calls[0].tokens_in and calls[0].tokens_out


@pytest.mark.parametrize(("server", "status"), [("ollama", 400), ("ollama", 500), ("ollama", 501), ("openai-like", 400), ("openai-like", 422)])
def test_a_refused_schema_is_left_out_from_then_on(server: str, status: int) -> None:
    with SERVERS[server]() as made:
        world = World(made, status)
        for step in ("route", "kind", "plan"):
            run, reply, expected = STEPS[step]
            world.reply = json.dumps(reply, ensure_ascii=False)
            assert run(world.llm) == expected
    assert [schema_in(body) is not None for body in world.asked] == [True, False, False, False]


@pytest.mark.parametrize("server", SERVERS)
def test_an_error_that_is_not_of_the_schema_does_not_forget_it(server: str) -> None:
    """The request without schema fails too, so the schema was not the reason: the next step sends it again."""
    with SERVERS[server]() as made:
        world = World(made)
        heard, fails = world.heard, [True, True]

        def broken(body: dict[str, Any]) -> Any:
            heard(body)
            if fails and fails.pop():
                if world.is_ollama:
                    raise Refused(400, "out of memory")
                return 400, {"error": {"message": "out of memory"}}
            return None
        world.heard = broken
        world.reply = '{"kind": "analysis"}'
        kinds = [ask_question_type("몇 도인가?", world.llm) for _ in range(2)]
    assert kinds == ["fact", "analysis"]
    assert [schema_in(body) is not None for body in world.asked] == [True, False, True]


@pytest.mark.parametrize("step", STEPS)
def test_a_reply_that_is_nothing_leaves_the_step_to_its_rule(step: str) -> None:
    run, _, expected = STEPS[step]
    for useless in ("", "모르겠습니다.", '{"other": 1}', "[[[", ValueError("broken"), TimeoutError("late")):
        assert run(ScriptedLLM(useless)) != expected


values = st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=6),
                      lambda v: st.lists(v, max_size=3) | st.dictionaries(st.sampled_from(["route", "a"]), v, max_size=2), max_leaves=6)


@examples(150)
@given(st.one_of(st.text(max_size=40), values, values.map(json.dumps)))
def test_whatever_comes_is_a_value_of_the_schema_or_none(reply: Any) -> None:
    asking = ModelStep(ScriptedLLM(reply if isinstance(reply, str) else json.dumps(reply)), "route", Route)
    value = asking.ask("?", partial(read_as, Route))
    assert (value is None) == bool(asking.events) == bool(asking.failures) and asking.calls == 1
    assert value is None or value.route in ("setup", "general")
