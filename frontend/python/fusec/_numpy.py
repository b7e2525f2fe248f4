# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""NumPy's functions that have no kernels: NumPy computes them on the host (_host.py); a few are written with others and
fuse."""

import itertools

from . import _core, _functions, _host
from ._array import Array
from ._create import asarray, ones, use_numpy, zeros
from ._device import beside
from ._dtypes import DTYPES, result_type
from ._errors import DtypeError
from ._into import into
from ._positions import flatnonzero
from ._reduce import cumprod, mean, sum
from ._search import bounded, diagonal, take
from ._sets import repeat
from ._shape import broadcast_arrays, concat, moveaxis, ravel, reshape, stack, take_axis

# Named in docs/python.md, too.
BY_NUMPY = (
    "apply_along_axis apply_over_axes array2string array_repr array_str block "
    "frombuffer fromiter histogram2d histogramdd piecewise polyfit trim_zeros").split()

__all__ = [*BY_NUMPY, "choose", "corrcoef", "cov", "diag_indices", "fromfunction", "iscomplexobj", "isrealobj", "isscalar",
           "ix_", "packbits", "polyval", "resize", "trapezoid", "tril_indices", "triu_indices", "unpackbits", "vander"]


def _delegated(name):
    def f(*args, **kwargs):
        return _host.call(name, getattr(use_numpy(), name), *args, **kwargs)

    f.__name__ = f.__qualname__ = name
    f.__doc__ = f"As NumPy's {name}; computed by NumPy on the host."
    return f


for _name in BY_NUMPY:
    globals()[_name] = _delegated(_name)


def isscalar(x):
    """Is it a number, not an array?"""
    return not isinstance(x, Array) and use_numpy().isscalar(x)


def iscomplexobj(x):
    """Is its dtype complex?"""
    return DTYPES[asarray(x)._code].kind == "c"


def isrealobj(x):
    """Is its dtype not complex?"""
    return not iscomplexobj(x)


def polyval(p, x):
    """The polynomial whose coefficients are p, the highest power first, at x."""
    p = asarray(p)
    if p.ndim != 1:
        raise ValueError("the coefficients are an array of one axis")
    x = asarray(x)
    r = x * 0
    for i in range(len(p)):
        r = r * x + p[i]
    return r


def trapezoid(y, x=None, dx=1.0, axis=-1):
    """The integral along an axis by the trapezoidal rule."""
    y = moveaxis(asarray(y), axis, -1)
    if x is None:
        d = dx
    else:
        x = asarray(x)
        x = x if x.ndim == 1 else moveaxis(x, axis, -1)
        d = x[..., 1:] - x[..., :-1]
    return sum(d * (y[..., 1:] + y[..., :-1]) / 2.0, axis=-1)


def cov(m, y=None, rowvar=True, bias=False, ddof=None, **keywords):
    """The covariances of variables, which are rows (rowvar) or columns."""
    m = asarray(m)
    if y is not None or keywords or m.ndim > 2 or m.dtype.kind == "c" or not rowvar and m.ndim < 2:
        return _host.call("cov", use_numpy().cov, m, y, rowvar, bias, ddof, **keywords)
    if m.ndim == 0:
        raise DtypeError("cov of an array without axes", "bad-axis")
    m = m if m.dtype.kind == "f" and m.dtype.itemsize == 8 else m.astype("float64")
    m = m if m.ndim == 2 else m[None]
    m = m if rowvar else m.T
    away = m - mean(m, 1, keepdims=True)
    n = m.shape[1] - (ddof if ddof is not None else 0 if bias else 1)
    r = away @ away.T / n
    return r[0, 0] if r.shape == (1, 1) else r


def corrcoef(x, y=None, rowvar=True, **keywords):
    """The correlations of variables, which are rows (rowvar) or columns."""
    c = asarray(cov(x, y, rowvar, **keywords))
    if c.ndim == 0:
        return c / c
    d = _functions.sqrt(diagonal(c).real if c.dtype.kind == "c" else diagonal(c))
    r = c / d[:, None] / d[None, :]
    return r if c.dtype.kind == "c" else _functions.clip(r, -1, 1)


# ---- indices ----------------------------------------------------------------------------------------


def _rows_of(n, first, last):
    """(rows, columns) of the elements from column first(row) to last(row)."""
    counts = [max(last(r) - first(r), 0) for r in range(n)]
    row = repeat(_core.arange(n), counts)
    begin = [0, *itertools.accumulate(counts)]
    shift = [b - first(r) for r, b in enumerate(begin[:-1])]
    return row, _core.arange(begin[-1]) - take(asarray(shift, dtype="int64"), row)


def tril_indices(n, k=0, m=None):
    """The indices of the elements of an n by m matrix on its k-th diagonal and below."""
    m = n if m is None else m
    return _rows_of(n, lambda r: 0, lambda r: min(max(r + k + 1, 0), m))


def triu_indices(n, k=0, m=None):
    """The indices of the elements of an n by m matrix on its k-th diagonal and above."""
    m = n if m is None else m
    return _rows_of(n, lambda r: min(max(r + k, 0), m), lambda r: m)


def diag_indices(n, ndim=2):
    """The indices of the diagonal of an array of ndim axes of length n."""
    return (_core.arange(n),) * ndim


def ix_(*args):
    """Arrays of indices, each along an axis of its own; masks as the places where they are true."""
    out = []
    for a, x in enumerate(args):
        x = asarray(x)
        if x.ndim != 1:
            raise ValueError("Cross index must be 1 dimensional")
        x = flatnonzero(x) if x.dtype == "bool" else x if x.shape[0] else x.astype("int64")
        out.append(reshape(x, (1,) * a + x.shape + (1,) * (len(args) - a - 1)))
    return tuple(out)


def fromfunction(function, shape, *, dtype=float, like=None, **kwargs):
    """What a function of the indices gives, an array of them for each axis."""
    shape = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    at = [_core.broadcast(reshape(_core.arange(n), (1,) * a + (n,) + (1,) * (len(shape) - a - 1)), shape).astype(dtype)
          for a, n in enumerate(shape)]
    return function(*at, **kwargs)


# ---- bits -------------------------------------------------------------------------------------------


def _shifts(bitorder):
    if bitorder not in ("big", "little"):
        raise ValueError("'order' must be either 'little' or 'big'")
    at = _core.arange(8).astype("uint8")
    return 7 - at if bitorder == "big" else at


@beside
def packbits(x, /, axis=None, bitorder="big"):
    """Eight elements along an axis as the bits of a byte: those that are not 0."""
    x = asarray(x)
    if x.dtype.kind not in "biu":
        raise TypeError("Expected an input array of integer or boolean data type")
    x, axis = (ravel(x), 0) if axis is None else (x, take_axis(axis, x.ndim))
    bits = moveaxis((x != 0).astype("uint8"), axis, -1)
    missing = -bits.shape[-1] % 8
    if missing:
        bits = concat([bits, zeros((*bits.shape[:-1], missing), dtype="uint8")], axis=-1)
    bits = reshape(bits, (*bits.shape[:-1], bits.shape[-1] // 8, 8)) << _shifts(bitorder)
    return moveaxis(sum(bits, -1, dtype="uint8"), -1, axis)


@beside
def unpackbits(x, /, axis=None, count=None, bitorder="big"):
    """The bits of bytes as elements along an axis; of them the first `count`, or without the last -count."""
    x = asarray(x)
    if x.dtype != "uint8":
        raise TypeError("Expected an input array of unsigned byte data type")
    x, axis = (ravel(x), 0) if axis is None else (x, take_axis(axis, x.ndim))
    x = moveaxis(x, axis, -1)
    bits = reshape((x[..., None] >> _shifts(bitorder)) & 1, (*x.shape[:-1], x.shape[-1] * 8))
    n = bits.shape[-1]
    if count is not None and count > n:
        bits = concat([bits, zeros((*bits.shape[:-1], count - n), dtype="uint8")], axis=-1)
    elif count is not None:
        if n + count < 0:
            raise ValueError(f"-count={-count} is larger than the {n} elements")
        bits = bits[..., :count]
    return moveaxis(bits, -1, axis)


# ---- others -----------------------------------------------------------------------------------------


@beside
def vander(x, N=None, increasing=False):
    """The powers of each element from 0 to N - 1, a row for each, the highest first."""
    x = asarray(x)
    if x.ndim != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    n = x.shape[0] if N is None else N
    wide = result_type(x, "int64") if x.dtype.kind in "biu" else x.dtype
    x = x.astype(wide)
    one = ones((x.shape[0], min(n, 1)), dtype=wide)
    powers = concat([one, cumprod(_core.broadcast(x[:, None], (x.shape[0], n - 1)), axis=1)], axis=1) if n > 1 else one
    return powers if increasing else powers[:, ::-1]


@beside
def resize(x, new_shape):
    """An array of another shape: the elements in order, again from the first where there are too few."""
    x = ravel(asarray(x))
    shape = tuple(new_shape) if isinstance(new_shape, (tuple, list)) else (new_shape,)
    n = 1
    for k in shape:
        if k < 0:
            raise ValueError("all elements of `new_shape` must be non-negative")
        n *= k
    if not n or not x.shape[0]:
        return zeros(shape, dtype=x.dtype)
    return reshape(take(x, _core.arange(n) % x.shape[0]), shape)


def choose(x, choices, out=None, mode="raise"):
    """Elements of the arrays whose numbers are in x."""
    x, *choices = broadcast_arrays(asarray(x), *[asarray(c) for c in choices])
    dtype = result_type(*choices)
    all_ = stack([c.astype(dtype, copy=False) for c in choices])
    at = bounded(x, len(choices), mode)
    if mode == "raise":
        at = _core.rows["where"][3](x < 0, len(choices), at)  # NumPy's does not count from the end
    return into(reshape(_core.op("take_along", (all_, at[None]), (0,)), x.shape), out)
