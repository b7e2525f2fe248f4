/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* wave.c - sin(x*2 + 1) over a 4000 x 4000 array: one kernel, one read, one write. */
#include <fusec/fusec.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
    enum { N = 4000 };
    int64_t shape[2] = {N, N};
    size_t count = (size_t)N * N;
    float *in = malloc(count * sizeof *in), *out = malloc(count * sizeof *out);
    fusec_context *ctx = NULL;
    fusec_graph *g = NULL;
    if (!in || !out || fusec_context_new(NULL, &ctx) || fusec_graph_new(ctx, &g)) return 1;
    for (size_t i = 0; i < count; i++) in[i] = (float)(i % 1000) * 0.01f;

    fusec_value x = fusec_array(g, FUSEC_F32, 2, shape, in);
    fusec_value y = fusec_sin(fusec_add(fusec_mul(x, fusec_num(2)), fusec_num(1)));
    if (fusec_read(y, out, count * sizeof *out)) {
        fprintf(stderr, "%s\n", fusec_message(ctx));
        return 1;
    }

    double worst = 0;
    for (size_t i = 0; i < count; i++) worst = fmax(worst, fabs(out[i] - sin(in[i] * 2.0 + 1)));
    printf("sin(x*2 + 1): out[7] = %g, largest error %.1e\n", out[7], worst);

    fusec_graph_free(g);
    fusec_context_free(ctx);
    free(in);
    free(out);
    return worst < 1e-5 ? 0 : 1;
}
