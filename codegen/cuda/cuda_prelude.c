/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_prelude.c - the functions and types that stand above a kernel: which sections of
 * codegen/cuda/prelude it needs, in the order of the text.
 *
 * In: what the kernel's code, class and g->cached use. Out: CUDA C that includes nothing; with
 * FC_EMULATE defined a host that brings the rest (atomics, shuffles, conversions) compiles
 * it, too. */
#include "codegen/cuda/prelude.h"
#include "codegen/cuda/cuda.h"

const fc_cuda_section fc_cuda_sections[FC_CUH_COUNT] = {
#define FC_SECTION(name, text) {#name, text},
#include "codegen/cuda/prelude.inc"
#undef FC_SECTION
};

/* ---- what a kernel uses ---------------------------------------------------------------------- */

/* The kernel's code, then the bodies of its folds and loops; NULL: there is no more. */
static const fc_code *code_at(const fc_cuda_gen *g, size_t n) {
    return n == 0 ? &g->code : n <= fc_cuda_nbodies(g->k) ? &g->bodies[n - 1] : NULL;
}

static bool uses_op(const fc_cuda_gen *g, fc_op op) {
    const fc_code *c;
    for (size_t n = 0; (c = code_at(g, n)); n++)
        for (size_t i = 0; i < c->ins.len; i++)
            if (c->ins.at[i].op == op) return true;
    return false;
}

static bool uses_dtype(const fc_cuda_gen *g, fusec_dtype t) {
    const fc_code *c;
    for (size_t n = 0; (c = code_at(g, n)); n++)
        for (size_t i = 0; i < c->ins.len; i++)
            if (c->ins.at[i].dtype == t) return true;
    return false;
}

static bool loads_last(const fc_cuda_gen *g) {
    for (uint32_t a = 0; a < g->k->accesses.len; a++)
        if (fc_cuda_lasts(g, a) || (g->inside && fc_cuda_windows_last(g))) return true;
    return false;
}

static bool divides_by_row(const fc_cuda_gen *g) {
    if (g->cls->cuda.split < FC_CUDA_GANG && g->cls->cuda.kind != FC_CUDA_FLASH) return false;
    for (size_t v = 0; v < g->code.ins.len; v++)
        if (fc_cuda_divides_by_row(&g->t, (fc_val)v)) return true;
    return false;
}

static bool counts(const fc_cuda_gen *g) {
    for (size_t r = 0; r < g->k->reductions.len; r++)
        if (fc_red_counts(&g->k->reductions.at[r])) return true;
    return false;
}

static bool uses_minmax(const fc_cuda_gen *g) {
    for (size_t r = 0; r < g->k->reductions.len; r++)
        if (g->k->reductions.at[r].op == FC_OP_min || g->k->reductions.at[r].op == FC_OP_max)
            return true;
    return uses_op(g, FC_OP_minimum) || uses_op(g, FC_OP_maximum);
}

static bool uses_neg(const fc_cuda_gen *g) {
    const fc_code *c;
    for (size_t n = 0; (c = code_at(g, n)); n++)
        for (size_t i = 0; i < c->ins.len; i++) {
            fusec_dtype t = (fusec_dtype)c->ins.at[i].dtype;
            if (c->ins.at[i].op == FC_OP_neg && fc_is_int(t) && fc_dtypes[t].bytes == 2)
                return true;
        }
    return false;
}

static bool takes_byte(const fc_code *c, const fc_instr *i) {
    return i->op == FC_OP_CVT && fc_cuda_of_byte(i, &c->ins.at[i->a]);
}
static bool takes_bytes(const fc_cuda_gen *g) {
    const fc_code *c;
    for (size_t n = 0; (c = code_at(g, n)); n++)
        for (size_t i = 0; i < c->ins.len; i++)
            if (takes_byte(c, &c->ins.at[i])) return true;
    return false;
}

/* As elements, or those that a contraction takes as they are. */
static bool uses_half(const fc_cuda_gen *g, fusec_dtype half) {
    return uses_dtype(g, half) ||
           (fc_cuda_on_tensor_cores(g->cls) && g->k->reductions.at[0].half == (uint8_t)half);
}

/* Of instructions of which somebody can tell a NaN's sign (cuda_sign.c): negations, values of f16,
 * conversions to bf16. */
enum { SIGNED_NEG = 1, SIGNED_F16 = 2, SIGNED_BF16 = 4 };
static unsigned signed_kind(const fc_instr *i) {
    return (i->op == FC_OP_neg ? SIGNED_NEG : 0u) | (i->dtype == FUSEC_F16 ? SIGNED_F16 : 0u) |
           (i->dtype == FUSEC_BF16 && i->op == FC_OP_CVT ? SIGNED_BF16 : 0u);
}
static unsigned signed_kinds(const fc_cuda_gen *g) {
    unsigned kinds = 0;
    for (size_t v = 0; v < g->code.ins.len; v++)
        if (g->sign[v]) kinds |= signed_kind(&g->code.ins.at[v]);
    for (size_t n = g->k->records.len; n < fc_cuda_nbodies(g->k); n++)
        for (size_t v = 0; v < g->bodies[n].ins.len; v++)
            kinds |= signed_kind(&g->bodies[n].ins.at[v]);
    return kinds;
}
static bool has_node16(const fc_cuda_gen *g) {
    for (size_t i = 0; i < g->code.ins.len; i++)
        if (fc_cuda_node16(&g->code.ins.at[i])) return true;
    return false;
}

/* ---- the text -------------------------------------------------------------------------------- */

/* The parameter block. */
static void put_block(const fc_cuda_gen *g) {
    fc_str_printf(g->t.out, "struct P {\n    long long w[%u];\n};\n",
                  g->cls->alike ? (unsigned)FC_ALIKE_WORDS : (unsigned)g->l.words);
}

/* The blocks of a cluster, for a host. */
static void put_cluster_size(const fc_cuda_gen *g) {
    fc_str_printf(g->t.out,
                  "#ifdef FC_EMULATE\nstatic unsigned int fc_cluster(const P *) { return %u; "
                  "}\n#endif\n",
                  (unsigned)g->cls->cuda.blocks);
}

static void put(const fc_cuda_gen *g, fc_cuh section, bool wanted) {
    if (!wanted || (g->had && g->had[section])) return;
    fc_str_add(g->t.out, fc_cuda_sections[section].text);
    if (g->had) g->had[section] = 1;
}

/* What memory and reductions need. */
static void schedule_sections(const fc_cuda_gen *g) {
    const fc_cuda_class *c = &g->cls->cuda;
    const bool places = fc_cuda_has_places(g->cls), cluster = c->blocks > 0;
    put(g, FC_CUH_load_last, loads_last(g));
    put(g, FC_CUH_spread, g->inside != NULL || c->slide_rows);
    put(g, FC_CUH_put, g->k->updates.len > 0);
    put(g, FC_CUH_put_words, c->copied > 0);
    put(g, FC_CUH_outside, uses_op(g, FC_OP_INSIDE));
    put(g, FC_CUH_trees, g->k->reductions.len > 0);
    put(g, FC_CUH_scan, g->k->schedule == FC_SCHED_SCAN);
    put(g, FC_CUH_scan_columns, c->columns);
    put(g, FC_CUH_staged, c->staged);
    put(g, FC_CUH_back, c->split == FC_CUDA_BACK);
    put(g, FC_CUH_apart, fc_cuda_apart(g->cls) > 1);
    put(g, FC_CUH_gang, c->split == FC_CUDA_GANG);
    put(g, FC_CUH_ring, places || fc_cuda_is_piped(g->cls));
    put(g, FC_CUH_fetch, places && !c->large);
    put(g, FC_CUH_fetch_last, places && c->large);
    put(g, FC_CUH_pieces, places);
    put(g, FC_CUH_cluster, cluster);
    if (cluster) put_cluster_size(g);
    put(g, FC_CUH_divide, divides_by_row(g));
    put(g, FC_CUH_count, counts(g));
    put(g, FC_CUH_even, fc_cuda_evens(g));
}

/* What instructions need. */
static void code_sections(const fc_cuda_gen *g) {
    const unsigned signs = signed_kinds(g);
    const bool f16 = uses_half(g, FUSEC_F16), bf16 = uses_half(g, FUSEC_BF16);
    const bool half = f16 || bf16 || has_node16(g);
    const bool angles = uses_op(g, FC_OP_sin) || uses_op(g, FC_OP_cos) || uses_op(g, FC_OP_tan);
    put(g, FC_CUH_minmax, uses_minmax(g));
    put(g, FC_CUH_neg, uses_neg(g));
    put(g, FC_CUH_gcd, uses_op(g, FC_OP_gcd_raw));
    put(g, FC_CUH_near, uses_op(g, FC_OP_near_div) || uses_op(g, FC_OP_near_sqrt));
    put(g, FC_CUH_philox, uses_op(g, FC_OP_philox_raw));
    put(g, FC_CUH_angles, angles);
    put(g, FC_CUH_lgamma, uses_op(g, FC_OP_lgamma_raw));
    put(g, FC_CUH_erfc, uses_op(g, FC_OP_erfc));
    put(g, FC_CUH_f16, f16);
    put(g, FC_CUH_f16_arith, f16);
    put(g, FC_CUH_bf16, bf16);
    put(g, FC_CUH_bf16_arith, bf16);
    put(g, FC_CUH_sign, signs & SIGNED_NEG);
    put(g, FC_CUH_sign_f16, signs & SIGNED_F16);
    put(g, FC_CUH_sign_bf16, signs & SIGNED_BF16);
    put(g, FC_CUH_byte, g->t.bytes);
    put(g, FC_CUH_of_byte, takes_bytes(g));
    put(g, FC_CUH_half, half);
    put(g, FC_CUH_sine, half && angles);
    put(g, FC_CUH_in_order, fc_cuda_is_piped(g->cls));
    put(g, FC_CUH_tensor, fc_cuda_on_tensor_cores(g->cls));
    put(g, FC_CUH_tf32, g->cls->cuda.kind == FC_CUDA_DOT && fc_cuda_tile_of(g->cls)->bytes == 4);
    put(g, FC_CUH_doubles, g->cls->cuda.kind == FC_CUDA_DOT && fc_cuda_tile_of(g->cls)->bytes == 8);
    put(g, FC_CUH_bytes, g->cls->cuda.kind == FC_CUDA_DOT && fc_cuda_tile_of(g->cls)->bytes == 1);
    put(g, FC_CUH_pair_f16, f16 && fc_cuda_on_tensor_cores(g->cls));
    put(g, FC_CUH_pair_bf16, bf16 && fc_cuda_on_tensor_cores(g->cls));
    put(g, FC_CUH_bytes_f16, f16 && fc_cuda_on_tensor_cores(g->cls) && takes_bytes(g));
    put(g, FC_CUH_bytes_bf16, bf16 && fc_cuda_on_tensor_cores(g->cls) && takes_bytes(g));
    put(g, FC_CUH_bring, fc_cuda_brings(g->cls));
    put(g, FC_CUH_pipe, fc_cuda_is_piped(g->cls));
    put(g, FC_CUH_come,
        fc_cuda_is_piped(g->cls) && fc_cuda_is_made(g->cls->cuda.dot_right) &&
            uses_op(g, FC_OP_LOAD_AT));
    put(g, FC_CUH_group, fc_cuda_in_groups(g->cls));
    put(g, FC_CUH_lines, g->cls->cuda.slide_rows);
    put(g, FC_CUH_flash, g->cls->cuda.kind == FC_CUDA_FLASH);
    put(g, FC_CUH_spans, g->cls->cuda.flash_mask != 0);
}

void fc_cuda_prelude(fc_cuda_gen *g) {
    if (!g->had || !g->had[FC_CUH_common]) {
        put(g, FC_CUH_common, true);
        put_block(g);
    }
    put(g, g->cls->wide ? FC_CUH_index64 : FC_CUH_index32, true);
    put(g, g->cls->wide ? FC_CUH_divisor64 : FC_CUH_divisor32, fc_cuda_numbers_axes(g->cls));
    schedule_sections(g);
    code_sections(g);
}
