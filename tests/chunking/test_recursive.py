"""The recursive splitter, against the algorithm that it stands for, written on strings as its documentation tells it."""
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llama_index.core.schema import Document

from ragnb.chunking.parsers import describe_parser, parser_from, resolve_parser
from ragnb.chunking.recursive import RecursiveNodeParser, recursive_spans
from strategies import examples

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


@pytest.mark.parametrize("spec", ["recursive", "recursive:80", "recursive:80/80", "fixed:0/0", "recursive:80/10@words"])
def test_a_size_that_means_nothing_is_refused(spec):
    with pytest.raises(ValueError):
        resolve_parser(spec)
