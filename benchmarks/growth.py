"""CPU seconds of reading, citing and splitting at n, 4n, 16n and 64n: every column should grow fourfold from one to the next.

Run: python benchmarks/growth.py [--base 8] [--limit 120] [--large] [NAME ...]

The columns are without Python's collector of unused objects, the last one is with it: it walks all live objects each time there are
a quarter more of them, so its share goes up by steps while the objects of a large document outgrow those of the imported libraries
(up to 8 times for four times the text), and settles. `--large` measures a line of 5 MB, 100,000 articles and 50,000 headings, beside a quarter of each.
"""
from __future__ import annotations

import gc
import os
import resource
import signal
import time
from collections.abc import Callable

from common import arguments
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

LARGE: dict[str, Callable[[int], str]] = {   # For 4: the whole; for 1: a quarter
    "5 MB line": lambda n: TEXTS["one line"](3_900 * n),
    "100,000 articles": lambda n: "시험법\n" + "".join(f"제{i + 1}조(제목{i}) 기준을 정한다.\n" for i in range(25_000 * n)),
    "50,000 headings": lambda n: TEXTS["headings"](1_250 * n),
}


def splitters() -> dict[str, Callable[[Document], object]]:
    """Every splitter, with sentences by rule; the analyser's sentences are a row of their own."""
    from ragnb.chunking.contextual import ContextualNodeParser
    from ragnb.chunking.parent_child import ParentChildNodeParser
    from ragnb.chunking.rules import RoutedNodeParser
    from ragnb.chunking.sentence_window import SentenceWindowNodeParser
    from ragnb.chunking.structure import HeadingNodeParser, QANodeParser, RecordNodeParser, TableNodeParser, TextNodeParser
    from ragnb.chunking.units import UnitNodeParser
    kinds = {"units": UnitNodeParser, "parent-child": ParentChildNodeParser, "sentence": SentenceWindowNodeParser, "text": TextNodeParser,
             "table": TableNodeParser, "qa": QANodeParser, "headings": HeadingNodeParser, "records": RecordNodeParser,
             "structure": RoutedNodeParser}
    made = {name: kind(sentences="rule") for name, kind in kinds.items()}
    made["titled"] = ContextualNodeParser(parser=HeadingNodeParser(sentences="rule"))
    return {f"split {name}": lambda d, parser=parser: parser.parse(d) for name, parser in made.items()}


def jobs() -> dict[str, Callable[[Document], object]]:
    """What is measured, by name."""
    from ragnb.laws.catalogue import StatuteCatalogue
    from ragnb.laws.citations import find_citations
    from ragnb.documents.fields import front_matter
    from ragnb.documents.kinds import detect_kind, records_of
    from ragnb.documents.qa import qa_pairs
    from ragnb.documents.markdown import find_headings, find_tables
    from ragnb.laws.provisions import look_up_question
    from ragnb.laws.statutes import parse_statute
    from ragnb.documents.text import sentence_spans
    return {
        "detect_kind": lambda d: detect_kind(d.text),
        "parse_statute": lambda d: parse_statute(d.text),
        "records_of": lambda d: records_of(d, "statute"),
        "qa_pairs": lambda d: qa_pairs(d.text),
        "find_citations": lambda d: find_citations(d.text),
        "find_headings": lambda d: (find_headings(d.text), find_tables(d.text), front_matter(d.text)),
        "catalogue": lambda d: look_up_question("시험법 제3조", StatuteCatalogue.from_documents([d])),
        **splitters(),
        "split by kiwi": lambda d: sentence_spans(d.text, "kiwi"),
    }


def timed(work: Callable[[Document], object], text: str, collect: bool = False) -> float:
    """CPU seconds of some work, with or without the collector."""
    document = Document(text=text, id_="a", metadata={"title": "시험법"})
    gc.collect()
    if not collect:
        gc.disable()
    start = time.process_time()
    work(document)
    took = time.process_time() - start
    gc.enable()
    return took


def row(work: Callable[[Document], object], make: Callable[[int], str], sizes: list[int], limit: float) -> list[float]:
    """The times of one job on one text, a size each and the last with the collector, in a process of its own that may need `limit` CPU seconds."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGXCPU, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CPU, (int(limit) + 1, int(limit) + 1))
        work(Document(text=make(1)[:2_000], id_="a"))      # what is loaded at the first use
        for n in sizes:
            text, runs = make(n), []
            while len(runs) < 3 and sum(runs) < 0.5:              # short ones again: the least is the truest
                runs.append(timed(work, text + " " * len(runs)))  # not the same text: some is remembered
            os.write(write, b"%.6f\n" % min(runs))
        os.write(write, b"%.6f\n" % timed(work, text + "\n", collect=True))
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as lines:
        out = [float(line) for line in lines]
    os.waitpid(pid, 0)
    return out


def factor(times: list[float]) -> float:
    """How many times the last but one the last is; 0 where both are too short to tell."""
    return times[-1] / times[-2] if len(times) > 1 and times[-1] > 0.05 else 0.0


def main() -> None:
    """Print the table, and the largest factor of all rows."""
    args = arguments(__doc__, needs={"names": list}, base=8, limit=120.0, large=False)
    texts, sizes = (LARGE, [1, 4]) if args.large else (TEXTS, [args.base * 4 ** k for k in range(4)])
    print(f"{'job':<20} {'text':<16} " + " ".join(f"{f'n={n}':>9}" for n in sizes) + "  factor   with gc", flush=True)
    largest: tuple[float, str] = (0.0, "")
    for job, work in jobs().items():
        for text, make in texts.items():
            if args.names and not {job, text} & set(args.names):
                continue
            times = row(work, make, sizes, args.limit)
            own, late = times[:len(sizes)], "" if len(times) > len(sizes) else "  (over the limit)"
            largest = max(largest, (factor(own), f"{job}, {text}"))
            print(f"{job:<20} {text:<16} " + " ".join(f"{t:>9.3f}" for t in own) + f"  {factor(own):>6.1f} "
                  + " ".join(f"{t:>9.3f}" for t in times[len(sizes):]) + late, flush=True)
    print(f"the largest factor for four times the text: {largest[0]:.1f} ({largest[1]})")


if __name__ == "__main__":
    main()
