# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Distinct elements and what sets are made of them, repetitions by an array, deleted and inserted elements: made of
sorts, prefixes and gathers. Where a shape depends on elements these are looked at at once, as by fx.nonzero, and a
compiled function says that it can't."""

import operator
from typing import NamedTuple

from . import _core, _host
from ._array import Array
from ._create import asarray, ones, use_numpy, zeros
from ._device import beside
from ._dtypes import BOOL, C64, DTYPES, I64, result_type
from ._errors import NotYetError
from ._positions import positions
from ._search import argsort, isin, searchsorted, sort, take
from ._shape import concat, ravel, reshape, take_axis

__all__ = ["delete", "insert", "intersect1d", "repeat", "setdiff1d", "setxor1d", "union1d", "unique", "unique_all",
           "unique_counts", "unique_inverse", "unique_values"]


class UniqueAllResult(NamedTuple):
    values: Array
    indices: Array
    inverse_indices: Array
    counts: Array


class UniqueCountsResult(NamedTuple):
    values: Array
    counts: Array


class UniqueInverseResult(NamedTuple):
    values: Array
    inverse_indices: Array


# ---- distinct elements ------------------------------------------------------------------------------


def _begins(s, equal_nan):
    """Of elements in order, is each another one than that before it?"""
    if s.shape[0] == 0:
        return zeros((0,), dtype=DTYPES[BOOL])
    a, b = s[1:], s[:-1]
    other = a != b
    if equal_nan and DTYPES[s._code].kind == "f":
        other = other & ((a == a) | (b == b))
    return concat([ones((1,), dtype=DTYPES[BOOL]), other])


@beside
def _distinct(x, equal_nan, index=False, inverse=False, counts=False):
    """[values, and what was asked for] of the flat array."""
    flat = ravel(x)
    n = flat.shape[0]
    order = argsort(flat) if index or inverse else None
    s = sort(flat) if order is None else take(flat, order)
    begins = _begins(s, equal_nan)
    first = positions(begins)
    out = [take(s, first)]
    if index:
        out.append(take(order, first))
    if inverse:
        group = _core.op("cumsum", (begins,), (0,)) - 1
        out.append(reshape(_core.op("scatter", (zeros((n,), dtype="int64"), order, group), (0,)), x.shape))
    if counts:
        out.append(concat([first[1:], asarray([n])])[: first.shape[0]] - first)
    return out


def unique(x, return_index=False, return_inverse=False, return_counts=False, axis=None, *, equal_nan=True, sorted=True):
    """The distinct elements in order; with them, as asked for, where each is first, which of them each element is, and
    how often each is there.

    >>> fx.unique(fx.asarray([3, 1, 3])).tolist()
    [1, 3]
    """
    x = asarray(x)
    if axis is not None or x._code >= C64:
        return _host.call("unique", use_numpy().unique, x, return_index, return_inverse, return_counts, axis,
                          equal_nan=equal_nan)
    out = _distinct(x, equal_nan, return_index, return_inverse, return_counts)
    return tuple(out) if len(out) > 1 else out[0]


def _standard(x, name, result, **wanted):
    x = asarray(x)
    if x._code >= C64:
        return result(*_host.call(name, getattr(use_numpy(), name), x))
    return result(*_distinct(x, False, **wanted))


def unique_all(x, /):
    """The distinct elements, where each is first, which of them each element is, and how often each is there."""
    return _standard(x, "unique_all", UniqueAllResult, index=True, inverse=True, counts=True)


def unique_counts(x, /):
    """The distinct elements, and how often each is there."""
    return _standard(x, "unique_counts", UniqueCountsResult, counts=True)


def unique_inverse(x, /):
    """The distinct elements, and which of them each element is."""
    return _standard(x, "unique_inverse", UniqueInverseResult, inverse=True)


def unique_values(x, /):
    """The distinct elements in order; nans are distinct."""
    x = asarray(x)
    if x._code >= C64:
        return _host.call("unique_values", use_numpy().unique_values, x)
    return _distinct(x, False)[0]


# ---- sets -------------------------------------------------------------------------------------------


def _flat(*arrays):
    arrays = [ravel(asarray(x)) for x in arrays]
    dtype = result_type(*arrays)
    return [x.astype(dtype, copy=False) for x in arrays]


def union1d(x1, x2):
    """The elements that are in one of both, in order."""
    return unique(concat(_flat(x1, x2)))


def setdiff1d(x1, x2, assume_unique=False):
    """The elements of x1 that are not in x2; in order, unless they are said to be distinct."""
    x1 = ravel(asarray(x1)) if assume_unique else unique(x1)
    return x1[~isin(x1, x2)]


@beside
def setxor1d(x1, x2, assume_unique=False):
    """The elements that are in exactly one of both, in order."""
    x1, x2 = _flat(x1, x2)
    both = sort(concat([x1, x2] if assume_unique else [unique(x1), unique(x2)]))
    if not both.shape[0]:
        return both
    edge = ones((1,), dtype=DTYPES[BOOL])
    other = concat([edge, both[1:] != both[:-1], edge])
    return both[other[1:] & other[:-1]]


@beside
def intersect1d(x1, x2, assume_unique=False, return_indices=False):
    """The elements that are in both, in order; with return_indices also where each is first."""
    x1, x2 = _flat(x1, x2)
    where = []
    if not assume_unique:
        x1, *i1 = _distinct(x1, True, index=return_indices) if x1._code < C64 else (unique(x1, return_index=True))
        x2, *i2 = _distinct(x2, True, index=return_indices) if x2._code < C64 else (unique(x2, return_index=True))
        where = [i1, i2]
    both = concat([x1, x2])
    order = argsort(both)
    both = take(both, order)
    same = positions(both[1:] == both[:-1]) if both.shape[0] else zeros((0,), dtype="int64")
    values = take(both, same)
    if not return_indices:
        return values
    at = [take(order, same), take(order, same + 1) - x1.shape[0]]
    if where:
        at = [take(i, k) for (i,), k in zip(where, at)]
    return values, *at


# ---- repetitions ------------------------------------------------------------------------------------


def _repeat_each(x, repeats, axis):
    """By an array of as many numbers as the axis has elements. What was a list is known, also to a trace."""
    known = not isinstance(repeats, Array)
    if known:
        repeats = repeats.tolist() if hasattr(repeats, "tolist") else list(repeats)
        total, bad = sum(repeats), min(repeats, default=0) < 0
        repeats = asarray(repeats) if repeats else zeros((0,), dtype="int64")
    elif _core.tracing() is not None:
        raise NotYetError("how often elements are repeated is not known while a function is compiled: a result has to have "
                          "a shape", "not-yet")
    if repeats.ndim != 1:
        raise ValueError("object too deep for desired array")
    counts = _core.cast(asarray(repeats), I64)
    n = x.shape[axis]
    if repeats.shape[0] == 1 and n != 1:
        counts = _core.broadcast(counts, (n,))
        total = total * n if known else None
    elif repeats.shape[0] != n:
        raise ValueError(f"operands could not be broadcast together with shape ({n},) ({repeats.shape[0]},)")
    ends = _core.op("cumsum", (counts,), (0,))
    if not known:
        least = counts.min() if n else 0
        _core.evaluate((ends, least) if n else (ends,))
        total, bad = (int(ends[-1]), int(least) < 0) if n else (0, False)
    if bad:
        raise ValueError("repeats may not contain negative values.")
    return _core.op("take", (x, searchsorted(ends, _core.arange(total), side="right")), (axis,))


@beside
def repeat(x, repeats, /, axis=None):
    """Each element several times: a number, or an array with one for each element.

    >>> fx.repeat(fx.asarray([3, 5]), [2, 1]).tolist()
    [3, 3, 5]
    """
    x = asarray(x)
    if getattr(repeats, "ndim", 1) == 0 and _core.tracing() is None:
        repeats = operator.index(repeats)
    if axis is None:
        x, axis = ravel(x), 0
    axis = take_axis(axis, x.ndim)
    if not isinstance(repeats, int):
        return _repeat_each(x, repeats, axis)
    if repeats < 0:
        raise ValueError("repeats may not contain negative values.")
    return x if repeats == 1 else _core.op("repeat", (x,), (axis,), (repeats,))


# ---- without some, and with others ------------------------------------------------------------------


def _at(x, axis, part):
    return x[(slice(None),) * axis + (part,)]


def _place(k, n, most):
    k = operator.index(k)
    if not -n <= k <= most:
        raise IndexError(f"index {k} is out of bounds for axis with size {n}")
    return k + n if k < 0 else k


def _flattened(x, axis):
    x = asarray(x)
    return (ravel(x), 0) if axis is None else (x, take_axis(axis, x.ndim))


@beside
def delete(x, obj, axis=None):
    """The elements along an axis without those at an index, a slice, indices or a mask."""
    x, axis = _flattened(x, axis)
    n = x.shape[axis]
    if isinstance(obj, int) and not isinstance(obj, bool):
        obj = slice(k := _place(obj, n, n - 1), k + 1)
    if isinstance(obj, slice):
        gone = range(n)[obj]
        if not len(gone):
            return x
        if gone.step in (1, -1):
            first, last = min(gone), max(gone)
            return concat([_at(x, axis, slice(0, first)), _at(x, axis, slice(last + 1, None))], axis=axis)
        obj = list(gone)
    obj = asarray(obj)
    if obj._code == BOOL:
        kept = ~obj
        if obj.shape != (n,):
            raise ValueError(f"boolean array argument `obj` to delete must be one-dimensional and match the axis length of {n}")
    else:
        kept = ones((n,), dtype=DTYPES[BOOL])
        kept[obj] = False
    return _core.op("take", (x, positions(kept)), (axis,))


@beside
def insert(x, obj, values, axis=None):
    """The elements along an axis with others before an index."""
    flat, at = _flattened(x, axis)
    values = asarray(values)
    if not isinstance(obj, int) or isinstance(obj, bool) or values.ndim > 1 or (values.ndim and flat.ndim > 1):
        return _host.call("insert", use_numpy().insert, x, obj, values, axis=axis)
    k = _place(obj, flat.shape[at], flat.shape[at])
    shape = [(values.shape[0] if values.ndim else 1) if a == at else n for a, n in enumerate(flat.shape)]
    values = _core.broadcast(values.astype(flat.dtype, copy=False), tuple(shape))
    return concat([_at(flat, at, slice(0, k)), values, _at(flat, at, slice(k, None))], axis=at)
