"""What a cut leaves of a small folder: by score alone, and with the words that a passage shares with the question.

    python benchmarks/small_folders.py                          # the sample: folders of 3 and 5 of its documents
    python benchmarks/small_folders.py --sets korquad,squad2 --documents 3 --limit 100

Each question is asked of a folder with its own document and others drawn at random, and of one without its own document, all of at most 200 units, n-gram vectors. Shown are
the recall of its evidence at 4,000 characters, and for both folders how many characters are read of other documents, and how many of 100 questions read any.
"""
from __future__ import annotations

from dataclasses import replace

import numpy as np

from common import arguments, sample_or_set
from ragnb.chunking.units import UnitNodeParser
from ragnb.evaluation.datasets import Dataset
from ragnb.models.embedding import NgramEmbedding
from ragnb.retrieval.missing_words import SMALL
from ragnb.retrieval.multiscale import MultiScaleRanking, MultiScaleRetriever, cut_pieces
from ragnb.retrieval.sqlite_store import SqliteStore
from scored_set import recall

BUDGET = 4_000


def asked(documents: list, question: str) -> MultiScaleRanking | None:
    """The ranking of a folder; None for one that is not small."""
    store, model = SqliteStore(), NgramEmbedding().fit([d.text for d in documents])
    store.add_documents(documents, UnitNodeParser(), model)
    return MultiScaleRetriever(store.units, store, model).rank(question) if len(store.units) <= SMALL else None


def measure(dataset: Dataset, n_documents: int, limit: int, cut: float) -> dict[tuple[str, str], np.ndarray]:
    """(Folder, cut) -> recall, characters of other documents, and whether there are any; a row for each question."""
    rng, ids = np.random.default_rng(0), [i for i, d in dataset.documents.items() if len(d.text) < 6_000]
    questions = [q for q in dataset.questions if len(own := {e.doc_id for e in q.evidence}) == 1 and own <= set(ids)]
    out: dict[tuple[str, str], list] = {}
    for at in rng.permutation(len(questions))[:limit]:
        question = questions[at]
        own = question.evidence[0].doc_id
        others = [i for i in rng.permutation(ids) if i != own][:n_documents]
        for folder, names in (("with its document", [own, *others[1:]]), ("without", others)):
            ranking = asked([dataset.documents[i] for i in names], question.query)
            if ranking is None:
                continue
            kept = {"no cut": ranking.pieces, "by score": cut_pieces(ranking.pieces, cut),
                    "by score and words": cut_pieces(ranking.pieces, cut, ranking.common)}
            for name, pieces in kept.items():
                read: dict[str, list] = {}
                for p in replace(ranking, pieces=pieces).at(BUDGET):
                    read.setdefault(p.doc_id, []).append(p.span)
                wrong = sum(len(s) for i, spans in read.items() if i != own for s in spans)
                out.setdefault((folder, name), []).append((recall(question, read), wrong, wrong > 0))
    return {key: np.array(rows, float) for key, rows in out.items()}


def main() -> None:
    """Measure each set at each size of folder."""
    args = arguments(__doc__, sets="sample", documents="3,5", limit=100, cut=0.3)
    for name in args.sets.split(","):
        dataset = sample_or_set(name)
        for n in map(int, args.documents.split(",")):
            print(f"\n{name}, folders of {n} documents, cut {args.cut}\n\n| folder | cut | questions | recall | characters of others | questions that read others |\n|---|---|---|---|---|---|")
            for (folder, kept), rows in measure(dataset, n, args.limit, args.cut).items():
                found, wrong, any_wrong = rows.mean(axis=0)
                recalled = f"{found:.3f}" if folder != "without" else ""
                print(f"| {folder} | {kept} | {len(rows)} | {recalled} | {wrong:,.0f} | {any_wrong:.0%} |", flush=True)


if __name__ == "__main__":
    main()
