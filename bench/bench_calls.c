/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* bench_calls.c - what the library costs around the kernels: repeated calls, lazily built
 * expressions that were seen before, new expressions.
 *
 *     bench_calls [DEVICE]          cpu (default), cuda, interp
 *     bench_calls DEVICE first      times from main to the first result and its parts; then of the
 *                                   same in a second context: a warm process, a warm disk cache
 *
 * Arrays of a program's calls are results of the library, so they are where the device
 * wants them. */
#include <fusec/fusec.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { N = 1000 };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void die(const fusec_context *c, const char *what) {
    fprintf(stderr, "%s: %s\n", what, fusec_message(c));
    exit(1);
}

/* ---- calls of a program ---------------------------------------------------------------------- */

/* `kernels` kernels, each of which needs the one before. */
static fusec_value chain_of(fusec_value x, int kernels) {
    fusec_value y = fusec_add(fusec_mul(x, fusec_num(2)), fusec_num(1));
    for (int i = 1; i < kernels; i++)
        y = fusec_add(fusec_mul(fusec_materialize(y), fusec_num(0.5)), x);
    return y;
}

/* Memory of the device, owned by the graph. */
static void *device_array(fusec_context *c, fusec_graph *g, double v) {
    const void *data;
    fusec_dim n = fusec_size(g, N);
    if (fusec_data(fusec_full(g, FUSEC_F32, v, 1, &n), &data)) die(c, "data");
    return (void *)(size_t)data;
}

static double per_call(fusec_context *c, fusec_program *p, fusec_tensor *in, fusec_tensor *out) {
    double best = 1e9;
    for (int round = 0; round < 30; round++) {
        const int calls = 64; /* of ten kernels: less than a stream takes without waiting */
        double start = now();
        for (int i = 0; i < calls; i++)
            if (fusec_run_on(p, NULL, 1, in, 1, out)) die(c, "run");
        double seconds = now() - start;
        if (fusec_run(p, 1, in, 1, out)) die(c, "run"); /* waits for all before */
        if (seconds / calls < best) best = seconds / calls;
    }
    return best;
}

static void calls(fusec_context *c, int kernels, unsigned flags) {
    fusec_graph *g = NULL;
    fusec_program *p;
    if (fusec_graph_new(c, &g)) die(c, "graph");
    fusec_dim n = fusec_sym(g, "n");
    fusec_output(g, "y", chain_of(fusec_input(g, "x", FUSEC_F32, 1, &n), kernels));
    if (fusec_compile_with(g, flags, &p)) die(c, "compile");
    int64_t sizes[2] = {N, 0};
    fusec_graph *arrays;
    if (fusec_graph_new(c, &arrays)) die(c, "graph");
    void *x = device_array(c, arrays, 1), *y = device_array(c, arrays, 2);
    double t[2];
    for (int k = 0; k < 2; k++) { /* with data and without: the work is the difference */
        fusec_tensor in = {
            .data = x, .shape = &sizes[k], .rank = 1, .dtype = FUSEC_F32, .place = FUSEC_DEVICE};
        fusec_tensor out = {
            .data = y, .shape = &sizes[k], .rank = 1, .dtype = FUSEC_F32, .place = FUSEC_DEVICE};
        for (int i = 0; i < 2; i++)
            if (fusec_run(p, 1, &in, 1, &out)) die(c, "run");
        t[k] = per_call(c, p, &in, &out);
    }
    printf("call of %2d kernel%s%s %9.0f ns; with empty arrays %7.0f ns\n", fusec_kernel_count(p),
           fusec_kernel_count(p) == 1 ? " " : "s", flags ? ", graph" : "", 1e9 * t[0], 1e9 * t[1]);
    fusec_graph_free(arrays);
    fusec_program_free(p);
    fusec_graph_free(g);
}

/* ---- lazy expressions ------------------------------------------------------------------------ */

static fusec_value expression(fusec_value x, int nodes, double salt) {
    fusec_value y = x;
    for (int i = 0; i < nodes; i += 4)
        y = fusec_add(fusec_mul(fusec_sub(fusec_mul(y, fusec_num(salt)), x), x), y);
    return y;
}

static void lazy(fusec_context *c, const float *data, int nodes) {
    fusec_graph *g = NULL;
    int64_t shape[1] = {16};
    float out[16];
    double build = 1e9, eval = 1e9;
    if (fusec_graph_new(c, &g)) die(c, "graph");
    for (int round = 0; round < 50; round++) {
        fusec_graph_reset(g);
        double a = now();
        fusec_value y = expression(fusec_array(g, FUSEC_F32, 1, shape, data), nodes, 0.5);
        double b = now();
        if (fusec_read(y, out, sizeof out)) die(c, "read");
        double e = now();
        if (b - a < build) build = b - a;
        if (e - b < eval) eval = e - b;
    }
    printf("lazy, %5d nodes seen before: built %5.1f ns a node, evaluated %5.1f ns a node "
           "(%.1f us)\n",
           nodes, 1e9 * build / nodes, 1e9 * eval / nodes, 1e6 * eval);
    fusec_graph_free(g);
}

/* ---- new expressions ------------------------------------------------------------------------- */

static fusec_value softmax(fusec_value x) {
    int last = -1;
    fusec_value e = fusec_exp(fusec_sub(x, fusec_max(x, 1, &last, 1)));
    return fusec_div(e, fusec_sum(e, 1, &last, 1));
}

static fusec_value new_map(fusec_value x, int i) {
    return fusec_exp(fusec_mul(fusec_sin(fusec_add(x, fusec_num(i + 0.5))), fusec_cos(x)));
}

static fusec_value new_softmax(fusec_value x, int i) {
    return softmax(fusec_mul(x, fusec_num(i + 1.5)));
}

static fusec_value new_layernorm(fusec_value x, int i) {
    int last = -1;
    fusec_value d = fusec_sub(x, fusec_mean(x, 1, &last, 1));
    return fusec_div(d,
                     fusec_sqrt(fusec_add(fusec_var(x, 1, &last, 1), fusec_num(1e-5 * (i + 1)))));
}

static fusec_value new_light(fusec_value x, int i) {
    return fusec_add(fusec_mul(x, fusec_num(i + 0.25)), fusec_num(1));
}

static fusec_value new_layers(fusec_value x, int i) { /* four kernels */
    fusec_value y = new_softmax(x, i + 100);
    for (int k = 0; k < 3; k++)
        y = softmax(fusec_mul(fusec_materialize(y), fusec_num(k + i + 2.5)));
    return y;
}

static const char *device_name(fusec_context *c) {
    const char *name = NULL;
    if (fusec_device(c, &name, NULL)) die(c, "device");
    return name;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Other numbers are no other code, so each round has a context of its own. */
static void compile_new(const char *device, const char *name,
                        fusec_value (*build)(fusec_value, int), int64_t rows, const float *data) {
    enum { ROUNDS = 11 };
    double t[ROUNDS], again[ROUNDS];
    float out[N];
    int64_t shape[2] = {rows, N / rows};
    fusec_graph *g = NULL;
    fusec_context *c = NULL;
    fusec_options o = FUSEC_OPTIONS_INIT;
    o.device = device;
    o.cache_dir = "";
    for (int i = 0; i < 2 * ROUNDS;
         i++) { /* each twice: the second call may still run quick code */
        if (i % 2 == 0) {
            fusec_context_free(c);
            if (fusec_context_new(&o, &c)) die(c, "context");
            (void)device_name(c);
        }
        if (fusec_graph_new(c, &g)) die(c, "graph");
        double a = now();
        fusec_value y = build(fusec_array(g, FUSEC_F32, 2, shape, data), i / 2);
        if (fusec_read(y, out, sizeof out)) die(c, "read");
        (i % 2 ? again : t)[i / 2] = now() - a;
        fusec_graph_free(g);
    }
    fusec_context_free(c);
    double first = t[0];
    qsort(t, ROUNDS, sizeof *t, by_value);
    qsort(again, ROUNDS, sizeof *again, by_value);
    printf("new %-12s first %7.2f ms, median %6.2f, best %6.2f; second call %6.2f\n", name,
           1e3 * first, 1e3 * t[ROUNDS / 2], 1e3 * t[0], 1e3 * again[ROUNDS / 2]);
}

static int first_result(const char *device, const float *data) {
    fusec_options o = FUSEC_OPTIONS_INIT;
    fusec_context *c = NULL;
    fusec_graph *g = NULL;
    float out[N];
    int64_t shape[2] = {10, N / 10};
    double a = now();
    o.device = device;
    if (fusec_context_new(&o, &c) || fusec_graph_new(c, &g)) die(c, "context");
    double b = now();
    const char *name = device_name(c);
    double d = now();
    if (fusec_read(new_softmax(fusec_array(g, FUSEC_F32, 2, shape, data), 0), out, sizeof out))
        die(c, "read");
    double e = now();
    printf("%s: context %.3f ms, device %.3f ms, first result %.3f ms, all %.3f ms\n", name,
           1e3 * (b - a), 1e3 * (d - b), 1e3 * (e - d), 1e3 * (e - a));
    fusec_context *second = NULL;
    fusec_graph *h = NULL;
    fusec_counters n = FUSEC_COUNTERS_INIT;
    if (fusec_context_new(&o, &second) || fusec_graph_new(second, &h)) die(second, "context");
    (void)device_array(second, h, 1); /* opens the device */
    a = now();
    if (fusec_read(new_softmax(fusec_array(h, FUSEC_F32, 2, shape, data), 0), out, sizeof out))
        die(second, "read");
    fusec_get_counters(second, &n);
    printf("a second context: first result %.3f ms, %d kernels from disk so far\n",
           1e3 * (now() - a), (int)n.disk_hits);
    fusec_graph_free(h);
    fusec_context_free(second);
    fusec_graph_free(g);
    fusec_context_free(c);
    return 0;
}

int main(int argc, char **argv) {
    static float data[N];
    for (int i = 0; i < N; i++) data[i] = sinf((float)i);
    const char *device = argc > 1 ? argv[1] : "cpu";
    if (argc > 2 && !strcmp(argv[2], "first")) return first_result(device, data);
    fusec_options o = FUSEC_OPTIONS_INIT;
    fusec_context *c = NULL;
    o.device = device;
    o.cache_dir = "";
    if (fusec_context_new(&o, &c)) die(c, "context");
    printf("%s\n", device_name(c));
    compile_new(device, "light map", new_light, 10, data);
    compile_new(device, "sin cos exp", new_map, 10, data);
    compile_new(device, "softmax", new_softmax, 10, data);
    compile_new(device, "of rows of 10", new_softmax, N / 10, data);
    compile_new(device, "layernorm", new_layernorm, 10, data);
    compile_new(device, "4 softmax", new_layers, 10, data);
    calls(c, 1, 0);
    calls(c, 2, 0);
    calls(c, 10, 0);
    calls(c, 10, FUSEC_PROGRAM_GRAPH);
    lazy(c, data, 20);
    lazy(c, data, 200);
    lazy(c, data, 2000);
    lazy(c, data, 20000);
    fusec_context_free(c);
    return 0;
}
