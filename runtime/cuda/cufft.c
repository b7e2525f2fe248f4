/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cufft.c - see cufft.h. */
#include "runtime/cuda/cufft.h"

#include <stdio.h>

enum { /* of cufft.h */
       SUCCESS = 0,
       ALLOC_FAILED = 2,
       R2C = 0x2a,
       C2R = 0x2c,
       C2C = 0x29,
       D2Z = 0x6a,
       Z2D = 0x6c,
       Z2Z = 0x69,
       FORWARD = -1,
       INVERSE = 1
};

#define ROW(...) FC_DYN_ROW(fc_cufft_fns, __VA_ARGS__)
static const fc_dynsym symbols[] = {FC_CUFFT_FNS(ROW)};

/* Of CUDA 13 and 12. */
static const char *const names[] = {"libcufft.so.12", "libcufft.so.11", "libcufft.so", NULL};

/* ---- finding it ------------------------------------------------------------------------------ */

static void find_dirs(fc_dyndirs *d) {
    fc_dyndirs_init(d);
    fc_dyndirs_add(d, fc_env("CUDA_HOME"), "/lib64");
    fc_dyndirs_add(d, fc_env("CUDA_PATH"), "/lib64");
    fc_dyndirs_add(d, "", "");
    fc_dyndirs_add_toolkits(d);
    fc_dyndirs_add_wheels(d, "cufft");
}

static bool accept(void *user, const fc_dynlib *lib, char *why, size_t why_size) {
    fc_cufft *f = user;
    (void)lib;
    if (f->fn.version(&f->version) == SUCCESS) return true;
    snprintf(why, why_size, "does not tell its version");
    return false;
}

bool fc_cufft_open(const fc_alloc *alloc, const char *places, fc_cufft **out, fc_str *why) {
    fc_dyndirs dirs;
    fc_cufft *f = fc_calloc(alloc, 1, sizeof *f);
    *out = NULL;
    if (!f) {
        fc_str_add(why, "out of memory");
        return false;
    }
    f->alloc = alloc;
    find_dirs(&dirs);
    const fc_dynsearch s = {.env_name = "FUSEC_CUFFT_PATH",
                            .first = places,
                            .names = names,
                            .dirs = dirs.at,
                            .syms = symbols,
                            .n_syms = FC_COUNT(symbols),
                            .accept = accept,
                            .user = f};
    if (!fc_dynlib_open(&s, &f->fn, sizeof f->fn, &f->lib, why)) {
        fc_free(alloc, f);
        return false;
    }
    *out = f;
    return true;
}

void fc_cufft_close(fc_cufft *f) {
    /* The library stays until the process ends, as NVRTC does. */
    if (f) fc_free(f->alloc, f);
}

/* ---- plans ----------------------------------------------------------------------------------- */

static fusec_status fail(const char *what, int result, fc_error *e) {
    if (result == ALLOC_FAILED)
        return fc_fail(e, FUSEC_OUT_OF_MEMORY, "there is no memory on the device for %s", what);
    return fc_fail(e, FUSEC_DRIVER, "%s gives error %d", what, result);
}

static const struct {
    int narrow, wide; /* of f32, of f64 */
} types[] = {[FC_FFT_FORWARD] = {C2C, Z2Z},
             [FC_FFT_INVERSE] = {C2C, Z2Z},
             [FC_FFT_REAL] = {R2C, D2Z},
             [FC_FFT_INVERSE_REAL] = {C2R, Z2D}};

fusec_status fc_cufft_plan(fc_cufft *f, fc_fft_kind kind, fusec_dtype t, int64_t n, int64_t batch,
                           int *plan, size_t *room, fc_error *e) {
    const int type = t == FUSEC_C64 ? types[kind].narrow : types[kind].wide;
    long long length = n;
    int r = f->fn.create(plan);
    if (r) return fail("cufftCreate", r, e);
    r = f->fn.own_memory(*plan, 0);
    /* Without shapes all lines are dense, and steps and distances are not read. */
    if (!r) r = f->fn.make(*plan, 1, &length, NULL, 1, n, NULL, 1, n, type, batch, room);
    if (!r) return FUSEC_OK;
    f->fn.destroy(*plan);
    return fail("cufftMakePlanMany64", r, e);
}

fusec_status fc_cufft_run(fc_cufft *f, int plan, fc_fft_kind kind, fusec_dtype t, void *stream,
                          void *in, void *out, void *room, fc_error *e) {
    const fc_cufft_fns *fn = &f->fn;
    const bool narrow = t == FUSEC_C64;
    const int direction = kind == FC_FFT_INVERSE ? INVERSE : FORWARD;
    const char *what;
    int r = fn->set_stream(plan, stream);
    if (r) return fail("cufftSetStream", r, e);
    r = fn->set_memory(plan, room);
    if (r) return fail("cufftSetWorkArea", r, e);
    switch (kind) {
    case FC_FFT_REAL:
        what = narrow ? "cufftExecR2C" : "cufftExecD2Z";
        r = (narrow ? fn->run_r2c : fn->run_d2z)(plan, in, out);
        break;
    case FC_FFT_INVERSE_REAL:
        what = narrow ? "cufftExecC2R" : "cufftExecZ2D";
        r = (narrow ? fn->run_c2r : fn->run_z2d)(plan, in, out);
        break;
    default:
        what = narrow ? "cufftExecC2C" : "cufftExecZ2Z";
        r = (narrow ? fn->run_c64 : fn->run_c128)(plan, in, out, direction);
    }
    return r ? fail(what, r, e) : FUSEC_OK;
}

void fc_cufft_drop(fc_cufft *f, int plan) {
    f->fn.destroy(plan);
}
