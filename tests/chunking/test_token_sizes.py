"""Sizes in tokens of a named tokenizer: no chunk is longer, nothing is lost, and counting grows with the document."""
from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from llama_index.core.schema import Document
from strategies import documents, examples
from test_growth import articles

from ragnb import (HeadingNodeParser, InputError, ParentChildNodeParser, QANodeParser, RecordNodeParser,
                   RoutedNodeParser, SentenceWindowNodeParser, Span, TableNodeParser, TextNodeParser, UnitNodeParser)
from ragnb.chunking.parsers import describe_parser, parser_from, resolve_parser
from ragnb.chunking.rules import parse_rules
from ragnb.chunking.structure import StructureNodeParser
from ragnb.documents.markdown import find_tables
from ragnb.documents.packing import cut_long, overlap_start, pack, TextRuler
from ragnb.documents.text import count_tokens, sentence_spans, tokenizer

BY = ("words", "cl100k_base")
STRUCTURE = (TextNodeParser, TableNodeParser, QANodeParser, HeadingNodeParser, RecordNodeParser)
LEAVE = (Path(__file__).parents[2] / "data/corpus/hr_labor/leave.md").read_text(encoding="utf-8")


def check_whole(text: str, spans: list[Span]) -> None:
    """Every character that is not white space is in a chunk, and chunks are in order."""
    assert all(a.start < b.start and a.end < b.end for a, b in pairwise(spans))
    covered = bytearray(len(text))
    for span in spans:
        covered[span.start:span.end] = b"x" * len(span)
    assert all(mark or char.isspace() for mark, char in zip(covered, text))


def too_long(text: str, spans: list[Span], size: int, name: str) -> list[Span]:
    """Chunks of more tokens than the size, but for single characters."""
    return [s for s in spans if count_tokens(s.of(text), name) > size and len(s) > 1]


def rows_of(text: str) -> set[Span]:
    """What no cut enters: rows, and headers with their first row."""
    tables = find_tables(text)
    return {r for t in tables for r in (t.header, *t.rows) if r} | {t.header.hull(t.rows[0]) for t in tables if t.header and t.rows}


sizes = st.one_of(st.integers(1, 8), st.integers(2, 60))


@examples(90)
@given(documents, sizes, st.sampled_from(BY), st.data())
def test_packed_sentences_fit(text: str, size: int, name: str, data: st.DataObject) -> None:
    ruler, overlap = TextRuler(text, name), data.draw(st.integers(0, size - 1))
    atoms = [piece for s in sentence_spans(text, "rule") for piece in cut_long(text, s, size, ruler)]
    spans = pack(text, atoms, size, overlap, ruler=ruler)
    check_whole(text, spans)
    assert not too_long(text, spans, size, name)
    shared = [Span(b.start, a.end) for a, b in pairwise(spans) if b.start < a.end]
    assert all(count_tokens(s.of(text), name) <= overlap for s in shared)


@examples(90)
@given(documents, st.sampled_from(STRUCTURE), sizes, st.sampled_from(BY), st.data())
def test_splitters_keep_to_tokens(
    text: str, kind: type[StructureNodeParser], size: int, name: str, data: st.DataObject,
) -> None:
    overlap, parent = data.draw(st.integers(0, size - 1)), data.draw(st.sampled_from([0, 3 * size]))
    parser = kind(size=size, overlap=overlap, tokenizer=name, sentences="rule", parent_size=parent)
    nodes, outline = parser.parse(Document(text=text, id_="d"))
    spans = outline.levels[parser.level]
    check_whole(text, spans)
    cores = {b.span for b in parser.blocks(Document(text=text, id_="d")) if b.whole}
    whole = rows_of(text) | cores if kind is not TextNodeParser else set()
    assert set(too_long(text, spans, size, name)) <= whole
    assert set(too_long(text, outline.levels.get("p", []), parent, name)) <= set(spans)
    assert all(n.text == text[n.start_char_idx:n.end_char_idx] for n in nodes)


@examples(60)
@given(documents, sizes, st.sampled_from(BY))
def test_units_children_and_sentences_keep_to_tokens(text: str, size: int, name: str) -> None:
    document, shared = Document(text=text, id_="d"), {"tokenizer": name, "sentences": "rule"}
    units = UnitNodeParser(size=size, korean_size=size, stretch=1, **shared).parse(document)[1].levels["u"]
    family = ParentChildNodeParser(parent_size=2 * size, parent_overlap=size // 2, child_size=size,
                                   child_overlap=size // 2, **shared).split(text)
    single = SentenceWindowNodeParser(max_size=size, **shared).split(text)["s"]
    for spans in (units, family["c"], single):
        check_whole(text, spans)
        assert not too_long(text, spans, size, name)
    assert not too_long(text, family["p"], 2 * size, name)
    assert all(any(p.contains(c) for p in family["p"]) for c in family["c"])


@pytest.mark.parametrize("name", BY)
def test_a_chunk_is_as_long_as_it_may_be(name: str) -> None:
    """The next sentence would not have fitted."""
    ruler, sentences = TextRuler(LEAVE, name), sentence_spans(LEAVE, "rule")
    atoms = [piece for s in sentences for piece in cut_long(LEAVE, s, 60, ruler)]
    spans = pack(LEAVE, atoms, 60, ruler=ruler)
    ends = {a.start: a.end for a in atoms}
    assert len(spans) > 5
    assert all(count_tokens(LEAVE[a.start:ends[b.start]], name) > 60 for a, b in pairwise(spans))


def plain_pack(atoms: list[Span], size: int) -> list[Span]:
    """Packing by characters, written down without any ruler."""
    out: list[Span] = []
    for atom in atoms:
        if out and atom.end - out[-1].start <= size:
            out[-1] = Span(out[-1].start, atom.end)
        else:
            out.append(atom)
    return out


@examples(60)
@given(documents, st.integers(1, 200), st.integers(0, 100))
def test_characters_are_what_they_were(text: str, size: int, overlap: int) -> None:
    atoms = [piece for s in sentence_spans(text, "rule") for piece in cut_long(text, s, size)]
    assert pack(text, atoms, size) == plain_pack(atoms, size) == pack(text, atoms, size, ruler=TextRuler(text))
    ruler = TextRuler(text, "characters")
    for last in atoms[:5]:
        start = overlap_start(text, last, overlap, 0)
        assert last.end - start <= min(overlap, len(last) // 2) and start == overlap_start(text, last, overlap, 0, ruler)
    assert ruler.counted == 0


def test_a_character_of_many_tokens_is_a_chunk() -> None:
    text = "👩🏽‍💻 " * 3
    spans = SentenceWindowNodeParser(max_size=1, tokenizer="cl100k_base").split(text)["s"]
    check_whole(text, spans)
    assert not too_long(text, spans, 1, "cl100k_base")


LONG = {"sentences": lambda n: "연차는 열다섯 날이다. 반차는 네 시간이다. " * 3 * n, "one line": lambda n: "연차는 열다섯 날이다 " * 5 * n,
        "no white space": lambda n: "연차는열다섯날이다" * 6 * n, "rulers of dashes": lambda n: ("-" * 60 + "\n") * 8 * n,
        "rows": lambda n: "| 가 | 나 |\n|---|---|\n" + "\n".join(f"| {i} | 값 |" for i in range(6 * n)),
        "articles": articles, "blank lines": lambda n: "글이다." + "\n" * 50 * n + "끝이다."}
MEASURED = {
    "text": TextNodeParser(size=60, overlap=10, parent_size=300, tokenizer="cl100k_base", sentences="rule"),
    "table": TableNodeParser(size=60, overlap=10, tokenizer="cl100k_base", sentences="rule"),
    "records": RecordNodeParser(size=60, min_size=20, tokenizer="cl100k_base", sentences="rule"),
    "headings": HeadingNodeParser(size=60, min_size=20, overlap=0, tokenizer="cl100k_base", sentences="rule"),
    "units": UnitNodeParser(korean_size=60, tokenizer="cl100k_base", sentences="rule"),
    "parent-child": ParentChildNodeParser(parent_size=240, child_size=60, tokenizer="cl100k_base", sentences="rule")}


@pytest.mark.parametrize("kind", LONG)
@pytest.mark.parametrize("name", MEASURED)
def test_counting_grows_with_the_document(name: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Characters given to the tokenizer, and calls of it, at n, 2n and 4n."""
    count, work = TextRuler._count, [0, 0]

    def counting(ruler: TextRuler, text: str) -> int:
        work[0], work[1] = work[0] + len(text), work[1] + 1
        return count(ruler, text)

    monkeypatch.setattr(TextRuler, "_count", counting)
    seen = []
    for n in (30, 60, 120):
        work[:] = [0, 0]
        text = LONG[kind](n)
        MEASURED[name].parse(Document(text=text, id_="d"))
        assert work[0] < 40 * len(text) + 2_000, (work, len(text))
        seen.append(tuple(work))
    for i, slack in ((0, 4_000), (1, 100)):
        one, two, four = (s[i] for s in seen)
        assert two < 2.4 * one + slack and four < 2.4 * two + slack, seen


@pytest.mark.parametrize("name", ["chunks:30/8@cl100k_base", "parent-child:60/10,20/5@words", "units@cl100k_base",
                                  "sentence@words", "records@cl100k_base", "titled:chunks:30/8@words"])
def test_names_of_splitters(name: str) -> None:
    parser = resolve_parser(name)
    described = json.loads(json.dumps(describe_parser(parser)))
    assert described.get("parser", described)["tokenizer"] == name.rpartition("@")[2]
    assert describe_parser(parser_from(described)) == described
    document = Document(text="Leave is 15 days. It may be carried over once. " * 9, id_="d")
    assert parser_from(described).parse(document)[1] == parser.parse(document)[1]
    old = {k: v for k, v in describe_parser(resolve_parser("units")).items() if k != "tokenizer"}
    assert parser_from(old).tokenizer == "characters"                   # the manifest of an older index


@pytest.mark.parametrize("name", ["chunks:30/8@bert", "units@", "whole@words", "structure@words", "records@x.json"])
def test_names_that_are_refused(name: str) -> None:
    with pytest.raises(InputError):
        resolve_parser(name)


def test_a_tokenizer_file(tmp_path: Path) -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers
    made = Tokenizer(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.save(str(tmp_path / "tokenizer.json"))
    parser, text = resolve_parser(f"chunks:9/2@{tmp_path / 'tokenizer.json'}"), "It's 15 days, no more. " * 9
    spans = parser.split(text)["c"]
    check_whole(text, spans)
    assert max(tokenizer(parser.tokenizer).count(s.of(text)) for s in spans) == 9


def test_rules_name_their_tokenizer() -> None:
    rules = parse_rules("[rest]\nsize = 40\noverlap = 0\nsplit = above\nthreshold = 60\ntokenizer = words\n")
    router = RoutedNodeParser(rules=rules, sentences="rule")
    short = " ".join(["낱말"] * 60)
    assert len(router.split(short)["c"]) == 1 and len(router.split(short + " 하나")["c"]) == 2
    assert router.route(Document(text=LEAVE))[1].tokenizer == "words"
    with pytest.raises(InputError, match=r"rule \[rest\].*unknown tokenizer 'bert'"):
        parse_rules("[rest]\ntokenizer = bert\n")
