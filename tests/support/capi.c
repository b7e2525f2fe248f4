/* capi.c - see capi.h. */
#include "tests/support/capi.h"

#include "tests/support/test.h"

fusec_graph *capi_start(const char *device, fusec_context **ctx) {
    fusec_options o = FUSEC_OPTIONS_INIT;
    fusec_graph *g = NULL;
    o.device = device ? device : "interp";
    o.cache_dir = "";
    *ctx = NULL;
    FC_EXPECT_OK_TEXT(fusec_context_new(&o, ctx), fusec_message(NULL));
    if (*ctx) FC_EXPECT_OK_TEXT(fusec_graph_new(*ctx, &g), fusec_message(*ctx));
    return g;
}

void capi_end(fusec_context *ctx, fusec_graph *g) {
    fusec_graph_free(g);
    fusec_context_free(ctx);
}
