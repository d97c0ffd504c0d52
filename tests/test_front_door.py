"""The names of `from ragnb import …`: they load, editors and type checkers see them, and help says what their parameters mean."""
from __future__ import annotations

import importlib
import inspect
import pkgutil
import subprocess
import sys
from pathlib import Path

import jedi
import pytest

import ragnb

ROOT = Path(__file__).resolve().parent.parent
NAMES = sorted(set(ragnb.__all__) - {"__version__"})


def test_there_are_few_names_and_no_room_is_called_like_one() -> None:
    rooms = {module.name for module in pkgutil.iter_modules(ragnb.__path__)}
    assert 50 <= len(NAMES) <= 72 and not rooms & set(NAMES)


def test_names_load_from_their_homes() -> None:
    values = {name: getattr(ragnb, name) for name in NAMES}
    assert not [name for name, value in values.items() if not (callable(value) and value.__module__.startswith("ragnb.")
                and getattr(importlib.import_module(value.__module__), name, None) is value)]


def test_a_name_stays_itself_after_its_modules_are_imported() -> None:
    modules = ("ragnb.evaluation.measures", "ragnb.evaluation.comparison", "ragnb.pipeline.trace_data", "ragnb.expansion.policies")
    for module in modules:
        importlib.import_module(module)
    from ragnb import compare, evaluate, pages, parent, trace
    assert all(inspect.isfunction(f) for f in (compare, evaluate, pages, parent, trace))


def test_help_says_what_the_parameters_mean() -> None:
    silent = []
    for name in NAMES:
        value = getattr(ragnb, name)
        doc = inspect.getdoc(value) or ""
        if inspect.isclass(value) and issubclass(value, Exception):
            taken = []
        else:
            taken = [p for p in inspect.signature(value).parameters if p not in ("self", "args", "kwargs", "data")]
            if inspect.isclass(value):  # the constructor's parameters, where a class documents them there
                doc += inspect.getdoc(value.__init__) or ""
        if not doc or (taken and "Parameters\n---" not in doc):
            silent.append(f"{name}({', '.join(taken)}) says: {doc[:200]}")
    assert not silent, "\n".join(silent)


def test_editors_complete_methods() -> None:
    source = "from ragnb import Pipeline\nPipeline."
    names = {c.name for c in jedi.Script(source, path=ROOT / "user.py").complete(2, len("Pipeline."))}
    assert {"from_index", "ask", "aask", "find", "passages", "rank", "documents", "query_engine"} <= names
    source = "from ragnb import up"
    assert "update_index" in {c.name for c in jedi.Script(source, path=ROOT / "user.py").complete(1, len(source))}


@pytest.mark.heavy
def test_a_users_script_has_no_type_error() -> None:
    command = [sys.executable, "-m", "basedpyright", "--pythonpath", sys.executable, "--level", "error", "tests/front_door.py"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_script_uses_a_name_that_is_not_there() -> None:
    """Benchmarks are run by hand, and parts of them seldom."""
    done = subprocess.run([sys.executable, "-m", "pyflakes", "benchmarks", "tools", "tests"], cwd=ROOT, capture_output=True, text=True, timeout=300)
    absent = [line for line in done.stdout.splitlines() if "undefined name" in line]
    assert done.stderr == "" and absent == []
