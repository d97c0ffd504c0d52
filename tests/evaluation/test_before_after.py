"""The table of the score before and after: made with a model on a server, kept, and the same sums as the score has."""
from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from conftest import ROOT
from ollama_server import OllamaServer

from ragnb.evaluation.datasets import load_dataset


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script as a module."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    spec = importlib.util.spec_from_file_location("before_after", ROOT / "benchmarks" / "before_after.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A set of three documents, each with its question."""
    found = {"tea": "green leaves and hot water", "rain": "clouds that cool above the hills", "steel": "iron with a little carbon"}
    filler = "Nobody knows much about this part of the matter. It was written down later by other people. "
    texts = {name: f"{filler * 8}Now {name} is made of {what}. {filler * 8}" for name, what in found.items()}
    quotes = {name: f"{name} is made of {what}" for name, what in found.items()}
    corpus = [{"doc_id": name, "title": "", "text": text} for name, text in texts.items()]
    asked = [{"query_id": name, "query": f"What is {name} made of?", "doc_id": name, "evidence_mode": "all",
              "evidence": [{"start": texts[name].find(q), "end": texts[name].find(q) + len(q), "text": q}]} for name, q in quotes.items()]
    (tmp_path / "three").mkdir()
    for name, lines in (("corpus", corpus), ("queries", asked)):
        (tmp_path / "three" / f"{name}.jsonl").write_text("".join(json.dumps(x) + "\n" for x in lines), encoding="utf-8")
    return tmp_path / "three"


def test_one_command_makes_the_table_with_a_model_of_an_ollama_server(benchmark: ModuleType, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "table.json"
    with OllamaServer(models=("bona/bge-m3-korean",)) as server:
        monkeypatch.setattr(sys, "argv", ["before_after.py", "--sets", str(folder), "--embed", "ollama:bona/bge-m3-korean", "--base-url", server.url, "--limit", "2",
                                          "--keep", str(tmp_path / "vectors"), "--store", str(target)])
        benchmark.main()
        embedded = [body["model"] for path, body in server.requests if path == "/api/embed"]
        assert embedded and set(embedded) == {"bona/bge-m3-korean"}
        first, row = target.read_bytes(), json.loads(target.read_text(encoding="utf-8"))["rows"][0]
        benchmark.main()
        assert len([1 for path, _ in server.requests if path == "/api/embed"]) == len(embedded)   # vectors were kept
    assert target.read_bytes() == first
    assert row["questions"] == 2 and [c["budget"] for c in row["cells"]] == [250, 500, 1_000, 2_000, 4_000]
    for cell in row["cells"]:
        assert cell["difference"] == pytest.approx(cell["now"] - cell["before"], abs=2e-5)
        assert cell["ci"][0] <= cell["difference"] <= cell["ci"][1]


def test_the_score_before_differs_in_its_words_alone(benchmark: ModuleType, folder: Path, tmp_path: Path) -> None:
    made = benchmark.build(load_dataset(folder), "none", tmp_path)
    retriever, moved = made.retriever(), 0
    for question in [q.query for q in made.dataset.questions]:
        now = retriever.rank(made.bundle(question))
        before = made.before(retriever, now, question)
        assert sorted(before.scores.rows) == sorted(now.scores.rows)
        moved += [p.score for p in before.pieces][:5] != [p.score for p in now.pieces][:5]
    assert moved    # and it is another score


def test_bm25_of_one_unit_is_bm25(benchmark: ModuleType, folder: Path, tmp_path: Path) -> None:
    made = benchmark.build(load_dataset(folder), "none", tmp_path)
    rows = np.arange(len(made.index))
    from scored_set import bm25_of_windows
    terms = ["iron", "made", "peopl"]
    z, plain = bm25_of_windows(made.index, terms, rows)[0], made.index.words.scores(terms)
    shares = [made.index.words.scores([t]) for t in terms]
    expected = np.maximum(plain - plain.mean(), 0) / np.sqrt(sum(s.var() for s in shares))
    assert z == pytest.approx(expected, rel=1e-5)


def test_rows_of_some_sets_take_the_place_of_those_in_a_file(benchmark, tmp_path):
    def row(name: str, now: float) -> dict:
        return {"set": name, "questions": 2, "embedding": "ngram", "cells": [{"budget": b, "before": 0.5, "now": now, "difference": now - 0.5, "error": 0.1} for b in benchmark.BUDGETS]}
    old = [row("a", 0.6), row("b", 0.7), row("b" + benchmark.CITED, 0.9)]
    benchmark.stored(tmp_path / "t.json", {"command": "all", "rows": [*old, benchmark.mean_of(old[:2])]})
    found = benchmark.merged(tmp_path / "t.json", [row("b", 0.8)])
    assert [r["set"] for r in found] == ["a", "b", "b" + benchmark.CITED, "mean of 2"]
    assert found[1]["cells"][0]["now"] == 0.8 and found[3]["cells"][0]["now"] == pytest.approx(0.7)
