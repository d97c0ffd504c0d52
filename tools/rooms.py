"""Check that modules and notebooks belong together, that no move left anything, and that imports keep the rooms' order.

`nbdev_export` deletes nothing: a notebook that was moved leaves its old module and its entries in `_modidx.py`.

    python tools/rooms.py               # what is wrong
    python tools/rooms.py --figures     # for information: what there is to hold in the head
"""
from __future__ import annotations

import argparse
import ast
import io
import json
import re
import subprocess
import sys
import tokenize
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SHEDS = ("adapters", "agent", "evaluation", "files", "laws", "opensearch", "sections", "serve")
LAYOUT = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)


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


def figures(
    sources: list[str],  # Of modules
) -> str:                # A line
    "Count lines, tokens of a line, and assignments of several things at once; docstrings are no tokens."
    counts: Counter[str] = Counter(modules=len(sources))
    for source in sources:
        tree = ast.parse(source)
        statements = [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]
        pairs = [node for node in statements if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple)]
        functions = [node for node in statements if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
        private = [node.name for node in functions if re.match("_[a-z]", node.name)]
        read = tokenize.generate_tokens(io.StringIO(source).readline)
        tokens = [token for token in read if token.type not in LAYOUT]
        texts = {node.value.lineno for node in statements if isinstance(node, ast.Expr)
                 and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)}
        code = [token for token in tokens if not (token.type == tokenize.STRING and token.start[0] in texts)]
        counts.update(lines=len(source.splitlines()), statements=len(statements), pairs=len(pairs), tokens=len(code),
                      code=len({token.start[0] for token in code}), functions=len(functions),
                      once=sum(len(re.findall(rf"\b{name}\b", source)) == 2 for name in private))
    width = counts["tokens"] / max(1, counts["code"])
    share = 100 * counts["pairs"] / max(1, counts["statements"])
    return (f"{counts['modules']} modules, {counts['lines']:,} lines, {counts['functions']:,} functions, "
            f"{counts['once']} private functions used once, {width:.1f} tokens a line, "
            f"{share:.1f} % of statements assign a tuple")


def reached(
    start: str = "ragnb.pipeline.pipeline",
    root: Path = ROOT,
) -> list[Path]:  # The module and what it imports, also inside functions
    "Find what one module needs of the package."
    waiting, found = [start], dict[str, Path]()
    while waiting:
        name = waiting.pop()
        path = root.joinpath(*name.split(".")).with_suffix(".py")
        if name in found or not path.is_file():
            continue
        found[name] = path
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                waiting += [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                above = name.split(".")[:-node.level] if node.level else []
                module = ".".join([*above, *(node.module or "").split(".")]).strip(".")
                waiting += [module, *(f"{module}.{alias.name}" for alias in node.names)]
    return list(found.values())


def main() -> None:
    "Say what is wrong, then check the order of imports."
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--figures", action="store_true", help="print sizes instead, for information")
    if parser.parse_args().figures:
        modules = [p for p in sorted((ROOT / "ragnb").rglob("*.py")) if p.stem != "_modidx"]
        shed = [p for p in modules if p.relative_to(ROOT / "ragnb").parts[0] in SHEDS]
        house = [p for p in modules if p not in shed]
        for label, paths in (("house", house), ("sheds", shed), ("reached by a question", reached())):
            print(f"{label}: {figures([p.read_text(encoding='utf-8') for p in paths])}")
        return
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
