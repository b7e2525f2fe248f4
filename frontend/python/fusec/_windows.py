# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Windows: what slides over an array, and the weights of filters."""

import operator

from . import _core
from ._create import arange, asarray, ones, zeros
from ._dtypes import float64
from ._linear import einsum
from ._shape import pad, take_axis

__all__ = ["bartlett", "blackman", "conv", "hamming", "hanning", "sliding_window_view"]


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


def _each(what, value, n):
    """One for all of n axes, or one for each."""
    values = tuple(value) if isinstance(value, (tuple, list)) else (value,) * n
    if len(values) != n:
        raise ValueError(f"{what} has {len(values)} entries; filters slide along {n} axes")
    return values


def _margins(padding, sizes, stride, dilation):
    if padding == "valid":
        padding = 0
    if padding == "same":
        if any(s != 1 for s in stride):
            raise ValueError("padding='same' is for a stride of 1")
        spans = [d * (k - 1) for k, d in zip(sizes, dilation)]
        return [(a // 2, a - a // 2) for a in spans]
    pairs = _each("padding", padding, len(sizes))
    return [tuple(map(operator.index, p if isinstance(p, (tuple, list)) else (p, p))) for p in pairs]


def conv(x, w, stride=1, padding=0, dilation=1, groups=1):
    """The filters `w` (m, c / groups, sizes...) at all places of `x` (n, c, places...), as torch.nn.functional.conv1d,
    conv2d and conv3d have it, for any number of axes: a contraction over windows of x, which is one kernel with what follows.
    `stride`, `padding` and `dilation` are a number, or one for each axis; padding a pair (before, after) as well, "same" or
    "valid". What stands around x is 0.

    >>> fx.conv([[[1., 2, 4, 8]]], [[[1., -1]]]).tolist()
    [[[-1.0, -2.0, -4.0]]]
    """
    x, w = asarray(x), asarray(w)
    n = w.ndim - 2
    if n < 1 or x.ndim != w.ndim:
        raise ValueError(f"conv takes (n, c, places...) and filters (m, c, sizes...), not {x.ndim} and {w.ndim} axes")
    sizes = tuple(map(operator.index, w.shape[2:]))
    stride, dilation = (tuple(map(operator.index, _each(what, v, n)))
                        for what, v in (("stride", stride), ("dilation", dilation)))
    if any(v < 1 for v in stride + dilation) or groups < 1:
        raise ValueError("stride, dilation and groups are 1 at least")
    margins = _margins(padding, sizes, stride, dilation)
    many, per = w.shape[0], w.shape[1]
    if groups > 1:
        if x.shape[1] != groups * per or many % groups:
            raise ValueError(f"{groups} groups do not divide {x.shape[1]} channels and {many} filters of {per}")
        x = x.reshape(x.shape[0], groups, per, *x.shape[2:])
        w = w.reshape(groups, many // groups, per, *sizes)
    first = x.ndim - n
    if any(a or b for a, b in margins):
        x = pad(x, [(0, 0)] * first + margins)
    for i, (k, s, d) in enumerate(zip(sizes, stride, dilation)):
        x = _core.op("window", (x,), (first + i,), (d * (k - 1) + 1,), (s,))
    if any(d > 1 for d in dilation):
        x = x[(...,) + tuple(slice(None, None, d) for d in dilation)]
    at, of = "ijkopqrstuvwxyz"[:n], "IJKOPQRSTUVWXYZ"[:n]
    if groups == 1:
        return einsum(f"nc{at}{of},mc{of}->nm{at}", x, w)
    y = einsum(f"ngc{at}{of},gmc{of}->ngm{at}", x, w)
    return y.reshape(y.shape[0], many, *y.shape[3:])


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
