#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random arrays from NumPy through fusec and back, and printed text against NumPy's.

usage: npy_interop.py TEST_PROGRAM [COUNT]

The test program runs `cli_parts.batch`, which carries out a list of jobs in one process. Exit code 77 when
NumPy is not there.
"""
import io
import json
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    print("NumPy is not installed")
    sys.exit(77)

DTYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"]


def random_array(rng):
    rank = int(rng.integers(0, 6))
    shape = tuple(int(n) for n in rng.integers(0 if rng.random() < 0.1 else 1, 7, rank))
    if rng.random() < 0.02:
        shape = (1,) * int(rng.integers(0, 33))
    if rng.random() < 0.02:
        shape = (int(rng.integers(30, 200)), int(rng.integers(30, 200)))
    code = DTYPES[int(rng.integers(len(DTYPES)))]
    size = np.dtype(code).itemsize
    raw = rng.bytes(int(np.prod(shape, dtype=np.int64)) * size)
    if code == "?":
        raw = bytes(b & 1 for b in raw)
    order = "<>"[int(rng.integers(2))]
    a = np.frombuffer(raw, np.dtype(order + code)).reshape(shape)
    return np.asarray(a, order="F" if rng.random() < 0.5 else "C")


def write(path, a, version):
    with open(path, "wb") as f:
        np.lib.format.write_array(f, a, version=version)


def same_bytes(a, b):
    if a.shape != b.shape or a.dtype.newbyteorder("=") != b.dtype:
        return False
    return np.ascontiguousarray(a.astype(a.dtype.newbyteorder("="))).tobytes() == b.tobytes()


def special_floats(rng, code, n):
    """Floats that exercise every branch of the printer."""
    kind = int(rng.integers(9))
    if kind == 0:
        v = rng.random(n)
    elif kind == 1:
        v = rng.normal(size=n) * 10.0 ** rng.integers(-8, 9)
    elif kind == 2:
        v = rng.integers(-1000, 1000, n) * 1.0
    elif kind == 3:
        v = np.round(rng.random(n) * 100, int(rng.integers(0, 4)))
    elif kind == 4:
        v = 10.0 ** rng.integers(-12, 13, n)
    elif kind == 5:
        v = np.where(rng.random(n) < 0.3, rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0], n), rng.random(n))
    elif kind == 6:
        bits = rng.integers(0, 256, (n, np.dtype(code).itemsize), dtype=np.uint8)
        return bits.view("<" + code).reshape(n)
    elif kind == 7:
        v = 2.0 ** rng.integers(-24, 30, n)
    else:
        v = rng.choice([np.nan, np.inf, -np.inf, -0.0], n)
    with np.errstate(all="ignore"):
        return v.astype("<" + code)


def printed_array(rng):
    shapes = [(), (1,), (5,), (40,), (3, 4), (2, 3, 4), (2, 1, 2, 3), (0,), (3, 0), (1001,), (40, 30), (8, 9, 20), (7, 1000)]
    shape = shapes[int(rng.integers(len(shapes)))]
    n = int(np.prod(shape))
    code = DTYPES[int(rng.integers(len(DTYPES)))]
    if code == "?":
        a = rng.random(n) < 0.5
    elif code[0] == "f":
        a = special_floats(rng, code, n)
    else:
        info = np.iinfo(code)
        low, high = (info.min, info.max) if rng.random() < 0.3 else (0 if code[0] == "u" else -9, 12)
        a = rng.integers(low, high, n, dtype=code, endpoint=True)
    return a.reshape(shape)


def numpy_text(a, threshold):
    with np.errstate(all="ignore"), np.printoptions(floatmode="unique", threshold=threshold):
        return str(a)


def same_json(text, a):
    """Numbers are the shortest of their own dtype, so they are compared in it; nan and infinities
    are texts."""
    got = json.loads(text)
    if a.dtype.kind != "f":
        return got == a.tolist()
    back = np.array(got, dtype=object)
    if a.size == 0:
        return back.size == 0
    if back.shape != a.shape:
        return False
    for x, y in zip(back.ravel(), a.ravel()):
        if x != str(float(y)) if not np.isfinite(y) else isinstance(x, str) or a.dtype.type(x) != y:
            return False
    return True


def main():
    program, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    rng = np.random.default_rng(20240511)
    bad = 0
    with tempfile.TemporaryDirectory() as tmp:
        jobs, arrays = [], []
        for i in range(count):
            a = random_array(rng)
            version = [(1, 0), (2, 0), (3, 0)][int(rng.integers(3))]
            src, dst = os.path.join(tmp, f"{i}.npy"), os.path.join(tmp, f"{i}.out")
            if rng.random() < 0.1:
                src = os.path.join(tmp, f"{i}.npz")
                (np.savez if rng.random() < 0.5 else np.savez_compressed)(src, other=np.zeros(3), key=a)
                src += ":key"
            else:
                write(src, a, version)
            kind = "npz" if rng.random() < 0.1 else "copy"
            jobs.append((kind, src, dst))
            arrays.append(a)
        for i in range(count, 2 * count):
            a = printed_array(rng)
            src, dst = os.path.join(tmp, f"{i}.npy"), os.path.join(tmp, f"{i}.out")
            np.save(src, a)
            jobs.append((["text", "whole", "json", "csv"][int(rng.integers(4))], src, dst))
            arrays.append(a)
        listing = os.path.join(tmp, "jobs")
        with open(listing, "w") as f:
            for job in jobs:
                f.write("\t".join(job) + "\n")
        env = dict(os.environ, FUSEC_TEST_BATCH=listing)
        for name in ("GTEST_TOTAL_SHARDS", "GTEST_SHARD_INDEX"):  # this one test, whatever part called it
            env.pop(name, None)
        run = subprocess.run([program, "--gtest_filter=cli_parts.batch"], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if run.returncode != 0:
            print(run.stdout[-4000:])
            return 1
        for (kind, src, dst), a in zip(jobs, arrays):
            with open(dst, "rb") as f:
                data = f.read()
            if kind == "copy":
                ok = same_bytes(a, np.load(io.BytesIO(data)))
            elif kind == "npz":
                z = np.load(io.BytesIO(data))
                ok = z.files == ["first", "second"] and all(same_bytes(a, z[k]) for k in z.files)
            elif kind in ("text", "whole"):
                want = numpy_text(a, 1000 if kind == "text" else sys.maxsize)
                ok = data.decode() == want
                if not ok and bad < 5 and a.size < 50:
                    print(f"--- {a.dtype} {a.shape}, NumPy:\n{want}\n--- fusec:\n{data.decode()}")
            elif kind == "json":
                ok = same_json(data.decode(), a)
            else:
                values = data.decode().replace("\n", ",").split(",")
                ok = [v for v in values if v] == [str(x) for x in a.ravel()]
            if not ok:
                bad += 1
                if bad <= 20:
                    print(f"{kind} {a.dtype.str} {a.shape} differs: {src}")
    print(f"{len(jobs)} arrays, {bad} differ")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
