# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What can't be done is an exception that says what to do, never a crash, and leaves nothing behind."""

import gc
import os
import subprocess
import sys

import numpy as np
import pytest

import fusec as fx

twice = fx.jit(lambda x: x * 2)
A = np.arange(6.0)


def raising(f):
    """The exception of f, which is one of ours or a built-in one with a message."""
    with pytest.raises(Exception) as e:
        f()
    assert str(e.value) and not isinstance(e.value, (SystemError, AssertionError)), repr(e.value)
    return e.value


class Unreadable:
    def __array__(self, dtype=None, copy=None):
        raise OSError("the disk is gone")


READ_ONLY = np.arange(6.0)
READ_ONLY.flags.writeable = False

# what is done, the class of the exception, a word of its message
CASES = {
    "an array of objects": (lambda: fx.asarray(np.array([1, "a", None], dtype=object)), TypeError, "objects"),
    "a list of objects": (lambda: fx.asarray([1.0, None]), TypeError, ""),
    "a ragged list": (lambda: fx.asarray([[1, 2], [3]]), ValueError, "list"),
    "text": (lambda: fx.asarray("abc"), TypeError, "str"),
    "dates": (lambda: fx.asarray(np.array(["2020-01-01"], dtype="M8[D]")), TypeError, "datetime64"),
    "records": (lambda: fx.asarray(np.zeros(3, dtype="i4,f4")), TypeError, "fusec has"),
    "long doubles": (lambda: fx.asarray(np.zeros(3, dtype=np.longdouble)), TypeError, "astype.'float64'"),
    "objects of a compiled function": (lambda: twice(np.array([None])), TypeError, "objects"),
    "an unhashable setting": (lambda: fx.jit(lambda x, s: x)(A, {1, 2}), TypeError, "hashable"),
    "a dtype that is none": (lambda: fx.zeros(3, dtype="f3"), TypeError, "f3"),
    "an array that can't be read": (lambda: fx.asarray(Unreadable()), OSError, "disk"),
    "too many axes": (lambda: fx.asarray(A).reshape((1,) * 33), ValueError, "32"),
    "an integer beyond 64 bits": (lambda: fx.asarray([1]) + 2**70, OverflowError, "bounds"),
    "an integer that the dtype has not": (lambda: fx.zeros(3, dtype="u1") + 300, OverflowError, "300 out of bounds for uint8"),
    "a reshape to another size": (lambda: fx.asarray(A).reshape(4, 2), ValueError, "reshape .*6 is not 8"),
    "a join of other widths": (lambda: fx.concat([fx.zeros((2, 3)), fx.zeros((3, 2))]), ValueError, "concat .*3 is not 2"),
    "a negative length": (lambda: fx.zeros((-1,)), ValueError, "negative"),
    "shapes that do not broadcast": (lambda: fx.ones(3) + fx.ones(4), fx.ShapeError, "3"),
    "an axis that does not exist": (lambda: fx.ones(3).sum(axis=1), fx.AxisError, "axis"),
    "an index outside": (lambda: fx.ones(3)[5], IndexError, "5"),
    "indices outside": (lambda: fx.take(fx.asarray(A), fx.asarray([7])).tolist(), IndexError, "7"),
    "bits of floats": (lambda: fx.ones(3) & 1, TypeError, ""),
    "the least of nothing": (lambda: fx.zeros(0).min(), ValueError, ""),
    "read-only memory for a result": (lambda: twice(A, out=READ_ONLY), ValueError, "read-only"),
    "the same of an array's into": (lambda: fx.evaluate("a*2", {"a": A}, out=READ_ONLY), ValueError, "read-only"),
    "a result of another dtype": (lambda: twice(A, out=np.zeros(6, "i4")), fx.DtypeError, "int32, the result float64"),
    "a result of another shape": (lambda: twice(A, out=np.zeros(5)), fx.ShapeError, r"\(5,\), the result \(6,\)"),
    "a result whose elements overlap": (
        lambda: twice(A[:2], out=np.lib.stride_tricks.as_strided(np.zeros(2), (2,), (0,), writeable=True)), ValueError, ""),
    "results that share memory": (lambda: fx.jit(lambda x: (x + 1, x + 2))(A, out=(READ, READ)), ValueError, "share"),
    "nothing to write to": (lambda: twice(A, out=[1, 2, 3]), Exception, ""),
    "an `if` on elements": (lambda: fx.jit(lambda x: x if x.sum() > 0 else -x)(A), fx.TraceError, "test_bad_input.py"),
    "a `while` on elements": (lambda: fx.jit(spinning)(A), fx.TraceError, "where|elements"),
    "float() of elements": (lambda: fx.jit(lambda x: x * float(x[0]))(A), fx.TraceError, "elements|number"),
    "NumPy inside of a compiled function": (lambda: fx.jit(lambda x: np.linalg.inv(x))(np.eye(2)), NotImplementedError, ""),
    "a function without result": (lambda: fx.jit(lambda x: None)(A), fx.TraceError, "no array"),
    "a function that raises": (lambda: fx.jit(lambda x: 1 // 0)(A), ZeroDivisionError, ""),
    "a wrong call": (lambda: twice(), TypeError, ""),
    "what is no function": (lambda: fx.jit(3), TypeError, "function"),
    "an unknown name": (lambda: fx.evaluate("a + b", {"a": A}), NameError, "b"),
    "an expression that can't be read": (lambda: fx.evaluate("a +", {"a": A}), (ValueError, SyntaxError), ""),
    "code in an expression": (lambda: fx.evaluate("__import__('os').getpid()", {}), Exception, ""),
    "a device that is none": (lambda: fx.zeros(3, device="tpu"), ValueError, "tpu"),
    "a GPU that is not there": (lambda: fx.use_device("cuda:9").__enter__(), fx.DeviceError, ""),
    "memory that can't be shared": (lambda: fx.borrow(np.zeros(3, "i1,f8")["f1"]), ValueError, "apart"),
    "memory that is not there": (lambda: np.asarray(fx.zeros((1 << 40, 1 << 10)) + 1), MemoryError, "GiB"),
    "a capsule that is none": (lambda: fx._core.from_dlpack(3, 0), TypeError, "DLPack"),
    "writable memory of an array": (lambda: memoryview(fx.ones(3)).cast("B").__setitem__(0, 1), TypeError, "read-only"),
    "the truth of many": (lambda: bool(fx.ones(3)), ValueError, "any|all"),
}
READ = np.zeros(6)


def spinning(x):
    while x[0] < 3:
        x = x + 1
    return x


@pytest.mark.parametrize("what", CASES)
def test_it_is_said(what):
    f, kind, word = CASES[what]
    with pytest.raises(kind, match=word or None):
        f()
    raising(f)  # a second time, too
    assert twice(A).tolist() == (A * 2).tolist()  # and all goes on


def test_a_value_of_a_trace_that_leaves_it():
    kept = []
    f = fx.jit(lambda x: (kept.append(x), x * 2)[1])  # a side effect: at the first call only
    assert f(A).tolist() == f(A).tolist() == (A * 2).tolist() and len(kept) == 1
    for use in (lambda: kept[0].tolist(), lambda: kept[0] + 1, lambda: fx.eval(kept[0]), lambda: np.asarray(kept[0]),
                lambda: fx.jit(lambda x: x + kept[0])(A), lambda: repr(kept[0]) and kept[0].item(),
                lambda: kept[0].__dlpack__(), lambda: kept[0].to_device("cuda")):
        raising(use)


def test_arrays_outside_that_change():
    table, offset = np.ones(6), fx.asarray(np.ones(6))
    f = fx.jit(lambda x: x + table + offset)
    assert f(A).tolist() == (A + 2).tolist()
    table[:] = 10
    offset[:] = 20.0
    assert f(A).tolist() == (A + 30).tolist()


def leaves_nothing(f, n):
    """Blocks of Python that n calls of f leave behind: the least of several times, as caches fill at first."""
    found = []
    for _ in range(4):
        gc.collect()
        before = sys.getallocatedblocks()
        for _ in range(n):
            f()
        gc.collect()
        found.append(sys.getallocatedblocks() - before)
    return min(found[1:])


LEAKING = {name: c for name, c in CASES.items() if name not in ("memory that is not there",)}
CALLS = 20_000 if os.environ.get("FUSEC_TESTS") == "all" else 60


def test_no_leak_of_failures():
    def fail():
        for f, _, _ in LEAKING.values():
            try:
                f()
            except Exception:
                pass

    assert leaves_nothing(fail, CALLS) < max(50, CALLS // 2)


def test_no_leak_of_calls():
    x, out, n = fx.asarray(A), np.empty(6), 1_000_000 if os.environ.get("FUSEC_TESTS") == "all" else 2_000

    def work():
        twice(A)
        twice(A, out=out)
        twice(x)
        np.asarray(x * 2 + 1)
        np.from_dlpack(x)
        memoryview(x)

    assert leaves_nothing(work, n) < 50


def test_an_interpreter_that_ends_while_code_is_compiled():
    code = """
import numpy as np, fusec as fx, threading
fx.config(cache_dir="", tiers="both")
x = np.random.rand(1000)
f = fx.jit(lambda x: sum(fx.sin(x * k) * fx.exp(x / (k + 1)) for k in range(40)))
t = threading.Thread(target=lambda: f(x), daemon=True)
t.start()
f(x)
g = fx.jit(lambda x: sum(fx.cos(x * k) for k in range(40)))
threading.Thread(target=lambda: g(x), daemon=True).start()
print("ends")
"""
    r = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100)
    assert r.returncode == 0 and r.stdout == "ends\n" and not r.stderr, r.stderr


def test_a_gpu_that_is_not_there():
    code = """
import fusec as fx
for f in (lambda: fx.zeros(3, device="cuda"), lambda: fx.asarray([1.0], device="cuda:1"), lambda: fx.ones(3).to_device("cuda"),
          lambda: fx.jit(lambda x: x + 1, device="cuda")(1.0)):
    try:
        f()
    except fx.DeviceError as e:
        print(e.slug)
print(fx.__array_namespace_info__().devices(), fx.ones(3).sum().item())
"""
    r = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100,
                       env={**os.environ, "FUSEC_LIBCUDA_PATH": "/nowhere/libcuda.so.1"})
    assert r.returncode == 0, r.stderr
    assert r.stdout.splitlines() == ["no-gpu"] * 4 + ["('cpu',) 3.0"]


def test_memory_that_runs_out():
    code = """
import resource, numpy as np, fusec as fx
x = fx.asarray(np.ones(1000))
np.asarray(x + 1)
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
for f in (lambda: np.asarray(fx.zeros((1 << 20, 1 << 12)) + 1), lambda: np.asarray(fx.arange(1 << 31) * 2)):
    try:
        f()
    except MemoryError as e:
        print("MemoryError")
print(np.asarray(x + 1).sum())
"""
    r = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100)
    assert r.returncode == 0, r.stderr
    assert r.stdout.splitlines() == ["MemoryError", "MemoryError", "2000.0"]
