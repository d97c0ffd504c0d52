"""Should a small table inside a cell be written into its row, or after the table it was in?

    python benchmarks/inner_tables.py

Twenty devices, each with an inner table of parts: the same parts everywhere, other numbers. A question names a device and a part. It is answered if a passage of
300 or 500 characters has the number beside its part, with the device in the same row, or as the last device named above it. The second question asks also for the
place of the device, which is in another column of its row: the passages must show both. Each form is indexed by itself.
"""
from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from ragnb import NgramEmbedding, Pipeline, update_index
from ragnb.files import grid

BUDGETS = (300, 500)
DEVICES = ("현미경", "원심분리기", "항온수조", "건조기", "저울", "교반기", "냉동고", "배양기", "분광계", "진공펌프", "증류기", "적정기", "초음파세척기", "전기로", "유량계", "온도계",
           "습도계", "압력계", "발전기", "집진기")
PARTS = ("조명", "전원선", "덮개", "받침대")


def number(device: int, part: int) -> int:
    "The number of a part that belongs to a device."
    return 11 + 4 * device + part


def inner(device: int) -> grid.Grid:
    "The parts of a device; every device has two or three."
    parts = [at for at in range(len(PARTS)) if at != device % 4][:2 + device % 2]
    return grid.Grid(("부속명", "수량"), tuple((PARTS[at], f"{number(device, at)}개") for at in parts))


def in_row() -> str:
    "As ragnb reads it."
    cells = [grid.Cell(0, column, blocks=[grid.Paragraph(text)]) for column, text in enumerate(("품명", "부속", "설치 장소"))]
    for at, name in enumerate(DEVICES):
        parts = [[grid.Paragraph(name)], [inner(at)], [grid.Paragraph(f"{at % 5 + 1}층 {at + 101}호")]]
        cells += [grid.Cell(at + 1, column, blocks=blocks) for column, blocks in enumerate(parts)]
    return grid.to_markdown(grid.read_cells(cells))


def after(is_named: bool) -> str:
    "Every inner table after the table, with or without a line that names its row and column."
    rows = tuple((name, "", f"{at % 5 + 1}층 {at + 101}호") for at, name in enumerate(DEVICES))
    blocks: list[grid.Block] = [grid.Grid(("품명", "부속", "설치 장소"), rows)]
    for at, name in enumerate(DEVICES):
        blocks += [grid.Paragraph(f"{name} 부속")] if is_named else []
        blocks.append(inner(at))
    return grid.to_markdown(blocks)


def between() -> str:
    "Every inner table after its row: the table goes on with its header below it."
    blocks: list[grid.Block] = []
    for at, name in enumerate(DEVICES):
        blocks += [grid.Grid(("품명", "부속", "설치 장소"), ((name, "", f"{at % 5 + 1}층 {at + 101}호"),)), inner(at)]
    return grid.to_markdown(blocks)


def is_answered(text: str, device: int, part: int) -> bool:
    "True if a text has the part's number, and the device in the row or above it with no other one between."
    value = f"{number(device, part)}개"
    for found in (at for at in range(len(text)) if text.startswith(value, at)):
        above = text[:found]
        names = {name: above.rfind(name) for name in DEVICES}
        near = max(names, key=lambda name: names[name])
        if names[near] >= 0 and near == DEVICES[device] and PARTS[part] in above[names[near]:]:
            return True
    return False


def has_place(text: str, device: int) -> bool:
    "True if a row has a device and its place."
    return any(f"| {DEVICES[device]} |" in line and f"{device + 101}호" in line for line in text.splitlines())


def main() -> None:
    "Print the share of answered questions for each form and budget."
    forms: dict[str, Callable[[], str]] = {"in the row": in_row, "after its row": between, "after the table": lambda: after(False),
                                           "after the table, named": lambda: after(True)}
    asked = [(device, PARTS.index(label)) for device in range(len(DEVICES)) for label, _ in inner(device).rows]
    print(f"| inner table | characters | {' | '.join(f'{budget}, part | {budget}, part and place' for budget in BUDGETS)} |")
    print("|---|---|" + "---|---|" * len(BUDGETS))
    for name, form in forms.items():
        with tempfile.TemporaryDirectory() as folder:
            docs = Path(folder, "docs")
            docs.mkdir()
            text = f"# 장비 검수\n\n{form()}"
            (docs / "a.md").write_text(text, encoding="utf-8")
            index = update_index(docs, Path(folder, "index"), embed=NgramEmbedding(dims=128), show_progress=False)[0]
            shares = []
            for budget in BUDGETS:
                pipeline = Pipeline.from_index(index, budget=budget)
                for question in ("{}의 {}은 몇 개인가요?", "{}의 설치 장소와 {} 수량은?"):
                    answers = [pipeline.ask(question.format(DEVICES[device], PARTS[part])) for device, part in asked]
                    right = [any(is_answered(p.shown, *one) for p in answer.passages) for one, answer in zip(asked, answers)]
                    if "장소" in question:
                        right = [has and any(has_place(p.shown, one[0]) for p in answer.passages) for has, one, answer in zip(right, asked, answers)]
                    shares.append(sum(right) / len(right))
        print(f"| {name} | {len(text):,} | " + " | ".join(f"{share:.2f}" for share in shares) + " |", flush=True)


if __name__ == "__main__":
    main()
