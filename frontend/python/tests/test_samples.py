# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Counts, interpolation, slopes and sums along rows, next to NumPy's: values, dtypes, errors, and the same inside
compiled functions."""

import numpy as np
import pytest

import fusec as fx

RNG = np.random.default_rng(3)
F, I = RNG.normal(size=60), RNG.integers(0, 9, 50)
XP, FP = np.sort(RNG.normal(size=20)), RNG.normal(size=20)
X = np.concatenate([RNG.normal(size=50) * 2, XP, [np.nan, np.inf, -np.inf]])
INF = FP.copy()
INF[3] = np.inf
CLOSE = {np.dtype(np.float32): 1e-5}


def check(name, *args, jit=False, **keywords):
    arrays = [k for k in args if isinstance(k, np.ndarray)]

    def call(xp, x):
        rest = iter(x)
        r = getattr(xp, name)(*[next(rest) if isinstance(k, np.ndarray) else k for k in args], **keywords)
        return r if isinstance(r, tuple) else (r,)

    try:
        want = call(np, arrays)
    except Exception as e:
        with pytest.raises(type(e)):
            call(fx, map(fx.asarray, arrays))
        return
    got = [call(fx, map(fx.asarray, arrays))]
    if jit:
        got.append(fx.jit(lambda *x: call(fx, x))(*arrays))
    for g in got:
        for a, b in zip(g, want, strict=True):
            a, b = np.asarray(a), np.asarray(b)
            assert (a.shape, a.dtype) == (b.shape, b.dtype)
            if b.dtype.kind in "iub":
                np.testing.assert_array_equal(a, b)
            else:
                np.testing.assert_allclose(a, b, rtol=CLOSE.get(b.dtype, 1e-11), atol=1e-11)


@pytest.mark.parametrize("dtype", ["i8", "u1", "i1", "?"])
def test_bincount(dtype):
    check("bincount", I.astype(dtype))
    check("bincount", I.astype(dtype), None, 20, jit=True)


def test_bincount_otherwise():
    check("bincount", I, RNG.normal(size=50))
    check("bincount", I[:0])
    for bad in ((-I,), (F,), (I.reshape(5, 10),), (I, F[:3]), (I, None, -1)):
        check("bincount", *bad)
    with pytest.raises(ValueError, match="minlength"):
        fx.jit(fx.bincount)(I)


SAMPLES = {"f8": F, "f4": F.astype("f4"), "i8": I, "u1": I.astype("u1"), "i1": RNG.integers(-5, 5, (4, 5)).astype("i1"), "?": I > 4,
           "one value": np.array([2.0, 2.0]), "nothing": np.array([]), "on the edges": np.arange(100) / 10}


@pytest.mark.parametrize("what", SAMPLES)
@pytest.mark.filterwarnings("ignore")
def test_histogram(what):
    a = SAMPLES[what]
    for bins, density in ((1, None), (10, True), (256, None)):
        for bounds in (None, (0, 1), (-1.0, 3)):
            check("histogram", a, bins, bounds, density, jit=what in ("f8", "on the edges") and bins == 10)
    for edges in ([0, 1, 2, 5], [0.0, 0.5, 0.5, 1]):
        check("histogram", a, edges, jit=what == "f8")


def test_histogram_otherwise():
    check("histogram", F, 10, None, None, F * F, jit=True)
    check("histogram", F, "auto")
    for bad in ((F, 0), (F, 3, (2, 1)), (F, [3, 2, 1]), (np.array([np.nan, 1]),), (np.array([np.inf, 1]),), (F, [[1, 2]]),
                (F, 3, None, None, F[:3])):
        check("histogram", *bad)


def test_interp():
    for more in ((), (-1, 5.0)):
        check("interp", X, XP, FP, *more, jit=True)
    check("interp", X[:-3], XP, FP, period=1.5, jit=True)
    for args in ((X, XP[:1], FP[:1]), (0.5, XP, FP), (I, np.arange(5), np.arange(5) * 2), (X, XP, INF), (X, np.repeat(XP[:10], 2), FP),
                 (X, XP, FP + 1j * FP), (X[:-1].reshape(2, -1), XP, FP)):
        check("interp", *args)
    for bad in ((X, XP[:0], FP[:0]), (X, XP, FP[:3])):
        check("interp", *bad)
    assert len(fx.explain(fx.interp(fx.asarray(X), fx.asarray(XP), fx.asarray(FP)) * 2).kernels) <= 2  # the points in the order of bits


def test_sequences():
    for args in ((0, 3, 7), (0, 3, 7, False, 2.0), (0, 3, 4, True, 10.0, int), (np.array([0.0, 1]), 3, 4)):
        check("logspace", *args)
    for args in ((1, 1000, 4), (-1, -1000, 5), (1, 1000, 5, False), (1, 10, 1), (1, 10, 0), (0, 1), (1j, 8j, 3)):
        check("geomspace", *args)


@pytest.mark.parametrize("a", [F, I, F.reshape(6, 10), F.astype("f4"), F[:2], F[:1], F.reshape(3, 5, 4)], ids=lambda a: f"{a.dtype}{a.shape}")
def test_gradient(a):
    check("gradient", a, jit=a.size > 2)
    check("gradient", a, 2.0)
    check("gradient", a, axis=0)
    check("gradient", a, edge_order=2)
    if a.size > 1:
        check("gradient", a, np.cumsum(RNG.random(a.shape[0]) + 0.5), axis=0)


def test_gradient_otherwise():
    check("gradient", F.reshape(6, 10), 2.0, np.arange(10) ** 1.5)
    for bad in ((F.reshape(6, 10), 1, 2, 3), (F, np.arange(5.0))):
        check("gradient", *bad)
    check("ediff1d", F, jit=True)
    check("ediff1d", I, to_end=[1, 2], to_begin=0)
    check("ediff1d", F.reshape(6, 10))


@pytest.mark.parametrize("mode", ["full", "same", "valid", "none"])
def test_sums_along_rows(mode):
    for a, v in ((F, F[:5]), (F[:5], F), (F, F[:4]), (F[:3], F[:3]), (I, I[:3]), (F, F[:1]), (F + 1j * F, F[:3] * 1j),
                 (F.astype("f4"), F[:6].astype("f4")), (I.astype("u1"), I[:3].astype("u1")), (F, F[:0]), (F.reshape(6, 10), F)):
        for name in ("convolve", "correlate"):
            check(name, a, v, mode, jit=a.size > v.size > 3 and mode == "same")


N = F.reshape(3, 5, 4).copy()
N[0, 1] = N[:, 2, 3] = np.nan
N[1, :, 1] = np.nan


@pytest.mark.filterwarnings("ignore")
def test_quantiles_without_nans():
    for axis, keepdims in ((None, False), (1, True), ((0, 2), False), (-1, False)):
        check("nanmedian", N, axis=axis, keepdims=keepdims, jit=True)
        check("nanpercentile", N, 30, axis=axis, keepdims=keepdims)
        check("nanquantile", N.astype("f4"), 0.3, axis=axis, keepdims=keepdims, jit=axis == 1)
        check("nanquantile", N, [0, 0.25, 1], axis=axis, keepdims=keepdims)
    ends = np.array([[0.0, np.inf, -np.inf, 1], [np.inf, np.inf, 2, 3]])
    for name in ("median", "nanmedian"):
        check(name, ends)
        check(name, ends, axis=0)
        check(name, ends.astype("f4"), axis=1)
        check(name, I.astype("i4"))
    for args, more in (((N, 0.3), {"method": "nearest"}), ((N[:, :0], 0.5), {}), ((I, 0.5), {}), ((N, 2), {}), ((N, [-1, 0.5]), {})):
        check("nanquantile", *args, **more)


def test_orders_in_compiled_functions():
    a, b = RNG.integers(0, 4, (3, 20)), RNG.normal(size=(3, 20))
    check("lexsort", [b, a])  # lists hold NumPy's arrays
    np.testing.assert_array_equal(fx.jit(lambda b, a: fx.lexsort((b, a)))(b, a), np.lexsort((b, a)))
    np.testing.assert_array_equal(fx.jit(lambda b, a: fx.lexsort((b, a), axis=0))(b, a), np.lexsort((b, a), axis=0))
    np.testing.assert_array_equal(fx.jit(lambda b: fx.partition(b, 3))(b)[:, 3], np.partition(b, 3)[:, 3])
    i = fx.jit(lambda b: fx.argpartition(b, (3, -1), axis=None))(b)
    np.testing.assert_array_equal(b.ravel()[i], np.sort(b, axis=None))
    for f in (lambda x: fx.partition(x, 20), lambda x: fx.argpartition(x, [0, 20])):
        with pytest.raises(ValueError, match="out of bounds"):
            f(fx.asarray(b))
    with pytest.raises(TypeError):
        fx.lexsort([])


def test_places():
    i = RNG.integers(0, 60, 7)
    for shape in ((3, 4, 5), 60, (60,)):
        for order in ("C", "F"):
            check("unravel_index", i, shape, order, jit=True)
    check("unravel_index", 59, (3, 4, 5))
    check("unravel_index", i + 60, (3, 4, 5))
    j = np.unravel_index(i, (3, 4, 5))
    np.testing.assert_array_equal(fx.ravel_multi_index([fx.asarray(k) for k in j], (3, 4, 5)), i)
    np.testing.assert_array_equal(fx.jit(lambda *j: fx.ravel_multi_index(j, (3, 4, 5)))(*j), i)


def test_unwrap():
    turns = np.cumsum(RNG.normal(size=(4, 50)) * 2, axis=1)
    check("unwrap", turns % (2 * np.pi), jit=True)
    check("unwrap", turns % 1, period=1, axis=0)
    check("unwrap", np.array([0, np.pi, 0, -np.pi, 3]), discont=4.0)
    check("unwrap", I % 4, period=4)


@pytest.mark.parametrize("m", [0, 1, 2, 7, 50])
@pytest.mark.parametrize("name", ["bartlett", "blackman", "hamming", "hanning"])
def test_weights_of_filters(name, m):
    np.testing.assert_allclose(np.asarray(getattr(fx, name)(m)), getattr(np, name)(m), rtol=0, atol=1e-15)


def test_windows_slide():
    view, a = np.lib.stride_tricks.sliding_window_view, RNG.normal(size=(6, 9, 4))
    x = fx.asarray(a)
    for shape, axis in ((4, 1), ((2, 3), (0, 2)), ((2, 3, 1), None), ((2, 2), (1, 1)), (6, 0), (3, -2)):
        want = view(a, shape, axis)
        got = fx.sliding_window_view(x, shape, axis)
        assert got.shape == want.shape and np.array_equal(np.asarray(got), want)
        assert isinstance(view(x, shape, axis), fx.Array)
        f = fx.jit(lambda x, s=shape, k=axis: fx.sliding_window_view(x, s, k).max(axis=-1))
        np.testing.assert_array_equal(f(a), want.max(axis=-1))
    assert len(fx.explain(fx.sliding_window_view(x, 4, 1).mean(axis=-1)).kernels) == 1
    for shape, axis in ((10, 1), (-1, 0), ((2, 2), 0), (2, None)):
        with pytest.raises(ValueError):
            fx.sliding_window_view(x, shape, axis)
    with pytest.raises(IndexError):
        fx.sliding_window_view(x, 2, 3)


def _conv(x, w, stride, margins, dilation, groups):
    """By the definition, place by place."""
    x = np.pad(x, [(0, 0), (0, 0), *margins])
    spans = [d * (k - 1) + 1 for k, d in zip(w.shape[2:], dilation)]
    out = [(n - a) // s + 1 for n, a, s in zip(x.shape[2:], spans, stride)]
    y = np.zeros((x.shape[0], w.shape[0], *out))
    m, c = w.shape[0] // groups, w.shape[1]
    for at in np.ndindex(*out):
        cut = tuple(slice(i * s, i * s + a, d) for i, s, a, d in zip(at, stride, spans, dilation))
        part = x[(slice(None), slice(None), *cut)].reshape(x.shape[0], groups, -1)
        y[(..., *at)] = np.einsum("ngk,gmk->ngm", part, w.reshape(groups, m, -1)).reshape(x.shape[0], -1)
    assert part.shape[2] == c * np.prod(w.shape[2:])
    return y


def test_convolutions():
    cases = [((2, 3, 9), (4, 3, 3), 1, 0, 1, 1), ((2, 4, 9, 8), (6, 4, 3, 2), 1, 1, 1, 1),
             ((2, 4, 9, 8), (6, 2, 3, 3), (2, 1), [(1, 0), (2, 3)], (1, 2), 2),
             ((1, 6, 9, 8), (6, 1, 3, 3), 1, "same", 1, 6), ((2, 3, 5, 6, 7), (4, 3, 2, 3, 2), (1, 2, 2), (0, 1, 1), 1, 1)]
    for a, b, stride, padding, dilation, groups in cases:
        n = len(a) - 2
        x, w = RNG.normal(size=a), RNG.normal(size=b)
        each = lambda v: (v,) * n if not isinstance(v, (tuple, list)) else v
        margins = [(1, 1)] * n if padding == "same" else [p if isinstance(p, tuple) else (p, p) for p in each(padding)]
        want = _conv(x, w, each(stride), margins, each(dilation), groups)
        options = dict(stride=stride, padding=padding, dilation=dilation, groups=groups)
        np.testing.assert_allclose(np.asarray(fx.nn.conv(x, w, **options)), want, rtol=1e-12, atol=1e-12)
        d = RNG.normal(size=want.shape)
        loss = lambda x, w, d: (fx.nn.conv(x, w, **options) * d).sum()
        gx, gw = fx.grad(loss, argnums=(0, 1))(x, w, d)
        for of, got in ((x, gx), (w, gw)):  # linear in both: a difference is the derivative
            step = RNG.normal(size=of.shape)
            there = [of + step if v is of else v for v in (x, w)]
            diff = ((_conv(*there, each(stride), margins, each(dilation), groups) - want) * d).sum()
            np.testing.assert_allclose((np.asarray(got) * step).sum(), diff, rtol=1e-9, atol=1e-9)
    assert len(fx.explain(fx.maximum(fx.nn.conv(fx.asarray(x), fx.asarray(w)), 0)).kernels) == 1
    for bad in (dict(stride=0), dict(groups=2), dict(padding=(1, 2)), dict(stride=2, padding="same")):
        with pytest.raises(ValueError):
            fx.nn.conv(np.ones((1, 3, 5)), np.ones((2, 3, 3)), **bad)


def test_shuffle_gives_the_array_another_order():
    x = fx.arange(30).reshape(10, 3)
    before, same = np.asarray(x), x
    fx.random.default_rng(5).shuffle(x)
    after = np.asarray(x)
    assert same is x and not np.array_equal(after, before) and np.array_equal(after[np.argsort(after[:, 0])], before)
    with pytest.raises(TypeError, match="permutation"):
        fx.random.default_rng(5).shuffle([1, 2])
