"""A pipeline that stays open knows the statutes that another process adds, changes or removes."""
from __future__ import annotations

from pathlib import Path

import pytest

from ragnb import Index, Pipeline
from ragnb.agent.library import Library
from ragnb.indexing.update import update_index

LAW = "# 보관법\n\n[시행 {day}]\n\n## 제1조(목적)\n이 법은 보관을 정한다.\n\n## 제2조(기간)\n기록은 {years}년 동안 보관한다. 제1조를 따른다.\n"
NOTE = "# 안내\n\n기록은 서고에 둔다.\n"


def write(folder: Path, name: str, text: str) -> None:
    """Write a document and index its folder, as another process does."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")
    update_index(folder, folder.parent / f"{folder.name}-index", show_progress=False)


@pytest.mark.parametrize("settings", [{}, {"as_of": "2024-06-01"}, {"retriever": "bm25", "policy": "siblings:1"}], ids=str)
def test_an_open_pipeline_knows_a_statute_that_came_later(tmp_path, settings):
    write(tmp_path / "s", "안내.md", NOTE)
    pipeline = Pipeline.from_index(Index.open(tmp_path / "s-index"), **settings)
    assert "5년" not in str(pipeline.ask("보관법 제2조").context)
    write(tmp_path / "s", "보관법.md", LAW.format(day="2024. 1. 1.", years=5))
    assert "5년" in str(pipeline.ask("보관법 제2조의 기간").context)
    assert len(pipeline.catalogue) == len(Pipeline.from_index(Index.open(tmp_path / "s-index")).catalogue) > 0
    missing = pipeline.ask("보관법 제9조")
    again = Pipeline.from_index(Index.open(tmp_path / "s-index"), **settings).ask("보관법 제9조")
    assert missing.context.notes == again.context.notes and "제9조" in str(missing.context.notes)


def test_collections_are_joined_again_after_a_change(tmp_path):
    for name in ("a", "b"):
        write(tmp_path / name, "안내.md", NOTE)
    library = Library.open({name: Index.open(tmp_path / f"{name}-index") for name in ("a", "b")})
    before = library.catalogue
    assert library.catalogue is before
    write(tmp_path / "b", "보관법.md", LAW.format(day="2024. 1. 1.", years=5))
    library.pipelines["b"].ask("기간")
    assert "b/보관법.md" in library.catalogue and "b/보관법.md" not in before
