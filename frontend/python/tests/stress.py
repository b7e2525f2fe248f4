# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Threads that trace, compile, compute, look and let go at once, on shared arrays and functions, while
signals arrive: `python stress.py SECONDS`. Ends with the number of turns, or with what went wrong; a
deadlock ends it with the stacks of all threads. scripts/campaign python runs it for long."""

import faulthandler
import gc
import pickle
import signal
import sys
import threading
import time

import numpy as np

import fusec as fx

THREADS = 8
SECONDS = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
faulthandler.dump_traceback_later(SECONDS + 60, exit=True)

shared = fx.asarray(np.arange(64.0))
changing = fx.asarray(np.arange(64.0))
softmax = fx.jit(lambda x: fx.exp(x - x.max(-1, keepdims=True)) / fx.exp(x - x.max(-1, keepdims=True)).sum(
    -1, keepdims=True))
affine = fx.jit(lambda x, k: x * k + shared.sum())
wrong, turns, stop = [], [0] * THREADS, threading.Event()


def jits(rng):
    n = int(rng.integers(2, 40))
    x = rng.normal(size=(int(rng.integers(2, 5)), n)).astype(rng.choice(["f4", "f8"]))
    e = np.exp(x - x.max(-1, keepdims=True))
    assert np.allclose(softmax(x), e / e.sum(-1, keepdims=True), rtol=1e-5), "softmax"
    assert np.allclose(affine(x[0], 2.5), x[0] * 2.5 + 2016, rtol=1e-5), "affine"
    out = np.empty(n)
    affine(np.ones(n), 1.0, out=out)
    assert (out == 2017).all(), "out"


def fresh(rng):
    k = int(rng.integers(1, 5))  # a new function: traced and planned, and compiled or found
    f = fx.jit(lambda x: fx.sin(x) * k + x.sum())
    x = rng.normal(size=int(rng.integers(2, 9)))
    assert np.allclose(f(x), np.sin(x) * k + x.sum()), "fresh"
    assert "program" in str(f.explain(x)) and f.source(x), "explain"


def values(rng):
    k = float(rng.normal())
    assert np.allclose(np.asarray(shared * k + 1), np.arange(64.0) * k + 1), "values"
    y = fx.sin(shared)
    assert len(fx.explain(y).kernels) <= 1 and repr(y), "explained"
    n = int(rng.integers(1, 64))
    assert np.allclose(np.asarray(shared[:n].sum()), n * (n - 1) / 2), "slice"
    assert len(fx.einsum("i,j->ij", shared[:n], shared[:3]).tolist()) == n, "einsum"


def changes(rng):
    i = int(rng.integers(0, 64))
    view = np.asarray(changing)  # its memory stays, whatever becomes of the object
    changing[i] = float(i)
    assert (view == np.arange(64.0)).all() and changing.sum().item() == 2016, "changed"
    assert pickle.loads(pickle.dumps(changing)).sum().item() == 2016, "pickled"


def borrowed(rng):
    a = np.ones(int(rng.integers(1, 100)))
    y = fx.borrow(a) + fx.from_dlpack(a)
    z = np.from_dlpack(y)
    del y
    assert (z == 2).all(), "borrowed"
    if rng.integers(0, 50) == 0:
        gc.collect()


def work(me):
    rng = np.random.default_rng(me)
    jobs = (jits, fresh, values, changes, borrowed)
    try:
        while not stop.is_set():
            jobs[int(rng.integers(len(jobs)))](rng)
            turns[me] += 1
    except BaseException as e:  # noqa: B036
        wrong.append(repr(e))
        stop.set()


signal.signal(signal.SIGALRM, lambda *_: None)  # handlers run inside of the library's calls, too
signal.setitimer(signal.ITIMER_REAL, 0.01, 0.003)
threads = [threading.Thread(target=work, args=(i,)) for i in range(1, THREADS)]
for t in threads:
    t.start()
threading.Timer(SECONDS, stop.set).start()
work(0)
for t in threads:
    t.join()
signal.setitimer(signal.ITIMER_REAL, 0)
if wrong:
    sys.exit("\n".join(wrong))
print(sum(turns), "turns")
