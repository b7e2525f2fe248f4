/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_flash_mask.c - joined products: tiles that a mask hides (codegen/mask.h).
 *
 * In: the part that takes what the first one passes on. Out: hidden(at), whether all elements of
 * the tile are hidden, and shown(at), whether none is, by the ends of each number that the
 * conditions are made of; what a reduction takes of a tile of hidden elements. */
#include "codegen/cuda/cuda_dot.h"
#include "codegen/cuda/cuda_flash_text.h"

enum { SIDE = FC_FLASH_SIDE };

/* ---- making it ------------------------------------------------------------------------------- */

static bool borrow(fc_flash_gen *x, fc_kernel *m, const fc_val *map) {
    const fc_kernel *k = x->j->kernel[1];
    const fc_alloc *alloc = x->mask.code.alloc;
    *m = *k;
    m->code = x->mask.code;
    m->stores.at = fc_calloc(alloc, k->stores.len + 1, sizeof *m->stores.at);
    m->reductions.at = fc_calloc(alloc, k->reductions.len + 1, sizeof *m->reductions.at);
    if (!m->stores.at || !m->reductions.at) return false;
    for (size_t s = 0; s < k->stores.len; s++) {
        m->stores.at[s] = k->stores.at[s];
        m->stores.at[s].value = map[k->stores.at[s].value];
    }
    for (size_t r = 0; r < k->reductions.len; r++) {
        m->reductions.at[r] = k->reductions.at[r];
        fc_red_values(&k->reductions.at[r], map, m->reductions.at[r].value);
    }
    return true;
}

fusec_status fc_flash_open_mask(fc_flash_gen *x, fc_str *out, fc_error *e) {
    const unsigned how = x->cls->cuda.flash_mask;
    if (how == FC_FLASH_OPEN) return FUSEC_OK;
    const fusec_status s =
        fc_flash_find_mask(x->j, &x->f, how == FC_FLASH_FINITE, out->alloc, &x->mask);
    if (s != FUSEC_OK) return fc_fail(e, s, "the mask of a product");
    if (!x->mask.n) return fc_fail(e, FUSEC_INTERNAL, "a mask that is not there");
    for (unsigned i = 0; i < 2; i++) {
        if (!borrow(x, &x->masked[i], i ? x->mask.shown : x->mask.map)) return fc_oom(e);
        FC_TRY(fc_flash_open_part(x, FC_FLASH_HIDDEN + i, &x->masked[i], out, e));
    }
    x->passes = x->cls->cuda.flash_once
                    ? how == FC_FLASH_FINITE
                    : how == FC_FLASH_FINITE && x->f.n == 2 && fc_flash_hides_all(x->j, &x->mask);
    return FUSEC_OK;
}

void fc_flash_close_mask(fc_flash_gen *x) {
    const fc_alloc *alloc = x->mask.code.alloc;
    if (!alloc) return;
    for (unsigned i = 0; i < 2; i++) {
        fc_free(alloc, x->masked[i].stores.at);
        fc_free(alloc, x->masked[i].reductions.at);
    }
    fc_mask_free(&x->mask);
}

/* ---- whether a tile is hidden ---------------------------------------------------------------- */

/* An index is its start and a step for each axis. */
static void index_span(fc_flash_gen *x, fc_cuda_gen *g, fc_val v, uint32_t a) {
    fc_str *out = g->t.out;
    const unsigned word = fc_cuda_word(g, a);
    fc_cuda_line(&g->t, "fc_span s%u = fc_between(p.w[%u], p.w[%u]);", (unsigned)v, word, word);
    for (uint32_t axis = 0; axis < g->axes; axis++) {
        if (!fc_access_moves(&g->k->accesses.at[a], (int32_t)axis)) continue;
        fc_cuda_indent(&g->t);
        fc_str_printf(out, "s%u = fc_span_add(s%u, fc_span_mul(fc_between(p.w[%u], p.w[%u]), ",
                      (unsigned)v, (unsigned)v, word + 1 + axis, word + 1 + axis);
        if (axis == x->f.axis[1][x->row])
            fc_str_add(out, "rows");
        else if (axis == x->f.axis[1][x->column])
            fc_str_add(out, "along");
        else
            fc_str_printf(out, "fc_between(i%u, i%u)", (unsigned)axis, (unsigned)axis);
        fc_str_add(out, "));\n");
    }
}

/* Of an array that is read at one place. */
static void load_span(fc_cuda_gen *g, fc_val v, uint32_t a) {
    const unsigned word = fc_cuda_word(g, a), buffer = (unsigned)g->k->accesses.at[a].buffer;
    fc_str *out = g->t.out;
    fc_cuda_indent(&g->t);
    fc_str_printf(out, "const long long n%u = (long long)a%u[p.w[%u]", (unsigned)v, buffer, word);
    for (uint32_t axis = 0; axis < g->axes; axis++)
        if (fc_access_moves(&g->k->accesses.at[a], (int32_t)axis))
            fc_str_printf(out, " + i%u * p.w[%u]", (unsigned)axis, word + 1 + axis);
    fc_str_add(out, "];\n");
    fc_cuda_line(&g->t, "const fc_span s%u = fc_between(n%u, n%u);", (unsigned)v, (unsigned)v,
                 (unsigned)v);
}

static void constant_span(fc_cuda_gen *g, fc_val v, const fc_instr *i) {
    if (i->dtype == FUSEC_BOOL) {
        fc_cuda_line(&g->t, "const fc_truth s%u = fc_truth_of(%d, %d);", (unsigned)v, i->imm != 0,
                     i->imm == 0);
        return;
    }
    const long long n = (long long)fc_const_value((fusec_dtype)i->dtype, i->imm);
    fc_cuda_line(&g->t, "const fc_span s%u = fc_between(%lldll, %lldll);", (unsigned)v, n, n);
}

/* The function of each row is in the prelude. */
static void row_span(fc_cuda_gen *g, fc_val v, const fc_instr *i) {
    fc_str *out = g->t.out;
    const fusec_dtype t = (fusec_dtype)i->dtype;
    const unsigned bits = fc_dtypes[t].bits;
    const bool is_truth = t == FUSEC_BOOL, within = !is_truth && bits < 64,
               same = i->op == FC_OP_CAST || i->op == FC_OP_CVT;
    fc_cuda_indent(&g->t);
    fc_str_printf(out, "const fc_%s s%u = %s", is_truth ? "truth" : "span", (unsigned)v,
                  within ? "fc_span_within(" : "");
    if (!same) fc_str_printf(out, "fc_span_%s(", fc_ops[i->op].name);
    fc_str_printf(out, "s%u", (unsigned)i->a);
    if (fc_instr_arity(i) > 1) fc_str_printf(out, ", s%u", (unsigned)i->b);
    if (!same) fc_str_add(out, ")");
    if (within && fc_is_unsigned(t))
        fc_str_printf(out, ", 0ll, %lldll)", (1ll << bits) - 1);
    else if (within)
        fc_str_printf(out, ", %lldll, %lldll)", -(1ll << (bits - 1)), (1ll << (bits - 1)) - 1);
    fc_str_add(out, ";\n");
}

static void span(fc_flash_gen *x, fc_cuda_gen *g, fc_val v) {
    const fc_instr *i = &g->k->code.ins.at[v];
    switch (i->op) {
    case FC_OP_CONST: constant_span(g, v, i); return;
    case FC_OP_INDEX: index_span(x, g, v, (uint32_t)i->imm); return;
    case FC_OP_LOAD: load_span(g, v, (uint32_t)i->imm); return;
    case FC_OP_PARAM:
        fc_cuda_line(&g->t, "const fc_span s%u = fc_between((long long)v%u, (long long)v%u);",
                     (unsigned)v, (unsigned)g->map[v], (unsigned)g->map[v]);
        return;
    default: row_span(g, v, i); return;
    }
}

/* Whether all elements of a tile are hidden, and whether none is. */
static void masked(fc_flash_gen *x, uint8_t *need) {
    fc_cuda_gen *g = fc_flash_part(x, 1);
    fc_cuda_line(&g->t, "const auto masked = [&](const ix at) -> fc_truth {");
    fc_flash_open(x, 1, NULL, NULL);
    fc_cuda_line(&g->t,
                 "const fc_span rows = fc_between(m0, m0 + %d < down_size ? m0 + %d : down_size - "
                 "1);",
                 SIDE - 1, SIDE - 1);
    fc_cuda_line(&g->t,
                 "const fc_span along = fc_between(at, at + %d < columns ? at + %d : columns - 1);",
                 SIDE - 1, SIDE - 1);
    for (unsigned w = 0; w < x->mask.n; w++)
        fc_kernel_slice(&g->k->code, &x->mask.way[w].condition, 1, need);
    for (fc_val v = 0; v < g->k->code.ins.len; v++)
        if (need[v]) span(x, g, v);
    fc_cuda_line(&g->t, "fc_truth any = fc_truth_of(false, true);");
    for (unsigned w = 0; w < x->mask.n; w++)
        fc_cuda_line(&g->t, "any = fc_span_logical_or(any, %s(s%u));",
                     x->mask.way[w].when ? "" : "fc_span_logical_not",
                     (unsigned)x->mask.way[w].condition);
    fc_cuda_line(&g->t, "return any;");
    fc_flash_close(x);
}

/* A warp finds out for 32 tiles at a time. */
static void hidden(fc_flash_gen *x) {
    FC_FLASH_PUT("ix looked = -1;");
    FC_FLASH_PUT("unsigned int hides = 0, shows = 0;");
    FC_FLASH_PUT("const auto look = [&](const ix at) {");
    FC_FLASH_PUT("if (at / %d != looked) {", 32 * SIDE);
    FC_FLASH_PUT("looked = at / %d;", 32 * SIDE);
    FC_FLASH_PUT("const fc_truth m = masked(looked * %d + (ix)lane * %d);", 32 * SIDE, SIDE);
    FC_FLASH_PUT("hides = __ballot_sync(~0u, m.all);");
    FC_FLASH_PUT("shows = __ballot_sync(~0u, m.none);");
    FC_FLASH_PUT("}");
    FC_FLASH_PUT("return (int)(at / %d %% 32);", SIDE);
    FC_FLASH_PUT("};");
    FC_FLASH_PUT("const auto hidden = [&](const ix at) -> bool { const int i = look(at); return "
                 "hides >> i & 1; };");
    FC_FLASH_PUT("const auto shown = [&](const ix at) -> bool { const int i = look(at); return "
                 "shows >> i & 1; };");
}

void fc_flash_mask_functions(fc_flash_gen *x) {
    const fc_kernel *k = x->j->kernel[1];
    if (!x->mask.n) return;
    uint8_t *need = fc_calloc(x->mask.code.alloc, k->code.ins.len + 1, 1);
    if (need)
        masked(x, need);
    else
        fc_flash_frame(x)->out->oom = true;
    fc_free(x->mask.code.alloc, need);
    hidden(x);
}

/* ---- hidden tiles ---------------------------------------------------------------------------- */

/* All elements of a row are one value, so it is made once, and the largest of them is found in one
 * step. */
void fc_flash_hide(fc_flash_gen *x, unsigned r) {
    const fc_reduction *red = &x->j->kernel[1]->reductions.at[r];
    const bool in_order = !fc_cuda_any_order(red),
               first = red->op == FC_OP_max || red->op == FC_OP_min;
    FC_FLASH_PUT("{");
    FC_FLASH_PUT("const auto upper = hide%u(own[0], at, 0), lower = hide%u(own[1], at, 1);", r, r);
    FC_FLASH_PUT("#pragma unroll");
    FC_FLASH_PUT("for (int i = 0; i < %d; i += %d)", first ? 4 : SIDE / 2, first ? 2 : 1);
    if (!x->cls->cuda.full)
        FC_FLASH_PUT("    if (at + (ix)(i / 4 * 8 + i %% 2 + lane %% 4 * 2) < columns)");
    FC_FLASH_PUT("    part1::red%u_step(w%u[%s], i / 2 %% 2 ? lower : upper, at, 0ll);", r, r,
                 in_order ? "i" : "i / 2 % 2");
    FC_FLASH_PUT("}");
}
