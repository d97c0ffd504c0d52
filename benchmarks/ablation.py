"""What each special case of retrieval and reading is worth: the default with the case switched off, on every set.

    python benchmarks/ablation.py                                   # every set of RAGNB_DATA and the sample, all questions
    python benchmarks/ablation.py --limit 40 --documents 300        # a quick look: fewer questions, over fewer documents
    python benchmarks/ablation.py --rows "strays,polarity" --sets sample,korquad --embed minilm
    python benchmarks/ablation.py --rows cut                        # every row whose name contains the word

One row is one case: a function of the package that does nothing, or a setting. `worth` is the evidence recall of the default minus that without the
case, in hundredths, at each budget, over all questions; `changed` counts the contexts that differ. A row with `changed` 0 showed nothing on these sets.
Units are embedded with the offline n-grams (`--embed ngram`), with MiniLM, or with what `resolve_embedding` takes. Statutes come with their catalogue.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from common import arguments, DATA, MINILM, sample_or_set, store
from scored_set import recall
from ragnb.chunking.units import UnitNodeParser
from ragnb.context.builders import RankedContextBuilder
from ragnb.documents.kinds import Catalogue
from ragnb.documents.span import Span
from ragnb.evaluation.datasets import Dataset
from ragnb.evaluation.delivered import delivered_spans, DeliveredSpan, lay_out_found, quietly
from ragnb.indexing.update import fit_pieces
from ragnb.models.embedding import resolve_embedding
from ragnb.retrieval.multiscale import MultiScaleRetriever
from ragnb.retrieval.repeats import Repeats
from ragnb.retrieval.sqlite_store import SqliteStore
from ragnb.storage.store import embed_nodes

BUDGETS = (500, 1_000, 4_000)
READING, SCORE, BUILDER = "ragnb.retrieval.multiscale", "ragnb.retrieval.scoring", "ragnb.context.builders"


def nothing(*_: Any, **__: Any) -> set:
    """No unit is left out."""
    return set()


def never(*_: Any) -> bool:
    return False


def same_pieces(_: Any, pieces: Any, *__: Any) -> Any:
    """The pieces as they are, where they are the second argument."""
    return list(pieces)


def zeros(*given: Any) -> np.ndarray:
    """A field without a word of the question: the last argument has its length."""
    return np.zeros(len(given[-1]))


@dataclass(frozen=True)
class Case:
    """A special case that is switched off."""
    names: dict[str, Any] = field(default_factory=dict)     # `module:name` -> what is there instead
    options: dict[str, Any] = field(default_factory=dict)   # Of the retriever


CASES: dict[str, Case] = {
    # the score
    "pairs of words": Case({f"{SCORE}:PHRASE": 0.0}),
    "length norm of one unit": Case({f"{SCORE}:B": 0.0}),
    "title and heading": Case({f"{SCORE}:field_scores": zeros}),
    "words of the title": Case({f"{SCORE}:with_title_words": lambda units, held, *_: held}),
    "lists of contents count a tenth": Case({f"{SCORE}:_ENTRY": 1.0}),
    "years of a question": Case({f"{SCORE}:named_years": lambda units, held, years: {year: held[year] for year in years}}),
    "rare names first": Case({f"{READING}:names_first": same_pieces}),
    "records ranked whole": Case(options={"whole": 0}),
    "neighbors of a candidate": Case(options={"grow": 0}),
    "top 100 candidates": Case(options={"candidates": None}),
    "vectors": Case(options={"embed_model": None}),
    # the order of reading
    "codes of a series": Case({f"{READING}:own_code_first": same_pieces}),
    "codes looked up": Case({f"{READING}:code_terms": lambda terms, *_: terms}),
    "polarity": Case({f"{READING}:agreeing_ahead": same_pieces}),
    "repeated texts once": Case({f"{READING}:repeated_units": lambda *_: Repeats({}, set())}),
    "headers of table rows": Case({f"{READING}:with_headers": same_pieces}),
    "cut .05": Case(options={"cut": 0.05}),
    "cut .2": Case(options={"cut": 0.2}),
    "cut .3": Case(options={"cut": 0.3}),
    "cut .5": Case(options={"cut": 0.5}),
    "no cut": Case(options={"cut": None}),
    "places named and cited": Case(options={"leads": None, "follow": None}),
    "places cited": Case(options={"follow": None}),
    # what is read
    "stray headings and last units": Case({f"{READING}:_strays": nothing}),
    "units without a word": Case({f"{READING}:_wordless": nothing}),
    "half rows of tables": Case({f"{READING}:_half_rows": nothing}),
    "lines read whole": Case({f"{READING}:_lines": lambda reader, keys, budget: reader.read_outlines(keys) and {}}),
    "bare headers cut off": Case({f"{BUILDER}:_without_bare_header": lambda passage, span, keep: span}),
    "parts that say nothing": Case({f"{BUILDER}:_says_nothing": never}),
    "parts that end in a row": Case({f"{BUILDER}:_ends_in_row": never}),
}


@contextmanager
def without(case: Case) -> Iterator[None]:
    """The package without a case; `AttributeError` for a name that is no longer there."""
    with ExitStack() as stack:
        for place, instead in case.names.items():
            module, _, name = place.partition(":")
            stack.enter_context(patch.object(import_module(module), name, instead))
            for function in vars(import_module(module)).values():     # a constant may be the default of an argument
                defaults = getattr(function, "__defaults__", None)
                if name == "PHRASE" and defaults and function.__module__ == module and 0.15 in defaults:
                    stack.enter_context(patch.object(function, "__defaults__", tuple(instead if d == 0.15 else d for d in defaults)))
        yield


def smaller(dataset: Dataset, limit: int | None, documents: int | None) -> Dataset:
    """Some questions with evidence, over the documents that they need and others."""
    dataset = replace(dataset, questions=[q for q in dataset.questions if q.evidence]).limit(limit)
    needed = {e.doc_id for q in dataset.questions for e in q.evidence}
    others = [i for i in dataset.documents if i not in needed][:max(0, (documents or len(dataset.documents)) - len(needed))]
    kept = needed | {*others}
    return replace(dataset, documents={i: d for i, d in dataset.documents.items() if i in kept})


def retriever_of(dataset: Dataset, spec: str) -> Callable[..., MultiScaleRetriever]:
    """Index a set; make retrievers over it, with options."""
    documents = list(dataset.documents.values())
    parsed = [UnitNodeParser().parse(document) for document in documents]
    nodes = [node for some, _ in parsed for node in some]
    model, index = resolve_embedding(spec), SqliteStore()
    if spec == "ngram":
        model.fit(fit_pieces(documents))
    embed_nodes(nodes, model)
    index.put(nodes, [outline for _, outline in parsed])
    hooks: dict[str, Any] = {"embed_model": model, "cut": 0.1}
    if any(outline.groups for _, outline in parsed):
        catalogue = Catalogue.from_documents(documents)
        hooks |= {"leads": catalogue.named, "follow": catalogue.cited}

    def made(**options: Any) -> MultiScaleRetriever:
        given = hooks | {name: value for name, value in options.items() if name in hooks or name not in ("leads", "follow")}
        return MultiScaleRetriever(index.units, index, given.pop("embed_model"), **given)
    return made


def spans_of(delivered: Sequence[DeliveredSpan]) -> dict[str, list[Span]]:
    """The spans of each document."""
    spans: dict[str, list[Span]] = {}
    for part in delivered:
        spans.setdefault(part.doc_id, []).append(part.span)
    return spans


def contexts(retriever: MultiScaleRetriever, dataset: Dataset) -> tuple[np.ndarray, list[tuple[str, ...]]]:
    """The recall of each question at each budget, and the contexts."""
    texts = {i: d.text for i, d in dataset.documents.items()}
    builders = [RankedContextBuilder(budget=budget, passage_size=None) for budget in BUDGETS]
    recalls, read = [], []
    for question in dataset.questions:
        ranking = retriever.rank(question.query)
        made = [quietly(lambda: lay_out_found(ranking, question.query, builder)) for builder in builders]
        recalls.append([recall(question, spans_of(delivered_spans(context, texts))) for context in made])
        read.append(tuple(map(str, made)))
    return np.array(recalls), read


def main() -> None:
    """Measure every row on every set, and print a line for each; last those that changed nothing anywhere."""
    found = sorted(p.name for p in DATA.iterdir() if (p / "corpus.jsonl").is_file()) if DATA.is_dir() else []
    args = arguments(__doc__, sets=",".join(["sample", *found]), rows=(str, "words of the rows' names; all when left out"), embed="ngram",
                     limit=(int, "questions of a set, a fixed sample"), documents=(int, "documents of a set at most, those with evidence first"),
                     out=(str, "also write a JSON file"))
    words = [word.strip() for word in (args.rows or "").split(",")]
    cases = {name: case for name, case in CASES.items() if any(word in name for word in words)}
    changed, result = dict.fromkeys(cases, 0), {}
    for name in args.sets.split(","):
        dataset = smaller(sample_or_set(name), args.limit, args.documents)
        if not dataset.questions:
            continue
        made = retriever_of(dataset, MINILM if args.embed == "minilm" else args.embed)
        default, read = contexts(made(), dataset)
        print(f"{name} ({len(dataset.questions)}) default " + " ".join(f"{mean:.3f}" for mean in default.mean(axis=0)), flush=True)
        for row, case in cases.items():
            with without(case):
                off, other = contexts(made(**case.options), dataset)
            worth, n = 100 * (default - off).mean(axis=0), sum(a != b for a, b in zip(read, other))
            changed[row] += n
            result.setdefault(row, {})[name] = {"worth": worth.round(2).tolist(), "changed": n, "questions": len(off)}
            if n:
                print(f"  {row:<34}" + " ".join(f"{x:+6.2f}" for x in worth) + f"  changed {n}", flush=True)
    print("changed nothing: " + (", ".join(row for row, n in changed.items() if not n) or "no row"))
    if args.out:
        store(Path(args.out), result)


if __name__ == "__main__":
    main()
