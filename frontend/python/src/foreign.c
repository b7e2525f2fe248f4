/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* foreign.c - arrays of other libraries that may be on a GPU: torch's tensors, CuPy's arrays.
 *
 * Python (_foreign.py) registers their types and knows how to ask them: for their memory, for a new
 * array of the same kind, and for the stream that their library works on now. A type that has the
 * exchange table of DLPack (__dlpack_c_exchange_api__) is asked through it, without Python. The
 * table says nothing of gradients and of elements that are to be negated, so tensors of torch are
 * asked for these first, and whatever is unusual goes to Python, which knows what to say. */
#include "frontend/python/src/fx.h"

#include <string.h>

enum { MOST = 8, ON_CUDA = 2 };
enum { IS_RECORDING, EMPTY_ON_CPU, EMPTY_ON_GPU, TORCH_DTYPES, TORCH_HOOKS };

typedef struct kind {
    PyObject *type;
    const fx_exchange *api; /* NULL: Python is asked */
    PyObject *torch;        /* of torch's types: a tuple of TORCH_HOOKS; else NULL */
} kind;
static kind kinds[MOST];
static int nkinds;
static PyObject *requires_grad, *is_neg, *is_conj; /* names */

static const kind *kind_of(PyObject *o) {
    for (int i = 0; i < nkinds; i++)
        if ((PyObject *)Py_TYPE(o) == kinds[i].type) return &kinds[i];
    return NULL;
}

bool fx_is_foreign(PyObject *o) {
    if (kind_of(o)) return true;
    for (int i = 0; i < nkinds; i++)
        if (PyObject_TypeCheck(o, (PyTypeObject *)kinds[i].type)) return true;
    return false;
}

/* ---- through the table --------------------------------------------------------------------------
 */

static bool is_true(PyObject *o) {
    const bool yes = o != Py_False; /* an error, too: Python finds it again */
    Py_XDECREF(o);
    return yes;
}

/* Must Python look at the tensor? */
static bool is_unusual(const kind *k, PyObject *o, uint8_t dtype) {
    if (is_true(PyObject_GetAttr(o, requires_grad)) &&
        is_true(PyObject_CallFunctionObjArgs(PyTuple_GetItem(k->torch, IS_RECORDING), NULL)))
        return true;
    const bool is_complex = dtype == FUSEC_C64 || dtype == FUSEC_C128;
    if (is_complex && is_true(PyObject_CallMethodObjArgs(o, is_conj, NULL))) return true;
    return (is_complex || dtype == FUSEC_F32 || dtype == FUSEC_F64 || dtype == FUSEC_F16 ||
            dtype == FUSEC_BF16) &&
           is_true(PyObject_CallMethodObjArgs(o, is_neg, NULL));
}

/* 1: filled; 0: Python is to be asked. */
static int memory_by_table(const kind *k, PyObject *o, fx_memory *m, bool is_new) {
    fx_dl_tensor t;
    if (k->api->tensor_from(o, &t) || !fx_dl_memory(&t, m) ||
        (!is_new && k->torch && is_unusual(k, o, m->dtype))) {
        PyErr_Clear();
        return 0;
    }
    m->writable = true;
    return 1;
}

/* ---- through Python -----------------------------------------------------------------------------
 */

static bool take_list(PyObject *tuple, int64_t *to, int *n) {
    const Py_ssize_t count = PyTuple_Size(tuple);
    if (count > FX_MAX_RANK) PyErr_SetString(PyExc_ValueError, "too many axes");
    for (Py_ssize_t i = 0; i < count && !PyErr_Occurred(); i++)
        to[i] = PyLong_AsLongLong(PyTuple_GetItem(tuple, i));
    *n = (int)count;
    return !PyErr_Occurred();
}

static PyObject *part(int i) {
    return PyTuple_GetItem(fx.foreign, i);
}

int fx_foreign_memory(PyObject *o, fx_memory *m, bool is_new) {
    const kind *k = kind_of(o);
    if (k && k->api && memory_by_table(k, o, m, is_new)) return 1;
    unsigned long long address;
    int code, device, writable, n = 0;
    PyObject *shape, *strides, *r = PyObject_CallFunctionObjArgs(part(0), o, NULL);
    if (!r) return -1;
    int ok = r == Py_None ? 0 : 1;
    if (ok &&
        (!PyArg_ParseTuple(r, "KiOOip", &address, &code, &shape, &strides, &device, &writable) ||
         !take_list(shape, m->shape, &m->rank) ||
         (strides != Py_None && !take_list(strides, m->strides, &n))))
        ok = -1;
    if (ok == 1) {
        m->data = (void *)(uintptr_t)address;
        m->dtype = (uint8_t)code;
        m->device = (uint8_t)device;
        m->writable = writable;
        m->dense = strides == Py_None;
        m->from = FX_FROM_FOREIGN;
        m->held = NULL;
    }
    Py_DECREF(r);
    return ok;
}

static PyObject *tuple_of(int n, const int64_t *values) {
    PyObject *t = PyTuple_New(n);
    for (int i = 0; t && i < n; i++) {
        PyObject *v = PyLong_FromLongLong(values[i]);
        if (v)
            PyTuple_SetItem(t, i, v);
        else
            Py_CLEAR(t);
    }
    return t;
}

/* (shape, strides, dtype), as torch's own allocating functions take them. */
static PyObject *arguments_of(const kind *k, uint8_t dtype, int rank, const int64_t *shape,
                              const int64_t *strides) {
    int64_t dense[FX_MAX_RANK], count = 1;
    for (int i = rank - 1; i >= 0; i--) {
        dense[i] = count;
        count *= shape[i] > 1 ? shape[i] : 1;
    }
    PyObject *t = PyTuple_GetItem(PyTuple_GetItem(k->torch, TORCH_DTYPES), dtype);
    PyObject *a = tuple_of(rank, shape), *b = tuple_of(rank, strides ? strides : dense);
    PyObject *r = a && b && t ? PyTuple_Pack(3, a, b, t) : NULL;
    Py_XDECREF(a);
    Py_XDECREF(b);
    return r;
}

PyObject *fx_foreign_empty(PyObject *like, int device, uint8_t dtype, int rank,
                           const int64_t *shape, const int64_t *strides, PyObject **arguments) {
    const kind *k = kind_of(like);
    if (k && k->torch) {
        PyObject *make = PyTuple_GetItem(k->torch, device ? EMPTY_ON_GPU : EMPTY_ON_CPU);
        if (!*arguments && make != Py_None)
            *arguments = arguments_of(k, dtype, rank, shape, strides);
        if (make != Py_None) return *arguments ? PyObject_CallObject(make, *arguments) : NULL;
    }
    PyObject *sizes = tuple_of(rank, shape), *r = NULL;
    PyObject *steps = strides ? tuple_of(rank, strides) : Py_NewRef(Py_None);
    if (sizes && steps)
        r = PyObject_CallFunction(part(1), "OiOiO", like, (int)dtype, sizes, device, steps);
    Py_XDECREF(sizes);
    Py_XDECREF(steps);
    return r;
}

int fx_foreign_stream(PyObject *o, int device, void **stream) {
    enum { LEGACY = 1 }; /* the library takes 0 for its own */
    const kind *k = kind_of(o);
    if (k && k->api) {
        if (k->api->current_stream(ON_CUDA, device - 1, stream)) return -1;
        if (!*stream) *stream = (void *)(uintptr_t)LEGACY;
        return 0;
    }
    PyObject *r = PyObject_CallFunctionObjArgs(part(2), o, NULL);
    if (!r) return -1;
    *stream = (void *)(uintptr_t)PyLong_AsUnsignedLongLong(r);
    Py_DECREF(r);
    return PyErr_Occurred() ? -1 : 0;
}

static const fx_exchange *table_of(PyObject *type) {
    PyObject *capsule = PyObject_GetAttrString(type, "__dlpack_c_exchange_api__");
    const fx_exchange *api =
        capsule ? PyCapsule_GetPointer(capsule, "dlpack_exchange_api") : NULL; /* static memory */
    while (api && api->major > 1) api = api->older;
    Py_XDECREF(capsule);
    PyErr_Clear();
    return api && api->major == 1 && api->tensor_from && api->current_stream ? api : NULL;
}

/* use_foreign(type, hooks): hooks of torch's types, else None */
static PyObject *use_foreign(PyObject *module, PyObject *args) {
    PyObject *type, *torch;
    (void)module;
    if (!PyArg_ParseTuple(args, "OO", &type, &torch)) return NULL;
    if (!PyType_Check(type)) return PyErr_Format(PyExc_TypeError, "not a type");
    for (int i = 0; i < nkinds; i++)
        if (kinds[i].type == type) Py_RETURN_NONE;
    if (nkinds == MOST) return PyErr_Format(PyExc_ValueError, "too many types of arrays");
    kinds[nkinds++] = (kind){.type = Py_NewRef(type),
                             .api = table_of(type),
                             .torch = torch == Py_None ? NULL : Py_NewRef(torch)};
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {{"use_foreign", use_foreign, METH_VARARGS, NULL},
                                  {NULL, NULL, 0, NULL}};

int fx_init_foreign(PyObject *module) {
    requires_grad = PyUnicode_InternFromString("requires_grad");
    is_neg = PyUnicode_InternFromString("is_neg");
    is_conj = PyUnicode_InternFromString("is_conj");
    if (!requires_grad || !is_neg || !is_conj) return -1;
    return PyModule_AddFunctions(module, functions);
}
