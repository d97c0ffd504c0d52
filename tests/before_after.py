"""Values that were wrong without a word: what each gives at an earlier commit and now.

    python tests/before_after.py                       # one line an item: the value now, and the right one; exit 1 if one differs
    python tests/before_after.py --before ba5707d1     # also the value at that commit
    python tests/before_after.py --only laws models    # some files of tests/wrong_values

An item is a function in `tests/wrong_values/*.py` under `@item(right=…)`. It takes an empty folder and returns a short value. It must also run with the package of the earlier
commit, so it calls only what both have; an error counts as its value (`TypeError: …`). `test_before_after.py` runs the items with pytest.
"""
from __future__ import annotations

import argparse
import contextlib
import importlib
import importlib.abc
import importlib.util
import io
import json
import os
import signal
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
SECONDS = 120   # Most that an item may take: some of them hung


@dataclass(frozen=True)
class Item:
    "One value that was wrong: how to get it, and what is right."
    name: str                      # "models: cut prompt"
    right: Any                     # What `run` returns today
    run: Callable[[Path], Any]     # Takes an empty folder


ITEMS: dict[str, Item] = {}


def item(right: Any) -> Callable[[Callable[[Path], Any]], Callable[[Path], Any]]:
    "Register a function; its file and its docstring name the item."
    def register(run: Callable[[Path], Any]) -> Callable[[Path], Any]:
        name = f"{run.__module__.rpartition('.')[2]}: {(run.__doc__ or run.__name__).strip().splitlines()[0].rstrip('.')}"
        if name in ITEMS:
            raise ValueError(f"two items are named {name!r}")
        ITEMS[name] = Item(name, right, run)
        return run
    return register


# Room of today -> rooms in which an earlier commit has its modules
ROOMS: dict[str, tuple[str, ...]] = {"machinery": ("documents",), "laws": ("documents",), "opensearch": ("storage", "retrieval", "indexing")}


class EarlierRooms(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    "Find a module of today where an earlier commit has it, so that an item imports it by one name."

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        room, _, module = fullname.removeprefix("ragnb.").partition(".")
        if not fullname.startswith("ragnb.") or room not in ROOMS:
            return None
        if not module:
            return importlib.util.spec_from_loader(fullname, self, is_package=True)
        return importlib.util.spec_from_loader(fullname, self)

    def create_module(self, spec: Any) -> Any:
        room, _, module = spec.name.removeprefix("ragnb.").partition(".")
        if not module:
            return None
        for earlier in ROOMS[room]:
            with contextlib.suppress(ModuleNotFoundError):
                return importlib.import_module(f"ragnb.{earlier}.{module}")
        raise ModuleNotFoundError(f"No module named {spec.name!r}", name=spec.name)

    def exec_module(self, module: Any) -> None:
        "Nothing: the module ran when it was imported by its earlier name."


def load(only: list[str] | None = None) -> dict[str, Item]:
    "Import the files of items, all or those named."
    if not any(isinstance(finder, EarlierRooms) for finder in sys.meta_path):
        sys.meta_path.append(EarlierRooms())   # after the usual finders: asked only for what today's package does not have
    for folder in (HERE, HERE / "wrong_values"):
        if str(folder) not in sys.path:
            sys.path.insert(0, str(folder))
    sys.modules.setdefault("before_after", sys.modules[__name__])   # as a script, this module is `__main__`
    for path in sorted((HERE / "wrong_values").glob("*.py")):
        if not only or path.stem in only:
            importlib.import_module(path.stem)
    return {name: entry for name, entry in ITEMS.items() if not only or name.partition(":")[0] in only}


def value_of(entry: Item) -> Any:
    "The value that an item gives; an error is one, in one line."
    def stop(*_: Any) -> None:
        raise TimeoutError(f"no value after {SECONDS} s")
    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    try:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, contextlib.redirect_stdout(io.StringIO()):
            return entry.run(Path(folder))
    except Exception as error:
        return f"{type(error).__name__}: {' '.join(str(error).split())}"[:160]
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def values(package: Path, only: list[str] | None) -> dict[str, Any]:
    "The values of the items with the package in this folder, from a process of its own."
    command = [sys.executable, str(HERE / "before_after.py"), "--values", *(["--only", *only] if only else [])]
    environment = {**os.environ, "PYTHONPATH": str(package), "RAGNB_LANG": "en"}
    run = subprocess.run(command, cwd=package, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return {row["name"]: row["value"] for row in map(json.loads, run.stdout.splitlines())}


def at_commit(commit: str, folder: Path) -> Path:
    "The package as it was at a commit, unpacked into a folder."
    archive = subprocess.run(["git", "-C", str(ROOT), "archive", commit], stdout=subprocess.PIPE, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        files.extractall(folder)
    return folder


def shown(value: Any) -> str:
    "A value in a cell of the table."
    return json.dumps(value, ensure_ascii=False, default=str).replace("|", "\\|")[:160]


def main() -> int:
    "Print the table; 1 if a value is not the right one."
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", metavar="COMMIT")
    parser.add_argument("--only", nargs="+", metavar="FILE")
    parser.add_argument("--values", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    items = load(options.only)
    if options.values:
        for entry in items.values():
            print(json.dumps({"name": entry.name, "value": value_of(entry)}, ensure_ascii=False, default=str), flush=True)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        earlier = values(at_commit(options.before, Path(folder)), options.only) if options.before else {}
        now = values(ROOT, options.only)
    right = {name: json.loads(json.dumps(entry.right, ensure_ascii=False, default=str)) for name, entry in items.items()}
    columns = ["item", *([options.before] if options.before else []), "now", ""]
    print("| " + " | ".join(columns) + " |\n|" + " --- |" * len(columns))
    for name in items:
        verdict = "" if now[name] == right[name] else f"wrong: {shown(right[name])}"
        print("| " + " | ".join([name, *([shown(earlier[name])] if options.before else []), shown(now[name]), verdict]) + " |")
    return int(any(now[name] != right[name] for name in items))


if __name__ == "__main__":
    raise SystemExit(main())
