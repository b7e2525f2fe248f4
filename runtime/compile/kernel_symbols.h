/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kernel_symbols.h - the functions of the process that CPU kernels may call: those that rows of
 * ops.def name, for f32 and f64, and what LLVM puts in by itself. Conversions of half floats are
 * missing on purpose: the generator writes them out, and one that slips through fails at
 * loading. */
#ifndef FUSEC_RUNTIME_COMPILE_KERNEL_SYMBOLS_H
#define FUSEC_RUNTIME_COMPILE_KERNEL_SYMBOLS_H

#include "runtime/compile/objload.h"

fc_fn fc_kernel_symbol(const char *name); /* NULL: kernels can't call it */

#endif
