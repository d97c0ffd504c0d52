"""Signatures, parameter notes and docstrings, read from source: nothing is imported."""
from __future__ import annotations

import ast
import html
import io
import re
import textwrap
import tokenize
from dataclasses import dataclass, field

from .prose import fenced

Function = ast.FunctionDef | ast.AsyncFunctionDef
SECTION = re.compile(r"^([A-Z][A-Za-z ]+)\n-{3,}[ \t]*$", flags=re.M)


@dataclass
class Doc:
    "A numpy-style docstring, taken apart."
    text: str = ""                                          # What stands before the sections
    parameters: dict[str, str] = field(default_factory=dict)  # Parameters and attributes
    returns: str = ""
    raises: dict[str, str] = field(default_factory=dict)
    rest: list[tuple[str, str]] = field(default_factory=list)  # Other sections: title, text


def entries(
    text: str,  # The body of a section
) -> list[tuple[str, str]]:  # (line that is not indented, what is indented below it)
    "Cut a section at its lines that are not indented."
    found: list[tuple[str, list[str]]] = []
    for line in text.strip("\n").splitlines():
        if line.strip() and not line.startswith((" ", "\t")):
            found.append((line.strip(), []))
        elif found:
            found[-1][1].append(line.strip())
    return [(head, " ".join(filter(None, lines))) for head, lines in found]


def parsed(docstring: str) -> Doc:
    "Read a docstring's sections."
    parts = SECTION.split(docstring)
    doc = Doc(text=parts[0].strip())
    for title, body in zip(parts[1::2], parts[2::2]):
        if title in ("Parameters", "Attributes", "Other Parameters"):
            named = ((name, note) for head, note in entries(body) for name in head.partition(":")[0].split(","))
            doc.parameters |= {name.strip().lstrip("*"): note for name, note in named}
        elif title in ("Returns", "Yields"):
            doc.returns = " ".join(filter(None, (note or head for head, note in entries(body))))
        elif title == "Raises":
            doc.raises |= dict(entries(body))
        else:
            doc.rest.append((title, textwrap.dedent(body).strip("\n")))
    return doc


def arguments(function: Function) -> list[tuple[ast.arg, ast.expr | None, str]]:  # Parameter, default, stars
    "List the parameters with their defaults, `self` and `cls` apart."
    a = function.args
    plain = [*a.posonlyargs, *a.args]
    defaults = [*[None] * (len(plain) - len(a.defaults)), *a.defaults, None, *a.kw_defaults, None]
    args = [*((arg, "") for arg in plain), (a.vararg, "*"), *((arg, "") for arg in a.kwonlyargs), (a.kwarg, "**")]
    return [(arg, default, stars) for (arg, stars), default in zip(args, defaults)
            if arg is not None and arg.arg not in ("self", "cls")]


def comments(
    source: str,
) -> dict[int, str]:  # Line, from 1 -> the comment at its end
    "Find the comments of a source."
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return {t.start[0]: t.string.lstrip("# ").strip() for t in tokens if t.type == tokenize.COMMENT}


def notes(
    function: Function,
    remarks: dict[int, str],  # From `comments`
) -> dict[str, str]:          # Parameter -> its note; the key `return` for the result's
    "Read the comments that stand beside parameters and beside the result."
    found = {a.arg: remarks[a.end_lineno] for a, _, _ in arguments(function) if a.end_lineno in remarks}
    result = function.returns
    if result is not None and result.end_lineno in remarks and result.end_lineno < function.body[0].lineno:
        last = max([a.end_lineno for a, _, _ in arguments(function)], default=0)
        if result.end_lineno > last or len(found) == 0:
            found["return"] = remarks[result.end_lineno]
    return found


def signature(
    function: Function,
    name: str,        # As shown
    width: int = 88,  # Characters of the longest line
) -> str:
    "Write a signature; one parameter a line when it is long."
    prefix = "async def" if isinstance(function, ast.AsyncFunctionDef) else "def"
    tail = f" -> {ast.unparse(function.returns)}" if function.returns is not None else ""
    whole = f"{prefix} {name}({ast.unparse(function.args)}){tail}"
    if len(whole) <= width:
        return whole
    return f"{prefix} {name}(\n" + "".join(f"    {item},\n" for item in items(function.args)) + f"){tail}"


def items(a: ast.arguments) -> list[str]:
    "Write each parameter of a signature, with the marks between them."
    def one(arg: ast.arg, default: ast.expr | None = None) -> str:
        equals = " = " if arg.annotation else "="
        return ast.unparse(arg) + ("" if default is None else equals + ast.unparse(default))

    plain = [*a.posonlyargs, *a.args]
    found = list(map(one, plain, [None] * (len(plain) - len(a.defaults)) + list(a.defaults)))
    if a.posonlyargs:
        found.insert(len(a.posonlyargs), "/")
    found += [f"*{one(a.vararg)}"] if a.vararg else ["*"] if a.kwonlyargs else []
    return [*found, *map(one, a.kwonlyargs, a.kw_defaults), *([f"**{one(a.kwarg)}"] if a.kwarg else [])]


def code(
    value: ast.AST | str | None,  # An expression, or its text
) -> str:
    "Write an expression so that it can stand in a table."
    text = value if isinstance(value, str) else ast.unparse(value) if value is not None else ""
    return f"<code>{html.escape(text).replace('|', '&#124;')}</code>" if text else ""


def cell(text: str) -> str:
    "Write a note so that it can stand in a table."
    return re.sub(r"(?<!\\)\|", r"\\|", " ".join(text.split()))


def table(
    rows: list[tuple[str, str, str, str]],  # Name, type, default, note: Markdown
    first: str = "parameter",               # Title of the first column
) -> str:
    "Lay out parameters; narrow screens stack the cells."
    if not rows:
        return ""
    lines = [f"| {first} | type | default | note |", "|---|---|---|---|", *(f"| {' | '.join(row)} |" for row in rows)]
    return '<div class="params" markdown="1">\n\n' + "\n".join(lines) + "\n\n</div>"


def parameter_table(
    function: Function,
    remarks: dict[int, str],  # Comments by line
    doc: Doc,                 # Of the function, or of its class
) -> str:
    "Lay out what each parameter means: the comment beside it, or what the docstring says."
    said = {**doc.parameters, **notes(function, remarks)}
    result = said.pop("return", doc.returns)
    found = arguments(function)
    if not any(said.get(a.arg) for a, _, _ in found) and not result:
        return ""
    rows = [(f"`{stars}{a.arg}`", code(a.annotation), code(default), cell(said.get(a.arg, "")))
            for a, default, stars in found]
    if function.returns is not None and result:
        rows.append(("*returns*", code(function.returns), "", cell(result)))
    return table(rows)


def described(
    value: ast.expr | None,  # What a field is set to
) -> tuple[ast.expr | None, str]:  # Its default, its description
    "Unwrap `Field(default, description=…)` and `field(default=…)`."
    if not isinstance(value, ast.Call) or ast.unparse(value.func).rpartition(".")[2] not in ("Field", "field"):
        return value, ""
    named = {k.arg: k.value for k in value.keywords}
    default = value.args[0] if value.args else named.get("default", named.get("default_factory"))
    words = named.get("description")
    text = words.value if isinstance(words, ast.Constant) else ""
    missing = default is not None and ast.unparse(default) in ("...", "Ellipsis")
    return (None if missing else default), str(text)


def field_table(
    owner: ast.ClassDef,
    remarks: dict[int, str],  # Comments by line
    doc: Doc,
) -> str:
    "Lay out the fields of a dataclass or a model."
    rows = []
    for node in owner.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and not node.target.id.startswith("_"):
            default, words = described(node.value)
            note = remarks.get(node.end_lineno) or words or doc.parameters.get(node.target.id, "")
            rows.append((f"`{node.target.id}`", code(node.annotation), code(default), cell(note)))
    return table(rows, "field")


def doc_blocks(doc: Doc) -> list[str]:
    "What a docstring says besides its parameters."
    return [*filter(None, [doc.text]), *(f"**{title}**\n\n{body}" for title, body in doc.rest)]


def raised(doc: Doc) -> str:
    "The errors that a docstring names, as a list."
    lines = "\n".join(f"- `{name}`: {note}" if note else f"- `{name}`" for name, note in doc.raises.items())
    return f"**Raises**\n\n{lines}" if lines else ""


def function_blocks(
    function: Function,
    name: str,                # As shown in the signature
    remarks: dict[int, str],
    outer: Doc | None = None,  # Docstring of its class, for a constructor
) -> list[str]:
    "Signature, docstring, parameters, errors."
    doc = parsed(ast.get_docstring(function) or "")
    merged = Doc(parameters={**(outer.parameters if outer else {}), **doc.parameters}, returns=doc.returns)
    marks = "".join(f"@{ast.unparse(d)}\n" for d in function.decorator_list if ast.unparse(d) in MARKS)
    blocks = [fenced(marks + signature(function, name), "python", "signature"), *doc_blocks(doc)]
    return [*blocks, parameter_table(function, remarks, merged), raised(doc)]


MARKS = {"property", "classmethod", "staticmethod", "cached_property", "abstractmethod"}


def class_blocks(
    owner: ast.ClassDef,
    remarks: dict[int, str],
    level: int,  # Of the class's own heading
) -> list[str]:
    "A class: bases, docstring, constructor or fields, errors, then its methods under headings."
    doc = parsed(ast.get_docstring(owner) or "")
    bases = ", ".join(map(ast.unparse, [*owner.bases, *owner.keywords]))
    init = next((n for n in owner.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"), None)
    head = f"class {owner.name}({bases})" if bases else f"class {owner.name}"
    made = function_blocks(init, owner.name, remarks, doc) if init else [field_table(owner, remarks, doc)]
    blocks = [fenced(head, "python", "signature"), *doc_blocks(doc), *made, raised(doc)]
    for method in owner.body:
        if not isinstance(method, Function) or method.name.startswith("_") and method.name != "__call__":
            continue
        name = f"{owner.name}.{method.name}"
        blocks.append(f"{'#' * (level + 1)} `{name}` {{ #{name} .api }}")
        blocks += function_blocks(method, method.name, remarks)
    return blocks


@dataclass
class Symbol:
    "A public name of a module."
    name: str
    kind: str           # `class`, `function` or `value`
    summary: str        # First line of its docstring
    blocks: list[str]   # Markdown below its heading


def symbols(
    source: str,    # An exported cell
    level: int = 2,  # Of the headings of its names
) -> list[Symbol]:
    "Every public class, function and constant of a source."
    found, remarks = [], comments(source)
    for node in ast.parse(source).body:
        if isinstance(node, Function | ast.ClassDef) and not node.name.startswith("_"):
            kind = "class" if isinstance(node, ast.ClassDef) else "function"
            summary = (ast.get_docstring(node) or "").partition("\n")[0]
            made = class_blocks(node, remarks, level) if kind == "class" else function_blocks(node, node.name, remarks)
            found.append(Symbol(node.name, kind, summary, [b for b in made if b]))
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            found += constants(node, source, remarks)
    return found


def constants(node: ast.Assign | ast.AnnAssign, source: str, remarks: dict[int, str]) -> list[Symbol]:
    "A constant, with its value when that is short."
    target = node.targets[0] if isinstance(node, ast.Assign) else node.target
    if not isinstance(target, ast.Name) or target.id.startswith("_"):
        return []
    text = ast.get_source_segment(source, node) or ""
    lines = text.splitlines()
    if len(lines) > 12:
        text = "\n".join([*lines[:10], "    …"])
    note = remarks.get(node.lineno, "")
    return [Symbol(target.id, "value", note, [fenced(text, "python", "signature"), *([note] if note else [])])]
