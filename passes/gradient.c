/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gradient.c - what callers ask for of derivatives, and those of values as functions of others.
 *
 * In: a node, those it is derived by, and what arrives (the cotangent of the result, or the
 * tangents of the operands). Out: new nodes of the same graph, which the walk makes
 * (gradient_walk.c). Derivatives by complex numbers are those by their parts. */
#include "passes/gradient_walk.h"

#include "ir/complex.h"

/* ---- functions ------------------------------------------------------------------------------- */

bool fc_g_function_reverse(fc_grad_ctx *c, const fc_g_function *f, const fc_node *dy, bool *marked,
                           fc_node *dx) {
    fc_grad_walk w;
    if (!fc_gw_begin(&w, *c, f->ny, f->y, f->nx, f->x, FC_AN_END)) return false;
    for (uint32_t i = 0; i < f->ny; i++)
        if (w.needed[f->y[i]]) fc_gw_add_share(&w, f->y[i], dy[i], *marked);
    *marked = false;
    const bool ok = fc_gw_reverse(&w, f->nx, f->x);
    for (uint32_t k = 0; k < f->nx; k++) {
        dx[k] = f->x[k] <= w.y ? w.value[f->x[k]] : FC_NONODE;
        *marked |= f->x[k] <= w.y && w.marked[f->x[k]];
    }
    fc_gw_free(&w);
    return ok;
}

bool fc_g_function_forward(fc_grad_ctx *c, const fc_g_function *f, const fc_node *dx, bool *marked,
                           fc_node *dy) {
    fc_grad_walk w;
    if (!fc_gw_begin(&w, *c, f->ny, f->y, f->nx, f->x, FC_AN_END)) return false;
    fc_gw_set_tangents(&w, f->nx, f->x, dx);
    for (uint32_t k = 0; k < f->nx; k++)
        if (f->x[k] <= w.y) w.marked[f->x[k]] = *marked;
    const bool ok = fc_gw_forward(&w);
    for (uint32_t i = 0; i < f->ny; i++) dy[i] = w.value[f->y[i]];
    fc_gw_free(&w);
    return ok;
}

bool fc_g_function_depends(fc_grad_ctx *c, const fc_g_function *f, bool *depends) {
    fc_grad_walk w;
    if (!fc_gw_begin(&w, *c, f->ny, f->y, f->nx, f->x, FC_AN_END)) return false;
    for (uint32_t i = 0; i < f->ny; i++) depends[i] = w.needed[f->y[i]] != 0;
    fc_gw_free(&w);
    return true;
}

/* ---- what callers ask for -------------------------------------------------------------------- */

static bool check_float(fc_graph *g, fc_node n, const char *what) {
    if (!fc_usable(g, n)) return false;
    const fusec_dtype t = (fusec_dtype)fc_at(g, n)->dtype;
    if (fc_is_float(t) || fc_is_complex(t)) return true;
    fc_fail(&g->error, FUSEC_NO_GRADIENT, "%s is %s; derivatives are of floats, by floats", what,
            fc_dtypes[t].name);
    return false;
}

/* A cotangent or tangent belongs to a value: its dtype, and its shape or a scalar. */
static fc_node check_belongs(fc_graph *g, fc_node v, fc_node n, const char *what) {
    if (!fc_usable(g, v)) return FC_NONODE;
    if (fc_at(g, v)->dtype != fc_at(g, n)->dtype) {
        fc_fail(&g->error, FUSEC_DTYPE_MISMATCH, "%s is %s, and what it belongs to %s", what,
                fc_dtypes[fc_at(g, v)->dtype].name, fc_dtypes[fc_at(g, n)->dtype].name);
        return FC_NONODE;
    }
    return fc_g_is_const(g, v) ? v : fc_build_like(g, v, n);
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
    fc_grad_walk w;
    real_list by;
    if (!fc_usable(g, x) || !fc_usable(g, y)) return false;
    y = as_pair(g, y);
    if (y == FC_NONODE || !real_begin(g, 1, &x, &by)) return false;
    const bool ok = fc_gw_begin(&w, (fc_grad_ctx){.g = g}, 1, &y, by.n, by.x, 1);
    const bool needed = ok && w.needed[y];
    if (ok) fc_gw_free(&w);
    fc_free(g->alloc, by.x);
    return needed;
}

bool fc_vjp(fc_graph *g, fc_node y, fc_node dy, uint32_t n, const fc_node *x, fc_node *dx) {
    fc_grad_walk w;
    real_list by;
    if (!check_all(g, y, n, x)) return false;
    y = as_pair(g, y);
    dy = check_belongs(g, dy, y, "the cotangent");
    if (dy == FC_NONODE || !real_begin(g, n, x, &by)) return false;
    bool ok = fc_gw_begin(&w, (fc_grad_ctx){.g = g}, 1, &y, by.n, by.x, 1);
    if (ok) {
        w.value[y] = dy;
        ok = fc_gw_reverse(&w, by.n, by.x) && fc_gw_take_shares(&w, by.n, by.x, by.dx);
        fc_gw_free(&w);
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
    fc_grad_walk w;
    fc_node r = FC_NONODE;
    real_list by;
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
    if (g->error.code || !fc_gw_begin(&w, (fc_grad_ctx){.g = g}, 1, &y, by.n, by.x, 1)) {
        fc_free(g->alloc, by.x);
        return r;
    }
    fc_gw_set_tangents(&w, by.n, by.x, by.dx);
    fc_free(g->alloc, by.x);
    if (fc_gw_forward(&w)) {
        r = w.value[y] == FC_NONODE ? fc_g_zero(g, y) : w.value[y];
        r = fc_g_spread_as(&w.c, r, y);
    }
    fc_gw_free(&w);
    return r;
}

/* 1 where the leading axes and the axes of y are at one place, else 0. */
static fc_node unit_cotangents(fc_graph *g, fc_node y) {
    const uint32_t rank = fc_rank(g, y);
    fc_node all = fc_build_const(g, FUSEC_BOOL, 1);
    for (uint32_t i = 0; i < rank; i++) {
        const fc_dim n = fc_axis(g, y, i);
        const fc_node same = fc_op2(g, FC_OP_eq, fc_build_iota_along(g, n, 2 * rank, rank + i),
                                    fc_build_iota_along(g, n, 2 * rank, i));
        all = i ? fc_op2(g, FC_OP_logical_and, all, same) : same;
    }
    const fusec_dtype t = (fusec_dtype)fc_at(g, y)->dtype;
    return fc_where(g, all, fc_build_number(g, t, 1), fc_build_number(g, t, 0));
}

fc_node fc_jacobian(fc_graph *g, fc_node y, fc_node x) {
    fc_grad_walk w;
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
    c.nlead = fc_shape_of(g, y, c.lead);
    if (unit == FC_NONODE || !fc_gw_begin(&w, c, 1, &y, 1, &x, 1)) return r;
    w.value[y] = unit;
    w.marked[y] = 1;
    if (!fc_gw_reverse(&w, 1, &x) || !fc_gw_take_shares(&w, 1, &x, &r)) r = FC_NONODE;
    fc_gw_free(&w);
    return r;
}
