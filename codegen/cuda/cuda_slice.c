/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_slice.c - what of the code a phase needs, and what of that is computed once a row.
 *
 * In: a phase (a stage, or the stores) and a level. Out: g->need, back to what is held, and
 * g->used; the text of row values, which later scopes find by name through g->done. */
#include "codegen/cuda/cuda.h"

/* Loads and indices that have no value yet. */
static void mark_used(fc_cuda_gen *g) {
    for (uint32_t a = 0; a < g->k->accesses.len; a++) g->used[a] &= FC_CUDA_WRITES;
    for (fc_val v = 0; v < g->code.ins.len; v++) {
        const fc_instr *i = &g->code.ins.at[v];
        if (!g->need[v] || g->done[v] || fc_cuda_windowed(g, v)) continue;
        if (i->op == FC_OP_LOAD) g->used[i->imm] |= FC_CUDA_LOADS;
        if (i->op == FC_OP_INDEX) g->used[i->imm] |= FC_CUDA_INDEXES;
    }
}

static void mark_writes(fc_cuda_gen *g, unsigned phase, fc_level level) {
    for (size_t s = 0; phase == FC_CUDA_STORES && s < g->k->stores.len; s++) {
        uint32_t a = g->k->stores.at[s].access;
        if (g->k->accesses.at[a].level == level) g->used[a] |= FC_CUDA_WRITES;
    }
}

/* From the first n of g->roots down to what is held. */
static void slice(fc_cuda_gen *g, size_t n) {
    memset(g->need, 0, g->code.ins.len);
    for (size_t i = 0; i < n; i++) g->need[g->roots[i]] = 1;
    for (fc_val v = (fc_val)g->code.ins.len; v-- > 0;) {
        const fc_instr *i = &g->code.ins.at[v];
        if (!g->need[v] || g->hold[v] == FC_CUDA_HELD) continue;
        if (fc_cuda_windowed(g, v)) {
            fc_cuda_windows_need(g, v);
            continue;
        }
        for (int k = 0; k < fc_instr_arity(i); k++) g->need[fc_instr_operand(i, k)] = 1;
    }
}

bool fc_cuda_slice(fc_cuda_gen *g, unsigned phase, fc_level level) {
    size_t n = 0;
    for (size_t r = 0; r < g->k->reductions.len; r++)
        for (unsigned v = 0;
             g->k->reductions.at[r].stage == phase && v < g->k->reductions.at[r].nvalues; v++)
            g->roots[n++] = fc_cuda_red_value(g, r)[v];
    if (phase < g->k->nstages && fc_is_ragged(g->k)) g->roots[n++] = fc_cuda_row_limit(g, phase);
    for (size_t s = 0; phase == FC_CUDA_STORES && s < g->k->stores.len; s++)
        if (g->k->accesses.at[g->k->stores.at[s].access].level == level)
            g->roots[n++] = g->store_value[s];
    for (size_t u = 0; phase == FC_CUDA_STORES && level == FC_POINT && u < g->k->updates.len; u++)
        g->roots[n++] = g->put_value[u];
    slice(g, n);
    memset(g->used, 0, g->k->accesses.len);
    mark_used(g);
    mark_writes(g, phase, level);
    return n > 0;
}

/* What another kernel of the launch passes on. */
static void given(fc_cuda_gen *g, fc_val v) {
    const bool f16 = g->code.ins.at[v].dtype == FUSEC_F16;
    if (!g->given_value) {
        fc_cuda_from_storage(&g->t, v, g->given);
        return;
    }
    fc_cuda_line(&g->t, "const float v%u = %s;", (unsigned)v, g->given);
    fc_cuda_line(&g->t, "const unsigned short h%u = fc_%s(%s);", (unsigned)v,
                 f16 ? "f16_bits" : "bf16_upper", g->given);
}

/* The code of the slice where b* are the places of all accesses: of row values, or all. */
static void values(fc_cuda_gen *g, bool all) {
    memset(g->local, 0, g->code.ins.len);
    for (fc_val v = 0; v < g->code.ins.len; v++) {
        const fc_instr *i = &g->code.ins.at[v];
        if (!g->need[v] || g->done[v] || g->local[v] || !(all || i->level == FC_ROW)) continue;
        if (i->op == FC_OP_LOAD && g->given && i->imm == g->given_access) {
            given(g, v);
        } else if (i->op == FC_OP_LOAD) {
            fc_str place;
            fc_str_init(&place, g->code.alloc);
            fc_str_printf(&place, "a%u[b%u]", (unsigned)g->k->accesses.at[i->imm].buffer,
                          (unsigned)i->imm);
            fc_cuda_from_storage(&g->t, v, place.data);
            if (place.oom) g->t.out->oom = true;
            fc_str_free(&place);
        } else if (i->op == FC_OP_INDEX) {
            fc_cuda_line(&g->t, "const long long v%u = b%u;", (unsigned)v, (unsigned)i->imm);
        } else if (i->op == FC_OP_LOAD_AT || i->op == FC_OP_INSIDE) {
            fc_cuda_computed(&g->t, v, NULL, g->l.extra + FC_PB_REPORT);
        } else {
            fc_cuda_instr(&g->t, v);
        }
        g->local[v] = 1;
    }
}

void fc_cuda_element(fc_cuda_gen *g) {
    values(g, true);
    memset(g->local, 0, g->code.ins.len);
}

void fc_cuda_row(fc_cuda_gen *g) {
    values(g, false);
    for (fc_val v = 0; v < g->code.ins.len; v++) g->done[v] |= g->local[v];
    memset(g->local, 0, g->code.ins.len);
    mark_used(g);
}

void fc_cuda_row_stores(fc_cuda_gen *g) {
    for (size_t s = 0; s < g->k->stores.len; s++) {
        uint32_t a = g->k->stores.at[s].access;
        const fc_access *access = &g->k->accesses.at[a];
        if (access->level != FC_ROW) continue;
        fc_cuda_indent(&g->t);
        fc_str_printf(g->t.out, "a%u[b%u] = ", (unsigned)access->buffer, (unsigned)a);
        fc_cuda_to_storage(&g->t, g->store_value[s]);
        fc_str_add(g->t.out, ";\n");
    }
}
