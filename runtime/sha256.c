/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* sha256.c - see sha256.h. */
#include "runtime/sha256.h"

/* The first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
const uint32_t fc_sha256_constants[64] = {
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

/* Word i of the schedule of a block, of which 16 are kept. */
static uint32_t next_word(uint32_t w[16], int i) {
    const uint32_t a = w[(i + 1) % 16], b = w[(i + 14) % 16];
    return w[i % 16] += (turn(a, 7) ^ turn(a, 18) ^ a >> 3) + w[(i + 9) % 16] +
                        (turn(b, 17) ^ turn(b, 19) ^ b >> 10);
}

/* A round. Instead of moving on, the eight values have other names in the next one. */
#define ROUND(a, b, c, d, e, f, g, h, i, word)                                                     \
    do {                                                                                           \
        const uint32_t t1 = (h) + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) +                       \
                            (((e) & (f)) ^ (~(e) & (g))) + fc_sha256_constants[i] + (word);        \
        const uint32_t t2 =                                                                        \
            (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + (((a) & (b)) ^ ((a) & (c)) ^ ((b) & (c)));  \
        (d) += t1;                                                                                 \
        (h) = t1 + t2;                                                                             \
    } while (0)
#define ROUNDS(i, word)                                                                            \
    do {                                                                                           \
        ROUND(a, b, c, d, e, f, g, h, (i), word(i));                                               \
        ROUND(h, a, b, c, d, e, f, g, (i) + 1, word((i) + 1));                                     \
        ROUND(g, h, a, b, c, d, e, f, (i) + 2, word((i) + 2));                                     \
        ROUND(f, g, h, a, b, c, d, e, (i) + 3, word((i) + 3));                                     \
        ROUND(e, f, g, h, a, b, c, d, (i) + 4, word((i) + 4));                                     \
        ROUND(d, e, f, g, h, a, b, c, (i) + 5, word((i) + 5));                                     \
        ROUND(c, d, e, f, g, h, a, b, (i) + 6, word((i) + 6));                                     \
        ROUND(b, c, d, e, f, g, h, a, (i) + 7, word((i) + 7));                                     \
    } while (0)
#define FROM_BLOCK(i) (w[i] = big_endian(block + 4 * (i)))
#define FROM_WORDS(i) next_word(w, i)

static void mix_block(uint32_t state[8], const uint8_t *block) {
    uint32_t w[16], a = state[0], b = state[1], c = state[2], d = state[3], e = state[4],
                    f = state[5], g = state[6], h = state[7];
    for (int i = 0; i < 16; i += 8) ROUNDS(i, FROM_BLOCK);
    for (int i = 16; i < 64; i += 8) ROUNDS(i, FROM_WORDS);
    const uint32_t more[8] = {a, b, c, d, e, f, g, h};
    for (int i = 0; i < 8; i++) state[i] += more[i];
}

void fc_sha256_mix_plain(uint32_t state[8], const uint8_t *block, size_t n) {
    for (; n; n--, block += 64) mix_block(state, block);
}

void fc_sha256_init(fc_sha256 *s) {
    /* The same of the square roots of the first eight primes. */
    static const uint32_t first[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    memcpy(s->state, first, sizeof first);
    s->mix = fc_sha256_mix_here();
    s->total = 0;
}

void fc_sha256_add(fc_sha256 *s, const void *data, size_t len) {
    const uint8_t *p = data;
    size_t held = s->total % 64;
    s->total += len;
    while (len) {
        if (held == 0 && len >= 64) {
            const size_t blocks = len / 64;
            s->mix(s->state, p, blocks);
            p += 64 * blocks, len -= 64 * blocks;
            continue;
        }
        size_t n = 64 - held < len ? 64 - held : len;
        memcpy(s->block + held, p, n);
        p += n, len -= n, held += n;
        if (held == 64) s->mix(s->state, s->block, 1), held = 0;
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
