# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""x[key] and x[key] = value.

All of it fuses with what is around it: slices, integers, None, ..., arrays of indices, and assignments to them. A
mask is replaced by the places where it is true, which are found at once, since their number is the shape of the
result; not so in an assignment of what is the same at all of them.
"""

import operator

from . import _core, _host
from ._array import Array
from ._device import beside
from ._dtypes import C64, F16
from ._create import asarray, is_numpy
from ._errors import IndexRangeError, TraceError
from ._positions import positions
from ._search import from_end
from ._shape import broadcast_arrays, permute_dims, ravel


def _is_mask_or_indices(k):
    if isinstance(k, Array):
        return k.ndim > 0 or k._code == 0
    if isinstance(k, (list, bool)):
        return True
    return is_numpy(k) and (getattr(k, "ndim", 0) > 0 or k.dtype == bool)


def _expand(key, rank):
    """The key as a list that has an entry for each axis, one for all axes of a mask, and None for each new one."""
    key = key if isinstance(key, tuple) else (key,)
    key = [asarray(k) if _is_mask_or_indices(k) and _is_mask(k) else k for k in key]
    used = sum(k.ndim if isinstance(k, Array) and k._code == 0 else 1 for k in key if k is not None and k is not Ellipsis)
    if sum(1 for k in key if k is Ellipsis) > 1:
        raise IndexRangeError("an index can only have a single ellipsis ('...')", "bad-slice")
    if used > rank:
        raise IndexRangeError(f"too many indices for array: array is {rank}-dimensional, but {used} "
                              "were indexed", "bad-slice")
    out = []
    for k in key:
        if k is Ellipsis:
            out += [slice(None)] * (rank - used)
        else:
            out.append(k)
    if not any(k is Ellipsis for k in key):
        out += [slice(None)] * (rank - used)
    return out


def _bounds(k, n):
    """(start, stop, step) of a slice; n is a number or a size of a trace."""
    step = 1 if k.step is None else operator.index(k.step)
    if step == 0:
        raise ValueError("slice step cannot be zero")
    if isinstance(n, int):
        start, stop, step = slice(k.start, k.stop, step).indices(n)
        if step < 0:
            return start, None if stop < 0 else stop, step
        return start, max(start, stop), step
    start = None if k.start is None else operator.index(k.start)
    stop = None if k.stop is None else operator.index(k.stop)
    return start, stop, step


def _integer(k, n, axis):
    try:
        i = operator.index(k)
    except TypeError:
        raise IndexError("only integers, slices (`:`), ellipsis (`...`), None and arrays of integers "
                         f"or bools are indices, not {type(k).__name__}") from None
    if isinstance(n, int):
        if not -n <= i < n:
            raise IndexRangeError(f"index {i} is out of bounds for axis {axis} with size {n}",
                                  "index-out-of-range")
        i += n if i < 0 else 0
    return i, None if i == -1 else i + 1


def _basic(x, key):
    shape, axis, out = x.shape, 0, []
    for k in key:
        if k is None:
            out.append(1)
            continue
        n = shape[axis]
        if isinstance(k, slice):
            if k != slice(None):
                start, stop, step = _bounds(k, n)
                if not (isinstance(n, int) and (start, step) == (0, 1) and stop == n):
                    x = _core.slice(x, axis, start, stop, step)
            out.append(x.shape[axis])
        else:
            start, stop = _integer(k, n, axis)
            x = _core.slice(x, axis, start, stop, 1)
        axis += 1
    return x if len(out) == len(shape) and None not in key else _core.reshape(x, tuple(out))


def _is_mask(k):
    return isinstance(k, bool) or getattr(k, "dtype", None) == bool or isinstance(k, list) and asarray(
        k)._code == 0


def _has_scalar_mask(keys):
    return any(_is_mask_or_indices(k) and _is_mask(k) and not getattr(k, "ndim", isinstance(k, list)) for k in keys)


def _check_mask(mask, shape, axis):
    for i, n in enumerate(mask.shape):
        if n != shape[axis + i] and n != 0:  # of no elements, as in NumPy
            raise IndexRangeError(f"boolean index did not match indexed array along axis {axis + i}; size of axis is "
                                  f"{shape[axis + i]} but size of corresponding boolean axis is {n}", "index-out-of-range")


def _without_masks(x, keys, masks):
    """(x with the axes of each mask as one, the keys with the places where it is true)"""
    if _core.tracing() is None:
        _core.evaluate((x, *masks))  # a mask is often made of x: one kernel for both
    axis, out = 0, []
    for k in keys:
        if isinstance(k, Array) and k._code == 0:
            _check_mask(k, x.shape, axis)
            if 0 in k.shape:
                x = _basic(x, (*[slice(None)] * axis, *[slice(n) for n in k.shape], *[slice(None)] * (x.ndim - axis - k.ndim)))
            if k.ndim > 1:
                x = _core.reshape(x, (*x.shape[:axis], _product(k.shape), *x.shape[axis + k.ndim:]))
            k = positions(ravel(k) if k.ndim > 1 else k)
        out.append(k)
        axis += k is not None
    return x, out


def _product(sizes):
    n = 1
    for k in sizes:
        n = n * k
    return n


def _by_indices(x, keys):
    """Arrays of indices among slices. The first reads along its axis; each further one reads, at the
    place of the first, along its own."""
    where = [a for a, k in enumerate(keys) if k is not None and not isinstance(k, slice)]
    rest = [k if k is None or isinstance(k, slice) else slice(None) for k in keys]
    x = _basic(x, rest) if any(k != slice(None) for k in rest) else x
    at = [from_end(asarray(keys[a]), x.shape[a]) for a in where]
    if where != list(range(where[0], where[0] + len(where))):  # apart: NumPy puts them first
        x = permute_dims(x, (*where, *(a for a in range(x.ndim) if a not in where)))
        where = list(range(len(where)))
    if len(at) > 1:
        at = broadcast_arrays(*at)
    x = _core.op("take", (x, at[0]), (where[0],))
    axis = where[0] + at[0].ndim
    for i in at[1:]:
        i = _core.reshape(i, (1,) * where[0] + i.shape + (1,) * (x.ndim - axis))
        x = _core.op("take_along", (x, i), (axis,))
        x = _core.reshape(x, x.shape[:axis] + x.shape[axis + 1:])
    return x


@beside
def getitem(x, key):
    """The elements at a key; see the module."""
    if type(key) is Array and key._code == 0 and 0 < key.ndim <= x.ndim:
        x, (at,) = _without_masks(x, (key,), (key,))
        return _core.op("take", (x, at), (0,))
    keys = key if isinstance(key, tuple) else (key,)
    if not any(_is_mask_or_indices(k) for k in keys):
        return _basic(x, _expand(key, x.ndim))
    if _has_scalar_mask(keys):
        return _host.call("indexing with True or False", operator.getitem, x, key)
    keys = _expand(key, x.ndim)
    masks = [k for k in keys if isinstance(k, Array) and k._code == 0]
    return _by_indices(*(_without_masks(x, keys, masks) if masks else (x, keys)))


# ---- assignment -----------------------------------------------------------------------------------


def _region(shape, keys):
    """The places that basic keys name, as a mask that broadcasts to the shape; None: all."""
    mask, axis, rank = None, 0, len(shape)
    for k in keys:
        if k is None:
            continue
        n, place = shape[axis], tuple(slice(None) if a == axis else None for a in range(rank))
        i = None
        if not isinstance(k, slice):
            i = _core.arange(n) == _integer(k, operator.index(n), axis)[0]
        elif k != slice(None):
            start, stop, step = slice(k.start, k.stop, k.step).indices(operator.index(n))
            count = len(range(start, stop, step))
            if step < 0 and count:
                start, stop, step = start + (count - 1) * step, start + 1, -step
            at = _core.arange(n)
            i = (at >= start) & (at < stop) if count else at < 0
            if step != 1 and count:
                i = i & ((at - start) % step == 0)
        if i is not None:
            i = i[place]
            mask = i if mask is None else mask & i
        axis += 1
    return mask


def _places(k, n):
    """(how many elements a slice names, for each index of the axis which of them it is; None: itself)"""
    start, stop, step = k.indices(n)
    count = len(range(start, stop, step))
    if (start, step, count) == (0, 1, n) or not count:
        return count, None
    at = (_core.arange(n) - start) // step
    return count, _core.rows["minimum"][3](_core.rows["maximum"][3](at, 0), count - 1)


def _assign_slices(x, keys, v):
    """Values that broadcast to the elements that slices and integers name: each place of x reads the
    value that comes there, or x."""
    mask = _region(x.shape, keys)
    sizes = iter(x.shape)
    named, aligned, at = [], [], []  # lengths of x[key]; the same with 1 for integers; by axis
    for k in keys:
        n = 1 if k is None else operator.index(next(sizes))
        count, places = _places(k, n) if isinstance(k, slice) else (1, None)
        if k is None or isinstance(k, slice):
            named.append(count)
        if k is not None:
            aligned.append(count)
            at.append(places)
    while v.ndim > len(named) and v.shape[0] == 1:
        v = _core.reshape(v, v.shape[1:])
    v = _core.reshape(_core.broadcast(v, tuple(named)), tuple(aligned))
    if 0 in named:
        return x
    for axis, places in enumerate(at):
        if places is not None:
            v = _core.op("take", (v, places), (axis,))
    v = _core.broadcast(v, x.shape)
    return v if mask is None else _core.rows["where"][3](mask, v, x)


def _assign_indices(x, index, v, axis, mode=0):
    """Values at the indices of one axis; where an index comes twice, the last one stays (mode 0)."""
    shape = (*x.shape[:axis], *index.shape, *x.shape[axis + 1:])
    v = _core.broadcast(v, shape)
    return _core.op("scatter", (x, from_end(index, x.shape[axis]), v), (axis,), mode=mode)


def _updated(x, key, v, mode):
    where = _index_axis(key, x.ndim)
    return _assign_indices(x, where[0], v, where[1], mode) if where else put_at(x, places_of(x, key), v, mode)


def _index_axis(key, rank):
    """(the one array of integers among full slices, its axis), or None."""
    arrays = [k for k in (key if isinstance(key, tuple) else (key,)) if _is_mask_or_indices(k)]
    if len(arrays) != 1 or _is_mask(arrays[0]):
        return None
    expanded = _expand(key, rank)
    if not all(k is arrays[0] or isinstance(k, slice) and k == slice(None) for k in expanded):
        return None
    return asarray(arrays[0]), [k is arrays[0] for k in expanded].index(True)


def check_own(x):
    if _core.tracing() is not None and x._trace is not _core.tracing():
        raise TraceError("a compiled function writes to an array from outside: return the new value")


_PUTS = {"add": 1, "minimum": 2, "maximum": 3}  # fusec_put


@beside
def update_at(x, ufunc, name, key, *values):
    """ufunc.at(x, key, value): this one object gets a new value. Indices that come twice count twice."""
    check_own(x)
    if name in _PUTS and len(values) == 1 and 0 < x._code < C64:
        whole = isinstance(values[0], int) or isinstance(values[0], float) and x._code >= F16
        v = asarray(values[0], x.dtype) if whole else asarray(values[0])
        if _core.promote(v._code, x._code) == x._code:
            _core.replace(x, _updated(x, key, v.astype(x.dtype, copy=False), _PUTS[name]))
            return

    def write(a, k, *b):
        a = a.copy()
        ufunc.at(a, k, *b)
        return a

    _core.replace(x, _host.call(f"{name}.at", write, x, key, *values))


def places_of(x, key):
    """The places of the flat array that a key names, in the shape of x[key]."""
    return getitem(_core.reshape(_core.arange(x.size), x.shape), key)


def put_at(x, places, v, mode=0):
    """x with values at places of the flat array; of those that come twice the last one stays (mode 0)."""
    while v.ndim > places.ndim and isinstance(v.shape[0], int) and v.shape[0] == 1:
        v = _core.reshape(v, v.shape[1:])
    v = ravel(_core.broadcast(v, places.shape))
    return _core.reshape(_core.op("scatter", (ravel(x), ravel(places), v), (0,), mode=mode), x.shape)


def _assign_where(x, keys, v, single):
    """Where the key has one mask besides slices and numbers, and the values do not depend on how many elements
    are true: a choice at each place. None: it is not so."""
    masks = [i for i, k in enumerate(keys) if isinstance(k, Array) and k._code == 0]
    rest = keys[masks[0] + 1:] if masks else []
    if len(masks) != 1 or any(_is_mask_or_indices(k) for i, k in enumerate(keys) if i != masks[0]):
        return None
    if not single and (v.ndim > len(rest) or any(k != slice(None) for i, k in enumerate(keys) if i != masks[0])):
        return None
    mask = keys[masks[0]]
    axis = sum(k is not None for k in keys[:masks[0]])
    _check_mask(mask, x.shape, axis)
    basic = _region(x.shape, [*keys[:masks[0]], *[slice(None)] * mask.ndim, *rest])
    mask = _core.reshape(mask, (*mask.shape, *[1] * (x.ndim - axis - mask.ndim)))
    return _core.rows["where"][3](mask if basic is None else mask & basic, v, x)


def _value_for(x, value):
    """(the value to assign in the dtype of x, is it one element?)"""
    if isinstance(value, (bool, int, float)):
        return asarray(value).astype(x.dtype) if _fits_loosely(value, x) else asarray(value, x.dtype), True
    v = asarray(value)
    single = all(isinstance(n, int) and n == 1 for n in v.shape)
    return (_core.reshape(v, ()) if single else v).astype(x.dtype, copy=False), single


def setitem(x, key, value):
    """The value of x with some elements replaced."""
    check_own(x)
    keys = key if isinstance(key, tuple) else (key,)
    v, single = _value_for(x, value)
    if not any(_is_mask_or_indices(k) for k in keys):
        keys = _expand(key, x.ndim)
        if not single:
            return _assign_slices(x, keys, v)
        mask = _region(x.shape, keys)
        return _core.broadcast(v, x.shape) if mask is None else _core.rows["where"][3](mask, v, x)
    if _has_scalar_mask(keys):
        return _host.call("assignment to True or False", _write, x, key, value)
    where_at = _index_axis(key, x.ndim)
    if where_at is not None:
        return _assign_indices(x, where_at[0], v, where_at[1])
    chosen = _assign_where(x, _expand(key, x.ndim), v, single)
    if chosen is not None:
        return chosen
    if _host.is_at_hand(x):
        return _host.call("assignment", _write, x, key, v)
    return put_at(x, places_of(x, key), v)


def _write(a, key, values):
    a = a.copy()
    a[key] = values
    return a


@beside
def assign(x, key, value):
    """x[key] = value: this one object gets a new value."""
    _core.replace(x, setitem(x, key, value))


def _fits_loosely(value, x):
    return isinstance(value, float) and x._code < 9 or isinstance(value, bool)


class Flat:
    """x.flat: the elements row by row."""

    def __init__(self, x):
        self.base = x

    def __iter__(self):
        return iter(_core.reshape(self.base, (self.base.size,)))

    def __len__(self):
        return self.base.size

    def __getitem__(self, key):
        return getitem(_core.reshape(self.base, (self.base.size,)), key)

    def __setitem__(self, key, value):
        check_own(self.base)
        flat = _core.reshape(self.base, (self.base.size,))
        _core.replace(self.base, _core.reshape(setitem(flat, key, value), self.base.shape))

    def __array__(self, dtype=None, copy=None):
        return _core.reshape(self.base, (self.base.size,)).__array__(dtype, copy)
