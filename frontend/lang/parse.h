/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* parse.h - from text to a tree.
 *
 * In: a source. Out: the tree of ast.h, and every mistake in `ds`, one message each. The return
 * value is FUSEC_OK exactly if nothing was reported for this source; otherwise the tree is
 * incomplete and good for nothing but fc_ast_free, which is needed in every case.
 *
 * No function calls itself: expressions and nested loops have stacks of their own on the heap, so
 * the depth of a program costs no C stack. The limit on nesting is the language's. */
#ifndef FUSEC_FRONTEND_LANG_PARSE_H
#define FUSEC_FRONTEND_LANG_PARSE_H

#include "frontend/lang/ast.h"

/* A file: imports, consts and defs. */
fusec_status fc_parse_program(const fc_source *src, fc_diags *ds, fc_ast *out);
/* The text of -e: bindings, then the result. */
fusec_status fc_parse_snippet(const fc_source *src, fc_diags *ds, fc_ast *out);

#endif
