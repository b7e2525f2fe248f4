# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elements at indices and diagonals; sorting, searching, quantiles."""

import math
import operator

from . import _core, _host
from ._device import beside
from ._create import asarray, full, use_numpy, zeros
from ._into import into
from ._array import Array
from ._dtypes import C64, DTYPES, F16, F64, I64, result_type
from ._shape import concat, flip, moveaxis, permute_dims, ravel, reshape, stack, take_axes, take_axis

__all__ = [
    "argpartition", "argsort", "diag", "lexsort", "partition", "diagonal", "digitize", "isin", "median", "percentile", "quantile", "searchsorted",
    "sort", "take", "take_along_axis", "top_k", "trace", "select", "append", "ragged",
]

_RAGGED = ("sum", "prod", "min", "max", "any", "all", "mean", "argmin", "argmax", "logsumexp")


def _np(name, *args, **kwargs):
    return _host.call(name, getattr(use_numpy(), name), *args, **kwargs)


def _is_complex(*arrays):
    return any(x._code >= C64 for x in arrays)


def _without_order(x, order):
    if order is not None:
        raise ValueError("order names the fields of records, which fusec has not")
    return asarray(x)


def sort(x, /, axis=-1, kind=None, order=None, *, descending=False, stable=True):
    """The elements in order along an axis; nans last.

    >>> fx.sort(fx.asarray([3, 1, 2])).tolist()
    [1, 2, 3]
    """
    x = _without_order(x, order)
    if axis is None:
        x, axis = ravel(x), 0
    if _is_complex(x):
        r = _np("sort", x, axis=axis, kind="stable")
        return flip(r, axis=axis) if descending else r
    return _core.op("sort", (x,), (take_axis(axis, x.ndim),), mode=int(descending))


def _one_zero(x):
    """-0 as 0: for NumPy they are equal, for the library -0 is below."""
    return x + 0.0 if DTYPES[x._code].kind == "f" else x


def argsort(x, /, axis=-1, kind=None, order=None, *, descending=False, stable=True):
    """The indices that sort; those of equal elements in order.

    >>> fx.argsort(fx.asarray([3, 1, 2])).tolist()
    [1, 2, 0]
    """
    x = _without_order(x, order)
    if axis is None:
        x, axis = ravel(x), 0
    if not _is_complex(x):
        return _core.op("argsort", (_one_zero(x),), (take_axis(axis, x.ndim),), mode=int(descending))
    if not descending:
        return _np("argsort", x, axis=axis, kind="stable")
    np = use_numpy()

    def compute(a):
        n = a.shape[axis]
        order = np.argsort(np.flip(a, axis=axis), axis=axis, kind="stable")
        return np.flip(n - 1 - order, axis=axis)

    return _host.call("argsort", compute, x)


def _check_kth(kth, n):
    for k in kth if isinstance(kth, (tuple, list)) else (kth,):
        if isinstance(n, int) and not -n <= operator.index(k) < n:
            raise ValueError(f"kth(={operator.index(k)}) out of bounds ({n})")


def _partitioned(name, by_order, x, kth, axis, kind, order):
    x = _without_order(x, order)
    if _host.is_at_hand(x) or _is_complex(x):
        return _np(name, x, kth, axis=axis)
    x, axis = (ravel(x), 0) if axis is None else (x, axis)
    _check_kth(kth, x.shape[take_axis(axis, x.ndim)])
    return by_order(x, axis=axis)


def partition(x, kth, axis=-1, kind="introselect", order=None):
    """The elements along an axis so that those before kth are not larger, and those behind it not smaller; on a GPU and in
    compiled functions in order."""
    return _partitioned("partition", sort, x, kth, axis, kind, order)


def argpartition(x, kth, axis=-1, kind="introselect", order=None):
    """The indices of such an order as partition makes."""
    return _partitioned("argpartition", argsort, x, kth, axis, kind, order)


def lexsort(keys, axis=-1):
    """The indices that sort by several keys, of which the last one comes first."""
    keys = [asarray(k) for k in keys]
    if not keys:
        raise TypeError("need sequence of keys with len > 0 in lexsort")
    if _host.is_at_hand(*keys) or _is_complex(*keys):
        return _np("lexsort", keys, axis=axis)
    order = argsort(keys[0], axis=axis)
    for k in keys[1:]:
        order = take_along_axis(order, argsort(take_along_axis(k, order, axis=axis), axis=axis), axis=axis)
    return order


@beside
def searchsorted(x1, x2, /, side="left", sorter=None):
    """How many elements of x1, which is sorted, are less than each of x2 (side="right": or equal)."""
    if side not in ("left", "right"):
        raise ValueError("side must be 'left' or 'right'")
    x1, x2 = asarray(x1), asarray(x2)
    if sorter is not None:
        x1 = take(x1, sorter)
    if _is_complex(x1, x2):
        return _np("searchsorted", x1, x2, side=side)
    dtype = result_type(x1, x2)
    arrays = tuple(_one_zero(x.astype(dtype, copy=False)) for x in (x1, x2))
    return _core.op("searchsorted", arrays, mode=int(side == "right"))


def digitize(x, bins, right=False):
    """The number of the bin that each element is in; bins rise."""
    return searchsorted(bins, x, side="left" if right else "right")


@beside
def take(x, indices, /, axis=None, out=None, mode="raise"):
    """The elements at indices along an axis; negative ones count from the end. An index outside is an
    IndexError when the elements are computed.

    >>> fx.take(fx.asarray([1, 2, 3]), fx.asarray([2, 0])).tolist()
    [3, 1]
    """
    x, indices = asarray(x), asarray(indices)
    if axis is None:
        x, axis = ravel(x), 0
    axis = take_axis(axis, x.ndim)
    return into(_core.op("take", (x, bounded(indices, x.shape[axis], mode)), (axis,)), out)


def bounded(indices, n, mode):
    """Indices of an axis of n elements, what is outside by NumPy's mode."""
    if mode == "raise":
        return from_end(indices, n)
    if mode not in ("clip", "wrap"):
        raise ValueError("mode must be 'raise', 'clip' or 'wrap'")
    indices = _core.cast(indices, I64)
    return indices % n if mode == "wrap" else _core.rows["minimum"][3](_core.rows["maximum"][3](indices, 0), n - 1)


def from_end(indices, n):
    """Whole numbers, of which negative ones count from the end."""
    kind = DTYPES[indices._code].kind
    if kind == "u":
        return indices
    if kind != "i" and indices.shape == (0,):  # of an empty list
        return _core.cast(indices, I64)
    if kind != "i":
        raise IndexError("arrays used as indices must be of integer (or boolean) type")
    indices = _core.cast(indices, I64)
    return _core.rows["where"][3](indices < 0, indices + n, indices)


@beside
def take_along_axis(x, indices, /, axis=-1):
    """Elements along an axis at indices that are an array of the same rank."""
    x, indices = asarray(x), asarray(indices)
    if axis is None:
        x, axis = ravel(x), 0
    if x.ndim != indices.ndim:
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    axis = take_axis(axis, x.ndim)
    return _core.op("take_along", (x, from_end(indices, x.shape[axis])), (axis,))


def ragged(x, starts, ends=None, /, *, op="sum"):
    """Rows of data lengths: each ``x[starts[i]:ends[i]]`` becomes one element (or row) by `op`, which is
    sum, prod, min, max, any, all, mean, argmin, argmax or logsumexp. Without `ends` a row ends where the
    next one starts: those of a CSR matrix times a vector are ``ragged(data * x[indices], indptr)``.

    >>> fx.ragged(fx.asarray([1.0, 2.0, 4.0]), fx.asarray([0, 2, 2, 3])).tolist()
    [3.0, 0.0, 4.0]
    """
    if op not in _RAGGED:
        raise ValueError(f"op is one of {', '.join(_RAGGED)}")
    x, starts = asarray(x), asarray(starts)
    if ends is None:
        starts, ends = starts[:-1], starts[1:]
    return _core.op("ragged", (x, starts, asarray(ends)), mode=_RAGGED.index(op))


def isin(x1, x2, /, *, invert=False):
    """Is each element of x1 among those of x2?"""
    x1, x2 = asarray(x1), asarray(x2)
    if _is_complex(x1, x2):
        return _np("isin", x1, x2, invert=invert)
    dtype = result_type(x1, x2)
    x1, x2 = x1.astype(dtype, copy=False), sort(ravel(x2.astype(dtype, copy=False)))
    n = x2.shape[0]
    if n == 0:
        r = x1 != x1 if DTYPES[x1._code].kind != "f" else x1 < x1
    else:
        at = searchsorted(x2, x1)
        r = (_core.op("take", (x2, _core.rows["minimum"][3](at, n - 1)), (0,)) == x1)
    return ~r if invert else r


def top_k(x, k, /, *, axis=-1, mode="largest"):
    """(the k largest, or smallest, elements along an axis, their indices)"""
    x = asarray(x)
    axis = take_axis(axis, x.ndim)
    if _is_complex(x):
        i = argsort(x, axis=axis, descending=mode == "largest")[(slice(None),) * axis + (slice(0, k),)]
    else:
        k = min(operator.index(k), int(x.shape[axis]))
        i = _core.op("argsort_part", (_one_zero(x),), (axis,), (0,), (k,), mode=int(mode == "largest"))
    return take_along_axis(x, i, axis=axis), i


def between(a, b, part):
    """From a, where part is 0, to b, as NumPy's quantiles go."""
    return _core.rows["where"][3](part < 0.5, a + (b - a) * part, b - (b - a) * (1 - part))


def halfway(a, b, part):
    """The mean of both, as NumPy's medians: of infinities, too."""
    return (a + b) / 2


def _ranked(x, q, axis, keepdims, mix=between):
    """Quantiles by linear interpolation between neighbours, nan where there is one."""
    x = asarray(x)
    x = x if x._code >= F16 else x.astype(DTYPES[F64])
    axes = take_axes(axis, x.ndim)
    kept = tuple(k for k in range(x.ndim) if k not in axes)
    flat = permute_dims(x, (*kept, *axes))
    flat = reshape(flat, (*[x.shape[k] for k in kept], -1))
    if isinstance(flat.shape[-1], int) and not flat.shape[-1]:  # of no elements
        return full(tuple(1 if k in axes else n for k, n in enumerate(x.shape) if keepdims or k in kept), float("nan"), dtype=x.dtype)
    at = q * (flat.shape[-1] - 1)
    low = math.floor(at)
    part = at - low
    where = _core.rows["where"][3]
    last = operator.index(flat.shape[-1]) - 1
    two = take_along_axis(flat, _core.op("argsort_part", (flat,), (flat.ndim - 1,), (low,), (min(2, last - low + 1),)), axis=-1)
    a, b = two[..., 0], two[..., -1]
    r = a
    if part:
        r = where(_core.rows["isinf"][3](b - a), a * (1 - part) + b * part, mix(a, b, part))
        r = where(a == b, a, r)
    r = where((flat != flat).any(axis=-1), float("nan"), r)
    return reshape(r, tuple(1 if k in axes else x.shape[k] for k in range(x.ndim))) if keepdims else r


def _wide(x):
    return asarray(x).astype(DTYPES[F64], copy=False)


def quantile(x, q, axis=None, keepdims=False, method="linear"):
    """The element below which the share q of all is, by linear interpolation; q may be a sequence."""
    if method != "linear" or isinstance(q, Array) or _is_complex(asarray(x)):
        return _np("quantile", x, q, axis=axis, keepdims=keepdims, method=method)
    if isinstance(q, (int, float)):
        if not 0 <= q <= 1:
            raise ValueError("Quantiles must be in the range [0, 1]")
        return _ranked(x, float(q), axis, keepdims)
    return stack([quantile(_wide(x), float(k), axis, keepdims) for k in q])


def percentile(x, q, axis=None, keepdims=False, method="linear"):
    """As quantile, of q / 100."""
    if method != "linear" or isinstance(q, Array) or _is_complex(asarray(x)):
        return _np("percentile", x, q, axis=axis, keepdims=keepdims, method=method)
    if isinstance(q, (int, float)):
        if not 0 <= q <= 100:
            raise ValueError("Percentiles must be in the range [0, 100]")
        return _ranked(x, q / 100, axis, keepdims)
    return stack([percentile(_wide(x), float(k), axis, keepdims) for k in q])


def median(x, axis=None, keepdims=False):
    """The element in the middle, or the mean of the two there."""
    if _is_complex(asarray(x)):
        return _np("median", x, axis=axis, keepdims=keepdims)
    return _ranked(x, 0.5, axis, keepdims, halfway)


def select(condlist, choicelist, default=0):
    """Elements of the first choice whose condition is true."""
    if len(condlist) != len(choicelist) or not condlist:
        raise ValueError("list of cases must be same length as list of conditions")
    r = default
    for c, v in zip(reversed(list(condlist)), reversed(list(choicelist))):
        r = _core.rows["where"][3](c, v, r)
    return r


def append(x, values, axis=None):
    """x with values behind it, along an axis or all in one row."""
    if axis is None:
        return concat([ravel(asarray(x)), ravel(asarray(values))])
    return concat([asarray(x), asarray(values)], axis=axis)


@beside
def diagonal(x, offset=0, axis1=0, axis2=1):
    """The elements with column - row = offset, of the matrices of two axes, as the last axis."""
    x = asarray(x)
    if x.ndim < 2:
        raise ValueError("diag requires an array of at least two dimensions")
    x = moveaxis(x, (axis1, axis2), (-2, -1))
    rows, columns = (operator.index(n) for n in x.shape[-2:])
    count = max(0, min(rows, rows + offset, columns, columns - offset))
    at = _core.arange(count)
    flat = reshape(x, (*x.shape[:-2], rows * columns))
    first = offset if offset >= 0 else -offset * columns
    return _core.op("take", (flat, at * (columns + 1) + first), (flat.ndim - 1,))


def trace(x, offset=0, axis1=0, axis2=1, dtype=None):
    """The sum of a diagonal."""
    return diagonal(x, offset, axis1, axis2).sum(axis=-1, dtype=dtype)


@beside
def diag(x, k=0):
    """The diagonal of a matrix, or the matrix with this diagonal."""
    x = asarray(x)
    if x.ndim == 2:
        return diagonal(x, k)
    if x.ndim != 1:
        raise ValueError("Input must be 1- or 2-d.")
    n = operator.index(x.shape[0]) + abs(k)
    row, column = _core.arange(n)[:, None], _core.arange(n)[None, :]
    more = [zeros((abs(k),), x.dtype)]
    wide = concat([*more, x] if k > 0 else [x, *more])
    return _core.rows["where"][3](column - row == k, wide[None, :], zeros((), x.dtype))
