"""Statutes come and go: what is read again, and what an index knows afterwards."""
from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest
from helpers_ingest import update, write

from ragnb.indexing.update import IndexUpdate
from ragnb.laws import catalogue, statutes


NAMES = ("정원관리법", "온실법", "마을약속")   # The last one is known as a statute only where it is held


def act(name: str, n: int = 3) -> str:
    return f"{name}\n\n" + "\n\n".join(f"제{i}조(항목 {i}) 「온실법」 제2조와 제{i}조에 따른다." for i in range(1, n + 1)) + "\n"


def memo(name: str) -> str:
    return f"{name} 제2조에 따라 뜰을 돌본다. 「{name}」 제1조도 본다.\n"


@pytest.fixture
def cited(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Documents whose citations were read."""
    seen: Counter[str] = Counter()
    real = catalogue._citations_of
    monkeypatch.setattr(catalogue, "_citations_of", lambda holding, *rest: seen.update([holding.doc_id]) or real(holding, *rest))
    return seen


def test_a_document_without_a_new_name_is_the_only_one_that_is_read(tmp_path: Path, cited: Counter[str]) -> None:
    source = write(tmp_path / "s", {"act.md": act(NAMES[0]), "a.md": memo(NAMES[0]), "b.md": "뜰에는 나무가 있다.\n"})
    update(source, tmp_path / "i")
    assert cited == {"act.md": 1, "a.md": 1, "b.md": 1}
    cited.clear()
    write(source, {"c.md": memo(NAMES[0]), "a.md": memo(NAMES[0]) + "그뿐이다.\n"})
    assert update(source, tmp_path / "i")[1] == (1, 1, 0, 2) and cited == {"c.md": 1, "a.md": 1}
    cited.clear()
    write(source, {"greenhouse.md": act(NAMES[1])})
    index, _, _ = update(source, tmp_path / "i")
    assert cited == dict.fromkeys(("act.md", "a.md", "b.md", "c.md", "greenhouse.md"), 1)
    assert index.catalogue == update(source, tmp_path / "fresh")[0].catalogue


def test_a_statute_is_parsed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: Counter[int] = Counter()
    real = statutes._parts
    monkeypatch.setattr(statutes, "_parts", lambda text, *top: parsed.update([len(text)]) or real(text, *top))
    statutes.parse_statutes.cache_clear()
    texts = {f"{n}.md": act(f"{name} 제{n}호", 4 + n) for n, name in enumerate(NAMES)}
    update(write(tmp_path / "s", texts), tmp_path / "i")
    assert sorted(parsed.values()) == [1, 1, 1]


@pytest.mark.heavy
@pytest.mark.parametrize("seed", range(4))
def test_changes_leave_what_a_new_index_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Statutes come and go, documents before and behind them change, and some runs end before citations are read."""
    at = random.Random(seed)
    source = write(tmp_path / "s", {"act0.md": act(NAMES[0]), "memo.md": memo(NAMES[1])})
    update(source, tmp_path / "i")
    for step in range(6):
        for n, name in enumerate(NAMES):
            file, chance = source / f"act{n}.md", at.random()
            if chance < 0.3:
                file.unlink(missing_ok=True)
            elif chance < 0.6:
                file.write_text(act(name, at.randint(3, 6)), encoding="utf-8")
        write(source, {f"{at.choice(['a', 'z'])}{at.randint(0, 3)}.md": memo(at.choice(NAMES)) * at.randint(1, 2), "step.md": f"{step}번째 날이다.\n"})
        if at.random() < 0.4:
            with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
                patched.setattr(IndexUpdate, "_cite", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
                update(source, tmp_path / "i")
        index, _, _ = update(source, tmp_path / "i")
        assert index.catalogue == update(source, tmp_path / f"fresh{step}")[0].catalogue, step
