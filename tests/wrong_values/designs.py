"""Values that a reader of the design documents got wrong: tools, statistics, references, choices, and errors that hang."""
from __future__ import annotations

import asyncio
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from before_after import item
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.llms import CompletionResponse
from llama_index.core.schema import Document

from ragnb import Agent, index_documents, MemoryStore, NeighborChunkExpander, ParentChildNodeParser
from ragnb.agent.library import Library
from ragnb.agent.state import AgentState, Choice
from ragnb.agent.tools import ReadingTools
from ragnb.models.scripted import ScriptedLLM

RULES = "# 휴게실\n\n" + "\n\n".join(f"{n}번 냉장고는 매달 {n}일에 비운다. 담당자는 {n}층 총무가 맡는다." for n in range(1, 31))
ROUTE, PLAN, JUDGE = "어느 것에 속하는지", "바꿔 쓰세요", "비추어 판정"
YES = '{"grounded": true, "answered": true}'


def tools(folder: Path) -> ReadingTools:
    "Reading tools over one document of small chunks."
    parser = ParentChildNodeParser(parent_size=200, child_size=40, parent_overlap=0, child_overlap=0)
    index_documents([Document(text=RULES, id_="room.md")], folder / "index", parser=parser, show_progress=False)
    return ReadingTools(Library.open(folder / "index"))


def read(folder: Path, call: Callable[[ReadingTools], str]) -> list[int]:
    "The indices, from 0, of the chunks that a call reads."
    record = tools(folder)
    call(record)
    return sorted(int(address.rpartition("#c")[2]) for address in record.read)


@item(right=[7, 9])
def neighbors_of_a_hit(folder: Path) -> list[int]:
    "The neighbors of a hit by its chunk_index"
    return read(folder, lambda t: t.get_neighbor_chunks("room.md", direction="both", count=1, chunk_index=8))


@item(right=[7, 9])
def neighbors_of_an_id(folder: Path) -> list[int]:
    "The neighbors of a hit by its id"
    return read(folder, lambda t: t.get_neighbor_chunks("room.md", "room.md#c8", "both", 1))


@item(right=[0, 0])
def no_neighbors(folder: Path) -> list[int]:
    "Zero neighbors, and zero results of a search"
    return [len(read(folder / "a", lambda t: t.get_neighbor_chunks("room.md", 9, "both", 0))),
            len(read(folder / "b", lambda t: t.search("냉장고", 0)))]


class Rows:
    "A client of a search server that has 20 chunks of one document."

    def search(self, index: str, body: dict) -> dict:
        return {"hits": {"hits": [row(n) for n in range(20)]}}


def row(n: int) -> dict[str, Any]:
    return {"_id": f"r{n}", "_source": {"document_id": "room.md", "chunk_index": n, "text": f"{n}번 냉장고는 {n}일에 비운다."}}


def counts(names: tuple[str, ...], hits: int = 8, top: int = 5) -> list[list[int]]:
    "Statistics of the same expansion over a store and over a client."
    store = MemoryStore()
    parser = ParentChildNodeParser(parent_size=40, child_size=16, parent_overlap=0, child_overlap=0)
    store.add_documents([Document(text=" ".join(row(n)["_source"]["text"] for n in range(20)), id_="room.md")], parser, MockEmbedding(embed_dim=2))
    found = [{"_id": f"x{n}", "_source": {"document_id": "room.md", "chunk_index": 2 * n}, "_score": 1.0} for n in range(hits)]
    out = []
    for arguments in ((store,), (Rows(), "rag")):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            stats = NeighborChunkExpander(*arguments, window=1, expand_top_k=top).expand(found).stats
        out.append([getattr(stats, name) for name in names])
    return out


@item(right=[[5, 3], [5, 3]])
def passed_through(folder: Path) -> list[list[int]]:
    "Eight hits, five expanded: expanded and passed_through, of a store and of a client"
    return counts(("expanded", "passed_through"))


@item(right=[[1, 2], [1, 2]])
def passages_counted(folder: Path) -> list[list[int]]:
    "Two hits side by side: passages and known, of a store and of a client"
    return counts(("passages", "known"), hits=2)


def agent(folder: Path, documents: list[Document], answer: Any, **settings: Any) -> Agent:
    "An agent whose model answers by script."
    index_documents(documents, folder / "index", show_progress=False)
    script = {ROUTE: '{"route": "general"}', PLAN: "[]", JUDGE: YES, "": answer}
    llm = script if isinstance(answer, ScriptedLLM) else ScriptedLLM(script)
    own = {name: settings.pop(name) for name in ("policy", "top_k") if name in settings}
    return Agent(Library.open(folder / "index", **own), llm, {"grade": None}, **settings)


GCB = "# 누수 기록\n\n" + "\n\n".join(f"{n}일째: 펌프 P-{n}의 누수를 막았다. " + "담당자는 압력을 재고 값을 적었다. " * 12 for n in range(1, 13))


@item(right=[1, 4, 4])
def one_reference(folder: Path) -> list[int]:
    "References to a gcb with four snippets in the context: how many, their spans, and the snippets"
    asked = agent(folder, [Document(text=GCB, id_="gcb.md", metadata={"doc_type": "gcb"})], "막았습니다 [1].", policy="neighbors:1", top_k=6)
    state = asked.ask("P-2, P-6, P-11 펌프의 누수는 며칠째였나요?")
    snippets = {(s.passage.span.start, s.passage.span.end) for s in asked.read(state).context.sources}
    spans = [tuple(span) for ref in state.refs for span in ref.get("spans", ())]
    return [len(state.refs), len(snippets.intersection(spans)), len(snippets)]


@item(right=True)
def cited_reference(folder: Path) -> bool:
    "A reference for the seventh source, which the answer cites"
    documents = [Document(text=f"# {n}층\n\n{n}층 냉장고는 {n}일에 비운다.\n", id_=f"f{n}.md") for n in range(1, 10)]
    state = agent(folder, documents, "그날 비웁니다 [7].").ask("층마다 냉장고는 며칠에 비우나요?")
    return {c["doc_id"] for c in state.citations} <= {ref["doc_id"] for ref in state.refs} and bool(state.citations)


DEVICES = {"a.md": ("AX-1", "AX-1 경보는 덮개가 열린 것이다."), "b.md": ("BX-2", "BX-2 경보는 문이 열린 것이다."),
           "p.md": ("PX-200", "PX-200 경보는 기름이 준 것이다.")}


def waiting(folder: Path) -> tuple[Agent, AgentState]:
    "A question to a person, with two documents to choose from."
    documents = [Document(text=f"# 안내\n\n{text}\n", id_=i, metadata={"equipment": e}) for i, (e, text) in DEVICES.items()]
    asked = agent(folder, documents, "기름을 채웁니다 [1].", ask_user=True)
    return asked, asked.ask("AX-1과 BX-2의 경보는 왜 울리나요?")


@item(right=["waiting", "answered", ["p.md"]])
def other_device(folder: Path) -> list[Any]:
    "A chosen device that no offered document is of"
    asked, state = waiting(folder)
    before = state.status
    done = asked.resume(state, Choice(devices=["PX-200"]))
    return [before, done.status, sorted({h.doc_id for h in done.hits})]


@item(right=["unknown_choice: lost.md", "chosen: a.md"])
def unknown_document(folder: Path) -> list[str]:
    "An unknown document in a choice beside a known one"
    asked, state = waiting(folder)
    done = asked.resume(state, Choice(documents=["a.md", "lost.md"]))
    return [f"{e.kind}: {e.detail}" for e in done.events if e.step == "choose"]


class InPlace(ScriptedLLM):
    "A model that answers in the thread of the caller, as LlamaIndex's own custom models do."

    async def acomplete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        return CompletionResponse(text=self._answer(prompt))


def status_after(folder: Path, kind: type[ScriptedLLM], error: BaseException) -> str:
    "The status of an agent whose model raises an error in a step; hangs are cut off."
    index_documents([Document(text="# 냉장고\n\n냉장고는 매달 비운다.\n", id_="room.md")], folder / "index", show_progress=False)
    script = {ROUTE: error, PLAN: "[]", JUDGE: YES, "": "매달 비웁니다 [1]."}
    asked = Agent(folder / "index", kind(script), {"grade": None}, timeout=2)
    state = AgentState.ask("냉장고는 언제 비우나요?")

    async def run() -> str:
        try:
            return (await asyncio.wait_for(asked.aresume(state), 5)).status
        except asyncio.TimeoutError:
            return "hangs"
    return asyncio.run(run())


@item(right="answered")
def stop_iteration(folder: Path) -> str:
    "A model that raises StopIteration in a thread"
    return status_after(folder, ScriptedLLM, StopIteration())


@item(right="answered")
def generator_exit(folder: Path) -> str:
    "A model that raises GeneratorExit"
    return status_after(folder, InPlace, GeneratorExit())


@item(right="answered")
def cancelled(folder: Path) -> str:
    "A model whose call was cancelled by its own client"
    return status_after(folder, InPlace, asyncio.CancelledError())


@item(right=True)
def design_name(folder: Path) -> bool:
    "Importing expand_related_docs_node says what to use"
    try:
        exec("from ragnb import expand_related_docs_node", {})
    except ImportError as error:
        return "Expander(store, policy).expand(hits)" in str(error)
    return False
