# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Making arrays: from other objects, from numbers, from shapes."""

import math
import operator
import sys

from . import _core, _dtypes
from ._array import Array
from ._dtypes import BOOL, C64, C128, DTYPES, F16, F64, I64, as_code, result_code
from ._device import CPU, beside, name_of, number_of, placed
from ._errors import DeviceError, DtypeError, ValueNeeded
from ._foreign import foreign_type, is_foreign

__all__ = [
    "arange", "array", "asarray", "ascontiguousarray", "astype", "borrow", "empty", "empty_like",
    "eye", "from_dlpack", "full", "full_like", "identity", "linspace", "meshgrid", "ones",
    "ones_like", "tri", "tril", "triu", "zeros", "zeros_like", "copy", "indices",
]


def to_device(x, device, /, *, stream=None):
    """The array on another device: "cpu", "cuda", "cuda:1". A copy, unless it is there already; complete
    when the call returns.

    >>> fx.zeros(3).to_device("cpu").device
    'cpu'
    """
    number = number_of(device)
    if stream is not None:
        raise ValueError("stream must be None: copies between devices are complete when they return")
    if x._device == number:
        return x
    if x._trace is not None:
        raise ValueNeeded("a traced array can't be moved: a compiled function works on one device")
    return _core.to_device(x, number)


def shape_tuple(shape):
    if isinstance(shape, (tuple, list)):
        return tuple(shape)
    return (shape,)


def is_numpy(x):
    np = sys.modules.get("numpy")
    return np is not None and isinstance(x, (np.ndarray, np.generic))


_registered = False
_taken = set()  # NumPy's dtypes that the extension reads as they are


def use_numpy():
    """NumPy, made known to the extension."""
    global _registered
    import numpy as np

    if not _registered:
        bf16 = -1
        try:
            bf16 = _dtypes.numpy_dtype(_dtypes.BF16).num
        except (TypeError, ImportError):
            pass
        dtypes = tuple(_dtypes.numpy_dtype(c) if c != _dtypes.BF16 or bf16 >= 0 else np.dtype("V2")
                       for c in range(len(DTYPES)))
        _core.use_numpy(np.empty, dtypes, bf16)
        _taken.update(d for d in dtypes if d.kind != "V")
        _registered = True
    return np


def _plain_numpy(a):
    """A NumPy array that the extension can read: aligned, of this machine's byte order."""
    np = use_numpy()
    if type(a) is np.ndarray and a.size and a.dtype in _taken and a.flags.carray and a.ndim <= 32:
        return a
    a = np.asarray(a)
    if a.dtype.name not in _dtypes._BY_NAME:
        hint = {"O": "; of Python objects, as ragged lists give them, make numbers first", "g": "; astype('float64') first",
                "G": "; astype('complex128') first", "M": "; view('int64') first", "m": "; view('int64') first"}
        raise TypeError(f"an array of dtype {a.dtype} can't be taken: fusec has {', '.join(_dtypes.NAMES)}"
                        f"{hint.get(a.dtype.char, '')}")
    if not a.dtype.isnative:
        a = a.astype(a.dtype.newbyteorder("="))
    aligned = a.flags.aligned if a.size else a.ctypes.data % a.itemsize == 0
    if not aligned or any(s % a.itemsize for s in a.strides):
        a = a.copy()
    if a.ndim > 32:
        raise ValueError(f"an array of {a.ndim} axes: 32 is the limit")
    return a


def _of_numpy(a, share=False):
    a = _plain_numpy(a)
    trace = _core.tracing()
    if trace is not None:
        return trace.capture(a, as_code(a.dtype), a.shape)
    number = _core.current_device()
    if number == CPU:
        return (_core.borrow if share else _core.copy)(a)
    if share:
        raise ValueError("memory of the host can't be shared with a GPU")
    return _core.to_device(_core.borrow(a), number)


def _kind(x):
    return "b" if isinstance(x, bool) else "i" if isinstance(x, int) else "c" if isinstance(
        x, complex) else "f"


def _of_number(x, code):
    kind = _kind(x)
    if code is None:
        code = result_code((), kind)
    if kind == "c" and code < C64:
        raise TypeError(f"a complex number can't become {DTYPES[code].name}")
    if kind == "f" and code < F16:
        x = bool(x) if code == BOOL else int(x)
    return _core.full(code, bool(x) if code == BOOL else x, ())


def _has_arrays(x):
    return isinstance(x, Array) or isinstance(x, (list, tuple)) and any(_has_arrays(k) for k in x)


def _placed_copy(buffer):
    r = _core.copy(buffer)
    number = _core.current_device()
    return r if r is None or number == CPU else _core.to_device(r, number)


def _of_foreign(x, share):
    """An array of torch or CuPy; on the device where it is."""
    trace = _core.tracing()
    if trace is not None:
        code, device = foreign_type(x)
        if device != trace.device:
            raise DeviceError(f"an array that the function meets is on {name_of(device)}, but the function "
                              f"works on {name_of(trace.device)}", "device")
        return trace.capture(x, code, tuple(x.shape))
    r = _core.borrow(x)
    if share:
        return r
    return _core.copy(r) if not r._device else copy_on_device(r)


def copy_on_device(x):
    """A value with memory of its own, computed at once."""
    r = _core.op("materialize", (x,))
    _core.evaluate((r,))
    return r


def _of_list(x):
    """Nested lists of numbers, without NumPy."""
    from array import array as buffer

    shape, flat = [], [x]
    while flat and isinstance(flat[0], (list, tuple)):
        n = len(flat[0])
        if any(not isinstance(k, (list, tuple)) or len(k) != n for k in flat):
            raise ValueError("this list can't become an array: its parts have different lengths")
        shape.append(n)
        flat = [k for part in flat for k in part]
    if isinstance(x, range):
        shape, flat = [len(x)], list(x)
    if any(not isinstance(k, (bool, int, float)) for k in flat):
        raise TypeError("a list of something else than numbers can't become an array")
    whole = bool(flat) and all(isinstance(k, int) for k in flat)
    r = _placed_copy(memoryview(buffer("q" if whole else "d", flat)))
    r = astype(r, DTYPES[BOOL]) if whole and all(isinstance(k, bool) for k in flat) else r
    return _core.reshape(r, tuple(shape))


def _of_object(x):
    if is_numpy(x):
        return _of_numpy(x)
    if isinstance(x, (list, tuple, range)):
        if _has_arrays(x):
            from ._shape import stack

            return stack([asarray(k) for k in x])
        try:
            np = use_numpy()
        except ImportError:
            return _of_list(x)
        try:
            return _of_numpy(np.array(x))
        except ValueError as e:
            raise ValueError(f"this list can't become an array: {e}") from None
    if is_foreign(x):
        return _of_foreign(x, False)
    if _has_arrow(x):
        return _of_numpy(_arrow_memory(x))
    if hasattr(x, "__dlpack__"):
        return from_dlpack(x)
    if hasattr(x, "__array__") or hasattr(x, "__array_interface__"):
        try:
            return _of_numpy(x)
        except TypeError:  # a column of lists is one of objects there
            if not hasattr(x, "__arrow_c_stream__"):
                raise
            return _of_numpy(_arrow_memory(x))
    try:
        r = _placed_copy(memoryview(x)) if not isinstance(x, (str, bytes)) else None
    except TypeError:
        r = None
    if r is None:
        raise TypeError(f"{type(x).__name__} can't become an array")
    return r


def _has_arrow(x):
    """Is it a column of Arrow? Its module loads ctypes."""
    if not hasattr(x, "__arrow_c_array__") and not hasattr(x, "__arrow_c_stream__"):
        return False
    from ._arrow import is_column

    return is_column(x)


def _arrow_memory(x):
    from ._arrow import to_numpy

    return to_numpy(x)


def asarray(x, /, dtype=None, *, device=None, copy=None, order=None):
    """The object as an array. NumPy's arrays, buffers and lists are copied, so that the value stays
    when they change; `borrow` and copy=False share their memory. Arrays of fusec are returned as
    they are. `device` is where the result is; without it arrays stay where they are, and what comes from
    the host is on the default device.

    >>> fx.asarray([1, 2, 3]).dtype
    fusec.int64
    """
    if device is not None:
        number = number_of(device)
        r = _asarray(x, dtype, copy) if isinstance(x, Array) else _made_on(number, x, dtype, copy)
        if r._device == number:
            return r
        if copy is False:
            raise ValueError(f"the array is on {r.device}: another device needs a copy")
        return to_device(r, device)
    return _asarray(x, dtype, copy)


def _made_on(number, x, dtype, copy):
    before = _core.new_on(number)
    try:
        return _asarray(x, dtype, copy)
    finally:
        _core.new_on(before)


def _asarray(x, dtype=None, copy=None):
    code = None if dtype is None else as_code(dtype)
    if isinstance(x, Array):
        r = x
        if copy:
            r = _core.same(x)
    elif isinstance(x, (bool, int, float, complex)) and not is_numpy(x):
        if copy is False:
            raise ValueError("a number has no memory to share")
        return _of_number(x, code)
    elif copy is False:
        r = borrow(x)
    elif code is not None and code != _dtypes.BF16 and isinstance(x, (list, tuple)) and not _has_arrays(x) and _there("numpy"):
        return _of_numpy(_list_as(x, code))
    else:
        use_numpy_if_loaded()
        r = _of_object(x)
    if code is None or r._code == code:
        return r
    if copy is False:
        raise ValueError("another dtype needs a copy")
    return astype(r, dtype)


def _there(name):
    return name in sys.modules


def _list_as(x, code):
    """A list in a dtype: numbers that it does not hold are an error, as NumPy's."""
    np = use_numpy()
    try:
        return np.array(x, dtype=_dtypes.numpy_dtype(code))
    except OverflowError:
        raise
    except ValueError as e:
        raise ValueError(f"this list can't become an array: {e}") from None


def use_numpy_if_loaded():
    if not _registered and "numpy" in sys.modules:
        use_numpy()


def array(x, dtype=None, *, copy=True, device=None, order=None, ndmin=0):
    """As asarray, but always another object."""
    r = asarray(x, dtype, device=device, copy=True if copy and isinstance(x, Array) else None)
    while r.ndim < ndmin:
        r = r[None]
    return r


def ascontiguousarray(x, dtype=None):
    return asarray(x, dtype)


def copy(x, order="C"):
    """Another array object with the same value."""
    return asarray(x, copy=True)


def borrow(x, /):
    """An array over the memory of x, which is not copied: x must not change until what is made of
    it has been computed."""
    if isinstance(x, Array):
        return x
    use_numpy_if_loaded()
    if not is_numpy(x) and is_foreign(x):
        return _of_foreign(x, True)
    if not is_numpy(x) and _has_arrow(x):
        return _of_numpy(_arrow_memory(x), share=True)
    if not is_numpy(x) and hasattr(x, "__dlpack__"):
        return from_dlpack(x, copy=False)
    if is_numpy(x):
        plain = _plain_numpy(x)
        if plain is not x and not use_numpy().shares_memory(plain, x):
            raise ValueError("this memory can't be shared: its elements are not aligned, not whole elements apart, or of "
                             "another byte order")
        return _of_numpy(plain, share=True)
    r = _core.borrow(memoryview(x))
    if r is None:
        raise ValueError(f"the memory of {type(x).__name__} can't be shared")
    return r


def from_dlpack(x, /, *, device=None, copy=None):
    """An array from another library's, by DLPack; a copy, unless copy is False. It is on the device of x,
    or on `device`."""
    if isinstance(x, Array):
        r = asarray(x, copy=True) if copy else x
    elif is_foreign(x):
        r = _of_foreign(x, copy is False)
    else:
        kind, number = (int(k) for k in x.__dlpack_device__())
        if kind not in (1, 2, 3, 13):
            raise BufferError(f"the array is on another device ({kind}): move it to the cpu first")
        r = _core.from_dlpack(_capsule(x, 1 if kind == 2 else None), 1 if kind == 2 else 0)
        trace = _core.tracing()
        if trace is not None:
            return trace.capture(r, r._code, r.shape)
        if copy is not False:
            r = copy_on_device(r) if r._device else _core.copy(r)
    return r if device is None else to_device(r, device)


def _capsule(x, stream):
    try:
        return x.__dlpack__(max_version=(1, 1), **({} if stream is None else {"stream": stream}))
    except TypeError:  # of a library that knows DLPack before 1.0
        return x.__dlpack__(**({} if stream is None else {"stream": stream}))


def as_operand(x):
    """For the extension: an operand that is neither an Array nor a plain number."""
    if isinstance(x, (int, float)) and not is_numpy(x):  # an int beyond 64 bits, or a subclass
        if isinstance(x, int) and not isinstance(x, bool):
            if -(2**63) <= x < 2**64:
                return _core.full(_dtypes.U64 if x >= 2**63 else I64, int(x), ())
            raise OverflowError(f"Python integer {x} out of bounds for int64 and uint64")
        return _of_number(float(x) if isinstance(x, float) else x, None)
    if isinstance(x, complex) and not is_numpy(x):
        return _of_number(x, None)
    if x is None or isinstance(x, (str, bytes, dict, set)):
        return NotImplemented
    if is_numpy(x) or isinstance(x, (list, tuple)) or hasattr(x, "__dlpack__") or hasattr(
            x, "__array__") or is_foreign(x):
        return asarray(x)
    return NotImplemented


def astype(x, dtype, /, *, copy=True, device=None):
    """The elements in another dtype; floats become integers by truncation, bounded by the dtype."""
    x, code = asarray(x, device=device), as_code(dtype)
    if x._code == code:
        return _core.same(x) if copy else x
    if code == BOOL:
        return x != 0
    if x._code >= C64 and code < C64:  # NumPy's cast: the real part
        x = _core.op("real", (x,))
    return x if x._code == code else _core.cast(x, code)


# ---- from shapes ----------------------------------------------------------------------------------


@placed
def full(shape, fill_value, *, dtype=None, device=None, order="C"):
    """An array of this shape with one value in all places."""
    shape = shape_tuple(shape)
    if isinstance(fill_value, Array) or is_numpy(fill_value):
        x = asarray(fill_value, dtype)
        return _core.broadcast(x, shape)
    kind = _kind(fill_value)
    code = result_code((), kind) if dtype is None else as_code(dtype)
    if code == BOOL:
        fill_value = bool(fill_value)
    elif code < F16:
        fill_value = int(fill_value)
    return _core.full(code, fill_value, shape)


@placed
def zeros(shape, dtype=float, *, device=None, order="C"):
    """Zeros. >>> fx.zeros((2, 3)).shape
    (2, 3)"""
    return full(shape, 0, dtype=float if dtype is None else dtype)


@placed
def ones(shape, dtype=float, *, device=None, order="C"):
    """Ones."""
    return full(shape, 1, dtype=float if dtype is None else dtype)


@placed
def empty(shape, dtype=float, *, device=None, order="C"):
    """As zeros: values are never written to, so there is nothing to leave out."""
    return zeros(shape, dtype)


def _like(x, dtype, shape=None):
    x = asarray(x)
    return (x.shape if shape is None else shape), (x.dtype if dtype is None else dtype)


@placed
def full_like(x, /, fill_value, *, dtype=None, device=None, order="K", shape=None):
    x = asarray(x)
    shape, dtype = _like(x, dtype, shape)
    before = _core.new_on(x._device) if _core.current_device() != x._device and device is None else None
    try:
        return full(shape, fill_value, dtype=dtype)
    finally:
        if before is not None:
            _core.new_on(before)


@placed
def zeros_like(x, /, *, dtype=None, device=None, order="K", shape=None):
    return full_like(x, 0, dtype=dtype, device=device, shape=shape)


@placed
def ones_like(x, /, *, dtype=None, device=None, order="K", shape=None):
    return full_like(x, 1, dtype=dtype, device=device, shape=shape)


empty_like = zeros_like


@placed
def arange(start, /, stop=None, step=1, *, dtype=None, device=None):
    """start, start + step, ... below stop.

    >>> fx.arange(3).tolist()
    [0, 1, 2]
    """
    if stop is None:
        start, stop = 0, start
    if isinstance(stop, _core.Dim):
        if (start, step) != (0, 1):
            operator.index(stop)  # traced again with numbers
        r = _core.arange(stop)
        return r if dtype is None else astype(r, dtype)
    if step == 0:
        raise ValueError("arange: the step can't be 0")
    whole = all(isinstance(k, int) or hasattr(k, "__index__") for k in (start, stop, step))
    code = (I64 if whole else F64) if dtype is None else as_code(dtype)
    n = max(0, -((start - stop) // step) if whole else math.ceil((stop - start) / step))
    r = _core.arange(n)
    if whole:
        r = r if (start, step) == (0, 1) else r * step + start
    else:
        r = _core.cast(r, F64) * float(step) + float(start)
    return r if r._code == code else astype(r, DTYPES[code])


@placed
def linspace(start, stop, /, num=50, endpoint=True, retstep=False, dtype=None, *, device=None):
    """`num` numbers from start to stop in equal steps."""
    if retstep:
        div = num - 1 if endpoint else num
        return (linspace(start, stop, num, endpoint, dtype=dtype, device=device),
                (stop - start) / div if div > 0 else float("nan"))
    if num < 0:
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    code = F64 if dtype is None else as_code(dtype)
    div = num - 1 if endpoint else num
    i = _core.arange(num)
    if isinstance(start, complex) or isinstance(stop, complex):
        parts = [linspace(f(start), f(stop), num, endpoint=endpoint)
                 for f in (lambda z: complex(z).real, lambda z: complex(z).imag)]
        return astype(_core.op("complex", tuple(parts)), DTYPES[C128 if dtype is None else code], copy=False)
    start, stop = float(start), float(stop)
    r = _core.cast(i, F64)
    if div > 0:
        step = (stop - start) / div
        r = (r / div) * (stop - start) + start if step == 0 else r * step + start
        if endpoint and num > 1:
            r = _core.rows["where"][3](i == num - 1, stop, r)
    else:
        r = r * (stop - start) + start
    if code < F16 and code != BOOL:
        r = _core.rows["floor"][3](r)
    return r if code == F64 else astype(r, DTYPES[code])


def _grid(n, m):
    """Row and column numbers of a matrix, as arrays that broadcast."""
    rows, columns = _core.arange(n), _core.arange(m)
    return rows[:, None], columns[None, :]


@placed
def eye(n_rows, n_cols=None, /, k=0, dtype=float, *, device=None, M=None):
    """Ones on the k-th diagonal, zeros elsewhere."""
    if isinstance(k, int):
        k = max(-(2**62), min(k, 2**62))
    i, j = _grid(n_rows, (n_rows if M is None else M) if n_cols is None else n_cols)
    return astype(j - i == k, float if dtype is None else dtype)


def identity(n, dtype=float):
    return eye(n, dtype=dtype)


def tri(n, m=None, k=0, dtype=float):
    i, j = _grid(n, n if m is None else m)
    return astype(j - i <= k, dtype)


def _triangle(x, keep):
    """The elements of matrices for which keep(column - row) is true, zeros elsewhere."""
    x = asarray(x)
    if not x.ndim:
        raise ValueError("tril and triu take arrays of one axis or more")
    i, j = _grid(*(x.shape[-2:] if x.ndim > 1 else x.shape * 2))
    return _core.rows["where"][3](keep(j - i), x, full((), 0, dtype=x.dtype))


@beside
def tril(x, /, k=0):
    """The matrix with zeros above the k-th diagonal."""
    return _triangle(x, lambda d: d <= k)


@beside
def triu(x, /, k=0):
    """The matrix with zeros below the k-th diagonal."""
    return _triangle(x, lambda d: d >= k)


def meshgrid(*arrays, indexing="xy", sparse=False, copy=True):
    """Coordinates of a grid: an array of the shape of the grid for each argument; `sparse`: that broadcasts to it."""
    if indexing not in ("xy", "ij"):
        raise ValueError("indexing must be 'xy' or 'ij'")
    arrays = [asarray(a) for a in arrays]
    n = len(arrays)
    order = [1, 0, *range(2, n)] if indexing == "xy" and n > 1 else list(range(n))
    sizes = [a.size for a in arrays]
    shape = tuple(sizes[k] for k in order)
    out = []
    for k, a in enumerate(arrays):
        place = tuple(sizes[k] if order[i] == k else 1 for i in range(n))
        a = _core.reshape(a, place)
        out.append(a if sparse else _core.broadcast(a, shape))
    return tuple(out)


def indices(dimensions, dtype=int):
    return asarray([*meshgrid(*(arange(n, dtype=dtype) for n in dimensions), indexing="ij")])
