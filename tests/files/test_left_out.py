"""What a file shows and its text lacks is told: pictures that may contain text, embedded files, sounds; what can be read is read."""
from __future__ import annotations

import io
import struct
import zipfile
import zlib
from email.message import EmailMessage
from pathlib import Path

import pytest
from helpers_ingest import write
from test_file_readers import make_docx, make_hwpx, ole

from ragnb import InputError, Pipeline, update_index
from ragnb.documents.readers import read_by_ending
from ragnb.files.archive import Archive


def picture(color: int) -> io.BytesIO:
    """A PNG of one color."""
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = (b"\0" + bytes([color, color, color]) * 40) * 40
    head = struct.pack(">IIBBBBB", 40, 40, 8, 2, 0, 0, 0)
    return io.BytesIO(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def described(run, text: str) -> None:
    next(e for e in run._element.iter() if e.tag.endswith("docPr")).set("descr", text)


def with_part(path: Path, name: str, change) -> None:
    """Change one part of an archive; `change` gets its text, '' for a new part."""
    with zipfile.ZipFile(path) as archive:
        parts = {part: archive.read(part) for part in archive.namelist()}
    parts[name] = change(parts.get(name, b"").decode()).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for part, data in parts.items():
            archive.writestr(part, data)


def test_a_large_picture_of_word_is_told_with_its_caption_or_the_line_above(tmp_path):
    from docx import Document
    from docx.shared import Cm

    document = Document()
    document.add_paragraph("1. 조직")
    document.add_paragraph().add_run().add_picture(picture(1), Cm(12), Cm(9))
    document.add_paragraph("그림 1. 감사실 조직도")
    document.add_paragraph("2. 행사장 배치는 아래와 같다.\n무대는 북쪽이다.")
    document.add_paragraph().add_run().add_picture(picture(2), Cm(10), Cm(8))
    document.add_paragraph("다음 장으로 이어진다.")
    document.add_paragraph().add_run().add_picture(picture(3), Cm(3), Cm(2))        # a logo
    for _ in range(3):                                                              # a part of the layout
        document.add_paragraph().add_run().add_picture(picture(4), Cm(12), Cm(9))
    for name in ("본관에서 별관으로 가는 약도", "본관에서 별관으로 가는 약도", "C:\\사진\\약도.png"):
        run = document.add_paragraph().add_run()
        run.add_picture(picture(5), Cm(12), Cm(9))
        described(run, name)
    document.sections[0].header.paragraphs[0].add_run().add_picture(picture(6), Cm(15), Cm(9))
    document.save(tmp_path / "a.docx")
    found = read_by_ending(tmp_path / "a.docx")
    assert found["lost"] == ["pictures were not read: 3, near “그림 1. 감사실 조직도”, “2. 행사장 배치는 아래와 같다.”, “다음 장으로 이어진다.”"]
    assert found["text"].count("본관에서 별관으로 가는 약도") == 1 and "C:" not in found["text"]


OBJECT = ('<w:p xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" xmlns:o="urn:schemas-microsoft-com:office:office" '
          'xmlns:v="urn:schemas-microsoft-com:vml" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><w:r><w:object>'
          '<v:shape style="width:{width}pt;height:300pt"><v:imagedata r:id="rId99"/></v:shape><o:OLEObject Type="Embed" ProgID="{program}"/></w:object></w:r></w:p>')


@pytest.mark.parametrize(("program", "width", "lost"), [
    ("Excel.Sheet.12", 40, ["embedded files were not read: 1 (Excel)"]), ("AcroExch.Document.11", 40, ["embedded files were not read: 1 (PDF)"]),
    ("Equation.3", 40, ["equations of an old program were not read: 1"]), ("Word.Picture.8", 300, ["pictures were not read: 1, near “연차는 15일이다.”"]),
    ("Word.Picture.8", 40, [])])
def test_an_embedded_file_of_word_is_told(tmp_path, program, width, lost):
    make_docx(tmp_path / "a.docx")
    inside = OBJECT.format(program=program, width=width)
    with_part(tmp_path / "a.docx", "word/document.xml", lambda xml: xml.replace("연차는 15일이다.</w:t></w:r></w:p>", f"연차는 15일이다.</w:t></w:r></w:p>{inside}"))
    assert read_by_ending(tmp_path / "a.docx")["lost"] == lost


def test_symbols_and_drawn_letters_of_word_are_read(tmp_path):
    make_docx(tmp_path / "a.docx")
    signs = "".join(f'<w:sym w:font="{font}" w:char="{code}"/>' for font, code in
                    (("Wingdings", "F0FE"), ("Wingdings", "F0A8"), ("Symbol", "F0B3"), ("Symbol", "F062"), ("Wingdings", "F04A")))
    art = '<w:pict><v:shape xmlns:v="urn:schemas-microsoft-com:vml"><v:textpath string="안전이 먼저"/></v:shape></w:pict>'
    with_part(tmp_path / "a.docx", "word/document.xml", lambda xml: xml.replace("연차는 15일이다.</w:t>", f"연차는 15일이다.</w:t>{signs}{art}"))
    assert "연차는 15일이다.☑☐≥β\n\n안전이 먼저" in read_by_ending(tmp_path / "a.docx")["text"]


def test_a_large_picture_a_video_and_an_embedded_file_of_slides_are_told_with_their_numbers(tmp_path):
    from pptx import Presentation
    from pptx.util import Cm

    show = Presentation()
    slides = [show.slides.add_slide(show.slide_layouts[5]) for _ in range(4)]
    for number, slide in enumerate(slides):
        slide.shapes.title.text = f"제목 {number + 1}"
    for at in (3, 1):
        slides[at].shapes.add_picture(picture(at), 0, 0, Cm(15), Cm(10))
    slides[0].shapes.add_picture(picture(8), 0, 0, Cm(2), Cm(2))
    for slide in slides[:3]:
        slide.shapes.add_picture(picture(9), 0, 0, Cm(15), Cm(10))
    map_ = slides[2].shapes.add_picture(picture(10), 0, 0, Cm(15), Cm(10))
    map_._element.nvPicPr.cNvPr.set("descr", "대피 경로를 보여 주는 약도")
    slides[2].shapes.add_ole_object(io.BytesIO(b"x"), "Excel.Sheet.12", 0, 0, Cm(3), Cm(3))
    slides[2].shapes.add_movie(io.BytesIO(b"x"), 0, 0, Cm(9), Cm(9), poster_frame_image=picture(11), mime_type="video/mp4")
    show.save(tmp_path / "a.pptx")
    found = read_by_ending(tmp_path / "a.pptx")
    assert found["lost"] == ["embedded files were not read: 1 (Excel)", "sounds and videos were not read: 1", "pictures were not read: 2, on slide number 2, 4"]
    assert found["pages"][2] == "# 제목 3\n\n대피 경로를 보여 주는 약도"


def test_a_picture_of_a_group_has_the_size_that_is_shown(tmp_path):
    from pptx import Presentation
    from pptx.util import Cm

    show = Presentation()
    slide = show.slides.add_slide(show.slide_layouts[5])
    slide.shapes.title.text = "설비"
    group = slide.shapes.add_group_shape()
    group.shapes.add_picture(picture(1), 0, 0, Cm(15), Cm(10))
    frame = group._element.grpSpPr.xfrm
    frame.ext.cx, frame.ext.cy = Cm(1), Cm(1)        # the group is drawn smaller
    show.save(tmp_path / "a.pptx")
    assert read_by_ending(tmp_path / "a.pptx")["lost"] == []


def test_pictures_of_a_sheet_are_told_and_charts_of_hidden_values_are_read(tmp_path):
    from openpyxl import Workbook
    from openpyxl.chart import BarChart, Reference
    from openpyxl.drawing.image import Image

    book = Workbook()
    book.active.title = "현황"
    book.active.append(["지점", "매출"])
    book.active.append(["대전", 71])
    values = book.create_sheet("값")
    for row in (["지점", "방문"], ["광주", 88], ["울산", 93]):
        values.append(row)
    values.sheet_state = "hidden"
    for title, sheet, rows in (("매출", book.active, 2), ("방문자", values, 3)):
        chart = BarChart()
        chart.title = title
        chart.add_data(Reference(sheet, 2, 1, 2, rows), titles_from_data=True)
        chart.set_categories(Reference(sheet, 1, 2, 1, rows))
        book.active.add_chart(chart, "D2" if sheet is values else "D20")
    large, small = Image(picture(1)), Image(picture(2))
    large.width, large.height, small.width, small.height = 500, 400, 30, 30
    book.active.add_image(large, "F1")
    book.active.add_image(small, "F2")
    book.save(tmp_path / "a.xlsx")
    cache = ('<c:numCache><c:ptCount val="2"/><c:pt idx="0"><c:v>88</c:v></c:pt><c:pt idx="1"><c:v>93</c:v></c:pt></c:numCache>')
    for part in ("xl/charts/chart1.xml", "xl/charts/chart2.xml"):      # as Excel stores it
        with_part(tmp_path / "a.xlsx", part, lambda xml: xml.replace("$B$3</f></numRef></val>", f"$B$3</f>{cache.replace('c:', '')}</numRef></val>"))
    found = read_by_ending(tmp_path / "a.xlsx")
    assert found["lost"] == ["on sheet 현황: pictures were not read: 1", "hidden sheets were left out: 값"]
    assert "방문자\n\n|" in found["text"] and "| 88 |" in found["text"] and "| 93 |" in found["text"]
    assert found["text"].count("71") == 1, "a chart whose values are in a sheet is not read again"


def test_what_hwpx_shows_is_read_or_told(tmp_path):
    size = '<hp:sz width="{0}" height="{0}"/>'
    run = '<hp:p><hp:run>{}</hp:run></hp:p>'
    chart = ('<hp:switch><hp:case><hp:chart chartIDRef="Chart/chart1.xml"/></hp:case><hp:default><hp:ole>' + size.format(40_000) + '</hp:ole></hp:default></hp:switch>')
    memo = '<hp:fieldBegin type="MEMO"><hp:subList>' + run.format("<hp:t>고칠 것</hp:t>") + '</hp:subList></hp:fieldBegin>'
    hidden = '<hp:hiddenComment><hp:subList>' + run.format("<hp:t>숨은글</hp:t>") + '</hp:subList></hp:hiddenComment>'
    body = [run.format("<hp:t>1. 배치도</hp:t>"), run.format('<hp:pic>' + size.format(30_000) + '<hp:img binaryItemIDRef="image1"/></hp:pic>'),
            run.format('<hp:pic>' + size.format(3_000) + '<hp:img binaryItemIDRef="image2"/></hp:pic>'), run.format('<hp:ole>' + size.format(9_000) + '</hp:ole>'),
            run.format("<hp:video/>"), run.format('<hp:t>보기 </hp:t><hp:compose composeText="가"/><hp:dutmal><hp:mainText>본말</hp:mainText><hp:subText>덧말</hp:subText></hp:dutmal>'),
            run.format('<hp:textart text="큰 글씨&#x240D;&#x240A;두 줄"/>'), run.format(chart), run.format(f"<hp:t>끝.</hp:t>{memo}{hidden}")]
    make_hwpx(tmp_path / "a.hwpx", "".join(body))
    values = ('<c:chartSpace xmlns:c="x"><c:chart/><c:ser><c:tx><c:v>횟수</c:v></c:tx><c:cat><c:pt idx="0"><c:v>봄</c:v></c:pt></c:cat>'
              '<c:val><c:pt idx="0"><c:v>41</c:v></c:pt></c:val></c:ser></c:chartSpace>')
    with zipfile.ZipFile(tmp_path / "a.hwpx", "a") as archive:
        archive.writestr("Chart/chart1.xml", values)
    found = read_by_ending(tmp_path / "a.hwpx")
    assert found["lost"] == ["hidden comments were left out (3 characters)", "comments were left out: 1", "embedded files were not read: 1 (OLE)",
                             "sounds and videos were not read: 1", "pictures were not read: 1, near “1. 배치도”"]
    assert found["text"] == "1. 배치도\n\n보기 가본말\n큰 글씨\n두 줄\n\n|  | 횟수 |\n|---|---|\n| 봄 | 41 |\n\n끝."


def test_what_hwp_shows_is_read_or_told(tmp_path):
    def record(tag: int, level: int, value: bytes) -> bytes:
        return struct.pack("<I", tag | level << 10 | len(value) << 20) + value

    def paragraph(text: str, controls: bytes = b"") -> bytes:
        place = struct.pack("<8H", 11, 0, 0, 0, 0, 0, 0, 11) if controls else b""
        units = text.encode("utf-16-le") + place + b"\r\0"
        return record(66, 0, struct.pack("<I", len(units) // 2) + bytes(18)) + record(67, 1, units) + controls

    def shape(kind: int, side: int, data: bytes = b"") -> bytes:
        return record(71, 1, b" osg" + bytes(12) + struct.pack("<2I", side, side) + bytes(8)) + record(76, 2, b"xxxx") + record(kind, 3, data)

    note = "본말".encode("utf-16-le")
    below = record(71, 1, b"tudt" + struct.pack("<H", 2) + note + struct.pack("<H", 2) + "덧말".encode("utf-16-le"))
    section = (paragraph("1. 배치도") + paragraph("", shape(85, 30_000, bytes(71) + b"\1\0")) + paragraph("", shape(85, 3_000, bytes(71) + b"\2\0"))
               + paragraph("", shape(84, 9_000)) + paragraph("", shape(98, 9_000)) + paragraph("보기 ", below) + paragraph("끝.") + record(93, 1, bytes(4)))
    header = b"HWP Document File".ljust(32, b"\0") + struct.pack("<II", 0x05000300, 0)
    (tmp_path / "a.hwp").write_bytes(ole({"FileHeader": header, "Section0": section}))
    found = read_by_ending(tmp_path / "a.hwp")
    assert found["lost"] == ["comments were left out: 1", "embedded files were not read: 1 (OLE)", "sounds and videos were not read: 1", "pictures were not read: 1, near “1. 배치도”"]
    assert found["text"] == "1. 배치도\n\n보기 본말\n끝."


def test_pictures_inside_of_a_page_and_a_mail_are_told(tmp_path):
    large, small = "A" * 40_000, "A" * 400
    page = "".join(f'<img src="data:image/png;base64,{data}"{alt}>' for data, alt in ((large, ""), (large, ""), (small, ""), (large + "B", ' alt="매출 도표"')))
    write(tmp_path, {"a.html": f"<p>휴가는 15일이다.</p>{page}<svg><text>남은 예산</text><path/></svg>", "b.html": f'<p>휴가는 15일이다.</p><img src="{small}"><svg></svg>'})
    assert read_by_ending(tmp_path / "a.html")["lost"] == ["pictures were not read: 1", "text of drawings was left out (5 characters)"]
    assert read_by_ending(tmp_path / "b.html")["lost"] == []
    message = EmailMessage()
    message.set_content("공사는 17일이다.")
    for size in (40_000, 300):
        message.add_attachment(bytes(size), maintype="image", subtype="png", disposition="inline")
    (tmp_path / "a.eml").write_bytes(message.as_bytes())
    assert read_by_ending(tmp_path / "a.eml")["lost"] == ["pictures were not read: 1"]


def test_a_file_of_pictures_only_is_refused_with_the_reason(tmp_path):
    from docx import Document
    from docx.shared import Cm

    document = Document()
    document.add_paragraph().add_run().add_picture(picture(1), Cm(12), Cm(9))
    document.save(tmp_path / "a.docx")
    with pytest.raises(InputError, match="a.docx contains no text: pictures were not read: 1$"):
        read_by_ending(tmp_path / "a.docx")


def test_a_picture_that_packs_well_does_not_make_a_file_unreadable(tmp_path):
    make_docx(tmp_path / "a.docx")
    with zipfile.ZipFile(tmp_path / "a.docx", "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/media/image1.emf", bytes(2_000_000))
    assert "연차는 15일이다." in read_by_ending(tmp_path / "a.docx")["text"]
    opened = Archive(tmp_path / "a.docx")
    for read in (opened.data, opened.xml, lambda name: [*opened.elements(name, "row")]):
        with pytest.raises(InputError, match="more than 100 times"):
            read("word/media/image1.emf")
    with zipfile.ZipFile(tmp_path / "a.docx", "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/other.xml", bytes(2_000_000))
    with pytest.raises(InputError, match="more than 100 times"):
        read_by_ending(tmp_path / "a.docx")


def test_an_answer_tells_of_pictures_only_where_they_are(tmp_path):
    """Near the passage, on its slide, or where words of the question are in no document."""
    from docx import Document
    from docx.shared import Cm
    from pptx import Presentation

    folder = tmp_path / "docs"
    folder.mkdir()
    document = Document()
    for text in ("주차 요금은 한 시간에 2천 원이다.", *(f"{n}번 회의실에는 의자가 {n + 10}개 있다. 예약은 {n}일 전에 한다." for n in range(1, 30)), "그림 1. 셔틀버스 정류장"):
        document.add_paragraph(text)
        if text.startswith("29"):
            document.add_paragraph().add_run().add_picture(picture(1), Cm(12), Cm(9))
    document.save(folder / "시설.docx")
    show = Presentation()
    for title, body in (("보안 교육", "보안 교육은 해마다 두 번 받는다."), ("출입증", "출입증을 잃으면 총무팀에 알린다."), ("소방 훈련", "소방 훈련은 5월에 한다.")):
        slide = show.slides.add_slide(show.slide_layouts[1])
        slide.shapes.title.text, slide.placeholders[1].text = title, " ".join([body, *(f"{title} 담당자는 {n}층 사무실에 있다." for n in range(1, 9))])
    slide.shapes.add_picture(picture(2), 0, 0, Cm(15), Cm(10))
    show.save(folder / "안내.pptx")
    index, _ = update_index(folder, tmp_path / "index", show_progress=False)
    pipeline = Pipeline.from_index(index, budget=200)

    def told(question: str) -> list[str]:
        return [note.text for note in pipeline.ask(question).context.notes if note.kind == "lost"]
    assert told("주차 요금은 한 시간에 얼마인가요?") == [] and told("출입증을 잃으면 어떻게 하나요?") == []
    assert told("셔틀버스 정류장은 어디인가요?") == ["시설.docx was not read whole: pictures were not read: 1, near “그림 1. 셔틀버스 정류장”"]
    assert told("소방 훈련은 언제 하나요?") == ["안내.pptx was not read whole: pictures were not read: 1, on slide number 3"]
    lacking = told("소방 훈련의 집결지는?")
    assert any("안내.pptx" in text for text in lacking)


def test_a_page_that_is_inserted_into_word_is_read_and_another_file_is_told(tmp_path):
    make_docx(tmp_path / "a.docx")
    parts = {"page.htm": "<p>출장비는 한 달 안에 신청한다.</p><p hidden>옛 규정</p>".encode("cp949"), "mail.mht": b"x"}
    links = "".join(f'<Relationship Id="rId{90 + n}" Type="x/aFChunk" Target="{name}"/>' for n, name in enumerate(parts))
    with_part(tmp_path / "a.docx", "word/_rels/document.xml.rels", lambda xml: xml.replace("</Relationships>", f"{links}</Relationships>"))
    chunks = "".join(f'<w:altChunk r:id="rId{90 + n}"/>' for n in range(2))
    with_part(tmp_path / "a.docx", "word/document.xml", lambda xml: xml.replace("연차는 15일이다.</w:t></w:r></w:p>", f"연차는 15일이다.</w:t></w:r></w:p>{chunks}"))
    with zipfile.ZipFile(tmp_path / "a.docx", "a") as archive:
        for name, data in parts.items():
            archive.writestr(f"word/{name}", data)
    found = read_by_ending(tmp_path / "a.docx")
    assert "연차는 15일이다.\n\n출장비는 한 달 안에 신청한다.\n\n|" in found["text"]
    assert found["lost"] == ["hidden or struck text was left out (4 characters)", "embedded files were not read: 1 (mht)"]


def test_a_document_without_a_body_has_no_text(tmp_path):
    make_docx(tmp_path / "a.docx")
    with_part(tmp_path / "a.docx", "word/document.xml", lambda xml: xml[:xml.index("<w:body")] + "</w:document>")
    with pytest.raises(InputError, match="a.docx contains no text$"):
        read_by_ending(tmp_path / "a.docx")


def test_an_answer_tells_of_hidden_rows_only_of_a_sheet_that_was_read(tmp_path):
    from openpyxl import Workbook
    folder = tmp_path / "docs"
    folder.mkdir()
    book = Workbook()
    for name, head, rows in (("요금", "구역", [("가", 1_000), ("나", 2_000), ("다", 3_000)]), ("비품", "물품", [("의자", 12), ("책상", 7), ("모니터", 9)])):
        sheet = book.create_sheet(name)
        for row in ([head, "값"], *rows):
            sheet.append(row)
    del book[book.sheetnames[0]]
    book["비품"].row_dimensions[3].hidden = True
    book.save(folder / "총무.xlsx")
    index, _ = update_index(folder, tmp_path / "index", show_progress=False)
    pipeline = Pipeline.from_index(index, budget=90)

    def told(question: str) -> list[str]:
        answer = pipeline.ask(question)
        assert len({"요금" in answer.context.text, "비품" in answer.context.text}) == 2, answer.context.text
        return [note.text for note in answer.context.notes if note.kind == "lost"]
    assert told("나 구역의 요금") == []
    assert told("의자 물품의 값") == ["총무.xlsx was not read whole: sheet 비품: hidden rows were left out: 1"]
