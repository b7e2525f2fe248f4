/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* b2nd.h - arrays of Blosc2 in a file of their own, .b2nd, read through libblosc2
 * (FUSEC_BLOSC2_PATH names it), as a source of dense bytes in C order like that of zarr.h. Dtype
 * and shape come from the file's header, which is read here, so that nothing depends on the
 * library's structs. */
#ifndef FUSEC_FRONTEND_CLI_B2ND_H
#define FUSEC_FRONTEND_CLI_B2ND_H

#include "frontend/io/npy.h"

fusec_status fc_b2nd_open(fc_reader *s, const fc_alloc *alloc, const char *path, fc_npy *h,
                          fc_error *e);

#endif
