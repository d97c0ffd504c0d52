"""One value has the same tokens in every spelling, and a text keeps its other words."""
from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import documents, examples

from ragnb.documents.one_token import amount, search_form, values_in
from ragnb.documents.text import bigram_tokens, word_tokens


def amounts(n: int) -> list[str]:
    """Spellings of a number of ten thousands."""
    million = [f"{n // 100}백만"] if n % 100 == 0 else []
    return [f"{n * 10_000}", f"{n * 10_000:,}", f"{n}만", f"{n:,}만", *million, *([f"{n / 10_000:g}억"] if n % 1_000 == 0 else [])]


@examples(100)
@given(st.integers(1, 90_000), st.sampled_from([" 원", "원"]))
def test_an_amount_is_one_token_in_every_spelling(n: int, unit: str) -> None:
    for spelling in amounts(n):
        for tokens in (word_tokens(f"회비는 {spelling}{unit}이다."), word_tokens(f"{spelling}{unit}")):
            assert str(n * 10_000) in tokens and not {"만", "백만", "억"} & set(tokens), spelling


@examples(60)
@given(st.dates())
def test_a_date_has_the_same_tokens_in_every_spelling(day) -> None:
    y, m, d = day.year, day.month, day.day
    spellings = [f"{y:04}-{m:02}-{d:02}", f"{y:04}/{m}/{d}", f"{y:04}. {m}. {d}.", f"{y:04}.{m:02}.{d:02}", f"{y:04}년 {m}월 {d}일", f"{y:04}년{m}월{d}일"]
    assert {tuple(word_tokens(f"마감 {s}")) for s in spellings} == {("마감", f"{y:04}", f"{m}월", f"{m}월{d}일")}
    assert set(word_tokens(f"{m}월 {d}일")) <= set(word_tokens(spellings[0]))


@pytest.mark.parametrize(("one", "other"), [
    ("30퍼센트", "30%"), ("30 percent", "30%"), ("500㎏", "500 kg"), ("￦900", "₩900"), ("１５일", "15일"), ("ﬁnal", "final"), ("½", "1/2"),
    ("'31.9.2", "2031. 9. 2."), ("v2.4.1", "v2.4.1"), ("3천5백만 원", "35,000,000원"), ("1억 2,500만 원", "125000000원"), ("3만5,000원", "35000원")])
def test_two_spellings_have_the_same_words(one: str, other: str) -> None:
    assert word_tokens(one) == word_tokens(other)
    assert bigram_tokens(one) == bigram_tokens(other)


def test_a_floor_has_one_name() -> None:
    assert word_tokens("제4층") == word_tokens("4층")


@pytest.mark.parametrize(("one", "other"), [
    ("C++", "C"), ("C#", "C"), ("C++", "C#"), ("A+", "A"), ("R&D", "R"), ("-v", "-V"), ("--exclude", "--include"), ("v1.2.3", "v1.2.4"), ("125만 원", "128만 원"),
    ("3천 원", "3천만 원"), ("2031-05-07", "2031-07-05")])
def test_other_values_have_other_words(one: str, other: str) -> None:
    assert set(word_tokens(one)) != set(word_tokens(other))
    assert set(word_tokens(f"{one} 과정")) != set(word_tokens(f"{other} 과정"))


@pytest.mark.parametrize("text", ["제3조 2항", "13월 40일", "2031-13-40", "10만큼", "A+B", "# C", "a/b", "re-test", "- item", "E3.5", "1,2,3", "010-1234-5678"])
def test_what_is_no_value(text: str) -> None:
    assert values_in(search_form(text)) == []


def test_the_word_inside_an_option_is_still_found() -> None:
    assert {"--exclude", "exclud"} <= set(word_tokens("use --exclude here")) & set(word_tokens("`--exclude`는 파일을 뺀다"))
    assert {"/etc/hosts", "etc", "host"} <= set(word_tokens("read /etc/hosts."))
    assert {".net", "net"} <= set(word_tokens(".NET 8 설치"))


@examples(150, slow=2_000)
@given(documents)
def test_values_are_disjoint_and_the_same_composed_and_decomposed(text: str) -> None:
    form = search_form(text)
    values, at = values_in(form), 0
    for value in values:
        assert at <= value.start <= value.end <= len(form) and value.tokens and all(value.tokens)
        at = value.end
    assert values == values_in(search_form(unicodedata.normalize("NFD", text)))


@pytest.mark.parametrize(("text", "digits"), [("1.5억", "150000000"), ("3백만", "3000000"), ("0만", "0"), ("1조", "1000000000000"), ("12,500", "12500")])
def test_amounts(text: str, digits: str) -> None:
    assert amount(text) == digits
