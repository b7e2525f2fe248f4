# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elementwise functions: one for each row of the table, NumPy's and the Array API's names for them,
and what is written with several."""

import functools
import sys

from . import _core, _dtypes, _host
from ._array import Array
from ._device import beside
from ._create import asarray, astype, use_numpy
from ._dtypes import BOOL, C64, C128, DTYPES, F16, F64, I8, I32, U8, U64
from ._errors import DtypeError
from ._into import into
from ._positions import nonzero
from ._shape import concat, take_axis

_rows = _core.rows
_where = _rows["where"][3]

# NumPy's and the Array API's names for rows.
ALIASES = {
    "absolute": "abs", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh",
    "arctan": "atan", "arctan2": "atan2", "arctanh": "atanh", "bitwise_and": "bit_and",
    "bitwise_invert": "bit_not", "bitwise_left_shift": "shl", "bitwise_not": "bit_not",
    "bitwise_or": "bit_or", "bitwise_right_shift": "shr", "bitwise_xor": "bit_xor",
    "degrees": "rad2deg", "divide": "div", "equal": "eq", "floor_divide": "floordiv", "gamma": "tgamma", "greater": "gt",
    "greater_equal": "ge", "invert": "bit_not", "left_shift": "shl", "less": "lt", "less_equal": "le",
    "multiply": "mul", "negative": "neg", "not_equal": "ne", "pow": "pow", "power": "pow",
    "radians": "deg2rad", "remainder": "mod",
    "right_shift": "shr", "subtract": "sub", "true_divide": "div",
}

__all__ = []


def _public(f):
    __all__.append(f.__name__)
    return f


def _rows_as_functions():
    module = sys.modules[__name__]
    for name, (_, arity, _, f) in _rows.items():
        if arity:
            setattr(module, name, f)
            __all__.append(name)
    for alias, name in ALIASES.items():
        setattr(module, alias, _rows[name][3])
        __all__.append(alias)


_rows_as_functions()


# ---- what the extension leaves to Python ----------------------------------------------------------


def _compare_wide(name, x, y):
    """Signed with unsigned 64-bit integers, exactly: negative numbers are below all others."""
    swapped = x._code == U64
    if swapped:
        x, y = y, x
        name = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}.get(name, name)
    below = x < 0
    r = _rows[name][3](_core.cast(x, U64), y)
    if name in ("lt", "le", "ne"):
        return below | r
    return ~below & r


@beside
def _truth(array, value):
    return _core.full(BOOL, value, array.shape)


def _compare_out_of_range(name, operands):
    """An integer that the dtype of the array does not have: the answer is the same everywhere."""
    x, y = operands
    number_first = not isinstance(x, Array)
    number, array = (x, y) if number_first else (y, x)
    above = number > 0
    if number_first:
        name = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}.get(name, name)
    answer = {"eq": False, "ne": True, "lt": above, "le": above, "gt": not above, "ge": not above}
    return _truth(array, answer[name])


def with_keywords(f, operands, *, out=None, where=True, dtype=None, casting="same_kind"):
    """f of operands with the keywords of NumPy's ufuncs. `dtype`: of the result, and what operands are cast to for it."""
    r = f(*operands)
    if dtype is not None:
        code = _dtypes.as_code(dtype)
        has = lambda r: all(k._code == code for k in (r if isinstance(r, tuple) else (r,)))
        if not has(r):
            for k in operands:
                if isinstance(k, Array) and not _dtypes.can_cast(k, dtype, casting):
                    raise TypeError(f"Cannot cast an operand from {k.dtype.name} to {DTYPES[code].name} according to the rule "
                                    f"{casting!r}")
            r = f(*(astype(asarray(k), dtype, copy=False) for k in operands))
        if not has(r):
            raise TypeError(f"there is no such operation with a result of {DTYPES[code].name}")
    if isinstance(r, tuple):
        outs = (None,) * len(r) if out is None else out
        if where is not True:
            raise TypeError("where= of a function of several results")
        return tuple(into(a, o, casting) for a, o in zip(r, outs))
    if isinstance(out, tuple):
        (out,) = out
    if where is not True:  # places that are not written to hold what out has
        r = _where(where, r, _core.cast(asarray(0), r._code) if out is None else asarray(out))
    return into(r, out, casting)


def mixed(name, *operands, **keywords):
    """Operations whose dtypes the library does not have, and keywords."""
    if keywords:
        operands = [k if isinstance(k, (bool, int, float, complex)) else asarray(k) for k in operands]
        return with_keywords(_rows[name][3], operands, **keywords)
    if name in ("eq", "ne", "lt", "le", "gt", "ge"):
        if all(isinstance(k, Array) for k in operands):
            return _compare_wide(name, *operands)
        return _compare_out_of_range(name, operands)
    if name in ("abs", "floor", "ceil", "trunc", "round"):  # of bools: as they are
        return asarray(operands[0])
    if name == "fmin":
        return _rows["minimum"][3](*operands)
    if name == "fmax":
        return _rows["maximum"][3](*operands)
    if name == "clip":
        x, low, high = operands
        return _rows["minimum"][3](_rows["maximum"][3](x, low), high)
    raise DtypeError(f"{name} of bools", "dtype-mismatch")


# ---- names that are no rows -----------------------------------------------------------------------


def _ufunc(f):
    """A function of the package that takes the keywords of NumPy's ufuncs: out, where, dtype, casting."""

    @functools.wraps(f)
    def g(*operands, **keywords):
        return with_keywords(f, operands, **keywords) if keywords else f(*operands)

    g.is_ufunc = True
    return _public(g)


@_public
def where(condition, x=None, y=None, /):
    """x where the condition is true, else y.

    >>> fx.where(fx.asarray([True, False]), 1, 2).tolist()
    [1, 2]
    """
    if x is None and y is None:
        return nonzero(condition)
    return _where(condition, x, y)


@_public
def clip(x, /, min=None, max=None, out=None, *, a_min=None, a_max=None):
    """The elements, bounded."""
    x = asarray(x)
    low, high = a_min if min is None else min, a_max if max is None else max
    for bound, row in ((low, "maximum"), (high, "minimum")):
        if bound is None:
            continue
        if type(bound) is int and DTYPES[x._code].kind in "iu":
            info = _dtypes.iinfo(x.dtype)
            if (bound < info.min and row == "maximum") or (bound > info.max and row == "minimum"):
                continue
        x = _rows[row][3](x, bound)
    return into(x, out)


@_public
def round(x, /, decimals=0, out=None):
    """The nearest whole number, half to even; of 10**-decimals."""
    x = asarray(x)
    if x._code >= C64:
        return into(_core.op("complex", tuple(round(_core.op(k, (x,)), decimals) for k in ("real", "imag"))), out)
    if decimals == 0 or x._code < F16 and decimals > 0:
        r = _rows["round"][3](x)
    elif x._code < F16:
        r = astype(round(astype(x, DTYPES[F64]), decimals), x.dtype)
    else:
        scale = 10.0 ** (decimals if decimals > 0 else -decimals)
        r = _rows["round"][3](x * scale) / scale if decimals > 0 else _rows["round"][3](x / scale) * scale
    return into(r, out)


around = round
__all__.append("around")


def _float_of(x):
    """Integers in the float dtype that NumPy's functions give for them."""
    x = asarray(x)
    return x if x._code >= F16 else _core.cast(x, _core.promote(x._code, F16))


@_ufunc
def rint(x, /):
    """The nearest whole number, half to even, as a float."""
    return round(_float_of(x))


fix = _rows["trunc"][3]
__all__.append("fix")


@_ufunc
def divmod(x, y, /):
    """(x // y, x % y)"""
    return _rows["floordiv"][3](x, y), _rows["mod"][3](x, y)


# Rows whose dtypes NumPy has otherwise.


@_ufunc
def sign(x, /):
    """-1, 0 or 1; of complex numbers x / abs(x)."""
    x = asarray(x)
    if x._code < C64:
        return _rows["sign"][3](x)
    return _where(x == 0, 0, x / _rows["abs"][3](x))


@_ufunc
def reciprocal(x, /):
    """1 / x; of integers the whole part."""
    x = asarray(x)
    if x._code >= F16:
        return _rows["reciprocal"][3](x)
    x = _core.cast(x, I8) if x._code == BOOL else x
    return _where((x == 1) | (x == -1), x, 0)


@_ufunc
def fabs(x, /):
    """The absolute value as a float; of real numbers."""
    x = _float_of(x)
    if x._code >= C64:
        raise TypeError("fabs of complex numbers: take abs")
    return _rows["abs"][3](x)


@_ufunc
def float_power(x, y, /):
    """x to the power y in float64; of complex numbers in complex128."""
    x, y = asarray(x), asarray(y)
    if x._code >= C64 or y._code >= C64:
        return _rows["pow"][3](astype(x, DTYPES[C128], copy=False), y)
    return _rows["float_power"][3](astype(x, DTYPES[F64], copy=False), y)


@_ufunc
def sinc(x, /):
    """sin(pi x) / (pi x), and 1 at 0."""
    x = asarray(x)
    return _rows["sinc"][3](x if x._code >= F16 else _core.cast(x, F64))


@_ufunc
def bitwise_count(x, /):
    """The number of ones in the absolute value, as uint8."""
    return _core.cast(_rows["bitwise_count"][3](x), U8)


@_ufunc
def ldexp(x, y, /):
    """x * 2**y, rounded once, in the float dtype of x."""
    x, y = _float_of(x), asarray(y)
    return _rows["ldexp"][3](x, y if y._code >= F16 else _core.cast(y, x._code))


@_ufunc
def frexp(x, /):
    """(m, e) with x = m * 2**e: |m| in [0.5, 1), e of int32."""
    x = _float_of(x)
    return _rows["mantissa"][3](x), _core.cast(_rows["exponent"][3](x), I32)


@_ufunc
def modf(x, /):
    """Fraction and whole part, both with the sign of x."""
    x = _float_of(x)
    whole = _rows["trunc"][3](x)
    part = _where(_rows["isinf"][3](x), 0.0, x - whole)
    return _rows["copysign"][3](part, x), whole


@_public
def nan_to_num(x, copy=True, nan=0.0, posinf=None, neginf=None):
    x = asarray(x)
    if x._code < F16:
        return x
    info = _dtypes.finfo(x.dtype)
    x = _where(x != x, nan, x)
    x = _where(x == float("inf"), info.max if posinf is None else posinf, x)
    return _where(x == float("-inf"), info.min if neginf is None else neginf, x)


@_public
@beside
def isclose(x, y, rtol=1e-5, atol=1e-8, equal_nan=False):
    x, y = asarray(x), asarray(y)
    y = y if y._code >= F16 else _core.cast(y, F64)  # differences of unsigned numbers would wrap around
    near = _rows["le"][3](abs(x - y), atol + rtol * abs(y)) & _rows["isfinite"][3](y)
    r = near | (x == y)
    return r | ((x != x) & (y != y)) if equal_nan else r


@_public
def allclose(x, y, rtol=1e-5, atol=1e-8, equal_nan=False):
    return bool(isclose(x, y, rtol, atol, equal_nan).all())


@_public
def array_equal(x, y, equal_nan=False):
    x, y = asarray(x), asarray(y)
    if x.shape != y.shape:
        return False
    r = x == y
    return bool((r | ((x != x) & (y != y)) if equal_nan else r).all())


def _ordered(name, x):
    x = asarray(x)
    if x._code >= C64:
        raise TypeError(f"{name} of complex numbers: take the real or the imaginary part")
    return x


@_public
def isneginf(x, /):
    return _rows["eq"][3](_ordered("isneginf", x), float("-inf"))


@_public
def isposinf(x, /):
    return _rows["eq"][3](_ordered("isposinf", x), float("inf"))


@_public
def isreal(x, /):
    """Is the imaginary part 0?"""
    return imag(x) == 0


@_public
def iscomplex(x, /):
    """Is the imaginary part another than 0?"""
    return imag(x) != 0


@_public
def real(x, /):
    """The real part of complex numbers; other numbers as they are."""
    x = asarray(x)
    return _core.op("real", (x,)) if x._code >= C64 else x


@_public
@beside
def imag(x, /):
    """The imaginary part; zeros of other numbers."""
    x = asarray(x)
    return _core.op("imag", (x,)) if x._code >= C64 else _core.full(x._code, False if x._code == BOOL else 0,
                                                                   x.shape)


@_ufunc
def conj(x, /):
    """The numbers with the opposite imaginary part."""
    x = asarray(x)
    return _core.op("conj", (x,)) if x._code >= C64 else x


conjugate = conj
__all__.append("conjugate")


@_public
def angle(x, /):
    """The angle of complex numbers, in [-pi, pi]."""
    x = asarray(x)
    return _core.op("angle", (_core.cast(x, F64) if x._code == BOOL else _float_of(x),))


@_public
def diff(x, /, n=1, axis=-1, prepend=None, append=None):
    """Differences of neighbours along an axis."""
    x = asarray(x)
    axis = take_axis(axis, x.ndim)
    parts = [k for k in (prepend, x, append) if k is not None]
    if len(parts) > 1:
        x = concat(parts, axis=axis)
    for _ in range(n):
        key = (slice(None),) * axis
        a, b = x[key + (slice(1, None),)], x[key + (slice(None, -1),)]
        x = a != b if x._code == BOOL else a - b
    return x


@_ufunc
def nextafter(x, y, /):
    """The float next to x on the way to y."""
    numbers = any(isinstance(k, (bool, int, float)) for k in (x, y))  # with which whole numbers are float64
    wide = lambda k: _core.cast(k, F64) if numbers and k._code < F16 else _float_of(k)
    dtype = _dtypes.result_type(*(wide(asarray(k)) if not isinstance(k, (bool, int, float)) else float(k) for k in (x, y)))
    x, y = (astype(asarray(k), dtype, copy=False) for k in (x, y))
    return _core.op("nextafter", (x, y))


@_ufunc
def spacing(x, /):
    """The distance to the next float away from 0."""
    return _core.op("spacing", (_float_of(x),))


@_public
def i0(x, /):
    """The modified Bessel function of order 0; computed by NumPy on the host."""
    return _host.call("i0", use_numpy().i0, asarray(x))
