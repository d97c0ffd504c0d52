"""Texts of PDF files."""
from __future__ import annotations

from pathlib import Path

from before_after import item
from drawn_pdf import column, drawn, rows

from ragnb import Passage, read_documents, Span
from ragnb.context.labels import place_label

RULES = ["사물함은 층마다 스무 칸씩 있으며 쓰려는 사람은 일층 안내대에서 보관", "함 번호를 받고 이름을 적는다. 열쇠를 잃으면 새 자물쇠 값 팔천 원을 낸", "다. 휴관일에는 보관함을 열 수 없다."]
BOOK = ["한빛도서관 이용 안내", "대출은 한 번에 다섯 권까지이고 기간은 두 주이며, 예약한 사람이 없으면 한 번", "한빛도서관 이용 안내", "연장할 수 있다. 연체하면 그만큼 못 빌린다."]
TRIPS = [("구분", "숙박비", "식비"), ("부장", "90,000원", "35,000원"), ("과장", "70,000원", "30,000원"), ("사원", "60,000원", "25,000원")]


def text_of(path: Path) -> str:
    return next(iter(read_documents(path, []))).text


def line_with(text: str, word: str) -> str:
    return next((line for line in text.split("\n") if word in line), "")


@item(right=[True, True])
def korean_words_at_line_ends(folder: Path) -> list[bool]:
    "a Korean word broken at a line end is one word"
    text = text_of(drawn(folder / "a.pdf", column(50, 700, RULES)))
    return ["보관함 번호" in text, "팔천 원을 낸다." in text]


@item(right="The pump needs fifteen minutes. A well-known, up-to-date valve stops it.")
def hyphens_at_line_ends(folder: Path) -> str:
    "hyphens at line ends: of the line, or of the word"
    return text_of(drawn(folder / "a.pdf", column(50, 700, ["The pump needs fif-", "teen minutes. A well-", "known, up-to-", "date valve stops it."]), font="Helvetica"))


@item(right=["The lid stays shut while", "Wear a mask in the hall"])
def columns_drawn_by_line(folder: Path) -> list[str]:
    "two columns drawn line by line: left, then right"
    left = ["The lid stays shut while", "the drum turns, and the", "crew waits outside until", "the green lamp is lit."]
    right = ["Wear a mask in the hall", "and gloves at the press.", "Masks are changed every", "four hours of work time."]
    text = text_of(drawn(folder / "a.pdf", rows((50, 220), 700, list(zip(left, right)), 14), font="Helvetica"))
    whole = [part for part in text.replace("\n\n", "|").replace("\n", " ").split("|") if part.strip()]
    return [part[:len(start)] for part, start in zip(whole, (left[0], right[0]))] if len(whole) == 2 else whole[:1]


@item(right=[1, True])
def running_heads(folder: Path) -> list:
    "running heads and page numbers are not inside a sentence"
    sheets = [[(50, 800, BOOK[0]), (50, 700 - 14 * (n < 0), text), (290, 40, str(n + 11))] for n, text in enumerate([BOOK[1], BOOK[3], "문의는 안내대에서 받는다.", "끝."])]
    text = text_of(drawn(folder / "a.pdf", *sheets))
    return [text.count(BOOK[0]), "없으면 한 번 연장할 수 있다." in text]


@item(right=["a.pdf, p.i (sheet 1)", "a.pdf, p.2 (sheet 4)"])
def printed_numbers(folder: Path) -> list[str]:
    "labels have the printed page number"
    sheets = [[(50, 700, f"{number}쪽의 글이다."), (290, 40, f"- {number} -")] for number in ("i", "ii", "1", "2", "3")]
    document = next(iter(read_documents(drawn(folder / "a.pdf", *sheets), [])))
    passages = [Passage("a.pdf", Span(0, 2), "글자", pages=(n,), page_spans=((n, Span(0, 2)),), metadata={**document.metadata, "title": ""}) for n in (1, 4)]
    return [place_label(passage) for passage in passages]


@item(right="| 과장 | 70,000원 | 30,000원 |")
def table_without_lines(folder: Path) -> str:
    "a table without ruling lines is a table"
    return line_with(text_of(drawn(folder / "a.pdf", rows((50, 150, 250), 700, TRIPS))), "과장")


@item(right="| 국내 | 과장 | 70,000원 |")
def merged_cell(folder: Path) -> str:
    "a merged cell of a ruled table is in each of its rows"
    bars = [(50, y, 350, y) for y in (720, 700, 660)] + [(130, 680, 350, 680)] + [(x, 660, x, 720) for x in (50, 130, 220, 350)]
    texts = [(70, 706, "구분"), (150, 706, "직급"), (250, 706, "숙박비"), (70, 676, "국내"), (150, 686, "부장"), (250, 686, "90,000원"), (150, 666, "과장"), (250, 666, "70,000원")]
    return line_with(text_of(drawn(folder / "a.pdf", texts + bars)), "과장")


@item(right=[2, "| 사원 | 60,000원 | 25,000원 |"])
def table_over_pages(folder: Path) -> list:
    "a table that goes on on the next page has its header there too"
    places = (50, 150, 250)
    text = text_of(drawn(folder / "a.pdf", [(50, 740, "출장비는 다음과 같다."), *rows(places, 700, TRIPS[:3])], [*rows(places, 780, TRIPS[3:] + [("인턴", "50,000원", "20,000원")])]))
    return [text.count("| 구분 | 숙박비 | 식비 |"), line_with(text, "사원")]


@item(right="Name  Park Jimin")
def form_values(folder: Path) -> str:
    "the values of a form stand beside their labels"
    from reportlab.pdfgen import canvas
    out = canvas.Canvas(str(folder / "a.pdf"), invariant=1)
    for y, label, value in ((700, "Name", "Park Jimin"), (660, "Team", "Night crew")):
        out.drawString(50, y, label)
        out.acroForm.textfield(x=120, y=y - 6, width=140, height=18, value=value, name=label)
    out.save()
    return line_with(text_of(folder / "a.pdf"), "Name")


@item(right="바닥은 45m² 이고 값은 30¹⁾ 이다.")
def raised_digits(folder: Path) -> str:
    "a raised digit is no digit of the number before it"
    texts = [(50, 700, "바닥은 45m"), (None, 704, "2", 6), (None, 700, " 이고 값은 30"), (None, 704, "1)", 6), (None, 700, " 이다.")]
    return " ".join(text_of(drawn(folder / "a.pdf", texts)).split())    # the width of a gap depends on the fonts of the machine


@item(right=["# 숙소 안내", "## 입실"])
def headings_by_size(folder: Path) -> list[str]:
    "larger lines are headings"
    texts = [(50, 780, "숙소 안내", 18), (50, 750, "입실", 13), (50, 730, "입실은 오후 세 시부터이며 열쇠는 안내대에서 받는다."), (50, 700, "퇴실", 13), (50, 680, "퇴실은 오전 열한 시까지이며 열쇠를 돌려준다.")]
    return [line for line in text_of(drawn(folder / "a.pdf", texts)).split("\n") if line.startswith("#")][:2]


@item(right=True)
def scanned_pages(folder: Path) -> bool:
    "the note on scanned pages says how to add the text"
    from PIL import Image
    from reportlab.lib.utils import ImageReader
    from reportlab.pdfgen import canvas
    out = canvas.Canvas(str(folder / "a.pdf"), invariant=1)
    out.drawString(50, 700, "first")
    out.showPage()
    out.drawImage(ImageReader(Image.new("RGB", (8, 8), "red")), 50, 50, 400, 600)
    out.showPage()
    out.save()
    problems: list = []
    list(read_documents(folder / "a.pdf", problems))
    return any("ocrmypdf" in problem.what for problem in problems)
