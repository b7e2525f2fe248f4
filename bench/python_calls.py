#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What calls from Python cost: fusec next to NumPy, numexpr and, where installed, numba, JAX, torch.

    PYTHONPATH=build/python build/venv/bin/python bench/python_calls.py [--large]

Prints a table in Markdown. Small: 1,000 f64, best of seven. --large: 10,000,000 f64, best of five.
"""

import argparse
import platform
import sys
import timeit

import numpy as np

import fusec as fx
import fusec.numexpr as fne

try:
    import numexpr as ne
except ImportError:
    ne = None


def best(f, repeat, number):
    f()
    return min(timeit.repeat(f, repeat=repeat, number=number)) / number


def text(seconds):
    return f"{seconds * 1e9:,.0f} ns" if seconds < 1e-5 else f"{seconds * 1e6:,.1f} us" if seconds < 1e-3 else (
        f"{seconds * 1e3:,.2f} ms")


def small():
    x, o = np.linspace(0, 1, 1000), np.empty(1000)
    y = fx.asarray(x)
    f = fx.jit(lambda x: x * 2 + 1)
    f(x), f(x), f(y)
    lazy = lambda: fx.eval(fx.exp(fx.sin(y) * fx.cos(y)) * y + y - y * 2)
    plain = lambda: np.exp(np.sin(x) * np.cos(x)) * x + x - x * 2
    rows = [
        ("y = f(x) of a jitted x*2 + 1, out=", lambda: f(x, out=o), "np.add(x, x, out=o)", lambda: np.add(x, x, out=o)),
        ("y = f(x), a new NumPy array", lambda: f(x), "x*2 + 1", lambda: x * 2 + 1),
        ("y = f(x), an array of fusec", lambda: f(y), "x*2 + 1", lambda: x * 2 + 1),
        ("lazy exp(sin(x)*cos(x))*x + x - x*2, evaluated", lazy, "the same", plain),
        ("evaluate('x*2 + 1'), out=", lambda: fne.evaluate("x*2 + 1", {"x": x}, out=o), "numexpr",
         (lambda: ne.evaluate("x*2 + 1", {"x": x}, out=o)) if ne else None),
        ("evaluate('exp(sin(x)*cos(x))')", lambda: fne.evaluate("exp(sin(x)*cos(x))", {"x": x}), "numexpr",
         (lambda: ne.evaluate("exp(sin(x)*cos(x))", {"x": x})) if ne else None),
    ]
    for _ in range(200):
        for r in rows:
            r[1]()
    table(rows, 7, 2000)


def large():
    n = 10_000_000
    x, o = np.linspace(0, 1, n), np.empty(n)
    w = np.random.default_rng(0).normal(size=(n // 1000, 1000))
    f = fx.jit(lambda x: fx.exp(fx.sin(x) * fx.cos(x)))
    g = fx.jit(lambda x: x * 2 + 1)

    @fx.jit
    def softmax(x):
        e = fx.exp(x - x.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True)

    def plain(x):
        e = np.exp(x - x.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True)

    rows = [
        ("x*2 + 1, out=", lambda: g(x, out=o), "numexpr" if ne else "NumPy",
         (lambda: ne.evaluate("x*2 + 1", out=o, local_dict={"x": x})) if ne else lambda: x * 2 + 1),
        ("exp(sin(x)*cos(x)), out=", lambda: f(x, out=o), "numexpr" if ne else "NumPy",
         (lambda: ne.evaluate("exp(sin(x)*cos(x))", {"x": x}, out=o)) if ne else
         lambda: np.exp(np.sin(x) * np.cos(x))),
        ("softmax of rows of 1,000", lambda: softmax(w), "NumPy", lambda: plain(w)),
        ("mean and standard deviation", lambda: fx.eval(*(lambda v: (v.mean(), v.std()))(fx.borrow(x))), "NumPy",
         lambda: (x.mean(), x.std())),
    ]
    for r in rows:
        r[1](), r[1](), r[1]()
    table(rows, 5, 1)


def table(rows, repeat, number):
    print("| what | fusec | peer | its time | times |\n|---|--:|---|--:|--:|")
    for what, f, peer, g in rows:
        a = best(f, repeat, number)
        b = best(g, repeat, number) if g else None
        print(f"| {what} | {text(a)} | {peer} | {text(b) if b else '-'} | {b / a:.1f} |" if b else
              f"| {what} | {text(a)} | {peer} is not installed | - | - |")


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--large", action="store_true")
    large_wanted = p.parse_args().large
    print(f"Python {platform.python_version()}, NumPy {np.__version__}"
          + (f", numexpr {ne.__version__}" if ne else "") + f", fusec on {fx.device()[0]}\n", file=sys.stderr)
    large() if large_wanted else small()
