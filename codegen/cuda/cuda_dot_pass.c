/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_dot_pass.c - contractions: the loop over passes, in each of which a row of a tile's pieces
 * goes through shared memory, from each thread's accumulators c0, c1, ... */
#include "codegen/cuda/cuda_dot.h"

/* Of bytes across k a piece has every other row, or column, of its sixteen. */
static bool alternate(const fc_dot *d, const fc_dot_side *x) {
    return d->tile->tensor && d->tile->bytes == 1 && !x->by_k;
}

/* Neighbours that are stored at once lie in neighbouring registers, and so do those of an operand
 * that are read at once. Of chains two neighbours change places: else half of all fma would have
 * two operands in one of the two banks of registers, which takes a cycle more. */
unsigned fc_dot_place(const fc_dot *d, unsigned c) {
    const unsigned line = fc_cuda_tile_turned(d->tile), wide = d->tile->wide,
                   below = (alternate(d, &d->x[0]) ? 1 : 8) * line;
    if (d->tile->tensor && alternate(d, &d->x[1]))
        return c / 8 * 16 + c % 4 / 2 * below + c % 2 * 2 + c % 8 / 4;
    if (d->tile->tensor) return c / 4 * 8 + c % 4 / 2 * below + c % 2;
    return c / wide * line + c % wide / 4 * 4 * fc_cuda_piece_columns(d->tile) + (c % 4 ^ 1);
}

/* Of tensor cores two neighbours at once. */
static void put_results(const fc_dot *d, unsigned pass) {
    fc_cuda_text *t = &d->g->t;
    const unsigned n = 4u * d->tile->wide, next = alternate(d, &d->x[1]) ? 4 : 1;
    for (unsigned c = 0; c < n; c++) {
        if (fc_dot_place(d, c) % 2 != 0 && d->tile->tensor) continue;
        if (d->tile->tensor)
            fc_cuda_line(t, "*(two *)(turned + mine + %u) = two{{c%u, c%u}};", fc_dot_place(d, c),
                         pass * n + c, pass * n + c + next);
        else
            fc_cuda_line(t, "turned[mine + %u] = c%u;", fc_dot_place(d, c), pass * n + c);
    }
}

void fc_dot_begin_pass(const fc_dot *d) {
    fc_cuda_text *t = &d->g->t;
    fc_cuda_line(t, "#pragma unroll 1");
    fc_cuda_line(t, "for (unsigned int pass = 0; pass < %u; pass++) {", d->tile->high);
    fc_cuda_line(t, "__syncthreads();");
}

void fc_dot_turn(const fc_dot *d) {
    fc_cuda_text *t = &d->g->t;
    const unsigned line = fc_cuda_tile_turned(d->tile);
    if (d->tile->tensor)
        fc_cuda_line(t, "typedef fc_vec<%s, 2, %u> two;", fc_cuda_type(d->t),
                     2 * fc_dtypes[d->t].bytes);
    if (d->tile->tensor)
        fc_cuda_line(t,
                     "const unsigned int mine = (down * 16 + lane / 4 * %d) * %u + across * %u + "
                     "lane %% 4 * %d;",
                     alternate(d, &d->x[0]) ? 2 : 1, line, d->tile->wide * 8u,
                     alternate(d, &d->x[1]) ? 4 : 2);
    else
        fc_cuda_line(t, "const unsigned int mine = down * 4 * %u + across * 4;", line);
    for (unsigned i = 0; i < d->tile->high; i++) {
        fc_cuda_line(t, "if (pass == %u && thread < %u) {", i, fc_cuda_tile_busy(d->tile));
        put_results(d, i);
        fc_cuda_line(t, "}");
    }
    fc_cuda_line(t, "__syncthreads();");
}
