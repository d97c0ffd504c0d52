"""The order of reading, running heads, page numbers and headings of PDF files."""
from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest
from drawn_pdf import column, drawn, rows

from ragnb import Passage, read_documents, Span
from ragnb.context.labels import page_label, passage_pages, printed_number
from ragnb.files.pdf import read_pdf

LEFT = ["The boiler is cleaned each", "week by two people who", "wear masks, and a third", "person stays outside."]
RIGHT = ["Filters are changed when", "the red lamp blinks, or", "after ninety days of use", "at the latest."]


def text_of(path: Path) -> str:
    return "\n\n".join(read_pdf(path)["pages"])


@pytest.mark.parametrize("gap", [150, 200])
@pytest.mark.parametrize("order", ["line by line", "column by column", "right column first"])
def test_columns_are_read_one_after_the_other(tmp_path: Path, gap: int, order: str):
    by_line = rows((50, 50 + gap), 700, list(zip(LEFT, RIGHT)), 14)
    by_column = column(50, 700, LEFT) + column(50 + gap, 700, RIGHT)
    texts = {"line by line": by_line, "column by column": by_column, "right column first": by_column[4:] + by_column[:4]}[order]
    text = text_of(drawn(tmp_path / "a.pdf", texts, font="Helvetica"))
    assert " ".join(LEFT) in text and " ".join(RIGHT) in text


@pytest.mark.parametrize("title", [[(50, 760, "Boiler room rules", 16)], [(50, 770, "Issue 12", 9), (120, 740, "Care of boilers", 16)]])
def test_a_title_that_is_drawn_last_is_read_first(tmp_path: Path, title: list[tuple]):
    text = text_of(drawn(tmp_path / "a.pdf", column(50, 700, LEFT) + column(250, 700, RIGHT) + title, font="Helvetica"))
    places = [text.index(part) for part in (title[-1][2], LEFT[0], LEFT[-1], RIGHT[0])]
    assert places == sorted(places)


@pytest.mark.parametrize("top", [728, 780])
def test_a_right_column_that_begins_higher_stays_second(tmp_path: Path, top: int):
    text = text_of(drawn(tmp_path / "a.pdf", column(50, 700, LEFT) + column(250, top, RIGHT), font="Helvetica"))
    assert text.index(LEFT[-1]) < text.index(RIGHT[0])


def test_korean_columns_below_a_title(tmp_path: Path):
    left = ["휴게실은 층마다 하나씩", "있으며 점심시간에는 누", "구나 쓴다. 음식 냄새가", "나면 창문을 연다."]
    right = ["세탁기는 지하에 석 대", "가 있다. 한 번에 천 원", "을 내고 쓰며, 밤에는", "돌리지 않는다."]
    text = text_of(drawn(tmp_path / "a.pdf", [(150, 740, "공동 시설 안내", 16), *rows((50, 190), 700, list(zip(left, right)), 14)]))
    assert text.startswith("# 공동 시설 안내") and "점심시간에는 누구나 쓴다." in text and text.index("창문을 연다") < text.index("세탁기는")


def test_short_cells_side_by_side_are_no_columns(tmp_path: Path):
    cells = [("지점", "직원"), ("서울", "31명"), ("부산", "12명"), ("대전", "9명")]
    assert "| 부산 | 12명 |" in text_of(drawn(tmp_path / "a.pdf", column(50, 700, [a for a, _ in cells]) + column(200, 700, [b for _, b in cells])))


def test_a_head_that_changes_from_left_to_right_is_found(tmp_path: Path):
    sheets = [[(50 if n % 2 else 300, 800, "생활 안내" if n % 2 else "2장 시설"), (50, 700, f"{word} 이야기이다."), (290, 40, f"{n + 7}")]
              for n, word in enumerate(["휴게실", "세탁실", "회의실", "식당", "주차장", "옥상"])]
    found = read_pdf(drawn(tmp_path / "a.pdf", *sheets))
    text = "\n\n".join(found["pages"])
    assert text.count("생활 안내") == text.count("2장 시설") == 1 and found["printed_pages"] == "1:7"
    assert found["notes"] == ["running heads are kept once: 4 lines left out, such as '2장 시설'", "printed page numbers are no part of the text: 6 left out"]


def test_a_head_between_the_halves_of_a_table_over_two_pages(tmp_path: Path):
    def page(head: str, rows: list[list[str]]) -> list[tuple]:
        cells = [(50 + 120 * n, 700 - 16 * at, text) for at, row in enumerate(rows) for n, text in enumerate(row)]
        return [(50, 780, head), *cells]
    rows = [[f"창고 {n}호", f"{n}층", f"{30 + n}"] for n in range(1, 9)]
    split = read_pdf(drawn(tmp_path / "a.pdf", page("관리과 자료", [["이름", "층", "면적"], *rows[:4]]), page("관리과 자료", rows[4:])))
    assert split["pages"][1].startswith("| 이름 | 층 | 면적 |") and "관리과 자료" not in split["pages"][1]
    assert split["notes"] == ["running heads are kept once: 1 line left out, such as '관리과 자료'"]
    other = read_pdf(drawn(tmp_path / "b.pdf", page("관리과 자료", rows[:4]), page("시설과 자료", rows[4:])))
    assert other["pages"][1].startswith("시설과 자료")
    near = [(50, 716, "창고 목록"), (50, 700, "가 창고")], [(50, 716, "창고 목록"), (50, 700, "나 창고")]
    assert all(text.startswith("창고 목록") for text in read_pdf(drawn(tmp_path / "c.pdf", *near))["pages"])


def test_lines_that_differ_in_more_than_a_page_number_stay(tmp_path: Path):
    amounts = ["3,100원", "2,050원", "7,800원", "1,990원"]
    text = text_of(drawn(tmp_path / "a.pdf", *[[(50, 800, f"합계 {amount}"), (50, 700, "다음 장에 이어진다.")] for amount in amounts]))
    assert all(amount in text for amount in amounts)


def test_a_page_of_numbers_only_keeps_them(tmp_path: Path):
    assert text_of(drawn(tmp_path / "a.pdf", *[[(290, 40, str(n))] for n in (1, 2, 3)])).split() == ["1", "2", "3"]


@pytest.mark.parametrize(("numbers", "runs"), [
    (["i", "ii", "1", "2", "3"], "1:i, 2:ii, 3:1"), (["", "", "1", "2", "3"], "3:1"), (["1", "2", "3"], None), (["- 5 -", "- 6 -", "- 7 -"], "1:5"),
    (["Page 1 of 3", "Page 2 of 3", "Page 3 of 3"], None), (["17", "3", "90"], None),
])
def test_printed_page_numbers(tmp_path: Path, numbers: list[str], runs: str | None):
    texts = ["대출은 두 주이다.", "연장은 한 번이다.", "예약은 세 권까지이다.", "반납은 어디서나 한다.", "끝."]
    found = read_pdf(drawn(tmp_path / "a.pdf", *[[(50, 700, text), (290, 40, number)] for text, number in zip(texts, numbers)]))
    assert found.get("printed_pages") == runs


def test_labels_name_the_printed_page_and_the_sheet(tmp_path: Path):
    path = drawn(tmp_path / "a.pdf", *[[(50, 700, f"{n}째 이야기이다."), (290, 40, number)] for n, number in enumerate(["i", "ii", "1", "2", "3"])])
    document, = read_documents(path, [])
    spans = ((4, Span(0, 5)), (5, Span(5, 10)))
    passage = Passage("a.pdf", Span(0, 10), "가" * 10, pages=(4, 5), page_spans=spans, focus=Span(6, 8), metadata=document.metadata)
    assert passage_pages(passage) == "p.3 (sheet 5) (text p.2-3 (sheet 4-5))"
    assert [page_label((4,), ""), page_label((4,), "3:1"), page_label((1,), "3:1")] == ["p.4", "p.2 (sheet 4)", "p.1"]


@pytest.mark.parametrize("damaged", ["x", "²:1", "3:", ":4", "3:1:2", ", ,", "3:zz"])
def test_damaged_counts_of_pages_name_the_sheet_or_what_they_say(damaged: str):
    assert printed_number(7, damaged) in ("7", "x") and printed_number(1, damaged)


def test_bookmarks_are_headings_and_size_is_not_asked(tmp_path: Path):
    from reportlab.pdfgen import canvas
    out = canvas.Canvas(str(tmp_path / "a.pdf"), invariant=1)
    for n, (title, size) in enumerate([("Booking", 12), ("Cleaning", 12)]):
        out.setFont("Helvetica", size)
        out.bookmarkPage(title)
        out.addOutlineEntry(title, title, n)
        out.drawString(50, 700, title)
        out.drawString(50, 660, "Rooms are booked online, a day before.")
        out.setFont("Helvetica", 20)
        out.drawString(50, 600, "BIG WORDS")
        out.showPage()
    out.save()
    assert [page.split("\n")[0] for page in read_pdf(tmp_path / "a.pdf")["pages"]] == ["# Booking", "## Cleaning"]
    assert "# BIG" not in text_of(tmp_path / "a.pdf")


def test_text_in_one_size_has_no_headings(tmp_path: Path):
    assert "#" not in text_of(drawn(tmp_path / "a.pdf", column(50, 700, ["안내", "방은 하루 전에 예약한다.", "주의", "불을 끈다."], 30)))


def test_pages_with_too_much_text_are_read_as_plain_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    import ragnb.files.pdf as pdf
    path = drawn(tmp_path / "a.pdf", [(50, 700, "짧은 쪽이다.")], [(50, 700, "이 쪽에는 글자가 너무 많아서 자리를 보지 않고 그대로 읽는다.")])
    monkeypatch.setattr(pdf, "MOST_ON_PAGE", 12)
    found = read_pdf(path)
    assert found["pages"][1] == "이 쪽에는 글자가 너무 많아서 자리를 보지 않고 그대로 읽는다." and found["notes"] == ["pages read as plain lines: 2"]


@pytest.mark.heavy
@pytest.mark.parametrize("kind", ["tiny letters", "cells", "scattered", "paths", "overprinted", "bookmarks"])
def test_hostile_pages_end_within_the_limits(tmp_path: Path, kind: str):
    """Eight seconds of CPU and 400 MB, checked by the system: a child that takes more is stopped."""
    from reportlab.pdfgen import canvas
    pytest.importorskip("resource", reason="limits a process")
    out = canvas.Canvas(str(tmp_path / "a.pdf"), invariant=1, pageCompression=1)
    out.drawString(50, 820, "Beginning")
    out.setFont("Helvetica", 3)
    chance = random.Random(1)
    if kind == "tiny letters":
        for y in range(750):
            out.drawString(0, y, "lorem ipsum dolor 12 " * 15)
    if kind == "cells":
        for at in range(12_000):
            out.drawString(at % 60 * 10, at // 60 * 4, str(at))
        for at in range(300):
            out.line(0, 2.5 * at, 600, 2.5 * at)
            out.line(2 * at, 0, 2 * at, 800)
    if kind == "scattered":
        for _ in range(12_000):
            out.drawString(chance.random() * 590, chance.random() * 800, "ab")
    if kind == "paths":
        for _ in range(60_000):
            x = chance.random() * 500
            y = chance.random() * 800
            out.line(x, y, x + 30, y)
    if kind == "overprinted":
        for at in range(15_000):
            out.drawString(50, 500, f"{at:05}")
    if kind == "bookmarks":
        for at in range(4_000):
            out.bookmarkPage(f"k{at}")
            out.addOutlineEntry(f"Part {at}", f"k{at}", 0)
    out.save()
    code = f"""
import resource
import sys
resource.setrlimit(resource.RLIMIT_CPU, (9, 9))
from ragnb.files.pdf import read_pdf
assert "Beginning" in read_pdf({str(tmp_path / "a.pdf")!r})["pages"][0]
status = open("/proc/self/status").read() if sys.platform == "linux" else "VmHWM: 0"
print(status.partition("VmHWM:")[2].split()[0])
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr[-500:]
    assert int(run.stdout) < 400 * 2**10


def test_a_foot_stands_below_the_last_page_and_divides_no_sentence(tmp_path: Path):
    lines = ["The keeper counts the boats each", "evening and writes the number", "down. If a boat is not back by", "nine, the harbor office calls"]
    rest = ["the owner of the boat at once.", "The list is kept for a year."]
    sheets = [[*column(50, 120, lines), (50, 40, "Harbor rules, sheet 1")], [*column(50, 700, rest), (50, 40, "Harbor rules, sheet 2")]]
    found = read_pdf(drawn(tmp_path / "a.pdf", *sheets, font="Helvetica"))
    assert found["pages"][0].endswith("calls") and found["page_breaks"] == [" "]
    assert found["pages"][1].endswith("Harbor rules, sheet 2") and "sheet 1" not in found["pages"][0]


def test_turned_text_comes_behind_what_is_drawn_before_it(tmp_path: Path) -> None:
    """The owner of a picture, along its side; a sentence that goes on in the next column stays in one piece."""
    from reportlab.pdfgen import canvas
    first = ["The pump is checked once a week.", "Its filter is changed every month.", "The oil is changed each spring and"]
    second = ["each autumn by the technical team.", "Old oil is given to the depot.", "It is collected every Friday."]
    for last, order in ((first[2], "sentence"), ("The oil is changed each spring.", "credit")):
        out = canvas.Canvas(str(tmp_path / "a.pdf"), invariant=1)
        for n, line in enumerate([*first[:2], last]):
            out.drawString(50, 700 - 14 * n, line)
        out.saveState()
        out.translate(280, 500)
        out.rotate(90)
        out.drawString(0, 0, "Photo by Kim")
        out.restoreState()
        for n, line in enumerate(second):
            out.drawString(320, 700 - 14 * n, line)
        out.save()
        text = read_pdf(tmp_path / "a.pdf")["pages"][0]
        if order == "credit":
            assert text.index("each spring.") < text.index("Photo by Kim") < text.index("by the technical team")
        else:
            assert "each spring and each autumn by" in text and text.rstrip().endswith("Photo by Kim")


BOLD = (10, "Helvetica-Bold")


@pytest.mark.parametrize("number", ["", "2.", "1.3"])
@pytest.mark.parametrize("look", [BOLD, (11, "Times-Roman"), (14, "Helvetica")])
def test_a_heading_beside_another_column_is_found(tmp_path: Path, number: str, look: tuple[float, str]):
    head = [(50, 726, number, *look), (82, 726, "Care of boilers", *look)] if number else [(50, 726, "Care of boilers", *look)]
    right = column(250, 726, [*RIGHT, "The lamp is above the door of", "the room, and a second lamp is", "near the stairs that lead down."])
    text = text_of(drawn(tmp_path / "a.pdf", [*head, *column(50, 700, [*LEFT, *LEFT[::-1]]), *right], font="Helvetica"))
    assert f"{number} Care of boilers".strip() in [line.lstrip("# ") for line in text.splitlines() if line.startswith("#")]
    assert text.count("#") == 1


@pytest.mark.parametrize("texts", [
    column(50, 700, LEFT) + [(50, 644, "every week by two people", *BOLD), (50, 630, "who wear masks")],           # bold words of a sentence
    [(50, 700 - 20 * n, f"Boiler {n}", *BOLD) for n in range(9)],                                                  # a text that is bold
    column(50, 700, LEFT) + [(50, 610, "The boiler room is closed at night.", *BOLD), (50, 594, "A guard has the key")],   # a sentence
])
def test_bold_lines_that_are_no_headings(tmp_path: Path, texts: list[tuple]):
    assert "#" not in text_of(drawn(tmp_path / "a.pdf", texts, font="Helvetica"))


@pytest.mark.parametrize("mark", ["1) ", "* ", "1 "])
@pytest.mark.parametrize("goes_on", [True, False])
def test_a_sentence_goes_on_past_the_notes_below_a_column(tmp_path: Path, mark: str, goes_on: bool):
    left = [*LEFT, "Two keys open it, and the"]
    right = ["guard of the night has one" if goes_on else "The guard of the night has", "in a box beside the door.", *RIGHT]
    notes = [(50, 610, f"{mark}Gloves are worn as well, as the", 7), (50, 601, "law on dust has it since May", 7)]
    text = text_of(drawn(tmp_path / "a.pdf", column(50, 700, left) + notes + column(250, 700, right), font="Helvetica"))
    assert " ".join([left[-1], *right[:2]]) in text if goes_on else text.index("law on dust") < text.index(right[0])
    assert f"{mark}Gloves are worn as well, as the law on dust has it since May" in text and "May guard" not in text


def test_the_numbers_of_forms_are_no_running_head(tmp_path: Path):
    sheets = [[(50, 800, f"[별지 제{n}호]"), (50, 780, f"{name} 신청서"), (50, 700, "아래와 같이 신청합니다."), (290, 40, f"- {n + 20} -")]
              for n, name in enumerate(["휴직", "복직", "연수", "파견"], 1)]
    found = read_pdf(drawn(tmp_path / "a.pdf", *sheets))
    assert all(f"[별지 제{n}호]" in page for n, page in enumerate(found["pages"], 1)) and found["printed_pages"] == "1:21"
    sheets = [[(50, 800, f"생활 안내 제{n}쪽"), (50, 700, f"{name} 이야기이다.")] for n, name in enumerate(["휴게실", "세탁실", "식당"], 1)]
    assert "".join(read_pdf(drawn(tmp_path / "b.pdf", *sheets))["pages"]).count("생활 안내") == 1


def test_a_table_that_is_drawn_last_stays_below_its_caption(tmp_path: Path):
    text = ["배포용 문서는 편집을 제한한다.", "복사와 인쇄도 제한한다.", "읽는 사람은 그대로 읽는다.", "일반 문서와 아래 표만큼 다르다."]
    more = ["암호는 열쇠로 푼다.", "열쇠는 문서 안에 있다.", "난수는 씨앗에서 나온다.", "씨앗은 처음 네 글자이다."]
    table = [(60, 600, "구분"), (160, 600, "배포용"), (60, 580, "암호"), (160, 580, "있다"), *((50, y, 250, y) for y in (615, 595, 575)),
             *((x, 575, x, 615) for x in (50, 150, 250))]
    shown = text_of(drawn(tmp_path / "a.pdf", column(50, 700, text) + column(50, 520, more) + table + [(90, 560, "표 1 문서의 종류")]))
    places = [shown.index(part) for part in (text[1], "| 암호 | 있다 |", "표 1 문서의", more[0])]
    assert places == sorted(places)


def test_a_chapter_at_the_top_or_the_foot_of_a_page_is_no_part_of_a_sentence(tmp_path: Path):
    long = "휴직자가 복직할 때에는 소속 부서장을 거쳐 복직원을 인사팀에 내고 발령을 받아야"
    first = [*column(50, 700, [f"제1조(복직) ① {long}", "한다.<개정 2014.1.20>"]), (200, 640, "제2장 휴가")]
    second = [(50, 700, f"제2조(휴가) {long}"), (50, 686, "한다."), (50, 672, f"② 제1항의 기간은 {long[:-3]}"), (50, 658, "제1조에 따라 정한다.<신설 2015.8.20>")]
    third = [(200, 700, "제3장 포상"), (50, 660, "제3조(포상) 포상은 상장으로 한다.")]
    lines = text_of(drawn(tmp_path / "a.pdf", first, second, third)).split("\n")
    assert "제2장 휴가" in lines and "제3장 포상" in lines and any(line.endswith("제1조에 따라 정한다.<신설 2015.8.20>") and line.startswith("②") for line in lines)
