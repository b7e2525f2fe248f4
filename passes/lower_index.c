/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* lower_index.c - the code of indices that are more than a start and steps along axes.
 *
 * In: maps (passes/index_map.h). Out: instructions. An index is cut in two: what is affine in the
 * axes becomes one FC_OP_INDEX, so that it costs an addition a step, and the rest is computed:
 * values of nodes as they are, and continuation at an edge as its difference from the index, which
 * is 0 inside. A mode is code made of ordinary rows, and so the same on all targets. */
#include "ir/expand.h"
#include "ir/plant.h"
#include "passes/lower_impl.h"

/* ---- a little arithmetic on i64; FC_NOVAL is 0 -------------------------------------------------
 */

static fc_val op2(fc_lowering *l, fc_op op, fc_val a, fc_val b) {
    return fc_val_op(&l->k->code, op, a, b, FC_NOVAL);
}

static fc_val plus(fc_lowering *l, fc_val a, fc_val b) {
    if (a == FC_NOVAL || b == FC_NOVAL) return a == FC_NOVAL ? b : a;
    return op2(l, FC_OP_add, a, b);
}

static fc_val times(fc_lowering *l, fc_val a, int64_t by) {
    if (a == FC_NOVAL || by == 1) return a;
    return op2(l, FC_OP_mul, a, fc_val_i64(&l->k->code, by));
}

/* A size as a value. */
static fc_val size_of(fc_lowering *l, fc_dim d) {
    int64_t v;
    if (d == FC_DIM_NONE) {
        l->oom = true; /* a product of sizes that can't be made */
        return FC_NOVAL;
    }
    if (fc_dim_is_const(&l->g->dims, d, &v)) return fc_val_i64(&l->k->code, v);
    return fc_kernel_param_value(l->k, fc_kernel_param(l->k, FUSEC_I64, true, d));
}

/* Rounded down, as rules write it that know the number. */
static fc_val quotient(fc_lowering *l, fc_val a, int64_t by) {
    fc_code *c = &l->k->code;
    int64_t bits = 0;
    if (by == 1) return a;
    while (INT64_C(1) << bits < by) bits++;
    return INT64_C(1) << bits == by ? op2(l, FC_OP_shr, a, fc_val_i64(c, bits))
                                    : op2(l, FC_OP_floordiv, a, fc_val_i64(c, by));
}

/* ---- modes -------------------------------------------------------------------------------------
 */

/* Index i continued beyond [0, size), size > 0. */
static fc_val continued(fc_lowering *l, fc_edge mode, fc_val i, fc_dim size) {
    fc_dimtab *t = &l->g->dims;
    const fc_dim one = fc_dim_const(t, 1);
    const fc_val n = size_of(l, size), zero = fc_val_i64(&l->k->code, 0);
    if (mode == FC_EDGE_EDGE) {
        const fc_val last = size_of(l, fc_dim_sub(t, size, one));
        return op2(l, FC_OP_maximum, op2(l, FC_OP_minimum, i, last), zero);
    }
    if (mode == FC_EDGE_WRAP) { /* one period away needs no division, which targets see */
        fc_code *c = &l->k->code;
        const fc_val up =
            fc_val_op(c, FC_OP_where, op2(l, FC_OP_lt, i, zero), op2(l, FC_OP_add, i, n), i);
        const fc_val down = op2(l, FC_OP_sub, up, n);
        const fc_val near = fc_val_op(c, FC_OP_where, op2(l, FC_OP_ge, up, n), down, up);
        return op2(l, FC_OP_mod, near, n);
    }
    /* there and back again: a period of 2*size, or without the two ends twice 2*size - 2 */
    const fc_dim twice = fc_dim_mul(t, size, fc_dim_const(t, 2));
    if (mode == FC_EDGE_SYMMETRIC) {
        const fc_val at = op2(l, FC_OP_mod, i, size_of(l, twice));
        const fc_val back = op2(l, FC_OP_sub, size_of(l, fc_dim_sub(t, twice, one)), at);
        return op2(l, FC_OP_minimum, at, back);
    }
    const fc_val less =
        size_of(l, fc_dim_sub(t, twice, fc_dim_const(t, FC_PLANT(mirror_period, 1, 2))));
    const fc_val period = op2(l, FC_OP_maximum, less, fc_val_i64(&l->k->code, 1));
    const fc_val at = op2(l, FC_OP_mod, i, period);
    return op2(l, FC_OP_minimum, at, op2(l, FC_OP_sub, period, at));
}

/* ---- indices -----------------------------------------------------------------------------------
 */

/* An index in two parts. */
typedef struct parts {
    fc_dim start;  /* what of it is no constant */
    int64_t fixed; /* the constant */
    int64_t step[FC_MAX_AXES];
    fc_val rest; /* what is computed; FC_NOVAL: 0 */
} parts;

static bool split(fc_lowering *l, fc_list index, int64_t scale, parts *p) {
    fc_index_term term[FC_MAX_TERMS];
    const fc_index_term *t;
    const uint32_t n = fc_index_terms(l->g, index, &t);
    fc_dimtab *dims = &l->g->dims;
    int64_t fixed;
    memcpy(term, t, n * sizeof *term);
    const fc_dim start = fc_index_start(l->g, index);
    if (fc_dim_is_const(dims, start, &fixed)) {
        if (!fc_mul_ok(fixed, scale, &fixed) || !fc_add_ok(p->fixed, fixed, &p->fixed))
            return false;
    } else {
        p->start = fc_dim_add(dims, p->start, fc_dim_mul(dims, start, fc_dim_const(dims, scale)));
        if (p->start == FC_DIM_NONE) return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        int64_t step;
        fc_val v = FC_NOVAL;
        const uint32_t first = fc_which_first(term[i].which),
                       second = fc_which_second(term[i].which);
        if (!fc_mul_ok(term[i].step, scale, &step)) return false;
        if (term[i].what == FC_TERM_AXIS) {
            int64_t *to = &p->step[l->axis[term[i].which]];
            if (!fc_add_ok(*to, step, to)) return false;
            continue;
        }
        if (term[i].what == FC_TERM_VALUE) {
            if (!fc_lower_known(l, first, second, &v)) return false;
        } else if (term[i].what == FC_TERM_QUOTIENT) {
            v = quotient(l, fc_lower_index(l, first), second);
        } else { /* the index as it is, and how far its continuation is from it */
            if (!split(l, first, step, p)) return false;
            const fc_val inner = fc_lower_index(l, first);
            v = continued(l, (fc_edge)(term[i].what - FC_TERM_EDGE), inner, second);
            v = op2(l, FC_OP_sub, v, inner);
        }
        p->rest = plus(l, p->rest, times(l, v, step));
    }
    return true;
}

static void begin_parts(fc_lowering *l, parts *p) {
    memset(p, 0, sizeof *p);
    p->start = fc_dim_const(&l->g->dims, 0);
    p->rest = FC_NOVAL;
}

/* The affine part as a map without its constant; further terms are put into `room`. */
static void map_of(const fc_lowering *l, const parts *p, fc_map *out, fc_map *room) {
    fc_map *last = NULL;
    *out = (fc_map){.axis = -1, .start = p->start};
    for (uint32_t a = 0; a < l->k->np + l->k->nr; a++) {
        if (!p->step[a]) continue;
        fc_map *to = last ? room++ : out;
        to->axis = (int32_t)a;
        to->step = p->step[a];
        to->next = NULL;
        if (last) to->start = 0;
        if (last) last->next = to;
        last = to;
    }
}

void fc_lower_affine(const fc_lowering *l, fc_list index, fc_map *out, fc_map *room) {
    parts p;
    const fc_index_term *t;
    const uint32_t n = fc_index_terms(l->g, index, &t);
    memset(&p, 0, sizeof p);
    p.start = fc_index_start(l->g, index);
    for (uint32_t i = 0; i < n; i++) p.step[l->axis[t[i].which]] = t[i].step;
    map_of(l, &p, out, room);
}

fc_val fc_lower_index(fc_lowering *l, fc_list index) {
    parts p;
    fc_map map, room[FC_MAX_AXES];
    begin_parts(l, &p);
    if (!split(l, index, 1, &p)) return l->oom = true, FC_NOVAL;
    if (l->k->schedule == FC_SCHED_DOT) { /* an index of a product is seen to be one (blocks.h) */
        if (!fc_dim_is(&l->g->dims, p.start, 0)) p.rest = plus(l, p.rest, size_of(l, p.start));
        p.start = fc_dim_const(&l->g->dims, 0);
    }
    map_of(l, &p, &map, room);
    fc_val v = fc_kernel_load(l->k, fc_kernel_access(l->k, FC_NO_BUFFER, 1, NULL, &map));
    if (p.fixed) v = plus(l, v, fc_val_i64(&l->k->code, p.fixed));
    return plus(l, v, p.rest);
}

/* Constants of the axes are not put into the access: so that reads that differ by them share it. */
fc_val fc_lower_element(fc_lowering *l, fc_list map, fc_list shape) {
    const uint32_t rank = fc_list_len(l->g, shape);
    fc_map maps[FC_MAX_RANK], *room;
    fc_dim dims[FC_MAX_RANK], stride = fc_dim_const(&l->g->dims, 1);
    fc_val rest = FC_NOVAL;
    if (!rank) return fc_val_i64(&l->k->code, 0);
    room = fc_malloc(l->alloc, (size_t)rank * FC_MAX_AXES * sizeof *room);
    if (!room) return l->oom = true, FC_NOVAL;
    for (uint32_t i = rank; i-- > 0 && !l->oom;) {
        parts p;
        begin_parts(l, &p);
        dims[i] = (fc_dim)fc_list_at(l->g, shape)[i];
        l->oom |= !split(l, fc_map_index(l->g, map, i), 1, &p);
        map_of(l, &p, &maps[i], room + (size_t)i * FC_MAX_AXES);
        fc_val moved = p.rest;
        if (p.fixed) moved = plus(l, fc_val_i64(&l->k->code, p.fixed), moved);
        if (moved != FC_NOVAL && !fc_dim_is(&l->g->dims, stride, 1))
            moved = op2(l, FC_OP_mul, moved, size_of(l, stride));
        rest = plus(l, rest, moved);
        if (i) stride = fc_dim_mul(&l->g->dims, stride, dims[i]);
    }
    fc_val v = FC_NOVAL;
    if (!l->oom) v = fc_kernel_load(l->k, fc_kernel_access(l->k, FC_NO_BUFFER, rank, dims, maps));
    fc_free(l->alloc, room);
    return l->oom ? FC_NOVAL : plus(l, v, rest);
}

/* ---- guards and checks -------------------------------------------------------------------------
 */

/* 0 <= v < size in one comparison: as an unsigned number what is negative is large. */
static fc_val inside(fc_lowering *l, fc_val v, fc_dim size) {
    fc_code *c = &l->k->code;
    return op2(l, FC_OP_lt, fc_val_cvt(c, v, FUSEC_U64),
               fc_val_cvt(c, size_of(l, size), FUSEC_U64));
}

static const fc_ninfo *behind_views(const fc_graph *g, fc_node n) {
    while (fc_is_view(fc_at(g, n)->op)) n = fc_at(g, n)->src[0];
    return fc_at(g, n);
}

/* Whether a begin or an end lies in [0, size]: it has been checked, or is the one or the other. */
static bool is_bound(const fc_lowering *l, const fc_ninfo *n, fc_dim size) {
    fc_dimtab *t = &l->g->dims;
    if (n->op == FC_OP_CHECK)
        return fc_check_size(l->g, n) == fc_dim_add(t, size, fc_dim_const(t, 1));
    return (n->op == FC_OP_DIM && n->attr == size) || (n->op == FC_OP_CONST && !n->attr);
}

/* In rows of end - begin elements the place begin + i, i the number of the element, is inside. */
static bool is_of_row(const fc_lowering *l, fc_node index, fc_dim size) {
    if (l->length == FC_NONODE) return false;
    const fc_ninfo *length = behind_views(l->g, l->length), *at = behind_views(l->g, index);
    if (length->op != FC_OP_sub || at->op != FC_OP_add) return false;
    const fc_ninfo *begin = behind_views(l->g, length->src[1]);
    const fc_ninfo *a = behind_views(l->g, at->src[0]), *b = behind_views(l->g, at->src[1]);
    const bool counts = (a == begin && b->op == FC_OP_IOTA) || (b == begin && a->op == FC_OP_IOTA);
    return counts && is_bound(l, begin, size) &&
           is_bound(l, behind_views(l->g, length->src[0]), size);
}

/* What has been checked in this kernel is not tested again. */
static fc_val value_inside(fc_lowering *l, fc_node n, fc_list map, fc_dim size) {
    fc_val v = FC_NOVAL;
    if (is_of_row(l, n, size)) return fc_val_bits(&l->k->code, FUSEC_BOOL, 1);
    if (!fc_lower_known(l, n, map, &v) || v == FC_NOVAL) return l->oom = true, FC_NOVAL;
    const fc_instr *i = &l->k->code.ins.at[v];
    if (i->op == FC_OP_where && l->k->code.ins.at[i->a].op == FC_OP_INSIDE) {
        const fc_instr *test = &l->k->code.ins.at[i->a];
        if (l->k->checks.at[test->imm].size == size) return i->a;
    }
    return inside(l, v, size);
}

fc_val fc_lower_guards(fc_lowering *l, fc_list map, uint32_t rank, uint32_t first) {
    fc_guard guard[FC_MAX_TERMS];
    const fc_guard *g;
    const uint32_t n = fc_map_guards(l->g, map, rank, &g);
    fc_val all = FC_NOVAL;
    memcpy(guard, g, n * sizeof *guard);
    for (uint32_t i = first; i < n && !l->oom; i++) {
        const uint32_t a = fc_which_first(guard[i].which), b = fc_which_second(guard[i].which);
        const fc_dim size = (fc_dim)guard[i].size;
        const fc_val holds = guard[i].what == FC_GUARD_INDEX ? inside(l, fc_lower_index(l, a), size)
                                                             : value_inside(l, a, b, size);
        all = all == FC_NOVAL ? holds : op2(l, FC_OP_bit_and, all, holds);
    }
    return all;
}

/* What is not read at all is not reported. An index outside counts as 0. */
fc_val fc_lower_check(fc_lowering *l, fc_node n, fc_list map, fc_val index) {
    const fc_ninfo i = *fc_at(l->g, n);
    fc_code *c = &l->k->code;
    const fc_dim size = fc_check_size(l->g, &i);
    const fc_val when = fc_lower_guards(l, map, fc_list_len(l->g, i.shape), 0);
    fc_val position = fc_lower_element(l, map, i.shape);
    if (when != FC_NOVAL) position = fc_val_op(c, FC_OP_where, when, position, fc_val_i64(c, -1));
    const fc_check_site site = {.size = size, .words = i.words, .node = n};
    const fc_val ok = fc_kernel_inside(l->k, index, size_of(l, size), position, site);
    return fc_val_op(c, FC_OP_where, ok, index, fc_val_i64(c, 0));
}
