/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gradient_fold.c - derivatives of reductions and scans by a definition, and of the scans of rows
 * other than sum: cumprod, cummin, cummax.
 *
 * In: y = f(f(e0, e1), e2) ..., f associative, of records; what arrives at one value of the record,
 * or the tangents of the elements. Out: scans and elementwise nodes.
 *
 * A reduction is f(f(P, e), S) in each of its elements, with P and S the reductions of what is
 * before and behind it. So its derivative by e is one of an elementwise function, and P and S are
 * scans: nothing is divided by.
 *
 * A scan is y_i = f(u_i, e_i) with u_i = y_(i-1). What arrives at y_i also arrives through y_(i+1),
 * which is a linear recurrence from the other end, of as many values as a record has; each is
 * solved by itself where the values do not depend on each other in a circle, else two at a time.
 * Forward mode is the same recurrence from the front. */
#include "passes/gradient_impl.h"

#include <math.h>

#include "ir/fold.h"
#include "ir/loop.h"
#include "ir/substitute.h"

enum { MOST = FC_MAX_RECORD };

typedef struct folding {
    fc_grad_ctx *c;
    fc_node n;
    fc_fold_spec s;
    fc_node element[MOST], body[MOST], start[MOST];
    uint32_t axis;                      /* along which it goes */
    fc_node u[MOST], e[MOST], v[MOST];  /* bound: before, the element, behind */
    fc_node before[MOST], behind[MOST]; /* the arrays that these are */
    fc_node next[MOST];                 /* f(u, e) */
} folding;

/* ---- what is folded -------------------------------------------------------------------------- */

static fc_op row_of(fc_op red) {
    return red == FC_OP_prod ? FC_OP_mul : red == FC_OP_min ? FC_OP_minimum : FC_OP_maximum;
}

/* A scan by a row as one by a definition. */
static void look_at_row(folding *f) {
    fc_graph *g = f->c->g;
    const fc_ninfo i = *fc_at(g, f->n);
    const fc_scan s = fc_scan_of(&i);
    const fusec_dtype t = fc_record_dtype((fusec_dtype)i.dtype);
    f->s = (fc_fold_spec){.n = 1,
                          .kind = s.exclusive ? FC_FOLD_EXCLUSIVE : FC_FOLD_SCAN,
                          .axes = UINT64_C(1) << s.axis};
    f->element[0] = fc_build_cast(g, i.src[0], t);
    f->start[0] = fc_build_number(g, t,
                                  s.op == FC_OP_prod  ? 1
                                  : s.op == FC_OP_min ? INFINITY
                                                      : -INFINITY);
    f->body[0] = fc_op2(g, row_of(s.op), fc_build_slot(g, t, 0), fc_build_slot(g, t, MOST));
}

static void look(folding *f) {
    fc_graph *g = f->c->g;
    const fc_ninfo i = *fc_at(g, f->n);
    if (i.op == FC_OP_SCAN) {
        look_at_row(f);
    } else {
        f->s = fc_fold_of(g, &i);
        fc_record_nodes(g, i.src[0], MOST, f->element);
        fc_record_nodes(g, i.src[1], MOST, f->body);
        for (uint32_t k = 0; k < f->s.n; k++)
            f->start[k] =
                fc_build_const(g, (fusec_dtype)fc_at(g, f->element[k])->dtype, f->s.start[k]);
    }
    while (!(f->s.axes >> f->axis & 1)) f->axis++;
}

/* ---- bodies on arrays ------------------------------------------------------------------------ */

/* The body with arrays in place of the slots. */
static bool apply(folding *f, const fc_node *earlier, const fc_node *later, fc_node *out) {
    fc_graph *g = f->c->g;
    const size_t len = g->nodes.len;
    uint8_t *need = fc_calloc(g->alloc, len, 1);
    fc_node *map = fc_malloc(g->alloc, len * sizeof *map), last = 0;
    if (!need || !map) fc_oom(&g->error);
    for (uint32_t k = 0; k < f->s.n && !g->error.code; k++) {
        need[f->body[k]] = 1;
        if (f->body[k] > last) last = f->body[k];
    }
    if (!g->error.code) fc_mark_operands(g, last + 1, need);
    for (fc_node n = 0; n <= last && !g->error.code; n++) {
        const fc_ninfo i = *fc_at(g, n);
        fc_node x[3] = {FC_NONODE, FC_NONODE, FC_NONODE};
        if (!need[n]) continue;
        for (int k = 0; k < i.nops; k++) x[k] = map[i.src[k]];
        map[n] = i.op == FC_OP_SLOT      ? (i.attr < MOST ? earlier[i.attr] : later[i.attr - MOST])
                 : i.op == FC_OP_CONST   ? fc_build_const(g, (fusec_dtype)i.dtype, i.attr)
                 : i.op == FC_OP_CAST    ? fc_build_cast(g, x[0], (fusec_dtype)i.dtype)
                 : i.op == FC_OP_BITCAST ? fc_build_bitcast(g, x[0], (fusec_dtype)i.dtype)
                                         : fc_build_op(g, (fc_op)i.op, x[0], x[1], x[2]);
    }
    for (uint32_t k = 0; k < f->s.n && !g->error.code; k++) out[k] = map[f->body[k]];
    fc_free(g->alloc, need);
    fc_free(g->alloc, map);
    return !g->error.code;
}

static fc_node bound_like(fc_graph *g, fc_node n) {
    fc_dim shape[FC_MAX_RANK];
    if (!fc_usable(g, n)) return FC_NONODE;
    const uint32_t rank = fc_shape_of(g, n, shape);
    return fc_build_hole(g, (fusec_dtype)fc_at(g, n)->dtype, rank, shape);
}

static bool bind(folding *f) {
    fc_graph *g = f->c->g;
    for (uint32_t k = 0; k < f->s.n; k++) {
        f->u[k] = bound_like(g, f->element[k]);
        f->e[k] = bound_like(g, f->element[k]);
        f->v[k] = bound_like(g, f->element[k]);
    }
    return !g->error.code && apply(f, f->u, f->e, f->next);
}

/* Nodes with the arrays for what is bound; a number stays one. */
static bool unbind(folding *f, uint32_t n, fc_node *nodes) {
    fc_node from[3 * MOST], to[3 * MOST];
    uint32_t count = 0;
    for (uint32_t k = 0; k < f->s.n; k++) {
        from[count] = f->u[k], to[count++] = f->before[k];
        from[count] = f->e[k], to[count++] = f->element[k];
        if (f->s.kind == FC_FOLD_REDUCE) from[count] = f->v[k], to[count++] = f->behind[k];
    }
    const fc_substitution s = {.n = count, .nroots = n, .from = from, .to = to, .root = nodes};
    return fc_substitute(f->c->g, &s, nodes);
}

/* ---- along the axis -------------------------------------------------------------------------- */

/* Element i gets element i + by, `fill` (a number) where there is none. `lead` axes in front. */
static fc_node shifted(fc_graph *g, fc_node a, uint32_t axis, int64_t by, fc_node fill) {
    fc_view_axis axes[FC_MAX_RANK];
    int64_t step[FC_MAX_RANK][FC_MAX_RANK] = {{0}};
    fc_dim shape[FC_MAX_RANK];
    if (!fc_usable(g, a) || fc_g_is_const(g, a)) return a;
    const uint32_t rank = fc_shape_of(g, a, shape);
    for (uint32_t i = 0; i < rank; i++) {
        step[i][i] = 1;
        axes[i] = (fc_view_axis){fc_dim_const(&g->dims, i == axis ? by : 0),
                                 i == axis ? FC_EDGE_ZERO : FC_EDGE_NONE, step[i]};
    }
    const fc_node r = fc_build_view(g, a, rank, shape, axes);
    if (fill == FC_NONODE || !fc_usable(g, r)) return r;
    const fc_node at = fc_build_iota_along(g, shape[axis], rank, axis);
    const fc_node first = fc_op2(g, FC_OP_eq, at, fc_i64(g, 0));
    return fc_where(g, first, fill, r);
}

/* Scans of all values of the record. */
static bool scan(folding *f, const fc_node *element, const fc_node *body, bool reverse,
                 fc_node *out) {
    const int64_t axis = f->axis;
    const fc_fold_args a = {.what = "scan",
                            .n = f->s.n,
                            .element = element,
                            .start = f->start,
                            .body = body,
                            .naxes = 1,
                            .axes = &axis,
                            .scan = true,
                            .exclusive = true,
                            .reverse = reverse};
    return fc_build_fold(f->c->g, &a, out);
}

/* ---- reductions ------------------------------------------------------------------------------ */

/* v, in the shape of the elements, with one axis, the last, for all that are reduced. */
static bool line_up(folding *f, uint32_t count, fc_node *v) {
    fc_graph *g = f->c->g;
    int64_t perm[FC_MAX_RANK];
    fc_dim shape[FC_MAX_RANK], all = fc_dim_const(&g->dims, 1);
    const fc_node like = fc_at(g, fc_at(g, f->n)->src[0])->src[0]; /* the first element */
    const uint32_t rank = fc_rank(g, like);
    uint32_t n = 0, kept = 0;
    for (int reduced = 0; reduced < 2; reduced++)
        for (uint32_t i = 0; i < rank; i++) {
            if ((int)(f->s.axes >> i & 1) != reduced) continue;
            perm[n++] = i;
            if (reduced)
                all = fc_dim_mul(&g->dims, all, fc_axis(g, like, i));
            else
                shape[kept++] = fc_axis(g, like, i);
        }
    shape[kept] = all;
    f->axis = kept;
    for (uint32_t k = 0; k < count; k++) {
        if (v[k] == FC_NONODE || fc_g_is_const(g, v[k]) || g->error.code) continue;
        v[k] = fc_build_reshape(g, fc_build_permute(g, v[k], perm), kept + 1, shape);
    }
    return !g->error.code;
}

/* The record of all elements as a function of one: f(f(before, e), behind). */
static bool whole(folding *f, fc_node *y) {
    fc_graph *g = f->c->g;
    fc_node from[2 * MOST], to[2 * MOST], turned[MOST];
    for (uint32_t k = 0; k < f->s.n; k++) {
        const fusec_dtype t = (fusec_dtype)fc_at(g, f->element[k])->dtype;
        from[2 * k] = to[2 * k + 1] = fc_build_slot(g, t, k);
        from[2 * k + 1] = to[2 * k] = fc_build_slot(g, t, MOST + k);
    }
    const fc_substitution s = {
        .n = 2 * f->s.n, .nroots = f->s.n, .from = from, .to = to, .root = f->body};
    return fc_substitute(g, &s, turned) && scan(f, f->element, f->body, false, f->before) &&
           scan(f, f->element, turned, true, f->behind) && bind(f) && apply(f, f->next, f->v, y);
}

/* ---- scans ----------------------------------------------------------------------------------- */

/* u: what is before each element. */
static bool find_before(folding *f) {
    fc_graph *g = f->c->g;
    const fc_ninfo i = *fc_at(g, f->n);
    for (uint32_t k = 0; k < f->s.n && !g->error.code; k++) {
        fc_node y = f->n;
        if (i.op == FC_OP_FOLD) {
            fc_ninfo n = i;
            int64_t attr[FC_FOLD_FIXED + MOST];
            const uint32_t len = fc_list_len(g, (fc_list)i.attr);
            memcpy(attr, fc_list_at(g, (fc_list)i.attr), len * sizeof *attr);
            attr[0] = k;
            n.attr = fc_intern_list(g, attr, len);
            n.dtype = fc_at(g, f->element[k])->dtype;
            y = fc_graph_node(g, n);
        } else if (fc_at(g, f->element[0])->dtype != i.dtype) { /* what was rounded is no u */
            if (!scan(f, f->element, f->body, false, f->before)) return false;
            break;
        }
        f->before[k] = f->s.kind == FC_FOLD_EXCLUSIVE ? y : shifted(g, y, f->axis, -1, f->start[k]);
    }
    return !g->error.code && bind(f);
}

/* d[p][q] = df_p/du_q; FC_NONODE: 0. */
static bool find_slopes(folding *f, fc_node d[MOST][MOST]) {
    fc_grad_ctx plain = {.g = f->c->g};
    const fc_g_function fn = {f->s.n, f->s.n, f->next, f->u};
    for (uint32_t p = 0; p < f->s.n; p++) {
        fc_node dy[MOST];
        bool marked = true;
        for (uint32_t k = 0; k < f->s.n; k++) dy[k] = d[p][k] = FC_NONODE;
        const fusec_dtype t = (fusec_dtype)fc_at(plain.g, f->next[p])->dtype;
        if (!fc_is_float(t)) continue;
        dy[p] = fc_build_number(plain.g, t, 1);
        if (!fc_g_function_reverse(&plain, &fn, dy, &marked, d[p])) return false;
        if (!unbind(f, f->s.n, d[p])) return false;
    }
    return true;
}

/* y_k(i) = b_k(i) + sum over m of a[k][m](i) * y_m(i -+ 1); FC_NONODE is 0. */
typedef struct recurrence {
    fc_node a[MOST][MOST], b[MOST], y[MOST];
    bool wanted[MOST], solved[MOST];
    bool reverse;
} recurrence;

static fc_node plus(fc_graph *g, fc_node a, fc_node b) {
    return a == FC_NONODE ? b : b == FC_NONODE ? a : fc_op2(g, FC_OP_add, a, b);
}

static fc_node times(fc_graph *g, fc_node a, fc_node b) {
    return a == FC_NONODE || b == FC_NONODE ? FC_NONODE : fc_op2(g, FC_OP_mul, a, b);
}

/* A value in the shape of all: the elements', behind the leading axes. */
static fc_node spread(folding *f, fc_node v) {
    return fc_g_spread_as(f->c, v, f->element[0]);
}

/* What y_k gets from those that are solved. */
static fc_node known(folding *f, const recurrence *r, uint32_t k) {
    fc_graph *g = f->c->g;
    fc_node b = r->b[k];
    for (uint32_t m = 0; m < f->s.n; m++) {
        if (m == k || !r->solved[m] || r->a[k][m] == FC_NONODE || r->y[m] == FC_NONODE) continue;
        const fc_node y =
            shifted(g, spread(f, r->y[m]), f->axis + f->c->nlead, r->reverse ? 1 : -1, FC_NONODE);
        b = plus(g, b, times(g, r->a[k][m], y));
    }
    return b;
}

static bool waits(const folding *f, const recurrence *r, uint32_t k, uint32_t other) {
    bool any = false;
    for (uint32_t m = 0; m < f->s.n; m++)
        any |= m != k && m != other && r->wanted[m] && !r->solved[m] && r->a[k][m] != FC_NONODE;
    return any;
}

static void solve_one(folding *f, recurrence *r, uint32_t k) {
    fc_graph *g = f->c->g;
    const fc_node b = known(f, r, k), a = r->a[k][k];
    r->solved[k] = true;
    r->y[k] = b;
    if (b == FC_NONODE || a == FC_NONODE) return;
    r->y[k] =
        fc_build_linrec(g, spread(f, a), spread(f, b), FC_NONODE, (int64_t)f->axis + f->c->nlead,
                        (fc_fold_args){.reverse = r->reverse});
}

/* Two values that depend on each other: a record of a matrix and a vector. */
static void solve_two(folding *f, recurrence *r, const uint32_t k[2]) {
    fc_graph *g = f->c->g;
    const fusec_dtype t = (fusec_dtype)fc_at(g, f->element[k[0]])->dtype;
    const fc_node zero = fc_build_number(g, t, 0), one = fc_build_number(g, t, 1);
    fc_node element[6], start[6] = {one, zero, zero, one, zero, zero}, early[6], late[6], body[6],
                        out[6];
    const int64_t axis = (int64_t)f->axis + f->c->nlead;
    for (uint32_t i = 0; i < 6; i++) {
        const fc_node v = i < 4 ? r->a[k[i / 2]][k[i % 2]] : known(f, r, k[i - 4]);
        element[i] = spread(f, v == FC_NONODE ? zero : v);
        early[i] = fc_build_slot(g, t, i);
        late[i] = fc_build_slot(g, t, MOST + i);
    }
    for (uint32_t i = 0; i < 6; i++) { /* the later matrix by the earlier record */
        const uint32_t row = i < 4 ? i / 2 : i - 4, column = i < 4 ? i % 2 : 4;
        const fc_node x = early[column], y = early[i < 4 ? column + 2 : 5];
        body[i] = fc_op2(g, FC_OP_add, fc_op2(g, FC_OP_mul, late[2 * row], x),
                         fc_op2(g, FC_OP_mul, late[2 * row + 1], y));
        if (i >= 4) body[i] = fc_op2(g, FC_OP_add, body[i], late[i]);
    }
    const fc_fold_args a = {.what = "scan",
                            .n = 6,
                            .element = element,
                            .start = start,
                            .body = body,
                            .naxes = 1,
                            .axes = &axis,
                            .scan = true,
                            .reverse = r->reverse};
    if (g->error.code || !fc_build_fold(g, &a, out)) return;
    for (int i = 0; i < 2; i++) {
        r->solved[k[i]] = true;
        r->y[k[i]] = out[4 + i];
    }
}

static bool step(folding *f, recurrence *r) {
    for (uint32_t k = 0; k < f->s.n; k++)
        if (r->wanted[k] && !r->solved[k] && !waits(f, r, k, k)) return solve_one(f, r, k), true;
    for (uint32_t k = 0; k < f->s.n; k++)
        for (uint32_t m = k + 1; m < f->s.n; m++) {
            const bool open = r->wanted[k] && r->wanted[m] && !r->solved[k] && !r->solved[m];
            if (!open || waits(f, r, k, m) || waits(f, r, m, k)) continue;
            if (fc_at(f->c->g, f->element[k])->dtype != fc_at(f->c->g, f->element[m])->dtype)
                continue;
            return solve_two(f, r, (const uint32_t[2]){k, m}), true;
        }
    return false;
}

/* Values that something flows to: from b, or from one that it flows to. */
static void find_wanted(const folding *f, recurrence *r) {
    for (uint32_t k = 0; k < f->s.n; k++) r->wanted[k] = r->b[k] != FC_NONODE;
    for (uint32_t round = 0; round < f->s.n; round++)
        for (uint32_t k = 0; k < f->s.n; k++)
            for (uint32_t m = 0; m < f->s.n; m++)
                r->wanted[k] |= r->wanted[m] && r->a[k][m] != FC_NONODE;
    for (uint32_t k = 0; k < MOST; k++) r->y[k] = FC_NONODE;
}

/* Whether all that is wanted could be found. */
static bool solve(folding *f, recurrence *r) {
    bool all = true;
    find_wanted(f, r);
    for (uint32_t left = f->s.n; left-- > 0 && !f->c->g->error.code;)
        if (!step(f, r)) break;
    for (uint32_t k = 0; k < f->s.n; k++) all &= !r->wanted[k] || r->solved[k];
    return all && !f->c->g->error.code;
}

static void refuse_circle(folding *f) {
    fc_g_fail(
        f->c, f->n,
        "more than two values of its record depend on each other in a circle; a loop over the "
        "axis has both modes, and jvp() takes records of eight");
}

/* ---- both modes ------------------------------------------------------------------------------ */

static bool is_active(const folding *f, const uint8_t *needed, fc_node element) {
    return needed[element] && fc_is_float((fusec_dtype)fc_at(f->c->g, element)->dtype);
}

/* What arrives at a reduction, at each of its elements. */
static fc_node over_elements(folding *f, fc_node a) {
    fc_graph *g = f->c->g;
    fc_dim shape[FC_MAX_RANK];
    const uint32_t rank = fc_shape_of(g, f->element[0], shape);
    shape[rank - 1] = fc_dim_const(&g->dims, 1);
    return spread(f, fc_g_reshape(f->c, a, rank, shape));
}

/* Back from one axis to those that there were, in the shape of x. */
static fc_node spread_out(folding *f, fc_node v, fc_node x) {
    fc_graph *g = f->c->g;
    int64_t perm[FC_MAX_RANK];
    fc_dim shape[FC_MAX_RANK];
    const uint32_t rank = fc_rank(g, x), lead = f->c->nlead;
    uint32_t n = 0;
    for (uint32_t i = 0; i < lead; i++) perm[i] = i;
    for (int reduced = 0; reduced < 2; reduced++)
        for (uint32_t i = 0; i < rank; i++) {
            if ((int)(f->s.axes >> i & 1) != reduced) continue;
            perm[lead + i] = lead + n;
            shape[n++] = fc_axis(g, x, i);
        }
    v = fc_g_reshape(f->c, spread(f, v), n, shape);
    return v == FC_NONODE ? v : fc_build_permute(g, v, perm);
}

static bool reduce_reverse(folding *f, fc_node a, bool *marked, fc_node *dx) {
    fc_node y[MOST], dy[MOST];
    if (!line_up(f, f->s.n, f->element) || !whole(f, y)) return false;
    for (uint32_t k = 0; k < f->s.n; k++) dy[k] = FC_NONODE;
    dy[f->s.result] = over_elements(f, a);
    const fc_g_function fn = {f->s.n, f->s.n, y, f->e};
    return fc_g_function_reverse(f->c, &fn, dy, marked, dx) && unbind(f, f->s.n, dx);
}

static bool scan_reverse(folding *f, fc_node a, bool *marked, fc_node *dx) {
    fc_graph *g = f->c->g;
    recurrence r = {.reverse = true};
    fc_node d[MOST][MOST];
    const uint32_t axis = f->axis + f->c->nlead;
    if (!find_before(f) || !find_slopes(f, d)) return false;
    for (uint32_t p = 0; p < MOST; p++) {
        r.b[p] = FC_NONODE;
        for (uint32_t q = 0; q < MOST; q++) r.a[q][p] = FC_NONODE;
    }
    for (uint32_t p = 0; p < f->s.n; p++)
        for (uint32_t q = 0; q < f->s.n; q++)
            r.a[q][p] = shifted(g, d[p][q], f->axis, 1, FC_NONODE);
    a = spread(f, a);
    r.b[f->s.result] = f->s.kind == FC_FOLD_EXCLUSIVE ? shifted(g, a, axis, 1, FC_NONODE) : a;
    if (g->error.code) return false;
    if (!solve(f, &r)) return refuse_circle(f), false;
    const fc_g_function fn = {f->s.n, f->s.n, f->next, f->e};
    *marked = true;
    return fc_g_function_reverse(f->c, &fn, r.y, marked, dx) && unbind(f, f->s.n, dx);
}

void fc_g_fold_reverse(fc_grad_ctx *c, fc_node n, const uint8_t *needed, fc_node a, bool marked,
                       fc_g_shares *out) {
    fc_graph *g = c->g;
    folding f = {.c = c, .n = n};
    fc_node dx[MOST], was[MOST];
    const fc_ninfo i = *fc_at(g, n);
    look(&f);
    if (g->error.code) return;
    memcpy(was, f.element, sizeof was);
    const bool reduces = f.s.kind == FC_FOLD_REDUCE;
    a = fc_build_cast(g, a, (fusec_dtype)fc_at(g, f.element[f.s.result])->dtype);
    if (!(reduces ? reduce_reverse(&f, a, &marked, dx) : scan_reverse(&f, a, &marked, dx))) return;
    if (i.op == FC_OP_SCAN) { /* by a row: of one array, in its dtype */
        if (dx[0] != FC_NONODE)
            dx[0] = fc_build_cast(g, dx[0], (fusec_dtype)fc_at(g, i.src[0])->dtype);
        fc_g_share(c, out, i.src[0], dx[0]);
        return;
    }
    for (uint32_t k = 0; k < f.s.n && !g->error.code; k++)
        if (dx[k] != FC_NONODE && is_active(&f, needed, was[k]))
            fc_g_share(c, out, was[k], reduces ? spread_out(&f, dx[k], was[k]) : dx[k]);
}

/* t: the tangents of the elements. */
static fc_node reduce_forward(folding *f, fc_node *t) {
    fc_graph *g = f->c->g;
    fc_node y[MOST], dy[MOST];
    bool marked = true;
    if (!line_up(f, f->s.n, f->element) || !line_up(f, f->s.n, t) || !whole(f, y)) return FC_NONODE;
    const fc_g_function fn = {f->s.n, f->s.n, y, f->e};
    if (!fc_g_function_forward(f->c, &fn, t, &marked, dy)) return FC_NONODE;
    fc_node r = dy[f->s.result];
    if (r == FC_NONODE || !unbind(f, 1, &r)) return FC_NONODE;
    const int64_t axis = f->axis;
    r = fc_build_reduce(g, FC_OP_sum, spread(f, r), 1, &axis, false);
    return fc_g_reshape_as(f->c, r, f->n);
}

/* The scan of a record of the values and their tangents, for those that move each other in a
 * circle. */
static fc_node scan_of_both(folding *f, const fc_node *t) {
    fc_graph *g = f->c->g;
    fc_node element[MOST], start[MOST], body[MOST], out[MOST], x[2 * MOST], dx[2 * MOST];
    const int64_t axis = f->axis;
    uint32_t n = f->s.n, moving = 0, result = FC_NONODE;
    for (uint32_t k = 0; k < f->s.n; k++) {
        const fusec_dtype dtype = (fusec_dtype)fc_at(g, f->element[k])->dtype;
        if (!fc_is_float(dtype)) continue;
        if (n == MOST) return refuse_circle(f), FC_NONODE;
        if (k == f->s.result) result = n;
        x[2 * moving] = fc_build_slot(g, dtype, k);
        x[2 * moving + 1] = fc_build_slot(g, dtype, MOST + k);
        dx[2 * moving] = fc_build_slot(g, dtype, n);
        dx[2 * moving + 1] = fc_build_slot(g, dtype, MOST + n);
        start[n] = fc_build_number(g, dtype, 0);
        element[n] = t[k] == FC_NONODE ? start[n] : t[k];
        body[n++] = f->body[k];
        moving++;
    }
    for (uint32_t k = 0; k < f->s.n; k++) {
        element[k] = f->element[k];
        start[k] = f->start[k];
        body[k] = f->body[k];
    }
    for (uint32_t k = f->s.n; k < n && !g->error.code; k++)
        body[k] = fc_jvp(g, body[k], 2 * moving, x, dx);
    const fc_fold_args args = {.what = "scan",
                               .n = n,
                               .element = element,
                               .start = start,
                               .body = body,
                               .naxes = 1,
                               .axes = &axis,
                               .scan = true,
                               .exclusive = f->s.kind == FC_FOLD_EXCLUSIVE};
    if (g->error.code || result == FC_NONODE || !fc_build_fold(g, &args, out)) return FC_NONODE;
    return out[result];
}

static fc_node scan_forward(folding *f, const fc_node *t) {
    fc_graph *g = f->c->g;
    recurrence r = {.reverse = false};
    fc_node d[MOST][MOST];
    bool marked = true;
    if (!find_before(f) || !find_slopes(f, d)) return FC_NONODE;
    for (uint32_t p = 0; p < MOST; p++) {
        r.b[p] = FC_NONODE;
        for (uint32_t q = 0; q < MOST; q++)
            r.a[p][q] = p < f->s.n && q < f->s.n ? d[p][q] : FC_NONODE;
    }
    const fc_g_function fn = {f->s.n, f->s.n, f->next, f->e};
    if (!fc_g_function_forward(f->c, &fn, t, &marked, r.b) || !unbind(f, f->s.n, r.b))
        return FC_NONODE;
    if (!solve(f, &r)) return g->error.code ? FC_NONODE : scan_of_both(f, t);
    const fc_node y = r.y[f->s.result];
    if (f->s.kind != FC_FOLD_EXCLUSIVE || y == FC_NONODE) return y;
    return shifted(g, spread(f, y), f->axis, -1, FC_NONODE);
}

fc_node fc_g_fold_forward(fc_grad_ctx *c, fc_node n, const fc_node *value) {
    fc_graph *g = c->g;
    folding f = {.c = c, .n = n};
    const fc_ninfo i = *fc_at(g, n);
    fc_node t[MOST];
    look(&f);
    if (g->error.code) return FC_NONODE;
    for (uint32_t k = 0; k < f.s.n; k++) {
        t[k] = value[i.op == FC_OP_SCAN ? i.src[0] : f.element[k]];
        if (t[k] != FC_NONODE)
            t[k] = fc_build_cast(g, t[k], (fusec_dtype)fc_at(g, f.element[k])->dtype);
    }
    const fc_node r = f.s.kind == FC_FOLD_REDUCE ? reduce_forward(&f, t) : scan_forward(&f, t);
    return r == FC_NONODE ? r : fc_build_cast(g, r, (fusec_dtype)i.dtype);
}
