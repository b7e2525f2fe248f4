# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What fusec has no kernels for: NumPy computes it on the host, from the memory of the arrays.

Inside a trace nothing can be computed, so these functions raise NotYetError there. docs/python.md
has the list; a function that gets a kernel leaves it.
"""

import sys

from . import _core
from ._array import Array
from ._create import asarray, borrow, use_numpy
from ._dtypes import DType
from ._errors import NotYetError
from ._interop import to_numpy


def check(name):
    if _core.tracing() is not None:
        raise NotYetError(f"{name} is computed by NumPy and can't be part of a compiled function yet",
                          "not-yet")


def is_at_hand(*arrays):
    """May NumPy compute it? Nothing is traced, the arrays are in memory of the host, and NumPy is used already. For what
    it does faster there than kernels would."""
    return _core.tracing() is None and not any(x._device for x in arrays) and "numpy" in sys.modules


def to_host(x):
    if isinstance(x, Array):
        if x._device:
            raise NotYetError(f"NumPy computes this, on the host, and the array is on {x.device}: use "
                              "x.to_device('cpu')", "not-yet")
        return to_numpy(x)
    if isinstance(x, (list, tuple)):
        return type(x)(to_host(k) for k in x)
    if isinstance(x, dict):
        return {k: to_host(v) for k, v in x.items()}
    return x.dtype if isinstance(x, DType) else x


def from_host(x):
    np = use_numpy()
    if isinstance(x, np.ndarray):
        try:
            return borrow(x) if x.flags.owndata else asarray(x)
        except TypeError:
            return x  # strings, objects: NumPy's own
    if isinstance(x, np.generic):
        try:
            return asarray(x)
        except TypeError:
            return x
    if isinstance(x, tuple) and type(x) is not tuple and hasattr(x, "_fields"):
        return type(x)(*(from_host(k) for k in x))
    if isinstance(x, (list, tuple)):
        return type(x)(from_host(k) for k in x)
    return x


def call(name, f, *args, **kwargs):
    """f of NumPy on the arrays among the arguments; its arrays become ours."""
    check(name)
    return from_host(f(*(to_host(a) for a in args), **{k: to_host(v) for k, v in kwargs.items()}))
