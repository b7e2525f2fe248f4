/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* softmax.c - sizes are arguments: one program, called with three shapes. What is compiled depends
 * on the kind of shape (how long rows are stored and read), not on each size. */
#include <fusec/fusec.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static fusec_value softmax(fusec_value x) {
    const int rows[1] = {-1};
    fusec_value e = fusec_exp(fusec_sub(x, fusec_max(x, 1, rows, 1)));
    return fusec_div(e, fusec_sum(e, 1, rows, 1));
}

/* Every row sums to 1, and its last element is the largest. */
static int check(const float *p, int64_t m, int64_t n) {
    for (int64_t r = 0; r < m; r++) {
        double sum = 0;
        for (int64_t i = 0; i < n; i++) sum += p[r * n + i];
        if (fabs(sum - 1) > 1e-5 || p[r * n + n - 1] < p[r * n]) return 0;
    }
    return 1;
}

int main(void) {
    static const int64_t shapes[3][2] = {{4, 1000}, {30, 1200}, {500, 1111}};
    fusec_context *ctx = NULL;
    fusec_graph *g = NULL;
    fusec_program *p = NULL;
    int good = 0;
    if (fusec_context_new(NULL, &ctx) || fusec_graph_new(ctx, &g)) return 1;

    fusec_dim mn[2] = {fusec_sym(g, "m"), fusec_sym(g, "n")};
    fusec_output(g, "p", softmax(fusec_input(g, "x", FUSEC_F32, 2, mn)));
    if (fusec_compile(g, &p)) {
        fprintf(stderr, "%s\n", fusec_message(ctx));
        return 1;
    }
    for (int k = 0; k < 3; k++) {
        int64_t count = shapes[k][0] * shapes[k][1];
        float *x = malloc((size_t)count * sizeof *x), *y = malloc((size_t)count * sizeof *y);
        for (int64_t i = 0; x && i < count; i++) x[i] = (float)(i % shapes[k][1]) * 0.01f;
        fusec_tensor in = {.data = x, .shape = shapes[k], .rank = 2, .dtype = FUSEC_F32},
                     out = {.data = y, .shape = shapes[k], .rank = 2, .dtype = FUSEC_F32};
        if (!x || !y || fusec_run(p, 1, &in, 1, &out))
            fprintf(stderr, "%s\n", fusec_message(ctx));
        else
            good += check(y, shapes[k][0], shapes[k][1]);
        free(x);
        free(y);
    }
    printf("%d of 3 shapes right, %d kernel, compiled %d time(s)\n", good, fusec_kernel_count(p),
           (int)fusec_compile_count(p));

    fusec_program_free(p);
    fusec_graph_free(g);
    fusec_context_free(ctx);
    return good == 3 ? 0 : 1;
}
