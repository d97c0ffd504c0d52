"""Sentences, words and token counts on random and awkward text."""
from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import SENTENCES, cluster_length, documents, examples, huge, joins_previous

from ragnb.documents.span import InputError, Span
from ragnb.documents.text import (
    bigram_tokens, block_spans, count_tokens, is_korean, sentence_spans, tokenizer, trim_span, word_tokens, word_tokens_batch)

METHODS = ("auto", "kiwi", "rule")


def assert_spans_of(text: str, found: list[Span]) -> None:
    """Disjoint, in order, trimmed, and nothing but white space outside."""
    at = 0
    for span in found:
        assert span.start >= at and len(span) > 0
        assert not text[at:span.start].strip()
        assert span.of(text) == span.of(text).strip()
        at = span.end
    assert not text[at:].strip()


def assert_no_torn_character(text: str, found: list[Span], size: int) -> None:
    """No span begins or ends inside a visible character of at most `size` code points."""
    for at in {i for s in found for i in (s.start, s.end)}:
        assert not joins_previous(text, at) or cluster_length(text, at) > size


@examples(150, slow=3_000)
@given(st.integers(0, 9).flatmap(lambda n: documents if n else huge), st.sampled_from(METHODS))
def test_sentences_lose_nothing(text: str, method: str) -> None:
    found = sentence_spans(text, method)
    assert_spans_of(text, found)
    assert_no_torn_character(text, found, 4_000)
    assert found == sentence_spans(text, method) and max(map(len, found), default=0) <= 4_000


@examples(150, slow=3_000)
@given(documents, st.integers(1, 30))
def test_blocks_lose_nothing_and_keep_their_size(text: str, longest: int) -> None:
    found = block_spans(text, longest)
    assert_spans_of(text, found)
    assert_no_torn_character(text, found, longest)
    assert all(len(s) <= longest for s in found)


@examples(100)
@given(documents, st.data())
def test_trim_span_is_strip(text: str, data: st.DataObject) -> None:
    a, b = sorted((data.draw(st.integers(0, len(text))), data.draw(st.integers(0, len(text)))))
    span = trim_span(text, a, b)
    assert a <= span.start <= span.end <= b
    assert span.of(text) == text[a:b].strip()


@examples(100)
@given(st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=3), st.integers(2, 6))
def test_repeated_sentences_are_found_again_at_their_own_place(unit: list[str], times: int) -> None:
    """Paragraphs with equal texts are cut equally, each at its own offsets."""
    paragraph = " ".join(unit)
    text = "\n\n".join([paragraph] * times)
    found, step = sentence_spans(text, "rule"), len(paragraph) + 2
    once = sentence_spans(paragraph, "rule")
    moved = [(s.start + i * step, s.end + i * step) for i in range(times) for s in once]
    assert [(s.start, s.end) for s in found] == moved


@pytest.mark.parametrize(("text", "sentences"), [
    ("Dr. Kim et al. measured 3.5 mm (see Fig. 2). It worked.",
     ["Dr. Kim et al. measured 3.5 mm (see Fig. 2).", "It worked."]),
    ("The U.S. team left. We stayed.", ["The U.S. team left.", "We stayed."]),
    ('"Why?" asked J. Lee. "No!" He left.', ['"Why?" asked J. Lee.', '"No!"', "He left."]),
    ("No end mark", ["No end mark"]),
    ("He said no... and left. Why?! Because.", ["He said no... and left.", "Why?!", "Because."]),
    ("Amended 2018. 3. 20. today. Done.", ["Amended 2018. 3. 20. today.", "Done."]),
    ("(개정 2018. 3. 20.) 시행한다. 끝.", ["(개정 2018. 3. 20.) 시행한다.", "끝."]),
    ("1. First item. 2. Second item.", ["1. First item.", "2. Second item."]),
    ("a.b@c.de costs 3.50 at www.x.org. Yes.", ["a.b@c.de costs 3.50 at www.x.org.", "Yes."]),
    ("첫째다。 둘째다！ 셋째다？", ["첫째다。", "둘째다！", "셋째다？"]), ("One.\r\n\r\nTwo.\r\nThree.", ["One.", "Two.", "Three."]),
    ("제1조(목적) 이 법은\n제2조(정의) 다음과 같다", ["제1조(목적) 이 법은", "제2조(정의) 다음과 같다"]),
    ("머리말\n① 첫째\n② 둘째\n가. 본인\n- 항목", ["머리말", "① 첫째", "② 둘째", "가. 본인", "- 항목"]), ("한 줄로\n이어진 글이다", ["한 줄로\n이어진 글이다"])])
def test_rule_cases(text: str, sentences: list[str]) -> None:
    assert [s.of(text) for s in sentence_spans(text, "rule")] == sentences


@pytest.mark.parametrize(("text", "sentences"), [
    ("연차는 15일입니다. 2년차부터는 16일입니다.", ["연차는 15일입니다.", "2년차부터는 16일입니다."]),
    ("제3조(정의) 이 규정은 〈개정 2018. 3. 20.〉 다음과 같다.", ["제3조(정의) 이 규정은 〈개정 2018. 3. 20.〉 다음과 같다."]),
    ("😀 연차는 15일이다. 👨\u200d👩\u200d👧 반차는 4시간이다.", ["😀 연차는 15일이다.", "👨\u200d👩\u200d👧 반차는 4시간이다."]),
    ("연차는 15일이다.\u200d반차는 4시간이다.", ["연차는 15일이다.\u200d반차는 4시간이다."]),  # joined by a joiner
    ("ᄒᄒᄒ a.b@c.de.\u1161", ["ᄒᄒᄒ a.b@c.de.\u1161"]), ("연차는 15일이다.\x00 반차는 4시간이다.", ["연차는 15일이다.\x00", "반차는 4시간이다."])])
def test_korean_cases(text: str, sentences: list[str]) -> None:
    assert [s.of(text) for s in sentence_spans(text)] == sentences


@pytest.mark.parametrize("text", ["", " ", "\n\n", "\u3000\u00a0\t\r\n\f\u2028\x85\x1c"])
@pytest.mark.parametrize("method", METHODS)
def test_nothing_gives_nothing(text: str, method: str) -> None:
    assert sentence_spans(text, method) == [] == block_spans(text) == word_tokens(text)


def test_auto_takes_the_analyser_only_for_korean() -> None:
    korean, english = "연차는 15일이다 반차는 4시간이다. 끝.", "Leave is 15 days. Half a day is 4 hours."
    assert is_korean(korean) and not is_korean(english)
    assert is_korean(unicodedata.normalize("NFD", korean)) and not is_korean("") and not is_korean("123 ...")
    assert sentence_spans(korean) == sentence_spans(korean, "kiwi")
    assert sentence_spans(english) == sentence_spans(english, "rule")


@examples(150, slow=2_000)
@given(documents)
def test_words_are_the_same_composed_and_decomposed(text: str) -> None:
    tokens = word_tokens(unicodedata.normalize("NFC", text))
    assert word_tokens(unicodedata.normalize("NFD", text)) == tokens
    assert all(t and t == t.strip() for t in tokens)


@examples(60)
@given(st.lists(documents, max_size=5), st.integers(1, 4))
def test_a_batch_gives_what_each_text_gives(texts: list[str], batch_size: int) -> None:
    assert list(word_tokens_batch(iter(texts), batch_size)) == [word_tokens(t) for t in texts]


@pytest.mark.parametrize(("text", "tokens"), [
    ("제43조의2에 따라", {"제43조의2"}), ("제 43 조의 2에 따라", {"제43조의2"}), ("제5조와 제50조", {"제5조", "제50조"}),
    ("법을 조에서 항이", {"법", "조", "항"}), ("① 사용자는", {"①", "사용자"}), ("제1항제2호 및 ⑳", {"⑳"}), ("① ② only", {"①", "②"}),
    ("Running engineers' GPU 3개", {"run", "engin", "gpu", "3"}), ("연차는\x00휴가를", {"연차", "휴가"}), ("勤労와 근로", {"근로"})])
def test_words_that_must_be_kept(text: str, tokens: set[str]) -> None:
    assert tokens <= set(word_tokens(text))


def test_article_numbers_are_not_mixed_up() -> None:
    assert not {"제43조", "제43조의2"} & set(word_tokens("제4조의32"))
    assert "제56조의2" not in word_tokens("제56조") and "제56조" not in word_tokens("제56조의2")
    assert all(word_tokens(form) == ["연차"] for form in ("연차는", "연차가", "연차를", "연차에"))


@examples(150, slow=2_000)
@given(documents)
def test_bigrams_are_pairs_of_neighbors(text: str) -> None:
    tokens = bigram_tokens(unicodedata.normalize("NFC", text))
    assert bigram_tokens(unicodedata.normalize("NFD", text)) == tokens
    assert all(t and not any(c.isspace() for c in t) for t in tokens)
    assert all(len(t) <= 2 or t.startswith("제") for t in tokens if all("가" <= c <= "힣" for c in t))


@pytest.mark.parametrize(("text", "tokens"), [
    ("연차휴가는", ["연차", "차휴", "휴가", "가는"]), ("연차 휴가", ["연차", "휴가"]), ("법을 법 항", ["법을", "법", "항"]),
    ("제43조의2 ①", ["제", "43", "조의", "2", "①", "제43조의2"]),
    ("GN-300과 Engineers' GPU3개", ["gn", "300", "과", "engineers", "gpu3", "개"]), ("勤労와", ["勤労", "와"])])
def test_bigram_cases(text: str, tokens: list[str]) -> None:
    assert bigram_tokens(text) == tokens


def longest_prefix(text: str, budget: int, name: str) -> str:
    """By trying every prefix."""
    return max((text[:i] for i in range(len(text) + 1) if count_tokens(text[:i], name) <= budget), key=len)


@pytest.mark.parametrize("name", ["characters", "words", "cl100k_base"])
@examples(100, slow=1_000)
@given(text=documents.map(lambda t: t[:300]), budget=st.integers(0, 40))
def test_prefix_is_the_longest_within_the_budget(name: str, text: str, budget: int) -> None:
    found = tokenizer(name).prefix(text, budget)
    assert text.startswith(found)
    assert count_tokens(found, name) <= budget
    assert len(found) == len(longest_prefix(text, budget, name))


@pytest.mark.parametrize("name", ["characters", "words", "cl100k_base"])
def test_prefix_does_not_stop_where_the_count_falls(name: str) -> None:
    """'…establis' costs more tokens than the whole word, so the count of a prefix is not monotone."""
    text = "indivisible antidisestablishmentarianism 안녕하세요 internationalization"
    for budget in range(25):
        assert tokenizer(name).prefix(text, budget) == longest_prefix(text, budget, name)


@pytest.mark.parametrize("name", ["characters", "words", "kiwi", "cl100k_base"])
def test_prefix_of_an_endless_line_stays_within_the_budget(name: str) -> None:
    text = "제출된서류는반환하지아니한다" * 100
    for budget in (0, 1, 100):
        assert count_tokens(tokenizer(name).prefix(text, budget), name) <= budget
    assert tokenizer(name).prefix(text, 10**6) == text
    assert count_tokens("", name) == 0


@pytest.mark.parametrize(("call", "message"), [
    (lambda: sentence_spans("a", "punkt"), "method must be .* got 'punkt'"),
    (lambda: block_spans("a", 0), "longest must be >= 1, got 0"),
    (lambda: list(word_tokens_batch(["a"], 0)), "batch_size must be >= 1, got 0"),
    (lambda: tokenizer("characters").prefix("a", -1), "budget must be >= 0, got -1"),
    (lambda: tokenizer("cl100k_base").prefix("a", -1), "budget must be >= 0, got -1"),
    (lambda: tokenizer("bert"), "unknown tokenizer 'bert'"), (lambda: count_tokens("a", ""), "unknown tokenizer ''"),
    (lambda: tokenizer("no/such/tokenizer.json"), "no/such/tokenizer.json")])
def test_bad_arguments_are_named(call, message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()
