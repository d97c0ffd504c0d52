"""Reading on with the agent's tools beside one-shot retrieval, at the same total budget of characters.

Run: python benchmarks/reading_on.py [--sets sample,tydiqa_ko] [--limit 150] [--budgets 1000 2000 4000] [--cuts .3 .45]

A model would decide what to read; here rules stand for it, so that the worth of reading on is measured without the worth of a model:

    one shot     the default pipeline, once
    search       the tools, searching only: five chunks, then the next five, until the budget is used
    read on c    five chunks; then, while a chunk at an edge of what was read holds at least the share c of the question's words, rare
                 ones counting more, its neighbor beyond that edge; when no edge does, the next five. It sees the question, the text that it
                 was given, and how rare words are
    gold         the same tools in the hands of somebody who knows where the evidence is: an upper bound of reading on, not a policy

Of the sample, the questions whose evidence stands in two places or more, all of which are needed. No chunk is read twice (asserted).
"""
from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from math import log

from common import arguments, sample_or_set
from ragnb.agent.library import Library
from ragnb.agent.tools import ReadingTools
from ragnb.documents.span import Address, covering, parse_address
from ragnb.documents.text import word_tokens_batch
from ragnb.evaluation.comparison import compare
from ragnb.evaluation.datasets import Dataset, Question
from ragnb.evaluation.measures import evaluate
from ragnb.indexing.folder_index import Index
from ragnb.indexing.update import index_documents
from ragnb.pipeline.pipeline import Pipeline
from ragnb.retrieval.missing_words import QUESTION_WORDS

Wish = tuple[Address, str]     # A chunk that was read, and the direction beyond it
Choose = Callable[[ReadingTools, list[Wish]], "Wish | None"]   # Of the edges that were not tried yet; None: search again


def edges(tools: ReadingTools) -> list[Wish]:
    """Both ends of each run of chunks that was read, in the order of reading."""
    found = []
    for address in map(parse_address, tools.read):
        for direction, beyond in (("before", address.index - 1), ("after", address.index + 1)):
            if beyond >= 0 and str(Address(address.doc_id, address.level, beyond)) not in tools.read:
                found.append((address, direction))
    return found


def read_with(tools: ReadingTools, question: str, wanted: Choose) -> None:
    """Search, read on where it is wanted, search again, until nothing more is given."""
    tools.reset()
    done: set[Wish] = set()
    while not tools.exhausted:
        before = len(tools.read)
        wish = wanted(tools, [edge for edge in edges(tools) if edge not in done])
        if wish is not None:
            done.add(wish)
            tools.get_neighbor_chunks(wish[0].doc_id, wish[0].index + 1, wish[1], 1)
        else:
            tools.search(question, 5)
            if len(tools.read) == before:
                break
    assert sum(map(len, tools.read.values())) <= tools.budget


def weights(library: Library) -> dict[str, float]:
    """How rare each word is among the chunks, as BM25 counts it."""
    texts = [text for _, text in library.store.texts("u")]
    counts = Counter(t for tokens in word_tokens_batch(texts) for t in set(tokens))
    return {t: log(1 + (len(texts) - c + 0.5) / (c + 0.5)) for t, c in counts.items()}


def by_words(question: str, cut: float, weight: Mapping[str, float]) -> Choose:
    """Read on beside a chunk that holds enough of the question's words."""
    words = {t for t in next(iter(word_tokens_batch([question]))) if t not in QUESTION_WORDS}
    most = max(weight.values())
    total = sum(weight.get(t, most) for t in words) or 1.0
    shares: dict[str, float] = {}

    def wanted(tools: ReadingTools, open_edges: list[Wish]) -> Wish | None:
        fresh = [a for a in tools.read if a not in shares]
        for address, tokens in zip(fresh, word_tokens_batch([tools.read[a] for a in fresh])):
            shares[address] = sum(weight.get(t, most) for t in words & set(tokens)) / total
        good = [edge for edge in open_edges if shares[str(edge[0])] >= cut]
        return max(good, key=lambda edge: shares[str(edge[0])], default=None)
    return wanted


def by_gold(question: Question) -> Choose:
    """Read on towards evidence that is at most ten chunks away."""
    def wanted(tools: ReadingTools, open_edges: list[Wish]) -> Wish | None:
        for address, direction in open_edges:
            spans = tools.library.store.get_outlines([address.doc_id]).found[address.doc_id].levels[address.level]
            reach = range(address.index + 1, address.index + 11) if direction == "after" else range(address.index - 10, address.index)
            held = {i for e in question.evidence if e.doc_id == address.doc_id for i in covering(spans, e.span)}
            if any(i in held and str(Address(address.doc_id, address.level, i)) not in tools.read for i in reach):
                return address, direction
        return None
    return wanted


def measure(name: str, dataset: Dataset, budgets: list[int], cuts: list[float]) -> None:
    """Print one set."""
    asked = {q.query: q for q in dataset.questions}
    with tempfile.TemporaryDirectory() as folder:
        index, _ = index_documents(list(dataset.documents.values()), folder, show_progress=False)
        library = Library.open(folder)
        weight = weights(library)
        for budget in budgets:
            tools = ReadingTools(library, budget=budget, most_calls=200)
            pipeline = Pipeline.from_index(Index.open(folder), budget=budget)

            def reading(choose: Callable[[str], Choose]):
                def rank(question: str):
                    read_with(tools, question, choose(question))
                    return tools.passages()
                return rank
            ways = {"one shot": lambda q: pipeline.ask(q).passages, "search": reading(lambda q: lambda tools, open_edges: None)}
            ways |= {f"read on {cut:g}": reading(lambda q, cut=cut: by_words(q, cut, weight)) for cut in cuts}
            ways["gold"] = reading(lambda q: by_gold(asked[q]))
            results = {way: evaluate(rank, dataset.questions, (budget,)) for way, rank in ways.items()}
            for way, result in results.items():
                test = compare(results["one shot"], result).test(budget=budget)
                told = "" if way == "one shot" else f"{test.difference:+.3f} [{test.ci[0]:+.3f}, {test.ci[1]:+.3f}]"
                print(f"| {name} | {len(dataset.questions)} | {budget:,} | {way} | {result.mean(budget=budget):.3f} | {told} |", flush=True)


def main() -> None:
    """Print one table."""
    args = arguments(__doc__, sets="sample,tydiqa_ko", limit=(150, "questions a set"), budgets=[1_000, 2_000, 4_000], cuts=[0.3, 0.45])
    print("| set | questions | budget | reader | evidence recall | to one shot |\n|---|--:|--:|---|--:|---|")
    for name in args.sets.split(","):
        dataset = sample_or_set(name)
        if name == "sample":
            dataset = replace(dataset, questions=[q for q in dataset.questions if q.mode == "all" and len(q.evidence) > 1])
        measure(name, dataset.limit(args.limit), args.budgets, args.cuts)


if __name__ == "__main__":
    main()
