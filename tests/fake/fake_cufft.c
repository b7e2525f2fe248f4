/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fake_cufft.c - cuFFT on the host, by the definition: a plan remembers its sizes, and what it runs
 * with is checked as the driver's functions check it. Found by FUSEC_CUFFT_PATH; without it there
 * is none. */
#include <complex.h>
#include <math.h>

#include "tests/fake/fake_state.h"

enum { PLANS = 64, C2C = 0x29, ALLOC_FAILED = 2, BAD_PLAN = 1 };

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
    f->bytes = *room = (size_t)(*n * batch) * (type == C2C ? 8 : 16);
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

static double complex get(const fft *f, const void *a, long long i) {
    return f->type == C2C ? (double complex)((const float complex *)a)[i]
                          : ((const double complex *)a)[i];
}

static int transform(int plan, const void *in, void *out, int direction, const char *where) {
    fft *f = plan_of(plan, where);
    if (!f) return BAD_PLAN;
    const address at[3] = {(address)(uintptr_t)in, (address)(uintptr_t)out,
                           (address)(uintptr_t)f->room};
    for (int i = 0; i < 3; i++)
        if (!fake_in_memory(at[i], f->bytes, where)) return BAD_PLAN;
    fake_control.transformed++;
    const double turn = direction * 2 * acos(-1) / (double)f->n;
    for (long long b = 0; b < f->batch; b++)
        for (long long k = 0; k < f->n; k++) {
            double complex sum = 0;
            for (long long j = 0; j < f->n; j++)
                sum += get(f, in, b * f->n + j) * cexp(I * turn * (double)(j * k % f->n));
            if (f->type == C2C)
                ((float complex *)out)[b * f->n + k] = (float complex)sum;
            else
                ((double complex *)out)[b * f->n + k] = sum;
        }
    return OK;
}
FN(cufftExecC2C, (int plan, void *in, void *out, int direction)) {
    NEED_CONTEXT("cufftExecC2C");
    HIT("cufftExecC2C");
    return transform(plan, in, out, direction, "cufftExecC2C");
}
FN(cufftExecZ2Z, (int plan, void *in, void *out, int direction)) {
    NEED_CONTEXT("cufftExecZ2Z");
    HIT("cufftExecZ2Z");
    return transform(plan, in, out, direction, "cufftExecZ2Z");
}
