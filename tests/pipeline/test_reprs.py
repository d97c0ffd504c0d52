"""What objects print in a shell and show in a notebook: at most three lines, small, escaped."""
from __future__ import annotations

from dataclasses import replace

import pytest

from ragnb.evaluation.comparison import compare
from ragnb.evaluation.measures import Evaluation, Row, Score
from ragnb.pipeline.pipeline import Pipeline

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


def test_they_say_what_matters(shown):
    assert "연차" in repr(shown["answer"]) and "passages" in repr(shown["answer"])
    assert "MultiScaleRetriever" in repr(shown["pipeline"]) and "4,000" in repr(shown["pipeline"])
    assert repr(shown["evaluation"]).startswith("Evaluation(500 questions, evidence recall at 500 0.500")
    assert "+0.250" in repr(shown["comparison"]) and "real" in repr(shown["comparison"])
    assert "leave.md" in shown["answer"]._repr_html_()
