/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* llvm_facts.c - see llvm_facts.h. */
#include "codegen/llvm/llvm_facts.h"

/* ---- the kernel ------------------------------------------------------------------------------ */

bool fc_ll_is_light(const fc_kernel *k) {
    uint32_t ops, transcendental;
    fc_kernel_cost(k, &ops, &transcendental);
    return ops <= 16 && transcendental == 0;
}

bool fc_ll_is_sum(const fc_kernel *k) {
    return fc_ll_is_light(k) && fc_can_split(k);
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* The number of elements of a variance follows from the place and takes no register. */
unsigned fc_ll_band_vectors(const fc_machine *m, const fc_kernel *k) {
    const unsigned registers = m->vector_bytes >= 64 ? 16 : 8;
    unsigned bytes = fc_ll_slot_bytes(k), vectors = 1;
    for (size_t i = 0; i < k->reductions.len; i++)
        if (fc_red_counts(&k->reductions.at[i])) bytes -= (unsigned)sizeof(int64_t);
    const unsigned most = registers * sizeof(float) / FC_LL_BAND_ROWS / bytes;
    while (2 * vectors <= most) vectors *= 2;
    return most ? vectors : 0;
}

/* ---- columns --------------------------------------------------------------------------------- */

enum { WIDE_BYTES = 40 << 10 };    /* of the stack, for a wide block of columns */
enum { SCANNED = 256 };            /* columns of a scan down whole lines */
enum { ACROSS_BYTES = 128 << 10 }; /* of the stack, for levels of a scan that goes row after row */

unsigned fc_ll_slot_bytes(const fc_kernel *k) {
    unsigned bytes = 0;
    for (size_t i = 0; i < k->reductions.len; i++) {
        const fc_reduction *r = &k->reductions.at[i];
        for (unsigned c = 0; c < fc_red_components(r); c++) {
            const fusec_dtype t = fc_red_component(r, c);
            bytes += fc_dtypes[t].bytes < 4 ? 4 : fc_dtypes[t].bytes;
        }
    }
    return bytes;
}

/* As many as leave the levels of all accumulators within WIDE_BYTES of the stack. */
static unsigned wide_columns(const fc_kernel *k) {
    return WIDE_BYTES / FC_LL_WIDE_LEVELS / fc_ll_slot_bytes(k) / FC_LL_WIDE_FROM * FC_LL_WIDE_FROM;
}

/* Levels of the counter times columns lie on the stack, for each accumulator. */
unsigned fc_ll_columns(const fc_kernel *k, const fc_class *cls) {
    const unsigned V = cls->vector, slots = fc_components(k);
    if (cls->llvm.wide) return wide_columns(k);
    if (cls->llvm.few) return V;
    if (cls->llvm.across) return cls->llvm.across * FC_LL_ACROSS;
    if (k->schedule == FC_SCHED_SCAN && V > 16) return SCANNED;
    unsigned vectors = slots > 12 ? 1 : slots > 4 ? 2 : 4;
    if (V > 16 || cls->llvm.tiles) return V;
    return V * (V < 8 ? 2 * vectors : vectors);
}

unsigned fc_ll_across_levels(const fc_kernel *k, const fc_class *cls) {
    const unsigned levels = ACROSS_BYTES / (fc_ll_slot_bytes(k) * fc_ll_columns(k, cls));
    return levels < FC_LL_LEVELS ? levels : FC_LL_LEVELS;
}

/* ---- the machine ----------------------------------------------------------------------------- */

unsigned fc_ll_widest(const fc_machine *m) {
    return m->vector_bytes >= 64 ? 16 : m->vector_bytes >= 32 ? 8 : 4;
}

fc_ll_panels fc_ll_panels_of(const fc_machine *m, fusec_dtype t) {
    const unsigned width = m->vector_bytes >= 64 ? 64 : m->vector_bytes >= 32 ? 32 : 16;
    fc_ll_panels p = {.lanes = width / fc_dtypes[t].bytes};
    p.height = width == 64 ? 14 : 6;
    p.width = 2 * p.lanes;
    p.step = FC_DOT_CHUNK + 64 / fc_dtypes[t].bytes; /* rows must not share their cache sets */
    return p;
}

fusec_dtype fc_ll_dot_type(const fc_kernel *k, const fc_class *c) {
    return c->llvm.pairs || c->llvm.low ? FUSEC_I32 : (fusec_dtype)k->reductions.at[0].dtype;
}

fc_ll_panels fc_ll_tile_of(const fc_machine *m, fusec_dtype t, const fc_class *c) {
    fc_ll_panels p = fc_ll_panels_of(m, t);
    if (!c->llvm.direct) return p;
    p.width = c->llvm.direct * p.lanes;
    p.height = c->llvm.direct_rows;
    return p;
}
