# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Devices: their names and numbers, and where new arrays are made."""

import functools

from . import _core

CPU = 0
_MOST = 16  # GPUs


def number_of(device):
    """The number of a device by its name ("cpu", "cuda", "cuda:1"), or of a device of torch."""
    name = str(device)
    if name in ("cpu", "cpu:0"):
        return CPU
    kind, _, n = name.partition(":")
    if kind == "cuda" and (not n or n.isdigit()) and int(n or 0) < _MOST:
        return 1 + int(n or 0)
    raise ValueError(f"the device {device!r} is not there: 'cpu', 'cuda', 'cuda:1' and so on")


def name_of(number):
    return "cpu" if number == CPU else f"cuda:{number - 1}"


class use_device:
    """Where new arrays are made inside a `with`, by this thread.

    >>> with fx.use_device("cpu"):
    ...     fx.zeros(3).device
    'cpu'
    """

    def __init__(self, device):
        self._number = number_of(device)

    def __enter__(self):
        self._before = _core.new_on(self._number)
        try:
            _core.arange(1)  # a device that is not there says so here
        except Exception:
            _core.new_on(self._before)
            raise
        return self

    def __exit__(self, *exception):
        _core.new_on(self._before)


def default_device(device=None):
    """The name of the device that new arrays are made on; with an argument, sets it for the process."""
    if device is not None:
        _core.default_device(number_of(device))
    return name_of(_core.current_device())


def placed(f):
    """f with an argument `device`, which says where its arrays are made."""

    @functools.wraps(f)  # whose signature has `device`, for readers
    def on(*args, device=None, **kwargs):
        if device is None:
            return f(*args, **kwargs)
        if _core.tracing() is not None:
            if number_of(device) != _core.tracing().device:
                raise ValueError(f"a compiled function works on one device, here {name_of(_core.tracing().device)}")
            return f(*args, **kwargs)
        before = _core.new_on(number_of(device))
        try:
            return f(*args, **kwargs)
        finally:
            _core.new_on(before)

    return on


def gpus():
    """The names of the GPUs that can be used here."""
    found = []
    while len(found) < _MOST and _core.has_device(1 + len(found)):
        found.append(name_of(1 + len(found)))
    return tuple(found)


def beside(f):
    """f, whose new arrays are on the device of its first argument."""

    @functools.wraps(f)
    def on(x, *args, **kwargs):
        device = getattr(x, "_device", -1)
        if device < 0 or device == _core.current_device() or _core.tracing() is not None:
            return f(x, *args, **kwargs)
        before = _core.new_on(device)
        try:
            return f(x, *args, **kwargs)
        finally:
            _core.new_on(before)

    return on
