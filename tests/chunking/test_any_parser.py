"""Splitters that are not of this package: LlamaIndex's own and a user's, in stores, headers and indexes that are opened again."""
from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from llama_index.core import Document
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.node_parser import (HierarchicalNodeParser, HTMLNodeParser, MarkdownNodeParser, NodeParser,
                                          SentenceSplitter, SentenceWindowNodeParser, TokenTextSplitter)
from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode
from strategies import examples

from ragnb import ContextualNodeParser, HierarchicalRetriever, Index, InputError, MemoryStore, Pipeline, RagnbError, UnitNodeParser, index_documents
from ragnb.chunking.any_parser import chunk_spans, span_parser
from ragnb.documents.span import Span
from ragnb.retrieval.hierarchical import build_tree

TEXT = "\n\n".join(f"# 제{i}장\n\n제{i}조 휴가는 {i}일이다. 휴가는 미리 신청한다. 휴가는 미리 신청한다." for i in range(1, 9))
DOCUMENTS = [Document(text=TEXT, id_="a.md"), Document(text="짧다.\n\n반차는 4시간이다.", id_="b.md")]
MORE = Document(text="경조휴가는 5일이다.", id_="c.md")


class Lines(NodeParser):
    """A splitter of one's own: a chunk a line, without offsets, and with what no file can hold."""

    joined: int = 1
    function: Callable[[str], str] = str.strip
    api_key: str = "sk-hidden"

    def _parse_nodes(self, nodes: Sequence[Any], show_progress: bool = False, **kwargs: Any) -> list[TextNode]:
        out = []
        for document in nodes:
            lines = [self.function(line) for line in document.get_content().split("\n\n")]
            texts = ["\n\n".join(lines[i:i + self.joined]) for i in range(0, len(lines), self.joined)]
            source = {NodeRelationship.SOURCE: RelatedNodeInfo(node_id=document.node_id)}
            out += [TextNode(text=text, relationships=dict(source)) for text in texts]
        return out


class UnitNodeParserOfOurs(UnitNodeParser):
    """A unit splitter that was changed."""


class Shouting(Lines):
    """It rewrites the text."""

    def _parse_nodes(self, nodes: Sequence[Any], show_progress: bool = False, **kwargs: Any) -> list[TextNode]:
        made = super()._parse_nodes(nodes)
        made[1].text = made[1].text + "!!"
        return made


PARSERS = {"sentences": lambda: SentenceSplitter(chunk_size=60, chunk_overlap=10),
           "sentences apart": lambda: SentenceSplitter(chunk_size=60, chunk_overlap=0),
           "tokens": lambda: TokenTextSplitter(chunk_size=60, chunk_overlap=10),
           "windows": lambda: SentenceWindowNodeParser.from_defaults(), "markdown": lambda: MarkdownNodeParser(),
           "levels": lambda: HierarchicalNodeParser.from_defaults(chunk_sizes=[256, 64], chunk_overlap=5), "own": Lines,
           "own units": UnitNodeParserOfOurs}


def uncovered(text: str, spans: Sequence[Span]) -> str:
    """The characters that no chunk holds, without white space."""
    held = {i for span in spans for i in range(span.start, span.end)}
    return "".join(c for i, c in enumerate(text) if i not in held and not c.isspace())


@pytest.mark.parametrize("name", PARSERS)
def test_chunks_are_spans_that_cover_their_document(name):
    store = MemoryStore()
    nodes = store.add_documents(DOCUMENTS, PARSERS[name](), MockEmbedding(embed_dim=3))
    texts = {d.node_id: d.text for d in DOCUMENTS}
    assert all(n.text == texts[n.ref_doc_id][n.start_char_idx:n.end_char_idx] for n in nodes)
    for doc_id, outline in store.get_outlines(texts).found.items():
        for spans in outline.levels.values():
            assert [s.start for s in spans] == sorted({s.start for s in spans}) and [s.end for s in spans] == sorted({s.end for s in spans})
        lowest = outline.levels["u" if "u" in outline.levels else "c"]
        assert uncovered(texts[doc_id], lowest) == ""


@pytest.mark.heavy
@pytest.mark.parametrize("name", PARSERS)
def test_an_index_opens_without_its_splitter_and_is_updated_with_it(name, tmp_path):
    made = PARSERS[name]
    index_documents(DOCUMENTS, tmp_path / "i", parser=made(), show_progress=False)
    assert b"hidden" not in (tmp_path / "i/index.db").read_bytes()
    opened = Index.open(tmp_path / "i")
    passages = Pipeline.from_index(opened, policy="neighbors:1").ask("반차는 몇 시간인가요?").passages
    assert passages and "반차는 4시간이다." in passages[0].text
    assert all(p.text == {d.node_id: d.text for d in DOCUMENTS}[p.doc_id][p.span.start:p.span.end] for p in passages)
    with pytest.raises(RagnbError, match=f"parser={type(made()).__name__}") as told:
        index_documents([*DOCUMENTS, MORE], tmp_path / "i", show_progress=False)
    assert "\n" not in str(told.value)
    assert Index.open(tmp_path / "i").doc_ids == ["a.md", "b.md"]
    index, report = index_documents([*DOCUMENTS, MORE], tmp_path / "i", parser=made(), show_progress=False)
    assert (report.added, report.changed, report.unchanged) == (1, 0, 2)
    fresh, _ = index_documents([*DOCUMENTS, MORE], tmp_path / "j", parser=made(), show_progress=False)
    for one, other in zip(index.store.get_outlines(index.doc_ids).found.values(), fresh.store.get_outlines(index.doc_ids).found.values()):
        assert one == other
    _, report = index_documents(DOCUMENTS, tmp_path / "i", show_progress=False)     # nothing is split
    assert (report.removed, report.unchanged) == (1, 2)
    assert Index.open(tmp_path / "i").has_units == (name == "own units")


def test_the_command_line_asks_an_index_of_any_splitter(run, tmp_path):
    index_documents(DOCUMENTS, tmp_path / "i", parser=Lines(), show_progress=False)
    code, out, _ = run("ask", "반차는 몇 시간인가요?", "--index", tmp_path / "i", "--json")
    assert code == 0 and "반차는 4시간이다." in json.loads(out)["context"]


@pytest.mark.parametrize(("first", "then"), [
    (SentenceSplitter(chunk_size=60, chunk_overlap=0), SentenceSplitter(chunk_size=61, chunk_overlap=0)), (Lines(), Lines(joined=2)),
    (Lines(), "units"), ("units", Lines()), (Lines(), ContextualNodeParser(parser=Lines())), (SentenceWindowNodeParser.from_defaults(), "sentence"),
], ids=["size", "own size", "named", "own", "header", "same name"])
def test_another_splitter_is_refused(first, then, tmp_path):
    index_documents(DOCUMENTS, tmp_path / "i", parser=first, show_progress=False)
    for call in (lambda: Index.open(tmp_path / "i", parser=then), lambda: index_documents(DOCUMENTS, tmp_path / "i", parser=then, show_progress=False)):
        with pytest.raises(RagnbError, match="the index was split by"):
            call()


@pytest.mark.parametrize("parser", [HTMLNodeParser(), Shouting(), SentenceSplitter(chunk_size=20, chunk_overlap=0)], ids=lambda p: type(p).__name__)
def test_a_parser_that_changes_the_text_or_fails_is_refused_in_one_line(parser, tmp_path):
    documents = [Document(text="<p>연차는 <b>15일</b>이다.</p>\n\n둘째 줄이다.", id_="a.html", metadata={"title": "긴 제목 " * 40})]
    for call in (lambda: index_documents(documents, tmp_path / "i", parser=parser, show_progress=False),
                 lambda: MemoryStore().add_documents(documents, ContextualNodeParser(parser=parser), MockEmbedding(embed_dim=3))):
        with pytest.raises(InputError, match=f"{type(parser).__name__}.*'a.html'") as told:
            call()
        assert "\n" not in str(told.value)
    assert not (tmp_path / "i/index.db").exists()


def test_headers_trees_and_metadata_over_a_stock_parser():
    titled = ContextualNodeParser(parser=MarkdownNodeParser(), name="title")
    document = Document(text=TEXT, id_="a.md", metadata={"title": "휴가규정", "page_starts": [0, 100]})
    nodes, outline = titled.parse(document)
    assert "휴가규정" in nodes[3].metadata["header"] and nodes[3].metadata["header_path"] == "/" and len(outline.pages) == 2
    tree = build_tree(DOCUMENTS, MockEmbedding(embed_dim=3), parser=SentenceSplitter(chunk_size=60, chunk_overlap=0))
    assert HierarchicalRetriever(tree=tree, embed_model=MockEmbedding(embed_dim=3)).retrieve("휴가")


@pytest.mark.parametrize("wrong", [5, SentenceSplitter, object(), ["units"]], ids=["number", "class", "object", "list"])
def test_what_is_no_splitter(wrong, tmp_path):
    with pytest.raises(InputError, match="parser"):
        index_documents(DOCUMENTS, tmp_path / "i", parser=wrong, show_progress=False)


@examples(100)
@given(st.lists(st.sampled_from(["가.", "나다.", "가."]), min_size=1, max_size=12), st.integers(1, 4), st.integers(0, 2), st.booleans())
def test_repeated_sentences_have_their_own_places(sentences, size, overlap, told):
    """Chunks of some sentences, over a text that repeats itself: no character may be left out, whatever offsets were given."""
    assume(overlap < size)
    text = " ".join(sentences)
    starts = [m.start() for m in re.finditer(r"\S+", text)]
    ends = [m.end() for m in re.finditer(r"\S+", text)]
    firsts = range(0, len(sentences), size - overlap)
    true = [Span(starts[i], ends[min(i + size, len(sentences)) - 1]) for i in firsts]
    texts = [span.of(text) for span in true]
    assert chunk_spans(text, texts, true) == true or uncovered(text, chunk_spans(text, texts, true)) == ""
    wrong = [Span(text.find(t), text.find(t) + len(t)) for t in texts] if told else []
    found = chunk_spans(text, texts, wrong)
    assert all(span.of(text) == t for span, t in zip(found, texts))
    if not overlap:
        assert found == true
    assert uncovered(text, found) == ""


def test_a_long_document_of_repetitions_is_read_once():
    """The work grows with the text, not with its square: a chunk is looked up from the one before it."""
    text = "휴가는 신청한다. " * 5_000
    spans = span_parser(Lines(function=str)).split(text.replace(". ", ".\n\n"))["c"]
    assert len(spans) == 5_000 and spans[-1].end == len(text.replace(". ", ".\n\n")) - 2
