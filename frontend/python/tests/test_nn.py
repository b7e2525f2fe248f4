# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""fusec.nn against NumPy in float64, its derivatives against differences, and how many kernels it is."""
import math

import numpy as np
import pytest

import fusec as fx

rng = np.random.default_rng(3)


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def gelu(x):
    return x * 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


def layer_norm(x, scale, shift, eps):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + eps) * scale + shift


CASES = {
    "relu": (fx.nn.relu, lambda x: np.maximum(x, 0)),
    "gelu": (fx.nn.gelu, gelu),
    "gelu_tanh": (lambda x: fx.nn.gelu(x, approximate=True),
                  lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))),
    "silu": (fx.nn.silu, lambda x: x / (1 + np.exp(-x))),
    "softmax": (fx.nn.softmax, softmax),
    "softmax_0": (lambda x: fx.nn.softmax(x, axis=0), lambda x: softmax(x, 0)),
    "softmax_all": (lambda x: fx.nn.softmax(x, (0, 1)), lambda x: softmax(x.ravel()).reshape(x.shape)),
    "log_softmax": (fx.nn.log_softmax, lambda x: np.log(softmax(x))),
    "layer_norm": (lambda x: fx.nn.layer_norm(x, x[0] * 2, x[1], eps=0.1), lambda x: layer_norm(x, x[0] * 2, x[1], 0.1)),
    "layer_norm_plain": (fx.nn.layer_norm, lambda x: layer_norm(x, 1, 0, 1e-5)),
    "rms_norm": (lambda x: fx.nn.rms_norm(x, x[0]), lambda x: x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6) * x[0]),
    "cross_entropy": (lambda x: fx.nn.cross_entropy(x, fx.arange(x.shape[0]) % 3),
                      lambda x: -np.log(softmax(x))[np.arange(x.shape[0]), np.arange(x.shape[0]) % 3]),
}


@pytest.mark.parametrize("name", CASES)
def test_values_and_derivatives(name):
    f, reference = CASES[name]
    x = rng.standard_normal((5, 7))
    np.testing.assert_allclose(np.asarray(f(x)), reference(x), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(np.asarray(fx.jit(f)(x)), reference(x), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(np.asarray(f(x.astype("f4"))), reference(x), rtol=3e-6, atol=1e-6)
    assert f(fx.asarray(x.astype("f4"))).dtype == fx.float32
    weights, h = rng.standard_normal(reference(x).shape), 1e-5
    got = np.asarray(fx.grad(lambda x: fx.sum(f(x) * weights))(fx.asarray(x)))
    for at in [(0, 0), (1, 3), (4, 6)]:
        d = np.zeros_like(x)
        d[at] = h
        want = ((reference(x + d) - reference(x - d)) * weights).sum() / (2 * h)
        np.testing.assert_allclose(got[at], want, rtol=1e-5, atol=1e-8)


def test_large_scores_neither_overflow_nor_vanish():
    x = np.array([[1000.0, 0.0], [-1000.0, 1000.0]])
    assert np.asarray(fx.nn.softmax(x)).tolist() == [[1, 0], [0, 1]]
    assert np.asarray(fx.nn.log_softmax(x)).tolist() == [[0, -1000], [-2000, 0]]
    assert np.asarray(fx.nn.cross_entropy(x, [1, 1])).tolist() == [1000, 0]


@pytest.mark.parametrize("masked", ["no", "mask", "added", "causal"])
def test_attention(masked):
    q, k, v = (rng.standard_normal((2, 3, n, d)) for n, d in ((4, 8), (6, 8), (6, 5)))
    keep = rng.random((4, 6)) > 0.3
    keep[:, 0] = True
    bias = rng.standard_normal((3, 4, 6))
    s = q @ k.swapaxes(-1, -2) / math.sqrt(8)
    how = {"no": {}, "mask": {"mask": keep}, "added": {"mask": bias}, "causal": {"causal": True}}[masked]
    s = {"no": s, "mask": np.where(keep, s, -np.inf), "added": s + bias,
         "causal": np.where(np.tri(4, 6, dtype=bool), s, -np.inf)}[masked]
    np.testing.assert_allclose(np.asarray(fx.nn.attention(q, k, v, **how)), softmax(s) @ v, rtol=1e-12, atol=1e-13)


def test_attention_of_16_bits_and_its_scale():
    q, k, v = (rng.standard_normal((2, 16, 8)).astype("f2") for _ in range(3))
    got = fx.nn.attention(q, k, v, scale=0.5)
    assert got.dtype == fx.float16
    want = softmax(q.astype("f8") @ k.swapaxes(-1, -2).astype("f8") * 0.5) @ v
    np.testing.assert_allclose(np.asarray(got, "f8"), want, rtol=0.02, atol=0.02)


def test_labels_outside():
    with pytest.raises(IndexError):
        np.asarray(fx.nn.cross_entropy(np.zeros((2, 3)), [0, 3]))


def test_one_kernel():
    x = fx.asarray(rng.standard_normal((50, 70)).astype("f4"))
    for f in (fx.nn.gelu, fx.nn.softmax, fx.nn.log_softmax, fx.nn.layer_norm, fx.nn.rms_norm):
        assert len(fx.explain(f(x)).kernels) == 1
    w = fx.asarray(rng.standard_normal((70, 30)).astype("f4"))
    assert len(fx.explain(fx.nn.gelu(x @ w + w[0])).kernels) == 1
