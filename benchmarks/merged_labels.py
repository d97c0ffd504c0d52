"""How much of a merged label should be repeated in its rows, and how much of a merged text in its columns?

    python benchmarks/merged_labels.py
    python benchmarks/merged_labels.py --across     # texts over three columns, with several `MOST_ACROSS`
    python benchmarks/merged_labels.py --forms      # forms of labels and values with texts over three columns, with copies and without

Tables with merged labels of several lengths are written with several limits (`MOST_DOWN` of `ragnb.files.grid`), indexed, and asked for one value each.
A question names the label and the row. It is answered if a passage of 300, 500 or 1,000 characters has the row, and the label in the row or above it.
"""
from __future__ import annotations

import random
import sys
import tempfile
from pathlib import Path

from ragnb import NgramEmbedding, Pipeline, update_index
from ragnb.files import grid

LIMITS = (0, 20, 60, 120, 10_000)     # Characters of a label that is repeated
BUDGETS = (300, 500, 1_000)
N_LABELS = 20                         # Of a table, each with six rows
ITEMS = ("숙박비", "교통비", "식비", "일비", "통신비", "준비금")
WORDS = ("본사", "지방", "해외", "현장", "연수", "교육", "점검", "감사", "구매", "정비", "운송", "설치", "검수", "홍보", "채용", "기획", "보안", "회계",
         "법무", "연구", "생산", "품질", "영업", "물류", "시설", "안전", "환경", "상담", "개발", "운영")

GOODS = ("빔프로젝터", "복합기", "정수기", "제습기", "전동스크린", "책상", "의자", "파쇄기", "공기청정기", "카메라", "노트북", "모니터", "냉장고", "선풍기", "난로", "서버", "화이트보드",
         "마이크", "스피커", "삼각대")


def label(number: int, size: int) -> str:
    "A label of about so many characters that begins with its own two words."
    rng = random.Random(number)
    text = f"{WORDS[number]} {WORDS[-1 - number]} 담당"
    while len(text) < size:
        text += f" {rng.choice(WORDS)} 업무를 함께 맡은 사람"
    return text[:max(size, 8)]


def table(size: int, remarks: bool) -> list[grid.Cell]:
    "A table in which each label spans six rows; with remarks, a text at the right spans them, and labels are short."
    cells = [grid.Cell(0, column, text) for column, text in enumerate(("대상", "항목", "금액", "근거"))]
    for number in range(N_LABELS):
        first = 1 + len(ITEMS) * number
        cells.append(grid.Cell(first, 0, label(number, 0 if remarks else size), rowspan=len(ITEMS)))
        if remarks:
            cells.append(grid.Cell(first, 3, label(number, size)[8:], rowspan=len(ITEMS)))
        for at, name in enumerate(ITEMS):
            values = (name, f"{1_000 * (7 * number + at + 3):,}원", f"여비 지침 {number + 1}-{at + 1}")
            cells += [grid.Cell(first + at, 1 + column, value) for column, value in enumerate(values[:2 if remarks else 3])]
    return cells


def answered(text: str, number: int, at: int, size: int) -> bool:
    "True if a text has the row, and its label in the row or in one above it."
    lines = text.splitlines()
    amount = f"| {1_000 * (7 * number + at + 3):,}원 |"
    place = next((n for n, line in enumerate(lines) if ITEMS[at] in line and amount in line), None)
    head = f"{WORDS[number]} {WORDS[-1 - number]} 담당"
    if place is None:
        return False
    while place >= 0 and not lines[place].startswith("| |") and not lines[place].startswith("|  |"):
        return head in lines[place]
    above = next((line for line in reversed(lines[:place]) if not line.startswith(("| |", "|  |"))), "")
    return head in above


def wide_table(size: int) -> list[grid.Cell]:
    "A table in which every second amount spans three columns, with a remark of about so many characters."
    cells = [grid.Cell(0, column, text) for column, text in enumerate(("대상", "항목", "평일", "주말", "공휴일"))]
    for number in range(N_LABELS):
        for at, name in enumerate(ITEMS):
            row = 1 + len(ITEMS) * number + at
            amount = 1_000 * (7 * number + at + 3)
            cells += [grid.Cell(row, 0, label(number, 0)), grid.Cell(row, 1, name)]
            if (number + at) % 2:
                text = f"{amount:,}원{label(number, size + 8)[8:]}"
                cells.append(grid.Cell(row, 2, text[:max(size, 8)], colspan=3))
            else:
                cells += [grid.Cell(row, 2 + column, f"{amount + 100 * column:,}원") for column in range(3)]
    return cells


def has_last(text: str, number: int, at: int) -> bool:
    "True if a text has the row with the amount of its last column."
    amount = 1_000 * (7 * number + at + 3) + (0 if (number + at) % 2 else 200)
    rows = [line.split(" | ") for line in text.splitlines() if label(number, 0) in line and f"| {ITEMS[at]} |" in line]
    return any(len(row) > 4 and row[4].startswith(f"{amount:,}원") for row in rows)


def across() -> None:
    "Print the share of answered questions for each limit, length and budget."
    usual = grid.MOST_ACROSS
    for size in (10, 40, 80, 160):
        for limit in (0, 60, 500):
            grid.MOST_ACROSS = limit
            with tempfile.TemporaryDirectory() as folder:
                docs = Path(folder, "docs")
                docs.mkdir()
                text = "# 여비 기준\n\n" + grid.to_markdown(grid.read_cells(wide_table(size)))
                (docs / "a.md").write_text(text, encoding="utf-8")
                index = update_index(docs, Path(folder, "index"), embed=NgramEmbedding(dims=128), show_progress=False)[0]
                shares = []
                for budget in BUDGETS:
                    pipeline = Pipeline.from_index(index, budget=budget)
                    asked = [(number, (5 * number + 2 + number % 2) % len(ITEMS)) for number in range(N_LABELS)]
                    found = [pipeline.ask(f"{label(n, 0)}의 공휴일 {ITEMS[at]}는 얼마인가요?") for n, at in asked]
                    right = [any(has_last(p.shown, n, at) for p in answer.passages) for (n, at), answer in zip(asked, found)]
                    shares.append(sum(right) / len(right))
            print(f"| {size} | {limit:,} | {len(text):,} | " + " | ".join(f"{share:.2f}" for share in shares) + " |", flush=True)
    grid.MOST_ACROSS = usual


def form(number: int, size: int) -> list[grid.Cell]:
    "A request to buy something: labels and values in four columns, with texts over three of them."
    reason = f"{GOODS[number]}의 사용 연수가 {number + 4}년을 넘음." + " 고장이 잦아 회의가 막히고 수리에 드는 돈이 늘어 새것으로 바꾸려고 함." * 5
    rows = (("문서번호", f"총무-2026-{number + 41:03}", "기안일", f"2026. {number % 12 + 1}. {number + 3}."),
            ("기안부서", "총무팀", "보존기한", f"{number % 5 + 3}년"), ("제목", f"{GOODS[number]} 교체 구매의 건"), ("구매사유", reason[:size]),
            ("구매금액", f"금 {number + 11}0만원정 (₩{number + 11}00,000, 부가세 포함)"), ("납품기한", f"2026. {number % 12 + 1}. {number + 7}.까지"),
            ("붙임", f"견적서 {number + 2}부. 끝."))
    return [grid.Cell(at, column, text, colspan=3 if column and len(row) == 2 else 1) for at, row in enumerate(rows) for column, text in enumerate(row)]


def golds(number: int) -> dict[str, tuple[str, ...]]:
    "Questions on a form, and the texts that answer each."
    amount = f"금 {number + 11}0만원정"
    return {"구매금액은 얼마인가요?": (amount,), "사용 연수는?": (f"사용 연수가 {number + 4}년",), "보존기한과 구매금액은?": (f"{number % 5 + 3}년", amount),
            "문서번호와 납품기한은?": (f"총무-2026-{number + 41:03}", f"2026. {number % 12 + 1}. {number + 7}.까지")}


def forms() -> None:
    "Print the share of answered questions for each length of a reason and budget, with copies and without."
    usual = grid._is_form
    for size in (20, 40, 80, 160):
        for name, is_form in (("copies", lambda rows: False), ("once", usual)):
            grid._is_form = is_form
            with tempfile.TemporaryDirectory() as folder:
                docs = Path(folder, "docs")
                docs.mkdir()
                for number in range(N_LABELS):
                    text = "품 의 서\n\n" + grid.to_markdown(grid.read_cells(form(number, size), is_sheet=False))
                    (docs / f"{number:02}.md").write_text(text, encoding="utf-8")
                index = update_index(docs, Path(folder, "index"), embed=NgramEmbedding(dims=128), show_progress=False)[0]
                shares = []
                for budget in BUDGETS:
                    pipeline = Pipeline.from_index(index, budget=budget)
                    right = []
                    for number in range(N_LABELS):
                        for question, gold in golds(number).items():
                            shown = "\n".join(p.shown for p in pipeline.ask(f"{GOODS[number]} 교체 구매의 {question}").passages)
                            right.append(all(part in shown for part in gold))
                    shares.append(sum(right) / len(right))
            print(f"| {size} | {name} | " + " | ".join(f"{share:.2f}" for share in shares) + " |", flush=True)
    grid._is_form = usual


def main() -> None:
    "Print the share of answered questions for each limit, length and budget."
    usual = grid.MOST_DOWN
    print("| label | repeated up to | characters of the file | " + " | ".join(map(str, BUDGETS)) + " |")
    print("|---|---|---|" + "---|" * len(BUDGETS))
    cases = [(size, remarks) for remarks in (False, True) for size in (40, 80, 160)]
    for size, remarks in cases:
        for limit in (60, 120, 10_000) if remarks else LIMITS:
            grid.MOST_DOWN = limit
            with tempfile.TemporaryDirectory() as folder:
                docs = Path(folder, "docs")
                docs.mkdir()
                text = "# 여비 기준\n\n" + grid.to_markdown(grid.read_cells(table(size, remarks)))
                (docs / "a.md").write_text(text, encoding="utf-8")
                index = update_index(docs, Path(folder, "index"), embed=NgramEmbedding(dims=128), show_progress=False)[0]
                shares = []
                for budget in BUDGETS:
                    pipeline = Pipeline.from_index(index, budget=budget)
                    asked = [(number, (5 * number + 2) % len(ITEMS)) for number in range(N_LABELS)]
                    found = [pipeline.ask(f"{WORDS[n]} {WORDS[-1 - n]} 담당의 {ITEMS[at]}는 얼마인가요?") for n, at in asked]
                    right = [any(answered(f"{p.prefix}\n{p.shown}", n, at, size) for p in answer.passages)
                             for (n, at), answer in zip(asked, found)]
                    shares.append(sum(right) / len(right))
            print(f"| {size}{' (remark)' if remarks else ''} | {limit:,} | {len(text):,} | " + " | ".join(f"{share:.2f}" for share in shares) + " |", flush=True)
    grid.MOST_DOWN = usual


if __name__ == "__main__":
    across() if "--across" in sys.argv else forms() if "--forms" in sys.argv else main()
