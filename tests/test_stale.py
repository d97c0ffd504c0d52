"""What pages say and show is still so: commands, links, names in diagrams, counts, and pictures with what they were made from."""
from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from conftest import ROOT

from ragnb.cli import command_line

PAGES = [*(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "THIRD_PARTY.md", "data/README.md")),
         *sorted((ROOT / "benchmarks").rglob("README.md")), *sorted((ROOT / "docs").glob("*.md"))]
NOTEBOOKS = sorted(p for p in (ROOT / "nbs").rglob("*.ipynb") if not any(part.startswith((".", "_")) for part in p.relative_to(ROOT).parts))


@cache
def cells(kind: str) -> list[tuple[Path, str]]:
    """Every cell of this kind of every notebook, with its file."""
    return [(path, "".join(cell["source"])) for path in NOTEBOOKS for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == kind]


@cache
def prose() -> list[tuple[Path, str]]:
    """Every page and every Markdown cell of a notebook, with its file."""
    return [(path, path.read_text(encoding="utf-8")) for path in PAGES] + cells("markdown")


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


KNOWN = command_line([])


def wrong_words(command: str) -> list[str]:
    """What of a command in a line of prose is not there: a command, an option of it, a target of make, a program and its options."""
    program, *words = command.split()
    options = {word.partition("=")[0] for word in words if re.fullmatch(r"--[a-z][a-z-]+.*", word)}
    if program == "make":
        return [word for word in words[:1] if not re.search(rf"^{re.escape(word)}:", (ROOT / "Makefile").read_text(encoding="utf-8").replace("$(VENV)", ".venv"), re.M)]
    if program == "python":
        file = ROOT / words[0]
        if not re.fullmatch(r"(benchmarks|tests|tools)/[\w/]+\.py", words[0]):
            return []
        return [words[0]] if not file.is_file() else [o for o in options if not re.search(rf"\b{o[2:].replace('-', '_')}\b|{o}\b", file.read_text(encoding="utf-8"))]
    known = KNOWN
    name = next((word for at, word in enumerate(words) if re.fullmatch(r"[a-z-]+", word) and words[at - 1:at] != ["--lang"] and not word.startswith("-")), None)
    names = [name] if name else []
    every = {opt for one in [known, *(known.commands[n] for n in names if n in known.commands)] for param in one.params for opt in (*param.opts, *param.secondary_opts)}
    return [n for n in names if n not in known.commands] + sorted(options - every - {"--help", "--help-all", "--lang", "--install-completion", "--show-completion"})


def test_every_command_in_a_line_of_prose_is_there():
    wrong, n = [], 0
    for path, text in prose():
        for command in re.findall(r"`((?:ragnb|make|python) [^`\n]+)`", re.sub(r"^(```|~~~).*?^\1", "", text, flags=re.M | re.S)):
            n += 1
            wrong += [f"{path.relative_to(ROOT)}: {command}: {word}" for word in wrong_words(command.replace(",", " "))]
    assert n > 150 and wrong == []
    assert wrong_words("ragnb aks") == ["aks"] and wrong_words("ragnb ask --bugdet 5") == ["--bugdet"] and wrong_words("make demos") == ["demos"]
    assert wrong_words("python benchmarks/gone.py") == ["benchmarks/gone.py"] and wrong_words("python benchmarks/chance.py --not-there") == ["--not-there"]


def anchors(path: Path) -> set[str]:
    """The names by which a link reaches the headings of a page or notebook."""
    headings = re.findall(r"^#+ +(.+)$", "\n".join(text for file, text in prose() if file == path), flags=re.M)
    return {re.sub(r" ", "-", re.sub(r"[^\w\s-]", "", heading.replace("`", "").strip().lower())) for heading in headings}


def test_every_link_to_a_heading_leads_to_one():
    wrong, n, known = [], 0, {}
    for path, text in prose():
        for target in re.findall(r"\]\(([^)\s:]*#[^)\s]+)\)", text):
            file, _, name = target.partition("#")
            there = (path.parent / file).resolve() if file else path
            n += 1
            if name not in known.setdefault(there, anchors(there)):
                wrong.append(f"{path.relative_to(ROOT)}: {target}")
    assert n > 30 and wrong == []


OTHERS = {"aget_query_embedding", "aget_text_embedding", "VectorIndexRetriever"}    # Of LlamaIndex
KINDS = {"sequenceDiagram", "stateDiagram"}                                         # Of diagrams


def test_names_in_diagrams_are_in_the_code():
    """A renamed function or class leaves no name behind in a diagram."""
    code = {word for path in (ROOT / "ragnb").rglob("*.py") for word in re.findall(r"\w+", path.read_text(encoding="utf-8"))}
    code |= {word for _, text in cells("code") for word in re.findall(r"\w+", text)}      # with the ids of examples
    named, diagrams = {}, 0
    for path, text in prose():
        for diagram in re.findall(r"^```mermaid\n(.*?)^```", text, flags=re.M | re.S):
            diagrams += 1
            named |= {word: path for word in re.findall(r"[A-Za-z_]\w*", diagram) if "_" in word.strip("_") or re.search(r"[a-z][A-Z]", word)}
    gone = {word: path.name for word, path in named.items() if word not in code | OTHERS | KINDS and not word.endswith("_db_parents")}
    assert diagrams > 70 and len(named) > 100 and gone == {}


def test_numbers_in_diagrams_are_in_the_notebook():
    """Two diagrams had the place of a citation in an earlier chunking: its cells print another one."""
    wrong, n = [], 0
    for path in NOTEBOOKS:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        text = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
        shown = json.dumps([(cell["source"], cell["outputs"]) for cell in cells if cell["cell_type"] == "code"]) + re.sub(r"^```mermaid\n.*?^```", "", text, flags=re.M | re.S)
        for diagram in re.findall(r"^```mermaid\n(.*?)^```", text, flags=re.M | re.S):
            found = {number.replace(",", "") for number in re.findall(r"(?<![\w#])\d[\d,]+\d(?!\w)", diagram)}
            wrong += [f"{path.name}: {number}" for number in found if number not in re.sub("[,_]", "", shown)]
            n += len(found)
    assert n > 15 and wrong == []


OFFICE = (ROOT / "benchmarks/office/README.md").read_text(encoding="utf-8")
NUMBERS = dict(zip("one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen".split(), range(1, 16)))


@pytest.mark.parametrize(("told", "count"), [
    (r"(\w+) lessons", lambda: len([*(ROOT / "nbs/lessons").glob("[0-9]*.ipynb")])),
    (r"(\w+) tutorials", lambda: len([*(ROOT / "nbs/tutorials").glob("[0-9]*.ipynb")])),
    (r"Sample documents and (\w+) questions", lambda: sum(len(p.read_text(encoding="utf-8").splitlines()) for p in (ROOT / "data/questions").glob("*.jsonl"))),
    (r"(\w+) office files", lambda: sum(map(int, re.findall(r"(\d+) (?:xlsx|docx|html|pdf|hwpx|pptx|csv|md)\b", OFFICE.partition("\n\n")[2].partition(";")[0]))))])
def test_counts_in_prose_are_todays(told, count):
    pages = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "docs/glossary.md"))
    found = {NUMBERS.get(number.lower()) or int(number) for number in re.findall(told, pages, re.I) if number.lower() in NUMBERS or number.isdigit()}
    assert found == {count()}


def test_a_wrong_command_would_be_found():
    assert [*commands("```sh\nA=1 .venv/bin/ragnb ask \"x\" --budget 5  # told\nmake demo && ragnb ls | head\n```")] == [
        ["ragnb", "ask", "x", "--budget", "5"], ["make", "demo"], ["ragnb", "ls"]]


def test_the_picture_of_the_trace_page_is_of_todays_templates():
    from PIL import Image

    from tools.figures import fingerprint, TRACE
    with Image.open(TRACE) as picture:
        assert picture.text["Description"] == fingerprint(), "draw it again: python tools/figures.py trace"


def test_the_korean_page_has_the_numbers_of_the_picture():
    """The picture and the Korean page show one run of the demo: places, units, passages and characters are the same."""
    from tools.figures import stored
    shown = (ROOT / "docs/ko.md").read_text(encoding="utf-8").partition("```text\n")[2].partition("```")[0]
    korean, english = ([re.findall(r"[\d,.@-]{3,}", line) for line in text.splitlines()] for text in (shown, stored()))
    assert len(shown.splitlines()) > 15 and [sorted(line) for line in korean] == [sorted(line) for line in english[:len(korean)]]


def test_the_plots_of_notebooks_are_of_todays_results_and_rules():
    """A cell, a stored result or a rule of plots changed after the picture was drawn."""
    from tools.notebooks import drawn_from, PLOTS
    marks = {path.relative_to(ROOT / "nbs").as_posix(): mark for path in NOTEBOOKS if (mark := drawn_from(path))}
    assert len(marks) > 10 and json.loads(PLOTS.read_text(encoding="utf-8")) == marks, "draw them again: python tools/notebooks.py NOTEBOOK"


def test_a_changed_result_is_another_mark(tmp_path):
    from tools.notebooks import drawn_from
    (tmp_path / "results.json").write_text("[1]", encoding="utf-8")
    cell = {"cell_type": "code", "source": ["draw('results.json')"], "outputs": [{"data": {"image/png": ""}}]}
    (tmp_path / "a.ipynb").write_text(json.dumps({"cells": [cell]}), encoding="utf-8")
    first = drawn_from(tmp_path / "a.ipynb")
    (tmp_path / "results.json").write_text("[2]", encoding="utf-8")
    assert first and drawn_from(tmp_path / "a.ipynb") != first
    (tmp_path / "a.ipynb").write_text(json.dumps({"cells": [cell | {"outputs": []}]}), encoding="utf-8")
    assert drawn_from(tmp_path / "a.ipynb") is None


def test_the_korean_page_has_the_sections_and_links_of_the_readme():
    """The twin of the README in Korean: the same sections, and in its last table the same pages in the same order."""
    pages = [re.sub(r"^(```|~~~).*?^\1", "", (ROOT / name).read_text(encoding="utf-8"), flags=re.M | re.S) for name in ("README.md", "docs/ko.md")]
    links = [[Path(link).name for link in re.findall(r"\]\(([^)]+)\)", page.rpartition("\n## ")[2])] for page in pages]
    assert len({len(re.findall(r"^## ", page, re.M)) for page in pages}) == 1
    assert len(links[0]) > 12 and [*dict.fromkeys(links[0])] == [*dict.fromkeys(links[1])]


def stored(name: str) -> dict:
    return json.loads((ROOT / name).read_text(encoding="utf-8"))


def test_numbers_of_the_readme_are_those_of_the_stored_results():
    """Office files, everyday words and the table of evidence: each number is in a file of results."""
    from ragnb.evaluation.evidence import evidence_table
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    meaning = stored("nbs/studies/results/meaning.json")["lay_held_out"]
    plain, by_meaning = (f"{meaning['embeddings'][name]['delivered'][1]:.2f}"[1:] for name in ("ngram", "e5"))
    assert f"On {meaning['n']} unseen questions in everyday words it delivers {plain}, and" in readme and f"download) {by_meaning} (" in readme
    held = {reader: right / n for reader, (right, n) in ((k, v["checks"]["all"]) for k, v in stored("benchmarks/office/results.json").items()) if reader.endswith(" held")}
    first, best = held["ragnb 99f84c61 held"], max(share for reader, share in held.items() if not reader.startswith("ragnb"))
    for page in (readme, (ROOT / "docs/ko.md").read_text(encoding="utf-8")):
        assert f"{first:.2f}"[1:] in page and f"{best:.2f}"[1:] in page
    assert evidence_table(stored("nbs/studies/results/evidence.json"), only=("tydiqa_ko", "squad2", "typed")).strip() in readme


def test_the_korean_page_has_the_verdicts_of_the_readme():
    from ragnb.machinery.messages import korean

    def rows(page: str) -> list[list[str]]:
        lines = re.findall(r"^\| (`\w+`:.*) \|$", (ROOT / page).read_text(encoding="utf-8"), re.M)
        cells = [re.split(r" \| ", line) for line in lines]
        return [[name.partition(":")[0], *numbers] for name, *numbers in cells]
    told = [[korean()[found[1]] + " " + found[2] if (found := re.match(r"([a-z]+) ([+-][\d.]+)", cell)) else cell for cell in row] for row in rows("README.md")]
    assert len(told) == 3 and told == rows("docs/ko.md")


def test_the_minutes_of_the_lessons_are_those_of_their_list():
    minutes = sum(one["minutes"] for one in json.loads((ROOT / "nbs/lessons/lessons.json").read_text(encoding="utf-8")))
    assert f"lessons, {minutes} minutes]" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"{minutes}분]" in (ROOT / "docs/ko.md").read_text(encoding="utf-8")
