"""fx.Array: a value that is computed when somebody looks at it."""

import operator
import sys

from . import _core, _dtypes
from ._dtypes import DTYPES, as_code
from ._errors import TraceError

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

    @property
    def device(self):
        """Where it is: "cpu"."""
        return "cpu"

    def to_device(self, device, /, *, stream=None):
        """The array on another device; there is only "cpu"."""
        from ._create import check_device

        check_device(device)
        if stream is not None:
            raise ValueError("stream must be None on the CPU")
        return self

    def __len__(self):
        if not self.ndim:
            raise TypeError("len() of unsized object")
        return operator.index(self.shape[0])

    def __array_namespace__(self, /, *, api_version=None):
        from . import _namespace

        return _namespace.check(api_version)

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
        value = memoryview(x).tolist()
        while isinstance(value, list):
            value = value[0]
        return value

    def tolist(self):
        """The elements as nested lists of Python numbers."""
        if self._trace is not None or not self.ndim:
            return self.item()
        x = self.astype(_dtypes.float32) if self._code in _NO_LIST else self
        return memoryview(x).tolist()

    def __bool__(self):
        if self._trace is None and self.size != 1:
            raise ValueError("The truth value of an array with more than one element is ambiguous. "
                             "Use x.any() or x.all()")
        return bool(self.item())

    def __float__(self):
        return float(self._one("float").item())

    def __int__(self):
        return int(self._one("int").item())

    def __complex__(self):
        return complex(self._one("complex").item())

    def __index__(self):
        if DTYPES[self._code].kind not in "iu" or self.ndim:
            raise TypeError("only integer scalar arrays can be converted to a scalar index")
        if self._weak:
            from ._jit import IndexNeeded

            raise IndexNeeded("a number is used as an index, an axis or a length")
        return self.item()

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

    def __getitem__(self, key):
        from ._index import getitem

        return getitem(self, key)

    def __setitem__(self, key, value):
        from ._index import setitem

        _core.replace(self, setitem(self, key, value))

    # ---- text -----------------------------------------------------------------------------------

    def __repr__(self):
        from ._text import text_of

        return text_of(self)

    def __str__(self):
        from ._text import str_of

        return str_of(self)

    def __format__(self, spec):
        return format(self.item(), spec) if spec else str(self)

    # ---- interchange ----------------------------------------------------------------------------

    def __array__(self, dtype=None, copy=None):
        from ._interop import to_numpy

        a = to_numpy(self)
        if dtype is not None and a.dtype != dtype:
            if copy is False:
                raise ValueError("another dtype needs a copy")
            return a.astype(dtype)
        return a.copy() if copy else a

    @property
    def __array_interface__(self):
        from ._interop import interface

        return interface(self)

    def __array_ufunc__(self, ufunc, method, *args, **kwargs):
        from ._protocols import array_ufunc

        return array_ufunc(ufunc, method, args, kwargs)

    def __array_function__(self, func, types, args, kwargs):
        from ._protocols import array_function

        return array_function(func, args, kwargs)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        from ._interop import to_dlpack

        return to_dlpack(self, stream, max_version, dl_device, copy)

    def __dlpack_device__(self):
        return (1, 0)

    def __reduce_ex__(self, protocol):
        from ._interop import reduce_array

        return reduce_array(self, protocol)

    def __copy__(self):
        return self.copy()

    def __deepcopy__(self, memo):
        return self.copy()

    def copy(self, order="C"):
        """Another array object with the same value."""
        from ._create import asarray

        return asarray(self, copy=True)

    def __matmul__(self, other):
        from . import _linear

        return _linear.matmul_operator(self, other, False)

    def __rmatmul__(self, other):
        from . import _linear

        return _linear.matmul_operator(self, other, True)

    def __divmod__(self, other):
        return self // other, self % other

    def __rdivmod__(self, other):
        return other // self, other % self

    def __round__(self, digits=0):
        from ._functions import round as round_

        return round_(self, decimals=digits)

    # ---- conversions and views ------------------------------------------------------------------

    def astype(self, dtype, order="K", casting="unsafe", subok=True, copy=True):
        """The elements in another dtype."""
        from ._create import astype

        if not _dtypes.can_cast(self, dtype, casting):
            raise TypeError(f"Cannot cast array data from {self.dtype.name} to "
                            f"{DTYPES[as_code(dtype)].name} according to the rule {casting!r}")
        return astype(self, dtype, copy=copy)

    @property
    def T(self):
        """The axes in reverse order."""
        from ._shape import permute_dims

        return permute_dims(self, tuple(range(self.ndim))[::-1])

    @property
    def mT(self):
        """The last two axes exchanged."""
        from ._shape import matrix_transpose

        return matrix_transpose(self)

    @property
    def real(self):
        return self

    @property
    def imag(self):
        from ._create import zeros_like

        return zeros_like(self)

    @property
    def flat(self):
        return iter(self.ravel())

    def conj(self):
        return self

    conjugate = conj

    def dot(self, other):
        from . import _linear

        return _linear.dot(self, other)

    def fill(self, value):
        """Gives all elements one value."""
        self[...] = value


Array = _core.Array
for _name, _value in vars(Methods).items():
    if _name not in ("__dict__", "__weakref__", "__module__", "__qualname__"):
        setattr(Array, _name, _value)


def _method(module, name, as_name=None):
    """A method that is a function of the namespace with the array as its first argument."""

    def method(self, *args, **kwargs):
        f = getattr(sys.modules[module], name)
        return f(self, *args, **kwargs)

    method.__name__ = as_name or name
    method.__qualname__ = f"Array.{method.__name__}"
    method.__doc__ = f"As fusec.{name}(x, ...)."
    setattr(Array, method.__name__, method)


for _name in ("sum", "prod", "min", "max", "mean", "std", "var", "any", "all", "argmin", "argmax",
              "cumsum", "cumprod", "ptp", "logsumexp"):
    _method("fusec._reduce", _name)
for _name in ("squeeze", "swapaxes", "repeat", "ravel"):
    _method("fusec._shape", _name)
_method("fusec._shape", "ravel", "flatten")
for _name in ("sort", "argsort", "take", "nonzero", "searchsorted", "diagonal", "trace"):
    _method("fusec._search", _name)
for _name in ("clip", "round"):
    _method("fusec._functions", _name)


def _reshape(self, *shape, order="C", copy=None):
    """The same elements in another shape; one length may be -1."""
    from ._shape import reshape

    return reshape(self, shape[0] if len(shape) == 1 else shape, order=order)


def _transpose(self, *axes):
    """The axes in another order, by default reversed."""
    from ._shape import transpose

    return transpose(self, (axes[0] if len(axes) == 1 else axes) or None)


Array.reshape = _reshape
Array.transpose = _transpose


class SizeNeeded(Exception):
    """Inside a trace: the length of an axis decides something, so it can't stay a name."""


class ValueNeeded(TraceError):
    """Inside a trace: the elements of a traced array are asked for."""


def as_operand(x):
    """Anything as an Array, for an operation; NotImplemented if it is no array."""
    from ._create import as_operand as convert

    return convert(x)


def mixed(name, *operands):
    from ._functions import mixed as compute

    return compute(name, *operands)


def raise_error(slug, message):
    from ._errors import make

    return make(slug, message)


_core.configure(raise_error, as_operand, mixed, SizeNeeded, ValueNeeded)
