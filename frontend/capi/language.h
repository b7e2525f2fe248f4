/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* language.h - what the functions that read texts of the language share. */
#ifndef FUSEC_FRONTEND_CAPI_LANGUAGE_H
#define FUSEC_FRONTEND_CAPI_LANGUAGE_H

#include "frontend/capi/capi.h"
#include "frontend/lang/ast.h"
#include "frontend/lang/diag.h"

enum { FC_MOST_RESULTS = 64 }; /* of an expression */

/* What was found wrong, as an error: the text, and for fusec_message_place the place of the first
 * mistake. */
fusec_status fc_language_failed(fc_diags *ds, const fc_alloc *a, fusec_status s, fc_error *e);

/* The results of an expression whose names are these values, with the definitions of a module (may
 * be NULL). A mistake stays with the graph. */
fusec_status fc_language_values(fusec_graph *g, const fusec_module *m, const fc_ast *ast, int n,
                                const char *const *names, const fusec_value *values, int nresults,
                                fusec_value *results);

/* texts.c: a result of the text of this number (fusec_text_number). */
fusec_value fc_text_value(fusec_graph *g, int64_t number, int n, const fusec_value *v, int result,
                          int nresults);

#endif
