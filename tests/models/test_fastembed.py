"""Models that FastEmbed downloads: the real library over a small ONNX model, in a cache of the form that it writes."""
from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from ragnb.documents.span import IndexMismatchError, InputError
from ragnb.indexing.folder_index import Index
from ragnb.indexing.update import update_index
from ragnb.models import fastembed
from ragnb.models.embedding import describe_embedding, load_embedding, options_for, resolve_embedding, save_embedding
from ragnb.pipeline.pipeline import Pipeline
from three_texts import TEXTS, write_documents
from tiny_onnx import write_embedder

NAME = "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2"   # not normalized by FastEmbed


@pytest.fixture
def cached(tmp_path, monkeypatch) -> Path:
    """A cache with one model of 384 numbers; no network is asked."""
    hub = tmp_path / "cache" / "models--Qdrant--paraphrase-multilingual-MiniLM-L12-v2-onnx-Q"
    snapshot = hub / "snapshots" / "0123abcd"
    write_embedder(snapshot, TEXTS, dims=384)
    (snapshot / "model.onnx").rename(snapshot / "model_optimized.onnx")
    (snapshot / "config.json").write_text(json.dumps({"pad_token_id": 0}))
    (snapshot / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 128, "pad_token": "[UNK]"}))
    (snapshot / "special_tokens_map.json").write_text("{}")
    (hub / "refs").mkdir()
    (hub / "refs" / "main").write_text("0123abcd")
    monkeypatch.setenv("FASTEMBED_CACHE_PATH", str(hub.parent))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    fastembed._model.cache_clear()
    yield hub
    fastembed._model.cache_clear()


@pytest.fixture
def corpus(tmp_path) -> Path:
    return write_documents(tmp_path / "corpus")


def test_vectors_of_the_real_library(cached):
    emb = resolve_embedding(f"fastembed:{NAME}")
    vectors = emb.embed(TEXTS)
    assert vectors.shape == (3, 384) and vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert np.allclose(emb.get_text_embedding_batch(TEXTS), vectors, atol=1e-6)
    assert emb.embed([]).shape == (0, 384) and emb.get_text_embedding_batch([]) == []
    assert emb.embed(["", "가"]).shape == (2, 384)


def test_prefixes(cached):
    plain = resolve_embedding(f"fastembed:{NAME}")
    prefixed = resolve_embedding(f"fastembed:{NAME}", query_prefix=TEXTS[1], text_prefix="직원은 ", threads=1)
    assert np.allclose(prefixed.get_query_embedding(TEXTS[0]), plain.get_query_embedding(TEXTS[1] + TEXTS[0]), atol=1e-6)
    assert np.allclose(prefixed.get_text_embedding("연차"), plain.get_text_embedding("직원은 연차"), atol=1e-6)
    assert options_for(f"fastembed:{NAME}", {"timeout": 3, "embed_batch_size": 8}) == {"embed_batch_size": 8}


def test_the_model_is_loaded_at_first_use(tmp_path, monkeypatch):
    """A record of an index is read without the model; FastEmbed's own spelling of the name is stored."""
    monkeypatch.setattr(fastembed, "_model", lambda *_: pytest.fail("the model was loaded"))
    emb = resolve_embedding(f"fastembed:{NAME.upper()}", query_prefix="질문 ")
    saved = save_embedding(emb, tmp_path)
    assert saved == {"kind": "fastembed", "name": NAME, "dims": 384, "parameters": {"query_prefix": "질문 ", "text_prefix": ""}}
    assert describe_embedding(load_embedding(tmp_path)) == saved


def test_an_index(cached, corpus, tmp_path):
    index, _ = update_index(corpus, tmp_path / "index", embed=f"fastembed:{NAME}", embed_options={"query_prefix": "연차 "})
    assert index.manifest.embedding["kind"] == "fastembed" and index.manifest.embedding["dims"] == 384
    for asked in (None, f"fastembed:{NAME}"):
        opened = Index.open(tmp_path / "index", embed=asked)
        assert opened.embed_model.query_prefix == "연차 "
        assert Pipeline.from_index(opened).rank("남은 연차를 수당으로 받나?").at(1_000)[0].doc_id == "0.md"
    for other in ("ngram", "fastembed:BAAI/bge-small-en-v1.5"):
        with pytest.raises(IndexMismatchError, match="made with the embedding fastembed:sentence.*, not"):
            Index.open(tmp_path / "index", embed=other)


def test_without_a_network_or_with_a_damaged_model_one_line_says_what_to_do(cached, monkeypatch, tmp_path, capfd):
    monkeypatch.setenv("FASTEMBED_CACHE_PATH", str(tmp_path / "empty"))
    emb = resolve_embedding(f"fastembed:{NAME}")
    with pytest.raises(InputError, match=r"^FastEmbed cannot load '.+' \(Could not load model .+\): connect to the network once, or point FASTEMBED_CACHE_PATH [^\n]+$"):
        emb.embed(TEXTS)
    assert capfd.readouterr() == ("", "")
    monkeypatch.setenv("FASTEMBED_CACHE_PATH", str(cached.parent))
    fastembed._model.cache_clear()
    (cached / "snapshots" / "0123abcd" / "model_optimized.onnx").write_bytes(b"no model")
    with pytest.raises(InputError, match=r"^FastEmbed cannot load [^\n]+$"):
        resolve_embedding(f"fastembed:{NAME}").embed(TEXTS)


def test_without_the_package_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "fastembed", None)
    with pytest.raises(InputError, match=r"^fastembed embeddings need another package: pip install 'ragnb\[fastembed\]'$"):
        resolve_embedding(f"fastembed:{NAME}")


@pytest.mark.parametrize("spec, told, options", [
    ("fastembed:word2vec", "no model 'word2vec'", {}), ("fastembed", "spec must be", {}), ("fastembed:", "spec must be", {}),
    (f"fastembed:{NAME}", "threads", {"threads": 0}), (f"fastembed:{NAME}", "no argument 'cache'", {"cache": "here"})])
def test_names_that_are_no_model_and_wrong_options(spec, told, options):
    with pytest.raises(InputError, match=told):
        resolve_embedding(spec, **options)
