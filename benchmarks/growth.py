"""CPU seconds of reading, citing and splitting at n, 4n, 16n and 64n: every column should grow fourfold from one to the next.

Run: python benchmarks/growth.py [--base 25] [--limit 120] [NAME ...]
"""
from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable

from llama_index.core import Document

TEXTS: dict[str, Callable[[int], str]] = {
    "articles": lambda n: "시험법\n" + "".join(f"제{i % 9990 + 1}조(제목{i}) {i}호를 정한다. 제{i % 50 + 1}조를 본다.\n" for i in range(10 * n)),
    "chapters": lambda n: "시험법\n" + "".join(f"제{i + 1}장 제목{i}\n제{i % 9990 + 1}조(제목) 정한다.\n" for i in range(5 * n)),
    "clauses": lambda n: "시험법\n제1조(목적) 정한다.\n제2조(정의)\n" + "".join(f"{i % 999 + 1}. 항목 <개정 2020. 1. 1.>\n" for i in range(10 * n)),
    "headings": lambda n: "".join(f"## 제목 {i}\n\n본문이다.\n\n" for i in range(10 * n)),
    "pairs": lambda n: "".join(f"## {i}. 주제\n질의 : 되나요?\n회시 : 됩니다.\n" for i in range(5 * n)),
    "one line": lambda n: "제3조에 따라 「시험법」 제4조제2항의 기준을 정한다. " * (10 * n),
    "one word": lambda n: "가" * (400 * n),
    "blank lines": lambda n: "---\n" + "\n" * (400 * n) + "제1조(목적) 정한다." + "\n \n" * (100 * n) + "제2조(정의) 정한다.",
    "stars": lambda n: "*" * (200 * n) + "\n" + "_*" * (100 * n) + "\n제1조(목적) 정한다.\n",
    "table": lambda n: "| 가 | 나 |\n|---|---|\n" + "| 하나 | 둘 |\n" * (10 * n),
}


def jobs() -> dict[str, Callable[[Document], object]]:
    """What is measured, by name."""
    from ragnb.chunking.parsers import resolve_parser
    from ragnb.documents.catalogue import Catalogue
    from ragnb.documents.citations import find_citations
    from ragnb.documents.kinds import detect_kind, records_of
    from ragnb.documents.markdown import find_headings, find_tables
    from ragnb.documents.provisions import look_up_question
    from ragnb.documents.qa import qa_pairs
    from ragnb.documents.statutes import front_matter, parse_statute
    out: dict[str, Callable[[Document], object]] = {
        "detect_kind": lambda d: detect_kind(d.text),
        "parse_statute": lambda d: parse_statute(d.text),
        "records_of": lambda d: records_of(d, "statute"),
        "qa_pairs": lambda d: qa_pairs(d.text),
        "find_citations": lambda d: find_citations(d.text),
        "find_headings": lambda d: (find_headings(d.text), find_tables(d.text), front_matter(d.text)),
        "catalogue": lambda d: look_up_question("시험법 제3조", Catalogue.from_documents([d])),
    }
    for name in ("units", "parent-child", "sentences", "structure", "text", "tables", "qa", "headings", "records", "articles", "lazy"):
        try:
            parser = resolve_parser(name)
        except ValueError:
            continue
        out[f"split {name}"] = lambda d, parser=parser: parser.parse(d)
    return out


def measure(job: str, text: str, sizes: list[int]) -> None:
    """Print the CPU seconds of one job on one text, a line for each size."""
    work = jobs()[job]
    for n in (1, *sizes):       # the first for imports and caches
        document = Document(text=TEXTS[text](n), id_="a", metadata={"title": "시험법"})
        start = time.process_time()
        work(document)
        print(time.process_time() - start, flush=True)


def main() -> None:
    """Print the table; each row is a process of its own that may need `--limit` seconds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="jobs or texts (default: all)")
    parser.add_argument("--base", type=int, default=25)
    parser.add_argument("--limit", type=float, default=120)
    parser.add_argument("--row", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    sizes = [args.base * 4 ** k for k in range(4)]
    if args.row:
        return measure(*args.row, sizes)
    print(f"{'job':<20} {'text':<12} " + " ".join(f"{f'n={n}':>9}" for n in sizes) + "  last factor")
    for job in jobs():
        for text in TEXTS:
            if args.names and not {job, text} & set(args.names):
                continue
            command = [sys.executable, __file__, "--row", job, text, "--base", str(args.base)]
            try:
                printed = subprocess.run(command, capture_output=True, text=True, timeout=args.limit, check=True).stdout
            except subprocess.TimeoutExpired as late:
                printed = (late.stdout or b"").decode()
            row = [float(t) for t in printed.split()[1:]]
            factor = row[-1] / max(row[-2], 1e-3) if len(row) > 1 else 0
            print(f"{job:<20} {text:<12} " + " ".join(f"{t:>9.3f}" for t in row) + f"  {factor:.1f}" + ("" if len(row) == 4 else "  (over the limit)"), flush=True)


if __name__ == "__main__":
    main()
