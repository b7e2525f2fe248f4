# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""torch.compile(model, backend="fusec"): the maps, reductions and views of a model as fused kernels.

AOTAutograd gives graphs of ATen operations, forward and backward. Connected operations that fusec
has become a part, compiled as fx.jit compiles a function, with lengths as names; the rest stays torch's.
`report()` says what became of the graphs so far.

On a GPU the parts run on torch's current stream, in memory of torch's.
"""

import functools
import operator
from collections import Counter

import fusec as fx
import torch
from torch._dynamo.backends.common import aot_autograd
from torch.fx.passes.utils.fuser_utils import fuse_by_partitions

from . import _core
from ._array import Array
from ._dtypes import DTYPES
from ._errors import SizeNeeded
from ._foreign import torch_codes, use_torch

__all__ = ["backend", "report"]

aten = torch.ops.aten
prims = torch.ops.prims

# ---- ATen operations as operations of arrays --------------------------------------------------------


def _row(name):
    return _core.rows[name][3]


def _alpha(op):
    def f(x, y, alpha=1):
        return op(x, y if alpha == 1 else y * alpha)

    return f


def _dtype(t):
    return DTYPES[torch_codes()[t]]


def _axes(dim, x, keep=False):
    if dim is None or isinstance(dim, (list, tuple)) and not dim:
        return None
    return tuple(dim) if isinstance(dim, (list, tuple)) else dim


def _sum(x, dim=None, keepdim=False, dtype=None):
    return fx.sum(x, axis=_axes(dim, x), keepdims=keepdim, dtype=None if dtype is None else _dtype(dtype))


def _mean(x, dim=None, keepdim=False, dtype=None):
    return fx.mean(x, axis=_axes(dim, x), keepdims=keepdim, dtype=None if dtype is None else _dtype(dtype))


def _extreme(name):
    def f(x, dim=None, keepdim=False):
        return getattr(fx, name)(x, axis=_axes(dim, x), keepdims=keepdim)

    return f


def _var(x, dim=None, correction=1, keepdim=False):
    return fx.var(x, axis=_axes(dim, x), correction=1 if correction is None else correction,
                     keepdims=keepdim)


def _var_mean(x, dim=None, correction=1, keepdim=False):
    return _var(x, dim, correction, keepdim), _mean(x, dim, keepdim)


def _view(x, shape):
    return fx.reshape(x, tuple(shape))


def _expand(x, shape, implicit=False):
    known = x.shape
    lead = len(shape) - len(known)
    shape = tuple(known[i - lead] if isinstance(n, int) and n == -1 else n for i, n in enumerate(shape))
    return _core.broadcast(x, shape)


def _slice(x, dim=0, start=None, end=None, step=1):
    if end is not None and isinstance(end, int) and end > 2**62:
        end = None
    key = [slice(None)] * x.ndim
    key[dim] = slice(start, end, step)
    return x[tuple(key)]


def _select(x, dim, index):
    key = [slice(None)] * x.ndim
    key[dim] = index
    return x[tuple(key)]


def _cast(x, *args, **kwargs):
    dtype = kwargs.get("dtype") or next((a for a in args if isinstance(a, torch.dtype)), None)
    return x if dtype is None else x.astype(_dtype(dtype), copy=False)


def _full(shape, value, dtype=None, **kwargs):
    return fx.full(tuple(shape), value, dtype=None if dtype is None else _dtype(dtype))


def _full_like(x, value, dtype=None, **kwargs):
    return fx.full(x.shape, value, dtype=x.dtype if dtype is None else _dtype(dtype))


def _clamp(x, low=None, high=None):
    return fx.clip(x, low, high)


def _div(x, y, rounding_mode=None):
    if rounding_mode is None:
        return x / y
    return x // y if rounding_mode == "floor" else fx.trunc(x / y)


# As torch computes them: products and roots, not the power function.
_POWERS = {3: lambda x: x * x * x, -1: lambda x: 1 / x, -2: lambda x: 1 / (x * x), 0.5: fx.sqrt, -0.5: _row("rsqrt")}


def _pow(x, y):
    known = _POWERS.get(y) if isinstance(y, (int, float)) and fx.isdtype(x.dtype, "real floating") else None
    return known(x) if known else x**y


def _where(c, x, y):
    return fx.where(c, x, y)


def _unsqueeze(x, dim):
    return fx.expand_dims(x, axis=dim)


def _squeeze(x, dim=None):
    axes = range(x.ndim) if dim is None else dim if isinstance(dim, (list, tuple)) else (dim,)
    axes = tuple(a for a in axes if isinstance(x.shape[a], int) and x.shape[a] == 1)
    return fx.squeeze(x, axis=axes) if axes else x


def _iota(length, start=0, step=1, dtype=torch.int64, **kwargs):
    return (_core.arange(length) * step + start).astype(_dtype(dtype), copy=False)


def _pad(x, pad, value=0):
    widths = [(0, 0)] * (x.ndim - len(pad) // 2) + [(pad[i], pad[i + 1]) for i in range(len(pad) - 2, -1, -2)]
    return fx.pad(x, widths, constant_values=value)


_OPS = {
    prims.iota.default: _iota, aten.constant_pad_nd.default: _pad,
    aten.scalar_tensor.default: lambda v, dtype=torch.float32, **k: fx.full((), v, dtype=_dtype(dtype)),
    aten.cumsum.default: lambda x, dim, dtype=None: fx.cumsum(x, axis=dim, dtype=None if dtype is None else _dtype(dtype)),
    aten.add.Tensor: _alpha(operator.add), aten.sub.Tensor: _alpha(operator.sub),
    aten.add.Scalar: _alpha(operator.add), aten.sub.Scalar: _alpha(operator.sub),
    aten.rsub.Scalar: lambda x, y, alpha=1: y - x * alpha,
    aten.mul.Tensor: operator.mul, aten.mul.Scalar: operator.mul,
    aten.div.Tensor: _div, aten.div.Scalar: _div, aten.div.Tensor_mode: _div,
    aten.neg.default: operator.neg, aten.pow.Tensor_Scalar: _pow, aten.pow.Tensor_Tensor: _pow,
    aten.abs.default: abs, aten.sign.default: _row("sign"), aten.reciprocal.default: lambda x: 1 / x,
    aten.square.default: lambda x: x * x,
    aten.relu.default: lambda x: fx.maximum(x, 0), aten.clamp.default: _clamp,
    aten.clamp_min.default: lambda x, low: _clamp(x, low),
    aten.clamp_max.default: lambda x, high: _clamp(x, None, high),
    aten.hardtanh.default: lambda x, low=-1.0, high=1.0: _clamp(x, low, high),
    aten.gelu.default: lambda x, approximate="none": fx.nn.gelu(x, approximate=approximate == "tanh"),
    aten.silu.default: fx.nn.silu,
    aten.leaky_relu.default: lambda x, s=0.01: _where(x > 0, x, x * s),
    aten.hardswish.default: lambda x: x * _clamp(x + 3, 0, 6) / 6,
    aten.hardsigmoid.default: lambda x: _clamp(x + 3, 0, 6) / 6,
    aten._softmax.default: lambda x, dim, half=False: fx.nn.softmax(x, dim),
    aten._log_softmax.default: lambda x, dim, half=False: fx.nn.log_softmax(x, dim),
    aten.where.self: _where, aten.where.ScalarOther: _where, aten.where.ScalarSelf: _where,
    aten.where.Scalar: _where,
    aten.logical_not.default: lambda x: ~(x if x._code == 0 else x != 0),
    aten.logical_and.default: _row("logical_and"), aten.logical_or.default: _row("logical_or"),
    aten.bitwise_not.default: operator.invert, aten.bitwise_and.Tensor: operator.and_,
    aten.bitwise_or.Tensor: operator.or_,
    aten.maximum.default: _row("maximum"), aten.minimum.default: _row("minimum"),
    aten.atan2.default: _row("atan2"), aten.fmod.Scalar: _row("fmod"), aten.fmod.Tensor: _row("fmod"),
    aten.sum.default: _sum, aten.sum.dim_IntList: _sum, aten.mean.default: _mean, aten.mean.dim: _mean,
    aten.amax.default: _extreme("max"), aten.amin.default: _extreme("min"),
    aten.any.default: lambda x: x.any(), aten.any.dim: _extreme("any"), aten.all.default: lambda x: x.all(),
    aten.var.correction: _var, aten.var_mean.correction: _var_mean,
    aten.argmax.default: _extreme("argmax"), aten.argmin.default: _extreme("argmin"),
    aten.view.default: _view, aten.reshape.default: _view, aten._unsafe_view.default: _view,
    aten.permute.default: lambda x, dims: fx.permute_dims(x, tuple(dims)),
    aten.transpose.int: lambda x, a, b: fx.swapaxes(x, a, b), aten.t.default: lambda x: x.T,
    aten.expand.default: _expand, aten.unsqueeze.default: _unsqueeze,
    aten.squeeze.default: _squeeze, aten.squeeze.dim: _squeeze, aten.squeeze.dims: _squeeze,
    aten.slice.Tensor: _slice, aten.select.int: _select, aten.alias.default: lambda x: x,
    aten.flip.default: lambda x, dims: fx.flip(x, axis=tuple(dims)),
    aten.clone.default: lambda x, **k: x, aten.detach.default: lambda x: x,
    aten.full.default: _full, aten.full_like.default: _full_like,
    aten.zeros_like.default: lambda x, **k: _full_like(x, 0, k.get("dtype")),
    aten.ones_like.default: lambda x, **k: _full_like(x, 1, k.get("dtype")),
    aten._to_copy.default: _cast, prims.convert_element_type.default: _cast,
    aten.threshold_backward.default: lambda g, x, t: _where(x <= t, 0.0, g),
    aten.sigmoid_backward.default: lambda g, y: g * (y * (1 - y)),
    aten.tanh_backward.default: lambda g, y: g * (1 - y * y),
    aten.cat.default: lambda xs, dim=0: fx.concat(list(xs), axis=dim),
    aten.stack.default: lambda xs, dim=0: fx.stack(list(xs), axis=dim),
    operator.getitem: lambda x, i: x[i],
}
for _name in ("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "sin", "cos", "tan",
              "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc",
              "sigmoid", "floor", "ceil", "trunc", "round", "isnan", "isinf"):
    if hasattr(aten, _name) and _name in _core.rows:
        _OPS[getattr(aten, _name).default] = _row(_name)
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    for _overload in ("Scalar", "Tensor"):
        _OPS[getattr(getattr(aten, _name), _overload)] = _row(_name)

_VIEWS = {aten.view.default, aten.reshape.default, aten._unsafe_view.default, aten.permute.default,
          aten.transpose.int, aten.t.default, aten.expand.default, aten.unsqueeze.default,
          aten.squeeze.default, aten.squeeze.dim, aten.squeeze.dims, aten.slice.Tensor, aten.select.int,
          aten.alias.default, aten.detach.default, operator.getitem}
_CREATES = {aten.full.default, aten.scalar_tensor.default, prims.iota.default}
_COPIES = {aten.clone.default}
# Their order of sums, or their rounding of integers, differs from torch's promotion rules: floats only.
_INT_SENSITIVE = {aten.div.Tensor, aten.div.Scalar, aten.mean.default, aten.mean.dim,
                  aten.reciprocal.default, aten.div.Tensor_mode}


# ---- parts ------------------------------------------------------------------------------------------


def _tensors(node):
    v = node.meta.get("val")
    return [v] if isinstance(v, torch.Tensor) else [t for t in v if isinstance(t, torch.Tensor)] if isinstance(
        v, (tuple, list)) else []


def _is_ours(t):
    return t.device.type in ("cpu", "cuda") and t.dtype in torch_codes() and not t.dtype.is_complex and t.layout == torch.strided and t.ndim <= 32


def _is_supported(node):
    """Has fusec the operation, on such tensors?"""
    if node.op != "call_function" or node.target not in _OPS:
        return False
    if node.target is operator.getitem:
        return _is_supported(node.args[0])
    tensors = _tensors(node) + [t for n in node.all_input_nodes for t in _tensors(n)]
    if not tensors or not all(_is_ours(t) for t in tensors):
        return False
    if any(not isinstance(n.meta.get("val"), torch.Tensor) for n in node.all_input_nodes
           if n.target is not operator.getitem and not _tensors(n)):
        return False  # sizes that are computed
    if node.target is aten.constant_pad_nd.default and not all(isinstance(k, int) and k >= 0 for k in node.args[1]):
        return False
    if node.target in _INT_SENSITIVE and not all(t.dtype.is_floating_point for t in tensors):
        return False
    if len({t.device for t in tensors if t.ndim or t.device.type != "cpu"}) > 1:
        return False
    # f16 and bf16 round after each operation in torch, as here; sums of them differ in the last place
    return all(t.dtype not in (torch.float16,) for t in _tensors(node))


def _groups(graph):
    """Supported operations in groups, each of which can be computed at once, in the order of the graph.

    An operation's level is how often a path to it changes from others' operations to ours. What is connected and of
    one level is a group: a path that leaves it comes back on a higher level. A group that only groups of higher
    levels use goes to the lowest of them, so that its results are not stored."""
    level, ours, group = {}, set(), {}
    for n in graph.nodes:
        before = n.all_input_nodes
        if _is_supported(n):
            ours.add(n)
            level[n] = max([level[p] + (p not in ours) for p in before], default=0)
        else:
            level[n] = max([level[p] for p in before], default=0)
    for n in graph.nodes:  # connected ones: their lists become one
        for p in n.all_input_nodes if n in ours else ():
            if p in ours and level[p] == level[n] and group.get(p) is not group.get(n, ()):
                _join(group, p, n)
        if n in ours and n not in group:
            group[n] = [n]
    for members in sorted({id(g): g for g in group.values()}.values(), key=lambda g: -level[g[0]]):
        users = [u for n in members for u in n.users if u.op != "output" and group.get(u) is not members]
        lowest = min([level[u] for u in users], default=-1)
        if lowest > level[members[0]] and any(u in ours and level[u] == lowest for u in users):
            level.update(dict.fromkeys(members, lowest))
            for u in users:
                if u in ours and level[u] == lowest and group[u] is not group[members[0]]:
                    _join(group, members[0], u)
    order = {n: i for i, n in enumerate(graph.nodes)}
    groups = {id(g): g for g in group.values()}.values()
    return sorted([sorted(g, key=order.__getitem__) for g in groups], key=lambda g: order[g[0]])


def _join(group, a, b):
    """Makes one group of the groups of two nodes."""
    a, b = group.get(a) or [a], group.get(b) or [b]
    into, others = (a, b) if len(a) >= len(b) else (b, a)
    into += others
    group.update(dict.fromkeys([into[0], *others], into))


# Views that are strides and nothing else: of an argument they cost nothing.
_STRIDES = {aten.permute.default, aten.transpose.int, aten.t.default, aten.expand.default, aten.unsqueeze.default,
            aten.squeeze.dim, aten.squeeze.dims}


def _trim(nodes):
    """Views at the end of a part stay torch's: there they cost nothing, and here a copy; and so do those at its
    beginning, but for strides that only the part asks for."""
    part = set(nodes)
    changed = True
    while changed:
        changed = False
        for n in list(part):
            if n.target in _VIEWS and n.target is not operator.getitem:
                before = any(k in part for k in n.all_input_nodes) or \
                    n.target in _STRIDES and all(u in part for u in n.users)
                after = any(u in part for u in n.users)
                if not before or not after:
                    part.discard(n)
                    changed = True
    return part


class Part(_core.Part):
    """A part of a graph as a compiled function. The extension keeps its programs and calls them;
    what fits none of them comes to _slow."""

    def __new__(cls, graph):
        return super().__new__(cls, cls._slow)

    def __init__(self, graph):
        self.graph = graph
        self.programs, self.eager = [], torch.fx.GraphModule(torch.nn.Module(), graph)
        self.operations = [n for n in graph.nodes if n.op == "call_function"]
        self.refused = None
        out = next(n for n in graph.nodes if n.op == "output").args[0]
        self.single = not isinstance(out, (tuple, list))
        self.outputs = [out] if self.single else list(out)
        self.promised = tuple([_promise(n) for n in self.outputs])

    def _trace(self, tensors, device):
        for is_static in (False, True):
            trace = _core.Trace(is_static, device)
            before = trace.enter()
            try:
                values, inputs = {}, iter(tensors)
                for n in self.graph.nodes:
                    if n.op == "placeholder":
                        t = next(inputs)
                        values[n] = trace.input(torch_codes()[t.dtype], tuple(t.shape))
                    elif n.op == "call_function":
                        args = torch.fx.map_arg(n.args, values.__getitem__)
                        kwargs = torch.fx.map_arg(n.kwargs, values.__getitem__)
                        r = _OPS[n.target](*args, **{k: v for k, v in kwargs.items()
                                                     if k not in ("memory_format", "layout", "device",
                                                                  "pin_memory", "non_blocking")})
                        values[n] = self._as_promised(n, r)
                return trace.compile(tuple(values[n] for n in self.outputs)), list(trace.captured)
            except SizeNeeded:
                if is_static:
                    raise
            finally:
                trace.leave(before)

    @staticmethod
    def _as_promised(n, r):
        """The dtype that torch's rules give."""
        t = n.meta.get("val")
        if not isinstance(t, torch.Tensor) or not isinstance(r, Array):
            return r
        code = torch_codes()[t.dtype]
        return r if r._code == code else r.astype(DTYPES[code])

    def _slow(self, tensors):
        if self.refused is None:
            try:
                return self._run(tensors)
            except (NotImplementedError, TypeError, ValueError, IndexError, SizeNeeded) as error:
                self.refused = f"{type(error).__name__}: {error}"
        return self.eager(*tensors)

    def _run(self, tensors):
        tensors = tuple(t.detach() if t.requires_grad else t for t in tensors)
        like = next((t for t in tensors if t.device.type != "cpu"), tensors[0] if tensors else None)
        device = 1 + like.device.index if like is not None and like.device.type == "cuda" else 0
        for program, captured in self.programs:
            r = program.run(tensors + captured, None, 3, like)
            if r is not None:
                return r[0] if self.single else tuple(r)
        program, captured = self._trace(tensors, device)
        captured = tuple(o for o, _ in captured)
        if any(self.promised):
            program.promise(self.promised)
        r = program.run(tensors + captured, None, 3, like)
        self.programs.insert(0, (program, captured))
        self._remember(program, len(tensors), captured, not self.single)
        return r[0] if self.single else tuple(r)


def _promise(n):
    """(shape, strides) of a result that is not dense in the order of its axes (channels last)."""
    t = n.meta.get("val")
    if not isinstance(t, torch.Tensor) or t.ndim < 2 or t.is_contiguous():
        return None
    if not all(isinstance(k, int) for k in (*t.shape, *t.stride())) or not t.numel():
        return None
    if any(s == 0 and k > 1 for k, s in zip(t.shape, t.stride())):
        return None  # elements that share memory: here each has its own
    return tuple(t.shape), tuple(t.stride())


def _only_ours(node):
    """Is a value used, behind views, by operations alone that fusec takes?"""
    return all(u.op == "call_function" and _is_supported(u) and (u.target not in _VIEWS or _only_ours(u))
               for u in node.users) and bool(node.users)


def _biases(gm, device="cuda"):
    """x @ w + b with a row b whose result goes into parts: there the sum costs nothing, and on a GPU products with a
    bias are slower than those without."""
    for n in list(gm.graph.nodes):
        if n.op != "call_function" or n.target is not aten.addmm.default or n.kwargs or not _only_ours(n):
            continue
        row, out = n.args[0].meta.get("val"), n.meta.get("val")
        if row is None or row.ndim != 1 or out.device.type != device or not _is_ours(out):
            continue
        with gm.graph.inserting_before(n):
            product = gm.graph.call_function(aten.mm.default, n.args[1:])
            total = gm.graph.call_function(aten.add.Tensor, (product, n.args[0]))
        product.meta, total.meta = dict(n.meta), dict(n.meta)
        n.replace_all_uses_with(total)
        gm.graph.erase_node(n)


_seen = []


def _compile_graph(gm, example_inputs):
    _biases(gm)
    count, operations = 0, sum(1 for n in gm.graph.nodes if n.op == "call_function")
    taken = []
    for group in _groups(gm.graph):
        nodes = _trim(group)
        given = any(_tensors(p) for n in nodes for p in n.all_input_nodes if p not in nodes)  # else: constants
        if given and sum(1 for n in nodes if n.target not in _VIEWS | _CREATES | _COPIES) >= 2:
            taken.append({n: None for n in group if n in nodes})
    chosen = {n for part in taken for n in part}
    rest = [n for n in gm.graph.nodes if n.op == "call_function" and n not in chosen]
    left = dict(Counter(str(n.target) for n in rest if not _is_supported(n)).most_common())
    alone = dict(Counter(str(n.target) for n in rest if _is_supported(n)).most_common())
    fused = fuse_by_partitions(gm, taken)
    parts = []
    for name, module in list(fused.named_children()):
        if name.startswith("fused_"):
            part = Part(module.graph)
            delattr(fused, name)
            fused.__dict__[name] = part  # found without the detour that modules of modules take
            parts.append(part)
            count += len(part.operations)
    _seen.append((operations, count, parts, left, alone))
    return _boxed(fused)


# The same operations by torch's own bindings, which look at arguments in a third of the time. What
# copies, adds or changes overloads is left as it is.
_BINDINGS = {aten.mm.default: torch.mm, aten.addmm.default: torch.addmm, aten.bmm.default: torch.bmm,
             aten.baddbmm.default: torch.baddbmm, aten.view.default: torch.Tensor.view,
             aten.permute.default: torch.permute, aten.transpose.int: torch.transpose, aten.t.default: torch.t,
             aten.expand.default: torch.Tensor.expand, aten.unsqueeze.default: torch.unsqueeze,
             aten.squeeze.dim: torch.squeeze, aten.squeeze.dims: torch.squeeze, aten.select.int: torch.select,
             aten.convolution.default: torch.convolution, aten.embedding.default: torch.embedding,
             aten.clone.default: torch.clone}


def _boxed(fused):
    """The graph as a function of a list of arguments, which it empties: tensors are gone after their last use."""
    try:
        from torch.fx.graph import _BoxedCodeGen
    except ImportError:
        from functorch.compile import make_boxed_func

        fused.recompile()
        return make_boxed_func(fused.forward)
    for n in fused.graph.nodes:
        if n.op == "call_function":
            n.target = _BINDINGS.get(n.target, n.target)
    fused.graph.set_codegen(_BoxedCodeGen())
    fused.recompile()
    getattr(fused, "real_recompile", lambda: None)()
    f = functools.partial(type(fused).forward, fused)
    f._boxed_call = True
    return f


def _decompositions():
    """Inductor's, but for max_pool2d, of which only its own kernels make something good; to ask it for these
    is to load all of Inductor."""
    from torch._inductor.decomposition import select_decomp_table

    table = dict(select_decomp_table())
    for name in ("max_pool2d_with_indices", "max_pool3d_with_indices"):
        packet = getattr(aten, name)
        for key in (packet, *(getattr(packet, o) for o in packet.overloads())):
            table.pop(key, None)
    return table


def _partition(*args, **kwargs):
    from functorch.compile import min_cut_rematerialization_partition

    return min_cut_rematerialization_partition(*args, **kwargs)


_backend = None


def backend(gm, example_inputs, **kwargs):
    """The backend of torch.compile: torch.compile(model, backend="fusec")."""
    global _backend
    if _backend is None:
        use_torch()
        _backend = aot_autograd(fw_compiler=_compile_graph, bw_compiler=_compile_graph,
                                decompositions=_decompositions(), partition_fn=_partition)
    return _backend(gm, example_inputs)


def report():
    """For each graph compiled so far: operations, how many fusec took, parts, kernels, refusals; how many of each operation
    that fusec has not, or not on such tensors, were left to torch, and of those that it has, which would be alone (mostly views)."""
    return [{"operations": n, "taken": k, "parts": len(parts),
             "kernels": sum(p.kernels for part in parts for p, _ in part.programs),
             "refused": [part.refused for part in parts if part.refused], "left": left, "alone": alone}
            for n, k, parts, left, alone in _seen]


def reset():
    """Forgets what report() tells."""
    _seen.clear()
