# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays of other libraries that may be on a GPU, for the extension (foreign.c): torch's tensors, and
whatever has __cuda_array_interface__, as CuPy's arrays."""

import sys

from . import _core, _dtypes
from ._dtypes import DTYPES

LEGACY = 1  # the default stream of CUDA, which the library would take for its own by its number, 0

_torch_codes, _torch_dtypes = {}, {}


def torch_codes():
    if not _torch_codes:
        import torch

        for d in DTYPES:
            t = getattr(torch, d.name, None)
            if t is not None:
                _torch_codes[t] = d.code
                _torch_dtypes[d.code] = t
    return _torch_codes


def torch_dtype(code):
    torch_codes()
    return _torch_dtypes[code]


def is_torch(x):
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, getattr(torch, "Tensor", ()))


def use_torch():
    """Tells the extension of torch's types, and of what makes new tensors of (shape, strides, dtype)."""
    torch = sys.modules["torch"]
    torch_codes()
    on_cpu = on_gpu = None
    try:
        from torch._C._dynamo.guards import _empty_strided_cpu as on_cpu, _empty_strided_cuda as on_gpu
    except ImportError:
        pass
    if not torch.cuda.is_available() or torch.cuda.device_count() != 1:
        on_gpu = None  # it makes them on the device that is torch's current one
    dtypes = tuple([_torch_dtypes.get(d.code) for d in DTYPES])
    for t in (torch.Tensor, torch.nn.Parameter):
        _core.use_foreign(t, (torch.is_grad_enabled, on_cpu, on_gpu, dtypes))


def is_foreign(x):
    """Is it such an array? Then the extension knows its type from now on."""
    if is_torch(x):
        use_torch()
        return True
    if not isinstance(x, type) and getattr(type(x), "__cuda_array_interface__", None) is not None and hasattr(
            x, "__cuda_array_interface__"):
        _core.use_foreign(type(x), None)
        return True
    return False


def foreign_type(x):
    """(dtype, device) of such an array, as numbers."""
    _, code, _, _, device, _ = memory(x)
    return code, device


# ---- for the extension ------------------------------------------------------------------------------


def _torch_memory(t):
    torch = sys.modules["torch"]
    code = torch_codes().get(t.dtype)
    if code is None:
        raise TypeError(f"fusec has no {t.dtype}")
    if t.requires_grad and torch.is_grad_enabled():
        raise TypeError("a tensor that requires gradients: fx.jit does not record them; use "
                        "torch.no_grad(), x.detach(), or torch.compile(f, backend='fusec')")
    device = t.device
    if device.type not in ("cpu", "cuda") or t.layout != torch.strided:
        raise NotImplementedError(f"a tensor on {device} with the layout {t.layout}: use t.cpu(), t.to_dense()")
    if code >= _dtypes.F32 and (t.is_conj() or t.is_neg()):
        raise NotImplementedError("a tensor that is to be conjugated or negated: use t.resolve_conj().resolve_neg()")
    return (t.data_ptr(), code, tuple(t.shape), None if t.is_contiguous() else t.stride(),
            1 + device.index if device.type == "cuda" else 0, True)


def memory(x):
    """(address, dtype, shape, strides or None, device, may be written to); None: not understood."""
    if is_torch(x):
        return _torch_memory(x)
    cai = x.__cuda_array_interface__
    if cai.get("mask") is not None:
        raise TypeError("an array with a mask can't be taken")
    d = _dtypes.by_typestr(cai["typestr"])
    strides = cai.get("strides")
    if strides is not None:
        if any(s % d.itemsize for s in strides):
            raise ValueError("the strides are no multiples of the element's size")
        strides = tuple(s // d.itemsize for s in strides)
    address, readonly = cai["data"]
    return address, d.code, tuple(cai["shape"]), strides, 1 + device_of(x), not readonly


def device_of(x):
    """The number of the GPU, as CUDA counts."""
    device = getattr(x, "device", None)
    if isinstance(device, int):
        return device
    n = getattr(device, "id", None)  # CuPy
    if n is None and hasattr(x, "__dlpack_device__"):
        n = x.__dlpack_device__()[1]
    return int(n or 0)


def empty(like, code, shape, device, strides):
    """A new array of the kind of `like`, with any elements."""
    if is_torch(like):
        torch, device = sys.modules["torch"], f"cuda:{device - 1}" if device else "cpu"
        if strides is None:
            return torch.empty(shape, dtype=torch_dtype(code), device=device)
        return torch.empty_strided(shape, strides, dtype=torch_dtype(code), device=device)
    module = sys.modules[type(like).__module__.partition(".")[0]]
    with like.device:
        return module.empty(shape, _dtypes.numpy_dtype(code))


def stream(x):
    """The stream that the library of x works on now, on the GPU of x."""
    if is_torch(x):
        return sys.modules["torch"].cuda.current_stream(x.device).cuda_stream or LEGACY
    cupy = sys.modules.get("cupy")
    if cupy is not None and isinstance(x, cupy.ndarray):
        return cupy.cuda.get_current_stream().ptr or LEGACY
    return x.__cuda_array_interface__.get("stream") or LEGACY


FUNCTIONS = (memory, empty, stream)
