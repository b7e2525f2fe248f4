/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* sha256.h - SHA-256 (FIPS 180-4): names and checks the entries of the disk cache. */
#ifndef FUSEC_RUNTIME_SHA256_H
#define FUSEC_RUNTIME_SHA256_H

#include "ir/base.h"

enum { FC_SHA256_SIZE = 32 };

/* Takes n blocks of 64 bytes in. */
typedef void fc_sha256_mix(uint32_t state[8], const uint8_t *block, size_t n);
fc_sha256_mix fc_sha256_mix_plain;
fc_sha256_mix *fc_sha256_mix_here(void); /* by this processor's instructions, if it has any */
extern const uint32_t fc_sha256_constants[64];

typedef struct fc_sha256 {
    fc_sha256_mix *mix;
    uint32_t state[8];
    uint64_t total; /* bytes so far */
    uint8_t block[64];
} fc_sha256;

void fc_sha256_init(fc_sha256 *s);
void fc_sha256_add(fc_sha256 *s, const void *data, size_t len);
/* A length in front of the bytes, so that ("ab", "c") and ("a", "bc") differ: for keys of several
 * parts. */
void fc_sha256_add_part(fc_sha256 *s, const void *data, size_t len);
void fc_sha256_end(fc_sha256 *s, uint8_t out[FC_SHA256_SIZE]);

void fc_sha256_hex(const uint8_t digest[FC_SHA256_SIZE], char out[2 * FC_SHA256_SIZE + 1]);

#endif
