/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* lower_repeat.c - loops that every element makes on its own as parts of a kernel.
 *
 * In: FC_OP_ROUNDS nodes and the values they start from. Out: their rounds (fc_rounds), once for
 * all that have the same, and instructions. A body is code of scalars; loops in it come first, and
 * are at most FC_MAX_LOOP_LEVEL deep. */
#include "passes/lower_impl.h"

fc_val fc_lower_record_of(fc_code *c, const fc_val v[3]) {
    return fc_code_add(
        c, (fc_instr){.op = FC_OP_RECORD, .dtype = FUSEC_BOOL, .a = v[0], .b = v[1], .c = v[2]});
}

static uint32_t loop_of(fc_lowering *l, fc_node n);

/* The value of node n in code `c`; v are its operands, of a loop its list of values. */
static fc_val loop_in(fc_lowering *l, fc_code *c, fc_node n, fc_val values) {
    const fc_ninfo i = *fc_at(l->g, n);
    const uint32_t number = loop_of(l, n);
    if (number == UINT32_MAX || values == FC_NOVAL) return FC_NOVAL;
    const fc_val loop = fc_code_add(
        c, (fc_instr){.op = FC_OP_ROUNDS, .dtype = FUSEC_BOOL, .a = values, .imm = number});
    return fc_code_add(
        c, (fc_instr){
               .op = FC_OP_RESULT, .dtype = i.dtype, .a = loop, .imm = fc_repeat_of(&i).result});
}

/* The value of node n of a body in code `c`, of operands v. */
static fc_val body_value(fc_lowering *l, fc_code *c, fc_node n, uint32_t first_slot,
                         const fc_val v[3]) {
    const fc_ninfo *i = fc_at(l->g, n);
    const fusec_dtype t = (fusec_dtype)i->dtype;
    switch (i->op) {
    case FC_OP_CONST: return fc_val_bits(c, t, i->attr);
    case FC_OP_SLOT: return fc_val_arg(c, (uint32_t)i->attr - first_slot, t, FC_POINT);
    case FC_OP_CAST: return fc_val_cast(c, v[0], t);
    case FC_OP_BITCAST: return fc_val_bitcast(c, v[0], t);
    case FC_OP_RECORD: return fc_lower_record_of(c, v);
    case FC_OP_ROUNDS: return loop_in(l, c, n, v[0]);
    case FC_OP_EXTERN: return fc_kernel_extern(l->k, c, fc_extern_of(i), v);
    default: return fc_val_op(c, (fc_op)i->op, v[0], v[1], v[2]);
    }
}

static int operands_of(const fc_ninfo *i) {
    return i->op == FC_OP_ROUNDS ? 1 : i->nops;
}

bool fc_lower_body(fc_lowering *l, fc_code *c, fc_node body, uint32_t first_slot, fc_val *out) {
    const fc_graph *g = l->g;
    fc_node root[FC_MAX_LISTED];
    const unsigned n = fc_record_nodes(g, body, FC_MAX_LISTED, root);
    fc_val *map = fc_malloc(l->alloc, g->nodes.len * sizeof *map);
    uint8_t *need = fc_calloc(l->alloc, g->nodes.len, 1);
    const bool ready = map && need;
    for (unsigned i = 0; ready && i < n; i++) need[root[i]] = 1;
    for (fc_node i = ready ? body : 0; i-- > 0;)
        for (int k = 0; need[i] && k < operands_of(fc_at(g, i)); k++) need[fc_at(g, i)->src[k]] = 1;
    for (fc_node i = 0; ready && i < body; i++) {
        fc_val v[3] = {FC_NOVAL, FC_NOVAL, FC_NOVAL};
        if (!need[i]) continue;
        for (int k = 0; k < operands_of(fc_at(g, i)); k++) v[k] = map[fc_at(g, i)->src[k]];
        map[i] = body_value(l, c, i, first_slot, v);
    }
    for (unsigned i = 0; ready && i < n; i++) out[i] = map[root[i]];
    fc_free(l->alloc, map);
    fc_free(l->alloc, need);
    return ready && c->status == FUSEC_OK && !l->oom;
}

static bool make_rounds(fc_lowering *l, fc_node n, fc_rounds *r) {
    const fc_ninfo *i = fc_at(l->g, n);
    const fc_repeat spec = fc_repeat_of(i);
    fc_node v[FC_MAX_LISTED];
    const uint32_t nv = fc_record_nodes(l->g, i->src[0], FC_MAX_LISTED, v) - FC_REPEAT_BOUNDS;
    r->ncarried = (uint8_t)spec.carried;
    r->nvalues = (uint8_t)nv;
    r->condition = spec.condition;
    for (uint32_t k = 0; k < nv; k++) r->dtype[k] = fc_at(l->g, v[FC_REPEAT_BOUNDS + k])->dtype;
    return fc_lower_body(l, &r->code, i->src[1], FC_SLOT_COUNTER, r->out);
}

/* Loops whose values have the same dtypes and whose rounds do the same are one. */
static bool same_values(const fc_graph *g, fc_node a, fc_node b) {
    fc_node x[FC_MAX_LISTED], y[FC_MAX_LISTED];
    const uint32_t n = fc_record_nodes(g, a, FC_MAX_LISTED, x);
    if (a == b) return true;
    if (fc_record_nodes(g, b, FC_MAX_LISTED, y) != n) return false;
    for (uint32_t i = 0; i < n; i++)
        if (fc_at(g, x[i])->dtype != fc_at(g, y[i])->dtype) return false;
    return true;
}

static uint32_t loop_of(fc_lowering *l, fc_node n) {
    const fc_ninfo *i = fc_at(l->g, n);
    const fc_repeat spec = fc_repeat_of(i);
    for (size_t k = 0; k < l->loops.len; k++) {
        const fc_lower_rounds *x = &l->loops.at[k];
        const fc_rounds *r = l->k->loops.at[x->number];
        if (x->body == i->src[1] && r->ncarried == spec.carried && r->condition == spec.condition &&
            same_values(l->g, x->values, i->src[0]))
            return x->number;
    }
    fc_rounds *r = fc_kernel_new_rounds(l->k);
    if (!r) return UINT32_MAX;
    if (!make_rounds(l, n, r)) {
        if (r->code.status == FUSEC_OK || r->code.status == FUSEC_OUT_OF_MEMORY)
            l->oom = true;
        else if (l->k->code.status == FUSEC_OK)
            l->k->code.status = r->code.status;
        fc_code_free(&r->code);
        return UINT32_MAX;
    }
    const fc_lower_rounds entry = {i->src[0], i->src[1], (uint32_t)l->k->loops.len};
    if (!fc_kernel_add_rounds(l->k, r)) return UINT32_MAX;
    if (!fc_push(l->alloc, &l->loops, entry)) return l->oom = true, UINT32_MAX;
    return entry.number;
}

fc_val fc_lower_repeat(fc_lowering *l, fc_node n, fc_val values) {
    return loop_in(l, &l->k->code, n, values);
}
