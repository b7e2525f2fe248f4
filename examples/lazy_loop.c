/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* lazy_loop.c - Newton's method, written down again in every step: the expression is planned and
 * compiled in the first one and found again by its structure in all others. */
#include <fusec/fusec.h>

#include <math.h>
#include <stdio.h>

int main(void) {
    enum { N = 1000 };
    float a[N], x[N];
    int64_t shape[1] = {N};
    fusec_counters first = FUSEC_COUNTERS_INIT, last = FUSEC_COUNTERS_INIT;
    fusec_context *ctx = NULL;
    fusec_graph *g = NULL;
    if (fusec_context_new(NULL, &ctx) || fusec_graph_new(ctx, &g)) return 1;
    for (int i = 0; i < N; i++) a[i] = x[i] = (float)(i + 1);

    for (int step = 0; step < 20; step++) { /* x = (x + a/x) / 2, the square root of a */
        fusec_value va = fusec_array(g, FUSEC_F32, 1, shape, a);
        fusec_value vx = fusec_array(g, FUSEC_F32, 1, shape, x);
        fusec_value next = fusec_mul(fusec_add(vx, fusec_div(va, vx)), fusec_num(0.5));
        if (fusec_read(next, x, sizeof x)) {
            fprintf(stderr, "%s\n", fusec_message(ctx));
            return 1;
        }
        fusec_graph_reset(g); /* forgets the values, keeps what was compiled */
        fusec_get_counters(ctx, step ? &last : &first);
    }
    printf("sqrt(2) = %.6f, plans after one step %d, after twenty %d\n", x[1], (int)first.plans,
           (int)last.plans);

    fusec_graph_free(g);
    fusec_context_free(ctx);
    return fabs(x[1] - sqrt(2)) < 1e-6 && last.plans == 1 && last.compiles == first.compiles ? 0
                                                                                             : 1;
}
