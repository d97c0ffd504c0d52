"""Every option of every command, with values that no one can mean: one line and no traceback."""
from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from ragnb.cli import make_parser

NEEDS = {"index": ["nowhere"], "ask": ["연차"], "trace": ["연차"], "records": ["nowhere", "--out", "out"], "remove": ["x"],
         "eval": ["nowhere", "nowhere"], "tune": ["nowhere"], "questions": ["nowhere"], "demo": ["--data", "nowhere"], "completion": ["bash"]}
NUMBERS = ("-1", "0", "99999999999", "nan", "inf", "-inf", "1e400", "", "x", "9" * 5_000)
TEXTS = ("--", "", "\x1b[2J", "\x00", "\n")


def options() -> list[tuple[str, argparse.Action]]:
    """Commands with each of their options that takes one value."""
    commands = next(a for a in make_parser()._actions if isinstance(a, argparse._SubParsersAction))
    return [(word, action) for word, parser in commands.choices.items() for action in parser._actions
            if action.option_strings and action.nargs is None and not isinstance(action, argparse._HelpAction)]


def wrong(run, argv: list[str], codes: tuple[int, ...] = (2,)) -> str:
    """What is wrong with the end of a command that names no index; '' when it is one line."""
    try:
        code, _, err = run(*argv)
    except BaseException as error:
        return f"{argv[0]} {argv[-1][:30]!r}: {type(error).__name__}"
    return "" if code in codes and len(err.splitlines()) == 1 else f"{argv[0]} {argv[-1][:30]!r}: {code} {err[:80]!r}"


def test_no_value_of_an_option_ends_in_a_traceback(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RAGNB_DATA", raising=False)
    found, tried, known = [], 0, set()
    for word, action in options():
        name = action.option_strings[-1]
        values = () if (name, action.type) in known else NUMBERS if action.type is not None else TEXTS
        known.add((name, None) if action.type is None else (name, word))
        for value in values:
            found.append(wrong(run, [word, *NEEDS.get(word, []), f"{name}={value}"]))
            tried += 1
    assert tried > 300 and not [x for x in found if x]


@pytest.mark.parametrize("value", ["-1", "65536", "99999999999", "nan", "", "8321.5"])
def test_a_port_that_is_none_is_refused_before_anything_is_opened(run, value: str) -> None:
    code, out, err = run("serve", "--port", value)
    assert code == 2 and not out and len(err.splitlines()) == 1 and "--port" in err


def test_numbers_that_no_machine_has_are_refused(run) -> None:
    refused = [("ask", "연차", "--timeout", "nan"), ("ask", "연차", "--budget", "9" * 30), ("index", "d", "--wait", "inf"),
               ("index", "d", "--wait", "-1"), ("eval", "d", "q", "--workers", "99999999999"), ("chat", "--timeout", "inf"),
               ("serve", "--running", "99999999999"), ("trace", "연차", "--cut", "nan"), ("ask", "연차", "--context=--")]
    ends = {argv: run(*argv) for argv in refused}
    assert not [argv for argv, (code, _, err) in ends.items() if code != 2 or argv[-2].split("=")[0] not in err and argv[-1].split("=")[0] not in err]
