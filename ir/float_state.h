/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* float_state.h - the control register of floats.
 *
 * What fusec computes rounds to nearest and keeps subnormals, whatever the caller has set: kernels
 * run in this state, and so does everything that computes with constants (folding, the passes, the
 * writing of text). The caller gets its own state back. */
#ifndef FUSEC_IR_FLOAT_STATE_H
#define FUSEC_IR_FLOAT_STATE_H

#include <stdint.h>

/* Rounding to nearest, subnormals kept, no traps; gives what was before. */
uint64_t fc_float_enter(void);
void fc_float_leave(uint64_t before);

#endif
