/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gen_api.h - the public headers as data. */
#ifndef FUSEC_IR_GEN_GEN_API_H
#define FUSEC_IR_GEN_GEN_API_H

#include <stdio.h>

#include "ir/base.h"

/* A string of JSON. */
void fc_gen_quoted(FILE *out, const char *text, size_t len);

/* The members "constants", "enums", "structs", "opaque", "callbacks" and "functions". False, and a
 * line on stderr: a header has a declaration that is not understood. */
bool fc_gen_api(FILE *out);

#endif
