"""The Python of the README and of the guide runs as it is pasted, from the repository root."""
from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def blocks(text: str) -> list[str]:
    """The Python blocks of a Markdown text."""
    return re.findall(r"^```python\n(.*?)^```", text, re.S | re.M)


def shown_cells(notebook: Path) -> list[str]:
    """The code cells that a reader of a notebook sees and can paste: neither hidden nor slow."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return [text for c in cells if c["cell_type"] == "code"
            if not re.search(r"^#\|\s*(hide|slow|echo)", text := "".join(c["source"]), re.M)]


@pytest.mark.heavy
def test_the_readmes_python_runs_as_pasted(tmp_path):
    """One process, top to bottom, in the repository root; it prints what the README shows and leaves nothing behind."""
    found, guide = blocks((ROOT / "README.md").read_text(encoding="utf-8")), shown_cells(ROOT / "nbs/guide.ipynb")
    assert len(found) >= 1 and len(guide) >= 2 and all("Pipeline.from_index" in first for first in (found[0], guide[0]))
    found += guide
    script = tmp_path / "readme.py"
    script.write_text("\n".join(found), encoding="utf-8")
    before = sorted(p.name for p in ROOT.iterdir())
    environment = {"PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8", "TMPDIR": str(tmp_path), "PATH": "/usr/bin:/bin"}
    done = subprocess.run([sys.executable, script], cwd=ROOT, env=environment, capture_output=True, timeout=300)
    out = done.stdout.decode("utf-8")
    assert done.returncode == 0, done.stderr.decode("utf-8", "replace")[-2_000:]
    assert "15일" in out and "[1] (" in out
    assert sorted(p.name for p in ROOT.iterdir()) == before


def test_the_readme_can_be_read_in_a_minute():
    """One table of numbers with its command, two commands, five lines that run, and a link to every tutorial."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 110 and len(text.split()) <= 900
    assert len(re.findall(r"^\| -+ ?\||^\|---", text, re.M)) <= 2   # the other says where to go
    assert len([line for line in blocks(text)[0].splitlines() if line.strip()]) == 5
    assert "make evidence" in text
    assert all(f"nbs/tutorials/{p.name}" in text for p in (ROOT / "nbs/tutorials").glob("*.ipynb"))


def test_the_guide_maps_every_notebook():
    """The map of the guide has a line for each notebook but the two front pages."""
    guide = json.loads((ROOT / "nbs/guide.ipynb").read_text(encoding="utf-8"))
    linked = set(re.findall(r"\]\(([\w/]+\.ipynb)\)", "".join("".join(c["source"]) for c in guide["cells"])))
    there = {p.relative_to(ROOT / "nbs").as_posix() for p in (ROOT / "nbs").rglob("*.ipynb") if not p.parent.name.startswith((".", "_"))}
    assert there - linked == {"index.ipynb", "guide.ipynb"}


def test_the_walks_name_what_is_in_the_package():
    """A renamed function leaves no name behind in CONTRIBUTING's walks."""
    from ragnb._modidx import d
    known = {name for symbols in d["syms"].values() for symbol in symbols for name in symbol.split(".")}
    walks = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## The walks")[2].partition("## Five usual changes")[0]
    named = {name for code in re.findall(r"`([^`]+)`", walks) for name in re.findall(r"(?:^|\.)([A-Za-z_]+)(?=$|\(|\.)", code)}
    assert len(named) > 25 and named - known <= {"QueryBundle", "Document", "builder", "leads"}


def test_models_are_named_alike_and_can_be_fetched():
    """One chat model and one embedding in everything a newcomer reads; where they are introduced, so is how to get them."""
    from ragnb.models.embedding import DEFAULT_OLLAMA_MODEL
    known = {"qwen3:8b", DEFAULT_OLLAMA_MODEL, "MODEL", "chat", "not-there"}   # a placeholder, and two of a toy server
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *sorted((ROOT / "nbs").glob("*.ipynb")),
             *sorted((ROOT / "nbs/tutorials").glob("*.ipynb")), ROOT / "nbs/99_cli/01_cli.ipynb", ROOT / "ragnb/cli.py"]
    for page in pages:
        text = page.read_text(encoding="utf-8")
        if page.suffix == ".ipynb":
            text = "\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"])
        named = set(re.findall(r"ollama:([\w./-]+(?::[\w.-]+)?)", text))
        assert named <= known, (page.name, named - known)
        if page.name in ("README.md", "guide.ipynb", "06_your_models.ipynb"):
            assert all(f"ollama pull {model}" in text for model in ("qwen3:8b", DEFAULT_OLLAMA_MODEL)), page.name
