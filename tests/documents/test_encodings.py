"""CP949 or damaged UTF-8: no damaged file is read as wrong Korean, no sound one is refused."""
from __future__ import annotations

import random

import pytest
from conftest import SAMPLE

from ragnb.documents.halves import decode_lines, decode_text
from ragnb.documents.span import InputError

TEXTS = [p.read_text(encoding="utf-8") for p in sorted((SAMPLE / "corpus").rglob("*.md"))]
LINES = [line for text in TEXTS for line in text.split("\n") if len(line) > 20]


def damaged(rng: random.Random, text: str) -> bytes:
    """The text with one to three bytes changed, lost or added."""
    data = bytearray(text.encode())
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(data))
        way = rng.randrange(3)
        if way == 0:
            data[at] = rng.randrange(128, 256)
        elif way == 1:
            del data[at]
        else:
            data.insert(at, rng.randrange(128, 256))
    return bytes(data)


def test_no_damaged_utf8_is_read_as_wrong_korean():
    rng, tried, fooled = random.Random(7), 0, 0
    for n in range(2_000):
        text = rng.choice(LINES) if n % 2 else rng.choice(TEXTS)[:1_000]
        data = damaged(rng, text)
        try:
            data.decode()
            continue
        except UnicodeDecodeError as error:
            tried, bad = tried + 1, error.start
        try:
            decode_text(data, "x.md")
        except InputError as error:
            assert f"at offset {bad}, line" in str(error) or "neither" in str(error)
            continue
        try:
            data.decode("cp949")
            fooled += 1
        except UnicodeDecodeError:
            raise AssertionError("read in no encoding") from None
    assert tried > 1_500 and fooled == 0


def test_every_sound_cp949_text_is_read():
    read = 0
    for text in [*TEXTS, *LINES, "휴가 규정 똠방각하", "### 8.2 동호회", "大韓民國 憲法 제1조", "첫째\r\n\n둘째", "API를 call하다", "값은 3.5㎏이다 ①②"]:
        data = text.encode("cp949", errors="ignore")
        wanted = data.decode("cp949")
        try:
            data.decode()  # also valid UTF-8: nothing can tell
        except UnicodeDecodeError:
            assert decode_text(data, "x.md") == wanted
            read += 1
    assert read > 300


@pytest.mark.parametrize(("data", "told"), [
    ("한글".encode("utf-16"), "is UTF-16"), (b"a\0b", "NUL bytes, the first at offset 1"),
    (b"abc\xff\xff", "byte 0xff at offset 3, line 1"), (b"\xef\xbb\xbf" + "첫째\n둘".encode() + b"\xec", "byte 0xec at offset 13, line 2"),
])
def test_the_reason_names_the_place(data: bytes, told: str):
    with pytest.raises(InputError, match=f"x.md .*{told}"):
        decode_text(data, "x.md")


def test_lines_of_a_sound_file_are_those_of_its_text():
    text = "첫째\r\n\n둘째"
    for data in (text.encode(), b"\xef\xbb\xbf" + text.encode(), text.encode("cp949")):
        assert decode_lines(data, "x") == [("첫째\r", ""), ("", ""), ("둘째", "")]
