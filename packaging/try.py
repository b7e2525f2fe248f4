# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Does an installed package work? Run by packaging/wheel in a fresh environment."""

import sys

import fusec as fx

x = fx.asarray([0.0, 0.5, 1.0])  # without NumPy
assert (x * 2 + 1).tolist() == [1.0, 2.0, 3.0]

import numpy as np  # noqa: E402


@fx.jit
def softmax(x):
    e = fx.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


a = np.random.default_rng(0).normal(size=(100, 30))
np.testing.assert_allclose(softmax(a).sum(-1), 1)
np.testing.assert_allclose(fx.evaluate("sin(a*2) + 1", {"a": a}), np.sin(a * 2) + 1)
np.testing.assert_allclose(fx.grad(lambda x: (x * x).sum())(a), 2 * a)
assert np.allclose(np.asarray(fx.exp(1j * fx.asarray(a))), np.exp(1j * a))
print(f"Python {sys.version.split()[0]}, NumPy {np.__version__}, fusec {fx.__version__} on {fx.device()[0]}: works")
