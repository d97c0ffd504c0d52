"""Embeddings: saved and loaded exactly, the same in every process, usable as any LlamaIndex embedding."""
from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import unicodedata
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from conftest import shared_models
from hypothesis import given, settings, strategies as st
from llama_index.core.embeddings import MockEmbedding

from ragnb import IndexMismatchError, InputError, NgramEmbedding, OnnxEmbedding, RagnbError, resolve_embedding
from ragnb.models import ngrams
from ragnb.models.embedding import describe_embedding, load_embedding, save_embedding
from ragnb.models.onnx import _run_onnx
from ragnb.models.ngrams import hash_ngrams

TEXTS = ["연차휴가는 1년간 80퍼센트 이상 출근한 직원에게 15일을 준다.", "경조휴가는 본인 결혼의 경우 5일, 부모의 사망은 5일로 한다.",
         "식각장비 GN-300의 진공펌프는 매월 첫째 주에 점검한다.", "출장 여비는 귀사한 날부터 7일 안에 정산하여야 한다.", "반송로봇 TR-7이 멈추면 비상정지 단추를 누르고 조장에게 알린다.",
         "The chiller must be drained before any maintenance is started.",
         "Travel expenses are settled within seven days of the return."]


@pytest.fixture(scope="module")
def emb() -> NgramEmbedding:
    return NgramEmbedding(dims=64).fit(TEXTS)


def test_hashes_do_not_change():
    """An index made by one version must be readable by the next: these numbers are part of the format."""
    rows, hashes = hash_ngrams(["가", "cat"])
    assert sorted(rows.tolist()) == [0] * 4 + [1] * 6
    assert sorted(hashes.tolist())[:4] == [
        1543190387210014182, 3505209254301981534, 4956017383772060783, 5094847159844613219]


def grams(text: str, wide=(1, 3), narrow=(3, 5)) -> int:
    """Count n-grams the slow way."""
    import re
    plain = f" {re.sub(chr(92) + 'W+', ' ', unicodedata.normalize('NFC', text).lower()).strip()} "
    total = 0
    for n in range(1, 6):
        for i in range(len(plain) - n + 1):
            gram = plain[i:i + n]
            if any(ord(c) >= 0x2E80 or 0x1100 <= ord(c) < 0x1200 for c in gram):
                total += wide[0] <= n <= wide[1]
            else:
                total += narrow[0] <= n <= narrow[1] and " " not in gram[1:-1]
    return total


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(alphabet="가나 다ab c1.🙂é", max_size=12), min_size=1, max_size=4))
def test_hash_ngrams_counts_like_a_loop(texts):
    rows, hashes = hash_ngrams(texts)
    assert np.bincount(rows, minlength=len(texts)).tolist() == [grams(t) for t in texts]
    single = [sorted(hash_ngrams([t])[1].tolist()) for t in texts]
    assert [sorted(hashes[rows == i].tolist()) for i in range(len(texts))] == single


@settings(max_examples=40, deadline=None)
@given(texts=st.lists(st.one_of(st.text(max_size=40), st.sampled_from(TEXTS)), min_size=1, max_size=6))
def test_unit_norm_and_batch_equals_single(emb, texts):
    batch = emb.embed(texts)
    assert batch.dtype == np.float32 and batch.shape == (len(texts), 64)
    assert np.allclose(np.linalg.norm(batch, axis=1), 1, atol=1e-5)
    for i, text in enumerate(texts):
        assert np.array_equal(batch[i], emb.embed([text])[0])


def test_all_llama_index_methods_agree(emb):
    one = emb.get_text_embedding(TEXTS[0])
    assert one == emb.get_query_embedding(TEXTS[0]) == emb.get_text_embedding_batch(TEXTS)[0]
    assert one == asyncio.run(emb.aget_text_embedding(TEXTS[0])) == asyncio.run(emb.aget_query_embedding(TEXTS[0]))
    assert one == asyncio.run(emb.aget_text_embedding_batch(TEXTS))[0]
    assert all(isinstance(x, float) for x in one)


@pytest.mark.parametrize("text", ["", "   \n\t", "🙂🎉", "…!?", "\ud800", "ζζζζ"])
def test_text_without_known_ngrams(emb, text):
    vector = emb.embed([text])[0]
    assert vector[-1] == 1 and np.count_nonzero(vector) == 1
    assert not (emb.embed(TEXTS) @ vector).any()


@pytest.mark.parametrize("texts", [["가"], ["", "🙂"], ["같은 글"] * 5, TEXTS * 30])
def test_any_corpus_gives_full_size_vectors(texts):
    """One text, no n-grams at all, equal texts, more texts than dimensions."""
    vectors = NgramEmbedding(dims=32).fit(texts).embed([*texts, "새 글"])
    assert vectors.shape == (len(texts) + 1, 32) and np.isfinite(vectors).all()
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


@pytest.mark.heavy
def test_two_processes_agree(tmp_path):
    """Neither hash randomisation nor the process changes a bit."""
    code = f"from ragnb.models.embedding import NgramEmbedding\nNgramEmbedding(dims=64).fit({TEXTS!r}).save({{!r}})"
    for name, seed in (("a", "1"), ("b", "2")):
        command = [sys.executable, "-c", code.format(str(tmp_path / name))]
        subprocess.run(command, check=True, env={**os.environ, "PYTHONHASHSEED": seed})
    for name in ("embedding.json", "ngram_idf.npy", "ngram_axes.npy", "ngram_steps.npy", "ngram_overlap.npy"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


OTHER = {"wide": (2, 2), "narrow": (4, 6), "n_columns": 512, "power": 1, "idf_power": 1, "embed_batch_size": 7, "max_fit": 5}


@pytest.mark.parametrize("emb", [NgramEmbedding(dims=64), NgramEmbedding(dims=16, **OTHER)], ids=["default", "other"])
def test_round_trip_is_exact_and_unpickled(emb, tmp_path):
    emb.fit(TEXTS)
    save_embedding(emb, tmp_path / "new" / "index")
    files = sorted((tmp_path / "new" / "index").iterdir())
    assert {f.suffix for f in files} == {".npy", ".json"}
    for file in files:
        if file.suffix == ".npy":
            assert np.load(file, allow_pickle=False).dtype.kind in "iuf"
        else:
            json.loads(file.read_text(encoding="utf-8"))
    again = load_embedding(tmp_path / "new" / "index")
    assert np.array_equal(again.embed(TEXTS), emb.embed(TEXTS)) and again.describe() == emb.describe()
    save_embedding(again, tmp_path / "second")
    save_embedding(again, tmp_path / "new" / "index")       # over its own open files
    for file in files:
        assert file.read_bytes() == (tmp_path / "second" / file.name).read_bytes()
    axes = emb._learned.axes.found
    assert axes.dtype == np.int8 and (tmp_path / "second" / "ngram_axes.npy").stat().st_size == axes.size + 128


def _cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:200])


def _objects(file: Path) -> None:
    with file.open("wb") as out:
        np.save(out, np.array([{"a": 1}], dtype=object), allow_pickle=True)


@pytest.mark.parametrize("name", ["ngram_idf.npy", "ngram_axes.npy", "embedding.json"])
@pytest.mark.parametrize(
    "damage", [Path.unlink, _cut, _objects, lambda f: f.write_bytes(b""), lambda f: f.write_text("[1]")])
def test_damaged_files_are_named(emb, tmp_path, name, damage):
    save_embedding(emb, tmp_path)
    damage(tmp_path / name)
    with pytest.raises(InputError, match=name if name != "embedding.json" else "embedding"):
        load_embedding(tmp_path)


@pytest.mark.parametrize("record", [
    "{}", '{"kind": "ngram"}', '{"kind": "new"}', '{"kind": "ngram", "name": "a", "dims": "x", "parameters": {}}'])
def test_foreign_records_are_refused(tmp_path, record):
    (tmp_path / "embedding.json").write_text(record)
    with pytest.raises(RagnbError):
        load_embedding(tmp_path)


def test_mixed_up_arrays_are_noticed(emb, tmp_path):
    save_embedding(emb, tmp_path / "a")
    save_embedding(NgramEmbedding(dims=64).fit(TEXTS[:3]), tmp_path / "b")
    (tmp_path / "b" / "ngram_axes.npy").replace(tmp_path / "a" / "ngram_axes.npy")
    with pytest.raises(IndexMismatchError, match="not those"):
        load_embedding(tmp_path / "a")
    save_embedding(emb, tmp_path / "c")
    for other, told in ((NgramEmbedding(dims=64).fit(TEXTS[:3]), "fingerprint"), (MockEmbedding(embed_dim=4), "kind")):
        with pytest.raises(IndexMismatchError, match=told):
            load_embedding(tmp_path / "c", embedding=other)
    overlap = tmp_path / "c" / "ngram_overlap.npy"
    np.save(overlap, np.load(overlap) + np.float16(0.01))
    with pytest.raises(IndexMismatchError, match="ngram_overlap.npy"):
        load_embedding(tmp_path / "c")


def test_specs_and_options():
    for spec in ("", "openai", "onnx", "onnx:", "ngram:3", "Ollama", "ollamas:x", None, 3, b"ngram"):
        with pytest.raises(InputError, match=r"ngram, e5, fastembed:NAME, ollama\[:MODEL\]"):
            resolve_embedding(spec)
    for options in ({"dims": 0}, {"dims": "many"}, {"dimz": 64}, {"power": 7}):
        with pytest.raises(InputError, match=next(iter(options))):
            resolve_embedding("ngram", **options)
    assert isinstance(resolve_embedding(), NgramEmbedding) and resolve_embedding("ngram", dims=32).dims == 32
    assert resolve_embedding("ollama:").model_name == "bona/bge-m3-korean"


class FakeSession:
    """A session with chosen inputs and outputs."""

    def __init__(self, inputs: list[str], outputs: dict[str, np.ndarray]) -> None:
        self.inputs, self.outputs, self.fed = inputs, outputs, {}

    def get_inputs(self) -> list[SimpleNamespace]:
        return [SimpleNamespace(name=n) for n in self.inputs]

    def get_outputs(self) -> list[SimpleNamespace]:
        return [SimpleNamespace(name=n) for n in self.outputs]

    def run(self, names: None, feed: dict[str, np.ndarray]) -> list[np.ndarray]:
        self.fed = feed
        return list(self.outputs.values())


def test_onnx_padding_keeps_order_and_vectors(minilm):
    """Sorted by length, padded, and put back: with a model that ignores padding, nothing changes."""
    class Mean(FakeSession):
        def run(self, names: None, feed: dict[str, np.ndarray]) -> list[np.ndarray]:
            return [np.stack([np.sin(feed["input_ids"] * k) for k in (1.0, 2.0, 3.0)], axis=2).astype(np.float32)]

    emb = OnnxEmbedding(folder=minilm.folder, run_batch_size=3)
    emb._session = Mean(["input_ids", "attention_mask"], {"last_hidden_state": np.zeros(0)})
    texts = ["a long text about the pump and its oil", "pump", "", "leave for a day", "one two three four", "oil"]
    assert np.allclose(emb.embed(texts), [emb.embed([t])[0] for t in texts], atol=1e-6)


def test_onnx_takes_the_models_own_sentence_embedding_and_no_model_of_another_kind():
    tokens, pooled = np.ones((1, 2, 3), np.float32), np.array([[1.0, 2, 3]], np.float32)
    for name in ("sentence_embedding", "pooler_output"):
        session = FakeSession(["input_ids"], {"token_embeddings": tokens, name: pooled})
        assert _run_onnx(session, [[1, 2]]).tolist() == [[1, 2, 3]] and set(session.fed) == {"input_ids"}
    with pytest.raises(InputError, match="pixel_values"):
        _run_onnx(FakeSession(["pixel_values"], {"logits": np.ones((1, 2))}), [[1]])


@pytest.fixture(scope="module")
def minilm() -> OnnxEmbedding:
    return resolve_embedding(f"onnx:{shared_models('minilm')}")


def test_minilm_batch_equals_single(minilm):
    """An 8-bit dynamic model runs one text at a time; in larger runs its vectors depend on the company."""
    def words(n: int) -> str:
        return " ".join(["word", "leave", "pump", "travel"][i % 4] for i in range(n))

    texts = [f"{words(n)} number {n}" for n in (1, 400, 7, 60, 2, 33, 150)] + [""]
    batch = minilm.embed(texts)
    single = np.array([minilm.embed([t])[0] for t in texts])
    assert minilm.run_batch_size == 1 and (batch * single).sum(axis=1).min() > 0.9999
    together = resolve_embedding(f"onnx:{minilm.folder}", run_batch_size=8).embed(texts)
    assert (together * single).sum(axis=1).min() > 0.95 and (together * single).sum(axis=1).mean() > 0.98
    assert np.allclose(np.linalg.norm(batch, axis=1), 1, atol=1e-5) and minilm.embed([]).size == 0


def test_minilm_truncates(minilm):
    short = resolve_embedding(f"onnx:{minilm.folder}", max_length=8, threads=1)
    texts = ["one two three four five six seven eight nine ten", "one two three four five six and then others"]
    same = short.embed(texts)
    assert np.allclose(same[0], same[1], atol=1e-6)
    assert describe_embedding(short) != describe_embedding(minilm)


def test_minilm_saved_as_a_reference(minilm, tmp_path):
    save_embedding(minilm, tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["embedding.json"]
    again = load_embedding(tmp_path, threads=1)
    assert describe_embedding(again) == describe_embedding(minilm) and again.threads == 1
    with pytest.raises(IndexMismatchError, match="max_length 256, not 16"):
        load_embedding(tmp_path, max_length=16)
    with pytest.raises(InputError, match="moved"):
        load_embedding(tmp_path, model_folder=str(tmp_path / "moved"))


def test_a_question_reads_few_axes_and_the_same_vector(emb, tmp_path, monkeypatch):
    """One question: neither all axes nor all directions come into memory; texts by the hundred use all of them."""
    save_embedding(emb, tmp_path)
    monkeypatch.setattr(ngrams, "_DIRECTIONS", ngrams._Directions())
    again = load_embedding(tmp_path)
    axes = again._learned.axes
    asked = again.get_query_embedding("연차는 며칠인가요?")
    assert isinstance(axes.found, np.memmap) and "_all" not in vars(axes) and not len(ngrams._DIRECTIONS.kept)
    assert asked == emb.get_query_embedding("연차는 며칠인가요?")
    many = [chr(0xAC00 + 7 * i) + chr(0xAC00 + 11 * i) for i in range(900)]
    assert np.array_equal(again.embed(many), emb.embed(many)) and "_all" in vars(axes)


def test_directions_are_right_while_another_thread_keeps_fewer_numbers():
    class Raced(ngrams._Directions):
        kept = property(lambda self: np.zeros(0, np.float32), lambda self, value: None)
    columns = np.arange(512)
    assert np.array_equal(Raced().rows(columns, 512, 3), ngrams._Directions().rows(columns, 512, 3))


@pytest.fixture(scope="module")
def many_axes():
    """An embedding of a corpus that is large enough for hundreds of axes."""
    texts = [f"{chr(0xAC00 + 17 * i)}{chr(0xAC00 + 29 * i % 11_000)} 규정 제{i}조 {chr(0xB000 + 13 * i)}" for i in range(600)]
    return NgramEmbedding(dims=302).fit(texts), texts


def test_many_axes_take_half_a_byte_a_number(many_axes, tmp_path):
    model, texts = many_axes
    save_embedding(model, tmp_path)
    axes, again = model._learned.axes, load_embedding(tmp_path)
    n = len(axes.steps)
    assert n >= 256 and axes.found.dtype == np.uint8 and axes.found.shape == (model.n_columns, (n + 1) // 2)
    assert (tmp_path / "ngram_axes.npy").stat().st_size == axes.found.size + 128
    assert np.array_equal(again.embed(texts), model.embed(texts))
    assert np.array_equal(again.embed(texts[:1]), model.embed(texts[:1]))       # a question reads some rows only
    np.save(tmp_path / "ngram_axes.npy", axes.found[:, 1:])
    with pytest.raises(IndexMismatchError, match="axes beside it"):
        load_embedding(tmp_path)


@pytest.mark.parametrize("n", [0, 1, 255, 256, 257])
@pytest.mark.parametrize("kind", ["drawn", "zero", "one large"])
def test_axes_in_steps_give_back_the_nearest_level(n, kind):
    found = np.zeros((300, n), np.float32)
    if kind != "zero":
        found = np.random.default_rng(n).standard_normal((300, n)).astype(np.float32) * 3
    if kind == "one large":
        found[7] = -90
    stored, steps = ngrams.in_steps(found)
    again = ngrams.from_steps(stored, steps)
    assert stored.dtype == (np.int8 if n < 256 else np.uint8) and stored.shape == (300, n if n < 256 else (n + 1) // 2)
    assert len(steps) == n and again.shape == found.shape and again.dtype == np.float32
    even = (lambda x: x / steps) if n < 256 else lambda x: np.sign(x) * np.sqrt(np.abs(x) / steps)    # levels lie evenly
    assert np.abs(even(again) - even(found)).max(initial=0) <= .5 + 1e-3
    assert np.array_equal(ngrams.from_steps(*ngrams.in_steps(again)), again)
