"""Text on a page: nothing acts, cards stay small, and what is cut is said."""
from __future__ import annotations

import html
from html.parser import HTMLParser

import pytest
from hypothesis import given, strategies as st
from jinja2 import UndefinedError

from ragnb.machinery.markup import card, esc, render, short, visible

ALLOWED = {"div", "b", "span", "table", "tr", "td", "th", "i"}


class Elements(HTMLParser):
    """Names of elements and attributes of a piece of HTML, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names, self.attributes, self.text = set(), set(), ""
        self.feed(text)

    def handle_starttag(self, name, attributes):
        self.names.add(name)
        self.attributes |= {key for key, _ in attributes}

    def handle_data(self, data):
        self.text += data


@given(st.text(max_size=200))
def test_a_text_comes_back_whole_and_brings_no_element(text):
    seen = Elements(esc(text, 300))
    assert seen.names == set()
    assert seen.text == html.unescape(visible(text).replace("&", "&amp;"))


@given(st.text(max_size=400), st.lists(st.tuples(st.text(max_size=400), st.text(max_size=30)), max_size=20))
def test_a_card_has_only_its_own_elements(text, rows):
    shown = card(text, [text], rows, ["a", "b"], text)
    seen = Elements(shown)
    assert seen.names <= ALLOWED and seen.attributes <= {"class", "style"}
    assert "\n" not in shown and "$" not in shown


def test_a_card_is_small_whatever_it_shows():
    shown = card("x" * 10**6, ["y" * 10**6] * 3, [["z" * 10**5] * 3] * 500, text="<b>" * 10**6)
    assert len(shown) < 30_000 and "488 more" in shown


@given(st.text(max_size=80))
def test_a_template_escapes_what_it_is_given(text):
    shown = render("evaluation/explore.html", question=text, sides=[(text, text, "", "")])
    seen = Elements(shown)
    assert seen.names == {"div", "p", "b"} and seen.attributes == {"style"} and "\n" not in shown and "$" not in shown


def test_a_value_that_is_missing_is_an_error():
    with pytest.raises(UndefinedError):
        render("evaluation/explore.html", question="?")


@given(st.text(max_size=300), st.integers(2, 80))
def test_short_is_one_line_of_the_length_asked_for(text, most):
    line = short(text, most)
    assert len(line) <= most and "\n" not in line


def test_short_leaves_a_text_that_fits_as_it_is():
    assert short("가" * 60) == "가" * 60 and short("가" * 61) == "가" * 59 + "…"
