/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* module.c - the module `fusec._core`: its state, the context, exceptions. */
#include "frontend/python/src/fx.h"

fx_state fx;

#define FX_ROW(name, arity, rule, doc) {#name, arity, FX_RULE_##rule, doc},
const fx_row fx_rows[FX_ROWS] = {
#include <fx_rows.h>
};
#undef FX_ROW

/* ---- exceptions ---------------------------------------------------------------------------------
 */

PyObject *fx_raise_text(const char *slug, const char *text) {
    PyObject *e = fx.error ? PyObject_CallFunction(fx.error, "ss", slug, text) : NULL;
    if (e) {
        PyErr_SetObject((PyObject *)Py_TYPE(e), e);
        Py_DECREF(e);
    } else if (!PyErr_Occurred())
        PyErr_SetString(PyExc_RuntimeError, text);
    return NULL;
}

PyObject *fx_raise(fusec_status s) {
    if (PyErr_Occurred()) return NULL; /* of something that the call asked Python for */
    return fx_raise_text(fusec_status_name(s), fusec_message(NULL));
}

/* ---- the context --------------------------------------------------------------------------------
 */

/* While the library works, the calling thread looks for signals: an exception of a handler, as that
 * of Ctrl-C, stops the call and is raised when it returns. */
static int poll_signals(void *user) {
    (void)user;
    const PyGILState_STATE state = PyGILState_Ensure();
    const int stop = PyErr_CheckSignals();
    PyGILState_Release(state);
    return stop;
}

/* A text of the options; false: an exception. `keep` gets a reference. */
static bool text_option(PyObject *d, const char *name, const char **to, PyObject **keep) {
    PyObject *o = PyDict_GetItemString(d, name);
    if (!o || o == Py_None) return true;
    *keep = PyUnicode_AsUTF8String(o);
    *to = *keep ? PyBytes_AsString(*keep) : NULL;
    return *to != NULL;
}

static bool number_option(PyObject *d, const char *name, unsigned *to) {
    PyObject *o = PyDict_GetItemString(d, name);
    if (o && o != Py_None) *to = (unsigned)PyLong_AsUnsignedLong(o);
    return !PyErr_Occurred();
}

static fusec_status start(PyObject *d, fusec_context **ctx) {
    enum { TEXTS = 4 };
    PyObject *keep[TEXTS] = {NULL};
    fusec_options o = FUSEC_OPTIONS_INIT;
    unsigned threads = 0;
    fusec_status s = FUSEC_INVALID;
    o.poll = poll_signals;
    o.max_inputs = o.max_outputs = 4096; /* parts of torch's graphs have many */
    if (text_option(d, "device", &o.device, &keep[0]) &&
        text_option(d, "cache_dir", &o.cache_dir, &keep[1]) &&
        text_option(d, "llvm_path", &o.llvm_path, &keep[2]) &&
        text_option(d, "nvrtc_path", &o.nvrtc_path, &keep[3]) &&
        number_option(d, "threads", &threads) && number_option(d, "mode", &o.mode) &&
        number_option(d, "tiers", &o.tiers)) {
        o.threads = (int)threads;
        s = fusec_context_new(&o, ctx);
    }
    for (int i = 0; i < TEXTS; i++) Py_XDECREF(keep[i]);
    return s;
}

/* One for each device. The device itself is opened here, so that one that is missing is told of by
 * what asks for it. */
fusec_context *fx_context(int device) {
    const char *name;
    fusec_context *ctx = NULL;
    if (fx.ctx[device]) return fx.ctx[device];
    PyObject *d = PyObject_CallFunction(fx.options, "i", device);
    if (!d) return NULL;
    fusec_status s = start(d, &ctx);
    Py_DECREF(d);
    if (!s && device != FX_CPU) s = fusec_device(ctx, &name, NULL);
    if (s) {
        fx_raise(s);
        fusec_context_free(ctx);
        return NULL;
    }
    return fx.ctx[device] = ctx;
}

static PyObject *started(PyObject *module, PyObject *none) {
    (void)module, (void)none;
    for (int i = 0; i < FX_DEVICES; i++)
        if (fx.ctx[i]) Py_RETURN_TRUE;
    Py_RETURN_FALSE;
}

static PyObject *configure(PyObject *module, PyObject *args) {
    (void)module;
    enum { PARTS = 7 };
    PyObject **to[PARTS] = {&fx.error,        &fx.as_operand, &fx.mixed,  &fx.size_needed,
                            &fx.value_needed, &fx.options,    &fx.foreign};
    PyObject *from[PARTS];
    if (!PyArg_ParseTuple(args, "OOOOOOO", &from[0], &from[1], &from[2], &from[3], &from[4],
                          &from[5], &from[6]))
        return NULL;
    for (int i = 0; i < PARTS; i++) {
        Py_XDECREF(*to[i]);
        *to[i] = Py_NewRef(from[i]);
    }
    Py_RETURN_NONE;
}

static PyObject *version(PyObject *module, PyObject *none) {
    (void)module, (void)none;
    return PyUnicode_FromString(fusec_version());
}

static PyObject *device(PyObject *module, PyObject *none) {
    (void)module, (void)none;
    const char *name, *notice;
    fusec_context *ctx = fx_context(fx_new_on());
    if (!ctx) return NULL;
    fusec_status s;
    Py_BEGIN_ALLOW_THREADS s = fusec_device(ctx, &name, &notice);
    Py_END_ALLOW_THREADS return s ? fx_raise(s) : Py_BuildValue("ss", name, notice);
}

static PyObject *counters(PyObject *module, PyObject *none) {
    (void)module, (void)none;
    fusec_context *ctx = fx_context(fx_new_on());
    if (!ctx) return NULL;
    fusec_counters c = FUSEC_COUNTERS_INIT;
    fusec_get_counters(ctx, &c);
    return Py_BuildValue("{sKsKsKsK}", "compiles", c.compiles, "disk_hits", c.disk_hits,
                         "memory_hits", c.memory_hits, "plans", c.plans);
}

static PyMethodDef functions[] = {
    {"configure", configure, METH_VARARGS, "The Python side hands its parts to the extension."},
    {"started", started, METH_NOARGS, "Whether the library has its context."},
    {"version", version, METH_NOARGS, "Version of the library."},
    {"device", device, METH_NOARGS, "Name of the device, and what was passed over."},
    {"counters", counters, METH_NOARGS, "Kernels compiled, found on disk, found in memory, plans."},
    {NULL, NULL, 0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                                        "fusec._core",
                                        "The part of fusec that is written in C.",
                                        -1,
                                        functions,
                                        NULL,
                                        NULL,
                                        NULL,
                                        NULL};

PyMODINIT_FUNC PyInit__core(void);
PyMODINIT_FUNC PyInit__core(void) {
    PyObject *m = PyModule_Create(&definition);
    if (!m || fx_init_array(m) || fx_init_trace(m) || fx_init_ops(m) || fx_init_views(m) ||
        fx_init_memory(m) || fx_init_device(m) || fx_init_foreign(m) || fx_init_dlpack(m) ||
        fx_init_grad(m) || fx_init_lazy(m) || fx_init_program(m) || fx_init_jit(m) ||
        fx_init_pieces(m))
        Py_CLEAR(m);
    return m;
}
