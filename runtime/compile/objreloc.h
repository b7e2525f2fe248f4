/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* objreloc.h - applies one relocation of x86-64 or aarch64 to bytes in memory.
 *
 * Works for both architectures on both: nothing is executed here, which lets tests check it
 * anywhere. */
#ifndef FUSEC_RUNTIME_COMPILE_OBJRELOC_H
#define FUSEC_RUNTIME_COMPILE_OBJRELOC_H

#include "ir/base.h"

enum { FC_EM_X86_64 = 62, FC_EM_AARCH64 = 183 };

typedef enum fc_reloc_base {
    FC_RELOC_SYMBOL, /* against the address of the symbol */
    FC_RELOC_GOT,    /* against the address of an 8-byte slot that holds it */
    FC_RELOC_UNKNOWN
} fc_reloc_base;

/* What the value of this relocation is made of, and how many bytes it writes at its place. */
fc_reloc_base fc_reloc_kind(int machine, uint32_t type, unsigned *width);

/* Writes to `at`, which is (or will be) at `address`; `value` is the symbol's or slot's address
 * plus the addend. False when the value does not fit, is not aligned as the instruction needs, or
 * the type is not known. */
bool fc_reloc_apply(int machine, uint32_t type, uint8_t *at, uint64_t address, uint64_t value);

#endif
