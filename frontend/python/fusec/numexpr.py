# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""numexpr's module on fusec: `import fusec.numexpr as numexpr`, or `fusec.numexpr.install()`, after
which `import numexpr` is this module for pandas, xarray and others.

Dtypes are numexpr's: small integers become int32, unsigned 32 bits int64; a float of Python makes a
float32 array float64; functions of integers are float64; complex numbers are complex128. Strings are
not there.
"""

import os
import sys
import threading
import types
import weakref

import numpy as _np

from . import _core, _dtypes
from ._array import Array
from ._create import astype
from ._expression import _OPERATORS, Node, parse
from ._jit import Jit
from ._shape import broadcast_shapes

__version__ = "2.14.2"
MAX_THREADS = 64
__BLOCK_SIZE1__ = 1024
use_vml = False
is_cpu_amd_intel = False

# ---- kinds ----------------------------------------------------------------------------------------

int_, long_, double = _np.int32, _np.int64, _np.double
KINDS = ("bool", "int", "long", "float", "double", "complex")
_CODES = {"bool": 0, "int": 3, "long": 4, "float": 11, "double": 12, "complex": 14}
_KIND_OF_CODE = {0: "bool", 1: "int", 2: "int", 3: "int", 4: "long", 5: "int", 6: "int", 7: "long",
                 8: "long", 9: "float", 10: "float", 11: "float", 12: "double", 13: "complex", 14: "complex"}


def getType(a):
    """numexpr's type of an array: bool, int32, int64, float (32 bits), double or complex."""
    kind, size = a.dtype.kind, a.dtype.itemsize
    if kind == "b":
        return bool
    if kind in "iu":
        return long_ if size > 4 or kind == "u" and size == 4 else int_
    if kind == "f":
        return double if size > 4 else float
    if kind == "c":
        return complex
    if kind in "SU":
        raise NotImplementedError(f"arrays of dtype {a.dtype} are not supported by fusec.numexpr")
    raise ValueError(f"unknown type {a.dtype.name}")


def _constant_kind(x):
    if isinstance(x, (bool, _np.bool_)):
        return "bool"
    if isinstance(x, _np.int64):
        return "long"
    if isinstance(x, _np.float32):
        return "float"
    if isinstance(x, (int, _np.integer)):
        return "int" if -(2**31) <= x < 2**31 else "long"
    if isinstance(x, (float, _np.floating)):
        return "double"
    if isinstance(x, (complex, _np.complexfloating)):
        return "complex"
    if isinstance(x, (str, bytes)):
        raise NotImplementedError("strings are not supported by fusec.numexpr")
    raise TypeError(f"{x!r} is no operand")


class _Value:
    """An operand: a constant of Python (array None), or a traced array."""

    __slots__ = ("array", "constant", "kind")

    def __init__(self, array=None, constant=None, kind=None):
        self.array, self.constant = array, constant
        self.kind = kind or _constant_kind(constant)

    def to(self, kind):
        """As an array of this kind."""
        code = _CODES[kind]
        if self.array is None:
            c = self.constant
            value = bool(c) if code == 0 else int(c) if code < 9 else float(c) if code < 13 else complex(c)
            return _core.full(code, value, ())
        return self.array if self.array._code == code and not self.array._weak else (
            astype(self.array, _dtypes.DTYPES[code]) if code == 0 else _core.cast(self.array, code))


def _variable(a):
    kind = _KIND_OF_CODE[a._code]
    return _Value(_Value(a, kind=kind).to(kind), kind=kind)


def _common(values):
    return KINDS[max(KINDS.index(v.kind) for v in values)]


def _row(name, *arrays):
    return _core.rows[name][3](*arrays)


def _arith(name, a, b):
    kind = _common((a, b))
    if name == "div" and kind in ("bool", "int", "long"):
        kind = "double"
    if kind == "bool" and name not in ("add", "mul", "bit_and", "bit_or", "bit_xor"):
        raise NotImplementedError(f"couldn't find matching opcode for '{name}_bbb'")
    if name in ("shl", "shr", "bit_and", "bit_or", "bit_xor") and kind in ("float", "double"):
        raise NotImplementedError(f"couldn't find matching opcode for '{name}_{kind[0] * 3}'")
    if kind == "complex" and name not in ("add", "sub", "mul", "div"):
        raise NotImplementedError(f"couldn't find matching opcode for '{name}_ccc'")
    return _Value(_row(name, a.to(kind), b.to(kind)), kind=kind)


def _power(a, b):
    if b.array is None and a.kind in ("int", "long") and b.kind in ("int", "long") and b.constant < 0:
        raise ValueError("Integers to negative integer powers are not allowed.")
    kind = _common((a, b))
    if kind == "bool":
        raise NotImplementedError("couldn't find matching opcode for 'pow_bbb'")
    if b.array is None and kind in ("float", "double"):  # known powers are products and roots
        return _Value(a.to(kind) ** float(b.constant), kind=kind)
    if b.array is None and kind == "complex" and b.kind != "complex":
        return _Value(a.to(kind) ** b.constant, kind=kind)
    return _Value(_row("pow", a.to(kind), b.to(kind)), kind=kind)


def _compare(name, a, b):
    kind = _common((a, b))
    if kind == "complex" and name not in ("eq", "ne"):
        raise NotImplementedError(f"couldn't find matching opcode for '{name}_bcc'")
    return _Value(_row(name, a.to(kind), b.to(kind)), kind="bool")


def _operator(name, args):
    if all(v.array is None for v in args):
        with _np.errstate(all="ignore"):
            values = [v.constant for v in args]
            if name == "invert":
                return _Value(constant=not values[0] if isinstance(values[0], bool) else ~values[0])
            if name == "positive":
                return args[0]
            return _Value(constant=_OPERATORS[name](*values))
    if name in ("lt", "le", "eq", "ne", "gt", "ge"):
        return _compare(name, *args)
    if name == "pow":
        return _power(*args)
    if name == "positive":
        return args[0]
    if name == "invert":
        (a,) = args
        if a.kind in ("float", "double", "complex"):
            raise NotImplementedError("couldn't find matching opcode for 'invert_dd'")
        return _Value(_row("bit_not", a.array), kind=a.kind)
    if name == "neg":
        (a,) = args
        if a.kind == "bool":
            raise NotImplementedError("couldn't find matching opcode for 'neg_bb'")
        return _Value(-a.array, kind=a.kind)
    if name == "matmul":
        raise TypeError("'@' is not part of an expression")
    return _arith(name, *args)


# ---- functions ------------------------------------------------------------------------------------

# name: (row or function, smallest kind of floats, what constants are computed with)
_FLOAT = {n: (r, "float") for n, r in {
    "sqrt": "sqrt", "sin": "sin", "cos": "cos", "tan": "tan", "arcsin": "asin", "arccos": "acos",
    "arctan": "atan", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "arcsinh": "asinh",
    "arccosh": "acosh", "arctanh": "atanh", "fmod": "fmod", "arctan2": "atan2", "log": "log",
    "log1p": "log1p", "log10": "log10", "log2": "log2", "exp": "exp", "expm1": "expm1",
    "expm1x": "expm1", "ceil": "ceil", "floor": "floor", "trunc": "trunc", "hypot": "hypot",
    "copysign": "copysign", "nextafter": "nextafter"}.items()}
_KEEP = {"abs": "abs", "absolute": "abs", "round": "round", "sign": "sign", "copy": "positive",
         "ones_like": "ones_like", "maximum": "maximum", "minimum": "minimum", "conj": "positive",
         "real": "positive"}
_TESTS = {"isnan": "isnan", "isfinite": "isfinite", "isinf": "isinf", "signbit": "signbit"}
_REDUCE = ("sum", "prod", "min", "max", "mean", "any", "all", "std", "var")
functions = {**dict.fromkeys((*_FLOAT, *_KEEP, *_TESTS, *_REDUCE)), "where": None, "imag": None,
             "complex": None, "contains": None}
_ARITY = {"complex": 2, "fmod": 2, "arctan2": 2, "hypot": 2, "copysign": 2, "nextafter": 2, "maximum": 2,
          "minimum": 2}


def _fx(name):
    return getattr(sys.modules["fusec"], name)


def _function(name, args, keywords):
    if name == "contains":
        raise NotImplementedError(f"{name}() is not supported by fusec.numexpr")
    if name in _REDUCE:
        return _reduction(name, args, keywords)
    if keywords:
        raise TypeError(f"{name}() takes no keyword arguments")
    if len(args) != (3 if name == "where" else _ARITY.get(name, 1)):
        raise TypeError(f"{name}() got {len(args)} arguments")
    if name == "where":
        return _where(*args)
    if name == "complex":
        return _complex(*args)
    if all(v.array is None for v in args):
        f = {"conj": _np.conj, "copy": lambda x: x}.get(name) or getattr(_np, name)
        return _Value(constant=f(*(v.constant for v in args)))
    kind = _common(args)
    if kind == "complex":
        return _of_complex(name, args)
    if name in _TESTS:
        return _Value(_fx(name)(args[0].array), kind="bool")
    if name in _FLOAT:
        if kind in ("bool", "int", "long"):
            kind = "double"
        return _Value(_fx(_FLOAT[name][0])(*(v.to(kind) for v in args)), kind=kind)
    if name == "imag":
        return _Value(_core.broadcast(_core.full(12, 0.0, ()), args[0].array.shape), kind="double")
    if name == "conj":
        return _Value(args[0].to("complex"), kind="complex")
    if name == "real":
        kind = "double"
    if kind == "bool" and name in ("abs", "sign", "round"):
        raise NotImplementedError(f"couldn't find matching opcode for '{name}_bb'")
    return _Value(_fx(_KEEP[name])(*(v.to(kind) for v in args)), kind=kind)


def _complex(a, b):
    if a.array is None and b.array is None:
        return _Value(constant=complex(a.constant, b.constant))
    return _Value(_core.op("complex", tuple(_core.broadcast(v.to("double"), s) for v, s in zip(
        (a, b), 2 * (broadcast_shapes(a.to("double").shape, b.to("double").shape),)))), kind="complex")


_NOT_OF_COMPLEX = {"fmod", "arctan2", "ceil", "floor", "trunc", "hypot", "copysign", "nextafter", "maximum",
                   "minimum", "signbit"}


def _of_complex(name, args):
    """Functions of complex numbers; those that give real ones give them as complex, but for real and imag."""
    if name in _NOT_OF_COMPLEX:
        raise NotImplementedError(f"couldn't find matching opcode for '{name}_cc'")
    (z,) = args
    if name in _TESTS:
        return _Value(_fx(name)(z.array), kind="bool")
    if name in ("real", "imag"):
        return _Value(_fx(name)(z.array), kind="double")
    if name == "round":
        parts = [_row("round", _fx(f)(z.array)) for f in ("real", "imag")]
        return _Value(_core.op("complex", tuple(parts)), kind="complex")
    if name == "conj":
        return _Value(_fx("conj")(z.array), kind="complex")
    r = _fx(_FLOAT[name][0] if name in _FLOAT else _KEEP[name])(z.array)
    return _Value(_Value(r, kind="double").to("complex"), kind="complex")


def _where(c, a, b):
    if c.array is None:
        return a if c.constant else b
    if c.kind != "bool":
        raise NotImplementedError(f"couldn't find matching opcode for 'where_{c.kind[0]}'")
    kind = _common((a, b))
    return _Value(_row("where", c.array, a.to(kind), b.to(kind)), kind=kind)


def _axis(v):
    if v is None or v.array is None and v.constant is None:
        return None
    if v.array is not None or not isinstance(v.constant, int):
        raise ValueError("the axis must be a number")
    if v.constant < 0:
        raise ValueError("negative axis are not supported")
    return v.constant


def _reduction(name, args, keywords):
    args = dict(zip(("a", "axis"), args), **keywords)
    a, axis = args.pop("a"), _axis(args.pop("axis", None))
    if args:
        raise TypeError(f"{name}() got an unexpected keyword argument {next(iter(args))!r}")
    if a.array is None:
        return a
    if a.kind == "complex" and name in ("min", "max", "any", "all", "prod"):
        raise NotImplementedError(f"couldn't find matching opcode for '{name}_cc'")
    r = _fx(name)(a.array, axis=axis)
    return _Value(r, kind=_KIND_OF_CODE[r._code])


OPERATORS = {"and": "bit_and", "or": "bit_or", "xor": "bit_xor"}  # numexpr's names of some, and ours


def part_value(n, args, values):
    """The value of a part of an expression, of those of its own parts."""
    if n.kind == "constant":
        return _Value(constant=n.value, kind="none" if n.value is None else None)
    if n.kind == "name":
        return values[n.value]
    if n.kind == "call":
        return _operator(OPERATORS.get(n.value, n.value), args)
    if n.kind == "function":
        if n.value not in functions:
            raise TypeError(f"'{n.value}' is no function of an expression")
        return _function(n.value, args, {k: _compute(c, values) for k, c in n.keywords})
    return _function(n.value, args, {})  # .real, .imag


def _compute(n, values):
    return part_value(n, [_compute(c, values) for c in n.children], values)


def without_elements(name, type_):
    """A variable of one of numexpr's types, for looking at kinds."""
    kind = _TYPE_KINDS.get(type_)
    if kind is None:
        raise NotImplementedError(f"{name}: {getattr(type_, '__name__', type_)} is not supported by fusec.numexpr")
    return _Value(_core.full(_CODES[kind], False if kind == "bool" else 0, (0,)), kind=kind)


# ---- NumExpr --------------------------------------------------------------------------------------


class ExpressionNode(Node):
    """A part of an expression that is written in Python: E.a * 2 + 1."""

    __slots__ = ()

    @property
    def real(self):
        return ExpressionNode("attribute", "real", (self,))

    @property
    def imag(self):
        return ExpressionNode("attribute", "imag", (self,))

    def __bool__(self):
        raise TypeError("You can't use Python's standard boolean operators in NumExpr expressions.")

    __hash__ = Node.__hash__


def _as_node(x):
    return x if isinstance(x, Node) else ConstantNode(x)


def _node_operator(name, swapped=False):
    def f(self, *other):
        args = (self, *map(_as_node, other))
        return ExpressionNode("call", name, args[::-1] if swapped else args)

    return f


for _python, _name in {"add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "mod": "mod",
                       "floordiv": "floordiv", "pow": "pow", "lshift": "shl", "rshift": "shr",
                       "and": "bit_and", "or": "bit_or", "xor": "bit_xor"}.items():
    setattr(ExpressionNode, f"__{_python}__", _node_operator(_name))
    setattr(ExpressionNode, f"__r{_python}__", _node_operator(_name, True))
for _name in ("lt", "le", "eq", "ne", "gt", "ge", "neg", "invert"):
    setattr(ExpressionNode, f"__{_name}__", _node_operator(_name))


class ConstantNode(ExpressionNode):
    __slots__ = ()

    def __init__(self, value, children=None):
        super().__init__("constant", value)

    @property
    def astKind(self):
        return _constant_kind(self.value)


class _Names:
    """E.a is the variable a, E.sin(x) a function."""

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        if name in functions:
            return lambda *args: ExpressionNode("function", name, tuple(map(_as_node, args)))
        return ExpressionNode("name", name)


E = _Names()


class NumExpr:
    """A compiled expression, called with arrays in the order of the signature."""

    def __init__(self, ex, signature=(), sanitize=True, **kwargs):
        self.tree = read(ex, sanitize) if isinstance(ex, str) else _as_node(ex)
        found = tuple(sorted(_variables(self.tree)))
        self.input_names = tuple(n for n, _ in signature) or found
        self.signature = tuple(t for _, t in signature)
        missing = set(found) - set(self.input_names)
        if missing:
            raise ValueError(f"the signature lacks {', '.join(sorted(missing))}")
        self.constants = tuple(_constants(self.tree))
        self._kinds = [_TYPE_KINDS.get(t) for t in self.signature]
        self._call = Jit(self._expression)

    def _expression(self, *args):
        values = {}
        for i, (name, a) in enumerate(zip(self.input_names, args)):
            v = _variable(a)
            if i < len(self._kinds) and self._kinds[i]:
                kind = self._kinds[i]
                if KINDS.index(v.kind) > KINDS.index(kind):
                    raise TypeError(f"{name} has the kind {v.kind}, the signature says {kind}")
                v = _Value(v.to(kind), kind=kind)
            values[name] = v
        r = _compute(self.tree, values)
        if r.array is None and r.constant is None:
            raise TypeError("the expression has no value")
        return r.to(r.kind)

    def run(self, *args, out=None, order="K", casting="same_kind", ex_uses_vml=False, **kwargs):
        """The value, as a NumPy array or in `out`."""
        if len(args) != len(self.input_names):
            raise ValueError(f"{len(self.input_names)} arrays are needed, {len(args)} were given")
        return self.of_taken([_argument(a) for a in args], out, casting)

    def of_taken(self, args, out, casting):
        """The value of arguments that are NumPy's arrays, ours and numbers."""
        if not args:
            return self._constant(out, casting)
        if out is None:
            return _np.asarray(self._call(*args))
        return _into(self._call, args, out, casting)

    __call__ = run

    def _constant(self, out, casting):
        r = _compute(self.tree, {})
        dtype = _np.dtype(_dtypes.NAMES[_CODES[r.kind]])
        value = _np.array(r.constant, dtype)
        if out is None:
            return value
        _np.copyto(out, value, casting=casting)
        return out


_TYPE_KINDS = {bool: "bool", int: "int", _np.int32: "int", _np.int64: "long", float: "float",
               _np.float32: "float", _np.double: "double", complex: "complex",
               _np.complex128: "complex", "complex": "complex", "bool": "bool", "int": "int",
               "long": "long", "float": "float", "double": "double"}


def _into(call, args, out, casting):
    if not isinstance(out, _np.ndarray):
        raise TypeError("out must be a NumPy array")
    try:
        return call(*args, out=out)
    except (TypeError, ValueError) as error:
        if getattr(error, "slug", "") not in ("result-dtype", "result-shape"):
            raise
    r = _np.asarray(call(*args))
    if not _np.can_cast(r.dtype, out.dtype, casting):
        raise TypeError(f"Cannot cast the result from {r.dtype} to {out.dtype} according to the rule "
                        f"{casting!r}")
    if _np.broadcast_shapes(r.shape, out.shape) != out.shape:
        raise ValueError(f"out has the shape {out.shape}, the result {r.shape}")
    _np.copyto(out, r, casting=casting)
    return out


def _variables(tree):
    return tree.names(set())


def _constants(n, found=None):
    found = [] if found is None else found
    if n.kind == "constant" and not any(c is n.value or c == n.value for c in found):
        found.append(n.value)
    for c in n.children:
        _constants(c, found)
    return found


# ---- the functions --------------------------------------------------------------------------------


def read(ex, sanitize=True):
    if not isinstance(ex, str):
        raise ValueError("must specify expression as a string")
    try:
        return parse(ex, with_slices=False)
    except SyntaxError:
        if sanitize and any(c in ex for c in ":;[") or "__" in ex:
            raise ValueError(f"Expression {ex} has forbidden control characters.") from None
        raise


_cache = {}
_last = threading.local()


def _compiled(ex, sanitize):
    c = _cache.get(ex)
    if c is None:
        c = NumExpr(ex, sanitize=sanitize)
        if len(_cache) > 1000:
            _cache.clear()
        _cache[ex] = c
    return c


def _sanitized(sanitize):
    if sanitize is None:
        return bool(int(os.environ.get("NUMEXPR_SANITIZE", "1") or 1))
    return sanitize


def _argument(a):
    if isinstance(a, (_np.ndarray, float, int, complex, Array)):
        if isinstance(a, _np.ndarray):
            if a.dtype.kind in "SU":
                getType(a)
            return a if type(a) is _np.ndarray else _np.asarray(a)
        return a
    a = _np.asarray(a)
    getType(a)
    return a


def _arguments(names, local_dict, global_dict, frame):
    if local_dict is None:
        local_dict = frame.f_locals
    if global_dict is None:
        global_dict = frame.f_globals
    out = []
    for name in names:
        try:
            a = local_dict[name]
        except KeyError:
            a = global_dict[name]
        out.append(_argument(a))
    return out


def getExprNames(text, context, sanitize=True):
    """The names of variables, in order, and whether MKL's functions are used: never."""
    return sorted(_variables(read(text, sanitize))), False


def evaluate(ex, local_dict=None, global_dict=None, out=None, order="K", casting="same_kind",
             sanitize=None, _frame_depth=3, disable_cache=False, **kwargs):
    """The value of an expression; names are variables of the caller."""
    c = _cache.get(ex) or _compiled(ex, _sanitized(sanitize))
    args = _arguments(c.input_names, local_dict, global_dict, sys._getframe(max(_frame_depth - 2, 1)))
    if not disable_cache:
        _last.value = (c, casting, None if out is None else weakref.ref(out))
    return c.of_taken(args, out, casting)


def validate(ex, local_dict=None, global_dict=None, out=None, order="K", casting="safe",
             _frame_depth=2, sanitize=None, **kwargs):
    """None if the expression can be evaluated, else the exception."""
    try:
        c = _compiled(ex, _sanitized(sanitize))
        _arguments(c.input_names, local_dict, global_dict, sys._getframe(max(_frame_depth - 1, 1)))
        _last.value = (c, casting, None if out is None else weakref.ref(out))
    except Exception as error:
        return error
    return None


def re_evaluate(local_dict=None, global_dict=None, _frame_depth=2):
    """Evaluates the last expression again, with what its names are now."""
    last = getattr(_last, "value", None)
    if last is None:
        raise RuntimeError("A previous evaluate() execution was not found, please call `validate` or "
                           "`evaluate` once before `re_evaluate`")
    c, casting, out = last
    args = _arguments(c.input_names, local_dict, global_dict, sys._getframe(max(_frame_depth - 1, 1)))
    out = None if out is None else out()
    return c.of_taken(args, out, casting)


def disassemble(nex):
    """numexpr's instructions: there are none here."""
    raise NotImplementedError("fusec.numexpr has no instructions to show: it compiles kernels")


# ---- threads --------------------------------------------------------------------------------------


def detect_number_of_cores():
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


detect_number_of_threads = detect_number_of_cores


def _number(name):
    try:
        return int(os.environ.get(name, ""))
    except ValueError:
        return 0


MAX_THREADS = _number("NUMEXPR_MAX_THREADS") or MAX_THREADS


def _init_num_threads():
    """The number of threads by NUMEXPR_NUM_THREADS and OMP_NUM_THREADS, as numexpr reads them."""
    wanted = _number("NUMEXPR_NUM_THREADS") or _number("OMP_NUM_THREADS")
    return min(wanted or detect_number_of_cores(), MAX_THREADS)


ncores = detect_number_of_cores()
nthreads = _init_num_threads()


def set_num_threads(n):
    """Remembers the number and returns the one before: fusec's threads are set by FUSEC_THREADS when
    the process starts, and results do not depend on them."""
    global nthreads
    if not 1 <= n <= MAX_THREADS:
        raise ValueError(f"the number of threads must be between 1 and {MAX_THREADS}")
    before, nthreads = nthreads, n
    return before


def get_num_threads():
    return nthreads


def get_vml_version():
    return None


def set_vml_accuracy_mode(mode):
    return None


def set_vml_num_threads(n):
    return None


def get_vml_num_threads():
    return None


def print_versions():
    from . import __version__ as fusec_version

    print(f"fusec {fusec_version} as numexpr {__version__}; NumPy {_np.__version__}")


# ---- submodules that others import ------------------------------------------------------------------


def _module(name, **names):
    m = types.ModuleType(f"{__name__}.{name}", f"As numexpr.{name}.")
    m.__dict__.update(names)
    sys.modules[m.__name__] = m
    return m


from ._numexpr_tree import expressionToAST, getContext, stringToExpression, typeCompileAst  # noqa: E402

necompiler = _module("necompiler", stringToExpression=stringToExpression, expressionToAST=expressionToAST,
                     typeCompileAst=typeCompileAst, getContext=getContext,
                     typecode_to_kind={**{k[0]: k for k in KINDS}, "n": "none", "s": "str"}, getType=getType, int_=int_, long_=long_, double=double,
                     NumExpr=NumExpr, evaluate=evaluate, re_evaluate=re_evaluate, validate=validate,
                     getExprNames=getExprNames, disassemble=disassemble)
expressions = _module("expressions", functions=functions, E=E, ConstantNode=ConstantNode,
                      ExpressionNode=ExpressionNode)
interpreter = _module("interpreter", NumExpr=NumExpr, MAX_THREADS=MAX_THREADS, use_vml=False)
utils = _module("utils", detect_number_of_cores=detect_number_of_cores, _init_num_threads=_init_num_threads,
                set_num_threads=set_num_threads, get_num_threads=get_num_threads,
                set_vml_num_threads=set_vml_num_threads, get_vml_num_threads=get_vml_num_threads,
                detect_number_of_threads=detect_number_of_threads, get_vml_version=get_vml_version,
                set_vml_accuracy_mode=set_vml_accuracy_mode)
version = _module("version", version=__version__)


def install():
    """`import numexpr` is this module from now on, in this process."""
    this = sys.modules[__name__]
    sys.modules["numexpr"] = this
    for m in (necompiler, expressions, interpreter, utils, version):
        sys.modules["numexpr." + m.__name__.rpartition(".")[2]] = m
    return this

