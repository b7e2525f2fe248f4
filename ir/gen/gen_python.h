/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gen_python.h - the parts of fusec_gen. */
#ifndef FUSEC_IR_GEN_GEN_PYTHON_H
#define FUSEC_IR_GEN_GEN_PYTHON_H

#include <stdio.h>

#include "ir/ops.h"

const char *fc_gen_takes(fc_rule rule); /* in words */
const char *fc_gen_gives(fc_rule rule);

void fc_gen_python(FILE *out);
void fc_gen_stubs(FILE *out);

#endif
