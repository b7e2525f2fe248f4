# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random numbers and derivatives from Python."""

import numpy as np
import pytest

import fusec as fx


# ---- random numbers -------------------------------------------------------------------------------


def test_seeds_decide_and_compile_nothing():
    a = fx.random.uniform((3, 5), seed=3)
    np.testing.assert_array_equal(np.asarray(a), np.asarray(fx.random.uniform((3, 5), seed=3)))
    assert not np.array_equal(np.asarray(a), np.asarray(fx.random.uniform((3, 5), seed=3, stream=1)))
    plans = fx.counters()["plans"]
    for seed in range(30):
        np.asarray(fx.random.uniform((3, 5 + seed), seed=seed))
    assert fx.counters()["plans"] <= plans + 1  # the pattern (3, n)


def test_they_fuse():
    x = fx.random.normal((100, 10), fx.float32, seed=1)
    assert len(fx.explain((fx.exp(x) * 2).sum(axis=1)).kernels) == 1


def test_distributions():
    n = (200_000,)
    u, z = np.asarray(fx.random.uniform(n, seed=1, low=-1.0, high=3.0)), np.asarray(fx.random.normal(n, seed=2))
    assert u.min() >= -1 and u.max() < 3 and abs(u.mean() - 1) < 0.02
    assert abs(z.mean()) < 0.02 and abs(z.std() - 1) < 0.02
    k = np.asarray(fx.random.integers(3, 9, n, seed=3))
    assert k.dtype == np.int64 and set(np.unique(k)) == set(range(3, 9))
    p = np.asarray(fx.random.bernoulli(0.3, n, seed=4))
    assert p.dtype == bool and abs(p.mean() - 0.3) < 0.01
    assert fx.random.bits(n, "u4", seed=1).dtype == fx.uint32
    assert fx.random.uniform((4,), "f2", seed=1).dtype == fx.float16


def test_inside_compiled_functions():
    @fx.jit
    def f(x, seed):
        return x + fx.random.uniform(x.shape, seed=seed)

    for seed, n in ((3, 4), (4, 9)):
        want = 1 + np.asarray(fx.random.uniform((n,), seed=seed))
        np.testing.assert_array_equal(f(np.ones(n), seed), want)
    rng = fx.random.default_rng(1)
    with pytest.raises(fx.TraceError):
        fx.jit(lambda x: x + rng.uniform(size=x.shape))(np.ones(3))


def test_generator():
    rng, again = fx.random.default_rng(5), fx.random.default_rng(5)
    a, b = rng.random(4), rng.random(4)
    assert not np.array_equal(np.asarray(a), np.asarray(b))
    np.testing.assert_array_equal(np.asarray(again.random(4)), np.asarray(a))
    assert set(np.asarray(rng.integers(1, 3, size=50, endpoint=True))) == {1, 2, 3}
    assert rng.standard_normal(3).shape == rng.normal(1.0, 2.0, 3).shape == (3,)


def test_bad_seeds():
    for bad in (lambda: fx.random.uniform((2,), seed=0.5), lambda: fx.random.uniform((2,), "i4", seed=1),
                lambda: fx.random.bits((2,), "f4", seed=1), lambda: fx.random.uniform((2,), seed=fx.zeros(2, int))):
        with pytest.raises(TypeError):
            bad()


# ---- derivatives ----------------------------------------------------------------------------------

X = np.array([1.0, 2.0, 3.0])


def test_grad():
    np.testing.assert_array_equal(fx.grad(lambda x: (x * x * x).sum())(X), 3 * X * X)
    assert fx.grad(fx.grad(lambda x: x**3))(2.0) == 12
    y, dx = fx.value_and_grad(lambda x: fx.sin(x).sum())(X)
    assert y == pytest.approx(np.sin(X).sum())
    np.testing.assert_allclose(dx, np.cos(X))
    assert isinstance(dx, np.ndarray) and isinstance(fx.grad(lambda x: x.sum())(fx.asarray(X)), fx.Array)


def test_other_uses_of_the_array_are_constants():
    x = fx.asarray(X)
    np.testing.assert_array_equal(np.asarray(fx.grad(lambda a: (a * x).sum())(x)), X)

    def outer(a):  # of a*b*b by b at a: 2*a*a, and that by a
        return fx.grad(lambda b: (a * b * b).sum())(a).sum()

    np.testing.assert_array_equal(np.asarray(fx.grad(outer)(x)), 4 * X)
    np.testing.assert_array_equal(np.asarray(fx.jacobian(lambda a: a * x)(x)), np.diag(X))


def test_structures_numbers_and_aux():
    value, by = fx.value_and_grad(lambda p: (p["w"] * p["b"][0]).sum())({"w": X, "b": (2 * X,)})
    assert value == 28
    np.testing.assert_array_equal(by["w"], 2 * X)
    np.testing.assert_array_equal(by["b"][0], X)
    dx, dk = fx.grad(lambda x, k: (x * k).sum(), argnums=(0, 1))(X, 2.0)
    assert dk == X.sum() and (dx == 2).all()
    by, aux = fx.grad(lambda x: (x.sum(), {"kept": x * 2}), has_aux=True)(X)
    np.testing.assert_array_equal(aux["kept"], 2 * X)


def test_inside_compiled_functions_and_sizes():
    @fx.jit
    def step(w, rate):
        loss, g = fx.value_and_grad(lambda w: ((w - 1) ** 2).sum())(w)
        return w - rate * g, loss

    w, loss = step(X, 0.1)
    np.testing.assert_allclose(w, X - 0.2 * (X - 1))
    before = fx.counters()["plans"]
    step(np.ones(50), 0.2)
    assert fx.counters()["plans"] == before


def test_jvp_jacobian_stop():
    y, dy = fx.jvp(lambda a, b: a * fx.sin(b), (X, X), (np.ones(3), 2 * np.ones(3)))
    np.testing.assert_allclose(dy, np.sin(X) + 2 * X * np.cos(X))
    np.testing.assert_array_equal(np.asarray(fx.jacobian(lambda a: a * a)(fx.asarray(X))), np.diag(2 * X))
    np.testing.assert_array_equal(fx.grad(lambda x: (x * fx.stop_gradient(x)).sum())(X), X)


def test_what_has_no_derivative():
    for bad in (lambda: fx.grad(lambda x: x)(X), lambda: fx.grad(lambda x: x.sum())(3), lambda: fx.grad(lambda x: 1.0)(X),
                lambda: fx.grad(lambda x: (x > 1).sum())(X)):
        with pytest.raises(fx.GradientError):
            bad()
