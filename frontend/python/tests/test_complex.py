# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Complex numbers next to NumPy: dtypes, functions, operators, interchange, compiled functions."""

import pickle

import numpy as np
import pytest

import fusec as fx

Z = np.array([1 + 2j, -0.5j, 3, 0.25 - 1j, -2 + 0.5j])
W = Z[::-1] * (0.5 + 1j)
R, F, I = np.arange(5.0), np.arange(5, dtype="f4"), np.arange(5, dtype="i2")


def same(got, want, rtol=1e-12):
    want = np.asarray(want)
    assert got.dtype == want.dtype and got.shape == want.shape, (got.dtype, want.dtype)
    np.testing.assert_allclose(np.asarray(got), want, rtol=rtol if want.dtype.itemsize > 8 or want.dtype.kind not in "c"
                               else 1e-5, atol=1e-14 if want.dtype.itemsize > 8 else 1e-6)


ONE = ("exp log sin cos tan sqrt abs sinh cosh tanh arcsin arccos arctan arcsinh arccosh arctanh log2 log10 log1p "
       "expm1 square reciprocal negative sign isnan isfinite isinf real imag conj angle isreal iscomplex sum prod "
       "mean cumsum cumprod any all var std").split()


@pytest.mark.parametrize("name", ONE)
def test_functions(name):
    for dtype in ("c16", "c8"):
        z = Z.astype(dtype)
        want = getattr(np, name)(z)
        got = getattr(fx, name)(fx.asarray(z))
        same(got, want, 1e-9 if dtype == "c16" else 1e-5)


@pytest.mark.parametrize("text", ["x + y", "x - y", "x * y", "x / y", "x ** 2", "x ** y", "x == y", "x != y", "x * 2", "x + 1j",
                                  "2j * x", "r + 1j", "f * 1j", "i * 1j", "i + 0j", "x * r", "x[1:]", "abs(x)", "x.real", "x.imag",
                                  "x.T", "x.conj()", "f + x.astype('c8')", "i + x.astype('c8')", "x == 1j", "x.astype('f8')",
                                  "x.reshape(5, 1) + y", "x[::-1]"])
def test_operators(text):
    import warnings

    warnings.simplefilter("ignore")
    arrays = {"x": Z, "y": W, "r": R, "f": F, "i": I}
    want = eval(text, arrays.copy())
    same(eval(text, {k: fx.asarray(v) for k, v in arrays.items()}), want, 1e-9)
    same(fx.jit(lambda x, y, r, f, i: eval(text, {"x": x, "y": y, "r": r, "f": f, "i": i}))(*arrays.values()), want, 1e-9)


def test_one_kernel():
    x = fx.asarray(Z)
    assert len(fx.explain(abs(fx.exp(x * 1j) + x.conj()) * 2).kernels) == 1


def test_making_and_reading():
    assert fx.asarray(1 + 2j).item() == 1 + 2j and complex(fx.asarray(2j)) == 2j
    assert fx.asarray([[1j, 2]]).tolist() == [[1j, 2]]
    assert fx.full((2,), 1j).dtype == fx.complex128 and fx.zeros(2, dtype=complex).dtype == "complex128"
    assert fx.result_type(fx.float32, 1j) == fx.complex64 and fx.result_type(fx.int32, fx.complex64) == fx.complex128
    assert fx.finfo(fx.complex64).eps == fx.finfo(fx.float32).eps and fx.isdtype(fx.complex64, "complex floating")
    same(fx.linspace(0, 1 + 1j, 5), np.linspace(0, 1 + 1j, 5))
    for bad in (float, int):
        with pytest.raises(TypeError):
            bad(fx.asarray(1j))
    with pytest.raises(TypeError):
        fx.asarray(1j) < 2
    with pytest.raises(TypeError):
        fx.asarray(1j, dtype=float)


def test_interchange():
    for dtype in ("c8", "c16"):
        x = fx.asarray(Z.astype(dtype)) * 1
        assert np.array_equal(np.asarray(x), Z.astype(dtype)) and memoryview(x).format == {"c8": "Zf", "c16": "Zd"}[dtype]
        assert np.array_equal(np.asarray(fx.asarray(memoryview(x))), np.asarray(x))
        assert np.array_equal(np.from_dlpack(x), np.asarray(x))
        assert pickle.loads(pickle.dumps(x)).dtype == x.dtype
    out = np.empty(5, complex)
    fx.jit(lambda x: x * 1j)(Z, out=out)
    np.testing.assert_array_equal(out, Z * 1j)
    same(fx.asarray(np.asfortranarray(Z.repeat(4).reshape(4, 5)))[::2, 1:], Z.repeat(4).reshape(4, 5)[::2, 1:])


def test_linear_algebra():
    a = np.random.default_rng(0).normal(size=(3, 3)) + 1j
    same(fx.asarray(a) @ fx.asarray(a), a @ a)
    same(fx.vecdot(fx.asarray(Z), fx.asarray(W)), np.vecdot(Z, W))
    assert fx.linalg.eigvals(fx.asarray(np.eye(2))).dtype == fx.complex128
    same(fx.fft.ifft(fx.fft.fft(fx.asarray(R))), R.astype(complex))


def test_derivative():
    assert fx.grad(lambda t: abs(fx.exp(1j * t) + 1.0).sum())(0.5) == pytest.approx(-np.sin(0.25))


def test_random_arithmetic():
    rng = np.random.default_rng(3)
    for _ in range(40):
        a, b = (rng.normal(size=4) + 1j * rng.normal(size=4) for _ in range(2))
        x, y = fx.asarray(a), fx.asarray(b)
        same(fx.exp(x) * y / (x - y) + fx.sqrt(y) * x.real, np.exp(a) * b / (a - b) + np.sqrt(b) * a.real, 1e-9)
