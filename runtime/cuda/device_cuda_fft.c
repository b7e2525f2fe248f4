/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* device_cuda_fft.c - Fourier transforms on a GPU, by cuFFT where it is there and makes a plan. */
#include "runtime/cuda/cufft.h"
#include "runtime/cuda/device_cuda.h"

#include <stdio.h>

typedef struct fft_plan {
    int plan;
    fc_fft_kind kind;
    fusec_dtype t;
    int64_t n, batch;
    size_t own; /* bytes of the library's room; behind it the copy of an operand, if there is one */
} fft_plan;

static size_t pair_bytes(const fft_plan *p) {
    return fc_dtypes[p->t].bytes;
}
static size_t half_bytes(const fft_plan *p) { /* of a line of n/2 + 1 elements */
    return (size_t)(p->n / 2 + 1) * pair_bytes(p);
}

/* Looks for the library once. Under fft_lock. */
static fc_cufft *library(fc_gpu *c) {
    if (c->cufft || c->cufft_searched) return c->cufft;
    fc_str why;
    fc_str_init(&why, c->base.alloc);
    c->cufft_searched = true;
    if (!fc_cufft_open(c->base.alloc, c->base.places, &c->cufft, &why)) {
        const size_t n = why.len < sizeof c->no_cufft - 1 ? why.len : sizeof c->no_cufft - 1;
        memcpy(c->no_cufft, why.data, n);
        c->no_cufft[n] = 0;
    }
    fc_str_free(&why);
    return c->cufft;
}

/* A plan that cuFFT does not make is no error: the CPU transforms, and explain says why. Without
 * memory it is one, as the next call may find some. */
static fusec_status make_plan(fc_gpu *c, fc_cufft *f, fft_plan *p, size_t *room, bool *made,
                              fc_error *e) {
    fc_error refused = {0};
    FC_TRY(fc_gpu_enter(c, e));
    const int mode = fc_cuda_relax(c->cuda); /* it allocates */
    const fusec_status s =
        fc_cufft_plan(f, p->kind, p->t, p->n, p->batch, &p->plan, room, &refused);
    fc_cuda_restore(c->cuda, mode);
    fc_gpu_leave(c);
    *made = !s;
    if (s == FUSEC_OUT_OF_MEMORY) return fc_fail(e, s, "%s", refused.message);
    if (s) {
        snprintf(c->refused, sizeof c->refused, "lines of %lld elements: %.120s", (long long)p->n,
                 refused.message);
        *room = 0;
        return FUSEC_OK;
    }
    p->own = *room = (*room + 255) / 256 * 256;
    if (p->kind == FC_FFT_INVERSE_REAL) *room += (size_t)p->batch * half_bytes(p);
    return FUSEC_OK;
}

static fusec_status make(fc_device *d, fc_fft_kind kind, fusec_dtype t, int64_t n, int64_t batch,
                         size_t *room, void **out, fc_error *e) {
    fc_gpu *c = fc_gpu_of(d);
    bool made = false;
    *out = NULL;
    *room = 0;
    if (!c->cuda) return FUSEC_OK; /* offline: nothing runs */
    pthread_mutex_lock(&c->fft_lock);
    fc_cufft *f = library(c);
    fusec_status s = FUSEC_OK;
    if (f) {
        fft_plan *p = fc_calloc(d->alloc, 1, sizeof *p);
        if (p) *p = (fft_plan){.kind = kind, .t = t, .n = n, .batch = batch};
        s = p ? make_plan(c, f, p, room, &made, e) : fc_oom(e);
        if (made)
            *out = p;
        else
            fc_free(d->alloc, p);
    }
    pthread_mutex_unlock(&c->fft_lock);
    return s;
}

/* Element `at` of all lines of the copy becomes real. */
static fusec_status make_real(fc_gpu *c, const fft_plan *p, char *copy, int64_t at, fc_cu_stream s,
                              fc_error *e) {
    const size_t part = pair_bytes(p) / 2, far = half_bytes(p);
    const fc_cu_ptr first = (fc_cu_ptr)(uintptr_t)(copy + (size_t)at * 2 * part + part);
    if (far <= INT32_MAX)
        return fc_cuda_memset_2d_async(c->cuda, first, far, part, (size_t)p->batch, s, e);
    for (int64_t i = 0; i < p->batch; i++) /* no driver takes lines so far apart */
        FC_TRY(fc_cuda_memset_async(c->cuda, first + (size_t)i * far, 0, part, s, e));
    return FUSEC_OK;
}

/* A copy of the operand that the library may write into, with real ends. */
static fusec_status copy_halves(fc_gpu *c, const fft_plan *p, const void *in, char *copy,
                                fc_cu_stream s, fc_error *e) {
    FC_TRY(fc_cuda_d2d_async(c->cuda, (fc_cu_ptr)(uintptr_t)copy, (fc_cu_ptr)(uintptr_t)in,
                             (size_t)p->batch * half_bytes(p), s, e));
    FC_TRY(make_real(c, p, copy, 0, s, e));
    return p->n % 2 ? FUSEC_OK : make_real(c, p, copy, p->n / 2, s, e);
}

static fusec_status run(fc_device *d, fc_stream stream, void *plan, const void *in, void *out,
                        void *room, fc_error *e) {
    fc_gpu *c = fc_gpu_of(d);
    const fft_plan *p = plan;
    const fc_cu_stream on = fc_gpu_stream(c, stream);
    void *from = (void *)(uintptr_t)in; /* only FC_FFT_INVERSE_REAL changes it */
    FC_TRY(fc_gpu_enter(c, e));
    fusec_status s = FUSEC_OK;
    if (p->kind == FC_FFT_INVERSE_REAL) {
        from = (char *)room + p->own;
        s = copy_halves(c, p, in, from, on, e);
    }
    pthread_mutex_lock(&c->fft_lock); /* stream and memory are the plan's, until it is launched */
    if (!s) s = fc_cufft_run(c->cufft, p->plan, p->kind, p->t, on, from, out, room, e);
    pthread_mutex_unlock(&c->fft_lock);
    fc_gpu_leave(c);
    return s;
}

static void drop(fc_device *d, void *plan) {
    fc_gpu *c = fc_gpu_of(d);
    fft_plan *p = plan;
    if (!p) return;
    if (!fc_gpu_enter(c, NULL)) {
        pthread_mutex_lock(&c->fft_lock);
        fc_cufft_drop(c->cufft, p->plan);
        pthread_mutex_unlock(&c->fft_lock);
        fc_gpu_leave(c);
    }
    fc_free(d->alloc, p);
}

static void who(fc_device *d, fc_str *out) {
    fc_gpu *c = fc_gpu_of(d);
    pthread_mutex_lock(&c->fft_lock);
    const fc_cufft *f = c->cuda ? library(c) : NULL;
    if (!c->cuda)
        fc_str_add(out, "by cuFFT where it is found, else by the CPU");
    else if (f)
        fc_str_printf(out, "by cuFFT %d.%d%s%s", f->version / 1000, f->version % 1000 / 100,
                      c->refused[0] ? "; by the CPU what cuFFT refused, the last time " : "",
                      c->refused);
    else
        fc_str_printf(out,
                      "by the CPU, so the arrays go to the host and back: there is no cuFFT: %s",
                      c->no_cufft);
    pthread_mutex_unlock(&c->fft_lock);
}

const struct fc_device_fft fc_gpu_fft = {make, run, drop, who};
