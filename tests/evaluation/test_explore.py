"""`explore` without a browser: what a hand changes is asked at once, and mistakes stay in their column."""
from __future__ import annotations

import builtins
import re
import subprocess
import sys

import pytest

from ragnb.documents.span import InputError
from ragnb.evaluation.explore import explore

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
    left = shown.trace()
    shown.side.value = "B"
    assert shown.trace() != left and "<script" not in shown.found() and shown.trace() in shown.found()
    shown.side.value = "A"
    assert shown.trace() == left


def test_a_column_that_fails_says_why_and_the_other_stays(hr_units, monkeypatch):
    shown = explore(hr_units, QUESTION)

    def broken(source, setting):
        raise InputError("<b>no such part</b>")
    monkeypatch.setattr("ragnb.evaluation.explore.make_pipeline", broken)
    shown.right.retriever.value = "vector"
    assert "&lt;b&gt;no such part" in shown.found() and shown.right.answer is None
    assert "passages" in shown.found() and QUESTION in shown.trace()
    assert "bm25" not in repr(shown) and "B: vector, policy auto, budget 2,000: <b>no such part</b>" in repr(shown)


def test_without_ipywidgets_the_extra_is_named(hr_units, monkeypatch):
    real = builtins.__import__

    def absent(name, *args, **kwargs):
        if name == "ipywidgets":
            raise ImportError(name)
        return real(name, *args, **kwargs)
    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(InputError, match=r"pip install 'ragnb\[widgets\]'"):
        explore(hr_units)


CODE = """from ragnb.evaluation.explore import explore
shown = explore({folder!r}, {question!r})"""


@pytest.fixture(scope="module")
def executed(hr_units, tmp_path_factory):
    """A notebook that was run by a real kernel, widget state and all, with a knob turned by a later cell; and its HTML, as nbconvert writes it."""
    from nbclient import NotebookClient
    from nbconvert import HTMLExporter
    from nbformat.v4 import new_code_cell, new_notebook
    folder = str(hr_units.folder)
    code = [CODE.format(folder=folder, question=QUESTION) + "\nshown", "shown.left.budget.value = 500", f"explore({folder!r})"]
    book = new_notebook(cells=[new_code_cell(c) for c in code])
    NotebookClient(book, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(tmp_path_factory.mktemp("run"))}}).execute()
    return book, HTMLExporter().from_notebook_node(book)[0]


def without_scripts(page: str) -> str:
    """What a browser shows that runs no script and has no network."""
    return re.sub(r"(?s)<script.*?</script>|<style.*?</style>|<!--.*?-->", "", page)


@pytest.mark.heavy
def test_an_exported_notebook_shows_what_was_found(executed):
    book, page = executed
    assert "widget-view+json" in page and book.metadata["widgets"]           # the state is saved: a browser with network has the knobs
    page = without_scripts(page)
    assert page.count(QUESTION) >= 2 and "휴가규정" in page and "B: hybrid, policy auto, budget 2,000" in page
    assert "연차는 15일입니다" in page and "No question: give one" in page


@pytest.mark.heavy
def test_a_knob_that_is_turned_writes_over_what_was_found(executed):
    book, page = executed
    outputs = book.cells[0].outputs
    assert [sorted(o.data) for o in outputs] == [["application/vnd.jupyter.widget-view+json", "text/plain"], ["text/html", "text/plain"]]
    assert "budget 500" in outputs[1].data["text/html"] and "A: multi-scale, policy auto, budget 500" in outputs[1].data["text/plain"]
    assert not book.cells[1].outputs and "need JupyterLab" in outputs[0].data["text/plain"]


@pytest.mark.heavy
def test_a_terminal_shows_what_was_found(hr_units):
    code = CODE.format(folder=str(hr_units.folder), question=QUESTION)
    done = subprocess.run([sys.executable, "-m", "IPython", "--no-banner", "--colors=NoColor", "--HistoryManager.enabled=False", "-c",
                           code + "\ndisplay(shown)"],
                          capture_output=True, text=True, timeout=300, check=True)
    for told in (done.stdout, repr(explore(hr_units, QUESTION))):
        assert QUESTION in told and "VBox" not in told and "HTML object" not in told
        assert re.search(r"A: multi-scale, policy auto, budget 2,000: \d+ passages, [\d,]+ characters\n  .*휴가규정", told)
        assert re.search(r"B: hybrid, policy auto, budget 2,000: \d+ passages, [\d,]+ characters\n  ", told)
    assert "need JupyterLab" in done.stdout
    assert "explore(index, 'a question')" in repr(explore(hr_units))
