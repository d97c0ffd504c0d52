"""The table of messages has every text that the package prints by `say`, and no other."""
import ast
import re
import string
from functools import cache
from pathlib import Path

import pytest

import ragnb
from ragnb.cli import command_line, main
from ragnb.documents.messages import korean, language, say, use_language

PACKAGE = Path(ragnb.__file__).parent
# Texts that reach `say` through a variable
BY_NAME = {"vectors over chunks of 500 characters", "contains {share:.0%} of the known answer", "contains nothing of the known answer",
           "Share of the known answers in the context, over {n} test questions (delivered recall)", "spelled like {word}: {words}"}


@pytest.fixture(autouse=True)
def english():
    yield
    use_language("")


def said(tree: ast.AST) -> set[str]:
    """The texts of all calls of `say` in a module; a choice between two texts counts as both."""
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and getattr(n.func, "id", "") == "say"]
    parts = [part for call in calls for arg in call.args for part in ([arg.body, arg.orelse] if isinstance(arg, ast.IfExp) else [arg])]
    return {part.value for part in parts if isinstance(part, ast.Constant)}


@cache
def in_source() -> set[str]:
    texts = [said(ast.parse(path.read_text(encoding="utf-8"))) for path in PACKAGE.rglob("*.py")]
    page = (PACKAGE / "serve" / "page.html").read_text(encoding="utf-8")
    templates = [path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.html") if path.name != "page.html"]
    return set().union(*texts, re.findall("«([^«»]+)»", page), *(re.findall(r'\bsay\("([^"]+)"', text) for text in templates))


def in_help() -> set[str]:
    use_language("en")
    commands = [command_line([])]
    commands += commands[0].commands.values()
    return {item.help for command in commands for item in (command, *command.params) if getattr(item, "help", None)}


def names(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


def test_the_table_and_the_source_have_the_same_texts():
    used = in_source() | in_help() | BY_NAME
    assert sorted(used - korean().keys()) == [] and sorted(korean().keys() - used) == []


def test_both_languages_have_the_same_values():
    for english in in_source() | BY_NAME:
        assert names(korean()[english]) <= names(english) | {"n"}, english      # a plural of English is a number in Korean
        assert names(english) - names(korean()[english]) <= {"documents", "hits"}, english


def test_korean_is_korean():
    assert [text for text in korean().values() if not re.search("[가-힣]", text) and not text.startswith(("ngram, e5", "ko"))] == []


@pytest.mark.parametrize(("machine", "wanted"), [
    ({"LANG": "ko_KR.UTF-8"}, "ko"), ({"LANG": "C.UTF-8"}, "en"), ({}, "en"), ({"LANG": "C", "LC_ALL": "ko_KR"}, "ko"),
    ({"LANG": "ko_KR.UTF-8", "RAGNB_LANG": "en"}, "en"), ({"LANG": "en_US.UTF-8", "RAGNB_LANG": "ko"}, "ko")])
def test_the_machine_decides_unless_somebody_chooses(machine, wanted, monkeypatch):
    for name in ("RAGNB_LANG", "LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    for name, value in machine.items():
        monkeypatch.setenv(name, value)
    assert language() == wanted
    use_language("en")
    assert language() == "en"


@pytest.mark.parametrize("words", [["--lang", "ko", "ask", "--help"], ["ask", "--help", "--lang", "ko"], ["ask", "--lang=ko", "-h"]])
def test_help_is_in_the_language_that_is_asked_for(words, capsys):
    assert main(words) == 0
    told = capsys.readouterr().out
    assert "질문에 답합니다." in told and "Answer a question" not in told
    assert main(["ask", "--help"]) == 0 and "Answer a question" in capsys.readouterr().out


def test_an_unknown_language_is_refused(capsys):
    assert main(["--lang", "fr", "demo"]) == 2 and "en, ko" in capsys.readouterr().err
    assert say("no {such} message", such="known") == "no known message"
