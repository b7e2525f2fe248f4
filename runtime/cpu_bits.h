/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cpu_bits.h - what this processor has, without the rest of cpuinfo.h: one instruction or two, no
 * state. */
#ifndef FUSEC_RUNTIME_CPU_BITS_H
#define FUSEC_RUNTIME_CPU_BITS_H

#include <stdint.h>

unsigned fc_cpu_bits(void); /* FC_CPU_ bits; a feature counts when its registers are saved, too */
uint64_t fc_cpu_saved_registers(void); /* XCR0: those that the system saves; 0 elsewhere */

#endif
