# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions computed from pieces of their arrays: of files larger than memory, by several processes,
in any order, with the bits of one call.

    >>> import numpy as np, fusec as fx
    >>> f = lambda x: (x - x.mean()) / x.std()
    >>> x = np.arange(100000, dtype=np.float32)
    >>> y = fx.pieces.run(f, x, length=4096)
    >>> bool((y == fx.jit(f)(x)).all())
    True

Reductions add up in one fixed order, in which every piece has its place (docs/semantics.md, section 6),
so that the parts can be computed anywhere and put together exactly.
"""

import functools

from . import _core, _create, _jit
from ._dtypes import numpy_dtype

__all__ = ["Pieces", "run"]


def _plain(f):
    return f.__wrapped__ if isinstance(f, _jit.Jit) else f


def _described(x):
    """What tracing needs of an argument: an array of its shape and dtype that takes no memory."""
    if not hasattr(x, "shape") or not hasattr(x, "dtype"):
        return x
    import numpy as np

    return np.broadcast_to(np.zeros((), np.dtype(str(x.dtype))), tuple(x.shape))


def _static(f, n):
    """Which of n arguments are part of what is compiled, as fx.jit was told."""
    if not isinstance(f, _jit.Jit) or not f._static:
        return set()
    return {i for i, name in enumerate(f._signature.parameters) if i < n and name in f._static}


def _is_number(x):
    """Whether the program takes it as a number; others, as complex ones, are arrays without axes."""
    return type(x) in (bool, float) or (type(x) is int and -(2**63) <= x < 2**63)


class Pieces:
    """The function `f` of these arguments, cut along `axis` of the first array.

    Arguments are arrays (anything with shape and dtype: their data is not looked at here), numbers, and
    what is part of the function that is compiled, as with fx.jit: strings, None, what static_argnames
    names. An Error says what can't be cut: what reads anywhere along the axis, as sorts and
    reversals do. The pieces of a sweep behind a scan along it have to be those of the sweep before. It can be sent to other processes, if `f` can.

    total             length of the axis
    sweeps            how often all pieces are gone through: 1 for what is elementwise along it or
                      only reduced, one more for each finished reduction that is used along it
    grain             pieces begin at multiples of this
    axes              of each argument the axis along the cut; -1: it is the same for all pieces
    result_axes       likewise of the results; those with -1 come from finish()
    shapes, dtypes    of the results
    """

    def __init__(self, f, *args, axis=0):
        self._f, self._axis = f, axis
        self._args = tuple(_described(x) for x in args)
        for i, x in enumerate(args):
            if isinstance(x, (list, tuple, dict)):
                raise TypeError(f"argument {i} is a {type(x).__name__}: each array is an argument of its own here")
        leaves = _jit.Leaves(list(self._args), _static(f, len(args)), False)
        first = next((i for i, x in enumerate(self._args) if hasattr(x, "ndim")), None)
        if first is None:
            raise ValueError("none of the arguments is an array: there is nothing to cut")
        rank = self._args[first].ndim
        if not -rank <= axis < rank:
            raise ValueError(f"axis is one of the first array's, which has {rank}: there is no axis {axis}")
        axis %= rank
        self._entry = _jit.trace_once(_plain(f), lambda new: (new, {}), leaves, False, getattr(f, "_mode", None))
        # which arguments are inputs of the program; the others are part of what was compiled
        self._given = [i for i, k in enumerate(leaves.kinds) if k[0] != "s"]
        self._cut = cut = _core.Cut(self._entry.program, self._given.index(first), axis)
        inputs = self._inputs(self._args)
        self.total = self._args[first].shape[axis]
        self.sweeps, self.grain = cut.sweeps, cut.grain(inputs)
        along = dict(zip(self._given, cut.input_axes))
        self.axes = tuple(along.get(i, -1) for i in range(len(args)))
        self.result_axes, self.result_sweeps = cut.output_axes, cut.output_sweeps
        self.shapes = cut.shapes(inputs)
        self.dtypes = tuple(numpy_dtype(c) for c in cut.output_dtypes)

    def __reduce__(self):
        return _again, (self._f, self._axis, *(
            (x.shape, x.dtype.str) if hasattr(x, "dtype") else (type(x), x) for x in self._args))

    def _inputs(self, args):
        import numpy as np

        if len(args) != len(self._args):
            raise ValueError(f"{len(args)} arguments, and the function was cut with {len(self._args)}")
        for i, (x, known) in enumerate(zip(args, self._args)):
            if i not in self._given and x is not known and x != known:
                raise ValueError(f"argument {i} is part of what was compiled: it was {known!r}, not {x!r}")
        # no memmaps, and nothing that lies across its element's size, as what comes by a network
        args = [_create._plain_numpy(np.asarray(x)) if hasattr(x, "shape") or not _is_number(x) else x
                for x in (args[i] for i in self._given)]
        inputs = self._entry.inputs(args)
        if inputs is None:
            raise ValueError("what the function reads from outside has changed since it was traced")
        return inputs

    def cuts(self, length):
        """[(begin, end), ...] of pieces of about `length` positions."""
        step = max(length // self.grain, 1) * self.grain
        starts = range(0, self.total, step) if self.total else [0]
        return [(b, min(b + step, self.total)) for b in starts]

    def needs(self, argument, begin, end):
        """The elements (from, to) along its axis that a piece [begin, end) has of an argument. Those
        before 0, or behind the end, are the ones at the other end."""
        if self.axes[argument] < 0:
            raise ValueError(f"argument {argument} does not lie along the cut: it is the same for all pieces")
        return self._cut.input_range(self._given.index(argument), begin, end, self.total)

    def gives(self, result, begin, end):
        """The elements (from, to) along its axis that a piece has of a result."""
        return self._cut.output_range(result, begin, end, self.total)

    def partial(self, data=None):
        """What is known of the reductions: nothing yet, or what `to_bytes` of another one gave. Has
        merge(other) and to_bytes()."""
        return _core.Partial(self._cut) if data is None else _core.Partial(self._cut, data)

    def run(self, sweep, begin, end, args, before=None, into=None):
        """A sweep over a piece: `args` are its parts of the arguments along the cut (see needs), the
        others whole. Reductions go into the partial `into`; `before` has those of the sweeps
        before. A list of its parts of the results; None for those of other sweeps."""
        import numpy as np

        outs = []
        for i, (axis, made) in enumerate(zip(self.result_axes, self.result_sweeps)):
            if axis < 0 or made != sweep:
                outs.append(None)
                continue
            shape = list(self.shapes[i])
            from_, to = self.gives(i, begin, end)
            shape[axis] = to - from_
            outs.append(np.empty(shape, self.dtypes[i]))
        self._cut.run(sweep, begin, end, self.total, self._inputs(args), tuple(outs), before, into)
        return outs

    def finish(self, args, known):
        """The results that are whole (None for the others), from all reductions. Of arguments along
        the cut only the other lengths matter: any piece will do."""
        import numpy as np

        outs = tuple(np.empty(s, t) if a < 0 else None
                     for s, t, a in zip(self.shapes, self.dtypes, self.result_axes))
        self._cut.finish(self.total, self._inputs(args), outs, known)
        return [None if o is None else o[()] if o.ndim == 0 else o for o in outs]

    def results(self, arrays):
        """All results, put together as the function does."""
        return self._entry.results(arrays)


def _again(f, axis, *specs):
    return _cached(f, axis, specs)


@functools.lru_cache(64)
def _cached(f, axis, specs):
    import numpy as np

    args = [np.broadcast_to(np.zeros((), b), a) if isinstance(a, tuple) else b for a, b in specs]
    return Pieces(f, *args, axis=axis)


def _stretches(begin, end, n):
    """What [begin, end) is of an axis of n elements, around its ends."""
    while begin < end:
        at = begin % n
        size = min(end - begin, n - at)
        yield at, at + size
        begin += size


def _part(x, axis, begin, end, join):
    if axis < 0:
        return x
    n, lead = x.shape[axis], (slice(None),) * axis
    if 0 <= begin and end <= n:
        return x[(*lead, slice(begin, end))]
    return join([x[(*lead, slice(*s))] for s in _stretches(begin, end, n)], axis)


def run(f, *args, axis=0, length=None, out=None):
    """f(*args), computed in pieces of `length` positions along `axis` of the first array.

    Arguments may be anything that slices give NumPy arrays of: numpy.memmap, h5py, Zarr and Blosc2 arrays; and columns of
    Arrow, whose chunks stay where they are (in a file that pyarrow has mapped).
    `length` is about 16 MiB of all arguments unless given. `out` are arrays that results are
    written to, with slices (None: a new one).

    >>> import numpy as np
    >>> float(run(lambda x: x.sum(), np.ones(5000), length=1024))
    5000.0
    """
    import numpy as np

    args = [_column(x) for x in args]
    p = Pieces(f, *args, axis=axis)
    outs = list(_jit._out_tuple(out)) if out is not None else [None] * len(p.shapes)
    if len(outs) != len(p.shapes):
        raise ValueError(f"out has {len(outs)} arrays, the function gives {len(p.shapes)}")
    for i, a in enumerate(p.result_axes):
        if a >= 0 and outs[i] is None:
            outs[i] = np.empty(p.shapes[i], p.dtypes[i])
    row = sum(x.size * x.dtype.itemsize for x, a in zip(p._args, p.axes) if a >= 0)
    pieces = p.cuts(length or (16 << 20) * p.total // max(row, 1))
    known = p.partial()
    for sweep in range(p.sweeps):
        for begin, end in pieces:
            parts = [_host(x, a, p, i, begin, end) for i, (x, a) in enumerate(zip(args, p.axes))]
            made = p.run(sweep, begin, end, parts, known, known)
            for o, m, i in zip(outs, made, range(len(outs))):
                if m is not None:
                    from_, to = p.gives(i, begin, end)
                    o[(slice(None),) * p.result_axes[i] + (slice(from_, to),)] = m
    whole = p.finish([_empty(x, a) for x, a in zip(args, p.axes)], known)
    for i, w in enumerate(whole):
        if w is not None and outs[i] is not None:
            outs[i][...] = w
        elif w is not None:
            outs[i] = w
    return p.results(outs)


def _column(x):
    """What has no shape, but is a column of Arrow."""
    if hasattr(x, "shape") or not (hasattr(x, "__arrow_c_array__") or hasattr(x, "__arrow_c_stream__")):
        return x
    from ._arrow import Chunked

    return Chunked(x)


def _host(x, axis, p, i, begin, end):
    import numpy as np

    return x if axis < 0 else np.asarray(_part(x, axis, *p.needs(i, begin, end), np.concatenate))


def _empty(x, axis):
    import numpy as np

    return x if axis < 0 else np.asarray(_part(x, axis, 0, 0, None))
