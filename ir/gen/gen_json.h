/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gen_json.h - the interface for other languages. */
#ifndef FUSEC_IR_GEN_GEN_JSON_H
#define FUSEC_IR_GEN_GEN_JSON_H

#include "ir/gen/gen_python.h"

/* False: a header was not understood. */
bool fc_gen_json(FILE *out);

#endif
