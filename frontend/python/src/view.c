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

static fusec_value (*const reductions[FX_ROWS])(fusec_value, int, const int *, int) = {
#define X(name) [FX_ROW_##name] = fusec_##name,
    FUSEC_OPS_REDUCTIONS(X) X(logsumexp)
#undef X
};

static int take_axes(PyObject *tuple, int *axes) {
    const Py_ssize_t n = PyTuple_Size(tuple);
    for (Py_ssize_t i = 0; i < n && i < FX_MAX_RANK; i++)
        axes[i] = (int)PyLong_AsLong(PyTuple_GetItem(tuple, i));
    if (n > FX_MAX_RANK) PyErr_SetString(PyExc_ValueError, "too many axes");
    return PyErr_Occurred() ? -1 : (int)n;
}

/* reduce(row, x, axes, keepdims): no axes mean none. */
static PyObject *reduce(PyObject *module, PyObject *args) {
    int row, keep, axes[FX_MAX_RANK];
    PyObject *o, *tuple;
    (void)module;
    if (!PyArg_ParseTuple(args, "iOO!p", &row, &o, &PyTuple_Type, &tuple, &keep)) return NULL;
    const int n = take_axes(tuple, axes);
    if (n < 0 || row < 0 || row >= FX_ROWS || fx_rows[row].arity) return NULL;
    fx_array *a = current(o);
    if (!a) return NULL;
    PyObject *r = a->trace ? fx_traced(a->trace, reductions[row](a->value, n, axes, keep))
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

/* ---- joins, reads at indices, prefixes ----------------------------------------------------------
 */

static fusec_value joined_in_trace(const char *what, int n, fx_array *const *a, int64_t number,
                                   int axis) {
    fusec_value v[FX_MOST_JOINED];
    for (int i = 0; i < n; i++) v[i] = a[i]->value;
    if (!strcmp(what, "concat")) return fusec_concat(n, v, axis);
    if (!strcmp(what, "roll")) return fusec_roll(v[0], number, axis);
    if (!strcmp(what, "take")) return fusec_take(v[0], v[1], axis);
    if (!strcmp(what, "take_along")) return fusec_take_along(v[0], v[1], axis);
    if (!strcmp(what, "cumsum")) return fusec_cumsum(v[0], axis, (unsigned)number);
    if (!strcmp(what, "cumprod")) return fusec_cumprod(v[0], axis, (unsigned)number);
    return fusec_matmul(v[0], v[1]);
}

/* The arrays of a tuple, of this thread's trace if there is one; -1 with an exception. They are
 * references. */
static int joined_arrays(PyObject *tuple, fx_array **a) {
    const Py_ssize_t n = PyTuple_Size(tuple);
    if (n < 0) return -1;
    if (n > FX_MOST_JOINED) PyErr_SetString(PyExc_ValueError, "too many arrays");
    for (int i = 0; i < (int)n && !PyErr_Occurred(); i++) {
        a[i] = current(PyTuple_GetItem(tuple, i));
        if (a[i] && (fx_tracing || !a[i]->trace)) continue;
        if (a[i]) PyErr_SetString(PyExc_ValueError, "a traced array is used outside of its trace");
        for (Py_XDECREF((PyObject *)a[i]); i--;) Py_DECREF((PyObject *)a[i]);
    }
    return PyErr_Occurred() ? -1 : (int)n;
}

/* joined(what, arrays, number, axis): concat, take, take_along, roll (number: by how much), matmul,
 * cumsum and cumprod (number: FUSEC_SCAN_*). */
static PyObject *joined(PyObject *module, PyObject *args) {
    fx_array *a[FX_MOST_JOINED];
    const char *what;
    PyObject *tuple, *r;
    long long number;
    int axis;
    (void)module;
    if (!PyArg_ParseTuple(args, "sO!Li", &what, &PyTuple_Type, &tuple, &number, &axis)) return NULL;
    const int n = joined_arrays(tuple, a);
    if (n < 0) return NULL;
    const int op = fusec_op_find(what);
    const int arity = op < 0 ? -1 : fusec_op_arity(op);
    if (n == 0 || (arity != -2 && arity != n))
        r = PyErr_Format(PyExc_ValueError, "%s of %d arrays", what, n);
    else if (fx_tracing)
        r = fx_traced(fx_tracing, joined_in_trace(what, n, a, number, axis));
    else
        r = (PyObject *)fx_lazy_joined(op, n, a, number, axis);
    for (int i = 0; i < n; i++) Py_DECREF((PyObject *)a[i]);
    return r;
}

/* ---- leaves -------------------------------------------------------------------------------------
 */

/* full(dtype, number, shape), in the trace of this thread or not. */
static PyObject *full(PyObject *module, PyObject *args) {
    int dtype, rank;
    PyObject *number, *shape;
    fusec_dim dims[FX_MAX_RANK];
    (void)module;
    if (!PyArg_ParseTuple(args, "iOO!", &dtype, &number, &PyTuple_Type, &shape)) return NULL;
    if (dtype < 0 || dtype >= FX_DTYPES) return PyErr_Format(PyExc_TypeError, "not a dtype");
    if (!fx_tracing) return (PyObject *)fx_lazy_full((uint8_t)dtype, number, shape);
    const double v = PyFloat_AsDouble(number);
    if (PyErr_Occurred() || !fx_take_dims(fx_tracing, shape, &rank, dims)) return NULL;
    return fx_traced(fx_tracing, fusec_full(fx_tracing->graph, (fusec_dtype)dtype, v, rank, dims));
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

static PyMethodDef functions[] = {
    {"cast", cast, METH_VARARGS, NULL},           {"reduce", reduce, METH_VARARGS, NULL},
    {"reshape", reshape, METH_VARARGS, NULL},     {"broadcast", broadcast, METH_VARARGS, NULL},
    {"transpose", transpose, METH_VARARGS, NULL}, {"slice", slice, METH_VARARGS, NULL},
    {"full", full, METH_VARARGS, NULL},           {"arange", arange, METH_O, NULL},
    {"joined", joined, METH_VARARGS, NULL},       {NULL, NULL, 0, NULL}};

int fx_init_views(PyObject *module) {
    return PyModule_AddFunctions(module, functions);
}
