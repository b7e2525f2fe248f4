/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* bench_capi.c - what texts, saved graphs, strides and functions of the user cost a C program on a
 * CPU: rows of a table, each with the figure it has to keep.
 *
 *     bench_capi [--rounds N]
 *
 * Times are the least of the rounds: other work of the machine makes them longer only. */
#include "bench/support/bench.h"

#include <stdlib.h>
#include <string.h>

static fusec_context *ctx;
static int rounds = 41;

static void put(const char *what, double v, const char *unit, double most) {
    printf("| %s | %.4g %s | %.4g | %s |\n", what, v, unit, most, v <= most ? "kept" : "missed");
}

static void check(fusec_status s, const char *what) {
    bench_check(ctx, s, what);
}

/* ---- texts and saved graphs ------------------------------------------------------------------ */

/* A definition of 40 lines: layers of a small network with norms, gates and a softmax. */
static char *forty_lines(void) {
    static char text[8000];
    char *at = text;
    at += sprintf(at, "export def f(x: f32[n, m], w: f32[m], b: f32[m]) -> f32[n, m] {\n");
    for (int i = 0; i < 9; i++)
        at += sprintf(at,
                      "    c%d = x - mean(x, axis=-1, keepdims=true)\n"
                      "    v%d = mean(c%d*c%d, axis=-1, keepdims=true)\n"
                      "    h%d = c%d/sqrt(v%d + %g)*w + b\n"
                      "    x = x + h%d*0.5*(1 + erf(h%d*0.70710678))\n",
                      i, i, i, i, i, i, i, 1e-5 * (i + 1), i, i);
    sprintf(at, "    e = exp(x - max(x, axis=-1, keepdims=true))\n"
                "    return e/sum(e, axis=-1, keepdims=true)\n}\n");
    return text;
}

static double parse_and_plan(const char *text) {
    fusec_module *m = NULL;
    fusec_program *p = NULL;
    const double begin = bench_now();
    check(fusec_parse(ctx, "forty.fuse", text, &m), "parse");
    check(fusec_module_compile(m, NULL, 0, &p), "plan");
    const double end = bench_now();
    fusec_program_free(p);
    fusec_module_free(m);
    return end - begin;
}

static void texts(void) {
    const char *text = forty_lines();
    double best = 1e9;
    int lines = 0;
    for (const char *c = text; *c; c++) lines += *c == '\n';
    if (lines != 40) bench_fail("the text has %d lines", lines);
    for (int i = 0; i < rounds; i++) {
        const double t = parse_and_plan(text);
        best = t < best ? t : best;
    }
    put("parse and plan of 40 lines", best * 1e3, "ms", 1);
}

static void saved(void) {
    fusec_graph *g = NULL;
    char *bytes = NULL;
    size_t size = 0;
    double best = 1e9, again = 1e9;
    const int last = -1;
    check(fusec_graph_new(ctx, &g), "graph");
    const fusec_dim shape[2] = {fusec_sym(g, "n"), fusec_sym(g, "m")};
    const fusec_value x = fusec_input(g, "x", FUSEC_F32, 2, shape);
    const fusec_value e = fusec_exp(fusec_sub(x, fusec_max(x, 1, &last, 1)));
    fusec_output(g, "y", fusec_div(e, fusec_sum(e, 1, &last, 1)));
    check(fusec_graph_bytes(g, FUSEC_BINARY, &bytes, &size), "bytes");
    for (int i = 0; i < rounds; i++) {
        fusec_graph *copy = NULL;
        fusec_program *p = NULL;
        const double begin = bench_now();
        check(fusec_graph_from_bytes(ctx, NULL, bytes, size, &copy), "read");
        const double read = bench_now();
        check(fusec_compile(copy, &p), "plan");
        const double planned = bench_now();
        fusec_program_free(p);
        fusec_graph_free(copy);
        best = read - begin < best ? read - begin : best;
        again = planned - begin < again ? planned - begin : again;
    }
    put("a softmax, saved", (double)size, "bytes", 2048);
    put("read again, with its hash", best * 1e6, "us", 50);
    put("read again and planned", again * 1e6, "us", 1000);
    fusec_text_free(ctx, bytes);
    fusec_graph_free(g);
}

/* ---- strides --------------------------------------------------------------------------------- */

/* A pitch of a power of two bytes is slow down the columns, as dense rows of so many are. */
enum { ROWS = 1000, COLUMNS = 1000, PITCH = 1040 };

static double once(fusec_program *p, const fusec_tensor *x, const fusec_tensor *y) {
    const double begin = bench_now();
    for (int k = 0; k < 5; k++) check(fusec_run(p, 1, x, 1, y), "run");
    return (bench_now() - begin) / 5;
}

typedef struct call {
    fusec_program *p;
    const fusec_tensor *x, *y;
} call;

/* How often the time of the second one the first one takes: the best of each, taken in turns. */
static double times(call a, call b) {
    double best[2] = {1e9, 1e9};
    for (int i = 0; i < rounds + 3; i++) {
        const double t[2] = {once(a.p, a.x, a.y), once(b.p, b.x, b.y)};
        for (int k = 0; k < 2; k++) best[k] = t[k] < best[k] ? t[k] : best[k];
    }
    return best[0] / best[1];
}

static fusec_program *compile(const char *text) {
    fusec_module *m = NULL;
    fusec_program *p = NULL;
    check(fusec_parse(ctx, NULL, text, &m), "parse");
    check(fusec_module_compile(m, NULL, 0, &p), "compile");
    fusec_module_free(m);
    return p;
}

static void strides(void) {
    static const char *const map = "export def f(x: f32[n, m]) -> f32[n, m] { return x*x + 1 }\n",
                             *sum =
                                 "export def f(x: f32[n, m]) -> f32[n] { return sum(x, axis=1) }\n",
                             *turn = "export def f(x: f32[m, n]) -> f32[n, m] {\n"
                                     "    return transpose(x)*transpose(x) + 1\n}\n",
                             *down =
                                 "export def f(x: f32[n, m]) -> f32[m] { return sum(x, axis=0) }\n";
    float *x = bench_calloc(ROWS * PITCH, sizeof *x), *y = bench_calloc(ROWS * PITCH, sizeof *y);
    const int64_t shape[2] = {ROWS, COLUMNS}, pitch[2] = {PITCH, 1}, turned[2] = {1, ROWS};
    const fusec_tensor dense = {.data = x, .shape = shape, .rank = 2, .dtype = FUSEC_F32},
                       out = {.data = y, .shape = shape, .rank = 2, .dtype = FUSEC_F32},
                       sums = {.data = y, .shape = shape, .rank = 1, .dtype = FUSEC_F32};
    fusec_tensor apart = dense, across = dense;
    apart.strides = pitch;
    across.strides = turned;
    for (int i = 0; i < ROWS * PITCH; i++) x[i] = (float)(i % 97);
    fusec_program *m = compile(map), *s = compile(sum), *t = compile(turn), *d = compile(down);
    put("a map of rows apart, next to dense ones",
        times((call){m, &apart, &out}, (call){m, &dense, &out}), "times", 1.1);
    put("row sums of rows apart, next to dense ones",
        times((call){s, &apart, &sums}, (call){s, &dense, &sums}), "times", 1.1);
    put("a map of columns, next to the map of a transpose",
        times((call){m, &across, &out}, (call){t, &dense, &out}), "times", 1.1);
    put("column sums of rows apart, next to dense ones",
        times((call){d, &apart, &sums}, (call){d, &dense, &sums}), "times", 1.1);
    put("row sums of a transposed array, next to the map of a transpose",
        times((call){s, &across, &sums}, (call){t, &dense, &out}), "times", 1.1);
    put("column sums of a transposed array, next to the map of a transpose",
        times((call){d, &across, &sums}, (call){t, &dense, &out}), "times", 1.1);
    fusec_program_free(d);
    fusec_program_free(m);
    fusec_program_free(s);
    fusec_program_free(t);
    free(x);
    free(y);
}

/* ---- functions of the user ------------------------------------------------------------------- */

static fusec_program *of_text(bool text) {
    fusec_graph *g = NULL;
    fusec_program *p = NULL;
    check(fusec_graph_new(ctx, &g), "graph");
    const fusec_dim n = fusec_sym(g, "n");
    const fusec_value x = fusec_input(g, "x", FUSEC_F32, 1, &n), a = fusec_num(0.7);
    const char *names[] = {"x", "a"};
    const fusec_value values[] = {x, a};
    fusec_output(g, "y",
                 text ? fusec_expr(g, "x > 0 ? x : a*expm1(x)", 2, names, values)
                      : fusec_where(fusec_gt(x, fusec_num(0)), x, fusec_mul(a, fusec_expm1(x))));
    check(fusec_compile(g, &p), "compile");
    fusec_graph_free(g);
    return p;
}

static void user_texts(void) {
    fusec_program *rows = of_text(false), *text = of_text(true);
    const int64_t n = 1000;
    const fusec_tensor x = {.shape = &n, .rank = 1, .dtype = FUSEC_F32};
    char *a = NULL, *b = NULL;
    check(fusec_source(rows, 0, 1, &x, &a), "source");
    check(fusec_source(text, 0, 1, &x, &b), "source");
    put("kernels of x > 0 ? x : a*expm1(x)", fusec_kernel_count(text), "", 1);
    put("of those, with other text than of operations", strcmp(a, b) != 0, "", 0);
    fusec_text_free(ctx, a);
    fusec_text_free(ctx, b);
    fusec_program_free(rows);
    fusec_program_free(text);
}

int main(int argc, char **argv) {
    if (argc == 3 && !strcmp(argv[1], "--rounds")) rounds = atoi(argv[2]);
    fusec_options o = FUSEC_OPTIONS_INIT;
    const char *name;
    o.device = "cpu";
    o.threads = 1;
    o.cache_dir = "";
    o.tiers = FUSEC_TIERS_FULL;
    bench_check(NULL, fusec_context_new(&o, &ctx), "context");
    check(fusec_device(ctx, &name, NULL), "device");
    printf("| what | figure | at most | |\n|---|---|---|---|\n");
    texts();
    saved();
    strides();
    user_texts();
    fusec_context_free(ctx);
    return 0;
}
