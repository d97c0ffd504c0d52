"""CP949 or damaged UTF-8: no damaged file is read as wrong Korean, no sound one is refused."""
from __future__ import annotations

import random
import unicodedata

import pytest
from conftest import SAMPLE

from ragnb.documents.files import read_documents
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
    (b"\xff\xfe\x00\xd8", "NUL bytes"), (b"\xff\xfea", "is not a text file in UTF-16"), (b"a\0b", "NUL bytes, the first at offset 1"),
    (b"abc\xff\xff", "byte 0xff at offset 3, line 1"), (b"\xef\xbb\xbf" + "첫째\n둘".encode() + b"\xec", "byte 0xec at offset 13, line 2"),
])
def test_the_reason_names_the_place(data: bytes, told: str):
    with pytest.raises(InputError, match=f"x.md .*{told}"):
        decode_text(data, "x.md")


@pytest.mark.parametrize("text", ["大韓民國 憲法", "こんにちは", "Привет, мир", "가", "第一條\r\n目的"])
def test_a_byte_order_mark_is_believed_in_every_script(text: str):
    for mark, encoding in ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
        assert decode_text(mark + text.encode(encoding), "x.txt") == text
    with pytest.raises(InputError, match="not a text file"):
        decode_text(b"\xff\xfe" + (text + "\0").encode("utf-16-le"), "x.txt")


def test_no_picture_or_archive_is_read_as_utf16():
    rng = random.Random(3)
    for n in range(400):
        data = bytes(rng.choice((0, 0, rng.randrange(256))) for _ in range(rng.randrange(20, 400)))
        with pytest.raises(InputError):
            decode_text(data, "x.md")


def test_a_file_of_lines_in_utf16_is_read():
    text = '{"id": "a", "text": "첫째"}\n{"id": "b", "text": "둘째"}'
    assert decode_lines(text.encode("utf-16"), "x") == [(line, "") for line in text.split("\n")]


@pytest.mark.parametrize("name", ["rule.md", "rule.html", "rule.csv", "rule.jsonl"])
def test_letters_are_composed_in_every_kind_of_file(tmp_path, name: str):
    """The text, the title and the name; page starts count the composed text."""
    body = {"rule.md": "# 구매규정\n\n제3조", "rule.html": "<h1>구매규정</h1><p>제3조</p>", "rule.csv": "구매규정,제3조\n1,2",
            "rule.jsonl": '{"id": "규정", "title": "구매규정", "pages": ["구매규정", "제3조"]}'}[name]
    (tmp_path / unicodedata.normalize("NFD", f"규정-{name}")).write_text(unicodedata.normalize("NFD", body), encoding="utf-8")
    document, = read_documents(tmp_path, [])
    for told in (document.text, document.id_, str(document.metadata)):
        assert unicodedata.is_normalized("NFC", told)
    assert "구매규정" in document.text
    if name == "rule.jsonl":
        assert [document.text[at:][:2] for at in document.metadata["page_starts"]] == ["구매", "제3"]
