"""What objects print in a shell and show in a notebook: at most three lines, small, escaped."""
from __future__ import annotations

from dataclasses import replace

import pytest
from conftest import SAMPLE

from ragnb import compare, Passage, Pipeline, read_documents, Span
from ragnb.evaluation.datasets import Evidence, Question
from ragnb.evaluation.measures import Evaluation, Row, Score
from ragnb.evaluation.questions import make_questions
from ragnb.evaluation.tune import tuning_grid

HOSTILE = "<script>alert('연차')</script>\n$x$\x1b[31m"


def evaluation(found: float, n: int = 500) -> Evaluation:
    budgets = (500, 1_000, 2_000, 4_000)
    rows = [Row(f"q{i}", HOSTILE, "", {b: Score(found * (i % 2)) for b in budgets}) for i in range(n)]
    return Evaluation(rows, budgets)


@pytest.fixture(scope="module")
def shown(hr_units):
    pipeline = Pipeline.from_index(hr_units)
    answer = pipeline.ask("입사 1년차 직원의 연차는 며칠인가요?")
    return {"index": hr_units, "pipeline": pipeline, "answer": answer,
            "hostile": replace(answer, question=HOSTILE, text=HOSTILE * 999, generated=True),
            "evaluation": evaluation(1.0), "nothing": Evaluation(),
            "comparison": compare(evaluation(0.5), evaluation(1.0), (HOSTILE, "b" * 999))}


@pytest.mark.parametrize("name", ["index", "pipeline", "answer", "hostile", "evaluation", "nothing", "comparison"])
def test_short_in_a_shell_and_in_a_notebook(shown, name):
    line, page = repr(shown[name]), shown[name]._repr_html_()
    assert len(line) <= 700 and line.count("\n") <= 2 and "\x1b" not in line
    assert len(page) <= 20_000 and "<script" not in page and "\x1b" not in page and "\n" not in page
    assert "color:" not in page and "background:none" in page or "<td" not in page   # the colours of the notebook


def test_the_items_of_lists_are_short_too(shown, hr_units):
    """Passages, questions, strategies and rows: one line each, so that a list of them can be read."""
    answer, long = shown["answer"], HOSTILE * 99
    made = make_questions(list(read_documents(SAMPLE / "corpus/hr_labor/leave.md", [])), 4)
    question = Question(HOSTILE, long, (Evidence("d", Span(0, 3), "abc"),) * 9)
    items = [*answer.passages, Passage(HOSTILE, Span(0, len(long)), long), question, *tuning_grid(),
             *shown["evaluation"].rows[:2], answer.expansion, made, *made.questions, answer.fusion,
             answer.context, *answer.context.sources]
    assert len(items) > 20
    for item in items:
        line = repr(item)
        assert len(line) <= 260 and "\n" not in line and "\x1b" not in line, line
        assert line.startswith(f"{type(item).__name__}(")
    first = answer.passages[0]
    assert first.id in repr(first) and f"rank {first.rank}" in repr(first) and first.text.split()[0].strip("#") in repr(first)
    assert "any of 9 in d" in repr(question)


def test_parts_and_results_show_themselves_on_one_line(hr_units):
    """What a notebook shows of a retriever, a store, a read or a list of hits that nothing was asked of yet."""
    question = "연차는 며칠인가요?"
    pipelines = [Pipeline.from_index(hr_units, **how) for how in ({}, {"retriever": "bm25"}, {"retriever": "hybrid"},
                 {"retriever": "vector"}, {"retriever": "hierarchical"}, {"where": "doc_id!=x"})]
    things = [part for p in pipelines for part in (p, p.retriever, p.expander, p.expander.store, p.as_retriever(),
                                                   p.find(question), p.rank(question), p.stream(question))]
    found, ranking = pipelines[0].find(question), pipelines[0].rank(question)
    address = found.hits[0].node_id
    found = pipelines[0].find(question)
    read = [hr_units.store.get_chunks([address]), hr_units.store.get_outlines(hr_units.doc_ids), hr_units.catalogue]
    shown = [*things, *read, *read[1].found.values(), ranking.scores, ranking.reader, ranking.reader.units]
    for thing in shown:
        line = repr(thing)
        assert len(line) <= 400 and "\n" not in line and " object at 0x" not in line, line
        assert line.startswith(f"{type(thing).__name__}("), line
