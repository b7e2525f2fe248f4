#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files of pyarrow and python-blosc2 through the command and back, whole and in pieces; damaged ones.

usage: store_interop.py FUSEC [DAMAGED]      FUSEC: the command; DAMAGED: how many damaged files (60)

Exit code 77 when neither package is there.
"""
import glob
import os
import random
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    print("NumPy is not installed")
    sys.exit(77)
try:
    import pyarrow as pa
    from pyarrow import ipc
except ImportError:
    pa = None
try:
    import blosc2
except ImportError:
    blosc2 = None

DTYPES = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "?"]
fusec = os.path.abspath(sys.argv[1])


def run(*words, code=0):
    r = subprocess.run([fusec, "-q", "-d", "interp", *words], capture_output=True, text=True, timeout=60)
    assert r.returncode == code, (words, r.returncode, r.stderr)
    return r


def elements(dtype, shape):
    a = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    return a % 3 == 0 if dtype == "?" else (a % 100).astype(dtype)


def read_back(path):
    with open(path, "rb") as f:
        t = (ipc.open_stream if path.endswith("s") else ipc.open_file)(f).read_all()
    t.validate(full=True)
    return t.column(0).combine_chunks()


def arrow_columns():
    """What pyarrow writes: several columns of which some are skipped, batches, compression."""
    x = np.random.default_rng(1).random(30011).astype("f4")
    np.save("x.npy", x)
    table = pa.table({
        "text": pa.array(["q"] * len(x)), "coded": pa.array(["u"] * len(x)).dictionary_encode(),
        "parts": pa.array([{"p": 1, "q": 2.0}] * len(x)), "x": x, "wide": x.astype("f8"), "bits": x > 0.5,
        "rows": pa.FixedSizeListArray.from_arrays(pa.array(np.repeat(x, 3)), 3), "none": pa.array([None] * len(x), "f4")})
    for compression in (None, "zstd", "lz4"):
        options = ipc.IpcWriteOptions(compression=compression)
        for path, new in (("t.arrow", ipc.new_file), ("t.arrows", ipc.new_stream)):
            with new(path, table.schema, options=options) as w:
                w.write_table(table, max_chunksize=7777)
            run("-e", "x", f"x={path}:x", "--expect", "x.npy")
            run("-e", "f32(x)", f"x={path}:wide", "--expect", "x.npy", "--split", "n=5120")
            run("-e", "x > 0.5", f"x={path}:x", "-o", "bits.npy")
            run("-e", "x", f"x={path}:bits", "--expect", "bits.npy", "--split", "n=1000")
            run("-e", "x[:, 1]", f"x={path}:rows", "--expect", "x.npy")
            for bad in ("text", "coded", "parts"):
                assert "holds no bools, integers or floats" in run("-e", "x", f"x={path}:{bad}", code=4).stderr
            assert "the column has nulls" in run("-e", "x", f"x={path}:none", code=4).stderr


def arrow_results():
    """What the command writes is what pyarrow reads, and what it reads itself."""
    for dtype in DTYPES:
        for shape in ((30011,), (0,), (7,)) + (((103, 5),) if dtype != "?" else ()):
            a = elements(dtype, shape)
            np.save("a.npy", a)
            for path in ("y.arrow", "y.arrows"):
                run("-e", "x", "x=a.npy", "-o", path)
                column = read_back(path)
                got = column.flatten() if a.ndim > 1 else column
                got = np.asarray(got.to_numpy(zero_copy_only=False)).reshape(shape)
                assert got.dtype == a.dtype or not a.size, (dtype, got.dtype)
                assert np.array_equal(got, a), (dtype, shape, path)
                run("-e", "x", f"x={path}", "--expect", "a.npy")
    big = elements("f4", (3 << 20,))
    np.save("a.npy", big)
    run("-e", "x*2", "x=a.npy", "-o", "y.feather", "--split", "n=65536")
    assert np.array_equal(read_back("y.feather").to_numpy(), big * 2)
    for text in ("x[0]", "c64(x)", "x[None, None, :]"):
        run("-e", text, "x=a.npy", "-o", "z.arrow", code=2)
        assert not os.path.exists("z.arrow")


def blosc_arrays():
    for dtype in DTYPES + [">f4", ">i2"]:
        for shape, chunks, blocks in (((1000,), (300,), (100,)), ((470, 31), (200, 10), (70, 3)), ((0, 3), None, None)):
            a = elements(dtype.lstrip(">"), shape)
            np.save("a.npy", a)
            blosc2.asarray(a.astype(dtype), urlpath="a.b2nd", mode="w", chunks=chunks, blocks=blocks)
            run("-e", "x", "x=a.b2nd", "--expect", "a.npy")
            if a.size:
                run("-e", "x", "x=a.b2nd", "--expect", "a.npy", "--split", "n=16")
    blosc2.asarray(np.array([b"abc", b"de"]), urlpath="text.b2nd", mode="w")
    assert "its elements are no numbers" in run("-e", "x", "x=text.b2nd", code=4).stderr


def damaged(path, count, rng):
    """An error, and no result, where bytes are missing; else an error or a whole result."""
    with open(path, "rb") as f:
        data = f.read()
    kind = os.path.splitext(path)[1]
    for i in range(count):
        part = bytearray(data[: rng.randrange(len(data))] if i % 2 else data)
        for _ in range(0 if i % 2 else rng.choice([1, 2, 8])):
            part[rng.randrange(len(part))] ^= 1 << rng.randrange(8)
        with open("bad" + kind, "wb") as f:
            f.write(part)
        r = subprocess.run([fusec, "-q", "-d", "interp", "-e", "x", f"x=bad{kind}", "-o", "bad.npy"], capture_output=True,
                           text=True, timeout=60)
        whole = kind == ".arrows" and r.returncode == 0  # a stream may end behind any of its batches
        assert r.returncode == 4 or (r.returncode == 0 and (i % 2 == 0 or whole)), (i, r.returncode, r.stderr)
        assert r.returncode == 0 or not os.path.exists("bad.npy")
        assert r.returncode == 0 or f"bad{kind}" in r.stderr
        if os.path.exists("bad.npy"):
            os.remove("bad.npy")


def main():
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 60
    if pa is None and blosc2 is None:
        print("neither pyarrow nor blosc2 is installed")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        rng = random.Random(count)
        if pa is not None:
            arrow_columns()
            arrow_results()
            for path in ("t.arrow", "t.arrows"):
                with (ipc.new_stream if path.endswith("s") else ipc.new_file)(path, pa.schema([("x", pa.float32())])) as w:
                    for _ in range(3):
                        w.write_batch(pa.record_batch({"x": np.ones(200, "f4")}))
                damaged(path, count, rng)
        if blosc2 is not None:
            own = glob.glob(os.path.join(os.path.dirname(blosc2.__file__), "lib", "libblosc2.so*"))
            if own:
                os.environ["FUSEC_BLOSC2_PATH"] = sorted(own)[-1]
            blosc_arrays()
            blosc2.asarray(elements("f4", (6000,)), urlpath="a.b2nd", mode="w", chunks=(1500,), blocks=(500,))
            damaged("a.b2nd", count, rng)
    print(f"pyarrow {pa.__version__ if pa else 'is missing'}, blosc2 {blosc2.__version__ if blosc2 else 'is missing'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
