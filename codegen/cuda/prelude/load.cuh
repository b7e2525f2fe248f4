// load.cuh - loads of whole vectors that say what caches should do with what they read
// (cuda_load.c).

//@ load_last
// A load whose line leaves the L2 after those that have no such wish; not of fewer than 4 bytes.
// The asm is neither volatile nor does it clobber memory, so that loads may move and stand side by
// side as others do: a kernel never writes what it loads (ir/kernel.h).
template <typename V> FC_INLINE V fc_load_last(const V *p) {
#if !defined(FC_EMULATE) && __CUDA_ARCH__ >= 800
    union {
        V v;
        unsigned int r[8];
    } to;
    unsigned long long wish;
    asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(wish));
    if constexpr (sizeof(V) < 4) {
        to.v = *p;
    } else if constexpr (sizeof(V) == 4) {
        asm("ld.global.L2::cache_hint.b32 %0, [%1], %2;" : "=r"(to.r[0]) : "l"(p), "l"(wish));
    } else if constexpr (sizeof(V) == 8) {
        asm("ld.global.L2::cache_hint.v2.b32 {%0, %1}, [%2], %3;"
            : "=r"(to.r[0]), "=r"(to.r[1])
            : "l"(p), "l"(wish));
    } else {
#pragma unroll
        for (unsigned int i = 0; i < sizeof(V) / 4; i += 4)
            asm("ld.global.L2::cache_hint.v4.b32 {%0, %1, %2, %3}, [%4], %5;"
                : "=r"(to.r[i]), "=r"(to.r[i + 1]), "=r"(to.r[i + 2]), "=r"(to.r[i + 3])
                : "l"((const unsigned int *)p + i), "l"(wish));
    }
    return to.v;
#else
    return *p;
#endif
}

//@ spread
template <typename T, int N, int A> FC_INLINE void fc_spread(T *to, fc_vec<T, N, A> v) {
#pragma unroll
    for (int e = 0; e < N; e++) to[e] = v.e[e];
}

//@ put
// An element of global or shared memory takes a value in, at the same time as others do.
static __device__ inline void fc_put_sum(int *p, int v) {
    atomicAdd(p, v);
}
static __device__ inline void fc_put_sum(unsigned int *p, unsigned int v) {
    atomicAdd(p, v);
}
static __device__ inline void fc_put_sum(unsigned long long *p, unsigned long long v) {
    atomicAdd(p, v);
}
static __device__ inline void fc_put_sum(long long *p, long long v) {
    atomicAdd((unsigned long long *)p, (unsigned long long)v);
}
template <class T> static __device__ inline void fc_put_min(T *p, T v) {
    if (v < *(volatile T *)p) atomicMin(p, v);
}
template <class T> static __device__ inline void fc_put_max(T *p, T v) {
    if (v > *(volatile T *)p) atomicMax(p, v);
}

//@ put_words
// A sum of 64 bits in shared memory, as words that are N apart.
template <int N, class T> static __device__ inline void fc_put_words(unsigned int *p, T v) {
    const unsigned int low = (unsigned int)v;
    unsigned int high = (unsigned int)((unsigned long long)v >> 32);
    if (low) high += atomicAdd(p, low) + low < low;
    if (high) atomicAdd(p + N, high);
}

//@ outside
// Reports an index that is outside: the smallest position stays, with its value (codegen/nest.h).
static __device__ void fc_outside(unsigned long long *words, long long position, long long value) {
    const unsigned long long key = ~(unsigned long long)position;
    const long long low = value < -2147483648ll ? -2147483648ll : value;
    const long long in_32 = low > 2147483647ll ? 2147483647ll : low;
    atomicMax(words, key);
    atomicMax(words + 1, key << 32 | (unsigned int)in_32);
}
