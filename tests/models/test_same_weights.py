"""The same weights behind `onnx:` and behind an Ollama server give the same hits."""
from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from conftest import SAMPLE, write
from ollama_server import OllamaServer
from tiny_onnx import write_embedder

from ragnb import Pipeline, resolve_embedding, update_index

QUESTIONS = ["병가는 며칠인가요?", "반반차는 한 달에 몇 번까지 쓰나요?", "경조휴가는 며칠인가요?", "휴가를 반려하려면 무엇을 제시해야 하나요?"]


@pytest.mark.parametrize("prefixes", [{}, {"query_prefix": "질문: ", "text_prefix": "문서: "}])
def test_onnx_and_ollama_find_the_same(tmp_path: Path, prefixes: dict[str, str]) -> None:
    text = (SAMPLE / "corpus/hr_labor/leave.md").read_text(encoding="utf-8")[:6000]
    write(tmp_path / "docs", {"leave.md": text})
    folder = write_embedder(tmp_path / "model", [text, *QUESTIONS, *prefixes.values()])
    local = resolve_embedding(f"onnx:{folder}")
    with OllamaServer(models=("same",)) as server:
        server.capabilities["same"] = ("embedding",)
        server.embedder = lambda texts: local.embed(texts).tolist()
        found = []
        for spec in (f"onnx:{folder}", "ollama:same"):
            where = tmp_path / spec.partition(":")[0]
            index, _ = update_index(tmp_path / "docs", where, embed=spec, base_url=server.url, embed_options=prefixes, show_progress=False)
            ways = [Pipeline.from_index(index, retriever=way) for way in ("vector", "hybrid", "multi-scale")]
            found.append([([(h.node_id, round(h.score, 5)) for h in way.find(q).hits], [p.id for p in way.passages(q)])
                          for way in ways for q in QUESTIONS])
    assert found[0] == found[1] and all(hits for hits, _ in found[0][:4])
    assert np.linalg.matrix_rank(local.embed(QUESTIONS)) == len(QUESTIONS), "the weights tell the questions apart"
