# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the Array API standard asks of the namespace besides functions."""

import sys

from . import _core, _device, _dtypes

VERSION = "2025.12"
_KNOWN = ("2021.12", "2022.12", "2023.12", "2024.12", VERSION)


def namespace(x, /, *, api_version=None):
    """The module of the Array API standard: fusec."""
    version = api_version
    if version is not None and version not in _KNOWN:
        raise ValueError(f"version {version!r} of the Array API standard is not known")
    return sys.modules["fusec"]


class Info:
    """Devices, dtypes and capabilities, as the standard words them."""

    def capabilities(self):
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 32}

    def default_device(self):
        return _device.name_of(_core.current_device())

    def devices(self):
        return ("cpu", *_device.gpus())

    def default_dtypes(self, *, device=None):
        return {"real floating": _dtypes.float64, "complex floating": _dtypes.complex128,
                "integral": _dtypes.int64, "indexing": _dtypes.int64}

    def dtypes(self, *, device=None, kind=None):
        found = {d.name: d for d in _dtypes.DTYPES if d.name not in ("float16", "bfloat16")}
        return {n: d for n, d in found.items() if kind is None or _dtypes.isdtype(d, kind)}


def __array_namespace_info__():
    return Info()
