"""What indexing gives to the analyser of Korean: counted."""
from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from llama_index.core.schema import Document

from ragnb.documents import text
from ragnb.documents.text import TextMemo
from ragnb.indexing.update import index_documents

pytestmark = pytest.mark.heavy


def test_each_text_is_analysed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A block gives its sentences, and its words for BM25 and for the units where it is a unit, in one analysis."""
    given: Counter[str] = Counter()
    real = text.analysed.function

    def analyse(texts: list[str]):
        given.update(texts)
        return real(texts)

    monkeypatch.setattr(text, "analysed", TextMemo(analyse))
    folder = Path(__file__).resolve().parents[2] / "data" / "corpus" / "hr_labor"
    pages = [Document(text=f.read_text(encoding="utf-8"), id_=f.name) for f in sorted(folder.glob("*.md"))[:3]]
    index, _ = index_documents(pages, tmp_path / "index", show_progress=False)
    blocks = {b.of(page.text) for page in pages for b in text.block_spans(page.text)}
    units = {b.of(unit) for _, unit in index.store.texts("u") for b in text.block_spans(unit)}
    assert len(given) >= len(index.store.matching()) // 2 > 20 and given.most_common(1)[0][1] == 1
    assert len(blocks & units) > len(units) // 2 and blocks | units <= set(given)
