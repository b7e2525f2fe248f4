/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_dot_parts.c - how many blocks share the k of a tile of a contraction, and what its tiles
 * take.
 *
 * In: a tile, how many there are, the elements of k. Out: the span of a block, which is a subtree
 * of the order of codegen/nest.h: 2^j chunks. Costs are products of the busiest SM, weighed by what
 * one of this tile costs: an SM with fewer blocks than it has room for does not keep its pipes
 * busy, and a part is written and read again, which takes as long as PART more of k. Before the
 * first product and behind the last one a block waits, as long as START of k take, if no other
 * block has the SM meanwhile. */
#include "codegen/cuda/schedule/cuda_schedule.h"

enum { MOST_PARTS = 16, PART = 64, START = 64 };

/* Of a block by itself, in quarters of its share of a full SM; a group has as many steps under way
 * as there is room for. */
static double rounds_of(const fc_machine *m, const fc_cuda_tile *t, int64_t items) {
    const double rounds = (double)fc_ceil_div(items, m->sm_count),
                 alone = t->group ? 0 : 3.0 * t->blocks;
    return 4 * rounds > alone ? 4 * rounds : alone;
}

static double cost_of(const fc_machine *m, const fc_cuda_tile *t, int64_t tiles, int64_t count,
                      int64_t span) {
    const int64_t parts = fc_ceil_div(count, span);
    const double deep = (double)(span < count ? span + PART : count) + START / t->blocks;
    return rounds_of(m, t, tiles * parts) * fc_cuda_tile_results(t) * deep;
}

int64_t fc_cuda_dot_span(const fc_machine *m, const fc_cuda_tile *t, int64_t tiles, int64_t count) {
    const int64_t together = (int64_t)m->sm_count * t->blocks, chunk = fc_cuda_tile_chunk(t);
    int64_t span = chunk;
    while (span < count) span *= 2;
    int64_t best = span;
    for (; span >= chunk; span /= 2) {
        const int64_t parts = fc_ceil_div(count, span);
        if (parts > 1 && (parts > MOST_PARTS || tiles > together / parts)) break;
        if (cost_of(m, t, tiles, count, span) < cost_of(m, t, tiles, count, best)) best = span;
    }
    return best;
}

double fc_cuda_dot_cost(const fc_machine *m, const fc_cuda_tile *t, int64_t tiles, int64_t count) {
    return t->cost * cost_of(m, t, tiles, count, fc_cuda_dot_span(m, t, tiles, count));
}
