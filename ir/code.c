/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* code.c - building and printing straight-line scalar code.
 *
 * In: operations on values. Out: instructions, each distinct one once. The invariants: operands
 * have smaller indices than their user, operands of commutative rows ascend, unused operands are
 * FC_NOVAL, a level is at least that of every operand. With a target set, only what the target can
 * do is ever added. The first failure stays in c->status, and FC_NOVAL passes through everything
 * after it. */
#include "ir/code.h"

#include "ir/expand.h"

void fc_code_init(fc_code *c, const fc_alloc *alloc) {
    *c = (fc_code){.alloc = alloc, .target = FC_TARGET_NONE};
}

void fc_code_free(fc_code *c) {
    fc_vec_free(c->alloc, &c->ins);
    fc_free(c->alloc, c->slots);
    c->slots = NULL;
    c->nslots = 0;
}

int fc_instr_arity(const fc_instr *i) {
    if (fc_is_elementwise(i->op)) return fc_ops[i->op].arity;
    switch (i->op) {
    case FC_OP_CAST:
    case FC_OP_BITCAST:
    case FC_OP_CVT: return 1;
    case FC_OP_LOAD_AT: return 2;
    case FC_OP_ROUNDS:
    case FC_OP_RESULT: return 1;
    case FC_OP_EXTERN:
    case FC_OP_RECORD: return 1 + (i->b != FC_NOVAL) + (i->c != FC_NOVAL);
    case FC_OP_INSIDE:
    case FC_OP_PUT_AT: return 3;
    default: return 0;
    }
}

static fc_val fail(fc_code *c, fusec_status s) {
    if (c->status == FUSEC_OK) c->status = s;
    return FC_NOVAL;
}

/* ---- common subexpressions: open addressing, slots hold index + 1 ----------------------- */

static uint64_t hash_of(const fc_instr *i) {
    uint64_t h = fc_mix(i->imm, (uint64_t)i->op << 16 | (uint64_t)i->dtype << 8 | i->level);
    h = fc_mix(h, (uint64_t)i->a << 32 | i->b);
    return fc_mix(h, i->c);
}

static bool same(const fc_instr *p, const fc_instr *q) {
    return p->op == q->op && p->dtype == q->dtype && p->level == q->level && p->a == q->a &&
           p->b == q->b && p->c == q->c && p->imm == q->imm;
}

/* The slot of `i`, or the empty one where it belongs. The table is never full. */
static uint32_t *slot_of(const fc_code *c, const fc_instr *i) {
    uint32_t at = (uint32_t)hash_of(i) & (c->nslots - 1);
    while (c->slots[at] != 0 && !same(&c->ins.at[c->slots[at] - 1], i))
        at = (at + 1) & (c->nslots - 1);
    return &c->slots[at];
}

static bool make_room(fc_code *c) {
    if (2 * (c->ins.len + 1) <= c->nslots) return true;
    uint32_t n = c->nslots == 0 ? 64 : 2 * c->nslots;
    uint32_t *slots = fc_calloc(c->alloc, n, sizeof *slots);
    if (slots == NULL) return false;
    fc_free(c->alloc, c->slots);
    c->slots = slots;
    c->nslots = n;
    for (size_t k = 0; k < c->ins.len; k++) *slot_of(c, &c->ins.at[k]) = (uint32_t)k + 1;
    return true;
}

/* Brings the instruction into its one form; false when an operand is missing. */
static bool canonical(const fc_code *c, fc_instr *i) {
    fc_val *v[3] = {&i->a, &i->b, &i->c};
    const int arity = fc_instr_arity(i);
    for (int k = 0; k < 3; k++) {
        if (k >= arity) {
            *v[k] = FC_NOVAL;
            continue;
        }
        if (*v[k] >= c->ins.len) return false;
        if (c->ins.at[*v[k]].level > i->level) i->level = c->ins.at[*v[k]].level;
    }
    if (arity == 2 && (fc_ops[i->op].flags & FC_F_COMMUTES) && i->a > i->b) {
        fc_val t = i->a;
        i->a = i->b;
        i->b = t;
    }
    return true;
}

fc_val fc_code_add(fc_code *c, fc_instr i) {
    if (c->status != FUSEC_OK) return FC_NOVAL;
    if (!canonical(c, &i)) return fail(c, FUSEC_INTERNAL);
    if (c->ins.len >= UINT32_MAX / 4) return fail(c, FUSEC_LIMIT);
    if (!make_room(c)) return fail(c, FUSEC_OUT_OF_MEMORY);
    uint32_t *slot = slot_of(c, &i);
    if (*slot != 0) return *slot - 1;
    if (!fc_push(c->alloc, &c->ins, i)) return fail(c, FUSEC_OUT_OF_MEMORY);
    *slot = (uint32_t)c->ins.len;
    return *slot - 1;
}

/* ---- rows ------------------------------------------------------------------------------- */

static fusec_dtype result_dtype(fc_op op, fusec_dtype operand) {
    fc_rule rule = fc_ops[op].rule;
    return rule == FC_RULE_COMPARE || rule == FC_RULE_TEST ? FUSEC_BOOL : operand;
}

/* Whether the rule takes operands of this dtype in kernel code (literals and integers for FLOAT
 * rows have been cast before). */
static bool rule_takes(fc_rule rule, fusec_dtype t) {
    switch (rule) {
    case FC_RULE_ARITH:
    case FC_RULE_ANY:
    case FC_RULE_COMPARE:
    case FC_RULE_TEST:
    case FC_RULE_SELECT: return true;
    case FC_RULE_FLOAT: return fc_is_float(t);
    case FC_RULE_LOGIC: return t == FUSEC_BOOL;
    case FC_RULE_BITS: return !fc_is_float(t);
    default: return false;
    }
}

static bool operands_fit(const fc_code *c, fc_op op, const fc_val v[3], fusec_dtype t) {
    const bool select = fc_ops[op].rule == FC_RULE_SELECT;
    for (int k = 0; k < fc_ops[op].arity; k++) {
        if (v[k] >= c->ins.len) return false;
        if (fc_val_dtype(c, v[k]) != (select && k == 0 ? FUSEC_BOOL : t)) return false;
    }
    return rule_takes(fc_ops[op].rule, t);
}

/* f16 and bf16: all in f32, the result rounded once. */
static fc_val op_on_half(fc_code *c, fc_op op, fc_val v[3], fusec_dtype t) {
    const bool select = fc_ops[op].rule == FC_RULE_SELECT;
    for (int k = select; k < fc_ops[op].arity; k++) v[k] = fc_val_cvt(c, v[k], FUSEC_F32);
    fc_val r = fc_val_op(c, op, v[0], v[1], v[2]);
    return result_dtype(op, t) == t ? fc_val_cvt(c, r, t) : r;
}

fc_val fc_val_op(fc_code *c, fc_op op, fc_val a, fc_val b, fc_val d) {
    if (c->status != FUSEC_OK) return FC_NOVAL;
    if (!fc_is_elementwise(op)) return fail(c, FUSEC_INTERNAL);
    fc_val v[3] = {a, b, d};
    const fusec_dtype t = fc_val_dtype(c, fc_ops[op].rule == FC_RULE_SELECT ? b : a);
    if (!operands_fit(c, op, v, t)) return fail(c, FUSEC_INTERNAL);
    if (fc_is_half(t)) return op_on_half(c, op, v, t);
    if (c->rewrite != NULL) {
        const fc_val r = c->rewrite(c, op, v);
        if (r != FC_NOVAL || c->status != FUSEC_OK) return r;
    }
    if (c->target != FC_TARGET_NONE && !fc_target_has((fc_target_kind)c->target, op, t)) {
        fc_val r = fc_expand(c, op, a, b, d);
        return r == FC_NOVAL ? fail(c, FUSEC_INTERNAL) : r;
    }
    const bool short16 = t == FUSEC_F32 && (op == FC_OP_div || !(fc_ops[op].flags & FC_F_EXACT));
    return fc_code_add(c, (fc_instr){.op = (uint16_t)op,
                                     .dtype = (uint8_t)result_dtype(op, t),
                                     .a = a,
                                     .b = b,
                                     .c = d,
                                     .imm = short16 ? c->node16 : 0});
}

/* ---- constants and conversions ---------------------------------------------------------- */

fc_val fc_val_bits(fc_code *c, fusec_dtype t, uint64_t bits) {
    return fc_code_add(c, (fc_instr){.op = FC_OP_CONST, .dtype = (uint8_t)t, .imm = bits});
}

fc_val fc_val_const(fc_code *c, fusec_dtype t, double v) {
    return fc_val_bits(c, t, fc_const_bits(t, v));
}

fc_val fc_val_i64(fc_code *c, int64_t v) {
    return fc_val_bits(c, FUSEC_I64, (uint64_t)v);
}

fc_val fc_val_arg(fc_code *c, unsigned number, fusec_dtype t, fc_level level) {
    return fc_code_add(
        c,
        (fc_instr){.op = FC_OP_ARG, .dtype = (uint8_t)t, .level = (uint8_t)level, .imm = number});
}

static fc_val unary(fc_code *c, fc_op op, fc_val a, fusec_dtype t) {
    return fc_code_add(c, (fc_instr){.op = (uint16_t)op, .dtype = (uint8_t)t, .a = a});
}

bool fc_cvt_direct(fusec_dtype from, fusec_dtype to) {
    const bool wide_float = to == FUSEC_F32 || to == FUSEC_F64;
    if (from == to) return false;
    if (fc_is_half(from)) return to == FUSEC_F32;
    if (!fc_is_float(from)) return wide_float || fc_is_int(to);
    if (fc_is_half(to)) return from == FUSEC_F32;
    return wide_float || (fc_is_int(to) && fc_dtypes[to].bits >= 32);
}

fc_val fc_val_cvt(fc_code *c, fc_val a, fusec_dtype t) {
    if (c->status != FUSEC_OK) return FC_NOVAL;
    if (a >= c->ins.len) return fail(c, FUSEC_INTERNAL);
    const fusec_dtype from = fc_val_dtype(c, a);
    if (from == t) return a;
    if (!fc_cvt_direct(from, t)) return fail(c, FUSEC_INTERNAL);
    return unary(c, FC_OP_CVT, a, t);
}

fc_val fc_val_cast(fc_code *c, fc_val a, fusec_dtype t) {
    if (c->status != FUSEC_OK) return FC_NOVAL;
    if (a >= c->ins.len) return fail(c, FUSEC_INTERNAL);
    if (fc_val_dtype(c, a) == t) return a;
    return c->target != FC_TARGET_NONE ? fc_expand_cast(c, a, t) : unary(c, FC_OP_CAST, a, t);
}

fc_val fc_val_bitcast(fc_code *c, fc_val a, fusec_dtype t) {
    if (c->status != FUSEC_OK) return FC_NOVAL;
    if (a >= c->ins.len) return fail(c, FUSEC_INTERNAL);
    const fusec_dtype from = fc_val_dtype(c, a);
    if (from == t) return a;
    if (fc_dtypes[from].bits != fc_dtypes[t].bits) return fail(c, FUSEC_INTERNAL);
    if (fc_is_half(from) && fc_is_half(t)) a = unary(c, FC_OP_BITCAST, a, FUSEC_U16);
    return unary(c, FC_OP_BITCAST, a, t);
}

/* ---- readable form ---------------------------------------------------------------------- */

/* A nan by its bits, so that the text tells every two constants apart. */
static void print_const(fc_str *out, fusec_dtype t, uint64_t bits) {
    const double v = fc_const_value(t, bits);
    if (t == FUSEC_BOOL) {
        fc_str_add(out, bits ? "true" : "false");
    } else if (fc_is_unsigned(t)) {
        fc_str_printf(out, "%llu", (unsigned long long)bits);
    } else if (fc_is_signed(t)) {
        const int drop = 64 - fc_dtypes[t].bits;
        fc_str_printf(out, "%lld", (long long)((int64_t)(bits << drop) >> drop));
    } else if (v != v) {
        fc_str_printf(out, "nan:%#llx", (unsigned long long)bits);
    } else {
        fc_str_double(out, v, t != FUSEC_F64);
    }
}

void fc_code_print(const fc_code *c, fc_str *out) {
    for (size_t k = 0; k < c->ins.len; k++) {
        const fc_instr *i = &c->ins.at[k];
        fc_str_printf(out, "%%%u = %s %s", (unsigned)k, fc_dtypes[i->dtype].name,
                      fc_ops[i->op].name);
        const int arity = fc_instr_arity(i);
        for (int n = 0; n < arity; n++)
            fc_str_printf(out, " %%%u", (unsigned)fc_instr_operand(i, n));
        if (i->op == FC_OP_CONST) {
            fc_str_char(out, ' ');
            print_const(out, (fusec_dtype)i->dtype, i->imm);
        } else if (arity == 0 || fc_is_at_element(i->op) || i->op == FC_OP_ROUNDS ||
                   i->op == FC_OP_EXTERN || i->op == FC_OP_RESULT) {
            fc_str_printf(out, " #%llu", (unsigned long long)i->imm);
        } else if (fc_is_elementwise(i->op) && i->imm) {
            fc_str_printf(out, " for %s", fc_dtypes[i->imm].name);
        }
        fc_str_add(out, i->level == FC_ROW ? " @row\n" : "\n");
    }
}
