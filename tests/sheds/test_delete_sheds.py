"""Delete a shed: the house's tests pass, `index` and `ask` work, its commands are gone, and its names are refused with the part that has them."""
from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import ROOT
from forked import Forked

from ragnb.machinery.registry import find_part, SHEDS

pytestmark = pytest.mark.heavy

ROOMS = "documents", "chunking", "storage", "retrieval", "expansion", "context", "indexing", "pipeline"
# How each kind of name is used on the command line
USES = {"command": ["{name}"], "format": ["index", "file{name}"], "address": ["ask", "the leave?", "--index", "{name}://localhost:9200/x"],
        "option": ["ask", "the leave?", "--strategy", "bm25", "--index", "made"],
        "kind": ["index", "docs", "--index", "made", "--split", "structure:{name}.ini"]}


def without(place: Path, *sheds: str) -> None:
    """Copy the package without some sheds."""
    gone = {str(ROOT / "ragnb" / shed) for shed in sheds}
    shutil.copytree(ROOT / "ragnb", place / "ragnb", ignore=lambda folder, names: [n for n in names if n == "__pycache__" or os.path.join(folder, n) in gone])


@pytest.fixture(scope="module", params=[shed for shed in SHEDS if shed != "laws"])   # see test_delete_laws.py
def copy(request, tmp_path_factory) -> Iterator[tuple[str, Path, Forked]]:
    """The name of a shed, a folder with the package without it, and commands of that."""
    place = tmp_path_factory.mktemp(request.param)
    without(place, request.param)
    (place / "docs").mkdir()
    (place / "docs/leave.md").write_text("# Leave\n\nEmployees have 25 days of leave a year.\n", encoding="utf-8")
    for name in SHEDS["files"].split():
        (place / f"file{name}").write_text("x,y\n1,2\n", encoding="utf-8")
    (place / "sections.ini").write_text("[manuals]\nkind = sections\n", encoding="utf-8")
    run = Forked(place)
    assert run.package == place / "ragnb"
    yield request.param, place, run
    run.close()


def process(place: Path, *words: object) -> subprocess.CompletedProcess:
    """A Python process that has the copy of the package only."""
    env = {**os.environ, "PYTHONPATH": str(place), "RAGNB_LANG": "en", "OMP_NUM_THREADS": "1", "RAGNB_FEW": "1"}
    return subprocess.run([sys.executable, *map(str, words)], cwd=place, env=env, capture_output=True, text=True, timeout=900)


def test_index_and_ask_work(copy):
    _, place, run = copy
    shutil.rmtree(place / "made", ignore_errors=True)
    made = run("index", "docs", "--index", "made", "--quiet")
    assert made.returncode == 0, made.stderr
    asked = run("ask", "how many days of leave?", "--index", "made")
    assert asked.returncode == 0 and "25 days" in asked.stdout, asked.stderr


def test_its_commands_are_gone_from_help(copy):
    shed, _, run = copy
    told = run("--help").stdout
    shown = {line.split()[0] for line in told.partition("Commands:")[2].splitlines() if line.startswith("  ") and line[2] != " "}
    own = {name for name in SHEDS[shed].split() if find_part("command", name)}
    others = {name for other, names in SHEDS.items() for name in names.split() if other not in (shed, "serve") and find_part("command", name)}
    assert own & shown == set() and {"index", "ask", *others} <= shown, told
    assert run().returncode == 0


def test_a_name_that_it_brought_is_refused_with_the_part_that_has_it(copy):
    shed, _, run = copy
    if shed == "evaluation":
        run("index", "docs", "--index", "made", "--quiet")
    for name in SHEDS[shed].split():
        kind = next((kind for kind in USES if find_part(kind, name)), "")
        if not kind:      # a kind of document is named in a rule file and in Python; places have no user
            told = run("-c", f"from ragnb.documents.kinds import kind_named; kind_named('{name}')").stderr
            assert not find_part("kind", name) or f"{name} belongs to ragnb.{shed}, which this installation does not have" in told
            continue
        words = [word.format(name=name) for word in USES[kind]]
        if name == "collections":
            run("index", "docs", "--index", "all/one", "--quiet")
            words = ["ask", "the leave?", "--index", "all"]
        done = run(*words)
        lines = done.stderr.strip().splitlines()
        assert done.returncode == 2 and len(lines) == 1, (words, done.stderr)
        assert f"{name} belongs to ragnb.{shed}, which this installation does not have" in lines[0]


@pytest.mark.parametrize("rooms", [ROOMS[:3], ROOMS[3:5], ROOMS[5:]], ids=lambda rooms: rooms[0])
def test_the_tests_of_the_house_pass_without_any_shed(rooms, tmp_path):
    """What passes without all of them passes without one: the house imports none."""
    without(tmp_path, *SHEDS)
    shutil.copytree(ROOT / "tests", tmp_path / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "data", tmp_path / "data")
    shutil.copy(ROOT / "pytest.ini", tmp_path)
    files = [path for room in rooms for path in sorted((ROOT / "tests" / room).glob("test_*.py"))]
    alone = [path for path in files if not re.search(rf"ragnb\.({'|'.join(SHEDS)})\b", path.read_text(encoding="utf-8"))]   # the others test a shed too
    assert len(alone) > 0.6 * len(files)
    done = process(tmp_path, "-m", "pytest", "-q", "-x", "-m", "not heavy and not cluster and not browser and not shed", "-p", "no:cacheprovider",
                   *(path.relative_to(ROOT) for path in alone))
    assert done.returncode == 0, done.stdout[-3000:]
    assert int(done.stdout.strip().splitlines()[-1].split()[0]) > 300


def test_serve_without_the_agent_says_what_it_needs(tmp_path):
    without(tmp_path, "agent")
    done = process(tmp_path, "-m", "ragnb", "serve")
    assert done.returncode == 2 and done.stderr.strip() == "ragnb: this needs ragnb.agent, which this installation does not have"
    assert "serve" not in process(tmp_path, "-m", "ragnb", "--help").stdout.partition("Commands:")[2]
