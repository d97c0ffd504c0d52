"""Questions and answers."""

from __future__ import annotations

import pytest
from statute_texts import check

from ragnb.documents.qa import qa_pairs, qa_records


@pytest.mark.parametrize(
    "question, answer",
    [
        ("질의 : 되나요?", "회시 : 됩니다."),
        ("[질의]\n되나요?", "[회시]\n됩니다."),
        ("【질의】 되나요?", "【회시】 됩니다."),
        ("질의1 : 되나요?", "회시1 : 됩니다."),
        ("질의： 되나요?", "회시： 됩니다."),
        ("질의\n되나요?", "회시\n됩니다."),
        ("## 질의\n되나요?", "## 회시\n됩니다."),
        ("1. 질의요지\n되나요?", "2. 회답\n됩니다."),
        ("<질의 1>\n되나요?", "<회시 1>\n됩니다."),
        ("**질의**: 되나요?", "**회시**: 됩니다."),
        ("질의①: 되나요?", "회시①: 됩니다."),
        ("○ 질의내용 : 되나요?", "○ 회시내용 : 됩니다."),
        ("질의(1) : 되나요?", "회시(1) : 됩니다."),
        ("문 : 되나요?", "답 : 됩니다."),
        ("Q1. 되나요?", "A1. 됩니다."),
        ("재질의 : 되나요?", "재회시 : 됩니다."),
    ],
)
def test_forms_of_questions(question: str, answer: str) -> None:
    for gap in ("\n", "\n\n"):
        text = f"연차 정산{gap}{question}{gap}{answer}"
        (pair,) = qa_pairs(text)
        assert pair.question.of(text) == question and pair.answer.of(text) == answer


@pytest.mark.parametrize(
    "text",
    [
        "종전 질의회시 : 455",
        "이는 종전\n질의회시 : 455와 같다.",
        "귀 질의에 대한 회시는 다음과 같다.",
        "질의만 : 있다.",
        "회시 : 답뿐이다.",
        "[질의]의 내용과 【회시】의 내용",
        "",
    ],
)
def test_not_questions(text: str) -> None:
    assert qa_pairs(text) == []


def test_questions_stay_with_their_answers() -> None:
    text = "질의1 : 가?\n질의2 : 나?\n회시1 : 가.\n회시2 : 나.\n재질의 : 다?\n회시 : 다.\n질의 : 답이 없다?"
    pairs = qa_pairs(text)
    assert [p.answer.of(text) for p in pairs] == ["회시1 : 가.\n회시2 : 나.", "회시 : 다."]
    check(text, qa_records(text, "1"))
    assert qa_records(text, "1")[1].prefix.endswith("질의1 : 가? 질의2 : 나?")
