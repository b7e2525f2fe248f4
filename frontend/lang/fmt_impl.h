/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fmt_impl.h - what the files of the formatter share. */
#ifndef FUSEC_FRONTEND_LANG_FMT_IMPL_H
#define FUSEC_FRONTEND_LANG_FMT_IMPL_H

#include "frontend/lang/fmt.h"

/* ---- fmt_space.c ---- */
/* The text of a token as it is printed. */
const char *fc_fmt_text(const fc_source *src, const fc_token *t, uint32_t *len);
/* Spaces between two tokens of one line, 0 or 1; `subscript`: the innermost open bracket is "[". */
unsigned fc_fmt_gap(const fc_source *src, const fc_token *prev, const fc_token *cur,
                    bool subscript);
/* Marks the names that stand for dtypes outside signatures: in casts, dtype=, and bitcast. */
void fc_fmt_mark_dtypes(fc_ast *ast);

#endif
