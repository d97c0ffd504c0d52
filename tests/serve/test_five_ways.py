"""Sources that a reader can check, and what is wrong with an answer: in Python, ask, its JSON, chat and the web service alike."""
from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from openai_server import OpenAIServer
from serve_world import app_of, client_of, library_of, read_events

from ragnb import Index, Pipeline, resolve_llm
from ragnb.agent.chat import Chat
from ragnb.agent.flow import Agent
from ragnb.agent.steps import ANSWER_PROMPT
from ragnb.cli import main
from ragnb.indexing.update import update_index
from ragnb.machinery.messages import for_question
from ragnb.models.llm import QA_PROMPT
from ragnb.pipeline.answer import listed_sources

QUESTION, FAR = "연차는 며칠인가요?", "티라노사우루스는 언제 멸종했나요?"
TEXT = "# 휴가 규정\n\n## 휴가의 종류\n\n연차는 15일이다. 병가는 60일이다.\n\n## 신청\n\n연차는 사흘 전에 신청한다.\n"


def longest_line(prompt: str) -> str:
    """A line of a prompt as a weak model repeats it."""
    return max((line for line in for_question(prompt, QUESTION).splitlines() if "{" not in line), key=len)


STEPS = {"route": None, "plan": None, "grade": None, "judge": None}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("ways")
    (place / "corpus").mkdir()
    (place / "corpus" / "leave.md").write_text(TEXT, encoding="utf-8")
    for n in range(6):
        (place / "corpus" / f"other{n}.md").write_text(f"# 지침 {n}\n\n출입증 {n}은 매년 바꾼다. 보안실은 {n}층이다.\n", encoding="utf-8")
    update_index(place / "corpus", place / "index", show_progress=False)
    return place


@pytest.fixture(scope="module")
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer() as running:
        yield running


@cache
def opened(place: str) -> Index:
    """The index, opened once."""
    return Index.open(place)


class Told:
    """What one way tells a reader of an answer."""

    def __init__(self, world: Path, server: OpenAIServer, capsys: Any) -> None:
        self.index, self.world, self.server, self.capsys, self.question = str(world / "index"), world, server, capsys, ""
        self.llm = resolve_llm("openai-like:chat", server.url, answer_tokens=300)

    def run(self, *more: str) -> str:
        self.capsys.readouterr()
        assert main(["ask", self.question, "--index", self.index, "--llm", "openai-like:chat", "--base-url", self.server.url,
                     "--llm-option", "answer_tokens=300", "--budget", "500", *more]) == 0
        return "\n".join(self.capsys.readouterr())

    def python(self) -> str:
        answer = Pipeline.from_index(opened(self.index), llm=self.llm, budget=500).ask(self.question)
        return "\n".join([answer.text, answer.note, *listed_sources(answer)])

    def ask(self) -> str:
        return self.run()

    def json(self) -> str:
        facts = json.loads(self.run("--json").strip().split("\n\n")[0])
        return "\n".join([facts["answer"], facts["note"], *(shown(source) for source in facts["sources"])])

    @property
    def agent(self) -> Agent:
        return Agent(library_of(self.world), self.llm, models=STEPS)

    def chat(self) -> str:
        texts: list[str] = []
        Chat(self.agent, lambda prompt: "", texts.append).ask(self.question)
        return "".join(texts)

    def post(self, path: str, **body: Any) -> str:
        async def reply() -> str:
            app = app_of(self.world, self.llm, models=STEPS)
            async with client_of(app) as client:
                return (await client.post(path, json=body, timeout=120)).text
        return asyncio.run(reply())

    def serve(self) -> str:
        turn = read_events(self.post("/api/ask", question=self.question))[-1]["turn"]
        cut = "the answer is not complete" if turn["unfinished"] else ""
        return "\n".join([turn["answer"], turn["note"], *turn["remarks"], cut, *(shown(source) for source in turn["sources"])])

    def openai(self) -> str:
        reply = json.loads(self.post("/v1/chat/completions", model="ragnb", messages=[{"role": "user", "content": self.question}]))
        return reply["choices"][0]["message"]["content"].replace("\\", "")


def shown(source: dict[str, Any]) -> str:
    """A source of a JSON reply in the words of the other ways."""
    guess = "a guess" if source["use"] == "guessed" else ""
    return f"[{source['number']}] {source['title']} {source['section']} {guess} {source['quote'] and source['quote']['text']}"


WAYS = ["python", "ask", "json", "chat", "serve", "openai"]
CASES: dict[str, tuple[str, str, list[str], list[str]]] = {   # Question, what the model says, what is told, what is not
    "named": (QUESTION, "연차는 15일이다 [1].", ["휴가의 종류", "연차는 15일이다."], ["names no source", "a guess", "little in common"]),
    "guessed": (QUESTION, "연차는 15일이다.", ["names no source", "a guess", "휴가의 종류", "연차는 15일이다."], ["little in common"]),
    "cut": (QUESTION, "연차는 15일이다 [1]. " * 40, ["answer is not complete"], ["names no source"]),
    "echo": (QUESTION, "PROMPT 연차는 15일이다 [1].", ["repeats the prompt"], ["names no source"]),
    "absent": (FAR, "백악기 끝에 소행성이 떨어졌다 [1].", ["little in common", "do not rely on it"], ["names no source"])}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("way", WAYS)
def test_every_way_tells_the_same_of_an_answer(world: Path, server: OpenAIServer, capsys: Any, way: str, case: str) -> None:
    told = Told(world, server, capsys)
    told.question, said, there, absent = CASES[case]
    prompt = QA_PROMPT if way in ("python", "ask", "json") else ANSWER_PROMPT
    server.said = said.replace("PROMPT", longest_line(prompt))
    text = getattr(told, way)()
    assert [part for part in there if part not in text] == [] and [part for part in absent if part in text] == [], text
