"""`ragnb decide` fits into a time: what is left out, what is told before it starts, and what a person has fixed."""
from __future__ import annotations

import json

import pytest

from ragnb.evaluation.decide import decide, estimate, shortest_first
from ragnb.evaluation.tune import tuning_grid


class Started(Exception):
    """Raised before the first index is built."""


def started(folder, **options):
    def stop(*efforts):
        raise Started(*efforts)
    with pytest.raises(Started) as caught:
        decide(folder, show_progress=False, on_start=stop, **options)
    return caught.value.args


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """50 documents on a machine as fast as that of the measurements, without E5."""
    monkeypatch.setattr("ragnb.evaluation.decide._slowness", lambda: 1.0)
    monkeypatch.setattr("ragnb.evaluation.decide.trained_grid", lambda embed: [])
    (tmp_path / "docs").mkdir()
    for n in range(50):
        (tmp_path / f"docs/d{n}.md").write_text("\n\n".join(f"## {n}.{i} 규정 {i}\n\n설비 {n}-{i}의 점검 주기는 {i + 2}개월이고 담당은 {n}팀이다."
                                                       for i in range(8)), encoding="utf-8")
    return tmp_path / "docs"


def test_what_tells_least_goes_first(folder):
    few = {"peers": ["llamaindex-auto-merging"]}
    chosen, full = started(folder, minutes=0, **few)
    assert chosen == full and full.n_questions == 30 and full.n_strategies == 13 + 5 + 13
    made = [started(folder, minutes=m, **few)[0] for m in (60, .9, .5, .01)]
    assert [(e.n_questions, e.n_strategies) for e in made] == [(30, 31), (30, 19), (30, 10), (10, 10)]
    assert all(a.seconds > b.seconds for a, b in zip(made, made[1:])) and made[1].seconds <= .9 * 60
    assert started(folder, minutes=.01, keeps_n=True, **few)[0].n_questions == 30
    assert started(folder, minutes=.01, own=["multi-scale", "bm25"], **few)[0].n_strategies == 2 + 5 + 1


def test_a_slow_machine_measures_less():
    grid = tuning_grid()
    assert [len(shortest_first([grid, grid[:1]], 100_000, 30, 60, slowness=s)[1]) for s in (1, 3)] == [13, 1]
    assert estimate(grid, 10**6, 30).minutes > 1


def test_the_command_tells_before_it_starts(run, folder, monkeypatch):
    def stop(*args, **kwargs):
        raise OSError("stopped")
    monkeypatch.setattr("ragnb.evaluation.tune.run_strategies", stop)
    code, _, err = run("decide", folder, "--peers", "none", "--minutes", "0.5")
    line = next(line for line in err.splitlines() if "strategies: about" in line)
    assert code == 2 and line.startswith("30 questions × ") and "--n 10 is shorter" in line and "--minutes 0 measures all" in line
    code, _, err = run("decide", folder, "--peers", "none", "--minutes", "0", "--n", "7")
    assert code == 2 and "7 questions × 18 strategies: about" in err and "--minutes" not in err


def test_a_short_run_is_a_whole_table(run, folder, monkeypatch):
    monkeypatch.chdir(folder.parent)
    code, out, err = run("decide", "docs", "--peers", "none", "--minutes", "0.001", "--n", "4", "--budgets", "60", "--json")
    told = json.loads(out)
    assert code == 0 and [line["line"] for line in told["lines"]][0] == "ragnb" and "about 1 min" in err
    assert any("9 strategies were left out" in note for note in told["notes"])
