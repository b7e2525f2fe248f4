/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* capi.c - see capi.h. */
#include "tests/support/capi.h"

#include <stdlib.h>

#include "tests/support/test.h"

static fusec_status context(const char *device, int threads, unsigned tiers, fusec_context **ctx) {
    fusec_options o = FUSEC_OPTIONS_INIT;
    o.device = device;
    o.cache_dir = "";
    o.threads = threads;
    o.tiers = tiers;
    return fusec_context_new(&o, ctx);
}

fusec_status capi_open(const char *device, int threads, fusec_context **ctx) {
    return context(device, threads, FUSEC_TIERS_DEFAULT, ctx);
}

fusec_status capi_open_full(const char *device, int threads, fusec_context **ctx) {
    return context(device, threads, FUSEC_TIERS_FULL, ctx);
}

fusec_context *capi_device(const char *device) {
    fusec_context *ctx = NULL;
    const unsigned tiers = getenv("FUSEC_TIERS") ? FUSEC_TIERS_DEFAULT : FUSEC_TIERS_FULL;
    if (!context(device, 0, tiers, &ctx) && !fusec_device(ctx, NULL, NULL)) return ctx;
    fusec_context_free(ctx);
    return NULL;
}

fusec_graph *capi_start(const char *device, fusec_context **ctx) {
    fusec_graph *g = NULL;
    *ctx = NULL;
    FC_EXPECT_OK_TEXT(capi_open(device ? device : "interp", 0, ctx), fusec_message(NULL));
    if (*ctx) FC_EXPECT_OK_TEXT(fusec_graph_new(*ctx, &g), fusec_message(*ctx));
    return g;
}

void capi_end(fusec_context *ctx, fusec_graph *g) {
    fusec_graph_free(g);
    fusec_context_free(ctx);
}

uint64_t capi_plans(const fusec_context *ctx) {
    fusec_counters c = FUSEC_COUNTERS_INIT;
    fusec_get_counters(ctx, &c);
    return c.plans;
}

uint64_t capi_compiles(const fusec_context *ctx) {
    fusec_counters c = FUSEC_COUNTERS_INIT;
    fusec_get_counters(ctx, &c);
    return c.compiles;
}
