"""Write office files from short descriptions: workbooks, Word documents, slides, web pages, HWPX and PDF.

A table is a list of rows. In a row, `>` joins a cell to the one on its left and `^` to the one above it.
"""
from __future__ import annotations

import io
import re
import subprocess
import tempfile
import zipfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from xml.sax.saxutils import escape

Rows = Sequence[Sequence[Any]]
Make = Callable[[], bytes]


class Spanned(NamedTuple):
    "A cell of a table with its size."
    row: int
    column: int
    height: int
    width: int
    value: Any


def spanned(rows: Rows) -> list[Spanned]:
    "The cells of a table, joined as its marks say."
    cells = []
    for n, row in enumerate(rows):
        for at, value in enumerate(row):
            if value in (">", "^"):
                continue
            width = 1
            while at + width < len(row) and row[at + width] == ">":
                width += 1
            height = 1
            while n + height < len(rows) and at < len(rows[n + height]) and rows[n + height][at] == "^":
                height += 1
            cells.append(Spanned(n, at, height, width, value))
    return cells


_WHEN = (2025, 1, 2, 3, 4, 6)


def _zip(parts: Mapping[str, str | bytes], stored: Sequence[str] = ()) -> bytes:
    "An archive that is the same every time."
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            info = zipfile.ZipInfo(name, _WHEN)
            info.compress_type = zipfile.ZIP_STORED if name in stored else zipfile.ZIP_DEFLATED
            archive.writestr(info, data.encode() if isinstance(data, str) else data)
    return out.getvalue()


def _same_every_time(data: bytes, change: Callable[[str, str], str] = lambda name, xml: xml) -> bytes:
    "An archive without the time it was made, its XML changed."
    parts: dict[str, str | bytes] = {}
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for name in archive.namelist():
            part = archive.read(name)
            if name == "docProps/core.xml":
                part = re.sub(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", b"2025-01-02T03:04:06Z", part)
            part = _same_every_time(part) if name.endswith(".xlsx") else part    # the workbook behind a chart
            parts[name] = change(name, part.decode()) if name.endswith(".xml") else part
    return _zip(parts)


# Workbooks

class F(NamedTuple):
    "A formula with the value that the program stored; None for none."
    formula: str
    value: float | str | None = None


class Shown(NamedTuple):
    "A value with a number format."
    value: Any
    format: str


def sheet(name: str, rows: Rows, *, at: tuple[int, int] = (1, 1), hide_rows: Sequence[int] = (), hide_columns: Sequence[str] = (),
          state: str = "visible", **more: Any) -> dict[str, Any]:
    "Describe a sheet; `more`: comments, filter, table, bold, change."
    return {"name": name, "rows": rows, "at": at, "hide_rows": hide_rows, "hide_columns": hide_columns, "state": state, **more}


def _fill_sheet(ws: Any, spec: Mapping[str, Any], values: list[Any]) -> None:
    from openpyxl.comments import Comment
    from openpyxl.styles import Font
    top, left = spec["at"]
    for c in spanned(spec["rows"]):
        place = ws.cell(top + c.row, left + c.column)
        value = c.value
        if isinstance(value, Shown):
            place.number_format = value.format
            value = value.value
        if isinstance(value, F):
            values.append(value.value)
            value = value.formula
        if value not in ("", None):
            place.value = value
        if c.height > 1 or c.width > 1:
            ws.merge_cells(start_row=place.row, start_column=place.column,
                           end_row=place.row + c.height - 1, end_column=place.column + c.width - 1)
    for n in spec["hide_rows"]:
        ws.row_dimensions[n].hidden = True
    for letter in spec["hide_columns"]:
        ws.column_dimensions[letter].hidden = True
    for place, text in spec.get("comments", {}).items():
        ws[place].comment = Comment(text, "담당자")
    for place in spec.get("bold", ()):
        ws[place].font = Font(bold=True)
    for place in spec.get("struck", ()):
        ws[place].font = Font(strike=True)
    if "filter" in spec:
        ws.auto_filter.ref = spec["filter"]
    if "table" in spec:
        from openpyxl.worksheet.table import Table
        ws.add_table(Table(displayName="Data1", ref=spec["table"]))
    ws.sheet_state = spec["state"]
    if "change" in spec:
        spec["change"](ws)


def _book(specs: Sequence[Mapping[str, Any]], change: Callable[[str, str], str] | None) -> bytes:
    from openpyxl import Workbook
    wb = Workbook()
    wb.remove(wb.active)
    stored: dict[str, list[Any]] = {}
    for n, spec in enumerate(specs, 1):
        values = stored[f"xl/worksheets/sheet{n}.xml"] = []
        _fill_sheet(wb.create_sheet(spec["name"]), spec, values)
    out = io.BytesIO()
    wb.save(out)

    def with_values(name: str, xml: str) -> str:
        left = iter(stored.get(name, ()))

        def put(found: re.Match[str]) -> str:
            value = next(left)
            if value is None:
                return found[0]
            kind = ' t="str"' if isinstance(value, str) else ""
            return f"<c{found[1]}{kind}><f>{found[2]}</f><v>{escape(str(value))}</v></c>"
        xml = re.sub(r"<c((?: [rs]=\"[^\"]*\")*)><f>(.*?)</f><v ?/?>(?:</v>)?</c>", put, xml)
        return change(name, xml) if change else xml
    return _same_every_time(out.getvalue(), with_values)


def book(*specs: Mapping[str, Any], change: Callable[[str, str], str] | None = None) -> Make:
    "A workbook."
    return partial(_book, specs, change)


_SS = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_REL = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACK = "http://schemas.openxmlformats.org/package/2006"
_XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'


def _relations(**targets: str) -> str:
    rows = "".join(f'<Relationship Id="rId{n}" Type="{_REL}/{kind.rstrip("0123456789")}" Target="{target}"/>'
                   for n, (kind, target) in enumerate(targets.items(), 1))
    return f'{_XML}<Relationships xmlns="{_PACK}/relationships">{rows}</Relationships>'


def _types(**parts: str) -> str:
    rows = "".join(f'<Override PartName="/{name}" ContentType="application/vnd.openxmlformats-officedocument.{kind}+xml"/>'
                   for name, kind in parts.items())
    return (f'{_XML}<Types xmlns="{_PACK}/content-types"><Default Extension="rels" '
            f'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            f'<Default Extension="xml" ContentType="application/xml"/>{rows}</Types>')


def _raw_book(name: str, rows: str, strings: str, more: str, formats: Sequence[str], date1904: bool) -> bytes:
    styles = "".join(f'<numFmt numFmtId="{164 + n}" formatCode="{escape(f)}"/>' for n, f in enumerate(formats))
    ids = [0, 14, 9, 10, *range(164, 164 + len(formats))]
    cells = "".join(f'<xf numFmtId="{n}" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/>' for n in ids)
    parts = {
        "[Content_Types].xml": _types(**{"xl/workbook.xml": "spreadsheetml.sheet.main", "xl/styles.xml": "spreadsheetml.styles",
                                         "xl/worksheets/sheet1.xml": "spreadsheetml.worksheet",
                                         "xl/sharedStrings.xml": "spreadsheetml.sharedStrings"}),
        "_rels/.rels": _relations(officeDocument="xl/workbook.xml"),
        "xl/_rels/workbook.xml.rels": _relations(worksheet="worksheets/sheet1.xml", styles="styles.xml",
                                                 sharedStrings="sharedStrings.xml"),
        "xl/workbook.xml": f'{_XML}<workbook xmlns="{_SS}" xmlns:r="{_REL}">{"<workbookPr date1904=%s1%s/>" % (chr(34), chr(34)) if date1904 else ""}'
                           f'<sheets><sheet name="{name}" sheetId="1" r:id="rId1"/></sheets></workbook>',
        "xl/styles.xml": f'{_XML}<styleSheet xmlns="{_SS}"><numFmts count="{len(formats)}">{styles}</numFmts>'
                         '<fonts count="1"><font><sz val="11"/><name val="맑은 고딕"/></font></fonts>'
                         '<fills count="1"><fill><patternFill patternType="none"/></fill></fills>'
                         '<borders count="1"><border><left/><right/><top/><bottom/></border></borders>'
                         '<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>'
                         f'<cellXfs count="{len(ids)}">{cells}</cellXfs></styleSheet>',
        "xl/sharedStrings.xml": f'{_XML}<sst xmlns="{_SS}">{strings}</sst>',
        "xl/worksheets/sheet1.xml": f'{_XML}<worksheet xmlns="{_SS}" xmlns:r="{_REL}"><sheetData>{rows}</sheetData>{more}</worksheet>',
    }
    if not formats:
        parts["xl/styles.xml"] = parts["xl/styles.xml"].replace('<numFmts count="0"></numFmts>', "")
    return _zip(parts)


def raw_book(name: str, rows: str, strings: str = "", more: str = "", formats: Sequence[str] = (), date1904: bool = False) -> Make:
    "A workbook of raw XML; style 1 is the short date, 2 and 3 are percents, 4 and on are the formats given."
    return partial(_raw_book, name, rows, strings, more, formats, date1904)


# Word documents

_W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_WP = "http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing"
_A = "http://schemas.openxmlformats.org/drawingml/2006/main"
_WPS = "http://schemas.microsoft.com/office/word/2010/wordprocessingShape"
_MC = "http://schemas.openxmlformats.org/markup-compatibility/2006"
_M = "http://schemas.openxmlformats.org/officeDocument/2006/math"
_STRICT = {_W: "http://purl.oclc.org/ooxml/wordprocessingml/main", _REL: "http://purl.oclc.org/ooxml/officeDocument/relationships",
           _SS: "http://purl.oclc.org/ooxml/spreadsheetml/main", _M: "http://purl.oclc.org/ooxml/officeDocument/math"}


def strict(xml: str) -> str:
    "XML in the names of Strict Open XML."
    for usual, name in _STRICT.items():
        xml = xml.replace(usual, name)
    return xml


def t(text: str, props: str = "") -> str:
    "A run of text; tabs and line breaks as elements."
    inner = "".join({"\t": "<w:tab/>", "\n": "<w:br/>"}.get(part, f'<w:t xml:space="preserve">{escape(part)}</w:t>')
                    for part in re.split(r"([\t\n])", text) if part)
    return f"<w:r>{f'<w:rPr>{props}</w:rPr>' if props else ''}{inner}</w:r>"


def p(text: str, style: str = "", num: tuple[int, int] | None = None, props: str = "") -> str:
    "A paragraph of text, or of runs."
    number = f'<w:numPr><w:ilvl w:val="{num[1]}"/><w:numId w:val="{num[0]}"/></w:numPr>' if num else ""
    head = (f'<w:pStyle w:val="{style}"/>' if style else "") + number + props
    inner = text if text.startswith("<") else t(text)
    return f"<w:p>{f'<w:pPr>{head}</w:pPr>' if head else ''}{inner}</w:p>"


def tbl(rows: Rows, header_rows: int = 0) -> str:
    "A table; a cell is text, or paragraphs."
    width = max(map(len, rows))
    joined = {(c.row, c.column): c for c in spanned(rows)}
    lines = []
    for n, row in enumerate(rows):
        cells = []
        at = 0
        while at < len(row):
            above = n
            while row[at] == "^" and (above, at) not in joined:
                above -= 1
            c = joined[above, at]
            span = f'<w:gridSpan w:val="{c.width}"/>' if c.width > 1 else ""
            merge = '<w:vMerge w:val="restart"/>' if c.height > 1 and above == n else "<w:vMerge/>" if above < n else ""
            value = str(c.value) if above == n else ""
            inner = value if value.startswith("<w:") else p(value)
            cells.append(f'<w:tc><w:tcPr><w:tcW w:w="{1800 * c.width}" w:type="dxa"/>{span}{merge}</w:tcPr>{inner}</w:tc>')
            at += c.width
        head = "<w:trPr><w:tblHeader/></w:trPr>" if n < header_rows else ""
        lines.append(f"<w:tr>{head}{''.join(cells)}</w:tr>")
    borders = "".join(f'<w:{side} w:val="single" w:sz="4"/>' for side in ("top", "left", "bottom", "right", "insideH", "insideV"))
    return (f'<w:tbl><w:tblPr><w:tblW w:w="{1800 * width}" w:type="dxa"/><w:tblBorders>{borders}</w:tblBorders></w:tblPr>'
            f'<w:tblGrid>{"<w:gridCol w:w=%s1800%s/>" % (chr(34), chr(34)) * width}</w:tblGrid>{"".join(lines)}</w:tbl>')


def level(n: int, kind: str, text: str, start: int = 1, more: str = "") -> str:
    "A level of a numbering."
    return f'<w:lvl w:ilvl="{n}"><w:start w:val="{start}"/><w:numFmt w:val="{kind}"/>{more}<w:lvlText w:val="{text}"/></w:lvl>'


def numbering(*lists: Sequence[str], restarts: Mapping[int, tuple[int, int]] | None = None) -> str:
    "Numberings 1, 2, … of levels; `restarts`: number -> the list it takes over, and its first number."
    abstract = "".join(f'<w:abstractNum w:abstractNumId="{n}"><w:multiLevelType w:val="multilevel"/>{"".join(levels)}</w:abstractNum>'
                       for n, levels in enumerate(lists, 1))
    nums = "".join(f'<w:num w:numId="{n}"><w:abstractNumId w:val="{n}"/></w:num>' for n in range(1, len(lists) + 1))
    nums += "".join(f'<w:num w:numId="{n}"><w:abstractNumId w:val="{of}"/><w:lvlOverride w:ilvl="0"><w:startOverride w:val="{start}"/>'
                    f'</w:lvlOverride></w:num>' for n, (of, start) in (restarts or {}).items())
    return abstract + nums


def textbox(inner: str) -> str:
    "A text box as Word writes it: the shape, and a fallback with the same text."
    drawing = (f'<w:drawing><wp:anchor xmlns:wp="{_WP}" behindDoc="0"><wp:extent cx="2000000" cy="800000"/><wp:docPr id="7" name="글상자"/>'
               f'<a:graphic xmlns:a="{_A}"><a:graphicData uri="{_WPS}"><wps:wsp xmlns:wps="{_WPS}"><wps:txbx><w:txbxContent>{inner}'
               '</w:txbxContent></wps:txbx></wps:wsp></a:graphicData></a:graphic></wp:anchor></w:drawing>')
    pict = (f'<w:pict><v:shape xmlns:v="urn:schemas-microsoft-com:vml"><v:textbox><w:txbxContent>{inner}</w:txbxContent></v:textbox>'
            '</v:shape></w:pict>')
    return (f'<w:r><mc:AlternateContent xmlns:mc="{_MC}"><mc:Choice Requires="wps" xmlns:wps="{_WPS}">{drawing}</mc:Choice>'
            f'<mc:Fallback>{pict}</mc:Fallback></mc:AlternateContent></w:r>')


def footnote(n: int) -> str:
    "The mark of a footnote."
    return f'<w:r><w:rPr><w:vertAlign w:val="superscript"/></w:rPr><w:footnoteReference w:id="{n}"/></w:r>'


_HEADINGS = {f"Heading{n + 1}": f'<w:style w:type="paragraph" w:styleId="Heading{n + 1}"><w:name w:val="heading {n + 1}"/><w:pPr><w:outlineLvl w:val="{n}"/></w:pPr>'
             f'<w:rPr><w:b/><w:sz w:val="{36 - 4 * n}"/></w:rPr></w:style>' for n in range(3)}


def _docx(body: Sequence[str], numbers: str, notes: Mapping[int, str], header: str, footer: str, styles: str, comments: str,
          endnotes: Mapping[int, str], section: str, is_strict: bool) -> bytes:
    space = f'xmlns:w="{_W}" xmlns:r="{_REL}" xmlns:m="{_M}"'
    targets = {"styles": "styles.xml"}
    kinds = {"word/document.xml": "wordprocessingml.document.main", "word/styles.xml": "wordprocessingml.styles"}
    parts: dict[str, str | bytes] = {}
    references = ""

    def part(kind: str, root: str, inner: str) -> None:
        targets[kind] = f"{kind}.xml"
        kinds[f"word/{kind}.xml"] = f"wordprocessingml.{kind.rstrip('0123456789')}"
        parts[f"word/{kind}.xml"] = f"{_XML}<w:{root} {space}>{inner}</w:{root}>"
    for kind, texts in (("footnote", notes), ("endnote", endnotes)):
        if texts:
            inner = "".join(f'<w:{kind} w:id="{n}">{p(f"<w:r><w:{kind}Ref/></w:r>" + t(" " + text))}</w:{kind}>' for n, text in texts.items())
            marks = f'<w:{kind} w:type="separator" w:id="-1"><w:p><w:r><w:separator/></w:r></w:p></w:{kind}>'
            part(f"{kind}s", f"{kind}s", marks + inner)
    if numbers:
        part("numbering", "numbering", numbers)
    if comments:
        part("comments", "comments", comments)
    for kind, root, text in (("header1", "hdr", header), ("footer1", "ftr", footer)):
        if text:
            part(kind, root, text if text.startswith("<") else p(text))
            references += f'<w:{kind[:-1]}Reference w:type="default" r:id="rId{len(targets)}"/>'
    size = '<w:pgSz w:w="11906" w:h="16838"/><w:pgMar w:top="1440" w:right="1300" w:bottom="1440" w:left="1300" w:header="700" w:footer="700"/>'
    parts["word/document.xml"] = (f'{_XML}<w:document {space}><w:body>{"".join(body)}'
                                  f'<w:sectPr>{references}{size}{section}</w:sectPr></w:body></w:document>')
    parts["word/styles.xml"] = (f'{_XML}<w:styles {space}><w:docDefaults><w:rPrDefault><w:rPr><w:rFonts w:ascii="NanumGothic" '
                                f'w:eastAsia="NanumGothic" w:hAnsi="NanumGothic"/><w:sz w:val="21"/></w:rPr></w:rPrDefault></w:docDefaults>'
                                f'{"".join(xml for name, xml in _HEADINGS.items() if f"{chr(34)}{name}{chr(34)}" not in styles)}{styles}</w:styles>')
    parts["word/_rels/document.xml.rels"] = _relations(**targets)
    parts = {"[Content_Types].xml": _types(**kinds), "_rels/.rels": _relations(officeDocument="word/document.xml"), **parts}
    return _zip({name: strict(data) if is_strict and isinstance(data, str) else data for name, data in parts.items()})


def docx(*body: str, numbers: str = "", notes: Mapping[int, str] | None = None, header: str = "", footer: str = "", styles: str = "",
         comments: str = "", endnotes: Mapping[int, str] | None = None, section: str = "", is_strict: bool = False) -> Make:
    "A Word document of paragraphs and tables."
    return partial(_docx, body, numbers, notes or {}, header, footer, styles, comments, endnotes or {}, section, is_strict)


def _python_docx(fill: Callable[[Any], None]) -> bytes:
    import docx as library
    document = library.Document()
    fill(document)
    out = io.BytesIO()
    document.save(out)
    return _same_every_time(out.getvalue())


def python_docx(fill: Callable[[Any], None]) -> Make:
    "A Word document of python-docx."
    return partial(_python_docx, fill)


def _slides(fill: Callable[[Any], None]) -> bytes:
    import pptx
    deck = pptx.Presentation()
    fill(deck)
    out = io.BytesIO()
    deck.save(out)
    return _same_every_time(out.getvalue())


def slides(fill: Callable[[Any], None]) -> Make:
    "Slides of python-pptx."
    return partial(_slides, fill)


def slide_table(slide: Any, rows: Rows, top: float = 2.0) -> None:
    "A table on a slide."
    from pptx.util import Inches
    shape = slide.shapes.add_table(len(rows), max(map(len, rows)), Inches(1), Inches(top), Inches(8), Inches(2))
    for c in spanned(rows):
        place = shape.table.cell(c.row, c.column)
        place.text = str(c.value)
        if c.height > 1 or c.width > 1:
            place.merge(shape.table.cell(c.row + c.height - 1, c.column + c.width - 1))


# Text files and web pages

def text(content: str, encoding: str = "utf-8", line: str = "\n") -> Make:
    "A file of text."
    return lambda: content.replace("\n", line).encode(encoding)


def html_table(rows: Rows, head: int = 1, caption: str = "", foot: int = 0, attributes: str = ' border="1"') -> str:
    "A table of a web page; the first rows are its head, the last its foot."
    cells: dict[int, list[str]] = {n: [] for n in range(len(rows))}
    for c in spanned(rows):
        tag = "th" if c.row < head else "td"
        span = (f' rowspan="{c.height}"' if c.height > 1 else "") + (f' colspan="{c.width}"' if c.width > 1 else "")
        cells[c.row].append(f"<{tag}{span}>{c.value}</{tag}>")
    lines = [f"<tr>{''.join(cells[n])}</tr>" for n in range(len(rows))]
    body = lines[head:len(rows) - foot]
    return (f"<table{attributes}>" + (f"<caption>{caption}</caption>" if caption else "") + (f"<thead>{''.join(lines[:head])}</thead>" if head else "")
            + f"<tbody>{''.join(body)}</tbody>" + (f"<tfoot>{''.join(lines[len(rows) - foot:])}</tfoot>" if foot else "") + "</table>")


def web(body: str, title: str = "", encoding: str = "utf-8", meta: str | None = None, head: str = "") -> Make:
    "A web page; `meta`: the encoding that it states, '' for none."
    stated = encoding if meta is None else meta
    mark = f'<meta charset="{stated}">' if stated else ""
    page = f"<!DOCTYPE html>\n<html lang=\"ko\"><head>{mark}<title>{title}</title>{head}</head>\n<body>{body}</body></html>\n"
    return lambda: page.encode(encoding)


# HWPX

_HP = "http://www.hancom.co.kr/hwpml/2011/paragraph"
_HS = "http://www.hancom.co.kr/hwpml/2011/section"
_HH = "http://www.hancom.co.kr/hwpml/2011/head"
_HC = "http://www.hancom.co.kr/hwpml/2011/core"


def hp(inner: str, style: int = 0, form: int = 0) -> str:
    "A paragraph of text, or of what stands in a run."
    inner = inner if inner.startswith("<") else f"<hp:t>{escape(inner)}</hp:t>"
    return f'<hp:p id="0" paraPrIDRef="{form}" styleIDRef="{style}" pageBreak="0" columnBreak="0" merged="0"><hp:run charPrIDRef="0">{inner}</hp:run></hp:p>'


def hlist(*paragraphs: str) -> str:
    "Paragraphs inside a cell, a caption, a note or a box."
    inner = "".join(one if one.startswith("<hp:p") else hp(one) for one in paragraphs)
    return f'<hp:subList id="" textDirection="HORIZONTAL" lineWrap="BREAK" vertAlign="CENTER">{inner}</hp:subList>'


def htbl(rows: Rows, caption: str = "", side: str = "TOP", shuffled: bool = False) -> str:
    "A table; `shuffled`: the cells of a row are stored from right to left, their addresses are right."
    above = f'<hp:caption side="{side}" fullSz="0" width="8504" gap="850" lastWidth="0">{hlist(caption)}</hp:caption>' if caption else ""
    lines: dict[int, list[str]] = {n: [] for n in range(len(rows))}
    for c in spanned(rows):
        value = [c.value] if isinstance(c.value, str) else [*c.value]
        lines[c.row].append(
            f'<hp:tc name="" header="0" hasMargin="0" protect="0" editable="0" dirty="0" borderFillIDRef="1">{hlist(*value)}'
            f'<hp:cellAddr colAddr="{c.column}" rowAddr="{c.row}"/><hp:cellSpan colSpan="{c.width}" rowSpan="{c.height}"/>'
            f'<hp:cellSz width="9000" height="1000"/><hp:cellMargin left="510" right="510" top="141" bottom="141"/></hp:tc>')
    inner = "".join(f"<hp:tr>{''.join(reversed(line) if shuffled else line)}</hp:tr>" for line in lines.values())
    return (f'<hp:tbl id="1" zOrder="0" numberingType="TABLE" textWrap="TOP_AND_BOTTOM" textFlow="BOTH_SIDES" lock="0" dropcapstyle="None" '
            f'pageBreak="CELL" repeatHeader="1" rowCnt="{len(rows)}" colCnt="{max(map(len, rows))}" cellSpacing="0" borderFillIDRef="1">'
            f'<hp:sz width="40000" widthRelTo="ABSOLUTE" height="4000" heightRelTo="ABSOLUTE" protect="0"/>{above}{inner}</hp:tbl>')


def hnote(text: str, number: int, kind: str = "footNote") -> str:
    "A footnote or an endnote."
    return f'<hp:ctrl><hp:{kind} number="{number}" instId="{number}">{hlist(text)}</hp:{kind}></hp:ctrl>'


def hbox(*paragraphs: str) -> str:
    "A rectangle with text."
    return f'<hp:rect id="3" zOrder="0"><hp:drawText lastWidth="1000" name="" editable="0">{hlist(*paragraphs)}</hp:drawText></hp:rect>'


def _hwpx(sections: Sequence[Sequence[str]], header: str) -> bytes:
    space = f'xmlns:hp="{_HP}" xmlns:hs="{_HS}" xmlns:hh="{_HH}" xmlns:hc="{_HC}"'
    items = "".join(f'<opf:item id="section{n}" href="Contents/section{n}.xml" media-type="application/xml"/>' for n in range(len(sections)))
    spine = "".join(f'<opf:itemref idref="section{n}"/>' for n in range(len(sections)))
    parts: dict[str, str | bytes] = {
        "mimetype": "application/hwp+zip",
        "version.xml": f'{_XML}<hv:HCFVersion xmlns:hv="http://www.hancom.co.kr/hwpml/2011/version" tagetApplication="WORDPROCESSOR" major="5" minor="1"/>',
        "META-INF/container.xml": f'{_XML}<ocf:container xmlns:ocf="urn:oasis:names:tc:opendocument:xmlns:container"><ocf:rootfiles>'
                                  '<ocf:rootfile full-path="Contents/content.hpf" media-type="application/hwpml-package+xml"/></ocf:rootfiles></ocf:container>',
        "Contents/content.hpf": f'{_XML}<opf:package xmlns:opf="http://www.idpf.org/2007/opf/" version="" unique-identifier="" id=""><opf:metadata/>'
                                '<opf:manifest><opf:item id="header" href="Contents/header.xml" media-type="application/xml"/>'
                                f'{items}</opf:manifest><opf:spine><opf:itemref idref="header"/>{spine}</opf:spine></opf:package>',
        "Contents/header.xml": f'{_XML}<hh:head {space} version="1.4" secCnt="{len(sections)}"><hh:refList>{header}</hh:refList></hh:head>',
    }
    for n, body in enumerate(sections):
        parts[f"Contents/section{n}.xml"] = f"{_XML}<hs:sec {space}>{''.join(body)}</hs:sec>"
    return _zip(parts, stored=("mimetype",))


def hwpx(*body: str, more: Sequence[Sequence[str]] = (), header: str = "") -> Make:
    "A HWPX file of paragraphs; `more`: its further sections, `header`: what stands in the lists of header.xml."
    return partial(_hwpx, [body, *more], header)


# PDF. The files are made once and kept, because other machines lack the programs and fonts.

FONT = "/usr/share/fonts/truetype/nanum/NanumGothic.ttf"


def _printed(page: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "page.html")
        source.write_text(page, encoding="utf-8")
        target = Path(folder, "page.pdf")
        subprocess.run(["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer", f"--print-to-pdf={target}",
                        source.as_uri()], check=True, capture_output=True, timeout=120)
        return target.read_bytes()


def printed(body: str, style: str = "", head: str = "") -> Make:
    "A web page printed to PDF by Chromium."
    css = f"<style>@page{{size:A4;margin:18mm}}body{{font:11pt NanumGothic;line-height:1.5}}table{{border-collapse:collapse}}{style}</style>"
    return partial(_printed, f'<!DOCTYPE html><html lang="ko"><meta charset="utf-8">{css}{head}<body>{body}</body></html>')


def _exported(make: Make, suffix: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, f"file{suffix}")
        source.write_bytes(make())
        subprocess.run(["soffice", f"-env:UserInstallation=file://{folder}/profile", "--headless", "--convert-to", "pdf", "--outdir", folder,
                        str(source)], check=True, capture_output=True, timeout=180)
        return source.with_suffix(".pdf").read_bytes()


def exported(make: Make, suffix: str = ".docx") -> Make:
    "A document exported to PDF by LibreOffice."
    return partial(_exported, make, suffix)


def _drawn(pages: Sequence[Sequence[Any]], fields: Sequence[Any]) -> bytes:
    from reportlab.lib.pagesizes import A4
    from reportlab.pdfbase import pdfmetrics
    from reportlab.pdfbase.ttfonts import TTFont
    from reportlab.pdfgen.canvas import Canvas
    pdfmetrics.registerFont(TTFont("Nanum", FONT))
    out = io.BytesIO()
    canvas = Canvas(out, pagesize=A4, invariant=1)
    for n, page in enumerate(pages):
        for x, y, size, text_ in (one for one in page if len(one) == 4 and isinstance(one[3], str)):
            canvas.setFont("Nanum", size)
            canvas.drawString(x, A4[1] - y, text_)
        for x0, y0, x1, y1 in (one for one in page if not isinstance(one[3], str)):
            canvas.line(x0, A4[1] - y0, x1, A4[1] - y1)
        for kind, number, more in fields:
            if number == n:
                getattr(canvas.acroForm, kind)(**{**more, "y": A4[1] - more["y"]})
        canvas.showPage()
    canvas.save()
    return out.getvalue()


def drawn(*pages: Sequence[Any], fields: Sequence[Any] = ()) -> Make:
    "Pages of (x, y from the top, size, text) and of lines (x, y, x, y), drawn by reportlab; `fields`: (kind, page, options)."
    return partial(_drawn, pages, fields)


def lines(x: float, y: float, texts: Sequence[str], size: float = 10, step: float = 16) -> list[Any]:
    "Lines of text below each other."
    return [(x, y + n * step, size, one) for n, one in enumerate(texts) if one]


def grid(x: Sequence[float], y: float, rows: Rows, size: float = 10, step: float = 18, ruled: bool = False) -> list[Any]:
    "Rows of cells at these places; with rules around them where asked."
    drawn_ = [(x[at], y + n * step, size, str(value)) for n, row in enumerate(rows) for at, value in enumerate(row) if value not in ("", ">", "^")]
    if ruled:
        edges = [*(one - 4 for one in x), x[-1] + 90]
        bottom = y + len(rows) * step - 13
        drawn_ += [(edges[0], y - 13 + n * step, edges[-1], y - 13 + n * step) for n in range(len(rows) + 1)]
        drawn_ += [(edge, y - 13, edge, bottom) for edge in edges]
    return drawn_


def _written(fill: Callable[[Any], None]) -> bytes:
    import datetime
    from fpdf import FPDF
    pdf = FPDF()
    pdf.set_creation_date(datetime.datetime(2025, 1, 2, tzinfo=datetime.timezone.utc))
    pdf.add_font("Nanum", "", FONT)
    pdf.add_font("Nanum", "B", FONT.replace("Gothic", "GothicBold"))
    pdf.set_font("Nanum", size=11)
    fill(pdf)
    return bytes(pdf.output())


def written(fill: Callable[[Any], None]) -> Make:
    "A PDF of fpdf2."
    return partial(_written, fill)
