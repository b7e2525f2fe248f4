/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* version.h - the version in include/fusec/fusec.h as text: "0.1.0". */
#ifndef FUSEC_IR_VERSION_H
#define FUSEC_IR_VERSION_H

#include <fusec/fusec.h>

#define FC_VERSION_WORD_(x) #x
#define FC_VERSION_WORD(x)  FC_VERSION_WORD_(x)
#define FC_VERSION                                                                                 \
    FC_VERSION_WORD(FUSEC_VERSION_MAJOR)                                                           \
    "." FC_VERSION_WORD(FUSEC_VERSION_MINOR) "." FC_VERSION_WORD(FUSEC_VERSION_PATCH)

#endif
