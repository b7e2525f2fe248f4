#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products and reductions of rows on a CPU, next to NumPy and, where installed, torch, in one process.

    PYTHONPATH=build/python FUSEC_TIERS=full FUSEC_THREADS=1 OPENBLAS_NUM_THREADS=1 \\
        build/venv/bin/python bench/python_products.py [REGEX] [--seconds S] [--behind]

Each row is called in turn with its peers, into memory that is there, and the least time of a call counts. GB/s are
those of the arrays. --behind shows only the rows in which a peer is more than a tenth faster.
"""

import argparse
import platform
import re
import time

import numpy as np

import fusec as fx

try:
    import torch
except ImportError:
    torch = None

R = np.random.default_rng(0)


def draw(shape, dtype):
    if np.dtype(dtype).kind == "i":
        return R.integers(-9, 9, shape).astype(dtype)
    return R.random(shape).astype(dtype) - np.dtype(dtype).type(0.5)


def bf16(a):
    return fx.asarray(a).astype(fx.bfloat16)


def rows():
    """name, function of fusec, of NumPy (with out=; None: none), arrays, length of the result"""
    f32, f64, i8 = np.float32, np.float64, np.int8
    mv = lambda a, v: a @ v
    square = (8, 16, 32, 64, 100, 128, 256, 512, 1000, 2048, 4096)
    for t in (f32, f64):
        for n in square:
            yield f"matvec {t.__name__} {n}x{n}", mv, np.matmul, [draw((n, n), t), draw(n, t)]
        for n, k in ((4096, 16), (4096, 64), (1000, 100), (64, 4096), (16, 4096), (4, 4096), (20000, 256), (100, 100000)):
            yield f"matvec {t.__name__} {n}x{k}", mv, np.matmul, [draw((n, k), t), draw(k, t)]
        for n in square:
            yield f"vecmat {t.__name__} {n}x{n}", lambda v, a: v @ a, np.matmul, [draw(n, t), draw((n, n), t)]
    half = np.float16
    for n in (64, 256, 1024, 4096):
        for name, weights in (("i8", i8), ("i16", np.int16), ("f16", half)):
            yield (f"matvec {name} weights, f32 {n}x{n}", lambda a, v: a.astype(fx.float32) @ v,
                   lambda a, v, out: np.matmul(a.astype(f32), v, out=out), [draw((n, n), weights), draw(n, f32)])
    for n in (8, 16, 32, 64, 128, 256, 512, 1024):
        yield f"a @ b {n}", lambda a, b: a @ b, np.matmul, [draw((n, n), f32), draw((n, n), f32)]
        yield (f"a @ b.T {n}", lambda a, b: a @ b.T, lambda a, b, out: np.matmul(a, b.T, out=out),
               [draw((n, n), f32), draw((n, n), f32)])
        yield (f"a.T @ b {n}", lambda a, b: a.T @ b, lambda a, b, out: np.matmul(a.T, b, out=out),
               [draw((n, n), f32), draw((n, n), f32)])
    for n in (256, 1024, 4096):
        yield f"a row @ w.T {n}x{n}", lambda x, w: x @ w.T, lambda x, w, out: np.matmul(x, w.T, out=out), [draw((1, n), f32), draw((n, n), f32)]
        yield f"a row @ w {n}x{n}", lambda x, w: x @ w, np.matmul, [draw((1, n), f32), draw((n, n), f32)]
        yield f"w @ a column {n}x{n}", lambda w, x: w @ x, np.matmul, [draw((n, n), f32), draw((n, 1), f32)]
    yield ("8 heads, 1 x 64 by 512 x 64, q @ k.T", lambda q, k: q @ k.swapaxes(-1, -2),
           lambda q, k, out: np.matmul(q, k.swapaxes(-1, -2), out=out), [draw((8, 1, 64), f32), draw((8, 512, 64), f32)])
    for m, k, n in ((1000, 64, 10), (20000, 64, 8), (4000, 1024, 16), (16, 4096, 16), (1024, 1024, 8), (4, 512, 100)):
        yield f"few columns {m}x{k}x{n}", lambda a, b: a @ b, np.matmul, [draw((m, k), f32), draw((k, n), f32)]
        yield (f"few columns, turned {m}x{k}x{n}", lambda a, b: a @ b.T, lambda a, b, out: np.matmul(a, b.T, out=out),
               [draw((m, k), f32), draw((n, k), f32)])
    for b, n in ((1000, 8), (1000, 16), (1000, 32), (200, 64)):
        yield f"batch {b} of {n}", lambda a, b: a @ b, np.matmul, [draw((b, n, n), f32), draw((b, n, n), f32)]
        yield (f"batch {b} of {n} matvec", lambda a, v: (a @ v[:, :, None])[:, :, 0],
               lambda a, v, out: np.matmul(a, v[:, :, None], out=out[:, :, None]), [draw((b, n, n), f32), draw((b, n), f32)])
    for t in (f32, f64):
        s = t.__name__
        for k in (8, 12, 32, 64, 100, 128, 200, 256, 512, 1000, 1024, 4096):
            n = max(8, 65536 // k)
            yield f"sum {s} {n}x{k}", lambda a: a.sum(-1), lambda a, out: np.sum(a, -1, out=out), [draw((n, k), t)]
            yield (f"weighted sum {s} {n}x{k}", lambda a, w: (a * w).sum(-1), lambda a, w, out: np.sum(a * w, -1, out=out),
                   [draw((n, k), t), draw((n, k), t)])
            yield (f"norm {s} {n}x{k}", lambda a: fx.sqrt((a * a).sum(-1)),
                   lambda a, out: np.sqrt(np.einsum("ij,ij->i", a, a), out=out), [draw((n, k), t)])
            yield f"mean {s} {n}x{k}", lambda a: a.mean(-1), lambda a, out: np.mean(a, -1, out=out), [draw((n, k), t)]
            yield f"var {s} {n}x{k}", lambda a: a.var(-1), lambda a, out: np.var(a, -1, out=out), [draw((n, k), t)]
            yield f"max {s} {n}x{k}", lambda a: a.max(-1), lambda a, out: np.max(a, -1, out=out), [draw((n, k), t)]


def of_torch(name, a):
    if torch is None or not re.match(r"matvec f|vecmat|a @ b \d|batch \d+ of \d+$", name):
        return None
    x, y = map(torch.from_numpy, a)
    return lambda: torch.matmul(x, y)


def least(calls, seconds):
    """The least time of each, all in turn."""
    number = []
    for f in calls:
        f(), f()
        t = time.perf_counter()
        f()
        t = time.perf_counter() - t
        number.append(max(1, int(2e-4 / max(t, 1e-7))))
    best, end = [float("inf")] * len(calls), time.perf_counter() + seconds
    rounds = 0
    while time.perf_counter() < end or rounds < 5:
        rounds += 1
        for i, f in enumerate(calls):
            t = time.perf_counter()
            for _ in range(number[i]):
                f()
            best[i] = min(best[i], (time.perf_counter() - t) / number[i])
    return best


def us(t):
    return f"{t * 1e6:,.2f}" if t < 1e-4 else f"{t * 1e6:,.0f}"


def main():
    p = argparse.ArgumentParser()
    p.add_argument("only", nargs="?", default="")
    p.add_argument("--seconds", type=float, default=0.1)
    p.add_argument("--behind", action="store_true")
    a = p.parse_args()
    print(f"Python {platform.python_version()}, NumPy {np.__version__}, torch {torch.__version__ if torch else '-'}, fusec on {fx.device()[0]}\n")
    print("| row | fusec, us | NumPy | torch | NumPy / fusec | GB/s | first call, ms |\n|---|--:|--:|--:|--:|--:|--:|", flush=True)
    for name, f, plain, arrays in rows():
        if not re.search(a.only, name):
            continue
        jit = fx.jit(f)
        t = time.perf_counter()
        shape = np.asarray(jit(*arrays))
        t = time.perf_counter() - t
        out, of_numpy = np.empty_like(shape), np.empty_like(shape)
        calls = [lambda: jit(*arrays, out=out), lambda: plain(*arrays, out=of_numpy)]
        third = of_torch(name, arrays)
        best = least(calls + ([third] if third else []), a.seconds)
        rough = np.max(np.abs(out - of_numpy)) / max(1e-9, np.max(np.abs(of_numpy)))
        if rough > 1e-3:
            raise SystemExit(f"{name}: differs by {rough}")
        if a.behind and min(best[1:]) > 0.9 * best[0]:
            continue
        size = sum(x.nbytes for x in arrays) + out.nbytes
        print(f"| {name} | {us(best[0])} | {us(best[1])} | {us(best[2]) if third else '–'} | {best[1] / best[0]:.2f} | "
              f"{size / best[0] / 1e9:.1f} | {t * 1e3:.0f} |", flush=True)


if __name__ == "__main__":
    main()
