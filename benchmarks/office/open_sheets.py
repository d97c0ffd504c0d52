"""The open half: workbooks, CSV and Markdown."""
from __future__ import annotations

import datetime as dt

from build import book, F, raw_book, sheet, Shown, text
from spec import absent, before, cell, file, note, once, same_width, sentence

WON = "#,##0"
DAY = "yyyy-mm-dd"

FILES = [
    file("지점실적.xlsx", "title row, row of units, sum", book(sheet("실적", [
        ["2025년 상반기 지점별 판매 실적", ">", ">", ">"],
        ["", "", "", ""],
        ["지점", "매출", "방문객", "재구매율"],
        ["", "(백만원)", "(명)", "(%)"],
        ["목포", Shown(1240, WON), Shown(8312, WON), 31.5],
        ["군산", Shown(987, WON), Shown(6120, WON), 28],
        ["여수", Shown(1555, WON), Shown(9044, WON), 35.2],
        ["합계", Shown(3782, WON), Shown(23476, WON), ""],
    ])), [
        cell("군산", "매출", 987), cell("여수", "방문객", 9044), cell("목포", "재구매율", 31.5),
        cell("군산", "매출 백만원", 987), cell("합계", "매출", 3782), same_width("군산"),
        before("2025년 상반기 지점별 판매 실적", "지점"), once("2025년 상반기 지점별 판매 실적"),
    ], "군산 지점의 방문객은 몇 명인가?", "군산", "6120"),

    file("Fleet and offices.xlsx", "two tables below each other", book(sheet("Overview", [
        ["Office", "Staff", "Extension"],
        ["Registry", 14, "4101"],
        ["Estates", 9, "4102"],
        ["", "", ""],
        ["Van", "Built", "Inspection"],
        ["Transit", 2019, "March"],
        ["Sprinter", 2021, "September"],
    ])), [
        cell("Estates", "Staff", 9), cell("Estates", "Extension", 4102), cell("Sprinter", "Built", 2021), cell("Transit", "Inspection", "March"),
        same_width("Estates"), same_width("Transit"), before("Estates", "Sprinter"),
    ], "In which month is the Sprinter inspected?", "Sprinter", "September"),

    file("재고와단가.xlsx", "two tables beside each other", book(sheet("자재", [
        ["품목", "재고", "", "규격", "단가(원)"],
        ["볼트 M8", 420, "", "M8", 35],
        ["너트 M8", 388, "", "M10", 52],
        ["와셔 M8", 901, "", "M12", 77],
        ["앵커 M8", 64, "", "", ""],
    ])), [
        cell("앵커 M8", "재고", 64), cell("M12", "단가", 77), cell("너트 M8", "재고", 388), same_width("앵커 M8"), same_width("규격"),
        before("앵커 M8", "단가(원)"),
    ], "앵커 M8은 재고가 몇 개 남았나?", "앵커 M8", "64"),

    file("직급별수당.xlsx", "joined labels, header of two rows", book(sheet("수당", [
        ["직군", "직급", "월 수당(원)", ">", "휴일 근무"],
        ["^", "^", "기본", "가산", "^"],
        ["연구직", "책임", Shown(310000, WON), Shown(50000, WON), "가능"],
        ["^", "선임", Shown(240000, WON), Shown(40000, WON), "가능"],
        ["^", "원급", Shown(180000, WON), Shown(20000, WON), "불가"],
        ["행정직", "과장", Shown(220000, WON), Shown(30000, WON), "가능"],
        ["^", "주임", Shown(150000, WON), Shown(15000, WON), "불가"],
    ])), [
        cell(("연구직", "선임"), "기본", 240000), cell(("연구직", "원급"), "월 수당 가산", 20000), cell(("행정직", "주임"), "휴일 근무", "불가"),
        cell(("행정직", "주임"), "월 수당 기본", 150000), cell("책임", "직군", "연구직"), same_width("연구직"),
    ], "행정직 주임의 기본 수당은 얼마인가?", "주임", "150000"),

    file("Quotes.xlsx", "hidden rows and columns", book(sheet("Offers", [
        ["Supplier", "Quote", "Internal", "Delivery"],
        ["Garrow Ltd", 5200, "margin 41 percent", "7 days"],
        ["Nairn Supplies", 4900, "margin 12 percent", "10 days"],
        ["Doon Traders", 4700, "margin 55 percent", "14 days"],
        ["Larch Brothers", 5050, "margin 23 percent", "5 days"],
    ], hide_rows=[4], hide_columns=["C"])), [
        absent("Doon Traders"), absent("margin 41 percent"), cell("Nairn Supplies", "Delivery", "10 days"), cell("Larch Brothers", "Quote", 5050), same_width("Garrow Ltd"),
        note("hidden", "숨"),
    ], "How long does delivery by Larch Brothers take?", "Larch Brothers", "5 days"),

    file("예산안.xlsx", "hidden sheets", book(
        sheet("요약", [["항목", "금액(천원)"], ["홍보비", 7300], ["교육비", 4150]]),
        sheet("협상안", [["항목", "하한선"], ["홍보비", "양보가능 6100"]], state="hidden"),
        sheet("매크로", [["열쇠", "비밀문자열 QX77"]], state="veryHidden"),
        sheet("비고", [["교육비에는 외부 강사료를 포함한다."]]),
    ), [
        absent("양보가능 6100"), absent("비밀문자열 QX77"), cell("교육비", "금액", 4150), sentence("교육비에는 외부 강사료를 포함한다."),
        note("hidden", "숨"), sentence("요약"),
    ], "올해 예산안에서 홍보비는 얼마인가?", "홍보비", "7300"),

    file("계약만료.xlsx", "dates and shares as shown", book(sheet("계약", [
        ["계약처", "시작일", "만료일", "인상률", "보증비율"],
        ["푸른빌딩", Shown(dt.date(2024, 3, 1), DAY), Shown(dt.date(2026, 2, 28), DAY), Shown(0.035, "0.0%"), Shown(0.1, "0%")],
        ["한빛타워", Shown(dt.date(2023, 11, 15), DAY), Shown(dt.date(2025, 11, 14), DAY), Shown(0.0125, "0.00%"), Shown(0.05, "0%")],
        ["새봄상가", Shown(dt.datetime(2025, 7, 1), 'yyyy"년" m"월" d"일"'), Shown(dt.datetime(2027, 6, 30), 'yyyy"년" m"월" d"일"'), Shown(0, "0%"), Shown(1, "0%")],
    ])), [
        cell("푸른빌딩", "만료일", "2026-02-28"), cell("한빛타워", "인상률", "1.25%"), cell("푸른빌딩", "인상률", "3.5%"),
        cell("새봄상가", "보증비율", "100%"), cell("새봄상가", "시작일", ("2025년 7월 1일", "2025-07-01")), absent("00:00:00"), cell("한빛타워", "시작일", "2023-11-15"),
    ], "한빛타워 계약은 언제 만료되나?", "한빛타워", "2025-11-14"),

    file("출자내역.xlsx", "formulas with and without a stored value", book(sheet("출자", [
        ["조합원", "1차", "2차", "합계"],
        ["강민서", 300, 200, F("=B2+C2", 500)],
        ["오하준", 150, 450, F("=B3+C3", 600)],
        ["백서윤", 700, 20, F("=B4+C4")],
        ["등급", "", "", F('=IF(D2>400,"우수","보통")', "우수")],
    ])), [
        cell("강민서", "합계", 500), cell("오하준", "합계", 600), cell("등급", "합계", "우수"), absent("=B2+C2"), same_width("강민서"),
        note("formula", "수식"), cell("백서윤", "1차", 700),
    ], "오하준 조합원의 출자 합계는?", "오하준", "600"),

    file("설비점검표.xlsx", "table away from the corner, section rows", book(sheet("점검", [
        ["설비명", "점검주기", "담당"],
        ["지하 1층", ">", ">"],
        ["급수펌프", "매월", "한도윤"],
        ["배수펌프", "분기", "한도윤"],
        ["옥상", ">", ">"],
        ["냉각탑", "반기", "서지우"],
        ["피뢰침", "매년", "서지우"],
    ], at=(6, 4)), sheet("안내", [["점검표는 매월 5일까지 시설팀에 낸다."]])), [
        cell("배수펌프", "점검주기", "분기"), cell("피뢰침", "담당", "서지우"), cell("냉각탑", "점검주기", "반기"), same_width("배수펌프"),
        before("지하 1층", "급수펌프"), before("배수펌프", "옥상"), before("옥상", "냉각탑"), sentence("점검표는 매월 5일까지 시설팀에 낸다."),
    ], "피뢰침은 얼마마다 점검하나?", "피뢰침", "매년"),

    file("Headcount plan.xlsx", "header of three rows", book(sheet("Plan", [
        ["Team", "Headcount", ">", ">", ">"],
        ["^", "2025", ">", "2026", ">"],
        ["^", "Plan", "Actual", "Plan", "Actual"],
        ["Support", 41, 38, 44, ""],
        ["Logistics", 17, 19, 21, ""],
        ["Legal", 6, 6, 7, ""],
    ])), [
        cell("Logistics", "2025 Actual", 19), cell("Logistics", "2026 Plan", 21), cell("Support", "Headcount 2025 Plan", 41), cell("Legal", "2026 Plan", 7),
        same_width("Support"),
    ], "How many people does the plan give Logistics in 2026?", "Logistics", "21"),

    file("민원접수.xlsx", "rich strings, reading aids, cells without addresses", raw_book(
        "접수", '<row><c t="s"><v>0</v></c><c t="s"><v>1</v></c><c t="s"><v>2</v></c></row>'
                '<row><c t="s"><v>3</v></c><c><v>17</v></c><c t="b"><v>1</v></c></row>'
                '<row><c t="inlineStr"><is><t>가로등</t></is></c><c><v>23</v></c><c t="b"><v>0</v></c></row>'
                '<row><c t="inlineStr"><is><t>무단투기</t></is></c><c t="e"><v>#N/A</v></c><c t="b"><v>1</v></c></row>',
        '<si><t>유형</t></si><si><r><t>접수</t></r><r><rPr><b/></rPr><t>건수</t></r></si><si><t>처리완료</t></si>'
        '<si><t>道路</t><rPh sb="0" eb="2"><t>도로읽기</t></rPh></si>'), [
        cell("가로등", "접수건수", 23), cell("道路", "접수건수", 17), absent("도로읽기"), same_width("가로등"),
        cell("가로등", "처리완료", ("FALSE", "False", "false", "0")),
    ], "가로등 민원은 몇 건 접수되었나?", "가로등", "23"),

    file("안전교육.xlsx", "line breaks and bars in cells, a note below the table", book(sheet("교육", [
        ["과정", "대상", "시간"],
        ["추락 예방", "현장직\n협력업체", "4시간"],
        ["전기 A|B형", "전공 | 보조", "6시간"],
        ["응급처치", "전 직원", "2시간"],
        ["", "", ""],
        ["※ 이수하지 않으면 현장 출입이 제한된다.", ">", ">"],
    ], comments={"B4": "신규 입사자는 첫 주에 받는다"})), [
        cell("추락 예방", "대상", "현장직 협력업체"), cell("전기 A|B형", "시간", "6시간"), cell("전기 A|B형", "대상", "전공 | 보조"), same_width("응급처치"),
        sentence("※ 이수하지 않으면 현장 출입이 제한된다."), before("응급처치", "이수하지 않으면"),
    ], "추락 예방 교육은 몇 시간인가?", "추락 예방", "4시간"),

    file("정류장.csv", "preamble above the header, CP949", text(
        "시내 버스 정류장 이용 현황\n조사일: 2025년 5월 12일\n\n정류장,승차,하차\n시청앞,812,790\n역전,1530,1611\n남문시장,402,377\n", "cp949"), [
        cell("남문시장", "하차", 377), cell("역전", "승차", 1530), sentence("시내 버스 정류장 이용 현황"), sentence("조사일: 2025년 5월 12일"),
        same_width("남문시장"), before("조사일", "남문시장"),
    ], "남문시장 정류장의 승차 인원은?", "남문시장", "402"),

    file("sensor.csv", "semicolons, decimal commas, quoted line breaks", text(
        'Sensor;Place;Limit;Remark\nT-01;boiler room;"85,5";"call the\ncaretaker"\nT-02;server room;"27,0";close the door\nH-07;archive;"55,0";open no window\n'), [
        cell("T-02", "Limit", "27,0"), cell("H-07", "Place", "archive"), cell("T-01", "Remark", "call the caretaker"), same_width("T-02"),
    ], "What is the limit of the sensor in the server room?", "T-02", "27,0"),

    file("도서대출.csv", "bars between the columns, byte order mark", text(
        "\ufeff도서명|저자|대출|반납예정\n별의 궤도|문가온|Y|2025-04-02\n느린 강|차은결|N|\n돌과 이끼|문가온|Y|2025-04-19\n"), [
        cell("돌과 이끼", "반납예정", "2025-04-19"), cell("느린 강", "저자", "차은결"), cell("별의 궤도", "도서명", "별의 궤도"), same_width("느린 강"),
    ], "'돌과 이끼'는 언제 반납 예정인가?", "돌과 이끼", "2025-04-19"),

    file("휴게실.md", "tables of a text stay as they are written", text(
        "# 휴게실 사용 안내\n\n휴게실은 평일 07시부터 21시까지 연다.\n\n층 | 좌석 | 정수기\n---|---:|:---:\n3층 | 12 | 있음\n7층 | 8 | 없음\n\n"
        "- 음식물은 7층에서만 먹는다.\n- 통화는 `전화 부스`에서 한다.\n"), [
        sentence("휴게실은 평일 07시부터 21시까지 연다."), sentence("3층 | 12 | 있음"), sentence("음식물은 7층에서만 먹는다."), before("좌석", "음식물은"),
    ], "휴게실은 몇 시까지 여나?", "휴게실은 평일 07시부터 21시까지 연다."),

    file("Visitor badges.md", "a table with bars and code in its cells", text(
        "---\ntitle: Visitor badges\n---\n\n# Visitor badges\n\n| Colour | Area | Command |\n|---|---|---|\n| green | lobby \\| café | `badge -g` |\n"
        "| orange | workshop | `badge -o \\| log` |\n| violet | laboratory | `badge -v` |\n\nReturn a badge on the day you got it.\n"), [
        cell("orange", "Area", "workshop"), cell("violet", "Area", "laboratory"), cell("green", "Area", "lobby | café"),
        sentence("Return a badge on the day you got it."), same_width("orange"),
    ], "Which area does a violet visitor badge open?", "violet", "laboratory"),
]
