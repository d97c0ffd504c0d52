"""What makes the command line pleasant: a short help, the Tab key, JSON everywhere, plain text where no terminal is."""
from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import commands, SAMPLE, write

from ragnb import Index, Pipeline
from ragnb.cli import main

QUESTION = "입사 1년차 직원의 연차는 며칠인가요?"


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """Sample data of one document and three questions, raw records, and an index."""
    folder = tmp_path_factory.mktemp("comfort")
    (folder / "data/corpus/hr_labor").mkdir(parents=True)
    (folder / "data/questions").mkdir()
    shutil.copy(SAMPLE / "corpus/hr_labor/leave.md", folder / "data/corpus/hr_labor")
    lines = (SAMPLE / "questions/hr.jsonl").read_text(encoding="utf-8").splitlines()
    kept = [line for line in lines if {e["doc_id"] for e in json.loads(line)["evidence"]} == {"hr_labor/leave.md"}]
    (folder / "data/questions/hr.jsonl").write_text("\n".join(kept[:3]), encoding="utf-8")
    assert main(["index", str(folder / "data/corpus"), "--index", str(folder / "index"), "--quiet"]) == 0
    return folder


# --- the short help -----------------------------------------------------------------------------------------------------
def test_ragnb_alone_shows_examples_and_names_every_command(run):
    """Passages without a model, weak ones left out, filters and how a document says its kind, and what is not read."""
    code, out, err = run()
    assert (code, err) == (0, "") and len(out.splitlines()) <= 15 and set(commands(run)) <= set(re.findall(r"[a-z]+", out))
    readme = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")
    words = ("--cut 0.2", "--llm ollama:", "folder=faq", "doc_type: manual", "canned pages")
    assert all(word in out for word in words)
    assert all(word in readme for word in ("--llm ollama:", "folder=faq", "canned pages", "`ragnb` without arguments shows more"))


# --- the Tab key --------------------------------------------------------------------------------------------------------
def offered(*words: str) -> list[str]:
    """What the Tab key offers for the last of some words."""
    env = os.environ | {"_RAGNB_COMPLETE": "complete_bash", "COMP_WORDS": "ragnb " + " ".join(words), "COMP_CWORD": str(len(words))}
    done = subprocess.run([sys.executable, "-m", "ragnb"], capture_output=True, text=True, env=env, timeout=60)
    assert done.returncode == 0 and not done.stderr
    return done.stdout.split()


def test_the_tab_key_completes_commands_options_and_choices():
    assert offered("in") == ["index", "info"] and offered("ask", "--expand") == ["--expand-top-k"]
    assert offered("index", "da") == []   # the shell offers files


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_for_a_shell_asks_ragnb(shell):
    done = subprocess.run([sys.executable, "-m", "ragnb"], env=os.environ | {"_RAGNB_COMPLETE": f"source_{shell}"}, capture_output=True, text=True)
    out = done.stdout
    assert done.stderr == "" and "_RAGNB_COMPLETE" in out and "ragnb" in out
    if shutil.which(shell):
        subprocess.run([shell, "-n", "/dev/stdin"], input=out, text=True, check=True, capture_output=True)


# --- JSON ---------------------------------------------------------------------------------------------------------------
EVAL = ("--budgets", "500", "--quiet", "--out", "{}/results", "--cache", "{}/cache")
PRINTING = {
    "index": ("{}/data/corpus", "--index", "{}/index"),
    "ask": (QUESTION, "--index", "{}/index"),
    "trace": (QUESTION, "--index", "{}/index"),
    "info": ("--index", "{}/index"),
    "ls": ("--index", "{}/index"),
    "remove": ("hr_labor/leave.md", "--index", "{}/less"),
    "records": ("{}/data/corpus", "--out", "{}/records", "--kind", "qa"),
    "eval": ("{}/data", *EVAL),
    "demo": ("--data", "{}/data", "--out", "{}/demo"),
    "chat": ("--index", "{}/index")}


def test_every_command_that_prints_results_takes_json(run):
    others = {"mcp", "serve"}   # a protocol that is JSON already; a server
    assert not [word for word in set(commands(run)) - others if " --json " not in run(word, "--help")[1]]


@pytest.mark.parametrize("word", [pytest.param(w, marks=[pytest.mark.heavy] * (w in ("eval", "demo"))) for w in PRINTING])
def test_json_is_one_object_and_progress_stays_away(capsys, monkeypatch, place, tmp_path, word):
    if word == "remove":
        write(tmp_path / "two", {"a.md": "연차는 15일이다."})
        write(tmp_path / "two/hr_labor", {"leave.md": "반차는 4시간이다."})
        assert main(["index", str(tmp_path / "two"), "--index", str(place / "less"), "--quiet"]) == 0
    if word == "records":
        (place / "data/corpus/qa.txt").write_text("Q. 연차는 며칠인가?\nA. 15일이다.\n", encoding="utf-8")
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{QUESTION}\n"))
    monkeypatch.setattr("sys.stderr", Terminal())   # where bars and stages are shown
    capsys.readouterr()
    code = main([word, *(a.replace("{}", str(place)) for a in PRINTING[word]), "--json"])
    out = capsys.readouterr().out
    (place / "data/corpus/qa.txt").unlink(missing_ok=True)
    assert code == 0, sys.stderr.getvalue()
    assert isinstance(json.loads(out), dict)


# --- a terminal, and none -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("stream, environment, colored", [
    (Terminal, {}, True), (Terminal, {"NO_COLOR": "1"}, False), (Terminal, {"NO_COLOR": ""}, True), (Terminal, {"TERM": "dumb"}, False), (io.StringIO, {}, False)])
def test_colours_are_for_terminals_that_want_them(monkeypatch, place, stream, environment, colored):
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in ({"TERM": "xterm"} | environment).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.stdout", stream())
    assert main(["ask", QUESTION, "--index", str(place / "index"), "--budget", "300"]) == 0
    assert ("\x1b[" in sys.stdout.getvalue()) is colored


def test_stages_are_named_on_a_terminal_only(monkeypatch, place, tmp_path):
    for stream, quiet, told in ((Terminal, (), True), (Terminal, ("--quiet",), False), (io.StringIO, (), False)):
        monkeypatch.setattr("sys.stderr", stream())
        assert main(["index", str(place / "data/corpus"), "--index", str(tmp_path / "i"), *quiet]) == 0
        assert ("ragnb: read " in sys.stderr.getvalue()) is told


def test_many_bad_lines_of_a_file_are_three_and_a_count(run, tmp_path):
    lines = ['{"id": "ok", "text": "연차"}', *(f'{{"id": "n{i}"}}' for i in range(50)), "no JSON"]
    (tmp_path / "a.jsonl").write_text("\n".join(lines), encoding="utf-8")
    told = [line.split(": ")[0] for line in run("index", tmp_path / "a.jsonl", "--index", tmp_path / "i", "--quiet")[2].splitlines()]
    assert told == ["skipped a.jsonl:2", "skipped a.jsonl:3", "skipped a.jsonl:4", "skipped a.jsonl:52", "skipped a.jsonl"]


def test_results_of_ragnb_are_not_indexed(tmp_path, capsys):
    (tmp_path / "out/tune/runs").mkdir(parents=True)
    (tmp_path / "rule.md").write_text("연차는 15일이다.", encoding="utf-8")
    for name in ("results.json", "questions.jsonl", "made.jsonl", "report.html", "runs/a.txt"):
        (tmp_path / "out/tune" / name).write_text("연차", encoding="utf-8")
    assert main(["index", str(tmp_path), "--index", str(tmp_path / ".ragnb"), "--quiet", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["documents"] == 1 and "made.jsonl" not in str(facts)


def test_tune_says_what_it_does_with_an_index(tmp_path, monkeypatch, capsys):
    """`--index` names where the printed commands make it; one that is there is left as it is, and that is said."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    text = "# 밸브 안내\n\n## 압력\n\n밸브의 압력은 3바이다.\n\n## 교환\n\n밸브는 두 해마다 바꾼다."
    (tmp_path / "docs/a.md").write_text(text, encoding="utf-8")
    asked = {"query_id": "q1", "query": "밸브의 압력은?", "evidence": [{"doc_id": "a.md", "text": "밸브의 압력은 3바이다."}]}
    (tmp_path / "asked.jsonl").write_text(json.dumps(asked, ensure_ascii=False), encoding="utf-8")
    tuned = ["tune", "docs", "asked.jsonl", "--strategy", "multi-scale", "--strategy", "retrieve=bm25", "--budgets", "500", "--quiet"]
    assert main([*tuned, "--index", "mine"]) == 0 and not (tmp_path / "mine").exists()
    told = capsys.readouterr()
    assert "ragnb index docs --index mine\n" in told.out and "'mine'" in told.out and "neither used" not in told.err
    assert "--index mine" in (tmp_path / "out/tune/report.html").read_text(encoding="utf-8")
    assert main(["index", "docs", "--index", "mine", "--quiet"]) == 0
    before = {p: p.read_bytes() for p in (tmp_path / "mine").rglob("*") if p.suffix in (".db", ".sum")}
    capsys.readouterr()
    assert main([*tuned, "--index", "mine"]) == 0
    assert "the index in 'mine' is neither used nor changed" in capsys.readouterr().err
    assert before == {p: p.read_bytes() for p in (tmp_path / "mine").rglob("*") if p.suffix in (".db", ".sum")}
    assert main(tuned) == 0 and "ragnb index docs\n" in capsys.readouterr().out


@pytest.mark.parametrize("n", [1, 2])
def test_a_second_folder_with_equal_names_ends_with_an_error(run, tmp_path, n):
    for folder in ("mine", "other"):
        (tmp_path / folder).mkdir()
        for name in "ab"[:n]:
            (tmp_path / folder / f"{name}.md").write_text(f"# {folder} {name}\n\n연차는 15일이다.", encoding="utf-8")
    assert run("index", tmp_path / "mine", "--index", tmp_path / "i", "--quiet")[0] == 0
    code, _, err = run("index", tmp_path / "other", "--index", tmp_path / "i", "--quiet")
    last = err.splitlines()[-1]
    assert code == 2 and "skipped a.md" in err and f"--index {tmp_path / 'i-2'}`" in last and f"{n} document{'s' * (n > 1)} of " in last


def test_one_of_a_thing_is_not_told_as_several(run, tmp_path):
    (tmp_path / "a.md").write_text("연차", encoding="utf-8")
    said = "".join(run("index", tmp_path / "a.md", "--index", tmp_path / "i", "--quiet")[1:]) + run("remove", "a.md", "--index", tmp_path / "i")[1]
    assert "1 document," in said and not re.search(r"\b1 [a-z]+s\b", said)


def test_a_question_about_something_else(run, tmp_path):
    """With a cut nothing is shown that shares no word, and no note advises a cut that was given or would leave out nothing."""
    write(tmp_path / "docs", {"leave.md": "# 휴가 규정\n\n연차는 15일이다. 병가는 30일이다.\n\n## 이월\n\n남은 연차는 3월까지 쓴다.",
                              "trip.md": "# 출장 규정\n\n일비는 3만 원이다. 숙박비는 실비로 준다."})
    index = tmp_path / "index"
    assert run("index", tmp_path / "docs", "--index", index)[0] == 0
    for question in ("휴대폰은 몇 개인가요?", "Where is the zeppelin?"):
        code, out, err = run("ask", question, "--index", index)
        assert code == 0 and "no document contains any word of the question" in err and "--cut" not in err
        code, out, err = run("ask", question, "--index", index, "--cut", 0.05)
        assert (code, out) == (0, "nothing was found\n") and "no document contains any word" in err and "--cut" not in err
    assert "연차는 15일이다" in run("ask", "연차는 며칠인가요?", "--index", index, "--cut", 0.05)[1]
    answer = Pipeline.from_index(Index.open(index)).ask("휴대폰은 몇 개인가요?")
    assert "no document contains any word" in answer.note and answer.note in repr(answer) and "휴대폰" in answer._repr_html_()


def test_a_cluster_without_the_name_of_an_index_is_told_what_is_missing(run, tmp_path):
    (tmp_path / "a.md").write_text("연차는 15일이다.", encoding="utf-8")
    wrong = {}
    for words in (["info"], ["ls"], ["ask", "연차?"], ["trace", "연차?"], ["index", tmp_path], ["remove", "a.md"], ["chat"], ["serve"], ["mcp"]):
        for end in ("", "/"):
            code, _, err = run(*words, "--index", "opensearch://ann:geheim@localhost:9" + end)
            if code != 2 or "opensearch://localhost:9/NAME" not in err or "geheim" in err or err.strip().count("\n"):
                wrong[words[0]] = (code, err)
    assert not wrong


def test_ls_lists_the_documents_of_collections(run, tmp_path):
    for name in ("hr_labor", "finance_tax"):
        write(tmp_path / "corpus" / name, {f"{name}.md": "연차는 15일이다."})
    assert run("index", tmp_path / "corpus", "--all", "--index", tmp_path / "i", "--quiet")[0] == 0
    code, out, _ = run("ls", "--index", tmp_path / "i")
    assert code == 0 and all(word in out for word in ("hr_labor_db", "finance_tax_db", "hr_labor.md", "finance_tax.md", "--where takes"))
    found = json.loads(run("ls", "--index", tmp_path / "i", "--json")[1])["collections"]
    assert {name: [row["id"] for row in rows] for name, rows in found.items()} == {
        "finance_tax_db": ["finance_tax/finance_tax.md"], "hr_labor_db": ["hr_labor/hr_labor.md"]}
