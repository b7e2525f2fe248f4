# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays on a GPU. Under ctest the GPU is the one of tests/fake, which runs kernels on the host, and
other libraries' arrays there are made up; on a machine with a GPU torch and CuPy come, too."""

import ctypes
import importlib.util
import os
import pickle
import subprocess

import numpy as np
import pytest

import fusec as fx

GPUS = fx.__array_namespace_info__().devices()[1:]
FAKE = "fake" in os.environ.get("FUSEC_LIBCUDA_PATH", "")
pytestmark = pytest.mark.skipif(not GPUS, reason="there is no GPU")


def gpu(x, **kwargs):
    return fx.asarray(x, device="cuda", **kwargs)


def test_arrays_are_where_they_are_made():
    a = np.arange(6.0).reshape(2, 3)
    x = gpu(a)
    assert x.device == "cuda:0" and x.__dlpack_device__() == (2, 0) and fx.default_device() == "cpu"
    for y in (x * 2, x.sum(axis=0), x[1], x.T, x[:, ::2], fx.sin(x), fx.concat([x, x]), x.astype("f4"), x > 2,
              fx.zeros_like(x), x.reshape(-1), fx.where(x > 1, x, 0), fx.tril(x), fx.take(x, gpu([1, 0]), axis=1),
              x[[1, 0]], fx.full((2,), 3.0, device="cuda"), fx.arange(3, device="cuda"), fx.eye(2, device="cuda"),
              fx.linspace(0, 1, 3, device="cuda"), fx.zeros((2, 2), device="cuda:0"), x.cumsum(axis=1)):
        assert y.device == "cuda:0"
    np.testing.assert_array_equal(np.asarray(x * 2 + 1), a * 2 + 1)
    np.testing.assert_array_equal(np.asarray(x.T[::2]), a.T[::2])
    np.testing.assert_allclose(np.asarray(fx.sin(x).sum(axis=0)), np.sin(a).sum(axis=0))
    assert x.tolist() == a.tolist() and x[1, 2].item() == 5 and float(x.mean()) == 2.5 and bool((x >= 0).all())
    assert repr(x * 1) == repr(fx.asarray(a) * 1)
    with fx.use_device("cuda"):
        assert fx.ones(3).device == "cuda:0" and fx.asarray(a).device == "cuda:0" == fx.default_device()
        assert fx.ones_like(fx.asarray(a, device="cpu")).device == "cpu"
    assert fx.ones(3).device == "cpu"


def test_moving():
    a = np.arange(6.0).reshape(2, 3)
    x = gpu(a)
    assert x.to_device("cuda") is x
    c = x.T.to_device("cpu")
    assert c.device == "cpu" and np.array_equal(np.asarray(c), a.T)
    back = c.to_device("cuda:0")
    assert back.device == "cuda:0" and np.array_equal(np.asarray(back), a.T)
    assert fx.asarray(fx.asarray(a), device="cuda").device == "cuda:0" and fx.asarray(x, device="cpu").device == "cpu"
    assert gpu(a.T[::2]).tolist() == a.T[::2].tolist() and gpu(np.zeros((0, 3))).shape == (0, 3)
    assert gpu(True).item() is True and gpu(2.5).item() == 2.5 and gpu([1, 2]).dtype == fx.int64
    b = pickle.loads(pickle.dumps(x))
    assert b.device == "cuda:0" and np.array_equal(np.asarray(b), a)
    for dtype in ("bool", "i1", "u2", "i4", "u8", "f2", "f4", "c8", "c16"):
        v = np.array([0, 1, 2, 3]).astype(dtype)
        assert np.array_equal(np.asarray(gpu(v)), v) and gpu(v).tolist() == v.tolist()
    x[0, 1:] = 7
    x += 1
    assert x.device == "cuda:0" and x.tolist() == [[1, 8, 8], [4, 5, 6]]


def test_masks_and_counts_stay_there():
    a = np.arange(6.0).reshape(2, 3)
    x, m = gpu(a), gpu(a > 1)
    got = [x[m], x[m[:, 0]], x[x > 9], *fx.nonzero(x > 1), fx.argwhere(m), fx.extract(m, x), fx.bincount(gpu([1, 3, 1])),
           *fx.histogram(x, 3), fx.interp(x, gpu([0.0, 5]), gpu([0.0, 50])), fx.gradient(x, axis=1), fx.lexsort((x[0], -x[1])),
           fx.partition(x, 1), *fx.unravel_index(gpu([5, 2]), (2, 3)), fx.nanmedian(x / gpu([[1.0], [0.0]]), axis=0)]
    want = [a[a > 1], a[a[:, 0] > 1], a[a > 9], *np.nonzero(a > 1), np.argwhere(a > 1), a[a > 1], np.bincount([1, 3, 1]),
            *np.histogram(a, 3), a * 10, np.gradient(a, axis=1), np.array([2, 1, 0]), a,
            *np.unravel_index([5, 2], (2, 3)), np.array([np.inf, np.inf, np.inf])]
    for g, w in zip(got, want, strict=True):
        assert g.device == "cuda:0" and g.shape == w.shape
        np.testing.assert_allclose(np.asarray(g), w, rtol=1e-14)
    k, i = gpu([3, 1, 3, 2]), np.array([3, 1, 3, 2])
    for g, w in zip((*fx.unique(k, True, True, True), fx.repeat(k, gpu([1, 0, 2, 0])), fx.setxor1d(k, gpu([2, 5])), fx.delete(k, [0, 2]),
                     *fx.tril_indices(2), fx.packbits(k > 1), fx.resize(k, (2, 3))),
                    (*np.unique(i, True, True, True), np.repeat(i, [1, 0, 2, 0]), np.setxor1d(i, [2, 5]), np.delete(i, [0, 2]),
                     *np.tril_indices(2), np.packbits(i > 1), np.resize(i, (2, 3))), strict=True):
        assert np.array_equal(np.asarray(g), w)
    x[m] = gpu([7.0, 8, 9, 10])
    x[gpu([0, 0]), gpu([0, 1])] = -1.0
    np.add.at(x, (gpu([1, 1]), gpu([0, 0])), 1.0)
    assert x.device == "cuda:0" and x.tolist() == [[-1, -1, 7], [10, 9, 10]]


def test_arrays_of_several_devices_do_not_meet():
    x, c = gpu(np.arange(3.0)), fx.asarray(np.arange(3.0))
    for f in (lambda: x + c, lambda: c * x, lambda: x + np.ones(3), lambda: fx.concat([x, c]), lambda: fx.where(c > 0, x, x),
              lambda: fx.eval(x * 1, c * 1), lambda: fx.jit(lambda a, b: a + b)(x, c), lambda: fx.jit(lambda a: a + c)(x),
              lambda: fx.jit(lambda a: a + x)(c), lambda: fx.jit(lambda a, b: a + b)(x, np.ones(3))):
        with pytest.raises(fx.DeviceError, match="cuda:0|cpu"):
            f()
    assert (x + c.sum()).tolist() == [3, 4, 5] and (c.sum() * x).device == "cuda:0"  # numbers do
    assert (x * np.float64(2)).tolist() == [0, 2, 4]


def test_what_is_not_there_is_said():
    with pytest.raises(fx.DeviceError, match="no cuda:9"):
        fx.zeros(3, device="cuda:9")
    with pytest.raises(ValueError, match="tpu"):
        fx.asarray([1.0], device="tpu")
    with pytest.raises(fx.NotYetError, match="to_device"):
        fx.linalg.inv(gpu(np.eye(2)))
    x = gpu(np.ones(3))
    with pytest.raises(BufferError):
        x.__dlpack__(dl_device=(8, 0))
    with pytest.raises(BufferError):
        x.__dlpack__(stream=0)
    with pytest.raises(ValueError):
        fx.asarray(np.ones(3), device="cuda", copy=False)
    with pytest.raises(Exception, match="to_device"):
        memoryview(x)
    assert not hasattr(x, "__array_interface__") and not hasattr(fx.ones(3), "__cuda_array_interface__")


def test_compiled_functions():
    softmax = fx.jit(lambda x: fx.exp(x - x.max(-1, keepdims=True)) / fx.exp(x - x.max(-1, keepdims=True)).sum(
        -1, keepdims=True))
    a = np.random.default_rng(0).normal(size=(5, 7))
    e = np.exp(a - a.max(-1, keepdims=True))
    want = e / e.sum(-1, keepdims=True)
    for _ in range(2):
        y, c, n = softmax(gpu(a)), softmax(fx.asarray(a)), softmax(a)
        assert y.device == "cuda:0" and c.device == "cpu" and type(n) is np.ndarray
        for r in (y, c, n):
            np.testing.assert_allclose(np.asarray(r), want, rtol=1e-12)
    scaled = fx.jit(lambda x, k, m: (x * k + m, x.sum(), m))
    y, s, m = scaled(gpu(a), 2.0, gpu(a).mean())
    np.testing.assert_allclose(np.asarray(y), a * 2 + a.mean())
    assert s.shape == () and s.device == "cuda:0" and abs(s.item() - a.sum()) < 1e-12 and abs(m.item() - a.mean()) < 1e-12
    there = fx.jit(lambda x: x * 2 + 1, device="cuda")  # NumPy in and out, computed on the GPU
    out = np.empty_like(a)
    assert there(a, out=out) is out and np.array_equal(out, a * 2 + 1) and np.array_equal(there(a), a * 2 + 1)
    assert "cuda:0" in str(there.explain(a))
    g = fx.grad(lambda x: (x * x).sum())(gpu(a))
    assert g.device == "cuda:0" and np.allclose(np.asarray(g), 2 * a)
    weights = gpu(a)
    meets = fx.jit(lambda x: x + weights + 1)
    assert np.allclose(np.asarray(meets(gpu(a))), 2 * a + 1)
    assert np.allclose(fx.evaluate("x*2", {"x": gpu(a)}).tolist(), a * 2)


def test_exchange_table():
    from test_exchange import MANAGED, P, Tensor, table

    api, t, m, stream = table(), Tensor(), MANAGED(), P()
    x = gpu(np.arange(3.0)) + 1
    assert api.tensor_from(x, t) == 0 and t.look() == (2, 2, 64, [3], [1])
    assert api.current_stream(2, 0, stream) == 0 and stream.value
    assert api.managed_from(x, m) == 0 and m.contents.tensor.device == 2
    m.contents.deleter(m)


def test_dlpack_between_arrays_of_ours():
    a = np.arange(6.0).reshape(2, 3)
    x = gpu(a)
    for version in (None, (1, 0)):
        y = fx._core.from_dlpack(x.T.__dlpack__(max_version=version), 1)
        assert y.device == "cuda:0" and np.array_equal(np.asarray(y), a.T)
        capsule = x.__dlpack__(max_version=version, stream=2)
        del capsule  # unused: its memory is given back
    host = fx._core.from_dlpack(x.__dlpack__(dl_device=(1, 0), max_version=(1, 0)), 0)
    assert host.device == "cpu" and np.array_equal(np.asarray(host), a)
    capsule = x.__dlpack__()
    fx._core.from_dlpack(capsule, 1)
    with pytest.raises(TypeError):
        fx._core.from_dlpack(capsule, 1)
    assert np.array_equal(np.from_dlpack(x.to_device("cpu")), a)
    assert fx._core.from_dlpack(gpu(2.5).__dlpack__(), 1).item() == 2.5


@pytest.mark.skipif(not FAKE, reason="a stream that is gone is made up")
def test_dlpack_of_a_stream_that_is_gone():
    """The consumer's stream may have ended before it gives the memory back: it is not asked."""
    cuda = ctypes.CDLL(os.environ["FUSEC_LIBCUDA_PATH"])
    context, stream = ctypes.c_void_p(), ctypes.c_void_p()
    x = gpu(np.arange(6.0)) + 1
    assert not cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) and not cuda.cuCtxPushCurrent_v2(context)
    assert not cuda.cuStreamCreate(ctypes.byref(stream), 0)
    capsule = x.__dlpack__(stream=stream.value)
    before = cuda.fake_cuda_misuses()
    assert not cuda.cuStreamDestroy_v2(stream)
    del capsule
    assert cuda.fake_cuda_misuses() == before
    assert x.tolist() == [1, 2, 3, 4, 5, 6]
    assert not cuda.cuCtxPopCurrent_v2(ctypes.byref(context)) and not cuda.cuDevicePrimaryCtxRelease_v2(0)


# ---- another library's arrays ----------------------------------------------------------------------


class On:
    id = 0

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        pass


class Theirs:
    """An array as CuPy's, over memory of the GPU."""

    def __init__(self, x):
        self.x, self.device, self.streams = x, On(), []

    @property
    def shape(self):
        return self.x.shape

    @property
    def ndim(self):
        return self.x.ndim

    @property
    def __cuda_array_interface__(self):
        return {**self.x.__cuda_array_interface__, "stream": None}


def empty(shape, dtype):
    return Theirs(fx._core.op("materialize", (fx.zeros(tuple(shape), dtype, device="cuda"),)))


def test_arrays_of_another_library():
    a = np.arange(6.0).reshape(2, 3)
    x = Theirs(gpu(a))
    y = fx.asarray(x)
    assert y.device == "cuda:0" and np.array_equal(np.asarray(y * 2), a * 2)
    assert np.array_equal(np.asarray(fx.borrow(x) + gpu(a)), 2 * a)
    f = fx.jit(lambda x: (x * 2, x.sum()))
    for _ in range(3):
        r, s = f(x)
        assert type(r) is Theirs and np.array_equal(np.asarray(r.x), a * 2) and s.x.item() == a.sum()
    g = fx.jit(lambda x, y: x * 2 + y)
    assert np.array_equal(np.asarray(g(x, gpu(a)).x), a * 3) and np.array_equal(np.asarray(g(x, 1.0).x), a * 2 + 1)
    out = empty((2, 3), "f8")
    assert g(gpu(a), x, out=out) is out and np.array_equal(np.asarray(out.x), a * 3)
    fx.jit(lambda x: x - 1)(x, out=x)
    assert np.array_equal(np.asarray(x.x), a - 1)
    with pytest.raises(fx.DeviceError):
        g(x, fx.asarray(a))
    meets = fx.jit(lambda y: y + x)
    assert np.array_equal(np.asarray(meets(gpu(a))), a + a - 1)


COMMAND = os.path.join(os.getcwd(), "bin", "fusec")


@pytest.mark.skipif(not FAKE or not os.path.exists(COMMAND), reason="under ctest, with the command")
@pytest.mark.parametrize("shape", [(8, 1024), (64, 64), (100, 30)])
def test_arrays_of_another_library_get_the_command_s_kernel(shape):
    @fx.jit
    def softmax(x):
        e = fx.exp(x - x.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True)

    program = """export def softmax(x: T[..., n]) -> T[..., n] {
        e = exp(x - max(x, axis=-1, keepdims=true))
        return e / sum(e, axis=-1, keepdims=true)
    }"""
    said = subprocess.run([COMMAND, "explain", "--device", "cuda", "--emit", "cuda", "/dev/stdin",
                           f"x=f32:{'x'.join(map(str, shape))}"], input=program, capture_output=True, text=True, check=True)
    code = [[line for line in t.splitlines() if line and not line.startswith("//")]
            for t in (said.stdout, softmax.source(Theirs(gpu(np.zeros(shape, "f4")))))]
    assert len(code[0]) > 100 and code[0] == code[1]


torch = pytest.mark.skipif(FAKE or importlib.util.find_spec("torch") is None, reason="torch and a GPU")
cupy = pytest.mark.skipif(FAKE or importlib.util.find_spec("cupy") is None, reason="CuPy and a GPU")


@torch
def test_torch():
    import torch

    f = fx.jit(lambda x: fx.exp(x) / fx.exp(x).sum(-1, keepdims=True))
    side = torch.cuda.Stream()
    for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.float16):
        t = torch.randn(64, 50, device="cuda", dtype=dtype)
        for stream in (torch.cuda.current_stream(), side):
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                r = f(t * 2)
                assert r.device == t.device and r.dtype == dtype
                assert torch.allclose(r.double(), torch.softmax((t * 2).double(), -1), atol=2e-2 if dtype.itemsize == 2 else 1e-6)
        x = fx.asarray(t)
        assert x.device == "cuda:0" and torch.equal(torch.from_dlpack(x), t)
        assert torch.equal(torch.from_dlpack(fx.from_dlpack(t.T)), t.T) and torch.equal(torch.as_tensor(
            x, device="cuda"), t) or dtype == torch.bfloat16
    t = torch.ones(1000, device="cuda")
    for _ in range(200):  # memory that comes and goes, on two streams
        y = fx.from_dlpack(t) * 2
        t = torch.from_dlpack(y) * 0.5
        with torch.cuda.stream(side):
            side.wait_stream(torch.cuda.default_stream())
            junk = torch.full((1000,), 7.0, device="cuda")
            del junk
    assert torch.equal(t, torch.ones_like(t))
    before = t.data_ptr()
    fx.jit(lambda x: x + 1)(t, out=t)
    assert t.data_ptr() == before and torch.equal(t, torch.full_like(t, 2))
    with pytest.raises(fx.DeviceError):
        fx.jit(lambda x, y: x + y)(t, t.cpu())
    with pytest.raises(TypeError, match="gradients"):
        fx.jit(lambda x: x + 1)(torch.ones(3, device="cuda", requires_grad=True))


@cupy
def test_cupy():
    import cupy

    a = cupy.arange(12.0).reshape(3, 4)
    r = fx.jit(lambda x: x * 2 + x.sum())(a)
    assert type(r) is cupy.ndarray and cupy.array_equal(r, a * 2 + a.sum())
    with cupy.cuda.Stream(non_blocking=True):
        r = fx.jit(lambda x: x.T * 2)(a)
        assert cupy.array_equal(r, a.T * 2)
    x = fx.asarray(a)
    assert cupy.array_equal(cupy.asarray(x), a) and cupy.array_equal(cupy.from_dlpack(x * 2), a * 2)
    assert np.array_equal(np.asarray(fx.from_dlpack(a.T)), cupy.asnumpy(a.T))




def _attention(q, k, v, causal):
    s = (q @ fx.permute_dims(k, (0, 2, 1))).astype(fx.float32) * 0.125
    if causal:
        n, m = s.shape[1:]
        s = fx.where(fx.arange(m)[None, :] > fx.arange(n)[:, None], -fx.inf, s)
    e = fx.exp(s - s.max(-1, keepdims=True))
    return (e / e.sum(-1, keepdims=True)).astype(v.dtype) @ v


@pytest.mark.parametrize("mode", ["strict", "fast"])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("shape", [(16, 1024, 1024, 64, 64), (40, 513, 700, 72, 128), (3, 4096, 9000, 16, 40),
                                   (70, 130, 129, 33, 17), (2, 64, 50, 256, 64)])
def test_attention_on_a_gpu(mode, causal, shape):
    """In one launch where sizes allow it, and in three; whole tiles and not, several chunks of the tree."""
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("no GPU that torch knows")
    h, n, m, d, c = shape
    f = fx.jit(lambda q, k, v: _attention(q, k, v, causal), mode=mode)
    for dtype, most in ((torch.bfloat16, 0.02), (torch.float16, 0.003)):
        q, k, v = (torch.randn(h, a, b, device="cuda").to(dtype) for a, b in ((n, d), (m, d), (m, c)))
        s = q.double() @ k.double().transpose(1, 2) * 0.125
        if causal:
            s = torch.where(torch.arange(m, device="cuda")[None, :] > torch.arange(n, device="cuda")[:, None],
                            -torch.inf, s)
        want = torch.softmax(s, -1) @ v.double()
        got = f(q, k, v)
        assert float((got.double() - want).abs().max() / want.abs().max()) < most
        assert torch.equal(f(q, k, v), got)


@pytest.mark.parametrize("shape", [(17, 24, 272)] if FAKE else [(17, 24, 272), (130, 140, 300), (640, 1024, 528)])
def test_products_have_the_bits_of_a_cpu(shape):
    """Of f64, whatever it has in it, and of integers, as they lie and turned; f32 inside its bound under `tf32`."""
    n, m, k = shape
    rng = np.random.default_rng(n)
    special = np.array([0.0, -0.0, np.inf, np.nan, 5e-324, -2e-308, 1e308, -1e308, 1e-160, 1 + 2e-16])
    x, y = rng.standard_normal((n, k)), rng.standard_normal((k, m))
    x[3], y[:, 5] = special[rng.integers(0, 10, k)], special[rng.integers(4, 10, k)]
    x[4:8] *= np.exp2(rng.integers(-900, 900, (4, 1)))
    q = rng.integers(-128, 128, (n, k)).astype("i1")
    p, u = rng.integers(-128, 128, (k, m)).astype("i1"), rng.integers(0, 256, (k, m)).astype("u1")
    for a, b in ((x, y), (q, p), (q, u)):
        want = np.asarray(fx.asarray(a) @ fx.asarray(b))
        for left in (gpu(a), gpu(np.ascontiguousarray(a.T)).T):
            for right in (gpu(b), gpu(np.ascontiguousarray(b.T)).T):
                got = np.asarray(left @ right)
                nan = np.isnan(want)
                assert np.array_equal(nan, np.isnan(got)) and got[~nan].tobytes() == want[~nan].tobytes()
    f, g = x[8:].astype("f4"), y[:, 6:].astype("f4")
    got = np.asarray(fx.jit(lambda a, b: a @ b, mode="tf32")(gpu(f), gpu(g)))
    most = np.abs(f).astype("f8") @ np.abs(g).astype("f8")
    assert (np.abs(got - f.astype("f8") @ g.astype("f8")) <= (2**-10 + 2**-22 + (k / 4 + 8) * 2**-23) * most).all()
