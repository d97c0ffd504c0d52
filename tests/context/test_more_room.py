"""A larger budget never delivers less text, and no passage is without a word or a text of its own."""
from __future__ import annotations

import re

from hypothesis import example, given, strategies as st
from llama_index.core.schema import Document
from strategies import examples

from ragnb.chunking.units import UnitNodeParser
from ragnb.context.builders import _rooms, cut_passage, cut_to_sentences, fill_context, RankedContextBuilder, SimpleContextBuilder
from ragnb.documents.span import Passage, Span
from ragnb.documents.text import is_heading
from ragnb.models.embedding import NgramEmbedding
from ragnb.retrieval.multiscale import MultiScaleRetriever
from ragnb.retrieval.sqlite_store import SqliteStore

HEADINGS = ["# 대여 규정 ({n}년)", "## 보증금", "## 반납", "### Late return", "## 보증금과 반납"]
SENTENCES = ["보증금은 하루 {n}천 원이다.", "반납은 {n}시까지 한다. 늦으면 하루치를 더 낸다.", "A late return costs {n} won a day.", "장비는 창구에서 받는다.",
             "보증금은 장비를 반납한 날부터 {n}일 안에, 빌린 사람이 적어 낸 계좌로 돌려주며, 부서진 곳이 있으면 고치는 값을 뺀 나머지를 돌려준다."]
TABLES = ["| 장비 | 보증금 |\n|---|---|\n| 사다리 {n} | {n}천 원 |\n|  |  |\n| 드릴 | 2만 원 |", "|  |  |  |\n|---|---|---|\n|  |  |  |"]
MODEL = NgramEmbedding(dims=8).fit([*HEADINGS, *SENTENCES, *TABLES])
parts = st.lists(st.sampled_from([*HEADINGS, *SENTENCES, *TABLES]), min_size=1, max_size=8)


def rankings(documents: list[list[str]], question: str):
    """The ranking of a question over documents made of parts."""
    store = SqliteStore()
    made = [Document(id_=f"d{n}.md", text="\n\n".join(parts).replace("{n}", str(n + 3)), metadata={"title": f"대여 규정 {n}"}) for n, parts in enumerate(documents)]
    store.add_documents(made, UnitNodeParser(), MODEL)
    return MultiScaleRetriever(store.units, store, MODEL).rank(question), {d.id_: d.text for d in made}


QUESTIONS = st.sampled_from(["보증금은 얼마인가?", "대여 규정", "반납", "late return", "사다리 보증금"])


@given(st.lists(parts, min_size=1, max_size=9), QUESTIONS, st.sampled_from([RankedContextBuilder, SimpleContextBuilder]), st.integers(20, 900), st.integers(1, 300))
@examples(120)
def test_a_larger_budget_never_delivers_less_text(documents, question, builder, budget, more):
    ranking, _ = rankings(documents, question)
    n_before = 0
    for size in (budget, budget + 1, budget + more):
        room = builder(budget=size)
        context = room.build(fill_context(room, ranking))
        n = sum(len(p.text) for p in context.passages)
        assert context.size <= size and n >= n_before, (size, n_before, n)
        n_before = n


class Counted:
    """A ranking that counts how often it was asked."""

    def __init__(self, ranking):
        self.ranking, self.n_asked = ranking, 0

    def at(self, budget):
        self.n_asked += 1
        return self.ranking.at(budget)


@example([["# 대여 규정 ({n}년)"]], "대여 규정", SimpleContextBuilder, 2_000)
@given(st.lists(parts, min_size=1, max_size=9), QUESTIONS, st.sampled_from([RankedContextBuilder, SimpleContextBuilder]), st.integers(900, 6_000))
@examples(20)
def test_where_all_text_is_read_no_number_of_characters_delivers_more(documents, question, builder, budget):
    """A question of a small folder asked its ranking 265 times for the same passages."""
    ranking, _ = rankings(documents, question)
    counted, room = Counted(ranking), builder(budget=budget)
    n = sum(len(p.text) for p in fill_context(room, counted))
    others = [passages for size in _rooms(budget) if room._size(passages := ranking.at(size)) <= budget]
    assert n == max(sum(len(p.text) for p in passages) for passages in others)
    assert counted.n_asked <= 3 or budget - n < 2_000     # 3: where nothing is found


@given(st.lists(parts, min_size=1, max_size=9), QUESTIONS, st.integers(1, 900))
@examples(120)
def test_no_passage_is_only_headings_or_empty_cells(documents, question, budget):
    ranking, texts = rankings(documents, question)
    for p in ranking.at(budget):
        assert re.search(r"\w", p.text), p.text
        below = texts[p.doc_id][p.span.end:]
        assert not is_heading(p.text) or not below.strip() or not re.search(r"\w", re.sub(r"(?m)^#.*", "", below)), p.text


def test_a_cut_keeps_no_heading_without_its_text():
    text = "## 보증금과 반납\n\n" + "보증금은장비를반납한날부터" * 8
    whole = Passage("d.md", Span(0, len(text)), text, hits=("d.md#c0",))
    assert is_heading(cut_passage(whole, 14).text)
    assert all(not is_heading(p.text) for size in range(5, 40) for p in SimpleContextBuilder(budget=size).build([whole]).passages)
    empty = Passage("e.md", Span(0, 13), "|  |  |  |  |", hits=("e.md#c0",))
    assert SimpleContextBuilder().build([empty, whole]).passages == [whole]


def test_sentences_are_added_one_by_one_as_long_as_they_fit():
    """A sentence that still fits is not given up because the next but one does not."""
    sentences = [f"{n}번 창구는 {n}시에 엽니다." for n in range(1, 6)]
    text = " ".join(sentences)
    passage = Passage("a.md", Span(0, len(text)), text, focus=Span(0, 3))
    for n in range(1, 6):
        kept = " ".join(sentences[:n])
        assert cut_to_sentences(passage, len(kept)).text == kept
