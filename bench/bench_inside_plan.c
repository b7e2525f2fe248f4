/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* bench_inside_plan.c - what planning costs: graphs of several kinds and sizes through
 * fc_plan_build, best of many; the time of each pass below it.
 *
 *     bench_inside_plan [NODES [REPEATS [KIND]]] */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "passes/plan.h"

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static fc_node op(fc_graph *g, fc_op o, fc_node a, fc_node b) {
    return fc_build_op(g, o, a, b, FC_NONODE);
}

/* One long expression: most of it cut into kernels by the limit of operations. */
static void chain(fc_graph *g, fc_node x, int nodes) {
    fc_node y = x;
    for (int i = 0; i < nodes; i += 4)
        y = op(g, FC_OP_sin,
               op(g, FC_OP_add, op(g, FC_OP_mul, y, fc_build_number(g, FUSEC_F32, 1 + i)), x),
               FC_NONODE);
    fc_build_output(g, "y", y);
}

static void cheap_chain(fc_graph *g, fc_node x, int nodes) {
    fc_node y = x;
    for (int i = 0; i < nodes; i += 2) y = op(g, FC_OP_mul, op(g, FC_OP_add, y, x), y);
    fc_build_output(g, "y", y);
}

/* Softmax after softmax: reductions, broadcasts, several values a region. */
static void layers(fc_graph *g, fc_node x, int nodes) {
    const int64_t last = -1;
    fc_node y = x;
    while ((int)g->nodes.len < nodes) {
        fc_node e =
            op(g, FC_OP_exp, op(g, FC_OP_sub, y, fc_build_reduce(g, FC_OP_max, y, 1, &last, true)),
               FC_NONODE);
        y = op(g, FC_OP_div, e, fc_build_reduce(g, FC_OP_sum, e, 1, &last, true));
        y = op(g, FC_OP_add, y, x);
    }
    fc_build_output(g, "y", y);
}

/* Many results of a few operations each. */
static void wide(fc_graph *g, fc_node x, int nodes) {
    for (int i = 0; i < 200; i++) {
        char name[16];
        fc_node y = op(g, FC_OP_mul, x, fc_build_number(g, FUSEC_F32, i + 2));
        for (int k = 3; k < nodes / 200; k++)
            y = op(g, FC_OP_maximum, op(g, FC_OP_neg, y, FC_NONODE), x);
        snprintf(name, sizeof name, "y%d", i);
        fc_build_output(g, name, y);
    }
}

typedef void (*build_fn)(fc_graph *g, fc_node x, int nodes);

static int measure(const char *name, build_fn build, int nodes, int repeats) {
    fc_graph g;
    fc_limits limits = fc_default_limits;
    fc_error e = {0};
    limits.nodes = 1u << 30;
    fc_graph_init(&g, &fc_libc_alloc, &limits);
    fc_dim shape[2] = {fc_dim_named(&g.dims, "n"), fc_dim_named(&g.dims, "m")};
    build(&g, fc_build_input(&g, "x", FUSEC_F32, 2, shape), nodes);
    double best = 1e9;
    int64_t best_ns[FC_PASS_MAX] = {0};
    size_t kernels = 0;
    for (int i = 0; i < repeats; i++) {
        int64_t ns[FC_PASS_MAX] = {0};
        fc_pass_options o = {.pass_ns = ns};
        fc_plan *p;
        double start = now();
        if (fc_plan_build(&g, &o, &p, &e)) {
            fprintf(stderr, "%s: %s\n", name, e.message);
            return 1;
        }
        double seconds = now() - start;
        kernels = p->steps.len;
        fc_plan_free(p);
        if (seconds >= best) continue;
        best = seconds;
        memcpy(best_ns, ns, sizeof ns);
    }
    printf("%-14s %7zu %8zu %9.3f", name, g.nodes.len, kernels, 1e3 * best);
    for (uint32_t i = 0; i < fc_pass_count; i++) printf(" %9.3f", 1e-6 * (double)best_ns[i]);
    printf("\n");
    fc_graph_free(&g);
    return 0;
}

int main(int argc, char **argv) {
    int nodes = argc > 1 ? atoi(argv[1]) : 1000, repeats = argc > 2 ? atoi(argv[2]) : 50;
    if (nodes < 1 || repeats < 1) return 1;
    printf("%-14s %7s %8s %9s", "ms", "nodes", "kernels", "all");
    for (uint32_t i = 0; i < fc_pass_count; i++) printf(" %9s", fc_passes[i].name);
    printf("\n");
    static const struct {
        const char *name;
        build_fn build;
    } kinds[] = {{"chain", chain}, {"cheap", cheap_chain}, {"layers", layers}, {"wide", wide}};
    for (size_t i = 0; i < FC_COUNT(kinds); i++)
        if ((argc < 4 || !strcmp(argv[3], kinds[i].name)) &&
            measure(kinds[i].name, kinds[i].build, nodes, repeats))
            return 1;
    return 0;
}
