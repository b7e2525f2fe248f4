# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""serve.py PEER WHERE - a process that measures rows with one peer.

Reads one request a line from stdin and answers each with one line of JSON on what was stdout; whatever libraries
print goes to stderr. A request that fails is answered with {"error": TEXT}. Requests:

    {"row": NAME, "batches": N, "launches": N, "ms": T, "sets": N}     measure it
    the same with "ready": true            make everything ready for that, so that the next request only measures
    {"row": NAME, "compile": true}         compile it, for a cache on disk that other processes share
    {"row": NAME, "check": DIRECTORY, "peer": BOOL}                    compare the results in files
"""
import gc
import itertools
import json
import os
import sys
import time
import traceback

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), os.path.dirname(os.path.dirname(os.path.abspath(__file__)))]

import workloads  # noqa: E402
from data import NumpyData, TorchData, aligned, function, moments, numpy_names, results, torch_names  # noqa: E402


class NotHere(Exception):
    """The peer cannot express this row."""


# ---- peers: prepare(row) gives a function of inputs; how to wait, how to time ------------------------------


class Peer:
    clock = "wall"
    sets = 1  # of inputs, and of results that exist at a time

    def __init__(self, where):
        self.where = where
        self.data = TorchData("cuda") if where == "gpu" else NumpyData()

    def start(self, row):
        pass

    def own(self, x, dtype):  # an array of the common kind as this peer's
        return x

    def common(self, x, dtype):  # and back
        return x

    def wait(self, out):
        pass

    def batch(self, f, sets, n):
        """Seconds a call. On a CPU the results of as many calls are kept as there are sets, as fusec's results rotate:
        a result that takes the memory of the last one would be written to the cache."""
        k = len(sets)
        kept = [None] * (k if self.where == "cpu" else 1)
        start = time.perf_counter()
        for i in range(n):
            out = kept[i % len(kept)] = f(*sets[i % k])
        self.wait(out)
        return (time.perf_counter() - start) / n

    def batch_of_events(self, f, sets, n, ms_between):
        """Seconds a call, between two events on the device."""
        k, (begin, end) = len(sets), self.events
        begin.record()
        for i in range(n):
            f(*sets[i % k])
        end.record()
        end.synchronize()
        return ms_between(begin, end) * 1e-3 / n

    def free(self):
        self.data.free()


class Torch(Peer):
    def __init__(self, where):
        super().__init__(where)
        import torch
        self.torch = torch
        self.version = torch.__version__
        torch.set_grad_enabled(False)
        torch.backends.cuda.matmul.allow_tf32 = False
        if where == "gpu":
            self.clock = "events"
            self.events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
        else:
            torch.set_num_threads(len(os.sched_getaffinity(0)))

    def own(self, x, dtype):
        if self.where == "gpu":
            return x
        t = self.torch.from_numpy(x)
        return t.to(self.torch.bfloat16) if dtype == "bf16" else t

    def common(self, x, dtype):
        return x if self.where == "gpu" else x.float().numpy() if dtype == "bf16" else x.numpy()

    def prepare(self, row):
        p = row["programs"]
        return function(p.get("eager", p["torch"]), row, torch_names(self.torch, row))

    def wait(self, out):
        if self.where == "gpu":
            self.torch.cuda.synchronize()

    def batch(self, f, sets, n):
        if self.where != "gpu":
            return super().batch(f, sets, n)
        return self.batch_of_events(f, sets, n, lambda begin, end: begin.elapsed_time(end))


class TorchCompile(Torch):
    def __init__(self, where):
        super().__init__(where)
        if where == "cpu":
            self.start_fast()

    def start_fast(self):
        """Leaves out what many processes would do one after the other: headers compiled beforehand, and a test of
        what the C++ compiler knows of the processor, for which each opens torch in one more process."""
        import torch._inductor.config as config
        import torch._inductor.cpu_vec_isa as isa
        if hasattr(config, "cpp_cache_precompile_headers"):
            config.cpp_cache_precompile_headers = False
        if hasattr(isa.VecISA, "check_build"):
            isa.VecISA.check_build = lambda self, code: True

    def prepare(self, row):
        self.torch._dynamo.reset()
        return self.torch.compile(function(row["programs"]["torch"], row, torch_names(self.torch, row)), dynamic=False)


class Jax(Peer):
    def __init__(self, where):
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
        super().__init__(where)
        if where == "cpu":
            os.environ["JAX_PLATFORMS"] = "cpu"
        import jax
        import jax.numpy as np
        self.jax, self.np = jax, np
        self.version = jax.__version__
        jax.config.update("jax_default_matmul_precision", "highest")  # of f32; the default is tf32

    def start(self, row):
        self.jax.config.update("jax_enable_x64", row["dtype"] == "f64")

    def own(self, x, dtype):
        if self.where == "gpu":
            return self.jax.dlpack.from_dlpack(x.contiguous())
        a = self.jax.device_put(x)
        return a.astype(self.np.bfloat16) if dtype == "bf16" else a

    def common(self, x, dtype):
        if self.where == "gpu":
            return self.data.torch.from_dlpack(x)
        import numpy
        return numpy.asarray(x.astype(self.np.float32) if dtype == "bf16" else x)

    def prepare(self, row):
        np = self.np
        names = {**row["numbers"], "np": np, "jax": self.jax, "erfc": self.jax.scipy.special.erfc, "f32": lambda x: x.astype(np.float32),
                 "wide": lambda x: np.promote_types(x.dtype, np.float32)}
        p = row["programs"]
        return self.jax.jit(function(p.get("jax", p["np"]), row, names))

    def wait(self, out):
        self.jax.block_until_ready(out)

    def free(self):
        self.jax.clear_caches()
        super().free()


class Cupy(Peer):
    clock = "events"

    def __init__(self, where):
        super().__init__(where)
        import cupy
        import cupyx.scipy.special
        self.cp, self.special = cupy, cupyx.scipy.special
        self.version = cupy.__version__
        self.events = [cupy.cuda.Event() for _ in range(2)]

    def own(self, x, dtype):
        if dtype == "bf16":
            raise NotHere("no bf16")
        return self.cp.from_dlpack(x)

    def common(self, x, dtype):
        return self.data.torch.from_dlpack(x)

    def prepare(self, row):
        cp = self.cp
        return function(row["programs"]["np"], row,
                        {**row["numbers"], "np": cp, "erfc": self.special.erfc, "f32": lambda x: x.astype(cp.float32)})

    def wait(self, out):
        self.cp.cuda.get_current_stream().synchronize()

    def batch(self, f, sets, n):
        return self.batch_of_events(f, sets, n, self.cp.cuda.get_elapsed_time)

    def free(self):
        self.cp.get_default_memory_pool().free_all_blocks()
        super().free()


class Numpy(Peer):
    def __init__(self, where):
        super().__init__(where)
        import numpy
        self.np = numpy
        self.version = numpy.__version__

    def own(self, x, dtype):
        if dtype == "bf16":
            raise NotHere("no bf16")
        return x

    def prepare(self, row):
        return function(row["programs"]["np"], row, numpy_names(self.np, row))


class NumpyOut(Numpy):
    """Every operation into memory that is there already."""

    def prepare(self, row):
        if not row["programs"].get("npo"):
            raise NotHere("not written")
        np, types = self.np, self.data.types
        all_o = [[aligned(np, types[t], s) for _, t, s in row["out"]] for _ in range(self.sets)]
        shape = row["out"][0][2] or row["inputs"][0][2]
        t, o, turn = [aligned(np, types[row["dtype"]], shape)], list(all_o[0]), itertools.cycle(all_o)
        f = function(row["programs"]["npo"] + "; return o", row, {**numpy_names(np, row), "o": o, "t": t})
        if self.sets == 1:
            return f

        def with_next_results(*args):
            o[:] = next(turn)
            return f(*args)
        return with_next_results


class Scipy(Numpy):
    def __init__(self, where):
        super().__init__(where)
        import scipy
        import scipy.ndimage
        self.ndimage = scipy.ndimage
        self.version = scipy.__version__

    def prepare(self, row):
        if not row["programs"].get("sp"):
            raise NotHere("not written")
        return function(row["programs"]["sp"], row, {**numpy_names(self.np, row), "ndimage": self.ndimage})


class Numexpr(Numpy):
    def __init__(self, where):
        super().__init__(where)
        import numexpr
        self.ne = numexpr
        self.version = numexpr.__version__
        numexpr.set_num_threads(len(os.sched_getaffinity(0)))

    def prepare(self, row):
        text = row["programs"].get("ne")
        if not text:
            raise NotHere("not written")
        scope = {}
        for number in ("0.044715", "0.7978845608028654", "2.5", "0.5"):  # f64 constants would widen all of it
            name = f"c{number.replace('.', '_')}"
            text = text.replace(number, name)
            scope[name] = self.np.float32(number)
        ne, names = self.ne, [k for k, *_ in row["inputs"]]

        def f(*args):
            local = dict(zip(names, args), **scope)
            if "bT" in text:
                local["bT"] = local["b"].T
            return ne.evaluate(text, local_dict=local, global_dict={})
        return f


class Numba(Numpy):
    def __init__(self, where):
        super().__init__(where)
        import numba
        self.numba = numba
        self.version = numba.__version__
        numba.set_num_threads(len(os.sched_getaffinity(0)))

    def own(self, x, dtype):
        if dtype == "f16":
            raise NotHere("no f16")
        return super().own(x, dtype)

    def prepare(self, row):
        import math
        text = row["programs"].get("nb")
        if not text:
            raise NotHere("not written")
        scope = {"np": self.np, "math": math, "prange": self.numba.prange}
        exec(text, scope)
        return self.numba.njit(parallel=True, fastmath=True)(scope["f"])


PEERS = {"torch": Torch, "compile": TorchCompile, "jax": Jax, "cupy": Cupy, "numpy": Numpy, "numpy-out": NumpyOut, "scipy": Scipy,
         "numexpr": Numexpr, "numba": Numba}


# ---- a request --------------------------------------------------------------------------------------------------


def errors(peer, row, got):
    want = peer.data.reference(row)
    if len(got) != len(want):
        return float("inf")
    if row["by"] == "moments":
        return max(abs(a - b) / moments(w)[1] for g, w in zip(got, want) for a, b in zip(moments(g), moments(w)))
    return max(peer.data.error(g, w) for g, w in zip(got, want))


def verdict(row, error, peer=True):
    most = 0 if row["out"][0][1][0] == "i" else workloads.tolerance(row, peer)
    return {"error_found": error, "right": error <= most}


SLOW, VERY_SLOW = 3e-3, 0.03  # seconds a call


def launches_of(each, rq):
    """As bench_run.c chooses them, but a slow peer is not given minutes."""
    if each > SLOW:
        return 5 if each < VERY_SLOW else 1
    return max(rq["launches"], min(int(rq["ms"] * 1e-3 / max(each, 1e-8)), 1000000))


def inputs(peer, row, sets):
    return [[peer.own(peer.data.make(t, s, d, 1000 * k + i + 1), t) for i, (_, t, s, d) in enumerate(row["inputs"])]
            for k in range(sets)]


def compile_only(peer, row):
    peer.start(row)
    f = peer.prepare(row)
    peer.wait(f(*[peer.own(peer.data.zeros(t, s), t) for _, t, s, _ in row["inputs"]]))
    return {"compiled": True}


def make_ready(peer, row, rq):
    """The program, its inputs, and the answer so far: whether the result is right."""
    peer.start(row)
    peer.sets = rq["sets"]
    f = peer.prepare(row)
    sets = inputs(peer, row, rq["sets"])
    if peer.where == "gpu":
        peer.data.torch.cuda.synchronize()
    start = time.perf_counter()
    out = f(*sets[0])
    peer.wait(out)
    first = time.perf_counter() - start
    got = [peer.common(x, t) for x, (_, t, _) in zip(results(out), row["out"])]
    answer = verdict(row, errors(peer, row, got))
    answer["first_ms"] = first * 1e3
    return f, sets, answer


def measure(peer, rq, f, sets, answer):
    peer.data.free()
    warm = time.perf_counter()
    each = peer.batch(f, sets, 1)
    while time.perf_counter() - warm < 0.03:
        each = peer.batch(f, sets, len(sets))
    n = launches_of(each, rq)
    batches = rq["batches"] if each < VERY_SLOW else 3
    times = sorted(peer.batch(f, sets, n) for _ in range(batches))
    k = len(times)
    median = times[k // 2] if k % 2 else (times[k // 2 - 1] + times[k // 2]) / 2
    answer.update(us=median * 1e6, us_spread=(times[k - 1 - k // 4] - times[k // 4]) / 2 * 1e6, us_least=times[0] * 1e6,
                  us_samples=k, launches=n, clock=peer.clock)
    return answer


def check(peer, row, directory, is_peer):
    got = [peer.data.read(os.path.join(directory, f"out{i}"), t, s) for i, (_, t, s) in enumerate(row["out"])]
    return verdict(row, errors(peer, row, got), is_peer)


class Desk:
    """Answers requests; keeps what the last one made ready."""

    def __init__(self, peer):
        self.peer, self.rows = peer, {r["name"]: r for r in workloads.WORKLOADS}
        self.ready = None

    def do(self, rq):
        row = workloads.sized(self.rows[rq["row"]], self.peer.where)
        if "check" in rq:
            return check(self.peer, row, rq["check"], rq["peer"])
        if rq.get("compile"):
            return compile_only(self.peer, row)
        ready, self.ready = self.ready, None
        if rq.get("ready"):
            self.ready = (rq["row"], make_ready(self.peer, row, rq))
            return {"ready": True}
        if not ready or ready[0] != rq["row"]:
            ready = (rq["row"], make_ready(self.peer, row, rq))
        return measure(self.peer, rq, *ready[1])

    def answer(self, rq):
        try:
            return self.do(rq)
        except NotHere as e:
            return {"absent": str(e)}
        except Exception as e:
            traceback.print_exc()
            return {"error": f"{type(e).__name__}: {e}"[:300]}


def main():
    reply = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    name, where = sys.argv[1:3]
    try:
        desk = Desk(PEERS[name](where))
    except Exception as e:
        print(json.dumps({"error": f"{type(e).__name__}: {e}"[:300]}), file=reply, flush=True)
        return 1
    print(json.dumps({"version": desk.peer.version}), file=reply, flush=True)
    for line in sys.stdin:
        out = desk.answer(json.loads(line))
        gc.collect()
        if not desk.ready:
            desk.peer.free()
        print(json.dumps(out), file=reply, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
