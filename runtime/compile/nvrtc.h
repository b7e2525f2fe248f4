/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* nvrtc.h - CUDA C text in, cubin or PTX out, through NVRTC found at run time.
 *
 * An fc_nvrtc never changes after it is opened and NVRTC is thread-safe: any number of threads may
 * compile through one handle. The only options that shape arithmetic are fixed here, so that a
 * kernel can't be compiled with contraction or flushing by accident. */
#ifndef FUSEC_RUNTIME_COMPILE_NVRTC_H
#define FUSEC_RUNTIME_COMPILE_NVRTC_H

#include "runtime/compile/bytes.h"
#include "runtime/compile/dynlib.h"

typedef struct fc_nvrtc_program_ *fc_nvrtc_program;

/* clang-format off */
#define FC_NVRTC_FNS(X)                                                                            \
    X(const char *, error_string, "nvrtcGetErrorString", (int result), 1)                          \
    X(int, version, "nvrtcVersion", (int *major, int *minor), 1)                                   \
    X(int, create, "nvrtcCreateProgram", (fc_nvrtc_program *p, const char *source, const char *name, int n_headers, const char *const *headers, const char *const *include_names), 1) \
    X(int, destroy, "nvrtcDestroyProgram", (fc_nvrtc_program *p), 1)                               \
    X(int, compile, "nvrtcCompileProgram", (fc_nvrtc_program p, int n, const char *const *options), 1) \
    X(int, log_size, "nvrtcGetProgramLogSize", (fc_nvrtc_program p, size_t *size), 1)              \
    X(int, log, "nvrtcGetProgramLog", (fc_nvrtc_program p, char *text), 1)                         \
    X(int, ptx_size, "nvrtcGetPTXSize", (fc_nvrtc_program p, size_t *size), 1)                     \
    X(int, ptx, "nvrtcGetPTX", (fc_nvrtc_program p, char *text), 1)                                \
    X(int, cubin_size, "nvrtcGetCUBINSize", (fc_nvrtc_program p, size_t *size), 1)                 \
    X(int, cubin, "nvrtcGetCUBIN", (fc_nvrtc_program p, char *bytes), 1)                           \
    X(int, n_archs, "nvrtcGetNumSupportedArchs", (int *n), 1)                                      \
    X(int, archs, "nvrtcGetSupportedArchs", (int *archs), 1)
/* clang-format on */
typedef struct fc_nvrtc_fns {
    FC_NVRTC_FNS(FC_DYN_FIELD)
} fc_nvrtc_fns;

enum { FC_NVRTC_ARCHS = 48, FC_NVRTC_OLDEST = 12 /* of CUDA */ };

typedef struct fc_nvrtc {
    const fc_alloc *alloc;
    fc_dynlib lib;
    fc_nvrtc_fns fn;
    int major, minor;
    int n_archs;
    int archs[FC_NVRTC_ARCHS]; /* 75, 80, 86, ... ascending */
} fc_nvrtc;

typedef enum fc_nvrtc_kind { FC_NVRTC_CUBIN, FC_NVRTC_PTX } fc_nvrtc_kind;

typedef struct fc_nvrtc_options {
    const char *arch; /* "sm_90"; PTX is made for compute_90 then */
    fc_nvrtc_kind kind;
    bool quick;    /* little optimisation, as for texts with FC_CUDA_BRIEFLY, with FC_TEXT_QUICK
                      defined: half the time for what    is long */
    bool *refused; /* NULL, or becomes true when this NVRTC is too old for `quick` */
    bool fmad;     /* a*b+c may become fma: only under the float mode `contract` */
    const char *const *extra; /* further options of NVRTC */
    size_t n_extra;
} fc_nvrtc_options;

/* FUSEC_NVRTC_SETUP with a list of what was looked for when there is none. */
fusec_status fc_nvrtc_open(const fc_alloc *alloc, fc_nvrtc **out, fc_error *e);
/* The same with places that come first (fc_dynsearch.first). */
fusec_status fc_nvrtc_open_in(const fc_alloc *alloc, const char *places, fc_nvrtc **out,
                              fc_error *e);
/* The same around a table that a test made. */
fusec_status fc_nvrtc_open_with(const fc_alloc *alloc, const fc_nvrtc_fns *fn, fc_nvrtc **out,
                                fc_error *e);
void fc_nvrtc_close(fc_nvrtc *n); /* NULL is fine */

/* FUSEC_NVRTC: the text was rejected, the log is in the message. FUSEC_NVRTC_SETUP: NVRTC is
 * incomplete or does not know the architecture. `out` must be empty and stays so on failure. */
fusec_status fc_nvrtc_compile(const fc_nvrtc *n, const char *source, const char *name,
                              const fc_nvrtc_options *o, fc_bytes *out, fc_error *e);

/* What this NVRTC can make for a device of compute capability `cc` (90 for 9.0): a cubin for it or
 * for an older member of its family, else PTX of the newest older architecture, which the driver
 * translates. False when the device is older than everything NVRTC knows. */
bool fc_nvrtc_best_arch(const fc_nvrtc *n, int cc, char arch[16], fc_nvrtc_kind *kind);

/* Everything that shapes the result besides the text and the library, for cache keys. */
void fc_nvrtc_describe(const fc_nvrtc_options *o, fc_str *out);

/* The file that fc_nvrtc_open would load, without loading it (the name holds the version). */
bool fc_nvrtc_find(const char *places, char *path, size_t size);

#endif
