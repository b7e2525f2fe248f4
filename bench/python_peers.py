#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Expressions called from Python, on one processor: fusec.jit next to NumPy, numexpr, numba, JAX and
torch.compile, each as its users write it. Prints a table in Markdown.

    PYTHONPATH=build/python PYTHON-WITH-THE-PEERS bench/python_peers.py [--sizes 1000,1000000] [--rounds 15] [--cpu-time]

All peers take turns, so that what else the machine does hits all alike; a figure is the best of the rounds. Results are
compared with NumPy's before the clock runs.
"""

import argparse
import os
import platform
import sys
import time

os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
os.environ.update(NUMBA_NUM_THREADS="1", NUMEXPR_NUM_THREADS="1", OMP_NUM_THREADS="1", JAX_ENABLE_X64="1",
                  JAX_PLATFORMS="cpu")

import numpy as np  # noqa: E402

import fusec as fx  # noqa: E402

BLACK_SCHOLES = """
def f({args}):
    d = (log(s / k) + (0.05 + 0.5 * v * v) * t) / (v * sqrt(t))
    n1 = 0.5 * (1 + tanh(0.7978845608 * (d + 0.044715 * d * d * d)))
    e = d - v * sqrt(t)
    n2 = 0.5 * (1 + tanh(0.7978845608 * (e + 0.044715 * e * e * e)))
    return s * n1 - k * exp(-0.05 * t) * n2
"""

# name: (arguments, body of a function of the module's names, numexpr's text or None, matrices?)
ROWS = {
    "sin(x*2 + 1)": (("x",), "return sin(x * 2 + 1)", "sin(x * 2 + 1)", False),
    "exp(sin(x)*cos(x))": (("x",), "return exp(sin(x) * cos(x))", "exp(sin(x) * cos(x))", False),
    "x*y + 2*x - y/3": (("x", "y"), "return x * y + 2 * x - y / 3", "x * y + 2 * x - y / 3", False),
    "sum((x - y)**2)": (("x", "y"), "return sum((x - y) ** 2)", "sum((x - y) ** 2)", False),
    "option prices": (("s", "k", "t", "v"), BLACK_SCHOLES, None, False),
    "softmax of rows": (("x",), "e = exp(x - x.max(1, keepdims=True)); return e / e.sum(1, keepdims=True)", None, True),
    "layer norm of rows": (("x",), "m = x.mean(1, keepdims=True); v = ((x - m) ** 2).mean(1, keepdims=True); "
                                   "return (x - m) / sqrt(v + 1e-5)", None, True),
}
# The same as loops, as numba's users write what has axes or sums.
LOOPS = {
    "sum((x - y)**2)": "r = 0.0\nfor i in range(x.size):\n    d = x[i] - y[i]\n    r += d * d\nreturn r",
    "softmax of rows": """o = np.empty_like(x)
for i in range(x.shape[0]):
    m = x[i, 0]
    for j in range(x.shape[1]):
        m = max(m, x[i, j])
    s = 0.0
    for j in range(x.shape[1]):
        o[i, j] = np.exp(x[i, j] - m)
        s += o[i, j]
    for j in range(x.shape[1]):
        o[i, j] /= s
return o""",
    "layer norm of rows": """o = np.empty_like(x)
for i in range(x.shape[0]):
    m = 0.0
    for j in range(x.shape[1]):
        m += x[i, j]
    m /= x.shape[1]
    v = 0.0
    for j in range(x.shape[1]):
        v += (x[i, j] - m) ** 2
    r = 1 / np.sqrt(v / x.shape[1] + 1e-5)
    for j in range(x.shape[1]):
        o[i, j] = (x[i, j] - m) * r
return o""",
}


def function(args, body, names):
    """The row's function with the names of a module."""
    if "def f" in body:
        text = body.replace("{args}", ", ".join(args))
    else:
        text = f"def f({', '.join(args)}):\n" + "".join(f"    {line}\n" for line in body.replace("; ", "\n").split("\n"))
    space = dict(names)
    exec(text, space)
    return space["f"]


def names_of(module):
    return {k: getattr(module, k) for k in ("sin", "cos", "exp", "log", "sqrt", "tanh", "sum")} | {"np": np}


def peers(name):
    """{peer: (data) -> a call without arguments}"""
    args, body, text, _ = ROWS[name]
    out = {"NumPy": lambda data: (lambda f: lambda: f(*data))(function(args, body, names_of(np))),
           "fusec": lambda data: (lambda f: lambda: f(*data))(fx.jit(function(args, body, names_of(fx))))}
    try:
        import numexpr as ne

        if text:
            out["numexpr"] = lambda data: (lambda d: lambda: ne.evaluate(text, d))(dict(zip(args, data)))
    except ImportError:
        pass
    try:
        import numba

        loops = LOOPS.get(name)
        compiled = numba.njit if loops else numba.vectorize(nopython=True)
        out["numba"] = lambda data: (lambda f: lambda: f(*data))(
            compiled(function(args, loops or body, names_of(np))))
    except ImportError:
        pass
    try:
        import jax
        import jax.numpy as jnp

        def with_jax(data):
            f, there = jax.jit(function(args, body, names_of(jnp))), [jnp.asarray(a) for a in data]
            return lambda: f(*there).block_until_ready()

        out["JAX"] = with_jax
    except ImportError:
        pass
    try:
        import torch

        torch.set_num_threads(1)

        class Names:
            def __getattr__(self, k):
                return getattr(torch, k)

        def with_torch(data):
            b = body.replace("x.max(1, keepdims=True)", "x.amax(1, keepdim=True)").replace("keepdims", "keepdim")
            f = torch.compile(function(args, b, names_of(Names())), dynamic=False)
            there = [torch.from_numpy(a) for a in data]
            return lambda: f(*there)

        out["torch.compile"] = with_torch
    except ImportError:
        pass
    return out


def data_of(name, n, dtype):
    rng = np.random.default_rng(0)
    args, _, _, matrix = ROWS[name]
    shape = (max(1, n // 1000), min(n, 1000)) if matrix else (n,)
    return [rng.uniform(0.5, 1.5, shape).astype(dtype) for _ in args]


def once(f, clock, least=2e-3):
    """Seconds of a call, over as many as take that long."""
    count, t = 0, clock()
    while count == 0 or clock() - t < least:
        f()
        count += 1
    return (clock() - t) / count


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--sizes", default="1000,100000,4000000")
    p.add_argument("--rounds", type=int, default=15)
    p.add_argument("--dtype", default="float64")
    p.add_argument("--cpu-time", action="store_true", help="processor time of all threads, for a machine that others use")
    a = p.parse_args()
    clock = time.process_time if a.cpu_time else time.perf_counter
    fx.config(threads=1, tiers="full")
    columns = ["fusec", "NumPy", "numexpr", "numba", "JAX", "torch.compile"]
    print(f"{platform.processor() or platform.machine()}, one processor, {a.dtype}, Python {platform.python_version()}, "
          + ", ".join(f"{m} {sys.modules[m].__version__}" for m in ("numpy",)) + f", fusec {fx.__version__}\n")
    print("| expression | elements | " + " | ".join(columns) + " | best peer / fusec |")
    print("|---" + "|--:" * (len(columns) + 2) + "|")
    for name in ROWS:
        for n in map(int, a.sizes.split(",")):
            data, calls, want = data_of(name, n, a.dtype), {}, None
            for peer, make in peers(name).items():
                try:
                    f = make(data)
                    r = np.asarray(f())
                except Exception as e:
                    print(f"{peer}, {name}: {type(e).__name__}: {e}", file=sys.stderr)
                    continue
                want = r if want is None else want
                if not np.allclose(r, want, rtol=1e-5 if a.dtype == "float32" else 1e-9):
                    print(f"{peer}, {name}: wrong", file=sys.stderr)
                    continue
                calls[peer] = f
            best = dict.fromkeys(calls, float("inf"))
            for _ in range(a.rounds):
                for peer, f in calls.items():
                    best[peer] = min(best[peer], once(f, clock))
            others = min(t for peer, t in best.items() if peer != "fusec")
            cells = [f"{best[c] * 1e6:,.1f}" if c in best else "" for c in columns]
            print(f"| {name} | {n:,} | " + " | ".join(cells) + f" | {others / best['fusec']:.2f} |", flush=True)


if __name__ == "__main__":
    main()
