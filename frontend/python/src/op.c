/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* op.c - functions and operators of arrays: which dtype an operation computes in, by NumPy's rules
 * (NEP 50), and one Python function for each row of the table.
 *
 * In: Python objects. Out: new arrays. What is rare (bools where the library has none, integers
 * that no common dtype holds) goes to Python, `fx.mixed`. */
#include "frontend/python/src/fx.h"

#include <string.h>

enum { B1 = FUSEC_BOOL, I8 = FUSEC_I8, I64 = FUSEC_I64, U8 = FUSEC_U8, U64 = FUSEC_U64 };
enum { F16 = FUSEC_F16, BF16 = FUSEC_BF16, F32 = FUSEC_F32, F64 = FUSEC_F64, NONE = FX_NO_DTYPE };
enum { C64 = FUSEC_C64, C128 = FUSEC_C128 };

/* ---- dtypes -------------------------------------------------------------------------------------
 */

static bool is_float(uint8_t t) {
    return t >= F16 && t <= F64;
}
static bool is_complex(uint8_t t) {
    return t == C64 || t == C128;
}
static bool is_unsigned(uint8_t t) {
    return t >= U8 && t <= U64;
}
static bool is_signed(uint8_t t) {
    return t >= I8 && t <= I64;
}
static int log_width(uint8_t t) { /* of an integer: 0 for one byte */
    return is_signed(t) ? t - I8 : t - U8;
}

static uint8_t promote_ints(uint8_t a, uint8_t b) {
    if (is_signed(a) == is_signed(b)) return a > b ? a : b;
    const uint8_t s = is_signed(a) ? a : b, u = is_signed(a) ? b : a;
    if (log_width(s) > log_width(u)) return s;
    return log_width(u) == 3 ? F64 : (uint8_t)(I8 + log_width(u) + 1);
}

/* The float that holds integers of this dtype as NumPy sees it. */
static uint8_t float_for(uint8_t t, uint8_t narrow) {
    if (t == B1 || log_width(t) == 0) return narrow;
    return log_width(t) == 1 ? F32 : F64;
}

static uint8_t promote_complex(uint8_t a, uint8_t b) {
    if (is_complex(a) && is_complex(b)) return a > b ? a : b;
    const uint8_t c = is_complex(a) ? a : b, r = is_complex(a) ? b : a;
    const uint8_t least = is_float(r) ? r : float_for(r, F32);
    return least == F64 ? C128 : c;
}

uint8_t fx_promote(uint8_t a, uint8_t b) {
    if (a == b || b == NONE || b == B1) return a == NONE ? b : a;
    if (a == NONE || a == B1) return b;
    if (is_complex(a) || is_complex(b)) return promote_complex(a, b);
    if (!is_float(a) && !is_float(b)) return promote_ints(a, b);
    if (is_float(a) && is_float(b))
        return a < F32 && b < F32 ? F32
               : a > b            ? a
                                  : b; /* f16 with bf16: neither holds the other */
    const uint8_t f = is_float(a) ? a : b, i = is_float(a) ? b : a;
    const uint8_t least = float_for(i, f);
    return least < f ? f : least;
}

bool fx_int_fits(uint8_t t, int64_t v) {
    if (is_float(t) || is_complex(t)) return true;
    if (t == B1) return v == 0 || v == 1;
    const int bits = 8 << log_width(t);
    if (is_unsigned(t)) return v >= 0 && (bits == 64 || v >> bits == 0);
    return bits == 64 || (v >= -((int64_t)1 << (bits - 1)) && v < (int64_t)1 << (bits - 1));
}

/* ---- operands -----------------------------------------------------------------------------------
 */

static fx_array *weak_size(fx_dim *d) {
    fx_array *a = (fx_array *)fx_traced(d->trace, fusec_dim_value(d->dim));
    if (a) a->weak = 'i';
    return a;
}

/* 1: taken; 0: nothing that fusec computes with; -1: an exception. */
static int take(PyObject *o, fx_operand *p) {
    if (fx_is_array(o)) {
        p->kind = FX_ARRAY;
        p->a = (fx_array *)Py_NewRef(o);
        return 1;
    }
    if (PyFloat_CheckExact(o)) {
        p->kind = FX_FLOAT;
        p->f = PyFloat_AsDouble(o);
        return 1;
    }
    if (PyComplex_CheckExact(o)) {
        p->kind = FX_COMPLEX;
        p->f = PyComplex_RealAsDouble(o);
        p->im = PyComplex_ImagAsDouble(o);
        return 1;
    }
    if (PyBool_Check(o) || PyLong_CheckExact(o)) {
        int overflow;
        p->kind = PyBool_Check(o) ? FX_BOOL : FX_INT;
        p->i = PyLong_AsLongLongAndOverflow(o, &overflow);
        if (!overflow) return 1;
    }
    p->kind = FX_ARRAY;
    if (Py_TYPE(o) == fx.dim) return (p->a = weak_size((fx_dim *)o)) ? 1 : -1;
    PyObject *r = PyObject_CallFunctionObjArgs(fx.as_operand, o, NULL);
    if (r && fx_is_array(r)) {
        p->a = (fx_array *)r;
        return 1;
    }
    Py_XDECREF(r);
    return r ? 0 : -1;
}

static void drop(fx_operand *p, int n) {
    for (int i = 0; i < n; i++)
        if (p[i].kind == FX_ARRAY) Py_CLEAR(p[i].a);
}

/* While a thread traces, values of their own become inputs of its trace. */
static int into_trace(fx_trace *t, fx_operand *p, int n) {
    for (int i = 0; i < n; i++) {
        if (p[i].kind != FX_ARRAY || p[i].a->trace == t) continue;
        fx_array *in = fx_capture(t, p[i].a);
        if (!in) return -1;
        Py_DECREF(p[i].a);
        p[i].a = in;
    }
    return 0;
}

static char weak_kind(const fx_operand *p) {
    static const char kinds[] = {0, 'b', 'i', 'f', 'c'};
    return p->kind == FX_ARRAY ? (char)p->a->weak : kinds[p->kind];
}

static int strength(char weak) {
    return weak == 'c' ? 4 : weak == 'f' ? 3 : weak == 'i' ? 2 : weak == 'b';
}

/* The dtype of operands together; numbers have none of their own. */
static uint8_t common(const fx_operand *p, int n) {
    uint8_t t = NONE;
    char weak = 0;
    for (int i = 0; i < n; i++) {
        const char k = weak_kind(&p[i]);
        if (!k)
            t = fx_promote(t, p[i].a->dtype);
        else if (strength(k) > strength(weak))
            weak = k;
    }
    if (weak == 'c' && (t == NONE || !is_complex(t)))
        return t != NONE && is_float(t) && t != F64 ? C64 : C128;
    if (t != NONE && is_complex(t)) return t;
    if (weak == 'f' && (t == NONE || !is_float(t))) return F64;
    if (weak == 'i' && (t == NONE || t == B1)) return I64;
    return t == NONE ? B1 : t;
}

static int cast_to(fx_operand *p, int n, uint8_t t) {
    for (int i = 0; i < n; i++) {
        if (p[i].kind != FX_ARRAY || p[i].a->dtype == t) continue;
        fx_array *c = fx_build_cast(p[i].a, t);
        if (!c) return -1;
        Py_DECREF(p[i].a);
        p[i].a = c;
    }
    return 0;
}

static int to_bool(fx_trace *trace, fx_operand *p, int n) {
    for (int i = 0; i < n; i++) {
        if (p[i].kind != FX_ARRAY) {
            p[i].i = p[i].kind == FX_COMPLEX ? p[i].f != 0 || p[i].im != 0
                     : p[i].kind == FX_FLOAT ? p[i].f != 0
                                             : p[i].i != 0;
            p[i].kind = FX_BOOL;
        } else if (p[i].a->dtype != B1) {
            const fx_operand pair[2] = {p[i], {.kind = FX_INT}};
            fx_array *r = fx_build_row(trace, FX_ROW_ne, 2, pair, p[i].a->dtype);
            if (!r) return -1;
            Py_DECREF(p[i].a);
            p[i].a = r;
        }
    }
    return 0;
}

/* ---- rules --------------------------------------------------------------------------------------
 */

static bool is_row_of(int row, const int *rows, int n) {
    for (int i = 0; i < n; i++)
        if (rows[i] == row) return true;
    return false;
}

static bool ints_fit(const fx_operand *p, int n, uint8_t t) {
    for (int i = 0; i < n; i++)
        if (p[i].kind == FX_INT && !fx_int_fits(t, p[i].i)) return false;
    return true;
}

/* What becomes of bools where the library has no such operation: NumPy's choice. */
static uint8_t dtype_of_bools(int row) {
    static const int small[] = {FX_ROW_floordiv, FX_ROW_mod,    FX_ROW_fmod,          FX_ROW_pow,
                                FX_ROW_shl,      FX_ROW_square, FX_ROW_bitwise_count, FX_ROW_shr};
    return is_row_of(row, small, 8) ? I8 : B1;
}

static bool unsigned_meets_signed(const fx_operand *p) {
    uint8_t a = p[0].kind == FX_ARRAY && !p[0].a->weak ? p[0].a->dtype : NONE,
            b = p[1].kind == FX_ARRAY && !p[1].a->weak ? p[1].a->dtype : NONE;
    return (a == U64 && is_signed(b)) || (b == U64 && is_signed(a));
}

/* The float of integers for a row that takes floats: each operand by itself, as NumPy looks for a
 * loop that all can be cast to. */
static uint8_t float_of_ints(int n, const fx_operand *p, uint8_t t) {
    uint8_t f = NONE;
    for (int i = 0; i < n; i++)
        if (!weak_kind(&p[i])) f = fx_promote(f, float_for(p[i].a->dtype, F16));
    return f == NONE ? float_for(t, F16) : f;
}

/* The dtype the row computes in; NONE: Python does it. */
static uint8_t dtype_for(int row, int n, const fx_operand *p) {
    const uint8_t t = common(p, n);
    switch (fx_rows[row].rule) {
    case FX_RULE_FLOAT:
        if (is_float(t) || is_complex(t)) return t;
        return row == FX_ROW_div ? F64 : float_of_ints(n, p, t);
    case FX_RULE_COMPARE: return unsigned_meets_signed(p) || !ints_fit(p, n, t) ? NONE : t;
    case FX_RULE_ARITH: {
        static const int unchanged[] = {FX_ROW_abs,  FX_ROW_floor, FX_ROW_ceil, FX_ROW_trunc,
                                        FX_ROW_fmin, FX_ROW_fmax,  FX_ROW_clip, FX_ROW_round};
        if (t != B1) return t;
        return is_row_of(row, unchanged, 8) ? NONE : dtype_of_bools(row);
    }
    case FX_RULE_BITS: return t == B1 ? dtype_of_bools(row) : t;
    default: return t;
    }
}

static int negative_power(int row, const fx_operand *p, uint8_t t) {
    if (row != FX_ROW_pow || is_float(t) || is_complex(t) || p[1].kind != FX_INT || p[1].i >= 0)
        return 0;
    PyErr_SetString(PyExc_ValueError, "Integers to negative integer powers are not allowed.");
    return -1;
}

/* Operands as the row takes them. 1: done, 0: Python does it, -1: an exception. */
static int prepare(fx_trace *trace, int row, int n, fx_operand *p, uint8_t *t) {
    if (fx_rows[row].rule == FX_RULE_LOGIC) {
        *t = B1;
        return to_bool(trace, p, n) ? -1 : 1;
    }
    if (fx_rows[row].rule == FX_RULE_SELECT) {
        *t = common(p + 1, n - 1);
        return to_bool(trace, p, 1) || cast_to(p + 1, n - 1, *t) ? -1 : 1;
    }
    *t = dtype_for(row, n, p);
    if (*t == NONE) return 0;
    return negative_power(row, p, *t) || cast_to(p, n, *t) ? -1 : 1;
}

static PyObject *by_python(int row, int n, const fx_operand *p) {
    PyObject *args = PyTuple_New(n + 1);
    if (!args) return NULL;
    PyTuple_SetItem(args, 0, PyUnicode_FromString(fx_rows[row].name));
    for (int i = 0; i < n; i++)
        PyTuple_SetItem(args, i + 1,
                        p[i].kind == FX_ARRAY     ? Py_NewRef((PyObject *)p[i].a)
                        : p[i].kind == FX_FLOAT   ? PyFloat_FromDouble(p[i].f)
                        : p[i].kind == FX_COMPLEX ? PyComplex_FromDoubles(p[i].f, p[i].im)
                        : p[i].kind == FX_BOOL    ? PyBool_FromLong((long)p[i].i)
                                                  : PyLong_FromLongLong(p[i].i));
    PyObject *r = PyErr_Occurred() ? NULL : PyObject_Call(fx.mixed, args, NULL);
    Py_DECREF(args);
    return r;
}

/* Between numbers that are arguments of a trace the result is such a number again. */
static uint8_t weak_result(int row, int n, const fx_operand *p, uint8_t t) {
    if (fx_rows[row].rule != FX_RULE_ARITH && row != FX_ROW_div) return 0;
    for (int i = 0; i < n; i++)
        if (!weak_kind(&p[i])) return 0;
    return is_complex(t) ? 0 : is_float(t) ? 'f' : t == B1 ? 'b' : 'i';
}

static PyObject *compute(int row, int n, fx_operand *p) {
    fx_trace *trace = fx_tracing;
    uint8_t t;
    if (trace && into_trace(trace, p, n)) return NULL;
    const uint8_t weak = trace ? weak_result(row, n, p, common(p, n)) : 0;
    const int ready = prepare(trace, row, n, p, &t);
    if (ready <= 0) return ready ? NULL : by_python(row, n, p);
    fx_array *r = fx_build_row(trace, row, n, p, t);
    if (r && weak) r->weak = weak == 'i' && is_float(r->dtype) ? 'f' : weak;
    return (PyObject *)r;
}

/* NotImplemented if an operand is nothing that fusec computes with. */
PyObject *fx_row_op(int row, int n, PyObject *const *args) {
    fx_operand p[3] = {{.kind = FX_INT}, {.kind = FX_INT}, {.kind = FX_INT}};
    int ok = 1;
    for (int i = 0; i < n && ok == 1; i++) ok = take(args[i], &p[i]);
    PyObject *r = ok == 1 ? compute(row, n, p) : ok ? NULL : Py_NewRef(Py_NotImplemented);
    drop(p, n);
    return r;
}

/* ---- operators ----------------------------------------------------------------------------------
 */

#define BINARY(slot, row)                                                                          \
    static PyObject *slot(PyObject *a, PyObject *b) {                                              \
        PyObject *const args[2] = {a, b};                                                          \
        return fx_row_op(FX_ROW_##row, 2, args);                                                   \
    }
#define UNARY(slot, row)                                                                           \
    static PyObject *slot(PyObject *a) {                                                           \
        return fx_row_op(FX_ROW_##row, 1, &a);                                                     \
    }
BINARY(nb_add, add)
BINARY(nb_subtract, sub)
BINARY(nb_multiply, mul)
BINARY(nb_true_divide, div)
BINARY(nb_floor_divide, floordiv)
BINARY(nb_remainder, mod)
BINARY(nb_and, bit_and)
BINARY(nb_or, bit_or)
BINARY(nb_xor, bit_xor)
BINARY(nb_lshift, shl)
BINARY(nb_rshift, shr)
UNARY(nb_negative, neg)
UNARY(nb_absolute, abs)
UNARY(nb_invert, bit_not)

static PyObject *nb_power(PyObject *a, PyObject *b, PyObject *modulus) {
    PyObject *const args[2] = {a, b};
    if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
    return fx_row_op(FX_ROW_pow, 2, args);
}

/* a op= b gives the name a new value: with the dtype of a, which must be able to hold it. */
static int order_of_kind(uint8_t t) {
    return t == B1 ? 0 : is_unsigned(t) ? 1 : is_signed(t) ? 2 : is_float(t) ? 3 : 4;
}
static PyObject *in_place(PyObject *a, PyObject *r) {
    if (!r || !fx_is_array(r) || !fx_is_array(a) || ((fx_array *)a)->weak) return r;
    const fx_array *x = (fx_array *)a;
    fx_array *y = (fx_array *)r;
    int64_t was[FX_MAX_RANK], is[FX_MAX_RANK];
    bool grows = y->rank > x->rank;
    if (!grows && !x->trace && !y->trace && !fx_lazy_shape(x, was) && !fx_lazy_shape(y, is))
        grows = memcmp(was, is, sizeof *was * x->rank) != 0;
    if (grows) {
        Py_DECREF(r);
        return PyErr_Occurred() ? NULL
                                : fx_raise_text("shape-mismatch",
                                                "an operand of an assignment in place broadcasts "
                                                "to more elements than there are on the left");
    }
    if (y->dtype == x->dtype) return r;
    fx_array *c = NULL;
    if (order_of_kind(y->dtype) > order_of_kind(x->dtype))
        PyErr_SetString(PyExc_TypeError,
                        "an assignment in place can't turn integers into floats, or other numbers "
                        "into what the array's dtype does not hold: write x = x + y");
    else
        c = fx_build_cast(y, x->dtype);
    Py_DECREF(r);
    return (PyObject *)c;
}
#define IN_PLACE(slot)                                                                             \
    static PyObject *slot##_in_place(PyObject *a, PyObject *b) {                                   \
        return in_place(a, slot(a, b));                                                            \
    }
IN_PLACE(nb_add)
IN_PLACE(nb_subtract)
IN_PLACE(nb_multiply)
IN_PLACE(nb_true_divide)
IN_PLACE(nb_floor_divide)
IN_PLACE(nb_remainder)
IN_PLACE(nb_and)
IN_PLACE(nb_or)
IN_PLACE(nb_xor)
IN_PLACE(nb_lshift)
IN_PLACE(nb_rshift)
static PyObject *nb_power_in_place(PyObject *a, PyObject *b, PyObject *modulus) {
    return in_place(a, nb_power(a, b, modulus));
}

static PyObject *nb_positive(PyObject *a) {
    return Py_NewRef(a);
}

static PyObject *richcompare(PyObject *a, PyObject *b, int how) {
    static const int rows[] = {[Py_LT] = FX_ROW_lt, [Py_LE] = FX_ROW_le, [Py_EQ] = FX_ROW_eq,
                               [Py_NE] = FX_ROW_ne, [Py_GT] = FX_ROW_gt, [Py_GE] = FX_ROW_ge};
    PyObject *const args[2] = {a, b};
    return fx_row_op(rows[how], 2, args);
}

const PyType_Slot fx_number_slots[] = {{Py_nb_add, nb_add},
                                       {Py_nb_subtract, nb_subtract},
                                       {Py_nb_multiply, nb_multiply},
                                       {Py_nb_true_divide, nb_true_divide},
                                       {Py_nb_floor_divide, nb_floor_divide},
                                       {Py_nb_remainder, nb_remainder},
                                       {Py_nb_power, nb_power},
                                       {Py_nb_and, nb_and},
                                       {Py_nb_or, nb_or},
                                       {Py_nb_xor, nb_xor},
                                       {Py_nb_lshift, nb_lshift},
                                       {Py_nb_rshift, nb_rshift},
                                       {Py_nb_negative, nb_negative},
                                       {Py_nb_positive, nb_positive},
                                       {Py_nb_absolute, nb_absolute},
                                       {Py_nb_invert, nb_invert},
                                       {Py_nb_inplace_add, nb_add_in_place},
                                       {Py_nb_inplace_subtract, nb_subtract_in_place},
                                       {Py_nb_inplace_multiply, nb_multiply_in_place},
                                       {Py_nb_inplace_true_divide, nb_true_divide_in_place},
                                       {Py_nb_inplace_floor_divide, nb_floor_divide_in_place},
                                       {Py_nb_inplace_remainder, nb_remainder_in_place},
                                       {Py_nb_inplace_power, nb_power_in_place},
                                       {Py_nb_inplace_and, nb_and_in_place},
                                       {Py_nb_inplace_or, nb_or_in_place},
                                       {Py_nb_inplace_xor, nb_xor_in_place},
                                       {Py_nb_inplace_lshift, nb_lshift_in_place},
                                       {Py_nb_inplace_rshift, nb_rshift_in_place},
                                       {Py_tp_richcompare, richcompare},
                                       {0, NULL}};

/* ---- one function for each elementwise row ------------------------------------------------------
 */

static PyMethodDef row_functions[FX_ROWS];

/* out=, where= and dtype=: Python. */
static PyObject *with_keywords(int row, PyObject *const *args, Py_ssize_t n, PyObject *names) {
    PyObject *all = PyTuple_New(n + 1), *keywords = PyDict_New(), *r = NULL;
    PyObject *name = PyUnicode_FromString(fx_rows[row].name);
    if (all && keywords && name) {
        PyTuple_SetItem(all, 0, Py_NewRef(name));
        for (Py_ssize_t i = 0; i < n; i++) PyTuple_SetItem(all, i + 1, Py_NewRef(args[i]));
        int bad = 0;
        for (Py_ssize_t i = 0; i < PyTuple_Size(names) && !bad; i++)
            bad = PyDict_SetItem(keywords, PyTuple_GetItem(names, i), args[n + i]);
        if (!bad) r = PyObject_Call(fx.mixed, all, keywords);
    }
    Py_XDECREF(all);
    Py_XDECREF(keywords);
    Py_XDECREF(name);
    return r;
}

static PyObject *call_row(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names) {
    const int row = (int)PyLong_AsLong(self);
    if (names && PyTuple_Size(names)) return with_keywords(row, args, n, names);
    if (n != fx_rows[row].arity)
        return PyErr_Format(PyExc_TypeError,
                            "%s() takes %d positional arguments but %zd were given",
                            fx_rows[row].name, fx_rows[row].arity, n);
    PyObject *r = fx_row_op(row, (int)n, args);
    if (r != Py_NotImplemented) return r;
    Py_DECREF(r);
    for (Py_ssize_t i = 0; i < n; i++)
        if (!fx_is_array(args[i]) && !PyFloat_Check(args[i]) && !PyLong_Check(args[i]) &&
            !PyComplex_Check(args[i])) {
            PyObject *name = PyObject_GetAttrString((PyObject *)Py_TYPE(args[i]), "__name__");
            PyErr_Format(PyExc_TypeError, "%s() of %U: not an array", fx_rows[row].name, name);
            Py_XDECREF(name);
            return NULL;
        }
    return PyErr_Format(PyExc_TypeError, "%s(): not an array", fx_rows[row].name);
}

static PyObject *promote(PyObject *module, PyObject *args) {
    unsigned a, b;
    (void)module;
    if (!PyArg_ParseTuple(args, "II", &a, &b)) return NULL;
    return PyLong_FromLong(fx_promote((uint8_t)a, (uint8_t)b));
}

static PyMethodDef functions[] = {
    {"promote", promote, METH_VARARGS, "The dtype that two have in common."},
    {NULL, NULL, 0, NULL}};

int fx_init_ops(PyObject *module) {
    PyObject *rows = PyDict_New();
    if (!rows || PyModule_AddFunctions(module, functions)) return -1;
    for (int i = 0; i < FX_ROWS; i++) {
        row_functions[i] = (PyMethodDef){fx_rows[i].name, (PyCFunction)(void (*)(void))call_row,
                                         METH_FASTCALL | METH_KEYWORDS, fx_rows[i].doc};
        PyObject *number = PyLong_FromLong(i);
        PyObject *f = number && fx_rows[i].arity ? PyCFunction_New(&row_functions[i], number)
                                                 : Py_NewRef(Py_None);
        PyObject *entry = f ? Py_BuildValue("iisN", i, fx_rows[i].arity, fx_rows[i].doc, f) : NULL;
        if (!entry || PyDict_SetItemString(rows, fx_rows[i].name, entry)) return -1;
        Py_DECREF(entry);
        Py_XDECREF(number);
    }
    return PyModule_AddObjectRef(module, "rows", rows);
}
