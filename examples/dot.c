/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* dot.c - the dot product of two vectors and the matrix-vector product: multiply, then sum over an
 * axis. The products are never stored. */
#include <fusec/fusec.h>

#include <math.h>
#include <stdio.h>

int main(void) {
    enum { ROWS = 100, N = 1000 };
    static float a[ROWS][N], v[N], product[ROWS];
    float dot;
    int64_t matrix[2] = {ROWS, N};
    const int last[1] = {-1};
    fusec_context *ctx = NULL;
    fusec_graph *g = NULL;
    if (fusec_context_new(NULL, &ctx) || fusec_graph_new(ctx, &g)) return 1;
    for (int i = 0; i < N; i++) v[i] = (float)i * 0.001f;
    for (int r = 0; r < ROWS; r++)
        for (int i = 0; i < N; i++) a[r][i] = (float)((r + i) % 7) - 3;

    fusec_value x = fusec_array(g, FUSEC_F32, 1, &matrix[1], v);
    fusec_value m = fusec_array(g, FUSEC_F32, 2, matrix, a);
    fusec_value both[2];
    both[0] = fusec_sum(fusec_mul(x, x), 0, NULL, 0); /* all axes */
    both[1] = fusec_sum(fusec_mul(m, x), 1, last, 0); /* the last axis */
    if (fusec_eval(both, 2) || fusec_read(both[0], &dot, sizeof dot) ||
        fusec_read(both[1], product, sizeof product)) {
        fprintf(stderr, "%s\n", fusec_message(ctx));
        return 1;
    }

    double want = 0, row = 0;
    for (int i = 0; i < N; i++) want += (double)v[i] * v[i];
    for (int i = 0; i < N; i++) row += (double)a[5][i] * v[i];
    printf("x.x = %g, (A x)[5] = %g\n", dot, product[5]);

    fusec_graph_free(g);
    fusec_context_free(ctx);
    return fabs(dot - want) < 1e-3 && fabs(product[5] - row) < 1e-3 ? 0 : 1;
}
