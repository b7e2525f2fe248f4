# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Element types. They compare equal to NumPy's of the same name, but NumPy is not needed."""

import sys

from . import _core

__all__ = [
    "DType", "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "bfloat16", "float32", "float64", "complex64", "complex128", "can_cast", "finfo", "iinfo", "isdtype",
    "result_type", "promote_types",
]

_bool, _int, _float, _complex = bool, int, float, complex

NAMES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
         "float16", "bfloat16", "float32", "float64", "complex64", "complex128")
SIZES = (1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8, 8, 16)
KINDS = "biiiiuuuuffffcc"
BOOL, I8, I32, I64, U8, U32, U64, F16, BF16, F32, F64, C64, C128 = 0, 1, 3, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14


class DType:
    """The type of the elements of an array: `fx.float32`.

    >>> fx.asarray([1, 2]).dtype == fx.int64
    True
    """

    __slots__ = ("code", "name", "itemsize", "kind", "_hash")

    def __init__(self, code):
        self.code, self.name, self._hash = code, NAMES[code], None
        self.itemsize, self.kind = SIZES[code], KINDS[code]

    def __repr__(self):
        return f"fusec.{self.name}"

    def __str__(self):
        return self.name

    def __hash__(self):
        """That of NumPy's type where NumPy is there when it is first asked for: it looks dtypes up by it
        (numpy.isdtype). It stays what it was."""
        if self._hash is None:
            np = sys.modules.get("numpy")
            self._hash = hash(getattr(np, "bool" if self.code == BOOL else self.name, self.name))
        return self._hash

    def __eq__(self, other):
        if isinstance(other, DType):
            return self is other
        try:
            return as_code(other) == self.code
        except TypeError:
            return NotImplemented

    def __reduce__(self):
        return _of_code, (self.code,)

    def __call__(self, value=0):
        """A zero-dimensional array of this dtype, as NumPy's types make scalars."""
        from ._create import asarray

        return asarray(value, dtype=self)

    @property
    def dtype(self):
        """NumPy's dtype of this name: what numpy.dtype(fx.float32) asks for."""
        return numpy_dtype(self.code)

    @property
    def typestr(self):
        """The name in NumPy's array interface: "<f4"."""
        return f"{'|' if self.itemsize == 1 else '<'}{self.kind}{self.itemsize}"

    @property
    def type(self):
        return numpy_dtype(self.code).type

    @property
    def num(self):
        return numpy_dtype(self.code).num

    @property
    def char(self):
        return numpy_dtype(self.code).char

    @property
    def str(self):
        return numpy_dtype(self.code).str


def _of_code(code):
    return DTYPES[code]


DTYPES = tuple(DType(code) for code in range(len(NAMES)))
(_b, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
 float64, complex64, complex128) = DTYPES
_BY_NAME = {name: code for code, name in enumerate(NAMES)}
_BY_NAME.update({"?": 0, "f2": F16, "f4": F32, "f8": F64, "e": F16, "f": F32, "d": F64, "float": F64,
                 "double": F64, "single": F32, "half": F16, "int": I64, "i1": 1, "i2": 2, "i4": 3,
                 "i8": 4, "u1": 5, "u2": 6, "u4": 7, "u8": 8, "f32": F32, "f64": F64, "f16": F16,
                 "bf16": BF16, "c8": C64, "c16": C128, "c64": C64, "c128": C128, "F": C64, "D": C128,
                 "complex": C128, "i64": 4, "i32": 3, "i16": 2, "u64": 8, "u32": 7, "u16": 6})
_BY_TYPE = {_bool: BOOL, _int: I64, _float: F64, _complex: C128}


def as_code(dtype):
    """The number of a dtype given as ours, NumPy's, a Python type or a name."""
    if isinstance(dtype, DType):
        return dtype.code
    if isinstance(dtype, _int) and not isinstance(dtype, _bool):
        raise TypeError(f"{dtype!r} is not a dtype")
    if isinstance(dtype, type) and dtype in _BY_TYPE:
        return _BY_TYPE[dtype]
    if isinstance(dtype, str) and dtype in _BY_NAME:
        return _BY_NAME[dtype]
    np = sys.modules.get("numpy")
    name = None
    if np is not None and dtype is not None:
        try:
            d = np.dtype(dtype)
            name = d.name if d.isnative or d.itemsize == 1 else None
        except Exception:
            name = None
    if name is None or name not in _BY_NAME:
        raise TypeError(f"{dtype!r} is no dtype that fusec has: {', '.join(NAMES)}")
    return _BY_NAME[name]


def by_typestr(text):
    """The dtype by its name in an array interface."""
    for d in DTYPES:
        if d.code != BF16 and d.typestr == text:
            return d
    raise TypeError(f"{text!r} is no dtype that fusec has")


_numpy_dtypes = {}


def numpy_dtype(code):
    """NumPy's dtype; bfloat16 by ml_dtypes if that is installed."""
    if code not in _numpy_dtypes:
        import numpy as np

        if code == BF16:
            try:
                import ml_dtypes
            except ImportError:
                raise TypeError("NumPy has no bfloat16: install ml_dtypes, or use "
                                "x.astype(fx.float32)") from None
            _numpy_dtypes[code] = np.dtype(ml_dtypes.bfloat16)
        else:
            _numpy_dtypes[code] = np.dtype(NAMES[code])
    return _numpy_dtypes[code]


# ---- functions of the standard ------------------------------------------------------------------


def _operand_code(x):
    """(dtype, weak kind) of an operand of result_type."""
    if isinstance(x, _core.Array):
        return x._code, ""
    if isinstance(x, _bool):
        return None, "b"
    if type(x) is _int:
        return None, "i"
    if type(x) is _float:
        return None, "f"
    if type(x) is _complex:
        return None, "c"
    if hasattr(x, "dtype") and not isinstance(x, (type, DType)):
        return as_code(x.dtype), ""
    return as_code(x), ""


def result_code(codes, weak=""):
    code = None
    for c in codes:
        code = c if code is None else _core.promote(code, c)
    if "c" in weak and (code is None or code <= F64):
        return C64 if code in (F16, BF16, F32) else C128
    if "f" in weak and (code is None or code < F16):
        return F64
    if "i" in weak and code in (None, BOOL):
        return I64
    return BOOL if code is None else code


def result_type(*arrays_and_dtypes):
    """The dtype that an operation on these computes in; Python numbers have none of their own.

    >>> fx.result_type(fx.int32, fx.float32)
    fusec.float64
    """
    if not arrays_and_dtypes:
        raise ValueError("at least one array or dtype is required")
    pairs = [_operand_code(x) for x in arrays_and_dtypes]
    codes = [c for c, _ in pairs if c is not None]
    return DTYPES[result_code(codes, "".join(k for _, k in pairs))]


def promote_types(a, b):
    """The dtype that both convert to."""
    return DTYPES[_core.promote(as_code(a), as_code(b))]


def can_cast(from_, to, casting="safe"):
    """Does every value of `from_` (an array or a dtype) have its place in `to`?"""
    if casting not in ("safe", "no", "equiv", "same_kind", "unsafe"):
        raise ValueError(f"casting {casting!r} is not known")
    a = from_._code if isinstance(from_, _core.Array) else as_code(from_)
    b = as_code(to)
    if casting in ("no", "equiv"):
        return a == b
    if casting == "unsafe" or _core.promote(a, b) == b:
        return True
    return casting == "same_kind" and "biufc".index(KINDS[a]) <= "biufc".index(KINDS[b])


_KIND_NAMES = {
    "bool": "b", "signed integer": "i", "unsigned integer": "u", "integral": "iu",
    "real floating": "f", "complex floating": "c", "numeric": "iufc",
}


def isdtype(dtype, kind):
    """Is the dtype of this kind: a dtype, a name such as "real floating", or a tuple of them."""
    if isinstance(kind, tuple):
        return any(isdtype(dtype, k) for k in kind)
    if isinstance(kind, str):
        if kind not in _KIND_NAMES:
            raise ValueError(f"{kind!r} is no kind of dtypes: {', '.join(_KIND_NAMES)}")
        return DTYPES[as_code(dtype)].kind in _KIND_NAMES[kind]
    return as_code(dtype) == as_code(kind)


class iinfo:
    """Limits of an integer dtype: `bits`, `min`, `max`, `dtype`."""

    def __init__(self, dtype):
        d = DTYPES[dtype._code if isinstance(dtype, _core.Array) else as_code(dtype)]
        if d.kind not in "iu":
            raise ValueError(f"{d.name} is not an integer dtype")
        self.bits, self.dtype = d.itemsize * 8, d
        self.min = -(1 << (self.bits - 1)) if d.kind == "i" else 0
        self.max = (1 << (self.bits - (d.kind == "i"))) - 1

    def __repr__(self):
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype.name})"


_FLOATS = {F16: (10, 5), BF16: (7, 8), F32: (23, 8), F64: (52, 11)}


class finfo:
    """Limits of a float dtype: `bits`, `eps`, `min`, `max`, `smallest_normal`, `dtype`."""

    def __init__(self, dtype):
        d = DTYPES[dtype._code if isinstance(dtype, _core.Array) else as_code(dtype)]
        if d.kind == "c":
            d = DTYPES[d.code - 2]  # of its parts
        if d.kind != "f":
            raise ValueError(f"{d.name} is not a float dtype")
        mantissa, exponent = _FLOATS[d.code]
        bias = (1 << (exponent - 1)) - 1
        self.bits, self.dtype = d.itemsize * 8, d
        self.eps = 2.0 ** -mantissa
        self.max = (2.0 - 2.0 ** -mantissa) * 2.0**bias
        self.min = -self.max
        self.smallest_normal = self.tiny = 2.0 ** (1 - bias)

    def __repr__(self):
        return f"finfo(min={self.min}, max={self.max}, eps={self.eps}, dtype={self.dtype.name})"


bool = _b
