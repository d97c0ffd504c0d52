"""The open half: Word documents, web pages, HWPX and slides."""
from __future__ import annotations

from typing import Any

from build import docx, footnote, hbox, hlist, hnote, hp, html_table, htbl, hwpx, level, numbering, p, python_docx, slide_table, slides, t, tbl, textbox, web
from spec import absent, before, cell, file, labelled, near, note, once, same_width, sentence

SPACE = '<w:suff w:val="space"/>'
LAW = (level(0, "decimal", "제%1조", more=SPACE), level(1, "decimalEnclosedCircle", "%2", more=SPACE), level(2, "ganada", "%3.", more=SPACE))
OUTLINE = (level(0, "decimal", "%1.", more=SPACE), level(1, "decimal", "%1.%2", more=SPACE), level(2, "decimal", "%1.%2.%3", more=SPACE))


def _visitors(document: Any) -> None:
    document.add_heading("Visitor policy", 0)
    document.add_heading("At the gate", 1)
    for line in ("Show a photo identification.", "Sign the visitor book.", "Wear the lanyard at all times."):
        document.add_paragraph(line, style="List Number")
    document.add_heading("In the laboratory", 1)
    for line in ("No food beyond the yellow line.", "Goggles are lent at desk 4."):
        document.add_paragraph(line, style="List Bullet")
    table = document.add_table(rows=1, cols=3)
    table.style = "Table Grid"
    for at, word in enumerate(("Zone", "Escort", "Hours")):
        table.rows[0].cells[at].text = word
    for row in (("Foundry", "always", "8 to 12"), ("Showroom", "never", "9 to 17")):
        cells = table.add_row().cells
        for at, word in enumerate(row):
            cells[at].text = word


def _new_line(slides_: Any) -> Any:
    return slides_.slides.add_slide(slides_.slide_layouts[5])


def _grouped(deck: Any) -> None:
    from pptx.util import Inches
    slide = _new_line(deck)
    slide.shapes.title.text = "Rollout order"
    outer = slide.shapes.add_group_shape()
    for n, word in enumerate(("Load the test server", "The owner signs off")):
        outer.shapes.add_textbox(Inches(1), Inches(2 + n), Inches(4), Inches(.5)).text_frame.text = word
    inner = outer.shapes.add_group_shape()
    inner.shapes.add_textbox(Inches(1), Inches(5), Inches(4), Inches(.5)).text_frame.text = "Move to the live server"
    slide.notes_slide.notes_text_frame.text = "Say that nothing is rolled out on Friday afternoons"


def _figures(deck: Any) -> None:
    from pptx.chart.data import CategoryChartData
    from pptx.enum.chart import XL_CHART_TYPE
    from pptx.util import Inches
    slide = _new_line(deck)
    slide.shapes.title.text = "고객 응대 지표"
    slide_table(slide, [["채널", "지표", "목표", "실적"], ["전화", "응답률", "95%", "91%"], ["^", "평균 대기", "40초", "52초"], ["채팅", "응답률", "90%", "93%"]])
    slide = _new_line(deck)
    slide.shapes.title.text = "월별 문의"
    data = CategoryChartData()
    data.categories = ["9월", "10월", "11월"]
    data.add_series("전화 문의", (318, 297, 344))
    data.add_series("채팅 문의", (122, 168, 205))
    slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, Inches(1), Inches(2), Inches(6), Inches(4), data)


def _launch(deck: Any) -> None:
    slide = deck.slides.add_slide(deck.slide_layouts[1])
    slide.shapes.title.text = "Launch of the kettle line"
    slide.placeholders[1].text = "Samples leave the plant on 4 June\nPress event in Leeds"
    slide = deck.slides.add_slide(deck.slide_layouts[1])
    slide.shapes.title.text = "Backup plan, do not show"
    slide.placeholders[1].text = "Cancel the Leeds venue by May"
    slide._element.set("show", "0")
    slide = _new_line(deck)
    slide.shapes.title.text = "Budget"
    slide_table(slide, [["Item", "2025", ">"], ["^", "Planned", "Spent"], ["Photos", "3100", "2870"], ["Catering", "1450", "1600"]])


FILES = [
    file("근로조건규정.docx", "numbers of articles and paragraphs that Word adds", docx(
        p("근로조건 규정", "Heading1"),
        p("(목적)", num=(1, 0)), p("이 규정은 직원의 근로조건을 정한다."),
        p("(휴게시간)", num=(1, 0)), p("점심 휴게는 한 시간으로 한다.", num=(1, 1)), p("야간 근무자는 따로 정한 휴게를 쓴다.", num=(1, 1)),
        p("(경조 휴가)", num=(1, 0)), p("경조 휴가는 다음과 같다.", num=(1, 1)), p("본인 결혼은 5일", num=(1, 2)), p("부모 회갑은 1일", num=(1, 2)),
        p("휴가는 사유가 생긴 날부터 쓴다.", num=(1, 1)), numbers=numbering(LAW)), [
        sentence("제2조 (휴게시간)"), sentence("② 야간 근무자는 따로 정한 휴게를 쓴다."), sentence("제3조 (경조 휴가)"), sentence("① 경조 휴가는 다음과 같다."),
        sentence("나. 부모 회갑은 1일"), sentence("② 휴가는 사유가 생긴 날부터 쓴다."), before("제1조", "제2조"),
    ], "부모 회갑 휴가는 며칠인가?", "부모 회갑은 1일"),

    file("업무절차서.docx", "headings numbered by their style, a list that starts again", docx(
        p("접수", "Heading1"), p("창구 접수", "Heading2"), p("번호표를 뽑는다.", num=(2, 0)), p("신청서를 낸다.", num=(2, 0)),
        p("우편 접수", "Heading2"), p("봉투에 문서번호를 적는다.", num=(3, 0)), p("등기로 보낸다.", num=(3, 0)),
        p("심사", "Heading1"), p("서류 심사", "Heading2"), p("심사는 사흘 안에 마친다."),
        numbers=numbering(OUTLINE, (level(0, "decimal", "%1)", more=SPACE),), restarts={3: (2, 1)}),
        styles='<w:style w:type="paragraph" w:styleId="Heading1"><w:name w:val="heading 1"/><w:pPr><w:numPr><w:numId w:val="1"/></w:numPr><w:outlineLvl w:val="0"/></w:pPr></w:style>'
               '<w:style w:type="paragraph" w:styleId="Heading2"><w:name w:val="heading 2"/><w:pPr><w:numPr><w:ilvl w:val="1"/><w:numId w:val="1"/></w:numPr><w:outlineLvl w:val="1"/></w:pPr></w:style>'), [
        sentence("1.2 우편 접수"), sentence("2.1 서류 심사"), sentence("2) 신청서를 낸다."), sentence("1) 봉투에 문서번호를 적는다."), sentence("2) 등기로 보낸다."),
        sentence("2. 심사"), before("1.1 창구 접수", "1.2 우편 접수"),
    ], "서류 심사는 언제까지 마치나?", "심사는 사흘 안에 마친다."),

    file("여비기준.docx", "joined cells both ways, header of two rows", docx(
        p("여비 기준", "Heading1"),
        tbl([["구분", "직위", "숙박비", ">", "식비"], ["^", "^", "수도권", "그 밖", "^"], ["국내", "부서장", "110,000", "85,000", "32,000"],
             ["^", "직원", "90,000", "70,000", "28,000"], ["국외", "모두", "실비", ">", "60,000"]], 2),
        p("숙박비는 영수증을 낸 날부터 이레 안에 준다.")), [
        cell(("국내", "직원"), "숙박비 수도권", "90,000"), cell(("국내", "부서장"), "숙박비 그 밖", "85,000"), cell(("국내", "직원"), "식비", "28,000"),
        cell("국외", "식비", "60,000"), same_width("부서장"), sentence("숙박비는 영수증을 낸 날부터 이레 안에 준다."),
    ], "국내 출장에서 직원의 식비는?", "직원", "28000"),

    file("보안지침.docx", "footnotes beside their sentence, header and footer once", docx(
        p("보안 지침", "Heading1"), p(t("문서고 열쇠는 보안 담당자") + footnote(1) + t("만 지닌다.")), p("열쇠를 잃으면 그날 안에 알린다."),
        p(t("촬영은 허가를 받은 구역") + footnote(2) + t("에서만 한다.")), *(p(f"구역 {n}에는 출입 기록을 둔다.") for n in range(1, 9)),
        notes={1: "부서마다 한 사람을 둔다.", 2: "로비와 홍보관을 말한다."}, header="대외비 새벽별연구소", footer="보안팀 문의 7070"), [
        sentence("문서고 열쇠는 보안 담당자만 지닌다."), near("보안 담당자", "부서마다 한 사람을 둔다.", 60), near("허가를 받은 구역", "로비와 홍보관을 말한다.", 60),
        once("대외비 새벽별연구소"), once("보안팀 문의 7070"), before("부서마다 한 사람을 둔다.", "구역 3에는"),
    ], "촬영이 허가된 구역은 어디를 말하나?", "로비와 홍보관을 말한다."),

    file("Amended contract.docx", "tracked changes as accepted", docx(
        p("Amended service contract", "Heading1"),
        p(t("The fee is due within ") + '<w:del w:id="1" w:author="A"><w:r><w:delText>60 days</w:delText></w:r></w:del>'
          + f'<w:ins w:id="2" w:author="A">{t("30 days")}</w:ins>' + t(" of acceptance.")),
        p('<w:del w:id="3" w:author="A"><w:r><w:delText>Delay costs nothing.</w:delText></w:r></w:del>'
          + f'<w:ins w:id="4" w:author="A">{t("Delay costs two per mille a day.")}</w:ins>')), [
        sentence("The fee is due within 30 days of acceptance."), absent("60 days"), absent("Delay costs nothing."), sentence("Delay costs two per mille a day."),
    ], "When is the service fee due?", "The fee is due within 30 days of acceptance."),

    file("Interview day.docx", "hidden text and a text box", docx(
        p("Interview day", "Heading1"), p(t("Interviews are held in hall 14.") + t("examiner only: skip question 2", "<w:vanish/>")),
        p(textbox(p("Bring your passport and the letter of invitation.")) + t("Hand in your phone at the door.")), p("Results come by text message.")), [
        sentence("Interviews are held in hall 14."), absent("skip question 2"), once("Bring your passport and the letter of invitation."), sentence("Hand in your phone at the door."),
        before("hall 14", "Results come"),
    ], "What should I bring to the interview?", "Bring your passport and the letter of invitation."),

    file("검수조서.docx", "a table inside a cell", docx(
        p("검수 조서", "Heading1"),
        tbl([["항목", "내용"], ["장비", "현미경 두 대"], ["부속", p("아래 표와 같다.") + tbl([["부속명", "수량"], ["접안렌즈", "4"], ["조명", "2"]]) + p("")], ["검수자", "홍라온"]]),
        p("검수일부터 한 해 동안 고쳐 준다.")), [
        labelled("조명", "수량", 2), labelled("접안렌즈", "수량", 4), cell("장비", "내용", "현미경 두 대"), cell("검수자", "내용", "홍라온"), same_width("부속명"),
        sentence("검수일부터 한 해 동안 고쳐 준다."), before("현미경 두 대", "접안렌즈"),
    ], "검수한 접안렌즈는 몇 개인가?", "접안렌즈", "4"),

    file("임대약관.docx", "Strict Open XML", docx(
        p("임대 약관", "Heading1"), p("임대 기간은 스물네 달로 한다."), tbl([["호실", "월세"], ["가동 301", "44만원"], ["나동 102", "39만원"]]), is_strict=True), [
        sentence("임대 기간은 스물네 달로 한다."), cell("나동 102", "월세", "39만원"), same_width("호실"), sentence("임대 약관"),
    ], "나동 102호의 월세는?", "나동 102", "39만원"),

    file("Visitor policy.docx", "lists and a table of python-docx", python_docx(_visitors), [
        sentence("2. Sign the visitor book."), sentence("3. Wear the lanyard at all times."), sentence("Goggles are lent at desk 4."),
        cell("Showroom", "Escort", "never"), cell("Foundry", "Hours", "8 to 12"), before("At the gate", "In the laboratory"), same_width("Foundry"),
    ], "Where are goggles lent in the laboratory?", "Goggles are lent at desk 4."),

    file("공지문.docx", "layout tables, tabs and line breaks", docx(
        tbl([[p("단수 안내", "Heading1") + p("배관 공사로 물을 끊습니다.")]]), p(t("일시\t3월 9일 22시\n장소\t다동 전체")),
        tbl([["문의는 관리소로 해 주십시오. 공사 중에는 옥상 물탱크도 쓸 수 없으니 하루치 물을 미리 받아 두시기 바랍니다."]])), [
        sentence("배관 공사로 물을 끊습니다."), near("일시", "3월 9일 22시", 3), near("장소", "다동 전체", 3),
        sentence("옥상 물탱크도 쓸 수 없으니 하루치 물을 미리 받아 두시기 바랍니다."), absent("| 문의는"), before("단수 안내", "일시"),
    ], "다동 단수는 언제인가?", "3월 9일 22시"),

    file("연구노트지침.docx", "fields, a table of contents, a formula, a caption", docx(
        p(t("목차") + '<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText xml:space="preserve"> TOC \\o "1-2" \\h </w:instrText></w:r>'
          '<w:r><w:fldChar w:fldCharType="separate"/></w:r>' + t("보관\t3") + '<w:r><w:fldChar w:fldCharType="end"/></w:r>'),
        p("보관", "Heading1"), p("연구노트는 서른 해 동안 보관한다."),
        p(t("표 ") + '<w:fldSimple w:instr=" SEQ 표 \\* ARABIC "><w:r><w:t>4</w:t></w:r></w:fldSimple>' + t(". 보관 장소")),
        tbl([["종류", "장소"], ["서면", "지하 서고"], ["전자", "백업 센터"]]),
        p(t("오차는 ") + "<m:oMath><m:r><m:t>E=mc</m:t></m:r></m:oMath>" + t(" 식으로 구한다."))), [
        sentence("연구노트는 서른 해 동안 보관한다."), absent("TOC"), absent("SEQ"), sentence("표 4. 보관 장소"), cell("전자", "장소", "백업 센터"),
        near("오차는", "식으로 구한다.", 12), sentence("E=mc"),
    ], "연구노트는 얼마 동안 보관하나?", "연구노트는 서른 해 동안 보관한다."),

    file("하수도요금.html", "caption, head, foot and joined labels, CP949 by its meta", web(
        "<h1>하수도 요금</h1>" + html_table([["업종", "사용량", "단가"], ["가정용", "1~20톤", "410원"], ["^", "21톤부터", "690원"], ["영업용", "1~50톤", "980원"],
                                       ["비고", "감면은 따로 신청한다", ">"]], caption="업종별 단가표", foot=1), "하수도 요금", "cp949", "euc-kr"), [
        cell(("가정용", "21톤부터"), "단가", "690원"), cell("영업용", "사용량", "1~50톤"), before("업종별 단가표", "가정용"), same_width("영업용"),
        sentence("감면은 따로 신청한다"), before("영업용", "감면은"),
    ], "가정용 하수도를 21톤부터 쓰면 단가는?", "21톤부터", "690원"),

    file("도서관소식.html", "menus, breadcrumbs and footers out", web(
        '<header><nav><ul><li><a href="/a">열람실 예약하기</a></li><li><a href="/b">전자책 바로가기</a></li></ul></nav></header>'
        '<div class="breadcrumb"><a href="/">홈</a> &gt; <a href="/n">알림마당</a></div><main><h1>여름 독서 교실</h1>'
        "<p>여름 독서 교실은 7월 셋째 주에 연다.</p><p>신청은 사서에게 한다.</p></main>"
        '<footer>우) 00000 달빛로 7 저작권 달빛도서관</footer><script>var 광고="배너문구";</script>', "여름 독서 교실"), [
        sentence("여름 독서 교실은 7월 셋째 주에 연다."), absent("전자책 바로가기"), absent("배너문구"), absent("저작권 달빛도서관"), sentence("신청은 사서에게 한다."),
    ], "여름 독서 교실은 언제 여나?", "여름 독서 교실은 7월 셋째 주에 연다."),

    file("move in cleaning.html", "hidden parts", web(
        '<h1>Cleaning before you move in</h1><p>We clean three days before you move in.</p><p style="display:none">internal: rebate 35 applies</p><div hidden>delete this draft</div>'
        "<!-- old price 70 --><template><p>text of a template</p></template>" + html_table([["Flat", "Price"], ["Two rooms", "180 euros"], ["Three rooms", "250 euros"]])
        .replace("<tr><td>Three rooms", '<tr style="display: none"><td>Ghost flat</td><td>1 euro</td></tr><tr><td>Three rooms'), "Cleaning"), [
        sentence("We clean three days before you move in."), absent("rebate 35"), absent("delete this draft"), absent("old price 70"), absent("text of a template"), absent("Ghost flat"),
        cell("Three rooms", "Price", "250 euros"),
    ], "What does cleaning three rooms before moving in cost?", "Three rooms", "250 euros"),

    file("자원봉사신청.html", "choices and values of a form, CP949", web(
        '<h1>자원봉사 신청</h1><form><label>이름 <input type="text" value="추하람"></label><label>희망 지역 <select><option>강릉</option><option selected>속초</option>'
        '<option>동해</option></select></label><label>하고 싶은 말 <textarea>주말에만 할 수 있습니다</textarea></label><input type="hidden" value="토큰9f3a">'
        "<button>보내기</button></form><p>봉사는 하루 네 시간까지 인정한다.</p>", "신청", "cp949"), [
        sentence("봉사는 하루 네 시간까지 인정한다."), absent("강릉속초"), absent("토큰9f3a"), near("희망 지역", "속초", 12), near("이름", "추하람", 4), sentence("주말에만 할 수 있습니다"),
    ], "자원봉사는 하루 몇 시간까지 인정하나?", "봉사는 하루 네 시간까지 인정한다."),

    file("상조회칙.html", "layout tables, CP949 by its bytes only", web(
        '<table width="700"><tr><td colspan="2"><h2>상조회 회칙</h2></td></tr><tr><td width="20">&nbsp;</td><td><p>회비는 달마다 만원으로 한다.</p>'
        + html_table([["사유", "금액"], ["본인 혼인", "30만원"], ["자녀 출생", "10만원"]], head=0) + "<p>탈퇴하면 낸 회비는 돌려주지 않는다.</p></td></tr></table>",
        "회칙", "cp949", ""), [
        sentence("회비는 달마다 만원으로 한다."), cell("자녀 출생", "금액", "10만원"), sentence("탈퇴하면 낸 회비는 돌려주지 않는다."), same_width("사유"), absent("| 회비는"),
        before("회비는", "본인 혼인"), before("자녀 출생", "탈퇴하면"),
    ], "상조회는 자녀 출생에 얼마를 주나?", "자녀 출생", "10만원"),

    file("구내식당.html", "a table inside a cell, CP949", web(
        html_table([["요일", "점심"], ["월", "잡곡밥과 " + html_table([["반찬", "열량"], ["두부조림", "210"], ["무생채", "45"]])], ["화", "비빔국수"]]), "식단", "cp949", "ks_c_5601-1987"), [
        labelled("두부조림", "열량", 210), cell("화", "점심", "비빔국수"), labelled("무생채", "열량", 45), same_width("반찬"), before("잡곡밥과", "두부조림"),
    ], "두부조림의 열량은?", "두부조림", "210"),

    file("용어풀이.html", "definition lists, folded parts, line breaks in cells", web(
        "<h1>용어 풀이</h1><dl><dt>가산점</dt><dd>자격에 따라 더하는 점수</dd><dt>동점자</dt><dd>총점이 같은 사람</dd></dl>"
        "<details><summary>동점자는 어떻게 정하나</summary><p>동점자는 근무 햇수가 긴 순서로 정한다.</p></details>"
        + html_table([["자격", "가산점"], ["기사", "3점<br>(분야가 같을 때)"], ["산업기사", "1점"]]), "용어"), [
        near("가산점", "자격에 따라 더하는 점수", 6), sentence("동점자는 근무 햇수가 긴 순서로 정한다."), cell("기사", "가산점", "3점 (분야가 같을 때)"), cell("산업기사", "가산점", "1점"),
        same_width("산업기사"),
    ], "동점자는 어떤 순서로 정하나?", "동점자는 근무 햇수가 긴 순서로 정한다."),

    file("freight rates.html", "row heads and a header of two rows", web(
        "<h1>Freight rates</h1>" + html_table([["Port", "Standard", ">", "Express", ">"], ["^", "20 ft", "40 ft", "20 ft", "40 ft"],
                                               ["Gdynia", "610", "980", "890", "1340"], ["Cork", "540", "870", "760", "1190"]], head=2)
        .replace("<td>Gdynia</td>", '<th scope="row">Gdynia</th>').replace("<td>Cork</td>", '<th scope="row">Cork</th>')
        + "<p>Rates are in euros and hold until the end of the quarter.</p>", "Freight rates"), [
        cell("Cork", "Express 20 ft", 760), cell("Gdynia", "Standard 40 ft", 980), cell("Gdynia", "Express 40 ft", 1340), same_width("Cork"),
        sentence("Rates are in euros and hold until the end of the quarter."),
    ], "What does an express 20 ft container to Cork cost?", "Cork", "760"),

    file("견학일정.html", "a sheet saved as a web page, CP949", web(
        "<table border=0 cellpadding=0 cellspacing=0 width=400 style='border-collapse:collapse'><col width=90><col width=90 span=2><tr height=22><td class=xl65>학교</td>"
        "<td class=xl65>방문일</td><td class=xl65>인원</td></tr><tr height=22><td>물빛초</td><td class=xl66 x:num=\"45772\">2025-04-25</td><td x:num>62</td></tr>"
        "<tr height=22><td>산들중</td><td class=xl66>2025-05-02</td><td x:num>118</td></tr>"
        "<![if supportMisalignedColumns]><tr height=0 style='display:none'><td width=90></td><td width=90></td><td width=90></td></tr><![endif]></table>", "견학", "cp949", "ks_c_5601-1987",
        head="<!--[if gte mso 9]><xml><x:Name>견학시트</x:Name></xml><![endif]--><style>.xl65{font-weight:700}</style>"), [
        cell("산들중", "인원", 118), cell("물빛초", "방문일", "2025-04-25"), same_width("물빛초"), absent("xl65"), absent("supportMisalignedColumns"),
    ], "산들중 견학 인원은?", "산들중", "118"),

    file("장비대여.hwpx", "spans by the address of the cell, a caption", hwpx(
        hp("장비 대여 안내"),
        hp(htbl([["구분", "장비", "대여료", ">"], ["^", "^", "하루", "일주일"], ["촬영", "카메라", "3만원", "15만원"], ["^", "삼각대", "5천원", "2만원"], ["음향", "무선마이크", "1만원", "4만원"]],
                caption="표 1. 장비별 대여료", shuffled=True)),
        hp("빌린 장비는 닦아서 돌려준다.")), [
        cell(("촬영", "삼각대"), "대여료 일주일", "2만원"), cell("무선마이크", "대여료 하루", "1만원"), cell("카메라", "구분", "촬영"), same_width("삼각대"),
        before("표 1. 장비별 대여료", "삼각대"), sentence("빌린 장비는 닦아서 돌려준다."),
    ], "삼각대를 일주일 빌리면 얼마인가?", "삼각대", "2만원"),

    file("감사규정.hwpx", "notes beside their sentence", hwpx(
        hp("감사 규정"), hp('<hp:t>감사는 해마다 두 번</hp:t>' + hnote("상반기는 5월, 하반기는 10월에 한다.", 1) + "<hp:t> 한다.</hp:t>"), hp("감사 결과는 대표에게 보고한다."),
        *(hp(f"감사 자료 {n}호는 원본으로 낸다.") for n in range(1, 7)), hp('<hp:t>지적 사항은 한 달</hp:t>' + hnote("연장은 한 번만 된다.", 2) + "<hp:t> 안에 고친다.</hp:t>")), [
        sentence("감사는 해마다 두 번 한다."), near("두 번", "상반기는 5월, 하반기는 10월에 한다.", 40), near("한 달", "연장은 한 번만 된다.", 40), sentence("감사 결과는 대표에게 보고한다."),
        before("상반기는 5월", "감사 자료 3호는"),
    ], "하반기 감사는 몇 월에 하나?", "하반기는 10월에 한다."),

    file("가입신청서.hwpx", "fields, boxes and choices of a form", hwpx(
        hp("공동구매 가입 신청서"),
        hp('<hp:t>단체명: </hp:t><hp:ctrl><hp:fieldBegin id="1" type="CLICK_HERE" name="단체" editable="1" dirty="1"><hp:parameters cnt="1" name="">'
           '<hp:stringParam name="Command">Clickhere:set:단체를 쓰세요</hp:stringParam></hp:parameters></hp:fieldBegin></hp:ctrl><hp:t>늘푸른협동조합</hp:t>'
           '<hp:ctrl><hp:fieldEnd beginIDRef="1"/></hp:ctrl>'),
        hp('<hp:t>배송 방법: </hp:t><hp:comboBox selectedValue="직접 수령" name="배송"><hp:listItem displayText="택배" value="택배"/><hp:listItem displayText="직접 수령" value="직접 수령"/></hp:comboBox>'),
        hp('<hp:checkBtn caption="소식지를 받는다" value="CHECKED" name="소식"/><hp:t> </hp:t>'),
        hp('<hp:t>연락처: </hp:t><hp:edit name="전화" maxLength="20"><hp:text>052-000-7788</hp:text></hp:edit>'), hp("가입비는 돌려주지 않는다.")), [
        sentence("단체명: 늘푸른협동조합"), absent("Clickhere"), near("배송 방법:", "직접 수령", 12), sentence("소식지를 받는다"), near("연락처:", "052-000-7788", 6), sentence("가입비는 돌려주지 않는다."),
    ], "공동구매에 가입한 단체명은?", "늘푸른협동조합"),

    file("주간보고.hwpx", "running head and foot once, a text box", hwpx(
        hp('<hp:ctrl><hp:header id="1" applyPageType="BOTH">' + hlist("별하상사 주간 보고") + '</hp:header></hp:ctrl><hp:ctrl><hp:footer id="2" applyPageType="BOTH">' + hlist("외부 반출 금지")
           + "</hp:footer></hp:ctrl><hp:t>이번 주에는 창고를 옮겼다.</hp:t>"), hp(hbox("다음 주 목표는 재고 조사이다.")), hp("출고 오류는 두 건이다.")), [
        once("별하상사 주간 보고"), once("외부 반출 금지"), sentence("다음 주 목표는 재고 조사이다."), sentence("이번 주에는 창고를 옮겼다."), sentence("출고 오류는 두 건이다."),
        absent("주간 보고이번"),
    ], "다음 주 목표는 무엇인가?", "다음 주 목표는 재고 조사이다."),

    file("행사계획.hwpx", "two sections, a table inside a cell", hwpx(
        hp("가을 행사 계획"), hp(htbl([["순서", "내용"], ["1부", "개회사"], ["2부", [hp("공연 순서는 다음과 같다."), hp(htbl([["팀", "곡 수"], ["소리샘", "3"], ["모래시계", "5"]]))]]])),
        more=[[hp("행사 뒤에는 의자를 접는다.")]]), [
        labelled("모래시계", "곡 수", 5), cell("1부", "내용", "개회사"), sentence("행사 뒤에는 의자를 접는다."), sentence("공연 순서는 다음과 같다."), same_width("소리샘"), before("개회사", "모래시계"),
    ], "모래시계 팀은 몇 곡을 하나?", "모래시계", "5"),

    file("Rollout.pptx", "groups and notes", slides(_grouped), [
        sentence("Load the test server"), sentence("Move to the live server"), sentence("Say that nothing is rolled out on Friday afternoons"), before("Load the test server", "The owner signs off"),
        before("Rollout order", "Load the test server"),
    ], "When is nothing rolled out?", "Say that nothing is rolled out on Friday afternoons"),

    file("응대지표.pptx", "joined labels and a chart", slides(_figures), [
        cell(("전화", "평균 대기"), "실적", "52초"), cell("채팅", "실적", "93%"), cell("10월", "채팅 문의", 168), cell("11월", "전화 문의", 344), same_width("응답률"),
        before("고객 응대 지표", "월별 문의"),
    ], "11월 전화 문의는 몇 건인가?", "11월", "344"),

    file("Kettle launch.pptx", "a hidden slide, a header of two rows", slides(_launch), [
        absent("Cancel the Leeds venue"), note("hidden", "숨"), sentence("Samples leave the plant on 4 June"), cell("Catering", "2025 Spent", 1600), cell("Photos", "Planned", 3100), same_width("Photos"),
    ], "When do samples of the kettle line leave the plant?", "Samples leave the plant on 4 June"),
]
