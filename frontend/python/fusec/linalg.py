"""Linear algebra by the names of the Array API; NumPy's LAPACK computes it on the host."""

from . import _host
from ._create import asarray, use_numpy
from ._linear import matmul, tensordot, vecdot
from ._shape import matrix_transpose, take_axes

__all__ = [
    "cholesky", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh", "inv", "matmul",
    "matrix_norm", "matrix_power", "matrix_rank", "matrix_transpose", "outer", "pinv", "qr", "slogdet",
    "solve", "svd", "svdvals", "tensordot", "trace", "vecdot", "vector_norm", "lstsq", "norm",
]


def _delegated(name):
    def f(x, /, *args, **kwargs):
        return _host.call(f"linalg.{name}", getattr(use_numpy().linalg, name), asarray(x), *args, **kwargs)

    f.__name__ = name
    f.__doc__ = f"As numpy.linalg.{name}; computed by NumPy on the host."
    return f


for _name in __all__:
    if _name not in globals():
        globals()[_name] = _delegated(_name)


def solve(x1, x2, /):
    """x1 @ result = x2."""
    return _host.call("linalg.solve", use_numpy().linalg.solve, asarray(x1), asarray(x2))


def cross(x1, x2, /, *, axis=-1):
    return _host.call("linalg.cross", use_numpy().linalg.cross, asarray(x1), asarray(x2), axis=axis)


def outer(x1, x2, /):
    return _host.call("linalg.outer", use_numpy().linalg.outer, asarray(x1), asarray(x2))


def trace(x, /, *, offset=0, dtype=None):
    x = asarray(x)
    if dtype is None and x.dtype.kind in "iu":
        dtype = "int64" if x.dtype.kind == "i" else "uint64"
    return _host.call("linalg.trace", use_numpy().linalg.trace, x, offset=offset,
                      dtype=dtype if dtype is None else use_numpy().dtype(dtype))


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

