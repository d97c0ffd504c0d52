"""ragnb beside the best library out of the box and the best tuned rival: differences with intervals, and a verdict for each.

    python benchmarks/rivals.py install out/evidence/venvs # once: libraries in environments of their own
    python benchmarks/evidence.py                          # all sets, up to 400 questions each; goes on where it was interrupted
    python benchmarks/evidence.py --sets tydiqa_ko,squad2 --first --libraries langchain-ensemble,bm25s-kiwi
    python benchmarks/evidence.py --quick                  # one small set of this repository: about ten minutes
    python benchmarks/evidence.py --kept --out nbs/studies/results/evidence.json   # the table of what is finished; nothing is run

A set has three columns. *ragnb* is the default. *Library* is the best of those that run with their defaults, chosen by its mean on the same questions, which favors it. *Recipe* is the recipe of a
hundred lines (`ragnb.evaluation.recipe`) with titles and units of 128 characters, compared with the default. *Rival* is the best setting of the recipe and of the libraries: every question is
reported by the one with the highest mean on the other half, out of the recipe's settings and the libraries', which are more than ours. ragnb is tuned in the same way over four settings (scales,
weights of words and vectors; with --wide also other sizes of units, each of which is another index), and the tuned ragnb is compared with the tuned rival. --first leaves the tuned ones out.

The measure is delivered recall at 500, 1,000 and 4,000 characters, labels counted. A difference is ragnb minus the other; its interval is a paired bootstrap, and the verdict
is of `ragnb.evaluation.evidence`. What is kept in --work:

- vectors.db: vectors of trained embeddings, by text. Every system reads them, in whatever environment it runs
- runs/SET/ragnb-CODE and runs/SET/peers-CODE: a file a setting, with its contexts and costs. CODE is a hash of the modules that make the answer: after a change of ragnb's retrieval, ragnb is
  measured again and the peers are not
- hits/: what the libraries in environments of their own returned, by job
- texts/SET: the contexts of the systems out of the box, which `python benchmarks/audit.py out/evidence/texts/SET FOLDER_OF_THE_SET` counts again without ragnb, and the set itself where it is ours

Before it starts, it prints the hours that a set takes, and how likely the set shows a true difference.
"""
from __future__ import annotations

import hashlib
import inspect
import json
import platform
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

import rivals
from common import arguments, DATA, lines, MINILM, ROOT, store
from kept_vectors import KeptVectors, PASSAGE, QUERY, share_vectors
from ragnb import __version__, read_documents
from ragnb.chunking.units import UnitNodeParser
from ragnb.documents.span import InputError, Span
from ragnb.evaluation import comparison, recipe
from ragnb.evaluation.comparison import Run, RunPlan, run_strategies, write_results
from ragnb.evaluation.datasets import Dataset, Evidence, load_dataset, Question
from ragnb.evaluation.evidence import COLUMNS, could_win, Difference, highest_mean, judged, power
from ragnb.evaluation.measures import Evaluation
from ragnb.evaluation.peers import locate, Peer, PEERS, PeerHit, PeerPiece
from ragnb.evaluation.strategy import PRESETS, resolve_strategies, Strategy
from ragnb.evaluation.tune import choose_by_halves
from ragnb.machinery.registry import register
from ragnb.retrieval import multiscale
from ragnb.retrieval.multiscale import MultiScaleRetriever
from ragnb.retrieval.scoring import adjusted_totals, score_units, UnitScores
from ragnb.pipeline.specs import make_part

BUDGETS = (500, 1_000, 4_000)
IN_PROCESS = ("llamaindex-fusion", "llamaindex-auto-merging", "haystack-sentence-window")   # The best means of fourteen in `peers.json` of those with a search of their own
LIBRARIES = (*IN_PROCESS, "chonkie-recursive", "langchain-ensemble", "langchain-parent", "lancedb-hybrid", "bm25s-kiwi", "dsrag-own", "autorag")
NOT_ITS_OWN = {"chonkie-recursive": "its chunks, ragnb's search", "autorag": "reimplemented", "bm25s-kiwi": "with Kiwi's words", "dsrag-own": "its segments, no reranker"}
RULE = "statute-rule"    # Of the rows on statutes
NARROW = 4       # Settings that are tried of ragnb without --wide: they share one index
ANSWERS = ("documents", "models", "chunking", "storage", "laws", "files", "retrieval", "expansion", "context", "indexing", "pipeline")   # Rooms that make an answer
PACKAGES = ("llama-index-core", "llama-index-retrievers-bm25", "haystack-ai", "chonkie", "bm25s", "kiwipiepy")
TYPED = ROOT / "benchmarks" / "typed"
LAWS = ROOT / "benchmarks" / "questions"
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
        return adjusted_totals(scores.units, scores.rows, total, whole, scores.later) if total.any() else scores.total


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


TUNED = {   # Library -> settings that are tried beside its defaults
    "llamaindex-fusion": [f"chunk_size={size},chunk_overlap=0,titles,words" for size in (64, 96, 48)],
    "haystack-sentence-window": ["window_size=1,retriever=hybrid,words,titles"],
    "langchain-ensemble": ["size=300,overlap=0,tokens=kiwi", "size=150,overlap=0,tokens=kiwi"],
    "langchain-parent": ["size=150,parent=500"],
    "lancedb-hybrid": ["size=200,tokenizer=ngram"],
    "bm25s-kiwi": ["size=200"],
    "autorag": ["retriever=hybrid-cc,words,chunk_size=64,chunk_overlap=0,titles"],
}


def library_grid(name: str) -> list[Strategy]:
    """A library with its defaults, then tuned: chunks that are smaller, titles, Korean words."""
    return resolve_strategies([f"peer:{name}", *(f"peer:{name}:{said}" for said in TUNED.get(name, ()))])


# Libraries in environments of their own

@dataclass
class Running:
    """What the peers in other environments need of the row that is run."""
    questions: Sequence[str] = ()
    work: Path = ROOT / "out" / "evidence"
    vectors: KeptVectors | None = None
    version: str = ""
    cost: Mapping[str, Any] = field(default_factory=dict)    # Of the last one


RUNNING = Running()


@dataclass(frozen=True)
class Built:
    """What `build_peer` expects of a builder."""
    pieces: dict[str, PeerPiece]
    ask: Callable[[str], list[PeerHit]]
    top_k: int
    reads: Callable[[], int] = lambda: 0


def python_of(name: str) -> Path:
    """The Python that runs a system."""
    environment = rivals.SYSTEMS[name][0]
    return Path(sys.executable) if environment == rivals.OWN else RUNNING.work / "venvs" / environment / "bin" / "python"


def hits_of(name: str, settings: dict[str, Any], corpus: Any) -> dict[str, Any]:
    """The hits of all questions of the row, from a file or from the library."""
    python, model = python_of(name), corpus.embed_model
    if not python.is_file():
        raise InputError(f"{name} has no environment: python benchmarks/rivals.py install {RUNNING.work / 'venvs'}")
    tag = "" if model is None else model.model_name if hasattr(model, "_plain") else f"ngram-{RUNNING.version}"
    job = {"system": name, "settings": settings, "texts": corpus.texts, "titles": {i: corpus.titles.get(i, "") for i in corpus.texts}, "questions": list(RUNNING.questions),
           "fill": corpus.fill, "model": tag, "vectors": str(RUNNING.vectors.path)}
    decides = json.dumps({key: job[key] for key in job if key != "vectors"}, sort_keys=True) + source_of(name)
    out = RUNNING.work / "hits" / f"{name}-{hashlib.sha256(decides.encode()).hexdigest()[:16]}.json"
    if not out.is_file():
        out.parent.mkdir(parents=True, exist_ok=True)
        job_file, new = out.with_suffix(".job"), out.with_suffix(".new")
        job_file.write_text(json.dumps(job, ensure_ascii=False), encoding="utf-8")

        def embed(kind: str, texts: list[str]) -> None:
            each = model.get_text_embedding_batch if kind == PASSAGE else lambda part: [model.get_query_embedding(text) for text in part]
            if hasattr(model, "_plain"):    # keeps them by itself
                each(texts)
            else:
                RUNNING.vectors.through(tag, kind, texts, each)
        if model is not None and name not in ("bm25s-kiwi", RULE):
            embed(QUERY, list(RUNNING.questions))
        while status := subprocess.run([str(python), "-W", "ignore", str(Path(rivals.__file__)), "run", str(job_file), str(new)]).returncode:
            if status != 3:
                raise InputError(f"{name} ended with {status}")
            missing = json.loads(new.read_text(encoding="utf-8"))
            embed(missing["kind"], missing["missing"])
        job_file.unlink()
        new.replace(out)
    return json.loads(out.read_text(encoding="utf-8"))


def build_elsewhere(name: str) -> Callable[..., Built]:
    """A builder of a system that runs in another environment."""
    def build(corpus: Any, top_k: int | None, **settings: Any) -> Built:
        found = hits_of(name, settings, corpus)
        RUNNING.cost = found["cost"] | {"packages": found["packages"]}
        pieces: dict[str, PeerPiece] = {}
        answers: dict[str, list[PeerHit]] = {}
        for question, hits in zip(RUNNING.questions, found["hits"]):
            answers[question] = []
            for doc, text, start, score in hits:
                whole = corpus.texts[doc]
                id_ = f"{doc}:{start}:{len(text)}"
                if id_ not in pieces:
                    exact = start >= 0 and whole.startswith(text, start)
                    pieces[id_] = PeerPiece(doc, text, Span(start, start + len(text)) if exact else locate(whole, text, max(0, start)))
                answers[question].append(PeerHit(id_, text, score))
        return Built(pieces, answers.__getitem__, max(map(len, found["hits"]), default=1))
    return build


for _name, (_environment, _function, _library) in rivals.SYSTEMS.items():
    _defaults = {key: parameter.default for key, parameter in list(inspect.signature(_function).parameters.items())[1:]}
    PEERS[_name] = Peer(_name, "bm25s", _library, (_function.__doc__ or "").split("\n")[0], {"top_k": None, "titles": True, **_defaults}, build_elsewhere(_name))


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


def laws() -> Dataset:
    """The seven statutes with 120 questions as people ask them, half of which nobody has read since."""
    statutes = load_dataset("ko_statutes", problems=[])
    questions = []
    for half, name in (("open", "laws"), ("unread", "laws_held_out")):
        for asked in lines(LAWS / f"{name}.jsonl"):
            span = Span(asked["start"], asked["end"])
            text = span.of(statutes.documents[asked["document"]].text)
            if asked["needle"] not in text:
                raise InputError(f"{asked['id']} is not at its place: another version of the statutes")
            questions.append(Question(asked["id"], asked["question"], (Evidence(asked["document"], span, text),), "any", kind=half))
    return Dataset("laws", statutes.documents, questions)


@dataclass(frozen=True)
class Row:
    """A row of the table."""
    name: str
    about: str
    load: Callable[[], Dataset]
    embed: str = "ngram"
    base: Strategy = PRESETS["multi-scale"]
    shares: str = ""     # The row whose peers these are, as only ragnb differs


def by_name(name: str) -> Callable[[], Dataset]:
    """How a set is loaded."""
    return lambda: load_dataset(name, problems=[])


NO_LOOKUP = replace(PRESETS["multi-scale"], lookup="off")
OURS = ("typed", "laws")     # Sets of this repository
ROWS = {row.name: row for row in (
    Row("tydiqa_ko", "Korean Wikipedia", by_name("tydiqa_ko")),
    Row("korquad", "Korean Wikipedia", by_name("korquad")),
    Row("typed", "company files, questions as typed", typed),
    Row("laws", "statutes, everyday questions", laws),
    Row("ko_tax_tables", "Korean tables", by_name("ko_tax_tables")),
    Row("squad2", "English Wikipedia", by_name("squad2"), MINILM),
    Row("tatqa", "English reports with tables", by_name("tatqa"), MINILM),
    Row("covidqa", "English papers", by_name("covidqa"), MINILM),
    Row("ko_statutes-search", "statutes by rule, without the look-up", by_name("ko_statutes"), base=NO_LOOKUP, shares="ko_statutes"),
    Row("ko_statutes", "statutes by rule, with the look-up", by_name("ko_statutes")),
    Row("ko_tax_tables-e5", "Korean tables, E5", by_name("ko_tax_tables"), "e5"),
    Row("tydiqa_ko-e5", "Korean Wikipedia, E5", by_name("tydiqa_ko"), "e5"),
    Row("typed-e5", "company files, questions as typed, E5", typed, "e5"),
    Row("korquad-e5", "Korean Wikipedia, E5", by_name("korquad"), "e5"),
    Row("laws-e5", "statutes, everyday questions, E5", laws, "e5"),
    Row("sample", "documents of this repository", lambda: load_dataset(ROOT / "data")),
)}
QUICK = "sample"
MEAN = ("tydiqa_ko", "korquad", "typed", "squad2", "tatqa", "covidqa")   # Once each; not the rule-made ones, tables with wrong figures, nor laws, where words find nothing


# Runs

def once(split: Callable[[Sequence[str]], list[list[str]]]) -> Callable[[Sequence[str]], list[list[str]]]:
    """A function from texts to words that splits each text once, as settings share most of them."""
    known: dict[str, list[str]] = {}

    def words(texts: Sequence[str]) -> list[list[str]]:
        new = [text for text in dict.fromkeys(texts) if text not in known]
        known.update(zip(new, split(new)))
        return [known[text] for text in texts]
    return words


@cache
def code_of(*names: str) -> str:
    """A hash of some modules and rooms of ragnb."""
    digest = hashlib.sha256()
    for name in names:
        path = ROOT / "ragnb" / name
        for file in sorted(path.glob("*.py")) if path.is_dir() else [path]:
            digest.update(file.read_bytes())
    return digest.hexdigest()[:8]


def is_peer(system: str) -> bool:
    """Whether a system is not ragnb."""
    return system != "ragnb"


def source_of(name: str) -> str:
    """The functions that make a system in another environment."""
    return "".join(inspect.getsource(part) for part in (rivals.SYSTEMS[name][1], rivals.cut, rivals.pack, rivals.kiwi_words, rivals.Job))


def plan_of(row: Row, dataset: Dataset, system: str, work: Path) -> RunPlan:
    """Where a system's runs are kept: apart for each version of the code that makes them."""
    code = f"peers-{code_of('evaluation/peers.py', 'evaluation/recipe.py', 'context')}" if is_peer(system) else f"ragnb-{code_of(*ANSWERS)}"
    code += f"-{hashlib.sha256(source_of(system).encode()).hexdigest()[:8]}" if system in rivals.SYSTEMS else ""
    return RunPlan(dataset, BUDGETS, row.embed, work / "cache" / code, work / "runs" / (is_peer(system) and row.shares or row.name) / code)


def kept(plan: RunPlan, strategy: Strategy) -> bool:
    """Whether a setting is finished."""
    return (Path(plan.keep) / f"{plan.key(strategy)}.json").is_file()


def grids(row: Row, args: Any) -> dict[str, list[Strategy]]:
    """System -> its settings, the first of which is the one out of the box."""
    wanted = LIBRARIES if args.libraries is None else [name for name in args.libraries.split(",") if name]
    libraries = {name: library_grid(name) for name in wanted}
    found = {"ragnb": our_grid(row.base)[:None if args.wide else NARROW], "recipe": recipe_grid()[:None if args.wide else NARROW], **libraries}
    if row.name.startswith("ko_statutes"):
        found[RULE] = resolve_strategies(f"peer:{RULE}:look_up={'off' if row.base is NO_LOOKUP else 'on'}")
    return {system: grid[:1] if args.first else grid for system, grid in found.items() if is_peer(system) or not args.peers}


def run_system(plan: RunPlan, grid: Sequence[Strategy]) -> list[Run]:
    """Run the settings of a system that are not kept, and keep what each costs: CPU seconds to index and for a question, vectors apart."""
    runs = []
    for strategy in grid:
        cost = {"index_cpu": 0.0}
        real = comparison.build_system

        def timed(*given: Any, **more: Any) -> Any:
            started = time.process_time()
            try:
                return real(*given, **more)
            finally:
                cost["index_cpu"] += time.process_time() - started
        known, started = kept(plan, strategy), time.process_time()
        vectors, RUNNING.cost = RUNNING.vectors, {}
        if vectors is not None:
            vectors.start()
        try:
            with patch.object(comparison, "build_system", timed):
                runs += run_strategies(plan, [strategy], show_progress=False)
        except InputError as error:
            print(f"{plan.dataset.name}: {strategy.name} does not run: {error}", flush=True)
            if not runs:     # without its defaults a system is not in the table
                return []
            continue
        if not known:
            spent = time.process_time() - started - cost["index_cpu"]
            cost["index_cpu"] -= vectors.spent if vectors is not None else 0.0
            cost |= {"embed_cpu": vectors.seconds if vectors is not None else 0.0, "ask_cpu": spent / len(plan.dataset.questions)} | dict(RUNNING.cost)
            cost_file(plan, strategy).write_text(json.dumps(cost), encoding="utf-8")
    return runs


def cost_file(plan: RunPlan, strategy: Strategy) -> Path:
    """Where the cost of a setting is kept."""
    return Path(plan.keep) / f"{plan.key(strategy)}.cost"


def run_row(row: Row, args: Any) -> dict[str, Any] | None:
    """Run what is missing of a row, and compare; None while ragnb or the recipe out of the box is missing."""
    dataset = row.load().limit(args.limit)
    RUNNING.questions, RUNNING.work, RUNNING.version = [q.query for q in dataset.questions], args.work, dataset.version
    runs: dict[str, list[Run]] = {}
    costs: dict[str, Any] = {}
    for system, grid in grids(row, args).items():
        plan = plan_of(row, dataset, system, args.work)
        started, missing = time.perf_counter(), [s for s in grid if not kept(plan, s)]
        if args.kept:
            grid = [s for s in grid if s not in missing] if grid[0] not in missing else []
        runs[system] = run_system(plan, grid) if grid else []
        if runs[system] and cost_file(plan, grid[0]).is_file():
            costs[system] = json.loads(cost_file(plan, grid[0]).read_text(encoding="utf-8"))
        if missing:
            done = "missing" if args.kept else f"run in {time.perf_counter() - started:.0f} s"
            print(f"{row.name}: {system}, {len(missing)} settings {done}", flush=True)
    if not args.kept and any(runs.values()):      # for `audit.py`, which counts them again without this package
        folder = args.work / "texts" / row.name
        write_results([run for found in runs.values() for run in found[:1]], dataset, folder)
        if row.name.removesuffix("-e5") in OURS:
            write_set(dataset, folder)
    return compared(row, dataset, runs) | {"costs": costs} if runs.get("ragnb") and runs.get("recipe") else None


def write_set(dataset: Dataset, folder: Path) -> None:
    """Write a set of ours as `audit.py` reads it."""
    documents = [{"doc_id": i, "text": d.text} for i, d in dataset.documents.items()]
    questions = [{"query_id": q.query_id, "query": q.query, "evidence_mode": q.mode,
                  "evidence": [{"doc_id": e.doc_id, "start": e.span.start, "end": e.span.end, "text": e.text} for e in q.evidence]} for q in dataset.questions]
    for name, rows in (("corpus", documents), ("queries", questions)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def values(evaluation: Evaluation) -> dict[int, np.ndarray]:
    """Delivered recall of each question, by budget."""
    return {budget: evaluation.values("delivered_recall", budget) for budget in BUDGETS}


def over_budgets(evaluation: Evaluation) -> float:
    """The mean over the budgets."""
    return float(np.mean([v.mean() for v in values(evaluation).values()]))


def compared(row: Row, dataset: Dataset, runs: dict[str, list[Run]]) -> dict[str, Any]:
    """The facts of a row: means, differences, verdicts, choices. The tuned rival is there if both sides have several settings."""
    default = values(runs["ragnb"][0].evaluation)
    libraries = {name: found[0].evaluation for name, found in runs.items() if name in LIBRARIES and found}
    facts: dict[str, Any] = {"set": row.name, "about": row.about, "version": dataset.version, "n": len(dataset.questions), "n_documents": len(dataset.documents),
                             "embed": "minilm" if row.embed == MINILM else row.embed, "code": {"ragnb": code_of(*ANSWERS)}, "default": {str(b): v.mean() for b, v in default.items()},
                             "could_win": {str(b): could_win(v) for b, v in default.items()}}
    if libraries:
        best = max(libraries, key=lambda name: over_budgets(libraries[name]))
        means = {name: {str(b): v.mean() for b, v in values(found).items()} for name, found in libraries.items()}
        facts["library"] = {"name": best, "note": NOT_ITS_OWN.get(best, ""), "of": len(libraries), "means": means, "cells": differences(default, values(libraries[best]))}
    facts["recipe"] = {"name": "recipe", "cells": differences(default, values(runs["recipe"][0].evaluation))}
    if runs.get(RULE):
        facts["rule"] = {"name": RULE, "cells": differences(default, values(runs[RULE][0].evaluation))}
    if len(runs["ragnb"]) > 1 and any(len(found) > 1 for system, found in runs.items() if is_peer(system)):
        tried = [run for system, found in runs.items() if is_peer(system) and system != RULE for run in found]
        ours, rival = choose_by_halves(runs["ragnb"], highest_mean), choose_by_halves(tried, highest_mean)
        facts["rival"] = {"name": "best tuned rival", "tried": {"ragnb": len(runs["ragnb"]), "rivals": len(tried)},
                          "chosen": {"ragnb": list(ours.winners), "rival": list(rival.winners)}, "cells": differences(values(ours.evaluation), values(rival.evaluation))}
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
    for row in rows:
        n_settings = sum(map(len, grids(row, args).values()))
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


def elsewhere(rows: Sequence[dict[str, Any]]) -> dict[str, str]:
    """Versions of the packages in other environments."""
    return {name: found for row in rows for cost in row.get("costs", {}).values() for name, found in cost.get("packages", {}).items()}


def write_table(new: Sequence[dict[str, Any]], commands: Sequence[str], out: Path, args: Any) -> None:
    """Write the results file; rows of other sets that it has stay, each with its commit and date."""
    commit, date = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "--short=8", "HEAD"], capture_output=True, text=True).stdout.strip(), time.strftime("%Y-%m-%d")
    before = json.loads(out.read_text(encoding="utf-8")) if out.is_file() else {"rows": [], "commands": []}
    known = {row["set"]: {"commit": before.get("commit"), "date": before.get("date")} | row for row in before["rows"]}
    known |= {row["set"]: row | {"commit": commit, "date": date} for row in new}
    rows = [known[name] for name in ROWS if name in known]
    commands = list(dict.fromkeys([*before["commands"], *commands]))
    versions = {"ragnb": __version__, "python": platform.python_version()} | {name: version(name) for name in PACKAGES}
    whole = [row for row in rows if row["set"] in MEAN]
    store(out, {"commit": commit, "date": date, "commands": commands, "limit": args.limit, "versions": versions,
                "libraries": elsewhere(rows), "budgets": BUDGETS, "rows": rows, "mean": {column: mean_cells(whole, column) for column in COLUMNS}})


def main() -> None:
    args = arguments(__doc__, sets=(",".join(name for name in ROWS if name != QUICK), "separated by commas"), limit=(400, "questions a set, at most"),
                     work=ROOT / "out" / "evidence", kept=(False, "run nothing: the table of what is finished in --work"),
                     wide=(False, "seven settings of each tuned system instead of four: also other sizes of units"), first=(False, "each system out of the box, without its other settings"),
                     peers=(False, "only the peers, which a change of ragnb does not touch: their runs are kept for the table"),
                     libraries=(str, f"only these, separated by commas: {', '.join(LIBRARIES)}"), quick=(False, "a set of this repository alone"), out=(Path, "where the JSON goes; evidence.json in --work by default"))
    names = [QUICK] if args.quick else args.sets.split(",")
    args.work = args.work.resolve()
    out, rows = args.out or args.work / "evidence.json", []
    RUNNING.vectors = share_vectors(args.work / "vectors.db")
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
            cells = {column: {b: (c["difference"], c["verdict"]) for b, c in facts[column]["cells"].items()} for column in (*COLUMNS, "rule") if column in facts}
            print(name, json.dumps(cells), flush=True)


if __name__ == "__main__":
    main()
