"""The study after Chroma's protocol: its chunkers and measures on cases worked out by hand, and what is stored of it."""
from __future__ import annotations

import csv
import json
import random

import balance
import chroma_protocol as protocol
import pytest
from conftest import ROOT
from llama_index.core.schema import Document

from ragnb.documents.span import Span
from ragnb.evaluation.datasets import Dataset, Evidence, Question

RESULTS = ROOT / "nbs" / "studies" / "results"


LETTERS = protocol.Tokens(len, lambda text: list(range(len(text))))  # One token a character: sizes can be counted by eye


def cut(text: str, spans: list[Span]) -> list[str]:
    """The texts of chunks."""
    return [s.of(text) for s in spans]


def question(*spans: tuple[int, int], doc_id: str = "a") -> Question:
    """A question with excerpts."""
    return Question("q", "?", tuple(Evidence(doc_id, Span(*s), "x" * (s[1] - s[0])) for s in spans), "all")


def chunks(*spans: tuple[int, int], doc_id: str = "a") -> list:
    """Chunks of one document."""
    return [protocol.Chunk(doc_id, Span(*s)) for s in spans]


# --- chunkers
@pytest.mark.parametrize(("size", "overlap", "expected"), [
    (4, 0, ["abcd", "efgh", "ij"]),
    (4, 2, ["abcd", "cdef", "efgh", "ghij"]),     # the window that reaches the end is the last
    (5, 0, ["abcde", "fghij"]), (10, 5, ["abcdefghij"]), (20, 5, ["abcdefghij"])])
def test_fixed_chunks(size: int, overlap: int, expected: list[str]) -> None:
    assert cut("abcdefghij", protocol.fixed_chunks("abcdefghij", size, overlap, LETTERS)) == expected


@pytest.mark.parametrize(("text", "size", "overlap", "expected"), [
    ("aa bb\n\ncc dd ee ff\n\ngg", 9, 0, ["aa bb", "cc dd ee", "ff", "gg"]),   # what was split finer is not merged with its neighbors
    ("aa bb\n\ncc dd ee ff\n\ngg", 30, 0, ["aa bb\n\ncc dd ee ff\n\ngg"]),
    ("Ab cd. Ef gh. Ij", 8, 0, ["Ab cd", ". Ef gh", ". Ij"]),                  # the separator is the head of the next
    ("aaa bbb ccc ddd", 8, 0, ["aaa bbb", "ccc ddd"]), ("aaa bbb ccc ddd", 8, 4, ["aaa bbb", "bbb ccc", "ccc ddd"]),
    ("aaa bbb ccc ddd", 8, 3, ["aaa bbb", "ccc ddd"]),                         # a piece of 4 is too long to repeat
    ("abcdefgh", 3, 0, ["abc", "def", "gh"]), ("aa\n\n   \n\nbb", 5, 0, ["aa", "bb"])])
def test_recursive_chunks(text: str, size: int, overlap: int, expected: list[str]) -> None:
    assert cut(text, protocol.recursive_chunks(text, size, overlap, LETTERS)) == expected


@pytest.mark.parametrize("seed", range(20))
def test_chunks_lose_nothing_but_white_space(seed: int) -> None:
    rng = random.Random(seed)
    text = "".join(rng.choices("abc .?!\n", [6, 6, 6, 3, 1, 1, 1, 1], k=400))
    size = rng.randint(5, 60)
    overlap = rng.randrange(size)
    for chunker in protocol.CHUNKERS.values():
        spans = chunker(text, size, overlap, LETTERS)
        assert {i for i, c in enumerate(text) if not c.isspace()} <= {i for s in spans for i in range(s.start, s.end)}
        assert all(len(s) <= size for s in spans) and spans == sorted(spans)


def test_cl100k_without_network() -> None:
    tokens = protocol.cl100k()
    assert tokens.count("hello world") == 2 and tokens.starts("hello world") == [0, 5]
    text = "연차 휴가"   # characters of several tokens: no chunk is lost, none ends inside one
    assert tokens.count(text) > 3
    assert "".join(cut(text, protocol.fixed_chunks(text, 1, 0, tokens))) == text


# --- where the protocol finds a chunk
def test_a_chunk_is_found_at_the_first_place_of_its_text() -> None:
    text = "Net income. Other. Net income."
    assert protocol.found_at(text, Span(19, 30)) == Span(0, 10)   # the same words stand earlier; the full stop at the end is left out
    assert protocol.found_at(text, Span(12, 18)) == Span(12, 17)


# --- measures
def test_chunks_of_other_documents_cost_precision_only() -> None:
    got = protocol.protocol_scores(chunks((10, 20)) + chunks((10, 20), doc_id="b"), question((10, 20)))
    assert got == pytest.approx((1.0, 10 / 20, 10 / 20))
    assert protocol.protocol_scores(chunks((10, 20), doc_id="b"), question((10, 20))) == (0, 0, 0)
    assert protocol.protocol_scores([], question((10, 20))) == (0, 0, 0)


def test_excerpts_that_overlap_are_wanted_twice() -> None:
    got = protocol.protocol_scores(chunks((0, 30)), question((10, 20), (10, 20)))
    assert got == pytest.approx((10 / 20, 10 / 30, 10 / 30))            # recall below 1 although all was found: as the protocol counts


def test_omega_of_a_plain_case() -> None:
    every = chunks((0, 10), (10, 20), (20, 30), (30, 40))
    assert protocol.precision_omega(every, question((12, 18))) == pytest.approx(6 / 10)
    assert protocol.precision_omega(every, question((5, 15))) == pytest.approx(10 / 20)
    assert protocol.precision_omega(every, question((5, 10))) == pytest.approx(5 / 20)     # the next chunk begins where the excerpt ends: it counts
    assert protocol.precision_omega(chunks((0, 10), (20, 30)), question((5, 15))) == pytest.approx(5 / 15)  # what no chunk holds counts too
    assert protocol.precision_omega(chunks((0, 10), doc_id="b"), question((0, 5))) == 0


@pytest.mark.parametrize("seed", range(20))
def test_scores_agree_with_sets_of_characters(seed: int) -> None:
    rng = random.Random(seed)
    def some(n: int) -> list[tuple[int, int]]: return [(a, a + rng.randint(1, 12)) for a in rng.sample(range(60), n)]
    gold = sorted(some(3))
    gold = [g for i, g in enumerate(gold) if i == 0 or g[0] >= gold[i - 1][1] and g[0] >= gold[0][1]]  # apart
    own, other = some(4), some(2)
    wanted, read = {i for g in gold for i in range(*g)}, [i for c in own for i in range(*c)]
    held, n = len(wanted & set(read)), len(read) + sum(b - a for a, b in other)
    got = protocol.protocol_scores(chunks(*own) + chunks(*other, doc_id="b"), question(*gold))
    assert got == pytest.approx((held / len(wanted), held / n, held / (n + len(wanted - set(read)))))


# --- what is stored
def test_stored_result_has_the_report_s_omega() -> None:
    result = json.loads((RESULTS / "chroma_protocol.json").read_text(encoding="utf-8"))
    ours = {(c["name"], s["corpus"]): [round(x, 1) for x in s["omega"]] for c in result["chunkings"] for s in c["scores"] if s["retrieve"] == 5}
    with (RESULTS / "chroma_report.csv").open(encoding="utf-8") as file:
        theirs = [r for r in csv.DictReader(file) if r["model"] == "text-embedding-3-large"]
    assert len(theirs) == 24 and result["dataset"]["questions"] == 317 and result["command"] and result["versions"]
    for r in theirs:  # needs no embedding: chunkers, places and definitions are the same, or these numbers would not be
        assert ours[f"{r['chunker']} {r['size']}/{r['overlap']}", r["corpus"]] == [float(r["omega"]), float(r["omega_std"])], r


def dataset(name: str, *texts: str) -> Dataset:
    documents = {f"{name}/{n}": Document(text=text, id_=f"{name}/{n}") for n, text in enumerate(texts)}
    questions = [Question(f"{name}/q{n}-{at}", "?", (Evidence(i, Span(at, at + 2), d.text[at:at + 2]),))
                 for n, (i, d) in enumerate(documents.items()) for at in (0, len(d.text) - 2)]
    return Dataset(name, documents, questions)


def test_a_part_has_whole_documents_and_the_questions_they_answer() -> None:
    part = balance.part(dataset("a", "x" * 40, "y" * 30, "z" * 50), 80, 10)
    assert balance.size(part.documents.values()) <= 80 and len(part.questions) == 2 * len(part.documents) > 0
    assert {e.doc_id for q in part.questions for e in q.evidence} == set(part.documents)
    assert len(balance.part(dataset("a", "x" * 40), 80, 1).questions) == 1


def test_a_long_document_is_cut_at_a_line_and_its_last_question_left_out() -> None:
    part = balance.part(dataset("a", "x" * 49 + "\n" + "y" * 100), 80, 10)
    assert [d.text for d in part.documents.values()] == ["x" * 49 + "\n"] and [q.query_id for q in part.questions] == ["a/q0-0"]


def test_a_corpus_around_parts_has_all_parts_and_the_size_that_was_asked_for() -> None:
    sets = [dataset("a", *["x" * 10] * 30), dataset("b", *["y" * 10] * 30)]
    parts = [balance.part(s, 20, 10) for s in sets]
    corpus = balance.around(parts, sets, 200)
    assert balance.size(corpus.documents.values()) == 200 and len(corpus.questions) == sum(len(p.questions) for p in parts)
    assert all(i in corpus.documents for p in parts for i in p.documents)
