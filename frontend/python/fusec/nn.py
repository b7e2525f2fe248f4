# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of neural networks: as lazy, fused and derivable as what they are made of.

The language has the same ones (docs/language.md, "Definitions that come with fusec")."""

import fusec as fx

from ._conv import conv
from ._dtypes import BF16, BOOL, F16

__all__ = [
    "attention", "conv", "cross_entropy", "gelu", "layer_norm", "log_softmax", "relu", "rms_norm", "silu", "softmax",
]


def relu(x, /):
    """max(x, 0); nan stays."""
    return fx.maximum(x, 0)


def gelu(x, /, *, approximate=False):
    """x times the probability that a standard normal number is below x (Hendrycks and Gimpel, 2016); `approximate`: by
    their formula with tanh."""
    x = fx.asarray(x)
    if approximate:
        return 0.5 * x * (1 + fx.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))
    return 0.5 * x * (1 + fx.erf(x * 0.7071067811865476))


def silu(x, /):
    """x times its sigmoid, also called swish."""
    x = fx.asarray(x)
    return x * fx.sigmoid(x)


def softmax(x, /, axis=-1):
    """Probabilities from scores along an axis, or several."""
    x = fx.asarray(x)
    e = fx.exp(x - fx.max(x, axis=axis, keepdims=True))
    return e / fx.sum(e, axis=axis, keepdims=True)


def log_softmax(x, /, axis=-1):
    """Logarithms of softmax, right where probabilities are too small to be told from 0."""
    x = fx.asarray(x)
    s = x - fx.max(x, axis=axis, keepdims=True)
    return s - fx.log(fx.sum(fx.exp(s), axis=axis, keepdims=True))


def layer_norm(x, scale=1, shift=0, /, *, axis=-1, eps=1e-5):
    """Mean 0 and variance 1 along an axis, or several, then scale and shift, which broadcast (Ba, Kiros and Hinton, 2016)."""
    x = fx.asarray(x)
    centred = x - fx.mean(x, axis=axis, keepdims=True)
    return centred * fx.rsqrt(fx.mean(centred * centred, axis=axis, keepdims=True) + eps) * scale + shift


def rms_norm(x, scale=1, /, *, axis=-1, eps=1e-6):
    """Root mean square 1 along an axis, or several, then scale (Zhang and Sennrich, 2019)."""
    x = fx.asarray(x)
    return x * fx.rsqrt(fx.mean(x * x, axis=axis, keepdims=True) + eps) * scale


def cross_entropy(scores, labels, /):
    """-fx.log(softmax(scores)[label]) for scores [..., classes] and labels [...], integers from 0: the loss of each row.

    A label outside is an IndexError when the elements are computed."""
    logs = log_softmax(scores)
    return -fx.squeeze(fx.take_along_axis(logs, fx.expand_dims(fx.asarray(labels), axis=-1), axis=-1), axis=-1)


def attention(q, k, v, /, *, mask=None, causal=False, scale=None):
    """softmax(q k^T * scale) v: for each query the mean of the values, weighted by how well it fits the keys (Vaswani et
    al., 2017).

    q [..., n, d], k [..., m, d], v [..., m, c]; result [..., n, c] of the dtype of v. `mask` broadcasts to [..., n, m]: where it
    is False a key is not looked at, and numbers are added to the scores; a query that may look at no key is nan. `causal`: query i sees keys up to i. `scale` is
    1/sqrt(d) unless given. Of 16-bit floats the weights are computed in float32."""
    q, k, v = fx.asarray(q), fx.asarray(k), fx.asarray(v)
    s = fx.einsum("...nd,...md->...nm", q, k)
    if s._code in (F16, BF16):
        s = s.astype(fx.float32)
    s = s * (scale if scale is not None else 1 / q.shape[-1] ** 0.5)
    if mask is not None:
        mask = fx.asarray(mask)
        s = fx.where(mask, s, -float("inf")) if mask._code == BOOL else s + mask
    if causal:
        n, m = s.shape[-2:]
        s = fx.where(fx.expand_dims(fx.arange(m), axis=0) > fx.expand_dims(fx.arange(n), axis=1), -float("inf"), s)
    return fx.matmul(softmax(s).astype(v.dtype, copy=False), v)
