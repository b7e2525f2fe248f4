/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kernel_verify.c - the structural rules of ir/kernel.h, checked.
 *
 * Any violation is a fault of a pass (FUSEC_INTERNAL) and names the part that breaks the rule. */
#include "ir/expand.h"
#include "ir/kernel.h"

#define BAD(...) return fc_fail(e, FUSEC_INTERNAL, "bad kernel: " __VA_ARGS__)

static fusec_status verify_shape(const fc_kernel *k, fc_error *e) {
    bool reduces = k->reductions.len > 0;
    if (k->code.status != FUSEC_OK) return fc_fail(e, k->code.status, "a kernel was not built");
    if (k->schedule >= FC_SCHED_COUNT) BAD("schedule %d", (int)k->schedule);
    if (k->np > FC_MAX_AXES || k->nr > FC_MAX_AXES || k->np + k->nr > FC_MAX_AXES)
        BAD("%u + %u axes", (unsigned)k->np, (unsigned)k->nr);
    if (reduces == (k->schedule == FC_SCHED_MAP)) BAD("the schedule does not fit the reductions");
    if (k->schedule == FC_SCHED_MAP && (k->nr || k->nstages))
        BAD("a map with reduced axes or stages");
    if (k->schedule == FC_SCHED_SCAN && (k->nr != 1 || k->nstages != 1))
        BAD("a scan of %u axes, %u stages", (unsigned)k->nr, (unsigned)k->nstages);
    if (fc_kernel_ends(k) == 0) BAD("it stores nothing");
    if (k->updates.len && k->schedule != FC_SCHED_MAP) BAD("an update in what is no map");
    for (uint32_t i = 0; i < k->np + k->nr; i++)
        if (k->extent[i] == FC_DIM_NONE) BAD("axis %u has no extent", (unsigned)i);
    for (size_t i = 0; i < k->args.len; i++)
        if (k->args.at[i].dtype >= FC_DTYPE_COUNT) BAD("argument %zu has no dtype", i);
    return FUSEC_OK;
}

static fusec_status verify_access(const fc_kernel *k, size_t n, fc_error *e) {
    const fc_access *a = &k->accesses.at[n];
    bool index = a->buffer == FC_NO_BUFFER;
    if (!index && a->buffer >= k->args.len) BAD("access %zu: no such argument", n);
    if (a->rank > FC_MAX_RANK) BAD("access %zu: rank %u", n, (unsigned)a->rank);
    if (index && ((!a->shape && a->rank != 1) || a->dtype != FUSEC_I64))
        BAD("access %zu: an index has a shape or rank 1, and dtype i64", n);
    if (!index && a->dtype != k->args.at[a->buffer].dtype) BAD("access %zu: dtype", n);
    uint8_t level = k->schedule == FC_SCHED_MAP ? FC_POINT : FC_ROW;
    for (uint32_t i = 0; i < a->rank; i++) {
        const fc_map *m = &a->map[i];
        for (const fc_map *t = m; t; t = t->next) {
            if (t->axis < (t == m ? -1 : 0) || t->axis >= (int32_t)(k->np + k->nr))
                BAD("access %zu: axis %d", n, (int)t->axis);
            if (t->next && (t->axis < 0 || t->next->axis <= t->axis))
                BAD("access %zu: its terms do not ascend", n);
            if (t->axis >= (int32_t)k->np) level = FC_POINT;
        }
        if (m->start == FC_DIM_NONE) BAD("access %zu: no start", n);
        if (a->shape && a->shape[i] == FC_DIM_NONE) BAD("access %zu: no shape", n);
    }
    if (k->schedule == FC_SCHED_SCAN && !index && k->args.at[a->buffer].written) level = FC_POINT;
    if (a->pair > 2 || (index && a->pair)) BAD("access %zu: part %u", n, (unsigned)a->pair);
    if (a->level != level) BAD("access %zu: level", n);
    return FUSEC_OK;
}

static fusec_status verify_leaf(const fc_kernel *k, size_t n, fc_error *e) {
    const fc_instr *in = &k->code.ins.at[n];
    switch (in->op) {
    case FC_OP_CONST:
    case FC_OP_COUNT: return FUSEC_OK;
    case FC_OP_LOAD:
    case FC_OP_INDEX:
        if (in->imm >= k->accesses.len) BAD("%%%zu: no such access", n);
        const fc_access *a = &k->accesses.at[in->imm];
        if ((a->buffer == FC_NO_BUFFER) != (in->op == FC_OP_INDEX)) BAD("%%%zu: wrong access", n);
        if (in->op == FC_OP_LOAD && k->args.at[a->buffer].written)
            BAD("%%%zu: reads an argument that is written", n);
        if (in->dtype != a->dtype || in->level != a->level) BAD("%%%zu: not as its access", n);
        return FUSEC_OK;
    case FC_OP_PARAM:
        if (in->imm >= k->params.len) BAD("%%%zu: no such parameter", n);
        if (in->dtype != k->params.at[in->imm].dtype) BAD("%%%zu: not as its parameter", n);
        return FUSEC_OK;
    case FC_OP_ACC:
        if (fc_acc_reduction(in) >= k->reductions.len) BAD("%%%zu: no such reduction", n);
        const fc_reduction *r = &k->reductions.at[fc_acc_reduction(in)];
        if (fc_acc_result(in) >= fc_red_results(r)) BAD("%%%zu: no such result", n);
        if (in->dtype != fc_red_result(r, fc_acc_result(in))) BAD("%%%zu: dtype", n);
        if (in->level != (k->schedule == FC_SCHED_SCAN ? FC_POINT : FC_ROW)) BAD("%%%zu: level", n);
        return FUSEC_OK;
    default: BAD("%%%zu: operation %u has no place in a kernel", n, (unsigned)in->op);
    }
}

/* Operands exist, levels rise, f16 and bf16 are only converted. */
static fusec_status verify_computed(const fc_kernel *k, size_t n, fc_error *e) {
    const fc_instr *in = &k->code.ins.at[n];
    fc_val src[3] = {in->a, in->b, in->c};
    int arity = fc_instr_arity(in);
    for (int i = 0; i < arity; i++) {
        if (src[i] >= n) BAD("%%%zu: operand %d comes later", n, i);
        const fc_instr *s = &k->code.ins.at[src[i]];
        if (s->level > in->level) BAD("%%%zu: a row value from a point value", n);
        if (fc_is_elementwise(in->op) && fc_is_half((fusec_dtype)s->dtype))
            BAD("%%%zu: computes in %s", n, fc_dtypes[s->dtype].name);
    }
    return FUSEC_OK;
}

static fusec_status verify_put(const fc_kernel *k, size_t n, fc_error *e) {
    const fc_instr *in = &k->code.ins.at[n];
    if (in->imm >= k->updates.len || k->updates.at[in->imm].value != n)
        BAD("%%%zu: no such update", n);
    if (in->a >= n || in->b >= n || in->c >= n) BAD("%%%zu: an operand comes after it", n);
    const fc_update *u = &k->updates.at[in->imm];
    if (u->arg >= k->args.len || !k->args.at[u->arg].written)
        BAD("%%%zu: its argument is not an output", n);
    if (u->size >= k->params.len) BAD("%%%zu: its argument has no size", n);
    const fusec_dtype t = (fusec_dtype)k->args.at[u->arg].dtype;
    if (k->code.ins.at[in->a].dtype != FUSEC_I64 || k->code.ins.at[in->b].dtype != FUSEC_BOOL ||
        k->code.ins.at[in->c].dtype != t || in->dtype != FUSEC_BOOL || in->level != FC_POINT)
        BAD("%%%zu: dtype or level", n);
    if (!fc_can_update((fc_op)u->op, t)) BAD("%%%zu: it depends on the order", n);
    for (size_t i = 0; i < k->updates.len; i++)
        if (i != in->imm && k->updates.at[i].arg == u->arg) BAD("%%%zu: written twice", n);
    for (size_t i = 0; i < k->accesses.len; i++)
        if (k->accesses.at[i].buffer == u->arg) BAD("%%%zu: its argument has an access", n);
    return FUSEC_OK;
}

/* A load at a computed element, or a check of an index. */
static fusec_status verify_computed_read(const fc_kernel *k, size_t n, fc_error *e) {
    const fc_instr *in = &k->code.ins.at[n];
    const fc_val src[3] = {in->a, in->b, in->c};
    const bool load = in->op == FC_OP_LOAD_AT;
    if (in->op == FC_OP_PUT_AT) return verify_put(k, n, e);
    for (int j = 0; j < fc_instr_arity(in); j++) {
        if (src[j] >= n) BAD("%%%zu: an operand comes after it", n);
        const fc_instr *s = &k->code.ins.at[src[j]];
        if (s->level > in->level) BAD("%%%zu: a row value from a point value", n);
        if (s->dtype != (load && j == 1 ? FUSEC_BOOL : FUSEC_I64)) BAD("%%%zu: dtype", n);
    }
    if (!load) {
        if (in->dtype != FUSEC_BOOL) BAD("%%%zu: dtype", n);
        if (in->imm >= k->checks.len) BAD("%%%zu: no such check", n);
        return FUSEC_OK;
    }
    if (in->imm >= k->args.len) BAD("%%%zu: no such argument", n);
    if (k->args.at[in->imm].written) BAD("%%%zu: reads an argument that is written", n);
    if (in->dtype != k->args.at[in->imm].dtype) BAD("%%%zu: not as its argument", n);
    return FUSEC_OK;
}

/* A loop, its operands, or one of its results. `below`: which loops it may be. */
static fusec_status verify_loop(const fc_kernel *k, const fc_code *c, size_t n, size_t below,
                                fc_error *e) {
    const fc_instr *in = &c->ins.at[n];
    for (int j = 0; j < fc_instr_arity(in); j++) {
        if (fc_instr_operand(in, j) >= n) BAD("%%%zu: operand %d comes later", n, j);
        if (c->ins.at[fc_instr_operand(in, j)].level > in->level)
            BAD("%%%zu: a row value from a point value", n);
    }
    const fc_instr *a = &c->ins.at[in->a];
    if (in->op == FC_OP_RECORD) {
        if (in->c != FC_NOVAL && c->ins.at[in->c].op != FC_OP_RECORD) BAD("%%%zu: no list", n);
        return FUSEC_OK;
    }
    if (in->op == FC_OP_RESULT) {
        if (a->op != FC_OP_ROUNDS || in->imm >= k->loops.at[a->imm]->ncarried)
            BAD("%%%zu: the result of no loop", n);
        if (in->dtype != k->loops.at[a->imm]->dtype[in->imm]) BAD("%%%zu: dtype", n);
        return FUSEC_OK;
    }
    fc_val v[FC_MAX_LISTED];
    if (in->imm >= below || a->op != FC_OP_RECORD) BAD("%%%zu: no such loop", n);
    const fc_rounds *r = k->loops.at[in->imm];
    if (fc_listed_values(c, in->a, v) != FC_REPEAT_BOUNDS + (unsigned)r->nvalues)
        BAD("%%%zu: number of operands", n);
    for (unsigned i = 0; i < FC_REPEAT_BOUNDS + (unsigned)r->nvalues; i++)
        if (c->ins.at[v[i]].dtype !=
            (i < FC_REPEAT_BOUNDS ? FUSEC_I64 : (fusec_dtype)r->dtype[i - FC_REPEAT_BOUNDS]))
            BAD("%%%zu: dtype of operand %u", n, i);
    return FUSEC_OK;
}

static fusec_status verify_extern(const fc_kernel *k, const fc_code *c, size_t n, fc_error *e) {
    const fc_instr *in = &c->ins.at[n];
    if (in->imm >= k->externs.len) BAD("%%%zu: no such function", n);
    const fc_extern_use *use = &k->externs.at[in->imm];
    const fc_extern *x = use->function;
    if (use->param >= k->params.len || k->params.at[use->param].function != x)
        BAD("%%%zu: its function has no address", n);
    fc_val v[FC_MAX_EXTERN];
    if (in->dtype != x->result || fc_extern_values(c, in, v) != x->nargs)
        BAD("%%%zu: other types", n);
    for (int i = 0; i < x->nargs; i++)
        if (c->ins.at[v[i]].dtype != x->dtype[i]) BAD("%%%zu: dtype of operand %d", n, i);
    return FUSEC_OK;
}

static bool is_of_loop(const fc_instr *in) {
    return in->op == FC_OP_RECORD || in->op == FC_OP_ROUNDS || in->op == FC_OP_RESULT;
}

/* The code of a round is made of its operands alone. */
static fusec_status verify_rounds(const fc_kernel *k, size_t n, fc_error *e) {
    const fc_rounds *r = k->loops.at[n];
    const fc_code *c = &r->code;
    if (c->status != FUSEC_OK) BAD("loop %zu: its code was not built", n);
    if (!r->ncarried || r->nvalues < r->ncarried || r->nvalues > FC_MAX_REPEAT)
        BAD("loop %zu: number of values", n);
    for (size_t i = 0; i < c->ins.len; i++) {
        const fc_instr *in = &c->ins.at[i];
        const bool computed = fc_is_elementwise(in->op) || in->op == FC_OP_CAST ||
                              in->op == FC_OP_CVT || in->op == FC_OP_BITCAST;
        if (is_of_loop(in)) {
            FC_TRY(verify_loop(k, c, i, n, e));
            continue;
        }
        if (!computed && in->op != FC_OP_CONST && in->op != FC_OP_ARG && in->op != FC_OP_EXTERN)
            BAD("loop %zu: %%%zu has no place in its code", n, i);
        for (int j = 0; j < fc_instr_arity(in); j++)
            if (fc_instr_operand(in, j) >= i) BAD("loop %zu: %%%zu comes too early", n, i);
        if (in->op == FC_OP_EXTERN) FC_TRY(verify_extern(k, c, i, e));
        if (in->op != FC_OP_ARG) continue;
        const uint64_t v = in->imm - FC_ARG_VALUE;
        if (in->imm == FC_ARG_COUNTER ? in->dtype != FUSEC_I64
                                      : v >= r->nvalues || in->dtype != r->dtype[v])
            BAD("loop %zu: %%%zu is no value of it", n, i);
    }
    for (unsigned i = 0; i < fc_rounds_outs(r); i++)
        if (r->out[i] >= c->ins.len ||
            c->ins.at[r->out[i]].dtype !=
                (i < r->condition ? FUSEC_BOOL : (fusec_dtype)r->dtype[i - r->condition]))
            BAD("loop %zu: what its round makes", n);
    return FUSEC_OK;
}

static fusec_status verify_code(const fc_kernel *k, fc_error *e) {
    for (size_t i = 0; i < k->code.ins.len; i++) {
        const fc_instr *in = &k->code.ins.at[i];
        if (in->dtype >= FC_DTYPE_COUNT || in->level > FC_POINT) BAD("%%%zu: dtype or level", i);
        bool computed = fc_is_elementwise(in->op) || in->op == FC_OP_CAST || in->op == FC_OP_CVT ||
                        in->op == FC_OP_BITCAST || in->op == FC_OP_EXTERN;
        const bool read = fc_is_at_element(in->op);
        FC_TRY(computed         ? verify_computed(k, i, e)
               : is_of_loop(in) ? verify_loop(k, &k->code, i, k->loops.len, e)
               : read           ? verify_computed_read(k, i, e)
                                : verify_leaf(k, i, e));
        if (in->op == FC_OP_EXTERN) FC_TRY(verify_extern(k, &k->code, i, e));
    }
    return FUSEC_OK;
}

/* A stage reads results of earlier stages only. `stage` of an instruction: the first one that can
 * run it. */
static fusec_status verify_stages(const fc_kernel *k, uint8_t *stage, fc_error *e) {
    for (size_t i = 0; i < k->code.ins.len; i++) {
        const fc_instr *in = &k->code.ins.at[i];
        fc_val src[3] = {in->a, in->b, in->c};
        stage[i] =
            in->op == FC_OP_ACC ? (uint8_t)(k->reductions.at[fc_acc_reduction(in)].stage + 1) : 0;
        for (int j = 0; j < fc_instr_arity(in); j++)
            if (stage[src[j]] > stage[i]) stage[i] = stage[src[j]];
    }
    uint32_t last = 0;
    for (size_t i = 0; i < k->reductions.len; i++) {
        const fc_reduction *r = &k->reductions.at[i];
        if (r->stage != last && (i == 0 || r->stage != last + 1))
            BAD("reduction %zu: stages ascend by one", i);
        fc_val value[FC_MAX_COMPONENTS];
        for (size_t v = fc_red_values(r, NULL, value); v-- > 0;)
            if (stage[value[v]] > r->stage) BAD("reduction %zu reads its own or a later stage", i);
        if (r->limit != fc_stage_limit(k, r->stage) || (r->limit == FC_NOVAL) == fc_is_ragged(k))
            BAD("reduction %zu: another limit", i);
        last = r->stage;
    }
    if (k->reductions.len && k->nstages != last + 1) BAD("%u stages", (unsigned)k->nstages);
    return FUSEC_OK;
}

/* The code of a fold is made of its operands alone, and gives a record. */
static fusec_status verify_fold(const fc_kernel *k, const fc_record *f, size_t n, fc_error *e) {
    if (f->n < 1 || f->n > FC_MAX_COMPONENTS) BAD("reduction %zu: %u values", n, (unsigned)f->n);
    if (f->code.status != FUSEC_OK) BAD("reduction %zu: its code was not built", n);
    for (size_t i = 0; i < f->code.ins.len; i++) {
        const fc_instr *in = &f->code.ins.at[i];
        const bool computed = fc_is_elementwise(in->op) || in->op == FC_OP_CAST ||
                              in->op == FC_OP_CVT || in->op == FC_OP_BITCAST ||
                              in->op == FC_OP_EXTERN || in->op == FC_OP_RECORD;
        if (!computed && in->op != FC_OP_CONST && in->op != FC_OP_ARG)
            BAD("reduction %zu: %%%zu has no place in its code", n, i);
        for (int j = 0; j < fc_instr_arity(in); j++)
            if (fc_instr_operand(in, j) >= i) BAD("reduction %zu: %%%zu comes too early", n, i);
        if (in->op == FC_OP_EXTERN) FC_TRY(verify_extern(k, &f->code, i, e));
        if (in->op != FC_OP_ARG) continue;
        const unsigned c = (unsigned)(in->imm % FC_MAX_COMPONENTS);
        if (in->imm >= 2 * FC_MAX_COMPONENTS || c >= f->n || in->dtype != f->dtype[c])
            BAD("reduction %zu: %%%zu is no value of a record", n, i);
    }
    for (unsigned c = 0; c < f->n; c++)
        if (f->out[c] >= f->code.ins.len || f->code.ins.at[f->out[c]].dtype != f->dtype[c])
            BAD("reduction %zu: value %u of its record", n, c);
    return FUSEC_OK;
}

static fusec_status verify_reductions(const fc_kernel *k, fc_error *e) {
    for (size_t i = 0; i < k->reductions.len; i++) {
        const fc_reduction *r = &k->reductions.at[i];
        if ((r->op == FC_OP_FOLD) != (r->record != NULL) || (!r->record && !fc_is_reduction(r->op)))
            BAD("reduction %zu: operation %u", i, (unsigned)r->op);
        if (r->record) FC_TRY(verify_fold(k, r->record, i, e));
        if (r->nvalues != (r->record ? r->record->n : fc_ops[r->op].arity))
            BAD("reduction %zu: number of elements", i);
        for (unsigned v = 0; v < r->nvalues; v++) {
            if (r->value[v] >= k->code.ins.len) BAD("reduction %zu: no value", i);
            if (k->code.ins.at[r->value[v]].dtype != fc_red_element(r, v))
                BAD("reduction %zu: dtype of the element", i);
        }
        if (k->schedule == FC_SCHED_DOT && (r->op != FC_OP_dot || r->stage))
            BAD("reduction %zu is not the contraction", i);
        if (r->limit != FC_NOVAL &&
            (r->limit >= k->code.ins.len || k->code.ins.at[r->limit].dtype != FUSEC_I64 ||
             k->code.ins.at[r->limit].level != FC_ROW || k->nr != 1))
            BAD("reduction %zu: its limit is no number of a row", i);
        for (unsigned c = 0; c < fc_red_components(r); c++)
            if (fc_is_half(fc_red_component(r, c))) BAD("reduction %zu: accumulates in 16 bits", i);
    }
    return FUSEC_OK;
}

static fusec_status verify_stores(const fc_kernel *k, fc_error *e) {
    for (size_t i = 0; i < k->stores.len; i++) {
        const fc_store *s = &k->stores.at[i];
        if (s->access >= k->accesses.len) BAD("store %zu: no such access", i);
        const fc_access *a = &k->accesses.at[s->access];
        if (a->buffer == FC_NO_BUFFER || !k->args.at[a->buffer].written)
            BAD("store %zu: its argument is not an output", i);
        if (s->value >= k->code.ins.len) BAD("store %zu: no value", i);
        const fc_instr *in = &k->code.ins.at[s->value];
        if (in->dtype != a->dtype) BAD("store %zu: dtype", i);
        if (k->schedule == FC_SCHED_DOT && a->level != FC_ROW)
            BAD("store %zu: a contraction stores results only", i);
        if (in->level > a->level) BAD("store %zu: a point value once a row", i);
        for (size_t j = 0; j < i; j++)
            if (k->stores.at[j].access == s->access) BAD("store %zu: written twice", i);
    }
    return FUSEC_OK;
}

fusec_status fc_kernel_verify(const fc_kernel *k, fc_error *e) {
    FC_TRY(verify_shape(k, e));
    for (size_t i = 0; i < k->accesses.len; i++) FC_TRY(verify_access(k, i, e));
    FC_TRY(verify_reductions(k, e));
    for (size_t i = 0; i < k->loops.len; i++) FC_TRY(verify_rounds(k, i, e));
    FC_TRY(verify_code(k, e));
    uint8_t *stage = fc_calloc(k->code.alloc, k->code.ins.len + 1, 1);
    if (!stage) return fc_oom(e);
    fusec_status s = verify_stages(k, stage, e);
    fc_free(k->code.alloc, stage);
    FC_TRY(s);
    return verify_stores(k, e);
}
