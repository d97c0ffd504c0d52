"""What Word, Excel, Hangul and web pages show and do not store as text: numbers, notes, spans, hidden parts; and what is told of it."""
from __future__ import annotations

import re
import struct
import zipfile
from pathlib import Path

import pytest
from helpers_ingest import write
from test_file_readers import make_docx, make_hwp, make_hwpx, make_xlsx, ole

from ragnb import InputError, read_documents
from ragnb.documents.readers import read_by_ending
from ragnb.files.csv import read_csv
from ragnb.files.numerals import Level, Numbering, numeral
from ragnb.files.formats import is_date_format, shown_date, shown_number
from ragnb.files.xlsx import read_xlsx
from ragnb.machinery import registry

WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def with_body(path: Path, body: str, old: str = "<w:body>", **parts: str) -> str:
    """The text of a Word file with elements at the head of its body, and with further parts."""
    make_docx(path)
    with zipfile.ZipFile(path) as archive:
        kept = {p.filename: archive.read(p) for p in archive.infolist()}
    kept["word/document.xml"] = kept["word/document.xml"].decode().replace(old, old + body, 1).encode()
    links = "".join(f'<Relationship Id="x{kind}" Type="http://x/{kind}" Target="{kind}.xml"/>' for kind in parts)
    rels = "word/_rels/document.xml.rels"
    kept[rels] = kept[rels].replace(b"</Relationships>", f"{links}</Relationships>".encode())
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in (kept | {f"word/{kind}.xml": text.encode() for kind, text in parts.items()}).items():
            archive.writestr(name, data)
    return read_by_ending(path)["text"]


def run(text: str) -> str:
    return f"<w:r><w:t>{text}</w:t></w:r>"


def test_a_footnote_follows_its_paragraph(tmp_path: Path):
    notes = f'<w:footnotes xmlns:w="{WORD}"><w:footnote w:id="4"><w:p>{run("근무일 기준")}</w:p></w:footnote></w:footnotes>'
    body = f'<w:p>{run("열흘이다")}<w:r><w:footnoteReference w:id="4"/></w:r>{run(".")}</w:p>'
    assert with_body(tmp_path / "a.docx", body, footnotes=notes).startswith("열흘이다[^1].\n[^1]: 근무일 기준\n\n# 휴가규정")


def test_tracked_changes_are_read_as_accepted_and_counted(tmp_path: Path):
    path = tmp_path / "a.docx"
    body = f'<w:p>{run("하루 ")}<w:del><w:r><w:delText>세 번</w:delText></w:r></w:del><w:ins>{run("두 번")}</w:ins></w:p>'
    assert with_body(path, body).startswith("하루 두 번\n")
    assert read_by_ending(path)["lost"] == ["tracked changes were read as accepted: 3 deleted characters were left out"]


def test_a_text_box_is_read_once_after_its_paragraph(tmp_path: Path):
    box = f"<w:txbxContent><w:p>{run('상자')}</w:p></w:txbxContent>"
    mc = 'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
    body = f'<w:p>{run("앞")}<w:r><mc:AlternateContent {mc}><mc:Choice>{box}</mc:Choice><mc:Fallback>{box}</mc:Fallback></mc:AlternateContent></w:r></w:p>'
    assert with_body(tmp_path / "a.docx", body).startswith("앞\n\n상자\n\n# 휴가규정")


def test_word_in_strict_namespaces_reads_the_same(tmp_path: Path):
    make_docx(tmp_path / "a.docx")
    with zipfile.ZipFile(tmp_path / "a.docx") as old, zipfile.ZipFile(tmp_path / "b.docx", "w") as new:
        for part in old.infolist():
            data = old.read(part).replace(WORD.encode(), b"http://purl.oclc.org/ooxml/wordprocessingml/main")
            new.writestr(part.filename, data.replace(b"http://schemas.openxmlformats.org/officeDocument/2006", b"http://purl.oclc.org/ooxml/officeDocument"))
    assert read_by_ending(tmp_path / "b.docx") == read_by_ending(tmp_path / "a.docx")


@pytest.mark.parametrize(("kind", "shown"), [
    ("ganada", "가 나 하 (15)"), ("chosung", "ㄱ ㄴ ㅎ (15)"), ("decimalEnclosedCircle", "① ② ⑭ ⑮"), ("lowerRoman", "i ii xiv xv"),
    ("upperLetter", "A B N O"), ("decimalZero", "01 02 14 15"), ("koreanDigital", "일 이 십사 십오"), ("chineseCounting", "一 二 十四 十五"), ("unknown", "1 2 14 15")])
def test_numerals(kind: str, shown: str):
    assert " ".join(numeral(n, kind) for n in (1, 2, 14, 15)) == shown


def test_lists_count_on_restart_and_start_where_they_say():
    levels = {0: Level(text="%1."), 1: Level(text="%1.%2"), 2: Level(text="(%3)", restarts=False)}
    lists = Numbering({"a": levels}, {"1": "a", "2": "a"}, {("2", 0): 7})
    assert [lists.label("1", at) for at in (0, 1, 1, 2, 0, 1, 2)] == ["1.", "1.1", "1.2", "(1)", "2.", "2.1", "(2)"]
    assert [lists.label("2", 0), lists.label("2", 0), lists.label("2", 5), lists.label("3", 0)] == ["7.", "8.", "", ""]


HEAD = "http://www.hancom.co.kr/hwpml/2011/head"


def numbered_hwpx(path: Path, lists: str, *paragraphs: tuple[int, str]) -> str:
    """The text of a Hangul document of XML with lists in its header and paragraphs of shapes."""
    body = "".join(f'<hp:p paraPrIDRef="{shape}"><hp:run><hp:t>{text}</hp:t></hp:run></hp:p>' for shape, text in paragraphs)
    make_hwpx(path, body)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("Contents/header.xml", f'<hh:head xmlns:hh="{HEAD}">{lists}</hh:head>')
    return read_by_ending(path)["text"]


def numbered_hwp(path: Path, header: bytes, *paragraphs: tuple[int, str]) -> str:
    """The text of a Hangul document of records with a header and paragraphs of shapes."""
    section = b""
    for shape, text in paragraphs:
        section += record(66, 0, struct.pack("<IIH12x", len(text) + 1, 0, shape)) + record(67, 1, text.encode("utf-16-le") + b"\r\0")
    start = b"HWP Document File".ljust(32, b"\0") + struct.pack("<II", 0x05000300, 0)
    path.write_bytes(ole({"FileHeader": start, "DocInfo": header, "Section0": section}))
    return read_by_ending(path)["text"]


def record(tag: int, level: int, value: bytes) -> bytes:
    return struct.pack("<I", tag | level << 10 | len(value) << 20) + value


def shape(kind: int, key: int, level: int) -> bytes:
    return record(25, 0, struct.pack("<I26xH", kind << 23 | level << 25, key))


def number_level(text: str, kind: int = 0) -> bytes:
    return struct.pack("<I8xH", kind << 5, len(text)) + text.encode("utf-16-le")


ARTICLES = ((1, "목적"), (1, "신청"), (2, "신청서를 낸다"), (2, "영수증을 붙인다"), (3, "분실물은 예외"), (0, "끝."))
ARTICLE_TEXT = "제1조 목적\n제2조 신청\n① 신청서를 낸다\n② 영수증을 붙인다\n※ 분실물은 예외\n끝."
RULES = ((1, "Scope"), (2, "Staff"), (2, ""), (2, "Guests"), (3, "Badges are lent"))
RULE_TEXT = "I. Scope\nA) Staff\n\nC) Guests\n- Badges are lent"


def test_numbers_and_bullets_of_hangul_in_xml(tmp_path: Path):
    articles = ('<hh:numbering id="5"><hh:paraHead level="1" start="1" numFormat="DIGIT">제^1조</hh:paraHead>'
                '<hh:paraHead level="2" start="1" numFormat="CIRCLED_DIGIT">^2</hh:paraHead></hh:numbering><hh:bullet id="2" char="※"/>')
    rules = ('<hh:numbering id="5"><hh:paraHead level="1" start="1" numFormat="ROMAN_CAPITAL">^1.</hh:paraHead>'
             '<hh:paraHead level="2" start="1" numFormat="LATIN_CAPITAL">^2)</hh:paraHead></hh:numbering><hh:bullet id="2" char="\uf09f"/>')
    shapes = "".join(f'<hh:paraPr id="{n}"><hh:heading type="{kind}" idRef="{key}" level="{level}"/></hh:paraPr>'
                     for n, (kind, key, level) in enumerate([("NONE", 0, 0), ("NUMBER", 5, 0), ("NUMBER", 5, 1), ("BULLET", 2, 0)]))
    assert numbered_hwpx(tmp_path / "a.hwpx", articles + shapes, *ARTICLES) == ARTICLE_TEXT
    assert numbered_hwpx(tmp_path / "b.hwpx", rules + shapes, *RULES) == RULE_TEXT


def test_numbers_and_bullets_of_hangul_in_records(tmp_path: Path):
    shapes = shape(0, 0, 0) + shape(2, 1, 0) + shape(2, 1, 1) + shape(3, 1, 0)
    articles = record(23, 0, number_level("제^1조") + number_level("^2", 1)) + record(24, 0, bytes(12) + "※".encode("utf-16-le"))
    rules = record(23, 0, number_level("^1.", 2) + number_level("^2)", 4)) + record(24, 0, bytes(12) + "\uf09f".encode("utf-16-le"))
    assert numbered_hwp(tmp_path / "a.hwp", articles + shapes, *ARTICLES) == ARTICLE_TEXT
    assert numbered_hwp(tmp_path / "b.hwp", rules + shapes, *RULES) == RULE_TEXT


@pytest.mark.parametrize("of, shown", [("TABLE", "[표 7] 요금"), ("PICTURE", "[표 7] 요금"), ("FOOTNOTE", "[표 ] 요금")])
def test_the_number_of_a_caption_is_read_and_that_of_a_note_is_not(tmp_path: Path, of: str, shown: str):
    kind = {"TABLE": 4, "PICTURE": 3, "FOOTNOTE": 1}[of]
    make_hwpx(tmp_path / "a.hwpx", f'<hp:p><hp:run><hp:t>[표 </hp:t><hp:ctrl><hp:autoNum num="7" numType="{of}"/></hp:ctrl><hp:t>] 요금</hp:t></hp:run></hp:p>')
    assert read_by_ending(tmp_path / "a.hwpx")["text"] == shown
    text = "[표 ".encode("utf-16-le") + struct.pack("<8H", 18, *bytes(6), 18) + "] 요금\r".encode("utf-16-le")
    section = record(66, 0, bytes(22)) + record(67, 1, text) + record(71, 1, b"onta" + struct.pack("<IH6x", kind, 7))
    start = b"HWP Document File".ljust(32, b"\0") + struct.pack("<II", 0x05000300, 0)
    (tmp_path / "b.hwp").write_bytes(ole({"FileHeader": start, "Section0": section}))
    assert read_by_ending(tmp_path / "b.hwp")["text"] == shown


def test_damaged_lists_of_hangul_hide_no_text(tmp_path: Path):
    broken = record(23, 0, b"\1") + record(23, 0, struct.pack("<I8xH", 0, 60_000)) + record(24, 0, b"") + record(25, 0, b"\xff\xff\xff\xff")
    assert numbered_hwp(tmp_path / "a.hwp", broken, (0, "본문"), (9, "끝")).splitlines()[-1].endswith("끝")
    far = '<hh:numbering id="1"><hh:paraHead level="2000000000" start="x">^n</hh:paraHead></hh:numbering>'
    far += '<hh:paraPr id="0"><hh:heading type="NUMBER" idRef="1" level="1999999999"/></hh:paraPr>'
    assert numbered_hwpx(tmp_path / "b.hwpx", far, (0, "본문")) == "본문"


@pytest.mark.parametrize("levels, shown", [([0, 2, 1, 2], ["1", "1.1.1", "1.2", "1.2.1"]), ([2, 0, 1], ["1.1.1", "2", "2.1"])])
def test_a_level_that_is_passed_over_counts(levels: list[int], shown: list[str]):
    lists = Numbering({"a": {at: Level(text=".".join(f"%{n + 1}" for n in range(at + 1))) for at in range(3)}}, {"1": "a"})
    assert [lists.label("1", at) for at in levels] == shown


def test_a_level_that_is_too_deep_is_no_list():
    assert Numbering({"a": {10**9: Level(kind="bullet")}}, {"1": "a"}).label("1", 10**9) == ""


@pytest.mark.parametrize("value, code, shown", [(7, "00000", "00007"), (42, '"B-"0000', "B-0042"), (9, '00"호"', "09호"), (3, "\\N0##", "N003"), (8, "0000;-0000", "0008"),
                                                (7.5, "000", "7.5"), (-7, "000", "-7"), (7, "0", "7"), (1200, "#,##0", "1,200")])
def test_numbers_with_leading_zeros_keep_them(value: float, code: str, shown: str):
    assert shown_number(value, code) == shown


@pytest.mark.parametrize("text, shown", [("2", "넓이 m²이다"), ("-1", "넓이 m⁻¹이다"), ("주)", "넓이 m주)이다"), ("2031", "넓이 m2031이다")])
def test_superscripts_are_no_digits_of_a_number(tmp_path: Path, text: str, shown: str):
    raised = f'<w:r><w:rPr><w:vertAlign w:val="superscript"/></w:rPr><w:t>{text}</w:t></w:r>'
    assert with_body(tmp_path / "a.docx", f'<w:p>{run("넓이 m")}{raised}{run("이다")}</w:p>').startswith(f"{shown}\n")
    body = "".join(f'<hp:run charPrIDRef="{shape}"><hp:t>{part}</hp:t></hp:run>' for shape, part in ((0, "넓이 m"), (4, text), (0, "이다")))
    make_hwpx(tmp_path / "b.hwpx", f"<hp:p>{body}</hp:p>")
    with zipfile.ZipFile(tmp_path / "b.hwpx", "a") as archive:
        archive.writestr("Contents/header.xml", f'<hh:head xmlns:hh="{HEAD}"><hh:charPr id="0"/><hh:charPr id="4"><hh:supscript/></hh:charPr></hh:head>')
    assert read_by_ending(tmp_path / "b.hwpx")["text"] == shown
    write(tmp_path, {"c.html": f"<p>넓이 m<sup>{text}</sup>이다"})
    assert read_by_ending(tmp_path / "c.html")["text"] == shown


def test_numbers_that_powerpoint_adds(tmp_path: Path):
    from lxml import etree
    from pptx import Presentation
    show = Presentation()
    body = show.slides.add_slide(show.slide_layouts[5]).shapes.add_textbox(0, 0, 900, 900).text_frame
    rows = [("신청", "arabicPeriod", 0, 4), ("접수", "arabicPeriod", 0, 4), ("창구", "alphaLcParenR", 1, 1), ("우편", "alphaLcParenR", 1, 1),
            ("심사", "arabicPeriod", 0, 4), ("알림", "", 0, 0), ("다시", "circleNumDbPlain", 0, 1), ("Third", "romanUcParenBoth", 0, 3)]
    for at, (text, kind, depth, start) in enumerate(rows):
        paragraph = body.paragraphs[0] if at == 0 else body.add_paragraph()
        paragraph.text, paragraph.level = text, depth
        if kind:
            bullet = etree.SubElement(paragraph._p.get_or_add_pPr(), "{http://schemas.openxmlformats.org/drawingml/2006/main}buAutoNum")
            bullet.set("type", kind)
            bullet.set("startAt", str(start))
    show.save(tmp_path / "a.pptx")
    assert read_by_ending(tmp_path / "a.pptx")["pages"] == [
        "4. 신청\n5. 접수\n  a) 창구\n  b) 우편\n6. 심사\n알림\n① 다시\n(III) Third"]


def test_comments_are_counted_and_not_read(tmp_path: Path):
    from docx import Document
    from openpyxl import Workbook
    from openpyxl.comments import Comment
    document = Document()
    paragraph = document.add_paragraph("문은 여섯 시에 닫는다.")
    document.add_comment(paragraph.runs, text="다섯 시가 아닌가?")
    document.save(tmp_path / "a.docx")
    book = Workbook()
    book.active["A1"] = "열쇠"
    book.active["A1"].comment = Comment("두 개였음", "민")
    book.active["B2"].comment = Comment("not a key", "Ada")
    book.save(tmp_path / "b.xlsx")
    for name, lost in (("a.docx", ["comments were left out: 1"]), ("b.xlsx", ["comments were left out: 2"])):
        found = read_by_ending(tmp_path / name)
        assert found["lost"] == lost and "다섯" not in found["text"] and "두 개" not in found["text"]


def test_a_cited_mark_has_one_pair_of_brackets(tmp_path: Path):
    write(tmp_path, {"a.html": '<p>오리는 난다.<sup><a href="#n2">[2]</a></sup> 꿩은<sup><a href="#n3">3</a></sup> 뛴다.'})
    assert read_by_ending(tmp_path / "a.html")["text"] == "오리는 난다.[2] 꿩은[3] 뛴다."


@pytest.mark.parametrize(("value", "code", "shown"), [
    (47_544, "", "2030-03-02"), (47_544.75, "", "2030-03-02 18:00"), (0.5, "", "12:00"), (47_544, "yyyy.mm.dd", "2030.03.02"),
    (47_544, "m/d/yy", "3/2/30"), (47_544, "d-mmm-yy", "2-Mar-30"), (47_544, 'yyyy"년" m"월"', "2030년 3월"), (47_544.75, "h:mm AM/PM", "6:00 PM"),
    (47_544, "yyyy-mm-dd (aaa)", "2030-03-02 (토)"), (2.25, "[h]:mm", "54:00"), (59, "", "1900-02-28"), (61, "", "1900-03-01")])
def test_dates_as_excel_shows_them(value: float, code: str, shown: str):
    assert shown_date(value, code) == shown


def test_formats_of_dates():
    assert all(map(is_date_format, ("yyyy-mm-dd", "h:mm", "[h]:mm", "[$-412]m월 d일")))
    assert not any(map(is_date_format, ("General", "#,##0", '0"days"', "[Red]0.0", "0.00E+00")))


@pytest.mark.parametrize("row, kept", [(["합 계", "=SUM(B2:B2)"], False), (["Grand total", "=B2"], False), (["나사", "=2*B2"], True), (["합계", "=B2", 5], True),
                                       (["합계", 3], True), (["합계"], True)])
def test_a_row_of_sums_without_any_value_is_left_out_and_told(tmp_path: Path, row: list[object], kept: bool):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for values in (["품목", "값", "수"], ["못", 1, 2], row):
        book.active.append(values)
    book.save(tmp_path / "a.xlsx")
    record = read_xlsx(tmp_path / "a.xlsx")
    assert (f"| {row[0]} |" in record["text"]) == kept
    assert any(f"left out: {row[0]}" in note for note in record["lost"]) != kept


def test_hidden_columns_leave_no_gap_that_would_end_the_table(tmp_path: Path):
    import openpyxl

    make_xlsx(tmp_path / "a.xlsx")
    book = openpyxl.load_workbook(tmp_path / "a.xlsx")
    book["출장비"].column_dimensions["B"].hidden = True
    book.save(tmp_path / "a.xlsx")
    found = read_by_ending(tmp_path / "a.xlsx")
    assert found["text"].splitlines()[2] == "| 직급 | 몫 |" and "30000" not in found["text"]
    assert found["lost"] == ["sheet 출장비: hidden columns were left out: 1"]


def test_the_same_text_as_hwp_and_hwpx_is_read_once(tmp_path: Path):
    make_hwp(tmp_path / "규정.hwp")
    lines = "".join(f"<hp:p><hp:run><hp:t>{text}</hp:t></hp:run></hp:p>" for text in ("휴가규정", "연차<hp:tab/>15일"))
    make_hwpx(tmp_path / "규정.hwpx", lines)
    make_hwpx(tmp_path / "다른 규정.hwpx")
    problems: list = []
    found = {d.id_: d.text for d in read_documents(tmp_path, problems, once=True)}
    assert found == {"규정.hwp": "휴가규정\n연차\t15일", "다른 규정.hwpx": "연차는 15일이다."}
    assert [str(p) for p in problems] == ["규정.hwpx: the same text as 규정.hwp, read once"]
    assert len([*read_documents(tmp_path, [])]) == 3


PAGES = {  # Name -> bytes
    "meta.html": '<meta charset="euc-kr"><p>휴가는 뷁날에 쓴다.'.encode("cp949"),
    "bytes.html": "<p>휴가는 열흘 안에 쓴다.".encode("cp949"),
    "stale.html": '<meta charset="euc-kr"><p>휴가는 열흘 안에 쓴다.'.encode(),
    "japanese.html": '<meta charset="shift_jis"><p>会議は九時です。'.encode("shift_jis")}


def test_encodings_of_pages(tmp_path: Path):
    write(tmp_path, PAGES)
    problems: list = []
    found = {d.id_: d.text for d in read_documents(tmp_path, problems)}
    assert found == {"meta.html": "휴가는 뷁날에 쓴다.", "bytes.html": "휴가는 열흘 안에 쓴다.", "stale.html": "휴가는 열흘 안에 쓴다.", "japanese.html": "会議は九時です。"}
    assert {p.where: p.what.rpartition(" ")[2] for p in problems} == {"meta.html": "CP949", "bytes.html": "CP949", "japanese.html": "shift_jis"}


def test_a_reader_that_is_added_is_found_by_its_ending(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(registry, "_PARTS", dict(registry._PARTS))
    registry.register("format", ".nails")(read_csv)
    for name in ("a.nails", "B.NAILS"):
        (tmp_path / name).write_text("이름,수\n못,3\n", encoding="utf-8")
        assert read_by_ending(tmp_path / name)["text"].endswith("| 못 | 3 |")
    assert [document.id_ for document in read_documents(tmp_path, [])] == ["B.NAILS", "a.nails"]
    with pytest.raises(InputError, match="cannot replace ragnb's format '.eml'"):
        registry.register("format", ".eml")(lambda path: {})

    @registry.register("format", ".abc", extra="files")
    def read_abc(path):
        raise ImportError("lxml")
    with pytest.raises(InputError, match="needs the extra 'files'"):
        read_by_ending(tmp_path / "a.abc")


LOST = ["hidden text was left out (13 characters)", "hidden or struck text was left out (1,313 characters)", "hidden comments were left out (3 characters)",
        "tracked changes were read as accepted: 4 deleted characters were left out", "hidden slides were left out: number 2, 5", "hidden sheets were left out: 초안",
        "sheet 가: hidden rows were left out: 2", "sheet 가: hidden columns were left out: 1", "sheet 가: 3 formulas without a stored value (open and save the file in Excel)",
        "sheet 가: rows of sums without a stored value were left out: 합계, 계",
        "more than 150 elements are inside each other: the page was read as plain text", "a table has 8,001 rows and 8,000 columns, and more characters than 2,000,000",
        "a table of 3 rows and 5 columns has cells that overlap", "a table of 3 rows spans more than 20 places"]


@pytest.mark.parametrize("message", LOST)
def test_what_is_told_of_a_file_is_translated_behind_its_name(message: str):
    """A pattern that begins with a value could take the name of the file for it."""
    from ragnb.machinery.messages import translated, use_language

    use_language("ko")
    try:
        told = translated(f"표.abc: {message}")
    finally:
        use_language("")
    assert told.startswith("표.abc: ") and not any(word in told for word in ("left out", "rows", "characters", "stored", "elements"))


def test_a_deleted_end_of_a_paragraph_joins_it_with_the_next(tmp_path: Path):
    from docx import Document
    from docx.oxml import parse_xml
    from docx.oxml.ns import nsdecls
    document = Document()
    for text, is_deleted in (("열람실은 밤", True), (" 열 시에 ", True), ("닫는다.", False), ("끝", True)):
        paragraph = document.add_paragraph(text)._p
        if is_deleted:
            paragraph.get_or_add_pPr().append(parse_xml(f'<w:rPr {nsdecls("w")}><w:del w:id="1" w:author="a"/></w:rPr>'))
    document.save(tmp_path / "a.docx")
    assert read_by_ending(tmp_path / "a.docx")["text"] == "열람실은 밤 열 시에 닫는다.\n\n끝"


@pytest.mark.parametrize(("cache", "code", "value", "shown"), [
    ("num", "yyyy-mm-dd", "45306", "2024-01-15"), ("num", "0%", "0.4", "40%"), ("num", "General", "2.50", "2.5"),
    ("num", "#,##0", "1234567", "1,234,567"), ("str", "", "2.50", "2.50"), ("num", "0", "1e999", "1e999"),
])
def test_points_of_a_chart_are_shown_in_their_format(cache: str, code: str, value: str, shown: str):
    from lxml import etree
    from ragnb.files.charts import chart_blocks
    labels = f"<cat><{cache}Cache><formatCode>{code}</formatCode><pt idx='0'><v>{value}</v></pt></{cache}Cache></cat>"
    root = etree.fromstring(f"<chartSpace><chart/><ser>{labels}<val><numCache><pt idx='0'><v>7</v></pt></numCache></val></ser></chartSpace>")
    assert chart_blocks(root)[0].rows == ((shown, "7"),)


def test_what_a_sheet_does_not_show_is_left_out_and_is_no_formula_without_a_value(tmp_path: Path):
    import openpyxl
    book = openpyxl.Workbook()
    sheet = book.active
    for row in (["품목", "수량", "금액"], ["나사", 0, 0], ["못", 3, 1200], ["끈", None, None]):
        sheet.append(row)
    sheet.sheet_view.showZeros = False
    other = book.create_sheet("둘째")
    for row in (["품목", "수량", "금액"], ["나사", 0, 0], ["못", 3, 1200]):
        other.append(row)
    other["C2"].number_format = "#,##0;-#,##0;"
    sheet["B4"] = "=C2"
    book.save(tmp_path / "a.xlsx")
    with zipfile.ZipFile(tmp_path / "a.xlsx") as archive:
        kept = {name: archive.read(name) for name in archive.namelist()}
    name = "xl/worksheets/sheet1.xml"
    assert b'<c r="B4"><f>C2</f><v />' in kept[name] or b'<c r="B4"><f>C2</f><v/>' in kept[name] or b'<c r="B4"><f>C2</f><v></v>' in kept[name]
    for state, lost in (('<c r="B4"><f>C2</f><v>0</v>', []), ('<c r="B4" t="str"><f>C2</f><v></v>', []),
                        ('<c r="B4"><f>C2</f><v></v>', ["sheet Sheet: 1 formulas without a stored value (open and save the file in Excel)"])):

        changed = re.sub(rb'<c r="B4"><f>C2</f><v ?/?>(?:</v>)?', state.encode(), kept[name])
        with zipfile.ZipFile(tmp_path / "b.xlsx", "w") as archive:
            for part, data in (kept | {name: changed}).items():
                archive.writestr(part, data)
        record = read_xlsx(tmp_path / "b.xlsx")
        assert "| 나사 |  |  |\n| 못 | 3 | 1200 |\n| 끈 |  |  |" in record["text"] and "| 나사 | 0 |  |" in record["text"]
        assert record["lost"] == lost


TABLE_IN_TEXT = "<표 2> 주 장비\n\n| 품명 | 수량 |\n|---|---|\n| 유압잭 | 3 |\n\n4.1.1 공구를 납품한다."


@pytest.mark.parametrize(("as_letter", "text"), [("1", TABLE_IN_TEXT), ("0", "<표 2> 주 장비4.1.1 공구를 납품한다.\n\n| 품명 | 수량 |\n|---|---|\n| 유압잭 | 3 |")])
def test_text_behind_a_table_in_a_paragraph_comes_after_it(as_letter: str, text: str, tmp_path: Path):
    def cell(row: int, column: int, text: str) -> str:
        return f'<hp:tc><hp:subList><hp:p><hp:run><hp:t>{text}</hp:t></hp:run></hp:p></hp:subList><hp:cellAddr colAddr="{column}" rowAddr="{row}"/></hp:tc>'
    rows = "".join(f"<hp:tr>{cell(row, 0, name)}{cell(row, 1, n)}</hp:tr>" for row, (name, n) in enumerate([("품명", "수량"), ("유압잭", "3")]))
    table = f'<hp:tbl><hp:pos treatAsChar="{as_letter}"/>{rows}</hp:tbl>'
    make_hwpx(tmp_path / "a.hwpx", f"<hp:p><hp:run><hp:t>&lt;표 2&gt; 주 장비</hp:t>{table}<hp:t>4.1.1 공구를 납품한다.</hp:t></hp:run></hp:p>")
    assert read_by_ending(tmp_path / "a.hwpx")["text"] == text

    def field(row: int, column: int, text: str) -> bytes:
        inside = record(66, 2, bytes(22)) + record(67, 3, text.encode("utf-16-le") + b"\r\0")
        return record(72, 2, struct.pack("<8x4H", column, row, 1, 1)) + inside
    place = struct.pack("<8H", 11, *b"lbt ", 0, 0, 11)
    units = "<표 2> 주 장비".encode("utf-16-le") + place + "4.1.1 공구를 납품한다.".encode("utf-16-le") + b"\r\0"
    section = record(66, 0, bytes(22)) + record(67, 1, units) + record(71, 1, b" lbt" + struct.pack("<I", int(as_letter))) + record(77, 2, b"")
    section += field(0, 0, "품명") + field(0, 1, "수량") + field(1, 0, "유압잭") + field(1, 1, "3")
    start = b"HWP Document File".ljust(32, b"\0") + struct.pack("<II", 0x05000300, 0)
    (tmp_path / "a.hwp").write_bytes(ole({"FileHeader": start, "DocInfo": b"", "Section0": section}))
    assert read_by_ending(tmp_path / "a.hwp")["text"] == text
