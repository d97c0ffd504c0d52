"""Each fault that was mended, before and after: `python tests/faults --before 44e0156`.

A probe is a function without parameters in a module of this folder. Its docstring is the fault in one line, and what it
returns is what a user meets, in a few words. A probe runs in its own process, because some of the faults hang or crash.
"""
from __future__ import annotations

import argparse
import ast
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent


def probes() -> dict[str, str]:  # "module.function" -> the first line of its docstring
    "Find the probes without importing them."
    found = {}
    for path in sorted(HERE.glob("[a-z]*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                found[f"{path.stem}.{node.name}"] = (ast.get_docstring(node) or node.name).splitlines()[0]
    return found


def run_here(
    name: str,  # "module.function"
) -> str:       # What the probe returned, or its error, in one line
    "Run a probe in this process."
    import importlib
    sys.path[:0] = [str(HERE), str(ROOT / "tests")]
    module, function = name.split(".")
    try:
        said = getattr(importlib.import_module(module), function)()
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
    return " ".join(str(said).split())[:300]


def run(
    name: str,       # "module.function"
    checkout: Path,  # The tree whose `ragnb` is imported
    seconds: float,  # The longest that a probe may take
) -> str:            # What happened, in one line
    "Run a probe in its own process, over the package of a checkout."
    env = os.environ | {"PYTHONPATH": str(checkout), "PYTHONUTF8": "1"}
    process = subprocess.Popen([sys.executable, str(HERE), "--probe", name], cwd=checkout, env=env, text=True,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return f"not finished after {seconds:g} s"
    lines = out.strip().splitlines() or err.strip().splitlines() or [f"ended with {process.returncode}"]
    return lines[-1][:300]


@contextmanager
def checkout_of(
    commit: str,  # Any name that git knows
) -> Iterator[Path]:
    "The tree of a commit, in a folder that is removed afterwards."
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        subprocess.run(["git", "-C", str(ROOT), "worktree", "add", "--detach", str(tree), commit], check=True, capture_output=True)
        try:
            yield tree
        finally:
            subprocess.run(["git", "-C", str(ROOT), "worktree", "remove", "--force", str(tree)], check=True, capture_output=True)


def table(
    names: dict[str, str],     # Probes with their descriptions
    before: Path | None,       # The tree to compare with
    seconds: float,            # The longest that a probe may take
) -> None:
    "Print each probe with what happens, as Markdown."
    print("| fault | before | after |\n|---|---|---|", flush=True)
    for name, fault in names.items():
        was = run(name, before, seconds) if before else ""
        cells = (fault, was, run(name, ROOT, seconds))
        print("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |", flush=True)


def main() -> None:
    "Run the probes that are named, or all."
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="parts of the probes' names; all when none is given")
    parser.add_argument("--before", metavar="COMMIT", help="run them over this commit too")
    parser.add_argument("--seconds", type=float, default=60.0, help="the longest that a probe may take (60)")
    parser.add_argument("--probe", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.probe:
        print(run_here(args.probe))
        return
    chosen = {name: fault for name, fault in probes().items() if not args.names or any(part in name for part in args.names)}
    if not args.before:
        table(chosen, None, args.seconds)
        return
    with checkout_of(args.before) as before:
        table(chosen, before, args.seconds)


if __name__ == "__main__":
    main()
