/* cuda_emit.c - the frame of every kernel: prelude, parameter block, entry point; slices and row
 * code.
 *
 * In: a kernel and a class. Out: CUDA C that includes nothing and depends on nothing else. What a
 * kernel computes comes from legalised code (g->code), in which stores and reductions are found
 * again through g->store_value and g->red_value. */
#include <stdio.h>

#include "codegen/cuda/cuda.h"

/* ---- prelude -------------------------------------------------------------------------------- */

static const char prelude_common[] =
    "#pragma nv_diag_suppress 177 /* a kernel need not use all of this */\n"
    "#define FC_INLINE static __device__ __forceinline__\n"
    "template <typename T, int N, int A> struct alignas(A) fc_vec {\n"
    "    T e[N];\n"
    "};\n"
    "/* x, but no compiler knows its value */\n"
    "FC_INLINE float fc_opaque(float x, long long zero) {\n"
    "    return __uint_as_float(__float_as_uint(x) | (unsigned int)zero);\n"
    "}\n"
    "FC_INLINE double fc_opaque(double x, long long zero) {\n"
    "    return __longlong_as_double(__double_as_longlong(x) | zero);\n"
    "}\n";

static const char prelude_narrow[] =
    "typedef int ix;\n"
    "FC_INLINE ix fc_quotient(ix a, ix b) { return (ix)((unsigned int)a / (unsigned int)b); }\n";

static const char prelude_wide[] =
    "typedef long long ix;\n"
    "FC_INLINE ix fc_quotient(ix a, ix b) {\n"
    "    if (((unsigned long long)a | (unsigned long long)b) >> 32) return a / b;\n"
    "    return (ix)((unsigned int)a / (unsigned int)b);\n"
    "}\n";

/* Templates over the accumulator types of cuda_red.c. Trees are built by a binary counter: after n
 * leaves there is one finished subtree of 2^l leaves for each bit l of n; a new leaf joins those
 * that it completes. */
static const char prelude_trees[] =
    "template <typename T> FC_INLINE T fc_lane_xor(T v, int mask) {\n"
    "    return (T)__shfl_xor_sync(0xffffffffu, v, mask);\n"
    "}\n"
    "template <typename T> FC_INLINE T fc_lane_from(T v, int lane) {\n"
    "    return (T)__shfl_sync(0xffffffffu, v, lane);\n"
    "}\n"
    "/* over aligned groups of `width` lanes, in lane order; every lane gets the result */\n"
    "template <typename R> FC_INLINE R fc_lanes(R x, int width) {\n"
    "#pragma unroll\n"
    "    for (int m = 1; m < width; m *= 2) x = fc_meet(x, fc_xor(x, m), (threadIdx.x & m) != 0);\n"
    "    return x;\n"
    "}\n"
    "template <typename R> FC_INLINE R fc_lanes_even(R x, int width) {\n"
    "#pragma unroll\n"
    "    for (int m = 1; m < width; m *= 2) x = fc_meet(x, fc_even(x, m), (threadIdx.x & m) != "
    "0);\n"
    "    return x;\n"
    "}\n"
    "/* x is the same in all lanes; lane l keeps the subtree of 2^l leaves */\n"
    "template <typename R> FC_INLINE void fc_push(R &kept, R x, unsigned int n) {\n"
    "    int l = 0;\n"
    "    for (; n >> l & 1; l++) x = fc_join(fc_from(kept, l), x);\n"
    "    if ((threadIdx.x & 31) == l) kept = x;\n"
    "}\n"
    "template <typename R> FC_INLINE R fc_total(const R &kept, unsigned int n, R start) {\n"
    "    bool any = false;\n"
    "    for (int l = 0; n >> l; l++) {\n"
    "        if (!(n >> l & 1)) continue;\n"
    "        const R y = fc_from(kept, l);\n"
    "        start = any ? fc_join(y, start) : y;\n"
    "        any = true;\n"
    "    }\n"
    "    return start;\n"
    "}\n"
    "/* the same in one thread; gives the largest subtree that x completes */\n"
    "template <typename R> FC_INLINE R fc_put(R *kept, R x, unsigned int n) {\n"
    "    int l = 0;\n"
    "    for (; n >> l & 1; l++) x = fc_join(kept[l], x);\n"
    "    kept[l] = x;\n"
    "    return x;\n"
    "}\n"
    "template <typename R>\n"
    "FC_INLINE R fc_sum(const R *kept, unsigned int n, R start, bool any = false) {\n"
    "    for (int l = 0; n >> l; l++) {\n"
    "        if (!(n >> l & 1)) continue;\n"
    "        start = any ? fc_join(kept[l], start) : kept[l];\n"
    "        any = true;\n"
    "    }\n"
    "    return start;\n"
    "}\n"
    "/* the same with the two lowest levels in registers */\n"
    "template <typename R>\n"
    "FC_INLINE void fc_count(R &ones, R &twos, R *far, R x, unsigned int n) {\n"
    "    if (!(n & 1)) {\n"
    "        ones = x;\n"
    "    } else {\n"
    "        x = fc_join(ones, x);\n"
    "        if (!(n & 2))\n"
    "            twos = x;\n"
    "        else\n"
    "            fc_put(far, fc_join(twos, x), n >> 2);\n"
    "    }\n"
    "}\n"
    "template <typename R>\n"
    "FC_INLINE R fc_counted(const R &ones, const R &twos, const R *far, unsigned int n, R x) {\n"
    "    bool any = n & 1;\n"
    "    if (any) x = ones;\n"
    "    if (n & 2) {\n"
    "        if (any)\n"
    "            x = fc_join(twos, x);\n"
    "        else\n"
    "            x = twos;\n"
    "        any = true;\n"
    "    }\n"
    "    return fc_sum(far, n >> 2, x, any);\n"
    "}\n";

/* FC_EMULATE: the text is being compiled for a host, which has functions of its own for these.
 * Conversions to 16 bits go in pairs: those of single values run at a quarter of the rate. */
static const char prelude_f16[] = "#ifndef FC_EMULATE\n"
                                  "FC_INLINE float fc_f16_value(unsigned short h) {\n"
                                  "    float f;\n"
                                  "    asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(f) : \"h\"(h));\n"
                                  "    return f;\n"
                                  "}\n"
                                  "FC_INLINE unsigned short fc_f16_bits(float f) {\n"
                                  "#if __CUDA_ARCH__ >= 800\n"
                                  "    unsigned int r;\n"
                                  "    asm(\"cvt.rn.f16x2.f32 %0, %1, %2;\" : \"=r\"(r) : "
                                  "\"f\"(0.0f), \"f\"(f));\n"
                                  "    return (unsigned short)r;\n"
                                  "#else\n"
                                  "    unsigned short h;\n"
                                  "    asm(\"cvt.rn.f16.f32 %0, %1;\" : \"=h\"(h) : \"f\"(f));\n"
                                  "    return h;\n"
                                  "#endif\n"
                                  "}\n"
                                  "#endif\n";

/* The upper half of a pair is the float that the 16 bits stand for. */
static const char prelude_bf16[] =
    "FC_INLINE float fc_bf16_value(unsigned short h) { return __uint_as_float((unsigned int)h << "
    "16); }\n"
    "#if !defined(FC_EMULATE) && __CUDA_ARCH__ >= 800\n"
    "FC_INLINE float fc_bf16_round(float f) {\n"
    "    unsigned int r;\n"
    "    asm(\"cvt.rn.bf16x2.f32 %0, %1, %2;\" : \"=r\"(r) : \"f\"(f), \"f\"(0.0f));\n"
    "    return __uint_as_float(r);\n"
    "}\n"
    "#else\n"
    "FC_INLINE float fc_bf16_round(float f) {\n"
    "    const unsigned int u = __float_as_uint(f);\n"
    "    if ((u & 0x7fffffffu) > 0x7f800000u) return __uint_as_float(0x7fff0000u);\n"
    "    return __uint_as_float((u + 0x7fffu + (u >> 16 & 1u)) & 0xffff0000u);\n"
    "}\n"
    "#endif\n"
    "FC_INLINE unsigned short fc_bf16_bits(float f) {\n"
    "    return (unsigned short)(__float_as_uint(fc_bf16_round(f)) >> 16);\n"
    "}\n";

/* Sums, differences and products of 16-bit values as instructions of their own: they round once
 * what f32 has exactly, or with more than twice the bits and two, so that rounding again changes
 * nothing. */
static const char prelude_arith[] =
    "#if !defined(FC_EMULATE) && __CUDA_ARCH__ >= %d\n"
    "#define FC_HALF(name, sign) \\\n"
    "    FC_INLINE unsigned short fc_%s_##name(unsigned short a, unsigned short b) { \\\n"
    "        unsigned short r; \\\n"
    "        asm(#name \".rn.%s %%0, %%1, %%2;\" : \"=h\"(r) : \"h\"(a), \"h\"(b)); \\\n"
    "        return r; \\\n"
    "    }\n"
    "#else\n"
    "#define FC_HALF(name, sign) \\\n"
    "    FC_INLINE unsigned short fc_%s_##name(unsigned short a, unsigned short b) { \\\n"
    "        return fc_%s_bits(fc_%s_value(a) sign fc_%s_value(b)); \\\n"
    "    }\n"
    "#endif\n"
    "FC_HALF(add, +)\n"
    "FC_HALF(sub, -)\n"
    "FC_HALF(mul, *)\n"
    "#undef FC_HALF\n";

/* Functions whose result is rounded to 16 bits at once.
 *
 * fc_div16: of 16-bit values. A quotient that is not in the middle of two 16-bit values is at least
 * 2^-17 (bf16) or 2^-23 (f16) of itself away from any, and one that is (a subnormal one) is an f32,
 * so one correction by the exact remainder leads to the right side. Where the remainder is 0 or no
 * number, the product is the quotient, sign and all. Scaling keeps the reciprocal of a subnormal
 * divisor finite; what it makes overflow overflows anyway. */
static const char prelude_half[] =
    "#ifdef FC_EMULATE\n"
    "FC_INLINE float fc_div16(float a, float b) { return a / b; }\n"
    "FC_INLINE float fc_exp16(float x) { return expf(x); }\n"
    "FC_INLINE float fc_tanh16(float x) { return tanhf(x); }\n"
    "#else\n"
    "FC_INLINE float fc_div16(float a, float b) {\n"
    "    const float s = fabsf(b) < 0x1p-64f ? 0x1p64f : 1.0f;\n"
    "    float r;\n"
    "    a *= s;\n"
    "    b *= s;\n"
    "    asm(\"rcp.approx.f32 %0, %1;\" : \"=f\"(r) : \"f\"(b));\n"
    "    const float q = a * r, rest = fmaf(-q, b, a), better = fmaf(rest, r, q);\n"
    "    return fabsf(rest) > 0 && fabsf(rest) < __uint_as_float(0x7f800000u) ? better : q;\n"
    "}\n"
    "/* off by 2^-16 of itself at most; halves, so that no part of it is subnormal */\n"
    "FC_INLINE float fc_exp16(float x) {\n"
    "    float r;\n"
    "    asm(\"ex2.approx.ftz.f32 %0, %1;\" : \"=f\"(r) : \"f\"(x * 0x1.715476p-1f));\n"
    "    return r * r;\n"
    "}\n"
    "/* off by 2^-11 of itself at most, an eighth of a bf16's ulp */\n"
    "FC_INLINE float fc_tanh16(float x) {\n"
    "#if __CUDA_ARCH__ >= 750\n"
    "    float r;\n"
    "    asm(\"tanh.approx.f32 %0, %1;\" : \"=f\"(r) : \"f\"(x));\n"
    "    return r;\n"
    "#else\n"
    "    return tanhf(x);\n"
    "#endif\n"
    "}\n"
    "#endif\n";

/* NaN wins and -0 is below +0, as instructions and, elsewhere, by hand. */
static const char prelude_minmax[] =
    "FC_INLINE double fc_minimum(double a, double b) {\n"
    "    const double zero = __longlong_as_double(__double_as_longlong(a) | "
    "__double_as_longlong(b));\n"
    "    return a < b || a != a ? a : a == b ? zero : b;\n"
    "}\n"
    "FC_INLINE double fc_maximum(double a, double b) {\n"
    "    const double zero = __longlong_as_double(__double_as_longlong(a) & "
    "__double_as_longlong(b));\n"
    "    return a > b || a != a ? a : a == b ? zero : b;\n"
    "}\n"
    "FC_INLINE float fc_minimumf(float a, float b) {\n"
    "#if !defined(FC_EMULATE) && __CUDA_ARCH__ >= 800\n"
    "    float r;\n"
    "    asm(\"min.NaN.f32 %0, %1, %2;\" : \"=f\"(r) : \"f\"(a), \"f\"(b));\n"
    "    return r;\n"
    "#else\n"
    "    const float zero = __uint_as_float(__float_as_uint(a) | __float_as_uint(b));\n"
    "    return a < b || a != a ? a : a == b ? zero : b;\n"
    "#endif\n"
    "}\n"
    "FC_INLINE float fc_maximumf(float a, float b) {\n"
    "#if !defined(FC_EMULATE) && __CUDA_ARCH__ >= 800\n"
    "    float r;\n"
    "    asm(\"max.NaN.f32 %0, %1, %2;\" : \"=f\"(r) : \"f\"(a), \"f\"(b));\n"
    "    return r;\n"
    "#else\n"
    "    const float zero = __uint_as_float(__float_as_uint(a) & __float_as_uint(b));\n"
    "    return a > b || a != a ? a : a == b ? zero : b;\n"
    "#endif\n"
    "}\n";

/* d / n rounded once, for whole n up to 16. A product with the reciprocal in f64 is off by less
 * than a quotient can be away from the middle between two floats, and where a quotient is such a
 * middle (a subnormal one) the product is the same middle. Chips without fast f64 divide. */
_Static_assert((int)FC_CHUNK / (int)FC_LANES <= 16 && (int)FC_RUN <= 16,
               "what a lane of a chunk and a run take");
static const char prelude_count[] =
    "FC_INLINE float fc_by_count(float d, float n) {\n"
    "#if defined(FC_EMULATE) || __CUDA_ARCH__ % 100 == 0\n"
    "    if (n == 1) return d;\n"
    "    if (n == 2) return d * 0.5f;\n"
    "    if (n == 4) return d * 0.25f;\n"
    "    if (n == 8) return d * 0.125f;\n"
    "    return (float)((double)d * (1.0 / (double)n));\n"
    "#else\n"
    "    return d / n;\n"
    "#endif\n"
    "}\n"
    "FC_INLINE double fc_by_count(double d, double n) { return d / n; }\n"
    "/* mostly b is half of n, as two parts of the same size are joined */\n"
    "template <typename T> FC_INLINE T fc_part(T b, T n) { return b + b == n ? (T)0.5 : b / n; }\n";

/* -x of a 16-bit integer. ptxas 13.0 takes a plain one into a comparison as an operand of 32 bits,
 * in which -(-32768) is 32768 and -1 of u16 is more than 65535. */
static const char prelude_neg[] = "FC_INLINE unsigned int fc_neg(unsigned int x) {\n"
                                  "    unsigned int r = 0u - x;\n"
                                  "#ifndef FC_EMULATE\n"
                                  "    asm(\"\" : \"+r\"(r));\n"
                                  "#endif\n"
                                  "    return r;\n"
                                  "}\n";

static bool uses_neg(const fc_cuda_gen *g) {
    for (size_t i = 0; i < g->code.ins.len; i++) {
        fusec_dtype t = (fusec_dtype)g->code.ins.at[i].dtype;
        if (g->code.ins.at[i].op == FC_OP_neg && fc_is_int(t) && fc_dtypes[t].bytes == 2)
            return true;
    }
    return false;
}

static bool counts(const fc_cuda_gen *g) {
    for (size_t r = 0; r < g->k->reductions.len; r++)
        if (fc_cuda_counts(g->k->reductions.at[r].op)) return true;
    return false;
}

static bool uses_minmax(const fc_cuda_gen *g) {
    for (size_t r = 0; r < g->k->reductions.len; r++)
        if (g->k->reductions.at[r].op == FC_OP_min || g->k->reductions.at[r].op == FC_OP_max)
            return true;
    for (size_t i = 0; i < g->code.ins.len; i++)
        if (g->code.ins.at[i].op == FC_OP_minimum || g->code.ins.at[i].op == FC_OP_maximum)
            return true;
    return false;
}

static bool uses_dtype(const fc_cuda_gen *g, fusec_dtype t) {
    for (size_t i = 0; i < g->code.ins.len; i++)
        if (g->code.ins.at[i].dtype == t) return true;
    return false;
}

static void half_arithmetic(fc_str *out, const char *name, int from_arch) {
    fc_str_printf(out, prelude_arith, from_arch, name, name, name, name, name, name);
}

static void prelude(fc_cuda_gen *g) {
    fc_str *out = g->t.out;
    fc_str_add(out, prelude_common);
    fc_str_printf(out, "struct P {\n    long long w[%u];\n};\n", (unsigned)g->l.words);
    fc_str_add(out, g->cls->wide ? prelude_wide : prelude_narrow);
    if (g->k->reductions.len) fc_str_add(out, prelude_trees);
    if (g->cls->split == FC_CUDA_GANG) fc_str_add(out, fc_cuda_gang_prelude);
    if (counts(g)) fc_str_add(out, prelude_count);
    if (uses_minmax(g)) fc_str_add(out, prelude_minmax);
    if (uses_neg(g)) fc_str_add(out, prelude_neg);
    if (uses_dtype(g, FUSEC_F16)) {
        fc_str_add(out, prelude_f16);
        half_arithmetic(out, "f16", 530);
    }
    if (uses_dtype(g, FUSEC_BF16)) {
        fc_str_add(out, prelude_bf16);
        half_arithmetic(out, "bf16", 900);
    }
    if (uses_dtype(g, FUSEC_F16) || uses_dtype(g, FUSEC_BF16)) fc_str_add(out, prelude_half);
}

/* ---- slices --------------------------------------------------------------------------------- */

/* Loads and indices that have no value yet. */
static void mark_used(fc_cuda_gen *g) {
    for (uint32_t a = 0; a < g->k->accesses.len; a++) g->used[a] &= FC_CUDA_WRITES;
    for (fc_val v = 0; v < g->code.ins.len; v++) {
        const fc_instr *i = &g->code.ins.at[v];
        if (!g->need[v] || g->done[v]) continue;
        if (i->op == FC_OP_LOAD) g->used[i->imm] |= FC_CUDA_LOADS;
        if (i->op == FC_OP_INDEX) g->used[i->imm] |= FC_CUDA_INDEXES;
    }
}

static void mark_writes(fc_cuda_gen *g, unsigned phase, fc_level level) {
    for (size_t s = 0; phase == FC_CUDA_STORES && s < g->k->stores.len; s++) {
        uint32_t a = g->k->stores.at[s].access;
        if (g->k->accesses.at[a].level == level) g->used[a] |= FC_CUDA_WRITES;
    }
}

/* From the first n of g->roots down to what is held. */
static void slice(fc_cuda_gen *g, size_t n) {
    memset(g->need, 0, g->code.ins.len);
    for (size_t i = 0; i < n; i++) g->need[g->roots[i]] = 1;
    for (fc_val v = (fc_val)g->code.ins.len; v-- > 0;) {
        const fc_instr *i = &g->code.ins.at[v];
        const fc_val src[3] = {i->a, i->b, i->c};
        if (!g->need[v] || g->hold[v] == FC_CUDA_HELD) continue;
        for (int k = 0; k < fc_instr_arity(i); k++) g->need[src[k]] = 1;
    }
}

bool fc_cuda_slice(fc_cuda_gen *g, unsigned phase, fc_level level) {
    size_t n = 0;
    for (size_t r = 0; r < g->k->reductions.len; r++)
        if (g->k->reductions.at[r].stage == phase) g->roots[n++] = g->red_value[r];
    for (size_t s = 0; phase == FC_CUDA_STORES && s < g->k->stores.len; s++)
        if (g->k->accesses.at[g->k->stores.at[s].access].level == level)
            g->roots[n++] = g->store_value[s];
    slice(g, n);
    memset(g->used, 0, g->k->accesses.len);
    mark_used(g);
    mark_writes(g, phase, level);
    return n > 0;
}

void fc_cuda_row(fc_cuda_gen *g) {
    memset(g->local, 0, g->code.ins.len);
    for (fc_val v = 0; v < g->code.ins.len; v++) {
        const fc_instr *i = &g->code.ins.at[v];
        if (!g->need[v] || g->done[v] || g->local[v] || i->level != FC_ROW) continue;
        if (i->op == FC_OP_LOAD) {
            fc_str place;
            fc_str_init(&place, g->code.alloc);
            fc_str_printf(&place, "a%u[b%u]", (unsigned)g->k->accesses.at[i->imm].buffer,
                          (unsigned)i->imm);
            fc_cuda_from_storage(&g->t, v, place.data);
            if (place.oom) g->t.out->oom = true;
            fc_str_free(&place);
        } else if (i->op == FC_OP_INDEX) {
            fc_cuda_line(&g->t, "const long long v%u = b%u;", (unsigned)v, (unsigned)i->imm);
        } else {
            fc_cuda_instr(&g->t, v);
        }
        g->local[v] = 1;
    }
    for (fc_val v = 0; v < g->code.ins.len; v++) g->done[v] |= g->local[v];
    memset(g->local, 0, g->code.ins.len);
    mark_used(g);
}

void fc_cuda_row_stores(fc_cuda_gen *g) {
    for (size_t s = 0; s < g->k->stores.len; s++) {
        uint32_t a = g->k->stores.at[s].access;
        const fc_access *access = &g->k->accesses.at[a];
        if (access->level != FC_ROW) continue;
        fc_cuda_indent(&g->t);
        fc_str_printf(g->t.out, "a%u[b%u] = ", (unsigned)access->buffer, (unsigned)a);
        fc_cuda_to_storage(&g->t, g->store_value[s]);
        fc_str_add(g->t.out, ";\n");
    }
}

enum { UNUSED = UINT8_MAX }; /* of g->narrow: no user yet */

/* ---- the entry point ------------------------------------------------------------------------ */

static void arguments(fc_cuda_gen *g) {
    for (size_t i = 0; i < g->k->args.len; i++) {
        const fc_arg *a = &g->k->args.at[i];
        const char *type = fc_dtypes[a->dtype].cuda, *qualifier = a->written ? "" : "const ";
        fc_cuda_line(&g->t, "%s%s *__restrict__ const a%u = (%s%s *)p.w[%u];", qualifier, type,
                     (unsigned)i, qualifier, type, (unsigned)(g->l.args + i));
    }
}

static void parameter(fc_cuda_gen *g, fc_val v, unsigned word) {
    fusec_dtype t = (fusec_dtype)g->code.ins.at[v].dtype;
    fc_str expr;
    fc_str_init(&expr, g->code.alloc);
    if (t == FUSEC_F32)
        fc_str_printf(&expr, "__uint_as_float((unsigned int)p.w[%u])", word);
    else if (t == FUSEC_F64)
        fc_str_printf(&expr, "__longlong_as_double(p.w[%u])", word);
    else
        fc_str_printf(&expr, "(%s)p.w[%u]", fc_dtypes[t].cuda, word);
    fc_cuda_from_storage(&g->t, v, expr.data);
    if (expr.oom) g->t.out->oom = true;
    fc_str_free(&expr);
    g->done[v] = 1;
}

/* How many blocks of an SM there should be room for, 0 for any number: what the compiler takes as
 * leave to use registers, so that all loads of a batch are under way before the first is used. A
 * gang relies on it. */
static unsigned blocks_of_sm(const fc_cuda_gen *g, unsigned threads) {
    if (g->cls->split == FC_CUDA_GANG) return fc_cuda_gang_threads(g->k, g->cached) / threads;
    if (g->k->schedule == FC_SCHED_OUTER) return fc_cuda_components(g->k) < 4 ? 2 : 4;
    if (g->k->schedule == FC_SCHED_INNER && (g->cls->variant & 15) == FC_CUDA_LOOP &&
        g->k->accesses.len <= 6 && threads <= 512)
        return threads == 512 ? 2 : 4;
    return 0;
}

static fusec_status entry(fc_cuda_gen *g, const char *name, fc_error *e) {
    unsigned threads = fc_cuda_block_threads(g->k, g->cls), blocks = blocks_of_sm(g, threads);
    char bounds[32];
    snprintf(bounds, sizeof bounds, blocks ? "%u, %u" : "%u", threads, blocks);
    fc_cuda_line(
        &g->t,
        "extern \"C\" __global__ void __launch_bounds__(%s) %s(const __grid_constant__ P p) {",
        bounds, name);
    arguments(g);
    for (fc_val v = 0; v < g->code.ins.len; v++)
        if (g->code.ins.at[v].op == FC_OP_PARAM)
            parameter(g, v, g->l.params + (unsigned)g->code.ins.at[v].imm);
    fc_cuda_line(&g->t, "const ix rows = (ix)p.w[%u];", g->l.extra + FC_PB_ROWS);
    fc_cuda_line(&g->t, "const long long zero = p.w[%u];", g->l.extra + FC_PB_SPARE0);
    if (g->k->schedule == FC_SCHED_MAP) {
        fc_cuda_emit_map(g);
    } else {
        fc_cuda_line(&g->t, "const ix count = (ix)p.w[%u];", g->l.extra + FC_PB_COUNT);
        if (g->k->schedule == FC_SCHED_INNER)
            FC_TRY(fc_cuda_emit_inner(g, e));
        else
            fc_cuda_emit_outer(g);
    }
    fc_cuda_line(&g->t, "}");
    return FUSEC_OK;
}

/* Which values exist only to be rounded to one 16-bit dtype. */
static void find_narrow(fc_cuda_gen *g) {
    size_t roots = g->k->stores.len + g->k->reductions.len;
    for (fc_val v = (fc_val)g->code.ins.len; v-- > 0;) {
        const fc_instr *i = &g->code.ins.at[v];
        const fc_val src[3] = {i->a, i->b, i->c};
        bool half = i->op == FC_OP_CVT && fc_is_half((fusec_dtype)i->dtype);
        uint8_t to = half ? i->dtype : FUSEC_BOOL;
        for (int n = 0; n < fc_instr_arity(i); n++) {
            uint8_t *narrow = &g->narrow[src[n]];
            *narrow = *narrow == UNUSED || *narrow == to ? to : FUSEC_BOOL;
        }
    }
    for (size_t r = 0; r < roots; r++) g->narrow[g->store_value[r]] = FUSEC_BOOL;
}

static fusec_status init(fc_cuda_gen *g, const fc_kernel *k, const fc_class *cls, fc_str *out,
                         fc_error *e) {
    size_t len = k->code.ins.len, nstores = k->stores.len, nreds = k->reductions.len;
    const fc_alloc *alloc = out->alloc;
    memset(g, 0, sizeof *g);
    fc_code_init(&g->code, alloc);
    g->k = k;
    g->cls = cls;
    g->np = cls->np;
    g->axes = (uint32_t)cls->np + cls->nr;
    g->l = fc_layout_of((uint32_t)k->args.len, g->axes, (uint32_t)k->accesses.len,
                        (uint32_t)k->params.len);
    fc_val *map = fc_calloc(alloc, len + 1, sizeof *map);
    if (!map) return fc_oom(e);
    fusec_status s = fc_legalize(&k->code, FC_TARGET_CUDA, &g->code, map);
    size_t legal = g->code.ins.len;
    g->store_value = fc_calloc(alloc, 2 * (nstores + nreds) + 2, sizeof *g->store_value);
    g->need = fc_calloc(alloc, 6 * legal + 2 * k->accesses.len + 1, 1);
    if (s == FUSEC_OK && g->store_value && g->need) {
        g->red_value = g->store_value + nstores;
        g->roots = g->red_value + nreds;
        g->done = g->need + legal;
        g->local = g->done + legal;
        g->vary = g->local + legal;
        g->hold = g->vary + legal;
        g->narrow = g->hold + legal;
        g->used = g->narrow + legal;
        g->cached = g->used + k->accesses.len;
        for (size_t i = 0; i < nstores; i++) g->store_value[i] = map[k->stores.at[i].value];
        for (size_t i = 0; i < nreds; i++) g->red_value[i] = map[k->reductions.at[i].value];
        memset(g->narrow, UNUSED, legal);
        find_narrow(g);
        g->t = (fc_cuda_text){.code = &g->code,
                              .out = out,
                              .need = g->need,
                              .done = g->done,
                              .local = g->local,
                              .narrow = g->narrow};
    } else if (s == FUSEC_OK) {
        s = FUSEC_OUT_OF_MEMORY;
    }
    fc_free(alloc, map);
    return s == FUSEC_OK ? s : fc_fail(e, s, "the code of a kernel could not be written as CUDA C");
}

static bool keeps_rows(const fc_kernel *k, const fc_class *cls) {
    return k->schedule == FC_SCHED_INNER && (cls->variant & 15) == FC_CUDA_ONE;
}

static fusec_status kept(const fc_kernel *k, const fc_class *cls, uint8_t *accesses, fc_error *e) {
    return keeps_rows(k, cls) ? fc_cuda_cache(k, cls, accesses, NULL, e) : FUSEC_OK;
}

fusec_status fc_cuda_emit(const fc_machine *m, const fc_kernel *k, const fc_class *cls,
                          const char *name, fc_str *out, fc_error *e) {
    (void)m; /* what a text may depend on is in the class */
    fc_cuda_gen g;
    fusec_status s = init(&g, k, cls, out, e);
    if (s == FUSEC_OK) prelude(&g);
    for (uint32_t r = 0; s == FUSEC_OK && r < k->reductions.len; r++)
        s = fc_cuda_red_functions(&g, r, e);
    if (s == FUSEC_OK && keeps_rows(k, cls)) s = fc_cuda_keep(&g, e);
    if (s == FUSEC_OK) s = entry(&g, name, e);
    if (s == FUSEC_OK && out->oom) s = fc_oom(e);
    fc_free(out->alloc, g.need);
    fc_free(out->alloc, g.store_value);
    fc_code_free(&g.code);
    return s;
}

const fc_target fc_cuda_target = {
    .kind = FC_TARGET_CUDA, .schedule = fc_cuda_schedule, .emit = fc_cuda_emit, .kept = kept};
