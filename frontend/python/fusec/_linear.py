"""Products of matrices: of values NumPy's BLAS computes them on the host; inside a compiled function
they are the library's contractions, and what is around them fuses."""

from . import _core, _host
from ._array import Array
from ._create import as_operand, asarray, use_numpy
from ._dtypes import BOOL, result_type
from ._errors import ShapeError
from ._shape import moveaxis

__all__ = ["dot", "inner", "matmul", "outer", "tensordot", "vdot", "vecdot", "kron", "einsum", "cross"]


def _traced_matmul(x, y):
    if not x.ndim or not y.ndim:
        raise ShapeError("matmul of arrays without axes: multiply by *", "shape-mismatch")
    dtype = result_type(x, y)
    r = _core.op("matmul", (x.astype(dtype, copy=False), y.astype(dtype, copy=False)))
    return r.astype(dtype, copy=False)


def matmul(x, y, /):
    """The product of matrices, of the last two axes."""
    x, y = asarray(x), asarray(y)
    if _core.tracing() is not None:
        return _traced_matmul(x, y)
    return _host.call("matmul", use_numpy().matmul, x, y)


def matmul_operator(x, other, reflected):
    y = other if isinstance(other, Array) else as_operand(other)
    if y is NotImplemented or isinstance(other, (bool, int, float)):
        return NotImplemented
    return matmul(y, x) if reflected else matmul(x, y)


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
    p = x * y
    return p.any(axis=-1) if dtype.code == BOOL else p.sum(axis=-1).astype(dtype)


def tensordot(x, y, /, *, axes=2):
    """Sums of products over pairs of axes."""
    x, y = asarray(x), asarray(y)
    if not isinstance(axes, int):
        axes = tuple(tuple(a) if isinstance(a, (list, tuple)) else a for a in axes)
    return _host.call("tensordot", use_numpy().tensordot, x, y, axes=axes)


def dot(x, y, /):
    x, y = asarray(x), asarray(y)
    if not x.ndim or not y.ndim:
        return x * y
    if y.ndim <= 2:
        return matmul(x, y)
    return _host.call("dot", use_numpy().dot, x, y)


def vdot(x, y, /):
    return vecdot(asarray(x).ravel(), asarray(y).ravel())


def inner(x, y, /):
    return _host.call("inner", use_numpy().inner, asarray(x), asarray(y))


def outer(x, y, /):
    """The products of all pairs."""
    return asarray(x).ravel()[:, None] * asarray(y).ravel()[None, :]


def kron(x, y, /):
    return _host.call("kron", use_numpy().kron, asarray(x), asarray(y))


def cross(x, y, /, *, axis=-1):
    return _host.call("cross", use_numpy().cross, asarray(x), asarray(y), axis=axis)


def einsum(subscripts, *operands):
    return _host.call("einsum", use_numpy().einsum, subscripts, *map(asarray, operands))
