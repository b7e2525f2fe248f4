# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""fx.config: what the library is started with, at the first array or compiled function."""

import os
import sys

from . import _core

_MODES = {"strict": 0, "contract": 1, "reassoc": 2, "recip": 4, "nnan": 8, "ninf": 16, "nsz": 32, "approx": 64,
          "fast": 127, "wide16": 128}
_TIERS = {"default": 0, "full": 1, "both": 2}


def _mode(value):
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

    device: "cpu", or "interp", the interpreter. threads: of the CPU. cache_dir: for compiled kernels,
    "" for none. mode: "strict", or a licence to round differently, or several of them ("fast" is all;
    docs/semantics.md). tiers: "full" to wait for the best code at the first call.

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

    @staticmethod
    def _check(name, value):
        if name == "mode":
            _mode(value)
        elif name == "threads":
            if not isinstance(value, int) or value < 1:
                raise ValueError(f"threads={value!r}: a number from 1")
        elif name == "tiers" and value not in _TIERS:
            raise ValueError(f"tiers={value!r}: {', '.join(_TIERS)}")
        elif name == "device" and value not in ("cpu", "interp"):
            raise ValueError(f"device={value!r}: arrays of Python are on the 'cpu', or 'interp'")

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


def options():
    """For the extension: what the context is made with."""
    v = config.settings()
    device = v["device"] or ("interp" if os.environ.get("FUSEC_DEVICE") == "interp" else "cpu")
    return {"device": device, "threads": v["threads"], "cache_dir": v["cache_dir"],
            "mode": None if v["mode"] is None else _mode(v["mode"]),
            "tiers": None if v["tiers"] is None else _TIERS[v["tiers"]], "llvm_path": _llvm(),
            "nvrtc_path": None}
