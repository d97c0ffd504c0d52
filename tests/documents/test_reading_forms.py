"""A text is read as it looks, and every place of it is a place of the original."""
from __future__ import annotations

import unicodedata

import pytest

from ragnb.documents.forms import plain_text, reading_form
from ragnb.documents.span import Span

SEEN = "연차는 15일이다. Café 3층"
WAYS = {
    "apart": unicodedata.normalize("NFD", SEEN), "unseen": SEEN.replace(" ", "\u200b "), "soft": SEEN.replace("일", "일\u00ad"),
    "wide": SEEN.replace(" ", "\u3000"), "all": "\ufeff" + unicodedata.normalize("NFD", SEEN).replace(" ", "\u200b\xa0") + "\u200b", "same": SEEN}


@pytest.mark.parametrize("name", WAYS)
def test_a_text_is_read_as_it_looks_and_found_in_the_original(name):
    text = WAYS[name]
    form = reading_form(text)
    assert form.text == SEEN == plain_text(text)
    for word in SEEN.split():
        at = form.text.index(word)
        own = form.span(Span(at, at + len(word)))
        assert plain_text(own.of(text)) == word and form.place(own.start) == at == form.text.index(word)
    assert form.span(Span(0, len(SEEN))) == Span(0, len(text))      # what is not seen stays with the character beside it
    assert not form.span(Span(3, 3))


def test_only_unseen_characters_are_left_as_they_are():
    assert reading_form("\u200b\u200b").text == "\u200b\u200b"
