/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* check_gradient.c - derivatives: grad, vjp, jvp, jacobian, stop_grad.
 *
 * In: values that were computed already, and names of values they were computed from. Out: nodes
 * that passes/gradient.c appends. What it finds in the way is reported at the call. */
#include "frontend/lang/check_impl.h"

#include "passes/gradient.h"

const char *const fc_c_gradient_names[] = {"grad", "vjp", "jvp", "jacobian", "stop_grad", NULL};

bool fc_c_is_gradient_name(const char *name) {
    return fc_c_listed(fc_c_gradient_names, name);
}

/* ---- arguments
 * ----------------------------------------------------------------------------------- */

typedef struct derivation {
    const char *what;     /* "grad" */
    const fc_expr **args; /* all of them, by position */
    uint32_t count;
    fc_node y;
    uint32_t n; /* of the following: what it is derived by, and along what */
    fc_node x[FC_MAX_DERIVED], dx[FC_MAX_DERIVED];
} derivation;

static bool take_args(fc_checker *c, const fc_expr *e, uint32_t least, derivation *d) {
    for (const fc_expr *a = e->list; a; a = a->next) {
        if (a->label) {
            fc_c_error(c, FUSEC_ARGUMENT_COUNT, a->label->at, "%s() has no argument `%s`", d->what,
                       a->label->text);
            return false;
        }
        d->count++;
    }
    d->args = fc_c_alloc(c, (d->count + 1) * sizeof *d->args);
    if (!d->args) return false;
    d->count = 0;
    for (const fc_expr *a = e->list; a; a = a->next) d->args[d->count++] = a;
    if (d->count >= least && d->count <= FC_MAX_DERIVED) return true;
    fc_c_count_error(c, e, least, FC_MAX_DERIVED, d->count);
    return false;
}

/* A float array or scalar. */
static bool take_float(fc_checker *c, fc_call *f, const fc_expr *e, fc_node *out) {
    const fc_value *v = fc_c_val(f, e);
    *out = FC_NONODE;
    if (!fc_c_operand(c, e, v)) return false;
    if (v->kind == FC_V_NODE && !v->weak &&
        (fc_is_float(fc_v_dtype(c, v)) || fc_is_complex(fc_v_dtype(c, v)))) {
        *out = v->node;
        return true;
    }
    fc_diag *d =
        fc_c_error(c, FUSEC_NO_GRADIENT, e->at, "derivatives are of floats by floats, and %s is %s",
                   fc_c_quote(c, e->at), fc_c_value_type(c, v));
    fc_c_fact(c, d, e, v);
    return false;
}

/* What something is derived by has a name, under which it was used. */
static bool take_named(fc_checker *c, fc_call *f, const char *what, const fc_expr *e,
                       fc_node *out) {
    if (e->kind == FC_EX_NAME) return take_float(c, f, e, out);
    if (fc_c_val(f, e)->kind == FC_V_UNKNOWN) return false;
    fc_diag *d = fc_c_error(c, FUSEC_NO_GRADIENT, e->at,
                            "%s() derives by a value that has a name, and %s is an expression",
                            what, fc_c_quote(c, e->at));
    fc_diag_help(d, "bind it to a name, and compute what is derived from that: s = %s",
                 fc_c_quote(c, e->at));
    return false;
}

/* A cotangent or tangent: a number takes the dtype of what it belongs to. */
static bool take_along(fc_checker *c, fc_call *f, const fc_expr *e, fc_node of, fc_node *out) {
    const fc_value *v = fc_c_val(f, e);
    *out = FC_NONODE;
    if (!fc_c_operand(c, e, v)) return false;
    const fusec_dtype t = (fusec_dtype)fc_at(c->g, of)->dtype;
    *out = fc_v_weak(v) ? fc_c_node(c, e, v, t) : fc_c_strong(c, e, v);
    return *out != FC_NONODE;
}

static void warn_zero(fc_checker *c, fc_call *f, const derivation *d, uint32_t x, fc_node by) {
    if (c->ds->errors || fc_depends(c->g, d->y, by)) return;
    fc_diag_warning(c->ds, "zero-derivative", f->ast->src, d->args[x]->at,
                    "%s does not depend on %s: the derivative is 0", fc_c_quote(c, d->args[0]->at),
                    fc_c_quote(c, d->args[x]->at));
}

/* One value, or several results. */
static fc_value values(fc_checker *c, const fc_node *n, uint32_t count) {
    if (!fc_c_fine(c)) return FC_UNKNOWN;
    if (count == 1) return fc_v_node(n[0]);
    fc_value *items = fc_c_alloc(c, count * sizeof *items);
    if (!items) return FC_UNKNOWN;
    for (uint32_t i = 0; i < count; i++) items[i] = fc_v_node(n[i]);
    return (fc_value){.kind = FC_V_TUPLE, .count = count, .items = items};
}

/* ---- the functions ------------------------------------------------------------------------------
 */

static fc_value not_scalar(fc_checker *c, fc_call *f, const fc_expr *e, const derivation *d) {
    const fc_value *v = fc_c_val(f, d->args[0]);
    const char *text = fc_c_quote(c, d->args[0]->at);
    fc_diag *g = fc_c_error(c, FUSEC_NO_GRADIENT, e->at, "grad() derives a scalar, and %s is %s",
                            text, fc_c_value_type(c, v));
    fc_c_fact(c, g, d->args[0], v);
    fc_diag_help(g, "sum(%s) or mean(%s) is a scalar; vjp(y, x, dy) and jacobian(y, x) take arrays",
                 text, text);
    return FC_UNKNOWN;
}

/* grad(loss, x, ...) */
static fc_value grad(fc_checker *c, fc_call *f, const fc_expr *e, derivation *d) {
    if (!take_args(c, e, 2, d) || !take_float(c, f, d->args[0], &d->y)) return FC_UNKNOWN;
    d->n = d->count - 1;
    for (uint32_t i = 0; i < d->n; i++)
        if (!take_named(c, f, d->what, d->args[i + 1], &d->x[i])) return FC_UNKNOWN;
    if (fc_rank(c->g, d->y)) return not_scalar(c, f, e, d);
    for (uint32_t i = 0; i < d->n; i++) warn_zero(c, f, d, i + 1, d->x[i]);
    fc_grad(c->g, d->y, d->n, d->x, d->dx);
    return values(c, d->dx, d->n);
}

/* vjp(y, x, ..., dy) */
static fc_value vjp(fc_checker *c, fc_call *f, const fc_expr *e, derivation *d) {
    fc_node dy;
    if (!take_args(c, e, 3, d) || !take_float(c, f, d->args[0], &d->y)) return FC_UNKNOWN;
    d->n = d->count - 2;
    for (uint32_t i = 0; i < d->n; i++)
        if (!take_named(c, f, d->what, d->args[i + 1], &d->x[i])) return FC_UNKNOWN;
    if (!take_along(c, f, d->args[d->count - 1], d->y, &dy)) return FC_UNKNOWN;
    for (uint32_t i = 0; i < d->n; i++) warn_zero(c, f, d, i + 1, d->x[i]);
    fc_vjp(c->g, d->y, dy, d->n, d->x, d->dx);
    return values(c, d->dx, d->n);
}

/* jvp(y, x, dx, ...) */
static fc_value jvp(fc_checker *c, fc_call *f, const fc_expr *e, derivation *d) {
    if (!take_args(c, e, 3, d) || !take_float(c, f, d->args[0], &d->y)) return FC_UNKNOWN;
    d->n = (d->count - 1) / 2;
    if (d->count % 2 == 0) {
        fc_c_error(
            c, FUSEC_ARGUMENT_COUNT, e->at,
            "jvp() takes what is derived, then each value with what it moves along: jvp(y, x, "
            "dx)");
        return FC_UNKNOWN;
    }
    for (uint32_t i = 0; i < d->n; i++) {
        if (!take_named(c, f, d->what, d->args[2 * i + 1], &d->x[i]) ||
            !take_along(c, f, d->args[2 * i + 2], d->x[i], &d->dx[i]))
            return FC_UNKNOWN;
        warn_zero(c, f, d, 2 * i + 1, d->x[i]);
    }
    return fc_v_node(fc_c_built(c, fc_jvp(c->g, d->y, d->n, d->x, d->dx)));
}

/* jacobian(y, x) */
static fc_value jacobian(fc_checker *c, fc_call *f, const fc_expr *e, derivation *d) {
    if (!take_args(c, e, 2, d)) return FC_UNKNOWN;
    if (d->count > 2) return fc_c_count_error(c, e, 2, 2, d->count), FC_UNKNOWN;
    if (!take_float(c, f, d->args[0], &d->y) || !take_named(c, f, d->what, d->args[1], &d->x[0]))
        return FC_UNKNOWN;
    warn_zero(c, f, d, 1, d->x[0]);
    return fc_v_node(fc_c_built(c, fc_jacobian(c->g, d->y, d->x[0])));
}

static fc_value stop_grad(fc_checker *c, fc_call *f, const fc_expr *e) {
    const fc_arg_spec spec = {NULL, 1, 1, NULL};
    const fc_expr *x;
    if (!fc_c_args(c, e, &spec, &x, NULL) || !fc_c_operand(c, x, fc_c_val(f, x))) return FC_UNKNOWN;
    if (fc_v_weak(fc_c_val(f, x))) return *fc_c_val(f, x);
    return fc_v_node(fc_c_built(c, fc_build_stop_grad(c->g, fc_c_strong(c, x, fc_c_val(f, x)))));
}

bool fc_c_gradient_call(fc_checker *c, fc_call *f, const fc_expr *e, const char *name,
                        fc_value *out) {
    derivation d = {.what = name};
    if (!fc_c_is_gradient_name(name)) return false;
    if (strcmp(name, "grad") == 0)
        *out = grad(c, f, e, &d);
    else if (strcmp(name, "vjp") == 0)
        *out = vjp(c, f, e, &d);
    else if (strcmp(name, "jvp") == 0)
        *out = jvp(c, f, e, &d);
    else if (strcmp(name, "jacobian") == 0)
        *out = jacobian(c, f, e, &d);
    else
        *out = stop_grad(c, f, e);
    return true;
}
