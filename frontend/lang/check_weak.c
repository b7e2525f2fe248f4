/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* check_weak.c - operators on weak values only: exact integers, f64, sizes.
 *
 * Constant integers are computed here, exactly. Sizes stay linear forms where they can. All else
 * runs through the graph in i64 or f64, where constants fold with the rounding of kernels. */
#include "frontend/lang/check_impl.h"

#include "ir/code.h"

#define INT_LOW  (-((fc_wide)1 << 63))
#define INT_HIGH (((fc_wide)1 << 64) - 1)

fc_op fc_c_row_of(fc_oper op) {
    static const uint16_t rows[FC_OPER_COUNT] = {
        [FC_OPER_NEG] = FC_OP_neg,
        [FC_OPER_BIT_NOT] = FC_OP_bit_not,
        [FC_OPER_NOT] = FC_OP_logical_not,
        [FC_OPER_OR] = FC_OP_logical_or,
        [FC_OPER_AND] = FC_OP_logical_and,
        [FC_OPER_LT] = FC_OP_lt,
        [FC_OPER_LE] = FC_OP_le,
        [FC_OPER_GT] = FC_OP_gt,
        [FC_OPER_GE] = FC_OP_ge,
        [FC_OPER_EQ] = FC_OP_eq,
        [FC_OPER_NE] = FC_OP_ne,
        [FC_OPER_BIT_OR] = FC_OP_bit_or,
        [FC_OPER_BIT_XOR] = FC_OP_bit_xor,
        [FC_OPER_BIT_AND] = FC_OP_bit_and,
        [FC_OPER_SHL] = FC_OP_shl,
        [FC_OPER_SHR] = FC_OP_shr,
        [FC_OPER_ADD] = FC_OP_add,
        [FC_OPER_SUB] = FC_OP_sub,
        [FC_OPER_MUL] = FC_OP_mul,
        [FC_OPER_DIV] = FC_OP_div,
        [FC_OPER_FLOORDIV] = FC_OP_floordiv,
        [FC_OPER_MOD] = FC_OP_mod,
        [FC_OPER_POW] = FC_OP_pow,
    };
    return (fc_op)rows[op];
}

/* ---- exact integers -------------------------------------------------------------------------- */

static fc_wide floor_div(fc_wide a, fc_wide b) {
    fc_wide q = a / b;
    return a % b && (a < 0) != (b < 0) ? q - 1 : q;
}

/* False when the power leaves the range of integers. */
static bool power(fc_wide a, fc_wide n, fc_wide *out) {
    fc_wide r = 1;
    if (a == 0 || a == 1 || a == -1) {
        *out = n == 0 ? 1 : a == -1 && n % 2 == 0 ? 1 : a;
        return true;
    }
    if (n > 64) return false;
    for (; n > 0; n--) {
        if (__builtin_mul_overflow(r, a, &r) || r < INT_LOW || r > INT_HIGH) return false;
    }
    *out = r;
    return true;
}

static bool shift_left(fc_wide a, fc_wide n, fc_wide *out) {
    if (n < 0 || a == 0) {
        *out = 0;
        return true;
    }
    if (n > 63) return false;
    *out = a * ((fc_wide)1 << n);
    return true;
}

/* False: not an integer operation, or out of range (`*range`). */
static bool exact(fc_oper op, fc_wide a, fc_wide b, fc_wide *r, bool *range) {
    bool good = true;
    switch (op) {
    case FC_OPER_ADD: *r = a + b; break;
    case FC_OPER_SUB: *r = a - b; break;
    case FC_OPER_MUL: good = !__builtin_mul_overflow(a, b, r); break;
    case FC_OPER_FLOORDIV: *r = b ? floor_div(a, b) : 0; break;
    case FC_OPER_MOD: *r = b ? a - floor_div(a, b) * b : 0; break;
    case FC_OPER_POW: good = power(a, b, r); break;
    case FC_OPER_BIT_AND: *r = a & b; break;
    case FC_OPER_BIT_OR: *r = a | b; break;
    case FC_OPER_BIT_XOR: *r = a ^ b; break;
    case FC_OPER_SHL: good = shift_left(a, b, r); break;
    case FC_OPER_SHR: *r = b < 0 || b > 64 ? (a < 0 ? -1 : 0) : a >> b; break;
    default: return false;
    }
    *range = !good || *r < INT_LOW || *r > INT_HIGH;
    return !*range;
}

static fc_value out_of_range(fc_checker *c, const fc_expr *e) {
    fc_c_error(c, FUSEC_LITERAL_RANGE, e->at,
               "%s is outside the integers, which reach from -2^63 to 2^64-1",
               fc_c_quote(c, e->at));
    return FC_UNKNOWN;
}

/* ---- sizes ----------------------------------------------------------------------------------- */

/* FC_DIM_NONE: not as a linear form, or too large. */
static fc_dim size_op(fc_checker *c, fc_oper op, const fc_value *a, const fc_value *b) {
    fc_dimtab *t = &c->g->dims;
    fc_dim x, y;
    if (!fc_c_size(c, a, &x) || !fc_c_size(c, b, &y)) return FC_DIM_NONE;
    bool zero = b->kind == FC_V_INT && b->i == 0;
    switch (op) {
    case FC_OPER_ADD: return fc_dim_add(t, x, y);
    case FC_OPER_SUB: return fc_dim_sub(t, x, y);
    case FC_OPER_MUL: return fc_dim_mul(t, x, y);
    case FC_OPER_FLOORDIV: return zero ? fc_dim_const(t, 0) : fc_dim_floordiv(t, x, y);
    case FC_OPER_MOD: return zero ? fc_dim_const(t, 0) : fc_dim_mod(t, x, y);
    default: return FC_DIM_NONE;
    }
}

/* ---- operators ------------------------------------------------------------------------------- */

static bool integer(const fc_value *v) {
    return v->kind == FC_V_INT || v->kind == FC_V_DIM;
}

/* In i64, f64, c128 or bool through the graph. */
static fc_value through_graph(fc_checker *c, const fc_expr *e, fc_op row, uint32_t n,
                              const fc_value *v, fusec_dtype t) {
    fc_node node[2] = {FC_NONODE, FC_NONODE};
    for (uint32_t i = 0; i < n; i++) {
        node[i] = fc_c_node(c, e, &v[i], t);
        if (node[i] == FC_NONODE) return FC_UNKNOWN;
    }
    bool element = fc_c_line_up(c, n, v, node);
    fc_value r =
        fc_v_weak_node(c, fc_c_built(c, fc_build_op(c->g, row, node[0], node[1], FC_NONODE)));
    r.element = element && r.kind == FC_V_NODE;
    return r;
}

static fusec_dtype common(const fc_value *a, const fc_value *b) {
    fc_weakness w = fc_v_weakness(a), x = fc_v_weakness(b);
    if (x > w) w = x;
    return fc_c_weak_dtype(w);
}

fc_value fc_c_weak_unary(fc_checker *c, const fc_expr *e, fc_oper op, const fc_value *a) {
    if (op == FC_OPER_NEG && a->kind == FC_V_INT)
        return -a->i < INT_LOW ? out_of_range(c, e) : fc_v_int(-a->i);
    if (op == FC_OPER_NEG && a->kind == FC_V_FLOAT) return fc_v_float(-a->f);
    if (op == FC_OPER_NEG && a->kind == FC_V_DIM)
        return fc_v_dim(c, fc_dim_mul(&c->g->dims, a->dim, fc_dim_const(&c->g->dims, -1)));
    if (op == FC_OPER_NEG && a->kind == FC_V_INDEX) {
        fc_value minus = fc_v_int(-1), r = fc_c_index_arith(c, FC_OPER_MUL, a, &minus);
        if (r.kind != FC_V_UNKNOWN) return r;
    }
    if (op == FC_OPER_BIT_NOT && a->kind == FC_V_INT)
        return -a->i - 1 < INT_LOW ? out_of_range(c, e) : fc_v_int(-a->i - 1);
    return through_graph(c, e, fc_c_row_of(op), 1, a, common(a, a));
}

fc_value fc_c_weak_binary(fc_checker *c, const fc_expr *e, fc_oper op, const fc_value *a,
                          const fc_value *b) {
    if (a->kind == FC_V_INT && b->kind == FC_V_INT) {
        fc_wide r = 0;
        bool range = false;
        if (op == FC_OPER_POW && b->i < 0) {
            fc_diag *d = fc_c_error(c, FUSEC_LITERAL_RANGE, e->at,
                                    "an integer to a negative power is no integer");
            fc_diag_help(d, "%s.0**%s", fc_c_wide_text(c, a->i), fc_c_wide_text(c, b->i));
            return FC_UNKNOWN;
        }
        if (exact(op, a->i, b->i, &r, &range)) return fc_v_int(r);
        if (range) return out_of_range(c, e);
    }
    if (integer(a) && integer(b)) {
        fc_dim d = size_op(c, op, a, b);
        if (d != FC_DIM_NONE) return fc_v_dim(c, d);
    }
    if (a->kind == FC_V_INDEX || b->kind == FC_V_INDEX) {
        fc_value r = fc_c_index_arith(c, op, a, b);
        if (r.kind != FC_V_UNKNOWN) return r;
    }
    fusec_dtype t = common(a, b);
    if (op == FC_OPER_DIV) t = FUSEC_F64;
    fc_value v[2] = {*a, *b};
    return through_graph(c, e, fc_c_row_of(op), 2, v, t);
}

/* -2: not known now. */
static int order(fc_checker *c, const fc_value *a, const fc_value *b) {
    fc_dim x, y;
    int64_t diff;
    if (a->kind == FC_V_INT && b->kind == FC_V_INT) return a->i < b->i ? -1 : a->i > b->i;
    if (!integer(a) || !integer(b) || !fc_c_size(c, a, &x) || !fc_c_size(c, b, &y)) return -2;
    if (!fc_dim_diff(&c->g->dims, x, y, &diff)) return -2;
    return diff < 0 ? -1 : diff > 0;
}

fc_value fc_c_weak_compare(fc_checker *c, const fc_expr *e, fc_oper op, const fc_value *a,
                           const fc_value *b) {
    int o = order(c, a, b);
    if (o != -2) {
        switch (op) {
        case FC_OPER_LT: return fc_v_bool(o < 0);
        case FC_OPER_LE: return fc_v_bool(o <= 0);
        case FC_OPER_GT: return fc_v_bool(o > 0);
        case FC_OPER_GE: return fc_v_bool(o >= 0);
        case FC_OPER_EQ: return fc_v_bool(o == 0);
        default: return fc_v_bool(o != 0);
        }
    }
    fc_value v[2] = {*a, *b};
    return through_graph(c, e, fc_c_row_of(op), 2, v, common(a, b));
}
