"""A notebook as a page, with what it printed and drew when it was last run; its module as a page of the API."""
from __future__ import annotations

import ast
import base64
import html
import json
import posixpath
import re
import textwrap
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import yaml

from ..readme import bare, directives, joined, outside
from .lessons import Lesson, steps
from .prose import Link, fenced, indented, linker, markdown
from .signatures import Symbol, symbols

OPEN_LINES = 30  # A cell marked `exports` is shown open up to this many lines
OTHER_PAGES = ("ko.md", "glossary.md", "changelog.md", "api/index.md")
TOLD = 200       # Characters of a page's description at most


@dataclass
class Notebook:
    "A notebook of the project, and what is known of it before any page is written."
    path: str                 # Below the folder of notebooks: `40_retrieval/01_bm25.ipynb`
    cells: list[dict]
    title: str = ""
    gain: str = ""            # The sentence under the title
    module: str | None = None  # `retrieval.bm25`
    symbols: list[Symbol] = field(default_factory=list)
    uses: set[str] = field(default_factory=set)   # Modules of the package that its module imports

    @property
    def page(self) -> str:
        "Its page below the site's source."
        return re.sub(r"\.ipynb$", ".md", self.path)

    @property
    def api(self) -> str:
        "The page of its module."
        return f"api/{self.module}.md"


def is_exported(marks: dict[str, str]) -> bool:
    "True for a cell that goes into the module."
    return bool(marks.keys() & {"export", "exports"})


def plain(text: str) -> str:
    "A title without Markdown marks."
    return re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", text).strip()


def read(
    folder: Path,  # The folder of notebooks
    path: Path,
) -> Notebook:
    "Read a notebook, with its title, its module and the names that it exports."
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    notebook = Notebook(path.relative_to(folder).as_posix(), cells, title=path.stem)
    prose = "\n\n".join(joined(c["source"]) for c in cells if c["cell_type"] == "markdown")
    if found := re.search(r"^# +(.+)$", prose, flags=re.M):
        notebook.title = plain(found[1])
    if found := re.search(r"^> +(.+)$", prose, flags=re.M):
        notebook.gain = found[1].strip()
    for source in (joined(c["source"]) for c in cells if c["cell_type"] == "code"):
        marks = directives(source)
        notebook.module = marks.get("default_exp", notebook.module)
        if is_exported(marks):
            notebook.symbols += symbols(bare(source))
            notebook.uses |= set(re.findall(r"^ *from ragnb\.([\w.]+) import", source, flags=re.M))
    return notebook


def notebooks(
    folder: Path,
) -> list[Notebook]:  # In the order of the folders
    "Read all notebooks of a folder."
    found = sorted(p for p in folder.rglob("*.ipynb")
                   if not any(part.startswith((".", "_")) for part in p.relative_to(folder).parts))
    return [read(folder, path) for path in found]


def headed(
    text: str,         # A page as Markdown
    told: str,         # Its description
    source: str,       # The file that it is made from, below the project
    blob: str = "",    # Address of the repository's files, or "" when there is no host
) -> str:
    "Put the facts above a page that its head and foot show: description, source, and the address of the source."
    facts = {"description": textwrap.shorten(plain(told), TOLD, placeholder=" …"), "source": source}
    if blob:
        facts["address"] = f"{blob}/{source}"
    return f"---\n{yaml.safe_dump(facts, allow_unicode=True, sort_keys=False, width=1_000)}---\n\n{text}"


@dataclass
class Site:
    "What pages need to know of each other."
    notebooks: list[Notebook]
    package: str = "ragnb"
    blob: str = ""              # `https://github.com/OWNER/NAME/blob/BRANCH`, or "" when there is no host
    folder: str = "nbs"         # Folder of the notebooks in the repository
    lessons: list[Lesson] = field(default_factory=list)   # In the order of learning
    places: dict[str, str] = field(default_factory=dict)  # Public name -> `api/MODULE.md#NAME`

    def __post_init__(self) -> None:
        for notebook in self.notebooks:
            for symbol in notebook.symbols if notebook.module else []:
                if symbol.kind != "value":
                    self.places.setdefault(symbol.name, f"{notebook.api}#{symbol.name}")

    def known(
        self,
        page: str,  # Below the site's source
    ) -> dict[str, str]:
        "The places of all names, seen from a page."
        up = posixpath.relpath(".", posixpath.dirname(page) or ".")
        return {name: posixpath.normpath(posixpath.join(up, place)) for name, place in self.places.items()}

    def link(self, page: str) -> Link:
        "Where the links of a page lead."
        made = {n.page for n in self.notebooks} | {n.api for n in self.notebooks if n.module}
        return linker(page, made | set(OTHER_PAGES), self.blob, self.folder)


def shown_html(
    text: str,  # HTML that a cell displayed
) -> str:
    "A data frame takes the style of the site; a page with a style of its own is kept apart from the site."
    if 'class="dataframe"' in text:
        table = re.sub(r"<style scoped.*?</style>", "", text, flags=re.S).replace(' border="1"', "").strip()
        return '<div class="cell-html">' + re.sub(r"\n\s*", "\n", table) + "</div>"
    inner = html.escape(text, quote=True).replace("\n", "&#10;")
    return f'<div class="cell-html"><ragnb-view data-html="{inner}"></ragnb-view></div>'


def figure(
    data: dict,    # What a cell displayed
    stem: str,     # Name of the picture, without its ending
    folder: Path,  # Where pictures go
) -> str:
    "Store a picture, and refer to it."
    kind, ending = ("image/svg+xml", "svg") if "image/svg+xml" in data else ("image/png", "png")
    content = joined(data[kind])
    (folder / "figures").mkdir(parents=True, exist_ok=True)
    file = folder / "figures" / f"{stem}.{ending}"
    file.write_bytes(content.encode() if ending == "svg" else base64.b64decode(content))
    return f"![{stem}](figures/{file.name}){{ .plot }}"


def printed(
    text: str,  # What a cell printed
) -> str:
    "Printed text; columns stay beside each other, sentences are wrapped."
    columns = len(re.findall(r"\S {3,}\S", text)) > 1
    return fenced(text, "text", "cell-output .columns" if columns else "cell-output")


def output(
    shown: dict,        # One output of a cell
    stem: str,          # Name for a picture
    folder: Path,       # Where pictures go
    link: Link,
) -> str:
    "One output as Markdown; what went to stderr is left out."
    data = shown.get("data", {})
    if shown["output_type"] == "stream":
        return printed(joined(shown["text"])) if shown.get("name") == "stdout" else ""
    if "image/png" in data or "image/svg+xml" in data:
        return figure(data, stem, folder)
    if "text/markdown" in data:
        shown_text = markdown(joined(data["text/markdown"]), link, {})
        return f'<div class="cell-markdown" markdown="1">\n\n{shown_text}\n\n</div>'
    if "text/html" in data:
        return shown_html(joined(data["text/html"]))
    if "text/plain" in data:
        return printed(joined(data["text/plain"]))
    return ""


def only_imports(source: str) -> bool:
    "True for a cell that holds nothing but imports."
    return all(isinstance(node, (ast.Import, ast.ImportFrom, ast.If)) for node in ast.parse(source).body)


def exported(
    source: str,            # The cell, without its marks
    open_: bool,            # Marked `exports`
    known: dict[str, str],  # Names and their places, seen from this page
) -> str:
    "An exported cell: what it defines, each with a link to its reference, and its source."
    found = symbols(source)
    lines = source.count("\n") + 1
    names = [s for s in found if s.kind != "value"]
    bare_name = "imports" if only_imports(source) else "source"
    what = "source" if names else ", ".join(s.name for s in found) or bare_name
    heads = []
    for symbol in names:
        name = f"[`{symbol.name}`]({known[symbol.name]})" if symbol.name in known else f"`{symbol.name}`"
        heads.append(f'<span class="symbol" id="{symbol.name}"></span>**{name}** {symbol.summary}')
    mark = "???+" if open_ and names and lines <= OPEN_LINES else "???"
    title = what if lines <= OPEN_LINES else f"{what}, {lines} lines"
    block = f'{mark} quote "{title}"\n\n{indented(fenced(source, "python"))}'
    return "\n\n".join([*heads, block])


def code_cell(
    cell: dict,
    place: tuple[Notebook, int],  # The notebook, and the number of the cell
    seen: tuple[Link, dict[str, str]],  # Where links lead, and the places of names, seen from this page
    folder: Path,                 # Where its pictures go
) -> list[str]:
    "A code cell and what it showed, as its directives say."
    notebook, number = place
    source = joined(cell["source"])
    marks, code = directives(source), bare(source)
    if marks.keys() & {"hide", "default_exp"} or marks.get("include") == "false":
        return []
    parts = []
    if is_exported(marks):
        parts.append(exported(code, "exports" in marks, seen[1]))
    elif code and marks.get("echo") != "false" and "hide_input" not in marks:
        parts.append(fenced(code, "python"))
    if marks.get("output") != "false" and "hide_output" not in marks:
        stem = f"{Path(notebook.path).stem}-{number}"
        for i, shown in enumerate(cell.get("outputs", [])):
            parts.append(output(shown, f"{stem}-{i}" if i else stem, folder, seen[0]))
    return parts


def notebook_page(
    notebook: Notebook,
    site: Site,
    out: Path,  # The site's source
) -> str:
    "A notebook as Markdown; its pictures are stored beside it."
    link, known = site.link(notebook.page), site.known(notebook.page)
    folder = (out / notebook.page).parent
    parts: list[str] = []
    for number, cell in enumerate(notebook.cells):
        if cell["cell_type"] == "markdown":
            parts.append(markdown(joined(cell["source"]), link, known))
        elif cell["cell_type"] == "code":
            parts += code_cell(cell, (notebook, number), (link, known), folder)
    body = "\n\n".join(p for p in [*parts, steps(site.lessons, notebook.path)[1]] if p.strip())
    return with_source(body, notebook, site) + "\n"


def with_source(body: str, notebook: Notebook, site: Site) -> str:
    "Put a line under the title: the notebook to download, the command that opens it, and the module's reference."
    if notebook.path == "index.ipynb":
        return body
    up = posixpath.relpath(".", posixpath.dirname(notebook.page) or ".")
    links = [f"[Download the notebook]({posixpath.basename(notebook.path)}){{ download }}",
             f"open in JupyterLab: `make lab NB={notebook.path}`"]
    if notebook.module:
        links.append(f"[reference of `{site.package}.{notebook.module}`]({posixpath.join(up, notebook.api)})")
    line = " · ".join(filter(None, [steps(site.lessons, notebook.path)[0], *links]))
    return re.sub(r"\A(# .+\n)", lambda m: f"{m[1]}\n{line}\n{{ .origin }}\n", body + "\n", count=1).rstrip("\n")


def api_page(notebook: Notebook, site: Site) -> str:
    "The reference of a module."
    up = posixpath.relpath(".", posixpath.dirname(notebook.api))
    lesson = posixpath.join(up, notebook.page)
    known = site.known(notebook.api) | {s.name: f"#{s.name}" for s in notebook.symbols}
    # Headings of a docstring become bold lines, so that they stay below their name
    lowered = partial(re.compile(r"^#{1,6} +([^`{\n]+)$", flags=re.M).sub, r"**\1**")
    link = site.link(notebook.page)
    parts = [f"# `{site.package}.{notebook.module}`", notebook.gain,
             f"Explained with examples in [{notebook.title}]({lesson}).\n{{ .origin }}"]
    for symbol in notebook.symbols:
        parts.append(f"## `{symbol.name}` {{ #{symbol.name} .api }}")
        for block in symbol.blocks:
            heading = re.match(r"#{2,4} `", block)
            parts.append(block if heading else markdown(outside(block, lowered), link, known))
        if symbol.kind != "value":
            parts.append(source_line(notebook, symbol, site, lesson))
    return "\n\n".join(p for p in parts if p.strip()) + "\n"


def source_line(
    notebook: Notebook,
    symbol: Symbol,
    site: Site,
    lesson: str,  # The notebook's page, seen from this one
) -> str:
    "Where the source of a name is: its cell on the notebook's page and, where there is a host, the module's file."
    path = f"{site.package}/{notebook.module.replace('.', '/')}.py"
    module = f" · [module]({site.blob}/{path})" if site.blob else ""
    return f"[source and example]({lesson}#{symbol.name}){module}\n{{ .origin }}"


def room(
    notebook: Notebook,
) -> str:  # "" for a notebook of the top folder
    "The folder of a notebook."
    return notebook.path.rpartition("/")[0]


def room_title(
    name: str,  # `40_retrieval`, `studies`
) -> str:
    "A folder's name as a title."
    words = re.sub(r"^\d+_", "", name).replace("_", " ")
    return {"cli": "Command line"}.get(words, words.capitalize())
