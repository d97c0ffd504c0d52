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


@pytest.mark.parametrize("name", NAMES)
def test_name_loads_from_its_home(name: str) -> None:
    value = getattr(ragnb, name)
    assert callable(value) and value.__module__.startswith("ragnb.")
    assert getattr(importlib.import_module(value.__module__), name) is value


def test_a_name_stays_itself_after_its_modules_are_imported() -> None:
    modules = ("ragnb.evaluation.measures", "ragnb.evaluation.comparison", "ragnb.pipeline.trace_data", "ragnb.expansion.policies")
    for module in modules:
        importlib.import_module(module)
    from ragnb import compare, evaluate, pages, parent, trace
    assert all(inspect.isfunction(f) for f in (compare, evaluate, pages, parent, trace))


@pytest.mark.parametrize("name", NAMES)
def test_help_says_what_the_parameters_mean(name: str) -> None:
    value = getattr(ragnb, name)
    if inspect.isclass(value) and issubclass(value, Exception):
        assert inspect.getdoc(value)
        return
    taken = [p for p in inspect.signature(value).parameters if p not in ("self", "args", "kwargs", "data")]
    doc = inspect.getdoc(value) or ""
    if inspect.isclass(value):  # the constructor's parameters, where a class documents them there
        doc += inspect.getdoc(value.__init__) or ""
    assert doc and (not taken or "Parameters\n---" in doc), f"{name}({', '.join(taken)}) says: {doc[:200]}"


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
