/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* build_fold.c - builders of reductions and scans by code of the user's, and what is made of them:
 * linear recurrences, scans that start anew.
 *
 * In: arrays, starts, and what a body makes of two records of slots. Out: one FC_OP_FOLD for each
 * value of a record. Constants of a body are nodes of its own (FC_NODE_OWN), as faces that make
 * arguments of numbers must leave them. */
#include "ir/fold.h"

#include "ir/complex.h"

/* ---- slots and records -------------------------------------------------------------------------
 */

fc_node fc_build_slot(fc_graph *g, fusec_dtype t, uint32_t number) {
    if (g->error.code) return FC_NONODE;
    if (fc_is_complex(t)) {
        const fc_node re = fc_build_slot(g, fc_part_dtype(t), number);
        return fc_build_pair(g, re, fc_build_slot(g, fc_part_dtype(t), number + 1));
    }
    fc_ninfo n = {.op = FC_OP_SLOT, .dtype = (uint8_t)t, .attr = number};
    return fc_graph_node(g, n);
}

fc_node fc_build_record(fc_graph *g, uint32_t n, const fc_node *v) {
    fc_node rest = FC_NONODE;
    /* the last link has one or two values, the others two and the rest */
    for (uint32_t at = (n - 1) / 2 * 2; !g->error.code; at -= 2) {
        fc_ninfo link = {.op = FC_OP_RECORD, .nops = 1, .src = {v[at], FC_NONODE, FC_NONODE}};
        if (!fc_usable(g, v[at]) || (at + 1 < n && !fc_usable(g, v[at + 1]))) return FC_NONODE;
        if (at + 1 < n) link.src[link.nops++] = v[at + 1];
        if (rest != FC_NONODE) link.src[link.nops++] = rest;
        link.dtype = fc_at(g, v[at])->dtype;
        link.shape = fc_at(g, v[at])->shape;
        rest = fc_graph_node(g, link);
        if (at == 0) return rest;
    }
    return FC_NONODE;
}

uint32_t fc_record_nodes(const fc_graph *g, fc_node list, uint32_t most, fc_node *out) {
    uint32_t n = 0;
    while (list != FC_NONODE) {
        const fc_ninfo *i = fc_at(g, list);
        for (int k = 0; k < i->nops && k < 2; k++, n++)
            if (n < most) out[n] = i->src[k];
        list = i->nops == 3 ? i->src[2] : FC_NONODE;
    }
    return n;
}

/* ---- reading --------------------------------------------------------------------------------- */

fc_fold_spec fc_fold_of(const fc_graph *g, const fc_ninfo *n) {
    const int64_t *v = fc_list_at(g, (fc_list)n->attr);
    fc_fold_spec s = {.result = (uint32_t)v[0],
                      .n = fc_list_len(g, (fc_list)n->attr) - FC_FOLD_FIXED,
                      .kind = (fc_fold_kind)v[1],
                      .axes = (uint64_t)v[2]};
    for (uint32_t i = 0; i < s.n; i++) s.start[i] = (uint64_t)v[FC_FOLD_FIXED + i];
    return s;
}

bool fc_scans(const fc_graph *g, fc_node n) {
    const fc_ninfo *i = fc_at(g, n);
    return i->op == FC_OP_SCAN ||
           (i->op == FC_OP_FOLD && fc_list_at(g, (fc_list)i->attr)[1] != FC_FOLD_REDUCE);
}

bool fc_reduces(const fc_graph *g, fc_node n) {
    const fc_ninfo *i = fc_at(g, n);
    return fc_is_reduction(i->op) || (i->op == FC_OP_FOLD && !fc_scans(g, n));
}

uint64_t fc_reduced_axes(const fc_graph *g, fc_node n) {
    const fc_ninfo *i = fc_at(g, n);
    if (i->op == FC_OP_SCAN) return UINT64_C(1) << fc_scan_of(i).axis;
    if (i->op == FC_OP_FOLD) return (uint64_t)fc_list_at(g, (fc_list)i->attr)[2];
    uint64_t m = 0;
    for (uint32_t k = 0; k < fc_list_len(g, (fc_list)i->attr); k++)
        m |= UINT64_C(1) << fc_list_at(g, (fc_list)i->attr)[k];
    return m;
}

void fc_find_bound(const fc_graph *g, uint8_t *bound) {
    for (fc_node n = 0; n < g->nodes.len; n++) {
        const fc_ninfo *i = fc_at(g, n);
        const int nops = i->op == FC_OP_FOLD ? 0 : i->op == FC_OP_ROUNDS ? 1 : i->nops;
        bound[n] = i->op == FC_OP_SLOT;
        for (int k = 0; k < nops; k++) bound[n] |= bound[i->src[k]];
    }
}

/* ---- bodies ---------------------------------------------------------------------------------- */

static bool is_slot_of(const fc_fold_args *a, const fc_ninfo *n) {
    return n->attr < 2 * FC_MAX_RECORD && n->attr % FC_MAX_RECORD < a->n;
}

/* Node n of a body has no place there; a reduction behind it says more than the view in front. */
static bool refuse(fc_graph *g, const fc_fold_args *a, const uint8_t *need, fc_node n,
                   fc_node last) {
    for (fc_node r = n; r <= last; r++)
        if (need[r] && fc_is_reduction(fc_at(g, r)->op)) n = r;
    const fc_ninfo *i = fc_at(g, n);
    if (i->op == FC_OP_INPUT)
        fc_fail(&g->error, FUSEC_NOT_POINTWISE,
                "%s: the definition reads %s; it is made of its arguments and of numbers only",
                a->what, g->inputs.at[i->attr].name);
    else
        fc_fail(&g->error, FUSEC_NOT_POINTWISE,
                "%s: the definition is not elementwise: it has `%s` in it", a->what,
                fc_ops[i->op].name);
    return false;
}

/* The body again with constants of its own; map[n] is the new node of n. Operands come before their
 * users, so one look from the last node down says what is needed. */
static bool own_body(fc_graph *g, const fc_fold_args *a, fc_node *map, uint8_t *need,
                     fc_node *body) {
    fc_node last = 0;
    for (uint32_t c = 0; c < a->n; c++) {
        need[a->body[c]] = 1;
        if (a->body[c] > last) last = a->body[c];
    }
    fc_mark_operands(g, last + 1, need);
    for (fc_node n = 0; n <= last && !g->error.code; n++) {
        fc_ninfo i = *fc_at(g, n);
        if (!need[n]) continue;
        const bool computes = fc_is_elementwise(i.op) || i.op == FC_OP_CAST ||
                              i.op == FC_OP_BITCAST || i.op == FC_OP_EXTERN || i.op == FC_OP_RECORD;
        if (i.op == FC_OP_SLOT ? !is_slot_of(a, &i) : i.op != FC_OP_CONST && !computes)
            return refuse(g, a, need, n, last);
        if (i.op == FC_OP_CONST) i.flags |= FC_NODE_OWN;
        if (i.op == FC_OP_CAST) i.attr = 0; /* what derivatives make of it is no matter here */
        for (int k = 0; k < i.nops; k++) i.src[k] = map[i.src[k]];
        map[n] = fc_graph_node(g, i);
    }
    for (uint32_t c = 0; c < a->n; c++) body[c] = map[a->body[c]];
    return !g->error.code;
}

static bool make_body(fc_graph *g, const fc_fold_args *a, fc_node *body) {
    fc_node *map = fc_malloc(g->alloc, g->nodes.len * sizeof *map);
    uint8_t *need = fc_calloc(g->alloc, g->nodes.len, 1);
    const bool ok = map && need ? own_body(g, a, map, need, body) : (fc_oom(&g->error), false);
    fc_free(g->alloc, map);
    fc_free(g->alloc, need);
    return ok;
}

/* ---- folds ----------------------------------------------------------------------------------- */

typedef struct folding {
    uint32_t n;
    fusec_dtype result[FC_MAX_RECORD]; /* dtypes */
    fc_node element[FC_MAX_RECORD], start[FC_MAX_RECORD], body[FC_MAX_RECORD];
} folding;

/* All of one shape and in the dtypes of the record. */
static bool take_elements(fc_graph *g, const fc_fold_args *a, folding *f) {
    uint32_t rank = 0;
    fc_dim shape[FC_MAX_RANK];
    fc_node widest = FC_NONODE;
    for (uint32_t c = 0; c < a->n; c++) {
        if (!fc_usable(g, a->element[c])) return false;
        f->result[c] = (fusec_dtype)fc_at(g, a->element[c])->dtype;
        f->element[c] = fc_build_cast(g, a->element[c], fc_record_dtype(f->result[c]));
        if (c == 0) widest = f->element[0];
        if (c == 0) continue;
        if (!fc_broadcast_shapes(g, FC_OP_FOLD, widest, f->element[c], &rank, shape)) return false;
        widest = fc_build_broadcast(g, f->element[c], rank, shape);
        if (!fc_usable(g, widest)) return false;
    }
    for (uint32_t c = 0; c < a->n; c++) {
        f->element[c] = fc_build_like(g, f->element[c], widest);
        if (!fc_usable(g, f->element[c])) return false;
    }
    return true;
}

/* A constant of the record's dtype. */
static bool take_start(fc_graph *g, const fc_fold_args *a, folding *f, uint32_t c) {
    const fusec_dtype t = fc_record_dtype(f->result[c]);
    f->start[c] = a->start ? fc_build_cast(g, a->start[c], t) : fc_build_number(g, t, 0);
    if (!fc_usable(g, f->start[c])) return false;
    if (fc_at(g, f->start[c])->op == FC_OP_CONST) return true;
    fc_fail(&g->error, FUSEC_INVALID, "%s: start %u is no number", a->what, c + 1);
    return false;
}

static bool check_body(fc_graph *g, const fc_fold_args *a, uint32_t c) {
    if (!fc_usable(g, a->body[c]) || !fc_usable(g, a->element[c])) return false;
    const fusec_dtype t = fc_record_dtype((fusec_dtype)fc_at(g, a->element[c])->dtype);
    const fc_ninfo *i = fc_at(g, a->body[c]);
    if (i->dtype == t && !i->shape) return true;
    if (i->dtype != t)
        fc_fail(&g->error, FUSEC_RESULT_DTYPE,
                "%s: the definition makes value %u of a record %s, where its elements are %s",
                a->what, c + 1, fc_dtypes[i->dtype].name, fc_dtypes[t].name);
    else
        fc_fail(&g->error, FUSEC_NOT_POINTWISE,
                "%s: the definition makes an array of value %u of a record", a->what, c + 1);
    return false;
}

/* Without starts: one more value says whether there is an element at all. */
static bool add_flag(fc_graph *g, folding *f) {
    const uint32_t n = f->n;
    const fc_node no = fc_build_const(g, FUSEC_BOOL, 0), yes = fc_build_const(g, FUSEC_BOOL, 1),
                  a = fc_build_slot(g, FUSEC_BOOL, n),
                  b = fc_build_slot(g, FUSEC_BOOL, FC_MAX_RECORD + n);
    f->element[n] = fc_build_like(g, yes, f->element[0]);
    f->start[n] = no;
    f->result[n] = FUSEC_BOOL;
    for (uint32_t c = 0; c < n; c++) {
        const fusec_dtype t = fc_record_dtype(f->result[c]);
        const fc_node earlier = fc_build_slot(g, t, c),
                      later = fc_build_slot(g, t, FC_MAX_RECORD + c);
        f->body[c] = fc_where(g, a, fc_where(g, b, f->body[c], earlier), later);
    }
    f->body[n] = fc_op2(g, FC_OP_logical_or, a, b);
    f->n = n + 1;
    return !g->error.code;
}

/* One value of the record. */
static fc_node one_result(fc_graph *g, const fc_fold_args *a, const folding *f, fc_ninfo n,
                          uint64_t axes, uint32_t result) {
    int64_t attr[FC_FOLD_FIXED + FC_MAX_RECORD] = {result, FC_FOLD_REDUCE, (int64_t)axes};
    if (a->scan) attr[1] = a->exclusive ? FC_FOLD_EXCLUSIVE : FC_FOLD_SCAN;
    for (uint32_t c = 0; c < f->n; c++)
        attr[FC_FOLD_FIXED + c] = (int64_t)fc_at(g, f->start[c])->attr;
    n.dtype = fc_at(g, f->element[result])->dtype;
    n.attr = fc_intern_list(g, attr, FC_FOLD_FIXED + f->n);
    return fc_build_cast(g, fc_graph_node(g, n), f->result[result]);
}

/* The shape that is left; no elements are refused where there is no start. */
static fc_list shape_left(fc_graph *g, const fc_fold_args *a, fc_node x, uint64_t axes) {
    int64_t dims[FC_MAX_RANK];
    uint32_t n = 0;
    const fc_dim one = fc_dim_const(&g->dims, 1);
    for (uint32_t i = 0; i < fc_rank(g, x); i++) {
        const bool reduced = axes >> i & 1;
        if (reduced && !a->start && !a->scan)
            fc_require(g, FC_CHECK_GE, fc_axis(g, x, i), one, FUSEC_EMPTY_REDUCTION,
                       "a reduction without a start, of no elements");
        if (!reduced || a->scan)
            dims[n++] = fc_axis(g, x, i);
        else if (a->keepdims)
            dims[n++] = one;
    }
    return fc_intern_list(g, dims, n);
}

static bool take_axes(fc_graph *g, const fc_fold_args *a, folding *f, uint64_t *axes) {
    const fc_node x = f->element[0];
    if (!fc_axis_mask(g, FC_OP_FOLD, x, a->naxes, a->axes, axes)) return false;
    if (*axes && !(a->scan && (*axes & (*axes - 1)))) return true;
    fc_fail(&g->error, FUSEC_BAD_AXIS,
            a->scan ? "%s: it goes along one axis; here are %u of %u"
                    : "%s: there are no axes; %u are named, the array has %u",
            a->what, a->axes ? a->naxes : fc_rank(g, x), fc_rank(g, x));
    return false;
}

static bool flip_elements(fc_graph *g, folding *f, uint64_t axes) {
    uint32_t axis = 0;
    while (!(axes >> axis & 1)) axis++;
    for (uint32_t c = 0; c < f->n; c++) f->element[c] = fc_build_flip(g, f->element[c], axis);
    return !g->error.code;
}

/* A fold of records of real numbers. */
static bool build_real(fc_graph *g, const fc_fold_args *a, fc_node *out) {
    folding f = {.n = a->n};
    uint64_t axes;
    if (!take_elements(g, a, &f) || !take_axes(g, a, &f, &axes)) return false;
    for (uint32_t c = 0; c < a->n; c++)
        if (!take_start(g, a, &f, c)) return false;
    if (!make_body(g, a, f.body) || (!a->start && !add_flag(g, &f))) return false;
    if (a->reverse && !flip_elements(g, &f, axes)) return false;
    fc_ninfo n = {.op = FC_OP_FOLD, .nops = 2, .src = {FC_NONODE, FC_NONODE, FC_NONODE}};
    const fc_node x = f.element[0];
    n.src[0] = fc_build_record(g, f.n, f.element);
    n.src[1] = fc_build_record(g, f.n, f.body);
    n.shape = shape_left(g, a, x, axes);
    n.flags = a->keepdims && !a->scan ? FC_NODE_KEEPDIMS : 0;
    n.axis_kind = a->scan ? 0 : (uint32_t)(axes >> (fc_rank(g, x) - 1) & 1);
    if (g->error.code) return false;
    for (uint32_t c = 0; c < a->n; c++) {
        out[c] = one_result(g, a, &f, n, axes, c);
        for (uint32_t axis = 0; a->reverse && axis < 64; axis++)
            if (axes >> axis & 1) out[c] = fc_build_flip(g, out[c], axis);
    }
    return !g->error.code;
}

/* ---- records of what they are made from ------------------------------------------------------ */

/* Values of a record as real numbers, and one more where a scan may begin anew. */
typedef struct real_record {
    uint32_t n;
    fc_node element[FC_MAX_RECORD], start[FC_MAX_RECORD], body[FC_MAX_RECORD], out[FC_MAX_RECORD];
} real_record;

static bool put(fc_graph *g, const fc_fold_args *a, uint32_t c, real_record *r) {
    const fusec_dtype t = (fusec_dtype)fc_at(g, a->element[c])->dtype;
    const bool two = fc_is_complex(t);
    const fc_parts x = two ? fc_full_parts(g, a->element[c]) : (fc_parts){a->element[c], FC_NONODE},
                   y = two ? fc_complex_parts(g, a->body[c]) : (fc_parts){a->body[c], FC_NONODE};
    fc_parts s = {FC_NONODE, FC_NONODE};
    if (a->start) {
        s.re = two ? fc_build_cast(g, a->start[c], t) : a->start[c];
        if (two) s = fc_complex_parts(g, s.re);
    }
    for (unsigned k = 0; k < (two ? 2 : 1); k++, r->n++) {
        r->element[r->n] = k ? x.im : x.re;
        r->start[r->n] = k ? s.im : s.re;
        r->body[r->n] = k ? y.im : y.re;
    }
    return !g->error.code;
}

/* (.., new1), (.., new2) -> (later if new2, else both joined; new1 or new2) */
static bool put_reset(fc_graph *g, const fc_fold_args *a, real_record *r) {
    const uint32_t n = r->n++;
    if (!fc_usable(g, a->reset)) return false;
    if (fc_at(g, a->reset)->dtype != FUSEC_BOOL) {
        fc_fail_types(g, FUSEC_NOT_BOOL, "reset=", a->reset, FC_NONODE, "it must be bool");
        return false;
    }
    const fc_node new1 = fc_build_slot(g, FUSEC_BOOL, n),
                  new2 = fc_build_slot(g, FUSEC_BOOL, FC_MAX_RECORD + n);
    for (uint32_t c = 0; c < n; c++) {
        const fusec_dtype t = fc_record_dtype((fusec_dtype)fc_at(g, r->element[c])->dtype);
        const fc_node later = fc_build_slot(g, t, FC_MAX_RECORD + c);
        r->body[c] = fc_where(g, new2, later, r->body[c]);
    }
    r->element[n] = a->reset;
    r->start[n] = fc_build_const(g, FUSEC_BOOL, 0);
    r->body[n] = fc_op2(g, FC_OP_logical_or, new1, new2);
    return !g->error.code;
}

/* What is before the first element of a stretch belongs to the one before. */
static bool cut_stretches(fc_graph *g, const fc_fold_args *a, real_record *r) {
    for (uint32_t c = 0; a->exclusive && c + 1 < r->n; c++) {
        const fusec_dtype t = (fusec_dtype)fc_at(g, r->out[c])->dtype;
        r->out[c] = fc_where(g, a->reset, fc_build_cast(g, r->start[c], t), r->out[c]);
        if (!fc_usable(g, r->out[c])) return false;
    }
    return true;
}

bool fc_build_fold(fc_graph *g, const fc_fold_args *a, fc_node *out) {
    real_record r = {.n = 0};
    uint32_t n = a->resets, k = 0;
    for (uint32_t c = 0; c < a->n; c++) out[c] = FC_NONODE;
    if (g->error.code) return false;
    for (uint32_t c = 0; c < a->n && c < FC_MAX_RECORD; c++) {
        if (!check_body(g, a, c)) return false;
        n += fc_slots_of((fusec_dtype)fc_at(g, a->element[c])->dtype);
    }
    const uint32_t most = FC_MAX_RECORD - !a->start;
    if (a->n < 1 || a->n > FC_MAX_RECORD || n > most) {
        fc_fail(&g->error, FUSEC_LIMIT, "%s: %u values in a record; %u is the most%s", a->what,
                a->n > n ? a->n : n, most, a->start ? "" : " without a start");
        return false;
    }
    if (a->scan && a->exclusive && !a->start) {
        fc_fail(&g->error, FUSEC_INVALID,
                "%s: an exclusive scan begins with its start; here is none", a->what);
        return false;
    }
    for (uint32_t c = 0; c < a->n; c++)
        if (!put(g, a, c, &r)) return false;
    if (a->resets && !put_reset(g, a, &r)) return false;
    fc_fold_args real = *a;
    real.n = r.n;
    real.element = r.element;
    real.start = a->start ? r.start : NULL;
    real.body = r.body;
    if (!build_real(g, &real, r.out) || (a->resets && !cut_stretches(g, a, &r))) return false;
    for (uint32_t c = 0; c < a->n; c++) {
        const bool two = fc_is_complex((fusec_dtype)fc_at(g, a->element[c])->dtype);
        out[c] = two ? fc_build_pair(g, r.out[k], r.out[k + 1]) : r.out[k];
        k += 1 + two;
    }
    return !g->error.code;
}

/* ---- what is made of them -------------------------------------------------------------------- */

static fc_node number(fc_graph *g, fusec_dtype t, int64_t v) {
    return fc_build_cast(g, fc_build_number(g, fc_is_complex(t) ? fc_part_dtype(t) : t, v), t);
}

static fc_node with_axis(fc_graph *g, fc_node x, uint32_t axis) {
    fc_dim shape[FC_MAX_RANK + 1];
    for (uint32_t i = 0; i <= fc_rank(g, x); i++)
        shape[i] = i == axis ? fc_dim_const(&g->dims, 1) : fc_axis(g, x, i - (i > axis));
    return fc_build_reshape(g, x, fc_rank(g, x) + 1, shape);
}

/* (A1, B1), (A2, B2) -> (A1*A2, A2*B1 + B2) */
fc_node fc_build_linrec(fc_graph *g, fc_node a, fc_node b, fc_node init, int64_t axis,
                        fc_fold_args how) {
    fc_node out[2];
    if (!fc_usable(g, a) || !fc_usable(g, b)) return FC_NONODE;
    const fusec_dtype t = fc_record_dtype((fusec_dtype)fc_at(g, b)->dtype);
    const uint32_t second = fc_slots_of(t);
    if (fc_at(g, a)->dtype != fc_at(g, b)->dtype)
        return fc_fail_types(g, FUSEC_DTYPE_MISMATCH, "linrec", a, b, "cast one of them");
    if (t == FUSEC_BOOL)
        return fc_fail_types(g, FUSEC_DTYPE_MISMATCH, "linrec", b, FC_NONODE, "it takes numbers");
    const fc_node a1 = fc_build_slot(g, t, 0), b1 = fc_build_slot(g, t, second),
                  a2 = fc_build_slot(g, t, FC_MAX_RECORD),
                  b2 = fc_build_slot(g, t, FC_MAX_RECORD + second);
    const fc_node body[2] = {fc_op2(g, FC_OP_mul, a1, a2),
                             fc_op2(g, FC_OP_add, fc_op2(g, FC_OP_mul, a2, b1), b2)};
    const fc_node element[2] = {a, b}, start[2] = {number(g, t, 1), number(g, t, 0)};
    how.what = "linrec";
    how.n = 2;
    how.element = element;
    how.start = start;
    how.body = body;
    how.naxes = 1;
    how.axes = &axis;
    how.scan = true;
    if (!fc_build_fold(g, &how, out) || init == FC_NONODE) return out[1];
    const uint32_t rank = fc_rank(g, out[1]);
    if (fc_usable(g, init) && fc_rank(g, init) && fc_rank(g, init) + 1 == rank)
        init = with_axis(g, init, (uint32_t)(axis < 0 ? axis + (int64_t)rank : axis));
    return fc_op2(g, FC_OP_add, fc_op2(g, FC_OP_mul, out[0], init), out[1]);
}

fc_op fc_join_row(fc_op red) {
    switch (red) {
    case FC_OP_prod: return FC_OP_mul;
    case FC_OP_min: return FC_OP_minimum;
    case FC_OP_max: return FC_OP_maximum;
    case FC_OP_any: return FC_OP_logical_or;
    case FC_OP_all: return FC_OP_logical_and;
    default: return FC_OP_add; /* sum, mean */
    }
}

/* What the row has for no elements. */
static fc_node start_of(fc_graph *g, fc_op red, fusec_dtype t) {
    fc_val out[FC_MAX_COMPONENTS];
    fc_code c;
    fc_code_init(&c, g->alloc);
    fc_red_init(&c, red, t, out);
    const bool made = c.status == FUSEC_OK && out[0] < c.ins.len;
    const fc_node n = made ? fc_build_const(g, t, c.ins.at[out[0]].imm) : FC_NONODE;
    if (!made) fc_oom(&g->error);
    fc_code_free(&c);
    return n;
}

fc_node fc_build_scan_reset(fc_graph *g, fc_op op, fc_node a, fc_node reset, int64_t axis,
                            bool exclusive, bool reverse) {
    fc_node out;
    if (!fc_usable(g, a) || !fc_usable(g, reset)) return FC_NONODE;
    if (!fc_can_scan(op)) {
        fc_fail(&g->error, FUSEC_INVALID, "%s has no prefixes", fc_ops[op].name);
        return FC_NONODE;
    }
    if (fc_ops[op].rule == FC_RULE_BOOL) a = fc_build_cast(g, a, FUSEC_BOOL);
    if (!fc_usable(g, a)) return FC_NONODE;
    const fusec_dtype of = (fusec_dtype)fc_at(g, a)->dtype;
    const fusec_dtype t = fc_is_complex(of) ? of : fc_acc_dtype(op, of);
    if (fc_is_complex(of) && op != FC_OP_sum && op != FC_OP_prod)
        return fc_complex_refuse(g, op, a);
    if (!fc_is_half(of)) a = fc_build_cast(g, a, t);
    const fc_node body =
        fc_op2(g, fc_join_row(op), fc_build_slot(g, t, 0), fc_build_slot(g, t, FC_MAX_RECORD));
    const fc_node start = fc_is_complex(of) ? number(g, t, op == FC_OP_prod) : start_of(g, op, t);
    const fc_fold_args args = {.what = "cum",
                               .n = 1,
                               .element = &a,
                               .start = &start,
                               .body = &body,
                               .naxes = 1,
                               .axes = &axis,
                               .scan = true,
                               .exclusive = exclusive,
                               .reverse = reverse,
                               .resets = true,
                               .reset = reset};
    fc_build_fold(g, &args, &out);
    return out;
}
