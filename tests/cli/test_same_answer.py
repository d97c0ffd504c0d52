"""One index and one settings file: `ask`, `chat`, `serve` and `mcp` read the same text, for every policy."""
from __future__ import annotations

import asyncio
import io
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import SAMPLE
from serve_world import ask, client_of

from ragnb import Pipeline, read_settings
from ragnb.agent.library import Library
from ragnb.agent.tools import ReadingTools
from ragnb.cli import main
from ragnb.serve.app import create_app

QUESTIONS = ("반차는 몇 시간인가요?", "제3조는 무엇을 정하나요?")    # None names a document: the agent would search that one alone
UNITS = ["none", "neighbors:1", "siblings:1", "section", "pages:1", "document:3", "doc_type", "citations:1", "segments", "adaptive", "neighbors:1+citations:1"]
CHUNKS = ["none", "parent", "auto-merge", "neighbors:1"]
CASES = [("units", {"policy": policy}) for policy in UNITS] + [("parent-child", {"policy": policy}) for policy in CHUNKS] + [
    ("units", {"policy": "none", "cut": 0.4}), ("units", {"policy": "none", "lookup": False}), ("units", {"policy": "section", "lookup": False}),
    ("units", {"policy": "none", "compress": 300, "context": "table"}), ("units", {"policy": "none", "retrieve": "bm25", "top_k": 4}),
    ("units", {"policy": "none", "where": "folder!=x", "budget": 2000, "reorder": False}), ("units", {"policy": "section", "top_k": 7, "expand_top_k": 2})]


@pytest.fixture(scope="module")
def indexes(tmp_path_factory) -> dict[str, Path]:
    """An index of units and one of chunks, over rules with articles that cite each other."""
    docs, place = tmp_path_factory.mktemp("docs"), tmp_path_factory.mktemp("made")
    for name in ("leave.md", "labor_qa.jsonl"):
        shutil.copy(SAMPLE / "corpus/hr_labor" / name, docs / name)
    articles = "\n\n".join(f"제{n}조(규정 {n}) {n}번째 규정이다. 제{n % 5 + 1}조에 따라 반차 {n}번을 정한다." for n in range(1, 9))
    (docs / "취업규칙.txt").write_text(f"취업규칙\n[시행 2024. 1. 1.]\n\n{articles}\n", encoding="utf-8")
    for split in ("units", "parent-child"):
        assert main(["index", str(docs), "--index", str(place / split), "--split", split, "--quiet"]) == 0
    return {split: place / split for split in ("units", "parent-child")}


async def served(folder: Path, question: str) -> str:
    """The answer of a service with the settings of the folder, over its API."""
    app = create_app(Library.open(folder, **read_settings(folder)), models={"grade": None}, ask_user=False)
    async with client_of(app) as client:
        return (await ask(client, question))[-1]["turn"]["answer"]


@pytest.mark.parametrize("split, settings", CASES, ids=lambda value: value if isinstance(value, str) else " ".join(map(str, value.values())))
def test_every_command_reads_the_same(run, indexes, monkeypatch, split, settings):
    """`policy = "none"` in ragnb.toml: spans in `ask`, single units in `chat` and `serve` → the same text."""
    folder = indexes[split]
    (folder / "ragnb.toml").write_text("".join(f"{k} = {json.dumps(v)}\n" for k, v in ({"budget": 900} | settings).items()), encoding="utf-8")
    for question in QUESTIONS:
        code, out, err = run("ask", question, "--json", "--index", folder)
        assert code == 0, err
        asked: dict[str, Any] = json.loads(out)
        monkeypatch.setattr(sys, "stdin", io.StringIO(question + "\n"))
        code, out, err = run("chat", "--json", "--index", folder)
        assert code == 0, err
        said = json.loads(out)
        assert (said["answer"], said["note"]) == (asked["answer"], asked["note"])
        assert asyncio.run(served(folder, question)) == asked["answer"]
        tools = ReadingTools(Library.open(folder, **read_settings(folder)), budget=100_000, most_chunks=100, expand=True)
        tools.search(question, 3)
        whole = Pipeline.from_index(folder, **read_settings(folder) | {"budget": 100_000}).ask(question)
        assert tools.read and set(tools.read) <= {chunk for p in whole.expansion.passages for chunk in (*p.hits, *p.neighbors)}
