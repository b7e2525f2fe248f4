/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* parsebox.h - parses and formats a text of the language for a test. */
#ifndef FUSEC_TESTS_SUPPORT_PARSEBOX_H
#define FUSEC_TESTS_SUPPORT_PARSEBOX_H

#include "frontend/lang/parse.h"

typedef struct parsed {
    fusec_status status;
    uint32_t errors, shown;
    fc_str dump, text, json;
} parsed;

/* ast_dump.c: everything but positions, one line per node: equal texts mean equal trees. */
void fc_ast_dump(const fc_ast *ast, fc_str *out);

/* A program, or what -e takes. Free the result with parsed_free. */
parsed parse_text(const char *name, const char *text, size_t len, bool snippet);
void parsed_free(parsed *r);
/* NULL if the text has mistakes. The caller frees. */
char *format_text(const char *text, size_t len, bool snippet);
/* Checks what holds for every text, good or bad: mistakes are counted and shown, what is formatted
 * reads back to the same and stays as it is. Returns whether it was good. */
bool parse_holds(const char *text, size_t len, bool snippet);

#endif
