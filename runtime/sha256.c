/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* sha256.c - see sha256.h. */
#include "runtime/sha256.h"

/* The first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t turn(uint32_t x, unsigned n) {
    return x >> n | x << (32 - n);
}

static uint32_t big_endian(const uint8_t *p) {
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void mix_block(uint32_t state[8], const uint8_t *block) {
    uint32_t w[64], v[8];
    for (int i = 0; i < 16; i++) w[i] = big_endian(block + 4 * i);
    for (int i = 16; i < 64; i++) {
        uint32_t a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + (turn(a, 7) ^ turn(a, 18) ^ a >> 3) + w[i - 7] +
               (turn(b, 17) ^ turn(b, 19) ^ b >> 10);
    }
    memcpy(v, state, sizeof v);
    for (int i = 0; i < 64; i++) {
        uint32_t s1 = turn(v[4], 6) ^ turn(v[4], 11) ^ turn(v[4], 25);
        uint32_t s0 = turn(v[0], 2) ^ turn(v[0], 13) ^ turn(v[0], 22);
        uint32_t choose = (v[4] & v[5]) ^ (~v[4] & v[6]);
        uint32_t major = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
        uint32_t t1 = v[7] + s1 + choose + k[i] + w[i], t2 = s0 + major;
        memmove(v + 1, v, 7 * sizeof v[0]);
        v[4] += t1;
        v[0] = t1 + t2;
    }
    for (int i = 0; i < 8; i++) state[i] += v[i];
}

void fc_sha256_init(fc_sha256 *s) {
    /* The same of the square roots of the first eight primes. */
    static const uint32_t first[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    memcpy(s->state, first, sizeof first);
    s->total = 0;
}

void fc_sha256_add(fc_sha256 *s, const void *data, size_t len) {
    const uint8_t *p = data;
    size_t held = s->total % 64;
    s->total += len;
    while (len) {
        if (held == 0 && len >= 64) {
            mix_block(s->state, p);
            p += 64, len -= 64;
            continue;
        }
        size_t n = 64 - held < len ? 64 - held : len;
        memcpy(s->block + held, p, n);
        p += n, len -= n, held += n;
        if (held == 64) mix_block(s->state, s->block), held = 0;
    }
}

void fc_sha256_add_part(fc_sha256 *s, const void *data, size_t len) {
    uint8_t size[8];
    for (int i = 0; i < 8; i++) size[i] = (uint8_t)((uint64_t)len >> 8 * i);
    fc_sha256_add(s, size, sizeof size);
    fc_sha256_add(s, data, len);
}

void fc_sha256_end(fc_sha256 *s, uint8_t out[FC_SHA256_SIZE]) {
    static const uint8_t padding[64] = {0x80};
    uint8_t bits[8];
    uint64_t total = s->total * 8;
    for (int i = 0; i < 8; i++) bits[i] = (uint8_t)(total >> (56 - 8 * i));
    size_t held = s->total % 64;
    fc_sha256_add(s, padding, held < 56 ? 56 - held : 120 - held);
    fc_sha256_add(s, bits, sizeof bits);
    for (int i = 0; i < FC_SHA256_SIZE; i++)
        out[i] = (uint8_t)(s->state[i / 4] >> (24 - i % 4 * 8));
}

void fc_sha256_hex(const uint8_t digest[FC_SHA256_SIZE], char out[2 * FC_SHA256_SIZE + 1]) {
    for (int i = 0; i < FC_SHA256_SIZE; i++) {
        out[2 * i] = "0123456789abcdef"[digest[i] >> 4];
        out[2 * i + 1] = "0123456789abcdef"[digest[i] & 15];
    }
    out[2 * FC_SHA256_SIZE] = 0;
}
