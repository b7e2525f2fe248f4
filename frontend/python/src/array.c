/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* array.c - the type of arrays: what they are, not what is done with them. Python (_array.py) adds
 * its methods to this type: a class derived in Python would be tracked by the garbage collector,
 * and making an array would cost more. */
#include "frontend/python/src/fx.h"

PyObject *fx_traced(fx_trace *t, fusec_value v) {
    const fusec_status s = fusec_graph_status(t->graph);
    if (s) return fx_raise(s);
    fx_array *a = PyObject_New(fx_array, fx.array);
    if (!a) return NULL;
    a->trace = (fx_trace *)Py_NewRef((PyObject *)t);
    a->lazy = NULL;
    a->strides = NULL;
    a->shown = NULL;
    a->device = t->device;
    a->value = v;
    a->weak = 0;
    a->dtype = (uint8_t)fusec_dtype_of(v);
    a->rank = (uint8_t)fusec_rank(v);
    return (PyObject *)a;
}

PyObject *fx_shape_of(const fx_array *a) {
    int64_t shape[FX_MAX_RANK];
    if (!a->trace && fx_lazy_shape(a, shape)) return NULL;
    PyObject *r = PyTuple_New(a->rank);
    for (int i = 0; r && i < a->rank; i++) {
        PyObject *n = a->trace ? fx_dim_object(a->trace, fusec_dim_of(a->value, i))
                               : PyLong_FromLongLong(shape[i]);
        if (!n || PyTuple_SetItem(r, i, n)) Py_CLEAR(r);
    }
    return r;
}

static void dealloc(fx_array *a) {
    PyTypeObject *type = Py_TYPE((PyObject *)a);
    Py_XDECREF((PyObject *)a->trace);
    fx_lazy_drop(a);
    PyMem_Free(a->strides);
    PyObject_Free(a);
    Py_DECREF(type);
}

static PyObject *get_shape(PyObject *self, void *unused) {
    (void)unused;
    return fx_shape_of((fx_array *)self);
}
static PyObject *get_ndim(PyObject *self, void *unused) {
    (void)unused;
    return PyLong_FromLong(((fx_array *)self)->rank);
}
static PyObject *get_code(PyObject *self, void *unused) {
    (void)unused;
    return PyLong_FromLong(((fx_array *)self)->dtype);
}
static PyObject *get_weak(PyObject *self, void *unused) {
    const char c = (char)((fx_array *)self)->weak;
    (void)unused;
    return PyUnicode_FromStringAndSize(&c, c != 0);
}
static PyObject *get_trace(PyObject *self, void *unused) {
    PyObject *t = (PyObject *)((fx_array *)self)->trace;
    (void)unused;
    return Py_NewRef(t ? t : Py_None);
}

static PyObject *get_device(PyObject *self, void *unused) {
    char name[24];
    (void)unused;
    fx_device_name(((fx_array *)self)->device, name);
    return PyUnicode_FromString(name);
}
static PyObject *get_device_number(PyObject *self, void *unused) {
    (void)unused;
    return PyLong_FromLong(((fx_array *)self)->device);
}

static PyGetSetDef members[] = {
    {"shape", get_shape, NULL, "Lengths of the axes, a tuple.", NULL},
    {"ndim", get_ndim, NULL, "Number of axes.", NULL},
    {"device", get_device, NULL, "Where it is: cpu, cuda:0 and so on.", NULL},
    {"_device", get_device_number, NULL, NULL, NULL},
    {"_code", get_code, NULL, NULL, NULL},
    {"_weak", get_weak, NULL, NULL, NULL},
    {"_trace", get_trace, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL}};

int fx_init_array(PyObject *module) {
    PyType_Slot slots[40] = {{Py_tp_dealloc, dealloc},
                             {Py_tp_getset, members},
                             {Py_tp_hash, PyObject_HashNotImplemented},
                             {Py_bf_getbuffer, fx_get_buffer},
                             {Py_bf_releasebuffer, fx_release_buffer}};
    int n = 5;
    for (int i = 0; fx_number_slots[i].slot; i++) slots[n++] = fx_number_slots[i];
    PyType_Spec spec = {"fusec.Array", sizeof(fx_array), 0,
                        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
    fx.array = (PyTypeObject *)PyType_FromSpec(&spec);
    return fx.array ? PyModule_AddObjectRef(module, "Array", (PyObject *)fx.array) : -1;
}
