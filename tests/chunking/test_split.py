"""The promises of the splitters, on random Korean, English and mixed documents."""
from __future__ import annotations

import json
import os
import subprocess
import sys
import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given, strategies as st
from llama_index.core.schema import BaseNode, Document, MetadataMode, NodeRelationship
from llama_index.core.vector_stores.utils import metadata_dict_to_node, node_to_metadata_dict
from strategies import cluster_length, doc_ids, documents, examples, huge, joins_previous, scalar_metadata

from ragnb import InputError, Outline, ParentChildNodeParser, SentenceWindowNodeParser, Span
from ragnb.chunking.base import BOOKKEEPING, SpanNodeParser
from ragnb.chunking.parsers import describe_parser, parser_from, resolve_parser
from ragnb.chunking.recursive import recursive_spans, RecursiveNodeParser
from ragnb.documents.fields import SCALARS
from ragnb.documents.packing import cut_long, pack
from ragnb.documents.span import parse_address, stitch
from ragnb.documents.text import sentence_spans

METHODS = ("auto", "kiwi", "rule")


@st.composite
def parent_child(draw: st.DrawFn, largest: int = 300) -> ParentChildNodeParser:
    """Any sizes and overlaps, down to one character."""
    parent = draw(st.one_of(st.integers(1, 12), st.integers(1, largest), st.just(800)))
    child = draw(st.integers(1, parent))
    levels = draw(st.sampled_from([("p", "c"), ("p", "c"), ("p", "c"), ("c",), ("p",)]))
    return ParentChildNodeParser(
        parent_size=parent, parent_overlap=draw(st.integers(0, parent - 1)), child_size=child,
        child_overlap=draw(st.integers(0, child - 1)), sentences=draw(st.sampled_from(METHODS)), levels=levels)


@st.composite
def sentence_window(draw: st.DrawFn) -> SentenceWindowNodeParser:
    return SentenceWindowNodeParser(
        window_size=draw(st.integers(0, 4)), store_window=draw(st.booleans()),
        max_size=draw(st.one_of(st.integers(1, 12), st.integers(1, 300))), sentences=draw(st.sampled_from(METHODS)))


@st.composite
def pages(draw: st.DrawFn, length: int) -> list[int] | None:
    """Page starts, rising, the first not always 0; empty pages too."""
    return draw(st.one_of(st.none(), st.lists(st.integers(0, length), max_size=5).map(sorted)))


def sizes(parser: SpanNodeParser) -> dict[str, int]:
    """Largest chunk of each level."""
    if isinstance(parser, ParentChildNodeParser):
        return {"p": parser.parent_size, "c": parser.child_size}
    return {"s": parser.max_size}


def related(node: BaseNode, kind: NodeRelationship) -> str | None:
    return node.relationships[kind].node_id if kind in node.relationships else None


def sample_of(nodes: list[BaseNode]) -> list[BaseNode]:
    """All of a few nodes; the first, the last and every n-th of many."""
    return nodes if len(nodes) < 60 else [*nodes[:10], *nodes[10:-10:len(nodes) // 40], *nodes[-10:]]


def check_level(text: str, chunks: list[Span], size: int) -> None:
    """Texts, sizes, order, coverage and whole characters of one level."""
    covered: set[int] = set()
    for span in chunks:
        assert 0 < len(span) <= size
        assert span.of(text) == span.of(text).strip()
        covered.update(range(span.start, span.end))
    assert all(i in covered for i, c in enumerate(text) if not c.isspace())
    for a, b in pairwise(chunks):
        assert a.start < b.start and a.end < b.end
    for at in {i for s in chunks for i in (s.start, s.end)}:
        assert not joins_previous(text, at) or cluster_length(text, at) > size


def check_nodes(text: str, doc_id: str, nodes: list[BaseNode], outline: Outline) -> None:
    """Ids, offsets and relationships of every node."""
    assert [n.id_ for n in nodes] == [f"{doc_id}#{level}{i}" for level, spans in outline.levels.items()
                                      for i in range(len(spans))]
    assert (outline.doc_id, outline.n_characters) == (doc_id, len(text))
    parents = outline.levels.get("p", [])
    assert all(n.text == text[n.start_char_idx:n.end_char_idx] and n.ref_doc_id == doc_id for n in nodes)
    told = [c.node_id for n in nodes for c in n.relationships.get(NodeRelationship.CHILD, ())]
    assert sorted(told) == sorted(n.id_ for n in nodes if n.metadata["level"] != "p" and parents)
    for node in sample_of(nodes):
        address = parse_address(node.id_)
        span = Span(node.start_char_idx, node.end_char_idx)
        last = len(outline.levels[address.level]) - 1
        assert node.get_content(MetadataMode.NONE) == span.of(text)
        assert outline.span_of(address) == span
        assert (node.metadata["level"], node.metadata["index"]) == (address.level, address.index)
        assert related(node, NodeRelationship.SOURCE) == doc_id
        near = [f"{doc_id}#{address.level}{i}" if 0 <= i <= last else None
                for i in (address.index - 1, address.index + 1)]
        assert [related(node, NodeRelationship.PREVIOUS), related(node, NodeRelationship.NEXT)] == near
        holders = [i for i, p in enumerate(parents) if p.contains(span)] if address.level != "p" else []
        assert bool(holders) == (address.level == "c" and bool(parents))
        assert node.metadata.get("parent") == (holders[-1] if holders else None)
        children = node.relationships.get(NodeRelationship.CHILD)
        assert (children is not None) == (address.level == "p" and len(outline.levels) > 1)
        for child in children or ():
            below = outline.span_of(parse_address(child.node_id))
            assert [i for i, p in enumerate(parents) if p.contains(below)][-1] == address.index
        assert related(node, NodeRelationship.PARENT) == (f"{doc_id}#p{holders[-1]}" if holders else None)


def check_pages(nodes: list[BaseNode], starts: list[int] | None, length: int) -> None:
    """The page of a node is the first page that holds one of its characters."""
    edges = [*(starts or []), length]
    for node in nodes:
        own = range(node.start_char_idx, node.end_char_idx)
        found = [n for n, (a, b) in enumerate(pairwise(edges), 1) if max(a, own.start) < min(b, own.stop)]
        assert node.metadata.get("page") == (found[0] if found else None)


def check_metadata(nodes: list[BaseNode], given: dict) -> None:
    """Scalars and lists of them, the document's kept, ours hidden from embedder and LLM; a vector store keeps all."""
    kept = {k: v for k, v in given.items() if isinstance(v, (*SCALARS, list)) and k not in (*BOOKKEEPING, "page_starts")}
    flat = not any(isinstance(v, list) for v in kept.values())
    for node in nodes:
        assert all(type(v) in (*SCALARS, list) for v in node.metadata.values())
        assert {k: v for k, v in node.metadata.items() if k not in BOOKKEEPING} == kept
        for keys in (node.excluded_embed_metadata_keys, node.excluded_llm_metadata_keys):
            assert set(BOOKKEEPING) <= set(keys) and "secret" in keys
    for node in nodes[:3]:
        back = metadata_dict_to_node(node_to_metadata_dict(node, remove_text=True, flat_metadata=flat), text=node.text)
        assert back.to_dict() == node.to_dict()


def check_all(text: str, doc_id: str, parser: SpanNodeParser, metadata: dict,
              starts: list[int] | None) -> tuple[list[BaseNode], Outline]:
    """Split one document, and hold the splitter to everything it promises."""
    metadata = metadata if starts is None else {**metadata, "page_starts": starts}
    document = Document(text=text, id_=doc_id, metadata=metadata, excluded_embed_metadata_keys=["secret"],
                        excluded_llm_metadata_keys=["secret"])
    before = document.model_dump_json()
    nodes, outline = parser.parse(document)
    for level, spans in outline.levels.items():
        check_level(text, spans, sizes(parser)[level])
    check_nodes(text, doc_id, nodes, outline)
    check_pages(nodes, starts, len(text))
    check_metadata(nodes, metadata)
    again = parser.get_nodes_from_documents([document])
    for one, other in zip(again, nodes, strict=True):
        for field in ("id_", "start_char_idx", "end_char_idx", "metadata"):
            assert getattr(one, field) == getattr(other, field)
    assert [n.to_dict() for n in sample_of(again)] == [n.to_dict() for n in sample_of(nodes)]
    assert document.model_dump_json() == before
    return nodes, outline


def check_stitch(text: str, outline: Outline, data: st.DataObject) -> None:
    """Chunks and blanks of any level rebuild the document and any part of it."""
    for level, spans in outline.levels.items():
        assert all(not blank.strip() and text.startswith(blank, at) for at, blank in outline.blanks.items())
        a, b = sorted(data.draw(st.integers(0, len(text)), label=f"{level} cut") for _ in "ab")
        pieces = [(s, s.of(text)) for s in spans]
        assert stitch(Span(a, b), pieces[::-1], outline.blanks) == text[a:b]
        assert stitch(Span(0, len(text)), pieces, outline.blanks) == text


@examples(150, slow=11_000)
@given(documents, doc_ids, parent_child(), scalar_metadata(), st.data())
def test_parent_child_keeps_every_promise(text: str, doc_id: str, parser: ParentChildNodeParser, metadata: dict,
                                          data: st.DataObject) -> None:
    _, outline = check_all(text, doc_id, parser, metadata, data.draw(pages(len(text))))
    assert set(outline.levels) == set(parser.levels)
    check_stitch(text, outline, data)


@examples(120, slow=7_000)
@given(documents, doc_ids, sentence_window(), scalar_metadata(), st.data())
def test_sentence_window_keeps_every_promise(text: str, doc_id: str, parser: SentenceWindowNodeParser, metadata: dict,
                                             data: st.DataObject) -> None:
    nodes, outline = check_all(text, doc_id, parser, metadata, data.draw(pages(len(text))))
    check_stitch(text, outline, data)
    for i, node in enumerate(nodes):
        near = nodes[max(0, i - parser.window_size):i + parser.window_size + 1]
        window = text[near[0].start_char_idx:near[-1].end_char_idx] if parser.store_window else None
        assert node.metadata.get("window") == window


@examples(8, slow=200)
@given(huge, st.one_of(parent_child(2_000), sentence_window()))
def test_one_endless_line(text: str, parser: SpanNodeParser) -> None:
    levels = parser.split(text)
    for level, spans in levels.items():
        check_level(text, spans, sizes(parser)[level])


@examples(200, slow=4_000)
@given(documents, st.integers(1, 20))
def test_cut_long(text: str, size: int) -> None:
    for sentence in sentence_spans(text, "rule"):
        pieces = list(cut_long(text, sentence, size))
        check_level(sentence.of(text), [Span(p.start - sentence.start, p.end - sentence.start) for p in pieces], size)
        assert all(a.end <= b.start for a, b in pairwise(pieces))
        assert pieces == [sentence] or len(sentence) > size


@examples(150, slow=3_000)
@given(documents, st.integers(1, 60), st.data())
def test_pack_fills_chunks_and_bounds_the_overlap(text: str, size: int, data: st.DataObject) -> None:
    overlap = data.draw(st.integers(0, size - 1))
    atoms = [a for s in sentence_spans(text, "rule") for a in cut_long(text, s, size)]
    plain, lapped = pack(text, atoms, size), pack(text, atoms, size, overlap)
    check_level(text, lapped, size)
    assert {s.start for s in plain} <= {a.start for a in atoms} and {s.end for s in lapped} <= {a.end for a in atoms}
    assert all(a.end <= b.start for a, b in pairwise(plain))
    for a, b in pairwise(plain):  # the next atom would not have fitted
        assert next(s for s in atoms if s.start == b.start).end - a.start > size
    for a, b in pairwise(lapped):
        assert a.overlap(b) <= min(overlap, len(a) // 2)


def test_a_batch_gives_what_each_document_gives() -> None:
    batch = [Document(text=t, id_=i)
             for i, t in (("a", "연차는 15일이다. 반차는 4시간이다."), ("a#c0", "Leave is 15 days."), ("b", ""))]
    parser = ParentChildNodeParser(parent_size=20, parent_overlap=0, child_size=12, child_overlap=0)
    together = parser.get_nodes_from_documents(batch)
    assert [n.id_ for n in together] == [n.id_ for d in batch for n in parser.parse(d)[0]]
    assert len({n.id_ for n in together}) == len(together) > 3
    assert [n.id_ for n in parser(batch)] == [n.id_ for n in together]  # as a transformation of an IngestionPipeline


PROGRAM = """
import json, sys
from llama_index.core.schema import Document
from ragnb.chunking.parent_child import ParentChildNodeParser
from ragnb.chunking.sentence_window import SentenceWindowNodeParser
from ragnb.documents.text import word_tokens
texts = json.loads(sys.stdin.buffer.read())
parsers = [ParentChildNodeParser(parent_size=60, parent_overlap=20, child_size=25, child_overlap=8),
           SentenceWindowNodeParser(store_window=True)]
documents = [Document(text=t, id_=f"d{i}") for i, t in enumerate(texts)]
found = [n.to_dict() for d in documents for p in parsers for n in p.get_nodes_from_documents([d])]
print(json.dumps([found, [word_tokens(t) for t in texts]], sort_keys=True))
"""


@pytest.mark.heavy
def test_two_processes_agree(sample) -> None:
    """Ids, offsets, metadata and words do not depend on the process or on its hash seed."""
    texts = [p.read_text(encoding="utf-8") for p in sorted((sample / "corpus").rglob("*.md"))[:1]]
    texts += ["연차는 15일이다. 연차는 15일이다.\r\n\r\n① 👩🏽\u200d💻 e\u0301", unicodedata.normalize("NFD", "한글 청크는 15일이다. 끝.")]
    started = [subprocess.Popen([sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                env={**os.environ, "PYTHONHASHSEED": seed})
               for seed in ("1", "20000")]
    answers = [p.communicate(json.dumps(texts).encode())[0] for p in started]
    assert [p.returncode for p in started] == [0, 0]
    assert answers[0] == answers[1]
    assert len(json.loads(answers[0])[0]) > 10


@pytest.mark.parametrize("starts", [[0, 99], [-1, 1], [2, 1], [3]])
def test_bad_page_starts(starts: list[int]) -> None:
    with pytest.raises(InputError, match="page_starts"):
        SentenceWindowNodeParser().parse(Document(text="짧다", id_="d", metadata={"page_starts": starts}))


@pytest.mark.parametrize(("make", "message"), [
    (lambda: ParentChildNodeParser(child_size=20), "child_overlap must be >= 0 and < child_size"),
    (lambda: ParentChildNodeParser(parent_overlap=-1), "parent_overlap .* got overlap=-1"),
    (lambda: ParentChildNodeParser(parent_size=0, parent_overlap=0), "parent_overlap .* size=0"),
    (lambda: ParentChildNodeParser(child_size=900), "child_size must be <= parent_size, got 900 > 800"),
    (lambda: ParentChildNodeParser(levels=()), "levels"),
    (lambda: ParentChildNodeParser(levels=("x",)), "levels must .*'x'"),
    (lambda: SentenceWindowNodeParser(window_size=-1), "window_size"),
    (lambda: SentenceWindowNodeParser(max_size=0), "max_size"),
    (lambda: SentenceWindowNodeParser(sentences="punkt").parse(Document(text="a", id_="d")), "'punkt'"),
    (lambda: list(cut_long("abc", Span(0, 3), 0)), "size must be >= 1, got 0"),
    (lambda: ParentChildNodeParser().get_nodes_from_documents([Document(text="a", id_="d")] * 2), "two documents have the id 'd'"),
])
def test_bad_settings_are_named(make, message: str) -> None:
    with pytest.raises(ValueError, match=message):  # pydantic wraps what its validators raise
        make()


SEPARATORS = ["\n\n", "\n", " ", ""]


def reference(text: str, size: int, overlap: int, separators: list[str] = SEPARATORS) -> list[str]:
    """Cut at the first separator that is there, cut what is too long at the next, join up to the size."""
    chosen = next((s for s in separators if s in text), separators[-1])
    left = separators[separators.index(chosen) + 1:]
    parts = text.split(chosen) if chosen and text else [*text] or [""]
    pieces = [p for p in [parts[0], *(chosen + p for p in parts[1:])] if p]
    out: list[str] = []
    short: list[str] = []
    for piece in pieces:
        if len(piece) < size:
            short.append(piece)
        else:
            out, short = out + join(short, size, overlap), []
            out += reference(piece, size, overlap, left) if left else [piece]
    return out + join(short, size, overlap)


def join(pieces: list[str], size: int, overlap: int) -> list[str]:
    """Greedy runs; a run starts with the last pieces of the one before that fit the overlap."""
    out: list[str] = []
    run: list[str] = []
    for piece in pieces:
        if run and len("".join(run)) + len(piece) > size:
            out.append("".join(run).strip())
            while run and (len("".join(run)) > overlap or len("".join(run)) + len(piece) > size):
                run.pop(0)
        run.append(piece)
    return [chunk for chunk in [*out, "".join(run).strip()] if chunk]


@examples(300)
@given(st.text(st.sampled_from("가나ab.\n \t"), max_size=200), st.integers(2, 40), st.data())
def test_it_is_the_algorithm_that_it_stands_for(text, size, data):
    overlap = data.draw(st.integers(0, size - 1))
    spans = recursive_spans(text, size, overlap)
    assert [s.of(text) for s in spans] == [c for c in reference(text, size, overlap) if c]
    assert all(len(s) <= size for s in spans)
    covered = {i for s in spans for i in range(s.start, s.end)}
    assert all(i in covered for i, c in enumerate(text) if not c.isspace())


def test_it_has_a_name_and_comes_back_from_a_manifest():
    text = "제1조 연차는 15일이다.\n\n제2조 반차는 4시간이다. " * 30
    for spec, size in (("recursive:80/10", 80), ("fixed:50/0", 50)):
        parser = resolve_parser(spec)
        again = parser_from(describe_parser(parser))
        assert isinstance(parser, RecursiveNodeParser) and again.split(text) == parser.split(text)
        nodes = parser.get_nodes_from_documents([Document(text=text, id_="a")])
        assert max(len(n.text) for n in nodes) <= size and [n.node_id for n in nodes[:2]] == ["a#c0", "a#c1"]
    fixed = resolve_parser("fixed:50/0").split("가" * 220)["c"]
    assert [len(s) for s in fixed] == [50, 50, 50, 50, 20]


@pytest.mark.parametrize("spec", ["recursive", "recursive:80/", "recursive:80/80", "fixed:0/0", "recursive:80/10@words"])
def test_a_size_that_means_nothing_is_refused(spec):
    with pytest.raises(ValueError):
        resolve_parser(spec)
