"""`--step STEP=none` turns a step off, in `ask`, `chat` and `ragnb.toml`; each step says what it cost."""
from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from conftest import one_line, write
from ollama_server import OllamaServer

from ragnb import Agent, InputError, Pipeline, read_settings, update_index
from ragnb.agent.state import AgentState
from ragnb.models.scripted import ScriptedLLM
from ragnb.pipeline.settings import read_steps, STEPS, without_steps, write_settings
from ragnb.pipeline.trace_data import trace

TEXTS = {f"pump{i}.md": f"# 펌프 {i}호\n\n펌프 {i}호는 {i}주마다 기름을 간다. 기름은 {i}리터를 쓴다. 필터는 따로 산다. 밸브는 손으로 잠근다.\n" for i in range(1, 7)}
QUESTION = "펌프 3호의 기름은 몇 주마다 가나요?"
COSTLY = {"retrieve": "multi-query:hybrid", "rerank": "llm", "policy": "llm:1", "compress": "llm:120", "top_k": 4}
STEPS_OF_A_LINE = ("plan", "rerank", "window", "compress", "answer")


@pytest.fixture(scope="module")
def docs(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("steps")
    write(folder / "docs", TEXTS)
    update_index(folder / "docs", folder / "index", parser="parent-child")
    return folder / "index"


@pytest.fixture
def server():
    with OllamaServer(models=("chat",)) as server:
        server.said = lambda messages: "3주마다 간다 [1]."
        yield server


@pytest.mark.parametrize("off", [(), *((step,) for step in STEPS_OF_A_LINE), STEPS_OF_A_LINE])
def test_ask_leaves_steps_to_their_rules_and_counts_the_others(run, docs, server, off: tuple[str, ...]) -> None:
    options = [word for key, value in COSTLY.items() for word in (f"--{key.replace('_', '-')}", str(value))]
    steps = [word for step in off for word in ("--step", f"{step}=none")]
    code, out, err = run("ask", QUESTION, "--index", docs, "--llm", "ollama:chat", "--base-url", server.url, *options, *steps, "--json")
    assert code == 0, err
    facts = json.loads(out)
    left = [step for step in STEPS_OF_A_LINE if step not in off]
    assert [cost["step"] for cost in facts["costs"]] == left and facts["generated"] == ("answer" in left)
    assert len(server.asked("/api/chat")) == len(left) == sum(cost["calls"] for cost in facts["costs"])
    assert all(cost["tokens_in"] > 0 and cost["tokens_out"] > 0 and cost["seconds"] >= 0 for cost in facts["costs"])


def test_the_file_of_settings_does_too_and_a_typed_step_wins(run, docs, server, tmp_path: Path) -> None:
    place = tmp_path / "s.toml"
    write_settings(place, COSTLY | {"step": ["plan=none", "rerank=none", "window=none", "compress=none"], "llm": "ollama:chat"})
    assert read_settings(place)["retriever"] == "hybrid" and read_settings(place)["reranker"] == "none" and "step" not in read_settings(place)
    argv = ("ask", QUESTION, "--index", docs, "--settings", place, "--base-url", server.url, "--json")
    assert [cost["step"] for cost in json.loads(run(*argv)[1])["costs"]] == ["answer"]
    typed = json.loads(run(*argv, "--step", "plan=none")[1])["costs"]
    assert [cost["step"] for cost in typed] == ["rerank", "window", "compress", "answer"]
    one = tmp_path / "one.toml"
    one.write_text('step = "plan=none"\nretrieve = "hyde:bm25"\n', encoding="utf-8")
    assert read_settings(one)["retriever"] == "bm25"
    one.write_text('step = "dream=none"\n', encoding="utf-8")
    with pytest.raises(InputError, match="no step 'dream' asks a model"):
        read_settings(one)


def test_in_python_the_trace_says_what_each_step_cost(docs) -> None:
    line = Pipeline.from_index(docs, llm=ScriptedLLM("3주마다 간다 [1]."), **read_settings(docs), retriever="multi-query:hybrid", reranker="llm")
    answer = line.ask(QUESTION)
    assert [cost.step for cost in answer.costs] == ["plan", "rerank", "answer"]
    assert [fact.split(",")[0] for fact in trace(answer).facts if " tokens in" in fact] == ["plan: 1 call", "rerank: 1 call", "answer: 1 call"]
    stream = line.stream(QUESTION)
    list(stream)
    assert [cost.step for cost in stream.answer.costs] == ["plan", "rerank", "answer"]


def test_the_events_of_the_agent_say_it(docs, run, server, monkeypatch) -> None:
    llm = ScriptedLLM({"어느 것에 속하는지": '{"route": "general"}', "바꿔 쓰세요": '{"queries": ["기름 교환 주기"]}', "도움이 되는지": '{"1": "HIGH", "2": "LOW"}',
                       "비추어 판정": '{"grounded": true, "answered": true}', "": "3주마다 간다 [1]."})
    state = Agent(docs, llm, models={"grade": llm}).ask("기름은 몇 주마다 가나요?")
    costs = {event.step: event.cost for event in state.events if event.cost}
    assert list(costs) == ["route", "plan", "grade", "answer", "judge"] and all(cost.calls == 1 and cost.tokens_in for cost in costs.values())
    assert sum(cost.calls for cost in costs.values()) == state.calls
    assert AgentState.from_json(state.to_json()).events == state.events
    failing = Agent(docs, None, models={"route": ScriptedLLM("?"), "plan": ScriptedLLM(ConnectionError("no"))}).ask(QUESTION)
    assert {event.step: event.cost.calls for event in failing.events if event.cost} == {"route": 1, "plan": 1}
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{QUESTION}\n/steps\n"))
    off = [word for step in ("rewrite", "route", "plan", "judge", "rerank") for word in ("--step", f"{step}=none")]
    code, out, err = run("chat", "--index", docs, "--llm", "ollama:chat", "--base-url", server.url, *off)
    assert code == 0 and len(server.asked("/api/chat")) == 1, err
    assert [line for line in out.splitlines() if " s, " in line and "tokens in" in line][0].startswith("answer: done")


@pytest.mark.parametrize(("argv", "told"), [
    (("ask", "?", "--step", "plan"), "--step needs STEP=MODEL"), (("ask", "?", "--step", "=none"), "no step '' asks a model"),
    (("ask", "?", "--step", "plan=ollama:x"), "takes only STEP=none"), (("chat", "--step", "rerank=ollama:x"), "takes only rerank=none")])
def test_what_cannot_be_is_one_line(run, docs, argv: tuple[str, ...], told: str) -> None:
    assert told in one_line(run(*argv, "--index", docs))


def test_every_step_has_a_name_and_other_settings_stay() -> None:
    values = {"retrieve": "bm25", "rerank": "onnx:x", "policy": "neighbors:2", "compress": "300", "budget": 100}
    assert without_steps(values | {"step": [f"{step}=none" for step in STEPS]}) == values
    assert read_steps("plan=ollama:a=b") == {"plan": "ollama:a=b"}
    assert read_steps(None) == {} and set(read_steps([f"{step}=none" for step in STEPS])) == set(STEPS)
