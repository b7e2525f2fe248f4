/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* view.c - what is no row of the table: conversions, views, reductions, constants. The Python side
 * has checked and completed the arguments; sizes are ints, and Dims in a trace. */
#include "frontend/python/src/fx.h"

#include <string.h>

static fx_array *array_arg(PyObject *o) {
    if (fx_is_array(o)) return (fx_array *)o;
    PyErr_SetString(PyExc_TypeError, "not an fx.Array");
    return NULL;
}

/* The array where operations happen now: while a thread traces, a value of the trace. New
 * reference. */
static fx_array *current(PyObject *o) {
    fx_array *a = array_arg(o);
    if (!a || !fx_tracing || a->trace == fx_tracing) return (fx_array *)Py_XNewRef((PyObject *)a);
    return fx_capture(fx_tracing, a);
}

static PyObject *cast(PyObject *module, PyObject *args) {
    PyObject *o;
    int t;
    (void)module;
    if (!PyArg_ParseTuple(args, "Oi", &o, &t)) return NULL;
    fx_array *a = current(o);
    PyObject *r = a ? (PyObject *)fx_build_cast(a, (uint8_t)t) : NULL;
    Py_XDECREF((PyObject *)a);
    return r;
}

/* ---- reductions ---------------------------------------------------------------------------------
 */

static int take_axes(PyObject *tuple, int *axes) {
    const Py_ssize_t n = PyTuple_Size(tuple);
    for (Py_ssize_t i = 0; i < n && i < FX_MAX_RANK; i++)
        axes[i] = (int)PyLong_AsLong(PyTuple_GetItem(tuple, i));
    if (n > FX_MAX_RANK) PyErr_SetString(PyExc_ValueError, "too many axes");
    return PyErr_Occurred() ? -1 : (int)n;
}

static PyObject *traced_reduce(int row, fx_array *a, int naxes, const int *axes, int keep) {
    fusec_attr attr = FUSEC_ATTR_INIT;
    int64_t wide[FX_MAX_RANK + 1];
    for (int i = 0; i < naxes; i++) wide[i] = axes[i];
    attr.keepdims = (uint32_t)keep;
    attr.naxes = naxes;
    attr.axes = wide;
    return fx_traced(a->trace, fusec_op(a->trace->graph, fx_op_of_row[row], 1, &a->value, &attr));
}

/* reduce(row, x, axes, keepdims): no axes mean none. */
static PyObject *reduce(PyObject *module, PyObject *args) {
    int row, keep, axes[FX_MAX_RANK];
    PyObject *o, *tuple;
    (void)module;
    if (!PyArg_ParseTuple(args, "iOO!p", &row, &o, &PyTuple_Type, &tuple, &keep)) return NULL;
    const int n = take_axes(tuple, axes);
    if (n < 0) return NULL;
    if (row < 0 || row >= FX_ROWS || fx_rows[row].arity)
        return PyErr_Format(PyExc_ValueError, "row %d is no reduction", row);
    fx_array *a = current(o);
    if (!a) return NULL;
    PyObject *r = a->trace ? traced_reduce(row, a, n, axes, keep)
                           : (PyObject *)fx_lazy_reduce(row, a, n, axes, keep);
    Py_DECREF((PyObject *)a);
    return r;
}

/* ---- views --------------------------------------------------------------------------------------
 */

static PyObject *to_shape(PyObject *args, bool reshape) {
    PyObject *o, *shape;
    int rank;
    fusec_dim dims[FX_MAX_RANK];
    if (!PyArg_ParseTuple(args, "OO!", &o, &PyTuple_Type, &shape)) return NULL;
    fx_array *a = current(o);
    PyObject *r = NULL;
    if (a && !a->trace)
        r = (PyObject *)fx_lazy_shaped(a, shape, reshape);
    else if (a && fx_take_dims(a->trace, shape, &rank, dims))
        r = fx_traced(a->trace, (reshape ? fusec_reshape : fusec_broadcast)(a->value, rank, dims));
    Py_XDECREF((PyObject *)a);
    return r;
}

static PyObject *reshape(PyObject *module, PyObject *args) {
    (void)module;
    return to_shape(args, true);
}

static PyObject *broadcast(PyObject *module, PyObject *args) {
    (void)module;
    return to_shape(args, false);
}

static PyObject *transpose(PyObject *module, PyObject *args) {
    PyObject *o, *tuple;
    int axes[FX_MAX_RANK];
    (void)module;
    if (!PyArg_ParseTuple(args, "OO!", &o, &PyTuple_Type, &tuple)) return NULL;
    const int n = take_axes(tuple, axes);
    fx_array *a = n < 0 ? NULL : current(o);
    PyObject *r = NULL;
    if (a && n != a->rank)
        PyErr_SetString(PyExc_ValueError, "axes don't match array");
    else if (a)
        r = a->trace ? fx_traced(a->trace, fusec_transpose(a->value, axes))
                     : (PyObject *)fx_lazy_transpose(a, axes);
    Py_XDECREF((PyObject *)a);
    return r;
}

static bool bound(PyObject *o, int64_t *n) {
    *n = FUSEC_END;
    if (o != Py_None) *n = PyLong_AsLongLong(o);
    return !PyErr_Occurred();
}

/* slice(x, axis, start, stop, step): inside the array; None leaves a bound out. */
static PyObject *slice(PyObject *module, PyObject *args) {
    PyObject *o, *from, *to;
    int axis;
    long long step;
    int64_t start, stop;
    (void)module;
    if (!PyArg_ParseTuple(args, "OiOOL", &o, &axis, &from, &to, &step) || !bound(from, &start) ||
        !bound(to, &stop))
        return NULL;
    fx_array *a = current(o);
    PyObject *r = NULL;
    if (a)
        r = a->trace ? fx_traced(a->trace, fusec_slice(a->value, axis, start, stop, step))
                     : (PyObject *)fx_lazy_slice(a, axis, start, stop, step);
    Py_XDECREF((PyObject *)a);
    return r;
}

/* ---- operations by name -------------------------------------------------------------------------
 */

/* The arrays of a tuple, of this thread's trace if there is one; -1 with an exception. They are
 * references. */
static int take_arrays(PyObject *tuple, fx_array **a) {
    const Py_ssize_t n = PyTuple_Size(tuple);
    if (n < 0) return -1;
    if (n > FX_MOST_OPERANDS) PyErr_SetString(PyExc_ValueError, "too many arrays");
    for (int i = 0; i < (int)n && !PyErr_Occurred(); i++) {
        a[i] = current(PyTuple_GetItem(tuple, i));
        if (a[i] && (fx_tracing || !a[i]->trace)) continue;
        if (a[i]) PyErr_SetString(PyExc_ValueError, "a traced array is used outside of its trace");
        for (Py_XDECREF((PyObject *)a[i]); i--;) Py_DECREF((PyObject *)a[i]);
    }
    return PyErr_Occurred() ? -1 : (int)n;
}

/* The lists of an operation's attributes. */
typedef struct lists {
    int64_t axes[FX_MAX_RANK], start[FX_MAX_RANK], step[FX_MAX_RANK], shape[FX_MAX_RANK];
    fusec_dim dims[FX_MAX_RANK];
} lists;

static bool take_list(PyObject *o, int64_t *at, const int64_t **list, int32_t *n) {
    if (!o || o == Py_None) return true;
    const Py_ssize_t count = PyTuple_Size(o);
    if (count > FX_MAX_RANK) PyErr_SetString(PyExc_ValueError, "too many axes");
    for (Py_ssize_t i = 0; i < count && !PyErr_Occurred(); i++)
        at[i] = PyLong_AsLongLong(PyTuple_GetItem(o, i));
    *list = at;
    *n = (int32_t)count;
    return !PyErr_Occurred();
}

static bool take_sizes(PyObject *o, lists *l, fusec_attr *a) {
    int rank = 0;
    if (!o || o == Py_None) return true;
    if (fx_tracing ? !fx_take_dims(fx_tracing, o, &rank, l->dims)
                   : (rank = fx_take_shape(o, l->shape)) < 0)
        return false;
    a->rank = rank;
    a->shape = l->shape;
    a->dims = fx_tracing ? l->dims : NULL;
    return true;
}

/* op(name, arrays, axes=None, start=None, step=None, shape=None, mode=0, dtype=0, text=None): any
 * operation of the library on arrays of the dtypes it takes. */
static PyObject *op(PyObject *module, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"name",  "arrays", "axes",  "start", "step",
                            "shape", "mode",   "dtype", "text",  NULL};
    const char *name;
    PyObject *tuple, *axes = NULL, *start = NULL, *step = NULL, *shape = NULL, *r = NULL;
    fx_array *a[FX_MOST_OPERANDS];
    fusec_value v[FX_MOST_OPERANDS];
    fusec_attr attr = FUSEC_ATTR_INIT;
    lists l;
    int mode = 0, dtype = 0;
    (void)module;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "sO!|OOOOiiz", names, &name, &PyTuple_Type,
                                     &tuple, &axes, &start, &step, &shape, &mode, &dtype,
                                     &attr.text))
        return NULL;
    attr.mode = (uint32_t)mode;
    attr.dtype = (uint32_t)dtype;
    if (!take_list(axes, l.axes, &attr.axes, &attr.naxes) ||
        !take_list(start, l.start, &attr.start, &attr.rank) ||
        !take_list(step, l.step, &attr.step, &attr.rank) || !take_sizes(shape, &l, &attr) ||
        (!fx_tracing && !PyTuple_Size(tuple) && !fx_context(fx_new_on())))
        return NULL;
    const int number = fusec_op_find(name), n = take_arrays(tuple, a);
    if (n < 0) return NULL;
    if (fx_tracing) {
        for (int i = 0; i < n; i++) v[i] = a[i]->value;
        r = fx_traced(fx_tracing, fusec_op(fx_tracing->graph, number, n, v, &attr));
    } else {
        r = (PyObject *)fx_lazy_op(number, n, a, &attr);
    }
    for (int i = 0; i < n; i++) Py_DECREF((PyObject *)a[i]);
    return r;
}

/* ---- leaves -------------------------------------------------------------------------------------
 */

/* A Python number as a constant of a trace, integers of 64 bits exactly. */
static bool constant(fx_trace *t, fusec_dtype dtype, PyObject *number, fusec_value *v) {
    int over;
    if (dtype > FUSEC_F64 && PyComplex_Check(number)) {
        *v = fx_complex_constant(t, (uint8_t)dtype, PyComplex_RealAsDouble(number),
                                 PyComplex_ImagAsDouble(number));
        return true;
    }
    if (!PyLong_Check(number) || dtype >= FUSEC_F16) {
        *v = fusec_const(t->graph, dtype, PyFloat_AsDouble(number));
        return !PyErr_Occurred();
    }
    const int64_t i = PyLong_AsLongLongAndOverflow(number, &over);
    *v = over > 0 ? fusec_const_u64(t->graph, dtype, PyLong_AsUnsignedLongLong(number))
                  : fusec_const_i64(t->graph, dtype, i);
    if (over < 0) PyErr_SetString(PyExc_OverflowError, "Python integer out of bounds for int64");
    return !PyErr_Occurred();
}

/* full(dtype, number, shape), in the trace of this thread or not. */
static PyObject *full(PyObject *module, PyObject *args) {
    int dtype, rank;
    PyObject *number, *shape;
    fusec_dim dims[FX_MAX_RANK];
    (void)module;
    if (!PyArg_ParseTuple(args, "iOO!", &dtype, &number, &PyTuple_Type, &shape)) return NULL;
    if (dtype < 0 || dtype >= FX_DTYPES) return PyErr_Format(PyExc_TypeError, "not a dtype");
    if (!fx_tracing) return (PyObject *)fx_lazy_full((uint8_t)dtype, number, shape);
    fusec_value v;
    if (!constant(fx_tracing, (fusec_dtype)dtype, number, &v) ||
        !fx_take_dims(fx_tracing, shape, &rank, dims))
        return NULL;
    return fx_traced(fx_tracing, rank ? fusec_broadcast(v, rank, dims) : v);
}

/* arange(n): i64 0, 1, ... n - 1. */
static PyObject *arange(PyObject *module, PyObject *size) {
    int rank;
    fusec_dim d;
    (void)module;
    if (!fx_tracing) return (PyObject *)fx_lazy_arange(size);
    PyObject *shape = PyTuple_Pack(1, size);
    PyObject *r = shape && fx_take_dims(fx_tracing, shape, &rank, &d)
                      ? fx_traced(fx_tracing, fusec_arange(fx_tracing->graph, d))
                      : NULL;
    Py_XDECREF(shape);
    return r;
}

/* extern_number(device, name, dtypes, result, cuda, pointer, arrays, slots): a function of the user
 * for op("extern", ..., start=(number,)) on this device. */
static PyObject *extern_number(PyObject *module, PyObject *args) {
    int device, result, arrays;
    unsigned long long pointer;
    fusec_extern_desc d = FUSEC_EXTERN_DESC_INIT;
    fusec_dtype dtypes[FX_MAX_RANK];
    PyObject *list;
    int64_t number;
    (void)module;
    if (!PyArg_ParseTuple(args, "isO!izKpi", &device, &d.name, &PyTuple_Type, &list, &result,
                          &d.cuda, &pointer, &arrays, &d.slots))
        return NULL;
    d.nargs = (int)PyTuple_Size(list);
    for (int i = 0; i < d.nargs && i < FX_MAX_RANK; i++)
        dtypes[i] = (fusec_dtype)PyLong_AsLong(PyTuple_GetItem(list, i));
    if (PyErr_Occurred()) return NULL;
    d.dtypes = dtypes;
    d.result = (fusec_dtype)result;
    if (arrays)
        d.arrays = (fusec_extern_fn)(uintptr_t)pointer;
    else
        d.scalar = (void (*)(void))(uintptr_t)pointer;
    fusec_context *ctx = fx_context(device);
    if (!ctx) return NULL;
    const fusec_status s = fusec_extern_number(ctx, &d, &number);
    return s ? fx_raise(s) : PyLong_FromLongLong(number);
}

/* text_number(device, program or None, text, names): a text of the language for op("text", ...,
 * start=(number,)) on this device. */
static PyObject *text_number(PyObject *module, PyObject *args) {
    int device;
    const char *program, *text, *names[FX_MAX_ARGS];
    PyObject *list;
    int64_t number;
    (void)module;
    if (!PyArg_ParseTuple(args, "izsO!", &device, &program, &text, &PyTuple_Type, &list))
        return NULL;
    const Py_ssize_t n = PyTuple_Size(list);
    if (n > FX_MAX_ARGS) return PyErr_Format(PyExc_ValueError, "%zd names are too many", n);
    for (Py_ssize_t i = 0; i < n; i++)
        if (!(names[i] = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(list, i), NULL))) return NULL;
    fusec_context *ctx = fx_context(device);
    if (!ctx) return NULL;
    const fusec_status s = fusec_text_number(ctx, program, text, (int)n, names, &number);
    return s ? fx_raise(s) : PyLong_FromLongLong(number);
}

static PyMethodDef functions[] = {
    {"text_number", text_number, METH_VARARGS, NULL},
    {"extern_number", extern_number, METH_VARARGS, NULL},
    {"cast", cast, METH_VARARGS, NULL},
    {"reduce", reduce, METH_VARARGS, NULL},
    {"reshape", reshape, METH_VARARGS, NULL},
    {"broadcast", broadcast, METH_VARARGS, NULL},
    {"transpose", transpose, METH_VARARGS, NULL},
    {"slice", slice, METH_VARARGS, NULL},
    {"full", full, METH_VARARGS, NULL},
    {"arange", arange, METH_O, NULL},
    {"op", (PyCFunction)(void (*)(void))op, METH_VARARGS | METH_KEYWORDS, NULL},
    {NULL, NULL, 0, NULL}};

int fx_init_views(PyObject *module) {
    return PyModule_AddFunctions(module, functions);
}
