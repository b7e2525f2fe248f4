# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Columns of Arrow and arrays of Blosc2 as arguments, whole and in pieces."""

import gc

import fusec as fx
import numpy as np
import pytest

X = np.random.default_rng(0).random(30011).astype("f4")


def stats(x):
    return x.mean(), x.std(), x * 2


WANT = [np.asarray(k) for k in fx.jit(stats)(X)]


def same(got):
    assert all(np.array_equal(np.asarray(g), w) for g, w in zip(got, WANT, strict=True))


def only(x, stream):
    name = "__arrow_c_stream__" if stream else "__arrow_c_array__"
    return type("Only", (), {name: lambda self, requested=None: getattr(x, name)(requested)})()


def test_arrow():
    pa = pytest.importorskip("pyarrow")
    column, chunked = pa.array(X), pa.chunked_array([X[:7], X[7:20000], X[20000:]])
    for x in (column, chunked, only(column, False), only(chunked, True), pa.array(np.r_[X, X])[: len(X)]):
        assert np.array_equal(np.asarray(fx.asarray(x)), X)
        same(fx.jit(stats)(x))
        same(fx.pieces.run(stats, x, length=4096))
    same(fx.pieces.run(stats, pa.table({"x": chunked}).to_reader(), length=1024))
    y = fx.borrow(pa.array(X.copy()))
    gc.collect()
    assert np.array_equal(np.asarray(y), X)
    bits = X > 0.5
    for first in (0, 3, 8, 13):
        assert fx.asarray(pa.array(bits)[first:50]).tolist() == bits[first:50].tolist()
    rows = pa.FixedSizeListArray.from_arrays(pa.array(X[:30]), 3)
    for part in (rows, rows[2:5], pa.chunked_array([rows[2:5]])):
        assert fx.asarray(part).tolist() == X[:30].reshape(10, 3)[0 if len(part) == 10 else 2:][: len(part)].tolist()
    for dtype in ("i1", "u2", "i4", "u8", "f2", "f8"):
        a = np.arange(5).astype(dtype)
        assert fx.asarray(pa.array(a)).dtype == dtype and fx.asarray(pa.array(a)).tolist() == a.tolist()
    assert fx.asarray(pa.array([], "f4")).shape == (0,) and fx.asarray(only(pa.chunked_array([], "f4"), True)).shape == (0,)


def test_arrow_that_is_no_array():
    pa = pytest.importorskip("pyarrow")
    whole = pa.array([1.0, None, 3.0])
    for bad, error in ((whole, ValueError), (whole[1:], ValueError), (pa.array([True, None]), ValueError), (pa.array(["a"]), TypeError),
                       (pa.array([[1], [2]]), TypeError), (pa.array(["a"]).dictionary_encode(), TypeError),
                       (pa.table({"a": [1], "b": [2]}).to_reader(), TypeError),
                       (pa.FixedSizeListArray.from_arrays(pa.array([1.0, None]), 1), ValueError)):
        with pytest.raises(error):
            fx.asarray(bad)
    assert fx.asarray(whole[2:]).tolist() == [3.0]


def test_an_arrow_stream_that_fails():
    pa = pytest.importorskip("pyarrow")

    def batches():
        yield pa.record_batch({"x": X[:5]})
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        fx.asarray(pa.RecordBatchReader.from_batches(pa.schema([("x", pa.float32())]), batches()))


def test_blosc2(tmp_path):
    blosc2 = pytest.importorskip("blosc2")
    b = blosc2.asarray(X, urlpath=str(tmp_path / "x.b2nd"), mode="w", chunks=(5000,), blocks=(1000,))
    same(fx.jit(stats)(b))
    same(fx.pieces.run(stats, b, length=4096))
    out = blosc2.empty(X.shape, X.dtype)
    fx.pieces.run(lambda x: x * 2, b, length=4096, out=out)
    assert np.array_equal(out[:], X * 2)
