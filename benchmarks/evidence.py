"""ragnb beside the best library out of the box and the best tuned rival: differences with intervals, and a verdict for each.

    python benchmarks/evidence.py                          # all sets, up to 400 questions each; goes on where it was interrupted
    python benchmarks/evidence.py --sets tydiqa_ko,squad2
    python benchmarks/evidence.py --first                  # every system out of the box; the tuned ones can follow
    python benchmarks/evidence.py --quick                  # one small set of this repository: about ten minutes
    python benchmarks/evidence.py --kept --out nbs/studies/results/evidence.json   # the table of what is finished; nothing is run

A set has three columns. *ragnb* is the default. *Library* is the best of those that run with their defaults, chosen by its mean on the same questions, which favors it. *Recipe* is the recipe of a
hundred lines (`ragnb.evaluation.recipe`) with titles and units of 128 characters, compared with the default. *Rival* is the recipe tuned: of four settings (titles, size of units, neighbors),
every question is reported by the one with the highest mean on the other half. ragnb is tuned in the same way over four settings (scales, weights of words and vectors), and the
tuned ragnb is compared with the tuned recipe. With --wide both have seven settings, and ragnb other sizes of units, each of which is another index.

The measure is delivered recall at 500, 1,000 and 4,000 characters, labels counted. A difference is ragnb minus the other; its interval is a paired bootstrap, and the verdict
is of `ragnb.evaluation.evidence`. Each (set, system, setting) is a file in --work. After a change of retrieval or of the context, name another --work.
The contexts of the systems out of the box are in --work/texts; `python benchmarks/audit.py out/evidence/texts/SET FOLDER_OF_THE_SET` counts them again without ragnb.
Before it starts, it prints the hours that a set takes, and how likely the set shows a true difference.
"""
from __future__ import annotations

import json
import platform
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from common import arguments, lines, MINILM, ROOT, store
from ragnb import __version__, read_documents
from ragnb.chunking.units import UnitNodeParser
from ragnb.documents.span import InputError, Span
from ragnb.evaluation import recipe
from ragnb.evaluation.comparison import Run, RunPlan, run_strategies, write_results
from ragnb.evaluation.datasets import Dataset, Evidence, load_dataset, Question
from ragnb.evaluation.evidence import COLUMNS, could_win, Difference, highest_mean, judged, power
from ragnb.evaluation.measures import Evaluation
from ragnb.evaluation.strategy import PRESETS, resolve_strategies, Strategy
from ragnb.evaluation.tune import choose_by_halves
from ragnb.machinery.registry import register
from ragnb.retrieval import multiscale
from ragnb.retrieval.multiscale import MultiScaleRetriever
from ragnb.retrieval.scoring import adjusted_totals, score_units, UnitScores
from ragnb.pipeline.specs import make_part

BUDGETS = (500, 1_000, 4_000)
LIBRARIES = ("chonkie-recursive", "haystack-sentence-window", "llamaindex-auto-merging")   # Of 14, these had the best mean on the sets of this table in `peers.json`
NOT_ITS_OWN = {"chonkie-recursive": "its chunks, ragnb's search"}   # dsRAG and AutoRAG would be "reimplemented"
NARROW = 4       # Settings that are tried of a system without --wide: those of ragnb share one index
PACKAGES = ("llama-index-core", "llama-index-retrievers-bm25", "haystack-ai", "chonkie", "bm25s", "kiwipiepy")
TYPED = ROOT / "benchmarks" / "typed"
ASSUMED = 0.35   # Standard deviation of the difference of two systems on a question, as in the runs of `peers.py`


# ragnb with other units, scales and weights

@register("splitter", "units-of", ":SIZE", help="units of another size, half of it for Korean", korean="다른 크기의 단위")
def units_of(size: str) -> UnitNodeParser:
    """The default's units with another size."""
    return UnitNodeParser(size=int(size), korean_size=int(size) // 2)


@dataclass(frozen=True)
class Weights:
    """How the signals of a unit are added up."""
    scales: int      # How many of the scales, the smallest first
    words: float
    vectors: float

    def total(self, scores: UnitScores, whole: int) -> np.ndarray:
        """The sum of the signals."""
        words, vectors = (signal[:self.scales].sum(axis=0) for signal in (scores.words, scores.vectors))
        total = self.words * words + self.vectors * vectors + scores.title + scores.name
        return adjusted_totals(scores.units, scores.rows, total, whole) if total.any() else scores.total


class WeightedRetriever(MultiScaleRetriever):
    """The default's retriever with another sum of its signals; all that follows the sum stays."""
    weights = Weights(4, 1.0, 1.0)

    def rank(self, question: Any) -> Any:
        """Rank the units."""
        def scored(*given: Any) -> UnitScores:
            scores = score_units(*given)
            return replace(scores, total=self.weights.total(scores, self.whole))
        with patch.object(multiscale, "score_units", scored):
            return super().rank(question)

    fuse = rank    # What a pipeline calls


@register("retriever", "weighted", ":SCALES/WORDS/VECTORS", help="multi-scale with other weights", korean="무게가 다른 multi-scale", needs=("units",))
def weighted(given: str, index: Any, top_k: int, cut: float | None = None, lookup: bool = True) -> WeightedRetriever:
    """The default's retriever with other weights."""
    made = make_part("retriever", "multi-scale", index=index, top_k=top_k, cut=cut, lookup=lookup)
    made.__class__ = WeightedRetriever
    scales, words, vectors = given.split("/")
    made.weights = Weights(int(scales), float(words), float(vectors))
    return made


def our_grid(base: Strategy) -> list[Strategy]:
    """The default first, then other scales and weights, then other sizes of units: seven in all."""
    out = []
    for split, retrieve in (("units", "multi-scale"), ("units", "weighted:3/1/1"), ("units", "weighted:4/1.5/1"), ("units", "weighted:4/1/1.5"),
                            ("units-of:128", "multi-scale"), ("units-of:300", "multi-scale"), ("units-of:300", "weighted:3/1/1")):
        strategy = replace(base, split=split, retrieve=retrieve)
        out.append(replace(strategy, name=strategy.spec))
    return out


def recipe_grid() -> list[Strategy]:
    """The recipe with titles first, then with a neighbor on each side, with smaller units, without titles; last, other sizes: seven in all."""
    first = [f"peer:recipe:{said}" for said in ("size=128,near=0,titles", "size=128,near=1,titles", "size=64,near=0,titles")]
    more = [f"peer:recipe:{said}" for said in ("size=64,near=1,titles", "size=96,near=0,titles", "size=96,near=1,titles")]
    return resolve_strategies([*first, "peer:recipe", *more])


# The sets

MARKS = re.compile(r"[\s|,*#\"`\\]")   # White space and marks of tables, which differ between a quote and a converted file


def place(text: str, quote: str) -> Span | None:
    """Where a quote stands, whatever the white space and the marks of tables are."""
    at = [i for i, character in enumerate(text) if not MARKS.match(character)]
    wanted = MARKS.sub("", quote)
    start = "".join(text[i] for i in at).find(wanted)
    return Span(at[start], at[start + len(wanted) - 1] + 1) if start >= 0 else None


def typed() -> Dataset:
    """The open half of the questions as people type them: those that need neither a talk before nor a filter, and have an answer."""
    documents = {d.id_: d for d in read_documents(TYPED / "corpus", [])}
    questions = []
    for asked in lines(TYPED / "open.jsonl"):
        golds = asked.get("gold", [])
        several = len(golds) > 1 and any(len(gold["files"]) > 1 for gold in golds)   # all quotes, each from any of its files: not a mode of a set
        if not golds or several or "history" in asked or "where" in asked:
            continue
        found = [(file, place(documents[file].text, gold["quote"])) for gold in golds for file in gold["files"]]
        evidence = tuple(Evidence(file, span, span.of(documents[file].text)) for file, span in found if span)
        if len(evidence) == len(found):
            questions.append(Question(asked["id"], asked["question"], evidence, "all" if len(golds) > 1 else "any", kind=asked["group"]))
    return Dataset("typed", documents, questions)


@dataclass(frozen=True)
class Row:
    """A row of the table."""
    name: str
    about: str
    load: Callable[[], Dataset]
    embed: str = "ngram"
    base: Strategy = PRESETS["multi-scale"]


def by_name(name: str) -> Callable[[], Dataset]:
    """How a set is loaded."""
    return lambda: load_dataset(name, problems=[])


NO_LOOKUP = replace(PRESETS["multi-scale"], lookup="off")
ROWS = {row.name: row for row in (
    Row("tydiqa_ko", "Korean Wikipedia", by_name("tydiqa_ko")),
    Row("squad2", "English Wikipedia", by_name("squad2"), MINILM),
    Row("typed", "office files, questions as typed", typed),
    Row("korquad", "Korean Wikipedia", by_name("korquad")),
    Row("ko_tax_tables", "Korean tables", by_name("ko_tax_tables")),
    Row("ko_statutes", "statutes; measures the rule that looks up a named article", by_name("ko_statutes")),
    Row("ko_statutes-search", "statutes, without the look-up", by_name("ko_statutes"), base=NO_LOOKUP),
    Row("tatqa", "English reports with tables", by_name("tatqa"), MINILM),
    Row("covidqa", "English papers", by_name("covidqa"), MINILM),
    Row("sample", "documents of this repository", lambda: load_dataset(ROOT / "data")),
)}
QUICK = "sample"


# Runs

def once(split: Callable[[Sequence[str]], list[list[str]]]) -> Callable[[Sequence[str]], list[list[str]]]:
    """A function from texts to words that splits each text once, as settings share most of them."""
    known: dict[str, list[str]] = {}

    def words(texts: Sequence[str]) -> list[list[str]]:
        new = [text for text in dict.fromkeys(texts) if text not in known]
        known.update(zip(new, split(new)))
        return [known[text] for text in texts]
    return words


def kept(plan: RunPlan, strategy: Strategy) -> bool:
    """Whether a setting is finished."""
    return (Path(plan.keep) / f"{plan.key(strategy)}.json").is_file()


def grids(row: Row) -> dict[str, list[Strategy]]:
    """System -> its settings, the first of which is the one out of the box; of a library there is no other."""
    libraries = {name: resolve_strategies(f"peer:{name}") for name in LIBRARIES}
    return {"ragnb": our_grid(row.base), "recipe": recipe_grid(), **libraries}


def run_row(row: Row, args: Any) -> dict[str, Any] | None:
    """Run what is missing of a row, and compare; None while a system out of the box is missing."""
    dataset = row.load().limit(args.limit)
    plan = RunPlan(dataset, BUDGETS, row.embed, args.work / "cache", args.work / "runs" / row.name)
    runs: dict[str, list[Run]] = {}
    for system, grid in grids(row).items():
        grid = grid[:1 if args.first else len(grid) if args.wide else NARROW]
        started, missing = time.perf_counter(), [s for s in grid if not kept(plan, s)]
        if args.kept:
            grid = grid[:1] if missing else grid
            grid = [] if grid[0] in missing else grid
        try:
            runs[system] = run_strategies(plan, grid, show_progress=False) if grid else []
        except InputError as error:
            print(f"{row.name}: {system} does not run: {error}", flush=True)
        if missing:
            done = "missing" if args.kept else f"run in {time.perf_counter() - started:.0f} s"
            print(f"{row.name}: {system}, {len(missing)} settings {done}", flush=True)
    if not args.kept and any(runs.values()):      # for `audit.py`, which counts them again without this package
        write_results([run for found in runs.values() for run in found[:1]], dataset, args.work / "texts" / row.name)
    return compared(row, dataset, runs) if runs.get("ragnb") and runs.get("recipe") else None


def values(evaluation: Evaluation) -> dict[int, np.ndarray]:
    """Delivered recall of each question, by budget."""
    return {budget: evaluation.values("delivered_recall", budget) for budget in BUDGETS}


def over_budgets(evaluation: Evaluation) -> float:
    """The mean over the budgets."""
    return float(np.mean([v.mean() for v in values(evaluation).values()]))


def compared(row: Row, dataset: Dataset, runs: dict[str, list[Run]]) -> dict[str, Any]:
    """The facts of a row: means, differences, verdicts, choices. The tuned rival is there if all settings of both sides are."""
    default = values(runs["ragnb"][0].evaluation)
    libraries = {name: found[0].evaluation for name, found in runs.items() if name in LIBRARIES and found}
    facts: dict[str, Any] = {"set": row.name, "about": row.about, "version": dataset.version, "n": len(dataset.questions), "n_documents": len(dataset.documents),
                             "embed": "minilm" if row.embed == MINILM else row.embed, "default": {str(b): v.mean() for b, v in default.items()},
                             "could_win": {str(b): could_win(v) for b, v in default.items()}}
    if libraries:
        best = max(libraries, key=lambda name: over_budgets(libraries[name]))
        facts["library"] = {"name": best, "note": NOT_ITS_OWN.get(best, ""), "of": len(libraries), "cells": differences(default, values(libraries[best]))}
    facts["recipe"] = {"name": "recipe", "cells": differences(default, values(runs["recipe"][0].evaluation))}
    if min(len(runs["ragnb"]), len(runs["recipe"])) > 1:
        ours, rival = (choose_by_halves(runs[name], highest_mean) for name in ("ragnb", "recipe"))
        facts["rival"] = {"name": "recipe, tuned", "chosen": {"ragnb": list(ours.winners), "recipe": list(rival.winners)},
                          "cells": differences(values(ours.evaluation), values(rival.evaluation))}
    return facts


def differences(ours: dict[int, np.ndarray], other: dict[int, np.ndarray]) -> dict[str, Any]:
    """A cell for each budget."""
    return {str(budget): judged(ours[budget], other[budget]).to_dict() for budget in BUDGETS}


def mean_cells(rows: Sequence[dict[str, Any]], column: str) -> dict[str, Any]:
    """The mean of a column over its sets, where there are several, with the margin of a mean."""
    out = {}
    for budget in map(str, BUDGETS):
        cells = [Difference.from_dict(row[column]["cells"][budget]) for row in rows if column in row]
        if len(cells) > 1:
            out[budget] = Difference.mean(cells).to_dict()
    return out


# The table

def hours(dataset: Dataset, embed: str, n_settings: int) -> float:
    """About how long a row takes on a core of its own, by the rates of the stored run."""
    characters = sum(map(len, dataset.texts.values()))
    seconds = 0.08 * len(dataset.questions) + (1.5e-4 if embed == MINILM else 6e-5) * characters
    return n_settings * seconds / 3_600


def before(rows: Iterable[Row], args: Any) -> None:
    """Print what the run could show and how long it takes, before anything is measured."""
    n_cells = n_seen = n_hours = 0
    n_settings = len(LIBRARIES) + 2 * (1 if args.first else len(recipe_grid()) if args.wide else NARROW)
    for row in rows:
        dataset = row.load().limit(args.limit)
        n, takes = len(dataset.questions), hours(dataset, row.embed, n_settings)
        seen = [power(difference, ASSUMED, n) for difference in (0.03, 0.05, 0.1)]
        chances = " / ".join(f"{x:.2f}" for x in seen)
        print(f"{row.name}: {n} questions, about {takes:.1f} h; a true difference of .03 / .05 / .10 is seen with a chance of {chances}", flush=True)
        n_cells += 2 * len(BUDGETS)
        n_seen += 2 * len(BUDGETS) * (seen[1] >= 0.8)
        n_hours += takes
    print(f"about {n_hours:.1f} h in all; {n_seen} of {n_cells} cells would show a true difference of .05 as ahead with a chance of .8 "
          f"(standard deviation of a question's difference: {ASSUMED})", flush=True)


def write_table(rows: Sequence[dict[str, Any]], commands: Sequence[str], out: Path, args: Any) -> None:
    """Write the results file."""
    commit = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "--short=8", "HEAD"], capture_output=True, text=True).stdout.strip()
    versions = {"ragnb": __version__, "python": platform.python_version()} | {name: version(name) for name in PACKAGES}
    whole = [row for row in rows if not row["set"].startswith("ko_statutes")]   # their look-up is a rule: not in the mean
    store(out, {"commit": commit, "date": time.strftime("%Y-%m-%d"), "commands": commands, "limit": args.limit, "versions": versions,
                "budgets": BUDGETS, "rows": list(rows), "mean": {column: mean_cells(whole, column) for column in COLUMNS}})


def main() -> None:
    args = arguments(__doc__, sets=(",".join(name for name in ROWS if name != QUICK), "separated by commas"), limit=(400, "questions a set, at most"),
                     work=ROOT / "out" / "evidence", kept=(False, "run nothing: the table of what is finished in --work"),
                     wide=(False, "seven settings of each tuned system instead of four: also other sizes of units"), first=(False, "each system out of the box, without its other settings"), quick=(False, "a set of this repository alone"), out=(Path, "where the JSON goes; evidence.json in --work by default"))
    names = [QUICK] if args.quick else args.sets.split(",")
    out, rows = args.out or args.work / "evidence.json", []
    recipe.words = once(recipe.words)
    log = args.work / "commands.txt"   # Every command whose runs are kept
    commands = log.read_text(encoding="utf-8").splitlines() if log.is_file() else []
    said = " ".join(["python benchmarks/evidence.py", *sys.argv[1:]])
    if not args.kept and said not in commands:
        commands.append(said)
        args.work.mkdir(parents=True, exist_ok=True)
        log.write_text("\n".join(commands) + "\n", encoding="utf-8")
    if not args.kept:
        before([ROWS[name] for name in names], args)
    for name in names:      # written row by row: a run that is cut short has what is finished
        if facts := run_row(ROWS[name], args):
            rows.append(facts)
            write_table(rows, commands, out, args)
            cells = {column: {b: (c["difference"], c["verdict"]) for b, c in facts[column]["cells"].items()} for column in ("library", "recipe", "rival") if column in facts}
            print(name, json.dumps(cells), flush=True)


if __name__ == "__main__":
    main()
