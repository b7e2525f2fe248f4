/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* sha256_mix.c - blocks of 64 bytes into the state of a SHA-256, by the instructions that x86
 * processors have for it: two rounds each, of four words of the schedule. */
#include "runtime/sha256.h"

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#include <cpuid.h>
#include <immintrin.h>
#include <stdatomic.h>

#define TARGET __attribute__((target("sha,sse4.1")))

static bool has_instructions(void) {
    enum { SSSE3 = 1 << 9, SSE41 = 1 << 19, SHA = 1 << 29 };
    unsigned a, b = 0, c = 0, d, other;
    if (!__get_cpuid(1, &a, &other, &c, &d) || !__get_cpuid_count(7, 0, &a, &b, &other, &d))
        return false;
    return (c & SSSE3) && (c & SSE41) && (b & SHA);
}

/* The words of the block that follow the last sixteen. */
TARGET static inline __m128i next_words(const __m128i w[4], unsigned g) {
    const __m128i last = w[(g + 3) % 4], seven = _mm_alignr_epi8(last, w[(g + 2) % 4], 4);
    const __m128i first = _mm_sha256msg1_epu32(w[g % 4], w[(g + 1) % 4]);
    return _mm_sha256msg2_epu32(_mm_add_epi32(first, seven), last);
}

/* The instructions want the state as a b e f and c d g h, from the highest word down. */
TARGET static void mix(uint32_t state[8], const uint8_t *block, size_t n) {
    const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    const __m128i low = _mm_loadu_si128((const void *)state);
    const __m128i high = _mm_loadu_si128((const void *)(state + 4));
    const __m128i ba_dc = _mm_shuffle_epi32(low, 0xb1), efgh = _mm_shuffle_epi32(high, 0x1b);
    __m128i abef = _mm_alignr_epi8(ba_dc, efgh, 8), cdgh = _mm_blend_epi16(efgh, ba_dc, 0xf0);
    for (; n; n--, block += 64) {
        const __m128i abef_before = abef, cdgh_before = cdgh;
        __m128i w[4];
#pragma GCC unroll 16
        for (unsigned g = 0; g < 16; g++) {
            w[g % 4] = g < 4 ? _mm_shuffle_epi8(_mm_loadu_si128((const void *)(block + 16 * g)),
                                                big_endian)
                             : next_words(w, g);
            const __m128i k = _mm_loadu_si128((const void *)(fc_sha256_constants + 4 * g));
            const __m128i sum = _mm_add_epi32(w[g % 4], k);
            cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
            abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0e));
        }
        abef = _mm_add_epi32(abef, abef_before);
        cdgh = _mm_add_epi32(cdgh, cdgh_before);
    }
    const __m128i feba = _mm_shuffle_epi32(abef, 0x1b), dchg = _mm_shuffle_epi32(cdgh, 0xb1);
    _mm_storeu_si128((void *)state, _mm_blend_epi16(feba, dchg, 0xf0));
    _mm_storeu_si128((void *)(state + 4), _mm_alignr_epi8(dchg, feba, 8));
}

/* Asked once: a virtual machine takes longer to answer than a text of some KiB does. */
fc_sha256_mix *fc_sha256_mix_here(void) {
    static _Atomic(fc_sha256_mix *) known;
    fc_sha256_mix *m = atomic_load_explicit(&known, memory_order_relaxed);
    if (m) return m;
    m = has_instructions() ? mix : fc_sha256_mix_plain;
    atomic_store_explicit(&known, m, memory_order_relaxed);
    return m;
}

#else

fc_sha256_mix *fc_sha256_mix_here(void) {
    return fc_sha256_mix_plain;
}

#endif
