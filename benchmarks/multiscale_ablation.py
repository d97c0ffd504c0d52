"""What multi-scale span retrieval reaches on the evaluation sets, and what each of its parts is worth.

    python benchmarks/multiscale_ablation.py [--sets korquad,squad2] [--limit 300] [--parts]
    python benchmarks/multiscale_ablation.py cut [--sets tydiqa_ko,squad2] [--limit 300] [--embed ngram]

Evidence recall at each budget of characters, questions asked over the whole corpus of a set. Korean sets use the offline n-gram embedding,
English ones the ONNX model of RAGNB_MODELS. Questions on statutes may name an article: exact references lead, and what the first article
cites follows (`ragnb.documents.kinds`). `cut` leaves out what scores little beside the best unit, and counts what that saves and costs.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from tqdm import tqdm

from common import arguments, MINILM
from ragnb.evaluation.datasets import load_dataset
from ragnb.models.embedding import resolve_embedding
from ragnb.evaluation.measures import bootstrap_interval, evaluate
from ragnb.chunking.units import UnitNodeParser
from ragnb.retrieval.multiscale import MultiScaleRanking, MultiScaleRetriever, Piece, pieces_by_score, put_first, with_headers
from ragnb.retrieval.scoring import adjusted_totals, UnitScores
from ragnb.retrieval.sqlite_store import SqliteStore
from ragnb.documents.kinds import Catalogue
from ragnb.storage.store import embed_nodes
from ragnb.documents.text import is_korean

SETS = "korquad,tydiqa_ko,ko_statutes,squad2,covidqa,chroma_chunking"
BUDGETS = (250, 500, 1_000, 2_000, 4_000)


def build(dataset: Any, model_spec: str) -> tuple[SqliteStore, Any, bool]:
    """Split, embed and index a set; the n-gram embedding is fitted on its units. The store, the model, and whether it has records."""
    parser = UnitNodeParser()
    parsed = [parser.parse(d) for d in tqdm(dataset.documents.values(), desc=f"{dataset.name}: split")]
    nodes, outlines = [n for found, _ in parsed for n in found], [o for _, o in parsed]
    model, store = resolve_embedding(model_spec), SqliteStore()
    if model_spec == "ngram":
        model.fit([n.text for n in nodes])
    embed_nodes(nodes, model)
    store.put(nodes, outlines)
    return store, model, any(o.groups for o in outlines)


def summed(retriever: MultiScaleRetriever, total: Callable[[UnitScores], np.ndarray]) -> Callable[[str], MultiScaleRanking]:
    """The retriever with another sum of its signals."""
    def ask(question: str) -> MultiScaleRanking:
        ranking = retriever.rank(question)
        rows, units = ranking.scores.rows, ranking.scores.units
        new = adjusted_totals(units, rows, total(ranking.scores), retriever.whole)
        pieces = with_headers(ranking.reader.units, pieces_by_score(replace(ranking.scores, total=new)))
        return replace(ranking, pieces=put_first(ranking.reader.units, ranking.places, pieces))
    return ask


def variants(store: SqliteStore, model: Any, hooks: dict[str, Any]) -> dict[str, Callable[[str], MultiScaleRanking]]:
    """The default, and the default without each of its parts."""
    full = MultiScaleRetriever(store.units, store, model, **hooks)
    def make(**options: Any) -> Callable[[str], MultiScaleRanking]: return MultiScaleRetriever(store.units, store, model, **(hooks | options)).rank
    out = {
        "default": full.rank,
        "whole corpus scored": make(candidates=None),
        "top 20, not 100": make(candidates=20),
        "not grown by 3": make(grow=0),
        "words only": MultiScaleRetriever(store.units, store, None, **hooks).rank,
        "vectors only": summed(full, lambda s: s.vectors.sum(axis=0)),
        "one scale (1 unit)": summed(full, lambda s: s.words[0] + s.vectors[0]),
        "scales 1, 3, 7": summed(full, lambda s: s.words[:3].sum(axis=0) + s.vectors[:3].sum(axis=0) + s.title + s.name),
        "no title, no name": summed(full, lambda s: s.words.sum(axis=0) + s.vectors.sum(axis=0)),
    }
    if hooks:
        out |= {"records not read whole": make(whole=0), "no leads, no follow": make(leads=None, follow=None), "leads only": make(follow=None)}
    return out


def before_gap(pieces: list[Piece], most: int = 30) -> list[Piece]:
    """The pieces before the largest relative drop among the first few."""
    scores = [p.score for p in pieces[:most + 1]]
    drops = [b / a if a else 1.0 for a, b in zip(scores, scores[1:])]
    return pieces[:drops.index(min(drops)) + 1] if drops else pieces


def cut_variants(store: SqliteStore, model: Any, hooks: dict[str, Any]) -> dict[str, Callable[[str], MultiScaleRanking]]:
    """All that fills the budget; what scores a share of the best; what comes before the largest gap."""
    def make(cut: float | None) -> Callable[[str], MultiScaleRanking]: return MultiScaleRetriever(store.units, store, model, cut=cut, **hooks).rank
    full = make(None)
    def gap(question: str) -> MultiScaleRanking:
        ranking = full(question)
        return replace(ranking, pieces=before_gap(ranking.pieces))
    return {"no cut": full} | {f"cut {cut:g}": make(cut) for cut in (0.05, 0.1, 0.2, 0.3, 0.4, 0.5)} | {"before the largest gap": gap}


def main() -> None:
    """Build every set, and print its lines."""
    args = arguments(__doc__, what=("", "cut"), embed=(str, "ngram or onnx:FOLDER for all sets (default: ngram for Korean, minilm for English)"), sets=SETS,
                     limit=(int, "questions of a set, a fixed sample; all when left out"), parts=(False, "also leave out each part in turn"))
    more = [f"characters at {BUDGETS[-1]:,}", f"precision at {BUDGETS[-1]:,}"] if args.what else []
    heads = [f"{b:,}" for b in BUDGETS] + more
    print("| set | variant | " + " | ".join(heads) + " |\n|---|---|" + "---|" * len(heads), flush=True)
    for name in args.sets.split(","):
        dataset = load_dataset(name).limit(args.limit)
        texts = [d.text for d in dataset.documents.values()]
        store, model, has_records = build(dataset, args.embed or ("ngram" if is_korean(" ".join(t[:2_000] for t in texts[:50])) else MINILM))
        hooks: dict[str, Any] = {}
        if has_records:
            catalogue = Catalogue.from_documents(dataset.documents.values())
            hooks = {"leads": catalogue.named, "follow": catalogue.cited}
        made = (cut_variants if args.what else variants)(store, model, hooks)
        for label, ask in (made if args.what or args.parts else {"default": made["default"]}).items():
            found = evaluate(ask, dataset.questions, BUDGETS)
            cells = [f"{found.mean('evidence_recall', b):.{4 if args.what else 3}f}" for b in BUDGETS]
            if args.what:
                cells += [f"{found.mean('characters', BUDGETS[-1]):,.0f}", f"{found.mean('precision', BUDGETS[-1]):.4f}"]
            if label == "default":
                intervals = (bootstrap_interval(found.values("evidence_recall", b)) for b in BUDGETS)
                cells = [f"{cell} [{a:.3f}, {z:.3f}]" for cell, (a, z) in zip(cells, intervals)]
            print(f"| {name} ({len(dataset.questions)}) | {label} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
