# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of Dask arrays, one task for each chunk and sweep, with the bits of one call.

    import dask.array as da, fusec as fx

    x = da.random.standard_normal((10**9,), chunks=10**7)
    y = fx.dask.apply(lambda x: (x - x.mean()) / x.std(), x)
    y.sum().compute()

dask.array sums chunk by chunk, so its results differ with the chunks. Here a chunk gives the
accumulators of its part of one fixed order (fusec.pieces), some hundred bytes, and they are put together
exactly: the result is the same for all chunks, workers, and after a worker was lost.

What workers need is the function and the shapes; each compiles it once, or finds it in the cache on
disk.
"""

from . import pieces as _pieces

__all__ = ["apply"]


def _bounds(x, axis, p):
    """Where chunks end, moved to where pieces may begin."""
    ends, at = [], 0
    for n in x.chunks[axis]:
        at += n
        end = p.total if at == p.total else at // p.grain * p.grain
        if end > (ends[-1] if ends else 0):
            ends.append(end)
    return list(zip([0, *ends[:-1]], ends)) if ends else [(0, 0)]


def _piece(p, sweep, begin, end, known, *parts):
    """(the parts of the results, the accumulators as bytes)."""
    before = None if known is None else p.partial(known)
    into = p.partial()
    return p.run(sweep, begin, end, parts, before, into), into.to_bytes()


def _joined(p, *known):
    total = p.partial(known[0])
    for k in known[1:]:
        total.merge(p.partial(k))
    return total.to_bytes()


def _finished(p, known, *args):
    return p.finish(args, p.partial(known))


def _known_of(made):
    return made[1]


def _result_of(made, i):
    return made[0][i]


def _tree(join, p, parts):
    """Joins sixteen at a time, as tasks of their own."""
    while len(parts) > 1:
        parts = [join(p, *parts[i : i + 16]) for i in range(0, len(parts), 16)]
    return parts[0]


def apply(f, *args, axis=0):
    """f(*args) of Dask arrays, cut along `axis` of the first one, as Dask arrays.

    Dask arrays that have the axis are read chunk by chunk; other arguments (NumPy arrays, numbers,
    Dask arrays without it) are the same for all chunks. The pieces are the chunks of the first array,
    with ends moved by less than fx.pieces.Pieces.grain elements. Nothing is computed before it is
    asked for. An Error says what can't be computed in pieces, as sorts along the axis.

    >>> import numpy as np, dask.array as da, fusec.dask
    >>> x = da.ones(10000, chunks=777)
    >>> float(fusec.dask.apply(lambda x: x.mean(), x).compute())
    1.0
    """
    import dask
    import dask.array as da
    import numpy as np

    p = _pieces.Pieces(f, *args, axis=axis)
    first = next(x for x in args if hasattr(x, "shape"))
    shared = dask.delayed(p, pure=True, traverse=False)
    step, join = dask.delayed(_piece, pure=True), dask.delayed(_joined, pure=True)
    known_of, result_of = dask.delayed(_known_of, pure=True), dask.delayed(_result_of, pure=True)

    def part(x, a, begin, end):
        x = _pieces._part(x, a, begin, end, da.concatenate if isinstance(x, da.Array) else np.concatenate)
        return x.rechunk(-1).to_delayed().item() if isinstance(x, da.Array) else x

    bounds = _bounds(first, axis % first.ndim, p) if isinstance(first, da.Array) else p.cuts(1 << 22)
    known, results = None, [None] * len(p.shapes)
    everything = []
    for sweep in range(p.sweeps):
        made = [step(shared, sweep, b, e, known,
                     *(part(x, a, *(p.needs(i, b, e) if a >= 0 else (0, 0)))
                       for i, (x, a) in enumerate(zip(args, p.axes))))
                for b, e in bounds]
        everything += [known_of(m) for m in made]
        if sweep + 1 < p.sweeps or -1 in p.result_axes:
            known = _tree(join, shared, everything)
        for i, (a, s) in enumerate(zip(p.result_axes, p.result_sweeps)):
            if a >= 0 and s == sweep:
                results[i] = da.concatenate(
                    [da.from_delayed(result_of(m, i), _shape(p, i, b, e), p.dtypes[i])
                     for m, (b, e) in zip(made, bounds)], axis=a)
    if -1 in p.result_axes:
        end = dask.delayed(_finished, pure=True)(
            shared, known, *(part(x, a, 0, 0) for x, a in zip(args, p.axes)))
        for i, a in enumerate(p.result_axes):
            if a < 0:
                results[i] = da.from_delayed(dask.delayed(_item, pure=True)(end, i), p.shapes[i],
                                             p.dtypes[i])
    return p.results(results)


def _item(results, i):
    return results[i]


def _shape(p, i, begin, end):
    shape = list(p.shapes[i])
    from_, to = p.gives(i, begin, end)
    shape[p.result_axes[i]] = to - from_
    return tuple(shape)
