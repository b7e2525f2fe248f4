/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* lazy.c - values of their own: arrays over fusec_lazy, their memory, what was borrowed.
 *
 * Ownership. An fx_array holds one reference of its fusec_lazy. Memory made here is one block that
 * the library frees through release_block; memory of Python objects is given back through a list
 * (`returned`), because the library may release it on any thread: the next call with the GIL drops
 * the references. */
#include "frontend/python/src/fx.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 2000 }; /* pending operations behind a value, after which it is computed */

int fx_op_of_row[FX_ROWS];
static int op_cast, op_broadcast, op_reshape, op_permute, op_slice, op_iota;

/* ---- memory -------------------------------------------------------------------------------------
 */

typedef struct borrowed {
    struct borrowed *next;
    PyObject *owner;
    Py_buffer view;
    bool has_view;
    int device;
    void *stream; /* of a GPU: what the owner's memory is used on next */
} borrowed;

static _Atomic(borrowed *) returned;

static void give_back(void *user) {
    borrowed *b = user;
    b->next = atomic_load(&returned);
    while (!atomic_compare_exchange_weak(&returned, &b->next, b)) {
    }
}

/* Work of ours on the memory comes before what its owner's stream does next. */
static void before_others(const borrowed *b) {
    if (b->device != FX_CPU) fusec_stream_wait(fx.ctx[b->device], b->stream, NULL);
}

static void drop_returned(void) {
    if (!atomic_load_explicit(&returned, memory_order_relaxed)) return;
    borrowed *b = atomic_exchange(&returned, NULL);
    while (b) {
        borrowed *next = b->next;
        before_others(b);
        if (b->has_view) PyBuffer_Release(&b->view);
        Py_XDECREF(b->owner);
        free(b);
        b = next;
    }
}

/* ---- arrays -------------------------------------------------------------------------------------
 */

fusec_status fx_lazy_compute(fusec_lazy *v) {
    fusec_status s;
    Py_BEGIN_ALLOW_THREADS s = fusec_lazy_eval(&v, 1, NULL, NULL);
    Py_END_ALLOW_THREADS return s;
}

/* An array that takes the reference over; NULL with an exception, also for a status. */
fx_array *fx_lazy_object(int device, fusec_status s, fusec_lazy *v) {
    if (!s && fusec_lazy_depth(v) > DEEPEST && (s = fx_lazy_compute(v))) fusec_lazy_release(v);
    if (s) return (fx_array *)fx_raise(s);
    fx_array *a = PyObject_New(fx_array, fx.array);
    if (!a) {
        fusec_lazy_release(v);
        return NULL;
    }
    a->trace = NULL;
    a->lazy = v;
    a->strides = NULL;
    a->shown = NULL;
    a->device = (uint8_t)device;
    a->value = (fusec_value){0};
    a->weak = 0;
    a->dtype = (uint8_t)fusec_lazy_dtype(v);
    a->rank = (uint8_t)fusec_lazy_rank(v);
    return a;
}

fusec_lazy *fx_lazy_hold(const fx_array *a) {
    fusec_lazy_retain(a->lazy);
    return a->lazy;
}

typedef struct fx_shown {
    struct fx_shown *next;
    fusec_lazy *value;
} fx_shown;

void fx_lazy_drop(fx_array *a) {
    while (a->shown) {
        fx_shown *next = a->shown->next;
        fusec_lazy_release(a->shown->value);
        PyMem_Free(a->shown);
        a->shown = next;
    }
    if (a->lazy) fusec_lazy_release(a->lazy);
    drop_returned();
}

int fx_lazy_shape(const fx_array *a, int64_t *shape) {
    memcpy(shape, fusec_lazy_shape(a->lazy), a->rank * sizeof *shape);
    return 0;
}

int fx_lazy_memory(fx_array *a, fx_memory *m) {
    fusec_tensor t;
    fusec_status s;
    if (a->trace) {
        PyErr_SetString(fx.value_needed, "the elements of a traced array are asked for");
        return -1;
    }
    fusec_lazy *v = fx_lazy_hold(a);
    const uint8_t device = a->device;
    s = fusec_lazy_depth(v) ? fx_lazy_compute(v) : FUSEC_OK;
    if (!s) s = fusec_lazy_tensor(v, &t);
    if (s) {
        fusec_lazy_release(v);
        return fx_raise(s), -1;
    }
    m->held = v;
    m->data = t.data;
    m->dtype = (uint8_t)t.dtype;
    m->device = t.place == FUSEC_HOST ? FX_CPU : device; /* a number is on the host */
    m->rank = t.rank;
    m->writable = false;
    m->dense = !t.strides;
    m->from = FX_FROM_ARRAY;
    for (int i = 0; i < m->rank; i++) {
        m->shape[i] = t.shape[i];
        if (t.strides) m->strides[i] = t.strides[i];
    }
    return 1;
}

int fx_host_memory(fx_array *a, fx_memory *m) {
    if (!a->trace && a->device != FX_CPU)
        return fx_wrong_device(a->device, "memory of the host is needed, and the array"), -1;
    return fx_lazy_memory(a, m);
}

PyObject *fx_lazy_empty(int device, uint8_t dtype, int rank, const int64_t *shape, void **data) {
    uint64_t bytes = fx_dtype_bytes(dtype);
    void (*release)(void *), *user;
    fusec_lazy *v = NULL;
    drop_returned();
    if (!fx_context(device)) return NULL;
    for (int i = 0; i < rank; i++)
        if (shape[i] < 0 || __builtin_mul_overflow(bytes, (uint64_t)shape[i], &bytes))
            return PyErr_NoMemory();
    if (bytes > PTRDIFF_MAX - 64) return PyErr_NoMemory();
    *data = fx_new_memory(device, bytes, &release, &user);
    if (!*data) return NULL;
    const fusec_tensor t = {.data = *data,
                            .shape = shape,
                            .rank = rank,
                            .dtype = dtype,
                            .place = device ? FUSEC_CUDA : FUSEC_HOST,
                            .device_id = device ? device - 1 : 0};
    const fusec_status s = fusec_lazy_from(fx.ctx[device], &t, release, user, &v);
    if (s) release(user);
    return (PyObject *)fx_lazy_object(device, s, v);
}

/* ---- operations ---------------------------------------------------------------------------------
 */

static fx_array *op(int device, int number, int n, fusec_lazy *const *v, const fusec_attr *attr) {
    fusec_lazy *r = NULL;
    const fusec_status s = fusec_lazy_op(fx.ctx[device], number, n, v, attr, &r);
    return fx_lazy_object(device, s, r);
}

fusec_status fx_complex_number(fusec_context *ctx, uint8_t dtype, double re, double im,
                               fusec_lazy **v) {
    const double wide[2] = {re, im};
    const float narrow[2] = {(float)re, (float)im};
    return fusec_lazy_scalar(ctx, (fusec_dtype)dtype,
                             dtype == FUSEC_C64 ? (const void *)narrow : (const void *)wide, v);
}

static fusec_status number_of(fusec_context *ctx, const fx_operand *p, uint8_t dtype,
                              fusec_lazy **v) {
    if (p->kind == FX_COMPLEX) return fx_complex_number(ctx, dtype, p->f, p->im, v);
    if (p->kind == FX_FLOAT) return fusec_lazy_number(ctx, (fusec_dtype)dtype, p->f, v);
    return fusec_lazy_integer(ctx, (fusec_dtype)dtype, p->i, v);
}

/* The device that the operands are on; arrays without axes of the CPU go with the others. */
static int device_of(int n, const fx_operand *p) {
    fx_array *arrays[3];
    int count = 0;
    for (int i = 0; i < n; i++)
        if (p[i].kind == FX_ARRAY) arrays[count++] = p[i].a;
    return count ? fx_device_of(count, arrays) : fx_new_on();
}

/* A number as a value of the dtype it is computed in. */
static fusec_status number_as(fusec_context *ctx, const fx_operand *p, uint8_t dtype,
                              fusec_lazy **v) {
    if (p->kind == FX_INT && dtype != FUSEC_BOOL && !fx_int_fits(dtype, p->i)) {
        char text[96];
        snprintf(text, sizeof text, "Python integer %lld out of bounds for %s", (long long)p->i,
                 fx_dtype_name(dtype));
        fx_raise_text("literal-range", text);
        return FUSEC_LITERAL_RANGE;
    }
    const fusec_status s = number_of(ctx, p, dtype, v);
    if (s) fx_raise(s);
    return s;
}

/* Arrays are held by their objects: no other thread of the interpreter runs before the operation
 * has its own references. */
fx_array *fx_lazy_row(int row, int n, const fx_operand *p, uint8_t dtype) {
    fusec_lazy *v[3], *numbers[3] = {NULL, NULL, NULL};
    fx_array *moved[3] = {NULL, NULL, NULL}, *r = NULL;
    const int device = device_of(n, p);
    fusec_context *ctx = device < 0 ? NULL : fx_context(device);
    if (!ctx) return NULL;
    const bool select = fx_rows[row].rule == FX_RULE_SELECT;
    bool ok = true;
    for (int i = 0; i < n && ok; i++)
        if (p[i].kind == FX_ARRAY && p[i].a->device != device)
            ok = (moved[i] = fx_scalar_on(device, p[i].a)) != NULL;
    for (int i = 0; i < n && ok; i++) {
        if (p[i].kind == FX_ARRAY) {
            v[i] = moved[i] ? moved[i]->lazy : p[i].a->lazy;
        } else {
            ok = !number_as(ctx, &p[i], select && i == 0 ? FUSEC_BOOL : dtype, &numbers[i]);
            v[i] = numbers[i];
        }
    }
    if (ok) r = op(device, fx_op_of_row[row], n, v, NULL);
    for (int i = 0; i < n; i++) {
        if (numbers[i]) fusec_lazy_release(numbers[i]);
        Py_XDECREF((PyObject *)moved[i]);
    }
    return r;
}

fx_array *fx_lazy_cast(fx_array *a, uint8_t dtype) {
    fusec_attr attr = FUSEC_ATTR_INIT;
    attr.dtype = dtype;
    return op(a->device, op_cast, 1, &a->lazy, &attr);
}

fx_array *fx_lazy_reduce(int row, fx_array *a, int naxes, const int *axes, int keepdims) {
    fusec_attr attr = FUSEC_ATTR_INIT;
    int64_t wide[FX_MAX_RANK + 1];
    for (int i = 0; i < naxes; i++) wide[i] = axes[i];
    attr.keepdims = (uint32_t)keepdims;
    attr.naxes = naxes;
    attr.axes = wide;
    return op(a->device, fx_op_of_row[row], 1, &a->lazy, &attr);
}

int fx_take_shape(PyObject *shape, int64_t *sizes) {
    const Py_ssize_t n = PyTuple_Size(shape);
    if (n > FX_MAX_RANK)
        PyErr_Format(PyExc_ValueError, "an array of %zd axes: %d is the limit", n, FX_MAX_RANK);
    for (Py_ssize_t i = 0; i < n && !PyErr_Occurred(); i++) {
        PyObject *k = PyNumber_Index(PyTuple_GetItem(shape, i));
        sizes[i] = k ? PyLong_AsLongLong(k) : -1;
        Py_XDECREF(k);
        if (!PyErr_Occurred() && sizes[i] < 0)
            PyErr_SetString(PyExc_ValueError, "negative dimensions are not allowed");
    }
    return PyErr_Occurred() ? -1 : (int)n;
}

fx_array *fx_lazy_shaped(fx_array *a, PyObject *shape, bool reshape) {
    fusec_attr attr = FUSEC_ATTR_INIT;
    int64_t sizes[FX_MAX_RANK + 1];
    attr.rank = fx_take_shape(shape, sizes);
    attr.shape = sizes;
    return attr.rank < 0 ? NULL
                         : op(a->device, reshape ? op_reshape : op_broadcast, 1, &a->lazy, &attr);
}

fx_array *fx_lazy_transpose(fx_array *a, const int *axes) {
    fusec_attr attr = FUSEC_ATTR_INIT;
    int64_t wide[FX_MAX_RANK + 1];
    for (int i = 0; i < a->rank; i++) wide[i] = axes[i];
    attr.naxes = a->rank;
    attr.axes = wide;
    return op(a->device, op_permute, 1, &a->lazy, &attr);
}

fx_array *fx_lazy_slice(fx_array *a, int axis, int64_t start, int64_t stop, int64_t step) {
    fusec_attr attr = FUSEC_ATTR_INIT;
    int64_t sizes[FX_MAX_RANK + 1], starts[FX_MAX_RANK + 1], steps[FX_MAX_RANK + 1];
    fx_lazy_shape(a, sizes);
    for (int i = 0; i < a->rank; i++) starts[i] = 0, steps[i] = 1;
    const int64_t n = sizes[axis];
    if (start == FUSEC_END) start = step > 0 ? 0 : n - 1;
    if (stop == FUSEC_END) stop = step > 0 ? n : -1;
    const int64_t span = step > 0 ? stop - start : start - stop, by = step > 0 ? step : -step;
    sizes[axis] = span <= 0 ? 0 : (span - 1) / by + 1;
    starts[axis] = sizes[axis] ? start : 0;
    steps[axis] = sizes[axis] ? step : 1;
    attr.rank = a->rank;
    attr.shape = sizes;
    attr.start = starts;
    attr.step = steps;
    return op(a->device, op_slice, 1, &a->lazy, &attr);
}

fx_array *fx_lazy_op(int number, int n, fx_array *const *a, const fusec_attr *attr) {
    fusec_lazy *v[FX_MOST_OPERANDS];
    fx_array *r = NULL;
    const int device = n ? fx_device_of(n, a) : fx_new_on();
    int i = 0;
    for (; device >= 0 && i < n; i++) {
        fx_array *moved = a[i]->device == device ? NULL : fx_scalar_on(device, a[i]);
        if (a[i]->device != device && !moved) break;
        v[i] = fx_lazy_hold(moved ? moved : a[i]);
        Py_XDECREF((PyObject *)moved);
    }
    if (device >= 0 && i == n && fx_context(device)) r = op(device, number, n, v, attr);
    while (i-- > 0) fusec_lazy_release(v[i]);
    return r;
}

/* ---- leaves -------------------------------------------------------------------------------------
 */

/* A Python number as a value of this dtype; integers that need 64 bits exactly. */
static fusec_status scalar_of(fusec_context *ctx, uint8_t dtype, PyObject *number, fusec_lazy **v) {
    if (PyLong_Check(number) && dtype < FUSEC_F16) {
        int over;
        const int64_t i = PyLong_AsLongLongAndOverflow(number, &over);
        const uint64_t u = over > 0 ? PyLong_AsUnsignedLongLong(number) : (uint64_t)i;
        if (!PyErr_Occurred() &&
            (over < 0 || (over ? dtype != FUSEC_U64 : dtype && !fx_int_fits(dtype, i))))
            PyErr_Format(PyExc_OverflowError, "Python integer %S out of bounds for %s", number,
                         fx_dtype_name(dtype));
        if (PyErr_Occurred()) return FUSEC_LITERAL_RANGE;
        return fusec_lazy_integer(ctx, (fusec_dtype)dtype, (int64_t)u, v);
    }
    if (PyComplex_Check(number) && dtype > FUSEC_F64)
        return fx_complex_number(ctx, dtype, PyComplex_RealAsDouble(number),
                                 PyComplex_ImagAsDouble(number), v);
    const double d = PyFloat_AsDouble(number);
    if (PyErr_Occurred()) return FUSEC_INVALID;
    return fusec_lazy_number(ctx, (fusec_dtype)dtype, d, v);
}

fx_array *fx_lazy_full(uint8_t dtype, PyObject *number, PyObject *shape) {
    fusec_attr attr = FUSEC_ATTR_INIT;
    int64_t sizes[FX_MAX_RANK + 1];
    fusec_lazy *v = NULL;
    const int device = fx_new_on();
    fusec_context *ctx = fx_context(device);
    if (!ctx) return NULL;
    attr.rank = fx_take_shape(shape, sizes);
    attr.shape = sizes;
    if (attr.rank < 0) return NULL;
    const fusec_status s = scalar_of(ctx, dtype, number, &v);
    if (s) return (fx_array *)fx_raise(s);
    if (!attr.rank) return fx_lazy_object(device, s, v);
    fx_array *r = op(device, op_broadcast, 1, &v, &attr);
    fusec_lazy_release(v);
    return r;
}

fx_array *fx_lazy_arange(PyObject *size) {
    fusec_attr attr = FUSEC_ATTR_INIT;
    int64_t n;
    const int device = fx_new_on();
    PyObject *shape = fx_context(device) ? PyTuple_Pack(1, size) : NULL;
    const int rank = shape ? fx_take_shape(shape, &n) : -1;
    Py_XDECREF(shape);
    attr.rank = rank;
    attr.shape = &n;
    return rank < 0 ? NULL : op(device, op_iota, 0, NULL, &attr);
}

/* ---- what comes from outside --------------------------------------------------------------------
 */

static void copy_elements(char *to, const fx_memory *m, int axis, const char *from, size_t size) {
    if (axis == m->rank) {
        memcpy(to, from, size);
        return;
    }
    size_t inner = size;
    for (int i = axis + 1; i < m->rank; i++) inner *= (size_t)m->shape[i];
    for (int64_t i = 0; i < m->shape[axis]; i++)
        copy_elements(to + (size_t)i * inner, m, axis + 1,
                      from + i * m->strides[axis] * (int64_t)size, size);
}

/* copy(object): an array on the CPU with a copy of the elements; None for memory that is not
 * understood, or elsewhere. */
static PyObject *copy(PyObject *module, PyObject *o) {
    fx_memory m;
    Py_buffer view;
    void *data;
    (void)module;
    const int ok = fx_memory_of(o, &m, &view);
    if (ok < 0) return NULL;
    if (ok && m.device != FX_CPU) fx_memory_done(&m, &view);
    if (!ok || m.device != FX_CPU) Py_RETURN_NONE;
    PyObject *r = fx_lazy_empty(FX_CPU, m.dtype, m.rank, m.shape, &data);
    size_t bytes = fx_dtype_bytes(m.dtype);
    for (int i = 0; i < m.rank; i++) bytes *= (size_t)m.shape[i];
    if (r && m.dense && bytes) memcpy(data, m.data, bytes);
    if (r && !m.dense && bytes) copy_elements(data, &m, 0, m.data, fx_dtype_bytes(m.dtype));
    fx_memory_done(&m, &view);
    return r;
}

PyObject *fx_lazy_over(const fx_memory *m, void *stream, PyObject *owner, const Py_buffer *view) {
    borrowed *b = calloc(1, sizeof *b);
    fusec_lazy *v = NULL;
    if (!b || !fx_context(m->device)) {
        if (view) PyBuffer_Release((Py_buffer *)(uintptr_t)view);
        free(b);
        return PyErr_Occurred() ? NULL : PyErr_NoMemory();
    }
    b->owner = Py_NewRef(owner);
    b->has_view = view != NULL;
    b->device = m->device;
    b->stream = stream;
    if (view) b->view = *view;
    const fusec_tensor t = fx_tensor_of(m);
    fusec_status s = FUSEC_OK; /* what the owner's stream has been given comes first */
    if (m->device != FX_CPU) s = fusec_stream_wait(fx.ctx[m->device], NULL, stream);
    if (!s) s = fusec_lazy_from(fx.ctx[m->device], &t, give_back, b, &v);
    if (s) give_back(b);
    return (PyObject *)fx_lazy_object(m->device, s, v);
}

/* borrow(object): an array over its memory; None for memory that is not understood. */
static PyObject *borrow(PyObject *module, PyObject *o) {
    fx_memory m;
    Py_buffer view;
    void *stream = NULL;
    (void)module;
    drop_returned();
    const int ok = fx_memory_of(o, &m, &view);
    if (ok < 0) return NULL;
    if (!ok) Py_RETURN_NONE;
    if (m.device != FX_CPU && m.from == FX_FROM_FOREIGN && fx_foreign_stream(o, m.device, &stream))
        return NULL;
    PyObject *r = fx_lazy_over(&m, stream, o, m.from == FX_FROM_BUFFER ? &view : NULL);
    if (m.held) fusec_lazy_release(m.held);
    return r;
}

/* pointer(address, dtype, shape, strides or None, owner, device=0, stream=0): an array over memory
 * that owner keeps. */
static PyObject *from_pointer(PyObject *module, PyObject *args) {
    fx_memory m = {0};
    unsigned long long address, stream = 0;
    int dtype, device = FX_CPU;
    PyObject *shape, *strides, *owner;
    (void)module;
    if (!PyArg_ParseTuple(args, "KiO!OO|iK", &address, &dtype, &PyTuple_Type, &shape, &strides,
                          &owner, &device, &stream))
        return NULL;
    m.rank = fx_take_shape(shape, m.shape);
    if (m.rank < 0) return NULL;
    if (dtype < 0 || dtype >= FX_DTYPES) return PyErr_Format(PyExc_TypeError, "not a dtype");
    if (device < 0 || device >= FX_DEVICES) return PyErr_Format(PyExc_ValueError, "not a device");
    if (strides != Py_None && (!PyTuple_Check(strides) || PyTuple_Size(strides) != m.rank))
        return PyErr_Format(PyExc_ValueError, "the strides are not those of %d axes", m.rank);
    m.data = (void *)(uintptr_t)address;
    m.dtype = (uint8_t)dtype;
    m.device = (uint8_t)device;
    m.dense = strides == Py_None;
    for (int i = 0; i < m.rank && !m.dense; i++)
        m.strides[i] = PyLong_AsLongLong(PyTuple_GetItem(strides, i));
    return PyErr_Occurred() ? NULL : fx_lazy_over(&m, (void *)(uintptr_t)stream, owner, NULL);
}

/* The value stays as long as the array, also when that is given another one. Takes it over. */
static bool keep_shown(fx_array *a, fusec_lazy *v) {
    fx_shown *s = a->shown && a->shown->value == v ? NULL : PyMem_Malloc(sizeof *s);
    if (s) {
        *s = (fx_shown){a->shown, v};
        a->shown = s;
        return true;
    }
    const bool there = a->shown && a->shown->value == v;
    fusec_lazy_release(v);
    if (!there) PyErr_NoMemory();
    return there;
}

/* memory(array): (address, strides in elements or None, device), computing it; the address is good
 * as long as the array. Numbers are on the host, whatever the device. */
static PyObject *memory(PyObject *module, PyObject *o) {
    fx_memory m;
    (void)module;
    if (!fx_is_array(o)) return PyErr_Format(PyExc_TypeError, "not an fx.Array");
    if (fx_lazy_memory((fx_array *)o, &m) <= 0 || !keep_shown((fx_array *)o, m.held)) return NULL;
    PyObject *strides = m.dense ? Py_NewRef(Py_None) : PyTuple_New(m.rank);
    for (int i = 0; strides && !m.dense && i < m.rank; i++)
        PyTuple_SetItem(strides, i, PyLong_FromLongLong(m.strides[i]));
    return strides
               ? Py_BuildValue("KNi", (unsigned long long)(uintptr_t)m.data, strides, (int)m.device)
               : NULL;
}

/* ---- computing ----------------------------------------------------------------------------------
 */

/* Arrays of one device that can be computed. */
static bool can_evaluate(PyObject *arrays, Py_ssize_t n) {
    int device = FX_CPU;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *o = PyTuple_GetItem(arrays, i);
        if (!fx_is_array(o)) return PyErr_SetString(PyExc_TypeError, "not an fx.Array"), false;
        const fx_array *a = (fx_array *)o;
        if (a->trace) {
            PyErr_SetString(fx.value_needed, "the elements of a traced array are asked for");
            return false;
        }
        if (i && a->device != device)
            return fx_wrong_device(a->device, "arrays are computed together, and one"), false;
        device = a->device;
    }
    return true;
}

/* evaluate(arrays): in one plan. */
static PyObject *evaluate(PyObject *module, PyObject *arrays) {
    const Py_ssize_t n = PyTuple_Size(arrays);
    (void)module;
    if (n < 0 || !can_evaluate(arrays, n)) return NULL;
    fusec_lazy *few[4], **v = few;
    if (n > 4 && !(v = PyMem_Malloc((size_t)n * sizeof *v))) return PyErr_NoMemory();
    for (Py_ssize_t i = 0; i < n; i++) v[i] = fx_lazy_hold((fx_array *)PyTuple_GetItem(arrays, i));
    fusec_status s;
    Py_BEGIN_ALLOW_THREADS s = n ? fusec_lazy_eval(v, (int)n, NULL, NULL) : FUSEC_OK;
    for (Py_ssize_t i = 0; i < n; i++) fusec_lazy_release(v[i]);
    Py_END_ALLOW_THREADS if (v != few) PyMem_Free(v);
    drop_returned();
    return s ? fx_raise(s) : Py_NewRef(Py_None);
}

/* explain(array, json): the plan that computing it takes. */
static PyObject *explain(PyObject *module, PyObject *args) {
    PyObject *o;
    int json;
    char *text = NULL;
    (void)module;
    if (!PyArg_ParseTuple(args, "Op", &o, &json)) return NULL;
    if (!fx_is_array(o) || ((fx_array *)o)->trace)
        return PyErr_Format(PyExc_TypeError, "not an fx.Array outside of a compiled function");
    fusec_context *ctx = fx.ctx[((fx_array *)o)->device];
    fusec_lazy *v = fx_lazy_hold((fx_array *)o);
    fusec_status s;
    Py_BEGIN_ALLOW_THREADS s = fusec_lazy_explain(&v, 1, json ? FUSEC_EXPLAIN_JSON : 0, &text);
    fusec_lazy_release(v);
    Py_END_ALLOW_THREADS if (s) return fx_raise(s);
    PyObject *r = PyUnicode_FromString(text);
    fusec_text_free(ctx, text);
    return r;
}

/* into(array, object): computes into the memory of a writable array of this shape and dtype. */
static PyObject *into(PyObject *module, PyObject *args) {
    PyObject *from, *to;
    fx_memory m;
    Py_buffer view;
    (void)module;
    if (!PyArg_ParseTuple(args, "OO", &from, &to)) return NULL;
    if (!fx_is_array(from) || ((fx_array *)from)->trace || fx_is_array(to))
        return PyErr_Format(PyExc_TypeError, "out must be an array that can be written");
    fx_array *a = (fx_array *)from;
    const int ok = fx_memory_of(to, &m, &view);
    if (ok < 0) return NULL;
    const bool same = ok && m.device == a->device && m.rank == a->rank && m.dtype == a->dtype &&
                      m.writable &&
                      !memcmp(m.shape, fusec_lazy_shape(a->lazy), a->rank * sizeof *m.shape);
    fusec_status s = FUSEC_OK;
    if (same) {
        const fusec_tensor t = fx_tensor_of(&m);
        fusec_lazy *v = fx_lazy_hold(a);
        Py_BEGIN_ALLOW_THREADS s = fusec_lazy_eval(&v, 1, &t, NULL);
        fusec_lazy_release(v);
        Py_END_ALLOW_THREADS
    }
    if (ok) fx_memory_done(&m, &view);
    if (s) return fx_raise(s);
    return PyBool_FromLong(same);
}

/* same(array): another object with the same value. */
static PyObject *same(PyObject *module, PyObject *o) {
    (void)module;
    if (!fx_is_array(o)) return PyErr_Format(PyExc_TypeError, "not an fx.Array");
    fx_array *a = (fx_array *)o;
    if (!a->trace) return (PyObject *)fx_lazy_object(a->device, FUSEC_OK, fx_lazy_hold(a));
    fx_array *r = (fx_array *)fx_traced(a->trace, a->value);
    if (r) r->weak = a->weak;
    return (PyObject *)r;
}

/* replace(array, other): the object gets the value of the other. */
static PyObject *replace(PyObject *module, PyObject *args) {
    PyObject *to, *from;
    (void)module;
    if (!PyArg_ParseTuple(args, "OO", &to, &from)) return NULL;
    if (!fx_is_array(to) || !fx_is_array(from))
        return PyErr_Format(PyExc_TypeError, "not an fx.Array");
    fx_array *a = (fx_array *)to, *b = (fx_array *)from, old = *a;
    if (b->lazy) fusec_lazy_retain(b->lazy);
    a->trace = (fx_trace *)Py_XNewRef((PyObject *)b->trace);
    a->lazy = b->lazy;
    a->value = b->value;
    a->device = b->device;
    a->dtype = b->dtype;
    a->rank = b->rank;
    a->weak = b->weak;
    if (old.lazy) fusec_lazy_release(old.lazy);
    Py_XDECREF((PyObject *)old.trace);
    Py_RETURN_NONE;
}

static PyObject *depth(PyObject *module, PyObject *o) {
    (void)module;
    if (!fx_is_array(o) || ((fx_array *)o)->trace) return PyLong_FromLong(0);
    return PyLong_FromLongLong(fusec_lazy_depth(((fx_array *)o)->lazy));
}

static PyMethodDef functions[] = {{"copy", copy, METH_O, NULL},
                                  {"borrow", borrow, METH_O, NULL},
                                  {"pointer", from_pointer, METH_VARARGS, NULL},
                                  {"memory", memory, METH_O, NULL},
                                  {"explain", explain, METH_VARARGS, NULL},
                                  {"evaluate", evaluate, METH_O, NULL},
                                  {"into", into, METH_VARARGS, NULL},
                                  {"depth", depth, METH_O, NULL},
                                  {"same", same, METH_O, NULL},
                                  {"replace", replace, METH_VARARGS, NULL},
                                  {NULL, NULL, 0, NULL}};

int fx_init_lazy(PyObject *module) {
    const struct {
        const char *name;
        int *number;
    } ops[] = {{"cast", &op_cast},       {"broadcast", &op_broadcast}, {"reshape", &op_reshape},
               {"permute", &op_permute}, {"slice", &op_slice},         {"iota", &op_iota}};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        *ops[i].number = fusec_op_find(ops[i].name);
    for (int i = 0; i < FX_ROWS; i++) fx_op_of_row[i] = fusec_op_find(fx_rows[i].name);
    return PyModule_AddFunctions(module, functions);
}
