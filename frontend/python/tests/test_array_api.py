# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The functions of the Array API standard next to array-api-strict, and the names it asks for."""

import numpy as np
import pytest

import fusec as fx

xp = pytest.importorskip("array_api_strict")
xp.set_array_api_strict_flags(api_version="2025.12" if "2025.12" in str(xp._flags.supported_versions)
                              else xp._flags.supported_versions[-1])

REAL = ["int8", "int64", "uint8", "float32", "float64"]
MISSING = {"complex64", "complex128"}  # there are no complex numbers yet
HELPERS = {"ArrayAPIStrictFlags", "get_array_api_strict_flags", "reset_array_api_strict_flags",
           "set_array_api_strict_flags", "Device", "ALL_DEVICES", "__version__", "__array_api_version__"}


def test_names():
    for space, ours in ((xp, fx), (xp.linalg, fx.linalg), (xp.fft, fx.fft)):
        names = {n for n in getattr(space, "__all__", dir(space)) if not n.startswith("_")}
        missing = {n for n in names if not hasattr(ours, n)} - MISSING - HELPERS
        assert not missing, missing


def pair(dtype, shape=(3, 4), seed=0, positive=False):
    rng = np.random.default_rng(seed)
    a = rng.uniform(0.1, 0.9, shape) if "float" in dtype else rng.integers(1, 9, shape)
    if not positive and dtype[0] != "u":
        a = a - a.mean() if "float" in dtype else a - 4
    a = a.astype(dtype)
    return fx.asarray(a), xp.asarray(a)


def same(got, want):
    if isinstance(want, (tuple, list)):
        assert len(got) == len(want)
        for g, w in zip(got, want):
            same(g, w)
        return
    if not hasattr(want, "shape"):
        assert got == want
        return
    g, w = np.asarray(got), np.asarray(want)
    assert g.shape == w.shape and g.dtype == w.dtype, (g.dtype, w.dtype, g.shape, w.shape)
    if w.dtype.kind == "f":
        np.testing.assert_allclose(g, w, rtol=3e-6 if w.dtype == "f4" else 1e-12, atol=1e-6 if w.dtype == "f4"
                                   else 1e-14)
    else:
        np.testing.assert_array_equal(g, w)


def both(f, *args):
    """The same function on both; an exception of ours only where there is one of theirs."""
    ours, theirs = [a[0] for a in args], [a[1] for a in args]
    with np.errstate(all="ignore"):
        same(f(fx, *ours), f(xp, *theirs))


FLOATS = ["acos", "asin", "atan", "atanh", "ceil", "cos", "cosh", "exp", "expm1", "floor", "isfinite",
          "isinf", "isnan", "reciprocal", "round", "sign", "signbit", "sin", "sinh", "square", "tan", "tanh",
          "trunc", "abs", "negative", "positive", "asinh", "real"]
POSITIVE = ["log", "log10", "log1p", "log2", "sqrt"]
PAIRS = ["add", "atan2", "copysign", "divide", "equal", "floor_divide", "greater", "greater_equal", "hypot",
         "less", "less_equal", "logaddexp", "maximum", "minimum", "multiply", "nextafter", "not_equal", "pow",
         "remainder", "subtract"]
BITS = ["bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift"]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_elementwise_floats(dtype):
    for name in FLOATS:
        if hasattr(xp, name) and name != "real":
            both(lambda m, x: getattr(m, name)(x), pair(dtype))
    for name in POSITIVE:
        both(lambda m, x: getattr(m, name)(x), pair(dtype, positive=True))
    for name in PAIRS:
        both(lambda m, x, y: getattr(m, name)(x, y), pair(dtype, positive=True),
             pair(dtype, seed=1, positive=True))
    both(lambda m, x: m.acosh(x + 2.0), pair(dtype))


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint8"])
def test_elementwise_integers(dtype):
    for name in ("abs", "ceil", "floor", "round", "sign", "square", "trunc", "positive", "bitwise_invert",
                 "isfinite", "isnan", "isinf"):
        both(lambda m, x: getattr(m, name)(x), pair(dtype))
    for name in ("add", "equal", "floor_divide", "greater", "less", "maximum", "minimum", "multiply",
                 "not_equal", "remainder", "subtract"):
        both(lambda m, x, y: getattr(m, name)(x, y), pair(dtype), pair(dtype, seed=1, positive=True))
    both(lambda m, x, y: m.pow(x, y), pair(dtype), pair(dtype, (4,), 2, True))
    for name in BITS:
        both(lambda m, x, y: getattr(m, name)(x, y), pair(dtype, positive=True),
             pair(dtype, seed=1, positive=True))


def test_bools():
    a, b = np.array([True, True, False, False]), np.array([True, False, True, False])
    for name in ("logical_and", "logical_or", "logical_xor", "equal", "bitwise_and", "bitwise_or"):
        both(lambda m, x, y: getattr(m, name)(x, y), (fx.asarray(a), xp.asarray(a)),
             (fx.asarray(b), xp.asarray(b)))
    both(lambda m, x: m.logical_not(x), (fx.asarray(a), xp.asarray(a)))


@pytest.mark.parametrize("dtype", REAL)
def test_statistics(dtype):
    for axis in (None, 0, 1, (0, 1)):
        for name in ("sum", "prod", "min", "max", "any", "all", "count_nonzero"):
            both(lambda m, x: getattr(m, name)(x, axis=axis, keepdims=axis == 0), pair(dtype))
        if "float" in dtype:
            for name in ("mean", "var", "std"):
                both(lambda m, x: getattr(m, name)(x, axis=axis), pair(dtype))
            both(lambda m, x: m.var(x, axis=axis, correction=1.0), pair(dtype))
    both(lambda m, x: m.cumulative_sum(x, axis=1, include_initial=True), pair(dtype))
    both(lambda m, x: m.cumulative_prod(x, axis=0), pair(dtype))
    for name in ("argmax", "argmin"):
        both(lambda m, x: getattr(m, name)(x, axis=1, keepdims=True), pair(dtype))
        both(lambda m, x: getattr(m, name)(x), pair(dtype))


MANIPULATE = [
    lambda m, x: m.reshape(x, (2, -1)), lambda m, x: m.permute_dims(x, (1, 0)), lambda m, x: m.flip(x),
    lambda m, x: m.roll(x, (1, 2), axis=(0, 1)), lambda m, x: m.concat([x, x], axis=1),
    lambda m, x: m.stack([x, x], axis=1), lambda m, x: m.unstack(x, axis=1), lambda m, x: m.tile(x, (2, 2)),
    lambda m, x: m.repeat(x, 3, axis=1), lambda m, x: m.moveaxis(x, 0, 1), lambda m, x: m.squeeze(x[:1, :], axis=0),
    lambda m, x: m.expand_dims(x, axis=-1), lambda m, x: m.broadcast_to(x, (2, 3, 4)),
    lambda m, x: m.broadcast_arrays(x, x[:1, :]), lambda m, x: m.tril(x, k=1), lambda m, x: m.triu(x, k=-1),
    lambda m, x: m.sort(x, axis=0), lambda m, x: m.sort(x, descending=True), lambda m, x: m.argsort(x),
    lambda m, x: m.argsort(x, descending=True), lambda m, x: m.nonzero(x), lambda m, x: m.diff(x, axis=0),
    lambda m, x: m.take(x, m.asarray([2, 0]), axis=0), lambda m, x: m.unique_values(x),
    lambda m, x: m.unique_counts(x), lambda m, x: m.unique_inverse(x), lambda m, x: m.unique_all(x),
    lambda m, x: m.searchsorted(m.sort(x[0, :]), x[1, :]), lambda m, x: m.where(x > x[0, 0], x, x[0, 0]),
    lambda m, x: m.matmul(x, x.T), lambda m, x: m.tensordot(x, x, axes=((0,), (0,))),
    lambda m, x: m.vecdot(x, x), lambda m, x: x.mT, lambda m, x: m.clip(x, 1, 3), lambda m, x: x[1, ::2],
    lambda m, x: x[x > 2], lambda m, x: m.zeros_like(x), lambda m, x: m.full_like(x, 3),
    lambda m, x: m.meshgrid(x[0, :], x[:, 0]), lambda m, x: m.astype(x, m.float32),
    lambda m, x: m.result_type(x, m.float64).__str__().split(".")[-1][-2:], lambda m, x: m.isin(x, x[0, :])]


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("i", range(len(MANIPULATE)))
def test_manipulation(i, dtype):
    import warnings

    f = MANIPULATE[i]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            f(xp, pair(dtype)[1])
    except (AttributeError, TypeError):
        pytest.skip("array-api-strict has it not, or not for this dtype")
    both(f, pair(dtype))


def test_creation():
    for f in (lambda m: m.arange(5), lambda m: m.arange(1, 9, 3), lambda m: m.linspace(0, 1, 5),
              lambda m: m.eye(3, k=1), lambda m: m.full((2, 3), 7), lambda m: m.ones((2,), dtype=m.int8),
              lambda m: m.zeros((0, 3)), lambda m: m.asarray([[1, 2], [3, 4]]), lambda m: m.asarray(True),
              lambda m: m.linspace(1, 2, 4, endpoint=False)):
        same(f(fx), f(xp))


def test_linalg():
    a = np.random.default_rng(0).normal(size=(4, 4))
    s = a @ a.T + 4 * np.eye(4)
    for name in ("cholesky", "det", "inv", "eigvalsh", "svdvals", "slogdet", "matrix_rank", "trace", "diagonal",
                 "matrix_norm", "vector_norm", "pinv"):
        both(lambda m, x: getattr(m.linalg, name)(x), (fx.asarray(s), xp.asarray(s)))
    both(lambda m, x: m.linalg.solve(x, x[:, 0]), (fx.asarray(s), xp.asarray(s)))


def test_inspection():
    info = fx.__array_namespace_info__()
    assert info.default_device() in info.devices() and info.default_dtypes()["integral"] == fx.int64
    assert set(info.dtypes(kind="real floating")) == {"float32", "float64"}
    assert fx.asarray([1]).__array_namespace__(api_version="2025.12") is fx
    assert fx.__array_api_version__ == "2025.12"
    with pytest.raises(ValueError):
        fx.asarray([1]).__array_namespace__(api_version="1999.01")
    for kind in ("bool", "signed integer", "unsigned integer", "integral", "real floating", "numeric"):
        for name in REAL + ["bool"]:
            assert fx.isdtype(getattr(fx, name), kind) == xp.isdtype(getattr(xp, name), kind)
    for a in REAL:
        for b in REAL:
            assert fx.can_cast(getattr(fx, a), getattr(fx, b)) == np.can_cast(a, b)
