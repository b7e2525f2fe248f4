/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* oracle.c - walks a graph node by node: sizes, views, and the elements of every node. */
#include "ir/fold.h"
#include "tests/support/oracle.h"

#include "ir/loop.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

static void *take(size_t n, size_t size) {
    void *p = calloc(n ? n : 1, size);
    if (!p) abort();
    return p;
}

/* ---- sizes ----------------------------------------------------------------------------------- */

static int64_t down(int64_t a, int64_t b) {
    int64_t q = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

/* Operands of a symbol have smaller ids than the dims that use it. */
static void eval_sizes(const fc_dimtab *t, const int64_t *syms, int64_t *sizes) {
    for (size_t d = 0; d < t->forms.len; d++) {
        const fc_form *f = &t->forms.at[d];
        sizes[d] = f->c;
        for (uint32_t i = 0; i < f->nterms; i++) {
            const fc_sym *s = &t->syms.at[f->terms[i].sym];
            int64_t a = sizes[s->a], b = sizes[s->b], v;
            switch (s->kind) {
            case FC_SYM_NAMED: v = syms[f->terms[i].sym]; break;
            case FC_SYM_MUL: v = a * b; break;
            case FC_SYM_FLOORDIV: v = down(a, b); break;
            default: v = a - down(a, b) * b;
            }
            sizes[d] += f->terms[i].coef * v;
        }
    }
}

/* ---- storage --------------------------------------------------------------------------------- */

uint64_t fc_oracle_load(fusec_dtype t, const void *data, int64_t i) {
    uint64_t bits = 0;
    memcpy(&bits, (const char *)data + (size_t)i * fc_dtypes[t].bytes, fc_dtypes[t].bytes);
    return bits;
}

void fc_oracle_store(fusec_dtype t, void *data, int64_t i, uint64_t bits) {
    memcpy((char *)data + (size_t)i * fc_dtypes[t].bytes, &bits, fc_dtypes[t].bytes);
}

static fc_oval from_bits(fusec_dtype t, uint64_t bits) {
    return (fc_oval){.bits = bits, .r = fc_o_point(fc_is_float(t) ? fc_o_value(t, bits) : 0)};
}

static fc_oval from_range(fusec_dtype t, fc_interval r) {
    return (fc_oval){.bits = r.exact ? fc_o_bits(t, r.lo) : 0, .r = r};
}

static fc_oval open_value(bool taint) {
    return (fc_oval){.r = fc_o_anything(taint)};
}

/* ---- one element ----------------------------------------------------------------------------- */

static fc_oval cast(fusec_dtype from, fusec_dtype to, fc_oval x) {
    if (x.r.exact) return from_bits(to, fc_o_cast(from, to, x.bits));
    if (!fc_is_float(from)) return open_value(x.r.taint);
    if (fc_is_float(to)) return from_range(to, fc_o_to(to, x.r));
    uint64_t lo = fc_o_cast(FUSEC_F64, to, fc_o_bits(FUSEC_F64, x.r.lo));
    uint64_t hi = fc_o_cast(FUSEC_F64, to, fc_o_bits(FUSEC_F64, x.r.hi));
    uint64_t nan = to == FUSEC_BOOL;
    bool crosses = to == FUSEC_BOOL && x.r.lo < 0 && x.r.hi > 0;
    bool one = lo == hi && !crosses && (!x.r.nan || lo == nan);
    return one ? from_bits(to, lo) : open_value(x.r.taint);
}

/* The sign and payload of a nan are nobody's promise. */
static fc_oval bitcast(fusec_dtype from, fusec_dtype to, fc_oval x) {
    bool nan = fc_is_float(from) && (x.r.exact ? isnan(x.r.lo) : x.r.nan);
    if (!x.r.exact || nan) return open_value(nan || x.r.taint);
    return from_bits(to, x.bits);
}

static fc_oval choose(fusec_dtype t, fc_oval c, fc_oval a, fc_oval b) {
    if (c.r.exact) return c.bits ? a : b;
    fc_oval r = open_value(c.r.taint || a.r.taint || b.r.taint);
    if (fc_is_float(t)) {
        r = from_range(t, fc_o_union(a.r, b.r));
        r.r.taint = !r.r.exact && (r.r.taint || c.r.taint);
    } else if (a.r.exact && b.r.exact && a.bits == b.bits) {
        r = a;
    }
    return r;
}

static bool is_truth(fc_op op) {
    return fc_ops[op].rule == FC_RULE_COMPARE || fc_ops[op].rule == FC_RULE_TEST;
}

static fc_oval elementwise(fc_op op, fusec_dtype t, const fc_oval *x) {
    int n = fc_ops[op].arity;
    if (op == FC_OP_where) return choose(t, x[0], x[1], x[2]);
    if (fc_is_float(t)) {
        fc_interval r = fc_o_apply(op, t, x[0].r, x[1].r, x[2].r);
        if (!is_truth(op)) return from_range(t, r);
        return r.exact ? from_bits(FUSEC_BOOL, r.lo != 0) : open_value(r.taint);
    }
    bool exact = true, taint = false;
    for (int i = 0; i < n; i++) {
        exact = exact && x[i].r.exact;
        taint = taint || (!x[i].r.exact && x[i].r.taint);
    }
    if (!exact) return open_value(taint);
    return from_bits(t == FUSEC_BOOL || is_truth(op) ? FUSEC_BOOL : t,
                     fc_o_int_op(op, t, x[0].bits, x[1].bits, x[2].bits));
}

bool fc_o_defines(fc_op op, fusec_dtype t) {
    double v;
    if (fc_is_reduction(op)) return fc_o_reduce_defines(op);
    if (op == FC_OP_where) return true;
    if (!fc_is_float(t) && fc_ops[op].rule != FC_RULE_FLOAT) return fc_o_int_defines(op);
    return fc_o_float_op(op, false, 1, 1, 1, &v) || fc_o_shape_of(op) != NULL;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static void index_of(const fc_oarray *a, int64_t i, int64_t *at) {
    for (uint32_t k = a->rank; k-- > 0; i /= a->shape[k]) at[k] = i % a->shape[k];
}

static int64_t place_of(const fc_oarray *a, const int64_t *at) {
    int64_t i = 0;
    for (uint32_t k = 0; k < a->rank; k++) i = i * a->shape[k] + at[k];
    return i;
}

/* An index continued beyond [0, size): -1 where the element is 0. Walks, so that the rule is the
 * definition: a step outside goes to the neighbour that the mode says. */
static int64_t continued(int64_t i, int64_t size, int64_t mode) {
    if (i >= 0 && i < size) return i;
    switch (mode) {
    case FC_EDGE_EDGE: return i < 0 ? 0 : size - 1;
    case FC_EDGE_WRAP: return i - down(i, size) * size;
    case FC_EDGE_SYMMETRIC:
        i -= down(i, 2 * size) * 2 * size;
        return i < size ? i : 2 * size - 1 - i;
    case FC_EDGE_REFLECT:
        if (size == 1) return 0;
        i -= down(i, 2 * size - 2) * (2 * size - 2);
        return i < size ? i : 2 * size - 2 - i;
    default: return -1;
    }
}

/* Where element i of a general view comes from, -1: it is 0. */
static int64_t viewed(const fc_oracle *o, fc_node id, int64_t i) {
    const fc_ninfo *n = fc_at(o->g, id);
    const fc_oarray *a = &o->node[id], *s = &o->node[n->src[0]];
    const int64_t *v = fc_list_at(o->g, (fc_list)n->attr) + 1;
    int64_t at[FC_MAX_RANK], from[FC_MAX_RANK];
    index_of(a, i, at);
    for (uint32_t k = 0; k < s->rank; k++, v += 2 + a->rank) {
        int64_t x = o->sizes[v[0]];
        for (uint32_t j = 0; j < a->rank; j++) x += v[2 + j] * at[j];
        from[k] = continued(x, s->shape[k], v[1]);
        if (from[k] < 0) return -1;
    }
    return place_of(s, from);
}

static void compute_general_view(fc_oracle *o, fc_node id) {
    fc_oarray *a = &o->node[id];
    const fc_oarray *s = &o->node[fc_at(o->g, id)->src[0]];
    for (int64_t i = 0; i < a->count; i++) {
        int64_t from = viewed(o, id, i);
        a->at[i] = from < 0 ? from_bits(a->dtype, 0) : s->at[from];
    }
}

/* An index that is not exact, or outside, reads nothing that is fixed. */
static void compute_take(fc_oracle *o, fc_node id) {
    const fc_ninfo *n = fc_at(o->g, id);
    fc_oarray *a = &o->node[id];
    const fc_oarray *s = &o->node[n->src[0]], *index = &o->node[n->src[1]];
    int64_t at[FC_MAX_RANK];
    for (int64_t i = 0; i < a->count; i++) {
        const fc_oval *x = &index->at[index->rank == 0 ? 0 : i];
        index_of(a, i, at);
        at[n->attr] = (int64_t)x->bits;
        const bool inside = at[n->attr] >= 0 && at[n->attr] < s->shape[n->attr];
        if (!x->r.exact)
            a->at[i] = open_value(x->r.taint);
        else
            a->at[i] = inside ? s->at[place_of(s, at)] : from_bits(a->dtype, 0);
    }
}

/* Where element i of a view comes from. */
static int64_t source_of(const fc_oracle *o, fc_node id, int64_t i) {
    const fc_ninfo *n = fc_at(o->g, id);
    const fc_oarray *a = &o->node[id], *s = &o->node[n->src[0]];
    int64_t at[FC_MAX_RANK], from[FC_MAX_RANK];
    index_of(a, i, at);
    for (uint32_t k = 0; k < s->rank; k++) {
        const int64_t *list = n->op == FC_OP_BROADCAST ? NULL : fc_list_at(o->g, (fc_list)n->attr);
        if (n->op == FC_OP_BROADCAST)
            from[k] = s->shape[k] == 1 ? 0 : at[a->rank - s->rank + k];
        else if (n->op == FC_OP_PERMUTE)
            from[list[k]] = at[k];
        else
            from[k] = o->sizes[list[3 * k]] + at[k] * list[3 * k + 1];
    }
    return place_of(s, from);
}

static void compute_view(fc_oracle *o, fc_node id) {
    const fc_ninfo *n = fc_at(o->g, id);
    const fc_oarray *s = &o->node[n->src[0]];
    bool same = n->op == FC_OP_RESHAPE || n->op == FC_OP_MATERIALIZE;
    for (int64_t i = 0; i < o->node[id].count; i++)
        o->node[id].at[i] = s->at[same ? i : source_of(o, id, i)];
}

fc_oval fc_o_exact(fusec_dtype t, uint64_t bits) {
    return from_bits(t, bits);
}

fc_oval fc_o_element(const fc_graph *g, fc_node id, const fc_oval x[3]) {
    const fc_ninfo *n = fc_at(g, id);
    const fusec_dtype t = (fusec_dtype)fc_at(g, n->src[n->op == FC_OP_where ? 1 : 0])->dtype;
    if (n->op == FC_OP_CHECK)
        return x[0]; /* a call with an index outside fails, and has no values */
    if (n->op == FC_OP_CAST) return cast(t, (fusec_dtype)n->dtype, x[0]);
    if (n->op == FC_OP_BITCAST) return bitcast(t, (fusec_dtype)n->dtype, x[0]);
    return elementwise((fc_op)n->op, t, x);
}

static void compute_elementwise(fc_oracle *o, fc_node id) {
    const fc_ninfo *n = fc_at(o->g, id);
    const fc_oarray *a = &o->node[id], *s[3] = {NULL, NULL, NULL};
    for (int k = 0; k < n->nops; k++) s[k] = &o->node[n->src[k]];
    for (int64_t i = 0; i < a->count; i++) {
        fc_oval x[3] = {{.bits = 0}};
        for (int k = 0; k < n->nops; k++) x[k] = s[k]->at[s[k]->rank == 0 ? 0 : i];
        a->at[i] = fc_o_element(o->g, id, x);
    }
}

/* Elements of one result in C order over the reduced axes. */
static void compute_reduction(fc_oracle *o, fc_node id) {
    const fc_ninfo *n = fc_at(o->g, id);
    const fc_oarray *a = &o->node[id], *s = &o->node[n->src[0]];
    bool reduced[FC_MAX_RANK] = {false};
    int64_t count = 1, at[FC_MAX_RANK], full[FC_MAX_RANK];
    for (uint32_t k = 0; k < fc_list_len(o->g, (fc_list)n->attr); k++) {
        int64_t axis = fc_list_at(o->g, (fc_list)n->attr)[k];
        reduced[axis] = true;
        count *= s->shape[axis];
    }
    const bool pairs = n->op == FC_OP_dot;
    const fc_oarray *other = pairs ? &o->node[n->src[1]] : s;
    fc_oval *x = take((size_t)count, sizeof *x), *y = take((size_t)count, sizeof *y);
    for (int64_t i = 0; i < a->count; i++) {
        index_of(a, i, at);
        for (uint32_t k = 0, from = 0; k < s->rank; k++) {
            bool keeps = n->flags & FC_NODE_KEEPDIMS;
            full[k] = reduced[k] ? 0 : at[from];
            from += keeps || !reduced[k];
        }
        for (int64_t j = 0; j < count; j++) {
            int64_t rest = j;
            for (uint32_t k = s->rank; k-- > 0;)
                if (reduced[k]) {
                    full[k] = rest % s->shape[k];
                    rest /= s->shape[k];
                }
            x[j] = s->at[place_of(s, full)];
            y[j] = other->at[place_of(other, full)];
        }
        fc_oval v = pairs ? fc_o_dot(s->dtype, n->axis_kind, x, y, count)
                          : fc_o_reduce((fc_op)n->op, s->dtype, reduced[s->rank - 1], x, count);
        a->at[i] = fc_is_float(a->dtype) ? from_range(a->dtype, v.r) : v;
    }
    free(x);
    free(y);
}

/* Every prefix along the axis anew. */
static void compute_scan(fc_oracle *o, fc_node id) {
    const fc_ninfo *n = fc_at(o->g, id);
    const fc_scan scan = fc_scan_of(n);
    const fc_oarray *a = &o->node[id], *s = &o->node[n->src[0]];
    int64_t at[FC_MAX_RANK];
    fc_oval *x = take((size_t)s->shape[scan.axis], sizeof *x);
    for (int64_t i = 0; i < a->count; i++) {
        index_of(a, i, at);
        const int64_t len = at[scan.axis] + !scan.exclusive;
        for (int64_t j = 0; j < len; j++) {
            at[scan.axis] = j;
            x[j] = s->at[place_of(s, at)];
        }
        fc_oval v = fc_o_scan(scan.op, s->dtype, scan.exclusive, x, len);
        a->at[i] = fc_is_float(a->dtype) ? from_range(a->dtype, v.r) : v;
    }
    free(x);
}

/* An element and one more of the values that it takes in, of integers. */
static uint64_t taken_in(fc_op op, fusec_dtype t, uint64_t a, uint64_t b) {
    if (op == FC_OP_NONE) return b;
    if (op == FC_OP_any || op == FC_OP_all) return op == FC_OP_any ? a | b : a & b;
    if (op == FC_OP_sum) return fc_o_int_op(FC_OP_add, t, a, b, 0);
    return fc_o_int_op(op == FC_OP_min ? FC_OP_minimum : FC_OP_maximum, t, a, b, 0);
}

/* Exact values as they are defined; ranges as far as any order and grid lets them be off. */
static fc_oval summed(fusec_dtype t, const fc_oval *base, const fc_oval *x, int64_t count,
                      int64_t all) {
    bool exact = base->r.exact, taint = base->r.taint, finite = true;
    double lo = base->r.lo, hi = base->r.hi, size = fabs(lo) + fabs(hi);
    double *v = take((size_t)count, sizeof *v);
    for (int64_t i = 0; i < count; i++) {
        exact &= x[i].r.exact;
        taint |= x[i].r.taint;
        finite &= !x[i].r.nan && isfinite(x[i].r.lo) && isfinite(x[i].r.hi);
        v[i] = x[i].r.lo;
        lo += x[i].r.lo;
        hi += x[i].r.hi;
        size += fabs(x[i].r.lo) + fabs(x[i].r.hi);
    }
    const uint64_t bits = exact ? fc_o_grid_sum(t, base->bits, v, count, all) : 0;
    free(v);
    if (!count) return *base;
    if (exact) return from_bits(t, bits);
    if (!finite || base->r.nan || !isfinite(size)) return open_value(taint);
    const double off = size * (double)(count + 2) * (t == FUSEC_F64 ? 0x1p-48 : 0x1p-36);
    return from_range(t, fc_o_to(t, (fc_interval){.lo = lo - off, .hi = hi + off, .taint = taint}));
}

/* Element p of the values goes to p less its leading axes, with the index at the axis. Elements
 * take their values in one after the other; for sums of floats they are collected first. */
static void compute_scatter(fc_oracle *o, fc_node id) {
    const fc_ninfo *n = fc_at(o->g, id);
    const fc_scatter how = fc_scatter_of(n);
    fc_oarray *a = &o->node[id];
    const fc_oarray *base = &o->node[n->src[0]], *index = &o->node[n->src[1]],
                    *value = &o->node[n->src[2]];
    const uint32_t lead = value->rank - a->rank;
    const bool collect = how.op == FC_OP_sum && fc_is_float(a->dtype);
    int64_t at[FC_MAX_RANK], all = index->shape[lead + how.axis];
    int64_t *to = take((size_t)value->count, sizeof *to);
    fc_oval *x = take((size_t)value->count, sizeof *x);
    bool open = false;
    for (uint32_t k = 0; k < lead; k++) all *= index->shape[k];
    for (int64_t i = 0; i < a->count; i++) {
        index_of(a, i, at);
        a->at[i] = base->at[place_of(base, at)];
    }
    for (int64_t p = 0; p < value->count; p++) {
        index_of(value, p, at);
        const fc_oval *w = &index->at[place_of(index, at)];
        const int64_t where = (int64_t)w->bits;
        open |= !w->r.exact;
        to[p] = -1;
        if (where < 0 || where >= a->shape[how.axis]) continue;
        at[lead + how.axis] = where;
        to[p] = place_of(a, at + lead);
    }
    for (int64_t p = 0; p < value->count && !open; p++) {
        if (to[p] < 0) continue;
        index_of(value, p, at);
        const fc_oval v = value->at[place_of(value, at)];
        fc_oval *e = &a->at[to[p]];
        if (how.op == FC_OP_NONE)
            *e = v;
        else if (fc_is_float(a->dtype) && !collect)
            *e = elementwise(how.op == FC_OP_min ? FC_OP_minimum : FC_OP_maximum, a->dtype,
                             (fc_oval[3]){*e, v});
        else if (!collect && (!v.r.exact || !e->r.exact))
            *e = open_value(v.r.taint || e->r.taint);
        else if (!collect)
            *e = from_bits(a->dtype, taken_in(how.op, a->dtype, e->bits, v.bits));
    }
    for (int64_t i = 0; i < a->count && (open || collect); i++) {
        int64_t count = 0;
        if (open) a->at[i] = open_value(true);
        for (int64_t p = 0; p < value->count && !open; p++) {
            if (to[p] != i) continue;
            index_of(value, p, at);
            x[count++] = value->at[place_of(value, at)];
        }
        if (!open) a->at[i] = summed(a->dtype, &a->at[i], x, count, all);
    }
    free(x);
    free(to);
}

void fc_o_compute(fc_oracle *o, fc_node id) {
    const fc_ninfo *n = fc_at(o->g, id);
    fc_oarray *a = &o->node[id];
    int64_t at[FC_MAX_RANK];
    if (n->op == FC_OP_LOOP) fc_o_loop(o, id);
    if (fc_is_part(n->op) || n->op == FC_OP_HOLE) return;
    free(a->at);
    a->dtype = (fusec_dtype)n->dtype;
    a->rank = fc_rank(o->g, id);
    a->count = 1;
    for (uint32_t k = 0; k < a->rank; k++) {
        a->shape[k] = o->sizes[fc_axis(o->g, id, k)];
        a->count *= a->shape[k];
    }
    if (fc_is_complex(a->dtype)) a->count *= 2;
    a->at = take((size_t)a->count, sizeof *a->at);
    if (fc_is_reduction(n->op)) {
        compute_reduction(o, id);
        return;
    }
    if (n->op == FC_OP_RESULT) {
        fc_o_result(o, id);
        return;
    }
    if (n->op == FC_OP_PAIR) {
        fc_o_pair(o, id);
        return;
    }
    if (n->op == FC_OP_PART) {
        fc_o_part(o, id);
        return;
    }
    if (n->op == FC_OP_VIEW) {
        compute_general_view(o, id);
        return;
    }
    if (n->op == FC_OP_SCAN) {
        compute_scan(o, id);
        return;
    }
    if (n->op == FC_OP_SCATTER) {
        compute_scatter(o, id);
        return;
    }
    if (n->op == FC_OP_FOLD) {
        fc_o_fold(o, id);
        return;
    }
    if (n->op == FC_OP_TAKE) {
        compute_take(o, id);
        return;
    }
    if (fc_is_view(n->op) || n->op == FC_OP_MATERIALIZE) {
        compute_view(o, id);
        return;
    }
    if (n->nops) {
        compute_elementwise(o, id);
        return;
    }
    const fusec_dtype part = fc_is_complex(a->dtype) ? fc_part_dtype(a->dtype) : a->dtype;
    for (int64_t i = 0; i < a->count; i++) {
        if (n->op == FC_OP_INPUT)
            a->at[i] = from_bits(part, fc_oracle_load(part, o->data[n->attr], i));
        else if (n->op == FC_OP_CONST)
            a->at[i] = from_bits(a->dtype, n->attr);
        else if (n->op == FC_OP_DIM)
            a->at[i] = from_bits(FUSEC_I64, (uint64_t)o->sizes[n->attr]);
        else {
            index_of(a, i, at);
            a->at[i] = from_bits(FUSEC_I64, (uint64_t)at[n->attr]);
        }
    }
}

void fc_oracle_sizes(fc_oracle *o, const fc_graph *g, const int64_t *syms) {
    *o = (fc_oracle){.g = g, .sizes = take(g->dims.forms.len, sizeof *o->sizes)};
    eval_sizes(&g->dims, syms, o->sizes);
}

void fc_oracle_run(fc_oracle *o, const fc_graph *g, const int64_t *syms, const void *const *data) {
    size_t n = g->nodes.len;
    fc_oracle_sizes(o, g, syms);
    o->node = take(n, sizeof *o->node);
    o->levels = take(n, sizeof *o->levels);
    o->tuple = take(n, sizeof(fc_oarray *));
    o->data = data;
    fc_body_levels(g, o->levels);
    bool *live = take(n, sizeof *live);
    uint8_t *bound = take(n, 1); /* what bodies are made of has no value */
    fc_find_bound(g, bound);
    for (size_t i = 0; i < g->outputs.len; i++) live[g->outputs.at[i].node] = true;
    for (size_t i = n; i-- > 0;)
        for (int k = 0; live[i] && k < fc_at(g, (fc_node)i)->nops; k++)
            live[fc_at(g, (fc_node)i)->src[k]] = true;
    for (size_t i = 0; i < n; i++)
        if (live[i] && !o->levels[i] && !bound[i] && fc_at(g, (fc_node)i)->op != FC_OP_RECORD)
            fc_o_compute(o, (fc_node)i);
    free(live);
    free(bound);
}

void fc_oracle_free(fc_oracle *o) {
    for (size_t i = 0; o->node && i < o->g->nodes.len; i++) free(o->node[i].at);
    if (o->tuple) fc_o_free_tuples(o);
    free(o->tuple);
    free(o->levels);
    free(o->node);
    free(o->sizes);
    memset(o, 0, sizeof *o);
}

/* ---- judging --------------------------------------------------------------------------------- */

bool fc_oracle_same(fusec_dtype t, uint64_t a, uint64_t b) {
    if (a == b) return true;
    return fc_is_float(t) && isnan(fc_o_value(t, a)) && isnan(fc_o_value(t, b));
}

bool fc_oracle_accepts(fusec_dtype t, const fc_oval *want, uint64_t got) {
    if (t == FUSEC_BOOL && got > 1) return false;
    if (want->r.exact) return fc_oracle_same(t, want->bits, got);
    if (!fc_is_float(t)) return true;
    double v = fc_o_value(t, got);
    return isnan(v) ? want->r.nan : v >= want->r.lo && v <= want->r.hi;
}

void fc_oracle_print(fusec_dtype t, const fc_oval *want, fc_str *out) {
    if (want->r.exact && fc_is_float(t))
        fc_str_printf(out, "%a", want->r.lo);
    else if (want->r.exact)
        fc_str_printf(out, "0x%" PRIx64, want->bits);
    else if (fc_is_float(t))
        fc_str_printf(out, "%a to %a%s", want->r.lo, want->r.hi, want->r.nan ? " or nan" : "");
    else
        fc_str_add(out, "anything");
}
