# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""NumPy's functions that write to their first argument: the object gets a new value."""

from . import _core
from ._array import Array
from ._create import asarray
from ._index import check_own, put_at, setitem
from ._into import _cast
from ._search import bounded, take_along_axis
from ._shape import broadcast_to, ravel, reshape, take_axis

__all__ = ["copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask"]


def _own(x, name):
    if not isinstance(x, Array):
        raise TypeError(f"{name}() writes to {type(x).__name__}: use NumPy's")
    check_own(x)
    return x


def _values(x, v):
    return ravel(asarray(v)).astype(x.dtype, copy=False)


def _repeated(v, at):
    """The elements of v, over and over, at places that are not negative."""
    return _core.op("take", (v, at % v.shape[0]), (0,))


def put(x, indices, values, mode="raise"):
    """Gives the elements at indices of the flat array values, which are repeated."""
    _own(x, "put")
    indices, v = ravel(asarray(indices)), _values(x, values)
    if isinstance(v.shape[0], int) and not v.shape[0]:
        return
    at = bounded(indices, x.size, mode)
    _core.replace(x, put_at(x, at, _repeated(v, _core.arange(at.shape[0]))))


def place(x, mask, vals):
    """Gives the elements where the mask is true values one after another, which are repeated."""
    _own(x, "place")
    mask, v = ravel(asarray(mask) != 0), _values(x, vals)
    if mask.shape != (x.size,):
        raise ValueError(f"the mask has {mask.shape[0]} elements, the array {x.size}")
    if isinstance(v.shape[0], int) and not v.shape[0]:
        if bool(mask.any()):
            raise ValueError("Cannot insert from an empty array!")
        return
    before = _core.op("cumsum", (mask,), (0,)) - 1
    _core.replace(x, reshape(_core.rows["where"][3](mask, _repeated(v, _core.rows["maximum"][3](before, 0)), ravel(x)), x.shape))


def put_along_axis(x, indices, values, axis):
    """Gives the elements along an axis at indices, an array of the same rank, values."""
    _own(x, "put_along_axis")
    indices = asarray(indices)
    where = reshape(_core.arange(x.size), x.shape) if axis is not None else _core.arange(x.size)
    axis = take_axis(axis, x.ndim) if axis is not None else 0
    if indices.ndim == where.ndim:  # along other axes they broadcast
        indices = broadcast_to(indices, tuple(k if a == axis else n for a, (n, k) in enumerate(zip(where.shape, indices.shape))))
    v = asarray(values).astype(x.dtype, copy=False)
    _core.replace(x, put_at(x, take_along_axis(where, indices, axis=axis), v))


def fill_diagonal(x, val, wrap=False):
    """Gives the elements of the diagonal values, which are repeated; `wrap`: of a tall matrix again and again."""
    _own(x, "fill_diagonal")
    if x.ndim < 2:
        raise ValueError("array must be at least 2-d")
    if x.ndim > 2 and any(n != x.shape[0] for n in x.shape):
        raise ValueError("All dimensions of input must be of equal length")
    step, apart = 1, 1
    for n in x.shape[:0:-1]:
        apart = apart * n
        step = step + apart
    end = x.size if wrap or x.ndim > 2 else min(x.shape[1] * x.shape[1], x.size)
    count, v = (end + step - 1) // step, _values(x, val)
    v = v[0] if v.shape == (1,) else _repeated(v, _core.arange(count))
    _core.replace(x, reshape(setitem(ravel(x), slice(0, end, step), v), x.shape))


def copyto(dst, src, casting="same_kind", where=True):
    """Gives the elements of dst, those at `where`, the values of src."""
    _own(dst, "copyto")
    v = asarray(src, dst.dtype) if isinstance(src, (bool, int, float)) else _cast(asarray(src), dst._code, casting)
    v = broadcast_to(v, dst.shape)
    _core.replace(dst, v if where is True else _core.rows["where"][3](where, v, dst))


def putmask(x, mask, values):
    """Gives the elements of x at the mask the values at these places; few values are repeated."""
    _own(x, "putmask")
    v = asarray(values).astype(x.dtype, copy=False)
    if v.ndim and v.shape != x.shape:
        v = reshape(_repeated(ravel(v), _core.arange(x.size)), x.shape)
    _core.replace(x, _core.rows["where"][3](asarray(mask) != 0, v, x))
