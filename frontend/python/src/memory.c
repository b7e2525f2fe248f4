/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* memory.c - the memory behind Python objects: NumPy's arrays by their C structure when NumPy's
 * headers were there at build time, our own arrays, and whatever has the buffer protocol.
 *
 * NumPy is not imported: its array type is looked for in sys.modules. */
#include "frontend/python/src/fx.h"

#include <string.h>

#ifdef FX_NUMPY
#define NPY_NO_DEPRECATED_API  NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION     NPY_1_23_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL fx_numpy_api
#include <numpy/arrayobject.h>
#endif

static const uint8_t bytes_of[FX_DTYPES] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8, 8, 16};

size_t fx_dtype_bytes(uint8_t t) {
    return bytes_of[t];
}

const char *fx_dtype_name(uint8_t t) {
    static const char *const names[FX_DTYPES] = {
        "bool",   "int8",    "int16",    "int32",   "int64",   "uint8",     "uint16",    "uint32",
        "uint64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128"};
    return names[t];
}

PyObject *fx_shape_tuple(int rank, const int64_t *shape) {
    PyObject *r = PyTuple_New(rank);
    for (int i = 0; r && i < rank; i++)
        if (PyTuple_SetItem(r, i, PyLong_FromLongLong(shape[i]))) Py_CLEAR(r);
    return r;
}

/* ---- NumPy --------------------------------------------------------------------------------------
 */

static bool numpy_there;
static PyObject *numpy_empty; /* without the headers: numpy.empty, and dtypes by number */
static PyObject *numpy_dtypes[FX_DTYPES];

#ifdef FX_NUMPY
static int numpy_bf16 = -1; /* its type number, if ml_dtypes is there */

static uint8_t dtype_of_numpy(int type) {
    switch (type) {
    case NPY_BOOL: return FUSEC_BOOL;
    case NPY_BYTE: return FUSEC_I8;
    case NPY_UBYTE: return FUSEC_U8;
    case NPY_SHORT: return FUSEC_I16;
    case NPY_USHORT: return FUSEC_U16;
    case NPY_INT: return FUSEC_I32;
    case NPY_UINT: return FUSEC_U32;
    case NPY_LONG:
    case NPY_LONGLONG: return FUSEC_I64;
    case NPY_ULONG:
    case NPY_ULONGLONG: return FUSEC_U64;
    case NPY_HALF: return FUSEC_F16;
    case NPY_FLOAT: return FUSEC_F32;
    case NPY_DOUBLE: return FUSEC_F64;
    case NPY_CFLOAT: return FUSEC_C64;
    case NPY_CDOUBLE: return FUSEC_C128;
    default: return type == numpy_bf16 ? FUSEC_BF16 : FX_NO_DTYPE;
    }
}

static int of_numpy(PyObject *o, fx_memory *m) {
    PyArrayObject *a = (PyArrayObject *)o;
    const uint8_t t = dtype_of_numpy(PyArray_TYPE(a));
    if (t == FX_NO_DTYPE || PyArray_ISBYTESWAPPED(a) || PyArray_NDIM(a) > FX_MAX_RANK) return 0;
    const int64_t size = bytes_of[t];
    m->dtype = t;
    m->rank = PyArray_NDIM(a);
    m->data = PyArray_DATA(a);
    m->writable = PyArray_ISWRITEABLE(a);
    m->dense = PyArray_IS_C_CONTIGUOUS(a);
    m->device = FX_CPU;
    m->held = NULL;
    m->from = FX_FROM_NUMPY;
    for (int i = 0; i < m->rank; i++) {
        m->shape[i] = PyArray_DIM(a, i);
        if (m->dense) continue;
        if (PyArray_STRIDE(a, i) % size) return 0;
        m->strides[i] = PyArray_STRIDE(a, i) / size;
    }
    return (uintptr_t)m->data % (uintptr_t)(t > FUSEC_F64 ? size / 2 : size) ? 0 : 1;
}
#endif

/* use_numpy(numpy.empty, dtypes by number, type number of bfloat16 or -1): NumPy is there. */
static PyObject *use_numpy(PyObject *module, PyObject *args) {
    PyObject *empty, *dtypes;
    int bf16;
    (void)module;
    if (!PyArg_ParseTuple(args, "OO!i", &empty, &PyTuple_Type, &dtypes, &bf16)) return NULL;
#ifdef FX_NUMPY
    if (!numpy_there && _import_array() < 0) return NULL;
    numpy_bf16 = bf16;
#endif
    Py_XDECREF(numpy_empty);
    numpy_empty = Py_NewRef(empty);
    for (int i = 0; i < FX_DTYPES; i++) {
        Py_XDECREF(numpy_dtypes[i]);
        numpy_dtypes[i] = Py_XNewRef(PyTuple_GetItem(dtypes, i));
    }
    numpy_there = !PyErr_Occurred();
    return numpy_there ? Py_NewRef(Py_None) : NULL;
}

static bool is_numpy(PyObject *o) {
#ifdef FX_NUMPY
    return numpy_there && PyArray_CheckExact(o);
#else
    (void)o;
    return false;
#endif
}

PyObject *fx_new_numpy(uint8_t dtype, int rank, const int64_t *shape, void **data) {
    PyObject *r = NULL;
    if (!numpy_there) return PyErr_Format(PyExc_RuntimeError, "NumPy is not loaded");
#ifdef FX_NUMPY
    static const int types[FX_DTYPES] = {
        NPY_BOOL,   NPY_INT8, NPY_INT16, NPY_INT32, NPY_INT64,  NPY_UINT8,  NPY_UINT16, NPY_UINT32,
        NPY_UINT64, NPY_HALF, -1,        NPY_FLOAT, NPY_DOUBLE, NPY_CFLOAT, NPY_CDOUBLE};
    if (types[dtype] >= 0) {
        npy_intp dims[FX_MAX_RANK + 1];
        for (int i = 0; i < rank; i++) dims[i] = (npy_intp)shape[i];
        r = PyArray_SimpleNew(rank, dims, types[dtype]);
        if (r) *data = PyArray_DATA((PyArrayObject *)r);
        return r;
    }
#endif
    PyObject *sizes = fx_shape_tuple(rank, shape);
    if (sizes) r = PyObject_CallFunctionObjArgs(numpy_empty, sizes, numpy_dtypes[dtype], NULL);
    Py_XDECREF(sizes);
#ifdef FX_NUMPY
    if (r) *data = PyArray_DATA((PyArrayObject *)r);
#else
    Py_buffer b;
    if (r && PyObject_GetBuffer(r, &b, PyBUF_SIMPLE)) Py_CLEAR(r);
    if (r) {
        *data = b.buf;
        PyBuffer_Release(&b);
    }
#endif
    return r;
}

/* What NumPy's functions give: a scalar instead of an array without axes. */
PyObject *fx_numpy_result(PyObject *a) {
#ifdef FX_NUMPY
    return PyArray_NDIM((PyArrayObject *)a) ? a : PyArray_Return((PyArrayObject *)a);
#else
    PyObject *key = PyTuple_New(0), *n = PyObject_GetAttrString(a, "ndim");
    PyObject *r = key && n && PyLong_AsLong(n) == 0 ? PyObject_GetItem(a, key) : Py_NewRef(a);
    Py_XDECREF(key);
    Py_XDECREF(n);
    Py_DECREF(a);
    return r;
#endif
}

/* ---- buffers ------------------------------------------------------------------------------------
 */

static uint8_t dtype_of_format(const char *f, Py_ssize_t size) {
    if (!f) return FUSEC_U8;
    if (*f == '@' || *f == '=' || *f == '<' || *f == '|') f++; /* the machine is little-endian */
    if (!strcmp(f, "Zf")) return FUSEC_C64;
    if (!strcmp(f, "Zd")) return FUSEC_C128;
    if (!f[0] || f[1]) return FX_NO_DTYPE;
    const int width = size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : size == 8 ? 3 : 4;
    if (width == 4) return FX_NO_DTYPE;
    if (*f == '?') return FUSEC_BOOL;
    if (strchr("bhilqn", *f)) return (uint8_t)(FUSEC_I8 + width);
    if (strchr("BHILQN", *f)) return (uint8_t)(FUSEC_U8 + width);
    return *f == 'e' ? FUSEC_F16 : *f == 'f' ? FUSEC_F32 : *f == 'd' ? FUSEC_F64 : FX_NO_DTYPE;
}

static int of_buffer(PyObject *o, fx_memory *m, Py_buffer *v) {
    if (PyObject_GetBuffer(o, v, PyBUF_RECORDS_RO)) {
        PyErr_Clear();
        return 0;
    }
    const uint8_t t = dtype_of_format(v->format, v->itemsize);
    int ok = t != FX_NO_DTYPE && v->ndim <= FX_MAX_RANK && !v->suboffsets &&
             (uintptr_t)v->buf % (t < FX_DTYPES && t <= FUSEC_F64 ? bytes_of[t] : 4) == 0;
    m->dtype = t;
    m->rank = v->ndim;
    m->data = v->buf;
    m->writable = !v->readonly;
    m->dense = PyBuffer_IsContiguous(v, 'C');
    m->device = FX_CPU;
    m->held = NULL;
    m->from = FX_FROM_BUFFER;
    for (int i = 0; ok && i < m->rank; i++) {
        m->shape[i] = v->shape[i];
        m->strides[i] = v->strides[i] / v->itemsize;
        ok = v->strides[i] % v->itemsize == 0;
    }
    if (!ok) PyBuffer_Release(v);
    return ok;
}

int fx_memory_of(PyObject *o, fx_memory *m, Py_buffer *view) {
#ifdef FX_NUMPY
    if (is_numpy(o)) return of_numpy(o, m);
#endif
    if (fx_is_array(o)) return fx_lazy_memory((fx_array *)o, m);
    if (fx_is_foreign(o)) return fx_foreign_memory(o, m, false);
    return PyObject_CheckBuffer(o) ? of_buffer(o, m, view) : 0;
}

void fx_memory_done(fx_memory *m, Py_buffer *view) {
    if (m->from == FX_FROM_BUFFER) PyBuffer_Release(view);
    if (m->held) fusec_lazy_release(m->held);
}

int fx_kind_of(PyObject *o) {
    return is_numpy(o) ? 1 : fx_is_array(o) ? 2 : fx_is_foreign(o) ? 3 : 0;
}

/* ---- a buffer for Python: formats and strides in bytes
 * ------------------------------------------- */

/* NumPy asks for the buffer first, drops whatever exception that raises, and tries another way,
 * which would compute everything a second time: an interrupt is raised there again. */
static const PyObject *interrupted;

static PyObject *raise_again(PyObject *module, PyObject *o) {
    (void)module;
    const bool again = interrupted == o;
    interrupted = NULL;
    if (!again) Py_RETURN_NONE;
    PyErr_SetNone(PyExc_KeyboardInterrupt);
    return NULL;
}

typedef struct exported {
    fx_memory memory;
    Py_ssize_t shape[FX_MAX_RANK], strides[FX_MAX_RANK];
} exported;

int fx_get_buffer(PyObject *self, Py_buffer *v, int flags) {
    /* 64 bits are a long: NumPy's own int64; as a long long it is another type of the same name */
    static const char *const formats[FX_DTYPES] = {"?", "b", "h",  "i", "l", "B",  "H", "I",
                                                   "L", "e", NULL, "f", "d", "Zf", "Zd"};
    v->obj = NULL;
    exported *x = PyMem_Malloc(sizeof *x);
    if (!x) return PyErr_NoMemory(), -1;
    fx_array *a = (fx_array *)self;
    const int got = fx_host_memory(a, &x->memory);
    interrupted = got < 0 && PyErr_ExceptionMatches(PyExc_KeyboardInterrupt) ? self : NULL;
    if (got <= 0 || !formats[a->dtype] || (flags & PyBUF_WRITABLE) == PyBUF_WRITABLE) {
        if (got > 0) fusec_lazy_release(x->memory.held);
        PyMem_Free(x);
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_BufferError,
                            got > 0 && formats[a->dtype]
                                ? "the memory of an fx.Array is read-only: copy it"
                                : "an array of this dtype has no buffer format");
        return -1;
    }
    int64_t count = 1;
    for (int i = x->memory.rank - 1; i >= 0; i--) {
        x->shape[i] = (Py_ssize_t)x->memory.shape[i];
        x->strides[i] =
            (Py_ssize_t)((x->memory.dense ? count : x->memory.strides[i]) * bytes_of[a->dtype]);
        count *= x->memory.shape[i];
    }
    if (!x->memory.dense && (flags & PyBUF_STRIDES) != PyBUF_STRIDES) {
        fusec_lazy_release(x->memory.held);
        PyMem_Free(x);
        PyErr_SetString(PyExc_BufferError, "the array is not contiguous");
        return -1;
    }
    *v = (Py_buffer){.buf = x->memory.data,
                     .obj = Py_NewRef(self),
                     .len = (Py_ssize_t)count * bytes_of[a->dtype],
                     .itemsize = bytes_of[a->dtype],
                     .readonly = 1,
                     .ndim = x->memory.rank,
                     .format = (flags & PyBUF_FORMAT) ? (char *)(uintptr_t)formats[a->dtype] : NULL,
                     .shape = (flags & PyBUF_ND) == PyBUF_ND ? x->shape : NULL,
                     .strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? x->strides : NULL,
                     .internal = x};
    return 0;
}

void fx_release_buffer(PyObject *self, Py_buffer *v) {
    (void)self;
    fusec_lazy_release(((exported *)v->internal)->memory.held);
    PyMem_Free(v->internal);
}

static PyMethodDef functions[] = {{"use_numpy", use_numpy, METH_VARARGS, NULL},
                                  {"raise_again", raise_again, METH_O, NULL},
                                  {NULL, NULL, 0, NULL}};

int fx_init_memory(PyObject *module) {
    return PyModule_AddFunctions(module, functions);
}
