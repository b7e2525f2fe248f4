# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""overheads.py PEER WHERE first|all - what a peer costs around its kernels, as one line of JSON on what was stdout.

`first` ends with the first result of the process: sin(x*2 + 1) of 1024 numbers of the host, back on the host. `all`
goes on in the same process: expressions not seen before, calls of one seen before, an expression of 100 operations
given again, building one. Where a peer keeps what it has compiled, harness.py says by the environment: $FUSEC_BENCH_KEEP
is a folder that is empty in the first process and not in later ones. What a peer does not have is left out. Moments
are those of the clock that all processes share.
"""
import importlib
import json
import os
import statistics
import sys
import time

SMALL, CALLS, ROUNDS = 1024, 200, 15
MANY, NODES = 100, 1000  # operations of an expression that is given again, of a graph that is built
NEW = ["-x", "abs(x)", "x*x", "x*x + x"]  # in place of x: no compiler takes one of them for another
KEEP = os.environ.get("FUSEC_BENCH_KEEP", "")


def defined(text, names):
    scope = dict(names)
    exec(text, scope)
    return scope["f"]


def chain(x, operations):
    """Of an array, or of what stands for one while a graph is built."""
    y = x
    for _ in range(operations // 2):
        y = abs(y) + x
    return y


# ---- peers: an array, an expression made ready to be called, waiting ----------------------------------------------


class Numpy:
    """Also what the others have in common: a module `np` with the functions of numpy."""

    compiles = False  # nothing is compiled for an expression of known operations

    def __init__(self, where):
        import numpy
        self.host = self.np = numpy
        self.where, self.version = where, numpy.__version__

    def own(self, x):
        return x

    def back(self, x):
        return x

    def wait(self, x):
        pass

    def ready(self, f):
        return f

    def after_first(self):
        pass

    def map(self, arg="x"):
        return self.ready(defined(f"def f(x):\n    return np.sin(({arg})*2 + 1)\n", {"np": self.np}))

    def softmax(self, arg):
        return self.ready(defined(f"""
def f(x):
    s = {arg}
    e = np.exp(s - np.max(s, axis=-1, keepdims=True))
    return e/np.sum(e, axis=-1, keepdims=True)
""", {"np": self.np}))

    def many(self, x):
        """Each operation is evaluated when it is met, or all together at the end if the peer is lazy."""
        return chain(x, MANY)

    def builder(self):
        """A function that makes the peer's graph of NODES operations; None: it has none."""
        return None


class Numexpr(Numpy):
    compiles = True

    def __init__(self, where):
        super().__init__(where)
        import numexpr
        self.ne, self.version = numexpr, numexpr.__version__

    def map(self, arg="x"):
        ne, numbers = self.ne, {"one": self.np.float32(1), "two": self.np.float32(2)}
        return lambda x: ne.evaluate(f"sin(({arg})*two + one)", local_dict=dict(numbers, x=x), global_dict={})

    softmax = many = None


class Numba(Numpy):
    """Kept code needs a function that lies in a file."""

    compiles = True

    def __init__(self, where):
        super().__init__(where)
        import numba
        self.numba, self.version, self.kept = numba, numba.__version__, True

    def after_first(self):
        self.kept = False

    def loops(self, text):
        if not self.kept:
            return self.numba.njit(fastmath=True)(defined(text, {"np": self.np, "math": __import__("math")}))
        path = os.path.join(KEEP, "expression.py")
        if not os.path.exists(path):
            with open(path, "w") as f:
                f.write("import math\nimport numpy as np\nimport numba\n\n\n@numba.njit(fastmath=True, cache=True)" + text)
        sys.path.insert(0, KEEP)
        return importlib.import_module("expression").f

    def map(self, arg="x"):
        return self.loops(f"""
def f(a):
    o = np.empty_like(a)
    for i in range(a.size):
        x = a[i]
        o[i] = math.sin(({arg})*np.float32(2) + np.float32(1))
    return o
""")

    def softmax(self, arg):
        return self.loops(f"""
def f(a):
    o = np.empty_like(a)
    for i in range(a.shape[0]):
        m = np.float32(-1e30)
        for j in range(a.shape[1]):
            x = a[i, j]
            m = max(m, {arg})
        s = np.float32(0)
        for j in range(a.shape[1]):
            x = a[i, j]
            e = math.exp({arg} - m); o[i, j] = e; s += e
        r = np.float32(1)/s
        for j in range(a.shape[1]): o[i, j] *= r
    return o
""")

    many = None


class Jax(Numpy):
    compiles = True

    def __init__(self, where):
        super().__init__(where)
        if where == "cpu":
            os.environ["JAX_PLATFORMS"] = "cpu"
        import jax
        import jax.numpy
        self.jax, self.np, self.version = jax, jax.numpy, jax.__version__
        jax.config.update("jax_compilation_cache_dir", KEEP)
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)

    def after_first(self):
        self.jax.config.update("jax_enable_compilation_cache", False)

    def own(self, x):
        return self.jax.device_put(x)

    def back(self, x):
        return self.host.asarray(x)

    def wait(self, x):
        self.jax.block_until_ready(x)

    def ready(self, f):
        return self.jax.jit(f)

    def builder(self):
        shape = self.jax.ShapeDtypeStruct((SMALL,), self.host.float32)
        return lambda: self.jax.make_jaxpr(lambda x: chain(x, NODES))(shape)  # a new function: no trace is used again


class Torch(Numpy):
    def __init__(self, where):
        super().__init__(where)
        import torch
        self.torch, self.version = torch, torch.__version__
        torch.set_grad_enabled(False)

    def own(self, x):
        x = self.torch.from_numpy(x)
        return x.cuda() if self.where == "gpu" else x

    def back(self, x):
        return x.cpu().numpy()

    def wait(self, x):
        if self.where == "gpu":
            self.torch.cuda.synchronize()

    def map(self, arg="x"):
        return self.ready(defined(f"def f(x):\n    return torch.sin(({arg})*2 + 1)\n", {"torch": self.torch}))

    def softmax(self, arg):
        return self.ready(defined(f"def f(x):\n    return torch.softmax({arg}, dim=-1)\n", {"torch": self.torch}))


class TorchCompile(Torch):
    compiles = True
    many = None

    def __init__(self, where):
        super().__init__(where)
        import torch._dynamo.config as config
        config.recompile_limit = 100  # all functions given to torch.compile count as one; beyond 8 nothing is compiled

    def ready(self, f):
        return self.torch.compile(f, dynamic=False)

    def builder(self):
        import torch.fx
        return lambda: torch.fx.symbolic_trace(lambda x: chain(x, NODES))


class Cupy(Numpy):
    def __init__(self, where):
        super().__init__(where)
        import cupy
        self.np, self.version = cupy, cupy.__version__

    def own(self, x):
        return self.np.asarray(x)

    def back(self, x):
        return self.np.asnumpy(x)

    def wait(self, x):
        self.np.cuda.get_current_stream().synchronize()


PEERS = {"numpy": Numpy, "numexpr": Numexpr, "numba": Numba, "jax": Jax, "torch": Torch, "compile": TorchCompile, "cupy": Cupy}


# ---- what is measured ---------------------------------------------------------------------------------------------


def first(peer, out):
    np = peer.host
    out["imported_at"] = time.monotonic()
    x = (np.arange(SMALL) / SMALL).astype(np.float32)
    got = peer.back(peer.map()(peer.own(x)))
    out["result_at"] = time.monotonic()
    out["right"] = bool(np.max(np.abs(np.sin(x.astype(np.float64)*2 + 1) - got)) < 1e-6)


def each(peer, f, x, calls, wait):
    """Microseconds a call on the caller's side, or to its end if each is waited for."""
    t = []
    peer.wait(f(x))
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for _ in range(calls):
            y = f(x)
            if wait:
                peer.wait(y)
        t.append((time.perf_counter() - start) / calls)
        peer.wait(y)
    return 1e6 * statistics.median(t[2:])


def new(peer, make, reference, host):
    """Milliseconds to the return of the first call; the first of NEW opens what is opened once."""
    np = peer.host
    t, x = [], peer.own(host)
    for arg in NEW:
        start = time.perf_counter()
        y = make(arg)(x)
        t.append(time.perf_counter() - start)
        want = reference(eval(arg, {"x": host.astype(np.float64)}))
        if np.max(np.abs(peer.back(y) - want)) > 1e-5:
            raise ValueError("a wrong result")
    return 1e3 * statistics.median(t[1:])


def build(trace):
    """Nanoseconds for each node; the first graph opens what is opened once."""
    t = []
    trace()
    for _ in range(3):
        start = time.perf_counter()
        trace()
        t.append(time.perf_counter() - start)
    return 1e9 / NODES * statistics.median(t)


def rest(peer, out):
    np = peer.host
    numbers, table = (np.linspace(-1, 1, n, dtype=np.float32) for n in (SMALL, 64 * 1024))
    line = peer.own(numbers)
    f = peer.map()
    peer.wait(f(line))
    out["call_us"] = each(peer, f, line, CALLS, False)
    out["call_and_wait_us"] = each(peer, f, line, CALLS, True)
    if peer.many:
        out["known_100_us"] = each(peer, peer.many, line, 2, False)
    if peer.builder():
        out["build_ns"] = build(peer.builder())
    out["new_map_ms"] = new(peer, peer.map, lambda x: np.sin(x*2 + 1), numbers)
    if peer.softmax:
        out["new_softmax_ms"] = new(peer, peer.softmax, lambda x: np.exp(x) / np.sum(np.exp(x), axis=-1, keepdims=True), table.reshape(64, 1024))


def main():
    reply = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    name, where, what = sys.argv[1:4]
    peer = PEERS[name](where)
    out = {"version": peer.version, "compiles": peer.compiles}
    first(peer, out)
    print(json.dumps(out), file=reply, flush=True)  # what follows may take too long
    peer.after_first()
    if what == "all":
        rest(peer, out)
        print(json.dumps(out), file=reply, flush=True)
    reply.close()
    os._exit(0)  # what a library does at its end is not asked for


if __name__ == "__main__":
    main()
