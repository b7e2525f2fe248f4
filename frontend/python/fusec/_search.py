# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elements at indices and diagonals; sorting, searching and sets, which NumPy computes on the host."""

import operator

from . import _core, _host, _reduce
from ._device import beside
from ._create import asarray, use_numpy, zeros
from ._dtypes import DTYPES, I64, result_type
from ._shape import concat, flip, moveaxis, ravel, reshape, take_axis

__all__ = [
    "argsort", "argwhere", "bincount", "choose", "compress", "diag", "diagonal", "digitize",
    "flatnonzero", "histogram", "interp", "isin", "nonzero", "percentile", "quantile", "searchsorted",
    "sort", "take", "take_along_axis", "top_k", "trace", "unique", "unique_all", "unique_counts",
    "unique_inverse", "unique_values", "nansum", "nanmean", "nanmax", "nanmin", "nanvar", "nanstd",
    "nanprod", "select", "convolve", "correlate", "gradient", "insert", "delete", "append",
]


def _np(name, *args, **kwargs):
    return _host.call(name, getattr(use_numpy(), name), *args, **kwargs)


def sort(x, /, *, axis=-1, descending=False, stable=True):
    """The elements in order along an axis; nans last. Outside of compiled functions NumPy's, on the host."""
    x = asarray(x)
    if _core.tracing() is not None:
        return _core.op("sort", (x,), (take_axis(axis, x.ndim),), mode=int(descending))
    r = _np("sort", x, axis=axis, kind="stable")
    return flip(r, axis=axis) if descending else r


def _one_zero(x):
    """-0 as 0: for NumPy they are equal, for the library -0 is below."""
    return x + 0.0 if DTYPES[x._code].kind == "f" else x


def argsort(x, /, *, axis=-1, descending=False, stable=True):
    """The indices that sort."""
    x = asarray(x)
    if _core.tracing() is not None:
        return _core.op("argsort", (_one_zero(x),), (take_axis(axis, x.ndim),), mode=int(descending))
    if not descending:
        return _np("argsort", x, axis=axis, kind="stable")
    np = use_numpy()

    def compute(a):
        n = a.shape[axis]
        order = np.argsort(np.flip(a, axis=axis), axis=axis, kind="stable")
        return np.flip(n - 1 - order, axis=axis)

    return _host.call("argsort", compute, x)


@beside
def searchsorted(x1, x2, /, *, side="left", sorter=None):
    """How many elements of x1, which is sorted, are less than each of x2 (side="right": or equal)."""
    if side not in ("left", "right"):
        raise ValueError("side must be 'left' or 'right'")
    x1, x2 = asarray(x1), asarray(x2)
    if _core.tracing() is not None and sorter is None:
        dtype = result_type(x1, x2)
        arrays = tuple(_one_zero(x.astype(dtype, copy=False)) for x in (x1, x2))
        return _core.op("searchsorted", arrays, mode=int(side == "right"))
    return _np("searchsorted", x1, x2, side=side, sorter=sorter)


def nonzero(x, /):
    """The indices of elements that are not 0, an array for each axis."""
    x = asarray(x)
    if not x.ndim:
        raise ValueError("nonzero of an array without axes")
    return _np("nonzero", x)


@beside
def take(x, indices, /, *, axis=None):
    """The elements at indices along an axis; negative ones count from the end. An index outside is an
    IndexError when the elements are computed.

    >>> fx.take(fx.asarray([1, 2, 3]), fx.asarray([2, 0])).tolist()
    [3, 1]
    """
    x, indices = asarray(x), asarray(indices)
    if axis is None:
        x, axis = ravel(x), 0
    axis = take_axis(axis, x.ndim)
    return _core.op("take", (x, from_end(indices, x.shape[axis])), (axis,))


def from_end(indices, n):
    """Whole numbers, of which negative ones count from the end."""
    kind = DTYPES[indices._code].kind
    if kind == "u":
        return indices
    if kind != "i":
        raise IndexError("arrays used as indices must be of integer (or boolean) type")
    indices = _core.cast(indices, I64)
    return _core.rows["where"][3](indices < 0, indices + n, indices)


@beside
def take_along_axis(x, indices, /, *, axis=-1):
    """Elements along an axis at indices that are an array of the same rank."""
    x, indices = asarray(x), asarray(indices)
    if axis is None:
        x, axis = ravel(x), 0
    if x.ndim != indices.ndim:
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    axis = take_axis(axis, x.ndim)
    return _core.op("take_along", (x, from_end(indices, x.shape[axis])), (axis,))


def unique_all(x, /):
    return _np("unique_all", asarray(x))


def unique_counts(x, /):
    return _np("unique_counts", asarray(x))


def unique_inverse(x, /):
    return _np("unique_inverse", asarray(x))


def unique_values(x, /):
    """The distinct elements in order."""
    return _np("unique", asarray(x).ravel())


def isin(x1, x2, /, *, invert=False):
    a = x1 if isinstance(x1, (int, float)) else asarray(x1)
    b = x2 if isinstance(x2, (int, float)) else asarray(x2)
    return _np("isin", a, b, invert=invert)


def top_k(x, k, /, *, axis=-1, mode="largest"):
    np = use_numpy()

    def compute(a):
        order = np.argsort(a, axis=axis, kind="stable")
        order = np.flip(order, axis=axis) if mode == "largest" else order
        i = np.take(order, np.arange(k), axis=axis)
        return np.take_along_axis(a, i, axis=axis), i

    return _host.call("top_k", compute, asarray(x))


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


def _skipping(name, neutral, doc):
    def f(x, axis=None, keepdims=False):
        x = asarray(x)
        x = _core.rows["where"][3](x != x, neutral, x) if DTYPES[x._code].kind == "f" else x
        return getattr(_reduce, name)(x, axis=axis, keepdims=keepdims)

    f.__name__ = f.__qualname__ = "nan" + name
    f.__doc__ = doc
    return f


nansum = _skipping("sum", 0, "The sum, without nans.")
nanprod = _skipping("prod", 1, "The product, without nans.")


def _extreme_of_numbers(name, neutral):
    def f(x, axis=None, keepdims=False):
        x = asarray(x)
        plain = getattr(_reduce, name)
        if DTYPES[x._code].kind != "f":
            return plain(x, axis=axis, keepdims=keepdims)
        r = plain(_core.rows["where"][3](x != x, neutral, x), axis=axis, keepdims=keepdims)
        none = _reduce.all(x != x, axis=axis, keepdims=keepdims)
        return _core.rows["where"][3](none, float("nan"), r)

    f.__name__ = f.__qualname__ = "nan" + name
    f.__doc__ = f"The {'small' if name == 'min' else 'larg'}est element that is no nan."
    return f


nanmin = _extreme_of_numbers("min", float("inf"))
nanmax = _extreme_of_numbers("max", float("-inf"))


def nanmean(x, axis=None, keepdims=False):
    """The mean of what is no nan."""
    x = asarray(x)
    if DTYPES[x._code].kind != "f":
        return _reduce.mean(x, axis=axis, keepdims=keepdims)
    n = _reduce.sum(x == x, axis=axis, keepdims=keepdims)
    return nansum(x, axis, keepdims) / n.astype(x.dtype)


def nanvar(x, axis=None, ddof=0, keepdims=False, *, correction=None):
    """The variance of what is no nan."""
    x = asarray(x)
    if DTYPES[x._code].kind != "f":
        return _reduce.var(x, axis=axis, keepdims=keepdims, ddof=ddof, correction=correction)
    away = x - nanmean(x, axis, True)
    n = _reduce.sum(x == x, axis=axis, keepdims=keepdims).astype(x.dtype)
    return nansum(away * away, axis, keepdims) / (n - (ddof if correction is None else correction))


def nanstd(x, axis=None, ddof=0, keepdims=False, *, correction=None):
    """The standard deviation of what is no nan."""
    return nanvar(x, axis, ddof, keepdims, correction=correction) ** 0.5


def _delegated(name):
    def f(*args, **kwargs):
        return _np(name, *args, **kwargs)

    f.__name__ = name
    f.__doc__ = f"As NumPy's {name}; computed by NumPy on the host."
    return f


for _name in __all__:
    if _name not in globals():
        globals()[_name] = _delegated(_name)
