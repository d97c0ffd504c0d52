"""What a model's part failed to do is a note of the answer, whichever part it was."""
from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ragnb import Pipeline, update_index
from ragnb.indexing.folder_index import Index
from ragnb.models.scripted import ScriptedLLM

QUESTION = "연차는 며칠인가요?"
PARTS = {"window": {"policy": "llm"}, "wordings": {"retriever": "multi-query:bm25"}, "passage": {"retriever": "hyde:vector"}, "grades": {"reranker": "llm"},
         "sentences": {"compressor": "llm:60"}}
ANSWERS = {"window": "2", "wordings": '["연차 일수"]', "passage": "연차는 15일이다.", "grades": '{"1": "HIGH"}', "sentences": "연차는 12일이다."}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    folder: Path = tmp_path_factory.mktemp("fallbacks")
    (folder / "docs").mkdir()
    (folder / "docs" / "규정.txt").write_text("\n\n".join(f"제{n}조 직원의 휴가는 인사팀이 정한다. 연차는 {n + 10}일이다." for n in range(1, 30)), encoding="utf-8")
    return update_index(folder / "docs", folder / "index", parser="recursive:80/0", show_progress=False)[0]


def note_of(index: Index, part: str, reply: object) -> str:
    """The note of an answer without a writing model; its parts ask one that gives this reply."""
    pipeline = Pipeline.from_index(index, llm=ScriptedLLM(reply), **{"retriever": "bm25", "top_k": 5} | PARTS[part])
    return replace(pipeline, llm=None).ask(QUESTION).note


@pytest.mark.parametrize("part", PARTS)
def test_a_fallback_is_a_note(index: Index, part: str) -> None:
    for useless in ("<think>…", ConnectionResetError("gone")):
        assert "model" in note_of(index, part, useless) or "reranker" in note_of(index, part, useless), useless
    assert "model" not in (fine := note_of(index, part, ANSWERS[part])) or part == "grades" and "graded" in fine
