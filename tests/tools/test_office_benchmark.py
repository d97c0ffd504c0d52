"""The benchmark of office files: its checks accept a right reading and refuse a wrong one; its files are made the same every time."""
from __future__ import annotations

import importlib
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

OFFICE = Path(__file__).resolve().parents[2] / "benchmarks" / "office"


@pytest.fixture(scope="module")
def office() -> dict[str, ModuleType]:
    "The modules of the benchmark."
    names = ("spec", "build", "make", "open_sheets", "open_papers", "open_pdf", "held_sheets", "held_papers", "held_pdf", "run", "fixtures")
    before = {name: sys.modules.pop(name) for name in names if name in sys.modules}
    sys.path.insert(0, str(OFFICE))
    try:
        yield {name: importlib.import_module(name) for name in names}
    finally:
        sys.path.remove(str(OFFICE))
        for name in names:
            sys.modules.pop(name, None)
        sys.modules.update(before)


def test_halves(office: dict[str, ModuleType]) -> None:
    kinds = {"pdf": 13, "xlsx": 12, "docx": 11, "html": 9, "hwpx": 5, "csv": 3, "pptx": 3, "md": 2}
    names: list[str] = []
    for half in office["make"].HALVES:
        files = office["make"].files_of(half)
        assert Counter(one.name.rpartition(".")[2] for one in files) == kinds
        assert all(one.checks and one.question and one.gold for one in files)
        names += [one.name for one in files]
    assert len({*names}) == 116


def test_files_are_the_same_every_time(office: dict[str, ModuleType], tmp_path: Path) -> None:
    for place in ("a", "b"):
        office["make"].write(tmp_path / place, ("open",))
    first = {p.name: p.read_bytes() for p in (tmp_path / "a").rglob("*.*")}
    assert len(first) == 58
    assert first == {p.name: p.read_bytes() for p in (tmp_path / "b").rglob("*.*")}


def test_half_of_the_pages_are_cp949(office: dict[str, ModuleType]) -> None:
    pages = [one.make() for half in office["make"].HALVES for one in office["make"].files_of(half) if one.name.endswith(".html")]

    def is_utf8(page: bytes) -> bool:
        try:
            return bool(page.decode("utf-8"))
        except UnicodeDecodeError:
            return False
    assert Counter(map(is_utf8, pages)) == {True: 9, False: 9}


def test_kept_files_are_small() -> None:
    sizes = [p.stat().st_size for p in (OFFICE / "pdf").rglob("*.pdf")]
    assert len(sizes) == 26
    assert max(sizes) < 60_000 and sum(sizes) < 2_000_000


RIGHT = {
    "지점실적.xlsx": """# 실적\n\n2025년 상반기 지점별 판매 실적

| 지점 | 매출 (백만원) | 방문객 (명) | 재구매율 (%) |
|---|---|---|---|
| 목포 | 1,240 | 8,312 | 31.5 |
| 군산 | 987 | 6,120 | 28 |
| 여수 | 1,555 | 9,044 | 35.2 |
| 합계 | 3,782 | 23,476 |  |""",
    "여비기준.docx": """# 여비 기준

| 구분 | 직위 | 숙박비 수도권 | 숙박비 그 밖 | 식비 |
|---|---|---|---|---|
| 국내 | 부서장 | 110,000 | 85,000 | 32,000 |
| 국내 | 직원 | 90,000 | 70,000 | 28,000 |
| 국외 | 모두 | 실비 | 실비 | 60,000 |

숙박비는 영수증을 낸 날부터 이레 안에 준다.""",
    "감사규정.hwpx": "감사 규정\n\n감사는 해마다 두 번[^1] 한다.\n\n[^1]: 상반기는 5월, 하반기는 10월에 한다.\n\n감사 결과는 대표에게 보고한다.\n\n" + "\n\n".join(
        f"감사 자료 {n}호는 원본으로 낸다." for n in range(1, 7)) + "\n\n지적 사항은 한 달[^2] 안에 고친다.\n\n[^2]: 연장은 한 번만 된다.",
    "소식지.pdf": "# 텃밭 소식\n\n올해 텃밭은 스물두 집이 함께 짓는다. 물은 아침에 주고 한낮에는 주지 않는다. 거름은 마을 창고에서 받아 가면 된다.\n\n"
                "씨앗 나눔은 사월 첫째 토요일에 연다. 남는 씨앗을 봉투에 담아 오면 다른 씨앗과 바꾸어 준다. 모종은 따로 판다.",
    "plumber invoice.pdf": """# INVOICE\n\nInvoice no.: PL-2207\nDate: 14 August 2025\nCustomer: Marrow Lane School\nDue date: 28 August 2025

| Work | Hours | Rate | Amount |
|---|---|---|---|
| Replace valve | 2.5 | 48.00 | 120.00 |
| Clear drain | 1 | 48.00 | 48.00 |
| Fittings |  |  | 31.40 |
|  |  | Total | 199.40 |

Please pay within fourteen days of the date of this invoice.""",
    "수영장수질.pdf": "# 수영장 수질 관리\n\n잔류 염소는 물 1m³마다 하루 세 번 잰다.\n\n대장균군은 10² 이하로 하고 CO₂ 농도도 함께 적는다[^1].\n\n[^1]: 기록은 두 해 동안 둔다.",
    "Kettle launch.pptx": """# Launch of the kettle line\n\n- Samples leave the plant on 4 June\n- Press event in Leeds\n\n# Budget

| Item | 2025 Planned | 2025 Spent |
|---|---|---|
| Photos | 3100 | 2870 |
| Catering | 1450 | 1600 |""",
    "자원봉사신청.html": "# 자원봉사 신청\n\n이름: 추하람\n\n희망 지역: 강릉, **속초**, 동해\n\n하고 싶은 말: 주말에만 할 수 있습니다\n\n봉사는 하루 네 시간까지 인정한다.",
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_reading_passes_every_check(office: dict[str, ModuleType], name: str) -> None:
    one = {f.name: f for f in office["make"].files_of("open")}[name]
    results = office["run"].judged(one, {"text": RIGHT[name], "notes": ["1 hidden slide was left out"]})
    assert [check for check, right in results if not right] == []
    assert len(results) == len(one.checks)
    assert office["spec"].answers(one.gold, RIGHT[name])


def test_a_refused_file_fails_every_check(office: dict[str, ModuleType]) -> None:
    one = office["make"].files_of("open")[4]
    assert not any(right for _, right in office["run"].judged(one, {"error": "damaged"}))


TABLE = "| 구분 | 직위 | 숙박비 | 식비 |\n|---|---|---|---|\n| 국내 | 직원 | 90,000 | 28,000 |\n"


@pytest.mark.parametrize(("text", "right"), [
    (TABLE, True),
    (TABLE.replace("| 국내 | 직원 ", "| 직원 "), False),                        # a cell is missing, the others move left
    (TABLE.replace("90,000 | 28,000", "28,000 | 90,000"), False),
    (TABLE.replace("| 구분 | 직위 | 숙박비 | 식비 |", "| 출장 여비 |  |  |  |"), False),  # a title stands where the header belongs
    (TABLE.replace("28,000", "28000"), True),
    (TABLE.replace("28,000", "28,000 원"), False),
    ("구분\t직위\t숙박비\t식비\n국내\t직원\t90,000\t28,000", True),
    ("구분   직위   숙박비   식비\n국내   직원   90,000   28,000", True),
    ("구분 직위 숙박비 식비\n국내 직원 90,000 28,000", False),                   # nothing sets the cells apart
    ("<table><tr><th>구분</th><th>직위</th><th>숙박비</th><th>식비</th></tr><tr><td>국내</td><td>직원</td><td>90,000</td><td>28,000</td></tr></table>", True),
])
def test_cell(office: dict[str, ModuleType], text: str, right: bool) -> None:
    spec = office["spec"]
    assert spec.holds(spec.cell(("국내", "직원"), "식비", "28,000"), text) is right


def test_cell_of_an_html_table_with_spans(office: dict[str, ModuleType]) -> None:
    spec, build = office["spec"], office["build"]
    text = build.html_table([["시설", "요금", ">"], ["^", "낮", "밤"], ["강당", "3", "5"], ["^", "4", "6"]], head=2)
    assert spec.holds(spec.cell(("강당", "4"), "요금 밤", 6), text)
    assert not spec.holds(spec.cell(("강당", "4"), "요금 밤", 4), text)


@pytest.mark.parametrize(("check", "text", "right"), [
    (("sentence", "보증금은 두 달치이다."), "**보증금**은\n두 달치이다.", True),
    (("sentence", "보증금은 두 달치이다."), "보증\n금은 두 달치이다.", False),
    (("sentence", "열쇠는 담당자만 지닌다."), "열쇠는 담당자[^1]만 지닌다.", True),
    (("sentence", "열쇠는 담당자만 지닌다."), "열쇠는 담당자1만 지닌다.", False),
    (("absent", "초안"), "최종본", True),
    (("absent", "초안"), "", False),                                # an empty reading has nothing right
    (("absent", "50까지1"), "50까지[1](#n1)", True),
    (("absent", "10x2"), "10x<sup>2</sup>", True),
    (("once", "대외비"), "대외비\n본문\n대외비", False),
    (("before", "가", "나"), "나 가", False),
    (("before", "가", "나"), "가", False),
    (("near", "신청인", "하루", 3), "신청인: 하루", True),
    (("near", "신청인", "하루", 3), "신청인 목적 번호 하루", False),
    (("same_width",), TABLE.replace("| 28,000 ", ""), False),
    (("same_width", "직원"), TABLE, True),
    (("same_width", "과장"), TABLE, False),
])
def test_check(office: dict[str, ModuleType], check: tuple[object, ...], text: str, right: bool) -> None:
    spec = office["spec"]
    assert spec.holds(getattr(spec, str(check[0]))(*check[1:]), text) is right


def test_a_note_is_asked_only_of_readers_that_report(office: dict[str, ModuleType]) -> None:
    spec = office["spec"]
    assert spec.holds(spec.note("hidden", "숨"), "text", ["two hidden rows were left out"])
    assert not spec.holds(spec.note("hidden", "숨"), "text", [])
    assert spec.holds(spec.note("hidden", "숨"), "text", None) is None


def test_gold_of_several_parts_stands_in_one_line(office: dict[str, ModuleType]) -> None:
    answers = office["spec"].answers
    assert answers(("직원", "28000"), TABLE)
    assert not answers(("직원", "28000"), TABLE.replace("| 28,000", "|\n| 28,000"))
    assert not answers(("직원", "2800"), TABLE)


def test_lost_words(office: dict[str, ModuleType]) -> None:
    lost = office["fixtures"].lost_words
    assert lost("보증금 두 달치 minutes", "보증\n금, 두 달치, min-\nutes") == set()
    assert lost("| 서울부산 | 31 |", "| 서울 | 부산 |") == {"31"}


@pytest.mark.parametrize(("after", "right"), [
    ({"a.docx": {"text": "하나 둘째 셋째 넷째 다섯 여섯"}}, True),
    ({"a.docx": {"text": "여섯 넷째 다섯"}}, True),                # three of six words: as many as a kind of file may lose in any case
    ({"a.docx": {"text": "여섯"}}, False),
    ({"a.docx": {"error": "damaged"}}, False),
])
def test_fixtures_compared(office: dict[str, ModuleType], capsys: pytest.CaptureFixture[str], after: dict[str, dict[str, str]], right: bool) -> None:
    before = {"a.docx": {"text": "하나 둘째 셋째 넷째 다섯 여섯"}}
    assert office["fixtures"].compare(before, after, False) is right
    assert ("1 not read any more" in capsys.readouterr().out) is ("error" in after["a.docx"])


@pytest.mark.parametrize(("after", "right"), [
    ({"a.html": {"text": "하나 둘째\n셋째 넷째 다섯 여섯"}}, True),
    ({"a.html": {"text": "하나 | 둘째 | 다섯"}}, True),
    ({"a.html": {"text": "하나 둘째"}}, False),
    ({"a.html": {"error": "damaged"}}, False),
    ({}, False),
])
def test_gate(office: dict[str, ModuleType], after: dict[str, dict[str, str]], right: bool) -> None:
    fixtures = office["fixtures"]
    stored = {"a.html": sorted(fixtures.hashes("하나둘째 셋째 넷째 다섯 여섯"))}
    assert fixtures.pass_gate(stored, after) is right
    assert not fixtures.pass_gate({}, after)
