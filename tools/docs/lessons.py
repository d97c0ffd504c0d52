"""The road of the lessons: their order, minutes and questions are in one list, `nbs/lessons/lessons.json`."""
from __future__ import annotations

import json
import posixpath
from dataclasses import dataclass
from pathlib import Path

FOLDER = "lessons"


@dataclass(frozen=True)
class Lesson:
    "A lesson, as the list has it."
    notebook: str       # Below the folder of notebooks: `lessons/01_spans.ipynb`
    question: str
    korean: str         # The question in Korean
    minutes: int

    @property
    def page(self) -> str:
        "Its page, seen from the other lessons."
        return posixpath.basename(self.notebook).removesuffix(".ipynb") + ".md"


def read(
    notebooks: Path,       # The folder of notebooks
) -> list[Lesson]:         # In the order of learning; [] without a list
    "Read the list of lessons."
    file = notebooks / FOLDER / "lessons.json"
    listed = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else []
    return [Lesson(one["notebook"], one["question"], one["korean"], one["minutes"]) for one in listed]


def steps(
    lessons: list[Lesson],
    notebook: str,              # The notebook of a page
) -> tuple[str, str]:           # Markdown for the top and for the end of the page; '' for another notebook
    "Tell where on the road a lesson is, and lead to the next one."
    places = [lesson.notebook for lesson in lessons]
    if notebook not in places:
        return "", ""
    at = places.index(notebook)
    here = f"[Lesson {at + 1} of {len(lessons)}](index.md) · about {lessons[at].minutes} minutes"
    if at + 1 == len(lessons):
        return here, "**Done.** Next: [your own folder](../tutorials/01_your_folder.md) · 다음: 내 폴더로 해 보기"
    after = lessons[at + 1]
    return here, (f"**Next: [Lesson {at + 2}. {after.question}]({after.page})** · about {after.minutes} minutes · "
                  f"다음: {after.korean}")


def road_page(lessons: list[Lesson]) -> str:
    "The page of the lessons: each question with its minutes, in both languages."
    minutes = sum(lesson.minutes for lesson in lessons)
    rows = [f"| {n} | [{one.question}]({one.page}) | {one.korean} | {one.minutes} |"
            for n, one in enumerate(lessons, 1)]
    return "\n\n".join([
        "# Lessons",
        f"> {len(lessons)} lessons, about {minutes} minutes in all: from a span of text to a RAG of 100 lines.",
        f"한국어 요약: 수업 {len(lessons)}개, 모두 {minutes}분쯤 걸립니다. 글의 구간에서 시작해 100줄짜리 RAG로 끝납니다. "
        "수업마다 풀리지 않는 질문으로 시작해 그 답으로 끝납니다.",
        f"Begin with [lesson 1]({lessons[0].page}). Each lesson opens with a question that fails, and closes with it "
        "answered.",
        "\n".join(["| | question | 질문 | minutes |", "|---|---|---|---|", *rows]),
        f"Open one in JupyterLab: `make lab NB={lessons[0].notebook}`."]) + "\n"
