# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""workloads.py - the one table of what is measured, and against what.

A row is made by W(). Its programs:

  fusec   the body of a definition in fusec's language; the signature comes from `inputs` and `out`
  np      the same for numpy, cupy and jax.numpy (`np` is the module; erfc, f32() and argmax too)
  torch   for torch eager and torch.compile, and, in float64, the reference on a GPU
  jax     where jax has an idiom of its own; else `np`
  sp      scipy.ndimage, which is `ndimage`; ne: numexpr; nb: numba, loops as one writes them by hand; npo: numpy with out= into `o`
          (results) and `t` (temporaries of the shape of the first result)
  cub     the name of the hand-written version in peers/cub.cu

A program is an expression, or statements with a return. Inputs are named arrays: "T[n, m]" with T the
row's dtype and an optional distribution: "u:LOW:HIGH" (default u:-1:1), "n", or, of indices, "p" (a permutation of
as many, a power of two) and "s" (rising, of four times as many); a bound may be a size. Sizes: `gpu`, `cpu`; fusec's
program has them as $n, for what no input has. `by`: "moments" compares mean and rms only, where peers draw other numbers.

Classes, with the fraction of a copy's bandwidth to reach on the GPU (docs/performance.md)
and on the CPU, are in TARGETS.
"""
import re

# class: (what it is, fraction on the GPU, fraction on the CPU); None: only the peers count
TARGETS = {
    "map": ("f32 maps of 1 to 3 streams", 0.97, 0.95),
    "heavy": ("maps with several functions", 0.97, None),
    "sin": ("sin(x*2+1)", 0.97, 0.90),
    "bs": ("Black-Scholes f32", 0.92, None),
    "bs64": ("Black-Scholes f64", None, None),
    "map16": ("bf16 and f16 maps", 0.95, None),
    "transpose": ("a + b.T", 1.00, None),
    "permute": ("permuted maps", 0.90, None),
    "sum": ("full and row sums, argmax, sum((a-b)^2)", 1.04, 0.95),
    "colsum": ("column sums, narrow rows", 1.00, 0.95),
    "softmax1k": ("softmax, about 1024 columns", 0.98, None),
    "softmax16k": ("softmax, 16384 columns and about it", 0.95, None),
    "softmax1m": ("softmax, 1M columns", 0.80, None),
    "norm": ("layernorm f32", 0.98, None),
    "norm16": ("layernorm bf16", 0.95, None),
    "stats": ("one-pass statistics", 1.00, 0.95),
    "standardise": ("standardise columns", 0.62, None),
    "distance": ("squared distance", 0.75, None),
    "product": ("matrix products", None, None),
    "thin": ("a matrix and a vector", 1.00, None),
    "gather": ("reads at indices", None, None),
    "scatter": ("stores at indices", None, None),
    "stencil": ("neighbours, and what is beyond the edge", 0.90, 0.85),
    "scan": ("prefixes", 0.90, None),
    "draw": ("random numbers", 0.95, None),
    "join": ("arrays put together and moved", 0.93, 0.85),
    "order": ("sorted order", None, None),
    "complex": ("complex numbers", 0.95, None),
    "fft": ("Fourier transforms", None, None),
    "gradient": ("derivatives", 0.95, None),
    "program": ("programs of several kernels", None, None),
    "small": ("launch-bound", None, None),
    "sweep": ("sizes", None, None),
}

MAPS = ("map", "heavy", "sin", "bs", "bs64", "map16", "sweep")

WORKLOADS = []


def W(name, cls, inputs, out, gpu=None, cpu=None, dtypes=("f32",), classes=None, tol=None, by=None, **programs):
    """One row for each dtype; `classes` maps a dtype to another class."""
    for t in dtypes:
        row = {
            "name": name if len(dtypes) == 1 else f"{name}_{t}",
            "class": (classes or {}).get(t, cls),
            "dtype": t,
            "inputs": [],
            "out": [(k, v.replace("T[", t + "[")) for k, v in out.items()],
            "sizes": {"gpu": gpu, "cpu": cpu},
            "tol": tol,
            "by": by,
            "programs": programs,
        }
        for k, v in inputs.items():
            kind, dist = v if isinstance(v, tuple) else (v, "u:-1:1")
            row["inputs"].append((k, kind.replace("T[", t + "["), dist))
        WORKLOADS.append(row)


N28, N26, N24, N22, N20 = (1 << k for k in (28, 26, 24, 22, 20))

# ---- maps ---------------------------------------------------------------------------------------------

SIN = dict(
    fusec="return sin(x*2 + 1)", np="np.sin(x*2 + 1)", torch="torch.sin(x*2 + 1)", ne="sin(x*2 + 1)",
    npo="np.multiply(x, 2, out=o[0]); np.add(o[0], 1, out=o[0]); np.sin(o[0], out=o[0])",
    nb="""
def f(x):
    o = np.empty_like(x); a = x.ravel(); b = o.ravel()
    for i in prange(a.size): b[i] = math.sin(a[i]*np.float32(2) + np.float32(1))
    return o
""", cub="sin")
EXPSC = dict(
    fusec="return exp(sin(x) * cos(x))", np="np.exp(np.sin(x) * np.cos(x))",
    torch="torch.exp(torch.sin(x) * torch.cos(x))", ne="exp(sin(x) * cos(x))",
    npo="np.sin(x, out=o[0]); np.cos(x, out=t[0]); np.multiply(o[0], t[0], out=o[0]); np.exp(o[0], out=o[0])",
    nb="""
def f(x):
    o = np.empty_like(x)
    for i in prange(x.size): o[i] = math.exp(math.sin(x[i]) * math.cos(x[i]))
    return o
""", cub="expsincos")
AXPY = dict(
    fusec="return 2.5*x + y", np="2.5*x + y", torch="2.5*x + y", ne="2.5*x + y",
    npo="np.multiply(x, 2.5, out=o[0]); np.add(o[0], y, out=o[0])",
    nb="""
def f(x, y):
    o = np.empty_like(x)
    for i in prange(x.size): o[i] = np.float32(2.5)*x[i] + y[i]
    return o
""", cub="axpy")
SQDIFF = dict(
    fusec="return sum((a - b)**2)", np="np.sum((a - b)**2)", torch="torch.sum((a - b)**2)", ne="sum((a - b)**2)",
    npo="np.subtract(a, b, out=t[0]); np.multiply(t[0], t[0], out=t[0]); np.sum(t[0], out=o[0])",
    nb="""
def f(a, b):
    s = np.float32(0)
    for i in prange(a.size):
        d = a[i] - b[i]
        s += d*d
    return s
""", cub="sqdiff")

W("sin_4000", "sin", {"x": "T[n, m]"}, {"out": "T[n, m]"}, dict(n=4000, m=4000), dict(n=1000, m=1000), **SIN)
W("sin", "sin", {"x": "T[n]"}, {"out": "T[n]"}, dict(n=N28), dict(n=N24), **SIN)
W("expsincos", "heavy", {"x": ("T[n]", "n")}, {"out": "T[n]"}, dict(n=N28), dict(n=N24), **EXPSC)
W("conditional_1000", "heavy", {"x": ("T[n, m]", "n")}, {"out": "T[n, m]"}, dict(n=1000, m=1000), dict(n=250, m=250),
  fusec="y = exp(sin(x) * cos(x)); return y > 0.5 ? y*2 : y/2",
  np="y = np.exp(np.sin(x) * np.cos(x)); return np.where(y > 0.5, y*2, y/2)",
  torch="y = torch.exp(torch.sin(x) * torch.cos(x)); return torch.where(y > 0.5, y*2, y/2)",
  ne="where(exp(sin(x)*cos(x)) > 0.5, exp(sin(x)*cos(x))*2, exp(sin(x)*cos(x))/2)",
  npo="np.sin(x, out=o[0]); np.cos(x, out=t[0]); np.multiply(o[0], t[0], out=t[0]); np.exp(t[0], out=t[0]); "
      "np.divide(t[0], 2, out=o[0]); np.multiply(t[0], 2, out=o[0], where=t[0] > 0.5)",
  nb="""
def f(x):
    o = np.empty_like(x); a = x.ravel(); b = o.ravel()
    for i in prange(a.size):
        y = math.exp(math.sin(a[i]) * math.cos(a[i]))
        b[i] = y*2 if y > 0.5 else y/2
    return o
""")
W("axpy", "map", {"x": "T[n]", "y": "T[n]"}, {"out": "T[n]"}, dict(n=N28), dict(n=N24), ("f32", "bf16", "f16"),
  {"bf16": "map16", "f16": "map16"}, **AXPY)
W("cast_scale", "map16", {"x": "bf16[n]"}, {"out": "f32[n]"}, dict(n=N28), dict(n=N24),
  fusec="return f32(x) * 1.7", np="f32(x) * 1.7", torch="f32(x) * 1.7", cub="cast")
BS = dict(
    fusec="""years = T; width = 0.2*sqrt(years)
    d = log(S/K)/width + (0.03/0.2 + 0.2/2)*sqrt(years)
    today = K*exp(-0.03*years)
    call = S*(0.5*erfc(-d*0.7071067811865476)) - today*(0.5*erfc((width - d)*0.7071067811865476))
    return call, call - S + today""",
    ne=None)
for mod, key in (("np", "np"), ("torch", "torch")):
    BS[key] = f"""width = 0.2*{mod}.sqrt(T)
d = {mod}.log(S/K)/width + (0.03/0.2 + 0.2/2)*{mod}.sqrt(T)
today = K*{mod}.exp(-0.03*T)
call = S*(0.5*erfc(-d*0.7071067811865476)) - today*(0.5*erfc((width - d)*0.7071067811865476))
return call, call - S + today"""
BS["nb"] = """
def f(S, K, T):
    c = np.empty_like(S); p = np.empty_like(S)
    for i in prange(S.size):
        r = math.sqrt(T[i]); width = 0.2*r
        d = math.log(S[i]/K[i])/width + 0.25*r
        today = K[i]*math.exp(-0.03*T[i])
        v = S[i]*(0.5*math.erfc(-d*0.7071067811865476)) - today*(0.5*math.erfc((width - d)*0.7071067811865476))
        c[i] = v; p[i] = v - S[i] + today
    return c, p
"""
W("black_scholes", "bs", {"S": ("T[n]", "u:20:90"), "K": ("T[n]", "u:20:90"), "T": ("T[n]", "u:0.1:2")},
  {"call": "T[n]", "put": "T[n]"}, dict(n=N26), dict(n=N22), ("f32", "f64"), {"f64": "bs64"}, tol=1e-4, **BS)
CHAIN = """u = a*b + 0.5
v = exp(-u*u)
w = tanh(v + a)
r = w*w - v
s = {choose}
q = s + u*0.25
z = sqrt(abs(q) + 1)
y = z*v - w
p = clip(y, -3, 3)
return p*p*0.1 + q"""


def chain(mod):
    """25 operations, with exp, tanh, sqrt and a choice."""
    text = CHAIN.format(choose=f"{mod}.where(r > 0, r*2, r*0.5)" if mod else "r > 0 ? r*2 : r*0.5")
    for name in ("exp", "tanh", "sqrt", "abs", "clip"):
        text = text.replace(name + "(", f"{mod}.{name}(") if mod else text
    return text


W("chain25", "map", {"a": "T[n]", "b": "T[n]"}, {"out": "T[n]"}, dict(n=N26 * 2), dict(n=N22 * 2),
  fusec=chain(""), np=chain("np"), torch=chain("torch"), nb="""
def f(a, b):
    o = np.empty_like(a); h = np.float32(0.5)
    for i in prange(a.size):
        u = a[i]*b[i] + h
        v = math.exp(-u*u)
        w = math.tanh(v + a[i])
        r = w*w - v
        s = r*np.float32(2) if r > 0 else r*h
        q = s + u*np.float32(0.25)
        z = math.sqrt(abs(q) + np.float32(1))
        y = z*v - w
        p = min(max(y, np.float32(-3)), np.float32(3))
        o[i] = p*p*np.float32(0.1) + q
    return o
""")
W("bias_gelu", "map", {"x": ("T[n, m]", "n"), "b": "T[m]"}, {"out": "T[n, m]"}, dict(n=16384, m=4096), dict(n=1024, m=4096),
  ("f32", "bf16"), {"bf16": "map16"},
  fusec="y = x + b; return 0.5*y*(1 + tanh(0.7978845608028654*(y + 0.044715*y*y*y)))",
  np="y = x + b; return 0.5*y*(1 + np.tanh(0.7978845608028654*(y + 0.044715*y*y*y)))",
  torch="torch.nn.functional.gelu(x + b, approximate='tanh')", jax="jax.nn.gelu(x + b, approximate=True)",
  ne="0.5*(x+b)*(1 + tanh(0.7978845608028654*((x+b) + 0.044715*(x+b)*(x+b)*(x+b))))",
  nb="""
def f(x, b):
    o = np.empty_like(x)
    for i in prange(x.shape[0]):
        for j in range(x.shape[1]):
            y = x[i, j] + b[j]
            o[i, j] = np.float32(0.5)*y*(np.float32(1) + math.tanh(np.float32(0.79788456)*(y + np.float32(0.044715)*y*y*y)))
    return o
""")
W("outer_add", "map", {"x": "T[n, 1]", "y": "T[1, m]"}, {"out": "T[n, m]"}, dict(n=16384, m=16384), dict(n=4096, m=4096),
  fusec="return x + y", np="x + y", torch="x + y", ne="x + y", npo="np.add(x, y, out=o[0])", nb="""
def f(x, y):
    o = np.empty((x.shape[0], y.shape[1]), x.dtype)
    for i in prange(x.shape[0]):
        for j in range(y.shape[1]): o[i, j] = x[i, 0] + y[0, j]
    return o
""")
W("add_transposed", "transpose", {"a": "T[n, n]", "b": "T[n, n]"}, {"out": "T[n, n]"}, dict(n=12288), dict(n=3072),
  fusec="return a + b.T", np="a + b.T", torch="a + b.T", ne="a + bT", npo="np.add(a, b.T, out=o[0])", nb="""
def f(a, b):
    o = np.empty_like(a)
    for i in prange(a.shape[0]):
        for j in range(a.shape[1]): o[i, j] = a[i, j] + b[j, i]
    return o
""")
W("permute_4d", "permute", {"x": "T[a, b, c, d]"}, {"out": "T[a, c, d, b]"}, dict(a=64, b=64, c=128, d=128),
  dict(a=16, b=64, c=64, d=64), fusec="return transpose(x, [0, 2, 3, 1])*2 + 1",
  np="np.ascontiguousarray(x.transpose(0, 2, 3, 1))*2 + 1", jax="np.transpose(x, (0, 2, 3, 1))*2 + 1",
  torch="(x.permute(0, 2, 3, 1)*2 + 1).contiguous()",
  npo="np.multiply(x.transpose(0, 2, 3, 1), 2, out=o[0]); np.add(o[0], 1, out=o[0])", nb="""
def f(x):
    A, B, C, D = x.shape
    o = np.empty((A, C, D, B), x.dtype)
    for i in prange(A*C):
        for d in range(D):
            for b in range(B): o[i//C, i%C, d, b] = x[i//C, b, i%C, d]*np.float32(2) + np.float32(1)
    return o
""")

# ---- reductions -----------------------------------------------------------------------------------------

ROWS_NB = """
def f(x):
    o = np.empty(x.shape[0], x.dtype)
    for i in prange(x.shape[0]):
        s = np.float32(0)
        for j in range(x.shape[1]): s += x[i, j]
        o[i] = s
    return o
"""
FULL_NB = """
def f(x):
    s = np.float32({start})
    for i in prange(x.size): s = {step}
    return s
"""
W("sum", "sum", {"x": ("T[n]", "u:0:1")}, {"out": "T[]"}, dict(n=N28), dict(n=N24), fusec="return sum(x)", np="np.sum(x)",
  torch="torch.sum(x)", ne="sum(x)", nb=FULL_NB.format(start=0, step="s + x[i]"), cub="sum")
W("sum_sqdiff", "sum", {"a": "T[n]", "b": "T[n]"}, {"out": "T[]"}, dict(n=N28), dict(n=N24), **SQDIFF)
W("max", "sum", {"x": ("T[n]", "n")}, {"out": "T[]"}, dict(n=N28), dict(n=N24), fusec="return max(x)", np="np.max(x)",
  torch="torch.amax(x)", ne="max(x)", nb=FULL_NB.format(start=-1e30, step="max(s, x[i])"), cub="max")
W("argmax", "sum", {"x": ("T[n]", "n")}, {"out": "i64[]"}, dict(n=N28), dict(n=N24), fusec="return argmax(x)",
  np="np.argmax(x)", torch="torch.argmax(x)", nb="def f(x):\n    return np.argmax(x)\n", cub="argmax")


def rows(name, cls, n, m, cn, cm, cub="rowsum"):
    W(name, cls, {"x": ("T[n, m]", "u:0:1")}, {"out": "T[n]"}, dict(n=n, m=m), dict(n=cn, m=cm),
      fusec="return sum(x, axis=-1)", np="np.sum(x, axis=-1)", torch="torch.sum(x, dim=-1)", ne="sum(x, axis=1)",
      npo="np.sum(x, axis=-1, out=o[0])", nb=ROWS_NB, cub=cub)


rows("rowsum_16384", "sum", 16384, 16384, 1024, 16384)
rows("rowsum_64", "colsum", N22, 64, 1 << 18, 64)
rows("rowsum_16", "colsum", N24, 16, N20, 16)
rows("rowsum_1000", "sum", 268435, 1000, 16777, 1000)
rows("rowsum_1003", "sum", 267632, 1003, 16727, 1003)
rows("rowsum_32x40960", "sum", 32, 40960, 2, 40960)
rows("rowsum_8x4M", "sum", 8, N22, 8, 1 << 18)


def columns(name, n, m, cn, cm):
    W(name, "colsum", {"x": ("T[n, m]", "u:0:1")}, {"out": "T[m]"}, dict(n=n, m=m), dict(n=cn, m=cm),
      fusec="return sum(x, axis=0)", np="np.sum(x, axis=0)", torch="torch.sum(x, dim=0)", ne="sum(x, axis=0)",
      npo="np.sum(x, axis=0, out=o[0])", nb="def f(x):\n    return np.sum(x, axis=0)\n")


columns("colsum_16384", 16384, 16384, 4096, 4096)
columns("colsum_64Mx4", N26, 4, N22, 4)
columns("colsum_256x1M", 256, N20, 256, 1 << 16)
W("middle_sum", "colsum", {"x": ("T[a, b, c]", "u:0:1")}, {"out": "T[a, c]"}, dict(a=256, b=1024, c=1024),
  dict(a=64, b=512, c=512), fusec="return sum(x, axis=1)", np="np.sum(x, axis=1)", torch="torch.sum(x, dim=1)",
  npo="np.sum(x, axis=1, out=o[0])")

# ---- rows that are needed again ---------------------------------------------------------------------------

SOFTMAX = dict(
    fusec="e = exp(x - max(x, axis=-1, keepdims=true)); return e / sum(e, axis=-1, keepdims=true)",
    np="e = np.exp(x - np.max(x, axis=-1, keepdims=True)); return e / np.sum(e, axis=-1, keepdims=True)",
    jax="jax.nn.softmax(x, axis=-1)", torch="torch.softmax(x, dim=-1)",
    npo="np.subtract(x, x.max(axis=-1, keepdims=True), out=o[0]); np.exp(o[0], out=o[0]); "
        "np.divide(o[0], o[0].sum(axis=-1, keepdims=True), out=o[0])",
    nb="""
def f(x):
    o = np.empty_like(x)
    for i in prange(x.shape[0]):
        m = x[i, 0]
        for j in range(x.shape[1]): m = max(m, x[i, j])
        s = np.float32(0)
        for j in range(x.shape[1]):
            e = math.exp(x[i, j] - m); o[i, j] = e; s += e
        r = np.float32(1)/s
        for j in range(x.shape[1]): o[i, j] *= r
    return o
""")


def softmax(name, cls, n, m, cn, cm, **more):
    W(name, cls, {"x": ("T[n, m]", "n")}, {"out": "T[n, m]"}, dict(n=n, m=m), dict(n=cn, m=cm), **more, **SOFTMAX)


softmax("softmax_1024", "softmax1k", 65536, 1024, 4096, 1024, dtypes=("f32", "bf16"), classes={"bf16": "norm16"})
softmax("softmax_16384", "softmax16k", 8192, 16384, 512, 16384, dtypes=("f32", "bf16"), classes={"bf16": "norm16"})
softmax("softmax_1M", "softmax1m", 128, N20, 8, N20, tol=1e-4)
softmax("softmax_1000", "softmax1k", 65536, 1000, 4096, 1000)
softmax("softmax_50257", "softmax16k", 4096, 50257, 256, 50257)

LN_NP = """c = x - np.mean(x, axis=-1, keepdims=True)
return c / np.sqrt(np.mean(c*c, axis=-1, keepdims=True) + 1e-5) * w + b"""
LN_NPO = ("np.subtract(x, x.mean(axis=-1, keepdims=True), out=o[0]); np.multiply(o[0], o[0], out=t[0]); "
          "np.divide(o[0], np.sqrt(t[0].mean(axis=-1, keepdims=True) + 1e-5), out=o[0]); "
          "np.multiply(o[0], w, out=o[0]); np.add(o[0], b, out=o[0])")
LN = dict(
    fusec="""c = x - mean(x, axis=-1, keepdims=true)
    return c*rsqrt(mean(c*c, axis=-1, keepdims=true) + 1e-5)*w + b""",
    np=LN_NP, npo=LN_NPO, torch="torch.nn.functional.layer_norm(x, (x.shape[-1],), w, b, 1e-5)",
    jax="""h = x.astype(wide(x)); c = h - np.mean(h, axis=-1, keepdims=True)
return (c * jax.lax.rsqrt(np.mean(c*c, axis=-1, keepdims=True) + 1e-5) * w + b).astype(x.dtype)""",
    nb="""
def f(x, w, b):
    o = np.empty_like(x); n = np.float32(x.shape[1])
    for i in prange(x.shape[0]):
        s = np.float32(0)
        for j in range(x.shape[1]): s += x[i, j]
        m = s/n; v = np.float32(0)
        for j in range(x.shape[1]):
            d = x[i, j] - m; v += d*d
        r = np.float32(1)/math.sqrt(v/n + np.float32(1e-5))
        for j in range(x.shape[1]): o[i, j] = (x[i, j] - m)*r*w[j] + b[j]
    return o
""")
LN_IN = {"x": ("T[n, m]", "n"), "w": ("T[m]", "u:0.5:1.5"), "b": "T[m]"}
RMS_JAX = "return (h * jax.lax.rsqrt(np.mean(h*h, axis=-1, keepdims=True) + 1e-6) * w).astype(x.dtype)"
RMS = dict(
    fusec="return x*rsqrt(mean(x*x, axis=-1, keepdims=true) + 1e-6)*w",
    np="x / np.sqrt(np.mean(x*x, axis=-1, keepdims=True) + 1e-6) * w",
    npo="np.multiply(x, x, out=t[0]); np.divide(x, np.sqrt(t[0].mean(axis=-1, keepdims=True) + 1e-6), out=o[0]); "
        "np.multiply(o[0], w, out=o[0])",
    torch="torch.nn.functional.rms_norm(x, (x.shape[-1],), w, 1e-6)", jax="h = x.astype(wide(x)); " + RMS_JAX,
    nb="""
def f(x, w):
    o = np.empty_like(x); n = np.float32(x.shape[1])
    for i in prange(x.shape[0]):
        s = np.float32(0)
        for j in range(x.shape[1]): s += x[i, j]*x[i, j]
        r = np.float32(1)/math.sqrt(s/n + np.float32(1e-6))
        for j in range(x.shape[1]): o[i, j] = x[i, j]*r*w[j]
    return o
""")
RES = dict(
    fusec="h = x + r; return h, h*rsqrt(mean(h*h, axis=-1, keepdims=true) + 1e-6)*w",
    np="h = x + r; return h, h / np.sqrt(np.mean(h*h, axis=-1, keepdims=True) + 1e-6) * w",
    torch="h = x + r; return h, torch.nn.functional.rms_norm(h, (h.shape[-1],), w, 1e-6)",
    jax="""s = x + r; h = s.astype(wide(x))
return s, (h * jax.lax.rsqrt(np.mean(h*h, axis=-1, keepdims=True) + 1e-6) * w).astype(x.dtype)""")
RES_LN = dict(
    fusec="h = x + r; c = h - mean(h, axis=-1, keepdims=true)\n"
          "    return h, c*rsqrt(mean(c*c, axis=-1, keepdims=true) + 1e-5)*w + b",
    np="h = x + r; " + LN_NP.replace("x ", "h ").replace("(x,", "(h,").replace("return ", "return h, "),
    torch="h = x + r; return h, torch.nn.functional.layer_norm(h, (h.shape[-1],), w, b, 1e-5)")
RES_IN = {"x": ("T[n, m]", "n"), "r": ("T[n, m]", "n"), "w": ("T[m]", "u:0.5:1.5")}
BOTH = {"h": "T[n, m]", "out": "T[n, m]"}
WIDE_ROWS, SHORT_ROWS = dict(n=16384, m=8192), dict(n=262144, m=512)
W("layernorm", "norm", LN_IN, {"out": "T[n, m]"}, dict(n=32768, m=4096), dict(n=2048, m=4096), **LN)
W("rmsnorm", "norm", {k: v for k, v in LN_IN.items() if k != "b"}, {"out": "T[n, m]"}, dict(n=32768, m=4096),
  dict(n=2048, m=4096), **RMS)
W("layernorm_residual", "norm", {**RES_IN, "b": "T[m]"}, BOTH, dict(n=32768, m=4096), dict(n=2048, m=4096), **RES_LN)
W("rmsnorm_residual", "norm", RES_IN, BOTH, dict(n=32768, m=4096), dict(n=2048, m=4096), **RES)
W("layernorm_bf16_8192", "norm16", LN_IN, {"out": "T[n, m]"}, WIDE_ROWS, None, ("bf16",), **LN)
W("layernorm_bf16_512", "norm16", LN_IN, {"out": "T[n, m]"}, SHORT_ROWS, None, ("bf16",), **LN)
W("rmsnorm_residual_bf16_8192", "norm16", RES_IN, BOTH, WIDE_ROWS, None, ("bf16",), **RES)
W("rmsnorm_residual_bf16_512", "norm16", RES_IN, BOTH, SHORT_ROWS, None, ("bf16",), **RES)

# ---- the rest ---------------------------------------------------------------------------------------------

W("statistics", "stats", {"x": ("T[n]", "n")}, {"mean": "T[]", "var": "T[]", "low": "T[]", "high": "T[]"},
  dict(n=N28), dict(n=N24), fusec="return mean(x), var(x), min(x), max(x)",
  np="return np.mean(x), np.var(x), np.min(x), np.max(x)",
  torch="return torch.mean(x), torch.var(x, correction=0), torch.amin(x), torch.amax(x)", tol=1e-4, cub="stats")
W("standardise", "standardise", {"x": ("T[n, m]", "n")}, {"out": "T[n, m]"}, dict(n=262144, m=256), dict(n=16384, m=256),
  fusec="return (x - mean(x, axis=0)) / std(x, axis=0)", np="(x - np.mean(x, axis=0)) / np.std(x, axis=0)",
  torch="(x - torch.mean(x, dim=0)) / torch.std(x, dim=0, correction=0)",
  npo="np.subtract(x, x.mean(axis=0), out=o[0]); np.divide(o[0], x.std(axis=0), out=o[0])", tol=1e-4)
W("distance", "distance", {"a": "T[n, d]", "b": "T[m, d]"}, {"out": "T[n, m]"}, dict(n=8192, m=8192, d=3),
  dict(n=2048, m=2048, d=3), fusec="return sum((a[:, None, :] - b[None, :, :])**2, axis=-1)",
  np="np.sum((a[:, None, :] - b[None, :, :])**2, axis=-1)",
  torch="torch.sum((a[:, None, :] - b[None, :, :])**2, dim=-1)", nb="""
def f(a, b):
    o = np.empty((a.shape[0], b.shape[0]), a.dtype)
    for i in prange(a.shape[0]):
        for j in range(b.shape[0]):
            x = a[i, 0] - b[j, 0]; y = a[i, 1] - b[j, 1]; z = a[i, 2] - b[j, 2]
            o[i, j] = x*x + y*y + z*z
    return o
""")
for n in (64, 256, 1024, 2048):
    W(f"product_{n}", "product", {"a": "T[n, k]", "b": "T[k, m]"}, {"out": "T[n, m]"}, dict(n=n, m=n, k=n),
      dict(n=n, m=n, k=n), tol=1e-3, fusec="return a @ b", np="a @ b", torch="a @ b", npo="np.matmul(a, b, out=o[0])")
W("product_turned", "product", {"a": "T[n, k]", "b": "T[m, k]"}, {"out": "T[n, m]"}, dict(n=1024, m=1024, k=1024),
  dict(n=1024, m=1024, k=1024), tol=1e-3, fusec="return a @ b.T", np="a @ b.T", torch="a @ b.T",
  npo="np.matmul(a, b.T, out=o[0])")
W("product_flat", "product", {"a": "T[n, k]", "b": "T[k, m]"}, {"out": "T[n, m]"}, dict(n=16, m=4096, k=4096),
  dict(n=16, m=4096, k=4096), tol=1e-3, fusec="return a @ b", np="a @ b", torch="a @ b",
  npo="np.matmul(a, b, out=o[0])")
for n in (8, 16, 64):
    W(f"products_{n}", "product", {"a": "T[p, n, n]", "b": "T[p, n, n]"}, {"out": "T[p, n, n]"}, dict(p=4096, n=n),
      dict(p=1000, n=n), tol=1e-3, fusec="return a @ b", np="a @ b", torch="a @ b", npo="np.matmul(a, b, out=o[0])")
W("product_relu", "product", {"a": "T[n, k]", "b": "T[k, m]", "c": "T[m]"}, {"out": "T[n, m]"},
  dict(n=1024, m=1024, k=1024), dict(n=1024, m=1024, k=1024), tol=1e-3, fusec="return maximum(a @ b + c, 0)",
  np="np.maximum(a @ b + c, 0)", torch="torch.relu(a @ b + c)",
  npo="np.matmul(a, b, out=o[0]); np.add(o[0], c, out=o[0]); np.maximum(o[0], 0, out=o[0])")
PRODUCT_IN, PRODUCT_OUT = {"a": "T[n, k]", "b": "T[k, m]"}, {"out": "T[n, m]"}
PRODUCT = dict(fusec="return a @ b", np="a @ b", torch="a @ b", npo="np.matmul(a, b, out=o[0])")
GELU = dict(
    fusec="y = a @ b + c; return 0.5*y*(1 + erf(y*0.7071067811865476))",
    np="y = a @ b + c; return y*0.5*erfc(y*-0.7071067811865476)", jax="jax.nn.gelu(a @ b + c, approximate=False)",
    torch="torch.nn.functional.gelu(a @ b + c)")
W("product_4096", "product", PRODUCT_IN, PRODUCT_OUT, dict(n=4096, m=4096, k=4096), None, ("f32", "bf16", "f16"), tol=1e-3, **PRODUCT)
W("product_8192_bf16", "product", PRODUCT_IN, PRODUCT_OUT, dict(n=8192, m=8192, k=8192), None, ("bf16",), **PRODUCT)
W("product_1024_bf16", "product", PRODUCT_IN, PRODUCT_OUT, dict(n=1024, m=1024, k=1024), None, ("bf16",), **PRODUCT)
W("product_turned_bf16", "product", {"a": "T[n, k]", "b": "T[m, k]"}, PRODUCT_OUT, dict(n=4096, m=4096, k=4096), None, ("bf16",),
  fusec="return a @ b.T", np="a @ b.T", torch="a @ b.T")
W("product_flat_bf16", "product", PRODUCT_IN, PRODUCT_OUT, dict(n=16, m=8192, k=8192), None, ("bf16",), **PRODUCT)
W("dense_gelu", "product", {**PRODUCT_IN, "c": "T[m]"}, PRODUCT_OUT, dict(n=8192, m=4096, k=1024), dict(n=512, m=1024, k=256),
  ("f32", "bf16"), tol=1e-3, **GELU)
W("dense_gelu_1024", "product", {**PRODUCT_IN, "c": "T[m]"}, PRODUCT_OUT, dict(n=1024, m=1024, k=1024), None, tol=1e-3, **GELU)
W("dense_gelu_residual", "product", {**PRODUCT_IN, "c": "T[m]", "r": "T[n, m]"}, PRODUCT_OUT, dict(n=4096, m=4096, k=4096), None, ("bf16",),
  fusec="y = a @ b + c; return 0.5*y*(1 + erf(y*0.7071067811865476)) + r", torch="torch.nn.functional.gelu(a @ b + c) + r",
  np="y = a @ b + c; return y*0.5*erfc(y*-0.7071067811865476) + r", jax="jax.nn.gelu(a @ b + c, approximate=False) + r")
W("product_flat16", "product", PRODUCT_IN, PRODUCT_OUT, dict(n=16, m=4096, k=4096), None, ("bf16",), **PRODUCT)
W("product_i8_weights", "product", {"a": "bf16[n, k]", "q": ("i8[m, k]", "u:-127:127"), "s": ("bf16[m]", "u:0.01:0.02")},
  {"out": "bf16[n, m]"}, dict(n=16, m=4096, k=4096), None, fusec="return (a @ bf16(q).T) * s", np="(a @ q.T.astype(a.dtype)) * s",
  torch="(a @ q.to(a.dtype).T) * s")
W("attention", "product", {"q": "bf16[h, n, d]", "k": "bf16[h, n, d]", "v": "bf16[h, n, d]"}, {"out": "bf16[h, n, d]"},
  dict(h=16, n=4096, d=64), None, fusec="""s = f32(q @ transpose(k, [0, 2, 1]))*0.125
    e = exp(s - max(s, axis=-1, keepdims=true))
    return bf16(e / sum(e, axis=-1, keepdims=true)) @ v""",
  np="s = np.exp(f32(q @ k.transpose(0, 2, 1))*0.125); return (s/np.sum(s, axis=-1, keepdims=True)).astype(q.dtype) @ v",
  torch="torch.nn.functional.scaled_dot_product_attention(q[None], k[None], v[None])[0]")
W("attention_causal", "product", {"q": "bf16[h, n, d]", "k": "bf16[h, n, d]", "v": "bf16[h, n, d]"}, {"out": "bf16[h, n, d]"},
  dict(h=16, n=4096, d=64), None, fusec="""s = f32(q @ transpose(k, [0, 2, 1]))*0.125
    s = where(arange(n)[None, :] > arange(n)[:, None], -inf, s)
    e = exp(s - max(s, axis=-1, keepdims=true))
    return bf16(e / sum(e, axis=-1, keepdims=true)) @ v""",
  np="s = np.exp(np.where(np.tri(q.shape[1], dtype=bool), f32(q @ k.transpose(0, 2, 1))*0.125, -np.inf)); "
     "return (s/np.sum(s, axis=-1, keepdims=True)).astype(q.dtype) @ v",
  torch="torch.nn.functional.scaled_dot_product_attention(q[None], k[None], v[None], is_causal=True)[0]")
HEADS_IN = {"q": "f32[h, n, d]", "k": "f32[h, n, d]", "v": "f32[h, n, d]"}
W("attention_f32", "product", HEADS_IN, {"out": "f32[h, n, d]"}, None, dict(h=4, n=2048, d=64), tol=1e-3,
  fusec="""s = (q @ transpose(k, [0, 2, 1]))*0.125
    e = exp(s - max(s, axis=-1, keepdims=true))
    return (e / sum(e, axis=-1, keepdims=true)) @ v""",
  np="s = np.exp((q @ k.transpose(0, 2, 1))*np.float32(0.125)); return (s/np.sum(s, axis=-1, keepdims=True)) @ v",
  torch="torch.nn.functional.scaled_dot_product_attention(q[None], k[None], v[None])[0]")
W("product_i8", "product", {"a": ("i8[n, k]", "u:-127:127"), "b": ("i8[k, m]", "u:-127:127")}, {"out": "i32[n, m]"}, None,
  dict(n=512, m=512, k=512), fusec="return i32(a @ b)", np="np.matmul(a, b, dtype=np.int32)",
  jax="jax.lax.dot(a, b, preferred_element_type=np.int32)", torch="torch._int_mm(a, b)")
W("einsum_heads", "product", {"q": "T[b, h, n, d]", "k": "T[b, h, m, d]"}, {"out": "T[b, h, n, m]"},
  dict(b=8, h=16, n=1024, m=1024, d=64), dict(b=2, h=4, n=256, m=256, d=64), tol=1e-3,
  fusec='return einsum("bhqd,bhkd->bhqk", q, k)', np="np.einsum('bhqd,bhkd->bhqk', q, k, optimize=True)",
  jax="np.einsum('bhqd,bhkd->bhqk', q, k)", torch="torch.einsum('bhqd,bhkd->bhqk', q, k)")
W("matrix_vector", "thin", {"a": "T[n, k]", "x": "T[k]"}, {"out": "T[n]"}, dict(n=16384, k=16384), dict(n=4096, k=4096), tol=1e-3,
  fusec="return a @ x", np="a @ x", torch="a @ x", npo="np.matmul(a, x, out=o[0])")
W("vector_matrix", "thin", {"x": "T[k]", "a": "T[k, m]"}, {"out": "T[m]"}, dict(m=16384, k=16384), dict(m=4096, k=4096), tol=1e-3,
  fusec="return x @ a", np="x @ a", torch="x @ a", npo="np.matmul(x, a, out=o[0])")

# ---- reads at indices, neighbours, prefixes, random numbers ---------------------------------------------------

AT = dict(fusec="return t[i]", np="t[i]", torch="t[i]", npo="np.take(t, i, out=o[0], mode='clip')", nb="""
def f(t, i):
    o = np.empty(i.size, t.dtype)
    for j in prange(i.size): o[j] = t[i[j]]
    return o
""")
W("gather_permuted", "gather", {"t": "T[n]", "i": ("i32[n]", "p")}, {"out": "T[n]"}, dict(n=N26), dict(n=N22), **AT)
W("gather_rising", "gather", {"t": "T[v]", "i": ("i32[n]", "s")}, {"out": "T[n]"}, dict(n=N26, v=N28), dict(n=N22, v=N24), **AT)
W("embedding", "gather", {"t": "T[v, m]", "i": ("i32[n]", "u:0:v"), "p": "T[m]"}, {"out": "T[n, m]"}, dict(v=50257, n=131072, m=1024),
  dict(v=50257, n=8192, m=256), fusec="return t[i] + p", np="t[i] + p", torch="t[i] + p",
  npo="np.take(t, i, axis=0, out=o[0], mode='clip'); np.add(o[0], p, out=o[0])")
W("histogram", "scatter", {"k": ("i32[n]", "u:0:256")}, {"out": "i64[256]"}, dict(n=N28), dict(n=N24), fusec="return histogram(k, 256)", cub="histogram",
  np="np.bincount(k, minlength=256)", jax="np.bincount(k, length=256)", torch="torch.bincount(k, minlength=256)", nb="""
def f(k):
    o = np.zeros(256, np.int64)
    for j in range(k.size): o[k[j]] += 1
    return o
""")
W("index_add", "scatter", {"h": "T[m]", "k": ("i32[n]", "u:0:m"), "v": "T[n]"}, {"out": "T[m]"}, dict(n=N26, m=N20), dict(n=N22, m=N20),
  ("f32", "f64"), tol=1e-3, fusec="h[k[i]] += v[i]\n    return h", np="o = h.copy(); np.add.at(o, k, v); return o",
  jax="h.at[k].add(v)", torch="h.index_add(0, k, v)", nb="""
def f(h, k, v):
    o = h.copy()
    for j in range(k.size): o[k[j]] += v[j]
    return o
""")
W("segment_max", "scatter", {"k": ("i32[n]", "u:0:m"), "v": "T[n]"}, {"out": "T[m]"}, dict(n=N26, m=1000), dict(n=N22, m=1000),
  fusec='return segment(v, k, $m, op="max")',
  np="o = np.full(m, -np.inf, v.dtype); np.maximum.at(o, k, v); return o", jax="np.full(m, -np.inf, v.dtype).at[k].max(v)",
  torch="torch.full((m,), -float('inf'), dtype=v.dtype, device=v.device).scatter_reduce(0, k.long(), v, 'amax')")
W("embedding_gradient", "scatter", {"i": ("i32[n]", "u:0:v"), "d": "T[n, m]"}, {"out": "T[v, m]"}, dict(v=50257, n=131072, m=1024),
  dict(v=50257, n=8192, m=256), tol=1e-3, fusec="return segment(d, i, $v)",
  np="o = np.zeros((v, d.shape[1]), d.dtype); np.add.at(o, i, d); return o", jax="np.zeros((v, d.shape[1]), d.dtype).at[i].add(d)",
  torch="torch.zeros((v, d.shape[1]), dtype=d.dtype, device=d.device).index_add(0, i, d)")
W("gather_rows", "gather", {"t": "T[v, m]", "i": ("i32[n]", "u:0:v")}, {"out": "T[n, m]"}, dict(v=131072, n=131072, m=1024),
  dict(v=16384, n=16384, m=1024), fusec="return t[i]", np="t[i]", torch="t[i]")
W("histogram_u8", "scatter", {"k": ("u8[n]", "u:0:256")}, {"out": "i64[256]"}, dict(n=N28), None, fusec="return histogram(k, 256)",
  np="np.bincount(k, minlength=256)", jax="np.bincount(k, length=256)", torch="torch.bincount(k, minlength=256)", cub="histogram")
W("concat", "join", {"a": "T[n]", "b": "T[n]"}, {"out": "T[m]"}, dict(n=N26*2, m=N28), dict(n=N22*2, m=N24),
  fusec="return concat([exp(a), b])", np="np.concatenate([np.exp(a), b])", torch="torch.cat([torch.exp(a), b])")
W("roll", "join", {"x": "T[n, m]"}, {"out": "T[n, m]"}, dict(n=16384, m=16384), dict(n=4096, m=4096),
  fusec="return roll(x, 101, axis=1) + 1", np="np.roll(x, 101, axis=1) + 1", torch="torch.roll(x, 101, 1) + 1")
W("pad", "join", {"x": "T[n, m]"}, {"out": "T[h, w]"}, dict(n=16380, m=16380, h=16384, w=16384), dict(n=4092, m=4092, h=4096, w=4096),
  fusec='return pad(x*2, [[2, 2], [2, 2]], value=0)', np="np.pad(x*2, 2)", torch="torch.nn.functional.pad(x*2, (2, 2, 2, 2))")
CROSS = """return u + 0.1*(p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] - 4*u)"""
W("stencil_5", "stencil", {"u": "T[h, w]"}, {"out": "T[h, w]"}, dict(h=16384, w=16384), dict(h=4096, w=4096),
  fusec="""c = boundary(u, mode="edge")
    v[i in 0..h, j in 0..w] = c[i, j] + 0.1*(c[i-1, j] + c[i+1, j] + c[i, j-1] + c[i, j+1] - 4*c[i, j])
    return v""", np="p = np.pad(u, 1, mode='edge'); " + CROSS, nb="""
def f(u):
    o = np.empty_like(u); h, w = u.shape
    for i in prange(h):
        a = max(i - 1, 0); b = min(i + 1, h - 1)
        for j in range(w):
            l = max(j - 1, 0); r = min(j + 1, w - 1)
            o[i, j] = u[i, j] + np.float32(0.1)*(u[a, j] + u[b, j] + u[i, l] + u[i, r] - np.float32(4)*u[i, j])
    return o
""", torch="p = torch.nn.functional.pad(u[None, None], (1, 1, 1, 1), mode='replicate')[0, 0]; " + CROSS,
  sp="return u + np.float32(0.1)*ndimage.convolve(u, np.array([[0, 1, 0], [1, -4, 1], [0, 1, 0]], u.dtype), mode='nearest')")
W("heat_10", "program", {"u": "T[h, w]"}, {"out": "T[h, w]"}, dict(h=4096, w=4096), dict(h=1024, w=1024),
  fusec="""for s in 0..10 {
        c = boundary(u, mode="edge")
        v[i in 0..h, j in 0..w] = c[i, j] + 0.1*(c[i-1, j] + c[i+1, j] + c[i, j-1] + c[i, j+1] - 4*c[i, j])
        u = v
    }
    return u""",
  np="for s in range(10):\n p = np.pad(u, 1, mode='edge'); " + CROSS.replace("return u", "u = u") + "\nreturn u",
  torch="for s in range(10):\n p = torch.nn.functional.pad(u[None, None], (1, 1, 1, 1), mode='replicate')[0, 0]; "
        + CROSS.replace("return u", "u = u") + "\nreturn u")
SIDES = """x = p[:-2, 2:] + 2*p[1:-1, 2:] + p[2:, 2:] - p[:-2, :-2] - 2*p[1:-1, :-2] - p[2:, :-2]
y = p[2:, :-2] + 2*p[2:, 1:-1] + p[2:, 2:] - p[:-2, :-2] - 2*p[:-2, 1:-1] - p[:-2, 2:]
"""
W("sobel", "stencil", {"u": "T[h, w]"}, {"out": "T[h, w]"}, dict(h=16384, w=16384), dict(h=4096, w=4096),
  fusec="""c = boundary(u, mode="reflect")
    x[i in 0..h, j in 0..w] = c[i-1, j+1] + 2*c[i, j+1] + c[i+1, j+1] - c[i-1, j-1] - 2*c[i, j-1] - c[i+1, j-1]
    y[i in 0..h, j in 0..w] = c[i+1, j-1] + 2*c[i+1, j] + c[i+1, j+1] - c[i-1, j-1] - 2*c[i-1, j] - c[i-1, j+1]
    return sqrt(x*x + y*y)""", np="p = np.pad(u, 1, mode='reflect')\n" + SIDES + "return np.sqrt(x*x + y*y)",
  torch="p = torch.nn.functional.pad(u[None, None], (1, 1, 1, 1), mode='reflect')[0, 0]\n" + SIDES + "return torch.sqrt(x*x + y*y)")

def gaussian(taps, weights, gpu, cpu, **more):
    """The rows and then the columns of a picture by `taps` weights, its edges continued."""
    r = taps // 2
    W(f"gaussian_{taps}", "program", {"u": "T[h, w]", "g": ("T[k]", weights)}, {"out": "T[h, w]"}, gpu, cpu,
      fusec=f"""a = boundary(u, mode="edge")
    t[y in 0..h, x in 0..w] = sum[i in -{r}..{r + 1}](g[i + {r}]*a[y, x + i])
    b = boundary(t, mode="edge")
    v[y in 0..h, x in 0..w] = sum[i in -{r}..{r + 1}](g[i + {r}]*b[y + i, x])
    return v""",
      np=f"h, w = u.shape; p = np.pad(u, ((0, 0), ({r}, {r})), mode='edge'); t = sum(g[i]*p[:, i:i + w] for i in range({taps})); "
         f"q = np.pad(t, (({r}, {r}), (0, 0)), mode='edge'); return sum(g[i]*q[i:i + h] for i in range({taps}))",
      torch="pad = torch.nn.functional.pad; conv = torch.nn.functional.conv2d; "
            f"t = conv(pad(u[None, None], ({r}, {r}, 0, 0), mode='replicate'), g[None, None, None, :]); "
            f"return conv(pad(t, (0, 0, {r}, {r}), mode='replicate'), g[None, None, :, None])[0, 0]", **more)


gaussian(7, "u:0.1:0.2", dict(h=16384, w=16384, k=7), dict(h=2048, w=2048, k=7),
         sp="return ndimage.correlate1d(ndimage.correlate1d(u, g, 1, mode='nearest'), g, 0, mode='nearest')")
gaussian(13, "u:0.05:0.1", dict(h=8192, w=8192, k=13), None)


def prefixes(name, shape, axis, gpu, cpu, cub=None):
    W(name, "scan", {"x": shape}, {"out": shape}, gpu, cpu, tol=1e-3, fusec=f"return cumsum(x, axis={axis})",
      np=f"np.cumsum(x, axis={axis})", torch=f"torch.cumsum(x, dim={axis})", npo=f"np.cumsum(x, axis={axis}, out=o[0])", cub=cub)


prefixes("cumsum", "T[n]", 0, dict(n=N28), dict(n=N24), "cumsum")
prefixes("cumsum_rows_1024", "T[n, m]", 1, dict(n=262144, m=1024), dict(n=16384, m=1024))
prefixes("cumsum_rows_16384", "T[n, m]", 1, dict(n=16384, m=16384), dict(n=1024, m=16384))
prefixes("cumsum_columns", "T[n, m]", 0, dict(n=16384, m=16384), dict(n=4096, m=4096))
W("cumsum_fused", "scan", {"x": "T[n]"}, {"out": "T[n]"}, dict(n=N28), None, tol=1e-3, fusec="return cumsum(exp(x) - 1)*0.5",
  np="np.cumsum(np.exp(x) - 1)*0.5", torch="torch.cumsum(torch.exp(x) - 1, 0)*0.5")
W("linear_recurrence", "scan", {"a": ("T[n, m]", "u:0.9:0.99"), "b": "T[n, m]"}, {"out": "T[n, m]"}, dict(n=16384, m=4096), None, tol=1e-3,
  fusec="return linrec(a, b, axis=1)", np="""y = np.empty_like(b); s = np.zeros_like(b[:, 0])
for k in range(b.shape[1]):
 s = a[:, k]*s + b[:, k]; y[:, k] = s
return y""", torch="""def f(x, y):
 return x[0]*y[0], x[1]*y[0] + y[1]
c, d = a, b
k = 1
while k < a.shape[1]:
 d = torch.cat([d[:, :k], d[:, :-k]*c[:, k:] + d[:, k:]], 1); c = torch.cat([c[:, :k], c[:, :-k]*c[:, k:]], 1); k = 2*k
return d""", jax="return jax.lax.associative_scan(lambda x, y: (x[0]*y[0], x[1]*y[0] + y[1]), (a, b), axis=1)[1]")
W("sort", "order", {"x": ("i32[n]", "u:-2147483648:2147483648")}, {"out": "i32[n]"}, dict(n=N26), None, fusec="return sort(x)",
  np="np.sort(x)", torch="torch.sort(x).values", cub="sort")
W("sort_rows", "order", {"x": ("T[n, m]", "n")}, {"out": "T[n, m]"}, dict(n=65536, m=1024), None, fusec="return sort(x)",
  np="np.sort(x)", torch="torch.sort(x).values")
SEED = {"s": ("i32[]", "u:0:1000")}
W("draw_uniform", "draw", SEED, {"out": "T[n]"}, dict(n=N28), dict(n=N24), by="moments", tol=3e-3,
  fusec="return uniform([$n], seed=s)", np="f32(np.random.random(n))", jax="jax.random.uniform(jax.random.key(s), (n,))",
  torch="torch.rand(n, device=s.device)")
W("draw_normal", "draw", SEED, {"out": "T[n]"}, dict(n=N28), dict(n=N24), by="moments", tol=3e-3,
  fusec="return normal([$n], seed=s)", np="f32(np.random.standard_normal(n))", jax="jax.random.normal(jax.random.key(s), (n,))",
  torch="torch.randn(n, device=s.device)")
W("draw_noise", "draw", {"x": "T[n]", **SEED}, {"out": "T[n]"}, dict(n=N28), dict(n=N24), by="moments", tol=3e-3,
  fusec="return x + 0.1*normal([n], seed=s)", np="x + 0.1*f32(np.random.standard_normal(x.size))",
  jax="x + 0.1*jax.random.normal(jax.random.key(s), x.shape)", torch="x + 0.1*torch.randn_like(x)")
W("dropout", "draw", {"x": "T[n]", **SEED}, {"out": "T[n]"}, dict(n=N28), None, by="moments", tol=3e-3,
  fusec="return uniform([n], seed=s) < 0.9 ? x/0.9 : 0", np="return np.where(f32(np.random.random(x.size)) < 0.9, x/0.9, 0)",
  jax="np.where(jax.random.bernoulli(jax.random.key(s), 0.9, x.shape), x/0.9, 0)", torch="torch.nn.functional.dropout(x, 0.1)")
W("draw_pi", "draw", SEED, {"out": "T[]"}, dict(n=N28), dict(n=N24), by="moments", tol=3e-3,
  fusec="x = uniform([$n], seed=s, stream=0); y = uniform([$n], seed=s, stream=1); return 4*mean(f32(x*x + y*y < 1))",
  np="x = np.random.random(n); y = np.random.random(n); return f32(4*np.mean(x*x + y*y < 1))",
  jax="a, b = jax.random.split(jax.random.key(s)); x = jax.random.uniform(a, (n,)); y = jax.random.uniform(b, (n,)); "
      "return 4*np.mean(f32(x*x + y*y < 1))",
  torch="x = torch.rand(n, device=s.device); y = torch.rand(n, device=s.device); return 4*torch.mean(f32(x*x + y*y < 1))")

# ---- derivatives ------------------------------------------------------------------------------------------------

W("grad_expsincos", "gradient", {"x": ("T[n]", "n")}, {"out": "T[n]"}, dict(n=N28), dict(n=N24),
  fusec="return grad(sum(exp(sin(x)*cos(x))), x)", np="return np.exp(np.sin(x)*np.cos(x))*np.cos(2*x)",
  jax="jax.grad(lambda x: np.sum(np.exp(np.sin(x)*np.cos(x))))(x)",
  torch="torch.func.grad(lambda x: torch.sum(torch.exp(torch.sin(x)*torch.cos(x))))(x)")
W("grad_cross_entropy", "gradient", {"x": ("T[n, m]", "n"), "l": ("i32[n]", "u:0:m")}, {"out": "T[n, m]"}, dict(n=8192, m=32768),
  dict(n=512, m=16384), tol=1e-4, fusec="""e[i] = logsumexp(x, axis=-1)[i] - x[i, l[i]]
    return grad(mean(e), x)""",
  np="e = np.exp(x - np.max(x, axis=-1, keepdims=True)); e /= np.sum(e, axis=-1, keepdims=True); "
     "e[np.arange(len(l)), l] -= 1; return e/len(l)",
  jax="r = np.arange(len(l)); return jax.grad(lambda x: np.mean(jax.nn.logsumexp(x, axis=-1) - x[r, l]))(x)",
  torch="torch.func.grad(lambda x: torch.nn.functional.cross_entropy(x, l.long()))(x)")
W("grad_layernorm", "gradient", {**LN_IN, "d": "T[n, m]"}, {"dx": "T[n, m]", "dw": "T[m]", "db": "T[m]"}, dict(n=32768, m=4096),
  dict(n=2048, m=4096), tol=1e-3, fusec="""c = x - mean(x, axis=-1, keepdims=true)
    y = c*rsqrt(mean(c*c, axis=-1, keepdims=true) + 1e-5)*w + b
    dx, dw, db = vjp(y, x, w, b, d)
    return dx, dw, db""",
  np="c = x - np.mean(x, axis=-1, keepdims=True); r = 1/np.sqrt(np.mean(c*c, axis=-1, keepdims=True) + 1e-5); h = c*r; g = d*w; "
     "return r*(g - np.mean(g, axis=-1, keepdims=True) - h*np.mean(g*h, axis=-1, keepdims=True)), np.sum(d*h, axis=0), np.sum(d, axis=0)",
  jax="""def y(x, w, b):
 c = x - np.mean(x, axis=-1, keepdims=True)
 return c*jax.lax.rsqrt(np.mean(c*c, axis=-1, keepdims=True) + 1e-5)*w + b
return jax.vjp(y, x, w, b)[1](d)""",
  torch="torch.func.vjp(lambda x, w, b: torch.nn.functional.layer_norm(x, (x.shape[-1],), w, b, 1e-5), x, w, b)[1](d)")
W("grad_logistic", "program", {"w": "T[m]", "b": "T[]", "x": "T[n, m]", "y": ("T[n]", "u:0:1")}, {"loss": "T[]", "dw": "T[m]", "db": "T[]"},
  dict(n=N20, m=128), dict(n=N20 // 16, m=128), tol=1e-3, fusec="""z = x @ w + b
    loss = mean(softplus(z) - y*z)
    dw, db = grad(loss, w, b)
    return loss, dw, db""",
  np="z = x @ w + b; s = 1/(1 + np.exp(-z)) - y; return np.mean(np.log1p(np.exp(z)) - y*z), s @ x/len(y), np.mean(s)",
  jax="""def loss(w, b):
 z = x @ w + b
 return np.mean(jax.nn.softplus(z) - y*z)
v, (dw, db) = jax.value_and_grad(loss, (0, 1))(w, b)
return v, dw, db""",
  torch="""def loss(w, b):
 z = x @ w + b
 return torch.mean(torch.nn.functional.softplus(z) - y*z)
(dw, db), v = torch.func.grad_and_value(loss, (0, 1))(w, b)
return v, dw, db""")

# ---- programs ----------------------------------------------------------------------------------------------------

W("logsumexp", "sum", {"x": ("T[n, m]", "n")}, {"out": "T[n]"}, dict(n=16384, m=16384), dict(n=1024, m=16384), tol=1e-4,
  fusec="return logsumexp(x, axis=-1)", torch="torch.logsumexp(x, dim=-1)", jax="jax.nn.logsumexp(x, axis=-1)",
  np="m = np.max(x, axis=-1, keepdims=True); return m[:, 0] + np.log(np.sum(np.exp(x - m), axis=-1))")
NBODY = """d = p[None, :, :] - p[:, None, :]
r = {m}.sum(d*d, axis=-1) + 1e-4
a = {m}.sum(d*(m[None, :]*r**-1.5)[:, :, None], axis=1)
u = v + 0.01*a
return p + 0.01*u, u"""
W("nbody_step", "program", {"p": "T[n, 3]", "v": "T[n, 3]", "m": ("T[n]", "u:0:1")}, {"p1": "T[n, 3]", "v1": "T[n, 3]"}, dict(n=8192),
  dict(n=1024), tol=1e-3, fusec="""d = p[None, :, :] - p[:, None, :]
    r = sum(d*d, axis=-1) + 1e-4
    a = sum(d*(m[None, :]*r**-1.5)[:, :, None], axis=1)
    u = v + 0.01*a
    return p + 0.01*u, u""", np=NBODY.format(m="np"), torch=NBODY.format(m="torch").replace("axis", "dim"))
ESCAPE = """x = ({a}(w)/w*2.5 - 2)[None, :]
y = ({a}(h)/h*2.5 - 1.25)[:, None]
r = {z}; i = {z}; n = {z}
for k in range(64):
 go = r*r + i*i <= 4; s = r*r - i*i + x; i = {m}.where(go, 2*r*i + y, i); r = {m}.where(go, s, r); n = n + f32(go)
return n"""
W("escape_64", "program", {"t": "T[]"}, {"out": "T[h, w]"}, dict(h=4096, w=4096), dict(h=512, w=512), by="moments", tol=2e-3,
  fusec="""x = (f32(arange($w))/$w*2.5 - 2)[None, :]
    y = (f32(arange($h))/$h*2.5 - 1.25)[:, None]
    r = zeros([$h, $w]); i = zeros([$h, $w]); n = zeros([$h, $w])
    for k in 0..64 while r*r + i*i <= 4 {
        s = r*r - i*i + x
        i = 2*r*i + y
        r = s
        n = n + 1
    }
    return n""", np=ESCAPE.format(m="np", a="np.arange", z="f32(np.zeros((h, w)))"),
  torch=ESCAPE.format(m="torch", a="(lambda n: torch.arange(n, device=t.device))", z="torch.zeros((h, w), device=t.device)"))
MANDELBROT = """x = ((2*{a}(w) - w)/h*1.25 - 0.75)[None, :]
y = ((2*{a}(h) - h)/h*1.25)[:, None]
r = {z}; i = {z}; n = {z}
for k in range(256):
 go = r*r + i*i <= 4; s = r*r - i*i + x; i = {m}.where(go, 2*r*i + y, i); r = {m}.where(go, s, r); n = n + f32(go)
return n"""
W("mandelbrot", "program", {"t": "T[]"}, {"out": "T[h, w]"}, dict(h=1080, w=1920), None, by="moments", tol=2e-3,
  fusec="""x = (f32(2*arange($w) - $w)/$h*1.25 - 0.75)[None, :]
    y = (f32(2*arange($h) - $h)/$h*1.25)[:, None]
    r = zeros([$h, $w]); i = zeros([$h, $w]); n = zeros([$h, $w])
    for k in 0..256 while r*r + i*i <= 4 {
        s = r*r - i*i + x
        i = 2*r*i + y
        r = s
        n = n + 1
    }
    return n""", cub="mandelbrot", np=MANDELBROT.format(m="np", a="(lambda n: np.arange(n, dtype=t.dtype))", z="np.zeros((h, w), t.dtype)"),
  torch=MANDELBROT.format(m="torch", a="(lambda n: torch.arange(n, device=t.device, dtype=t.dtype))", z="torch.zeros((h, w), device=t.device, dtype=t.dtype)"))
W("complex_axpy", "complex", {"a": "c64[n]", "b": "c64[n]", "c": "c64[n]"}, {"out": "c64[n]"}, dict(n=N26), None,
  fusec="return a*b + c", np="a*b + c", torch="a*b + c")
W("fft", "fft", {"x": "c64[n]"}, {"out": "c64[n]"}, dict(n=N24), None, tol=1e-4, fusec="return fft(x)", np="np.fft.fft(x)", torch="torch.fft.fft(x)")
W("fft_rows", "fft", {"x": "c64[n, m]"}, {"out": "c64[n, m]"}, dict(n=4096, m=4096), None, tol=1e-4, fusec="return fft(x)", np="np.fft.fft(x)",
  torch="torch.fft.fft(x)")
MANY = [f"p{i}" for i in range(200)]
W("updates_200", "small", {p: "T[n]" for p in MANY}, {f"q{p}": "T[n]" for p in MANY}, dict(n=4096), dict(n=256),
  fusec="return " + ", ".join(f"{p}*0.99 + 0.01" for p in MANY), np="return [p*0.99 + 0.01 for p in args]",
  torch="return [p*0.99 + 0.01 for p in args]",
  eager="t = torch._foreach_mul(list(args), 0.99); torch._foreach_add_(t, 0.01); return t")
W("sin_1024", "small", {"x": "T[n]"}, {"out": "T[n]"}, dict(n=1024), None, **SIN)

# ---- sizes: three expressions, 2^8 to 2^26, CPU only -------------------------------------------------------

for k in range(8, 27, 2):
    W(f"size_axpy_{k}", "sweep", {"x": "T[n]", "y": "T[n]"}, {"out": "T[n]"}, None, dict(n=1 << k), **AXPY)
    W(f"size_expsincos_{k}", "sweep", {"x": ("T[n]", "n")}, {"out": "T[n]"}, None, dict(n=1 << k), **EXPSC)
    W(f"size_sqdiff_{k}", "sweep", {"a": "T[n]", "b": "T[n]"}, {"out": "T[]"}, None, dict(n=1 << k), **SQDIFF)

# ---- what follows from a row ---------------------------------------------------------------------------------

BYTES = {"c64": 8, "f64": 8, "i64": 8, "f32": 4, "i32": 4, "bf16": 2, "f16": 2, "u8": 1, "i8": 1}
MODES = {"strict": {"f32", "f64", "bf16", "f16"}, "wide16": {"bf16", "f16"}}


def shape_of(text, sizes):
    """("f32[2*n, 1]", {"n": 4}) -> ("f32", (8, 1))"""
    dtype, dims = text[:-1].split("[")
    return dtype, tuple(int(eval(d, {}, sizes)) for d in dims.replace(" ", "").split(",") if d)


def bounds_of(dist, sizes):
    kind, *bounds = dist.split(":")
    return ":".join([kind, *[str(sizes.get(b, b)) for b in bounds]])


def count(shape):
    n = 1
    for s in shape:
        n *= s
    return n


def sized(row, where):
    """The row with numbers for its sizes on "gpu" or "cpu", or None if it is not measured there."""
    sizes = row["sizes"][where]
    if not sizes:
        return None
    r = dict(row)
    r["inputs"] = [(k, *shape_of(t, sizes), bounds_of(d, sizes)) for k, t, d in row["inputs"]]
    r["numbers"] = sizes
    r["out"] = [(k, *shape_of(t, sizes)) for k, t in row["out"]]
    r["bytes"] = sum(BYTES[a[1]] * count(a[2]) for a in r["inputs"] + r["out"])
    r["read_only"] = sum(BYTES[a[1]] * count(a[2]) for a in r["out"]) * 64 < r["bytes"]
    r["target"] = TARGETS[row["class"]][1 if where == "gpu" else 2]
    return r


def elementwise(row):
    """Whether each number of a result depends on one number of each input, at the same place (of a sized row)."""
    return row["class"] in MAPS and len({a[2] for a in row["inputs"] + row["out"]}) == 1


def fusec_text(row, where):
    """The program: sizes stay names, so that nothing is specialised, but those that no input has."""
    params = ", ".join(f"{k}: {t.replace('[]', '')}" for k, t, _ in row["inputs"])
    outs = ", ".join(f"{k}: {t.replace('[]', '')}" for k, t in row["out"])
    body = row["programs"]["fusec"]
    for name, n in row["sizes"][where].items():
        body = body.replace(f"${name}", str(n))
        if not any(re.search(rf"\b{name}\b", t.split("[")[1]) for _, t, _ in row["inputs"]):
            outs = re.sub(rf"(?<=[\[ ]){name}(?=[,\]])", str(n), outs)
    return f"export def workload({params}) -> ({outs}) {{\n    {body}\n}}\n"


def modes(row):
    """How fusec is run: strict, and with licences where these make other kernels."""
    if row["name"] in ("attention", "attention_causal"):  # a softmax that may be regrouped goes through its row once
        return ["strict", "fast"]
    if row["class"] == "product":  # the sum is in f32 anyway
        return ["strict"]
    narrow = any("16[" in t for _, t, _ in row["inputs"]) and any("16[" in t for _, t in row["out"])
    return ["strict", "wide16"] if narrow else ["strict"]


def tolerance(row, peer=False):
    """Of |got - want| / (|want| + rms(want)), of a sized row. 16-bit floats that round at every node lose more; a
    peer may add one number after the other."""
    types = {a[1] for a in row["inputs"] + row["out"]}
    if "bf16" in types and row["name"] != "cast_scale":
        return 0.06
    if "f16" in types:
        return 0.006
    if types == {"f64"}:
        return 1e-11
    return max(row["tol"] or 2e-5, 2e-3 if peer and row["read_only"] else 0)
