/* cuda_emu.h - runs generated CUDA C on the host, for tests on machines without a GPU. C++17.
 *
 * The text of a kernel is compiled after this header with FC_EMULATE defined. Every thread of a
 * block is a fiber that runs until it reaches a barrier or a shuffle, and chance decides which
 * warps go on first; blocks run one after the other, or, where they wait for each other
 * (`together`, and those of a cluster), each in a thread of the host. A barrier that not all
 * threads reach, or a shuffle that not all lanes reach, ends the launch with `false`.
 *
 * What differs from a device: libm's functions, no memory model (fences do nothing), no limits. */
#ifndef FUSEC_TESTS_SUPPORT_CUDA_EMU_H
#define FUSEC_TESTS_SUPPORT_CUDA_EMU_H

#include <math.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

#include <functional>
#include <memory>
#include <thread>
#include <vector>

namespace fc_emu {

struct index3 {
    unsigned x, y, z;
};
enum state { READY, AT_BLOCK, AT_WARP, AT_GROUP, DONE };

enum { STACK = 64 << 10 };

struct fiber {
    std::unique_ptr<char[]> stack; /* not filled: pages that are never touched cost nothing */
    ucontext_t start;
    jmp_buf at;
    bool begun;
    state now;
    unsigned turn;      /* which of the two exchange buffers the next shuffle uses */
    int group, members; /* AT_GROUP: the barrier's number, and how many it waits for */
    index3 thread;
};

struct machine {
    std::vector<fiber> fibers;
    std::vector<uint64_t> exchange; /* [warp][2][32] */
    fiber *current;
    ucontext_t home_context;
    jmp_buf home;
    const std::function<void()> *body;
};
/* The blocks of a cluster: how many of their threads have arrived, and where the variables of each
 * are: in every thread of the host they lie at the same distance from `place`. */
enum { MOST_OF_CLUSTER = 8 };
struct cluster {
    unsigned threads;
    unsigned arrived;
    char *place[MOST_OF_CLUSTER];
};
static thread_local char place;
inline thread_local cluster *mine;
inline thread_local machine m;
inline thread_local index3 block, grid, threads;

inline void wait(state s) {
    m.current->now = s;
    if (_setjmp(m.current->at) == 0) _longjmp(m.home, 1);
}

inline void enter() {
    (*m.body)();
    m.current->now = DONE;
    _longjmp(m.home, 1);
}

inline void resume(fiber &f) {
    m.current = &f;
    if (_setjmp(m.home) != 0) return;
    if (f.begun) _longjmp(f.at, 1);
    f.begun = true;
    setcontext(&f.start);
}

inline void prepare(fiber &f, unsigned t) {
    f.begun = false;
    f.now = READY;
    f.turn = 0;
    f.thread = {t % threads.x, t / threads.x % threads.y, t / threads.x / threads.y};
    getcontext(&f.start);
    f.start.uc_stack.ss_sp = f.stack.get();
    f.start.uc_stack.ss_size = STACK;
    f.start.uc_link = nullptr;
    makecontext(&f.start, enter, 0);
}

/* Lets those go on whom nobody has to be waited for any more; whether there are any. */
inline bool release(unsigned n) {
    bool any = false, all = true;
    for (unsigned w = 0; w < n; w += 32) {
        unsigned end = w + 32 < n ? w + 32 : n, here = 0;
        for (unsigned t = w; t < end; t++) here += m.fibers[t].now == AT_WARP;
        if (here != end - w) continue;
        for (unsigned t = w; t < end; t++) m.fibers[t].now = READY;
        any = true;
    }
    for (unsigned t = 0; t < n; t++) {
        const fiber &f = m.fibers[t];
        int waiting = 0;
        if (f.now != AT_GROUP) continue;
        auto same = [&](const fiber &g) { return g.now == AT_GROUP && g.group == f.group; };
        const int number = f.group, members = f.members;
        for (unsigned u = t; u < n; u++) waiting += same(m.fibers[u]);
        if (waiting < members) continue;
        for (unsigned u = t; u < n; u++)
            if (m.fibers[u].now == AT_GROUP && m.fibers[u].group == number) m.fibers[u].now = READY;
        any = true;
    }
    if (any) return true;
    for (unsigned t = 0; t < n; t++)
        all = all && (m.fibers[t].now == AT_BLOCK || m.fibers[t].now == DONE);
    for (unsigned t = 0; t < n && all; t++) {
        if (m.fibers[t].now != AT_BLOCK) continue;
        m.fibers[t].now = READY;
        any = true;
    }
    return any;
}

inline bool any_ready(unsigned n) {
    for (unsigned t = 0; t < n; t++)
        if (m.fibers[t].now == READY) return true;
    return false;
}

/* A bit for each warp: whether it goes on now. Warps that depend on their order without a barrier
 * give wrong results here sooner or later. */
inline uint32_t toss() {
    static thread_local uint32_t s = 1;
    s ^= s << 13, s ^= s >> 17, s ^= s << 5;
    return s;
}

inline bool run_block() {
    unsigned n = threads.x * threads.y * threads.z;
    for (unsigned t = 0; t < n; t++) prepare(m.fibers[t], t);
    do {
        uint32_t coins = 0;
        for (unsigned t = 0; t < n; t++) {
            if (t % 1024 == 0) coins = toss();
            if (m.fibers[t].now == READY && (n <= 32 || coins >> t / 32 % 32 & 1))
                resume(m.fibers[t]);
        }
        (void)release(n);
    } while (any_ready(n));
    for (unsigned t = 0; t < n; t++)
        if (m.fibers[t].now != DONE) return false;
    return true;
}

inline void begin(const unsigned g[3], const unsigned b[3], const std::function<void()> &body) {
    grid = {g[0], g[1], g[2]};
    threads = {b[0], b[1], b[2]};
    unsigned n = b[0] * b[1] * b[2];
    if (m.fibers.size() < n) m.fibers.resize(n);
    for (fiber &f : m.fibers)
        if (!f.stack) f.stack.reset(new char[STACK]);
    m.exchange.assign((n + 31) / 32 * 64, 0);
    m.body = &body;
}

/* Blocks first, ... (along x) at once. */
static bool launch_together(const unsigned g[3], const unsigned b[3], unsigned first, unsigned n,
                            cluster *c, const std::function<void()> &body) {
    std::vector<std::thread> all;
    std::vector<char> good(n);
    for (unsigned x = 0; x < n; x++)
        all.emplace_back([&, x] {
            begin(g, b, body);
            block = {first + x, 0, 0};
            if ((mine = c)) c->place[x] = &place;
            good[x] = run_block();
        });
    bool ok = true;
    for (unsigned x = 0; x < n; x++) {
        all[x].join();
        ok = ok && good[x];
    }
    return ok;
}

static bool launch_clusters(const unsigned g[3], const unsigned b[3], unsigned n,
                            const std::function<void()> &body) {
    bool ok = g[0] % n == 0 && n <= MOST_OF_CLUSTER;
    for (unsigned x = 0; ok && x < g[0]; x += n) {
        cluster c = {n * b[0], 0, {nullptr}};
        ok = launch_together(g, b, x, n, &c, body);
    }
    return ok;
}

static bool launch(const unsigned g[3], const unsigned b[3], bool together, unsigned cluster,
                   const std::function<void()> &body) {
    if (together) return launch_together(g, b, 0, g[0], nullptr, body);
    if (cluster) return launch_clusters(g, b, cluster, body);
    begin(g, b, body);
    for (block.z = 0; block.z < g[2]; block.z++)
        for (block.y = 0; block.y < g[1]; block.y++)
            for (block.x = 0; block.x < g[0]; block.x++)
                if (!run_block()) return false;
    return true;
}

inline unsigned linear() {
    const index3 &t = m.current->thread;
    return t.x + threads.x * (t.y + threads.y * t.z);
}

/* The value of lane `from` of this warp; all lanes have to get here. */
template <typename T> T exchange(T v, unsigned from) {
    unsigned self = linear(), warp = self / 32, buffer = m.current->turn++ & 1;
    uint64_t *slots = m.exchange.data() + (warp * 2 + buffer) * 32;
    memcpy(slots + self % 32, &v, sizeof v);
    wait(AT_WARP);
    memcpy(&v, slots + from % 32, sizeof v);
    return v;
}

template <typename T, typename F> T bits(F from) {
    static_assert(sizeof(T) == sizeof(F));
    T to;
    memcpy(&to, &from, sizeof to);
    return to;
}

} // namespace fc_emu

#define __global__
#define __device__
#define __forceinline__ inline
#define __shared__      static thread_local
#define __grid_constant__
#define __launch_bounds__(...)
#define __cluster_dims__(...)
/* The blocks of a cluster; a kernel that has some defines this for its parameters. */
static inline unsigned fc_cluster(const void *) {
    return 0;
}

#define threadIdx fc_emu::m.current->thread
#define blockIdx  fc_emu::block
#define gridDim   fc_emu::grid
#define blockDim  fc_emu::threads

static inline void __syncthreads() {
    fc_emu::wait(fc_emu::AT_BLOCK);
}
static inline void __syncwarp() {
    fc_emu::wait(fc_emu::AT_WARP);
}
static inline void __threadfence() {}
static inline void __threadfence_block() {}
static inline unsigned atomicAdd(unsigned *p, unsigned v) {
    return __atomic_fetch_add(p, v, __ATOMIC_SEQ_CST);
}
/* Threads of this block go on and, when many of them have nothing to do, those of others. */
static inline void fc_pause() {
    static thread_local unsigned pauses;
    if (++pauses % 256 == 0) std::this_thread::yield();
    fc_emu::wait(fc_emu::READY);
}
#define FC_PAUSE() fc_pause()
static inline void fc_ahead(const void *) {}
template <int N> static void fc_copy(void *to, const void *from) {
    memcpy(to, from, N);
}
static inline void fc_copied() {}

/* A gate opens when all have joined: how many those are, how many are missing (16 bits each), and
 * how often it has opened. Copies are there at once. */
static inline void fc_gate_make(unsigned long long *gate, unsigned n) {
    *gate = n | n << 16;
}
static inline void fc_gates_made() {}
static inline void fc_gate_join(unsigned long long *gate) {
    *gate -= 1u << 16;
    if (*gate >> 16 & 0xffff) return;
    *gate += (*gate & 0xffff) << 16;
    *gate += 1ull << 32;
}
static inline void fc_gate_expect(unsigned long long *gate, unsigned) {
    fc_gate_join(gate);
}
static inline void fc_gate_pass(unsigned long long *gate, unsigned odd) {
    while ((*gate >> 32 & 1) == odd) FC_PAUSE();
}
static inline void fc_fetch(void *to, const void *from, unsigned bytes, unsigned long long *) {
    memcpy(to, from, bytes);
}
static inline void fc_send(void *to, const void *from, unsigned bytes) {
    memcpy(to, from, bytes);
}
static inline void fc_sent() {}
static inline void fc_kept() {}
static inline void fc_group(int number, int threads) {
    fc_emu::m.current->group = number;
    fc_emu::m.current->members = threads;
    fc_emu::wait(fc_emu::AT_GROUP);
}

/* The threads of all blocks of a cluster meet once. A gate that is told counts the bytes that it
 * still expects. */
static inline void fc_cluster_arrive() {
    __atomic_fetch_add(&fc_emu::mine->arrived, 1, __ATOMIC_SEQ_CST);
}
static inline void fc_cluster_wait() {
    while (__atomic_load_n(&fc_emu::mine->arrived, __ATOMIC_SEQ_CST) < fc_emu::mine->threads)
        FC_PAUSE();
}
static inline void fc_told_make(unsigned long long *gate, unsigned bytes) {
    *gate = bytes;
}
static inline void fc_told_pass(unsigned long long *gate) {
    while (__atomic_load_n(gate, __ATOMIC_SEQ_CST)) FC_PAUSE();
}
template <typename T> static T *fc_there(T *p, unsigned block) {
    return (T *)(fc_emu::mine->place[block] + ((char *)p - &fc_emu::place));
}
template <int N>
static void fc_tell(unsigned *slot, const unsigned (&w)[N], unsigned block,
                    unsigned long long *gate) {
    memcpy(fc_there(slot, block), w, sizeof w);
    __atomic_fetch_sub(fc_there(gate, block), sizeof w, __ATOMIC_SEQ_CST);
}

template <typename T> static T __shfl_xor_sync(unsigned, T v, int mask) {
    return fc_emu::exchange(v, fc_emu::linear() ^ (unsigned)mask);
}
static inline bool __any_sync(unsigned, bool v) {
    for (int m = 1; m < 32; m *= 2) v = fc_emu::exchange(v, fc_emu::linear() ^ (unsigned)m) || v;
    return v;
}
template <typename T> static T __shfl_sync(unsigned, T v, int lane) {
    return fc_emu::exchange(v, (unsigned)lane);
}

static inline float __uint_as_float(unsigned v) {
    return fc_emu::bits<float>(v);
}
static inline unsigned __float_as_uint(float v) {
    return fc_emu::bits<unsigned>(v);
}
static inline double __longlong_as_double(long long v) {
    return fc_emu::bits<double>(v);
}
static inline long long __double_as_longlong(double v) {
    return fc_emu::bits<long long>(v);
}
static inline float rsqrtf(float v) {
    return 1 / sqrtf(v);
}
static inline double rsqrt(double v) {
    return 1 / sqrt(v);
}
/* As the reference has it: not the C library's own, which differs between versions. */
static inline double fc_emu_log10(double v) {
    return (double)log10l((long double)v);
}
#define log10 fc_emu_log10

static inline float fc_f16_value(unsigned short h) {
    unsigned exponent = h >> 10 & 31u, fraction = h & 1023u, sign = (h & 0x8000u) << 16;
    if (exponent == 0)
        return h >> 15 ? -ldexpf((float)fraction, -24) : ldexpf((float)fraction, -24);
    if (exponent == 31) /* as a device: one NaN for all */
        return __uint_as_float(fraction ? 0x7fffffffu : sign | 0x7f800000u);
    return __uint_as_float(sign | (exponent + 112) << 23 | fraction << 13);
}
static inline unsigned short fc_f16_bits(float f) {
    unsigned u = __float_as_uint(f), sign = u >> 16 & 0x8000u;
    float a = fabsf(f);
    if (f != f) return 0x7fff;
    if (a >= 65520.0f) return (unsigned short)(sign | 0x7c00u);
    if (a < 0x1p-14f) return (unsigned short)(sign | (unsigned)rintf(a * 0x1p24f));
    u &= 0x7fffffffu;
    u += 0xfffu + (u >> 13 & 1u);
    return (unsigned short)(sign | ((u >> 13) - (112u << 10)));
}
#endif
