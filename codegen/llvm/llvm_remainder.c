/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* llvm_remainder.c - fmod by a division, for quotients of moderate size.
 *
 * In: vectors x and y. Out: the bits of fmod. With a = |x|, b = |y| and t = trunc(a/b rounded), t
 * is the quotient or one more, as whole numbers below 2^24 (f64: 2^53) are floats and rounding does
 * not pass them. a and t*b are multiples of the last place of the smaller one of a and b, and a -
 * t*b is less than b in size and not above a: it is a float, so one fma gives it exactly. Below 0,
 * b is added, exactly for the same reason. A vector with a larger quotient, a divisor of 0 or
 * infinity, or a nan calls libm. */
#include "codegen/llvm/llvm_text.h"

#include <math.h>

static const char *call(fc_ll *f, fusec_dtype t, const char *name, unsigned n,
                        const char *const *a) {
    return fc_ll_intrinsic(f, name, n, t, f->V, a);
}

static const char *constant(fc_ll *f, fusec_dtype t, double v) {
    return fc_ll_const(f, t, fc_const_bits(t, v), f->V);
}

/* Whether no lane that is there needs libm. */
static const char *all_usual(fc_ll *f, fusec_dtype t, const char *q, const char *b) {
    const char *type = fc_ll_type(f, t, f->V), *bools = fc_ll_wide(f, "i1", f->V);
    const char *ok = fc_ll_ins(f, "fcmp olt %s %s, %s", type, q,
                               constant(f, t, t == FUSEC_F64 ? 0x1p52 : 0x1p23));
    const char *finite = fc_ll_ins(f, "fcmp olt %s %s, %s", type, b, constant(f, t, INFINITY));
    ok = fc_ll_ins(f, "and %s %s, %s", bools, ok, finite);
    if (f->mask) {
        const char *gone =
            fc_ll_ins(f, "xor %s %s, %s", bools, f->mask, fc_ll_const(f, FUSEC_BOOL, 1, f->V));
        ok = fc_ll_ins(f, "or %s %s, %s", bools, ok, gone);
    }
    return fc_ll_all_lanes(f, f->V, ok);
}

bool fc_ll_has_remainder(const fc_ll *f, fusec_dtype t) {
    return f->math != NULL && (t == FUSEC_F32 || t == FUSEC_F64);
}

const char *fc_ll_remainder(fc_ll *f, fusec_dtype t, const char *const *x) {
    const char *type = fc_ll_type(f, t, f->V);
    const char *a = call(f, t, "@llvm.fabs", 1, &x[0]), *b = call(f, t, "@llvm.fabs", 1, &x[1]);
    const char *q = fc_ll_ins(f, "fdiv %s %s, %s", type, a, b);
    fc_ll_if usual;
    fc_ll_if_begin(f, &usual, all_usual(f, t, q, b));
    const char *whole = call(f, t, "@llvm.trunc", 1, &q);
    const char *factors[] = {fc_ll_ins(f, "fneg %s %s", type, whole), b, a};
    const char *r = call(f, t, "@llvm.fma", 3, factors);
    const char *below = fc_ll_ins(f, "fcmp olt %s %s, %s", type, r, constant(f, t, 0));
    const char *more = fc_ll_ins(f, "fadd %s %s, %s", type, r, b);
    r = fc_ll_select(f, type, f->V, below, more, r);
    const char *with_sign[] = {r, x[0]};
    r = call(f, t, "@llvm.copysign", 2, with_sign);
    fc_ll_if_else(f, &usual);
    const char *other = fc_ll_math(f, "fmod", 2, t, f->V, x);
    fc_ll_if_end(f, &usual);
    return fc_ll_either(f, &usual, type, r, other);
}
