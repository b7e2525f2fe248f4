# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of matrices: contractions, with which what is around them fuses. Where the interpreter
computes, for want of LLVM, NumPy's BLAS takes those of values."""

from . import _core, _host
from ._array import Array
from ._create import as_operand, asarray, shape_tuple, use_numpy
from ._dtypes import BOOL, C64, result_type
from ._errors import ShapeError
from ._into import into
from ._shape import moveaxis, reshape, stack, take_axes

__all__ = ["dot", "inner", "matmul", "outer", "tensordot", "vdot", "vecdot", "kron", "einsum", "cross", "matvec", "vecmat"]


_interpreted = None


def _by_blas(*arrays):
    """Does the interpreter compute these, outside of a compiled function?"""
    global _interpreted
    if _core.tracing() is not None or any(x._device for x in arrays):
        return False
    if _interpreted is None:
        _interpreted = _core.device()[0].startswith("interp")
    return _interpreted


def _product(x, y):
    if not x.ndim or not y.ndim:
        raise ShapeError("matmul of arrays without axes: multiply by *", "shape-mismatch")
    dtype = result_type(x, y)
    r = _core.op("matmul", (x.astype(dtype, copy=False), y.astype(dtype, copy=False)))
    return r.astype(dtype, copy=False)


def matmul(x, y, /):
    """The product of matrices, of the last two axes."""
    x, y = asarray(x), asarray(y)
    if _by_blas(x, y) or x._code == BOOL == y._code:
        return _host.call("matmul", use_numpy().matmul, x, y)
    return _product(x, y)


def matmul_operator(x, other, reflected):
    y = other if isinstance(other, Array) else as_operand(other)
    if y is NotImplemented or isinstance(other, (bool, int, float)):
        return NotImplemented
    return matmul(y, x) if reflected else matmul(x, y)


def matvec(x, y, /):
    """The product of matrices with vectors, of the last axes."""
    return matmul(asarray(x), asarray(y)[..., None])[..., 0]


def vecmat(x, y, /):
    """The product of vectors with matrices, of the last axes."""
    x = asarray(x)
    return matmul((_core.op("conj", (x,)) if x._code >= C64 else x)[..., None, :], asarray(y))[..., 0, :]


def vecdot(x, y, /, *, axis=-1):
    """Sums of products along an axis."""
    x, y = asarray(x), asarray(y)
    rank = min(x.ndim, y.ndim)
    if not -rank <= axis < 0:
        if not (0 <= axis < rank and x.ndim == y.ndim):
            raise ValueError("vecdot: the axis must count from the end")
    x, y = moveaxis(x, axis, -1), moveaxis(y, axis, -1)
    if x.shape[-1] != y.shape[-1]:
        raise ShapeError("vecdot: the axes have different lengths", "shape-mismatch")
    dtype = result_type(x, y)
    p = (_core.op("conj", (x,)) if x._code >= C64 else x) * y
    return p.any(axis=-1) if dtype.code == BOOL else p.sum(axis=-1).astype(dtype)


def _pairs(axes, x, y):
    """The axes of x and of y that are summed over, in pairs."""
    if isinstance(axes, int):
        return tuple(range(x.ndim - axes, x.ndim)), tuple(range(axes))
    a, b = axes
    a, b = take_axes(shape_tuple(a), x.ndim), take_axes(shape_tuple(b), y.ndim)
    if len(a) != len(b):
        raise ShapeError("tensordot: as many axes of one array as of the other", "shape-mismatch")
    return a, b


def tensordot(x, y, /, axes=2):
    """Sums of products over pairs of axes: the last axes of x with the first of y, or
    (axes of x, axes of y)."""
    x, y = asarray(x), asarray(y)
    if _by_blas(x, y):
        if not isinstance(axes, int):
            axes = tuple(tuple(a) if isinstance(a, (list, tuple)) else a for a in axes)
        return _host.call("tensordot", use_numpy().tensordot, x, y, axes=axes)
    a, b = _pairs(axes, x, y)
    letters = _letters(x.ndim + y.ndim)
    left, right = letters[: x.ndim], list(letters[x.ndim:])
    for i, j in zip(a, b):
        right[j] = left[i]
    kept = [k for i, k in enumerate(left) if i not in a] + [k for j, k in enumerate(right) if j not in b]
    return einsum(f"{left},{''.join(right)}->{''.join(kept)}", x, y)


def _letters(n):
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    if n > len(letters):
        raise ValueError("too many axes")
    return letters[:n]


def dot(x, y, /):
    """NumPy's dot: the product of matrices, sums over the last axis of x and the second to last of y."""
    x, y = asarray(x), asarray(y)
    if not x.ndim or not y.ndim:
        return x * y
    return matmul(x, y) if y.ndim <= 2 else tensordot(x, y, axes=((-1,), (-2,)))


def vdot(x, y, /):
    """The sum of products of all elements."""
    return vecdot(asarray(x).ravel(), asarray(y).ravel())


def inner(x, y, /):
    """Sums of products over the last axes."""
    x, y = asarray(x), asarray(y)
    return x * y if not x.ndim or not y.ndim else tensordot(x, y, axes=((-1,), (-1,)))


def outer(x, y, /):
    """The products of all pairs."""
    return asarray(x).ravel()[:, None] * asarray(y).ravel()[None, :]


def kron(x, y, /):
    """The Kronecker product: y, times each element of x in its place."""
    x, y = asarray(x), asarray(y)
    rank = max(x.ndim, y.ndim)
    x = reshape(x, (1,) * (rank - x.ndim) + x.shape)
    y = reshape(y, (1,) * (rank - y.ndim) + y.shape)
    r = x[tuple(k for _ in range(rank) for k in (slice(None), None))] * y[
        tuple(k for _ in range(rank) for k in (None, slice(None)))]
    return reshape(r, tuple(n * m for n, m in zip(x.shape, y.shape)))


def cross(x, y, /, *, axis=-1):
    """The vector product, along an axis of length 3."""
    x, y = moveaxis(asarray(x), axis, -1), moveaxis(asarray(y), axis, -1)
    if x.shape[-1] != 3 or y.shape[-1] != 3:
        return _host.call("cross", use_numpy().cross, x, y)
    a, b = [x[..., i] for i in range(3)], [y[..., i] for i in range(3)]
    parts = [a[i] * b[j] - a[j] * b[i] for i, j in ((1, 2), (2, 0), (0, 1))]
    return moveaxis(stack(parts, axis=-1), -1, axis)


def _is_plain(text, n):
    """Does the library have this einsum: letters alone?"""
    operands = text.replace(" ", "").partition("->")[0].split(",")
    return n == len(operands) <= 8 and all(k.isalpha() for k in operands)


def einsum(subscripts, *operands, out=None, optimize=False):
    """Sums of products by the letters of axes.

    >>> fx.einsum("ik,kj->ij", fx.ones((2, 3)), fx.ones((3, 4))).shape
    (2, 4)
    """
    arrays = [asarray(x) for x in operands if not isinstance(subscripts, str) or not isinstance(x, list)]
    dtype = result_type(*arrays) if len(arrays) == len(operands) and arrays else None
    if dtype is None or not isinstance(subscripts, str) or dtype.code == BOOL or not _is_plain(
            subscripts, len(arrays)):
        return into(_host.call("einsum", use_numpy().einsum, subscripts, *operands), out)
    text = subscripts.replace(" ", "")
    r = _core.op("einsum", tuple(a.astype(dtype, copy=False) for a in arrays), text=text)
    return into(r.astype(dtype, copy=False), out)
