"""The held-out half: workbooks, CSV and Markdown. Read it only to measure a finished change."""
from __future__ import annotations

import datetime as dt

from build import book, F, raw_book, sheet, Shown, strict, text
from spec import absent, before, cell, file, near, note, same_width, sentence

WON = "#,##0"


def _hide_outline(ws: object) -> None:
    "Close a group of rows, as the minus beside them does."
    for n in (3, 4):
        ws.row_dimensions[n].outlineLevel = 1       # type: ignore[attr-defined]
        ws.row_dimensions[n].hidden = True          # type: ignore[attr-defined]


FILES = [
    file("구매요청서.xlsx", "a form of labels above a table, signatures below", book(sheet("요청", [
        ["구매 요청서", ">", ">", ">"],
        ["요청부서", "전산운영과", "요청일", Shown(dt.date(2025, 8, 4), "yyyy-mm-dd")],
        ["사유", "노후 장비 교체", ">", ">"],
        ["", "", "", ""],
        ["번호", "품명", "수량", "희망일"],
        [1, "무정전 전원장치", 3, "8월 말"],
        [2, "광케이블 30m", 12, "9월 초"],
        ["", "", "", ""],
        ["신청인", "유지호", "결재", "민다경"],
    ])), [
        cell("광케이블 30m", "수량", 12), cell("무정전 전원장치", "희망일", "8월 말"), near("요청부서", "전산운영과", 12), near("요청일", "2025-08-04", 12),
        near("사유", "노후 장비 교체", 12), same_width("광케이블"), near("신청인", "유지호", 12), absent("00:00:00"),
    ], "광케이블은 몇 개 요청했나?", "광케이블 30m", "12"),

    file("전력사용량.xlsx", "periods across, years above quarters, a unit over the table", book(sheet("전력", [
        ["건물별 전력 사용량", "", "", "", "(단위: MWh)"],
        ["건물", "2024년", ">", "2025년", ">"],
        ["^", "3분기", "4분기", "1분기", "2분기"],
        ["본관", 412, 388, 455, 371],
        ["별관", 120, 133, 148, 109],
        ["기숙사", 266, 301, 340, 252],
    ])), [
        cell("별관", "2024년 4분기", 133), cell("기숙사", "2025년 1분기", 340), cell("본관", "2025년 2분기", 371), cell("본관", "2024년 3분기", 412),
        sentence("(단위: MWh)"), same_width("기숙사"), before("건물별 전력 사용량", "본관"),
    ], "기숙사의 2025년 1분기 전력 사용량은?", "기숙사", "340"),

    file("Helpdesk by month.xlsx", "the same table on three sheets", book(*(
        sheet(month, [["Counter", "Cases", "Mean wait"], ["Counter A", first, "4 min"], ["Counter B", second, wait]])
        for month, first, second, wait in (("April", 211, 187, "6 min"), ("May", 245, 163, "9 min"), ("June", 198, 204, "3 min")))), [
        before("April", "211"), before("187", "May"), before("245", "June"), before("June", "198"), cell(("Counter B", "204"), "Mean wait", "3 min"), same_width("Counter A"),
    ], "How many cases did counter B have in May?", "Counter B", "163"),

    file("공사비내역.xlsx", "subtotals between rows, a remark joined over rows", book(sheet("내역", [
        ["공종", "세부", "금액(천원)", "비고"],
        ["토목", "굴착", Shown(48200, WON), "우기 전에 마친다"],
        ["^", "되메우기", Shown(12750, WON), "^"],
        ["소계", ">", Shown(60950, WON), ""],
        ["조경", "수목 식재", Shown(9300, WON), "봄에 한다"],
        ["^", "잔디", Shown(4100, WON), "^"],
        ["소계", ">", Shown(13400, WON), ""],
        ["총계", ">", Shown(74350, WON), "부가세 별도"],
    ])), [
        cell(("토목", "되메우기"), "금액", 12750), cell("되메우기", "비고", "우기 전에 마친다"), cell(("조경", "잔디"), "비고", "봄에 한다"),
        cell("총계", "금액", 74350), cell("총계", "비고", "부가세 별도"), same_width("굴착"),
    ], "조경 공사에서 잔디 비용은 얼마인가?", "잔디", "4100"),

    file("Members.xlsx", "rows closed by an outline and left out by a filter", book(sheet("Member", [
        ["Member", "Grade", "Joined"],
        ["Ada Brand", "full", 2018],
        ["Folded One", "associate", 2020],
        ["Folded Two", "associate", 2021],
        ["Hal Moss", "full", 2022],
        ["Filtered Person", "left", 2015],
        ["Zoe Quill", "honorary", 2009],
    ], hide_rows=[6], filter="A1:C7", change=_hide_outline)), [
        absent("Folded One"), absent("Folded Two"), absent("Filtered Person"), cell("Zoe Quill", "Grade", "honorary"), cell("Hal Moss", "Joined", 2022), note("hidden", "숨"),
    ], "Which grade has the member Zoe Quill?", "Zoe Quill", "honorary"),

    file("강의료.xlsx", "currency, times and negative numbers as shown", book(sheet("강의료", [
        ["강좌", "시작", "강의료", "조정액", "출석률"],
        ["도자기", Shown(dt.time(9, 30), "hh:mm"), Shown(125000, '"₩"#,##0'), Shown(-15000, "#,##0;(#,##0)"), Shown(0.875, "0.0%")],
        ["수묵화", Shown(dt.time(14, 0), "hh:mm"), Shown(98000, '#,##0"원"'), Shown(2000, "#,##0;(#,##0)"), Shown(0.92, "0%")],
        ["서예", Shown(dt.time(18, 45), "hh:mm"), Shown(88000, '#,##0"원"'), Shown(0, "#,##0;(#,##0)"), Shown(0.6667, "0.0%")],
    ])), [
        cell("도자기", "시작", ("09:30", "9:30")), cell("서예", "시작", "18:45"), cell("수묵화", "강의료", ("98,000원", "98,000")),
        cell("도자기", "강의료", ("₩125,000", "125,000", "125,000원")), cell("도자기", "조정액", ("(15,000)", "-15,000")), cell("도자기", "출석률", "87.5%"),
        cell("서예", "출석률", ("66.7%", "66.67%")), absent("18:45:00"),
    ], "서예 강좌는 몇 시에 시작하나?", "서예", "18:45"),

    file("입출금.xlsx", "dates counted from 1904, a built-in date style", raw_book(
        "장부", '<row r="1"><c r="A1" t="inlineStr"><is><t>날짜</t></is></c><c r="B1" t="inlineStr"><is><t>적요</t></is></c><c r="D1" t="inlineStr"><is><t>금액</t></is></c></row>'
                '<row r="2"><c r="A2" s="1"><v>44257</v></c><c r="B2" t="inlineStr"><is><t>난방비</t></is></c><c r="D2"><v>-318000</v></c></row>'
                '<row r="3"><c r="A3" s="1"><v>44288</v></c><c r="B3" t="inlineStr"><is><t>대관료</t></is></c><c r="D3"><v>450000</v></c></row>', date1904=True), [
        cell("난방비", "날짜", ("2025-03-03", "2025. 3. 3.", "3/3/2025", "03-03-25", "2025/03/03", "3/3/25")),
        cell("대관료", "날짜", ("2025-04-03", "2025. 4. 3.", "4/3/2025", "04-03-25", "2025/04/03", "4/3/25")),
        cell("난방비", "금액", -318000), same_width("대관료"), absent("44257"),
    ], "대관료로 얼마가 들어왔나?", "대관료", "450000"),

    file("우편번호.xlsx", "numbers with zeros in front, long numbers", book(sheet("배송", [
        ["수령지", "우편번호", "사번", "운송장"],
        ["해오름마을", Shown(4217, "00000"), Shown(37, "0000"), Shown(688012345678, "0")],
        ["솔숲단지", Shown(63122, "00000"), Shown(1205, "0000"), Shown(688098765432, "0")],
        ["갯벌체험장", Shown(912, "00000"), Shown(8, "0000"), "0688-11"],
    ])), [
        cell("해오름마을", "우편번호", "04217"), cell("갯벌체험장", "우편번호", "00912"), cell("해오름마을", "사번", "0037"), cell("솔숲단지", "운송장", "688098765432"),
        cell("갯벌체험장", "운송장", "0688-11"),
    ], "갯벌체험장의 우편번호는?", "갯벌체험장", "00912"),

    file("식자재단가.xlsx", "a table object with totals, a formula of another sheet without a value", book(
        sheet("단가", [["식자재", "단위", "단가", "주간"], ["현미", "20kg", 51000, F("=C2*2", 102000)], ["두부", "판", 9800, F("=C3*5", 49000)],
                     ["시금치", "단", 2300, F("=환율!A1*C4")], ["계", "", F("=SUM(C2:C4)", 63100), F("=SUM(D2:D4)", 151000)]], table="A1:D4"),
        sheet("환율", [[1.5]])), [
        cell("두부", "주간", 49000), cell("계", "단가", 63100), cell("시금치", "단가", 2300), note("formula", "수식"), absent("=C3*5"), same_width("현미"),
    ], "두부 한 판의 단가는?", "두부", "9800"),

    file("Tool rental.xlsx", "header cells of several lines, two tables with titles", book(sheet("Rental", [
        ["Small tools", "", ""],
        ["Tool", "Day rate\n(USD)", "Deposit\n(USD)"],
        ["Hammer drill", Shown(18.5, "0.00"), 60],
        ["Tile cutter", Shown(24, "0.00"), 80],
        ["", "", ""],
        ["Large machines", "", ""],
        ["Machine", "Weekend rate\n(USD)", "Licence"],
        ["Mini excavator", 390, "required"],
        ["Plate compactor", 95, "none"],
    ])), [
        cell("Tile cutter", "Day rate", 24), cell("Hammer drill", "Deposit (USD)", 60), cell("Mini excavator", "Weekend rate", 390),
        cell("Plate compactor", "Licence", "none"), before("Large machines", "Mini excavator"), before("Tile cutter", "Large machines"), same_width("Mini excavator"),
    ], "What is the weekend rate of the mini excavator?", "Mini excavator", "390"),

    file("수질검사.xlsx", "Strict Open XML", lambda: _strict_book(raw_book(
        "수질", "".join(f'<row r="{n}">' + "".join(f'<c r="{letter}{n}" t="inlineStr"><is><t>{value}</t></is></c>' for letter, value in zip("ABC", row)) + "</row>"
                      for n, row in enumerate([("채수지점", "탁도", "판정"), ("상류취수장", "0.4", "적합"), ("하류보", "2.9", "부적합")], 1)))()), [
        cell("하류보", "판정", "부적합"), cell("상류취수장", "탁도", "0.4"), same_width("하류보"),
    ], "하류보의 수질 판정은?", "하류보", "부적합"),

    file("근무편성.xlsx", "a sparse plan, an empty column inside, a legend below", book(sheet("편성", [
        ["이름", "월", "화", "수", "목", "금"],
        ["노을", "주", "", "", "야", ""],
        ["바다", "", "주", "", "", "야"],
        ["하늘", "야", "", "", "", "주"],
        ["", "", "", "", "", ""],
        ["주 = 낮 근무, 야 = 밤 근무, 빈칸 = 쉼", "", "", "", "", ""],
    ])), [
        cell("노을", "목", "야"), cell("하늘", "금", "주"), cell("바다", "화", "주"), same_width("노을"), sentence("주 = 낮 근무, 야 = 밤 근무, 빈칸 = 쉼"),
        cell("바다", "목", ""),
    ], "하늘은 금요일에 어떤 근무인가?", "하늘", "주"),

    file("분기납품.csv", "tabs, UTF-16, a sum row and a remark below", text(
        "납품처\t품목\t수량\n은하병원\t거즈\t1,200\n미르의원\t붕대\t340\n합계\t\t1,540\n\n(주) 수량은 상자 기준이다.\n", "utf-16"), [
        cell("미르의원", "품목", "붕대"), cell("은하병원", "수량", 1200), cell("합계", "수량", 1540), sentence("수량은 상자 기준이다."), same_width("미르의원"),
    ], "미르의원에는 무엇을 납품했나?", "미르의원", "붕대"),

    file("불량현황.csv", "Windows line ends, quotes, rows of several lengths", text(
        '라인,제품,불량,비고\nA-3,"커버, 앞면",12,"""긁힘"" 위주"\nA-4,"커버, 뒷면",7\nB-1,스프링,0,없음,\n', "cp949", "\r\n"), [
        cell("A-3", "제품", "커버, 앞면"), cell("A-3", "비고", '"긁힘" 위주'), cell("A-4", "불량", 7), cell("B-1", "비고", "없음"), same_width("스프링"),
    ], "A-4 라인의 불량은 몇 개인가?", "A-4", "7"),

    file("trial balance.csv", "two header rows, blank lines inside", text(
        "Northwind Bakery Ltd\n\n,Opening,Opening,Closing,Closing\nAccount,Debit,Credit,Debit,Credit\nFlour stock,5200,,4850,\n\nBank loan,,30000,,27500\nRent paid,0,,14400,\n"), [
        cell("Bank loan", "Closing Credit", 27500), cell("Flour stock", "Opening Debit", 5200), cell("Rent paid", "Closing Debit", 14400),
        sentence("Northwind Bakery Ltd"), same_width("Bank loan"),
    ], "What is the closing credit of the bank loan?", "Bank loan", "27500"),

    file("회의록 5차.md", "a table without outer bars between paragraphs, quotes and numbered points", text(
        "# 5차 운영회의\n\n> 참석: 도현, 라희, 무진\n\n1. 주차장은 선착순으로 배정한다.\n2. 예비비 사용은 다음 회의로 미룬다.\n\n안건 | 결과\n:--|:--\n주차장 배정 | 가결\n"
        "예비비 | 보류\n\n~~다음 회의는 7일~~ 다음 회의는 14일이다.\n"), [
        sentence("주차장은 선착순으로 배정한다."), sentence("예비비 | 보류"), sentence("다음 회의는 14일이다."), before("참석: 도현, 라희, 무진", "안건"),
    ], "5차 운영회의에서 예비비 사용은 어떻게 되었나?", "예비비 사용은 다음 회의로 미룬다."),

    file("Release checklist.md", "a setext heading, an HTML table and a nested list", text(
        "Release checklist\n=================\n\n<table><tr><th>Step</th><th>Owner</th></tr><tr><td>Freeze strings</td><td>Ines</td></tr>"
        "<tr><td>Sign packages</td><td>Tomas</td></tr></table>\n\n- Before the freeze\n  - ask translators\n  - close the milestone\n\nNever release on a Friday.\n"), [
        cell("Sign packages", "Owner", "Tomas"), sentence("Never release on a Friday."), before("Before the freeze", "ask translators"), sentence("Release checklist"),
    ], "Who signs the packages of a release?", "Sign packages", "Tomas"),
]


def _strict_book(data: bytes) -> bytes:
    "A workbook in the names of Strict Open XML."
    import io
    import zipfile
    from build import _zip
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return _zip({name: strict(archive.read(name).decode()) for name in archive.namelist()})
