/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* oracle_reduce.c - reductions of the oracle, by the two fixed trees of docs/semantics.md,
 * section 6.
 *
 * inner: chunks of 1024; within a chunk lane l takes the elements l, l + 128, l + 256 ... in order;
 *        the 128 lanes, then the chunks, are combined pairwise: (0,1) (2,3) ..., level by level.
 * outer: runs of 16 elements in order; the runs are combined pairwise.
 * What is missing at the end holds the start value. */
#include "tests/support/oracle.h"

#include <math.h>
#include <stdlib.h>

enum { LANES = 128, CHUNK = 1024, RUN = 16 };

typedef struct acc { /* of a part of the elements */
    fc_interval v;   /* sum, product, least, most; var: mean */
    fc_interval m2;  /* var */
    int64_t n;
} acc;

/* A reduction: its accumulator on floats by step and join (the second part comes after the first),
 * the result from n elements; on integers one step. NULL where no order can change the result,
 * which the functions at the end give. */
typedef struct reducer {
    fc_op op;
    double start;
    void (*step)(bool wide, acc *a, fc_interval x);
    void (*join)(bool wide, acc *a, const acc *b);
    fc_interval (*finish)(bool wide, const acc *a, double n);
    uint64_t (*whole)(fusec_dtype t, uint64_t a, uint64_t x);
} reducer;

static double count_value(bool wide, int64_t n) {
    return wide ? (double)n : (double)(float)n;
}

static void add(bool w, acc *a, fc_interval x) {
    a->v = fc_o_add(w, a->v, x);
}
static void add_up(bool w, acc *a, const acc *b) {
    a->v = fc_o_add(w, a->v, b->v);
}
static void multiply(bool w, acc *a, fc_interval x) {
    a->v = fc_o_mul(w, a->v, x);
}
static void multiply_up(bool w, acc *a, const acc *b) {
    a->v = fc_o_mul(w, a->v, b->v);
}

/* Mean and squared differences of one element more, after Welford; of two parts, after Chan. */
static void welford(bool w, acc *a, fc_interval x) {
    a->n++;
    fc_interval d = fc_o_sub(w, x, a->v);
    fc_interval share = fc_o_div(w, fc_o_point(1), fc_o_point(count_value(w, a->n)));
    a->v = fc_o_add(w, a->v, fc_o_mul(w, d, share));
    a->m2 = fc_o_add(w, a->m2, fc_o_mul(w, d, fc_o_sub(w, x, a->v)));
}
static void chan(bool w, acc *a, const acc *b) {
    if (b->n == 0) return;
    if (a->n == 0) {
        *a = *b;
        return;
    }
    double all = count_value(w, a->n + b->n);
    fc_interval share = fc_o_div(w, fc_o_point(count_value(w, b->n)), fc_o_point(all));
    fc_interval d = fc_o_sub(w, b->v, a->v);
    fc_interval weight = fc_o_mul(w, fc_o_point(count_value(w, a->n)), share);
    a->v = fc_o_add(w, a->v, fc_o_mul(w, d, share));
    a->m2 = fc_o_add(w, fc_o_add(w, a->m2, b->m2), fc_o_mul(w, fc_o_mul(w, d, d), weight));
    a->n += b->n;
}

static fc_interval value(bool w, const acc *a, double n) {
    (void)w, (void)n;
    return a->v;
}
static fc_interval mean(bool w, const acc *a, double n) {
    return fc_o_div(w, a->v, fc_o_point(n));
}
static fc_interval variance(bool w, const acc *a, double n) {
    return fc_o_div(w, a->m2, fc_o_point(n));
}
static fc_interval deviation(bool w, const acc *a, double n) {
    return fc_o_sqrt(w, variance(w, a, n));
}

static uint64_t whole_add(fusec_dtype t, uint64_t a, uint64_t x) {
    return (void)t, a + x;
}
static uint64_t whole_multiply(fusec_dtype t, uint64_t a, uint64_t x) {
    return (void)t, a * x;
}

static const reducer reducers[] = {
    {FC_OP_sum, 0, add, add_up, value, whole_add},
    {FC_OP_prod, 1, multiply, multiply_up, value, whole_multiply},
    {FC_OP_mean, 0, add, add_up, mean, NULL},
    {FC_OP_var, 0, welford, chan, variance, NULL},
    {FC_OP_std, 0, welford, chan, deviation, NULL},
};

static const reducer *reducer_of(fc_op op) {
    for (size_t i = 0; i < FC_COUNT(reducers); i++)
        if (reducers[i].op == op) return &reducers[i];
    return NULL;
}

static acc start(const reducer *r) {
    return (acc){.v = fc_o_point(r->start), .m2 = fc_o_point(0), .n = 0};
}

/* n is a power of two. */
static acc pairwise(const reducer *r, bool w, acc *v, int64_t n) {
    for (int64_t apart = 1; apart < n; apart *= 2)
        for (int64_t i = 0; i < n; i += 2 * apart) r->join(w, &v[i], &v[i + apart]);
    return v[0];
}

static acc chunk(const reducer *r, bool w, const fc_oval *x, int64_t n) {
    acc lane[LANES];
    for (int64_t l = 0; l < LANES; l++) {
        lane[l] = start(r);
        for (int64_t i = l; i < n && i < CHUNK; i += LANES) r->step(w, &lane[l], x[i].r);
    }
    return pairwise(r, w, lane, LANES);
}

static acc run(const reducer *r, bool w, const fc_oval *x, int64_t n) {
    acc a = start(r);
    for (int64_t i = 0; i < n && i < RUN; i++) r->step(w, &a, x[i].r);
    return a;
}

static acc tree(const reducer *r, bool w, bool inner, const fc_oval *x, int64_t n) {
    int64_t piece = inner ? CHUNK : RUN, pieces = 1;
    while (pieces * piece < n) pieces *= 2;
    acc *v = malloc((size_t)pieces * sizeof *v);
    if (!v) abort();
    for (int64_t i = 0; i < pieces; i++) {
        int64_t from = i * piece, rest = from < n ? n - from : 0;
        v[i] = rest == 0 ? start(r)
               : inner   ? chunk(r, w, x + from, rest)
                         : run(r, w, x + from, rest);
    }
    acc a = pairwise(r, w, v, pieces);
    free(v);
    return a;
}

static fc_interval real(const reducer *r, fusec_dtype t, bool inner, const fc_oval *x, int64_t n) {
    const bool w = t == FUSEC_F64;
    acc a = tree(r, w, inner, x, n);
    return r->finish(w, &a, count_value(w, n));
}

/* ---- contractions: chains of fma in runs of 256, or in the trees above ----------------------- */

enum { DOT_RUN = 256 };

static void dot_step(fc_interval *a, bool wide, const fc_oval *x, const fc_oval *y) {
    *a = fc_o_apply(FC_OP_fma, wide ? FUSEC_F64 : FUSEC_F32, x->r, y->r, *a);
}

/* Element i of a piece is in accumulator i % lanes. */
static fc_interval dot_piece(bool wide, int lanes, const fc_oval *x, const fc_oval *y, int64_t n) {
    fc_interval a[LANES];
    for (int l = 0; l < lanes; l++) a[l] = fc_o_point(0);
    for (int64_t i = 0; i < n; i++) dot_step(&a[i % lanes], wide, &x[i], &y[i]);
    for (int apart = 1; apart < lanes; apart *= 2)
        for (int l = 0; l < lanes; l += 2 * apart) a[l] = fc_o_add(wide, a[l], a[l + apart]);
    return a[0];
}

static fc_interval dot_real(bool wide, unsigned tree, const fc_oval *x, const fc_oval *y,
                            int64_t n) {
    const int64_t piece = tree == 1 ? CHUNK : tree == 2 ? DOT_RUN : RUN;
    const int lanes = tree == 1 ? LANES : 1;
    int64_t pieces = 1;
    while (pieces * piece < n) pieces *= 2;
    fc_interval *v = malloc((size_t)pieces * sizeof *v);
    if (!v) abort();
    for (int64_t i = 0; i < pieces; i++) {
        int64_t from = i * piece, rest = from < n ? n - from : 0;
        v[i] = dot_piece(wide, lanes, x + from, y + from, rest < piece ? rest : piece);
    }
    for (int64_t apart = 1; apart < pieces; apart *= 2)
        for (int64_t i = 0; i < pieces; i += 2 * apart) v[i] = fc_o_add(wide, v[i], v[i + apart]);
    fc_interval r = fc_o_add(wide, v[0], fc_o_point(0));
    free(v);
    return r;
}

/* Of 16-bit elements in the tree of its own, in the device's order (docs/semantics.md): as far from
 * the f32 order as the bounds of both allow; where sums might overflow, anything. */
static fc_interval dot_of_halves(const fc_oval *x, const fc_oval *y, int64_t n) {
    const double chunk = 4096, terms = (double)n < chunk ? (double)n : chunk;
    fc_interval r = dot_real(false, 2, x, y, n);
    double sum = 0;
    bool infinite = false;
    for (int64_t i = 0; i < n; i++) {
        const double a = fmax(fabs(x[i].r.lo), fabs(x[i].r.hi)),
                     b = fmax(fabs(y[i].r.lo), fabs(y[i].r.hi));
        const bool finite = isfinite(x[i].r.lo + x[i].r.hi + y[i].r.lo + y[i].r.hi);
        infinite |= !finite;
        if (finite) sum += a * b;
    }
    if (sum == 0 && !infinite) return r;
    const bool special = r.exact && !isfinite(r.lo);
    if (sum >= 0x1p126 || infinite != special) return fc_o_anything(false);
    if (special) return r;
    const double levels = n > 4096 ? ceil(log2((double)n / chunk)) : 0,
                 most = (terms / 8 + levels + 8 + 256 + 2) * 0x1p-23 * sum + (double)n * 0x1p-126;
    return (fc_interval){.lo = r.lo - most, .hi = r.hi + most, .nan = r.nan, .taint = r.taint};
}

/* ---- reductions that no order can change ----------------------------------------------------- */

static fc_oval exact_bits(uint64_t bits) {
    return (fc_oval){.bits = bits, .r = fc_o_point(0)};
}

static fc_oval unknown(const fc_oval *x, int64_t n) {
    fc_oval v = {.r = fc_o_anything(false)};
    for (int64_t i = 0; i < n; i++) v.r.taint = v.r.taint || (!x[i].r.exact && x[i].r.taint);
    return v;
}

static fc_oval whole(fc_op op, fusec_dtype t, const fc_oval *x, int64_t n) {
    fusec_dtype wide = fc_is_unsigned(t) ? FUSEC_U64 : FUSEC_I64;
    const reducer *r = reducer_of(op);
    bool any = op == FC_OP_any, all = op == FC_OP_all;
    uint64_t a = r ? (uint64_t)r->start : all;
    bool open = false;
    for (int64_t i = 0; i < n; i++) {
        uint64_t v = r ? fc_o_cast(t, wide, x[i].bits) : x[i].bits;
        if (!x[i].r.exact) {
            open = true;
            continue;
        }
        if ((any && v) || (all && !v)) return exact_bits(any);
        if (r) a = r->whole(wide, a, v);
        if (op == FC_OP_min) a = i ? fc_o_int_op(FC_OP_minimum, t, a, v, 0) : v;
        if (op == FC_OP_max) a = i ? fc_o_int_op(FC_OP_maximum, t, a, v, 0) : v;
    }
    return open ? unknown(x, n) : exact_bits(a);
}

/* Whether y takes the place of x, which came before it. */
static bool beats(fc_op op, fusec_dtype t, const fc_oval *x, const fc_oval *y) {
    if (!fc_is_float(t))
        return fc_o_int_op(op == FC_OP_argmax ? FC_OP_gt : FC_OP_lt, t, y->bits, x->bits, 0) != 0;
    if (isnan(x->r.lo) || isnan(y->r.lo)) return isnan(y->r.lo) && !isnan(x->r.lo);
    return op == FC_OP_argmax ? y->r.lo > x->r.lo : y->r.lo < x->r.lo;
}

/* Exact when all elements are; ranges that leave the choice open are not looked into. */
static fc_oval position(fc_op op, fusec_dtype t, const fc_oval *x, int64_t n) {
    int64_t best = 0;
    for (int64_t i = 0; i < n; i++) {
        if (!x[i].r.exact) return unknown(x, n);
        if (beats(op, t, &x[best], &x[i])) best = i;
    }
    return exact_bits((uint64_t)best);
}

static fc_interval extreme(bool max, const fc_oval *x, int64_t n) {
    fc_interval r = n ? x[0].r : fc_o_point((double)NAN);
    for (int64_t i = 1; i < n; i++) r = fc_o_minmax(max, r, x[i].r);
    return r;
}

/* What a prefix without elements holds. */
static fc_oval start_value(fc_op op, fusec_dtype t) {
    const bool least = op == FC_OP_max, most = op == FC_OP_min;
    if (fc_is_float(t) && (least || most)) {
        fc_oval v = {.r = fc_o_point(least ? -(double)INFINITY : (double)INFINITY)};
        v.bits = fc_o_bits(t, v.r.lo);
        return v;
    }
    if (t == FUSEC_BOOL || !(least || most))
        return exact_bits(op == FC_OP_prod || op == FC_OP_all || most);
    const int bits = fc_dtypes[t].bits;
    if (fc_is_unsigned(t)) return exact_bits(most ? UINT64_MAX >> (64 - bits) : 0);
    const uint64_t top = UINT64_C(1) << (bits - 1);
    return exact_bits(fc_o_cast(FUSEC_I64, t, most ? top - 1 : ~(top - 1)));
}

fc_oval fc_o_scan(fc_op op, fusec_dtype t, bool exclusive, const fc_oval *x, int64_t n) {
    const reducer *r = reducer_of(op);
    if (!n && (!r || !fc_is_float(t))) return start_value(op, t);
    if (!r || !fc_is_float(t)) return fc_o_reduce(op, t, false, x, n);
    /* the runs before that of the element by the tree of them alone, nested from the latest to the
     * earliest power of two; then the elements of its own run in order */
    const bool w = t == FUSEC_F64;
    const int64_t whole_runs = exclusive ? n / RUN : (n - 1) / RUN;
    acc last = run(r, w, x + whole_runs * RUN, n - whole_runs * RUN), before = start(r);
    bool any = false;
    for (int64_t size = 1, end = whole_runs; size <= whole_runs; size *= 2) {
        if (!(whole_runs & size)) continue;
        acc part = tree(r, w, false, x + (end - size) * RUN, size * RUN);
        end -= size;
        if (any) r->join(w, &part, &before);
        before = part;
        any = true;
    }
    if (any) r->join(w, &before, &last);
    fc_oval v = {.r = fc_o_to(t, any ? before.v : last.v)};
    if (v.r.exact) v.bits = fc_o_bits(t, v.r.lo);
    return v;
}

bool fc_o_reduce_defines(fc_op op) {
    switch (op) {
    case FC_OP_min:
    case FC_OP_max:
    case FC_OP_any:
    case FC_OP_all:
    case FC_OP_argmin:
    case FC_OP_argmax: return true;
    default: return reducer_of(op) != NULL;
    }
}

fc_oval fc_o_reduce(fc_op op, fusec_dtype t, bool inner, const fc_oval *x, int64_t n) {
    const reducer *r = reducer_of(op);
    if (op == FC_OP_argmin || op == FC_OP_argmax) return position(op, t, x, n);
    if (!fc_is_float(t)) return whole(op, t, x, n);
    fc_oval v = {.bits = 0};
    v.r = r ? real(r, t, inner, x, n) : extreme(op == FC_OP_max, x, n);
    v.r = fc_o_to(t, v.r);
    if (v.r.exact) v.bits = fc_o_bits(t, v.r.lo);
    return v;
}

fc_oval fc_o_dot(fusec_dtype t, unsigned tree, const fc_oval *x, const fc_oval *y, int64_t n) {
    if (fc_is_float(t)) {
        fc_oval v = {.bits = 0};
        v.r = fc_o_to(t, tree == 2 && fc_is_half(t) ? dot_of_halves(x, y, n)
                                                    : dot_real(t == FUSEC_F64, tree, x, y, n));
        return v;
    }
    const fusec_dtype wide = fc_is_unsigned(t) ? FUSEC_U64 : FUSEC_I64;
    uint64_t a = 0;
    for (int64_t i = 0; i < n; i++) {
        if (!x[i].r.exact) return unknown(x, n);
        if (!y[i].r.exact) return unknown(y, n);
        a += fc_o_cast(t, wide, x[i].bits) * fc_o_cast(t, wide, y[i].bits);
    }
    return exact_bits(a);
}
