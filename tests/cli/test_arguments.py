"""Every option of every command, with values that no one can mean: one line and no traceback."""
from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import commands

NEEDS = {"index": ["nowhere"], "ask": ["연차"], "trace": ["연차"], "records": ["nowhere", "--out", "out"], "remove": ["x"],
         "eval": ["nowhere", "nowhere"], "tune": ["nowhere"], "questions": ["nowhere"], "demo": ["--data", "nowhere"], "completion": ["bash"]}
NUMBERS = ("-1", "0", "99999999999", "nan", "inf", "-inf", "1e400", "", "x", "9" * 5_000)
TEXTS = ("--", "", "\x1b[2J", "\x00", "\n")
OF_NUMBERS = ("N", "X", "SECONDS")   # What a help calls the value of an option that takes a number


def options(run) -> list[tuple[str, str, str]]:
    """Commands with each of their options that takes one value, and what their helps call it."""
    found = [(word, *option) for word in commands(run) for option in re.findall(r"^  (--[a-z-]+) ([^/\s]\S*)(?:  |$)", run(word, "--help")[1], re.M)]
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
    code, out, err = run(*argv)
    named = next(word for word in argv if word.startswith("--")).split("=")[0]
    assert (code, out) == (2, "") and len(err.splitlines()) == 1 and named in err and argv[-1].split("=")[-1] in err


def test_a_switch_takes_no_value_and_an_option_that_is_not_there_names_the_help_of_its_command(run) -> None:
    for argv, told in ((("ask", "q", "--lookup=off"), "does not take a value"), (("eval", "x", "--orders=x"), "--orders"), (("ask", "q", "--nothing=off"), "--nothing"),
                       (("ls", "--nope"), "--nope"), (("ask", "q", "--limit", "3"), "--limit")):
        code, out, err = run(*argv)
        assert (code, out, err.count("\n")) == (2, "", 1) and told in err and (f"ragnb {argv[0]} --help" in err or "=" in argv[-1])


def test_an_option_does_not_take_the_next_option_as_its_value(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for argv in (("ask", "q", "--html", "--json"), ("demo", "--out", "--json"), ("eval", "x", "--prompts", "--llm", "ollama:m")):
        code, out, err = run(*argv)
        assert (code, out, err.count("\n")) == (2, "", 1) and argv[-2 if argv[0] == "demo" else 2] in err
    assert list(tmp_path.iterdir()) == []
