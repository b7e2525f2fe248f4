/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fuzz_text.h - graphs as programs, for fuzz.c. Apart from it, because the oracle and the language
 * have types of the same name. */
#ifndef FUSEC_TESTS_SUPPORT_FUZZ_TEXT_H
#define FUSEC_TESTS_SUPPORT_FUZZ_TEXT_H

#include "ir/external.h"

void fuzz_text_print(const fc_graph *g, fc_str *out);
/* Whether the graph, saved as bytes, is read as the same one. */
bool fuzz_saved_agrees(const fc_graph *g, fc_str *why);
/* Whether the printed graph reads, and prints as the same text again, and the same of its bytes;
 * `why` says what is wrong. */
bool fuzz_text_agrees(const fc_graph *g, fc_str *why);
/* The graph of a program; `g` is to be freed in any case. */
bool fuzz_text_read(const char *name, const char *text, fc_graph *g, fc_str *why);
bool fuzz_text_read_with(const char *name, const char *text, const fc_extern_source *externs,
                         fc_graph *g, fc_str *why);

#endif
