# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Linear algebra by the names of the Array API; NumPy's LAPACK computes it on the host."""

from collections import namedtuple

from . import _host
from ._create import asarray, use_numpy
from ._dtypes import C64, C128, DTYPES, F16, F32, F64
from ._linear import matmul, outer, tensordot, vecdot
from ._reduce import norm
from ._shape import matrix_transpose, take_axes

__all__ = [
    "cholesky", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh", "inv", "matmul",
    "matrix_norm", "matrix_power", "matrix_rank", "matrix_transpose", "outer", "pinv", "qr", "slogdet",
    "solve", "svd", "svdvals", "tensordot", "trace", "vecdot", "vector_norm", "lstsq", "norm",
    "cond", "multi_dot",
]


EigResult = namedtuple("EigResult", "eigenvalues eigenvectors")


def _np(name, *args, **kwargs):
    return _host.call(f"linalg.{name}", getattr(use_numpy().linalg, name), *args, **kwargs)


def _of_a_matrix(name):
    def f(x, /):
        return _np(name, asarray(x))

    f.__name__ = f.__qualname__ = name
    f.__doc__ = f"As numpy.linalg.{name}; computed by NumPy on the host."
    return f


def _complex(x):
    return x if x._code >= C64 else x.astype(DTYPES[C64 if x._code == F32 else C128])


def eig(x, /):
    """(eigenvalues, eigenvectors), complex also where all are real."""
    values, vectors = _np("eig", asarray(x))
    return EigResult(_complex(values), _complex(vectors))


def eigvals(x, /):
    """The eigenvalues, complex also where all are real."""
    return _complex(_np("eigvals", asarray(x)))


for _name in ("det", "eigh", "eigvalsh", "inv", "slogdet", "svdvals"):
    globals()[_name] = _of_a_matrix(_name)


def cholesky(x, /, *, upper=False):
    """The lower (or upper) triangle whose product with its transpose is x."""
    return _np("cholesky", asarray(x), upper=upper)


def matrix_norm(x, /, *, keepdims=False, ord="fro"):
    """A norm of each matrix: by its elements, or by its singular values."""
    return _np("matrix_norm", asarray(x), keepdims=keepdims, ord=ord)


def matrix_power(x, n, /):
    """x @ x @ ..., n times; the inverse for negative n."""
    return _np("matrix_power", asarray(x), n)


def matrix_rank(x, /, *, rtol=None):
    """How many singular values are above rtol times the largest."""
    return _np("matrix_rank", asarray(x), rtol=rtol)


def pinv(x, /, *, rtol=None):
    """The pseudo-inverse; singular values up to rtol times the largest count as 0."""
    x = asarray(x)
    return _np("pinv", x if x._code >= F16 else x.astype(DTYPES[F64]), rtol=rtol)


def qr(x, /, *, mode="reduced"):
    """(Q, R): orthonormal columns, and a triangle."""
    return _np("qr", asarray(x), mode=mode)


def svd(x, /, full_matrices=True, compute_uv=True):
    """(U, S, Vh) with x = U * S @ Vh; compute_uv=False: S alone."""
    if not compute_uv:
        return svdvals(x)  # noqa: F821
    return _np("svd", asarray(x), full_matrices=full_matrices)


def cond(x, /, p=None):
    """The condition number of each matrix."""
    return _np("cond", asarray(x), p)


def multi_dot(arrays):
    """The product of several matrices, in the cheapest order."""
    return _np("multi_dot", [asarray(x) for x in arrays])


def diagonal(x, /, *, offset=0):
    """The diagonal of each matrix."""
    return _np("diagonal", asarray(x), offset=offset)


def solve(x1, x2, /):
    """x1 @ result = x2."""
    return _np("solve", asarray(x1), asarray(x2))


def lstsq(x1, x2, /, rcond=None):
    """The x with the least squares of x1 @ x - x2, and what NumPy gives with it."""
    return _np("lstsq", asarray(x1), asarray(x2), rcond)


def cross(x1, x2, /, *, axis=-1):
    """The vector product, of vectors of 3."""
    return _np("cross", asarray(x1), asarray(x2), axis=axis)


def trace(x, /, *, offset=0, dtype=None):
    """The sum of the diagonal of each matrix."""
    x = asarray(x)
    if dtype is None and x.dtype.kind in "iu":
        dtype = "int64" if x.dtype.kind == "i" else "uint64"
    return _np("trace", x, offset=offset, dtype=dtype if dtype is None else use_numpy().dtype(dtype))


def vector_norm(x, /, *, axis=None, keepdims=False, ord=2):
    """sqrt of the sum of squares, or another norm, over all axes or those given."""
    x = asarray(x)
    axes = take_axes(axis, x.ndim)
    a = abs(x)
    a = a if a.dtype.kind == "f" else a * 1.0
    if ord == 2:
        return (a * a).sum(axis=axes, keepdims=keepdims) ** 0.5 if axes or not x.ndim else a
    if ord == 1:
        return a.sum(axis=axes, keepdims=keepdims)
    if ord == float("inf"):
        return a.max(axis=axes, keepdims=keepdims)
    if ord == float("-inf"):
        return a.min(axis=axes, keepdims=keepdims)
    if ord == 0:
        return (a != 0).sum(axis=axes, keepdims=keepdims).astype(a.dtype)
    return (a**ord).sum(axis=axes, keepdims=keepdims) ** (1.0 / ord)

