/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* driver.c - calls the functions of the object that test_aot.c builds, next to the library: for
 * many sizes the results have to be equal, bit for bit. Prints what differs, and how many calls
 * there were. */
#include <fusec/fusec.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "program.h"

static fusec_context *ctx;
static fusec_module *module;
static const program_env *env;
static int calls, wrong;

static void fill(void *p, int64_t n, fusec_dtype t, uint64_t seed, int64_t below) {
    for (int64_t i = 0; i < n; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        const double v = (double)(seed >> 40) / (1 << 24);
        if (t == FUSEC_F32)
            ((float *)p)[i] = (float)v * 4 - 2;
        else if (t == FUSEC_F64)
            ((double *)p)[i] = v * 4 - 2;
        else
            ((int64_t *)p)[i] = (int64_t)(v * (double)below);
    }
}

static int64_t count(int rank, const int64_t *shape) {
    int64_t n = 1;
    for (int i = 0; i < rank; i++) n *= shape[i];
    return n;
}

typedef struct array {
    int rank;
    int64_t shape[2];
    fusec_dtype t;
    void *data, *other;
} array;

static void make(array *a, int rank, int64_t n, int64_t m, fusec_dtype t, uint64_t seed,
                 int64_t below) {
    *a = (array){.rank = rank, .shape = {n, m}, .t = t};
    const size_t bytes = (size_t)count(rank, a->shape) * fusec_dtype_bytes(t) + 8;
    a->data = calloc(bytes, 1);
    a->other = calloc(bytes, 1);
    if (!a->data || !a->other) exit(2);
    if (seed) fill(a->data, count(rank, a->shape), t, seed, below);
}

static fusec_tensor tensor(const array *a, int other) {
    return (fusec_tensor){.data = other ? a->other : a->data,
                          .shape = a->shape,
                          .rank = a->rank,
                          .dtype = (uint32_t)a->t};
}

static void release(int nin, array *in, int nout, array *out) {
    for (int i = 0; i < nin; i++) free(in[i].data), free(in[i].other);
    for (int i = 0; i < nout; i++) free(out[i].data), free(out[i].other);
}

/* What the library gives, compared with what the object gave, and its code. */
static void compare(const char *def, int code, int nin, array *in, int nout, array *out) {
    fusec_tensor a[4], b[4];
    static fusec_program *p;
    static const char *of;
    if (of != def) {
        fusec_program_free(p);
        of = def;
        if (fusec_module_compile(module, def, 0, &p)) {
            printf("%s: %s\n", def, fusec_message(ctx));
            exit(2);
        }
    }
    for (int i = 0; i < nin; i++) a[i] = tensor(&in[i], 0);
    for (int i = 0; i < nout; i++) b[i] = tensor(&out[i], 1);
    const fusec_status s = fusec_run(p, nin, a, nout, b);
    calls++;
    int bad = (s != 0) != (code != PROGRAM_OK);
    for (int i = 0; !bad && !code && i < nout; i++)
        bad = memcmp(out[i].data, out[i].other,
                     (size_t)count(out[i].rank, out[i].shape) * fusec_dtype_bytes(out[i].t)) != 0;
    if (bad && wrong++ < 10)
        printf("%s of %lld, %lld: code %d, the library %s\n", def, (long long)in[0].shape[0],
               (long long)in[0].shape[1], code, s ? fusec_message(ctx) : "ok");
    release(nin, in, nout, out);
}

static void one(int64_t n, int64_t m) {
    array in[4], out[2];
    make(&in[0], 2, n, m, FUSEC_F32, 1, 0);
    make(&out[0], 2, n, m, FUSEC_F32, 0, 0);
    int r = program_soft(env, n, m, in[0].data, out[0].data);
    if (m)
        compare("soft", r, 1, in, 1, out);
    else
        release(1, in, 1, out);

    make(&in[0], 2, n, m, FUSEC_F32, 2, 0);
    make(&in[1], 0, 1, 1, FUSEC_F32, 3, 0);
    make(&out[0], 1, m, 1, FUSEC_F32, 0, 0);
    make(&out[1], 2, n, m, FUSEC_F32, 0, 0);
    r = program_columns(env, n, m, in[0].data, *(float *)in[1].data, out[0].data, out[1].data);
    compare("columns", r, 2, in, 2, out);

    make(&in[0], 1, n * m, 1, FUSEC_F64, 4, 0);
    make(&in[1], 1, n * m, 1, FUSEC_F64, 5, 0);
    make(&out[0], 0, 1, 1, FUSEC_F64, 0, 0);
    make(&out[1], 0, 1, 1, FUSEC_F64, 0, 0);
    r = program_whole(env, n * m, in[0].data, in[1].data, out[0].data, out[1].data);
    if (n * m)
        compare("whole", r, 2, in, 2, out);
    else
        release(2, in, 2, out);

    make(&in[0], 2, n, 37, FUSEC_F32, 6, 0);
    make(&in[1], 2, 37, m, FUSEC_F32, 7, 0);
    make(&out[0], 2, n, m, FUSEC_F32, 0, 0);
    r = program_product(env, n, 37, m, in[0].data, in[1].data, out[0].data);
    compare("product", r, 2, in, 1, out);

    make(&in[0], 2, n, 5, FUSEC_F32, 8, 0);
    make(&in[1], 1, m, 1, FUSEC_I64, 9, n);
    make(&out[0], 2, m, 5, FUSEC_F32, 0, 0);
    r = program_pick(env, n, 5, m, in[0].data, in[1].data, out[0].data);
    if (n)
        compare("pick", r, 2, in, 1, out);
    else
        release(2, in, 1, out);

    make(&in[0], 2, n, 2, FUSEC_F32, 8, 0);
    make(&in[1], 1, m, 1, FUSEC_I64, 9, n);
    make(&in[2], 2, m, 2, FUSEC_F32, 16, 0);
    make(&out[0], 2, n, 2, FUSEC_F32, 0, 0);
    r = program_stored(env, n, 2, m, in[0].data, in[1].data, in[2].data, out[0].data);
    if (n)
        compare("stored", r, 3, in, 1, out);
    else
        release(3, in, 1, out);

    make(&in[0], 2, n, m, FUSEC_F32, 10, 0);
    make(&out[0], 2, n, m, FUSEC_F32, 0, 0);
    r = program_running(env, n, m, in[0].data, out[0].data);
    compare("running", r, 1, in, 1, out);

    make(&in[0], 2, n, m, FUSEC_F32, 11, 0);
    make(&out[0], 2, m, n, FUSEC_F32, 0, 0);
    r = program_turned_f32(env, n, m, in[0].data, out[0].data);
    compare("turned", r, 1, in, 1, out);

    make(&in[0], 1, n, 1, FUSEC_C64, 0, 0);
    make(&in[1], 0, 1, 1, FUSEC_C64, 0, 0);
    make(&out[0], 1, n, 1, FUSEC_C64, 0, 0);
    fill(in[0].data, 2 * n, FUSEC_F32, 14, 0);
    fill(in[1].data, 2, FUSEC_F32, 15, 0);
    r = program_spin(env, n, in[0].data, in[1].data, out[0].data);
    compare("spin", r, 2, in, 1, out);

    make(&in[0], 1, n, 1, FUSEC_F32, 17, 0);
    make(&out[0], 1, n, 1, FUSEC_I32, 0, 0);
    r = program_rounds(env, n, in[0].data, out[0].data);
    compare("rounds", r, 1, in, 1, out);

    make(&in[0], 2, n, m, FUSEC_F32, 18, 0);
    make(&out[0], 1, n, 1, FUSEC_F32, 0, 0);
    r = program_largest(env, n, m, in[0].data, out[0].data);
    compare("largest", r, 1, in, 1, out);

    if (n < 1) return;
    make(&in[0], 1, n, 1, FUSEC_F32, 12, 0);
    make(&in[1], 1, n - 1, 1, FUSEC_F32, 13, 0);
    make(&out[0], 1, n - 1, 1, FUSEC_F32, 0, 0);
    r = program_ahead(env, n, in[0].data, in[1].data, out[0].data);
    compare("ahead", r, 2, in, 1, out);
}

/* Every task on its own, the last first. */
static void backwards(void *user, int64_t n, void (*body)(void *arg, int64_t i), void *arg) {
    ++*(int *)user;
    while (n-- > 0) body(arg, n);
}

static void codes(void) {
    float x[4] = {1, 2, 3, 4}, y[4];
    int64_t i[2] = {0, 9};
    const int got[] = {
        program_soft(NULL, -1, 2, x, y),      program_soft(NULL, 2, 2, NULL, y),
        program_soft(NULL, 0, 2, NULL, NULL), program_ahead(NULL, 0, x, x, y),
        program_pick(NULL, 2, 2, 2, x, i, y), program_soft(NULL, INT64_MAX, INT64_MAX, x, y)};
    const int want[] = {PROGRAM_SHAPE, PROGRAM_ARG,   PROGRAM_OK,
                        PROGRAM_SHAPE, PROGRAM_INDEX, PROGRAM_SHAPE};
    for (int k = 0; k < 6; k++)
        if (got[k] != want[k] && ++wrong) printf("call %d gives %d\n", k, got[k]);
}

static void *in_a_thread(void *arg) {
    float x[64], y[64], z[64];
    fill(x, 64, FUSEC_F32, 3, 0);
    program_soft(NULL, 4, 16, x, y);
    for (int i = 0; i < 2000; i++) {
        memset(z, 0, sizeof z);
        program_soft(NULL, 4, 16, x, z);
        if (memcmp(y, z, sizeof y)) *(int *)arg = 1;
        program_running(NULL, 2 + i % 3, 8, x, z);
    }
    return NULL;
}

int main(int argc, char **argv) {
    static const int64_t sizes[] = {0, 1, 3, 16, 33, 129, 1025};
    fusec_options o = FUSEC_OPTIONS_INIT;
    o.device = "cpu";
    o.cpu = argc > 2 ? argv[2] : NULL;
    o.tiers = FUSEC_TIERS_FULL;
    if (fusec_context_new(&o, &ctx) || fusec_device(ctx, NULL, NULL) || argc < 2 ||
        fusec_parse_file(ctx, argv[1], 0, NULL, &module)) {
        printf("%s\n", fusec_message(ctx));
        return 2;
    }
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (unsigned k = 0; k < sizeof sizes / sizeof *sizes; k++) one(sizes[i], sizes[k]);
    one(3, 300000);
    one(300000, 3);
    int asked = 0, torn = 0;
    const program_env all = {&asked, backwards};
    env = &all;
    one(1000, 1025);
    one(2, 500000);
    if (!asked && ++wrong) printf("parallel_for was never asked\n");
    codes();
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, in_a_thread, &torn);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    if (torn && ++wrong) printf("threads disturb each other\n");
    printf("%d calls, %d wrong\n", calls, wrong);
    fusec_module_free(module);
    fusec_context_free(ctx);
    return wrong != 0;
}
