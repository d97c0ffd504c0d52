"""Vectors in one byte a number: rounding, the first choice among very many, older data on disk, bytes."""
from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from llama_index.core.schema import TextNode

from ragnb.documents.span import Outline, Span
from ragnb.retrieval import unit_vectors
from ragnb.retrieval.multiscale_index import MultiScaleIndex
from ragnb.retrieval.signals import VectorWindows
from ragnb.retrieval.unit_corpus import SCALES, UnitCorpus
from ragnb.retrieval.unit_vectors import UnitVectors, different_signs, from_codes, signs_of, to_codes

shapes = st.tuples(st.integers(0, 40), st.integers(1, 70), st.integers(0, 2**32 - 1))


def drawn(n: int, dims: int, seed: int) -> np.ndarray:
    """Unit vectors around a few topics."""
    rng = np.random.default_rng(seed)
    topics = rng.standard_normal((8, dims))
    out = topics[rng.integers(0, 8, n)] + 0.7 * rng.standard_normal((n, dims))
    return (out / np.maximum(np.linalg.norm(out, axis=1, keepdims=True), 1e-12)).astype(np.float32)


@settings(max_examples=50, deadline=None)
@given(shapes)
def test_rounding_keeps_directions_and_is_stable(shape):
    vectors = drawn(*shape)
    codes = to_codes(vectors)
    again = from_codes(codes)
    assert codes.dtype == np.int8 and codes.nbytes * 4 == vectors.nbytes
    assert np.array_equal(to_codes(again), codes)
    assert np.allclose(np.linalg.norm(again, axis=1), 1, atol=1e-5)
    assert np.all(np.einsum("ij,ij->i", vectors, again) > 1 - 1e-3)


@settings(max_examples=50, deadline=None)
@given(shapes)
def test_signs_are_counted_bit_by_bit(shape):
    signs = signs_of(drawn(*shape))
    if not len(signs):
        return
    own = signs[0]
    plain = [sum(bin(int(a) ^ int(b)).count("1") for a, b in zip(row, own)) for row in signs]
    assert different_signs(signs, own).tolist() == plain


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 20))
def test_the_nearest_of_the_first_choice_are_the_nearest_of_all(seed, k):
    vectors = drawn(3_000, 48, seed)
    corpus = UnitCorpus.empty()
    corpus = type(corpus)(("d",), np.array([3_000]), np.array([0]), np.arange(3_000), np.arange(3_000) + 1, np.full(3_000, -1), np.zeros(3_000, bool), np.full(3_000, -1), np.zeros((0, 2), np.int64), np.zeros(0, bool))
    windows = VectorWindows(corpus, UnitVectors.of(vectors, corpus.n_units, (1, 3)))
    exact = windows.nearest(vectors[11], k)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(unit_vectors, "_FEW", 0)
        patch.setattr(unit_vectors, "_CHOSEN", 800)
        chosen = windows.units.near(vectors[11], k)
        assert len(chosen) < 2_000
        assert len(np.setdiff1d(exact, windows.nearest(vectors[11], k))) <= k // 10
        odd = np.arange(3_000) % 2 == 1
        found = windows.nearest(vectors[11], k, odd)
        assert np.all(found % 2 == 1) and 11 in found


def test_not_every_vector_is_compared(monkeypatch):
    vectors = UnitVectors.of(drawn(4_000, 32, 0), np.array([4_000]), (1,))
    monkeypatch.setattr(unit_vectors, "_FEW", 0)
    monkeypatch.setattr(unit_vectors, "_CHOSEN", 100)
    assert 100 <= len(vectors.near(vectors.at([5])[0], 1)) < 1_000
    same = UnitVectors.of(np.tile(drawn(1, 32, 1), (4_000, 1)), np.array([4_000]), (1,))
    assert len(same.near(same.at([0])[0], 1)) == 4_000           # ties are never cut by chance


def saved(folder) -> MultiScaleIndex:
    """An index of two documents, saved."""
    index, nodes, outlines = MultiScaleIndex(tokenizer=lambda texts: [t.split() for t in texts]), [], []
    for d in ("a", "b"):
        spans = [Span(10 * i, 10 * i + 9) for i in range(30)]
        vectors = drawn(30, 24, ord(d))
        nodes += [TextNode(id_=f"{d}#u{i}", text=f"{d} word{i:03}"[:9].ljust(9), start_char_idx=s.start, end_char_idx=s.end, embedding=vectors[i].tolist())
                  for i, s in enumerate(spans)]
        outlines.append(Outline(d, 299, {"u": spans}))
    index.add(nodes, outlines)
    index.save(folder)
    return index


@pytest.mark.parametrize("version", [1, 2])
def test_data_of_older_versions_are_read_and_rounded(tmp_path, version):
    index = saved(tmp_path)
    header = json.loads((tmp_path / "multiscale.json").read_text())
    data = tmp_path / header["data"]
    np.save(data / "vectors.npy", drawn(60, 24, 0) * 0 + index.vectors)     # four bytes a number
    (data / "codes.npy").unlink()
    (data / "signs.npy").unlink()
    (tmp_path / "multiscale.json").write_text(json.dumps(header | {"version": version}))
    again = MultiScaleIndex.load(tmp_path)
    for name, array in index.unit_vectors.arrays().items():
        assert np.array_equal(array, again.unit_vectors.arrays()[name]), name
    again.save(tmp_path)
    assert not list(tmp_path.rglob("vectors.npy")) and len(list(tmp_path.rglob("codes.npy"))) == 1


def test_bytes_of_a_unit(tmp_path):
    saved(tmp_path)
    sizes = {name: next(tmp_path.rglob(f"{name}.npy")).stat().st_size - 128 for name in ("codes", "signs", "norms")}
    assert sizes == {"codes": 60 * 24, "signs": 60 * 64, "norms": 60 * len(SCALES) * 4}
    index = MultiScaleIndex.load(tmp_path)
    assert all(isinstance(x, np.memmap) for x in (index.unit_vectors.codes, index.unit_vectors.signs))
