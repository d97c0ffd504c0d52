"""`explore` without a browser: what a hand changes is asked at once, and mistakes stay in their column."""
from __future__ import annotations

import builtins

import pytest

from ragnb.documents.span import InputError
from ragnb.evaluation.explore import explore, make_pipeline, Setting
from ragnb.pipeline.pipeline import Pipeline

pytest.importorskip("ipywidgets")
QUESTION = "입사 1년차 직원의 연차는 며칠인가요?"


@pytest.fixture
def shown(hr_units):
    return explore(hr_units, QUESTION)


def test_every_knob_asks_again(shown):
    asked = []
    for column in (shown.left, shown.right):
        real = column.ask
        column.ask = lambda question, real=real, name=column.name: asked.append((name, question)) or real(question)
    shown.left.budget.value = 500
    assert asked == [("A", QUESTION), ("B", QUESTION)] and shown.left.answer.context.size <= 500
    shown.right.policy.value = "neighbors:3"
    shown.right.retriever.value = "bm25"
    shown.question.value = "반차는 몇 시간인가요?"
    shown.button.click()
    assert len(asked) == 10 and asked[-1] == ("B", "반차는 몇 시간인가요?")


def test_the_trace_is_that_of_the_side_chosen(shown):
    left = shown.trace.value
    shown.side.value = "B"
    assert shown.trace.value != left and "<script" not in shown.trace.value
    shown.side.value = "A"
    assert shown.trace.value == left


def test_a_column_that_fails_says_why_and_the_other_stays(hr_units, monkeypatch):
    shown = explore(hr_units, QUESTION)

    def broken(source, setting):
        raise InputError("<b>no such part</b>")
    monkeypatch.setattr("ragnb.evaluation.explore.make_pipeline", broken)
    shown.right.retriever.value = "vector"
    assert "&lt;b&gt;no such part" in shown.right.found.value and shown.right.answer is None
    assert "passages" in shown.left.found.value and QUESTION in shown.trace.value


def test_a_pipeline_keeps_its_retriever_and_loses_its_model(hr_units):
    pipeline = Pipeline.from_index(hr_units, retriever="bm25", llm=None)
    made = make_pipeline(pipeline, Setting("as given", "neighbors:3", 700))
    assert made.retriever is pipeline.retriever and made.builder.budget == 700 and made.llm is None
    assert explore(pipeline).left.retriever.options == ("as given",)


def test_without_ipywidgets_the_extra_is_named(hr_units, monkeypatch):
    real = builtins.__import__

    def absent(name, *args, **kwargs):
        if name == "ipywidgets":
            raise ImportError(name)
        return real(name, *args, **kwargs)
    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(InputError, match=r"pip install 'ragnb\[widgets\]'"):
        explore(hr_units)


def test_an_exported_notebook_shows_what_was_found(hr_units, tmp_path):
    """A notebook that was run and saved without the state of its widgets, through nbconvert."""
    from nbconvert import HTMLExporter
    from nbformat.v4 import new_code_cell, new_notebook, new_output
    bundle = explore(hr_units, QUESTION)._repr_mimebundle_()
    output = new_output("execute_result", data=bundle, execution_count=1)
    book = new_notebook(cells=[new_code_cell("explore(index, question)", outputs=[output], execution_count=1)])
    page, _ = HTMLExporter().from_notebook_node(book)
    assert QUESTION in page and "휴가규정" in page and "budget 2,000" in page and "need JupyterLab" in page
    assert bundle["text/plain"].startswith("Explorer(") and "need JupyterLab" in bundle["text/plain"]
    assert "application/vnd.jupyter.widget-view+json" in bundle
