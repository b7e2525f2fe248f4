# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""fx.jit: what is compiled how often, kinds, arguments, what is read from outside, errors, threads."""

import gc
import os
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest

import fusec as fx


@fx.jit
def module_function(x):
    return x * 2 + 1


def test_once_for_all_sizes():
    traces = []

    @fx.jit
    def softmax(x):
        traces.append(x.shape)
        e = fx.exp(x - x.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True)

    for shape in ((3, 4), (30, 40), (5, 7), (2, 9)):
        a = np.random.default_rng(1).normal(size=shape)
        e = np.exp(a - a.max(-1, keepdims=True))
        got = softmax(a)
        assert type(got) is np.ndarray
        np.testing.assert_allclose(got, e / e.sum(-1, keepdims=True), rtol=1e-12)
    assert len(traces) == 1
    softmax(np.ones((4, 4)))  # equal lengths are a pattern of their own
    softmax(np.ones((1, 4)))
    softmax(np.ones((3, 4), np.float32))
    assert len(traces) == 4


def test_sizes_are_names():
    @fx.jit
    def f(x):
        n, m = x.shape
        return x.reshape((m * n,)) / n + fx.arange(n * m) * x.shape[1]

    for shape in ((3, 4), (5, 2)):
        a = np.random.default_rng(1).normal(size=shape)
        want = a.reshape(-1) / shape[0] + np.arange(a.size) * shape[1]
        np.testing.assert_allclose(f(a), want, rtol=1e-12)


def test_sizes_that_decide_are_traced_for_themselves():
    @fx.jit
    def f(x):
        if x.shape[0] > 3:
            return x[:2]
        for _ in range(len(x)):
            x = x + 1
        return x[:2]

    for n in (5, 2, 3, 5, 6, 1, 0):
        a = np.arange(float(n))
        np.testing.assert_array_equal(f(a), a[:2] if n > 3 else (a + n)[:2])


def test_slices_are_cut_as_in_numpy():
    @fx.jit
    def f(x):
        return x[:5] + 1

    for n in (9, 8, 5, 3, 1):
        a = np.arange(float(n))
        np.testing.assert_array_equal(f(a), a[:5] + 1)


def test_numbers_are_arguments():
    traces = []

    @fx.jit
    def f(x, k):
        traces.append(1)
        return fx.sin(x * k)

    x = np.linspace(0, 1, 10)
    f(x, 1.5)
    compiled = fx.counters()["compiles"]
    for k in np.linspace(0, 3, 20).tolist():
        np.testing.assert_allclose(f(x, k), np.sin(x * k), rtol=1e-12)
    assert len(traces) == 1 and fx.counters()["compiles"] <= compiled + 1
    assert f(np.float32(x), 2.5).dtype == np.float32
    assert f(np.arange(3), 2).dtype == np.float64


def test_whole_numbers_as_axes():
    @fx.jit
    def f(x, axis, n=2):
        return x.sum(axis) * n

    a = np.arange(6.0).reshape(2, 3)
    for axis in (0, 1, -1):
        np.testing.assert_array_equal(f(a, axis, n=3), a.sum(axis) * 3)


def test_trees_and_static_arguments():
    @fx.jit(static_argnames="mode")
    def f(p, xs, mode, *, k=2):
        r = xs[0] * p["w"] + p["b"]
        return {"r": r, "two": (r * k, [xs[1]])} if mode == "all" else r

    p, xs = {"w": np.float32(2) * np.ones(3, np.float32), "b": 1.0}, (np.ones(3), np.zeros(2))
    got = f(p, xs, "all", k=3.0)
    assert set(got) == {"r", "two"} and isinstance(got["two"][1], list)
    np.testing.assert_array_equal(got["two"][0], [9, 9, 9])
    np.testing.assert_array_equal(f(p, xs, mode="one"), [3, 3, 3])
    with pytest.raises(ValueError):
        fx.jit(lambda x: x, static_argnames="y")
    with pytest.raises(TypeError):
        f({"w": {1, 2}, "b": 1}, xs, "all")


class Column:
    """What becomes an array when it is asked to."""

    def __init__(self, a):
        self.a = a

    def __array__(self, dtype=None, copy=None):
        return self.a


def test_kinds():
    a = np.ones(3)
    assert type(module_function(a)) is np.ndarray
    assert type(module_function(fx.asarray(a))) is fx.Array
    assert isinstance(fx.jit(lambda x: x.sum())(a), np.float64)
    x = np.arange(12.0).reshape(3, 4)
    for view in (x[:, ::2], x.T, x[::-1]):
        np.testing.assert_array_equal(module_function(view), view * 2 + 1)
    np.testing.assert_array_equal(module_function(x.astype(">f8")), x * 2 + 1)
    np.testing.assert_array_equal(module_function(memoryview(b"\1\2")), [3, 5])
    column = Column(np.arange(3.0))  # as those of pandas: NumPy's is the result
    assert type(module_function(column)) is np.ndarray and module_function(column).tolist() == [1, 3, 5]
    assert fx.evaluate("c + n", {"c": column, "n": np.ones(3)}).tolist() == [1, 2, 3]
    assert fx.jit(lambda x, kind: x.astype(kind))(np.ones(2), np.float32).dtype == np.float32  # a class is no array


def test_out():
    a, out = np.arange(4.0), np.empty(4)
    assert module_function(a, out=out) is out
    np.testing.assert_array_equal(out, a * 2 + 1)
    b = np.arange(6.0)
    module_function(b[:5], out=b[1:])  # overlaps
    np.testing.assert_array_equal(b, [0, 1, 3, 5, 7, 9])
    module_function(a, out=a)
    np.testing.assert_array_equal(a, [1, 3, 5, 7])
    for bad in (np.empty(5), np.empty((4, 1)), np.empty(4, np.int32)):
        with pytest.raises((ValueError, TypeError)):
            module_function(np.arange(4.0), out=bad)
    out.flags.writeable = False
    with pytest.raises(ValueError):
        module_function(a, out=out)


K = 2.0
W = np.ones(3)


def helper(x):
    return x * K


def test_what_is_read_from_outside():
    global K, W
    y = fx.asarray([1.0, 2.0, 3.0])

    @fx.jit
    def f(x):
        return helper(x) + W + y

    x = np.zeros(3) + 1
    np.testing.assert_array_equal(f(x), [4, 5, 6])
    K = 3.0
    np.testing.assert_array_equal(f(x), [5, 6, 7])
    W[0] = 11  # in place
    np.testing.assert_array_equal(f(x), [15, 6, 7])
    W = np.zeros(3)
    np.testing.assert_array_equal(f(x), [4, 5, 6])
    W = np.zeros((2, 3))
    assert f(x).shape == (2, 3)
    W = np.ones(3)
    y = fx.asarray([0.0, 0.0, 0.0])
    np.testing.assert_array_equal(f(x), [4, 4, 4])


class Model:
    def __init__(self):
        self.w, self.k = np.ones(3), 2.0

    @fx.jit
    def forward(self, x):
        return x * self.w * self.k


def test_methods_see_their_object():
    m, x = Model(), np.ones(3)
    np.testing.assert_array_equal(m.forward(x), [2, 2, 2])
    m.w = np.zeros(3)
    np.testing.assert_array_equal(m.forward(x), [0, 0, 0])
    m.w, m.k = np.ones(3), 5.0
    np.testing.assert_array_equal(m.forward(x), [5, 5, 5])
    other = Model()
    np.testing.assert_array_equal(other.forward(x), [2, 2, 2])


def test_trace_errors():
    def on_value(x):
        if x[0] > 0:
            return x
        return -x

    for f in (on_value, lambda x: x * float(x.sum()), lambda x: np.asarray(x), lambda x: x.tolist()):
        with pytest.raises(fx.TraceError):
            fx.jit(f)(np.ones(3))
    with pytest.raises(fx.TraceError, match="test_jit.py"):
        fx.jit(on_value)(np.ones(3))
    kept = []
    fx.jit(lambda x: kept.append(x) or x * 1)(np.ones(3))
    with pytest.raises(fx.TraceError):
        kept[0].tolist()
    with pytest.raises(TypeError):
        fx.jit(lambda x: 3)(np.ones(3))
    target = fx.zeros(3)

    @fx.jit
    def writes(x):
        target[0] = 1
        return x

    with pytest.raises(fx.TraceError):
        writes(np.ones(3))
    with pytest.raises(ZeroDivisionError):
        fx.jit(lambda x: x * (1 // 0))(np.ones(3))
    with pytest.raises(ValueError):
        fx.jit(lambda x, y: x + y)(np.ones(3), np.ones(4))
    np.testing.assert_array_equal(module_function(np.ones(3)), [3, 3, 3])


def test_inside_each_other():
    @fx.jit
    def g(x):
        return module_function(x) * module_function(x + 1)

    a = np.arange(3.0)
    np.testing.assert_array_equal(g(a), (a * 2 + 1) * (a * 2 + 3))


def test_results_that_are_arguments_and_constants():
    f = fx.jit(lambda x: (x, x + 1, 5, fx.asarray([1.0, 2.0])))
    a = np.arange(3.0)
    x, y, five, c = f(a)
    np.testing.assert_array_equal(x, a)
    assert five == 5 and c.tolist() == [1, 2] and not np.shares_memory(x, a)


def test_pickle(monkeypatch):
    for name in ("cloudpickle", "ray.cloudpickle"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    assert pickle.loads(pickle.dumps(module_function)) is module_function
    with pytest.raises(pickle.PicklingError, match="can't be found as"):
        pickle.dumps(fx.jit(lambda x: x))


def test_pickle_by_value(monkeypatch):
    cloudpickle = pytest.importorskip("cloudpickle")
    monkeypatch.setitem(sys.modules, "cloudpickle", cloudpickle)
    scale = 3
    f = fx.jit(lambda x, how: x * scale if how == "times" else x, static_argnames="how")
    data = pickle.dumps(f)
    g = pickle.loads(data)
    assert g is pickle.loads(data) and g is not f
    np.testing.assert_array_equal(g(np.arange(4.0), "times"), np.arange(4.0) * 3)
    np.testing.assert_array_equal(g(np.arange(4.0), "as it is"), np.arange(4.0))
    assert pickle.loads(pickle.dumps(module_function)) is module_function
    code = ("import cloudpickle, fusec as fx\n@fx.jit\ndef f(x):\n    return x + k\nk = 2.0\n"
            "import sys; sys.stdout.buffer.write(cloudpickle.dumps(f))")
    sent = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, env=os.environ).stdout
    np.testing.assert_array_equal(pickle.loads(sent)(np.arange(4.0)), np.arange(4.0) + 2)


def test_threads():
    f = fx.jit(lambda x, k: fx.exp(x) * k + x.sum())
    wrong = []

    def work(seed):
        rng = np.random.default_rng(seed)
        for _ in range(200):
            x, k = rng.normal(size=rng.integers(2, 50)), float(rng.normal())
            if not np.allclose(f(x, k), np.exp(x) * k + x.sum()):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not wrong


def test_fork():
    module_function(np.ones(3))
    pid = os.fork()
    if pid == 0:
        ok = module_function(np.ones(4)).tolist() == [3.0] * 4
        os._exit(0 if ok else 1)
    assert os.waitpid(pid, 0)[1] == 0


def test_nothing_is_kept():
    a, out = np.ones(10), np.empty(10)
    module_function(a), module_function(a, out=out), module_function(fx.asarray(a))
    counts = sys.getrefcount(a), sys.getrefcount(out), sys.getrefcount(np.dtype("f8"))
    for _ in range(1000):
        module_function(a)
        module_function(a, out=out)
        try:
            module_function(a, out=a[:3])
        except ValueError:
            pass
    gc.collect()
    now = sys.getrefcount(a), sys.getrefcount(out), sys.getrefcount(np.dtype("f8"))
    assert all(abs(x - y) < 20 for x, y in zip(counts, now)), (counts, now)


def test_joins_and_reads_at_indices():
    x, i = np.arange(12.0).reshape(3, 4), np.array([2, 0, -1])
    for f in (lambda x, i, m: m.concatenate([x, x * 2], axis=1) if m is np else m.concat([x, x * 2], axis=1),
              lambda x, i, m: m.stack([x, x + 1], axis=-1), lambda x, i, m: m.roll(x, 1, axis=1) + x,
              lambda x, i, m: m.roll(x, 2), lambda x, i, m: m.take(x, i, axis=1) * 2,
              lambda x, i, m: m.cumsum(x, axis=1) * 2, lambda x, i, m: m.cumprod(x > 0, axis=0) + x,
              lambda x, i, m: x @ m.swapaxes(x, 0, 1) + 1):
        np.testing.assert_array_equal(fx.jit(lambda x, i: f(x, i, fx))(x, i), f(x, i, np))
    with pytest.raises(IndexError):
        fx.jit(lambda x, i: fx.take(x, i, axis=0))(x, np.array([7]))


def test_joins_and_prefixes_fuse_outside_of_jit():
    x = np.arange(12.0).reshape(3, 4)
    a = fx.asarray(x)
    for f in (lambda x, m: m.cumsum(m.exp(x), axis=0) * 2, lambda x, m: m.roll(m.exp(x), -5, axis=1) + x,
              lambda x, m: m.stack([m.exp(x), x], axis=1) - 1):
        y = f(a, fx)
        assert len(fx.explain(y).kernels) == 1
        np.testing.assert_allclose(np.asarray(y), f(x, np), rtol=1e-14)
    for axis in (2, -3):
        with pytest.raises(fx.AxisError):
            fx.cumsum(a, axis=axis)


def test_traces_are_given_back():
    w = fx.asarray(np.ones(1000))

    def resident():
        return int(open("/proc/self/statm").read().split()[1]) * 4

    def work(n):
        for _ in range(n):
            fx.jit(lambda x: x * w)(np.ones(3000)[:1000])

    work(100)
    gc.collect()
    before = resident()
    work(300)
    gc.collect()
    assert resident() - before < 3000


def test_explain():
    e = module_function.explain(np.ones(100))
    assert len(e.kernels) == 1 and e.bytes == 1600 == e.floor and not e.reasons
    assert "traffic" in str(e) and e._repr_html_().count("<tr>") == 2
    z = fx.sin(fx.asarray(np.ones(100)) * 2 + 1)
    assert len(fx.explain(z).kernels) == 1 and fx._core.depth(z) > 0
    fx.eval(z)
    assert not fx.explain(z).kernels and "float64[100]" in str(fx.explain(z)) and fx.explain(z).bytes == 0
    assert "nothing" in fx.explain(z)._repr_html_()
    assert len(module_function.source(np.ones(100))) > 100


def test_results_on_arguments_of_all_kinds():
    f = fx.jit(lambda x, y: x[::-1] + y)
    x, y = np.arange(5.0), np.ones(5)
    want = x[::-1] + y
    assert f(x, y, out=x) is x
    np.testing.assert_array_equal(x, want)
    a = np.zeros((4, 6))
    module_function(np.ones((4, 3)), out=a[:, ::2])
    np.testing.assert_array_equal(a, [[3, 0] * 3] * 4)
    b = fx.zeros(5)
    assert f(fx.asarray(y), y, out=b) is b and b.tolist() == [2.0] * 5
    both = fx.jit(lambda x: (x + 1, x + 2))
    p = np.zeros(5)
    both(y, out=(p, None))
    np.testing.assert_array_equal(p, [2.0] * 5)
    with pytest.raises(ValueError):
        both(y, out=(p, p))


def test_modes_of_a_function():
    """Licences of one function: a product and a sum that are rounded once."""
    def f(x, y):
        return x * x - y

    x = np.random.default_rng(3).uniform(1, 2, 4096)
    strict, free = fx.jit(f)(x, x * x), fx.jit(f, mode="contract")(x, x * x)
    assert not strict.any()
    assert free.any() and abs(free).max() < 1e-15
    with pytest.raises(ValueError, match="mode 'quick' is not known"):
        fx.jit(f, mode="quick")
    for bits in (-1, 256):
        with pytest.raises(ValueError, match="is not known"):
            fx.jit(f, mode=bits)
    # of a function that is compiled already the outer one's hold
    assert fx.jit(fx.jit(f), mode="contract")(x, x * x).any()
    assert not fx.jit(fx.jit(f, mode="contract"), mode="strict")(x, x * x).any()
    assert fx.jit(f, mode=("recip", "approx"))(x, x).shape == x.shape
    # a derivative has those of its function
    g = fx.value_and_grad(fx.jit(lambda x, y: (f(x, y) * 3.0).sum(), mode="contract"))
    assert float(g(fx.asarray(x), fx.asarray(x * x))[0]) != 0
