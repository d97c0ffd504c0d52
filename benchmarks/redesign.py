"""The redesign of the chunks of statutes, before and after: what each delivers for the questions that the design names, or for any others.

    python benchmarks/redesign.py [--data FOLDER] [--budget 2000] [--lines articles-before,articles-after] [QUESTION …]

FOLDER holds corpus.jsonl and queries.jsonl; by default `ko_statutes` below RAGNB_DATA. For a whole set with its gold evidence:

    ragnb eval ko_statutes --strategy articles-before --strategy articles-after --strategy parents-before --strategy parents-after
"""
from __future__ import annotations

import argparse
import os
from pathlib import Path

from ragnb.evaluation.datasets import load_dataset
from ragnb.evaluation.strategy import IndexCache, build_system

ROOT = Path(__file__).resolve().parent.parent
NAMED = ("근로기준법 제56조 내용", "최저임금 위반 시 처벌", "연차유급휴가 해석례", "부가세 신고 절차")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("questions", nargs="*", default=NAMED, help="by default the four that the design names")
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("RAGNB_DATA", ROOT.parent / "shared" / "data")) / "ko_statutes")
    parser.add_argument("--budget", type=int, default=2_000)
    parser.add_argument("--lines", default="articles-before,articles-after")
    parser.add_argument("--cache", default=".ragnb-cache", help="where indexes are kept")
    args = parser.parse_args()
    dataset, cache = load_dataset(args.data), IndexCache(args.cache)
    systems = {name: build_system(name, dataset, cache) for name in args.lines.split(",")}
    for question in args.questions:
        print(f"## {question}\n")
        for name, system in systems.items():
            context, _ = system.deliver(question, args.budget, {})
            print(f"{name}: {context.size:,} characters, {len(context.sources)} passages")
            for source in context.sources[:3]:
                p = source.passage
                print(f"  [{source.number}] {p.doc_id} {p.span.start}-{p.span.end}: {' '.join(p.text.split())[:70]} … {' '.join(p.text.split())[-30:]}")
        print(flush=True)


if __name__ == "__main__":
    main()
