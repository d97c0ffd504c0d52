"""Do made questions rank strategies as real ones do? Evidence recall of simple strategies on real and on made questions.

    python benchmarks/made_questions.py [--sets squad2,korquad] [--n 300] [--budgets 300,1000]

The last column counts the pairs of strategies that differ by 0.03 or more on the real questions, and how many of them the made questions put in the same order.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import combinations

from llama_index.core.base.base_retriever import BaseRetriever
from tqdm import tqdm

from common import arguments
from ragnb.retrieval.bm25 import Bm25Retriever
from ragnb.context.builders import PassageRanking
from ragnb.evaluation.datasets import Dataset, Question, load_dataset
from ragnb.models.embedding import resolve_embedding
from ragnb.evaluation.measures import evaluate
from ragnb.retrieval.hybrid import HybridRetriever, VectorRetriever
from ragnb.evaluation.questions import make_questions
from ragnb.documents.span import Passage, Span
from ragnb.chunking.parent_child import ParentChildNodeParser
from ragnb.storage.store import MemoryStore

SIZES = (150, 300, 600, 1_200)  # Characters of a chunk
HITS = 30


def rankers(dataset: Dataset) -> dict[str, Callable[[str], PassageRanking]]:
    "Strategies by name; each returns bare hits, best first."
    documents = list(dataset.documents.values())
    model = resolve_embedding("ngram").fit([d.text[i:i + 200] for d in documents for i in range(0, len(d.text), 200)])
    kept: dict[str, BaseRetriever] = {}
    for size in SIZES:
        store = MemoryStore()
        parser = ParentChildNodeParser(parent_size=4 * size, parent_overlap=0, child_size=size, child_overlap=0)
        nodes = [n for n in store.add_documents(documents, parser, model) if n.metadata["level"] == "c"]
        words, vectors = Bm25Retriever(nodes, top_k=HITS), VectorRetriever(store, model, HITS)
        kept[f"BM25 {size}"] = words
        if size == 300:
            kept |= {"vector 300": vectors, "hybrid 300": HybridRetriever({"bm25": words, "vector": vectors}, HITS)}

    def ask(name: str, question: str) -> PassageRanking:
        nodes = [hit.node for hit in kept[name].retrieve(question)]
        return PassageRanking([Passage(n.ref_doc_id, Span(n.start_char_idx, n.end_char_idx), n.text) for n in nodes])
    return {name: partial(ask, name) for name in kept}


def question_sets(dataset: Dataset, n: int) -> dict[str, Sequence[Question]]:
    "Real and made questions, `n` each."
    return {
        "real": dataset.limit(n).questions,
        "cloze": make_questions(dataset, n, kinds=["cloze"]).questions,
        "cloze, keep=3": make_questions(dataset, n, kinds=["cloze"], keep=3).questions,
        "keyword": make_questions(dataset, n, kinds=["keyword"]).questions,
    }


def agreement(
    real: Sequence[float],  # A value a strategy
    made: Sequence[float],
    least: float = 0.03,    # Difference that counts
) -> str:
    "Pairs in the same order, of those that differ."
    pairs = [(i, j) for i, j in combinations(range(len(real)), 2) if abs(real[i] - real[j]) >= least]
    return f"{sum((real[i] - real[j]) * (made[i] - made[j]) > 0 for i, j in pairs)}/{len(pairs)}"


def main() -> None:
    args = arguments(__doc__, sets="squad2,korquad", n=300, budgets="300,1000")
    budgets = [int(b) for b in args.budgets.split(",")]
    for name in args.sets.split(","):
        dataset = load_dataset(name)
        strategies, asked = rankers(dataset), question_sets(dataset, args.n)
        results = {kind: [evaluate(ask, questions, budgets) for ask in strategies.values()] for kind, questions in tqdm(asked.items(), desc=name)}
        for budget in budgets:
            recalls = {kind: [e.mean("evidence_recall", budget) for e in row] for kind, row in results.items()}
            print(f"\n{name} (version {dataset.version}), {args.n} questions each, evidence recall of bare hits at {budget:,} characters\n")
            print("| questions | " + " | ".join(strategies) + " | same order |\n|---|" + "---|" * (len(strategies) + 1))
            for kind, row in recalls.items():
                print(f"| {kind} | " + " | ".join(f"{r:.3f}" for r in row) + f" | {agreement(recalls['real'], row)} |", flush=True)


if __name__ == "__main__":
    main()
