# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions that move elements and compute nothing: views and joins."""

import operator

from . import _core, _host
from ._array import Array
from ._device import beside
from ._create import asarray, shape_tuple, use_numpy
from ._dtypes import result_type
from ._errors import AxisError, ShapeError
from ._into import into

__all__ = [
    "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_arrays", "broadcast_shapes", "broadcast_to",
    "concat", "expand_dims", "flip", "fliplr", "flipud", "hstack", "matrix_transpose", "moveaxis",
    "permute_dims", "ravel", "reshape", "roll", "rollaxis", "rot90", "split", "squeeze",
    "stack", "swapaxes", "tile", "transpose", "unstack", "vstack", "pad", "ndim", "shape", "size",
    "column_stack", "dstack", "concatenate", "array_split", "hsplit", "vsplit", "dsplit",
]


MOST_FUSED = 16  # arrays that a concat outside of jit reads inside one kernel; NumPy copies more


def take_axis(axis, rank):
    i = operator.index(axis)
    if not -rank <= i < rank:
        raise AxisError(f"axis {i} is out of bounds for array of dimension {rank}", "bad-axis")
    return i + rank if i < 0 else i


def take_axes(axis, rank):
    if axis is None:
        return tuple(range(rank))
    axes = tuple(take_axis(a, rank) for a in (axis if isinstance(axis, (tuple, list)) else (axis,)))
    if len(set(axes)) != len(axes):
        raise ValueError("duplicate value in 'axis'")
    return axes


def shape(x):
    return asarray(x).shape


def ndim(x):
    return asarray(x).ndim


def size(x, axis=None):
    x = asarray(x)
    return x.size if axis is None else x.shape[take_axis(axis, x.ndim)]


def _whole_size(x, known):
    """The length that -1 stands for. Of a trace: where the others are lengths of x, what is left."""
    left = list(x.shape)
    for k in known:
        match = next((i for i, n in enumerate(left) if type(n) is type(k) and n == k), None)
        if match is None:
            if not isinstance(k, int) or k != 1:
                break
        else:
            left.pop(match)
    else:
        n = 1
        for k in left:
            n = n * k
        return n
    total, product = operator.index(x.size), 1
    for k in known:
        product *= operator.index(k)
    if product == 0 or total % product:
        raise ShapeError(f"cannot reshape array of size {total} into shape "
                         f"{tuple(known)} and one more axis", "shape-mismatch")
    return total // product


def reshape(x, /, shape, *, copy=None, order="C"):
    """The same elements, row by row, in another shape; one length may be -1.

    >>> fx.reshape(fx.arange(6), (2, -1)).shape
    (2, 3)
    """
    x, shape = asarray(x), shape_tuple(shape)
    if order == "F":  # column by column
        return transpose(reshape(transpose(x), shape[::-1]))
    if order not in ("C", "A", "K"):
        raise ValueError(f"order {order!r}: 'C' and 'F' are there")
    unknown = [i for i, n in enumerate(shape) if isinstance(n, int) and n == -1]
    if len(unknown) > 1:
        raise ValueError("can only specify one unknown dimension")
    if unknown:
        known = shape[: unknown[0]] + shape[unknown[0] + 1:]
        shape = shape[: unknown[0]] + (_whole_size(x, known),) + shape[unknown[0] + 1:]
    return _core.reshape(x, shape)


def ravel(x, /, order="C"):
    """One axis of all elements."""
    return reshape(x, (-1,), order=order)


def permute_dims(x, /, axes):
    """Axis i of the result is axis axes[i] of x."""
    x = asarray(x)
    axes = take_axes(tuple(axes), x.ndim)
    if len(axes) != x.ndim:
        raise ValueError("axes don't match array")
    return _core.transpose(x, axes)


def transpose(x, /, axes=None):
    x = asarray(x)
    return permute_dims(x, tuple(range(x.ndim))[::-1] if axes is None else axes)


def matrix_transpose(x, /):
    """The last two axes exchanged."""
    x = asarray(x)
    if x.ndim < 2:
        raise ValueError("matrix_transpose takes arrays of two axes or more")
    return swapaxes(x, -1, -2)


def swapaxes(x, a, b):
    x = asarray(x)
    axes = list(range(x.ndim))
    a, b = take_axis(a, x.ndim), take_axis(b, x.ndim)
    axes[a], axes[b] = axes[b], axes[a]
    return _core.transpose(x, tuple(axes))


def moveaxis(x, source, destination, /):
    """Axes at other places, the rest in order."""
    x = asarray(x)
    one = lambda a: a if isinstance(a, (tuple, list)) else (a,)
    source, destination = take_axes(one(source), x.ndim), take_axes(one(destination), x.ndim)
    if len(source) != len(destination):
        raise ValueError("source and destination must have the same number of elements")
    order = [i for i in range(x.ndim) if i not in source]
    for d, s in sorted(zip(destination, source)):
        order.insert(d, s)
    return _core.transpose(x, tuple(order))


def rollaxis(x, axis, start=0):
    return moveaxis(x, axis, start - (take_axis(axis, x.ndim) < start))


def expand_dims(x, /, axis=0):
    """A new axis of length 1, or several."""
    x = asarray(x)
    axes = axis if isinstance(axis, tuple) else (axis,)
    rank = x.ndim + len(axes)
    axes = take_axes(axes, rank)
    rest = iter(x.shape)
    return _core.reshape(x, tuple(1 if i in axes else next(rest) for i in range(rank)))


def squeeze(x, /, axis=None):
    """Without axes of length 1, or without those of `axis`."""
    x = asarray(x)
    shape = x.shape
    if axis is None:
        axes = [i for i, n in enumerate(shape) if isinstance(n, int) and n == 1]
    else:
        axes = take_axes(axis, x.ndim)
        if any(not isinstance(shape[i], int) or shape[i] != 1 for i in axes):
            raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    return _core.reshape(x, tuple(n for i, n in enumerate(shape) if i not in axes)) if axes else x


def flip(x, /, axis=None):
    """The elements in reverse order along all axes, or those of `axis`."""
    x = asarray(x)
    for a in take_axes(axis, x.ndim):
        x = _core.slice(x, a, None, None, -1)
    return x


def flipud(x):
    return flip(x, axis=0)


def fliplr(x):
    return flip(x, axis=1)


def broadcast_to(x, /, shape):
    """The elements repeated along axes of length 1 and new ones in front."""
    x, shape = asarray(x), shape_tuple(shape)
    return _core.broadcast(x, shape)


def broadcast_shapes(*shapes):
    """The shape that all of them broadcast to."""
    rank = max((len(shape_tuple(s)) for s in shapes), default=0)
    out = [1] * rank
    for s in map(shape_tuple, shapes):
        for i, n in enumerate(s, rank - len(s)):
            if isinstance(n, int) and n == 1:
                continue
            if isinstance(out[i], int) and out[i] == 1:
                out[i] = n
            elif n != out[i]:
                raise ShapeError("shape mismatch: objects cannot be broadcast to a single shape: "
                                 + " and ".join(str(tuple(t)) for t in shapes), "shape-mismatch")
    return tuple(out)


def broadcast_arrays(*arrays):
    arrays = [asarray(a) for a in arrays]
    shape = broadcast_shapes(*(a.shape for a in arrays))
    return tuple(_core.broadcast(a, shape) for a in arrays)


def atleast_1d(*arrays):
    out = [a if a.ndim else a[None] for a in map(asarray, arrays)]
    return out[0] if len(out) == 1 else tuple(out)


def atleast_2d(*arrays):
    out = [a if a.ndim > 1 else atleast_1d(a)[None] for a in map(asarray, arrays)]
    return out[0] if len(out) == 1 else tuple(out)


def atleast_3d(*arrays):
    out = [a if a.ndim > 2 else a[:, :, None] if a.ndim == 2 else atleast_1d(a)[None, :, None]
           for a in map(asarray, arrays)]
    return out[0] if len(out) == 1 else tuple(out)


def rot90(x, k=1, axes=(0, 1)):
    a, b = take_axes(tuple(axes), x.ndim)
    k %= 4
    if k == 2:
        return flip(x, axis=(a, b))
    if k == 1:
        return swapaxes(flip(x, axis=b), a, b)
    return flip(swapaxes(x, a, b), axis=b) if k else x


# ---- joins ----------------------------------------------------------------------------------------


def _same_dtype(arrays):
    arrays = [asarray(a) for a in arrays]
    if not arrays:
        raise ValueError("need at least one array")
    dtype = result_type(*arrays)
    return [a.astype(dtype, copy=False) for a in arrays]


def concat(arrays, /, axis=0, out=None, *, dtype=None):
    """The arrays one after the other along an axis; None: their elements."""
    arrays = _same_dtype(arrays)
    if axis is None:
        arrays, axis = [ravel(a) for a in arrays], 0
    if any(a.ndim != arrays[0].ndim for a in arrays):
        raise ShapeError("concat: the arrays must have the same number of axes", "shape-mismatch")
    axis = take_axis(axis, arrays[0].ndim)
    if len(arrays) <= (64 if _core.tracing() is not None else MOST_FUSED):
        r = _core.op("concat", tuple(arrays), (axis,))
    else:
        r = _host.call("concat", use_numpy().concatenate, arrays, axis=axis)
    return into(r if dtype is None else r.astype(dtype), out)


concatenate = concat


def stack(arrays, /, axis=0, out=None, *, dtype=None):
    """The arrays along a new axis."""
    arrays = _same_dtype(arrays)
    if any(a.ndim != arrays[0].ndim or a.shape != arrays[0].shape for a in arrays):
        raise ShapeError("stack: all arrays must have the same shape", "shape-mismatch")
    return concat([expand_dims(a, axis=axis) for a in arrays], take_axis(axis, arrays[0].ndim + 1), out, dtype=dtype)


def hstack(arrays):
    arrays = [atleast_1d(a) for a in arrays]
    return concat(arrays, axis=0 if arrays[0].ndim == 1 else 1)


def vstack(arrays):
    return concat([atleast_2d(a) for a in arrays], axis=0)


def dstack(arrays):
    return concat([atleast_3d(a) for a in arrays], axis=2)


def column_stack(arrays):
    return concat([a if asarray(a).ndim > 1 else asarray(a)[:, None] for a in arrays], axis=1)


def unstack(x, /, *, axis=0):
    """A tuple of the parts along an axis, without that axis."""
    x = moveaxis(asarray(x), axis, 0)
    return tuple(x[i] for i in range(operator.index(x.shape[0])))


def split(x, sections, axis=0):
    """Parts along an axis: as many of the same length, or those that begin at indices."""
    x = asarray(x)
    if isinstance(sections, int) and operator.index(x.shape[take_axis(axis, x.ndim)]) % sections:
        raise ValueError("array split does not result in an equal division")
    return array_split(x, sections, axis)


def array_split(x, sections, axis=0):
    """As split; the first parts are longer by one where the length can't be divided."""
    x = asarray(x)
    axis = take_axis(axis, x.ndim)
    n = operator.index(x.shape[axis])
    if isinstance(sections, int):
        if sections < 1:
            raise ValueError("number sections must be larger than 0.")
        sections = [n // sections * i + min(i, n % sections) for i in range(1, sections)]
    bounds = [0, *sections, n]
    key = (slice(None),) * axis
    return [x[key + (slice(a, b),)] for a, b in zip(bounds, bounds[1:])]


def vsplit(x, sections):
    return split(x, sections, 0)


def hsplit(x, sections):
    return split(x, sections, 1 if asarray(x).ndim > 1 else 0)


def dsplit(x, sections):
    return split(x, sections, 2)


def tile(x, repetitions, /):
    """The array several times along its axes."""
    x = asarray(x)
    reps = shape_tuple(repetitions)
    reps = (1,) * (x.ndim - len(reps)) + tuple(reps)
    s = (1,) * (len(reps) - x.ndim) + x.shape
    if len(reps) > x.ndim:
        x = reshape(x, s)
    if reps and 1 < reps[-1] <= MOST_FUSED:  # whole vectors: no index is divided
        x = concat((x,) * reps[-1], axis=-1)
        reps = (*reps[:-1], 1)
    return x if all(r == 1 for r in reps) else _core.op("tile", (x,), None, reps)


def roll(x, /, shift, axis=None):
    """The elements moved along axes; what leaves at one end comes in at the other."""
    x = asarray(x)
    if axis is None:
        return reshape(roll(ravel(x), shift, axis=0), x.shape)
    shifts, axes = shape_tuple(shift), shape_tuple(axis)
    for a in axes if len(axes) >= len(shifts) else axes * len(shifts):
        k = shifts[axes.index(a)] if len(shifts) == len(axes) else shifts[0]
        x = _core.op("roll", (x,), (take_axis(a, x.ndim),), (operator.index(k),))
    return x


_EDGES = {"edge": 2, "wrap": 3, "reflect": 4, "symmetric": 5}  # fusec_edge


def _widths(pad_width, rank):
    """(before, behind) of each axis, as NumPy reads its argument."""
    if isinstance(pad_width, int):
        return [(pad_width, pad_width)] * rank
    pairs = [tuple(k) if isinstance(k, (tuple, list)) else k for k in pad_width]
    if all(isinstance(k, int) for k in pairs):
        pairs = [tuple(pairs) if len(pairs) == 2 else (pairs[0], pairs[0])]
    pairs = [k if isinstance(k, tuple) else (k, k) for k in pairs]
    pairs = [k if len(k) == 2 else (k[0], k[0]) for k in pairs]
    if len(pairs) not in (1, rank):
        raise ValueError(f"pad: {len(pairs)} pairs of widths for {rank} axes")
    return pairs if len(pairs) == rank else pairs * rank


@beside
def pad(x, pad_width, mode="constant", *, constant_values=0, **kwargs):
    """More elements at the ends of the axes: `constant_values`, the nearest ("edge"), or those of the
    array again ("wrap", "reflect", "symmetric"). Other modes are computed by NumPy on the host.

    >>> fx.pad(fx.asarray([1, 2]), 1, mode="edge").tolist()
    [1, 1, 2, 2]
    """
    x = asarray(x)
    try:
        widths = _widths(pad_width, x.ndim)
    except TypeError:
        widths = None
    number = isinstance(constant_values, (bool, int, float))
    if widths is None or kwargs or mode not in _EDGES and (mode != "constant" or not number) or any(
            k < 0 for w in widths for k in w):
        more = {"constant_values": constant_values} if mode == "constant" else {}
        return _host.call("pad", use_numpy().pad, x, pad_width, mode, **more, **kwargs)
    before, behind = (tuple(w[i] for w in widths) for i in (0, 1))
    if mode != "constant" or constant_values == 0:
        return _core.op("pad", (x,), None, before, behind, mode=_EDGES.get(mode, 1))
    inside = _core.op("pad", (_core.full(0, True, x.shape),), None, before, behind, mode=1)
    wide = _core.op("pad", (x,), None, before, behind, mode=1)
    return _core.rows["where"][3](inside, wide, asarray(constant_values, x.dtype))
