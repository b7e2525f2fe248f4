// tensor.cuh - products of pieces of matrices of 16-bit floats, by the 32 threads of a warp. A
// piece of 16 rows by 16 of k is four registers of a thread, one of 16 of k by 8 columns two; a
// register has two neighbours along k. Results are 16 by 8 floats, four of a thread: rows lane / 4
// and 8 below, columns lane % 4 * 2 and the next.

// Products stand where they are written, between reads of shared memory that were put there to come
// in time; what is asked for is the whole line of the L2, as another block reads the rest of it.
//@ in_order
#define FC_IN_ORDER volatile
#define FC_OF_LINE  ".L2::128B"

//@ tensor
#ifndef FC_EMULATE
// 8 x 8 elements for each register; lane l says where line l % 8 of piece l / 8 begins. `turned`:
// lines are across k.
#define FC_PIECES(name, how)                                                                       \
    FC_INLINE void name(unsigned int(&r)[4], const unsigned short *line) {                         \
        const unsigned int at = (unsigned int)__cvta_generic_to_shared(line);                      \
        asm volatile("ldmatrix.sync.aligned.m8n8.x4" how ".shared.b16 {%0, %1, %2, %3}, [%4];"     \
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])                              \
                     : "r"(at)                                                                     \
                     : "memory");                                                                  \
    }                                                                                              \
    FC_INLINE void name(unsigned int(&r)[2], const unsigned short *line) {                         \
        const unsigned int at = (unsigned int)__cvta_generic_to_shared(line);                      \
        asm volatile("ldmatrix.sync.aligned.m8n8.x2" how ".shared.b16 {%0, %1}, [%2];"             \
                     : "=r"(r[0]), "=r"(r[1])                                                      \
                     : "r"(at)                                                                     \
                     : "memory");                                                                  \
    }
FC_PIECES(fc_pieces, "")
FC_PIECES(fc_pieces_turned, ".trans")
#undef FC_PIECES
#ifndef FC_IN_ORDER
#define FC_IN_ORDER
#endif
#define FC_PRODUCT(name, type)                                                                     \
    FC_INLINE void name(float &c0, float &c1, float &c2, float &c3, const unsigned int(&x)[4],     \
                        unsigned int y0, unsigned int y1) {                                        \
        asm FC_IN_ORDER("mma.sync.aligned.m16n8k16.row.col.f32." type "." type                     \
                        ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "                      \
                        "{%0, %1, %2, %3};"                                                        \
                        : "+f"(c0), "+f"(c1), "+f"(c2), "+f"(c3)                                   \
                        : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y0), "r"(y1));           \
    }
FC_PRODUCT(fc_product_f16, "f16")
FC_PRODUCT(fc_product_bf16, "bf16")
#undef FC_PRODUCT
#endif

// Elements of four bytes, of k half as many: f32 of which tensor cores look at the first eleven
// digits, so that they are rounded before. The registers of pieces of lines across k: one and two
// are how far the second and third are from the first.
//@ tf32
FC_INLINE void fc_words_across(unsigned int (&r)[2], const float *at, unsigned int one, unsigned int) {
    r[0] = __float_as_uint(at[0]), r[1] = __float_as_uint(at[one]);
}
FC_INLINE void fc_words_across(unsigned int (&r)[4], const float *at, unsigned int one, unsigned int two) {
    r[0] = __float_as_uint(at[0]), r[1] = __float_as_uint(at[one]);
    r[2] = __float_as_uint(at[two]), r[3] = __float_as_uint(at[one + two]);
}
#ifndef FC_EMULATE
template <int N> FC_INLINE void fc_pieces(unsigned int (&r)[N], const float *line) {
    fc_pieces(r, (const unsigned short *)line);
}
template <int N> FC_INLINE void fc_tf32(unsigned int (&r)[N]) {
#pragma unroll
    for (int i = 0; i < N; i++)
        asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r[i]) : "f"(__uint_as_float(r[i])));
}
FC_INLINE void fc_product_tf32(float &c0, float &c1, float &c2, float &c3,
                               const unsigned int (&x)[4], unsigned int y0, unsigned int y1) {
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c0), "+f"(c1), "+f"(c2), "+f"(c3)
        : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y0), "r"(y1));
}
#endif

// Elements of one byte, of k twice as many: integers, whose sums wrap. The registers of 16 lines
// across k by 32 of it: a lane of four has elements 4 l, ... of k, of which pieces of 16 bits have two
// and two; of the upper half of those lanes in turned order, so that eight lines meet each bank once.
// Even rows (columns) are one piece, odd ones the other.
//@ bytes
FC_INLINE unsigned int fc_byte_line(unsigned int lane) {
    return lane / 16 * 16 + lane % 8 / 2 * 4 + (lane / 8 % 2 ^ lane % 8 / 4) * 2 + lane % 2;
}
template <bool ROWS>
FC_INLINE void fc_bytes_turned(unsigned int (&r)[4], const unsigned char *line, unsigned int lane) {
    const unsigned int even = lane % 4 < 2 ? 0x6420 : 0x2064, odd = lane % 4 < 2 ? 0x7531 : 0x3175;
    unsigned int q[4];
    fc_pieces_turned(q, (const unsigned short *)line);
    r[0] = __byte_perm(q[0], q[1], even), r[3] = __byte_perm(q[2], q[3], odd);
    r[ROWS ? 1 : 2] = __byte_perm(q[0], q[1], odd);
    r[ROWS ? 2 : 1] = __byte_perm(q[2], q[3], even);
}
#ifndef FC_EMULATE
template <int N> FC_INLINE void fc_pieces(unsigned int (&r)[N], const unsigned char *line) {
    fc_pieces(r, (const unsigned short *)line);
}
#define FC_PRODUCT(name, x_type, y_type)                                                           \
    FC_INLINE void name(int &c0, int &c1, int &c2, int &c3, const unsigned int(&x)[4],             \
                        unsigned int y0, unsigned int y1) {                                        \
        asm("mma.sync.aligned.m16n8k32.row.col.s32." x_type "." y_type                             \
            ".s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                 \
            : "+r"(c0), "+r"(c1), "+r"(c2), "+r"(c3)                                               \
            : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y0), "r"(y1));                       \
    }
FC_PRODUCT(fc_product_s8_s8, "s8", "s8")
FC_PRODUCT(fc_product_s8_u8, "s8", "u8")
FC_PRODUCT(fc_product_u8_s8, "u8", "s8")
FC_PRODUCT(fc_product_u8_u8, "u8", "u8")
#undef FC_PRODUCT
#endif

// Elements of f64: 16 rows by 4 of k are two of a thread, 4 of k by 8 columns one. Each result is a
// chain of fma, in order of k.
//@ doubles
#ifndef FC_EMULATE
FC_INLINE void fc_product_f64(double &c0, double &c1, double &c2, double &c3, const double (&x)[2],
                              double y) {
    asm("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, "
        "{%0, %1, %2, %3};"
        : "+d"(c0), "+d"(c1), "+d"(c2), "+d"(c3)
        : "d"(x[0]), "d"(x[1]), "d"(y));
}
#endif

// Two neighbours, each rounded once.
//@ pair_f16
FC_INLINE unsigned int fc_f16_pair(float a, float b) {
#ifdef FC_EMULATE
    return fc_f16_bits(a) | (unsigned int)fc_f16_bits(b) << 16;
#else
    unsigned int r;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(b), "f"(a));
    return r;
#endif
}
FC_INLINE void fc_f16_round(float &x, float &y, float a, float b) {
    const unsigned int two = fc_f16_pair(a, b);
    x = fc_f16_value((unsigned short)two);
    y = fc_f16_value((unsigned short)(two >> 16));
}

//@ pair_bf16
FC_INLINE unsigned int fc_bf16_pair(float a, float b) {
#ifdef FC_EMULATE
    return fc_bf16_bits(a) | (unsigned int)fc_bf16_bits(b) << 16;
#else
    unsigned int r;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(b), "f"(a));
    return r;
#endif
}
FC_INLINE void fc_bf16_round(float &x, float &y, float a, float b) {
    const unsigned int two = fc_bf16_pair(a, b);
    x = __uint_as_float(two << 16);
    y = __uint_as_float(two & 0xffff0000u);
}

// The lower two of four 8-bit integers, or the upper two: as the last bits of 128 (of 1024) they are
// floats already, less their highest bit, which is worth -128 where there are signs. Each step is
// exact: a bf16 has eight digits, so 256 is taken from that bit before the others are added.
//@ bytes_bf16
FC_INLINE unsigned int fc_bf16_fma(unsigned int a, unsigned int b, unsigned int c) {
#ifdef FC_EMULATE
    unsigned int r = 0;
    for (int h = 0; h < 32; h += 16)
        r |= (unsigned int)fc_bf16_bits(fc_bf16_value((unsigned short)(a >> h)) *
                                            fc_bf16_value((unsigned short)(b >> h)) +
                                        fc_bf16_value((unsigned short)(c >> h)))
             << h;
    return r;
#else
    asm("fma.rn.bf16x2 %0, %1, %2, %0;" : "+r"(c) : "r"(a), "r"(b));
    return c;
#endif
}
FC_INLINE unsigned int fc_bf16_bytes(unsigned int four, bool upper, bool sign) {
    const unsigned int one = 0x3f803f80u, minus = 0xbf80bf80u;
    const unsigned int p = __byte_perm(four, 0x43434343u, upper ? 0x4342 : 0x4140);
    const unsigned int low = p & 0xff7fff7fu, high = p & 0xff80ff80u;
    if (sign) return fc_bf16_fma(high, minus, low);
    return fc_bf16_fma(fc_bf16_fma(0x43804380u, minus, high), one, low);
}

//@ bytes_f16
FC_INLINE unsigned int fc_f16_minus(unsigned int a, unsigned int b) {
#ifdef FC_EMULATE
    unsigned int r = 0;
    for (int h = 0; h < 32; h += 16)
        r |= (unsigned int)fc_f16_bits(fc_f16_value((unsigned short)(a >> h)) -
                                       fc_f16_value((unsigned short)(b >> h)))
             << h;
    return r;
#else
    unsigned int r;
    asm("sub.rn.f16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
#endif
}
FC_INLINE unsigned int fc_f16_bytes(unsigned int four, bool upper, bool sign) {
    if (sign) four ^= 0x80808080u;
    return fc_f16_minus(__byte_perm(four, 0x64646464u, upper ? 0x4342 : 0x4140),
                        sign ? 0x64806480u : 0x64006400u);
}

//@ bring
#ifndef FC_EMULATE
// The same number, which no compiler works out anew.
FC_INLINE unsigned int fc_settled(unsigned int v) {
    asm volatile("" : "+r"(v));
    return v;
}
// 16 bytes to shared memory, or 8, zeros if they are not `there`; what was asked for so far is a
// set; waits until all sets but the last N are there.
#ifndef FC_OF_LINE
#define FC_OF_LINE
#endif
#if __CUDA_ARCH__ >= 800
FC_INLINE void fc_bring(void *to, const void *from, bool there) {
    const unsigned int at = (unsigned int)__cvta_generic_to_shared(to);
    asm volatile("cp.async.cg.shared.global" FC_OF_LINE " [%0], [%1], 16, %2;" ::"r"(at), "l"(from),
                 "r"(there ? 16 : 0)
                 : "memory");
}
template <int N> FC_INLINE void fc_bring_some(void *to, const void *from, bool there) {
    const unsigned int at = (unsigned int)__cvta_generic_to_shared(to);
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(at), "l"(from), "n"(N),
                 "r"(there ? N : 0)
                 : "memory");
}
FC_INLINE void fc_bring_set() {
    asm volatile("cp.async.commit_group;" ::: "memory");
}
template <int N> FC_INLINE void fc_brought() {
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}
#else
FC_INLINE void fc_bring(void *to, const void *from, bool there) {
    *(uint4 *)to = there ? *(const uint4 *)from : uint4{};
}
FC_INLINE void fc_bring_set() {}
template <int N> FC_INLINE void fc_brought() {}
#endif
#endif

// A thread joins a gate when all that it asked for has come.
//@ pipe
#ifndef FC_EMULATE
FC_INLINE void fc_bring_join(unsigned long long *gate) {
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(fc_shared(gate))
                 : "memory");
}
FC_INLINE long long fc_settled(long long v) {
    asm volatile("" : "+l"(v));
    return v;
}
// The same place in shared memory, in a register: its window is not asked for again.
template <typename T> FC_INLINE T *fc_settled(T *p) {
    return (T *)__cvta_shared_to_generic(fc_settled((unsigned int)__cvta_generic_to_shared(p)));
}
#endif

// What is read some steps later comes to the L2.
//@ come
FC_INLINE void fc_come(const void *p) {
#ifdef FC_EMULATE
    (void)p;
#else
    asm volatile("prefetch.global.L2 [%0];" ::"l"(p));
#endif
}

// Products of four warps, which go on while the threads do other things: how an operand lies in
// shared memory, in lines of 128 bytes, whose sixteens change places; before the first product of a
// step, and after its last, when those of the step before are done.
//@ group
#ifndef FC_EMULATE
FC_INLINE unsigned long long fc_matrix(const void *p, unsigned int across, unsigned int lines) {
    const unsigned int at = (unsigned int)__cvta_generic_to_shared(p);
    return (at >> 4 & 0x3fff) | (unsigned long long)(across >> 4) << 16 |
           (unsigned long long)(lines >> 4) << 32 | 1ull << 62;
}
FC_INLINE void *fc_aligned(void *p) {
    return (char *)p + (-(unsigned int)__cvta_generic_to_shared(p) & 1023u);
}
template <int N> FC_INLINE void fc_group_brought() {
    fc_brought<N>();
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
FC_INLINE void fc_group_begin() {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
FC_INLINE void fc_group_end() {
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
}
#endif
