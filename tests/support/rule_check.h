/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* rule_check.h - tries a rewrite rule on values: both sides are computed, and have to agree.
 *
 * Both texts of the rule are computed as the interpreter computes code (ir/code.h, ir/eval.h), on
 * blocks of values, so that all values of a 16-bit dtype take milliseconds:
 *
 *   bool, i8, u8        every combination of up to two letters
 *   f16, bf16           every value of each letter against special values of the others
 *   other dtypes        special values in every combination, and random ones
 *
 * fc_rule_check_pairs takes every pair of f16 values for a rule of two letters, or of a letter and
 * a constant, which takes a minute or two for each rule.
 *
 * Points that break a promise of the licence (a nan under NNAN, an inf under NINF, in any step) do
 * not count. Rules that may round otherwise (REASSOC, RECIP, APPROX, CONTRACT) are computed in f64
 * on f16 values and compared up to an error relative to the largest step. */
#ifndef FUSEC_TESTS_SUPPORT_RULE_CHECK_H
#define FUSEC_TESTS_SUPPORT_RULE_CHECK_H

#include "passes/match.h"

typedef struct fc_rule_report {
    uint64_t points; /* compared */
    uint64_t wrong;
    char first[400]; /* the first point that is wrong, or why nothing could be computed */
} fc_rule_report;

/* `c` is a compiled rule. `wrong` also counts a dtype for which there was nothing to compare. */
void fc_rule_check(const fc_compiled *c, fc_rule_report *out);

bool fc_rule_has_pairs(const fc_compiled *c);
void fc_rule_check_pairs(const fc_compiled *c, fc_rule_report *out);

#endif
