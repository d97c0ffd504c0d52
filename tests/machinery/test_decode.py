"""A file with a damaged line: that line is named, and the others are read."""
from __future__ import annotations

import pytest

from ragnb.documents.span import InputError
from ragnb.machinery.halves import decode_lines


def test_one_damaged_line_leaves_the_others_readable():
    whole = "연차는 15일이다.\n".encode()
    lines = decode_lines(3 * whole + b"\xb0\xa1\xb3\n" + whole, "a.jsonl")
    assert [text for text, _ in lines] == ["연차는 15일이다."] * 3 + ["", "연차는 15일이다.", ""]
    assert [bool(why) for _, why in lines] == [False, False, False, True, False, False] and "number 1 of the line" in lines[3][1]


def test_a_file_of_two_byte_characters_with_half_a_character_is_refused():
    with pytest.raises(InputError):
        decode_lines(b"\xff\xfe" + "연차는 15일이다.\n".encode("utf-16-le")[:-1], "a.jsonl")
