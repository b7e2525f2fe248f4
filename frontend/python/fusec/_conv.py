# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions as machine learning has them (fusec.nn)."""

import operator

from . import _core
from ._create import asarray
from ._dtypes import bfloat16, float16, float32, result_type
from ._linear import einsum
from ._shape import pad


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

    >>> fx.nn.conv([[[1., 2, 4, 8]]], [[[1., -1]]]).tolist()
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
    alone = groups > 1 and per == 1 and many == groups  # a filter of its own for each channel
    if groups > 1:
        if x.shape[1] != groups * per or many % groups:
            raise ValueError(f"{groups} groups do not divide {x.shape[1]} channels and {many} filters of {per}")
    if groups > 1 and not alone:
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
    if alone:
        t = result_type(x, w)
        wide = float32 if t in (float16, bfloat16) else t
        w = w.reshape(many, *(1,) * n, *sizes).astype(wide)
        return (x.astype(wide) * w).sum(axis=tuple(range(-n, 0))).astype(t)
    if groups == 1:
        return einsum(f"nc{at}{of},mc{of}->nm{at}", x, w)
    y = einsum(f"ngc{at}{of},gmc{of}->ngm{at}", x, w)
    return y.reshape(y.shape[0], many, *y.shape[3:])
