/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gradient.c - reverse and forward mode over the nodes of a graph, and the rules of rows.
 *
 * In: a node, those it is derived by, and what arrives (the cotangent of the result, or the
 * tangents of the operands). Out: new nodes of the same graph. Both modes are one walk over the
 * nodes that lie between, from the last to the first or the other way round.
 *
 * Where nothing leaks. A cotangent that came through a choice (where, maximum, clip, a slice) is 0
 * where it was not chosen, and stays marked. There an operand may lie where a factor is infinite:
 * sqrt(x) in where(x > 0, sqrt(x), 0) at x = 0. So what a marked cotangent is multiplied with is
 * guarded: 0 stays 0. */
#include "passes/gradient_impl.h"

#include "ir/code.h"
#include "ir/complex.h"
#include "ir/composites.h"
#include "ir/fft.h"
#include "ir/fold.h"
#include "ir/loop.h"
#include "passes/match.h"

/* ---- what the rules are made of -------------------------------------------------------------- */

bool fc_g_is_const(const fc_graph *g, fc_node n) {
    return n < g->nodes.len && fc_at(g, n)->op == FC_OP_CONST;
}

static bool is_number(const fc_graph *g, fc_node n, double v) {
    return fc_g_is_const(g, n) &&
           fc_const_is((fusec_dtype)fc_at(g, n)->dtype, fc_at(g, n)->attr, v);
}

fc_node fc_g_op(fc_grad_ctx *c, fc_op op, fc_node a, fc_node b) {
    if (op == FC_OP_mul && is_number(c->g, a, 1)) return b;
    if ((op == FC_OP_mul || op == FC_OP_div) && is_number(c->g, b, 1)) return a;
    return fc_build_op(c->g, op, a, b, FC_NONODE);
}

fc_node fc_g_guard(fc_grad_ctx *c, fc_node a, fc_node v) {
    fc_graph *g = c->g;
    if (v == FC_NONODE || (fc_g_is_const(g, a) && !is_number(g, a, 0))) return v;
    const fusec_dtype t = (fusec_dtype)fc_at(g, a)->dtype;
    const fc_node none = fc_build_number(g, t, 0);
    return fc_build_op(g, FC_OP_where, fc_build_op(g, FC_OP_eq, a, none, FC_NONODE), none, v);
}

uint32_t fc_g_shape(const fc_graph *g, fc_node n, fc_dim *shape) {
    const uint32_t rank = fc_rank(g, n);
    for (uint32_t i = 0; i < rank; i++) shape[i] = fc_axis(g, n, i);
    return rank;
}

/* The leading axes and these; false: too many. */
static bool behind_lead(fc_grad_ctx *c, uint32_t rank, const fc_dim *shape, fc_dim *out) {
    if (c->nlead + rank > FC_MAX_RANK) {
        fc_fail(&c->g->error, FUSEC_LIMIT, "a jacobian of rank %u; the limit is %u",
                c->nlead + rank, (unsigned)FC_MAX_RANK);
        return false;
    }
    memcpy(out, c->lead, c->nlead * sizeof *out);
    if (rank) memcpy(out + c->nlead, shape, rank * sizeof *out);
    return true;
}

fc_node fc_g_spread(fc_grad_ctx *c, fc_node v, uint32_t rank, const fc_dim *shape) {
    fc_dim all[FC_MAX_RANK];
    if (v == FC_NONODE || !behind_lead(c, rank, shape, all)) return FC_NONODE;
    return fc_build_broadcast(c->g, v, c->nlead + rank, all);
}

fc_node fc_g_reshape(fc_grad_ctx *c, fc_node v, uint32_t rank, const fc_dim *shape) {
    fc_dim all[FC_MAX_RANK];
    if (v == FC_NONODE || fc_g_is_const(c->g, v)) return v;
    if (!behind_lead(c, rank, shape, all)) return FC_NONODE;
    return fc_build_reshape(c->g, v, c->nlead + rank, all);
}

void fc_g_fail(fc_grad_ctx *c, fc_node n, const char *why) {
    if (c->g->error.code) return;
    const fc_ninfo *i = fc_at(c->g, n);
    const int op = i->op == FC_OP_RESULT ? fc_at(c->g, i->src[0])->op : i->op;
    if (i->op == FC_OP_LOOP) { /* gives several values */
        fc_fail(&c->g->error, FUSEC_NO_GRADIENT,
                "the loop has no derivative: %s; stop_grad() of its result is taken as a constant",
                why);
        return;
    }
    fc_str t;
    fc_str_init(&t, c->g->alloc);
    fc_type_print(c->g, n, &t);
    if (t.oom) fc_oom(&c->g->error);
    fc_fail(&c->g->error, FUSEC_NO_GRADIENT,
            "%s, which gives %s, has no derivative: %s; stop_grad() of it is taken as a constant",
            fc_ops[op].name, t.data, why);
    fc_str_free(&t);
}

static fc_node no_rule(fc_grad_ctx *c, fc_node n) {
    fc_g_fail(c, n, "it has no rule");
    return FC_NONODE;
}

/* A share in the form that all have: a constant, or of the shape of its node. */
static fc_node shaped_as(fc_grad_ctx *c, fc_node v, fc_node n) {
    fc_dim shape[FC_MAX_RANK];
    if (v == FC_NONODE || fc_g_is_const(c->g, v)) return v;
    const uint32_t rank = fc_g_shape(c->g, n, shape);
    return fc_g_spread(c, v, rank, shape);
}

/* ---- rows: the texts of GRAD ----------------------------------------------------------------- */

typedef struct row_rule {
    fc_grad_ctx *c;
    const fc_pterm *terms;
    fc_node at[FC_P_SLOTS]; /* what the letters stand for */
} row_rule;

/* Recursion over a text of ops.def. */
static fc_node build_term(row_rule *r, unsigned i, fusec_dtype t) {
    fc_graph *g = r->c->g;
    const fc_pterm *p = &r->terms[i];
    uint64_t bits;
    if (p->kind == FC_P_VALUE) return r->at[p->slot];
    if (p->kind != FC_P_OP)
        return fc_pterm_bits(p, t, &bits) ? fc_build_const(g, t, bits) : FC_NONODE;
    const fusec_dtype inner =
        p->slot == FC_P_NOSLOT ? t : (fusec_dtype)fc_at(g, r->at[p->slot])->dtype;
    fc_node kid[3] = {FC_NONODE, FC_NONODE, FC_NONODE};
    for (unsigned k = 0; k < p->nkids; k++) {
        kid[k] = build_term(r, p->kid[k], p->op == FC_OP_where && k == 0 ? FUSEC_BOOL : inner);
        if (kid[k] == FC_NONODE) return FC_NONODE;
    }
    if (p->op == FC_OP_CAST) return fc_build_cast(g, kid[0], t);
    if (p->nkids == 2) return fc_g_op(r->c, (fc_op)p->op, kid[0], kid[1]);
    return fc_build_op(g, (fc_op)p->op, kid[0], kid[1], kid[2]);
}

/* psi(x) is more than a row. */
static fc_node gamma_share(fc_grad_ctx *c, fc_node n, fc_node arrives, bool guard) {
    const fc_ninfo i = *fc_at(c->g, n);
    fc_node psi;
    fc_build_digamma(c->g, i.src, &psi);
    if (i.op == FC_OP_tgamma) psi = fc_g_op(c, FC_OP_mul, psi, n);
    const fc_node v = fc_g_op(c, FC_OP_mul, arrives, psi);
    return guard ? fc_g_guard(c, arrives, v) : v;
}

/* The share that goes through operand k of row n when `arrives` arrives. FC_NONODE: none, or the
 * graph has an error. */
static fc_node row_share(fc_grad_ctx *c, fc_node n, unsigned k, fc_node arrives, bool guard,
                         bool *chooses) {
    fc_graph *g = c->g;
    const fc_ninfo i = *fc_at(g, n);
    const fc_formula *f;
    if (fc_gradient_formula(i.op, k, &f, &g->error)) return FC_NONODE;
    if (i.op == FC_OP_lgamma || i.op == FC_OP_tgamma) return gamma_share(c, n, arrives, guard);
    if (!f->terms) {
        fc_g_fail(c, n, "there is no operation to write it with");
        return FC_NONODE;
    }
    if (f->zero) return FC_NONODE;
    *chooses |= f->chooses;
    row_rule r = {.c = c, .terms = f->terms};
    memset(r.at, 0xff, sizeof r.at); /* FC_NONODE */
    memcpy(r.at, i.src, sizeof i.src);
    r.at[FC_P_RESULT] = n;
    r.at[FC_P_ARRIVES] = arrives;
    const fc_node v = build_term(&r, 0, (fusec_dtype)i.dtype);
    return guard && !f->safe ? fc_g_guard(c, arrives, v) : v;
}

/* ---- the nodes between ------------------------------------------------------------------------
 */

enum { FC_AN_END = 2 };

typedef struct walk {
    fc_grad_ctx c;
    fc_node y;
    uint8_t *needed; /* by node up to y: y is made of it, and it depends on an x through floats;
                        FC_AN_END: it is one of x, and nothing behind it is looked at */
    uint8_t *body;   /* made of the bound variables of a loop, which is looked at as a whole */
    uint8_t *marked; /* its value came through a choice */
    fc_node *value;  /* cotangent or tangent; FC_NONODE: 0 */
} walk;

static unsigned cast_kind(const fc_ninfo *i) {
    return i->op == FC_OP_CAST ? FC_CAST_KIND(i->attr) : 0;
}

static const fc_custom *custom_of(const fc_graph *g, const fc_ninfo *i) {
    return cast_kind(i) == FC_CAST_CUSTOM ? &g->customs.at[FC_CAST_NUMBER(i->attr)] : NULL;
}

/* Whether a node before y that is needed stands in the list. */
static bool any_needed(const walk *w, uint32_t n, const fc_node *list) {
    bool any = false;
    for (uint32_t k = 0; k < n; k++) any |= list[k] <= w->y && w->needed[list[k]];
    return any;
}

/* Whether a list, or a list in it, has a value that is needed. */
static bool lists_needed(const walk *w, fc_node list) {
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
static bool step_needed(const walk *w, fc_node id) {
    const fc_graph *g = w->c.g;
    const fc_ninfo *i = fc_at(g, id);
    bool any = false;
    if (i->op == FC_OP_RESULT) {
        const fc_op step = (fc_op)fc_at(g, i->src[0])->op;
        if (step != FC_OP_CALL && step != FC_OP_LOOP) return false;
        return is_derived((fusec_dtype)i->dtype) && w->needed[i->src[0]];
    }
    if (i->op == FC_OP_FOLD) return lists_needed(w, i->src[0]);
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

static void find_needed(walk *w, uint32_t n, const fc_node *x, uint8_t how) {
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
static void drop_unused(walk *w, uint32_t ny, const fc_node *y) {
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

static void walk_free(walk *w) {
    const fc_alloc *a = w->c.g->alloc;
    fc_free(a, w->needed);
    fc_free(a, w->body);
    fc_free(a, w->marked);
    fc_free(a, w->value);
}

/* Which nodes are of bodies that are closed. */
static bool find_bodies(walk *w) {
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

static bool walk_begin(walk *w, fc_grad_ctx c, uint32_t ny, const fc_node *y, uint32_t n,
                       const fc_node *x, uint8_t how) {
    fc_graph *g = c.g;
    *w = (walk){.c = c};
    for (uint32_t k = 0; k < ny; k++) w->y = y[k] > w->y ? y[k] : w->y;
    const size_t len = (size_t)w->y + 1;
    w->needed = fc_calloc(g->alloc, len, 1);
    w->body = fc_calloc(g->alloc, len, 1);
    w->marked = fc_calloc(g->alloc, len, 1);
    w->value = fc_malloc(g->alloc, len * sizeof *w->value);
    if (!w->needed || !w->body || !w->marked || !w->value || !find_bodies(w)) {
        fc_oom(&g->error);
        walk_free(w);
        return false;
    }
    memset(w->value, 0xff, len * sizeof *w->value); /* FC_NONODE */
    find_needed(w, n, x, how);
    drop_unused(w, ny, y);
    return true;
}

static bool is_walked(const walk *w, fc_node id) {
    return w->needed[id] == 1 && !w->body[id];
}

/* Adds a share to what a node has. */
static void add_share(walk *w, fc_node n, fc_node v, bool marked) {
    v = shaped_as(&w->c, v, n);
    if (v == FC_NONODE) return;
    w->marked[n] |= marked;
    w->value[n] =
        w->value[n] == FC_NONODE ? v : fc_build_op(w->c.g, FC_OP_add, w->value[n], v, FC_NONODE);
}

fc_node fc_g_zero(fc_graph *g, fc_node n) {
    const fusec_dtype t = (fusec_dtype)fc_at(g, n)->dtype;
    if (!fc_is_complex(t)) return fc_build_number(g, t, 0);
    const fc_node part = fc_build_number(g, fc_part_dtype(t), 0);
    return fc_build_pair(g, part, part);
}

/* ---- reverse --------------------------------------------------------------------------------- */

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

static void reverse_dot(walk *w, fc_node n) {
    for (int k = 0; k < 2 && !w->c.g->error.code; k++) {
        const fc_node x = fc_g_dot_target(w->c.g, n, k);
        if (!w->needed[x]) continue;
        const fc_node v = fc_g_dot_reverse(&w->c, n, k, w->value[n], w->marked[n]);
        add_share(w, x, v, w->marked[n]);
    }
}

/* All results at once, when the first is met: every user of the others comes behind it. */
static void reverse_custom(walk *w, fc_node n, fc_custom r) {
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
        fc_dim shape[FC_MAX_RANK];
        const fc_node y = r.result[i];
        const bool keeps = y <= w->y && w->needed[y] & FC_AN_END;
        const fc_node v = y <= w->y && !keeps ? w->value[y] : FC_NONODE;
        const uint32_t rank = fc_g_shape(g, y, shape);
        any |= v != FC_NONODE;
        marked |= y <= w->y && w->marked[y];
        arrives[i] = fc_g_spread(&w->c, v == FC_NONODE ? fc_g_zero(g, y) : v, rank, shape);
    }
    if (any) fc_g_custom_reverse(&w->c, n, &r, arrives, share);
    for (uint32_t k = 0; any && k < r.nargs && !g->error.code; k++)
        if (r.arg[k] <= w->y && w->needed[r.arg[k]]) add_share(w, r.arg[k], share[k], marked);
    fc_free(g->alloc, arrives);
}

static bool is_loop_value(const fc_graph *g, fc_node n) {
    return fc_at(g, n)->op == FC_OP_RESULT && fc_at(g, fc_at(g, n)->src[0])->op == FC_OP_LOOP;
}

/* What has arrived at the values of a loop, or the tangents that they have. */
static void values_of(const walk *w, fc_node loop, fc_node *at, bool *any, bool *marked) {
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

static void add_shares(walk *w, fc_g_shares *s, bool marked) {
    const fc_alloc *a = w->c.g->alloc;
    for (size_t i = 0; i < s->value.len && !w->c.g->error.code; i++)
        if (w->needed[s->to.at[i]]) add_share(w, s->to.at[i], s->value.at[i], marked);
    fc_vec_free(a, &s->to);
    fc_vec_free(a, &s->value);
}

static void reverse_loop(walk *w, fc_node loop) {
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

static void reverse_fold(walk *w, fc_node n) {
    fc_g_shares s = {{0}, {0}};
    fc_g_fold_reverse(&w->c, n, w->needed, w->value[n], w->marked[n], &s);
    add_shares(w, &s, true);
}

static void reverse_step(walk *w, fc_node n) {
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
    if (fc_is_dft(w->c.g, n)) {           /* the matrix of a transform is symmetric */
        const bool back = !fc_dft_is_inverse(w->c.g, n);
        add_share(w, fc_dft_operand(w->c.g, n), fc_build_dft(w->c.g, a, back), w->marked[n]);
        return;
    }
    for (unsigned k = 0; k < i.nops && !w->c.g->error.code; k++) {
        if (!w->needed[i.src[k]]) continue;
        bool marked = w->marked[n];
        const fc_node v =
            i.op == FC_OP_PAIR        ? fc_build_part(w->c.g, a, k)
            : i.op == FC_OP_SCATTER   ? fc_g_scatter_reverse(&w->c, n, (int)k, a, &marked)
            : fc_is_elementwise(i.op) ? row_share(&w->c, n, k, a, w->marked[n], &marked)
                                      : reverse_one(&w->c, n, a, w->marked[n], &marked);
        add_share(w, i.src[k], v, marked);
    }
}

/* What an array of pairs got as a whole goes to its parts, which it is derived by. */
static void split_parts(walk *w, uint32_t n, const fc_node *x) {
    fc_graph *g = w->c.g;
    for (uint32_t k = 0; k < n && !g->error.code; k++) {
        if (x[k] > w->y || !is_part_of_leaf(g, x[k])) continue;
        const fc_node v = w->value[fc_at(g, x[k])->src[0]];
        if (v != FC_NONODE)
            add_share(w, x[k], fc_build_part(g, v, fc_at(g, x[k])->attr != 0), true);
    }
}

static bool reverse(walk *w, uint32_t n, const fc_node *x) {
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
static bool take_shares(walk *w, uint32_t n, const fc_node *x, fc_node *dx) {
    fc_graph *g = w->c.g;
    fc_dim shape[FC_MAX_RANK];
    for (uint32_t k = 0; k < n && !g->error.code; k++) {
        const fc_node v = x[k] <= w->y ? w->value[x[k]] : FC_NONODE;
        const uint32_t rank = fc_g_shape(g, x[k], shape);
        dx[k] = fc_g_spread(&w->c, v == FC_NONODE ? fc_g_zero(g, x[k]) : v, rank, shape);
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
static fc_node forward_where(walk *w, const fc_ninfo *i) {
    fc_graph *g = w->c.g;
    fc_node t[2];
    for (int k = 0; k < 2; k++) {
        t[k] = w->value[i->src[k + 1]];
        if (t[k] == FC_NONODE) t[k] = fc_build_number(g, (fusec_dtype)i->dtype, 0);
    }
    return fc_build_op(g, FC_OP_where, i->src[0], t[0], t[1]);
}

static void forward_custom(walk *w, fc_node n, fc_custom r) {
    fc_graph *g = w->c.g;
    fc_node *t = fc_malloc(g->alloc, (r.nargs + 1) * sizeof *t);
    if (!t) {
        fc_oom(&g->error);
        return;
    }
    for (uint32_t k = 0; k < r.nargs; k++) t[k] = r.arg[k] <= w->y ? w->value[r.arg[k]] : FC_NONODE;
    const fc_node v = fc_g_custom_forward(&w->c, &r, FC_CAST_RESULT(fc_at(g, n)->attr), t);
    add_share(w, n, v, false);
    fc_free(g->alloc, t);
}

static void forward_loop(walk *w, fc_node loop) {
    fc_node at[FC_MAX_LOOP_VALUES];
    for (uint32_t i = 0; i < FC_MAX_LOOP_VALUES; i++) at[i] = FC_NONODE;
    fc_g_loop_forward(&w->c, loop, w->needed, w->value, true, at);
    for (fc_node n = loop + 1; n <= w->y && !w->c.g->error.code; n++)
        if (w->needed[n] == 1 && is_loop_value(w->c.g, n) && fc_at(w->c.g, n)->src[0] == loop)
            add_share(w, n, at[fc_at(w->c.g, n)->attr], true);
}

/* The tangents of x, and of arrays of pairs that they are parts of. */
static void set_tangents(walk *w, uint32_t n, const fc_node *x, const fc_node *dx) {
    fc_graph *g = w->c.g;
    for (uint32_t k = 0; k < n; k++)
        if (x[k] <= w->y && dx[k] != FC_NONODE) w->value[x[k]] = dx[k];
    for (uint32_t k = 0; k < n && !g->error.code; k++) {
        if (x[k] > w->y || !is_part_of_leaf(g, x[k]) || dx[k] == FC_NONODE) continue;
        const fc_node z = fc_at(g, x[k])->src[0], none = fc_g_zero(g, x[k]);
        const bool imaginary = fc_at(g, x[k])->attr != 0;
        const fc_node v = fc_build_pair(g, imaginary ? none : dx[k], imaginary ? dx[k] : none);
        add_share(w, z, v, false);
    }
}

static void forward_step(walk *w, fc_node n);

/* An x that depends on another one moves as it is told. */
static bool forward(walk *w) {
    fc_graph *g = w->c.g;
    for (fc_node id = 0; id <= w->y && !g->error.code; id++)
        if (is_walked(w, id) && w->value[id] == FC_NONODE) forward_step(w, id);
    return !g->error.code;
}

static void forward_step(walk *w, fc_node n) {
    const fc_ninfo i = *fc_at(w->c.g, n);
    const fc_custom *r = custom_of(w->c.g, &i);
    if (r) {
        forward_custom(w, n, *r);
        return;
    }
    if (i.op == FC_OP_where) {
        add_share(w, n, forward_where(w, &i), true);
        return;
    }
    if (i.op == FC_OP_LOOP) {
        forward_loop(w, n);
        return;
    }
    if (is_folded(&i)) {
        add_share(w, n, fc_g_fold_forward(&w->c, n, w->value), true);
        return;
    }
    if (is_loop_value(w->c.g, n)) return; /* has its tangent by now, or none */
    if (fc_is_dft(w->c.g, n)) {
        const fc_node x = fc_dft_operand(w->c.g, n), t = w->value[x];
        if (t != FC_NONODE)
            add_share(w, n, fc_build_dft(w->c.g, t, fc_dft_is_inverse(w->c.g, n)), w->marked[x]);
        return;
    }
    if (i.op == FC_OP_PAIR) {
        fc_node t[2];
        for (int k = 0; k < 2; k++) {
            t[k] = w->value[i.src[k]];
            if (t[k] == FC_NONODE) t[k] = fc_g_zero(w->c.g, i.src[k]);
        }
        add_share(w, n, fc_build_pair(w->c.g, t[0], t[1]), true);
        return;
    }
    if (i.op == FC_OP_SCATTER) {
        const bool any = w->value[i.src[0]] != FC_NONODE || w->value[i.src[2]] != FC_NONODE;
        if (any)
            add_share(w, n, fc_g_scatter_forward(&w->c, n, w->value[i.src[0]], w->value[i.src[2]]),
                      w->marked[i.src[0]] | w->marked[i.src[2]]);
        return;
    }
    for (int k = 0; i.op == FC_OP_dot && k < 2 && !w->c.g->error.code; k++) {
        const fc_node x = fc_g_dot_target(w->c.g, n, k), t = w->value[x];
        if (t != FC_NONODE) add_share(w, n, fc_g_dot_forward(&w->c, n, k, t), w->marked[x]);
    }
    for (unsigned k = 0; i.op != FC_OP_dot && k < i.nops && !w->c.g->error.code; k++) {
        const fc_node t = w->value[i.src[k]];
        if (t == FC_NONODE) continue;
        const bool guard = w->marked[i.src[k]];
        bool marked = guard;
        const fc_node v = fc_is_elementwise(i.op) ? row_share(&w->c, n, k, t, guard, &marked)
                                                  : forward_one(&w->c, n, t, guard, &marked);
        add_share(w, n, v, marked);
    }
}

/* ---- functions ------------------------------------------------------------------------------- */

bool fc_g_function_reverse(fc_grad_ctx *c, const fc_g_function *f, const fc_node *dy, bool *marked,
                           fc_node *dx) {
    walk w;
    if (!walk_begin(&w, *c, f->ny, f->y, f->nx, f->x, FC_AN_END)) return false;
    for (uint32_t i = 0; i < f->ny; i++)
        if (w.needed[f->y[i]]) add_share(&w, f->y[i], dy[i], *marked);
    *marked = false;
    const bool ok = reverse(&w, f->nx, f->x);
    for (uint32_t k = 0; k < f->nx; k++) {
        dx[k] = f->x[k] <= w.y ? w.value[f->x[k]] : FC_NONODE;
        *marked |= f->x[k] <= w.y && w.marked[f->x[k]];
    }
    walk_free(&w);
    return ok;
}

bool fc_g_function_forward(fc_grad_ctx *c, const fc_g_function *f, const fc_node *dx, bool *marked,
                           fc_node *dy) {
    walk w;
    if (!walk_begin(&w, *c, f->ny, f->y, f->nx, f->x, FC_AN_END)) return false;
    set_tangents(&w, f->nx, f->x, dx);
    for (uint32_t k = 0; k < f->nx; k++)
        if (f->x[k] <= w.y) w.marked[f->x[k]] = *marked;
    const bool ok = forward(&w);
    for (uint32_t i = 0; i < f->ny; i++) dy[i] = w.value[f->y[i]];
    walk_free(&w);
    return ok;
}

bool fc_g_function_depends(fc_grad_ctx *c, const fc_g_function *f, bool *depends) {
    walk w;
    if (!walk_begin(&w, *c, f->ny, f->y, f->nx, f->x, FC_AN_END)) return false;
    for (uint32_t i = 0; i < f->ny; i++) depends[i] = w.needed[f->y[i]] != 0;
    walk_free(&w);
    return true;
}

/* ---- what callers ask for -------------------------------------------------------------------- */

static bool check_float(fc_graph *g, fc_node n, const char *what) {
    if (g->error.code || n >= g->nodes.len) return false;
    const fusec_dtype t = (fusec_dtype)fc_at(g, n)->dtype;
    if (fc_is_float(t) || fc_is_complex(t)) return true;
    fc_fail(&g->error, FUSEC_NO_GRADIENT, "%s is %s; derivatives are of floats, by floats", what,
            fc_dtypes[t].name);
    return false;
}

/* A cotangent or tangent belongs to a value: its dtype, and its shape or a scalar. */
static fc_node check_belongs(fc_graph *g, fc_node v, fc_node n, const char *what) {
    fc_dim shape[FC_MAX_RANK];
    if (g->error.code || v >= g->nodes.len) return FC_NONODE;
    if (fc_at(g, v)->dtype != fc_at(g, n)->dtype) {
        fc_fail(&g->error, FUSEC_DTYPE_MISMATCH, "%s is %s, and what it belongs to %s", what,
                fc_dtypes[fc_at(g, v)->dtype].name, fc_dtypes[fc_at(g, n)->dtype].name);
        return FC_NONODE;
    }
    const uint32_t rank = fc_g_shape(g, n, shape);
    return fc_g_is_const(g, v) ? v : fc_build_broadcast(g, v, rank, shape);
}

static bool check_all(fc_graph *g, fc_node y, uint32_t n, const fc_node *x) {
    if (!check_float(g, y, "what is derived")) return false;
    for (uint32_t k = 0; k < n; k++)
        if (!check_float(g, x[k], "what it is derived by")) return false;
    return true;
}

/* ---- complex numbers: derivatives are by their parts, which are real ------------------------- */

/* What it is derived by with the parts of complex numbers in their place. */
typedef struct real_list {
    uint32_t n;
    fc_node *x, *dx;
} real_list;

static bool real_begin(fc_graph *g, uint32_t n, const fc_node *x, real_list *r) {
    r->n = 0;
    r->x = fc_malloc(g->alloc, ((size_t)n + 1) * 4 * sizeof *r->x);
    r->dx = r->x ? r->x + 2 * ((size_t)n + 1) : NULL;
    if (!r->x) return fc_oom(&g->error), false;
    for (uint32_t k = 0; k < n && !g->error.code; k++) {
        if (!fc_has_parts(g, x[k])) {
            r->x[r->n++] = x[k];
            continue;
        }
        const fc_parts p = fc_complex_parts(g, x[k]);
        r->x[r->n++] = p.re;
        r->x[r->n++] = p.im;
        if (fc_g_is_const(g, p.re) || fc_g_is_const(g, p.im))
            fc_fail(&g->error, FUSEC_NO_GRADIENT,
                    "what it is derived by is %s with a part that is a constant; derive by the "
                    "other part, or make it an input",
                    fc_dtypes[fc_at(g, x[k])->dtype].name);
    }
    if (g->error.code) fc_free(g->alloc, r->x);
    return !g->error.code;
}

/* A complex result as one of parts, which an input is not. */
static fc_node as_pair(fc_graph *g, fc_node y) {
    if (!fc_has_parts(g, y) || fc_at(g, y)->op == FC_OP_PAIR) return y;
    const fc_parts p = fc_complex_parts(g, y);
    return fc_build_pair(g, p.re, p.im);
}

bool fc_depends(fc_graph *g, fc_node y, fc_node x) {
    walk w;
    real_list by;
    if (!fc_usable(g, x) || !fc_usable(g, y)) return false;
    y = as_pair(g, y);
    if (y == FC_NONODE || !real_begin(g, 1, &x, &by)) return false;
    const bool ok = walk_begin(&w, (fc_grad_ctx){.g = g}, 1, &y, by.n, by.x, 1);
    const bool needed = ok && w.needed[y];
    if (ok) walk_free(&w);
    fc_free(g->alloc, by.x);
    return needed;
}

bool fc_vjp(fc_graph *g, fc_node y, fc_node dy, uint32_t n, const fc_node *x, fc_node *dx) {
    walk w;
    real_list by;
    if (!check_all(g, y, n, x)) return false;
    y = as_pair(g, y);
    dy = check_belongs(g, dy, y, "the cotangent");
    if (dy == FC_NONODE || !real_begin(g, n, x, &by)) return false;
    bool ok = walk_begin(&w, (fc_grad_ctx){.g = g}, 1, &y, by.n, by.x, 1);
    if (ok) {
        w.value[y] = dy;
        ok = reverse(&w, by.n, by.x) && take_shares(&w, by.n, by.x, by.dx);
        walk_free(&w);
    }
    /* dL/dRe + i dL/dIm: against it L descends */
    for (uint32_t k = 0, at = 0; ok && k < n; k++, at++) {
        dx[k] = by.dx[at];
        if (!fc_has_parts(g, x[k])) continue;
        dx[k] = fc_build_pair(g, by.dx[at], by.dx[at + 1]);
        at++;
    }
    fc_free(g->alloc, by.x);
    return ok && !g->error.code;
}

bool fc_grad(fc_graph *g, fc_node loss, uint32_t n, const fc_node *x, fc_node *dx) {
    if (!check_all(g, loss, n, x)) return false;
    if (fc_has_parts(g, loss)) {
        fc_fail(&g->error, FUSEC_NO_GRADIENT,
                "grad of %s: the gradient is that of a real number; take real() or abs(), or vjp",
                fc_dtypes[fc_at(g, loss)->dtype].name);
        return false;
    }
    if (fc_rank(g, loss) != 0) {
        fc_str t;
        fc_str_init(&t, g->alloc);
        fc_type_print(g, loss, &t);
        if (t.oom) fc_oom(&g->error);
        fc_fail(&g->error, FUSEC_NO_GRADIENT,
                "grad of %s: the gradient is that of a scalar; take sum() or mean(), or vjp",
                t.data);
        fc_str_free(&t);
        return false;
    }
    return fc_vjp(g, loss, fc_build_number(g, (fusec_dtype)fc_at(g, loss)->dtype, 1), n, x, dx);
}

fc_node fc_jvp(fc_graph *g, fc_node y, uint32_t n, const fc_node *x, const fc_node *dx) {
    walk w;
    fc_node r = FC_NONODE;
    real_list by;
    fc_dim shape[FC_MAX_RANK];
    if (!check_all(g, y, n, x) || !real_begin(g, n, x, &by)) return r;
    y = as_pair(g, y);
    for (uint32_t k = 0, at = 0; k < n; k++) {
        const fc_node t = check_belongs(g, dx[k], x[k], "the tangent");
        const bool two = fc_has_parts(g, x[k]);
        const fc_parts p =
            two && t != FC_NONODE ? fc_complex_parts(g, t) : (fc_parts){t, FC_NONODE};
        by.dx[at++] = p.re;
        if (two) by.dx[at++] = p.im;
    }
    if (g->error.code || !walk_begin(&w, (fc_grad_ctx){.g = g}, 1, &y, by.n, by.x, 1)) {
        fc_free(g->alloc, by.x);
        return r;
    }
    set_tangents(&w, by.n, by.x, by.dx);
    fc_free(g->alloc, by.x);
    if (forward(&w)) {
        const uint32_t rank = fc_g_shape(g, y, shape);
        r = w.value[y] == FC_NONODE ? fc_g_zero(g, y) : w.value[y];
        r = fc_g_spread(&w.c, r, rank, shape);
    }
    walk_free(&w);
    return r;
}

/* 1 where the leading axes and the axes of y are at one place, else 0. */
static fc_node unit_cotangents(fc_graph *g, fc_node y) {
    const uint32_t rank = fc_rank(g, y);
    const fc_dim one = fc_dim_const(&g->dims, 1);
    fc_node all = fc_build_const(g, FUSEC_BOOL, 1);
    for (uint32_t i = 0; i < rank; i++) {
        fc_dim row[FC_MAX_RANK], column[FC_MAX_RANK];
        for (uint32_t k = 0; k < 2 * rank; k++) row[k] = column[k] = one;
        row[rank + i] = column[i] = fc_axis(g, y, i);
        const fc_node at = fc_build_iota(g, fc_axis(g, y, i));
        const fc_node same = fc_build_op(g, FC_OP_eq, fc_build_reshape(g, at, 2 * rank, row),
                                         fc_build_reshape(g, at, 2 * rank, column), FC_NONODE);
        all = i ? fc_build_op(g, FC_OP_logical_and, all, same, FC_NONODE) : same;
    }
    const fusec_dtype t = (fusec_dtype)fc_at(g, y)->dtype;
    return fc_build_op(g, FC_OP_where, all, fc_build_number(g, t, 1), fc_build_number(g, t, 0));
}

fc_node fc_jacobian(fc_graph *g, fc_node y, fc_node x) {
    walk w;
    fc_node r = FC_NONODE;
    if (!check_all(g, y, 1, &x)) return r;
    if (fc_has_parts(g, x) || fc_has_parts(g, y)) {
        fc_fail(&g->error, FUSEC_NO_GRADIENT,
                "jacobian of complex numbers: take it of real() and imag(), by real numbers");
        return r;
    }
    if (fc_rank(g, y) * 2 > FC_MAX_RANK) {
        fc_fail(&g->error, FUSEC_LIMIT, "jacobian of rank %u; the limit is %u", fc_rank(g, y),
                (unsigned)FC_MAX_RANK / 2);
        return r;
    }
    const fc_node unit = unit_cotangents(g, y);
    fc_grad_ctx c = {.g = g};
    c.nlead = fc_g_shape(g, y, c.lead);
    if (unit == FC_NONODE || !walk_begin(&w, c, 1, &y, 1, &x, 1)) return r;
    w.value[y] = unit;
    w.marked[y] = 1;
    if (!reverse(&w, 1, &x) || !take_shares(&w, 1, &x, &r)) r = FC_NONODE;
    walk_free(&w);
    return r;
}
