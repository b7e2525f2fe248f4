/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gradient_check.h - derivatives against central differences. */
#ifndef FUSEC_TESTS_SUPPORT_GRADIENT_CHECK_H
#define FUSEC_TESTS_SUPPORT_GRADIENT_CHECK_H

#include "tests/support/gradient_box.h"

typedef fc_node (*gx_function)(fc_graph *g, fc_node x);

/* A function of one input of these axes: its gradient is what central differences of a weighted sum
 * of its result say; forward mode and the jacobian agree. The result has at most three axes. */
void gx_check(const char *what, gx_function f, int64_t a, int64_t b, int64_t c);

#endif
