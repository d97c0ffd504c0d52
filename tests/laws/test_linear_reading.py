"""Reading legal texts takes steps in proportion to their length, and no line of signs keeps it busy."""
from __future__ import annotations

import subprocess
import sys

import growth
import pytest
from conftest import ROOT
from llama_index.core import Document

READERS = [name for name in growth.jobs() if not name.startswith("split")]


def steps(job: str, text: str) -> int:
    """Calls of functions, Python's and C's, that a job makes."""
    count, work = 0, growth.jobs()[job]
    document = Document(text=text, id_="a", metadata={"title": "시험법"})

    def count_calls(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(count_calls)
    try:
        work(document)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("job", READERS)
def test_four_times_the_text_takes_four_times_the_steps(job: str) -> None:
    for name, make in growth.TEXTS.items():
        if name in ("blank lines", "one word"):     # a step a character, nothing else: see the pattern tests
            continue
        once, again = (steps(job, make(n)) for n in ((40, 160) if job == "records_of" else (10, 40)))
        assert again < 7 * once + 4_000, (job, name, once, again)


HANGS = r'''
import re
from llama_index.core import Document
from ragnb.laws.catalogue import StatuteCatalogue
from ragnb.documents.kinds import detect_kind, records_of
from ragnb.documents.markdown import find_headings
from ragnb.documents.qa import qa_pairs
from ragnb.documents.fields import front_matter
from ragnb.laws.statutes import parse_statute
marks = ["*", "_", "*_", "> ", "# ", "\n", "\r\n", "\n ", " ", "\t", "[", "]", "<", "(", "「", "제1조", "제1장 ", ".", "-", "---\n", "|", "①", "부칙\n", "\n[", "■",
         "제1조(", "질의", "질의 ", "Q1 ", "별표 1 ", "[시행일:", "제1조 및 ", "> 제1장 가<"]
frames = ["{}", "제1조(목적) 정한다.{}\n제2조(정의) 정한다.{}\n제3조(기준){}", "---{}", "{}제1조(목적)\n제2조\n제3조", "질의 :{}\n회시 :{}", "시험법\n{}\n제1조(목적) 정한다."]
for mark in marks:
    for frame in frames:
        text = frame.replace("{}", mark * 500)
        print(repr(mark), repr(frame), flush=True)
        detect_kind(text), parse_statute(text), qa_pairs(text), find_headings(text), front_matter(text)
        records_of(Document(text=text), "statute"), StatuteCatalogue.from_documents([Document(text=text, id_="a")])
print("done")
'''


@pytest.mark.heavy
def test_no_line_of_signs_hangs_a_reader() -> None:
    """Forty of them once did; here are five hundred, in a process that may take minutes and needs seconds."""
    done = subprocess.run([sys.executable, "-c", HANGS], capture_output=True, text=True, encoding="utf-8", timeout=200, cwd=ROOT)
    assert done.returncode == 0 and done.stdout.endswith("done\n"), (done.stdout[-300:], done.stderr[-800:])


MARKS = r'''
import resource, sys
resource.setrlimit(resource.RLIMIT_CPU, (40, 40))
from llama_index.core import Document
from ragnb.chunking.rules import RoutedNodeParser
from ragnb.documents.kinds import records_of
from ragnb.laws.rulings import interpretation_records, ruling_records
for mark in ("판시사항\n", "【판결요지】\n", "판례내용\n", "【이유】\n", "판결요지\n판례내용\n"):
    text = mark * (192_000 // len(mark))
    interpretation_records(text, "1"), ruling_records(text, "1"), records_of(Document(text=text, id_="a"), "ruling")
RoutedNodeParser(sentences="rule").parse(Document(text="판시사항\n" * 4_000, id_="a"))
print("done")
'''


@pytest.mark.heavy
@pytest.mark.skipif(sys.platform == "win32", reason="limits a process")
def test_marks_of_a_ruling_that_are_repeated() -> None:
    """16,000 of them took 7 seconds, and four times as many sixteen times as long; here are 38,000, in a few seconds of the processor."""
    done = subprocess.run([sys.executable, "-c", MARKS], capture_output=True, text=True, encoding="utf-8", cwd=ROOT)
    assert done.returncode == 0 and done.stdout == "done\n", (done.returncode, done.stderr[-800:])
