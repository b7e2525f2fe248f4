/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gradient_box.c - see gradient_box.h. */
#include "tests/support/gradient_box.h"

#include <math.h>
#include <stdio.h>

void gx_init(gx *x) {
    memset(x, 0, sizeof *x);
    fc_graph_init(&x->g, &fc_libc_alloc, NULL);
    x->g.default_float = FUSEC_F64;
}

void gx_free(gx *x) {
    if (x->ran) fc_oracle_free(&x->o);
    fc_graph_free(&x->g);
}

static double from_seed(uint64_t seed, uint64_t i) {
    const uint64_t h = fc_mix(fc_mix(seed, i), 0x6772616469656e74u);
    return (double)(h >> 11) * 0x1p-51 - 2;
}

fc_node gx_in(gx *x, int64_t a, int64_t b, int64_t c, const double *data, uint64_t seed) {
    const int64_t n[3] = {a, b, c};
    fc_dim shape[3];
    char name[16];
    uint32_t rank = 0;
    int64_t count = 1;
    for (; rank < 3 && n[rank]; rank++) {
        shape[rank] = fc_dim_const(&x->g.dims, n[rank]);
        count *= n[rank];
    }
    snprintf(name, sizeof name, "x%d", x->n);
    for (int64_t i = 0; i < count; i++)
        x->data[x->n][i] = data ? data[i] : from_seed(seed, (uint64_t)i);
    x->n++;
    return fc_build_input(&x->g, name, FUSEC_F64, rank, shape);
}

void gx_run(gx *x) {
    const void *data[GX_INPUTS];
    FC_ASSERT_EQ_I64(x->g.error.code, 0);
    for (int i = 0; i < x->n; i++) data[i] = x->data[i];
    if (x->ran) fc_oracle_free(&x->o);
    fc_oracle_run(&x->o, &x->g, NULL, data);
    x->ran = true;
}

double gx_at(const gx *x, fc_node n, int64_t i) {
    const fc_oval *v = &x->o.node[n].at[x->o.node[n].count == 1 ? 0 : i];
    if (v->r.exact) return v->r.lo;
    const double width = v->r.hi - v->r.lo, middle = v->r.lo + width / 2;
    return v->r.nan || !(width <= 1e-10 * (1 + fabs(middle))) ? NAN : middle;
}

int64_t gx_count(const gx *x, fc_node n) {
    return x->o.node[n].count;
}
