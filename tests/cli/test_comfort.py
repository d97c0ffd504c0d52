"""What makes the command line pleasant: a short help, the Tab key, JSON everywhere, plain text where no terminal is."""
from __future__ import annotations

import io
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import SAMPLE

from ragnb import cli
from ragnb.cli import main, make_parser

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


def test_ragnb_alone_shows_examples(capsys):
    assert main([]) == 0
    out, err = capsys.readouterr()
    assert err == "" and len(out.splitlines()) <= 15 and all(word in out for word in cli._COMMANDS)


def test_its_examples_are_commands_that_parse():
    import shlex
    for word, command in cli._COMMANDS.items():
        if not command.example.startswith("ragnb "):
            continue
        assert make_parser().parse_args(shlex.split(command.example)[1:]).command == word
    assert all(callable(getattr(cli, f"_{word}")) for word in cli._COMMANDS)


# --- the Tab key --------------------------------------------------------------------------------------------------------


def completed(script: Path, words: list[str], folder: Path) -> set[str]:
    """What bash offers for the last of some words."""
    code = (f'source {script}; f=$(complete -p ragnb | sed "s/.*-F \\([^ ]*\\).*/\\1/"); '
            'COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); "$f" ragnb "${@: -1}" "${@: -2:1}"; printf "%s\\n" "${COMPREPLY[@]}"')
    done = subprocess.run(["bash", "-c", code, "-", *words], capture_output=True, text=True, timeout=60, cwd=folder)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
def test_bash_completes_commands_options_and_files(capsys, tmp_path, place):
    assert main(["completion", "bash"]) == 0
    script = tmp_path / "complete.bash"
    script.write_text(capsys.readouterr().out, encoding="utf-8")
    assert completed(script, ["ragnb", "in"], place) == {"index", "info"}
    assert completed(script, ["ragnb", "ask", "--expand"], place) == {"--expand-top-k"}
    assert completed(script, ["ragnb", "index", "da"], place) == {"data"}
    assert completed(script, ["ragnb", "ls", "--index", "ind"], place) == {"index"}


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_get_every_command(capsys, shell):
    assert main(["completion", shell]) == 0
    out = capsys.readouterr().out
    assert all(re.search(rf"\b{word}\b", out) for word in cli._COMMANDS) and "expand-top-k" in out


def test_completion_without_its_package_is_one_line(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert main(["completion", "bash"]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err == "ragnb: completion needs a package: pip install 'ragnb[completion]'\n"


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
    "chat": ("--index", "{}/index"),
}


def test_every_command_that_prints_results_takes_json():
    others = {"completion", "mcp", "serve"}   # a script; a protocol that is JSON already; a server
    for word in set(cli._COMMANDS) - others:
        parser = cli._Parser()
        cli._COMMANDS[word].add(parser)
        assert "--json" in parser.format_usage(), word


@pytest.mark.parametrize("word", [pytest.param(w, marks=[pytest.mark.heavy] * (w in ("eval", "demo"))) for w in PRINTING])
def test_json_is_one_object_and_progress_stays_away(capsys, monkeypatch, place, tmp_path, word):
    if word == "remove":
        (tmp_path / "two").mkdir()
        (tmp_path / "two/a.md").write_text("연차는 15일이다.", encoding="utf-8")
        (tmp_path / "two/hr_labor").mkdir()
        (tmp_path / "two/hr_labor/leave.md").write_text("반차는 4시간이다.", encoding="utf-8")
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


@pytest.mark.parametrize("environment, colored", [({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True),
                                                  ({"TERM": "dumb"}, False)])
def test_colours_are_for_terminals_that_want_them(monkeypatch, environment, colored):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert cli._is_colored(Terminal()) is colored and not cli._is_colored(io.StringIO())


@pytest.mark.heavy
@pytest.mark.parametrize("stream, no_color, colored", [(Terminal, "", True), (Terminal, "1", False), (io.StringIO, "", False)])
def test_the_demo_is_coloured_on_a_terminal(monkeypatch, place, stream, no_color, colored):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", no_color)
    monkeypatch.setattr("sys.stdout", stream())
    monkeypatch.setattr("sys.stderr", io.StringIO())
    assert main(["demo", "--data", str(place / "data"), "--out", str(place / "demo")]) == 0
    assert ("\x1b[" in sys.stdout.getvalue()) is colored and sys.stderr.getvalue() == ""


def test_stages_are_named_on_a_terminal_only(monkeypatch, place, tmp_path):
    for stream, quiet, told in ((Terminal, (), True), (Terminal, ("--quiet",), False), (io.StringIO, (), False)):
        monkeypatch.setattr("sys.stderr", stream())
        assert main(["index", str(place / "data/corpus"), "--index", str(tmp_path / "i"), *quiet]) == 0
        assert ("ragnb: read " in sys.stderr.getvalue()) is told


def test_many_bad_lines_of_a_file_are_three_and_a_count(capsys):
    from ragnb.documents.files import Problem
    many = [Problem(f"a.jsonl:{n}", "no text") for n in range(1, 51)]
    cli._print_problems([*many, Problem("b.png", "not read"), Problem("a.jsonl:60", "not JSON")])
    assert capsys.readouterr().err.splitlines() == [
        "skipped a.jsonl:1: no text", "skipped a.jsonl:2: no text", "skipped a.jsonl:3: no text", "skipped b.png: not read",
        "skipped a.jsonl:60: not JSON", "skipped a.jsonl: 47 more records: no text"]


def test_a_second_folder_with_equal_names_ends_with_an_error(tmp_path, capsys):
    for name, text in (("one", "비밀번호는 90일마다 바꾼다."), ("two", "출입증은 총무팀이 준다.")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "security.md").write_text(text, encoding="utf-8")
    place = str(tmp_path / "index")
    assert main(["index", str(tmp_path / "one"), "--index", place, "--quiet"]) == 0
    assert main(["index", str(tmp_path / "two"), "--index", place, "--quiet"]) == 2
    err = capsys.readouterr().err
    assert "skipped security.md" in err and "--index OTHER" in err.splitlines()[-1] and "not in" in err.splitlines()[-1]


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


def test_an_option_that_is_not_there_names_the_help_of_its_command(capsys):
    for given, told in ((["ls", "--nope"], "ragnb ls: unrecognized arguments: --nope (see ragnb ls --help)"),
                        (["ask", "q", "--limit", "3"], "ragnb ask: unrecognized arguments: --limit 3 (see ragnb ask --help)")):
        with pytest.raises(SystemExit) as stopped:
            main(given)
        assert stopped.value.code == 2 and capsys.readouterr().err.strip() == told


def test_the_first_help_names_what_a_first_hour_needs(capsys):
    """Passages without a model, weak ones left out, filters and how a document says its kind, and what is not read."""
    assert main([]) == 0
    shown = capsys.readouterr().out
    readme = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")
    for text in (shown, readme):
        assert all(word in text for word in ("--cut 0.2", "--llm ollama:", "folder=faq", "doc_type: manual", "canned pages"))


def test_an_index_that_holds_documents_of_another_folder_says_so(run, tmp_path):
    """Each run names what it leaves, and both ways to have it out work as they are written."""
    for folder, name in (("mine", "a"), ("mine", "b"), ("other", "x")):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / f"{name}.md").write_text(f"# {name}\n\n연차는 {len(name)}일이다.", encoding="utf-8")
    place = ["--index", tmp_path / "i"]
    assert run("index", tmp_path / "mine", *place)[2].count("note:") == 0
    err = run("index", tmp_path / "other", *place)[2]
    assert f"also holds 2 documents of {tmp_path / 'mine'}, such as 'a.md'" in err
    code, out, err = run("index", tmp_path / "mine", *place)
    assert code == 0 and "2 unchanged" in out and f"also holds 1 document of {tmp_path / 'other'}, such as 'x.md'" in err
    assert f"ragnb remove ID --index {tmp_path / 'i'}" in err and "--index OTHER" in err
    out, err = run("index", tmp_path / "mine", *place, "--json")[1:]
    assert json.loads(out)["others"] == {str(tmp_path / "other"): 1} and "also holds 1 document" in err
    assert run("remove", "x.md", *place)[0] == 0 and "note:" not in run("index", tmp_path / "mine", *place)[2]
    run("index", tmp_path / "other", *place)
    out, err = run("index", tmp_path / "mine", *place, "--force")[1:]
    assert "note:" not in err and ": 2 documents" in out


@pytest.mark.parametrize(("n", "told"), [(1, "1 document of "), (2, "2 documents of ")])
def test_lost_documents_are_counted_in_words(run, tmp_path, n, told):
    for folder in ("mine", "other"):
        (tmp_path / folder).mkdir()
        for name in "ab"[:n]:
            (tmp_path / folder / f"{name}.md").write_text(f"# {folder}\n\n연차는 15일이다.", encoding="utf-8")
    run("index", tmp_path / "mine", "--index", tmp_path / "i")
    code, _, err = run("index", tmp_path / "other", "--index", tmp_path / "i")
    assert code == 2 and told in err.splitlines()[-1] and (" is not in " if n == 1 else " are not in ") in err.splitlines()[-1]


def test_one_of_a_thing_is_not_told_as_several(capsys):
    from ragnb.evaluation.datasets import Dataset, Question
    from ragnb.evaluation.questions import MadeQuestions
    from ragnb.indexing.update import IndexReport
    from ragnb.storage.store import Found
    cli._print_report(IndexReport(changed=1, chunks=1, characters=1, vectors_kept=1))
    said = capsys.readouterr().out + repr(MadeQuestions([Question("1", "?", ())], {}))
    with pytest.raises(LookupError) as lost:
        Found({}, ("c9",)).all()
    said += str(lost.value)
    assert "1 chunk kept its vector" in said and "MadeQuestions(1 question:" in said
    assert not re.search(r"\b1 [a-z]+s\b", said)


def test_a_question_about_something_else(run, tmp_path):
    """With a cut nothing is shown that shares no word, and no note advises a cut that was given or would leave out nothing."""
    from ragnb.indexing.folder_index import Index
    from ragnb.pipeline.pipeline import Pipeline
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/leave.md").write_text("# 휴가 규정\n\n연차는 15일이다. 병가는 30일이다.\n\n## 이월\n\n남은 연차는 3월까지 쓴다.", encoding="utf-8")
    (tmp_path / "docs/trip.md").write_text("# 출장 규정\n\n일비는 3만 원이다. 숙박비는 실비로 준다.", encoding="utf-8")
    index = tmp_path / "index"
    assert run("index", tmp_path / "docs", "--index", index)[0] == 0
    for question in ("휴대폰은 몇 개인가요?", "Where is the zeppelin?"):
        code, out, err = run("ask", question, "--index", index)
        assert code == 0 and "no document holds any word of the question" in err and "--cut" not in err
        code, out, err = run("ask", question, "--index", index, "--cut", 0.05)
        assert (code, out) == (0, "nothing was found\n") and "no document holds any word" in err and "--cut" not in err
    assert "연차는 15일이다" in run("ask", "연차는 며칠인가요?", "--index", index, "--cut", 0.05)[1]
    answer = Pipeline.from_index(Index.open(index)).ask("휴대폰은 몇 개인가요?")
    assert "no document holds any word" in answer.note and answer.note in repr(answer) and "휴대폰" in answer._repr_html_()


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
        (tmp_path / "corpus" / name).mkdir(parents=True)
        (tmp_path / "corpus" / name / f"{name}.md").write_text("연차는 15일이다.", encoding="utf-8")
    assert run("index", tmp_path / "corpus", "--all", "--index", tmp_path / "i", "--quiet")[0] == 0
    code, out, _ = run("ls", "--index", tmp_path / "i")
    assert code == 0 and all(word in out for word in ("hr_labor_db", "finance_tax_db", "hr_labor.md", "finance_tax.md", "--where takes"))
    found = json.loads(run("ls", "--index", tmp_path / "i", "--json")[1])["collections"]
    assert {name: [row["id"] for row in rows] for name, rows in found.items()} == {
        "finance_tax_db": ["finance_tax/finance_tax.md"], "hr_labor_db": ["hr_labor/hr_labor.md"]}


def test_a_switch_with_a_value_is_told_in_our_words(capsys):
    for given, told in ((["ask", "q", "--lookup=off"], "--no-lookup"), (["eval", "x", "--orders=x"], "takes no value, got 'x'"),
                        (["ask", "q", "--nothing=off"], "unrecognized arguments: --nothing=off (see")):
        with pytest.raises(SystemExit) as stopped:
            main(given)
        err = capsys.readouterr().err
        assert stopped.value.code == 2 and told in err and err.count("\n") == 1
