"""Markdown as notebooks hold it, rewritten as the site generator (Python-Markdown) reads it."""
from __future__ import annotations

import posixpath
import re
from collections.abc import Callable

from ..readme import fenced as fence, outside

KINDS = {"note": "note", "tip": "tip", "important": "info", "warning": "warning", "caution": "danger"}
CALLOUT = re.compile(r"(?:\*\*(Note|Tip|Important|Warning|Caution)\.?\*\*"
                     r"|\[!(NOTE|TIP|IMPORTANT|WARNING|CAUTION)\])[ \t]*")
ITEM = re.compile(r"(\s{0,3})([-*+]|\d+\.)\s")

Link = Callable[[str], "str | None"]  # A target as written -> as the page needs it; None: no link


def indented(text: str) -> str:
    "Push a block in by four spaces, as a child of a callout or a list item."
    return "\n".join("    " + line if line.strip() else "" for line in text.splitlines())


def fenced(
    text: str,          # Code or printed text
    language: str,      # What to call it
    css: str = "",      # A class of the block
) -> str:
    "Put text in a fence longer than any it holds, of a class of its own where that is wanted."
    return fence(text, f" {{ .{language} .{css} }}" if css else language)


def callouts(
    text: str,  # Markdown
) -> str:
    "Turn quotations that begin with `**Note.**` or `[!NOTE]` into the generator's admonitions."
    def one(m: re.Match) -> str:
        body = re.sub(r"^>[ \t]?", "", m[0], flags=re.M).strip("\n")
        head = CALLOUT.match(body)
        if not head:
            return m[0]
        kind = (head[1] or head[2]).lower()
        rest = body[head.end():].strip("\n")
        return f'!!! {KINDS[kind]} "{kind.capitalize()}"\n\n{indented(rest)}\n'

    return re.sub(r"(?:^>.*\n?)+", one, text, flags=re.M)


def spaced(
    text: str,  # Markdown without fenced blocks
) -> str:
    "Put the empty line that Python-Markdown wants in front of a list or a table, and indent nested items by four."
    out, before = [], ""
    for line in text.splitlines():
        item, in_list = ITEM.match(line), re.match(r"\s*([-*+]|\d+\.)\s|\s{2,}", before)
        table = line.lstrip().startswith("|") and not before.lstrip().startswith("|")
        if before.strip() and (table or (item and not in_list)):
            out.append("")
        nested = item and 2 <= len(item[1]) and in_list
        out.append("  " + line if nested and len(item[1]) == 2 else line)
        before = line
    return "\n".join(out) + "\n" * text.endswith("\n")


def relinked(
    text: str,   # Markdown without fenced blocks
    link: Link,  # Where a target leads
) -> str:
    "Rewrite the targets of links and pictures; a link that leads nowhere here becomes its text."
    def one(m: re.Match) -> str:
        target = link(m[3])
        return m[2] if target is None else f"{m[1]}[{m[2]}]({target})"

    return re.sub(r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^)\s]+)\)", one, text)


def doclinks(
    text: str,                # Markdown without fenced blocks
    pages: dict[str, str],    # Public name -> its place in the API, seen from this page
) -> str:
    "Link `Name` to its API page, as nbdev does; not in headings, and not inside links."
    def line(source: str) -> str:
        if source.startswith("#"):
            return source
        parts = re.split(r"(\[[^\[\]]*\]\([^)]*\)|``+.*?``+)", source)
        mark = r"(?<![`\w\[])`([A-Za-z_][\w.]*)(\([^`]*\))?`(?![`\w])"
        return "".join(re.sub(mark, known, part) if i % 2 == 0 else part for i, part in enumerate(parts))

    def known(m: re.Match) -> str:
        place = pages.get(m[1].removeprefix("ragnb."))
        return f"[{m[0]}]({place})" if place else m[0]

    return "\n".join(map(line, text.split("\n")))


def markdown(
    text: str,                # A Markdown cell, docstring or output
    link: Link,               # Where a target leads
    pages: dict[str, str],    # Public name -> its place in the API, seen from this page
) -> str:
    "Rewrite a Markdown text for the site."
    changed = outside(text, lambda part: spaced(doclinks(relinked(part, link), pages)))
    return callouts(changed).strip("\n")


def linker(
    page: str,            # Path of the page below the site's source, such as `40_retrieval/bm25.md`
    pages: set[str],      # Paths of all pages, in the same form
    blob: str,            # Address of a file in the repository's host, or "" when there is none
    folder: str = "nbs",  # Folder of the notebooks in the repository
) -> Link:
    "Say where the links of one page lead."
    here = posixpath.dirname(page) or "."

    def link(target: str) -> str | None:
        if re.match(r"[a-z][a-z0-9+.-]*:|[#/]", target, flags=re.I):
            return target
        path, mark, anchor = target.partition("#")
        goal = posixpath.normpath(posixpath.join(here, path))
        made = re.sub(rf"^\.\./(?:{folder}|docs)/", "", re.sub(r"\.ipynb$", ".md", goal))  # as links are on disk
        if made in pages:
            return posixpath.relpath(made, here) + mark + anchor
        if re.search(r"\.(png|svg|jpe?g)$", goal) and not goal.startswith(".."):
            return target
        place = posixpath.normpath(posixpath.join(folder, goal))
        return f"{blob}/{place}{mark}{anchor}" if blob else None

    return link
