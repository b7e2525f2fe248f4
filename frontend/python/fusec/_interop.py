# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays for other libraries: NumPy's interfaces, DLPack, CUDA's array interface, pickle."""

import pickle

from . import _core, _dtypes
from ._create import asarray, copy_on_device, use_numpy
from ._dtypes import BF16, DTYPES
from ._errors import ValueNeeded
from ._foreign import LEGACY


def _no_trace(x):
    if x._trace is not None:
        raise ValueNeeded("the elements of a traced array are asked for: a function that is compiled "
                          "can't hand values to other libraries")


def _memory_of(x):
    """(an array that keeps the memory and nothing else, its address, strides, device)"""
    x = _core.same(x)
    return x, *_core.memory(x)


def to_numpy(x):
    """NumPy's array over the memory of x, read-only."""
    _no_trace(x)
    np = use_numpy()
    if x._device:
        x = _core.to_device(x, 0)
    if x._code != BF16:
        return np.asarray(memoryview(x))
    x, address, strides, _ = _memory_of(x)
    a = np.asarray(_Memory(x, address, strides, "<u2", True))
    return a.view(_dtypes.numpy_dtype(BF16))


def to_array(x, dtype=None, copy=None):
    """NumPy's array, read-only unless it is a copy."""
    a = to_numpy(x)
    if dtype is not None and a.dtype != dtype:
        if copy is False:
            raise ValueError("another dtype needs a copy")
        return a.astype(dtype)
    return a.copy() if copy else a


class _Memory:
    """What NumPy reads the address from; keeps the array."""

    def __init__(self, x, address, strides, typestr, readonly):
        self.keep = x  # of _memory_of
        size = x.itemsize
        self.__array_interface__ = {
            "version": 3, "shape": x.shape, "typestr": typestr, "data": (address, readonly),
            "strides": None if strides is None else tuple(s * size for s in strides)}


def interface(x):
    """__array_interface__, computing x."""
    _no_trace(x)
    if x._device:
        raise AttributeError(f"the array is on {x.device}: np.asarray(x) copies it")
    _core.raise_again(x)
    if x._code == BF16:
        raise AttributeError("NumPy has no bfloat16 of its own")
    address, strides, _ = _core.memory(x)  # x is what the reader keeps
    return _Memory(x, address, strides, _dtypes.numpy_dtype(x._code).str, True).__array_interface__


def writable_numpy(x):
    """The same memory without the read-only flag, for consumers that know no such flag."""
    np = use_numpy()
    if x._device:
        x = _core.to_device(x, 0)
    x, address, strides, _ = _memory_of(x)
    kind = "<u2" if x._code == BF16 else _dtypes.numpy_dtype(x._code).str
    return np.asarray(_Memory(x, address, strides, kind, False))


def cuda_interface(x):
    """__cuda_array_interface__ of an array on a GPU, computing it. What was asked of fusec so far comes
    before what the default stream of CUDA does next."""
    if not x._device or x._trace is not None or x._code == BF16:
        raise AttributeError(f"__cuda_array_interface__: the array is on {x.device}")
    address, strides, device = _core.memory(x)
    if device != x._device:  # a number
        _core.replace(x, copy_on_device(x))
        address, strides, _ = _core.memory(x)
    _core.stream_wait(x._device, LEGACY, 0)
    size = x.itemsize
    return {"version": 3, "shape": x.shape, "typestr": DTYPES[x._code].typestr, "data": (address, False),
            "strides": None if strides is None else tuple(s * size for s in strides), "stream": LEGACY}


def _consumer(x, stream):
    """The number of the consumer's stream for an array on a GPU, as DLPack has it: None and 1 are the
    default stream, -1 asks for no order, 2 is the default stream of the thread."""
    if stream == 0:
        raise BufferError("stream 0 is ambiguous in DLPack: it is 1 or 2")
    return LEGACY if stream is None or stream == -1 else stream


def to_dlpack(x, *, stream=None, max_version=None, dl_device=None, copy=None):
    """A capsule. Memory of ours is read-only; consumers of DLPack before 1.0 are not told."""
    _no_trace(x)
    here = x.__dlpack_device__()
    if dl_device is not None:
        wanted = tuple(int(k) for k in dl_device)
        if wanted == (1, 0) and x._device and copy is not False:
            x, here = _core.to_device(x, 0), wanted
            stream = None
        elif wanted != here:
            raise BufferError(f"the array is on {x.device}, not on {dl_device}")
    if stream is not None and not x._device:
        raise BufferError("stream must be None on the CPU")
    if copy or (x._device and not x.ndim):
        x = copy_on_device(x)
    return _core.to_dlpack(x, max_version is not None and max_version[0] >= 1,
                           _consumer(x, stream) if x._device else 0)


# ---- pickle ---------------------------------------------------------------------------------------


def rebuild(data, code, shape, device=0):
    """An array of pickled bytes."""
    r = _core.copy(memoryview(data).cast("B"))
    r = _core.pointer(_core.memory(r)[0], code, shape, None, r)
    return _core.to_device(r, device) if device else r


def reduce_array(x, protocol):
    _no_trace(x)
    a = use_numpy().ascontiguousarray(writable_numpy(x))
    if protocol >= 5:
        data = pickle.PickleBuffer(a)
        return rebuild, (data, x._code, x.shape, x._device)
    return rebuild, (a.tobytes(), x._code, x.shape, x._device)
