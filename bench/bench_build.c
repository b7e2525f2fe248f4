/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* bench_build.c - what a node costs: builds many of them through the public functions, several
 * times in the same graph, and prints the best time per call: a graph of the default limits and one
 * of a million nodes, where memory counts.
 *
 *     bench_build [NODES] */
#include <fusec/fusec.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef int (*build_fn)(fusec_value x, int nodes); /* gives the number of calls */

static int chain(fusec_value x, int nodes) {
    fusec_value y = x;
    for (int i = 0; i < nodes; i += 2) y = fusec_sin(fusec_add(y, x));
    return fusec_rank(y) == 1 ? nodes : 0;
}

static int with_numbers(fusec_value x, int nodes) {
    fusec_value y = x;
    for (int i = 0; i < nodes; i += 2) y = fusec_add(fusec_mul(y, fusec_num(2)), fusec_num(1));
    return fusec_rank(y) == 1 ? nodes : 0;
}

static int found_again(fusec_value x, int nodes) {
    fusec_value y = x;
    for (int i = 0; i < nodes; i += 2) y = fusec_sin(fusec_add(i % 64 ? y : x, x));
    return fusec_rank(y) == 1 ? nodes : 0;
}

static int broadcasts(fusec_value x,
                      int nodes) { /* every second operand gets a broadcast node as well */
    fusec_value y = fusec_expand_dims(x, 0), column = fusec_expand_dims(x, 1);
    for (int i = 0; i < nodes; i += 2) y = fusec_sin(fusec_mul(y, column));
    return fusec_rank(y) == 2 ? nodes : 0;
}

static double best_of(fusec_graph *g, build_fn build, int nodes) {
    double best = 1e9;
    for (int i = 0; i < 5; i++) {
        fusec_graph_reset(g);
        fusec_dim n = fusec_sym(g, "n");
        fusec_value x = fusec_input(g, "x", FUSEC_F32, 1, &n);
        double start = now();
        int calls = build(x, nodes);
        double seconds = now() - start;
        if (!calls) return 0;
        if (seconds / calls < best) best = seconds / calls;
    }
    return 1e9 * best;
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        build_fn build;
    } rows[] = {{"chain of new nodes", chain},
                {"numbers as operands", with_numbers},
                {"found again", found_again},
                {"broadcast operand", broadcasts}};
    int nodes = argc > 1 ? atoi(argv[1]) : 1000000;
    fusec_options o = FUSEC_OPTIONS_INIT;
    fusec_context *ctx = NULL;
    fusec_graph *g = NULL;
    o.max_nodes = 1u << 30;
    if (nodes < 1 || fusec_context_new(&o, &ctx) || fusec_graph_new(ctx, &g)) {
        fprintf(stderr, "%s\n", fusec_message(ctx));
        return 1;
    }
    printf("ns a call, nodes:       40000 %6d\n", nodes);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        printf("%-22s %6.1f %6.1f\n", rows[i].name, best_of(g, rows[i].build, 40000),
               best_of(g, rows[i].build, nodes));
    fusec_graph_free(g);
    fusec_context_free(ctx);
    return 0;
}
