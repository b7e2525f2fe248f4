# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Samples: how many there are of each kind, what lies between them, how they change."""

import operator

from . import _core, _dtypes, _host, _reduce
from ._create import asarray, linspace, use_numpy, zeros
from ._device import beside
from ._dtypes import DTYPES, F16, F64
from ._search import argsort, searchsorted
from ._shape import concat, moveaxis, pad, ravel, take_axes

__all__ = ["bincount", "convolve", "correlate", "ediff1d", "geomspace", "gradient", "histogram", "interp", "logspace", "unwrap"]

_max, _ADD = max, 1  # fusec_put


def _where(*operands):
    return _core.rows["where"][3](*operands)


def _row(name, *operands):
    return _core.rows[name][3](*operands)


def _as_float(x):
    x = asarray(x)
    return x if x._code >= F16 else _core.cast(x, F64)


# ---- counts -----------------------------------------------------------------------------------------


def _counted(at, n, weights):
    """Of indices below n how many there are of each, or the sum of their weights; others do not count."""
    v = _core.broadcast(_core.full(_dtypes.I64, 1, ()), at.shape) if weights is None else weights
    at = _where((at >= 0) & (at < n), at, n)
    return _core.op("scatter", (zeros((n + 1,), dtype=v.dtype), at, v), (0,), mode=_ADD)[:n]


@beside
def bincount(x, /, weights=None, minlength=0):
    """How many elements are 0, 1, 2, ...; with weights, which are float64, their sums. In a compiled function there
    are `minlength` counts, and larger elements do not count.

    >>> fx.bincount(fx.asarray([1, 3, 1])).tolist()
    [0, 2, 0, 1]
    """
    x = asarray(x)
    if x.ndim != 1:
        raise ValueError("object too deep for desired array" if x.ndim else "object of too small depth for desired array")
    if DTYPES[x._code].kind not in "iub" and x.shape != (0,):
        raise TypeError(f"Cannot cast array data from {x.dtype.name} to int64 according to the rule 'safe'")
    x, n = _core.cast(x, _dtypes.I64), operator.index(minlength)
    if n < 0:
        raise ValueError("'minlength' must not be negative")
    if _core.tracing() is None and x.size:
        least, most = (int(k) for k in _evaluated(_reduce.min(x), _reduce.max(x)))
        if least < 0:
            raise ValueError("'list' argument must have no negative elements")
        n = _max(n, most + 1)
    elif _core.tracing() is not None and not n:
        raise ValueError("inside of a compiled function bincount needs minlength, the number of counts")
    if weights is not None:
        weights = _core.cast(asarray(weights), F64)
        if weights.shape != x.shape:
            raise ValueError("The weights and list don't have the same length.")
    return _counted(x, n, weights)


def _evaluated(*arrays):
    _core.evaluate(arrays)
    return arrays


def _bounds(x, range):
    """The first and the last edge, as arrays without axes."""
    if range is not None:
        first, last = (asarray(k) for k in range)
        if _core.tracing() is None and float(first) > float(last):
            raise ValueError("max must be larger than min in range parameter.")
    elif isinstance(x.size, int) and not x.size:
        first, last = asarray(0.0), asarray(1.0)
    else:
        first, last = _reduce.min(x), _reduce.max(x)
    if _core.tracing() is None:
        if not all(abs(float(k)) < float("inf") for k in _evaluated(first, last)):
            raise ValueError(f"the range [{float(first)}, {float(last)}] is not finite")
        if first._code < F16 and last._code < F16:  # as the numbers that they are: unsigned ones have no half below
            first, last = asarray(int(first)), asarray(int(last))
    same = first == last
    first, last = _as_float(first), _as_float(last)
    dtype = _dtypes.result_type(first, last)
    first, last = first.astype(dtype, copy=False), last.astype(dtype, copy=False)
    return _where(same, first - 0.5, first), _where(same, last + 0.5, last)


def _evenly(x, n, first, last, dtype):
    """(edges, the bin of each element): a guess by division, which the edges then correct, as NumPy does it."""
    at = _core.arange(n + 1)
    edges = _where(at == n, last, at.astype(first.dtype) * ((last - first) / n) + first).astype(dtype, copy=False)
    wide = x.astype(_dtypes.result_type(x, DTYPES[F64]) if x._code < F16 else x.dtype, copy=False)
    at = _core.cast((wide - first) / (last - first) * n, _dtypes.I64)
    at = _row("minimum", _row("maximum", at, 0), n - 1)
    at = at - _core.cast(wide < _core.op("take", (edges, at), (0,)), _dtypes.I64)
    above = (wide >= _core.op("take", (edges, _row("maximum", at, 0) + 1), (0,))) & (at != n - 1)
    at = at + _core.cast(above, _dtypes.I64)
    return edges, _where((wide >= first) & (wide <= last), at, n)


def _between(x, edges):
    if _core.tracing() is None and bool((edges[1:] < edges[:-1]).any()):
        raise ValueError("`bins` must increase monotonically, when an array")
    n = edges.shape[0] - 1
    at = searchsorted(edges, x, side="right") - 1
    return _where(x == edges[-1], n - 1, at)


@beside
def histogram(x, bins=10, range=None, density=None, weights=None):
    """(how many elements are in each bin, the edges of the bins): `bins` of one width, or between given edges. With
    `weights` their sums; `density`: as the values of a density whose integral is 1."""
    x = asarray(x)
    if isinstance(bins, str) or DTYPES[x._code].kind == "c":
        return _host.call("histogram", use_numpy().histogram, x, bins, range, density, weights)
    weights = None if weights is None else ravel(asarray(weights))
    if weights is not None and weights.shape != (x.size,):
        raise ValueError("weights should have the same shape as a.")
    x = ravel(x if x._code else _core.cast(x, _dtypes.U8))
    if isinstance(bins, int) or getattr(bins, "ndim", 1) == 0:
        n = operator.index(bins)
        if n < 1:
            raise ValueError("`bins` must be positive, when an integer")
        bounds = _bounds(x, range)
        weak = range is not None and all(isinstance(k, (int, float)) for k in range)  # Python's numbers have no dtype
        dtype = _dtypes.result_type(x, *(() if weak else bounds))
        edges, at = _evenly(x, n, *bounds, dtype if dtype.kind == "f" else DTYPES[F64])
    else:
        edges = asarray(bins)
        if edges.ndim != 1:
            raise ValueError("`bins` must be 1d, when an array")
        n, at = edges.shape[0] - 1, _between(x, edges)
    counts = _counted(at, n, weights)
    if not density:
        return counts, edges
    return counts / (edges[1:] - edges[:-1]) / _reduce.sum(counts), edges


# ---- what lies between ------------------------------------------------------------------------------


@beside
def interp(x, xp, fp, left=None, right=None, period=None):
    """Values of the line through points (xp, fp), of which xp rises, at x; left and right of it the first and the last one.

    >>> fx.interp(fx.asarray([0.5, 3.0]), [0, 1], [10, 20]).tolist()
    [15.0, 20.0]
    """
    x, xp, fp = asarray(x), asarray(xp), asarray(fp)
    if max(fp._code, x._code, xp._code) > F64:
        return _host.call("interp", use_numpy().interp, x, xp, fp, left, right, period)
    if xp.ndim != 1 or xp.shape != fp.shape:
        raise ValueError("fp and xp are not of the same length." if xp.ndim == fp.ndim == 1 else "xp and fp have one axis")
    if isinstance(xp.size, int) and not xp.size:
        raise ValueError("array of sample points is empty")
    x, xp, fp = (_core.cast(k, F64) for k in (x, xp, fp))
    if period is not None:
        if period == 0:
            raise ValueError("period must be a non-zero value")
        x, xp, left, right = x % abs(period), xp % abs(period), None, None
        order = argsort(xp)
        xp, fp = (_core.op("take", (k, order), (0,)) for k in (xp, fp))
        xp, fp = concat([xp[-1:] - abs(period), xp, xp[:1] + abs(period)]), concat([fp[-1:], fp, fp[:1]])
    n = xp.shape[0]
    at = _row("minimum", _row("maximum", searchsorted(xp, x, side="right") - 1, 0), n - 1)
    after = _row("minimum", at + 1, n - 1)
    x0, x1, y0, y1 = (_core.op("take", (k, i), (0,)) for k, i in ((xp, at), (xp, after), (fp, at), (fp, after)))
    slope = (y1 - y0) / (x1 - x0)
    r = slope * (x - x0) + y0
    r = _where(r == r, r, slope * (x - x1) + y1)  # of infinities from the other side
    r = _where((r != r) & (y0 == y1), y0, r)
    r = _where((x == x0) | (at == after), y0, r)
    r = _where(x > xp[-1], fp[-1] if right is None else right, r)
    r = _where(x < xp[0], fp[0] if left is None else left, r)
    return r if xp.shape == (1,) else _where(x != x, x, r)


def logspace(start, stop, num=50, endpoint=True, base=10.0, dtype=None, axis=0):
    """Numbers whose logarithms are evenly apart, from base**start to base**stop."""
    base = asarray(base)
    if base.ndim or asarray(start).ndim or asarray(stop).ndim:
        return _host.call("logspace", use_numpy().logspace, start, stop, num, endpoint, base, dtype, axis)
    r = _core.cast(base, F64) ** linspace(start, stop, num, endpoint=endpoint)
    return r if dtype is None else r.astype(dtype)


def geomspace(start, stop, num=50, endpoint=True, dtype=None, axis=0):
    """Numbers each of which is the same multiple of the one before, from start to stop."""
    a, b = asarray(start), asarray(stop)
    if a.ndim or b.ndim or max(a._code, b._code) > F64:
        return _host.call("geomspace", use_numpy().geomspace, start, stop, num, endpoint, dtype, axis)
    a, b = _as_float(a), _as_float(b)
    if _core.tracing() is None and not (float(a) and float(b)):
        raise ValueError("Geometric sequence cannot include zero")
    sign = _where(a < 0, -1.0, 1.0)
    r = sign * 10.0 ** linspace(_row("log10", a * sign), _row("log10", b * sign), num, endpoint=endpoint)
    at = _core.arange(r.shape[0])
    r = _where(at == 0, a, _where((at == r.shape[0] - 1) & bool(endpoint) & (at > 0), b, r))
    return r if dtype is None else r.astype(dtype)


# ---- how they change --------------------------------------------------------------------------------


def ediff1d(x, to_end=None, to_begin=None):
    """The differences of neighbours in the flat array, with what is to be before and behind them."""
    x = ravel(asarray(x))
    parts = [ravel(asarray(k)).astype(x.dtype) for k in (to_begin,) if k is not None]
    parts += [x[1:] - x[:-1]]
    parts += [ravel(asarray(k)).astype(x.dtype) for k in (to_end,) if k is not None]
    return concat(parts) if len(parts) > 1 else parts[0]


def _slope(x, axis, apart):
    """By differences of both neighbours; at the ends of one."""
    x = moveaxis(x, axis, -1)
    if isinstance(x.shape[-1], int) and x.shape[-1] < 2:
        raise ValueError("Shape of array too small to calculate a numerical gradient, at least (edge_order + 1) elements are "
                         "required.")
    if apart.ndim == 0:
        inside, first, last = (x[..., 2:] - x[..., :-2]) / (2.0 * apart), apart, apart
    else:
        d = apart[1:] - apart[:-1]
        a, b = d[:-1], d[1:]
        inside = -b / (a * (a + b)) * x[..., :-2] + (b - a) / (a * b) * x[..., 1:-1] + a / (b * (a + b)) * x[..., 2:]
        first, last = d[0], d[-1]
    r = concat([(x[..., 1:2] - x[..., :1]) / first, inside, (x[..., -1:] - x[..., -2:-1]) / last], axis=-1)
    return moveaxis(r.astype(x.dtype, copy=False), -1, axis)


def gradient(f, *apart, axis=None, edge_order=1):
    """The slope along each axis, or those of `axis`: differences of neighbours, divided by how far they are apart (a
    number, or the coordinates, for all axes or one for each)."""
    x = asarray(f)
    if edge_order != 1:
        return _host.call("gradient", use_numpy().gradient, x, *apart, axis=axis, edge_order=edge_order)
    axes = take_axes(axis, x.ndim)
    if len(apart) not in (0, 1, len(axes)):
        raise TypeError("invalid number of arguments")
    apart = [asarray(k) for k in (apart or (1.0,))] * (1 if len(apart) > 1 else len(axes))
    for a, k in zip(axes, apart):
        if k.ndim and k.shape != (x.shape[a],):
            raise ValueError("when 1d, distances must match the length of the corresponding dimension")
    x = _as_float(x)
    apart = [k.astype(x.dtype) if k.ndim == 0 or k._code < F16 else k for k in apart]
    r = tuple(_slope(x, a, k) for a, k in zip(axes, apart))
    return r[0] if len(r) == 1 else r


def unwrap(p, discont=None, axis=-1, *, period=6.283185307179586):
    """Angles with multiples of the period added, so that neighbours are not more than half of it apart."""
    p = asarray(p)
    if p._code < F16 and float(period) == int(period) or p._code > F64:
        return _host.call("unwrap", use_numpy().unwrap, p, discont, axis, period=period)
    p, half = moveaxis(_as_float(p), axis, -1), period / 2
    d = p[..., 1:] - p[..., :-1]
    turned = (d + half) % period - half
    turned = _where((turned == -half) & (d > 0), half, turned)
    change = _where(abs(d) < (half if discont is None else max(discont, half)), 0.0, turned - d)
    return moveaxis(concat([p[..., :1], p[..., 1:] + _core.op("cumsum", (change,), (p.ndim - 1,))], axis=-1), -1, axis)


def _sliding(a, v, mode):
    """Sums of products of v with what lies below it, for each place of v; v is not longer than a."""
    n = operator.index(v.shape[0])
    ends = {"full": (n - 1, n - 1), "valid": (0, 0), "same": (n // 2, n - 1 - n // 2)}.get(mode)
    if ends is None:
        raise ValueError(f"mode must be one of 'valid', 'same', or 'full' (got {mode!r})")
    a = pad(a, ends) if any(ends) else a
    return _reduce.sum(_core.op("window", (a,), (0,), (n,), (1,)) * v, axis=-1).astype(a.dtype, copy=False)


def _two_rows(a, v, what):
    a, v = asarray(a), asarray(v)
    if a.ndim > 1 or v.ndim > 1:
        raise ValueError("object too deep for desired array")
    a, v = ravel(a), ravel(v)
    for k, name in ((a, "a"), (v, "v")):
        if isinstance(k.shape[0], int) and not k.shape[0]:
            raise ValueError(f"{name} cannot be empty")
    dtype = _dtypes.result_type(a, v)
    return a.astype(dtype, copy=False), v.astype(dtype, copy=False)


def convolve(a, v, mode="full"):
    """The sums of products of one row with the other one, turned around, at each place."""
    a, v = _two_rows(a, v, "convolve")
    if operator.index(v.shape[0]) > operator.index(a.shape[0]):
        a, v = v, a
    return _sliding(a, v[::-1], mode)


def correlate(a, v, mode="valid"):
    """The sums of products of one row with the other one at each place."""
    a, v = _two_rows(a, v, "correlate")
    v = v if DTYPES[v._code].kind != "c" else _core.op("conj", (v,))
    if operator.index(v.shape[0]) > operator.index(a.shape[0]):
        return _sliding(v, a, mode)[::-1]
    return _sliding(a, v, mode)
