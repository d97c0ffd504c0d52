"""What a contextual header is worth: evidence recall on the sample data, with and without one, for each ranker.

    python benchmarks/headers.py [--data data] [--budgets 1000,2000,4000]
"""
from __future__ import annotations

import argparse
from pathlib import Path

from llama_index.core.schema import MetadataMode
from tqdm import tqdm

from ragnb.retrieval.bm25 import Bm25, Bm25Retriever
from ragnb.context.builders import SimpleContextBuilder
from ragnb.chunking.contextual import ContextualNodeParser
from ragnb.models.embedding import resolve_embedding
from ragnb.evaluation.datasets import load_questions
from ragnb.evaluation.measures import evaluate
from ragnb.expansion.expander import Expander
from ragnb.expansion.policy import no_expansion
from ragnb.retrieval.hybrid import HybridRetriever, VectorRetriever
from ragnb.documents.files import read_documents
from ragnb.chunking.parent_child import ParentChildNodeParser
from ragnb.storage.store import MemoryStore
from ragnb.documents.text import word_tokens_batch

PARSERS = {
    "no header": ParentChildNodeParser(),
    "file, section i/n": ContextualNodeParser(parser=ParentChildNodeParser(), headings=False),
    "file, section, headings": ContextualNodeParser(parser=ParentChildNodeParser()),
    "title, section, headings": ContextualNodeParser(parser=ParentChildNodeParser(), name="title"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--budgets", default="1000,2000,4000")
    args = parser.parse_args()
    budgets = [int(b) for b in args.budgets.split(",")]
    documents = list(read_documents(args.data / "corpus", []))
    questions = load_questions(args.data / "questions", {d.id_: d.text for d in documents})
    model = resolve_embedding("ngram").fit([d.text[i:i + 200] for d in documents for i in range(0, len(d.text), 200)])
    print(f"{len(questions)} questions; evidence recall of bare hits at {', '.join(map(str, budgets))} characters\n")
    print("| header | ranker | " + " | ".join(f"{b:,}" for b in budgets) + " |\n|---|---|" + "---|" * len(budgets))
    for name, splitter in tqdm(PARSERS.items(), desc="headers"):
        store = MemoryStore()
        nodes = [n for n in store.add_documents(documents, splitter, model) if n.metadata["level"] == "c"]
        counts = {}
        for kind, mode in (("text", MetadataMode.NONE), ("header and text", MetadataMode.EMBED)):
            counts[kind] = Bm25(idf="lucene")
            counts[kind].add([n.node_id for n in nodes], list(word_tokens_batch(n.get_content(mode) for n in nodes)))
        vector = VectorRetriever(store, model, 40)
        rankers = {"vector": vector}
        for kind, bm25 in counts.items():
            words = Bm25Retriever(bm25, store, similarity_top_k=40)
            rankers |= {f"BM25 of {kind}": words, f"hybrid, BM25 of {kind}": HybridRetriever({"bm25": words, "vector": vector}, 40)}
        for ranker, retriever in rankers.items():
            found = {q.query: Expander(store, no_expansion).expand(retriever.retrieve(q.query)).passages for q in questions}
            recalls = [evaluate(lambda q: SimpleContextBuilder(b).build(found[q]).passages, questions).mean() for b in budgets]
            print(f"| {name} | {ranker} | " + " | ".join(f"{r:.3f}" for r in recalls) + " |", flush=True)


if __name__ == "__main__":
    main()
