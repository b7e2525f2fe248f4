/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* grad.c - derivatives of values of a trace: what fx.grad and its like are made of. */
#include "frontend/python/src/fx.h"

enum { MOST = 256 }; /* values that one call derives by */

static bool in_trace(PyObject *o) {
    if (fx_is_array(o) && fx_tracing && ((fx_array *)o)->trace == fx_tracing) return true;
    PyErr_SetString(PyExc_TypeError, "not a value of the function that is being compiled");
    return false;
}

static int take(PyObject *tuple, fusec_value *v) {
    const Py_ssize_t n = PyTuple_Size(tuple);
    if (n > MOST) PyErr_SetString(PyExc_ValueError, "derivatives by more than 256 arrays at once");
    for (Py_ssize_t i = 0; i < n && !PyErr_Occurred(); i++)
        if (in_trace(PyTuple_GetItem(tuple, i)))
            v[i] = ((fx_array *)PyTuple_GetItem(tuple, i))->value;
    return PyErr_Occurred() ? -1 : (int)n;
}

/* A value equal to x that derivatives tell from x: what a function gets as its argument, so that
 * other uses of the same array are constants to it. Derivatives by x itself pass through. */
static PyObject *distinct(PyObject *module, PyObject *o) {
    (void)module;
    if (!in_trace(o)) return NULL;
    fx_array *x = (fx_array *)o;
    const fusec_value dy = fusec_cotangent(x->value);
    fx_array *r =
        (fx_array *)fx_traced(x->trace, fusec_custom_grad(x->value, dy, 1, &x->value, &dy));
    if (r) r->weak = x->weak;
    return (PyObject *)r;
}

static PyObject *stop(PyObject *module, PyObject *o) {
    (void)module;
    if (!in_trace(o)) return NULL;
    return fx_traced(fx_tracing, fusec_stop_grad(((fx_array *)o)->value));
}

/* vjp(y, dy or None, xs): the derivative of sum(y * dy) by each x; None: of the scalar y. */
static PyObject *vjp(PyObject *module, PyObject *args) {
    fusec_value x[MOST], dx[MOST];
    PyObject *y, *dy, *xs;
    (void)module;
    if (!PyArg_ParseTuple(args, "OOO!", &y, &dy, &PyTuple_Type, &xs)) return NULL;
    const int n = in_trace(y) && (dy == Py_None || in_trace(dy)) ? take(xs, x) : -1;
    if (n < 0) return NULL;
    const fusec_value of = ((fx_array *)y)->value;
    const fusec_status s =
        dy == Py_None ? fusec_grad(of, n, x, dx) : fusec_vjp(of, ((fx_array *)dy)->value, n, x, dx);
    if (s) return fx_raise(s);
    PyObject *r = PyTuple_New(n);
    for (int i = 0; r && i < n; i++) {
        PyObject *a = fx_traced(fx_tracing, dx[i]);
        if (!a || PyTuple_SetItem(r, i, a)) Py_CLEAR(r);
    }
    return r;
}

/* jvp(y, xs, dxs): how y moves when each x moves along its dx. */
static PyObject *jvp(PyObject *module, PyObject *args) {
    fusec_value x[MOST], dx[MOST];
    PyObject *y, *xs, *dxs;
    (void)module;
    if (!PyArg_ParseTuple(args, "OO!O!", &y, &PyTuple_Type, &xs, &PyTuple_Type, &dxs) ||
        !in_trace(y))
        return NULL;
    const int n = take(xs, x), m = take(dxs, dx);
    if (n < 0 || m < 0) return NULL;
    if (n != m) return PyErr_Format(PyExc_ValueError, "%d values, but %d tangents", n, m);
    return fx_traced(fx_tracing, fusec_jvp(((fx_array *)y)->value, n, x, dx));
}

static PyObject *jacobian(PyObject *module, PyObject *args) {
    PyObject *y, *x;
    (void)module;
    if (!PyArg_ParseTuple(args, "OO", &y, &x) || !in_trace(y) || !in_trace(x)) return NULL;
    return fx_traced(fx_tracing, fusec_jacobian(((fx_array *)y)->value, ((fx_array *)x)->value));
}

static PyMethodDef functions[] = {
    {"distinct", distinct, METH_O, NULL},       {"stop_grad", stop, METH_O, NULL},
    {"vjp", vjp, METH_VARARGS, NULL},           {"jvp", jvp, METH_VARARGS, NULL},
    {"jacobian", jacobian, METH_VARARGS, NULL}, {NULL, NULL, 0, NULL}};

int fx_init_grad(PyObject *module) {
    return PyModule_AddFunctions(module, functions);
}
