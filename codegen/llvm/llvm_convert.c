/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* llvm_convert.c - conversions between dtypes, and between the stored and the computed form of a
 * value.
 *
 * In: a name and its dtype; of the conversions only those of ir/code.h. Out: a name. Invariants: an
 * f16 or bf16 is held as a float with the narrow type's bits; no conversion becomes a call of a
 * compiler's run-time library, so f16 is written out where the processor has no instruction
 * for it. */
#include "codegen/llvm/llvm_text.h"
#include "ir/plant.h"

/* One operation on integers of `bits`, with a constant on the right. */
static const char *op_const(fc_ll *f, const char *op, unsigned bits, unsigned W, const char *a,
                            int64_t c) {
    return fc_ll_ins(f, "%s %s %s, %s", op, fc_ll_wide(f, fc_ll_fmt(f, "i%u", bits), W), a,
                     fc_ll_int(f, bits, c, W));
}

static const char *op_pair(fc_ll *f, const char *op, const char *type, const char *a,
                           const char *b) {
    return fc_ll_ins(f, "%s %s %s, %s", op, type, a, b);
}

static const char *change(fc_ll *f, const char *op, const char *from, const char *to, unsigned W,
                          const char *v) {
    return fc_ll_ins(f, "%s %s %s to %s", op, fc_ll_wide(f, from, W), v, fc_ll_wide(f, to, W));
}

/* ---- f16 --------------------------------------------------------------------------------- */

static const char *half_to_float_bits(fc_ll *f, unsigned W, const char *h) {
    const char *i32 = fc_ll_wide(f, "i32", W);
    const char *u = change(f, "zext", "i16", "i32", W, h);
    const char *sign = op_const(f, "shl", 32, W, op_const(f, "and", 32, W, u, 0x8000), 16);
    const char *mag = op_const(f, "and", 32, W, u, 0x7fff);
    const char *moved = op_const(f, "shl", 32, W, mag, 13);
    const char *normal = op_const(f, "add", 32, W, moved, 112 << 23);
    const char *special = op_const(f, "or", 32, W, moved, 0x7f800000);
    /* a subnormal is its fraction times 2^-24, exactly */
    const char *tiny = fc_ll_ins(f, "fmul %s %s, %s", fc_ll_wide(f, "float", W),
                                 change(f, "uitofp", "i32", "float", W, mag),
                                 fc_ll_const(f, FUSEC_F32, 0x33800000, W));
    const char *is_special = op_const(f, "icmp uge", 32, W, mag, 0x7c00);
    const char *is_tiny = op_const(f, "icmp ult", 32, W, mag, 0x400);
    const char *r = fc_ll_select(f, i32, W, is_special, special, normal);
    r = fc_ll_select(f, i32, W, is_tiny, change(f, "bitcast", "float", "i32", W, tiny), r);
    return change(f, "bitcast", "i32", "float", W, op_pair(f, "or", i32, r, sign));
}

static const char *half_from_float_bits(fc_ll *f, unsigned W, const char *v) {
    const char *i32 = fc_ll_wide(f, "i32", W);
    const char *u = change(f, "bitcast", "float", "i32", W, v);
    const char *sign = op_const(f, "and", 32, W, op_const(f, "lshr", 32, W, u, 16), 0x8000);
    const char *mag = op_const(f, "and", 32, W, u, 0x7fffffff);
    /* normal: rebias, add half of the last place less one, and one more when the last
     * place is odd */
    const char *odd = op_const(f, "and", 32, W, op_const(f, "lshr", 32, W, mag, 13), 1);
    const char *round = op_const(f, "add", 32, W, mag, 0xfff - (112 << 23));
    const char *normal = op_const(f, "lshr", 32, W, op_pair(f, "add", i32, round, odd), 13);
    /* subnormal: the last place of |v| + 0.5 is that of the result */
    const char *sum = fc_ll_ins(f, "fadd %s %s, %s", fc_ll_wide(f, "float", W),
                                change(f, "bitcast", "i32", "float", W, mag),
                                fc_ll_const(f, FUSEC_F32, 0x3f000000, W));
    const char *tiny =
        op_const(f, "sub", 32, W, change(f, "bitcast", "float", "i32", W, sum), 0x3f000000);
    const char *nan = op_const(f, "or", 32, W, op_const(f, "lshr", 32, W, mag, 13), 0x7e00);
    nan = op_const(f, "and", 32, W, nan, 0x7fff);
    const char *big = fc_ll_select(f, i32, W, op_const(f, "icmp ugt", 32, W, mag, 0x7f800000), nan,
                                   fc_ll_int(f, 32, 0x7c00, W));
    const char *r =
        fc_ll_select(f, i32, W, op_const(f, "icmp ult", 32, W, mag, 0x38800000), tiny, normal);
    r = fc_ll_select(f, i32, W, op_const(f, "icmp uge", 32, W, mag, 0x47800000), big, r);
    return change(f, "trunc", "i32", "i16", W, op_pair(f, "or", i32, r, sign));
}

static const char *half_to_float(fc_ll *f, unsigned W, const char *h) {
    if (!f->half) return half_to_float_bits(f, W, h);
    return change(f, "fpext", "half", "float", W, change(f, "bitcast", "i16", "half", W, h));
}

static const char *half_from_float(fc_ll *f, unsigned W, const char *v) {
    if (!f->half) return half_from_float_bits(f, W, v);
    return change(f, "bitcast", "half", "i16", W, change(f, "fptrunc", "float", "half", W, v));
}

/* ---- stored and computed form ------------------------------------------------------------ */

const char *fc_ll_unpack(fc_ll *f, fusec_dtype t, unsigned W, const char *stored) {
    if (t == FUSEC_BOOL) return op_const(f, "icmp ne", 8, W, stored, 0);
    if (t == FUSEC_F16) return half_to_float(f, W, stored);
    if (t != FUSEC_BF16) return stored;
    const char *u = op_const(f, "shl", 32, W, change(f, "zext", "i16", "i32", W, stored), 16);
    return change(f, "bitcast", "i32", "float", W, u);
}

/* The upper 16 bits of each lane by one instruction of AVX-512, which a store leaves alone: a shift
 * and a truncation would become one that has no nontemporal form. */
static const char *upper_halves(fc_ll *f, unsigned W, const char *value) {
    const char *halves = fc_ll_ins(f, "bitcast <%u x float> %s to <%u x i16>", W, value, 2 * W);
    return fc_ll_pick(f, fc_ll_wide(f, "i16", 2 * W), halves, NULL, W, 1, 2, 2 * W);
}

const char *fc_ll_pack(fc_ll *f, fusec_dtype t, unsigned W, const char *value) {
    if (t == FUSEC_BOOL) return change(f, "zext", "i1", "i8", W, value);
    if (t == FUSEC_F16) return half_from_float(f, W, value);
    if (t != FUSEC_BF16) return value;
    if (W * 4 >= 64 && f->m->vector_bytes == 64) return upper_halves(f, W, value);
    const char *u = change(f, "bitcast", "float", "i32", W, value);
    return change(f, "trunc", "i32", "i16", W, op_const(f, "lshr", 32, W, u, 16));
}

/* ---- raw conversions --------------------------------------------------------------------- */

static const char *float_to_float(fc_ll *f, fusec_dtype from, fusec_dtype to, unsigned W,
                                  const char *v) {
    if (fc_is_half(from)) return v;
    if (to == FUSEC_F16) return half_to_float(f, W, half_from_float(f, W, v));
    return to == FUSEC_F64 ? change(f, "fpext", "float", "double", W, v)
                           : change(f, "fptrunc", "double", "float", W, v);
}

/* The lower halves of integers of 64 bits. x86 has no quick instruction for it but the shuffles of
 * floats, which LLVM takes for floats only. */
static const char *lower_halves(fc_ll *f, unsigned W, const char *v) {
    const char *all = fc_ll_wide(f, "float", 2 * W);
    v = fc_ll_ins(f, "bitcast %s %s to %s", fc_ll_wide(f, "i64", W), v, all);
    v = fc_ll_pick(f, all, v, NULL, W, 0, 2, 2 * W);
    return change(f, "bitcast", "float", "i32", W, v);
}

const char *fc_ll_cvt(fc_ll *f, fusec_dtype from, fusec_dtype to, unsigned W, const char *v) {
    const char *src = fc_ll_type(f, from, 1), *dst = fc_ll_type(f, to, 1);
    if (from == to) return v;
    if (!fc_cvt_direct(from, to) || to == FUSEC_BF16) fc_ll_fail(f, FUSEC_INTERNAL);
    if (fc_is_float(from) && fc_is_float(to)) return float_to_float(f, from, to, W, v);
    if (fc_is_float(to)) return change(f, fc_is_signed(from) ? "sitofp" : "uitofp", src, dst, W, v);
    if (fc_is_float(from)) return change(f, fc_is_signed(to) ? "fptosi" : "fptoui", src, dst, W, v);
    if (fc_dtypes[from].bits == fc_dtypes[to].bits) return v;
    if (W > 1 && fc_dtypes[from].bits == 64 && fc_dtypes[to].bits == 32)
        return lower_halves(f, W, v);
    if (fc_dtypes[from].bits > fc_dtypes[to].bits) return change(f, "trunc", src, dst, W, v);
    return change(f, FC_PLANTED(sign_extend) || fc_is_signed(from) ? "sext" : "zext", src, dst, W,
                  v);
}

/* LLVM 19 to 22 can't select a single half whose bits are the outcome of a comparison (with
 * AVX-512, a mask). Arithmetic on integers gives what the instruction would, quiet nans
 * included. */
static const char *half_of_one(fc_ll *f, const char *stored) {
    const char *mag = op_const(f, "and", 16, 1, stored, 0x7fff);
    const char *quiet = fc_ll_select(f, "i16", 1, op_const(f, "icmp ugt", 16, 1, mag, 0x7c00),
                                     fc_ll_int(f, 16, 0x200, 1), fc_ll_int(f, 16, 0, 1));
    return half_to_float_bits(f, 1, op_pair(f, "or", "i16", stored, quiet));
}

const char *fc_ll_bitcast(fc_ll *f, fusec_dtype from, fusec_dtype to, unsigned W, const char *v) {
    const char *stored = fc_ll_pack(f, from, W, v);
    const char *src = fc_ll_stored(f, from, 1), *dst = fc_ll_stored(f, to, 1);
    if (strcmp(src, dst) != 0) stored = change(f, "bitcast", src, dst, W, stored);
    if (to == FUSEC_F16 && W == 1 && f->half) return half_of_one(f, stored);
    return fc_ll_unpack(f, to, W, stored);
}
