/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* check_args.c - the arguments of builtins: by position and by name, axes, dtypes. */
#include "frontend/lang/check_impl.h"

/* ---- arguments ------------------------------------------------------------------------------- */

void fc_c_count_error(fc_checker *c, const fc_expr *call, uint32_t least, uint32_t most,
                      uint32_t got) {
    const char *name = fc_c_quote(c, call->callee->at);
    const char *plural = most == 1 ? "" : "s";
    if (least == most)
        fc_c_error(c, FUSEC_ARGUMENT_COUNT, call->at, "%s() takes %u argument%s and got %u", name,
                   most, plural, got);
    else
        fc_c_error(c, FUSEC_ARGUMENT_COUNT, call->at, "%s() takes %u to %u arguments and got %u",
                   name, least, most, got);
}

static bool bad_label(fc_checker *c, const fc_expr *call, const fc_expr *a,
                      const fc_arg_spec *spec) {
    fc_diag *d = fc_c_error(c, FUSEC_ARGUMENT_COUNT, a->label->at, "%s() has no argument `%s`",
                            fc_c_quote(c, call->callee->at), a->label->text);
    fc_suggest s;
    fc_suggest_start(&s, a->label->text, a->label->len);
    for (uint32_t i = 0; spec->keywords && spec->keywords[i]; i++)
        fc_suggest_try(&s, spec->keywords[i]);
    for (uint32_t i = 0; i < spec->positions; i++)
        if (spec->names && spec->names[i]) fc_suggest_try(&s, spec->names[i]);
    fc_suggest_help(&s, d);
    return false;
}

bool fc_c_given_twice(fc_checker *c, const fc_expr *a, const char *name) {
    fc_c_error(c, FUSEC_ARGUMENT_COUNT, a->label ? a->label->at : a->at,
               "the argument `%s` is given twice", name);
    return false;
}

bool fc_c_args(fc_checker *c, const fc_expr *call, const fc_arg_spec *spec,
               const fc_expr **positions, const fc_expr **keywords) {
    uint32_t n = 0, nkeys = 0;
    while (spec->keywords && spec->keywords[nkeys]) keywords[nkeys++] = NULL;
    for (uint32_t i = 0; i < spec->positions; i++) positions[i] = NULL;
    for (const fc_expr *a = call->list; a; a = a->next) {
        if (!a->label) {
            if (n < spec->positions) positions[n] = a;
            n++;
            continue;
        }
        const fc_expr **slot = NULL;
        for (uint32_t i = 0; i < nkeys; i++)
            if (strcmp(spec->keywords[i], a->label->text) == 0) slot = &keywords[i];
        for (uint32_t i = 0; spec->names && i < spec->positions; i++)
            if (spec->names[i] && strcmp(spec->names[i], a->label->text) == 0) slot = &positions[i];
        if (!slot) return bad_label(c, call, a, spec);
        if (*slot) return fc_c_given_twice(c, a, a->label->text);
        *slot = a;
    }
    uint32_t got = n;
    for (uint32_t i = n; i < spec->positions; i++) got += positions[i] != NULL;
    bool hole = false;
    for (uint32_t i = 0; i < spec->least; i++) hole |= positions[i] == NULL;
    if (n <= spec->positions && !hole) return true;
    fc_c_count_error(c, call, spec->least, spec->positions, got);
    return false;
}

bool fc_c_dtype_arg(fc_checker *c, const fc_expr *e, fusec_dtype *t) {
    if (e->kind == FC_EX_NAME && fc_c_dtype_name(c->f, e->text, e->len, t)) return true;
    fc_diag *d = fc_c_error(c, FUSEC_UNKNOWN_NAME, e->at, "%s is no dtype", fc_c_quote(c, e->at));
    fc_suggest s;
    if (e->kind != FC_EX_NAME) return false;
    fc_suggest_start(&s, e->text, e->len);
    for (int i = 0; i < FC_DTYPE_ALL; i++) fc_suggest_try(&s, fc_dtypes[i].name);
    fc_suggest_help(&s, d);
    return false;
}

bool fc_c_array_arg(fc_checker *c, fc_call *f, const fc_expr *e, fc_value *out) {
    const fc_value *v = fc_c_val(f, e);
    if (!fc_c_operand(c, e, v)) return false;
    *out = fc_v_node(fc_c_strong(c, e, v));
    return out->kind != FC_V_UNKNOWN;
}

/* ---- axes ------------------------------------------------------------------------------------ */

static const char *axes_text(fc_checker *c, uint32_t rank) {
    if (rank == 0) return "it has none";
    if (rank == 1) return "its only axis is 0 (or -1)";
    if (rank == 2) return "its axes are 0 and 1 (or -2 and -1)";
    return fc_c_text(c, "its axes are 0 to %u (or -%u to -1)", rank - 1, rank);
}

static bool bad_axis(fc_checker *c, const fc_expr *array, const fc_value *v, const fc_expr *e,
                     const char *why) {
    fc_diag *d =
        fc_c_error(c, FUSEC_BAD_AXIS, e->at, "%s: %s is %s, %s", why, fc_c_quote(c, array->at),
                   fc_c_value_type(c, v), axes_text(c, fc_v_rank(c, v)));
    fc_c_fact(c, d, array, v);
    return false;
}

/* The axis that the declared type of a parameter calls `name`; -1: not decided by it. */
static int declared_axis(fc_call *f, const fc_expr *array, const char *name, uint32_t rank) {
    const fc_binding *b = array->kind == FC_EX_NAME ? fc_c_find(f, array->text) : NULL;
    int found = -1;
    if (!b || !b->type) return -1;
    uint32_t i = 0, after = b->type->rank;
    for (const fc_expr *d = b->type->dims; d; d = d->next, i++) {
        after--;
        if (d->kind != FC_EX_NAME || strcmp(d->text, name) != 0) continue;
        if (found >= 0) return -1;
        found = (int)(rank - 1 - after);
    }
    return found;
}

/* An axis by the name of its size. */
static bool axis_by_name(fc_checker *c, fc_call *f, const fc_expr *array, const fc_value *v,
                         const fc_expr *e, fc_dim_binding *dim, int64_t *out) {
    uint32_t rank = fc_v_rank(c, v), hits = 0;
    int declared = declared_axis(f, array, e->text, rank);
    if (declared >= 0) {
        *out = declared;
        return true;
    }
    for (uint32_t i = 0; i < rank; i++)
        if (fc_axis(c->g, v->node, i) == dim->dim) *out = i, hits++;
    if (hits == 1) return true;
    return bad_axis(c, array, v, e,
                    fc_c_text(c, hits ? "several axes are %s" : "no axis is %s", e->text));
}

static bool one_axis(fc_checker *c, fc_call *f, const fc_expr *array, const fc_value *v,
                     const fc_expr *e, int64_t *out) {
    const fc_value *x = fc_c_val(f, e);
    uint32_t rank = fc_v_rank(c, v), unused;
    if (e->kind == FC_EX_NAME && !fc_c_find(f, e->text)) {
        fc_dim_binding *dim = fc_c_dim(f, e->text);
        if (dim && v->kind == FC_V_NODE) return axis_by_name(c, f, array, v, e, dim, out);
        if (x->kind == FC_V_UNKNOWN && !fc_c_const(c, f->scope, e->text, &unused))
            return bad_axis(c, array, v, e, fc_c_text(c, "no axis is called %s", e->text));
    }
    if (x->kind == FC_V_UNKNOWN) return false;
    if (x->kind != FC_V_INT) {
        fc_c_error(c, FUSEC_BAD_AXIS, e->at,
                   "an axis is an integer constant or the name of a dim, not %s",
                   fc_c_quote(c, e->at));
        return false;
    }
    if (x->i < -(fc_wide)rank || x->i >= rank)
        return bad_axis(c, array, v, e,
                        fc_c_text(c, "axis %s does not exist", fc_c_wide_text(c, x->i)));
    *out = (int64_t)(x->i < 0 ? x->i + rank : x->i);
    return true;
}

bool fc_c_axes(fc_checker *c, fc_call *f, const fc_expr *array, const fc_value *v,
               const fc_expr *axis, int64_t *axes, uint32_t *count) {
    uint32_t rank = fc_v_rank(c, v);
    *count = 0;
    if (!axis) {
        for (uint32_t i = 0; i < rank; i++) axes[i] = i;
        *count = rank;
        return true;
    }
    bool many = axis->kind == FC_EX_TUPLE || axis->kind == FC_EX_LIST;
    for (const fc_expr *e = many ? axis->list : axis; e; e = many ? e->next : NULL) {
        int64_t a = 0;
        if (*count == FC_MAX_RANK || !one_axis(c, f, array, v, e, &a)) return false;
        for (uint32_t i = 0; i < *count; i++)
            if (axes[i] == a)
                return bad_axis(c, array, v, e,
                                fc_c_text(c, "axis %lld is given twice", (long long)a));
        axes[(*count)++] = a;
    }
    return true;
}
