/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* llvm_run.h - runs kernels through the LLVM backend in tests: schedule, emit, compile, load, all
 * tasks. */
#ifndef FUSEC_TESTS_SUPPORT_LLVM_RUN_H
#define FUSEC_TESTS_SUPPORT_LLVM_RUN_H

#include "codegen/target.h"

/* The widths: 16 lanes for this processor, 8 for AVX2, 4 for the plainest processor of the kind. */
enum { FC_LLVM_WIDTHS = 3 };
/* One more, 4 lanes with FMA, so that functions are vector code. */
enum { FC_LLVM_NARROW_FMA = FC_LLVM_WIDTHS };
typedef struct fc_llvm_run fc_llvm_run;

/* NULL: no LLVM, no memory, or this processor has no such vectors. */
fc_llvm_run *fc_llvm_run_open(unsigned width);
void fc_llvm_run_close(fc_llvm_run *r); /* NULL is fine */
int fc_llvm_run_bytes(const fc_llvm_run *r);
fc_machine fc_llvm_run_machine(const fc_llvm_run *r);
/* 64-bit indices also where sizes do not need them. */
void fc_llvm_run_wide(fc_llvm_run *r, bool wide);

/* Runs the kernel; `words` is the parameter block without the extra words. Variants are kept by
 * class: all calls up to fc_llvm_run_clear are for the same kernel. `cls` (may be NULL) receives
 * the class. */
fusec_status fc_llvm_run_kernel(fc_llvm_run *r, const fc_kernel *k, const fc_nest *n,
                                fc_arena *arena, int64_t *words, fc_class *cls, fc_error *e);
void fc_llvm_run_clear(fc_llvm_run *r);

#endif
