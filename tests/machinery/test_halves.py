"""Half an emoji in every text that comes in: whatever takes it, what comes out can be written as UTF-8 and read again."""
from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import write
from hypothesis import given, strategies as st
from llama_index.core.llms import CompletionResponse
from llama_index.core.schema import Document
from ollama_server import OllamaServer

from ragnb import Agent, Conversation, Index, index_documents, Pipeline, read_documents, trace
from ragnb.agent.chat import Chat
from ragnb.agent.flow import AnswerPart
from ragnb.agent.library import Library
from ragnb.agent.routes import read_routes
from ragnb.agent.state import AgentState, Choice
from ragnb.agent.tools import ReadingTools
from ragnb.cli import main
from ragnb.documents.files import record_to_document
from ragnb.machinery.halves import HalfJoiner, read_json, replace_halves, replace_halves_in
from ragnb.evaluation.datasets import load_jsonl
from ragnb.evaluation.strategy import load_strategies
from ragnb.indexing.collections import load_collections
from ragnb.models.scripted import ScriptedLLM

HALF, ALARM = "\ud83d", "\ud83d\udea8".encode("utf-16-le", "surrogatepass").decode("utf-16-le")
ASKED = f"연차는 며칠인가요 {HALF}?"
PIECES = ["경보 \ud83d", "\udea8 연차는 ", "15일 \ude00", "입니다 [1]. \ud83d"]
TEXTS = st.text(st.characters(exclude_categories=()) | st.sampled_from("\ud83d\udea8가 🚨"), max_size=20)


class Torn(ScriptedLLM):
    """A model that streams one emoji in two pieces, and other halves alone."""

    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Iterator[CompletionResponse]:
        return iter([CompletionResponse(text=piece, delta=piece) for piece in PIECES])

    async def astream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> AsyncIterator[CompletionResponse]:
        async def parts() -> AsyncIterator[CompletionResponse]:
            for piece in PIECES:
                yield CompletionResponse(text=piece, delta=piece)
        return parts()


def model() -> Torn:
    """A model whose every reply has halves, raw and as escapes of JSON."""
    return Torn({"어느 것에 속하는지": '{"route": "general\ud83d"}', "바꿔 쓰세요": '["유급 휴가 \\ud83d", "연차 \ud83d"]',
                 "비추어 판정": '{"grounded": true, "answered": true, "why": "\\ud83d \ud83d"}', "고쳐 쓰세요": "연차 며칠 \ud83d", "": "".join(PIECES)})


def document(n: int = 1) -> Document:
    text = f"# 휴가 {HALF}\n\n연차는 15일이다 {HALF}. 경보 🚨 E-{n} 이 뜨면 멈춘다.\n"
    return Document(text=text, id_=f"leave{n}{HALF}.md", metadata={"title": f"휴가 {HALF}", f"key{HALF}": "a", "tags": [HALF, "b"]})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of documents with halves, made in Python."""
    place = tmp_path_factory.mktemp("halves") / "index"
    given = [document(n) for n in range(1, 4)]
    index, _ = index_documents(given, place, show_progress=False)
    assert given[0].text == document(1).text, "the document of the caller is not changed"
    assert sorted(index.store.doc_ids()) == ["leave1\ufffd.md", "leave2\ufffd.md", "leave3\ufffd.md"]
    return place


def written(value: Any) -> str:
    """A value as a program would store or print it."""
    if hasattr(value, "model_dump_json"):
        return value.model_dump_json()
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    text.encode()
    return text


def offenders(calls: dict[str, Callable[[], Any]]) -> dict[str, str]:
    """Calls that raise, or whose result cannot be written."""
    wrong = {}
    for name, call in calls.items():
        try:
            written(call())
        except Exception as error:
            wrong[name] = f"{type(error).__name__}: {ascii(str(error))[:200]}"
    return wrong


def test_every_way_to_ask_a_pipeline(folder: Path) -> None:
    pipeline = Pipeline.from_index(Index.open(folder), llm=model())
    plain = Pipeline.from_index(Index.open(folder), retriever="bm25")

    async def streamed() -> str:
        return "".join([piece async for piece in await pipeline.astream(ASKED)])

    def conversation() -> str:
        history, answer = Conversation(), pipeline.ask(ASKED)
        history.add(ASKED, answer.text + HALF, answer.passages)
        return Conversation.from_jsonl(history.to_jsonl()).to_jsonl()
    assert offenders({
        "ask": lambda: [a := pipeline.ask(ASKED), a.question, a.text, a.sources(), a.context.text][1:],
        "aask": lambda: [a := asyncio.run(pipeline.aask(ASKED)), a.question, a.text][1:],
        "find": lambda: [h.node.text for h in pipeline.find(ASKED).hits], "rank": lambda: [p.text for p in pipeline.rank(ASKED).at(500)],
        "passages": lambda: [p.text for p in plain.passages(ASKED)],
        "answer": lambda: [a := pipeline.answer(ASKED, plain.find(ASKED).hits), a.question, a.text][1:],
        "stream": lambda: [s := pipeline.stream(ASKED), "".join(s), s.answer.text, s.answer.question][1:], "astream": lambda: asyncio.run(streamed()),
        "trace": lambda: trace(pipeline.ask(ASKED)).page(), "conversation": conversation}) == {}
    said = f"경보 {ALARM} 연차는 15일 \ufffd입니다 [1]. \ufffd"
    assert "".join(pipeline.stream(ASKED)) == asyncio.run(streamed()) == said == pipeline.ask(ASKED).text, "two halves in a row are one emoji"


def test_every_way_to_ask_the_agent(folder: Path, tmp_path: Path) -> None:
    library = Library.open(folder)
    agent, tools, shown = Agent(library, model()), ReadingTools(library, budget=100_000, most_calls=100), []
    chat = Chat(agent, lambda prompt: "", shown.append)

    def run(choice: Choice | None = None) -> Any:
        state = AgentState.ask(ASKED)
        parts = []

        async def all_events() -> None:
            parts.extend([e.text async for e in agent.stream(state, choice) if isinstance(e, AnswerPart)])
        asyncio.run(all_events())
        state.save(tmp_path / "state.json")
        assert AgentState.load(tmp_path / "state.json").model_dump() == state.model_dump()
        return [state.model_dump(), "".join(parts), state.answer]

    def state_file() -> Any:
        path = tmp_path / "old.json"
        path.write_text(AgentState.ask("연차").to_json().replace("연차", "연차 \\ud83d"), encoding="utf-8")
        return AgentState.load(path)
    assert offenders({
        "run": run, "choice": lambda: Choice(documents=(HALF,), devices=(HALF,), text=HALF), "state file": state_file,
        "chat": lambda: [chat.ask(ASKED), *shown, chat.history.to_jsonl()][1:], "search": lambda: tools.search(ASKED),
        "library": lambda: [h.node.text for h in asyncio.run(library.search([ASKED, HALF])).hits],
        "get_neighbor_chunks": lambda: [tools.get_neighbor_chunks(f"leave1{HALF}.md", 1), tools.get_neighbor_chunks(HALF, 1, HALF)],
        "open_section": lambda: [tools.open_section(f"leave2{HALF}.md", 1), tools.open_section(HALF, 1)], "get_page": lambda: tools.get_page(HALF, 1),
    }) == {}
    assert run()[1].strip().endswith(f"경보 {ALARM} 연차는 15일 \ufffd입니다 [1]. \ufffd"), "what was streamed goes on after a half"
    assert "15일" in ReadingTools(library).open_section(f"leave3{HALF}.md", 1), "the id with a half finds its document"


def test_every_file_with_an_escaped_half(tmp_path: Path) -> None:
    def file(name: str, text: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def documents() -> Any:
        folder = file("docs/a.jsonl", '{"id": "a\\ud83d", "text": "연차 \\ud83d", "title": "\\ud83d", "tags": ["\\ude00"], "\\ud83d": 1}\n').parent
        file("docs/b.md", '---\ntitle: "휴가 \\ud83d"\n---\n연차는 15일이다.\n')
        problems: list[Any] = []
        found = [(d.text, d.id_, d.metadata) for d in read_documents(folder, problems)]
        assert len(found) == 2 and not problems, problems
        return found

    def record() -> Any:
        made = record_to_document({"pages": [f"쪽 {HALF}", "둘"], "id": HALF}, "x", f"f{HALF}.jsonl")
        assert made.text[made.metadata["page_starts"][1]:] == "둘", "offsets stay"
        return [made.text, made.id_, made.metadata]
    jsonl = Conversation([]).to_jsonl() + '{"question": "\\ud83d", "answer": "\\ud83d", "passages": [], "pages": {}, "shown": []}\n'
    data = (file("c.jsonl", '{"doc_id": "d", "text": "연차 \\ud83d 15일"}'),
            file("q.jsonl", '{"query_id": "1", "query": "\\ud83d?", "evidence": [{"doc_id": "d", "text": "15일"}]}'))
    assert offenders({
        "documents": documents, "record": record,
        "conversation": lambda: Conversation.load(file("talk.jsonl", jsonl)).to_jsonl(),
        "routes": lambda: [r.model_dump() for r in read_routes(file("r.json", '[{"name": "a\\ud83d", "reply": "\\ud83d"}]'))],
        "collections": lambda: load_collections(file("k.json", '{"law": ["법\\ud83d"]}')),
        "strategies": lambda: [str(s) for s in load_strategies(file("s.yaml", '"a\\ud83d": bm25\n'))],
        "dataset": lambda: [d := load_jsonl(*data), d.documents["d"].text, d.questions[0].query, *map(str, d.questions[0].evidence)][1:],
    }) == {}


def test_the_command_line_keeps_the_turn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file, a question and a model of a server, each with half an emoji."""
    write(tmp_path / "docs", {"a.jsonl": '{"id": "a\\ud83d", "text": "연차는 15일이다 \\ud83d."}\n'})
    where, history = ["--index", str(tmp_path / "i")], tmp_path / "talk.jsonl"
    assert main(["index", str(tmp_path / "docs"), *where, "--quiet"]) == 0
    assert capsys.readouterr().err == ""
    with OllamaServer(models=("chat",)) as server:
        server.said = lambda messages: "15일입니다 \ud83d [1]."
        for more in ([], ["--json"]):
            assert main(["ask", ASKED, *where, "--llm", "ollama:chat", "--base-url", server.url, "--history", str(history), *more]) == 0
            out = capsys.readouterr().out
            assert "15일입니다 \ufffd [1]." in out and HALF not in out and "\\ud83d" not in out
    assert history.read_text(encoding="utf-8").count("며칠인가요 \ufffd?") == 2


@given(TEXTS, TEXTS)
def test_halves_are_joined_or_replaced(text: str, more: str) -> None:
    whole = replace_halves(text)
    assert written(whole) == whole == replace_halves(whole)
    assert whole == "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text) or len(whole) < len(text)
    assert replace_halves_in({text: [more, (text, 1)]}) == {whole: [replace_halves(more), (whole, 1)]}
    assert read_json(json.dumps([text, {more: text}])) == replace_halves_in(json.loads(json.dumps([text, {more: text}])))


@given(st.lists(TEXTS, max_size=5))
def test_pieces_are_joined_as_the_whole_is(pieces: list[str]) -> None:
    joiner = HalfJoiner()
    assert "".join([*map(joiner.feed, pieces), joiner.feed("", last=True)]) == replace_halves("".join(pieces))
