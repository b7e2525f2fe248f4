// trees.cuh - the fixed trees of reductions, as templates over the accumulator types of cuda_red.c,
// which bring fc_join, fc_meet, fc_xor, fc_from, fc_even, fc_pick and fc_join_even.
//
// Trees are built by a binary counter: after n leaves there is one finished subtree of 2^l leaves
// for each bit l of n; a new leaf joins those that it completes.

//@ trees
template <typename T> FC_INLINE T fc_lane_xor(T v, int mask) {
    return (T)__shfl_xor_sync(0xffffffffu, v, mask);
}
template <typename T> FC_INLINE T fc_lane_from(T v, int lane) {
    return (T)__shfl_sync(0xffffffffu, v, lane);
}
/* over aligned groups of `width` lanes, in lane order; every lane gets the result */
template <typename R> FC_INLINE R fc_lanes(R x, int width) {
#pragma unroll
    for (int m = 1; m < width; m *= 2) x = fc_meet(x, fc_xor(x, m), (threadIdx.x & m) != 0);
    return x;
}
template <typename R> FC_INLINE R fc_lanes_even(R x, int width) {
#pragma unroll
    for (int m = 1; m < width; m *= 2) x = fc_meet(x, fc_even(x, m), (threadIdx.x & m) != 0);
    return x;
}
/* lane l keeps the subtree of 2^l leaves */
template <typename R> FC_INLINE R fc_total(const R &kept, unsigned int n, R start) {
    bool any = false;
    for (int l = 0; n >> l; l++) {
        if (!(n >> l & 1)) continue;
        const R y = fc_from(kept, l);
        start = any ? fc_join(y, start) : y;
        any = true;
    }
    return start;
}
/* the same in one thread; gives the largest subtree that x completes */
template <typename R> FC_INLINE R fc_put(R *kept, R x, unsigned int n) {
    int l = 0;
    for (; n >> l & 1; l++) x = fc_join(kept[l], x);
    kept[l] = x;
    return x;
}
template <typename R> FC_INLINE R fc_sum(const R *kept, unsigned int n, R start, bool any = false) {
    for (int l = 0; n >> l; l++) {
        if (!(n >> l & 1)) continue;
        start = any ? fc_join(kept[l], start) : kept[l];
        any = true;
    }
    return start;
}
/* m[0] = N places, STEP apart; with `even` each has so many elements */
template <int N, int STEP, typename R, typename... E> FC_INLINE void fc_places(R *m, E... even) {
    R y[N];
#pragma unroll
    for (int u = 0; u < N; u++) y[u] = m[u * STEP];
#pragma unroll
    for (int s = 1; s < N; s *= 2)
#pragma unroll
        for (int u = 0; u < N; u += 2 * s)
            if constexpr (sizeof...(E))
                y[u] = fc_join_even(y[u], y[u + s], (long long)even * s...);
            else
                y[u] = fc_join(y[u], y[u + s]);
    m[0] = y[0];
}
/* the counter of fc_put with the lowest levels in registers */
template <int L = 0, typename R, int N>
FC_INLINE void fc_count(R (&near)[N], R *far, R x, unsigned int n) {
    if constexpr (L == N)
        fc_put(far, x, n >> N);
    else if (n >> L & 1)
        fc_count<L + 1>(near, far, fc_join(near[L], x), n);
    else
        near[L] = x;
}
template <typename R, int N>
FC_INLINE R fc_near(const R (&near)[N], unsigned int n, R x, bool &any) {
#pragma unroll
    for (int l = 0; l < N; l++) {
        if (n >> l & 1) {
            if (any)
                x = fc_join(near[l], x);
            else
                x = near[l];
            any = true;
        }
    }
    return x;
}
template <typename R, int N>
FC_INLINE R fc_counted(const R (&near)[N], const R *far, unsigned int n, R x) {
    bool any = false;
    x = fc_near(near, n, x, any);
    return fc_sum(far, n >> N, x, any);
}
/* the same where all levels are near */
template <int L = 0, typename R, int N> FC_INLINE void fc_fill(R (&near)[N], R x, unsigned int n) {
    if constexpr (L + 1 < N) {
        if (n >> L & 1) {
            fc_fill<L + 1>(near, fc_join(near[L], x), n);
            return;
        }
    }
    near[L] = x;
}
template <typename R, int N> FC_INLINE R fc_filled(const R (&near)[N], unsigned int n, R x) {
    bool any = false;
    return fc_near(near, n, x, any);
}

//@ scan
// What is left of each run of a thread, nested from the latest to the earliest subtree, and the
// tree over the runs of a block of N threads. A subtree comes in front of those that a thread has;
// `any`: it has some.
template <int RUNS, typename R> FC_INLINE void fc_in_front(R (&left)[RUNS], const R &x, bool any) {
    left[0] = any ? fc_join(x, left[0]) : x;
#pragma unroll
    for (int r = 1; r < RUNS; r++) left[r] = fc_join(x, left[r]);
}
/* `warps`: N / 32 places, which nobody reads any more */
template <int N, int RUNS, typename R>
FC_INLINE R fc_grow(const R (&run)[RUNS], R (&left)[RUNS], R *warps) {
    const unsigned int lane = threadIdx.x & 31, warp = threadIdx.x / 32;
    R y[RUNS];
#pragma unroll
    for (int r = 0; r < RUNS; r++) y[r] = run[r];
#pragma unroll
    for (int s = 1; s < RUNS; s *= 2) {
#pragma unroll
        for (int r = s; r < RUNS; r++)
            if (r & s) left[r] = r & (s - 1) ? fc_join(y[r & -2 * s], left[r]) : y[r & -2 * s];
#pragma unroll
        for (int r = 0; r < RUNS; r += 2 * s) y[r] = fc_join(y[r], y[r + s]);
    }
    R x = y[0];
#pragma unroll
    for (unsigned int m = 1; m < 32; m *= 2) {
        const R other = fc_xor(x, (int)m);
        if (lane & m) fc_in_front(left, other, (lane & (m - 1)) != 0);
        x = fc_meet(x, other, (lane & m) != 0);
    }
    if constexpr (N > 32) {
        if (lane == 0) warps[warp] = x;
        __syncthreads();
        x = warps[lane % (N / 32)];
#pragma unroll
        for (unsigned int m = 1; m < N / 32; m *= 2) {
            const R before = fc_from(x, (int)(warp & (0u - 2 * m)));
            if (warp & m) fc_in_front(left, before, (threadIdx.x & (32 * m - 1)) != 0);
            x = fc_meet(x, fc_xor(x, (int)m), (lane & m) != 0);
        }
    }
    return x;
}
/* with the subtrees before the tile, far[l] of 2^l tiles where bit l of n is set; then where lane l
 * has it */
template <int RUNS, typename R>
FC_INLINE void fc_far(const R *far, unsigned int n, R (&left)[RUNS], bool any) {
    for (int l = 0; n >> l; l++) {
        if (!(n >> l & 1)) continue;
        fc_in_front(left, far[l], any);
        any = true;
    }
}
template <int RUNS, typename R>
FC_INLINE void fc_far(const R &kept, unsigned int n, R (&left)[RUNS], bool any) {
    for (int l = 0; n >> l; l++) {
        if (!(n >> l & 1)) continue;
        fc_in_front(left, fc_from(kept, l), any);
        any = true;
    }
}
template <typename R> FC_INLINE void fc_keep(R &kept, R x, unsigned int n) {
    unsigned int l = 0;
    for (; n >> l & 1; l++) x = fc_join(fc_from(kept, (int)l), x);
    if ((threadIdx.x & 31) == l) kept = x;
}

//@ scan_columns
// The same for N neighbouring columns of a thread
template <typename R, int N>
struct alignas(R) alignas(sizeof(R) * N % 16 == 0  ? 16
                          : sizeof(R) * N % 8 == 0 ? 8
                                                   : 1) fc_columns {
    R c[N];
};
template <typename R, int N>
FC_INLINE fc_columns<R, N> fc_join(const fc_columns<R, N> &a, const fc_columns<R, N> &b) {
    fc_columns<R, N> r;
#pragma unroll
    for (int i = 0; i < N; i++) r.c[i] = fc_join(a.c[i], b.c[i]);
    return r;
}
// where the lanes of a warp have columns, and the N warps of a block a run of each. `tree`: 32 * N
// places.
template <int N, typename R> FC_INLINE R fc_grow_columns(const R &run, R &left, R *tree) {
    const unsigned int t = threadIdx.x / 32;
    R kept[N];
    tree += threadIdx.x & 31;
    tree[t * 32] = run;
    __syncthreads();
#pragma unroll
    for (unsigned int u = 0; u < N; u++) {
        if (u == t) left = fc_filled(kept, u, left);
        fc_fill(kept, tree[u * 32], u);
    }
    return fc_filled(kept, N, left);
}

//@ staged
// Elements of a tile, then what is made of them. Units of 16 bytes change places so that threads
// with runs of 16 meet different banks; element e of four has the place of the first ^ e.
template <int BYTES> struct fc_stage_unit {
    enum { align = BYTES % 16 == 0 ? 16 : BYTES % 8 == 0 ? 8 : 1 };
};
template <typename X, typename Y>
union alignas(X) alignas(Y) alignas(
    fc_stage_unit<(sizeof(X) > sizeof(Y) ? sizeof(X) : sizeof(Y))>::align) fc_staged {
    X x;
    Y y;
};
template <typename S> FC_INLINE int fc_stage_at(const S *, int i) {
    const int unit = sizeof(S) <= 4 ? 4 : sizeof(S) <= 8 ? 2 : 1;
    return i ^ (i >> 3 & 7 * unit);
}

//@ back
// Tiles of a row that different blocks scan: they look back at the totals of those before
// (cuda_walk.c). Level 0 has the total of each tile, level L that of each 32^L tiles, which the
// last of them publishes. A tile needs of each level those before it in its group of 32: at most
// four reads of a row of 32 words, whatever the number of tiles.
#ifndef FC_EMULATE
#define FC_PAUSE()
#endif
template <typename R> FC_INLINE void fc_publish(volatile unsigned long long *slot, const R &x) {
    const int words = ((int)sizeof(R) + 3) / 4;
    unsigned int w[words] = {0};
    memcpy(w, &x, sizeof(R));
#pragma unroll
    for (int i = 0; i < words; i++) slot[i] = 1ull << 32 | w[i];
}
/* Loads are answered one after the other, behind all those of elements that the SM waits for, and
   atomics are not; but several words take too many of those. */
template <int WORDS> FC_INLINE unsigned long long fc_poll(volatile unsigned long long *slot) {
    return WORDS == 1 ? atomicAdd((unsigned long long *)slot, 0ull) : *slot;
}
template <typename R> FC_INLINE R fc_await(volatile unsigned long long *slot) {
    const int words = ((int)sizeof(R) + 3) / 4;
    unsigned int w[words];
    R x;
#pragma unroll
    for (int i = 0; i < words; i++) {
        unsigned long long v;
        while (!((v = fc_poll<words>(slot + i)) >> 32)) FC_PAUSE();
        w[i] = (unsigned int)v;
    }
    memcpy(&x, w, sizeof(R));
    return x;
}
/* Tiles of level L + 1 of n at level L. */
FC_INLINE unsigned int fc_above(unsigned int n) {
    return (n + 31) / 32;
}
/* By a block of N threads: publishes `total` of tile n of `tiles`, and gives the finished subtrees
   before it, far[l] of 2^l tiles where bit l of n is set. `slot` is that of tile 0, `stride` words
   apart. Each level has a warp, so that the block waits for the slowest of them and not for one
   after the other. */
template <int N, typename R>
FC_INLINE void fc_look_back(volatile unsigned long long *slot, unsigned int stride,
                            unsigned int tiles, unsigned int n, const R &total, R *far) {
    const unsigned int lane = threadIdx.x & 31, warp = threadIdx.x / 32;
    bool whole = true;
    if (threadIdx.x == 0) fc_publish(slot + (unsigned long long)n * stride, total);
#pragma unroll 1
    for (unsigned int l = 0; tiles > 1; l++, n /= 32) {
        const unsigned int digit = n & 31;
        whole =
            whole && digit == 31; /* it has the last of a group, and publishes the group's total */
        if (l % (N / 32) == warp && digit) {
            R x = total;
            if (lane < digit || (whole && l))
                x = fc_await<R>(slot + (unsigned long long)(n - digit + lane) * stride);
#pragma unroll
            for (int k = 0; k < 5; k++) {
                /* lane i has the 2^k from i / 2^k * 2^k on */
                if (digit >> k & 1) {
                    const R part = fc_from(x, (int)(digit >> (k + 1) << (k + 1)));
                    if (lane == 0) far[l * 5 + k] = part;
                }
                const R other = fc_xor(x, 1 << k);
                x = fc_meet(x, other, (lane >> k & 1) != 0);
            }
            if (whole && tiles > 32 && lane == 0)
                fc_publish(slot + ((unsigned long long)tiles + n / 32) * stride, x);
        }
        slot += (unsigned long long)tiles * stride;
        tiles = fc_above(tiles);
    }
}
/* The last of each group to leave makes its slots zero again, and leaves the group of groups; the
   last of all rows makes the ticket zero. `left` counts them; `gone` of the group of tile n had
   left before it. */
FC_INLINE void fc_leave(unsigned long long *slot, unsigned int stride, unsigned int *left,
                        unsigned int *ticket, unsigned int rows, unsigned int tiles, unsigned int n,
                        unsigned int gone) {
    while (tiles > 1) {
        const unsigned int group = n / 32, first = group * 32,
                           size = tiles - first < 32 ? tiles - first : 32;
        if (gone + 1 < size) return;
        left[group] = 0;
        for (unsigned int i = 0; i < size * stride; i++)
            slot[(unsigned long long)first * stride + i] = 0;
        slot += (unsigned long long)tiles * stride;
        tiles = fc_above(tiles);
        left += tiles;
        n = group;
        if (tiles > 1) gone = atomicAdd(left + n / 32, 1u);
    }
    if (atomicAdd(ticket + 1, 1u) + 1 == rows) ticket[0] = ticket[1] = 0;
}

//@ apart
// Four lanes of a thread that are a warp apart. Threads exchange halves of what they have: after
// two steps each has one of the four, so that it takes 8 exchanges, not 20.
template <bool EVEN, typename R> FC_INLINE R fc_meets(const R &keep, const R &give, int m) {
    if constexpr (EVEN)
        return fc_meet(keep, fc_even(give, m), (threadIdx.x & m) != 0);
    else
        return fc_meet(keep, fc_xor(give, m), (threadIdx.x & m) != 0);
}
template <bool EVEN, typename R> FC_INLINE R fc_apart(const R *w) {
    const bool odd = (threadIdx.x & 1) != 0, high = (threadIdx.x & 2) != 0;
    const R x = fc_meets<EVEN>(fc_pick(w[0], w[2], odd), fc_pick(w[2], w[0], odd), 1);
    const R y = fc_meets<EVEN>(fc_pick(w[1], w[3], odd), fc_pick(w[3], w[1], odd), 1);
    R z = fc_meets<EVEN>(fc_pick(x, y, high), fc_pick(y, x, high), 2);
#pragma unroll
    for (int m = 4; m < 32; m *= 2) z = fc_meets<EVEN>(z, z, m);
    z = fc_meets<EVEN>(z, z, 2);
    return fc_meets<EVEN>(z, z, 1);
}

//@ gang
// Blocks that wait for each other's accumulators: each 32-bit word travels with the number of the
// exchange in one 64-bit store (cuda_gang.c).
#ifndef FC_EMULATE
#define FC_PAUSE()
FC_INLINE void fc_ahead(const void *p) {
    asm volatile("prefetch.global.L2 [%0];" ::"l"(p));
}
template <int N> FC_INLINE void fc_copy(void *to, const void *from) {
    const unsigned int at = (unsigned int)__cvta_generic_to_shared(to);
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(at), "l"(from), "n"(N)
                 : "memory");
}
FC_INLINE void fc_copied() {
    asm volatile("cp.async.wait_all;" ::: "memory");
}
#endif
template <typename R>
FC_INLINE void fc_publish(volatile unsigned long long *slot, const R &x, unsigned int n) {
    const int words = ((int)sizeof(R) + 3) / 4;
    unsigned int w[words] = {0};
    memcpy(w, &x, sizeof(R));
#pragma unroll
    for (int i = 0; i < words; i++) slot[i] = (unsigned long long)n << 32 | w[i];
}
template <typename R>
FC_INLINE R fc_await(const volatile unsigned long long *slot, unsigned int n) {
    const int words = ((int)sizeof(R) + 3) / 4;
    unsigned int w[words];
    R x;
#pragma unroll
    for (int i = 0; i < words; i++) {
        unsigned long long v;
        while ((unsigned int)((v = slot[i]) >> 32) != n) FC_PAUSE();
        w[i] = (unsigned int)v;
    }
    memcpy(&x, w, sizeof(R));
    return x;
}

//@ count
// 1 / n where n is mostly known when the text is compiled.
FC_INLINE float fc_share(float n) {
    return 1.0f / n;
}
FC_INLINE double fc_share(double n) {
    return 1.0 / n;
}
/* mostly b is half of n, as two parts of the same size are joined */
template <typename T> FC_INLINE T fc_part(T b, T n) {
    return b + b == n ? (T)0.5 : b / n;
}

//@ even
// fc_count and fc_fill where all that was taken before and x have `each` elements.
FC_INLINE float fc_half(float n) {
    return 0.5f;
}
FC_INLINE double fc_half(double n) {
    return 0.5;
}
template <int L = 0, typename R, int N>
FC_INLINE void fc_count_even(R (&near)[N], R *far, R x, unsigned int n, long long each) {
    if constexpr (L == N) {
        int l = 0;
        for (; n >> N >> l & 1; l++) x = fc_join_even(far[l], x, each << l);
        far[l] = x;
    } else if (n >> L & 1) {
        fc_count_even<L + 1>(near, far, fc_join_even(near[L], x, each), n, each * 2);
    } else {
        near[L] = x;
    }
}
template <int L = 0, typename R, int N>
FC_INLINE void fc_fill_even(R (&near)[N], R x, unsigned int n, long long each) {
    if constexpr (L + 1 < N) {
        if (n >> L & 1) {
            fc_fill_even<L + 1>(near, fc_join_even(near[L], x, each), n, each * 2);
            return;
        }
    }
    near[L] = x;
}
