# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What type checkers must understand (test_stubs.py); it is not run."""

import fusec as fx

x: fx.Array = fx.asarray([1.0, 2.0], device="cpu")
y = fx.exp(fx.sin(x) * 2 + 1).sum(axis=0, keepdims=True)
z: list[float] = (y @ y).tolist()

@fx.jit
def softmax(x: fx.Array) -> fx.Array:
    e = fx.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)

def use() -> str:
    with fx.use_device("cpu"):
        w = fx.arctan2(fx.zeros((3,)), fx.linspace(0, fx.pi, 3))
    try:
        softmax(w)
    except fx.ShapeError as error:
        print(error.slug, error.help)
    return str(fx.fft.fft(w).real.to_device("cpu").device) + str(softmax.explain(x).kernels)

x += 1
x -= fx.ones(2)
x[0] = 3
x.sort()
a = fx.concatenate((x, x), 0).flat[0]
b = fx.add(x, 1, out=x, where=x > 0, dtype=fx.float32)
d = 2 * x ** 2 // 3 % 4
e = -x, abs(x), ~(x > 1) & (x < 2) | (x == 3), 1 << fx.asarray([1, 2])
f, g = fx.divmod(x, 2)
q = fx.evaluate("a*2", {"a": x}, out=x)
def square(v: fx.Array) -> fx.Array:
    return (v * v).sum()
r = fx.grad(square)(x)
s = fx.random.default_rng(1).normal(size=(2, 3))
t = fx.random.uniform((2,), seed=3)
for row in fx.ones((2, 2)): print(row.tolist())
u = fx.einsum("ij,jk->ik", fx.eye(2), fx.eye(2))
v = fx.sort(x, descending=True), fx.unique(x), fx.where(x > 0), fx.where(x > 0, x, 0.0)
w2 = x.T.reshape(-1).astype(fx.int32).clip(0, 1).cumsum(0).repeat(2).take([0]).squeeze().item()
fx.config(threads=2)
dt: fx.DType = x.dtype
m = x.mean(where=x > 0), x.argsort(), x.nonzero(), x.dot(x), x.searchsorted(1.0), x.round(1), x.flatten(), x.tobytes()
n = fx.numexpr.evaluate("a + 1", {"a": x})
o = divmod(x, 2), round(x, 2), complex(x[0]), 1.5 in x
def times(x: fx.Array, k: int) -> fx.Array:
    return x * k
p = fx.jit(times, static_argnames="k")(x, k=2)
h = fx.linalg.norm(x), fx.linalg.svd(u), fx.torch
i1 = fx.explain(x).text

# ---- with NumPy, whose stubs take mypy seconds
import numpy as np

x -= np.ones(2)
x = x + np.arange(2)
s1 = fx.evaluate("a*2", {"a": x}, out=np.asarray(x) + 1)
