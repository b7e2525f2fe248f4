/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fx.h - what the files of the Python extension share.
 *
 * The extension `fusec._core` is written against the limited API of CPython 3.11, of which it uses
 * nothing that the library of 3.10 has not, and the public C API of the library. It has what must
 * be quick: arrays with their operators and functions (array.c, op.c), traces and programs
 * (trace.c), calls of compiled functions (jit.c), memory (memory.c). Everything else is Python, in
 * frontend/python/fusec.
 *
 * An array is either a value of its own (lazy.c: a fusec_lazy) or a value of a trace, which is a
 * function that is being compiled: a fusec_value of the trace's graph. While a thread traces, every
 * array that an operation meets becomes an input of the trace.
 *
 * A device has a number: 0 is the CPU (or the interpreter), 1 + n is cuda:n. Each has a context of
 * its own, made when it is first needed; values and programs belong to one.
 *
 * Invariants: all functions are called with the GIL held, and release it around calls of the
 * library that compile, wait or move much memory. The library calls back in two places: poll
 * (module.c) takes the GIL, and the library holds no lock then (fusec.h); release functions take
 * nothing. So no thread waits for the GIL with a lock of the library, and calls with the GIL held
 * cannot wait for each other. */
#ifndef FUSEC_PYTHON_FX_H
#define FUSEC_PYTHON_FX_H

/* The limited API of 3.11 has buffers; 3.10 has the same functions, outside of its own. A
 * free-threaded build has no limited API before 3.15. */
#define PY_SSIZE_T_CLEAN
#include <patchlevel.h>
#include <pyconfig.h>
#if PY_VERSION_HEX >= 0x030B0000 && !defined(Py_GIL_DISABLED)
#define Py_LIMITED_API 0x030B0000
#endif
#include <Python.h>

#include <fusec/fusec.h>
#include <stdbool.h>

enum { FX_MAX_RANK = 32, FX_DTYPES = 15, FX_NO_DTYPE = 255, FX_MAX_ARGS = 32 };
enum { FX_MOST_OPERANDS = 64, FX_CPU = 0, FX_DEVICES = 17 };

/* What operands a row takes and what it gives; the rules of ir/ops.h. */
typedef enum fx_rule {
    FX_RULE_ARITH,
    FX_RULE_FLOAT,
    FX_RULE_ANY,
    FX_RULE_COMPARE,
    FX_RULE_TEST,
    FX_RULE_LOGIC,
    FX_RULE_BITS,
    FX_RULE_SELECT,
    FX_RULE_SUM,
    FX_RULE_KEEP,
    FX_RULE_BOOL,
    FX_RULE_INDEX,
    FX_RULE_MEAN,
    FX_RULE_OTHER
} fx_rule;

/* A row of ir/ops.def, made by `fusec_gen python`. */
typedef struct fx_row {
    const char *name;
    int arity; /* 0: a reduction */
    fx_rule rule;
    const char *doc;
} fx_row;

#define FX_ROW(name, arity, rule, doc) FX_ROW_##name,
enum {
#include <fx_rows.h>
    FX_ROWS
};
#undef FX_ROW

extern const fx_row fx_rows[FX_ROWS];

/* An input of a trace: what an argument of a call must be. */
typedef struct fx_input {
    uint8_t dtype, rank;
    char number;                 /* a Python number: 'b', 'i', 'f'; 0: an array */
    int64_t size[FX_MAX_RANK];   /* of each axis, where symbol is -1 */
    int16_t symbol[FX_MAX_RANK]; /* number of the axis's symbol, or -1 */
} fx_input;

/* The inputs of a trace and of the program made of it. Distinct symbols are distinct sizes. */
typedef struct fx_inputs {
    fx_input *at;
    int n, room, nsymbols;
    int64_t symbol[64]; /* the sizes when it was traced */
} fx_inputs;

/* A graph that is being built from Python code. */
typedef struct fx_trace {
    PyObject_HEAD fusec_graph *graph;
    fx_inputs inputs;
    PyObject *captured; /* list of (object, Array of the trace): what the function met */
    bool is_static;     /* sizes are numbers */
    uint8_t device;
} fx_trace;

typedef struct fx_array {
    PyObject_HEAD uint8_t dtype, rank;
    uint8_t weak;    /* a Python number that is an argument of the trace: 'b', 'i', 'f' */
    uint8_t device;  /* its number */
    fx_trace *trace; /* NULL: a value of its own */
    fusec_value value;
    fusec_lazy *lazy;
    int64_t *strides;       /* for whom DLPack's table shows its memory to; else NULL */
    struct fx_shown *shown; /* values whose address was given to who keeps the array alone */
} fx_array;

typedef struct fx_dim {
    PyObject_HEAD fx_trace *trace;
    fusec_dim dim;
} fx_dim;

/* The state of the module, filled by init functions. */
typedef struct fx_state {
    fusec_context *ctx[FX_DEVICES];
    uint8_t device; /* where new values are, unless the thread says otherwise */
    PyTypeObject *array, *trace, *dim, *program, *jit;
    PyObject *error;        /* Python: (status name, message) -> exception to raise */
    PyObject *as_operand;   /* Python: any object -> Array, or NotImplemented */
    PyObject *mixed;        /* Python: (row name, operands) for what the extension leaves to it */
    PyObject *size_needed;  /* exception: the number behind a Dim is asked for */
    PyObject *value_needed; /* exception: the number behind a traced value is asked for */
    PyObject *options;      /* Python: device number -> dict of what its context is made with */
    PyObject *foreign;      /* Python: object -> its memory as a tuple, or None (foreign.c) */
} fx_state;
extern fx_state fx;

/* The trace of this thread, NULL if it traces nothing. */
extern _Thread_local fx_trace *fx_tracing;

/* ---- module.c ---------------------------------------------------------------------------------
 */
PyObject *fx_raise(fusec_status s); /* fusec_message as an exception; NULL */
PyObject *fx_raise_text(const char *slug, const char *text); /* NULL */

/* ---- device.c ---------------------------------------------------------------------------------
 */
int fx_new_on(void);                   /* where this thread makes new values */
fusec_context *fx_context(int device); /* NULL with an exception */
void fx_device_name(int device, char text[24]);
PyObject *fx_wrong_device(int device, const char *what); /* NULL */
/* The one device of the operands that are arrays; -1 with an exception: there are several. */
int fx_device_of(int n, fx_array *const *a);
/* The element of an array without axes as a value on another device. */
fx_array *fx_scalar_on(int device, fx_array *a);
/* NULL without an exception, so also without the GIL */
void *fx_take_memory(int device, size_t bytes, void (**release)(void *), void **user);
/* NULL with one */
void *fx_new_memory(int device, size_t bytes, void (**release)(void *), void **user);
int fx_init_device(PyObject *module);

/* ---- array.c ----------------------------------------------------------------------------------
 */
static inline bool fx_is_array(PyObject *o) {
    return Py_TYPE(o) == fx.array;
}
PyObject *fx_traced(fx_trace *t, fusec_value v); /* new array; NULL with an exception */
PyObject *fx_shape_of(const fx_array *a);        /* tuple of int and Dim */
int fx_init_array(PyObject *module);

/* An operand: an array or a Python number. */
typedef struct fx_operand {
    enum { FX_ARRAY, FX_BOOL, FX_INT, FX_FLOAT, FX_COMPLEX } kind;
    fx_array *a; /* owned */
    int64_t i;
    double f, im; /* im: of a complex number, whose real part is f */
} fx_operand;

/* ---- build.c: one place that knows of traces and values of their own ---------------------------
 */
fx_array *fx_build_row(fx_trace *t, int row, int n, const fx_operand *ops, uint8_t dtype);
fx_array *fx_build_cast(fx_array *a, uint8_t dtype);
fusec_value fx_complex_constant(fx_trace *t, uint8_t dtype, double re, double im);

/* ---- op.c -------------------------------------------------------------------------------------
 */
uint8_t fx_promote(uint8_t a, uint8_t b); /* NumPy's table */
bool fx_int_fits(uint8_t t, int64_t v);
PyObject *fx_row_op(int row, int n, PyObject *const *args);
int fx_init_ops(PyObject *module);
extern const PyType_Slot fx_number_slots[];

/* ---- view.c -----------------------------------------------------------------------------------
 */
int fx_init_views(PyObject *module);

/* ---- trace.c ----------------------------------------------------------------------------------
 */
fx_array *fx_capture(fx_trace *t, fx_array *a); /* as an input of the trace; new reference */
/* A tuple of ints and Dims. Negative sizes are passed on only to Python. */
bool fx_take_dims(fx_trace *t, PyObject *shape, int *rank, fusec_dim *dims);
PyObject *fx_dim_object(fx_trace *t, fusec_dim d); /* int or Dim */
/* takes both over */
PyObject *fx_new_program(fusec_program *p, uint8_t device, const fx_inputs *inputs);
int fx_init_trace(PyObject *module);
void fx_symbol_name(char name[24], int k); /* of size k in the graph of a trace */

/* ---- grad.c -----------------------------------------------------------------------------------
 */
int fx_init_grad(PyObject *module);

/* ---- memory.c ---------------------------------------------------------------------------------
 */

/* The memory of an argument of a call. */
typedef struct fx_memory {
    void *data;
    int64_t shape[FX_MAX_RANK], strides[FX_MAX_RANK]; /* elements */
    uint8_t dtype, device;
    int rank;
    bool dense, writable;
    fusec_lazy *held; /* FX_FROM_ARRAY: a reference, as the object may be given another value */
    enum { FX_FROM_NUMPY, FX_FROM_ARRAY, FX_FROM_BUFFER, FX_FROM_FOREIGN } from;
} fx_memory;

static inline fusec_tensor fx_tensor_of(const fx_memory *m) {
    return (fusec_tensor){.data = m->data,
                          .shape = m->shape,
                          .strides = m->dense ? NULL : m->strides,
                          .rank = m->rank,
                          .dtype = m->dtype,
                          .place = m->device ? FUSEC_CUDA : FUSEC_HOST,
                          .device_id = m->device ? m->device - 1 : 0};
}

/* 1: filled, until fx_memory_done; 0: not an array this function knows; -1: an exception. */
int fx_memory_of(PyObject *o, fx_memory *m, Py_buffer *view);
void fx_memory_done(fx_memory *m, Py_buffer *view);
PyObject *fx_new_numpy(uint8_t dtype, int rank, const int64_t *shape, void **data);
PyObject *fx_numpy_result(PyObject *array); /* a scalar for one without axes; takes the reference */
int fx_kind_of(PyObject *o); /* 1: NumPy's array, 2: ours, 3: of others (foreign.c) */
size_t fx_dtype_bytes(uint8_t t);
const char *fx_dtype_name(uint8_t t); /* "float32" */
PyObject *fx_shape_tuple(int rank, const int64_t *shape);
int fx_get_buffer(PyObject *self, Py_buffer *v, int flags);
void fx_release_buffer(PyObject *self, Py_buffer *v);
int fx_init_memory(PyObject *module);

/* ---- foreign.c --------------------------------------------------------------------------------
 */
bool fx_is_foreign(PyObject *o);
/* As fx_memory_of. is_new: fx_foreign_empty made it, nobody else has seen it. */
int fx_foreign_memory(PyObject *o, fx_memory *m, bool is_new);
/* strides: NULL for a dense one. *arguments: what such a call took the last time, or NULL; kept by
 * the caller as long as all but the device stay the same. */
PyObject *fx_foreign_empty(PyObject *like, int device, uint8_t dtype, int rank,
                           const int64_t *shape, const int64_t *strides, PyObject **arguments);
/* Of the library of o, on its device; -1 with an exception. */
int fx_foreign_stream(PyObject *o, int device, void **stream);
int fx_init_foreign(PyObject *module);

/* ---- dlpack.c ---------------------------------------------------------------------------------
 */
typedef struct fx_dl_type {
    uint8_t code, bits;
    uint16_t lanes;
} fx_dl_type;
/* DLTensor of the specification. */
typedef struct fx_dl_tensor {
    void *data;
    struct {
        int32_t type, id;
    } device;
    int32_t rank;
    fx_dl_type type;
    int64_t *shape, *strides;
    uint64_t offset;
} fx_dl_tensor;
typedef struct fx_dl_managed {
    uint32_t major, minor;
    void *user;
    void (*deleter)(struct fx_dl_managed *);
    uint64_t flags;
    fx_dl_tensor tensor;
} fx_dl_managed;
/* DLPackExchangeAPI of the specification, 1.x: what a type of arrays can be asked without Python.
 * All but the allocator are called with the GIL; 0 is success, else there is an exception. */
typedef struct fx_exchange {
    uint32_t major, minor;
    const struct fx_exchange *older;
    int (*allocate)(fx_dl_tensor *like, fx_dl_managed **out, void *user,
                    void (*error)(void *user, const char *kind, const char *message));
    int (*managed_from)(void *object, fx_dl_managed **out);
    int (*to_object)(fx_dl_managed *m, void **out); /* takes it over */
    int (*tensor_from)(void *object, fx_dl_tensor *out);
    int (*current_stream)(int32_t device_type, int32_t device, void **stream);
} fx_exchange;
int fx_dl_memory(const fx_dl_tensor *t, fx_memory *m); /* read-only; 0: an exception */
int fx_init_dlpack(PyObject *module);

/* ---- lazy.c: values of their own ---------------------------------------------------------------
 */
extern int fx_op_of_row[FX_ROWS]; /* numbers of the library */
fusec_status fx_complex_number(fusec_context *ctx, uint8_t dtype, double re, double im,
                               fusec_lazy **v);
fx_array *fx_lazy_row(int row, int n, const fx_operand *p, uint8_t dtype);
fx_array *fx_lazy_cast(fx_array *a, uint8_t dtype);
fx_array *fx_lazy_reduce(int row, fx_array *a, int naxes, const int *axes, int keepdims);
int fx_take_shape(PyObject *shape, int64_t *sizes); /* rank, or -1 with an exception */
fx_array *fx_lazy_shaped(fx_array *a, PyObject *shape, bool reshape);
fx_array *fx_lazy_transpose(fx_array *a, const int *axes);
fx_array *fx_lazy_slice(fx_array *a, int axis, int64_t start, int64_t stop, int64_t step);
fx_array *fx_lazy_op(int op, int n, fx_array *const *a, const fusec_attr *attr);
fx_array *fx_lazy_full(uint8_t dtype, PyObject *number, PyObject *shape);
fx_array *fx_lazy_arange(PyObject *size);
PyObject *fx_lazy_empty(int device, uint8_t dtype, int rank, const int64_t *shape, void **data);
fx_array *fx_lazy_object(int device, fusec_status s,
                         fusec_lazy *v); /* takes v over; NULL: exception */
fusec_status fx_lazy_compute(fusec_lazy *v);
/* The value of an array, retained: while the GIL is released other threads may give the object
 * another one. */
fusec_lazy *fx_lazy_hold(const fx_array *a);
int fx_lazy_shape(const fx_array *a, int64_t *shape); /* -1 with an exception */
int fx_lazy_memory(fx_array *a, fx_memory *m);        /* as fx_memory_of, computing it */
int fx_host_memory(fx_array *a, fx_memory *m); /* the same; an array elsewhere is an exception */
/* An array over memory that `owner` keeps, or the buffer. Takes both over. */
PyObject *fx_lazy_over(const fx_memory *m, void *stream, PyObject *owner, const Py_buffer *view);
void fx_lazy_drop(fx_array *a);
int fx_init_lazy(PyObject *module);

/* ---- program.c --------------------------------------------------------------------------------
 */
typedef struct fx_program {
    PyObject_HEAD fusec_program *program;
    fx_inputs inputs;
    uint8_t device;
    int noutputs, nsizes;
    uint8_t *dtypes, *ranks; /* of the outputs */
    int64_t *sizes;          /* of all outputs, at the last call */
    int64_t last[64];        /* the symbols of that call */
    bool has_last;
    PyObject **made;    /* of each output: what another library's array was made with (foreign.c) */
    PyObject *promised; /* of each output (shape, strides) or None: strides of new arrays */
} fx_program;
/* With `inputs.n` arguments and room for `noutputs` results. 1: done, results are new references;
 * 0: the arguments do not fit; -1: an exception. `outs`: NULL, or what results are written to;
 * `kind`: of new ones, as fx_kind_of; `like`: an array of that kind. */
int fx_call_program(fx_program *p, PyObject *const *args, PyObject *const *outs, int kind,
                    PyObject *like, PyObject **results);
/* The library's program of a fusec._core.Program, and what its inputs must be. */
fusec_program *fx_program_of(PyObject *program, const fx_inputs **inputs);
int fx_init_program(PyObject *module);

/* ---- jit.c ------------------------------------------------------------------------------------
 */
int fx_init_jit(PyObject *module);

/* ---- pieces.c ---------------------------------------------------------------------------------
 */
int fx_init_pieces(PyObject *module);

#endif
