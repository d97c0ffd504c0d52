"""The open half: PDF by four producers. The files are kept in the folder pdf, `make.py --pdf` makes them again."""
from __future__ import annotations

from typing import Any

from build import docx, drawn, exported, grid, html_table, lines, p, printed, t, tbl, written
from spec import absent, before, cell, file, near, same_width, sentence

PLACES = ("나루터", "언덕마을", "방앗간", "솔밭", "새터")
BREAK = 65   # The sentence that a page break divides


def _cells(pdf: Any) -> None:
    pdf.add_page()
    pdf.set_font("Nanum", "B", 15)
    pdf.cell(0, 10, "공구 대여 조건", new_x="LMARGIN", new_y="NEXT")
    pdf.set_font("Nanum", "", 10)
    rows = (("공구", "대여 기간", "조건"), ("전동 드릴", "이틀", "안전 안경과 장갑을 함께 빌려야 하며 젖은 곳에서는 쓰지 않는다"), ("사다리", "하루", "두 사람이 함께 와야 한다"), ("예초기", "반나절", "교육을 받은 사람에게만 빌려 준다"))
    with pdf.table(col_widths=(30, 25, 60), line_height=6) as table:
        for row in rows:
            line = table.row()
            for word in row:
                line.cell(word)
    pdf.ln(4)
    pdf.multi_cell(0, 6, "빌린 공구가 고장 나면 스스로 고치지 말고 그대로 가져온다. 늦게 돌려주면 늦은 날의 두 배 동안 빌릴 수 없다.")


def _report(pdf: Any) -> None:
    pdf.set_auto_page_break(False)
    for n, words in enumerate(("Kelp farming on the west coast", "Yields by site", "Outlook"), 1):
        pdf.add_page()
        pdf.set_font("Nanum", "", 8)
        pdf.cell(0, 5, "Kelp report 2025", align="R", new_x="LMARGIN", new_y="NEXT")
        pdf.set_font("Nanum", "B", 16)
        pdf.cell(0, 14, words, new_x="LMARGIN", new_y="NEXT")
        pdf.set_font("Nanum", "", 11)
        if n == 2:
            with pdf.table(borders_layout="HORIZONTAL_LINES") as table:
                for row in (("Site", "Ropes", "Tonnes"), ("Lunna", "48", "131.5"), ("Vaila", "30", "77.2"), ("Noss", "62", "190.4")):
                    line = table.row()
                    for word in row:
                        line.cell(word)
        else:
            pdf.multi_cell(0, 6, "Ropes are seeded in November and cut before the end of May. " * 3 + ("Growth was slow in February." if n == 1 else "Two more sites open next year."))
        pdf.set_y(-20)
        pdf.set_font("Nanum", "", 8)
        pdf.cell(0, 5, f"page {n} of 3", align="C")


FILES = [
    file("운영세칙.pdf", "running heads and page numbers between the halves of a sentence", drawn(
        [(60, 40, 8, "한솔도서관 운영 세칙"), *lines(60, 80, ["제5조 열람석은 선착순으로 배정하고 자리를 한 시간 넘게 ", "비우면 다음 사람에게 넘긴다. 노트북 자리는 창가에 둔다. ", "제6조 책을 잃은 사람은 같은 책을 사서 내되 구할 수 "]), (290, 800, 8, "- 11 -")],
        [(60, 40, 8, "한솔도서관 운영 세칙"), *lines(60, 80, ["없으면 책값의 두 배를 낸다. ", "제7조 사물함은 학기마다 새로 뽑는다. ", "뽑힌 사람은 사흘 안에 열쇠를 받는다. "]), (290, 800, 8, "- 12 -")],
        [(60, 40, 8, "한솔도서관 운영 세칙"), *lines(60, 80, ["제8조 단체 견학은 오전에만 받는다. "]), (290, 800, 8, "- 13 -")]), [
        sentence("제6조 책을 잃은 사람은 같은 책을 사서 내되 구할 수 없으면 책값의 두 배를 낸다."), sentence("자리를 한 시간 넘게 비우면 다음 사람에게 넘긴다."), before("제5조", "제8조"),
    ], "도서관 책을 잃고 구할 수 없으면 얼마를 내나?", "책값의 두 배를 낸다."),

    file("장학금기준.pdf", "a ruled table with a header of two rows, printed by a browser", printed(
        "<h1>장학금 기준</h1>" + html_table([["종류", "성적 기준", ">", "금액"], ["^", "1학년", "2학년 이상", "^"], ["새싹", "3.2", "3.5", "80만원"], ["열매", "3.8", "4.0", "200만원"]], head=2)
        + "<p>두 가지 장학금을 함께 받을 수는 없다.</p>", "td,th{border:1px solid #333;padding:4px 10px}"), [
        cell("열매", "성적 기준 2학년 이상", "4.0"), cell("새싹", "금액", "80만원"), cell("새싹", "1학년", "3.2"), same_width("새싹"), sentence("두 가지 장학금을 함께 받을 수는 없다."),
    ], "열매 장학금은 얼마인가?", "열매", "200만원"),

    file("어획량.pdf", "a table without rules, its cells apart by gaps", drawn(
        [(60, 60, 15, "항구별 어획량"), *grid((60, 160, 260, 360), 100, [["항구", "고등어(톤)", "오징어(톤)", "배(척)"], ["묵호항", "1,204", "318", "41"], ["죽변항", "877", "1,026", "29"], ["감포항", "90", "455", "17"]]),
         *lines(60, 200, ["어획량은 위판장에서 잰 무게이다."])]), [
        cell("죽변항", "오징어", 1026), cell("감포항", "고등어", 90), cell("묵호항", "배", 41), same_width("죽변항"), sentence("어획량은 위판장에서 잰 무게이다."), before("항구별 어획량", "묵호항"),
    ], "죽변항의 오징어 어획량은?", "죽변항", "1026"),

    file("소식지.pdf", "two columns drawn line by line", drawn(
        [(60, 50, 16, "텃밭 소식"), *[one for n, pair in enumerate(zip(
            ["올해 텃밭은 스물두 집이 ", "함께 짓는다. 물은 아침에 ", "주고 한낮에는 주지 않는다. ", "거름은 마을 창고에서 받아 ", "가면 된다. "],
            ["씨앗 나눔은 사월 첫째 ", "토요일에 연다. 남는 씨앗을 ", "봉투에 담아 오면 다른 씨앗과 ", "바꾸어 준다. 모종은 따로 ", "판다. "])) for one in lines(60, 90 + 16 * n, [pair[0]]) + lines(320, 90 + 16 * n, [pair[1]])]]), [
        sentence("물은 아침에 주고 한낮에는 주지 않는다."), sentence("씨앗 나눔은 사월 첫째 토요일에 연다."), before("거름은 마을 창고에서", "씨앗 나눔은"), sentence("남는 씨앗을 봉투에 담아 오면 다른 씨앗과 바꾸어 준다."),
    ], "씨앗 나눔은 언제 여나?", "씨앗 나눔은 사월 첫째 토요일에 연다."),

    file("위탁계약서.pdf", "Korean words broken at the line ends of a browser", printed(
        "<h1>위탁 계약서</h1><p>수탁자는 맡은 시설을 제 물건처럼 돌보아야 하고 시설이 망가지면 지체하지 않고 위탁자에게 알려야 하며 고치는 데 드는 비용은 원인을 가린 다음에 서로 나누어 부담하기로 한다.</p>"
        "<p>위탁 기간은 서른여섯 달로 하되 만료하기 석 달 앞서 어느 쪽도 그만두겠다고 알리지 않으면 같은 조건으로 열두 달 동안 저절로 이어지는 것으로 본다.</p>", "p{width:88mm;text-align:justify}"), [
        sentence("고치는 데 드는 비용은 원인을 가린 다음에 서로 나누어 부담하기로 한다."), sentence("위탁 기간은 서른여섯 달로 하되 만료하기 석 달 앞서 어느 쪽도 그만두겠다고 알리지 않으면 같은 조건으로 열두 달 동안 저절로 이어지는 것으로 본다."),
        sentence("수탁자는 맡은 시설을 제 물건처럼 돌보아야 하고 시설이 망가지면 지체하지 않고 위탁자에게 알려야 하며"),
    ], "시설 위탁 기간은 몇 달인가?", "위탁 기간은 서른여섯 달로"),

    file("boiler manual.pdf", "hyphens at line ends, some of which belong to the word", drawn(
        [(60, 60, 15, "Boiler manual"), *lines(60, 100, ["Let the boiler cool for forty min-", "utes before you open the ser-", "vice hatch. The state-of-the-", "art sensor must not be touched with bare hands. Use the self-", "locking pliers from the tool box."])]), [
        sentence("Let the boiler cool for forty minutes before you open the service hatch."), sentence("The state-of-the-art sensor must not be touched with bare hands."), sentence("Use the self-locking pliers from the tool box."),
    ], "How long must the boiler cool before the service hatch is opened?", "forty minutes"),

    file("방문예약서.pdf", "values of form fields beside their labels", drawn(
        [(60, 60, 15, "방문 예약서"), *lines(60, 104, ["신청인", "방문 목적", "차량 번호"], step=40), *lines(60, 240, ["예약은 하루 전에 확인 전화를 드립니다."])],
        fields=[("textfield", 0, {"name": n, "value": v, "x": 150, "y": y, "width": 200, "height": 20, "fontSize": 10}) for n, v, y in (("a", "Jung Haru", 112), ("b", "Audit of records", 152), ("c", "38-5521", 192))]), [
        near("신청인", "Jung Haru", 6), near("방문 목적", "Audit of records", 6), near("차량 번호", "38-5521", 6), sentence("예약은 하루 전에 확인 전화를 드립니다."), before("Jung Haru", "38-5521"),
    ], "방문 예약한 차량 번호는?", "38-5521"),

    file("수영장수질.pdf", "superscripts and subscripts", printed(
        "<h1>수영장 수질 관리</h1><p>잔류 염소는 물 1m<sup>3</sup>마다 하루 세 번 잰다.</p><p>대장균군은 10<sup>2</sup> 이하로 하고 CO<sub>2</sub> 농도도 함께 적는다<sup>1)</sup>.</p>"
        "<hr><p style='font-size:8pt'><sup>1)</sup> 기록은 두 해 동안 둔다.</p>"), [
        absent("102 이하"), sentence("하루 세 번 잰다."), sentence("기록은 두 해 동안 둔다."), near("농도도 함께 적는다", "기록은 두 해", 30), near("대장균군은 10", "이하로 하고", 5),
    ], "잔류 염소는 하루 몇 번 재나?", "하루 세 번 잰다."),

    file("비품대장.pdf", "a table over two pages, exported by an office program", exported(docx(
        p("비품 대장", "Heading1"), tbl([["관리번호", "품명", "놓인 곳"], *([f"BP-{n:03}", f"비품{chr(0xAC00 + 28 * n)}", f"{n % 9 + 1}층 {n}호"] for n in range(1, 56))], 1))), [
        cell("BP-009", "놓인 곳", "1층 9호"), cell("BP-052", "놓인 곳", "8층 52호"), cell("BP-055", "품명", f"비품{chr(0xAC00 + 28 * 55)}"), same_width("BP-009"), same_width("BP-052"),
    ], "BP-052 비품은 어디에 놓였나?", "BP-052", "8층"),

    file("공구대여.pdf", "cells of several lines", written(_cells), [
        cell("전동 드릴", "조건", "안전 안경과 장갑을 함께 빌려야 하며 젖은 곳에서는 쓰지 않는다"), cell("예초기", "대여 기간", "반나절"), cell("사다리", "조건", "두 사람이 함께 와야 한다"), same_width("사다리"),
        sentence("늦게 돌려주면 늦은 날의 두 배 동안 빌릴 수 없다."),
    ], "사다리를 빌리는 조건은?", "두 사람이 함께 와야 한다"),

    file("kelp report.pdf", "three pages with heads, feet and a table with few rules", written(_report), [
        cell("Noss", "Tonnes", "190.4"), cell("Lunna", "Ropes", 48), same_width("Vaila"), sentence("Growth was slow in February."), before("Yields by site", "Outlook"), sentence("Two more sites open next year."),
    ], "How many tonnes did the kelp site Noss yield?", "Noss", "190.4"),

    file("운영위원회.pdf", "head and foot of an office program, sentences over pages", exported(docx(
        p("운영위원회 회의 규칙", "Heading1"), *(p("".join(f"{n}번 안건은 {PLACES[n % 5]} 사정을 아는 위원이 먼저 설명하고 나서 {n + 2}표가 모이면 넘긴다. " for n in range(first, first + 12))) for first in range(1, 85, 12)),
        p("위원이 세 번 잇달아 나오지 않으면 그 위원은 다음 회의에서 새로 뽑는다."), p("간사는 회의록을 이레 안에 돌린다."),
        header="운영위원회 사무국 자료", footer="<w:p>" + t("문서 열람용 ") + '<w:fldSimple w:instr=" PAGE "><w:r><w:t>1</w:t></w:r></w:fldSimple></w:p>')), [
        *(sentence(f"{n}번 안건은 {PLACES[n % 5]} 사정을 아는 위원이 먼저 설명하고 나서 {n + 2}표가 모이면 넘긴다.") for n in (7, BREAK, 70)),
        sentence("간사는 회의록을 이레 안에 돌린다."),
    ], "위원이 세 번 잇달아 나오지 않으면?", "그 위원은 다음 회의에서 새로 뽑는다."),

    file("plumber invoice.pdf", "labels and values, sums on the right", drawn(
        [(60, 60, 18, "INVOICE"), *lines(60, 100, ["Invoice no.", "Date", "Customer"]), *lines(160, 100, ["PL-2207", "14 August 2025", "Marrow Lane School"]), (380, 100, 10, "Due date"), (460, 100, 10, "28 August 2025"),
         *grid((60, 260, 340, 430), 190, [["Work", "Hours", "Rate", "Amount"], ["Replace valve", "2.5", "48.00", "120.00"], ["Clear drain", "1", "48.00", "48.00"], ["Fittings", "", "", "31.40"], ["", "", "Total", "199.40"]]),
         *lines(60, 320, ["Please pay within fourteen days of the date of this invoice."])]), [
        near("Invoice no.", "PL-2207", 4), near("Due date", "28 August 2025", 4), near("Customer", "Marrow Lane School", 4), cell("Clear drain", "Amount", 48), cell("Replace valve", "Hours", 2.5), cell("Fittings", "Amount", 31.4), near("Total", "199.40", 8),
        same_width("Clear drain"), sentence("Please pay within fourteen days of the date of this invoice."),
    ], "What is the amount of the invoice for replacing the valve?", "Replace valve", "120"),
]
