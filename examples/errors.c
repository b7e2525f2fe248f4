/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* errors.c - what a mistake looks like. Building does not stop at it: the first error stays with
 * the graph, with its cause in words, and whoever asks for a result gets it. */
#include <fusec/fusec.h>

#include <stdio.h>
#include <string.h>

int main(void) {
    static float a[3 * 4], b[3 * 5];
    int64_t left[2] = {3, 4}, right[2] = {3, 5};
    float out[3 * 4];
    fusec_context *ctx = NULL;
    fusec_graph *g = NULL;
    if (fusec_context_new(NULL, &ctx) || fusec_graph_new(ctx, &g)) return 1;

    fusec_value x = fusec_array(g, FUSEC_F32, 2, left, a);
    fusec_value y = fusec_array(g, FUSEC_F32, 2, right, b);
    fusec_value z = fusec_exp(fusec_add(x, y)); /* the shapes do not fit */
    fusec_status s = fusec_read(z, out, sizeof out);
    printf("%s: %s\n", fusec_status_name(s), fusec_message(ctx));

    fusec_graph_reset(g); /* the error is forgotten with the values */
    x = fusec_array(g, FUSEC_F32, 2, left, a);
    fusec_status fine = fusec_read(fusec_exp(x), out, sizeof out);

    int told = s == FUSEC_SHAPE_MISMATCH && strstr(fusec_message(ctx), "f32[3, 5]") != NULL;
    fusec_graph_free(g);
    fusec_context_free(ctx);
    return told && !fine && out[0] == 1 ? 0 : 1;
}
