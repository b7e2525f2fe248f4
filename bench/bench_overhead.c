/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* bench_overhead.c - what fusec costs besides the kernels: calls, planning, compiling, the first
 * result.
 *
 *     bench_overhead calls|plan|lazy|build|new|ten|first [--device cuda|cpu|interp] [--cache DIR]
 *
 * One line of JSON. On a GPU the cost of launching a kernel that does nothing is measured in the
 * same process through the driver, beside what is compared with it. Without --cache there is no
 * disk cache. */
#include "bench/support/bench.h"

#include <stdlib.h>
#include <string.h>

enum { SMALL = 1024, CALLS = 200, ROUNDS = 41, TEN = 10 };

typedef struct calls {
    fusec_context *ctx;
    bench_gpu *gpu; /* NULL on a CPU */
    const char *sep;
} calls;

static void put(calls *c, const char *name, double v) {
    printf("%s\"%s\":%.6g", c->sep, name, v);
    c->sep = ",";
}

static void settle(calls *c) {
    if (c->gpu) bench_gpu_sync(c->gpu);
}

/* ---- expressions ----------------------------------------------------------------------------- */

static fusec_value an_input(fusec_graph *g, int rank) {
    fusec_dim d[2] = {fusec_sym(g, "n")};
    if (rank > 1) d[1] = fusec_sym(g, "m"); /* every name is the length of an axis */
    return fusec_input(g, "x", FUSEC_F32, rank, d);
}

/* sin(x*2 + 1), then `more` further kernels that nothing may fuse; the numbers make it new. */
static fusec_value some_map(fusec_value x, int more, int variant) {
    fusec_value y = fusec_sin(fusec_add(fusec_mul(x, fusec_num(2)), fusec_num(1 + 0.5 * variant)));
    for (int i = 0; i < more; i++)
        y = fusec_sin(fusec_add(fusec_materialize(y), fusec_num(0.25 * (i + 1))));
    return y;
}

static fusec_value some_softmax(fusec_value x, int variant) {
    int last = -1;
    fusec_value s = fusec_mul(x, fusec_num(1 + 0.125 * variant));
    fusec_value e = fusec_exp(fusec_sub(s, fusec_max(s, 1, &last, 1)));
    return fusec_div(e, fusec_sum(e, 1, &last, 1));
}

static fusec_graph *new_graph(calls *c) {
    fusec_graph *g = NULL;
    bench_check(c->ctx, fusec_graph_new(c->ctx, &g), "graph");
    return g;
}

static fusec_program *compiled(calls *c, fusec_graph *g, fusec_value v, unsigned flags) {
    fusec_program *p = NULL;
    fusec_output(g, "out", v);
    bench_check(c->ctx, fusec_compile_with(g, flags, &p), "compile");
    fusec_graph_free(g);
    return p;
}

static fusec_program *map_program(calls *c, int kernels, unsigned flags) {
    fusec_graph *g = new_graph(c);
    return compiled(c, g, some_map(an_input(g, 1), kernels - 1, 0), flags);
}

/* ---- arrays ---------------------------------------------------------------------------------- */

typedef struct arrays {
    fusec_tensor in, out;
    int64_t shape[2];
} arrays;

static void make_arrays(calls *c, arrays *a, int rank, int64_t n, int64_t m) {
    void *p = NULL, *q = NULL;
    *a = (arrays){.shape = {n, m}};
    size_t bytes = bench_bytes(FUSEC_F32, rank, a->shape);
    bench_input in = {.dtype = FUSEC_F32, .rank = rank, .shape = {n, m}, .low = -1, .high = 1};
    bench_check(c->ctx, fusec_device_alloc(c->ctx, bytes, &p), "memory");
    bench_check(c->ctx, fusec_device_alloc(c->ctx, bytes, &q), "memory");
    bench_fill(c->ctx, &in, 1, p);
    a->in = (fusec_tensor){
        .data = p, .shape = a->shape, .rank = rank, .dtype = FUSEC_F32, .place = FUSEC_DEVICE};
    a->out = a->in;
    a->out.data = q;
}

static void free_arrays(calls *c, arrays *a) {
    fusec_device_free(c->ctx, a->in.data);
    fusec_device_free(c->ctx, a->out.data);
}

static void run(calls *c, fusec_program *p, const arrays *a) {
    bench_check(c->ctx,
                fusec_run_on(p, c->gpu ? bench_gpu_stream(c->gpu) : NULL, 1, &a->in, 1, &a->out),
                "run");
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* Host microseconds of a call, in bursts that never fill the queue: it takes 1024 launches, and a
 * host that gives them faster than the device takes them would wait. */
static double call_us(calls *c, fusec_program *p, const arrays *a, int kernels) {
    double t[ROUNDS];
    const int n = CALLS / kernels;
    for (int r = -2; r < ROUNDS; r++) {
        double start = bench_now();
        for (int i = 0; i < n; i++) run(c, p, a);
        double each = (bench_now() - start) / n;
        settle(c);
        if (r >= 0) t[r] = each;
    }
    return 1e6 * bench_stat_of(t, ROUNDS).median;
}

static double empty_us(calls *c) {
    double t[ROUNDS];
    for (int r = -2; r < ROUNDS; r++) {
        double start = bench_now();
        for (int i = 0; i < CALLS; i++) bench_gpu_empty(c->gpu);
        double each = (bench_now() - start) / CALLS;
        settle(c);
        if (r >= 0) t[r] = each;
    }
    return 1e6 * bench_stat_of(t, ROUNDS).median;
}

/* From the call to the result: with waiting for the device, as a caller who needs the
 * numbers does. */
static double wait_us(calls *c, fusec_program *p, const arrays *a) {
    double t[ROUNDS];
    for (int r = -2; r < ROUNDS; r++) {
        double start = bench_now();
        run(c, p, a);
        settle(c);
        if (r >= 0) t[r] = bench_now() - start;
    }
    return 1e6 * bench_stat_of(t, ROUNDS).median;
}

static void do_calls(calls *c) {
    arrays a;
    fusec_program *one = map_program(c, 1, 0), *two = map_program(c, 2, 0),
                  *ten = map_program(c, TEN, 0);
    make_arrays(c, &a, 1, SMALL, 1);
    double t1 = call_us(c, one, &a, 1), t2 = call_us(c, two, &a, 2), t10 = call_us(c, ten, &a, TEN);
    put(c, "one_kernel_us", t1);
    put(c, "two_kernels_us", t2);
    put(c, "ten_kernels_us", t10);
    put(c, "kernels_of_ten", fusec_kernel_count(ten));
    put(c, "further_kernel_us", (t10 - t1) / 9);
    put(c, "one_kernel_and_wait_us", wait_us(c, one, &a));
    if (c->gpu) {
        double launch = empty_us(c);
        put(c, "empty_launch_us", launch);
        put(c, "own_part_us", t1 - launch);
        put(c, "own_part_of_further_us", (t10 - t1) / 9 - launch);
    }
    free_arrays(c, &a);
    fusec_program_free(one);
    fusec_program_free(two);
    fusec_program_free(ten);
}

/* From the first launch to the end of the last, again and again: what a loop over them takes. */
static double throughput_us(calls *c, fusec_program *p, const arrays *a) {
    double t[ROUNDS];
    for (int r = -2; r < ROUNDS; r++) {
        double start = bench_now();
        for (int i = 0; i < CALLS; i++) run(c, p, a);
        settle(c);
        if (r >= 0) t[r] = (bench_now() - start) / CALLS;
    }
    return 1e6 * bench_stat_of(t, ROUNDS).median;
}

/* Ten small kernels, launched one by one, and replayed as one CUDA graph. */
static void do_ten(calls *c) {
    arrays a;
    fusec_program *ten = map_program(c, TEN, 0), *graph = map_program(c, TEN, FUSEC_PROGRAM_GRAPH);
    make_arrays(c, &a, 1, SMALL, 1);
    put(c, "ten_kernels_throughput_us", throughput_us(c, ten, &a));
    put(c, "ten_kernels_and_wait_us", wait_us(c, ten, &a));
    put(c, "ten_as_graph_us", call_us(c, graph, &a, TEN));
    put(c, "ten_as_graph_throughput_us", throughput_us(c, graph, &a));
    put(c, "ten_as_graph_and_wait_us", wait_us(c, graph, &a));
    free_arrays(c, &a);
    fusec_program_free(ten);
    fusec_program_free(graph);
}

/* ---- building, planning, evaluating again ---------------------------------------------------- */

/* Nodes that are one kernel and simplify to nothing less. */
static fusec_value long_chain(fusec_value x, int nodes) {
    fusec_value y = x;
    for (int i = 0; i < nodes; i += 2) y = fusec_add(fusec_abs(y), x);
    return y;
}

static void do_plan(calls *c) {
    double build[9], plan[9];
    for (int i = 0; i < 9; i++) {
        fusec_graph *g = new_graph(c);
        fusec_value x = an_input(g, 1);
        double start = bench_now();
        fusec_value y = long_chain(x, 1000);
        fusec_output(g, "out", y);
        double middle = bench_now();
        fusec_program *p = NULL;
        bench_check(c->ctx, fusec_compile(g, &p), "compile");
        plan[i] = bench_now() - middle;
        build[i] = middle - start;
        if (!i) put(c, "kernels", fusec_kernel_count(p));
        fusec_program_free(p);
        fusec_graph_free(g);
    }
    put(c, "plan_1000_nodes_ms", 1e3 * bench_stat_of(plan, 9).median);
    put(c, "build_1000_nodes_us", 1e6 * bench_stat_of(build, 9).median);
}

/* Builds `nodes` nodes on an array of the device and evaluates them; microseconds. */
static double lazy_once(calls *c, fusec_graph *g, const arrays *a, int nodes) {
    double start = bench_now();
    fusec_value y = long_chain(fusec_device_array(g, FUSEC_F32, 1, a->shape, a->in.data), nodes);
    bench_check(c->ctx, fusec_eval(&y, 1), "eval");
    double t = bench_now() - start;
    bench_check(c->ctx, fusec_synchronize(c->ctx), "wait");
    fusec_graph_reset(g);
    return 1e6 * t;
}

static void do_lazy(calls *c) {
    static const int sizes[] = {10, 100, 400};
    arrays a;
    double median[3];
    fusec_graph *g = new_graph(c);
    make_arrays(c, &a, 1, SMALL, 1);
    for (int k = 0; k < 3; k++) {
        char name[40];
        double t[ROUNDS];
        for (int r = -2; r < ROUNDS; r++) {
            double us = lazy_once(c, g, &a, sizes[k]);
            if (r >= 0) t[r] = us;
        }
        median[k] = bench_stat_of(t, ROUNDS).median;
        snprintf(name, sizeof name, "%d_nodes_us", sizes[k]);
        put(c, name, median[k]);
    }
    put(c, "ns_a_node", 1e3 * (median[2] - median[0]) / (sizes[2] - sizes[0]));
    fusec_graph_free(g);
    free_arrays(c, &a);
}

static void do_build(calls *c) {
    double t[ROUNDS];
    fusec_graph *g = new_graph(c);
    for (int r = -2; r < ROUNDS; r++) {
        fusec_graph_reset(g);
        fusec_value x = an_input(g, 1);
        double start = bench_now();
        fusec_value y = long_chain(x, 40000);
        double each = (bench_now() - start) / 40000;
        if (fusec_rank(y) != 1) bench_fail("building went wrong");
        if (r >= 0) t[r] = each;
    }
    put(c, "ns_a_node", 1e9 * bench_stat_of(t, ROUNDS).median);
    fusec_graph_free(g);
}

/* ---- compiling ------------------------------------------------------------------------------- */

/* From building the expression to the first launch returned, of expressions not seen before; and
 * the second call. */
static double new_ms(calls *c, const arrays *a, bool rows, int variant, double *second) {
    double start = bench_now();
    fusec_graph *g = new_graph(c);
    fusec_value x = an_input(g, rows ? 2 : 1);
    fusec_program *p = compiled(c, g, rows ? some_softmax(x, variant) : some_map(x, 0, variant), 0);
    run(c, p, a);
    double t = bench_now() - start;
    settle(c);
    start = bench_now();
    run(c, p, a);
    *second = 1e3 * (bench_now() - start);
    settle(c);
    fusec_program_free(p);
    return 1e3 * t;
}

static void do_new(calls *c) {
    arrays line, square;
    double t[7], second[7];
    make_arrays(c, &line, 1, SMALL, 1);
    make_arrays(c, &square, 2, 64, 1024);
    put(c, "first_map_ms", new_ms(c, &line, false, 1, second)); /* opens the compiler */
    for (int i = 0; i < 7; i++) t[i] = new_ms(c, &line, false, i + 2, &second[i]);
    put(c, "new_map_ms", bench_stat_of(t, 7).median);
    put(c, "new_map_second_ms", bench_stat_of(second, 7).median);
    for (int i = 0; i < 7; i++) t[i] = new_ms(c, &square, true, i + 2, &second[i]);
    put(c, "new_softmax_ms", bench_stat_of(t, 7).median);
    put(c, "new_softmax_second_ms", bench_stat_of(second, 7).median);
    for (int i = 0; i < 7; i++) t[i] = new_ms(c, &line, false, 2, &second[i]);
    put(c, "known_map_ms", bench_stat_of(t, 7).median);
    fusec_counters n = FUSEC_COUNTERS_INIT;
    fusec_get_counters(c->ctx, &n);
    put(c, "compiled", (double)n.compiles);
    put(c, "from_disk", (double)n.disk_hits);
    free_arrays(c, &line);
    free_arrays(c, &square);
}

/* The first result of a process: host data in, host data out. `start` is when main began. */
static void do_first(const char *device, const char *cache, double start) {
    float in[SMALL], out[SMALL];
    int64_t shape[1] = {SMALL};
    fusec_options o = FUSEC_OPTIONS_INIT;
    o.tiers = FUSEC_TIERS_FULL;
    calls c = {.sep = "{"};
    const char *name, *notice;
    for (int i = 0; i < SMALL; i++) in[i] = (float)i / SMALL;
    o.device = device;
    o.cache_dir = cache;
    bench_check(NULL, fusec_context_new(&o, &c.ctx), "context");
    bench_check(c.ctx, fusec_device(c.ctx, &name, &notice), "device");
    double opened = bench_now();
    fusec_graph *g = new_graph(&c);
    fusec_value y = some_map(fusec_array(g, FUSEC_F32, 1, shape, in), 0, 0);
    bench_check(c.ctx, fusec_read(y, out, sizeof out), "read");
    double done = bench_now();
    fusec_counters n = FUSEC_COUNTERS_INIT;
    fusec_get_counters(c.ctx, &n);
    put(&c, "open_device_ms", 1e3 * (opened - start));
    printf(",\"result_at\":%.6f", done); /* of the clock that all processes share */
    put(&c, "result_ms", 1e3 * (done - opened));
    put(&c, "compiled", (double)n.compiles);
    put(&c, "from_disk", (double)n.disk_hits);
    fusec_graph_free(g);
    fusec_context_free(c.ctx);
    printf("}\n");
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*fn)(calls *);
    } rows[] = {{"calls", do_calls}, {"ten", do_ten},     {"plan", do_plan},
                {"lazy", do_lazy},   {"build", do_build}, {"new", do_new}};
    double start = bench_now();
    const char *device = "auto", *cache = "", *name, *notice;
    for (int i = 2; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "--device"))
            device = argv[i + 1];
        else if (!strcmp(argv[i], "--cache"))
            cache = argv[i + 1];
        else
            bench_fail("%s is no option", argv[i]);
    }
    if (argc > 1 && !strcmp(argv[1], "first")) return do_first(device, cache, start), 0;
    for (size_t i = 0; argc > 1 && i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(argv[1], rows[i].name) != 0) continue;
        fusec_options o = FUSEC_OPTIONS_INIT;
        o.tiers = FUSEC_TIERS_FULL;
        calls c = {.sep = "{"};
        o.device = device;
        o.cache_dir = cache;
        bench_check(NULL, fusec_context_new(&o, &c.ctx), "context");
        bench_check(c.ctx, fusec_device(c.ctx, &name, &notice), "device");
        if (!strncmp(name, "cuda", 4)) c.gpu = bench_gpu_open();
        rows[i].fn(&c);
        printf("}\n");
        fusec_context_free(c.ctx);
        bench_gpu_close(c.gpu);
        return 0;
    }
    bench_fail("calls, ten, plan, lazy, build, new or first");
}
