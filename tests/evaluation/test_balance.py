"""The stored table about growth: parts of a set in a larger corpus."""
from __future__ import annotations

import balance
from llama_index.core.schema import Document

from ragnb.documents.span import Span
from ragnb.evaluation.datasets import Dataset, Evidence, Question


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
