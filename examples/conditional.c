/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* conditional.c - a choice for each element: y = exp(sin(x)*cos(x)), then y > 0.5 ? y*2 : y/2. */
#include <fusec/fusec.h>

#include <math.h>
#include <stdio.h>

int main(void) {
    enum { N = 1000 };
    int64_t shape[1] = {N};
    float in[N], out[N];
    fusec_context *ctx = NULL;
    fusec_graph *g = NULL;
    if (fusec_context_new(NULL, &ctx) || fusec_graph_new(ctx, &g)) return 1;
    for (int i = 0; i < N; i++) in[i] = (float)i * 0.01f;

    fusec_value x = fusec_array(g, FUSEC_F32, 1, shape, in);
    fusec_value y = fusec_exp(fusec_mul(fusec_sin(x), fusec_cos(x)));
    fusec_value large = fusec_gt(y, fusec_num(0.5));
    fusec_value z = fusec_where(large, fusec_mul(y, fusec_num(2)), fusec_div(y, fusec_num(2)));
    if (fusec_read(z, out, sizeof out)) {
        fprintf(stderr, "%s\n", fusec_message(ctx));
        return 1;
    }

    int wrong = 0;
    for (int i = 0; i < N; i++) {
        double e = exp(sin(in[i]) * cos(in[i]));
        if (fabs(e - 0.5) > 1e-5) wrong += fabs(out[i] - (e > 0.5 ? e * 2 : e / 2)) > 1e-5;
    }
    printf("z[0] = %g, z[200] = %g, %d wrong\n", out[0], out[200], wrong);

    fusec_graph_free(g);
    fusec_context_free(ctx);
    return wrong ? 1 : 0;
}
