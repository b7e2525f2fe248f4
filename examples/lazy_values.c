/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* lazy_values.c - values that are held and dropped one by one, as a language with garbage
 * collection has them: power iteration, with a rate that changes at every step and one kernel for
 * all of them. */
#include <fusec/fusec.h>

#include <math.h>
#include <stdio.h>

enum { N = 4 };

static fusec_context *ctx;

/* An operation that gives its operands back. */
static fusec_lazy *apply(const char *name, fusec_lazy *a, fusec_lazy *b) {
    fusec_lazy *operands[2] = {a, b}, *result = NULL;
    if (fusec_lazy_op(ctx, fusec_op_find(name), b ? 2 : 1, operands, NULL, &result))
        fprintf(stderr, "%s\n", fusec_message(ctx));
    fusec_lazy_release(a);
    fusec_lazy_release(b);
    return result;
}

static void done(void *array) {
    printf("%s is not needed any more\n", (const char *)array);
}

int main(void) {
    double start[N] = {1, 2, 3, 4}, out[N] = {0};
    int64_t shape[1] = {N};
    fusec_lazy *x = NULL, *rate = NULL;
    if (fusec_context_new(NULL, &ctx)) return 1;

    fusec_tensor t = {.data = start, .shape = shape, .rank = 1, .dtype = FUSEC_F64};
    if (fusec_lazy_from(ctx, &t, done, "start", &x)) return 1; /* borrowed until done is called */
    for (int step = 1; step <= 50; step++) {                   /* x = x*rate + cos(x) */
        if (fusec_lazy_number(ctx, FUSEC_F64, 0.1 / (step + 2), &rate)) return 1;
        fusec_lazy_retain(x);
        x = apply("add", apply("mul", x, rate), apply("cos", x, NULL));
        if (!x || fusec_lazy_eval(&x, 1, NULL, NULL)) { /* one kernel; its operands are dropped */
            fprintf(stderr, "%s\n", fusec_message(ctx));
            return 1;
        }
    }
    if (fusec_lazy_read(x, out, sizeof out)) return 1;
    fusec_lazy_release(x);

    fusec_counters n = FUSEC_COUNTERS_INIT;
    fusec_get_counters(ctx, &n);
    printf("x[0] = %.6f after 50 steps, plans %d\n", out[0], (int)n.plans);
    fusec_context_free(ctx);
    return fabs(out[0] - cos(out[0])) < 0.01 && n.plans == 1 ? 0 : 1;
}
