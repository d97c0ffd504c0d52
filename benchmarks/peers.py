"""ragnb beside other libraries, each as documented and at its best: one table over all development sets.

    python benchmarks/peers.py                                     # all sets, 100 questions each; goes on where it was interrupted
    python benchmarks/peers.py --sets tydiqa_ko,squad2 --embed ngram --peers llamaindex-fusion,autorag
    python benchmarks/peers.py --best autorag                      # only this peer at its best, all others as documented
    python benchmarks/peers.py --kept --out nbs/studies/results/peers.json   # the table of what is finished; nothing is run

The first number is delivered recall: evidence that stands verbatim in a context string of so many characters, labels and separators counted, the same layout for all.
Four kinds of line: `multi-scale` with its defaults; each peer as documented; and both tuned: 13 trials each (`tuning_grid`, `peer_grid`) over the same questions, and every
question is reported by the strategy that was chosen on the other half of the questions (`choose_by_halves`). A documented peer is compared with the default of ragnb, a tuned
peer with the tuned ragnb, paired by question; a negative difference is a peer behind ragnb. p-values are corrected for all tests of the table (Holm).

Sets are looked for below RAGNB_DATA (default ../shared/data), models below RAGNB_MODELS (default ../shared/models); English sets run with both embeddings. Sets whose qrels name
whole documents have no evidence to deliver and are left out. Indexes and finished strategies are kept in --work, one file a strategy. Tuning runs 13 strategies a peer and
set; `--best` names the peers to tune.
Several processes may share a --work when their --sets differ; the command without --sets then reads what they kept. What is kept belongs to the code that made it: after a change of
retrieval or of the context, name another --work.
"""
from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from common import arguments, MINILM, ROOT, store
from ragnb import __version__
from ragnb.evaluation.comparison import Run, RunPlan, holm, paired_test, run_strategies
from ragnb.evaluation.datasets import load_dataset
from ragnb.evaluation.measures import Evaluation, mean_interval
from ragnb.evaluation.peers import PEERS
from ragnb.evaluation.strategy import Strategy
from ragnb.evaluation.tune import choose_by_halves, peer_grid, tuning_grid

EMBEDS = {"ngram": "ngram", "minilm": MINILM}
ENGLISH = ("squad2", "covidqa", "tatqa", "chroma_chunking", "anthropic_codebases")
SETS = ("tydiqa_ko", "squad2", "covidqa", "korquad", "ko_statutes", "tatqa", "chroma_chunking", "anthropic_codebases", "ko_tax_tables")
BUDGETS = (500, 1_000, 4_000)
OURS = "multi-scale"
LIBRARIES = ("llama-index-core", "llama-index-retrievers-bm25", "haystack-ai", "chonkie")


class Line(NamedTuple):
    """A line of the table before it is compared."""
    name: str
    way: str                  # "documented" or "best"
    chosen: tuple[str, ...]   # Strategies that report, without the name of the peer
    evaluation: Evaluation


def ways(name: str, runs: Sequence[Run]) -> list[Line]:
    """The first run as it is; of several runs also what is chosen by halves."""
    documented = Line(name, "documented", (), runs[0].evaluation)
    if len(runs) < 2:
        return [documented]
    best = choose_by_halves(runs)
    chosen = tuple(winner.removeprefix(f"peer:{name}").removeprefix(":") or "documented" for winner in best.winners)
    return [documented, Line(name, "best", chosen, best.evaluation)]


def measured(line: Line, ours: Line) -> dict[str, Any]:
    """A row of the table: what is delivered and found at every budget, and the difference from ragnb."""
    row: dict[str, Any] = {"line": line.name, "way": line.way, "chosen": list(line.chosen), "budgets": {}}
    for budget in BUDGETS:
        values = line.evaluation.values("delivered_recall", budget)
        cell = {"delivered": values.mean(), "ci": mean_interval(values), "spans": line.evaluation.mean("evidence_recall", budget)}
        if line is not ours:
            test = paired_test(ours.evaluation.values("delivered_recall", budget), values, n_samples=200_000)
            cell |= {"difference": test.difference, "difference_ci": test.ci, "p": test.p_value}
        row["budgets"][str(budget)] = cell
    return row


def finished(plan: RunPlan, grid: Sequence[Strategy]) -> list[Strategy]:
    """The strategies of a grid if all are kept, else the first if it is."""
    has = [(Path(plan.keep) / f"{plan.key(strategy)}.json").is_file() for strategy in grid]
    return list(grid) if all(has) else list(grid[:1]) if has[0] else []


def run_set(name: str, embed: str, peers: Sequence[str], args: argparse.Namespace) -> dict[str, Any]:
    """All lines of a set with one embedding."""
    dataset, started = load_dataset(name).limit(args.limit), time.perf_counter()
    tuned = [peer for peer in peers if peer in args.best]
    grids: dict[str, list[Strategy]] = {OURS: tuning_grid()} | {peer: peer_grid(peer) for peer in peers}
    grids = {name: grid if name in [*tuned, OURS] and tuned else grid[:1] for name, grid in grids.items()}
    plan = RunPlan(dataset, BUDGETS, EMBEDS[embed], args.work / "cache", args.work / "runs" / f"{name}-{embed}", contexts=False)
    if args.kept:
        grids = {key: finished(plan, grid) for key, grid in grids.items()}
        grids = {key: grid for key, grid in grids.items() if grid and grids[OURS]}
    wanted = [s for grid in grids.values() for s in grid]
    runs = {run.strategy.name: run for run in (run_strategies(plan, wanted, show_progress=False) if wanted else ())}
    lines = {key: ways(key, [runs[s.name] for s in grid]) for key, grid in grids.items()}
    rows = [measured(line, ours) for pair in lines.values() for line, ours in zip(pair, lines.get(OURS, ()))]
    print(f"{name} {embed}: {len(runs)} strategies in {time.perf_counter() - started:.0f} s", flush=True)
    return {"dataset": name, "version": dataset.version, "embed": embed, "n": len(dataset.questions), "n_documents": len(dataset.documents), "rows": rows}


def correct(sets: Sequence[dict[str, Any]]) -> int:
    """Correct the p-values for all tests of the table; how many there are."""
    cells = [cell for found in sets for row in found["rows"] for cell in row["budgets"].values() if "p" in cell]
    for cell, p in zip(cells, holm([cell["p"] for cell in cells])):
        cell["p_holm"] = p
    return len(cells)


def verdict(cell: dict[str, Any]) -> str:
    """Where a peer is, after the correction."""
    if cell["p_holm"] >= 0.05:
        return "level"
    return "behind" if cell["difference"] < 0 else "ahead"


def markdown(sets: Sequence[dict[str, Any]], n_tests: int) -> str:
    """The table, set by set, and how many differences are significant."""
    out, heads = [], [f"{b:,}: delivered (spans) | difference (95 %), p" for b in BUDGETS]
    for found in sets:
        out += [f"### {found['dataset']}, {found['embed']}, n = {found['n']}", "", f"| line | way | {' | '.join(heads)} |", "|---|---|" + "---|---|" * len(BUDGETS)]
        for row in found["rows"]:
            cells = []
            for cell in row["budgets"].values():
                low, high = cell["ci"]
                cells.append(f"{cell['delivered']:.3f} [{low:.2f}, {high:.2f}] ({cell['spans']:.3f})")
                cells.append(f"{cell['difference']:+.3f} [{cell['difference_ci'][0]:+.2f}, {cell['difference_ci'][1]:+.2f}] {cell['p_holm']:.3f} {verdict(cell)}" if "p" in cell else "–")
            chosen = f"best: {' / '.join(dict.fromkeys(row['chosen']))}" if row["chosen"] else row["way"]
            out.append(f"| {row['line']} | {chosen} | {' | '.join(cells)} |")
        out.append("")
    counts = {way: [verdict(c) for s in sets for r in s["rows"] if r["way"] == way for c in r["budgets"].values() if "p" in c] for way in ("documented", "best")}
    said = [f"{way}: " + ", ".join(f"{kinds.count(kind)} {kind}" for kind in ("behind", "level", "ahead")) for way, kinds in counts.items()]
    return "\n".join([*out, f"Peers beside ragnb after Holm's correction over {n_tests} tests. " + "; ".join(said) + "."])


def write_table(sets: Sequence[dict[str, Any]], commands: Sequence[str], out: Path, args: argparse.Namespace) -> None:
    """Write the JSON and the Markdown."""
    facts = {"ragnb": __version__, "python": platform.python_version(), "libraries": {name: version(name) for name in LIBRARIES}, "budgets": BUDGETS, "limit": args.limit, "commands": commands}
    n_tests = correct(sets)
    store(out, {**facts, "n_tests": n_tests, "sets": sets})
    (args.work / "peers.md").write_text(markdown(sets, n_tests) + "\n", encoding="utf-8")


def main() -> None:
    args = arguments(__doc__, sets=(",".join(SETS), "separated by commas"), embed=(str, "only this one: ngram or minilm"),
                     peers=(",".join(PEERS), "separated by commas"),
                     best=(str, "the peers that are tuned too, separated by commas, or none; all of --peers by default"),
                     kept=(False, "run nothing: the table of the strategies that are finished in --work"),
                     limit=(100, "questions a set"), work=ROOT / "out" / "peers",
                     out=(Path, "where the JSON goes; peers.json in --work by default"))
    out, sets, wanted = args.out or args.work / "peers.json", [], args.peers.split(",")
    args.best = wanted if args.best is None else args.best.split(",")
    embeds = [args.embed] if args.embed else [*EMBEDS]
    jobs = [(name, embed) for name in args.sets.split(",") for embed in embeds if embed == "ngram" or name in ENGLISH]
    asked = {"sets": args.sets, "embed": args.embed, "peers": args.peers, "best": ",".join(args.best), "limit": args.limit}
    said = "python benchmarks/peers.py" + "".join(f" --{key} {value}" for key, value in asked.items() if value)
    log = args.work / "commands.txt"   # every command whose strategies are kept here
    commands = log.read_text(encoding="utf-8").splitlines() if log.is_file() else []
    if not args.kept and said not in commands:
        commands.append(said)
        args.work.mkdir(parents=True, exist_ok=True)
        log.write_text("\n".join(commands) + "\n", encoding="utf-8")
    for name, embed in jobs:   # written set by set: a table that is cut short has what is finished
        found = run_set(name, embed, wanted, args)
        if found["rows"]:
            sets.append(found)
        write_table(sets, commands, out, args)
    print(markdown(sets, correct(sets)))


if __name__ == "__main__":
    main()
