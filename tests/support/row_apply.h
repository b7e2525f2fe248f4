/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* row_apply.h - a row of ir/ops.def through the public functions. */
#ifndef FUSEC_TESTS_SUPPORT_ROW_APPLY_H
#define FUSEC_TESTS_SUPPORT_ROW_APPLY_H

#include <fusec/fusec.h>

#include "ir/ops.h"

/* The row of x, or of x and y; an empty value for other rows. */
fusec_value fc_row_apply(fc_op op, fusec_value x, fusec_value y);

#endif
