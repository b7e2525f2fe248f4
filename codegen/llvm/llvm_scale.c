/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* llvm_scale.c - multiplication by a power of two that may not be a number of the dtype.
 *
 * In: x and a whole number n, both floats. Out: x 2^n, rounded once, also where it is subnormal or
 * infinite. AVX-512 has an instruction. Elsewhere n is the sum of two whole halves, the first one
 * rounded, whose powers are numbers: the first product is exact, as x is neither large nor small.
 * Adding POWER puts a half with the bias of exponents into the low bits of a float. */
#include "codegen/llvm/llvm_math.h"
#include "codegen/llvm/llvm_text.h"

enum { REGISTER = 64 }; /* bytes of what the instruction takes */

/* Lanes `from` to `from + n - 1` of a and b one behind the other, each of W lanes. */
static const char *lanes(fc_ll *f, const char *type, unsigned W, const char *a, const char *b,
                         unsigned from, unsigned n) {
    return fc_ll_pick(f, fc_ll_wide(f, type, W), a, b, n, from, 1, from + n);
}

static const char *by_instruction(fc_ll *f, fusec_dtype t, unsigned W, const char *x,
                                  const char *n) {
    enum { AS_USUAL = 4 }; /* rounding as the control register says */
    const char *type = fc_ll_type(f, t, W), *one = fc_ll_type(f, t, 1);
    if (W * fc_dtypes[t].bytes > REGISTER) {
        const char *half[2];
        for (unsigned i = 0; i < 2; i++)
            half[i] = by_instruction(f, t, W / 2, lanes(f, one, W, x, "poison", i * W / 2, W / 2),
                                     lanes(f, one, W, n, "poison", i * W / 2, W / 2));
        return lanes(f, one, W / 2, half[0], half[1], 0, W);
    }
    const char *name =
        fc_ll_fmt(f, "@llvm.x86.avx512.mask.scalef.%s.512", t == FUSEC_F64 ? "pd" : "ps");
    fc_ll_declare(f, fc_ll_fmt(f, "%s %s(%s, %s, %s, i%u, i32)", type, name, type, type, type, W));
    return fc_ll_ins(f, "call %s %s(%s %s, %s %s, %s zeroinitializer, i%u -1, i32 %d)", type, name,
                     type, x, type, n, type, W, AS_USUAL);
}

/* Whole registers, a power of two of them. */
static bool has_instruction(const fc_ll *f, fusec_dtype t, unsigned W) {
    const unsigned bytes = W * fc_dtypes[t].bytes;
    return f->m->vector_bytes == REGISTER && bytes >= REGISTER && (bytes & (bytes - 1)) == 0;
}

const char *fc_ll_scale(fc_ll *f, fusec_dtype t, unsigned W, const char *x, const char *n) {
    const bool wide = t == FUSEC_F64;
    if (has_instruction(f, t, W)) return by_instruction(f, t, W, x, n);
    const fusec_dtype bits = wide ? FUSEC_U64 : FUSEC_U32;
    const char *type = fc_ll_type(f, t, W), *words = fc_ll_type(f, bits, W);
    const char *power = fc_ll_const(f, t, fc_const_bits(t, wide ? POWER_F64 : POWER_F32), W);
    const char *mantissa = fc_ll_const(f, bits, wide ? 52 : 23, W);
    const char *halve[] = {n, fc_ll_const(f, t, fc_const_bits(t, 0.5), W), power};
    const char *half[2];
    half[0] = fc_ll_intrinsic(f, "@llvm.fma", 3, t, W, halve);
    const char *first = fc_ll_ins(f, "fsub %s %s, %s", type, half[0], power);
    const char *second = fc_ll_ins(f, "fsub %s %s, %s", type, n, first);
    half[1] = fc_ll_ins(f, "fadd %s %s, %s", type, second, power);
    for (int i = 0; i < 2; i++) {
        const char *up =
            fc_ll_ins(f, "shl %s %s, %s", words, fc_ll_bitcast(f, t, bits, W, half[i]), mantissa);
        x = fc_ll_ins(f, "fmul %s %s, %s", type, x, fc_ll_bitcast(f, bits, t, W, up));
    }
    return x;
}
