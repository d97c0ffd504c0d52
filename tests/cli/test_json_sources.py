"""`--json` of `ask` and `trace`: its schema over several indexes, and the sources."""
from __future__ import annotations

import asyncio
import io
import json
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from conftest import SAMPLE, write
from jsonschema import Draft202012Validator
from llama_index.core.llms import MockLLM
from serve_world import ask, client_of

from ragnb import ModelError, Pipeline, read_settings
from ragnb.agent.library import Library
from ragnb.agent.tools import ReadingTools
from ragnb.cli import answer_facts, main
from ragnb.serve.app import create_app

SCHEMA = json.loads((files("ragnb") / "pipeline" / "answer.schema.json").read_text(encoding="utf-8"))
CASES = {   # Index -> splitter, and questions with their options
    "units": ("units", [("경조휴가는 며칠인가요?",), ("공유작업장법 제17조의2는?", "--budget", "700"), ("공룡은 언제 멸종했나요?", "--budget", "20"), ("GN-300 점검 주기", "--policy", "doc_type")]),
    "children": ("parent-child", [("경조휴가는 며칠인가요?", "--policy", "parent"), ("E-117 조치", "--compress", "200"), ("반차", "--retrieve", "bm25", "--context", "table")]),
    "articles": ("structure", [("제2조", "--policy", "citations+neighbors:1"), ("반차는 몇 시간인가요?", "--no-reorder")])}


@pytest.fixture(scope="module")
def indexes(tmp_path_factory) -> Path:
    """One corpus with laws, rows, pages and a table, split in three ways."""
    folder = tmp_path_factory.mktemp("schema")
    for name in ("hr_labor/leave.md", "maintenance/gcb.jsonl", "law_common/interpretations.jsonl", "law_common/shared_workshop_act.txt"):
        text = (SAMPLE / "corpus" / name).read_text(encoding="utf-8")
        write(folder / "docs", {name: text if "gcb" not in name else "\n".join(text.splitlines()[:3])})
    (folder / "docs/pages.jsonl").write_text('{"id": "pages", "title": "안내", "pages": ["첫 장이다.", "셋째 주에는 소풍을 간다."]}\n', encoding="utf-8")
    for name, (split, _) in CASES.items():
        assert main(["index", str(folder / "docs"), "--index", str(folder / name), "--split", split, "--quiet"]) == 0
    return folder


def checked(facts: dict) -> dict:
    """The facts, which the schema must allow, and whose sources must be places of their passages."""
    errors = [f"{'/'.join(map(str, e.absolute_path))}: {e.message[:200]}" for e in Draft202012Validator(SCHEMA).iter_errors(facts)]
    assert errors == []
    texts = {p["id"]: p["text"] for p in facts["passages"]}
    for source in facts["sources"]:
        assert source["end"] - source["start"] == len(source["text"]) and source["text"] in texts[source["id"]]
        assert source["doc_id"] in source["id"] and f"({source['label']})" in facts["answer"] + facts["context"]
    return facts


@pytest.mark.parametrize("name", CASES)
def test_what_is_printed_follows_the_schema(run, indexes, name):
    for question, *options in CASES[name][1]:
        code, out, err = run("ask", question, *options, "--index", indexes / name, "--json")
        assert code == 0, err
        checked(json.loads(out))
        code, out, _ = run("trace", question, *options, "--index", indexes / name, "--json")
        traced = json.loads(out)
        assert code == 0 and checked(traced)["trace"] is not None


def test_a_source_names_document_title_article_and_pages(run, indexes):
    def first(question: str) -> dict:
        return json.loads(run("ask", question, "--index", indexes / "units", "--json")[1])["sources"][0]

    law, paged = first("공유작업장법 제17조의2"), first("소풍은 언제 가나요?")
    assert law["article"] == "제17조의2" and law["article"] in law["label"] and law["title"]
    assert (paged["doc_id"], paged["title"], paged["pages"]) == ("pages", "안내", [2]) or paged["pages"] == [2]


def test_an_answer_of_a_model_and_a_failure_follow_it_too(indexes):
    written = Pipeline.from_index(indexes / "units", llm=MockLLM()).ask("경조휴가는 며칠인가요?")
    facts = answer_facts(written)
    Draft202012Validator(SCHEMA).validate(facts)
    assert facts["generated"] and facts["sources"] == written.sources()
    failed = answer_facts(written, ModelError("no server", written))
    Draft202012Validator(SCHEMA).validate(failed)
    assert failed["error"] == "no server"


def test_the_schema_refuses_other_objects(run, indexes):
    facts = json.loads(run("ask", "반차", "--index", indexes / "units", "--json")[1])
    for change in ({"sources": [{"number": 1}]}, {"equipment": ""}, {"passages": "none"}, {"question": None}):
        assert not Draft202012Validator(SCHEMA).is_valid(facts | change)
    assert not Draft202012Validator(SCHEMA).is_valid({k: v for k, v in facts.items() if k != "sources"})


def test_documents_have_no_keys_without_values(indexes):
    rows = Library.open(indexes / "units").rows
    assert all(value or key in ("title", "doc_type") for row in rows for key, value in row.items())
    assert any("equipment" in row for row in rows) and not all("equipment" in row for row in rows)


QUESTIONS = ("반차는 몇 시간인가요?", "제3조는 무엇을 정하나요?")    # None names a document: the agent would search that one alone
UNITS = ["none", "neighbors:1", "siblings:1", "section", "pages:1", "document:3", "doc_type", "citations:1", "segments", "adaptive", "neighbors:1+citations:1"]
CHUNKS = ["none", "parent", "auto-merge", "neighbors:1"]
SETTINGS = [("units", {"policy": policy}) for policy in UNITS] + [("parent-child", {"policy": policy}) for policy in CHUNKS] + [
    ("units", {"policy": "none", "cut": 0.4}), ("units", {"policy": "none", "lookup": False}), ("units", {"policy": "section", "lookup": False}),
    ("units", {"policy": "none", "compress": 300, "context": "table"}), ("units", {"policy": "none", "retrieve": "bm25", "top_k": 4}),
    ("units", {"policy": "none", "where": "folder!=x", "budget": 2000, "reorder": False}), ("units", {"policy": "section", "top_k": 7, "expand_top_k": 2})]


@pytest.fixture(scope="module")
def made_twice(tmp_path_factory) -> dict[str, Path]:
    """An index of units and one of chunks, over rules with articles that cite each other."""
    docs, place = tmp_path_factory.mktemp("docs"), tmp_path_factory.mktemp("made")
    for name, end in (("leave.md", "\n## 6"), ("labor_qa.jsonl", "\n")):
        write(docs, {name: (SAMPLE / "corpus/hr_labor" / name).read_text(encoding="utf-8").partition(end)[0]})
    articles = "\n\n".join(f"제{n}조(규정 {n}) {n}번째 규정이다. 제{n % 5 + 1}조에 따라 반차 {n}번을 정한다." for n in range(1, 9))
    (docs / "취업규칙.txt").write_text(f"취업규칙\n[시행 2024. 1. 1.]\n\n{articles}\n", encoding="utf-8")
    for split in ("units", "parent-child"):
        assert main(["index", str(docs), "--index", str(place / split), "--split", split, "--quiet"]) == 0
    return {split: place / split for split in ("units", "parent-child")}


async def served(library: Library) -> list[str]:
    """The answers of a service over its API."""
    async with client_of(create_app(library, models={"grade": None}, ask_user=False)) as client:
        return [(await ask(client, question))[-1]["turn"]["answer"] for question in QUESTIONS]


@pytest.mark.parametrize("split, settings", SETTINGS, ids=lambda value: value if isinstance(value, str) else " ".join(map(str, value.values())))
def test_every_command_reads_the_same(run, made_twice, monkeypatch, split, settings):
    """`policy = "none"` in ragnb.toml: spans in `ask`, single units in `chat` and `serve` → the same text."""
    folder = made_twice[split]
    (folder / "ragnb.toml").write_text("".join(f"{k} = {json.dumps(v)}\n" for k, v in ({"budget": 900} | settings).items()), encoding="utf-8")
    library = Library.open(folder, **read_settings(folder))
    whole = Pipeline.from_index(folder, **read_settings(folder) | {"budget": 100_000})
    for question, answer in zip(QUESTIONS, asyncio.run(served(library)), strict=True):
        code, out, err = run("ask", question, "--json", "--index", folder)
        assert code == 0, err
        asked: dict[str, Any] = json.loads(out)
        monkeypatch.setattr(sys, "stdin", io.StringIO(question + "\n"))
        code, out, err = run("chat", "--json", "--index", folder)
        assert code == 0, err
        said = json.loads(out)
        assert (said["answer"], said["note"], answer) == (asked["answer"], asked["note"], asked["answer"])
        tools = ReadingTools(library, budget=100_000, most_chunks=100, expand=True)
        tools.search(question, 3)
        assert tools.read and set(tools.read) <= {chunk for p in whole.ask(question).expansion.passages for chunk in (*p.hits, *p.neighbors)}
