/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* language.h - what the functions that read texts of the language share. */
#ifndef FUSEC_FRONTEND_CAPI_LANGUAGE_H
#define FUSEC_FRONTEND_CAPI_LANGUAGE_H

#include "frontend/lang/diag.h"

/* What was found wrong, as an error: the text, and for fusec_message_place the place of the first
 * mistake. */
fusec_status fc_language_failed(fc_diags *ds, const fc_alloc *a, fusec_status s, fc_error *e);

#endif
