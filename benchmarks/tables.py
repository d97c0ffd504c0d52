"""What the header of a table is worth to its rows: searched with them, and read after the best of them.

    python benchmarks/tables.py            # nbs/studies/results/tables.json
    python benchmarks/tables.py --sets tatqa --english ngram

Evidence recall of `tatqa` (English reports; a question needs cells of one or more rows), `ko_tax_tables` (Korean tax law; a row and the header of its
table) and the sample's questions about tables, asked over the whole corpus of a set. English with MiniLM, Korean with the offline n-gram embedding.
Each line beside the first one, which knows nothing of headers: points of recall with 95 % intervals. Vectors are kept in --keep.
"""
from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

import numpy as np
from llama_index.core.schema import BaseNode, QueryBundle, TextNode

from common import arguments, MINILM, ROOT, sample_or_set, store
from ragnb.chunking.units import UnitNodeParser
from ragnb.documents.span import Outline
from ragnb.evaluation.comparison import paired_test
from ragnb.evaluation.datasets import Dataset
from ragnb.evaluation.measures import evaluate
from ragnb.retrieval.multiscale import MultiScaleRetriever
from scored_set import build

SETS, BUDGETS = ("tatqa", "ko_tax_tables", "sample"), (500, 1_000, 4_000)
VARIANTS: dict[str, tuple[str, str, bool]] = {   # Name -> what searches the header, which part of it, is it read after the best row?
    "nothing of headers": ("", "", False),
    "read after the best row": ("", "", True),
    "searched": ("words vector", "all", False),
    "searched and read": ("words vector", "all", True),
    "searched by words only, and read": ("words", "all", True),
    "searched by vector only, and read": ("vector", "all", True),
    "searched without rows that have no name, and read": ("words vector", "first row", True),
    "searched without its Markdown, and read": ("words vector", "plain", True),
}


def part_of_header(header: str, part: str) -> str:
    """The header, its first row with the delimiter, or its cells alone."""
    lines = header.split("\n")
    if part == "first row":
        return "\n".join(lines[:2])
    return header if part == "all" else "\n".join(" ".join(line.replace("|", " ").split()) for line in (lines[0], *lines[2:]))


class VariantParser(UnitNodeParser):
    """Units whose headers are searched in another way."""
    searched: str = ""
    part: str = "all"
    read: bool = True   # The header is read after the best row of its table

    def parse(self, document: BaseNode) -> tuple[list[TextNode], Outline]:
        nodes, outline = super().parse(document)
        for node in nodes:
            if not self.read:
                node.metadata.pop("header_unit", None)
            header = part_of_header(node.metadata.pop("table_header", ""), self.part)
            if header and "words" in self.searched:
                node.metadata["table_header"] = header
                node.excluded_embed_metadata_keys += [] if "vector" in self.searched else ["table_header"]
            elif header and "vector" in self.searched:
                node.metadata["header_of_the_vector"] = header
        return nodes, outline


def loaded(name: str) -> Dataset:
    """A set by name, or the sample's questions about tables."""
    found = sample_or_set(name)
    return replace(found, questions=[q for q in found.questions if q.kind == "table"]) if name == "sample" else found


def measured(dataset: Dataset, variant: str, args: argparse.Namespace) -> list[np.ndarray]:
    """Recall of every question, at each budget."""
    searched, part, read = VARIANTS[variant]
    made = build(dataset, args.english if dataset.name == "tatqa" else "ngram", args.keep, parser=VariantParser(searched=searched, part=part, read=read))
    retriever = MultiScaleRetriever(made.source, made.store, None)
    found = evaluate(lambda q: retriever.rank(QueryBundle(q, embedding=made.vectors[q])), [q for q in dataset.questions if q.evidence], BUDGETS)
    return [found.values("evidence_recall", b) for b in BUDGETS]


def main() -> None:
    args = arguments(__doc__, sets=",".join(SETS), limit=(int, "questions a set; all when left out"),
                     english=(MINILM, "embedding of tatqa: onnx:FOLDER or ngram"),
                     keep=(ROOT / "out" / "vectors", "folder of vectors made before"))
    rows: list[dict[str, Any]] = []
    for name in args.sets.split(","):
        dataset, base = loaded(name).limit(args.limit), None
        for variant in VARIANTS:
            values = measured(dataset, variant, args)
            base = base or values
            tests = [paired_test(a, b) for a, b in zip(base, values)]
            cells = [{"budget": b, "recall": float(v.mean()), "difference": t.difference, "ci": t.ci} for b, v, t in zip(BUDGETS, values, tests)]
            rows.append({"set": name, "questions": len(values[0]), "variant": variant, "cells": cells})
            told = "  ".join(f"{c['recall']:.3f} ({100 * c['difference']:+.1f} [{100 * c['ci'][0]:+.1f}, {100 * c['ci'][1]:+.1f}])" for c in cells)
            print(f"{name:<14} {variant:<50} {told}", flush=True)
    if args.sets == ",".join(SETS) and not args.limit and args.english == MINILM:
        store(ROOT / "nbs" / "studies" / "results" / "tables.json", {"command": "python benchmarks/tables.py", "rows": rows}, digits=5)


if __name__ == "__main__":
    main()
