"""Interpretations and rulings."""

from __future__ import annotations

import json

from conftest import shared_data
from statute_texts import check

from ragnb.documents.kinds import detect_kind
from ragnb.documents.rulings import interpretation_records, ruling_records
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
    rows = {
        r["kind"]: r["text"]
        for r in map(json.loads, (folder / "corpus.jsonl").read_text(encoding="utf-8").splitlines())
    }
    text = rows["판례"]
    summary, detail = ruling_records(text, "219067")
    assert "## 판시사항" in summary.span.of(text) and detail.span.of(text).startswith("## 판례내용")
    assert (summary.metadata["case_number"], summary.metadata["court"], summary.metadata["date"]) == (
        "2021다227100",
        "대법원",
        "2021-10-14",
    )
    check(text, [summary, detail])
    text = rows["법령해석례"]
    core, reason = interpretation_records(text, "25-0105")
    assert (
        "## 질의요지" in core.span.of(text)
        and "## 회답" in core.span.of(text)
        and reason.span.of(text).startswith("## 이유")
    )
    assert (reason.id, reason.metadata["parent_id"]) == ("INTERP_25-0105_reason", "INTERP_25-0105")
    check(text, [core, reason])
