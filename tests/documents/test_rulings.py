"""Interpretations, rulings, questions and answers."""
from __future__ import annotations

import json

import pytest
from conftest import shared_data
from llama_index.core import Document
from statute_texts import check

from ragnb.chunking.structure import QANodeParser
from ragnb.documents.kinds import detect_kind
from ragnb.documents.rulings import interpretation_records, qa_pairs, qa_records, ruling_records
from ragnb.documents.span import Span


def test_reason_needs_three_hundred_characters() -> None:
    for n, expected in ((299, 1), (300, 2)):
        text = f"# 제목\n\n## 질의요지\n되나요?\n\n## 회답\n됩니다.\n\n## 이유\n{'가' * n}"
        assert len(interpretation_records(text, "7")) == expected
    odd = f"질의요지:\n되나요?\n\n이유:\n{'가' * 400}\n\n회답:\n됩니다."
    assert [r.span for r in interpretation_records(odd, "7")] == [Span(0, len(odd))]


def test_ruling_without_a_summary() -> None:
    text = "【원고】 갑\n【주 문】\n기각한다.\n【이 유】\n1. 사실\n사실이다."
    assert detect_kind(text) == "ruling"
    assert [r.id for r in ruling_records(text, "7")] == ["CASE_7_detail"]
    other = "<판시사항>\n위헌인지\n<결정요지>\n아니다.\n【청구인】 갑\n【이 유】\n이유다."
    assert [r.metadata["chunk_type"] for r in ruling_records(other, "8")] == ["summary", "detail"]


def test_published_ruling_and_interpretation() -> None:
    folder = shared_data("ko_rulings_sample")
    rows = {r["kind"]: r["text"]
            for r in map(json.loads, (folder / "corpus.jsonl").read_text(encoding="utf-8").splitlines())}
    text = rows["판례"]
    summary, detail = ruling_records(text, "219067")
    assert "## 판시사항" in summary.span.of(text) and detail.span.of(text).startswith("## 판례내용")
    assert (summary.metadata["case_number"], summary.metadata["court"], summary.metadata["date"]) == (
        "2021다227100", "대법원", "2021-10-14",
    )
    check(text, [summary, detail])
    text = rows["법령해석례"]
    core, reason = interpretation_records(text, "25-0105")
    assert (
        "## 질의요지" in core.span.of(text) and "## 회답" in core.span.of(text) and reason.span.of(text).startswith("## 이유")
    )
    assert (reason.id, reason.metadata["parent_id"]) == ("INTERP_25-0105_reason", "INTERP_25-0105")
    check(text, [core, reason])


@pytest.mark.parametrize("question, answer", [
    ("질의 : 되나요?", "회시 : 됩니다."), ("[질의]\n되나요?", "[회시]\n됩니다."), ("【질의】 되나요?", "【회시】 됩니다."),
    ("질의1 : 되나요?", "회시1 : 됩니다."), ("질의： 되나요?", "회시： 됩니다."), ("질의\n되나요?", "회시\n됩니다."),
    ("## 질의\n되나요?", "## 회시\n됩니다."), ("1. 질의요지\n되나요?", "2. 회답\n됩니다."), ("<질의 1>\n되나요?", "<회시 1>\n됩니다."),
    ("**질의**: 되나요?", "**회시**: 됩니다."), ("질의①: 되나요?", "회시①: 됩니다."), ("○ 질의내용 : 되나요?", "○ 회시내용 : 됩니다."),
    ("질의(1) : 되나요?", "회시(1) : 됩니다."), ("문 : 되나요?", "답 : 됩니다."), ("Q1. 되나요?", "A1. 됩니다."),
    ("재질의 : 되나요?", "재회시 : 됩니다."),
])
def test_forms_of_questions(question: str, answer: str) -> None:
    for gap in ("\n", "\n\n"):
        text = f"연차 정산{gap}{question}{gap}{answer}"
        (pair,) = qa_pairs(text)
        assert pair.question.of(text) == question and pair.answer.of(text) == answer


@pytest.mark.parametrize("text", [
    "종전 질의회시 : 455", "이는 종전\n질의회시 : 455와 같다.", "귀 질의에 대한 회시는 다음과 같다.", "질의만 : 있다.", "회시 : 답뿐이다.",
    "[질의]의 내용과 【회시】의 내용", "",
])
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
