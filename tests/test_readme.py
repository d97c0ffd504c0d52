"""The Python of the README runs as it is pasted, from the repository root."""
from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def blocks(text: str) -> list[str]:
    """The Python blocks of a Markdown text."""
    return re.findall(r"^```python\n(.*?)^```", text, re.S | re.M)


@pytest.mark.heavy
def test_the_readmes_python_runs_as_pasted(tmp_path):
    """One process, top to bottom, in the repository root; it prints what the README shows and leaves nothing behind."""
    found = blocks((ROOT / "README.md").read_text(encoding="utf-8"))
    assert len(found) >= 2 and "Pipeline.from_index" in found[0]
    script = tmp_path / "readme.py"
    script.write_text("\n".join(found), encoding="utf-8")
    before = sorted(p.name for p in ROOT.iterdir())
    environment = {"PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8", "TMPDIR": str(tmp_path), "PATH": "/usr/bin:/bin"}
    done = subprocess.run([sys.executable, script], cwd=ROOT, env=environment, capture_output=True, timeout=300)
    out = done.stdout.decode("utf-8")
    assert done.returncode == 0, done.stderr.decode("utf-8", "replace")[-2_000:]
    assert "15일" in out and "[1] (" in out
    assert sorted(p.name for p in ROOT.iterdir()) == before
