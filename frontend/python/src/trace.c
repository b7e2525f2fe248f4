/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* trace.c - a function that is being compiled: its inputs, the lengths of their axes, what it met
 * outside; sizes as Python sees them; the program in the end.
 *
 * Each size of the first call above or below 1 becomes a symbol, equal sizes the same one. A
 * program is good for all calls with the same pattern: 1 where it was 1, equal where they were
 * equal, different where they were different. */
#include "frontend/python/src/fx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Thread_local fx_trace *fx_tracing;

/* ---- sizes --------------------------------------------------------------------------------------
 */

void fx_symbol_name(char name[24], int k) {
    snprintf(name, 24, "n%d", k);
}

static fusec_dim symbol(fx_trace *t, int k) {
    char name[24];
    fx_symbol_name(name, k);
    return fusec_sym(t->graph, name);
}

/* The dim of an axis of an input. */
static fusec_dim axis(fx_trace *t, int64_t size, int16_t *number) {
    fx_inputs *in = &t->inputs;
    *number = -1;
    if (size == 1 || t->is_static) return fusec_size(t->graph, size);
    int k = 0;
    while (k < in->nsymbols && in->symbol[k] != size) k++;
    if (k == 64) return fusec_size(t->graph, size);
    if (k == in->nsymbols) in->symbol[in->nsymbols++] = size;
    *number = (int16_t)k;
    return symbol(t, k);
}

PyObject *fx_dim_object(fx_trace *t, fusec_dim d) {
    int64_t n;
    if (fusec_dim_known(d, &n)) return PyLong_FromLongLong(n);
    fx_dim *o = PyObject_New(fx_dim, fx.dim);
    if (!o) return NULL;
    o->trace = (fx_trace *)Py_NewRef((PyObject *)t);
    o->dim = d;
    return (PyObject *)o;
}

static void dim_dealloc(fx_dim *d) {
    PyTypeObject *type = Py_TYPE((PyObject *)d);
    Py_DECREF((PyObject *)d->trace);
    PyObject_Free(d);
    Py_DECREF(type);
}

/* An int or a Dim as a size of the trace. */
static bool take_dim(fx_trace *t, PyObject *o, fusec_dim *d) {
    if (Py_TYPE(o) == fx.dim) {
        *d = ((fx_dim *)o)->dim;
        return true;
    }
    PyObject *i = PyNumber_Index(o);
    const int64_t n = i ? PyLong_AsLongLong(i) : -1;
    Py_XDECREF(i);
    if (PyErr_Occurred()) return false;
    *d = fusec_size(t->graph, n);
    return true;
}

bool fx_take_dims(fx_trace *t, PyObject *shape, int *rank, fusec_dim *dims) {
    const Py_ssize_t n = PyTuple_Size(shape);
    if (n < 0) return false;
    if (n > FX_MAX_RANK) {
        PyErr_Format(PyExc_ValueError, "an array of %zd axes: %d is the limit", n, FX_MAX_RANK);
        return false;
    }
    for (Py_ssize_t i = 0; i < n; i++)
        if (!take_dim(t, PyTuple_GetItem(shape, i), &dims[i])) return false;
    *rank = (int)n;
    return true;
}

/* The number behind the size decides something: the function is traced again for these sizes. */
static PyObject *size_needed(PyObject *self) {
    (void)self;
    PyErr_SetString(fx.size_needed, "the length of an axis decides something");
    return NULL;
}

static int dim_bool(PyObject *self) {
    size_needed(self);
    return -1;
}

typedef fusec_dim (*dim_op)(fusec_dim, fusec_dim);

static PyObject *dim_arith(PyObject *a, PyObject *b, dim_op op) {
    fx_trace *t = ((fx_dim *)(Py_TYPE(a) == fx.dim ? a : b))->trace;
    fusec_dim x, y;
    if ((Py_TYPE(a) != fx.dim && !PyLong_Check(a)) || (Py_TYPE(b) != fx.dim && !PyLong_Check(b))) {
        if (fx_is_array(a) || fx_is_array(b)) Py_RETURN_NOTIMPLEMENTED;
        return size_needed(a);
    }
    if (!take_dim(t, a, &x) || !take_dim(t, b, &y)) return NULL;
    PyObject *r = fx_dim_object(t, op(x, y));
    const fusec_status s = fusec_graph_status(t->graph);
    if (!s) return r;
    Py_XDECREF(r);
    return size_needed(a);
}

#define DIM_OP(name)                                                                               \
    static PyObject *dim_##name(PyObject *a, PyObject *b) {                                        \
        return dim_arith(a, b, fusec_dim_##name);                                                  \
    }
DIM_OP(add)
DIM_OP(sub)
DIM_OP(mul)

static PyObject *dim_other(PyObject *a, PyObject *b) {
    if (fx_is_array(a) || fx_is_array(b)) Py_RETURN_NOTIMPLEMENTED;
    return size_needed(a);
}

static PyObject *dim_power(PyObject *a, PyObject *b, PyObject *c) {
    (void)c;
    return dim_other(a, b);
}

/* Decided where the difference is a number, and where the pattern says that two lengths differ. */
static PyObject *dim_compare(PyObject *a, PyObject *b, int how) {
    fx_trace *t = ((fx_dim *)a)->trace;
    fusec_dim x, y;
    int64_t n;
    if (fx_is_array(b)) Py_RETURN_NOTIMPLEMENTED;
    if (Py_TYPE(b) != fx.dim && !PyLong_Check(b)) return size_needed(a);
    if (!take_dim(t, a, &x) || !take_dim(t, b, &y)) return NULL;
    if (fusec_dim_known(fusec_dim_sub(x, y), &n)) {
        const bool r[] = {
            [Py_LT] = n<0, [Py_LE] = n <= 0, [Py_EQ] = n == 0, [Py_NE] = n != 0, [Py_GT] = n> 0,
            [Py_GE] = n >= 0};
        return PyBool_FromLong(r[how]);
    }
    if (how == Py_EQ || how == Py_NE) {
        const int count = t->inputs.nsymbols;
        bool one = fusec_dim_known(y, &n) && n == 1;
        for (int k = 0; k < count && !one; k++) one = symbol(t, k).id == y.id;
        for (int k = 0; k < count && one; k++)
            if (symbol(t, k).id == x.id) return PyBool_FromLong(how == Py_NE);
    }
    return size_needed(a);
}

static Py_hash_t dim_hash(PyObject *self) {
    return (Py_hash_t)((fx_dim *)self)->dim.id;
}

static PyObject *dim_repr(PyObject *self) {
    return PyUnicode_FromFormat("<size %u of a trace>", (unsigned)((fx_dim *)self)->dim.id);
}

static PyType_Slot dim_slots[] = {
    {Py_tp_dealloc, dim_dealloc},
    {Py_nb_add, dim_add},
    {Py_nb_subtract, dim_sub},
    {Py_nb_multiply, dim_mul},
    {Py_nb_true_divide, dim_other},
    {Py_nb_floor_divide, dim_other},
    {Py_nb_remainder, dim_other},
    {Py_nb_power, dim_power},
    {Py_nb_negative, size_needed},
    {Py_nb_absolute, size_needed},
    {Py_nb_index, size_needed},
    {Py_nb_int, size_needed},
    {Py_nb_float, size_needed},
    {Py_nb_bool, dim_bool},
    {Py_tp_richcompare, dim_compare},
    {Py_tp_hash, dim_hash},
    {Py_tp_repr, dim_repr},
    {Py_tp_doc,
     "The length of an axis inside a traced function: it adds, subtracts and multiplies."},
    {0, NULL}};
static PyType_Spec dim_spec = {"fusec._core.Dim", sizeof(fx_dim), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, dim_slots};

/* ---- inputs -------------------------------------------------------------------------------------
 */

static fx_input *new_input(fx_trace *t) {
    fx_inputs *in = &t->inputs;
    if (in->n == in->room) {
        const int room = in->room ? 2 * in->room : 8;
        fx_input *at = realloc(in->at, (size_t)room * sizeof *at);
        if (!at) return (fx_input *)PyErr_NoMemory();
        in->at = at;
        in->room = room;
    }
    in->at[in->n] = (fx_input){0};
    return &in->at[in->n++];
}

static PyObject *add_input(fx_trace *t, uint8_t dtype, int rank, const int64_t *shape,
                           char number) {
    char name[16];
    fusec_dim dims[FX_MAX_RANK];
    fx_input *in = new_input(t);
    if (!in) return NULL;
    in->dtype = dtype;
    in->rank = (uint8_t)rank;
    in->number = number;
    for (int i = 0; i < rank; i++) {
        in->size[i] = shape[i];
        dims[i] = axis(t, shape[i], &in->symbol[i]);
    }
    const bool lone = t->device != FX_CPU && !rank && !number; /* jit.c, on_gpu */
    if (lone) dims[0] = fusec_size(t->graph, 1);
    snprintf(name, sizeof name, "x%d", t->inputs.n - 1);
    const int axes = rank + lone;
    fusec_value x = fusec_input(t->graph, name, (fusec_dtype)dtype, axes, axes ? dims : NULL);
    if (lone) x = fusec_reshape(x, 0, NULL);
    fx_array *a = (fx_array *)fx_traced(t, x);
    if (a) a->weak = (uint8_t)number;
    return (PyObject *)a;
}

static PyObject *trace_input(PyObject *self, PyObject *args) {
    int dtype;
    PyObject *sizes;
    int64_t shape[FX_MAX_RANK];
    if (!PyArg_ParseTuple(args, "iO!", &dtype, &PyTuple_Type, &sizes)) return NULL;
    const Py_ssize_t rank = PyTuple_Size(sizes);
    if (rank > FX_MAX_RANK || dtype < 0 || dtype >= FX_DTYPES) {
        PyErr_Format(PyExc_ValueError, "an array of %zd axes: %d is the limit", rank, FX_MAX_RANK);
        return NULL;
    }
    for (Py_ssize_t i = 0; i < rank; i++) {
        shape[i] = PyLong_AsLongLong(PyTuple_GetItem(sizes, i));
        if (PyErr_Occurred()) return NULL;
    }
    return add_input((fx_trace *)self, (uint8_t)dtype, (int)rank, shape, 0);
}

static PyObject *trace_number(PyObject *self, PyObject *args) {
    int kind;
    if (!PyArg_ParseTuple(args, "C", &kind)) return NULL;
    const uint8_t t = kind == 'b' ? FUSEC_BOOL : kind == 'i' ? FUSEC_I64 : FUSEC_F64;
    return add_input((fx_trace *)self, t, 0, NULL, (char)kind);
}

/* What the function met before, found by identity. */
static PyObject *find_captured(fx_trace *t, PyObject *o) {
    const Py_ssize_t n = PyList_Size(t->captured);
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *pair = PyList_GetItem(t->captured, i);
        if (PyTuple_GetItem(pair, 0) == o) return Py_NewRef(PyTuple_GetItem(pair, 1));
    }
    return NULL;
}

static PyObject *capture(fx_trace *t, PyObject *o, uint8_t dtype, int rank, const int64_t *shape) {
    PyObject *a = find_captured(t, o);
    if (a) return a;
    a = add_input(t, dtype, rank, shape, 0);
    PyObject *pair = a ? PyTuple_Pack(2, o, a) : NULL;
    if (!pair || PyList_Append(t->captured, pair)) Py_CLEAR(a);
    Py_XDECREF(pair);
    return a;
}

fx_array *fx_capture(fx_trace *t, fx_array *a) {
    int64_t shape[FX_MAX_RANK];
    if (a->trace) {
        fx_raise_text("trace", "a value of another traced function is used: what a traced function "
                               "computes leaves it only as its result");
        return NULL;
    }
    if (a->device != t->device && a->rank)
        return (fx_array *)fx_wrong_device(a->device, "an array that the function meets");
    if (fx_lazy_shape(a, shape)) return NULL;
    return (fx_array *)capture(t, (PyObject *)a, a->dtype, a->rank, shape);
}

static PyObject *trace_capture(PyObject *self, PyObject *args) {
    int dtype;
    PyObject *o, *sizes;
    int64_t shape[FX_MAX_RANK];
    if (!PyArg_ParseTuple(args, "OiO!", &o, &dtype, &PyTuple_Type, &sizes)) return NULL;
    const Py_ssize_t rank = PyTuple_Size(sizes);
    if (rank > FX_MAX_RANK) return PyErr_Format(PyExc_ValueError, "an array of %zd axes", rank);
    for (Py_ssize_t i = 0; i < rank; i++) {
        shape[i] = PyLong_AsLongLong(PyTuple_GetItem(sizes, i));
        if (PyErr_Occurred()) return NULL;
    }
    return capture((fx_trace *)self, o, (uint8_t)dtype, (int)rank, shape);
}

/* ---- traces -------------------------------------------------------------------------------------
 */

static PyObject *trace_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    int is_static = 0, device = fx_new_on(), mode = -1; /* that of the context */
    (void)kwargs;
    if (!PyArg_ParseTuple(args, "|pii", &is_static, &device, &mode)) return NULL;
    fusec_context *ctx = fx_context(device);
    if (!ctx) return NULL;
    allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    fx_trace *t = (fx_trace *)alloc(type, 0);
    if (!t) return NULL;
    t->is_static = is_static;
    t->device = (uint8_t)device;
    t->captured = PyList_New(0);
    fusec_status s = fusec_graph_new(ctx, &t->graph);
    if (!s && mode >= 0) s = fusec_graph_mode(t->graph, (unsigned)mode);
    if (s) fx_raise(s);
    if (s || !t->captured) {
        Py_DECREF((PyObject *)t);
        t = NULL;
    }
    return (PyObject *)t;
}

static void trace_dealloc(fx_trace *t) {
    PyTypeObject *type = Py_TYPE((PyObject *)t);
    fusec_graph_free(t->graph);
    free(t->inputs.at);
    Py_XDECREF(t->captured);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(t);
    Py_DECREF(type);
}

/* Makes it the trace of this thread; gives the one before, or None. */
static PyObject *trace_enter(PyObject *self, PyObject *none) {
    (void)none;
    PyObject *before = fx_tracing ? (PyObject *)fx_tracing : Py_NewRef(Py_None);
    fx_tracing = (fx_trace *)Py_NewRef(self);
    return before;
}

/* What was met keeps values of the trace, which keep the trace: let go here. */
static PyObject *trace_leave(PyObject *self, PyObject *before) {
    PyObject *captured = ((fx_trace *)self)->captured;
    if (PyList_SetSlice(captured, 0, PyList_Size(captured), NULL)) return NULL;
    Py_XDECREF((PyObject *)fx_tracing);
    fx_tracing = before == Py_None ? NULL : (fx_trace *)Py_NewRef(before);
    Py_RETURN_NONE;
}

static PyObject *tracing(PyObject *module, PyObject *none) {
    (void)module, (void)none;
    return Py_NewRef(fx_tracing ? (PyObject *)fx_tracing : Py_None);
}

static PyObject *trace_get(PyObject *self, void *what) {
    (void)what;
    return Py_NewRef(((fx_trace *)self)->captured);
}

/* compile(outputs): a Program of the arrays, which are values of this trace. */
static PyObject *trace_compile(PyObject *self, PyObject *outputs) {
    fx_trace *t = (fx_trace *)self;
    fusec_program *p = NULL;
    const Py_ssize_t n = PyTuple_Size(outputs);
    if (n < 0) return NULL;
    for (Py_ssize_t i = 0; i < n; i++) {
        char name[24];
        PyObject *o = PyTuple_GetItem(outputs, i);
        if (!fx_is_array(o) || ((fx_array *)o)->trace != t)
            return PyErr_Format(PyExc_TypeError, "a result is not of this trace");
        snprintf(name, sizeof name, "y%d", (int)i);
        fusec_output(t->graph, name, ((fx_array *)o)->value);
    }
    fusec_status s;
    Py_BEGIN_ALLOW_THREADS s = fusec_compile(t->graph, &p);
    Py_END_ALLOW_THREADS if (s) return fx_raise(s);
    PyObject *r = fx_new_program(p, t->device, &t->inputs);
    t->inputs = (fx_inputs){0};
    return r;
}

static PyMethodDef trace_methods[] = {
    {"input", trace_input, METH_VARARGS, "input(dtype, shape): an array that comes with the call."},
    {"number", trace_number, METH_VARARGS,
     "number(kind): a Python number that comes with the call."},
    {"capture", trace_capture, METH_VARARGS, "capture(object, dtype, shape): memory that was met."},
    {"enter", trace_enter, METH_NOARGS, NULL},
    {"leave", trace_leave, METH_O, NULL},
    {"compile", trace_compile, METH_O, NULL},
    {NULL, NULL, 0, NULL}};
static PyObject *trace_device(PyObject *self, void *unused) {
    (void)unused;
    return PyLong_FromLong(((fx_trace *)self)->device);
}
static PyGetSetDef trace_members[] = {{"captured", trace_get, NULL, NULL, NULL},
                                      {"device", trace_device, NULL, NULL, NULL},
                                      {NULL, NULL, NULL, NULL, NULL}};
static PyType_Slot trace_slots[] = {{Py_tp_new, trace_new},
                                    {Py_tp_dealloc, trace_dealloc},
                                    {Py_tp_methods, trace_methods},
                                    {Py_tp_getset, trace_members},
                                    {0, NULL}};
static PyType_Spec trace_spec = {"fusec._core.Trace", sizeof(fx_trace), 0, Py_TPFLAGS_DEFAULT,
                                 trace_slots};

static PyMethodDef functions[] = {{"tracing", tracing, METH_NOARGS, "The trace of this thread."},
                                  {NULL, NULL, 0, NULL}};

int fx_init_trace(PyObject *module) {
    fx.dim = (PyTypeObject *)PyType_FromSpec(&dim_spec);
    fx.trace = (PyTypeObject *)PyType_FromSpec(&trace_spec);
    if (!fx.dim || !fx.trace || PyModule_AddFunctions(module, functions) ||
        PyModule_AddObjectRef(module, "Dim", (PyObject *)fx.dim))
        return -1;
    return PyModule_AddObjectRef(module, "Trace", (PyObject *)fx.trace);
}
