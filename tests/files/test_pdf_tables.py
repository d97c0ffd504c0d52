"""Tables of PDF files: a value stands in the column of its header and the row of its key, or the lines stay lines."""
from __future__ import annotations

from pathlib import Path

import pytest
from drawn_pdf import column, drawn, net, rows

from ragnb import InputError
from ragnb.files.pdf import read_pdf

PLACES = (50, 130, 220, 350)
FEES = [("방", "정원", "요금"), ("가람실", "6명", "12,000원"), ("나래실", "10명", "18,000원"), ("다솜실", "20명", "30,000원")]


def text_of(path: Path) -> str:
    return "\n\n".join(read_pdf(path)["pages"])


@pytest.mark.parametrize("ruled", [True, False])
@pytest.mark.parametrize("order", ["by row", "by column"])
def test_rows_and_headers(tmp_path: Path, ruled: bool, order: str):
    texts = rows(PLACES[:3], 686, FEES, 20)
    texts = texts if order == "by row" else [texts[3 * row + at] for at in range(3) for row in range(4)]
    bars = net(PLACES, [704, 684, 664, 644, 620]) if ruled else []
    text = text_of(drawn(tmp_path / "a.pdf", [(50, 740, "회의실 요금은 아래 표와 같다."), *((x + 5, y, t) for x, y, t in texts), *bars]))
    assert text.split("\n")[-4:] == ["|---|---|---|"] + [f"| {' | '.join(row)} |" for row in FEES[1:]]
    assert "회의실 요금은 아래 표와 같다." in text.split("\n")[0]


def test_empty_cells_keep_their_columns(tmp_path: Path):
    cells = [("방", "정원", "요금"), ("가람실", "", "12,000원"), ("나래실", "10명", ""), ("다솜실", "20명", "30,000원")]
    text = text_of(drawn(tmp_path / "a.pdf", [*rows((55, 135, 225), 686, cells, 20), *net(PLACES, [704, 684, 664, 644, 620])]))
    assert "| 가람실 |  | 12,000원 |" in text and "| 나래실 | 10명 |  |" in text


def test_a_merged_label_and_a_header_of_two_rows(tmp_path: Path):
    bars = [(50, y, 350, y) for y in (720, 680, 620)] + [(130, y, 350, y) for y in (700, 650)] + [(x, 620, x, 720) for x in (50, 130, 350)] + [(230, 620, 230, 700)]
    texts = [(60, 696, "지점"), (200, 706, "직원 수"), (150, 686, "정규"), (250, 686, "임시"), (60, 646, "서울"), (150, 660, "31"), (250, 660, "4"), (150, 630, "12"), (250, 630, "2")]
    assert text_of(drawn(tmp_path / "a.pdf", texts + bars)).split("\n") == ["| 지점 | 직원 수 정규 | 직원 수 임시 |", "|---|---|---|", "| 서울 | 31 | 4 |", "| 서울 | 12 | 2 |"]


def test_a_word_broken_inside_a_cell_is_whole(tmp_path: Path):
    texts = [(55, 686, "방"), (135, 686, "쓰는 일"), (225, 686, "요금"), (55, 656, "가람실"), (135, 666, "면접과 작은 회"), (135, 652, "의만 한다"), (225, 656, "12,000원"),
             (55, 626, "나래실"), (135, 626, "교육"), (225, 626, "18,000원")]
    assert "| 가람실 | 면접과 작은 회의만 한다 | 12,000원 |" in text_of(drawn(tmp_path / "a.pdf", texts + net(PLACES, [704, 680, 644, 616])))


@pytest.mark.parametrize("ruled", [True, False])
def test_a_table_over_three_pages(tmp_path: Path, ruled: bool):
    pages = []
    for n in range(3):
        body = [(f"{9 * n + k}호", f"{3 + k}명", f"{k + 1}0,000원") for k in range(5)]
        texts = rows((55, 135, 225), 786, [FEES[0], *body] if n == 0 else body, 20)
        pages.append(texts + (net(PLACES, [804 - 20 * k for k in range(7 if n == 0 else 6)]) if ruled else []))
    found = read_pdf(drawn(tmp_path / "a.pdf", *pages))["pages"]
    assert [page.split("\n")[0] for page in found] == ["| 방 | 정원 | 요금 |"] * 3
    assert [page.split("\n")[-1] for page in found] == ["| 4호 | 7명 | 50,000원 |", "| 13호 | 7명 | 50,000원 |", "| 22호 | 7명 | 50,000원 |"]


def test_the_next_table_has_its_own_header(tmp_path: Path):
    other = [("직급", "일비"), ("부장", "35,000원"), ("과장", "30,000원")]
    found = read_pdf(drawn(tmp_path / "a.pdf", rows((55, 135, 225), 786, FEES, 20), rows((55, 225), 786, other, 20)))["pages"]
    assert found[1].split("\n")[0] == "| 직급 | 일비 |"


@pytest.mark.parametrize("texts", [
    rows((50, 300), 700, [("1. 예약 ..............", "3"), ("2. 요금 ..............", "5"), ("3. 청소 ..............", "9")]),
    rows((50, 150), 700, [("이름:", "김하나"), ("부서:", "총무팀"), ("내선:", "1203")]),
    [(60, 700, "오늘은 쉽니다."), (60, 680, "내일 다시 엽니다."), *net((50, 300), (720, 670))],
    [*column(60, 700, ["이 안내는 모든 직원에게 해당한다.", "모르는 것은 총무팀에 묻는다."]), *net((50, 52, 300), (720, 718, 670))],
])
def test_what_is_no_table_stays_lines(tmp_path: Path, texts: list):
    assert "|" not in text_of(drawn(tmp_path / "a.pdf", texts))


def test_columns_of_text_with_a_table_inside_do_not_mix(tmp_path: Path):
    left = ["The hall has three rooms that", "can be rented by the hour, and", "each of them has a screen and", "a board for notes. Prices are", "the same on all days."]
    cells = [("Room", "Seats"), ("North", "12"), ("South", "30")]
    right = ["Coffee is served in the lobby", "at ten and at three, and lunch", "is served at noon. Guests who", "come late find sandwiches."]
    texts = column(50, 700, left) + rows((60, 130), 616, cells, 14) + column(300, 700, right)
    text = text_of(drawn(tmp_path / "a.pdf", texts, font="Helvetica"))
    assert " ".join(left) in text and " ".join(right) in text and "| South | 30 |" in text


def test_values_of_a_form_stand_beside_their_labels(tmp_path: Path):
    from reportlab.pdfgen import canvas
    out = canvas.Canvas(str(tmp_path / "a.pdf"), invariant=1)
    for y, label, value in ((700, "Room", "North"), (670, "Guests", "12"), (640, "Contact", "")):
        out.drawString(50, y, label)
        out.acroForm.textfield(x=120, y=y - 6, width=140, height=18, value=value, name=label)
    for x, label, is_on in ((50, "Coffee", True), (200, "Lunch", False)):
        out.drawString(x, 600, label)
        out.acroForm.checkbox(x=x + 60, y=596, size=12, checked=is_on, name=label)
    out.save()
    assert text_of(tmp_path / "a.pdf").split("\n\n") == ["Room  North", "Guests  12", "Contact", "Coffee  ☑  Lunch  ☐"]


def test_a_page_of_pictures_is_told_with_the_way_to_read_it(tmp_path: Path):
    from PIL import Image
    from reportlab.lib.utils import ImageReader
    from reportlab.pdfgen import canvas
    out = canvas.Canvas(str(tmp_path / "a.pdf"), invariant=1)
    out.drawImage(ImageReader(Image.new("RGB", (8, 8), "red")), 50, 50, 400, 600)
    out.save()
    with pytest.raises(InputError, match="ocrmypdf -l kor"):
        read_pdf(tmp_path / "a.pdf")


HEADED = [(190, 686, "First half"), (320, 686, "Second half"), *rows((60, 150, 220, 290, 360), 666, [("Branch", "Sales", "Staff", "Sales", "Staff")])]
VALUES = [("North", "1,210", "31", "1,350", "33"), ("South", "880", "12", "910", "14"), ("West", "430", "7", "460", "7")]
BARS = [(50, y, 400, y) for y in (700, 660, 590)]
SHORT = [(150, 682, 260, 682), (280, 682, 400, 682)]


def test_short_bars_in_a_header_say_over_which_columns_a_label_goes(tmp_path: Path):
    texts = [*HEADED, *rows((60, 150, 220, 290, 360), 642, VALUES, 20), *BARS, *SHORT]
    text = text_of(drawn(tmp_path / "a.pdf", texts, font="Helvetica"))
    assert "| Branch | First half Sales | First half Staff | Second half Sales | Second half Staff |" in text
    assert "| South | 880 | 12 | 910 | 14 |" in text


def test_two_tables_between_bars_of_one_width_are_two(tmp_path: Path):
    head = [("Branch", "Sales", "Staff")]
    first = [*rows((60, 150, 300), 686, head), *rows((60, 150, 300), 662, [v[:3] for v in VALUES], 16)]
    title = [(50, 590, "Table 2. Sales of the second half of the year in all branches")]
    second = [*rows((60, 150, 300), 562, [("Branch", "Sales", "Rooms")]), *rows((60, 150, 300), 538, [(v[0], v[3], v[4]) for v in VALUES], 16)]
    bars = [(50, y, 400, y) for y in (700, 678, 610, 576, 554, 490)]
    text = text_of(drawn(tmp_path / "a.pdf", [*first, *title, *second, *bars], font="Helvetica"))
    assert text.count("|---|---|---|") == 2 and "| Branch | Sales | Rooms |" in text and "| South | 910 | 14 |" in text
    assert "\nTable 2. Sales of the second half of the year in all branches\n" in text


def test_typed_bars_are_bars(tmp_path: Path):
    typed = "-" * 60
    texts = [(60, 700, "Share     1.0      1.1      1.2"), (60, 688, typed), (60, 676, "0.99 ..... 800      880      960"), (60, 664, "0.95 ..... 160      176      192"),
             (60, 652, "0.90 .....  80       88       96"), (60, 640, typed)]
    text = text_of(drawn(tmp_path / "a.pdf", texts, font="Courier"))
    assert text.split("\n") == ["| Share | 1.0 | 1.1 | 1.2 |", "|---|---|---|---|", "| 0.99 | 800 | 880 | 960 |", "| 0.95 | 160 | 176 | 192 |", "| 0.90 | 80 | 88 | 96 |"]


@pytest.mark.parametrize("mark", ["", "•"])
@pytest.mark.parametrize("n_columns", [1, 2])
def test_text_between_bars_is_no_table(tmp_path: Path, n_columns: int, mark: str):
    lines = ["The hall has three rooms that can", "be rented by the hour, and each of", "them has a screen and a board for", "notes. Prices are the same on all", "days, and guests who come late are", "asked to use the side door."]
    texts = [entry for n in range(n_columns) for entry in column(60 + 190 * n, 680, lines)]
    if mark:
        texts = [part for x, y, line in texts for part in ([(x - 16, y, mark)] if y in (680, 652, 624) else []) + [(x, y, line)]]
    bars = [(40, y, 430, y) for y in (720, 700, 590)]
    text = text_of(drawn(tmp_path / "a.pdf", [*texts, (60, 706, "Rooms"), (300, 706, "Page 3"), *bars], font="Helvetica"))
    assert "|" not in text and (mark or text.count(" ".join(lines)) == n_columns)


def test_a_label_of_two_lines_has_its_values_at_half_its_height(tmp_path: Path):
    texts = [*rows((60, 200, 300), 686, [("Branch", "Sales", "Staff")]), (60, 660, "North"), (200, 660, "1,210"), (300, 660, "31"),
             (60, 641, "South and all"), (200, 635, "880"), (300, 635, "12"), (60, 629, "of its shops")]
    text = text_of(drawn(tmp_path / "a.pdf", [*texts, *((50, y, 400, y) for y in (700, 678, 615))], font="Helvetica"))
    assert "| South and all of its shops | 880 | 12 |" in text


def test_a_label_that_goes_on_in_small_letters_belongs_to_the_next_row(tmp_path: Path):
    texts = [*rows((60, 200, 300), 686, [("Offence", "2008", "2009")]), *rows((60, 200, 300), 660, [("Robbery", "102", "98")]), (60, 646, "Murder and other"),
             *rows((70, 200, 300), 634, [("manslaughter", "10", "9")]), *rows((60, 200, 300), 616, [("Burglary", "240", "231")])]
    text = text_of(drawn(tmp_path / "a.pdf", [*texts, *((50, y, 400, y) for y in (700, 678, 605))], font="Helvetica"))
    assert "| Murder and other manslaughter | 10 | 9 |" in text


@pytest.mark.parametrize("dash", [" - ", "-", "~", " – "])
def test_rows_with_ranges_are_no_header(tmp_path: Path, dash: str):
    body = [(name, f"1.3{n}{dash}1.4{n}", f"2.3{n}{dash}2.9{n}") for n, name in enumerate(["Iowa", "Ohio", "Texas", "Maine", "Utah", "Ohio"])]
    texts = [*rows((50, 150, 250), 700, [("Ethanol",), *body], 14), *rows((50, 150, 250), 595, [("Oil",), *body[::-1], *body], 14)]
    bars = [(50, 712, 330, 712), (50, 607, 330, 607), (50, 420, 330, 420)]
    text = text_of(drawn(tmp_path / "a.pdf", [*texts, *bars], font="Helvetica"))
    assert f"\n| Texas | 1.32{dash}1.42 | 2.32{dash}2.92 |" in text.partition("| Oil")[0]


EDGES = (110, 160, 210, 260, 310)
TOWNS = [("Alcona", "963", "439", "55", "26"), ("Curtis", "1026", "349", "30", "12"), ("Gustin", "611", "180", "22", "35"), ("Hawes", "884", "293", "38", "9")]


def banded(texts: list[tuple], bars: list[tuple]) -> list[tuple]:
    """A net with a low row between its rows, below a header."""
    heights = [y for n in range(5) for y in (720 - 30 * n, 700 - 30 * n)]
    return [*texts, *net(EDGES, heights), *bars]


def test_names_to_the_left_of_a_net_are_its_first_column(tmp_path: Path):
    header = [(x + 5, 706, text) for x, text in zip(EDGES, ("Voters", "Ballots", "Void", "Late"))]
    cells = rows((60, 115, 165, 215, 265), 676, TOWNS, 30)
    text = text_of(drawn(tmp_path / "a.pdf", banded([*header, *cells], []), font="Helvetica"))
    table = "\n".join(f"| {' | '.join(row)} |" for row in TOWNS)
    assert f"|  | Voters | Ballots | Void | Late |\n|---|---|---|---|---|\n{table}" in text


def test_text_beside_a_net_is_no_column_of_it(tmp_path: Path):
    prose = column(40, 706, ["All who vote", "are counted", "once, and no", "ballot is cast", "twice, as the", "law of May", "has it, and", "the guard sees", "each box."], 14)
    cells = rows((115, 165, 215, 265), 706, [("Voters", "Ballots", "Void", "Late"), *(row[1:] for row in TOWNS)], 30)
    text = text_of(drawn(tmp_path / "a.pdf", banded([*prose, *cells], []), font="Helvetica"))
    assert "| Voters | Ballots | Void | Late |" in text and "| 1026 | 349 | 30 | 12 |" in text


def test_a_row_of_sums_without_bars_is_divided_by_the_columns(tmp_path: Path):
    cells = rows((115, 165, 215, 265), 706, [("Voters", "Ballots", "Void", "Late"), *(row[1:] for row in TOWNS)], 30)
    sums = [(x + 5, 556, text) for x, text in zip(EDGES, ("3484", "1261", "145", "82"))]
    frame = [(110, 550, 310, 550), (110, 550, 110, 720), (310, 550, 310, 720)]
    text = text_of(drawn(tmp_path / "a.pdf", banded([*cells, *sums], frame), font="Helvetica"))
    assert "| 884 | 293 | 38 | 9 |\n| 3484 | 1261 | 145 | 82 |" in text


FORM = [(50, y, 350, y) for y in (700, 676, 652, 600, 520)] + [(50, 520, 50, 700), (350, 520, 350, 700), (110, 600, 110, 700), (190, 652, 190, 700), (250, 652, 250, 700)]
FIELDS = [(55, 684, "성"), (85, 684, "명"), (120, 684, "홍가람"), (195, 684, "직"), (225, 684, "급"), (255, 684, "과장"), (55, 660, "소"), (85, 660, "속"), (120, 660, "총무팀"),
          (195, 660, "입사일"), (255, 660, "2014.3.2"), (55, 626, "휴직사유"), (120, 626, "해외 연수"), (60, 580, "위와 같이 신청합니다."), (200, 550, "년"), (240, 550, "월"), (280, 550, "일")]


def test_a_form_keeps_each_value_beside_its_label(tmp_path: Path):
    text = text_of(drawn(tmp_path / "a.pdf", FIELDS + FORM))
    assert "| 성명 | 홍가람 | 직급 | 과장 |" in text and "| 소속 | 총무팀 | 입사일 | 2014.3.2 |" in text and "| 휴직사유 | 해외 연수 |" in text
    assert "위와 같이 신청합니다. 년 월 일" in text


def test_a_header_above_empty_rows_is_one_line(tmp_path: Path):
    head = [(55, 690, "인증서"), (55, 676, "번호"), (135, 684, "발급일"), (225, 684, "제품명")]
    assert text_of(drawn(tmp_path / "a.pdf", head + net(PLACES, [704, 670, 650, 630, 610]))) == "인증서 번호 | 발급일 | 제품명"
