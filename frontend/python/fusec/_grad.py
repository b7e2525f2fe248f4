# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Derivatives of functions of arrays. The function and its derivative are one graph, compiled as by
fx.jit; inside a compiled function they become part of it."""

from . import _core
from ._array import Array
from ._create import asarray
from ._dtypes import DTYPES
from ._errors import GradientError
from ._jit import Jit
from ._tree import flatten, unflatten

__all__ = ["grad", "jacobian", "jvp", "stop_gradient", "value_and_grad"]


def _input(x):
    """An argument that is derived by: a value of its own, so that the function may use the same
    array from outside as a constant."""
    x = asarray(x)
    if DTYPES[x._code].kind != "f":
        raise GradientError(f"derivatives are by floats, not by {x.dtype.name}", "no-gradient")
    return _core.distinct(x if x._trace is not None else _core.broadcast(x, x.shape))


def _derived(args, argnums):
    """(arguments with those that are derived by replaced, their leaves, their structures)"""
    args, leaves, structures = list(args), [], []
    for k in argnums:
        flat = []
        structure = flatten(args[k], flat)
        flat = [_input(x) for x in flat]
        args[k] = unflatten(structure, iter(flat))
        leaves += flat
        structures.append(structure)
    return args, leaves, structures


def _result(y, what):
    if not isinstance(y, Array):
        raise GradientError(f"{what}: the function gives {type(y).__name__}, not an array", "no-gradient")
    return asarray(y) if y._trace is not None else _core.broadcast(y, y.shape)


def _numbers(argnums):
    return (argnums,) if isinstance(argnums, int) else tuple(argnums)


def _compiled(f, g):
    """The function g, made of f, compiled and named after it."""
    g.__module__, g.__qualname__ = getattr(f, "__module__", __name__), getattr(f, "__qualname__", "f")
    g.__name__, g.__doc__ = getattr(f, "__name__", "f"), f.__doc__
    return Jit(g, mode=getattr(f, "_mode", None))


def value_and_grad(f, argnums=0, has_aux=False):
    """A function that gives (f(...), derivatives): of the scalar that f gives, by the arguments of
    these numbers, which may be tuples, lists and dicts of arrays. With has_aux f gives (scalar,
    anything else).

    >>> f = fx.value_and_grad(lambda x: (x * x).sum())
    >>> y, dx = f(fx.asarray([1.0, 2.0]))
    >>> y.item(), dx.tolist()
    (5.0, [2.0, 4.0])
    """
    inner = getattr(f, "__wrapped__", f) if isinstance(f, Jit) else f

    def derivative(*args, **kwargs):
        args, leaves, structures = _derived(args, _numbers(argnums))
        value = inner(*args, **kwargs)
        y = _result(value[0] if has_aux else value, "grad")
        if y.ndim or DTYPES[y._code].kind != "f":
            raise GradientError(f"grad is of one float; the function gives {y.ndim} axes of "
                                f"{y.dtype.name}: add up what is to be small", "no-gradient")
        found = iter(_core.vjp(y, None, tuple(leaves)))
        by = tuple(unflatten(s, found) for s in structures)
        return value, by[0] if isinstance(argnums, int) else by

    return _compiled(f, derivative)


def grad(f, argnums=0, has_aux=False):
    """A function that gives the derivatives of f, a function that gives one float.

    >>> fx.grad(lambda x: fx.sin(x).sum())(fx.asarray([0.0])).tolist()
    [1.0]
    >>> fx.grad(fx.grad(lambda x: x**3))(2.0).item()
    12.0
    """
    both = value_and_grad(f, argnums, has_aux).__wrapped__

    def derivative(*args, **kwargs):
        value, by = both(*args, **kwargs)
        return (by, value[1]) if has_aux else by

    return _compiled(f, derivative)


def jvp(f, primals, tangents):
    """(f(*primals), how it moves when the arguments move along the tangents).

    >>> y, dy = fx.jvp(lambda x: x * x, (fx.asarray(3.0),), (fx.asarray(1.0),))
    >>> dy.item()
    6.0
    """

    def derivative(primals, tangents):
        args, leaves, _ = _derived(primals, range(len(primals)))
        y = _result(f(*args), "jvp")
        along = []
        flatten(tangents, along)
        if len(along) != len(leaves):
            raise ValueError(f"{len(leaves)} values, but {len(along)} tangents")
        along = [_core.cast(asarray(t), x._code) for t, x in zip(along, leaves)]
        return y, _core.jvp(y, tuple(leaves), tuple(along))

    compiled = getattr(f, "__fusec_jvp__", None)
    if compiled is None:
        compiled = _compiled(f, derivative)
        try:
            f.__fusec_jvp__ = compiled
        except AttributeError:
            pass
    return compiled(tuple(primals), tuple(tangents))


def jacobian(f, argnums=0):
    """A function that gives all derivatives of f, the axes of f's array before those of the argument.

    >>> fx.jacobian(lambda x: x * x)(fx.asarray([1.0, 2.0])).tolist()
    [[2.0, 0.0], [0.0, 4.0]]
    """

    def derivative(*args, **kwargs):
        if not isinstance(args[argnums], Array):
            raise GradientError("jacobian is by one array", "no-gradient")
        # jacobians do not go through rules of their own, so the copy is another one than _input's
        x = _core.op("materialize", (args[argnums],))
        args = (*args[:argnums], x, *args[argnums + 1:])
        return _core.jacobian(_result(f(*args, **kwargs), "jacobian"), x)

    return _compiled(f, derivative)


def stop_gradient(x):
    """The value itself, a constant for derivatives."""
    x = asarray(x)
    return x if x._trace is None else _core.stop_grad(x)
