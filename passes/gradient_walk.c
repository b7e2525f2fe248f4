/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gradient_walk.c - reverse and forward mode: one walk over the nodes between what is derived and
 * what it is derived by, from the last to the first or the other way round.
 *
 * In: values, and what arrives at some of them. Out: what arrives at others, see gradient_walk.h.
 *
 * Where nothing leaks. A cotangent that came through a choice (where, maximum, clip, a slice) is 0
 * where it was not chosen, and stays marked. There an operand may lie where a factor is infinite:
 * sqrt(x) in where(x > 0, sqrt(x), 0) at x = 0. So what a marked cotangent is multiplied with is
 * guarded: 0 stays 0. */
#include "passes/gradient_walk.h"

#include "ir/complex.h"
#include "ir/fft.h"
#include "ir/fold.h"
#include "ir/loop.h"

/* ---- the nodes between ------------------------------------------------------------------------
 */

static unsigned cast_kind(const fc_ninfo *i) {
    return i->op == FC_OP_CAST ? FC_CAST_KIND(i->attr) : 0;
}

static const fc_custom *custom_of(const fc_graph *g, const fc_ninfo *i) {
    return cast_kind(i) == FC_CAST_CUSTOM ? &g->customs.at[FC_CAST_NUMBER(i->attr)] : NULL;
}

/* Whether a node before y that is needed stands in the list. */
static bool any_needed(const fc_grad_walk *w, uint32_t n, const fc_node *list) {
    bool any = false;
    for (uint32_t k = 0; k < n; k++) any |= list[k] <= w->y && w->needed[list[k]];
    return any;
}

/* Whether a list, or a list in it, has a value that is needed. */
static bool lists_needed(const fc_grad_walk *w, fc_node list) {
    const fc_graph *g = w->c.g;
    for (;; list = fc_at(g, list)->src[fc_at(g, list)->op == FC_OP_RECORD ? 2 : 1]) {
        const fc_ninfo *i = fc_at(g, list);
        if (i->op == FC_OP_RECORD) {
            const bool two = i->nops > 1 && w->needed[i->src[1]];
            if (two || w->needed[i->src[0]] || i->nops < 3) return two || w->needed[i->src[0]];
            continue;
        }
        if (i->op != FC_OP_LIST) return w->needed[list];
        if (i->nops && (fc_at(g, i->src[0])->op == FC_OP_LIST ? lists_needed(w, i->src[0])
                                                              : w->needed[i->src[0]]))
            return true;
        if (i->nops < 2) return false;
    }
}

static bool is_derived(fusec_dtype t) {
    return fc_is_float(t) || fc_is_complex(t);
}

/* Whether a step, or a value of one, reads what is needed. */
static bool step_needed(const fc_grad_walk *w, fc_node id) {
    const fc_graph *g = w->c.g;
    const fc_ninfo *i = fc_at(g, id);
    bool any = false;
    if (i->op == FC_OP_RESULT) {
        const fc_op step = (fc_op)fc_at(g, i->src[0])->op;
        if (step != FC_OP_CALL && step != FC_OP_LOOP) return false;
        return is_derived((fusec_dtype)i->dtype) && w->needed[i->src[0]];
    }
    if (i->op == FC_OP_FOLD) return lists_needed(w, i->src[0]);
    if (i->op == FC_OP_EXTERN)
        return is_derived((fusec_dtype)i->dtype) && i->nops == 3 && lists_needed(w, i->src[2]);
    if (i->op != FC_OP_CALL && i->op != FC_OP_LOOP) return false;
    for (unsigned k = 0; k < i->nops; k++) any |= lists_needed(w, i->src[k]);
    return any;
}

/* A part of an input, or of a bound variable, which may be used as a whole, too. */
static bool is_part_of_leaf(const fc_graph *g, fc_node n) {
    const fc_ninfo *i = fc_at(g, n);
    if (i->op != FC_OP_PART) return false;
    return fc_at(g, i->src[0])->op == FC_OP_INPUT || fc_at(g, i->src[0])->op == FC_OP_HOLE;
}

static void find_needed(fc_grad_walk *w, uint32_t n, const fc_node *x, uint8_t how) {
    const fc_graph *g = w->c.g;
    for (uint32_t k = 0; k < n; k++) {
        if (x[k] > w->y) continue;
        w->needed[x[k]] = is_part_of_leaf(g, x[k]) ? FC_AN_END : how;
        if (is_part_of_leaf(g, x[k])) w->needed[fc_at(g, x[k])->src[0]] = FC_AN_END;
    }
    for (fc_node id = 0; id <= w->y; id++) {
        const fc_ninfo *i = fc_at(g, id);
        const unsigned kind = cast_kind(i);
        if (fc_is_dft(g, id)) w->needed[id] |= w->needed[fc_dft_operand(g, id)] & 1;
        if (step_needed(w, id)) w->needed[id] |= 1;
        if ((!fc_is_float((fusec_dtype)i->dtype) && i->op != FC_OP_PAIR) || kind == FC_CAST_STOP ||
            kind == FC_CAST_SEED || i->op == FC_OP_RECORD)
            continue;
        const fc_custom *r = custom_of(g, i);
        w->needed[id] |= r ? any_needed(w, r->nargs, r->arg) : any_needed(w, i->nops, i->src);
    }
}

/* Of those, the ones that y is made of. `marked` is scratch so far. */
static void drop_unused(fc_grad_walk *w, uint32_t ny, const fc_node *y) {
    const fc_graph *g = w->c.g;
    uint8_t *used = w->marked;
    for (uint32_t k = 0; k < ny; k++) used[y[k]] = 1;
    for (fc_node id = w->y + 1; id-- > 0;) {
        const fc_ninfo *i = fc_at(g, id);
        const fc_custom *r = custom_of(g, i);
        for (int k = 0; used[id] && k < i->nops; k++) used[i->src[k]] = 1;
        for (uint32_t k = 0; used[id] && r && k < r->nargs; k++) used[r->arg[k]] = 1;
        if (!used[id]) w->needed[id] = 0;
        used[id] = 0;
    }
}

void fc_gw_free(fc_grad_walk *w) {
    const fc_alloc *a = w->c.g->alloc;
    fc_free(a, w->needed);
    fc_free(a, w->body);
    fc_free(a, w->marked);
    fc_free(a, w->value);
}

/* Which nodes are of bodies that are closed. */
static bool find_bodies(fc_grad_walk *w) {
    const fc_graph *g = w->c.g;
    fc_node first = 0;
    while (first <= w->y && fc_at(g, first)->op != FC_OP_LOOP) first++;
    if (first > w->y) return true;
    uint64_t *levels = fc_malloc(g->alloc, g->nodes.len * sizeof *levels);
    if (!levels) return false;
    fc_body_levels(g, levels);
    for (fc_node n = 0; n <= w->y; n++) w->body[n] = levels[n] > 1;
    fc_free(g->alloc, levels);
    return true;
}

bool fc_gw_begin(fc_grad_walk *w, fc_grad_ctx c, uint32_t ny, const fc_node *y, uint32_t n,
                 const fc_node *x, uint8_t how) {
    fc_graph *g = c.g;
    *w = (fc_grad_walk){.c = c};
    for (uint32_t k = 0; k < ny; k++) w->y = y[k] > w->y ? y[k] : w->y;
    const size_t len = (size_t)w->y + 1;
    w->needed = fc_calloc(g->alloc, len, 1);
    w->body = fc_calloc(g->alloc, len, 1);
    w->marked = fc_calloc(g->alloc, len, 1);
    w->value = fc_malloc(g->alloc, len * sizeof *w->value);
    if (!w->needed || !w->body || !w->marked || !w->value || !find_bodies(w)) {
        fc_oom(&g->error);
        fc_gw_free(w);
        return false;
    }
    memset(w->value, 0xff, len * sizeof *w->value); /* FC_NONODE */
    find_needed(w, n, x, how);
    drop_unused(w, ny, y);
    return true;
}

static bool is_walked(const fc_grad_walk *w, fc_node id) {
    return w->needed[id] == 1 && !w->body[id];
}

/* A share in the form that all have: a constant, or of the shape of its node. */
static fc_node shaped_as(fc_grad_ctx *c, fc_node v, fc_node n) {
    if (v == FC_NONODE || fc_g_is_const(c->g, v)) return v;
    return fc_g_spread_as(c, v, n);
}

/* Adds a share to what a node has. */
void fc_gw_add_share(fc_grad_walk *w, fc_node n, fc_node v, bool marked) {
    v = shaped_as(&w->c, v, n);
    if (v == FC_NONODE) return;
    w->marked[n] |= marked;
    w->value[n] = w->value[n] == FC_NONODE ? v : fc_op2(w->c.g, FC_OP_add, w->value[n], v);
}

/* ---- reverse --------------------------------------------------------------------------------- */

static fc_node no_rule(fc_grad_ctx *c, fc_node n) {
    const fc_ninfo *i = fc_at(c->g, n);
    const int op = i->op == FC_OP_RESULT ? fc_at(c->g, i->src[0])->op : i->op;
    fc_g_fail(
        c, n,
        op == FC_OP_EXTERN || op == FC_OP_CALL
            ? "it has no rule; @gradient(g) before a definition that calls it gives one, in C "
              "fusec_custom_grad"
            : "it has no rule");
    return FC_NONODE;
}

/* What arrives at the one operand of a node that is no row. */
static fc_node reverse_one(fc_grad_ctx *c, fc_node n, fc_node a, bool guard, bool *chooses) {
    fc_graph *g = c->g;
    const fc_ninfo i = *fc_at(g, n);
    if (fc_is_reduction(i.op)) return fc_g_reduce_reverse(c, n, a, guard, chooses);
    if (fc_is_view(i.op)) return fc_g_view_reverse(c, n, a, chooses);
    switch (i.op) {
    case FC_OP_CAST: return fc_build_cast(g, a, (fusec_dtype)fc_at(g, i.src[0])->dtype);
    case FC_OP_MATERIALIZE: return a;
    case FC_OP_PART: {
        const fc_node zero = fc_build_number(g, (fusec_dtype)i.dtype, 0);
        return i.attr ? fc_build_pair(g, zero, a) : fc_build_pair(g, a, zero);
    }
    case FC_OP_SCAN: return fc_g_scan(c, n, a, true);
    case FC_OP_TAKE: *chooses = true; return fc_g_take_reverse(c, n, a);
    default: return no_rule(c, n);
    }
}

static void reverse_dot(fc_grad_walk *w, fc_node n) {
    for (int k = 0; k < 2 && !w->c.g->error.code; k++) {
        const fc_node x = fc_g_dot_target(w->c.g, n, k);
        if (!w->needed[x]) continue;
        const fc_node v = fc_g_dot_reverse(&w->c, n, k, w->value[n], w->marked[n]);
        fc_gw_add_share(w, x, v, w->marked[n]);
    }
}

/* All results at once, when the first is met: every user of the others comes behind it. */
static void reverse_custom(fc_grad_walk *w, fc_node n, fc_custom r) {
    fc_graph *g = w->c.g;
    if (n != fc_g_custom_first(g, &r)) return;
    fc_node *arrives = fc_malloc(g->alloc, (r.nresults + r.nargs + 1) * sizeof *arrives);
    if (!arrives) {
        fc_oom(&g->error);
        return;
    }
    fc_node *share = arrives + r.nresults;
    bool any = false, marked = false;
    for (uint32_t i = 0; i < r.nresults; i++) {
        const fc_node y = r.result[i];
        const bool keeps = y <= w->y && w->needed[y] & FC_AN_END;
        const fc_node v = y <= w->y && !keeps ? w->value[y] : FC_NONODE;
        any |= v != FC_NONODE;
        marked |= y <= w->y && w->marked[y];
        arrives[i] = fc_g_spread_as(&w->c, v == FC_NONODE ? fc_g_zero(g, y) : v, y);
    }
    if (any) fc_g_custom_reverse(&w->c, n, &r, arrives, share);
    for (uint32_t k = 0; any && k < r.nargs && !g->error.code; k++)
        if (r.arg[k] <= w->y && w->needed[r.arg[k]]) fc_gw_add_share(w, r.arg[k], share[k], marked);
    fc_free(g->alloc, arrives);
}

static bool is_loop_value(const fc_graph *g, fc_node n) {
    return fc_at(g, n)->op == FC_OP_RESULT && fc_at(g, fc_at(g, n)->src[0])->op == FC_OP_LOOP;
}

/* What has arrived at the values of a loop, or the tangents that they have. */
static void values_of(const fc_grad_walk *w, fc_node loop, fc_node *at, bool *any, bool *marked) {
    const fc_graph *g = w->c.g;
    for (uint32_t i = 0; i < FC_MAX_LOOP_VALUES; i++) at[i] = FC_NONODE;
    for (fc_node n = loop + 1; n <= w->y; n++) {
        const fc_ninfo *i = fc_at(g, n);
        if (i->op != FC_OP_RESULT || i->src[0] != loop || w->value[n] == FC_NONODE) continue;
        if (w->needed[n] & FC_AN_END) continue; /* keeps what it has */
        at[i->attr] = w->value[n];
        *any = true;
        *marked |= w->marked[n];
    }
}

void fc_g_share(fc_grad_ctx *c, fc_g_shares *s, fc_node to, fc_node value) {
    const fc_alloc *a = c->g->alloc;
    if (value == FC_NONODE || c->g->error.code) return;
    if (!fc_push(a, &s->to, to) || !fc_push(a, &s->value, value)) fc_oom(&c->g->error);
}

static void add_shares(fc_grad_walk *w, fc_g_shares *s, bool marked) {
    const fc_alloc *a = w->c.g->alloc;
    for (size_t i = 0; i < s->value.len && !w->c.g->error.code; i++)
        if (w->needed[s->to.at[i]]) fc_gw_add_share(w, s->to.at[i], s->value.at[i], marked);
    fc_vec_free(a, &s->to);
    fc_vec_free(a, &s->value);
}

static void reverse_loop(fc_grad_walk *w, fc_node loop) {
    fc_node at[FC_MAX_LOOP_VALUES];
    fc_g_shares s = {{0}, {0}};
    bool any = false, marked = false;
    values_of(w, loop, at, &any, &marked);
    if (any) fc_g_loop_reverse(&w->c, loop, w->needed, at, marked, &s);
    add_shares(w, &s, true);
}

/* A reduction or scan by a definition, or a scan by a row that is no sum. */
static bool is_folded(const fc_ninfo *i) {
    return i->op == FC_OP_FOLD || (i->op == FC_OP_SCAN && fc_scan_of(i).op != FC_OP_sum);
}

static void reverse_fold(fc_grad_walk *w, fc_node n) {
    fc_g_shares s = {{0}, {0}};
    fc_g_fold_reverse(&w->c, n, w->needed, w->value[n], w->marked[n], &s);
    add_shares(w, &s, true);
}

static void reverse_step(fc_grad_walk *w, fc_node n) {
    const fc_ninfo i = *fc_at(w->c.g, n);
    const fc_node a = w->value[n];
    const fc_custom *r = custom_of(w->c.g, &i);
    if (r) {
        reverse_custom(w, n, *r);
        return;
    }
    if (i.op == FC_OP_dot) {
        reverse_dot(w, n);
        return;
    }
    if (i.op == FC_OP_LOOP) {
        reverse_loop(w, n);
        return;
    }
    if (is_folded(&i)) {
        reverse_fold(w, n);
        return;
    }
    if (is_loop_value(w->c.g, n)) return; /* waits for the loop */
    if (fc_is_dft(w->c.g, n)) {
        fc_gw_add_share(w, fc_dft_operand(w->c.g, n), fc_g_fft_reverse(&w->c, n, a), w->marked[n]);
        return;
    }
    for (unsigned k = 0; k < i.nops && !w->c.g->error.code; k++) {
        if (!w->needed[i.src[k]]) continue;
        bool marked = w->marked[n];
        const fc_node v =
            i.op == FC_OP_PAIR        ? fc_build_part(w->c.g, a, k)
            : i.op == FC_OP_SCATTER   ? fc_g_scatter_reverse(&w->c, n, (int)k, a, &marked)
            : fc_is_elementwise(i.op) ? fc_g_row_share(&w->c, n, k, a, w->marked[n], &marked)
                                      : reverse_one(&w->c, n, a, w->marked[n], &marked);
        fc_gw_add_share(w, i.src[k], v, marked);
    }
}

/* What an array of pairs got as a whole goes to its parts, which it is derived by. */
static void split_parts(fc_grad_walk *w, uint32_t n, const fc_node *x) {
    fc_graph *g = w->c.g;
    for (uint32_t k = 0; k < n && !g->error.code; k++) {
        if (x[k] > w->y || !is_part_of_leaf(g, x[k])) continue;
        const fc_node v = w->value[fc_at(g, x[k])->src[0]];
        if (v != FC_NONODE)
            fc_gw_add_share(w, x[k], fc_build_part(g, v, fc_at(g, x[k])->attr != 0), true);
    }
}

bool fc_gw_reverse(fc_grad_walk *w, uint32_t n, const fc_node *x) {
    fc_graph *g = w->c.g;
    for (fc_node id = w->y + 1; id-- > 0 && !g->error.code;) {
        const bool first = custom_of(g, fc_at(g, id)) != NULL; /* another result may have arrived */
        const bool whole = fc_at(g, id)->op == FC_OP_LOOP;
        if ((w->value[id] != FC_NONODE || first || whole) && is_walked(w, id)) reverse_step(w, id);
    }
    split_parts(w, n, x);
    return !g->error.code;
}

/* What has arrived at x, in its shape. */
bool fc_gw_take_shares(fc_grad_walk *w, uint32_t n, const fc_node *x, fc_node *dx) {
    fc_graph *g = w->c.g;
    for (uint32_t k = 0; k < n && !g->error.code; k++) {
        const fc_node v = x[k] <= w->y ? w->value[x[k]] : FC_NONODE;
        dx[k] = fc_g_spread_as(&w->c, v == FC_NONODE ? fc_g_zero(g, x[k]) : v, x[k]);
    }
    return !g->error.code;
}

/* ---- forward --------------------------------------------------------------------------------- */

static fc_node forward_one(fc_grad_ctx *c, fc_node n, fc_node t, bool guard, bool *chooses) {
    fc_graph *g = c->g;
    const fc_ninfo i = *fc_at(g, n);
    if (fc_is_reduction(i.op)) return fc_g_reduce_forward(c, n, t, guard, chooses);
    if (fc_is_view(i.op)) return fc_g_view_forward(c, n, t);
    switch (i.op) {
    case FC_OP_CAST: return fc_build_cast(g, t, (fusec_dtype)i.dtype);
    case FC_OP_MATERIALIZE: return t;
    case FC_OP_PART: return fc_build_part(g, t, i.attr != 0);
    case FC_OP_SCAN: return fc_g_scan(c, n, t, false);
    case FC_OP_TAKE: return fc_g_index_forward(c, n, t);
    default: return no_rule(c, n);
    }
}

/* A choice between two tangents is one choice, not the sum of two. */
static fc_node forward_where(fc_grad_walk *w, const fc_ninfo *i) {
    fc_graph *g = w->c.g;
    fc_node t[2];
    for (int k = 0; k < 2; k++) {
        t[k] = w->value[i->src[k + 1]];
        if (t[k] == FC_NONODE) t[k] = fc_build_number(g, (fusec_dtype)i->dtype, 0);
    }
    return fc_where(g, i->src[0], t[0], t[1]);
}

static void forward_custom(fc_grad_walk *w, fc_node n, fc_custom r) {
    fc_graph *g = w->c.g;
    fc_node *t = fc_malloc(g->alloc, (r.nargs + 1) * sizeof *t);
    if (!t) {
        fc_oom(&g->error);
        return;
    }
    for (uint32_t k = 0; k < r.nargs; k++) t[k] = r.arg[k] <= w->y ? w->value[r.arg[k]] : FC_NONODE;
    const fc_node v = fc_g_custom_forward(&w->c, &r, FC_CAST_RESULT(fc_at(g, n)->attr), t);
    fc_gw_add_share(w, n, v, false);
    fc_free(g->alloc, t);
}

static void forward_loop(fc_grad_walk *w, fc_node loop) {
    fc_node at[FC_MAX_LOOP_VALUES];
    for (uint32_t i = 0; i < FC_MAX_LOOP_VALUES; i++) at[i] = FC_NONODE;
    fc_g_loop_forward(&w->c, loop, w->needed, w->value, true, at);
    for (fc_node n = loop + 1; n <= w->y && !w->c.g->error.code; n++)
        if (w->needed[n] == 1 && is_loop_value(w->c.g, n) && fc_at(w->c.g, n)->src[0] == loop)
            fc_gw_add_share(w, n, at[fc_at(w->c.g, n)->attr], true);
}

/* The tangents of x, and of arrays of pairs that they are parts of. */
void fc_gw_set_tangents(fc_grad_walk *w, uint32_t n, const fc_node *x, const fc_node *dx) {
    fc_graph *g = w->c.g;
    for (uint32_t k = 0; k < n; k++)
        if (x[k] <= w->y && dx[k] != FC_NONODE) w->value[x[k]] = dx[k];
    for (uint32_t k = 0; k < n && !g->error.code; k++) {
        if (x[k] > w->y || !is_part_of_leaf(g, x[k]) || dx[k] == FC_NONODE) continue;
        const fc_node z = fc_at(g, x[k])->src[0], none = fc_g_zero(g, x[k]);
        const bool imaginary = fc_at(g, x[k])->attr != 0;
        const fc_node v = fc_build_pair(g, imaginary ? none : dx[k], imaginary ? dx[k] : none);
        fc_gw_add_share(w, z, v, false);
    }
}

static void forward_step(fc_grad_walk *w, fc_node n);

/* An x that depends on another one moves as it is told. */
bool fc_gw_forward(fc_grad_walk *w) {
    fc_graph *g = w->c.g;
    for (fc_node id = 0; id <= w->y && !g->error.code; id++)
        if (is_walked(w, id) && w->value[id] == FC_NONODE) forward_step(w, id);
    return !g->error.code;
}

static void forward_step(fc_grad_walk *w, fc_node n) {
    const fc_ninfo i = *fc_at(w->c.g, n);
    const fc_custom *r = custom_of(w->c.g, &i);
    if (r) {
        forward_custom(w, n, *r);
        return;
    }
    if (i.flags & FC_NODE_RAGGED) {
        fc_g_row_share(&w->c, n, 1, FC_NONODE, false, &(bool){false}); /* says why not */
        return;
    }
    if (i.op == FC_OP_where) {
        fc_gw_add_share(w, n, forward_where(w, &i), true);
        return;
    }
    if (i.op == FC_OP_LOOP) {
        forward_loop(w, n);
        return;
    }
    if (is_folded(&i)) {
        fc_gw_add_share(w, n, fc_g_fold_forward(&w->c, n, w->value), true);
        return;
    }
    if (is_loop_value(w->c.g, n)) return; /* has its tangent by now, or none */
    if (fc_is_dft(w->c.g, n)) {
        const fc_node x = fc_dft_operand(w->c.g, n);
        fc_gw_add_share(w, n, fc_g_fft_forward(&w->c, n, w->value[x]), w->marked[x]);
        return;
    }
    if (i.op == FC_OP_PAIR) {
        fc_node t[2];
        for (int k = 0; k < 2; k++) {
            t[k] = w->value[i.src[k]];
            if (t[k] == FC_NONODE) t[k] = fc_g_zero(w->c.g, i.src[k]);
        }
        fc_gw_add_share(w, n, fc_build_pair(w->c.g, t[0], t[1]), true);
        return;
    }
    if (i.op == FC_OP_SCATTER) {
        const bool any = w->value[i.src[0]] != FC_NONODE || w->value[i.src[2]] != FC_NONODE;
        if (any)
            fc_gw_add_share(w, n,
                            fc_g_scatter_forward(&w->c, n, w->value[i.src[0]], w->value[i.src[2]]),
                            w->marked[i.src[0]] | w->marked[i.src[2]]);
        return;
    }
    for (int k = 0; i.op == FC_OP_dot && k < 2 && !w->c.g->error.code; k++) {
        const fc_node x = fc_g_dot_target(w->c.g, n, k), t = w->value[x];
        if (t != FC_NONODE) fc_gw_add_share(w, n, fc_g_dot_forward(&w->c, n, k, t), w->marked[x]);
    }
    for (unsigned k = 0; i.op != FC_OP_dot && k < i.nops && !w->c.g->error.code; k++) {
        const fc_node t = w->value[i.src[k]];
        if (t == FC_NONODE) continue;
        const bool guard = w->marked[i.src[k]];
        bool marked = guard;
        const fc_node v = fc_is_elementwise(i.op) ? fc_g_row_share(&w->c, n, k, t, guard, &marked)
                                                  : forward_one(&w->c, n, t, guard, &marked);
        fc_gw_add_share(w, n, v, marked);
    }
}
