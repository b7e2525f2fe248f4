/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* objreloc.c - see objreloc.h. The numbers are those of the two processor supplements of the ELF
 * ABI. */
#include "runtime/compile/objreloc.h"

enum { /* x86-64 */
       X_64 = 1,
       X_PC32 = 2,
       X_PLT32 = 4,
       X_GOTPCREL = 9,
       X_32 = 10,
       X_32S = 11,
       X_PC64 = 24,
       X_GOTPCRELX = 41,
       X_REX_GOTPCRELX = 42
};

enum { /* aarch64 */
       A_ABS64 = 257,
       A_ABS32 = 258,
       A_PREL64 = 260,
       A_PREL32 = 261,
       A_LD_PREL_LO19 = 273,
       A_ADR_PREL_LO21 = 274,
       A_ADR_PREL_PG_HI21 = 275,
       A_ADR_PREL_PG_HI21_NC = 276,
       A_ADD_LO12 = 277,
       A_LDST8_LO12 = 278,
       A_TSTBR14 = 279,
       A_CONDBR19 = 280,
       A_JUMP26 = 282,
       A_CALL26 = 283,
       A_LDST16_LO12 = 284,
       A_LDST32_LO12 = 285,
       A_LDST64_LO12 = 286,
       A_LDST128_LO12 = 299,
       A_ADR_GOT_PAGE = 311,
       A_LD64_GOT_LO12 = 312
};

static bool fits_signed(int64_t v, unsigned bits) {
    int64_t half = (int64_t)1 << (bits - 1);
    return v >= -half && v < half;
}

static void put32(uint8_t *at, uint32_t v) {
    memcpy(at, &v, sizeof v); /* both architectures are little-endian here */
}

static void put64(uint8_t *at, uint64_t v) {
    memcpy(at, &v, sizeof v);
}

static uint32_t get32(const uint8_t *at) {
    uint32_t v;
    memcpy(&v, at, sizeof v);
    return v;
}

static fc_reloc_base kind_x86(uint32_t type, unsigned *width) {
    switch (type) {
    case X_64:
    case X_PC64: *width = 8; return FC_RELOC_SYMBOL;
    case X_PC32:
    case X_PLT32:
    case X_32:
    case X_32S: *width = 4; return FC_RELOC_SYMBOL;
    case X_GOTPCREL:
    case X_GOTPCRELX:
    case X_REX_GOTPCRELX: *width = 4; return FC_RELOC_GOT;
    default: return FC_RELOC_UNKNOWN;
    }
}

static fc_reloc_base kind_arm(uint32_t type, unsigned *width) {
    *width = type == A_ABS64 || type == A_PREL64 ? 8 : 4;
    switch (type) {
    case A_ABS64:
    case A_ABS32:
    case A_PREL64:
    case A_PREL32:
    case A_LD_PREL_LO19:
    case A_ADR_PREL_LO21:
    case A_ADR_PREL_PG_HI21:
    case A_ADR_PREL_PG_HI21_NC:
    case A_ADD_LO12:
    case A_LDST8_LO12:
    case A_TSTBR14:
    case A_CONDBR19:
    case A_JUMP26:
    case A_CALL26:
    case A_LDST16_LO12:
    case A_LDST32_LO12:
    case A_LDST64_LO12:
    case A_LDST128_LO12: return FC_RELOC_SYMBOL;
    case A_ADR_GOT_PAGE:
    case A_LD64_GOT_LO12: return FC_RELOC_GOT;
    default: return FC_RELOC_UNKNOWN;
    }
}

fc_reloc_base fc_reloc_kind(int machine, uint32_t type, unsigned *width) {
    *width = 0;
    if (machine == FC_EM_X86_64) return kind_x86(type, width);
    if (machine == FC_EM_AARCH64) return kind_arm(type, width);
    return FC_RELOC_UNKNOWN;
}

static bool apply_x86(uint32_t type, uint8_t *at, uint64_t address, uint64_t value) {
    int64_t distance = (int64_t)(value - address);
    switch (type) {
    case X_64: put64(at, value); return true;
    case X_PC64: put64(at, (uint64_t)distance); return true;
    case X_32: put32(at, (uint32_t)value); return value <= UINT32_MAX;
    case X_32S: put32(at, (uint32_t)value); return fits_signed((int64_t)value, 32);
    case X_PC32:
    case X_PLT32:
    case X_GOTPCREL:
    case X_GOTPCRELX:
    case X_REX_GOTPCRELX: put32(at, (uint32_t)distance); return fits_signed(distance, 32);
    default: return false;
    }
}

/* Replaces `count` bits of the instruction from bit `low` on. */
static void put_field(uint8_t *at, unsigned low, unsigned count, uint64_t bits) {
    uint32_t mask = ((UINT32_C(1) << count) - 1) << low;
    put32(at, (get32(at) & ~mask) | ((uint32_t)(bits << low) & mask));
}

/* A branch or literal load: a signed distance in words. */
static bool put_words(uint8_t *at, unsigned low, unsigned count, int64_t distance) {
    put_field(at, low, count, (uint64_t)distance >> 2);
    return (distance & 3) == 0 && fits_signed(distance, count + 2);
}

/* adr and adrp: 21 bits, the two lowest at bit 29. */
static bool put_adr(uint8_t *at, int64_t value) {
    put_field(at, 29, 2, (uint64_t)value & 3);
    put_field(at, 5, 19, (uint64_t)value >> 2);
    return fits_signed(value, 21);
}

/* The low 12 bits of an address, as the scaled offset of a load or store of 1 << shift bytes. */
static bool put_low12(uint8_t *at, uint64_t value, unsigned shift) {
    put_field(at, 10, 12, (value & 0xfff) >> shift);
    return (value & ((UINT64_C(1) << shift) - 1)) == 0;
}

static bool apply_arm(uint32_t type, uint8_t *at, uint64_t address, uint64_t value) {
    int64_t distance = (int64_t)(value - address);
    int64_t pages = (int64_t)((value & ~UINT64_C(0xfff)) - (address & ~UINT64_C(0xfff))) >> 12;
    switch (type) {
    case A_ABS64: put64(at, value); return true;
    case A_PREL64: put64(at, (uint64_t)distance); return true;
    case A_ABS32: put32(at, (uint32_t)value); return value <= UINT32_MAX;
    case A_PREL32: put32(at, (uint32_t)distance); return fits_signed(distance, 32);
    case A_LD_PREL_LO19:
    case A_CONDBR19: return put_words(at, 5, 19, distance);
    case A_TSTBR14: return put_words(at, 5, 14, distance);
    case A_JUMP26:
    case A_CALL26: return put_words(at, 0, 26, distance);
    case A_ADR_PREL_LO21: return put_adr(at, distance);
    case A_ADR_PREL_PG_HI21_NC: (void)put_adr(at, pages); return true;
    case A_ADR_PREL_PG_HI21:
    case A_ADR_GOT_PAGE: return put_adr(at, pages);
    case A_ADD_LO12:
    case A_LDST8_LO12: return put_low12(at, value, 0);
    case A_LDST16_LO12: return put_low12(at, value, 1);
    case A_LDST32_LO12: return put_low12(at, value, 2);
    case A_LDST64_LO12:
    case A_LD64_GOT_LO12: return put_low12(at, value, 3);
    case A_LDST128_LO12: return put_low12(at, value, 4);
    default: return false;
    }
}

bool fc_reloc_apply(int machine, uint32_t type, uint8_t *at, uint64_t address, uint64_t value) {
    if (machine == FC_EM_X86_64) return apply_x86(type, at, address, value);
    if (machine == FC_EM_AARCH64) return apply_arm(type, at, address, value);
    return false;
}
