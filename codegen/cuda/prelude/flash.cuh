// flash.cuh - rows of scores on tensor cores (cuda_flash.c). Of 128 columns a thread has, for each of two rows 8 apart,
// two neighbours of every 8: element i of an array of 64 is in row i / 2 % 2 and column i / 4 * 8 + lane % 4 * 2 + i % 2.

//@ flash
FC_INLINE float fc_minus_inf() { return __uint_as_float(0xff800000u); }
#ifndef FC_EMULATE
FC_INLINE void fc_group_go() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
/* off by 2^-22 and 2^-24 of x at most, as parts of the result */
FC_INLINE float fc_near_exp(float x) {
    float r;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x * 0x1.715476p+0f));
    return r;
}
#else
static inline void fc_group_go() {}
static inline float fc_near_exp(float x) { return expf(x); }
#endif
/* of the four threads of a row */
template <typename R> FC_INLINE R fc_flash_meet(const R &a) {
    const R b = fc_join(a, fc_xor(a, 1));
    return fc_join(b, fc_xor(b, 2));
}
/* 128 lanes of each row, pairwise, neighbours first */
template <typename R> FC_INLINE void fc_flash_lanes(const R (&w)[64], R (&out)[2]) {
    R t[32];
#pragma unroll
    for (int i = 0; i < 32; i++) t[i] = fc_flash_meet(fc_join(w[2 * i], w[2 * i + 1]));
#pragma unroll
    for (int s = 2; s < 32; s *= 2)
#pragma unroll
        for (int i = 0; i < 32; i += 2 * s) {
            t[i] = fc_join(t[i], t[i + s]);
            t[i + 1] = fc_join(t[i + 1], t[i + 1 + s]);
        }
    out[0] = t[0];
    out[1] = t[1];
}
