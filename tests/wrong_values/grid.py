"""Tables and texts of office files that were read with values under the wrong header, or with what the file does not show."""
from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

from before_after import item

from ragnb import read_documents


def read(folder: Path) -> tuple[str, list[str]]:
    "The text of the only document of a folder, and the remarks on it."
    problems: list[Any] = []
    (document,) = read_documents(folder, problems)
    return document.text, [str(problem).split(": ", 1)[1] for problem in problems]


def row(text: str, key: str) -> str:
    "The first line with a key, without the blanks that a writer may add."
    return next((" ".join(line.split()) for line in text.splitlines() if key in line), "")


def word(folder: Path) -> Any:
    "An empty Word document, and the function that saves it."
    from docx import Document
    return Document(), folder / "a.docx"


def fill(table: Any, rows: list[list[str]]) -> None:
    "Write texts into the cells of a table of Word or PowerPoint."
    for y, values in enumerate(rows):
        for x, value in enumerate(values):
            table.cell(y, x).text = value


def sheet(folder: Path, rows: list[list[Any]]) -> Any:
    "A workbook with one sheet."
    from openpyxl import Workbook
    book = Workbook()
    for values in rows:
        book.active.append(values)
    return book


@item(right="| 수도권 | 주임 | 52,000 | 11,000 |")
def word_merged_label(folder: Path) -> str:
    "Word: the row below a merged label has its label and its columns"
    document, path = word(folder)
    table = document.add_table(3, 4)
    fill(table, [["지역", "직급", "교통", "식비"], ["수도권", "팀장", "60,000", "15,000"], ["", "주임", "52,000", "11,000"]])
    table.cell(1, 0).merge(table.cell(2, 0))
    document.save(path)
    return row(read(folder)[0], "주임")


@item(right="| 도서 | 3만원 | 5만원 |")
def word_merged_header(folder: Path) -> str:
    "Word: a header of two rows becomes one, and the row below it keeps its columns"
    document, path = word(folder)
    table = document.add_table(3, 3)
    fill(table, [["항목", "2031년", ""], ["", "봄", "가을"], ["도서", "3만원", "5만원"]])
    table.cell(0, 1).merge(table.cell(0, 2))
    table.cell(0, 0).merge(table.cell(1, 0))
    document.save(path)
    text = read(folder)[0]
    return row(text, "도서") if "| 항목 | 2031년 봄 | 2031년 가을 |" in text else text[:80]


@item(right=["제1조(목적)", "제2조(기간)", "① 한 해로 한다."])
def word_numbers(folder: Path) -> list[str]:
    "Word: numbers of articles that Word counts are in the text"
    from docx.oxml import parse_xml
    document, path = word(folder)
    main = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    levels = "".join(f'<w:lvl w:ilvl="{n}"><w:start w:val="1"/><w:numFmt w:val="{kind}"/><w:lvlText w:val="{text}"/></w:lvl>'
                     for n, kind, text in ((0, "decimal", "제%1조"), (1, "decimalEnclosedCircle", "%2")))
    numbering = document.part.numbering_part.element
    numbering.insert(0, parse_xml(f'<w:abstractNum xmlns:w="{main}" w:abstractNumId="91">{levels}</w:abstractNum>'))
    numbering.append(parse_xml(f'<w:num xmlns:w="{main}" w:numId="91"><w:abstractNumId w:val="91"/></w:num>'))
    for text, level in (("(목적)", 0), ("(기간)", 0), ("한 해로 한다.", 1)):
        about = document.add_paragraph(text)._p.get_or_add_pPr()
        about.append(parse_xml(f'<w:numPr xmlns:w="{main}"><w:ilvl w:val="{level}"/><w:numId w:val="91"/></w:numPr>'))
    document.save(path)
    return [line for line in read(folder)[0].splitlines() if line]


@item(right=["창고 열쇠는 경비실에 있다.", ["hidden text was left out (8 characters)"]])
def word_hidden(folder: Path) -> list[Any]:
    "Word: hidden text is left out and told"
    document, path = word(folder)
    document.add_paragraph("창고 열쇠는 경비실에 있다.").add_run("(전에는 2층)").font.hidden = True
    document.save(path)
    return [*read(folder)]


@item(right=1)
def word_header(folder: Path) -> int:
    "Word: the text of the page header is read once"
    document, path = word(folder)
    document.add_paragraph("본문이다.")
    document.sections[0].header.paragraphs[0].text = "문서번호 QA-7"
    document.add_section().header.is_linked_to_previous = False
    document.sections[1].header.paragraphs[0].text = "문서번호 QA-7"
    document.save(path)
    return read(folder)[0].count("QA-7")


@item(right=["| 차종 | 대수 |", "| 과목 | 정원 |"])
def excel_two_tables(folder: Path) -> list[str]:
    "Excel: two tables with a blank row between them have a header each"
    sheet(folder, [["차종", "대수"], ["트럭", 3], ["승합", 4], [], ["과목", "정원"], ["용접", 20]]).save(folder / "a.xlsx")
    lines = read(folder)[0].splitlines()
    return [lines[at - 1] for at, line in enumerate(lines) if line.startswith("|--")]


@item(right="| 호선 | 역 수 | 길이 |")
def excel_title(folder: Path) -> str:
    "Excel: a title row is no header"
    sheet(folder, [["2031년 노선 현황"], ["호선", "역 수", "길이"], ["1호선", 30, 41.2]]).save(folder / "a.xlsx")
    lines = read(folder)[0].splitlines()
    return next((lines[at - 1] for at, line in enumerate(lines) if line.startswith("|--")), "")


@item(right="| 전기 | 모터 | 7000 |")
def excel_merged(folder: Path) -> str:
    "Excel: a merged label is in each of its rows"
    book = sheet(folder, [["분류", "부품", "값"], ["전기", "전선", 300], [None, "모터", 7000]])
    book.active.merge_cells("A2:A3")
    book.save(folder / "a.xlsx")
    return row(read(folder)[0], "모터")


@item(right=[False, ["sheet 공개: hidden rows were left out: 1", "hidden sheets were left out: 원가"]])
def excel_hidden(folder: Path) -> list[Any]:
    "Excel: hidden sheets and rows are left out and told"
    book = sheet(folder, [["품목", "값"], ["못", 1], ["비밀품", 2]])
    book.active.title = "공개"
    book.active.row_dimensions[3].hidden = True
    book.create_sheet("원가").append(["비밀품", 3])
    book["원가"].sheet_state = "hidden"
    book.save(folder / "a.xlsx")
    text, told = read(folder)
    return ["비밀품" in text, told]


@item(right=["sheet Sheet: 1 formulas without a stored value (open and save the file in Excel)",
             "sheet Sheet: rows of sums without a stored value were left out: 합"])
def excel_formula(folder: Path) -> list[str]:
    "Excel: a formula without a stored value is told"
    sheet(folder, [["품목", "값"], ["못", 1], ["합", "=SUM(B2:B2)"]]).save(folder / "a.xlsx")
    return read(folder)[1]


@item(right="| 착공 | 2031년 3월 2일 |")
def excel_date(folder: Path) -> str:
    "Excel: a date is written as the sheet shows it"
    from datetime import date
    book = sheet(folder, [["단계", "날짜"], ["착공", date(2031, 3, 2)]])
    book.active["B2"].number_format = 'yyyy"년" m"월" d"일"'
    book.save(folder / "a.xlsx")
    return row(read(folder)[0], "착공")


@item(right="| 서고 | 오후 | 한지수 |")
def slide_merged(folder: Path) -> str:
    "PowerPoint: a merged label is in each of its rows"
    from pptx import Presentation
    show = Presentation()
    table = show.slides.add_slide(show.slide_layouts[6]).shapes.add_table(3, 3, 0, 0, 9000, 9000).table
    fill(table, [["방", "때", "담당"], ["서고", "오전", "서가람"], ["", "오후", "한지수"]])
    table.cell(1, 0).merge(table.cell(2, 0))
    show.save(folder / "a.pptx")
    return row(read(folder)[0], "한지수")


@item(right=[False, ["hidden slides were left out: number 2"]])
def slide_hidden(folder: Path) -> list[Any]:
    "PowerPoint: a hidden slide is left out and told"
    from pptx import Presentation
    show = Presentation()
    for title in ("보임", "감춘 계획"):
        show.slides.add_slide(show.slide_layouts[5]).shapes.title.text = title
    show.slides[1]._element.set("show", "0")
    show.save(folder / "a.pptx")
    text, told = read(folder)
    return ["감춘" in text, told]


def page(folder: Path, body: str, encoding: str = "utf-8", head: str = "") -> tuple[str, list[str]]:
    "Text and remarks of a web page."
    (folder / "a.html").write_bytes(f"<html><head>{head}</head><body>{body}</body></html>".encode(encoding))
    return read(folder)


@item(right=["| 등급 | 낮 | 밤 |", "| 일반 | 300 | 500 |", "| 일반 | 400 | 600 |", "| 할인 | 10% | 20% |"])
def page_table(folder: Path) -> list[str]:
    "HTML: caption, spans and footer are one table with a header"
    text, _ = page(folder, '<table><caption>이용료</caption><tr><td>등급<td>낮<td>밤</tr><tr><td rowspan=2>일반<td>300<td>500</tr>'
                           '<tr><td>400<td>600</tr><tfoot><tr><td>할인<td>10%<td>20%</tr></tfoot></table>')
    return [" ".join(line.split()) for line in text.splitlines() if line.startswith("|") and "--" not in line]


@item(right=[True, False, False])
def page_values(folder: Path) -> list[bool]:
    "HTML: options are apart, hidden text is not read"
    text, _ = page(folder, "<p>지점 <select><option>전주<option>군산</select></p><p style='display:none'>옛 지점</p>")
    return ["전주, 군산" in text, "전주군산" in text, "옛" in text]


@item(right=["제3조 점심은 정오부터이다.", "| 쌀국수 | 9천원 |"])
def page_layout(folder: Path) -> list[str]:
    "HTML: tables for layout unfold, the table inside keeps its rows"
    text, _ = page(folder, "<table><tr><td><img src=a.gif></td></tr><tr><td><table><tr><td colspan=2>제3조 점심은 정오부터이다.</td></tr><tr>"
                           "<td colspan=2><table><tr><td>차림</td><td>값</td></tr><tr><td>쌀국수</td><td>9천원</td></tr></table></td></tr>"
                           "</table></td></tr></table>")
    return [row(text, "제3조"), row(text, "쌀국수")]


@item(right="| 대파 | 2900 | 7 |")
def bars(folder: Path) -> str:
    "CSV: fields between bars"
    (folder / "a.csv").write_text("채소|값|수량\n대파|2900|7\n", encoding="utf-8")
    return row(read(folder)[0], "대파")


@item(right="| 주 | 방문 | 취소 |")
def preamble(folder: Path) -> str:
    "CSV: the lines above the header are the caption"
    (folder / "a.csv").write_text("보고: 방문, 2031년\n작성: 총무\n\n주,방문,취소\n1주,40,2\n2주,38,1\n", encoding="utf-8")
    lines = read(folder)[0].splitlines()
    return next((lines[at - 1] for at, line in enumerate(lines) if line.startswith("|--")), "")


@item(right="| 장비 | 삽 | 12 |")
def hwpx_merged(folder: Path) -> str:
    "HWPX: a merged label is in each of its rows"
    def cell(y: int, x: int, text: str, rows: int = 1) -> str:
        return (f"<p:tc><p:subList><p:p><p:run><p:t>{text}</p:t></p:run></p:p></p:subList><p:cellAddr colAddr='{x}' rowAddr='{y}'/>"
                f"<p:cellSpan colSpan='1' rowSpan='{rows}'/></p:tc>")
    rows = [cell(0, 0, "분류") + cell(0, 1, "이름") + cell(0, 2, "수"), cell(1, 0, "장비", 2) + cell(1, 1, "호미") + cell(1, 2, "30"),
            cell(2, 1, "삽") + cell(2, 2, "12")]
    table = "<p:tbl rowCnt='3' colCnt='3'>" + "".join(f"<p:tr>{cells}</p:tr>" for cells in rows) + "</p:tbl>"
    name = "http://www.hancom.co.kr/hwpml/2011"
    with zipfile.ZipFile(folder / "a.hwpx", "w") as archive:
        archive.writestr("mimetype", "application/hwp+zip")
        archive.writestr("Contents/section0.xml", f"<s:sec xmlns:s='{name}/section' xmlns:p='{name}/paragraph'><p:p><p:run>{table}</p:run></p:p></s:sec>")
    return row(read(folder)[0], "삽")


@item(right=["a.xlsx was not read whole: hidden sheets were left out: 초안"])
def told_in_ask(folder: Path) -> list[str]:
    "An answer from a file with hidden sheets says so"
    from ragnb import Pipeline, update_index
    book = sheet(folder, [["물품", "위치"], ["사다리", "3번 창고"], ["예초기", "5번 창고"]])
    book.create_sheet("초안").append(["사다리", "9번 창고"])
    book["초안"].sheet_state = "hidden"
    (folder / "docs").mkdir()
    book.save(folder / "docs" / "a.xlsx")
    index, _ = update_index(folder / "docs", folder / "index", show_progress=False)
    answer = Pipeline.from_index(index).ask("사다리는 어느 창고에 있나요?")
    return [note.text for note in answer.context.notes if "whole" in note.text]


@item(right=["제1조 목적", "제2조 신청", "가. 신청서를 낸다", "□ 예외"])
def hangul_numbers(folder: Path) -> list[str]:
    "HWPX: numbers and bullets that Hangul adds"
    spaces = " ".join(f'xmlns:h{key[0]}="http://www.hancom.co.kr/hwpml/2011/{key}"' for key in ("section", "paragraph"))
    levels = "".join(f'<hh:paraHead level="{at}" start="1" numFormat="{kind}">{text}</hh:paraHead>'
                     for at, kind, text in ((1, "DIGIT", "제^1조"), (2, "HANGUL_SYLLABLE", "^2.")))
    shapes = "".join(f'<hh:paraPr id="{n}"><hh:heading type="{kind}" idRef="1" level="{level}"/></hh:paraPr>'
                     for n, (kind, level) in enumerate((("NUMBER", 0), ("NUMBER", 1), ("BULLET", 0))))
    body = "".join(f'<hp:p paraPrIDRef="{shape}"><hp:run><hp:t>{text}</hp:t></hp:run></hp:p>'
                   for shape, text in ((0, "목적"), (0, "신청"), (1, "신청서를 낸다"), (2, "예외")))
    with zipfile.ZipFile(folder / "a.hwpx", "w") as archive:
        archive.writestr("mimetype", "application/hwp+zip")
        archive.writestr("Contents/header.xml", '<hh:head xmlns:hh="http://www.hancom.co.kr/hwpml/2011/head">'
                         f'<hh:numbering id="1">{levels}</hh:numbering><hh:bullet id="1" char="□"/>{shapes}</hh:head>')
        archive.writestr("Contents/section0.xml", f"<hs:sec {spaces}>{body}</hs:sec>")
    return read(folder)[0].splitlines()


@item(right="2. 화면을 닦는다")
def slide_numbers(folder: Path) -> str:
    "PowerPoint: numbers that PowerPoint adds"
    from lxml import etree
    from pptx import Presentation
    show = Presentation()
    frame = show.slides.add_slide(show.slide_layouts[5]).shapes.add_textbox(0, 0, 900, 900).text_frame
    for at, text in enumerate(("전원을 끈다", "화면을 닦는다")):
        paragraph = frame.paragraphs[0] if at == 0 else frame.add_paragraph()
        paragraph.text = text
        space = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
        etree.SubElement(paragraph._p.get_or_add_pPr(), f"{space}buAutoNum").set("type", "arabicPeriod")
    show.save(folder / "a.pptx")
    return row(read(folder)[0], "화면을")


@item(right="반경 10³ m 안")
def word_superscript(folder: Path) -> str:
    "Word: a superscript is no digit of the number before it"
    document, path = word(folder)
    paragraph = document.add_paragraph("반경 10")
    paragraph.add_run("3").font.superscript = True
    paragraph.add_run(" m 안")
    document.save(path)
    return row(read(folder)[0], "반경")


@item(right="| 0042 | 지게차 |")
def excel_leading_zeros(folder: Path) -> str:
    "Excel: a number with leading zeros keeps them"
    book = sheet(folder, [["관리 번호", "이름"], [42, "지게차"], [7, "운반차"]])
    book.active["A2"].number_format = "0000"
    book.save(folder / "a.xlsx")
    return row(read(folder)[0], "지게차")


@item(right=["comments were left out: 1"])
def excel_comments(folder: Path) -> list[str]:
    "Excel: comments are counted"
    from openpyxl.comments import Comment
    book = sheet(folder, [["이름", "층"], ["승강기", 9]])
    book.active["B2"].comment = Comment("10층이 맞음", "소")
    book.save(folder / "a.xlsx")
    return read(folder)[1]
