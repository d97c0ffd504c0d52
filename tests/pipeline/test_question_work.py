"""A question may be as long as a pasted document: its work has a limit, counted in calls and not in seconds."""
from __future__ import annotations

import random
import sys
from collections.abc import Callable

import pytest
from llama_index.core.schema import Document

from ragnb.indexing.update import index_documents
from ragnb.pipeline.pipeline import Pipeline
from ragnb.retrieval.hybrid import check_question, LONGEST

LENGTH, MOST = 10_000, 1_500_000   # Characters of a question, and calls of functions: about half a second without counting them
DICE = random.Random(1)
RULES = "\n\n".join(f"## {n}.{n % 7} {of} {what}\n\n{of} {what}은 {n}일 전까지 신청한다. 기한이 지나면 {n},000원을 뺀다. 코드 E-{n} 참조."
                    for n, (of, what) in enumerate(((a, b) for a in ("연차", "휴가", "출장", "여비", "급여", "보안") for b in ("이월", "한도", "서류", "승인", "변경")), 1))


def drawn(letters: str, sizes: tuple[int, int], between: str = " ") -> str:
    """Words of random letters."""
    return between.join("".join(DICE.choices(letters, k=DICE.randint(*sizes))) for _ in range(LENGTH // sizes[0]))


HANGUL = "".join(map(chr, DICE.sample(range(0xAC00, 0xD7A4), 400)))
SHAPES = {"words": "가나다 " * LENGTH, "one word": "휴가" * LENGTH, "one long token": "a" * LENGTH, "digits": "1234567890" * LENGTH, "brackets": "([{<" * LENGTH,
          "english": "annual leave policy the " * LENGTH, "mixed": "연차 E-13 (3,000원) annual 2024-03-01 " * LENGTH,
          "signs": "C++ C# " * LENGTH, "pasted": RULES * 9, "drawn codes": drawn("ABCDE-0123456789", (3, 6)), "drawn signs": drawn("ab12-.", (9, 9), ""),
          "drawn syllables": drawn(HANGUL, (1, 4))}


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Pipeline:
    documents = [Document(id_=f"{n}.md", text=RULES, metadata={"title": f"규정 {n}"}) for n in range(3)]
    return Pipeline.from_index(index_documents(documents, tmp_path_factory.mktemp("work"), show_progress=False)[0], budget=500)


def calls(work: Callable[[], object]) -> int:
    """How often functions are called, those in C too."""
    n = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal n
        n += event.endswith("call")
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return n


@pytest.mark.parametrize("shape", SHAPES)
def test_a_long_question_has_a_limit(pipeline: Pipeline, shape: str) -> None:
    question = SHAPES[shape][:LENGTH]
    assert calls(lambda: pipeline.ask(question)) <= MOST


def test_the_first_and_the_last_of_a_long_question_are_searched(pipeline: Pipeline) -> None:
    """And a note says so."""
    read = check_question("출장 " + "바 " * LENGTH + "여비")
    assert read.startswith("출장") and read.endswith("여비") and len(read) <= LONGEST and check_question(read) == read
    assert "has 20,005 characters" in pipeline.ask("출장 " + "바 " * LENGTH + "여비").note
    assert "characters" not in pipeline.ask("출장 여비의 한도").note
