# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How arrays look: NumPy's text. Of a large array only the printed corners are computed."""

from . import _core
from ._create import use_numpy
from ._dtypes import BF16, float32
from ._explain import escape
from ._interop import to_numpy

CORNER, LARGE = 3, 1000


def _traced(x):
    return f"<traced fx.Array, dtype={x.dtype.name}, {x.ndim} axes>"


def _body(x, prefix="", separator=", "):
    try:
        np = use_numpy()
    except ImportError:
        return str(x.tolist())
    if x._code == BF16:
        x = x.astype(float32)
    if x.size <= LARGE or not x.ndim:
        return np.array2string(to_numpy(x), separator=separator, prefix=prefix)
    keys = [[slice(None)] if n <= 2 * CORNER else [slice(0, CORNER), slice(n - CORNER, n)]
            for n in x.shape]
    # The corners in place of the whole: NumPy leaves out the middle of an array that seems longer.
    corners = np.empty(tuple(min(n, 2 * CORNER + 1) for n in x.shape), to_numpy(x[(0,) * x.ndim]).dtype)

    def fill(axis, key, at):
        if axis == x.ndim:
            corners[tuple(at)] = to_numpy(x[tuple(key)])
            return
        for i, k in enumerate(keys[axis]):
            place = slice(None) if len(keys[axis]) == 1 else slice(0, CORNER) if i == 0 else slice(
                -CORNER, None)
            fill(axis + 1, [*key, k], [*at, place])

    corners[...] = 0
    fill(0, [], [])
    with np.printoptions(threshold=1, edgeitems=CORNER):
        return np.array2string(corners, separator=separator, prefix=prefix, threshold=1)


def text_of(x):
    if x._trace is not None:
        return _traced(x)
    prefix = "fx.Array("
    return f"{prefix}{_body(x, prefix)}, dtype={x.dtype.name})"


def html_of(x):
    """For notebooks: what it is, whether it is computed, and the elements; looking computes the
    elements that are shown, not the whole of a large array."""
    if x._trace is not None:
        return f"<pre>{escape(_traced(x))}</pre>"
    waiting = _core.depth(x)
    state = f", not computed: {waiting} operations deep" if waiting else ""
    head = f"fx.Array, {x.dtype.name}, shape {x.shape}, {x.nbytes} bytes{state}"
    return f"<div>{escape(head)}<pre>{escape(_body(x))}</pre></div>"


def str_of(x):
    return _traced(x) if x._trace is not None else _body(x, separator=" ")
