"""Numbered sections of manuals: which texts are made of them, which section a question names, what a section cites."""
from __future__ import annotations

import pytest
from llama_index.core import Document

from ragnb import Pipeline, update_index
from ragnb.documents.kinds import Catalogue, detect_kind, records_of
from ragnb.sections.sections import section_citations, section_headings, section_spans

LOCK = """# Lock Service RFC 7001

1.  Purpose

The service gives one client at a time a lock. The terms of Section 2 hold.

2.  Terms

2.1.  Lease

A lease is a lock with an end. It is renewed as Section 3.2 says.

2.2.  Fence

A fence is a number that only grows.

3.  Operations

3.1.  Acquire

A client acquires a lease of at most 30 seconds. See Sections 2.1 and 2.2.

3.2.  Renew

A client renews a lease before two thirds of it are over, and sends its fence (Section 2.2).
"""
CLOCK = """# Clock Service RFC 7002

1. Purpose

Clients read the time.

2. Drift

2.1. Bounds

The drift is at most 20 ms. A lease of Section 3.1 of RFC 7001 counts with it.

2.2. Leaps

A leap second is smeared.
"""


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return Catalogue.from_documents([Document(text=LOCK, id_="rfc7001.txt"), Document(text=CLOCK, id_="rfc7002.txt")])


def heads(places) -> list[str]:
    texts = {"rfc7001.txt": LOCK, "rfc7002.txt": CLOCK}
    return [f"{doc_id[3:7]} {span.of(texts[doc_id]).split()[0]}" for doc_id, span, *_ in places]


@pytest.mark.parametrize("question, named", [
    ("What does Section 3.2 say?", ["7001 3.2."]),                          # in one document only
    ("What does section 2.1 of RFC 7001 say?", ["7001 2.1."]),
    ("§ 2.1 of rfc7002.txt?", ["7002 2.1."]),
    ("Section 2.1?", ["7001 2.1.", "7002 2.1."]),                           # in both: both are read
    ("Compare Sections 3.1 and 3.2 of the lock service.", ["7001 3.1.", "7001 3.2."]),
    ("Section 9?", []), ("How long is a lease?", []), ("3.2", []), ("제2조는?", [])])
def test_a_question_names_sections(catalogue, question, named):
    assert heads(catalogue.named(question)) == named


def test_a_section_cites_others_in_its_document_and_in_another(catalogue):
    acquire = catalogue.named("Section 3.1")[0]
    assert heads(catalogue.cited(*acquire)) == ["7001 2.1.", "7001 2.2."]
    assert heads(catalogue.cited(*acquire, depth=2)) == ["7001 2.1.", "7001 2.2.", "7001 3.2."]
    bounds = catalogue.named("Section 2.1 of RFC 7002")[0]
    (doc_id, span, why), = catalogue.cited(*bounds)
    assert (doc_id, why) == ("rfc7001.txt", "Section 3.1, cited in Section 2.1") and span.of(LOCK).startswith("3.1.")


def test_a_section_holds_the_sections_inside_it():
    spans = section_spans(LOCK)
    assert list(spans) == ["1", "2", "2.1", "2.2", "3", "3.1", "3.2"]
    assert spans["2"].contains(spans["2.2"]) and not spans["2"].overlap(spans["3"])


@pytest.mark.parametrize("text", [
    "1. Open\n2. Fill\n3. Close\n", "2024 Report\n\n3.5 million people\n", "",
    "1. One\n\n1.1. Two, and then the sentence goes on.\n", "제1조(목적) 정한다.\n제2조(정의) 뜻이다.\n제3조(기준) 정한다.\n"])
def test_other_texts_are_none(text):
    assert section_headings(text) == [] and detect_kind(text) != "sections"


def test_contents_are_no_headings():
    printed = "1. Purpose ........ 3\n2. Terms .......... 4\n2.1. Lease . . . . 5\n\n" + LOCK.partition("\n\n")[2]
    assert [title for _, _, title in section_headings(printed)] == [title for _, _, title in section_headings(LOCK)]


def test_nothing_is_cut_by_them():
    assert detect_kind(LOCK) == "sections" and records_of(Document(text=LOCK)) == []


def test_what_an_index_keeps_is_json_and_joins(catalogue):
    assert Catalogue.restored(catalogue.records(), catalogue.state) == catalogue
    both = Catalogue.joined({"net": catalogue})
    assert [doc_id for doc_id, _ in both.named("Section 3.2")] == ["net/rfc7001.txt"]
    catalogue = Catalogue.restored(catalogue.records(), catalogue.state)
    catalogue.remove("rfc7001.txt")
    assert catalogue.named("Section 3.2") == [] and len(catalogue) == 1


def test_citations_are_read_in_all_their_forms():
    said = "see Section 4.2.1, sections 3 and 4.1, Sec. 7, §5 and Section 2 of [RFC3986]; chapter 9 has 1.5 pages"
    assert [number for _, number, _ in section_citations(said)] == ["4.2.1", "3", "4.1", "7", "5", "2"]
    assert section_citations(said)[-1][2] == "RFC3986"


@pytest.mark.parametrize("parser", ["units", "chunks:300/0"])
def test_the_section_that_is_named_is_read_first_and_then_what_it_cites(tmp_path, parser):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/rfc7001.txt").write_text(LOCK, encoding="utf-8")
    (tmp_path / "docs/rfc7002.txt").write_text(CLOCK, encoding="utf-8")
    index = update_index(tmp_path / "docs", tmp_path / "i", parser=parser, show_progress=False)[0]
    passages = Pipeline.from_index(index, budget=400).ask("What must I do by Section 3.2 of RFC 7001?").passages
    assert "two thirds" in passages[0].text and passages[0].doc_id == "rfc7001.txt"
    assert "only grows" in " ".join(passage.text for passage in passages)
