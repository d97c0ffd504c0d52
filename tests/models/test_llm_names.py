"""The name of a model, as the command line takes it, wherever a model is taken: over the HTTP of a small Ollama."""
from __future__ import annotations

import pytest
from conftest import write
from llama_index.core.schema import Document, NodeWithScore, TextNode
from ollama_server import OllamaServer

from ragnb import (Agent, HydeRetriever, Index, InputError, LlmContextNodeParser, LLMReranker, MultiQueryRetriever,
                   ParentChildNodeParser, Pipeline, update_index)
from ragnb.agent.library import Library, library_pipeline
from ragnb.chunking.parsers import with_contexts
from ragnb.chunking.summaries import summarise_sections
from ragnb.evaluation.datasets import Question
from ragnb.evaluation.judging import judge_answers, make_evaluators
from ragnb.evaluation.questions import generate_questions
from ragnb.models.calls import ask_all, Call
from ragnb.models.scripted import ScriptedLLM
from ragnb.retrieval.rerank import resolve_reranker
from ragnb.serve.app import create_app

NAME = "ollama:chat"
TEXT = "# 휴가\n\n연차는 15일이다. 입사한 해에도 같다.\n\n# 반차\n\n반차는 4시간이다. 오전과 오후로 나뉜다."
DOCUMENT = Document(text=TEXT, id_="leave.md")


@pytest.fixture
def server(monkeypatch):
    with OllamaServer(models=("chat",)) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        yield server


@pytest.fixture(scope="module")
def index(tmp_path_factory) -> Index:
    folder = tmp_path_factory.mktemp("named")
    write(folder / "docs", {"leave.md": TEXT})
    return update_index(folder / "docs", folder / "index", parser="chunks:20/0", show_progress=False)[0]


def asked(server: OllamaServer) -> int:
    """Chats so far."""
    return len(server.asked("/api/chat"))


def test_a_pipeline_and_its_engines(server, index):
    pipeline = Pipeline.from_index(index, llm=NAME)
    assert pipeline.llm.model == "chat" and "model: chat" in repr(pipeline)
    assert pipeline.ask("연차는?").generated and asked(server) == 1
    bare = Pipeline.from_index(index)
    assert Pipeline(bare.retriever, bare.expander, llm=NAME).llm.model == "chat"
    assert str(bare.query_engine(NAME).query("연차는?")) and str(bare.chat_engine(NAME).chat("연차는?")) and asked(server) == 3
    assert library_pipeline(Library({"": bare}), NAME).ask("연차는?").generated


@pytest.mark.parametrize("parts", [{"reranker": "llm"}, {"retriever": "multi-query:hybrid"}, {"retriever": "hyde:hybrid"},
                                   {"policy": "llm"}, {"compressor": "llm:20"}], ids=str)
def test_the_parts_of_a_pipeline_that_ask(server, index, parts):
    Pipeline.from_index(index, llm=NAME, **parts).find("연차는?")
    Pipeline.from_index(index, llm=NAME, **parts).ask("연차는?")
    assert asked(server) >= 2


def test_rerankers_and_planners_by_themselves(server, index):
    nodes = [NodeWithScore(node=TextNode(text=t)) for t in ("연차는 15일이다.", "반차는 4시간이다.")]
    for reranker in (LLMReranker(llm=NAME), resolve_reranker("llm", NAME)):
        assert len(reranker.postprocess_nodes(nodes, query_str="연차는?")) == 2
    plain = Pipeline.from_index(index).retriever
    for planner in (MultiQueryRetriever(plain, NAME), HydeRetriever(plain, NAME, index.embed_model)):
        assert planner.retrieve("연차는?")
    assert asked(server) >= 4


def test_an_agent_and_its_steps(server, index):
    library = Library({"": Pipeline.from_index(index)})
    agent = Agent(library, "ollama:other", {"grade": NAME, "answer": NAME, "judge": None})
    models = agent.flow.parts.models
    assert {name: getattr(m, "model", None) for name, m in models.items()} == {
        "rewrite": "other", "route": "other", "plan": "other", "grade": "chat", "answer": "chat", "judge": None}
    assert models["rewrite"] is models["route"]
    Agent(library, None, {"answer": NAME}).ask("연차는?")
    assert asked(server) == 1


def test_a_service(server, index):
    pytest.importorskip("fastapi")
    from fastapi.testclient import TestClient
    app = create_app(index.folder, NAME, models={"grade": NAME, "judge": None})
    service = app.state.service
    assert service.llm.model == service.models["grade"].model == "chat" and service.models["judge"] is None
    about = TestClient(app, base_url="http://127.0.0.1").get("/api/about")
    assert about.status_code == 200 and about.json()["model"] == "chat"


def test_contexts_summaries_and_questions(server, index, tmp_path):
    parser = LlmContextNodeParser(parser=ParentChildNodeParser(), llm=NAME)
    assert parser.model == with_contexts(ParentChildNodeParser(), NAME).model and parser.model.endswith(":chat")
    nodes, _ = parser.parse(DOCUMENT)
    assert any(n.metadata.get("context") for n in nodes)
    sections, report = summarise_sections([DOCUMENT], NAME)
    assert report.calls == len(sections) > 0 and all(s.written for s in sections)
    assert generate_questions([DOCUMENT], NAME, 1).report.calls >= 1
    made, _ = update_index(index.folder.parent / "docs", tmp_path / "i", parser="parent-child", contexts=NAME, show_progress=False)
    again = Index.open(tmp_path / "i", contexts=NAME)
    assert again.parser.llm.model == made.parser.llm.model == "chat"


def test_calls_and_judges(server, index):
    assert ask_all([Call("a", "연차는?")], NAME)[0]["a"].startswith("echo")
    assert list(make_evaluators(NAME)) == ["faithfulness", "relevancy", "correctness"]
    report = judge_answers(Pipeline.from_index(index, llm=NAME), [Question("1", "연차는?", [], answer="15일")], NAME, ["relevancy"])
    assert report.answers[0].text.startswith("echo") and len(report.judgements) == 1


@pytest.mark.parametrize("name", ["gpt-4", "ollama", "ollama:", "", 7, object()], ids=lambda wrong: type(wrong).__name__ + (wrong if isinstance(wrong, str) else ""))
def test_what_is_no_model_is_refused_where_it_is_given(index, name):
    plain = Pipeline.from_index(index)
    for make in (lambda: Pipeline.from_index(index, llm=name), lambda: Agent(Library({"": plain}), name),
                 lambda: Agent(Library({"": plain}), None, {"plan": name}), lambda: LLMReranker(llm=name),
                 lambda: MultiQueryRetriever(plain.retriever, name), lambda: plain.query_engine(name),
                 lambda: ask_all([Call("a", "?")], name)):
        with pytest.raises((InputError, ValueError), match="model|llm"):
            make()


def test_a_model_of_ones_own_passes_as_it_is(index):
    own = ScriptedLLM("15일 [1]")
    assert Pipeline.from_index(index, llm=own).llm is own
    assert set(map(id, Agent(Library({"": Pipeline.from_index(index)}), own).flow.parts.models.values())) == {id(own)}
