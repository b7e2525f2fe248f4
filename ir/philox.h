/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* philox.h - Philox4x32-10, the generator behind all random numbers of fusec (docs/semantics.md,
 * section 11): block n of a stream is four words that depend on seed, stream and n alone. */
#ifndef FUSEC_IR_PHILOX_H
#define FUSEC_IR_PHILOX_H

#include <stdint.h>

/* Ten rounds on the counter, in place; the key is the seed. */
static inline void fc_philox_rounds(uint32_t c[4], uint64_t seed) {
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    for (int round = 0; round < 10; round++) {
        const uint64_t a = (uint64_t)c[0] * 0xD2511F53u, b = (uint64_t)c[2] * 0xCD9E8D57u;
        c[0] = (uint32_t)(b >> 32) ^ c[1] ^ k0;
        c[1] = (uint32_t)b;
        c[2] = (uint32_t)(a >> 32) ^ c[3] ^ k1;
        c[3] = (uint32_t)a;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
}

static inline void fc_philox_block(uint64_t n, uint64_t seed, uint64_t stream, uint32_t out[4]) {
    out[0] = (uint32_t)n;
    out[1] = (uint32_t)(n >> 32);
    out[2] = (uint32_t)stream;
    out[3] = (uint32_t)(stream >> 32);
    fc_philox_rounds(out, seed);
}

/* Draw i of 64 bits: two words of block i / 2. The row philox of ops.def. */
static inline uint64_t fc_philox(uint64_t i, uint64_t seed, uint64_t stream) {
    uint32_t w[4];
    fc_philox_block(i / 2, seed, stream, w);
    return i % 2 ? w[2] | (uint64_t)w[3] << 32 : w[0] | (uint64_t)w[1] << 32;
}

#endif
