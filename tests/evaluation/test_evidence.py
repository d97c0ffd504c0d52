"""Verdicts of the evidence table: equivalence and power against references, and a run that goes on where it was interrupted."""
from __future__ import annotations

import importlib.util
import math
import re
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from conftest import SAMPLE
from hypothesis import given, strategies as st
from scipy.stats import t, ttest_1samp
from strategies import examples

from ragnb.documents.span import InputError
from ragnb.evaluation.comparison import Run
from ragnb.evaluation.datasets import load_dataset
from ragnb.evaluation.evidence import could_win, Difference, equivalence, evidence_table, highest_mean, judged, power
from ragnb.evaluation.measures import Evaluation, Row, Score
from ragnb.evaluation.strategy import build_system, Strategy
from ragnb.evaluation.tune import choose_by_halves

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def benchmark():
    """The script, as a module."""
    sys.path.insert(0, str(BENCHMARKS))
    try:
        spec = importlib.util.spec_from_file_location("evidence_benchmark", BENCHMARKS / "evidence.py")
        module = importlib.util.module_from_spec(spec)
        sys.modules["evidence_benchmark"] = module
        spec.loader.exec_module(module)
        yield module
    finally:
        sys.path.remove(str(BENCHMARKS))


differences = st.lists(st.floats(-1, 1).map(lambda x: round(x, 3)), min_size=3, max_size=60).filter(lambda d: np.std(d) > 1e-3)


@given(differences, st.floats(0.01, 0.5))
@examples(100)
def test_equivalence_is_the_larger_of_two_one_sided_t_tests(d, margin):
    """As scipy's one-sided tests of the mean against either end of the margin (statsmodels' ttost_paired does the same)."""
    above = ttest_1samp(d, -margin, alternative="greater").pvalue
    below = ttest_1samp(d, margin, alternative="less").pvalue
    assert math.isclose(equivalence(d, margin), max(above, below), abs_tol=1e-9)


@given(differences, st.floats(0.01, 0.5))
@examples(100)
def test_equivalence_is_shown_when_the_90_percent_interval_is_within_the_margin(d, margin):
    mean, error = np.mean(d), np.std(d, ddof=1) / math.sqrt(len(d))
    reach = t.ppf(0.95, len(d) - 1) * error
    inside = -margin < mean - reach and mean + reach < margin
    p = equivalence(d, margin)
    assert (p < 0.05) == inside or abs(p - 0.05) < 1e-6


@pytest.mark.parametrize("d, margin", [([0.1], 0.05), ([0.1, math.nan], 0.05), ([[0.1, 0.2]], 0.05), ([0.1, 0.2], 0), ([0.1, 0.2], math.nan)])
def test_equivalence_names_what_it_cannot_use(d, margin):
    with pytest.raises(InputError, match="differences must|margin must"):
        equivalence(d, margin)


@pytest.mark.parametrize("difference, sd, n", [(0.05, 0.35, 100), (0.1, 0.35, 95), (0.03, 0.2, 400), (0, 0.3, 30)])
def test_power_is_the_share_of_drawn_runs_that_are_significant(difference, sd, n):
    drawn = np.random.default_rng(1).normal(difference, sd, (4_000, n))
    share = (ttest_1samp(drawn, 0, axis=1).pvalue < 0.05).mean()
    assert abs(power(difference, sd, n) - share) < 0.025


def test_power_agrees_with_published_values():
    """Cohen's d = .5 needs 34 pairs for .8 in a two-sided test, d = .2 needs 199 (statsmodels TTestPower, G*Power)."""
    assert power(0.5, 1, 33) < 0.8 <= power(0.5, 1, 34) and power(0.2, 1, 198) < 0.8 <= power(0.2, 1, 199)
    assert power(0.05, 0.35, 400) == power(-0.05, 0.35, 400)
    with pytest.raises(InputError, match="got 1 and"):
        power(0.05, 0.35, 1)


def test_a_rival_cannot_win_where_nothing_is_left_to_win():
    assert [could_win([1.0] * 100), could_win([1.0] * 95 + [0.0] * 5), could_win([1.0] * 80 + [0.0] * 20)] == [False, False, True]


def cell(difference: float, error: float, p: float = 0.5, p_level: float = 0.5) -> Difference:
    return Difference(0.9, 0.9 - difference, difference, difference - 2 * error, difference + 2 * error, p, p_level, error, 100)


@pytest.mark.parametrize("given_cell, verdict", [
    (cell(0.1, 0.02, p=0.001), "ahead"), (cell(-0.1, 0.02, p=0.001), "behind"), (cell(0.01, 0.01, p_level=0.001), "level"), (cell(0.03, 0.03), "undecided"),
    (cell(0.04, 0.01, p=0.001, p_level=0.01), "ahead"), (cell(0.05, 0.03, p=0.04), "undecided"), (cell(0.05, 0.02, p=0.06), "undecided")])
def test_verdicts(given_cell, verdict):
    """Ahead needs interval and p-value; a significant difference within the margin is not called level."""
    assert given_cell.verdict == verdict and given_cell.to_dict()["verdict"] == verdict
    assert Difference.from_dict(given_cell.to_dict()) == given_cell


def test_few_questions_decide_nothing():
    """Two systems with the same chance of an answer: 20 questions are never level, 3,000 always are."""
    rng = np.random.default_rng(5)
    found = {n: [judged(rng.random(n) < 0.9, rng.random(n) < 0.9).verdict for _ in range(5)] for n in (20, 3_000)}
    assert "level" not in found[20] and set(found[3_000]) == {"level"}


def test_a_mean_over_sets_counts_each_set_once():
    rng = np.random.default_rng(2)
    pairs = [(rng.random(n) < 0.9, rng.random(n) < 0.8) for n in (50, 500)]
    cells = [judged(*pair) for pair in pairs]
    mean = Difference.mean(cells)
    each = [a.astype(float) - b for a, b in pairs]
    assert math.isclose(mean.difference, np.mean([d.mean() for d in each]))
    assert math.isclose(mean.error, math.sqrt(sum(d.var(ddof=1) / len(d) for d in each)) / 2)
    assert math.isclose(mean.high - mean.difference, 1.96 * mean.error) and mean.n == 550


def run_of(name: str, recalls) -> Run:
    rows = [Row(f"q{i}", "?", "", {500: Score(float(r)), 1_000: Score(float(r))}) for i, r in enumerate(recalls)]
    return Run(Strategy(name), Evaluation(rows, (500, 1_000)))


def test_the_highest_mean_is_taken_without_a_privilege():
    low, high = run_of("multi-scale", [0.5] * 10), run_of("other", [0.51] * 10)
    assert highest_mean([low, high]) == "other" and highest_mean([low, run_of("same", [0.5] * 10)]) == "multi-scale"
    assert choose_by_halves([low, high], highest_mean).winners == ("other", "other")


def test_the_table_has_a_line_for_each_set_and_the_mean():
    cells = {"1000": cell(0.05, 0.01, p=0.001).to_dict()}
    row = {"set": "mine", "about": "my files", "n": 100, "default": {"1000": 0.9}, "library": {"name": "lib", "note": "reimplemented", "of": 3, "cells": cells},
           "recipe": {"name": "recipe", "cells": {"1000": cell(-0.01, 0.02).to_dict()}}}
    results = {"rows": [row], "mean": {"library": cells, "recipe": cells, "rival": {}}}
    table = evidence_table(results, 1_000).splitlines()
    assert "| ahead +0.05 [+0.03, +0.07] lib (reimplemented) | undecided -0.01 [-0.05, +0.03] | not run |" in table[2]
    assert table[3] == "| mean |  |  | ahead +0.05 [+0.03, +0.07] | ahead +0.05 [+0.03, +0.07] | not run |" and len(table) == 4
    assert len(evidence_table(results, 1_000, only=["mine"]).splitlines()) == 3


@pytest.fixture(scope="module")
def small():
    whole = load_dataset(SAMPLE).limit(4)
    wanted = {e.doc_id for q in whole.questions for e in q.evidence}
    return replace(whole, documents={i: d for i, d in whole.documents.items() if i in wanted})


def test_a_run_goes_on_where_it_was_interrupted(benchmark, small, tmp_path, monkeypatch, capsys):
    """Each setting is a file: a second run asks nothing, and after one file is lost, one setting is asked."""
    asked: list[str] = []

    def counting(plan, grid, **more):
        asked.extend(s.name for s in grid if not benchmark.kept(plan, s))
        return real(plan, grid, **more)
    real = benchmark.run_strategies
    monkeypatch.setattr(benchmark, "run_strategies", counting)
    monkeypatch.setattr(benchmark, "LIBRARIES", ("llamaindex-fusion",))
    monkeypatch.setattr(benchmark, "our_grid", lambda base: [base, replace(base, split="units-of:300", name="larger")])
    monkeypatch.setattr(benchmark, "recipe_grid", lambda: benchmark.resolve_strategies(["peer:recipe", "peer:recipe:size=64,titles"]))
    row = benchmark.Row("small", "a few", lambda: small)
    tuned = ["peer:llamaindex-fusion:chunk_size=64,chunk_overlap=0"]
    monkeypatch.setattr(benchmark, "TUNED", {"llamaindex-fusion": ["chunk_size=64,chunk_overlap=0"]})
    args = SimpleNamespace(limit=4, work=tmp_path, kept=False, first=False, wide=False, libraries=None, peers=False)
    finished = SimpleNamespace(**(vars(args) | {"kept": True}))
    assert benchmark.run_row(row, finished) is None and asked == []   # nothing is finished
    first = benchmark.run_row(row, args)
    assert sorted(asked) == sorted(["multi-scale", "larger", "peer:recipe", "peer:recipe:size=64,titles", "peer:llamaindex-fusion", *tuned])
    texts = benchmark.json.loads((tmp_path / "texts" / "small" / "results.json").read_text(encoding="utf-8"))
    assert list(texts["strategies"]) == ["multi-scale", "peer:recipe", "peer:llamaindex-fusion"] and (tmp_path / "texts" / "small" / "contexts.jsonl.gz").is_file()
    asked.clear()
    assert benchmark.run_row(row, args) == first and asked == []
    ours, rival = (benchmark.plan_of(row, small, system, tmp_path) for system in ("ragnb", "recipe"))
    assert [len([*Path(plan.keep).glob("*.json")]) for plan in (ours, rival)] == [2, 3 + len(tuned)] and first["costs"].keys() == {"ragnb", "recipe", "llamaindex-fusion"}
    assert all(cost["index_cpu"] > 0 and cost["ask_cpu"] > 0 for cost in first["costs"].values())
    (Path(rival.keep) / f"{rival.key(benchmark.recipe_grid()[1])}.json").unlink()
    partly = benchmark.run_row(row, finished)
    assert asked == [] and partly["rival"]["tried"] == {"ragnb": 2, "rivals": 2 + len(tuned)}   # the table of what is finished
    assert benchmark.run_row(row, args) == first and asked == ["peer:recipe:size=64,titles"]
    assert first["n"] == 4 and first["library"]["of"] == 1 and set(first["rival"]["cells"]) == {"500", "1000", "4000"}


def test_ragnb_is_measured_again_after_a_change_of_its_answers_and_peers_are_not(benchmark, small, tmp_path, monkeypatch):
    """The folder of a run has a hash of the modules that make it."""
    row = benchmark.Row("small", "a few", lambda: small)
    folders = {}
    monkeypatch.setattr(benchmark, "ANSWERS", ("retrieval",))
    for changed in ("nothing", "retrieval/scoring.py", "evaluation/recipe.py"):
        monkeypatch.setattr(benchmark, "ROOT", tmp_path / changed.replace("/", "-"))
        for name in ("retrieval/scoring.py", "evaluation/peers.py", "evaluation/recipe.py", "context/builders.py"):
            file = benchmark.ROOT / "ragnb" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("changed" if name == changed else "", encoding="utf-8")
        benchmark.code_of.cache_clear()
        folders[changed] = [Path(benchmark.plan_of(row, small, system, tmp_path).keep).name for system in ("ragnb", "recipe")]
    benchmark.code_of.cache_clear()
    (ours, peers), (ours_after, peers_after) = folders["nothing"], folders["retrieval/scoring.py"]
    assert ours != ours_after and peers == peers_after
    assert folders["evaluation/recipe.py"][0] == ours and folders["evaluation/recipe.py"][1] != peers


def test_a_library_in_its_own_environment_asks_for_vectors_and_answers(benchmark, small, tmp_path, monkeypatch):
    """The script of the libraries ends with 3 and the texts it has no vectors of; afterwards it has the hits of every question, in the documents' words."""
    from kept_vectors import KeptVectors, PASSAGE
    monkeypatch.setattr(benchmark, "RUNNING", benchmark.Running([q.query for q in small.questions], tmp_path, KeptVectors(tmp_path / "vectors.db"), "1"))
    system = build_system("peer:bm25s-kiwi", small)
    hits = system.rank(small.questions[0].query).at(1_000)
    assert hits and all(p.text == p.span.of(small.texts[p.doc_id]) for p in hits) and benchmark.RUNNING.cost["lines"] < 20
    job = {"system": "needs-vectors", "settings": {}, "texts": small.texts, "titles": {}, "questions": ["?"], "fill": 1_000, "model": "m", "vectors": str(tmp_path / "vectors.db")}
    (tmp_path / "job.json").write_text(benchmark.json.dumps(job), encoding="utf-8")
    monkeypatch.setitem(benchmark.rivals.SYSTEMS, "needs-vectors", (benchmark.rivals.OWN, embeds_all, "none"))
    assert benchmark.rivals.run(tmp_path / "job.json", tmp_path / "out.json") == 3
    missing = benchmark.json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    assert missing == {"kind": PASSAGE, "missing": list(small.texts.values())}
    benchmark.RUNNING.vectors.put("m", PASSAGE, {text: np.ones(2) for text in small.texts.values()}, 0.5)
    assert benchmark.rivals.run(tmp_path / "job.json", tmp_path / "out.json") == 0
    cost = benchmark.json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["cost"]
    assert math.isclose(cost["embed_cpu"], 0.5) and cost["lines"] == 3


def embeds_all(job):
    """Embed every document, and find nothing."""
    job.embed(list(job.texts.values()))
    return lambda question: []


def test_vectors_are_computed_once(tmp_path):
    """Also by another process, which opens the same file."""
    sys.path.insert(0, str(BENCHMARKS))
    try:
        from kept_vectors import KeptVectors, PASSAGE, QUERY
    finally:
        sys.path.remove(str(BENCHMARKS))
    asked: list[str] = []

    def embed(texts):
        asked.extend(texts)
        return [np.array([len(text), 1.0]) for text in texts]
    first = KeptVectors(tmp_path / "v.db").through("m", PASSAGE, ["b", "aaa", "b"], embed)
    assert first.tolist() == [[1, 1], [3, 1], [1, 1]] and asked == ["b", "aaa"]
    again = KeptVectors(tmp_path / "v.db")
    assert again.through("m", PASSAGE, ["aaa", "cc"], embed).tolist() == [[3, 1], [2, 1]] and asked == ["b", "aaa", "cc"]
    assert again.get("m", QUERY, ["aaa"]) == {} == again.get("other", PASSAGE, ["aaa"])


def test_rows_of_other_sets_stay_with_their_commit(benchmark, tmp_path):
    """A run of one set replaces its row alone."""
    out, args = tmp_path / "evidence.json", SimpleNamespace(limit=4)
    cells = {str(b): cell(0.01, 0.01).to_dict() for b in benchmark.BUDGETS}
    rows = {name: {"set": name, "n": 100, "recipe": {"name": "recipe", "cells": cells}} for name in ("squad2", "tydiqa_ko")}
    benchmark.write_table([rows["squad2"]], ["first"], out, args)
    written = benchmark.json.loads(out.read_text(encoding="utf-8"))
    out.write_text(benchmark.json.dumps(written | {"rows": [written["rows"][0] | {"commit": "earlier"}]}), encoding="utf-8")
    benchmark.write_table([rows["tydiqa_ko"]], ["second"], out, args)
    written = benchmark.json.loads(out.read_text(encoding="utf-8"))
    assert [(row["set"], row["commit"] == "earlier") for row in written["rows"]] == [("tydiqa_ko", False), ("squad2", True)]
    assert written["commands"] == ["first", "second"] and written["mean"]["recipe"]["1000"]["n"] == 200


def test_questions_on_laws_are_at_their_places(benchmark):
    """Positions in seven statutes, no article numbers, as many unread as open."""
    data = benchmark.load_dataset("ko_statutes", problems=[]) if (Path(benchmark.DATA) / "ko_statutes").is_dir() else None
    halves = [benchmark.lines(benchmark.LAWS / f"{name}.jsonl") for name in ("laws", "laws_held_out")]
    assert [len(half) for half in halves] == [60, 60] and len({asked["question"] for half in halves for asked in half}) == 120
    assert not any(re.search(r"제?\s*\d+조", asked["question"]) for half in halves for asked in half)
    assert all(0 <= asked["start"] < asked["end"] and len(asked["needle"]) <= 20 for half in halves for asked in half)
    if data:
        assert len(benchmark.laws().questions) == 120


def test_equal_weights_of_all_scales_are_the_default(benchmark, small):
    """The grid over multi-scale begins at the default, and other weights give other scores."""
    base, found, scores = benchmark.PRESETS["multi-scale"], {}, {}
    for retrieve in ("multi-scale", "weighted:4/1/1", "weighted:3/1/3"):
        system = build_system(replace(base, retrieve=retrieve), small)
        pipeline = system.pipeline(500)
        found[retrieve] = [system.deliver(q.query, 500, {})[0].text for q in small.questions]
        scores[retrieve] = [[round(p.score, 6) for p in pipeline.rank(q.query).pieces] for q in small.questions]
    assert found["multi-scale"] == found["weighted:4/1/1"] and scores["multi-scale"] == scores["weighted:4/1/1"]
    assert scores["multi-scale"] != scores["weighted:3/1/3"]


def test_quotes_of_the_typed_questions_are_found_in_tables(benchmark):
    """A quote of a row is found however its cells are separated, and every question has evidence in its documents."""
    assert benchmark.place("| E1 | 모터  |\n| E2 | 밸브 |", "E2 | 밸브").of("| E1 | 모터  |\n| E2 | 밸브 |") == "E2 | 밸브"
    assert benchmark.place("a, b", "c") is None
    dataset = benchmark.typed()
    assert len(dataset.questions) == 95
    assert all(e.text == e.span.of(dataset.documents[e.doc_id].text) for q in dataset.questions for e in q.evidence)
