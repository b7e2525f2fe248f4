/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* saved.c - a graph that one process builds and saves, and another one loads and runs.
 *
 *     saved [FILE]     default: softmax.graph in the folder for temporary files */
#include <fusec/fusec.h>
#include <stdio.h>
#include <stdlib.h>

static int save(fusec_context *ctx, const char *path) {
    fusec_graph *g = NULL;
    const int last = -1;
    if (fusec_graph_new(ctx, &g)) return 1;
    const fusec_dim shape[2] = {fusec_sym(g, "n"), fusec_sym(g, "m")};
    fusec_value x = fusec_input(g, "x", FUSEC_F32, 2, shape);
    fusec_value e = fusec_exp(fusec_sub(x, fusec_max(x, 1, &last, 1)));
    fusec_output(g, "y", fusec_div(e, fusec_sum(e, 1, &last, 1)));

    int bad = 0;
    /* or FUSEC_TEXT: a program of the language */
    bad = bad || fusec_graph_save(g, path, FUSEC_BINARY);
    fusec_graph_free(g);
    return bad;
}

static int load_and_run(fusec_context *ctx, const char *path) {
    float x[6] = {1, 2, 3, 3, 3, 3}, y[6];
    const int64_t shape[2] = {2, 3};
    fusec_tensor in = {.data = x, .shape = shape, .rank = 2, .dtype = FUSEC_F32}, out = in;
    fusec_graph *g = NULL;
    fusec_program *p = NULL;
    int bad = 0;
    out.data = y;
    bad = bad || fusec_graph_load(ctx, path, &g) || fusec_compile(g, &p);
    bad = bad || fusec_run(p, 1, &in, 1, &out);
    for (int i = 0; !bad && i < 6; i++) printf("%.4f%c", y[i], i % 3 == 2 ? '\n' : ' ');
    fusec_program_free(p);
    fusec_graph_free(g);
    return bad;
}

int main(int argc, char **argv) {
    char path[1000];
    const char *folder = getenv("TMPDIR");
    fusec_context *ctx = NULL;
    snprintf(path, sizeof path, "%s/softmax.graph", folder && *folder ? folder : "/tmp");
    if (argc > 1) snprintf(path, sizeof path, "%s", argv[1]);
    const int bad = fusec_context_new(NULL, &ctx) || save(ctx, path) || load_and_run(ctx, path);
    if (bad) fprintf(stderr, "%s\n", fusec_message(ctx));
    if (argc < 2) remove(path);
    fusec_context_free(ctx);
    return bad;
}
