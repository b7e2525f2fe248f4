/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* check_join.c - functions that read at indices, move and join arrays; their nodes are made by
 * ir/build_join.c and ir/build_index.c.
 *
 *     pad(x, [[a, b], ...], mode=, value=)   boundary(x, mode=, axis=)   roll(x, s, axis=)
 *     tile(x, [a, b])   repeat(x, k, axis=)   window(x, k, axis=, step=)
 *     concat([a, b], axis=)   stack([a, b], axis=)
 *     take(t, idx, axis=)   take_along(t, idx, axis=)   check(idx, n)   view(x, shape, axes) */
#include "frontend/lang/check_impl.h"

/* ---- arguments ----------------------------------------------------------------------------------
 */

/* mode="..."; none is for views alone. */
static bool mode_arg(fc_checker *c, const fc_expr *e, bool none, fc_edge *out) {
    if (!e) return true;
    for (int i = none ? 0 : 1; i < FC_EDGE_COUNT && e->kind == FC_EX_STRING; i++)
        if (strcmp(e->text, fc_edge_names[i]) == 0) return *out = (fc_edge)i, true;
    fc_diag *d = fc_c_error(c, FUSEC_BAD_SLICE, e->at, "there is no mode %s", fc_c_quote(c, e->at));
    fc_suggest s;
    if (e->kind == FC_EX_STRING) {
        fc_suggest_start(&s, e->text, e->len);
        for (int i = 1; i < FC_EDGE_COUNT; i++) fc_suggest_try(&s, fc_edge_names[i]);
        if (strcmp(e->text, "constant") == 0 || strcmp(e->text, "clamp") == 0)
            fc_diag_help(d, "did you mean \"%s\"?",
                         *e->text == 'c' && e->text[1] == 'o' ? "zero" : "edge");
        else
            fc_suggest_help(&s, d);
    }
    fc_diag_help(d, "\"zero\", \"edge\", \"wrap\", \"reflect\" or \"symmetric\"");
    return false;
}

/* axis=: one; without it the only one, or `none` if that is not negative. */
bool fc_c_axis_arg(fc_checker *c, fc_call *f, const fc_expr *call, const fc_expr *array,
                     const fc_value *v, const fc_expr *e, int none, uint32_t *out) {
    int64_t axes[FC_MAX_RANK];
    uint32_t n;
    const uint32_t rank = fc_v_rank(c, v);
    *out = none < 0 ? 0 : (uint32_t)none;
    if (!e && (none >= 0 || rank == 1)) return true;
    if (!e) {
        fc_diag *d = fc_c_error(c, FUSEC_BAD_AXIS, call->at,
                                "%s() of %s needs axis=", fc_c_quote(c, call->callee->at),
                                fc_c_value_type(c, v));
        fc_c_fact(c, d, array, v);
        return false;
    }
    if (!fc_c_axes(c, f, array, v, e, axes, &n)) return false;
    if (n != 1) {
        fc_c_error(c, FUSEC_BAD_AXIS, e->at, "%s() takes one axis",
                   fc_c_quote(c, call->callee->at));
        return false;
    }
    *out = (uint32_t)axes[0];
    return true;
}

static bool size_value(fc_checker *c, const fc_expr *e, const fc_value *v, fc_dim *out) {
    if (v->kind == FC_V_UNKNOWN) return false;
    if (v->kind < FC_V_TUPLE && fc_c_size(c, v, out)) return true;
    fc_c_error(c, FUSEC_SHAPE_MISMATCH, e->at, "%s is no size: an integer constant or a dim",
               fc_c_quote(c, e->at));
    return false;
}

bool fc_c_size_arg(fc_checker *c, fc_call *f, const fc_expr *e, fc_dim *out) {
    return size_value(c, e, fc_c_val(f, e), out);
}

/* ---- pad, boundary ------------------------------------------------------------------------------
 */

/* k, [a, b] for every axis, or [[a, b], ...] with a pair for each. */
static bool pad_widths(fc_checker *c, fc_call *f, const fc_expr *e, const fc_value *x,
                       fc_dim *before, fc_dim *after) {
    const fc_value *v = fc_c_val(f, e);
    const uint32_t rank = fc_v_rank(c, x);
    const bool list = fc_v_is_list(v), pairs = list && v->count && fc_v_is_list(&v->items[0]);
    if (v->kind == FC_V_UNKNOWN) return false;
    bool good = !list || (pairs ? v->count == rank : v->count == 2);
    for (uint32_t i = 0; i < rank && good; i++) {
        const fc_value *p = pairs ? &v->items[i] : v;
        good = !list || (fc_v_is_list(p) && p->count == 2);
        if (!good) break;
        if (!size_value(c, e, list ? &p->items[0] : p, &before[i]) ||
            !size_value(c, e, list ? &p->items[1] : p, &after[i]))
            return false;
    }
    if (good) return true;
    fc_diag *d =
        fc_c_error(c, FUSEC_SHAPE_MISMATCH, e->at,
                   "pad() takes [[before, after], ...] with a pair for each of %u axes", rank);
    fc_diag_help(d, "[before, after] or one number is for all axes");
    return false;
}

static fc_value pad(fc_checker *c, fc_call *f, const fc_expr *e) {
    static const char *const names[] = {NULL, "width"}, *const keys[] = {"mode", "value", NULL};
    const fc_arg_spec spec = {names, 2, 2, keys};
    const fc_expr *p[2], *kw[2];
    fc_dim before[FC_MAX_RANK], after[FC_MAX_RANK];
    fc_edge mode = FC_EDGE_ZERO;
    fc_node value = FC_NONODE;
    fc_value x;
    if (!fc_c_args(c, e, &spec, p, kw) || !fc_c_array_arg(c, f, p[0], &x) ||
        !mode_arg(c, kw[0], false, &mode) || !pad_widths(c, f, p[1], &x, before, after))
        return FC_UNKNOWN;
    if (kw[1] && mode != FC_EDGE_ZERO) {
        fc_c_error(c, FUSEC_ARGUMENT_COUNT, kw[1]->at, "value= is for the mode \"zero\"");
        return FC_UNKNOWN;
    }
    if (kw[1]) {
        const fc_value *v = fc_c_val(f, kw[1]);
        const fusec_dtype t = fc_v_dtype(c, &x);
        if (!fc_c_operand(c, kw[1], v)) return FC_UNKNOWN;
        if (fc_v_rank(c, v) || (!fc_v_weak(v) && fc_v_dtype(c, v) != t)) {
            fc_diag *d = fc_c_error(c, FUSEC_DTYPE_MISMATCH, kw[1]->at,
                                    "%s is %s; the value is a scalar of %s's dtype, %s",
                                    fc_c_quote(c, kw[1]->at), fc_c_value_type(c, v),
                                    fc_c_quote(c, p[0]->at), fc_dtypes[t].name);
            fc_c_fact(c, d, p[0], &x);
            return FC_UNKNOWN;
        }
        value = fc_c_node(c, kw[1], v, t);
        if (value == FC_NONODE) return FC_UNKNOWN;
    }
    return fc_v_node(fc_c_built(c, fc_build_pad(c->g, x.node, before, after, mode, value)));
}

/* The array itself; index definitions may read it at any index. */
static fc_value boundary(fc_checker *c, fc_call *f, const fc_expr *e) {
    static const char *const keys[] = {"mode", "axis", NULL};
    const fc_arg_spec spec = {NULL, 1, 1, keys};
    const fc_expr *x, *kw[2];
    int64_t axes[FC_MAX_RANK];
    uint32_t n;
    fc_edge mode = FC_EDGE_ZERO;
    fc_value v;
    if (!fc_c_args(c, e, &spec, &x, kw) || !fc_c_array_arg(c, f, x, &v)) return FC_UNKNOWN;
    if (!kw[0]) {
        fc_diag *d = fc_c_error(c, FUSEC_ARGUMENT_COUNT, e->at, "boundary() needs mode=");
        fc_diag_help(d, "\"zero\", \"edge\", \"wrap\", \"reflect\" or \"symmetric\"");
        return FC_UNKNOWN;
    }
    if (!mode_arg(c, kw[0], false, &mode) || !fc_c_axes(c, f, x, &v, kw[1], axes, &n))
        return FC_UNKNOWN;
    const uint8_t *before = fc_c_val(f, x)->edges;
    uint8_t *edges = fc_c_alloc(c, FC_MAX_RANK);
    if (!edges) return FC_UNKNOWN;
    if (before) memcpy(edges, before, FC_MAX_RANK);
    for (uint32_t i = 0; i < n; i++) edges[axes[i]] = (uint8_t)mode;
    v.edges = edges;
    return v;
}

/* ---- moving -------------------------------------------------------------------------------------
 */

/* f(x, k, axis=) */
static bool moved(fc_checker *c, fc_call *f, const fc_expr *e, const char *second,
                  const char *const *keys, const fc_expr **p, const fc_expr **kw, fc_value *x,
                  uint32_t *axis) {
    const char *const names[] = {NULL, second};
    const fc_arg_spec spec = {names, 2, 2, keys};
    return fc_c_args(c, e, &spec, p, kw) && fc_c_array_arg(c, f, p[0], x) &&
           fc_c_axis_arg(c, f, e, p[0], x, kw[0], -1, axis);
}

static const char *const axis_key[] = {"axis", NULL};

/* By a size along an axis. */
static fc_value by_size(fc_checker *c, fc_call *f, const fc_expr *e, const char *name,
                        fc_node build(fc_graph *, fc_node, uint32_t, fc_dim)) {
    const fc_expr *p[2], *kw[1];
    uint32_t axis;
    fc_dim size;
    fc_value x;
    if (!moved(c, f, e, name, axis_key, p, kw, &x, &axis) || !fc_c_size_arg(c, f, p[1], &size))
        return FC_UNKNOWN;
    return fc_v_node(fc_c_built(c, build(c->g, x.node, axis, size)));
}

static fc_value roll(fc_checker *c, fc_call *f, const fc_expr *e) {
    return by_size(c, f, e, "shift", fc_build_roll);
}

static fc_value repeat(fc_checker *c, fc_call *f, const fc_expr *e) {
    return by_size(c, f, e, "times", fc_build_repeat);
}

static fc_value window(fc_checker *c, fc_call *f, const fc_expr *e) {
    static const char *const keys[] = {"axis", "step", NULL};
    const fc_expr *p[2], *kw[2];
    uint32_t axis;
    fc_dim width;
    int64_t step = 1;
    fc_value x;
    if (!moved(c, f, e, "width", keys, p, kw, &x, &axis) || !fc_c_size_arg(c, f, p[1], &width))
        return FC_UNKNOWN;
    if (kw[1]) {
        const fc_value *v = fc_c_val(f, kw[1]);
        if (v->kind == FC_V_UNKNOWN) return FC_UNKNOWN;
        if (v->kind != FC_V_INT || v->i < 1 || v->i > FC_MAX_STEP) {
            fc_c_error(c, FUSEC_BAD_SLICE, kw[1]->at,
                       "the step of a window is an integer constant from 1 on");
            return FC_UNKNOWN;
        }
        step = (int64_t)v->i;
    }
    return fc_v_node(fc_c_built(c, fc_build_window(c->g, x.node, axis, width, step)));
}

static fc_value tile(fc_checker *c, fc_call *f, const fc_expr *e) {
    static const char *const names[] = {NULL, "times"};
    const fc_arg_spec spec = {names, 2, 2, NULL};
    const fc_expr *p[2];
    fc_dim times[FC_MAX_RANK];
    uint32_t n;
    fc_value x;
    if (!fc_c_args(c, e, &spec, p, NULL) || !fc_c_array_arg(c, f, p[0], &x) ||
        !fc_c_shape_arg(c, f, p[1], &n, times, NULL))
        return FC_UNKNOWN;
    return fc_v_node(fc_c_built(c, fc_build_tile(c->g, x.node, n, times)));
}

/* ---- joining ------------------------------------------------------------------------------------
 */

/* The arrays of a list in their common dtype. */
static fc_node *list_nodes(fc_checker *c, fc_call *f, const fc_expr *call, const fc_expr *e,
                           uint32_t *count) {
    const fc_value *list = fc_c_val(f, e);
    if (list->kind == FC_V_UNKNOWN) return NULL;
    if (!fc_v_is_list(list) || !list->count) {
        fc_diag *d = fc_c_error(c, FUSEC_ARGUMENT_COUNT, e->at, "%s() takes a list of arrays",
                                fc_c_quote(c, call->callee->at));
        fc_diag_help(d, "%s([a, b], axis=0)", fc_c_quote(c, call->callee->at));
        return NULL;
    }
    const uint32_t n = *count = list->count;
    const bool written = e->kind == FC_EX_LIST || e->kind == FC_EX_TUPLE;
    const fc_expr **parts = fc_c_alloc(c, n * sizeof *parts), *p = written ? e->list : e;
    fc_node *nodes = fc_c_alloc(c, n * sizeof *nodes);
    fusec_dtype t;
    bool weak;
    if (!parts || !nodes) return NULL;
    for (uint32_t i = 0; i < n; i++, p = written ? p->next : p) {
        parts[i] = p;
        if (!fc_c_operand(c, p, &list->items[i])) return NULL;
    }
    if (!fc_c_combine(c, e->at, n, parts, list->items, &t, &weak)) return NULL;
    if (weak && t == FUSEC_F64) t = c->g->default_float;
    for (uint32_t i = 0; i < n; i++) {
        nodes[i] = fc_c_node(c, parts[i], &list->items[i], t);
        if (nodes[i] == FC_NONODE) return NULL;
    }
    return nodes;
}

/* Shapes that do not join, in the words of the source. */
static bool joins(fc_checker *c, fc_call *f, const fc_expr *call, const fc_expr *e, uint32_t n,
                  const fc_node *nodes, int axis) {
    const fc_value *list = fc_c_val(f, e);
    const bool written = e->kind == FC_EX_LIST || e->kind == FC_EX_TUPLE;
    const fc_expr *first = written ? e->list : e, *p = first;
    const uint32_t rank = fc_rank(c->g, nodes[0]);
    for (uint32_t i = 0; i < n; i++, p = written ? p->next : p) {
        int bad = fc_rank(c->g, nodes[i]) == rank ? -1 : (int)FC_MAX_RANK;
        for (uint32_t k = 0; k < rank && bad < 0; k++)
            if ((int)k != axis &&
                fc_c_same_dim(c, fc_axis(c->g, nodes[0], k), fc_axis(c->g, nodes[i], k)) == 0)
                bad = (int)k;
        if (bad < 0) continue;
        const char *what = fc_c_quote(c, call->callee->at);
        fc_diag *d =
            bad == FC_MAX_RANK
                ? fc_c_error(c, FUSEC_SHAPE_MISMATCH, p->at,
                             "%s() joins arrays of equally many axes: %s has %u, %s has %u", what,
                             fc_c_quote(c, first->at), rank, fc_c_quote(c, p->at),
                             fc_rank(c->g, nodes[i]))
                : fc_c_error(c, FUSEC_SHAPE_MISMATCH, p->at,
                             "%s() does not fit: axis %d is %s in %s and %s in %s", what, bad,
                             fc_c_dim_text(c, fc_axis(c->g, nodes[0], (uint32_t)bad)),
                             fc_c_quote(c, first->at),
                             fc_c_dim_text(c, fc_axis(c->g, nodes[i], (uint32_t)bad)),
                             fc_c_quote(c, p->at));
        if (p != first) fc_diag_partner(d, first->at);
        fc_c_fact(c, d, first, &list->items[0]);
        fc_c_fact(c, d, p, &list->items[i]);
        return false;
    }
    return true;
}

static fc_value join(fc_checker *c, fc_call *f, const fc_expr *e, bool stack) {
    const fc_arg_spec spec = {NULL, 1, 1, axis_key};
    const fc_expr *x, *kw;
    uint32_t n, axis;
    if (!fc_c_args(c, e, &spec, &x, &kw)) return FC_UNKNOWN;
    fc_node *nodes = list_nodes(c, f, e, x, &n);
    if (!nodes) return FC_UNKNOWN;
    const bool written = x->kind == FC_EX_LIST || x->kind == FC_EX_TUPLE;
    const fc_expr *first = written ? x->list : x;
    fc_value v = fc_v_node(nodes[0]);
    if (stack) { /* axes are counted in the result */
        const fc_value *a = kw ? fc_c_val(f, kw) : NULL;
        const fc_wide rank = fc_v_rank(c, &v) + 1, at = a ? a->i + (a->i < 0 ? rank : 0) : 0;
        if (a && a->kind == FC_V_UNKNOWN) return FC_UNKNOWN;
        if (a && (a->kind != FC_V_INT || at < 0 || at >= rank)) {
            fc_c_error(c, FUSEC_BAD_AXIS, kw->at,
                       "the new axis of stack() is one from 0 to %d of the result", (int)rank - 1);
            return FC_UNKNOWN;
        }
        axis = (uint32_t)at;
    } else if (!fc_c_axis_arg(c, f, e, first, &v, kw, 0, &axis)) {
        return FC_UNKNOWN;
    }
    if (!joins(c, f, e, x, n, nodes, stack ? -1 : (int)axis)) return FC_UNKNOWN;
    return fc_v_node(fc_c_built(c, stack ? fc_build_stack(c->g, n, nodes, axis)
                                         : fc_build_concat(c->g, n, nodes, axis)));
}

static fc_value concat(fc_checker *c, fc_call *f, const fc_expr *e) {
    return join(c, f, e, false);
}

static fc_value stack(fc_checker *c, fc_call *f, const fc_expr *e) {
    return join(c, f, e, true);
}

/* ---- computed indices ---------------------------------------------------------------------------
 */

bool fc_c_index_arg(fc_checker *c, fc_call *f, const fc_expr *e, fc_value *out) {
    if (!fc_c_array_arg(c, f, e, out)) return false;
    if (fc_is_int(fc_v_dtype(c, out))) return true;
    fc_diag *d = fc_c_error(c, FUSEC_DTYPE_MISMATCH, e->at, "%s is %s, and indices are integers",
                            fc_c_quote(c, e->at), fc_c_value_type(c, out));
    fc_c_fact(c, d, e, out);
    return false;
}

fc_bounds fc_c_bounds_arg(fc_checker *c, const fc_expr *e, const char *none) {
    const char *const names[] = {"check", "clamp", none, "inside"};
    const bool text = e && e->kind == FC_EX_STRING;
    if (!e) return FC_BOUNDS_CHECK;
    for (int i = 0; text && i < 4; i++)
        if (strcmp(e->text, names[i]) == 0) return (fc_bounds)i;
    fc_c_error(c, FUSEC_ARGUMENT_COUNT, e->at,
               "bounds= is \"check\", \"clamp\", \"%s\" or \"inside\"", none);
    return FC_BOUNDS_BAD;
}

static fc_value take_at(fc_checker *c, fc_call *f, const fc_expr *e, bool along) {
    static const char *const names[] = {NULL, "index"}, *const keys[] = {"axis", "bounds", NULL};
    const fc_arg_spec spec = {names, 2, 2, keys};
    const fc_expr *p[2], *kw[2];
    uint32_t axis;
    fc_value x, i;
    if (!fc_c_args(c, e, &spec, p, kw) || !fc_c_array_arg(c, f, p[0], &x) ||
        !fc_c_index_arg(c, f, p[1], &i) || !fc_c_axis_arg(c, f, e, p[0], &x, kw[0], -1, &axis))
        return FC_UNKNOWN;
    const fc_bounds bounds = fc_c_bounds_arg(c, kw[1], "zero");
    const bool inside = bounds == FC_BOUNDS_INSIDE;
    if (bounds == FC_BOUNDS_BAD) return FC_UNKNOWN;
    if (along && fc_v_rank(c, &x) != fc_v_rank(c, &i)) {
        fc_diag *d = fc_c_error(c, FUSEC_SHAPE_MISMATCH, p[1]->at,
                                "take_along() needs equally many axes: %s has %u, %s has %u",
                                fc_c_quote(c, p[0]->at), fc_v_rank(c, &x), fc_c_quote(c, p[1]->at),
                                fc_v_rank(c, &i));
        fc_c_fact(c, d, p[0], &x);
        fc_c_fact(c, d, p[1], &i);
        return FC_UNKNOWN;
    }
    fc_node n = i.node;
    const fc_dim size = fc_axis(c->g, x.node, axis);
    if (bounds == FC_BOUNDS_CHECK) n = fc_c_checked(c, f, e, p[1], axis, n, size);
    if (bounds == FC_BOUNDS_CLAMP) n = fc_c_folded(c, FC_EDGE_EDGE, n, size);
    if (n == FC_NONODE) return FC_UNKNOWN;
    fc_node r = !along   ? fc_build_gather(c->g, x.node, n, axis, inside)
                : inside ? fc_build_take_inside(c->g, x.node, n, axis)
                         : fc_build_take(c->g, x.node, n, axis);
    return fc_v_node(fc_c_built(c, r));
}

static fc_value take(fc_checker *c, fc_call *f, const fc_expr *e) {
    return take_at(c, f, e, false);
}

static fc_value take_along(fc_checker *c, fc_call *f, const fc_expr *e) {
    return take_at(c, f, e, true);
}

static fc_value check(fc_checker *c, fc_call *f, const fc_expr *e) {
    static const char *const names[] = {NULL, "size"};
    const fc_arg_spec spec = {names, 2, 2, NULL};
    const fc_expr *p[2];
    fc_dim size;
    fc_value i;
    if (!fc_c_args(c, e, &spec, p, NULL) || !fc_c_index_arg(c, f, p[0], &i) ||
        !fc_c_size_arg(c, f, p[1], &size))
        return FC_UNKNOWN;
    return fc_v_node(fc_c_built(c, fc_build_check(c->g, i.node, size)));
}

/* ---- view: what a graph prints as ---------------------------------------------------------------
 */

/* [start, "mode", step, ...] */
static bool view_axis(fc_checker *c, fc_call *f, const fc_expr *e, uint32_t rank, int64_t *steps,
                      fc_view_axis *out) {
    const fc_expr *p = e->kind == FC_EX_LIST ? e->list : NULL;
    *out = (fc_view_axis){0, FC_EDGE_NONE, steps};
    if (e->kind != FC_EX_LIST || e->count != rank + 2) {
        fc_c_error(c, FUSEC_BAD_SLICE, e->at, "[start, mode, a step for each of %u axes]", rank);
        return false;
    }
    if (!fc_c_size_arg(c, f, p, &out->start) || !mode_arg(c, p->next, true, &out->edge)) return false;
    p = p->next->next;
    for (uint32_t k = 0; k < rank; k++, p = p->next) {
        const fc_value *v = fc_c_val(f, p);
        if (v->kind != FC_V_INT || v->i < -FC_MAX_STEP || v->i > FC_MAX_STEP) {
            fc_c_error(c, FUSEC_BAD_SLICE, p->at, "a step is an integer constant of 2^48 at most");
            return false;
        }
        steps[k] = (int64_t)v->i;
    }
    return true;
}

static fc_value view(fc_checker *c, fc_call *f, const fc_expr *e) {
    static const char *const names[] = {NULL, "shape", "axes"};
    const fc_arg_spec spec = {names, 3, 3, NULL};
    const fc_expr *p[3];
    fc_dim shape[FC_MAX_RANK];
    fc_view_axis axes[FC_MAX_RANK];
    uint32_t rank, i = 0;
    fc_value x;
    if (!fc_c_args(c, e, &spec, p, NULL) || !fc_c_array_arg(c, f, p[0], &x) ||
        !fc_c_shape_arg(c, f, p[1], &rank, shape, NULL))
        return FC_UNKNOWN;
    const uint32_t own = fc_v_rank(c, &x);
    if (p[2]->kind != FC_EX_LIST || p[2]->count != own) {
        fc_c_error(c, FUSEC_BAD_SLICE, p[2]->at,
                   "view() takes a list of [start, mode, steps ...] for each of %u axes", own);
        return FC_UNKNOWN;
    }
    int64_t *steps = fc_c_alloc(c, ((size_t)own * rank + 1) * sizeof *steps);
    if (!steps) return FC_UNKNOWN;
    for (const fc_expr *a = p[2]->list; a; a = a->next, i++)
        if (!view_axis(c, f, a, rank, steps + (size_t)i * rank, &axes[i])) return FC_UNKNOWN;
    return fc_v_node(fc_c_built(c, fc_build_view(c->g, x.node, rank, shape, axes)));
}

/* ---- which there are ----------------------------------------------------------------------------
 */

static fc_value (*const functions[])(fc_checker *, fc_call *, const fc_expr *) = {
    boundary, check, concat, pad, repeat, roll, stack, take, take_along, tile, view, window};
const char *const fc_c_join_names[] = {"boundary", "check",  "concat", "pad",        "repeat",
                                       "roll",     "stack",  "take",   "take_along", "tile",
                                       "view",     "window", NULL};

bool fc_c_is_join_name(const char *name) {
    return fc_c_listed(fc_c_join_names, name);
}

bool fc_c_join_call(fc_checker *c, fc_call *f, const fc_expr *e, const char *name, fc_value *out) {
    for (size_t i = 0; fc_c_join_names[i]; i++) {
        if (strcmp(fc_c_join_names[i], name) != 0) continue;
        *out = functions[i](c, f, e);
        return true;
    }
    return false;
}
