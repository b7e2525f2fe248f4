/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* bench_inside_nvrtc.c - what NVRTC takes for one text (FUSEC_DEBUG=4, explain --emit cuda), with
 * options of its own added: the best of several compilations and the size of the cubin.
 *
 *     bench_inside_nvrtc ARCH FILE.cu [OPTION...] */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "runtime/compile/nvrtc.h"

enum { ROUNDS = 9 };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int measure(const fc_nvrtc *n, const char *text, const fc_nvrtc_options *o) {
    double best = 1e9;
    size_t bytes = 0;
    for (int i = 0; i < ROUNDS; i++) {
        fc_bytes out = {0};
        fc_error e = {0};
        double start = now();
        if (fc_nvrtc_compile(n, text, "kernel.cu", o, &out, &e)) {
            fprintf(stderr, "%s\n", e.message);
            return 1;
        }
        if (now() - start < best) best = now() - start;
        bytes = out.len;
        fc_bytes_free(n->alloc, &out);
    }
    printf("best %7.2f ms, %zu bytes", 1e3 * best, bytes);
    for (size_t i = 0; i < o->n_extra; i++) printf(" %s", o->extra[i]);
    printf("\n");
    return 0;
}

int main(int argc, char **argv) {
    fc_nvrtc *n;
    fc_error e = {0};
    if (argc < 3) return 1;
    FILE *f = fopen(argv[2], "rb");
    char *text = f ? calloc(1, 4 << 20) : NULL;
    size_t len = text ? fread(text, 1, (4 << 20) - 1, f) : 0;
    double start = now();
    if (f) fclose(f);
    if (!len || fc_nvrtc_open(&fc_libc_alloc, &n, &e)) {
        fprintf(stderr, "%s: %s\n", argv[2], e.message);
        return 1;
    }
    printf("%s: opened in %.2f ms; ", argv[2], 1e3 * (now() - start));
    fc_nvrtc_options o = {.arch = argv[1],
                          .kind = FC_NVRTC_CUBIN,
                          .extra = (const char *const *)(argv + 3),
                          .n_extra = (size_t)argc - 3};
    int bad = measure(n, text, &o);
    fc_nvrtc_close(n);
    free(text);
    return bad;
}
