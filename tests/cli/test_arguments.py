"""Every option of every command, with values that no one can mean: one line and no traceback."""
from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from conftest import commands, one_line, whole_help, write

from ragnb.cli import main

NEEDS = {"index": ["nowhere"], "ask": ["연차"], "trace": ["연차"], "records": ["nowhere", "--out", "out"], "remove": ["x"],
         "eval": ["nowhere", "nowhere"], "tune": ["nowhere"], "questions": ["nowhere"], "demo": ["--data", "nowhere"]}
NUMBERS = ("-1", "0", "99999999999", "nan", "inf", "-inf", "1e400", "", "x", "9" * 5_000)
TEXTS = ("--", "", "\x1b[2J", "\x00", "\n")
OF_NUMBERS = ("N", "X", "SECONDS")   # What a help calls the value of an option that takes a number


def options(run) -> list[tuple[str, str, str]]:
    """Commands with each of their options that takes one value, and what their helps call it."""
    found = [(word, *option) for word in commands(run) for option in re.findall(r"^  (--[a-z-]+) ([^/\s]\S*)(?:  |$)", whole_help(run, word), re.M)]
    return [option for option in found if option[1] != "--compare"]


def wrong(run, argv: list[str]) -> str:
    """What is wrong with the end of a command that names no index; '' when it is one line."""
    try:
        code, _, err = run(*argv)
    except BaseException as error:
        return f"{argv[0]} {argv[-1][:30]!r}: {type(error).__name__}"
    return "" if code == 2 and len(err.splitlines()) == 1 else f"{argv[0]} {argv[-1][:30]!r}: {code} {err[:80]!r}"


def test_no_value_of_an_option_ends_in_a_traceback(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RAGNB_DATA", raising=False)
    found, tried, known = [], 0, set()
    for word, name, kind in options(run):
        values = () if name in known else NUMBERS if kind in OF_NUMBERS else TEXTS
        known.add(name)
        for value in values:
            found.append(wrong(run, [word, *NEEDS.get(word, []), f"{name}={value}"]))
            tried += 1
    assert tried > 300 and not [x for x in found if x]


@pytest.mark.parametrize("argv", [
    ("serve", "--port", "-1"), ("serve", "--port", "65536"), ("serve", "--port", "8321.5"), ("serve", "--running", "99999999999"),
    ("ask", "연차", "--timeout", "nan"), ("ask", "연차", "--budget", "9" * 30), ("ask", "연차", "--context=--"), ("trace", "연차", "--cut", "nan"),
    ("index", "d", "--wait", "inf"), ("index", "d", "--wait", "-1"), ("eval", "d", "q", "--workers", "99999999999"), ("chat", "--timeout", "inf")])
def test_a_value_that_no_option_can_use_is_refused_by_the_name_of_its_option(run, argv: tuple[str, ...]) -> None:
    line, named = one_line(run(*argv)), next(word for word in argv if word.startswith("--")).split("=")[0]
    assert named in line and argv[-1].split("=")[-1] in line


def test_a_switch_takes_no_value_and_an_option_that_is_not_there_names_the_help_of_its_command(run) -> None:
    for argv, told in ((("ask", "q", "--lookup=off"), "does not take a value"), (("eval", "x", "--orders=x"), "--orders"), (("ask", "q", "--nothing=off"), "--nothing"),
                       (("ls", "--nope"), "--nope"), (("ask", "q", "--limit", "3"), "--limit")):
        line = one_line(run(*argv))
        assert told in line and (f"ragnb {argv[0]} --help" in line or "=" in argv[-1])


def test_an_option_does_not_take_the_next_option_as_its_value(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for argv in (("ask", "q", "--html", "--json"), ("demo", "--out", "--json"), ("eval", "x", "--prompts", "--llm", "ollama:m")):
        assert argv[-2 if argv[0] == "demo" else 2] in one_line(run(*argv))
    assert list(tmp_path.iterdir()) == []


ACTS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
EVIL = "\x1b[2J\x9b31m\u202e\x07\x7f"
NAME = f"연차{EVIL}.md"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose files have such names, titles and values."""
    folder = tmp_path_factory.mktemp("evil") / f"d{EVIL}"
    write(folder, {NAME: f"---\ndoc_type: kind{EVIL[1:2]}\n---\n# 휴가{EVIL}\n\n연차는 15일이다.{EVIL}\n"})
    records = [{"id": f"r{EVIL}", "text": f"병가는 60일이다.{EVIL}", "title": f"병가{EVIL}", f"key{EVIL}": f"v{EVIL}"}, {"id": f"x{EVIL}"}]
    (folder / f"b{EVIL}.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records), encoding="utf-8")
    for name in (f"c{EVIL}.docx", f"p{EVIL}.png", "two\nskipped lines.docx"):
        (folder / name).write_bytes(b"x")
    return folder


def test_nothing_that_is_printed_acts(run, place: Path, tmp_path: Path) -> None:
    index, question = tmp_path / f"i{EVIL}", f"연차는 며칠{EVIL}"
    asked = [("index", place, "--index", index, "--quiet"), ("index", place, "--index", index, "--quiet", "--json"),
             *((word, "--index", index, *more) for word in ("ls", "info") for more in ((), ("--json",))),
             *((word, question, "--index", index, *more) for word in ("ask", "trace") for more in ((), ("--json",), ("--where", f"a{EVIL}=b"))),
             ("ask", "연차", "--index", index, f"--{EVIL}"), ("ask", "연차", "--index", tmp_path / f"no{EVIL}"), (f"w{EVIL}",),
             ("records", place, "--out", tmp_path / f"r{EVIL}"), ("records", place, "--out", tmp_path / "r", "--kind", f"k{EVIL}"),
             ("questions", place, "--n", 5), ("remove", f"none{EVIL}", "--index", index), ("remove", f"r{EVIL}", "--index", index)]
    acting, values = [], {}
    for argv in asked:
        code, out, err = run(*argv)
        acting += [(argv[0], found[0], code) for found in [ACTS.search(out + err)] if found]
        if "--json" in argv:
            values[argv[0]] = json.loads(out)
        if argv[0] == "index" and "--json" not in argv:
            assert code == 0 and sum(line.startswith(("skipped ", "note: ")) for line in err.splitlines()) == len(err.splitlines())
    assert not acting
    assert NAME in {row["id"] for row in values["ls"]["documents"]} and values["ask"]["question"] == question


# --- Mistakes on the command line: one line each, with the way out.
def test_a_mistake_on_the_command_line_is_named_with_the_way_out(hr_units, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    index = str(hr_units.folder)
    for words, told in (
        (["ask", "연차", "--index", "a", "--index", "b"], "--index takes one value, and was given 2 times"),
        (["eval", "x", "--top-k", "3", "--top-k", "3"], "--top-k takes one value, and was given 2 times"),
        (["ask", "연차", "--over", "chroma:x", "--index", index], "--over takes the place of --index"),
        (["ask", "leave", "days"], "unexpected extra argument(s) (days); put a question in quotes"),
    ):
        assert main(words) == 2 and told in (error := capsys.readouterr().err) and len(error.splitlines()) == 1
    assert main(["ls", "--index", index, "--json", "--json"]) == 0
    capsys.readouterr()
    main(["ask", "연차는 며칠인가?", "--index", index, "--history", str(tmp_path / "none" / "talk.jsonl")])
    error = capsys.readouterr().err
    assert "talk.jsonl" in error and ".tmp" not in error


def test_an_index_file_that_may_not_be_read_has_the_advice_of_a_folder(hr_units, capsys, monkeypatch):
    access = os.access
    monkeypatch.setattr(os, "access", lambda place, mode: not str(place).endswith("index.db") and access(place, mode))
    assert main(["ask", "연차는 며칠인가?", "--index", str(hr_units.folder)]) == 2
    error = capsys.readouterr().err
    assert "cannot be read: Permission denied; give yourself access (chmod u+rwX" in error and "index.db" in error


@pytest.mark.parametrize("question", ["-v option", "--exclude what is it", "-v means what"])
def test_a_question_may_begin_with_a_dash(run, tmp_path, question):
    write(tmp_path / "f", {"options.md": "# Options\n\n- `-v`: prints each file.\n- `--exclude`: leaves out files.\n"})
    assert run("index", tmp_path / "f", "--index", tmp_path / "i", "--quiet")[0] == 0
    code, out, _ = run("ask", question, "--index", tmp_path / "i")
    assert code == 0 and "leaves out" in out
    assert "No such option" in one_line(run("ask", "x", "--exclud", "--index", tmp_path / "i"))
