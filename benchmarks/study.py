"""Run one of the studies and store its result where its notebook reads it.

    python benchmarks/study.py chunking              # nbs/studies/results/chunking.json
    python benchmarks/study.py seeds --limit 200     # a quick look; nothing is stored

Sets are looked for below RAGNB_DATA (default ../shared/data), models below RAGNB_MODELS (default ../shared/models).
Indexes and finished strategies are kept in --work, so that a run that was interrupted goes on.
"""
from __future__ import annotations

import json
import platform
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from context_order import order_rows
from common import arguments, MINILM, ROOT, store
from ragnb import __version__
from ragnb.evaluation.comparison import Run, RunPlan, paired_test, run_strategies, to_records
from ragnb.evaluation.datasets import Dataset, load_dataset
from ragnb.expansion.policies import adaptive
from ragnb.expansion.policy import Policy
from ragnb.expansion.segments import best_segments
from ragnb.machinery.registry import register
from ragnb.evaluation.peers import PEERS as ALL_PEERS
from ragnb.evaluation.strategy import IndexCache, Strategy, build_system, make_grid, resolve_strategies

ENGLISH = ("squad2", "covidqa", "chroma_chunking")
BUDGETS = (250, 500, 1_000, 2_000, 4_000)


@dataclass(frozen=True)
class Study:
    """Strategies on sets, all at the same budgets."""
    about: str
    sets: tuple[str, ...]
    strategies: tuple[Strategy, ...]
    budgets: tuple[int, ...] = BUDGETS
    limit: int | None = None          # Questions a set; all when None
    pairs: tuple[tuple[str, str], ...] = ()  # Claims to test: (a, b), names of strategies
    own: Mapping[str, tuple[Strategy, ...]] = field(default_factory=dict)  # Sets with strategies of their own
    kinds: Mapping[str, str] = field(default_factory=dict)                 # Sets of which one kind of question is asked
    ordered: tuple[str, ...] = ()                                          # Sets whose contexts are also laid out in several orders
    kept: tuple[str, ...] = ()                                             # Measures that are stored; all when empty


def grid(**choices: object) -> tuple[Strategy, ...]:
    """A grid whose names are values only."""
    return tuple(replace(s, name=" ".join(w.partition("=")[2] for w in s.name.split())) for s in make_grid("chunks", **choices))


def lines(*specs: str) -> tuple[Strategy, ...]:
    """Strategies of lines."""
    return tuple(resolve_strategies(specs))


CHUNKING = grid(split=["chunks:200/0", "chunks:400/0", "parent-child"], retrieve=["bm25", "hybrid"], policy=["none", "neighbors:1", "neighbors:2", "neighbors:5"])
PEERS = ("llamaindex-bm25", "llamaindex-bm25:chunk_size=256,chunk_overlap=20", "llamaindex-fusion", "llamaindex-fusion:chunk_size=256,chunk_overlap=20", "llamaindex-sentence-window",
         "llamaindex-auto-merging", "llamaindex-prev-next:chunk_size=256,chunk_overlap=20")
TUNED = ("llamaindex-bm25:chunk_size=128,chunk_overlap=20", "llamaindex-vector:chunk_size=128,chunk_overlap=20",
         "llamaindex-fusion:chunk_size=128,chunk_overlap=20", "llamaindex-prev-next:chunk_size=128,chunk_overlap=20",
         "llamaindex-auto-merging:top_k=12", "chonkie-recursive:chunk_size=400", "chonkie-sentence:chunk_size=400")
EVERY_PEER = lines(*(f"peer:{p}" for p in dict.fromkeys((*ALL_PEERS, *PEERS, *TUNED))))
RETRIEVAL = lines("multi-scale", "seed name='seeds: RRF ±5'", "chunks name='RRF, chunks of 200'", "chunks split=chunks:400/0 name='RRF, chunks of 400'", *(f"peer:{p}" for p in PEERS))


@register("policy", "adaptive-two")
def adaptive_two() -> Policy:
    """The two steps of the design's text, beside the three of its code."""
    return adaptive(steps=((500, 10),))


@register("policy", "segments-of-hits")
def segments_of_hits() -> Policy:
    """Values for hits only, as dsRAG has it; `segments` has BM25 values for all chunks."""
    return best_segments()


def policies(split: str, **named: str) -> tuple[Strategy, ...]:
    """The same hits under each policy."""
    return lines(*(f"hybrid split={split} policy={p} name='{n}'" for n, p in named.items()))


EVERYWHERE = {"hits alone": "none", "neighbors ±1": "neighbors:1", "neighbors ±2": "neighbors:2", "neighbors ±5": "neighbors:5", "adaptive": "adaptive", "document": "document:50",
              "segments": "segments", "segments of hits": "segments-of-hits"}
FAMILY = {"parent": "parent", "auto-merge": "auto-merge"}
OTHERS = lines("multi-scale", "split=sentence policy=window:3 name='sentence window'")
EXPANSION = policies("parent-child", **EVERYWHERE, **FAMILY) + lines("chunks top_k=60 name='60 hits'") + OTHERS
STATUTES = (policies("records", **EVERYWHERE, section="section", citations="citations", **{"citations, depth 2": "citations:2", "±1 + citations": "neighbors:1+citations"})
            + policies("parent-child", **FAMILY) + lines("chunks split=records top_k=60 name='60 hits'") + OTHERS)
SAMPLE = EXPANSION + policies("parent-child", section="section", **{"pages ±1": "pages:1", "pages ±2": "pages:2", "by document type": "doc_type", "adaptive, two steps": "adaptive-two"})
STUDIES = {
    "chunking": Study("chunking x retrieval x expansion: 24 configurations", ("korquad", "squad2"), CHUNKING, (500, 1_000, 2_000, 4_000)),
    "retrieval": Study("the default against its peers, at equal budgets", ("korquad", "tydiqa_ko", "ko_statutes", "squad2", "covidqa", "chroma_chunking"), RETRIEVAL, BUDGETS, 250,
                       tuple((s.name, "multi-scale") for s in RETRIEVAL[1:])),
    "peers": Study("other libraries as their users call them, and with better sizes", ("korquad", "squad2"), EVERY_PEER, BUDGETS, 300),
    "seeds": Study(
        "the claims of the design documents, each as two lines", ("korquad", "data"),
        lines("hybrid policy=none name='no neighbors'", *(f"hybrid policy=neighbors:{n} name='neighbors ±{n}'" for n in (1, 2, 3, 5)),
              "hybrid policy=parent name='parents of 800'", "split=parent-child:2000/200,200/30 policy=parent name='parents of 2,000'",
              "split=titled:parent-child policy=none name='with header'", "split=parent-child:800/100,400/60 policy=none name='children of 400'",
              "hybrid policy=none retrieve=hybrid:weighted name='weighted fusion'", "hybrid policy=none retrieve=hybrid:zscore name='z-score fusion'",
              "hybrid policy=none retrieve=bm25 name='BM25 alone'", "hybrid policy=none retrieve=vector name='vectors alone'"),
        BUDGETS, 400,
        (("no neighbors", "neighbors ±1"), ("neighbors ±1", "neighbors ±5"), ("parents of 800", "parents of 2,000"), ("no neighbors", "with header"), ("no neighbors", "children of 400"),
         ("no neighbors", "weighted fusion"), ("no neighbors", "z-score fusion"), ("BM25 alone", "no neighbors"), ("vectors alone", "no neighbors"))),
    "policies": Study(
        "every expansion policy over the same hits", ("squad2", "covidqa", "chroma_chunking", "korquad", "ko_statutes", "data"), EXPANSION, (*BUDGETS, 8_000), 250,
        (*(("hits alone", n) for n in dict.fromkeys(s.name for s in SAMPLE + STATUTES) if n != "hits alone"),
         *(("60 hits", n) for n in ("neighbors ±1", "neighbors ±2", "neighbors ±5", "parent", "section", "citations", "±1 + citations", "multi-scale")), ("neighbors ±1", "neighbors ±5")),
        {"ko_statutes": STATUTES, "data": SAMPLE}, {"ko_statutes": "xref"}, ("korquad", "chroma_chunking"), ("delivered_recall", "delivered_ci", "evidence_recall", "ci", "containment", "characters", "duplicated")),
}


def run_set(name: str, study: Study, work: Path, limit: int | None, workers: int, command: str) -> dict:
    """All strategies of a study on one set."""
    dataset = load_dataset(ROOT / "data" if name == "data" else name)
    if name in study.kinds:
        dataset = replace(dataset, questions=[q for q in dataset.questions if q.kind == study.kinds[name]])
    dataset = dataset.limit(limit)
    embed = MINILM if name in ENGLISH else "ngram"
    started = time.perf_counter()
    plan = RunPlan(dataset, study.budgets, embed, work / "cache", work / "runs" / name, contexts=False)
    runs = run_strategies(plan, study.own.get(name, study.strategies), workers=workers)
    check_distinct(runs)
    by_name = {r.strategy.name: r.evaluation for r in runs}
    tests = [{"a": a, "b": b, "budget": budget, **{k: getattr(t, k) for k in ("difference", "ci", "p_value", "better", "worse", "is_real")}}
             for a, b in study.pairs if a in by_name and b in by_name for budget in study.budgets for t in [paired_test(by_name[a].values(budget=budget), by_name[b].values(budget=budget))]]
    records = [{k: v for k, v in r.items() if k != "milliseconds"} for r in to_records(runs)]
    print(f"{name}: {len(dataset.questions):,} questions x {len(runs)} strategies in {time.perf_counter() - started:.0f} s", flush=True)
    return {"dataset": name, "version": dataset.version, "n_documents": len(dataset.documents), "n_questions": len(dataset.questions), "embed": embed.split(":")[0] + (":minilm" if embed is MINILM else ""),
            "specs": {r.strategy.name: r.strategy.spec for r in runs}, "records": records,
            "ci": {r.strategy.name: means(r, study.kept) for r in runs}, "tests": tests, "command": command} | (
                {"orders": orders(dataset, embed, work / "cache")} if name in study.ordered else {})


def check_distinct(runs: Sequence[Run]) -> None:
    """No strategy of ours shows a character twice, at any budget, for any question."""
    for run in runs:
        for budget in run.evaluation.budgets if not run.strategy.peer else ():
            twice = run.evaluation.values("duplicated", budget)
            assert not twice.any(), f"{run.strategy.name} at {budget}: repeated characters in {int((twice > 0).sum())} contexts"


def means(run: Run, kept: Sequence[str]) -> dict[str, dict]:
    """The means of a run at every budget."""
    found = run.evaluation.to_dict()["budgets"]
    return {b: {k: v for k, v in m.items() if k in kept} for b, m in found.items()} if kept else found


def orders(dataset: Dataset, embed: str, cache: Path) -> list[dict]:
    """Where the evidence stands when the same passages are laid out in different orders."""
    pipeline = build_system("hybrid", dataset, IndexCache(cache), embed=embed).source
    found = {q.query: pipeline.expander.expand(pipeline.find(q.query).hits, q.query).passages for q in dataset.questions}
    return list(order_rows(found, dataset.questions))


def main() -> None:
    args = arguments(__doc__, what=list(STUDIES), sets=(str, "only these, separated by commas; the others keep what is stored"),
                     limit=(int, "questions a set (then nothing is stored)"), workers=2, work=ROOT / "out" / "studies")
    study, target = STUDIES[args.what], ROOT / "nbs" / "studies" / "results" / f"{args.what}.json"
    stored = json.loads(target.read_text(encoding="utf-8"))["sets"] if target.exists() else []
    kept = {s["dataset"]: s for s in stored}
    for name in args.sets.split(",") if args.sets else study.sets:
        kept[name] = run_set(name, study, args.work / args.what, args.limit or study.limit, args.workers, f"python benchmarks/study.py {args.what}")
        if not args.limit:  # stored set by set: a study that is cut short keeps what it has
            store(target, {"study": args.what, "about": study.about, "ragnb": __version__, "python": platform.python_version(),
                           "budgets": study.budgets, "sets": [kept[n] for n in study.sets if n in kept]})
        for record in kept[name]["records"]:
            delivered, spans = ("  ".join(f"{record[f'{kind}@{b}']:.3f}" for b in study.budgets) for kind in ("delivered", "recall"))
            print(f"  {record['strategy']:<44}{delivered}   spans {spans}", flush=True)


if __name__ == "__main__":
    main()
