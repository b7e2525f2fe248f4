/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* outside.h - what checks of indices report, and the error that is made of it.
 *
 * Each check of a program has two words (codegen/nest.h). On the host they are a part of a call's
 * scratch, so a call knows of its own indices only; on other devices they belong to the program and
 * are looked at when somebody waits for it. */
#ifndef FUSEC_RUNTIME_OUTSIDE_H
#define FUSEC_RUNTIME_OUTSIDE_H

#include "runtime/bind.h"

/* Number of checks before step `step`; with the number of steps: all. */
uint32_t fc_outside_before(const fc_plan *plan, size_t step);
/* Where the words of a step begin among all words, in bytes. */
static inline size_t fc_outside_offset(const fc_plan *plan, size_t step) {
    return (size_t)fc_outside_before(plan, step) * 2 * sizeof(uint64_t);
}
static inline size_t fc_outside_bytes(const fc_plan *plan) {
    return fc_outside_offset(plan, plan->steps.len);
}

/* FUSEC_INDEX_OUT_OF_RANGE if some word is not 0: which access, at which place, what it was. The
 * first check of the program that failed is told, and of it the smallest position. */
fusec_status fc_outside_look(const fc_program *p, const fc_bound *b, const uint64_t *words,
                             fc_error *e);

/* Where step `step` of a call with this scratch reports; 0: it has nothing to report. */
int64_t fc_outside_address(const fc_program *p, const fc_bound *b, uint32_t step, void *scratch);

/* Devices with memory of their own: the program's words, made when a call needs them first. */
fusec_status fc_outside_make(fc_program *p, fc_error *e);
void fc_outside_free(fc_program *p);
/* Waits for `s`, looks at the words and clears them. `b` are sizes of a call that may have failed.
 */
fusec_status fc_outside_wait(fc_program *p, fc_bound *b, fc_stream s, fc_error *e);

#endif
