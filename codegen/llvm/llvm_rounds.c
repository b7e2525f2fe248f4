/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* llvm_rounds.c - loops that every element makes on its own (FC_OP_ROUNDS).
 *
 * In: the place of a loop in some code, and the names of its operands there. Out: a loop of the
 * text around code at the width of its values, and the names of what is carried. Lanes that stopped
 * go on with the others and nothing changes in them (ir/repeat.h), so nothing has to be selected;
 * the loop ends when no lane that is there goes on. */
#include "codegen/llvm/llvm_text.h"

void fc_ll_prepare_rounds(fc_ll *f) {
    const size_t n = f->k->loops.len;
    f->rounds = fc_ll_alloc(f, (n + 1) * sizeof *f->rounds);
    for (size_t i = 0; i < n; i++) fc_code_init(&f->rounds[i].code, f->alloc);
    f->nrounds = n;
    for (size_t i = 0; i < n; i++) {
        const fc_rounds *r = f->k->loops.at[i];
        fc_ll_round *to = &f->rounds[i];
        fc_val *map = fc_ll_alloc(f, (r->code.ins.len + 1) * sizeof *map);
        to->code.rewrite = f->code.rewrite;
        const fusec_status s = fc_legalize(&r->code, FC_TARGET_LLVM, &to->code, map);
        if (s != FUSEC_OK) fc_ll_fail(f, s);
        to->of = r;
        to->out = fc_ll_alloc(f, fc_rounds_outs(r) * sizeof *to->out);
        for (unsigned k = 0; k < fc_rounds_outs(r); k++) to->out[k] = map[r->out[k]];
        to->first = fc_ll_alloc(f, to->code.ins.len);
        to->needed = fc_ll_alloc(f, to->code.ins.len);
        if (r->condition) fc_kernel_slice(&to->code, to->out, 1, to->first);
        fc_kernel_slice(&to->code, to->out, fc_rounds_outs(r), to->needed);
    }
}

void fc_ll_free_rounds(fc_ll *f) {
    for (size_t i = 0; i < f->nrounds; i++) fc_code_free(&f->rounds[i].code);
}

/* A scalar of i64 that is the same in all lanes. */
static const char *lane_zero(fc_ll *f, const fc_code *c, fc_val v, unsigned W, const char *name) {
    const fc_instr *i = &c->ins.at[v];
    if (i->op == FC_OP_CONST) return fc_ll_const(f, FUSEC_I64, i->imm, 1);
    return W == 1 ? name : fc_ll_ins(f, "extractelement <%u x i64> %s, i32 0", W, name);
}

/* The names of the values of a round, some of which are there already. */
typedef struct scope {
    const fc_ll_round *r;
    unsigned W;
    const char *counter; /* i64 */
    const char *const *value;
    const char **name;
    const char ***tuple;
} scope;

static const char *argument(fc_ll *f, const scope *s, const fc_instr *i) {
    if (i->imm != FC_ARG_COUNTER) return s->value[i->imm - FC_ARG_VALUE];
    return s->W == 1 ? s->counter : fc_ll_splat(f, "i64", s->counter);
}

static const char **inner_loop(fc_ll *f, const scope *s, fc_val v) {
    const fc_code *c = &s->r->code;
    fc_val operand[FC_MAX_LISTED];
    const char *name[FC_MAX_LISTED];
    const unsigned n = fc_listed_values(c, c->ins.at[v].a, operand);
    for (unsigned i = 0; i < n; i++) {
        name[i] = s->name[operand[i]];
        if (i < FC_REPEAT_BOUNDS) name[i] = lane_zero(f, c, operand[i], s->W, name[i]);
    }
    return fc_ll_rounds(f, (uint32_t)c->ins.at[v].imm, s->W, name);
}

static void run(fc_ll *f, const scope *s, const uint8_t *needed) {
    const fc_code *c = &s->r->code;
    for (fc_val v = 0; v < c->ins.len; v++) {
        const fc_instr *i = &c->ins.at[v];
        const char *a[3] = {NULL, NULL, NULL};
        if (!needed[v] || s->name[v] || i->op == FC_OP_RECORD) continue;
        if (i->op == FC_OP_CONST) {
            s->name[v] = fc_ll_const(f, (fusec_dtype)i->dtype, i->imm, s->W);
        } else if (i->op == FC_OP_ARG) {
            s->name[v] = argument(f, s, i);
        } else if (i->op == FC_OP_ROUNDS) {
            s->tuple[v] = inner_loop(f, s, v);
            s->name[v] = "loop";
        } else if (i->op == FC_OP_RESULT) {
            s->name[v] = s->tuple[i->a][i->imm];
        } else if (i->op == FC_OP_EXTERN) {
            s->name[v] = fc_ll_extern_in(f, c, v, s->W, s->name);
        } else {
            for (int n = 0; n < fc_instr_arity(i); n++) a[n] = s->name[fc_instr_operand(i, n)];
            s->name[v] = fc_ll_compute(f, c, v, s->W, a);
        }
    }
}

/* Whether a lane that is there goes on. */
static const char *any_lane(fc_ll *f, unsigned W, const char *condition) {
    if (W == 1) return condition;
    if (f->mask) condition = fc_ll_ins(f, "and <%u x i1> %s, %s", W, condition, f->mask);
    return fc_ll_any_lane(f, W, condition);
}

const char **fc_ll_rounds(fc_ll *f, uint32_t number, unsigned W, const char *const *operand) {
    const fc_ll_round *r = &f->rounds[number];
    const fc_rounds *of = r->of;
    const unsigned n = of->ncarried;
    const char **types = fc_ll_names(f, n + 1), **init = fc_ll_names(f, n + 1),
               **next = fc_ll_names(f, n + 1), **value = fc_ll_names(f, of->nvalues);
    fc_ll_loop l;
    types[0] = "i64";
    init[0] = operand[0];
    for (unsigned i = 0; i < n; i++) {
        types[1 + i] = fc_ll_type(f, (fusec_dtype)of->dtype[i], W);
        init[1 + i] = operand[FC_REPEAT_BOUNDS + i];
    }
    for (unsigned i = n; i < of->nvalues; i++) value[i] = operand[FC_REPEAT_BOUNDS + i];
    fc_ll_loop_begin(f, &l, n + 1, types, init);
    for (unsigned i = 0; i < n; i++) value[i] = l.carry[1 + i];
    scope s = {.r = r, .W = W, .counter = l.carry[0], .value = value};
    s.name = fc_ll_names(f, r->code.ins.len);
    s.tuple = fc_ll_alloc(f, r->code.ins.len * sizeof *s.tuple);
    const char *more = fc_ll_ins(f, "icmp slt i64 %s, %s", l.carry[0], operand[1]);
    if (of->condition) {
        run(f, &s, r->first);
        more = fc_ll_ins(f, "and i1 %s, %s", more, any_lane(f, W, s.name[r->out[0]]));
    }
    fc_ll_loop_test(f, &l, more);
    run(f, &s, r->needed);
    next[0] = fc_ll_bin(f, "add", l.carry[0], "1");
    for (unsigned i = 0; i < n; i++) next[1 + i] = s.name[r->out[of->condition + i]];
    fc_ll_loop_end(f, &l, next);
    return l.carry + 1;
}

const char **fc_ll_loop_at(fc_ll *f, fc_val v, unsigned W) {
    const fc_code *c = &f->code;
    fc_val operand[FC_MAX_LISTED];
    const char *name[FC_MAX_LISTED];
    const unsigned n = fc_listed_values(c, c->ins.at[v].a, operand);
    for (unsigned i = 0; i < n; i++) {
        const bool one = i < FC_REPEAT_BOUNDS && (f->uniform[operand[i]] || W == 1);
        name[i] = fc_ll_here(f, operand[i], one ? 1 : W);
        if (i < FC_REPEAT_BOUNDS && !one) name[i] = lane_zero(f, c, operand[i], W, name[i]);
    }
    return fc_ll_rounds(f, (uint32_t)c->ins.at[v].imm, W, name);
}
