/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cpu_bits.c - see cpu_bits.h. */
#include "runtime/cpu_bits.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "codegen/target.h"

#if defined(__x86_64__)

static uint64_t xcr0(void) {
    uint32_t lo, hi;
    __asm__ volatile("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
    return (uint64_t)hi << 32 | lo;
}

uint64_t fc_cpu_saved_registers(void) {
    unsigned a, b, ecx = 0, d;
    __get_cpuid(1, &a, &b, &ecx, &d);
    return ecx >> 27 & 1 ? xcr0() : 0;
}

unsigned fc_cpu_bits(void) {
    enum { XCR0_AVX = 0x6, XCR0_AVX512 = 0xe6 };
    static const struct {
        unsigned leaf7, bit, feature;
        bool avx512;
    } bits[] = {{0, 20, FC_CPU_SSE42, false},   {0, 28, FC_CPU_AVX, false},
                {0, 12, FC_CPU_FMA, false},     {0, 29, FC_CPU_F16C, false},
                {1, 5, FC_CPU_AVX2, false},     {1, 8, FC_CPU_BMI2, false},
                {1, 16, FC_CPU_AVX512F, true},  {1, 30, FC_CPU_AVX512BW, true},
                {1, 17, FC_CPU_AVX512DQ, true}, {1, 31, FC_CPU_AVX512VL, true}};
    unsigned a, b, d, ecx = 0, b7 = 0, found = 0;
    __get_cpuid(1, &a, &b, &ecx, &d);
    __get_cpuid_count(7, 0, &a, &b7, &b, &d);
    const uint64_t saved = fc_cpu_saved_registers();
    const bool avx = (saved & XCR0_AVX) == XCR0_AVX, avx512 = (saved & XCR0_AVX512) == XCR0_AVX512;
    for (size_t i = 0; i < FC_COUNT(bits); i++) {
        const unsigned word = bits[i].leaf7 ? b7 : ecx;
        const bool state = bits[i].avx512 ? avx512 : avx || bits[i].feature == FC_CPU_SSE42;
        if (state && word >> bits[i].bit & 1) found |= bits[i].feature;
    }
    return found;
}

#else

uint64_t fc_cpu_saved_registers(void) {
    return 0;
}

unsigned fc_cpu_bits(void) {
#if defined(__aarch64__)
    return FC_CPU_NEON;
#else
    return 0;
#endif
}

#endif
