/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_hold.c - which values FC_CUDA_ONE holds in registers from one phase to the next.
 *
 * In: the legalised code and what each phase needs. Out: g->hold, HOLD for values that a later
 * phase uses directly, as far as registers allow; those that cost a few instructions only if there
 * is room for them, too. The exponential of a softmax is one: needed by its sum and by the
 * quotient; the difference from the mean in a norm is a cheap one.
 *
 * A value goes HOLD -> HELD after the phase that computes it; slices stop at what is held. */
#include "codegen/cuda/cuda.h"

enum { WORTH = 8, NEVER = UINT8_MAX };

typedef struct phases {
    uint8_t *first; /* [ins] the first phase that needs it */
    uint8_t *cost;  /* [ins] of everything it is made of, at each element */
} phases;

static void mark_phase(fc_cuda_gen *g, unsigned s, phases *p) {
    fc_cuda_slice(g, s == g->k->nstages ? (unsigned)FC_CUDA_STORES : s, FC_POINT);
    for (fc_val v = 0; v < g->code.ins.len; v++)
        if (g->need[v] && p->first[v] == NEVER) p->first[v] = (uint8_t)s;
}

static unsigned own_cost(const fc_instr *i) {
    if (!fc_is_elementwise(i->op) || i->level != FC_POINT) return 0;
    if (fc_ops[i->op].flags & FC_F_TRANSCENDENTAL) return WORTH;
    return i->op == FC_OP_div || i->op == FC_OP_sqrt ? WORTH : 1;
}

static void find_costs(const fc_cuda_gen *g, phases *p) {
    for (fc_val v = 0; v < g->code.ins.len; v++) {
        const fc_instr *i = &g->code.ins.at[v];
        unsigned cost = own_cost(i);
        for (int n = 0; n < fc_instr_arity(i); n++) cost += p->cost[fc_instr_operand(i, n)];
        p->cost[v] = (uint8_t)(cost < WORTH ? cost : WORTH);
    }
}

/* Of a value that was widened from 16 bits, those are held. */
static void want(fc_cuda_gen *g, const phases *p, fc_val v, unsigned phase) {
    const fc_instr *i = &g->code.ins.at[v];
    if (i->op == FC_OP_CVT && fc_is_half((fusec_dtype)g->code.ins.at[i->a].dtype)) {
        v = i->a;
        i = &g->code.ins.at[v];
    }
    bool plain = i->dtype == FUSEC_F32 || i->dtype == FUSEC_F64,
         rounded = i->op == FC_OP_CVT && fc_is_half((fusec_dtype)i->dtype);
    if (((plain && fc_is_elementwise(i->op)) || rounded) && i->level == FC_POINT &&
        p->first[v] < phase && p->cost[v])
        g->hold[v] = FC_CUDA_HOLD;
}

/* What a phase takes over from earlier ones: operands of its own instructions, and its roots. */
static void find_frontier(fc_cuda_gen *g, const phases *p) {
    for (fc_val v = 0; v < g->code.ins.len; v++) {
        const fc_instr *i = &g->code.ins.at[v];
        if (p->first[v] == NEVER) continue;
        for (int n = 0; n < fc_instr_arity(i); n++) want(g, p, fc_instr_operand(i, n), p->first[v]);
    }
    for (size_t r = 0; r < g->k->reductions.len; r++)
        for (unsigned v = 0; v < g->k->reductions.at[r].nvalues; v++)
            want(g, p, fc_cuda_red_value(g, r)[v], g->k->reductions.at[r].stage);
    for (size_t s = 0; s < g->k->stores.len; s++)
        if (g->k->accesses.at[g->k->stores.at[s].access].level == FC_POINT)
            want(g, p, g->store_value[s], g->k->nstages);
}

static unsigned kept_bytes(const fc_cuda_gen *g, unsigned elements) {
    unsigned bytes = 0;
    for (uint32_t a = 0; a < g->k->accesses.len; a++)
        if (g->cached[a]) bytes += elements * fc_dtypes[g->k->accesses.at[a].dtype].bytes;
    for (fc_val v = 0; v < g->code.ins.len; v++)
        if (g->hold[v]) bytes += elements * fc_dtypes[g->code.ins.at[v].dtype].bytes;
    return bytes;
}

static void drop_cheap(fc_cuda_gen *g, const phases *p) {
    for (fc_val v = 0; v < g->code.ins.len; v++)
        if (p->cost[v] < WORTH) g->hold[v] = 0;
}

/* The cheap ones go first, then all: half of them would save nothing. */
static void drop_if_too_many(fc_cuda_gen *g, const phases *p, unsigned elements) {
    unsigned limit = fc_cuda_cache_limit(g->cls->cuda.team);
    if (kept_bytes(g, elements) <= limit) return;
    drop_cheap(g, p);
    if (kept_bytes(g, elements) > limit) memset(g->hold, 0, g->code.ins.len);
}

fusec_status fc_cuda_choose_held(fc_cuda_gen *g, int elements, fc_error *e) {
    size_t n = g->code.ins.len;
    uint8_t *memory = fc_calloc(g->code.alloc, 2 * n + 1, 1);
    if (!memory) return fc_oom(e);
    phases p = {memory, memory + n};
    memset(p.first, NEVER, n);
    for (unsigned s = 0; s <= g->k->nstages; s++) mark_phase(g, s, &p);
    find_costs(g, &p);
    find_frontier(g, &p);
    if (elements)
        drop_if_too_many(g, &p, (unsigned)elements);
    else
        drop_cheap(g, &p);
    fc_free(g->code.alloc, memory);
    return FUSEC_OK;
}

void fc_cuda_declare_held(fc_cuda_gen *g, int elements, int slots) {
    for (fc_val v = 0; v < g->code.ins.len; v++)
        if (g->hold[v])
            fc_cuda_line(&g->t, "fc_vec<%s, %d, 8> s%u[%d];",
                         fc_dtypes[g->code.ins.at[v].dtype].cuda, elements, (unsigned)v, slots);
}

void fc_cuda_now_held(fc_cuda_gen *g) {
    for (fc_val v = 0; v < g->code.ins.len; v++)
        if (g->hold[v] && g->need[v]) g->hold[v] = FC_CUDA_HELD;
}

fusec_status fc_cuda_keep(fc_cuda_gen *g, fc_error *e) {
    const int its = g->cls->cuda.iterations;
    FC_TRY(fc_cuda_cache(g->k, g->cls, g->cached, NULL, e));
    return fc_cuda_unroll(g->k, its, 4) == its ? fc_cuda_choose_held(g, its * 4, e) : FUSEC_OK;
}
