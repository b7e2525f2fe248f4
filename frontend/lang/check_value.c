/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* check_value.c - values of the checker: weak ones, how operands combine, and their nodes.
 *
 * Weak values become nodes when they meet a dtype, so a literal is exact until then. */
#include "frontend/lang/check_impl.h"

#include "ir/code.h"

#include <math.h>

#include "ir/eval.h"
#include "ir/expand.h"

fc_value fc_v_node(fc_node n) {
    return n == FC_NONODE ? FC_UNKNOWN : (fc_value){.kind = FC_V_NODE, .node = n};
}
fc_value fc_v_element_if(fc_node n, bool element) {
    fc_value r = fc_v_node(n);
    r.element = element && r.kind == FC_V_NODE;
    return r;
}
fc_value fc_v_like(fc_node n, const fc_value *v) {
    return fc_v_element_if(n, fc_v_element(v));
}
fc_value fc_v_int(fc_wide i) {
    return (fc_value){.kind = FC_V_INT, .i = i};
}
fc_value fc_v_float(double f) {
    return (fc_value){.kind = FC_V_FLOAT, .f = f};
}
fc_value fc_v_bool(bool b) {
    return (fc_value){.kind = FC_V_BOOL, .truth = b};
}

fc_value fc_v_dim(fc_checker *c, fc_dim d) {
    int64_t v;
    if (d == FC_DIM_NONE) {
        if (c->g->dims.oom)
            fc_c_oom(c);
        else
            fc_c_error(c, FUSEC_LIMIT, fc_c_here(c), "a size %s", fc_dim_fault(&c->g->dims));
        return FC_UNKNOWN;
    }
    if (fc_dim_is_const(&c->g->dims, d, &v)) return fc_v_int(v);
    return (fc_value){.kind = FC_V_DIM, .dim = d};
}

fc_value fc_v_number(const fc_lang_number *n) {
    if (n->kind == FC_LANG_BOOL) return fc_v_bool(n->magnitude != 0);
    if (n->kind == FC_LANG_FLOAT) return fc_v_float(n->value);
    return fc_v_int(n->negative ? -(fc_wide)n->magnitude : (fc_wide)n->magnitude);
}

bool fc_v_real(const fc_value *v, double *out) {
    if (v->kind == FC_V_INT) *out = (double)v->i;
    if (v->kind == FC_V_FLOAT) *out = v->f;
    return v->kind == FC_V_INT || v->kind == FC_V_FLOAT;
}

fc_weakness fc_v_weakness(const fc_value *v) {
    switch (v->kind) {
    case FC_V_NODE: return (fc_weakness)v->weak;
    case FC_V_BOOL: return FC_W_BOOL;
    case FC_V_FLOAT: return FC_W_FLOAT;
    default: return FC_W_INT;
    }
}

/* A function of numbers in the text (cos(0.5)) is a number of the text: it is worked out here in
 * f64, once, and is the same on every device. Functions of typed constants stay in the graph for
 * the device to compute. */
static fc_node fold_weak(fc_checker *c, fc_node n) {
    const fc_ninfo *i = fc_at(c->g, n);
    double in[3] = {0}, out;
    if (i->dtype != FUSEC_F64 || !fc_is_elementwise(i->op) ||
        !fc_target_has(FC_TARGET_INTERP, (fc_op)i->op, FUSEC_F64))
        return n;
    for (int k = 0; k < i->nops; k++) {
        const fc_ninfo *a = fc_at(c->g, i->src[k]);
        if (a->op != FC_OP_CONST || a->dtype != FUSEC_F64) return n;
        in[k] = fc_const_value(FUSEC_F64, a->attr);
    }
    if (!fc_eval((fc_op)i->op, FUSEC_F64, FUSEC_F64, 1, &in[0], &in[1], &in[2], &out)) return n;
    return fc_c_built(c, fc_build_number(c->g, FUSEC_F64, out));
}

fc_value fc_v_weak_node(fc_checker *c, fc_node n) {
    if (n == FC_NONODE) return FC_UNKNOWN;
    n = fold_weak(c, n);
    if (n == FC_NONODE) return FC_UNKNOWN;
    const fc_ninfo *i = fc_at(c->g, n);
    fusec_dtype t = (fusec_dtype)i->dtype;
    if (i->op == FC_OP_CONST) {
        if (t == FUSEC_BOOL) return fc_v_bool(i->attr != 0);
        if (t == FUSEC_I64) return fc_v_int((int64_t)i->attr);
        if (t == FUSEC_F64) return fc_v_float(fc_const_value(t, i->attr));
    }
    if (i->op == FC_OP_DIM) return fc_v_dim(c, (fc_dim)i->attr);
    fc_value v = fc_v_node(n);
    v.weak = t == FUSEC_BOOL    ? FC_W_BOOL
             : t == FUSEC_I64   ? FC_W_INT
             : fc_is_complex(t) ? FC_W_COMPLEX
                                : FC_W_FLOAT;
    return v;
}

bool fc_c_operand(fc_checker *c, const fc_expr *e, const fc_value *v) {
    if (v->kind == FC_V_UNKNOWN) return false;
    if (v->kind < FC_V_TUPLE) return true;
    const char *text = fc_c_quote(c, e->at);
    if (v->kind == FC_V_STRING) {
        fc_c_error(c, FUSEC_DTYPE_MISMATCH, e->at, "%s is a string, and strings are no data", text);
    } else if (v->kind == FC_V_TUPLE && v->names) {
        fc_diag *d = fc_c_error(c, FUSEC_ARGUMENT_COUNT, e->at,
                                "%s gives %u results, and one is wanted here", text, v->count);
        fc_str s;
        fc_str_init(&s, c->alloc);
        for (uint32_t i = 0; i < v->count && i < 8; i++)
            fc_str_printf(&s, "%s%s", i ? ", " : "", v->names[i]);
        fc_diag_help(d, "take them first: %s = %s", s.data, text);
        fc_c_str_free(c, &s);
    } else {
        fc_diag *d = fc_c_error(c, FUSEC_DTYPE_MISMATCH, e->at, "%s is a list, not an array", text);
        fc_diag_help(d, "lists give shapes and axes, as in reshape(x, [2, 3])");
    }
    return false;
}

/* ---- dtypes and shapes ----------------------------------------------------------------------- */

fusec_dtype fc_c_default_dtype(const fc_checker *c, const fc_value *v) {
    fc_weakness w = fc_v_weakness(v);
    if (w == FC_W_COMPLEX) return fc_complex_of(c->g->default_float);
    return w == FC_W_BOOL ? FUSEC_BOOL : w == FC_W_INT ? FUSEC_I64 : c->g->default_float;
}

fusec_dtype fc_v_dtype(const fc_checker *c, const fc_value *v) {
    if (v->kind == FC_V_NODE && !v->weak) return (fusec_dtype)fc_at(c->g, v->node)->dtype;
    return fc_c_default_dtype(c, v);
}

uint32_t fc_v_rank(const fc_checker *c, const fc_value *v) {
    return v->kind == FC_V_NODE && !v->element ? fc_rank(c->g, v->node) : 0;
}

uint32_t fc_v_shape(const fc_checker *c, const fc_value *v, fc_dim *shape) {
    uint32_t rank = fc_v_rank(c, v);
    for (uint32_t i = 0; i < rank; i++) shape[i] = fc_axis(c->g, v->node, i);
    return rank;
}

bool fc_c_size(fc_checker *c, const fc_value *v, fc_dim *out) {
    if (v->kind == FC_V_DIM) {
        *out = v->dim;
        return true;
    }
    if (v->kind != FC_V_INT || v->i < INT64_MIN || v->i > INT64_MAX) return false;
    *out = fc_dim_const(&c->g->dims, (int64_t)v->i);
    if (*out == FC_DIM_NONE) fc_c_oom(c);
    return *out != FC_DIM_NONE;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static bool fits(fc_wide i, fusec_dtype t) {
    int bits = fc_dtypes[t].bits;
    if (fc_is_float(t)) return isfinite(fc_const_value(t, fc_const_bits(t, (double)i)));
    if (fc_is_unsigned(t)) return i >= 0 && i < (fc_wide)1 << bits;
    fc_wide end = (fc_wide)1 << (bits - 1);
    return i >= -end && i < end;
}

static const char *range_text(fc_checker *c, fusec_dtype t) {
    if (fc_is_float(t)) {
        fc_str s;
        fc_str_init(&s, c->alloc);
        fc_str_double(&s, fc_const_value(t, fc_const_max(t)), true);
        const char *text = fc_c_text(c, "its values end at %s", s.data);
        fc_c_str_free(c, &s);
        return text;
    }
    int bits = fc_dtypes[t].bits;
    fc_wide end = (fc_wide)1 << (fc_is_unsigned(t) ? bits : bits - 1);
    return fc_c_text(c, "its values are %s to %s", fc_c_wide_text(c, fc_is_unsigned(t) ? 0 : -end),
                     fc_c_wide_text(c, end - 1));
}

static fc_node integer_node(fc_checker *c, const fc_expr *e, fc_wide i, fusec_dtype of) {
    const fusec_dtype t = fc_is_complex(of) ? fc_part_dtype(of) : of;
    if (!fits(i, t)) {
        fc_diag *d = fc_c_error(c, FUSEC_LITERAL_RANGE, e->at, "%s does not fit %s: %s",
                                fc_c_wide_text(c, i), fc_dtypes[t].name, range_text(c, t));
        if (fc_is_int(t) && i >= INT64_MIN)
            fc_diag_help(d, "%s(%s) wraps it, or cast the other side to a wider dtype",
                         fc_dtypes[t].name, fc_c_quote(c, e->at));
        return FC_NONODE;
    }
    uint64_t bits = i >= INT64_MIN && i <= INT64_MAX ? fc_const_int(t, (int64_t)i)
                    : fc_is_float(t)                 ? fc_const_bits(t, (double)i)
                                                     : (uint64_t)i;
    return fc_c_built(c, fc_build_cast(c->g, fc_build_const(c->g, t, bits), of));
}

static fc_node not_of_dtype(fc_checker *c, const fc_expr *e, const char *what, fusec_dtype t) {
    fc_diag *d = fc_c_error(c, FUSEC_DTYPE_MISMATCH, e->at, "%s is %s, and %s is wanted here",
                            fc_c_quote(c, e->at), what, fc_dtypes[t].name);
    fc_diag_help(d, "write the cast: %s(%s)", fc_dtypes[t].name, fc_c_quote(c, e->at));
    return FC_NONODE;
}

fc_node fc_c_node(fc_checker *c, const fc_expr *e, const fc_value *v, fusec_dtype t) {
    fc_weakness w = fc_v_weakness(v);
    if (v->kind == FC_V_UNKNOWN || v->kind >= FC_V_TUPLE) return FC_NONODE;
    if (w == FC_W_INT && t == FUSEC_BOOL) return not_of_dtype(c, e, "a number", t);
    if (w == FC_W_FLOAT && !fc_is_float(t) && !fc_is_complex(t))
        return not_of_dtype(c, e, "a float", t);
    if (w == FC_W_COMPLEX && !fc_is_complex(t)) return not_of_dtype(c, e, "a complex number", t);
    switch (v->kind) {
    case FC_V_INT: return integer_node(c, e, v->i, t);
    case FC_V_FLOAT: return fc_c_built(c, fc_build_number(c->g, t, v->f));
    case FC_V_BOOL: return fc_c_built(c, fc_build_number(c->g, t, v->truth));
    case FC_V_DIM: return fc_c_built(c, fc_build_cast(c->g, fc_build_dim(c->g, v->dim), t));
    case FC_V_INDEX: return fc_c_built(c, fc_build_cast(c->g, fc_c_index_node(c, v), t));
    default: return fc_c_built(c, fc_build_cast(c->g, v->node, t));
    }
}

fc_node fc_c_strong(fc_checker *c, const fc_expr *e, const fc_value *v) {
    if (v->kind == FC_V_NODE && !v->weak) return v->node;
    return fc_c_node(c, e, v, fc_c_default_dtype(c, v));
}

/* ---- combining ------------------------------------------------------------------------------- */

static void no_common_dtype(fc_checker *c, fc_range op_at, const fc_expr *ea, const fc_value *a,
                            const fc_expr *eb, const fc_value *b) {
    fusec_dtype ta = fc_v_dtype(c, a), tb = fc_v_dtype(c, b);
    const char *na = fc_dtypes[ta].name, *nb = fc_dtypes[tb].name;
    fc_diag *d =
        fc_c_error(c, FUSEC_DTYPE_MISMATCH, op_at, "%s and %s have no common dtype", na, nb);
    fc_diag_partner(d, ea->outer);
    fc_diag_partner(d, eb->outer);
    fc_c_fact(c, d, ea, a);
    fc_c_fact(c, d, eb, b);
    const char *x = fc_c_quote(c, ea->at), *y = fc_c_quote(c, eb->at);
    const char *ox = fc_c_quote(c, ea->outer), *oy = fc_c_quote(c, eb->outer);
    const char *op = fc_c_quote(c, op_at);
    if (op_at.end - op_at.begin <= 3 && !fc_is_letter(*op))
        fc_diag_help(d, "%s %s %s(%s), or %s(%s) %s %s: whichever range is meant", ox, op, na, y,
                     nb, x, op, oy);
    else
        fc_diag_help(d, "cast one of them: %s(%s) or %s(%s), whichever range is meant", na, y, nb,
                     x);
}

fusec_dtype fc_c_weak_dtype(fc_weakness w) {
    return w == FC_W_COMPLEX ? FUSEC_C128
           : w == FC_W_FLOAT ? FUSEC_F64
           : w == FC_W_INT   ? FUSEC_I64
                             : FUSEC_BOOL;
}

bool fc_c_combine(fc_checker *c, fc_range op_at, uint32_t n, const fc_expr *const *e,
                  const fc_value *v, fusec_dtype *t, bool *weak) {
    fc_weakness w = FC_W_STRONG;
    uint32_t first = n;
    for (uint32_t i = 0; i < n; i++) {
        fc_weakness wi = fc_v_weakness(&v[i]);
        if (wi > w) w = wi;
        if (wi != FC_W_STRONG) continue;
        fusec_dtype ti = fc_v_dtype(c, &v[i]);
        if (first == n) {
            *t = ti;
            first = i;
        } else if (!fc_promote(*t, ti, t)) {
            uint32_t k = first;
            for (uint32_t j = 0; j < i; j++) {
                fusec_dtype unused;
                if (!fc_v_weak(&v[j]) && !fc_promote(fc_v_dtype(c, &v[j]), ti, &unused)) k = j;
            }
            no_common_dtype(c, op_at, e[k], &v[k], e[i], &v[i]);
            return false;
        }
    }
    *weak = first == n;
    if (*weak)
        *t = fc_c_weak_dtype(w);
    else if (w == FC_W_COMPLEX && !fc_is_complex(*t))
        *t = fc_complex_of(fc_is_float(*t) ? *t : c->g->default_float);
    else if (w == FC_W_FLOAT && !fc_is_float(*t) && !fc_is_complex(*t))
        *t = c->g->default_float;
    else if (w == FC_W_INT && *t == FUSEC_BOOL)
        *t = FUSEC_I64;
    return true;
}
