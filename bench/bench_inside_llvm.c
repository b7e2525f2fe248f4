/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* bench_inside_llvm.c - what LLVM takes for one text (FUSEC_DEBUG=4 prints them), by passes and
 * level of the code generator: best and median of several compilations, size of the object.
 *
 *     bench_inside_llvm FILE.ll... */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "runtime/compile/llvm_compile.h"

enum { ROUNDS = 15 };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static int measure(fc_llvm *l, const char *text, size_t len, const fc_llvm_options *o) {
    double t[ROUNDS];
    size_t bytes = 0;
    for (int i = 0; i < ROUNDS; i++) {
        fc_bytes out = {0};
        fc_error e = {0};
        double start = now();
        if (fc_llvm_compile(l, text, len, "kernel", o, &out, &e)) {
            fprintf(stderr, "%s\n", e.message);
            return 1;
        }
        t[i] = now() - start;
        bytes = out.len;
        fc_bytes_free(l->alloc, &out);
    }
    qsort(t, ROUNDS, sizeof *t, by_value);
    printf("  passes %d level %d: best %6.2f ms, median %6.2f, %zu bytes\n", (int)o->passes,
           o->level, 1e3 * t[0], 1e3 * t[ROUNDS / 2], bytes);
    return 0;
}

static int measure_file(fc_llvm *l, const char *path) {
    FILE *f = fopen(path, "rb");
    char *text = f ? calloc(1, 4 << 20) : NULL;
    size_t len = text ? fread(text, 1, (4 << 20) - 1, f) : 0;
    int bad = !len;
    if (f) fclose(f);
    printf("%s: %zu bytes of text\n", path, len);
    for (int passes = 0; passes < 3 && !bad; passes++)
        for (int level = 0; level < 4 && !bad; level++)
            bad = measure(l, text, len,
                          &(fc_llvm_options){.passes = (fc_llvm_passes)passes, .level = level});
    free(text);
    return bad;
}

int main(int argc, char **argv) {
    fc_llvm *l;
    fc_error e = {0};
    if (fc_llvm_open(&fc_libc_alloc, &l, &e)) {
        fprintf(stderr, "%s\n", e.message);
        return 1;
    }
    int bad = argc < 2;
    for (int i = 1; i < argc && !bad; i++) bad = measure_file(l, argv[i]);
    fc_llvm_close(l);
    return bad;
}
