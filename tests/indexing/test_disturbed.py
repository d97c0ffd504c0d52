"""Index runs that are killed, that run at once, and that cannot write: small versions of the benchmarks that count them."""
from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from strategies import SLOW

ROOT = Path(__file__).resolve().parents[2]
RUNS = {"kills": ("kills.py", "kills", "--kills", "200" if SLOW else "8"),
        "readers": ("kills.py", "readers", "--minutes", "25" if SLOW else ".1"),
        "flips": ("kills.py", "flips", "--flips", "500" if SLOW else "60"),
        "writers": ("kills.py", "writers", "--pairs", "20" if SLOW else "4"), "full": ("kills.py", "full"),
        "cache": ("kills.py", "cache")}


@pytest.mark.heavy
@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks, kills and limits processes")
@pytest.mark.parametrize("name", RUNS)
def test_disturbed_runs_end_right(name: str) -> None:
    program, *arguments = RUNS[name]
    command = [sys.executable, str(ROOT / "benchmarks" / program), *arguments]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, env=environment)
    assert done.returncode == 0, done.stdout[-1500:] + done.stderr[-1500:]


CAUSES = {"numpy": OSError("1064960 requested and 307072 written"), "system": OSError(errno.ENOSPC, "No space left on device")}


@pytest.mark.parametrize("cause", CAUSES)
def test_a_new_index_on_a_full_disk(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cause: str) -> None:
    (tmp_path / "a.md").write_text("연차는 15일이다.", encoding="utf-8")

    def full(*args: object, **options: object) -> None:
        raise CAUSES[cause]
    with monkeypatch.context() as patched:
        patched.setattr(np, "save", full)
        code, _, err = run("index", tmp_path / "a.md", "--index", tmp_path / "new", "--quiet")
    assert code == 2 and len(err.splitlines()) == 1 and str(tmp_path / "new") in err and "disk is full" in err
    assert not (tmp_path / "new").exists()
    assert run("index", tmp_path / "a.md", "--index", tmp_path / "new", "--quiet")[0] == 0
