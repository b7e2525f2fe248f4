/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* ranges.c - checks of indices that need not be made.
 *
 * In: any graph. Out: the same values. A CHECK whose index is proved to be inside goes, and the
 * TAKE that it was for knows it (FC_NODE_INSIDE). The policies of --bounds are done here, too:
 * `clamp` makes ordinary rows of a check, `off` nothing.
 *
 * The proof: each i64 value has an interval whose ends are sizes, worked out from its operands. Of
 * two ends that do not compare one is dropped: what is lost is a proof, never an index. Sums and
 * products wrap around, so their ends are those of a number that is the value modulo 2^64; it is
 * the value itself where the ends fit into 64 bits, and what compares or divides wants that. */
#include "passes/rewrite.h"

#include "ir/code.h"
#include "passes/plan.h"

/* Ends that are known; FC_DIM_NONE: not. An array without elements has any. */
typedef struct range {
    fc_dim lo, hi;
    bool wraps; /* they may not fit into 64 bits, and the value may have wrapped around */
} range;

typedef struct ranges {
    fc_graph *g;    /* the new one */
    fc_dimtab dims; /* of ends. They are no sizes of the graph: they may leave 64 bits */
    size_t shared;  /* symbols that both tables have under one number */
    size_t sizes;   /* forms: those of the graph come first, and fit into 64 bits where it runs */
    range *of;      /* of its nodes */
} ranges;

static const range unknown = {FC_DIM_NONE, FC_DIM_NONE, false};

/* ---- ends ------------------------------------------------------------------------------------ */

/* Whether d >= 0 whatever the sizes are. */
static bool never_negative(const ranges *r, fc_dim d) {
    const fc_form *f = &r->dims.forms.at[d];
    for (uint32_t i = 0; i < f->nterms; i++)
        if (f->terms[i].coef < 0 || r->dims.syms.at[f->terms[i].sym].kind != FC_SYM_NAMED)
            return false;
    return f->c >= 0;
}

/* A size of the graph as an end; one with a newer opaque term is not known. */
static fc_dim end_of(ranges *r, fc_dim size) {
    const fc_form f = r->g->dims.forms.at[size];
    for (uint32_t i = 0; i < f.nterms; i++)
        if (f.terms[i].sym >= r->shared) return FC_DIM_NONE;
    return fc_dim_form(&r->dims, f.c, f.terms, f.nterms);
}

static fc_dim number(ranges *r, int64_t v) {
    return fc_dim_const(&r->dims, v);
}

static fc_dim plus(ranges *r, fc_dim a, fc_dim b) {
    return a == FC_DIM_NONE || b == FC_DIM_NONE ? FC_DIM_NONE : fc_dim_add(&r->dims, a, b);
}

static fc_dim minus(ranges *r, fc_dim a, fc_dim b) {
    return a == FC_DIM_NONE || b == FC_DIM_NONE ? FC_DIM_NONE : fc_dim_sub(&r->dims, a, b);
}

/* The smaller of two ends; where that is open FC_DIM_NONE. */
static fc_dim smaller(ranges *r, fc_dim a, fc_dim b) {
    if (a == FC_DIM_NONE || b == FC_DIM_NONE) return FC_DIM_NONE;
    const fc_dim less = fc_dim_sub(&r->dims, b, a);
    if (less != FC_DIM_NONE && never_negative(r, less)) return a;
    const fc_dim more = fc_dim_sub(&r->dims, a, b);
    return more != FC_DIM_NONE && never_negative(r, more) ? b : FC_DIM_NONE;
}

static fc_dim larger(ranges *r, fc_dim a, fc_dim b) {
    const fc_dim s = smaller(r, a, b);
    return s == FC_DIM_NONE ? FC_DIM_NONE : s == a ? b : a;
}

/* Either end is a bound: the better one, or any. */
static fc_dim either(fc_dim better, fc_dim a, fc_dim b) {
    return a == FC_DIM_NONE ? b : b == FC_DIM_NONE || better == FC_DIM_NONE ? a : better;
}

static range both(ranges *r, range a, range b) {
    return (range){smaller(r, a.lo, b.lo), larger(r, a.hi, b.hi), a.wraps || b.wraps};
}

static bool is_size(ranges *r, const fc_form *f, int64_t c) {
    return fc_dim_form(&r->dims, c, f->terms, f->nterms) < r->sizes;
}

/* Whether d fits into 64 bits whatever the sizes are that the program runs with: it is one of them,
 * or lies between 0 or a number and one. */
static bool fits(ranges *r, fc_dim d) {
    if (d == FC_DIM_NONE) return false;
    const fc_form f = r->dims.forms.at[d];
    if (!f.nterms || d < r->sizes) return true;
    for (uint32_t i = 0; i < f.nterms; i++)
        if (f.terms[i].coef < 0 || r->dims.syms.at[f.terms[i].sym].kind != FC_SYM_NAMED)
            return false;
    return (f.c < INT64_MAX && is_size(r, &f, f.c + 1)) || (f.c <= 0 && is_size(r, &f, 0));
}

/* Of arithmetic modulo 2^64. */
static range modulo(ranges *r, fc_dim lo, fc_dim hi) {
    return (range){lo, hi, !fits(r, lo) || !fits(r, hi)};
}

/* What is known of the value itself. */
static range itself(range x) {
    return x.wraps ? unknown : x;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static bool constant(const ranges *r, fc_node n, int64_t *v) {
    const fc_graph *g = r->g;
    while (fc_at(g, n)->op == FC_OP_BROADCAST || fc_at(g, n)->op == FC_OP_RESHAPE)
        n = fc_at(g, n)->src[0];
    const fc_ninfo *i = fc_at(g, n);
    if (i->op != FC_OP_CONST || !fc_is_int((fusec_dtype)i->dtype)) return false;
    *v = (int64_t)fc_const_value((fusec_dtype)i->dtype, i->attr);
    return true;
}

static range scaled(ranges *r, range a, int64_t by) {
    const fc_dim k = number(r, by);
    const fc_dim x = a.lo == FC_DIM_NONE ? a.lo : fc_dim_mul(&r->dims, a.lo, k);
    const fc_dim y = a.hi == FC_DIM_NONE ? a.hi : fc_dim_mul(&r->dims, a.hi, k);
    return by < 0 ? modulo(r, y, x) : modulo(r, x, y);
}

/* floor(d / by), by > 0. */
static fc_dim divided(ranges *r, fc_dim d, int64_t by) {
    return d == FC_DIM_NONE ? d : fc_dim_floordiv(&r->dims, d, number(r, by));
}

static range least(ranges *r, range a, range b) {
    return (range){smaller(r, a.lo, b.lo), either(smaller(r, a.hi, b.hi), a.hi, b.hi), false};
}

static range largest(ranges *r, range a, range b) {
    return (range){either(larger(r, a.lo, b.lo), a.lo, b.lo), larger(r, a.hi, b.hi), false};
}

static range of_row(ranges *r, const fc_ninfo *i) {
    const range a = r->of[i->src[0]], b = i->nops > 1 ? r->of[i->src[1]] : unknown;
    int64_t v;
    switch (i->op) {
    case FC_OP_add: return modulo(r, plus(r, a.lo, b.lo), plus(r, a.hi, b.hi));
    case FC_OP_sub: return modulo(r, minus(r, a.lo, b.hi), minus(r, a.hi, b.lo));
    case FC_OP_neg: return scaled(r, a, -1);
    case FC_OP_mul:
        if (constant(r, i->src[1], &v)) return scaled(r, a, v);
        return constant(r, i->src[0], &v) ? scaled(r, b, v) : unknown;
    case FC_OP_minimum: return least(r, itself(a), itself(b));
    case FC_OP_maximum: return largest(r, itself(a), itself(b));
    case FC_OP_clip: return least(r, largest(r, itself(a), itself(b)), itself(r->of[i->src[2]]));
    case FC_OP_mod:
        if (!constant(r, i->src[1], &v) || v <= 0) return unknown;
        return (range){number(r, 0), number(r, v - 1), false};
    case FC_OP_floordiv: {
        if (!constant(r, i->src[1], &v) || v <= 0) return unknown;
        const range x = itself(a);
        return (range){divided(r, x.lo, v), divided(r, x.hi, v), false};
    }
    case FC_OP_shr: {
        if (!constant(r, i->src[1], &v) || v < 0 || v > 62) return unknown;
        const range x = itself(a);
        return (range){divided(r, x.lo, INT64_C(1) << v), divided(r, x.hi, INT64_C(1) << v), false};
    }
    case FC_OP_bit_and:
        if (!constant(r, i->src[1], &v) && !constant(r, i->src[0], &v)) return unknown;
        return v < 0 ? unknown : (range){number(r, 0), number(r, v), false};
    case FC_OP_where: {
        const range x = r->of[i->src[1]];
        int64_t none;
        /* what is never negative is at least 0 at its upper end, wherever it has an element */
        if (constant(r, i->src[2], &none) && none == 0 && !x.wraps && x.lo != FC_DIM_NONE &&
            never_negative(r, x.lo))
            return (range){number(r, 0), x.hi, false};
        return both(r, x, r->of[i->src[2]]);
    }
    default: return unknown;
    }
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* What every value of a small dtype is within. */
static range of_dtype(ranges *r, fusec_dtype t) {
    const unsigned bits = fc_dtypes[t].bits;
    if (!fc_is_int(t) || t == FUSEC_BOOL || bits > 32) return unknown;
    if (fc_is_unsigned(t)) return (range){number(r, 0), number(r, (INT64_C(1) << bits) - 1), false};
    return (range){number(r, -(INT64_C(1) << (bits - 1))),
                   number(r, (INT64_C(1) << (bits - 1)) - 1), false};
}

static range of_reduction(ranges *r, const fc_ninfo *i) {
    const fc_list axes = (fc_list)i->attr;
    if (i->op == FC_OP_min || i->op == FC_OP_max) return itself(r->of[i->src[0]]);
    if ((i->op != FC_OP_argmin && i->op != FC_OP_argmax) || fc_list_len(r->g, axes) != 1)
        return unknown;
    const fc_dim n = end_of(r, fc_axis(r->g, i->src[0], (uint32_t)fc_list_at(r->g, axes)[0]));
    return (range){number(r, 0), minus(r, n, number(r, 1)), false};
}

static range find(ranges *r, fc_node n) {
    const fc_ninfo i = *fc_at(r->g, n);
    const fusec_dtype t = (fusec_dtype)i.dtype;
    int64_t v;
    if (!fc_is_int(t) || t == FUSEC_BOOL) return unknown;
    switch (i.op) {
    case FC_OP_CONST:
        return constant(r, n, &v) ? (range){number(r, v), number(r, v), false} : unknown;
    case FC_OP_DIM: {
        const fc_dim size = end_of(r, (fc_dim)i.attr);
        return (range){size, size, false};
    }
    case FC_OP_IOTA: {
        const fc_dim size = end_of(r, fc_axis(r->g, n, (uint32_t)i.attr));
        return (range){number(r, 0), minus(r, size, number(r, 1)), false};
    }
    case FC_OP_CAST: {
        const fusec_dtype from = (fusec_dtype)fc_at(r->g, i.src[0])->dtype;
        return fc_is_int(from) && t == FUSEC_I64 ? r->of[i.src[0]] : of_dtype(r, t);
    }
    case FC_OP_BROADCAST:
    case FC_OP_PERMUTE:
    case FC_OP_SLICE:
    case FC_OP_RESHAPE:
    case FC_OP_MATERIALIZE: return r->of[i.src[0]];
    case FC_OP_VIEW: /* or the 0 at its edge */
    case FC_OP_TAKE: return both(r, r->of[i.src[0]], (range){number(r, 0), number(r, 0), false});
    case FC_OP_CHECK: return r->of[i.src[0]]; /* where it fails the value is 0, inside or not */
    default: break;
    }
    if (fc_is_reduction(i.op) && t == FUSEC_I64) return of_reduction(r, &i);
    return fc_is_elementwise(i.op) && t == FUSEC_I64 ? of_row(r, &i) : of_dtype(r, t);
}

static bool is_inside(ranges *r, range x, fc_dim size) {
    if (x.lo == FC_DIM_NONE || x.hi == FC_DIM_NONE || !never_negative(r, x.lo)) return false;
    const fc_dim room = minus(r, minus(r, end_of(r, size), number(r, 1)), x.hi);
    return room != FC_DIM_NONE && never_negative(r, room);
}

/* ---- the pass -------------------------------------------------------------------------------- */

static fc_node clamped(fc_graph *g, fc_node index, fc_dim size) {
    const fc_node last = fc_build_dim(g, fc_dim_sub(&g->dims, size, fc_dim_const(&g->dims, 1)));
    const fc_node low = fc_op2(g, FC_OP_minimum, index, last);
    return fc_op2(g, FC_OP_maximum, low, fc_i64(g, 0));
}

/* The node in the new graph. A take behind a check that goes knows that it is inside. */
static fc_node rewritten(ranges *r, const fc_graph *src, fc_node n, const fc_node *map,
                         uint32_t mode) {
    fc_ninfo i = fc_rewrite_info(src, n, map);
    if (i.op == FC_OP_CHECK) {
        const fc_dim size = fc_check_size(src, fc_at(src, n));
        if (mode & FC_MODE_UNCHECKED || is_inside(r, r->of[i.src[0]], size)) return i.src[0];
        if (mode & FC_MODE_CLAMP) return clamped(r->g, i.src[0], size);
    }
    if (i.op == FC_OP_TAKE || i.op == FC_OP_SCATTER) {
        const fc_ninfo *index = fc_at(src, fc_at(src, n)->src[1]);
        /* a check may stand below views of the index */
        while (fc_is_view(index->op) && index->op != FC_OP_VIEW) index = fc_at(src, index->src[0]);
        const fc_dim size = fc_axis(src, fc_at(src, n)->src[0], fc_computed_axis(&i));
        const bool off = mode & FC_MODE_UNCHECKED && index->op == FC_OP_CHECK;
        if (off || is_inside(r, r->of[i.src[1]], size)) i.flags |= FC_NODE_INSIDE;
    }
    if (i.op == FC_OP_INPUT) return fc_rewrite_node(src, r->g, n, map);
    return fc_graph_node(r->g, i);
}

static bool walk(const fc_graph *src, fc_graph *dst, const uint8_t *live, fc_node *map,
                 const void *options) {
    const uint32_t mode = ((const fc_pass_options *)options)->mode;
    FC_VEC(range) of = {0};
    ranges r = {.g = dst};
    fc_dimtab_init(&r.dims, dst->alloc);
    bool ok = fc_dimtab_copy(&r.dims, &dst->dims);
    r.shared = r.dims.syms.len;
    r.sizes = r.dims.forms.len;
    for (fc_node n = 0; ok && n < src->nodes.len && !dst->error.code; n++) {
        map[n] = live[n] ? rewritten(&r, src, n, map, mode) : FC_NONODE;
        while (ok && of.len < dst->nodes.len) {
            r.of = of.at;
            const range x = find(&r, (fc_node)of.len);
            ok = fc_push(dst->alloc, &of, x);
        }
        r.of = of.at;
    }
    fc_vec_free(dst->alloc, &of);
    ok = ok && !r.dims.oom;
    fc_dimtab_free(&r.dims);
    return ok;
}

fusec_status fc_pass_ranges(const fc_graph *src, const fc_pass_options *o, fc_graph *dst,
                            fc_error *e) {
    return fc_rewrite_by(src, dst, walk, o, e);
}
