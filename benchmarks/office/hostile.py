"""Hostile files, made here: each is read or refused within a limit of CPU and memory, and the process goes on.

    python benchmarks/office/hostile.py                 # a line for each file: seconds of CPU, megabytes, what was told
    python benchmarks/office/hostile.py --table         # the same as a table by kind, for README.md
    python benchmarks/office/hostile.py --only pdf      # files whose names have a word

Every file is read by a process of its own that is forked from one that has loaded the readers, so its peak of memory is that of one file.
Processes that a reader starts count, too.
Exit 1: a file took more than 8 seconds of CPU or 400 MB, or its process ended by itself.
"""
from __future__ import annotations

import argparse
import io
import json
import os
import resource
import struct
import sys
import tempfile
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

MOST_SECONDS = 8.0        # Of CPU
MOST_MEGABYTES = 400.0    # At most at one time, with Python and the readers
ROOM = 4 * 2**30          # Bytes of addresses that a process may take

Make = Callable[[], bytes]
ENTITIES = '<!DOCTYPE x [<!ENTITY a "ha ha ha ha ha">' + "".join(f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in zip("abcdefghij", "bcdefghijk")) + "]>"
OUTSIDE = '<!DOCTYPE x [<!ENTITY k SYSTEM "file:///etc/hostname">]>'


def packed(parts: dict[str, str | bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    "A zip archive."
    with zipfile.ZipFile(out := io.BytesIO(), "w", method) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return out.getvalue()


_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_LINKS = '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{}</Relationships>'


def _link(key: str, kind: str, target: str) -> str:
    return f'<Relationship Id="{key}" Type="{_OFFICE}/{kind}" Target="{target}"/>'


def docx(body: str, before: str = "", method: int = zipfile.ZIP_DEFLATED, **parts: str) -> bytes:
    "A Word file with a body."
    main = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    return packed({"_rels/.rels": _LINKS.format(_link("r1", "officeDocument", "word/document.xml")),
                   "word/document.xml": f'{before}<w:document xmlns:w="{main}"><w:body>{body}</w:body></w:document>', **parts}, method)


def paragraph(text: str) -> str:
    return f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"


def xlsx(rows: str, before: str = "", strings: str = "", sheets: int = 1, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    "A workbook with rows."
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    names = "".join(f'<sheet name="S{n}" sheetId="{n + 1}" r:id="r{n}"/>' for n in range(sheets))
    links = "".join(_link(f"r{n}", "worksheet", "worksheets/sheet1.xml") for n in range(sheets))
    parts = {"_rels/.rels": _LINKS.format(_link("r1", "officeDocument", "xl/workbook.xml")),
             "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{_OFFICE}"><sheets>{names}</sheets></workbook>',
             "xl/_rels/workbook.xml.rels": _LINKS.format(links + _link("s", "sharedStrings", "sharedStrings.xml")),
             "xl/worksheets/sheet1.xml": f'{before}<worksheet xmlns="{main}">{rows}</worksheet>'}
    return packed(parts | ({"xl/sharedStrings.xml": f'<sst xmlns="{main}">{strings}</sst>'} if strings else {}), method)


def cell(place: str, text: str) -> str:
    return f'<c r="{place}" t="inlineStr"><is><t>{text}</t></is></c>'


def pptx(shapes: str, before: str = "", slides: int = 1) -> bytes:
    "A presentation with shapes."
    main, draw = (f"http://schemas.openxmlformats.org/{name}/2006/main" for name in ("presentationml", "drawingml"))
    links = "".join(_link(f"r{n}", "slide", "slides/slide1.xml") for n in range(slides))
    slide = f'{before}<p:sld xmlns:p="{main}" xmlns:a="{draw}"><p:cSld><p:spTree>{shapes}</p:spTree></p:cSld></p:sld>'
    names = "".join(f'<p:sldId id="{256 + n}" r:id="r{n}"/>' for n in range(slides))
    return packed({"_rels/.rels": _LINKS.format(_link("r1", "officeDocument", "ppt/presentation.xml")),
                   "ppt/presentation.xml": f'<p:presentation xmlns:p="{main}" xmlns:r="{_OFFICE}"><p:sldIdLst>{names}</p:sldIdLst></p:presentation>',
                   "ppt/_rels/presentation.xml.rels": _LINKS.format(links), "ppt/slides/slide1.xml": slide})


def shape(text: str) -> str:
    return f'<p:sp><p:nvSpPr><p:cNvPr id="1" name="n"/><p:cNvSpPr/><p:nvPr/></p:nvSpPr><p:spPr/><p:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:txBody></p:sp>'


def hwpx(body: str, before: str = "", method: int = zipfile.ZIP_DEFLATED, sections: int = 1) -> bytes:
    "A Hangul file in XML with a body."
    names = 'xmlns:hp="http://www.hancom.co.kr/hwpml/2011/paragraph" xmlns:hs="http://www.hancom.co.kr/hwpml/2011/section"'
    section = f"{before}<hs:sec {names}>{body}</hs:sec>"
    return packed({"mimetype": "application/hwp+zip", "Contents/header.xml": "<head/>",
                   **{f"Contents/section{n}.xml": section for n in range(sections)}}, method)


def run(text: str) -> str:
    return f"<hp:p><hp:run><hp:t>{text}</hp:t></hp:run></hp:p>"


def hwpx_cell(row: int, column: int, down: int, right: int, inner: str) -> str:
    return (f'<hp:tc><hp:cellAddr rowAddr="{row}" colAddr="{column}"/><hp:cellSpan rowSpan="{down}" colSpan="{right}"/>'
            f"<hp:subList>{inner}</hp:subList></hp:tc>")


def compound(streams: dict[str, bytes], fat: Callable[[int], int] | None = None, first: int | None = None, child: int = 1) -> bytes:
    "A compound file, as .hwp is one; `fat` changes the sector that follows another, `first` where streams begin, `child` the tree of names."
    sectors: list[bytes] = []
    chains: list[int] = []
    entries = [("Root Entry", 5, 0xFFFFFFFE, 0), ("BodyText", 1, 0, 0)]
    for name, data in streams.items():
        data = data.ljust(4096, b"\0")
        entries.append((name, 2, len(sectors), len(data)))
        pieces = [data[at:at + 512].ljust(512, b"\0") for at in range(0, len(data), 512)]
        chains += [*range(len(sectors) + 1, len(sectors) + len(pieces)), 0xFFFFFFFE]
        sectors += pieces
    directory = len(sectors)
    records = b""
    none = 0xFFFFFFFF
    tree = {0: (none, child), 1: (2, 3)}      # Number -> the next name of its folder, and the first name in it
    for n, (name, kind, start, size) in enumerate(entries):
        text = name.encode("utf-16-le") + b"\0\0"
        start = start if first is None or kind != 2 else first
        records += text.ljust(64, b"\0") + struct.pack("<HBBIII", len(text), kind, 1, none, *tree.get(n, (none, none))) + bytes(36) + struct.pack("<IQ", start, size)
    records = records.ljust(-(-len(records) // 512) * 512, b"\0")
    n_directory = len(records) // 512
    sectors += [records[at:at + 512] for at in range(0, len(records), 512)]
    chains += [*range(directory + 1, directory + n_directory), 0xFFFFFFFE]
    n_fat = -(-(len(chains) + 1) // 127)
    at_fat = len(sectors)
    chains += [0xFFFFFFFD] * n_fat
    if fat:
        chains = [fat(n) if chain < 0xFFFFFFFD else chain for n, chain in enumerate(chains)]
    table = struct.pack(f"<{len(chains)}I", *chains).ljust(512 * n_fat, b"\xff")
    sectors += [table[at:at + 512] for at in range(0, len(table), 512)]
    places = [*range(at_fat, at_fat + n_fat)][:109]
    header = (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16) + struct.pack("<HHHHH", 0x3E, 3, 0xFFFE, 9, 6) + bytes(6)
              + struct.pack("<IIIIIIIII", 0, n_fat, directory, 0, 4096, 0xFFFFFFFE, 0, 0xFFFFFFFE, 0)
              + struct.pack("<109I", *places, *[0xFFFFFFFF] * (109 - len(places))))
    return header + b"".join(sectors)


_HWP = b"HWP Document File".ljust(32, b"\0") + struct.pack("<II", 0x05000300, 1)


def raw(data: bytes) -> bytes:
    "Data as .hwp packs it."
    pack = zlib.compressobj(9, zlib.DEFLATED, -15)
    return pack.compress(data) + pack.flush()


def record(kind: int, level: int, data: bytes = b"", size: int | None = None) -> bytes:
    "A record of .hwp."
    size = len(data) if size is None else size
    return struct.pack("<I", kind | level << 10 | min(size, 0xFFF) << 20) + (struct.pack("<I", size) if size >= 0xFFF else b"") + data


def hwp(section: bytes) -> bytes:
    return compound({"FileHeader": _HWP, "Section0": raw(section)})


def pdf(*objects: str | bytes, trailer: str = "/Root 1 0 R", tail: str = "") -> bytes:
    "A PDF of objects without a table of their places, which PDFium makes anew."
    out = b"%PDF-1.5\n"
    for n, one in enumerate(objects, 1):
        out += f"{n} 0 obj\n".encode() + (one if isinstance(one, bytes) else one.encode("latin-1")) + b"\nendobj\n"
    return out + f"trailer<<{trailer}>>\n{tail}".encode()


def stream(data: bytes, entries: str = "") -> bytes:
    return f"<</Length {len(data)}{entries}>>stream\n".encode() + data + b"\nendstream"


_CATALOG = "<</Type/Catalog/Pages 2 0 R>>"
_PAGES = "<</Type/Pages/Kids[3 0 R]/Count 1>>"
_FONT = "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"


def page(content: bytes, extra: str = "", packs: int = 0, *more: str | bytes) -> bytes:
    "A PDF of one page; its content is packed so many times."
    for _ in range(packs):
        content = zlib.compress(content, 9)
    filters = f"/Filter[{'/FlateDecode' * packs}]" if packs else ""
    return pdf(_CATALOG, _PAGES, f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 5 0 R/Resources<</Font<</F 4 0 R>>{extra}>>>>", _FONT,
               stream(content, filters), *more)


def mail(depth: int) -> bytes:
    "Messages inside each other."
    out = b"From: a@b.c\nSubject: s\nContent-Type: text/plain\n\nlast"
    for n in range(depth):
        out = (f"From: a@b.c\nSubject: s{n}\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b{n}\n\n--b{n}\nContent-Type: message/rfc822\n\n").encode() + out + f"\n--b{n}--\n".encode()
    return out


def multipart(parts: int, body: bytes = b"x") -> bytes:
    one = b"--b\nContent-Type: text/plain\n\n" + body + b"\n"
    return b"From: a@b.c\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n" + one * parts + b"--b--\n"


def html_table(cells: str, rows: int) -> bytes:
    return ("<table>" + f"<tr>{cells}</tr>" * rows + "</table>").encode()


def files() -> dict[str, Make]:
    "Name -> what makes the bytes."
    table = "<w:tbl>{}</w:tbl>"
    deep_table = "<w:tbl><w:tr><w:tc>" * 60 + paragraph("x") + "</w:tc></w:tr></w:tbl>" * 60
    hp_table = "<hp:p><hp:run><hp:tbl>{}</hp:tbl></hp:run></hp:p>"
    million = 2**20
    return {
        "zip_of_zeros.docx": lambda: packed({"word/document.xml": bytes(60 * million)}),
        "zip_of_zeros.xlsx": lambda: packed({"xl/workbook.xml": bytes(60 * million)}),
        "zip_of_zeros.hwpx": lambda: packed({"Contents/header.xml": bytes(60 * million)}),
        "zip_many_parts.docx": lambda: packed({f"word/{n}.xml": "x" for n in range(60_000)}, zipfile.ZIP_STORED),
        "zip_cut.docx": lambda: docx(paragraph("x" * 5_000))[:700],
        "zip_no_zip.pptx": lambda: b"PK\x03\x04" + b"\0" * 100_000,
        "docx_entities.docx": lambda: docx(paragraph("&k;"), ENTITIES),
        "docx_outside.docx": lambda: docx(paragraph("&k;"), OUTSIDE),
        "docx_empty_paragraphs.docx": lambda: docx("<w:p/>" * 400_000),
        "docx_stored_empty.docx": lambda: docx("<w:p/>" * 200_000, method=zipfile.ZIP_STORED),
        "docx_nested_tables.docx": lambda: docx(deep_table),
        "docx_nested_wrappers.docx": lambda: docx("<w:sdt><w:sdtContent>" * 4_000 + paragraph("x") + "</w:sdtContent></w:sdt>" * 4_000),
        "docx_wide_span.docx": lambda: docx(table.format(f'<w:tr><w:tc><w:tcPr><w:gridSpan w:val="99999999"/></w:tcPr>{paragraph("x")}</w:tc></w:tr>' * 200)),
        "docx_many_cells.docx": lambda: docx(table.format(("<w:tr>" + f"<w:tc>{paragraph('a1')}</w:tc>" * 60 + "</w:tr>") * 500), method=zipfile.ZIP_STORED),
        "docx_list_levels.docx": lambda: docx('<w:p><w:pPr><w:numPr><w:ilvl w:val="999999"/><w:numId w:val="1"/></w:numPr></w:pPr><w:r><w:t>x</w:t></w:r></w:p>' * 2_000, method=zipfile.ZIP_STORED),
        "docx_style_circle.docx": lambda: docx('<w:p><w:pPr><w:pStyle w:val="a"/></w:pPr><w:r><w:t>x</w:t></w:r></w:p>', **{
            "word/_rels/document.xml.rels": _LINKS.format(_link("s", "styles", "styles.xml")),
            "word/styles.xml": '<w:styles xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:style w:styleId="a"><w:basedOn w:val="b"/></w:style>'
                               '<w:style w:styleId="b"><w:basedOn w:val="a"/></w:style></w:styles>'}),
        "docx_note_circle.docx": lambda: docx('<w:p><w:r><w:footnoteReference w:id="1"/></w:r></w:p>', **{
            "word/_rels/document.xml.rels": _LINKS.format(_link("f", "footnotes", "footnotes.xml")),
            "word/footnotes.xml": '<w:footnotes xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:footnote w:id="1"><w:p><w:r><w:t>x</w:t>'
                                  '<w:footnoteReference w:id="1"/></w:r></w:p></w:footnote></w:footnotes>'}),
        "xlsx_entities.xlsx": lambda: xlsx(f'<sheetData><row r="1">{cell("A1", "&k;")}</row></sheetData>', ENTITIES),
        "xlsx_empty_rows.xlsx": lambda: xlsx("<sheetData>" + "<row/>" * 1_000_000 + "</sheetData>"),
        "xlsx_far_corner.xlsx": lambda: xlsx(f'<sheetData><row r="1">{cell("A1", "x")}</row><row r="1048576">{cell("XFD1048576", "y")}</row></sheetData>'),
        "xlsx_diagonal.xlsx": lambda: xlsx("<sheetData>" + "".join(f'<row r="{n}"><c r="{column(n)}{n}"><v>{n}</v></c></row>' for n in range(1, 8_000)) + "</sheetData>"),
        "xlsx_merge_all.xlsx": lambda: xlsx(f'<sheetData><row r="1">{cell("A1", "x")}{cell("B1", "y")}</row></sheetData><mergeCells><mergeCell ref="A1:XFD1048576"/></mergeCells>'),
        "xlsx_merges_overlap.xlsx": lambda: xlsx("<sheetData>" + "".join(f'<row r="{n}">{cell(f"A{n}", f"x{n}")}</row>' for n in range(1, 3_000)) + "</sheetData><mergeCells>"
                                                 + "".join(f'<mergeCell ref="A{n}:ZZ9999"/>' for n in range(1, 3_000)) + "</mergeCells>"),
        "xlsx_strings_far.xlsx": lambda: xlsx('<sheetData><row r="1"><c r="A1" t="s"><v>99999999999</v></c></row></sheetData>', strings="<si><t>x</t></si>"),
        "xlsx_long_string.xlsx": lambda: xlsx("<sheetData>" + "".join(f'<row r="{n}"><c r="A{n}" t="s"><v>0</v></c><c r="B{n}" t="s"><v>0</v></c></row>' for n in range(1, 20_000)) + "</sheetData>",
                                              strings=f"<si><t>{'ha ' * 10_000}</t></si>", method=zipfile.ZIP_STORED),
        "xlsx_same_sheet.xlsx": lambda: xlsx("<sheetData>" + "".join(f'<row r="{n}">{cell(f"A{n}", f"x{n}")}{cell(f"B{n}", f"{n}")}</row>' for n in range(1, 500)) + "</sheetData>", sheets=3_000),
        "xlsx_dates.xlsx": lambda: xlsx("<sheetData>" + "".join(f'<row r="{n}"><c r="A{n}"><v>1e{n}</v></c></row>' for n in range(1, 400)) + "</sheetData>"),
        "pptx_entities.pptx": lambda: pptx(shape("&k;"), ENTITIES),
        "pptx_empty_paragraphs.pptx": lambda: pptx("<p:sp><p:txBody>" + "<a:p/>" * 400_000 + "</p:txBody></p:sp>"),
        "pptx_groups.pptx": lambda: pptx("<p:grpSp>" * 5_000 + shape("x") + "</p:grpSp>" * 5_000),
        "pptx_same_slide.pptx": lambda: pptx(shape("x y z") * 200, slides=5_000),
        "pptx_many_shapes.pptx": lambda: pptx("".join(shape(f"text {n}") for n in range(20_000))),
        "hwpx_entities.hwpx": lambda: hwpx(run("&k;"), ENTITIES),
        "hwpx_empty_stored.hwpx": lambda: hwpx("<hp:p/>" * 300_000 + run("x"), method=zipfile.ZIP_STORED),
        "hwpx_nested_tables.hwpx": lambda: hwpx(("<hp:p><hp:run><hp:tbl><hp:tr><hp:tc><hp:cellAddr rowAddr='0' colAddr='0'/><hp:cellSpan rowSpan='1' colSpan='1'/><hp:subList>") * 40
                                                + run("x") + "</hp:subList></hp:tc></hp:tr></hp:tbl></hp:run></hp:p>" * 40),
        "hwpx_wide_span.hwpx": lambda: hwpx(hp_table.format("<hp:tr>" + "".join(hwpx_cell(n, 0, 99_999_999, 99_999_999, run(f"x{n}")) for n in range(300)) + "</hp:tr>")),
        "hwpx_far_cells.hwpx": lambda: hwpx(hp_table.format("<hp:tr>" + "".join(hwpx_cell(n * 1_000_000, n * 1_000_000, 1, 1, run(f"x{n}")) for n in range(3_000)) + "</hp:tr>")),
        "hwpx_negative.hwpx": lambda: hwpx(hp_table.format("<hp:tr>" + hwpx_cell(-5, -5, -1, -1, run("x")) + hwpx_cell(0, 0, 0, 0, run("y")) + "</hp:tr>")),
        "hwp_bomb.hwp": lambda: hwp(bytes(60 * million)),
        "hwp_record_size.hwp": lambda: hwp(record(66, 0, b"x" * 40, 0x7FFFFFFF)),
        "hwp_levels.hwp": lambda: hwp(b"".join(record(66, min(n, 1_023), bytes(24)) for n in range(20_000))),
        "hwp_fat_circle.hwp": lambda: compound({"FileHeader": _HWP, "Section0": raw(bytes(5_000))}, fat=lambda n: n),
        "hwp_fat_two_circle.hwp": lambda: compound({"FileHeader": _HWP, "Section0": raw(bytes(5_000))}, fat=lambda n: n ^ 1),
        "hwp_outside.hwp": lambda: compound({"FileHeader": _HWP, "Section0": raw(bytes(5_000))}, first=0x7FFFFFF0),
        "hwp_names_circle.hwp": lambda: compound({"FileHeader": _HWP, "Section0": raw(bytes(5_000))}, child=0),
        "hwp_cut.hwp": lambda: hwp(record(66, 0, bytes(24)) * 500)[:900],
        "html_elements.html": lambda: b"<div>" * 200_000 + b"x",
        "html_spans.html": lambda: html_table("<td rowspan=65000 colspan=1000>x</td>" * 30, 300),
        "html_nested_tables.html": lambda: b"<table><tr><td>" * 140 + b"x",
        "html_comments.html": lambda: b"<!--" * 300_000 + b"x",
        "html_attributes.html": lambda: b"<p " + b"".join(b"a%d=1 " % n for n in range(200_000)) + b">x",
        "html_entities.html": lambda: b"<p>" + b"&amp" * 500_000,
        "html_lists.html": lambda: b"<ol>" + b"<li>x" * 100_000,
        "html_cells.html": lambda: html_table("<td>ab" * 200, 3_000),
        "html_unclosed.html": lambda: b"<b><i><u>" * 60_000 + b"x",
        "csv_one_line.csv": lambda: b"a,b,c," * (50 * million // 6),
        "csv_one_cell.csv": lambda: b'a,"' + b"x" * (20 * million),
        "csv_wide.csv": lambda: b",".join([b"a"] * 8_000) + b"\n" + b"b\n" * 8_000,
        "csv_quotes.csv": lambda: b'"' * 3_000_001,
        "csv_commas.csv": lambda: (b"," * 2_000 + b"\n") * 2_000,
        "eml_deep.eml": lambda: mail(400),
        "eml_parts.eml": lambda: multipart(30_000),
        "eml_header.eml": lambda: b"From: a@b.c\nSubject: " + b"=?utf-8?B?7JWI?= " * 60_000 + b"\n\nx",
        "eml_addresses.eml": lambda: b"From: a@b.c\nTo: " + b"<" * 200_000 + b"\n\nx",
        "eml_html.eml": lambda: b"From: a@b.c\nContent-Type: text/html\n\n" + b"<div>" * 100_000 + b"x",
        "pdf_pages_circle.pdf": lambda: pdf(_CATALOG, "<</Type/Pages/Kids[3 0 R]/Count 1>>", "<</Type/Pages/Kids[2 0 R]/Count 1>>"),
        "pdf_pages_count.pdf": lambda: pdf(_CATALOG, "<</Type/Pages/Kids[3 0 R]/Count 2000000000>>", "<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>"),
        "pdf_pages_deep.pdf": lambda: pdf(_CATALOG, *(f"<</Type/Pages/Kids[{n} 0 R]/Count 1>>" for n in range(3, 5_000)), "<</Type/Page/MediaBox[0 0 9 9]>>"),
        "pdf_table_circle.pdf": lambda: pdf(_CATALOG, _PAGES, tail="xref\n0 1\n0000000000 65535 f \ntrailer<</Root 1 0 R/Prev 9>>\nstartxref\n9\n%%EOF"),
        "pdf_packed.pdf": lambda: page(b"BT /F 9 Tf (x) Tj ET " * 3_000_000, "", 2),
        "pdf_form_circle.pdf": lambda: page(b"/X Do BT /F 9 Tf 9 9 Td (x) Tj ET", "/XObject<</X 6 0 R>>", 0,
                                            stream(b"/X Do /X Do", "/Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X 6 0 R>>>>")),
        "pdf_forms_doubling.pdf": lambda: page(b"/X Do", "/XObject<</X 6 0 R>>", 0, *(
            stream(b"/X Do " * 10, f"/Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X {n + 1} 0 R>>>>") for n in range(6, 16)), stream(b"", "/Type/XObject/Subtype/Form/BBox[0 0 9 9]")),
        "pdf_letters.pdf": lambda: page(b"BT /F 9 Tf " + b"".join(b"1 0 0 1 %d %d Tm (ab) Tj " % (n * 7 % 600, n * 11 % 800) for n in range(60_000)) + b"ET", "", 1),
        "pdf_lines.pdf": lambda: page(b"".join(b"%d 0 m %d 800 l S 0 %d m 600 %d l S " % (n % 600, n % 600, n % 800, n % 800) for n in range(60_000)) + b"BT /F 9 Tf 9 9 Td (x) Tj ET", "", 1),
        "pdf_length_circle.pdf": lambda: pdf(_CATALOG, _PAGES, "<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 5 0 R>>", _FONT, b"<</Length 5 0 R>>stream\nx\nendstream"),
        "pdf_bookmarks_circle.pdf": lambda: pdf("<</Type/Catalog/Pages 2 0 R/Outlines 5 0 R>>", _PAGES, "<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 7 0 R/Resources<</Font<</F 4 0 R>>>>>>", _FONT,
                                                "<</First 6 0 R/Last 6 0 R>>", "<</Title(x)/Parent 5 0 R/Next 6 0 R/First 6 0 R/Dest[3 0 R/Fit]>>", stream(b"BT /F 9 Tf 1 1 Td (x) Tj ET")),
    }


def column(n: int) -> str:
    "The letters of a column, from 1."
    out = ""
    while n:
        n, rest = divmod(n - 1, 26)
        out = chr(65 + rest) + out
    return out


class Reading(NamedTuple):
    "What reading a file took and gave."
    seconds: float      # Of CPU
    megabytes: float    # Peak of the largest process; 0 where it ended by itself
    told: str           # "read: … characters", or why not


def _peak() -> float:
    "The peak of memory of this process since it was forked, in megabytes."
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def _cpu() -> float:
    "Seconds of CPU of this process and those it started."
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def _read(path: Path) -> Reading:
    "Read a file in this process."
    from ragnb.documents.span import InputError
    from ragnb.documents.readers import read_by_ending
    resource.setrlimit(resource.RLIMIT_AS, (ROOM, ROOM))
    Path("/proc/self/clear_refs").write_text("5")     # the peak begins again here
    begin = _cpu()
    try:
        record = read_by_ending(path)
        texts = record.get("pages") or [record.get("text", "")]
        told = f"read: {sum(map(len, texts)):,} characters"
    except InputError as error:
        told = str(error)
    except Exception as error:
        told = f"{type(error).__name__}: {error}"
    in_children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    return Reading(round(_cpu() - begin, 2), round(max(_peak(), in_children), 1), told[:300])


def measure(path: Path) -> Reading:
    "Read a file in a process of its own."
    get, put = os.pipe()
    child = os.fork()
    if not child:
        os.close(get)
        limit = int(4 * MOST_SECONDS)
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
        with os.fdopen(put, "w") as out:
            json.dump(_read(path), out)
        os._exit(0)
    os.close(put)
    with os.fdopen(get) as source:
        found = source.read()
    _, status = os.waitpid(child, 0)
    return Reading(*json.loads(found)) if found else Reading(0.0, 0.0, f"the process ended: {status}")


def is_within(reading: Reading) -> bool:
    "Check a reading against the limits."
    return reading.seconds <= MOST_SECONDS and 0 < reading.megabytes <= MOST_MEGABYTES


def measured(only: str = "", quiet: bool = True) -> dict[str, Reading]:
    "Make each file, read it and delete it."
    import lxml.etree
    import lxml.html
    import numpy
    import olefile
    import pypdfium2
    from ragnb.documents.readers import read_by_ending
    from ragnb.documents.text import load_kiwi
    loaded = lxml.etree, lxml.html, numpy, olefile, pypdfium2, load_kiwi()
    found: dict[str, Reading] = {}
    with tempfile.TemporaryDirectory() as place:
        for kind in ("x.html", "x.csv"):      # all readers are registered
            path = Path(place, kind)
            path.write_text("a,b\n1,2\n")
            read_by_ending(path)
        for name, make in files().items():
            if only in name:
                path = Path(place, name)
                path.write_bytes(make())
                found[name] = reading = measure(path)
                if not quiet:
                    print(f"{'' if is_within(reading) else 'OVER ':<6}{name:<30}{reading.seconds:>7.2f} s{reading.megabytes:>8.0f} MB  {reading.told[:110]}", flush=True)
                path.unlink()
    del loaded
    return found


def main() -> int:
    "Print what each file took."
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="files whose names have this")
    parser.add_argument("--table", action="store_true", help="a row for each kind of file")
    options = parser.parse_args()
    readings = measured(options.only, options.table)
    if options.table:
        kinds: dict[str, list[Reading]] = defaultdict(list)
        for name, reading in readings.items():
            kinds[name.rpartition(".")[2]].append(reading)
        print("| kind | files | read | refused with a reason | most CPU, s | most memory, MB |\n|---|--:|--:|--:|--:|--:|")
        for kind, rows in kinds.items():
            n_read = sum(row.told.startswith("read:") for row in rows)
            print(f"| {kind} | {len(rows)} | {n_read} | {len(rows) - n_read} | {max(r.seconds for r in rows):.1f} | {max(r.megabytes for r in rows):.0f} |")
    over = [name for name, reading in readings.items() if not is_within(reading)]
    print(f"{len(readings)} files, {sum(r.seconds for r in readings.values()):.1f} s of CPU; over a limit: {', '.join(over) or 'none'}")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
