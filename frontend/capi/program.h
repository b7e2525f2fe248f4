/* program.h - what is behind fusec_program. */
#ifndef FUSEC_FRONTEND_CAPI_PROGRAM_H
#define FUSEC_FRONTEND_CAPI_PROGRAM_H

#include "frontend/capi/capi.h"

struct fusec_program {
    fusec_context *ctx;
    fc_program *p;
};

/* All outputs of a graph whose leaves are inputs; `name` (may be NULL) is for people. */
fusec_status fc_new_program(fusec_context *c, const fc_graph *g, unsigned flags, unsigned mode,
                            const char *name, fusec_program **out, fc_error *e);

#endif
