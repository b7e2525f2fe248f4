# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Text of the language of fusec as functions of arrays: CuPy's ElementwiseKernel and ReductionKernel,
which here fuse with what is around them."""

import re

from . import _core
from ._array import Array
from ._create import asarray, astype
from ._dtypes import result_type
from ._shape import take_axes

__all__ = ["elementwise", "reduction"]

_DEF = re.compile(r"^\s*(?:export\s+)?def\s+(\w+)", re.MULTILINE)
_NAME = re.compile(r"[A-Za-z_]\w*\Z")
# What a join is as a reduction of its own, and what that starts from.
_KNOWN = {"a+b": ("sum", 0), "b+a": ("sum", 0), "a*b": ("prod", 1), "b*a": ("prod", 1),
          "maximum(a,b)": ("max", None), "minimum(a,b)": ("min", None)}


def _names(params):
    names = re.split(r"[,\s]+", params.strip()) if isinstance(params, str) else list(params)
    for n in names:
        if not isinstance(n, str) or not _NAME.match(n):
            raise ValueError(f"{n!r} is not the name of a parameter")
    return tuple(names)


# A number of the kind that a traced one has.
_LIKE = {"b": True, "i": 1, "f": 1.0, "c": 1j}


def _is_number(x):
    return isinstance(x, (int, float, complex)) or bool(getattr(x, "_weak", None))


def _operands(given):
    """Arrays as they are; numbers take the dtype that they have beside them."""
    arrays = [x if isinstance(x, Array) else asarray(x) for x in given if not _is_number(x)]
    rest, result = iter(arrays), []
    for x in given:
        if not _is_number(x):
            result.append(next(rest))
        elif isinstance(x, bool) or not arrays:
            result.append(asarray(x))
        else:
            like = _LIKE[x._weak] if isinstance(x, Array) else x
            result.append(astype(asarray(x), result_type(*arrays, like)))
    return tuple(result)


def _compute(program, text, names, given, results=1):
    operands = _operands(given)
    number = _core.text_number(operands[0]._device, program, text, names)
    if results == 1:
        return _core.op("text", operands, start=(number,))
    return tuple(_core.op("text", operands, start=(number, i, results)) for i in range(results))


def _check(given, names, what):
    if len(given) != len(names):
        raise TypeError(f"{what} takes {len(names)} operand{'s'[len(names) == 1:]}, but got {len(given)}")


class elementwise:
    """A function of arrays made of text of the language: an expression with the names of its
    parameters, or definitions of which the last one is the function.

    Arrays keep their dtypes, which have to fit in the text, and broadcast; numbers take the dtype of
    the arrays. `results` says how many the text has. It fuses with what is around it, runs on every
    device and has derivatives.

    >>> elu = fx.elementwise("x > 0 ? x : a*expm1(x)", "x, a")
    >>> elu(fx.asarray([1.0, 2.0]), 0.5).tolist()
    [1.0, 2.0]
    >>> both = fx.elementwise("def both(x, y) { return x + y, x - y }", results=2)
    >>> [v.tolist() for v in both(fx.asarray([5.0]), 2)]
    [[7.0], [3.0]]
    """

    def __init__(self, text, params=None, *, results=1):
        defs = _DEF.findall(text)
        if not defs and params is None:
            raise TypeError("an expression needs the names of its parameters: elementwise('x*k', 'x, k')")
        if defs and params is not None:
            raise TypeError("a definition says its parameters itself")
        if isinstance(results, bool) or not isinstance(results, int) or not 1 <= results <= 64:
            raise ValueError(f"results is 1 to 64, not {results!r}")
        self.text, self.results = text, results
        self._def = defs[-1] if defs else None
        self._names = None if defs else _names(params)
        if not defs and not self._names:
            raise TypeError("an expression without parameters")

    def __repr__(self):
        return f"fusec.elementwise({self.text!r})"

    def __call__(self, *operands):
        names = self._names
        if self._def is None:
            _check(operands, names, "the text")
            return _compute(None, self.text, names, operands, self.results)
        if not operands:
            raise TypeError(f"{self._def} got no operands")
        names = tuple(f"p{i}" for i in range(len(operands)))
        return _compute(self.text, f"{self._def}({', '.join(names)})", names, operands, self.results)


class reduction:
    """A reduction made of text of the language: what is reduced, an expression with the names in
    `params`; how two of them, `a` and `b`, are joined, which has to be associative; and what becomes
    of the result `a`. `start` changes nothing that it is joined with; without it no elements are an
    error. It is one kernel with what is around it.

    >>> norm = fx.reduction("x*x", "a + b", "sqrt(a)", start=0)
    >>> float(norm(fx.asarray([3.0, 4.0])))
    5.0
    >>> far = fx.reduction("abs(x - y)", "maximum(a, b)", params="x, y")
    >>> far(fx.asarray([[1.0, 2.0], [0.0, 9.0]]), 1, axis=1).tolist()
    [1.0, 8.0]
    """

    def __init__(self, map, join, finish=None, *, start=None, params="x"):
        for text in (map, join, "" if finish is None else finish):
            if not isinstance(text, str):
                raise TypeError(f"a text is a str, not {type(text).__name__}")
        if start is not None and (isinstance(start, bool) or not isinstance(start, (int, float))):
            raise TypeError(f"start is a number, not {start!r}")
        self.map, self.join, self.finish, self.start = map, join, finish, start
        self._names = _names(params)
        self._program = None
        known, begin = _KNOWN.get(re.sub(r"\s", "", join), (None, None))
        self._known = known if known and start == begin else None
        if not self._known:
            self._program = f"def fx_join(a, b) = ({join})\n"
        if finish is not None:
            self._program = f"{self._program or ''}def fx_finish(a) = ({finish})\n"

    def __repr__(self):
        return f"fusec.reduction({self.map!r}, {self.join!r})"

    def _text(self, axes, keepdims):
        how = "" if axes is None else f", axis=[{', '.join(map(str, axes))}]"
        how += ", keepdims=true" if keepdims else ""
        if self._known:
            text = f"{self._known}(({self.map}){how})"
        else:
            # a number as the language has them: inf and nan are names there
            start = "" if self.start is None else f"{self.start!r}, "
            text = f"reduce(fx_join, {start}({self.map}){how})"
        return text if self.finish is None else f"fx_finish({text})"

    def __call__(self, *operands, axis=None, keepdims=False):
        _check(operands, self._names, "the reduction")
        operands = _operands(operands)
        ndim = max(x.ndim for x in operands)
        axes = None if axis is None else take_axes(axis, ndim)
        return _compute(self._program, self._text(axes, keepdims), self._names, operands)
