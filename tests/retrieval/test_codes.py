"""What is told of codes, half words, articles and clauses that no document contains: nothing untrue, and nothing in silence."""
from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from llama_index.core import Document

from ragnb import Agent, Index, index_documents, Pipeline
from ragnb.agent.library import Library
from ragnb.documents.text import word_tokens_batch
from ragnb.retrieval.missing_words import IndexWords, missing_words

LAW = "배달기법\n\n제1조(목적) 이 법은 배달기의 운행을 정한다.\n\n제2조(등록) ① 배달기는 등록한다.\n② 등록은 5년마다 새로 한다.\n\n제3조(보험) 보험은 별표 1을 따른다.\n\n[별표 1] 보험\n1. 대인: 1억원\n"
LOG = "# 정비 기록\n\nKX-118 장비에서 경보 E-117이 울렸다. 원인은 모터 과열이었다.\n\n냉각수는 C-12 밸브로 뺀다. 부품 번호는 45번이다.\n\n퓨즈는 25 A를 쓴다."
TABLE = "# 주간 일정\n\n| 요일 | 수업 |\n|---|---|\n| 수 | 요가 |\n| 월 | 수영 |\n\n요일마다 한 번 있다."
TEXTS = {"law.txt": LAW, "log.md": LOG, "week.md": TABLE}


@pytest.fixture(scope="module", params=["units", "parent-child"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("codes") / request.param
    documents = [Document(id_=i, text=text, metadata={"file_name": i}) for i, text in TEXTS.items()]
    index_documents(documents, place, parser=request.param, show_progress=False)
    return place


@pytest.mark.parametrize("code", ["E-118", "E118", "KX-117", "C-45", "KX-45", "C-117"])
def test_a_code_that_no_document_holds(folder: Path, code: str) -> None:
    """Its letters and its number are there, each in another code."""
    index = Index.open(folder)
    for budget in (150, 4_000):
        note = Pipeline.from_index(index, budget=budget).ask(f"{code}의 원인은?").note
        assert "in the documents" not in note
        if folder.name == "units":      # the order of words is kept there
            assert re.search(rf"no document contains [^;]*{code}", note), note
    if folder.name == "units":
        assert code in Agent(Library.open(folder)).ask(f"{code}의 원인은?").note


@pytest.mark.parametrize("code", ["E-117", "e117", "KX-118", "C-12", "25A"])
def test_a_code_that_is_there_is_not_told_of(folder: Path, code: str) -> None:
    assert Pipeline.from_index(Index.open(folder)).ask(f"{code}는 무엇인가요?").note == ""


def test_halves_of_a_word_are_no_word(folder: Path) -> None:
    """수요일 is not in the documents because 수 and 요일 are; nor is it said to be nowhere."""
    note = Pipeline.from_index(Index.open(folder), budget=4_000).ask("수요일 요가").note
    assert "수요일" not in note or "in the documents" not in note


@pytest.mark.parametrize(("question", "told"), [
    ("법 제2조는?", ""), ("이 법 제2조", ""), ("보험은 어느 별표를 따르나?", ""), ("별표를 보여 주세요", ""), ("배달기법 제2조제2항은?", ""),
    ("배달기법 제2조제9항은?", "a 제9항 in 배달기법 제2조"), ("제2조제7항은?", "a 제7항 in 제2조"), ("배달기법 제9조는?", "배달기법 제9조")])
def test_articles_and_clauses(folder: Path, question: str, told: str) -> None:
    note = Pipeline.from_index(Index.open(folder)).ask(question).note
    assert (f"no document contains {told}" in note) if told else ("조" not in note and "별표" not in note), note


def test_an_article_named_by_the_tier_alone_comes_first(folder: Path) -> None:
    assert Pipeline.from_index(Index.open(folder)).ask("법 제3조는?").passages[0].text.startswith("제3조(보험)")


LETTERS, NUMBERS = st.sampled_from(["a", "e", "kx", "gn"]), st.sampled_from(["1", "12", "117", "300"])


@given(st.lists(st.tuples(LETTERS, NUMBERS), min_size=1, max_size=6), LETTERS, NUMBERS, st.data())
def test_a_code_occurs_in_a_text_with_its_parts_in_a_row(there: list[tuple[str, str]], letters: str, number: str, data: st.DataObject) -> None:
    """Also of the documents that a filter lets through only, each code a text of its own."""
    allowed, texts = [data.draw(st.booleans()) for _ in there], list(word_tokens_batch([f"경보 {a.upper()}-{b} 확인" for a, b in there]))
    code = f"{letters.upper()}-{number}"
    seen = [pair for pair, is_allowed in zip(there, allowed) if is_allowed]
    readable = IndexWords.of_texts(text for text, is_allowed in zip(texts, allowed) if is_allowed)
    assert readable.occurs(code) is ((letters, number) in seen)
    found = missing_words(f"{code} 경보", IndexWords.of_texts(texts), ["다른 글이다."])
    assert (code in found.missing) is ((letters, number) not in there) and not (code in found.missing and code in found.unread)
