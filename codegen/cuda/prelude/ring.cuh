// ring.cuh - rows that stream through shared memory or lie in that of a cluster (cuda_ring.c):
// barriers in shared memory (mbarrier) and bulk copies. A host has functions of its own for the
// instructions.

//@ ring
// A gate, an mbarrier, opens when all have joined it and the bytes that are expected have come;
// whoever passes it says whether it has opened an odd number of times before.
#ifndef FC_EMULATE
FC_INLINE unsigned int fc_shared(const void *p) {
    return (unsigned int)__cvta_generic_to_shared(p);
}
FC_INLINE void fc_gate_make(unsigned long long *gate, unsigned int n) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(fc_shared(gate)), "r"(n)
                 : "memory");
}
FC_INLINE void fc_gates_made() {
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
FC_INLINE void fc_gate_join(unsigned long long *gate) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(fc_shared(gate)) : "memory");
}
FC_INLINE void fc_gate_expect(unsigned long long *gate, unsigned int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(fc_shared(gate)),
                 "r"(bytes)
                 : "memory");
}
FC_INLINE void fc_gate_pass(unsigned long long *gate, unsigned int odd) {
    unsigned int passed;
    do
        asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; "
                     "selp.u32 %0, 1, 0, p;}"
                     : "=r"(passed)
                     : "r"(fc_shared(gate)), "r"(odd)
                     : "memory");
    while (!passed);
}
/* stores by ordinary instructions come before bulk copies of the same place */
FC_INLINE void fc_kept() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
FC_INLINE void fc_send(void *to, const void *from, unsigned int bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to),
                 "r"(fc_shared(from)), "r"(bytes)
                 : "memory");
}
FC_INLINE void fc_sent() {
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}
FC_INLINE void fc_group(int number, int threads) {
    asm volatile("bar.sync %0, %1;" ::"r"(number), "r"(threads) : "memory");
}
#endif

//@ fetch
#ifndef FC_EMULATE
FC_INLINE void fc_fetch(void *to, const void *from, unsigned int bytes, unsigned long long *gate) {
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
            "r"(fc_shared(to)),
        "l"(from), "r"(bytes), "r"(fc_shared(gate))
        : "memory");
}
#endif

//@ fetch_last
// The same whose lines leave the L2 after those of results (cuda_load.c).
#ifndef FC_EMULATE
FC_INLINE void fc_fetch(void *to, const void *from, unsigned int bytes, unsigned long long *gate) {
    unsigned long long wish;
    asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(wish));
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint "
                 "[%0], [%1], %2, [%3], %4;" ::"r"(fc_shared(to)),
                 "l"(from), "r"(bytes), "r"(fc_shared(gate)), "l"(wish)
                 : "memory");
}
#endif

//@ pieces
// Bulk copies are of whole lines; what is before and after them the lanes of a warp read or write.
// Requests of 4 KiB by neighbouring lanes are as fast as one for all.
FC_INLINE unsigned int fc_shift(const void *p) {
    return (unsigned int)(unsigned long long)p & 127;
}
/* bytes up to the first line, of whole lines, after them */
struct fc_piece {
    unsigned int head, middle, tail;
};
FC_INLINE fc_piece fc_piece_of(const void *p, unsigned int bytes) {
    fc_piece e;
    e.head = -fc_shift(p) & 127;
    if (e.head > bytes) e.head = bytes;
    e.middle = (bytes - e.head) & ~127u;
    e.tail = bytes - e.head - e.middle;
    return e;
}
template <typename T> FC_INLINE void fc_edges(T *to, const T *from, const fc_piece &e, int lane) {
    const unsigned int size = (unsigned int)sizeof(T), after = (e.head + e.middle) / size;
#pragma unroll
    for (unsigned int n = 0; n < 128 / size; n += 32) {
        const unsigned int k = n + lane;
        if (k < e.head / size) to[k] = from[k];
        if (k < e.tail / size) to[after + k] = from[after + k];
    }
}
/* by all lanes of a warp, which join at the gate afterwards */
template <typename T>
FC_INLINE void fc_bring(T *to, const T *from, const fc_piece &e, int lane,
                        unsigned long long *gate) {
    for (unsigned int at = lane * 4096; at < e.middle; at += 32 * 4096)
        fc_fetch((char *)to + e.head + at, (const char *)from + e.head + at,
                 e.middle - at < 4096 ? e.middle - at : 4096, gate);
    fc_edges(to, from, e, lane);
}
/* what the lanes of a warp left at `from`; lane 0 has fc_sent to call */
template <typename T> FC_INLINE void fc_take(T *to, const T *from, int n, int lane) {
    fc_kept();
    __syncwarp();
    if (((fc_shift(to) ^ fc_shift(from)) & 15) == 0) {
        const fc_piece e = fc_piece_of(to, n * (unsigned int)sizeof(T));
        if (lane == 0 && e.middle)
            fc_send((char *)to + e.head, (const char *)from + e.head, e.middle);
        fc_edges(to, from, e, lane);
    } else {
#pragma unroll 1
        for (int i = lane; i < n; i += 32) to[i] = from[i];
    }
}

//@ cluster
// Remote stores to the shared memory of the other blocks of a cluster. Blocks meet so that the
// gates of all are there, for which fc_told_make has a fence. A barrier that releases would order
// all memory of the device, which takes longer than an exchange.
#ifndef FC_EMULATE
FC_INLINE void fc_cluster_arrive() {
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}
FC_INLINE void fc_cluster_wait() {
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
FC_INLINE void fc_told_make(unsigned long long *gate, unsigned int bytes) {
    fc_gate_make(gate, 1);
    fc_gates_made();
    fc_gate_expect(gate, bytes);
}
FC_INLINE void fc_told_pass(unsigned long long *gate) {
    unsigned int passed;
    do
        asm volatile("{.reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, "
                     "[%1], 0; selp.u32 %0, 1, 0, p;}"
                     : "=r"(passed)
                     : "r"(fc_shared(gate))
                     : "memory");
    while (!passed);
}
FC_INLINE unsigned int fc_there(const void *p, unsigned int block) {
    unsigned int there;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(fc_shared(p)), "r"(block));
    return there;
}
template <int N>
FC_INLINE void fc_tell(unsigned int *slot, const unsigned int (&w)[N], unsigned int block,
                       unsigned long long *gate) {
    const unsigned int to = fc_there(slot, block), at = fc_there(gate, block);
#pragma unroll
    for (int i = 0; i < N; i++)
        asm volatile(
            "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(
                to + 4 * i),
            "r"(w[i]), "r"(at)
            : "memory");
}
#endif
template <typename R> struct fc_words { unsigned int w[(sizeof(R) + 3) / 4]; };
template <typename R> FC_INLINE fc_words<R> fc_words_of(const R &x) {
    fc_words<R> to = {{0}};
    memcpy(to.w, &x, sizeof(R));
    return to;
}
/* of 32 times N slots, in order */
template <int N, typename R> FC_INLINE R fc_told(const fc_words<R> *slots, int lane) {
    R x[N];
#pragma unroll
    for (int n = 0; n < N; n++) memcpy(x + n, slots[lane * N + n].w, sizeof(R));
#pragma unroll
    for (int s = 1; s < N; s *= 2)
#pragma unroll
        for (int n = 0; n < N; n += 2 * s) x[n] = fc_join(x[n], x[n + s]);
    return fc_lanes(x[0], 32);
}
