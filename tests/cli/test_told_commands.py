"""Every `ragnb …` that a message tells a person to type is a command that the command line takes."""
from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

import ragnb
from ragnb.cli import command_line

PACKAGE = Path(ragnb.__file__).parent


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
    for path in sorted(PACKAGE.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        docs = {id(n.body[0].value) for n in ast.walk(tree) if isinstance(n, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
                and n.body and isinstance(n.body[0], ast.Expr)}
        inner = {id(v) for n in ast.walk(tree) if isinstance(n, ast.JoinedStr) for v in n.values}
        for node in ast.walk(tree):
            is_text = isinstance(node, ast.JoinedStr) or isinstance(node, ast.Constant) and isinstance(node.value, str)
            if is_text and id(node) not in docs | inner:
                for command in re.findall(r"`(ragnb [a-z][^`]*)`", written(node)):
                    yield f"{path.relative_to(PACKAGE)}:{node.lineno}", command


COMMANDS = sorted(set(told()))


def test_the_messages_with_commands_are_found():
    commands = {command for _, command in COMMANDS}
    assert len(COMMANDS) > 20 and "ragnb index PATH --index X" in commands and "ragnb index PATH --index DIR --force" in commands


@pytest.mark.parametrize(("place", "command"), COMMANDS, ids=[f"{place}: {command}" for place, command in COMMANDS])
def test_a_told_command_can_be_typed(place: str, command: str):
    _, word, *rest = shlex.split(command)
    commands = command_line([]).commands
    assert word in commands, f"{place}: {command}"
    if "--help" not in rest:
        commands[word].make_context(word, [*rest])


def test_a_damaged_index_tells_what_builds_it_again(tmp_path, run):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("연차는 15일이다.", encoding="utf-8")
    place = tmp_path / "index"
    assert run("index", tmp_path / "docs", "--index", place, "--quiet")[0] == 0
    with (place / "index.db").open("r+b") as file:
        file.truncate(3_000)
    code, _, told = run("ask", "연차", "--index", place)
    assert code == 2 and told.count("\n") == 1
    command = re.search(r"`ragnb ([^`]+)`", told)
    assert command is not None
    words = [str(tmp_path / "docs") if w == "PATH" else w for w in shlex.split(command[1])]
    assert run(*words, "--quiet")[0] == 0 and run("ask", "연차", "--index", place)[0] == 0
