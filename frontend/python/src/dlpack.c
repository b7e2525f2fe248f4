/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* dlpack.c - DLPack both ways: arrays of ours as capsules, capsules of others as arrays.
 *
 * The structures are those of the DLPack specification, 1.x, and before 1.0 ("unversioned"). A
 * capsule of ours holds the value, no Python object, so its deleter may be called by any thread. On
 * a GPU the consumer's stream waits for ours when the capsule is made. When it is given back that
 * stream may be gone, so only the default one, which always is there, is waited for by ours; for
 * another one all that the device has to do is: the memory may then be used for something else. */
#include "frontend/python/src/fx.h"

#include <stdlib.h>

typedef fx_dl_tensor dl_tensor;
typedef fx_dl_type dl_type;
typedef struct dl_managed {
    dl_tensor tensor;
    void *user;
    void (*deleter)(struct dl_managed *);
} dl_managed;
typedef struct dl_versioned {
    uint32_t major, minor;
    void *user;
    void (*deleter)(struct dl_versioned *);
    uint64_t flags;
    dl_tensor tensor;
} dl_versioned;

enum { ON_CPU = 1, ON_CUDA = 2, PAGE_LOCKED = 3, MANAGED = 13 };
enum { INT, UINT, FLOAT, BFLOAT = 4, COMPLEX, BOOLEAN };
enum { READ_ONLY = 1 };
#define DEFAULT_STREAM ((void *)(uintptr_t)1) /* of CUDA, for all threads */

static const dl_type types[FX_DTYPES] = {
    {BOOLEAN, 8, 1}, {INT, 8, 1},    {INT, 16, 1},   {INT, 32, 1},     {INT, 64, 1},
    {UINT, 8, 1},    {UINT, 16, 1},  {UINT, 32, 1},  {UINT, 64, 1},    {FLOAT, 16, 1},
    {BFLOAT, 16, 1}, {FLOAT, 32, 1}, {FLOAT, 64, 1}, {COMPLEX, 64, 1}, {COMPLEX, 128, 1}};

/* ---- ours to others -----------------------------------------------------------------------------
 */

typedef struct export {
    union {
        dl_managed old;
        dl_versioned now;
    } u;
    fusec_lazy *value;
    fusec_context *ctx; /* of a GPU, else NULL */
    void *stream;
    int64_t shape[FX_MAX_RANK], strides[FX_MAX_RANK];
}
export;

/* Giving nothing of the memory pool back waits for the device. */
static void finish(export *x) {
    if (x->ctx && x->stream == DEFAULT_STREAM)
        fusec_stream_wait(x->ctx, NULL, x->stream);
    else if (x->ctx)
        fusec_memory_trim(x->ctx, SIZE_MAX);
    fusec_lazy_release(x->value);
    free(x);
}

static void delete_old(dl_managed *m) {
    finish(m->user);
}
static void delete_now(dl_versioned *m) {
    finish(m->user);
}

static void drop_old(PyObject *capsule) {
    dl_managed *m =
        PyCapsule_IsValid(capsule, "dltensor") ? PyCapsule_GetPointer(capsule, "dltensor") : NULL;
    if (m && m->deleter) m->deleter(m);
}
static void drop_now(PyObject *capsule) {
    static const char name[] = "dltensor_versioned";
    dl_versioned *m = PyCapsule_IsValid(capsule, name) ? PyCapsule_GetPointer(capsule, name) : NULL;
    if (m && m->deleter) m->deleter(m);
}

static void describe(export *x, const fx_memory *m, dl_tensor *t) {
    int64_t count = 1;
    for (int i = m->rank - 1; i >= 0; i--) {
        x->shape[i] = m->shape[i];
        x->strides[i] = m->dense ? count : m->strides[i];
        count *= m->shape[i];
    }
    *t = (dl_tensor){.data = m->data,
                     .device = {m->device ? ON_CUDA : ON_CPU, m->device ? m->device - 1 : 0},
                     .rank = m->rank,
                     .type = types[m->dtype],
                     .shape = x->shape,
                     .strides = x->strides};
}

static PyObject *capsule_of(export *x, const fx_memory *m, bool versioned) {
    PyObject *r;
    if (versioned) {
        x->u.now = (dl_versioned){.major = 1, .user = x, .deleter = delete_now, .flags = READ_ONLY};
        describe(x, m, &x->u.now.tensor);
        r = PyCapsule_New(&x->u.now, "dltensor_versioned", drop_now);
    } else {
        x->u.old = (dl_managed){.user = x, .deleter = delete_old};
        describe(x, m, &x->u.old.tensor);
        r = PyCapsule_New(&x->u.old, "dltensor", drop_old);
    }
    if (!r) finish(x);
    return r;
}

/* to_dlpack(array, versioned, stream): stream is that of the consumer, on a GPU. */
static PyObject *to_dlpack(PyObject *module, PyObject *args) {
    PyObject *o;
    int versioned;
    unsigned long long stream;
    fx_memory m;
    (void)module;
    if (!PyArg_ParseTuple(args, "OpK", &o, &versioned, &stream)) return NULL;
    if (!fx_is_array(o)) return PyErr_Format(PyExc_TypeError, "not an fx.Array");
    if (fx_lazy_memory((fx_array *)o, &m) <= 0) return NULL;
    export *x = calloc(1, sizeof *x);
    if (!x) {
        fusec_lazy_release(m.held);
        return PyErr_NoMemory();
    }
    x->value = m.held;
    x->ctx = m.device ? fx.ctx[m.device] : NULL;
    x->stream = (void *)(uintptr_t)stream;
    const fusec_status s = x->ctx ? fusec_stream_wait(x->ctx, x->stream, NULL) : FUSEC_OK;
    if (!s) return capsule_of(x, &m, versioned);
    finish(x);
    return fx_raise(s);
}

/* ---- others' to ours ----------------------------------------------------------------------------
 */

static int code_of(dl_type t) {
    for (int i = 0; i < FX_DTYPES; i++)
        if (types[i].code == t.code && types[i].bits == t.bits && t.lanes == 1) return i;
    return -1;
}

static bool is_dense(const fx_memory *m) {
    int64_t count = 1;
    for (int i = m->rank - 1; i >= 0; i--) {
        if (!m->shape[i]) return true;
        if (m->shape[i] != 1 && m->strides[i] != count) return false;
        count *= m->shape[i];
    }
    return true;
}

int fx_dl_memory(const dl_tensor *t, fx_memory *m) {
    const int code = code_of(t->type), kind = t->device.type;
    const char *why = NULL;
    if (code < 0) why = "its dtype is none of fusec's";
    if (t->rank < 0 || t->rank > FX_MAX_RANK) why = "it has too many axes";
    if (kind != ON_CPU && kind != PAGE_LOCKED && kind != MANAGED && kind != ON_CUDA)
        why = "it is on a device that fusec does not have: move it to the CPU";
    if (kind == ON_CUDA && (t->device.id < 0 || t->device.id >= FX_DEVICES - 1))
        why = "there is no such GPU";
    if (why) return PyErr_Format(PyExc_BufferError, "the array can't be taken: %s", why), 0;
    m->data = (char *)t->data + t->offset;
    m->dtype = (uint8_t)code;
    m->device = (uint8_t)(kind == ON_CUDA ? t->device.id + 1 : FX_CPU);
    m->rank = t->rank;
    m->from = FX_FROM_FOREIGN;
    m->held = NULL;
    m->writable = false;
    for (int i = 0; i < t->rank; i++) {
        m->shape[i] = t->shape[i];
        if (t->strides) m->strides[i] = t->strides[i];
    }
    m->dense = !t->strides || is_dense(m);
    return 1;
}

static void give_back_old(PyObject *owner) {
    dl_managed *m = PyCapsule_GetPointer(owner, "fusec.dltensor");
    if (m && m->deleter) m->deleter(m);
}
static void give_back_now(PyObject *owner) {
    dl_versioned *m = PyCapsule_GetPointer(owner, "fusec.dltensor");
    if (m && m->deleter) m->deleter(m);
}

/* from_dlpack(capsule, stream): an array over the memory, which the capsule gives up. On a GPU
 * `stream` is where its producer has put it in order. */
static PyObject *from_dlpack(PyObject *module, PyObject *args) {
    PyObject *capsule;
    unsigned long long stream;
    fx_memory m;
    (void)module;
    if (!PyArg_ParseTuple(args, "OK", &capsule, &stream)) return NULL;
    const bool now = PyCapsule_IsValid(capsule, "dltensor_versioned");
    if (!now && !PyCapsule_IsValid(capsule, "dltensor"))
        return PyErr_Format(PyExc_TypeError, "not a DLPack capsule, or one that was used");
    void *p = PyCapsule_GetPointer(capsule, now ? "dltensor_versioned" : "dltensor");
    if (now && ((dl_versioned *)p)->major > 1)
        return PyErr_Format(PyExc_BufferError, "DLPack %d is not known",
                            (int)((dl_versioned *)p)->major);
    if (!fx_dl_memory(now ? &((dl_versioned *)p)->tensor : &((dl_managed *)p)->tensor, &m))
        return NULL;
    PyObject *owner = PyCapsule_New(p, "fusec.dltensor", now ? give_back_now : give_back_old);
    if (!owner) return NULL;
    PyCapsule_SetName(capsule, now ? "used_dltensor_versioned" : "used_dltensor");
    PyObject *r = fx_lazy_over(&m, (void *)(uintptr_t)stream, owner, NULL);
    Py_DECREF(owner);
    return r;
}

static PyMethodDef functions[] = {{"to_dlpack", to_dlpack, METH_VARARGS, NULL},
                                  {"from_dlpack", from_dlpack, METH_VARARGS, NULL},
                                  {NULL, NULL, 0, NULL}};

int fx_init_dlpack(PyObject *module) {
    return PyModule_AddFunctions(module, functions);
}
