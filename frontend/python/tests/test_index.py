# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elements at indices, assignments, pads, diagonals, prefixes and reductions that skip, next to NumPy:
as values, and inside compiled functions."""

import itertools
import random

import numpy as np
import pytest

import fusec as fx


def kernels(x):
    return len(fx.explain(x).kernels)


def same(got, want):
    assert got.shape == want.shape and got.dtype == want.dtype
    np.testing.assert_allclose(np.asarray(got), want, rtol=1e-12, atol=1e-14)


A = np.arange(60.0).reshape(3, 4, 5)
I = np.array([2, 0, -1])
J, K = np.array([[1, 3], [-4, 0]]), np.array([[1, 2], [-3, 0]])
KEYS = [(I,), (slice(None), J), (..., I), (I, I), (slice(None), I, I), (I, slice(None), I), (0, I), (I, 0, slice(1, 4)),
        (slice(None, None, -1), I), (K, J), (K, 1, J), (slice(1, 3), [0, 2]), (np.int64(1), I), (I, ..., 2)]


@pytest.mark.parametrize("key", range(len(KEYS)))
def test_arrays_of_indices(key):
    k = KEYS[key]
    x = fx.asarray(A)
    ours = tuple(fx.asarray(i) if isinstance(i, np.ndarray) else i for i in k)
    got = (x * 2)[ours]
    assert kernels(got + 1) == 1
    same(got, (A * 2)[k])
    same(x[k], A[k])
    same(fx.jit(lambda x: x[k] + 1)(A), A[k] + 1)


def test_an_index_outside_is_an_error():
    x = fx.asarray(A)
    for key in ((fx.asarray([3]),), (0, fx.asarray([0, 4])), (fx.asarray([-4]),), (fx.asarray([1]), fx.asarray([4]))):
        with pytest.raises(IndexError):
            np.asarray(x[key])
    with pytest.raises(IndexError):
        x[fx.asarray([0.5])]
    with pytest.raises(IndexError):
        np.asarray(fx.take(x, fx.asarray([7]), axis=1))


def test_take():
    x = fx.asarray(A)
    for axis in (None, 0, 1, -1):
        same(fx.take(x, fx.asarray(K), axis=axis), np.take(A, K, axis=axis))
    order = np.argsort(-A, axis=1)
    same(fx.take_along_axis(x, fx.asarray(order), axis=1), np.take_along_axis(A, order, axis=1))
    assert kernels(fx.sin(fx.take(x, fx.asarray(I), axis=0)).sum()) == 1


ASSIGNED = [np.s_[1:3], np.s_[0], np.s_[..., ::2], np.s_[::-1], np.s_[:, 1:4:2, ::-2], np.s_[1, :, 2], np.s_[None, 1:], np.s_[-1:, ..., 0],
            np.s_[2:2], np.s_[:, -3:-1]]


@pytest.mark.parametrize("key", range(len(ASSIGNED)))
def test_assignment_of_arrays(key):
    k = ASSIGNED[key]
    for value in (np.arange(A[k].size, dtype="f4").reshape(A[k].shape) + 100, np.float32(7), -1):
        want = A.copy()
        want[k] = value
        x = fx.asarray(A)
        y = x
        x[k] = fx.asarray(value) if isinstance(value, np.ndarray) else value
        assert x is y and kernels(x) <= 2
        same(x, want)

        @fx.jit
        def assign(a, v):
            a = a + 0
            a[k] = v
            return a

        same(assign(A, np.asarray(value, "f4")), want)


def test_assignment_broadcasts_and_refuses():
    x, want = fx.asarray(A), A.copy()
    x[1:, :, :] = fx.asarray(np.arange(5.0))
    want[1:, :, :] = np.arange(5.0)
    same(x, want)
    with pytest.raises(ValueError):
        x[1:] = fx.zeros((3, 4, 5))


def test_random_keys():
    rnd = random.Random(7)
    for _ in range(150):
        key = []
        for n in A.shape[: rnd.randint(1, 3)]:
            kind = rnd.randrange(4)
            bounds = [rnd.choice([None, *range(-n - 1, n + 2)]) for _ in range(2)]
            key.append(rnd.randrange(-n, n) if kind == 0 else slice(*bounds, rnd.choice([None, 1, 2, -1, -2]))
                       if kind < 3 else np.array([rnd.randrange(-n, n) for _ in range(2)]))
        key = tuple(key)
        same(fx.asarray(A)[key], A[key])
        if any(isinstance(k, np.ndarray) for k in key):
            continue
        v = np.array([rnd.random() for _ in range(A[key].size)]).reshape(A[key].shape)
        want, x = A.copy(), fx.asarray(A)
        want[key] = v
        x[key] = fx.asarray(v)
        same(x, want)


def test_pad():
    x = A[:, :, 0]
    for mode, width in itertools.product(("constant", "edge", "wrap", "reflect", "symmetric"),
                                         (1, (2, 1), ((0, 2), (1, 0)))):
        got = fx.pad(fx.asarray(x), width, mode=mode)
        assert kernels(got * 2) == 1
        same(got, np.pad(x, width, mode=mode))
    same(fx.pad(fx.asarray(x), 1, constant_values=7), np.pad(x, 1, constant_values=7))
    same(fx.pad(fx.asarray(x), 1, mode="linear_ramp"), np.pad(x, 1, mode="linear_ramp"))


def test_diagonals():
    for shape, k in itertools.product(((3, 3), (2, 5), (5, 2)), range(-6, 7)):
        a = np.arange(float(np.prod(shape))).reshape(shape)
        same(fx.diagonal(fx.asarray(a), k), np.diagonal(a, k))
        same(fx.diag(fx.asarray(a), k), np.diag(a, k))
        assert fx.trace(fx.asarray(a), k).item() == np.trace(a, k)
    for k in (-2, 0, 3):
        same(fx.diag(fx.asarray(I), k), np.diag(I, k))
    same(fx.diagonal(fx.asarray(A), 1, 2, 0), np.diagonal(A, 1, 2, 0))


def test_reductions_that_leave_out():
    a = A.copy()
    a[0, 1] = a[:, 2, 3] = np.nan
    x, where = fx.asarray(a), A % 3 == 0
    for name, axis in itertools.product(("nansum", "nanprod", "nanmin", "nanmax", "nanmean", "nanvar", "nanstd"),
                                        (None, (0, 2))):
        got = getattr(fx, name)(x, axis=axis)
        want = np.asarray(getattr(np, name)(a, axis=axis))
        np.testing.assert_allclose(np.asarray(got), want, rtol=1e-12)
    for name, more in (("nansum", {"dtype": np.float32, "initial": 3}), ("nanmean", {"dtype": np.float32, "where": where}),
                       ("nanmax", {"initial": -1.0, "where": where}), ("nanmin", {"initial": 5.0}), ("nanstd", {"ddof": 1}),
                       ("nanvar", {"where": where, "dtype": np.float64}), ("nanprod", {"where": where}), ("nanargmax", {})):
        out = np.empty((3, 5), getattr(np, name)(a, axis=1, **more).dtype)
        assert getattr(np, name)(x, axis=1, out=out, **more) is out  # NumPy's function comes to ours
        np.testing.assert_allclose(out, getattr(np, name)(a, axis=1, **more), rtol=1e-6)
    z = np.array([1 + 2j, complex(np.nan, 1), 3])
    for name in ("nansum", "nanmean", "nanvar"):
        np.testing.assert_allclose(np.asarray(getattr(fx, name)(fx.asarray(z))), getattr(np, name)(z), rtol=1e-12)
    x = fx.asarray(A)
    for name, axis in itertools.product(("mean", "var", "std", "sum"), (None, 1)):
        np.testing.assert_allclose(np.asarray(getattr(fx, name)(x, axis=axis, where=fx.asarray(where))),
                                   getattr(np, name)(A, axis=axis, where=where), rtol=1e-12)
    same(fx.max(x, axis=1, initial=30.0, where=fx.asarray(where)), A.max(axis=1, initial=30.0, where=where))
    same(fx.min(x[:, :0], axis=1, initial=30.0), A[:, :0].min(axis=1, initial=30.0))
    assert kernels(fx.mean(x, axis=1, where=fx.asarray(where))) == 1


def test_average_and_prefixes():
    x, w = fx.asarray(A), np.arange(4.0)
    same(fx.average(x, axis=1, weights=fx.asarray(w)), np.average(A, axis=1, weights=w))
    a = np.array([[3.0, 1, 4, 1], [5, 9, 2, 6]])
    for f, g in ((np.minimum, fx.cummin), (np.maximum, fx.cummax)):
        same(g(fx.asarray(a), axis=1), f.accumulate(a, axis=1))
        same(f.accumulate(fx.asarray(a), axis=0), f.accumulate(a, axis=0))
    same(np.add.accumulate(fx.asarray(a)), np.add.accumulate(a))


def test_products():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(3, 4)), rng.normal(size=(4, 5))
    for text, arrays in (("ik,kj->ij", (a, b)), ("ij->ji", (a,)), ("ij->", (a,)), ("ij,jk", (a, b)), ("i,j->ij", (I, I)),
                         ("ii", (a[:, :3],)), ("...j,j", (a, a[0])), ("ii->i", (a[:, :3],)), ("iji->j", (rng.normal(size=(3, 2, 3)),)),
                         ("bii->b", (rng.normal(size=(2, 4, 4)),)), ("ii,ij->j", (a[:, :3], a)), ("aab,bcc->ac", (rng.normal(
                             size=(2, 2, 3)), rng.normal(size=(3, 5, 5)))), ("iii", (rng.normal(size=(4, 4, 4)) * (1 + 2j),))):
        got = fx.einsum(text, *map(fx.asarray, arrays))
        same(got, np.asarray(np.einsum(text, *arrays)))
    x = rng.normal(size=(3, 4, 4))
    same(fx.grad(lambda x: (fx.einsum("bii->b", x) ** 2).sum())(fx.asarray(x)),
         2 * np.einsum("bii->b", x)[:, None, None] * np.eye(4))
    same(fx.grad(lambda x: (fx.einsum("iij->ij", x) ** 3).sum())(fx.asarray(x[:, :3])),
         3 * x[:, :3] ** 2 * np.eye(3)[:, :, None])
    assert kernels(fx.einsum("ii->i", fx.sin(fx.asarray(a[:, :3]))) + 1) == 1
    assert kernels(fx.einsum("ik,kj->ij", fx.sin(fx.asarray(a)), fx.asarray(b)) + 1) <= 2
    for f in (lambda m: m.kron(a, b), lambda m: m.kron(a[0], b), lambda m: m.cross(a[:, :3], a[:, 1:]), lambda m: m.inner(a, a),
              lambda m: m.dot(a, np.ones((2, 4, 3))), lambda m: m.tensordot(a, b, axes=1),
              lambda m: m.tensordot(a, a, axes=((0, 1), (0, 1)))):
        same(f(fx), np.asarray(f(np)))
    same(fx.jit(lambda a, b: fx.tensordot(a, b, axes=1))(a, b), a @ b)
    same(fx.jit(lambda a: fx.inner(a, a))(a), np.inner(a, a))


def test_order_inside_compiled_functions():
    a = np.random.default_rng(1).normal(size=(4, 50)).round(1)
    a[0, :2] = 0.0, -0.0
    for axis in (0, 1):
        same(fx.jit(lambda x: fx.sort(x, axis=axis) * 2)(a), np.sort(a, axis=axis) * 2)
        same(fx.jit(lambda x: fx.argsort(x, axis=axis))(a), np.argsort(a, axis=axis, kind="stable"))
        same(fx.jit(lambda x: fx.sort(x, axis=axis, descending=True))(a), -np.sort(-a, axis=axis))
    s = np.sort(a[0])
    for side in ("left", "right"):
        same(fx.jit(lambda s, v: fx.searchsorted(s, v, side=side))(s, a), np.searchsorted(s, a, side=side))
    p = np.asarray(fx.random.permutation(100, seed=3))
    assert sorted(p) == list(range(100)) and list(p) != list(range(100))


@pytest.mark.parametrize("key", [(I,), (slice(None), J), (..., [4, 0, -2]), (np.array([1, 1, 1]),)])
def test_assignment_to_indices(key):
    for value in (np.arange(A[key].size, dtype="f4").reshape(A[key].shape), 7.5):
        want, x = A.copy(), fx.asarray(A)
        want[key] = value
        x[key] = fx.asarray(value) if isinstance(value, np.ndarray) else value
        same(x, want)

        @fx.jit
        def assign(a, v):
            a = a + 0
            a[key] = v
            return a

        same(assign(A, np.asarray(value, "f8")), want)
    x = fx.asarray(A)
    with pytest.raises(IndexError):
        x[fx.asarray([7])] = 1.0
        np.asarray(x)


@pytest.mark.parametrize("name", ["add", "minimum", "maximum", "multiply"])
@pytest.mark.parametrize("dtype", ["f4", "i4", "u1"])
def test_updates_at_indices(name, dtype):
    update, i = getattr(np, name).at, np.array([0, -1, 2, 2, 2, -3])
    for shape, key, values in (((5,), i, (6,)), ((5, 3), i, (6, 3)), ((2, 5), (slice(None), i), (2, 6)), ((5, 3), i, ())):
        want = (np.arange(np.prod(shape)) % 7).reshape(shape).astype(dtype)
        v = (np.arange(np.prod(values, dtype=int)) % 5 + 1).reshape(values).astype(dtype)
        x, before = fx.asarray(want), fx.asarray(want) + 0
        y = x
        update(want, key, v)
        update(x, key, v)
        same(x, want)
        assert y is x and before.shape == want.shape


def test_updates_outside_and_by_numbers():
    x = fx.zeros(4)
    np.add.at(x, [1, 1, 3], 0.5)
    same(x, np.array([0, 1, 0, 0.5], x.dtype.name))
    with pytest.raises(IndexError):
        np.asarray(np.add.at(x, [4], 1.0) or x)


@pytest.mark.parametrize("op", ["sum", "prod", "min", "max", "any", "all", "mean", "argmin", "argmax", "logsumexp"])
def test_rows_that_end_by_data(op):
    rng = np.random.default_rng(5)
    lengths = rng.integers(0, 9, 40)
    start = np.concatenate([[0], np.cumsum(lengths)])
    x = rng.integers(-3, 4, start[-1]).astype(np.float32) / 4 + 1
    got = np.asarray(fx.ragged(fx.asarray(x), fx.asarray(start), op=op))
    none = {"sum": 0, "prod": 1, "min": np.inf, "max": -np.inf, "any": False, "all": True, "mean": np.nan,
            "argmin": -1, "argmax": -1, "logsumexp": -np.inf}[op]
    for i, (a, b) in enumerate(zip(start[:-1], start[1:])):
        want = none
        if b > a and op == "logsumexp":
            want = np.log(np.sum(np.exp(x[a:b])))
        elif b > a:
            want = getattr(np, op)(x[a:b]) + (a if op.startswith("arg") else 0)
        np.testing.assert_allclose(got[i], want, rtol=1e-5)


def test_a_sparse_matrix_by_a_vector_and_a_matrix():
    rng = np.random.default_rng(6)
    dense = np.where(rng.random((30, 20)) < 0.1, rng.standard_normal((30, 20)), 0)
    rows, column = np.nonzero(dense)
    start = np.searchsorted(rows, np.arange(31))
    value, x, y = dense[rows, column], rng.standard_normal(20), rng.standard_normal((20, 3))
    product = fx.jit(lambda s, c, v, x: fx.ragged(v * x[c], s))
    np.testing.assert_allclose(np.asarray(product(start, column, value, x)), dense @ x, rtol=1e-12, atol=1e-12)
    product = fx.jit(lambda s, c, v, x: fx.ragged(v[:, None] * x[c], s[:-1], s[1:]))
    np.testing.assert_allclose(np.asarray(product(start, column, value, y)), dense @ y, rtol=1e-12, atol=1e-12)
    with pytest.raises(ValueError, match="op is one of"):
        fx.ragged(fx.asarray(x), fx.asarray([0, 1]), op="median")
    with pytest.raises(IndexError):
        np.asarray(fx.ragged(fx.asarray(x), fx.asarray([0, 21])))


def test_rows_begin_and_end_in_one_shape():
    x = fx.asarray([3.0, -1, 4, 1, 5])
    assert fx.ragged(x, [0, 1, 2], 5).tolist() == [12.0, 9.0, 10.0]
    for starts, ends in (([0, 1], [[2, 2], [5, 4]]), ([0, 1], [2, 3, 5]), (0, [1, 2])):
        with pytest.raises(ValueError, match="where they end are of one shape"):
            fx.ragged(x, starts, ends).tolist()
