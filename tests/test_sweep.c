/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_sweep.c - every row of ops.def, on every dtype it takes and every device of this machine,
 * against the oracle: rank 0, contiguous, broadcast, reversed, stepped and transposed operands, and
 * empty arrays.
 *
 * The tests come from the table: a new row is tested without a new line here. */
#include "tests/support/gb.h"
#include "tests/support/oracle_run.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct sweep {
    fc_op op;
    fusec_dtype t; /* casts: from */
    const char *device;
} sweep;

/* ---- one graph, several sizes ---------------------------------------------------------------- */

typedef struct job {
    fc_graph g;
    fc_context *ctx;
    fc_device *device;
    fc_program *p;
    fc_node made[64]; /* nodes to be outputs */
    int nmade;
} job;

static bool open_job(job *j, const char *device) {
    memset(j, 0, sizeof *j);
    j->ctx = fc_rig(device, 2, &j->device);
    if (j->ctx) fc_graph_init(&j->g, &fc_libc_alloc, NULL);
    return j->ctx != NULL;
}

static void add(job *j, const char *name, fc_node n) {
    if (n != FC_NONODE) fc_build_output(&j->g, name, n);
}

/* Fills the inputs, runs, and has the oracle judge. `filler` fills input i; syms by symbol
 * number. */
typedef void fill_fn(const job *j, uint32_t input, fc_tensor *t, fc_rng *r);

static void judge(job *j, fill_fn *fill, const int64_t *syms, bool unfused) {
    fc_oracle sizes, o;
    fc_arrays in, out;
    fc_error e = {0};
    fc_rng r = {12345};
    const void *data[256];
    fc_how how = {.ctx = j->ctx, .device = j->device, .unfused = unfused};
    fc_oracle_sizes(&sizes, &j->g, syms);
    fc_arrays_for(&in, &j->g, &sizes, false);
    for (uint32_t i = 0; i < in.n; i++) {
        fill(j, i, &in.t[i], &r);
        data[i] = in.t[i].data;
    }
    fc_oracle_run(&o, &j->g, syms, data);
    fusec_status s = fc_rig_run(&how, &j->g, syms, &in, &out, &e);
    if (s) {
        FC_FAIL("[%s] %s", fc_status_slug(s), e.message);
    } else {
        fc_str why;
        fc_str_init(&why, &fc_libc_alloc);
        if (fc_judge(&j->g, &o, &out, &why)) FC_FAIL("%s", why.data);
        fc_str_free(&why);
    }
    fc_arrays_free(&in);
    fc_arrays_free(&out);
    fc_oracle_free(&o);
    fc_oracle_free(&sizes);
}

static void close_job(job *j) {
    if (j->g.error.code) FC_FAIL("the graph: %s", j->g.error.message);
    fc_graph_free(&j->g);
}

/* Without a definition of its own the oracle takes any result for right. */
static bool is_defined(fc_op op, fusec_dtype t) {
    if (fc_o_defines(op, t)) return true;
    FC_FAIL("tests/support/oracle*: no definition of %s on %s", fc_ops[op].name, fc_dtypes[t].name);
    return false;
}

/* ---- elementwise ----------------------------------------------------------------------------- */

/* The dtype of operand k of a row on t. */
static fusec_dtype operand(fc_op op, fusec_dtype t, int k) {
    return fc_ops[op].rule == FC_RULE_SELECT && k == 0 ? FUSEC_BOOL : t;
}

static bool takes(fc_op op, fusec_dtype t) {
    return fc_op_takes(op, t) && (fc_ops[op].rule != FC_RULE_FLOAT || fc_is_float(t));
}

/* Every special value meets every other: value i of operand k in a cross product, then
 * random ones. */
static uint64_t crossed(fusec_dtype t, int k, int operands, int64_t i, fc_rng *r) {
    static const uint32_t of_three[] = {0, 1, 2, 3, 4, 5, 6, 9, 13, 16, 33, 34, 61};
    int64_t n = fc_special_count(t);
    if (operands == 1) return i < n ? fc_special(t, (uint32_t)i) : fc_random_value(t, r, i % 2);
    if (operands == 3) n = n < (int64_t)FC_COUNT(of_three) ? n : (int64_t)FC_COUNT(of_three);
    int64_t total = operands == 3 ? n * n * n : n * n;
    if (i >= total) return fc_random_value(t, r, i % 2);
    for (int d = 0; d < k; d++) i /= n;
    uint32_t which = (uint32_t)(i % n);
    if (operands == 3) which = of_three[which] % fc_special_count(t);
    return fc_special(t, which);
}

/* Inputs come in groups of the operands: rank 0, contiguous, for the views, for broadcasts. */
static void fill_crossed(const job *j, uint32_t input, fc_tensor *t, fc_rng *r) {
    int operands = (int)j->g.inputs.len / 4, k = (int)input % operands;
    int64_t n = fc_array_count(t);
    for (int64_t i = 0; i < n; i++) {
        int64_t at = t->rank == 0 ? (int64_t)fc_below(r, 200) : i;
        fc_oracle_store(t->dtype, t->data, i, crossed(t->dtype, k, operands, at, r));
    }
}

/* Inputs are the operands. */
static void fill_pairs(const job *j, uint32_t input, fc_tensor *t, fc_rng *r) {
    (void)j;
    for (int64_t i = 0; i < fc_array_count(t); i++)
        fc_oracle_store(t->dtype, t->data, i, crossed(t->dtype, (int)input, 2, i, r));
}

static int64_t cross_size(fc_op op, fusec_dtype t) {
    int64_t n = fc_special_count(t);
    if (fc_ops[op].arity == 1) return n + (fc_ops[op].flags & FC_F_EXACT ? 200 : 3000);
    if (fc_ops[op].arity == 2) return n * n + (fc_ops[op].flags & FC_F_EXACT ? 100 : 1000);
    return 13 * 13 * 13 + 50;
}

/* Inputs: operands of rank 0; [n] contiguous; [2*m, m] for the views; a row and columns to
 * broadcast. */
static void elementwise_graph(job *j, fc_op op, fusec_dtype t) {
    fc_graph *g = &j->g;
    int n = fc_ops[op].arity;
    fc_dim len = gbd(g, "n"), m = gbd(g, "m"), two = fc_dim_const(&g->dims, 2);
    fc_dim one = fc_dim_const(&g->dims, 1), m2 = fc_dim_mul(&g->dims, m, two);
    fc_node a[4][3], v[3];
    for (int kind = 0; kind < 4; kind++)
        for (int k = 0; k < 3; k++) {
            char name[16];
            snprintf(name, sizeof name, "%c%d", 'a' + kind, k);
            fusec_dtype d = operand(op, t, k);
            a[kind][k] = k >= n      ? FC_NONODE
                         : kind == 0 ? gbin(g, name, d, 0, 0, 0, 0)
                         : kind == 1 ? gbin(g, name, d, 1, len, 0, 0)
                         : kind == 2 ? gbin(g, name, d, 2, m2, m, 0)
                         : k == 0    ? gbin(g, name, d, 1, m, 0, 0)
                                     : gbin(g, name, d, 2, m2, one, 0);
        }
    add(j, "scalar", fc_build_op(g, op, a[0][0], a[0][1], a[0][2]));
    add(j, "plain", fc_build_op(g, op, a[1][0], a[1][1], a[1][2]));
    add(j, "with_scalar", fc_build_op(g, op, a[1][0], a[0][1], a[0][2]));
    fc_dim last = fc_dim_sub(&g->dims, m2, one);
    for (int k = 0; k < n; k++) { /* every second row, reversed, and the transpose of it */
        fc_slice s[2] = {{k == 0 ? last : fc_dim_const(&g->dims, k - 1), k == 0 ? -2 : 2, m},
                         {fc_dim_const(&g->dims, 0), 1, m}};
        v[k] = fc_build_slice(g, a[2][k], s);
        if (k == 1) v[k] = fc_build_permute(g, v[k], (const int64_t[]){1, 0});
    }
    add(j, "views", fc_build_op(g, op, v[0], n > 1 ? v[1] : 0, n > 2 ? v[2] : 0));
    if (n == 1)
        add(j, "transposed",
            fc_build_op(g, op, fc_build_permute(g, a[2][0], (const int64_t[]){1, 0}), 0, 0));
    fc_node row = n == 1 ? fc_build_broadcast(g, a[3][0], 2, (const fc_dim[]){m2, m}) : a[3][0];
    add(j, "broadcast", fc_build_op(g, op, row, a[3][1], a[3][2]));
}

/* Machine code takes long to make: a commit tries a quarter of it, and half on the interpreter. */
static bool is_left_out(const sweep *s) {
    return !fc_test_takes(strcmp(s->device, "interp") == 0 ? 2 : 4);
}

static void run_elementwise(void *arg) {
    const sweep *s = arg;
    for (int t = 0; t < FC_DTYPE_COUNT; t++) {
        job j;
        if (!takes(s->op, (fusec_dtype)t)) continue;
        if (!is_defined(s->op, (fusec_dtype)t)) return;
        if (is_left_out(s)) continue;
        if (!open_job(&j, s->device)) FC_SKIP("there is no device %s", s->device);
        FC_TRACE("%s of %s on %s", fc_ops[s->op].name, fc_dtypes[t].name, s->device);
        elementwise_graph(&j, s->op, (fusec_dtype)t);
        if (!j.g.error.code) {
            judge(&j, fill_crossed, (const int64_t[]){cross_size(s->op, (fusec_dtype)t), 6}, false);
            judge(&j, fill_crossed, (const int64_t[]){1, 1}, false);
            judge(&j, fill_crossed, (const int64_t[]){0, 37}, false);
            judge(&j, fill_crossed, (const int64_t[]){67, 0}, false);
        }
        close_job(&j);
        FC_UNTRACE();
    }
}

/* ---- integers that wrapped, in the hands of what reads them next: a compiler that computes in
 * wider registers has to cut them back first
 * ---------------------------------------------------------- */

static void run_wraps(void *arg) {
    static const fc_op makers[] = {FC_OP_neg, FC_OP_abs, FC_OP_bit_not, FC_OP_add,
                                   FC_OP_sub, FC_OP_mul, FC_OP_shl};
    static const fc_op readers[] = {FC_OP_lt,       FC_OP_ge,  FC_OP_eq,  FC_OP_maximum,
                                    FC_OP_floordiv, FC_OP_shr, FC_OP_sign};
    const sweep *s = arg;
    for (size_t m = 0; m < FC_COUNT(makers); m++) {
        job j;
        char name[64];
        if (is_left_out(s)) continue;
        if (!open_job(&j, s->device)) FC_SKIP("there is no device %s", s->device);
        fc_graph *g = &j.g;
        fc_dim n = gbd(g, "n");
        fc_node x = gbin(g, "x", s->t, 1, n, 0, 0), y = gbin(g, "y", s->t, 1, n, 0, 0);
        fc_node v = fc_build_op(g, makers[m], x, y, 0);
        for (size_t r = 0; r < FC_COUNT(readers); r++) {
            snprintf(name, sizeof name, "%s_left", fc_ops[readers[r]].name);
            add(&j, name, fc_build_op(g, readers[r], v, y, 0));
            snprintf(name, sizeof name, "%s_right", fc_ops[readers[r]].name);
            if (fc_ops[readers[r]].arity > 1) add(&j, name, fc_build_op(g, readers[r], y, v, 0));
        }
        add(&j, "wide", fc_build_cast(g, v, FUSEC_I64));
        add(&j, "real", fc_build_cast(g, v, FUSEC_F64));
        add(&j, "twice", fc_build_op(g, makers[m], v, v, 0));
        FC_TRACE("%s of %s on %s", fc_ops[makers[m]].name, fc_dtypes[s->t].name, s->device);
        judge(&j, fill_pairs, (const int64_t[]){cross_size(FC_OP_add, s->t)}, false);
        FC_UNTRACE();
        close_job(&j);
    }
}

/* ---- constants: the same bits as an array of that value
 *
 * A compiler may know a function of a constant better than the code that runs does. */

enum { CONSTANTS = 24 };

static double constant_of(uint32_t i) {
    static const double first[] = {0.5, 1, 2, -1, -1.5, 3.7, 10, 0.1};
    return i < FC_COUNT(first) ? first[i] : (i % 4 ? 0.9731 : -0.713) * (double)i / 7;
}

/* Inputs: x[n]; c[24, n], whose rows are the constants. */
static void fill_constants(const job *j, uint32_t input, fc_tensor *t, fc_rng *r) {
    (void)j, (void)r;
    int64_t n = t->shape[t->rank - 1];
    for (int64_t i = 0; i < fc_array_count(t); i++) {
        double v = constant_of((uint32_t)(input ? i / n : i % CONSTANTS));
        fc_oracle_store(t->dtype, t->data, i, fc_o_bits(t->dtype, v));
    }
}

static void constant_outputs(job *j, fc_op op, fusec_dtype t, bool known) {
    fc_graph *g = &j->g;
    fc_dim n = gbd(g, "n"), one = fc_dim_const(&g->dims, 1);
    fc_node x = gbin(g, "x", t, 1, n, 0, 0);
    fc_node rows = gbin(g, "c", t, 2, fc_dim_const(&g->dims, CONSTANTS), n, 0);
    for (uint32_t i = 0; i < CONSTANTS; i++) {
        char name[16];
        fc_node c = fc_build_reshape(g, gbslice(g, rows, 0, i, one), 1, &n);
        if (known) c = fc_build_number(g, t, constant_of(i));
        snprintf(name, sizeof name, "left%u", i);
        add(j, name, fc_build_broadcast(g, fc_build_op(g, op, c, x, x), 1, &n));
        snprintf(name, sizeof name, "right%u", i);
        bool rewritten = op == FC_OP_pow && (i == 1 || i == 2); /* x**1 is x, x**2 is x*x */
        if (fc_ops[op].arity == 2 && !rewritten) add(j, name, fc_build_op(g, op, x, c, c));
    }
}

/* Once with constants, once with arrays of them; the arrays are inputs both times. */
static void compare_constants(const sweep *s, fusec_dtype t) {
    fc_arrays out[2] = {{0}};
    for (int known = 0; known < 2; known++) {
        job j;
        fc_oracle o;
        fc_arrays in;
        fc_error e = {0};
        fc_rng r = {1};
        fc_str why;
        const int64_t n[1] = {37};
        const void *data[2];
        open_job(&j, s->device);
        constant_outputs(&j, s->op, t, known != 0);
        fc_oracle_sizes(&o, &j.g, n);
        fc_arrays_for(&in, &j.g, &o, false);
        fc_oracle_free(&o);
        for (uint32_t i = 0; i < in.n; i++) {
            fill_constants(&j, i, &in.t[i], &r);
            data[i] = in.t[i].data;
        }
        fc_str_init(&why, &fc_libc_alloc);
        fc_how how = {.ctx = j.ctx, .device = j.device};
        FC_EXPECT_OK(fc_rig_run(&how, &j.g, n, &in, &out[known], &e), &e);
        fc_oracle_run(&o, &j.g, n, data);
        if (known && !e.code && fc_differ(&j.g, &o, &out[0], &out[1], &why))
            FC_FAIL("%s", why.data);
        fc_oracle_free(&o);
        fc_arrays_free(&in);
        fc_str_free(&why);
        close_job(&j);
    }
    fc_arrays_free(&out[0]);
    fc_arrays_free(&out[1]);
}

static void run_constants(void *arg) {
    const sweep *s = arg;
    static const fusec_dtype dtypes[] = {FUSEC_F32, FUSEC_F64};
    fc_device *d;
    if (!fc_rig(s->device, 2, &d)) FC_SKIP("there is no device %s", s->device);
    for (size_t t = 0; t < FC_COUNT(dtypes); t++) {
        if (is_left_out(s)) continue;
        FC_TRACE("%s of %s on %s", fc_ops[s->op].name, fc_dtypes[dtypes[t]].name, s->device);
        compare_constants(s, dtypes[t]);
        FC_UNTRACE();
    }
}

/* ---- conversions ----------------------------------------------------------------------------- */

static void fill_special(const job *j, uint32_t input, fc_tensor *t, fc_rng *r) {
    (void)j, (void)input;
    int64_t n = fc_array_count(t);
    for (int64_t i = 0; i < n; i++)
        fc_oracle_store(t->dtype, t->data, i,
                        i < fc_special_count(t->dtype) ? fc_special(t->dtype, (uint32_t)i)
                                                       : fc_random_value(t->dtype, r, i % 2));
}

static void run_conversions(void *arg) {
    const sweep *s = arg;
    job j;
    if (!open_job(&j, s->device)) FC_SKIP("there is no device %s", s->device);
    fc_graph *g = &j.g;
    fc_dim n = gbd(g, "n"), one = fc_dim_const(&g->dims, 1);
    fc_node x = gbin(g, "x", s->t, 1, n, 0, 0), scalar = gbin(g, "s", s->t, 0, 0, 0, 0);
    fc_slice back = {fc_dim_sub(&g->dims, n, one), -1, n};
    for (int t = 0; t < FC_DTYPE_COUNT; t++) {
        char name[32];
        fusec_dtype to = (fusec_dtype)t;
        if (to == s->t) continue;
        snprintf(name, sizeof name, "cast_%s", fc_dtypes[t].name);
        add(&j, name, fc_build_cast(g, x, to));
        snprintf(name, sizeof name, "scalar_%s", fc_dtypes[t].name);
        add(&j, name, fc_build_cast(g, scalar, to));
        snprintf(name, sizeof name, "reversed_%s", fc_dtypes[t].name);
        add(&j, name, fc_build_cast(g, fc_build_slice(g, x, &back), to));
        if (fc_dtypes[to].bytes != fc_dtypes[s->t].bytes || to == FUSEC_BOOL || s->t == FUSEC_BOOL)
            continue;
        snprintf(name, sizeof name, "bits_%s", fc_dtypes[t].name);
        add(&j, name, fc_build_bitcast(g, x, to));
    }
    bool small = fc_dtypes[s->t].bytes <= 2;
    judge(&j, fill_special, (const int64_t[]){small ? 5000 : 2000}, false);
    judge(&j, fill_special, (const int64_t[]){1}, false);
    judge(&j, fill_special, (const int64_t[]){0}, false);
    close_job(&j);
}

/* All values of a 16-bit float, and all casts to it from values around every rounding boundary. */
static void run_every_half(void *arg) {
    const sweep *s = arg;
    job j;
    if (!open_job(&j, s->device)) FC_SKIP("there is no device %s", s->device);
    fc_graph *g = &j.g;
    fc_node i = fc_build_iota(g, fc_dim_const(&g->dims, 65536));
    fc_node x = fc_build_bitcast(g, fc_build_cast(g, i, FUSEC_U16), s->t);
    for (int t = 0; t < FC_DTYPE_COUNT; t++)
        if (t != (int)s->t) add(&j, fc_dtypes[t].name, fc_build_cast(g, x, (fusec_dtype)t));
    /* midpoints between neighbours, and a little to either side */
    fc_node wide = fc_build_cast(g, x, FUSEC_F64);
    fc_node next = fc_build_cast(
        g,
        fc_build_bitcast(
            g, fc_build_cast(g, gb2(g, FC_OP_add, i, fc_build_const(g, FUSEC_I64, 1)), FUSEC_U16),
            s->t),
        FUSEC_F64);
    fc_node mid =
        gb2(g, FC_OP_mul, gb2(g, FC_OP_add, wide, next), fc_build_number(g, FUSEC_F64, 0.5));
    add(&j, "mid", fc_build_cast(g, mid, s->t));
    add(&j, "above",
        fc_build_cast(g, gb2(g, FC_OP_mul, mid, fc_build_number(g, FUSEC_F64, 1 + 0x1p-50)), s->t));
    add(&j, "below",
        fc_build_cast(g, gb2(g, FC_OP_mul, mid, fc_build_number(g, FUSEC_F64, 1 - 0x1p-50)), s->t));
    fc_node narrow = fc_build_cast(g, mid, FUSEC_F32);
    add(&j, "mid32", fc_build_cast(g, narrow, s->t));
    judge(&j, fill_special, NULL, false);
    close_job(&j);
}

/* ---- reductions ------------------------------------------------------------------------------ */

/* Some specials would hide everything else: mostly small numbers. */
static void fill_mild(const job *j, uint32_t input, fc_tensor *t, fc_rng *r) {
    (void)j, (void)input;
    int64_t n = fc_array_count(t);
    for (int64_t i = 0; i < n; i++)
        fc_oracle_store(
            t->dtype, t->data, i,
            fc_below(r, 3000) == 0
                ? fc_special(t->dtype, (uint32_t)fc_below(r, fc_special_count(t->dtype)))
                : fc_random_value(t->dtype, r, true));
}

static bool reduces(fc_op op, fusec_dtype t) {
    switch (fc_ops[op].rule) {
    case FC_RULE_MEAN: return fc_is_float(t) || t == FUSEC_I32 || t == FUSEC_BOOL;
    case FC_RULE_BOOL: return t == FUSEC_BOOL || t == FUSEC_F32;
    default: return true;
    }
}

static void reduction_graph(job *j, fc_op op, fusec_dtype t) {
    fc_graph *g = &j->g;
    fc_node x = gbin(g, "x", t, 3, gbd(g, "a"), gbd(g, "b"), gbd(g, "c"));
    add(j, "inner", gbred(g, op, x, 2, false));
    add(j, "middle", gbred(g, op, x, 1, true));
    add(j, "outer", gbred(g, op, x, 0, false));
    add(j, "first_last", fc_build_reduce(g, op, x, 2, (const int64_t[]){0, 2}, false));
    add(j, "first_two", fc_build_reduce(g, op, x, 2, (const int64_t[]){1, 0}, true));
    add(j, "all", gball(g, op, x));
    fc_node flat = fc_build_permute(g, x, (const int64_t[]){2, 0, 1});
    add(j, "permuted", gbred(g, op, flat, 0, false));
}

static const int64_t lengths[] = {0, 1, 2, 3, 7, 31, 127, 128, 129, 1000, 1023, 1024, 1025, 5000};

static void run_reduction(void *arg) {
    const sweep *s = arg;
    for (int t = 0; t < FC_DTYPE_COUNT; t++) {
        job j;
        if (!reduces(s->op, (fusec_dtype)t)) continue;
        if (!is_defined(s->op, (fusec_dtype)t)) return;
        if (is_left_out(s)) continue;
        if (!open_job(&j, s->device)) FC_SKIP("there is no device %s", s->device);
        FC_TRACE("%s of %s on %s", fc_ops[s->op].name, fc_dtypes[t].name, s->device);
        reduction_graph(&j, s->op, (fusec_dtype)t);
        for (size_t i = 0; i < FC_COUNT(lengths) && !j.g.error.code; i++) {
            int64_t n = lengths[i];
            if (n == 0 && fc_ops[s->op].flags & FC_F_EMPTY_IS_ERROR) continue;
            FC_TRACE("length %lld", (long long)n);
            judge(&j, fill_mild, (const int64_t[]){2, 3, n}, false);
            judge(&j, fill_mild, (const int64_t[]){n, 1, 3}, false);
            judge(&j, fill_mild, (const int64_t[]){3, n, 2}, false);
            FC_UNTRACE();
        }
        close_job(&j);
        FC_UNTRACE();
    }
}

/* ---- the tests ------------------------------------------------------------------------------- */

static const char *const devices[] = {"interp", "cpu", "cuda"};

static sweep sweeps[2000];
static size_t nsweeps;

static void add_test(const char *suite, const char *what, sweep s, fc_test_fn fn) {
    char group[64], name[64];
    if (nsweeps == FC_COUNT(sweeps)) abort();
    sweeps[nsweeps] = s;
    snprintf(group, sizeof group, "%s_%s", suite, s.device);
    snprintf(name, sizeof name, "%s", what);
    FC_ADD_TEST(group, name, fn, &sweeps[nsweeps++]);
}

FC_REGISTER(sweep) {
    for (size_t d = 0; d < FC_COUNT(devices); d++) {
        sweep s = {.device = devices[d]};
        for (int op = FC_OP_FIRST_ELEMENTWISE; op < FC_OP_FIRST_REDUCTION; op++) {
            s.op = (fc_op)op;
            if (fc_ops[op].flags & FC_F_HIDDEN) continue;
            add_test("sweep", fc_ops[op].name, s, run_elementwise);
            bool function = fc_ops[op].rule == FC_RULE_FLOAT || op == FC_OP_pow;
            if (function && fc_ops[op].arity < 3)
                add_test("sweep_constants", fc_ops[op].name, s, run_constants);
        }
        for (int op = FC_OP_FIRST_REDUCTION; op < FC_OP_COUNT_; op++) {
            if (fc_ops[op].flags & FC_F_HIDDEN)
                continue; /* tests/test_contract.c, tests/test_pieces.c */
            s.op = (fc_op)op;
            add_test("sweep_reduce", fc_ops[op].name, s, run_reduction);
        }
        for (int t = 0; t < FC_DTYPE_COUNT; t++) {
            s.t = (fusec_dtype)t;
            add_test("sweep_cast", fc_dtypes[t].name, s, run_conversions);
        }
        for (int t = FUSEC_I8; t <= FUSEC_U64; t++) {
            s.t = (fusec_dtype)t;
            add_test("sweep_wraps", fc_dtypes[t].name, s, run_wraps);
        }
        s.t = FUSEC_F16;
        add_test("sweep_cast", "every_f16", s, run_every_half);
        s.t = FUSEC_BF16;
        add_test("sweep_cast", "every_bf16", s, run_every_half);
    }
}
