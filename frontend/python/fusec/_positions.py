# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where elements are true. How many there are is the shape of the result, so they are found at once."""

from . import _core, _host
from ._create import asarray, use_numpy, zeros
from ._device import CPU, beside
from ._dtypes import BOOL, DTYPES
from ._errors import NotYetError
from ._into import into
from ._shape import ravel, stack, take_axis

__all__ = ["argwhere", "compress", "extract", "flatnonzero", "nonzero", "ravel_multi_index", "unravel_index"]


@beside
def positions(mask):
    """The places where a mask of one axis is true, int64."""
    if _core.tracing() is not None:
        raise NotYetError("how many elements a mask holds is not known while a function is compiled: a result has to have "
                          "a shape. fx.where(mask, x, 0), x[mask] = number and reductions with where= do without it",
                          "not-yet")
    if mask._device == CPU:
        try:
            return _host.call("nonzero", use_numpy().flatnonzero, mask)
        except ImportError:
            pass
    n = mask.shape[0]
    before = _core.op("cumsum", (mask,), (0,))
    _core.evaluate((before,))
    count = int(before[-1]) if n else 0
    at = _core.rows["where"][3](mask, before - 1, count)
    return _core.op("scatter", (zeros((count + 1,), dtype="int64"), at, _core.arange(n)), (0,))[:count]


def _true(x):
    x = asarray(x)
    return x if x._code == BOOL else x != 0


def flatnonzero(x):
    """The places of the flat array whose elements are not 0.

    >>> fx.flatnonzero(fx.asarray([0, 3, 0, 5])).tolist()
    [1, 3]
    """
    return positions(ravel(_true(x)))


@beside
def nonzero(x, /):
    """The indices of elements that are not 0, an array for each axis."""
    x = asarray(x)
    if not x.ndim:
        raise ValueError("nonzero of an array without axes")
    at, out = flatnonzero(x), []
    for n in x.shape[:0:-1]:
        out.append(at % n)
        at = at // n
    return (at, *reversed(out))


def argwhere(x):
    """The indices of elements that are not 0, a row for each element."""
    x = asarray(x)
    if not x.ndim:
        return zeros((int(bool(x)), 0), dtype="int64")
    return stack(nonzero(x), axis=1)


def compress(condition, x, axis=None, out=None):
    """The elements along an axis, or of the flat array, where the condition is true."""
    x, condition = asarray(x), _true(condition)
    if condition.ndim != 1:
        raise ValueError("condition must be a 1-d array")
    x, axis = (ravel(x), 0) if axis is None else (x, take_axis(axis, x.ndim))
    return into(_core.op("take", (x, positions(condition)), (axis,)), out)


def extract(condition, x):
    """The elements of the flat array where the condition is true."""
    return compress(ravel(_true(condition)), x)


@beside
def unravel_index(indices, shape, order="C"):
    """Of places of the flat array of this shape the indices, an array for each axis. What is outside is a ValueError where
    NumPy computes it, which it does outside of compiled functions and GPUs."""
    indices = asarray(indices)
    shape = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    if _host.is_at_hand(indices) or order not in ("C", "F") or DTYPES[indices._code].kind not in "iu":
        return _host.call("unravel_index", use_numpy().unravel_index, indices, shape, order)
    out = []
    for n in shape[::-1] if order == "C" else shape:
        out.append(indices % n)
        indices = indices // n
    return tuple(out[::-1] if order == "C" else out)


def ravel_multi_index(multi_index, dims, mode="raise", order="C"):
    """The places in the flat array of what an array of indices for each axis names."""
    indices = [asarray(k) for k in multi_index]
    if _host.is_at_hand(*indices) or mode != "raise" or order != "C":
        return _host.call("ravel_multi_index", use_numpy().ravel_multi_index, tuple(indices), dims, mode, order)
    r = 0
    for k, n in zip(indices, dims, strict=True):
        r = r * n + k
    return r
