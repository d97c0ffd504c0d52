"""What `ragnb demo` prints of a passage."""
from __future__ import annotations

import re

from ragnb import Pipeline, update_index
from ragnb.evaluation.demo import demo_lines


def test_a_rank_is_one_among_all_units_of_the_index(tmp_path):
    for n in range(400):                         # more than a question reads
        (tmp_path / f"{n}.md").write_text(f"{n}층 회의실은 {n}명이 쓴다. 주차장은 없다.", encoding="utf-8")
    index = update_index(tmp_path, tmp_path / "index", show_progress=False)[0]
    answer = Pipeline.from_index(index, budget=200).ask("7층 회의실은 몇 명이 쓰나요?")
    outlines = index.store.get_outlines([p.doc_id for p in answer.passages]).found
    ranks = re.findall(r"ranks (\d+) of ([\d,]+) units", "\n".join(demo_lines(answer, outlines, {})))
    assert ranks and {total for _, total in ranks} == {f"{len(answer.fusion.index):,}"}
    assert len(answer.fusion.index) >= 400
