/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* external.h - descriptions of scalar functions of the user, checked. */
#ifndef FUSEC_FRONTEND_CAPI_EXTERNAL_H
#define FUSEC_FRONTEND_CAPI_EXTERNAL_H

#include <fusec/fusec.h>

#include "ir/external.h"

bool fc_is_c_name(const char *s); /* of at most 60 characters */
/* What it says, to be interned (runtime/external.h); its texts are the caller's. */
fusec_status fc_take_extern(const fusec_extern_desc *from, fc_extern *x, fc_error *e);

#endif
