"""Two editions of one statute in an index: which is read first, and what the header of the other says."""
from __future__ import annotations

import json
from pathlib import Path

import pytest

from ragnb.cli import main
from ragnb.documents.span import InputError
from ragnb.indexing.folder_index import Index
from ragnb.indexing.update import update_index
from ragnb.pipeline.pipeline import Pipeline
from ragnb.pipeline.trace_data import trace

LAW = "출장여비법\n[시행 {date}.] [법률 제{no}호]\n\n제1조(목적) 이 법은 출장 여비를 정한다.\n\n제2조(일비) 일비는 하루 {no}만원으로 한다.\n\n제3조(숙박) 숙박비는 실비로 한다.\n"
QUESTION = "출장여비법 제2조의 일비는 얼마인가?"


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    docs = tmp_path_factory.mktemp("laws")
    for name, date, no in (("a_old", "2018. 7. 1", 2), ("b_new", "2024. 3. 1", 5)):
        (docs / f"{name}.txt").write_text(LAW.format(date=date, no=no), encoding="utf-8")
    update_index(docs, docs / "index", show_progress=False)
    return docs / "index"


@pytest.mark.parametrize("as_of, first, marked", [
    (None, "b_new.txt", "개정 전 (2018-07-01 시행, 현행 2024-03-01)"), ("2020-01-01", "a_old.txt", "2024-03-01 시행 예정"),
    ("today", "b_new.txt", "개정 전 (2018-07-01 시행, 현행 2024-03-01)"),
])
def test_the_edition_in_force_comes_first_and_the_other_is_marked(folder: Path, as_of: str | None, first: str, marked: str) -> None:
    answer = Pipeline.from_index(Index.open(folder), as_of=as_of).ask(QUESTION)
    ranked = sorted(answer.passages, key=lambda p: p.rank)
    assert ranked[0].doc_id == first and "edition" not in ranked[0].metadata
    assert {p.metadata.get("edition") for p in answer.passages if p.doc_id != first} == {marked}
    headers = [line for line in answer.context.text.splitlines() if line.startswith("[") and (".txt" in line)]
    assert all((marked in line) == (first not in line) for line in headers) and len(headers) >= 2
    assert marked in trace(answer).table()


def test_the_command_line_and_its_mistake(folder: Path, capsys) -> None:
    assert main(["ask", QUESTION, "--index", str(folder), "--as-of", "2020-01-01", "--json"]) == 0
    passages = json.loads(capsys.readouterr().out)["passages"]
    assert min(passages, key=lambda p: p["rank"])["id"].startswith("a_old.txt")
    assert main(["ask", QUESTION, "--index", str(folder), "--as-of", "언젠가"]) == 2
    assert "as_of must be a date" in capsys.readouterr().err
    with pytest.raises(InputError, match="as_of"):
        Pipeline.from_index(folder, as_of="soon")
