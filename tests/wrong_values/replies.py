"""Replies of models that were misread, and clients that say nothing."""
from __future__ import annotations

import socket
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from before_after import item
from llama_index.core.schema import NodeWithScore, TextNode

from ragnb import Pipeline, update_index
from ragnb.context.compress import Compressor
from ragnb.documents.span import Passage, Span
from ragnb.expansion.policies import llm_window
from ragnb.models.scripted import ScriptedLLM
from ragnb.retrieval.planning import read_queries
from ragnb.retrieval.rerank import LLMReranker

QUESTION = "연차는 며칠인가요?"
RULES = "\n\n".join(f"제{n}조 직원의 휴가와 출장은 인사팀이 정한다. 연차는 {n + 10}일이다." for n in range(1, 30))


def pipeline(folder: Path, **parts: Any) -> Pipeline:
    "A pipeline over one document of thirty short articles, split into chunks."
    source = folder / "docs"
    source.mkdir()
    (source / "규정.txt").write_text(RULES, encoding="utf-8")
    index, _ = update_index(source, folder / "index", parser="recursive:80/0", show_progress=False)
    return Pipeline.from_index(index, retriever="bm25", top_k=5, **parts)


@item(right=[["가 연차?", "나 휴가?"], [], ["연차 휴가 일수"]])
def cut_json(folder: Path) -> Any:
    "Queries read from JSON that was cut off in a fence, from its first brackets, and from pieces around a line"
    cut = '```json {"type": "response", "data": {"text": ["가 연차?", "나 휴가?", "다'
    pieces = '```json\n{"type": "response",\n"data": {\n연차 휴가 일수\n'
    return [read_queries(cut, QUESTION), read_queries('```json {"type": "response", "data": {"text": [', QUESTION), read_queries(pieces, QUESTION)]


@item(right=[4, 4, 4, 4])
def windows(folder: Path) -> Any:
    "Neighbors of the first hit of five after the replies 2, [2], window: 2 and numbered lines"
    counts = []
    for n, reply in enumerate(("2", "[2]", "window: 2", "\n".join(f"[{i}]: 2" for i in range(1, 6)))):
        place = folder / str(n)
        place.mkdir()
        asked = pipeline(place, policy=llm_window(ScriptedLLM(reply)))
        chunks = asked.expander.store.get_chunks([f"규정.txt#c{i}" for i in (7, 0, 1, 13, 14)]).all()
        passages = asked.expander.expand([NodeWithScore(node=node, score=1.0) for node in chunks.values()], QUESTION).passages
        counts.append(len(next(p for p in passages if "규정.txt#c7" in p.hits).neighbors))
    return counts


@item(right=True)
def told(folder: Path) -> Any:
    "ask tells that the model chose no window"
    return "window" in pipeline(folder, policy=llm_window(ScriptedLLM("모르겠습니다"))).ask(QUESTION).note


@item(right=True)
def filled(folder: Path) -> Any:
    "compress llm:400 delivers at least 300 characters when the model made up all but one sentence"
    whole = Passage("d", Span(0, len(RULES)), RULES, 1.0, 1, ("d#c0",), (1.0,), Span(0, 30))
    model = ScriptedLLM("연차는 11일이다.\n연차는 99일이다.\n휴가는 없다.")
    return sum(len(p.text) for p in Compressor(400, model)([whole], QUESTION).passages) >= 300


@item(right=2)
def asked_again(folder: Path) -> Any:
    "Calls of a reranker of five passages, one a call, whose replies cannot be read"
    reranker = LLMReranker(llm=ScriptedLLM("모르겠습니다"), pool_size=1)
    reranker.rerank([NodeWithScore(node=TextNode(id_=f"d#c{i}", text=f"본문 {i}"), score=1 - i / 10) for i in range(5)], QUESTION)
    return reranker.llm_calls


@item(right=200)
def locked_out(folder: Path) -> Any:
    "Status for another address while one has 260 silent connections"
    from ragnb.agent.library import Library
    from ragnb.serve.app import create_app, serve_app
    there, address = threading.Event(), []
    app = create_app(Library({"": pipeline(folder)}))
    run = threading.Thread(target=serve_app, args=(app, "127.0.0.1", 0, lambda url: (address.append(url), there.set())), daemon=True)
    run.start()
    assert there.wait(30)
    place = "127.0.0.1", int(address[0].rstrip("/").rpartition(":")[2])
    with ExitStack() as flood:
        for _ in range(260):
            flood.enter_context(socket.create_connection(place, 10))
        other = flood.enter_context(socket.create_connection(place, 10, ("127.0.0.2", 0)))
        other.sendall(b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n")
        return int(other.recv(100).split()[1])
