/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* text.c - the language from C: a definition as a program, and an expression on values. */
#include <fusec/fusec.h>

#include <math.h>
#include <stdio.h>

static const char source[] = "def normalise(x: f32[n, m]) -> f32[n, m] {\n"
                             "    y = x - mean(x, axis=1, keepdims=true)\n"
                             "    return y / sqrt(mean(y*y, axis=1, keepdims=true) + 1e-6)\n"
                             "}\n";

int main(void) {
    float x[6] = {1, 2, 3, 4, 6, 8}, y[6];
    int64_t shape[2] = {2, 3}, columns[2] = {1, 2};
    fusec_context *ctx = NULL;
    fusec_module *m = NULL;
    fusec_program *p = NULL;
    fusec_graph *g = NULL;
    char *plan = NULL;
    if (fusec_context_new(NULL, &ctx)) return 1;
    if (fusec_parse(ctx, "normalise.fuse", source, &m) ||
        fusec_module_compile(m, "normalise", 0, &p)) {
        fprintf(stderr, "%s\n", fusec_message(ctx)); /* with the line that is wrong */
        return 1;
    }
    /* the same numbers column by column: strides instead of a copy */
    float turned[6] = {1, 4, 2, 6, 3, 8};
    fusec_tensor in = {
        .data = turned, .shape = shape, .strides = columns, .rank = 2, .dtype = FUSEC_F32};
    fusec_tensor out = {.data = y, .shape = shape, .rank = 2, .dtype = FUSEC_F32};
    if (fusec_run(p, 1, &in, 1, &out)) return 1;
    printf("%.3f %.3f %.3f\n", y[0], y[1], y[2]);

    /* an expression on values of a graph */
    if (fusec_graph_new(ctx, &g)) return 1;
    const char *names[] = {"x", "a"};
    fusec_value values[] = {fusec_array(g, FUSEC_F32, 2, shape, x), fusec_num(0.5)};
    fusec_value v = fusec_expr(g, "x > 2 ? x : a*expm1(x)", 2, names, values);
    if (fusec_read(v, y, sizeof y)) {
        fprintf(stderr, "%s\n", fusec_message(ctx));
        return 1;
    }
    printf("%.3f %.3f %.3f\n", y[0], y[1], y[2]);

    /* what a call costs, to look at or to assert */
    if (fusec_explain(p, 1, &in, FUSEC_EXPLAIN_JSON, &plan)) return 1;
    printf("%d kernel\n%s", fusec_kernel_count(p), plan);
    fusec_text_free(ctx, plan);
    fusec_graph_free(g);
    fusec_program_free(p);
    fusec_module_free(m);
    fusec_context_free(ctx);
    return fabs(y[0] - 0.5 * expm1(1)) < 1e-5 && y[2] == 3 ? 0 : 1;
}
