"""Delete the laws: English and Korean texts are indexed and asked, a name of the laws is refused with the part that has it."""
from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import ROOT
from forked import Forked

pytestmark = pytest.mark.heavy

REFUSED = "belongs to ragnb.laws, which this installation does not have"


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """A folder with the package without its laws, and documents."""
    place = tmp_path_factory.mktemp("without_laws")
    shutil.copytree(ROOT / "ragnb", place / "ragnb", ignore=shutil.ignore_patterns("__pycache__", "laws"))
    (place / "docs").mkdir()
    (place / "docs/leave.md").write_text("# Leave\n\nEmployees have 25 days of leave a year.\n", encoding="utf-8")
    (place / "docs/휴가.md").write_text("# 휴가\n\n직원의 휴가는 한 해 18일이다. 민법 제3조와 다르다.\n", encoding="utf-8")
    (place / "docs/문답.txt").write_text("질의: 이월되나요?\n회시: 다음 해 삼월까지 쓸 수 있습니다.\n", encoding="utf-8")
    (place / "docs/act.txt").write_text("나루법\n\n제1조(목적) 안전을 정한다.\n\n제2조(등록) 배를 등록한다.\n\n제3조(벌칙) 어기면 벌한다.\n", encoding="utf-8")
    return place


@pytest.fixture(scope="module")
def run(place) -> Iterator[Forked]:
    """Commands of the copy."""
    run = Forked(place)
    assert run.package == place / "ragnb"
    yield run
    run.close()


@pytest.mark.parametrize("split", ["units", "structure", "records"])
def test_english_and_korean_texts_are_indexed_and_asked(run, split):
    made = run("index", "docs", "--index", split, "--split", split, "--quiet")
    assert made.returncode == 0, made.stderr
    for question, answer in {"how many days of leave?": "25 days", "휴가는 며칠인가?": "18일", "이월되나요?": "삼월까지", "나루법 제3조는?": "벌한다"}.items():
        asked = run("ask", question, "--index", split)
        assert asked.returncode == 0 and answer in asked.stdout, (question, asked.stdout, asked.stderr)


def test_an_index_made_with_laws_is_read_and_updated(place, run):
    made = subprocess.run([sys.executable, "-m", "ragnb", "index", "docs", "--index", "with", "--quiet"], cwd=place,
                          env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=900)
    assert made.returncode == 0, made.stderr
    assert "벌한다" in run("ask", "어기면 어떻게 되나?", "--index", "with").stdout
    (place / "docs/new.md").write_text("# Parking\n\nThe gate closes at nine.\n", encoding="utf-8")
    assert run("index", "docs", "--index", "with", "--quiet").returncode == 0
    assert "nine" in run("ask", "when does the gate close?", "--index", "with").stdout
    (place / "docs/new.md").unlink()


def test_a_name_of_the_laws_is_refused_with_the_part_that_has_it(place, run):
    for name in ("statute", "ruling", "interpretation"):
        (place / "rules.ini").write_text(f"[mine]\nkind = {name}\n", encoding="utf-8")
        done = run("index", "docs", "--index", "refused", "--split", "structure:rules.ini")
        assert done.returncode == 2 and f"{name} {REFUSED}" in done.stderr and len(done.stderr.strip().splitlines()) == 1, done.stderr
    done = run("records", "docs/act.txt", "--out", "out")
    assert done.returncode == 2 and f"records {REFUSED}" in done.stderr, done.stderr
    assert "records" not in run("--help").stdout.partition("Commands:")[2]
