"""Commands that are printed: with the path by which ragnb was started, and in the language of the reader."""
from __future__ import annotations

import sys

import pytest

from ragnb.cli import _typed, main


def test_a_printed_command_has_the_path_that_was_typed(monkeypatch, tmp_path):
    for typed in ("ragnb", str(tmp_path / "pytest")):
        monkeypatch.setattr(sys, "argv", [typed])
        assert _typed("ask", "a b") == "ragnb ask 'a b'"
    monkeypatch.setattr(sys, "argv", [".venv/bin/ragnb"])
    monkeypatch.setenv("PATH", str(tmp_path))
    assert _typed("ask", "a b") == ".venv/bin/ragnb ask 'a b'"
    (tmp_path / "ragnb").write_text("#!/bin/sh", encoding="utf-8")
    (tmp_path / "ragnb").chmod(0o755)
    monkeypatch.setattr(sys, "argv", [str(tmp_path / "ragnb")])      # found on the path: its name is enough
    assert _typed("ls") == "ragnb ls"


@pytest.mark.parametrize(("lang", "question"), [("en", "how many days of leave?"), ("ko", "2년차 연차는 며칠인가요?")])
def test_the_examples_are_in_the_language_of_the_help(lang, question, capsys):
    other = {"en": "연차", "ko": "how many"}[lang]
    for words in ([], ["ask", "--help"]):
        assert main(["--lang", lang, *words]) == 0
        out = capsys.readouterr().out
        assert f'ragnb ask "{question}"' in out and other not in out
