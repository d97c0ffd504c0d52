"""The project itself: requirements, lazy import, documented API, notebooks, README."""
from __future__ import annotations

import ast
import copy
import fnmatch
import importlib
import importlib.util
import inspect
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from configparser import ConfigParser
from functools import cache
from pathlib import Path
from typing import get_origin

import pytest
import yaml
from conftest import syntax, write

import ragnb
from tools import readme, rooms

ROOT = Path(__file__).resolve().parent.parent
NBS = ROOT / "nbs"
PACKAGE = ROOT / "ragnb"
MODULES = {".".join(p.relative_to(PACKAGE).with_suffix("").parts): p for p in sorted(PACKAGE.rglob("*.py")) if not p.stem.startswith("_")}
NOTEBOOKS = sorted(p for p in NBS.rglob("*.ipynb") if not any(part.startswith((".", "_")) for part in p.relative_to(NBS).parts))
IMPORT_NAMES = {  # Where a distribution is not imported by its own name
    "llama-index": "llama_index.core", "llama-index-core": "llama_index.core",
    "llama-index-vector-stores-chroma": "llama_index.vector_stores.chroma",
    "llama-index-embeddings-ollama": "llama_index.embeddings.ollama",
    "llama-index-llms-ollama": "llama_index.llms.ollama", "llama-index-workflows": "workflows",
    "llama-index-llms-openai-like": "llama_index.llms.openai_like",
    "llama-index-embeddings-openai-like": "llama_index.embeddings.openai_like",
    "llama-index-vector-stores-qdrant": "llama_index.vector_stores.qdrant", "rank-bm25": "rank_bm25",
    "opensearch-py": "opensearchpy", "ir-measures": "ir_measures", "pyyaml": "yaml",
    "llama-index-retrievers-bm25": "llama_index.retrievers.bm25", "haystack-ai": "haystack", "pystemmer": "Stemmer",
    "ipython": "IPython", "scikit-learn": "sklearn", "markdown-it-py": "markdown_it"}


def settings() -> dict[str, str]:
    "The project's settings.ini."
    config = ConfigParser(delimiters=["="])
    config.read(ROOT / "settings.ini", encoding="utf-8")
    return dict(config["DEFAULT"])


def requirements(key: str) -> set[str]:
    "What one key of settings.ini declares."
    names = (re.match(r"[\w.-]+", line.strip())[0].lower() for line in settings()[key].splitlines() if line.strip())
    return {IMPORT_NAMES.get(name, name.replace("-", "_")) for name in names}


@cache
def imports(path: Path) -> list[tuple[str, bool]]:
    "Third-party imports of a file."
    nodes, found = syntax()[path.relative_to(PACKAGE).as_posix()], []
    late = {id(node) for outer in nodes if isinstance(outer, (ast.FunctionDef, ast.AsyncFunctionDef))
            or isinstance(outer, ast.If) and ast.unparse(outer.test) == "TYPE_CHECKING" for node in ast.walk(outer)}
    for node in nodes:
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            if name.split(".")[0] not in sys.stdlib_module_names | {"ragnb"}:
                found.append((name, id(node) not in late))
    return found


def declared(name: str, among: set[str]) -> bool:
    "True when a requirement provides the import."
    return any(name == other or name.startswith(other + ".") for other in among)


# --- settings and imports
def test_version_is_the_one_of_settings() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    newest = re.search(r"^## \[([^\]]+)\]", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), flags=re.M)
    assert ragnb.__version__ == settings()["version"] == cited["version"] == newest[1]
    assert cited["license"] in (ROOT / "setup.py").read_text(encoding="utf-8") and cited["authors"] == [{"name": settings()["author"]}]


def test_every_requirement_is_used() -> None:
    found = {name for path in [PACKAGE / "__init__.py", *MODULES.values()] for name, _ in imports(path)}
    unused = [name for name in sorted(requirements("requirements")) if not any(declared(other, {name}) for other in found)]
    assert not unused, "required, but no module imports it"


def test_every_import_is_required() -> None:
    needed, optional = requirements("requirements"), requirements("dev_requirements") | {"starlette", "anyio"}   # fastapi and mcp are made of them
    missing = [f"{module} imports {name}" for module, path in MODULES.items() for name, at_once in imports(path)
               if not (declared(name, needed) or (not at_once and declared(name, optional)))]
    assert not missing, "add it to requirements, or import it in the function and add it to dev_requirements"


def test_import_is_light_and_names_load_when_used() -> None:
    code = """
import sys, ragnb
heavy = {'llama_index', 'chromadb', 'kiwipiepy', 'sklearn', 'scipy', 'numpy', 'jinja2'}
assert not heavy & set(sys.modules), sorted(heavy & set(sys.modules))
assert ragnb.Span(0, 2).of('연차') == '연차' and 'Span' in dir(ragnb)
assert not {'llama_index', 'chromadb'} & set(sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


# --- the public names
def public_names() -> list[tuple[str, str]]:
    "(module, name) of every `__all__`."
    pairs = []
    for module, path in MODULES.items():
        for node in syntax()[path.relative_to(PACKAGE).as_posix()][0].body:
            if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
                pairs += [(module, name) for name in ast.literal_eval(node.value)]
    return pairs


def functions(value: object, name: str) -> Iterator[tuple[str, Callable, str | None]]:
    "The function, or the class's own public methods; what LlamaIndex prescribes is not ours to type."
    if inspect.isfunction(value):
        yield name, value, value.__doc__
    if not inspect.isclass(value):
        return
    foreign = [base for base in value.__mro__ if not base.__module__.startswith("ragnb")]
    for attribute, member in vars(value).items():
        member = getattr(member, "__func__", None) or getattr(member, "fget", None) or member
        prescribed = any(attribute in vars(base) for base in foreign)
        public = attribute == "__init__" or not (attribute.startswith("_") or prescribed)
        if public and inspect.isfunction(member) and member.__module__.startswith("ragnb"):
            docs = (getattr(vars(base).get(attribute), "__doc__", None) for base in value.__mro__)
            yield f"{name}.{attribute}", member, next(filter(None, docs), None)


def undocumented(value: object, name: str) -> Iterator[str]:
    "Docstrings and types that a public function or class lacks; a constant or a type alias needs none."
    if get_origin(value) or not (inspect.isfunction(value) or inspect.isclass(value)):
        return
    if not (vars(value).get("__doc__") if inspect.isclass(value) else value.__doc__):
        yield f"{name} has no docstring"
    for label, function, doc in functions(value, name):
        constructor = label.endswith(".__init__")
        if not (constructor or doc):
            yield f"{label} has no docstring"
        signature = inspect.signature(function)
        untyped = [p for p, v in signature.parameters.items() if p not in ("self", "cls") and v.annotation is v.empty]
        if untyped:
            yield f"{label}: no type for {', '.join(untyped)}"
        if not constructor and signature.return_annotation is signature.empty:
            yield f"{label}: no return type"


def test_public_names_are_documented_and_typed() -> None:
    names = public_names()
    missing = [f"{module}: {lack}" for module, name in names
               for lack in undocumented(getattr(importlib.import_module(f"ragnb.{module}"), name), name)]
    assert len(names) > 200 and not missing, "\n".join(missing)


# --- the notebooks
def text(cell: dict) -> str:
    "Its source as one string."
    return "".join(cell["source"])


def relative(path: Path) -> str:
    "Its name in test reports."
    return path.relative_to(NBS).as_posix()


def module_of(notebook: dict) -> str | None:
    "The module it writes, if any."
    found = re.search(r"^#\| *default_exp +(\S+)", "\n".join(map(text, notebook["cells"])), flags=re.M)
    return found and found[1]


@cache
def pages() -> dict[str, dict]:
    "Every notebook by its name, read once; not to be changed."
    found = {relative(path): json.loads(path.read_text(encoding="utf-8")) for path in NOTEBOOKS}
    assert len(found) > 50
    return found


def cells(kind: str = "") -> Iterator[tuple[str, dict]]:
    "The cells of every notebook."
    return ((name, cell) for name, page in pages().items() for cell in page["cells"] if kind in ("", cell["cell_type"]))


def test_notebooks_start_with_title_and_gain() -> None:
    wrong = []
    for name, page in pages().items():
        first = next(cell for cell in page["cells"] if cell["cell_type"] != "raw")
        told = re.match(r"# \S.*\n", text(first)) and re.search(r"^> \S", text(first), flags=re.M)
        wrong += [] if first["cell_type"] == "markdown" and told else [name]
    assert not wrong


def test_notebooks_and_modules_belong_together() -> None:
    wrong = []
    for name, page in pages().items():
        module = module_of(page)
        if module is None:
            apart = Path(name).stem in ("index", "guide") or re.search("lesson|tutorial|stud", name)
        else:
            apart = re.search(rf"\.\./nbs/{re.escape(name)}\b", MODULES[module].read_text(encoding="utf-8"))
        wrong += [] if apart else [f"{name}: {module}"]
    assert not wrong, "writes no module (and is no index, guide, lesson, tutorial or study), or another notebook's"


def test_modules_have_their_notebooks() -> None:
    sources = {module: re.search(r"File to edit: (?:\.\./)+nbs/(\S+\.ipynb)", path.read_text(encoding="utf-8"))
               for module, path in MODULES.items()}
    assert not [module for module, source in sources.items() if not (source and (NBS / source[1]).is_file())]


@pytest.mark.parametrize("name, said", [("01_span", None), ("span", "needs a number"), ("1_span", "needs a number"), ("02_text", "another name")])
def test_a_notebook_has_its_place_in_the_room_in_its_name(name: str, said: str | None, tmp_path: Path) -> None:
    notebook = json.dumps({"cells": [{"source": ["#| default_exp documents.span"]}]})
    write(tmp_path, {f"nbs/00_documents/{name}.ipynb": notebook, "ragnb/documents/span.py": ""})
    found = rooms.misplaced(tmp_path)
    assert found == [] if said is None else len(found) == 1 and said in found[0]


def test_the_figures_count_what_there_is_to_hold(tmp_path: Path) -> None:
    source = 'def _a():\n    "Twice."\n    x, y = 1, 2\n    return x\n\n\ndef b():\n    return _a()\n'
    assert rooms.figures([source]) == ("1 modules, 8 lines, 2 functions, 1 private functions used once, 4.6 tokens a line, "
                                       "16.7 % of statements assign a tuple")
    write(tmp_path, {"p/a.py": "def f():\n    from .b import g\n", "p/b.py": "import json\nimport p.c\n", "p/c.py": "", "p/d.py": ""})
    assert {path.stem for path in rooms.reached("p.a", tmp_path)} == {"a", "b", "c"}


def test_notebooks_show_in_jupyter_as_on_the_site() -> None:
    quarto = [f"{name}: {line}" for name, cell in cells("markdown") for line in text(cell).splitlines() if re.match(r":::|`{3,}\{", line)]
    assert not quarto, "JupyterLab shows these as text: write ```mermaid, and `> **Note.** …` (Note, Tip, Important, Warning, Caution)"


def test_notebooks_have_no_failed_or_large_output() -> None:
    wrong = []
    for name, cell in cells("code"):
        for output in cell.get("outputs", []):
            shown = {"text": output.get("text", ""), **output.get("data", {})}
            sizes = {kind: len(json.dumps(value, ensure_ascii=False).encode()) for kind, value in shown.items() if not kind.startswith("image/")}
            if output["output_type"] == "error" or max(sizes.values()) > 20_000:
                wrong.append(f"{name}: {output['output_type']} {sizes} {text(cell)[:80]}")
    assert not wrong, "\n".join(wrong)


def is_exported(cell: dict) -> bool:
    "True for a code cell that goes into the module."
    return cell["cell_type"] == "code" and bool(re.search(r"^#\| *exports?\b", text(cell), flags=re.M))


@cache
def exported() -> list[tuple[str, str, ast.Module]]:
    "(notebook, source, tree) of every exported cell."
    found = [(name, text(cell), ast.parse(text(cell))) for name, cell in cells("code") if is_exported(cell)]
    assert len(found) > 500
    return found


def test_no_cell_exports_the_package_or_adds_to_a_class() -> None:
    """"Run All" runs what is on the page. A method that is added later is not seen by editors and type checkers."""
    found = [f"{name}: {text(cell)[:120]}" for name, cell in cells("code") if "nbdev_export" in text(cell)]
    assert not found + [f"{name}: {source[:120]}" for name, source, _ in exported() if re.search(r"^@patch\b", source, flags=re.M)]


def test_notebooks_show_after_telling() -> None:
    told = followed = 0
    for page in pages().values():
        for cell, after in zip(page["cells"], [*page["cells"][1:], None]):
            if is_exported(cell) and not only_imports(cell):
                told += 1
                followed += after is not None and is_exported(after)
    assert followed <= 0.25 * told, f"{followed} of {told} exported cells are followed by another one"


def only_imports(cell: dict) -> bool:
    "True for a cell that holds nothing but imports."
    body = ast.parse(text(cell)).body
    return all(isinstance(node, (ast.Import, ast.ImportFrom, ast.If)) for node in body)


def test_lines_fit_the_page() -> None:
    long = [f"{name}: {line[:60]}…" for name, cell in cells("code") if not name.startswith("studies/")
            for line in text(cell).splitlines() if len(line) > 120]
    for path in sorted((ROOT / "tools").rglob("*.py")):
        lines = enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        long += [f"{path.relative_to(ROOT)}:{n}" for n, line in lines if len(line) > 120]
    assert not long, "\n".join(long)


def test_notebooks_are_clean() -> None:
    from nbdev.clean import clean_nb

    wrong = []
    for name, page in pages().items():
        cleaned = copy.deepcopy(page)
        clean_nb(cleaned)
        ids = [cell["id"] for cell in page["cells"]]
        wrong += [] if cleaned == page and len(ids) == len(set(ids)) else [name]
    assert not wrong, "run nbdev_clean; or two cells have the same id"


def test_no_path_of_one_machine() -> None:
    suffixes = {".ipynb", ".py", ".md", ".txt", ".jsonl", ".json", ".csv", ".yml", ".ini", ""}
    folders = (ROOT / name for name in ("nbs", "ragnb", "tests", "data", "tools", "docs", "benchmarks", ".ci", ".github"))
    paths = [p for folder in folders for p in sorted(folder.rglob("*")) if "__pycache__" not in p.parts and ".ipynb_checkpoints" not in p.parts]
    paths += [p for p in ROOT.iterdir() if p.name not in ("LICENSE", ".git")]
    found = []
    for path in (p for p in paths if p.is_file() and p.suffix in suffixes):
        lines = path.read_text(encoding="utf-8").splitlines()
        found += [f"{path.relative_to(ROOT)}:{n}: {line.strip()[:120]}" for n, line in enumerate(lines, 1)
                  if re.search(r"(?<![\w.~*/])/(?:home|root|tmp|work)(?:/|\b)", line) and '"image/' not in line]
    assert not found, "\n".join(found)


# --- tools/readme.py


def code(source: str, *outputs: dict) -> dict:
    "A code cell."
    return {"cell_type": "code", "source": source.splitlines(keepends=True), "outputs": list(outputs)}


def shown(**data: str) -> dict:
    "What a cell displayed; `text_plain` stands for `text/plain`."
    return {"output_type": "execute_result", "data": {kind.replace("_", "/"): value for kind, value in data.items()}}


def test_readme_rewrites_markdown_for_github() -> None:
    source = """See [spans](00_span.ipynb#span), [data](../data/corpus), [web](https://x.invalid/a), [below](#map), `Span`.

> **Note.** Read [this](01_text.ipynb).
>
> Then that.

> **Tip.**
>
> - one

> a **Note.** in a quotation

```mermaid
flowchart LR
```

```md
[kept](00_span.ipynb)
```"""
    expected = source
    for old, new in (("](00_span.ipynb#span)", "](nbs/00_span.ipynb#span)"), ("](../data", "](data"), ("> **Tip.**", "> [!TIP]"),
                     ("> **Note.** Read [this](", "> [!NOTE]\n> Read [this](nbs/")):
        expected = expected.replace(old, new)
    assert readme.markdown(source, "nbs") == expected


def test_readme_honours_directives_and_outputs() -> None:
    printed = {"output_type": "stream", "name": "stdout", "text": ["one\n", "two\n"]}
    cells = [{"cell_type": "markdown", "source": ["# T\n", "\n", "> gain"]}, code("#| hide\nimport nbdev"),
             code("#| echo: false\nfigure()", shown(image_png="YWJj", text_plain="<Figure>")),
             code("#| eval: false\nrun()"), code("#| output: false\nquiet()", printed),
             code("show()", printed, shown(text_plain="'`x`'", text_html="<b>x</b>"))]
    text, figures = readme.readme({"cells": cells})
    assert figures == {"nbs/figures/index-1.png": b"abc"}
    assert text.split("\n\n", 1)[1] == """# T

> gain

![figure 1](nbs/figures/index-1.png)

```python
run()
```

```python
quiet()
```

```python
show()
```

```text
one
two
```

```text
'`x`'
```
"""


def test_readme_check_tells_a_difference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "nbs").mkdir()
    source = tmp_path / "nbs" / "index.ipynb"
    source.write_text(json.dumps({"cells": [{"cell_type": "markdown", "source": "# T"}, code("1", shown(image_png="YWJj"))]}))
    monkeypatch.setattr(readme, "ROOT", tmp_path)
    monkeypatch.setattr(readme, "SOURCE", source)
    monkeypatch.setattr(sys, "argv", ["readme.py", "--check"])
    with pytest.raises(SystemExit, match="make readme"):
        readme.main()
    monkeypatch.setattr(sys, "argv", ["readme.py"])
    readme.main()
    monkeypatch.setattr(sys, "argv", ["readme.py", "--check"])
    readme.main()
    (tmp_path / "nbs" / "figures" / "index-9.png").write_bytes(b"left over")
    with pytest.raises(SystemExit, match="make readme"):
        readme.main()


def test_public_names_have_one_home():
    """`ragnb.NAME` would otherwise depend on the order of modules."""
    from ragnb._modidx import d
    homes: dict[str, set[str]] = {}
    for module, symbols in d["syms"].items():
        for symbol in symbols:
            if re.fullmatch(rf"{re.escape(module)}\.[A-Za-z]\w*", symbol):
                homes.setdefault(symbol.rpartition(".")[2], set()).add(module)
    assert len(homes) > 200 and {n: m for n, m in homes.items() if len(m) > 1} == {}


def test_make_lets_python_keep_compiled_modules() -> None:
    """Where the environment forbids it, each of the hundreds of processes that tests start compiled all modules again: 5.2 CPU seconds instead of 1.9."""
    done = subprocess.run(["make", "-s", "--eval", "shown: ; @env", "shown"], cwd=ROOT, env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},
                          capture_output=True, text=True, check=True)
    assert "PYTHONDONTWRITEBYTECODE" not in done.stdout and "PYTHONUTF8=1" in done.stdout


def test_chores_install_no_quarto_and_run_tests_that_exist() -> None:
    places = [ROOT / "Makefile", *(p for folder in (".ci", ".github", "tools") for p in (ROOT / folder).rglob("*") if p.suffix != ".pyc")]
    texts = {path: path.read_text(encoding="utf-8") for path in filter(Path.is_file, places)}
    assert not [path for path, text in texts.items() if re.search(r"nbdev_(docs|preview|proc_nbs|prepare|readme|install)", text)]
    named = {name for path, text in texts.items() if path.suffix == ".yml" for name in re.findall(r"\btests/[\w/]+(?:\.py)?", text)}
    assert named and [name for name in sorted(named) if not (ROOT / name).exists()] == []


# --- licences
OWN = {".py", ".ipynb", ".md", ".json", ".jsonl", ".txt", ".html", ".yml", ".csv", ".ini", ".cff", ".in", ".pyi", ".typed"}


def test_everything_that_others_made_has_its_licence_listed() -> None:
    """A file that is no text of ours is in the table of THIRD_PARTY.md, and each of its rows has files and a licence."""
    rows = [[cell.strip() for cell in row.split("|")[1:-1]] for row in (ROOT / "THIRD_PARTY.md").read_text(encoding="utf-8").split("## ")[0].splitlines()
            if row.startswith("| `")]
    patterns = {pattern: row for row in rows for pattern in re.findall(r"`([^`]+)`", row[0])}
    there = {path.relative_to(ROOT).as_posix(): path for folder in ("ragnb", "nbs", "docs", "data", "benchmarks", "tests", "tools") for path in (ROOT / folder).rglob("*")
             if path.is_file() and not any(part.startswith((".", "__pycache__")) for part in path.relative_to(ROOT).parts)}
    foreign = [name for name, path in there.items() if path.suffix not in OWN | {".css", ".js"} or name.startswith("docs/vendor/") and path.suffix in {".css", ".js"}]
    listed = {name for name in foreign if any(fnmatch.fnmatch(name, pattern) for pattern in patterns)}
    texts = {text for row in rows for text in re.findall(r"`([^`]+)`", row[3])}
    assert sorted(set(foreign) - listed - texts) == [], "THIRD_PARTY.md does not have these"
    assert all(fnmatch.filter(foreign, pattern) and row[2] for pattern, row in patterns.items()) and all((ROOT / text).is_file() for text in texts)
    packages = json.loads((ROOT / "docs/vendor/vendor.json").read_text(encoding="utf-8"))["packages"]
    assert all(f"{name} {version}" in " ".join(row[1] for row in rows).lower() for name, version in packages.items())
