/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* sha256.h - SHA-256 (FIPS 180-4): names and checks the entries of the disk cache. */
#ifndef FUSEC_RUNTIME_SHA256_H
#define FUSEC_RUNTIME_SHA256_H

#include "ir/base.h"

enum { FC_SHA256_SIZE = 32 };

typedef struct fc_sha256 {
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
