/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* jit.c - the object that a compiled function becomes, which finds the program for a call, and the
 * same for parts of torch's graphs.
 *
 * A Jit keeps its programs for calls of arrays and numbers alone; other calls (keywords, nested
 * arguments) are taken apart in Python and come to Program.run, as does whatever fits no program.
 */
#include "frontend/python/src/fx.h"

#include <stdlib.h>

/* ---- Jit ----------------------------------------------------------------------------------------
 */

/* A program for calls of positional arrays and numbers. `guards` are (dict or cell, name or None,
 * object): places outside the function and what was found there when it was traced; an object whose
 * input is not negative is an argument of the program. */
typedef struct entry {
    struct entry *next;
    fx_program *program;
    PyObject *guards; /* tuple of (place, name, object, input number) */
    int nargs;
    bool is_tuple;
} entry;

typedef struct fx_jit {
    PyObject_HEAD entry *first, *forgotten; /* a call may still use one that was forgotten */
    PyObject *slow;                         /* (self, args, kwargs) -> result */
} fx_jit;

/* What is now where `guard` says; borrowed, NULL without exception if nothing. */
static PyObject *guarded(PyObject *guard) {
    PyObject *place = PyTuple_GetItem(guard, 0), *name = PyTuple_GetItem(guard, 1);
    if (name != Py_None) return PyDict_GetItemWithError(place, name);
    PyObject *o = PyObject_GetAttrString(place, "cell_contents");
    Py_XDECREF(o); /* the cell holds it */
    return o;
}

/* Fills the inputs that come from outside. 1: all as it was. */
static int check_guards(PyObject *guards, PyObject **args) {
    const Py_ssize_t n = guards ? PyTuple_Size(guards) : 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *g = PyTuple_GetItem(guards, i), *o;
        const long input = PyLong_AsLong(PyTuple_GetItem(g, 3));
        if (PyTuple_GetItem(g, 0) == Py_None)
            o = PyTuple_GetItem(g, 2); /* found nowhere: the object itself */
        else
            o = guarded(g);
        if (!o) {
            PyErr_Clear();
            return 0;
        }
        if (input >= 0)
            args[input] = o;
        else if (o != PyTuple_GetItem(g, 2))
            return 0;
    }
    return 1;
}

static PyObject *finish(const entry *e, PyObject **results) {
    if (!e->is_tuple) return results[0];
    PyObject *t = PyTuple_New(e->program->noutputs);
    for (int i = 0; i < e->program->noutputs; i++) {
        if (t)
            PyTuple_SetItem(t, i, results[i]);
        else
            Py_DECREF(results[i]);
    }
    return t;
}

/* 1: *result is there; 0: another way; -1: an exception. */
static int try_entry(const entry *e, PyObject *const *args, int n, PyObject *out, int kind,
                     PyObject *like, PyObject **result) {
    PyObject *all[FX_MAX_ARGS], *results[FX_MAX_ARGS];
    if (e->nargs != n || (out && e->program->noutputs != 1)) return 0;
    for (int i = 0; i < n; i++) all[i] = args[i];
    if (!check_guards(e->guards, all)) return 0;
    const int inputs = e->program->inputs.n;
    for (int i = n; i < inputs; i++) Py_INCREF(all[i]); /* other threads may drop them meanwhile */
    const int ok = fx_call_program(e->program, all, out ? &out : NULL, kind, like, results);
    if (ok == 1) *result = finish(e, results);
    for (int i = n; i < inputs; i++) Py_DECREF(all[i]);
    return ok == 1 && !*result ? -1 : ok;
}

/* Which kind the results are: that of all arrays. -1: Python decides. */
static int kind_of(PyObject *const *args, int n, PyObject **like) {
    int kind = 0;
    for (int i = 0; i < n; i++) {
        const int k = fx_kind_of(args[i]);
        if (k == 2 && ((fx_array *)args[i])->trace) return -1;
        if (k) *like = args[i];
        if (k)
            kind = kind && kind != k ? -1 : k;
        else if (!PyFloat_CheckExact(args[i]) && !PyLong_CheckExact(args[i]) &&
                 !PyBool_Check(args[i]))
            return -1;
        if (kind < 0) return -1;
    }
    return kind;
}

static PyObject *jit_call(PyObject *self, PyObject *args, PyObject *kwargs) {
    fx_jit *j = (fx_jit *)self;
    PyObject *at[FX_MAX_ARGS], *out = NULL, *result = NULL;
    const Py_ssize_t n = PyTuple_Size(args);
    bool quick = n <= FX_MAX_ARGS && !fx_tracing;
    if (kwargs && quick) {
        const Py_ssize_t nkw = PyDict_Size(kwargs);
        out = nkw == 1 ? PyDict_GetItemString(kwargs, "out") : NULL;
        quick = !nkw || (out && out != Py_None);
    }
    for (Py_ssize_t i = 0; quick && i < n; i++) at[i] = PyTuple_GetItem(args, i);
    PyObject *like = NULL;
    const int kind = quick ? kind_of(at, (int)n, &like) : -1;
    for (entry *e = kind > 0 ? j->first : NULL; e; e = e->next) {
        const int ok = try_entry(e, at, (int)n, out, kind, like, &result);
        if (ok == 1) return result;
        if (ok < 0) {
            if (!PyErr_ExceptionMatches(PyExc_ValueError) &&
                !PyErr_ExceptionMatches(PyExc_IndexError))
                return NULL;
            PyErr_Clear(); /* sizes that this program does not take: Python says what is wrong */
            break;
        }
    }
    return PyObject_CallFunctionObjArgs(j->slow, self, args, kwargs ? kwargs : Py_None, NULL);
}

static void drop_entries(entry **first) {
    while (*first) {
        entry *e = *first;
        *first = e->next;
        Py_DECREF((PyObject *)e->program);
        Py_XDECREF(e->guards);
        free(e);
    }
}

static int visit_entries(const entry *e, visitproc visit, void *arg) {
    for (; e; e = e->next) Py_VISIT(e->guards);
    return 0;
}

/* Of (program, nargs, guards, is_tuple). */
static entry *new_entry(PyObject *args) {
    PyObject *program, *guards;
    int nargs, is_tuple;
    if (!PyArg_ParseTuple(args, "O!iO!p", fx.program, &program, &nargs, &PyTuple_Type, &guards,
                          &is_tuple))
        return NULL;
    entry *e = calloc(1, sizeof *e);
    if (!e) return PyErr_NoMemory(), NULL;
    *e = (entry){.program = (fx_program *)Py_NewRef(program),
                 .guards = PyTuple_Size(guards) ? Py_NewRef(guards) : NULL,
                 .nargs = nargs,
                 .is_tuple = is_tuple};
    return e;
}

/* _remember(program, nargs, guards, is_tuple) */
static PyObject *jit_remember(PyObject *self, PyObject *args) {
    fx_jit *j = (fx_jit *)self;
    entry *e = new_entry(args);
    if (!e) return NULL;
    if (e->program->inputs.n > FX_MAX_ARGS || e->program->noutputs > FX_MAX_ARGS) {
        drop_entries(&e);
        Py_RETURN_NONE;
    }
    e->next = j->first;
    j->first = e;
    Py_RETURN_NONE;
}

static PyObject *jit_forget(PyObject *self, PyObject *none) {
    fx_jit *j = (fx_jit *)self;
    (void)none;
    entry **end_of = &j->forgotten;
    while (*end_of) end_of = &(*end_of)->next;
    *end_of = j->first;
    j->first = NULL;
    Py_RETURN_NONE;
}

static PyObject *jit_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *slow;
    (void)kwargs;
    if (!PyArg_ParseTuple(args, "O", &slow)) return NULL;
    fx_jit *j = (fx_jit *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (j) j->slow = Py_NewRef(slow);
    return (PyObject *)j;
}

static int jit_traverse(PyObject *self, visitproc visit, void *arg) {
    fx_jit *j = (fx_jit *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(j->slow);
    return visit_entries(j->first, visit, arg);
}

static int jit_clear(PyObject *self) {
    fx_jit *j = (fx_jit *)self;
    Py_CLEAR(j->slow);
    drop_entries(&j->first);
    drop_entries(&j->forgotten);
    return 0;
}

static void jit_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    jit_clear(self);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

static PyMethodDef jit_methods[] = {{"_remember", jit_remember, METH_VARARGS, NULL},
                                    {"_forget", jit_forget, METH_NOARGS, NULL},
                                    {NULL, NULL, 0, NULL}};
static PyType_Slot jit_slots[] = {{Py_tp_new, jit_new},
                                  {Py_tp_dealloc, jit_dealloc},
                                  {Py_tp_traverse, jit_traverse},
                                  {Py_tp_clear, jit_clear},
                                  {Py_tp_call, jit_call},
                                  {Py_tp_methods, jit_methods},
                                  {0, NULL}};
static PyType_Spec jit_spec = {"fusec._core.Jit", sizeof(fx_jit), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
                               jit_slots};

/* ---- Part: of a graph of torch's, tensors in and out -------------------------------------------
 */

typedef struct fx_part {
    PyObject_HEAD entry *first;
    PyObject *slow; /* (self, args) -> result */
} fx_part;

/* 1: *result is there; 0: the arguments do not fit, or Python says what is wrong; -1: an exception.
 */
static int try_part(const entry *e, PyObject *args, PyObject **result) {
    PyObject *few[2 * FX_MAX_ARGS], **at = few, **results;
    const int n = (int)PyTuple_Size(args), inputs = e->program->inputs.n;
    const size_t all = (size_t)inputs + (size_t)e->program->noutputs;
    if (n != e->nargs) return 0;
    if (all > 2 * FX_MAX_ARGS) at = PyMem_Malloc(all * sizeof *at);
    if (!at) return PyErr_NoMemory(), -1;
    results = at + inputs;
    for (int i = 0; i < inputs; i++)
        at[i] = i < n ? PyTuple_GetItem(args, i) : PyTuple_GetItem(e->guards, i - n);
    int ok = fx_call_program(e->program, at, NULL, 3, at[0], results);
    if (ok == 1) *result = finish(e, results);
    if (at != few) PyMem_Free(at);
    if (ok == 1 && !*result) ok = -1;
    if (ok >= 0 || PyErr_ExceptionMatches(PyExc_KeyboardInterrupt) ||
        PyErr_ExceptionMatches(PyExc_MemoryError))
        return ok;
    PyErr_Clear();
    return 0;
}

static PyObject *part_call(PyObject *self, PyObject *args, PyObject *kwargs) {
    fx_part *p = (fx_part *)self;
    PyObject *result = NULL;
    (void)kwargs;
    const bool quick = PyTuple_Size(args) > 0 && fx_kind_of(PyTuple_GetItem(args, 0)) == 3;
    for (entry *e = quick && !fx_tracing ? p->first : NULL; e; e = e->next) {
        const int ok = try_part(e, args, &result);
        if (ok) return result;
    }
    return PyObject_CallFunctionObjArgs(p->slow, self, args, NULL);
}

/* _remember(program, nargs, what else the program takes, is_tuple) */
static PyObject *part_remember(PyObject *self, PyObject *args) {
    entry *e = new_entry(args);
    if (!e) return NULL;
    e->next = ((fx_part *)self)->first;
    ((fx_part *)self)->first = e;
    Py_RETURN_NONE;
}

static PyObject *part_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *slow;
    (void)kwargs;
    if (!PyArg_ParseTuple(args, "O", &slow)) return NULL;
    fx_part *p = (fx_part *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (p) p->slow = Py_NewRef(slow);
    return (PyObject *)p;
}

static int part_traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((fx_part *)self)->slow);
    return visit_entries(((fx_part *)self)->first, visit, arg);
}

static int part_clear(PyObject *self) {
    Py_CLEAR(((fx_part *)self)->slow);
    drop_entries(&((fx_part *)self)->first);
    return 0;
}

static void part_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    part_clear(self);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

static PyMethodDef part_methods[] = {{"_remember", part_remember, METH_VARARGS, NULL},
                                     {NULL, NULL, 0, NULL}};
static PyType_Slot part_slots[] = {{Py_tp_new, part_new},
                                   {Py_tp_dealloc, part_dealloc},
                                   {Py_tp_traverse, part_traverse},
                                   {Py_tp_clear, part_clear},
                                   {Py_tp_call, part_call},
                                   {Py_tp_methods, part_methods},
                                   {0, NULL}};
static PyType_Spec part_spec = {"fusec._core.Part", sizeof(fx_part), 0,
                                Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
                                part_slots};

int fx_init_jit(PyObject *module) {
    PyObject *part = PyType_FromSpec(&part_spec);
    fx.jit = (PyTypeObject *)PyType_FromSpec(&jit_spec);
    if (!fx.jit || !part || PyModule_AddObjectRef(module, "Part", part)) return -1;
    return PyModule_AddObjectRef(module, "Jit", (PyObject *)fx.jit);
}
