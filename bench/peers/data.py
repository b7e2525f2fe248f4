# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""data.py - the inputs of a row, bit for bit those of bench/support/data.c, and the comparison of results
with float64. Arrays are torch's on a GPU and numpy's on a CPU. There making them takes longer than measuring, so
that the processes of a row share them, and the reference, as files in $FUSEC_BENCH_SCRATCH: the first makes a file,
piece by piece on all of its processors, while the others wait."""
import concurrent.futures
import fcntl
import math
import os

import workloads

MASK = 0xFFFFFFFF


def mix(h, shr):
    h = ((h ^ shr(h, 16)) * 0x85EBCA6B) & MASK
    h = ((h ^ shr(h, 13)) * 0xC2B2AE35) & MASK
    return h ^ shr(h, 16)


def permuted(i, n, seed, shr):
    """A permutation of the numbers below n, a power of two."""
    half = (n.bit_length() - 1) // 2
    h = (i + (seed * 0x9E3779B9 & MASK)) & (n - 1)
    for by in (0x85EBCA6B, 0xC2B2AE35):
        h = ((h ^ shr(h, half)) * by) & (n - 1)
    return h ^ shr(h, half)


class TorchData:
    """On one device of torch."""

    def __init__(self, device):
        import torch
        self.torch, self.device = torch, device
        self.types = {"f32": torch.float32, "f64": torch.float64, "bf16": torch.bfloat16, "f16": torch.float16,
                      "i64": torch.int64, "i32": torch.int32, "u8": torch.uint8, "i8": torch.int8, "c64": torch.complex64}

    def make(self, dtype, shape, dist, seed):
        t = self.torch
        n = math.prod(shape)
        shr = t.bitwise_right_shift  # words stay below 2^32 in 64 bits, so the shift brings in zeros
        word = mix((t.arange(n, dtype=t.int64, device=self.device) + (seed * 0x9E3779B9 & MASK)) & MASK, shr)
        wide = t.float64 if dtype == "f64" else t.float32
        kind, *bounds = dist.split(":")
        if kind == "p":
            x = permuted(t.arange(n, dtype=t.int64, device=self.device), n, seed, shr)
        elif kind == "s":
            x = t.arange(n, dtype=t.int64, device=self.device)*4 + (word >> 30)
        elif kind == "n":
            other = mix((word + 0x9E3779B9) & MASK, shr)
            s = (word & 0xFFFF) + (word >> 16) + (other & 0xFFFF) + (other >> 16) - 131070
            x = s.to(wide) * t.tensor(1 / 37837, dtype=wide, device=self.device)
        else:
            low, high = map(float, bounds)
            u = word.to(wide) * 2.0**-32 if dtype == "f64" else (word >> 8).to(wide) * 2.0**-24
            x = u * t.tensor(high - low, dtype=wide, device=self.device)
            x += t.tensor(low, dtype=wide, device=self.device)
        return x.to(self.types[dtype]).reshape(shape)

    def read(self, path, dtype, shape):
        t = self.torch
        if not shape:
            return t.from_file(path, shared=False, size=1, dtype=self.types[dtype]).to(self.device).reshape(())
        return t.from_file(path, shared=False, size=math.prod(shape), dtype=self.types[dtype]).to(self.device).reshape(shape)

    def free(self):
        if self.device != "cpu":
            self.torch.cuda.empty_cache()

    def error(self, got, want):
        """The largest |got - want| / (|want| + rms(want)); of integers, the largest difference."""
        t = self.torch
        got = got.to(self.device)
        if tuple(got.shape) != tuple(want.shape):
            return math.inf
        if want.is_complex():
            got, want = t.view_as_real(got), t.view_as_real(want)
        if not want.dtype.is_floating_point:
            return float((got.to(t.int64) - want).abs().max())
        scale = float(want.square().mean().sqrt())
        worst = 0.0
        for g, w in zip(got.reshape(-1).split(1 << 26), want.reshape(-1).split(1 << 26)):
            e = ((g.double() - w).abs() / (w.abs() + scale)).max().item()
            worst = max(worst, math.inf if math.isnan(e) else e)
        return worst

    def reference(self, row):
        """The results in float64 of the row's first set of inputs."""
        f = function(row["programs"]["torch"], row, torch_names(self.torch, row, wide=True))
        inputs = [self.make(t, s, d, i + 1) for i, (_, t, s, d) in enumerate(row["inputs"])]
        return results(f(*[x.double() if x.is_floating_point() else x.to(self.torch.complex128) if x.is_complex() else x for x in inputs]))


class NumpyData:
    """On the CPU; bf16 is held as float32 values that bf16 can hold."""

    PIECE = 1 << 16  # numbers: what is made of them on the way stays in the cache

    def __init__(self):
        import numpy
        self.np = numpy
        self.pool = concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0)))
        self.scratch = os.environ.get("FUSEC_BENCH_SCRATCH", "")
        self.types = {"f32": "f4", "f64": "f8", "f16": "f2", "i64": "i8", "i32": "i4",
                      "u8": "u1", "i8": "i1", "bf16": "u2"}

    def pieces(self, n, f):
        """f(begin, end) for all numbers below n; the results in order."""
        return list(self.pool.map(lambda at: f(at, min(at + self.PIECE, n)), range(0, n, self.PIECE)))

    def shared(self, name, make):
        path = os.path.join(self.scratch, f"shared-{name}.npy")
        if not self.scratch:
            return make()
        with open(os.path.join(self.scratch, f"lock-{name}"), "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not os.path.exists(path):
                self.np.save(path + ".npy", make())
                os.rename(path + ".npy", path)  # whole or not there
        return self.np.load(path, mmap_mode="r")

    def make(self, dtype, shape, dist, seed):
        """Each set is a copy of the first: other memory, the same numbers."""
        np = self.np
        x = self.shared(f"in{seed % 1000}", lambda: self.numbers(dtype, shape, dist, seed % 1000))
        # numpy starts big arrays at 16 bytes; what is compared starts at a page, as fusec's own does
        a = aligned(np, x.dtype, shape)
        a[...] = x.reshape(shape)
        return a

    def numbers(self, dtype, shape, dist, seed):
        n = math.prod(shape)
        x = self.np.empty(n, "f4" if dtype == "bf16" else self.types[dtype])

        def fill(begin, end):
            x[begin:end] = self.some_numbers(begin, end, n, dtype, dist, seed)
        self.pieces(n, fill)
        return x

    def zeros(self, dtype, shape):
        return self.np.zeros(shape, "f4" if dtype == "bf16" else self.types[dtype])

    def some_numbers(self, begin, end, n, dtype, dist, seed):
        np = self.np
        u32 = np.uint32
        with np.errstate(over="ignore"):
            def blend(h):
                h = (h ^ (h >> u32(16))) * u32(0x85EBCA6B)
                h = (h ^ (h >> u32(13))) * u32(0xC2B2AE35)
                return h ^ (h >> u32(16))
            word = blend(np.arange(begin, end, dtype=u32) + u32(seed * 0x9E3779B9 & MASK))
            wide = np.float64 if dtype == "f64" else np.float32
            kind, *bounds = dist.split(":")
            if kind == "p":
                x = permuted(np.arange(begin, end), n, seed, lambda h, by: h >> by)
            elif kind == "s":
                x = np.arange(begin, end)*4 + (word >> u32(30))
            elif kind == "n":
                other = blend(word + u32(0x9E3779B9))
                s = (word & u32(0xFFFF)) + (word >> u32(16)) + (other & u32(0xFFFF)) + (other >> u32(16))
                x = (s.astype(np.int32) - np.int32(131070)).astype(wide) * wide(1 / 37837)
            else:
                low, high = map(float, bounds)
                u = word.astype(wide) * wide(2.0**-32) if dtype == "f64" else (word >> u32(8)).astype(wide) * wide(2.0**-24)
                x = u * wide(high - low) + wide(low)
        if dtype == "bf16":
            x = widen(np, narrow(np, x))
        elif dtype == "f16":
            x = x.astype(np.float16)
        return x

    def read(self, path, dtype, shape):
        a = self.np.fromfile(path, self.types[dtype])
        return (widen(self.np, a) if dtype == "bf16" else a).reshape(shape)

    def free(self):
        pass

    def error(self, got, want):
        np = self.np
        got, want = np.asarray(got), np.asarray(want)
        if got.shape != want.shape:
            return math.inf
        if want.dtype.kind == "i":
            return float(np.abs(got.astype(np.int64) - want).max())
        got, want = got.reshape(-1), want.reshape(-1)
        square = self.pieces(want.size, lambda i, j: float(np.sum(np.square(want[i:j]))))
        scale = math.sqrt(sum(square) / want.size)

        def worst(i, j):
            return float(np.max(np.abs(got[i:j].astype(np.float64) - want[i:j]) / (np.abs(want[i:j]) + scale)))
        e = max(math.inf if math.isnan(x) else x for x in self.pieces(want.size, worst))
        return e

    def reference(self, row):
        made = []

        def result(i):
            if not made:
                made.extend(self.wide_results(row))
            return made[i]
        return [self.shared(f"want{i}", lambda i=i: result(i)) for i in range(len(row["out"]))]

    def wide_results(self, row):
        np = self.np
        f = function(row["programs"]["np"], row, numpy_names(np, row, wide=True))
        inputs = [self.make(t, s, d, i + 1) for i, (_, t, s, d) in enumerate(row["inputs"])]
        if not workloads.elementwise(row):
            return results(f(*[x.astype(np.float64) if x.dtype.kind == "f" else x for x in inputs]))
        shape = row["out"][0][2]
        out = [np.empty(shape) for _ in row["out"]]

        def fill(i, j):
            for o, r in zip(out, results(f(*[x.reshape(-1)[i:j].astype(np.float64) for x in inputs]))):
                o.reshape(-1)[i:j] = r
        self.pieces(math.prod(shape), fill)
        return out


def aligned(np, dtype, shape):
    n = math.prod(shape) * np.dtype(dtype).itemsize
    raw = np.empty(n + 4096, np.uint8)
    at = -raw.ctypes.data % 4096
    return raw[at:at + n].view(dtype).reshape(shape)


def narrow(np, x):
    """float32 to the bits of bf16, to nearest even."""
    bits = x.astype(np.float32).view(np.uint32)
    return ((bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)).astype(np.uint16)


def widen(np, bits):
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


# ---- programs as functions --------------------------------------------------------------------------------


def results(r):
    return list(r) if isinstance(r, (list, tuple)) else [r]


def function(text, row, names):
    """A function of the row's inputs from an expression, or from statements with a return."""
    params = [k for k, *_ in row["inputs"]]
    if "return" not in text:
        text = f"return {text}"
    lines = [" " * (len(line) - len(line.lstrip())) + p.strip() for line in text.split("\n") for p in line.split(";")]
    # `args` is all of them, for rows with too many to name
    body = [f"def workload({', '.join(params)}):"]
    if "args" in text:
        body.append(f"    args = [{', '.join(params)}]")
    scope = dict(names)
    exec("\n".join(body + ["    " + line for line in lines if line.strip()]), scope)
    return scope["workload"]


def torch_names(torch, row, wide=False):
    return {**row["numbers"], "torch": torch, "erfc": torch.special.erfc, "f32": lambda x: x.double() if wide else x.float()}


def numpy_names(np, row, wide=False):
    import scipy.special
    to = np.float64 if wide else np.float32
    return {**row["numbers"], "np": np, "erfc": scipy.special.erfc, "f32": lambda x: np.asarray(x).astype(to)}


def moments(x):
    """Its mean, and the root of the mean of its squares, in float64."""
    mean = lambda x: float((x.double() if hasattr(x, "double") else x.astype("f8")).mean())  # noqa: E731
    return mean(x), mean(x * x) ** 0.5
