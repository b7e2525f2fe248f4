/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_emu.h - what generated CUDA C needs to be compiled for the host, for tests on machines
 * without a GPU. C++17.
 *
 * The text of a kernel is compiled after this header with FC_EMULATE defined, then FC_KERNEL names
 * it for cuda_fibers.h, which runs it. The header is read once for each kernel that a test meets,
 * so it leaves out all that does not depend on the kernel, the standard library among it.
 *
 * What differs from a device: libm's functions, no memory model (fences do nothing), no limits. */
#ifndef FUSEC_TESTS_SUPPORT_CUDA_EMU_H
#define FUSEC_TESTS_SUPPORT_CUDA_EMU_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "tests/support/cuda_fibers.h"

extern "C" {
const fc_fibers *fc_emu;
}

static thread_local char fc_emu_place;
static inline char *fc_emu_place_of_thread() {
    return &fc_emu_place;
}

static inline unsigned fc_emu_linear() {
    const fc_thread *at = fc_emu->self();
    return at->thread.x + at->threads.x * (at->thread.y + at->threads.y * at->thread.z);
}

/* The value of lane `from` of this warp; all lanes have to get here. */
template <typename T> T fc_emu_exchange(T v, unsigned from) {
    static_assert(sizeof(T) <= sizeof(uint64_t));
    uint64_t word = 0;
    memcpy(&word, &v, sizeof v);
    word = fc_emu->exchange(word, from);
    memcpy(&v, &word, sizeof v);
    return v;
}

template <typename T, typename F> T fc_emu_bits(F from) {
    static_assert(sizeof(T) == sizeof(F));
    T to;
    memcpy(&to, &from, sizeof to);
    return to;
}

/* Makes kernel `name` of the type P of its parameters known as `symbol`; where its text is. */
#define FC_KERNEL(symbol, name)                                                                    \
    static void symbol##_run(const void *params) {                                                 \
        name(*(const P *)params);                                                                  \
    }                                                                                              \
    static unsigned symbol##_cluster() {                                                           \
        return fc_cluster((const P *)nullptr);                                                     \
    }                                                                                              \
    extern "C" const fc_fiber_kernel symbol = {symbol##_run, sizeof(P), symbol##_cluster,          \
                                               fc_emu_place_of_thread};

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

#define threadIdx fc_emu->self()->thread
#define blockIdx  fc_emu->self()->block
#define gridDim   fc_emu->self()->grid
#define blockDim  fc_emu->self()->threads

static inline void __syncthreads() {
    fc_emu->wait_block();
}
static inline void __syncwarp() {
    fc_emu->wait_warp();
}
static inline void __threadfence() {}
static inline void __threadfence_block() {}
template <class T> static inline T atomicAdd(T *p, T v) {
    return __atomic_fetch_add(p, v, __ATOMIC_SEQ_CST);
}
template <class T> static inline T atomicMax(T *p, T v) {
    T old = __atomic_load_n(p, __ATOMIC_SEQ_CST);
    while (old < v &&
           !__atomic_compare_exchange_n(p, &old, v, true, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
    }
    return old;
}
template <class T> static inline T atomicMin(T *p, T v) {
    T old = __atomic_load_n(p, __ATOMIC_SEQ_CST);
    while (v < old &&
           !__atomic_compare_exchange_n(p, &old, v, true, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
    }
    return old;
}
#define FC_PAUSE() fc_emu->pause()
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
    fc_emu->wait_group(number, threads);
}

/* The threads of all blocks of a cluster meet once. A gate that is told counts the bytes that it
 * still expects. */
static inline void fc_cluster_arrive() {
    __atomic_fetch_add(&fc_emu->cluster()->arrived, 1, __ATOMIC_SEQ_CST);
}
static inline void fc_cluster_wait() {
    while (__atomic_load_n(&fc_emu->cluster()->arrived, __ATOMIC_SEQ_CST) <
           fc_emu->cluster()->threads)
        FC_PAUSE();
}
static inline void fc_told_make(unsigned long long *gate, unsigned bytes) {
    *gate = bytes;
}
static inline void fc_told_pass(unsigned long long *gate) {
    while (__atomic_load_n(gate, __ATOMIC_SEQ_CST)) FC_PAUSE();
}
template <typename T> static T *fc_there(T *p, unsigned block) {
    return (T *)(fc_emu->cluster()->place[block] + ((char *)p - &fc_emu_place));
}
template <int N>
static void fc_tell(unsigned *slot, const unsigned (&w)[N], unsigned block,
                    unsigned long long *gate) {
    memcpy(fc_there(slot, block), w, sizeof w);
    __atomic_fetch_sub(fc_there(gate, block), sizeof w, __ATOMIC_SEQ_CST);
}

template <typename T> static T __shfl_xor_sync(unsigned, T v, int mask) {
    return fc_emu_exchange(v, fc_emu_linear() ^ (unsigned)mask);
}
static inline bool __any_sync(unsigned, bool v) {
    for (int m = 1; m < 32; m *= 2) v = fc_emu_exchange(v, fc_emu_linear() ^ (unsigned)m) || v;
    return v;
}
static inline unsigned __ballot_sync(unsigned, bool v) {
    unsigned all = v ? 1u << fc_emu_linear() % 32 : 0;
    for (int m = 1; m < 32; m *= 2) all |= fc_emu_exchange(all, fc_emu_linear() ^ (unsigned)m);
    return all;
}
template <typename T> static T __shfl_sync(unsigned, T v, int lane) {
    return fc_emu_exchange(v, (unsigned)lane);
}

static inline float __uint_as_float(unsigned v) {
    return fc_emu_bits<float>(v);
}
static inline unsigned __umulhi(unsigned a, unsigned b) {
    return (unsigned)((unsigned long long)a * b >> 32);
}
/* Byte n of the result is the one of a and b that digit n of `which` says. */
static inline unsigned __byte_perm(unsigned a, unsigned b, unsigned which) {
    const unsigned long long both = (unsigned long long)b << 32 | a;
    unsigned r = 0;
    for (unsigned n = 0; n < 32; n += 8, which >>= 4) r |= (both >> (which & 7) * 8 & 255) << n;
    return r;
}
static inline unsigned __float_as_uint(float v) {
    return fc_emu_bits<unsigned>(v);
}
static inline double __longlong_as_double(long long v) {
    return fc_emu_bits<double>(v);
}
static inline long long __double_as_longlong(double v) {
    return fc_emu_bits<long long>(v);
}
static inline int __clz(int v) {
    return v ? __builtin_clz((unsigned int)v) : 32;
}
static inline int __popcll(unsigned long long v) {
    return __builtin_popcountll(v);
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

/* Of bytes, along k: lines of 128. */
template <int WIDE, typename X, typename Y>
static void fc_emu_group_bytes(int *const *sums, const unsigned char *left,
                               const unsigned char *right, unsigned first) {
    const unsigned lane = fc_emu_linear() % 32, warp = fc_emu_linear() / 32 % 4;
    const auto at = [](unsigned line, unsigned in) {
        return line * 128 + (in / 16 % 8 ^ line % 8) * 16 + in % 16;
    };
    for (unsigned i = 0; i < 4u * WIDE; i++) {
        const unsigned row = warp * 16 + lane / 4 + i % 4 / 2 * 8,
                       column = i / 4 * 8 + lane % 4 * 2 + i % 2;
        unsigned sum = (unsigned)*sums[i];
        for (unsigned k = first; k < first + 32; k++)
            sum += (unsigned)((int)(X)left[at(row, k)] * (int)(Y)right[at(column, k)]);
        *sums[i] = (int)sum;
    }
}
#define FC_EMU_GROUP(name, X, Y)                                                                   \
    template <int WIDE, bool LEFT_BY_K, bool RIGHT_BY_K>                                           \
    static void name(int *const *sums, const unsigned char *left, const unsigned char *right,      \
                     unsigned first) {                                                             \
        fc_emu_group_bytes<WIDE, X, Y>(sums, left, right, first);                                  \
    }
FC_EMU_GROUP(fc_group_product_s8_s8, signed char, signed char)
FC_EMU_GROUP(fc_group_product_s8_u8, signed char, unsigned char)
FC_EMU_GROUP(fc_group_product_u8_s8, unsigned char, signed char)
FC_EMU_GROUP(fc_group_product_u8_u8, unsigned char, unsigned char)
#undef FC_EMU_GROUP

static inline float fc_f16_value(unsigned short h);

/* ---- tensor cores: pieces of lines in shared memory, and their products --------------------- */

/* The lanes with the same digit. */
static inline unsigned fc_same_digit(unsigned digit) {
    static thread_local unsigned shown[32][32];
    const unsigned lane = fc_emu_linear() % 32;
    unsigned *board = shown[fc_emu_linear() / 32], same = 0;
    board[lane] = digit;
    fc_emu->wait_warp();
    for (unsigned l = 0; l < 32; l++) same |= (unsigned)(board[l] == digit) << l;
    fc_emu->wait_warp();
    return same;
}
static inline unsigned fc_lanes(bool x) {
    const unsigned same = fc_same_digit(x);
    return x ? same : ~same;
}

/* What the lanes of a warp show each other, instead of one word at a time. */
struct fc_emu_shown {
    const unsigned short *line;
    unsigned short row[2][4], column[4]; /* 2k, 2k + 1, 2k + 8, 2k + 9; row[1]: 8 rows below */
};
static thread_local fc_emu_shown fc_emu_board[32][32];
static inline unsigned fc_emu_pair(const unsigned short *first, const unsigned short *second) {
    return *first | (unsigned)*second << 16;
}
template <int N>
static void fc_emu_pieces(unsigned (&r)[N], const unsigned short *line, bool turned) {
    const unsigned lane = fc_emu_linear() % 32;
    fc_emu_shown *board = fc_emu_board[fc_emu_linear() / 32];
    board[lane].line = line;
    __syncwarp();
    for (unsigned piece = 0; piece < N; piece++) {
        const fc_emu_shown *lines = board + piece * 8;
        const unsigned at = lane / 4, pair = lane % 4 * 2;
        r[piece] = turned ? fc_emu_pair(lines[pair].line + at, lines[pair + 1].line + at)
                          : fc_emu_pair(lines[at].line + pair, lines[at].line + pair + 1);
    }
    __syncwarp();
}
template <int N> static void fc_pieces(unsigned (&r)[N], const unsigned short *line) {
    fc_emu_pieces(r, line, false);
}
template <int N> static void fc_pieces_turned(unsigned (&r)[N], const unsigned short *line) {
    fc_emu_pieces(r, line, true);
}
/* Sixteen exact products, added without rounding but for the last. */
template <typename F>
static void fc_emu_product(float &c0, float &c1, float &c2, float &c3, const unsigned (&x)[4],
                           unsigned y0, unsigned y1, F value) {
    const unsigned lane = fc_emu_linear() % 32;
    fc_emu_shown *board = fc_emu_board[fc_emu_linear() / 32];
    double sum[4] = {c0, c1, c2, c3};
    for (unsigned half = 0; half < 2; half++) {
        memcpy(board[lane].row[half], &x[half], 4);
        memcpy(board[lane].row[half] + 2, &x[half + 2], 4);
    }
    memcpy(board[lane].column, &y0, 4);
    memcpy(board[lane].column + 2, &y1, 4);
    __syncwarp();
    for (unsigned c = 0; c < 4; c++)
        for (unsigned k = 0; k < 16; k++) {
            const fc_emu_shown *left = &board[lane / 4 * 4 + k / 4],
                               *right = &board[(lane % 4 * 2 + c % 2) * 4 + k / 4];
            sum[c] += (double)value(left->row[c / 2][k % 4]) * (double)value(right->column[k % 4]);
        }
    __syncwarp();
    c0 = (float)sum[0], c1 = (float)sum[1], c2 = (float)sum[2], c3 = (float)sum[3];
}
static inline void fc_product_f16(float &c0, float &c1, float &c2, float &c3,
                                  const unsigned (&x)[4], unsigned y0, unsigned y1) {
    fc_emu_product(c0, c1, c2, c3, x, y0, y1, fc_f16_value);
}
static inline void fc_product_bf16(float &c0, float &c1, float &c2, float &c3,
                                   const unsigned (&x)[4], unsigned y0, unsigned y1) {
    fc_emu_product(c0, c1, c2, c3, x, y0, y1,
                   [](unsigned short h) { return __uint_as_float((unsigned)h << 16); });
}
/* Rounded to nearest, halves away from zero, as a device does; the products of eight are exact. */
template <int N> static void fc_pieces(unsigned (&r)[N], const float *line) {
    fc_emu_pieces(r, (const unsigned short *)line, false);
}
template <int N> static void fc_tf32(unsigned (&r)[N]) {
    for (int i = 0; i < N; i++)
        r[i] = (r[i] & 0x7f800000u) == 0x7f800000u ? r[i] : (r[i] + 0x1000u) & ~0x1fffu;
}
static inline void fc_product_tf32(float &c0, float &c1, float &c2, float &c3,
                                   const unsigned (&x)[4], unsigned y0, unsigned y1) {
    const unsigned lane = fc_emu_linear() % 32;
    fc_emu_shown *board = fc_emu_board[fc_emu_linear() / 32];
    double sum[4] = {c0, c1, c2, c3};
    for (unsigned half = 0; half < 2; half++) {
        memcpy(board[lane].row[half], &x[half], 4);
        memcpy(board[lane].row[half] + 2, &x[half + 2], 4);
    }
    memcpy(board[lane].column, &y0, 4);
    memcpy(board[lane].column + 2, &y1, 4);
    __syncwarp();
    for (unsigned c = 0; c < 4; c++)
        for (unsigned k = 0; k < 8; k++) {
            float left, right;
            memcpy(&left, board[lane / 4 * 4 + k % 4].row[c / 2] + k / 4 * 2, 4);
            memcpy(&right, board[(lane % 4 * 2 + c % 2) * 4 + k % 4].column + k / 4 * 2, 4);
            sum[c] += (double)left * (double)right;
        }
    __syncwarp();
    c0 = (float)sum[0], c1 = (float)sum[1], c2 = (float)sum[2], c3 = (float)sum[3];
}
/* Sums of 32 bits that wrap. */
template <int N> static void fc_pieces(unsigned (&r)[N], const unsigned char *line) {
    fc_emu_pieces(r, (const unsigned short *)line, false);
}
template <typename X, typename Y>
static void fc_emu_bytes(int &c0, int &c1, int &c2, int &c3, const unsigned (&x)[4], unsigned y0,
                         unsigned y1) {
    const unsigned lane = fc_emu_linear() % 32;
    fc_emu_shown *board = fc_emu_board[fc_emu_linear() / 32];
    unsigned sum[4] = {(unsigned)c0, (unsigned)c1, (unsigned)c2, (unsigned)c3};
    for (unsigned half = 0; half < 2; half++) {
        memcpy(board[lane].row[half], &x[half], 4);
        memcpy(board[lane].row[half] + 2, &x[half + 2], 4);
    }
    memcpy(board[lane].column, &y0, 4);
    memcpy(board[lane].column + 2, &y1, 4);
    __syncwarp();
    for (unsigned c = 0; c < 4; c++)
        for (unsigned k = 0; k < 32; k++) {
            const fc_emu_shown *left = &board[lane / 4 * 4 + k / 4 % 4],
                               *right = &board[(lane % 4 * 2 + c % 2) * 4 + k / 4 % 4];
            const unsigned at = k / 16 * 4 + k % 4;
            sum[c] += (unsigned)((int)((const X *)left->row[c / 2])[at] *
                                 (int)((const Y *)right->column)[at]);
        }
    __syncwarp();
    c0 = (int)sum[0], c1 = (int)sum[1], c2 = (int)sum[2], c3 = (int)sum[3];
}
#define FC_EMU_BYTES(name, X, Y)                                                                   \
    static inline void name(int &c0, int &c1, int &c2, int &c3, const unsigned (&x)[4],            \
                            unsigned y0, unsigned y1) {                                            \
        fc_emu_bytes<X, Y>(c0, c1, c2, c3, x, y0, y1);                                             \
    }
FC_EMU_BYTES(fc_product_s8_s8, signed char, signed char)
FC_EMU_BYTES(fc_product_s8_u8, signed char, unsigned char)
FC_EMU_BYTES(fc_product_u8_s8, unsigned char, signed char)
FC_EMU_BYTES(fc_product_u8_u8, unsigned char, unsigned char)
#undef FC_EMU_BYTES
static inline void fc_product_f64(double &c0, double &c1, double &c2, double &c3,
                                  const double (&x)[2], double y) {
    static thread_local double shown[32][32][3];
    const unsigned lane = fc_emu_linear() % 32;
    double(*board)[3] = shown[fc_emu_linear() / 32], *sum[4] = {&c0, &c1, &c2, &c3};
    board[lane][0] = x[0], board[lane][1] = x[1], board[lane][2] = y;
    __syncwarp();
    for (unsigned c = 0; c < 4; c++)
        for (unsigned k = 0; k < 4; k++)
            *sum[c] = fma(board[lane / 4 * 4 + k][c / 2],
                          board[(lane % 4 * 2 + c % 2) * 4 + k][2], *sum[c]);
    __syncwarp();
}
static inline unsigned fc_settled(unsigned v) {
    return v;
}
static inline long long fc_settled(long long v) {
    return v;
}
template <typename T> static T *fc_settled(T *p) {
    return p;
}
static inline void fc_bring(void *to, const void *from, bool there) {
    if (there)
        memcpy(to, from, 16);
    else
        memset(to, 0, 16);
}
template <int N> static void fc_bring_some(void *to, const void *from, bool there) {
    if (there)
        memcpy(to, from, N);
    else
        memset(to, 0, N);
}
static inline void fc_bring_join(unsigned long long *gate) {
    fc_gate_join(gate);
}
static inline void fc_bring_set() {}
template <int N> static void fc_brought() {}

/* Products of groups: a thread reads what it needs of both operands itself. */
static inline void *fc_aligned(void *p) {
    return p;
}
template <int N> static void fc_group_brought() {}
static inline void fc_group_begin() {}
static inline void fc_group_end() {}
static inline unsigned fc_emu_swizzled(unsigned line, unsigned in) {
    return in / 64 * 4096 + line * 64 + (in / 8 % 8 ^ line % 8) * 8 + in % 8;
}
template <bool BY_K> static unsigned fc_emu_held(unsigned place, unsigned k) {
    return BY_K ? fc_emu_swizzled(place, k) : fc_emu_swizzled(k, place);
}
template <int WIDE, bool LEFT_BY_K, bool RIGHT_BY_K, typename F>
static void fc_emu_group(float *const *sums, const unsigned short *left,
                         const unsigned short *right, unsigned first, F value) {
    const unsigned lane = fc_emu_linear() % 32, warp = fc_emu_linear() / 32 % 4;
    for (unsigned i = 0; i < 4u * WIDE; i++) {
        const unsigned row = warp * 16 + lane / 4 + i % 4 / 2 * 8,
                       column = i / 4 * 8 + lane % 4 * 2 + i % 2;
        double sum = *sums[i];
        for (unsigned k = first; k < first + 16; k++)
            sum += (double)value(left[fc_emu_held<LEFT_BY_K>(row, k)]) *
                   (double)value(right[fc_emu_held<RIGHT_BY_K>(column, k)]);
        *sums[i] = (float)sum;
    }
}
template <int WIDE, bool LEFT_BY_K, bool RIGHT_BY_K>
static void fc_group_product_f16(float *const *sums, const unsigned short *left,
                                 const unsigned short *right, unsigned first) {
    fc_emu_group<WIDE, LEFT_BY_K, RIGHT_BY_K>(sums, left, right, first, fc_f16_value);
}
template <int WIDE, bool LEFT_BY_K, bool RIGHT_BY_K>
static void fc_group_product_bf16(float *const *sums, const unsigned short *left,
                                  const unsigned short *right, unsigned first) {
    fc_emu_group<WIDE, LEFT_BY_K, RIGHT_BY_K>(sums, left, right, first, [](unsigned short h) {
        return __uint_as_float((unsigned)h << 16);
    });
}

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
