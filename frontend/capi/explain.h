/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* explain.h - plans as texts, for programs and for values that are computed on demand. */
#ifndef FUSEC_FRONTEND_CAPI_EXPLAIN_H
#define FUSEC_FRONTEND_CAPI_EXPLAIN_H

#include "frontend/capi/program.h"
#include "frontend/explain/plan_view.h"

/* The text of a program's plan; `q` with what is known of a call. Names and types are its title if
 * it has none. */
fusec_status fc_explain(fusec_context *c, fc_program *p, fc_plan_query *q,
                        const fusec_explain_options *o, char **out, fc_error *e);
/* Whether they are flags, and go together; `times`: whether it may run. Reports. */
fusec_status fc_explain_flags(const char *what, unsigned flags, bool times);

#endif
