/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* check_scan.c - prefixes: cumsum, cumprod, cummin, cummax, cumany, cumall, which are "cum" before
 * the name of a reduction that has them. */
#include "frontend/lang/check_impl.h"

#include "ir/fold.h"

static const fc_op rows[] = {FC_OP_sum, FC_OP_prod, FC_OP_min, FC_OP_max, FC_OP_any, FC_OP_all};

static fc_op row_of(const char *name) {
    for (size_t i = 0; i < FC_COUNT(rows) && strncmp(name, "cum", 3) == 0; i++)
        if (strcmp(name + 3, fc_ops[rows[i]].name) == 0) return rows[i];
    return FC_OP_NONE;
}

bool fc_c_is_scan_name(const char *name) {
    return row_of(name) != FC_OP_NONE;
}

void fc_c_suggest_scans(fc_checker *c, fc_suggest *s) {
    for (size_t i = 0; i < FC_COUNT(rows); i++)
        fc_suggest_try(s, fc_c_text(c, "cum%s", fc_ops[rows[i]].name));
}

bool fc_c_the_axis(fc_checker *c, fc_call *f, const fc_expr *e, const fc_expr *array,
                   const fc_value *x, const fc_expr *given, int64_t *axis) {
    const char *name = fc_c_quote(c, e->callee->at);
    int64_t axes[FC_MAX_RANK];
    uint32_t count = 0;
    *axis = 0;
    if (!given && fc_rank(c->g, x->node) == 1) return true;
    if (given && !fc_c_axes(c, f, array, x, given, axes, &count)) return false;
    *axis = count ? axes[0] : 0;
    if (count == 1) return true;
    fc_diag *d = fc_c_error(c, FUSEC_BAD_AXIS, given ? given->at : e->at,
                            "%s() goes along one axis; here %s", name,
                            given ? fc_c_text(c, "there are %u", count) : "none is named");
    fc_c_fact(c, d, array, x);
    if (e->list == array)
        fc_diag_help(d, "%s(%s, axis=-1)", name, fc_c_quote(c, array->outer));
    else
        fc_diag_help(d, "%s(..., axis=-1)", name);
    return false;
}

bool fc_c_scan_call(fc_checker *c, fc_call *f, const fc_expr *e, const char *name, fc_value *out) {
    static const char *const keys[] = {"axis", "exclusive", "reverse", "reset", NULL};
    const fc_arg_spec spec = {NULL, 1, 1, keys};
    const fc_expr *array[1], *kw[4];
    const fc_op op = row_of(name);
    int64_t axis;
    bool exclusive, reverse;
    fc_value x, reset;
    if (op == FC_OP_NONE) return false;
    *out = FC_UNKNOWN;
    if (!fc_c_args(c, e, &spec, array, kw) || !fc_c_array_arg(c, f, array[0], &x) ||
        !fc_c_the_axis(c, f, e, array[0], &x, kw[0], &axis) ||
        !fc_c_flag_arg(c, f, kw[1], &exclusive) || !fc_c_flag_arg(c, f, kw[2], &reverse))
        return true;
    if (kw[3] && !fc_c_array_arg(c, f, kw[3], &reset)) return true;
    if (kw[3])
        *out = fc_v_node(fc_c_built(
            c, fc_build_scan_reset(c->g, op, x.node, reset.node, axis, exclusive, reverse)));
    else
        *out = fc_v_node(fc_c_built(c, fc_build_scan(c->g, op, x.node, axis, exclusive, reverse)));
    return true;
}
