"""Characters of PDF pages become words, lines and paragraphs: nothing is lost, and line ends are read."""
from __future__ import annotations

import re
import unicodedata
from collections import Counter
from pathlib import Path

import numpy as np
import pypdfium2
import pytest
from drawn_pdf import column, drawn
from hypothesis import given, settings, strategies as st

from ragnb import read_documents
from ragnb.files import pdf_text
from ragnb.files.pdf import read_pdf
from ragnb.files.pdf_text import Glyphs, Joiner, line_text, text_lines, whole_textpage

WORDS = st.lists(st.text("가나다라마바사아자차카타파하abcdefgh0123456789", min_size=1, max_size=9), min_size=1, max_size=6).map(" ".join)

SHORT = st.lists(st.text("가나다하abcd0123456789", min_size=1, max_size=5), min_size=1, max_size=3).map(" ".join)


def letters(text: str) -> Counter[str]:
    return Counter(re.findall(r"\w", unicodedata.normalize("NFKC", text)))


def text_of(path: Path) -> str:
    return "\n".join(read_pdf(path)["pages"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pdf")


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(40, 320), st.integers(10, 60), SHORT, st.sampled_from([6, 10, 10, 10, 14])), min_size=1, max_size=25, unique_by=lambda t: t[1]))
def test_no_letter_is_lost_wherever_texts_stand(folder: Path, texts: list):
    found = read_pdf(drawn(folder / "a.pdf", [(x, 12 * y, text, size) for x, y, text, size in texts]))
    assert letters(" ".join(text for _, _, text, _ in texts)) - letters(found["pages"][0]) == Counter()


@given(WORDS, WORDS)
def test_joined_lines_keep_their_letters_and_their_order(before: str, after: str):
    joined = Joiner().join(before, after)
    assert re.sub(r"\s", "", joined) == re.sub(r"\s", "", before + after) and joined.startswith(before) and joined.endswith(after)


@pytest.mark.parametrize(("lines", "right"), [
    (["The refill takes twenty min-", "utes and the crew waits out-", "side until it is done."], "The refill takes twenty minutes and the crew waits outside until it is done."),
    (["Use a state-of-the-", "art filter and a well-", "known oil, types 4-", "6 only."], "Use a state-of-the-art filter and a well-known oil, types 4-6 only."),
    (["The pump was tested by Mira Holt-", "Jansen in the west hall and by the", "north gate of the DEPART-", "MENT."], "The pump was tested by Mira Holt-Jansen in the west hall and by the north gate of the DEPARTMENT."),
    (["Only well-", "known and high-", "ly valued sta-", "tements count."], "Only well-known and highly valued statements count."),
    (["세탁실은 아침 여덟 시에 열고 밤 열 시에 닫으며, 빨래를 널어 두는 시", "간은 하루를 넘기지 않는다."], "세탁실은 아침 여덟 시에 열고 밤 열 시에 닫으며, 빨래를 널어 두는 시간은 하루를 넘기지 않는다."),
    (["자전거는 정문 옆 보관소에 두고 열쇠를 두 개 채운다. 보관소의 책임", "자는 시설팀장이며 석 달 넘게 둔 자전거는 치운다."], "자전거는 정문 옆 보관소에 두고 열쇠를 두 개 채운다. 보관소의 책임자는 시설팀장이며 석 달 넘게 둔 자전거는 치운다."),
])
def test_words_at_line_ends_are_whole(tmp_path: Path, lines: list[str], right: str):
    font = "Helvetica" if lines[0].isascii() else "HYGothic-Medium"
    assert text_of(drawn(tmp_path / "a.pdf", column(50, 700, lines), font=font)) == right


def test_a_blank_of_the_file_at_a_line_end_is_a_blank(tmp_path: Path):
    lines = ["연수를 마친 사람은 보고서를 두 주 안에 낸다. 보고서에는 배운 일과 통상 ", "임금 계산에 쓴 날짜를 적는다."]
    assert "통상 임금 계산" in text_of(drawn(tmp_path / "a.pdf", column(50, 700, lines)))


def test_small_capitals_after_a_blank_stay_in_their_line(tmp_path: Path):
    """A line of another column, three points and a half higher, is in the same row."""
    left = column(40, 700, ["The crew checks the", "valve twice a day and", "writes the date down", "in the log of the hall."], 12)
    right = [(200, 696.5, "Send it to the person in", 9), (200, 684.5, "in the", 9), (224.5, 684.5, "FURTHER NOTES", 6.5),
             (200, 672.5, "section before the hall", 9), (200, 660.5, "is closed for the year.", 9)]
    assert "in the FURTHER NOTES" in text_of(drawn(tmp_path / "a.pdf", [*left, *right], size=9, font="Helvetica"))


@pytest.mark.parametrize("size", [6, 9, 14, 20])
def test_blanks_and_lines_do_not_depend_on_the_size(tmp_path: Path, size: int):
    lines = ["1. 신분증 한 장", "2. 사진 두 장", "3. 통장 사본"]
    assert text_of(drawn(tmp_path / "a.pdf", column(50, 700, lines, 1.4 * size), size=size)) == "\n".join(lines)


def test_bold_by_printing_twice_is_read_once(tmp_path: Path):
    for shift in (0, 0.3, 0.6):
        assert text_of(drawn(tmp_path / "a.pdf", [(50, 700, "중요한 알림"), (50 + shift, 700, "중요한 알림")])) == "중요한 알림"


def test_double_letters_stay(tmp_path: Path):
    assert text_of(drawn(tmp_path / "a.pdf", [(50, 700, "difficult offer, 11 books, 2200 won")], font="Helvetica")) == "difficult offer, 11 books, 2200 won"


@pytest.mark.parametrize("angle", [90, 180, 270])
def test_a_turned_page_is_read_upright(tmp_path: Path, angle: int):
    from reportlab.pdfgen import canvas
    out = canvas.Canvas(str(tmp_path / "a.pdf"), invariant=1)
    out.translate(300, 400)
    out.rotate(angle)
    for n, line in enumerate(["First line of the page.", "Second line of it."]):
        out.drawString(-100, 50 - 30 * n, line)
    out.save()
    assert text_of(tmp_path / "a.pdf").split("\n\n") == ["First line of the page.", "Second line of it."]


def test_a_watermark_is_left_out_and_told(tmp_path: Path):
    from reportlab.pdfgen import canvas
    out = canvas.Canvas(str(tmp_path / "a.pdf"), invariant=1)
    out.drawString(50, 700, "Rooms are booked online.")
    out.translate(200, 200)
    out.rotate(40)
    out.drawString(0, 0, "DRAFT")
    out.save()
    problems: list = []
    document, = read_documents(tmp_path / "a.pdf", problems)
    assert document.text == "Rooms are booked online." and [p.what for p in problems] == ["slanted text, such as a watermark: 5 characters"]


def test_page_starts_are_exact_where_a_word_goes_over_the_page(tmp_path: Path):
    full = "회의실은 누리집에서 하루 전까지 예약하며 한 번에 두 시간을 넘길 수 없고, 급한 회의는 총무팀이 열"
    path = drawn(tmp_path / "a.pdf", [(50, 700, full)], [(50, 700, "쇠를 내준다. 쓰고 나면 불을 끈다.")], [(50, 700, "끝.")])
    document, = read_documents(path, [])
    assert document.text == f"{full}쇠를 내준다. 쓰고 나면 불을 끈다.\n\n끝."
    assert [document.text[start:start + 2] for start in document.metadata["page_starts"]] == ["회의", "쇠를", "끝."]


def test_a_hyphen_at_the_end_of_a_page_is_dropped(tmp_path: Path):
    path = drawn(tmp_path / "a.pdf", [(50, 700, "The pump is checked every Monday and the report is sent to the main-")], [(50, 700, "tenance team at noon.")], font="Helvetica")
    document, = read_documents(path, [])
    assert document.text == "The pump is checked every Monday and the report is sent to the maintenance team at noon."
    assert document.text[document.metadata["page_starts"][1]:].startswith("tenance")


def test_letters_slanted_to_look_italic_are_no_watermark(tmp_path: Path):
    from reportlab.pdfgen import canvas
    out = canvas.Canvas(str(tmp_path / "a.pdf"), invariant=1)
    text = out.beginText()
    text.setFont("Helvetica", 10)
    text.setTextTransform(1, 0, 0.33, 1, 50, 700)
    text.textOut("Rooms are booked online.")
    out.drawText(text)
    out.save()
    found = read_pdf(tmp_path / "a.pdf")
    assert found["pages"] == ["Rooms are booked online."] and found["lost"] == []


@pytest.mark.parametrize("scale", [(-1, 1), (1, -1)])
def test_a_mirrored_page_keeps_its_order(tmp_path: Path, scale: tuple[int, int]):
    from reportlab.pdfgen import canvas
    out = canvas.Canvas(str(tmp_path / "a.pdf"), invariant=1)
    out.translate(300, 400)
    out.scale(*scale)
    for n, line in enumerate(["First line of the page.", "Second line of it."]):
        out.drawString(-100, 50 - 30 * n, line)
    out.save()
    assert text_of(tmp_path / "a.pdf").split("\n\n") == ["First line of the page.", "Second line of it."]


@pytest.mark.parametrize(("mark", "before", "after"), [("\u25a0", "그 값은", "표 4에 있다"), ("\u25a1", "신청서의", "동의 칸에 적는다")])
def test_a_mark_drawn_first_stands_in_its_gap(tmp_path: Path, mark: str, before: str, after: str):
    end = 50 + 10 * len(before.replace(" ", "")) + 5 * before.count(" ")
    texts = [(end + 0.1, 700.5, mark, 9), (50, 600, "첫머리 글"), (50, 700, before), (end + 9.2, 700, after)]
    assert f"{before}{mark}{after}" in text_of(drawn(tmp_path / "a.pdf", texts))


def test_small_letters_beside_a_column_do_not_divide_its_paragraph(tmp_path: Path):
    notes = ["The pond is owned by the parish and not by the mill that stands", "beside it, as is often said; the mill has a pond of its own", "further up, which is dry."]
    body = ["Most of the year the pond", "is fed by a spring which", "never freezes, so that the", "ducks stay where they are.", "In dry months the gate", "of it is opened each week."]
    texts = [*((x, y, text, 7) for x, y, text in column(40, 674, notes, 12.4)), *column(300, 700, body, 13)]
    assert " ".join(body) in text_of(drawn(tmp_path / "a.pdf", texts, font="Helvetica", size=11)).replace("\n", " ")


@pytest.mark.parametrize(("size", "up", "right"), [(9.2, 4, "10²"), (9.2, -4, "10₂"), (9.2, 0.5, "102"), (6, 4, "10²")])
def test_a_digit_is_raised_by_its_size_and_its_place(tmp_path: Path, size: float, up: float, right: str):
    texts = [(50, 700, "균은 10", 11), (None, 700 + up, "2", size), (None, 700, " 이하로 한다.", 11)]
    assert text_of(drawn(tmp_path / "a.pdf", texts)) == f"균은 {right} 이하로 한다."


def test_the_gap_of_a_program_in_cells_is_no_blank(tmp_path: Path):
    cells = [piece for n in range(3, 9) for piece in ((50, 700 - 18 * n, f"창고-{n}"), (200, 700 - 18 * n, f"{n}"), (207.2, 700 - 18 * n, "동 좌측"))]
    texts = [(50, 740, "빈 창고 목록"), (50, 664, "이름"), (200, 664, "놓인 곳"), *cells]
    assert "| 창고-5 | 5동 좌측 |" in text_of(drawn(tmp_path / "a.pdf", texts))


def page_of_missing_font(folder: Path, *texts: tuple[int, int, str]) -> Path:
    """A PDF whose font is not in the file, with codes for which no font of a machine has a letter: as all letters are on a machine without fonts."""
    codes = {letter: 65_000 + n for n, letter in enumerate(dict.fromkeys("".join(text for _, _, text in texts)))}
    names = "\n".join(f"<{code:04x}> <{ord(letter):04x}>" for letter, code in codes.items())
    shown = "\n".join(f"BT /F 10 Tf {x} {y} Td <{''.join(f'{codes[letter]:04x}' for letter in text)}> Tj ET" for x, y, text in texts)
    unicode = f"/CIDInit/ProcSet findresource begin 12 dict begin begincmap /CMapName/N def\n1 begincodespacerange\n<0000> <ffff>\nendcodespacerange\n{len(codes)} beginbfchar\n{names}\nendbfchar\nendcmap end end"
    parts = ["<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[3 0 R]/Count 1>>",
             "<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Resources<</Font<</F 4 0 R>>>>/Contents 7 0 R>>",
             "<</Type/Font/Subtype/Type0/BaseFont/Nowhere/Encoding/Identity-H/DescendantFonts[5 0 R]/ToUnicode 8 0 R>>",
             "<</Type/Font/Subtype/CIDFontType2/BaseFont/Nowhere/CIDSystemInfo<</Registry(Adobe)/Ordering(Identity)/Supplement 0>>/FontDescriptor 6 0 R/DW 1000>>",
             "<</Type/FontDescriptor/FontName/Nowhere/Flags 4/FontBBox[0 -200 1000 800]/Ascent 800/Descent -200/ItalicAngle 0/StemV 80>>",
             *(f"<</Length {len(stream)}>>stream\n{stream}\nendstream" for stream in (shown, unicode))]
    path = folder / "missing.pdf"
    path.write_text("%PDF-1.4\n" + "".join(f"{n} 0 obj {part}\nendobj\n" for n, part in enumerate(parts, 1)) + "trailer<</Root 1 0 R>>")
    return path


def test_a_letter_alone_in_a_font_that_is_nowhere_is_read(tmp_path: Path):
    path = page_of_missing_font(tmp_path, (50, 700, "연차"), (200, 700, "가"), (50, 670, "일"), (60, 670, "수"), (200, 670, "나"), (300, 670, " "))
    assert read_pdf(path)["pages"][0].split() == ["연차", "가", "일수", "나"]
    assert pypdfium2.PdfDocument(path)[0].get_textpage().get_text_bounded().split() == ["연차"]     # PDFium by itself


def test_a_blank_alone_in_a_font_that_is_nowhere_is_left_out_as_by_pdfium(tmp_path: Path):
    path = page_of_missing_font(tmp_path, (50, 700, "연차"), (200, 700, "가"), (240, 700, " "))
    textpage = whole_textpage(pypdfium2.PdfDocument(path)[0])
    assert not [n for n in range(textpage.count_chars()) if textpage.get_text_range(n, 1) == " " and not pypdfium2.raw.FPDFText_IsGenerated(textpage, n)]


LETTERS = {"f": 333, "i": 278, "l": 278, "h": 500, "T": 611}     # Widths in thousandths of the size, as in Times
GLYPHS = {"\x1c": ("f_i", "i", 556), "\x1d": ("f_l", "l", 556), "\x1e": ("f_f_i", "i", 860), "\x1f": ("T_h", "h", 1090)}


def with_ligatures(path: Path, text: str, widths: dict[str, int] = LETTERS) -> Path:
    "A PDF whose font draws fi, fl, ffi and Th as one glyph, of which the file says only the last letter."
    names = " ".join(f"/{name}" for name, _, _ in GLYPHS.values())
    maps = "\n".join(f"<{ord(code):02x}> <{ord(letter):04x}>" for code, (_, letter, _) in GLYPHS.items())
    unicode = (f"/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /U def /CMapType 2 def\n"
               f"1 begincodespacerange <00> <ff> endcodespacerange\n{len(GLYPHS)} beginbfchar\n{maps}\nendbfchar\n"
               f"1 beginbfrange <20> <7e> <0020> endbfrange\nendcmap end end")
    each = [GLYPHS[chr(n)][2] if chr(n) in GLYPHS else widths.get(chr(n), 250 if n == 32 else 444) for n in range(28, 127)]
    content = f"BT /F1 12 Tf 50 700 Td ({text}) Tj ET"
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
               "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 4 0 R >> >> /Contents 6 0 R >>",
               f"<< /Type /Font /Subtype /Type1 /BaseFont /Times-Roman /FirstChar 28 /LastChar 126 /Widths {each} /ToUnicode 5 0 R "
               f"/Encoding << /Type /Encoding /BaseEncoding /WinAnsiEncoding /Differences [28 {names}] >> >>".replace(",", ""),
               f"<< /Length {len(unicode)} >> stream\n{unicode}\nendstream", f"<< /Length {len(content)} >> stream\n{content}\nendstream"]
    out = "%PDF-1.4\n"
    places = []
    for n, item in enumerate(objects, 1):
        places.append(len(out))
        out += f"{n} 0 obj {item} endobj\n"
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    out += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}trailer << /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{len(out)}\n%%EOF"
    path.write_bytes(out.encode("latin-1"))
    return path


@pytest.mark.parametrize(("drawn_as", "read"), [
    ("The \x1cnal o\x1ece is still of this city", "The final office is still of this city"),
    ("\x1fis is the in\x1duence of Tom Hall", "This is the influence of Tom Hall"),
    ("of a fin, a fly, a thin Thing", "of a fin, a fly, a thin Thing"),
])
def test_letters_drawn_as_one_glyph_are_all_read(tmp_path: Path, drawn_as: str, read: str) -> None:
    assert text_of(with_ligatures(tmp_path / "a.pdf", drawn_as)) == read


def test_wide_letters_of_a_typewriter_are_letters(tmp_path: Path) -> None:
    "In a font where all letters have one width, none stands for two."
    text = "if this is the list of all files"
    assert text_of(with_ligatures(tmp_path / "a.pdf", text, dict.fromkeys(LETTERS, 600))) == text


def placed(*runs: tuple[float, str]) -> Glyphs:
    """Characters of one line: each run begins at x; letters of Hebrew go on to the left, others to the right."""
    x0: list[float] = []
    for x, text in runs:
        step = -6 if "א" <= text[0] <= "ת" else 6
        x0 += [x + step * n for n in range(len(text))]
    left = np.array(x0)
    n = len(x0)
    level = np.full(n, 700.0)
    blank = np.zeros(n, int)
    code = np.array([*map(ord, "".join(text for _, text in runs))])
    return Glyphs(left, left + 6, level, level + 10, code, np.full(n, 10.0), np.arange(n), blank, np.zeros(n, bool))


@pytest.mark.parametrize("runs, bars, expected", [
    (((300, "שלום"), (200, "15"), (120, "37")), (), ["37", "15", "שלום"]),            # cells of a table
    (((120, "37"), (200, "15"), (300, "שלום")), (), ["37", "15", "שלום"]),            # drawn from the left
    (((300, "שלום"), (254, "2014"), (246, "דבר")), (), ["שלום 2014 דבר"]),            # a number in a sentence
    (((300, "שלום"), (270, "15")), [(281.9, 690, 720)], ["שלום 15"]),                  # a bar that touches a letter
    (((300, "שלום"), (266, "15")), [(280, 690, 720)], ["15", "שלום"]),                 # a bar between two cells
])
def test_cells_of_hebrew_stand_apart(runs: tuple, bars: list, expected: list[str]):
    line, = text_lines(placed(*runs), bars)
    assert [segment.text for segment in line] == expected
    assert line_text(line) == "  ".join(expected[::-1])


def test_digits_of_another_font_stand_in_the_gaps_they_are_drawn_into():
    "A program writes the Korean letters of a line with blanks for the digits, and then the digits over the blanks."
    glyphs = placed((50, "법"), (56, "제"), (74, "조"), (80, "의"), (62, "33"))
    glyphs.blank[2] = 2                     # the blanks below the digits
    glyphs.order[2:] += 2
    line, = text_lines(glyphs)
    assert [segment.text for segment in line] == ["법제33조의"]


def test_text_over_other_letters_is_a_separate_line():
    glyphs = placed((50, "가나다라마바"), (60, "73"))
    assert [line_text(line) for line in text_lines(glyphs)] == ["가나다라마바", "73"]


@pytest.mark.parametrize(("highest", "grown"), [(8.0, True), (10.8, False)])
def test_letters_in_a_font_without_a_height_have_the_height_of_its_size(highest: float, grown: bool):
    "PDFium gives the letters of such a font the boxes of their drawings, so that their lines would seem far apart."
    low = np.array([700.0, 700.0, 697.0])
    high = np.array([705.0, 700 + highest, 705.0]) if grown else low + highest
    edges = [np.zeros(3), np.ones(3), low, high]
    pdf_text._with_heights(edges, np.full(3, 12.0), np.full(3, 700.0), np.ones(3, bool))
    assert (edges[3] - edges[2]).round(1).tolist() == ([10.8, 10.8, 11.4] if grown else [10.8] * 3)


def test_two_letters_t_in_one_glyph_are_both_read():
    glyphs = placed((50, "Plaquet"), (86, "t"), (97, "es"))
    glyphs.x1[6:8] = 97
    line, = text_lines(glyphs)
    assert line_text(line) == "Plaquettes"


@pytest.mark.parametrize("mark", ["a.", "(2)", "0.1.2.", "-"])
def test_the_text_of_an_item_goes_on_below_its_beginning(tmp_path: Path, mark: str):
    parts = ["The members of the board meet once a month in the", "main hall and keep a list of what they decide on."]
    texts = [(50, 700, mark, 10), (100, 700, parts[0], 10), (100, 688, parts[1], 10), (50, 676, mark, 10), (100, 676, "Others may listen.", 10)]
    assert text_of(drawn(tmp_path / "a.pdf", texts)).splitlines()[0] == f"{mark}  {parts[0]} {parts[1]}"


def test_a_blank_without_a_width_behind_a_joined_letter_is_no_blank():
    glyphs = placed((50, "quali"), (80, "fi"), (86, "es"), (102, "it"))
    glyphs.x0[5:7], glyphs.x1[5:7] = 80, 86        # ﬁ
    glyphs.blank[[7, 9]] = 2                       # behind ﬁ without a width, and between two words
    glyphs.order[7:] += 1
    glyphs.order[9:] += 1
    line, = text_lines(glyphs)
    assert line_text(line) == "qualifies it"


@pytest.mark.parametrize(("words", "whole"), [("고득점자 순으로 작성하되 항목별 배점은 다음과 같다".split(), True), ("12 34 56 78 90 21 43".split(), False)])
def test_a_line_that_is_stretched_to_the_edges_is_one_piece(words: list[str], whole: bool):
    "A program writes one blank between two words, as wide as the line needs; typed columns of numbers have such gaps, too."
    starts = [50.0]
    for word in words[:-1]:
        starts.append(starts[-1] + 6 * len(word) + 16)
    glyphs = placed(*zip(starts, words))
    ends = np.cumsum([*map(len, words)])[:-1]
    glyphs.blank[ends] = 2
    for end in ends:
        glyphs.order[end:] += 1
    line, = text_lines(glyphs)
    assert [segment.text for segment in line] == ([" ".join(words)] if whole else words)


def test_signs_of_symbol_fonts_are_read_and_a_glyph_without_a_name_that_begins_a_line_is_a_bullet():
    text = "위\r\n\0 값\r\n\0값 \0 \uf0fc \uf0b7\uf53a글\0"
    codes = np.array([*map(ord, text)])
    letters = pdf_text._letters(codes, pdf_text._KINDS[codes])
    assert "".join(map(chr, letters[letters > 0])) == "위•값값✓•한글"


def test_entries_of_a_list_of_contents_and_dates_of_amendments_stay_lines(tmp_path: Path):
    entries = [f"{name} {'.' * dots} {page}" for name, dots, page in (("Level 1 - Automated", 42, 7), ("Level 1A - Dynamic scan", 38, 8), ("Glossary", 52, "xii"))]
    text = text_of(drawn(tmp_path / "a.pdf", [(50, 700 - 14 * n, entry) for n, entry in enumerate(entries)], font="Courier"))
    assert text.splitlines() == entries
    dates = ["제정 2009. 7. 27.", "개정 2010. 12. 24.", "개정(위원장 인가) 2012. 3. 1."]
    assert text_of(drawn(tmp_path / "b.pdf", [(300, 700 - 14 * n, date) for n, date in enumerate(dates)])).splitlines() == dates
