# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Text of the language as functions of arrays: the kernels of what is built in, and NumPy's values."""

import numpy as np
import pytest

import fusec as fx

X = np.linspace(-2, 2, 7, dtype=np.float32)



def test_elementwise():
    elu = fx.elementwise("x > 0 ? x : a*expm1(x)", "x, a")
    want = np.where(X > 0, X, np.float32(0.5) * np.expm1(X))
    for a in (0.5, np.float32(0.5)):
        got = elu(X, a)
        assert got.dtype == fx.float32
        np.testing.assert_allclose(np.asarray(got), want, rtol=1e-6)
    both = fx.elementwise("def both(x, y) { return x + y, x - y }", results=2)
    p, m = both(X, 1)
    assert np.array_equal(np.asarray(p), X + 1) and np.array_equal(np.asarray(m), X - 1)
    by_helper = fx.elementwise("def sq(x) = x*x\ndef norm2(x, y) = sq(x) + sq(y)")
    assert np.array_equal(np.asarray(by_helper(X, X)), 2 * X * X)
    mixed = fx.elementwise("where(c, x, f32(k))", "c k x")
    k = np.arange(7)
    assert np.array_equal(np.asarray(mixed(X > 0, k, X)), np.where(X > 0, X, k).astype(np.float32))


def test_the_kernel_of_what_is_built_in():
    elu = fx.elementwise("x > 0 ? x : a*expm1(x)", "x, a")
    text = fx.jit(lambda x, a: fx.exp(elu(x + 1, a)))
    rows = fx.jit(lambda x, a: fx.exp(fx.where(x + 1 > 0, x + 1, a * fx.expm1(x + 1))))
    assert text.source(X, 0.5) == rows.source(X, 0.5)
    norm = fx.reduction("x*x", "a + b", "sqrt(a)", start=0)
    text, rows = fx.jit(lambda x: norm(x - 1)), fx.jit(lambda x: fx.sqrt(fx.sum((x - 1) * (x - 1))))
    assert text.source(X) == rows.source(X)


def test_reduction():
    x = np.arange(12, dtype=np.float32).reshape(3, 4) / 7
    norm = fx.reduction("x*x", "a + b", "sqrt(a)", start=0)
    far = fx.reduction("abs(x - y)", "maximum(a, b)", params="x, y")
    # of a join that is no row: a + b + a*b is (1 + a)(1 + b) - 1
    growth = fx.reduction("x", "a + b + a*b", "a + 1", start=0)
    for axis in (None, 0, -1, (0, 1)):
        for keepdims in (False, True):
            how = {"axis": axis, "keepdims": keepdims}
            np.testing.assert_allclose(np.asarray(norm(x, **how)), np.sqrt(np.sum(x * x, **how)), rtol=1e-6)
            np.testing.assert_allclose(np.asarray(far(x, 1, **how)), np.max(np.abs(x - 1), **how))
            np.testing.assert_allclose(np.asarray(growth(x, **how)), np.prod(x + 1, **how), rtol=1e-5)
    assert float(growth(x[:0, 0])) == 1
    assert np.asarray(fx.jit(lambda v: growth(v * 2) + 1)(x)).shape == ()


def test_derivatives():
    cube = fx.elementwise("x*x*x", "x")
    assert np.allclose(np.asarray(fx.grad(lambda x: fx.sum(cube(x)))(X)), 3 * X * X, rtol=1e-6)


@pytest.mark.parametrize("make, error, says", [
    (lambda: fx.elementwise("x +", "x")(X), Exception, "<expr>:1:4"),
    (lambda: fx.elementwise("def f(x) { return x + }")(X), Exception, "<text>:1:23"),
    (lambda: fx.elementwise("x + k", "x, k")(X, X[:2]), fx.ShapeError, "does not broadcast"),
    (lambda: fx.elementwise("x + y", "x")(X), Exception, "y"),
    (lambda: fx.elementwise("x, x", "x")(X), Exception, "2 results"),
    (lambda: fx.elementwise("x", "x")(X, X), TypeError, "takes 1 operand"),
    (lambda: fx.elementwise("x"), TypeError, "names of its parameters"),
    (lambda: fx.elementwise("def f(x) = x", "x"), TypeError, "parameters itself"),
    (lambda: fx.elementwise("x", "1x"), ValueError, "not the name"),
    (lambda: fx.elementwise("x", "x", results=0), ValueError, "1 to 64"),
    (lambda: fx.elementwise("def f(x) = x")(), TypeError, "no operands"),
    (lambda: fx.reduction("x", "a +", start=0)(X), Exception, "expected an expression"),
    (lambda: fx.reduction("x", "a + b + y", start=0)(X), Exception, "y"),
    (lambda: fx.reduction("x", "a - b", start="0"), TypeError, "start is a number"),
    (lambda: fx.reduction("x", "a*b + a")(X[:0]), Exception, "empty"),
    (lambda: fx.reduction("x", "a + b", start=0)(X, axis=3), Exception, "axis"),
])
def test_wrong(make, error, says):
    with pytest.raises(error, match=says):
        np.asarray(make())
