# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions, with NumPy's arguments."""

from . import _core, _dtypes, _host
from ._create import asarray, astype, full, use_numpy
from ._dtypes import BOOL, C64, DTYPES, F16, F64, as_code, promote_types
from ._into import into
from ._shape import broadcast_to, concat, ravel, reshape, take_axes, take_axis

__all__ = [
    "all", "any", "amax", "amin", "argmax", "argmin", "average", "count_nonzero", "cummax", "cummin", "cumprod", "cumsum",
    "cumulative_prod", "cumulative_sum", "logsumexp", "max", "mean", "median", "min", "norm", "prod",
    "ptp", "std", "sum", "var",
]

_max, any_ = max, any


def _reduced(name, x, axis, keepdims, out=None):
    axes = take_axes(axis, x.ndim)
    row = _core.rows[name][0]
    if not axes and x.ndim:  # axis=(): each element by itself
        r = _core.reduce(row, x[..., None], (x.ndim,), False)
    else:
        r = _core.reduce(row, x, axes, keepdims)
    return into(r, out)


def _sum(name, x, axis, dtype, keepdims, out, initial, where, neutral):
    x = asarray(x)
    if dtype is None and out is not None and not isinstance(out, tuple) and hasattr(out, "dtype"):
        dtype = promote_types(out.dtype, x.dtype)  # as NumPy: out says how wide sums are
        dtype = dtype if as_code(dtype) == as_code(out.dtype) else None
    if where is not True and where is not None:
        x = _core.rows["where"][3](where, x, asarray(neutral).astype(x.dtype))
    if dtype is not None:
        x = astype(x, dtype, copy=False)
    if name == "prod" and x._code >= C64:  # the library has no products of complex numbers
        r = _host.call(name, use_numpy().prod, x, axis=axis, keepdims=keepdims)
    else:
        r = _reduced(name, x, axis, keepdims)
    if dtype is not None and r._code != as_code(dtype):
        r = astype(r, dtype)
    if initial is not None:
        r = r + initial if name == "sum" else r * initial
    return into(r, out)


def sum(x, /, axis=None, dtype=None, out=None, keepdims=False, initial=None, where=True):
    """Sum over all axes or those of `axis`. Integers and bools add up in int64, unsigned ones in
    uint64.

    >>> fx.sum(fx.asarray([[1, 2], [3, 4]]), axis=0).tolist()
    [4, 6]
    """
    return _sum("sum", x, axis, dtype, keepdims, out, initial, where, 0)


def prod(x, /, axis=None, dtype=None, out=None, keepdims=False, initial=None, where=True):
    """Product, in the dtypes of sum."""
    return _sum("prod", x, axis, dtype, keepdims, out, initial, where, 1)


def _least(name, x):
    """What min and max give for no elements: the other end of the dtype."""
    d = DTYPES[x._code]
    if d.kind == "f":
        return float("inf") if name == "min" else float("-inf")
    if d.kind == "b":
        return name == "min"
    info = _dtypes.iinfo(d)
    return info.max if name == "min" else info.min


def _extreme(name, x, axis, keepdims, out, initial, where):
    x = asarray(x)
    if where is not True and where is not None:
        if initial is None:
            raise ValueError(f"reduction operation '{name}imum' does not have an identity, so to use a "
                             "where mask one has to specify 'initial'")
        x = _core.rows["where"][3](where, x, full((), _least(name, x), dtype=x.dtype))
    if initial is not None:  # as one more element, so that there may be none
        initial = astype(asarray(initial), x.dtype, copy=False)
        shape, axes = list(x.shape), take_axes(axis, x.ndim)
        r = _core.rows["minimum" if name == "min" else "maximum"][3]
        if not any_(isinstance(n, int) and n == 0 for n in shape):
            return into(r(_extreme(name, x, axis, keepdims, None, None, True), initial), out)
        kept = tuple(1 if a in axes else n for a, n in enumerate(shape) if keepdims or a not in axes)
        return into(full(kept, initial, dtype=x.dtype), out)
    if not x.ndim:
        take_axes(axis, 0)
        return into(x, out)
    return _reduced(name, x, axis, keepdims, out)


def min(x, /, axis=None, out=None, keepdims=False, initial=None, where=True):
    """Smallest element; a nan wins."""
    return _extreme("min", x, axis, keepdims, out, initial, where)


def max(x, /, axis=None, out=None, keepdims=False, initial=None, where=True):
    """Largest element; a nan wins."""
    return _extreme("max", x, axis, keepdims, out, initial, where)


amin, amax = min, max


def _arg(name, x, axis, keepdims, out):
    x = asarray(x)
    if axis is None:
        rank = x.ndim
        r = _core.reduce(_core.rows[name][0], ravel(x), (0,), False)
        return into(_core.reshape(r, (1,) * rank) if keepdims else r, out)
    return _reduced(name, x, take_axis(axis, x.ndim), keepdims, out)


def argmin(x, /, axis=None, out=None, *, keepdims=False):
    """Index of the first smallest element, or of the first nan."""
    return _arg("argmin", x, axis, keepdims, out)


def argmax(x, /, axis=None, out=None, *, keepdims=False):
    """Index of the first largest element, or of the first nan."""
    return _arg("argmax", x, axis, keepdims, out)


def any(x, /, axis=None, out=None, keepdims=False, where=True):
    """Is any element true (not 0)?"""
    x = asarray(x)
    x = x if x._code == BOOL else x != 0
    if where is not True:
        x = x & where
    return _reduced("any", x, axis, keepdims, out)


def all(x, /, axis=None, out=None, keepdims=False, where=True):
    """Are all elements true (not 0)?"""
    x = asarray(x)
    x = x if x._code == BOOL else x != 0
    if where is not True:
        x = x | ~asarray(where)
    return _reduced("all", x, axis, keepdims, out)


def _floats(x, dtype):
    x = asarray(x)
    if dtype is not None:
        return astype(x, dtype, copy=False)
    return x if x._code >= F16 else _core.cast(x, F64)


def _mean_where(x, axis, keepdims, where, less=0):
    """Sums of the elements at `where`, divided by their number less `less`."""
    where = broadcast_to(asarray(where), x.shape)
    n = sum(where, axis=axis, keepdims=keepdims).astype(x.dtype)
    return sum(x, axis=axis, keepdims=keepdims, where=where) / _core.rows["maximum"][3](n - less, 0)


def mean(x, /, axis=None, dtype=None, out=None, keepdims=False, where=True):
    """Arithmetic mean; of integers in float64."""
    if where is not True:
        return into(_mean_where(_floats(x, dtype), axis, keepdims, where), out)
    x = asarray(x)
    code = x._code if dtype is None else as_code(dtype)
    if code < F16:  # an integer dtype was asked for: the mean is one of integers
        r = _reduced("mean", _core.cast(x, F64), axis, keepdims)
        return into(r if dtype is None else astype(r, dtype), out)
    return _reduced("mean", _floats(x, dtype), axis, keepdims, out)


def _count(x, axis):
    n = 1
    for a in take_axes(axis, x.ndim):
        n = n * x.shape[a]
    return n


def _spread(name, x, axis, dtype, out, ddof, keepdims, correction, where):
    x = _floats(x, dtype)
    c = correction if correction is not None else ddof
    if where is not True:
        away = x - _mean_where(x, axis, True, where)
        v = _mean_where(away * away, axis, keepdims, where, c)
        return into(_core.rows["sqrt"][3](v) if name == "std" else v, out)
    if c == 0:
        return _reduced(name, x, axis, keepdims, out)
    v = _reduced("var", x, axis, keepdims)
    n = _count(x, axis)
    if isinstance(n, int):
        left = n - c
        v = v * (n / left) if left > 0 else v * float("nan") if n == 0 else v / 0.0
    else:
        f = _core.rows["maximum"][3]
        wide = astype(asarray(0) + n, v.dtype)
        v = v * (wide / f(wide - c, 0))
    return into(_core.rows["sqrt"][3](v) if name == "std" else v, out)


def var(x, /, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, correction=None, where=True):
    """Variance, divided by n - correction (or ddof)."""
    return _spread("var", x, axis, dtype, out, ddof, keepdims, correction, where)


def std(x, /, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, correction=None, where=True):
    """Standard deviation, divided by n - correction (or ddof)."""
    return _spread("std", x, axis, dtype, out, ddof, keepdims, correction, where)


def logsumexp(x, /, axis=None, *, keepdims=False, out=None):
    """log(sum(exp(x))) without overflow."""
    return _reduced("logsumexp", _floats(x, None), axis, keepdims, out)


def ptp(x, /, axis=None, out=None, keepdims=False):
    x = asarray(x)
    return into(max(x, axis, keepdims=keepdims) - min(x, axis, keepdims=keepdims), out)


def count_nonzero(x, /, axis=None, *, keepdims=False):
    """How many elements are not 0."""
    x = asarray(x)
    return sum(x if x._code == BOOL else x != 0, axis=axis, keepdims=keepdims)


def average(x, axis=None, weights=None, returned=False, *, keepdims=False):
    """The mean, with weights; `returned`: and the sum of the weights."""
    if weights is None:
        r = mean(x, axis, keepdims=keepdims)
        return (r, full(r.shape, _count(asarray(x), axis), dtype=r.dtype)) if returned else r
    x, weights = asarray(x), asarray(weights)
    if weights.ndim != x.ndim and weights.ndim == 1 and isinstance(axis, int):
        weights = reshape(weights, tuple(-1 if a == take_axis(axis, x.ndim) else 1 for a in range(x.ndim)))
    p = x * weights
    p = p if p._code >= F16 else _core.cast(p, F64)
    weights = broadcast_to(weights, x.shape).astype(p.dtype, copy=False)
    total = sum(weights, axis=axis, keepdims=keepdims)
    r = sum(p, axis=axis, keepdims=keepdims) / total
    return (r, broadcast_to(total, r.shape)) if returned else r


def median(x, axis=None, keepdims=False):
    return _host.call("median", use_numpy().median, asarray(x), axis=axis, keepdims=keepdims)


def norm(x, ord=None, axis=None, keepdims=False):
    """A norm of vectors along an axis, or of matrices along two."""
    from .linalg import matrix_norm, vector_norm  # which most programs never import

    x = asarray(x)
    if isinstance(axis, tuple) and len(axis) == 2 or axis is None and x.ndim == 2 and ord is not None:
        return matrix_norm(x, keepdims=keepdims, ord="fro" if ord is None else ord)
    return vector_norm(x, axis=axis, keepdims=keepdims, ord=2 if ord is None else ord)


def _cumulative(name, x, axis, dtype, include_initial):
    x = asarray(x)
    if axis is None:
        if x.ndim > 1:
            raise ValueError("axis is needed for an array of several axes")
        axis = 0
    axis = take_axis(axis, _max(x.ndim, 1))
    if dtype is None:
        kind = DTYPES[x._code].kind
        dtype = _dtypes.int64 if kind in "bi" else _dtypes.uint64 if kind == "u" else x.dtype
    if x.ndim == 0:
        x = reshape(x, (1,))
    x = x.astype(dtype, copy=False)
    if x._code >= C64 and name == "cumprod":
        r = _host.call(name, use_numpy().cumprod, x, axis=axis)
    else:
        r = _core.op(name, (x,), (axis,)).astype(dtype, copy=False)
    if include_initial:
        first = full(r.shape[:axis] + (1,) + r.shape[axis + 1:], int(name == "cumprod"), dtype=dtype)
        r = concat([first, r], axis=axis)
    return r


def cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False):
    """Sums of the elements so far, along an axis."""
    return _cumulative("cumsum", x, axis, dtype, include_initial)


def cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False):
    """Products of the elements so far, along an axis."""
    return _cumulative("cumprod", x, axis, dtype, include_initial)


def _running(name, x, axis):
    x = asarray(x)
    if axis is None:
        x, axis = ravel(x), 0
    return _core.op(name, (x,), (take_axis(axis, x.ndim),))


def cummin(x, axis=None):
    """The smallest of the elements so far, along an axis."""
    return _running("cummin", x, axis)


def cummax(x, axis=None):
    """The largest of the elements so far, along an axis."""
    return _running("cummax", x, axis)


def cumsum(x, axis=None, dtype=None, out=None):
    x = asarray(x)
    return into(_cumulative("cumsum", x.ravel() if axis is None else x, axis, dtype, False), out)


def cumprod(x, axis=None, dtype=None, out=None):
    x = asarray(x)
    return into(_cumulative("cumprod", x.ravel() if axis is None else x, axis, dtype, False), out)
