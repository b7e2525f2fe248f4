# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""NumPy's functions that have no kernels: NumPy computes them on the host (_host.py), and those that write to an
array give it a new value; a few are written with others and fuse."""

from . import _core, _host
from ._array import Array
from ._create import asarray, use_numpy
from ._dtypes import DTYPES
from ._errors import DtypeError
from ._index import check_own
from ._reduce import cumprod, cumsum, mean, sum
from ._shape import broadcast_to, moveaxis

# Named in docs/python.md, too.
BY_NUMPY = (
    "apply_along_axis apply_over_axes argpartition argwhere array2string array_repr array_str bincount block choose compress "
    "convolve corrcoef correlate delete diag_indices ediff1d extract flatnonzero frombuffer fromfunction fromiter geomspace gradient histogram histogram2d "
    "histogramdd insert interp intersect1d ix_ lexsort logspace nanmedian nanpercentile nanquantile packbits partition "
    "piecewise polyfit ravel_multi_index resize setdiff1d setxor1d tril_indices trim_zeros triu_indices union1d unique "
    "unpackbits unravel_index unwrap vander").split()
_WRITING = ("fill_diagonal", "place", "put", "put_along_axis")  # to their first argument

__all__ = [*BY_NUMPY, *_WRITING, "copyto", "putmask", "cov", "iscomplexobj", "isrealobj", "isscalar", "nancumprod", "nancumsum",
           "polyval", "trapezoid"]


def _delegated(name):
    def f(*args, **kwargs):
        return _host.call(name, getattr(use_numpy(), name), *args, **kwargs)

    f.__name__ = f.__qualname__ = name
    f.__doc__ = f"As NumPy's {name}; computed by NumPy on the host."
    return f


def _written(x, name, *args, **kwargs):
    """What NumPy's function that writes makes of the elements of x."""
    if not isinstance(x, Array):
        raise TypeError(f"{name}() writes to {type(x).__name__}: use NumPy's")
    check_own(x)

    def write(a, *rest, **more):
        a = a.copy()
        getattr(use_numpy(), name)(a, *rest, **more)
        return a

    _core.replace(x, _host.call(name, write, x, *args, **kwargs))


def _writing(name):
    def f(x, *args, **kwargs):
        _written(x, name, *args, **kwargs)

    f.__name__ = f.__qualname__ = name
    f.__doc__ = f"As NumPy's {name}, which NumPy computes on the host; the array gets a new value."
    return f


for _names, _make in ((BY_NUMPY, _delegated), (_WRITING, _writing)):
    for _name in _names:
        globals()[_name] = _make(_name)


def copyto(dst, src, casting="same_kind", where=True):
    """Gives the elements of dst, those at `where`, the values of src."""
    from ._into import _cast

    if not isinstance(dst, Array):
        raise TypeError(f"copyto() writes to {type(dst).__name__}: use NumPy's")
    check_own(dst)
    v = asarray(src, dst.dtype) if isinstance(src, (bool, int, float)) else _cast(asarray(src), dst._code, casting)
    v = broadcast_to(v, dst.shape)
    _core.replace(dst, v if where is True else _core.rows["where"][3](where, v, dst))


def putmask(x, mask, values):
    """Gives the elements of x at the mask the values at these places."""
    if isinstance(values, (bool, int, float)) or asarray(values).shape == x.shape:
        copyto(x, values, "unsafe", mask)
    else:
        _written(x, "putmask", mask, values)


def isscalar(x):
    """Is it a number, not an array?"""
    return not isinstance(x, Array) and use_numpy().isscalar(x)


def iscomplexobj(x):
    """Is its dtype complex?"""
    return DTYPES[asarray(x)._code].kind == "c"


def isrealobj(x):
    """Is its dtype not complex?"""
    return not iscomplexobj(x)


def _without_nans(x, neutral):
    x = asarray(x)
    return _core.rows["where"][3](x != x, neutral, x) if DTYPES[x._code].kind in "fc" else x


def nancumsum(x, axis=None, dtype=None, out=None):
    """Sums of the elements so far, without nans."""
    return cumsum(_without_nans(x, 0), axis, dtype, out)


def nancumprod(x, axis=None, dtype=None, out=None):
    """Products of the elements so far, without nans."""
    return cumprod(_without_nans(x, 1), axis, dtype, out)


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
