/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* pieces.c - programs in pieces: fusec_cut and fusec_partial as objects. What is friendly is in
 * fusec/pieces.py. */
#include "frontend/python/src/fx.h"

#include <stdlib.h>

typedef struct fx_cut {
    PyObject_HEAD fusec_cut *cut;
    PyObject *program;
    const fx_inputs *inputs;
    int noutputs;
} fx_cut;

typedef struct fx_partial {
    PyObject_HEAD fusec_partial *partial;
    fx_cut *cut;
} fx_partial;

static PyTypeObject *cut_type, *partial_type;

/* ---- arrays of a call --------------------------------------------------------------------------
 */

typedef union number {
    double f;
    int64_t i;
    uint8_t b;
} number;

/* Inputs, then outputs. */
typedef struct arrays {
    fusec_tensor *at;
    fx_memory *memory;
    Py_buffer *view;
    bool *taken;
    number *number;
    int n, room;
} arrays;

static void drop(arrays *a) {
    for (int i = 0; i < a->n; i++)
        if (a->taken[i]) fx_memory_done(&a->memory[i], &a->view[i]);
    free(a->at), free(a->memory), free(a->view), free(a->taken), free(a->number);
}

static bool make_room(arrays *a, int n) {
    const size_t k = (size_t)n + 1;
    *a = (arrays){.room = n};
    a->at = calloc(k, sizeof *a->at);
    a->memory = calloc(k, sizeof *a->memory);
    a->view = calloc(k, sizeof *a->view);
    a->taken = calloc(k, sizeof *a->taken);
    a->number = calloc(k, sizeof *a->number);
    if (a->at && a->memory && a->view && a->taken && a->number) return true;
    drop(a);
    PyErr_NoMemory();
    return false;
}

static bool take_number(arrays *a, char kind, PyObject *o, uint8_t dtype) {
    number *n = &a->number[a->n];
    if (kind == 'f')
        n->f = PyFloat_AsDouble(o);
    else if (kind == 'i')
        n->i = PyLong_AsLongLong(o);
    else
        n->b = o == Py_True;
    a->at[a->n++] = (fusec_tensor){.data = n, .dtype = dtype};
    return !PyErr_Occurred();
}

/* None is an array that is not there. */
static bool take_array(arrays *a, PyObject *o, bool written) {
    const int i = a->n++;
    if (o == Py_None) return true;
    const int ok = fx_memory_of(o, &a->memory[i], &a->view[i]);
    a->taken[i] = ok > 0;
    if (ok > 0 && (!written || a->memory[i].writable)) {
        a->at[i] = fx_tensor_of(&a->memory[i]);
        return true;
    }
    if (!PyErr_Occurred() && ok > 0) PyErr_SetString(PyExc_ValueError, "a result is read-only");
    if (!PyErr_Occurred()) PyErr_Format(PyExc_TypeError, "no array, but %R", Py_TYPE(o));
    return false;
}

static bool take_inputs(const fx_cut *c, PyObject *in, arrays *a) {
    if (PyTuple_Size(in) != c->inputs->n) {
        PyErr_SetString(PyExc_ValueError, "wrong number of arrays");
        return false;
    }
    for (int i = 0; i < c->inputs->n; i++) {
        const fx_input *x = &c->inputs->at[i];
        PyObject *o = PyTuple_GetItem(in, i);
        if (!(x->number ? take_number(a, x->number, o, x->dtype) : take_array(a, o, false)))
            return false;
        if (x->number || (a->at[i].dtype == x->dtype && a->at[i].rank == x->rank)) continue;
        PyErr_Format(PyExc_TypeError, "argument %d has another dtype or number of axes than before",
                     i);
        return false;
    }
    return true;
}

/* All arrays of a call; `out` NULL: none. */
static bool take(const fx_cut *c, PyObject *in, PyObject *out, arrays *a) {
    if (!make_room(a, c->inputs->n + c->noutputs)) return false;
    bool ok = take_inputs(c, in, a);
    if (ok && out && PyTuple_Size(out) != c->noutputs) {
        PyErr_SetString(PyExc_ValueError, "wrong number of results");
        ok = false;
    }
    for (int i = 0; ok && i < c->noutputs; i++)
        ok = take_array(a, out ? PyTuple_GetItem(out, i) : Py_None, true);
    if (!ok) drop(a);
    return ok;
}

/* ---- Cut ---------------------------------------------------------------------------------------
 */

/* Cut(program, input, axis): along the size of this axis. */
static PyObject *cut_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *program;
    int input, axis;
    char name[24];
    (void)kwargs;
    if (!PyArg_ParseTuple(args, "O!ii", fx.program, &program, &input, &axis)) return NULL;
    const fx_inputs *inputs;
    fusec_program *p = fx_program_of(program, &inputs);
    if (input < 0 || input >= inputs->n || axis < 0 || axis >= inputs->at[input].rank ||
        inputs->at[input].symbol[axis] < 0) {
        PyErr_SetString(PyExc_ValueError, "the axis to be cut has a length of 1, or is not there");
        return NULL;
    }
    fx_cut *c = (fx_cut *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (!c) return NULL;
    fx_symbol_name(name, inputs->at[input].symbol[axis]);
    const fusec_status s = fusec_program_cut(p, name, &c->cut);
    if (s) {
        Py_DECREF((PyObject *)c);
        return fx_raise(s);
    }
    c->program = Py_NewRef(program);
    c->inputs = inputs;
    c->noutputs = fusec_output_count(p);
    return (PyObject *)c;
}

static void cut_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    fusec_cut_free(((fx_cut *)self)->cut);
    Py_XDECREF(((fx_cut *)self)->program);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

static PyObject *numbers(const fusec_cut *cut, int n, int (*of)(const fusec_cut *, int)) {
    PyObject *t = PyTuple_New(n);
    for (int i = 0; t && i < n; i++)
        if (PyTuple_SetItem(t, i, PyLong_FromLong(of(cut, i)))) Py_CLEAR(t);
    return t;
}

static PyObject *cut_sweeps(PyObject *self, void *unused) {
    (void)unused;
    return PyLong_FromLong(fusec_cut_sweeps(((fx_cut *)self)->cut));
}
static PyObject *cut_inputs(PyObject *self, void *unused) {
    const fx_cut *c = (fx_cut *)self;
    (void)unused;
    return numbers(c->cut, c->inputs->n, fusec_cut_input_axis);
}
static PyObject *cut_outputs(PyObject *self, void *unused) {
    const fx_cut *c = (fx_cut *)self;
    (void)unused;
    return numbers(c->cut, c->noutputs, fusec_cut_output_axis);
}
static PyObject *cut_made(PyObject *self, void *unused) {
    const fx_cut *c = (fx_cut *)self;
    (void)unused;
    return numbers(c->cut, c->noutputs, fusec_cut_output_sweep);
}
static PyObject *cut_dtypes(PyObject *self, void *unused) {
    const fx_cut *c = (fx_cut *)self;
    const fx_inputs *in;
    const fusec_program *p = fx_program_of(c->program, &in);
    PyObject *t = PyTuple_New(c->noutputs);
    (void)unused;
    for (int i = 0; t && i < c->noutputs; i++)
        if (PyTuple_SetItem(t, i, PyLong_FromLong((long)fusec_output_dtype(p, i)))) Py_CLEAR(t);
    return t;
}

typedef fusec_status (*range_fn)(const fusec_cut *, int, const fusec_piece *, int64_t *, int64_t *);

static PyObject *range(PyObject *self, PyObject *args, range_fn find) {
    long long begin, end, total;
    int64_t from, to;
    int i;
    fusec_piece w = FUSEC_PIECE_INIT;
    if (!PyArg_ParseTuple(args, "iLLL", &i, &begin, &end, &total)) return NULL;
    w.begin = begin, w.end = end, w.total = total;
    const fusec_status s = find(((fx_cut *)self)->cut, i, &w, &from, &to);
    return s ? fx_raise(s) : Py_BuildValue("LL", (long long)from, (long long)to);
}
/* input_range(i, begin, end, total), output_range: the elements that a piece has. */
static PyObject *cut_input_range(PyObject *self, PyObject *args) {
    return range(self, args, fusec_cut_input_range);
}
static PyObject *cut_output_range(PyObject *self, PyObject *args) {
    return range(self, args, fusec_cut_output_range);
}

/* grain(inputs) */
static PyObject *cut_grain(PyObject *self, PyObject *in) {
    fx_cut *c = (fx_cut *)self;
    arrays a;
    int64_t grain;
    if (!PyTuple_Check(in) || !take(c, in, NULL, &a)) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "a tuple of arrays");
        return NULL;
    }
    const fusec_status s = fusec_cut_grain(c->cut, c->inputs->n, a.at, &grain);
    drop(&a);
    return s ? fx_raise(s) : PyLong_FromLongLong(grain);
}

/* shapes(inputs): those of the results, of whole arrays. */
static PyObject *cut_shapes(PyObject *self, PyObject *in) {
    fx_cut *c = (fx_cut *)self;
    const fx_inputs *unused;
    fusec_program *p = fx_program_of(c->program, &unused);
    arrays a;
    PyObject *r = NULL;
    int room = 0;
    for (int i = 0; i < c->noutputs; i++) room += fusec_output_rank(p, i);
    int64_t *sizes = malloc(((size_t)room + 1) * sizeof *sizes), *at = sizes;
    if (!sizes || !PyTuple_Check(in) || !take(c, in, NULL, &a)) {
        free(sizes);
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "a tuple of arrays");
        return NULL;
    }
    const fusec_status s = fusec_output_shapes(p, c->inputs->n, a.at, sizes, room);
    drop(&a);
    if (s)
        fx_raise(s);
    else
        r = PyTuple_New(c->noutputs);
    for (int i = 0; r && i < c->noutputs; i++) {
        const int rank = fusec_output_rank(p, i);
        PyObject *shape = fx_shape_tuple(rank, at);
        at += rank;
        if (!shape || PyTuple_SetItem(r, i, shape)) Py_CLEAR(r);
    }
    free(sizes);
    return r;
}

static bool partial_of(const fx_cut *c, PyObject *o, fusec_partial **out) {
    *out = NULL;
    if (o == Py_None) return true;
    if (Py_TYPE(o) == partial_type && ((fx_partial *)o)->cut == c) {
        *out = ((fx_partial *)o)->partial;
        return true;
    }
    PyErr_SetString(PyExc_TypeError, "no Partial of this Cut");
    return false;
}

/* run(sweep, begin, end, total, inputs, outputs, before or None, into or None) */
static PyObject *cut_run(PyObject *self, PyObject *args) {
    fx_cut *c = (fx_cut *)self;
    PyObject *in, *out, *before, *into;
    long long begin, end, total;
    int sweep;
    fusec_piece w = FUSEC_PIECE_INIT;
    fusec_partial *earlier, *now;
    arrays a;
    if (!PyArg_ParseTuple(args, "iLLLO!O!OO", &sweep, &begin, &end, &total, &PyTuple_Type, &in,
                          &PyTuple_Type, &out, &before, &into) ||
        !partial_of(c, before, &earlier) || !partial_of(c, into, &now) || !take(c, in, out, &a))
        return NULL;
    w.begin = begin, w.end = end, w.total = total;
    fusec_status s;
    Py_BEGIN_ALLOW_THREADS s = fusec_run_piece(c->cut, NULL, sweep, &w, c->inputs->n, a.at,
                                               c->noutputs, a.at + c->inputs->n, earlier, now);
    Py_END_ALLOW_THREADS drop(&a);
    return s ? fx_raise(s) : Py_NewRef(Py_None);
}

/* finish(total, inputs, outputs, all) */
static PyObject *cut_finish(PyObject *self, PyObject *args) {
    fx_cut *c = (fx_cut *)self;
    PyObject *in, *out, *all;
    long long total;
    fusec_partial *p;
    arrays a;
    if (!PyArg_ParseTuple(args, "LO!O!O", &total, &PyTuple_Type, &in, &PyTuple_Type, &out, &all) ||
        !partial_of(c, all, &p) || !take(c, in, out, &a))
        return NULL;
    fusec_status s;
    Py_BEGIN_ALLOW_THREADS s = fusec_run_finish(c->cut, NULL, total, c->inputs->n, a.at,
                                                c->noutputs, a.at + c->inputs->n, p);
    Py_END_ALLOW_THREADS drop(&a);
    return s ? fx_raise(s) : Py_NewRef(Py_None);
}

static PyMethodDef cut_methods[] = {{"input_range", cut_input_range, METH_VARARGS, NULL},
                                    {"output_range", cut_output_range, METH_VARARGS, NULL},
                                    {"grain", cut_grain, METH_O, NULL},
                                    {"shapes", cut_shapes, METH_O, NULL},
                                    {"run", cut_run, METH_VARARGS, NULL},
                                    {"finish", cut_finish, METH_VARARGS, NULL},
                                    {NULL, NULL, 0, NULL}};
static PyGetSetDef cut_members[] = {
    {"sweeps", cut_sweeps, NULL, NULL, NULL},        {"input_axes", cut_inputs, NULL, NULL, NULL},
    {"output_axes", cut_outputs, NULL, NULL, NULL},  {"output_sweeps", cut_made, NULL, NULL, NULL},
    {"output_dtypes", cut_dtypes, NULL, NULL, NULL}, {NULL, NULL, NULL, NULL, NULL}};
static PyType_Slot cut_slots[] = {{Py_tp_new, cut_new},
                                  {Py_tp_dealloc, cut_dealloc},
                                  {Py_tp_methods, cut_methods},
                                  {Py_tp_getset, cut_members},
                                  {0, NULL}};
static PyType_Spec cut_spec = {"fusec._core.Cut", sizeof(fx_cut), 0, Py_TPFLAGS_DEFAULT, cut_slots};

/* ---- Partial -----------------------------------------------------------------------------------
 */

/* Partial(cut, bytes=None) */
static PyObject *partial_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *cut;
    const char *bytes = NULL;
    Py_ssize_t n = 0;
    (void)kwargs;
    if (!PyArg_ParseTuple(args, "O!|y#", cut_type, &cut, &bytes, &n)) return NULL;
    fx_partial *p = (fx_partial *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (!p) return NULL;
    fx_cut *c = (fx_cut *)cut;
    const fusec_status s = bytes ? fusec_partial_from(c->cut, bytes, (size_t)n, &p->partial)
                                 : fusec_partial_new(c->cut, &p->partial);
    if (s) {
        Py_DECREF((PyObject *)p);
        return fx_raise(s);
    }
    p->cut = (fx_cut *)Py_NewRef(cut);
    return (PyObject *)p;
}

static void partial_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    fusec_partial_free(((fx_partial *)self)->partial);
    Py_XDECREF((PyObject *)((fx_partial *)self)->cut);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

static PyObject *partial_merge(PyObject *self, PyObject *from) {
    fusec_partial *p;
    if (!partial_of(((fx_partial *)self)->cut, from, &p) || !p) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "no Partial");
        return NULL;
    }
    fusec_status s;
    Py_BEGIN_ALLOW_THREADS s = fusec_partial_merge(((fx_partial *)self)->partial, p);
    Py_END_ALLOW_THREADS return s ? fx_raise(s) : Py_NewRef(Py_None);
}

static PyObject *partial_bytes(PyObject *self, PyObject *none) {
    size_t n = 0, room = 0;
    const fusec_partial *p = ((fx_partial *)self)->partial;
    PyObject *r = NULL;
    (void)none;
    fusec_status s = fusec_partial_bytes(p, NULL, 0, &n);
    while (!s && n != room) { /* other threads may add to it meanwhile */
        Py_XDECREF(r);
        room = n;
        r = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)n);
        if (!r) return NULL;
        s = fusec_partial_bytes(p, PyBytes_AsString(r), room, &n);
    }
    if (!s) return r;
    Py_XDECREF(r);
    return fx_raise(s);
}

static PyMethodDef partial_methods[] = {{"merge", partial_merge, METH_O, NULL},
                                        {"to_bytes", partial_bytes, METH_NOARGS, NULL},
                                        {NULL, NULL, 0, NULL}};
static PyType_Slot partial_slots[] = {{Py_tp_new, partial_new},
                                      {Py_tp_dealloc, partial_dealloc},
                                      {Py_tp_methods, partial_methods},
                                      {0, NULL}};
static PyType_Spec partial_spec = {"fusec._core.Partial", sizeof(fx_partial), 0, Py_TPFLAGS_DEFAULT,
                                   partial_slots};

int fx_init_pieces(PyObject *module) {
    cut_type = (PyTypeObject *)PyType_FromSpec(&cut_spec);
    partial_type = (PyTypeObject *)PyType_FromSpec(&partial_spec);
    if (!cut_type || !partial_type || PyModule_AddObjectRef(module, "Cut", (PyObject *)cut_type))
        return -1;
    return PyModule_AddObjectRef(module, "Partial", (PyObject *)partial_type);
}
