/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_simplify.c - the graph passes: simplify, sink_reshape, and what they stand on. */
#include "tests/support/graph_hash.h"
#include "tests/support/test.h"

#include <stdlib.h>
#include <time.h>

#include "ir/eval.h"
#include "passes/plan.h"
#include "passes/rewrite.h"
#include "tests/support/gb.h"
#include "tests/support/graph_eval.h"
#include "tests/support/oracle.h"

/* ---- graphs in and out ----------------------------------------------------------------------- */

static fusec_status both(const fc_graph *src, const fc_pass_options *o, fc_graph *dst,
                         fc_error *e) {
    fc_graph mid;
    FC_TRY(fc_pass_simplify(src, o, &mid, e));
    fusec_status s = fc_pass_sink_reshape(&mid, o, dst, e);
    fc_graph_free(&mid);
    return s;
}

/* The text of g after the pass, which is verified too; "" after a failed check. To be freed. */
static fc_str after(fc_rewrite_pass *pass, const fc_graph *g, uint32_t mode) {
    fc_error e = {0};
    fc_graph out;
    fc_str s;
    fc_str_init(&s, &fc_libc_alloc);
    if (pass(g, &(fc_pass_options){.mode = mode}, &out, &e)) {
        FC_FAIL("%s", e.message);
        return s;
    }
    FC_EXPECT_OK(fc_graph_verify(&out, &e), &e);
    fc_graph_print(&out, &s);
    fc_graph_free(&out);
    return s;
}

static void expect_after(fc_rewrite_pass *pass, fc_graph *g, uint32_t mode, const char *text) {
    fc_error e = {0};
    FC_EXPECT_STATUS(g->error.code, FUSEC_OK, &g->error);
    FC_EXPECT_OK(fc_graph_verify(g, &e), &e);
    fc_str s = after(pass, g, mode);
    FC_EXPECT_STREQ(s.data, text);
    fc_str_free(&s);
    fc_graph_free(g);
}

static void start(fc_graph *g) {
    fc_graph_init(g, &fc_libc_alloc, NULL);
}

static fc_dim num(fc_graph *g, int64_t v) {
    return fc_dim_const(&g->dims, v);
}

static fc_node reshape(fc_graph *g, fc_node a, uint32_t rank, fc_dim x, fc_dim y, fc_dim z) {
    fc_dim s[] = {x, y, z};
    return fc_build_reshape(g, a, rank, s);
}

/* ---- rewriting ------------------------------------------------------------------------------- */

FC_TEST(rewrite, copies_sizes_inputs_and_conditions_and_drops_the_dead) {
    fc_graph g, c;
    fc_error e = {0};
    start(&g);
    fc_dim n = gbd(&g, "n"), k = fc_dim_fresh(&g.dims, "k"),
           m = fc_dim_mul(&g.dims, n, gbd(&g, "m"));
    fc_node x = gbin(&g, "x", FUSEC_F32, 2, n, m, 0);
    gbin(&g, "unused", FUSEC_F64, 1, k, 0, 0);
    gb1(&g, FC_OP_exp, x);
    fc_build_output(&g, "y", gb1(&g, FC_OP_sin, x));
    fc_require(&g, FC_CHECK_GE, n, k, FUSEC_SLICE_RANGE, "n is at least k");
    FC_ASSERT_OK(fc_rewrite_copy(&g, &c, &e), &e);
    FC_EXPECT_OK(fc_graph_verify(&c, &e), &e);
    FC_EXPECT_EQ_U64(c.dims.forms.len, g.dims.forms.len);
    FC_EXPECT_EQ_U64(c.dims.syms.len, g.dims.syms.len);
    FC_EXPECT_EQ_U64(c.lists.len, g.lists.len);
    FC_EXPECT_EQ_U64(fc_dim_mul(&c.dims, n, gbd(&c, "m")), m);
    FC_EXPECT_EQ_U64(c.inputs.len, 2);
    FC_EXPECT_STREQ(c.inputs.at[1].name, "unused");
    FC_EXPECT_EQ_U64(c.nodes.len, 3);
    FC_EXPECT_EQ_U64(c.conditions.len, 1);
    FC_EXPECT_STREQ(c.conditions.at[0].message, "n is at least k");
    FC_EXPECT_EQ_U64(fc_graph_hash(&c), fc_graph_hash(&g)); /* what is dead does not count */
    fc_graph_free(&g);
    FC_EXPECT_STREQ(c.outputs.at[0].name, "y");
    fc_graph_free(&c);
}

FC_TEST(rewrite, the_node_limit_is_the_users) {
    fc_graph g, c;
    fc_error e = {0};
    fc_limits limits = fc_default_limits;
    limits.nodes = 3;
    fc_graph_init(&g, &fc_libc_alloc, &limits);
    fc_node x = gbin(&g, "x", FUSEC_F32, 1, gbd(&g, "n"), 0, 0);
    fc_build_output(&g, "y", gb1(&g, FC_OP_sin, gb1(&g, FC_OP_exp, x)));
    FC_ASSERT_OK(fc_rewrite_copy(&g, &c, &e), &e);
    FC_EXPECT_NE_I64(gb1(&c, FC_OP_cos, c.outputs.at[0].node), FC_NONODE);
    fc_graph_free(&g);
    fc_graph_free(&c);
}

FC_TEST(rewrite, a_failed_graph_is_reported_and_leaves_nothing) {
    fc_graph g, c;
    fc_error e = {0};
    start(&g);
    fc_fail(&g.error, FUSEC_BAD_AXIS, "no such axis");
    FC_EXPECT_STATUS(fc_rewrite_copy(&g, &c, &e), FUSEC_BAD_AXIS, &e);
    FC_EXPECT_STREQ(e.message, "no such axis");
    fc_graph_free(&g);
}

/* ---- verification ---------------------------------------------------------------------------- */

static void expect_broken(fc_graph *g, const char *why) {
    fc_error e = {0};
    FC_EXPECT_STATUS(fc_graph_verify(g, &e), FUSEC_INTERNAL, &e);
    FC_EXPECT_CONTAINS(e.message, why);
    fc_graph_free(g);
}

static fc_node small(fc_graph *g) {
    start(g);
    fc_node x = gbin(g, "x", FUSEC_F32, 2, gbd(g, "n"), gbd(g, "m"), 0);
    fc_node y = gb2(g, FC_OP_add, gb1(g, FC_OP_sin, x), x);
    fc_node s = gbred(g, FC_OP_sum, y, 1, false);
    fc_build_output(g, "s", s);
    return s;
}

FC_TEST(verify, finds_broken_nodes) {
    fc_graph g;
    fc_error e = {0};
    fc_node s = small(&g);
    FC_EXPECT_OK(fc_graph_verify(&g, &e), &e);
    g.nodes.at[s].axis_kind = 0;
    expect_broken(&g, "the wrong tree");
    s = small(&g);
    g.nodes.at[s].dtype = FUSEC_F64;
    expect_broken(&g, "its dtype is not that of the row");
    s = small(&g);
    g.nodes.at[s].shape = 0;
    expect_broken(&g, "its shape lacks an axis");
    s = small(&g);
    g.nodes.at[s - 1].shape = g.nodes.at[s].shape;
    expect_broken(&g, "an operand has another shape");
    s = small(&g);
    g.nodes.at[s - 1].src[0] = s;
    expect_broken(&g, "an operand comes after it");
    s = small(&g);
    g.nodes.at[s - 2].op = FC_OP_bit_not;
    expect_broken(&g, "the row does not take this dtype");
    s = small(&g);
    g.nodes.at[s].op = FC_OP_LOAD;
    expect_broken(&g, "an operation of kernels");
    s = small(&g);
    g.outputs.at[0].node = 99;
    expect_broken(&g, "output s does not exist");
}

/* ---- simplify -------------------------------------------------------------------------------- */

FC_TEST(simplify, rules_follow_the_mode) {
    static const struct {
        uint32_t mode;
        const char *text;
    } cases[] = {
        {0, "%0 = input x : f32[n]\n%1 = const 0 : f32\n%2 = add %0, %1 : f32[n]\noutput y = %2\n"},
        {FC_MODE_NSZ, "%0 = input x : f32[n]\noutput y = %0\n"},
    };
    for (size_t i = 0; i < FC_COUNT(cases); i++) {
        fc_graph g;
        start(&g);
        fc_node x = gbin(&g, "x", FUSEC_F32, 1, gbd(&g, "n"), 0, 0);
        fc_build_output(&g, "y", gb2(&g, FC_OP_add, x, gbn(&g, x, 0)));
        expect_after(fc_pass_simplify, &g, cases[i].mode, cases[i].text);
    }
}

FC_TEST(simplify, constants_meet_however_they_are_written) {
    fc_graph g;
    start(&g);
    fc_dim n = gbd(&g, "n");
    fc_node x = gbin(&g, "x", FUSEC_I32, 1, n, 0, 0);
    fc_node five = fc_build_full(&g, fc_build_number(&g, FUSEC_I32, 5), 1, &n);
    fc_node y = gb2(&g, FC_OP_add, gb2(&g, FC_OP_add, five, x), gbn(&g, x, 3));
    fc_build_output(&g, "y", gb2(&g, FC_OP_sub, y, gbn(&g, x, 6)));
    expect_after(
        fc_pass_simplify, &g, 0,
        "%0 = input x : i32[n]\n%1 = const 2 : i32\n%2 = add %0, %1 : i32[n]\noutput y = %2\n");
}

FC_TEST(simplify, a_constant_result_keeps_shape_and_dtype) {
    fc_graph g;
    start(&g);
    fc_node x = gbin(&g, "x", FUSEC_I16, 2, gbd(&g, "n"), gbd(&g, "m"), 0);
    fc_build_output(&g, "y", gb2(&g, FC_OP_sub, x, x));
    fc_build_output(&g, "z", gb2(&g, FC_OP_eq, x, x));
    expect_after(
        fc_pass_simplify, &g, 0,
        "%0 = input x : i16[n, m]\n%1 = const 0 : i16\n%2 = broadcast %1 : i16[n, m]\n"
        "%3 = const 1 : bool\n%4 = broadcast %3 : bool[n, m]\noutput y = %2\noutput z = %4\n");
}

FC_TEST(simplify, scalars_are_computed_once) {
    fc_graph g;
    start(&g);
    fc_dim n = gbd(&g, "n");
    fc_node k = fc_build_full(&g, fc_build_dim(&g, n), 1, &n);
    fc_node y =
        gb2(&g, FC_OP_mul, fc_build_cast(&g, k, FUSEC_F32), gbin(&g, "x", FUSEC_F32, 1, n, 0, 0));
    fc_build_output(&g, "y", y);
    expect_after(
        fc_pass_simplify, &g, 0,
        "%0 = input x : f32[n]\n%1 = dim n : i64\n%2 = cast %1 : f32\n%3 = broadcast %2 : f32[n]\n"
        "%4 = mul %0, %3 : f32[n]\noutput y = %4\n");
}

/* Whether `a` -> `b` -> `c` becomes one cast (or none). */
static bool composes(fusec_dtype a, fusec_dtype b, fusec_dtype c) {
    fc_graph g, out;
    fc_error e = {0};
    start(&g);
    fc_node x = gbin(&g, "x", a, 1, gbd(&g, "n"), 0, 0);
    fc_build_output(&g, "y", fc_build_cast(&g, fc_build_cast(&g, x, b), c));
    bool shorter = false;
    if (!fc_pass_simplify(&g, &(fc_pass_options){0}, &out, &e)) {
        shorter = out.nodes.len <= (a == c ? 1u : 2u);
        fc_graph_free(&out);
    }
    fc_graph_free(&g);
    return shorter;
}

static uint64_t cast(fusec_dtype from, fusec_dtype to, uint64_t bits) {
    return from == to ? bits : fc_o_cast(from, to, bits);
}

/* An f64 just past the middle between two numbers with `kept` bits of mantissa: where rounding
 * twice goes wrong. */
static uint64_t past_the_middle(uint64_t random, unsigned kept) {
    const uint64_t mantissa = random >> 12 >> (52 - kept) << (52 - kept);
    return (1023 + random % 8) << 52 | mantissa | (uint64_t)1 << (51 - kept) | 1;
}

/* Every value of 8 and 16 bits, a spread of others. */
static bool cast_chain_differs(fusec_dtype a, fusec_dtype b, fusec_dtype c) {
    unsigned bits = 8u * fc_dtypes[a].bytes;
    uint64_t count = a == FUSEC_BOOL ? 2 : bits <= 16 ? 1ull << bits : 4096;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t v = i;
        if (bits > 16) v = fc_mix(i, 3) >> (64 - bits) >> (i % 3 ? 0 : i / 3 % bits);
        if (bits > 16 && i % 5 == 0)
            v = fc_const_bits(a, (double)(int64_t)(i - 2000) * (i % 2 ? 1.5 : 5e7));
        if (a == FUSEC_F64 && i % 5 == 1)
            v = past_the_middle(fc_mix(i, 4), (const unsigned[]){7, 10, 23}[i % 3]);
        const uint64_t twice = cast(b, c, cast(a, b, v)), once = cast(a, c, v);
        if (twice == once) continue;
        double x = fc_const_value(c, twice), y = fc_const_value(c, once);
        if (x == x || y == y) return true; /* not both nan */
    }
    return false;
}

FC_TEST(simplify, casts_compose_exactly_when_it_makes_no_difference) {
    unsigned composed = 0;
    for (int a = 0; a < FC_DTYPE_COUNT; a++)
        for (int b = 0; b < FC_DTYPE_COUNT; b++)
            for (int c = 0; c < FC_DTYPE_COUNT; c++) {
                if (a == b || b == c) continue;
                bool does = composes((fusec_dtype)a, (fusec_dtype)b, (fusec_dtype)c);
                composed += does;
                if (does && cast_chain_differs((fusec_dtype)a, (fusec_dtype)b, (fusec_dtype)c))
                    FC_FAIL("%s -> %s -> %s", fc_dtypes[a].name, fc_dtypes[b].name,
                            fc_dtypes[c].name);
            }
    FC_EXPECT_TRUE(composed > 500);
    FC_EXPECT_TRUE(cast_chain_differs(FUSEC_F64, FUSEC_F32, FUSEC_F16));
    FC_EXPECT_TRUE(cast_chain_differs(FUSEC_I32, FUSEC_F64, FUSEC_I8));
    FC_EXPECT_TRUE(composes(FUSEC_F32, FUSEC_F64, FUSEC_F32));
    FC_EXPECT_TRUE(composes(FUSEC_I8, FUSEC_I32, FUSEC_I64));
    FC_EXPECT_FALSE(composes(FUSEC_I32, FUSEC_F64, FUSEC_I8));
    FC_EXPECT_FALSE(composes(FUSEC_F64, FUSEC_F32, FUSEC_F16));
}

/* ---- reshapes -------------------------------------------------------------------------------- */

FC_TEST(sink_reshape, goes_through_elementwise_to_the_inputs) {
    fc_graph g;
    start(&g);
    fc_dim n = gbd(&g, "n"), m = gbd(&g, "m"), nm = fc_dim_mul(&g.dims, n, m);
    fc_node x = gbin(&g, "x", FUSEC_F32, 2, n, m, 0), y = gbin(&g, "y", FUSEC_F32, 2, n, m, 0);
    fc_node e = gb1(&g, FC_OP_exp, gb2(&g, FC_OP_add, x, gb2(&g, FC_OP_mul, y, gbn(&g, y, 2))));
    fc_build_output(&g, "o", gb1(&g, FC_OP_sin, reshape(&g, e, 1, nm, 0, 0)));
    expect_after(
        fc_pass_sink_reshape, &g, 0,
        "%0 = input x : f32[n, m]\n%1 = input y : f32[n, m]\n%2 = const 2 : f32\n"
        "%3 = reshape %1 : f32[n*m]\n%4 = mul %2, %3 : f32[n*m]\n%5 = reshape %0 : f32[n*m]\n"
        "%6 = add %4, %5 : f32[n*m]\n%7 = exp %6 : f32[n*m]\n%8 = sin %7 : f32[n*m]\noutput o = "
        "%8\n");
}

FC_TEST(sink_reshape, a_split_axis_keeps_its_broadcast_bias) {
    fc_graph g;
    start(&g);
    fc_dim n = gbd(&g, "n"), h = gbd(&g, "h"), d = gbd(&g, "d"), hd = fc_dim_mul(&g.dims, h, d);
    fc_node x = gbin(&g, "x", FUSEC_F32, 2, n, hd, 0), b = gbin(&g, "b", FUSEC_F32, 1, hd, 0, 0);
    fc_build_output(&g, "o", reshape(&g, gb2(&g, FC_OP_add, x, b), 3, n, h, d));
    expect_after(
        fc_pass_sink_reshape, &g, 0,
        "%0 = input x : f32[n, h*d]\n%1 = input b : f32[h*d]\n%2 = reshape %1 : f32[h, d]\n"
        "%3 = broadcast %2 : f32[n, h, d]\n%4 = reshape %0 : f32[n, h, d]\n"
        "%5 = add %3, %4 : f32[n, h, d]\noutput o = %5\n");
}

FC_TEST(sink_reshape, goes_through_a_reduction_over_other_axes) {
    fc_graph g;
    start(&g);
    fc_dim b = gbd(&g, "b"), s = gbd(&g, "s"), d = gbd(&g, "d"), bs = fc_dim_mul(&g.dims, b, s);
    fc_node x = gbin(&g, "x", FUSEC_F32, 3, b, s, d);
    fc_node y = gb2(&g, FC_OP_sub, x, gbred(&g, FC_OP_mean, x, 2, true));
    fc_build_output(&g, "o", reshape(&g, y, 2, bs, d, 0));
    expect_after(fc_pass_sink_reshape, &g, 0,
                 "%0 = input x : f32[b, s, d]\n%1 = reshape %0 : f32[b*s, d]\n"
                 "%2 = mean %1 (1) inner : f32[b*s, 1]\n%3 = broadcast %2 : f32[b*s, d]\n"
                 "%4 = sub %1, %3 : f32[b*s, d]\noutput o = %4\n");
}

FC_TEST(sink_reshape, stays_where_the_axes_are_needed) {
    fc_graph g;
    start(&g);
    fc_dim b = gbd(&g, "b"), d = gbd(&g, "d"), bd = fc_dim_mul(&g.dims, b, d);
    fc_node x = gbin(&g, "x", FUSEC_F32, 2, b, d, 0);
    fc_node y = gb2(&g, FC_OP_sub, x, gbred(&g, FC_OP_mean, x, 1, true));
    fc_build_output(&g, "o", reshape(&g, y, 1, bd, 0, 0));
    expect_after(fc_pass_sink_reshape, &g, 0,
                 "%0 = input x : f32[b, d]\n%1 = mean %0 (1) inner : f32[b, 1]\n%2 = broadcast %1 "
                 ": f32[b, d]\n"
                 "%3 = sub %0, %2 : f32[b, d]\n%4 = reshape %3 : f32[b*d]\noutput o = %4\n");
}

FC_TEST(sink_reshape, an_expensive_value_is_not_computed_twice) {
    for (int expensive = 0; expensive < 2; expensive++) {
        fc_graph g;
        start(&g);
        fc_node x = gbin(&g, "x", FUSEC_F32, 2, num(&g, 4), num(&g, 6), 0);
        fc_node e = gb1(&g, expensive ? FC_OP_exp : FC_OP_neg, x);
        fc_build_output(&g, "a", e);
        fc_build_output(&g, "b", gb1(&g, FC_OP_abs, reshape(&g, e, 1, num(&g, 24), 0, 0)));
        expect_after(
            fc_pass_sink_reshape, &g, 0,
            expensive
                ? "%0 = input x : f32[4, 6]\n%1 = exp %0 : f32[4, 6]\n%2 = reshape %1 : f32[24]\n"
                  "%3 = abs %2 : f32[24]\noutput a = %1\noutput b = %3\n"
                : "%0 = input x : f32[4, 6]\n%1 = neg %0 : f32[4, 6]\n%2 = reshape %0 : f32[24]\n"
                  "%3 = neg %2 : f32[24]\n%4 = abs %3 : f32[24]\noutput a = %1\noutput b = %4\n");
    }
}

FC_TEST(sink_reshape, views_compose) {
    fc_graph g;
    start(&g);
    fc_dim n = gbd(&g, "n");
    fc_node x = gbin(&g, "x", FUSEC_F32, 2, n, num(&g, 8), 0);
    const int64_t swap[] = {1, 0};
    fc_build_output(&g, "p", fc_build_permute(&g, fc_build_permute(&g, x, swap), swap));
    fc_dim two[] = {n, num(&g, 8)}, three[] = {num(&g, 3), n, num(&g, 8)};
    fc_node s = fc_build_broadcast(&g, fc_build_number(&g, FUSEC_F32, 1), 2, two);
    fc_build_output(&g, "b", fc_build_broadcast(&g, s, 3, three));
    fc_node a =
        fc_build_slice(&g, x, (fc_slice[]){{num(&g, 0), 1, n}, {num(&g, 6), -2, num(&g, 3)}});
    fc_build_output(
        &g, "s",
        fc_build_slice(&g, a, (fc_slice[]){{num(&g, 0), 1, n}, {num(&g, 1), 1, num(&g, 2)}}));
    fc_node r = reshape(&g, reshape(&g, x, 1, fc_dim_mul(&g.dims, n, num(&g, 8)), 0, 0), 2, n,
                        num(&g, 8), 0);
    fc_build_output(&g, "r", r);
    expect_after(fc_pass_sink_reshape, &g, 0,
                 "%0 = input x : f32[n, 8]\n%1 = const 1 : f32\n%2 = broadcast %1 : f32[3, n, 8]\n"
                 "%3 = slice %0 [0:1:n, 4:-2:2] : f32[n, 2]\n"
                 "output p = %0\noutput b = %2\noutput s = %3\noutput r = %0\n");
}

FC_TEST(sink_reshape, axes_of_size_one_stay_views) {
    fc_graph g;
    start(&g);
    fc_dim n = gbd(&g, "n");
    fc_node x = gbin(&g, "x", FUSEC_F32, 1, n, 0, 0);
    fc_build_output(&g, "o", reshape(&g, gb1(&g, FC_OP_exp, x), 2, n, num(&g, 1), 0));
    expect_after(fc_pass_sink_reshape, &g, 0,
                 "%0 = input x : f32[n]\n%1 = exp %0 : f32[n]\n%2 = reshape %1 : f32[n, 1]\noutput "
                 "o = %2\n");
}

/* ---- random graphs --------------------------------------------------------------------------- */

static void try_pass(const char *name, fc_rewrite_pass *pass, const fc_graph *g, uint64_t seed) {
    fc_graph out;
    fc_error e = {0};
    char why[200];
    if (pass(g, &(fc_pass_options){0}, &out, &e) || fc_graph_verify(&out, &e)) {
        FC_FAIL("%s, seed %llu: %s", name, (unsigned long long)seed, e.message);
        return;
    }
    if (!fc_same_outputs(g, &out, why, sizeof why))
        FC_FAIL("%s, seed %llu: %s", name, (unsigned long long)seed, why);
    fc_str once, twice;
    fc_str_init(&once, &fc_libc_alloc);
    fc_graph_print(&out, &once);
    twice = after(pass, &out, 0);
    /* sinking brings terms together that a second walk can use; only simplify promises to
     * be done */
    if (pass == fc_pass_simplify && strcmp(once.data, twice.data) != 0)
        FC_FAIL("%s is not idempotent, seed %llu:\n%s\n%s", name, (unsigned long long)seed,
                once.data, twice.data);
    fc_str_free(&once);
    fc_str_free(&twice);
    fc_graph_free(&out);
}

FC_TEST(graph_passes, random_graphs_keep_their_values) {
    for (uint64_t seed = 0; seed < 1000 && !fc_test_has_failed(); seed++) {
        fc_graph g;
        fc_error e = {0};
        start(&g);
        fc_random_graph(&g, seed, 20 + (unsigned)(seed % 4) * 20);
        if (fc_graph_verify(&g, &e)) FC_FAIL("seed %llu: %s", (unsigned long long)seed, e.message);
        try_pass("simplify", fc_pass_simplify, &g, seed);
        try_pass("sink_reshape", fc_pass_sink_reshape, &g, seed);
        try_pass("both", both, &g, seed);
        fc_graph_free(&g);
    }
}

FC_TEST(graph_passes, every_mode_gives_a_valid_graph) {
    for (uint64_t seed = 0; seed < 500 && !fc_test_has_failed(); seed++) {
        fc_graph g;
        start(&g);
        fc_random_graph(&g, seed, 40);
        fc_str s = after(both, &g, (uint32_t)(seed % 3 ? seed * 37 : 0x7f) & 0x7f);
        fc_str_free(&s);
        fc_graph_free(&g);
    }
}

/* ---- out of memory --------------------------------------------------------------------------- */

typedef struct faulty {
    long left; /* allocations until all fail */
    long blocks;
} faulty;

static void *faulty_alloc(void *user, void *p, size_t size) {
    faulty *f = user;
    if (size && f->left-- <= 0) return NULL;
    if (size && !p) f->blocks++;
    if (!size && p) f->blocks--;
    return fc_libc_alloc.fn(fc_libc_alloc.user, p, size);
}

FC_TEST(graph_passes, out_of_memory_is_reported_and_leaks_nothing) {
    fc_graph g, out;
    start(&g);
    fc_random_graph(&g, 5, 40);
    bool done = false;
    for (long n = 0; !done && n < 5000 && !fc_test_has_failed(); n++) {
        faulty f = {.left = n};
        const fc_alloc a = {faulty_alloc, &f};
        fc_error e = {0};
        g.alloc = &a;
        fusec_status s = both(&g, &(fc_pass_options){.mode = 0x7f}, &out, &e);
        g.alloc = &fc_libc_alloc;
        done = s == FUSEC_OK;
        if (done)
            fc_graph_free(&out);
        else
            FC_EXPECT_STATUS(s, FUSEC_OUT_OF_MEMORY, &e);
        FC_EXPECT_EQ_I64(f.blocks, 0);
    }
    FC_EXPECT_TRUE(done);
    fc_graph_free(&g);
}

/* ---- size ------------------------------------------------------------------------------------ */

static double milliseconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

FC_TEST(graph_passes, a_chain_of_100000_nodes_takes_milliseconds) {
    static const fc_op ops[] = {FC_OP_sin, FC_OP_add, FC_OP_exp, FC_OP_mul, FC_OP_maximum};
    fc_graph g, a, b, c;
    fc_error e = {0};
    fc_limits limits = fc_default_limits;
    limits.nodes = 300000;
    fc_graph_init(&g, &fc_libc_alloc, &limits);
    fc_node x = gbin(&g, "x", FUSEC_F32, 2, num(&g, 4), num(&g, 6), 0), y = x;
    for (unsigned i = 0; i < 100000; i++)
        y = fc_ops[ops[i % 5]].arity == 1 ? gb1(&g, ops[i % 5], y)
                                          : gb2(&g, ops[i % 5], y, i % 2 ? x : gbn(&g, y, i));
    fc_build_output(&g, "y", reshape(&g, y, 1, num(&g, 24), 0, 0));
    double t0 = milliseconds();
    FC_ASSERT_OK(fc_rewrite_copy(&g, &a, &e), &e);
    double t1 = milliseconds();
    FC_ASSERT_OK(fc_pass_simplify(&a, &(fc_pass_options){.mode = 0x7f}, &b, &e), &e);
    double t2 = milliseconds();
    FC_ASSERT_OK(fc_pass_sink_reshape(&b, &(fc_pass_options){0}, &c, &e), &e);
    double t3 = milliseconds();
    FC_EXPECT_OK(fc_graph_verify(&c, &e), &e);
    /* a hundred times what it takes: any machine passes, a square does not */
    if (t1 - t0 > 5000 || t2 - t1 > 10000 || t3 - t2 > 10000)
        FC_FAIL("copy %g ms, simplify %g ms, sink_reshape %g ms", t1 - t0, t2 - t1, t3 - t2);
    if (getenv("FUSEC_TEST_TIMES"))
        FC_FAIL("copy %g ms, simplify %g ms, sink_reshape %g ms", t1 - t0, t2 - t1, t3 - t2);
    fc_graph_free(&g);
    fc_graph_free(&a);
    fc_graph_free(&b);
    fc_graph_free(&c);
}
