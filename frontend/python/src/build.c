/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* build.c - operations on arrays that have the dtype they are computed in: in the graph of a trace,
 * or as values of their own. */
#include "frontend/python/src/fx.h"

/* ---- in a trace ---------------------------------------------------------------------------------
 */

static bool has_array(int n, const fx_operand *p) {
    for (int i = 0; i < n; i++)
        if (p[i].kind == FX_ARRAY) return true;
    return false;
}

fusec_value fx_complex_constant(fx_trace *t, uint8_t dtype, double re, double im) {
    const fusec_dtype part = dtype == FUSEC_C64 ? FUSEC_F32 : FUSEC_F64;
    return fusec_complex(fusec_const(t->graph, part, re), fusec_const(t->graph, part, im));
}

/* Numbers take the dtype of the arrays; among themselves they are constants of it. */
static fusec_value value_of(fx_trace *t, const fx_operand *p, uint8_t dtype, bool alone) {
    if (p->kind == FX_ARRAY) return p->a->value;
    if (p->kind == FX_COMPLEX) return fx_complex_constant(t, dtype, p->f, p->im);
    if (alone || p->kind == FX_BOOL)
        return p->kind == FX_FLOAT ? fusec_const(t->graph, (fusec_dtype)dtype, p->f)
                                   : fusec_const_i64(t->graph, (fusec_dtype)dtype, p->i);
    if (dtype > FUSEC_F64)
        return fx_complex_constant(t, dtype, p->kind == FX_FLOAT ? p->f : (double)p->i, 0);
    if (dtype >= FUSEC_F16) return fusec_num(p->kind == FX_FLOAT ? p->f : (double)p->i);
    return fusec_int(p->i);
}

static fx_array *traced_row(fx_trace *t, int row, int n, const fx_operand *p, uint8_t dtype) {
    fusec_value v[3];
    const bool alone = !has_array(n, p);
    const int first = fx_rows[row].rule == FX_RULE_SELECT; /* the condition is a bool */
    for (int i = 0; i < n; i++)
        v[i] = value_of(t, &p[i], i < first ? FUSEC_BOOL : dtype,
                        alone || (first && (i == 0 || !has_array(n - 1, p + 1))));
    return (fx_array *)fx_traced(t, fusec_op(t->graph, fx_op_of_row[row], n, v, NULL));
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
