/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_flash_mask.c - joined products: tiles that a mask hides (codegen/mask.h).
 *
 * In: the part that takes what the first one passes on. Out: hidden(at), whether all elements
 * of the tile are hidden, and shown(at), whether none is, by the ends of each number that the
 * conditions are made of; and what is done
 * with a hidden element: the elements hide0(row, column, h), ... of its
 * reductions, hidden_weight(row, column, h), hidden_left(row, column). */
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

fusec_status fc_flash_open_mask(fc_flash_gen *x, fc_str *out, uint8_t *had, fc_error *e) {
    const unsigned how = x->cls->cuda.flash_mask;
    if (how == FC_FLASH_OPEN) return FUSEC_OK;
    const fusec_status s =
        fc_flash_find_mask(x->j, &x->f, how == FC_FLASH_FINITE, out->alloc, &x->mask);
    if (s != FUSEC_OK) return fc_fail(e, s, "the mask of a product");
    if (!x->mask.n) return fc_fail(e, FUSEC_INTERNAL, "a mask that is not there");
    for (unsigned i = 0; i < 2; i++) {
        fc_cuda_gen *g = &x->part[FC_FLASH_HIDDEN + i];
        if (!borrow(x, &x->masked[i], i ? x->mask.shown : x->mask.map)) return fc_oom(e);
        FC_TRY(fc_cuda_gen_init(g, &x->masked[i], &x->j->cls[1], out, e));
        g->l = x->j->layout[1];
        g->had = had;
        g->given = x->part[1].given;
        g->given_access = x->part[1].given_access;
        g->given_value = x->part[1].given_value;
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
        if (x->part[FC_FLASH_HIDDEN + i].code.alloc)
            fc_cuda_gen_free(&x->part[FC_FLASH_HIDDEN + i]);
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
        if (axis == x->f.axis[1][fc_flash_row(x)])
            fc_str_add(out, "rows");
        else if (axis == x->f.axis[1][fc_flash_column(x)])
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

/* The function of a row, and whether its operands change places. */
static const char *function_of(fc_op op, bool *swapped) {
    *swapped = op == FC_OP_gt || op == FC_OP_ge;
    switch (op) {
    case FC_OP_add: return "span_add";
    case FC_OP_sub: return "span_sub";
    case FC_OP_mul: return "span_mul";
    case FC_OP_neg: return "span_neg";
    case FC_OP_abs: return "span_abs";
    case FC_OP_minimum: return "span_minimum";
    case FC_OP_maximum: return "span_maximum";
    case FC_OP_lt:
    case FC_OP_gt: return "span_lt";
    case FC_OP_le:
    case FC_OP_ge: return "span_le";
    case FC_OP_eq: return "span_eq";
    case FC_OP_logical_not: return "truth_not";
    case FC_OP_logical_and: return "truth_and";
    default: return "truth_or";
    }
}

static void row_span(fc_cuda_gen *g, const fc_kernel *k, fc_val v, const fc_instr *i) {
    fc_str *out = g->t.out;
    const fusec_dtype t = (fusec_dtype)i->dtype;
    const unsigned a = (unsigned)i->a, b = (unsigned)i->b;
    const bool is_truth = t == FUSEC_BOOL, within = !is_truth && fc_dtypes[t].bits < 64;
    bool swapped;
    fc_cuda_indent(&g->t);
    fc_str_printf(out, "const fc_%s s%u = %s", is_truth ? "truth" : "span", (unsigned)v,
                  within ? "fc_span_within(" : "");
    if (i->op == FC_OP_CAST || i->op == FC_OP_CVT)
        fc_str_printf(out, "s%u", a);
    else if (i->op == FC_OP_ne)
        fc_str_printf(out, "fc_truth_not(fc_span_eq(s%u, s%u))", a, b);
    else if (i->op == FC_OP_shr)
        fc_str_printf(out, "fc_span_shr(s%u, %u)", a, (unsigned)k->code.ins.at[i->b].imm);
    else if (i->op == FC_OP_shl)
        fc_str_printf(out, "fc_span_mul(s%u, fc_between(1ll << %u, 1ll << %u))", a,
                      (unsigned)k->code.ins.at[i->b].imm, (unsigned)k->code.ins.at[i->b].imm);
    else {
        const char *function = function_of((fc_op)i->op, &swapped);
        fc_str_printf(out, "fc_%s(s%u", function, swapped ? b : a);
        if (fc_instr_arity(i) > 1) fc_str_printf(out, ", s%u", swapped ? a : b);
        fc_str_add(out, ")");
    }
    if (within) {
        const unsigned bits = fc_dtypes[t].bits;
        const bool positive = fc_is_unsigned(t);
        fc_str_printf(out, ", %lldll, %lldll)", positive ? 0 : -(1ll << (bits - 1)),
                      (1ll << (positive ? bits : bits - 1)) - 1);
    }
    fc_str_add(out, ";\n");
}

static void span(fc_flash_gen *x, fc_cuda_gen *g, fc_val v) {
    const fc_kernel *k = g->k;
    const fc_instr *i = &k->code.ins.at[v];
    switch (i->op) {
    case FC_OP_CONST: constant_span(g, v, i); return;
    case FC_OP_INDEX: index_span(x, g, v, (uint32_t)i->imm); return;
    case FC_OP_LOAD: load_span(g, v, (uint32_t)i->imm); return;
    case FC_OP_PARAM:
        fc_cuda_line(&g->t, "const fc_span s%u = fc_between((long long)v%u, (long long)v%u);",
                     (unsigned)v, (unsigned)g->map[v], (unsigned)g->map[v]);
        return;
    default: row_span(g, k, v, i); return;
    }
}

static void put_ways(fc_flash_gen *x, bool hidden) {
    for (unsigned w = 0; w < x->mask.n; w++)
        fc_str_printf(x->part[1].t.out, "%ss%u.%s",
                      !w       ? ""
                      : hidden ? " || "
                               : " && ",
                      (unsigned)x->mask.way[w].condition,
                      x->mask.way[w].when == hidden ? "all" : "none");
}

/* Whether all elements of a tile are hidden, and whether none is. */
static void masked(fc_flash_gen *x, uint8_t *need) {
    fc_cuda_gen *g = fc_flash_part(x, 1);
    fc_str *out = g->t.out;
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
    fc_cuda_indent(&g->t);
    fc_str_add(out, "return fc_truth_of(");
    put_ways(x, true);
    fc_str_add(out, ", ");
    put_ways(x, false);
    fc_str_add(out, ");\n");
    fc_flash_close(x);
}

/* A warp finds out for 32 tiles at a time. */
static void hidden(fc_flash_gen *x) {
    fc_cuda_text *t = fc_flash_frame(x);
    fc_cuda_line(t, "ix looked = -1;");
    fc_cuda_line(t, "unsigned int hides = 0, shows = 0;");
    fc_cuda_line(t, "const auto look = [&](const ix at) {");
    fc_cuda_line(t, "if (at / %d != looked) {", 32 * SIDE);
    fc_cuda_line(t, "looked = at / %d;", 32 * SIDE);
    fc_cuda_line(t, "const fc_truth m = masked(looked * %d + (ix)lane * %d);", 32 * SIDE, SIDE);
    fc_cuda_line(t, "hides = __ballot_sync(~0u, m.all);");
    fc_cuda_line(t, "shows = __ballot_sync(~0u, m.none);");
    fc_cuda_line(t, "}");
    fc_cuda_line(t, "return (int)(at / %d %% 32);", SIDE);
    fc_cuda_line(t, "};");
    fc_cuda_line(t, "const auto hidden = [&](const ix at) -> bool { const int i = look(at); return "
                    "hides >> i & 1; };");
    fc_cuda_line(t, "const auto shown = [&](const ix at) -> bool { const int i = look(at); return "
                    "shows >> i & 1; };");
}

/* ---- hidden elements ------------------------------------------------------------------------- */

/* The element that reduction `r` takes. */
static void hide(fc_flash_gen *x, unsigned r) {
    fc_cuda_gen *g = fc_flash_part(x, FC_FLASH_HIDDEN);
    const fc_val v = fc_cuda_red_value(g, r)[0];
    fc_cuda_line(&g->t, "const auto hide%u = [&](const ix row, const ix column, const int h) {", r);
    fc_flash_open(x, FC_FLASH_HIDDEN, "row", "column");
    fc_flash_results(g, g->k->reductions.at[r].stage);
    fc_flash_value(g, v, g->axes);
    fc_flash_give_back(g, v, true);
    fc_flash_close(x);
}

static void hidden_weight(fc_flash_gen *x) {
    fc_cuda_gen *g = fc_flash_part(x, FC_FLASH_HIDDEN);
    const fc_val stored = g->store_value[0];
    const bool before = x->forms.weights && fc_cuda_rounds(&g->t, stored);
    const fc_val v = before ? g->code.ins.at[stored].a : stored;
    fc_cuda_line(&g->t,
                 "const auto hidden_weight = [&](const ix row, const ix column, const int h) {");
    fc_flash_open(x, FC_FLASH_HIDDEN, "row", "column");
    fc_flash_results(g, FC_CUDA_STORES);
    fc_flash_value(g, v, g->axes);
    fc_flash_give_back(g, v, x->forms.weights);
    fc_flash_close(x);
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
    if (x->cls->cuda.flash_once) return;
    for (unsigned r = 0; x->f.n == 3 && r < k->reductions.len; r++) hide(x, r);
    if (x->f.n == 3)
        hidden_weight(x);
    else if (!x->passes)
        fc_flash_left(x, FC_FLASH_HIDDEN, "hidden_left");
}

/* ---- hidden tiles
 * ----------------------------------------------------------------------------------- */

/* All elements of a row are one value, so it is made once, and the largest of them is found in one
 * step. */
static void step(fc_flash_gen *x, unsigned r) {
    fc_cuda_text *t = fc_flash_frame(x);
    const fc_reduction *red = &x->j->kernel[1]->reductions.at[r];
    const bool in_order = !fc_cuda_any_order(red),
               first = red->op == FC_OP_max || red->op == FC_OP_min;
    fc_cuda_line(t, "{");
    fc_cuda_line(t, "const auto upper = hide%u(own[0], at, 0), lower = hide%u(own[1], at, 1);", r,
                 r);
    fc_cuda_line(t, "#pragma unroll");
    fc_cuda_line(t, "for (int i = 0; i < %d; i += %d)", first ? 4 : SIDE / 2, first ? 2 : 1);
    if (!x->cls->cuda.full)
        fc_cuda_line(t, "    if (at + (ix)(i / 4 * 8 + i %% 2 + lane %% 4 * 2) < columns)");
    fc_cuda_line(t, "    part1::red%u_step(w%u[%s], i / 2 %% 2 ? lower : upper, at, 0ll);", r, r,
                 in_order ? "i" : "i / 2 % 2");
    fc_cuda_line(t, "}");
}

void fc_flash_hide_stage(fc_flash_gen *x, unsigned stage) {
    const fc_kernel *k = x->j->kernel[1];
    for (unsigned r = 0; r < k->reductions.len; r++)
        if (k->reductions.at[r].stage == stage) step(x, r);
}
