/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* foreign.c - arrays of other libraries that may be on a GPU: torch's tensors, CuPy's arrays.
 * Python
 * (_foreign.py) registers their types and knows how to ask them: for their memory, for a new array
 * of the same kind, and for the stream that their library works on now. */
#include "frontend/python/src/fx.h"

enum { MOST = 8 };
static PyObject *types[MOST];
static int ntypes;

bool fx_is_foreign(PyObject *o) {
    for (int i = 0; i < ntypes; i++)
        if ((PyObject *)Py_TYPE(o) == types[i] || PyObject_TypeCheck(o, (PyTypeObject *)types[i]))
            return true;
    return false;
}

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

int fx_foreign_memory(PyObject *o, fx_memory *m) {
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

PyObject *fx_foreign_empty(PyObject *like, uint8_t dtype, int rank, const int64_t *shape) {
    PyObject *sizes = PyTuple_New(rank), *r = NULL;
    for (int i = 0; sizes && i < rank; i++)
        PyTuple_SetItem(sizes, i, PyLong_FromLongLong(shape[i]));
    if (sizes) r = PyObject_CallFunction(part(1), "OiO", like, (int)dtype, sizes);
    Py_XDECREF(sizes);
    return r;
}

int fx_foreign_stream(PyObject *o, void **stream) {
    PyObject *r = PyObject_CallFunctionObjArgs(part(2), o, NULL);
    if (!r) return -1;
    *stream = (void *)(uintptr_t)PyLong_AsUnsignedLongLong(r);
    Py_DECREF(r);
    return PyErr_Occurred() ? -1 : 0;
}

/* use_foreign(type) */
static PyObject *use_foreign(PyObject *module, PyObject *type) {
    (void)module;
    if (!PyType_Check(type)) return PyErr_Format(PyExc_TypeError, "not a type");
    for (int i = 0; i < ntypes; i++)
        if (types[i] == type) Py_RETURN_NONE;
    if (ntypes == MOST) return PyErr_Format(PyExc_ValueError, "too many types of arrays");
    types[ntypes++] = Py_NewRef(type);
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {{"use_foreign", use_foreign, METH_O, NULL},
                                  {NULL, NULL, 0, NULL}};

int fx_init_foreign(PyObject *module) {
    return PyModule_AddFunctions(module, functions);
}
