"""Questions and answers."""

from __future__ import annotations

import pytest
from llama_index.core import Document
from statute_texts import check

from ragnb.chunking.structure import QANodeParser
from ragnb.documents.rulings import qa_pairs, qa_records


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


TOPICS = "{title}## 1. 연차\n\n{q} 이월되나요?\n\n{a} 아니오.\n\n### 예\n\n3월까지 쓴다.\n\n## 2. 병가\n\n{q} 유급인가요?\n\n{a} 네.\n"


@pytest.mark.parametrize("q, a", [("질의 :", "회시 :"), ("질의\n", "회시\n"), ("### 질의\n", "### 회시\n"), ("Q1", "A1"), ("문 1.", "답 1.")])
@pytest.mark.parametrize("title", ["# 휴가 문답\n\n", "휴가 문답\n\n", ""])
def test_headings_are_walls(q: str, a: str, title: str) -> None:
    text = TOPICS.format(title=title, q=q, a=a)
    one, two = qa_pairs(text)
    assert one.head.of(text) == "## 1. 연차" and two.head.of(text) == "## 2. 병가" and (one.topic, two.topic) == (0, 1)
    assert one.answer.of(text).endswith("3월까지 쓴다.") and "병가" not in one.answer.of(text)
    first, second = qa_records(text, "1")
    check(text, [first, second])
    assert second.span.of(text).startswith("## 2. 병가") and "연차" not in second.prefix and "이월" not in second.prefix
    assert second.title == ("휴가 문답" if title.startswith("#") else "2. 병가")
    nodes, _ = QANodeParser().parse(Document(text=text, id_="qa"))
    assert len(nodes) == 2
    assert "## 2. 병가" not in nodes[0].text and "이월" not in nodes[-1].metadata.get("prefix", "")
    assert nodes[-1].text.startswith("## 2. 병가")


def test_a_following_question_under_one_heading_keeps_the_first() -> None:
    text = "## 1. 연차\n질의 : 이월?\n회시 : 예.\n재질의 : 언제까지?\n회시 : 3월.\n## 2. 병가\n질의 : 유급?\n회시 : 예."
    pairs = qa_pairs(text)
    assert [p.topic for p in pairs] == [0, 0, 1]
    assert [("이월" in r.prefix) for r in qa_records(text, "1")] == [False, True, False]


@pytest.mark.parametrize("text", ["Q1 매출은 늘었다.\nA4 용지를 쓴다.", "Q1 실적\nQ2 실적\nA1 등급", "A1 등급을 받았다."])
def test_a_letter_with_a_number_alone_is_no_question(text: str) -> None:
    assert qa_pairs(text) == []
