# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""report.py - results as lines, a Markdown page and an SVG picture. No dependencies.

    python3 bench/report.py RESULT.json          writes RESULT.md and RESULT.svg again

fraction: floor / time, where the floor is the time in which a plain copy moved as many bytes in the same run.
"""
import json
import math
import sys


# ---- what follows from a row's numbers ----------------------------------------------------------------------------


def copy_us(f):
    """The best of the copies of a run."""
    return min((f[k] for k in ("copy_us", "copy_past_us") if f.get(k)), default=None)


def floor_us(r):
    """A row that almost only reads is compared, on a CPU, with reading; on a GPU with the copy, as all others."""
    f = r["fusec"]
    if f.get("read_us") and r["read_only"]:
        return f["read_us"]
    return copy_us(f)


def fraction(r):
    us, floor = r["fusec"].get("us"), floor_us(r)
    return floor / us if us and floor and r["fusec"].get("right") else None


def best_peer(r):
    """(name, microseconds) of the fastest whose result was right."""
    good = [(p["us"], n) for n, p in r["peers"].items() if p.get("us") and p.get("right")]
    return min(good)[::-1] if good else (None, None)


def lead(r):
    name, us = best_peer(r)
    return us / r["fusec"]["us"] if us and r["fusec"].get("us") and r["fusec"].get("right") else None


def needed_lead(r, on_gpu):
    return 0.97 if on_gpu else 1.0


def reached(r, on_gpu):
    """True, False, or None when there is nothing to compare with."""
    parts = []
    if r["target"]:
        parts.append(fraction(r) is not None and fraction(r) >= r["target"] - 0.005)
    if best_peer(r)[0] or not r["fusec"].get("right"):
        parts.append(lead(r) is not None and lead(r) >= needed_lead(r, on_gpu))
    return all(parts) if parts else None


def mean(values):
    values = [v for v in values if v]
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def label(r):
    return r["workload"] + (" wide16" if r["mode"] == "wide16" else "")


def number(v):
    if v is None:
        return ""
    return f"{v:.3f}" if v < 1 else f"{v:.2f}" if v < 10 else f"{v:.1f}"


def cell(p):
    if not p:
        return ""
    if "us" not in p:
        return "failed" if "error" in p else "–"
    return number(p["us"]) + ("" if p.get("right") else " wrong")


def line(r):
    f, (name, us) = r["fusec"], best_peer(r)
    if "us" not in f:
        return f"{label(r):32} fusec failed: {f.get('error', '')[:200]}"
    return (f"{label(r):32} {number(f['us']):>9} us  floor {number(floor_us(r)):>9}  fraction {number(fraction(r)):>6}"
            f"  best {name or 'none':9} {number(us):>9}  lead {number(lead(r)):>6}"
            f"{'' if f.get('right') else '  WRONG ' + str(f.get('error_found'))}"
            + "".join(f"  {n}: {p.get('error', 'wrong')[:60]}" for n, p in r["peers"].items()
                      if "error" in p or p.get("right") is False))


# ---- the page -------------------------------------------------------------------------------------------------------


def table(rows, on_gpu):
    peers = list(dict.fromkeys(n for r in rows for n in r["peers"]))
    head = ["workload", "floor", "fusec", "±"] + peers + ["fraction", "of", "best peer", "lead", ""]
    out = ["| " + " | ".join(head) + " |", "|---|" + "--:|" * (len(head) - 2) + "---|"]
    for r in rows:
        f, (name, _), ok = r["fusec"], best_peer(r), reached(r, on_gpu)
        out.append("| " + " | ".join(
            [label(r), number(floor_us(r)), cell(f), number(f.get("us_spread"))] + [cell(r["peers"].get(n)) for n in peers]
            + [number(fraction(r)), number(r["target"]), name or "", number(lead(r)),
               {True: "yes", False: "**no**", None: ""}[ok]]) + " |")
    return out


def summary(rows, on_gpu, o):
    leads, more = [v for v in map(lead, rows) if v], leads_around(o)
    out = []
    if leads:
        out.append(f"Geometric mean of the lead over the best peer: **{mean(leads):.2f}** over {len(leads)} rows; "
                   f"least {min(leads):.2f}.")
    if leads and more:
        out.append(f"With the rows of the [overheads](#overheads), another mean: {mean(leads + more):.2f} over {len(leads + more)} rows.")
    missed = [label(r) for r in rows if reached(r, on_gpu) is False]
    out.append(f"Rows that miss what they should reach: {len(missed)}" + (": " + ", ".join(missed) + "." if missed else "."))
    return out


NEAR = 1 << 20  # bytes that are in the caches of one core


def near(rows):
    """What is in the cache, next to NumPy's own operations into memory that is there."""
    leads = [(r["peers"]["numpy-out"]["us"] / r["fusec"]["us"], label(r)) for r in rows if r["bytes"] <= NEAR
             and r["fusec"].get("right") and r["peers"].get("numpy-out", {}).get("us")]
    if not leads:
        return []
    return [f"Up to 1 MiB, next to NumPy with out=: {mean([v for v, _ in leads]):.2f} over {len(leads)} rows; "
            f"least {number(min(leads)[0])} ({min(leads)[1]})."]


def a_number(rows):
    """exp(sin(x)*cos(x)): nanoseconds of a thread for one number; a number is read and written, 8 bytes."""
    ns = [(r["fusec"]["us"] * 1e3 * r["threads"] / (r["bytes"] / 8), label(r)) for r in rows
          if "expsincos" in r["workload"] and r["fusec"].get("right") and r["bytes"] >= 1 << 17]
    if not ns:
        return []
    return ["exp(sin x * cos x), ns a number and thread: " + ", ".join(f"{number(v)} ({n})" for v, n in ns) + "."]


def middle(values):
    values = sorted(values)
    k = len(values)
    return (values[(k - 1) // 2] + values[k // 2]) / 2 if k else None


def first_calls(rows, together):
    """What the first call takes, compiling included, in milliseconds."""
    peers = list(dict.fromkeys(n for r in rows for n in r["peers"]))
    columns = [("fusec", [r["fusec"] for r in rows])] + [(n, [r["peers"].get(n, {}) for r in rows]) for n in peers]
    columns = [(n, [f["first_ms"] for f in fs if f.get("first_ms")]) for n, fs in columns]
    columns = [(n, v) for n, v in columns if v]
    return ["", "The first call of a program in a process that has compiled before (of fusec: that has opened the compiler for"
            " the data), with planning and compiling, in milliseconds"
            + (" (the peers' while the others did the same)" if together else "") + ":", "",
            "| | " + " | ".join(n for n, _ in columns) + " |", "|---|" + "--:|" * len(columns),
            "| median | " + " | ".join(number(middle(v)) for _, v in columns) + " |",
            "| largest | " + " | ".join(number(max(v)) for _, v in columns) + " |"] if columns else []


def failures(rows):
    out = []
    for r in rows:
        for n, p in [("fusec", r["fusec"])] + list(r["peers"].items()):
            if "error" in p:
                out.append(f"- {label(r)}, {n}: {p['error']}".replace("\n", " "))
            elif p.get("right") is False:
                out.append(f"- {label(r)}, {n}: differs from float64 by {p.get('error_found')}")
    return ["", "## What failed", ""] + out if out else []


# What is compared around the kernels: label, unit, what of fusec's numbers is added up, what of a peer's, and which peers
# count: all, those that compile something for an expression of operations they have, or none.
AROUND = [
    ("first result, from the start of a process", "ms", ["first_cold.start_to_result_ms"], ["imports_cold_ms", "first_cold_ms"], "all"),
    ("the same, code kept on disk", "ms", ["first_warm.start_to_result_ms"], ["imports_warm_ms", "first_warm_ms"], "all"),
    ("first result, imports done", "ms", ["first_cold.open_device_ms", "first_cold.result_ms"], ["first_cold_ms"], "compilers"),
    ("the same, code kept on disk", "ms", ["first_warm.open_device_ms", "first_warm.result_ms"], ["first_warm_ms"], "compilers"),
    ("a new map in a warm process", "ms", ["new.new_map_ms"], ["new_map_ms"], "compilers"),
    ("a new softmax in a warm process", "ms", ["new.new_softmax_ms"], ["new_softmax_ms"], "compilers"),
    ("a call, on the host", "us", ["calls.one_kernel_us"], ["call_us"], "all"),
    ("a call and its result", "us", ["calls.one_kernel_and_wait_us"], ["call_and_wait_us"], "all"),
    ("100 operations given one by one, seen before", "us", ["lazy.100_nodes_us"], ["known_100_us"], "all"),
    ("building, for each node", "ns", ["build.ns_a_node"], ["build_ns"], "none"),
    ("planning 1,000 nodes", "ms", ["plan.plan_1000_nodes_ms"], [], "none"),
]


def added(numbers, keys):
    """The sum of what `keys` name ("part.key" or "key"); None if one is not there."""
    found = []
    for key in keys:
        at = numbers
        for part in key.split("."):
            at = at.get(part, {}) if isinstance(at, dict) else {}
        found.append(at)
    return sum(found) if found and all(isinstance(v, (int, float)) for v in found) else None


def around(o):
    """(label, unit, fusec, {peer: (value, does it count)}, does the row count) of each row that is there."""
    out = []
    for what, unit, mine, theirs, who in AROUND:
        peers = {n: (added(p, theirs), who != "compilers" or p.get("compiles", False)) for n, p in o.get("peers", {}).items()}
        peers = {n: v for n, v in peers.items() if v[0] is not None}
        if added(o, mine) is not None:
            out.append((what, unit, added(o, mine), peers, who != "none"))
    return out


def best_around(peers, everybody=False):
    return min(((v, n) for n, (v, counts) in peers.items() if counts or everybody), default=None)


def leads_around(o, everybody=False):
    """The lead in each row of around() where peers count."""
    best = [(mine, best_around(peers, everybody)) for _, _, mine, peers, counts in around(o) if counts]
    return [b[0] / mine for mine, b in best if b and mine]


def beside(o):
    """The rows of around() as a table."""
    names = list(o.get("peers", {}))
    if not leads_around(o):
        return []
    out = ["| | | fusec | " + " | ".join(names) + " | best peer | lead |", "|---|---|" + "--:|" * (len(names) + 1) + "---|--:|"]
    for what, unit, mine, peers, counts in around(o):
        best = best_around(peers) if counts else None
        cells = [number(peers[n][0]) if n in peers else "–" for n in names]
        cells = [c if n not in peers or peers[n][1] else f"({c})" for n, c in zip(names, cells)]
        out.append("| " + " | ".join([what, unit, number(mine)] + cells
                                     + ([best[1], number(best[0] / mine)] if best else ["", ""])) + " |")
    counted, everybody = leads_around(o), leads_around(o, everybody=True)
    failed = [f"- overheads of {n}: {p['error']}" for n, p in o["peers"].items() if "error" in p]
    return ["sin(x*2 + 1) of 1024 numbers, softmax of 64 x 1024. The peers are Python: their start and imports are in the first two"
            " rows only, which for fusec begin with the start of a C program. (In brackets): compiles nothing for operations"
            " that it has, and pays for each of them at each call; does not count in that row. The last two rows count for"
            " nothing: a peer's graph is built by Python. –: the peer does not have it.", "",
            f"Geometric mean of the lead over the best peer of each row: **{mean(counted):.2f}** over {len(counted)} rows;"
            f" {mean(everybody):.2f} if those in brackets count.", ""] + out + ([""] + failed if failed else [])


def overheads(o):
    if not o:
        return []
    out = ["", "## Overheads", ""] + beside(o)
    if o.get("peers"):
        out += ["", "All that was measured of fusec:", ""]
    out += ["| | |", "|---|--:|"]
    for what, values in o.items():
        if what == "peers":
            continue
        if "error" in values:
            out.append(f"| {what} | failed: {values['error']} |")
        for k, v in values.items():
            if isinstance(v, (int, float)) and not k.endswith(("_spread", "_samples", "_least")):
                out.append(f"| {what}: {k} | {number(v)} |")
    return out


def parts(whole):
    """[(threads, rows)] that are compared with each other; on a GPU the host's threads make no difference."""
    rows = whole["rows"]
    if "gpu" in whole["about"]:
        return [(None, rows)]
    return [(n, [r for r in rows if r["threads"] == n]) for n in sorted({r["threads"] for r in rows})]


def page(whole):
    a, rows = whole["about"], whole["rows"]
    on_gpu = "gpu" in a
    out = [f"# fusec and its peers on {a['gpu'] if on_gpu else a['cpu']}", "", f"Command: `{a['command']}`, {a['date']}",
           f"on {a['cpu']}, {a['cpus']} threads; {a['fusec']}; "
           + ", ".join(f"{k} {v}" for k, v in sorted(a.get("versions", {}).items())) + ".", "",
           "Times in microseconds, median of batches; ± is half the distance of their quartiles. floor: a plain copy of as"
           " many bytes in the same process" + ("" if on_gpu else ", the better of a plain and a non-temporal one; for rows"
           " that almost only read, a read") + ". fraction = floor / fusec, of: what it is to reach. lead = best peer / fusec. The last"
           f" column: the fraction is reached and the lead is at least {'0.97' if on_gpu else '1'}. –: the peer has no such program.",
           "Method: [README](../README.md)."] + (["", a["note"]] if a.get("note") else [])
    groups = parts(whole)
    for threads, part in groups:
        out += ["", "## Workloads" if on_gpu else f"## {threads} thread{'s' * (threads > 1)}", ""]
        last = threads == groups[-1][0]  # overheads are measured with all threads
        out += summary(part, on_gpu, whole.get("overheads") or {} if last else {})
        out += [] if on_gpu else near(part) + a_number(part)
        out += [""] + table(part, on_gpu) + first_calls(part, a.get("together"))
    return "\n".join(out + overheads(whole.get("overheads")) + failures(rows)) + "\n"


# ---- the picture ------------------------------------------------------------------------------------------------------


def picture(whole):
    """A line for each workload on a scale of fractions of the floor: fusec a disc, the best peer a ring, a tick
    where it is to be."""
    rows = parts(whole)[-1][1] if whole["rows"] else []
    rows = [r for r in rows if fraction(r) and r["class"] not in ("small", "sweep")]
    left, width, step, top = 250, 560, 17, 64
    height = top + step * len(rows) + 34
    x = lambda v: left + width * min(v, 1.2) / 1.2  # noqa: E731
    peers = dict.fromkeys(n for r in rows for n in r["peers"])
    device = whole["about"].get("gpu", whole["about"]["cpu"]).split(",")[0]
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 60}" height="{height}" '
           'font-family="sans-serif" font-size="12">',
           '<rect width="100%" height="100%" fill="#fff"/>',
           f'<text x="12" y="22" font-size="15" fill="#111">Share of what a plain copy of the same bytes reaches, {device}</text>',
           f'<circle cx="{left}" cy="42" r="5" fill="#0b6e4f"/><text x="{left + 10}" y="46" fill="#111">fusec</text>',
           f'<circle cx="{left + 70}" cy="42" r="4" fill="#fff" stroke="#c2410c" stroke-width="2"/>'
           f'<text x="{left + 80}" y="46" fill="#111">best of {", ".join(peers)}</text>',
           f'<line x1="{left + 380}" y1="36" x2="{left + 380}" y2="48" stroke="#111"/>'
           f'<text x="{left + 387}" y="46" fill="#111">to be reached</text>']
    bottom = top + step * len(rows)
    for k in range(0, 7):
        v = k * 0.2
        strong = k == 5
        out.append(f'<line x1="{x(v):.1f}" y1="{top - 8}" x2="{x(v):.1f}" y2="{bottom}" stroke="{"#666" if strong else "#ddd"}"/>'
                   f'<text x="{x(v):.1f}" y="{bottom + 16}" text-anchor="middle" fill="#444">{v:.1f}</text>')
    for i, r in enumerate(rows):
        y = top + step * i + 6
        mine, (_, us) = fraction(r), best_peer(r)
        peer = floor_us(r) / us if us else None
        out.append(f'<text x="{left - 10}" y="{y + 4}" text-anchor="end" fill="#222">{label(r)}</text>')
        if r["target"]:
            out.append(f'<line x1="{x(r["target"]):.1f}" y1="{y - 6}" x2="{x(r["target"]):.1f}" y2="{y + 6}" stroke="#111"/>')
        if peer:
            ahead = mine >= peer
            out.append(f'<line x1="{x(peer):.1f}" y1="{y}" x2="{x(mine):.1f}" y2="{y}" stroke="{"#0b6e4f" if ahead else "#c2410c"}"'
                       ' stroke-width="3" stroke-opacity="0.35"/>')
            out.append(f'<circle cx="{x(peer):.1f}" cy="{y}" r="4" fill="#fff" stroke="#c2410c" stroke-width="2"/>')
        out.append(f'<circle cx="{x(mine):.1f}" cy="{y}" r="5" fill="#0b6e4f"/>')
    return "\n".join(out + ["</svg>"]) + "\n"


if __name__ == "__main__":
    for path in sys.argv[1:]:
        with open(path) as f:
            result = json.load(f)
        with open(path.removesuffix(".json") + ".md", "w") as f:
            f.write(page(result))
        with open(path.removesuffix(".json") + ".svg", "w") as f:
            f.write(picture(result))
