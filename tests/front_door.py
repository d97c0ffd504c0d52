"""A user's script: every name of the front door, used as the README and the notebooks do. Type checkers must find nothing in it."""
from __future__ import annotations

from typing import Any

from pathlib import Path

from llama_index.core.schema import Document, NodeWithScore, TextNode

import ragnb
from ragnb import (
    AdaptiveChunkExpander, Address, Agent, Answer, AnswerStream, Bm25Retriever, ChromaStore, Compressor, ContextualNodeParser, Conversation, DebugContextBuilder, DuplicateIdError,
    Expander, ExpandPostprocessor, HeadingNodeParser, HierarchicalRetriever, HybridRetriever, HydeRetriever, Index, IndexMismatchError,
    InputError, LlmContextNodeParser, LLMReranker, LongContextReorderPostprocessor, MemoryStore, MissingChunkError, ModelError, MultiQueryRetriever, MultiScaleRetriever,
    NeighborChunkExpander, NgramEmbedding, NoopChunkExpander, OnnxEmbedding, Outline, ParentChildNodeParser, Passage, Pipeline, QANodeParser, RagnbError, RankedContextBuilder,
    RecordNodeParser, RoutedNodeParser, SentenceWindowNodeParser, SimpleContextBuilder, Span, Strategy, TableNodeParser, TextNodeParser,
    UnitNodeParser, VectorRetriever, adaptive, attach, by_doc_type, compare, evaluate, expand_dicts, fetch_doc_chunks, fetch_doc_pages, index_documents, load_dataset, neighbors,
    pages, parent, read_documents, read_settings, resolve_embedding, resolve_llm, sample_data, section, siblings, trace, update_index,
)
from ragnb.agent.tools import ReadingTools
from ragnb.machinery.registry import register


def ask(folder: Path, work: Path) -> Answer:
    """Index a folder, ask, look at the reasons, go on with a conversation."""
    index, report = update_index(folder, work / "index", show_progress=False)
    pipeline = Pipeline.from_index(index, budget=600)
    answer = pipeline.ask("입사 1년차 직원의 연차는 며칠인가요?")
    best: Passage = answer.passages[0]
    print(report.added, answer.text, best.span.start, [str(why) for why in best.why.values()], best.pages)
    trace(answer).write(work / "why.html")
    talk = Conversation()
    talk.add(answer.question, answer.text, answer.passages)
    stream: AnswerStream = pipeline.stream(answer.question)
    print(*stream, stream.answer.text)
    return pipeline.ask("반차는 몇 시간인가요?", talk)


def parts(folder: Path, work: Path) -> list[NodeWithScore]:
    """The same line from objects, in LlamaIndex's own terms."""
    index = Index.open(work / "index")
    print(sample_data() / "corpus")
    documents: list[Document] = list(read_documents(folder, []))
    chunks, _ = index_documents(documents, work / "chunks", parser=ParentChildNodeParser(), show_progress=False)
    words = Bm25Retriever(ParentChildNodeParser().get_nodes_from_documents(documents))
    vectors = VectorRetriever(chunks.store, chunks.embed_model)
    hybrid = HybridRetriever({"bm25": words, "vector": vectors})
    pipeline = Pipeline.from_index(
        chunks, retriever=hybrid, policy=neighbors(1), builder=RankedContextBuilder(budget=800), compressor=Compressor(400))
    expansion = Expander(chunks.store, parent).expand(pipeline.find("연차").hits)
    print(index.doc_ids, expansion.stats.reads, [p.text for p in expansion.passages])
    postprocessor = ExpandPostprocessor(store=chunks.store, policy="neighbors:1")
    wide = postprocessor.postprocess_nodes(hybrid.retrieve("연차"), query_str="연차")
    return LongContextReorderPostprocessor(together="doc_id").postprocess_nodes(wide)


def attached(nodes: list[TextNode]) -> str:
    """An index that is there already."""
    pipeline: Pipeline = attach(nodes, policy="section", budget=2_000)
    return pipeline.ask("연차").text


def decide(folder: Path) -> str:
    """Ask with decisions on the way, and let another agent read."""
    state = Agent(folder, max_attempts=2).ask("연차는 며칠인가요?", Conversation())
    tools = ReadingTools(folder, budget=2_000)
    print(state.status, [str(event) for event in state.events], [tool.metadata.name for tool in tools.as_tools()])
    return tools.search("연차") + tools.get_neighbor_chunks("leave.md", 3, "after", 2)


def choose(folder: Path) -> str:
    """Measure two ways on the same questions."""
    data = load_dataset(folder)
    first, second = (evaluate(lambda question: [], data.questions, (500,)) for _ in range(2))
    return compare(first, second, names=("a", "b")).to_markdown() + Strategy().spec


def from_file(folder: Path) -> Pipeline:
    """With the settings in the index folder."""
    return Pipeline.from_index(folder, **read_settings(folder))


@register("reranker", "same")
def same(llm: Any = None) -> LongContextReorderPostprocessor:
    """A reranker by name."""
    return LongContextReorderPostprocessor()


def spans() -> tuple[Span, Address, Outline]:
    """Everything is a span."""
    outline = Outline("a.md", 40, {"c": [Span(0, 20), Span(20, 40)]})
    return Span(0, 3).hull(Span(2, 9)), Address("a.md", "c", 1), outline


def raw_hits(store: MemoryStore, results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The dicts of a search server, and chunks by document."""
    found = NoopChunkExpander().expand(results) + AdaptiveChunkExpander(store).expand(results)
    print([node.text for node in fetch_doc_pages(store, "a.md", [1, 2]) + fetch_doc_chunks(store, "a.md", 20, around="a.md#c3")])
    return found + NeighborChunkExpander(store, window=2, max_results=40).expand(results)


PARSERS = (SentenceWindowNodeParser, UnitNodeParser, TextNodeParser, TableNodeParser, QANodeParser, HeadingNodeParser, RecordNodeParser,
           RoutedNodeParser, ContextualNodeParser, LlmContextNodeParser)
RETRIEVERS = (MultiScaleRetriever, HierarchicalRetriever, MultiQueryRetriever, HydeRetriever, LLMReranker)
POLICIES = (adaptive(), pages(2), section(), siblings(), by_doc_type())
STORES = (MemoryStore, ChromaStore)
MODELS = (NgramEmbedding, OnnxEmbedding, resolve_embedding, resolve_llm)
BUILDERS = (SimpleContextBuilder(), DebugContextBuilder())
ERRORS: tuple[type[RagnbError], ...] = (InputError, DuplicateIdError, MissingChunkError, IndexMismatchError, ModelError)
RAW = expand_dicts
VERSION: str = ragnb.__version__
