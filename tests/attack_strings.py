"""Strings that make a regular expression work hard, built from the expression itself."""
from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import warnings
import signal
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType

import ragnb

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    try:
        from re import _parser as sre_parse
    except ImportError:     # Python 3.10
        import sre_parse  # type: ignore[no-redef]

_CATEGORY = {
    "CATEGORY_SPACE": " ", "CATEGORY_DIGIT": "1", "CATEGORY_WORD": "a", "CATEGORY_NOT_SPACE": "a", "CATEGORY_NOT_DIGIT": "a",
    "CATEGORY_NOT_WORD": "-"}
_SPARE = "a가1 \n-<(「.,|#*"    # What a negated class or a dot is tried with


def modules() -> list[ModuleType]:
    """Every module of the package."""
    names = [m.name for m in pkgutil.walk_packages(ragnb.__path__, "ragnb.")]
    return [importlib.import_module(name) for name in names if not name.endswith(("__main__", "_modidx"))]


def _held(value: object, depth: int = 0) -> Iterator[re.Pattern]:
    """Compiled patterns in a value: itself, or in a tuple, list, set or dict."""
    if isinstance(value, re.Pattern):
        yield value
    elif depth < 3 and isinstance(value, dict):
        for inner in value.values():
            yield from _held(inner, depth + 1)
    elif depth < 3 and isinstance(value, (tuple, list, set, frozenset)):
        for inner in value:
            yield from _held(inner, depth + 1)


METHODS = {"compile", "search", "match", "fullmatch", "findall", "finditer", "sub", "subn", "split"}
_WAY = {name: "finditer" for name in ("search", "findall", "sub", "subn", "split")}


def _flags(call: ast.Call) -> list[ast.expr]:
    """The flags of a call of `re`, if any."""
    position = 1 if call.func.attr == "compile" else {"sub": 4, "subn": 4, "split": 3}.get(call.func.attr, 2)
    return [k.value for k in call.keywords if k.arg == "flags"] or call.args[position:position + 1]


def _value(expression: ast.expr, names: dict) -> object:
    """What an expression is in a module; None when it is made of a function's own variables."""
    try:
        return eval(compile(ast.Expression(expression), "pattern", "eval"), names)  # noqa: S307 (our own source)
    except (NameError, AttributeError):
        return None


def _uses(module: ModuleType) -> Iterator[tuple[re.Pattern, str]]:
    """Patterns and the methods that the module calls on them; `re.search("…", text)` too."""
    names, params, bare = {**vars(re), "re": re, **vars(module)}, set(), []
    nodes = list(ast.walk(ast.parse(Path(module.__file__).read_text(encoding="utf-8"))))
    owners = {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}
    for node in nodes:
        loaded = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and id(node) not in owners
        if loaded and isinstance(names.get(node.id), re.Pattern):
            bare.append(names[node.id])
        if not (isinstance(node, ast.Attribute) or isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        called = node.func if isinstance(node, ast.Call) else node
        if called.attr not in METHODS or getattr(called.value, "id", "") == "re" and not isinstance(node, ast.Call) or not isinstance(called.value, (ast.Name, ast.Call, ast.IfExp)):
            continue
        if isinstance(node, ast.Call) and getattr(called.value, "id", "") == "re" and node.args:
            pattern = _value(node.args[0], names)
            flag = _value(_flags(node)[0], names) if _flags(node) else 0
            if isinstance(pattern, (str, bytes)):
                yield re.compile(pattern, flag), called.attr
        elif isinstance(found := _value(called.value, names), re.Pattern):
            yield found, called.attr
        elif isinstance(called.value, ast.Name):
            params.add(called.attr)
    for pattern in bare:        # a pattern that is passed to a function: what the module calls on its parameters
        yield from ((pattern, method) for method in params - {"sub", "split", "compile"})


def patterns() -> list[tuple[str, re.Pattern, set[str]]]:
    """Every pattern of the package: its module, itself, and the methods by which it is used."""
    homes: dict[re.Pattern, str] = {}
    uses: dict[re.Pattern, set[str]] = {}
    for module in modules():
        for pattern in (p for value in vars(module).values() for p in _held(value)):
            homes.setdefault(pattern, module.__name__)
        for pattern, method in _uses(module):
            homes.setdefault(pattern, module.__name__)
            uses.setdefault(pattern, set()).add(method)
    ways = {p: {_WAY.get(m, m) for m in uses.get(p, ()) if m != "compile"} or {"finditer"} for p in homes}
    return [(homes[p], p, ways[p]) for p in homes if isinstance(p.pattern, str)]


_TAKES = {"SPACE": str.isspace, "DIGIT": str.isdigit, "WORD": lambda c: c.isalnum() or c == "_"}


def _takes(op: object, value: object, char: str) -> bool:
    """Whether an item of a class takes a character."""
    if str(op) == "LITERAL":
        return chr(value) == char
    if str(op) == "RANGE":
        return value[0] <= ord(char) <= value[1]
    name = str(value).removeprefix("CATEGORY_")
    return _TAKES[name.removeprefix("NOT_")](char) != name.startswith("NOT_")


def _chars_of(items: Iterable) -> list[str]:
    """Characters that a class takes, one or two for each of its items; of a negated class one."""
    items, out = list(items), []
    if str(items[0][0]) == "NEGATE":
        return [next((c for c in _SPARE if not any(_takes(*item, c) for item in items[1:])), "a")]
    for op, value in items:
        own = {"LITERAL": lambda v: chr(v), "RANGE": lambda v: chr(v[0]), "CATEGORY": lambda v: " \n" if str(v) == "CATEGORY_SPACE" else _CATEGORY.get(str(v), "a")}
        out += own[str(op)](value)
    return out[:6]


def _sample(tree: Iterable, choice: int = 0) -> str:
    """A text that an expression takes (assertions apart); `choice` picks among alternatives."""
    out = ""
    for op, value in tree:
        name = str(op)
        if name == "LITERAL":
            out += chr(value)
        elif name == "NOT_LITERAL":
            out += next(c for c in _SPARE if ord(c) != value)
        elif name == "IN":
            chars = _chars_of(value)
            out += chars[choice % len(chars)]
        elif name == "ANY":
            out += "a"
        elif name == "BRANCH":
            out += _sample(value[1][choice % len(value[1])], choice)
        elif name == "SUBPATTERN":
            out += _sample(value[3], choice)
        elif name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            out += _sample(value[2], choice) * max(value[0], min(1, value[1], choice % 2))
        elif name == "ATOMIC_GROUP":
            out += _sample(value, choice)
    return out


def _inner(op: str, value: object) -> list:
    """The expressions inside one operation."""
    if op == "BRANCH":
        return list(value[1])
    if op == "SUBPATTERN":
        return [value[3]]
    if op in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
        return [value[2]]
    if op in ("ASSERT", "ASSERT_NOT"):
        return [value[1]]
    return [value] if op == "ATOMIC_GROUP" else []


def _pumps(tree: list, before: str, choices: int) -> Iterator[tuple[str, str]]:
    """What comes before each repetition, and what it repeats: one text for each of its alternatives."""
    for i, (op, value) in enumerate(tree):
        name, head = str(op), before + _sample(tree[:i], 1)
        if name.endswith("_REPEAT") and value[1] > 9:
            for choice in range(choices):
                body = _sample(value[2], choice)
                yield head, body
                yield head + body, _sample(value[2], choice + 1)
                yield "", head + body              # begun again and again, never finished
        for inner in _inner(name, value):
            yield from _pumps(list(inner), head, choices)


def attacks(pattern: re.Pattern, choices: int = 4) -> list[tuple[str, str]]:
    """(before, repeated) for every repetition of a pattern; the caller repeats the second."""
    tree = list(sre_parse.parse(pattern.pattern, pattern.flags & ~re.DEBUG))
    if isinstance(pattern.pattern, bytes):
        return []
    found = dict.fromkeys((before, pump) for before, pump in _pumps(tree, "", choices) if pump)
    whole = dict.fromkeys(("", _sample(tree, choice)) for choice in range(choices))
    return [(before, pump) for before, pump in {**found, **whole} if pump]


def run(pattern: re.Pattern, way: str, text: str) -> float:
    """CPU seconds of one use of a pattern."""
    start = time.process_time()
    if way == "finditer":
        for _ in pattern.finditer(text):
            pass
    else:
        getattr(pattern, way)(text)
    return time.process_time() - start


def main(length: int, limit: float, choices: int) -> None:
    """Attack every pattern once; one that needs more than `limit` CPU seconds for a text ends the process."""
    for module, pattern, ways in patterns():
        for number, (before, pump) in enumerate(attacks(pattern, choices)):
            print(f"{module} {pattern.pattern!r} on {before!r} + {pump!r}...", flush=True)
            text = before + pump * max(1, length // len(pump)) + "\x00" * (number % 2)
            for way in sorted(ways):
                if hasattr(signal, "setitimer"):
                    signal.setitimer(signal.ITIMER_VIRTUAL, limit)
                run(pattern, way, text)
    print("done")


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]))
