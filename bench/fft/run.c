/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* run.c - Fourier transforms and complex arithmetic on the CPU, for bench/fft/compare: a
 * case, its sizes, threads, repeats; prints the least time and processor time of a call, in
 * seconds.
 *
 *     run fft 16777216 1 THREADS REPEATS       lines of n elements, how many of them
 *     run fft2 4096 4096 THREADS REPEATS       both axes
 *     run muladd 67108864 1 THREADS REPEATS    a*b + c of c64
 *     run copy 67108864 4 THREADS REPEATS      memcpy of as many bytes as 4 such arrays take */
#include <complex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <fusec/fusec.h>
#include <fusec/ops.h>

static double now(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void must(fusec_status s, fusec_context *ctx) {
    if (!s) return;
    fprintf(stderr, "run: %s\n", ctx ? fusec_message(ctx) : "no context");
    exit(1);
}

static float _Complex *array(int64_t n) {
    float _Complex *a = aligned_alloc(64, ((size_t)n * sizeof *a + 63) / 64 * 64);
    if (!a) exit(1);
    for (int64_t i = 0; i < n; i++)
        a[i] = (float)(i * 7919 % 1000) * 1e-3f - 0.5f + I * ((float)(i * 104729 % 1000) * 1e-3f);
    return a;
}

typedef struct work {
    fusec_context *ctx;
    fusec_program *p;
    fusec_tensor in[3], out;
    int nin;
    size_t bytes; /* of a copy */
} work;

static void run(const work *w) {
    if (w->p)
        must(fusec_run(w->p, w->nin, w->in, 1, &w->out), w->ctx);
    else
        memcpy(w->out.data, w->in[0].data, w->bytes);
}

int main(int argc, char **argv) {
    if (argc != 6) return fprintf(stderr, "see the source\n"), 2;
    const char *what = argv[1];
    const int64_t shape[2] = {atoll(argv[3]), atoll(argv[2])}, n = shape[0] * shape[1];
    const fusec_options o = {.size = sizeof o, .device = "cpu", .threads = atoi(argv[4])};
    work w = {.nin = !strcmp(what, "muladd") ? 3 : 1, .bytes = (size_t)n * 4};
    fusec_graph *g = NULL;
    must(fusec_context_new(&o, &w.ctx), w.ctx);
    must(fusec_graph_new(w.ctx, &g), w.ctx);
    const fusec_dim d[2] = {fusec_size(g, shape[0]), fusec_size(g, shape[1])};
    static const char *const names[] = {"a", "b", "c"};
    fusec_value v[3], y;
    for (int i = 0; i < 3; i++) {
        w.in[i] = (fusec_tensor){.shape = shape, .rank = 2, .dtype = FUSEC_C64};
        if (i < w.nin) w.in[i].data = array(n);
        if (i < w.nin) v[i] = fusec_input(g, names[i], FUSEC_C64, 2, d);
    }
    w.out = w.in[0];
    w.out.data = array(n);
    if (!strcmp(what, "fft"))
        y = fusec_fft(v[0], -1);
    else if (!strcmp(what, "fft2"))
        y = fusec_fft(fusec_fft(v[0], -1), 0);
    else if (!strcmp(what, "muladd"))
        y = fusec_add(fusec_mul(v[0], v[1]), v[2]);
    else
        y = v[0];
    if (strcmp(what, "copy") != 0) {
        fusec_output(g, "y", y);
        must(fusec_compile(g, &w.p), w.ctx);
    }
    double wall = 1e30, cpu = 1e30;
    run(&w);
    for (int i = 0; i < atoi(argv[5]); i++) {
        const double t0 = now(CLOCK_MONOTONIC), c0 = now(CLOCK_PROCESS_CPUTIME_ID);
        run(&w);
        const double t = now(CLOCK_MONOTONIC) - t0, c = now(CLOCK_PROCESS_CPUTIME_ID) - c0;
        wall = t < wall ? t : wall;
        cpu = c < cpu ? c : cpu;
    }
    printf("%.9f %.9f\n", wall, cpu);
    return 0;
}
