"""A passage begins and ends where a reader can follow, at any budget, and says what it leaves out."""
from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st
from llama_index.core.schema import Document

from ragnb import MultiScaleRetriever, NgramEmbedding, Passage, RankedContextBuilder, Span, UnitNodeParser
from ragnb.context.builders import cut_passage, PassageRanking
from ragnb.documents.text import is_heading, readable_cut, sentence_spans
from ragnb.retrieval.missing_words import index_words, missing_words
from ragnb.retrieval.sqlite_store import SqliteStore

RULES = """# 휴가규정

## 1. 총칙

이 규정은 회사의 휴가를 정한다. 휴가는 직원의 권리이며, 신청한 날에 주는 것을 원칙으로 한다.

## 2. 연차휴가

### 2.1 일수

연차휴가는 입사 1년차에 15일을 준다. 2년차부터는 16일을 주고, 근속 2년마다 하루를 더한다. 일수는 25일을 넘지 못한다.

### 2.2 사용

연차휴가는 하루나 반일로 나누어 쓸 수 있다. 신청은 사흘 앞서 하고, 급한 일이 있으면 당일에 알린다.

| 구분 | 일수 | 급여 |
|---|---|---|
| 본인 결혼 | 5일 | 유급 |
| 부모 상 | 5일 | 유급 |

- 병가는 한 해 60일까지 준다.
- 진단서는 사흘이 넘으면 낸다.
"""
ENGLISH = ("The leave year begins in January. An employee earns one day for each month of service, up to fifteen days. "
           "Leave that is not taken within the year is lost, unless the manager asked for the work.\n\n## Travel\n\nA flight home is paid every 90 days.")


def over(documents: list[Document], dims: int) -> MultiScaleRetriever:
    """A retriever over some documents."""
    model, store = NgramEmbedding(dims=dims).fit([d.text for d in documents]), SqliteStore()
    store.add_documents(documents, UnitNodeParser(), model)
    return MultiScaleRetriever(store.units, store, model)


@pytest.fixture(scope="module")
def retriever() -> MultiScaleRetriever:
    documents = [Document(text=RULES, id_="leave.md", metadata={"title": "휴가규정"}), Document(text=ENGLISH, id_="handbook.md")]
    return over(documents, 32)


TEXTS = {"leave.md": RULES, "handbook.md": ENGLISH}


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(["연차휴가는 며칠인가?", "휴가 신청", "How many days of leave?", "병가", "본인 결혼 일수"]), st.integers(60, 700))
def test_passages_begin_with_a_sentence_and_end_with_one_or_say_so(retriever, question, budget):
    passages = retriever.rank(question).at(budget)
    assert passages and sum(len(p.span) for p in passages) <= budget
    for p in passages:
        whole = TEXTS[p.doc_id]
        sentences = sentence_spans(whole, "rule")
        assert p.text == p.span.of(whole) and p.span.start in [s.start for s in sentences], p.text[:30]
        assert p.goes_on == (p.span.end not in [s.end for s in sentences]), p.text[-30:]
        assert not is_heading(p.text.splitlines()[-1]) or p.span.end == len(whole)
        rows = [line for line in p.text.splitlines() if line.startswith(("|", "-"))]
        assert all(row in whole.splitlines() for row in rows)       # a row, an item is whole
        assert p.shown == p.text + " …" * p.goes_on


def test_a_unit_that_was_cut_says_how_much_of_it_is_read(retriever):
    cut = [(p, hit) for b in range(80, 240, 10) for p in retriever.rank("연차휴가는 며칠인가?").at(b) for hit in p.hits if "cut to fit" in p.why[hit].detail]
    assert cut
    for p, hit in cut:
        read, whole = (int(n) for n in p.why[hit].detail.rpartition(": ")[2].removesuffix(" characters").split(" of "))
        assert 0 < read < whole == len(retriever.store.get_chunks([hit]).all()[hit].text)


def test_reasons_are_sentences_without_bare_numbers(retriever):
    ranking = retriever.rank("연차휴가는 며칠인가?")
    for piece in ranking.pieces:
        why = str(ranking.why(ranking.reader.units.address(piece.key)))
        assert not why.startswith(("alone", "matches, ")) and "name " not in why


def test_a_passage_of_half_a_long_sentence_says_that_it_goes_on():
    long = "휴가는 " + ", ".join(f"{i}번째 부서의 사정과 {i}번째 일정을 살펴" for i in range(20)) + " 정한다."
    documents = [Document(text=long, id_="long.md"), Document(text=ENGLISH, id_="handbook.md")]
    found = over(documents, 16).rank("휴가는 어떻게 정하나")
    passages = [p for p in found.at(2_000) if p.doc_id == "long.md"]
    assert passages and all(p.goes_on == (p.span.end < len(long)) for p in passages)
    part = [p for p in found.at(150) if p.doc_id == "long.md"]
    assert part and all(p.goes_on == (p.span.end < len(long)) for p in part)


@settings(max_examples=80, deadline=None)
@given(st.integers(20, 500), st.integers(0, 9))
def test_a_cut_passage_can_be_followed(size, at):
    sentences = sentence_spans(RULES, "rule")
    focus = sentences[at]
    cut = cut_passage(Passage("leave.md", Span(0, len(RULES)), RULES, focus=focus), size)
    assert len(cut.text) <= size and cut.span.start in [s.start for s in sentences]
    assert cut.goes_on == (cut.span.end not in [*(s.end for s in sentences), len(RULES)])
    assert cut.span.contains(focus) or len(focus) > size


@pytest.mark.parametrize("size", [40, 90, 150, 300])
def test_a_context_shows_where_a_sentence_goes_on(size):
    context = RankedContextBuilder(budget=size).build([Passage("leave.md", Span(0, len(RULES)), RULES)])
    assert context.size <= size and len(context.sources) == 1
    source = context.sources[0]
    assert context.text.endswith(source.passage.shown) and context.text[source.start:].startswith(source.passage.text)
    assert PassageRanking([Passage("leave.md", Span(0, len(RULES)), RULES)]).at(size)[0].text == cut_passage(
        Passage("leave.md", Span(0, len(RULES)), RULES), size).text


def test_rows_and_items_are_whole_and_headings_are_not_left():
    at = RULES.index("부모 상")
    span, goes_on = readable_cut(RULES, 0, at + 2)
    assert not goes_on and span.of(RULES).endswith("| 본인 결혼 | 5일 | 유급 |")
    span, goes_on = readable_cut(RULES, 0, RULES.index("### 2.2 사용") + 10, last=0.2)
    assert not goes_on and span.of(RULES).endswith("25일을 넘지 못한다.")


@pytest.mark.parametrize(("question", "missing"), [
    ("공룡은 언제 멸종했나요?", ["공룡", "멸종"]), ("연차휴가는 며칠인가?", []), ("연차와 공룡", ["공룡"]), ("When did the dinosaurs die?", ["dinosaurs", "die"]),
    ("어떻게 하나요?", [])])
def test_words_that_occur_in_no_document(retriever, question, missing):
    found = missing_words(question, index_words(retriever), [RULES, ENGLISH])
    assert found.missing == missing and [note.kind for note in found.notes][:1] == ["missing"][:len(missing)]
    assert any("by vector similarity only" in note.text for note in found.notes) == (bool(missing) and missing == found.asked)
