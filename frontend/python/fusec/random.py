# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random numbers. They are functions of (seed, stream) and of the place in the array: the same on every
device, whatever the threads, and part of the kernel that uses them.

    x = fx.random.normal((1000, 3), seed=7)              # seeds may be arguments of a compiled function
    rng = fx.random.default_rng(7); rng.uniform(size=10)  # NumPy's way: each call another stream
"""

import math

from . import _core
from ._array import Array
from ._create import asarray, astype, shape_tuple
from ._dtypes import DTYPES, F16, F32, F64, I64, U32, U64, as_code
from ._errors import DtypeError, TraceError

__all__ = ["Generator", "bernoulli", "bits", "default_rng", "integers", "normal", "permutation", "uniform"]


def _word(x):
    """A seed or stream: an integer, or an array of one."""
    if isinstance(x, int):
        return _core.full(U64, x % 2**64, ())
    x = asarray(x)
    if DTYPES[x._code].kind not in "iu" or x.ndim:
        raise DtypeError("a seed is one integer", "dtype-mismatch")
    return _core.cast(x, U64)


def _float_code(dtype):
    code = F64 if dtype is None else as_code(dtype)
    if DTYPES[code].kind != "f":
        raise DtypeError(f"random numbers of {DTYPES[code].name}: floats are made", "dtype-mismatch")
    return code


def _drawn(name, shape, dtype, seed, stream):
    code = _float_code(dtype)
    made = code if code >= F32 else F32
    r = _core.op(name, (_word(seed), _word(stream)), shape=shape_tuple(shape), dtype=made)
    return r if made == code else _core.cast(r, code)


def uniform(shape=(), dtype=None, *, low=0.0, high=1.0, seed, stream=0):
    """Floats, all equally likely, from `low` up to but not including `high`.

    >>> fx.random.uniform((2, 3), seed=1).shape
    (2, 3)
    """
    r = _drawn("uniform", shape, dtype, seed, stream)
    if isinstance(low, (int, float)) and isinstance(high, (int, float)) and (low, high) == (0, 1):
        return r
    return r * (high - low) + low


def normal(shape=(), dtype=None, *, mean=0.0, deviation=1.0, seed, stream=0):
    """Floats of the normal distribution.

    >>> fx.random.normal((4,), fx.float32, seed=1).dtype
    fusec.float32
    """
    r = _drawn("normal", shape, dtype, seed, stream)
    if isinstance(mean, (int, float)) and isinstance(deviation, (int, float)) and (mean, deviation) == (0, 1):
        return r
    return r * deviation + mean


def integers(low, high=None, shape=(), dtype=None, *, seed, stream=0):
    """Whole numbers from `low` up to but not including `high` (from 0 to `low`, without `high`)."""
    low, high = (0, low) if high is None else (low, high)
    low, high = (_core.cast(asarray(k), I64) for k in (low, high))
    r = _core.op("randint", (low, high, _word(seed), _word(stream)), shape=shape_tuple(shape))
    return r if dtype is None else astype(r, dtype)


def bits(shape=(), dtype=None, *, seed, stream=0):
    """Random words of uint32 or uint64."""
    code = U64 if dtype is None else as_code(dtype)
    if code not in (U32, U64):
        raise DtypeError("random words are uint32 or uint64", "dtype-mismatch")
    return _core.op("bits", (_word(seed), _word(stream)), shape=shape_tuple(shape), dtype=code)


def bernoulli(p=0.5, shape=(), *, seed, stream=0):
    """True with probability p, which may be an array that broadcasts to the shape."""
    p = asarray(p)
    p = p if p._code >= F16 else _core.cast(p, F64)
    return _core.op("bernoulli", (p, _word(seed), _word(stream)), shape=shape_tuple(shape))


def permutation(n, *, seed, stream=0):
    """0 to n - 1 in a random order."""
    return _core.op("permutation", (_word(seed), _word(stream)), shape=(n,))


class Generator:
    """NumPy's way to random numbers: one seed, and another stream for each call. Not for compiled
    functions, where a call would always get the stream of the trace."""

    def __init__(self, seed=0):
        self.seed, self.stream = seed, 0

    def _next(self):
        if _core.tracing() is not None:
            raise TraceError("a Generator inside a compiled function would give the same numbers at each "
                             "call: pass a seed and use fx.random.uniform(shape, seed=seed)")
        self.stream += 1
        return {"seed": self.seed, "stream": self.stream - 1}

    def random(self, size=(), dtype=None):
        """Floats in [0, 1)."""
        return uniform(size, dtype, **self._next())

    def uniform(self, low=0.0, high=1.0, size=()):
        """Floats in [low, high)."""
        return uniform(size, low=low, high=high, **self._next())

    def standard_normal(self, size=(), dtype=None):
        """Floats of the normal distribution with mean 0 and deviation 1."""
        return normal(size, dtype, **self._next())

    def normal(self, loc=0.0, scale=1.0, size=()):
        """Floats of the normal distribution with this mean and deviation."""
        return normal(size, mean=loc, deviation=scale, **self._next())

    def integers(self, low, high=None, size=(), dtype=None, endpoint=False):
        """Whole numbers in [low, high), or up to high with endpoint."""
        low, high = (0, low) if high is None else (low, high)
        return integers(low, high + 1 if endpoint else high, size, dtype, **self._next())

    def permutation(self, x):
        """0 to x - 1 in a random order, or the parts of an array along its first axis."""
        if isinstance(x, int):
            return permutation(x, **self._next())
        x = asarray(x)
        return _core.op("take", (x, permutation(x.shape[0], **self._next())), (0,))

    def shuffle(self, x):
        """Gives an array its parts along the first axis in a random order."""
        if not isinstance(x, Array):
            raise TypeError(f"{type(x).__name__} is not an array of fusec: permutation(x) gives one")
        _core.replace(x, self.permutation(x))

    def choice(self, a, size=(), replace=True):
        """Elements of an array, or numbers below a, all equally likely; replace=False: none twice."""
        a = _core.arange(a) if isinstance(a, int) else asarray(a)
        n, shape = a.shape[0], shape_tuple(() if size is None else size)
        count = math.prod(shape)
        if replace:
            at = integers(0, n, shape, **self._next())
        elif count > n:
            raise ValueError("there are not as many elements, and none is taken twice")
        else:
            at = _core.reshape(permutation(n, **self._next())[:count], shape)
        return _core.op("take", (a, at), (0,))

    def exponential(self, scale=1.0, size=()):
        """Floats of the exponential distribution with this mean."""
        return -_core.rows["log1p"][3](-uniform(size, **self._next())) * scale

    def __repr__(self):
        return f"fx.random.Generator(seed={self.seed}, stream={self.stream})"


def default_rng(seed=0):
    """A generator of random numbers."""
    return Generator(seed)
