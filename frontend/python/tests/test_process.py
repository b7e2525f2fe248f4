# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The process around the package: settings, interrupts, forks, threads, pickles, notebooks."""

import os
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest

import fusec as fx


def run(code, **env):
    r = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120,
                       env={**os.environ, **env})
    assert r.returncode == 0, r.stderr
    return r.stdout.split()


def test_settings():
    out = run("""
import fusec as fx
fx.config(device="interp", threads=1, mode="strict", tiers="full", cache_dir="")
print(fx.device()[0].split()[0], fx.zeros(3).sum().item())
try:
    fx.config.threads = 7
except RuntimeError:
    print("refused")
fx.config.threads = 1
""")
    assert out[0].startswith("interp") and out[1:] == ["0.0", "refused"]


def test_settings_are_checked():
    out = run("""
import fusec as fx
for name, value in (("threads", 0), ("mode", "quick"), ("tiers", 3), ("device", "tpu"), ("color", 1)):
    try:
        setattr(fx.config, name, value)
    except (ValueError, AttributeError) as e:
        print(type(e).__name__)
""")
    assert out == ["ValueError"] * 4 + ["AttributeError"]


LONG = """
import os, signal, threading, time
import numpy as np
import fusec as fx
x = fx.asarray(np.ones((2000, 2000)))
def work():
    %s
start = time.time()
try:
    threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    while time.time() - start < 60:
        work()
    print("not interrupted")
except KeyboardInterrupt:
    print("interrupted")
print(fx.ones(3).sum().item())
"""


@pytest.mark.parametrize("work", ["np.asarray(fx.einsum('ij,jk->ik', x, x + 1))",
                                  "fx.jit(lambda x: fx.einsum('ij,jk->ik', x, x + 1))(x)"])
def test_ctrl_c_ends_a_long_evaluation(work):
    assert run(LONG % work) == ["interrupted", "3.0"]


def test_fork():
    x = fx.asarray(np.arange(1e6))
    want = np.asarray(fx.sin(x).sum())
    pid = os.fork()
    if pid == 0:
        ok = np.asarray(fx.sin(x).sum()) == want and fx.jit(lambda a: a + 1)(np.ones(3)).sum() == 6
        os._exit(0 if ok else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


@pytest.mark.parametrize("after", [0, 4, 8, 12, 16, 20])
def test_ends_while_the_first_kernels_are_compiled(tmp_path, after):
    # the compiler is opened and used by a thread that the end of the process waits for first
    out = run(f"""
import time
import fusec as fx
for i in range(3):
    print(float((fx.exp(fx.asarray([0.0, 1.0])) + i)[0]))
time.sleep({after / 1000})
""", FUSEC_CACHE_DIR=str(tmp_path), FUSEC_TIERS="both")
    assert out == ["1.0", "2.0", "3.0"]


def test_threads_that_do_everything_at_once():
    """Briefly; scripts/campaign python does it for long."""
    stress = os.path.join(os.path.dirname(__file__), "stress.py")
    r = subprocess.run([sys.executable, stress, "1"], capture_output=True, text=True, timeout=90)
    assert r.returncode == 0, r.stderr + r.stdout


def test_threads_share_arrays_and_functions():
    x, f, wrong = fx.asarray(np.arange(1000.0)), fx.jit(lambda a, k: a * k + 1), []

    def work(k):
        for _ in range(50):
            if not np.array_equal(np.asarray(fx.sin(x) * k), np.sin(np.arange(1000.0)) * k) and not np.allclose(
                    np.asarray(fx.sin(x) * k), np.sin(np.arange(1000.0)) * k, rtol=1e-14):
                wrong.append(k)
            if not np.array_equal(f(np.ones(10), float(k)), np.full(10, k + 1.0)):
                wrong.append(-k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(1, 9)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_threads_that_replace_what_others_compute():
    """An object gets another value, of another shape and dtype, while others evaluate it."""
    assert run("""
import threading
import numpy as np
import fusec as fx
from fusec import _core
x, out, done = fx.asarray(np.arange(4096.0)) + 1, np.empty(4096), []

def change():
    while len(done) < 2:
        _core.replace(x, fx.sin(fx.asarray(np.arange(4096.0)) + len(done)))
        _core.replace(x, fx.asarray(np.ones((3, 5), "f4")) * 2)

def use():
    good = False
    try:
        for _ in range(150):
            _core.evaluate((x, x))
            _core.into(x, out)
            _core.explain(x, False)
            assert np.asarray(x).size in (15, 4096)
            x.to_device("cpu")
        good = True
    finally:
        done.append(good)

threads = [threading.Thread(target=f) for f in (change, change, use, use)]
for t in threads:
    t.start()
for t in threads:
    t.join()
print(*done)
""") == ["True", "True"]


@fx.jit
def compiled(x):
    return x * 2


def test_pickles():
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        for a in (np.arange(6.0).reshape(2, 3), np.array([1j, 2]), np.zeros((0, 3), "i4")):
            b = pickle.loads(pickle.dumps(fx.asarray(a), protocol))
            assert b.dtype == a.dtype and np.array_equal(np.asarray(b), a)
    assert pickle.loads(pickle.dumps(compiled)) is compiled
    with pytest.raises(pickle.PicklingError):
        pickle.dumps(fx.jit(lambda x: x))


def test_notebooks():
    x = fx.asarray(np.arange(3.0))
    y = fx.sin(x) * 2
    text = y._repr_html_()
    assert "float64" in text and "3" in text and "not computed" in text
    np.asarray(y)
    assert "not computed" not in y._repr_html_()
    assert fx.explain(fx.sin(x))._repr_html_().startswith("<table>")


LIFES = 1_000_000 if os.environ.get("FUSEC_TESTS") == "all" else 4_000


def test_memory_stays():
    import resource

    x = fx.asarray(np.ones(100))
    for _ in range(2):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for i in range(LIFES):
            x = fx.sin(x) + 1.0
            if i % 100 == 0:
                x = x * 0.5
        np.asarray(x)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000  # KiB


def test_import_is_quick():
    """9 ms; what takes time is what else it imports, and that can be told without a clock."""
    out = run("import numpy, sys; before = set(sys.modules); import fusec; print(*set(sys.modules) - before)")
    others = {m for m in out if m.split(".")[0] != "fusec"}
    assert others <= {"array", "threading", "_weakrefset", "_threading_local"}


@pytest.mark.parametrize("delay", [0, 5, 10, 15, 20, 30])
def test_ends_while_what_other_threads_asked_for_is_compiled(delay, tmp_path):
    """The first kernels of the process are asked for by a thread that is not the first one."""
    assert run(f"""
import threading, time
import fusec as fx
x, got = fx.asarray([0.0, 1.0]), []
t = threading.Thread(target=lambda: got.append(float((fx.exp(x) * 2)[0])))
t.start()
t.join()
print(*got)
time.sleep({delay / 1000})
""", FUSEC_CACHE_DIR=str(tmp_path)) == ["2.0"]
