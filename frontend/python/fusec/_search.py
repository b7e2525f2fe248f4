"""Sorting, searching, sets, indices: computed by NumPy on the host."""

from . import _core, _host
from ._create import asarray, use_numpy
from ._shape import flip, ravel, take_axis

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
    """The elements in order along an axis; nans last."""
    r = _np("sort", asarray(x), axis=axis, kind="stable")
    return flip(r, axis=axis) if descending else r


def argsort(x, /, *, axis=-1, descending=False, stable=True):
    """The indices that sort."""
    x = asarray(x)
    if not descending:
        return _np("argsort", x, axis=axis, kind="stable")
    np = use_numpy()

    def compute(a):
        n = a.shape[axis]
        order = np.argsort(np.flip(a, axis=axis), axis=axis, kind="stable")
        return np.flip(n - 1 - order, axis=axis)

    return _host.call("argsort", compute, x)


def searchsorted(x1, x2, /, *, side="left", sorter=None):
    return _np("searchsorted", asarray(x1), asarray(x2), side=side, sorter=sorter)


def nonzero(x, /):
    """The indices of elements that are not 0, an array for each axis."""
    x = asarray(x)
    if not x.ndim:
        raise ValueError("nonzero of an array without axes")
    return _np("nonzero", x)


def take(x, indices, /, *, axis=None):
    """The elements at indices along an axis."""
    x, indices = asarray(x), asarray(indices)
    if _core.tracing() is None:
        return _np("take", x, indices, axis=axis)
    if axis is None:
        x, axis = ravel(x), 0
    axis = take_axis(axis, x.ndim)
    return _core.op("take", (x, _from_end(indices, x.shape[axis])), (axis,))


def _from_end(indices, n):
    """Negative indices count from the end."""
    return _core.rows["where"][3](indices < 0, indices + n, indices)


def take_along_axis(x, indices, /, *, axis=-1):
    x, indices = asarray(x), asarray(indices)
    if _core.tracing() is None:
        return _np("take_along_axis", x, indices, axis=axis)
    axis = take_axis(axis, x.ndim)
    return _core.op("take_along", (x, _from_end(indices, x.shape[axis])), (axis,))


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


def diagonal(x, offset=0, axis1=0, axis2=1):
    return _np("diagonal", asarray(x), offset, axis1, axis2)


def trace(x, offset=0, axis1=0, axis2=1, dtype=None):
    return _np("trace", asarray(x), offset, axis1, axis2, dtype=dtype)


def diag(x, k=0):
    return _np("diag", asarray(x), k)


def _delegated(name):
    def f(*args, **kwargs):
        return _np(name, *args, **kwargs)

    f.__name__ = name
    f.__doc__ = f"As NumPy's {name}; computed by NumPy on the host."
    return f


for _name in __all__:
    if _name not in globals():
        globals()[_name] = _delegated(_name)
