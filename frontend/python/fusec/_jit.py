# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""fx.jit: Python functions compiled as a whole, and fx.eval, fx.explain.

A call's arguments are taken apart into leaves. Arrays and numbers become inputs of a trace, everything
else is part of the key. The trace runs the function once for each combination of dtypes, numbers of
axes and pattern of lengths (which are 1, which are equal); lengths stay names. Where a length decides
something, or a program does not take some sizes, the function is traced for exactly these sizes.

What the function reads from outside is looked at again at each call: arrays found there are inputs,
numbers and strings are compared, and the function is traced again when they are others.
"""

import array
import functools
import pickle
import sys
import types
from _thread import RLock  # as threading has it, which takes longer to import than half of fusec

from . import _core, _create
from ._array import Array
from ._config import mode_of
from ._create import asarray, is_numpy
from ._dtypes import as_code
from ._errors import DeviceError, Error, IndexNeeded, SizeNeeded, TraceError, ValueNeeded
from ._explain import Computed, Explanation
from ._device import name_of, number_of
from ._foreign import foreign_type, is_foreign
from ._into import into
from ._tree import flatten, unflatten

NUMPY, OURS, FOREIGN = 1, 2, 3  # as the extension numbers them
MOST_PROGRAMS = 256  # of one function for one structure of arguments


# ---- leaves ---------------------------------------------------------------------------------------


class Leaves:
    """The arguments of a call: arrays and numbers as the program takes them, and what describes them."""

    __slots__ = ("values", "kinds", "kind", "keep", "like", "device")

    def __init__(self, leaves, static, ints_static, device=None):
        self.values, self.kinds, self.kind, self.keep, self.like = [], [], 0, leaves, None
        found, self.device = set(), device
        for i, x in enumerate(leaves):
            t = type(x)
            if i in static:
                self.kinds.append(("s", _hashable(x)))
            elif t is Array:
                found.add(OURS)
                if x.ndim or x._device:
                    self._on(x._device)
                self._array(x, x._code, x.ndim)
            elif is_numpy(x):
                found.add(NUMPY)
                a = _create._plain_numpy(x)
                self._array(a, as_code(a.dtype), a.ndim)
            elif t is float:
                self._number(x, "f")
            elif (t is int or t is bool) and ints_static:
                self.kinds.append(("s", (t, x)))
            elif t is bool:
                self._number(x, "b")
            elif t is int:
                if -(2**63) <= x < 2**63:
                    self._number(x, "i")
                elif x.bit_length() > 64 or x < 0:
                    raise OverflowError(f"the integer {x} has more than 64 bits: no array has such elements")
                else:
                    a = asarray(x, dtype="uint64")
                    self._array(a, a._code, 0)
            elif is_foreign(x):
                found.add(FOREIGN)
                code, device = foreign_type(x)
                if self.like is None or device:
                    self.like = x
                if x.ndim or device:
                    self._on(device)
                self._array(x, code, x.ndim)
            elif isinstance(x, complex):
                a = asarray(x)
                self._array(a, a._code, 0)
            elif isinstance(x, type):  # a dtype: its instances may be arrays
                self.kinds.append(("s", _hashable(x)))
            elif isinstance(x, (memoryview, array.array)) or hasattr(x, "__dlpack__") or _create._has_arrow(x):
                a = _create.borrow(x)
                self._on(a._device)
                self._array(a, a._code, a.ndim)
            elif hasattr(x, "__array__") or hasattr(x, "__array_interface__"):  # a column of pandas, a data set of a file
                found.add(NUMPY)
                a = _create._plain_numpy(x)
                self._array(a, as_code(a.dtype), a.ndim)
            else:
                self.kinds.append(("s", _hashable(x)))
        self.kind = FOREIGN if FOREIGN in found else OURS if OURS in found or not found else NUMPY
        if NUMPY in found and self.device and device is None and self.device != _core.current_device():
            raise DeviceError(f"NumPy's arrays are on the cpu, others on {name_of(self.device)}: move them "
                              "with fx.asarray(x, device=...)", "device")
        if self.device is None:
            self.device = _core.current_device()

    def _on(self, device):
        if self.device is None:
            self.device = device
        elif self.device != device:
            raise DeviceError(f"arguments are on {name_of(self.device)} and on {name_of(device)}: move one "
                              "with x.to_device(...)", "device")

    def _array(self, x, code, rank):
        self.values.append(x)
        self.kinds.append(("a", code, rank))

    def _number(self, x, kind):
        self.values.append(x)
        self.kinds.append(("n", kind))


class _ById:
    """An object that can't be hashed, or is compared by elements: the same one each time."""

    __slots__ = ("object",)

    def __init__(self, object):
        self.object = object

    def __hash__(self):
        return id(self.object)

    def __eq__(self, other):
        return isinstance(other, _ById) and self.object is other.object


def _hashable(x):
    try:
        hash(x)
    except TypeError:
        raise TypeError(f"an argument of type {type(x).__name__} is neither an array nor a number, and "
                        "what is no array must be hashable: it is part of what is compiled; arrays come in "
                        "tuples, lists, dicts and named tuples") from None
    return _ById(x) if hasattr(x, "__dict__") and not isinstance(x, (type, types.FunctionType)) else (
        type(x), x)


# ---- what a function reads from outside -----------------------------------------------------------

_PLAIN = (int, float, bool, str, bytes, type(None))


def _is_guarded(x):
    if isinstance(x, (*_PLAIN, Array)) or is_numpy(x) or is_foreign(x):
        return True
    return isinstance(x, (types.FunctionType, tuple))


def _codes(code):
    yield code
    for c in code.co_consts:
        if isinstance(c, types.CodeType):
            yield from _codes(c)


def places_of(f, objects=(), seen=None, depth=0):
    """(dict or cell, name or None, what is there) for what the function may read from outside."""
    seen = set() if seen is None else seen
    if id(f) in seen or depth > 3 or not isinstance(f, types.FunctionType):
        return []
    seen.add(id(f))
    found, names = [], {n for c in _codes(f.__code__) for n in c.co_names}
    for cell in f.__closure__ or ():
        try:
            found.append((cell, None, cell.cell_contents))
        except ValueError:
            continue
    for name in names:
        if name in f.__globals__:
            found.append((f.__globals__, name, f.__globals__[name]))
    for o in [*objects, *(x for _, _, x in found)]:
        d = getattr(o, "__dict__", None)
        if isinstance(o, dict):
            found += [(o, k, v) for k, v in o.items() if isinstance(k, str)]
        elif type(d) is dict and not isinstance(o, (types.ModuleType, type, types.FunctionType)):
            found += [(d, k, v) for k, v in d.items() if k in names]
    for _, _, x in list(found):
        if isinstance(x, types.FunctionType) and not x.__module__.startswith("fusec"):
            found += places_of(x, (), seen, depth + 1)
    return [(p, n, x) for p, n, x in found if _is_guarded(x)]


def _look(place, name):
    try:
        return place.cell_contents if name is None else place[name]
    except (KeyError, ValueError):
        return None


# ---- tracing --------------------------------------------------------------------------------------


class Entry:
    """A program, how results are put together, and what was read from outside."""

    __slots__ = ("program", "guards", "structure", "constants", "noutputs", "is_static", "ninputs")

    def inputs(self, values):
        """All arguments of the program, or None if something outside has changed."""
        out = [*values, *[None] * (self.ninputs - len(values))]
        for place, name, seen, number in self.guards:
            now = seen if place is None else _look(place, name)
            if number < 0:
                if now is not seen:
                    return None
            else:
                out[number] = _outside(now)
        return tuple(out)

    def results(self, arrays):
        parts = [arrays[i] if c is None else c[0] for i, c in zip(self.order(), self.constants)]
        return unflatten(self.structure, iter(parts))

    def order(self):
        n = -1
        for c in self.constants:
            n += c is None
            yield n


def _outside(x):
    if is_numpy(x):
        return _create._plain_numpy(x)
    return x


def _trace_inputs(trace, leaves):
    """The arguments of the function: traced arrays in place of arrays and numbers."""
    out, values, keep = [], iter(leaves.values), iter(leaves.keep)
    for k in leaves.kinds:
        original = next(keep)
        if k[0] == "s":
            out.append(original)
        elif k[0] == "n":
            next(values)
            out.append(trace.number(k[1]))
        else:
            out.append(trace.input(k[1], tuple(next(values).shape)))
    return out


def _as_outputs(leaves, trace):
    arrays, constants = [], []
    for x in leaves:
        if isinstance(x, Array) or is_numpy(x) or is_foreign(x):
            x = asarray(x)
            if x._trace is not trace:
                x = _core.broadcast(x, x.shape)  # an array from outside: as an input
            if x._weak:
                x = _core.cast(x, x._code)
            arrays.append(x)
            constants.append(None)
        elif isinstance(x, _core.Dim):
            arrays.append(asarray(0) + x)
            constants.append(None)
        else:
            constants.append((x,))
    return arrays, constants


def trace_once(f, rebuild, leaves, is_static, mode=None):
    """Runs f on a trace; an Entry. mode: bits of licences; None: those of fx.config."""
    trace = _core.Trace(is_static, leaves.device, -1 if mode is None else mode)
    before = trace.enter()
    try:
        args, kwargs = rebuild(_trace_inputs(trace, leaves))
        result = f(*args, **kwargs)
        flat = []
        e = Entry()
        e.structure = flatten(result, flat)
        arrays, e.constants = _as_outputs(flat, trace)
        captured = list(trace.captured)
        if not arrays:
            raise TraceError("the function gives no array: there is nothing to compile")
        e.program = trace.compile(tuple(arrays))
    except IndexNeeded:
        raise
    except ValueNeeded as error:
        raise TraceError(_with_place(str(error), error), "trace") from None
    finally:
        trace.leave(before)
    e.noutputs, e.is_static = len(arrays), is_static
    statics = [x.object if isinstance(x, _ById) else None
               for x in (k[1] for k in leaves.kinds if k[0] == "s")]
    places = places_of(f, [s for s in statics if s is not None])
    e.ninputs = len(leaves.values) + len(captured)
    e.guards = _guards(places, captured, len(leaves.values))
    return e


def _guards(places, captured, first):
    guards, used = [], set()
    for number, (o, _) in enumerate(captured, first):
        place = next(((p, n) for p, n, x in places if x is o), (None, None))
        guards.append((*place, o, number))
        used.add(id(o))
    for p, n, x in places:
        if id(x) not in used and not isinstance(x, Array) and not is_numpy(x) and not is_foreign(x):
            guards.append((p, n, x, -1))
    return tuple(guards)


def _with_place(text, error):
    """The line of the user's function."""
    tb, here = error.__traceback__, None
    folder = __file__.rpartition("/")[0]
    while tb is not None:
        name = tb.tb_frame.f_code.co_filename
        if not name.startswith(folder):
            here = f"{name}:{tb.tb_lineno}, in {tb.tb_frame.f_code.co_name}"
        tb = tb.tb_next
    return f"{text} ({here})" if here else text


# ---- the decorated function -----------------------------------------------------------------------


@functools.lru_cache(64)
def _sent(data, static_argnames, device, mode=None):
    """A function that came from another process: the same each time, so that it is compiled once."""
    return Jit(pickle.loads(data), static_argnames, (), device, mode)


class Jit(_core.Jit):
    """A compiled function; see fx.jit."""

    def __new__(cls, f, static_argnames=(), static_argnums=(), device=None, mode=None):
        return super().__new__(cls, _slow)

    def __init__(self, f, static_argnames=(), static_argnums=(), device=None, mode=None):
        if not callable(f):
            raise TypeError("fx.jit takes a function")
        functools.update_wrapper(self, f)  # f may be another Jit, whose attributes come with it
        self._mode = None if mode is None else mode_of(mode)
        self._device, self._where = None if device is None else number_of(device), device
        nums = {static_argnums} if isinstance(static_argnums, int) else set(static_argnums)
        self._static = {static_argnames} if isinstance(static_argnames, str) else set(static_argnames)
        self._signature, names = None, ()
        if self._static or nums:
            import inspect  # takes as long as all of fusec

            self._signature = inspect.signature(f)
            names = list(self._signature.parameters)
        self._static |= {names[i] for i in nums}
        for name in self._static:
            if self._signature and name not in names and not any(
                    p.kind == p.VAR_KEYWORD for p in self._signature.parameters.values()):
                raise ValueError(f"static_argnames: the function has no argument {name!r}")
        code = getattr(f, "__code__", None)
        self._has_out = code is not None and "out" in code.co_varnames[
            : code.co_argcount + code.co_kwonlyargcount]
        self._programs = {}
        self._ints_static = set()
        self._lock = RLock()

    def __get__(self, instance, owner=None):
        return self if instance is None else types.MethodType(self, instance)

    def __repr__(self):
        return f"<fx.jit of {getattr(self, '__qualname__', self.__wrapped__)}>"

    def __reduce__(self):
        module, name = self.__module__, self.__qualname__
        found = sys.modules.get(module)
        for part in name.split("."):
            found = getattr(found, part, None)
        # Dask, Ray and the like bring what sends functions that other processes can't import
        values = sys.modules.get("cloudpickle") or sys.modules.get("ray.cloudpickle")
        if found is self and (module != "__main__" or values is None):
            return name
        if values is None:
            raise pickle.PicklingError(f"{self!r} can't be found as {module}.{name}: only functions of "
                                       "modules can be pickled, others where cloudpickle is imported")
        return _sent, (values.dumps(self.__wrapped__), tuple(sorted(self._static)), self._where, self._mode)

    # ---- taking a call apart ----

    def _leaves(self, args, kwargs):
        flat, static = [], set()
        if self._static and self._signature is not None:
            bound = self._signature.bind(*args, **kwargs)
            structure = []
            for name, value in bound.arguments.items():
                if name in self._static:
                    static.add(len(flat))
                    flat.append(value)
                    structure.append((name, "x"))
                else:
                    structure.append((name, flatten(value, flat)))
            structure = tuple(structure)

            def rebuild(leaves):
                it = iter(leaves)
                b = type(bound)(self._signature, {n: unflatten(s, it) for n, s in structure})
                return b.args, b.kwargs
        else:
            structure = flatten((args, kwargs), flat)

            def rebuild(leaves):
                return unflatten(structure, iter(leaves))
        return flat, static, structure, rebuild

    def _find(self, args, kwargs):
        """(key of the programs for these arguments, the arguments as leaves, how they are put together)"""
        flat, static, structure, rebuild = self._leaves(args, kwargs)
        leaves = Leaves(flat, static, structure in self._ints_static, self._device)
        key = (structure, tuple(leaves.kinds), leaves.device)
        return key, leaves, rebuild

    def _call(self, args, kwargs):
        if _core.tracing() is not None:
            return self.__wrapped__(*args, **kwargs)
        out = None
        if not self._has_out and "out" in kwargs:
            kwargs = dict(kwargs)
            out = kwargs.pop("out")
        key, leaves, rebuild = self._find(args, kwargs)
        outs = None if out is None else _out_tuple(out)
        fresh = outs is not None and not all(o is None or is_numpy(o) or is_foreign(o) for o in outs)
        for entry in list(self._programs.get(key, ())):
            inputs = entry.inputs(leaves.values)
            if inputs is None:
                continue
            try:
                r = _run(entry, inputs, outs, leaves, fresh)
            except Error as e:
                if entry.is_static or e.slug in ("result-shape", "result-dtype"):
                    raise
                continue  # sizes that this program does not take: traced for them
            if r is not None:
                return _finish(entry, r, out)
        return self._first(key, leaves, rebuild, args, kwargs, outs, fresh, out)

    def _first(self, key, leaves, rebuild, args, kwargs, outs, fresh, out):
        error = None
        for is_static in (False, True):
            try:
                entry = trace_once(self.__wrapped__, rebuild, leaves, is_static, self._mode)
                inputs = entry.inputs(leaves.values)
                r = _run(entry, inputs, outs, leaves, fresh)
                if r is None:
                    raise Error("the arguments do not fit the program made for them", "internal")
            except IndexNeeded:
                if key[0] in self._ints_static:
                    raise TraceError("a traced number is used as an index, an axis or a length",
                                     "trace") from None
                self._ints_static.add(key[0])
                return self._call(args, kwargs if out is None else {**kwargs, "out": out})
            except TraceError:
                raise
            except Exception as e:
                if is_static or getattr(e, "slug", "") in ("result-shape", "result-dtype"):
                    raise
                error = e
                if not isinstance(e, (SizeNeeded, Error, TypeError, ValueError, IndexError)):
                    raise
                continue
            self._keep(key, entry, leaves, args, kwargs)
            return _finish(entry, r, out)
        raise error

    def _keep(self, key, entry, leaves, args, kwargs):
        with self._lock:
            entries = self._programs.setdefault(key, [])
            entries.insert(0, entry)
            del entries[MOST_PROGRAMS:]
        flat = len(leaves.values) == len(args) == len(leaves.kinds) and not kwargs
        single = entry.structure == "x"
        pair = entry.structure[0] == "t" and all(s == "x" for s in entry.structure[1:])
        if flat and (single or pair) and all(c is None for c in entry.constants) and \
                all(k[0] != "s" for k in leaves.kinds):
            self._remember(entry.program, len(args), entry.guards, not single)

    # ---- looking at it ----

    def _program_for(self, args, kwargs):
        self(*args, **kwargs)
        key, leaves, _ = self._find(args, kwargs)
        for entry in self._programs[key]:
            inputs = entry.inputs(leaves.values)
            if inputs is not None and entry.program.fits(inputs):
                return entry.program, inputs
        raise Error("there is no program for these arguments", "internal")

    def explain(self, *args, **kwargs):
        """What becomes of a call with these arguments: kernels, traffic, and why there are several.

        >>> f = fx.jit(lambda x: fx.sin(x*2 + 1))
        >>> len(f.explain(fx.zeros(100)).kernels)
        1
        """
        program, inputs = self._program_for(args, kwargs)
        return Explanation(lambda as_json: program.explain(inputs, as_json),
                           lambda i: program.source(i, inputs))

    def source(self, *args, **kwargs):
        """The code of the kernels of such a call."""
        return self.explain(*args, **kwargs).source

    def cache_clear(self):
        """Forgets all programs."""
        self._programs.clear()
        self._ints_static.clear()
        self._forget()


def _slow(self, args, kwargs):
    return self._call(args, kwargs or {})


def _out_tuple(out):
    if isinstance(out, (list, tuple)):
        return tuple(out)
    return (out,)


def _run(entry, inputs, outs, leaves, fresh):
    if outs is not None and len(outs) != entry.noutputs:
        raise ValueError(f"out has {len(outs)} arrays, the function gives {entry.noutputs}")
    for o in outs or ():
        if is_numpy(o):
            if not o.flags.writeable:
                raise ValueError("out is read-only")
    if outs is None or not fresh:
        return entry.program.run(inputs, outs, leaves.kind, leaves.like)
    r = entry.program.run(inputs, None, OURS)
    if r is None:
        return None
    return [a if o is None else into(a, o) for a, o in zip(r, outs)]


def _finish(entry, results, out):
    if out is not None and entry.noutputs == len(entry.constants) == 1:
        return results[0]
    return entry.results(results)


def jit(f=None, *, static_argnames=(), static_argnums=(), device=None, mode=None):
    """Compiles a function of arrays as a whole, in as few kernels as possible.

    It is traced once for a combination of dtypes, numbers of axes and pattern of lengths; other
    lengths compile nothing. NumPy's arrays give NumPy's, arrays of fusec theirs, torch's tensors
    tensors, CuPy's arrays CuPy's. It runs where the arrays are, on the stream of torch or CuPy; NumPy's
    arrays are copied to `device` and back if that is a GPU. Arguments may be arrays, numbers, and tuples, lists and dicts of them; numbers are arguments
    of the kernel. Everything else, and what static_argnames names, is part of what is compiled.
    `out=` writes to an array that is there. `mode` has licences to round differently, as fx.config's: "fast", or some
    of them ("reassoc": attention goes through its rows once).

    >>> @fx.jit
    ... def f(x, k):
    ...     return fx.sin(x) * k
    >>> f(fx.asarray([0.0, 0.5]), 2.0).shape
    (2,)
    """
    if f is None:
        return functools.partial(jit, static_argnames=static_argnames, static_argnums=static_argnums,
                                 device=device, mode=mode)
    return Jit(f, static_argnames, static_argnums, device, mode)


def eval(*arrays):
    """Computes arrays (and those in lists, tuples, dicts) together, in one plan."""
    if len(arrays) == 1 and type(arrays[0]) is Array:
        _core.evaluate(arrays)
        return arrays[0]
    leaves = []
    flatten(arrays, leaves)
    _core.evaluate(tuple(a for a in leaves if isinstance(a, Array)))
    return arrays[0] if len(arrays) == 1 else arrays


def explain(x):
    """What will be computed for an array: kernels, traffic, reasons for several. Computes nothing.

    >>> len(fx.explain(fx.sin(fx.zeros(100)) * 2).kernels)
    1
    """
    x = asarray(x)
    if x._trace is None and not _core.depth(x):
        return Computed(f"{x.dtype.name}{list(x.shape)} on {x.device}: its elements are there, nothing is left to compute")
    return Explanation(lambda as_json: _core.explain(x, as_json))
