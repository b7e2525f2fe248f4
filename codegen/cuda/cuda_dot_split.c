/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_dot_split.c - a tile of results whose k several blocks share.
 *
 * In: a class with dot_parts. Each block of a tile takes a part of k: 2^j chunks from a multiple of
 * as many on, a subtree of the order of codegen/nest.h, so that bits do not depend on the split.
 * Out: the text of what becomes of its sums. They go to the workspace, in the places that results
 * have in shared memory, and the block that is the last to do so joins the parts of all, in pairs
 * of neighbours, and goes on to results. A part that is missing up to the next power of two is
 * zero: that changes at most the sign of a zero, and a result has none (docs/semantics.md). */
#include "codegen/cuda/cuda_dot.h"
#include "ir/plant.h"

enum { AT_ONCE = 16 }; /* accesses of a thread that are on their way when it joins parts */

static unsigned each_of(const fc_dot *d) { /* results that a thread moves at once */
    return (d->g->cls->cuda.dot_parts > 8 ? 8u : 16u) / fc_dtypes[d->t].bytes;
}

/* Before the levels of blocks lie the partials, part by part of tile by tile. */
void fc_dot_split_sizes(const fc_dot *d) {
    fc_cuda_gen *g = d->g;
    fc_cuda_text *t = &g->t;
    const char *type = fc_cuda_type(d->t);
    fc_cuda_line(t, "const ix parts = (ix)p.w[%u], span = (ix)p.w[%u];", g->l.extra + FC_PB_SPANS,
                 g->l.extra + FC_PB_SPAN);
    fc_cuda_line(t, "const ix tiles = fc_quotient(rows, down_size * columns) * high * wide;");
    fc_cuda_line(t, "int deep_levels = 0;");
    fc_cuda_line(t, "while ((ix)%u << deep_levels < span) deep_levels++;",
                 fc_cuda_tile_chunk(d->tile));
    fc_cuda_line(t, "typedef fc_vec<%s, %u, %u> some;", type, each_of(d),
                 each_of(d) * fc_dtypes[d->t].bytes);
    fc_cuda_line(t,
                 "%s *const levels = (%s *)p.w[%u] + (long long)tiles * parts * %u + (long "
                 "long)blockIdx.x * deep_levels * %u + thread;",
                 type, type, g->l.extra + FC_PB_WORKSPACE, fc_cuda_tile_places(d->tile),
                 fc_cuda_tile_accumulators(d->tile) * fc_cuda_tile_threads(d->tile));
}

/* Of item `number`. */
void fc_dot_split_part(const fc_dot *d) {
    fc_cuda_text *t = &d->g->t;
    fc_cuda_line(t, "const ix tile = fc_quotient(number, parts);");
    fc_cuda_line(t, "const ix begin = (number - tile * parts) * span;");
    fc_cuda_line(t, "const ix many = count - begin < span ? count - begin : span;");
    fc_cuda_line(t, "const ix steps = (many + %u) / %u;", d->tile->depth - 1u, d->tile->depth);
}

/* Appends the address of the results of a pass of a part. */
static void partial(const fc_dot *d, const char *part) {
    fc_cuda_gen *g = d->g;
    fc_str_printf(g->t.out, "((%s *)p.w[%u] + (long long)(%s) * %u + pass * %u)",
                  fc_cuda_type(d->t), g->l.extra + FC_PB_WORKSPACE, part,
                  fc_cuda_tile_places(d->tile), fc_dot_of_pass(d));
}

/* A loop over what a thread moves of a pass. */
static void begin_some(const fc_dot *d) {
    fc_cuda_text *t = &d->g->t;
    const unsigned all = fc_dot_of_pass(d) / each_of(d), threads = fc_cuda_tile_threads(d->tile);
    if (d->tile->tensor) { /* lines are longer than what is in them */
        fc_cuda_line(t, "for (unsigned int e = thread; e < %u; e += %u) {", all, threads);
        return;
    }
    fc_cuda_line(t, "#pragma unroll %u", AT_ONCE / d->g->cls->cuda.dot_parts);
    fc_cuda_line(t, "for (unsigned int v = 0; v < %u; v++) {", all / threads);
    fc_cuda_line(t, "const unsigned int e = v * %u + thread;", threads);
}

/* Results of chains lie in registers as they do in memory. */
static void put_chains(const fc_dot *d) {
    fc_cuda_gen *g = d->g;
    fc_cuda_text *t = &g->t;
    const unsigned n = fc_cuda_tile_accumulators(d->tile), of_pass = n / d->tile->high;
    fc_cuda_line(
        t, "%s *const mine = (%s *)p.w[%u] + (long long)number * %u + down * %u + across * 4;",
        fc_cuda_type(d->t), fc_cuda_type(d->t), g->l.extra + FC_PB_WORKSPACE,
        fc_cuda_tile_places(d->tile), 4 * fc_cuda_tile_turned(d->tile));
    for (unsigned c = 0; c < n; c += 4)
        fc_cuda_line(t, "*(quad *)(mine + %u) = quad{{c%u, c%u, c%u, c%u}};",
                     c / of_pass * fc_dot_of_pass(d) + fc_dot_place(d, c % of_pass) - 1, c + 1, c,
                     c + 3, c + 2);
}

void fc_dot_split_put(const fc_dot *d) {
    fc_cuda_text *t = &d->g->t;
    if (!d->tile->tensor) {
        put_chains(d);
        return;
    }
    fc_dot_begin_pass(d);
    fc_dot_turn(d);
    begin_some(d);
    fc_cuda_indent(t);
    fc_str_add(t->out, "((some *)");
    partial(d, "number");
    fc_str_add(t->out, ")[e] = ((const some *)turned)[e];\n");
    fc_cuda_line(t, "}");
    fc_cuda_line(t, "}");
}

void fc_dot_split_wait(const fc_dot *d) {
    fc_cuda_gen *g = d->g;
    fc_cuda_text *t = &g->t;
    fc_cuda_line(t, "__shared__ bool last;");
    fc_cuda_line(t, "__threadfence();");
    fc_cuda_line(t, "__syncthreads();");
    fc_cuda_line(t, "if (thread == 0) {");
    fc_cuda_line(t, "unsigned int *const ticket = (unsigned int *)p.w[%u] + tile;",
                 g->l.extra + FC_PB_TICKETS);
    fc_cuda_line(t, "last = atomicAdd(ticket, 1u) == (unsigned int)parts - %d;",
                 FC_PLANT(dot_early, 2, 1));
    fc_cuda_line(t, "if (last) *ticket = 0;");
    fc_cuda_line(t, "}");
    fc_cuda_line(t, "__syncthreads();");
    fc_cuda_line(t, "if (!last) continue;");
    fc_cuda_line(t, "__threadfence();");
}

static void join_pair(const fc_dot *d, unsigned a, unsigned b) {
    for (unsigned e = 0; e < each_of(d); e++)
        fc_cuda_line(&d->g->t, "x[%u].e[%u] = dot_join(x[%u].e[%u], x[%u].e[%u]);", a, e, a, e, b,
                     e);
}

void fc_dot_split_join(const fc_dot *d) {
    fc_cuda_text *t = &d->g->t;
    const unsigned parts = d->g->cls->cuda.dot_parts;
    begin_some(d);
    fc_cuda_line(t, "some x[%u];", parts);
    fc_cuda_line(t, "#pragma unroll");
    fc_cuda_line(t, "for (int u = 0; u < %u; u++)", parts);
    fc_cuda_indent(t);
    fc_str_add(t->out, "    x[u] = u < parts ? ((const some *)");
    partial(d, "tile * parts + u");
    fc_str_add(t->out, ")[e] : some{};\n");
    for (unsigned u = 1; FC_PLANTED(dot_order) && u < parts; u++) join_pair(d, 0, u);
    for (unsigned apart = 1; !FC_PLANTED(dot_order) && apart < parts; apart *= 2)
        for (unsigned u = 0; u < parts; u += 2 * apart) join_pair(d, u, u + apart);
    fc_cuda_line(t, "((some *)turned)[e] = x[0];");
    fc_cuda_line(t, "}");
    fc_cuda_line(t, "__syncthreads();");
}
