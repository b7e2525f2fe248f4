/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_dot_chain.c - contractions whose results are chains of fma in order of k: how cuda_dot.c
 * fills a stage of shared memory, and what it makes of one.
 *
 * In: a kernel whose tile is not one of tensor cores. Out: text. In shared memory lines lie across
 * k. An array whose neighbours lie so comes as it is, 16 bytes at a time, and no thread waits; one
 * whose neighbours lie along k, four of them at a time, and any other operand, element by element
 * by the kernel's own code, comes into registers before the products of a step and is put in
 * place after them. A thread has pieces of four rows by four columns; what it multiplies by the
 * next element of k is read while it multiplies by this one. Where a step is all of k, rows whose
 * neighbours lie along k come as they are, too, and their lines in shared memory are along k. */
#include "codegen/cuda/cuda_dot.h"
#include "ir/plant.h"

enum { QUAD = 4 };

static unsigned each_of(const fc_dot_side *x) {
    return x->reads == FC_CUDA_BY_ONE ? 1 : QUAD;
}

/* Accesses of a step, by all threads; by one, which may be more than there are. */
static unsigned all_loads(const fc_dot *d, const fc_dot_side *x) {
    return x->side * d->tile->depth / each_of(x);
}
static unsigned loads_of(const fc_dot *d, const fc_dot_side *x) {
    const unsigned all = all_loads(d, x), threads = fc_cuda_tile_threads(d->tile);
    return all < threads ? 1 : all / threads;
}
/* Of a line in memory; how many lines a turn of all threads is below the one before. */
static unsigned groups_of(const fc_dot *d, const fc_dot_side *x) {
    return (x->by_k ? d->tile->depth : x->side) / each_of(x);
}
static unsigned turn_of(const fc_dot *d, const fc_dot_side *x) {
    return fc_cuda_tile_threads(d->tile) / groups_of(d, x);
}

static bool comes_by_itself(const fc_dot_side *x) {
    return x->reads == FC_CUDA_BY_PLACE || x->reads == FC_CUDA_AT_PLACE || x->along;
}
/* Whether a thread goes on from an address of its own from step to step. */
static bool goes_on(const fc_dot_side *x) {
    return x->reads != FC_CUDA_BY_ONE && !fc_cuda_is_at(x->reads);
}

static uint32_t array_of(const fc_dot *d, const fc_dot_side *x) {
    return (uint32_t)d->g->code.ins.at[x->value].imm;
}

void fc_chain_functions(const fc_dot *d) {
    fc_cuda_text *t = &d->g->t;
    const char *type = fc_cuda_type(d->t),
               *u = d->t == FUSEC_I32 ? "unsigned int" : "unsigned long long";
    fc_cuda_line(t, "typedef fc_vec<%s, %d, 16> quad;", type, QUAD);
    fc_cuda_line(t, "const auto dot_step = [](%s x, %s y, %s c) {", type, type, type);
    if (fc_is_float(d->t))
        fc_cuda_line(t, "return fma%s(x, y, c);", d->t == FUSEC_F32 ? "f" : "");
    else
        fc_cuda_line(t, "return (%s)((%s)x * (%s)y + (%s)c);", type, u, u, u);
    fc_cuda_line(t, "};");
}

/* ---- places of threads ----------------------------------------------------------------------- */

void fc_chain_places(const fc_dot *d) {
    fc_cuda_text *t = &d->g->t;
    fc_cuda_line(t, "const unsigned int down = thread / %u, across = thread %% %u;",
                 fc_cuda_piece_columns(d->tile), fc_cuda_piece_columns(d->tile));
    for (int s = 0; s < 2; s++) {
        const fc_dot_side *x = &d->x[s];
        const unsigned groups = groups_of(d, x);
        if (x->reads == FC_CUDA_BY_ONE) continue;
        fc_cuda_line(t, "const unsigned int %s_line = thread / %u;", x->name, groups);
        fc_cuda_line(t, "const unsigned int %s_in = thread %% %u * %d;", x->name, groups, QUAD);
    }
}

/* The address of a thread's first quad of an array. */
void fc_chain_begin_tile(const fc_dot *d) {
    fc_cuda_gen *g = d->g;
    fc_cuda_text *t = &g->t;
    fc_cuda_line(t, "ix todo = %s;", fc_dot_many(d));
    for (int s = 0; s < 2; s++) {
        const fc_dot_side *x = &d->x[s];
        const uint32_t a = array_of(d, x);
        fc_dot_begin_place(d, x, groups_of(d, x));
        if (!goes_on(x)) continue;
        fc_dot_slice(g, x->value);
        fc_cuda_line(t, "const %s *%s_from;", d->type, x->name);
        fc_dot_begin_first(d, x);
        fc_cuda_line(t, "%s_from = a%u + b%u;", x->name, (unsigned)g->k->accesses.at[a].buffer,
                     (unsigned)a);
        fc_cuda_line(t, "}");
    }
}

/* ---- a step of the operands ------------------------------------------------------------------ */

static void begin_loads(const fc_dot *d, const fc_dot_side *x) {
    fc_cuda_text *t = &d->g->t;
    if (all_loads(d, x) < fc_cuda_tile_threads(d->tile))
        fc_cuda_line(t, "if (thread < %u)", all_loads(d, x));
    else
        fc_cuda_line(t, "#pragma unroll");
    fc_cuda_line(t, "for (int u = 0; u < %u; u++) {", loads_of(d, x));
    if (x->reads == FC_CUDA_BY_ONE)
        fc_cuda_line(t, "const unsigned int %s = thread %% %u, %s = thread / %u + u * %u;",
                     x->by_k ? "deep" : "at", groups_of(d, x), x->by_k ? "at" : "deep",
                     groups_of(d, x), turn_of(d, x));
}

static void load_one(const fc_dot *d, const fc_dot_side *x) {
    fc_cuda_text *t = &d->g->t;
    fc_dot_slice(d->g, x->value);
    fc_dot_element(d, x, 1);
    fc_cuda_element(d->g);
    fc_cuda_indent(t);
    fc_str_printf(t->out, "%s[u] = depth < count ? (%s)", x->name, d->type);
    fc_cuda_operand(t, x->value);
    fc_str_printf(t->out, " : (%s)0;\n", d->type);
}

/* Four neighbours whose address is computed. */
static void load_window(const fc_dot *d, const fc_dot_side *x) {
    fc_cuda_text *t = &d->g->t;
    fc_cuda_line(t, "const unsigned int %s = %s_line + u * %u, %s = %s_in;",
                 x->by_k ? "at" : "deep", x->name, turn_of(d, x), x->by_k ? "deep" : "at", x->name);
    fc_dot_element(d, x, QUAD);
    fc_dot_find_window(d, x);
    fc_cuda_indent(t);
    if (comes_by_itself(x)) {
        fc_str_printf(t->out, "fc_bring(stage + %u + (%s_line + u * %u) * %u + %s_in, ", x->from,
                      x->name, turn_of(d, x), x->line, x->name);
        fc_dot_window_at(d, x);
        fc_str_add(t->out, ", ");
        fc_dot_window_there(d, x);
        fc_str_add(t->out, ");\n");
        return;
    }
    fc_str_printf(t->out, "%s[u] = ", x->name);
    fc_dot_window_there(d, x);
    fc_str_add(t->out, " ? *(const quad *)(");
    fc_dot_window_at(d, x);
    fc_str_add(t->out, ") : quad{};\n");
}

static void load_quad(const fc_dot *d, const fc_dot_side *x) {
    fc_cuda_text *t = &d->g->t;
    fc_cuda_indent(t);
    fc_str_printf(t->out, "const %s *const from = %s_from + u * %u * ", d->type, x->name,
                  turn_of(d, x));
    fc_dot_stride(d, x, array_of(d, x));
    fc_str_add(t->out, ";\n");
    fc_cuda_line(t,
                 x->by_k ? "const bool there = (ix)%s_in < todo && u * %u < %s_rest;"
                         : "const bool there = (ix)%s_line + u * %u < todo && 0 < %s_rest;",
                 x->name, turn_of(d, x), x->name);
    if (comes_by_itself(x))
        fc_cuda_line(t, "fc_bring(stage + %u + (%s_line + u * %u) * %u + %s_in, from, there);",
                     x->from, x->name, turn_of(d, x), x->line, x->name);
    else
        fc_cuda_line(t, "%s[u] = there ? *(const quad *)from : quad{};", x->name);
}

static void advance(const fc_dot *d, const fc_dot_side *x) {
    fc_cuda_text *t = &d->g->t;
    fc_cuda_indent(t);
    fc_str_printf(t->out, "%s_from += %u", x->name, d->tile->depth);
    if (!x->by_k) fc_str_add(t->out, " * "), fc_dot_stride(d, x, array_of(d, x));
    fc_str_add(t->out, ";\n");
}

void fc_chain_fill(const fc_dot *d) {
    fc_cuda_text *t = &d->g->t;
    for (int s = 0; s < 2; s++)
        if (!comes_by_itself(&d->x[s]))
            fc_cuda_line(t, "%s %s[%u];", each_of(&d->x[s]) > 1 ? "quad" : d->type, d->x[s].name,
                         loads_of(d, &d->x[s]));
    fc_cuda_line(t, "const bool more = step + 1 < steps;");
    fc_cuda_line(t, "%s *const stage = all + ((unsigned int)(step + 1) & %u) * %u;", d->type,
                 d->tile->stages - 1u, d->stage);
    fc_cuda_line(t, "if (more) {");
    for (int s = 0; s < 2; s++) {
        const fc_dot_side *x = &d->x[s];
        begin_loads(d, x);
        (goes_on(x) ? load_quad : x->reads == FC_CUDA_BY_ONE ? load_one : load_window)(d, x);
        fc_cuda_line(t, "}");
        if (goes_on(x)) advance(d, x);
    }
    fc_cuda_line(t, "todo -= %u;", d->tile->depth);
    if (fc_cuda_brings(d->g->cls)) fc_cuda_line(t, "fc_bring_set();");
    fc_cuda_line(t, "}");
    fc_cuda_line(t, "if (step >= 0) {");
}

/* What waits in registers, to shared memory. */
static void put(const fc_dot *d, const fc_dot_side *x) {
    fc_cuda_text *t = &d->g->t;
    begin_loads(d, x);
    if (x->reads == FC_CUDA_BY_ONE)
        fc_cuda_line(t, "stage[%u + deep * %u + at] = %s[u];", x->from, x->line, x->name);
    for (unsigned e = 0; e < QUAD && x->reads != FC_CUDA_BY_ONE; e++)
        fc_cuda_line(t, "stage[%u + (%s_in + %u) * %u + %s_line + u * %u] = %s[u].e[%u];", x->from,
                     x->name, e, x->line, x->name, turn_of(d, x), x->name, e);
    fc_cuda_line(t, "}");
}

/* The first stage is filled in a step before the first one. */
void fc_chain_begin(const fc_dot *d) {
    fc_cuda_text *t = &d->g->t;
    fc_cuda_line(t, "#pragma unroll 1");
    fc_cuda_line(t, "for (ix step = -1; step < steps; step++) {");
    fc_cuda_line(t, "if (step >= 0) {");
    if (fc_cuda_brings(d->g->cls)) fc_cuda_line(t, "fc_brought<0>();");
    fc_cuda_line(t, "__syncthreads();");
    fc_cuda_line(t, "}");
}

void fc_chain_end(const fc_dot *d) {
    fc_cuda_text *t = &d->g->t;
    fc_cuda_line(t, "}");
    fc_cuda_line(t, "if (more) {");
    for (int s = 0; s < 2; s++)
        if (!comes_by_itself(&d->x[s])) put(d, &d->x[s]);
    fc_cuda_line(t, "}");
    fc_cuda_line(t, "}");
}

/* ---- products -------------------------------------------------------------------------------- */

/* What a thread multiplies at one element of k. */
static unsigned quads_of(const fc_dot *d, int s) {
    return s ? d->tile->wide / QUAD : d->tile->high;
}

static void take(const fc_dot *d, int s, const char *slot, const char *q) {
    const fc_dot_side *x = &d->x[s];
    const unsigned apart = s ? QUAD * fc_cuda_piece_columns(d->tile) : fc_cuda_piece_rows(d->tile);
    for (unsigned h = 0; h < quads_of(d, s); h++)
        fc_cuda_line(&d->g->t, "of_%s[%s][%u] = *(const quad *)(now + %u + (%s) * %u + %s * %d);",
                     x->name, slot, h, x->from + h * apart, q, x->line, s ? "across" : "down",
                     QUAD);
}

/* The results of a thread in the order of their products: row by row, every other one backwards. An
 * fma has a cycle for itself only if the one before it has one of its operands, too, and what else
 * it reads lies in different banks of registers. */
static unsigned row_of(const fc_dot *d, unsigned n) {
    return n / d->tile->wide % (QUAD * d->tile->high);
}
static unsigned column_of(const fc_dot *d, unsigned n) {
    const unsigned wide = d->tile->wide;
    return n / wide % 2 ? wide - 1 - n % wide : n % wide;
}

/* What a thread multiplies by the next element of k is read while it multiplies by this one. */
static void products_across(const fc_dot *d) {
    fc_cuda_text *t = &d->g->t;
    const unsigned wide = d->tile->wide, depth = d->tile->depth;
    fc_cuda_line(t, "quad of_x[2][%u], of_y[2][%u];", quads_of(d, 0), quads_of(d, 1));
    for (int s = 0; s < 2; s++) take(d, s, "0", "0");
    fc_cuda_line(t, "#pragma unroll");
    fc_cuda_line(t, "for (int q = 0; q < %u; q++) {", depth);
    fc_cuda_line(t, "if (q + 1 < %u) {", depth);
    for (int s = 0; s < 2; s++) take(d, s, "(q + 1) & 1", "q + 1");
    fc_cuda_line(t, "}");
    for (unsigned n = 0; n < QUAD * d->tile->high * wide; n++) {
        const unsigned i = row_of(d, n), j = column_of(d, n);
        fc_cuda_line(t, "c%u = dot_step(of_x[q & 1][%u].e[%u], of_y[q & 1][%u].e[%u], c%u);",
                     i * wide + j, i / QUAD, i % QUAD, j / QUAD, j % QUAD, i * wide + j);
    }
    fc_cuda_line(t, "}");
}

/* Rows whose elements lie along k come four of k at a time. */
static void products_along(const fc_dot *d) {
    fc_cuda_text *t = &d->g->t;
    const fc_dot_side *x = &d->x[0];
    const unsigned wide = d->tile->wide, rows = QUAD * d->tile->high;
    fc_cuda_line(t, "#pragma unroll 1");
    fc_cuda_line(t, "for (int q = 0; q < %u; q += %d) {", d->tile->depth, QUAD);
    fc_cuda_line(t, "quad of_x[%u], of_y[%d][%u];", rows, QUAD, quads_of(d, 1));
    for (unsigned i = 0; i < rows; i++)
        fc_cuda_line(t, "of_x[%u] = *(const quad *)(now + (down * %d + %u) * %u + q);", i, QUAD,
                     i / QUAD * fc_cuda_piece_rows(d->tile) + i % QUAD, x->line);
    static const char *const each[QUAD][2] = {
        {"0", "q"}, {"1", "q + 1"}, {"2", "q + 2"}, {"3", "q + 3"}};
    for (unsigned e = 0; e < QUAD; e++) take(d, 1, each[e][0], each[e][1]);
    for (unsigned n = 0; n < QUAD * rows * wide; n++) {
        const unsigned e = n / (rows * wide), i = row_of(d, n), j = column_of(d, n);
        fc_cuda_line(t, "c%u = dot_step(of_x[%u].e[%u], of_y[%u][%u].e[%u], c%u);", i * wide + j, i,
                     e, e, j / QUAD, j % QUAD, i * wide + j);
    }
    fc_cuda_line(t, "}");
}

void fc_chain_products(const fc_dot *d) {
    fc_cuda_line(&d->g->t, "const %s *const now = all + ((unsigned int)step + %d & %u) * %u;",
                 d->type, FC_PLANT(dot_stage, 1, 0), d->tile->stages - 1u, d->stage);
    (d->x[0].along ? products_along : products_across)(d);
}
