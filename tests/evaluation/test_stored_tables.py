"""The stored tables about peers and growth: lines taken over from an earlier table, and parts of a set in a larger corpus."""
from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from llama_index.core.schema import Document

from ragnb.documents.span import Span
from ragnb.evaluation.datasets import Dataset, Evidence, Question

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"benchmark_{name}", BENCHMARKS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


peers, balance = load("peers"), load("balance")


def row(line: str, way: str, delivered: float, **more: float) -> dict[str, Any]:
    return {"line": line, "way": way, "chosen": [], "budgets": {"500": {"delivered": delivered, **more}}}


def table(*rows: dict[str, Any], n: int = 100) -> dict[str, Any]:
    return {"dataset": "squad2", "embed": "ngram", "version": "v1", "n": n, "rows": list(rows)}


def test_lines_of_an_earlier_table_are_taken_over_where_ragnb_is_the_same() -> None:
    """A line that was measured now stays as it is; other sets come along whole."""
    now = table(row("multi-scale", "documented", 0.83334), row("autorag", "documented", 0.5))
    old = table(row("multi-scale", "documented", 0.8333), row("autorag", "documented", 0.4), row("autorag", "best", 0.6))
    other = old | {"dataset": "tatqa"}
    assert peers.with_earlier([now], [other, old]) == [now | {"rows": [*now["rows"], row("autorag", "best", 0.6)]}, other]
    with pytest.raises(ValueError, match="other questions"):
        peers.with_earlier([now], [table(row("multi-scale", "documented", 0.8333), n=50)])


def test_lines_of_another_ragnb_are_marked() -> None:
    """Their differences are from the ragnb of the earlier table, and stay as they were."""
    now = table(row("multi-scale", "documented", 0.9), row("autorag", "documented", 0.5))
    old = [row("multi-scale", "documented", 0.8), row("multi-scale", "best", 0.81), row("dsrag-segments", "documented", 0.4), row("autorag", "best", 0.6)]
    first, other = peers.with_earlier([now], [table(*old), table(*old) | {"dataset": "tatqa"}])
    kept = [(r["line"], r["way"]) for r in first["rows"] if r.get("earlier")]
    assert kept == [("multi-scale", "best"), ("dsrag-segments", "documented"), ("autorag", "best")] and len(first["rows"]) == 5
    assert all(r["earlier"] for r in other["rows"]) and len(other["rows"]) == 4


def test_p_values_of_an_earlier_table_are_never_0() -> None:
    """They are stored with four digits: 0.0000 is at most 0.00005."""
    kept = peers.as_kept({"sets": [table(row("multi-scale", "documented", 0.8), row("autorag", "best", 0.6, p=0.0), row("autorag", "documented", 0.6, p=0.2))]})
    assert [cell.get("p") for line in kept["sets"][0]["rows"] for cell in line["budgets"].values()] == [None, 0.00005, 0.2]


def test_sets_and_lines_have_one_order() -> None:
    rows = [row("autorag", "best", 0.6), row("multi-scale", "best", 0.8), row("autorag", "documented", 0.5), row("multi-scale", "documented", 0.8)]
    assert [(r["line"], r["way"]) for r in sorted(rows, key=peers.place)] == [
        ("multi-scale", "documented"), ("multi-scale", "best"), ("autorag", "documented"), ("autorag", "best")]
    sets = [table() | {"dataset": name, "embed": embed} for name, embed in (("tatqa", "ngram"), ("squad2", "minilm"), ("squad2", "ngram"))]
    assert [(s["dataset"], s["embed"]) for s in peers.in_order(sets)] == [("squad2", "ngram"), ("squad2", "minilm"), ("tatqa", "ngram")]


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
