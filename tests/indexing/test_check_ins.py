"""How often a long run saves what it has: counted; each saving writes all of it."""

from __future__ import annotations

from itertools import count
from types import SimpleNamespace

import pytest
from llama_index.core.schema import TextNode

from ragnb.documents.span import Outline
from ragnb.indexing import update
from ragnb.indexing.update import IndexUpdate


def check_ins(n_batches: int, size: int = 100, **options: float) -> list[int]:
    """Chunks that were done at each saving of a run."""
    outline, nodes = Outline("d", 1), [TextNode(text="x")] * size
    report, at = SimpleNamespace(chunks=0), []
    run = SimpleNamespace(report=report, writer=SimpleNamespace(saved=True, stage=int, check_in=lambda: at.append(report.chunks)),
                          index=SimpleNamespace(store=SimpleNamespace(put=lambda *_: None), manifest=SimpleNamespace(documents={})),
                          embedder=SimpleNamespace(embedded=lambda batches, renew: ((b, ()) for b in batches), cache=SimpleNamespace(keep_only=lambda texts: None)))
    bar = SimpleNamespace(update=lambda n: None)
    list(IndexUpdate._in_turn(run, ([(nodes, outline)] for _ in range(n_batches)), n_batches, bar, **options))
    return at


def test_a_tenth_is_lost_at_most_and_savings_grow_with_the_logarithm() -> None:
    at = check_ins(10_000)                        # a million chunks
    assert at[0] == 4_000 and len(at) < 60
    assert all(b - a <= max(4_000, b // 10 + 100) for a, b in zip([0, *at], [*at, 1_000_000]))
    assert sum(at) < 13 * 1_000_000               # chunks written again and again, where every 4,000 would be 125 million


def test_slow_work_is_saved_by_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every 30 seconds, or so that saving takes a twentieth of the time."""
    clock = count(step=1)                         # a second for each look at it: one for a batch, two more for a saving
    monkeypatch.setattr(update, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    assert check_ins(200, size=1) == [31, 71, 111, 151, 191]
    assert check_ins(200, size=1, seconds=1_000) == []
