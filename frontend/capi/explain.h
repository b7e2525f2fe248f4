/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* explain.h - a plan's text for the C functions that explain. */
#ifndef FUSEC_FRONTEND_CAPI_EXPLAIN_H
#define FUSEC_FRONTEND_CAPI_EXPLAIN_H

#include "frontend/capi/program.h"
#include "frontend/explain/plan_view.h"

/* `q` says inputs and sizes; the rest of it is filled here. */
fusec_status fc_explain(fusec_context *c, fc_program *p, fc_plan_query *q, unsigned flags,
                        char **out, fc_error *e);

/* FUSEC_INVALID for flags that there are not, or that exclude each other. */
fusec_status fc_explain_flags(const char *what, unsigned flags);

#endif
