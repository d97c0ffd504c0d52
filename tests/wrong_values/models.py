"""Models that read half of a prompt, and models that never stop."""
from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from before_after import item
from ollama_server import OllamaServer
from openai_server import OpenAIServer

from ragnb import resolve_llm

ENGLISH = "The ferry to the outer island leaves at seven, and the last one back leaves at nine in the evening. "
KOREAN = "바깥섬으로 가는 배는 일곱 시에 떠나고 돌아오는 마지막 배는 저녁 아홉 시에 떠난다. "


@contextlib.contextmanager
def serving(version: str = "0.32", **settings: Any) -> Iterator[OllamaServer]:
    "The stand-in for a server of Ollama, with one chat model."
    with OllamaServer(models=("chat",)) as server:
        server.version = version
        for name, value in settings.items():
            setattr(server, name, value)
        yield server


def outcome(server: OllamaServer, text: str, **options: Any) -> str:
    "Whether a model has answered from the whole prompt, or the error."
    llm = resolve_llm("ollama:chat", server.url, **options)
    try:
        said = str(llm.complete(text))
    except Exception as error:
        return type(error).__name__
    return "whole" if said == server.said([{"content": text}]) else "part"


@item(right=["PromptCutError", "PromptCutError"])
def cut_with_a_fixed_window(folder: Path) -> Any:
    "a prompt longer than num_ctx, on a server that cuts it to half of the window"
    with serving() as server:
        return [outcome(server, text * 8, num_ctx=256) for text in (ENGLISH, KOREAN)]


@item(right=["whole", "whole"])
def cut_with_a_chosen_window(folder: Path) -> Any:
    "a prompt with more tokens than estimated, on a server that cuts it to half of the window"
    with serving() as server:       # a token is a character there
        return [outcome(server, text * 60) for text in (ENGLISH, ENGLISH.upper())]


@item(right=True)
def estimate_is_corrected(folder: Path) -> Any:
    "the estimate of tokens grows after a prompt that did not fit"
    with serving() as server:
        llm = resolve_llm("ollama:chat", server.url)
        before = llm.count_tokens(ENGLISH)
        llm.complete(ENGLISH * 60)
        return llm.count_tokens(ENGLISH) > 2 * before


@item(right=[1024, 4096, 300])
def answers_have_a_limit(folder: Path) -> Any:
    "the most that an answer may have, of a model, of one that thinks, and as set"
    limits = []
    for thinks, options in ((False, {}), (True, {}), (False, {"answer_tokens": 300})):
        with serving(thinks=thinks) as server:
            resolve_llm("ollama:chat", server.url, **options).complete(KOREAN)
            limits.append(server.asked("/api/chat")[0]["options"].get("num_predict"))
    return limits


@item(right=[64, 0, False])
def a_step_has_a_small_limit(folder: Path) -> Any:
    "limit, temperature and thinking of a step that asks a model what kind of question it is"
    from ragnb.context.question_kinds import ask_question_type
    with serving(thinks=True) as server:
        ask_question_type("바깥섬으로 가는 배는 언제 떠나나?", resolve_llm("ollama:chat", server.url, temperature=0.7))
        body = server.asked("/api/chat")[0]
        return [body["options"].get("num_predict"), body["options"].get("temperature"), body.get("think")]


@item(right=[300, 104])
def limits_of_search(folder: Path) -> Any:
    "limits of planning and of grading two passages"
    from llama_index.core.schema import NodeWithScore, TextNode
    from ragnb.retrieval.planning import MultiQueryRetriever
    from ragnb.retrieval.rerank import LLMReranker
    nodes = [NodeWithScore(node=TextNode(id_=f"ferry.md#c{i}", text=text), score=1.0) for i, text in enumerate((ENGLISH, KOREAN))]

    with serving() as server:
        llm = resolve_llm("ollama:chat", server.url)
        from llama_index.core.retrievers import BaseRetriever

        class Fixed(BaseRetriever):
            def _retrieve(self, query: Any) -> Any:
                return nodes
        MultiQueryRetriever(Fixed(), llm).plan("배는 언제 떠나나?")
        LLMReranker(llm=llm, structured=False).rerank(nodes, "배는 언제 떠나나?")
        return [body["options"].get("num_predict") for body in server.asked("/api/chat")]


@item(right=["the answer ended by length: 200 tokens were not enough", 0])
def cut_context_is_not_stored(folder: Path) -> Any:
    "a context of a model that does not stop"
    from ragnb.models.calls import ask_all, Call, CallCache
    cache = CallCache()
    with serving(said=lambda messages: "이 조각은 배편을 다룬다. " * 400) as server:
        _, report = ask_all([Call("ferry.md#c0", KOREAN)], resolve_llm("ollama:chat", server.url), cache)
    return [report.failures.get("ferry.md#c0", "stored"), len(cache)]


@item(right=["", "<별표 2>는 배편을 정한다."])
def markup_is_no_context(folder: Path) -> Any:
    "a context that continues the prompt's marks, and one that begins with a title in brackets"
    from ragnb.models.calls import clean_answer
    return [clean_answer("</조각>\n위 조각은 배편을 다룬다."), clean_answer("<별표 2>는 배편을 정한다.")]


@item(right=[True, ["length"], True])
def an_unfinished_answer_says_so(folder: Path) -> Any:
    "an answer that ended by length: its field, its note, and the field of --json"
    from ragnb import Pipeline, update_index
    from ragnb.cli import main
    (folder / "docs").mkdir()
    (folder / "docs" / "ferry.md").write_text(f"# 배편\n\n{KOREAN}\n", encoding="utf-8")
    index, _ = update_index(folder / "docs", folder / "index", show_progress=False)
    question = "바깥섬으로 가는 배는 언제 떠나나?"
    with serving(said=lambda messages: "배는 일곱 시에 떠난다 [1]. " * 400) as server:
        answer = Pipeline.from_index(index, llm=resolve_llm("ollama:chat", server.url)).ask(question)
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()):
            main(["ask", question, "--index", str(folder / "index"), "--llm", "ollama:chat", "--base-url", server.url, "--json"])
    kinds = [note.kind for note in answer.context.notes if note.kind == "length"]
    return [getattr(answer, "unfinished", "not said"), kinds, json.loads(out.getvalue()).get("unfinished", "not said")]


@item(right=[[4096, 256], "PromptCutError: the prompt of 808 tokens does not fit the window of 500"])
def openai_like(folder: Path) -> Any:
    "limits of an answer and of a step on a server with OpenAI's protocol, and its refusal of a prompt"
    from ragnb.context.question_kinds import ask_question_type
    with OpenAIServer() as server:
        server.window = 500
        llm = resolve_llm("openai-like:chat", server.url)
        llm.complete("배는?")
        ask_question_type("배는?", llm)
        limits = [body.get("max_tokens") for path, body in server.requests if path == "/v1/chat/completions"]
        try:
            llm.complete(ENGLISH * 8 + "When?   ")
        except Exception as error:
            return [limits, f"{type(error).__name__}: {error}".partition(" of the model")[0][:76]]
    return [limits, "answered"]
