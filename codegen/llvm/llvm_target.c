/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* llvm_target.c - the CPU target: the one file that knows both its schedules and its emitter. */
#include "codegen/llvm/llvm_text.h"
#include "codegen/llvm/schedule/llvm_schedule.h"

const fc_target fc_llvm_target = {.kind = FC_TARGET_LLVM,
                                  .schedule = fc_ll_schedule,
                                  .schedule_plain = fc_ll_schedule_plain,
                                  .emit = fc_ll_emit,
                                  .quicker = fc_ll_quicker};
