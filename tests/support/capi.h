/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* capi.h - what the tests of the public functions share. */
#ifndef FUSEC_TESTS_SUPPORT_CAPI_H
#define FUSEC_TESTS_SUPPORT_CAPI_H

#include <fusec/fusec.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A context without a disk cache; 0 threads: as many as it likes. */
fusec_status capi_open(const char *device, int threads, fusec_context **ctx);
/* The same without quick code: what a call does is not a matter of time. */
fusec_status capi_open_full(const char *device, int threads, fusec_context **ctx);
/* The same with the device open, and with full code only, unless FUSEC_TIERS in the environment
 * says otherwise; NULL where the machine has no such device. */
fusec_context *capi_device(const char *device);
/* A context on the device named (NULL: the interpreter), and a graph; NULL after a failure, which
 * is reported. */
fusec_graph *capi_start(const char *device, fusec_context **ctx);
void capi_end(fusec_context *ctx, fusec_graph *g);

/* Around a test on the interpreter: `ctx` and `g`. */
#define CAPI_START()                                                                               \
    fusec_context *ctx;                                                                            \
    fusec_graph *g = capi_start(NULL, &ctx);                                                       \
    FC_ASSERT_TRUE(g != NULL)
#define CAPI_END() capi_end(ctx, g)

/* Counters of the context. */
uint64_t capi_plans(const fusec_context *ctx);
uint64_t capi_compiles(const fusec_context *ctx);

/* The interface used from C++ (capi_cxx.cc): 0 when everything went well. */
int capi_from_cxx(fusec_graph *g);

#ifdef __cplusplus
}
#endif
#endif
