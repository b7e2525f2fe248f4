# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The methods of arrays that are functions of the package, and what the extension calls in Python.
Last of the package's imports: everything is there."""

from . import _config, _core, _create, _dtypes, _errors, _foreign, _functions, _host, _index, _interop, _linear
from . import _namespace, _numpy
from . import _positions, _protocols, _reduce, _search, _sets, _shape, _text, _writing
from ._array import Array, add_methods


class Methods:
    to_device = _create.to_device
    copy = _create.copy
    __array_namespace__ = _namespace.namespace

    __repr__, __str__, _repr_html_ = _text.text_of, _text.str_of, _text.html_of
    __getitem__, __setitem__ = _index.getitem, _index.assign

    # ---- interchange ----------------------------------------------------------------------------

    __array__ = _interop.to_array
    __array_interface__ = property(_interop.interface)
    __array_ufunc__ = _protocols.array_ufunc
    __array_function__ = _protocols.array_function
    __cuda_array_interface__ = property(_interop.cuda_interface)
    __dlpack__ = _interop.to_dlpack
    __reduce_ex__ = _interop.reduce_array

    # ---- conversions and views ------------------------------------------------------------------

    def astype(self, dtype, order="K", casting="unsafe", subok=True, copy=True):
        """The elements in another dtype."""
        if not _dtypes.can_cast(self, dtype, casting):
            raise TypeError(f"Cannot cast array data from {self.dtype.name} to "
                            f"{_dtypes.DTYPES[_dtypes.as_code(dtype)].name} according to the rule "
                            f"{casting!r}")
        return _create.astype(self, dtype, copy=copy)

    def reshape(self, *shape, order="C", copy=None):
        """The same elements in another shape; one length may be -1."""
        return _shape.reshape(self, shape[0] if len(shape) == 1 else shape, order=order)

    def transpose(self, *axes):
        """The axes in another order, by default reversed."""
        return _shape.transpose(self, (axes[0] if len(axes) == 1 else axes) or None)

    T = property(_shape.transpose, doc="The axes in reverse order.")
    mT = property(_shape.matrix_transpose)
    real, imag = property(_functions.real), property(_functions.imag)
    conj = conjugate = _functions.conj
    flatten = _shape.ravel

    # ---- operators that are no rows -------------------------------------------------------------

    def __matmul__(self, other):
        return _linear.matmul_operator(self, other, False)

    def __rmatmul__(self, other):
        return _linear.matmul_operator(self, other, True)

    def __round__(self, digits=0):
        return _functions.round(self, decimals=digits)

    dot = _linear.dot

    # ---- as NumPy's arrays: what they write to is this object --------------------------------------

    def sort(self, axis=-1, kind=None, order=None, *, stable=True):
        """Puts the elements in order along an axis: the object gets a new value. fx.sort gives another array."""
        _index.check_own(self)
        _core.replace(self, _search.sort(self, axis, kind, order))

    def partition(self, kth, axis=-1, kind=None, order=None):
        """Puts the elements in order, which is more than NumPy's partition does."""
        self.sort(axis, order=order)

    def put(self, indices, values, mode="raise"):
        """Gives the elements at indices of the flat array values."""
        _writing.put(self, indices, values, mode)

    @property
    def flat(self):
        """The elements one after another, to iterate, read and write."""
        return _index.Flat(self)

    def compress(self, condition, axis=None):
        return _positions.compress(condition, self, axis)

    def choose(self, choices, mode="raise"):
        return _numpy.choose(self, choices, mode=mode)

    def view(self, dtype=None):
        """The bits of the elements as another dtype; a value of its own, as everything."""
        if dtype is None:
            return _core.same(self)
        return _host.call("view", lambda a: a.view(_dtypes.numpy_dtype(_dtypes.as_code(dtype))), self)

    def tobytes(self, order="C"):
        """The bytes of the elements."""
        return _interop.to_numpy(self).tobytes(order)

    def tofile(self, file, sep="", format="%s"):
        _interop.to_numpy(self).tofile(file, sep, format)

    strides = property(lambda self: _interop.to_numpy(self).strides, doc="Bytes from element to element, an axis each.")
    flags = property(lambda self: _interop.to_numpy(self).flags, doc="Of its memory, which is read-only.")
    data = property(memoryview, doc="Its memory, which is read-only.")
    ctypes = property(lambda self: _interop.to_numpy(self).ctypes, doc="Its memory for C, to be read.")
    base = None  # a value of its own


for _module, _names in (
        (_reduce, "sum prod min max mean std var any all argmin argmax cumsum cumprod ptp logsumexp"),
        (_shape, "squeeze swapaxes ravel"),
        (_sets, "repeat"),
        (_search, "argpartition argsort take searchsorted diagonal trace"),
        (_positions, "nonzero"),
        (_functions, "clip round")):
    for _name in _names.split():
        setattr(Methods, _name, getattr(_module, _name))
add_methods(Methods)
assert Array.sum is _reduce.sum

_core.configure(_errors.make, _create.as_operand, _functions.mixed, _errors.SizeNeeded,
                _errors.ValueNeeded, _config.options, _foreign.FUNCTIONS)
_config.default_place()
