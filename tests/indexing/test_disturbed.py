"""Index runs that are killed, that run at once, and that cannot write: small versions of the benchmarks that count them."""
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

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
