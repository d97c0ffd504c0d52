"""What share of small faults do the tests catch? Plants one in each of N functions drawn at random, and runs the tests of their room.

Run: python benchmarks/planted.py ROOM [ROOM ...] [--faults 40] [--seed 1] [--out FILE] [--again FILE]

A room is a folder of `ragnb/`; its tests are `tests/ROOM/`. The faults are planted in a copy of the tree: a boundary that is moved, a comparison or
a condition that is turned round, a number that is one too large, a value that is not returned. `--out` stores each fault with its outcome, one line
each; `--again` plants those of such a file again, to see what other tests make of them.
"""
from __future__ import annotations

import ast
import importlib
import json
import os
import random
import resource
import shutil
import sys
import tempfile
from collections.abc import Iterator
from multiprocessing import get_context
from pathlib import Path

from common import arguments, DATA, lines, ROOT

SWAPPED = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
           ast.In: "not in", ast.NotIn: "in", ast.Is: "is not", ast.IsNot: "is"}


def faults_of(
    function: ast.FunctionDef | ast.AsyncFunctionDef,
) -> Iterator[tuple[str, ast.expr, str]]:  # Kind, the expression, and what is written in its place
    "List the faults that one function can get."
    for node in (inner for statement in function.body for inner in ast.walk(statement)):
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            yield "comparison", node, f"({ast.unparse(node.left)}) {SWAPPED[type(node.ops[0])]} ({ast.unparse(node.comparators[0])})"
        if isinstance(node, ast.Constant) and type(node.value) is int:
            yield "number", node, f"({node.value + 1})"
        if isinstance(node, ast.Return) and node.value and ast.unparse(node.value) != "None":
            yield "return", node.value, "None"
        if isinstance(node, (ast.If, ast.While, ast.IfExp)):
            yield "condition", node.test, f"not ({ast.unparse(node.test)})"


def drawn(
    rooms: list[str],  # Folders of `ragnb/`
    n: int,            # Faults
    seed: int,
) -> list[dict]:
    "Draw functions at random and one fault for each; their files are not changed."
    places = []
    for path in (p for room in rooms for p in sorted((ROOT / "ragnb" / room).glob("*.py"))):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        places += [(path, node) for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and any(faults_of(node))]
    chance, found = random.Random(seed), []
    for path, function in chance.sample(places, n):
        by_kind: dict[str, list] = {}
        for kind, node, text in faults_of(function):
            by_kind.setdefault(kind, []).append((node, text))
        kind = chance.choice(sorted(by_kind))
        node, text = chance.choice(by_kind[kind])
        found.append({"path": path.relative_to(ROOT).as_posix(), "function": function.name, "kind": kind, "fault": text,
                      "at": [node.lineno, node.col_offset, node.end_lineno, node.end_col_offset]})
    return found


def planted(
    source: bytes,  # A module
    fault: dict,
) -> bytes:
    "Return the module with the fault in it."
    of = source.splitlines(keepends=True)
    first, left, last, right = fault["at"]
    head, tail = b"".join(of[:first - 1]) + of[first - 1][:left], of[last - 1][right:] + b"".join(of[last:])
    return head + f"({fault['fault']})".encode() + tail


def run_tests(
    tree: Path,    # A copy of the project with a fault
    module: str,   # The module that has it, as "room/name.py": the test files that are called like it come first
    out: Path,     # Where the output goes
    seconds: int,  # Of the processor, at most
) -> None:
    "Run the tests of a room until one fails, and end this process with their exit code."
    import pytest
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    file = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(file, 1)
    os.dup2(file, 2)
    os.chdir(tree)
    sys.path.insert(0, str(tree))
    os.environ |= {"PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    room, name = Path(module).parent.name, Path(module).stem
    files = sorted((tree / "tests" / room).glob("test_*.py"), key=lambda f: (name not in f.stem, f.name))
    code = pytest.main(["-qx", "-p", "no:cacheprovider", "-m", "not heavy and not cluster and not browser", *map(str, files)])
    sys.stdout.flush()
    os._exit(code)


def caught(
    tree: Path,
    module: str,
    seconds: int,  # A fault that makes the tests take more of the processor, or ten times as long, counts as caught
) -> str:          # The first test that fails, or nothing
    "Run the tests in a process that has imported the libraries already."
    out = tree.parent / "output"
    process = get_context("fork").Process(target=run_tests, args=(tree, module, out, seconds))
    process.start()
    process.join(10 * seconds)
    if process.is_alive():
        process.kill()
    if process.exitcode is None or process.exitcode < 0:
        return "not finished"
    said = out.read_text(encoding="utf-8", errors="replace").splitlines()
    failed = [line for line in said if line.startswith(("FAILED", "ERROR"))]
    return (failed or said[-1:] or ["ended"])[0][:200] if process.exitcode else ""


def main() -> None:
    "Plant the faults one after another, and print the share that is caught."
    args = arguments(__doc__, needs={"rooms": list}, faults=40, seed=1, seconds=300, out=Path, again=Path)
    faults = lines(args.again) if args.again else drawn(args.rooms, args.faults, args.seed)
    for library in ("chromadb", "fastapi", "hypothesis", "kiwipiepy", "llama_index.core", "pytest", "sklearn", "workflows"):
        importlib.import_module(library)
    os.environ.setdefault("RAGNB_DATA", str(DATA))
    n_caught = 0
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(".git", ".venv", "__pycache__", ".ragnb", "out", ".pytest_cache"))
        for fault in faults:
            path = tree / fault["path"]
            whole = path.read_bytes()
            path.write_bytes(planted(whole, fault))
            fault["caught"] = caught(tree, fault["path"].removeprefix("ragnb/"), args.seconds)
            path.write_bytes(whole)
            n_caught += bool(fault["caught"])
            print(f"{fault['path']} {fault['function']}: {fault['kind']}: {fault['fault'][:60]!r}: {fault['caught'] or 'NOT CAUGHT'}", flush=True)
            if args.out:
                with args.out.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(fault, ensure_ascii=False) + "\n")
    print(f"{n_caught} of {len(faults)} faults caught")


if __name__ == "__main__":
    main()
