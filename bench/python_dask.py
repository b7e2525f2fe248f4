#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""fusec.dask next to plain dask.array: two workers of one thread each, one file, in one run.

    pip install 'dask[array]' distributed numpy;  PYTHONPATH=build/python bench/python_dask.py [ELEMENTS]

Prints medians of pairs for a sum and for a map, and whether the bits are equal for several chunk sizes
and when a worker is killed in the middle (the plain sum's differ). ELEMENTS of f32, 2^28 by default.
"""

import os
import statistics
import sys
import tempfile
import time

os.environ.setdefault("FUSEC_THREADS", "1")  # as the workers

import dask
import dask.array as da
import numpy as np
from dask.distributed import Client, LocalCluster

import fusec as fx
import fusec.dask


def total(x):
    return fx.sin(x * 2 + 1).sum()


def mapped(x):
    return fx.sin(x * 2 + 1) * fx.exp(-x) + x


def chunk_of(path, block_info=None):
    begin, end = block_info[None]["array-location"][0]
    return np.load(path, mmap_mode="r")[begin:end]


def make_file(folder, n):
    path = os.path.join(folder, "x.npy")
    a = np.lib.format.open_memmap(path, "w+", np.float32, (n,))
    for i in range(0, n, 1 << 24):
        part = a[i : i + (1 << 24)]
        part[:] = np.random.default_rng(i).random(part.size, dtype=np.float32)
    return path


def source(path, n, chunk):
    sizes = (chunk,) * (n // chunk) + ((n % chunk,) if n % chunk else ())
    return da.map_blocks(chunk_of, path, dtype=np.float32, chunks=(sizes,))


def seconds(y):
    start = time.perf_counter()
    y.compute()
    return time.perf_counter() - start


def row(name, plain, ours, pairs=7):
    seconds(ours), seconds(plain)
    t = [(seconds(plain), seconds(ours)) for _ in range(pairs)]
    p, o = (statistics.median(x[i] for x in t) for i in (0, 1))
    r = statistics.median(b / a for a, b in t)
    print(f"| {name} | {p:.2f} s | {o:.2f} s | {r:.2f} |", flush=True)


def killed(client, cluster, y):
    """The result when a worker dies while it works."""
    future = client.compute(y)
    time.sleep(0.2)
    worker = next(iter(cluster.workers.values()))
    os.kill(client.run(os.getpid)[worker.worker_address], 9)
    return future.result(timeout=300)


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 1 << 28
    dask.config.set({"distributed.scheduler.allowed-failures": 10})
    with tempfile.TemporaryDirectory() as folder, \
            LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, \
            Client(cluster) as client:
        path = make_file(folder, n)
        x = source(path, n, n // 16)
        print(f"dask {dask.__version__}, NumPy {np.__version__}, {n} f32 in 16 chunks, 2 workers of 1 thread\n")
        print("| | dask.array | fusec.dask | ratio |\n|---|---|---|---|")
        row("sum(sin(x*2 + 1))", da.sin(x * 2 + 1).sum(), fusec.dask.apply(total, x))
        row("max(sin(x*2 + 1)*exp(-x) + x), the map's chunks joined by Dask",
            (da.sin(x * 2 + 1) * da.exp(-x) + x).max(), fusec.dask.apply(mapped, x).max())
        results, plain = [], set()
        for chunk in (777777, 10**6 * 8, 1 << 22, n):
            y = source(path, n, chunk)
            results.append(fusec.dask.apply(total, y).compute())
            plain.add(float(da.sin(y * 2 + 1).sum().compute()))
        results.append(killed(client, cluster, fusec.dask.apply(total, source(path, n, n // 64))))
        whole = fx.jit(total)(np.load(path, mmap_mode="r"))
        same = all(np.array_equal(r, whole) for r in results)
        print(f"\nchunks of 777,777, 8,000,000, 4,194,304 and all, and a worker killed in the middle: "
              f"{'equal bits, those of one call' if same else 'DIFFERENT'}; "
              f"dask.array gives {len(plain)} different sums")
        return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
