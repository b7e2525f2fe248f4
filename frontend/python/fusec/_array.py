# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""fx.Array: a value that is computed when somebody looks at it."""

import operator

from . import _core, _dtypes
from ._dtypes import DTYPES
from ._errors import IndexNeeded, ValueNeeded

__all__ = ["Array"]

_NO_LIST = (_dtypes.F16, _dtypes.BF16)  # memoryview.tolist does not know them


class Methods:
    """An array of numbers or bools. Operations on it compute nothing: what they need is computed
    together, in as few kernels as possible, when its elements are asked for.

    >>> x = fx.asarray([0.0, 1.0])
    >>> (x * 2 + 1).tolist()
    [1.0, 3.0]

    It behaves like NumPy's array with these differences: a slice is no window on its source, and
    `x[key] = v` gives this one object a new value.
    """

    __array_priority__ = 1000.0

    # ---- what it is -----------------------------------------------------------------------------

    @property
    def dtype(self):
        """Type of the elements."""
        return DTYPES[self._code]

    @property
    def size(self):
        """Number of elements."""
        n = 1
        for k in self.shape:
            n = n * k
        return n

    @property
    def itemsize(self):
        """Bytes of one element."""
        return DTYPES[self._code].itemsize

    @property
    def nbytes(self):
        """Bytes of all elements."""
        return self.size * self.itemsize

    def __len__(self):
        if not self.ndim:
            raise TypeError("len() of unsized object")
        return operator.index(self.shape[0])

    # ---- its elements ---------------------------------------------------------------------------

    def item(self, *index):
        """The element as a Python number, of an array of one element or at an index."""
        if self._trace is not None:
            raise ValueNeeded("the number behind a traced value is asked for: an `if`, `while`, "
                              "float() or int() depends on elements")
        x = self
        if index:
            if len(index) == 1 and not isinstance(index[0], tuple):
                x = self.reshape((-1,)) if self.ndim != 1 else self
                x = x[operator.index(index[0])]
            else:
                x = self[index[0] if len(index) == 1 else index]
        if x.size != 1:
            raise ValueError("can only convert an array of size 1 to a Python scalar")
        if x._code in _NO_LIST:
            x = x.astype(_dtypes.float32)
        if x._code >= _dtypes.C64:
            return complex(x.real.item(), x.imag.item())
        value = memoryview(x if not x._device else _core.to_device(x, 0)).tolist()
        while isinstance(value, list):
            value = value[0]
        return value

    def tolist(self):
        """The elements as nested lists of Python numbers."""
        if self._trace is not None or not self.ndim:
            return self.item()
        if self._code >= _dtypes.C64:  # which memoryview does not know either
            return [k.tolist() for k in self]
        x = self.astype(_dtypes.float32) if self._code in _NO_LIST else self
        return memoryview(x if not x._device else _core.to_device(x, 0)).tolist()

    def __bool__(self):
        if self._trace is None and self.size != 1:
            raise ValueError("The truth value of an array with more than one element is ambiguous. "
                             "Use x.any() or x.all()")
        return bool(self.item())

    def __float__(self):
        self._real("float")
        return float(self._one("float").item())

    def __int__(self):
        self._real("int")
        return int(self._one("int").item())

    def __complex__(self):
        return complex(self._one("complex").item())

    def __index__(self):
        if DTYPES[self._code].kind not in "iu" or self.ndim:
            raise TypeError("only integer scalar arrays can be converted to a scalar index")
        if self._weak:
            raise IndexNeeded("a number is used as an index, an axis or a length")
        return self.item()

    def _real(self, what):
        if self._code >= _dtypes.C64:
            raise TypeError(f"a complex number has no {what}: take x.real or abs(x)")

    def _one(self, what):
        if self._trace is None and self.size != 1:
            raise TypeError(f"only an array of one element has a {what}")
        return self

    def __iter__(self):
        if not self.ndim:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(len(self)))

    def __contains__(self, value):
        return bool((self == value).any())

    def __format__(self, spec):
        return format(self.item(), spec) if spec else str(self)

    def __dlpack_device__(self):
        return (2, self._device - 1) if self._device else (1, 0)

    def __copy__(self):
        return self.copy()

    def __deepcopy__(self, memo):
        return self.copy()

    def __divmod__(self, other):
        return self // other, self % other

    def __rdivmod__(self, other):
        return other // self, other % self

    def fill(self, value):
        """Gives all elements one value."""
        self[...] = value


Array = _core.Array


def add_methods(methods):
    """Gives arrays the methods of a class."""
    for name, value in vars(methods).items():
        if name not in ("__dict__", "__weakref__", "__module__", "__qualname__", "__doc__"):
            setattr(Array, name, value)


Array.__doc__ = Methods.__doc__
add_methods(Methods)
