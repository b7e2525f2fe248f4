/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* device_cuda_fft.c - Fourier transforms on a GPU, by cuFFT where it is there. */
#include "runtime/cuda/cufft.h"
#include "runtime/cuda/device_cuda.h"

typedef struct fft_plan {
    int plan;
    fusec_dtype t;
} fft_plan;

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

static fusec_status make(fc_device *d, fusec_dtype t, int64_t n, int64_t batch, size_t *room,
                         void **out, fc_error *e) {
    fc_gpu *c = fc_gpu_of(d);
    *out = NULL;
    *room = 0;
    if (!c->cuda) return FUSEC_OK; /* offline: nothing runs */
    pthread_mutex_lock(&c->fft_lock);
    fc_cufft *f = library(c);
    fusec_status s = FUSEC_OK;
    if (f) {
        fft_plan *p = fc_calloc(d->alloc, 1, sizeof *p);
        s = p ? fc_gpu_enter(c, e) : fc_oom(e);
        if (!s) {
            const int mode = fc_cuda_relax(c->cuda); /* it allocates */
            p->t = t;
            s = fc_cufft_plan(f, t, n, batch, &p->plan, room, e);
            fc_cuda_restore(c->cuda, mode);
            fc_gpu_leave(c);
        }
        if (s)
            fc_free(d->alloc, p);
        else
            *out = p;
    }
    pthread_mutex_unlock(&c->fft_lock);
    return s;
}

static fusec_status run(fc_device *d, fc_stream stream, void *plan, bool inverse, const void *in,
                        void *out, void *room, fc_error *e) {
    fc_gpu *c = fc_gpu_of(d);
    const fft_plan *p = plan;
    FC_TRY(fc_gpu_enter(c, e));
    pthread_mutex_lock(&c->fft_lock); /* stream and memory are the plan's, until it is launched */
    const fusec_status s =
        fc_cufft_run(c->cufft, p->plan, p->t, fc_gpu_stream(c, stream), inverse, in, out, room, e);
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
        fc_str_printf(out, "by cuFFT %d.%d", f->version / 1000, f->version % 1000 / 100);
    else
        fc_str_printf(out,
                      "by the CPU, so the arrays go to the host and back: there is no cuFFT: %s",
                      c->no_cufft);
    pthread_mutex_unlock(&c->fft_lock);
}

const struct fc_device_fft fc_gpu_fft = {make, run, drop, who};
