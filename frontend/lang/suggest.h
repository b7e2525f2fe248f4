/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* suggest.h - "did you mean": the nearest names, and what other tools call our functions.
 *
 *     fc_suggest s;
 *     fc_suggest_start(&s, "sotfplus", 8);
 *     fc_suggest_try(&s, "softplus"); ...              every name in scope; the strings must stay
 *     fc_suggest_help(&s, diag);                       help: did you mean softplus?
 */
#ifndef FUSEC_FRONTEND_LANG_SUGGEST_H
#define FUSEC_FRONTEND_LANG_SUGGEST_H

#include "frontend/lang/diag.h"

#define FC_SUGGEST_MAX 3

typedef struct fc_suggest {
    const char *word;
    size_t len;
    unsigned limit; /* largest distance that counts: max(1, length / 3) */
    const char *best[FC_SUGGEST_MAX];
    unsigned distance[FC_SUGGEST_MAX];
    unsigned count;
} fc_suggest;

void fc_suggest_start(fc_suggest *s, const char *word, size_t len);
void fc_suggest_try(fc_suggest *s, const char *name);
/* Adds the help line if there is anything near, and where the message points at the word each name
 * as a fix. */
void fc_suggest_help(const fc_suggest *s, fc_diag *d);

/* Damerau-Levenshtein distance (insert, delete, replace, swap two neighbours); anything above
 * `limit` may come back as limit + 1. */
unsigned fc_edit_distance(const char *a, size_t na, const char *b, size_t nb, unsigned limit);

/* Our spelling of a name that other tools use ("fabs": "abs", "power": "**"), NULL if there is
 * none. Such names are never accepted as input. */
const char *fc_foreign_name(const char *word, size_t len);

#endif
