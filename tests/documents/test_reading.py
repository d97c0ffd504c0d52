"""Reading files and records: encodings, what is a file, what is wrong with a line."""
from __future__ import annotations

import contextlib
import json
import random
import re
import sys
import unicodedata

import pytest
from conftest import SAMPLE, write
from helpers_ingest import jsonl, read
from hypothesis import given, strategies as st
from strategies import documents, examples

from ragnb import InputError, ParentChildNodeParser, Pipeline, read_documents, update_index
from ragnb.documents.fields import LONGEST_HEADER, read_yaml_header
from ragnb.documents.files import find_files, record_to_document
from ragnb.documents.problems import n_skipped, Problem
from ragnb.machinery.halves import CP1252_NOTE, CP949_NOTE, decode_lines, decode_text


@pytest.mark.shed
def test_cp949_is_told_of_every_kind_of_text_and_an_older_format_of_its_heir(tmp_path):
    old = {f"a{kind}": "휴가 규정은 다음과 같다. 연차는 15일이다.".encode("cp949") for kind in (".md", ".txt", ".csv", ".html")}
    lines = "\n".join(json.dumps({"id": f"r{i}", "text": "연차 휴가는 열엿새이다."}, ensure_ascii=False) for i in range(3))
    old |= {"a.jsonl": lines.encode("cp949"), "torn.jsonl": lines.encode("cp949") + b"\n{\x80}", "new.md": "연차".encode()}
    write(tmp_path, old | {"note.doc": b"x", "b.xls": b"x", "c.xls": b"x", "d.zip": b"x"})
    problems = []
    list(read_documents(tmp_path, problems))
    told = [(p.where, p.what) for p in problems if p.n == 0]
    assert told == [(name, CP949_NOTE) for name in sorted(old) if name != "new.md"]
    kinds = {p.where: re.sub(r": 2 files, [^;]+", "", p.what) for p in problems if "kind of file" in p.what}
    assert kinds == {"note.doc": "a kind of file that is not read; saved as .docx it can be",
                     "*.xls": "a kind of file that is not read; saved as .xlsx it can be", "d.zip": "a kind of file that is not read"}


def test_what_is_a_file(tmp_path):
    outside = write(tmp_path / "outside", {"linked.md": "바깥", "tree/leaf.md": "잎"})
    root = write(tmp_path / "root", {
        "a.md": "가", "sub/B.TXT": "나", ".hidden.md": "x", ".git/c.md": "x", "sub/.ragnb/d.md": "x", "no.png": "x",
        "sub/no.PNG": "x", "noend": "x", "Makefile": "x", "e.markdown": "다", "folder.md/f.md": "라"})
    (root / "link.md").symlink_to(outside / "linked.md")
    (root / "broken.md").symlink_to(outside / "nothing.md")
    (root / "tree").symlink_to(outside / "tree")
    (root / "loop").symlink_to(root)
    (root / "inside.md").symlink_to(root / "a.md")
    told: list[Problem] = []
    names = [p.relative_to(root).as_posix() for p in find_files(root, told)]
    assert names == sorted(names) and set(names) == {"a.md", "sub/B.TXT", "e.markdown", "folder.md/f.md", "inside.md"}
    reasons = {p.where: p.what for p in told}
    assert set(reasons) == {"broken.md", "link.md", "loop", "tree", "files without a suffix", "*.png", ".git"}
    assert "link to nothing" in reasons["broken.md"] and "outside the folder" in reasons["link.md"]
    assert "link to a folder" in reasons["tree"] and "a kind of file that is not read: 2 files, no.png, sub/no.PNG" == reasons["*.png"]
    assert n_skipped(told) == 8
    documents, problems = read(root)
    assert documents["inside.md"] == "가" and "link.md" not in documents and problems == [str(p) for p in told]
    based = {d.id_: d.text for d in read_documents(root, [], base=tmp_path)}  # the link stays below the base
    assert based["root/link.md"] == "바깥"
    assert find_files(root / "a.md") == [root / "a.md"] and [d.id_ for d in read_documents(root / "sub/B.TXT", [])] == [
        "B.TXT"]


def test_record_keys():
    for record, want in [
        ({"text": "t", "doc_id": "d", "id": "i"}, ("d", "t")), ({"content": "c", "id": 7}, ("7", "c")),
        ({"text": "t", "_id": "u"}, ("u", "t")), ({"text": "t", "doc_id": None, "id": ""}, ("f:1", "t")),
        ({"text": None, "content": "c"}, ("f:1", "c")), ({"text": "t", "id": 0}, ("0", "t")),
    ]:
        document = record_to_document(record, "f:1", "f")
        assert (document.id_, document.text) == want and document.metadata == {"file_name": "f"}


def test_pages():
    pages = ["첫 장", "", "셋째 장"]
    only = record_to_document({"pages": pages}, "d", "f")
    both = record_to_document({"pages": pages, "text": only.text}, "d", "f")
    assert only.text == "첫 장\n\n\n\n셋째 장" and only.metadata["page_starts"] == both.metadata["page_starts"] == [0, 5, 7]
    assert [only.text[a:].startswith(p) for a, p in zip([0, 5, 7], pages)] == [True] * 3
    outline = ParentChildNodeParser().outline(only)
    assert [(n, s.start) for n, s in outline.pages] == [(1, 0), (2, 5), (3, 7)]
    other = record_to_document(
        {"pages": pages, "text": "다른 글"}, "d", "f"
    )  # the text is what counts; pages that do not make it up are left
    assert other.text == "다른 글" and "page_starts" not in other.metadata
    for bad in ([], "text", ["a", 1], [["a"]], ["", " "]):
        with pytest.raises(InputError):
            record_to_document({"pages": bad}, "d", "f")


def test_metadata_are_scalars_that_every_store_holds():
    keep = {"s": "x", "i": 2**63 - 1, "f": 0.5, "b": False, "": "odd", "$ref": "y", "list": [1, "x"]}
    drop = {"n": None, "dict": {"a": {}}, "long": "x" * 501, "huge": 2**63, "nan": float("nan"), "inf": float("inf")}
    assert record_to_document({"text": "t", **keep, **drop}, "d", "f").metadata == {**keep, "file_name": "f"}
    own = {"text": "t", "file_name": "theirs"}   # a record says which file it is from
    assert record_to_document(own, "d", "f").metadata == {"file_name": "theirs"}


def test_bad_lines_are_named_one_by_one(tmp_path):
    deep, digits = "[" * 100_000 + "]" * 100_000, "1" * 5000
    lines = ['{"id": "a", "text": "첫째"}', "", "{", '{"id": "b"}', '{"id": "c", "text": " "}', "[1]", '"text"',
             '{"id": [1], "text": "t"}', '{"id": "d", "text": 5}', '{"id": "e", "text": "\\ud800"}',
             '{"id": "\\udfff", "text": "t"}', deep, f'{{"id": "n", "text": "t", "n": {digits}}}',
             '{"id": "a", "text": "둘째"}', '{"id": "z", "text": "끝"}']
    write(tmp_path, {"x.jsonl": "\n".join(lines), "blank.md": " \n", "empty.txt": "",
                     "z.jsonl": jsonl({"id": "z", "text": "또"}), "z": "no"})
    documents, problems = read(tmp_path)
    where = [p.split(": ")[0] for p in problems]
    bad = (
        [3, 4, 5, 6, 7, 8, 9, 12, 13, 14] if hasattr(sys, "get_int_max_str_digits") else [3, 4, 5, 6, 7, 8, 9, 12, 14])
    assert where == ["z", "blank.md", "empty.txt", *(f"x.jsonl:{n}" for n in bad), "z.jsonl:1"]
    assert documents["a"] == "첫째" and documents["z"] == "끝" and {"a", "z", "e", "\ufffd"} <= set(documents) <= {"a", "z", "n", "e", "\ufffd"}
    assert documents["e"] == "\ufffd", "half a character is replaced"
    told = dict(zip(where, problems))
    assert ("not JSON" in told["x.jsonl:3"] and "needs 'text'" in told["x.jsonl:4"] and "is empty" in told["x.jsonl:5"]
            and "JSON object, got list" in told["x.jsonl:6"])
    assert ("id must be" in told["x.jsonl:8"] and "nested too deeply" in told["x.jsonl:12"]
            and "'a' was already used in x.jsonl:1" in told["x.jsonl:14"])
    assert "'z' was already used in x.jsonl:15" in told["z.jsonl:1"] and all("\n" not in p for p in problems)


def test_a_folder_without_a_file_that_is_read_says_what_is_there(tmp_path):
    write(tmp_path, {f"{n}.gif": "x" for n in range(9)} | {"a.zip": "x"})
    with pytest.raises(InputError, match=r"9 files, 0.gif, .* … \(\+4\); a.zip: a kind of file"):
        find_files(tmp_path)


def test_a_folder_that_cannot_be_opened_is_named(tmp_path, monkeypatch):
    import os

    write(tmp_path, {"a.md": "가", "shut/b.md": "나"})
    scan = os.scandir

    def refuse(path):
        if str(path).endswith("shut"):
            raise PermissionError(13, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", refuse)
    documents, problems = read(tmp_path)
    assert [*documents] == ["a.md"] and problems == ["shut: cannot be opened (Permission denied)"]


def test_front_matter_becomes_metadata(tmp_path):
    write(tmp_path, {
        "rule.md": "---\ntitle: 여비 규정\ndate: 2030-01-02\ndoc_type: rule\ntags: [출장, 일비]\nid: mine\npage_starts: [0, 3]\n---\n# 제1장\n본문",
        "dashes.md": "---\n\n휴가규정\n\n---\n둘째", "damaged.md": "---\ntitle: [여비\n---\n본문이다.",
        "plain.txt": "---\r\n제목: 취업규칙\r\n...\r\n제1조 목적", "only.md": "---\ntitle: x\n---\n"})
    problems: list[Problem] = []
    found = {d.id_: d for d in read_documents(tmp_path, problems)}
    rule = found["rule.md"]
    assert rule.text == "# 제1장\n본문" and "page_starts" not in rule.metadata
    wanted = {"title": "여비 규정", "date": "2030-01-02", "doc_type": "rule", "tags": ["출장", "일비"], "file_name": "rule.md"}
    assert rule.metadata == wanted and set(wanted) <= set(rule.excluded_embed_metadata_keys)
    assert (found["dashes.md"].text[:3], found["dashes.md"].metadata["title"]) == ("---", "휴가규정")
    assert found["damaged.md"].text.startswith("---\ntitle") and found["plain.txt"].text == "제1조 목적"
    assert found["plain.txt"].metadata["title"] == "취업규칙"
    assert [(p.where, p.n) for p in problems] == [("damaged.md", 0), ("only.md", 1)] and "stays text" in problems[0].what


def test_a_header_that_is_not_read_is_no_title(tmp_path):
    write(tmp_path, {"bad.md": "---\ndoc_type: [a\n---\n# Valves\n\nThe valve is blue.", "open.md": "---\ndoc_type: manual\n\n# Pumps\n\nBlue.",
                     "none.md": "---\ndoc_type: [a\n---\nThe valve is blue.", "rule.md": "---\r\ndoc_type: [a\r\n---\r\n## Doors\r\n"})
    titles = {d.id_: d.metadata["title"] for d in read_documents(tmp_path, [])}
    assert titles == {"bad.md": "Valves", "open.md": "Pumps", "none.md": "none", "rule.md": "Doors"}


def test_one_bad_byte_costs_a_line_of_jsonl_and_names_its_place_elsewhere(tmp_path):
    lines = [jsonl({"id": f"r{n}", "text": f"{n}번째 휴가 규정"}).strip().encode() for n in range(4)]
    lines[1] = lines[1].replace("휴".encode(), b"\xed\x9c")
    old = [line.decode(errors="replace").replace("\ufffd", "?").replace("r", "c").encode("cp949") for line in lines]
    old[2] = old[2][:-2] + b'\xff"}'
    write(tmp_path, {"new.jsonl": b"\n".join(lines), "old.jsonl": b"\n".join(old), "text.md": "첫째\n둘째 줄".encode() + b"\xec\n"})
    documents, problems = read(tmp_path)
    assert set(documents) >= {"r0", "r2", "r3", "c0", "c3"} and not {"r1", "c2", "text.md"} & set(documents)
    told = dict(p.split(": ", 1) for p in problems)
    assert "damaged UTF-8: byte 0xed, number" in told["new.jsonl:2"] and "damaged CP949: byte" in told["old.jsonl:3"]
    assert told["text.md"] == "is damaged UTF-8: byte 0xec at offset 17, line 2" and len(problems) == 4


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
        fooled += any("가" <= c <= "힣" for c in text)   # one strange byte in ASCII can be Windows-1252
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


SYLLABLES = [bytes((a, b)).decode("cp949") for a in range(0xB0, 0xC9) for b in range(0xA1, 0xFF)]
KOREAN_AND_ASCII = st.lists(st.text(st.sampled_from(SYLLABLES), min_size=1, max_size=4) | st.sampled_from("·“”「」→①")
                            | st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=30), min_size=1).map("".join)
WESTERN = ("Café Müller’s “good” supplier – the façade naïve garçon élève œuvre größe Straße señor €6.20 £100 5°C m² Acme® "
           "«été» Ünal créée L’École the price of all parts").split()


def encoding_note(data: bytes) -> str:
    """The note of a text that is read; '' for UTF-8 and for what is refused."""
    notes: list[str] = []
    with contextlib.suppress(InputError):
        decode_text(data, "x.txt", notes)
    return "".join(notes)


@given(st.lists(st.sampled_from(WESTERN), min_size=1))
def test_western_text_of_windows_1252_is_read(words):
    text = "To the café managers of all depots: " + " ".join(words) + ", 3 – 5 May."
    assert encoding_note(text.encode("cp1252")) == CP1252_NOTE and decode_text(text.encode("cp1252"), "x.txt") == text
    assert decode_lines(text.encode("cp1252") + b"\n\x81", "x")[0] == (text, "")


@given(KOREAN_AND_ASCII)
def test_no_korean_in_cp949_is_read_as_windows_1252(text):
    assert encoding_note(text.encode("cp949")) != CP1252_NOTE


@given(KOREAN_AND_ASCII.filter(lambda text: sum("가" <= c <= "힣" for c in text) > 1), st.data())
def test_no_damaged_korean_in_utf8_is_read_as_windows_1252(text, data):
    raw = bytearray(text.encode())
    at = data.draw(st.sampled_from([i for i, byte in enumerate(raw) if byte > 127]))
    raw[at:at + 1] = data.draw(st.binary(max_size=2).filter(lambda new: all(byte > 127 for byte in new)))
    assert encoding_note(bytes(raw)) != CP1252_NOTE


@pytest.mark.shed
def test_a_file_in_windows_1252_is_read_with_a_note_and_another_names_the_way_out(tmp_path):
    write(tmp_path, {"a.txt": b"Caf\xe9 M\xfcller \x96 catering", "b.txt": b"The supplier\x92s price list",
                     "c.csv": b"part,maker\nL-4,M\xfcller\n", "d.jsonl": b'{"id": "r1", "text": "the Caf\xe9 list"}', "e.txt": b"a\x80\x81"})
    documents, problems = read(tmp_path)
    assert documents["a.txt"] == "Café Müller – catering" and documents["b.txt"] == "The supplier’s price list"
    assert "Müller" in documents["c.csv"] and documents["r1"] == "the Café list"
    assert sorted(problems) == [*(f"{name}: {CP1252_NOTE}" for name in ("a.txt", "b.txt", "c.csv", "d.jsonl")),
                                "e.txt: is neither UTF-8 nor CP949 text: byte 0x80 at offset 1, line 1; save it as UTF-8"]


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


@pytest.mark.parametrize("name", ["rule.md", "rule.jsonl", *(pytest.param(name, marks=pytest.mark.shed) for name in ("rule.html", "rule.csv"))])
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


@pytest.mark.parametrize(("text", "metadata", "rest"), [
    ("---\ntitle: 휴가\n---\n본문", {"title": "휴가"}, "본문"), ("---\r\na: 1\r\n...\r\n본문", {"a": 1}, "본문"),
    ("---\n---\n본문", {}, "본문"),
    ("---\na: 2030-01-02\nb: no\nc: 12:30\nd: 0o7\ne: 1e5\nf: .5\n---", {"a": "2030-01-02", "b": "no", "c": "12:30", "d": "0o7", "e": "1e5", "f": ".5"}, ""),
    ("---\na: [x, 1, true]\nb: {c: 1}\nd: [[1]]\ne:\n7: n\n---\n", {"a": ["x", 1, True], "7": "n"}, ""),
    ("---\ntitle: 'a: b'\nlong: >\n  하나\n  둘\n---\n", {"title": "a: b", "long": "하나 둘\n"}, "")])
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


FILES = {"rule.md": "연차는 15일이다.", "old/rule2.md": "연차는 12일이었다.", "line.log": "E-21 과부하", "q.sql": "select 1", "a.yaml": "---\nport: 80\n",
         "run.py": "print(1)", "photo.png": "x"}


@pytest.mark.parametrize(("include", "exclude", "ignore", "wanted"), [
    ((), (), "", {"rule.md", "old/rule2.md"}),
    (("*.log", "*.sql"), (), "", {"rule.md", "old/rule2.md", "line.log", "q.sql"}), ((), ("old/",), "", {"rule.md"}),
    ((), ("**/rule2.md",), "", {"rule.md"}),
    ((), (), "# not these\nold\n!*.yaml\n!*.py\n", {"rule.md", "a.yaml", "run.py"}),
    (("old/rule2.md",), (), "old/*\n", {"rule.md", "old/rule2.md"}),   # the last pattern that matches decides
])
def test_patterns_of_the_command_line_and_of_the_folder(tmp_path, include, exclude, ignore, wanted):
    write(tmp_path, FILES)
    if ignore:
        (tmp_path / ".ragnbignore").write_text(ignore, encoding="utf-8")
    assert {f.relative_to(tmp_path).as_posix() for f in find_files(tmp_path, [], include=include, exclude=exclude)} == wanted


def test_code_and_configuration_are_read_as_they_are(tmp_path):
    write(tmp_path, FILES)
    read = {d.id_: d for d in read_documents(tmp_path, [], include=["*.yaml", "*.py", "*.log"])}
    assert read["a.yaml"].text == "---\nport: 80\n" and read["a.yaml"].metadata["title"] == "a.yaml"   # no front matter
    assert read["line.log"].text == "E-21 과부하"


def test_what_is_skipped_names_the_way_out_and_what_was_asked_for_does_not_count(tmp_path):
    write(tmp_path, FILES | {".git/a.md": "x"})
    told: list[Problem] = []
    find_files(tmp_path, told, exclude=["old/"])
    lines = {str(p): p.n for p in told}
    assert lines["line.log: a kind of file that is not read; --include '*.log' reads it as text"] == 1
    assert lines[".git: hidden folders are not read"] == 0 and lines["old/: left out by .ragnbignore or --exclude"] == 0


def test_one_file_of_another_kind_is_read_by_asking(tmp_path):
    file = write(tmp_path, FILES) / "line.log"
    with pytest.raises(InputError, match="--include PATTERN"):
        find_files(file)
    assert [d.text for d in read_documents(file, [], include=["*.log"])] == ["E-21 과부하"]


def test_copies_and_links_are_read_once_and_found_in_each_folder(tmp_path):
    corpus = write(tmp_path / "corpus", {"백업/a.md": "소액구매는 80만 원 이하이다.", "규정/a.md": "소액구매는 80만 원 이하이다.",
                                         "규정/b.md": "긴급구매는 48시간 안에 낸다.", "빈 글.txt": "", "빈 글2.txt": ""})
    (corpus / "영업").mkdir()
    (corpus / "영업" / "link.md").symlink_to(corpus / "규정" / "a.md")
    index, report = update_index(corpus, tmp_path / "index", show_progress=False)
    assert index.doc_ids == ["규정/a.md", "규정/b.md"]
    assert {str(p) for p in report.problems if not p.n} == {f"{name}: the same file as 규정/a.md, read once" for name in ("백업/a.md", "영업/link.md")}
    for folder in ("규정", "백업", "영업"):
        found = Pipeline.from_index(index, where=f"folder={folder}").ask("소액구매는 얼마?").passages
        assert found and found[0].doc_id == "규정/a.md" and found[0].metadata["copies"] == ["백업/a.md", "영업/link.md"]
    (corpus / "규정" / "a.md").unlink()
    (corpus / "영업" / "link.md").unlink()
    assert update_index(corpus, tmp_path / "index", show_progress=False)[0].doc_ids == ["규정/b.md", "백업/a.md"]


def test_everything_is_read_where_a_program_asks_for_everything(tmp_path):
    write(tmp_path, {"a.md": "같은 글", "b.md": "같은 글"})
    assert [d.id_ for d in read_documents(tmp_path, [])] == ["a.md", "b.md"]


def test_a_bad_pattern_is_named(tmp_path):
    write(tmp_path, FILES)
    with pytest.raises(InputError, match="pattern"):
        find_files(tmp_path, exclude=["a[z-a"]) and find_files(tmp_path, exclude=["!"])
