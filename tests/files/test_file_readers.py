"""Office files, pages and tables, made by code: what is read, and the one line said of what is not."""
from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from helpers_ingest import read, write

from ragnb import InputError, read_documents
from ragnb.documents.readers import read_by_ending
from ragnb.machinery.values import install_command


def make_docx(path: Path) -> None:
    from docx import Document

    document = Document()
    document.add_heading("휴가규정", 1)
    document.add_paragraph("연차는 15일이다.")
    table = document.add_table(2, 2)
    for i, value in enumerate(["구분", "일수", "연차", "15"]):
        table.cell(i // 2, i % 2).text = value
    document.save(path)


def make_pptx(path: Path) -> None:
    from pptx import Presentation

    show = Presentation()
    for title, body in (("신입 안내", "첫날은 9시 30분"), ("출장", "일비는 30,000원")):
        slide = show.slides.add_slide(show.slide_layouts[1])
        slide.shapes.title.text, slide.placeholders[1].text = title, body
    show.save(path)


def make_xlsx(path: Path) -> None:
    from datetime import date

    from openpyxl import Workbook

    book = Workbook()
    book.active.title = "출장비"
    for row in (["직급", "일비", None, "몫"], [], ["부장", 30000.0, None, 0.125], ["사|원", "둘째\n줄", None, date(2030, 1, 2)]):
        book.active.append(row)
    book.active["D3"].number_format = "0.0%"
    book.create_sheet("빈 시트")
    book.save(path)


def make_hwpx(path: Path, body: str = "<hp:p><hp:run><hp:t>연차는 15일이다.</hp:t></hp:run></hp:p>") -> None:
    names = 'xmlns:hs="http://www.hancom.co.kr/hwpml/2011/section" xmlns:hp="http://www.hancom.co.kr/hwpml/2011/paragraph"'
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/hwp+zip")
        archive.writestr("Contents/section0.xml", f'<?xml version="1.0" encoding="UTF-8"?><hs:sec {names}>{body}</hs:sec>')


def ole(streams: dict[str, bytes]) -> bytes:
    """A compound file: header, allocation table, directory, and streams of at least 4,096 bytes, one below a folder."""
    size, free, end, no = 512, 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFF
    data = {name: value + bytes(-len(value) % 4096 or (4096 if not value else 0)) for name, value in streams.items()}
    chains, table, at = {}, [0xFFFFFFFD, 2, end], 3  # sector 0: the table; 1 and 2: the directory
    for name, value in data.items():
        n = len(value) // size
        chains[name], at = at, at + n
        table += [*range(chains[name] + 1, at), end]
    table += [free] * (size // 4 - len(table))

    def entry(name: str, kind: int, right: int = no, child: int = no, start: int = 0, length: int = 0) -> bytes:
        raw = name.encode("utf-16-le") + b"\0\0"
        return (raw.ljust(64, b"\0") + struct.pack("<HBBIII", len(raw), kind, 1, no, right, child) + bytes(36)
                + struct.pack("<IQ", start, length))

    def stream(name: str, right: int = no) -> bytes:
        return entry(name, 2, right, start=chains[name], length=len(data[name]))

    directory = [entry("Root Entry", 5, child=1, start=end), entry("BodyText", 1, right=2, child=3),
                 stream("FileHeader", 4 if "DocInfo" in data else no), stream("Section0")]
    directory += [stream("DocInfo")] if "DocInfo" in data else []
    first = (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16) + struct.pack("<HHHHH", 0x3E, 3, 0xFFFE, 9, 6) + bytes(6)
             + struct.pack("<IIIIIIIII", 0, 1, 1, 0, 4096, end, 0, end, 0) + struct.pack("<109I", 0, *[free] * 108))
    body = struct.pack(f"<{len(table)}I", *table) + b"".join(directory).ljust(2 * size, b"\0")
    return first + body + b"".join(data.values())


def make_hwp(path: Path, flags: int = 0) -> None:
    def record(tag: int, level: int, value: bytes) -> bytes:
        return struct.pack("<I", tag | level << 10 | len(value) << 20) + value

    tab = struct.pack("<8H", 9, 4000, 256, 0, 0, 0, 0, 9)
    section = b""
    for text in (["휴가규정"], ["연차", "15일"]):
        units = tab.join(t.encode("utf-16-le") for t in text) + b"\r\0"
        section += record(66, 0, struct.pack("<I", len(units) // 2) + bytes(18)) + record(67, 1, units)
    header = b"HWP Document File".ljust(32, b"\0") + struct.pack("<II", 0x05000300, flags)
    path.write_bytes(ole({"FileHeader": header, "Section0": section}))


MAKERS = {"a.docx": make_docx, "b.pptx": make_pptx, "c.xlsx": make_xlsx, "d.hwpx": make_hwpx, "e.hwp": make_hwp}


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("office")
    for name, make in MAKERS.items():
        make(folder / name)
    write(folder, {
        "f.html": "<html><head><title>공지 사항</title><style>b{}</style></head><body><h1>휴가</h1><p>연차는&nbsp;15일<script>x()</script></body>".encode("cp949"),
        "g.csv": "직급;일비\n부장;\"3;0\"\n".encode("cp949"), "h.md": "# 본문\n연차는 15일이다."})
    return folder


def test_every_kind_is_read(office: Path):
    documents, problems = read(office)
    assert problems == [f"{name}: is not UTF-8, and was read as CP949" for name in ("f.html", "g.csv")]
    assert [*documents] == [*sorted(documents)] and len(documents) == 8
    assert documents["a.docx"].startswith("# 휴가규정\n\n연차는 15일이다.") and "| 연차 | 15 |" in documents["a.docx"]
    assert "일비는 30,000원" in documents["b.pptx"] and "Slide number" not in documents["b.pptx"]
    assert documents["c.xlsx"] == ("## 출장비\n\n| 직급 | 일비 | 몫 |\n|---|---|---|\n| 부장 | 30000 | 12.5% |\n"
                                   "| 사\\|원 | 둘째 줄 | 2030-01-02 |")
    assert documents["d.hwpx"] == "연차는 15일이다." and documents["e.hwp"] == "휴가규정\n연차\t15일"
    assert documents["f.html"] == "# 휴가\n\n연차는 15일" and documents["g.csv"] == "| 직급 | 일비 |\n|---|---|\n| 부장 | 3;0 |"


def test_titles_and_pages(office: Path):
    found = {d.id_: d for d in read_documents(office, [])}
    titles = [found[name].metadata["title"] for name in ("a.docx", "b.pptx", "e.hwp", "f.html", "h.md")]
    assert titles == ["휴가규정", "신입 안내", "휴가규정", "공지 사항", "본문"]
    slides = found["b.pptx"]
    assert [slides.text[at:].split("\n")[0] for at in slides.metadata["page_starts"]] == ["# 신입 안내", "# 출장"]


@pytest.mark.parametrize(("name", "told"), [("a.docx", "is not a .docx file"), ("c.xlsx", "is not a .xlsx file"), ("d.hwpx", "is not a .hwpx file"), ("e.hwp", "cannot be read as .hwp|contains no text|is not an HWP")])
def test_a_damaged_file_is_one_line_and_the_rest_is_read(office: Path, tmp_path: Path, name: str, told: str):
    import re

    data = (office / name).read_bytes()
    write(tmp_path, {name: data[: len(data) // 3], "good.md": "글"})
    documents, problems = read(tmp_path)
    assert documents == {"good.md": "글"} and len(problems) == 1 and re.search(told, problems[0]) and "\n" not in problems[0]


def test_bytes_within_an_archive_that_are_wrong(office: Path, tmp_path: Path):
    for name in ("a.docx", "b.pptx", "c.xlsx"):
        with zipfile.ZipFile(office / name) as old, zipfile.ZipFile(tmp_path / name, "w") as new:
            for part in old.infolist():
                new.writestr(part.filename, b"<broken" if part.filename.endswith(("document.xml", "presentation.xml", "workbook.xml")) else old.read(part))
    make_hwpx(tmp_path / "d.hwpx", "<hp:p>")
    with pytest.raises(InputError, match="nothing|cannot|no text"):
        for name in ("a.docx", "b.pptx", "c.xlsx", "d.hwpx"):
            read_by_ending(tmp_path / name)
    documents, problems = read(tmp_path)
    assert not documents and sorted(p.split(": ")[0] for p in problems) == ["a.docx", "b.pptx", "c.xlsx", "d.hwpx"]


def test_locked_files_say_so(tmp_path: Path):
    make_hwp(tmp_path / "locked.hwp", flags=2)
    make_hwp(tmp_path / "copy.hwp", flags=4)
    (tmp_path / "locked.docx").write_bytes((tmp_path / "locked.hwp").read_bytes())
    _, problems = read(tmp_path)
    assert [p.split(": ", 1)[1].split(":")[0] for p in problems] == [
        "is a distribution copy (배포용 문서)", "is encrypted, or has the format of an older program", "is encrypted"]


def test_an_archive_that_unpacks_to_gigabytes_is_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    make_hwpx(tmp_path / "x.hwpx")
    monkeypatch.setattr("ragnb.files.archive.MOST_UNPACKED", 100)
    with pytest.raises(InputError, match="x.hwpx unpacks to .* bytes, more than 100"):
        read_by_ending(tmp_path / "x.hwpx")


def test_a_missing_extra_is_one_line_and_the_rest_is_read(office: Path):
    code = """
import sys, json
for name in ("lxml", "olefile"):
    sys.modules[name] = None
from ragnb.documents.files import read_documents
problems = []
read = [d.id_ for d in read_documents(sys.argv[1], problems)]
print(json.dumps([read, [str(p) for p in problems]]))
"""
    done = subprocess.run([sys.executable, "-c", code, str(office)], capture_output=True, text=True, env=os.environ | {"PYTHONUTF8": "1"})
    documents, problems = json.loads(done.stdout)
    needs = [name for name in (*MAKERS, "f.html")]
    assert documents == ["g.csv", "h.md"]
    told = [f"{n}: reading {n} needs the extra 'files': {install_command('files')}" for n in needs]
    assert sorted(problems) == sorted([*told, "g.csv: is not UTF-8, and was read as CP949"])


SHAPES = {  # Name -> page, what must stay, what must go
    "a site with landmarks": (
        "<header><a href='/'>로고</a></header><nav><a href='/'>처음</a></nav><main><h1>휴가</h1><p>연차는 15일이다.</p></main>"
        "<aside>많이 본 글</aside><footer>찾아오시는 길</footer>", ["# 휴가", "15일"], ["로고", "처음", "많이 본", "찾아오"]),
    "an article with parts of its own": (
        "<article><header><h1>휴가</h1></header><p>연차</p><aside>주의: 반차</aside><footer>담당: 총무팀</footer></article>",
        ["휴가", "연차", "주의: 반차", "담당: 총무팀"], []),
    "a title block": ("<header id='title-block-header'><h1>휴가</h1><p>총무팀</p></header><p>연차</p>", ["휴가", "총무팀"], []),
    "menus that are lists": (
        "<div id='gnb'><ul><li><a href='a'>소개</a></li><li><a href='b'>공지</a></li></ul></div><p>연차는 15일</p>"
        "<ul class='lnb'><li><a href='c'>자료실</a></li></ul>", ["15일"], ["소개", "공지", "자료실"]),
    "a list of dishes, and of links in the text": (
        "<ul class='menu'><li>비빔밥 6,000원</li></ul><ul><li><a href='a'>휴가규정</a></li></ul>", ["비빔밥", "휴가규정"], []),
    "notes at the foot": ("<p>연차</p><aside id='footnotes'>1. 3.2를 보라</aside><footer class='footnotes'>2. 별표</footer>",
                          ["3.2를", "별표"], []),
    "a banner with a heading": ("<header><h1>가온누리</h1></header><main><h2>휴가</h2><p>연차</p></main>", ["## 휴가"], ["가온누리"]),
    "a title above the text": ("<header><h1>휴가</h1></header><main><p>연차</p></main>", ["# 휴가", "연차"], []),
    "a main by its role": ("<div role='main'><p>연차</p><aside>반차</aside><footer>담당: 총무팀</footer></div><footer>주소</footer>",
                           ["연차", "반차", "총무팀"], ["주소"]),
    "roles": ("<div role='navigation'>처음</div><div role='banner'>로고</div><div role='main'><p>연차</p></div>"
              "<div role='contentinfo'>주소</div>", ["연차"], ["처음", "로고", "주소"]),
    "a part that a link leads to": (
        "<a href='#box'>본문 바로가기</a><div><h2>군수실</h2><p>조직도</p></div><div><p>만족하십니까?</p><div id='box'><h2>공지</h2><p>"
        + "연차는 15일이다. " * 9 + "</p></div></div><p>주소</p>", ["## 공지", "15일"], ["바로가기", "군수실", "조직도", "만족", "주소"]),
    "a link to where the text begins": ("<a href='#t'>본문 바로가기</a><h2 id='t'>공지</h2><p>연차는 15일</p>", ["공지", "15일"], []),
    "links to sections": ("<p>앞글</p><a href='#b'>본문</a><div id='b'>" + "연차는 15일이다. " * 9 + "</div><p>부칙</p>", ["앞글", "15일", "부칙"], []),
    "nothing but a menu": ("<nav><a href='a'>처음</a></nav>", ["처음"], []),
    "scripts": ("<p>연차</p><script>let menu = 1</script><noscript>켜 주세요</noscript><style>nav{}</style>",
                ["연차"], ["let", "켜 주", "nav"])}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_page_keeps_its_text_and_names_what_was_left_out(shape: str, tmp_path: Path):
    page, stays, goes = SHAPES[shape]
    write(tmp_path, {"p.html": f"<html><head><title>공지</title></head><body>{page}</body></html>"})
    problems: list = []
    (document,) = read_documents(tmp_path, problems)
    assert all(part in document.text for part in stays) and not any(part in document.text for part in goes)
    told = [str(p) for p in problems]
    assert all(p.n == 0 for p in problems) and len(told) == bool(goes)
    assert not goes or "left out" in told[0] and "characters" in told[0]
    assert "notes" not in document.metadata


def grid(folder: Path, rows: list[list[str]]) -> dict[str, str]:
    """A table as every kind of file that has tables, read again."""
    import openpyxl
    from docx import Document
    from pptx import Presentation

    book, document, show = openpyxl.Workbook(), Document(), Presentation()
    for row in rows:
        book.active.append([cell or None for cell in row])
    word = document.add_table(len(rows), len(rows[0]))
    slide = show.slides.add_slide(show.slide_layouts[6]).shapes.add_table(len(rows), len(rows[0]), 0, 0, 9000, 9000).table
    for y, row in enumerate(rows):
        for x, cell in enumerate(row):
            word.cell(y, x).text = slide.cell(y, x).text = cell
    book.save(folder / "t.xlsx"), document.save(folder / "t.docx"), show.save(folder / "t.pptx")
    (folder / "t.csv").write_text("".join(",".join(row) + "\n" for row in rows), encoding="utf-8")
    html = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    (folder / "t.html").write_text(f"<body><table>{html}</table></body>", encoding="utf-8")
    records = {name: read_by_ending(folder / name) for name in ("t.xlsx", "t.csv", "t.docx", "t.html", "t.pptx")}
    return {name: "\n".join(r.get("pages") or [r["text"]]) for name, r in records.items()}


def test_empty_rows_and_columns_of_tables_are_left_out(tmp_path: Path):
    full = [["직급", "", "일비"], ["부장", "갑", "3"], ["사원", "", "2"]]
    holes = [["직급", "", "", "", "일비"], ["", "", "", "", ""], ["부장", "", "갑", "", "3"], ["", "", "", "", ""], ["사원", "", "", "", "2"]]
    wanted, found = grid(tmp_path, full), grid(tmp_path, holes)
    assert found == wanted and all("| 부장 | 갑 | 3 |" in text and "| 사원 |  | 2 |" in text for text in wanted.values())


def test_a_sheet_with_two_distant_cells_is_two_words(tmp_path: Path):
    import openpyxl

    book = openpyxl.Workbook()
    book.active["A1"], book.active["XFD4000"] = "처음", "끝"
    book.save(tmp_path / "a.xlsx")
    text = read_by_ending(tmp_path / "a.xlsx")["text"]
    assert "처음" in text and "끝" in text and len(text) < 100


def test_lines_with_bars_that_are_no_table_stay(tmp_path: Path):
    lines = "|a||b|\n||||\n|c||d|"
    (tmp_path / "a.html").write_text(f"<body><pre>{lines}</pre></body>", encoding="utf-8")
    assert lines in read_by_ending(tmp_path / "a.html")["text"]


@pytest.mark.parametrize("empty", ["<w:p/>", "<w:p></w:p>", '<w:p w:rsidR="00A1"><w:pPr><w:jc w:val="left"/><w:rPr><w:b/></w:rPr></w:pPr></w:p>'])
def test_empty_paragraphs_do_not_hide_the_text_around_them(tmp_path: Path, empty: str):
    from docx import Document

    document = Document()
    for text in ("앞의 글", "가운데", "뒤의 글"):
        document.add_paragraph(text)
    document.save(tmp_path / "plain.docx")
    with zipfile.ZipFile(tmp_path / "plain.docx") as old, zipfile.ZipFile(tmp_path / "a.docx", "w", zipfile.ZIP_DEFLATED) as new:
        for part in old.infolist():
            data = old.read(part)
            new.writestr(part.filename, data.replace(b"</w:p>", b"</w:p>" + empty.encode() * 1_500, 2) if part.filename == "word/document.xml" else data)
    assert read_by_ending(tmp_path / "a.docx")["text"] == read_by_ending(tmp_path / "plain.docx")["text"] == "앞의 글\n\n가운데\n\n뒤의 글"


@pytest.mark.parametrize("ending", [".docx", ".xlsx", ".pptx", ".hwpx", ".hwp", ".pdf", ".html", ".csv", ".eml"])
def test_an_empty_file_is_told_and_what_office_keeps_beside_an_open_file_is_left_out(tmp_path, ending):
    (tmp_path / f"빈{ending}").write_bytes(b"")
    (tmp_path / f"~$규정{ending}").write_bytes(b"\x05user")
    problems: list = []
    assert list(read_documents(tmp_path, problems)) == []
    assert [p.where for p in problems] == [f"빈{ending}"]
    assert "empty" in str(problems[0]) or "no text" in str(problems[0]), problems[0]


def test_a_list_of_choices_shows_the_chosen_one_as_chosen(tmp_path: Path):
    from docx import Document
    from docx.oxml import parse_xml
    from docx.oxml.ns import nsdecls

    document = Document()
    field = '<w:r {}><w:fldChar w:fldCharType="begin"><w:ffData><w:ddList>{}<w:listEntry w:val="택배"/><w:listEntry w:val="직접 수령"/></w:ddList></w:ffData></w:fldChar></w:r>'
    for label, stated in (("배송 방법: ", '<w:result w:val="1"/>'), ("반품 방법: ", '<w:default w:val="0"/>'), ("교환 방법: ", "")):
        document.add_paragraph(label)._p.append(parse_xml(field.format(nsdecls("w"), stated)))
    document.save(tmp_path / "form.docx")
    (tmp_path / "form.html").write_text("<p>지역 <select><option>강릉<option selected>속초<option>동해</select> 조 <select><option>가<option>나</select>", encoding="utf-8")
    found = {d.id_: d.text for d in read_documents(tmp_path, [])}
    assert found["form.docx"].split("\n\n") == ["배송 방법: 직접 수령", "반품 방법: 택배", "교환 방법: 택배"]
    assert found["form.html"] == "지역 ☑ 속초 ☐ 강릉 ☐ 동해 조 가, 나"


@pytest.mark.parametrize("rows, title", [
    ([["2031년도 연구직 봉급표"], ["(단위: 원)"], ["직급", "호봉", "봉급"], ["9급", 1, 100], ["9급", 2, 110]], "2031년도 연구직 봉급표"),
    ([["직급", "호봉", "봉급"], ["9급", 1, 100], ["9급", 2, 110]], "pay"),
    ([["작성일: 2031-06-30"], ["직급", "호봉", "봉급"], ["9급", 1, 100], ["9급", 2, 110]], "pay"),
    ([["이 표는 2031년부터 적용한다."], ["직급", "호봉", "봉급"], ["9급", 1, 100], ["9급", 2, 110]], "pay"),
])
def test_the_title_row_of_the_only_sheet_is_the_title(tmp_path: Path, rows: list[list[object]], title: str) -> None:
    """So the rows of one of many tables of the same form are found by it; with a second sheet the name of the file is the title."""
    openpyxl = pytest.importorskip("openpyxl")
    for n_sheets in (1, 2):
        book = openpyxl.Workbook()
        for row in rows:
            book.active.append(row)
        for number in range(1, n_sheets):
            book.create_sheet(f"sheet {number}").append(["x", number])
        book.save(tmp_path / "pay.xlsx")
        found, = read_documents(tmp_path, [])
        assert found.metadata["title"] == (title if n_sheets == 1 else "pay")
