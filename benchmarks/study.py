"""Run one of the studies and store its result where its notebook reads it.

    python benchmarks/study.py chunking              # nbs/studies/results/chunking.json
    python benchmarks/study.py seeds --limit 200     # a quick look; nothing is stored
    python benchmarks/study.py --list

Sets are looked for below RAGNB_DATA (default ../shared/data), models below RAGNB_MODELS (default ../shared/models).
Indexes and finished strategies are kept in --work, so that a run that was interrupted goes on.
"""
from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

from ragnb import __version__
from ragnb.compare import RunPlan, paired_test, run_strategies, to_records
from ragnb.datasets import load_dataset
from ragnb.strategy import Strategy, make_grid, resolve_strategies

ROOT = Path(__file__).resolve().parent.parent
MINILM = "onnx:" + str(Path(os.environ.get("RAGNB_MODELS", ROOT.parent / "shared" / "models")) / "minilm")
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


def grid(**choices: object) -> tuple[Strategy, ...]:
    """A grid whose names are values only."""
    return tuple(replace(s, name=" ".join(w.partition("=")[2] for w in s.name.split())) for s in make_grid("chunks", **choices))


def lines(*specs: str) -> tuple[Strategy, ...]:
    """Strategies of lines."""
    return tuple(resolve_strategies(specs))


CHUNKING = grid(split=["chunks:200/0", "chunks:400/0", "parent-child"], retrieve=["bm25", "hybrid"], policy=["none", "neighbours:1", "neighbours:2", "neighbours:5"])
PEERS = ("llamaindex-bm25", "llamaindex-bm25:chunk_size=256,chunk_overlap=20", "llamaindex-fusion", "llamaindex-fusion:chunk_size=256,chunk_overlap=20", "llamaindex-sentence-window",
         "llamaindex-auto-merging", "llamaindex-prev-next:chunk_size=256,chunk_overlap=20")
RETRIEVAL = lines("multi-scale", "seed name='seeds: RRF ±5'", "chunks name='RRF, chunks of 200'", "chunks split=chunks:400/0 name='RRF, chunks of 400'", *(f"peer:{p}" for p in PEERS))
STUDIES = {
    "chunking": Study("chunking x retrieval x expansion: 24 configurations", ("korquad", "squad2"), CHUNKING, (500, 1_000, 2_000, 4_000)),
    "retrieval": Study("the default against its peers, at equal budgets", ("korquad", "tydiqa_ko", "ko_statutes", "squad2", "covidqa", "chroma_chunking"), RETRIEVAL, BUDGETS, 250,
                       tuple((s.name, "multi-scale") for s in RETRIEVAL[1:])),
    "seeds": Study(
        "the claims of the design documents, each as two lines", ("korquad", "data"),
        lines("hybrid policy=none name='no neighbours'", *(f"hybrid policy=neighbours:{n} name='neighbours ±{n}'" for n in (1, 2, 3, 5)),
              "hybrid policy=parent name='parents of 800'", "split=parent-child:2000/200,200/30 policy=parent name='parents of 2,000'",
              "split=titled:parent-child policy=none name='with header'", "split=parent-child:800/100,400/60 policy=none name='children of 400'",
              "hybrid policy=none retrieve=hybrid:weighted name='weighted fusion'", "hybrid policy=none retrieve=hybrid:zscore name='z-score fusion'",
              "hybrid policy=none retrieve=bm25 name='BM25 alone'", "hybrid policy=none retrieve=vector name='vectors alone'"),
        BUDGETS, 400,
        (("no neighbours", "neighbours ±1"), ("neighbours ±1", "neighbours ±5"), ("parents of 800", "parents of 2,000"), ("no neighbours", "with header"), ("no neighbours", "children of 400"),
         ("no neighbours", "weighted fusion"), ("no neighbours", "z-score fusion"), ("BM25 alone", "no neighbours"), ("vectors alone", "no neighbours"))),
}


def run_set(name: str, study: Study, work: Path, limit: int | None, workers: int, command: str) -> dict:
    """All strategies of a study on one set."""
    dataset = load_dataset(ROOT / "data" if name == "data" else name).limit(limit)
    embed = MINILM if name in ENGLISH else "ngram"
    started = time.perf_counter()
    plan = RunPlan(dataset, study.budgets, embed, work / "cache", work / "runs" / name)
    runs = run_strategies(plan, study.strategies, workers=workers)
    by_name = {r.strategy.name: r.evaluation for r in runs}
    tests = [{"a": a, "b": b, "budget": budget, **{k: getattr(t, k) for k in ("difference", "ci", "p_value", "better", "worse", "is_real")}}
             for a, b in study.pairs for budget in study.budgets for t in [paired_test(by_name[a].values(budget=budget), by_name[b].values(budget=budget))]]
    records = [{k: v for k, v in r.items() if k != "milliseconds"} for r in to_records(runs)]
    print(f"{name}: {len(dataset.questions):,} questions x {len(runs)} strategies in {time.perf_counter() - started:.0f} s", flush=True)
    return {"dataset": name, "version": dataset.version, "n_documents": len(dataset.documents), "n_questions": len(dataset.questions), "embed": embed.split(":")[0] + (":minilm" if embed is MINILM else ""),
            "specs": {r.strategy.name: r.strategy.spec for r in runs}, "records": records,
            "ci": {r.strategy.name: r.evaluation.to_dict()["budgets"] for r in runs}, "tests": tests, "command": command}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", nargs="?", choices=list(STUDIES))
    parser.add_argument("--list", action="store_true", help="name the studies")
    parser.add_argument("--sets", help="only these, separated by commas; the others keep what is stored")
    parser.add_argument("--limit", type=int, help="questions a set (then nothing is stored)")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--work", type=Path, default=ROOT / "out" / "studies")
    args = parser.parse_args()
    if args.list or not args.study:
        return print("\n".join(f"{n:<12} {s.about}; {', '.join(s.sets)}; {len(s.strategies)} strategies" for n, s in STUDIES.items()))
    study, target = STUDIES[args.study], ROOT / "nbs" / "studies" / "results" / f"{args.study}.json"
    stored = json.loads(target.read_text(encoding="utf-8"))["sets"] if target.exists() else []
    kept = {s["dataset"]: s for s in stored}
    for name in args.sets.split(",") if args.sets else study.sets:
        kept[name] = run_set(name, study, args.work / args.study, args.limit or study.limit, args.workers, f"python benchmarks/study.py {args.study}")
        if not args.limit:  # stored set by set: a study that is cut short keeps what it has
            target.parent.mkdir(parents=True, exist_ok=True)
            facts = {"study": args.study, "about": study.about, "ragnb": __version__, "python": platform.python_version(), "budgets": study.budgets, "sets": [kept[n] for n in study.sets if n in kept]}
            target.write_text(json.dumps(facts, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
        for record in kept[name]["records"]:
            print(f"  {record['strategy']:<44}" + "  ".join(f"{record[f'recall@{b}']:.3f}" for b in study.budgets))
    sys.stdout.flush()


if __name__ == "__main__":
    main()
