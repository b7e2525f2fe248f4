/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* float_state.c - see float_state.h. */
#include "ir/float_state.h"

#include "ir/plant.h"
#if defined(__x86_64__)
#include <immintrin.h>

/* All exceptions masked, round to nearest, no FTZ, no DAZ; and the flags of what happened. */
enum { CLEAN = 0x1f80, FLAGS = 0x3f };
#endif

uint64_t fc_float_enter(void) {
#if defined(__x86_64__)
    uint64_t before = _mm_getcsr();
    if ((before & ~(uint64_t)FLAGS) != CLEAN && !FC_PLANTED(float_state)) _mm_setcsr(CLEAN);
    return before;
#elif defined(__aarch64__)
    uint64_t before, clean = 0;
    __asm__ volatile("mrs %0, fpcr" : "=r"(before));
    __asm__ volatile("msr fpcr, %0" : : "r"(clean));
    return before;
#else
    return 0;
#endif
}

void fc_float_leave(uint64_t before) {
#if defined(__x86_64__)
    /* The flags that the run raised stay, as after any other function. */
    if ((before & ~(uint64_t)FLAGS) != CLEAN) _mm_setcsr((unsigned)before | (_mm_getcsr() & FLAGS));
#elif defined(__aarch64__)
    __asm__ volatile("msr fpcr, %0" : : "r"(before));
#else
    (void)before;
#endif
}
