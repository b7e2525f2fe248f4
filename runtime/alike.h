/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* alike.h - steps of a program that do the same with other arrays become one launch.
 *
 * 200 updates of 16 KiB are 200 launches of 2.7 us, or one. Steps are alike when they are kernels
 * of equal code and class with equal sizes, so that only pointers and parameters tell them apart; a
 * step may go to a launch before its own place if all that it reads is made before that launch. */
#ifndef FUSEC_RUNTIME_ALIKE_H
#define FUSEC_RUNTIME_ALIKE_H

#include "runtime/bind.h"

/* Fills launches, nlaunches and leader of `b`, whose steps are scheduled. Every step is in one
 * launch; launches are in an order in which each comes after what it reads. */
fusec_status fc_bound_group(const fc_program *p, fc_bound *b, fc_error *e);

#endif
