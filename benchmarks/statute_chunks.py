"""Fixed-size chunks against article records on whole statutes: evidence recall by BM25 alone at equal budgets.

    python benchmarks/statute_chunks.py

The first row needs `pip install langchain-text-splitters`; without it the row is left out.
"""
from __future__ import annotations

from dataclasses import replace

import numpy as np
from llama_index.core.schema import MetadataMode, TextNode
from tqdm import tqdm

from common import arguments
from ragnb.retrieval.bm25 import PositiveOkapi
from ragnb.evaluation.datasets import load_dataset
from ragnb.evaluation.measures import evaluate
from ragnb.context.builders import SimpleContextBuilder
from ragnb.documents.span import n_characters, Passage, Span
from ragnb.chunking.parent_child import ParentChildNodeParser
from ragnb.chunking.structure import RecordNodeParser
from ragnb.documents.text import word_tokens, word_tokens_batch


def recursive(documents: list) -> list[TextNode] | None:
    """Seed 003's starting point: 800 characters, 100 of overlap, wherever they fall."""
    try:
        from langchain_text_splitters import RecursiveCharacterTextSplitter
    except ImportError:
        return None
    splitter = RecursiveCharacterTextSplitter(chunk_size=800, chunk_overlap=100, add_start_index=True)
    nodes = []
    for document in documents:
        for i, chunk in enumerate(splitter.create_documents([document.text])):
            start = chunk.metadata["start_index"]
            nodes.append(TextNode(id_=f"{document.id_}#c{i}", text=chunk.page_content, start_char_idx=start,
                                  end_char_idx=start + len(chunk.page_content), metadata={"document": document.id_}))
    return nodes


def parsed(documents: list, parser: object) -> list[TextNode]:
    """Nodes of one of our splitters."""
    nodes = parser.get_nodes_from_documents(documents)
    for node in nodes:
        node.metadata["document"] = node.ref_doc_id
        node.excluded_embed_metadata_keys.append("document")
    return nodes


def passages(nodes: list[TextNode], mode: MetadataMode, questions: list, top_k: int) -> dict[str, list[Passage]]:
    """BM25 hits of every question, as passages."""
    okapi = PositiveOkapi(word_tokens_batch(n.get_content(mode) if mode is not MetadataMode.NONE else n.text for n in nodes))
    found = {}
    for q in tqdm(questions, desc="ask", leave=False):
        scores = okapi.get_scores(word_tokens(q.query))
        hits = [(nodes[i], float(scores[i])) for i in np.argsort(-scores, kind="stable")[:top_k].tolist() if scores[i] > 0]
        found[q.query_id] = [Passage(n.metadata["document"], Span(n.start_char_idx, n.end_char_idx), n.text, s, r) for r, (n, s) in enumerate(hits, 1)]
    return found


def main() -> None:
    args, budgets = arguments(__doc__, top_k=(30, "hits laid out before the cut to a budget")), (500, 1_000, 2_000)
    dataset = load_dataset("ko_statutes")
    documents, questions = list(dataset.documents.values()), dataset.questions
    print(f"{len(documents)} statutes, {len(questions)} questions\n")
    print("| chunks | number | BM25 reads | questions | " + " | ".join(f"{b:,}" for b in budgets) + " |\n|---|---|---|---|" + "---|" * len(budgets))
    rows = [("recursive 800/100", recursive(documents), (MetadataMode.NONE,)),
            ("sentence-packed 800/100", parsed(documents, ParentChildNodeParser(levels=("p",))), (MetadataMode.NONE,)),
            ("article records, short ones merged", parsed(documents, RecordNodeParser()), (MetadataMode.NONE, MetadataMode.EMBED)),
            ("article records, every article apart", parsed(documents, RecordNodeParser(min_size=1)), (MetadataMode.NONE, MetadataMode.EMBED))]
    for name, nodes, modes in rows:
        for mode in modes if nodes else ():
            found = passages(nodes, mode, questions, args.top_k)
            for kind in ("all", *sorted({q.kind for q in questions})):
                asked = [q for q in questions if kind in ("all", q.kind)]
                by_query = {q.query: found[q.query_id] for q in asked}
                recalls = [evaluate(lambda q: SimpleContextBuilder().build(_cut(by_query[q], b)).passages, asked).mean() for b in budgets]
                reads = "text" if mode is MetadataMode.NONE else "prefix and text"
                print(f"| {name} | {len(nodes):,} | {reads} | {kind} ({len(asked)}) | " + " | ".join(f"{r:.3f}" for r in recalls) + " |", flush=True)


def _cut(passages: list[Passage], budget: int) -> list[Passage]:
    """The first `budget` distinct document characters, best passage first; nothing but document text is counted."""
    used: list[Passage] = []
    spans: dict[str, list[Span]] = {}
    total = 0
    for p in passages:
        seen = spans.setdefault(p.doc_id, [])
        end = p.span.end
        while (over := total + n_characters([*seen, Span(p.span.start, end)]) - n_characters(seen) - budget) > 0:
            end -= over
        if end <= p.span.start:
            break
        span = Span(p.span.start, end)
        total += n_characters([*seen, span]) - n_characters(seen)
        seen.append(span)
        used.append(replace(p, span=span, text=p.text[:len(span)], focus=None))
        if end < p.span.end:
            break
    return used


if __name__ == "__main__":
    main()
