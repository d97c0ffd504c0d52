"""What differs between systems: consoles that cannot show Korean, files in use, line ends, the order of names. And the wheel, on all of them."""
from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest
from conftest import ROOT, syntax, write

from ragnb.machinery.atomic import write_atomically
from ragnb.documents.files import find_files, sample_data

TEXT_CALLS = {"read_text", "write_text"}


def test_every_text_file_is_opened_with_its_encoding() -> None:
    bare = []
    for path, nodes in syntax().items():
        for node in nodes:
            if not isinstance(node, ast.Call):
                continue
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            # `mode` of `open`; the text of a file, or the name of a file in a distribution, which has no encoding to choose
            mode = next((a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)), "")
            is_text = name in TEXT_CALLS and isinstance(node.func, ast.Attribute) and not (name == "read_text" and mode) or getattr(node.func, "id", "") == "open" and "b" not in mode
            if is_text and not any(k.arg == "encoding" for k in node.keywords):
                bare.append(f"{path}:{node.lineno}")
    assert not bare


def test_a_file_in_use_is_replaced_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, waits, refusals = tmp_path / "a.json", [], [32, 5]
    replace = os.replace

    def busy(old: Path, new: Path) -> None:
        if refusals:
            error = PermissionError(13, "used by another process")
            error.winerror = refusals.pop()
            raise error
        replace(old, new)

    monkeypatch.setattr(os, "replace", busy)
    monkeypatch.setattr("ragnb.machinery.atomic.time.sleep", waits.append)
    write_atomically(path, "첫째\n둘째")
    assert path.read_bytes() == "첫째\n둘째".encode() and len(waits) == 2 and os.listdir(tmp_path) == ["a.json"]

    def refused(old: Path, new: Path) -> None:
        raise PermissionError(13, "read-only folder")

    monkeypatch.setattr(os, "replace", refused)
    with pytest.raises(PermissionError):
        write_atomically(path, "셋째")
    assert len(waits) == 2 and path.exists()


def test_names_are_in_the_same_order_everywhere(tmp_path: Path) -> None:
    write(tmp_path, dict.fromkeys(("b.md", "B/a.md", "a-b/x.md", "a/x.md", "C.md"), "글"))
    assert [p.relative_to(tmp_path).as_posix() for p in find_files(tmp_path)] == ["B/a.md", "C.md", "a/x.md", "a-b/x.md", "b.md"]


@pytest.mark.parametrize("console", ["cp949", "cp1252", "ascii"])
def test_a_console_that_cannot_show_a_character_shows_its_number(console: str) -> None:
    code = "import sys; from ragnb.cli import main; sys.exit(main(sys.argv[1:]))"
    done = subprocess.run([sys.executable, "-c", code, "eval", "--help"], capture_output=True, env=os.environ | {"PYTHONIOENCODING": console})
    assert done.returncode == 0 and not done.stderr
    told = done.stdout.decode(console)
    assert ("연차는" if console == "cp949" else "\\uc5f0") in told and "query_id" in told


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of the source archive, built from what the archive needs and nothing else."""
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("dist")
    for name in ("setup.py", "settings.ini", "MANIFEST.in", "README.md", "LICENSE", "CHANGELOG.md"):
        shutil.copy(ROOT / name, source / name)
    for name in ("ragnb", "data"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run([sys.executable, "-m", "build", "--no-isolation", "--outdir", out, source], check=True, capture_output=True,
                   env=os.environ | {"GITHUB_REPOSITORY": "owner/name"})
    (found,) = out.glob("*.whl")
    assert list(out.glob("*.tar.gz"))
    return found


@pytest.mark.heavy
def test_the_wheel_holds_the_package_its_types_and_the_sample_data(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        (about,) = (n for n in names if n.endswith("METADATA"))
        metadata = Parser().parsestr(archive.read(about).decode())
    modules = {f"ragnb/{p.relative_to(ROOT / 'ragnb').as_posix()}" for kind in ("*.py", "*.pyi", "*.html", "*.css") for p in (ROOT / "ragnb").rglob(kind)}
    data = {f"ragnb/_sample/{p.relative_to(ROOT / 'data').as_posix()}" for p in (ROOT / "data").rglob("*") if p.is_file()}
    assert modules | data | {"ragnb/py.typed"} <= names and len(data) > 10
    assert not {n for n in names if not n.startswith("ragnb")}
    assert {"files", "plots", "parquet", "peers", "dev"} <= set(metadata.get_all("Provides-Extra"))
    assert "Source, https://github.com/owner/name" in metadata.get_all("Project-URL") and not metadata["Author-email"]
    links = re.findall(r"\]\(([^)]*)\)", metadata.get_payload())
    assert len(links) > 15 and {link[:30] for link in links} == {"https://github.com/owner/name/"}


@pytest.mark.heavy
def test_an_installed_package_finds_its_sample_data(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    (tmp_path / "empty").mkdir()
    code = "import ragnb; print(ragnb.sample_data()); from ragnb.evaluation.commands import _sample_data; print(_sample_data(None))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path / "empty",
                          env=os.environ | {"PYTHONPATH": str(tmp_path / "site")})
    assert done.stdout.split() == [str((tmp_path / "site/ragnb/_sample").resolve())] * 2, done.stderr
    assert (sample_data() / "questions").is_dir()
