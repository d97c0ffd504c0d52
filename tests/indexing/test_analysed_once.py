"""What indexing gives to the analyser of Korean: counted."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from llama_index.core.schema import Document

from ragnb.documents import text
from ragnb.documents.memo import TextMemo
from ragnb.indexing.update import index_documents

pytestmark = pytest.mark.heavy


def test_each_text_is_tokenised_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks are counted for BM25 and for the units, from one analysis of each."""
    given: Counter[str] = Counter()
    real = text._analysed_words

    def analysed(texts: list[str]):
        given.update(texts)
        return real(texts)

    monkeypatch.setattr(text, "_korean_words", TextMemo(analysed))
    folder = Path(__file__).resolve().parents[2] / "data" / "corpus" / "hr_labor"
    pages = [Document(text=f.read_text(encoding="utf-8"), id_=f.name) for f in sorted(folder.glob("*.md"))[:3]]
    index, _ = index_documents(pages, tmp_path / "index", show_progress=False)
    assert len(given) >= len(index.bm25.ids) // 2 > 20 and given.most_common(1)[0][1] == 1
