# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a user of NumPy writes by habit, a line each: on our arrays it gives NumPy's values and dtypes, or an
error where NumPy has one."""

import math
import os

import numpy as np
import pytest

import fusec as fx

RNG = np.random.default_rng(0)
F = RNG.normal(size=(4, 5))
N = F.copy()
N[1, 2] = np.nan
ARRAYS = {"F": F, "I": RNG.integers(-9, 9, (4, 5)), "B": F > 0, "S": F.astype(np.float32), "C": F + 1j * F[::-1], "N": N,
          "U": np.abs(F * 9).astype(np.uint8), "J": (F * 9).astype(np.int8), "E": np.zeros((0, 5)), "Z": np.array(2.5)}

# a: each of the arrays named in front; statements before the last ; are run, what follows it is compared
HABITS = """
FIBS a[[]]
FI a[[0, 2], 1:3]
FI a[a > 0]
FIS a.flat[3], a.flat[1:4], len(a.flat)
FI a.flat[2:4] = 7; a
FIBCS a.reshape((5, 4), order='F'), a.ravel('F'), a.flatten('F')
FIBCSUJ a.tobytes()
FI a.view(np.uint8)
FIB a.strides, a.base is None
FI a.sort(); a
FIBS a.sort(0); a
FI a.sort(axis=None) if False else a
FI a.argsort(axis=1, kind='stable'), xp.sort(a, 0), xp.sort(a, axis=0, kind='stable'), xp.argsort(a, 1, 'stable')
FI a.partition(2); a.sort(); a
FI a.put([0, 7], [9, 8]); a
FI a.compress([True, False, True, False], axis=0)
FSIJ a += 1; a
S a += np.ones((4, 5)); a
I a += np.ones((4, 5)); a
IJ a /= 2; a
B a += 1; a
I a **= 2; a
FI b = a[0]; b += a; b
FSIJ a *= 2; a //= 3; a -= 1; a %= 4; a
IU a |= 3; a ^= 1; a <<= 1; a
FI a[:, [0, 1]] = a[:, [1, 0]]; a
FI a[a > 0] *= 2; a
J xp.min(a, axis=1, initial=-0.5), xp.max(a, initial=100)
FS xp.sum(a, axis=0, out=xp.zeros(5))
FI np.add(a, 1, out=a); a
FIS np.add(a, 1, where=a > 0, out=xp.zeros((4, 5)))
F np.add(a, 1, casting='unsafe', dtype=int)
FI np.add(a, 1, dtype=np.float32)
FI np.less(a, 1, dtype=bool)
FI xp.exp(a, out=xp.zeros((4, 5)))
F xp.sin(a, dtype=np.float32)
F xp.exp(a, wrong=1)
C xp.float_power(a, 2.0)
IUJF xp.fabs(a)
IUBF xp.sinc(a), xp.angle(a)
C xp.round(a, 1), xp.rint(a)
UIB xp.isclose(a, 2), xp.allclose(a, a)
U xp.isclose(xp.asarray([1, 2], dtype='u1'), xp.asarray([2, 1], dtype='u1'), atol=1)
UJ np.arctan2(a, xp.asarray([1], dtype='i1')), np.hypot(a, xp.asarray([1], dtype='u1'))
UB np.nextafter(a, 2.5)
F xp.array([1, 2, 300], dtype=np.uint8)
F xp.array([-1], dtype=np.uint8)
F xp.array([1.5, 2], dtype=int), xp.array([1, 2], dtype='f4')
FI xp.concatenate((a, a), 1), xp.concatenate([a, a], axis=None), xp.stack([a, a], 1), xp.roll(a, 1, 0), xp.repeat(a, 2, 0)
FI xp.diff(a, 1), xp.diff(a, 1, 0), xp.take(a, [0, 2], 1), xp.take_along_axis(a, xp.argsort(a, 1), 1)
FI xp.take(a, [0, 30], mode='clip'), xp.take(a, [0, -3], mode='wrap')
FI xp.count_nonzero(a, 0), xp.searchsorted(xp.asarray([1.0, 2]), a, 'right'), xp.tensordot(a, a, 2)
FI xp.tril(a, -1), xp.triu(a, 1), xp.tril(a[0]), xp.eye(3, 4, 1)
FI xp.linspace(0, 1, 5, endpoint=False), xp.linspace(0, 1, 3, retstep=True), xp.meshgrid(a[0], a[1], sparse=True)
FI xp.average(a, axis=0, weights=[1, 2, 3, 4], returned=True), xp.average(a, returned=True)
FI xp.array_split(a, 3, axis=1), xp.hsplit(a, [2]), xp.vsplit(a, 2)
FI xp.cov(a), xp.cov(a.T, rowvar=False), xp.corrcoef(a), xp.trapezoid(a, dx=0.1), xp.trapezoid(a[0], xp.arange(5.0))
FI xp.polyval([1, 2, 3], a), xp.ediff1d(a), xp.unwrap(a[0]), xp.vander(a[0], 3), xp.logspace(0, 2, 3), xp.geomspace(1, 8, 4)
N xp.nanargmax(a), xp.nanargmin(a, axis=0), xp.nancumsum(a), xp.nancumprod(a, 1), xp.nanmedian(a)
FI xp.union1d(a, [1]), xp.intersect1d(a, a[0]), xp.setdiff1d(a, a[0]), xp.extract(a > 0, a), xp.lexsort((a[0], a[1]))
FI xp.partition(a, 2)[..., 2], a[xp.triu_indices(4)], xp.unravel_index(7, (4, 5)), a[xp.ix_([0, 1], [2, 3])]
FI xp.block([[a, a], [a, a]]), xp.apply_along_axis(lambda r: r.sum(), 1, a), xp.piecewise(a, [a < 0], [-1, 1])
FI xp.copyto(a, 3); a
FI xp.copyto(a, a[0] * 2, where=a > 0, casting='unsafe'); a
FI np.copyto(a, 4); a
FI xp.put_along_axis(a, xp.argmax(a, axis=1, keepdims=True), 9, 1); a
FI xp.fill_diagonal(a, 0); a
FI np.putmask(a, a > 0, 0); xp.place(a, a == 0, [1, 2]); a
FI xp.quantile(a, [0.1, 0.9], axis=1, keepdims=True), xp.percentile(a, 30)
FI xp.linalg.pinv(a), xp.linalg.cond(a), xp.linalg.multi_dot([a, a.T, a]), xp.linalg.svd(a, compute_uv=False)
FIS xp.fft.fft2(a), xp.fft.irfft2(xp.fft.rfft2(a))
FI xp.matvec(a, a[0]), xp.vecmat(a[:, 0], a)
E a.sum(), a.mean(0), xp.median(a), a.cumsum(0), a.std(), a.any(), xp.sort(a, axis=0), a[a > 0]
Z a[()], a[None], a.ravel(), a[a > 0], a.cumsum(), xp.atleast_1d(a), f'{a:.3f}', math.floor(a)
E xp.max(a)
F xp.array_repr(a * 0 + 1).replace('fx.Array', 'array'), str(a), f'{a[0, 0]:.3f}', '%.2f' % a[0, 0]
I repr(np.asarray(a)), np.asarray(a).dtype.char
FI [float(v) for v in np.nditer(a)][:2], [(i, float(v)) for i, v in np.ndenumerate(a)][:2]
C xp.isneginf(a)
"""


def run(xp, code, a):
    names = {"xp": xp, "np": np, "math": math, "a": a}
    *statements, result = code.split("; ")
    for s in statements:
        exec(s, names)
    r = eval(result, names)
    return [np.asarray(k) if isinstance(k, fx.Array) else k for k in r] if isinstance(r, (tuple, list)) else (
        np.asarray(r) if isinstance(r, fx.Array) else r)


def same(got, want):
    if isinstance(want, (tuple, list)):
        assert len(got) == len(want)
        for g, w in zip(got, want):
            same(g, w)
    elif isinstance(want, (str, bytes, bool)):
        assert got == want
    else:
        got, want = np.asarray(got), np.asarray(want)
        assert (got.shape, got.dtype) == (want.shape, want.dtype)
        if want.dtype.kind in "fc":
            close = 1e-3 if want.dtype == np.float16 else 1e-5 if want.dtype.itemsize // (1 + (want.dtype.kind == "c")) < 8 else 1e-11
            np.testing.assert_allclose(got, want, close, close)
        else:
            np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("line", [k for k in HABITS.split("\n") if k])
@pytest.mark.filterwarnings("ignore")
def test_habit(line):
    names, code = line.split(" ", 1)
    for name in names:
        a = ARRAYS[name]
        try:
            want = run(np, code, a.copy())
        except Exception as e:
            error = next(c for c in (OverflowError, ValueError, IndexError, TypeError) if isinstance(e, c))
            with pytest.raises(error):
                run(fx, code, fx.asarray(a))
        else:
            same(run(fx, code, fx.asarray(a)), want)


@pytest.mark.skipif("FUSEC_SOURCE" not in os.environ, reason="the sources are not here")
def test_what_numpy_computes_is_documented():
    from fusec._numpy import BY_NUMPY

    with open(os.path.join(os.environ["FUSEC_SOURCE"], "docs", "python.md")) as f:
        text = f.read()
    assert [k for k in BY_NUMPY if f"`{k}`" not in text] == []
    assert all(callable(getattr(np, k)) for k in BY_NUMPY)


def test_random_of_a_generator():
    rng = fx.random.default_rng(1)
    assert sorted(rng.permutation(fx.arange(9) + 1).tolist()) == list(range(1, 10))
    assert sorted(rng.choice(fx.arange(9), 9, replace=False).tolist()) == list(range(9))
    assert set(rng.choice(3, (20, 20)).ravel().tolist()) == {0, 1, 2}
    assert abs(float(rng.exponential(2.0, 100_000).mean()) - 2) < 0.05


def test_in_place_inside_a_compiled_function():
    @fx.jit
    def f(x, n):
        x = x * 1
        x += np.ones(3)
        x.sort()
        x.flat[0] = 7
        n += 0.5  # a number of Python
        return x + n

    got = f(np.array([3, 1, 2], np.float32), 1)
    assert got.dtype == np.float32 and got.tolist() == [8.5, 4.5, 5.5]
    with pytest.raises(TypeError, match="write x = x \\+ y"):
        fx.jit(lambda x: x.__itruediv__(2))(np.arange(3))
