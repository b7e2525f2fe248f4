# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions that leave nans out, with NumPy's arguments."""

from . import _core, _host, _reduce
from ._array import Array
from ._create import asarray, use_numpy
from ._dtypes import C64, DTYPES, F64, I64
from ._into import into
from ._search import between, halfway, median, percentile, quantile, sort, take_along_axis
from ._shape import permute_dims, reshape, stack, take_axes

__all__ = ["nanargmax", "nanargmin", "nancumprod", "nancumsum", "nanmax", "nanmean", "nanmedian", "nanmin", "nanpercentile",
           "nanprod", "nanquantile", "nanstd", "nansum", "nanvar"]


def _where(*operands):
    return _core.rows["where"][3](*operands)


def _has_nans(x):
    return DTYPES[x._code].kind in "fc"


def _without(x, neutral):
    x = asarray(x)
    return _where(x == x, x, neutral) if _has_nans(x) else x


def nansum(x, axis=None, dtype=None, out=None, keepdims=False, initial=None, where=True):
    """The sum, without nans."""
    return _reduce.sum(_without(x, 0), axis, dtype, out, keepdims, initial, where)


def nanprod(x, axis=None, dtype=None, out=None, keepdims=False, initial=None, where=True):
    """The product, without nans."""
    return _reduce.prod(_without(x, 1), axis, dtype, out, keepdims, initial, where)


def nancumsum(x, axis=None, dtype=None, out=None):
    """Sums of the elements so far, without nans."""
    return _reduce.cumsum(_without(x, 0), axis, dtype, out)


def nancumprod(x, axis=None, dtype=None, out=None):
    """Products of the elements so far, without nans."""
    return _reduce.cumprod(_without(x, 1), axis, dtype, out)


def _extreme(name, neutral, x, axis, out, keepdims, initial, where):
    x, plain = asarray(x), getattr(_reduce, name)
    if not _has_nans(x):
        return plain(x, axis, out, keepdims, initial, where)
    r = plain(_without(x, neutral), axis, None, keepdims, initial, where)
    if initial is None:  # of nans alone it is nan
        r = _where(_reduce.any(x == x, axis, None, keepdims), r, float("nan"))
    return into(r, out)


def nanmin(x, axis=None, out=None, keepdims=False, initial=None, where=True):
    """The smallest element that is no nan."""
    return _extreme("min", float("inf"), x, axis, out, keepdims, initial, where)


def nanmax(x, axis=None, out=None, keepdims=False, initial=None, where=True):
    """The largest element that is no nan."""
    return _extreme("max", float("-inf"), x, axis, out, keepdims, initial, where)


def nanargmin(x, axis=None, out=None, *, keepdims=False):
    """The index of the first smallest element that is no nan."""
    return _reduce.argmin(_without(x, float("inf")), axis, out, keepdims=keepdims)


def nanargmax(x, axis=None, out=None, *, keepdims=False):
    """The index of the first largest element that is no nan."""
    return _reduce.argmax(_without(x, float("-inf")), axis, out, keepdims=keepdims)


def _count(x, axis, keepdims, where, dtype):
    return _reduce.sum(x == x, axis, None, None, keepdims, where=where).astype(dtype)


def nanmean(x, axis=None, dtype=None, out=None, keepdims=False, where=True):
    """The mean of what is no nan."""
    x = asarray(x)
    if not _has_nans(x):
        return _reduce.mean(x, axis, dtype, out, keepdims, where)
    total = nansum(x, axis, dtype, None, keepdims, where=where)
    return into(total / _count(x, axis, keepdims, where, total.dtype), out)


def nanvar(x, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, correction=None, where=True):
    """The variance of what is no nan."""
    x = asarray(x)
    if not _has_nans(x):
        return _reduce.var(x, axis, dtype, out, ddof, keepdims, correction=correction, where=where)
    x = x if dtype is None else x.astype(dtype, copy=False)
    away = x - nanmean(x, axis, keepdims=True, where=where)
    total = nansum(abs(away) ** 2, axis, None, None, keepdims, where=where)
    n = _count(x, axis, keepdims, where, total.dtype) - (ddof if correction is None else correction)
    return into(total / _where(n > 0, n, float("nan")), out)


def nanstd(x, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, correction=None, where=True):
    """The standard deviation of what is no nan."""
    return into(nanvar(x, axis, dtype, None, ddof, keepdims, correction=correction, where=where) ** 0.5, out)


def _ranked(x, q, axis, keepdims, mix):
    """Between the two elements that q lies between, of those that are no nan, which stand last in order."""
    axes = take_axes(axis, x.ndim)
    kept = tuple(k for k in range(x.ndim) if k not in axes)
    flat = sort(reshape(permute_dims(x, (*kept, *axes)), (*[x.shape[k] for k in kept], -1)))
    last = _reduce.sum(flat == flat, -1, None, None, True) - 1
    at = q * _core.cast(last, F64)
    low = _core.cast(_core.rows["floor"][3](at), I64)
    number = lambda i: take_along_axis(flat, _core.rows["maximum"][3](_core.rows["minimum"][3](i, last), 0))
    part, a, b = (at - low).astype(x.dtype), number(low), number(low + 1)
    r = _where(part == 0, a, mix(a, b, part))
    return reshape(r, tuple(1 if k in axes else n for k, n in enumerate(x.shape) if keepdims or k in kept))


def _quantiles(name, most, plain, x, q, axis, out, overwrite_input, method, keepdims, more):
    x = asarray(x)
    if method != "linear" or isinstance(q, Array) or x._code >= C64 or more or isinstance(x.size, int) and not x.size:
        return into(_host.call(name, getattr(use_numpy(), name), x, q, axis=axis, method=method, keepdims=keepdims, **more), out)
    if not _has_nans(x):
        return into(plain(x, q, axis, keepdims), out)
    each = q if isinstance(q, (tuple, list)) or getattr(q, "ndim", 0) else (q,)
    if any(not 0 <= k <= most for k in each):
        raise ValueError(f"{'Quantiles' if most == 1 else 'Percentiles'} must be in the range [0, {most}]")
    wide = x if each is not q else x.astype(DTYPES[F64], copy=False)
    r = [_ranked(wide, float(k) / most, axis, keepdims, between) for k in each]
    return into(stack(r) if each is q else r[0], out)


def nanquantile(x, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, **more):
    """As quantile, of what is no nan."""
    return _quantiles("nanquantile", 1, quantile, x, q, axis, out, overwrite_input, method, keepdims, more)


def nanpercentile(x, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, **more):
    """As percentile, of what is no nan."""
    return _quantiles("nanpercentile", 100, percentile, x, q, axis, out, overwrite_input, method, keepdims, more)


def nanmedian(x, axis=None, out=None, overwrite_input=False, keepdims=False):
    """The element in the middle of those that are no nan, or the mean of the two there."""
    x = asarray(x)
    if x._code >= C64 or isinstance(x.size, int) and not x.size:
        return into(_host.call("nanmedian", use_numpy().nanmedian, x, axis=axis, keepdims=keepdims), out)
    return into(_ranked(x, 0.5, axis, keepdims, halfway) if _has_nans(x) else median(x, axis, keepdims), out)
