# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scalar functions of the user inside kernels: a pointer for the CPU, a text for GPUs."""

from . import _core
from ._create import asarray
from ._dtypes import DType, as_code

__all__ = ["extern"]


def _address(pointer):
    """Of a number, a function of ctypes, or what has `address` (numba.cfunc)."""
    if pointer is None:
        return 0
    if isinstance(pointer, int) and not isinstance(pointer, bool):
        return pointer
    if isinstance(getattr(pointer, "address", None), int):
        return pointer.address
    import ctypes  # not every Python has it

    if isinstance(pointer, (ctypes._CFuncPtr, ctypes.c_void_p)):
        return ctypes.cast(pointer, ctypes.c_void_p).value or 0
    raise TypeError(f"pointer is a function of ctypes or numba.cfunc, or an address, not {type(pointer).__name__}")


class extern:
    """A scalar function that fuses with what is around it, for arrays of the dtypes given, which broadcast.

    `pointer` is for the CPU: a function of scalars of one type (float32, float64, int32 or int64, as its
    result), from ctypes, `numba.cfunc`, or an address, as `int(ffi.cast("uintptr_t", f))`; with `arrays`
    one of C's `void f(void *, int64_t n, const void *const *in, void *out)`, for any dtypes. `cuda` is CUDA
    C with a `__device__` function of this name. It has to be pure, and to have a result for any operands;
    `slots` is what it costs, in simple operations. It has no derivative.

    >>> import ctypes.util
    >>> libm = ctypes.CDLL(ctypes.util.find_library("m"))
    >>> j0 = fx.extern("j0", [fx.float64], fx.float64, pointer=libm.j0)
    >>> round(float(fx.sum(j0(fx.asarray([0.0, 1.0])) * 2)), 4)
    3.5304
    """

    def __init__(self, name, dtypes, result, *, cuda=None, pointer=None, arrays=False, slots=0):
        self.name, self.cuda, self.arrays, self.slots = name, cuda, arrays, slots
        self.dtypes, self.result = tuple(map(as_code, dtypes)), as_code(result)
        if not 1 <= len(self.dtypes) <= 16:
            raise ValueError(f"{name} has {len(self.dtypes)} operands, not 1 to 16")
        self._pointer = pointer  # stays alive
        self._at = _address(pointer)

    def __repr__(self):
        types = ", ".join(str(DType(c)) for c in self.dtypes)
        return f"fusec.extern {self.name}({types}) -> {DType(self.result)}"

    def __call__(self, *operands):
        if len(operands) != len(self.dtypes):
            raise TypeError(f"{self.name} takes {len(self.dtypes)} operand{'s'[len(self.dtypes) == 1:]}, "
                            f"but got {len(operands)}")
        given = tuple(asarray(x, t) for x, t in zip(operands, map(DType, self.dtypes)))
        number = _core.extern_number(given[0]._device, self.name, self.dtypes, self.result, self.cuda,
                                     self._at, self.arrays, self.slots)
        return _core.op("extern", given, start=(number,))
