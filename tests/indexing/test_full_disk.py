"""A disk that is full while a new index is made: one line with the folder and the reason, and nothing is left."""
from __future__ import annotations

import errno
from pathlib import Path

import numpy as np
import pytest

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
