"""Every `ragnb …` that a message tells a person to type is a command that the command line takes."""
from __future__ import annotations

import ast
import json
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import one_line, SAMPLE, syntax, write

from ragnb.cli import typed_command, command_line, main
from ragnb.documents.files import read_documents


def written(node: ast.expr) -> str:
    """A text of the source as a person would see it: X for what is filled in, the command of `rebuild` for its call."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    parts = []
    for part in getattr(node, "values", ()):
        call = part.value if isinstance(part, ast.FormattedValue) else None
        is_rebuild = isinstance(call, ast.Call) and getattr(call.func, "id", "") == "rebuild"
        parts.append(str(part.value) if isinstance(part, ast.Constant) else "`ragnb index PATH --index DIR --force`" if is_rebuild else "X")
    return "".join(parts)


def told() -> Iterator[tuple[str, str]]:
    """(place, command) of every text of the package but docstrings."""
    for path, nodes in syntax().items():
        docs = {id(n.body[0].value) for n in nodes if isinstance(n, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
                and n.body and isinstance(n.body[0], ast.Expr)}
        inner = {id(v) for n in nodes if isinstance(n, ast.JoinedStr) for v in n.values}
        for node in nodes:
            is_text = isinstance(node, ast.JoinedStr) or isinstance(node, ast.Constant) and isinstance(node.value, str)
            if is_text and id(node) not in docs | inner:
                for command in re.findall(r"`(ragnb [a-z][^`]*)`", written(node)):
                    yield f"{path}:{node.lineno}", command


def test_a_told_command_can_betyped_command():
    told_at, commands, wrong = sorted(set(told())), command_line([]).commands, []
    written = {command for _, command in told_at}
    assert len(told_at) > 20 and {"ragnb index PATH --index X", "ragnb index PATH --index DIR --force"} <= written
    for place, command in told_at:
        _, word, *rest = shlex.split(command)
        try:
            called = commands[word]
            if not {"--help", "--help-all"} & {*rest}:
                called.make_context(word, rest)
        except Exception as error:
            wrong.append(f"{place}: {command}: {error!r}")
    assert wrong == []


def test_a_damaged_index_tells_what_builds_it_again(tmp_path, run):
    write(tmp_path / "docs", {"a.md": "연차는 15일이다."})
    place = tmp_path / "index"
    assert run("index", tmp_path / "docs", "--index", place, "--quiet")[0] == 0
    with (place / "index.db").open("r+b") as file:
        file.truncate(3_000)
    code, _, told = run("ask", "연차", "--index", place)
    said = []
    while code and len(said) < 3:      # --force does not forget patterns that may be lost: it names what says that there are none
        said.append(re.search(r"`ragnb ([^`]+)`", one_line((code, "", told)))[1])
        words = [str(tmp_path / "docs") if w == "PATH" else w for w in shlex.split(said[-1])]
        code, _, told = run(*words, "--quiet")
    assert code == 0 and [s.split(str(place))[1].strip("' ") for s in said] == ["--force", "--force --include none --exclude none"]
    assert run("ask", "연차", "--index", place)[0] == 0


RAW = {
    "law.json": json.dumps({"law_id": "010719", "법령명": "시험법", "소관부처": "고용노동부", "조문": [
        {"조문번호": str(n), "조문제목": f"제목{n}", "조문내용": "기준을 정한다. " * 30} for n in range(1, 6)]}, ensure_ascii=False),
    "mixed.jsonl": '{"item_id": 5, "질의요지": "되나요?", "회답": "됩니다.", "이유": "' + "왜냐하면 " * 80 + '"}\n{"id": \n[1]\n{"id": "x", "text": "시다."}\n',
    "rule.md": "# 규정\n\n제1조(목적) 정한다.\n제2조(정의) 정한다.\n제3조(기타) 정한다.\n",
    "qa.txt": "질의 : 되나요?\n회시 : 됩니다.\n",
    "image.png": "x",
    ".hidden.txt": "질의 : 되나요?\n회시 : 됩니다.\n"}


def rows(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_raw_texts_become_files_of_records(tmp_path, capsys) -> None:
    raw, out = tmp_path / "raw", tmp_path / "out"
    write(raw, RAW)
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
    (tmp_path / "c.jsonl").write_text('{"id": "a", "text": "질의 : 언제?\\n회시 : 내일."}\n', encoding="utf-8")
    assert main(["records", str(tmp_path), "--out", str(tmp_path / "out")]) == 0
    assert "already written" in capsys.readouterr().err and len(rows(tmp_path / "out" / "labor_qa.jsonl")) == 2


def test_ids_of_records_have_no_ending_of_a_file(tmp_path) -> None:
    """`LAW_statute.txt_A1`, `faq.md_1` → `LAW_statute_A1`, `faq_1`; a second file of the name keeps its ending."""
    write(tmp_path / "in", {"laws/v1.2.md": RAW["rule.md"], "qa.txt": RAW["qa.txt"], "qa.md": RAW["qa.txt"].replace("됩니다", "안 됩니다")})
    assert main(["records", str(tmp_path / "in"), "--out", str(tmp_path / "out"), "--json"]) == 0
    ids = [r["id"] for name in ("laws_full", "labor_qa") for r in rows(tmp_path / "out" / f"{name}.jsonl")]
    assert ids == ["LAW_laws/v1.2_H", "LAW_laws/v1.2_A1", "qa", "qa.txt"]


@pytest.mark.parametrize("arguments, message", [
    (["nowhere"], "no such file"), ([str(SAMPLE / "corpus" / "maintenance")], "not one record"), ([str(SAMPLE / "corpus"), "--kind", "poem"], "kind must be"),
])
def test_mistakes_are_one_line(arguments: list[str], message: str, tmp_path, run) -> None:
    assert message in one_line(run("records", *arguments, "--out", tmp_path / "out"))


# --- Commands that are printed: with the path by which ragnb was started, and in the language of the reader.
def test_a_printed_command_has_the_path_that_wastyped_command(monkeypatch, tmp_path):
    for typed in ("ragnb", str(tmp_path / "pytest")):
        monkeypatch.setattr(sys, "argv", [typed])
        assert typed_command("ask", "a b") == "ragnb ask 'a b'"
    monkeypatch.setattr(sys, "argv", [".venv/bin/ragnb"])
    monkeypatch.setenv("PATH", str(tmp_path))
    assert typed_command("ask", "a b") == ".venv/bin/ragnb ask 'a b'"
    (tmp_path / "ragnb").write_text("#!/bin/sh", encoding="utf-8")
    (tmp_path / "ragnb").chmod(0o755)
    monkeypatch.setattr(sys, "argv", [str(tmp_path / "ragnb")])      # found on the path: its name is enough
    assert typed_command("ls") == "ragnb ls"


@pytest.mark.parametrize(("lang", "question"), [("en", "how many days of leave?"), ("ko", "2년차 연차는 며칠인가요?")])
def test_the_examples_are_in_the_language_of_the_help(lang, question, capsys):
    other = {"en": "연차", "ko": "how many"}[lang]
    for words in ([], ["ask", "--help"]):
        assert main(["--lang", lang, *words]) == 0
        out = capsys.readouterr().out
        assert f'ragnb ask "{question}"' in out and other not in out
