"""Twelve lessons in one list, and a RAG built from what they taught; every other notebook says what it is."""
from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest

NBS = Path(__file__).resolve().parent.parent / "nbs"
LESSONS = json.loads((NBS / "lessons/lessons.json").read_text(encoding="utf-8"))
MACHINERY = ("**Machinery:** the code of one part, with its reasons and tests. New here? "
             "Begin with the [lessons](../lessons/01_spans.ipynb).")


def sources(notebook: str, kind: str) -> list[str]:
    """The cells of a kind."""
    cells = json.loads((NBS / notebook).read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == kind]


def definitions(source: str) -> list[str]:
    """The functions and classes of a text of Python, as they are written."""
    body = ast.parse(re.sub(r"^%.*$", "", source, flags=re.M)).body
    return [ast.get_source_segment(source, node) for node in body if isinstance(node, (ast.FunctionDef, ast.ClassDef))]


def test_the_list_is_the_folder_in_its_order():
    assert [lesson["notebook"] for lesson in LESSONS] == sorted(p.relative_to(NBS).as_posix() for p in (NBS / "lessons").glob("*.ipynb"))
    assert len(LESSONS) == 12 and all({*lesson} == {"notebook", "question", "korean", "minutes", "rooms"} for lesson in LESSONS)
    assert all((NBS / room).is_dir() for lesson in LESSONS for room in lesson["rooms"])
    assert all(1 <= lesson["minutes"] <= 15 and re.search("[가-힣]", lesson["korean"]) for lesson in LESSONS)


@pytest.mark.parametrize("number, lesson", enumerate(LESSONS, 1), ids=[lesson["notebook"] for lesson in LESSONS])
def test_a_lesson_opens_with_a_question_that_fails_and_closes_with_it_answered(number, lesson):
    prose, code = sources(lesson["notebook"], "markdown"), sources(lesson["notebook"], "code")
    assert len(prose) + len(code) <= 30 and max(len(cell.splitlines()) for cell in code) <= 40
    assert prose[0].startswith(f"# Lesson {number}. {lesson['question']}\n\n> ") and "한국어 요약" in prose[0]
    headings = re.findall(r"^## (.+)$", "\n".join(prose), re.M)
    assert headings[0] == "A question that fails" and headings[-1] == "Answered"
    opening, closing = (re.split(r"^## .+$", "\n".join(prose), flags=re.M)[part] for part in (1, -1))
    asked = [*re.findall(r'"([^"]+)"', opening), *(question.strip() for question in re.findall(r'[^".!?\n]+\?', opening))]
    assert [question for question in asked if question in closing]
    assert re.search(r"^ *assert ", code[-1], re.M) and sum(bool(re.search(r"^ *assert ", cell, re.M)) for cell in code) >= 3


def test_the_rag_of_100_lines_is_what_the_lessons_built():
    text = (NBS / "lessons/rag.py").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith(("import ", "from ", '"""'))]
    assert len(lines) <= 100 and max(map(len, lines)) <= 120
    taught = {lesson["notebook"]: [d for cell in sources(lesson["notebook"], "code") for d in definitions(cell)] for lesson in LESSONS[:-1]}
    pieces = definitions(text)
    *functions, rag = pieces
    assert rag.startswith("class Rag") and not [p for p in functions if not any(p in built for built in taught.values())]
    assert not [notebook for notebook, built in taught.items() if not {*functions} & {*built} and "03_parents" not in notebook]


def numbers(text: str) -> set[str]:
    """The numbers of two digits or more, however their thousands are written."""
    return {number for found in re.findall(r"(?<![\w.])\d[\d,_]*(?:\.\d+)?", text) if len(number := re.sub("[,_]", "", found)) > 1}


@pytest.mark.parametrize("lesson", [lesson["notebook"] for lesson in LESSONS])
def test_a_lesson_shows_the_numbers_of_its_prose(lesson):
    """`ngram` had 256 numbers in lesson 5, and 1,024 in the package: its cell showed no number."""
    cells = json.loads((NBS / lesson).read_text(encoding="utf-8"))["cells"]
    shown = numbers(json.dumps([(cell["source"], cell["outputs"]) for cell in cells if cell["cell_type"] == "code"], ensure_ascii=False).replace("\\n", "\n"))
    told = re.sub(r"\]\([^)]*\)|[Ll]esson \d+|\b(?:19|20)\d\d\)|\b95 %", "", "\n".join(sources(lesson, "markdown")))     # links, lessons, years of papers, intervals
    assert numbers(told) <= shown, sorted(numbers(told) - shown)


def test_every_notebook_is_a_lesson_a_tutorial_a_study_or_says_that_it_is_machinery():
    wrong = []
    for path in NBS.rglob("*.ipynb"):
        name = path.relative_to(NBS).as_posix()
        folder = name.rpartition("/")[0]
        if folder and not folder.startswith((".", "_")) and ".ipynb_checkpoints" not in name and folder not in ("lessons", "tutorials", "studies"):
            first = sources(name, "markdown")[0]
            wrong += [] if re.match(r"# .+\n+> .+(?:\n.+)*\n\n" + re.escape(MACHINERY), first) else [name]
    assert not wrong, f"begin below the title and the gain with: {MACHINERY}"
