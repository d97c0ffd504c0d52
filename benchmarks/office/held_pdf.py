"""The held-out half: PDF by four producers. Read it only to measure a finished change."""
from __future__ import annotations

from typing import Any

from build import book, docx, drawn, exported, footnote, grid, html_table, lines, p, printed, sheet, Shown, t, written
from spec import absent, before, cell, file, near, same_width, sentence

TREES = ("산신령과", "나무꾼과", "도깨비와", "봉화와")
BREAK = 57   # The sentence that a page break divides
LONG = "텃새는 겨울에도 둥지를 떠나지 않고 먹이를 저장해 둔 곳을 돌아가며 찾는다. "


def _spaced(x: float, y: float, size: float, words: str, step: float) -> list[Any]:
    "Letters drawn one by one; a blank is only a gap."
    return [(x + n * step, y, size, letter) for n, letter in enumerate(words) if letter != " "]


def _glyphs(x: float, y: float, rows: list[str], step: float = 18) -> list[Any]:
    "Lines of Korean letters drawn one by one, a blank as a smaller gap."
    drawn_: list[Any] = []
    for n, row in enumerate(rows):
        at = x
        for letter in row:
            if letter != " ":
                drawn_.append((at, y + n * step, 11, letter))
            at += 3.4 if letter == " " else 4 if letter in ".," else 10.2
    return drawn_


def _parcels(pdf: Any) -> None:
    pdf.add_page()
    pdf.set_font("Nanum", "", 10)
    with pdf.table(col_widths=(25, 45, 30, 50), line_height=7) as table:
        for row in (("구역", "배송 기사", "물량", "특이 사항"), *((f"M{n:02}", f"기사{chr(0xB098 + 28 * n)}", str(100 + 7 * n), "골목이 좁아 손수레로 나르고 개가 있는 집은 먼저 전화한다" if n % 5 == 0 else "없음") for n in range(1, 48))):
            line = table.row()
            for word in row:
                line.cell(word)
    pdf.ln(3)
    pdf.multi_cell(0, 6, "구역은 분기마다 다시 나눈다.")


def _terms(pdf: Any) -> None:
    pdf.add_page()
    pdf.set_font("Nanum", "B", 14)
    pdf.cell(0, 10, "Locker terms", new_x="LMARGIN", new_y="NEXT")
    pdf.set_font("Nanum", "", 11)
    with pdf.text_columns(ncols=2, gutter=12, text_align="J", balance=True) as columns:
        columns.write("A locker is rented for one semester and must be empty on its last day. The caretaker opens lockers that are still full and keeps their contents for three weeks. ")
        columns.write("Lost keys cost eighteen euros, which covers the new lock as well. Two people may share a locker when both have signed the form. ")
        columns.write("Nothing that spoils may be left inside over a weekend. Complaints go to the students' office on the ground floor, which is open in the mornings. " * 2)


FILES = [
    file("철새보고.pdf", "columns of a browser, a sentence from one into the other", printed(
        "<h1>철새 관찰 보고</h1><div style='column-count:2;column-gap:14mm'><p>" + LONG * 5 + "저어새는 삼월 둘째 주에 갯벌로 돌아와 모래섬에 둥지를 튼다. " + LONG * 4 + "관찰 기록은 새벽에 적는다.</p></div>"), [
        sentence("저어새는 삼월 둘째 주에 갯벌로 돌아와 모래섬에 둥지를 튼다."), sentence("관찰 기록은 새벽에 적는다."), sentence(LONG.strip()), before("저어새는", "관찰 기록은"),
    ], "저어새는 언제 갯벌로 돌아오나?", "저어새는 삼월 둘째 주에 갯벌로 돌아와"),

    file("낙찰공고.pdf", "a heading with spaced letters, letters drawn one by one", drawn(
        [*_spaced(190, 70, 18, "낙찰공고", 42), *_glyphs(60, 120, ["낙찰자는 마포의 두레건설이다.", "계약은 공고한 날부터 열흘 안에 맺는다."])]), [
        sentence("낙찰자는 마포의 두레건설이다."), sentence("계약은 공고한 날부터 열흘 안에 맺는다."), before("낙", "낙찰자는"),
    ], "낙찰자는 누구인가?", "두레건설"),

    file("월세수입.pdf", "a sheet exported by an office program", exported(book(sheet("월세", [
        ["건물별 월세 수입", "", "", ""], ["건물", "호수", "월세(천원)", "연체"], ["은행나무집", "6", Shown(3420, "#,##0"), "없음"], ["감나무집", "11", Shown(5980, "#,##0"), "2호"], ["합계", "17", Shown(9400, "#,##0"), ""]])), ".xlsx"), [
        cell("감나무집", "월세", 5980), cell("은행나무집", "연체", "없음"), cell("합계", "호수", 17), same_width("감나무집"), before("건물별 월세 수입", "은행나무집"),
    ], "감나무집의 연체는?", "감나무집", "2호"),

    file("배송구역.pdf", "a table over pages with a head on each, rows of several lines", written(_parcels), [
        cell("M03", "물량", 121), cell("M45", "특이 사항", "골목이 좁아 손수레로 나르고 개가 있는 집은 먼저 전화한다"), cell("M46", "물량", 422), cell("M30", "물량", 310), same_width("M46"), sentence("구역은 분기마다 다시 나눈다."),
    ], "M46 구역의 물량은?", "M46", "422"),

    file("관람등급.pdf", "labels in the middle of the rows they hold for, rules", drawn(
        [(60, 60, 15, "관람석 등급과 값"), (64, 144, 10, "1층"), (64, 189, 10, "2층"),
         *[(x, 126 + 18 * n, 10, word) for n, row in enumerate((("무대 앞", "9만원", "120"), ("가운데", "7만원", "200"), ("뒤", "4만원", "90"), ("난간 앞", "6만원", "44"), ("안쪽", "3만원", "61"))) for x, word in zip((150, 260, 370), row)],
         *[(x, 108, 10, word) for x, word in zip((64, 150, 260, 370), ("층", "자리", "값", "좌석 수"))],
         *[(56, y, 450, y) for y in (95, 113, 167, 203)], *[(146, y, 450, y) for y in (131, 149, 185)], *[(x, 95, x, 203) for x in (56, 146, 256, 366, 450)],
         *lines(60, 240, ["막이 오르면 들어갈 수 없다."])]), [
        cell(("1층", "뒤"), "값", "4만원"), cell(("2층", "난간 앞"), "좌석 수", 44), cell(("1층", "무대 앞"), "값", "9만원"), cell(("2층", "안쪽"), "값", "3만원"), same_width("가운데"), sentence("막이 오르면 들어갈 수 없다."),
    ], "2층 난간 앞자리의 값은?", "난간 앞", "6만원"),

    file("입소상담지.pdf", "a printed form: labels left, values right, boxes to tick", printed(
        "<h1>입소 상담지</h1><table>" + "".join(f"<tr><td style='width:40mm'>{a}</td><td style='width:45mm'>{b}</td><td style='width:40mm'>{c}</td><td>{d}</td></tr>" for a, b, c, d in (
            ("어르신 성함", "도라지", "생년", "1941"), ("보호자", "도토리", "관계", "딸"), ("거동", "☑ 스스로 □ 부축", "식사", "죽")))
        + "</table><p>상담 뒤 사흘 안에 입소 여부를 알린다.</p>"), [
        near("어르신 성함", "도라지", 8), near("보호자", "도토리", 8), near("관계", "딸", 8), near("거동", "☑ 스스로", 8), sentence("상담 뒤 사흘 안에 입소 여부를 알린다."),
    ], "입소 여부는 언제 알려 주나?", "상담 뒤 사흘 안에 입소 여부를 알린다."),

    file("연구윤리.pdf", "heads that differ on left and right pages", drawn(*(
        [(60 if n % 2 else 330, 36, 8, f"{n + 40}  연구 윤리 길잡이" if n % 2 == 0 else f"제3장 자료의 보관  {n + 40}"), *lines(60, 90, rows, 11, 20)] for n, rows in enumerate((
            ["자료는 연구가 끝난 뒤에도 다섯 해 동안 ", "지우지 않고 두며 다른 연구자가 청하면 "], ["그 까닭을 묻지 않고 보여 준다. ", "사람을 다룬 자료는 이름을 가리고 열쇠를 ", "따로 둔다. 열쇠를 맡은 사람이 떠날 때에는 "],
            ["후임에게 직접 건넨다. "], ["잘못을 알린 사람은 해를 입지 않는다. "])))), [
        sentence("다른 연구자가 청하면 그 까닭을 묻지 않고 보여 준다."), sentence("열쇠를 맡은 사람이 떠날 때에는 후임에게 직접 건넨다."), sentence("잘못을 알린 사람은 해를 입지 않는다."),
    ], "자료의 열쇠를 맡은 사람이 떠날 때는?", "후임에게 직접 건넨다."),

    file("harbour news.pdf", "three columns drawn line by line, hyphens", drawn(
        [(60, 50, 18, "Harbour news"), *[one for n, row in enumerate(zip(
            ["The dredger starts on", "Monday and works at", "night only. Boats keep", "to the eastern chan-", "nel until it is done."],
            ["The fish market moves", "to shed seven. Stalls", "open at half past four", "and close when the", "ice has melted."],
            ["Moorings are paid at", "the office. A dis-", "count of ten percent", "goes to year-round", "guests."])) for x, words in zip((60, 225, 390), row) for one in lines(x, 90 + 14 * n, [words], 9)]]), [
        sentence("Boats keep to the eastern channel until it is done."), sentence("Stalls open at half past four and close when the ice has melted."), sentence("A discount of ten percent goes to year-round guests."),
        before("eastern channel", "The fish market moves"), before("ice has melted", "Moorings are paid"),
    ], "When do stalls of the fish market open?", "Stalls open at half past four"),

    file("숲해설.pdf", "footnotes at the end of a page, sentences over pages, exported by an office program", exported(docx(
        p("숲 해설 지침", "Heading1"), p(t("해설사는 한 번에 스무 사람") + footnote(1) + t("까지만 이끌고 비가 오면 탐방을 멈춘다.")),
        *(p("".join(f"{n}번 나무 앞에서는 {TREES[n % 4]} 얽힌 이야기를 들려주되 {n + 3}분을 넘기지 않고 길을 비켜 선다. " for n in range(first, first + 10))) for first in range(1, 81, 10)),
        p("해설이 끝나면 쓰레기를 함께 줍는다."), notes={1: "어린이는 두 사람을 한 사람으로 센다."})), [
        sentence("어린이는 두 사람을 한 사람으로 센다."), absent("사람1까지만"), sentence("해설이 끝나면 쓰레기를 함께 줍는다."), sentence("비가 오면 탐방을 멈춘다."),
        *(sentence(f"{n}번 나무 앞에서는 {TREES[n % 4]} 얽힌 이야기를 들려주되 {n + 3}분을 넘기지 않고 길을 비켜 선다.") for n in (4, BREAK)),
    ], "숲 해설에서 어린이는 어떻게 세나?", "어린이는 두 사람을 한 사람으로 센다."),

    file("초안보고.pdf", "a mark across the page, a box beside the text", printed(
        "<div style='position:fixed;top:40mm;left:10mm;font-size:80pt;color:#ddd;transform:rotate(-35deg)'>배포금지</div><h1>전기차 충전소 계획</h1>"
        "<div style='float:right;width:52mm;border:1px solid #888;padding:3mm;margin-left:5mm'><b>한눈에</b><p>충전기 마흔네 기를 둔다.</p><p>예산은 구억 원이다.</p></div>"
        "<p>충전소는 역 뒤편 공영 주차장에 먼저 짓고 반응을 본 뒤에 체육공원과 시장 어귀로 넓혀 나간다. 밤에는 값을 삼 할 내려 낮에 몰리는 차를 나눈다.</p><p>고장 난 충전기는 하루 안에 고친다. " + "고치는 동안에는 이웃 충전소를 알려 준다. " * 5 + "</p>"), [
        sentence("충전소는 역 뒤편 공영 주차장에 먼저 짓고 반응을 본 뒤에 체육공원과 시장 어귀로 넓혀 나간다."), sentence("밤에는 값을 삼 할 내려 낮에 몰리는 차를 나눈다."), sentence("충전기 마흔네 기를 둔다."), sentence("고장 난 충전기는 하루 안에 고친다."),
        sentence("고치는 동안에는 이웃 충전소를 알려 준다."),
    ], "충전기는 몇 기를 두나?", "충전기 마흔네 기를 둔다."),

    file("locker terms.pdf", "two justified columns of a library", written(_terms), [
        sentence("A locker is rented for one semester and must be empty on its last day."), sentence("Lost keys cost eighteen euros, which covers the new lock as well."), sentence("Two people may share a locker when both have signed the form."),
        before("A locker is rented", "Lost keys cost"),
    ], "What do lost locker keys cost?", "Lost keys cost eighteen euros"),

    file("시험편람.pdf", "contents with dots, a table with blanks in its cells and a gap inside a line", drawn(
        [(60, 60, 16, "자격시험 편람"), *lines(60, 96, ["1. 응시 자격 ........................ 4", "2. 시험 과목 ........................ 9"]),
         *grid((60, 170, 290, 400), 160, [["과목", "문항 수", "시간", "합격선"], ["기초 통계", "40", "60분", "24점"], ["자료 분석", "30", "80분", ""], ["실무 작성", "5", "", "3점"]], ruled=True),
         *lines(60, 270, ["응시표는 시험 이레 전부터 뽑을 수 있다.", "문의   02-555-0144"])]), [
        cell("기초 통계", "합격선", "24점"), cell("실무 작성", "합격선", "3점"), cell("자료 분석", "시간", "80분"), cell("실무 작성", "시간", ""), same_width("기초 통계"), sentence("응시표는 시험 이레 전부터 뽑을 수 있다."), near("문의", "02-555-0144", 4),
    ], "실무 작성 과목의 합격선은?", "실무 작성", "3점"),

    file("grant statement.pdf", "amounts with signs, sections in a table of a browser", printed(
        "<h1>Statement of the grant</h1>" + html_table([["Line", "Approved", "Spent", "Left"], ["Staff", ">", ">", ">"], ["Field assistant", "$12,400", "$11,950", "$450"], ["Data entry", "$3,000", "$3,310", "($310)"], ["Travel", ">", ">", ">"],
                                                         ["Boat hire", "$2,750", "$1,980", "$770"], ["Total", "$18,150", "$17,240", "$910"]])
        + "<p>Money that is left on 31 December goes back to the fund.</p>", "td,th{padding:3px 14px;text-align:right}td:first-child{text-align:left}table{border:0}"), [
        cell("Data entry", "Left", "($310)"), cell("Boat hire", "Spent", "$1,980"), cell("Total", "Left", "$910"), same_width("Boat hire"), before("Staff", "Field assistant"), before("Data entry", "Travel"),
        sentence("Money that is left on 31 December goes back to the fund."),
    ], "How much of the grant was spent on boat hire?", "Boat hire", "$1980"),
]
