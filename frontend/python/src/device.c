/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* device.c - where arrays are: numbers and names of devices, where a thread makes new values,
 * memory on a device, and moving an array to another one.
 *
 * Operands of one operation are on one device. The exception are arrays without axes on the CPU,
 * which are numbers to a GPU. Work on a GPU is ordered on a stream of its context; what other
 * libraries' streams do with the same memory is ordered by waits between streams (lazy.c, jit.c).
 */
#include "frontend/python/src/fx.h"

#include <stdio.h>
#include <stdlib.h>

static _Thread_local int here = -1; /* -1: as the process */

int fx_new_on(void) {
    if (fx_tracing) return fx_tracing->device;
    return here < 0 ? fx.device : here;
}

void fx_device_name(int device, char text[24]) {
    if (device == FX_CPU)
        snprintf(text, 24, "cpu");
    else
        snprintf(text, 24, "cuda:%d", device - 1);
}

PyObject *fx_wrong_device(int device, const char *what) {
    char name[24], text[200];
    fx_device_name(device, name);
    snprintf(text, sizeof text, "%s is on %s: move it with x.to_device(...)", what, name);
    return fx_raise_text("device", text);
}

int fx_device_of(int n, fx_array *const *a) {
    int device = a[0]->device;
    for (int i = 1; i < n; i++) {
        if (a[i]->device == device || (a[i]->device == FX_CPU && !a[i]->rank)) continue;
        bool numbers = device == FX_CPU; /* those before */
        for (int k = 0; k < i; k++) numbers &= !a[k]->rank;
        if (!numbers) {
            char one[24], other[24], text[120];
            fx_device_name(device, one);
            fx_device_name(a[i]->device, other);
            snprintf(text, sizeof text,
                     "operands are on %s and on %s: move one with x.to_device(...)", one, other);
            fx_raise_text("device", text);
            return -1;
        }
        device = a[i]->device;
    }
    return device;
}

fx_array *fx_scalar_on(int device, fx_array *a) {
    uint64_t element[2];
    fusec_lazy *v = NULL;
    fusec_context *ctx = fx_context(device);
    if (!ctx) return NULL;
    fusec_status s;
    fusec_lazy *from = fx_lazy_hold(a);
    const fusec_dtype t = fusec_lazy_dtype(from);
    Py_BEGIN_ALLOW_THREADS s = fusec_lazy_read(from, element, fx_dtype_bytes((uint8_t)t));
    fusec_lazy_release(from);
    Py_END_ALLOW_THREADS if (!s) s = fusec_lazy_scalar(ctx, t, element, &v);
    return fx_lazy_object(device, s, v);
}

/* ---- memory -------------------------------------------------------------------------------------
 */

typedef struct block {
    fusec_context *ctx;
    void *data;
} block;

static void release_block(void *user) {
    block *b = user;
    fusec_device_free(b->ctx, b->data);
    free(b);
}

/* Aligned for vectors, and with an address where there is not one byte. */
static void *new_on_host(size_t bytes, void (**release)(void *), void **user) {
    void *data = aligned_alloc(64, (bytes + 64) & ~(size_t)63);
    *release = free;
    *user = data;
    return data;
}

void *fx_take_memory(int device, size_t bytes, void (**release)(void *), void **user) {
    if (device == FX_CPU) return new_on_host(bytes, release, user);
    block *b = malloc(sizeof *b);
    if (!b) return NULL;
    b->ctx = fx.ctx[device];
    const fusec_status s = fusec_device_alloc(b->ctx, bytes ? bytes : 1, &b->data);
    *release = release_block;
    *user = b;
    if (!s) return b->data;
    free(b);
    return NULL;
}

void *fx_new_memory(int device, size_t bytes, void (**release)(void *), void **user) {
    void *data = fx_take_memory(device, bytes, release, user);
    if (!data && device == FX_CPU) PyErr_NoMemory();
    if (!data && device != FX_CPU) fx_raise(FUSEC_OUT_OF_MEMORY); /* with the library's message */
    return data;
}

/* ---- moving -------------------------------------------------------------------------------------
 */

static size_t bytes_of(const fusec_lazy *v) {
    size_t n = fx_dtype_bytes((uint8_t)fusec_lazy_dtype(v));
    for (int i = 0; i < fusec_lazy_rank(v); i++) n *= (size_t)fusec_lazy_shape(v)[i];
    return n;
}

/* Elements that lie densely on the host go from there, others by way of a copy. */
static fusec_status copy_to(int device, fusec_lazy *v, void *data, size_t bytes) {
    fusec_tensor t;
    fusec_status s;
    void *between = NULL;
    Py_BEGIN_ALLOW_THREADS s = fusec_lazy_tensor(v, &t);
    if (!s && device == FX_CPU) {
        s = fusec_lazy_read(v, data, bytes);
    } else if (!s && bytes) {
        const void *from = t.data;
        if (t.place != FUSEC_HOST || t.strides) {
            between = malloc(bytes);
            s = between ? fusec_lazy_read(v, between, bytes) : FUSEC_OUT_OF_MEMORY;
            from = between;
        }
        if (!s) s = fusec_upload(fx.ctx[device], data, from, bytes);
    }
    free(between);
    Py_END_ALLOW_THREADS return s;
}

/* to_device(array, device): a copy there, dense; complete when it returns. */
static PyObject *to_device(PyObject *module, PyObject *args) {
    PyObject *o;
    int device;
    void *data;
    (void)module;
    if (!PyArg_ParseTuple(args, "Oi", &o, &device)) return NULL;
    if (!fx_is_array(o) || ((fx_array *)o)->trace || device < 0 || device >= FX_DEVICES)
        return PyErr_Format(PyExc_TypeError, "not an fx.Array outside of a compiled function");
    fusec_lazy *v = fx_lazy_hold((fx_array *)o);
    PyObject *r = fx_lazy_empty(device, (uint8_t)fusec_lazy_dtype(v), fusec_lazy_rank(v),
                                fusec_lazy_shape(v), &data);
    const fusec_status s = r ? copy_to(device, v, data, bytes_of(v)) : FUSEC_OK;
    fusec_lazy_release(v);
    if (!s) return r;
    Py_DECREF(r);
    return fx_raise(s);
}

/* new_on(device): where this thread makes new values from now on, -1: as the process; gives what
 * was before. */
static PyObject *new_on(PyObject *module, PyObject *number) {
    const int before = here;
    const long n = PyLong_AsLong(number);
    (void)module;
    if (n < -1 || n >= FX_DEVICES || PyErr_Occurred())
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_ValueError, "not a device");
    here = (int)n;
    return PyLong_FromLong(before);
}

/* default_device(device): of the process. */
static PyObject *default_device(PyObject *module, PyObject *number) {
    const long n = PyLong_AsLong(number);
    (void)module;
    if (n < 0 || n >= FX_DEVICES || PyErr_Occurred())
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_ValueError, "not a device");
    fx.device = (uint8_t)n;
    Py_RETURN_NONE;
}

static PyObject *current_device(PyObject *module, PyObject *none) {
    (void)module, (void)none;
    return PyLong_FromLong(fx_new_on());
}

/* has_device(device): can it be used here? */
static PyObject *has_device(PyObject *module, PyObject *number) {
    const long n = PyLong_AsLong(number);
    (void)module;
    if (n < 0 || n >= FX_DEVICES) return PyErr_Occurred() ? NULL : Py_NewRef(Py_False);
    if (fx_context((int)n)) Py_RETURN_TRUE;
    if (!PyErr_ExceptionMatches(PyExc_RuntimeError)) return NULL;
    PyErr_Clear();
    Py_RETURN_FALSE;
}

/* stream_wait(device, stream, other): what stream does from now on comes after what other has to
 * do; 0 is the stream of the context. */
static PyObject *stream_wait(PyObject *module, PyObject *args) {
    int device;
    unsigned long long stream, other;
    (void)module;
    if (!PyArg_ParseTuple(args, "iKK", &device, &stream, &other)) return NULL;
    if (device <= FX_CPU || device >= FX_DEVICES || !fx_context(device))
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_ValueError, "not a GPU");
    const fusec_status s =
        fusec_stream_wait(fx.ctx[device], (void *)(uintptr_t)stream, (void *)(uintptr_t)other);
    return s ? fx_raise(s) : Py_NewRef(Py_None);
}

static PyMethodDef functions[] = {{"to_device", to_device, METH_VARARGS, NULL},
                                  {"new_on", new_on, METH_O, NULL},
                                  {"default_device", default_device, METH_O, NULL},
                                  {"has_device", has_device, METH_O, NULL},
                                  {"current_device", current_device, METH_NOARGS, NULL},
                                  {"stream_wait", stream_wait, METH_VARARGS, NULL},
                                  {NULL, NULL, 0, NULL}};

int fx_init_device(PyObject *module) {
    return PyModule_AddFunctions(module, functions);
}
