/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* ragged_graph.c - see ragged_graph.h. */
#include "tests/support/ragged_graph.h"

#include "tests/support/gb.h"

static fc_node bound(fc_graph *g, const char *name, fc_dim n, fc_dim m, uint32_t rank) {
    const fc_dim one = fc_dim_const(&g->dims, 1), shape[] = {n, one, one};
    const fc_node x =
        fc_build_check(g, gbin(g, name, FUSEC_I32, 1, n, 0, 0), fc_dim_add(&g->dims, m, one));
    return fc_build_reshape(g, x, rank, shape);
}

void fc_ragged_build(const fc_ragged_graph *r, fc_graph *g, int64_t *syms) {
    const fc_dim n = gbd(g, "n"), m = gbd(g, "m"), d = gbd(g, "d");
    const bool columns = r->form == FC_RAGGED_COLUMNS;
    syms[0] = r->rows;
    syms[1] = r->elements;
    syms[2] = r->columns;
    const fc_node lo = bound(g, "lo", n, m, 2), hi = bound(g, "hi", n, m, 2);
    const fc_node v = gbin(g, "v", r->t, 1, m, 0, 0);
    const fc_node p = gb2(g, FC_OP_add, lo, fc_build_iota_along(g, m, 2, 1));
    fc_node x = fc_build_gather(g, v, p, 0, false), length = gb2(g, FC_OP_sub, hi, lo);
    if (r->form == FC_RAGGED_PRODUCT || columns) {
        const fc_node k = fc_build_gather(g, gbin(g, "k", FUSEC_I32, 1, m, 0, 0), p, 0, false);
        const fc_node w = columns ? gbin(g, "w", r->t, 2, m, d, 0) : v;
        const fc_node y = fc_build_gather(g, w, fc_build_check(g, k, m), 0, false);
        if (columns) {
            const fc_dim one = fc_dim_const(&g->dims, 1), shape[] = {n, m, one};
            x = fc_build_reshape(g, x, 3, shape);
            length = fc_build_reshape(g, length, 3, (const fc_dim[]){n, one, one});
        }
        x = gb2(g, FC_OP_mul, x, y);
        if (columns) x = fc_build_broadcast(g, x, 3, (const fc_dim[]){n, m, d});
    }
    if (r->form == FC_RAGGED_STAGES) {
        const fc_node top = fc_build_ragged(g, FC_OP_max, x, 1, length);
        const fc_node column =
            fc_build_reshape(g, top, 2, (fc_dim[]){n, fc_dim_const(&g->dims, 1)});
        x = gb2(g, FC_OP_sub, x, column);
        fc_build_output(g, "s", fc_build_ragged(g, FC_OP_sum, x, 1, length));
    }
    fc_build_output(g, "y", fc_build_ragged(g, r->op, x, 1, length));
}

void fc_ragged_fill(const fc_ragged_graph *r, uint64_t seed, fc_arrays *in) {
    fc_rng rng = {seed};
    int32_t *lo = in->t[0].data, *hi = in->t[1].data;
    const int64_t m = r->elements;
    for (int64_t i = 0; i < r->rows; i++) {
        const int64_t most = i % 7 == 3 ? m : 40 < m ? 40 : m;
        int64_t length = (int64_t)fc_below(&rng, (uint64_t)most + 1);
        if (r->kind == FC_RAGGED_ONE) length = i == r->rows / 2 ? m : 0;
        if (r->kind == FC_RAGGED_LONG) length = m - (i % 3 < m ? i % 3 : m);
        if (r->kind == FC_RAGGED_EMPTY) length = 0;
        lo[i] = (int32_t)fc_below(&rng, (uint64_t)(m - length) + 1);
        hi[i] = lo[i] + (int32_t)length;
        if (r->kind == FC_RAGGED_EMPTY) hi[i] = i % 2 ? lo[i] : lo[i] / 2;
    }
    for (uint32_t a = 2; a < in->n; a++)
        for (int64_t i = 0; i < fc_array_count(&in->t[a]); i++) {
            const bool index = a == 3;
            fc_oracle_store(in->t[a].dtype, in->t[a].data, i,
                            index ? fc_below(&rng, (uint64_t)m)
                                  : fc_random_value(in->t[a].dtype, &rng, true));
        }
}
