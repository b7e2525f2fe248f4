/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* add_square.c - (a + b)^2 over a million elements as a program: compiled once, called with the
 * caller's memory. */
#include <fusec/fusec.h>

#include <stdio.h>
#include <stdlib.h>

int main(void) {
    enum { N = 1000000 };
    float *a = malloc(N * sizeof *a), *b = malloc(N * sizeof *b), *c = malloc(N * sizeof *c);
    int64_t shape[1] = {N};
    fusec_context *ctx = NULL;
    fusec_graph *g = NULL;
    fusec_program *p = NULL;
    if (!a || !b || !c || fusec_context_new(NULL, &ctx) || fusec_graph_new(ctx, &g)) return 1;
    for (int i = 0; i < N; i++) a[i] = (float)(i % 100), b[i] = 1;

    fusec_dim n = fusec_sym(g, "n");
    fusec_value s =
        fusec_add(fusec_input(g, "a", FUSEC_F32, 1, &n), fusec_input(g, "b", FUSEC_F32, 1, &n));
    fusec_output(g, "c", fusec_mul(s, s));
    fusec_status status = fusec_compile(g, &p);
    fusec_graph_free(g); /* the program does not need it any more */

    fusec_tensor in[2] = {{.data = a, .shape = shape, .rank = 1, .dtype = FUSEC_F32},
                          {.data = b, .shape = shape, .rank = 1, .dtype = FUSEC_F32}};
    fusec_tensor out[1] = {{.data = c, .shape = shape, .rank = 1, .dtype = FUSEC_F32}};
    if (status || fusec_run(p, 2, in, 1, out)) {
        fprintf(stderr, "%s\n", fusec_message(ctx));
        return 1;
    }

    int wrong = 0;
    for (int i = 0; i < N; i++) wrong += c[i] != (float)((i % 100 + 1) * (i % 100 + 1));
    printf("c[9] = %g, %d kernel, %d wrong\n", c[9], fusec_kernel_count(p), wrong);

    fusec_program_free(p);
    fusec_context_free(ctx);
    free(a);
    free(b);
    free(c);
    return wrong ? 1 : 0;
}
