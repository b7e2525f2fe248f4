/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* words.h - small texts: sizes and times for people, JSON for programs, text in markup. */
#ifndef FUSEC_FRONTEND_EXPLAIN_WORDS_H
#define FUSEC_FRONTEND_EXPLAIN_WORDS_H

#include "ir/base.h"

/* "12.3 GiB", "340 ms": for people. Return buf. */
const char *fc_show_bytes(char buf[32], int64_t bytes);
const char *fc_show_seconds(char buf[32], double seconds);
const char *fc_show_count(char buf[32], int64_t n);                   /* "235 M" */
const char *fc_show_rate(char buf[32], double bytes, double seconds); /* "3.90 TB/s" */

void fc_json_text(fc_str *out, const char *text); /* a JSON string */
/* As text, or in an attribute, of HTML and XML; what is no character there becomes U+FFFD. */
void fc_markup_text(fc_str *out, const char *text);
void fc_json_number(fc_str *out, double v); /* null if not finite */

#endif
