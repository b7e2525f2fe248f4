# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sorting, searching, quantiles, products and Fourier transforms outside of compiled functions, next to NumPy."""

import numpy as np
import pytest

import fusec as fx

FLOATS = ("f4", "f8")
ALL = ("i4", *FLOATS, "c8", "c16")


def array(dtype, shape=(6, 7)):
    rng = np.random.default_rng(0)
    a = rng.normal(size=shape) * 5
    return (a + 1j * rng.normal(size=shape)).astype(dtype) if dtype[0] == "c" else a.astype(dtype)


def same(a, b, atol=1e-5, dtype=True):
    assert isinstance(a, fx.Array)
    a, b = np.asarray(a), np.asarray(b)
    assert a.shape == b.shape and (not dtype or a.dtype == b.dtype)
    np.testing.assert_allclose(a, b, atol=atol, rtol=1e-5)


@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
def test_fourier(name, norm):
    for dtype in ALL:
        if dtype[0] == "c" and name in ("rfft", "ihfft"):
            continue
        a = array(dtype)
        for n, axis in ((None, -1), (4, 0), (9, -1), (7, 1)):
            same(getattr(fx.fft, name)(fx.asarray(a), n, axis, norm), getattr(np.fft, name)(a, n, axis, norm), 1e-4)


@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn"])
def test_fourier_along_several_axes(name):
    for dtype in ("f8", "c16") if name != "rfftn" else ("f8",):
        a = array(dtype)
        for s, axes in ((None, None), ((4, 8), (0, 1)), (None, (0,)), (None, (1, 0))):
            same(getattr(fx.fft, name)(fx.asarray(a), s, axes, "ortho"), getattr(np.fft, name)(a, s, axes, "ortho"))


def test_fourier_is_lazy_and_checked():
    a = array("f8")
    x = fx.asarray(a)
    y = fx.fft.ifft(fx.fft.fft(x * 2)).real
    assert fx._core.depth(y) > 1
    same(y, a * 2)
    same(fx.fft.fftshift(x), np.fft.fftshift(a)), same(fx.fft.ifftshift(x, 1), np.fft.ifftshift(a, 1))
    for bad in (lambda: fx.fft.fft(x, 0), lambda: fx.fft.fft(x, norm="loud"), lambda: fx.fft.rfft(x + 1j),
                lambda: fx.fft.fft(x, axis=5), lambda: fx.fft.fft(x[:, :0])):
        with pytest.raises((ValueError, TypeError)):
            bad()


@pytest.mark.parametrize("dtype", ["i4", "u1", *FLOATS])
def test_order(dtype):
    a = array(dtype)
    a[0, 1] = a[3, 4] = a[2, 2]
    x = fx.asarray(a)
    for axis in (0, 1, None):
        same(fx.sort(x, axis=axis), np.sort(a, axis=axis))
        same(fx.argsort(x, axis=axis), np.argsort(a, axis=axis, kind="stable"))
        for q in (0.5, 0.3, 1.0, [0.1, 0.9]):
            same(fx.quantile(x, q, axis=axis), np.quantile(a, q, axis=axis))
        same(fx.median(x, axis=axis), np.median(a, axis=axis))
        same(fx.percentile(x, 30.0, axis=axis, keepdims=True), np.percentile(a, 30.0, axis=axis, keepdims=True))
    same(fx.sort(x, descending=True), -np.sort(-a.astype("f8")), dtype=False)
    same(fx.isin(x, x[2]), np.isin(a, a[2])), same(fx.isin(x, a[0, 0], invert=True), np.isin(a, a[0, 0], invert=True))
    bins = np.array([-4.0, -1, 0, 2])
    for right in (False, True):
        same(fx.digitize(x, bins, right), np.digitize(a, bins, right))
        side = "right" if right else "left"
        same(fx.searchsorted(fx.sort(x[0]), x, side=side), np.searchsorted(np.sort(a[0]), a, side=side))
    values, at = fx.top_k(x, 3, axis=0)
    same(values, np.sort(a, axis=0)[::-1][:3]), same(fx.take_along_axis(x, at, axis=0), values)
    same(fx.select([x > 2, x < 1], [x, x + x], 0), np.select([a > 2, a < 1], [a, a + a], 0).astype(dtype))


def test_nans_are_the_largest():
    a = np.array([3, np.nan, -np.inf, 1, np.inf, 0.0, -0.0])
    x = fx.asarray(a)
    same(fx.sort(x), np.sort(a)), same(fx.argsort(x), np.argsort(a, kind="stable"))
    same(fx.median(x), np.median(a)), same(fx.quantile(x[3:], 0.25), np.quantile(a[3:], 0.25))
    assert not fx.isin(x, np.nan).any() and fx.isin(x, []).tolist() == [False] * 7


@pytest.mark.parametrize("dtype", ["i4", "bool", *ALL])
def test_products(dtype):
    a = array("f8").astype(dtype) if dtype == "bool" else array(dtype)
    x = fx.asarray(a)
    same(x @ x.T, a @ a.T, 1e-3), same(x @ x[0], a @ a[0], 1e-3), same(x[:, 0] @ x, a[:, 0] @ a, 1e-3)
    if dtype != "bool":
        same(fx.tensordot(x, x, axes=((0,), (0,))), np.tensordot(a, a, axes=((0,), (0,))), 1e-3)
    stack = fx.stack([x, x + x]) @ x.T
    assert stack.shape == (2, 6, 6) and fx._core.depth((x @ x.T) * 2) > 1 or dtype == "bool"


def test_parts_of_an_order():
    inf = np.inf
    for a in ([1, inf], [-inf, -1], [1, 2, inf], [inf, inf], [3e38, -3e38], [1, np.nan, 2]):
        a = np.array(a, np.float32)
        with np.errstate(invalid="ignore", over="ignore"):
            same(fx.median(fx.asarray(a)), np.median(a.astype("f8")).astype("f4"))
    for n, k in ((1, 1), (17, 0), (17, 17), (5000, 40)):
        a = np.random.default_rng(n).integers(0, 50, (3, n)).astype(np.int32)
        for mode, key in (("largest", -a), ("smallest", a)):
            at = np.argsort(key, axis=1, kind="stable")[:, :k]
            v, i = fx.top_k(fx.asarray(a), k, mode=mode)
            same(i, at)
            same(v, np.take_along_axis(a, at, 1))
