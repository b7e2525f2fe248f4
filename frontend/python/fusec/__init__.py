# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""fusec: array expressions compiled into as few kernels as the mathematics allows.

    import numpy as np, fusec as fx

    x = fx.asarray(np.linspace(0, 1, 5))
    y = fx.exp(fx.sin(x) * fx.cos(x))      # computes nothing
    print(y)                               # one kernel

    @fx.jit
    def softmax(x):
        e = fx.exp(x - x.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True)

    softmax(np.random.rand(3, 4))          # NumPy in, NumPy out; compiled once for all sizes
    fx.evaluate("sin(a*2) + b", {"a": a, "b": b})

Names are NumPy's and those of the Array API standard.
"""

from . import _core  # noqa: F401  (the extension)
from ._errors import *  # noqa: F401,F403
from ._array import Array
from ._config import config
from ._device import default_device, use_device
from ._dtypes import *  # noqa: F401,F403
from ._create import *  # noqa: F401,F403
from ._functions import *  # noqa: F401,F403
from ._shape import *  # noqa: F401,F403
from ._reduce import *  # noqa: F401,F403
from ._linear import *  # noqa: F401,F403
from ._positions import *  # noqa: F401,F403
from ._search import *  # noqa: F401,F403
from ._sets import *  # noqa: F401,F403
from ._skipping import *  # noqa: F401,F403
from ._samples import *  # noqa: F401,F403
from ._windows import *  # noqa: F401,F403
from ._numpy import *  # noqa: F401,F403
from ._writing import *  # noqa: F401,F403
from ._namespace import VERSION as __array_api_version__
from ._namespace import __array_namespace_info__
from ._grad import *  # noqa: F401,F403
from ._extern import *  # noqa: F401,F403
from ._kernels import *  # noqa: F401,F403
from ._jit import Jit, eval, explain, jit
from ._expression import evaluate
from . import _methods  # noqa: F401
from ._create import use_numpy_if_loaded as _use_numpy

__version__ = _core.version()

pi = 3.141592653589793
e = 2.718281828459045
inf = float("inf")
nan = float("nan")
newaxis = None

_LAZY = ("dask", "fft", "linalg", "nn", "numexpr", "pieces", "random", "torch")


def __getattr__(name):
    if name in _LAZY:
        import importlib

        return importlib.import_module(f"fusec.{name}")
    raise AttributeError(f"module 'fusec' has no attribute {name!r}")


def device():
    """The name of the device that computes, and why a better one was passed over."""
    return _core.device()


def counters():
    """Kernels compiled so far, found on disk, found in memory; expressions planned."""
    return _core.counters()


def __dir__():
    return sorted([*globals(), *_LAZY])


_use_numpy()
