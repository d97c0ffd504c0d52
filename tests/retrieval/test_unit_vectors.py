"""Vectors in one byte a number: rounding, signs, sums of windows."""
from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ragnb.retrieval.unit_source import SCALES
from ragnb.retrieval.unit_vectors import different_signs, from_codes, signs_of, to_codes, window_norms

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


@settings(max_examples=50, deadline=None)
@given(shapes)
def test_a_window_is_as_long_as_the_sum_of_its_vectors_and_stays_in_its_document(shape):
    codes = to_codes(drawn(*shape))
    norms, vectors = window_norms(codes, SCALES), from_codes(codes)
    assert norms.shape == (len(codes), len(SCALES))
    for k, width in enumerate(SCALES):
        for i in range(len(codes)):
            inside = vectors[max(0, i - width // 2):i + width // 2 + 1]
            assert np.isclose(norms[i, k], np.linalg.norm(inside.sum(axis=0)), atol=1e-4)
