"""What each rule of the multi-scale score is worth.

    python benchmarks/score_rules.py                      # nbs/studies/results/score_rules.json
    python benchmarks/score_rules.py --limit 100 --sets squad2

Evidence recall on seven sets, questions asked over the whole corpus of a set, citations not resolved ahead of the search. A rule is left out, or
changed, for all sets at once, and its worth is the mean over the sets of the paired difference to the default, with a 95 % interval (normal, from
the variance of the differences within each set) and with each set left out in turn. Korean with the offline n-gram embedding, English with MiniLM
(`--english ngram` for the n-grams there too). Units are cut where the budget ends, not at the word before. Vectors are kept in --keep.
"""
from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from common import MINILM, ROOT, arguments, store
from ragnb.documents.text import word_tokens_batch
from ragnb.evaluation.datasets import Question, load_dataset
from ragnb.retrieval.missing_words import QUESTION_WORDS
from ragnb.retrieval.multiscale import pieces_by_score, take_units, with_headers
from ragnb.retrieval.scoring import adjusted_totals, B, clipped_z_scores, lucene_idf, occurrences, PHRASE, steps_to, UnitScores, word_windows
from ragnb.retrieval.unit_source import REPEATS, SCALES, SHIFT, UnitSource
from scored_set import build, drawn, FIVE, KOREAN, recall

SETS = ("korquad", "tydiqa_ko", "ko_statutes", "squad2", "covidqa", "chroma_chunking", "tatqa")
BUDGETS = (250, 500, 1_000, 2_000, 4_000)
ALL = (1, 1, 1, 1, 1)   # Weights of the five scales; the default leaves one out


@dataclass
class Asking:
    """One question: its candidates, and every signal of theirs before it is summed."""
    source: UnitSource
    terms: list[str]
    scores: UnitScores

    @cached_property
    def known(self):
        return self.source.counts(self.terms)

    @cached_property
    def norms(self) -> np.ndarray:
        """Of the lengths of the scored units."""
        return 1 - B + B * self.scores.units.table["length"][self.scores.rows] / self.known.mean_length

    @cached_property
    def held(self) -> dict[Any, np.ndarray]:
        """What the question asks for, and the units that hold it."""
        found = occurrences(self.scores.units, self.known.numbers, self.known.units_with)
        return {term: np.unique(rows) for term, rows in found.items()}

    def words(self, phrase: float = PHRASE, norm: float = 1.0) -> np.ndarray:
        """z-scores of the words with another weight for pairs, or another share of the length norm."""
        z = word_windows(self.scores.units, self.held, self.known, self.scores.rows, self.source.scales, phrase)
        z[0] /= self.norms**norm
        return z

    def total(self, words: np.ndarray | None = None, power: float = 1.0, words_weight: float = 1.0, vector: float = 1.0, title: float = 1.0, name: float = 1.0,
              scales: tuple[float, ...] = (1, 1, 1, 0, 1)) -> np.ndarray:
        """A sum of the signals; `scales` are the weights of 1, 3, 7, 15 and 31 units."""
        s, by_scale = self.scores, np.array(scales)[:, None]
        words = s.words if words is None else words
        return (words_weight * (by_scale * words**power).sum(axis=0) + vector * (by_scale * s.vectors**power).sum(axis=0)
                + title * s.title**power + name * s.name**power)


def spread(a: Asking) -> np.ndarray:
    """z-scores of the words by the spread of coverage itself, not as if words fell independently."""
    units, rows, widths = a.scores.units, a.scores.rows, np.array(a.source.scales)[:, None]
    coverage = np.zeros((len(widths), len(rows)))
    for term, n in a.known.units_with.items():
        weight = PHRASE if isinstance(term, tuple) else 1.0
        expected = a.known.n_units * (1 - (1 - n / a.known.n_units) ** widths.astype(float))    # windows with the term
        coverage += weight * lucene_idf(expected, a.known.n_units) * (steps_to(units, a.held[term], rows) <= widths // 2)
    z = clipped_z_scores(coverage)
    z[0] /= a.norms
    return z


RULES: dict[str, tuple[Callable[[Asking], np.ndarray], dict[str, Any]]] = {  # name -> (sum of the signals, what follows it)
    "default": (Asking.total, {}),
    "spread of coverage": (lambda a: a.total(spread(a)), {}),
    "spread of coverage, vectors .75": (lambda a: a.total(spread(a), vector=0.75), {}),
    "no length norm at one unit": (lambda a: a.total(a.words(norm=0)), {}),
    "power 1.25": (lambda a: a.total(power=1.25), {}),
    "power 1.5": (lambda a: a.total(power=1.5), {}),
    "no pairs": (lambda a: a.total(a.words(phrase=0)), {}),
    "pairs .1": (lambda a: a.total(a.words(phrase=0.1)), {}),
    "pairs .25": (lambda a: a.total(a.words(phrase=0.25)), {}),
    "repetitions whole": (Asking.total, {"repeats": 1.0}),
    "repetitions nothing": (Asking.total, {"repeats": 0.0}),
    "records not ranked whole": (Asking.total, {"whole": 0}),
    "no title": (lambda a: a.total(title=0), {}),
    "no name": (lambda a: a.total(name=0), {}),
    "words 1.5": (lambda a: a.total(words_weight=1.5), {}),
    "vectors 1.5": (lambda a: a.total(vector=1.5), {}),
    "no vectors": (lambda a: a.total(vector=0), {}),
    "without scale 3": (lambda a: a.total(scales=(1, 0, 1, 0, 1)), {}),
    "without scale 7": (lambda a: a.total(scales=(1, 1, 0, 0, 1)), {}),
    "without scale 31": (lambda a: a.total(scales=(1, 1, 1, 0, 0)), {}),
    "with scale 15": (lambda a: a.total(scales=ALL), {}),
    "scale 15 for 31": (lambda a: a.total(scales=(1, 1, 1, 1, 0)), {}),
}


def recalls(scores: UnitScores, question: Question) -> list[float]:
    """Share of the evidence in the best units, at every budget."""
    units, out = scores.units, []
    pieces = with_headers(units, pieces_by_score(scores)[:400])
    for budget in BUDGETS:
        context: dict[str, list] = {}
        for key, span in take_units(units, pieces, budget).items():
            context.setdefault(units.ids[key >> SHIFT], []).append(span)
        out.append(recall(question, context))
    return out


def measure(name: str, limit: int | None, keep: Path, english: str) -> tuple[str, dict[str, np.ndarray]]:
    """Every rule on one set: rule -> recall, shape (questions, budgets)."""
    dataset = load_dataset(name)
    made, plain = (build(dataset, "ngram" if name in KOREAN else english, keep, scales=scales) for scales in (FIVE, SCALES))
    chosen = drawn(dataset, limit)
    found: dict[str, list] = {rule: [] for rule in (*RULES, "question words kept")}
    for question, its in zip(chosen, word_tokens_batch([q.query for q in chosen])):
        terms = [t for t in its if t not in QUESTION_WORDS] or its
        a = Asking(made.source, terms, made.scored(terms, question.query))
        for rule, (summed, after) in RULES.items():
            units, rows, total = a.scores.units, a.scores.rows, summed(a)
            if "repeats" in after:
                total = total * np.where(units.table["flags"][rows] & REPEATS, after["repeats"], 1.0)
                table = units.table.copy()
                table["flags"] &= ~REPEATS
                units = replace(units, table=table)
            total = adjusted_totals(units, rows, total, after.get("whole", 800))
            found[rule].append(recalls(replace(a.scores, total=total), question))
        same = not QUESTION_WORDS & set(its)
        found["question words kept"].append(found["default"][-1] if same else recalls(plain.scored(list(its), question.query), question))
    return name, {rule: np.array(values) for rule, values in found.items()}


def measured_once(name: str, limit: int | None, keep: Path, english: str, resume: bool) -> tuple[str, dict[str, np.ndarray]]:
    """`measure`, kept in a file set by set, so that a run that was interrupted goes on."""
    file = keep / f"rules-{name}-{limit or 'all'}.npz"
    if resume and file.exists():
        with np.load(file) as held:
            return name, {rule: held[rule] for rule in (*RULES, "question words kept")}
    _, found = measure(name, limit, keep, english)
    np.savez(file, **found)
    return name, found


def summary(measured: dict[str, dict[str, np.ndarray]]) -> dict[str, Any]:
    """Means by set, and for every rule the mean difference over the sets with its interval and with each set left out."""
    sets = {n: {rule: values.mean(axis=0).tolist() for rule, values in by_rule.items()} for n, by_rule in measured.items()}
    out = {}
    for rule in next(iter(measured.values())):
        differences = {n: by_rule["default"] - by_rule[rule] for n, by_rule in measured.items()}   # what the rule, as it is, is worth
        means = {n: d.mean(axis=0) for n, d in differences.items()}
        error = np.sqrt(sum(d.var(axis=0) / len(d) for d in differences.values())) / len(means)
        mean = np.mean(list(means.values()), axis=0)
        left_out = {n: np.mean([m for other, m in means.items() if other != n], axis=0).tolist() for n in means if len(means) > 1}
        out[rule] = {"worth": mean.tolist(), "low": (mean - 1.96 * error).tolist(), "high": (mean + 1.96 * error).tolist(), "without": left_out}
    return {"budgets": BUDGETS, "questions": {n: len(r["default"]) for n, r in measured.items()}, "sets": sets, "rules": out}


def main() -> None:
    args = arguments(__doc__, sets=",".join(SETS), limit=(int, "questions a set, the same at every run; all when left out"),
                     english=MINILM, keep=ROOT / "out" / "vectors", workers=2,
                     resume=(False, "take sets that an earlier run has measured from --keep"),
                     store=(False, "write nbs/studies/results/score_rules.json"))
    with ProcessPoolExecutor(args.workers) as pool:
        jobs = [pool.submit(measured_once, n, args.limit, args.keep, args.english, args.resume) for n in args.sets.split(",")]
        measured = dict(job.result() for job in jobs)
    found = summary(measured)
    for rule, r in found["rules"].items():
        cells = "  ".join(f"{100 * m:+.2f} [{100 * a:+.2f}, {100 * b:+.2f}]" for m, a, b in zip(r["worth"], r["low"], r["high"]))
        print(f"{rule:<52}{cells}")
    for name, means in found["sets"].items():
        print(name, found["questions"][name], *(f"{rule}: " + " ".join(f"{x:.3f}" for x in means[rule]) for rule in ("no vectors", "default")), sep=" | ")
    if args.store:
        store(ROOT / "nbs" / "studies" / "results" / "score_rules.json", found)


if __name__ == "__main__":
    main()
