#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes tests/gradients: derivatives computed by JAX, and the program that compares ours with them.

    pip install jax numpy
    scripts/make_gradient_table.py

Every line of FIRST is one expression in the syntax that Python and the language share. It is derived by
each array it names; those of SECOND along x, twice: the Hessian times x. The files:

    inputs and want.npy   f64; a row of `want` is one derivative, flattened
    gradients.fuse        a result for each derivative: how far ours is from it
"""
import os
import re

import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)

FIRST = """
x + q.T
x - s
x * p
x / p
p / x
x * s + v
2.5 * x - 1
-x * v
abs(x) * p
x % 1.3
fmod(x, 0.7)
copysign(p, x)
fma(x, p, v)
lerp(x, p, 0.3)
lerp(x, 2*p, s)
minimum(x, p)
maximum(x, v)
minimum(x*x, p)
fmin(x, p)
fmax(x, v*s)
clip(x, -0.5, 1)
clip(x, v - 1, p)
relu(x) * p
floor(x) * p
round(3*x) + x
trunc(x) * x
ceil(p) * x
sqrt(p)
sqrt(x*x + v*v)
rsqrt(p + s)
cbrt(p)
cbrt(x)
exp(x)
exp2(x * s)
expm1(x)
log(p)
log2(p + 1)
log10(p * s)
log1p(p)
p ** x
p ** 2.5
x ** 3
x ** 2 * s
hypot(x, p)
sin(x)
cos(x * s)
tan(x / 3)
asin(x / 3)
acos(x / 3)
atan(x)
atan2(x, p)
atan2(p, x)
sinh(x)
cosh(x)
tanh(x)
asinh(x)
acosh(p + 1)
atanh(x / 3)
erf(x)
erfc(x * s)
sigmoid(x)
softplus(x)
softplus(-3*x) * s
sinc(x)
where(x > 0, exp(x), p)
where(x < v, x * v, p / 2)
where(p > 0.8, sqrt(p), x)
exp(sin(x) * cos(x))
sin(x) * exp(-p) + cos(v)
log(1 + exp(x * s))
tanh(x * v + s)
1 / (1 + exp(-x))
x * sigmoid(1.702 * x)
0.5 * x * (1 + tanh(0.7978845608 * (x + 0.044715 * x**3)))
sqrt(1 + (x / p)**2)
sum(x)
sum(x * p, axis=0)
sum(x * v, axis=1)
sum(x, axis=-1, keepdims=true) * p
mean(x * x)
mean(x, axis=0) * v
mean(x * p, axis=1, keepdims=true) * x
prod(p)
prod(x, axis=1)
prod(p * s, axis=0) * v
min(x, axis=1)
max(x, axis=0)
max(x * p)
min(x * v, axis=0, keepdims=true) * p
var(x)
var(x, axis=1)
var(x * p, axis=0) * v
std(x)
std(x, axis=0)
std(x * v, axis=1, keepdims=true) + x
logsumexp(x, axis=1)
logsumexp(x * s)
logsumexp(x * p, axis=0, keepdims=true) * x
x - mean(x, axis=1, keepdims=true)
(x - mean(x, axis=1, keepdims=true)) / std(x, axis=1, keepdims=true)
(x - mean(x, axis=-1, keepdims=true)) * rsqrt(var(x, axis=-1, keepdims=true) + 0.01) * v + p
x * rsqrt(mean(x*x, axis=-1, keepdims=true) + 0.01) * v
exp(x - max(x, axis=1, keepdims=true)) / sum(exp(x - max(x, axis=1, keepdims=true)), axis=1, keepdims=true)
logsumexp(x, axis=1) - sum(x * p, axis=1)
mean(softplus(sum(x*v, axis=1) + s) - sum(x, axis=1))
sum((x[:, None, :] - p[None, :, :])**2, axis=-1)
sqrt(sum((x[:, None, :] - q.T[None, :, :])**2, axis=-1) + 0.1)
x.T * q
transpose(x, [1, 0]) @ x
reshape(x, [2, 6]) * s
reshape(x * p, [12])
sin(reshape(x, [4, 3])) * q
flip(x, axis=1) * v
broadcast(v * s, [3, 4]) * x
broadcast(x, [2, 3, 4])
x[1:] * p[:2]
x[:, 1:3] * v[2:]
x[::2, 1:]
x[1, :] * v
x[0, 1] * p
x[::-1, ::2] * s
x[:, :-1] - x[:, 1:]
x[1:, 1:] + x[:-1, :-1] - 2*x[1:, :-1]
v[::-1] * x
(x[2] + x[0]) * v[None, :]
x @ q
x @ v
sin(x) @ cos(q)
q @ x
v @ q
tanh(x @ q + s) @ x
sum((x @ q)**2, axis=1)
matmul(x, q) * s
einsum("ij,ij->i", x, p)
einsum("ij,kj->ik", x, p)
einsum("ij,j->i", x, v)
einsum("ij->ji", x * s)
einsum("i,j->ij", v, v)
stop_grad(x) * x
x * stop_grad(p) + p
materialize(sin(x)) * p
exp(-(x - s)**2 / (2 * p**2)) / (p * 2.5066282746)
0.5 * erfc(-(log(p) + s) / 1.4142135624)
maximum(p - s, 0) * v
abs(x - p) / (abs(x) + abs(p))
""".strip().splitlines()

SECOND = """
exp(sin(x) * cos(x))
x**3 * p
tanh(x) * p
sqrt(p + x*x)
log(1 + x*x)
softplus(x) * v
sigmoid(x)
atan2(x, p)
hypot(x, p)
where(x > 0, exp(x), x*x)
maximum(x*x, p)
p ** x
sinc(x)
erf(x)
sum(x * p, axis=0)**2
mean(x, axis=1) * sum(x, axis=1)
var(x, axis=1)
std(x, axis=0)
max(x*x, axis=1)
logsumexp(x, axis=1)
x * rsqrt(mean(x*x, axis=-1, keepdims=true) + 0.01) * v
exp(x - max(x, axis=1, keepdims=true)) / sum(exp(x - max(x, axis=1, keepdims=true)), axis=1, keepdims=true)
x[1:] * sin(x[:-1])
reshape(x, [4, 3]) @ x
tanh(x @ q) * s
x.T @ x
""".strip().splitlines()

rng = np.random.default_rng(7)
INPUTS = {
    "x": rng.uniform(-2, 2, (3, 4)),
    "p": rng.uniform(0.3, 2, (3, 4)),
    "q": rng.uniform(-1, 1, (4, 3)),
    "v": rng.uniform(0.2, 1.5, (4,)),
    "s": np.array(0.7),
}
NAMES = {name: getattr(jnp, name) for name in """abs where minimum maximum fmin fmax clip floor round trunc ceil
    sqrt cbrt exp exp2 expm1 log log2 log10 log1p hypot sin cos tan sinh cosh tanh sinc sum mean prod min max var std
    transpose reshape flip matmul einsum fmod copysign""".split()}
NAMES |= {"asin": jnp.arcsin, "acos": jnp.arccos, "atan": jnp.arctan, "atan2": jnp.arctan2, "asinh": jnp.arcsinh,
          "acosh": jnp.arccosh, "atanh": jnp.arctanh, "erf": jax.scipy.special.erf, "erfc": jax.scipy.special.erfc,
          "sigmoid": jax.nn.sigmoid, "softplus": jax.nn.softplus, "relu": jax.nn.relu, "rsqrt": jax.lax.rsqrt,
          "logsumexp": jax.scipy.special.logsumexp, "fma": lambda a, b, c: a*b + c, "true": True,
          "lerp": lambda a, b, t: a + t*(b - a), "broadcast": jnp.broadcast_to,
          "stop_grad": jax.lax.stop_gradient, "materialize": lambda a: a}


def used(text):
    return [n for n in INPUTS if re.search(rf"\b{n}\b", text)]


def loss_of(text):
    def loss(**given):
        y = eval(text, NAMES, {k: jnp.asarray(v) for k, v in (INPUTS | given).items()})
        return jnp.sum(y * (y / 2 + 1))
    return loss


def first(text, name):
    return jax.grad(lambda a: loss_of(text)(**{name: a}))(jnp.asarray(INPUTS[name]))


def second(text):
    slope = jax.grad(lambda a: loss_of(text)(x=a))
    x = jnp.asarray(INPUTS["x"])
    return jax.jvp(slope, (x,), (x,))[1]


def main():
    rows, parts = [], []
    body, results = [], []

    def end_part():  # a program has at most 256 results
        parts.append((list(body), list(results)))
        body.clear()
        results.clear()

    def compare(value, given):
        flat = np.asarray(given, dtype=np.float64).reshape(-1)
        assert np.isfinite(flat).all(), value
        rows.append(np.concatenate([flat, np.zeros(12 - flat.size)]))
        k, n = len(rows) - 1, flat.size
        w = f"want[{k}]" if n == 12 else f"want[{k}, :{n}]"
        d = f"reshape({value}, [{n}])"
        body.append(f"    c{k} = max(abs({d} - {w}) / (1 + abs({w})))")
        results.append(f"c{k}")

    for i, text in enumerate(FIRST):
        names = used(text)
        body.append(f"\n    y{i} = {text}\n    L{i} = sum(y{i}*(y{i}/2 + 1))")
        body.append("    " + ", ".join(f"d{i}{n}" for n in names) + f" = grad(L{i}, {', '.join(names)})")
        for n in names:
            compare(f"d{i}{n}", first(text, n))
        if i % 40 == 39:
            end_part()
    end_part()
    for i, text in enumerate(SECOND):
        body.append(f"\n    z{i} = {text}\n    M{i} = sum(z{i}*(z{i}/2 + 1))")
        compare(f"jvp(grad(M{i}, x), x, x)", second(text))
    end_part()

    there = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "gradients")
    os.makedirs(there, exist_ok=True)
    types = ", ".join(f"{n}: f64" + (str(list(v.shape)) if v.ndim else "") for n, v in INPUTS.items())
    with open(os.path.join(there, "gradients.fuse"), "w") as f:
        f.write("# Made by scripts/make_gradient_table.py: how far derivatives are from those of JAX "
                f"{jax.__version__}.\n")
        for i, (lines, names) in enumerate(parts):
            f.write(f"\ndef part{i}({types}, want: f64[{len(rows)}, 12])\n        -> (")
            f.write(", ".join(f"{r}: f64" for r in names) + ") {\n" + "\n".join(lines))
            f.write("\n\n    return " + ", ".join(names) + "\n}\n")
    for n, v in INPUTS.items():
        if v.ndim:
            np.save(os.path.join(there, n + ".npy"), v)
    np.save(os.path.join(there, "want.npy"), np.array(rows))
    print(len(rows), "derivatives")


main()
