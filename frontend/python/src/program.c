/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* program.c - programs with what their arguments must be, and calls of them.
 *
 * A call goes: each argument's memory is looked up, compared with what the program takes, results
 * are allocated (or are the caller's), and the library runs. Which program a call goes to is
 * jit.c's and Python's affair. */
#include "frontend/python/src/fx.h"

#include <stdlib.h>
#include <string.h>

/* ---- making one ---------------------------------------------------------------------------------
 */

static void forget_made(fx_program *p) {
    for (int i = 0; p->made && i < p->noutputs; i++) Py_CLEAR(p->made[i]);
}

static void program_dealloc(fx_program *p) {
    PyTypeObject *type = Py_TYPE((PyObject *)p);
    forget_made(p);
    Py_XDECREF(p->promised);
    free(p->made);
    fusec_program_free(p->program);
    free(p->inputs.at);
    free(p->dtypes);
    free(p->sizes);
    PyObject_Free(p);
    Py_DECREF(type);
}

PyObject *fx_new_program(fusec_program *program, uint8_t device, const fx_inputs *inputs) {
    fx_program *p = PyObject_New(fx_program, fx.program);
    if (!p) {
        fusec_program_free(program);
        free(inputs->at);
        return NULL;
    }
    p->program = program;
    p->device = device;
    p->inputs = *inputs;
    p->noutputs = fusec_output_count(program);
    p->nsizes = 0;
    p->has_last = false;
    p->promised = NULL;
    p->made = calloc((size_t)p->noutputs + 1, sizeof *p->made);
    p->dtypes = malloc((size_t)p->noutputs * 2 + 1);
    p->ranks = p->dtypes + p->noutputs;
    for (int i = 0; p->dtypes && i < p->noutputs; i++) {
        p->dtypes[i] = (uint8_t)fusec_output_dtype(program, i);
        p->ranks[i] = (uint8_t)fusec_output_rank(program, i);
        p->nsizes += p->ranks[i];
    }
    p->sizes = malloc(((size_t)p->nsizes + 1) * sizeof *p->sizes);
    if (p->dtypes && p->sizes && p->made) return (PyObject *)p;
    Py_DECREF((PyObject *)p);
    return PyErr_NoMemory();
}

/* ---- a call -------------------------------------------------------------------------------------
 */

typedef union number {
    double f;
    int64_t i;
    uint8_t b;
} number;

/* What stands behind an argument or a result. */
typedef struct slot {
    fx_memory memory;
    number number;
    Py_buffer view;
    bool has_memory;
} slot;

enum { FEW = 6 }; /* arguments and results together, without an allocation */

typedef struct call {
    fusec_tensor few_tensors[FEW], *in, *out;
    slot few_slots[FEW], *args, *results;
    int nargs, nresults; /* slots that are filled */
    PyObject *foreign;   /* the first array of another library on a GPU, whose stream is used */
    bool ours;           /* arrays of ours are among the arguments */
    int64_t symbols[64];
    int64_t few_sizes[4 * FEW], *sizes; /* of the results */
} call;

static bool begin(fx_program *p, call *c) {
    const int n = p->inputs.n + p->noutputs;
    c->in = n > FEW ? malloc((size_t)n * sizeof *c->in) : c->few_tensors;
    c->args = n > FEW ? malloc((size_t)n * sizeof *c->args) : c->few_slots;
    c->sizes = p->nsizes > 4 * FEW ? malloc((size_t)p->nsizes * sizeof *c->sizes) : c->few_sizes;
    c->nargs = c->nresults = 0;
    c->foreign = NULL;
    c->ours = false;
    if (!c->in || !c->args || !c->sizes) {
        if (n > FEW) free(c->in), free(c->args);
        if (c->sizes != c->few_sizes) free(c->sizes);
        PyErr_NoMemory();
        return false;
    }
    c->out = c->in + p->inputs.n;
    c->results = c->args + p->inputs.n;
    return true;
}

static void end(call *c) {
    for (int i = 0; i < c->nargs; i++)
        if (c->args[i].has_memory) fx_memory_done(&c->args[i].memory, &c->args[i].view);
    for (int i = 0; i < c->nresults; i++)
        if (c->results[i].has_memory) fx_memory_done(&c->results[i].memory, &c->results[i].view);
    if (c->sizes != c->few_sizes) free(c->sizes);
    if (c->in != c->few_tensors) {
        free(c->in);
        free(c->args);
    }
}

/* 1: it fits; 0: it does not; -1: an exception. */
static int take_number(PyObject *o, char kind, number *n) {
    switch (kind) {
    case 'f':
        if (!PyFloat_CheckExact(o)) return 0;
        n->f = PyFloat_AsDouble(o);
        return 1;
    case 'i': {
        int overflow;
        if (!PyLong_CheckExact(o)) return 0;
        n->i = PyLong_AsLongLongAndOverflow(o, &overflow);
        return !overflow;
    }
    default:
        if (!PyBool_Check(o)) return 0;
        n->b = o == Py_True;
        return 1;
    }
}

static bool sizes_fit(const fx_input *in, const fx_memory *m, int64_t *symbols, int *seen) {
    for (int k = 0; k < in->rank; k++) {
        const int s = in->symbol[k];
        if (s < 0 ? m->shape[k] != in->size[k] : s < *seen && symbols[s] != m->shape[k])
            return false;
        if (s < 0 || s < *seen) continue; /* symbols are numbered as they are met */
        for (int j = 0; j < *seen; j++)
            if (symbols[j] == m->shape[k]) return false;
        if (m->shape[k] == 1) return false;
        symbols[(*seen)++] = m->shape[k];
    }
    return true;
}

/* Memory of the host is copied to a GPU, but arrays of ours that are there are a mistake. */
static bool is_here(const fx_program *p, const fx_memory *m) {
    return m->device == p->device ||
           (m->device == FX_CPU &&
            (!m->rank || m->from == FX_FROM_NUMPY || m->from == FX_FROM_BUFFER));
}

/* Arrays without axes are inputs with one (trace.c), as programs read those without from the host.
 */
static void on_gpu(const fx_input *in, PyObject *o, const fx_memory *m, fusec_tensor *t, call *c) {
    static const int64_t one = 1;
    if (!in->rank) {
        t->rank = 1;
        t->shape = &one;
        t->strides = NULL;
    }
    if (m->from == FX_FROM_FOREIGN && m->device != FX_CPU && !c->foreign) c->foreign = o;
    c->ours |= m->from == FX_FROM_ARRAY;
}

static int take_inputs(fx_program *p, PyObject *const *args, call *c) {
    int seen = 0;
    for (int i = 0; i < p->inputs.n; i++) {
        const fx_input *in = &p->inputs.at[i];
        slot *s = &c->args[i];
        s->has_memory = false;
        if (in->number) {
            const int ok = take_number(args[i], in->number, &s->number);
            if (ok <= 0) return ok;
            c->in[i] = (fusec_tensor){.data = &s->number, .dtype = in->dtype};
        } else {
            const int ok = fx_memory_of(args[i], &s->memory, &s->view);
            if (ok <= 0) return ok;
            s->has_memory = true;
        }
        c->nargs = i + 1;
        if (in->number) continue;
        if (s->memory.dtype != in->dtype || s->memory.rank != in->rank ||
            !sizes_fit(in, &s->memory, c->symbols, &seen) || !is_here(p, &s->memory))
            return 0;
        c->in[i] = fx_tensor_of(&s->memory);
        if (p->device != FX_CPU) on_gpu(in, args[i], &s->memory, &c->in[i], c);
    }
    return 1;
}

/* The shapes of the results: those of the last call if the sizes are the same. What the program
 * keeps of it is read and written with the GIL held. */
static int result_sizes(fx_program *p, call *c) {
    const size_t bytes = (size_t)p->inputs.nsymbols * sizeof *p->last,
                 room = (size_t)p->nsizes * sizeof *c->sizes;
    if (p->has_last && !memcmp(p->last, c->symbols, bytes)) {
        memcpy(c->sizes, p->sizes, room);
        return 0;
    }
    fusec_status s;
    Py_BEGIN_ALLOW_THREADS s =
        fusec_output_shapes(p->program, p->inputs.n, c->in, c->sizes, p->nsizes);
    Py_END_ALLOW_THREADS if (s) return fx_raise(s), -1;
    memcpy(p->sizes, c->sizes, room);
    memcpy(p->last, c->symbols, bytes);
    p->has_last = true;
    forget_made(p);
    return 0;
}

/* The strides that are promised for result i of this shape; NULL: it is dense. */
static const int64_t *promised(const fx_program *p, int i, const int64_t *shape,
                               int64_t strides[FX_MAX_RANK]) {
    int64_t sizes[FX_MAX_RANK];
    PyObject *one = p->promised ? PyTuple_GetItem(p->promised, i) : Py_None;
    if (one == Py_None) return NULL;
    const int rank = fx_take_shape(PyTuple_GetItem(one, 0), sizes);
    if (rank != p->ranks[i] || memcmp(sizes, shape, (size_t)rank * sizeof *sizes)) return NULL;
    return fx_take_shape(PyTuple_GetItem(one, 1), strides) == rank ? strides : NULL;
}

static bool has_sizes(const fx_memory *m, int rank, const int64_t *sizes) {
    return m->rank == rank && !memcmp(m->shape, sizes, (size_t)rank * sizeof *sizes);
}

/* An array of the library of `like`. Making one may run Python code, and so another thread, which
 * calls the program with other sizes: what is kept of the last call is then that thread's. */
static PyObject *take_foreign(fx_program *p, int i, const int64_t *sizes, PyObject *like, call *c) {
    int64_t strides[FX_MAX_RANK];
    fx_memory *m = &c->results[i].memory;
    for (int tries = 0;; tries++) {
        PyObject *own = NULL, **made = tries ? &own : &p->made[i];
        const int64_t *wanted = *made ? NULL : promised(p, i, sizes, strides);
        PyObject *r = PyErr_Occurred() ? NULL
                                       : fx_foreign_empty(like, p->device, p->dtypes[i],
                                                          p->ranks[i], sizes, wanted, made);
        Py_XDECREF(own);
        if (!r) return NULL;
        const int ok = fx_foreign_memory(r, m, true);
        c->out[i] = fx_tensor_of(m);
        if (ok == 1 && has_sizes(m, p->ranks[i], sizes)) return r;
        Py_DECREF(r);
        if (ok == 1 && !tries) continue;
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError, "the library of the arguments made no such array");
        return NULL;
    }
}

/* What out has, and what the result has; takes both references. */
static void wrong_result(const char *slug, const char *what, PyObject *is, PyObject *wanted) {
    PyObject *text =
        is && wanted ? PyUnicode_FromFormat("out has the %s %S, the result %S", what, is, wanted)
                     : NULL;
    const char *utf8 = text ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
    if (utf8) fx_raise_text(slug, utf8);
    Py_XDECREF(text);
    Py_XDECREF(is);
    Py_XDECREF(wanted);
}

static int take_result(fx_program *p, int i, const int64_t *sizes, PyObject *o, call *c) {
    slot *to = &c->results[i];
    fx_memory *m = &to->memory;
    const int ok = fx_is_array(o) ? 0 : fx_memory_of(o, m, &to->view);
    if (ok < 0) return -1;
    to->has_memory = ok;
    c->nresults = i + 1;
    if (ok && m->device != FX_CPU && m->from == FX_FROM_FOREIGN && !c->foreign) c->foreign = o;
    if (ok && !is_here(p, m)) {
        fx_wrong_device(m->device, "out");
        return -1;
    }
    if (!ok || !m->writable) {
        PyErr_SetString(PyExc_ValueError,
                        ok ? "out is read-only" : "out is no array that can be written");
        return -1;
    }
    if (m->dtype != p->dtypes[i]) {
        wrong_result("result-dtype", "dtype", PyUnicode_FromString(fx_dtype_name(m->dtype)),
                     PyUnicode_FromString(fx_dtype_name(p->dtypes[i])));
        return -1;
    }
    if (!has_sizes(m, p->ranks[i], sizes)) {
        wrong_result("result-shape", "shape", fx_shape_tuple(m->rank, m->shape),
                     fx_shape_tuple(p->ranks[i], sizes));
        return -1;
    }
    c->out[i] = fx_tensor_of(m);
    return 0;
}

/* Fills c->out; results[i] is a new reference to what the call gives. */
static int take_results(fx_program *p, PyObject *const *outs, int kind, PyObject *like,
                        PyObject **results, call *c) {
    if (result_sizes(p, c)) return -1;
    const int64_t *sizes = c->sizes;
    for (int i = 0; i < p->noutputs; sizes += p->ranks[i++]) {
        if (outs && outs[i] != Py_None) {
            if (take_result(p, i, sizes, outs[i], c)) return -1;
            results[i] = Py_NewRef(outs[i]);
            continue;
        }
        fx_memory *m = &c->results[i].memory;
        c->results[i].has_memory = false;
        c->nresults = i + 1;
        if (kind == 3) {
            results[i] = take_foreign(p, i, sizes, like, c);
            if (!results[i]) return -1;
            continue;
        }
        m->dtype = p->dtypes[i];
        m->rank = p->ranks[i];
        m->dense = true;
        m->device = kind == 1 ? FX_CPU : p->device;
        memcpy(m->shape, sizes, (size_t)m->rank * sizeof *sizes);
        results[i] = kind == 1 ? fx_new_numpy(m->dtype, m->rank, m->shape, &m->data)
                               : fx_lazy_empty(p->device, m->dtype, m->rank, m->shape, &m->data);
        if (!results[i]) return -1;
        c->out[i] = fx_tensor_of(m);
    }
    return 0;
}

/* On the stream of the other library if there is one, else on that of the context. Arrays of ours
 * are made and given back on the latter. */
static fusec_status run_on_gpu(fx_program *p, call *c) {
    void *stream = NULL;
    fusec_status s = FUSEC_OK;
    fusec_context *ctx = fx.ctx[p->device];
    if (c->foreign && fx_foreign_stream(c->foreign, p->device, &stream)) return FUSEC_INVALID;
    Py_BEGIN_ALLOW_THREADS if (stream && c->ours) s = fusec_stream_wait(ctx, stream, NULL);
    if (!s) s = fusec_run_on(p->program, stream, p->inputs.n, c->in, p->noutputs, c->out);
    if (!s && stream && c->ours) s = fusec_stream_wait(ctx, NULL, stream);
    Py_END_ALLOW_THREADS return s;
}

/* Never with the interpreter's lock: a thread that compiles holds the program's and looks for
 * signals, for which it needs that of the interpreter. */
static fusec_status run(fx_program *p, call *c) {
    fusec_status s;
    if (p->device != FX_CPU) return run_on_gpu(p, c);
    Py_BEGIN_ALLOW_THREADS s = fusec_run(p->program, p->inputs.n, c->in, p->noutputs, c->out);
    Py_END_ALLOW_THREADS return s;
}

int fx_call_program(fx_program *p, PyObject *const *args, PyObject *const *outs, int kind,
                    PyObject *like, PyObject **results) {
    call c;
    for (int i = 0; i < p->noutputs; i++) results[i] = NULL;
    if (!begin(p, &c)) return -1;
    int ok = take_inputs(p, args, &c);
    if (ok == 1 && take_results(p, outs, kind, like, results, &c)) ok = -1;
    if (ok == 1) {
        const fusec_status s = run(p, &c);
        if (s) ok = -1, fx_raise(s);
    }
    end(&c);
    for (int i = 0; i < p->noutputs && ok == 1; i++) {
        if (outs && outs[i] != Py_None) continue;
        if (kind == 1 && !p->ranks[i]) results[i] = fx_numpy_result(results[i]);
        if (!results[i]) ok = -1;
    }
    for (int i = 0; i < p->noutputs && ok != 1; i++) Py_CLEAR(results[i]);
    return ok;
}

/* ---- Program ------------------------------------------------------------------------------------
 */

static PyObject *list_of(PyObject **results, int n) {
    PyObject *list = PyList_New(n);
    for (int i = 0; i < n; i++) {
        if (list)
            PyList_SetItem(list, i, results[i]);
        else
            Py_DECREF(results[i]);
    }
    return list;
}

/* run(args, outs or None, kind, like): a list of results, or None where the arguments do not fit.
 * Kinds as fx_kind_of; like: an array of the kind. */
static PyObject *program_run(PyObject *self, PyObject *args) {
    fx_program *p = (fx_program *)self;
    PyObject *in, *out, *like = Py_None, *r = NULL;
    int kind;
    if (!PyArg_ParseTuple(args, "O!Oi|O", &PyTuple_Type, &in, &out, &kind, &like)) return NULL;
    const Py_ssize_t n = PyTuple_Size(in);
    if (n != p->inputs.n || (out != Py_None && PyTuple_Size(out) != p->noutputs)) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "wrong number of arrays");
        return NULL;
    }
    PyObject **at = PyMem_Malloc(((size_t)n + 2 * (size_t)p->noutputs + 1) * sizeof *at);
    if (!at) return PyErr_NoMemory();
    PyObject **outs = at + n, **results = outs + p->noutputs;
    for (Py_ssize_t i = 0; i < n; i++) at[i] = PyTuple_GetItem(in, i);
    for (int i = 0; i < p->noutputs && out != Py_None; i++) outs[i] = PyTuple_GetItem(out, i);
    const int ok = fx_call_program(p, at, out == Py_None ? NULL : outs, kind, like, results);
    if (ok >= 0) r = ok ? list_of(results, p->noutputs) : Py_NewRef(Py_None);
    PyMem_Free(at);
    return r;
}

/* fits(args): does the program take them? */
static PyObject *program_fits(PyObject *self, PyObject *in) {
    fx_program *p = (fx_program *)self;
    call c;
    const Py_ssize_t n = PyTuple_Size(in);
    if (n < 0 || n != p->inputs.n) return n < 0 ? NULL : Py_NewRef(Py_False);
    PyObject **at = PyMem_Malloc(((size_t)n + 1) * sizeof *at);
    if (!at) return PyErr_NoMemory();
    for (Py_ssize_t i = 0; i < n; i++) at[i] = PyTuple_GetItem(in, i);
    int ok = begin(p, &c) ? 1 : -1;
    if (ok == 1) {
        ok = take_inputs(p, at, &c);
        end(&c);
    }
    PyMem_Free(at);
    return ok < 0 ? NULL : PyBool_FromLong(ok);
}

/* The tensors of arguments that fit, for what is asked about a call without making it. */
static bool borrow_inputs(fx_program *p, PyObject *in, call *c) {
    const Py_ssize_t n = PyTuple_Size(in);
    if (n < 0 || n != p->inputs.n || !begin(p, c)) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "wrong number of arrays");
        return false;
    }
    PyObject **at = PyMem_Malloc(((size_t)n + 1) * sizeof *at);
    for (Py_ssize_t i = 0; at && i < n; i++) at[i] = PyTuple_GetItem(in, i);
    const int ok = at ? take_inputs(p, at, c) : -1;
    PyMem_Free(at);
    if (ok == 1) return true;
    end(c);
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "the arguments do not fit");
    return false;
}

static PyObject *text_object(const fx_program *p, fusec_status s, char *text) {
    PyObject *r = s ? fx_raise(s) : PyUnicode_FromString(text);
    if (!s) fusec_text_free(fx.ctx[p->device], text);
    return r;
}

/* explain(args, json): what such a call does. */
static PyObject *program_explain(PyObject *self, PyObject *args) {
    fx_program *p = (fx_program *)self;
    int json;
    PyObject *in;
    call c;
    char *text = NULL;
    if (!PyArg_ParseTuple(args, "O!p", &PyTuple_Type, &in, &json) || !borrow_inputs(p, in, &c))
        return NULL;
    fusec_status s;
    Py_BEGIN_ALLOW_THREADS s =
        fusec_explain(p->program, p->inputs.n, c.in, json ? FUSEC_EXPLAIN_JSON : 0, &text);
    Py_END_ALLOW_THREADS end(&c);
    return text_object(p, s, text);
}

/* source(which, args): the text of a kernel. */
static PyObject *program_source(PyObject *self, PyObject *args) {
    fx_program *p = (fx_program *)self;
    int which;
    PyObject *in;
    call c;
    char *text = NULL;
    if (!PyArg_ParseTuple(args, "iO!", &which, &PyTuple_Type, &in) || !borrow_inputs(p, in, &c))
        return NULL;
    fusec_status s;
    Py_BEGIN_ALLOW_THREADS s = fusec_source(p->program, which, p->inputs.n, c.in, &text);
    Py_END_ALLOW_THREADS end(&c);
    return text_object(p, s, text);
}

/* promise(one of None, (shape, strides) for each output): new arrays of that shape of another
 * library get those strides. */
static PyObject *program_promise(PyObject *self, PyObject *promises) {
    fx_program *p = (fx_program *)self;
    if (!PyTuple_Check(promises) || PyTuple_Size(promises) != p->noutputs)
        return PyErr_Format(PyExc_ValueError, "one for each output");
    Py_XDECREF(p->promised);
    p->promised = Py_NewRef(promises);
    forget_made(p);
    Py_RETURN_NONE;
}

static PyObject *program_kernels(PyObject *self, void *unused) {
    (void)unused;
    return PyLong_FromLong(fusec_kernel_count(((fx_program *)self)->program));
}
static PyMethodDef program_methods[] = {{"run", program_run, METH_VARARGS, NULL},
                                        {"fits", program_fits, METH_O, NULL},
                                        {"explain", program_explain, METH_VARARGS, NULL},
                                        {"source", program_source, METH_VARARGS, NULL},
                                        {"promise", program_promise, METH_O, NULL},
                                        {NULL, NULL, 0, NULL}};
static PyGetSetDef program_members[] = {{"kernels", program_kernels, NULL, NULL, NULL},
                                        {NULL, NULL, NULL, NULL, NULL}};
static PyType_Slot program_slots[] = {{Py_tp_dealloc, program_dealloc},
                                      {Py_tp_methods, program_methods},
                                      {Py_tp_getset, program_members},
                                      {0, NULL}};
static PyType_Spec program_spec = {"fusec._core.Program", sizeof(fx_program), 0,
                                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                   program_slots};

fusec_program *fx_program_of(PyObject *program, const fx_inputs **inputs) {
    *inputs = &((fx_program *)program)->inputs;
    return ((fx_program *)program)->program;
}

int fx_init_program(PyObject *module) {
    fx.program = (PyTypeObject *)PyType_FromSpec(&program_spec);
    return fx.program ? PyModule_AddObjectRef(module, "Program", (PyObject *)fx.program) : -1;
}
