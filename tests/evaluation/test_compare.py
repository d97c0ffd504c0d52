"""Comparisons: tests against exact enumeration, sweeps that share work, resume, and come out the same in processes."""
from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from conftest import small_sample
from hypothesis import given, strategies as st
from strategies import examples

from ragnb import InputError
from ragnb.evaluation.comparison import (
    compare_results, Comparison, holm, paired_test, Run, run_strategies, RunPlan, write_results)
from ragnb.evaluation.datasets import Dataset, Question
from ragnb.evaluation.measures import Evaluation, Row, Score
from ragnb.evaluation.strategy import make_grid, PRESETS
from ragnb.evaluation.tune import choose

pytestmark = pytest.mark.heavy  # whole runs of evaluation or indexing


TESTS = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    return small_sample(12)


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


def rows(values, budget: int = 100) -> Evaluation:
    return Evaluation([Row(str(i), f"q{i}", "", {budget: Score(evidence_recall=v)}) for i, v in enumerate(values)], (budget,))


# --- the test -------------------------------------------------------------------------------------------------------------------------
@examples(60)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=9))
def test_the_permutation_p_value_is_that_of_all_signs(pairs):
    a, b = (np.array(v) / 4 for v in zip(*pairs))
    t = paired_test(a, b, n_samples=20_000)
    d = b - a
    exact = np.mean([abs(np.dot(signs, d)) >= abs(d.sum()) - 1e-9 for signs in product((-1, 1), repeat=len(d))])
    assert t.p_value == pytest.approx(exact, abs=0.015)
    assert t.difference == pytest.approx(d.mean()) and (t.better, t.worse, t.equal) == ((d > 0).sum(), (d < 0).sum(), (d == 0).sum())
    assert t.ci[0] - 1e-9 <= t.difference <= t.ci[1] + 1e-9
    back = paired_test(b, a, n_samples=20_000)
    assert back.difference == pytest.approx(-t.difference) and back.p_value == pytest.approx(t.p_value, abs=0.015)


@pytest.mark.parametrize("a, b", [([1], [1, 2]), ([float("nan")], [1]), ([[1]], [[1]]), ([float("inf")], [1])])
def test_values_that_cannot_be_paired(a, b):
    with pytest.raises(InputError, match="finite values of the same questions"):
        paired_test(a, b)


# --- comparisons ----------------------------------------------------------------------------------------------------------------------
def test_the_questions_that_decide_come_first():
    c = Comparison(rows([0, 1, .5, .5]), rows([1, .75, .5, .25]), ("x", "y"))
    assert [(d, a.query_id) for d, a, _ in c.differences()] == [(1, "0"), (-.25, "1"), (-.25, "3")]
    assert "| 100 | 0.500 | 0.625 | +0.125 |" in c.to_markdown()


@pytest.mark.parametrize("a, b, complaint", [(rows([1, 0]), rows([1]), "1 are in one only, first '1'"), (rows([1], 100), rows([1], 200), "share no budget")])
def test_runs_that_cannot_be_compared(a, b, complaint):
    with pytest.raises(InputError, match=complaint):
        Comparison(a, b)


# --- runs -----------------------------------------------------------------------------------------------------------------------------
GRID = make_grid(split=["parent-child", "sentence"], retrieve=["bm25", "hybrid"], policy=["none", "neighbors:1"])


@pytest.fixture(scope="module")
def first(dataset, cache, tmp_path_factory):
    keep = tmp_path_factory.mktemp("keep")
    plan = RunPlan(dataset, (300, 900), cache=cache, keep=keep)
    return plan, run_strategies(plan, GRID, show_progress=False)


def test_each_strategy_alone_gives_what_it_gives_in_the_grid(dataset, cache, first):
    plan = RunPlan(dataset, (300, 900), cache=cache)
    for strategy, run in list(zip(GRID, first[1]))[::3]:
        (alone,) = run_strategies(plan, [strategy], show_progress=False)
        assert alone.evaluation.rows == run.evaluation.rows and alone.reads == run.reads


def test_what_is_done_is_not_done_again(first, monkeypatch):
    plan, runs = first
    monkeypatch.setattr("ragnb.evaluation.comparison.build_system", None)  # building anything would fail
    again = run_strategies(plan, GRID, show_progress=False)
    assert [r.evaluation.rows for r in again] == [r.evaluation.rows for r in runs]
    assert [(r.seconds, r.reads) for r in again] == [(r.seconds, r.reads) for r in runs]
    with pytest.raises(TypeError):
        run_strategies(RunPlan(plan.dataset, (301,), cache=plan.cache, keep=plan.keep), GRID[:1], show_progress=False)


def test_processes_give_the_same(dataset, cache, first):
    runs = run_strategies(RunPlan(dataset, (300, 900), cache=cache), GRID, workers=2, show_progress=False)
    assert [r.evaluation.rows for r in runs] == [r.evaluation.rows for r in first[1]]


def test_a_sweep_that_is_killed_goes_on(tmp_path):
    cache, keep = tmp_path / "cache", tmp_path / "keep"
    script = tmp_path / "sweep.py"
    script.write_text(f"""
import sys
sys.path.insert(0, {str(TESTS)!r})
from evaluation.test_compare import sweep
sweep({str(cache)!r}, {str(keep)!r})
""", encoding="utf-8")
    process = subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True)
    while process.poll() is None and not list(keep.glob("*.json")):
        time.sleep(0.02)
    if process.poll() is None:
        os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    kept = {p: p.stat().st_mtime_ns for p in keep.glob("*.json")}
    assert 0 < len(kept) <= 4
    first, second = (sweep(cache, keep) for _ in range(2))
    assert first == second and len(first) == 4
    assert {p: p.stat().st_mtime_ns for p in kept} == kept and len(list(keep.glob("*.json"))) == 4


def sweep(cache, keep) -> list[float]:
    grid = make_grid(split=["sentence", "chunks:300/0"], retrieve=["bm25", "vector"])
    plan = RunPlan(small_sample(8), (300, 900), cache=cache, keep=keep)
    return [r.evaluation.mean(budget=300) for r in run_strategies(plan, grid, show_progress=False)]


def test_results_are_compared_from_their_files(dataset, first, tmp_path):
    plan, runs = first
    write_results(runs[:1], dataset, tmp_path / "a")
    write_results(runs[1:2], dataset, tmp_path / "b")
    write_results(runs[:2], dataset, tmp_path / "ab")
    results = json.loads((tmp_path / "ab" / "results.json").read_text(encoding="utf-8"))
    assert results["n_questions"] == 12 and list(results["strategies"]) == [s.name for s in GRID[:2]]
    for strategy in results["strategies"].values():
        assert {"evidence_recall", "ci", "precision", "iou", "containment", "characters"} <= set(strategy["budgets"]["300"]) and {"measures", "seconds", "store_reads"} <= set(strategy)
    (pair,) = compare_results(tmp_path / "a", tmp_path / "b" / "results.json").values()
    assert pair.test(budget=900).difference == pytest.approx(runs[1].evaluation.mean(budget=900) - runs[0].evaluation.mean(budget=900))
    assert list(compare_results(tmp_path / "ab", tmp_path / "a")) == [GRID[0].name]
    with pytest.raises(InputError, match="no results at"):
        compare_results(tmp_path / "a", tmp_path / "nowhere")
    for bad in ("[]", "{", '{"n_questions": 3}'):
        (tmp_path / "bad.json").write_text(bad, encoding="utf-8")
        with pytest.raises(InputError, match="is no results file"):
            compare_results(tmp_path / "a", tmp_path / "bad.json")
    write_results(runs[2:4], dataset, tmp_path / "other")
    with pytest.raises(InputError, match="share no strategy"):
        compare_results(tmp_path / "ab", tmp_path / "other")


def test_documents_ranked_whole(dataset, cache):
    judged = Dataset("judged", dataset.documents, dataset.questions, {q.query_id: {e.doc_id: 1 for e in q.evidence} for q in dataset.questions})
    bm25, hybrid = run_strategies(RunPlan(judged, cache=cache, by_documents=True), ["bm25", "hybrid"], show_progress=False)
    assert 0.5 < bm25.measures["nDCG@10"] <= 1 and set(bm25.measures) == set(hybrid.measures)
    assert Comparison(bm25.evaluation, hybrid.evaluation).test().mean_a == pytest.approx(bm25.measures["nDCG@10"])


@pytest.mark.parametrize("change, complaint", [({"questions": []}, "has no questions"), ({}, "has no qrels")])
def test_plans_that_cannot_be_run(dataset, change, complaint):
    with pytest.raises(InputError, match=complaint):
        RunPlan(Dataset("x", dataset.documents, change.get("questions", [Question("q", "?", ())])), by_documents=True)


def test_the_mean_over_budgets_is_one_number(tmp_path):
    """What `--compare` prints in its line mean is the difference that the page of `tune` shows."""
    rng = random.Random(3)

    def run(name: str) -> Run:
        rows = [Row(f"q{i}", "?", "", {b: Score(rng.random()) for b in (500, 1_000, 4_000)}) for i in range(40)]
        return Run(PRESETS[name], Evaluation(rows, (500, 1_000, 4_000)))
    a, b = run("multi-scale"), run("bm25")
    pair, choice = Comparison(a.evaluation, b.evaluation, ("multi-scale", "bm25")), choose([a, b])
    assert choice.winner == "multi-scale" and pair.levels == (500, 1_000, 4_000, "mean")
    assert pair.test(budget="mean").difference == pytest.approx(choice.tests["bm25"].difference)
    line = pair.to_markdown().splitlines()[-1]
    assert line.startswith("| mean |") and f"{choice.means['multi-scale']:.3f} | {choice.means['bm25']:.3f}" in line
    assert choice.over == " over 3 budgets of 500 to 4,000 characters"
    alone = Comparison(*(Evaluation([Row("q", "?", "", {500: Score(.5)})], (500,)) for _ in "ab"))
    assert alone.levels == (500,) and "mean" not in alone.to_markdown()


@examples(100)
@given(st.lists(st.floats(0, 1), max_size=12))
def test_holm_is_its_definition(p_values):
    """A corrected value is at most a level exactly where Holm's step-down procedure rejects at that level."""
    corrected = holm(p_values)
    for level in (0.01, 0.05, 0.2, *corrected):
        rejected, ranked = set(), sorted(range(len(p_values)), key=lambda i: p_values[i])
        for rank, i in enumerate(ranked):
            if p_values[i] * (len(p_values) - rank) > level:
                break
            rejected.add(i)
        assert level >= 1 or {i for i, p in enumerate(corrected) if p <= level} == rejected
    assert all(a >= p for a, p in zip(corrected, p_values))


@pytest.mark.parametrize("wrong", [[-0.1], [1.1], [float("nan")], [[0.1]]])
def test_holm_wants_p_values(wrong):
    with pytest.raises(InputError, match="p_values"):
        holm(wrong)


def test_workers_and_models_do_not_mix(dataset):
    with pytest.raises(InputError, match="workers must be"):
        run_strategies(RunPlan(dataset), GRID, llm=object(), workers=2, show_progress=False)
