/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fake_cufft.c - cuFFT on the host, by the definition: a plan remembers its sizes, and what it runs
 * with is checked as the driver's functions check it. Found by FUSEC_CUFFT_PATH; without it there
 * is none. */
#include <complex.h>
#include <math.h>
#include <string.h>

#include "tests/fake/fake_state.h"

enum {
    PLANS = 64,
    REAL_TO_COMPLEX = 0x2a, /* and 0x6a of doubles, as the others */
    COMPLEX_TO_REAL = 0x2c,
    COMPLEX = 0x29,
    DOUBLES = 0x40,
    ALLOC_FAILED = 2,
    BAD_PLAN = 1
};

typedef struct fft {
    bool made;
    long long n, batch;
    int type;
    void *room, *stream;
    size_t bytes;
} fft;
static fft plans[PLANS];

static fft *plan_of(int plan, const char *where) {
    if (plan >= 1 && plan < PLANS && plans[plan].made) return &plans[plan];
    fake_misuse(where);
    return NULL;
}

FN(cufftGetVersion, (int *v)) {
    *v = 12000;
    return OK;
}
FN(cufftCreate, (int *plan)) {
    NEED_CONTEXT("cufftCreate");
    HIT("cufftCreate");
    for (*plan = 1; *plan < PLANS && plans[*plan].made; ++*plan) {
    }
    if (*plan == PLANS) return ALLOC_FAILED;
    plans[*plan] = (fft){.made = true};
    fake_control.transforms++;
    return OK;
}
FN(cufftDestroy, (int plan)) {
    fft *f = plan_of(plan, "cufftDestroy");
    if (!f) return BAD_PLAN;
    f->made = false;
    fake_control.transforms--;
    return OK;
}
FN(cufftSetAutoAllocation, (int plan, int on)) {
    if (!plan_of(plan, "cufftSetAutoAllocation") || on) fake_misuse("cufftSetAutoAllocation");
    return OK;
}
FN(cufftMakePlanMany64, (int plan, int rank, long long *n, long long *in_shape, long long in_step,
                         long long in_far, long long *out_shape, long long out_step,
                         long long out_far, int type, long long batch, size_t *room)) {
    NEED_CONTEXT("cufftMakePlanMany64");
    HIT("cufftMakePlanMany64");
    NEED_CALM();
    fft *f = plan_of(plan, "cufftMakePlanMany64");
    (void)in_step, (void)out_step, (void)in_far, (void)out_far;
    if (!f || rank != 1 || in_shape || out_shape) return BAD_PLAN;
    f->n = *n;
    f->batch = batch;
    f->type = type;
    f->bytes = *room = (size_t)(*n * batch) * (type & DOUBLES ? 16 : 8);
    return OK;
}
FN(cufftSetWorkArea, (int plan, void *room)) {
    fft *f = plan_of(plan, "cufftSetWorkArea");
    if (f) f->room = room;
    return f ? OK : BAD_PLAN;
}
FN(cufftSetStream, (int plan, void *stream)) {
    NEED_STREAM(stream, "cufftSetStream");
    fft *f = plan_of(plan, "cufftSetStream");
    if (f) f->stream = stream;
    return f ? OK : BAD_PLAN;
}

static bool wide(const fft *f) {
    return f->type & DOUBLES;
}
static double get(const fft *f, const void *a, long long i) {
    return wide(f) ? ((const double *)a)[i] : (double)((const float *)a)[i];
}
static void put(const fft *f, void *a, long long i, double v) {
    if (wide(f))
        ((double *)a)[i] = v;
    else
        ((float *)a)[i] = (float)v;
}

/* Element j of a line of n; of the given half of a line with symmetry as it is: what is no real
 * number at its ends shows. */
static double complex element(const fft *f, const void *in, long long b, long long j) {
    const long long half = f->n / 2 + 1;
    const int kind = f->type & ~DOUBLES;
    if (kind == REAL_TO_COMPLEX) return get(f, in, b * f->n + j);
    if (kind == COMPLEX) {
        const long long at = 2 * (b * f->n + j);
        return get(f, in, at) + I * get(f, in, at + 1);
    }
    const bool given = j < half;
    const long long at = 2 * (b * half + (given ? j : f->n - j));
    return get(f, in, at) + (given ? I : -I) * get(f, in, at + 1);
}

static double complex sum_of(const fft *f, const void *in, long long b, long long k, double turn) {
    double complex sum = 0;
    for (long long j = 0; j < f->n; j++)
        sum += element(f, in, b, j) * cexp(I * turn * (double)(j * k % f->n));
    return sum;
}

/* A line of reals from complex numbers takes both parts of a sum, so that operands without real
 * ends give another result; and the operand is lost. */
static int transform(int plan, int type, void *in, void *out, int direction, const char *where) {
    fft *f = plan_of(plan, where);
    if (!f || f->type != type) return BAD_PLAN;
    const int kind = type & ~DOUBLES;
    const long long half = f->n / 2 + 1;
    const size_t part = wide(f) ? 8 : 4;
    const size_t reals = (size_t)(f->n * f->batch) * part,
                 pairs = (size_t)(half * f->batch) * 2 * part;
    const size_t from = kind == REAL_TO_COMPLEX ? reals : kind == COMPLEX ? 2 * reals : pairs;
    const size_t to = kind == REAL_TO_COMPLEX ? pairs : kind == COMPLEX ? 2 * reals : reals;
    if (!fake_in_memory((address)(uintptr_t)in, from, where) ||
        !fake_in_memory((address)(uintptr_t)out, to, where) ||
        !fake_in_memory((address)(uintptr_t)f->room, f->bytes, where))
        return BAD_PLAN;
    fake_control.transformed++;
    const double turn = direction * 2 * acos(-1) / (double)f->n;
    const long long count = kind == REAL_TO_COMPLEX ? half : f->n;
    for (long long b = 0; b < f->batch; b++)
        for (long long k = 0; k < count; k++) {
            const double complex v = sum_of(f, in, b, k, turn);
            if (kind == COMPLEX_TO_REAL) {
                put(f, out, b * count + k, creal(v) + cimag(v));
            } else {
                put(f, out, 2 * (b * count + k), creal(v));
                put(f, out, 2 * (b * count + k) + 1, cimag(v));
            }
        }
    if (kind == COMPLEX_TO_REAL) memset(in, 0xee, from);
    return OK;
}

#define EXEC(name, type)                                                                           \
    FN(name, (int plan, void *in, void *out)) {                                                    \
        NEED_CONTEXT(#name);                                                                       \
        HIT(#name);                                                                                \
        return transform(plan, type, in, out, ((type)&0xf) == 0xc ? 1 : -1, #name);                \
    }
EXEC(cufftExecR2C, REAL_TO_COMPLEX)
EXEC(cufftExecD2Z, REAL_TO_COMPLEX | DOUBLES)
EXEC(cufftExecC2R, COMPLEX_TO_REAL)
EXEC(cufftExecZ2D, COMPLEX_TO_REAL | DOUBLES)

#define EXEC_COMPLEX(name, type)                                                                   \
    FN(name, (int plan, void *in, void *out, int direction)) {                                     \
        NEED_CONTEXT(#name);                                                                       \
        HIT(#name);                                                                                \
        return transform(plan, type, in, out, direction, #name);                                   \
    }
EXEC_COMPLEX(cufftExecC2C, COMPLEX)
EXEC_COMPLEX(cufftExecZ2Z, COMPLEX | DOUBLES)
