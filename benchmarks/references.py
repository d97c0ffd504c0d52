"""Citations in questions, titles in questions, and what an article cites, against the gold of ko_statutes.

- cite: the question names a statute and an article; right when the first resolved span is the gold article.
- cite, no statute: the same question without the statute's name; several statutes may hold the number.
- title: the question names a statute and the title of an article.
- xref: the evidence is an article and the articles that it cites. From the gold article alone (no retrieval), how many characters
  of the gold evidence are reached by following its citations, in how many characters.
- no retrieval: every question answered by what it names and what that cites, and nothing else.
"""
from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from llama_index.core import Document
from tqdm.auto import tqdm

from common import DATA, lines
from ragnb.laws.catalogue import StatuteCatalogue
from ragnb.laws.provisions import cited_spans, look_up_question
from ragnb.laws.citations import find_citations
from ragnb.documents.span import Span, n_characters, shared

BUDGETS = (250, 500, 1_000, 2_000, 4_000)
HEADS = " | ".join(f"recall at {b:,}" for b in BUDGETS)
Target = tuple[str, Span]


def gold(row: dict) -> list[Target]:
    """Gold spans, the asked article first."""
    return [(row["doc_id"], Span(e["start"], e["end"])) for e in row["evidence"]]


def same(found: Target, wanted: Target) -> bool:
    """True when two spans are the same article: white space and notes at the edge do not matter."""
    overlap = found[1].overlap(wanted[1])
    return found[0] == wanted[0] and overlap > 0.9 * max(len(found[1]), len(wanted[1]))


def size(spans: Sequence[Target]) -> int:
    """Characters of spans, each counted once."""
    return sum(n_characters(s for d, s in spans if d == doc) for doc in {d for d, _ in spans})


def cut(spans: Iterable[Target], budget: int) -> list[Target]:
    """The first characters of a list of spans; a character that came before is free."""
    out: list[Target] = []
    for doc_id, span in spans:
        if (left := budget - size(out)) > 0:
            out.append((doc_id, Span(span.start, min(span.end, span.start + left))))
    return out


def recall(found: Sequence[Target], wanted: Sequence[Target]) -> float:
    """Share of the gold characters found."""
    hit = sum(len(s) for doc in {d for d, _ in wanted} for s in shared([s for d, s in found if d == doc], [s for d, s in wanted if d == doc]))
    return hit / sum(len(s) for _, s in wanted)


def cells(pairs: Sequence[tuple[Sequence[Target], Sequence[Target]]]) -> str:
    """Mean recall at every budget of what was found for what is wanted."""
    return " | ".join(f"{sum(recall(cut(found, b), wanted) for found, wanted in pairs) / len(pairs):.4f}" for b in BUDGETS)


def unnamed(rows: Sequence[dict], titles: dict[str, str]) -> list[tuple[dict, str]]:
    """The questions that name an article, without the statute's name."""
    return [(r, r["query"].removeprefix(titles[r["doc_id"]]).strip()) for r in rows if r["kind"] == "cite"]


def questions_table(rows: Sequence[dict], catalogue: StatuteCatalogue, titles: dict[str, str]) -> list[str]:
    """Print how many questions lead to their article; returns the misses."""
    of = {kind: [(r, r["query"]) for r in rows if r["kind"] == kind] for kind in ("cite", "title", "xref")}
    sets = {"cite": of["cite"], "cite, no statute": unnamed(rows, titles), "title": of["title"], "xref (asked article)": of["xref"]}
    print("| questions | n | something resolved | first is the gold article | gold among them | spans a question | ms a question |\n|---|--:|--:|--:|--:|--:|--:|")
    misses = []
    for name, pairs in sets.items():
        began = time.perf_counter()
        found = [look_up_question(query, catalogue) for _, query in pairs]
        ms = 1000 * (time.perf_counter() - began) / len(pairs)
        first = [bool(f) and same(f[0], gold(r)[0]) for f, (r, _) in zip(found, pairs)]
        among = sum(any(same(t, gold(r)[0]) for t in f) for f, (r, _) in zip(found, pairs))
        some, n = sum(map(bool, found)), len(pairs)
        print(f"| {name} | {n} | {some / n:.4f} | {sum(first) / n:.4f} | {among / n:.4f} | {sum(map(len, found)) / n:.2f} | {ms:.3f} |")
        if name != "cite, no statute":
            misses += [f"{name}: {query} -> {[(d, s.start, s.end) for d, s in f][:3]}, gold {gold(r)[0][1]}" for f, ok, (r, query) in zip(found, first, pairs) if not ok]
    return misses


def candidates_table(rows: Sequence[dict], catalogue: StatuteCatalogue, titles: dict[str, str]) -> None:
    """Print what an article without its statute leads to, by how many candidates are let through."""
    pairs = unnamed(rows, titles)
    print(f"\n| candidates at most | gold among them | articles a question | {HEADS} |\n|--:|--:|--:|" + "--:|" * len(BUDGETS))
    for most in (1, 3, 5, 10):
        found = [look_up_question(query, catalogue, candidates=most) for _, query in pairs]
        among = sum(any(same(t, gold(r)[0]) for t in f) for f, (r, _) in zip(found, pairs))
        print(f"| {most} | {among / len(pairs):.4f} | {sum(map(len, found)) / len(pairs):.2f} | {cells([(f, gold(r)) for f, (r, _) in zip(found, pairs)])} |")


def no_retrieval_table(rows: Sequence[dict], catalogue: StatuteCatalogue) -> None:
    """Print evidence recall of what the question names, then what that cites, and nothing else."""
    print(f"\n| questions | n | {HEADS} |\n|---|--:|" + "--:|" * len(BUDGETS))
    for kind in ("cite", "title", "xref", "all"):
        pairs = []
        for r in (r for r in rows if kind in (r["kind"], "all")):
            named = look_up_question(r["query"], catalogue)
            pairs.append(([*named, *((d, s) for d0, s0 in named for d, s, _ in cited_spans(d0, s0, catalogue))], gold(r)))
        print(f"| {kind} | {len(pairs)} | {cells(pairs)} |")


def citations_table(rows: Sequence[dict], catalogue: StatuteCatalogue) -> list[str]:
    """Print what following the citations of the gold article brings; returns the misses."""
    rows = [r for r in rows if r["kind"] == "xref"]
    print(f"\n| from the gold article | cited articles found | evidence recall, no limit | characters read | {HEADS} |\n|---|--:|--:|--:|" + "--:|" * len(BUDGETS))
    misses = []
    settings = {"alone": {"depth": 0}, "cited articles": {"depth": 1}, "cited clauses": {"depth": 1, "whole": False}, "cited articles, two steps": {"depth": 2},
                "cited articles, at most 3": {"depth": 1, "limit": 3}, "gold evidence itself": None}
    for name, options in settings.items():
        pairs, lacking = [], 0
        for r in tqdm(rows, desc=name):
            wanted = gold(r)
            found = wanted if options is None else [wanted[0], *((d, s) for d, s, _ in cited_spans(*wanted[0], catalogue, **options))]
            pairs.append((found, wanted))
            absent = [e["article"] for e, w in zip(r["evidence"][1:], wanted[1:]) if not any(same(f, w) for f in found)]
            lacking += len(absent)
            if options == {"depth": 1} and recall(found, wanted) < 0.999:
                misses += [f"xref: {r['query']}: {article}" for article in absent]
        reached, characters = (sum(values) / len(rows) for values in ((recall(*pair) for pair in pairs), (size(found) for found, _ in pairs)))
        share = 1 - lacking / sum(len(wanted) - 1 for _, wanted in pairs)
        print(f"| {name} | {share:.4f} | {reached:.4f} | {characters:,.0f} | {cells(pairs)} |")
    return misses


def speed_table(corpus: Sequence[dict], documents: Sequence[Document], catalogue: StatuteCatalogue, folder: Path) -> None:
    """Print how long it takes."""
    text = "\n".join(row["text"] for row in corpus)
    text = (text * (1 + 1_000_000 // len(text)))[:1_000_000]
    timings, path = {}, folder / "catalogue.json"
    for name, work in {"find_citations, 1,000,000 characters": lambda: find_citations(text, catalogue.index.names), "StatuteCatalogue.from_documents, this corpus": lambda: StatuteCatalogue.from_documents(documents),
                       "save": lambda: path.write_text(json.dumps(catalogue.records())), "load": lambda: StatuteCatalogue.restored(json.loads(path.read_text()), {})}.items():
        began = time.perf_counter()
        work()
        timings[name] = time.perf_counter() - began
    print("\n| work | seconds |\n|---|--:|\n" + "\n".join(f"| {k} | {v:.3f} |" for k, v in timings.items()))
    print(f"\n{len(find_citations(text)):,} citations in 1,000,000 characters; catalogue of {sum(len(r['text']) for r in corpus):,} characters: {path.stat().st_size:,} bytes")


def main() -> None:
    """Print the tables and the misses."""
    corpus, rows = (lines(DATA / "ko_statutes" / f"{name}.jsonl") for name in ("corpus", "queries"))
    documents = [Document(id_=row["doc_id"], text=row["text"], metadata={"title": row["title"]}) for row in corpus]
    catalogue = StatuteCatalogue.from_documents(documents)
    titles = {row["doc_id"]: row["title"] for row in corpus}
    misses = questions_table(rows, catalogue, titles)
    candidates_table(rows, catalogue, titles)
    no_retrieval_table(rows, catalogue)
    misses += citations_table(rows, catalogue)
    with tempfile.TemporaryDirectory() as scratch:
        speed_table(corpus, documents, catalogue, Path(scratch))
    print(f"\n{len(misses)} misses\n\n" + "\n".join(f"- {m}" for m in misses))


if __name__ == "__main__":
    main()
