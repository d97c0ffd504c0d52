"""Which kind a document is, and its records."""

from __future__ import annotations

import json

import pytest
from conftest import SAMPLE, shared_data
from llama_index.core.schema import Document
from statute_texts import check

from ragnb.documents.kinds import detect_kind, records_of, text_of
from ragnb.documents.rulings import interpretation_records, qa_records, ruling_records
from ragnb.documents.records import statute_records, to_jsonl
from ragnb.documents.span import InputError
from ragnb.documents.statutes import parse_statute


def test_content_line_of_a_record() -> None:
    text = text_of({"id": "LAW_010719_A56",
                    "content": ("[가온기준법]\n소관부처: 생활기술부\n시행일: 2024-02-09\n\n제56조(연장 근로)\n① 더 준다.\n② 휴일도 같다.")})
    assert detect_kind(text) == "statute"
    record = statute_records(text, "010719")[-1]
    assert (
        record.id == "LAW_010719_A56" and "시행일: 2024-02-09" in record.prefix and record.title == "가온기준법 제56조 (연장 근로)"
    )


def test_sample_corpus() -> None:
    law = SAMPLE / "corpus" / "law_common"
    for name, n in (("care_robot_act.txt", 51), ("shared_workshop_act.txt", 56)):
        text = (law / name).read_text(encoding="utf-8")
        statute = parse_statute(text)
        assert len([a for a in statute.articles if a.part == "본칙"]) == n
        check(text, statute_records(text, name))
    for path, kind in ((law / "interpretations.jsonl", "interpretation"), (law / "rulings.jsonl", "ruling"),
                       (SAMPLE / "corpus" / "hr_labor" / "labor_qa.jsonl", "qa")):
        for row in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
            document = Document(text=row["text"], id_=row["doc_id"], metadata={"title": row["title"]})
            records = records_of(document)
            assert detect_kind(row["text"]) == kind
            check(row["text"], records)
            assert all(
                json.loads(line)["content"].endswith(row["text"][json.loads(line)["start"] : json.loads(line)["end"]])
                for line in to_jsonl(records, row["text"]).splitlines()
            )


def test_ordinary_documents_are_no_records() -> None:
    for path in (SAMPLE / "corpus").rglob("*.md"):
        if path.name != "work_rules.md":
            assert detect_kind(path.read_text(encoding="utf-8")) is None, path.name


def test_errors() -> None:
    with pytest.raises(InputError, match="kind"):
        records_of(Document(text="가"), "novel")
    with pytest.raises(InputError, match="min_size"):
        statute_records("가", "1", min_size=9, max_size=9)
    with pytest.raises(InputError, match="fields"):
        text_of({"title": "가"})
    assert (
        statute_records("", "1") == [] and interpretation_records(" \n", "1") == [] and ruling_records("", "1") == []
        and qa_records("", "1") == []
    )


def test_a_code_of_procedure_is_a_statute_although_it_names_the_parts_of_a_ruling() -> None:
    articles = "\n\n".join(f"제{n}조(심리) ①법원은 {n}일 안에 심리한다." for n in range(1, 20))
    text = (f"가상소송법\n[시행 2031. 1. 1.]\n\n{articles}\n\n제20조(판결서) ①판결서에는 다음 각호의 사항을 적는다.\n1."
            " 당사자\n2. 주문\n3. 청구의 취지\n4. 이유\n\n제21조(송달) 판결서를 송달한다.")
    assert detect_kind(text) == "statute"
    quoting = (f"【판시사항】\n\n[1] 심리의 기간\n\n【참조조문】\n\n{articles}\n\n【주 문】\n\n상고를 기각한다.\n\n【이" " 유】\n\n상고이유를 본다.")
    assert detect_kind(quoting) == "ruling"


def test_every_real_statute_is_found_to_be_one() -> None:
    rows = [json.loads(line)
            for line in (shared_data("ko_statutes") / "corpus.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {row["title"]: detect_kind(row["text"]) for row in rows} == {row["title"]: "statute" for row in rows}
