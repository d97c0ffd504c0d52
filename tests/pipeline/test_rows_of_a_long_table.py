"""A question about one row of a long table brings that row and the header of the table, in a folder that cites laws too."""
from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ragnb.documents.markdown import find_tables
from ragnb.indexing.update import update_index
from ragnb.models.embedding import NgramEmbedding
from ragnb.pipeline.pipeline import Pipeline

CORPUS = Path(__file__).resolve().parents[2] / "data" / "corpus"


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rows")
    for name in ("finance_tax/tax_guide.md", "law_common/care_robot_act.txt"):
        shutil.copy(CORPUS / name, folder)
    return update_index(folder, folder / "index", embed=NgramEmbedding(dims=64), show_progress=False)[0]


@pytest.mark.parametrize("budget, least", [(300, 66), (1_000, 73)])
def test_every_row_is_found_with_its_header(index, budget, least):
    text = (CORPUS / "finance_tax/tax_guide.md").read_text(encoding="utf-8")
    table = max(find_tables(text), key=lambda t: len(t.rows))
    rows, column = [row.of(text).strip() for row in table.rows], table.header.of(text).split("|")[2].strip()
    assert len(rows) == 73 and len(index.catalogue)      # what the first hit cites is followed
    pipeline, found = Pipeline.from_index(index, budget=budget), 0
    for row in rows:
        context = pipeline.ask(f"{row.split('|')[1].strip()}의 {column}은 얼마인가요?").context.text
        found += row in context and column in context
    assert found >= least
