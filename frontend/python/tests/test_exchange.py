# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""__dlpack_c_exchange_api__: arrays handed to libraries written in C, here by ctypes."""

import ctypes
import gc

import numpy as np
import pytest

import fusec as fx

I32, I64, P = ctypes.c_int32, ctypes.c_int64, ctypes.c_void_p


class Tensor(ctypes.Structure):
    _fields_ = [("data", P), ("device", I32), ("id", I32), ("ndim", I32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(I64)), ("strides", ctypes.POINTER(I64)), ("offset", ctypes.c_uint64)]

    def look(self):
        n = range(self.ndim)
        return self.device, self.code, self.bits, [self.shape[i] for i in n], [self.strides[i] for i in n]


class Managed(ctypes.Structure):
    pass


DELETER = ctypes.CFUNCTYPE(None, ctypes.POINTER(Managed))
Managed._fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("user", P), ("deleter", DELETER), ("flags", ctypes.c_uint64),
                    ("tensor", Tensor)]
ERROR = ctypes.CFUNCTYPE(None, P, ctypes.c_char_p, ctypes.c_char_p)
MANAGED = ctypes.POINTER(Managed)


class Table(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("older", P),
                ("allocate", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Tensor), ctypes.POINTER(MANAGED), P, ERROR)),
                ("managed_from", ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(MANAGED))),
                ("to_object", ctypes.PYFUNCTYPE(ctypes.c_int, MANAGED, ctypes.POINTER(ctypes.py_object))),
                ("tensor_from", ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(Tensor))),
                ("current_stream", ctypes.PYFUNCTYPE(ctypes.c_int, I32, I32, ctypes.POINTER(P)))]


def table():
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = P, [ctypes.py_object, ctypes.c_char_p]
    return Table.from_address(pointer(fx.Array.__dlpack_c_exchange_api__, b"dlpack_exchange_api"))


def values(t, n):
    return list((ctypes.c_double * n).from_address(t.data + t.offset))


def test_a_tensor_that_is_looked_at():
    api, t = table(), Tensor()
    assert (api.major, api.older) == (1, None)
    x = fx.asarray([[1.0, 2.0], [3.0, 4.0]]) * 2
    assert api.tensor_from(x, t) == 0
    assert t.look() == (1, 2, 64, [2, 2], [2, 1])
    assert values(t, 4) == [2, 4, 6, 8]
    assert api.tensor_from(x[0] * 1, t) == 0 and t.look()[3:] == ([2], [1])
    assert api.tensor_from(fx.asarray(2.5), t) == 0 and t.ndim == 0 and values(t, 1) == [2.5]
    a = np.arange(6.0).reshape(2, 3)
    turned = fx.borrow(a.T)
    assert api.tensor_from(turned, t) == 0
    assert t.look()[3:] == ([3, 2], [1, 3]) and t.data == a.ctypes.data
    stream = P(1)
    assert api.current_stream(1, 0, stream) == 0 and stream.value is None


def test_a_managed_tensor_keeps_the_value():
    api, m = table(), MANAGED()
    x = fx.asarray([1.0, 2.0]) + 1
    assert api.managed_from(x, m) == 0
    assert m.contents.major == 1 and m.contents.flags & 1  # read-only
    x[0] = 9.0
    del x
    gc.collect()
    assert values(m.contents.tensor, 2) == [2, 3]
    out = ctypes.py_object()
    assert api.to_object(m, out) == 0  # takes it over
    y = out.value
    assert isinstance(y, fx.Array) and (y * 2).tolist() == [4, 6]
    ctypes.pythonapi.Py_DecRef(out)


def test_new_memory():
    api, m, said = table(), MANAGED(), []
    error = ERROR(lambda user, kind, text: said.append((kind, text)))
    shape = (I64 * 2)(2, 3)
    like = Tensor(None, 1, 0, 2, 2, 32, 1, shape, None, 0)
    assert api.allocate(like, m, None, error) == 0 and not said
    t = m.contents.tensor
    assert t.look() == (1, 2, 32, [2, 3], [3, 1]) and m.contents.flags == 0
    (ctypes.c_float * 6).from_address(t.data)[:] = range(6)
    out = ctypes.py_object()
    assert api.to_object(m, out) == 0
    assert out.value.tolist() == [[0, 1, 2], [3, 4, 5]]
    ctypes.pythonapi.Py_DecRef(out)
    for bad in (Tensor(None, 1, 0, 2, 9, 32, 1, shape, None, 0), Tensor(None, 7, 0, 2, 2, 32, 1, shape, None, 0),
                Tensor(None, 1, 0, 2, 2, 32, 1, (I64 * 2)(2**40, 2**40), None, 0)):
        said.clear()
        assert api.allocate(bad, m, None, error) == -1 and said[0][0] == b"BufferError"
    like.shape = (I64 * 2)(1, 1)
    assert api.allocate(like, m, None, error) == 0
    m.contents.deleter(m)


def test_mistakes():
    api, t = table(), Tensor()
    with pytest.raises(fx.TraceError):
        fx.jit(lambda x: api.tensor_from(x, t))(np.ones(3))
    with pytest.raises(BufferError):
        api.current_stream(2, 99, P())


def test_an_address_is_good_as_long_as_the_array():
    x = fx.asarray([1.0, 2.0]) + 1
    address = x.__array_interface__["data"][0]
    x[0] = 9.0  # another value of this object
    junk = [fx.ones(2) * k for k in range(100)]
    fx.eval(*junk)
    assert list((ctypes.c_double * 2).from_address(address)) == [2, 3]
    assert x.__array_interface__["data"][0] != address and x.tolist() == [9, 3]
