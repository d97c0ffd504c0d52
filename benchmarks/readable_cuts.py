"""What it costs, in evidence recall, that a passage begins and ends where a reader can follow.

    python benchmarks/readable_cuts.py                                # squad2, tydiqa_ko: 300 questions each
    python benchmarks/readable_cuts.py --sets ko_statutes,tatqa --budgets 250,500

Beside it the same ranking cut at the word where the room ends (what ragnb did before). Questions over the whole corpus of a set, n-gram vectors. For
each budget: recall before and now, the difference with a 95 % interval (normal), and of 100 questions how many read a unit that begins or ends
inside a sentence because it was cut, before and now. Vectors are kept in --work.
"""
from __future__ import annotations

from pathlib import Path

import numpy as np

from common import ROOT, arguments
from ragnb.chunking.units import UnitNodeParser
from ragnb.documents.span import Span
from ragnb.documents.text import sentence_spans, trim_span, word_tokens_batch
from ragnb.evaluation.datasets import Dataset, load_dataset
from ragnb.retrieval.missing_words import QUESTION_WORDS
from ragnb.retrieval.multiscale import MultiScaleRanking, UnitReader, pieces_by_score, take_readable, take_units, with_headers
from ragnb.retrieval.unit_source import SHIFT
from scored_set import build, drawn, recall


def at_words(ranking: MultiScaleRanking, texts: dict[int, str], budget: int) -> dict[int, Span]:
    """Units up to the budget, the last one cut at white space."""
    units, out = ranking.reader.units, {}
    for key, span in take_units(units, ranking.pieces, budget).items():
        text, base = texts[key], units.span(key).start
        a, b = span.start - base, span.end - base
        if b < len(text) and not text[b].isspace():
            b = max(text.rfind(" ", a, b), text.rfind("\n", a, b), a) or b
        if a > 0 and not text[a - 1].isspace():
            a = min(i if i >= 0 else b for i in (text.find(" ", a, b), text.find("\n", a, b)))
        cut = trim_span(text, a, b)
        if cut:
            out[key] = Span(base + cut.start, base + cut.end)
    return out


def torn(corpus, texts: dict[int, str], taken: dict[int, Span]) -> bool:
    """True when a cut fell inside a sentence."""
    for row, span in taken.items():
        if span != corpus.span(row):
            base, sentences = corpus.span(row).start, sentence_spans(texts[row], "rule")
            if span.start - base not in [s.start for s in sentences] or span.end - base not in [s.end for s in sentences]:
                return True
    return False


def measure(dataset: Dataset, budgets: list[int], limit: int, work: Path) -> np.ndarray:
    """Recall before and now, torn before and now; shape (questions, budgets, 4)."""
    made = build(dataset, "ngram", work)
    units = {n.node_id: n for d in dataset.documents.values() for n in UnitNodeParser().parse(d)[0]}
    out, chosen = [], drawn(dataset, limit)
    for question, tokens in zip(chosen, word_tokens_batch([q.query for q in chosen])):
        scored = made.scored([t for t in tokens if t not in QUESTION_WORDS] or tokens, question.query)
        corpus, reader = scored.units, UnitReader(scored.units, made.store, dict(units))
        pieces = with_headers(corpus, pieces_by_score(scored)[:600])
        ranking, row = MultiScaleRanking(made.source, reader, pieces, scored), []
        texts = {p.key: n.text for p, n in zip(pieces, reader.read_units(p.key for p in pieces))}
        for budget in budgets:
            both = at_words(ranking, texts, budget), take_readable(reader, ranking.pieces, budget)[0]
            read: list[dict[str, list[Span]]] = [{}, {}]
            for spans, taken in zip(read, both):
                for unit, span in taken.items():
                    spans.setdefault(corpus.ids[unit >> SHIFT], []).append(span)
            row.append([*(recall(question, spans) for spans in read), *(torn(corpus, texts, taken) for taken in both)])
        out.append(row)
    return np.array(out, float)


def main() -> None:
    args = arguments(__doc__, sets="squad2,tydiqa_ko", limit=(300, "questions a set, the same at every run"),
                     budgets="250,500,1000", work=ROOT / "out" / "vectors")
    budgets = [int(b) for b in args.budgets.split(",")]
    for name in args.sets.split(","):
        found = measure(load_dataset(name), budgets, args.limit, args.work)
        for k, budget in enumerate(budgets):
            before, now, torn_before, torn_now = found[:, k].mean(axis=0)
            difference = found[:, k, 1] - found[:, k, 0]
            error = 1.96 * difference.std() / len(found) ** 0.5
            print(f"{name:<16}{budget:>6}  recall {before:.3f} -> {now:.3f} ({difference.mean():+.4f} ± {error:.4f})"
                  f"  cut inside a sentence {100 * torn_before:.0f} -> {100 * torn_now:.0f} of 100")


if __name__ == "__main__":
    main()
