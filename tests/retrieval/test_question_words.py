"""Codes and numbers in a question are searched as the documents write them, and no note denies what the text contains."""
from __future__ import annotations

import pytest
from hypothesis import given, strategies as st
from strategies import examples

from ragnb.documents.text import word_tokens, word_tokens_batch
from ragnb.retrieval.missing_words import code_terms, content_words, IndexWords, missing_words, query_terms, without_asking

tokens = st.from_regex(r"[0-9]{0,3}[a-z]{2,9}[0-9]{0,2}", fullmatch=True)


@given(st.lists(tokens, min_size=1, max_size=4), st.sampled_from(["What about {}?", "{}은 무엇인가요?", "What does {} mean?", "{}의 뜻은?"]))
@examples(300)
def test_no_note_denies_a_word_that_the_text_contains(words, asked):
    text = f"The list has {' and '.join(words)}."
    known = IndexWords.of_texts(word_tokens_batch([text]))
    for word in words:
        assert missing_words(asked.format(word), known, [text]).notes == [], word


@pytest.mark.parametrize("question, left", [
    ("What does K7 mean?", ["K7"]), ("what is the meaning of K7", ["K7"]), ("K7 뜻", ["K7"]), ("K7의 뜻이 뭐야?", ["K7"]), ("K7은 무슨 의미인가요?", ["K7"]),
    ("노동자의 뜻을 듣는 절차", ["노동자", "절차"]), ("the mean value of 3M", ["mean", "value", "3M"]), ("the 42nd floor at 10pm", ["floor", "10pm"])])
def test_words_that_ask_for_a_meaning_are_no_words_of_content(question, left):
    assert content_words(question) == left
    assert not {"mean", "뜻", "의미"} & set(query_terms(question)) or "mean" in left or "노동자" in left


def test_nothing_but_a_question_stays_as_it_is():
    assert query_terms("What does it mean?") and query_terms("뜻") == ["뜻"]


@pytest.mark.parametrize("question, written, terms", [
    ("K7이 뭐야?", {"k7"}, ["k7", "k", "7"]), ("K7이 뭐야?", {"k", "7"}, ["k", "7"]), ("What is K7?", {"k", "7"}, ["k", "7"]), ("What is K7?", {"k7", "7"}, ["k7"]),
    ("K7과 P-20의 차이", {"k7", "p20", "차이"}, ["k7", "k", "7", "p20", "p", "20", "차이"])])
def test_a_code_is_searched_as_the_documents_write_it(question, written, terms):
    assert code_terms(query_terms(question), question, written) == terms


def test_the_tokens_of_a_code_depend_on_the_language_of_its_line():
    assert word_tokens("K7 lamp") == ["k7", "lamp"] and word_tokens("K7 램프") == ["k", "7", "램프"]
