/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_functions.c - functions as a user calls them: NumPy's validation sets on every device found,
 * lgamma next to its zeros, far angles of several functions, the same bits at every vector width
 * and in tails, and nans of both kinds. */
#include "tests/support/capi.h"
#include "tests/support/fake_machine.h"
#include "tests/support/row_apply.h"
#include "tests/support/row_run.h"
#include "tests/support/test.h"
#include "tests/support/ulp.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/io/npy.h"
#include "ir/base.h"
#include "tests/support/shell.h"

static const char *const devices[] = {"interp", "cpu", "cuda"};

/* out = op(x) or op(x, y) of n elements */
static bool compute(fusec_context *ctx, fc_op op, fusec_dtype t, int64_t n, const void *x,
                    const void *y, void *out) {
    fusec_graph *g = NULL;
    FC_EXPECT_OK_TEXT(fusec_graph_new(ctx, &g), fusec_message(ctx));
    if (!g) return false;
    const fusec_value a = fusec_array(g, t, 1, &n, x);
    const fusec_value b = y ? fusec_array(g, t, 1, &n, y) : a;
    const fusec_status st =
        fusec_read(fc_row_apply(op, a, b), out, (size_t)n * fusec_dtype_bytes(t));
    FC_EXPECT_OK_TEXT(st, fusec_message(ctx));
    fusec_graph_free(g);
    return st == FUSEC_OK;
}

/* ---- NumPy's sets ----------------------------------------------------------------------- */

#ifdef FUSEC_TEST_NUMPY

typedef struct set {
    const char *file;
    fc_op op;
} set;

static const set sets[] = {
    {"arccos", FC_OP_acos},   {"arccosh", FC_OP_acosh}, {"arcsin", FC_OP_asin},
    {"arcsinh", FC_OP_asinh}, {"arctan", FC_OP_atan},   {"arctanh", FC_OP_atanh},
    {"cbrt", FC_OP_cbrt},     {"cos", FC_OP_cos},       {"cosh", FC_OP_cosh},
    {"exp", FC_OP_exp},       {"exp2", FC_OP_exp2},     {"expm1", FC_OP_expm1},
    {"log", FC_OP_log},       {"log10", FC_OP_log10},   {"log1p", FC_OP_log1p},
    {"log2", FC_OP_log2},     {"sin", FC_OP_sin},       {"sinh", FC_OP_sinh},
    {"tan", FC_OP_tan},       {"tanh", FC_OP_tanh},
};

enum { ROWS = 4000 };

typedef struct rows {
    int64_t n;
    union {
        float f32[ROWS];
        double f64[ROWS];
    } in, want, got;
} rows;

static FILE *open_set(const set *s) {
    static const char *const folders[] = {"core", "_core"};
    char path[1200];
    FILE *f = NULL;
    for (size_t i = 0; i < FC_COUNT(folders) && !f; i++) {
        snprintf(path, sizeof path, "%s/%s/tests/data/umath-validation-set-%s.csv",
                 FUSEC_TEST_NUMPY, folders[i], s->file);
        f = fopen(path, "r");
    }
    return f;
}

/* Lines of one dtype: "np.float32,0x3f800000,0x3f490fdb,2"; the last column is NumPy's
 * tolerance. */
static void read_set(FILE *f, fusec_dtype t, rows *r) {
    const char *name = t == FUSEC_F32 ? "np.float32" : "np.float64";
    char line[200];
    r->n = 0;
    rewind(f);
    while (fgets(line, sizeof line, f) && r->n < ROWS) {
        char *at = line + strlen(name);
        if (strncmp(line, name, strlen(name)) != 0 || *at != ',') continue;
        const uint64_t in = strtoull(at + 1, &at, 16), want = strtoull(at + 1, NULL, 16);
        const uint32_t in32 = (uint32_t)in, want32 = (uint32_t)want;
        if (t == FUSEC_F32) {
            memcpy(&r->in.f32[r->n], &in32, sizeof in32);
            memcpy(&r->want.f32[r->n], &want32, sizeof want32);
        } else {
            memcpy(&r->in.f64[r->n], &in, sizeof in);
            memcpy(&r->want.f64[r->n], &want, sizeof want);
        }
        r->n++;
    }
}

/* The sets give results rounded to the dtype: half a place beyond the bound of the row. */
static void judge_set(const set *s, fusec_dtype t, const rows *r) {
    const bool f32 = t == FUSEC_F32;
    const double bound = 0.5 + (double)(f32 ? fc_ops[s->op].ulp32 : fc_ops[s->op].ulp64);
    for (int64_t i = 0; i < r->n; i++) {
        const double in = f32 ? (double)r->in.f32[i] : r->in.f64[i];
        const double want = f32 ? (double)r->want.f32[i] : r->want.f64[i];
        const double got = f32 ? (double)r->got.f32[i] : r->got.f64[i];
        if (fc_ulps(t, got, (long double)want) <= bound) continue;
        FC_FAIL("%s(%a) is %a, not %a", fc_ops[s->op].name, in, got, want);
        return;
    }
}

static void check_sets(void *arg) {
    FC_TAKE_ONE_OF(1);
    static const fusec_dtype dtypes[] = {FUSEC_F32, FUSEC_F64};
    const char *name = arg;
    int64_t checked = 0;
    fusec_context *ctx = capi_device(name);
    rows *r = calloc(1, sizeof *r);
    for (size_t i = 0; ctx && r && i < FC_COUNT(sets); i++) {
        FILE *f = open_set(&sets[i]);
        for (size_t t = 0; f && t < FC_COUNT(dtypes); t++) {
            read_set(f, dtypes[t], r);
            if (r->n > 0 && compute(ctx, sets[i].op, dtypes[t], r->n, &r->in, NULL, &r->got))
                judge_set(&sets[i], dtypes[t], r);
            checked += r->n;
        }
        if (f) fclose(f);
    }
    free(r);
    fusec_context_free(ctx);
    if (!ctx) FC_SKIP("no %s here", name);
    if (checked == 0) FC_SKIP("this NumPy came without its sets");
}

/* An array as a file of the shell's folder, its header in front. */
static void write_array(const shell *sh, const char *name, fusec_dtype t, int64_t n,
                        const void *data) {
    char header[FC_NPY_HEADER_ROOM], path[300];
    const size_t len = fc_npy_header(header, t, 1, &n);
    snprintf(path, sizeof path, "%s/%s", sh->folder, name);
    FILE *f = fopen(path, "wb");
    FC_EXPECT_TRUE(f && fwrite(header, len, 1, f) == 1);
    FC_EXPECT_TRUE(f && fwrite(data, fusec_dtype_bytes(t), (size_t)n, f) == (size_t)n);
    if (f) fclose(f);
}

/* As a user has them: a file in, a file out, on the device that the command takes. */
FC_TEST(numpy_sets, through_the_command) {
    static const fusec_dtype dtypes[] = {FUSEC_F32, FUSEC_F64};
    int64_t checked = 0;
    rows *r = calloc(1, sizeof *r);
    OPEN(sh);
    for (size_t i = 0; r && i < FC_COUNT(sets); i++) {
        FILE *f = open_set(&sets[i]);
        for (size_t t = 0; f && t < FC_COUNT(dtypes); t++) {
            read_set(f, dtypes[t], r);
            if (r->n == 0) continue;
            const size_t bytes = (size_t)r->n * fusec_dtype_bytes(dtypes[t]);
            write_array(&sh, "x.npy", dtypes[t], r->n, &r->in);
            EXPECT_RUN(sh, 0, "fusec -q -e '%s(x)' x=x.npy -o - | tail -c %zu",
                       fc_ops[sets[i].op].name, bytes);
            FC_EXPECT_EQ_U64(sh.out_len, bytes);
            if (sh.out_len != bytes) continue;
            memcpy(&r->got, sh.out, bytes);
            judge_set(&sets[i], dtypes[t], r);
            checked += r->n;
        }
        if (f) fclose(f);
    }
    free(r);
    shell_close(&sh);
    if (checked == 0) FC_SKIP("this NumPy came without its sets");
}

FC_REGISTER(numpy_sets) {
    for (size_t i = 0; i < FC_COUNT(devices); i++)
        FC_ADD_TEST("numpy_sets", devices[i], check_sets, devices[i]);
}

#endif

/* ---- lgamma next to its zeros ---------------------------------------------------------------- */

enum { AROUND = 200, ZEROS = 24 };

static bool above(float x) {
    return lgamma((double)x) > 0;
}

/* Floats around the zeros between poles from -2 to -12: one on each side of a pole, if at all. */
static int64_t around_zeros(float *x) {
    int64_t n = 0;
    for (int side = 0; side < 2 * 10; side++) {
        const float pole = (float)(-2 - side / 2), way = side % 2 ? 1 : -1;
        for (float d = -pole * 0x1p-23f; d < 0.5f; d *= 1.25f) {
            float low = pole + way * d, high = pole + way * d * 1.25f;
            if (above(low) == above(high)) continue;
            for (int step = 0; step < 40; step++) {
                const float middle = low + (high - low) / 2;
                *(above(middle) == above(low) ? &low : &high) = middle;
            }
            for (int i = 0; i < AROUND / 2; i++) low = nextafterf(low, -20);
            for (int i = 0; i < AROUND; i++, low = nextafterf(low, 0)) x[n++] = low;
        }
    }
    return n;
}

static void lgamma_on(const char *device, const float *x, int64_t n) {
    fusec_context *ctx = capi_device(device);
    float out[ZEROS * AROUND];
    double worst = 0;
    int64_t where = 0;
    if (ctx && compute(ctx, FC_OP_lgamma, FUSEC_F32, n, x, NULL, out))
        for (int64_t i = 0; i < n; i++) {
            const double ulp =
                fc_ulps(FUSEC_F32, (double)out[i], (long double)lgamma((double)x[i]));
            if (ulp > worst) worst = ulp, where = i;
        }
    if (worst > (double)fc_ops[FC_OP_lgamma].ulp32)
        FC_FAIL("%s: lgamma(%a) is off by %g ulp", device, (double)x[where], worst);
    fusec_context_free(ctx);
}

/* Where an absolute error of an ulp of the terms that cancel would be thousands of the result's. */
FC_TEST(function_lgamma, next_to_its_zeros) {
    float x[ZEROS * AROUND];
    fake_machine m;
    const int64_t n = around_zeros(x);
    FC_ASSERT_TRUE(n > 12 * AROUND);
    for (size_t d = 0; d < FC_COUNT(devices); d++) lgamma_on(devices[d], x, n);
    if (!fake_can_execute() || !fake_machine_open(&m, FAKE("whole"))) return;
    m.fake->execute = true;
    lgamma_on("cuda", x, n);
    FC_EXPECT_GT_I64(m.fake->launched, 0);
    fake_machine_close(&m);
}

/* ---- nans ------------------------------------------------------------------------------- */

/* A signalling nan counts as a nan: whatever a function makes of a quiet one it makes of
 * it, too. */
static void check_nans(void *arg) {
    static const fc_op ops[] = {FC_OP_pow, FC_OP_hypot, FC_OP_atan2, FC_OP_minimum};
    static const fusec_dtype dtypes[] = {FUSEC_F16, FUSEC_BF16, FUSEC_F32, FUSEC_F64};
    static const uint64_t signalling[] = {0x7d00, 0x7f90, 0x7f900000, 0x7ff4000000000000};
    static const uint64_t one[] = {0x3c00, 0x3f80, 0x3f800000, 0x3ff0000000000000};
    static const uint64_t infinite[] = {0x7c00, 0x7f80, 0x7f800000, 0x7ff0000000000000};
    fusec_context *ctx = capi_device(arg);
    if (!ctx) FC_SKIP("no %s here", (const char *)arg);
    for (size_t t = 0; t < FC_COUNT(dtypes); t++) {
        const size_t bytes = fusec_dtype_bytes(dtypes[t]);
        const uint64_t s = signalling[t], other[4] = {0, one[t], infinite[t], s};
        uint8_t x[8 * 8], y[8 * 8], got[8 * 8];
        for (size_t i = 0; i < 4; i++) { /* the nan on the left, then on the right */
            memcpy(x + i * bytes, &s, bytes);
            memcpy(y + i * bytes, &other[i], bytes);
            memcpy(x + (4 + i) * bytes, &other[i], bytes);
            memcpy(y + (4 + i) * bytes, &s, bytes);
        }
        for (size_t o = 0; o < FC_COUNT(ops); o++) {
            FC_TRACE("%s of %s", fc_ops[ops[o]].name, fusec_dtype_name(dtypes[t]));
            if (!compute(ctx, ops[o], dtypes[t], 8, x, y, got)) continue;
            for (size_t i = 0; i < 8; i++) {
                uint64_t v = 0;
                memcpy(&v, got + i * bytes, bytes);
                const bool is_one = ops[o] == FC_OP_pow && (i == 0 || i == 5);
                const bool is_inf = ops[o] == FC_OP_hypot && (i == 2 || i == 6);
                if (is_one)
                    FC_EXPECT_EQ_U64(v, one[t]);
                else if (is_inf)
                    FC_EXPECT_EQ_U64(v, infinite[t]);
                else
                    FC_EXPECT_TRUE(v > infinite[t] && (v & ~(infinite[t])) != 0);
            }
        }
    }
    fusec_context_free(ctx);
}

FC_REGISTER(nans) {
    for (size_t i = 0; i < FC_COUNT(devices); i++)
        FC_ADD_TEST("function_nans", devices[i], check_nans, devices[i]);
}

/* ---- far angles ------------------------------------------------------------------------- */

enum { ANGLES = 83, TERMS = 6 };

/* Near and far ones, in places of their own for each of three arrays. */
static void fill_angles(float x[3][ANGLES]) {
    for (int which = 0; which < 3; which++)
        for (int i = 0; i < ANGLES; i++)
            x[which][i] = (float)(i - 40) * (i % 11 == 3 * which ? 1e7f : 0.37f);
}

static fusec_value sum_of(fusec_graph *g, float x[3][ANGLES], const fc_op *ops) {
    const int64_t n = ANGLES;
    fusec_value v[3], sum = {0};
    for (int i = 0; i < 3; i++) v[i] = fusec_array(g, FUSEC_F32, 1, &n, x[i]);
    for (int i = 0; i < TERMS; i++) {
        const fusec_value term = fc_row_apply(ops[i], v[i / 2], v[i / 2]);
        sum = i ? fusec_add(sum, term) : term;
    }
    return sum;
}

/* Functions of several angles share the branch to those far from 0: in one kernel they give the
 * bits of each alone. */
static void check_far(void *arg) {
    static const fc_op ops[TERMS] = {FC_OP_sin, FC_OP_cos, FC_OP_cos,
                                     FC_OP_tan, FC_OP_sin, FC_OP_sin};
    float x[3][ANGLES], together[ANGLES], want[ANGLES], term[ANGLES];
    fusec_graph *g = NULL;
    fusec_context *ctx = capi_device(arg);
    if (!ctx) FC_SKIP("no %s here", (const char *)arg);
    fill_angles(x);
    for (int k = 0; k < TERMS; k++) {
        if (!compute(ctx, ops[k], FUSEC_F32, ANGLES, x[k / 2], NULL, term)) break;
        for (int i = 0; i < ANGLES; i++) want[i] = k ? want[i] + term[i] : term[i];
    }
    FC_EXPECT_OK_TEXT(fusec_graph_new(ctx, &g), fusec_message(ctx));
    FC_EXPECT_OK_TEXT(fusec_read(sum_of(g, x, ops), together, sizeof together), fusec_message(ctx));
    for (int i = 0; i < ANGLES; i++)
        if (memcmp(&together[i], &want[i], sizeof *want) != 0)
            FC_FAIL("element %d: %a, not %a", i, (double)together[i], (double)want[i]);
    fusec_graph_free(g);
    fusec_context_free(ctx);
}

FC_REGISTER(far_angles) {
    for (size_t i = 0; i < FC_COUNT(devices); i++)
        FC_ADD_TEST("function_far_angles", devices[i], check_far, devices[i]);
}

/* ---- widths and tails ------------------------------------------------------------------- */

enum { POINTS = 1021 };

static uint64_t bits_at(uint64_t n) {
    uint64_t v = (n + 1) * 0x9e3779b97f4a7c15u;
    v = (v ^ (v >> 29)) * 0x94d049bb133111ebu;
    return v ^ (v >> 32);
}

/* Any bits, and numbers of moderate size. */
static void fill(fc_row_run *r, fusec_dtype t) {
    for (int which = 0; which < 2; which++) {
        float *x = fc_row_run_data(r, which);
        double *xd = fc_row_run_data(r, which);
        for (uint64_t i = 0; i < POINTS; i++) {
            const uint64_t h = bits_at(2 * i + (uint64_t)which);
            const uint32_t low = (uint32_t)h;
            const double near = ((double)(h >> 11) * 0x1p-53 - 0.5) * (i % 3 ? 20 : 2);
            if (t == FUSEC_F64) {
                xd[i] = near;
                if (i % 4 == 0) memcpy(&xd[i], &h, sizeof h);
            } else {
                x[i] = (float)near;
                if (i % 4 == 0) memcpy(&x[i], &low, sizeof low);
            }
        }
    }
}

static bool run(fc_row_run *r, int64_t n) {
    fc_error e = {0};
    const fusec_status st = fc_row_run_first(r, n, &e);
    FC_EXPECT_OK(st, &e);
    return st == FUSEC_OK;
}

static bool same(fusec_dtype t, const void *a, const void *b, int64_t i) {
    if (t == FUSEC_F64) {
        const double *p = a, *q = b;
        return memcmp(&p[i], &q[i], sizeof *p) == 0 || (isnan(p[i]) && isnan(q[i]));
    }
    const float *p = a, *q = b;
    return memcmp(&p[i], &q[i], sizeof *p) == 0 || (isnan(p[i]) && isnan(q[i]));
}

static void check_width(fc_op op, fusec_dtype t, unsigned width, const void *want) {
    static const int64_t lengths[] = {POINTS, 1, 3, 7, 15, 16, 17, 31, 33, 63, 100};
    fc_error e = {0};
    fc_row_run *r = fc_row_run_open(width, op, t, POINTS, NULL, &e);
    FC_EXPECT_OK(e.code, &e);
    if (!r) return;
    fill(r, t);
    for (size_t k = 0; k < FC_COUNT(lengths); k++) {
        memset(fc_row_run_data(r, 2), 0x55, POINTS * fusec_dtype_bytes(t));
        if (!run(r, lengths[k])) break;
        for (int64_t i = 0; i < lengths[k]; i++) {
            if (same(t, fc_row_run_data(r, 2), want, i)) continue;
            FC_FAIL("%s: element %d of %d differs", fc_ops[op].name, (int)i, (int)lengths[k]);
            break;
        }
    }
    fc_row_run_close(r);
}

static void check_widths(void *arg) {
    static const fusec_dtype dtypes[] = {FUSEC_F32, FUSEC_F64};
    static const unsigned widths[] = {0, 1, FC_LLVM_NARROW_FMA};
    const fc_op op = *(const fc_op *)arg;
    for (size_t t = 0; t < FC_COUNT(dtypes); t++) {
        fc_error e = {0};
        fc_row_run *r = fc_row_run_open(0, op, dtypes[t], POINTS, NULL, &e);
        FC_EXPECT_OK(e.code, &e);
        if (!r) FC_SKIP("no LLVM, or no FMA");
        fill(r, dtypes[t]);
        if (run(r, POINTS))
            for (size_t w = 0; w < FC_COUNT(widths); w++)
                check_width(op, dtypes[t], widths[w], fc_row_run_data(r, 2));
        fc_row_run_close(r);
    }
}

FC_REGISTER(function_widths) {
    static fc_op all[FC_OP_COUNT_];
    for (int op = 0; op < FC_OP_COUNT_; op++) {
        all[op] = (fc_op)op;
        if (!fc_is_elementwise(op) || (fc_ops[op].flags & FC_F_HIDDEN)) continue;
        if (fc_ops[op].flags & FC_F_TRANSCENDENTAL && !(fc_ops[op].flags & FC_F_EXACT))
            FC_ADD_TEST("function_widths", fc_ops[op].name, check_widths, &all[op]);
    }
}
