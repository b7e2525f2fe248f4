/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* status.h - the result of every fusec function that can fail. FUSEC_OK is 0; the numbers of the
 * others stand in their rows (errors.def) and never change. */
#ifndef FUSEC_STATUS_H
#define FUSEC_STATUS_H

typedef enum fusec_status {
    FUSEC_OK = 0,
#define FUSEC_ERR(number, name, slug, exit_code, text) FUSEC_##name = number,
#include <fusec/errors.def>
#undef FUSEC_ERR
} fusec_status;

#endif
