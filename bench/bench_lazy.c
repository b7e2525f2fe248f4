/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* bench_lazy.c - what values of no graph cost: building and evaluating, next to a graph that is
 * reset, and memory of a loop that holds one value.
 *
 *     bench_lazy [DEVICE] [STEPS]     interp (default), cpu, cuda; 1,000,000 steps */
#include <fusec/fusec.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { N = 16, ROUNDS = 200 };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void die(const char *what) {
    fprintf(stderr, "%s: %s\n", what, fusec_message(NULL));
    exit(1);
}

static fusec_lazy *op(fusec_context *c, int number, int n, fusec_lazy *a, fusec_lazy *b) {
    fusec_lazy *src[2] = {a, b}, *v;
    if (fusec_lazy_op(c, number, n, src, NULL, &v)) die("op");
    return v;
}

static fusec_lazy *array(fusec_context *c, const double *x) {
    const int64_t n = N;
    fusec_tensor t = {.data = (void *)(uintptr_t)x, .shape = &n, .rank = 1, .dtype = FUSEC_F64};
    fusec_lazy *v;
    if (fusec_lazy_from(c, &t, NULL, NULL, &v)) die("from");
    return v;
}

/* Nodes that simplify to nothing less: y = |y| + x, again and again. */
static double chain(fusec_context *c, const double *x, int nodes, double *build) {
    const int absolute = fusec_op_find("abs"), add = fusec_op_find("add");
    double best = 1e9;
    for (int r = 0; r < ROUNDS; r++) {
        fusec_lazy *a = array(c, x), *y = a;
        const double start = now();
        fusec_lazy_retain(y);
        for (int i = 0; i < nodes; i += 2) {
            fusec_lazy *z = op(c, absolute, 1, y, NULL);
            fusec_lazy_release(y);
            y = op(c, add, 2, z, a);
            fusec_lazy_release(z);
        }
        const double built = now();
        if (fusec_lazy_eval(&y, 1, NULL, NULL)) die("eval");
        fusec_lazy_release(y);
        const double t = now() - start;
        if (t < best) best = t, *build = built - start;
        fusec_lazy_release(a);
    }
    return best;
}

static double graph_chain(fusec_context *c, const double *x, int nodes) {
    const int64_t n = N;
    fusec_graph *g = NULL;
    double best = 1e9;
    if (fusec_graph_new(c, &g)) die("graph");
    for (int r = 0; r < ROUNDS; r++) {
        fusec_value a = fusec_array(g, FUSEC_F64, 1, &n, x), y = a;
        const double start = now();
        for (int i = 0; i < nodes; i += 2) y = fusec_add(fusec_abs(y), a);
        if (fusec_eval(&y, 1)) die("eval");
        const double t = now() - start;
        if (t < best) best = t;
        fusec_graph_reset(g);
    }
    fusec_graph_free(g);
    return best;
}

/* MiB of the process that are in memory. */
static double resident(void) {
    long pages = 0, all = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f && fscanf(f, "%ld %ld", &all, &pages) != 2) pages = 0;
    if (f) fclose(f);
    return (double)pages * 4 / 1024;
}

/* x = 0.5*x + k, evaluated at each step; one value is held. */
static void loop(fusec_context *c, const double *data, long steps) {
    const int mul = fusec_op_find("mul"), add = fusec_op_find("add");
    fusec_lazy *x = array(c, data), *half, *k;
    const double start = now();
    if (fusec_lazy_number(c, FUSEC_F64, 0.5, &half)) die("number");
    for (long i = 0; i < steps; i++) {
        if (fusec_lazy_number(c, FUSEC_F64, (double)i, &k)) die("number");
        fusec_lazy *y = op(c, mul, 2, x, half), *z = op(c, add, 2, y, k);
        fusec_lazy_release(x);
        fusec_lazy_release(y);
        fusec_lazy_release(k);
        x = z;
        if (fusec_lazy_eval(&x, 1, NULL, NULL)) die("eval");
        if (i == steps / 100 || i == steps - 1)
            printf("step %8ld: %.1f MiB, %.0f ns a step\n", i, resident(),
                   1e9 * (now() - start) / (double)(i + 1));
    }
    fusec_lazy_release(half);
    fusec_lazy_release(x);
}

int main(int argc, char **argv) {
    double x[N] = {1, 2, 3}, build[3], all[3];
    static const int nodes[3] = {10, 100, 400};
    fusec_options o = FUSEC_OPTIONS_INIT;
    fusec_context *c = NULL;
    o.device = argc > 1 ? argv[1] : "interp";
    o.tiers = FUSEC_TIERS_FULL;
    if (fusec_context_new(&o, &c)) die("context");
    for (int i = 0; i < 3; i++) {
        all[i] = chain(c, x, nodes[i], &build[i]);
        printf("%4d nodes: %8.2f us, of it building %.2f; a graph %.2f\n", nodes[i], 1e6 * all[i],
               1e6 * build[i], 1e6 * graph_chain(c, x, nodes[i]));
    }
    printf("a node: %.0f ns\n", 1e9 * (all[2] - all[0]) / (nodes[2] - nodes[0]));
    loop(c, x, argc > 2 ? atol(argv[2]) : 1000000);
    fusec_context_free(c);
    return 0;
}
