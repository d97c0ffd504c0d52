"""A text is read the same way in every Unicode form and with every kind of blank, and spans stay those of the file."""
from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache

import pytest
from hypothesis import given, strategies as st
from llama_index.core import Document
from statute_texts import ACT, DECREE, LEGAL
from strategies import documents, examples, SLOW

from ragnb import read_documents, sample_data, Span
from ragnb.laws.catalogue import StatuteCatalogue
from ragnb.laws.citations import find_citations
from ragnb.documents.forms import plain_text, reading_form
from ragnb.documents.kinds import detect_kind, records_of
from ragnb.documents.markdown import find_headings, find_tables
from ragnb.documents.qa import qa_pairs
from ragnb.laws.statutes import parse_statute
from ragnb.documents.text import sentence_spans, word_tokens

FORMS: dict[str, Callable[[str], str]] = {   # One character -> how it is stored
    "NFD": lambda c: unicodedata.normalize("NFD", c), "no-break spaces": lambda c: "\xa0" if c == " " else c,
    "ideographic spaces": lambda c: "\u3000" if c == " " else c, "fillers": lambda c: "\u3164" if c == " " else c,
    "zero-width between words": lambda c: {" ": "\u200b \u2060", "\n": "\n\ufeff"}.get(c, c),
    "zero-width in words": lambda c: c + "\u200c" if "가" <= c <= "힣" else c,
    "line separators": lambda c: "\u2028" if c == "\n" else c,
    "all": lambda c: {" ": "\u3000\u200b", "\n": "\n\u200e"}.get(c, unicodedata.normalize("NFD", c))}


@lru_cache(maxsize=1)
def sample() -> list[Document]:
    """The documents of the sample corpus."""
    return list(read_documents(sample_data() / "corpus", []))


@lru_cache(maxsize=1)
def short_sample() -> list[Document]:
    """The shortest document of each kind, one with tables, and the statutes of the tests."""
    by_kind: dict[str, Document] = {}
    for document in sorted(sample(), key=lambda d: -len(d.text)):
        by_kind["table" if find_tables(document.text) else str(detect_kind(document.text))] = document
    extra = [Document(text=text, id_=f"extra{i}") for i, text in enumerate([ACT, DECREE, "".join(LEGAL)])]
    return [*by_kind.values(), *extra]


def stored(text: str, form: str) -> tuple[str, list[int]]:
    """A text in another form, and where each of its characters begins there; then the end."""
    parts, starts, at = [FORMS[form](c) for c in text], [], 0
    for part in parts:
        starts.append(at)
        at += len(part)
    return "".join(parts), [*starts, at]


def flat(value: object) -> list:
    """Everything in a result, spans told apart from the rest."""
    if isinstance(value, Span):
        return [value]
    if isinstance(value, dict):
        return [one for item in value.items() for one in flat(item)]
    if isinstance(value, (list, tuple)):
        return [one for item in value for one in flat(item)]
    if hasattr(value, "__dataclass_fields__"):
        return [one for name in value.__dataclass_fields__ for one in flat(getattr(value, name))]
    return [value]


def holding(document: Document) -> list:
    """What a catalogue knows of a document: names, dates, places, titles, citations."""
    held = StatuteCatalogue.from_documents([document]).holdings.get(document.node_id)
    if held is None:
        return []
    spans = [(path, Span(*span)) for path, span in held.spans.items()]
    return [held.names, held.effective, held.repealed, spans, held.titles,
            [(Span(start, start + n), label) for start, n, label in held.citations]]


READERS: dict[str, Callable[[Document], object]] = {
    "kind": lambda d: detect_kind(d.text), "statute": lambda d: parse_statute(d.text), "records": records_of,
    "pairs": lambda d: qa_pairs(d.text), "tables": lambda d: find_tables(d.text),
    "headings": lambda d: [(Span(h.start, h.start + 1), h.path, h.depth) for h in find_headings(d.text)],
    "citations": lambda d: find_citations(d.text), "catalogue": holding,
    "sentences": lambda d: sentence_spans(d.text), "words": lambda d: word_tokens(d.text)}


def differences(document: Document, form: str, reader: str) -> list[str]:
    """Where a reader finds something else in another form of a document."""
    text, (changed, starts) = document.text, stored(document.text, form)
    other = Document(text=changed, id_=document.id_, metadata=dict(document.metadata))
    was, now = flat(READERS[reader](document)), flat(READERS[reader](other))
    if len(was) != len(now):
        return [f"{len(was)} things, then {len(now)}"]
    out = []
    for a, b in zip(was, now):
        if isinstance(a, Span) and a:
            more = changed[starts[a.end - 1]:b.end]
            right = b.start == starts[a.start] and plain_text(more).strip() == text[a.end - 1].strip()
            out += [] if right or reader == "headings" and b.start == starts[a.start] else [f"{a.of(text)!r}: {b.of(changed)!r}"]
        elif a != b:
            out.append(f"{a!r}: {b!r}")
    return out


def all_differences(found: list[Document], form: str) -> dict[tuple[str, str], list[str]]:
    """Where any reader finds something else in another form."""
    told = {(d.id_, reader): differences(d, form, reader)[:3] for d in found for reader in READERS}
    return {place: wrong for place, wrong in told.items() if wrong}


@pytest.mark.parametrize("form", FORMS)
def test_every_reader_finds_the_same_in_every_form(form: str) -> None:
    assert all_differences(short_sample(), form) == {}


@pytest.mark.heavy
@pytest.mark.parametrize("form", FORMS)
def test_every_reader_finds_the_same_in_every_form_of_the_whole_sample(form: str) -> None:
    """A third of the documents in each form, so that each document comes in two or three; all in all with RAGNB_SLOW=1."""
    first, step = (0, 1) if SLOW else (list(FORMS).index(form) % 3, 3)
    assert all_differences(sample()[first::step], form) == {}


# --- marks --------------------------------------------------------------------------------------------------------------
MARKS = ["【{}】", "［{}］", "[{}]", "〔{}〕", "〈{}〉", "＜{}＞"]


@pytest.mark.parametrize("mark", MARKS)
def test_marks_with_letters_set_apart(mark: str) -> None:
    question, answer = (mark.format(word) for word in ("질 의", "회   답"))
    text = f"{question}\n연차는 며칠인가요?\n\n{answer}\n15일입니다.\n\n{mark.format('이   유')}\n" + "정관에 따른다. " * 50
    pair, = qa_pairs(text)
    assert pair.question.of(text).startswith(question) and pair.answer.of(text).startswith(answer)
    assert detect_kind(text) == "interpretation"
    assert [r.metadata["chunk_type"] for r in records_of(Document(text=text, id_="1"))] == ["core", "reason"]


def test_plain_labels_with_letters_set_apart() -> None:
    text = "질 의 : 연차는 며칠인가요?\n회 시 : 15일입니다.\n질 의 2 : 반차는?\n답 변 2 : 4시간입니다."
    assert [(p.question.of(text), p.answer.of(text)) for p in qa_pairs(text)] == [
        ("질 의 : 연차는 며칠인가요?", "회 시 : 15일입니다."), ("질 의 2 : 반차는?", "답 변 2 : 4시간입니다.")]
    assert qa_pairs("질 의사는 누구인가?\n답 변호사이다.") == []


@pytest.mark.parametrize("mark", MARKS)
def test_marks_around_a_whole_head(mark: str) -> None:
    """【제1조(목적)】, also with the title outside, and 【부 칙】."""
    plain = next(d for d in sample() if d.id_.endswith("work_rules.md")).text
    wanted = [(a.number, a.title, a.part) for a in parse_statute(plain).articles]
    inside = re.sub(r"^([# ]*)(제\d+조(?:의\d+)?\([^)]*\))", lambda m: m[1] + mark.format(m[2]), plain, flags=re.M)
    outside = re.sub(r"^([# ]*)(제\d+조(?:의\d+)?)(?=\()", lambda m: m[1] + mark.format(m[2]), plain, flags=re.M)
    supplement = re.sub(r"^([# ]*)부칙$", lambda m: m[1] + mark.format("부 칙"), plain, flags=re.M)
    assert len({plain, inside, outside}) == 3 and len(wanted) > 50
    for text in (inside, outside, supplement):
        assert [(a.number, a.title, a.part) for a in parse_statute(text).articles] == wanted
    first = parse_statute(inside).articles[0]
    assert first.span.of(inside).lstrip("# ").startswith(mark.format("제1조(목적)"))


def test_notes_in_brackets_are_no_heads() -> None:
    law = ("제1조(목적) 이 법은 정한다.\n[제3조에서 이동 <2020. 1. 1.>]\n제2조(정의) 정의한다.\n[제2조의2 제목개정 2010. 1. 1.]\n"
           "제3조(적용) 적용한다.\n[제5조(특례)에서 이동, 종전 제3조는 제6조로 이동]\n[제4조]의 규정\n<제7조 삭제 2001. 1. 1.>\n")
    assert [a.number for a in parse_statute(law).articles] == ["1", "2", "3"]


@examples(60, slow=1_000)
@given(documents | st.text("가각각 \n\u200b\u200d\xa0é\u0301제1조👩🏽\uf900", max_size=40))
def test_the_way_back(text: str) -> None:
    """Spans of the form are spans of the text, in order; nothing that can be seen is lost between two of them."""
    form = reading_form(text)
    words = [form.span(Span(*m.span())) for m in re.finditer(r"\S+", form.text)]
    assert all(0 <= a.start <= a.end <= len(text) for a in words)
    assert all(a.end <= b.start for a, b in zip(words, words[1:]))
    if words:
        outside = [Span(a, b) for a, b in zip([0, *(w.end for w in words)], [*(w.start for w in words), len(text)])]
        assert [gap for gap in outside if gap.of(text).strip()] == []
    assert plain_text(form.text).strip() == form.text.strip()
    assert all(form.place(form.start(i)) <= i for i in range(len(form.text)))
