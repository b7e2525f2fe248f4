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

typedef struct reducer {
    fc_op op;
    bool wide;
} reducer;

static bool is_var(fc_op op) {
    return op == FC_OP_var || op == FC_OP_std;
}

static double count_value(bool wide, int64_t n) {
    return wide ? (double)n : (double)(float)n;
}

static acc start(const reducer *r) {
    double v = r->op == FC_OP_prod ? 1 : 0;
    return (acc){.v = fc_o_point(v), .m2 = fc_o_point(0), .n = 0};
}

static void step(const reducer *r, acc *a, fc_interval x) {
    bool w = r->wide;
    a->n++;
    if (is_var(r->op)) { /* Welford */
        fc_interval d = fc_o_sub(w, x, a->v);
        fc_interval share = fc_o_div(w, fc_o_point(1), fc_o_point(count_value(w, a->n)));
        a->v = fc_o_add(w, a->v, fc_o_mul(w, d, share));
        a->m2 = fc_o_add(w, a->m2, fc_o_mul(w, d, fc_o_sub(w, x, a->v)));
        return;
    }
    a->v = r->op == FC_OP_prod ? fc_o_mul(w, a->v, x) : fc_o_add(w, a->v, x);
}

/* b comes after a. */
static void combine(const reducer *r, acc *a, const acc *b) {
    bool w = r->wide;
    if (!is_var(r->op)) {
        a->v = r->op == FC_OP_prod ? fc_o_mul(w, a->v, b->v) : fc_o_add(w, a->v, b->v);
        return;
    }
    if (b->n == 0) return; /* Chan */
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

/* n is a power of two. */
static acc pairwise(const reducer *r, acc *v, int64_t n) {
    for (int64_t apart = 1; apart < n; apart *= 2)
        for (int64_t i = 0; i < n; i += 2 * apart) combine(r, &v[i], &v[i + apart]);
    return v[0];
}

static acc chunk(const reducer *r, const fc_oval *x, int64_t n) {
    acc lane[LANES];
    for (int64_t l = 0; l < LANES; l++) {
        lane[l] = start(r);
        for (int64_t i = l; i < n && i < CHUNK; i += LANES) step(r, &lane[l], x[i].r);
    }
    return pairwise(r, lane, LANES);
}

static acc run(const reducer *r, const fc_oval *x, int64_t n) {
    acc a = start(r);
    for (int64_t i = 0; i < n && i < RUN; i++) step(r, &a, x[i].r);
    return a;
}

static acc tree(const reducer *r, bool inner, const fc_oval *x, int64_t n) {
    int64_t piece = inner ? CHUNK : RUN, pieces = 1;
    while (pieces * piece < n) pieces *= 2;
    acc *v = malloc((size_t)pieces * sizeof *v);
    if (!v) abort();
    for (int64_t i = 0; i < pieces; i++) {
        int64_t from = i * piece, rest = from < n ? n - from : 0;
        v[i] = rest == 0 ? start(r) : inner ? chunk(r, x + from, rest) : run(r, x + from, rest);
    }
    acc a = pairwise(r, v, pieces);
    free(v);
    return a;
}

static fc_interval real(fc_op op, fusec_dtype t, bool inner, const fc_oval *x, int64_t n) {
    reducer r = {op, t == FUSEC_F64};
    acc a = tree(&r, inner, x, n);
    if (op == FC_OP_sum || op == FC_OP_prod) return a.v;
    fc_interval mean =
        fc_o_div(r.wide, is_var(op) ? a.m2 : a.v, fc_o_point(count_value(r.wide, n)));
    return op == FC_OP_std ? fc_o_sqrt(r.wide, mean) : mean;
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
    bool any = op == FC_OP_any, all = op == FC_OP_all, sum = op == FC_OP_sum || op == FC_OP_prod;
    uint64_t a = op == FC_OP_prod || all;
    bool open = false;
    for (int64_t i = 0; i < n; i++) {
        uint64_t v = sum ? fc_o_cast(t, wide, x[i].bits) : x[i].bits;
        if (!x[i].r.exact) {
            open = true;
            continue;
        }
        if ((any && v) || (all && !v)) return exact_bits(any);
        if (op == FC_OP_sum) a += v;
        if (op == FC_OP_prod) a *= v;
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

fc_oval fc_o_reduce(fc_op op, fusec_dtype t, bool inner, const fc_oval *x, int64_t n) {
    if (op == FC_OP_argmin || op == FC_OP_argmax) return position(op, t, x, n);
    if (!fc_is_float(t)) return whole(op, t, x, n);
    fc_oval v = {.bits = 0};
    v.r = op == FC_OP_min || op == FC_OP_max ? extreme(op == FC_OP_max, x, n)
                                             : real(op, t, inner, x, n);
    v.r = fc_o_to(t, v.r);
    return v;
}
