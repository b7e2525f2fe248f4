/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_flat.c - flat tiles whose warps either fetch or multiply (`piped` of fc_cuda_tiles).
 *
 * In: a contraction of few rows on tensor cores, or of columns that are made of what comes by 16
 * bytes. Out: text in which no thread waits for a whole block. A stage of shared
 * memory has two gates: one opens when both operands of a step are there, one when all warps with
 * products are done with them. Those take what they multiply next to registers while they multiply,
 * across steps too; or a group multiplies from shared memory (cuda_wgmma.c), and leaves a stage a
 * step later. How operands come: cuda_flat_fetch.c.
 *
 *     fetchers                                 warps with products
 *         for each step                            for each step, PIECE of k at a time
 *             make what came of it, if need be         the next piece, behind the gate of its stage
 *             join its gate, or leave it to copies     products of this one
 *             ask for a step, behind the gate          join the gate of free stages
 *             of a free stage
 */
#include "codegen/cuda/cuda_dot.h"
#include "ir/plant.h"

enum { PIECE = 32, NOWHERE = 255 }; /* elements of k that a warp takes at once; no stage */

void fc_flat_begin_slots(const fc_dot *d) {
    const unsigned stages = d->g->cls->cuda.dot_stages;
    fc_cuda_line(&d->g->t, "unsigned int slot = begun %% %u, odd = begun / %u & 1;", stages,
                 stages);
}

void fc_flat_next_slot(const fc_dot *d) {
    fc_cuda_line(&d->g->t, "slot = slot == %u ? 0 : slot + 1;", d->g->cls->cuda.dot_stages - 1u);
    fc_cuda_line(&d->g->t, "odd ^= (unsigned int)(slot == 0);");
}

/* ---- warps with products --------------------------------------------------------------------- */

/* Where a lane tells that lines begin, as lane_places of cuda_mma.c; of 8 columns there are four
 * pieces of 8 elements of k. */
static void lane_places(const fc_dot *d) {
    fc_cuda_text *t = &d->g->t;
    const fc_dot_side *x = &d->x[0], *y = &d->x[1];
    const bool two = d->tile->wide > 1;
    const unsigned wide = 8 * d->tile->wide;
    if (x->along)
        fc_cuda_line(t,
                     "const unsigned int left_at = fc_settled((down * 16 + lane %% 16) * %u + "
                     "lane / 16 * 8);",
                     x->line);
    else
        fc_cuda_line(t,
                     "const unsigned int left_at = fc_settled((lane / 16 * 8 + lane %% 8) * %u + "
                     "down * 16 + lane / 8 %% 2 * 8);",
                     x->line);
    if (y->along)
        fc_cuda_line(t,
                     "const unsigned int right_at = fc_settled(%u + (across * %u + %slane %% 8) * "
                     "%u + %s * 8);",
                     y->from, wide, two ? "lane / 16 * 8 + " : "", y->line,
                     two ? "lane / 8 % 2" : "lane / 8");
    else
        fc_cuda_line(t, "const unsigned int right_at = fc_settled(%u + %s * %u + across * %u%s);",
                     y->from, two ? "lane % 16" : "lane", y->line, wide,
                     two ? " + lane / 16 * 8" : "");
}

/* There is one row of tiles. */
void fc_flat_place(const fc_dot *d, const char *tile) {
    const unsigned np = d->g->np, sides = (d->x[0].axis < np) + (d->x[1].axis < np);
    if (np > sides)
        fc_cuda_line(&d->g->t, "ix rest = fc_quotient(%s, wide);", tile);
    else
        fc_cuda_line(&d->g->t, "const ix rest = 0;");
    fc_cuda_line(&d->g->t, "const ix m0 = 0, n0 = (%s - rest * wide) * %u;", tile, d->x[1].side);
}

void fc_flat_places(const fc_dot *d) {
    fc_cuda_text *t = &d->g->t;
    const unsigned stages = d->g->cls->cuda.dot_stages;
    (d->tile->group ? fc_wgmma_places : lane_places)(d);
    fc_flat_fetching_places(d);
    fc_cuda_line(t, "__shared__ unsigned long long gates_of[%u];", 2 * stages);
    fc_cuda_line(t, "unsigned long long *const gates = fc_settled(gates_of);");
    fc_cuda_line(t, "if (thread == 0) {");
    fc_cuda_line(t, "#pragma unroll");
    fc_cuda_line(t, "for (int i = 0; i < %u; i++) {", stages);
    fc_cuda_line(t, "fc_gate_make(gates + i, %u);", fc_flat_joins(d));
    fc_cuda_line(t, "fc_gate_make(gates + %u + i, %u);", stages, fc_cuda_tile_busy(d->tile) / 32);
    fc_cuda_line(t, "}");
    fc_cuda_line(t, "}");
    fc_cuda_line(t, "fc_gates_made();");
    fc_cuda_line(t, "__syncthreads();");
    fc_cuda_line(t, "unsigned int begun = 0;");
}

/* Piece n of an operand to registers: 16 rows (columns) from `first` on by 16 of k from `deep` on.
 */
static void take_piece(const fc_dot *d, const fc_dot_side *x, unsigned n, unsigned first,
                       unsigned deep) {
    const char *name = x == d->x ? "left" : "right";
    if (x->along)
        fc_cuda_line(&d->g->t, "fc_pieces(%ss[to][%u], stage + %s_at + q + %u);", x->name, n, name,
                     deep + first * x->line);
    else
        fc_cuda_line(&d->g->t, "fc_pieces_turned(%ss[to][%u], stage + %s_at + (q + %u) * %u + %u);",
                     x->name, n, name, deep, x->line, first);
}

/* Pairs of columns by 16 of k, or 8 columns by 32. */
static unsigned pairs_of(const fc_dot *d) {
    return d->tile->wide > 1 ? d->tile->wide / 2u : 1;
}
static unsigned deep_of(const fc_dot *d) {
    return d->tile->wide > 1 ? 2 : 1;
}

/* PIECE elements of k to registers. */
static void take(const fc_dot *d) {
    fc_cuda_text *t = &d->g->t;
    fc_cuda_line(t, "const auto take = [&](unsigned int to, unsigned int at, unsigned int q) {");
    fc_cuda_line(t, "const unsigned short *const stage = all + at * %u;", d->stage);
    for (unsigned h = 0; h < 2; h++) take_piece(d, &d->x[0], h, 0, 16 * h);
    for (unsigned h = 0; h < deep_of(d); h++)
        for (unsigned j = 0; j < pairs_of(d); j++)
            take_piece(d, &d->x[1], h * pairs_of(d) + j, 16 * j, 16 * h);
    fc_cuda_line(t, "};");
}

static void begin_pieces(const fc_dot *d) {
    fc_cuda_line(&d->g->t, "unsigned int xs[2][2][4], ys[2][%u][4];", d->tile->wide);
    take(d);
}

static void first_piece(const fc_dot *d) {
    fc_cuda_text *t = &d->g->t;
    fc_cuda_line(t, "if (steps > 0) {");
    fc_cuda_line(t, "fc_gate_pass(gates + slot, odd);");
    fc_cuda_line(t, "take(0, slot, 0);");
    fc_cuda_line(t, "}");
}

void fc_flat_begin_chunks(const fc_dot *d) {
    fc_cuda_text *t = &d->g->t;
    if (!d->tile->group) begin_pieces(d);
    fc_cuda_line(t, "if (thread >= %u) {", fc_cuda_tile_busy(d->tile));
    fc_flat_fetch(d);
    fc_cuda_line(t, "} else {");
    fc_flat_begin_slots(d);
    if (d->tile->group)
        fc_cuda_line(t, "unsigned int before = %u;", NOWHERE);
    else
        first_piece(d);
    fc_cuda_line(t, "#pragma unroll 1");
    fc_cuda_line(t, "for (ix step = 0; step < steps;) {");
}

/* The stage of the step before, whose products are done. */
static void leave_before(const fc_dot *d) {
    fc_cuda_line(&d->g->t, "if (lane == 0 && before != %u) fc_gate_join(gates + %u + before);",
                 NOWHERE, d->g->cls->cuda.dot_stages);
}

void fc_flat_end_chunks(const fc_dot *d) {
    fc_cuda_line(&d->g->t, "}");
    if (d->tile->group) leave_before(d);
    fc_cuda_line(&d->g->t, "}");
    fc_cuda_line(&d->g->t, "begun += (unsigned int)steps;");
}

/* Of a piece. */
static void products(const fc_dot *d) {
    const unsigned wide = d->tile->wide;
    for (unsigned n = 0; n < 2 * wide; n++) {
        const unsigned h = n / wide, j = n % wide, c = 4 * j,
                       y = wide > 1 ? h * pairs_of(d) + j / 2 : 0,
                       half = 2 * (wide > 1 ? j % 2 : h);
        fc_cuda_line(&d->g->t,
                     "fc_product_%s(c%u, c%u, c%u, c%u, xs[part %% 2][%u], ys[part %% 2][%u][%u], "
                     "ys[part %% 2][%u][%u]);",
                     d->half == FUSEC_F16 ? "f16" : "bf16", c, c + 1, c + 2, c + 3, h, y, half, y,
                     half + 1);
    }
}

/* Products of groups go on while the next gate opens, and are waited for a step later. */
static void group_products(const fc_dot *d) {
    fc_cuda_text *t = &d->g->t;
    fc_cuda_line(t, "fc_gate_pass(gates + slot, odd);");
    fc_cuda_line(t, "fc_kept();");
    fc_cuda_line(t, "const unsigned int now = %s, held = now * %u;",
                 FC_PLANT(flat_step, "0u", "slot"), d->stage);
    fc_wgmma_multiply(d);
    leave_before(d);
    fc_cuda_line(t, "before = now;");
    fc_flat_next_slot(d);
}

void fc_flat_products(const fc_dot *d) {
    if (d->tile->group) {
        group_products(d);
        return;
    }
    fc_cuda_text *t = &d->g->t;
    const unsigned parts = d->tile->depth / PIECE;
    fc_cuda_line(t, "const unsigned int now = slot;");
    fc_flat_next_slot(d);
    fc_cuda_line(t, "#pragma unroll %u", parts);
    fc_cuda_line(t, "for (unsigned int part = 0; part < %u; part++) {", parts);
    fc_cuda_line(t, "if (part + 1 < %u) {", parts);
    fc_cuda_line(t, "take((part + 1) %% 2, now, part * %d + %d);", PIECE, PIECE);
    fc_cuda_line(t, "} else if (step + 1 < steps) {");
    fc_cuda_line(t, "fc_gate_pass(gates + slot, odd);");
    fc_cuda_line(t, "take(0, %s, 0);", FC_PLANT(flat_step, "now", "slot"));
    fc_cuda_line(t, "}");
    products(d);
    fc_cuda_line(t, "}");
    fc_cuda_line(t, "__syncwarp();");
    fc_cuda_line(t, "if (lane == 0) fc_gate_join(gates + %u + now);", d->g->cls->cuda.dot_stages);
}
