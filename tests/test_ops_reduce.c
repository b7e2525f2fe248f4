/* test_ops_reduce.c - the reductions of ops.def: start, step, combine and finish against plain
 * loops.
 *
 * Seven elements go into three parts: one takes the even positions, one the odd ones (as
 * interleaved lanes do), and one stays empty. Each column of the arrays is a reduction of
 * its own. */
#include "tests/support/codebox.h"
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
        fc_red_step(c, red, t, p.at, x, fc_val_i64(c, k), next.at);
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

/* ---- reference -------------------------------------------------------------------------- */

static bool better(double x, double best, bool max) {
    if (isnan(best)) return false;
    if (isnan(x)) return true;
    return max ? x > best : x < best;
}

static int best_index(const double *x, bool max) {
    int best = 0;
    for (int k = 1; k < length; k++)
        if (better(x[k], x[best], max)) best = k;
    return best;
}

/* Zeros of both signs are equal to best_index, not to min and max. */
static double extreme(const double *x, bool max) {
    double best = x[best_index(x, max)];
    for (int k = 0; k < length; k++)
        if (best == 0 && x[k] == 0 && !signbit(x[k]) == max) best = x[k];
    return best;
}

static double mean_of(const double *x) {
    double s = 0;
    for (int k = 0; k < length; k++) s += x[k];
    return s / length;
}

static double reference(fc_op red, const double *x) {
    double s = 0, p = 1;
    bool any = false, all = true;
    for (int k = 0; k < length; k++) {
        s += x[k];
        p *= x[k];
        any = any || x[k] != 0;
        all = all && x[k] != 0;
    }
    switch (red) {
    case FC_OP_sum: return s;
    case FC_OP_prod: return p;
    case FC_OP_min: return extreme(x, false);
    case FC_OP_max: return extreme(x, true);
    case FC_OP_any: return any;
    case FC_OP_all: return all;
    case FC_OP_argmin: return best_index(x, false);
    case FC_OP_argmax: return best_index(x, true);
    case FC_OP_mean: return mean_of(x);
    default: break;
    }
    const double mean = mean_of(x);
    s = 0;
    for (int k = 0; k < length; k++) s += (x[k] - mean) * (x[k] - mean);
    return red == FC_OP_var ? s / length : sqrt(s / length);
}

/* The data is such that sums and products are exact in f32, up to the sign of a zero; `wanted` has
 * been rounded to the dtype of the result. */
static bool agrees(fc_op red, double got, double wanted) {
    const double tolerance = red == FC_OP_mean || red >= FC_OP_var ? 1e-5 : 0;
    if (isnan(wanted)) return isnan(got);
    if (isinf(wanted)) return got == wanted;
    if (red == FC_OP_min || red == FC_OP_max)
        return got == wanted && !signbit(got) == !signbit(wanted);
    return fabs(got - wanted) <= tolerance * fmax(1, fabs(wanted));
}

static void check_reduction(fc_op red, fusec_dtype t, const data *d, fc_target_kind target) {
    const void *arrays[length];
    memcpy(arrays, d->at, sizeof arrays);
    if (!reduce(red, t, target, arrays, d->out)) return;
    for (size_t i = 0; i < columns; i++) {
        double x[length];
        for (int k = 0; k < length; k++) x[k] = fc_box_at(t, d->at[k], i);
        const fusec_dtype to = fc_red_dtype(red, t);
        const double got = fc_box_at(to, d->out, i);
        const double wanted = fc_const_value(to, fc_const_bits(to, reference(red, x)));
        if (agrees(red, got, wanted)) continue;
        FC_FAIL("%s of %s %g %g %g %g %g %g %g is %g, not %g (target %d)", fc_ops[red].name,
                fc_dtypes[t].name, x[0], x[1], x[2], x[3], x[4], x[5], x[6], got, wanted,
                (int)target);
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
        if (!takes((fc_op)red, t)) continue;
        if (red == FC_OP_prod && !fc_is_float(t)) continue; /* may wrap: see below */
        for (size_t k = 0; k < FC_COUNT(targets); k++)
            check_reduction((fc_op)red, t, &d, targets[k]);
    }
    free_data(&d);
}

FC_REGISTER(reductions) {
    for (uintptr_t t = 0; t < FC_DTYPE_COUNT; t++)
        FC_ADD_TEST("ops_reduce", fc_dtypes[t].name, check_dtype, t);
}

FC_TEST(ops_reduce, products_of_integers) {
    static int8_t column[length][columns];
    static int64_t out[columns];
    const void *arrays[length];
    for (int k = 0; k < length; k++) {
        arrays[k] = column[k];
        for (int i = 0; i < columns; i++) column[k][i] = (int8_t)((i * 7 + k * 3) % 19 - 9);
    }
    FC_ASSERT_TRUE(reduce(FC_OP_prod, FUSEC_I8, FC_TARGET_INTERP, arrays, out));
    for (int i = 0; i < columns; i++) {
        int64_t p = 1;
        for (int k = 0; k < length; k++) p *= column[k][i];
        FC_ASSERT_EQ_I64(out[i], p);
    }
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
