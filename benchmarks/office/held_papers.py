"""The held-out half: Word documents, web pages, HWPX and slides. Read it only to measure a finished change."""
from __future__ import annotations

from typing import Any

from build import docx, footnote, hbox, hlist, hnote, hp, html_table, htbl, hwpx, level, numbering, p, python_docx, slide_table, slides, t, tbl, textbox, web
from spec import absent, before, cell, file, near, note, once, same_width, sentence

SPACE = '<w:suff w:val="space"/>'
OFFICE = (level(0, "decimal", "%1.", more=SPACE), level(1, "ganada", "%2.", more=SPACE), level(2, "decimal", "%3)", more=SPACE), level(3, "ganada", "(%4)", more=SPACE))
CHAPTERS = (level(0, "decimal", "제%1장", more=SPACE), level(1, "decimal", "제%2절", more=SPACE))
ARTICLES = (level(0, "upperRoman", "Article %1.", more=SPACE), level(1, "decimalZero", "Section %1.%2", more="<w:isLgl/>" + SPACE), level(2, "lowerLetter", "(%3)", more=SPACE))


def _minutes(document: Any) -> None:
    document.add_heading("Safety committee", 1)
    section = document.sections[0]
    section.different_first_page_header_footer = True
    section.first_page_header.paragraphs[0].text = "First sheet of the safety committee"
    section.header.paragraphs[0].text = "Safety committee, continued"
    for line in ("Ladders are checked every spring.", "Harnesses are replaced after five years."):
        document.add_paragraph(line, style="List Number")
    table = document.add_table(rows=4, cols=3)
    table.style = "Light Grid"
    for n, row in enumerate((("Site", "Finding", "Due"), ("North yard", "loose handrail", "12 May"), ("", "no exit sign", "3 June"), ("Depot", "blocked hydrant", "at once"))):
        for at, word in enumerate(row):
            table.cell(n, at).text = word
    table.cell(1, 0).merge(table.cell(2, 0))
    document.add_page_break()
    document.add_paragraph("The committee meets again in September.")


def _placed(deck: Any) -> None:
    from pptx.util import Inches
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    for left, top, words in ((5.2, 4, "오른쪽 아래: 예산을 확정한다"), (.5, 4, "왼쪽 아래: 인력을 뽑는다"), (.5, 2, "왼쪽 위: 장소를 고른다"), (.5, .4, "축제 준비 네 단계"), (5.2, 2, "오른쪽 위: 업체를 정한다")):
        slide.shapes.add_textbox(Inches(left), Inches(top), Inches(4), Inches(.6)).text_frame.text = words
    slide = deck.slides.add_slide(deck.slide_layouts[1])
    slide.shapes.title.text = "준비물"
    frame = slide.placeholders[1].text_frame
    frame.text = "무대"
    for depth, words in ((1, "조명 여섯 대"), (1, "천막 두 동"), (0, "먹을거리")):
        paragraph = frame.add_paragraph()
        paragraph.text = words
        paragraph.level = depth


def _shares(deck: Any) -> None:
    from pptx.chart.data import CategoryChartData
    from pptx.enum.chart import XL_CHART_TYPE
    from pptx.util import Inches
    slide = deck.slides.add_slide(deck.slide_layouts[5])
    slide.shapes.title.text = "연료별 차량 비중"
    data = CategoryChartData()
    data.categories = ["경유", "전기", "수소"]
    data.add_series("차량 비중", (0.62, 0.31, 0.07), number_format="0%")
    slide.shapes.add_chart(XL_CHART_TYPE.PIE, Inches(1), Inches(2), Inches(5), Inches(4), data)
    slide = deck.slides.add_slide(deck.slide_layouts[5])
    slide.shapes.title.text = "차고지 현황"
    slide_table(slide, [["차고지", "대수", ">", "충전기"], ["^", "대형", "소형", "^"], ["서곡", "18", "7", "4"], ["장안", "25", "11", "9"], ["합계", "43", "18", "13"]])
    slide.notes_slide.notes_text_frame.text = "장안 차고지는 내년에 넓힌다"


def _training(deck: Any) -> None:
    from pptx.util import Inches
    slide = deck.slides.add_slide(deck.slide_layouts[3])
    slide.shapes.title.text = "First week at the desk"
    slide.placeholders[1].text = "Morning: read the manual"
    slide.placeholders[2].text = "Afternoon: sit with a colleague"
    slide = deck.slides.add_slide(deck.slide_layouts[5])
    slide.shapes.title.text = "Old slide of last year"
    slide_table(slide, [["Course", "Fee"], ["Retired course", "10"]])
    slide.notes_slide.notes_text_frame.text = "never mention the retired fee"
    slide._element.set("show", "0")
    slide = deck.slides.add_slide(deck.slide_layouts[5])
    slide.shapes.title.text = "Courses"
    group = slide.shapes.add_group_shape()
    group.shapes.add_textbox(Inches(1), Inches(5.5), Inches(5), Inches(.5)).text_frame.text = "Fees are paid by the desk."
    slide_table(slide, [["Level", "Course", "Days"], ["Basic", "Telephone manners", "1"], ["^", "Ticket system", "2"], ["Advanced", "Complaints", "3"]])


def _row(cells: str, props: str) -> str:
    return f"<w:tr><w:trPr>{props}</w:trPr>{cells}</w:tr>"


def _tc(*words: str) -> str:
    return "".join(f'<w:tc><w:tcPr><w:tcW w:w="2000" w:type="dxa"/></w:tcPr>{p(word) if not word.startswith("<w:") else word}</w:tc>' for word in words)


def _with_rows(table: str, after: str, rows: str) -> str:
    "A table with further rows after the row that has a text."
    head, row, rest = table.partition(after)
    end = rest.index("</w:tr>") + len("</w:tr>")
    return head + row + rest[:end] + rows + rest[end:]


FILES = [
    file("시설이용지침.docx", "1. 가. 1) (가), a list taken over with another start", docx(
        p("시설 이용 지침", "Heading1"), p("회의실", num=(1, 0)), p("예약", num=(1, 1)), p("예약은 이틀 전에 한다", num=(1, 2)), p("취소는 전날까지 한다", num=(1, 2)),
        p("전화로 한다", num=(1, 3)), p("누리집에서 한다", num=(1, 3)), p("사용", num=(1, 1)), p("체육관", num=(1, 0)), p("운동화를 신는다", num=(1, 1)),
        p("다음은 따로 정한 순서이다."), p("수영장은 보수 중이다", num=(5, 0)), numbers=numbering(OFFICE, restarts={5: (1, 7)})), [
        sentence("2) 취소는 전날까지 한다"), sentence("(나) 누리집에서 한다"), sentence("나. 사용"), sentence("2. 체육관"), sentence("가. 운동화를 신는다"),
        sentence("7. 수영장은 보수 중이다"),
    ], "회의실 예약은 언제까지 하나?", "예약은 이틀 전에 한다"),

    file("학사운영규칙.docx", "chapters and sections numbered by their style", docx(
        p("총칙", "Heading1"), p("제1조(용어) 학점은 열다섯 시간의 수업을 말한다."), p("학사 일정", "Heading1"), p("수업", "Heading2"), p("제2조(수업 일수) 수업은 한 학기에 열다섯 주로 한다."),
        p("평가", "Heading2"), p("제3조(이의) 성적 이의는 공시 뒤 닷새 안에 낸다."), p("징계", "Heading1"), p("절차", "Heading2"), p("제4조(청문) 징계에 앞서 학생의 말을 듣는다."),
        numbers=numbering(CHAPTERS), styles="".join(
            f'<w:style w:type="paragraph" w:styleId="Heading{n + 1}"><w:name w:val="heading {n + 1}"/><w:pPr><w:numPr><w:ilvl w:val="{n}"/><w:numId w:val="1"/></w:numPr>'
            f'<w:outlineLvl w:val="{n}"/></w:pPr></w:style>' for n in (0, 1))), [
        sentence("제2장 학사 일정"), sentence("제2절 평가"), sentence("제3장 징계"), sentence("제1절 절차"), sentence("제3조(이의) 성적 이의는 공시 뒤 닷새 안에 낸다."),
        before("제1절 수업", "제2조(수업 일수)"),
    ], "성적 이의는 언제까지 내나?", "성적 이의는 공시 뒤 닷새 안에 낸다."),

    file("단체협약수정.docx", "rows taken in and out, moved sentences, a deleted paragraph mark", docx(
        p("단체 협약", "Heading1"),
        _with_rows(tbl([["수당", "금액"], ["위험", "8만원"], ["야간", "6만원"]]), "8만원",
                   _row(_tc('<w:p><w:del w:id="11" w:author="을"><w:r><w:delText>통근</w:delText></w:r></w:del></w:p>', '<w:p><w:del w:id="12" w:author="을"><w:r><w:delText>1만원</w:delText></w:r></w:del></w:p>'),
                        '<w:del w:id="10" w:author="을"/>')
                   + _row(_tc(f'<w:p><w:ins w:id="14" w:author="을">{t("자격")}</w:ins></w:p>', f'<w:p><w:ins w:id="15" w:author="을">{t("5만원")}</w:ins></w:p>'), '<w:ins w:id="13" w:author="을"/>')),
        '<w:p><w:pPr><w:rPr><w:del w:id="16" w:author="을"/></w:rPr></w:pPr>' + t("교섭은 봄에 열고 ") + "</w:p>", p("가을에 맺는다."),
        p(f'<w:moveFrom w:id="17" w:author="을">{t("조합비는 급여에서 뗀다.")}</w:moveFrom>' + t("휴게실은 층마다 둔다.")),
        p(f'<w:moveTo w:id="18" w:author="을">{t("조합비는 급여에서 뗀다.")}</w:moveTo>')), [
        absent("통근"), cell("자격", "금액", "5만원"), cell("야간", "금액", "6만원"), once("조합비는 급여에서 뗀다."), before("휴게실은 층마다 둔다.", "조합비는"),
        sentence("교섭은 봄에 열고 가을에 맺는다."), same_width("위험"),
    ], "단체 협약의 자격 수당은 얼마인가?", "자격", "5만원"),

    file("진료비안내.docx", "endnotes, a footnote in a table, symbols", docx(
        p("진료비 안내", "Heading1"), p(t("진료비는 ") + '<w:r><w:rPr><w:vertAlign w:val="superscript"/></w:rPr><w:endnoteReference w:id="1"/></w:r>' + t("퇴원하는 날 낸다.")),
        tbl([["병실", "하루 비용"], [p(t("1인실") + footnote(1)), "21만원"], ["4인실", "6만원"]]),
        p(t("상담 전화는 041") + "<w:r><w:noBreakHyphen/></w:r>" + t("555") + "<w:r><w:noBreakHyphen/></w:r>" + t("0199이다.")), *(p(f"제{n} 수납 창구는 평일에 연다.") for n in range(1, 8)),
        notes={1: "보호자 침대 값을 포함한다."}, endnotes={1: "중간 정산을 원하면 미리 말한다."}), [
        cell("4인실", "하루 비용", "6만원"), cell("1인실", "하루 비용", "21만원"), near("1인실", "보호자 침대 값을 포함한다.", 60), sentence("중간 정산을 원하면 미리 말한다."),
        sentence("상담 전화는 041-555-0199이다."), sentence("진료비는 퇴원하는 날 낸다."), before("보호자 침대", "제5 수납 창구는"), same_width("4인실"),
    ], "4인실 하루 비용은?", "4인실", "6만원"),

    file("Safety committee.docx", "another header on the first page, a joined label by python-docx", python_docx(_minutes), [
        once("Safety committee, continued"), once("First sheet of the safety committee"), cell(("North yard", "no exit sign"), "Due", "3 June"), cell("Depot", "Finding", "blocked hydrant"),
        sentence("2. Harnesses are replaced after five years."), sentence("The committee meets again in September."), same_width("Depot"),
    ], "When are harnesses replaced?", "Harnesses are replaced after five years."),

    file("건강검진문진표.docx", "content controls and old form fields", docx(
        p("건강 검진 문진표", "Heading1"),
        p(t("흡연: ") + '<w:sdt><w:sdtPr><w:dropDownList><w:listItem w:displayText="피운다" w:value="1"/><w:listItem w:displayText="끊었다" w:value="2"/></w:dropDownList></w:sdtPr><w:sdtContent>'
          + t("끊었다") + "</w:sdtContent></w:sdt>"),
        '<w:sdt><w:sdtPr><w:alias w:val="묶음"/></w:sdtPr><w:sdtContent>' + p("검진 전날 밤 아홉 시부터 굶는다.") + "</w:sdtContent></w:sdt>",
        p(t("복용 약: ") + '<w:r><w:fldChar w:fldCharType="begin"><w:ffData><w:name w:val="약"/></w:ffData></w:fldChar></w:r><w:r><w:instrText> FORMTEXT </w:instrText></w:r>'
          '<w:r><w:fldChar w:fldCharType="separate"/></w:r>' + t("혈압약 한 알") + '<w:r><w:fldChar w:fldCharType="end"/></w:r>'),
        tbl([["문항", "답"], ["알레르기", '<w:sdt><w:sdtContent>' + p("복숭아") + "</w:sdtContent></w:sdt>"], ["수술", p("없음")]])), [
        near("흡연:", "끊었다", 2), absent("피운다"), sentence("검진 전날 밤 아홉 시부터 굶는다."), near("복용 약:", "혈압약 한 알", 2), absent("FORMTEXT"), cell("알레르기", "답", "복숭아"),
    ], "검진 전에는 언제부터 굶나?", "검진 전날 밤 아홉 시부터 굶는다."),

    file("Investment review.docx", "rows that begin later, a caption below, a total over columns", docx(
        p("Investment review", "Heading1"),
        tbl([["Project", "Phase", "Investment by year (million)", ">", ">"], ["^", "^", "2025", "2026", "2027"], ["Offshore wind", "Design", "12", "40", "75"], ["^", "Build", "0", "88", "160"], ["Geothermal", "Survey", "5", "9", "14"],
             ["Total", ">", "17", "137", "249"]], 2), p("[Table 2] Investment by project"), p("The geothermal project is reviewed again next year.")), [
        cell(("Offshore wind", "Build"), "Investment 2026", 88), cell("Total", "2027", 249), cell("Geothermal", "2025", 5), cell(("Offshore wind", "Design"), "2027", 75), same_width("Geothermal"),
        sentence("[Table 2] Investment by project"), sentence("The geothermal project is reviewed again next year."),
    ], "How much is invested in building the offshore wind park in 2026?", "Build", "88"),

    file("어린이집규정.docx", "Strict Open XML with numbers, notes and revisions", docx(
        p("어린이집 운영 규정", "Heading1"), p("등원은 여덟 시부터 한다.", num=(1, 0)),
        p(t("하원은 보호자") + footnote(1) + t("와 함께 한다."), num=(1, 0)), p('<w:del w:id="1" w:author="병"><w:r><w:delText>간식은 사 온다.</w:delText></w:r></w:del>' + t("간식은 직접 만든다."), num=(1, 0)),
        numbers=numbering((level(0, "decimal", "제%1조", more=SPACE),)), notes={1: "미리 적어 낸 어른을 말한다."}, is_strict=True), [
        sentence("제2조 하원은 보호자와 함께 한다."), absent("간식은 사 온다."), sentence("제3조 간식은 직접 만든다."), near("보호자", "미리 적어 낸 어른을 말한다.", 60),
    ], "어린이집 등원은 몇 시부터인가?", "등원은 여덟 시부터 한다."),

    file("Lease agreement.docx", "articles in Roman numerals, sections, letters", docx(
        p("LEASE OF A WORKSHOP", "Heading1"), p("Rent", num=(1, 0)), p("The rent is due on the fifth day of a month.", num=(1, 1)), p("Late rent bears interest.", num=(1, 1)),
        p("Repairs", num=(1, 0)), p("The tenant repairs", num=(1, 1)), p("windows and locks;", num=(1, 2)), p("the heating.", num=(1, 2)), p("The owner repairs the roof.", num=(1, 1)),
        numbers=numbering(ARTICLES)), [
        sentence("Article II. Repairs"), sentence("Section 1.02 Late rent bears interest."), sentence("(b) the heating."), sentence("Section 2.02 The owner repairs the roof."),
        before("Article I. Rent", "Article II. Repairs"),
    ], "When is the rent of the workshop due?", "The rent is due on the fifth day of a month."),

    file("Autumn play.docx", "a style that hides, a table in a text box, white notes", docx(
        p("Autumn play", "Heading1"), p("For the stage manager alone", "Secret"), p("The play is given at the Lantern theatre."),
        p(textbox(tbl([["Part", "Actor"], ["Captain", "Olive Dunn"], ["Keeper of the lighthouse", "Rufus Lang"]]) + p("")) + t("Rehearsals are in the evening.")),
        tbl([["Night", "Place"], ["First", p(t("Small hall") + t("secret guest list", '<w:vanish w:val="1"/>'))], ["Second", p(t("Yard") + t(" under the sky", '<w:vanish w:val="0"/>'))]]),
        styles='<w:style w:type="paragraph" w:styleId="Secret"><w:name w:val="secret"/><w:rPr><w:vanish/></w:rPr></w:style>'), [
        absent("For the stage manager alone"), absent("secret guest list"), cell("Second", "Place", "Yard under the sky"), cell("Keeper of the lighthouse", "Actor", "Rufus Lang"), once("Keeper of the lighthouse"), sentence("Rehearsals are in the evening."),
        sentence("The play is given at the Lantern theatre."),
    ], "Who plays the keeper of the lighthouse?", "Keeper of the lighthouse", "Rufus Lang"),

    file("향토지명.docx", "ruby, smart tags, a link by a field", docx(
        p("향토 지명 조사", "Heading1"),
        p(t("옛 이름은 ") + '<w:r><w:ruby><w:rubyPr><w:rubyAlign w:val="center"/></w:rubyPr><w:rt><w:r><w:t>학천</w:t></w:r></w:rt><w:rubyBase><w:r><w:t>鶴川</w:t></w:r></w:rubyBase></w:ruby></w:r>' + t("이라 한다.")),
        p('<w:smartTag w:uri="urn:x" w:element="place">' + t("너른골") + "</w:smartTag>" + t("은 우물이 셋이다.")),
        p('<w:customXml w:element="자료">' + t("다락논은 ") + "</w:customXml>" + '<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText> HYPERLINK "https://example.invalid/map" </w:instrText></w:r>'
          '<w:r><w:fldChar w:fldCharType="separate"/></w:r>' + t("비탈 지도") + '<w:r><w:fldChar w:fldCharType="end"/></w:r>' + t("에 나온다."))), [
        sentence("너른골은 우물이 셋이다."), sentence("다락논은 비탈 지도에 나온다."), near("옛 이름은", "鶴川", 8), near("鶴川", "이라 한다.", 8), absent("HYPERLINK"),
    ], "너른골에는 우물이 몇인가?", "너른골은 우물이 셋이다."),

    file("옛게시판.html", "tags left open, capitals, frames of fonts, EUC-KR", web(
        "<TABLE BORDER=1><TR><TH>번호<TH>제목<TH>글쓴이<TR><TD>31<TD><FONT COLOR=red>수도 검침 안내</FONT><TD>관리실<TR><TD>32<TD>분리수거 요일 변경<TD>동대표</TABLE>"
        "<P>분리수거는 이제 목요일에 한다.<BR><LI>종이는 묶어서<LI>병은 헹궈서", "게시판", "euc-kr", "",
        head='<META HTTP-EQUIV="Content-Type" CONTENT="text/html; charset=euc-kr">'), [
        cell("32", "글쓴이", "동대표"), cell("31", "제목", "수도 검침 안내"), sentence("분리수거는 이제 목요일에 한다."), same_width("동대표"), before("종이는 묶어서", "병은 헹궈서"),
    ], "분리수거는 무슨 요일에 하나?", "분리수거는 이제 목요일에 한다."),

    file("방언사전.html", "syllables beyond EUC-KR, no encoding stated", web(
        "<h1>방언 낱말</h1><p>똠방각하라는 말은 잘난 체하는 이를 이른다.</p>" + html_table([["낱말", "뜻", "지역"], ["펲시", "빨리", "남부"], ["믜다", "미워하다", "북부"], ["뷁", "성난 소리", "누리집"]]),
        "방언", "cp949", ""), [
        sentence("똠방각하라는 말은 잘난 체하는 이를 이른다."), cell("믜다", "뜻", "미워하다"), cell("펲시", "지역", "남부"), cell("뷁", "뜻", "성난 소리"), same_width("믜다"),
    ], "'믜다'는 무슨 뜻인가?", "믜다", "미워하다"),

    file("수강편람.html", "several bodies with section rows, spans past the edge", web(
        '<table><caption>봄 학기 강좌</caption><thead><tr><th>강좌</th><th>강사</th><th>정원</th></tr></thead>'
        '<tbody><tr><th colspan="3">외국어</th></tr><tr><td>초급 체코어</td><td rowspan="9">한누리</td><td>15</td></tr><tr><td>중급 체코어</td><td>12</td></tr></tbody>'
        '<tbody><tr><th colspan="9">음악</th></tr><tr><td>대금 입문</td><td>소슬바람</td><td>8</td></tr></tbody></table><p>폐강은 개강 사흘 전에 알린다.</p>', "수강편람"), [
        cell("중급 체코어", "정원", 12), cell("중급 체코어", "강사", "한누리"), cell("대금 입문", "강사", "소슬바람"), cell("대금 입문", "정원", 8), before("외국어", "초급 체코어"),
        before("중급 체코어", "음악"), same_width("대금 입문"), sentence("폐강은 개강 사흘 전에 알린다."),
    ], "중급 체코어의 정원은?", "중급 체코어", "12"),

    file("숙소예약.html", "radio buttons, boxes, preformatted text", web(
        '<h2>숙소 예약 확인</h2><form><p>방: <input type="radio" name="r" value="온돌"> 온돌 <input type="radio" name="r" value="침대" checked> 침대</p>'
        '<p>손님 수 <input type="number" value="4"></p><p>비밀번호 <input type="password" value="열려라77"></p><p>오는 길 <select multiple><option selected>기차</option><option>배</option><option selected>버스</option></select></p></form>'
        "<pre>요일   아침   저녁\n토요일 죽     전골\n일요일 빵     국수\n</pre><p>입실은 오후 세 시부터 한다.</p>", "예약 확인"), [
        absent("열려라77"), absent("기차배버스"), near("손님 수", "4", 3), sentence("입실은 오후 세 시부터 한다."), sentence("일요일 빵 국수"), near("오는 길", "기차", 6),
    ], "숙소 입실은 몇 시부터인가?", "입실은 오후 세 시부터 한다."),

    file("관광안내.html", "cookie dialog, skip links, hidden by class and by attribute, CP949", web(
        '<a class="skip" href="#m">본문 바로가기</a><div id="cookie" style="visibility:hidden">쿠키를 모두 허용</div><div class="gnb"><ul><li><a href="1">축제</a></li><li><a href="2">맛집</a></li></ul></div>'
        '<div id="m"><h1>은빛호수 둘레길</h1><p>둘레길은 모두 9.4km이다.</p><p class="blind">화면낭독기용 문구</p><noscript>자바스크립트를 켜 주세요</noscript>'
        '<ul><li>입구에서 안내도를 받는다.</li><li>개는 목줄을 맨다.</li></ul></div><aside><a href="3">다른 둘레길 보기</a></aside>', "둘레길", "cp949", "ks_c_5601-1987",
        head="<style>.blind{display:none}</style>"), [
        sentence("둘레길은 모두 9.4km이다."), absent("쿠키를 모두 허용"), absent("자바스크립트를 켜"), absent("맛집"), absent("화면낭독기용 문구"), sentence("개는 목줄을 맨다."), absent("본문 바로가기"),
    ], "은빛호수 둘레길은 몇 km인가?", "둘레길은 모두 9.4km이다."),

    file("tax questions.html", "questions and answers, notes with anchors", web(
        '<article><h1>Tax questions</h1><h3>Q. Do glasses count?</h3><p>A. Glasses that correct your sight count up to 500 euros<a href="#n1"><sup>1</sup></a>.</p>'
        '<h3>Q. And school uniforms?</h3><p>A. Uniforms count from the seventh form on.</p><aside class="footnotes" id="n1"><p>1 The receipt must show the name of the wearer.</p></aside></article>', "Tax"), [
        sentence("A. Uniforms count from the seventh form on."), sentence("The receipt must show the name of the wearer."), before("Do glasses count", "And school uniforms"), near("Do glasses count?", "Glasses that correct your sight", 12),
        absent("500 euros1"),
    ], "From which form on do school uniforms count?", "Uniforms count from the seventh form on."),

    file("ferry timetable.html", "days joined down and across, row heads, a foot", web(
        html_table([["Days", "From the island", ">", "To the island"], ["^", "Departs", "Arrives", "Departs"], ["Weekdays", "06:40", "07:25", "08:00"], ["^", "16:10", "16:55", "17:30"], ["Sundays", "no service", ">", "10:15"],
                    ["Bicycles travel free of charge.", ">", ">", ">"]], head=2, foot=1, caption="Summer timetable of the Skerry ferry"), "Ferry"), [
        cell(("Weekdays", "16:10"), "To the island Departs", "17:30"), cell(("Weekdays", "06:40"), "From the island Arrives", "07:25"), cell("Sundays", "To the island", "10:15"),
        sentence("Bicycles travel free of charge."), before("Summer timetable of the Skerry ferry", "06:40"), same_width("Sundays"),
    ], "When does the Sunday ferry to the island depart?", "Sundays", "10:15"),

    file("근속포상.html", "spacer columns, bold cells as the header, empty rows", web(
        '<h1>근속 포상</h1><table><tr><td><b>근속</b></td><td width="5"><img src="sp.gif" width="5"></td><td><b>포상금</b></td><td width="5"></td><td><b>휴가</b></td></tr>'
        '<tr><td colspan="5" height="1"></td></tr><tr><td>10년</td><td></td><td>70만원</td><td></td><td>3일</td></tr><tr><td>20년</td><td></td><td>150만원</td><td></td><td>7일</td></tr></table>'
        "<p>포상은 창립 기념일에<br>한다.</p><p>휴직한 햇수는 빼고&nbsp;센다.</p>", "근속 포상"), [
        cell("20년", "휴가", "7일"), cell("10년", "포상금", "70만원"), same_width("20년"), sentence("포상은 창립 기념일에 한다."), sentence("휴직한 햇수는 빼고 센다."), absent("sp.gif"),
    ], "근속 20년의 포상금은?", "20년", "150만원"),

    file("입찰공고.html", "Word saved as a web page, list marks in spans, CP949", web(
        "<div class=WordSection1><p class=MsoTitle>물품 구매 입찰 공고<o:p></o:p></p><p class=MsoListParagraph style='mso-list:l0 level1 lfo1'><![if !supportLists]><span>1.<span style='font:7.0pt \"Times New Roman\"'>&nbsp;&nbsp; "
        "</span></span><![endif]>입찰 보증금은 백분의 오로 한다.</p><p class=MsoListParagraph><![if !supportLists]><span>2.<span>&nbsp; </span></span><![endif]>서류는 우편으로\n받지 않는다.</p>"
        "<table class=MsoTableGrid border=1><tr><td><p class=MsoNormal>품명</p></td><td><p class=MsoNormal>수량</p></td></tr><tr><td><p>책상<o:p></o:p></p></td><td><p>40</p></td></tr>"
        "<tr><td><p>의자</p><p>(바퀴 있음)</p></td><td><p>85</p></td></tr></table></div>", "입찰", "cp949",
        head="<!--[if gte mso 9]><xml><w:View>숨은설정</w:View></xml><![endif]--><style>p.MsoNormal{margin:0cm}</style>"), [
        sentence("1. 입찰 보증금은 백분의 오로 한다."), sentence("서류는 우편으로 받지 않는다."), cell("책상", "수량", 40), cell("의자", "품명", "의자 (바퀴 있음)"), absent("숨은설정"), absent("supportLists"), same_width("책상"),
    ], "입찰 보증금은 얼마로 하나?", "입찰 보증금은 백분의 오로 한다."),

    file("급식조사.hwpx", "a caption below, labels joined in three columns", hwpx(
        hp(htbl([["학년", "반", "선호 조사 결과(명)", ">"], ["^", "^", "한식", "양식"], ["1", "해반", "14", "9"], ["^", "달반", "11", "13"], ["2", "해반", "8", "17"], ["계", ">", "33", "39"]],
                caption="〈표 3〉 학급별 급식 선호", side="BOTTOM")), hp("조사는 이름을 적지 않고 했다.")), [
        cell(("1", "달반"), "양식", 13), cell(("2", "해반"), "선호 조사 결과 한식", 8), cell("계", "양식", 39), sentence("〈표 3〉 학급별 급식 선호"), same_width("달반"), sentence("조사는 이름을 적지 않고 했다."),
    ], "급식 조사에서 달반은 양식을 몇 명이 골랐나?", "달반", "13"),

    file("정관.hwpx", "numbers that the program adds", hwpx(
        hp("목적", form=1), hp("이 모임은 마을 숲을 가꾼다.", form=0), hp("회원", form=1), hp("회원은 스무 살이 넘어야 한다.", form=2), hp("회비는 해마다 낸다.", form=2),
        header='<hh:numberings itemCnt="1"><hh:numbering id="1" start="0"><hh:paraHead start="1" level="1" align="LEFT" numFormat="DIGIT">제^1조</hh:paraHead>'
               '<hh:paraHead start="1" level="2" align="LEFT" numFormat="CIRCLED_DIGIT">^2</hh:paraHead></hh:numbering></hh:numberings>'
               '<hh:paraProperties itemCnt="3"><hh:paraPr id="0"><hh:heading type="NONE" idRef="0" level="0"/></hh:paraPr><hh:paraPr id="1"><hh:heading type="NUMBER" idRef="1" level="0"/></hh:paraPr>'
               '<hh:paraPr id="2"><hh:heading type="NUMBER" idRef="1" level="1"/></hh:paraPr></hh:paraProperties>'), [
        sentence("제2조 회원"), sentence("② 회비는 해마다 낸다."), sentence("이 모임은 마을 숲을 가꾼다."), before("제1조 목적", "제2조 회원"),
    ], "회원은 몇 살이 넘어야 하나?", "회원은 스무 살이 넘어야 한다."),

    file("편집지시.hwpx", "endnotes, hidden remarks, a memo", hwpx(
        hp("소식지 편집 지시"), hp('<hp:t>표지는 파란색</hp:t><hp:ctrl><hp:hiddenComment>' + hlist("사장님 취향이라 바꾸지 말 것") + "</hp:hiddenComment></hp:ctrl><hp:t>으로 한다.</hp:t>"),
        hp("<hp:t>사진은 열두 장</hp:t>" + hnote("독자가 보낸 것을 먼저 쓴다.", 1, "endNote") + "<hp:t>을 싣는다.</hp:t>"), hp("마감은 스무날이다.")), [
        sentence("표지는 파란색으로 한다."), absent("사장님 취향"), sentence("사진은 열두 장을 싣는다."), sentence("독자가 보낸 것을 먼저 쓴다."), sentence("마감은 스무날이다."),
    ], "소식지 사진은 몇 장을 싣나?", "사진은 열두 장을 싣는다."),

    file("조리법.hwpx", "tabs, line breaks and special blanks inside a text, tracked changes", hwpx(
        hp("<hp:t>재료<hp:tab width=\"4000\"/>메밀가루 200g<hp:lineBreak/>불린 시간<hp:tab width=\"4000\"/>30분</hp:t>"), hp("<hp:t>반죽은<hp:nbSpace/>찬물로<hp:fwSpace/>한다.</hp:t>"),
        hp('<hp:t>면은 <hp:deleteBegin Id="1" TcId="1"/>가늘게<hp:deleteEnd Id="1" TcId="1" paraend="0"/><hp:insertBegin Id="2" TcId="2"/>굵게<hp:insertEnd Id="2" TcId="2" paraend="0"/> 썬다.</hp:t>'),
        hp('<hp:t>육수는 </hp:t></hp:run><hp:run charPrIDRef="3"><hp:t>다시마</hp:t></hp:run><hp:run charPrIDRef="0"><hp:t>로 낸다.</hp:t>')), [
        near("재료", "메밀가루 200g", 3), near("불린 시간", "30분", 3), sentence("반죽은 찬물로 한다."), sentence("면은 굵게 썬다."), absent("가늘게"), sentence("육수는 다시마로 낸다."),
    ], "육수는 무엇으로 내나?", "육수는 다시마로 낸다."),

    file("결재문서.hwpx", "a table as the frame of the title, a grid of signatures, a formula", hwpx(
        hp(htbl([["태양광 설비 구매 계획"]])), hp(htbl([["결재", "담당", "팀장", "원장"], ["^", "구름", "마루", "전결"]])), hp("설비는 시월까지 들인다."),
        hp('<hp:t>출력은 </hp:t><hp:equation version="Equation Version 60"><hp:script>P = V times I</hp:script></hp:equation><hp:t> 로 잰다.</hp:t>'),
        hp(hbox("붙임: 견적서 세 부")), hp(htbl([["품명", "규격", "수량"], ["모듈", "550W", "36"], ["인버터", "20kW", "1"]]))), [
        sentence("태양광 설비 구매 계획"), absent("| 태양광 설비 구매 계획 |"), cell("인버터", "수량", 1), cell("모듈", "규격", "550W"), near("출력은", "로 잰다.", 20), sentence("붙임: 견적서 세 부"),
        near("팀장", "마루", 60), same_width("인버터"),
    ], "태양광 모듈은 몇 개 사나?", "모듈", "36"),

    file("축제준비.pptx", "boxes in another order than they are stored, levels", slides(_placed), [
        before("축제 준비 네 단계", "왼쪽 위: 장소를 고른다"), before("왼쪽 위: 장소를 고른다", "왼쪽 아래: 인력을 뽑는다"), before("오른쪽 위: 업체를 정한다", "오른쪽 아래: 예산을 확정한다"),
        sentence("천막 두 동"), before("무대", "조명 여섯 대"), before("천막 두 동", "먹을거리"),
    ], "천막은 몇 동 준비하나?", "천막 두 동"),

    file("차량현황.pptx", "a pie with shares, a header of two rows, notes", slides(_shares), [
        cell("전기", "차량 비중", ("31%", "0.31")), cell("수소", "차량 비중", ("7%", "0.07")), cell("장안", "대수 소형", 11), cell("서곡", "충전기", 4), same_width("서곡"), sentence("장안 차고지는 내년에 넓힌다"),
        before("연료별 차량 비중", "차고지 현황"),
    ], "장안 차고지의 충전기는 몇 대인가?", "장안", "9"),

    file("Desk training.pptx", "two columns, a hidden slide with a table and notes, a group beside a table", slides(_training), [
        before("Morning: read the manual", "Afternoon: sit with a colleague"), absent("Retired course"), absent("never mention the retired fee"), note("hidden", "숨"),
        cell(("Basic", "Ticket system"), "Days", 2), cell("Complaints", "Level", "Advanced"), sentence("Fees are paid by the desk."), same_width("Complaints"),
    ], "How many days does the ticket system course take?", "Ticket system", "2"),
]
