"""Other libraries at an equal number of characters: evidence recall of each peer, on the same questions over the whole corpus of a set.

    python benchmarks/peers.py squad2 korquad --limit 300
    python benchmarks/peers.py squad2 --embed onnx:../shared/models/minilm
    python benchmarks/peers.py korquad --peer llamaindex-bm25 --peer llamaindex-fusion:chunk_size=256,chunk_overlap=20

A chunk that does not fit is cut at its end. --tuned adds chunks of a better size where a peer lets one choose.
"""
from __future__ import annotations

import argparse
import gc
import logging
import statistics
import sys
import time
from typing import Any

from llama_index.core.storage.kvstore import SimpleKVStore

from ragnb.evaluation.datasets import Dataset, load_dataset
from ragnb.models.embedding import resolve_embedding
from ragnb.evaluation.measures import Evaluation, bootstrap_interval, evaluate
from ragnb.indexing.update import fit_pieces
from ragnb.evaluation.peers import PEERS, PeerSystem, build_peer, parse_peer

BUDGETS = (250, 500, 1000, 2000, 4000)
TUNED = ("llamaindex-bm25:chunk_size=128,chunk_overlap=20", "llamaindex-vector:chunk_size=128,chunk_overlap=20",
         "llamaindex-fusion:chunk_size=128,chunk_overlap=20", "llamaindex-fusion:chunk_size=256,chunk_overlap=20",
         "llamaindex-prev-next:chunk_size=128,chunk_overlap=20", "llamaindex-auto-merging:top_k=12", "chonkie-recursive:chunk_size=400", "chonkie-sentence:chunk_size=400")


def fitted(spec: str, dataset: Dataset) -> Any:
    """An embedding, fitted on the corpus when it is one that is, that remembers what it embedded."""
    model = resolve_embedding(spec)
    if hasattr(model, "fit"):
        model.fit(fit_pieces(list(dataset.documents.values())))
    model.embeddings_cache = SimpleKVStore()
    return model


def line(spec: str, system: PeerSystem, result: Evaluation, built: float) -> str:
    """A row of the table."""
    low_high = [bootstrap_interval(result.values(budget=b)) for b in result.budgets]
    cells = [f"{result.mean(budget=b):.3f} ±{(high - low) / 2:.3f}".replace("0.", ".") for b, (low, high) in zip(result.budgets, low_high)]
    short = sum(row.scores[result.budgets[-1]].characters < 0.9 * result.budgets[-1] for row in result.rows)
    cells += [f"{result.mean('duplicated'):.0%}", str(system.settings["top_k"]), f"{built:.1f}", f"{statistics.median(r.milliseconds for r in result.rows):.0f}",
              f"{system.reads / len(result.rows):.0f}", f"{len(system.pieces):,}", f"{system.misplaced:,}", str(system.unmapped), str(short)]
    return f"| {spec} | " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description="peers at an equal number of characters")
    parser.add_argument("sets", nargs="+", help="evaluation sets, folders of RAGNB_DATA")
    parser.add_argument("--peer", action="append", help="NAME or NAME:KEY=VALUE,…; all when not given")
    parser.add_argument("--tuned", action="store_true", help="better settings as well as the defaults")
    parser.add_argument("--limit", type=int, help="questions of a set, evenly spaced")
    parser.add_argument("--embed", default="ngram", help="ngram, onnx:FOLDER, …")
    parser.add_argument("--budgets", default=",".join(map(str, BUDGETS)))
    args = parser.parse_args()
    logging.getLogger("haystack").setLevel(logging.ERROR)
    budgets = [int(b) for b in args.budgets.split(",")]
    specs = [*(args.peer or PEERS), *(TUNED if args.tuned else ())]
    for spec in specs:
        parse_peer(spec)
    for name in args.sets:
        dataset = load_dataset(name).limit(args.limit)
        model = fitted(args.embed, dataset)
        print(f"\n{dataset!r}, {sum(map(len, dataset.texts.values())):,} characters, --embed {args.embed}; ± is half a 95 % bootstrap interval\n")
        print("| peer | " + " | ".join(map(str, budgets)) + " | repeated | top_k | build (s) | ms a question | reads | pieces | own offset wrong | not found | short |")
        print("|---|" + "--:|" * (len(budgets) + 9), flush=True)
        for spec in specs:
            start = time.perf_counter()
            system = build_peer(spec, list(dataset.documents.values()), model, fill=max(budgets))
            built = time.perf_counter() - start
            print(line(spec, system, evaluate(system.rank, dataset.questions, budgets, show_progress=sys.stderr.isatty()), built), flush=True)
            del system
            gc.collect()


if __name__ == "__main__":
    main()
