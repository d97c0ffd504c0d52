"""`explore` without a browser: what a hand changes is asked at once, and mistakes stay in their column."""
from __future__ import annotations

import re
import sys

import pytest

from ragnb import InputError, Pipeline, update_index
from ragnb.evaluation.demo import demo_lines
from ragnb.evaluation.explore import explore, make_pipeline

pytest.importorskip("ipywidgets")
QUESTION = "입사 1년차 직원의 연차는 며칠인가요?"


class Display:
    """What was displayed: the knobs, then the pages, each in place of the one before."""

    def __init__(self):
        self.objects, self.pages = [], []

    def __call__(self, item, display_id=None):
        self.objects.append(item)
        if display_id:
            self.update(item)
            return self

    def update(self, page):
        self.pages.append(page.data)


@pytest.fixture
def displayed(monkeypatch):
    shown = Display()
    monkeypatch.setattr("IPython.display.display", shown)
    return shown


def test_every_knob_asks_again(hr_units, displayed):
    explore(hr_units, QUESTION)
    asked, columns = displayed.objects[0].children
    (_, retriever, policy, budget), (_, *_, other_budget) = (column.children for column in columns.children)
    for knob, value, told in ((budget, 500, "A: multi-scale, policy auto, budget 500"), (other_budget, 500, "B: hybrid, policy auto, budget 500"),
                              (policy, "neighbors:3", "policy neighbors:3"), (retriever, "bm25", "A: bm25"), (asked, "반차는?", "반차는?")):
        assert told not in displayed.pages[-1]
        knob.value = value
        assert told in displayed.pages[-1]
    assert len(displayed.pages) == 6 and "<script" not in "".join(displayed.pages)


def test_a_column_that_fails_says_why_and_the_other_stays(hr_units, displayed, monkeypatch):
    def broken(source, retriever, *setting):
        if retriever == "vector":
            raise InputError("<b>no such part</b>")
        return make_pipeline(source, retriever, *setting)
    monkeypatch.setattr("ragnb.evaluation.explore.make_pipeline", broken)
    explore(hr_units, QUESTION)
    displayed.objects[0].children[1].children[1].children[1].value = "vector"
    assert "&lt;b&gt;no such part" in displayed.pages[-1] and "passages" in displayed.pages[-1]


def test_without_ipywidgets_the_extra_is_named(hr_units, monkeypatch):
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    with pytest.raises(InputError, match=r"pip install .*\[widgets\]'"):
        explore(hr_units)


@pytest.mark.heavy
def test_an_exported_notebook_shows_what_was_found(hr_units, tmp_path):
    """A notebook that was run by a real kernel; what a browser shows of it that runs no script and has no network."""
    from nbclient import NotebookClient
    from nbconvert import HTMLExporter
    from nbformat.v4 import new_code_cell, new_notebook
    code = f"from ragnb.evaluation.explore import explore\nexplore({str(hr_units.folder)!r}, {QUESTION!r})"
    book = new_notebook(cells=[new_code_cell(code)])
    NotebookClient(book, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()
    page = HTMLExporter().from_notebook_node(book)[0]
    assert "widget-view+json" in page and book.metadata["widgets"]   # the state is saved: a browser with network has the knobs
    page = re.sub(r"(?s)<script.*?</script>|<style.*?</style>|<!--.*?-->", "", page)
    assert page.count(QUESTION) >= 2 and "휴가규정" in page and "B: hybrid, policy auto, budget 2,000" in page


def test_a_rank_is_one_among_all_units_of_the_index(tmp_path):
    for n in range(400):                         # more than a question reads
        (tmp_path / f"{n}.md").write_text(f"{n}층 회의실은 {n}명이 쓴다. 주차장은 없다.", encoding="utf-8")
    index = update_index(tmp_path, tmp_path / "index", show_progress=False)[0]
    answer = Pipeline.from_index(index, budget=200).ask("7층 회의실은 몇 명이 쓰나요?")
    outlines = index.store.get_outlines([p.doc_id for p in answer.passages]).found
    ranks = re.findall(r"ranks (\d+) of ([\d,]+) units", "\n".join(demo_lines(answer, outlines, {})))
    assert ranks and {total for _, total in ranks} == {f"{len(answer.fusion.index):,}"}
    assert len(answer.fusion.index) >= 400
