"""Fourier transforms by the names of the Array API; NumPy computes them on the host. Complex results
are NumPy's arrays: fusec has no complex dtypes yet."""

from . import _host
from ._create import asarray, use_numpy

__all__ = ["fft", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifftn", "ifftshift", "ihfft", "irfft",
           "irfftn", "rfft", "rfftfreq", "rfftn"]


def _delegated(name):
    def f(x, /, *args, **kwargs):
        f_numpy = getattr(use_numpy().fft, name)
        is_complex = getattr(getattr(x, "dtype", None), "kind", "") == "c"
        return _host.call(f"fft.{name}", f_numpy, x if is_complex else asarray(x), *args, **kwargs)

    f.__name__ = name
    f.__doc__ = f"As numpy.fft.{name}; computed by NumPy on the host."
    return f


for _name in __all__:
    globals()[_name] = _delegated(_name)


def fftfreq(n, /, *, d=1.0, dtype=None, device=None):
    r = asarray(use_numpy().fft.fftfreq(n, d))
    return r if dtype is None else r.astype(dtype)


def rfftfreq(n, /, *, d=1.0, dtype=None, device=None):
    r = asarray(use_numpy().fft.rfftfreq(n, d))
    return r if dtype is None else r.astype(dtype)
