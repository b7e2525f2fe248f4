# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Expressions as text: read by Python's own parser, checked against a list of what is allowed, and
compiled as fx.jit compiles a function. Nothing is ever given to eval().

`evaluate` computes by NumPy's rules of dtypes; fusec.numexpr uses the same trees with numexpr's.
"""

import ast
import operator
import sys

from ._array import Array

BINARY = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.FloorDiv: "floordiv",
          ast.Mod: "mod", ast.Pow: "pow", ast.LShift: "shl", ast.RShift: "shr", ast.BitAnd: "bit_and",
          ast.BitOr: "bit_or", ast.BitXor: "bit_xor", ast.MatMult: "matmul"}
UNARY = {ast.USub: "neg", ast.UAdd: "positive", ast.Invert: "invert"}
COMPARE = {ast.Lt: "lt", ast.LtE: "le", ast.Eq: "eq", ast.NotEq: "ne", ast.Gt: "gt", ast.GtE: "ge"}
_DEEPEST = 300


class Node:
    """A part of an expression: `kind` is name, constant, call, attribute, slice, tuple or index."""

    __slots__ = ("kind", "value", "children", "keywords")

    def __init__(self, kind, value=None, children=(), keywords=()):
        self.kind, self.value, self.children, self.keywords = kind, value, children, keywords

    def names(self, found):
        """Adds the names of variables."""
        if self.kind == "name":
            found.add(self.value)
        for c in self.children:
            c.names(found)
        for _, c in self.keywords:
            c.names(found)
        return found


class _Reader:
    def __init__(self, text, with_slices):
        self.text, self.with_slices = text, with_slices

    def forbid(self, node, what):
        raise ValueError(f"{what} is not part of an expression: {self.text!r}")

    def read(self, n, depth=0):
        if depth > _DEEPEST:
            raise ValueError("the expression is nested too deeply")
        f = getattr(self, type(n).__name__, None)
        if f is None:
            self.forbid(n, type(n).__name__)
        return f(n, depth + 1)

    def Expression(self, n, d):
        return self.read(n.body, d)

    def Constant(self, n, d):
        if isinstance(n.value, (bool, int, float, complex, str, bytes, type(None))):
            return Node("constant", n.value)
        self.forbid(n, repr(n.value))

    def Name(self, n, d):
        if "__" in n.id:
            self.forbid(n, f"the name {n.id}")
        return Node("name", n.id)

    def BinOp(self, n, d):
        return Node("call", BINARY[type(n.op)], (self.read(n.left, d), self.read(n.right, d)))

    def UnaryOp(self, n, d):
        if isinstance(n.op, ast.Not):
            self._boolean()
        return Node("call", UNARY[type(n.op)], (self.read(n.operand, d),))

    def _boolean(self, *_):
        raise TypeError("'and', 'or', 'not', chained comparisons and 'if' need one truth value; use "
                        "'&', '|', '~' and where()")

    BoolOp = IfExp = _boolean

    def Compare(self, n, d):
        if len(n.ops) != 1:
            self._boolean()
        if type(n.ops[0]) not in COMPARE:
            self.forbid(n, type(n.ops[0]).__name__)
        return Node("call", COMPARE[type(n.ops[0])], (self.read(n.left, d),
                                                      self.read(n.comparators[0], d)))

    def Call(self, n, d):
        if not isinstance(n.func, ast.Name) or "__" in n.func.id:
            self.forbid(n, "a call of something that is not the name of a function")
        if any(k.arg is None for k in n.keywords) or any(isinstance(a, ast.Starred) for a in n.args):
            self.forbid(n, "a star in a call")
        return Node("function", n.func.id, tuple(self.read(a, d) for a in n.args),
                    tuple((k.arg, self.read(k.value, d)) for k in n.keywords))

    def Attribute(self, n, d):
        if n.attr not in (("real", "imag", "T", "mT") if self.with_slices else ("real", "imag")):
            self.forbid(n, f"the attribute {n.attr}")
        return Node("attribute", n.attr, (self.read(n.value, d),))

    def Tuple(self, n, d):
        if not self.with_slices:
            raise TypeError("a tuple is no operand")
        return Node("tuple", None, tuple(self.read(e, d) for e in n.elts))

    def List(self, n, d):
        raise TypeError("a list is no operand")

    def Subscript(self, n, d):
        if not self.with_slices:
            self.forbid(n, "indexing")
        return Node("index", None, (self.read(n.value, d), self.read(n.slice, d)))

    def Slice(self, n, d):
        none = Node("constant", None)
        return Node("slice", None, tuple(none if k is None else self.read(k, d)
                                         for k in (n.lower, n.upper, n.step)))


def parse(text, with_slices=True):
    """The tree of an expression."""
    if not isinstance(text, str):
        raise ValueError("must specify expression as a string")
    if len(text) > 100_000:
        raise ValueError("the expression is too long")
    try:
        tree = ast.parse(text.strip(), "<expr>", "eval")
    except (RecursionError, MemoryError):
        raise ValueError("the expression is nested too deeply") from None
    return _Reader(text, with_slices).read(tree)


# ---- by NumPy's rules -----------------------------------------------------------------------------

_FUNCTIONS = None
_MORE = ("where", "clip", "round", "square", "reciprocal", "signbit", "logaddexp", "logaddexp2",
         "logical_xor", "heaviside", "deg2rad", "rad2deg", "degrees", "radians", "float_power", "rint",
         "nan_to_num", "isclose", "isneginf", "isposinf", "real", "imag", "conj", "diff", "positive",
         "sum", "prod", "min", "max", "mean", "std", "var", "any", "all", "argmin", "argmax",
         "count_nonzero", "ptp", "logsumexp", "reshape", "transpose", "expand_dims", "squeeze", "flip",
         "broadcast_to", "permute_dims", "matmul", "vecdot", "zeros_like", "ones_like", "full_like",
         "arange", "tril", "triu", "copy", "dot", "outer", "repeat", "tile", "concat", "stack", "cumsum")


def functions():
    """Functions that expressions may call."""
    global _FUNCTIONS
    if _FUNCTIONS is None:
        from . import _core, _functions

        fx = sys.modules["fusec"]
        names = {*(n for n, r in _core.rows.items()), *_functions.ALIASES, *_MORE}
        _FUNCTIONS = {n: getattr(fx, n) for n in names if hasattr(fx, n)}
    return _FUNCTIONS


def compute(n, values):
    """The value of a tree, by NumPy's rules; `values`: of the names."""
    if n.kind == "constant":
        if isinstance(n.value, (str, bytes)):
            raise TypeError("strings are not supported in expressions")
        return n.value
    if n.kind == "name":
        return values[n.value]
    args = [compute(c, values) for c in n.children]
    if n.kind == "call":
        if n.value == "invert":
            return ~args[0]
        if n.value == "positive":
            return +args[0]
        f = _OPERATORS[n.value]
        return f(*args)
    if n.kind == "function":
        f = functions().get(n.value)
        if f is None:
            raise NameError(f"an expression has no function {n.value!r}")
        return f(*args, **{k: compute(c, values) for k, c in n.keywords})
    if n.kind == "attribute":
        from ._create import asarray

        return getattr(asarray(args[0]), n.value)
    if n.kind == "index":
        return args[0][args[1]]
    return slice(*args) if n.kind == "slice" else tuple(args)


_OPERATORS = {"add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv,
              "floordiv": operator.floordiv, "mod": operator.mod, "pow": operator.pow,
              "shl": operator.lshift, "shr": operator.rshift, "bit_and": operator.and_,
              "bit_or": operator.or_, "bit_xor": operator.xor, "matmul": operator.matmul,
              "lt": operator.lt, "le": operator.le, "eq": operator.eq, "ne": operator.ne,
              "gt": operator.gt, "ge": operator.ge, "neg": operator.neg}


def _constant_names():
    return {"pi": 3.141592653589793, "e": 2.718281828459045, "inf": float("inf"), "nan": float("nan"),
            "newaxis": None}


class Compiled:
    """An expression with its compiled function; called with the values of its names."""

    def __init__(self, text):
        from ._jit import Jit

        self.tree = parse(text)
        self.names = tuple(sorted(self.tree.names(set())))

        def expression(*args):
            from ._create import asarray

            r = compute(self.tree, dict(zip(self.names, args)))
            return r if isinstance(r, (Array, tuple)) else asarray(r)

        expression.__name__ = expression.__qualname__ = "expression"
        self.call = Jit(expression)


_compiled = {}


def evaluate(expression, local_dict=None, global_dict=None, out=None):
    """The value of an expression of arrays, computed in as few kernels as possible.

    Names stand for variables of the caller, or of `local_dict` and `global_dict`. NumPy's operators,
    its elementwise functions, reductions, slices and where() are there; dtypes are NumPy's.

    >>> a = fx.asarray([1.0, 2.0])
    >>> fx.evaluate("a*2 + 1", {"a": a}).tolist()
    [3.0, 5.0]
    """
    c = _compiled.get(expression)
    if c is None:
        c = Compiled(expression)
        if len(_compiled) > 1000:
            _compiled.clear()
        _compiled[expression] = c
    frame = sys._getframe(1)
    names = frame.f_locals if local_dict is None else local_dict
    outer = frame.f_globals if global_dict is None else global_dict
    args = []
    for name in c.names:
        if name in names:
            args.append(names[name])
        elif name in outer:
            args.append(outer[name])
        elif name in _constant_names():
            args.append(_constant_names()[name])
        else:
            raise NameError(f"the expression uses {name!r}, which nothing defines")
    return c.call(*args) if out is None else c.call(*args, out=out)
