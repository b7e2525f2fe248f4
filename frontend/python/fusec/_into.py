# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Results into memory of the caller, `out=`."""

from . import _core
from ._array import Array
from ._create import is_numpy, use_numpy
from ._dtypes import DTYPES, as_code, can_cast
from ._errors import DeviceError
from ._foreign import foreign_type, is_foreign
from ._interop import to_numpy


def into(r, out, casting="same_kind"):
    """The result r, written to `out` if that is not None; then `out` is returned."""
    if out is None:
        return r
    if isinstance(out, tuple):
        (out,) = out
    if isinstance(out, Array):
        if out.shape != r.shape:
            raise ValueError(f"out has the shape {out.shape}, the result {r.shape}")
        _core.replace(out, _cast(r, out._code, casting))
        return out
    if not is_numpy(out) and is_foreign(out):
        r = _cast(r, foreign_type(out)[0], casting)
        if tuple(out.shape) != r.shape:
            raise ValueError(f"out has the shape {tuple(out.shape)}, the result {r.shape}")
        if not _core.into(r, out):
            raise DeviceError(f"the result is on {r.device}, out is elsewhere", "device")
        return out
    if not is_numpy(out):
        out_memory = memoryview(out)
        if out_memory.readonly:
            raise ValueError("out is read-only")
        into(r, use_numpy().asarray(out_memory), casting)
        return out
    use_numpy()
    if not out.flags.writeable:
        raise ValueError("out is read-only")
    if out.shape != r.shape:
        raise ValueError(f"out has the shape {out.shape}, the result {r.shape}")
    r = _cast(r, as_code(out.dtype), casting)
    if not _core.into(r, out):
        out[...] = to_numpy(r)
    return out


def _cast(r, code, casting):
    if r._code == code:
        return r
    if not can_cast(r, DTYPES[code], casting):
        raise TypeError(f"Cannot cast the result from {r.dtype.name} to {DTYPES[code].name} according "
                        f"to the rule {casting!r}")
    return r.astype(DTYPES[code])
