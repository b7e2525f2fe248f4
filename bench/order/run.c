/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* run.c - one expression of x on the CPU: seconds by the clock and of the processor, then those of
 * a memcpy of as many bytes as x has; the least of some calls of each. For bench/order/compare.
 *
 *     run EXPRESSION DTYPE ROWS N THREADS CALLS     x: DTYPE[ROWS, N], or [N] with ROWS 0 */
#include <fusec/fusec.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct seconds {
    double clock, cpu;
} seconds;

static seconds now(void) {
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
    return (seconds){(double)a.tv_sec + 1e-9 * (double)a.tv_nsec,
                     (double)b.tv_sec + 1e-9 * (double)b.tv_nsec};
}

static void least(seconds *best, seconds begin) {
    const seconds end = now();
    if (end.clock - begin.clock < best->clock) best->clock = end.clock - begin.clock;
    if (end.cpu - begin.cpu < best->cpu) best->cpu = end.cpu - begin.cpu;
}

/* Floats are sums of four uniform numbers; integers take all values. */
static void fill(char *x, int64_t n, fusec_dtype t) {
    for (int64_t i = 0; i < n; i++) {
        uint64_t r = (uint64_t)i * 6364136223846793005u + 1442695040888963407u;
        r = (r ^ r >> 33) * 0xff51afd7ed558ccdu;
        r ^= r >> 33;
        double g = -2;
        for (int k = 0; k < 4; k++) g += (double)(r >> 16 * k & 65535) / 65536;
        const float f = (float)g;
        if (t == FUSEC_F32) memcpy(x + i * 4, &f, 4);
        if (t == FUSEC_F64) memcpy(x + i * 8, &g, 8);
        if (t == FUSEC_U32) memcpy(x + i * 4, &r, 4);
        if (t == FUSEC_U64) memcpy(x + i * 8, &r, 8);
    }
}

int main(int argc, char **argv) {
    if (argc < 7) return 2;
    const char *name = argv[2];
    const int64_t rows = atoll(argv[3]), n = atoll(argv[4]), all = (rows ? rows : 1) * n;
    const int calls = atoi(argv[6]);
    const fusec_dtype t = name[0] == 'f' ? (name[1] == '6' ? FUSEC_F64 : FUSEC_F32)
                                         : (name[1] == '6' ? FUSEC_U64 : FUSEC_U32);
    const size_t bytes = (size_t)all * (name[1] == '6' ? 8 : 4);
    const int64_t one[1] = {n}, two[2] = {rows, n};
    fusec_options o = {.size = sizeof o, .device = "cpu", .threads = atoi(argv[5])};
    fusec_context *ctx = NULL;
    fusec_module *m = NULL;
    fusec_program *p = NULL;
    char text[400];
    snprintf(text, sizeof text, "export def f(x: %s[%s]) { return %s }\n", name,
             rows ? "m, n" : "n", argv[1]);
    if (fusec_context_new(&o, &ctx) || fusec_parse(ctx, "f.fuse", text, &m) ||
        fusec_module_compile(m, "f", 0, &p)) {
        fprintf(stderr, "%s\n", ctx ? fusec_message(ctx) : "no context");
        return 1;
    }
    char *x = aligned_alloc(64, bytes + 64), *y = aligned_alloc(64, (size_t)all * 8 + 64);
    fill(x, all, t);
    memset(y, 0, (size_t)all * 8);
    const fusec_tensor in = {
        .data = x, .shape = rows ? two : one, .rank = rows ? 2 : 1, .dtype = t};
    fusec_tensor out = in;
    out.data = y;
    if (strstr(argv[1], "argsort")) out.dtype = FUSEC_I64;
    seconds best = {1e30, 1e30}, copy = {1e30, 1e30};
    for (int i = 0; i < calls; i++) {
        const seconds begin = now();
        if (fusec_run(p, 1, &in, 1, &out)) {
            fprintf(stderr, "%s\n", fusec_message(ctx));
            return 1;
        }
        least(&best, begin);
    }
    for (int i = 0; i < 7; i++) {
        const seconds begin = now();
        memcpy(y, x, bytes);
        least(&copy, begin);
    }
    printf("%.9f %.9f %.9f %.9f\n", best.clock, best.cpu, copy.clock, copy.cpu);
    fusec_program_free(p);
    fusec_module_free(m);
    fusec_context_free(ctx);
    free(x);
    free(y);
    return 0;
}
