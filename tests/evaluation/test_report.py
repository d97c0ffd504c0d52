"""The page of an evaluation: self-contained, escaped, the same numbers as the runs, readable in both themes and on a phone."""
from __future__ import annotations

import re
import shutil
from html.parser import HTMLParser

import pytest
from conftest import SAMPLE, small_sample
from llama_index.core.schema import Document

from ragnb import Span, Strategy
from ragnb.cli import main
from ragnb.evaluation.commands import _result_table
from ragnb.evaluation.comparison import Run, run_strategies, RunPlan
from ragnb.evaluation.datasets import Dataset, Evidence, Question
from ragnb.evaluation.measures import Evaluation, Row, Score
from ragnb.evaluation.report import recall_lines, write_report
from ragnb.evaluation.strategy import IndexCache, PRESETS
from ragnb.evaluation.tune import choose, Tuned

HOSTILE = "<script>alert(1)</script><img src=x onerror=y>\"'>"


def written(runs, dataset, path, source="docs", **more) -> str:
    """The page of runs."""
    return write_report(Tuned(dataset, runs, choose(runs), source), path, **more).read_text(encoding="utf-8")


class Elements(HTMLParser):
    """Every element with its attributes, and whether all are closed in order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found, self.open = [], []
        self.feed(page)

    def handle_starttag(self, name, attributes):
        self.found.append((name, dict(attributes)))
        if name != "meta":
            self.open.append(name)

    def handle_startendtag(self, name, attributes):
        self.found.append((name, dict(attributes)))

    def handle_endtag(self, name):
        assert self.open.pop() == name


def hostile_page(tmp_path) -> str:
    text = HOSTILE * 40
    document = Document(text=text, id_=HOSTILE, metadata={"title": HOSTILE})
    question = Question("q", HOSTILE, (Evidence(HOSTILE, Span(0, 50), text[:50]),))
    dataset = Dataset(HOSTILE, {HOSTILE: document}, [question])
    rows = [Row("q", HOSTILE, "", {500: Score(0.5)})]
    runs = [Run(Strategy(name=name), Evaluation(rows, (500,))) for name in (HOSTILE, "b")]
    return written(runs, dataset, tmp_path / "x" / "report.html", HOSTILE, notes=[HOSTILE])


def test_nothing_of_a_document_acts(tmp_path):
    seen = Elements(hostile_page(tmp_path))
    assert seen.open == [] and not {"script", "img", "link", "iframe"} & {name for name, _ in seen.found}
    assert not [a for _, given in seen.found for a in given if a.startswith("on") or a in ("src", "href")]


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    folder, dataset = tmp_path_factory.mktemp("report"), small_sample(12)
    plan = RunPlan(dataset, (300, 1_000), cache=folder / "cache")
    runs = run_strategies(plan, ["bm25", "chunks"], show_progress=False)
    path = folder / "report.html"
    written(runs, dataset, path, cache=IndexCache(folder / "cache"), traces=4)
    return runs, dataset, path


def test_the_page_has_the_numbers_of_the_runs(measured):
    runs, dataset, path = measured
    page = path.read_text(encoding="utf-8")
    for run in runs:
        for budget in (300, 1_000):
            assert f"<b>{run.evaluation.mean(budget=budget):.3f}</b>" in page
    assert page.count('class="question"') == len(dataset.questions)
    assert 4 <= page.count("trace of ") <= 8 and page.count("--nearl:") == 1   # the style of traces comes once
    assert Elements(page).open == [] and "http" not in re.sub(r"http-equiv", "", page)
    assert "default-src 'none'" in page


def test_the_same_runs_give_the_same_page(measured, tmp_path):
    runs, dataset, path = measured
    again = written(runs, dataset, tmp_path / "a.html")
    assert again == written(runs, dataset, tmp_path / "b.html")
    assert "without traces" in again and len(again) < path.stat().st_size


def spread_run(name: str, mean: float, n: int = 40) -> Run:
    """A strategy whose questions differ."""
    return Run(Strategy(name), Evaluation([Row(f"q{i}", "", "", {b: Score(float(i < mean * n)) for b in (500, 1_000)}) for i in range(n)], (500, 1_000)))


def test_intervals_of_the_choice_and_the_best_other_are_drawn(tmp_path):
    runs = [spread_run(f"r{n}", 0.3 + n / 25) for n in range(13)]
    lines = recall_lines([runs[5], *runs[:5]])["lines"]      # the first is the choice; r4 is the best of the others
    assert [line["name"] for line in lines if line["barred"]] == ["r5", "r4"]
    assert all(p["high"] <= p["y"] <= p["low"] <= 276 - 36 for line in lines if line["barred"] for p in line["points"])
    document = Document(text="연차는 15일이다.", id_="d")
    questions = [Question(f"q{i}", f"{i}?", (Evidence("d", Span(0, 5), "연차는 1"),)) for i in range(40)]
    page = written(runs, Dataset("docs", {"d": document}, questions), tmp_path / "r.html")
    legend = re.search(r'<ul class="legend">.*?</ul>', page)[0]
    assert page.count('class="interval"') == 4 and legend.count("bars: 95 % intervals") == 2 and "r12" in legend


def test_a_table_says_what_its_intervals_are(tmp_path):
    mixed, all_found = spread_run("a", 0.5), spread_run("b", 1.0)
    lines = _result_table([mixed, all_found]).splitlines()
    assert "1.000 [0.912, 1.000]" in lines[3] and sum("Wilson" in line for line in lines) == 1
    runs, dataset = tied_runs(30)
    assert written(runs, dataset, tmp_path / "r.html").count("Wilson") == 1


def tied_runs(n: int, names=("multi-scale", "a", "b", "c")) -> tuple[list[Run], Dataset]:
    """Strategies that find the same of n questions."""
    text = "연차는 15일이다."
    questions = [Question(f"q{i}", f"며칠 {i}?", (Evidence("d", Span(0, 5), text[:5]),)) for i in range(n)]
    rows = [Row(q.query_id, q.query, "", {500: Score(1.0), 4_000: Score(1.0)}) for q in questions]
    runs = [Run(PRESETS.get(name, Strategy(name)), Evaluation(rows, (500, 4_000))) for name in names]
    return runs, Dataset("docs", {"d": Document(text=text, id_="d")}, questions)


@pytest.mark.parametrize("n", [5, 20])
def test_ties_are_one_line_and_nothing_is_recommended(n, tmp_path):
    runs, dataset = tied_runs(n)
    page = written(runs, dataset, tmp_path / "report.html")
    assert "Too few questions to tell the strategies apart; the default stays" in page and "<h2>Use " not in page
    assert page.count("<polyline") == 1 and "not significant" not in page and "equal to multi-scale on every question: a, b, c" in page
    assert "ragnb index docs" in page and "--budget" not in page and "--split" not in page and "all of them" in page
    assert "more strategies are in the tables" not in page


@pytest.mark.heavy
def test_tune_and_eval_write_the_page(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(SAMPLE / "corpus" / "hr_labor", tmp_path / "docs")
    assert main(["tune", "docs", "--n", "6", "--budgets", "500,1000", "--quiet"]) == 0
    out = capsys.readouterr().out
    assert "Too few questions to tell the strategies apart; the default stays, 'multi-scale'" in out and "ragnb index docs" in out and "from ragnb import" in out
    tuned = (tmp_path / "out" / "tune" / "report.html").read_text(encoding="utf-8")
    assert 'class="choice"' in tuned and "made from the documents" in tuned
    made = str(tmp_path / "out" / "tune" / "made.jsonl")
    assert main(["eval", "docs", made, "--strategy", "bm25", "--strategy", "chunks", "--budgets", "500", "--quiet"]) == 0
    assert 'class="choice"' in (tmp_path / "out" / "eval" / "report.html").read_text(encoding="utf-8")


@pytest.mark.browser
def test_the_page_in_chromium(chromium, measured):
    colours = {}
    for scheme in ("light", "dark"):
        page = chromium.new_page(viewport={"width": 390, "height": 800}, color_scheme=scheme)
        asked, told = [], []
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: told.append(message.text))
        page.goto(measured[2].as_uri())
        page.locator("details.question").first.locator("summary").first.click()
        page.locator("details.trace").first.wait_for(state="visible")
        assert page.evaluate("document.documentElement.scrollWidth") == 390
        assert [url for url in asked if not url.startswith("file:")] == [] and told == []
        colours[scheme] = page.evaluate("getComputedStyle(document.querySelector('.rr')).backgroundColor")
        page.close()
    assert colours["light"] != colours["dark"]
