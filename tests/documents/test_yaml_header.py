"""Front matter: what is a header, what stays text, and that looking for it is one pass."""
from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import documents, examples

from ragnb.documents.files import LONGEST_HEADER, read_yaml_header
from ragnb.documents.span import InputError


@pytest.mark.parametrize(("text", "metadata", "rest"), [
    ("---\ntitle: 휴가\n---\n본문", {"title": "휴가"}, "본문"), ("---\r\na: 1\r\n...\r\n본문", {"a": 1}, "본문"),
    ("---\n---\n본문", {}, "본문"),
    ("---\na: 2030-01-02\nb: no\nc: 12:30\nd: 0o7\ne: 1e5\nf: .5\n---", {"a": "2030-01-02", "b": "no", "c": "12:30", "d": "0o7", "e": "1e5", "f": ".5"}, ""),
    ("---\na: [x, 1, true]\nb: {c: 1}\nd: [[1]]\ne:\n7: n\n---\n", {"a": ["x", 1, True], "7": "n"}, ""),
    ("---\ntitle: 'a: b'\nlong: >\n  하나\n  둘\n---\n", {"title": "a: b", "long": "하나 둘\n"}, ""),
])
def test_headers(text, metadata, rest):
    found, end = read_yaml_header(text)
    assert (found, text[end:]) == (metadata, rest)


@pytest.mark.parametrize("text", ["", "---", "---\n", "본문\n---\na: 1\n---\n", " ---\na: 1\n---\n", "---\n문장이다.\n---\n", "----\na: 1\n----\n", "---\na: 1\n--- \tx\n"])
def test_what_is_no_header_stays_text_without_a_remark(text):
    assert read_yaml_header(text) == ({}, 0)


@pytest.mark.parametrize("lines", ["a: [1", "a: b: c", "\ta: 1", "a: &x [1]\nb: *x", "a: " + "[" * 3_000, "a: \x01", "? [a]\n: 1", "a: !!python/object:os.system x"])
def test_a_damaged_header_stays_text_and_says_why(lines):
    with pytest.raises(InputError, match="stays text: [^\n]*$"):
        read_yaml_header(f"---\n{lines}\n---\n본문")


@examples(60)
@given(documents, st.sampled_from(["", "---\n", "---\na: "]), st.sampled_from(["", "\n---\n", "\n...\n본문"]))
def test_any_text_has_a_header_or_none(text, before, after):
    with contextlib.suppress(InputError):
        found, end = read_yaml_header(before + text + after)
        assert 0 <= end <= len(before + text + after) and (not found or end)


def test_the_yaml_parser_is_not_asked_about_long_texts(monkeypatch):
    import yaml

    asked = []
    monkeypatch.setattr(yaml, "load", lambda lines, loader: asked.append(len(lines)))
    for n in (2_000, 200_000):
        for text in ("---\n" + "\n" * n, "---\n" * n, "---\n" + "a: 1\n" * n + "---\n"):
            read_yaml_header(text)
    assert sum(asked) <= 2 * LONGEST_HEADER
