# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Distinct elements, sets, repetitions, indices and bits: what NumPy gives."""

import fusec as fx
import numpy as np
import pytest

RNG = np.random.default_rng(3)
NANS = np.array([3.0, np.nan, -0.0, 1.0, np.nan, 0.0, 3.0, np.inf])
ARRAYS = [RNG.integers(0, 20, 100), RNG.integers(0, 5, (6, 7)).astype("u1"), RNG.random(50).round(1), NANS,
          RNG.random((4, 5)) > 0.5, np.zeros(0), np.zeros((0, 3), "i4"), np.array(7), np.array([2.0, 1.0], "f2"),
          np.array([2, 2**63], "u8"), np.array([1 + 2j, 1, 1 + 2j])]


def same(got, want):
    got, want = (tuple(x) if isinstance(x, (tuple, list)) else (x,) for x in (got, want))
    assert len(got) == len(want)
    for g, w in zip(got, want):
        w = np.asarray(w)
        assert isinstance(g, fx.Array) and g.shape == w.shape and g.dtype == w.dtype, (g, w)
        np.testing.assert_array_equal(np.asarray(g), w)


@pytest.mark.parametrize("a", ARRAYS, ids=lambda a: f"{a.dtype}{list(a.shape)}")
def test_unique(a):
    x = fx.asarray(a)
    for equal_nan in (True, False):
        same(fx.unique(x, equal_nan=equal_nan), np.unique(a, equal_nan=equal_nan))
        same(fx.unique(x, True, True, True, equal_nan=equal_nan), np.unique(a, True, True, True, equal_nan=equal_nan))
    same(fx.unique_all(x), np.unique_all(a))
    same(fx.unique_counts(x), np.unique_counts(a))
    same(fx.unique_inverse(x), np.unique_inverse(a))
    same(fx.sort(fx.unique_values(x)), np.sort(np.unique_values(a)))
    same(np.unique(x, return_counts=True), np.unique(a, return_counts=True))
    assert fx.unique_all(x)._fields == ("values", "indices", "inverse_indices", "counts")


def test_unique_along_an_axis():
    a = np.array([[1, 2], [3, 4], [1, 2]])
    same(fx.unique(fx.asarray(a), axis=0), np.unique(a, axis=0))


@pytest.mark.parametrize("a,b", [
    (RNG.integers(0, 30, 40), RNG.integers(10, 50, 30)), (RNG.integers(0, 9, (3, 4)), np.arange(3)), (NANS, np.array([0, 3])),
    (np.zeros(0), np.zeros(0)), (np.arange(3), np.zeros(0)), (np.array([1 + 1j, 2]), np.array([2, 1j]))],
    ids=["long", "axes", "nans", "none", "one", "complex"])
def test_sets(a, b):
    x, y = fx.asarray(a), fx.asarray(b)
    for name in ("union1d", "intersect1d", "setdiff1d", "setxor1d"):
        same(getattr(fx, name)(x, y), getattr(np, name)(a, b))
        same(getattr(np, name)(x, y), getattr(np, name)(a, b))
    same(fx.intersect1d(x, y, return_indices=True), np.intersect1d(a, b, return_indices=True))
    u, v = np.unique(a), np.unique(b)
    for name in ("intersect1d", "setdiff1d", "setxor1d"):
        same(getattr(fx, name)(fx.asarray(u), fx.asarray(v), assume_unique=True), getattr(np, name)(u, v, assume_unique=True))


def test_repeat():
    a = RNG.random((3, 4))
    x = fx.asarray(a)
    for times in ([1, 0, 2], np.array([0, 0, 0]), np.array([2]), (1, 1, 1)):
        same(fx.repeat(x, times, axis=0), np.repeat(a, times, axis=0))
        same(fx.repeat(x, fx.asarray(times), axis=0), np.repeat(a, times, axis=0))
        same(x.repeat(times, axis=0), a.repeat(times, axis=0))
    same(fx.repeat(x, np.arange(12)), np.repeat(a, np.arange(12)))
    same(fx.repeat(fx.zeros((0,)), fx.zeros((0,), dtype=int)), np.repeat(np.zeros(0), np.zeros(0, int)))
    same(fx.repeat(x, fx.asarray(2), axis=1), np.repeat(a, 2, axis=1))
    for times, error in (([1, -1, 1], ValueError), ([1, 2], ValueError), (-1, ValueError)):
        for t in (times, fx.asarray(times)):
            with pytest.raises(error):
                fx.repeat(x, t, axis=0)
    same(fx.jit(lambda x: fx.repeat(x * 2, [1, 0, 2], axis=0))(x), np.repeat(a * 2, [1, 0, 2], axis=0))
    with pytest.raises(NotImplementedError):
        fx.jit(lambda x, n: fx.repeat(x, n, axis=0))(x, fx.asarray([1, 0, 2]))


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_delete_and_insert(axis):
    a = np.arange(20).reshape(4, 5)
    x = fx.asarray(a)
    for obj in (0, -1, 3, slice(1, 3), slice(None, None, 2), slice(3, 0, -1), slice(2, 2), [0, 2], [-1, -1], np.array([1, 3])):
        same(fx.delete(x, obj, axis=axis), np.delete(a, obj, axis=axis))
    same(fx.delete(x[0], np.array([True, False] * 2 + [True])), np.delete(a[0], np.array([True, False] * 2 + [True])))
    for obj, values in ((0, 7), (-1, 7), (4, 7), (2, 2.9)):
        same(fx.insert(x, obj, values, axis=axis), np.insert(a, obj, values, axis=axis))
    same(fx.insert(x[0], 2, [7, 8, 9]), np.insert(a[0], 2, [7, 8, 9]))
    same(fx.insert(x, [1, 2], 5, axis=axis), np.insert(a, [1, 2], 5, axis=axis))
    same(fx.insert(x, 1, np.arange(5), axis=0), np.insert(a, 1, np.arange(5), axis=0))
    same(fx.jit(lambda x: fx.insert(fx.delete(x, 1, axis=0), 1, 3, axis=0))(x), np.insert(np.delete(a, 1, axis=0), 1, 3, axis=0))
    for f in (lambda m, x: m.delete(x, 30, axis=axis), lambda m, x: m.insert(x, 30, 1, axis=axis)):
        with pytest.raises(IndexError):
            f(np, a)
        with pytest.raises(IndexError):
            f(fx, x)


def test_indices():
    for n in (0, 4):
        for k in (-9, -2, 1):
            for m in (None, 0, 6):
                same(fx.tril_indices(n, k, m), np.tril_indices(n, k, m))
                same(fx.triu_indices(n, k, m), np.triu_indices(n, k, m))
        same(fx.diag_indices(n, 3), np.diag_indices(n, 3))
    same(fx.ix_([1, 3], [True, False, True], [0]), np.ix_([1, 3], [True, False, True], [0]))
    same(fx.ix_([]), np.ix_([]))
    a = np.arange(20).reshape(4, 5)
    same(fx.asarray(a)[fx.ix_([1, 3], [0, 4])], a[np.ix_([1, 3], [0, 4])])
    same(fx.fromfunction(lambda i, j: i * 10 + j, (3, 4)), np.fromfunction(lambda i, j: i * 10 + j, (3, 4)))
    same(fx.fromfunction(lambda i: i == 2, (5,), dtype=int), np.fromfunction(lambda i: i == 2, (5,), dtype=int))


def test_bits():
    for a in (RNG.random((3, 13)) > 0.5, RNG.integers(0, 2, (16,)).astype("u1"), np.zeros((2, 0), bool)):
        x = fx.asarray(a)
        for axis in (None, 0, -1):
            for order in ("big", "little"):
                packed = np.packbits(a, axis=axis, bitorder=order)
                same(fx.packbits(x, axis=axis, bitorder=order), packed)
                for count in (None, 0, 5, 100, -3) if a.size else (None, 0):  # NumPy's are anything for no bytes
                    def unpack(m, p):
                        return m.unpackbits(p, axis=axis, count=count, bitorder=order)
                    try:
                        want = unpack(np, packed)
                    except ValueError:
                        with pytest.raises(ValueError):
                            unpack(fx, fx.asarray(packed))
                        continue
                    same(unpack(fx, fx.asarray(packed)), want)
    same(fx.jit(lambda x: fx.unpackbits(fx.packbits(x)))(fx.asarray(np.ones(8, bool))), np.ones(8, "u1"))
    with pytest.raises(TypeError):
        fx.packbits(fx.asarray([1.0]))


def test_others():
    for a in (np.arange(4), np.array([1.5, -2.0]), np.zeros(0), np.array([True, False]), np.array([2, 3], "i1")):
        for n in (None, 0, 3):
            for increasing in (False, True):
                same(fx.vander(fx.asarray(a), n, increasing), np.vander(a, n, increasing))
    a = np.arange(6).reshape(2, 3)
    for shape in (4, (3, 4), (0, 2), ()):
        same(fx.resize(fx.asarray(a), shape), np.resize(a, shape))
    same(fx.resize(fx.zeros((0,)), (2, 2)), np.resize(np.zeros(0), (2, 2)))
    choices = [np.arange(4), np.arange(4) * 10, np.array(5)]
    for mode, at in (("raise", [0, 2, 1, 0]), ("clip", [-3, 7, 1, 0]), ("wrap", [-1, 4, 1, 0])):
        same(fx.choose(fx.asarray(at), [fx.asarray(c) for c in choices], mode=mode), np.choose(at, choices, mode=mode))
    for at in ([3, 0, 0, 0], [-1, 0, 0, 0]):
        with pytest.raises((IndexError, ValueError)):
            np.asarray(fx.choose(fx.asarray(at), choices))
    m = RNG.random((3, 20))
    np.testing.assert_allclose(np.asarray(fx.corrcoef(fx.asarray(m))), np.corrcoef(m), rtol=1e-12)
    np.testing.assert_allclose(np.asarray(fx.corrcoef(fx.asarray(m[0]))), np.corrcoef(m[0]))
    np.testing.assert_allclose(np.asarray(fx.corrcoef(fx.asarray(m[0]), fx.asarray(m[1]))), np.corrcoef(m[0], m[1]))


def test_numpys_isdtype():
    for name in ("bool", "int8", "uint16", "int64", "float32", "float64", "complex64"):
        d = getattr(fx, name)
        for kind in ("bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating", "numeric"):
            assert np.isdtype(d, kind) == np.isdtype(np.dtype(name), kind)
        assert np.isdtype(d, np.dtype(name)) and np.isdtype(d, (d, "bool")) and {d: 1}[np.dtype(name).type] == 1
