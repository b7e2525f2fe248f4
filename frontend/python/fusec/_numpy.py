# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""NumPy's functions that have no kernels: NumPy computes them on the host (_host.py); a few are written with others and
fuse."""

from . import _host
from ._array import Array
from ._create import asarray, use_numpy
from ._dtypes import DTYPES
from ._errors import DtypeError
from ._reduce import mean, sum
from ._shape import moveaxis

# Named in docs/python.md, too.
BY_NUMPY = (
    "apply_along_axis apply_over_axes array2string array_repr array_str block choose "
    "corrcoef delete diag_indices frombuffer fromfunction fromiter histogram2d "
    "histogramdd insert intersect1d ix_ packbits "
    "piecewise polyfit resize setdiff1d setxor1d tril_indices trim_zeros triu_indices union1d unique "
    "unpackbits vander").split()

__all__ = [*BY_NUMPY, "cov", "iscomplexobj", "isrealobj", "isscalar",
           "polyval", "trapezoid"]


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
