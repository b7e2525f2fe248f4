# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scalar functions of the user: by ctypes, in expressions and traced, and what goes wrong."""

import ctypes

import pytest

import fusec as fx

DOUBLE = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double, ctypes.c_double)
ARRAYS = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.POINTER(ctypes.c_void_p), ctypes.c_void_p)


@DOUBLE
def bend(x, a):
    return x * x - a * x


@ARRAYS
def signs(_, n, given, out):
    x = ctypes.cast(given[0], ctypes.POINTER(ctypes.c_float))
    y = ctypes.cast(out, ctypes.POINTER(ctypes.c_bool))
    for i in range(n):
        y[i] = x[i] < 0


f = fx.extern("bend", [fx.float64, fx.float64], fx.float64, pointer=bend)
g = fx.extern("signs", [fx.float32], fx.bool, pointer=signs, arrays=True, slots=1)


@pytest.fixture(autouse=True)
def on_cpu():
    with fx.use_device("cpu"):
        yield


def test_values():
    x = fx.asarray([-1.5, 0.0, 2.0])
    assert (f(x * 2, 0.5) + 1).tolist() == [2 * v * (2 * v) - 0.5 * (2 * v) + 1 for v in (-1.5, 0.0, 2.0)]
    assert f(x[:, None], x).shape == (3, 3)
    assert g(x.astype(fx.float32)).tolist() == [True, False, False]
    assert f(1, 2).item() == -1.0
    assert "bend(float64, float64) -> float64" in repr(f)


def test_one_kernel():
    @fx.jit
    def h(x):
        return fx.sum(f(x + 1, 2) * 3)

    x = fx.asarray([1.0, 2.0, 3.0])
    assert h(x).item() == sum(3 * ((v + 1) ** 2 - 2 * (v + 1)) for v in (1.0, 2.0, 3.0))
    before = fx.counters()["plans"]
    again = fx.sum(f(fx.asarray([1.0, 2.0]) + 1, 2) * 3).item()
    assert again == sum(3 * ((v + 1) ** 2 - 2 * (v + 1)) for v in (1.0, 2.0))
    assert fx.counters()["plans"] == before + 1


def test_wrong():
    with pytest.raises(TypeError):
        f(1.0)
    for pointer in ("bend", b"bend", True, len, lambda x: x):
        with pytest.raises(TypeError, match="pointer is"):
            fx.extern("bend", [fx.float64], fx.float64, pointer=pointer)
    for count in (0, 17):
        with pytest.raises(ValueError, match="not 1 to 16"):
            fx.extern("bend", [fx.float64] * count, fx.float64, pointer=bend)
    with pytest.raises(ValueError):
        fx.extern("two words", [fx.float64], fx.float64, pointer=bend)(1.0)
    with pytest.raises(ValueError):
        fx.extern("none", [fx.float64], fx.float64)(1.0)
    no_cpu = fx.extern("text", [fx.float64], fx.float64, cuda="__device__ double text(double x) { return x; }")
    with pytest.raises(Exception, match="no function for the CPU"):
        no_cpu(1.0).item()
    with pytest.raises(Exception, match="no function of number"):
        fx._core.op("extern", (fx.asarray(1.0),), start=(999,))
