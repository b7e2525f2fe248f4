# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""NumPy's functions on our arrays: np.sin(x) is fx.sin(x). What fusec has not is computed by NumPy
on the memory of the arrays, without a copy, and the result is an fx.Array."""

import sys

from . import _host
from ._create import asarray
from ._index import update_at
from ._functions import with_keywords
from ._into import into

_UFUNCS = {
    "add": "add", "subtract": "sub", "multiply": "mul", "divide": "div", "true_divide": "div",
    "floor_divide": "floordiv", "remainder": "mod", "fmod": "fmod", "negative": "neg",
    "positive": "positive", "power": "pow", "float_power": "float_power", "absolute": "abs",
    "fabs": "fabs", "sign": "sign", "conjugate": "conj", "exp": "exp", "exp2": "exp2", "log": "log",
    "log2": "log2", "log10": "log10", "expm1": "expm1", "log1p": "log1p", "sqrt": "sqrt",
    "square": "square", "cbrt": "cbrt", "reciprocal": "reciprocal", "sin": "sin", "cos": "cos",
    "tan": "tan", "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arctan2": "atan2",
    "hypot": "hypot", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "arcsinh": "asinh",
    "arccosh": "acosh", "arctanh": "atanh", "degrees": "degrees", "radians": "radians",
    "deg2rad": "deg2rad", "rad2deg": "rad2deg", "bitwise_and": "bit_and", "bitwise_or": "bit_or",
    "bitwise_xor": "bit_xor", "invert": "bit_not", "left_shift": "shl", "right_shift": "shr",
    "greater": "gt", "greater_equal": "ge", "less": "lt", "less_equal": "le", "equal": "eq",
    "not_equal": "ne", "logical_and": "logical_and", "logical_or": "logical_or",
    "logical_xor": "logical_xor", "logical_not": "logical_not", "maximum": "maximum",
    "minimum": "minimum", "fmax": "fmax", "fmin": "fmin", "isfinite": "isfinite", "isinf": "isinf",
    "isnan": "isnan", "signbit": "signbit", "copysign": "copysign", "floor": "floor", "ceil": "ceil",
    "trunc": "trunc", "rint": "rint", "heaviside": "heaviside", "logaddexp": "logaddexp",
    "logaddexp2": "logaddexp2", "matmul": "matmul", "modf": "modf", "divmod": "divmod",
    "nextafter": "nextafter", "gcd": "gcd", "lcm": "lcm", "bitwise_count": "bitwise_count",
    "ldexp": "ldexp", "frexp": "frexp", "spacing": "spacing", "vecdot": "vecdot", "matvec": "matvec", "vecmat": "vecmat",
}
_REDUCTIONS = {"add": "sum", "multiply": "prod", "minimum": "min", "maximum": "max",
               "logical_and": "all", "logical_or": "any"}

_ACCUMULATIONS = {"add": "cumsum", "multiply": "cumprod", "minimum": "cummin", "maximum": "cummax"}


def _fx():
    return sys.modules["fusec"]


def _name(ufunc):
    np = sys.modules["numpy"]
    name = ufunc.__name__
    return name if getattr(np, name, None) is ufunc else None


def _by_numpy(ufunc, method, args, kwargs):
    out = kwargs.pop("out", None)
    r = _host.call(ufunc.__name__, getattr(ufunc, method), *args, **kwargs)
    if out is None:
        return r
    if len(out) == 1:
        return into(r, out)
    return tuple(a if o is None else into(a, o) for a, o in zip(r, out))


def _call(ufunc, name, args, kwargs):
    out, where = kwargs.pop("out", None), kwargs.pop("where", True)
    dtype, casting = kwargs.pop("dtype", None), kwargs.pop("casting", "same_kind")
    if kwargs or name not in _UFUNCS:
        if dtype is not None:
            kwargs["dtype"] = dtype
        return _by_numpy(ufunc, "__call__", args, {**kwargs, **({} if out is None else {"out": out}),
                                                   **({} if where is True else {"where": where})})
    return with_keywords(getattr(_fx(), _UFUNCS[name]), args, out=out, where=where, dtype=dtype, casting=casting)


def array_ufunc(x, ufunc, method, *args, **kwargs):
    name = _name(ufunc)
    if any(isinstance(a, (str, bytes, type(None))) for a in args):
        return NotImplemented
    if method == "__call__":
        return _call(ufunc, name, args, kwargs)
    if method == "reduce" and name in _REDUCTIONS and set(kwargs) <= {"axis", "dtype", "out",
                                                                      "keepdims"}:
        kwargs.setdefault("axis", 0)
        if kwargs.get("dtype", 0) is None or name not in ("add", "multiply"):
            kwargs.pop("dtype", None)
        return getattr(_fx(), _REDUCTIONS[name])(*args, **kwargs)
    if method == "accumulate" and name in _ACCUMULATIONS and len(args) == 1 and set(kwargs) <= {"axis"}:
        return getattr(_fx(), _ACCUMULATIONS[name])(*args, axis=kwargs.get("axis", 0))
    if method == "at" and args[0] is x and not kwargs:
        return update_at(x, ufunc, ufunc.__name__ if name else "", *args[1:])
    return _by_numpy(ufunc, method, args, kwargs)


def array_function(x, func, types, args, kwargs):
    where = {"numpy": "", "numpy.lib.stride_tricks": "", "numpy.linalg": "linalg", "numpy.fft": "fft"}.get(func.__module__)
    if where is not None:
        space = getattr(_fx(), where) if where else _fx()
        f = getattr(space, func.__name__, None)
        if callable(f):
            try:
                return f(*args, **kwargs)
            except TypeError as e:
                if "argument" not in str(e):
                    raise
    return _host.call(func.__name__, _implementation(func), *args, **kwargs)


def _implementation(func):
    return getattr(func, "_implementation", func)

