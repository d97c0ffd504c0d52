"""What `ragnb demo` prints of the gold questions."""
from __future__ import annotations

import re

import pytest

from ragnb import Pipeline, update_index
from ragnb.documents.span import Span
from ragnb.evaluation.datasets import Evidence, Question
from ragnb.evaluation.demo import demo_lines
from ragnb.evaluation.measures import evaluate

TEXT = "연차는 15일이다. 병가는 60일까지 쓴다. 출장비는 하루 3만원이다.\n\n공가는 유급이다. 노트북은 사내에서 수리한다."
WHOLE = Question("q", "연차는 며칠인가?", (Evidence("a.md", Span(0, len(TEXT)), TEXT),))


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    """An index of one short document."""
    folder = tmp_path_factory.mktemp("demo")
    (folder / "docs").mkdir()
    (folder / "docs/a.md").write_text(TEXT, encoding="utf-8")
    return update_index(folder / "docs", folder / "index", show_progress=False)[0]


def test_the_first_number_of_the_demo_is_delivered_recall(index):
    pipeline = Pipeline.from_index(index)
    found = evaluate(pipeline, [WHOLE], (len(TEXT), 1_000))   # the text has room, with its label it has none
    outlines = index.store.get_outlines({"a.md": None}).found
    lines = demo_lines(pipeline.ask(WHOLE.query), outlines, {"ways": found}, WHOLE)
    told = [float(mean) for mean in re.findall(r"ways +(\S+)", "\n".join(lines))]
    assert told == [round(found.mean("delivered_recall", len(TEXT)), 3), 1.0] and told[0] < 1


def test_a_rank_is_one_among_all_units_of_the_index(tmp_path):
    for n in range(400):                         # more than a question reads
        (tmp_path / f"{n}.md").write_text(f"{n}층 회의실은 {n}명이 쓴다. 주차장은 없다.", encoding="utf-8")
    index = update_index(tmp_path, tmp_path / "index", show_progress=False)[0]
    answer = Pipeline.from_index(index, budget=200).ask("7층 회의실은 몇 명이 쓰나요?")
    outlines = index.store.get_outlines([p.doc_id for p in answer.passages]).found
    ranks = re.findall(r"ranks (\d+) of ([\d,]+) units", "\n".join(demo_lines(answer, outlines, {})))
    assert ranks and {total for _, total in ranks} == {f"{len(answer.fusion.index):,}"}
    assert len(answer.fusion.index) >= 400
