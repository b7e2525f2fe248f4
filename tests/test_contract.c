/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_contract.c - contractions: what is one kernel, and the results of every device of this
 * machine against the oracle, to the bit: labels, layouts, dtypes, sizes around every tile,
 * threads. */
#include "passes/plan.h"
#include "runtime/bind.h"
#include "tests/support/fake_machine.h"
#include "tests/support/gb.h"
#include "tests/support/oracle_run.h"
#include "tests/support/program_fixture.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- plans ----------------------------------------------------------------------------------- */

typedef struct mats {
    fc_graph g;
    fc_node a, b; /* [n, k], [k, m] */
    fc_dim n, m, k;
} mats;

static mats begin(fusec_dtype t) {
    mats x;
    fc_graph_init(&x.g, &fc_libc_alloc, NULL);
    x.n = gbd(&x.g, "n"), x.m = gbd(&x.g, "m"), x.k = gbd(&x.g, "k");
    x.a = gbin(&x.g, "a", t, 2, x.n, x.k, 0);
    x.b = gbin(&x.g, "b", t, 2, x.k, x.m, 0);
    return x;
}

/* The number of kernels; *schedules gets the first letter of each schedule. */
static size_t plan_of(fc_graph *g, char *schedules) {
    fc_error e = {0};
    fc_plan *p = NULL;
    fc_pass_options o = {.verify = true};
    size_t n = 0;
    FC_EXPECT_OK(fc_plan_build(g, &o, &p, &e), &e);
    for (; p && n < p->steps.len && n < 15; n++)
        schedules[n] = "miod"[p->steps.at[n]->kernel.schedule];
    schedules[n] = 0;
    fc_plan_free(p);
    return n;
}

static void expect_plan(mats *x, fc_node out, const char *schedules) {
    char got[16];
    fc_build_output(&x->g, "out", out);
    plan_of(&x->g, got);
    FC_EXPECT_STREQ(got, schedules);
    fc_graph_free(&x->g);
}

static fc_node mul(fc_graph *g, fc_node a, fc_node b) {
    return gb2(g, FC_OP_mul, a, b);
}

/* A [n] vector as a column. */
static fc_node column(fc_graph *g, const char *name, fusec_dtype t, fc_dim n) {
    fc_node v = gbin(g, name, t, 1, n, 0, 0);
    return fc_build_reshape(g, v, 2, (const fc_dim[]){n, fc_dim_const(&g->dims, 1)});
}

FC_TEST(contract, what_follows_is_part_of_the_kernel) {
    mats x = begin(FUSEC_F32);
    fc_graph *g = &x.g;
    fc_node bias = gbin(g, "c", FUSEC_F32, 1, x.m, 0, 0);
    fc_node y = gb2(g, FC_OP_add, fc_build_matmul(g, x.a, x.b), bias);
    fc_node e = gb1(g, FC_OP_erf, mul(g, y, gbn(g, y, 0.70710678)));
    expect_plan(&x, mul(g, mul(g, y, gbn(g, y, 0.5)), gb2(g, FC_OP_add, e, gbn(g, y, 1))), "d");

    x = begin(FUSEC_F32);
    y = fc_build_matmul(&x.g, x.a, x.b);
    fc_build_output(&x.g, "raw", y);
    expect_plan(&x, gb2(&x.g, FC_OP_maximum, y, gbn(&x.g, y, 0)), "d");

    x = begin(FUSEC_F32); /* a residual */
    y = fc_build_matmul(&x.g, x.a, x.b);
    expect_plan(&x, gb2(&x.g, FC_OP_add, y, gbin(&x.g, "r", FUSEC_F32, 2, x.n, x.m, 0)), "d");
}

FC_TEST(contract, cheap_work_on_operands_is_part_of_the_kernel) {
    mats x = begin(FUSEC_F32);
    fc_node s = column(&x.g, "s", FUSEC_F32, x.n);
    fc_node k = gbin(&x.g, "rows", FUSEC_F32, 2, x.m, x.k, 0);
    fc_node turned = fc_build_permute(&x.g, k, (const int64_t[]){1, 0});
    expect_plan(&x, fc_build_matmul(&x.g, mul(&x.g, x.a, s), turned), "d");

    x = begin(FUSEC_F32); /* dequantised */
    fc_node q = gbin(&x.g, "q", FUSEC_I8, 2, x.n, x.k, 0);
    fc_node z = fc_build_cast(&x.g, q, FUSEC_F32);
    z = mul(&x.g, gb2(&x.g, FC_OP_sub, z, gbn(&x.g, z, 3)), column(&x.g, "s", FUSEC_F32, x.n));
    expect_plan(&x, fc_build_matmul(&x.g, z, x.b), "d");

    x = begin(FUSEC_F32);
    expect_plan(&x, fc_build_matmul(&x.g, gb1(&x.g, FC_OP_exp, x.a), x.b), "md");

    x = begin(FUSEC_F32);
    fc_node p = fc_build_matmul(&x.g, x.a, x.b);
    fc_node t = fc_build_permute(&x.g, p, (const int64_t[]){1, 0});
    expect_plan(&x, fc_build_matmul(&x.g, t, p), "dd");
}

FC_TEST(contract, results_that_are_needed_elsewhere_are_stored) {
    mats x = begin(FUSEC_F32);
    fc_node y = fc_build_matmul(&x.g, x.a, x.b);
    fc_node top = gbred(&x.g, FC_OP_max, y, -1, true);
    expect_plan(&x, gb2(&x.g, FC_OP_sub, y, top), "di");
}

FC_TEST(contract, without_axes_on_one_side_the_usual_trees_serve) {
    mats x = begin(FUSEC_F32);
    fc_node v = gbin(&x.g, "v", FUSEC_F32, 1, x.k, 0, 0);
    expect_plan(&x, fc_build_matmul(&x.g, x.a, v), "i");
    x = begin(FUSEC_F32);
    v = gbin(&x.g, "v", FUSEC_F32, 1, x.k, 0, 0);
    expect_plan(&x, fc_build_matmul(&x.g, v, x.b), "o");
    x = begin(FUSEC_F32);
    v = gbin(&x.g, "v", FUSEC_F32, 1, x.k, 0, 0);
    expect_plan(&x, fc_build_matmul(&x.g, v, v), "i");
}

/* Of each contraction both elements are read. */
FC_TEST(contract, reports_of_several_in_one_kernel_count_all_arrays) {
    enum { DOTS = 8 };
    fc_fixture f;
    fc_node y = FC_NONODE, x0 = y;
    fc_tensor in[2 * DOTS];
    const int64_t n = 100;
    if (!fc_fixture_open(&f, "interp")) FC_SKIP("there is no interpreter");
    for (int i = 0; i < 2 * DOTS; i++)
        in[i] = (fc_tensor){.dtype = FUSEC_F32, .rank = 1, .shape = &n};
    for (int i = 0; i < DOTS; i++) {
        char left[16], right[16];
        snprintf(left, sizeof left, "a%d", i);
        snprintf(right, sizeof right, "b%d", i);
        const fc_dim k = gbd(&f.g, "k");
        fc_node a = gbin(&f.g, left, FUSEC_F32, 1, k, 0, 0);
        if (i)
            a = gb2(&f.g, FC_OP_add, a, x0);
        else
            x0 = a;
        const fc_node d = fc_build_matmul(&f.g, a, gbin(&f.g, right, FUSEC_F32, 1, k, 0, 0));
        y = i ? gb2(&f.g, FC_OP_add, y, d) : d;
    }
    fc_build_output(&f.g, "y", y);
    fc_program *p = fc_fixture_compile(&f);
    if (!p) return;
    fc_step_report r[2 * DOTS];
    FC_EXPECT_EQ_U64(p->plan->steps.len, 1);
    FC_EXPECT_EQ_U64(p->plan->steps.at[0]->kernel.reductions.len, DOTS);
    FC_EXPECT_OK(fc_program_report(p, 2 * DOTS, in, 0, NULL, true, r, &f.e), &f.e);
    FC_EXPECT_EQ_I64(r[0].bytes_read, 2 * DOTS * n * 4);
    FC_EXPECT_EQ_I64(r[0].bytes_floor, 2 * DOTS * n * 4 + 4);
    fc_fixture_close(&f, p);
}

/* ---- messages -------------------------------------------------------------------------------- */

static void expect_message(fc_graph *g, fc_node n, const char *text) {
    FC_EXPECT_EQ_I64(n, FC_NONODE);
    FC_EXPECT_STREQ(g->error.message, text);
    fc_graph_free(g);
}

FC_TEST(contract, messages_name_shapes_and_axes) {
    mats x = begin(FUSEC_F32);
    expect_message(
        &x.g, fc_build_matmul(&x.g, x.b, x.b),
        "matmul of f32[k, m] and f32[k, m]: axis 1 of the left operand, m, and axis 0 of "
        "the right one, k, go together");
    x = begin(FUSEC_F32);
    expect_message(&x.g, fc_build_einsum(&x.g, "ik,kj->iz", 2, (fc_node[]){x.a, x.b}),
                   "einsum \"ik,kj->iz\": axis 1 of the result, `z`, is in no operand");
    x = begin(FUSEC_F32);
    expect_message(&x.g, fc_build_einsum(&x.g, "ik,kj->ijj", 2, (fc_node[]){x.a, x.b}),
                   "einsum \"ik,kj->ijj\": axis 2 of the result, `j`, is there twice");
    x = begin(FUSEC_F32);
    expect_message(&x.g, fc_build_einsum(&x.g, "ik,k1->i", 2, (fc_node[]){x.a, x.b}),
                   "einsum \"ik,k1->i\": at character 5: `1` is no letter of an axis");
    x = begin(FUSEC_F32);
    expect_message(&x.g, fc_build_einsum(&x.g, "ikl,kj->ij", 2, (fc_node[]){x.a, x.b}),
                   "einsum \"ikl,kj->ij\": operand 1 has another number of axes than letters");
    x = begin(FUSEC_F32);
    const fc_dim sizes[2] = {fc_dim_const(&x.g.dims, 3), fc_dim_const(&x.g.dims, 4)};
    const fc_node oblong = fc_build_input(&x.g, "oblong", FUSEC_F32, 2, sizes);
    expect_message(
        &x.g, fc_build_einsum(&x.g, "kj,ii->ij", 2, (fc_node[]){x.b, oblong}),
        "einsum \"kj,ii->ij\": axes 0 and 1 of operand 2 are both `i`, but 3 and 4 long");
}

/* ---- results --------------------------------------------------------------------------------- */

typedef struct form {
    const char *name, *text; /* einsum */
    int operands;
    const char *shape[3]; /* sizes by letter of `sizes`, 1 is the literal */
} form;

static const form forms[] = {
    {"nn", "ik,kj->ij", 2, {"ik", "kj"}},
    {"nt", "ik,jk->ij", 2, {"ik", "jk"}},
    {"tn", "ki,kj->ij", 2, {"ki", "kj"}},
    {"tt", "ki,jk->ij", 2, {"ki", "jk"}},
    {"turned", "ik,kj->ji", 2, {"ik", "kj"}},
    {"batched", "bik,bkj->bij", 2, {"bik", "bkj"}},
    {"batch_inside", "ibk,kbj->ibj", 2, {"ibk", "kbj"}},
    {"one_for_all", "bik,kj->bij", 2, {"bik", "kj"}},
    {"broadcast", "bik,bkj->bij", 2, {"1ik", "bkj"}},
    {"two_sums", "ikl,jkl->ij", 2, {"ikb", "jkb"}},
    {"two_sums_apart", "kil,lkj->ij", 2, {"kib", "bkj"}},
    {"two_sums_turned", "ikl,jlk->ij", 2, {"ikb", "jbk"}},
    {"around", "ikb,jk->ijb", 2, {"ikb", "jk"}},
    {"alone", "ikl,kj->ij", 2, {"ikb", "kj"}},
    {"vector", "ik,k->i", 2, {"ik", "k"}},
    {"row", "k,kj->j", 2, {"k", "kj"}},
    {"inner", "k,k->", 2, {"k", "k"}},
    {"rows", "ik,ik->i", 2, {"ik", "ik"}},
    {"outer", "i,j->ij", 2, {"i", "j"}},
    {"chain", "ik,kj,jb->ib", 3, {"ik", "kj", "jb"}},
    {"diagonal", "ii->i", 1, {"ii"}},
    {"trace", "ii", 1, {"ii"}},
    {"traces", "bii->b", 1, {"bii"}},
    {"diagonal_apart", "iki->ki", 1, {"iki"}},
    {"of_three", "iik,kj->ij", 2, {"iik", "kj"}},
    {"of_both", "ii,jj->ij", 2, {"ii", "jj"}},
};
static const char letters[] = "ijkb";

typedef struct sizes {
    int64_t at[4]; /* i, j, k, b */
} sizes;

static fc_node input_of(fc_graph *g, const char *name, fusec_dtype t, const char *shape) {
    fc_dim dims[4];
    uint32_t rank = 0;
    for (const char *s = shape; *s; s++) {
        const char one[2] = {*s, 0};
        dims[rank++] = *s == '1' ? fc_dim_const(&g->dims, 1) : gbd(g, one);
    }
    return fc_build_input(g, name, t, rank, dims);
}

static void build_form(fc_graph *g, const form *f, fusec_dtype t) {
    fc_node x[3];
    fc_graph_init(g, &fc_libc_alloc, NULL);
    for (int k = 0; k < f->operands; k++)
        x[k] = input_of(g, k == 0 ? "x" : k == 1 ? "y" : "z", t, f->shape[k]);
    fc_build_output(g, "out", fc_build_einsum(g, f->text, (uint32_t)f->operands, x));
}

static void syms_of(const fc_graph *g, const sizes *s, int64_t *syms) {
    for (uint32_t i = 0; i < g->dims.syms.len; i++) {
        const char *at = g->dims.syms.at[i].name ? strchr(letters, *g->dims.syms.at[i].name) : NULL;
        syms[i] = at ? s->at[at - letters] : 1;
    }
}

enum { ALL_BITS = 1000000 };

/* Mostly small numbers: specials would hide everything else. ALL_BITS: integers of ones alone. */
static void fill(const fc_tensor *t, fc_rng *r, unsigned specials) {
    for (int64_t i = 0; specials == ALL_BITS && i < fc_array_count(t); i++)
        fc_oracle_store(t->dtype, t->data, i, UINT64_MAX >> (64 - 8 * fc_dtypes[t->dtype].bytes));
    for (int64_t i = 0; specials != ALL_BITS && i < fc_array_count(t); i++)
        fc_oracle_store(
            t->dtype, t->data, i,
            specials && fc_below(r, specials) == 0
                ? fc_special(t->dtype, (uint32_t)fc_below(r, fc_special_count(t->dtype)))
                : fc_random_value(t->dtype, r, true));
}

static void judge_on(const fc_how *how, fc_graph *g, const sizes *s, unsigned specials) {
    fc_oracle of, o;
    fc_arrays in, out = {0};
    fc_error e = {0};
    fc_rng r = {77};
    int64_t syms[16] = {0};
    const void *data[8];
    if (g->error.code) FC_FAIL("%s", g->error.message);
    syms_of(g, s, syms);
    fc_oracle_sizes(&of, g, syms);
    fc_arrays_for(&in, g, &of, false);
    for (uint32_t i = 0; i < in.n; i++) {
        fill(&in.t[i], &r, specials);
        data[i] = in.t[i].data;
    }
    fc_oracle_run(&o, g, syms, data);
    fusec_status status = fc_rig_run(how, g, syms, &in, &out, &e);
    fc_str why;
    fc_str_init(&why, &fc_libc_alloc);
    if (status)
        FC_FAIL("[%s] %s", fc_status_slug(status), e.message);
    else if (fc_judge(g, &o, &out, &why))
        FC_FAIL("%s", why.data);
    fc_str_free(&why);
    fc_arrays_free(&in);
    fc_arrays_free(&out);
    fc_oracle_free(&o);
    fc_oracle_free(&of);
}

static void judge(fc_graph *g, const char *device, int threads, const sizes *s, unsigned specials) {
    if (!fc_test_takes(3)) return;
    fc_how how = {.ctx = fc_rig(device, threads, &how.device)};
    if (how.ctx) judge_on(&how, g, s, specials);
}

static const char *const devices[] = {"interp", "cpu", "cuda"};

static void judge_form(const form *f, fusec_dtype t, const sizes *s, unsigned specials) {
    for (size_t d = 0; d < FC_COUNT(devices); d++) {
        fc_graph g;
        build_form(&g, f, t);
        FC_TRACE("%s of %s on %s, i %d j %d k %d b %d", f->name, fc_dtypes[t].name, devices[d],
                 (int)s->at[0], (int)s->at[1], (int)s->at[2], (int)s->at[3]);
        judge(&g, devices[d], 2, s, specials);
        FC_UNTRACE();
        fc_graph_free(&g);
    }
}

FC_TEST(contract, every_form_and_dtype) {
    for (size_t f = 0; f < FC_COUNT(forms); f++)
        for (int t = 0; t < FC_DTYPE_COUNT; t++) {
            if (t != FUSEC_F32 && (f + (size_t)t) % (FC_SANITIZED ? 6 : 3)) continue;
            judge_form(&forms[f], (fusec_dtype)t, &(sizes){{5, 7, 35, 3}}, 0);
        }
}

FC_TEST(contract, order_around_chunks) {
    static const int64_t k[] = {0, 1, 2, 3, 255, 256, 257, 511, 512, 513, 1024, 1793};
    for (size_t i = 0; i < FC_COUNT(k); i++) {
        if (!fc_test_takes(2)) continue;
        judge_form(&forms[0], FUSEC_F32, &(sizes){{3, 5, k[i], 1}}, 500);
        judge_form(&forms[1], FUSEC_F64, &(sizes){{2, 3, k[i], 1}}, 500);
        judge_form(&forms[14], FUSEC_F32, &(sizes){{2, 1, k[i], 1}}, 500);
        judge_form(&forms[15], FUSEC_F32, &(sizes){{1, 3, k[i], 1}}, 500);
    }
}

FC_TEST(contract, sizes_around_tiles) {
    static const int64_t n[] = {0, 1, 2, 6, 13, 14, 15, 16, 17, 31, 33, 64, 65};
    for (size_t i = 0; i < FC_COUNT(n); i++)
        for (size_t f = 0; f < 4; f++) {
            if (!fc_test_takes(2)) continue;
            judge_form(&forms[f], FUSEC_F32, &(sizes){{n[i], n[(i + f + 3) % FC_COUNT(n)], 19, 1}},
                       0);
            judge_form(&forms[f], FUSEC_F32, &(sizes){{n[(i + 2 * f) % FC_COUNT(n)], n[i], 19, 1}},
                       0);
        }
}

/* Few results of long sums: several threads have spans of k. */
static bool is_split(const form *of, fusec_dtype t, const sizes *s) {
    fc_fixture f;
    fc_bound *b = NULL;
    bool split = false;
    if (!fc_fixture_open(&f, "cpu")) return true;
    f.device->machine.threads = 2;
    fc_graph_free(&f.g);
    build_form(&f.g, of, t);
    fc_program *p = fc_fixture_compile(&f);
    int64_t shape[2][4];
    fc_tensor in[2];
    for (int k = 0; k < 2; k++) {
        in[k] = (fc_tensor){.dtype = t, .rank = (uint32_t)strlen(of->shape[k]), .shape = shape[k]};
        for (uint32_t i = 0; i < in[k].rank; i++)
            shape[k][i] = s->at[strchr(letters, of->shape[k][i]) - letters];
    }
    if (p && !fc_bound_get(p, 2, in, 0, NULL, 64, FC_NO_CODE, &b, &f.e)) {
        split = b->steps[0].cls.llvm.split;
        fc_bound_release(p, b);
    }
    fc_fixture_close(&f, p);
    return split;
}

FC_TEST(contract, long_sums_of_few_results_are_split) {
    static const struct {
        int form;
        fusec_dtype t;
        sizes s;
    } some[] = {{0, FUSEC_F32, {{17, 15, 9001, 1}}},
                {4, FUSEC_F64, {{15, 17, 8961, 1}}},
                {1, FUSEC_I8, {{16, 16, 8448, 1}}}};
    for (size_t i = 0; i < FC_COUNT(some); i++) {
        const form *f = &forms[some[i].form];
        fc_graph g;
        FC_EXPECT_TRUE(is_split(f, some[i].t, &some[i].s));
        build_form(&g, f, some[i].t);
        FC_TRACE("%s of %s", f->name, fc_dtypes[some[i].t].name);
        judge(&g, "cpu", i % 2 ? 7 : 2, &some[i].s, 500);
        FC_UNTRACE();
        fc_graph_free(&g);
    }
}

static void judge_integers(const char *text, const char *left, const char *right, fusec_dtype t,
                           fusec_dtype result, const sizes *s, unsigned specials) {
    for (size_t d = 0; d < FC_COUNT(devices); d++) {
        fc_graph g;
        fc_graph_init(&g, &fc_libc_alloc, NULL);
        const fc_node x[] = {input_of(&g, "x", t, left), input_of(&g, "y", t, right)};
        fc_node out = fc_build_cast(&g, fc_build_einsum(&g, text, 2, x), result);
        fc_build_output(&g, "out", out);
        FC_TRACE("%s of %s to %s on %s, k %d", text, fc_dtypes[t].name, fc_dtypes[result].name,
                 devices[d], (int)s->at[2]);
        judge(&g, devices[d], 2, s, specials);
        FC_UNTRACE();
        fc_graph_free(&g);
    }
}

/* Products of 8 bits two at a time, sums of which the lower 32 bits are looked at: of the largest
 * and the smallest numbers, in odd and even chunks; and as many of the largest as 32 bits hold, and
 * one more. */
FC_TEST(contract, integers_are_exact) {
    static const fusec_dtype types[] = {FUSEC_I8, FUSEC_U8, FUSEC_I16, FUSEC_U32};
    static const int64_t k[] = {1, 2, 255, 257, 300};
    for (size_t t = 0; t < FC_COUNT(types); t++)
        for (size_t i = 0; i < FC_COUNT(k); i++) {
            const fusec_dtype to = (i + t) % 2 ? FUSEC_I32 : FUSEC_I64;
            judge_integers("ik,kj->ij", "ik", "kj", types[t], to, &(sizes){{17, 35, k[i], 1}}, 1);
            judge_integers("ki,jk->ij", "ki", "jk", types[t], to, &(sizes){{9, 64, k[i], 1}}, 1);
        }
    judge_integers("ik,kj->ij", "ik", "kj", FUSEC_U8, FUSEC_I64, &(sizes){{2, 3, 33025, 1}},
                   ALL_BITS);
    judge_integers("ik,kj->ij", "ik", "kj", FUSEC_U8, FUSEC_I64, &(sizes){{2, 3, 33026, 1}},
                   ALL_BITS);
}

/* The same text on the host's fibers. */
FC_TEST(contract, integers_of_32_bits_on_a_gpu) {
    static const fusec_dtype types[] = {FUSEC_I8, FUSEC_U8, FUSEC_I16};
    fake_machine f;
    if (!fake_can_execute()) FC_SKIP("no C++ compiler, or under AddressSanitizer");
    if (!fake_machine_open(&f, FAKE("whole"))) return;
    f.fake->execute = true;
    for (size_t t = 0; t < FC_COUNT(types); t++) {
        fc_fixture x;
        if (!fc_fixture_open(&x, "cuda")) continue;
        const fc_node in[] = {input_of(&x.g, "x", types[t], "ik"),
                              input_of(&x.g, "y", types[t], "jk")};
        fc_node sum = fc_build_einsum(&x.g, "ik,jk->ij", 2, in);
        fc_build_output(&x.g, "out", t < 2 ? sum : fc_build_cast(&x.g, sum, FUSEC_I32));
        FC_TRACE("%s", fc_dtypes[types[t]].name);
        judge_on(&(fc_how){.ctx = x.ctx, .device = x.device}, &x.g, &(sizes){{40, 67, 300, 1}}, 1);
        FC_UNTRACE();
        fc_fixture_close(&x, NULL);
    }
    FC_EXPECT_EQ_I64(f.fake->misuse, 0);
    fake_machine_close(&f);
}

/* Few results whose k blocks share, against the oracle, which knows of no parts. */
FC_TEST(contract, parts_of_k_on_a_gpu) {
    static const int64_t k[] = {1, 255, 256, 257, 511, 512, 100000, 513, 4095, 4096, 4097};
    static const struct {
        int form;
        fusec_dtype t;
        int64_t rows, columns;
    } some[] = {{0, FUSEC_F32, 5, 70}, {3, FUSEC_F32, 40, 3}, {1, FUSEC_F64, 17, 21}};
    fake_machine f;
    if (!fake_can_execute()) FC_SKIP("no C++ compiler, or under AddressSanitizer");
    if (!fake_machine_open(&f, FAKE("whole"))) return;
    f.fake->execute = true;
    for (size_t i = 0; i < FC_COUNT(some); i++)
        for (size_t n = 0; n < FC_COUNT(k); n++) {
            fc_fixture x;
            if (!fc_test_takes(3) || !fc_fixture_open(&x, "cuda")) continue;
            fc_graph_free(&x.g);
            build_form(&x.g, &forms[some[i].form], some[i].t);
            FC_TRACE("%s, k %d", forms[some[i].form].name, (int)k[n]);
            judge_on(&(fc_how){.ctx = x.ctx, .device = x.device}, &x.g,
                     &(sizes){{some[i].rows, some[i].columns, k[n], 1}}, 0);
            FC_UNTRACE();
            fc_fixture_close(&x, NULL);
        }
    FC_EXPECT_EQ_I64(f.fake->misuse, 0);
    fake_machine_close(&f);
}

/* Stacks whose k is one step: whole tiles and parts of some, results in groups of four and alone.
 */
FC_TEST(contract, short_sums_on_a_gpu) {
    static const struct {
        const char *labels, *x, *y;
        sizes s;
    } some[] = {{"bik,bkj->bij", "bik", "bkj", {{64, 64, 64, 16}}},
                {"bik,bkj->bij", "bik", "bkj", {{67, 132, 36, 3}}},
                {"bik,bjk->bij", "bik", "bjk", {{40, 70, 60, 7}}},
                {"bik,bkj->bji", "bik", "bkj", {{72, 68, 52, 4}}}};
    fake_machine f;
    if (!fake_can_execute()) FC_SKIP("no C++ compiler, or under AddressSanitizer");
    if (!fake_machine_open(&f, FAKE("whole"))) return;
    f.fake->execute = true;
    for (size_t i = 0; i < FC_COUNT(some); i++) {
        fc_fixture x;
        if (!fc_fixture_open(&x, "cuda")) continue;
        const fc_node in[] = {input_of(&x.g, "x", FUSEC_F32, some[i].x),
                              input_of(&x.g, "y", FUSEC_F32, some[i].y)};
        fc_build_output(&x.g, "out", fc_build_einsum(&x.g, some[i].labels, 2, in));
        FC_TRACE("%s", some[i].labels);
        judge_on(&(fc_how){.ctx = x.ctx, .device = x.device}, &x.g, &some[i].s, 0);
        FC_UNTRACE();
        fc_fixture_close(&x, NULL);
    }
    FC_EXPECT_EQ_I64(f.fake->misuse, 0);
    fake_machine_close(&f);
}

/* x.T @ y * 2 - 1 of slices, casts and scales, and several results. */
static void build_rich(fc_graph *g) {
    fc_graph_init(g, &fc_libc_alloc, NULL);
    fc_node q = input_of(g, "q", FUSEC_I8, "ki"), y = input_of(g, "y", FUSEC_F32, "jk");
    fc_node s = input_of(g, "s", FUSEC_F32, "k1"), bias = input_of(g, "c", FUSEC_F32, "j");
    fc_node x = mul(g, fc_build_cast(g, q, FUSEC_F32), s);
    fc_node r = fc_build_einsum(g, "ki,jk->ij", 2, (fc_node[]){x, y});
    fc_node z = gb2(g, FC_OP_add, r, bias);
    fc_build_output(g, "raw", r);
    fc_build_output(g, "relu", gb2(g, FC_OP_maximum, z, gbn(g, z, 0)));
    fc_build_output(g, "whole", fc_build_cast(g, z, FUSEC_I32));
}

FC_TEST(contract, work_before_and_after) {
    static const sizes s[] = {{{1, 1, 1, 1}}, {{17, 33, 300, 1}}, {{70, 40, 31, 1}}};
    char schedules[16];
    fc_graph g;
    build_rich(&g);
    FC_EXPECT_EQ_I64((int64_t)plan_of(&g, schedules), 1);
    fc_graph_free(&g);
    for (size_t i = 0; i < FC_COUNT(s); i++)
        for (size_t d = 0; d < FC_COUNT(devices); d++) {
            build_rich(&g);
            FC_TRACE("%s, size %d", devices[d], (int)i);
            judge(&g, devices[d], 2, &s[i], 0);
            FC_UNTRACE();
            fc_graph_free(&g);
        }
}
