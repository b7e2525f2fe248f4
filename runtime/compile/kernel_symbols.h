/* kernel_symbols.h - the functions of the process that CPU kernels may call: the math library for
 * f32 and f64, and the memory functions that LLVM puts in by itself. Conversions of half floats are
 * missing on purpose: the generator writes them out, and one that slips through fails at
 * loading. */
#ifndef FUSEC_RUNTIME_COMPILE_KERNEL_SYMBOLS_H
#define FUSEC_RUNTIME_COMPILE_KERNEL_SYMBOLS_H

#include "runtime/compile/objload.h"

extern const fc_symbol fc_kernel_symbols[]; /* sorted by name, as fc_object_load wants it */
extern const size_t fc_kernel_symbols_count;

#endif
