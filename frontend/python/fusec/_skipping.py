# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions that leave nans out, with NumPy's arguments."""

from . import _core, _reduce
from ._create import asarray
from ._dtypes import DTYPES
from ._into import into

__all__ = ["nanargmax", "nanargmin", "nancumprod", "nancumsum", "nanmax", "nanmean", "nanmin", "nanprod", "nanstd", "nansum",
           "nanvar"]


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
