/* build.c - operations on arrays that have the dtype they are computed in: in the graph of a trace,
 * or as values of their own. */
#include "frontend/python/src/fx.h"

/* ---- in a trace ---------------------------------------------------------------------------------
 */

#define X(name) [FX_ROW_##name] = fusec_##name,
static fusec_value (*const unary[FX_ROWS])(fusec_value) = {FUSEC_OPS_UNARY(X)};
static fusec_value (*const binary[FX_ROWS])(fusec_value, fusec_value) = {FUSEC_OPS_BINARY(X)};
static fusec_value (*const ternary[FX_ROWS])(fusec_value, fusec_value,
                                             fusec_value) = {FUSEC_OPS_TERNARY(X)};
#undef X

static bool has_array(int n, const fx_operand *p) {
    for (int i = 0; i < n; i++)
        if (p[i].kind == FX_ARRAY) return true;
    return false;
}

/* Numbers take the dtype of the arrays; among themselves they are constants of it. */
static fusec_value value_of(const fx_trace *t, const fx_operand *p, uint8_t dtype, bool alone) {
    const double f = p->kind == FX_FLOAT ? p->f : (double)p->i;
    if (p->kind == FX_ARRAY) return p->a->value;
    if (alone || p->kind == FX_BOOL) return fusec_const(t->graph, (fusec_dtype)dtype, f);
    return dtype >= FUSEC_F16 ? fusec_num(f) : fusec_int(p->i);
}

static fx_array *traced_row(fx_trace *t, int row, int n, const fx_operand *p, uint8_t dtype) {
    fusec_value v[3];
    const bool alone = !has_array(n, p);
    const int first = fx_rows[row].rule == FX_RULE_SELECT; /* the condition is a bool */
    for (int i = 0; i < n; i++)
        v[i] = value_of(t, &p[i], i < first ? FUSEC_BOOL : dtype,
                        alone || (first && (i == 0 || !has_array(n - 1, p + 1))));
    return (fx_array *)fx_traced(t, n == 1   ? unary[row](v[0])
                                    : n == 2 ? binary[row](v[0], v[1])
                                             : ternary[row](v[0], v[1], v[2]));
}

/* ---- either -------------------------------------------------------------------------------------
 */

fx_array *fx_build_row(fx_trace *t, int row, int n, const fx_operand *p, uint8_t dtype) {
    return t ? traced_row(t, row, n, p, dtype) : fx_lazy_row(row, n, p, dtype);
}

fx_array *fx_build_cast(fx_array *a, uint8_t dtype) {
    if (!a->trace) return fx_lazy_cast(a, dtype);
    return (fx_array *)fx_traced(a->trace, fusec_cast(a->value, (fusec_dtype)dtype));
}
