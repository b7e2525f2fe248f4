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

static bool any_access(const fc_cuda_gen *g, bool (*is)(const fc_cuda_gen *, uint32_t)) {
    for (uint32_t a = 0; a < g->k->accesses.len; a++)
        if (is(g, a)) return true;
    return false;
}

static bool always(const fc_cuda_gen *g) {
    (void)g;
    return true;
}
static bool index32(const fc_cuda_gen *g) {
    return !g->cls->wide;
}
static bool index64(const fc_cuda_gen *g) {
    return g->cls->wide;
}
static bool loads_last(const fc_cuda_gen *g) {
    return any_access(g, fc_cuda_lasts);
}
static bool has_inside(const fc_cuda_gen *g) {
    return g->inside != NULL;
}
static bool checks(const fc_cuda_gen *g) {
    return uses_op(g, FC_OP_INSIDE);
}
static bool reduces(const fc_cuda_gen *g) {
    return g->k->reductions.len > 0;
}
static bool lanes_apart(const fc_cuda_gen *g) {
    return fc_cuda_apart(g->cls) > 1;
}
static bool is_gang(const fc_cuda_gen *g) {
    return g->cls->cuda.split == FC_CUDA_GANG;
}
static bool has_places(const fc_cuda_gen *g) {
    return fc_cuda_has_places(g->cls);
}
static bool fetches(const fc_cuda_gen *g) {
    return has_places(g) && !g->cls->cuda.large;
}
static bool fetches_last(const fc_cuda_gen *g) {
    return has_places(g) && g->cls->cuda.large;
}
static bool updates(const fc_cuda_gen *g) {
    return g->k->updates.len > 0;
}
static bool has_own(const fc_cuda_gen *g) {
    return g->cls->cuda.copied > 0;
}
static bool scans(const fc_cuda_gen *g) {
    return g->k->schedule == FC_SCHED_SCAN;
}
static bool stages(const fc_cuda_gen *g) {
    return g->cls->cuda.staged;
}
static bool scans_columns(const fc_cuda_gen *g) {
    return g->cls->cuda.columns;
}
static bool looks_back(const fc_cuda_gen *g) {
    return g->cls->cuda.split == FC_CUDA_BACK;
}
static bool is_cluster(const fc_cuda_gen *g) {
    return g->cls->cuda.kind == FC_CUDA_CLUSTER;
}

static bool divides_by_row(const fc_cuda_gen *g) {
    if (g->cls->cuda.split < FC_CUDA_GANG) return false;
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

static bool uses_angles(const fc_cuda_gen *g) {
    return uses_op(g, FC_OP_sin) || uses_op(g, FC_OP_cos) || uses_op(g, FC_OP_tan);
}
static bool uses_philox(const fc_cuda_gen *g) {
    return uses_op(g, FC_OP_philox_raw);
}
static bool uses_gcd(const fc_cuda_gen *g) {
    return uses_op(g, FC_OP_gcd_raw);
}
static bool uses_lgamma(const fc_cuda_gen *g) {
    return uses_op(g, FC_OP_lgamma_raw);
}
static bool uses_erfc(const fc_cuda_gen *g) {
    return uses_op(g, FC_OP_erfc);
}
static bool contracts(const fc_cuda_gen *g, fusec_dtype half) {
    return fc_cuda_on_tensor_cores(g->cls) && g->k->reductions.at[0].half == half;
}
static bool is_mma(const fc_cuda_gen *g) {
    return fc_cuda_on_tensor_cores(g->cls);
}
static bool uses_f16(const fc_cuda_gen *g) {
    return uses_dtype(g, FUSEC_F16) || contracts(g, FUSEC_F16);
}
static bool uses_bf16(const fc_cuda_gen *g) {
    return uses_dtype(g, FUSEC_BF16) || contracts(g, FUSEC_BF16);
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
static bool signs_neg(const fc_cuda_gen *g) {
    return signed_kinds(g) & SIGNED_NEG;
}
static bool signs_f16(const fc_cuda_gen *g) {
    return signed_kinds(g) & SIGNED_F16;
}
static bool signs_bf16(const fc_cuda_gen *g) {
    return signed_kinds(g) & SIGNED_BF16;
}

static bool computes_bytes(const fc_cuda_gen *g) {
    return g->t.bytes;
}

static bool uses_half_functions(const fc_cuda_gen *g) {
    for (size_t i = 0; i < g->code.ins.len; i++)
        if (fc_cuda_node16(&g->code.ins.at[i])) return true;
    return uses_f16(g) || uses_bf16(g);
}
static bool uses_sine(const fc_cuda_gen *g) {
    return uses_half_functions(g) && uses_angles(g);
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

static const struct {
    fc_cuh section;
    bool (*wanted)(const fc_cuda_gen *);
    void (*put_more)(const fc_cuda_gen *); /* what follows it and has numbers of the class in it */
} sections[] = {
    {FC_CUH_common, always, put_block},
    {FC_CUH_index64, index64, NULL},
    {FC_CUH_index32, index32, NULL},
    {FC_CUH_load_last, loads_last, NULL},
    {FC_CUH_spread, has_inside, NULL},
    {FC_CUH_put, updates, NULL},
    {FC_CUH_put_words, has_own, NULL},
    {FC_CUH_outside, checks, NULL},
    {FC_CUH_trees, reduces, NULL},
    {FC_CUH_scan, scans, NULL},
    {FC_CUH_scan_columns, scans_columns, NULL},
    {FC_CUH_staged, stages, NULL},
    {FC_CUH_back, looks_back, NULL},
    {FC_CUH_apart, lanes_apart, NULL},
    {FC_CUH_gang, is_gang, NULL},
    {FC_CUH_ring, has_places, NULL},
    {FC_CUH_fetch, fetches, NULL},
    {FC_CUH_fetch_last, fetches_last, NULL},
    {FC_CUH_pieces, has_places, NULL},
    {FC_CUH_cluster, is_cluster, put_cluster_size},
    {FC_CUH_divide, divides_by_row, NULL},
    {FC_CUH_count, counts, NULL},
    {FC_CUH_even, fc_cuda_evens, NULL},
    {FC_CUH_minmax, uses_minmax, NULL},
    {FC_CUH_neg, uses_neg, NULL},
    {FC_CUH_gcd, uses_gcd, NULL},
    {FC_CUH_philox, uses_philox, NULL},
    {FC_CUH_angles, uses_angles, NULL},
    {FC_CUH_lgamma, uses_lgamma, NULL},
    {FC_CUH_erfc, uses_erfc, NULL},
    {FC_CUH_f16, uses_f16, NULL},
    {FC_CUH_f16_arith, uses_f16, NULL},
    {FC_CUH_bf16, uses_bf16, NULL},
    {FC_CUH_bf16_arith, uses_bf16, NULL},
    {FC_CUH_sign, signs_neg, NULL},
    {FC_CUH_sign_f16, signs_f16, NULL},
    {FC_CUH_sign_bf16, signs_bf16, NULL},
    {FC_CUH_byte, computes_bytes, NULL},
    {FC_CUH_half, uses_half_functions, NULL},
    {FC_CUH_sine, uses_sine, NULL},
    {FC_CUH_tensor, is_mma, NULL},
};

void fc_cuda_prelude(fc_cuda_gen *g) {
    for (size_t i = 0; i < FC_COUNT(sections); i++) {
        if (!sections[i].wanted(g)) continue;
        fc_str_add(g->t.out, fc_cuda_sections[sections[i].section].text);
        if (sections[i].put_more) sections[i].put_more(g);
    }
}
