# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays of other libraries: NumPy's interfaces, DLPack, torch, pickle."""

import pickle

from . import _core, _dtypes
from ._create import asarray, use_numpy
from ._dtypes import BF16, DTYPES
from ._errors import ValueNeeded


def _no_trace(x):
    if x._trace is not None:
        raise ValueNeeded("the elements of a traced array are asked for: a function that is compiled "
                          "can't hand values to other libraries")


def to_numpy(x):
    """NumPy's array over the memory of x, read-only."""
    _no_trace(x)
    np = use_numpy()
    if x._code != BF16:
        return np.asarray(memoryview(x))
    address, strides = _core.memory(x)
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
        self.keep = x
        size = x.itemsize
        self.__array_interface__ = {
            "version": 3, "shape": x.shape, "typestr": typestr, "data": (address, readonly),
            "strides": None if strides is None else tuple(s * size for s in strides)}


def interface(x):
    """__array_interface__, computing x."""
    _no_trace(x)
    _core.raise_again(x)
    if x._code == BF16:
        raise AttributeError("NumPy has no bfloat16 of its own")
    address, strides = _core.memory(x)
    return _Memory(x, address, strides, _dtypes.numpy_dtype(x._code).str, True).__array_interface__


def writable_numpy(x):
    """The same memory without the read-only flag, for consumers that know no such flag."""
    np = use_numpy()
    address, strides = _core.memory(x)
    kind = "<u2" if x._code == BF16 else _dtypes.numpy_dtype(x._code).str
    return np.asarray(_Memory(x, address, strides, kind, False))


def to_dlpack(x, *, stream=None, max_version=None, dl_device=None, copy=None):
    """A capsule. Memory of ours is read-only; consumers of DLPack before 1.0 are not told."""
    _no_trace(x)
    if x._code == BF16:
        raise BufferError("bfloat16 through DLPack: convert with x.astype(fx.float32)")
    if stream is not None:
        raise BufferError("stream must be None on the CPU")
    if dl_device is not None and tuple(int(k) for k in dl_device) != (1, 0):
        raise BufferError(f"the array is on the CPU, not on {dl_device}")
    versioned = max_version is not None and max_version[0] >= 1
    a = to_numpy(x) if versioned else writable_numpy(x)
    if copy:
        a = a.copy()
    return a.__dlpack__(max_version=max_version) if versioned else a.__dlpack__()


# ---- torch ----------------------------------------------------------------------------------------

_TORCH = {}


def torch_codes():
    if not _TORCH:
        import torch

        for d in DTYPES:
            t = getattr(torch, d.name, None)
            if t is not None:
                _TORCH[t] = d.code
    return _TORCH


def torch_memory(t):
    """An array over a tensor's memory, on the CPU."""
    code = torch_codes().get(t.dtype)
    if code is None:
        raise TypeError(f"fusec has no {t.dtype}")
    if t.device.type != "cpu":
        raise NotImplementedError(f"tensors on {t.device} are not taken yet: use t.cpu()")
    if t.layout.__str__() != "torch.strided" or t.is_neg() or t.is_conj():
        t = t.resolve_neg().resolve_conj().to_dense()
    return _core.pointer(t.data_ptr(), code, tuple(t.shape), tuple(t.stride()), t)


def to_torch(x):
    """A tensor that owns a copy of nothing: it shares the memory of x, which nothing writes to."""
    import torch

    if x._code == BF16:
        return torch.from_numpy(writable_numpy(x)).view(torch.bfloat16)
    return torch.from_numpy(writable_numpy(x))


# ---- pickle ---------------------------------------------------------------------------------------


def rebuild(data, code, shape):
    """An array of pickled bytes."""
    r = asarray(memoryview(data).cast("B"))
    return _core.pointer(_core.memory(r)[0], code, shape, None, r)


def reduce_array(x, protocol):
    _no_trace(x)
    a = use_numpy().ascontiguousarray(writable_numpy(x))
    if protocol >= 5:
        data = pickle.PickleBuffer(a)
        return rebuild, (data, x._code, x.shape)
    return rebuild, (a.tobytes(), x._code, x.shape)
