// common.cuh - what stands above every kernel. How these files become text: cuda_prelude.c.
//
// ix is the type of an index.

//@ common
#pragma nv_diag_suppress 177 /* a kernel need not use all of this */
#define FC_INLINE static __device__ __forceinline__
template <typename T, int N, int A> struct alignas(A) fc_vec { T e[N]; };
// A kernel may be on the device before what was launched ahead of it has ended: nothing is read or
// written before this.
FC_INLINE void fc_begin() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
/* x, but no compiler knows its value */
FC_INLINE float fc_opaque(float x, long long zero) {
    return __uint_as_float(__float_as_uint(x) | (unsigned int)zero);
}
FC_INLINE double fc_opaque(double x, long long zero) {
    return __longlong_as_double(__double_as_longlong(x) | zero);
}

//@ index32
typedef int ix;
FC_INLINE ix fc_quotient(ix a, ix b) {
    return (ix)((unsigned int)a / (unsigned int)b);
}

//@ index64
typedef long long ix;
FC_INLINE ix fc_quotient(ix a, ix b) {
    if (((unsigned long long)a | (unsigned long long)b) >> 32) return a / b;
    return (ix)((unsigned int)a / (unsigned int)b);
}

// What is divided by again and again. Of 32 bits: the upper bits of a product, exact below 2^31.
//@ divisor64
typedef ix fc_divisor;
FC_INLINE fc_divisor fc_divisor_of(ix b) {
    return b;
}

//@ divisor32
struct fc_divisor {
    unsigned int by, shift;
};
FC_INLINE fc_divisor fc_divisor_of(ix b) {
    const unsigned int shift = b > 1 ? 32 - __clz(b - 1) : 0;
    return fc_divisor{(unsigned int)((1ull << (31 + shift)) / (unsigned int)b + 1), 31 + shift};
}
FC_INLINE ix fc_quotient(ix a, const fc_divisor &b) {
    return (ix)((unsigned long long)(unsigned int)a * b.by >> b.shift);
}
