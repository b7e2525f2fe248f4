/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* dlpack.c - DLPack both ways: arrays of ours as capsules, capsules of others as arrays, and the
 * table of functions by which libraries written in C take our arrays without a call of Python
 * (__dlpack_c_exchange_api__).
 *
 * The structures are those of the DLPack specification, 1.x, and before 1.0 ("unversioned"). A
 * capsule of ours holds the value, no Python object, so its deleter may be called by any thread. On
 * a GPU the consumer's stream waits for ours when the capsule is made. When it is given back that
 * stream may be gone, so only the default one, which always is there, is waited for by ours; for
 * another one all that the device has to do is: the memory may then be used for something else. */
#include "frontend/python/src/fx.h"

#include <stdlib.h>
#include <string.h>

typedef fx_dl_tensor dl_tensor;
typedef fx_dl_type dl_type;
typedef struct dl_managed {
    dl_tensor tensor;
    void *user;
    void (*deleter)(struct dl_managed *);
} dl_managed;
typedef fx_dl_managed dl_versioned;

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

static void describe(const fx_memory *m, int64_t *shape, int64_t *strides, dl_tensor *t) {
    int64_t count = 1;
    for (int i = m->rank - 1; i >= 0; i--) {
        strides[i] = m->dense ? count : m->strides[i];
        count *= m->shape[i];
    }
    *t = (dl_tensor){.data = m->data,
                     .device = {m->device ? ON_CUDA : ON_CPU, m->device ? m->device - 1 : 0},
                     .rank = m->rank,
                     .type = types[m->dtype],
                     .shape = shape,
                     .strides = strides};
}

/* The value of an array, computed, with what its memory is; NULL with an exception. */
static export *export_of(fx_array *a, fx_memory *m) {
    if (fx_lazy_memory(a, m) <= 0) return NULL;
    export *x = calloc(1, sizeof *x);
    if (!x) {
        fusec_lazy_release(m->held);
        return (void *)PyErr_NoMemory();
    }
    x->value = m->held;
    x->ctx = m->device ? fx.ctx[m->device] : NULL;
    memcpy(x->shape, m->shape, (size_t)m->rank * sizeof *x->shape);
    return x;
}

static dl_versioned *managed_of(export *x, const fx_memory *m) {
    x->u.now = (dl_versioned){.major = 1, .user = x, .deleter = delete_now, .flags = READ_ONLY};
    describe(m, x->shape, x->strides, &x->u.now.tensor);
    return &x->u.now;
}

static PyObject *capsule_of(export *x, const fx_memory *m, bool versioned) {
    PyObject *r;
    if (versioned) {
        r = PyCapsule_New(managed_of(x, m), "dltensor_versioned", drop_now);
    } else {
        x->u.old = (dl_managed){.user = x, .deleter = delete_old};
        describe(m, x->shape, x->strides, &x->u.old.tensor);
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
    export *x = export_of((fx_array *)o, &m);
    if (!x) return NULL;
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

static PyObject *array_over(const fx_memory *m, void *stream, void *managed, bool now) {
    PyObject *owner = PyCapsule_New(managed, "fusec.dltensor", now ? give_back_now : give_back_old);
    if (!owner) return NULL;
    PyObject *r = fx_lazy_over(m, stream, owner, NULL);
    Py_DECREF(owner);
    return r;
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
    PyCapsule_SetName(capsule, now ? "used_dltensor_versioned" : "used_dltensor");
    return array_over(&m, (void *)(uintptr_t)stream, p, now);
}

/* ---- the table ----------------------------------------------------------------------------------
 *
 * It says nothing of order: who works on memory of a GPU that it shows asks for the stream, which
 * is that of our context. */

static int managed_from(void *object, dl_versioned **out) {
    fx_memory m;
    export *x = export_of(object, &m);
    if (!x) return -1;
    if (x->ctx) {
        const fusec_status s = fusec_stream(x->ctx, &x->stream);
        if (s) return finish(x), fx_raise(s), -1;
    }
    *out = managed_of(x, &m);
    return 0;
}

static int tensor_from(void *object, dl_tensor *out) {
    fx_array *a = object;
    fx_memory m;
    if (fx_lazy_memory(a, &m) <= 0) return -1;
    fusec_lazy_release(m.held); /* the caller keeps the array */
    if (!a->strides) a->strides = PyMem_Malloc(FX_MAX_RANK * sizeof *a->strides);
    if (!a->strides) return PyErr_NoMemory(), -1;
    describe(&m, (int64_t *)(uintptr_t)fusec_lazy_shape(a->lazy), a->strides, out);
    return 0;
}

static int to_object(dl_versioned *managed, void **out) {
    fx_memory m;
    void *stream = NULL;
    if (!fx_dl_memory(&managed->tensor, &m)) return -1;
    fusec_context *ctx = fx_context(m.device);
    const fusec_status s = ctx && m.device ? fusec_stream(ctx, &stream) : FUSEC_OK;
    if (s) fx_raise(s);
    *out = ctx && !s ? array_over(&m, stream, managed, true) : NULL;
    return *out ? 0 : -1;
}

static int current_stream(int32_t type, int32_t id, void **stream) {
    *stream = NULL;
    if (type != ON_CUDA) return 0;
    if (id < 0 || id >= FX_DEVICES - 1)
        return PyErr_SetString(PyExc_BufferError, "there is no such GPU"), -1;
    fusec_context *ctx = fx_context(id + 1);
    if (!ctx) return -1;
    const fusec_status s = fusec_stream(ctx, stream);
    return s ? (fx_raise(s), -1) : 0;
}

/* New memory, of nobody's value yet. */
typedef struct made {
    dl_versioned managed;
    void (*release)(void *);
    void *user;
    int64_t shape[FX_MAX_RANK], strides[FX_MAX_RANK];
} made;

static void delete_made(dl_versioned *m) {
    made *x = m->user;
    x->release(x->user);
    free(x);
}

/* What is asked for, as memory without an address; its bytes, or UINT64_MAX. */
static uint64_t wanted(const dl_tensor *like, fx_memory *m) {
    const int code = code_of(like->type), kind = like->device.type;
    const int device = kind == ON_CUDA ? like->device.id + 1 : FX_CPU;
    uint64_t bytes = code < 0 ? UINT64_MAX : fx_dtype_bytes((uint8_t)code);
    if (code < 0 || like->rank < 0 || like->rank > FX_MAX_RANK) return UINT64_MAX;
    if (kind != ON_CPU && (device < 1 || device >= FX_DEVICES || !fx.ctx[device]))
        return UINT64_MAX;
    *m = (fx_memory){
        .dtype = (uint8_t)code, .device = (uint8_t)device, .rank = like->rank, .dense = true};
    for (int i = 0; i < like->rank; i++) {
        m->shape[i] = like->shape[i];
        if (m->shape[i] < 0 || __builtin_mul_overflow(bytes, (uint64_t)m->shape[i], &bytes))
            return UINT64_MAX;
    }
    return bytes > PTRDIFF_MAX - 64 ? UINT64_MAX : bytes;
}

/* Called without the GIL, perhaps. */
static int allocate(dl_tensor *like, dl_versioned **out, void *user,
                    void (*error)(void *user, const char *kind, const char *message)) {
    fx_memory m;
    const uint64_t bytes = wanted(like, &m);
    if (bytes == UINT64_MAX) {
        error(user, "BufferError", "fusec can't make an array of this dtype and shape there");
        return -1;
    }
    made *x = calloc(1, sizeof *x);
    m.data = x ? fx_take_memory(m.device, bytes, &x->release, &x->user) : NULL;
    if (!m.data) {
        free(x);
        error(user, "MemoryError", "out of memory");
        return -1;
    }
    memcpy(x->shape, m.shape, sizeof x->shape);
    x->managed = (dl_versioned){.major = 1, .user = x, .deleter = delete_made};
    describe(&m, x->shape, x->strides, &x->managed.tensor);
    *out = &x->managed;
    return 0;
}

static const fx_exchange table = {.major = 1,
                                  .minor = 3,
                                  .allocate = allocate,
                                  .managed_from = managed_from,
                                  .to_object = to_object,
                                  .tensor_from = tensor_from,
                                  .current_stream = current_stream};

static PyMethodDef functions[] = {{"to_dlpack", to_dlpack, METH_VARARGS, NULL},
                                  {"from_dlpack", from_dlpack, METH_VARARGS, NULL},
                                  {NULL, NULL, 0, NULL}};

int fx_init_dlpack(PyObject *module) {
    PyObject *capsule = PyCapsule_New((void *)(uintptr_t)&table, "dlpack_exchange_api", NULL);
    const int bad = !capsule || PyObject_SetAttrString((PyObject *)fx.array,
                                                       "__dlpack_c_exchange_api__", capsule);
    Py_XDECREF(capsule);
    return bad ? -1 : PyModule_AddFunctions(module, functions);
}
