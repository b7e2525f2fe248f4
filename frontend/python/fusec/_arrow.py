# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Columns of Arrow by the C data interface (__arrow_c_array__, __arrow_c_stream__), of pyarrow, polars, DuckDB and
others: bools, integers, floats, and lists of one length of them, without nulls. Chunks stay where they are; bools
are copied, as eight of them share a byte."""

import ctypes

from ._create import use_numpy

_FORMATS = {b"c": "i1", b"C": "u1", b"s": "i2", b"S": "u2", b"i": "i4", b"I": "u4", b"l": "i8", b"L": "u8", b"e": "f2",
            b"f": "f4", b"g": "f8", b"b": "?"}


class _Schema(ctypes.Structure):
    pass


class _Array(ctypes.Structure):
    pass


class _Stream(ctypes.Structure):
    pass


_Schema._fields_ = [
    ("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", ctypes.c_char_p), ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64), ("children", ctypes.POINTER(ctypes.POINTER(_Schema))),
    ("dictionary", ctypes.c_void_p), ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(_Schema))), ("own", ctypes.c_void_p)]
_Array._fields_ = [
    ("length", ctypes.c_int64), ("null_count", ctypes.c_int64), ("offset", ctypes.c_int64), ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64), ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(_Array))), ("dictionary", ctypes.c_void_p),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(_Array))), ("own", ctypes.c_void_p)]
_Stream._fields_ = [
    ("get_schema", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Stream), ctypes.POINTER(_Schema))),
    ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Stream), ctypes.POINTER(_Array))),
    ("get_last_error", ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.POINTER(_Stream))),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(_Stream))), ("own", ctypes.c_void_p)]


class _Owned:
    """A struct that is released when nobody has it any more."""

    def __init__(self, kind):
        self.struct = kind()

    def __del__(self):
        if self.struct.release:
            self.struct.release(ctypes.byref(self.struct))


def _pointer(capsule, name, kind):
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return ctypes.cast(get(capsule, name), ctypes.POINTER(kind)).contents


def is_column(x):
    """Has it the interface, and no other that says more? Tables of several columns have __array__, too."""
    t = type(x)
    return (hasattr(t, "__arrow_c_array__") and not hasattr(t, "num_columns")) or (hasattr(t, "__arrow_c_stream__") and not hasattr(t, "__array__"))


# ---- one chunk --------------------------------------------------------------------------------------


def _type_of(schema):
    """(dtype, elements of a row or None, whether it is the only column of a table)"""
    form, table = schema.format, False
    if form == b"+s":
        if schema.n_children != 1:
            names = ", ".join((schema.children[i].contents.name or b"").decode() for i in range(schema.n_children))
            raise TypeError(f"a table of several columns is no array; take one of {names}")
        schema, table = schema.children[0].contents, True
        form = schema.format
    size = None
    if form.startswith(b"+w:"):
        size, schema = int(form[3:]), schema.children[0].contents
        form = schema.format
    if schema.dictionary or form not in _FORMATS or (size is not None and form == b"b"):
        raise TypeError(f"a column of Arrow's type {form.decode()} can't become an array: bools, integers and floats can, and "
                        "lists of one length of numbers")
    return use_numpy().dtype(_FORMATS[form]), size, table


def _check_nulls(array):
    count = array.null_count
    if count < 0 and array.buffers[0]:
        np = use_numpy()
        first = array.offset // 8
        n = (array.offset + array.length + 7) // 8 - first
        bits = np.unpackbits(_bytes_at(array.buffers[0] + first, n, None), bitorder="little")
        at = array.offset - 8 * first
        count = array.length - int(bits[at: at + array.length].sum())
    if count > 0:
        raise ValueError("the column has nulls: fill them or leave them out first")


def _bytes_at(address, n, owner):
    memory = (ctypes.c_uint8 * n).from_address(address or 0) if n else (ctypes.c_uint8 * 0)()
    memory.owner = owner  # as long as there is a view on it
    return use_numpy().frombuffer(memory, "u1")


def _view(array, spec, owner):
    """The elements of a chunk, in its memory."""
    np = use_numpy()
    dtype, size, table = spec
    begin, length = 0, array.length
    if table:
        _check_nulls(array)
        begin, array = array.offset, array.children[0].contents
    _check_nulls(array)
    begin += array.offset
    if size is not None:
        child = array.children[0].contents
        begin, count = begin * size + child.offset, length * size
        if child.null_count:
            _check_nulls(child)
        array = child
    else:
        count = length
    if dtype == np.bool_:
        bits = np.unpackbits(_bytes_at(array.buffers[1], (begin + count + 7) // 8 if count else 0, owner), bitorder="little")
        out = bits[begin: begin + count].astype(bool)
    else:
        at = (array.buffers[1] or 0) + begin * dtype.itemsize
        out = _bytes_at(at, count * dtype.itemsize, owner).view(dtype)
    out.flags.writeable = False
    return out if size is None else out.reshape(length, size)


# ---- columns ----------------------------------------------------------------------------------------


def chunks(x):
    """(the chunks as NumPy arrays, their dtype, the shape of a row)"""
    if hasattr(x, "__arrow_c_array__"):
        capsules = x.__arrow_c_array__()
        spec = _type_of(_pointer(capsules[0], b"arrow_schema", _Schema))
        parts = [_view(_pointer(capsules[1], b"arrow_array", _Array), spec, capsules)]
    else:
        capsule = x.__arrow_c_stream__()
        stream = _pointer(capsule, b"arrow_array_stream", _Stream)
        schema, parts = _Owned(_Schema), []

        def check(code):
            if code:
                raise OSError((stream.get_last_error(ctypes.byref(stream)) or b"an Arrow stream has failed").decode())

        check(stream.get_schema(ctypes.byref(stream), ctypes.byref(schema.struct)))
        spec = _type_of(schema.struct)
        while True:
            owner = _Owned(_Array)
            check(stream.get_next(ctypes.byref(stream), ctypes.byref(owner.struct)))
            if not owner.struct.release:
                break
            parts.append(_view(owner.struct, spec, owner))
    return parts, spec[0], () if spec[1] is None else (spec[1],)


def to_numpy(x):
    """The column as one NumPy array: its own memory, where it is one chunk."""
    np = use_numpy()
    parts, dtype, row = chunks(x)
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts) if parts else np.zeros((0, *row), dtype)


class Chunked:
    """A column in chunks, of which slices along the first axis become NumPy arrays."""

    def __init__(self, x):
        np = use_numpy()
        self._parts, self.dtype, row = chunks(x)
        self._ends = np.cumsum([0, *[len(p) for p in self._parts]])
        self.shape = (int(self._ends[-1]), *row)
        self.ndim = len(self.shape)

    def __getitem__(self, key):
        np = use_numpy()
        key = key if isinstance(key, tuple) else (key,)
        begin, end, step = key[0].indices(self.shape[0])
        first, last = np.searchsorted(self._ends, [begin, end], side="right") - 1
        parts = [p[max(begin - at, 0): end - at] for p, at in
                 zip(self._parts[first: last + 1], self._ends[first:].tolist())]
        whole = parts[0] if len(parts) == 1 else np.concatenate(parts) if parts else np.zeros((0, *self.shape[1:]), self.dtype)
        return whole[(slice(None, None, step), *key[1:])]
