// flash.cuh - rows of scores on tensor cores (cuda_flash.c). Of 128 columns a thread has, for each
// of two rows 8 apart, two neighbours of every 8: element i of an array of 64 is in row i / 2 % 2
// and column i / 4 * 8 + lane % 4 * 2 + i % 2.

//@ flash
FC_INLINE float fc_minus_inf() {
    return __uint_as_float(0xff800000u);
}
#ifndef FC_EMULATE
FC_INLINE void fc_group_go() {
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
/* off by 2^-22 and 2^-24 of x at most, as parts of the result */
FC_INLINE float fc_near_exp(float x) {
    float r;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x * 0x1.715476p+0f));
    return r;
}
#else
static inline void fc_group_go() {}
static inline float fc_near_exp(float x) {
    return expf(x);
}
#endif
/* of the four threads of a row */
template <typename R> FC_INLINE R fc_flash_meet(const R &a) {
    const R b = fc_join(a, fc_xor(a, 1));
    return fc_join(b, fc_xor(b, 2));
}
FC_INLINE unsigned int fc_two(unsigned short a, unsigned short b) {
    return a | (unsigned int)b << 16;
}
FC_INLINE float fc_flash_sum(float a) {
    a += __shfl_xor_sync(~0u, a, 1);
    return a + __shfl_xor_sync(~0u, a, 2);
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

//@ spans
// A whole number of which two ends are known (cuda_flash_mask.c). Ends beyond 2^61 are not: the
// number may be any.
struct fc_span {
    long long lo, hi;
};
FC_INLINE fc_span fc_any() {
    fc_span r;
    r.lo = -0x7fffffffffffffffll - 1;
    r.hi = 0x7fffffffffffffffll;
    return r;
}
FC_INLINE bool fc_is_any(const fc_span &a) {
    return a.lo < -(1ll << 61) || a.hi > 1ll << 61;
}
FC_INLINE fc_span fc_between(long long lo, long long hi) {
    fc_span r;
    r.lo = lo;
    r.hi = hi;
    return fc_is_any(r) ? fc_any() : r;
}
FC_INLINE fc_span fc_span_add(const fc_span &a, const fc_span &b) {
    return fc_is_any(a) || fc_is_any(b) ? fc_any() : fc_between(a.lo + b.lo, a.hi + b.hi);
}
FC_INLINE fc_span fc_span_neg(const fc_span &a) {
    return fc_is_any(a) ? fc_any() : fc_between(-a.hi, -a.lo);
}
FC_INLINE fc_span fc_span_sub(const fc_span &a, const fc_span &b) {
    return fc_span_add(a, fc_span_neg(b));
}
FC_INLINE bool fc_fits(long long a, long long b) {
    const double r = (double)a * (double)b;
    return r < 0x1p61 && r > -0x1p61;
}
FC_INLINE long long fc_least(long long a, long long b) {
    return a < b ? a : b;
}
FC_INLINE long long fc_most(long long a, long long b) {
    return a > b ? a : b;
}
FC_INLINE fc_span fc_span_minimum(const fc_span &a, const fc_span &b) {
    return fc_between(fc_least(a.lo, b.lo), fc_least(a.hi, b.hi));
}
FC_INLINE fc_span fc_span_maximum(const fc_span &a, const fc_span &b) {
    return fc_between(fc_most(a.lo, b.lo), fc_most(a.hi, b.hi));
}
FC_INLINE fc_span fc_span_mul(const fc_span &a, const fc_span &b) {
    if (fc_is_any(a) || fc_is_any(b) || !fc_fits(a.lo, b.lo) || !fc_fits(a.lo, b.hi) ||
        !fc_fits(a.hi, b.lo) || !fc_fits(a.hi, b.hi))
        return fc_any();
    const long long p = a.lo * b.lo, q = a.lo * b.hi, r = a.hi * b.lo, s = a.hi * b.hi;
    return fc_between(fc_least(fc_least(p, q), fc_least(r, s)),
                      fc_most(fc_most(p, q), fc_most(r, s)));
}
FC_INLINE fc_span fc_span_abs(const fc_span &a) {
    if (fc_is_any(a)) return fc_any();
    return a.lo >= 0 ? a : a.hi <= 0 ? fc_span_neg(a) : fc_between(0, fc_most(-a.lo, a.hi));
}
/* by a number */
FC_INLINE fc_span fc_span_shr(const fc_span &a, const fc_span &by) {
    return fc_is_any(a) ? a : fc_between(a.lo >> by.lo, a.hi >> by.lo);
}
FC_INLINE fc_span fc_span_shl(const fc_span &a, const fc_span &by) {
    return fc_span_mul(a, fc_between(1ll << by.lo, 1ll << by.lo));
}
/* where it may have wrapped around */
FC_INLINE fc_span fc_span_within(const fc_span &a, long long lo, long long hi) {
    return a.lo < lo || a.hi > hi ? fc_between(lo, hi) : a;
}
/* whether it holds for all, and for none */
struct fc_truth {
    bool all, none;
};
FC_INLINE fc_truth fc_truth_of(bool all, bool none) {
    fc_truth r;
    r.all = all;
    r.none = none;
    return r;
}
FC_INLINE fc_truth fc_span_lt(const fc_span &a, const fc_span &b) {
    return fc_truth_of(a.hi < b.lo, a.lo >= b.hi);
}
FC_INLINE fc_truth fc_span_le(const fc_span &a, const fc_span &b) {
    return fc_truth_of(a.hi <= b.lo, a.lo > b.hi);
}
FC_INLINE fc_truth fc_span_eq(const fc_span &a, const fc_span &b) {
    return fc_truth_of(a.lo == a.hi && b.lo == b.hi && a.lo == b.lo, a.hi < b.lo || b.hi < a.lo);
}
FC_INLINE fc_truth fc_span_logical_not(const fc_truth &a) {
    return fc_truth_of(a.none, a.all);
}
FC_INLINE fc_truth fc_span_logical_and(const fc_truth &a, const fc_truth &b) {
    return fc_truth_of(a.all && b.all, a.none || b.none);
}
FC_INLINE fc_truth fc_span_logical_or(const fc_truth &a, const fc_truth &b) {
    return fc_truth_of(a.all || b.all, a.none && b.none);
}
FC_INLINE fc_truth fc_span_gt(const fc_span &a, const fc_span &b) {
    return fc_span_lt(b, a);
}
FC_INLINE fc_truth fc_span_ge(const fc_span &a, const fc_span &b) {
    return fc_span_le(b, a);
}
FC_INLINE fc_truth fc_span_ne(const fc_span &a, const fc_span &b) {
    return fc_span_logical_not(fc_span_eq(a, b));
}
