# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""fx.config: what the library is started with, at the first array or compiled function."""

import os
import sys

from . import _core
from ._device import CPU, name_of, number_of

_MODES = {"strict": 0, "contract": 1, "reassoc": 2, "recip": 4, "nnan": 8, "ninf": 16, "nsz": 32, "approx": 64,
          "fast": 127, "wide16": 128, "tf32": 1024}
_TIERS = {"default": 0, "full": 1, "both": 2}


def mode_of(value):
    """Bits of a mode's name, of several, or as they are."""
    if isinstance(value, int):
        if value < 0 or value & ~sum(v for n, v in _MODES.items() if n != "fast"):
            raise ValueError(f"mode {value} is not known")
        return value
    names = [value] if isinstance(value, str) else list(value)
    bits = 0
    for name in names:
        if name not in _MODES:
            raise ValueError(f"mode {name!r} is not known: {', '.join(_MODES)}")
        bits |= _MODES[name]
    return bits


class Config:
    """Settings, to be made before the first array. `fx.config(threads=4)` sets some and gives the
    object; an unset one is None and comes from the environment (FUSEC_THREADS and so on).

    device: where new arrays are made: "cpu", "interp" (the interpreter in place of the CPU's compiler),
    "cuda" or "cuda:1". threads: of the CPU. cache_dir: for compiled kernels,
    "" for none. mode: "strict", or a licence to round differently, or several of them ("fast" is all
    but wide16 and tf32; docs/semantics.md). tiers: "full" to wait for the best code at the first call.

    >>> sorted(fx.config.settings())
    ['cache_dir', 'device', 'mode', 'threads', 'tiers']
    """

    __slots__ = ("_values",)

    def __init__(self):
        object.__setattr__(self, "_values", dict.fromkeys(("device", "threads", "cache_dir", "mode", "tiers")))

    def __call__(self, **settings):
        for name, value in settings.items():
            setattr(self, name, value)
        return self

    def __getattr__(self, name):
        try:
            return self._values[name]
        except KeyError:
            raise AttributeError(f"there is no setting {name!r}: {', '.join(self._values)}") from None

    def __setattr__(self, name, value):
        if getattr(self, name) == value:
            return
        if _core.started():
            raise RuntimeError(f"config.{name} must be set before the first array is made")
        if value is not None:
            self._check(name, value)
        self._values[name] = value
        if name == "device":
            _core.default_device(CPU if value in (None, "interp") else number_of(value))

    @staticmethod
    def _check(name, value):
        if name == "mode":
            mode_of(value)
        elif name == "threads":
            if not isinstance(value, int) or value < 1:
                raise ValueError(f"threads={value!r}: a number from 1")
        elif name == "tiers" and value not in _TIERS:
            raise ValueError(f"tiers={value!r}: {', '.join(_TIERS)}")
        elif name == "device" and value != "interp":
            number_of(value)

    def settings(self):
        """All of them, as a dict."""
        return dict(self._values)

    def __repr__(self):
        return "fx.config(" + ", ".join(f"{k}={v!r}" for k, v in self._values.items() if v is not None) + ")"


config = Config()


def _llvm():
    """Where LLVM may be besides the system's places: a package of it, and the prefix (conda)."""
    places = [os.path.join(p, "fusec_llvm") for p in sys.path if p] + [os.path.join(sys.prefix, "lib")]
    return ":".join(p for p in places if os.path.isdir(p) and (
        "fusec_llvm" in p or any(f.startswith("libLLVM") for f in os.listdir(p)))) or None


def _nvrtc():
    """Where NVRTC may be besides the system's places: packages of NVIDIA anywhere on the path (they
    need no activated environment), the prefix (conda), and where CUDA_HOME says."""
    places = [os.path.join(p, "nvidia", sub, "lib") for p in sys.path if p
              for sub in ("cu13", "cuda_nvrtc")]
    places += [os.path.join(p, "lib") for p in (os.environ.get("CONDA_PREFIX"), sys.prefix) if p]
    for name in ("CUDA_HOME", "CUDA_PATH"):
        if os.environ.get(name):
            places += [os.path.join(os.environ[name], sub) for sub in ("lib64", "lib")]
    found = []
    for p in places:
        try:
            if p not in found and any(f.startswith("libnvrtc.so") for f in os.listdir(p)):
                found.append(p)
        except OSError:
            continue
    return ":".join(found) or None


def _wanted():
    return config.device or os.environ.get("FUSEC_DEVICE") or "cpu"


def default_place():
    """Tells the extension where new arrays are made."""
    wanted = _wanted()
    if wanted.startswith("cuda"):
        _core.default_device(number_of(wanted))


def options(number):
    """For the extension: what the context of a device is made with."""
    v = config.settings()
    device = name_of(number)
    if number == CPU and _wanted() == "interp":
        device = "interp"
    return {"device": device, "threads": v["threads"], "cache_dir": v["cache_dir"],
            "mode": None if v["mode"] is None else mode_of(v["mode"]),
            "tiers": None if v["tiers"] is None else _TIERS[v["tiers"]], "llvm_path": _llvm() if number == CPU else None,
            "nvrtc_path": None if number == CPU else _nvrtc()}
