# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions in pieces (fusec.pieces, fusec.dask): the bits of one call, whatever the pieces."""

import operator
import pickle

import numpy as np
import pytest

import fusec as fx
from fusec import pieces

rng = np.random.default_rng(1)
X = rng.standard_normal(100001).astype(np.float32)
M = rng.standard_normal((5003, 7))


def standard(x):
    return (x - x.mean()) / x.std()


def several(m, w, k):
    return {"sum": m.sum(0) * k, "rows": (m @ w)[1:], "most": m.max(), "diff": m[1:] - m[:-1]}


@pytest.mark.parametrize("length", [1024, 7000, 200000, None])
def test_one_result(length):
    np.testing.assert_array_equal(pieces.run(standard, X, length=length), fx.jit(standard)(X))


def test_licences_of_a_function():
    f = fx.jit(lambda x, y: x * x - y, mode="contract")
    x = M.reshape(-1)
    r = f(x, x * x)
    assert r.any()
    np.testing.assert_array_equal(pieces.run(f, x, x * x, length=1024), r)


@pytest.mark.parametrize("length", [1, 999, 5000])
def test_several_results_and_arguments(length):
    w = rng.standard_normal((7, 2))
    got, want = pieces.run(several, M, w, 2.5, length=length), fx.jit(several)(M, w, 2.5)
    for name, a in want.items():
        np.testing.assert_array_equal(got[name], a)


@pytest.mark.parametrize("length", [16, 700, 5000])
def test_scans_and_edges_around(length):
    def f(m):
        c = fx.cumulative_sum(m, axis=0)
        return c, c[9:] - c[:-9], fx.roll(m, 3, axis=0) - fx.roll(m * 2, -800, axis=0) / m.sum()

    for got, want in zip(pieces.run(f, M, length=length), fx.jit(f)(M)):
        np.testing.assert_array_equal(got, want)


def test_another_axis_and_memory_of_the_caller(tmp_path):
    f = fx.jit(lambda x, y: fx.exp(x) * y)
    y = rng.standard_normal((5003, 1))
    out = np.lib.format.open_memmap(tmp_path / "o.npy", "w+", np.float64, (5003, 7))
    assert pieces.run(f, M, y, axis=1, length=2, out=out) is out
    np.testing.assert_array_equal(np.load(tmp_path / "o.npy"), f(M, y))
    mapped = np.load(tmp_path / "o.npy", mmap_mode="r")
    assert pieces.run(lambda x: x.sum(), mapped) == fx.jit(lambda x: x.sum())(f(M, y))


def test_elements_at_odd_addresses():
    odd = np.frombuffer(bytearray(1) + bytearray(X.tobytes()), np.uint8)[1:].view(np.float32)
    assert not odd.flags.aligned
    np.testing.assert_array_equal(pieces.run(standard, odd, length=5000), fx.jit(standard)(X))


def test_partials_travel_as_bytes_in_any_order():
    p = pieces.Pieces(lambda x: (x.sum(), fx.var(x)), X)
    assert (p.sweeps, p.grain, p.axes, p.result_axes) == (1, 1024, (0,), (-1, -1))
    sent = []
    for begin, end in reversed(p.cuts(9000)):
        part = p.partial()
        p.run(0, begin, end, [X[begin:end]], None, part)
        sent.append(part.to_bytes())
    known = p.partial(sent[0])
    for b in sent[1:]:
        known.merge(p.partial(b))
    got, want = p.finish([X[:0]], known), fx.jit(lambda x: (x.sum(), fx.var(x)))(X)
    assert got[0] == want[0] and got[1] == want[1]
    with pytest.raises(fx.Error, match="damaged"):
        p.partial(sent[0][:-1])
    with pytest.raises(fx.Error, match="is in both"):
        known.merge(p.partial(sent[1]))


def test_pickles_are_small():
    p = pieces.Pieces(standard, X)
    data = pickle.dumps(p)
    assert len(data) < 300
    q = pickle.loads(data)
    assert q.shapes == p.shapes and q is pickle.loads(data)  # compiled once


def test_numbers_of_other_types_are_other_programs():
    x = np.arange(8, dtype=np.int32)
    a, b = (pickle.loads(pickle.dumps(pieces.Pieces(operator.mul, x, k))) for k in (2.0, 2))
    assert a is not b and a.dtypes != b.dtypes


def power(x, how, n, flag):
    return sum(x**k for k in range(n)) if how == "powers" else x


@pytest.mark.parametrize("args", [("powers", 3, None), ("no", 2**40, True), (None, 5, "x")])
def test_what_is_part_of_the_program(args):
    f = fx.jit(power, static_argnames="n")
    want = f(X, *args)
    np.testing.assert_array_equal(pieces.run(f, X, *args, length=4096), want)
    p = pieces.Pieces(f, X, *args)
    assert p.axes == (0, -1, -1, -1) and pickle.loads(pickle.dumps(pieces.Pieces(standard, X))).total == len(X)
    with pytest.raises(ValueError, match="argument 1 does not lie along the cut"):
        p.needs(1, 0, 1024)
    with pytest.raises(ValueError, match="argument 2 is part of what was compiled: it was"):
        p.run(0, 0, 1024, [X[:1024], args[0], 4, args[2]], None, p.partial())
    with pytest.raises(ValueError, match="2 arguments, and the function was cut with 4"):
        p.run(0, 0, 1024, [X[:1024], args[0]], None, p.partial())


def test_numbers_before_arrays_and_large_ones():
    x = np.arange(2048, dtype=np.uint64)
    got = pieces.run(lambda s, k, x: x * k, "s", 2**63 + 5, x, length=1024)
    np.testing.assert_array_equal(got, x * np.uint64(2**63 + 5))
    with pytest.raises(OverflowError, match="has more than 64 bits: no array has such elements"):
        pieces.Pieces(operator.mul, x, 2**64)
    with pytest.raises(OverflowError, match="has more than 64 bits"):
        fx.jit(operator.mul)(x, -2**63 - 1)
    for args in ((X * 1j,), (X, 2j)):
        with pytest.raises(ValueError, match="made of complex numbers, which are not cut"):
            pieces.Pieces(lambda *a: a[0] * a[-1], *args)
    with pytest.raises(TypeError, match="argument 1 is a list: each array is an argument of its own"):
        pieces.Pieces(lambda x, y: x, X, [X])
    with pytest.raises(ValueError, match="none of the arguments is an array"):
        pieces.Pieces(lambda x: x * 2, 2.5)


def test_what_can_not_be_cut_says_why():
    with pytest.raises(ValueError, match="slice of type f32.* reads at other places along it"):
        pieces.Pieces(lambda x: fx.flip(x), X)
    with pytest.raises(ValueError, match="length of 1, or is not there"):
        pieces.Pieces(standard, np.ones((1, 5)))
    with pytest.raises(ValueError, match="which has 1: there is no axis 1"):
        pieces.Pieces(standard, X, axis=1)
    with pytest.raises(ValueError, match="out has 2 arrays"):
        pieces.run(standard, X, out=(X, X))
    p = pieces.Pieces(standard, X)
    with pytest.raises(ValueError, match="multiples of 1024"):
        p.run(0, 3, 1024, [X[3:1024]], None, p.partial())
    with pytest.raises(fx.Error, match="along axis 0"):
        p.run(0, 0, 1024, [X[:1000]], None, p.partial())
    with pytest.raises(TypeError, match="dtype"):
        p.run(0, 0, 1024, [X[:1024].astype("f8")], None, p.partial())


# ---- Dask -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("chunks", [777, 1024, 50000, 100001])
def test_dask_gives_the_same_for_all_chunks(chunks):
    da = pytest.importorskip("dask.array")
    import fusec.dask

    with __import__("dask").config.set(scheduler="synchronous"):
        y = fusec.dask.apply(standard, da.from_array(X, chunks=chunks))
        np.testing.assert_array_equal(y.compute(), fx.jit(standard)(X))
        w = rng.standard_normal((7, 2))
        got = fusec.dask.apply(several, da.from_array(M, chunks=(chunks, 3)), w, 2.5)
        for name, a in fx.jit(several)(M, w, 2.5).items():
            np.testing.assert_array_equal(got[name].compute(), a)


@pytest.mark.parametrize("chunks", [777, 50000])
def test_dask_goes_on_with_scans_and_around_edges(chunks):
    da = pytest.importorskip("dask.array")
    import fusec.dask

    def f(x):
        return fx.cumulative_sum(x) - fx.roll(x, 5)

    with __import__("dask").config.set(scheduler="synchronous"):
        got = fusec.dask.apply(f, da.from_array(X, chunks=chunks)).compute()
    np.testing.assert_array_equal(got, fx.jit(f)(X))


def test_dask_in_other_processes():
    da = pytest.importorskip("dask.array")
    import fusec.dask

    scale = 3.0
    y = fusec.dask.apply(lambda x: fx.sin(x * scale).sum(), da.from_array(X, chunks=30000))
    got = y.compute(scheduler="processes", num_workers=2)
    assert got == fx.jit(lambda x: fx.sin(x * scale).sum())(X)
