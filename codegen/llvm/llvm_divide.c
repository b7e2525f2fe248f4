/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* llvm_divide.c - divisions of many elements by one number, without the divider.
 *
 * In: vectors a, and a divisor b that is the same in all lanes, with y = 1/b rounded to nearest and
 * z = fma(-b, y, 1)*y, what that left out. Out: a/b, the bits of fdiv. A vector division keeps the
 * divider busy for some 10 cycles (f32, 512 bits), these four operations take 2:
 *
 *     q0 = fma(a, y, a*z);  r = fma(-b, q0, a);  q = fma(r, y, q0)
 *
 * y + z is 1/b but for 2^-47 of it (f64: 2^-105), so q0 is hardly more than half a place off; then
 * r is exact, and by Markstein's theorem ("y is 1/b to nearest, q0 within a place of a/b") q is a/b
 * to nearest. That holds as long as nothing underflows or overflows: for b in [2^-20, 2^24] and |a|
 * in [2^-98, 2^100] (f64: [2^-800, 2^800]) all quotients are normal, and so are the last places of
 * the remainders; what a*z loses is a 32nd of a place. A vector with any other element, zero
 * included, is divided as usual.
 *
 * Where both are values of bf16, 8 bits long, and so is what becomes of the quotient, a*y is enough
 * for every a. A quotient of 9 bits or more is never halfway between two bf16 (a multiple of such a
 * number is longer than 8 bits), nor nearer to it than 2^-17 of itself, and a*y is off by 2^-23. A
 * quotient below 2^-126 has the last place of a bf16, u, however small it is: it is halfway, or at
 * least u/2^11 away from that; a*y is off by less than u/2^17, half a place of f32, before it is
 * rounded to such places, so what is halfway stays so, and the rest on its side. What overflows is
 * beyond halfway to infinity.
 *
 * Where they are any numbers, and bf16 is what becomes of the quotient, a*y is enough unless it is
 * next to halfway: it is within 1.5 places of a/b, or 2 of what that is rounded to (and above all
 * numbers where that may be the largest of them). Such vectors are divided as usual. */
#include "codegen/llvm/llvm_math.h"
#include "codegen/llvm/llvm_text.h"

static bool is_f64(fusec_dtype t) {
    return t == FUSEC_F64;
}

static const char *ints(fc_ll *f, fusec_dtype t, unsigned W) {
    return fc_ll_wide(f, is_f64(t) ? "i64" : "i32", W);
}

bool fc_ll_divides(const fc_ll *f, fusec_dtype t) {
    return f->math != NULL && (t == FUSEC_F32 || t == FUSEC_F64);
}

/* Bits of 2^e. */
static int64_t power(fusec_dtype t, int e) {
    return is_f64(t) ? (int64_t)(1023 + e) << 52 : (int64_t)(127 + e) << 23;
}

static const char *fused(fc_ll *f, fusec_dtype t, unsigned W, const char *a, const char *b,
                         const char *c) {
    const char *const args[] = {a, b, c};
    return fc_ll_intrinsic(f, "@llvm.fma", 3, t, W, args);
}

/* i1: whether b is one that elements may be divided by. */
static const char *is_usual(fc_ll *f, fusec_dtype t, const char *b) {
    const char *bits = ints(f, t, 1);
    const char *as_int = fc_ll_ins(f, "bitcast %s %s to %s", fc_ll_type(f, t, 1), b, bits);
    const char *from = fc_ll_fmt(f, "%lld", (long long)power(t, -20));
    const char *span = fc_ll_fmt(f, "%lld", (long long)(power(t, 24) - power(t, -20)));
    const char *above = fc_ll_ins(f, "sub %s %s, %s", bits, as_int, from);
    return fc_ll_ins(f, "icmp ule %s %s, %s", bits, above, span);
}

/* In all lanes `bits`, or with any other divisor `none`. */
static const char *limit(fc_ll *f, fusec_dtype t, const char *usual, int64_t bits, int64_t none) {
    const char *type = ints(f, t, 1);
    return fc_ll_splat(f, type,
                       fc_ll_ins(f, "select i1 %s, %s %lld, %s %lld", usual, type, (long long)bits,
                                 type, (long long)none));
}

fc_ll_divisor fc_ll_divisor_of(fc_ll *f, fusec_dtype t, const char *b) {
    const char *type = fc_ll_type(f, t, 1);
    const char *one = fc_ll_const(f, t, fc_const_bits(t, 1.0), 1);
    const char *minus = fc_ll_ins(f, "fneg %s %s", type, b);
    const char *y = fc_ll_ins(f, "fdiv %s 1.0, %s", type, b);
    const char *z = fc_ll_ins(f, "fmul %s %s, %s", type, fused(f, t, 1, minus, y, one), y);
    const char *usual = is_usual(f, t, b);
    const int64_t least = power(t, is_f64(t) ? -800 : -98), far = is_f64(t) ? INT64_MIN : INT32_MIN;
    /* seen from 2^31 (2^63) all elements are too far, and no bit is in no mask */
    return (fc_ll_divisor){.usual = usual,
                           .b = fc_ll_splat(f, type, b),
                           .y = fc_ll_splat(f, type, y),
                           .z = fc_ll_splat(f, type, z),
                           .low = limit(f, t, usual, least, far),
                           .halfway = is_f64(t) ? NULL : limit(f, t, usual, 0xfff8, 0)};
}

const char *fc_ll_share(fc_ll *f, fusec_dtype t, const char *n) {
    const char *type = fc_ll_type(f, t, 1), *name = fc_ll_fmt(f, "@%s.share.%s", f->name, type);
    fc_str text;
    fc_str_init(&text, f->alloc);
    fc_str_printf(&text, "%s = private unnamed_addr constant [%d x %s] [", name, FC_RUN, type);
    for (int k = 1; k <= FC_RUN; k++)
        fc_str_printf(
            &text, "%s%s %s", k > 1 ? ", " : "", type,
            fc_ll_const(f, t, fc_const_bits(t, is_f64(t) ? 1.0 / k : 1.0f / (float)k), 1));
    fc_str_add(&text, "]\n");
    const bool oom = text.oom;
    if (!oom && !strstr(f->decls.data, text.data)) fc_str_add(&f->decls, text.data);
    fc_str_free(&text);
    if (oom) fc_ll_fail(f, FUSEC_OUT_OF_MEMORY);
    const char *at = fc_ll_index(f, type, name, n);
    return fc_ll_splat(f, type, fc_ll_ins(f, "load %s, ptr %s", type, at));
}

/* Whether no lower half of a float is within 2 of the middle (or 3 above it). */
static const char *none_is_halfway(fc_ll *f, const char *q, const char *mask) {
    const char *bits = ints(f, FUSEC_F32, f->V);
    const char *v = fc_ll_ins(f, "bitcast %s %s to %s", fc_ll_type(f, FUSEC_F32, f->V), q, bits);
    v = fc_ll_ins(f, "add %s %s, %s", bits, v, fc_ll_int(f, 32, 0x8002, f->V));
    v = fc_ll_ins(f, "and %s %s, %s", bits, v, mask);
    return fc_ll_all_lanes(f, f->V,
                           fc_ll_ins(f, "icmp ne %s %s, %s", bits, v, fc_ll_int(f, 32, 0, f->V)));
}

static const char *all_in_range(fc_ll *f, fusec_dtype t, const char *a, const char *low) {
    const char *bits = ints(f, t, f->V);
    const unsigned size = is_f64(t) ? 64 : 32;
    const char *v = fc_ll_ins(f, "bitcast %s %s to %s", fc_ll_type(f, t, f->V), a, bits);
    v = fc_ll_ins(f, "and %s %s, %s", bits, v,
                  fc_ll_int(f, size, is_f64(t) ? INT64_MAX : INT32_MAX, f->V));
    v = fc_ll_ins(f, "sub %s %s, %s", bits, v, low);
    const int64_t span = is_f64(t) ? power(t, 800) - power(t, -800) : power(t, 100) - power(t, -98);
    v = fc_ll_ins(f, "icmp ule %s %s, %s", bits, v, fc_ll_int(f, size, span, f->V));
    return fc_ll_all_lanes(f, f->V, v);
}

/* q, or the quotient as usual where not all lanes are in range. */
static const char *checked(fc_ll *f, fusec_dtype t, fc_ll_if *usual, const char *q, const char *a,
                           const fc_ll_divisor *by) {
    const char *type = fc_ll_type(f, t, f->V);
    fc_ll_if_else(f, usual);
    const char *other = fc_ll_ins(f, "fdiv %s %s, %s", type, a, by->b);
    fc_ll_if_end(f, usual);
    return fc_ll_either(f, usual, type, q, other);
}

const char *fc_ll_divide(fc_ll *f, fusec_dtype t, const char *a, const fc_ll_divisor *by) {
    const char *type = fc_ll_type(f, t, f->V);
    fc_ll_if usual;
    fc_ll_if_begin(f, &usual, all_in_range(f, t, a, by->low));
    const char *minus = fc_ll_ins(f, "fneg %s %s", type, by->b);
    const char *q = fc_ll_ins(f, "fmul %s %s, %s", type, a, by->z);
    q = fused(f, t, f->V, a, by->y, q);
    q = fused(f, t, f->V, fused(f, t, f->V, minus, q, a), by->y, q);
    return checked(f, t, &usual, q, a, by);
}

const char *fc_ll_divide_coarsely(fc_ll *f, const char *a, const fc_ll_divisor *by,
                                  fc_ll_coarse how) {
    const fusec_dtype t = FUSEC_F32;
    fc_ll_if branch;
    const char *q = fc_ll_ins(f, "fmul %s %s, %s", fc_ll_type(f, t, f->V), a, by->y);
    fc_ll_if_begin(f, &branch,
                   how == FC_LL_OF_BF16 ? by->usual : none_is_halfway(f, q, by->halfway));
    return checked(f, t, &branch, q, a, by);
}

/* ---- which quotients are nothing but a bf16 -------------------------------------------------- */

static const fc_instr *at(const fc_code *c, fc_val v) {
    return &c->ins.at[v];
}

static bool narrows(const fc_instr *i) {
    return (i->op == FC_OP_CVT || i->op == FC_OP_CAST) && i->dtype == FUSEC_BF16;
}

/* A quotient that is used as anything but a bf16, too, is not coarse: also by what rows are made of
 * in f->code, where equal quotients are one. Of numbers that may have any nan, another look at all
 * of them takes as long as it saves. */
void fc_ll_find_coarse(fc_ll *f) {
    const fc_code *c = &f->k->code;
    f->coarse = fc_ll_alloc(f, f->code.ins.len);
    for (fc_val v = 0; v < c->ins.len; v++) {
        const fc_instr *i = at(c, v);
        if (narrows(i) && at(c, i->a)->op == FC_OP_div && fc_val_dtype(c, i->a) == FUSEC_F32)
            f->coarse[f->map[i->a]] = fc_math_of_bf16(c, i->a) ? FC_LL_OF_BF16
                                      : f->narrowing[f->map[v]] == FC_LL_NARROW_CLEAN
                                          ? FC_LL_TO_BF16
                                          : FC_LL_FINE;
    }
    for (fc_val v = 0; v < f->code.ins.len; v++) {
        const fc_instr *i = at(&f->code, v);
        for (int n = 0; !narrows(i) && n < fc_instr_arity(i); n++)
            f->coarse[fc_instr_operand(i, n)] = FC_LL_FINE;
    }
    for (size_t i = 0; i < f->k->stores.len; i++)
        f->coarse[f->map[f->k->stores.at[i].value]] = FC_LL_FINE;
    for (size_t i = 0; i < f->k->reductions.len; i++)
        for (unsigned v = 0; v < f->k->reductions.at[i].nvalues; v++)
            f->coarse[f->map[f->k->reductions.at[i].value[v]]] = FC_LL_FINE;
}
