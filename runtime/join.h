/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* join.h - steps that follow each other and are one launch (codegen/joined.h).
 *
 * In: the steps of a plan with sizes. Out: for those that the target joins, the nests, classes and
 * the launch of them all; what they pass on has no memory. Deterministic: the first steps that can
 * be joined are, as many of them as can. */
#ifndef FUSEC_RUNTIME_JOIN_H
#define FUSEC_RUNTIME_JOIN_H

#include "runtime/bind.h"

/* Finds them; b->bytes are known. */
fusec_status fc_join_find(fc_program *p, fc_bound *b, fc_error *e);
/* The block of all of a launch's steps. */
bool fc_join_words(fc_bound *b, fc_bound_launch *l);

#endif
