# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Masks, and what is written to places, next to NumPy: as values, and inside compiled functions where the shapes
of the results do not depend on elements."""

import itertools

import numpy as np
import pytest

import fusec as fx
import fusec._positions

RNG = np.random.default_rng(5)
A = RNG.normal(size=(4, 5, 3))
M = A > 0
ROWS = np.array([True, False, True, True])
KEYS = [(M,), (M[..., 0],), (ROWS,), (slice(1, 3), M[0]), (slice(None), M[0, :, 0]), (..., M[0, 0]), (M[..., 0], 0), (ROWS, None),
        (None, M[..., 0]), (ROWS, slice(1, 4)), (0, M[0, :, 0]), (ROWS, np.array([0, 1, -1]), 1), (M[..., 0], slice(None, None, 2)),
        (ROWS & False,), (slice(None, None, -1), M[0, :, 0]), (np.array([[0], [1]]), slice(None), np.array([0, 2])),
        (0, slice(None), np.array([0, 1])), (None, np.array([0, 1])), ([[0], [1]], None, [0, 1]), (M[:, 0, 0].tolist(),)]


def ours(key):
    return tuple(fx.asarray(k) if isinstance(k, np.ndarray) else k for k in key)


def same(got, want):
    assert got.shape == want.shape and got.dtype == want.dtype
    np.testing.assert_array_equal(np.asarray(got), want)


@pytest.mark.parametrize("key", range(len(KEYS)))
def test_keys(key):
    k = KEYS[key]
    want = A[k]
    same(fx.asarray(A)[ours(k)], want)
    for v in (7.5, RNG.normal(size=want.shape), RNG.normal(size=want.shape[1:]), RNG.normal(size=want.shape[-1:]),
              np.full((1,) * want.ndim, 3.0), RNG.integers(0, 9, want.shape)):
        w, x = A.copy(), fx.asarray(A)
        w[k] = v
        x[ours(k)] = v
        same(x, w)
        if np.asarray(v).dtype == float:
            np.add.at(w, k, v)
            np.add.at(x, ours(k), v)
            np.testing.assert_allclose(np.asarray(x), w, rtol=1e-13)


def test_a_mask_that_does_not_fit():
    x = fx.asarray(A)
    for key in ((M[:3],), (M[:, :2, 0],), (slice(None), ROWS), (M, 0)):
        for use in (lambda: x[ours(key)], lambda: x.__setitem__(ours(key), 0)):
            with pytest.raises(IndexError):
                use()
    with pytest.raises(ValueError):
        x[ROWS] = np.ones((2, 5, 3))


def test_places_are_lazy_and_fuse():
    x = fx.asarray(A)
    y = x[fx.asarray(ROWS)] * 2 + 1
    assert len(fx.explain(y).kernels) == 1
    i, j = fx.nonzero(x[..., 0] > 0)
    same(x[i, j], A[M[..., 0]])


@pytest.mark.parametrize("shape", [(3, 4), (7,), (2, 3, 4), (0, 3), (5, 1)])
@pytest.mark.parametrize("by_numpy", [True, False])
def test_where_it_is_true(shape, by_numpy, monkeypatch):
    if not by_numpy:  # as on a GPU
        monkeypatch.setattr(fusec._positions, "use_numpy", missing)
    a = RNG.integers(0, 2, shape) * 3
    x = fx.asarray(a)
    for name in ("nonzero", "argwhere", "flatnonzero"):
        got, want = getattr(fx, name)(x), getattr(np, name)(a)
        assert isinstance(got, tuple) == isinstance(want, tuple)
        for g, w in zip(got if isinstance(got, tuple) else (got,), want if isinstance(want, tuple) else (want,), strict=True):
            same(g, w)
    same(fx.extract(x > 0, x), np.extract(a > 0, a))
    for axis in range(a.ndim):
        c = RNG.integers(0, 2, shape[axis])
        same(fx.compress(c, x, axis), np.compress(c, a, axis))


def missing():
    raise ImportError("NumPy")


def write(f, *arrays):
    """f(library, arrays) writes to its first array: on NumPy's, on ours, and inside a compiled function."""
    want = [a.copy() for a in arrays]
    f(np, *want)
    x = [fx.asarray(a) for a in arrays]
    f(fx, *x)
    same(x[0], want[0])

    def traced(first, *rest):
        first = first + 0
        f(fx, first, *rest)
        return first

    same(fx.jit(traced)(*arrays), want[0])


WRITES = {
    "put": lambda xp, a, m: xp.put(a, [0, -1, 7], [1, 2]),
    "put, wrapped": lambda xp, a, m: xp.put(a, [0, 65, -3], [1, 2, 3], mode="wrap"),
    "put, clipped": lambda xp, a, m: xp.put(a, [0, 65, -70], 5, mode="clip"),
    "place": lambda xp, a, m: xp.place(a, m, [1, 2, 3]),
    "putmask": lambda xp, a, m: xp.putmask(a, m, [1, 2, 3]),
    "putmask, a number": lambda xp, a, m: xp.putmask(a, m, 0),
    "putmask, as many": lambda xp, a, m: xp.putmask(a, m, a * 2),
    "copyto": lambda xp, a, m: xp.copyto(a, a[0], where=m),
    "put_along_axis": lambda xp, a, m: xp.put_along_axis(a, xp.asarray([[[1], [0], [2], [-1], [0]]]), 9, 2),
    "put_along_axis, flat": lambda xp, a, m: xp.put_along_axis(a, xp.asarray([1, 0, 7]), 3.0, None),
    "a mask": lambda xp, a, m: a.__setitem__(m, 0),
    "a mask of rows": lambda xp, a, m: a.__setitem__(m[..., 0], [1.0, 2, 3]),
    "a mask behind a slice": lambda xp, a, m: a.__setitem__((slice(1, 3), m[0, :, 0]), 3),
    "a mask behind a number": lambda xp, a, m: a.__setitem__((0, m[0, :, 0], 1), 3),
    "indices of two axes": lambda xp, a, m: a.__setitem__((xp.asarray([0, 2]), xp.asarray([1, 3])), xp.ones((2, 3))),
    "indices of two axes that broadcast": lambda xp, a, m: a.__setitem__((xp.asarray([[0], [2]]), xp.asarray([1, 3]), 0), 4.0),
    "sums at indices of two axes": lambda xp, a, m: np.add.at(a, (xp.asarray([0, 0, 2]), xp.asarray([1, 1, 3])), 0.5),
    "sums at a slice and indices": lambda xp, a, m: np.add.at(a, (slice(0, 2), xp.asarray([1, 1])), xp.ones((2, 3))),
}


@pytest.mark.parametrize("what", WRITES)
def test_writing(what):
    write(WRITES[what], np.arange(60.0).reshape(4, 5, 3), M)


@pytest.mark.parametrize("shape", [(4, 5), (5, 4), (9, 3), (3, 3, 3)])
def test_diagonals_that_are_written(shape):
    for v, wrap in itertools.product((7, [1, 2]), (False, True)):
        write(lambda xp, a: xp.fill_diagonal(a, v, wrap=wrap), np.arange(float(np.prod(shape))).reshape(shape))


def test_what_writing_refuses():
    x = fx.asarray(A)
    for f, error in ((lambda: fx.put(np.ones(3), 0, 1), TypeError), (lambda: fx.place(x, ROWS, 1), ValueError),
                     (lambda: fx.place(x, M, []), ValueError), (lambda: fx.fill_diagonal(fx.ones(3), 1), ValueError),
                     (lambda: fx.fill_diagonal(x, 1), ValueError), (lambda: fx.put(x, 0, 1, mode="no"), ValueError)):
        with pytest.raises(error):
            f()
    with pytest.raises(IndexError):
        fx.put(x, 60, 1.0)
        np.asarray(x)
    with pytest.raises(fx.NotYetError, match="fx.where"):
        fx.jit(lambda x: x[x > 0])(A)


def test_a_histogram_of_two_axes_inside_a_compiled_function():
    @fx.jit
    def count(i, j):
        h = fx.zeros((3, 4), dtype=fx.int64)
        np.add.at(h, (i, j), 1)
        return h

    i, j = RNG.integers(0, 3, 100), RNG.integers(0, 4, 100)
    want = np.zeros((3, 4), np.int64)
    np.add.at(want, (i, j), 1)
    same(count(i, j), want)
