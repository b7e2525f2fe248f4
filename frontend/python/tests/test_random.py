# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random programs: lazily, compiled, and called again, next to NumPy."""

import random
import warnings

import numpy as np
import pytest

import fusec as fx

DTYPES = ["bool", "i1", "i4", "i8", "u1", "u4", "f4", "f8"]


def number(a):
    return a if a.dtype != bool else a.astype("i8")


# Each takes the module and two arrays; `a` is what it works on.
OPS = [
    lambda m, a, b: a + b, lambda m, a, b: a * b, lambda m, a, b: a - b, lambda m, a, b: a < b,
    lambda m, a, b: a / b, lambda m, a, b: m.where(a > b, a, b), lambda m, a, b: m.maximum(a, b),
    lambda m, a, b: a + 2, lambda m, a, b: a * 1.5, lambda m, a, b: -number(a), lambda m, a, b: a.sum(),
    lambda m, a, b: number(a) // 2, lambda m, a, b: number(a) % 3, lambda m, a, b: number(a) ** 2,
    lambda m, a, b: m.mean(a), lambda m, a, b: m.sin(a.astype("f8")), lambda m, a, b: a.T,
    lambda m, a, b: a.reshape((-1,)), lambda m, a, b: a[...] if a.ndim > 3 else a[..., None],
    lambda m, a, b: a.sum(axis=-1) if a.ndim else a, lambda m, a, b: a[1:] if a.ndim else a,
    lambda m, a, b: a[..., ::-1] if a.ndim else a, lambda m, a, b: a[..., -2:] if a.ndim else a,
    lambda m, a, b: a.max(axis=0) if a.ndim and len(a) else a,
    lambda m, a, b: (m.concatenate if m is np else m.concat)([a, a]) if a.ndim else a,
]


def make_array(rnd):
    shape = tuple(rnd.choice([1, 2, 3, 5]) for _ in range(rnd.randint(0, 3)))
    dtype = rnd.choice(DTYPES)
    a = np.asarray(np.random.default_rng(rnd.randint(0, 999)).uniform(-4, 4, shape))
    a = (abs(a) if dtype[0] == "u" else a).astype(dtype)
    a = a.T if rnd.random() < 0.3 else a
    return a[::-1] if a.ndim and rnd.random() < 0.3 else a


def run(m, program, arrays):
    values = list(arrays)
    for op, i, j in program:
        values.append(OPS[op](m, values[int(i * len(values))], values[int(j * len(values))]))
    return values[-1]


@pytest.mark.parametrize("seed", range(4))
def test_random_programs(seed):
    rnd, tried = random.Random(seed), 0
    warnings.simplefilter("ignore")
    while tried < 100:
        program = [(rnd.randrange(len(OPS)), rnd.random(), rnd.random()) for _ in range(rnd.randint(1, 7))]
        arrays = [make_array(rnd), make_array(rnd)]
        try:
            with np.errstate(all="ignore"):
                want = np.asarray(run(np, program, arrays))
        except (ValueError, TypeError):
            continue
        tried += 1
        compiled = fx.jit(lambda *xs: run(fx, program, xs))
        for got in (run(fx, program, [fx.asarray(a) for a in arrays]), compiled(*arrays), compiled(*arrays)):
            got = np.asarray(got)
            assert got.shape == want.shape and got.dtype == want.dtype, (program, arrays)
            np.testing.assert_allclose(got.astype("f8"), want.astype("f8"), rtol=1e-5, atol=1e-6)
