"""Measures: against sets of characters, against ir-measures and closed forms, and over rankings at any budget."""
from __future__ import annotations

import json
import math

import numpy as np
import pytest
from conftest import SAMPLE
from hypothesis import given, strategies as st
from strategies import examples

from ragnb.context.builders import PassageRanking, Ranking
from ragnb.documents.span import InputError, Passage, Span
from ragnb.evaluation.datasets import Evidence, load_dataset, Question
from ragnb.evaluation.measures import (
    difference_interval, evaluate, Evaluation, mean_interval, measure_ids, read_rows, Row, score_passages, write_rows)

TEXT = "가나다라마바사아자차카타파하" * 3


def passage(doc_id: str, start: int, end: int) -> Passage:
    return Passage(doc_id, Span(start, end), TEXT[start:end])


def question(*places: tuple[str, int, int], mode: str = "any", name: str = "q") -> Question:
    return Question(name, "?", tuple(Evidence(d, Span(a, b), TEXT[a:b]) for d, a, b in places), mode)


pairs = st.tuples(st.integers(0, len(TEXT)), st.integers(0, len(TEXT))).map(sorted)
places = st.tuples(st.sampled_from("ab"), pairs).map(lambda p: (p[0], *p[1]))
gold = st.lists(places.filter(lambda p: p[1] < p[2]), min_size=1, max_size=4)


def characters(spans) -> set[tuple[str, int]]:
    return {(d, i) for d, a, b in spans for i in range(a, b)}


# --- one context ----------------------------------------------------------------------------------------------------------------------
@examples(400)
@given(st.lists(places, max_size=6), gold, st.sampled_from(["any", "all"]))
def test_measures_are_those_of_character_sets(context, evidence, mode):
    score = score_passages([passage(*p) for p in context], question(*evidence, mode=mode), len)
    have, wanted = characters(context), characters(evidence)
    needed = [wanted] if mode == "all" else [characters([e]) for e in evidence]
    read = [(d, i) for d, a, b in context for i in range(a, b)]
    assert score.evidence_recall == pytest.approx(max(len(have & g) / len(g) for g in needed)) and 0 <= score.evidence_recall <= 1
    assert score.precision == pytest.approx(len(have & wanted) / len(read) if read else 0) and 0 <= score.precision <= 1
    assert score.iou == pytest.approx(max(len(have & g) / len(have | g) for g in needed)) and 0 <= score.iou <= 1
    assert score.containment == float(any(g <= have for g in needed))
    assert score.characters == score.tokens == len(read)
    assert score.duplicated == pytest.approx((len(read) - len(set(read))) / len(read) if read else 0)
    assert score.first == next((n for n, c in enumerate(read) if c in wanted), None)


# --- many questions, many budgets -----------------------------------------------------------------------------------------------------
@examples(200)
@given(st.lists(places.filter(lambda p: p[1] < p[2]), max_size=6), gold, st.lists(st.integers(1, 60), min_size=1, max_size=4))
def test_no_budget_is_overrun_and_more_of_it_never_finds_less(context, evidence, budgets):
    ranking = PassageRanking([passage(*p) for p in context])
    row = evaluate(lambda q: ranking, [question(*evidence)], budgets).rows[0]
    assert sorted(row.scores) == sorted(set(budgets))
    for budget, score in row.scores.items():
        assert score.characters <= budget
    found = [row.scores[b].evidence_recall for b in sorted(row.scores)]
    focusless = all(p.focus is None for p in ranking.passages)
    assert not focusless or found == sorted(found) or any(s.characters < b for b, s in row.scores.items())  # a cut at a word's end may give less
    assert sum(len(c.span) for c in row.chosen) == row.scores[max(row.scores)].characters


def test_a_ranking_is_asked_once_for_all_budgets():
    class Counting:
        asked = 0

        def at(self, budget: int) -> list[Passage]:
            return [passage("a", 0, min(budget, len(TEXT)))]

    def ask(query: str) -> Counting:
        Counting.asked += 1
        return Counting()

    assert isinstance(Counting(), Ranking)
    result = evaluate(ask, [question(("a", 0, 20))], (5, 10, 20))
    assert Counting.asked == 1 and [result.mean("evidence_recall", b) for b in (5, 10, 20)] == [0.25, 0.5, 1.0]
    assert [result.mean(budget=b) for b in (5, 10, 20)] == [0, *(pytest.approx((b - len("[1] (a)\n")) / 20, abs=0.1) for b in (10, 20))]  # the label counts


def test_means_and_kinds():
    questions = [Question(str(i), "?", question(("a", 0, 10)).evidence, kind="ab"[i % 2]) for i in range(4)]
    result = evaluate(lambda q: PassageRanking([passage("a", 0, 40)]), questions, (5, 10, 40), tokenizer="characters")
    assert result.mean("evidence_recall", 5) == 0.5 and result.mean("first") == 0
    assert Evaluation().summary() == {"questions": 0, "delivered_recall": 0.0, "ci": [0.0, 0.0], "evidence_recall": 0.0, "precision": 0.0, "iou": 0.0, "containment": 0.0, "duplicated": 0.0, "characters": 0}


@pytest.mark.parametrize("name, budget", [("recal", 5), ("evidence_recall", 6)])
def test_an_unknown_measure_or_budget_is_named(name, budget):
    result = evaluate(lambda q: [passage("a", 0, 10)], [question(("a", 0, 5))], (5,))
    with pytest.raises(InputError, match=f"no measure '{name}' at budget {budget}"):
        result.values(name, budget)


@pytest.mark.parametrize("budgets", [(), (0,), (-5,), (1.5,), ("100",)])
def test_bad_budgets(budgets):
    with pytest.raises(InputError, match="budgets must be numbers of characters >= 1"):
        evaluate(lambda q: [], [], budgets)


def test_gold_evidence_scores_full_marks():
    dataset = load_dataset(SAMPLE)
    by_query = {q.query: [Passage(e.doc_id, e.span, e.text) for e in q.evidence] for q in dataset.questions}
    result = evaluate(by_query.__getitem__, dataset.questions)
    assert len(by_query) == len(dataset.questions), "two questions read the same"
    assert {result.mean(m) for m in ("evidence_recall", "precision", "containment", "iou")} == {1}


# --- documents by id ------------------------------------------------------------------------------------------------------------------
judged = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(0, 3), min_size=1)
ranked = st.lists(st.sampled_from("abcdefghij"), unique=True, max_size=10)


@examples(150)
@given(st.lists(st.tuples(judged, ranked), min_size=1, max_size=4))
def test_measures_of_ids_are_their_definitions(pairs):
    qrels, rankings = {str(i): j for i, (j, _) in enumerate(pairs)}, {str(i): r for i, (_, r) in enumerate(pairs)}
    found = measure_ids(rankings, qrels, ("nDCG@5", "recall@3", "MRR", "success@2"))
    for q, gains in qrels.items():
        relevant, run = {d for d, g in gains.items() if g > 0}, rankings[q]
        def dcg(values):
            return sum(g / math.log2(i + 2) for i, g in enumerate(values))
        ideal = dcg(sorted(gains.values(), reverse=True)[:5])
        assert found["nDCG@5"][q] == pytest.approx(dcg([gains.get(d, 0) for d in run[:5]]) / ideal if ideal else 0, abs=1e-6)
        assert found["recall@3"][q] == pytest.approx(len(relevant & set(run[:3])) / len(relevant) if relevant else 0)
        assert found["MRR"][q] == pytest.approx(next((1 / r for r, d in enumerate(run, 1) if d in relevant), 0))
        assert found["success@2"][q] == float(bool(relevant & set(run[:2])))


@pytest.mark.parametrize("name", ["luck@3", "nDCG@x", "recall@", "", "nDCG@10; import os"])
def test_an_unknown_measure_of_ids(name):
    with pytest.raises(InputError, match="unknown measure"):
        measure_ids({}, {"q": {"a": 1}}, [name])


SAME = [("R@10", "recall@10", "Recall@10", "R(rel=1)@10"), ("MRR", "RR", "mrr"), ("nDCG@5", "ndcg@5"), ("success@1", "Success@1"), ("AP", "MAP")]


@examples(30)
@given(st.permutations([name for names in SAME for name in names]), st.lists(st.sampled_from("abcdef"), min_size=1, unique=True))
def test_every_name_of_a_measure_gets_its_value(names, ranked):
    qrels = {"q": {"a": 1, "c": 2}, "r": {"d": 1}}
    rankings = {"q": ranked, "r": ranked[::-1]}
    alone = {name: measure_ids(rankings, qrels, [name])[name] for name in names}
    assert measure_ids(rankings, qrels, [*names, names[0]]) == alone
    assert all(alone[name] == alone[same[0]] for same in SAME for name in same)
    held = {same[-1]: alone[same[-1]]["q"] for same in SAME}
    evaluation = Evaluation([Row("q", "?", "", {}, measures=held)], ())
    assert {name: evaluation.mean(name) for name in names} == {name: of["q"] for name, of in alone.items()}


# --- on disk --------------------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["rows.jsonl", "rows.jsonl.gz"])
def test_rows_come_back(tmp_path, name):
    questions = [Question(str(i), f"줄\u2028바꿈 {i}\n", question(("a", 0, 10)).evidence, kind="k") for i in range(3)]
    result = evaluate(lambda q: PassageRanking([Passage("a", Span(0, 40), TEXT[:40], 0.5)]), questions, (5, 20))
    write_rows({"가": result, "b": result}, tmp_path / name)
    again = read_rows(tmp_path / name)
    assert list(again) == ["가", "b"] and again["가"].rows == result.rows and again["b"].budgets == (5, 20)


@pytest.mark.parametrize("line, complaint", [("{", "rows.jsonl:2: "), (json.dumps({"strategy": "a"}), "rows.jsonl:2: .*KeyError"), (json.dumps([1]), "rows.jsonl:2: ")])
def test_a_damaged_file_of_rows_is_named(tmp_path, line, complaint):
    write_rows({"a": evaluate(lambda q: [], [question(("a", 0, 5))])}, tmp_path / "rows.jsonl")
    with open(tmp_path / "rows.jsonl", "a", encoding="utf-8") as file:
        file.write(line + "\n")
    with pytest.raises(InputError, match=complaint):
        read_rows(tmp_path / "rows.jsonl")
    with pytest.raises(InputError, match="no file of rows"):
        read_rows(tmp_path / "absent.jsonl")


def test_a_share_at_the_border_gets_wilsons_interval():
    for n in (1, 4, 30, 1_000):
        low, high = mean_interval([1.0] * n)
        assert high == 1 and low == pytest.approx(n / (n + 1.959964**2), abs=1e-6)  # Wilson's lower end at p = 1
        assert mean_interval([0] * n) == pytest.approx((0, 1 - low)) and difference_interval([-1] * n) == pytest.approx((-1, -low))
    for values in ([1, 1, 0.5, 0], [0.4] * 3):
        low, high = mean_interval(values)
        assert 0 <= low < np.mean(values) < high <= 1
    with pytest.raises(InputError, match="-0.5"):
        mean_interval([1, -0.5])


@examples(200)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=150), st.floats(0, 1), st.data())
def test_a_graded_mean_has_limits_around_it_that_grow_with_it(values, more, data):
    low, high = mean_interval(values)
    assert 0 <= low <= np.mean(values) + 1e-12 and np.mean(values) - 1e-12 <= high <= 1 and low < high
    binary = [float(v >= 0.5) for v in values]
    i = data.draw(st.integers(0, len(values) - 1))
    better = [*binary[:i], 1.0, *binary[i + 1:]]
    assert mean_interval(better)[0] >= mean_interval(binary)[0] - 1e-12
    nearly = [1.0] * len(values) + [more]   # one question that is right in part, among others that are right
    assert mean_interval([1.0] * len(values) + [0.0])[0] <= mean_interval(nearly)[0] + 1e-12 <= mean_interval([1.0] * (len(values) + 1))[0] + 2e-12


def test_a_difference_of_all_questions_is_not_certain():
    for n in (4, 100):
        lows = [difference_interval([1.0] * k + [0.0] * (n - k))[0] for k in range(n + 1)]
        assert (np.diff(lows) >= -0.02).all() and lows[-1] >= max(lows) - 1e-12 and lows[1] == 0
    assert difference_interval([4.0] * 5) == (4, 4)   # scores from 1 to 5: nothing is known of their range
