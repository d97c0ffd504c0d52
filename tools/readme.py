"""Write README.md from nbs/index.ipynb, without Quarto (`--check` only compares)."""
from __future__ import annotations

import base64
import json
import posixpath
import re
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "nbs" / "index.ipynb"
FIGURES = "nbs/figures"
NOTICE = "<!-- Written by tools/readme.py from nbs/index.ipynb: edit the notebook, then `make readme`. -->"


def joined(
    text: str | list[str],  # As notebooks store it
) -> str:
    "A notebook's text as one string."
    return text if isinstance(text, str) else "".join(text)


def directives(
    source: str,  # A code cell
) -> dict[str, str]:  # nbdev's and Quarto's marks: `export`, `echo` -> `false`
    "Read the `#|` lines of a cell."
    return {name: value.strip() for name, value in re.findall(r"^#\| *([\w-]+):? *(.*)$", source, flags=re.M)}


def bare(
    source: str,  # A code cell
) -> str:
    "The cell without its `#|` lines."
    return re.sub(r"^#\|.*\n?", "", source, flags=re.M).strip()


def outside(
    text: str,                       # Markdown
    change: Callable[[str], str],    # What to do with a part that is not code
) -> str:
    "Change what stands outside fenced blocks."
    parts = re.split(r"(^(`{3,}|~{3,}).*?^\2`*[ \t]*$)", text, flags=re.M | re.S)
    return "".join(change(part) if i % 3 == 0 else part for i, part in enumerate(parts) if i % 3 != 2)


def callouts(
    text: str,  # Markdown with quotations that begin with `> **Note.**`
) -> str:
    "Rewrite callouts as GitHub's `> [!NOTE]`."
    mark = r"^> \*\*(Note|Tip|Important|Warning|Caution)\.?\*\*[ \t]*\n?(?=(>|.)?)"

    def one(m: re.Match) -> str:
        return f"> [!{m[1].upper()}]\n" + ("" if m[2] == ">" else "> ")

    return re.sub(mark, one, text, flags=re.M)


def links(
    text: str,    # Markdown without code blocks
    folder: str,  # Where relative targets are relative to, seen from the README
) -> str:
    "Make relative links and images point from the top folder."
    def one(m: re.Match) -> str:
        target = m[2]
        if re.match(r"[a-z][a-z0-9+.-]*:|[#/]", target, flags=re.I):
            return m[0]
        return f"{m[1]}({posixpath.normpath(posixpath.join(folder, target))}"

    return re.sub(r"(\])\(([^)\s]+)", one, text)


def markdown(
    text: str,    # A Markdown cell or output
    folder: str,  # Where its relative links start, seen from the README
) -> str:
    "Rewrite a Markdown text for GitHub; code blocks stay as they are."
    return outside(text, lambda part: callouts(links(part, folder))).strip("\n")


def fenced(
    text: str,      # Code or printed text
    language: str,  # What to call it
) -> str:
    "Put text in a fence longer than any it holds."
    ticks = "`" * max(3, 1 + max(map(len, re.findall(r"`{3,}", text)), default=0))
    text = re.sub(r"\x1b\[[0-9;]*m", "", text).rstrip()
    return f"{ticks}{language}\n{text}\n{ticks}"


def outputs(
    cell: dict,                 # One code cell
    folder: str,                # Where its relative links start, seen from the README
    figures: dict[str, bytes],  # Path to content; new figures are added
) -> list[str]:                 # Markdown blocks, in order
    "Render what a cell showed: figures, Markdown, else plain text."
    blocks: list[str] = []
    printed = "".join(joined(o["text"]) for o in cell.get("outputs", []) if o.get("name") == "stdout")
    if printed.strip():
        blocks.append(fenced(printed, "text"))
    for data in (o.get("data", {}) for o in cell.get("outputs", [])):
        if "image/png" in data:
            path = f"{FIGURES}/index-{len(figures) + 1}.png"
            figures[path] = base64.b64decode(joined(data["image/png"]))
            blocks.append(f"![figure {len(figures)}]({path})")
        elif "text/markdown" in data:
            blocks.append(markdown(joined(data["text/markdown"]), folder))
        elif "text/plain" in data:
            blocks.append(fenced(joined(data["text/plain"]), "text"))
    return blocks


def readme(
    notebook: dict,        # nbs/index.ipynb, parsed
    folder: str = "nbs",   # Its folder, seen from the README
) -> tuple[str, dict[str, bytes]]:  # The README, and its figures by path
    "Turn the index notebook into a README."
    blocks, figures = [NOTICE], {}
    for cell in notebook["cells"]:
        source = joined(cell["source"])
        if cell["cell_type"] == "markdown":
            blocks.append(markdown(source, folder))
        if cell["cell_type"] != "code":
            continue
        marks, code = directives(source), bare(source)
        if marks.keys() & {"hide", "export", "default_exp"} or marks.get("include") == "false":
            continue
        if code and marks.get("echo") != "false" and "hide_input" not in marks:
            blocks.append(fenced(code, "python"))
        if marks.get("output") != "false" and "hide_output" not in marks:
            blocks += outputs(cell, folder, figures)
    return "\n\n".join(b for b in blocks if b.strip()) + "\n", figures


def main() -> None:
    "Write, or with `--check` compare, README.md and its figures."
    text, figures = readme(json.loads(SOURCE.read_text(encoding="utf-8")))
    wanted = {"README.md": text.encode(), **figures}
    stale = [p for p in (ROOT / FIGURES).glob("index-*.png") if p.relative_to(ROOT).as_posix() not in wanted]
    different = [name for name, content in wanted.items()
                 if not (ROOT / name).is_file() or (ROOT / name).read_bytes() != content]
    if "--check" in sys.argv[1:]:
        if different or stale:
            sys.exit("README.md is not what nbs/index.ipynb says: run `make readme`")
        return
    for path in stale:
        path.unlink()
    for name in different:
        (ROOT / name).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / name).write_bytes(wanted[name])


if __name__ == "__main__":
    main()
