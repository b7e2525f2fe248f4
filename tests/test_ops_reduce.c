/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_ops_reduce.c - the reductions of ops.def: start, step, combine and finish against the
 * oracle.
 *
 * Seven elements go into three parts: one takes the even positions, one the odd ones (as
 * interleaved lanes do), and one stays empty. Each column of the arrays is a reduction of
 * its own. */
#include "tests/support/codebox.h"
#include "tests/support/oracle.h"
#include "tests/support/test.h"

#include <math.h>
#include <stdlib.h>

enum { length = 7, columns = 3000 };

static const fc_target_kind targets[] = {FC_TARGET_INTERP, FC_TARGET_CUDA, FC_TARGET_LLVM};

/* ---- a reduction as code ---------------------------------------------------------------- */

typedef struct part {
    fc_val at[FC_MAX_COMPONENTS];
} part;

static part take(fc_code *c, fc_op red, fusec_dtype element, int first, int end) {
    const fusec_dtype t = fc_acc_dtype(red, element);
    part p, next;
    fc_red_init(c, red, t, p.at);
    for (int k = 0; k < fc_ops[red].components; k++)
        FC_EXPECT_EQ_I64(fc_val_dtype(c, p.at[k]), fc_component_dtype(red, t, k));
    for (int k = first; k < end; k += 2, p = next) {
        fc_val x = fc_val_cast(c, fc_val_arg(c, (unsigned)k, element, FC_POINT), t);
        fc_red_step(c, red, t, p.at, x, FC_NOVAL, fc_val_i64(c, k), next.at);
    }
    return p;
}

static bool reduce(fc_op red, fusec_dtype element, fc_target_kind target, const void *const *arrays,
                   void *out) {
    fc_code c;
    fc_code_init(&c, &fc_libc_alloc);
    const fusec_dtype t = fc_acc_dtype(red, element);
    part even = take(&c, red, element, 0, length), odd = take(&c, red, element, 1, length);
    part none = take(&c, red, element, 0, 0), p, q;
    fc_red_combine(&c, red, t, even.at, odd.at, p.at);
    fc_red_combine(&c, red, t, p.at, none.at, q.at);
    fc_red_combine(&c, red, t, none.at, q.at, p.at);
    fc_val r = fc_red_finish(&c, red, t, p.at, fc_val_i64(&c, length));
    r = fc_val_cast(&c, r, fc_red_dtype(red, element));
    const bool ok = fc_box_run(&c, target, &r, 1, columns, arrays, &out);
    fc_code_free(&c);
    return ok;
}

/* ---- data ------------------------------------------------------------------------------- */

typedef struct data {
    void *at[length], *out;
} data;

/* Few different values, so that ties are frequent. */
static data make_data(fusec_dtype t) {
    static const double floats[] = {0.0, -0.0, 1, -1, 2.5, INFINITY, -INFINITY, NAN};
    static const double ints[] = {0, 1, 2, 100, -100, 127, -128, 3};
    data d;
    uint64_t random = 7;
    d.out = malloc(columns * 8);
    for (int k = 0; k < length; k++) {
        char *p = d.at[k] = malloc(columns * 8);
        for (size_t i = 0; i < columns; i++) {
            random = fc_mix(random, i);
            size_t pick = random % 8;
            if (pick == 7 && i % 4 != 0) pick = 2; /* most columns without nan */
            const uint64_t bits = fc_const_bits(t, fc_is_float(t) ? floats[pick] : ints[pick]);
            memcpy(p + i * fc_dtypes[t].bytes, &bits, fc_dtypes[t].bytes);
        }
    }
    return d;
}

static void free_data(data *d) {
    for (int k = 0; k < length; k++) free(d->at[k]);
    free(d->out);
}

/* ---- reference: the oracle's; the data is such that the order of sums does not show ------- */

/* Sums and products of the data are exact in f32, up to the sign of a zero; what is divided or
 * rooted after them is near. */
static bool agrees(fc_op red, fusec_dtype to, uint64_t got_bits, const fc_oval *want) {
    if (!fc_is_float(to)) return got_bits == want->bits;
    const double got = fc_o_value(to, got_bits), wanted = want->r.lo;
    const double tolerance = fc_ops[red].flags & FC_F_EXACT ? 0 : fc_is_half(to) ? 1e-2 : 1e-5;
    if (isnan(wanted)) return isnan(got);
    if (isinf(wanted)) return got == wanted;
    if (fc_ops[red].flags & FC_F_EXACT) return got == wanted && !signbit(got) == !signbit(wanted);
    return fabs(got - wanted) <= tolerance * fmax(1, fabs(wanted));
}

static void check_reduction(fc_op red, fusec_dtype t, const data *d, fc_target_kind target) {
    const void *arrays[length];
    const fusec_dtype to = fc_red_dtype(red, t);
    memcpy(arrays, d->at, sizeof arrays);
    if (!reduce(red, t, target, arrays, d->out)) return;
    for (size_t i = 0; i < columns; i++) {
        fc_oval x[length];
        for (int k = 0; k < length; k++) {
            const uint64_t bits = fc_oracle_load(t, d->at[k], (int64_t)i);
            x[k] = (fc_oval){bits, fc_o_point(fc_is_float(t) ? fc_o_value(t, bits) : 0)};
        }
        const fc_oval want = fc_o_reduce(red, t, true, x, length);
        const uint64_t got = fc_oracle_load(to, d->out, (int64_t)i);
        if (agrees(red, to, got, &want)) continue;
        FC_FAIL("%s of %s %g %g %g %g %g %g %g is %g, not %g (target %d)", fc_ops[red].name,
                fc_dtypes[t].name, fc_box_at(t, d->at[0], i), fc_box_at(t, d->at[1], i),
                fc_box_at(t, d->at[2], i), fc_box_at(t, d->at[3], i), fc_box_at(t, d->at[4], i),
                fc_box_at(t, d->at[5], i), fc_box_at(t, d->at[6], i), fc_const_value(to, got),
                fc_const_value(to, want.bits), (int)target);
        return;
    }
}

static bool takes(fc_op red, fusec_dtype t) {
    if (fc_ops[red].rule == FC_RULE_BOOL) return t == FUSEC_BOOL;
    if (fc_ops[red].rule == FC_RULE_MEAN) return t == FUSEC_F32 || t == FUSEC_F64;
    return true;
}

static void check_dtype(void *arg) {
    const fusec_dtype t = (fusec_dtype)(uintptr_t)arg;
    data d = make_data(t);
    for (int red = FC_OP_FIRST_REDUCTION; red < FC_OP_COUNT_; red++) {
        if (fc_ops[red].flags & FC_F_HIDDEN)
            continue; /* tests/test_contract.c, tests/test_pieces.c */
        if (!takes((fc_op)red, t)) continue;
        if (!fc_o_defines((fc_op)red, t)) FC_FAIL("the oracle lacks %s", fc_ops[red].name);
        for (size_t k = 0; k < FC_COUNT(targets); k++)
            check_reduction((fc_op)red, t, &d, targets[k]);
    }
    free_data(&d);
}

FC_REGISTER(reductions) {
    for (uintptr_t t = 0; t < FC_DTYPE_COUNT; t++)
        FC_ADD_TEST("ops_reduce", fc_dtypes[t].name, check_dtype, t);
}

FC_TEST(ops_reduce, dtypes) {
    FC_EXPECT_EQ_I64(fc_acc_dtype(FC_OP_sum, FUSEC_BOOL), FUSEC_I64);
    FC_EXPECT_EQ_I64(fc_acc_dtype(FC_OP_sum, FUSEC_U8), FUSEC_U64);
    FC_EXPECT_EQ_I64(fc_acc_dtype(FC_OP_sum, FUSEC_F16), FUSEC_F32);
    FC_EXPECT_EQ_I64(fc_red_dtype(FC_OP_sum, FUSEC_F16), FUSEC_F16);
    FC_EXPECT_EQ_I64(fc_red_dtype(FC_OP_sum, FUSEC_I8), FUSEC_I64);
    FC_EXPECT_EQ_I64(fc_acc_dtype(FC_OP_argmax, FUSEC_BF16), FUSEC_F32);
    FC_EXPECT_EQ_I64(fc_red_dtype(FC_OP_argmax, FUSEC_BF16), FUSEC_I64);
    FC_EXPECT_EQ_I64(fc_red_dtype(FC_OP_max, FUSEC_I8), FUSEC_I8);
    FC_EXPECT_EQ_I64(fc_red_dtype(FC_OP_mean, FUSEC_BF16), FUSEC_BF16);
    FC_EXPECT_EQ_I64(fc_red_dtype(FC_OP_all, FUSEC_BOOL), FUSEC_BOOL);
}
