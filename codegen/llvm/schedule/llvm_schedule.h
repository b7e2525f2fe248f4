/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* llvm_schedule.h - sizes to class and launch: llvm_schedule.c is the entry, llvm_columns.c does
 * reductions that keep the innermost axis, llvm_panels.c contractions; llvm_tasks.h says how work
 * is cut. */
#ifndef FUSEC_CODEGEN_LLVM_LLVM_SCHEDULE_H
#define FUSEC_CODEGEN_LLVM_LLVM_SCHEDULE_H

#include "codegen/llvm/schedule/llvm_tasks.h"

/* ---- llvm_columns.c: reductions whose innermost axis is kept ------------------------------ */

/* In: a class with vectors of one register. Makes it one of few or of wide columns. */
void fc_ll_choose_columns(const fc_machine *m, const fc_kernel *k, const fc_nest *n, fc_class *cls);
/* Gives vectors of a scan down columns several registers. */
void fc_ll_choose_scan(const fc_machine *m, const fc_kernel *k, const fc_nest *n, fc_class *cls);
/* Whether rows of few columns have more lines than the hardware follows side by side. */
bool fc_ll_has_long_rows(const fc_kernel *k, const fc_nest *n);
void fc_ll_launch_columns(const fc_kernel *k, const fc_nest *n, fc_class *cls, fc_launch *l);

/* ---- llvm_panels.c: contractions ---------------------------------------------------------- */

/* Makes the class one with panels where the nest allows it. */
fusec_status fc_ll_choose_panels(const fc_machine *m, const fc_kernel *k, const fc_nest *n,
                                 fc_arena *arena, fc_class *cls, fc_error *e);
void fc_ll_launch_panels(const fc_machine *m, const fc_kernel *k, const fc_nest *n, fc_class *cls,
                         fc_launch *l);

/* ---- fc_target ---------------------------------------------------------------------------- */

/* fc_target.quicker: a map with one register for a vector instead of several; rows that would lie
 * side by side one after the other; chunks taken and joined in one way; contractions by the lowest
 * tiles. */
bool fc_ll_quicker(const fc_machine *m, const fc_kernel *k, const fc_launch *l, fc_class *cls);
fusec_status fc_ll_schedule(const fc_machine *m, const fc_kernel *k, const fc_nest *n,
                            uint32_t align, fc_arena *arena, fc_class *cls, fc_launch *launch,
                            fc_error *e);

/* The class that takes any sizes, of a nest with the kernel's own axes (fc_nest_bind_plain): lanes
 * lie anywhere, indices have 64 bits, nothing is split. It depends on the kernel and the machine
 * alone. */
fusec_status fc_ll_schedule_plain(const fc_machine *m, const fc_kernel *k, const fc_nest *n,
                                  fc_arena *arena, fc_class *cls, fc_launch *launch, fc_error *e);

#endif
