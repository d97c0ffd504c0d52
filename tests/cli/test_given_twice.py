"""Mistakes on the command line: one line each, with the way out."""
from __future__ import annotations

import os

from ragnb.cli import main


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
