"""The grid of a table: every row has its labels and as many cells as the header, whatever is merged, blank or repeated."""
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragnb import InputError
from ragnb.documents.markdown import find_tables
from ragnb.files.grid import Cell, Grid, Paragraph, Title, filled, is_value, placed, read_cells, to_markdown, unspaced


def cells(*rows: list[str]) -> list[Cell]:
    """Cells of rows of texts; `text^2x1` spans two rows."""
    found = []
    for row in rows:
        parts = [part.partition("^") for part in row]
        found.append([Cell(0, 0, text, *(map(int, size.split("x")) if size else ())) for text, _, size in parts])
    return placed(found)


def grids(*rows: list[str], n_header: int = 0) -> list[Grid]:
    return [block for block in read_cells(cells(*rows), n_header) if isinstance(block, Grid)]


def test_spans_push_the_cells_beside_and_below_them():
    table = cells(["a^2x2", "b"], ["c"], ["d", "e", "f"])
    assert {c.text: (c.row, c.column) for c in table} == {"a": (0, 0), "b": (0, 2), "c": (1, 2), "d": (2, 0), "e": (2, 1), "f": (2, 2)}
    assert [c.rowspan for c in cells(["a^0x1", "b"], ["c"])] == [2, 1, 1]   # to the end of the table


@pytest.mark.parametrize(("rows", "header"), [
    ((["구분", "평일"], ["소형", "1,200"]), ("구분", "평일")),
    ((["구분^2x1", "요금^1x2"], ["평일", "주말"], ["소형", "1", "2"]), ("구분", "요금 평일", "요금 주말")),
    ((["구분^2x1", "2024^1x2"], ["1분기", "2분기"], ["소형", "1", "2"]), ("구분", "2024 1분기", "2024 2분기")),
    ((["구분^3x1", "요금^1x4"], ["평일^1x2", "주말^1x2"], ["낮", "밤", "낮", "밤"], ["소형", "1", "2", "3", "4"]),
     ("구분", "요금 평일 낮", "요금 평일 밤", "요금 주말 낮", "요금 주말 밤")),
    ((["구분", "요금^1x2"], ["", "평일", "주말"], ["소형", "1", "2"]), ("구분", "요금 평일", "요금 주말")),
    ((["직급^2x1", "금액"], ["(원)"], ["부장", "9"]), ("직급", "금액 (원)")),
    ((["지점", "매출", "비용"], ["", "억원", "만원"], ["강남", "3", "9"]), ("지점", "매출 억원", "비용 만원")),
    ((["결혼^2x1", "본인", "5일"], ["자녀", "2일"]), ("결혼", "본인", "5일")),
    ((["국내^3x1", "부장", "항공"], ["과장", "철도"], ["사원", "버스"]), ("국내", "부장", "항공")),
    ((["과제명", "건강 앱^1x3"], ["기관", "맑은물", "멘토", "유라온"], ["교수", "남도현", "소속", "공대"], ["인원", "3명^1x3"]),
     ("과제명", "건강 앱", "건강 앱", "건강 앱")),                                     # a form
    ((["기본^1x2", "추가"], ["무료", "2+1", "자율"], ["1과목", "0%", "5%"]), ("기본", "기본", "추가")),   # a row of values
    ((["연도", "2024^1x2"], ["주체", "건수", "비율"], ["부서", "1", "2"]), ("연도 주체", "2024 건수", "2024 비율")),
])
def test_rows_of_labels_become_one_header(rows, header):
    assert grids(*rows)[0].header == header


def test_stated_header_rows_are_believed_and_a_title_among_them_is_the_caption():
    rows = ["급여표^1x2"], ["직급", "급"], ["부장", "차장"], ["과장", "대리"]
    blocks = read_cells(cells(*rows), n_header=2)
    assert blocks == [Paragraph("급여표"), Grid(("직급", "급"), (("부장", "차장"), ("과장", "대리")))]
    assert grids(*rows[1:], n_header=2)[0].header == ("직급 부장", "급 차장")


@pytest.mark.parametrize("above", [["2025년 인원 현황"], ["2025년 인원 현황^1x2"], ["기준: 2025. 6.", "(단위: 명)"]])
def test_a_title_is_the_caption_and_not_the_header(above):
    blocks = read_cells(cells(above, [], ["부서", "인원"], ["총무", "8"]))
    assert blocks[-1] == Grid(("부서", "인원"), (("총무", "8"),))
    assert "2025" in blocks[0].text and len(blocks) == 2


def test_a_header_that_is_printed_again_is_left_out_and_a_title_before_it_begins_a_table():
    found = grids(["품목", "값"], ["못", "1"], ["품목", "값"], ["나사", "2"], ["둘째 창고^1x2"], ["품목", "값"], ["끈", "3"])
    assert [table.rows for table in found] == [(("못", "1"), ("나사", "2")), (("끈", "3"),)]


def test_titles_sums_and_footers_within_a_table_stay_with_their_rows():
    (table,) = grids(["품목", "값", "수"], ["공구^1x3"], ["못", "1", "4"], ["합계", "1", "4"], ["부가세 별도^1x3"])
    assert table.rows == (("공구", "", ""), ("못", "1", "4"), ("합계", "1", "4"), ("부가세 별도", "", ""))


def test_merged_labels_are_repeated_and_long_remarks_are_not():
    remark = "월말에 총무팀이 확인하고 다음 달 오 일까지 영수증과 함께 보내야 하며 늦으면 그다음 달에 지급한다."
    assert len(remark) < 200 < 4 * len(remark)
    (table,) = grids(["구분", "직급", "일비", "비고"], ["국내^2x1", "부장", "3", 4 * remark + "^2x1"], ["사원", "2"])
    assert [row[0] for row in table.rows] == ["국내", "국내"]
    assert [bool(row[3]) for row in table.rows] == [True, False]


SUBJECT = ["제목", "복합기 교체^1x3"]


@pytest.mark.parametrize("rows, kept", [
    ([["문서번호", "총무-041", "기안일", "2030. 3. 9."], SUBJECT], ("제목", "복합기 교체", "", "")),
    ([SUBJECT, ["문서번호", "총무-041", "기안일", "2030. 3. 9."], ["붙임", "견적서^1x3"]], ("붙임", "견적서", "", "")),
    ([["구분", "평일", "주말", "공휴일"], ["소형", "1,200", "1,500", "1,500"], ["대형", "월 8만원^1x3"]], ("대형", "월 8만원", "월 8만원", "월 8만원")),
    ([["품목", "수량", "단위", "단가"], ["못", "3", "개", "900"], ["나사", "품절^1x3"]], ("나사", "품절", "품절", "품절")),
    ([["구분^2x1", "요금^1x3"], ["평일", "주말", "휴일"], ["소형", "1", "2", "3"], ["대형", "없음^1x3"]], ("대형", "없음", "없음", "없음")),
    ([["품명", "규격", "금액"], ["못", "3호", "900"], ["합계^1x2", "900"]], ("합계", "", "900")),
])
def test_a_form_and_a_sum_have_each_text_once_and_a_table_in_each_column(rows, kept):
    (table,) = grids(*rows)
    assert table.rows[-1] == kept
    assert table.header.count("복합기 교체") <= 1


def test_blank_rows_and_columns_end_a_table():
    found = grids(["창고", "면적", "", "차종", "대수"], ["평택", "9", "", "트럭", "3"], ["안성", "8", "", "승합", "2"], [], ["거래처", "담당"], ["가온", "김"])
    assert [table.header for table in found] == [("창고", "면적"), ("차종", "대수"), ("거래처", "담당")]


def test_blank_rows_and_columns_within_a_table_do_not():
    full = grids(["월", "판매", "반품"], ["1월", "310", "4"], ["2월", "295", "9"])
    assert grids(["월", "", "판매", "", "반품"], [], ["1월", "", "310", "", "4"], [], ["2월", "", "295", "", "9"]) == full


def test_tables_for_layout_unfold_and_tables_of_data_do_not():
    inner = Grid(("용량", "값"), (("1L", "9"), ("5L", "4")))
    page = [Cell(0, 0, blocks=[Title("안내")]), Cell(1, 0, blocks=[Paragraph("글")]), Cell(1, 1, blocks=[inner])]
    assert read_cells(page) == [Title("안내"), Paragraph("글"), inner]
    data = [Cell(0, 0, blocks=[Paragraph("시약")]), Cell(0, 1, blocks=[Paragraph("규격")]),
            Cell(1, 0, blocks=[Paragraph("에탄올")]), Cell(1, 1, blocks=[inner])]
    assert read_cells(data) == [Grid(("시약", "규격"), (("에탄올", "용량: 1L, 값: 9; 용량: 5L, 값: 4"),))]


@pytest.mark.parametrize("rows, kept", [
    ([["단계", "맡은 이"], ["접수", "민가람"], ["", ""], ["배송", "서다온"]], [("접수", "민가람"), ("배송", "서다온")]),
    ([["Shift", "Lead"], ["", ""], ["", ""], ["Night", "Okoro"]], [("Night", "Okoro")]),
])
def test_a_blank_row_ends_no_table_that_has_its_own_frame(rows: list[list[str]], kept: list[tuple[str, ...]]):
    assert read_cells(cells(*rows), is_sheet=False) == [Grid(tuple(rows[0]), tuple(kept))]
    assert read_cells(cells(["", ""]), is_sheet=False) == []


@pytest.mark.parametrize("part", [[Paragraph("앞"), Grid(("가", "나"), (("1", "2"),)), Paragraph("뒤")], [Title("절"), Paragraph("글")]])
def test_one_cell_with_a_section_makes_no_layout_of_a_long_table(part: list[object]):
    def page(n_rows: int) -> list[Cell]:
        found = [Cell(row, column, blocks=[Paragraph(f"{row}.{column}")]) for row in range(n_rows) for column in range(3)]
        found[-1].blocks = part
        return found
    (long,) = read_cells(page(9))
    assert len(long.rows) == 8 and long.rows[6] == ("7.0", "7.1", "7.2")
    assert len(read_cells(page(2))) == 5 + len(part)


def test_labels_in_the_style_of_headings_make_no_layout():
    head = [Cell(0, 0, blocks=[Title("품목")]), Cell(0, 1, blocks=[Title("값")])]
    body = [Cell(1, 0, blocks=[Paragraph("못")]), Cell(1, 1, blocks=[Paragraph("3")])]
    assert read_cells(head + body) == [Grid(("품목", "값"), (("못", "3"),))]


@pytest.mark.parametrize("text", ["1,200원", "-3.5%", "△12", "(4)", "2025-07-01", "2025년 7월 1일", "₩300", "-", "12 kg"])
def test_values(text):
    assert is_value(text)


@pytest.mark.parametrize("text", ["부장", "제3조", "3급 이상", "1) 본인", "A-12", "", "12:30~13:00 점심"])
def test_labels(text):
    assert not is_value(text)


def test_a_table_that_would_be_too_large_is_refused_before_it_is_made():
    with pytest.raises(InputError, match="900 rows and 900 columns, and more characters than 2,000,000"):
        filled([Cell(n, n, "x") for n in range(900)])
    with pytest.raises(InputError, match="overlap"):
        filled([Cell(n, n, "x", rowspan=900, colspan=900) for n in range(100)], most=100_000)


SHORT = st.text(alphabet="가나 12,.|\\#\n원", max_size=6)
TABLE = st.lists(st.lists(st.builds(Cell, st.just(0), st.just(0), SHORT, st.integers(0, 3), st.integers(1, 3)), max_size=5), max_size=6)


@given(TABLE, st.integers(0, 3))
def test_every_row_has_as_many_cells_as_the_header_and_no_text_is_lost(rows, n_header):
    blocks = read_cells(placed(rows), n_header)
    for block in blocks:
        assert not isinstance(block, Grid) or {len(row) for row in block.rows} <= {len(block.header)}
    grids = [block for block in blocks if isinstance(block, Grid)]
    lines = [row for grid in grids for row in (grid.header, *grid.rows)] + [[block.text] for block in blocks if block not in grids]
    text = "\n".join(part for line in lines for part in line)
    for row in rows:
        for cell in row:
            assert cell.text in text


@given(TABLE)
def test_markdown_finds_the_tables_that_were_written(rows):
    blocks = [block for block in read_cells(placed(rows)) if isinstance(block, Grid)]
    found = find_tables(to_markdown(blocks))
    assert [len(table.rows) for table in found] == [len(block.rows) for block in blocks]


def test_a_text_over_columns_is_in_each_unless_its_copies_are_long():
    def row(size: int) -> list[str]:
        cells = [Cell(0, n, name) for n, name in enumerate(("방", "평일", "주말", "공휴일"))]
        cells += [Cell(1, n, text) for n, text in enumerate(("가", "1", "2", "3"))]
        cells += [Cell(2, 0, "나"), Cell(2, 1, "값" * size, colspan=3)]
        return to_markdown(read_cells(cells)).splitlines()[-1].strip("| ").split(" | ")
    assert row(160) == ["나", *["값" * 160] * 3]
    assert [text.strip() for text in row(170)[:2]] == ["나", "값" * 170] and "".join(row(170)).count("값") == 170


@pytest.mark.parametrize("left", [[["지사", "차량"], ["제주", "1호차"], ["여수", "3호차"]], [["Branch", "Vans", "Km"], ["Noss", "two", "310"], ["Vaila", "three", "95"]]])
@pytest.mark.parametrize("blank", [0, 1])
def test_titles_beside_each_other_stay_with_their_tables(left: list[list[str]], blank: int):
    right = [["카드", "한도"], ["법인", "50만원"], ["개인", "30만원"]]
    width = len(left[0]) + 1
    rows = [["현황", *[""] * (width - 1), "주유"], *[[""]] * blank, *([*a, "", *b] for a, b in zip(left, right))]
    blocks = read_cells([cell for cell in cells(*rows) if cell.text])
    assert [block.text if isinstance(block, Paragraph) else block.header for block in blocks] == ["현황", tuple(left[0]), "주유", ("카드", "한도")]


def test_a_title_with_nothing_below_it_is_no_title_of_a_table():
    rows = [cell for cell in cells(["매출", "", "", "비용"], [], ["지점", "금액"], ["대전", "3"], ["부산", "4"]) if cell.text]
    assert read_cells(rows) == [Paragraph("매출 | 비용"), Grid(("지점", "금액"), (("대전", "3"), ("부산", "4")))]


FORM = ["이름", "새 창고^1x4"], ["목표", "공간을 늘린다^1x4"], ["시작", "3월", "끝", "5월", "비고"]


@pytest.mark.parametrize(("first", "is_form"), [(["작성일", "2030. 3. 9.", "작성자", "김민수", "(인)"], True), (["작성자", "", "소속", "", ""], True),
                                                (["구분", "서울", "부산", "대구", "광주"], False)])
def test_a_form_with_wide_values_has_each_text_once_and_its_first_row_alone_as_the_header(first, is_form):
    """Below a header of labels a joined cell is the value of every column."""
    (found,) = grids(first, *FORM)
    assert found.rows[0] == (("이름", "새 창고", "", "", "") if is_form else ("이름", "새 창고", "새 창고", "새 창고", "새 창고"))
    assert found.header == tuple(first)


TEXTS = [Paragraph("1. 상담이 늘었다."), Paragraph("2. 절반은 전화다."), Paragraph("3. 앞으로 더 돕는다.")]


def with_blocks(*rows: list[str]) -> list[Cell]:
    """Cells as readers of documents make them; one without a text has several paragraphs."""
    table = cells(*rows)
    for cell in table:
        cell.blocks = [Paragraph(cell.text)] if cell.text else TEXTS
        cell.text = ""
    return table


def test_a_text_as_wide_as_the_table_ends_it():
    table = with_blocks(["담당", "유라온"], ["쪽수", "7쪽"], ["주요 내용^1x2"], ["^1x2"])
    assert read_cells(table, is_sheet=False) == [Grid(("담당", "유라온"), (("쪽수", "7쪽"),)), Paragraph("주요 내용"), *TEXTS]


def test_a_remark_within_a_table_of_data_leaves_its_rows_below_the_header():
    table = with_blocks(["부서", "인원", "예산"], ["총무", "8", "90"], ["^1x3"], ["영업", "9", "80"])
    grid, = read_cells(table, is_sheet=False)
    assert grid.header == ("부서", "인원", "예산") and len(grid.rows) == 3


@pytest.mark.parametrize(("text", "closed"), [
    ("성 명", "성명"), ("사   직   원", "사직원"), ("○ 접 수 처 : 총무팀\n2. 주    소: 서울", "○ 접수처 : 총무팀\n2. 주소: 서울"),
    ("수　요　기　관：해양과", "수요기관：해양과"), ("년  월  일", "년  월  일"), ("이 때\n그 방 문", "이 때\n그방문"), ("할 수 있는 일", "할 수 있는 일"),
    ("역 수", "역 수"), ("비 용: 없음", "비 용: 없음"), ("역  수", "역수"), ("금 액: 3만 원", "금액: 3만 원"),
    ("신청인 : 성 명", "신청인 : 성 명"), ("표 1 금액", "표 1 금액"), ("A 안 : 세 개", "A 안 : 세 개")])
def test_syllables_of_a_label_set_apart_are_closed_up(text: str, closed: str):
    assert unspaced(text) == closed
    assert to_markdown([Paragraph(text)]) == closed and unspaced(closed) == closed


def test_headings_and_cells_are_closed_up():
    grid = Grid(("구 분", "비   고"), (("소 계", "3 개"), ("년 월 일", "남 여")))
    assert to_markdown([Title("휴 직 원"), grid]) == "# 휴직원\n\n| 구분 | 비고 |\n|---|---|\n| 소계 | 3 개 |\n| 년 월 일 | 남여 |"
