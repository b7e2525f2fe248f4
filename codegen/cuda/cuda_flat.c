/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_flat.c - flat tiles whose warps either fetch or multiply (`piped` of fc_cuda_tiles).
 *
 * In: a contraction of up to 16 rows on tensor cores, operands bare or, of the columns, made of
 * what comes by 16 bytes. Out: text in which no thread waits for a whole block. A stage of shared
 * memory has two gates: one opens when all that was asked for has come, one when all warps with
 * products are done with it. Those take what they multiply next to registers while they multiply,
 * across steps too, and make operands there, each lane its own, from what came as it is.
 *
 *     fetchers                                 warps with products
 *         for each step                            for each step, PIECE of k at a time
 *             pass the gate of a free stage            the next piece, behind the gate of its stage
 *             ask for the step                         products of this one
 *             join the other gate when it comes        join the gate of free stages
 */
#include <stdio.h>

#include "codegen/cuda/cuda_dot.h"
#include "ir/plant.h"

enum { PIECE = 32 }; /* elements of k that a warp takes to registers at once */

static unsigned fetchers(const fc_dot *d) {
    return FC_CUDA_THREADS - fc_cuda_tile_busy(d->tile);
}

static bool makes(const fc_dot *d) {
    return fc_cuda_is_made(d->x[1].reads);
}

/* ---- arrays that come --------------------------------------------------------------------------
 */

/* A bare operand, or one of the arrays that a made one is of: accesses of 16 bytes along lines.
 * Elements of an access, and from one line to the next in a stage; accesses of a line; lines that
 * all fetchers ask for in a turn, and all lines; where they begin in a stage, in 16 bits. */
typedef struct coming {
    fc_dot_side x; /* with the name of its variables */
    char name[16];
    const char *type;
    uint32_t a;
    unsigned each, line, groups, down, lines, at, room;
} coming;
enum { MOST_COMING = 12 };

static coming coming_of(const fc_dot *d, int side, uint32_t a, unsigned at) {
    const fc_dot_side *x = &d->x[side];
    const unsigned bytes = fc_cuda_bytes(d->g->k, a), length = x->by_k ? d->tile->depth : x->side;
    coming c = {.x = *x,
                .type = fc_dtypes[d->g->k->accesses.at[a].dtype].cuda,
                .a = a,
                .each = 16 / bytes,
                .line = length + 16 / bytes,
                .groups = length * bytes / 16,
                .lines = x->by_k ? x->side : d->tile->depth,
                .at = at};
    c.down = fetchers(d) / c.groups;
    c.room = c.lines * c.line * bytes / 2;
    snprintf(c.name, sizeof c.name, fc_cuda_is_made(x->reads) ? "%s%u" : "%s", x->name,
             (unsigned)a);
    return c;
}

/* All of both operands, in the order in which they lie in a stage. */
static unsigned list(const fc_dot *d, coming c[MOST_COMING]) {
    unsigned n = 0, at = 0;
    for (int s = 0; s < 2; s++) {
        const bool made = fc_cuda_is_made(d->x[s].reads);
        const uint32_t bare = made ? 0 : fc_cuda_bare(&d->g->code, d->x[s].value);
        fc_dot_slice(d->g, d->x[s].value);
        for (uint32_t a = 0; a < d->g->k->accesses.len && n < MOST_COMING; a++) {
            if (made ? !fc_made_comes(d, &d->x[s], a) : a != bare) continue;
            c[n] = coming_of(d, s, a, at);
            at += c[n++].room;
        }
    }
    return n;
}

unsigned fc_flat_stage(const fc_dot *d) {
    coming c[MOST_COMING];
    const unsigned n = list(d, c);
    return c[n - 1].at + c[n - 1].room;
}

static void coming_places(const fc_dot *d) {
    fc_cuda_text *t = &d->g->t;
    coming c[MOST_COMING];
    const unsigned n = list(d, c);
    for (unsigned i = 0; i < n; i++) {
        fc_cuda_line(t, "const unsigned int %s_line = thread %% %u / %u;", c[i].name, fetchers(d),
                     c[i].groups);
        fc_cuda_line(t, "const unsigned int %s_in = thread %% %u * %u;", c[i].name, c[i].groups,
                     c[i].each);
        fc_cuda_line(t, "const unsigned int %s_to = fc_settled(%s_line * %u + %s_in);", c[i].name,
                     c[i].name, c[i].line, c[i].name);
    }
}

/* Arrays that stand along the lines: of each column that a lane has. */
static void hold(const fc_dot *d, uint32_t a) {
    fc_cuda_gen *g = d->g;
    fc_cuda_text *t = &g->t;
    const fc_dot_side *x = &d->x[0], *y = &d->x[1];
    fc_cuda_line(t, "%s held%u[%u];", fc_dtypes[g->k->accesses.at[a].dtype].cuda, (unsigned)a,
                 d->tile->wide);
    fc_cuda_line(t, "#pragma unroll");
    fc_cuda_line(t, "for (int j = 0; j < %u; j++) {", d->tile->wide);
    if (y->axis < g->np) {
        fc_cuda_line(t, "const ix column = n0 + (ix)(across * %u + lane / 4) + 8 * j;",
                     8 * d->tile->wide);
        fc_cuda_line(t, "const ix i%u = column < columns ? column : columns - 1;", y->axis);
    }
    if (x->axis < g->np) fc_cuda_line(t, "const ix i%u = 0;", x->axis);
    fc_cuda_line(t, "const ix j0 = %s0;", fc_dot_first(d));
    fc_cuda_bases(g, g->axes);
    fc_cuda_line(t, "held%u[j] = a%u[b%u];", (unsigned)a, (unsigned)g->k->accesses.at[a].buffer,
                 (unsigned)a);
    fc_cuda_line(t, "}");
}

void fc_flat_begin_tile(const fc_dot *d) {
    fc_cuda_gen *g = d->g;
    fc_cuda_text *t = &g->t;
    coming c[MOST_COMING];
    const unsigned n = list(d, c);
    for (unsigned i = 0; i < n; i++) {
        c[i].x.name = c[i].name;
        fc_cuda_line(t, "const %s *%s;", c[i].type, c[i].name);
        fc_dot_begin_first(d, &c[i].x);
        fc_cuda_line(t, "%s = a%u + b%u;", c[i].name, (unsigned)g->k->accesses.at[c[i].a].buffer,
                     (unsigned)c[i].a);
        fc_cuda_line(t, "}");
    }
    if (!makes(d)) return;
    fc_dot_slice(g, d->x[1].value);
    for (uint32_t a = 0; a < g->k->accesses.len; a++)
        if (g->used[a] & FC_CUDA_LOADS && !fc_made_comes(d, &d->x[1], a)) hold(d, a);
}

/* ---- fetchers -------------------------------------------------------------------------------- */

/* How far it is from turn to turn, and from step to step. */
static void strides(const fc_dot *d, const coming *c) {
    fc_cuda_gen *g = d->g;
    for (int step = 0; step < 2; step++) {
        fc_cuda_indent(&g->t);
        fc_str_printf(g->t.out, "const long long %s_%s = fc_settled(%ull * ", c->name,
                      step ? "step" : "turn", step ? d->tile->depth : c->down);
        fc_made_stride(d, c->a, !step && c->x.by_k ? c->x.axis : g->np);
        fc_str_add(g->t.out, ");\n");
    }
}

static void ask(const fc_dot *d, const coming *c) {
    fc_cuda_text *t = &d->g->t;
    const char *n = c->name;
    const unsigned turns = c->lines < c->down ? 1 : c->lines / c->down;
    if (c->lines < c->down)
        fc_cuda_line(t, "if (%s_line < %u) {", n, c->lines);
    else
        fc_cuda_line(t, "{");
    fc_cuda_line(t, "const %s *from = %s;", c->type, n);
    fc_cuda_line(t, "#pragma unroll");
    fc_cuda_line(t, "for (int u = 0; u < %u; u++, from += %s_turn)", turns, n);
    fc_cuda_line(t,
                 c->x.by_k ? "    fc_bring((%s *)(stage + %u) + %s_to + u * %u, from, (ix)%s_in < "
                             "todo && u * %u < %s_rest);"
                           : "    fc_bring((%s *)(stage + %u) + %s_to + u * %u, from, (ix)%s_line "
                             "+ u * %u < todo && 0 < %s_rest);",
                 c->type, c->at, n, c->down * c->line, n, c->down, n);
    fc_cuda_line(t, "}");
    fc_cuda_line(t, "%s += %s_step;", n, n);
}

static void begin_slots(const fc_dot *d) {
    const unsigned stages = d->g->cls->cuda.dot_stages;
    fc_cuda_line(&d->g->t, "unsigned int slot = begun %% %u, odd = begun / %u & 1;", stages,
                 stages);
}

static void next_slot(const fc_dot *d) {
    fc_cuda_line(&d->g->t, "slot = slot == %u ? 0 : slot + 1;", d->g->cls->cuda.dot_stages - 1u);
    fc_cuda_line(&d->g->t, "odd ^= (unsigned int)(slot == 0);");
}

static void fetch(const fc_dot *d) {
    fc_cuda_text *t = &d->g->t;
    const unsigned stages = d->g->cls->cuda.dot_stages;
    coming c[MOST_COMING];
    const unsigned n = list(d, c);
    begin_slots(d);
    for (unsigned i = 0; i < n; i++) strides(d, &c[i]);
    fc_cuda_line(t, "ix todo = %s;", fc_dot_many(d));
    fc_cuda_line(t, "#pragma unroll 1");
    fc_cuda_line(t, "for (ix step = 0; step < steps; step++) {");
    fc_cuda_line(t, "fc_gate_pass(gates + %u + slot, odd ^ 1);", stages);
    fc_cuda_line(t, "unsigned short *const stage = all + slot * %u;", d->stage);
    for (unsigned i = n; i-- > 0;) ask(d, &c[i]);
    fc_cuda_line(t, "todo -= %u;", d->tile->depth);
    fc_cuda_line(t, "fc_bring_join(gates + slot);");
    next_slot(d);
    fc_cuda_line(t, "}");
}

/* ---- warps with products --------------------------------------------------------------------- */

/* Where a lane tells that lines begin, as lane_places of cuda_mma.c; of 8 columns there are four
 * pieces of 8 elements of k. */
static void lane_places(const fc_dot *d) {
    fc_cuda_text *t = &d->g->t;
    const fc_dot_side *x = &d->x[0], *y = &d->x[1];
    const bool two = d->tile->wide > 1;
    const unsigned wide = 8 * d->tile->wide;
    if (x->by_k)
        fc_cuda_line(t, "const unsigned int left_at = fc_settled(lane %% 16 * %u + lane / 16 * 8);",
                     x->line);
    else
        fc_cuda_line(t,
                     "const unsigned int left_at = fc_settled((lane / 16 * 8 + lane %% 8) * %u + "
                     "lane / 8 %% 2 * 8);",
                     x->line);
    if (makes(d)) return;
    if (y->by_k)
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
    lane_places(d);
    coming_places(d);
    fc_cuda_line(t, "__shared__ unsigned long long gates[%u];", 2 * stages);
    fc_cuda_line(t, "if (thread == 0) {");
    fc_cuda_line(t, "#pragma unroll");
    fc_cuda_line(t, "for (int i = 0; i < %u; i++) {", stages);
    fc_cuda_line(t, "fc_gate_make(gates + i, %u);", fetchers(d));
    fc_cuda_line(t, "fc_gate_make(gates + %u + i, %u);", stages, fc_cuda_tile_busy(d->tile) / 32);
    fc_cuda_line(t, "}");
    fc_cuda_line(t, "}");
    fc_cuda_line(t, "fc_gates_made();");
    fc_cuda_line(t, "unsigned int begun = 0;");
}

/* Two neighbours: a word, which nobody takes apart before they are needed. */
static const char *word_of(const coming *c) {
    return c->each == 16  ? "unsigned short"
           : c->each == 8 ? "unsigned int"
           : c->each == 4 ? "unsigned long long"
                          : "fc_vec<unsigned long long, 2, 16>";
}

/* What a lane makes columns of: its two pairs of neighbours along k of each 16. */
static void take_raw(const fc_dot *d, const coming *c) {
    fc_cuda_text *t = &d->g->t;
    const unsigned n = (unsigned)c->a, wide = d->tile->wide;
    fc_cuda_line(t, "const %s *const from%u = (const %s *)(stage + %u);", c->type, n, c->type,
                 c->at);
    fc_cuda_line(t, "#pragma unroll");
    fc_cuda_line(t, "for (int h = 0; h < %u; h++) {", 2 * wide);
    fc_cuda_line(t, "const unsigned int column = across * %u + h %% %u * 8 + lane / 4;", 8 * wide,
                 wide);
    fc_cuda_line(t, "const unsigned int deep = q + h / %u * 16 + lane %% 4 * 2;", wide);
    if (c->x.by_k) {
        fc_cuda_line(t, "const %s *const line = from%u + column * %u + deep;", c->type, n, c->line);
        fc_cuda_line(t, "raw%u[to][h].e[0] = *(const %s *)line;", n, word_of(c));
        fc_cuda_line(t, "raw%u[to][h].e[1] = *(const %s *)(line + 8);", n, word_of(c));
    } else {
        fc_cuda_line(t, "#pragma unroll");
        fc_cuda_line(t, "for (int e = 0; e < 4; e++)");
        fc_cuda_line(t,
                     "    raw%u[to][h].e[e] = from%u[(deep + e %% 2 + e / 2 * 8) * %u + column];",
                     n, n, c->line);
    }
    fc_cuda_line(t, "}");
}

/* PIECE elements of k to registers. */
static void take(const fc_dot *d) {
    fc_cuda_text *t = &d->g->t;
    const fc_dot_side *x = &d->x[0], *y = &d->x[1];
    fc_cuda_line(t, "const auto take = [&](unsigned int to, unsigned int at, unsigned int q) {");
    fc_cuda_line(t, "const unsigned short *const stage = all + at * %u;", d->stage);
    for (unsigned h = 0; h < 2; h++)
        fc_cuda_line(t,
                     x->by_k ? "fc_pieces(xs[to][%u], stage + left_at + q + %u);"
                             : "fc_pieces_turned(xs[to][%u], stage + left_at + (q + %u) * %u);",
                     h, 16 * h, x->line);
    if (makes(d)) {
        coming c[MOST_COMING];
        const unsigned n = list(d, c);
        for (unsigned i = 1; i < n; i++) take_raw(d, &c[i]);
    } else {
        for (unsigned h = 0; h < d->tile->wide; h++)
            fc_cuda_line(t,
                         y->by_k
                             ? "fc_pieces(ys[to][%u], stage + right_at + q + %u);"
                             : "fc_pieces_turned(ys[to][%u], stage + right_at + (q + %u) * %u);",
                         h, 16 * h, y->line);
    }
    fc_cuda_line(t, "};");
}

static void registers(const fc_dot *d) {
    fc_cuda_text *t = &d->g->t;
    fc_cuda_line(t, "unsigned int xs[2][2][4];");
    if (!makes(d)) {
        fc_cuda_line(t, "unsigned int ys[2][%u][4];", d->tile->wide);
        return;
    }
    coming c[MOST_COMING];
    const unsigned n = list(d, c);
    for (unsigned i = 1; i < n; i++)
        if (c[i].x.by_k)
            fc_cuda_line(t, "fc_vec<%s, 2, 16> raw%u[2][%u];", word_of(&c[i]), (unsigned)c[i].a,
                         2 * d->tile->wide);
        else
            fc_cuda_line(t, "fc_vec<%s, 4, 16> raw%u[2][%u];", c[i].type, (unsigned)c[i].a,
                         2 * d->tile->wide);
}

void fc_flat_begin_chunks(const fc_dot *d) {
    fc_cuda_text *t = &d->g->t;
    fc_cuda_line(t, "__syncthreads();"); /* of the first tile: gates are there */
    registers(d);
    take(d);
    fc_cuda_line(t, "if (thread >= %u) {", fc_cuda_tile_busy(d->tile));
    fetch(d);
    fc_cuda_line(t, "} else {");
    begin_slots(d);
    fc_cuda_line(t, "if (steps > 0) {");
    fc_cuda_line(t, "fc_gate_pass(gates + slot, odd);");
    fc_cuda_line(t, "take(0, slot, 0);");
    fc_cuda_line(t, "}");
    fc_cuda_line(t, "#pragma unroll 1");
    fc_cuda_line(t, "for (ix step = 0; step < steps;) {");
}

void fc_flat_end_chunks(const fc_dot *d) {
    fc_cuda_line(&d->g->t, "}");
    fc_cuda_line(&d->g->t, "}");
    fc_cuda_line(&d->g->t, "begun += (unsigned int)steps;");
}

/* By the code of the operand, from all that it reads. */
static void make_of(const fc_dot *d, unsigned at) {
    fc_cuda_gen *g = d->g;
    fc_cuda_text *t = &g->t;
    fc_dot_slice(g, d->x[1].value);
    for (uint32_t a = 0; a < g->k->accesses.len; a++) {
        const char *type = fc_dtypes[g->k->accesses.at[a].dtype].cuda;
        const unsigned n = (unsigned)a, pair = 2 * fc_cuda_bytes(g->k, a);
        if (!(g->used[a] & FC_CUDA_LOADS)) continue;
        if (!fc_made_comes(d, &d->x[1], a)) {
            fc_cuda_line(t, "const auto q%u = held%u[%u];", n, n, at % d->tile->wide);
        } else if (d->x[1].by_k) {
            fc_cuda_line(t, "fc_vec<%s, 4, 16> q%u;", type, n);
            for (unsigned i = 0; i < 2; i++)
                fc_cuda_line(t, "memcpy(q%u.e + %u, &raw%u[part %% 2][%u].e[%u], %u);", n, 2 * i, n,
                             at, i, pair);
        } else {
            fc_cuda_line(t, "const auto q%u = raw%u[part %% 2][%u];", n, n, at);
        }
    }
    fc_made_group(d, &d->x[1], 4, NULL);
}

/* The column of a lane, 16 of k: bits[0] and bits[1], zero past the end of k. */
static void make(const fc_dot *d, unsigned h, unsigned j, bool whole) {
    fc_cuda_text *t = &d->g->t;
    const unsigned at = h * d->tile->wide + j;
    make_of(d, at);
    if (whole) return;
    fc_cuda_line(t, "const ix after = left - (ix)(part * %d + %u + lane %% 4 * 2);", PIECE, 16 * h);
    fc_cuda_line(t, "bits.e[0] &= fc_first(after), bits.e[1] &= fc_first(after - 8);");
}

static void products(const fc_dot *d, bool whole) {
    fc_cuda_text *t = &d->g->t;
    const unsigned wide = d->tile->wide;
    for (unsigned h = 0; h < 2; h++)
        for (unsigned j = 0; j < wide; j++) {
            const unsigned c = 4 * j, y = wide > 1 ? h : 0, half = 2 * (wide > 1 ? j : h);
            fc_cuda_line(t, "{");
            if (makes(d)) make(d, h, j, whole);
            fc_cuda_indent(t);
            fc_str_printf(t->out, "fc_product_%s(c%u, c%u, c%u, c%u, xs[part %% 2][%u], ",
                          d->half == FUSEC_F16 ? "f16" : "bf16", c, c + 1, c + 2, c + 3, h);
            if (makes(d))
                fc_str_add(t->out, "bits.e[0], bits.e[1]);\n");
            else
                fc_str_printf(t->out, "ys[part %% 2][%u][%u], ys[part %% 2][%u][%u]);\n", y, half,
                              y, half + 1);
            fc_cuda_line(t, "}");
        }
}

/* All of a step; `whole`: all of its elements of k exist. */
static void pieces(const fc_dot *d, bool whole) {
    fc_cuda_text *t = &d->g->t;
    const unsigned parts = d->tile->depth / PIECE;
    fc_cuda_line(t, "#pragma unroll 4");
    fc_cuda_line(t, "for (unsigned int part = 0; part < %u; part++) {", parts);
    fc_cuda_line(t, "if (part + 1 < %u) {", parts);
    fc_cuda_line(t, "take((part + 1) %% 2, now, part * %d + %d);", PIECE, PIECE);
    fc_cuda_line(t, "} else if (step + 1 < steps) {");
    fc_cuda_line(t, "fc_gate_pass(gates + slot, odd);");
    fc_cuda_line(t, "take(0, %s, 0);", FC_PLANT(flat_step, "now", "slot"));
    fc_cuda_line(t, "}");
    products(d, whole);
    fc_cuda_line(t, "}");
}

/* The zeros past the end of k are tested for once a step, if some may be: a test at each product
 * would keep what is made for the next one from being done meanwhile. */
void fc_flat_products(const fc_dot *d) {
    fc_cuda_text *t = &d->g->t;
    fc_cuda_line(t, "const unsigned int now = slot;");
    next_slot(d);
    const bool ends = makes(d) && !d->g->cls->cuda.full;
    if (ends) {
        fc_cuda_line(t, "const ix left = %s - step * %u;", fc_dot_many(d), d->tile->depth);
        fc_cuda_line(t, "if (left < %u) {", d->tile->depth);
        pieces(d, false);
        fc_cuda_line(t, "} else {");
    }
    pieces(d, true);
    if (ends) fc_cuda_line(t, "}");
    fc_cuda_line(t, "__syncwarp();");
    fc_cuda_line(t, "if (lane == 0) fc_gate_join(gates + %u + now);", d->g->cls->cuda.dot_stages);
}
