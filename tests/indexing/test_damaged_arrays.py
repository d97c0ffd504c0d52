"""Array files of an index with wrong bits: a command ends with a code and at most one line, whatever NumPy makes of them."""
from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from ragnb.cli import main


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("arrays")
    for i in range(3):
        (place / f"{i}.md").write_text(f"# 문서 {i}\n\n연차는 {i}일입니다. 반차는 4시간입니다.\n", encoding="utf-8")
    assert main(["index", str(place), "--index", str(place / "i"), "--quiet"]) == 0
    return place / "i"


def damage(data: bytes, seed: int) -> bytes:
    """The bytes of an array file, its header never closed, or a few bits flipped in its first 128 bytes."""
    if seed == 0:
        return data.replace(b"(", b"( (", 1)[:len(data)]
    some, out = random.Random(seed), bytearray(data)
    for _ in range(some.randint(1, 4)):
        out[some.randrange(min(128, len(out)))] ^= 1 << some.randrange(8)
    return bytes(out)


def test_a_damaged_array_is_told_in_one_line(index: Path, tmp_path: Path, run) -> None:
    names = sorted(p.relative_to(index) for p in index.rglob("*.npy"))
    assert len(names) > 20
    raised, told = [], 0
    for number, name in enumerate(names):
        for seed in (0, number + 1):
            copy = tmp_path / f"{number}-{seed}"
            shutil.copytree(index, copy)
            (copy / name).write_bytes(damage((index / name).read_bytes(), seed))
            try:
                code, _, err = run("ask", "연차는 며칠", "--index", copy)
            except Exception as error:
                raised.append((str(name), seed, type(error).__name__))
                continue
            told += code == 2
            raised += [(str(name), seed, code, err)] if code not in (0, 2) or len(err.splitlines()) > 2 else []
            shutil.rmtree(copy, ignore_errors=True)
    assert not raised and told >= len(names) // 2
