"""Our splitters in LlamaIndex's own hands: caches, hierarchies, windows, metadata of every kind."""
from __future__ import annotations

import pytest
from llama_index.core import StorageContext
from llama_index.core.ingestion import IngestionCache, IngestionPipeline
from llama_index.core.node_parser import get_leaf_nodes, get_root_nodes
from llama_index.core.node_parser.relational.hierarchical import get_child_nodes
from llama_index.core.postprocessor import MetadataReplacementPostProcessor
from llama_index.core.retrievers import AutoMergingRetriever, BaseRetriever
from llama_index.core.schema import Document, MetadataMode, NodeWithScore, QueryBundle
from llama_index.core.storage.docstore import SimpleDocumentStore

from ragnb import (
    ChromaStore, ContextualNodeParser, HeadingNodeParser, MemoryStore, ParentChildNodeParser, QANodeParser,
    RecordNodeParser, RoutedNodeParser, SentenceWindowNodeParser, TableNodeParser, TextNodeParser)
from ragnb.chunking.base import SpanNodeParser
from ragnb.chunking.parsers import describe_parser, parser_from, resolve_parser, SPLITTERS
from ragnb.documents.files import record_to_document

TEXT = "# 휴가\n\n" + "\n\n".join(f"## {i}. 항목\n\n{i}년차 연차는 {14 + i}일이다. 남은 날은 이월하지 못한다. 신청은 이틀 전에 한다."
                                for i in range(1, 25))
LEAVE = Document(text=TEXT, id_="leave.md")


# --- names and arguments
def test_the_ingestion_cache_tells_splitters_apart() -> None:
    parsers = [TextNodeParser(sentences="rule"), TableNodeParser(sentences="rule"), QANodeParser(sentences="rule"),
               ContextualNodeParser(parser=TextNodeParser(sentences="rule")),
               ContextualNodeParser(parser=TableNodeParser(sentences="rule"))]
    tables = Document(text="글이다.\n\n| 가 | 나 |\n|---|---|\n" + "| 하나 | 둘 |\n" * 300, id_="t")
    cache = IngestionCache()
    alone = [[n.to_dict() for n in p.get_nodes_from_documents([tables])] for p in parsers]
    for _ in range(2):      # the second round is answered from the cache
        cached = [IngestionPipeline(transformations=[p], cache=cache).run(documents=[tables]) for p in parsers]
        assert [[(n.id_, n.text, n.metadata) for n in nodes] for nodes in cached] == \
            [[(n["id_"], n["text"], n["metadata"]) for n in nodes] for nodes in alone]
    assert len({p.class_name() for p in parsers}) == 4


@pytest.mark.parametrize("kind", [k for k in SPLITTERS.values() if not issubclass(k, ContextualNodeParser)])
def test_a_splitter_has_a_name_and_refuses_what_it_does_not_know(kind: type[SpanNodeParser]) -> None:
    assert kind.class_name() == kind.__name__ == kind().to_dict()["class_name"]
    with pytest.raises(ValueError, match=f"{kind.__name__} has no argument 'chunk_size'; known are .*size"):
        kind(chunk_size=100)
    assert describe_parser(kind.from_defaults()) == describe_parser(kind(class_name=kind.__name__))


def test_descriptions_of_older_indexes_are_read() -> None:
    """They hold `class_name: base_component` and know fewer settings."""
    told = {"splitter": "RoutedNodeParser", "sentences": "auto", "parent_size": 3000, "class_name": "base_component"}
    assert describe_parser(parser_from(told)) == describe_parser(RoutedNodeParser(parent_size=3000))
    assert "class_name" not in describe_parser(resolve_parser("titled:units"))["parser"]
    assert resolve_parser("sentence").store_window is False


# --- parents and children
FAMILIES = [ParentChildNodeParser(parent_size=300, parent_overlap=0, child_size=90, child_overlap=0),
            ParentChildNodeParser(parent_size=120, parent_overlap=110, child_size=40, child_overlap=10),
            HeadingNodeParser(size=200, overlap=0, parent_size=900, sentences="rule"),
            RecordNodeParser(size=200, parent_size=900, sentences="rule"), RoutedNodeParser(parent_size=900)]


@pytest.mark.parametrize("parser", FAMILIES)
def test_leaves_roots_and_children(parser: SpanNodeParser) -> None:
    nodes = parser.get_nodes_from_documents([LEAVE])
    parents = [n for n in nodes if n.metadata["level"] == "p"]
    children = [n for n in nodes if n.metadata["level"] != "p"]
    assert parents and children
    assert get_leaf_nodes(nodes) == children and get_root_nodes(nodes) == parents
    assert {n.node_id for n in get_child_nodes(parents, nodes)} == {n.node_id for n in children}
    for parent in parents:
        for child in parent.child_nodes:
            child = next(n for n in children if n.node_id == child.node_id)
            assert child.parent_node.node_id == parent.node_id and child.text in parent.text
    by_records = isinstance(parser, RecordNodeParser)      # their `parent_id` is the statute's, if they have one
    assert by_records or all(n.metadata["parent_id"] == n.parent_node.node_id for n in children)


class Fixed(BaseRetriever):
    """Returns the nodes it was given."""

    def __init__(self, nodes: list) -> None:
        self.nodes = nodes
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [NodeWithScore(node=n, score=1.0) for n in self.nodes]


def test_auto_merging_waits_for_more_than_half_of_the_children() -> None:
    nodes = FAMILIES[0].get_nodes_from_documents([LEAVE])
    store = SimpleDocumentStore()
    store.add_documents(nodes)
    parent = next(n for n in nodes if n.metadata["level"] == "p" and len(n.child_nodes) > 3)
    own = [store.get_node(c.node_id) for c in parent.child_nodes]
    for n_hits in (1, len(own) // 2, len(own)):
        merging = AutoMergingRetriever(Fixed(own[:n_hits]), StorageContext.from_defaults(docstore=store))
        found = [n.node.node_id for n in merging.retrieve("연차")]
        assert found == [parent.node_id] if n_hits == len(own) else parent.node_id not in found


# --- windows
@pytest.mark.parametrize("keys", [{}, {"window_metadata_key": "around", "original_text_metadata_key": "own"}])
def test_windows_for_the_stock_postprocessor(keys: dict[str, str]) -> None:
    window, own = keys.get("window_metadata_key", "window"), keys.get("original_text_metadata_key", "original_text")
    nodes = SentenceWindowNodeParser.from_defaults(window_size=2, **keys).get_nodes_from_documents([LEAVE])
    texts = {n.id_: n.text for n in nodes}
    for node in nodes:
        assert node.metadata[own] == node.text in node.metadata[window] and node.metadata[window] in TEXT
        for mode in (MetadataMode.EMBED, MetadataMode.LLM):
            assert node.get_content(mode) == node.text
    hits = [NodeWithScore(node=n, score=0.5) for n in nodes[5:8]]
    windows = [n.metadata[window] for n in nodes[5:8]]
    read = MetadataReplacementPostProcessor(target_metadata_key=window).postprocess_nodes(hits)
    assert [n.node.get_content() for n in read] == windows
    assert [n.node.metadata[own] for n in read] == [texts[n.node.node_id] for n in read]


# --- lists in metadata
def test_lists_reach_nodes_outlines_and_stores(tmp_path) -> None:
    row = {"id": "m", "text": TEXT, "tags": ["휴가", "연차"], "years": [2023, 2024], "nested": {"a": 1}, "mixed": [1, {"b": 2}]}
    document = record_to_document(row, "m", "rows.jsonl")
    parser = ParentChildNodeParser(sentences="rule")
    nodes, outline = parser.parse(document)
    given = {"tags": ["휴가", "연차"], "years": [2023, 2024]}
    for node in nodes:
        node.embedding = [1.0, 0.0]
    assert all(n.metadata["tags"] == given["tags"] and n.metadata["tags"] is not document.metadata["tags"] for n in nodes)
    assert nodes[0].metadata["tags"] is not nodes[1].metadata["tags"]                  # nothing is shared
    for store in (MemoryStore(), ChromaStore(tmp_path)):
        store.put(nodes, [outline])
        held = store.get_chunks([nodes[-1].id_]).all()[nodes[-1].id_].metadata
        told = store.get_outlines(["m"]).all()["m"].metadata
        assert {k: held[k] for k in given} == {k: told[k] for k in given} == given
        assert not {"nested", "mixed", "page_starts"} & {*held, *told}
