# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""harness.py - runs fusec and its peers side by side over the rows of workloads.py, and writes the results.

bench/gpu and bench/cpu call main(). The peers live in processes of their own (peers/serve.py) which are asked
row by row, so that all programs of a row are measured within seconds of each other. fusec is a process for each
row (bench_run), and so is the hand-written CUB version. What fails or takes too long is noted and passed over.
"""
import argparse
import datetime
import glob
import json
import os
import re
import selectors
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import report
import workloads

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
PEERS = {"gpu": ["jax", "compile", "torch", "cupy", "cub"],
         "cpu": ["numpy", "numpy-out", "scipy", "numexpr", "numba", "jax", "compile"]}
SLOW_TO_START = ["compile"]  # measured last, where time is limited
L2 = 60 << 20  # of a GPU, the largest today; sets of buffers rotate through more than this


def arguments(where):
    p = argparse.ArgumentParser(prog=f"bench/{where}", description=f"fusec and its peers on the {where.upper()}")
    p.add_argument("--quick", action="store_true", help="few repetitions: finds mistakes, no figures to keep")
    p.add_argument("--only", default="", metavar="REGEX", help="rows whose name it matches")
    p.add_argument("--peers", default=",".join(PEERS[where]), metavar="A,B", help="of " + ",".join(PEERS[where]))
    p.add_argument("--build", default=os.path.join(ROOT, "build"), metavar="DIR", help="where fusec was built (build)")
    p.add_argument("--out", default=os.path.join(HERE, "results"), metavar="DIR", help="for the result files")
    p.add_argument("--name", default="", help="of the result files; default from device and date")
    p.add_argument("--revision", default="", help="of the source, if this is not a checkout")
    p.add_argument("--note", default="", help="for the page: what a reader has to know of this run")
    p.add_argument("--python", default="", metavar="EXE", help="that has the peers' packages")
    p.add_argument("--limit", type=float, default=60, metavar="S", help="for one row of one peer (60)")
    p.add_argument("--first-limit", type=float, default=180, metavar="S",
                   help="for the first row of a peer, as compilers are opened and headers are compiled (180)")
    p.add_argument("--stop-after", type=float, default=0, metavar="S", help="begin no row after so many seconds")
    p.add_argument("--merge", action="append", default=[], metavar="FILE", help="rows of an earlier part of the run")
    p.add_argument("--add", action="store_true",
                   help="measure only the peers, and add them to rows that --merge brought")
    p.add_argument("--together", action="store_true",
                   help="peers make a row ready side by side, which is shorter; what first calls take says less then")
    if where == "cpu":
        p.add_argument("--compile-first", type=float, default=0, metavar="S",
                       help="torch.compile's programs are compiled beforehand, side by side, for so many seconds")
    p.add_argument("--no-overheads", action="store_true", help="leave calls and first results out")
    p.add_argument("--threads", default="", metavar="N,M", help="of the CPU runs; default: one, and all")
    p.set_defaults(compile_first=0)
    if where == "gpu":
        p.add_argument("--device", default="cuda", choices=["cuda", "cpu"],
                       help="cpu: a rehearsal of this command without a GPU, at the CPU's sizes")
    a = p.parse_args()
    a.where = "cpu" if where == "cpu" or a.device == "cpu" else "gpu"
    a.rehearsal = where == "gpu" and a.where == "cpu"
    a.peers = [x for x in a.peers.split(",") if x]
    a.command = f"bench/{where} " + " ".join(without_places(sys.argv[1:]))
    return a


def without_places(words):
    """What a reader needs to run it again: not where things lie on this machine."""
    out, skip = [], False
    places = ("--build", "--out", "--python", "--merge", "--revision", "--name", "--note")
    for w in words:
        if not skip and w not in places:
            out.append(shlex.quote(w))
        skip = w in places
    return out


# ---- a peer's process ---------------------------------------------------------------------------------------------


class Server:
    def __init__(self, name, a, cpus, log, scratch=None):
        self.name, self.a, self.cpus, self.log = name, a, cpus, log
        self.scratch = a.scratch if scratch is None else scratch  # where the processes of a row share its data
        self.process = None
        self.version = ""
        self.answered, self.late = False, 0
        self.start()

    def start(self):
        # a program for one number of threads must not be found by a process with another
        kernels = os.path.join(self.a.kernels, str(len(self.cpus)))
        env = dict(os.environ, XLA_PYTHON_CLIENT_PREALLOCATE="false", PYTHONDONTWRITEBYTECODE="1",
                   FUSEC_BENCH_SCRATCH=self.scratch, TORCHINDUCTOR_CACHE_DIR=kernels, TF_CPP_MIN_LOG_LEVEL="2")
        if self.a.where == "cpu":  # more of them would be processes that start for seconds
            env.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
        before = lambda: os.sched_setaffinity(0, self.cpus)  # noqa: E731
        self.process = subprocess.Popen(
            [self.a.python, os.path.join(HERE, "peers", "serve.py"), self.name.split("@")[0], self.a.where],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, env=env, preexec_fn=before)
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.process.stdout, selectors.EVENT_READ)
        self.hello = None
        self.rest = b""

    def line(self, limit):
        """The next line of the peer as an object; None: it ended or took too long."""
        end = time.time() + limit
        while b"\n" not in self.rest:
            if not self.selector.select(max(0, end - time.time())):
                return {"error": f"no answer within {limit:.0f} s"}
            part = os.read(self.process.stdout.fileno(), 1 << 16)
            if not part:
                return {"error": f"the process ended with {self.process.wait()}"}
            self.rest += part
        text, self.rest = self.rest.split(b"\n", 1)
        return json.loads(text)

    def greet(self):
        """Waits until the peer has opened its packages: that keeps many cores busy."""
        if self.process is not None and self.hello is None:
            self.hello = self.line(240)
            self.version = self.hello.get("version", self.version)

    def ask(self, request, limit):
        """The answer, or {"error": ...}."""
        refusal = self.send(request)
        return refusal or self.receive(limit)

    def send(self, request):
        """None, or {"error": ...}. Who is late twice in a row is not asked again."""
        if self.late == 2:
            return {"error": "late twice, not asked again"}
        if self.process is None:
            self.start()
        self.greet()
        if "error" in self.hello:
            return {"error": "cannot start: " + self.hello["error"]}
        try:
            self.process.stdin.write((json.dumps(request) + "\n").encode())
            self.process.stdin.flush()
        except OSError:
            pass
        return None

    def receive(self, limit):
        """The answer to what was sent."""
        out = self.line(limit if self.answered else max(limit, self.a.first_limit))
        gone = "no answer" in out.get("error", "") or "ended" in out.get("error", "")
        self.late = self.late + 1 if "no answer" in out.get("error", "") else 0
        self.answered = self.answered or not gone
        if gone:
            self.stop()
        return out

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None


# ---- fusec and CUB: a process for each row ---------------------------------------------------------------------------


def run_json(command, limit, log, cpus=None):
    try:
        before = (lambda: os.sched_setaffinity(0, cpus)) if cpus else None
        p = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=limit, preexec_fn=before)
    except subprocess.TimeoutExpired:
        return {"error": f"no answer within {limit:.0f} s"}
    except OSError as e:
        return {"error": str(e)}
    log.write(p.stderr)
    if p.returncode:
        tail = p.stderr.decode(errors="replace").strip().splitlines()
        return {"error": (tail[-1] if tail else f"exit code {p.returncode}")[:300]}
    return json.loads(p.stdout.decode().strip().splitlines()[-1])


def input_words(row):
    return [w for k, t, s, d in row["inputs"] for w in ("--input", f"{k}:{t}:{'x'.join(map(str, s))}:{d}")]


def timing_words(rq):
    return ["--batches", str(rq["batches"]), "--launches", str(rq["launches"]), "--ms", str(rq["ms"]), "--sets", str(rq["sets"])]


def run_fusec(a, row, mode, rq, threads, cpus, log):
    text = os.path.join(a.scratch, "program.fuse")
    with open(text, "w") as f:
        f.write(workloads.fusec_text(row["row"], a.where))
    cmd = [os.path.join(a.build, "bin", "bench", "bench_run"), "--program", text, "--device",
           "cuda" if a.where == "gpu" else "cpu", "--mode", mode, "--bytes", str(row["bytes"]), "--save", a.scratch]
    if a.where == "cpu":
        cmd += ["--threads", str(threads)]
    return run_json(cmd + timing_words(rq) + input_words(row), a.limit, log, cpus)


def build_cub(a, log):
    """nvcc's program, made once in the build folder."""
    source, exe = os.path.join(HERE, "peers", "cub.cu"), os.path.join(a.build, "bin", "bench", "bench_cub")
    if os.path.exists(exe) and os.path.getmtime(exe) >= os.path.getmtime(source):
        return exe
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    if not os.path.exists(nvcc) or a.where != "gpu":
        return None
    r = subprocess.run([nvcc, "-O3", "-std=c++17", "-arch=native", "--extended-lambda", "-o", exe, source], stderr=log)
    return None if r.returncode else exe


def run_cub(a, exe, row, rq, log):
    kind = row["programs"].get("cub")
    if not kind:
        return {"absent": "not written"}
    if not exe:
        return {"error": "not built: no nvcc"}
    return run_json([exe, "--kind", kind, "--save", a.scratch] + timing_words(rq) + input_words(row), a.limit, log)


def last_cache():
    """Bytes of the largest cache of the CPU."""
    sizes = [8 << 20]
    for path in glob.glob("/sys/devices/system/cpu/cpu0/cache/index*/size"):
        with open(path) as f:
            text = f.read().strip()
        sizes.append(int(text[:-1]) << {"K": 10, "M": 20}.get(text[-1], 0))
    return max(sizes)


# ---- a row -----------------------------------------------------------------------------------------------------------


def request(a, row):
    """How it is timed. Buffers rotate through four times the cache, small ones through at most 64 sets."""
    if a.where == "gpu":
        sets = max(3, min(64, -(-4 * L2 // row["bytes"])))
        if len(row["inputs"]) > 8:
            sets = 3
    else:
        # what is smaller than the cache is meant to be in it; the rest has to come from memory
        sets = max(3, min(16, -(-2 * a.cache // row["bytes"]))) if row["bytes"] > a.cache // 16 else 1
    quick = {"batches": 3, "launches": 3 if a.where == "cpu" else 10, "ms": 2}
    full = {"batches": 7, "launches": 20, "ms": 20} if a.where == "gpu" else {"batches": 5, "launches": 3, "ms": 20}
    return dict(quick if a.quick else full, sets=sets)


def checked(checker, row, answer, a, peer=False):
    if "us" in answer:
        answer.update(checker.ask({"check": a.scratch, "row": row["name"], "peer": peer}, a.limit))
        if "right" not in answer:
            answer["right"] = False
    return answer


def places(a, threads, names):
    """The processors of each peer. Peers with few threads that make ready side by side have their own."""
    every = sorted(os.sched_getaffinity(0))
    apart = a.together and threads * len(names) < len(every)
    first = [threads * (i + 1) if apart else 0 for i in range(len(names))]  # fusec has the first ones
    return {n: set(every[at:at + threads]) for n, at in zip(names, first)}


def make_ready(a, row, rq, servers):
    """All peers at once compile, make their inputs and check a first result, if there are processors for it and that
    is wanted. Answers that are final already."""
    if not a.together or len(set().union(*[s.cpus for s in servers.values()])) < len(servers):
        return {}
    done, sent = {}, []
    for name, s in servers.items():
        refusal = s.send(dict(rq, row=row["name"], ready=True))
        if refusal:
            done[name] = refusal
        else:
            sent.append(name)
    for name in sent:
        out = servers[name].receive(a.limit)
        if "ready" not in out:
            done[name] = out
    return done


def compile_first(a, counts, everything, log, rows):
    """Fills the folder in which torch.compile keeps its programs, one process for each processor."""
    queue = [(n, r) for n in counts for r in rows]
    end = time.time() + a.compile_first

    def take_turns(cpu):
        servers = {}
        while queue and time.time() < end:
            n, row = queue.pop(0)
            if n not in servers:  # the programs depend on the number of threads
                place = {cpu} if n == 1 else set(sorted(everything)[:n])
                servers[n] = Server("compile", a, place, log, scratch="")
            servers[n].answered = True  # the end is the end
            if not servers[n].send({"row": row["name"], "compile": True}):
                servers[n].receive(max(0.1, end - time.time()))
        for s in servers.values():
            s.stop()

    workers = [threading.Thread(target=take_turns, args=(cpu,)) for cpu in sorted(everything)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    print(f"torch.compile: {len(queue)} programs left to compile", flush=True)


def measure_peers(a, row, rq, servers, checker, cub, log, failed):
    peers = {}
    for name in a.peers:
        if name == "cub":
            peers[name] = checked(checker, row, run_cub(a, cub, row, rq, log), a, peer=True)
        else:
            peers[name] = failed.get(name) or servers[name].ask(dict(rq, row=row["name"]), a.limit)
    return peers


def measure_row(a, base, threads, cpus, servers, checker, cub, log, done):
    """Adds to `done`, or to what is there; the rows concerned."""
    row = workloads.sized(base, a.where)
    row["row"] = base
    rq = request(a, row)
    at = [time.time()]
    results, failed = [], make_ready(a, row, rq, servers)
    at.append(time.time())
    if a.add:
        results = [r for r in done if (r["workload"], r["threads"]) == (row["name"], threads)]
    else:
        for mode in workloads.modes(base):
            fusec = checked(checker, row, run_fusec(a, row, mode, rq, threads, cpus, log), a)
            results.append({"workload": row["name"], "class": row["class"], "mode": mode, "threads": threads,
                            "bytes": row["bytes"], "read_only": row["read_only"], "target": row["target"],
                            "fusec": fusec, "peers": {}})
        done += results
    at.append(time.time())
    peers = measure_peers(a, row, rq, servers, checker, cub, log, failed)
    at.append(time.time())
    log.write("{}: {:.1f} s to make peers ready, {:.1f} fusec, {:.1f} peers\n".format(
        row["name"], *[y - x for x, y in zip(at, at[1:])]).encode())
    for r in results:
        r["peers"].update(peers)
    for path in glob.glob(os.path.join(a.scratch, "shared-*")) + glob.glob(os.path.join(a.scratch, "out*")):
        os.remove(path)
    return results


def measure_rows(a, threads, cpus, log, done, rows):
    names = [n for n in a.peers if n != "cub"]
    servers = {n: Server(n, a, place, log) for n, place in places(a, threads, names).items()}
    own = next((servers[n] for n in (("torch",) if a.where == "gpu" else ("numpy",)) if n in servers), None)
    checker = own or Server("torch" if a.where == "gpu" else "numpy", a, cpus, log)
    cub = build_cub(a, log) if "cub" in a.peers else None
    try:
        for s in [*servers.values(), checker]:
            s.greet()
        for base in rows:
            if a.stop_after and time.time() - a.began > a.stop_after:
                print(f"no time for {base['name']} and what follows", file=sys.stderr)
                break
            start = time.time()
            for r in measure_row(a, base, threads, cpus, servers, checker, cub, log, done):
                print(report.line(r) + f"   [{time.time() - start:.1f} s]", flush=True)
            write(a, done, partial=True)
    finally:
        for s in list(servers.values()) + [checker]:
            if s.version:
                a.versions[s.name] = s.version
            s.stop()


# ---- what was measured where -------------------------------------------------------------------------------------------


def first_line(command):
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=30).stdout.strip().split("\n")[0]
    except (OSError, subprocess.TimeoutExpired):
        return ""


def about(a):
    with open("/proc/cpuinfo") as f:
        cpu = next((s.split(":", 1)[1].strip() for s in f if s.startswith("model name")), "")
    out = {"command": a.command.strip(), "note": a.note, "date": datetime.date.today().isoformat(), "cpu": cpu, "cpus": len(os.sched_getaffinity(0)),
           "together": a.together,
           "fusec": first_line([os.path.join(a.build, "bin", "fusec"), "--version"]) + " at " + (
               a.revision or first_line(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"]) or "an unknown revision")}
    if a.where == "gpu":
        out["gpu"] = first_line(["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"])
        out["nvcc"] = first_line(["sh", "-c", "nvcc --version | grep release"])
    return out


def slug(a, where):
    device = where.get("gpu", "").split(",")[0] if a.where == "gpu" else where["cpu"]
    device = re.sub(r"[^a-z0-9]+", "-", device.lower().replace("(r)", "").replace("(tm)", "")).strip("-") or "unknown"
    kind = "rehearsal" if a.rehearsal else a.where
    return a.name or f"{kind}-{device}-{where['date']}"


def write(a, done, partial=False, overheads=None):
    order = {r["name"]: i for i, r in enumerate(workloads.WORKLOADS)}
    done = sorted(done, key=lambda r: (r["threads"], order.get(r["workload"], len(order)), r["mode"]))
    a.about["versions"] = a.versions
    whole = {"about": a.about, "rows": done, "overheads": overheads or a.overheads}
    os.makedirs(a.out, exist_ok=True)
    path = os.path.join(a.out, slug(a, a.about))
    with open(path + ".json", "w") as f:
        json.dump(whole, f, indent=1)
    with open(path + ".md", "w") as f:
        f.write(report.page(whole))
    if not partial:
        with open(path + ".svg", "w") as f:
            f.write(report.picture(whole))
        print(f"{path}.json .md .svg")


def measure_overheads(a, log):
    exe = os.path.join(a.build, "bin", "bench", "bench_overhead")
    device = "cuda" if a.where == "gpu" else "cpu"
    out = {}
    cache = tempfile.mkdtemp(dir=a.scratch)
    for what in ("calls", "plan", "lazy", "build", "new", "ten"):
        out[what] = run_json([exe, what, "--device", device], a.limit, log)
    for name in ("first_cold", "first_warm"):
        start = time.monotonic()
        first = run_json([exe, "first", "--device", device, "--cache", cache], a.limit, log)
        first["process_ms"] = 1e3 * (time.monotonic() - start)
        if "result_at" in first:
            first["start_to_result_ms"] = 1e3 * (first.pop("result_at") - start)
        out[name] = first
    for _ in range(2):  # the first run fills the cache
        out["new_warm"] = run_json([exe, "new", "--device", device, "--cache", cache], a.limit, log)
    return out


def measure_peer_overheads(a, log, write_down):
    """Of each peer, into a.overheads["peers"]. After the rows, so that the peers' files are in memory."""
    out = a.overheads.setdefault("peers", {})
    for peer in sorted(a.peers, key=SLOW_TO_START.__contains__):
        if peer in ("cub", "numpy-out"):  # nothing of their own around the kernels
            continue
        if a.stop_after and time.time() - a.began > a.stop_after:
            print(f"no time for the overheads of {peer}", file=sys.stderr)
            break
        start = time.time()
        out[peer] = peer_overheads(a, peer, log)
        if "version" in out[peer]:
            a.versions[peer] = out[peer]["version"]
        print(f"overheads of {peer}: " + ", ".join(
            f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}" for k, v in out[peer].items())
            + f"   [{time.time() - start:.1f} s]", flush=True)
        write_down()


def peer_overheads(a, peer, log):
    """Two processes: one with an empty folder for what the peer keeps, and one that finds what that left, and is then
    asked for all the rest."""
    keep = tempfile.mkdtemp(dir=a.scratch)
    cold = peer_process(a, peer, "first", keep, log)
    warm = peer_process(a, peer, "all", keep, log) if "first_ms" in cold else {}
    out = {k: v for k, v in warm.items() if k not in ("imports_ms", "first_ms", "error")}
    for kind, one in (("cold", cold), ("warm", warm)):
        out.update({f"{k[:-3]}_{kind}_ms": one[k] for k in ("imports_ms", "first_ms") if k in one})
    errors = [one["error"] for one in (cold, warm) if "error" in one]
    return dict(out, error=errors[0]) if errors else out


def peer_process(a, peer, what, keep, log):
    env = dict(os.environ, XLA_PYTHON_CLIENT_PREALLOCATE="false", PYTHONDONTWRITEBYTECODE="1", TF_CPP_MIN_LOG_LEVEL="2",
               FUSEC_BENCH_KEEP=keep, TORCHINDUCTOR_CACHE_DIR=keep, TRITON_CACHE_DIR=os.path.join(keep, "triton"),
               CUPY_CACHE_DIR=keep, NUMBA_CACHE_DIR=keep, CUDA_CACHE_PATH=os.path.join(keep, "driver"))
    start = time.monotonic()
    try:
        p = subprocess.Popen([a.python, os.path.join(HERE, "peers", "overheads.py"), peer, a.where, what],
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, env=env, start_new_session=True)
    except OSError as e:
        return {"error": str(e)}
    error = ""
    try:
        text, _ = p.communicate(timeout=a.limit)
    except subprocess.TimeoutExpired:
        error = f"no answer within {a.limit:.0f} s"
    try:
        os.killpg(p.pid, signal.SIGKILL)  # compilers that the peer has started
    except ProcessLookupError:
        pass
    if error:
        text, _ = p.communicate()
    lines = text.decode().strip().splitlines()
    if not lines:
        return {"error": error or f"the process ended with {p.returncode}"}
    out = json.loads(lines[-1])
    imported = out.pop("imported_at")
    out.update(imports_ms=1e3 * (imported - start), first_ms=1e3 * (out.pop("result_at") - imported))
    if not out.pop("right"):
        error = "the result is wrong"
    elif p.returncode and not error:
        error = f"the process ended with {p.returncode}"
    return dict(out, error=error) if error else out


def python_with(packages):
    """The first Python that has them, or else NumPy, without which no result can be checked."""
    known = (sys.executable, os.path.join(ROOT, "build", "bench-python", "bin", "python"), "python3")
    for wanted in (packages, "numpy"):
        for exe in filter(shutil.which, known):
            if subprocess.run([exe, "-c", "import " + wanted], capture_output=True).returncode == 0:
                return exe
    sys.exit("no Python here has NumPy: bench/peers/install makes one that has the peers, too, "
             "in build/bench-python; --python EXE names another")


def merged(a, rows, counts):
    """The rows of the files of --merge but those that are measured again; the rest of the files goes to `a`."""
    def key(name, threads):
        return name, threads if a.where == "cpu" else 0
    again = {key(r["name"], n) for r in rows for n in counts}
    done = []
    for path in a.merge:
        with open(path) as f:
            old = json.load(f)
        done += [r for r in old["rows"] if a.add or key(r["workload"], r["threads"]) not in again]
        a.overheads.update(old["overheads"])
        a.versions.update(old["about"]["versions"])
        a.about["together"] |= old["about"].get("together", False)
        a.about["command"] = old["about"]["command"] + "; " + a.about["command"]
    return done


def measure_all(a, rows, counts, cpus, log):
    """`counts`: the numbers of threads; each takes the first of `cpus`."""
    done = merged(a, rows, counts)
    try:
        if a.compile_first and "compile" in a.peers:
            compile_first(a, counts, cpus, log, rows)
        if not a.no_overheads:
            a.overheads = measure_overheads(a, log)
        for n in counts if rows else []:
            measure_rows(a, n, set(sorted(cpus)[:n]), log, done, rows)
        if not a.no_overheads:
            measure_peer_overheads(a, log, lambda: write(a, done, partial=True))
    finally:
        write(a, done)


def main(where):
    a = arguments(where)
    cpus = os.sched_getaffinity(0)
    a.scratch = tempfile.mkdtemp(prefix="fusec-bench-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
    a.kernels = tempfile.mkdtemp(dir=a.scratch)  # what torch.compile keeps: empty at first, in every run
    a.build = os.path.abspath(a.build)
    a.python = a.python or python_with("numpy, torch" if a.where == "gpu" else "numpy, scipy")
    a.cache = last_cache()
    a.began, a.versions, a.overheads = time.time(), {}, {}
    a.about = about(a)
    rows = [r for r in workloads.WORKLOADS if r["sizes"][a.where] and re.search(a.only, r["name"])]
    default = {len(cpus)} if a.where == "gpu" else {1, len(cpus)}
    counts = [int(t) or len(cpus) for t in a.threads.split(",") if t] or sorted(default)
    os.makedirs(a.out, exist_ok=True)
    try:
        with open(os.path.join(a.out, slug(a, a.about) + ".log"), "wb", buffering=0) as log:
            measure_all(a, rows, counts, cpus, log)
    finally:
        shutil.rmtree(a.scratch, ignore_errors=True)
    return 0
