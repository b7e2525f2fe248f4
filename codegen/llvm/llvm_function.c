/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* llvm_function.c - functions as calls, for kernels with many of them.
 *
 * In: a row with vector code (llvm_math.h) and its operands. Out: a call of an internal function
 * that computes it, which is written once for each row, dtype and width. Its formula is the one
 * that would stand in the place of the call, so the bits are the same. Written out, a sine takes 3
 * ms to compile; called, a kernel of many functions runs 0 to 20 percent longer, by how short they
 * are.
 *
 * Kernels with few functions get their formulas in place, and so do those in which sine and cosine
 * of the same operand share their work: they would take half as long again. */
#include "codegen/llvm/llvm_text.h"
#include "codegen/llvm/llvm_math.h"

enum { MANY = 24 }; /* functions; docs/performance-calls.md has the figures */

/* The rewrite of a kernel with calls: rows with vector code stay rows. */
static fc_val keep_row(fc_code *c, fc_op op, const fc_val v[3]) {
    const fusec_dtype t = fc_val_dtype(c, v[0]);
    if (!fc_math_has(op, t)) return FC_NOVAL;
    return fc_code_add(c, (fc_instr){.op = (uint16_t)op,
                                     .dtype = (uint8_t)t,
                                     .a = v[0],
                                     .b = fc_ops[op].arity > 1 ? v[1] : FC_NOVAL,
                                     .c = FC_NOVAL});
}

/* Sines, cosines and tangents whose operand is also that of another one. */
static uint32_t sharing(fc_ll *f) {
    const fc_code *c = &f->k->code;
    uint8_t *seen = fc_ll_alloc(f, c->ins.len);
    uint32_t n = 0;
    for (size_t i = 0; i < c->ins.len; i++) {
        const fc_instr *ins = &c->ins.at[i];
        if (ins->op != FC_OP_sin && ins->op != FC_OP_cos && ins->op != FC_OP_tan) continue;
        if (seen[ins->a] > 0) n += seen[ins->a] == 1 ? 2 : 1;
        if (seen[ins->a] < 2) seen[ins->a]++;
    }
    return n;
}

fc_rewrite fc_ll_functions(fc_ll *f) {
    uint32_t ops, transcendental;
    fc_kernel_cost(f->k, &ops, &transcendental);
    if (!f->math || transcendental < MANY || sharing(f) > transcendental / 4) return f->math;
    f->functions = fc_ll_alloc(f, FC_OP_COUNT_);
    return keep_row;
}

/* The body: the formula as a program, run on the parameters. */
static const char *formula(fc_ll *f, fc_op op, fusec_dtype t, unsigned W) {
    static const char *const params[] = {"%x0", "%x1"};
    fc_val arg[2] = {FC_NOVAL, FC_NOVAL};
    fc_code_init(&f->scratch, f->alloc);
    f->scratch.target = FC_TARGET_LLVM;
    f->scratch.rewrite = f->math;
    for (unsigned i = 0; i < fc_ops[op].arity; i++)
        arg[i] = fc_val_arg(&f->scratch, i, t, FC_POINT);
    const fc_val out = fc_val_op(&f->scratch, op, arg[0], arg[1], FC_NOVAL);
    if (f->scratch.status != FUSEC_OK) fc_ll_fail(f, f->scratch.status);
    fc_red_program p = {.code = f->scratch, .out = {out}};
    p.needed = fc_ll_alloc(f, p.code.ins.len);
    fc_kernel_slice(&p.code, &out, 1, p.needed);
    const char *result;
    fc_ll_run(f, &p, W, params, NULL, 1, &result);
    fc_code_free(&f->scratch);
    return result;
}

static void define(fc_ll *f, const char *name, fc_op op, fusec_dtype t, unsigned W) {
    const char *type = fc_ll_type(f, t, W), *second = "";
    if (fc_ops[op].arity > 1) second = fc_ll_fmt(f, ", %s %%x1", type);
    fc_ll_aside_begin(f);
    f->mask = NULL;
    f->active = "%n";
    fc_ll_goto(f, "start");
    fc_ll_label(f, "start");
    fc_ll_line(f, "ret %s %s", type, formula(f, op, t, W));
    fc_ll_aside_end(f, fc_ll_fmt(f, "%s @%s(%s %%x0%s, i64 %%n)", type, name, type, second));
}

const char *fc_ll_call(fc_ll *f, fc_op op, fusec_dtype t, unsigned W, const char *const *a) {
    const char *type = fc_ll_type(f, t, W), *second = "";
    const char *name =
        fc_ll_fmt(f, "%s.%s.%s", f->name, fc_ops[op].name, fc_ll_suffix(f, fc_ll_type(f, t, 1), W));
    const uint8_t written = (uint8_t)(1u << ((t == FUSEC_F64) + (W > 1 ? 2 : 0)));
    if (!(f->functions[op] & written)) {
        f->functions[op] |= written;
        define(f, name, op, t, W);
    }
    if (fc_ops[op].arity > 1) second = fc_ll_fmt(f, ", %s %s", type, a[1]);
    return fc_ll_ins(f, "call %s @%s(%s %s%s, i64 %s)", type, name, type, a[0], second,
                     f->active ? f->active : fc_ll_number(f, W));
}
