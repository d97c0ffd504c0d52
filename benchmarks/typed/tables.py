"""Write the long tables and the yearly editions of the corpus: the same bytes every time.

    python benchmarks/typed/tables.py
"""
from __future__ import annotations

import csv
import random
from pathlib import Path

CORPUS = Path(__file__).resolve().parent / "corpus"
PARTS = ("온도 센서", "압력 센서", "구동 모터", "이송 벨트", "접착제 펌프", "덮개 스위치", "통신 모듈", "전원 장치", "냉각 팬", "라벨 인쇄부")
FAULTS = ("단선", "과열", "응답 없음", "출력 낮음", "위치 어긋남", "과전류", "접촉 불량", "교체 시기 지남")
CURES = ("연결선을 다시 꽂는다", "전원을 껐다 켠다", "부품을 바꾼다", "먼지를 닦는다", "기준점을 다시 잡는다", "서비스팀을 부른다", "조임을 확인한다")
SITES = ("평택", "안성", "수원", "천안", "아산", "청주", "김해", "구미", "군산", "원주")
ITEMS = ("베어링", "오링", "벨트", "노즐", "필터", "호스", "퓨즈", "릴레이", "감속기", "실린더", "커플링", "스프링", "볼트 묶음", "감지기", "히터")
GOODS = ("bracket", "hinge", "clamp", "roller", "gasket", "valve", "coupler", "spacer", "bushing", "latch")
METALS = ("steel", "brass", "nylon", "zinc", "aluminium")


def write_csv(name: str, rows: list[list[str]], before: tuple[str, ...] = ()) -> None:
    """Write a table; lines of `before` come above the header."""
    path = CORPUS / name
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        for line in before:
            file.write(line + "\n")
        csv.writer(file, lineterminator="\n").writerows(rows)


def fault_codes(rng: random.Random) -> None:
    """Write 199 codes, E1 to E199: each has the ones that begin like it beside it."""
    rows = [["코드", "부위", "증상", "조치"]]
    for n in range(1, 200):
        rows.append([f"E{n}", rng.choice(PARTS), rng.choice(FAULTS), rng.choice(CURES)])
    write_csv("제품/오류코드.csv", rows)


def part_prices(rng: random.Random) -> None:
    """Write 180 parts with codes and prices."""
    rows = [["품번", "품명", "규격", "단가(원)", "납기(일)"]]
    for n in range(180):
        size = f"{rng.randrange(4, 60)}×{rng.randrange(10, 240)}"
        code = f"{rng.choice('ABDKMRT')}{rng.choice('NPQX')}-{1003 + 7 * n}"
        rows.append([code, ITEMS[n % len(ITEMS)], size, f"{rng.randrange(12, 4_000) * 100:,}", str(rng.randrange(2, 45))])
    write_csv("제품/부품단가.csv", rows)


def machine_faults(rng: random.Random) -> None:
    """Write 120 machines under a header of two rows, as a Markdown table."""
    lines = ["# 2024년 상반기 호기별 생산 실적", "", "| 호기 | 1분기 | 1분기 | 2분기 | 2분기 |", "|---|---|---|---|---|", "| | 생산(대) | 불량(건) | 생산(대) | 불량(건) |"]
    for n in range(1, 121):
        made = [rng.randrange(2_000, 9_999) for _ in range(2)]
        bad = [rng.randrange(3, 97) for _ in range(2)]
        lines.append(f"| {n}호기 | {made[0]} | {bad[0]} | {made[1]} | {bad[1]} |")
    (CORPUS / "제품/호기별실적.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def delivery_fees(rng: random.Random) -> None:
    """Write 150 places under a title row."""
    rows = [["지역번호", "지역", "기본요금", "무거운 짐", "걸리는 날"]]
    for n in range(150):
        fee = rng.randrange(28, 95) * 100
        rows.append([f"Z{n + 101}", f"{SITES[n % 10]} {n // 10 + 1}구역", f"{fee:,}원", f"{fee + rng.randrange(5, 60) * 100:,}원", f"{rng.randrange(1, 6)}일"])
    write_csv("총무/배송요금표.csv", rows, ("2024년 지역별 배송 요금표,,,,", "(단위: 원, 부가세 포함),,,,"))


def english_prices(rng: random.Random) -> None:
    """Write 140 goods with prices in dollars."""
    rows = [["SKU", "Item", "Material", "Unit price (USD)", "Minimum order"]]
    for n in range(140):
        metal = METALS[n % 5]
        rows.append([f"{metal[:2].upper()}-{2001 + 3 * n}", f"{GOODS[n // 14]} no. {n % 14 + 1}", metal, f"{rng.randrange(45, 9_900) / 100:.2f}", str(rng.choice((10, 20, 25, 40, 50, 80, 100)))])
    write_csv("en/price_list.csv", rows)


def staff(rng: random.Random) -> None:
    """Write 96 people: many share a family name or a given name."""
    family, given = "표 노 도 마 진 추 경 배 윤 서 방 옥".split(), "가람 도현 예린 지훈 은채 하늘 온유 이안".split()
    teams = ("인사팀", "재무팀", "구매팀", "생산1팀", "생산2팀", "품질보증팀", "정보보호팀", "물류팀")
    duties = ("급여", "채용", "자산", "자재", "설비 보전", "검사", "서버", "배차", "교육", "계약", "재고", "금형")
    rows = [["이름", "부서", "맡은 일", "내선"]]
    for n, (first, last) in enumerate((f, g) for f in family for g in given):
        rows.append([first + last, rng.choice(teams), rng.choice(duties), str(2_011 + 9 * n)])
    write_csv("총무/직원연락처.csv", rows)


TRAVEL = """---
title: 출장 여비 규정
tags: [회계, 출장]
개정: {year}
시행일: {year}-01-01
---
# 출장 여비 규정 ({year}년 개정)

## 제1조 (목적)
이 규정은 국내와 국외 출장에 드는 여비의 지급 기준을 정한다.

## 제2조 (숙박비)
국내 숙박비는 서울 하루 {seoul:,}원, 그 밖의 지역 하루 {other:,}원까지 실비로 지급한다.

## 제3조 (일비)
국내 출장의 일비는 하루 {daily:,}원으로 한다. 출장 거리가 왕복 {near}km 미만이면 일비를 지급하지 않는다.

## 제4조 (교통비)
철도는 일반실 운임을 실비로 지급한다. 임원은 특실을 이용할 수 있다.

## 제5조 (국외 출장)
국외 일비는 하루 미화 {abroad}달러로 한다. 비행 시간이 {hours}시간을 초과하면 비즈니스석을 이용할 수 있다.

## 제6조 (정산)
출장자는 돌아온 날부터 {days}일 안에 영수증을 붙여 정산한다.

## 부칙
이 규정은 {year}년 1월 1일부터 시행한다.
"""

POINTS = """---
title: 복지포인트 안내
tags: [인사, 복지]
개정: {year}
시행일: {year}-02-01
---
# {year}년 복지포인트 안내

## 지급
{year}년 복지포인트는 한 사람에 {points:,}점이며 1점은 1원입니다. {month}월 첫 영업일에 넣어 드립니다.

## 쓸 수 있는 곳
제휴 쇼핑몰, 병원, 서점, 여행사에서 씁니다. {extra}

## 쓸 수 없는 곳
주류, 담배, 상품권에는 쓸 수 없습니다.

## 유효 기간
남은 포인트는 {year}년 12월 {last}일에 사라지고 다음 해로 넘어가지 않습니다.
"""


def editions() -> None:
    """Write five editions of one rule and three of one notice: few numbers differ."""
    values = ((2020, 70_000, 50_000, 15_000, 60, 50, 10, 14), (2021, 75_000, 55_000, 15_000, 60, 55, 10, 14),
              (2022, 80_000, 60_000, 20_000, 80, 60, 9, 10), (2023, 90_000, 65_000, 25_000, 80, 70, 8, 10), (2024, 110_000, 75_000, 30_000, 100, 85, 7, 7))
    keys = ("year", "seoul", "other", "daily", "near", "abroad", "hours", "days")
    for row in values:
        (CORPUS / f"회계/여비규정_{row[0]}.md").write_text(TRAVEL.format(**dict(zip(keys, row))), encoding="utf-8")
    for year, points, month, last, extra in ((2022, 800_000, 3, 20, "동네 체육관에서도 쓸 수 있습니다."), (2023, 1_000_000, 2, 15, "안경점에서도 쓸 수 있습니다."),
                                            (2024, 1_250_000, 2, 10, "반려동물 병원에서도 쓸 수 있습니다.")):
        text = POINTS.format(year=year, points=points, month=month, last=last, extra=extra)
        (CORPUS / f"인사/복지포인트_{year}.md").write_text(text, encoding="utf-8")


def main() -> None:
    rng = random.Random(20_241)
    fault_codes(rng)
    part_prices(rng)
    machine_faults(rng)
    delivery_fees(rng)
    english_prices(rng)
    staff(rng)
    editions()


if __name__ == "__main__":
    main()
