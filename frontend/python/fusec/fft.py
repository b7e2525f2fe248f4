# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fourier transforms by the names of the Array API; NumPy computes them on the host."""

from . import _host
from ._create import asarray, use_numpy

__all__ = ["fft", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifftn", "ifftshift", "ihfft", "irfft",
           "irfftn", "rfft", "rfftfreq", "rfftn"]


def _np(name, x, *args, **kwargs):
    return _host.call(f"fft.{name}", getattr(use_numpy().fft, name), asarray(x), *args, **kwargs)


def _along_an_axis(name):
    def f(x, /, n=None, axis=-1, norm="backward"):
        return _np(name, x, n, axis, norm)

    return f


def _along_axes(name):
    def f(x, /, s=None, axes=None, norm="backward"):
        if s is not None and axes is None:
            axes = tuple(range(-len(s), 0))
        return _np(name, x, s, axes, norm)

    return f


def _shift(name):
    def f(x, /, axes=None):
        return _np(name, x, axes)

    return f


for _make, _names in ((_along_an_axis, "fft ifft rfft irfft hfft ihfft"),
                      (_along_axes, "fftn ifftn rfftn irfftn"), (_shift, "fftshift ifftshift")):
    for _name in _names.split():
        _f = _make(_name)
        _f.__name__ = _f.__qualname__ = _name
        _f.__doc__ = f"As numpy.fft.{_name}; computed by NumPy on the host."
        globals()[_name] = _f


def fftfreq(n, /, d=1.0, dtype=None, device=None):
    """The frequencies of the elements of fft(x) of n elements a distance d apart."""
    r = asarray(use_numpy().fft.fftfreq(n, d), device=device)
    return r if dtype is None else r.astype(dtype)


def rfftfreq(n, /, d=1.0, dtype=None, device=None):
    """The frequencies of the elements of rfft(x)."""
    r = asarray(use_numpy().fft.rfftfreq(n, d), device=device)
    return r if dtype is None else r.astype(dtype)
