# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Windows: what slides over an array, and the weights of filters."""

import operator

from . import _core
from ._create import arange, asarray, ones, zeros
from ._dtypes import float64
from ._shape import take_axis

__all__ = ["bartlett", "blackman", "hamming", "hanning", "sliding_window_view"]


def sliding_window_view(x, window_shape, axis=None):
    """All windows of so many neighbours, with an axis more for each axis that they slide along. Nothing is copied: what
    follows, a mean or a maximum over the new axes, reads the array itself.

    >>> fx.sliding_window_view(fx.asarray([1, 2, 4, 8]), 3).sum(axis=-1).tolist()
    [7, 14]
    """
    x = asarray(x)
    sizes = tuple(map(operator.index, window_shape if isinstance(window_shape, (tuple, list)) else (window_shape,)))
    axes = tuple(range(x.ndim)) if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,)
    if len(sizes) != len(axes):
        raise ValueError(f"window_shape has {len(sizes)} sizes, but there are {len(axes)} axes to slide along")
    if any(n < 0 for n in sizes):
        raise ValueError("window_shape cannot contain negative values")
    ndim = x.ndim
    for n, k in zip(sizes, axes):
        k = take_axis(k, ndim)
        if isinstance(x.shape[k], int) and n > x.shape[k]:
            raise ValueError(f"a window of {n} is longer than axis {k}, which has {x.shape[k]} elements")
        x = _core.op("window", (x,), (k,), (n,), (1,))
    return x


def _weights(m, f):
    """f of -1 ... 1 in m steps."""
    m = operator.index(m)
    if m < 2:
        return ones(1) if m == 1 else zeros(0)
    return f(arange(1 - m, m, 2).astype(float64) / (m - 1))


def _cos(x, k):
    return _core.rows["cos"][3](x * (k * 3.141592653589793))


def hanning(M):
    """The Hann window of M weights."""
    return _weights(M, lambda x: 0.5 + 0.5 * _cos(x, 1))


def hamming(M):
    """The Hamming window of M weights."""
    return _weights(M, lambda x: 0.54 + 0.46 * _cos(x, 1))


def blackman(M):
    """The Blackman window of M weights."""
    return _weights(M, lambda x: 0.42 + 0.5 * _cos(x, 1) + 0.08 * _cos(x, 2))


def bartlett(M):
    """The triangle of M weights, which is 0 at both ends."""
    return _weights(M, lambda x: 1 - abs(x))
