# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""torch.compile(backend="fusec") next to eager torch: forward, backward, sizes that change."""

import pytest

torch = pytest.importorskip("torch")

import fusec.torch as ft  # noqa: E402


def check(make, *inputs, train=False, dynamic=None, others=()):
    """The compiled model gives what the eager one gives; what became of its operations."""
    torch._dynamo.reset()
    ft.reset()
    torch.manual_seed(0)
    m = make() if isinstance(make, type) else make
    if isinstance(m, torch.nn.Module):
        m.train(train)
    c = torch.compile(m, backend=ft.backend, dynamic=dynamic)
    for xs in (inputs, *others):
        results = []
        for f in (m, c):
            torch.manual_seed(0)
            a = [x.clone().requires_grad_(train and x.dtype.is_floating_point) for x in xs]
            with torch.set_grad_enabled(train):
                y = f(*a)
            grads = []
            if train:
                (y * torch.linspace(0, 1, y.numel()).reshape(y.shape)).sum().backward()
                grads = [x.grad for x in a if x.grad is not None]
            results.append([y.detach(), *grads])
        for want, got in zip(*results):
            assert got.dtype == want.dtype and got.shape == want.shape
            torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-5)
    taken = sum(r["taken"] for r in ft.report())
    assert not [r["refused"] for r in ft.report() if r["refused"]]
    return taken


class Mlp(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.n, self.b = torch.nn.Linear(16, 32), torch.nn.LayerNorm(32), torch.nn.Linear(32, 8)

    def forward(self, x):
        return torch.softmax(self.b(torch.nn.functional.gelu(self.n(self.a(x)))), -1)


class Conv(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.c, self.n = torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(8, momentum=0.0)

    def forward(self, x):
        return torch.relu(self.n(self.c(x))).mean((2, 3))


class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = torch.nn.Linear(16, 48), torch.nn.Linear(16, 16)
        self.norm = torch.nn.RMSNorm(16)

    def forward(self, x):
        q, k, v = (t.unflatten(-1, (2, 8)).transpose(1, 2) for t in self.qkv(self.norm(x)).chunk(3, -1))
        a = torch.softmax(q @ k.transpose(-1, -2) / 8**0.5, -1) @ v
        return x + self.out(torch.nn.functional.silu(a.transpose(1, 2).flatten(2)))


@pytest.mark.parametrize("train", [False, True])
@pytest.mark.parametrize("model,shape", [(Mlp, (5, 16)), (Conv, (2, 3, 8, 8)), (Attention, (2, 7, 16))])
def test_models(model, shape, train):
    assert check(model, torch.randn(shape), train=train) > 3


@pytest.mark.parametrize("f", [
    lambda x: torch.sin(x * 2 + 1), lambda x: (x - x.mean(-1, keepdim=True)) / x.std(-1, keepdim=True),
    lambda x: torch.where(x > 0, x, x.exp() - 1).sum(0), lambda x: (x.double() + 1).float() * 3,
    lambda x: (x[:, 1:] - x[:, :-1]).abs().amax(-1), lambda x: torch.clamp(x, -0.5, 0.5).pow(3) + x.relu(),
    lambda x: (x * x.t()[:1].t() > 0.1).float() * x.flip(1), lambda x: torch.log_softmax(x, 0) * x.sign(),
    lambda x: (x.int() // 2 + 1) * x.round(), lambda x: torch.full_like(x, 2.0) / (1 + x * x)])
def test_functions(f):
    assert check(f, torch.randn(6, 6)) > 0


def test_sizes_that_change():
    f = lambda x: (torch.sin(x * 2 + 1) / (1 + x * x)).sum(-1)
    check(f, torch.randn(4, 5), dynamic=True, others=[(torch.randn(n, m),) for n, m in ((7, 3), (9, 5))])


def test_channels_last_and_strides():
    x = torch.randn(2, 3, 8, 8).to(memory_format=torch.channels_last)
    check(Conv, x)
    check(lambda x: torch.tanh(x) * 2 + x, torch.randn(6, 8)[:, ::2].t())


def test_tensors_in_jit():
    import fusec as fx

    f = fx.jit(lambda x, k: fx.sin(x) * k)
    x = torch.randn(5, 4)
    torch.testing.assert_close(f(x, 2.0), torch.sin(x) * 2)
    torch.testing.assert_close(f(x.t(), 2.0), torch.sin(x.t()) * 2)
    torch.testing.assert_close(f(x.bfloat16(), 2.0), torch.sin(x.bfloat16()) * 2, rtol=1e-2, atol=1e-2)
    with pytest.raises(TypeError):
        f(x.requires_grad_(), 2.0)
    torch.testing.assert_close(torch.from_dlpack(fx.asarray([1.0, 2.0])), torch.tensor([1.0, 2.0]).double())
    assert fx.from_dlpack(x.detach()).shape == (5, 4)


def test_results_that_are_expanded():
    """Their elements share memory in torch; here each has its own, and the part is not refused."""

    def f(x):
        b = (torch.sin(x).sum(-1, keepdim=True) * 2).expand(4, 5)
        return x * b, b

    ft.reset()
    x = torch.randn(4, 5)
    for got, want in zip(torch.compile(f, backend=ft.backend)(x), f(x)):
        torch.testing.assert_close(got, want)
    assert [g["refused"] for g in ft.report()] == [[]]


def test_unusual_tensors_are_noticed():
    """The quick way to a tensor's memory knows nothing of gradients, negated elements and layouts."""
    import fusec as fx

    f = fx.jit(lambda x: x * 2)
    x = torch.tensor([1 + 2j, 3 - 4j])
    torch.testing.assert_close(f(x), x * 2)
    torch.testing.assert_close(f(x.imag), x.imag * 2)
    for odd in (x.conj(), x.conj().imag, x.conj().imag[:1]):
        with pytest.raises(NotImplementedError, match="resolve_conj"):
            f(odd)
    with pytest.raises(NotImplementedError, match="to_dense"):
        f(torch.eye(2).to_sparse())
    p = torch.nn.Parameter(torch.ones(2))
    f(p.detach())
    with pytest.raises(TypeError, match="gradients"):
        f(p)
    with torch.no_grad():
        torch.testing.assert_close(f(p), torch.full((2,), 2.0))
    with pytest.raises(TypeError, match="float8"):
        f(torch.ones(2).to(torch.float8_e4m3fn))
    for shape in ((3, 4), (4, 3), (0, 4), (1, 1), ()):
        y = torch.randn(shape)
        r = f(y)
        assert r.stride() == y.stride() and torch.equal(r, y * 2)


def test_threads_with_other_sizes():
    import threading

    import fusec as fx

    f, wrong = fx.jit(lambda x: (x + 1, x.sum(0))), []

    def work(n):
        x = torch.arange(float(n * (n + 1))).reshape(n, n + 1)
        for _ in range(300):
            y, s = f(x)
            if y.shape != x.shape or not torch.equal(y, x + 1) or s.shape != (n + 1,):
                wrong.append(n)

    threads = [threading.Thread(target=work, args=(n,)) for n in (3, 5, 8)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not wrong


def test_parts_are_connected_and_whole():
    """One part for what a product does not divide; what is computed early for a later part is computed there."""

    def f(x, w, b):
        scale = torch.sigmoid(b) * 2
        y = torch.relu(x * 3 + 1) @ w
        return torch.tanh(y + 1) * scale.unsqueeze(0)

    ft.reset()
    x = [torch.randn(4, 4), torch.randn(4, 4), torch.randn(4)]
    with torch.no_grad():
        torch.testing.assert_close(torch.compile(f, backend=ft.backend)(*x), f(*x))
    (g,) = ft.report()
    assert g["parts"] == 2 and g["operations"] - g["taken"] == 1


def test_masks_positions_padding_and_prefixes():
    def f(x):
        at = torch.arange(x.shape[1])
        mask = torch.where(at[None, :] <= at[:, None], torch.tensor(0.0), torch.tensor(-1e9))
        y = torch.nn.functional.pad(x * 2, (1, 2, 0, 1), value=0.5) + 1
        return torch.cumsum(x, 1).sum() + (mask + x[:1] * at).sum(0) * y.sum()

    assert check(f, torch.randn(3, 4))
    left = {k for r in ft.report() for k in r["left"]}
    assert not left & {"prims.iota.default", "aten.cumsum.default", "aten.constant_pad_nd.default", "aten.scalar_tensor.default"}, left


def test_constants_alone_are_left_to_torch():
    def f(x):
        at = torch.arange(4)
        return x @ torch.exp(torch.where(at[None, :] <= at[:, None], 0.0, -1.0) * 2 + 1)

    assert check(f, torch.randn(4, 4)) == 0


def test_biases_go_into_parts(monkeypatch):
    """As on a GPU: x @ w + b is a product and a sum where the sum is part of what follows, else it stays whole."""
    of = ft._biases
    monkeypatch.setattr(ft, "_biases", lambda gm: of(gm, "cpu"))
    torch.manual_seed(1)
    a, b, norm = torch.nn.Linear(6, 8), torch.nn.Linear(8, 8), torch.nn.LayerNorm(8)

    def f(x):
        y = torch.tanh(a(x).reshape(2, 5, 8) * 2)
        return norm(b(y) + y), b(y)

    x = torch.randn(10, 6)
    torch._dynamo.reset()
    ft.reset()
    with torch.no_grad():
        got, want = torch.compile(f, backend=ft.backend)(x), f(x)
    for g, w in zip(got, want):
        torch.testing.assert_close(g, w)
    left = {k: n for graph in ft.report() for k, n in graph["left"].items() if "mm" in k}
    assert left.get("aten.mm.default", 0) >= 1 and left.get("aten.addmm.default", 0) >= 1
