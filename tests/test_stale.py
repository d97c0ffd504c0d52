"""What pages say and show is still so: commands of shell blocks, links, and the picture of a page that templates make."""
from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from conftest import ROOT

from ragnb.cli import command_line

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "benchmarks/README.md", *sorted((ROOT / "docs").glob("*.md"))]
NOTEBOOKS = sorted(p for p in (ROOT / "nbs").rglob("*.ipynb") if not any(part.startswith((".", "_")) for part in p.relative_to(ROOT).parts))


def prose() -> Iterator[tuple[Path, str]]:
    """Every page and every Markdown cell of a notebook, with its file."""
    for path in PAGES:
        yield path, path.read_text(encoding="utf-8")
    for path in NOTEBOOKS:
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            if cell["cell_type"] == "markdown":
                yield path, "".join(cell["source"])


def commands(text: str) -> Iterator[list[str]]:
    """The words of each command of the shell blocks that calls ragnb or make."""
    for block in re.findall(r"^```(?:sh|bash|console)\n(.*?)^```", text, flags=re.M | re.S):
        for line in block.replace("\\\n", " ").splitlines():
            for part in re.split(r"&&|\||;", re.sub(r"(^|\s)#.*$", "", line)):
                try:
                    words = shlex.split(part)
                except ValueError:       # a text over several lines, such as a script after python -c
                    continue
                while words and re.fullmatch(r"\$|[A-Z_]+=\S*", words[0]):
                    words = words[1:]
                if words and words[0].rpartition("/")[2] in ("ragnb", "make"):
                    yield [words[0].rpartition("/")[2], *words[1:]]


def test_every_command_of_a_shell_block_is_taken():
    targets = set(re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.M))
    known, wrong, n = command_line([]).commands, [], 0
    for path, text in prose():
        for program, *words in commands(text):
            n += 1
            words = [word for at, word in enumerate(words) if word != "--lang" and words[at - 1:at] != ["--lang"]]
            try:
                if program == "make":
                    assert {word for word in words if "=" not in word and not word.startswith("-")} <= targets
                elif words and words[0] not in ("--help", "--version") and not {"--help", "--help-all"} & {*words}:
                    until = next((at for at, word in enumerate(words) if word in (">", "<", "2>", "&")), len(words))
                    known[words[0]].make_context(words[0], words[1:until], resilient_parsing=False)
            except BaseException as error:
                wrong.append(f"{path.relative_to(ROOT)}: {program} {' '.join(words)}: {error!r}")
    assert n > 100 and wrong == []


def test_every_relative_link_leads_to_a_file():
    wrong, n = [], 0
    for path, text in prose():
        plain = re.sub(r"^(```|~~~).*?^\1|`[^`\n]*`", "", text, flags=re.M | re.S)
        for target in re.findall(r"\]\(([^)\s]+)\)", plain):
            if not re.match(r"[a-z][a-z0-9+.-]*:|#|attachment:", target):
                n += 1
                file = target.partition("#")[0]
                if not (path.parent / file).exists():
                    wrong.append(f"{path.relative_to(ROOT)}: {target}")
    assert n > 300 and wrong == []


def test_a_wrong_command_would_be_found():
    assert [*commands("```sh\nA=1 .venv/bin/ragnb ask \"x\" --budget 5  # told\nmake demo && ragnb ls | head\n```")] == [
        ["ragnb", "ask", "x", "--budget", "5"], ["make", "demo"], ["ragnb", "ls"]]


def test_the_picture_of_the_trace_page_is_of_todays_templates():
    from PIL import Image

    from tools.figures import fingerprint, TRACE
    with Image.open(TRACE) as picture:
        assert picture.text["Description"] == fingerprint(), "draw it again: python tools/figures.py trace"


def test_the_minutes_of_the_lessons_are_those_of_their_list():
    minutes = sum(one["minutes"] for one in json.loads((ROOT / "nbs/lessons/lessons.json").read_text(encoding="utf-8")))
    assert f"lessons, {minutes} minutes]" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"{minutes}분]" in (ROOT / "docs/ko.md").read_text(encoding="utf-8")
