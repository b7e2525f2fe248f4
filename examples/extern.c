/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* extern.c - a scalar function of C inside a kernel: the map around it and the sum behind it are one
 * kernel with it. On a GPU its text is part of the kernel. */
#include <fusec/fusec.h>
#include <stdio.h>

/* Saturation of a photosynthesis curve: 0 below the compensation point. */
static float uptake(float light, float half) {
    return light > 0.1f ? light / (light + half) : 0;
}

int main(void) {
    enum { N = 1000 };
    static float light[N];
    const int64_t shape[1] = {N};
    const fusec_dtype dtypes[2] = {FUSEC_F32, FUSEC_F32};
    fusec_context *ctx = NULL;
    fusec_graph *g = NULL;
    for (int i = 0; i < N; i++) light[i] = (float)i / N;
    if (fusec_context_new(NULL, &ctx) || fusec_graph_new(ctx, &g)) {
        fprintf(stderr, "%s\n", fusec_message(ctx));
        return 1;
    }
    fusec_extern_desc d = FUSEC_EXTERN_DESC_INIT;
    d.name = "uptake";
    d.nargs = 2;
    d.dtypes = dtypes;
    d.result = FUSEC_F32;
    d.scalar = (void (*)(void))uptake;
    d.cuda = "__device__ float uptake(float light, float half) {\n"
             "    return light > 0.1f ? light / (light + half) : 0;\n"
             "}\n";

    fusec_value x = fusec_array(g, FUSEC_F32, 1, shape, light);
    fusec_value of[2] = {fusec_mul(x, fusec_num(2)), fusec_num(0.5)};
    fusec_value mean = fusec_mean(fusec_extern(g, &d, of), 0, NULL, 0);

    float out = 0;
    const int bad = fusec_read(mean, &out, sizeof out);
    if (bad)
        fprintf(stderr, "%s\n", fusec_message(ctx));
    else
        printf("mean uptake %.4f\n", (double)out);
    fusec_graph_free(g);
    fusec_context_free(ctx);
    return bad || out < 0.5f || out > 0.7f;
}
