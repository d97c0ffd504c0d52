"""Small files that would take gigabytes or minutes are named in one line, and files that only look like them are read."""
from __future__ import annotations

import io
import json
import os
import re
import struct
import subprocess
import sys
import zipfile
import zlib
from pathlib import Path

import pytest
from conftest import ROOT, write
from test_file_readers import make_docx, make_hwpx, make_pptx, ole

from ragnb import InputError
from ragnb.context.page_images import page_image
from ragnb.documents.files import read_documents

resource = pytest.importorskip("resource", reason="limits a process")
ENTITIES = '<!DOCTYPE x [<!ENTITY a "가가가가가가가가가가">' + "".join(
    f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in zip("abcdefgh", "bcdefghi")) + "]>"
READ = """
import json, resource, sys
resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
resource.setrlimit(resource.RLIMIT_AS, (3 * 2**30, 3 * 2**30))
from ragnb.documents.files import read_documents
problems = []
found = {d.id_: [len(d.text), d.text[:200]] for d in read_documents(sys.argv[1], problems)}
print(json.dumps([found, {p.where: p.what for p in problems if p.n}]))
"""


def make_sheet(path: Path, rows: str, before: str = "") -> None:
    """A workbook of one sheet, as small as openpyxl takes it."""
    types, relations = (f"http://schemas.openxmlformats.org/package/2006/{name}" for name in ("content-types", "relationships"))
    office, main = "http://schemas.openxmlformats.org/officeDocument/2006/relationships", "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    sheet = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    link = '<Relationships xmlns="{}"><Relationship Id="rId1" Type="{}/{}" Target="{}"/></Relationships>'
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as book:
        book.writestr("[Content_Types].xml", f'<Types xmlns="{types}"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
                      f'<Override PartName="/xl/workbook.xml" ContentType="{sheet}.sheet.main+xml"/>'
                      f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{sheet}.worksheet+xml"/></Types>')
        book.writestr("_rels/.rels", link.format(relations, office, "officeDocument", "xl/workbook.xml"))
        book.writestr("xl/workbook.xml", f'<workbook xmlns="{main}" xmlns:r="{office}"><sheets><sheet name="S" sheetId="1" r:id="rId1"/></sheets></workbook>')
        book.writestr("xl/_rels/workbook.xml.rels", link.format(relations, office, "worksheet", "worksheets/sheet1.xml"))
        book.writestr("xl/worksheets/sheet1.xml", f'{before}<worksheet xmlns="{main}">{rows}</worksheet>')


def cell(place: str, text: str) -> str:
    return f'<c r="{place}" t="inlineStr"><is><t>{text}</t></is></c>'


def changed(make, path: Path, part: str, old: str, new: str, packed: int = zipfile.ZIP_DEFLATED) -> None:
    """An office file with a change in one part."""
    make(path)
    with zipfile.ZipFile(path) as archive:
        parts = {p.filename: archive.read(p) for p in archive.infolist()}
    parts[part] = parts[part].decode().replace(old, new, 1).encode()
    with zipfile.ZipFile(path, "w", packed) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)


def make_hwp_bomb(path: Path) -> None:
    """A section of 30 kB that unpacks to 30 MB."""
    pack = zlib.compressobj(9, zlib.DEFLATED, -15)
    section = pack.compress(bytes(30 * 2**20)) + pack.flush()
    path.write_bytes(ole({"FileHeader": b"HWP Document File".ljust(32, b"\0") + struct.pack("<II", 0x05000300, 1), "Section0": section}))


def hostile(folder: Path) -> dict[str, str]:
    """Files that must be named, with what the line must hold."""
    body, text = "<w:body>", "<w:p><w:r><w:t>&i;</w:t></w:r></w:p>"
    (folder / "wide.csv").write_text(",".join("a" * 8_000) + "\n" + "b\n" * 8_000)
    make_sheet(folder / "rows.xlsx", "<sheetData>" + "<row/>" * 1_000_000 + "</sheetData>")
    changed(make_pptx, folder / "empty.pptx", "ppt/slides/slide1.xml", "</a:p>", "</a:p>" + "<a:p/>" * 400_000)
    make_hwpx(folder / "stored.hwpx", "<hp:p/>" * 80_000 + "<hp:p><hp:run><hp:t>가</hp:t></hp:run></hp:p>")
    make_hwp_bomb(folder / "bomb.hwp")
    changed(make_docx, folder / "empty.docx", "word/document.xml", body, body + "<w:p/>" * 400_000)
    changed(make_docx, folder / "stored.docx", "word/document.xml", body, body + "<w:p/>" * 80_000, zipfile.ZIP_STORED)
    changed(make_docx, folder / "words.docx", "word/document.xml", body, ENTITIES.join(("", body)) + text)
    changed(make_hwpx, folder / "words.hwpx", "Contents/section0.xml", "연차", "&i;")
    with zipfile.ZipFile(folder / "words.hwpx", "a") as archive:
        archive.writestr("Contents/section1.xml", f"{ENTITIES}<a>&i;</a>")
    make_sheet(folder / "words.xlsx", f'<sheetData><row r="1">{cell("A1", "&i;")}</row></sheetData>', ENTITIES)
    wide = "<td rowspan=65000 colspan=1000>가</td>" * 30
    (folder / "places.html").write_text("<table>" + f"<tr>{wide}</tr>" * 300 + "</table>", encoding="utf-8")
    ratio, tags, characters = "100 times", "tags", "2,000,000"
    return {"wide.csv": characters, "places.html": "spans more than 20,000,000 places", "rows.xlsx": ratio,
            "empty.pptx": ratio, "empty.docx": ratio, "stored.hwpx": tags, "stored.docx": tags, "bomb.hwp": ratio,
            "words.docx": "", "words.hwpx": "", "words.xlsx": ""}


def harmless(folder: Path) -> dict[str, str]:
    """Files that look like those and must be read, with what they begin with."""
    make_sheet(folder / "stated.xlsx", f'<dimension ref="A1:XFD900000"/><sheetData><row r="1">{cell("A1", "직급")}</row>'
               f'<row r="4000">{cell("A4000", "부장")}</row></sheetData>')
    make_sheet(folder / "corner.xlsx", "<sheetData>" + "".join(f'<row r="{n}">{cell(f"XFD{n}", "가")}</row>' for n in range(1, 200)) + "</sheetData>")
    write(folder, {"columns.html": "<table>" + "<tr><td colspan=1000>a</tr>" * 1_100,
                   "comments.html": "<!--" * 50_000 + "연차", "questions.html": "<p>연차</p>" + "<?" * 60_000,
                   "deep.html": "<div>" * 50_000 + "가", "items.html": "<ol>" + "<li>가" * 100_000,
                   "good.md": "연차는 15일이다.", "long.csv": "구분,일수\n" + "연차,15\n" * 20_000})
    return {"corner.xlsx": "## S\n\n가\n가\n", "columns.html": "a\n\na\n",
            "stated.xlsx": "## S\n\n직급\n\n부장", "comments.html": "", "deep.html": "가", "items.html": "1. 가\n2. 가\n", "questions.html": "연차", "good.md": "연차",
            "long.csv": "| 구분 | 일수 |\n|---|---|\n| 연차 | 15 |"}


@pytest.mark.heavy
def test_each_is_read_or_named_and_the_rest_is_read(tmp_path: Path) -> None:
    """In a process with a minute of the processor and 3 GB; it needs a few seconds."""
    named, read = hostile(tmp_path), harmless(tmp_path)
    done = subprocess.run([sys.executable, "-c", READ, str(tmp_path)], capture_output=True, text=True, env=os.environ | {"PYTHONUTF8": "1"})
    assert done.returncode == 0, (done.returncode, done.stderr[-500:])
    found, problems = json.loads(done.stdout)
    assert {*found} == {*read} and {*problems} == {*named}
    assert not [name for name, start in read.items() if not found[name][1].startswith(start)]
    assert not [(name, problems[name]) for name, told in named.items() if told not in problems[name]]
    assert found["long.csv"][0] > 200_000


def test_rows_and_columns_without_a_value_are_left_out(tmp_path: Path) -> None:
    make_sheet(tmp_path / "sparse.xlsx", f'<sheetData><row r="1">{cell("A1", "첫째")}{cell("C1", "셋째")}</row><row r="9">{cell("XFD9", "끝")}</row></sheetData>')
    (tmp_path / "sparse.csv").write_text(",,\n이름,,수량\n,,\n나사,,3\n", encoding="utf-8")
    found = {d.id_: d.text for d in read_documents(tmp_path, [])}
    assert found["sparse.csv"] == "| 이름 | 수량 |\n|---|---|\n| 나사 | 3 |"
    assert found["sparse.xlsx"].splitlines()[-3:] == ["첫째 | 셋째", "", "끝"]     # a row apart from others is no table


def test_what_no_program_writes_is_refused_before_it_takes_memory(tmp_path: Path) -> None:
    table = "<table>" + "<tr>" + "<td>a" * 2_000 + "</tr>"
    (tmp_path / "cells.html").write_text(table + ("<tr>" + "<td>b" * 2_000 + "</tr>") * 101)
    (tmp_path / "attributes.html").write_text("<p " + "".join(f"a{n}=1 " for n in range(20_000)) + ">연차는 15일", encoding="utf-8")
    (tmp_path / "line.csv").write_text("a," * 100_001)
    problems = []
    found = {d.id_: d.text for d in read_documents(tmp_path, problems)}
    assert found == {"attributes.html": "연차는 15일"}
    told = {p.where: p.what for p in problems}
    assert "204,000 cells" in told["cells.html"] and "line of 100,001 cells" in told["line.csv"]


def test_a_pdf_that_stops_its_library_is_one_skipped_file(tmp_path: Path) -> None:
    """A form inside itself, found also when the file writes its names in another way; without the other process all is lost."""
    from office.hostile import page, stream
    inside = "/Type/XObject/Subtype/F#6frm/BBox[0 0 9 9]/Resources 7 0 R"
    (tmp_path / "circle.pdf").write_bytes(page(b"/X Do BT /F 9 Tf 9 9 Td (x) Tj ET", "/XObject<</X 6 0 R>>", 0, stream(b"/X Do /X Do", inside),
                                               "<</XObject<</X 6 0 R>>>>"))
    (tmp_path / "a.md").write_text("연차는 15일", encoding="utf-8")
    problems = []
    assert [d.text for d in read_documents(tmp_path, problems)] == ["연차는 15일"]
    assert [(p.where, p.what.partition(" to read")[0]) for p in problems if p.n] == [("circle.pdf", "needs more than 256 MB of memory")]


def test_another_process_reads_the_same_pages(tmp_path: Path) -> None:
    """A form that draws a form is harmless, and an encrypted file cannot be checked; both are read as in this process."""
    from office.hostile import page, stream
    from reportlab.lib.pdfencrypt import StandardEncryption
    from reportlab.pdfgen import canvas

    from ragnb.files.pdf import _read_here, read_pdf
    from ragnb.files.pdf_guard import pdf_risk
    form = "/Type/XObject/Subtype/Form/BBox[0 0 600 800]/Resources<</XObject<</X 7 0 R>>/Font<</F 4 0 R>>>>"
    nested, locked = tmp_path / "nested.pdf", tmp_path / "locked.pdf"
    nested.write_bytes(page(b"/X Do", "/XObject<</X 6 0 R>>", 0, stream(b"/X Do", form), stream(b"BT /F 9 Tf 9 700 Td (leave is 15 days) Tj ET", form)))
    out = canvas.Canvas(str(locked), encrypt=StandardEncryption("pass"), pageCompression=0)
    out.drawString(50, 700, "leave is 15 days")
    out.save()
    assert pdf_risk(nested) == "forms in forms" and pdf_risk(locked) == "encrypted streams"
    assert read_pdf(nested) == _read_here(str(nested), None) and "leave is 15 days" in read_pdf(nested)["pages"][0]
    assert read_pdf(locked, "pass") == _read_here(str(locked), "pass")


def test_a_mail_has_limits_on_parts_and_headers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from office.hostile import multipart

    from ragnb.files import eml
    from ragnb.files.eml import MOST_HEADER
    assert eml.MOST_PARTS == 5_000
    monkeypatch.setattr(eml, "MOST_PARTS", 50)
    (tmp_path / "parts.eml").write_bytes(multipart(50))
    (tmp_path / "many.eml").write_bytes(multipart(49, b"15 days"))
    (tmp_path / "subject.eml").write_bytes(b"From: a@b.c\nSubject: " + b"word " * MOST_HEADER + b"\n\n15 days")
    problems = []
    found = {d.id_: d.text for d in read_documents(tmp_path, problems)}
    assert {name: "15 days" in text for name, text in found.items()} == {"many.eml": True, "subject.eml": True}
    told = {p.where: p.what for p in problems}
    assert "more than 50 parts" in told["parts.eml"] and "Subject" in told["subject.eml"]
    assert len(found["subject.eml"]) < MOST_HEADER + 200


@pytest.mark.heavy
def test_each_hostile_file_of_the_benchmark_is_within_its_limits() -> None:
    """8 seconds of CPU and 400 MB each, with the processes that a reader starts; the CPU of all is 30 seconds at most."""
    done = subprocess.run([sys.executable, str(ROOT / "benchmarks/office/hostile.py")], capture_output=True, text=True, env=os.environ | {"PYTHONUTF8": "1"})
    assert done.returncode == 0 and "over a limit: none" in done.stdout, done.stdout
    n_files, seconds = re.search(r"^(\d+) files, ([\d.]+) s", done.stdout, re.M).groups()
    assert int(n_files) >= 74 and float(seconds) <= 30


def test_a_page_is_drawn_in_a_process_with_limits(tmp_path, monkeypatch):
    """A form inside itself, text packed twice, and a picture of 300 kB that unpacks to 300 MB; the library is not called here."""
    import pypdfium2
    from office.hostile import files, page
    from PIL import Image
    monkeypatch.setattr(pypdfium2, "PdfDocument", None)
    made = files()
    for name in ("pdf_form_circle.pdf", "pdf_packed.pdf"):
        (tmp_path / name).write_bytes(made[name]())
        with pytest.raises(InputError, match=f"{name} needs more than 256 MB"):
            page_image(tmp_path / name, 1)
    packed = zlib.compress(bytes(3 * 10_000 * 10_000))
    head = f"<</Type/XObject/Subtype/Image/Width 10000/Height 10000/ColorSpace/DeviceRGB/BitsPerComponent 8/Filter/FlateDecode/Length {len(packed)}>>stream\n"
    (tmp_path / "black.pdf").write_bytes(page(b"q 600 0 0 800 0 0 cm /X Do Q", "/XObject<</X 6 0 R>>", 0, head.encode() + packed + b"\nendstream"))
    drawn = Image.open(io.BytesIO(page_image(tmp_path / "black.pdf", 1, 16)))
    assert {*drawn.convert("L").tobytes()} == {0}
