"""`ragnb records`: raw legal texts to JSONL, and back into an index."""
from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import SAMPLE

from ragnb.cli import main
from ragnb.documents.files import read_documents

RAW = {
    "law.json": json.dumps({"law_id": "010719", "법령명": "시험법", "소관부처": "고용노동부", "조문": [
        {"조문번호": str(n), "조문제목": f"제목{n}", "조문내용": "기준을 정한다. " * 30} for n in range(1, 6)]}, ensure_ascii=False),
    "mixed.jsonl": '{"item_id": 5, "질의요지": "되나요?", "회답": "됩니다.", "이유": "' + "왜냐하면 " * 80 + '"}\n{"id": \n[1]\n{"id": "x", "text": "시다."}\n',
    "rule.md": "# 규정\n\n제1조(목적) 정한다.\n제2조(정의) 정한다.\n제3조(기타) 정한다.\n",
    "qa.txt": "질의 : 되나요?\n회시 : 됩니다.\n",
    "image.png": "x",
    ".hidden.txt": "질의 : 되나요?\n회시 : 됩니다.\n",
}


def rows(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_raw_texts_become_files_of_records(tmp_path, capsys) -> None:
    raw, out = tmp_path / "raw", tmp_path / "out"
    raw.mkdir()
    for name, text in RAW.items():
        (raw / name).write_text(text, encoding="utf-8")
    assert main(["records", str(raw), "--out", str(out), "--domain", "hr_labor", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["rows"] == {name: len(rows(out / name)) for name in printed["rows"]}
    assert set(printed["rows"]) == {"laws_full.jsonl", "interpretations.jsonl", "labor_qa.jsonl"}
    assert len(printed["skipped"]) == 4 and any("mixed.jsonl:2: not JSON" in s for s in printed["skipped"])
    laws = [r for r in rows(out / "laws_full.jsonl") if r["id"].startswith("LAW_010719_A")]
    assert [r["metadata"]["article_number"] for r in laws] == ["1", "2", "3", "4", "5"]
    assert laws[0]["content"].startswith("[시험법]\n소관부처: 고용노동부") and laws[0]["domain"] == "hr_labor"
    assert [r["id"] for r in rows(out / "interpretations.jsonl")] == ["INTERP_5", "INTERP_5_reason"]
    problems: list = []
    assert len(list(read_documents(out, problems))) == sum(printed["rows"].values()) and not problems


def test_a_record_is_written_once(tmp_path, capsys) -> None:
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text(RAW["qa.txt"], encoding="utf-8")
    (tmp_path / "c.jsonl").write_text('{"id": "a.txt", "text": "질의 : 언제?\\n회시 : 내일."}\n', encoding="utf-8")
    assert main(["records", str(tmp_path), "--out", str(tmp_path / "out")]) == 0
    assert "already written" in capsys.readouterr().err and len(rows(tmp_path / "out" / "labor_qa.jsonl")) == 2


@pytest.mark.parametrize("arguments, message", [
    (["nowhere"], "no such file"), ([str(SAMPLE / "corpus" / "maintenance")], "not one record"), ([str(SAMPLE / "corpus"), "--kind", "poem"], "kind must be"),
])
def test_mistakes_are_one_line(arguments: list[str], message: str, tmp_path, capsys) -> None:
    assert main(["records", *arguments, "--out", str(tmp_path / "out")]) == 2
    printed = capsys.readouterr()
    assert message in printed.err and printed.err.count("\n") == 1 and not printed.out
