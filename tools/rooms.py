"""Check that modules and notebooks belong together, that no move left anything, and that imports keep the rooms' order.

`nbdev_export` deletes nothing: a notebook that was moved leaves its old module and its entries in `_modidx.py`.
"""
from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def exports(
    notebook: Path,
) -> str | None:  # Dotted name below the package, or None
    "Find the module that a notebook writes."
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        if found := re.match(r"#\|\s*default_exp\s+(\S+)", "".join(cell["source"])):
            return found[1]
    return None


def written(
    root: Path = ROOT,
) -> dict[str, Path]:  # Module -> notebook
    "Find the module of every notebook."
    found = sorted((root / "nbs").rglob("*.ipynb"))
    notebooks = (p for p in found if not any(part.startswith(".") for part in p.relative_to(root).parts))
    return {name: p for p in notebooks if (name := exports(p))}


def listed(
    index: Path,  # `_modidx.py`
) -> set[str]:    # Dotted names below the package
    "Read which modules nbdev's index of symbols knows."
    if not index.is_file():
        return set()
    body = ast.parse(index.read_text(encoding="utf-8")).body
    assigned = next(node.value for node in body if isinstance(node, ast.Assign))
    return {module.partition(".")[2] for module in ast.literal_eval(assigned)["syms"]}


def misplaced(
    root: Path = ROOT,
) -> list[str]:  # What is wrong, a line each
    "Compare notebooks, modules and the index of symbols."
    notebooks = written(root)
    package = root / "ragnb"
    modules = {p for p in package.rglob("*.py") if not p.stem.startswith("_")}
    wanted = {package.joinpath(*name.split(".")).with_suffix(".py"): name for name in notebooks}
    problems = [f"{p.relative_to(root)}: no notebook writes it" for p in sorted(modules - wanted.keys())]
    absent = sorted(wanted.keys() - modules)
    problems += [f"{notebooks[wanted[p]].relative_to(root)}: its module is missing" for p in absent]
    for name, notebook in notebooks.items():
        room = notebook.parent.name.partition("_")[2]
        if not name.startswith(f"{room}.") and name != room:
            problems.append(f"{notebook.relative_to(root)}: writes {name}, which is in another room")
        elif not (found := re.fullmatch(r"\d\d_(\w+)", notebook.stem)):
            problems.append(f"{notebook.relative_to(root)}: needs a number, its place in the room: 03_{notebook.stem}")
        elif found[1] != name.rpartition(".")[2]:
            problems.append(f"{notebook.relative_to(root)}: writes {name}, which has another name")
    left_over = sorted(listed(package / "_modidx.py") - notebooks.keys())
    return problems + [f"ragnb/_modidx.py: names {name}, which no notebook writes" for name in left_over]


def main() -> None:
    "Say what is wrong, then check the order of imports."
    problems = misplaced()
    print("\n".join(problems), end="\n" if problems else "")
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    linted = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if linted.returncode:
        print((linted.stdout + linted.stderr).rpartition("Broken contracts")[2].strip("\n-"))
    if problems or linted.returncode:
        sys.exit(1)


if __name__ == "__main__":
    main()
