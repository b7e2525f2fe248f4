# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fourier transforms by the names of NumPy and the Array API: steps of the plan (docs/semantics.md),
on the device of the array, fused with nothing but computed with what is around them."""

from . import _core
from ._create import asarray, use_numpy
from ._dtypes import BF16, C64, DTYPES, F16, F32, F64
from ._shape import pad, roll, take_axis

__all__ = ["fft", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifftn", "ifftshift", "ihfft", "irfft",
           "irfftn", "rfft", "rfftfreq", "rfftn", "fft2", "ifft2", "rfft2", "irfft2"]

_NORMS = ("backward", "ortho", "forward")


def _floating(x):
    x = asarray(x)
    if x._code in (F16, BF16):
        return x.astype(DTYPES[F32])
    return x if x._code >= F16 else x.astype(DTYPES[F64])


def _to_length(x, n, axis):
    """n elements along the axis: cut off, or zeros behind."""
    if n is None or x.shape[axis] == n:
        return x
    if n < 1:
        raise ValueError(f"Invalid number of FFT data points ({n}) specified.")
    if n < x.shape[axis]:
        return x[(slice(None),) * axis + (slice(0, n),)]
    return pad(x, [(0, n - x.shape[k] if k == axis else 0) for k in range(x.ndim)])


def _scaled(y, n, norm, inverse):
    """The library divides inverse transforms by n."""
    if norm is None:
        norm = "backward"
    if norm not in _NORMS:
        raise ValueError(f'Invalid norm value {norm}; should be "backward", "ortho" or "forward".')
    if norm == "ortho":
        return y * float(n) ** 0.5 if inverse else y / float(n) ** 0.5
    if norm == "forward":
        return y * float(n) if inverse else y / float(n)
    return y


def _one(name, x, n, axis, norm):
    axis = take_axis(axis, x.ndim)
    if name == "irfft":
        n = 2 * (int(x.shape[axis]) - 1) if n is None else n
        if n < 1:
            raise ValueError(f"Invalid number of FFT data points ({n}) specified.")
        x = _to_length(x, n // 2 + 1, axis)
        y = _core.op("irfft", (x if x._code >= C64 else x * (1 + 0j),), (axis,), (n,), (1,))
    else:
        x = _to_length(x, n, axis)
        if not int(x.shape[axis]):
            raise ValueError("Invalid number of FFT data points (0) specified.")
        n = int(x.shape[axis])
        y = _core.op(name, (x,), (axis,))
    return _scaled(y, n, norm, name.startswith("i"))


def fft(x, /, n=None, axis=-1, norm="backward"):
    """The Fourier transform along an axis; n elements of it, cut off or with zeros behind.

    >>> fx.fft.fft(fx.asarray([1.0, 0.0])).tolist()
    [(1+0j), (1+0j)]
    """
    return _one("fft", _floating(x), n, axis, norm)


def ifft(x, /, n=None, axis=-1, norm="backward"):
    """The inverse of fft."""
    return _one("ifft", _floating(x), n, axis, norm)


def rfft(x, /, n=None, axis=-1, norm="backward"):
    """Elements 0 to n/2 of the transform of real numbers."""
    x = _floating(x)
    if x._code >= C64:
        raise TypeError("rfft takes real numbers")
    return _one("rfft", x, n, axis, norm)


def irfft(x, /, n=None, axis=-1, norm="backward"):
    """The inverse of rfft: n real numbers, by default an even n."""
    return _one("irfft", _floating(x), n, axis, norm)


_OTHER = {"backward": "forward", "forward": "backward", "ortho": "ortho", None: "forward"}


def _conj(x):
    return _core.op("conj", (x,)) if x._code >= C64 else x


def hfft(x, /, n=None, axis=-1, norm="backward"):
    """The transform of a signal with a real spectrum, of which half is given."""
    return irfft(_conj(_floating(x)), n, axis, _OTHER[norm])


def ihfft(x, /, n=None, axis=-1, norm="backward"):
    """The inverse of hfft."""
    return _conj(rfft(x, n, axis, _OTHER[norm]))


def _axes(x, s, axes):
    """Pairs of an axis and its length or None."""
    if axes is None:
        axes = range(x.ndim) if s is None else range(-len(s), 0)
    axes = [take_axis(k, x.ndim) for k in ((axes,) if isinstance(axes, int) else axes)]
    if s is not None and len(s) != len(axes):
        raise ValueError("Shape and axes have different lengths.")
    sizes = [None if s is None or s[i] == -1 else s[i] for i in range(len(axes))]
    return list(zip(axes, sizes))


def fftn(x, /, s=None, axes=None, norm="backward"):
    """fft along several axes."""
    x = _floating(x)
    for axis, n in reversed(_axes(x, s, axes)):
        x = _one("fft", x, n, axis, norm)
    return x


def ifftn(x, /, s=None, axes=None, norm="backward"):
    """The inverse of fftn."""
    x = _floating(x)
    for axis, n in reversed(_axes(x, s, axes)):
        x = _one("ifft", x, n, axis, norm)
    return x


def rfftn(x, /, s=None, axes=None, norm="backward"):
    """rfft along the last of several axes, fft along the others."""
    x = _floating(x)
    pairs = _axes(x, s, axes)
    x = rfft(x, pairs[-1][1], pairs[-1][0], norm)
    for axis, n in reversed(pairs[:-1]):
        x = _one("fft", x, n, axis, norm)
    return x


def irfftn(x, /, s=None, axes=None, norm="backward"):
    """The inverse of rfftn."""
    x = _floating(x)
    pairs = _axes(x, s, axes)
    for axis, n in pairs[:-1]:
        x = _one("ifft", x, n, axis, norm)
    return irfft(x, pairs[-1][1], pairs[-1][0], norm)


def _shift(x, axes, sign):
    x = asarray(x)
    axes = tuple(range(x.ndim)) if axes is None else (axes,) if isinstance(axes, int) else tuple(axes)
    if not axes:
        return x
    return roll(x, tuple(sign * (int(x.shape[k]) // 2) for k in axes), axis=axes)


def fftshift(x, /, axes=None):
    """Frequency 0 in the middle."""
    return _shift(x, axes, 1)


def ifftshift(x, /, axes=None):
    """The inverse of fftshift."""
    return _shift(x, axes, -1)


def fftfreq(n, /, d=1.0, dtype=None, device=None):
    """The frequencies of the elements of fft(x) of n elements a distance d apart."""
    r = asarray(use_numpy().fft.fftfreq(n, d), device=device)
    return r if dtype is None else r.astype(dtype)


def rfftfreq(n, /, d=1.0, dtype=None, device=None):
    """The frequencies of the elements of rfft(x)."""
    r = asarray(use_numpy().fft.rfftfreq(n, d), device=device)
    return r if dtype is None else r.astype(dtype)


def _of_two_axes(f, name):
    def g(x, /, s=None, axes=(-2, -1), norm="backward"):
        return f(x, s, axes, norm)

    g.__name__ = g.__qualname__ = name
    g.__doc__ = f"{f.__name__} of the last two axes."
    return g


fft2, ifft2, rfft2, irfft2 = (_of_two_axes(globals()[k + "n"], k + "2") for k in ("fft", "ifft", "rfft", "irfft"))
